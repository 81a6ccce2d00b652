/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.c - stack samples of whatever runs.
 *
 * BPF side: bpf/cpu.bpf.c. Each session has perf events of its own
 * (sampler.c), with the session's slot in the attach cookie: two sessions on one
 * thread see exactly their own samples. Packets: StackSample, made in
 * cpu_encode.c.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "clock.h"
#include "collector.h"
#include "cpu.skel.h"
#include "cpu_encode.h"
#include "log.h"
#include "sampler.h"
#include "walks.h"

struct cpu {
	struct cpu_bpf *skel;
	struct bpf_loading *loading; /* of `skel`; NULL: that is over */
	struct cpu_bpf *tracepoints; /* NULL: nobody has asked */
	struct bpf_ring *ring;
	struct collector_env env;
	struct sampler *samplers[EVENT_MAX_STREAMS];
	struct walks walks;
	uint64_t asleep_ns; /* BOOTTIME - MONOTONIC: grows with each suspend */
};

static void cpu_stop(void *state)
{
	struct cpu *c = state;

	if (!c)
		return;
	(void)bpf_loading_end(&c->loading, NULL, NULL);
	bpf_ring_free(c->ring);
	cpu_bpf__destroy(c->tracepoints);
	cpu_bpf__destroy(c->skel);
	walks_end(&c->walks);
	free(c);
}

static int cpu_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct cpu *c;
	int r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->env = *env;
	c->asleep_ns = asleep_ns();
	c->loading = bpf_loading_new();
	c->skel = cpu_bpf__open_opts(bpf_loading_opts(c->loading));
	if (!c->skel) {
		r = -errno;
		goto fail;
	}
	bpf_program__set_autoload(c->skel->progs.on_tracepoint, false);
	r = bpf_ring_resize(c->skel->obj, env->ring_bytes);
	if (r == 0)
		r = walks_prepare(&c->walks, &c->env, "cpu", c->skel->obj,
				  &c->skel->rodata->unwind_by_tables,
				  &c->skel->rodata->python_frames);
	if (r < 0) {
		bpf_load_explain(r, "BPF program", why, WHY_LEN);
		goto fail;
	}
	bpf_loading_begin(c->loading, c->skel->skeleton);
	*ret_state = c;
	return 0;

fail:
	cpu_stop(c);
	return r;
}

static int cpu_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct cpu *c = *ret_state;
	int r = bpf_loading_end(&c->loading, env->keep_up, env->keep_up_ctx);

	if (r == 0)
		r = walks_begin(&c->walks, &c->env, c->skel->obj, c->skel->rodata->python_frames);
	if (r == 0)
		r = bpf_ring_open(c->skel->obj, &c->ring);
	if (r < 0) {
		bpf_load_explain(r, "BPF program", why, WHY_LEN);
		cpu_stop(c);
	}
	return r;
}

/* What has come out of the ring makes room for more of that session. */
static void on_record(void *ctx, const struct event_hdr *ev, size_t len)
{
	struct cpu *c = ctx;

	if (ev->stream < EVENT_MAX_STREAMS)
		c->skel->bss->taken_bytes[ev->stream] += ev->size;
	c->env.sink(c->env.sink_ctx, ev, len);
}

/* Each session has the same part of the ring to itself. */
static void share_ring(struct cpu *c)
{
	unsigned n = 0;

	for (unsigned slot = 0; slot < EVENT_MAX_STREAMS; slot++)
		n += c->samplers[slot] != NULL;
	c->skel->data->share_bytes = n > 1 ? c->env.ring_bytes / n : UINT64_MAX;
}

static int cpu_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct cpu *c = state;

	walks_update(&c->walks);
	return bpf_ring_drain(c->ring, horizon_ns, budget, on_record, c);
}

static struct bpf_object *cpu_object(void *state, unsigned i)
{
	struct cpu *c = state;

	if (i == 0)
		return c->skel->obj;
	return i == 1 && c->tracepoints ? c->tracepoints->obj : NULL;
}

static int cpu_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct cpu *c = state;

	return bpf_ring_count(c->ring, stream, cpu, ret);
}

static void cpu_session_close(void *state, unsigned slot)
{
	struct cpu *c = state;

	sampler_free(c->samplers[slot]);
	c->samplers[slot] = NULL;
	share_ring(c);
}

static void cpu_session_due(void *state, unsigned slot, struct due_samples *ret)
{
	struct cpu *c = state;

	if (c->samplers[slot])
		sampler_due(c->samplers[slot], ret);
}

/*
 * The program for tracepoints is as large as the other one, and seldom wanted:
 * it comes in a second object with the same maps.
 */
static int load_tracepoint_program(struct cpu *c)
{
	struct bpf_loading *loading = bpf_loading_new();
	struct cpu_bpf *skel;
	int r;

	skel = cpu_bpf__open_opts(bpf_loading_opts(loading));
	if (!skel) {
		(void)bpf_loading_end(&loading, NULL, NULL);
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	}
	r = bpf_reuse_maps(skel->obj, c->skel->obj);
	bpf_program__set_autoload(skel->progs.on_overflow, false);
	bpf_program__set_autoload(skel->progs.on_tracepoint, true);
	if (r == 0)
		bpf_loading_begin(loading, skel->skeleton);
	if (r == 0)
		r = bpf_loading_end(&loading, c->env.keep_up, c->env.keep_up_ctx);
	if (r < 0) {
		(void)bpf_loading_end(&loading, NULL, NULL);
		cpu_bpf__destroy(skel);
		return r;
	}
	c->tracepoints = skel;
	return 0;
}

static bool wants_tracepoints(const struct trace_config *config)
{
	struct cpu_sampling plan;

	for (unsigned i = 0; i < cpu_sampling_count(config); i++)
		if (cpu_sampling_plan(config, i, &plan) == 0 &&
		    plan.spec.type == PERF_TYPE_TRACEPOINT)
			return true;
	return false;
}

static int cpu_session_open(void *state, const struct trace_config *config, unsigned slot,
			    char why[WHY_LEN])
{
	struct cpu *c = state;
	struct sampler_programs programs = {
		.on_overflow = c->skel->progs.on_overflow,
		.tracepoint_periods = (uint64_t *)c->skel->bss->tracepoint_periods,
		.calls_fd = bpf_map__fd(c->skel->maps.calls),
	};
	int r;

	if (wants_tracepoints(config)) {
		r = c->tracepoints ? 0 : load_tracepoint_program(c);
		if (r < 0) {
			bpf_load_explain(r, "BPF program for tracepoints", why, WHY_LEN);
			return r;
		}
		programs.on_tracepoint = c->tracepoints->progs.on_tracepoint;
	}
	r = sampler_new(&programs, config, slot, why, &c->samplers[slot]);
	share_ring(c);
	return r;
}

static void cpu_tick(void *state, uint64_t now_ns)
{
	struct cpu *c = state;
	uint64_t asleep = asleep_ns();
	/* The two clocks are read one after the other: less than a millisecond is no sleep. */
	bool woke_up = asleep > c->asleep_ns + NS_PER_MS;

	(void)now_ns;
	c->asleep_ns = asleep;
	for (unsigned slot = 0; slot < EVENT_MAX_STREAMS; slot++)
		if (c->samplers[slot])
			sampler_tick(c->samplers[slot], woke_up);
}

const struct collector cpu_collector = {
	.name = "cpu",
	.summary = "stack samples of every running thread, at a fixed period",
	.prepare = cpu_prepare,
	.start = cpu_start,
	.stop = cpu_stop,
	.drain = cpu_drain,
	.count = cpu_count,
	.object = cpu_object,
	.tick = cpu_tick,
	.session_open = cpu_session_open,
	.session_close = cpu_session_close,
	.session_due = cpu_session_due,
	.per_session_streams = true,
	.valid = cpu_sample_valid,
	.encoder_new = cpu_encoder_new,
	.encoder_free = cpu_encoder_free,
	.encode = cpu_encode,
	.flush = cpu_encoder_flush,
	.pending = cpu_encoder_pending,
	.stack_ends = cpu_encoder_stack_ends,
};
