/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_source.h - one file in which a process tells of its generated code, or the
 * memory of a JVM, as the daemon has it: an open descriptor, and the table that
 * the worker made of it last.
 *
 * A reading takes some milliseconds and is done in the worker. What is known is
 * good for samples up to the last moment at which the file was seen to be as it
 * was read. Memory does not say when it changes: it is read as often as there
 * are samples that are younger than what is known, with pauses.
 */
#ifndef JIT_SOURCE_H
#define JIT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit/jit_reader.h"
#include "jit/jit_table.h"

struct jit_file_state;
struct jit_frames;
struct jit_source;
struct symbolizer;

/* A reading has ended, perhaps with another table. */
typedef void jit_source_fn(void *ctx, struct jit_source *s, bool is_other);

struct jit_source_config {
	enum jit_format format;
	int64_t timens_ns;	 /* of the process's time namespace: its CLOCK_MONOTONIC is ahead */
	uint32_t tgid;		 /* for messages */
	const uint64_t *symbols; /* of JIT_HOTSPOT: enum hotspot_symbol; copied */
	jit_source_fn *changed;
	void *ctx;
};

/* Takes over `fd`, which is not read here; also on failure. */
int jit_source_new(struct symbolizer *sym, int fd, const struct jit_source_config *config,
		   struct jit_source **ret);
void jit_source_free(struct jit_source *s); /* takes NULL */

/*
 * Is all known that was in the file at `time_ns`? If not it is read as soon as
 * that does not come too often, and `changed` is called.
 */
bool jit_source_is_current(struct jit_source *s, uint64_t time_ns);

bool jit_source_find(const struct jit_source *s, uint64_t pc, uint64_t time_ns,
		     struct jit_name *ret);
/* How to unwind from that code, as it was at the last reading. NULL: not known. */
const struct jit_frames *jit_source_frames(const struct jit_source *s);
/* The number of the reading after which all will be known that was there at `time_ns`. */
uint64_t jit_source_reading_for(const struct jit_source *s, uint64_t time_ns);
/* Nothing more will come. */
bool jit_source_is_failed(const struct jit_source *s);

/* From this moment on the table says the same at any time. */
uint64_t jit_source_newest(const struct jit_source *s);

/* Is it this file, as far as can be seen by its number? */
bool jit_source_is_file(const struct jit_source *s, const struct jit_file_state *state);
size_t jit_source_bytes(const struct jit_source *s);
/* Lets go of the table; when it is needed again it is asked for. */
void jit_source_drop_table(struct jit_source *s);

struct jit_source_stats {
	uint64_t n_bad, n_over_cap; /* lines or records */
	bool is_failed;		    /* cannot be read, or not further */
};
/* What has come since the last call. */
void jit_source_take_stats(struct jit_source *s, struct jit_source_stats *ret);

#endif
