/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_unfinished.c - what there was when a session began: sockets, say; and what was
 * going on when it stopped: calls that had not returned. They are no events and not in
 * the ledger.
 *
 * The former are written at once. The latter are kept at the stop, since much of it is over by the
 * time the rings are empty; written behind the last event, whose slice has ended where theirs
 * begin.
 */
#include "collector.h"
#include "session_impl.h"
#include "session_own.h"
#include "trace_filter.h"
#include "trace_writer.h"

struct existing {
	struct session *session;
	unsigned source;
	int r;
};

/* The event_sink_fn of what there is. */
static void write_one(void *ctx, const struct event_hdr *ev, size_t len)
{
	struct existing *e = ctx;
	struct session *s = e->session;

	(void)len;
	if (s->own)
		ev = own_view_of(s->own, e->source, ev);
	if (!ev || e->r < 0 ||
	    (s->filtered && !trace_filter_match(&s->config, s->env.processes, ev)))
		return;
	trace_writer_source(s->writer, e->source, ev->time_ns);
	e->r = collectors[e->source]->encode(s->sources[e->source].encoder, ev);
	if (e->r == 0 && trace_writer_is_full(s->writer))
		e->r = trace_writer_flush(s->writer);
}

int session_write_existing(struct session *s)
{
	struct existing e = { .session = s };

	for (unsigned i = 0; e.r == 0 && i < s->n_sources; i++) {
		e.source = i;
		/* A failure leaves the trace without them: nothing else depends on it. */
		if (s->sources[i].encoder && collectors[i]->existing)
			(void)collectors[i]->existing(sources_state(s->env.sources, i), s->start_ns,
						      write_one, &e);
	}
	return e.r;
}

/* At most one for each thread there is. Without memory they are not shown. */
static void keep(void *ctx, const struct event_hdr *ev, size_t len)
{
	struct session_source *src = ctx;

	(void)buf_append(&src->unfinished, ev, len);
}

void session_keep_unfinished(struct session *s)
{
	for (unsigned i = 0; i < s->n_sources; i++) {
		struct session_source *src = &s->sources[i];

		/* A failure leaves the trace without them: nothing else depends on it. */
		if (src->on && src->encoder && collectors[i]->unfinished)
			(void)collectors[i]->unfinished(sources_state(s->env.sources, i),
							s->stop_ns, keep, src);
	}
}

static bool is_wanted(const struct session *s, unsigned i, const struct event_hdr *ev)
{
	return !s->filtered ||
	       (collectors[i]->is_machine_wide && collectors[i]->is_machine_wide(ev)) ||
	       trace_filter_match(&s->config, s->env.processes, ev);
}

static int write_of_source(struct session *s, unsigned i)
{
	struct session_source *src = &s->sources[i];
	const struct event_hdr *ev;
	size_t size;
	int r = 0;

	for (size_t at = 0; r == 0 && at < src->unfinished.len; at += size) {
		ev = (const void *)(src->unfinished.data + at);
		size = ev->size;
		if (s->own)
			ev = own_view_of(s->own, i, ev);
		if (!ev || !is_wanted(s, i, ev))
			continue;
		trace_writer_source(s->writer, i, ev->time_ns);
		r = collectors[i]->encode(src->encoder, ev);
		if (r == 0 && trace_writer_is_full(s->writer))
			r = trace_writer_flush(s->writer);
	}
	buf_done(&src->unfinished);
	return r;
}

int session_write_unfinished(struct session *s)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < s->n_sources; i++)
		r = write_of_source(s, i);
	return r;
}
