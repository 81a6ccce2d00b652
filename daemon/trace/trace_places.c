/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_places.c - which locations have frames in the trace, for those who have
 * more to say about them at its end.
 *
 * A frame is in the trace when the block that it was interned in has been handed
 * over: until then it is not sure.
 */
#include <stdlib.h>

#include "hash.h"
#include "symbolize/symbolizer.h"
#include "trace_writer_impl.h"

/* Each keeps a location of 200 bytes; a busy machine shows some ten thousand in a minute. */
#define MAX_PLACES 65536

static bool has_room(struct trace_places *p)
{
	struct location **grown;
	size_t cap = p->cap ? p->cap * 2 : 256;

	if (p->n < p->cap)
		return true;
	if (p->n >= MAX_PLACES || (!p->known && hash_new(&p->known) < 0))
		return false;
	grown = reallocarray(p->list, cap, sizeof(struct location *));
	if (!grown)
		return false;
	p->list = grown;
	p->cap = cap;
	return true;
}

void trace_places_note(struct trace_places *p, const struct location *loc)
{
	struct location *own = (struct location *)loc; /* to hold it */

	if (!loc->ready || !loc->has_lines || (p->known && hash_get_u64(p->known, loc->id)))
		return;
	if (!has_room(p) || hash_set_u64(p->known, loc->id, own) < 0) {
		p->n_over++;
		return;
	}
	location_hold(own);
	p->list[p->n++] = own;
}

void trace_places_settle(struct trace_places *p, bool is_written)
{
	if (is_written)
		p->n_sure = p->n;
	while (p->n > p->n_sure) {
		struct location *loc = p->list[--p->n];

		hash_remove_u64(p->known, loc->id);
		location_release(loc);
	}
}

void trace_places_done(struct trace_places *p)
{
	p->n_sure = 0;
	trace_places_settle(p, false);
	hash_free(p->known);
	free(p->list);
	*p = (struct trace_places){ 0 };
}

size_t trace_writer_places(const struct trace_writer *w, struct location *const **ret)
{
	*ret = w->places.list;
	return w->places.n_sure;
}

size_t trace_writer_take_places(struct trace_writer *w, struct location ***ret)
{
	struct trace_places *p = &w->places;
	size_t n;

	p->n_over += p->n - p->n_sure;
	trace_places_settle(p, false);
	n = p->n;
	*ret = p->list;
	p->list = NULL;
	p->n = p->n_sure = p->cap = 0;
	if (p->known)
		hash_clear(p->known);
	return n;
}

uint64_t trace_writer_places_over(const struct trace_writer *w)
{
	return w->places.n_over;
}
