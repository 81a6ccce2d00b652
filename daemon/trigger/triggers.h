/* SPDX-License-Identifier: Apache-2.0 */
/*
 * triggers.h - all triggers that are armed, of clients that wait and of tracerd.conf, and what
 * has fired lately.
 *
 * They listen to what the flight recorder writes as long as one of them has to; without any
 * nothing is looked at. Whoever waits is told out of the event loop, never in the middle of an
 * event.
 */
#ifndef TRIGGERS_H
#define TRIGGERS_H

#include "flight/flight.h"
#include "trigger/trigger_match.h"

struct event_loop;
struct process_table;
struct trigger;
struct triggers;

#define TRIGGERS_MAX   128
#define TRIGGERS_MARKS 64
#define TRIGGER_BY_LEN 64

struct triggers_env {
	struct event_loop *loop;
	struct process_table *processes;
	const char *psi_dir; /* TRIGGER_PSI_DIR; kept, not copied */
	/* Who listens to what is recorded from now on; `fn` NULL: nobody. */
	void (*tap)(void *ctx, trace_tap_fn *fn, void *fn_ctx);
	void *ctx;
};

int triggers_new(const struct triggers_env *env, struct triggers **ret);
void triggers_free(struct triggers *ts); /* takes NULL; nothing is armed any more by then */

/* `t` may be disarmed in it, and others. `fired` is valid during the call. */
typedef void trigger_fn(void *ctx, struct trigger *t, const struct trigger_fired *fired);

/*
 * From now on: what happened before does not count, even if it is written only now. `by`: who
 * waits, for the trace. -ENOSPC: too many are armed; -ENOTSUP: the kernel has no such thing;
 * `why` says so.
 */
int triggers_arm(struct triggers *ts, const struct trigger_spec *spec, const char *by,
		 trigger_fn *fn, void *ctx, char why[TRIGGER_WHY_LEN], struct trigger **ret);
void triggers_disarm(struct trigger *t); /* takes NULL */

const struct trigger_spec *trigger_spec(const struct trigger *t);
uint64_t trigger_count(const struct trigger *t); /* how often it has fired */

/* tracerd got SIGUSR2. Returns how many triggers wait for that. */
unsigned triggers_sigusr2(struct triggers *ts, uint32_t sender, uint64_t now_ns);

/* What has fired lately, the oldest first; valid until something fires. Returns how many. */
size_t triggers_marks(const struct triggers *ts, struct flight_mark ret[TRIGGERS_MARKS]);

typedef void trigger_each_fn(void *ctx, const struct trigger *t, const char *by);
void triggers_each(const struct triggers *ts, trigger_each_fn *fn, void *ctx);

#endif
