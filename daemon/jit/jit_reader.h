/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_reader.h - reads a perf map or a jitdump file, and reads on where it
 * ended when there is more.
 *
 * Lives in the worker: the file belongs to the traced process, which may change
 * anything of it at any time. Uses pread() and fstat() alone.
 */
#ifndef JIT_READER_H
#define JIT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jitdump.h"

struct jit_map;
struct jit_reader;

enum jit_format {
	JIT_PERF_MAP = 1,
	JIT_DUMP = 2,
	JIT_HOTSPOT = 3, /* no file: the memory of a JVM (hotspot/hotspot_reader.h) */
};

/* Beyond that a file is not read on. The code in a jitdump file is not looked at. */
#define JIT_MAX_PERF_MAP_BYTES (256ull << 20)
#define JIT_MAX_DUMP_BYTES     (4ull << 30)

int jit_reader_new(enum jit_format format, struct jit_reader **ret);
void jit_reader_free(struct jit_reader *r); /* takes NULL */

struct jit_read {
	uint64_t now_ns;	/* BOOTTIME */
	uint64_t since_ns;	/* it was as it had been read before until then; 0: never */
	int64_t boot_offset_ns; /* see struct jitdump */
};

struct jit_read_result {
	bool is_complete;  /* else it goes on: ask again */
	bool is_too_large; /* it was not read to its end, and will not be */
	enum jitdump_refusal refusal;
	uint32_t n_restarts;	    /* it was written anew, and read from the start */
	uint64_t n_bad, n_over_cap; /* so far, lines or records */
};

/*
 * A slice of what is new in `fd`, some 50 milliseconds of work. -EINVAL: not a
 * regular file; -EIO: cannot be read.
 */
int jit_reader_read(struct jit_reader *r, int fd, const struct jit_read *read,
		    struct jit_read_result *ret);

const struct jit_map *jit_reader_map(const struct jit_reader *r);
size_t jit_reader_bytes(const struct jit_reader *r); /* of memory */

#endif
