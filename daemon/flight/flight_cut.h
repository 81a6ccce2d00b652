/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_cut.h - where a snapshot begins: of what is older nothing is left.
 *
 * Segments are cut between two drains, but what is written later than it happened lies behind
 * the cut: samples that had waited for names, slices, which are written at their end. Points
 * before the beginning are left out; a slice that goes on across it begins there, one within
 * another a nanosecond later, and says how much earlier it has begun. Processes are known from
 * the beginning, and tracks described; but those of who had died by then only if there is
 * something on them.
 */
#ifndef FLIGHT_CUT_H
#define FLIGHT_CUT_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "collector.h"

struct flight_base;
struct flight_cut;
struct location;

/* `base` is borrowed: who lives at the beginning. */
int flight_cut_new(uint64_t begin_ns, const struct flight_base *base, struct flight_cut **ret);
void flight_cut_free(struct flight_cut *c); /* takes NULL */

enum {
	CUT_BUNDLES = 1, /* of the first segment: of others no bundle has anything older */
	CUT_NOTES = 2,	 /* for flight_cut_has_place(), all blocks of a segment */
};
/*
 * The packets of a block, of all in order of the file, as far as they are left. Only the first
 * segment, and blocks that have something older, need it. `ret` is emptied first.
 */
int flight_cut_block(struct flight_cut *c, const struct buf *packets, unsigned how,
		     struct buf *ret);

/*
 * A block that stays as it is, in front of one that will be cut: ids are those of the segment; or
 * while tracks are held back: `ret` has those that belong before it.
 */
int flight_cut_pass(struct flight_cut *c, const struct buf *packets, struct buf *ret);
bool flight_cut_is_holding(const struct flight_cut *c);
/* What follows describes each track that it uses. */
void flight_cut_next_segment(struct flight_cut *c);

/* How many packets with stacks were left out so far. */
uint64_t flight_cut_n_stacks(const struct flight_cut *c);
/* Is the frame in a stack that is left, of the segment that was noted? */
bool flight_cut_has_place(const struct flight_cut *c, const struct location *loc);

/* How many events of each source were left out, as far as a trace's account is compared. */
const uint64_t *flight_cut_counts(const struct flight_cut *c); /* [MAX_COLLECTORS] */

#endif
