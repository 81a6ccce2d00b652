/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - one who watches: takes what a session would write (trace_tap.h), makes lines of
 * what is wanted and hands them over as fast as they are taken. What there is no room for is
 * counted and said, in its place.
 */
#ifndef WATCH_H
#define WATCH_H

#include "trace_writer.h"
#include "watch/watch_select.h"

struct process_table;
struct watch;

/* `sel` is copied. `sink` takes lines, whole ones. */
int watch_new(const struct watch_selection *sel, const struct process_table *pt,
	      trace_sink_fn *sink, void *sink_ctx, struct watch **ret);
void watch_free(struct watch *w); /* takes NULL */

void watch_event(struct watch *w, const struct trace_tap_event *ev);
/* Hands over what there is; now and then, some ms apart. `final`: it comes no more. */
void watch_flush(struct watch *w, bool final);

struct watch_stats {
	uint64_t n_lines;
	uint64_t n_lost; /* events of which there is no line */
};
void watch_stats(const struct watch *w, struct watch_stats *ret);

#endif
