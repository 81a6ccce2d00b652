/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_samples.c - stack samples: whose, of which session, and did the thread
 * run on that CPU at that time?
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

/* A viewer takes weights in these units as CPU time. */
enum { UNIT_NANOSECONDS = 1, UNIT_CYCLES = 2, UNIT_INSTRUCTIONS = 3 };

#define CPU_SOURCE "linux.perf"

struct sample {
	uint64_t time_ns, offset;
	int32_t pid, tid;
	int32_t cpu; /* -1: not known */
	bool on_cpu; /* of a source that samples what runs */
};

struct check_samples {
	struct check_list list;
};

int check_samples_new(struct check_samples **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void check_samples_free(struct check_samples *s)
{
	if (!s)
		return;
	check_list_done(&s->list);
	free(s);
}

static bool is_cpu_source(const struct check_sequence *seq)
{
	return seq && seq->source && strcmp(seq->source, CPU_SOURCE) == 0;
}

/* Samples of collector `cpu`: of all events, but not those of other collectors. */
static bool is_of_events(const struct check_sequence *seq)
{
	static const char *const others[] = { "linux.offcpu", "linux.wakers", "linux.alloc",
					      "linux.gpu_api" };

	if (!seq || !seq->source)
		return false;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(seq->source, others[i]) == 0)
			return false;
	return true;
}

void check_samples_count(struct trace_check *c)
{
	if (!c->pkt->stack_sample)
		return;
	c->summary.n_samples++;
	if (is_of_events(c->seq))
		check_ledger_sample(c);
}

/* ---- one sample ---- */

/* pid << 32 | tid, or NO_REF. */
static uint64_t task_of(struct trace_check *c, const StackSample *s)
{
	const StackSample__TaskContext *t = s->task_context;
	const struct check_entry *e;

	if (t)
		return t->has_pid && t->has_tid ? (uint64_t)t->pid << 32 | t->tid : NO_REF;
	if (!s->has_task_context_iid)
		return NO_REF;
	e = check_ref(c, I_TASK, s->task_context_iid);
	return e ? e->ref : 0;
}

static int32_t cpu_of(struct trace_check *c, const StackSample *s)
{
	const struct check_entry *e;

	if (s->execution_context)
		return s->execution_context->has_cpu ? (int32_t)s->execution_context->cpu : -1;
	if (!s->has_execution_context_iid)
		return -1;
	e = check_ref(c, I_EXECUTION, s->execution_context_iid);
	return e && e->ref <= INT32_MAX ? (int32_t)e->ref : -1;
}

/* Name and unit of what is counted. */
static const char *counter_of(struct trace_check *c, const StackSample *s, int32_t *ret_unit)
{
	const struct check_entry *e;

	*ret_unit = 0;
	if (s->primary_descriptor) {
		*ret_unit = s->primary_descriptor->unit;
		return s->primary_descriptor->name;
	}
	if (s->has_primary_descriptor_iid) {
		e = check_ref(c, I_COUNTER, s->primary_descriptor_iid);
		*ret_unit = e ? e->unit : 0;
		return e ? e->text : NULL;
	}
	*ret_unit = c->seq->unit;
	return c->seq->counter;
}

/* The first sample of a sequence names the session. */
static void first_of_session(struct trace_check *c, const char *counter)
{
	struct check_sequence *seq = c->seq;

	if (seq->n_samples++ > 0)
		return;
	seq->session_source = check_strdup(c, seq->source ? seq->source : "");
	seq->session_counter = check_strdup(c, counter ? counter : "");
}

static void add(struct trace_check *c, uint64_t task, int32_t cpu, bool on_cpu)
{
	struct sample *item;

	if (!c->has_time)
		return;
	item = check_list_add(c, &c->samples->list, sizeof(*item));
	if (!item)
		return;
	*item = (struct sample){
		.time_ns = c->time_ns,
		.offset = c->offset,
		.pid = (int32_t)(task >> 32),
		.tid = (int32_t)task,
		.cpu = cpu,
		.on_cpu = on_cpu,
	};
}

static void stack_sample(struct trace_check *c, const StackSample *s)
{
	uint64_t task;
	const char *counter;
	int32_t cpu, unit;

	if (!c->seq) {
		check_report(c, CHECK_SEQUENCE_ZERO, c->time_ns, "StackSample without a sequence");
		return;
	}
	c->refers = true;
	if (!c->seq->source)
		check_report(c, CHECK_SAMPLE_NO_SOURCE, c->time_ns, "sample of sequence %u",
			     c->seq->id);
	task = task_of(c, s);
	cpu = cpu_of(c, s);
	counter = counter_of(c, s, &unit);
	for (size_t i = 0; i < s->n_follower_descriptor_iids; i++)
		check_ref(c, I_COUNTER, s->follower_descriptor_iids[i]);
	if (s->has_callstack_iid)
		check_stacks_use(c, s->callstack_iid);
	else if (!s->callstack || s->callstack->n_frames == 0)
		check_report(c, CHECK_SAMPLE_NO_CALLSTACK, c->time_ns, "sample of sequence %u",
			     c->seq->id);
	if (c->seq->source && !is_cpu_source(c->seq) && unit >= UNIT_NANOSECONDS &&
	    unit <= UNIT_INSTRUCTIONS)
		check_report(c, CHECK_SAMPLE_UNIT, c->time_ns, "source %s counts in unit %d",
			     check_text(c->seq->source).s, unit);
	first_of_session(c, counter);

	if (task == NO_REF)
		check_report(c, CHECK_SAMPLE_NO_THREAD, c->time_ns, "sample of sequence %u",
			     c->seq->id);
	else if (task != 0)
		add(c, task, cpu, is_cpu_source(c->seq));
}

static void perf_sample(struct trace_check *c, const PerfSample *s)
{
	if (!s->has_callstack_iid)
		return;
	check_stacks_use(c, s->callstack_iid);
	if (s->has_timebase_count)
		check_report(c, CHECK_PERF_SAMPLE, c->time_ns,
			     "PerfSample with a callstack and a count");
	add(c, (uint64_t)s->pid << 32 | s->tid, s->has_cpu ? (int32_t)s->cpu : -1, true);
}

void check_samples_packet(struct trace_check *c)
{
	if (c->pkt->stack_sample)
		stack_sample(c, c->pkt->stack_sample);
	if (c->pkt->perf_sample)
		perf_sample(c, c->pkt->perf_sample);
}

/* ---- all of them ---- */

static void sessions(struct trace_check *c)
{
	struct hash *names;
	size_t pos = 0;
	void *item;

	if (hash_new(&names) < 0) {
		c->error = -ENOMEM;
		return;
	}
	while (hash_next(c->sequences, &pos, NULL, NULL, &item)) {
		const struct check_sequence *s = item;
		const char *source = s->session_source, *counter = s->session_counter;
		uint64_t key[2];

		if (!source || !counter)
			continue;
		key[0] = hash_bytes(source, strlen(source), CONTENT_SEED);
		key[1] = hash_bytes(counter, strlen(counter), CONTENT_SEED);
		if (hash_get(names, key, sizeof(key)))
			check_report_at(c, CHECK_SESSION_NAME, UINT64_MAX, 0,
					"two sessions of %s count \"%s\"", check_text(source).s,
					check_text(counter).s);
		if (hash_set(names, key, sizeof(key), item) < 0)
			c->error = -ENOMEM;
	}
	hash_free(names);
}

static void check_life(struct trace_check *c, const struct sample *s)
{
	if (!check_lives_alive(c, s->tid, s->time_ns))
		check_report_at(c, CHECK_SAMPLE_OUTSIDE_LIFE, s->offset, s->time_ns,
				"sample of thread %d, which did not live at %.6f s", s->tid,
				check_seconds(c, s->time_ns));
	/* A process that was found late is named late: a trace without its end may lack it. */
	else if (c->summary.complete && s->pid != 0 && !check_lives_named(c, s->pid))
		check_report_at(c, CHECK_SAMPLE_NAMELESS, s->offset, s->time_ns,
				"sample of process %d, which nothing names", s->pid);
}

static bool was_running(struct trace_check *c, const struct sample *s, int32_t *ret_other)
{
	return !s->on_cpu || s->cpu < 0 ||
	       check_sched_running(c, (unsigned)s->cpu, s->time_ns, s->tid, ret_other) !=
		       RUNNING_NO;
}

static void check_running(struct trace_check *c, const struct sample *s)
{
	int32_t other;

	if (!was_running(c, s, &other))
		check_report_at(c, CHECK_SAMPLE_NOT_RUNNING, s->offset, s->time_ns,
				"sample of thread %d on CPU %d at %.6f s, when thread %d ran there",
				s->tid, s->cpu, check_seconds(c, s->time_ns), other);
}

/*
 * Single switches that were lost leave no hole to see: as many samples may be
 * of another thread than the remaining switches say.
 */
static bool loss_explains(struct trace_check *c)
{
	const struct sample *s = c->samples->list.items;
	uint64_t lost = check_ledger_lost(c, "sched"), n = 0;
	int32_t other;

	for (size_t i = 0; lost > 0 && i < c->samples->list.n; i++)
		n += !was_running(c, &s[i], &other);
	return lost > 0 && n <= lost;
}

void check_samples_finish(struct trace_check *c)
{
	const struct sample *s = c->samples->list.items;
	/* Lost events of processes: who lived when is not known then. */
	bool lives = check_ledger_lost(c, "proc") == 0;
	bool running = !loss_explains(c);

	sessions(c);
	for (size_t i = 0; i < c->samples->list.n; i++) {
		if (lives)
			check_life(c, &s[i]);
		if (running)
			check_running(c, &s[i]);
	}
}
