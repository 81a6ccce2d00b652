/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_counters.c - how busy GPUs are, with whom, their memory, clocks, temperature
 * and power.
 *
 * No BPF, no device is opened and none is woken: /sys says what there is, fdinfo in
 * /proc who uses it. Both are read once a second.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "event_loop.h"
#include "gpu/gpu_counters_encode.h"
#include "gpu/gpu_counters_events.h"
#include "gpu/gpu_counters_poll.h"
#include "log.h"
#include "process/process_table.h"

#define FIRST_POLL_NS (10 * NS_PER_MS) /* a session begins with a value of everything */
#define BUDGET_NS     (4 * NS_PER_MS)  /* of the survey: 0.4 % of one CPU, if there is a GPU */

struct gpu_counters {
	struct collector_env env;
	struct gpu_counters_poll *poll;
	struct event_source *timer;
	bool first; /* `timer` runs early */
};

static int on_timer(void *ctx, uint32_t events);

static int set_timer(struct gpu_counters *gc, bool first)
{
	event_source_free(gc->timer);
	gc->timer = NULL;
	gc->first = first;
	return event_loop_add_timer(gc->env.loop, first ? FIRST_POLL_NS : NS_PER_SEC, on_timer, gc,
				    &gc->timer);
}

static int note_process(void *ctx, const struct process *p)
{
	struct gpu_counters *gc = ctx;

	if (!p->is_kthread && !p->free_ns)
		gpu_counters_poll_process(gc->poll, p->tgid);
	return 0;
}

static int on_timer(void *ctx, uint32_t events)
{
	struct gpu_counters *gc = ctx;
	int r;

	(void)events;
	if (gpu_counters_poll_has_gpu(gc->poll))
		process_table_each(gc->env.processes, note_process, gc);
	gpu_counters_poll_run(gc->poll, boot_ns(), BUDGET_NS, gc->env.sink, gc->env.sink_ctx);
	if (gc->first) {
		r = set_timer(gc, false);
		if (r < 0)
			log_error("gpu-counters: no timer: %s; no more counters", strerror(-r));
	}
	return 0;
}

static void gpu_counters_stop(void *state)
{
	struct gpu_counters *gc = state;

	if (!gc)
		return;
	event_source_free(gc->timer);
	gpu_counters_poll_free(gc->poll);
	free(gc);
}

static int gpu_counters_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct gpu_counters *gc = calloc(1, sizeof(*gc));
	int r;

	if (!gc)
		return -ENOMEM;
	gc->env = *env;
	r = gpu_counters_poll_new("/proc", "/sys", &gc->poll);
	if (r == 0)
		r = set_timer(gc, true);
	if (r < 0) {
		snprintf(why, WHY_LEN, "/proc cannot be read: %s", strerror(-r));
		gpu_counters_stop(gc);
		return r;
	}
	gpu_counters_poll_explain(gc->poll, why);
	*ret_state = gc;
	return 0;
}

static int gpu_counters_session_open(void *state, const struct trace_config *config, unsigned slot,
				     char why[WHY_LEN])
{
	int r = set_timer(state, true);

	(void)config;
	(void)slot;
	if (r < 0)
		snprintf(why, WHY_LEN, "no timer: %s", strerror(-r));
	return r;
}

/* Nothing is kept for a single session. */
static void gpu_counters_session_close(void *state, unsigned slot)
{
	(void)state;
	(void)slot;
}

/* One stream, on "CPU" 0, and nothing on the way that could lose a record. */
static int gpu_counters_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct gpu_counters *gc = state;

	if (stream)
		return -EINVAL;
	*ret = (struct event_stream){ .n_produced = cpu ? 0 : gpu_counters_poll_count(gc->poll) };
	return 0;
}

const struct collector gpu_counters_collector = {
	.name = "gpu-counters",
	.summary = "GPUs: busy time and memory of each process, clocks, temperature, power",
	.machine_wide = true,
	.start = gpu_counters_start,
	.stop = gpu_counters_stop,
	.count = gpu_counters_count,
	.session_open = gpu_counters_session_open,
	.session_close = gpu_counters_session_close,
	.valid = gpu_counters_valid,
	.encoder_new = gpu_counters_encoder_new,
	.encoder_free = gpu_counters_encoder_free,
	.encode = gpu_counters_encode,
};
