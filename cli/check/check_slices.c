/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_slices.c - do the slices of a track nest?
 *
 * A viewer sorts a track's events by time, those of equal time by their place
 * in the file, and lets each END end the innermost open slice. Which BEGIN an
 * END was meant for shows in the file: a slice is written when it is over,
 * BEGIN and END together, or else live, and then the order of the file is that
 * of time. So pairs are made in the order of the file, and afterwards it is
 * asked whether the viewer would make the same ones.
 */
#include <stdlib.h>

#include "check_impl.h"

#define OPEN	   UINT64_MAX
#define UNFINISHED (UINT64_MAX - 1) /* open, and said to be */
#define MAX_DEPTH  512		    /* of the importer */

struct slice {
	uint64_t begin_ns, end_ns;
	uint64_t offset;
	uint32_t begin_order, end_order; /* packets of the file; they wrap, which is harmless */
};

void check_slices_done(struct check_slices *s)
{
	check_list_done(&s->all);
	check_list_done(&s->open);
}

void check_slice_begin(struct trace_check *c, struct check_slices *s, bool unfinished)
{
	struct slice *slice = check_list_add(c, &s->all, sizeof(*slice));
	size_t *open = check_list_add(c, &s->open, sizeof(*open));

	if (!slice || !open)
		return;
	slice->begin_ns = c->time_ns;
	slice->end_ns = unfinished ? UNFINISHED : OPEN;
	slice->offset = c->offset;
	slice->begin_order = (uint32_t)c->summary.n_packets;
	*open = s->all.n - 1;
	c->summary.n_slices++;
}

void check_slice_end(struct trace_check *c, struct check_slices *s, const char *track)
{
	struct slice *slice;

	if (s->open.n == 0) {
		check_report(c, CHECK_END_WITHOUT_BEGIN, c->time_ns,
			     "END at %.6f s on track \"%s\"", check_seconds(c, c->time_ns),
			     check_text(track).s);
		return;
	}
	slice = (struct slice *)s->all.items + ((size_t *)s->open.items)[--s->open.n];
	slice->end_ns = c->time_ns;
	slice->end_order = (uint32_t)c->summary.n_packets;
	if (slice->end_ns < slice->begin_ns) {
		check_report(c, CHECK_SLICE_NEGATIVE, c->time_ns,
			     "slice of %lld ns at %.6f s on track \"%s\"",
			     (long long)(slice->end_ns - slice->begin_ns),
			     check_seconds(c, slice->begin_ns), check_text(track).s);
		slice->end_ns = slice->begin_ns;
	}
}

static int by_begin(const void *pa, const void *pb)
{
	const struct slice *a = pa, *b = pb;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->begin_order < b->begin_order ? -1 : a->begin_order > b->begin_order;
}

/* Is `a` over before `b` begins, for a viewer? */
static bool before(const struct slice *a, const struct slice *b)
{
	return a->end_ns != b->begin_ns ? a->end_ns < b->begin_ns : a->end_order < b->begin_order;
}

/*
 * A slice without length that was written while another was open, in the file
 * too: either nothing happened in it, or its END was meant for the other one,
 * and the two are in the wrong order.
 */
static bool swapped_live(const struct slice *outer, const struct slice *inner)
{
	return inner->begin_ns == inner->end_ns && outer->end_ns < UNFINISHED &&
	       outer->begin_order < inner->begin_order && outer->end_order > inner->end_order &&
	       outer->begin_ns < inner->begin_ns && outer->end_ns > inner->end_ns;
}

/*
 * `s` begins while `outer` is open, for a viewer. Those that end together may
 * end in any order. Returns false when `outer` is over, in truth.
 */
static bool fits_into(struct trace_check *c, const struct slice *outer, const struct slice *s,
		      const char *track)
{
	bool swapped = swapped_live(outer, s);

	if (!swapped && (outer->end_ns >= UNFINISHED || s->end_ns <= outer->end_ns))
		return true;
	if (swapped || outer->end_ns == s->begin_ns)
		check_report_at(c, CHECK_BEGIN_BEFORE_END, s->offset, s->begin_ns,
				"two slices that meet at %.6f s on track \"%s\"",
				check_seconds(c, s->begin_ns), check_text(track).s);
	else
		check_report_at(c, CHECK_SLICES_CROSS, s->offset, s->begin_ns,
				"slice at %.6f s on track \"%s\" outlives the one around it",
				check_seconds(c, s->begin_ns), check_text(track).s);
	return false;
}

static void place(struct trace_check *c, const struct slice **stack, size_t *depth,
		  const struct slice *s, const char *track)
{
	while (*depth > 0 && before(stack[*depth - 1], s))
		--*depth;
	if (*depth > 0 && !fits_into(c, stack[*depth - 1], s, track))
		--*depth;
	if (*depth == MAX_DEPTH) {
		check_report_at(c, CHECK_SLICE_DEPTH, s->offset, s->begin_ns,
				"slices nest %d deep on track \"%s\"", MAX_DEPTH,
				check_text(track).s);
		return;
	}
	stack[(*depth)++] = s;
}

void check_slices_finish(struct trace_check *c, struct check_slices *s, const char *track)
{
	const struct slice *stack[MAX_DEPTH];
	struct slice *all = s->all.items;
	size_t depth = 0;
	bool sorted = true;

	for (size_t i = 0; i < s->open.n && c->summary.complete; i++) {
		const struct slice *o = &all[((size_t *)s->open.items)[i]];

		if (o->end_ns == OPEN)
			check_report_at(c, CHECK_BEGIN_WITHOUT_END, o->offset, o->begin_ns,
					"slice at %.6f s on track \"%s\"",
					check_seconds(c, o->begin_ns), check_text(track).s);
	}
	for (size_t i = 1; i < s->all.n && sorted; i++)
		sorted = by_begin(&all[i - 1], &all[i]) <= 0;
	if (!sorted)
		qsort(all, s->all.n, sizeof(*all), by_begin);
	for (size_t i = 0; i < s->all.n; i++)
		place(c, stack, &depth, &all[i], track);
}
