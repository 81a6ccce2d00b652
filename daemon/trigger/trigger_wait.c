/* SPDX-License-Identifier: Apache-2.0 */
/* trigger_wait.c - waits for triggers, and then for what follows. */
#include "trigger/trigger_wait.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "event_loop.h"

struct trigger_wait {
	struct trigger_wait_env env;
	struct trigger *triggers[TRIGGER_WAIT_MAX];
	size_t n;
	struct event_source *timer; /* while what follows is waited for */
	struct trigger_spec spec;   /* of the first that has fired */
	struct trigger_fired first;
};

static int on_timer(void *ctx, uint32_t events)
{
	struct trigger_wait *w = ctx;

	(void)events;
	event_source_free(w->timer);
	w->timer = NULL;
	w->env.due(w->env.ctx, &w->spec, &w->first);
	return 0;
}

/* The trigger_fn. */
static void on_fired(void *ctx, struct trigger *t, const struct trigger_fired *fired)
{
	struct trigger_wait *w = ctx;

	if (w->env.fired)
		w->env.fired(w->env.ctx, trigger_spec(t), fired);
	if (w->timer)
		return;
	w->spec = *trigger_spec(t);
	w->first = *fired;
	/* Without a descriptor for a timer it is now, or never. */
	if (w->env.after_ns == 0 ||
	    event_loop_add_timer(w->env.loop, w->env.after_ns, on_timer, w, &w->timer) < 0)
		w->env.due(w->env.ctx, &w->spec, &w->first);
}

int trigger_wait_new(const struct trigger_wait_env *env, const struct trigger_spec *specs, size_t n,
		     char why[TRIGGER_WHY_LEN], struct trigger_wait **ret)
{
	struct trigger_wait *w;
	int r = 0;

	if (n > TRIGGER_WAIT_MAX) {
		snprintf(why, TRIGGER_WHY_LEN, "%d triggers are all that one may wait for",
			 TRIGGER_WAIT_MAX);
		return -EINVAL;
	}
	w = calloc(1, sizeof(*w));
	if (!w) {
		snprintf(why, TRIGGER_WHY_LEN, "out of memory");
		return -ENOMEM;
	}
	w->env = *env;
	for (size_t i = 0; i < n && r == 0; i++) {
		r = triggers_arm(env->triggers, &specs[i], env->by, on_fired, w, why,
				 &w->triggers[w->n]);
		w->n += r == 0;
	}
	if (r < 0) {
		trigger_wait_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void trigger_wait_free(struct trigger_wait *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++)
		triggers_disarm(w->triggers[i]);
	event_source_free(w->timer);
	free(w);
}

uint64_t trigger_wait_count(const struct trigger_wait *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += trigger_count(w->triggers[i]);
	return n;
}
