/* SPDX-License-Identifier: Apache-2.0 */
/* probe_list.c - what the daemon says of probes, for people and as JSON. */
#include "probe_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clean.h"
#include "json.h"
#include "probe_text.h"

/* ---- text ---- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_one(const ProbeStatus *p)
{
	char *text = p->def ? probe_text_of(p->def) : NULL;

	printf("  %-3u %-8s %s\n", p->id, clean(p->state ? p->state : "?"),
	       text ? clean(text) : "");
	free(text);
	printf("      %u place%s, %" PRIu64 " hit%s", p->sites, plural(p->sites), p->hits,
	       plural(p->hits));
	if (p->over)
		printf(", %" PRIu64 " over its rate", p->over);
	if (p->unwanted)
		printf(", %" PRIu64 " by its condition not wanted", p->unwanted);
	if (p->lost)
		printf(", %" PRIu64 " lost", p->lost);
	if (p->paused_ns)
		printf(", taken away for %.1f s", (double)p->paused_ns / 1e9);
	if (p->cost_ns)
		printf(", %.1f us each", (double)p->cost_ns / 1000);
	if (p->session)
		printf("; of session %u alone", p->session);
	putchar('\n');
	if (p->why && p->why[0])
		printf("      %s\n", clean(p->why));
}

/* ---- JSON ---- */

static void json_def(struct json *j, const ProbeDef *def)
{
	json_string(j, "name", def->name);
	json_string(j, "at", def->at);
	if (def->end)
		json_string(j, "end", def->end);
	json_array(j, "args");
	for (size_t i = 0; i < def->n_args; i++)
		json_string(j, NULL, def->args[i]);
	json_end(j);
	if (def->condition)
		json_string(j, "if", def->condition);
	if (def->key)
		json_string(j, "key", def->key);
	if (def->counter)
		json_string(j, "counter", def->counter);
	json_bool(j, "stack", def->stack);
	json_u64(j, "rate", def->rate);
}

static void json_one(struct json *j, const ProbeStatus *p)
{
	json_object(j, NULL);
	json_u64(j, "id", p->id);
	if (p->def)
		json_def(j, p->def);
	json_string(j, "state", p->state);
	json_string(j, "why", p->why);
	json_u64(j, "uid", p->uid);
	json_u64(j, "session", p->session);
	json_u64(j, "places", p->sites);
	json_u64(j, "hits", p->hits);
	json_u64(j, "over", p->over);
	json_u64(j, "unwanted", p->unwanted);
	json_u64(j, "lost", p->lost);
	json_u64(j, "paused_ns", p->paused_ns);
	json_u64(j, "cost_ns", p->cost_ns);
	json_end(j);
}

void probe_list_json(struct json *j, const char *name, ProbeStatus *const *probes, size_t n)
{
	json_array(j, name);
	for (size_t i = 0; i < n; i++)
		json_one(j, probes[i]);
	json_end(j);
}

void probe_list_print(ProbeStatus *const *probes, size_t n, bool as_json)
{
	struct json j = { .out = stdout };

	if (as_json) {
		json_object(&j, NULL);
		probe_list_json(&j, "probes", probes, n);
		json_end(&j);
		putchar('\n');
		return;
	}
	for (size_t i = 0; i < n; i++)
		print_one(probes[i]);
}
