/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_encode.c - CPU samples: what is sampled, and how it looks in a trace. */
#include "cpu_encode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu_events.h"
#include "cpus.h"
#include "stack_encode.h"

struct cpu_encoder {
	struct stack_encoder *stacks;
	struct cpu_sampling sampling;
};

int cpu_sampling_plan(const struct trace_config *config, struct cpu_sampling *ret)
{
	int r = perf_event_parse(config->event, &ret->spec);

	if (r < 0)
		return r;
	if (config->period)
		ret->period = config->period;
	else
		ret->period = perf_event_period(&ret->spec, config->freq_hz, cpus_max_hz());
	ret->period = perf_event_real_period(&ret->spec, ret->period);
	if (ret->spec.rate_hz && !config->period)
		snprintf(ret->name, sizeof(ret->name), "%s %u Hz", config->event, config->freq_hz);
	else
		snprintf(ret->name, sizeof(ret->name), "%s every %llu", config->event,
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

int cpu_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct stack_source source = {
		.seq = SEQ_SAMPLES,
		/* This name makes the UI title the tracks "Perf" and put them first. */
		.source = "linux.perf",
	};
	struct cpu_encoder *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	r = cpu_sampling_plan(env->config, &e->sampling);
	if (r == 0) {
		source.counter = e->sampling.name;
		source.unit = e->sampling.spec.unit;
		r = stack_encoder_new(env, &source, &e->stacks);
	}
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
	stack_encoder_free(e->stacks);
	free(e);
}

int cpu_encode(void *encoder, const struct event_hdr *ev)
{
	const struct cpu_sample_event *s = (const void *)ev;
	struct cpu_encoder *e = encoder;
	struct stack_sample sample = {
		.time_ns = ev->time_ns,
		.tgid = ev->tgid,
		.tid = ev->tid,
		.cpu = ev->cpu,
		.in_kernel = s->in_kernel,
		.weight = e->sampling.period,
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
	return stack_encoder_add(e->stacks, &sample);
}

int cpu_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct cpu_encoder *e = encoder;

	return stack_encoder_flush(e->stacks, now_ns, final);
}

bool cpu_encoder_pending(void *encoder)
{
	const struct cpu_encoder *e = encoder;

	return stack_encoder_pending(e->stacks);
}

const uint64_t *cpu_encoder_stack_ends(void *encoder)
{
	const struct cpu_encoder *e = encoder;

	return stack_encoder_ends(e->stacks);
}
