/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jitdump.h - the binary file in which a compiler at run time tells what it has
 * generated, with times, lines and the code itself: jit-PID.dump.
 *
 * The format is in tools/perf/Documentation/jitdump-specification.txt of Linux.
 * Pure functions over bytes: any input is survived. The code is left where it
 * is; nobody needs it here.
 */
#ifndef JITDUMP_H
#define JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_map;

#define JITDUMP_HEADER_LEN 40

/* So much of a record is looked at: lines beyond are left out. 10,000 of them fit. */
#define JITDUMP_WINDOW (256u * 1024)

enum jitdump_refusal {
	JITDUMP_FINE,
	JITDUMP_NOT_ONE,	/* another magic number, or a version that is not 1 */
	JITDUMP_BYTE_ORDER,	/* of another machine */
	JITDUMP_MACHINE,	/* code for another one: it is emulated here */
	JITDUMP_ARCH_TIMESTAMP, /* times are a counter of the processor's, not a clock's */
	JITDUMP_BROKEN,		/* a record that cannot be */
};

struct jitdump {
	int64_t boot_offset_ns; /* BOOTTIME - the clock of its times, CLOCK_MONOTONIC there */
	uint64_t now_ns;	/* BOOTTIME: no time is later */
	enum jitdump_refusal refusal;
	bool is_closed;
	struct jitdump_lines *lines; /* of the next code loaded */
	uint64_t n_bad, n_over_cap;
};

void jitdump_init(struct jitdump *d);
void jitdump_done(struct jitdump *d);

/*
 * `data` is the beginning of the file, JITDUMP_HEADER_LEN bytes or more.
 * Returns where the records begin, or -EBADMSG: d->refusal says why.
 */
int jitdump_begin(struct jitdump *d, const uint8_t *data, size_t len);

/*
 * One record. `len` bytes of it and of what follows are there; `file_left` are
 * in the file from here on. Returns the length of the record in the file; 0: it
 * is not there yet as a whole; -EAGAIN: more of it must be in `data`, that is
 * the whole record or JITDUMP_WINDOW bytes; -EBADMSG as above.
 */
int64_t jitdump_take(struct jitdump *d, const uint8_t *data, size_t len, uint64_t file_left,
		     struct jit_map *map);

#endif
