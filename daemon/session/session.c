/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - one recording: its life, its events and what became of each of them. */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/cpu_encode.h"
#include "cpus.h"
#include "hash.h"
#include "log.h"
#include "session_impl.h"
#include "session_own.h"
#include "symbolize/symbolizer.h"
#include "trace_filter.h"
#include "trace_meta.h"

/* How long the end waits for names: the worker's own limit for a file, and some. */
#define FINISH_WAIT_NS	   (6 * NS_PER_SEC)
#define CLOCKS_INTERVAL_NS (10 * NS_PER_SEC)
/* Without a sink a session may go on for ever: tracks without use for so many intervals go. */
#define FORGET_INTERVAL_NS (60 * NS_PER_SEC)
#define FORGET_AFTER	   10
/* Draining what is older than the session: as long as it takes, in slices. */
#define DRAIN_SLICE_NS (50 * NS_PER_MS)

static unsigned stream_of(const struct session *s, unsigned i)
{
	return collectors[i]->per_session_streams ? s->env.slot : 0;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	for (unsigned i = s->n_sources; i-- > 0;) {
		struct session_source *src = &s->sources[i];

		if (src->opened)
			collectors[i]->session_close(sources_state(s->env.sources, i), s->env.slot);
		if (src->encoder)
			collectors[i]->encoder_free(src->encoder);
		if (src->on)
			sources_release(s->env.sources, i);
		buf_done(&src->unfinished);
		ledger_free(src->ledger);
	}
	lines_query_free(s->lines);
	trace_lines_done(&s->told);
	trace_writer_free(s->writer);
	own_view_free(s->own);
	free(s->config.command_line);
	free(s->config.probes);
	free(s);
}

/* ---- start ---- */

/* Produced so far on `cpu`; 0 for a source that does not count. */
static uint64_t n_produced(const struct session *s, unsigned i, unsigned cpu)
{
	struct event_stream count = { 0 };

	(void)sources_count(s->env.sources, i, stream_of(s, i), cpu, &count);
	return count.n_produced;
}

/*
 * `nameless`: why the source that gives names is missing, or NULL. What happens to
 * threads without names, which is all that comes from the kernel, is left out then.
 */
static int acquire_source(struct session *s, unsigned i, const char *nameless)
{
	struct session_source *src = &s->sources[i];

	if (!nameless || !collectors[i]->object)
		return sources_acquire(s->env.sources, i, src->why);
	snprintf(src->why, WHY_LEN, "without source proc nothing would have a name: %.*s",
		 WHY_LEN - 60, nameless);
	return -ENODEV;
}

static bool is_wanted(const struct session *s, unsigned i)
{
	return collectors[i]->always || (s->config.sources & 1u << i);
}

/* What names things first of all: the others are waited for while it looks what there is. */
static void prepare_sources(struct session *s)
{
	sources_prepare(s->env.sources, 0);
	for (int turn = 1; turn >= 0; turn--)
		for (unsigned i = 1; i < s->n_sources; i++)
			if (is_wanted(s, i) && collectors[i]->loads_longest == turn)
				sources_prepare(s->env.sources, i);
}

/* Starts what is wanted; what cannot run is left out with its reason. */
static int acquire_sources(struct session *s, char why[WHY_LEN])
{
	unsigned n_on = 0, n_wanted = 0;
	const char *nameless = NULL;

	prepare_sources(s);
	for (unsigned i = 0; i < s->n_sources; i++) {
		struct session_source *src = &s->sources[i];
		int r;

		if (!is_wanted(s, i))
			continue;
		r = ledger_new(s->n_cpus, &src->ledger);
		if (r < 0)
			return r;
		r = acquire_source(s, i, nameless);
		src->on = r == 0;
		n_wanted += !collectors[i]->always;
		n_on += src->on && !collectors[i]->always;
		if (r == 0) {
			/* What is missing may be about processes of others. */
			if (s->config.owner.only_own)
				src->why[0] = '\0';
			continue;
		}
		if (collectors[i]->always)
			nameless = src->why;
		snprintf(why, WHY_LEN, "%s: %.*s", collectors[i]->name, WHY_LEN - 40, src->why);
		if (s->config.n_probes && strcmp(collectors[i]->name, "probes") == 0)
			return r;
		log_told("%s: %s; recording without it", collectors[i]->name, src->why);
	}
	return n_on > 0 || n_wanted == 0 ? 0 : -ENODEV;
}

/* Of what was asked for by name nothing is left out in silence. */
static bool is_must(const struct session *s, unsigned i)
{
	return s->config.must_sample ||
	       (s->config.n_probes && strcmp(collectors[i]->name, "probes") == 0);
}

/*
 * After this the sources give what this session alone asked for. Before it begins: some
 * wait for where their probes are to be, and all shall begin at one moment.
 */
static int open_sources(struct session *s, char why[WHY_LEN])
{
	for (unsigned i = 0; i < s->n_sources; i++) {
		struct session_source *src = &s->sources[i];
		int r;

		if (!src->on || !collectors[i]->session_open)
			continue;
		r = collectors[i]->session_open(sources_state(s->env.sources, i), &s->config,
						s->env.slot, src->why);
		src->opened = r == 0;
		if (r == 0 && s->config.owner.only_own)
			src->why[0] = '\0';
		if (r == 0)
			continue;
		snprintf(why, WHY_LEN, "%s: %.*s", collectors[i]->name, WHY_LEN - 40, src->why);
		if (is_must(s, i) || r == -ENOMEM)
			return r;
		log_told("%s: %s; recording without it", collectors[i]->name, src->why);
		sources_release(s->env.sources, i);
		src->on = false;
	}
	return 0;
}

/*
 * Fixes the moment from which events are this session's: everything older is
 * applied to the process table by now, and nothing younger is.
 */
static int begin(struct session *s)
{
	int r;

	for (unsigned i = 0; i < s->n_sources; i++)
		for (unsigned cpu = 0; s->sources[i].on && cpu < s->n_cpus; cpu++)
			ledger_begin(s->sources[i].ledger, cpu, n_produced(s, i, cpu));
	sources_settle();
	s->start_ns = boot_ns();
	/* At once: the rest may take seconds, and no time of the trace lies before it. */
	r = session_write_clocks(s, s->start_ns);
	while (sources_drain(s->env.sources, s->start_ns, DRAIN_SLICE_NS))
		;
	for (unsigned i = 0; i < s->n_sources; i++) {
		struct session_source *src = &s->sources[i];

		for (unsigned cpu = 0; src->on && cpu < s->n_cpus; cpu++)
			ledger_skip(src->ledger, cpu,
				    sources_next_seq(s->env.sources, i, stream_of(s, i), cpu));
	}
	return r;
}

static int new_encoders(struct session *s)
{
	struct encoder_env env = {
		.writer = s->writer,
		.processes = s->env.processes,
		.symbolizer = s->env.symbolizer,
		.unwinder = s->env.unwinder,
		.interpreter = s->env.interpreter,
		.probes = s->env.probes,
		.config = &s->config,
		.slot = s->env.slot,
		.start_ns = s->start_ns,
	};

	for (unsigned i = 0; i < s->n_sources; i++) {
		int r;

		if (!s->sources[i].on)
			continue;
		trace_writer_source(s->writer, i, s->start_ns);
		r = collectors[i]->encoder_new(&env, &s->sources[i].encoder);
		if (r < 0)
			return r;
	}
	return 0;
}

static void plan_sampling(struct session *s)
{
	int cpu = collector_index(collector_by_name("cpu"));
	struct cpu_sampling plan;
	size_t len = 0;

	if (cpu < 0 || !s->sources[cpu].on)
		return;
	for (unsigned i = 0; i < cpu_sampling_count(&s->config) && len < sizeof(s->sampling); i++)
		if (cpu_sampling_plan(&s->config, i, &plan) == 0)
			len += (size_t)snprintf(s->sampling + len, sizeof(s->sampling) - len,
						"%s%s", i ? ", " : "", plan.name);
}

int session_start(const struct session_env *env, struct trace_config *config, char why[WHY_LEN],
		  struct session **ret)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->env = *env;
	s->config = *config;
	config->command_line = NULL;
	config->probes = NULL;
	s->filtered = trace_filter_any(&s->config);
	s->n_cpus = cpus_possible();
	while (collectors[s->n_sources])
		s->n_sources++;

	why[0] = '\0';
	r = trace_writer_new(env->sink, env->sink_ctx, &s->writer);
	if (r == 0 && (env->segments || !env->sink))
		r = trace_writer_split(s->writer);
	if (r == 0 && s->config.owner.only_own)
		r = own_view_new(&s->config, s->env.processes, &s->own);
	if (r == 0)
		r = trace_writer_tap(s->writer, env->tap, env->sink_ctx);
	if (r == 0)
		r = acquire_sources(s, why);
	sources_forget(env->sources);
	if (r < 0)
		goto fail;
	r = open_sources(s, why);
	if (r < 0)
		goto fail;
	plan_sampling(s);
	r = begin(s);
	if (r == 0)
		r = session_write_head(s);
	if (r == 0)
		r = new_encoders(s);
	if (r == 0)
		r = session_write_existing(s);
	if (r == 0)
		r = trace_meta_milestone(s->writer, TRACE_ALL_STARTED, boot_ns());
	if (r == 0)
		r = trace_writer_flush(s->writer);
	if (r < 0)
		goto fail;
	*ret = s;
	return 0;

fail:
	session_free(s);
	return r;
}

/* ---- events ---- */

/* Whether the record is this session's. */
static bool take(struct session *s, unsigned i, const struct event_hdr *ev)
{
	struct session_source *src = &s->sources[i];
	enum ledger_verdict verdict = ledger_take(src->ledger, ev->cpu, ev->seq, ev->time_ns);

	/* A small gap may still be filled; if not, the next flush tells. */
	if (verdict == LEDGER_AFTER_LOSS && collectors[i]->lost)
		collectors[i]->lost(src->encoder, ev->cpu);
	return verdict != LEDGER_NOT_OURS;
}

static int flush_encoders(struct session *s, uint64_t now_ns, bool final)
{
	for (unsigned i = 0; i < s->n_sources; i++) {
		struct session_source *src = &s->sources[i];
		int r;

		if (!src->encoder || !collectors[i]->flush)
			continue;
		trace_writer_source(s->writer, i, now_ns);
		r = collectors[i]->flush(src->encoder, now_ns, final);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Names and processes go with the events that lean on them: the file may end here. */
static int close_blocks(struct session *s, uint64_t now_ns)
{
	int r = flush_encoders(s, now_ns, false);

	return r < 0 ? r : trace_writer_flush(s->writer);
}

void session_event(struct session *s, unsigned i, const struct event_hdr *ev, size_t len,
		   bool valid)
{
	struct session_source *src = &s->sources[i];
	const struct collector *c = collectors[i];
	int r;

	(void)len;
	if (!src->on || !src->encoder || s->error || ev->cpu >= s->n_cpus ||
	    ev->stream != stream_of(s, i) || !take(s, i, ev))
		return;
	if (!valid) {
		src->n_malformed++;
		return;
	}
	if (s->own) {
		ev = own_view_of(s->own, i, ev);
		if (!ev) {
			src->n_others++;
			return;
		}
	}
	/* A record may be overtaken by an older one when a program was interrupted. */
	if (ev->time_ns < s->start_ns ||
	    (s->filtered && !c->machine_wide && !(c->is_machine_wide && c->is_machine_wide(ev)) &&
	     !trace_filter_match(&s->config, s->env.processes, ev))) {
		src->n_filtered++;
		return;
	}
	trace_writer_source(s->writer, i, ev->time_ns);
	r = c->encode(src->encoder, ev);
	if (r == 0 && trace_writer_is_full(s->writer))
		r = close_blocks(s, boot_ns());
	if (r < 0)
		s->error = r;
}

int session_flush(struct session *s, uint64_t now_ns)
{
	int r = s->error;

	/* Losses first: encoders mark what they write next. */
	if (r == 0)
		r = session_write_losses(s);
	if (r == 0)
		r = close_blocks(s, now_ns);
	if (r < 0)
		s->error = r;
	return r;
}

int session_tick(struct session *s, uint64_t now_ns)
{
	uint64_t asleep = asleep_ns();
	bool slept = asleep > s->asleep_ns + NS_PER_MS;
	int r = s->error;

	if (r == 0 && (slept || now_ns > s->clocks_ns + CLOCKS_INTERVAL_NS))
		r = session_write_clocks(s, now_ns);
	if (r == 0)
		r = session_write_cost(s);
	if (r == 0 && !s->env.sink && now_ns > s->forgot_ns + FORGET_INTERVAL_NS) {
		r = trace_writer_restart(s->writer, FORGET_AFTER);
		s->forgot_ns = now_ns;
	}
	if (r < 0)
		s->error = r;
	return r;
}

/* ---- end ---- */

void session_stop(struct session *s)
{
	if (s->stop_ns)
		return;
	for (unsigned i = 0; i < s->n_sources; i++) {
		struct session_source *src = &s->sources[i];

		if (src->opened && collectors[i]->session_due)
			collectors[i]->session_due(sources_state(s->env.sources, i), s->env.slot,
						   &s->due);
		if (src->opened)
			collectors[i]->session_close(sources_state(s->env.sources, i), s->env.slot);
		src->opened = false;
	}
	for (unsigned i = 0; i < s->n_sources; i++)
		for (unsigned cpu = 0; s->sources[i].on && cpu < s->n_cpus; cpu++)
			ledger_end(s->sources[i].ledger, cpu, n_produced(s, i, cpu));
	s->stop_ns = boot_ns();
	session_keep_unfinished(s);
	/* What took a number before this is in the rings when this returns. */
	sources_settle();
}

static bool any_pending(const struct session *s)
{
	for (unsigned i = 0; i < s->n_sources; i++)
		if (s->sources[i].encoder && collectors[i]->pending &&
		    collectors[i]->pending(s->sources[i].encoder))
			return true;
	return false;
}

int session_write_rest(struct session *s, uint64_t now_ns)
{
	int r;

	for (unsigned i = 0; i < s->n_sources; i++)
		if (s->sources[i].on)
			ledger_close(s->sources[i].ledger, s->stop_ns);
	r = session_write_losses(s);
	if (r == 0)
		r = flush_encoders(s, now_ns, true);
	/* Only a block that has gone says which events it took along. */
	if (r == 0)
		r = trace_writer_flush(s->writer);
	return r < 0 ? r : session_write_losses(s);
}

/* What is said about it all, last. */
static int write_end(struct session *s)
{
	int r;

	session_end_lines(s);
	r = session_write_tail(s);
	return r < 0 ? r : trace_writer_flush(s->writer);
}

/* Once; before names are waited for: what goes on wants them as well. */
static int tell_unfinished(struct session *s)
{
	if (s->told_unfinished)
		return 0;
	s->told_unfinished = true;
	return session_write_unfinished(s);
}

void session_hurry(struct session *s)
{
	s->hurried = true;
}

int session_finish(struct session *s, uint64_t now_ns)
{
	int r = s->error;

	if (s->done || r < 0)
		return r;
	if (!s->is_written) {
		r = tell_unfinished(s);
		if (r == 0 && !s->hurried && any_pending(s) &&
		    now_ns < s->stop_ns + FINISH_WAIT_NS) {
			r = session_flush(s, now_ns);
			return r < 0 ? r : -EAGAIN;
		}
		s->is_written = true;
		if (r == 0)
			r = session_write_rest(s, now_ns);
		if (r == 0)
			r = session_begin_lines(s, now_ns);
	}
	if (r == 0 && !s->hurried && session_lines_pending(s, now_ns))
		return -EAGAIN;
	s->done = true;
	if (r == 0)
		r = write_end(s);
	if (r < 0)
		s->error = r;
	return r;
}

/* ---- facts ---- */

void session_ledger(const struct session *s, unsigned i, struct session_ledger *ret)
{
	const struct session_source *src = &s->sources[i];
	struct trace_writer_stats stats;

	*ret = (struct session_ledger){ 0 };
	if (!src->on)
		return;
	trace_writer_stats(s->writer, i, &stats);
	ret->n_produced = ledger_produced(src->ledger) - src->n_others;
	ret->n_lost = ledger_lost(src->ledger);
	ret->n_malformed = src->n_malformed;
	ret->n_filtered = src->n_filtered + stats.n_skipped;
	ret->n_dropped = stats.n_dropped;
	ret->n_written = stats.n_written;
	if (s->since)
		session_mark_ledger(s->since, i, ret);
}

const uint64_t *session_stack_ends(const struct session *s, unsigned i)
{
	const struct session_source *src = &s->sources[i];

	if (s->since)
		return session_mark_ends(s->since, i);
	return src->on && collectors[i]->stack_ends ? collectors[i]->stack_ends(src->encoder)
						    : NULL;
}

const struct trace_config *session_config(const struct session *s)
{
	return &s->config;
}

bool session_source_on(const struct session *s, unsigned source, const char **ret_why)
{
	*ret_why = s->sources[source].why;
	return s->sources[source].on;
}

uint64_t session_start_ns(const struct session *s)
{
	return s->start_ns;
}

uint64_t session_elapsed_ns(const struct session *s)
{
	return (s->stop_ns ? s->stop_ns : boot_ns()) - s->start_ns;
}

uint64_t session_bytes(const struct session *s)
{
	return trace_writer_bytes(s->writer);
}

const char *session_sampling(const struct session *s)
{
	return s->sampling;
}

int session_error(const struct session *s)
{
	return s->error;
}
