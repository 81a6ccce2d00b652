/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames_tables.h - the unwind tables of code that processes have generated
 * themselves, as far as somebody tells of them (symbolize/jit_question.h).
 *
 * They change all the time: each change is another table, and who used the one
 * before goes on with it until the process has other mappings.
 */
#ifndef FRAMES_TABLES_H
#define FRAMES_TABLES_H

#include <stdbool.h>
#include <stdint.h>

struct frames_tables;
struct jit_frames;
struct unwind_maps;
struct unwind_mapping;

/* What is known of a process: as process_table_frames() says it. */
typedef int frames_source_fn(void *ctx, uint32_t tgid, uint64_t time_ns,
			     const struct jit_frames **ret, uint64_t *ret_version,
			     bool *ret_current);

int frames_tables_new(struct unwind_maps *maps, frames_source_fn *source, void *ctx,
		      struct frames_tables **ret);
void frames_tables_free(struct frames_tables *f); /* takes NULL */

/*
 * Takes what is known of the process now. Returns a number that changes with it;
 * 0: there is nothing. What it was before may be used until frames_tables_settle().
 */
uint64_t frames_tables_update(struct frames_tables *f, uint32_t tgid, uint64_t time_ns);
/* Nobody uses any more what was there before the last update. */
void frames_tables_settle(struct frames_tables *f, uint32_t tgid, uint64_t now_ns);
void frames_tables_drop(struct frames_tables *f, uint32_t tgid, uint64_t now_ns);

/*
 * The generated code from `start` on, up to `end` or to where another table, or
 * none, holds: `*ret` is that piece.
 */
void frames_tables_piece(const struct frames_tables *f, uint32_t tgid, uint64_t start, uint64_t end,
			 struct unwind_mapping *ret);

/* Is all known that there was of it at that time? */
bool frames_tables_is_current(struct frames_tables *f, uint32_t tgid, uint64_t time_ns);

#endif
