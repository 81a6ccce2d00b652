/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v8_memory.h - objects and strings of V8's in the memory of a process.
 *
 * The process runs meanwhile, and may be gone or lie: every read may fail, and
 * whatever was read is only believed as far as it does no harm. Pointers have V8's
 * tag.
 */
#ifndef V8_MEMORY_H
#define V8_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "v8_layout.h"

struct v8_memory {
	const struct v8_layout *layout;
	/* All `len` bytes at `addr`, or false. */
	bool (*read)(void *ctx, uint64_t addr, void *dst, size_t len);
	void *ctx;
	/*
	 * If it is not NULL: becomes true when something could not be read, or is just
	 * being moved by the garbage collector. What came of it may lack a part.
	 */
	bool *is_unsteady;
};

bool v8_read(const struct v8_memory *m, uint64_t addr, void *dst, size_t len);
bool v8_read_u64(const struct v8_memory *m, uint64_t addr, uint64_t *ret);
/* A field that is a pointer to an object; 0: it is none, or not readable. */
uint64_t v8_pointer(const struct v8_memory *m, uint64_t object, int16_t field);
/* A field that is a small integer and not negative; -1: it is none. */
int32_t v8_small(const struct v8_memory *m, uint64_t object, int16_t field);

#define V8_NO_TYPE UINT32_MAX
uint32_t v8_type(const struct v8_memory *m, uint64_t object);
bool v8_is_string(const struct v8_memory *m, uint64_t object);

/* A string in one piece. */
struct v8_flat {
	uint64_t chars;
	uint32_t length;
	uint8_t width; /* bytes a character: 1 or 2 */
};

/* False: it is none, or in several pieces. */
bool v8_flat(const struct v8_memory *m, uint64_t string, struct v8_flat *ret);

/*
 * A string as UTF-8, ended by a NUL; of one with more than `max` characters the end if
 * `tail`, else the beginning. `dst` has room for 3 * max + 1 bytes. Returns how many without
 * the NUL, or -1: it is no string.
 */
int v8_string(const struct v8_memory *m, uint64_t string, bool tail, uint32_t max, char *dst);

#define V8_MAX_STRING 512 /* the largest `max` */

#endif
