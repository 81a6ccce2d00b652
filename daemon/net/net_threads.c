/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_threads.c - where in the program a request was sent or received: instants on
 * the track of the thread, with its stack where one was taken.
 *
 * A stack comes with the bytes, when nobody knows yet what they are; and whether the
 * request is over before its stack has names, or the other way round, is open. So a mark
 * keeps what comes first.
 */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "collect/stack_encode.h"
#include "net_encode_impl.h"
#include "process/process_table.h"

#define MAX_MARKS_PER_CONN 16
/* Newer marks come first, but for those of threads that used a connection at the same time. */
#define MARKS_DISORDER_NS (10 * NS_PER_MS)

/* An instant that waits for its stack. */
struct waiting {
	struct waiting *next;
	struct net_thread_point point;
	uint64_t cookie;
};

struct net_mark {
	struct net_mark *next;		 /* of its connection, an older one */
	struct net_mark *before, *after; /* of all */
	struct net_encoder *enc;
	unsigned n_users; /* the connection, the stack encoder */
	uint64_t cookie, off, time_ns;
	uint32_t tgid, tid;
	bool sent, has_come;	/* its bytes have: `time_ns` is theirs */
	bool is_used;		/* by a request */
	uint64_t callstack_iid; /* 0: it has no names yet */
	unsigned generation;	/* of the writer, in which that holds */
	struct waiting *waiting;
};

/* What the stack encoder keeps, and frees. */
struct reference {
	struct net_mark *mark;
};

static void mark_free(struct net_mark *m)
{
	while (m->waiting) {
		struct waiting *next = m->waiting->next;

		free(m->waiting);
		m->waiting = next;
	}
	if (m->before)
		m->before->after = m->after;
	else
		m->enc->marks = m->after;
	if (m->after)
		m->after->before = m->before;
	m->enc->n_marks--;
	free(m);
}

static void release(struct net_mark *m)
{
	if (--m->n_users == 0)
		mark_free(m);
}

/* ---- instants ---- */

static int write_point(struct net_encoder *enc, uint64_t cookie, const struct net_thread_point *p,
		       uint64_t callstack_iid)
{
	const struct thread *thread = process_table_thread(enc->env.processes, p->tid);
	bool is_it = thread && thread->start_ns <= p->time_ns; /* its number is used again */
	const struct trace_arg connection = { .name = "connection", .type = ARG_UINT, .u = cookie };
	struct trace_event ev = {
		.name = p->name,
		.is_literal = true,
		.category = "net",
		.time_ns = p->time_ns,
		.callstack_iid = callstack_iid,
		.flow_id = p->flow_id,
		.args = &connection,
		.n_args = cookie != 0,
	};

	trace_writer_time(enc->env.writer, p->time_ns);
	ev.track =
		trace_thread_track(enc->env.writer, p->tgid, p->tid, is_it ? thread->start_ns : 0);
	return ev.track ? trace_instant(enc->env.writer, &ev, 0) : -ENOMEM;
}

/* The stack_done_fn: all that has waited for it is written. */
static int stack_done(void *ctx, void *what, uint64_t callstack_iid)
{
	struct net_encoder *enc = ctx;
	struct net_mark *m = ((struct reference *)what)->mark;
	int r = 0;

	m->callstack_iid = callstack_iid;
	m->generation = trace_writer_generation(enc->env.writer);
	for (struct waiting *w = m->waiting; r == 0 && w; w = w->next)
		r = write_point(enc, w->cookie, &w->point, callstack_iid);
	release(m);
	return r;
}

static struct net_mark *find_mark(const struct net_conn *c, const struct net_thread_point *p,
				  uint64_t slack_ns)
{
	for (struct net_mark *m = c->marks; m; m = m->next) {
		if (m->has_come && m->time_ns + slack_ns + MARKS_DISORDER_NS < p->call_ns)
			break;
		if (m->has_come && m->sent == p->sent && m->tid == p->tid &&
		    m->time_ns <= p->call_ns && m->time_ns + slack_ns >= p->call_ns)
			return m;
	}
	return NULL;
}

/* Now, or when the stack has names. */
static int write_with_stack(struct net_mark *m, const struct net_thread_point *p)
{
	struct waiting *w;

	m->is_used = true;
	if (m->callstack_iid) {
		bool holds = m->generation == trace_writer_generation(m->enc->env.writer);

		return write_point(m->enc, m->cookie, p, holds ? m->callstack_iid : 0);
	}
	w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct waiting){ .next = m->waiting, .point = *p, .cookie = m->cookie };
	m->waiting = w;
	return 0;
}

int net_thread_write(struct net_conn *c, const struct net_thread_point *p, uint64_t slack_ns)
{
	struct net_mark *m = find_mark(c, p, slack_ns);

	return m ? write_with_stack(m, p) : write_point(c->enc, c->sock.cookie, p, 0);
}

/* ---- marks ---- */

/* A message that no request begins with: where it came from is shown all the same. */
static int end_mark(struct net_mark *m)
{
	const struct net_thread_point p = {
		.name = m->sent ? "sent" : "received",
		.time_ns = m->time_ns,
		.tgid = m->tgid,
		.tid = m->tid,
	};
	int r = m->is_used ? 0 : write_with_stack(m, &p);

	release(m);
	return r;
}

static int end_marks(struct net_mark **at)
{
	int r = 0;

	while (*at) {
		struct net_mark *m = *at;
		int one;

		*at = m->next;
		one = end_mark(m);
		r = r < 0 ? r : one;
	}
	return r;
}

int net_marks_end(struct net_conn *c)
{
	return end_marks(&c->marks);
}

static int end_old_marks(struct net_conn *c)
{
	struct net_mark **at = &c->marks;

	for (unsigned n = 0; *at && n < MAX_MARKS_PER_CONN; n++)
		at = &(*at)->next;
	return end_marks(at);
}

int net_mark_stack(struct net_conn *c, const struct net_stack_event *ev)
{
	struct net_encoder *enc = c->enc;
	struct stack_sample s = {
		.time_ns = ev->hdr.time_ns,
		.tgid = ev->hdr.tgid,
		.tid = ev->hdr.tid,
		.cpu = ev->hdr.cpu,
	};
	struct reference *ref;
	struct net_mark *m;
	int r;

	if (enc->n_marks >= NET_MAX_MARKS) {
		enc->over[NET_BOUND_MARKS]++;
		return 0;
	}
	ref = malloc(sizeof(*ref));
	m = calloc(1, sizeof(*m));
	if (!ref || !m) {
		free(ref);
		free(m);
		return -ENOMEM;
	}
	*m = (struct net_mark){
		.next = c->marks,
		.after = enc->marks,
		.enc = enc,
		.n_users = 2,
		.cookie = ev->cookie,
		.off = ev->off,
		.time_ns = ev->hdr.time_ns,
		.tgid = ev->hdr.tgid,
		.tid = ev->hdr.tid,
		.sent = ev->sent,
	};
	if (enc->marks)
		enc->marks->before = m;
	c->marks = enc->marks = m;
	enc->n_marks++;
	ref->mark = m;
	s.what = ref;
	stack_sample_user(&s, &ev->user);
	r = stack_encoder_add(enc->stacks, &s);
	return r < 0 ? r : end_old_marks(c);
}

void net_mark_io(struct net_conn *c, const struct net_io_event *ev)
{
	struct net_mark *m = c->marks;

	if (!m || m->has_come || m->tid != ev->hdr.tid || m->off != ev->off ||
	    m->sent != (ev->flags & NET_SENT))
		return;
	m->time_ns = ev->hdr.time_ns;
	m->has_come = true;
}

void net_marks_free(struct net_conn *c)
{
	while (c->marks) {
		struct net_mark *m = c->marks;

		c->marks = m->next;
		release(m);
	}
}

int net_threads_new(struct net_encoder *enc)
{
	struct stack_source source = { .seq = SEQ_EVENTS, .done = stack_done, .done_ctx = enc };

	return stack_encoder_new(&enc->env, &source, &enc->stacks);
}

/* Connections are gone; what waits for a stack goes with it. */
void net_threads_free(struct net_encoder *enc)
{
	stack_encoder_free(enc->stacks);
	while (enc->marks)
		mark_free(enc->marks);
}
