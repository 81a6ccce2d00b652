/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_snapshot.c - a trace that is cut into segments, and what a snapshot of it has before
 * and behind them.
 *
 * What is said of a snapshot is of its own time: the account is what happened since its mark.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "cpus.h"
#include "process/process_table.h"
#include "session_impl.h"
#include "trace_meta.h"
#include "unwind.h"

struct session_mark {
	uint64_t time_ns;
	uint64_t clocks[TRACE_N_CLOCKS];
	struct session_ledger ledgers[MAX_COLLECTORS];
	uint64_t *ends[MAX_COLLECTORS]; /* [UNWIND_ENDS], or NULL: a source without stacks */
	struct session_cost cost;
	uint64_t n_cut[MAX_COLLECTORS];
	unsigned n_cpus;
	uint64_t lost[]; /* of ftrace-like sources, by CPU */
};

static void count_lost(const struct session *s, uint64_t *lost)
{
	for (unsigned i = 0; i < s->n_sources; i++)
		for (unsigned cpu = 0;
		     s->sources[i].on && collectors[i]->is_ftrace && cpu < s->n_cpus; cpu++)
			lost[cpu] += ledger_lost_on(s->sources[i].ledger, cpu);
}

static int copy_ends(struct session_mark *m, const struct session *s)
{
	for (unsigned i = 0; i < s->n_sources; i++) {
		const uint64_t *ends = session_stack_ends(s, i);

		if (!ends)
			continue;
		m->ends[i] = malloc(UNWIND_ENDS * sizeof(*ends));
		if (!m->ends[i])
			return -ENOMEM;
		memcpy(m->ends[i], ends, UNWIND_ENDS * sizeof(*ends));
	}
	return 0;
}

static int mark_new(const struct session *s, uint64_t time_ns, struct session_mark **ret)
{
	struct session_mark *m = calloc(1, sizeof(*m) + s->n_cpus * sizeof(m->lost[0]));

	if (!m)
		return -ENOMEM;
	m->time_ns = time_ns;
	m->n_cpus = s->n_cpus;
	trace_meta_read_clocks(m->clocks);
	for (unsigned i = 0; i < s->n_sources; i++)
		session_ledger(s, i, &m->ledgers[i]);
	count_lost(s, m->lost);
	session_cost(s, &m->cost);
	if (copy_ends(m, s) < 0) {
		session_mark_free(m);
		return -ENOMEM;
	}
	*ret = m;
	return 0;
}

void session_mark_free(struct session_mark *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < MAX_COLLECTORS; i++)
		free(m->ends[i]);
	free(m);
}

uint64_t session_mark_ns(const struct session_mark *m)
{
	return m->time_ns;
}

int session_cut(struct session *s, uint64_t time_ns, unsigned keep, struct session_cut *ret)
{
	int r = session_flush(s, time_ns);

	if (r == 0)
		r = trace_writer_restart(s->writer, keep);
	if (r == 0)
		r = mark_new(s, time_ns, &ret->mark);
	if (r < 0) {
		s->error = r;
		return r;
	}
	ret->n_places = trace_writer_take_places(s->writer, &ret->places);
	return 0;
}

/* ---- since a mark ---- */

void session_mark_cost(const struct session_mark *m, struct session_cost *ret)
{
	*ret = m->cost;
}

void session_mark_ledger(const struct session_mark *m, unsigned i, struct session_ledger *l)
{
	const struct session_ledger *before = &m->ledgers[i];
	uint64_t n_cut = m->n_cut[i];

	l->n_lost -= before->n_lost;
	l->n_malformed -= before->n_malformed;
	l->n_filtered -= before->n_filtered;
	l->n_dropped -= before->n_dropped;
	l->n_written -= before->n_written;
	if (n_cut > l->n_written)
		n_cut = l->n_written;
	l->n_written -= n_cut;
	l->n_filtered += n_cut;
	/* Some that came before the mark were written after it: of stacks without names yet. */
	l->n_produced = l->n_lost + l->n_malformed + l->n_filtered + l->n_dropped + l->n_written;
}

const uint64_t *session_mark_ends(const struct session_mark *m, unsigned i)
{
	return m->ends[i];
}

/* Turns what was before the mark into what was since. */
static void subtract_ends(const struct session *s, struct session_mark *m)
{
	for (unsigned i = 0; i < s->n_sources; i++) {
		const uint64_t *now = m->ends[i] ? session_stack_ends(s, i) : NULL;

		for (int end = 0; now && end < UNWIND_ENDS; end++)
			m->ends[i][end] = now[end] - m->ends[i][end];
	}
}

/* ---- of a snapshot ---- */

void session_cost_since(const struct session *s, const struct session_mark *m,
			struct session_cost *ret)
{
	session_cost(s, ret);
	ret->daemon_cpu_ns -= m->cost.daemon_cpu_ns;
	ret->bpf_cpu_ns -= m->cost.bpf_cpu_ns;
	ret->unsampled_ns -= m->cost.unsampled_ns;
}

void session_child_stop(struct session *s, uint64_t end_ns)
{
	for (unsigned i = 0; i < s->n_sources; i++) {
		unsigned stream = collectors[i]->per_session_streams ? s->env.slot : 0;

		/* What is in the rings still is not lost: it comes behind the snapshot. */
		for (unsigned cpu = 0; s->sources[i].on && cpu < s->n_cpus; cpu++)
			ledger_end(s->sources[i].ledger, cpu,
				   sources_next_seq(s->env.sources, i, stream, cpu));
	}
	s->stop_ns = end_ns;
	(void)trace_writer_tap(s->writer, NULL, NULL); /* who listens does so in the parent */
	session_keep_unfinished(s);
}

static int write_start(struct session *s, const struct session_mark *m,
		       const struct trace_attribute *attrs, size_t n_attrs)
{
	int r = trace_meta_put_clocks(s->writer, m->clocks);

	if (r == 0)
		r = trace_meta_machine(s->writer);
	if (r == 0)
		r = session_write_attributes(s);
	if (r == 0)
		r = trace_meta_attributes(s->writer, attrs, n_attrs);
	if (r == 0)
		r = trace_meta_milestone(s->writer, TRACE_STARTED, m->time_ns);
	if (r == 0)
		r = trace_meta_milestone(s->writer, TRACE_ALL_STARTED, m->time_ns);
	if (r == 0)
		r = trace_meta_ftrace_stats(s->writer, m->lost, s->n_cpus, false, m->time_ns);
	return r;
}

int session_child_head(struct session *s, const struct session_mark *m,
		       const struct trace_attribute *attrs, size_t n_attrs, trace_sink_fn *sink,
		       void *sink_ctx, struct trace_writer **ret)
{
	struct trace_writer *own = s->writer;
	int r = trace_writer_new(sink, sink_ctx, &s->writer);

	if (r == 0) {
		trace_writer_source(s->writer, MAX_COLLECTORS - 1, m->time_ns);
		r = write_start(s, m, attrs, n_attrs);
		*ret = s->writer;
	}
	s->writer = own;
	return r;
}

int session_child_tail(struct session *s, struct session_mark *m, const struct session_cost *cost,
		       const struct session_child_sink *sink)
{
	int r;

	trace_writer_set_sink(s->writer, sink->fn, sink->ctx);
	r = session_write_unfinished(s);
	if (r == 0)
		r = session_write_rest(s, s->stop_ns);
	if (r == 0) {
		trace_writer_source(s->writer, MAX_COLLECTORS - 1, s->stop_ns);
		r = sink->more(sink->ctx, s->writer);
	}
	if (r == 0)
		r = trace_writer_flush(s->writer);
	if (r < 0)
		return r;
	subtract_ends(s, m);
	memcpy(m->n_cut, sink->n_cut, sizeof(m->n_cut));
	m->cost = *cost;
	s->since = m;
	r = session_write_tail(s);
	return r < 0 ? r : trace_writer_flush(s->writer);
}

uint64_t session_oldest(const struct session *s)
{
	return trace_writer_oldest(s->writer);
}

int session_tap(struct session *s, trace_tap_fn *fn, void *ctx)
{
	return trace_writer_tap(s->writer, fn, ctx);
}

size_t session_places(const struct session *s, struct location *const **ret)
{
	return trace_writer_places(s->writer, ret);
}
