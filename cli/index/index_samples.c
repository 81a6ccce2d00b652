/* SPDX-License-Identifier: Apache-2.0 */
/* index_samples.c - samples and their sources, as tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index_impl.h"

#define PERF_SOURCE "linux.perf" /* what PerfSamples are of, though they do not say so */
#define STACK_ENDS  "[stack ends: "

#define MAX_SOURCES 256 /* sequences and counters: a session has a few */
#define MAX_REASONS 256 /* there are about 25 */

/* In a pool: no padding. */
struct counter {
	uint32_t name; /* string or TRACE_NONE */
	uint32_t unit;
};

struct index_samples {
	struct pool *counters;
	struct pool *reasons;
	struct index_list stack_reasons; /* uint16_t: what is in stacks, as far as asked */
	struct index_list sources;
	struct index_list samples;
};

int index_samples_new(struct trace_index *ix, struct index_samples **ret)
{
	struct index_samples *s = calloc(1, sizeof(*s));
	uint32_t whole;

	if (!s)
		return -ENOMEM;
	if (pool_new(&ix->budget, &s->counters) < 0 || pool_new(&ix->budget, &s->reasons) < 0 ||
	    pool_add(s->reasons, "", 0, &whole) < 0) {
		index_samples_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void index_samples_free(struct index_samples *s)
{
	if (!s)
		return;
	pool_free(s->counters);
	pool_free(s->reasons);
	free(s->stack_reasons.items);
	free(s->sources.items);
	free(s->samples.items);
	free(s);
}

/* ---- what samples refer to ---- */

uint32_t index_samples_counter(struct trace_index *ix, uint32_t name, enum trace_unit unit)
{
	struct counter c = { .name = name, .unit = unit };

	return index_pool_add(ix, ix->samples->counters, &c, sizeof(c));
}

/* A unit of one's own is told by its name: "ns-offcpu" is time, but not CPU time. */
static enum trace_unit unit_of(const StackSample__CounterDescriptor *d)
{
	if (d->unit_str && strncmp(d->unit_str, "ns", 2) == 0)
		return TRACE_UNIT_NS;
	if (d->unit_str && strncmp(d->unit_str, "bytes", 5) == 0)
		return TRACE_UNIT_BYTES;
	if (d->unit > 0 && d->unit <= TRACE_UNIT_PAGE_FAULTS)
		return (enum trace_unit)d->unit;
	return TRACE_UNIT_COUNT;
}

static uint32_t counter_of(struct trace_index *ix, const StackSample__CounterDescriptor *d)
{
	return index_samples_counter(ix, index_cstring(ix, d->name), unit_of(d));
}

void index_samples_interned(struct trace_index *ix, struct index_sequence *seq,
			    const InternedData *d)
{
	for (size_t i = 0; i < d->n_stack_sample_task_contexts; i++) {
		const StackSample__TaskContext *t = d->stack_sample_task_contexts[i];

		if (t->has_pid || t->has_tid)
			index_define(ix, seq, TABLE_TASKS, t->iid,
				     index_tasks_pair(ix,
						      t->has_pid ? (int32_t)t->pid : INDEX_NO_PID,
						      (int32_t)(t->has_tid ? t->tid : t->pid)));
	}
	for (size_t i = 0; i < d->n_stack_sample_execution_contexts; i++) {
		const StackSample__ExecutionContext *e = d->stack_sample_execution_contexts[i];

		if (e->has_cpu)
			index_define(ix, seq, TABLE_CPUS, e->iid, e->cpu);
	}
	for (size_t i = 0; i < d->n_stack_sample_counter_descriptors; i++)
		index_define(ix, seq, TABLE_COUNTERS, d->stack_sample_counter_descriptors[i]->iid,
			     counter_of(ix, d->stack_sample_counter_descriptors[i]));
}

static void perf_defaults(struct trace_index *ix, struct index_sequence *seq,
			  const PerfEvents__Timebase *t)
{
	char name[64] = "";

	if (t->name && t->name[0])
		snprintf(name, sizeof(name), "%s", t->name);
	else if (t->has_frequency)
		snprintf(name, sizeof(name), "%llu Hz", (unsigned long long)t->frequency);
	else if (t->has_period)
		snprintf(name, sizeof(name), "every %llu", (unsigned long long)t->period);
	seq->counter = index_samples_counter(ix, index_cstring(ix, name), TRACE_UNIT_COUNT);
}

/* They replace the former ones as a whole. */
void index_samples_defaults(struct trace_index *ix, struct index_sequence *seq,
			    const TracePacketDefaults *d)
{
	const StackSampleDefaults *s = d->stack_sample_defaults;

	seq->source = s ? index_cstring(ix, s->source) : TRACE_NONE;
	seq->counter =
		s && s->primary_descriptor ? counter_of(ix, s->primary_descriptor) : TRACE_NONE;
	if (!s && d->perf_sample_defaults && d->perf_sample_defaults->timebase)
		perf_defaults(ix, seq, d->perf_sample_defaults->timebase);
}

/* ---- sources ---- */

static size_t find_source(struct trace_index *ix, uint32_t sequence, uint32_t name,
			  const struct counter *c)
{
	struct index_list *l = &ix->samples->sources;
	struct trace_source *s = l->items;

	for (size_t i = 0; i < l->n; i++)
		if (s[i].sequence == sequence && s[i].name == name && s[i].counter == c->name &&
		    s[i].unit == c->unit)
			return i;
	if (l->n == MAX_SOURCES)
		return SIZE_MAX;
	s = index_add(ix, l, sizeof(*s));
	if (!s)
		return SIZE_MAX;
	s->sequence = sequence;
	s->name = name;
	s->counter = c->name;
	s->unit = (enum trace_unit)c->unit;
	return l->n - 1;
}

/* The source of a sample of `seq` (NULL: of no sequence), or SIZE_MAX. */
static size_t source_of(struct trace_index *ix, struct index_sequence *seq, uint32_t name,
			uint32_t counter)
{
	struct counter none = { .name = TRACE_NONE, .unit = TRACE_UNIT_COUNT };
	const struct counter *c =
		counter == TRACE_NONE ? &none : pool_get(ix->samples->counters, counter, NULL);
	size_t i;

	if (seq && seq->last_source && seq->last_source_name == name &&
	    seq->last_counter == counter)
		return seq->last_source - 1;
	i = find_source(ix, seq ? seq->id : 0, name, c);
	if (seq && i != SIZE_MAX) {
		seq->last_source = i + 1;
		seq->last_source_name = name;
		seq->last_counter = counter;
	}
	return i;
}

/* ---- samples ---- */

uint16_t index_samples_reason(struct trace_index *ix, const void *name, size_t len)
{
	struct pool *p = ix->samples->reasons;

	if (len > 64)
		len = 64;
	if (len)
		len = strnlen(name, len);
	if (pool_count(p) >= MAX_REASONS && pool_find(p, name, len) == UINT32_MAX)
		return (uint16_t)(MAX_REASONS - 1);
	return (uint16_t)index_pool_add(ix, p, name, len);
}

static uint16_t look_into_stack(struct trace_index *ix, uint32_t stack)
{
	uint32_t root = index_stacks_root(ix, stack);
	const char *name = trace_index_string(ix, root);
	size_t len;

	if (strncmp(name, STACK_ENDS, strlen(STACK_ENDS)) != 0)
		return 0;
	name += strlen(STACK_ENDS);
	len = strcspn(name, "]");
	return len ? index_samples_reason(ix, name, len) : 0;
}

/* A stack that ends early may say so in its first frame: "[stack ends: NOMAP]". */
static uint16_t reason_in_stack(struct trace_index *ix, uint32_t stack)
{
	struct index_list *l = &ix->samples->stack_reasons;

	while (l->n <= stack) {
		uint16_t found = look_into_stack(ix, (uint32_t)l->n);
		uint16_t *item = index_add(ix, l, sizeof(*item));

		if (!item)
			return 0;
		*item = found;
	}
	return ((const uint16_t *)l->items)[stack];
}

void index_samples_add(struct trace_index *ix, struct index_sequence *seq, uint64_t time_ns,
		       const struct index_sample *raw)
{
	uint32_t name = seq && !raw->perf ? seq->source : TRACE_NONE;
	struct trace_sample *s;
	size_t source;

	if (raw->stack == TRACE_NONE) {
		ix->facts.n_stackless++;
		return;
	}
	if (raw->perf)
		name = index_cstring(ix, PERF_SOURCE);
	else if (name == TRACE_NONE)
		name = index_string(ix, "", 0);
	source = source_of(ix, seq, name, raw->counter);
	if (source == SIZE_MAX) {
		ix->facts.n_faults++;
		return;
	}
	s = index_add(ix, &ix->samples->samples, sizeof(*s));
	if (!s)
		return;
	s->time_ns = time_ns;
	s->weight = raw->weight;
	s->stack = raw->stack;
	s->thread = raw->pair;
	s->source = (uint16_t)source;
	s->cpu = raw->cpu >= 0 && raw->cpu < TRACE_NO_CPU ? (uint16_t)raw->cpu : TRACE_NO_CPU;
	s->ended = raw->ended ? raw->ended : reason_in_stack(ix, raw->stack);
	ix->facts.n_no_time += time_ns == 0;
}

/* ---- at the end ---- */

void index_samples_finish(struct trace_index *ix)
{
	struct trace_source *sources = ix->samples->sources.items;
	struct trace_sample *s = ix->samples->samples.items;

	for (size_t i = 0; i < ix->samples->samples.n && ix->error == 0; i++) {
		struct trace_source *source = &sources[s[i].source];

		source->n_samples++;
		if (__builtin_add_overflow(source->weight, s[i].weight, &source->weight))
			source->weight = UINT64_MAX;
		s[i].thread = index_tasks_thread(ix, s[i].thread, s[i].time_ns);
	}
}

/* ---- asked ---- */

const struct trace_source *trace_index_sources(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->samples->sources.n;
	return ix->samples->sources.items;
}

const struct trace_sample *trace_index_samples(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->samples->samples.n;
	return ix->samples->samples.items;
}

const char *trace_index_reason(const struct trace_index *ix, uint16_t ended)
{
	return pool_get(ix->samples->reasons, ended, NULL);
}

size_t trace_index_n_reasons(const struct trace_index *ix)
{
	return pool_count(ix->samples->reasons);
}
