/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters.c - the machine's own counters: memory, CPUs, pressure, disks,
 * network interfaces, and the memory of the processes that matter.
 *
 * No BPF: /proc is read when the shortest interval of all sessions has passed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/counters_encode.h"
#include "collect/counters_events.h"
#include "collect/counters_poll.h"
#include "collector.h"
#include "event_loop.h"
#include "log.h"
#include "process/process_table.h"

#define MIN_INTERVAL_MS	    10 /* a poll takes 1-3 ms */
#define DEFAULT_INTERVAL_MS 1000
#define FIRST_POLL_NS	    (10 * NS_PER_MS) /* a session begins with a value of everything */
#define MAX_SURVEY_NS	    (2 * NS_PER_MS)
#define SURVEY_SHARE	    500 /* of the interval: 0.2 % of one CPU */

struct counters {
	struct collector_env env;
	struct counters_poll *poll;
	uint32_t interval_ms[EVENT_MAX_STREAMS]; /* of each session; 0: none */
	struct event_source *timer;
	bool first; /* `timer` runs early */
};

static uint64_t interval_ns(const struct counters *c)
{
	uint32_t least = 0;

	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++)
		if (c->interval_ms[i] && (!least || c->interval_ms[i] < least))
			least = c->interval_ms[i];
	if (!least)
		least = DEFAULT_INTERVAL_MS;
	return (least > MIN_INTERVAL_MS ? least : MIN_INTERVAL_MS) * NS_PER_MS;
}

static int on_timer(void *ctx, uint32_t events);

static int set_timer(struct counters *c, bool first)
{
	event_source_free(c->timer);
	c->timer = NULL;
	c->first = first;
	return event_loop_add_timer(c->env.loop, first ? FIRST_POLL_NS : interval_ns(c), on_timer,
				    c, &c->timer);
}

static int note_process(void *ctx, const struct process *p)
{
	struct counters *c = ctx;

	if (!p->is_kthread && !p->free_ns)
		counters_poll_process(c->poll, p->tgid);
	return 0;
}

static int on_timer(void *ctx, uint32_t events)
{
	struct counters *c = ctx;
	uint64_t budget_ns = interval_ns(c) / SURVEY_SHARE;
	int r;

	(void)events;
	process_table_each(c->env.processes, note_process, c);
	counters_poll_run(c->poll, boot_ns(), budget_ns < MAX_SURVEY_NS ? budget_ns : MAX_SURVEY_NS,
			  c->env.sink, c->env.sink_ctx);
	if (c->first) {
		r = set_timer(c, false);
		if (r < 0)
			log_error("counters: no timer: %s; no more counters", strerror(-r));
	}
	return 0;
}

static void counters_stop(void *state)
{
	struct counters *c = state;

	if (!c)
		return;
	event_source_free(c->timer);
	counters_poll_free(c->poll);
	free(c);
}

static int counters_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct counters *c;
	int r;

	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->env = *env;
	r = counters_poll_new("/proc", "/sys/devices/system/cpu", why, &c->poll);
	if (r < 0)
		goto fail;
	r = set_timer(c, true);
	if (r < 0)
		goto fail;
	*ret_state = c;
	return 0;

fail:
	if (!why[0])
		snprintf(why, WHY_LEN, "/proc cannot be read: %s", strerror(-r));
	counters_stop(c);
	return r;
}

static int counters_session_open(void *state, const struct trace_config *config, unsigned slot,
				 char why[WHY_LEN])
{
	struct counters *c = state;
	int r;

	if (slot >= EVENT_MAX_STREAMS)
		return -EINVAL;
	c->interval_ms[slot] =
		config->counters_interval_ms ? config->counters_interval_ms : DEFAULT_INTERVAL_MS;
	r = set_timer(c, true);
	if (r < 0) {
		c->interval_ms[slot] = 0;
		snprintf(why, WHY_LEN, "no timer: %s", strerror(-r));
	}
	return r;
}

static void counters_session_close(void *state, unsigned slot)
{
	struct counters *c = state;
	int r;

	if (slot >= EVENT_MAX_STREAMS || !c->interval_ms[slot])
		return;
	c->interval_ms[slot] = 0;
	r = set_timer(c, false);
	if (r < 0)
		log_error("counters: no timer: %s; no more counters", strerror(-r));
}

/* One stream, on "CPU" 0, and nothing on the way that could lose a record. */
static int counters_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct counters *c = state;

	if (stream)
		return -EINVAL;
	*ret = (struct event_stream){ .n_produced = cpu ? 0 : counters_poll_count(c->poll) };
	return 0;
}

const struct collector counters_collector = {
	.name = "counters",
	.summary =
		"memory, CPU time, pressure, disks, network interfaces; memory of busy processes",
	.machine_wide = true,
	.start = counters_start,
	.stop = counters_stop,
	.count = counters_count,
	.session_open = counters_session_open,
	.session_close = counters_session_close,
	.valid = counters_valid,
	.encoder_new = counters_encoder_new,
	.encoder_free = counters_encoder_free,
	.encode = counters_encode,
};
