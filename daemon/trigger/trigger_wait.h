/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_wait.h - one who waits for the first of several triggers, and then a while longer
 * for what follows it.
 */
#ifndef TRIGGER_WAIT_H
#define TRIGGER_WAIT_H

#include "trigger/triggers.h"

#define TRIGGER_WAIT_MAX 16 /* triggers of one */

struct trigger_wait;

struct trigger_wait_env {
	struct event_loop *loop;
	struct triggers *triggers;
	const char *by;	   /* for the trace; copied */
	uint64_t after_ns; /* from the trigger on, until `due` is called */
	/* One of them has fired: the first, or another while the time passes. */
	void (*fired)(void *ctx, const struct trigger_spec *spec,
		      const struct trigger_fired *fired);
	/*
	 * The time is up. `first`: as fired() had it, valid during the call. Then it waits for
	 * the next one. It may be freed in it.
	 */
	void (*due)(void *ctx, const struct trigger_spec *spec, const struct trigger_fired *first);
	void *ctx;
};

/* `specs` are copied. On failure `why` says what is wrong. */
int trigger_wait_new(const struct trigger_wait_env *env, const struct trigger_spec *specs, size_t n,
		     char why[TRIGGER_WHY_LEN], struct trigger_wait **ret);
void trigger_wait_free(struct trigger_wait *w);		   /* takes NULL */
uint64_t trigger_wait_count(const struct trigger_wait *w); /* how often its triggers have fired */

#endif
