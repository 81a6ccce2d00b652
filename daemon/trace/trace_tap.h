/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_tap.h - who listens to what a session writes: every slice, instant and counter value
 * as it goes into the trace, with its name, track, thread and arguments; a slice when it has
 * ended, those within it after it. Triggers and `tracectl watch` are made of it.
 */
#ifndef TRACE_TAP_H
#define TRACE_TAP_H

#include <stddef.h>
#include <stdint.h>

#include "trace_writer.h"

enum trace_tap_kind {
	TAP_SLICE,
	TAP_INSTANT,
	TAP_COUNTER,
	TAP_LOSS, /* events that are missing: `name` is their source, `category` says why */
};

/* Everything is valid during the call only. */
struct trace_tap_event {
	enum trace_tap_kind kind;
	unsigned source;	     /* index in collectors[] */
	uint64_t time_ns, end_ns;    /* of a slice; else they are equal */
	const char *name, *category; /* of a counter its track's name; category may be NULL */
	uint32_t tgid, tid; /* of a thread's or process's track, or of one below it; 0: of none */
	const char *track;  /* name of the track that is no thread's; or NULL */
	const struct trace_arg *args;
	size_t n_args;
	double value; /* of a counter; of a loss how many */
};

typedef void trace_tap_fn(void *ctx, const struct trace_tap_event *ev);

/*
 * `fn` NULL: nobody. One each writer, at any time; it must not write to the trace. -ENOMEM:
 * nobody listens.
 */
int trace_writer_tap(struct trace_writer *w, trace_tap_fn *fn, void *ctx);

/*
 * For encoders, of what is drawn by other packets: a process that ends, a job of a GPU. `ev`
 * is as a listener gets it but for the source, which is the one at hand.
 */
bool trace_is_tapped(const struct trace_writer *w);
void trace_tap_tell(struct trace_writer *w, const struct trace_tap_event *ev);

#endif
