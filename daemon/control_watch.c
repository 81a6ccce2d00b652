/* SPDX-License-Identifier: Apache-2.0 */
/* control_watch.c - of a request to watch: what is wanted, and where it comes from. */
#include "control_watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

int control_watch_new(const WatchRequest *req, struct trace_config *config,
		      struct control_client *client, const struct process_table *pt,
		      char why[WHY_LEN], struct watch **ret)
{
	struct watch_selection sel = { .min_ns = req->has_min_ns ? req->min_ns : 0 };
	int r = 0;

	for (size_t i = 0; i < req->n_events && r == 0; i++)
		r = watch_select_add(&sel, req->events[i], why, WHY_LEN);
	if (r == 0)
		r = choose_sources(req, &sel, config, why);
	if (r < 0)
		return r;
	r = watch_new(&sel, pt, control_client_trace, client, ret);
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
