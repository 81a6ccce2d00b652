/* SPDX-License-Identifier: Apache-2.0 */
/* flight_ring.c - segments, the oldest of which are given up. */
#include "flight/flight_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flight/flight_block.h"
#include "log.h"
#include "session.h"
#include "symbolize/symbolizer.h"

/* What the allocator and our records take beside the bytes of a block, a segment. */
#define BLOCK_BYTES   (sizeof(struct flight_block) + 32)
#define SEGMENT_BYTES 8192
/* A location is shared by all segments that have it. */
#define PLACE_BYTES 64

int flight_ring_init(struct flight_ring *r, size_t size)
{
	*r = (struct flight_ring){ .size = size };
	return flight_base_new(&r->base);
}

static void segment_free(struct flight_segment *s)
{
	for (size_t i = 0; i < s->n_blocks; i++)
		free(s->blocks[i].data);
	for (size_t i = 0; i < s->n_places; i++)
		location_release(s->places[i]);
	free(s->blocks);
	free(s->places);
	session_mark_free(s->mark);
	free(s);
}

void flight_ring_done(struct flight_ring *r)
{
	while (r->first) {
		struct flight_segment *next = r->first->next;

		segment_free(r->first);
		r->first = next;
	}
	flight_base_free(r->base);
	*r = (struct flight_ring){ 0 };
}

static void grow(struct flight_ring *r, struct flight_segment *s, size_t bytes)
{
	s->bytes += bytes;
	r->bytes += bytes;
}

static struct flight_segment *add_segment(struct flight_ring *r, struct session_mark *mark)
{
	struct flight_segment *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->mark = mark;
	s->begin_ns = mark ? session_mark_ns(mark) : 0;
	if (r->last)
		r->last->next = s;
	else
		r->first = s;
	r->last = s;
	r->n_segments++;
	grow(r, s, SEGMENT_BYTES);
	return s;
}

/* ---- what is given up ---- */

static int note_segment(struct flight_base *base, const struct flight_segment *s)
{
	struct buf packets = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n_blocks; i++) {
		if (!s->blocks[i].essential)
			continue;
		r = flight_block_inflate(s->blocks[i].data, s->blocks[i].len, &packets);
		if (r == 0)
			r = flight_base_note(base, &packets);
	}
	buf_done(&packets);
	return r < 0 ? r : flight_base_apply(base);
}

void flight_ring_drop(struct flight_ring *r)
{
	struct flight_segment *s = r->first;

	if (!s || s == r->last)
		return;
	/* Without memory some names are missing in snapshots. */
	if (note_segment(r->base, s) < 0)
		log_warn("flight recorder: out of memory, names of processes are missing");
	r->first = s->next;
	r->bytes -= s->bytes;
	r->n_segments--;
	r->n_dropped++;
	segment_free(s);
}

static void make_room(struct flight_ring *r, size_t bytes)
{
	while (r->first != r->last && r->bytes + flight_base_bytes(r->base) + bytes > r->size)
		flight_ring_drop(r);
}

/* ---- what comes ---- */

static struct flight_block *add_block(struct flight_segment *s)
{
	if (s->n_blocks == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 8;
		struct flight_block *grown = reallocarray(s->blocks, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		s->blocks = grown;
		s->cap = cap;
	}
	return &s->blocks[s->n_blocks++];
}

int flight_ring_add(struct flight_ring *r, const void *data, size_t len, bool essential,
		    uint64_t oldest_ns)
{
	struct flight_segment *s = r->last ? r->last : add_segment(r, NULL);
	struct flight_block *block;
	uint8_t *copy = malloc(len);

	make_room(r, len + BLOCK_BYTES);
	block = s && copy ? add_block(s) : NULL;
	if (!block) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, data, len);
	*block = (struct flight_block){
		.data = copy, .len = (uint32_t)len, .essential = essential, .oldest_ns = oldest_ns
	};
	grow(r, s, len + BLOCK_BYTES);
	return 0;
}

int flight_ring_cut(struct flight_ring *r, struct session_mark *mark, struct location **places,
		    size_t n_places)
{
	struct flight_segment *s = r->last;

	if (s) {
		s->places = places;
		s->n_places = n_places;
		grow(r, s, n_places * PLACE_BYTES);
	} else {
		for (size_t i = 0; i < n_places; i++)
			location_release(places[i]);
		free(places);
	}
	if (!add_segment(r, mark)) {
		session_mark_free(mark);
		return -ENOMEM;
	}
	make_room(r, 0);
	return 0;
}
