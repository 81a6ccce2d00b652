/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched.c - who ran on which CPU, who was woken by whom, interrupts, frequency
 * and idle.
 *
 * BPF side: bpf/sched.bpf.c. Packets: FtraceEventBundle, made in
 * sched_encode.c.
 */
#include <asm/unistd.h>
#include <errno.h>
#include <stdlib.h>

#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "collector.h"
#include "sched.skel.h"
#include "sched_encode.h"
#include "sched_events.h"

/* Arguments of sched_switch where it hands over the previous task's state. */
#define SWITCH_ARGS_WITH_STATE 4

struct sched {
	struct sched_bpf *skel;
	struct bpf_loading *loading; /* NULL: that is over */
	struct bpf_ring *ring;
	struct collector_env env;
};

static void sched_stop(void *state)
{
	struct sched *s = state;

	if (!s)
		return;
	(void)bpf_loading_end(&s->loading, NULL, NULL);
	bpf_ring_free(s->ring);
	sched_bpf__destroy(s->skel);
	free(s);
}

static int sched_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	bool with_state = bpf_tracepoint_args("sched_switch") >= SWITCH_ARGS_WITH_STATE;
	bool has_x86_timer = bpf_tracepoint_args("local_timer_entry") > 0;
	struct sched *s;
	int r;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->env = *env;

	s->loading = bpf_loading_new();
	s->skel = sched_bpf__open_opts(bpf_loading_opts(s->loading));
	if (!s->skel) {
		r = -errno;
		goto fail;
	}
	bpf_program__set_autoload(s->skel->progs.on_switch, with_state);
	bpf_program__set_autoload(s->skel->progs.on_switch_pre_5_18, !with_state);
	bpf_program__set_autoload(s->skel->progs.on_x86_timer_entry, has_x86_timer);
	bpf_program__set_autoload(s->skel->progs.on_x86_timer_exit, has_x86_timer);
	s->skel->rodata->nr_sched_yield = __NR_sched_yield;
	r = bpf_load_trim(s->skel->obj, why, WHY_LEN);
	if (r < 0)
		goto fail;

	r = bpf_ring_resize(s->skel->obj, env->ring_bytes);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		goto fail;
	}
	bpf_loading_begin(s->loading, s->skel->skeleton);
	*ret_state = s;
	return 0;

fail:
	sched_stop(s);
	return r;
}

static int sched_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct sched *s = *ret_state;
	int r = bpf_loading_end(&s->loading, env->keep_up, env->keep_up_ctx);

	if (r == 0)
		r = bpf_ring_open(s->skel->obj, &s->ring);
	if (r == 0)
		r = sched_bpf__attach(s->skel);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		sched_stop(s);
	}
	return r;
}

static int sched_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct sched *s = state;

	return bpf_ring_drain(s->ring, horizon_ns, budget, s->env.sink, s->env.sink_ctx);
}

static struct bpf_object *sched_object(void *state, unsigned i)
{
	struct sched *s = state;

	return i == 0 ? s->skel->obj : NULL;
}

static int sched_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct sched *s = state;

	return bpf_ring_count(s->ring, stream, cpu, ret);
}

/* The CPU that the event is about, where that is another than its own. */
static bool is_known_cpu(const struct event_hdr *ev)
{
	if (ev->type == SCHED_WAKING)
		return ((const struct sched_waking_event *)ev)->target_cpu < SCHED_MAX_CPUS;
	if (ev->type == SCHED_CPU_FREQUENCY || ev->type == SCHED_CPU_IDLE)
		return ((const struct sched_irq_event *)ev)->number < SCHED_MAX_CPUS;
	return true;
}

static bool sched_valid(const struct event_hdr *ev, size_t len)
{
	static const size_t sizes[SCHED_EVENT_TYPES] = {
		[SCHED_SWITCH] = sizeof(struct sched_switch_event),
		[SCHED_WAKING] = sizeof(struct sched_waking_event),
		[SCHED_IRQ_ENTRY] = sizeof(struct sched_irq_event),
		[SCHED_IRQ_EXIT] = sizeof(struct sched_irq_event),
		[SCHED_SOFTIRQ_ENTRY] = sizeof(struct sched_irq_event),
		[SCHED_SOFTIRQ_EXIT] = sizeof(struct sched_irq_event),
		[SCHED_CPU_FREQUENCY] = sizeof(struct sched_irq_event),
		[SCHED_CPU_IDLE] = sizeof(struct sched_irq_event),
	};

	if (ev->type >= SCHED_EVENT_TYPES || sizes[ev->type] == 0 || len < sizes[ev->type] ||
	    ev->size != sizes[ev->type])
		return false;
	return ev->cpu < SCHED_MAX_CPUS && ev->tid <= INT32_MAX && ev->peer_tid <= INT32_MAX &&
	       is_known_cpu(ev);
}

const struct collector sched_collector = {
	.name = "sched",
	.summary = "context switches, wakeups, interrupts, CPU frequency and idle",
	.machine_wide = true,
	.is_ftrace = true,
	.prepare = sched_prepare,
	.start = sched_start,
	.stop = sched_stop,
	.drain = sched_drain,
	.count = sched_count,
	.object = sched_object,
	.valid = sched_valid,
	.encoder_new = sched_encoder_new,
	.encoder_free = sched_encoder_free,
	.encode = sched_encode,
	.flush = sched_encoder_flush,
	.lost = sched_encoder_lost,
};
