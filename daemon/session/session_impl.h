/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_impl.h - the insides of a session, shared by session.c (life, events,
 * account), session_trace.c (head, tail, cost and loss in the trace) and session_snapshot.c.
 */
#ifndef SESSION_IMPL_H
#define SESSION_IMPL_H

#include "buf.h"
#include "cost.h"
#include "ledger.h"
#include "session.h"
#include "trace_lines.h"

struct session_source {
	bool on;
	bool opened; /* session_open() was called with success */
	char why[WHY_LEN];
	void *encoder;

	struct ledger *ledger; /* which events are this session's, and which of them came */
	uint64_t n_malformed, n_filtered;
	uint64_t n_others; /* of other users: as if they were not */
	uint64_t n_dropped_shown;

	struct buf unfinished; /* records of what was going on at the stop */
};

struct session {
	struct session_env env;
	struct trace_config config;
	bool filtered;
	struct own_view *own; /* NULL: the session's owner may see everything */
	unsigned n_cpus, n_sources;
	struct session_source sources[MAX_COLLECTORS];
	struct trace_writer *writer;

	uint64_t start_ns, stop_ns; /* stop_ns 0: it records */
	uint64_t clocks_ns;	    /* of the last ClockSnapshot */
	uint64_t asleep_ns;	    /* BOOTTIME - MONOTONIC then */
	uint64_t forgot_ns;	    /* when tracks were forgotten, without a sink */
	int error;
	bool told_unfinished; /* what goes on at the end */
	bool is_written;      /* all events, at the end */
	bool done;
	char sampling[512];

	struct lines_query *lines; /* at the end; NULL: nothing is asked */
	struct trace_lines told;   /* what was answered so far */
	uint64_t lines_until_ns;
	bool hurried;		 /* its end waits for nothing */
	uint64_t n_lines_missed; /* locations */

	/* In a child that makes a snapshot: where that begins; else NULL (session_snapshot.c). */
	struct session_mark *since;

	struct cost cost_first, cost_last;
	struct bpf_cost bpf_first;
	struct due_samples due; /* when it has stopped */
	uint64_t bpf_last_ns, bytes_last;
};

/* session_trace.c */
int session_write_head(struct session *s);
int session_write_attributes(struct session *s);
int session_write_clocks(struct session *s, uint64_t now_ns);
int session_write_cost(struct session *s);
int session_write_losses(struct session *s);
int session_write_tail(struct session *s);

/* session.c: all that was recorded, to the last event. */
int session_write_rest(struct session *s, uint64_t now_ns);

/* session_snapshot.c: of what came before the mark, or of the time since. */
void session_mark_cost(const struct session_mark *m, struct session_cost *ret);
void session_mark_ledger(const struct session_mark *m, unsigned source, struct session_ledger *l);
const uint64_t *session_mark_ends(const struct session_mark *m, unsigned source);

/* session_lines.c: after the last event; pending until answered, or too late. */
int session_begin_lines(struct session *s, uint64_t now_ns);
bool session_lines_pending(const struct session *s, uint64_t now_ns);
void session_end_lines(struct session *s);

/* session_unfinished.c: once there are encoders; when stop_ns is set; after the last event. */
int session_write_existing(struct session *s);
void session_keep_unfinished(struct session *s);
int session_write_unfinished(struct session *s);

#endif
