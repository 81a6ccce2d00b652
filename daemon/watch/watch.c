/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - one who watches. */
#include "watch/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "collector.h"
#include "watch/watch_line.h"

/* Handed over at once when there is so much of it; beyond the second it is lost. */
#define ENOUGH_BYTES (64 * 1024)
#define MAX_BYTES    (256 * 1024)

struct watch {
	struct watch_selection selection;
	const struct process_table *processes;
	trace_sink_fn *sink;
	void *sink_ctx;
	struct watch_clock clock;
	struct buf lines;	      /* that were not handed over yet */
	uint64_t n_missing, since_ns; /* events that are lost and not said yet, from then on */
	struct watch_stats stats;
};

int watch_new(const struct watch_selection *sel, const struct process_table *pt,
	      trace_sink_fn *sink, void *sink_ctx, struct watch **ret)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->selection = *sel;
	w->processes = pt;
	w->sink = sink;
	w->sink_ctx = sink_ctx;
	watch_clock_set(&w->clock);
	*ret = w;
	return 0;
}

void watch_free(struct watch *w)
{
	if (!w)
		return;
	buf_done(&w->lines);
	free(w);
}

void watch_stats(const struct watch *w, struct watch_stats *ret)
{
	*ret = w->stats;
}

/* Returns whether nothing waits. */
static bool hand_over(struct watch *w, bool final)
{
	if (w->lines.len && w->sink(w->sink_ctx, w->lines.data, w->lines.len, final) < 0)
		return false;
	w->lines.len = 0;
	return true;
}

/* Where lines are missing it is said before the next one. */
static bool say_missing(struct watch *w)
{
	if (w->n_missing && watch_line_lost(&w->lines, w->n_missing, NULL, "reader too slow",
					    w->since_ns, &w->clock) < 0)
		return false;
	w->n_missing = 0;
	return true;
}

void watch_flush(struct watch *w, bool final)
{
	watch_clock_set(&w->clock);
	if (hand_over(w, final) && say_missing(w))
		(void)hand_over(w, final);
}

static void lose(struct watch *w, const struct trace_tap_event *ev)
{
	uint64_t n = ev->kind == TAP_LOSS ? (uint64_t)ev->value : 1;

	if (w->n_missing == 0)
		w->since_ns = ev->time_ns;
	w->n_missing += n;
	w->stats.n_lost += n;
}

/* What the recording costs is not what is watched. */
static bool is_own(const struct trace_tap_event *ev)
{
	for (unsigned i = 0; collectors[i]; i++)
		if (i == ev->source)
			return false;
	return true;
}

/* Always wanted: without it nobody could rely on what is not there. */
static int put_loss(struct watch *w, const struct trace_tap_event *ev)
{
	return watch_line_lost(&w->lines, (uint64_t)ev->value, ev->name, ev->category, ev->time_ns,
			       &w->clock);
}

void watch_event(struct watch *w, const struct trace_tap_event *ev)
{
	int r;

	if (ev->kind != TAP_LOSS && (is_own(ev) || !watch_selects(&w->selection, ev)))
		return;
	if (w->lines.len >= ENOUGH_BYTES && hand_over(w, false))
		(void)say_missing(w);
	/* Once something is missing all is, until that was said: lines stay in order. */
	if (w->n_missing || w->lines.len >= MAX_BYTES) {
		lose(w, ev);
		return;
	}
	r = ev->kind == TAP_LOSS ? put_loss(w, ev)
				 : watch_line_event(&w->lines, ev, w->processes, &w->clock);
	if (r < 0)
		lose(w, ev);
	else
		w->stats.n_lines++;
}
