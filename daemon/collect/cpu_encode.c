/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_encode.c - CPU samples: what is sampled, and how it looks in a trace. */
#include "cpu_encode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_events.h"
#include "cpus.h"
#include "stack_encode.h"
#include "text.h"

struct cpu_encoder {
	unsigned n_events;
	struct stack_encoder *stacks[TRACE_MAX_EVENTS];
	struct cpu_sampling sampling[TRACE_MAX_EVENTS];
	uint64_t ends[UNWIND_ENDS]; /* of all */
};

unsigned cpu_sampling_count(const struct trace_config *config)
{
	return 1 + config->n_more_events;
}

/* "page-faults@100": every hundredth. Returns 0: no such suffix. */
static int split_period(struct cpu_sampling *s, uint64_t *ret_period)
{
	char *at = strchr(s->event, '@');

	*ret_period = 0;
	if (!at)
		return 0;
	*at++ = '\0';
	return text_u64(at, 1, INT64_MAX, ret_period) < 0 ? -ERANGE : 0;
}

int cpu_sampling_plan(const struct trace_config *config, unsigned i, struct cpu_sampling *ret)
{
	const char *event = i == 0 ? config->event : config->more_events[i - 1];
	uint64_t period;
	int r;

	snprintf(ret->event, sizeof(ret->event), "%s", event);
	r = split_period(ret, &period);
	if (r == 0)
		r = perf_event_parse(ret->event, &ret->spec);
	if (r < 0)
		return r;
	if (i == 0 && config->period)
		period = config->period;
	ret->period = period;
	if (!period)
		ret->period = perf_event_period(&ret->spec, config->freq_hz, cpus_max_hz());
	ret->period = perf_event_real_period(&ret->spec, ret->period);
	if (ret->spec.rate_hz && !period)
		snprintf(ret->name, sizeof(ret->name), "%s %u Hz", ret->event, config->freq_hz);
	else
		snprintf(ret->name, sizeof(ret->name), "%s every %llu", ret->event,
			 (unsigned long long)ret->period);
	return 0;
}

bool cpu_sample_valid(const struct event_hdr *ev, size_t len)
{
	const struct cpu_sample_event *s = (const void *)ev;
	size_t n, size;

	if (ev->type != CPU_SAMPLE || len < CPU_SAMPLE_HEAD || ev->size > len)
		return false;
	n = (size_t)s->n_kernel + s->n_user;
	if (n == 0 || s->n_kernel > CPU_MAX_KERNEL_FRAMES || s->n_user > CPU_MAX_USER_FRAMES ||
	    s->end >= UNWIND_ENDS || s->in_kernel > 1 || s->has_copy > 1 || ev->cpu >= MAX_CPUS)
		return false;
	n += s->python & ~CPU_PYTHON_CUT;
	if (!s->has_copy)
		return ev->size == CPU_SAMPLE_HEAD + n * sizeof(uint64_t);
	if (ev->size < CPU_SAMPLE_COPY_HEAD || s->n_user == 0)
		return false;
	size = CPU_SAMPLE_COPY_HEAD + (size_t)s->copy.len;
	return s->copy.len <= UNWIND_LARGE_COPY_BYTES && ev->size == size;
}

/*
 * The first event's samples are what a trace viewer calls the CPU profile: this
 * name makes the UI title the tracks "Perf" and put them first. The others have
 * names of their own, and never mix with it.
 */
static void source_name(const struct cpu_sampling *sampling, unsigned i, char *dst, size_t size)
{
	if (i == 0)
		snprintf(dst, size, "linux.perf");
	else
		snprintf(dst, size, "linux.%s", sampling->event);
}

static int new_stacks(struct cpu_encoder *e, const struct encoder_env *env, unsigned i)
{
	char name[TRACE_EVENT_LEN + 8], unit[TRACE_EVENT_LEN + 8];
	struct stack_source source = {
		.seq = i == 0 ? SEQ_SAMPLES : SEQ_MORE_SAMPLES + i - 1,
		.source = name,
	};
	int r;

	r = cpu_sampling_plan(env->config, i, &e->sampling[i]);
	if (r < 0)
		return r;
	source_name(&e->sampling[i], i, name, sizeof(name));
	source.counter = e->sampling[i].name;
	source.unit = e->sampling[i].spec.unit;
	/* What viewers sum up as CPU time or cycles comes from the first event alone. */
	if (i > 0 && source.unit <= UNIT_INSTRUCTIONS) {
		snprintf(unit, sizeof(unit), "%s%s",
			 source.unit == UNIT_NANOSECONDS ? "ns-" : "more-", e->sampling[i].event);
		source.unit = 0;
		source.unit_str = unit;
	}
	return stack_encoder_new(env, &source, &e->stacks[i]);
}

int cpu_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct cpu_encoder *e = calloc(1, sizeof(*e));
	int r = 0;

	if (!e)
		return -ENOMEM;
	e->n_events = cpu_sampling_count(env->config);
	for (unsigned i = 0; r == 0 && i < e->n_events; i++)
		r = new_stacks(e, env, i);
	if (r < 0) {
		cpu_encoder_free(e);
		return r;
	}
	*ret_encoder = e;
	return 0;
}

void cpu_encoder_free(void *encoder)
{
	struct cpu_encoder *e = encoder;

	if (!e)
		return;
	for (unsigned i = 0; i < e->n_events; i++)
		stack_encoder_free(e->stacks[i]);
	free(e);
}

int cpu_encode(void *encoder, const struct event_hdr *ev)
{
	const struct cpu_sample_event *s = (const void *)ev;
	struct cpu_encoder *e = encoder;
	unsigned event = s->event < e->n_events ? s->event : 0;
	struct stack_sample sample = {
		.time_ns = ev->time_ns,
		.tgid = ev->tgid,
		.tid = ev->tid,
		.cpu = ev->cpu,
		.in_kernel = s->in_kernel,
		.weight = e->sampling[event].period,
		.kernel = (const uint64_t *)s->ips,
		.n_kernel = s->n_kernel,
		.user = (const uint64_t *)s->ips + s->n_kernel,
		.n_user = s->n_user,
		.end = s->end,
	};

	sample.words = sample.user + s->n_user;
	sample.n_words = s->python & ~CPU_PYTHON_CUT;
	sample.words_whole = !(s->python & CPU_PYTHON_CUT);
	if (s->has_copy) {
		sample.copy = &s->copy;
		sample.stack = s->stack;
	}
	return stack_encoder_add(e->stacks[event], &sample);
}

int cpu_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct cpu_encoder *e = encoder;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < e->n_events; i++)
		r = stack_encoder_flush(e->stacks[i], now_ns, final);
	return r;
}

bool cpu_encoder_pending(void *encoder)
{
	const struct cpu_encoder *e = encoder;

	for (unsigned i = 0; i < e->n_events; i++)
		if (stack_encoder_pending(e->stacks[i]))
			return true;
	return false;
}

const uint64_t *cpu_encoder_stack_ends(void *encoder)
{
	struct cpu_encoder *e = encoder;

	memset(e->ends, 0, sizeof(e->ends));
	for (unsigned i = 0; i < e->n_events; i++)
		for (int end = 0; end < UNWIND_ENDS; end++)
			e->ends[end] += stack_encoder_ends(e->stacks[i])[end];
	return e->ends;
}
