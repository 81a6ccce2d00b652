/* SPDX-License-Identifier: Apache-2.0 */
/* probes_cost.c - what hits of probes cost, and what is done about it. */
#include <stdio.h>

#include "clock.h"
#include "log.h"
#include "probe_ends.h"
#include "probe_programs.h"
#include "probes_impl.h"
#include "uprobe_cost.h"

/* What a hit of a tracepoint costs beside our program. */
#define TRACEPOINT_NS 200

void probes_measure_trap(struct probes_source *s)
{
	if (s->trap_ns)
		return;
	if (uprobe_cost_ns(&s->trap_ns) < 0)
		s->trap_ns = 1; /* what is wrong is said when one is attached */
	log_debug("probes: a hit costs %llu ns", (unsigned long long)s->trap_ns);
}

void probes_update_cost(struct probes_source *s, struct probe *p)
{
	p->cost_ns = probe_programs_run_ns(s->programs, probes_is_uprobe(p), p->def.with_stack) +
		     (probes_is_uprobe(p) ? s->trap_ns : TRACEPOINT_NS);
}

static void pause_one(struct probes_source *s, struct probes_one *one, uint64_t n, uint64_t now_ns)
{
	struct probe *p = one->probe;

	probe_attached_pause(one->attached);
	one->is_paused = true;
	one->paused_since_ns = now_ns;
	probe_programs_tell(s->programs, p->id, PROBES_PAUSE, now_ns);
	snprintf(p->why, sizeof(p->why),
		 "limited: its hits take more than %d %% of a CPU (%llu so far, %.1f us each): "
		 "it is taken away for part of the time; choose a place that is reached less often",
		 PROBE_LIMIT_PERCENT, (unsigned long long)n, (double)p->cost_ns / 1e3);
	if (!one->told)
		log_warn("probes: %s: %s", p->def.name, p->why);
	one->told = true;
}

static void resume_one(struct probes_source *s, struct probes_one *one, uint64_t now_ns)
{
	one->is_paused = false;
	one->probe->paused_ns += now_ns - one->paused_since_ns;
	probe_programs_tell(s->programs, one->probe->id, PROBES_RESUME, now_ns);
	probe_attached_resume(one->attached);
}

/* Of begins and ends, also our own. */
static uint64_t all_hits(struct probes_source *s, const struct probe *p)
{
	struct probes_counts n = { 0 };

	probe_places_count(s->places, p->id, false, &n);
	probe_places_count(s->places, p->id, true, &n);
	return n.n_hits + n.n_over + n.n_unwanted + n.n_lost + n.n_own;
}

void probes_limit(struct probes_source *s, struct probes_one *one, uint64_t now_ns)
{
	struct probe *p = one->probe;
	uint64_t n = all_hits(s, p);

	probes_update_cost(s, p);
	probe_limit_update(&one->limit, n, p->cost_ns, now_ns);
	if (one->limit.is_over && !one->is_paused)
		pause_one(s, one, n, now_ns);
	else if (!one->limit.is_over && one->is_paused && !probe_ends_pending(s->ends))
		resume_one(s, one, now_ns);
}
