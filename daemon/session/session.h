/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - one recording: its configuration, encoders, trace writer and
 * account of every event.
 *
 * It is told every record of every source and takes its own; it does not know
 * where its bytes go (trace_sink_fn), nor about other sessions.
 */
#ifndef SESSION_H
#define SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "sources.h"
#include "trace_config.h"
#include "trace_tap.h"

struct probes;
struct session;

struct session_env {
	struct sources *sources;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwinder *unwinder;
	struct interpreter *interpreter;
	struct probes *probes;
	trace_sink_fn *sink; /* NULL: nothing is written, `tap` is told */
	void *sink_ctx;
	trace_tap_fn *tap; /* NULL: nobody listens; with `sink_ctx` */
	unsigned slot;
	bool segments; /* its trace will be cut by session_cut() */
};

/*
 * Starts the sources, writes the head of the trace and begins to record.
 * Takes over what `config` points to. A source that cannot run is left out,
 * which session_source_why() tells; it is an error (-ENODEV) only when nothing
 * is left. `why` explains an error.
 */
int session_start(const struct session_env *env, struct trace_config *config, char why[WHY_LEN],
		  struct session **ret);
void session_free(struct session *s); /* takes NULL */

/* Every record of every source comes through here. */
void session_event(struct session *s, unsigned source, const struct event_hdr *ev, size_t len,
		   bool valid);

/* Hands over what is ready; call every 250 ms or more often. < 0: the session has failed. */
int session_flush(struct session *s, uint64_t now_ns);
/* About once a second: clocks, cost. */
int session_tick(struct session *s, uint64_t now_ns);

/*
 * Ends the recording: no event after this moment counts. Then drain the
 * sources, and call session_finish() until it does not return -EAGAIN: it
 * waits some seconds for names, writes the rest and the account.
 */
void session_stop(struct session *s);
int session_finish(struct session *s, uint64_t now_ns);
/* From now on it waits for nothing: what is not known is left out, and said to be. */
void session_hurry(struct session *s);

struct session_ledger {
	uint64_t n_produced, n_lost, n_malformed, n_filtered, n_dropped, n_written;
};
void session_ledger(const struct session *s, unsigned source, struct session_ledger *ret);

/* How the stacks of a source have ended, by enum unwind_end; NULL: it has none. */
const uint64_t *session_stack_ends(const struct session *s, unsigned source);

struct session_cost {
	uint64_t daemon_cpu_ns, bpf_cpu_ns; /* since the session began; 0: not to be told */
	uint64_t unsampled_ns;		    /* struct bpf_cost */
	uint64_t n_processes;		    /* known now, and gone lately */
	uint64_t n_due, n_taken;	    /* struct due_samples, at the end; 0: not to be told */
};
void session_cost(const struct session *s, struct session_cost *ret);

/* ---- a trace that is cut, and snapshots of it (session_snapshot.c) ---- */

/* A moment from which on the trace is whole: for what comes before it there is a head. */
struct session_mark;
struct session_cut {
	struct session_mark *mark;
	/* Of the segment that is over, as trace_writer_places(): of malloc(), each held. */
	struct location **places;
	size_t n_places;
};
/*
 * Flushes and begins a segment: every event so far is older than `time_ns`. `keep`: as in
 * trace_writer_restart(). A failure is the session's.
 */
int session_cut(struct session *s, uint64_t time_ns, unsigned keep, struct session_cut *ret);
void session_mark_free(struct session_mark *m); /* takes NULL */
uint64_t session_mark_ns(const struct session_mark *m);

/*
 * A snapshot is a head, what was handed to the sink since the mark, and a tail. It is made by
 * a child of fork(), in which everything stands still: of what is done to the session there the
 * session itself knows nothing. Before, in the parent, what a child cannot read:
 */
void session_cost_since(const struct session *s, const struct session_mark *m,
			struct session_cost *ret);
/* In the child, while it has its descriptors: the end, and what goes on then. */
void session_child_stop(struct session *s, uint64_t end_ns);
/* What is in the trace before the segments; more of it may be put to `ret`, then flush it. */
struct trace_attribute;
int session_child_head(struct session *s, const struct session_mark *m,
		       const struct trace_attribute *attrs, size_t n_attrs, trace_sink_fn *sink,
		       void *sink_ctx, struct trace_writer **ret);
struct session_child_sink {
	trace_sink_fn *fn;
	void *ctx;
	/* What else is to be written behind the last event, before the account. */
	int (*more)(void *ctx, struct trace_writer *w);
	/*
	 * Of each source's events since the mark, those that are not in the snapshot as they are
	 * older; looked at behind the last event.
	 */
	const uint64_t *n_cut;
};
/* What the encoders still have, what goes on, and the account of the time since the mark. */
int session_child_tail(struct session *s, struct session_mark *m, const struct session_cost *cost,
		       const struct session_child_sink *sink);

/* For who hears nothing else of a session that goes on. */
size_t session_places(const struct session *s, struct location *const **ret); /* since the cut */
uint64_t session_oldest(const struct session *s); /* trace_writer_oldest() */
int session_tap(struct session *s, trace_tap_fn *fn, void *ctx);

const struct trace_config *session_config(const struct session *s);
/* Whether the source is in the recording; `*ret_why`: what is missing, or "". */
bool session_source_on(const struct session *s, unsigned source, const char **ret_why);
uint64_t session_start_ns(const struct session *s);
uint64_t session_elapsed_ns(const struct session *s);
uint64_t session_bytes(const struct session *s);
const char *session_sampling(const struct session *s); /* "cpu-clock 999 Hz", or "" */
int session_error(const struct session *s);	       /* of an encoder or the writer; 0: none */

#endif
