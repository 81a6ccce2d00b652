/* SPDX-License-Identifier: Apache-2.0 */
/* watch_select.c - which events a watcher wants to see. */
#include "watch/watch_select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "collector.h"

#define PROBES_SOURCE "probes"

/* What is behind `prefix`, or NULL. */
static const char *behind(const char *spec, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(spec, prefix, len) == 0 ? spec + len : NULL;
}

static int parse(const char *spec, struct watch_spec *s, char *why, size_t why_size)
{
	const char *text;

	s->kind = WATCH_NAME;
	if ((text = behind(spec, "category:")))
		s->kind = WATCH_CATEGORY;
	else if ((text = behind(spec, "source:")))
		s->kind = WATCH_SOURCE;
	else if (!(text = behind(spec, "name:")))
		text = spec;
	if (!text[0] || strlen(text) >= sizeof(s->glob)) {
		snprintf(
			why, why_size,
			"events '%.40s': want a pattern of names, category:PATTERN or source:NAME, "
			"of at most %zu bytes",
			spec, sizeof(s->glob) - 1);
		return -EINVAL;
	}
	strcpy(s->glob, text);
	if (s->kind != WATCH_SOURCE)
		return 0;
	if (!collector_by_name(text)) {
		snprintf(why, why_size, "there is no source '%.40s': tracectl status lists them",
			 text);
		return -EINVAL;
	}
	s->source = (unsigned)collector_index(collector_by_name(text));
	return 0;
}

int watch_select_add(struct watch_selection *sel, const char *spec, char *why, size_t why_size)
{
	int r;

	if (sel->n_specs == WATCH_MAX_SPECS) {
		snprintf(why, why_size, "at most %d choices of events", WATCH_MAX_SPECS);
		return -E2BIG;
	}
	r = parse(spec, &sel->specs[sel->n_specs], why, why_size);
	sel->n_specs += r == 0;
	return r;
}

int watch_select_probe(struct watch_selection *sel, const char *name, const char *counter)
{
	struct watch_probe *p = &sel->probes[sel->n_probes];

	if (sel->n_probes == WATCH_MAX_PROBES)
		return -E2BIG;
	snprintf(p->name, sizeof(p->name), "%s", name);
	snprintf(p->counter, sizeof(p->counter), "%s", counter);
	sel->n_probes++;
	return 0;
}

static bool is_of_probes(unsigned source)
{
	return strcmp(collectors[source]->name, PROBES_SOURCE) == 0;
}

uint32_t watch_select_sources(const struct watch_selection *sel)
{
	const struct collector *probes = collector_by_name(PROBES_SOURCE);
	uint32_t sources = 0;

	for (size_t i = 0; i < sel->n_specs; i++) {
		if (sel->specs[i].kind != WATCH_SOURCE)
			return 0;
		sources |= 1u << sel->specs[i].source;
	}
	if (sel->n_probes && probes)
		sources |= 1u << collector_index(probes);
	return sources;
}

static bool is_text(const struct trace_arg *arg)
{
	return arg->type == ARG_STRING || arg->type == ARG_REPEATED || arg->type == ARG_LITERAL;
}

/* Of a probe at several functions the event has the name of the one that was hit. */
static bool is_of(const struct watch_probe *p, const struct trace_tap_event *ev)
{
	if (ev->kind == TAP_COUNTER)
		return strcmp(p->counter, ev->name) == 0;
	if (strcmp(p->name, ev->name) == 0)
		return true;
	for (size_t i = 0; i < ev->n_args; i++)
		if (strcmp(ev->args[i].name, "probe") == 0)
			return is_text(&ev->args[i]) && strcmp(p->name, ev->args[i].s) == 0;
	return false;
}

static bool fits(const struct watch_spec *s, const struct trace_tap_event *ev)
{
	if (s->kind == WATCH_SOURCE)
		return s->source == ev->source;
	if (s->kind == WATCH_CATEGORY)
		return ev->category && fnmatch(s->glob, ev->category, 0) == 0;
	return fnmatch(s->glob, ev->name, 0) == 0;
}

bool watch_selects(const struct watch_selection *sel, const struct trace_tap_event *ev)
{
	if (sel->min_ns && (ev->kind != TAP_SLICE || ev->end_ns < ev->time_ns + sel->min_ns))
		return false;
	if (!sel->n_specs && !sel->n_probes)
		return true;
	for (size_t i = 0; i < sel->n_specs; i++)
		if (fits(&sel->specs[i], ev))
			return true;
	for (size_t i = 0; i < sel->n_probes && is_of_probes(ev->source); i++)
		if (is_of(&sel->probes[i], ev))
			return true;
	return false;
}
