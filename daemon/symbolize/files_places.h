/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_places.h - the worker's answer to FILES_PLACES: where the places of a probe are in a
 * file, or what is wrong with them.
 */
#ifndef FILES_PLACES_H
#define FILES_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/nearest.h"

#define FILES_PLACES_MAX 128

enum files_problem {
	FILES_PLACES_FOUND,
	FILES_PLACES_NONE,    /* of that name; the nearest ones follow */
	FILES_PLACES_IFUNC,   /* it chooses another function when it is loaded */
	FILES_PLACES_BEYOND,  /* the function has only `number` bytes */
	FILES_PLACES_INSIDE,  /* of the instruction that begins at `number` */
	FILES_PLACES_NO_CODE, /* what is there cannot be decoded */
	FILES_PLACES_NO_USDT, /* the file has no USDT probes at all */
	FILES_PROBLEMS
};

/* Then the places; then the names, as strings with a NUL. */
struct files_places_head {
	uint32_t n_places;
	uint32_t n_more; /* for which there was no room */
	uint64_t number;
	uint8_t problem; /* enum files_problem */
	uint8_t is_go;
	uint8_t n_near;
	uint8_t zero[5];
};

/* Then its name without a NUL, and the table of its arguments (probe_types_decode()). */
struct files_place {
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* in the file; 0: none */
	uint64_t vaddr;	    /* of the function's beginning, or of the USDT probe */
	uint16_t name_len;
	uint16_t types_len; /* 0: there is none */
	uint32_t zero;
};

struct files_probe;

/*
 * In the worker. `ret` has room for `size` bytes; returns how many are used, or -ENOEXEC.
 * `debug_fd`: of its debug file, or -1.
 */
ssize_t files_places_find(int fd, int debug_fd, const struct files_probe *probe, uint8_t *ret,
			  size_t size);

/*
 * In the daemon. `fn` (or NULL) is called with each place, after all was checked; -EBADMSG.
 */
typedef int files_place_fn(void *ctx, const struct files_place *place, const char *name,
			   const uint8_t *types);
struct files_places_answer {
	struct files_places_head head;
	struct nearest near;
};
int files_places_decode(const uint8_t *bytes, size_t len, files_place_fn *fn, void *ctx);
void files_places_answer(const uint8_t *bytes, size_t len, struct files_places_answer *ret);

#endif
