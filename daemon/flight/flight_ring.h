/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_ring.h - the trace of the flight recorder: segments of blocks, as many as the memory
 * takes; the oldest are given up, and what they said of processes goes to the base.
 */
#ifndef FLIGHT_RING_H
#define FLIGHT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flight/flight_base.h"

struct location;
struct session_mark;

/* As it came from the trace writer. */
struct flight_block {
	uint8_t *data;
	uint32_t len;
	bool essential;
	uint64_t oldest_ns; /* the earliest time of its packets, but for scheduler bundles */
};

struct flight_segment {
	struct flight_segment *next; /* the newer one */
	struct session_mark *mark;
	uint64_t begin_ns;
	struct flight_block *blocks;
	size_t n_blocks, cap;
	struct location **places; /* of frames in it that may have source lines; each is held */
	size_t n_places;
	size_t bytes; /* of all this */
};

struct flight_ring {
	size_t size; /* what all may take */
	size_t bytes;
	struct flight_segment *first, *last;
	size_t n_segments;
	uint64_t n_dropped;
	struct flight_base *base; /* as of the beginning of `first` */
};

int flight_ring_init(struct flight_ring *r, size_t size);
void flight_ring_done(struct flight_ring *r);

/* A block of the last segment; the first of all makes one without a mark. */
int flight_ring_add(struct flight_ring *r, const void *data, size_t len, bool essential,
		    uint64_t oldest_ns);
/*
 * The last segment is whole and gets its places (of malloc(), taken over, each held); what
 * comes belongs to the one that begins with `mark`, which is taken over.
 */
int flight_ring_cut(struct flight_ring *r, struct session_mark *mark, struct location **places,
		    size_t n_places);
/* Gives up the oldest segment, but never the last one. */
void flight_ring_drop(struct flight_ring *r);

#endif
