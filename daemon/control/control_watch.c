/* SPDX-License-Identifier: Apache-2.0 */
/* control_watch.c - of a request to watch: what is wanted, and where it comes from. */
#include "control_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/probes.h"

/* Samples and switches are no lines: there are too many, and one alone says nothing. */
static const char *const without_lines[] = { "cpu", "sched", "alloc" };
/* Lines each second, whatever happens: for whoever asks. */
static const char *const talkative[] = { "counters", "gpu-counters" };

static uint32_t bit_of(const char *name)
{
	return 1u << collector_index(collector_by_name(name));
}

static int choose_sources(const WatchRequest *req, const struct watch_selection *sel,
			  struct trace_config *config, char why[WHY_LEN])
{
	const bool chosen = req->start && req->start->n_sources;
	uint32_t wanted = watch_select_sources(sel);

	for (size_t i = 0; i < sizeof(without_lines) / sizeof(without_lines[0]); i++) {
		uint32_t bit = bit_of(without_lines[i]);

		if ((chosen ? config->sources : wanted) & bit) {
			snprintf(why, WHY_LEN,
				 "there are no lines of source %s: tracectl record has its events",
				 without_lines[i]);
			return -EINVAL;
		}
		config->sources &= ~bit;
	}
	if (chosen)
		return 0;
	for (size_t i = 0; i < sizeof(talkative) / sizeof(talkative[0]); i++)
		config->sources &= ~bit_of(talkative[i]);
	if (wanted)
		config->sources = wanted;
	return 0;
}

/* ---- probes ---- */

struct wanted_probe {
	const char *text; /* name or id */
	struct watch_selection *sel;
	int r; /* -ENOENT: there is none */
};

static void match_probe(void *ctx, struct probe *p)
{
	struct wanted_probe *wanted = ctx;
	char id[16];

	snprintf(id, sizeof(id), "%u", p->id);
	if (p->slot == PROBES_EVERY && wanted->r == -ENOENT &&
	    (strcmp(wanted->text, p->def.name) == 0 || strcmp(wanted->text, id) == 0))
		wanted->r = watch_select_probe(wanted->sel, p->def.name, p->def.counter.name);
}

/* Those that are there and were named, and those that the request brings along. */
static int choose_probes(struct probes *probes, const WatchRequest *req,
			 const struct trace_config *config, struct watch_selection *sel,
			 char why[WHY_LEN])
{
	int r = 0;

	for (size_t i = 0; i < req->n_probes && r == 0; i++) {
		struct wanted_probe wanted = { req->probes[i], sel, -ENOENT };

		probes_each(probes, match_probe, &wanted);
		r = wanted.r;
		if (r == -ENOENT)
			snprintf(why, WHY_LEN,
				 "there is no probe '%.60s': tracectl probe list says which there "
				 "are",
				 req->probes[i]);
	}
	for (unsigned i = 0; i < config->n_probes && r == 0; i++)
		r = watch_select_probe(sel, config->probes[i].name, config->probes[i].counter.name);
	if (r == -E2BIG)
		snprintf(why, WHY_LEN, "at most %d probes", WATCH_MAX_PROBES);
	return r;
}

int control_watch_new(const struct control_watch_env *env, const WatchRequest *req,
		      struct trace_config *config, struct control_client *client, char why[WHY_LEN],
		      struct watch **ret)
{
	struct watch_selection sel = { .min_ns = req->has_min_ns ? req->min_ns : 0 };
	int r = 0;

	for (size_t i = 0; i < req->n_events && r == 0; i++)
		r = watch_select_add(&sel, req->events[i], why, WHY_LEN);
	if (r == 0)
		r = choose_probes(env->probes, req, config, &sel, why);
	if (r == 0)
		r = choose_sources(req, &sel, config, why);
	if (r < 0)
		return r;
	r = watch_new(&sel, env->processes, control_client_trace, client, ret);
	if (r == 0)
		control_client_may_stall(client);
	return r;
}

void control_watch_ended(struct watch *watch, Stopped *msg)
{
	struct watch_stats stats;

	watch_flush(watch, true);
	watch_stats(watch, &stats);
	msg->has_lines = msg->has_lines_lost = 1;
	msg->lines = stats.n_lines;
	msg->lines_lost = stats.n_lost;
}
