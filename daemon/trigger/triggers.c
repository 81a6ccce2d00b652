/* SPDX-License-Identifier: Apache-2.0 */
/*
 * triggers.c - armed triggers. What an event fires is only noted, also for the trace, while
 * the event is at hand; an eventfd brings the event loop here, where it is told.
 */
#include "trigger/triggers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "clock.h"
#include "collector.h"
#include "event_loop.h"
#include "process/process_table.h"
#include "text.h"
#include "trigger/trigger_psi.h"

/* What has fired, for the trace. */
struct trigger_mark {
	char trigger[TRIGGER_SPEC_LEN], by[TRIGGER_BY_LEN];
	struct trigger_fired fired;
};

struct trigger {
	struct triggers *all;
	struct trigger *next;
	struct trigger_spec spec;
	int source; /* of its events; -1: any */
	char by[TRIGGER_BY_LEN];
	trigger_fn *fn;
	void *ctx;
	uint64_t armed_ns, last_ns; /* last_ns 0: has not fired */
	uint64_t n_fired, n_missed;
	bool is_dead, is_pending;
	struct trigger_fired fired; /* if it is pending */
};

struct triggers {
	struct triggers_env env;
	struct trigger *first; /* the newest */
	unsigned n, n_tapping, n_psi[TRIGGER_RESOURCES];
	bool is_walking; /* nobody is freed meanwhile */

	int wake_fd;
	struct event_source *wake, *psi_timer;
	struct trigger_psi psi;

	struct trigger_mark marks[TRIGGERS_MARKS];
	uint64_t n_marks; /* so far */
};

/* ---- what fires ---- */

static const char *comm_of(void *ctx, uint32_t tgid)
{
	const struct triggers *ts = ctx;
	const struct process *p = process_table_get(ts->env.processes, tgid);

	return p ? p->comm : "";
}

/* Whether it counts; if not, that is remembered. */
static bool is_due(struct trigger *t, uint64_t time_ns)
{
	if (time_ns < t->armed_ns)
		return false;
	if (!t->is_pending && (!t->last_ns || time_ns >= t->last_ns + t->spec.min_interval_ns))
		return true;
	t->n_missed++;
	return false;
}

static void remember(struct triggers *ts, const struct trigger *t)
{
	struct trigger_mark *mark = &ts->marks[ts->n_marks++ % TRIGGERS_MARKS];

	snprintf(mark->trigger, sizeof(mark->trigger), "%s", t->spec.text);
	snprintf(mark->by, sizeof(mark->by), "%s", t->by);
	mark->fired = t->fired;
}

/* `t->fired` says what. */
static void fire(struct trigger *t)
{
	const uint64_t one = 1;

	t->fired.n_missed = t->n_missed;
	t->n_missed = 0;
	t->n_fired++;
	t->last_ns = t->fired.time_ns;
	t->is_pending = true;
	remember(t->all, t);
	/* Its counter is never near its end. */
	(void)!write(t->all->wake_fd, &one, sizeof(one));
}

/* The trace_tap_fn. */
static void on_event(void *ctx, const struct trace_tap_event *ev)
{
	struct triggers *ts = ctx;

	for (struct trigger *t = ts->first; t; t = t->next) {
		if (t->is_dead || !trigger_match(&t->spec, t->source, ev, comm_of, ts) ||
		    !is_due(t, ev->end_ns))
			continue;
		trigger_describe(&t->spec, ev, comm_of, ts, &t->fired);
		fire(t);
	}
}

unsigned triggers_sigusr2(struct triggers *ts, uint32_t sender, uint64_t now_ns)
{
	unsigned n = 0;

	for (struct trigger *t = ts->first; t; t = t->next) {
		if (t->is_dead || t->spec.kind != TRIGGER_SIGUSR2)
			continue;
		n++;
		if (!is_due(t, now_ns))
			continue;
		t->fired = (struct trigger_fired){ .time_ns = now_ns, .tgid = sender };
		snprintf(t->fired.comm, sizeof(t->fired.comm), "%s", comm_of(ts, sender));
		snprintf(t->fired.what, sizeof(t->fired.what), "tracerd got SIGUSR2");
		fire(t);
	}
	return n;
}

/* ---- pressure ---- */

static void on_pressure(struct triggers *ts, enum trigger_resource resource, uint64_t now_ns,
			double percent)
{
	for (struct trigger *t = ts->first; t; t = t->next) {
		if (t->is_dead || t->spec.kind != TRIGGER_PSI || t->spec.resource != resource ||
		    !trigger_compare(t->spec.op, percent, t->spec.number) || !is_due(t, now_ns))
			continue;
		t->fired = (struct trigger_fired){ .time_ns = now_ns };
		snprintf(t->fired.what, sizeof(t->fired.what),
			 "some task was stalled for want of %s for %.0f %% of the last second",
			 resource == TRIGGER_CPU ? "CPU" : trigger_resource_name(resource),
			 percent);
		fire(t);
	}
}

static int on_psi_timer(void *ctx, uint32_t events)
{
	struct triggers *ts = ctx;
	uint64_t now_ns = boot_ns();
	double percent;

	(void)events;
	for (unsigned i = 0; i < TRIGGER_RESOURCES; i++)
		if (ts->n_psi[i] &&
		    trigger_psi_poll(&ts->psi, (enum trigger_resource)i, now_ns, &percent) == 0)
			on_pressure(ts, (enum trigger_resource)i, now_ns, percent);
	return 0;
}

/* ---- what is watched for it ---- */

static bool taps(const struct trigger *t)
{
	return t->spec.kind != TRIGGER_PSI && t->spec.kind != TRIGGER_SIGUSR2;
}

static bool any_psi(const struct triggers *ts)
{
	for (unsigned i = 0; i < TRIGGER_RESOURCES; i++)
		if (ts->n_psi[i])
			return true;
	return false;
}

static int watch_psi(struct triggers *ts, enum trigger_resource resource, char why[TRIGGER_WHY_LEN])
{
	uint64_t us;
	int r = trigger_psi_read(&ts->psi, resource, &us);

	if (r < 0) {
		snprintf(why, TRIGGER_WHY_LEN,
			 "there is no pressure of %s in %s: the kernel needs CONFIG_PSI, and psi=1 "
			 "on its command line",
			 trigger_resource_name(resource), ts->env.psi_dir);
		return r;
	}
	if (!ts->psi_timer)
		r = event_loop_add_timer(ts->env.loop, TRIGGER_PSI_INTERVAL_NS, on_psi_timer, ts,
					 &ts->psi_timer);
	if (r == 0)
		ts->n_psi[resource]++;
	return r;
}

static int watch(struct triggers *ts, const struct trigger *t, char why[TRIGGER_WHY_LEN])
{
	if (t->spec.kind == TRIGGER_PSI)
		return watch_psi(ts, t->spec.resource, why);
	if (taps(t) && ts->n_tapping++ == 0)
		ts->env.tap(ts->env.ctx, on_event, ts);
	return 0;
}

static void unwatch(struct triggers *ts, const struct trigger *t)
{
	if (taps(t) && --ts->n_tapping == 0)
		ts->env.tap(ts->env.ctx, NULL, NULL);
	if (t->spec.kind != TRIGGER_PSI)
		return;
	if (--ts->n_psi[t->spec.resource] == 0)
		trigger_psi_reset(&ts->psi, t->spec.resource);
	if (!any_psi(ts)) {
		event_source_free(ts->psi_timer);
		ts->psi_timer = NULL;
	}
}

/* ---- who is told ---- */

static void bury_the_dead(struct triggers *ts)
{
	for (struct trigger **link = &ts->first; *link;) {
		struct trigger *t = *link;

		if (!t->is_dead) {
			link = &t->next;
			continue;
		}
		*link = t->next;
		free(t);
	}
}

static int on_wake(void *ctx, uint32_t events)
{
	struct triggers *ts = ctx;
	uint64_t n;

	(void)events;
	if (read(ts->wake_fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	ts->is_walking = true;
	for (struct trigger *t = ts->first; t; t = t->next) {
		struct trigger_fired fired = t->fired;

		if (!t->is_pending || t->is_dead)
			continue;
		t->is_pending = false;
		t->fn(t->ctx, t, &fired);
	}
	ts->is_walking = false;
	bury_the_dead(ts);
	return 0;
}

/* ---- arming ---- */

int triggers_arm(struct triggers *ts, const struct trigger_spec *spec, const char *by,
		 trigger_fn *fn, void *ctx, char why[TRIGGER_WHY_LEN], struct trigger **ret)
{
	const char *source = trigger_source(spec);
	const struct collector *c = source ? collector_by_name(source) : NULL;
	struct trigger *t;
	int r;

	snprintf(why, TRIGGER_WHY_LEN, "out of memory");
	if (ts->n == TRIGGERS_MAX) {
		snprintf(why, TRIGGER_WHY_LEN, "%d triggers are waited for already, which is all",
			 TRIGGERS_MAX);
		return -ENOSPC;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->all = ts;
	t->spec = *spec;
	t->source = c ? collector_index(c) : -1;
	snprintf(t->by, sizeof(t->by), "%s", by);
	t->fn = fn;
	t->ctx = ctx;
	t->armed_ns = boot_ns();
	r = watch(ts, t, why);
	if (r < 0) {
		free(t);
		return r;
	}
	t->next = ts->first;
	ts->first = t;
	ts->n++;
	*ret = t;
	return 0;
}

void triggers_disarm(struct trigger *t)
{
	struct triggers *ts;

	if (!t)
		return;
	ts = t->all;
	unwatch(ts, t);
	t->is_dead = true;
	ts->n--;
	if (!ts->is_walking)
		bury_the_dead(ts);
}

/* ---- life, facts ---- */

int triggers_new(const struct triggers_env *env, struct triggers **ret)
{
	struct triggers *ts = calloc(1, sizeof(*ts));
	int r;

	if (!ts)
		return -ENOMEM;
	ts->env = *env;
	ts->psi.dir = env->psi_dir;
	ts->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = ts->wake_fd < 0 ? -errno
			    : event_loop_add(env->loop, ts->wake_fd, 1 /* EPOLLIN */, on_wake, ts,
					     &ts->wake);
	if (r < 0) {
		triggers_free(ts);
		return r;
	}
	*ret = ts;
	return 0;
}

void triggers_free(struct triggers *ts)
{
	if (!ts)
		return;
	event_source_free(ts->wake);
	event_source_free(ts->psi_timer);
	if (ts->wake_fd >= 0)
		close(ts->wake_fd);
	free(ts);
}

const struct trigger_spec *trigger_spec(const struct trigger *t)
{
	return &t->spec;
}

uint64_t trigger_count(const struct trigger *t)
{
	return t->n_fired;
}

void triggers_each(const struct triggers *ts, trigger_each_fn *fn, void *ctx)
{
	for (const struct trigger *t = ts->first; t; t = t->next)
		if (!t->is_dead)
			fn(ctx, t, t->by);
}

size_t triggers_marks(const struct triggers *ts, struct flight_mark ret[TRIGGERS_MARKS])
{
	uint64_t i = ts->n_marks > TRIGGERS_MARKS ? ts->n_marks - TRIGGERS_MARKS : 0;
	size_t n = 0;

	for (; i < ts->n_marks; i++) {
		const struct trigger_mark *mark = &ts->marks[i % TRIGGERS_MARKS];

		ret[n++] = (struct flight_mark){
			.time_ns = mark->fired.time_ns,
			.name = mark->trigger,
			.detail = mark->fired.what,
			.by = mark->by,
			.comm = mark->fired.comm,
			.tgid = mark->fired.tgid,
			.tid = mark->fired.tid,
			.duration_ns = mark->fired.duration_ns,
			.n_missed = mark->fired.n_missed,
		};
	}
	return n;
}
