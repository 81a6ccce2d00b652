/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_line.h - an event as a line of JSON, for `tracectl watch`. What is in it is
 * documented in tracectl(1): other programs read it.
 */
#ifndef WATCH_LINE_H
#define WATCH_LINE_H

#include "buf.h"
#include "trace_tap.h"

struct process_table;

struct watch_clock {
	uint64_t wall_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME */
	uint64_t second;  /* of which `text` is the date and time; 0: of none */
	char text[32];
};

void watch_clock_set(struct watch_clock *clock); /* the wall clock may be set at any time */

/*
 * Appends the line. `pt` gives names to processes and threads; NULL: none. -ENOMEM: nothing
 * is appended.
 */
int watch_line_event(struct buf *lines, const struct trace_tap_event *ev,
		     const struct process_table *pt, struct watch_clock *clock);
/* Of a source's events, or of lines (`source` NULL), which had no room. */
int watch_line_lost(struct buf *lines, uint64_t n, const char *source, const char *reason,
		    uint64_t time_ns, struct watch_clock *clock);

#endif
