/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_types.c - asks the worker about the places of a probe in a file, then about the types
 * of each, one after the other.
 */
#include "probe/probe_types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/text.h"
#include "symbolize/files_places.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"

struct probe_question {
	struct symbolizer *sym;
	struct module *module;
	struct probe_place place;
	probe_sites_fn *fn; /* NULL: nobody waits any more */
	void *ctx;
	bool needs_types;
	struct probe_question **handle; /* while probe_types_ask() runs */
	struct probe_sites *sites;
	uint64_t vaddrs[PROBES_MAX];
	size_t asked; /* the site that types are asked for */
	struct files_probe probe;
};

void probe_sites_free(struct probe_sites *sites)
{
	if (!sites)
		return;
	for (size_t i = 0; i < sites->n; i++) {
		free(sites->list[i].symbol);
		probe_types_free(sites->list[i].types);
	}
	free(sites->list);
	free(sites);
}

/* `sites` or `why`; the question is gone. */
static void answer(struct probe_question *q, struct probe_sites *sites, const char *why)
{
	if (q->handle)
		*q->handle = NULL;
	module_release(q->module);
	if (q->fn)
		q->fn(q->ctx, sites, why);
	else
		probe_sites_free(sites);
	if (q->sites != sites)
		probe_sites_free(q->sites);
	free(q);
}

static const char *failure(enum symbolizer_probe_result result)
{
	switch (result) {
	case SYMBOLIZER_PROBE_BROKEN:
		return "this is no 64-bit program or library that can be read";
	case SYMBOLIZER_PROBE_TOO_LARGE:
		return "what it says of the place is too large";
	case SYMBOLIZER_PROBE_KILLER:
		return "the worker that read it died or hung";
	default:
		return "the file cannot be reached any more, or there is no worker to read it";
	}
}

/* ---- places ---- */

static void describe_none(const struct probe_question *q, bool is_ifunc, char why[PROBE_WHY_LEN])
{
	const struct probe_place *p = &q->place;
	bool is_glob = strpbrk(p->symbol, "*?[") != NULL;

	if (is_ifunc)
		snprintf(why, PROBE_WHY_LEN,
			 "%s is one of several functions that is chosen when a program starts "
			 "(IFUNC): probe those, which debug symbols name",
			 p->symbol);
	else if (p->kind == PROBE_USDT)
		snprintf(why, PROBE_WHY_LEN, "there is no USDT probe %s:%s", p->group, p->symbol);
	else
		snprintf(why, PROBE_WHY_LEN, "%s \"%s\"",
			 is_glob ? "no function is called like" : "there is no function",
			 p->symbol);
}

static void describe(const struct probe_question *q, const struct files_places_answer *a,
		     char why[PROBE_WHY_LEN])
{
	const struct probe_place *p = &q->place;
	unsigned long long number = a->head.number;
	struct nearest near = a->near;
	char text[NEAREST_NAME_MAX];

	switch (a->head.problem) {
	case FILES_PLACES_NO_USDT:
		snprintf(why, PROBE_WHY_LEN, "it has no USDT probes");
		break;
	case FILES_PLACES_BEYOND:
		snprintf(why, PROBE_WHY_LEN, "%s has only %llu bytes", p->symbol, number);
		break;
	case FILES_PLACES_INSIDE:
		snprintf(why, PROBE_WHY_LEN,
			 "%s+0x%llx is inside the instruction that begins at +0x%llx: a probe "
			 "there would break the program",
			 p->symbol, (unsigned long long)p->offset, number);
		break;
	case FILES_PLACES_NO_CODE:
		snprintf(why, PROBE_WHY_LEN,
			 "what is between %s and +0x%llx cannot be decoded, so that nobody knows "
			 "where instructions begin",
			 p->symbol, (unsigned long long)p->offset);
		break;
	default:
		describe_none(q, a->head.problem == FILES_PLACES_IFUNC, why);
	}
	for (size_t i = 0; i < near.n; i++) {
		(void)text_printable(text, sizeof(text), near.names[i], strlen(near.names[i]));
		memcpy(near.names[i], text, sizeof(text));
	}
	nearest_append(&near, why, PROBE_WHY_LEN);
}

/* The files_place_fn. */
static int take_place(void *ctx, const struct files_place *place, const char *name,
		      const uint8_t *types)
{
	struct probe_question *q = ctx;
	struct probe_site *s = &q->sites->list[q->sites->n];
	int r = 0;

	q->vaddrs[q->sites->n++] = place->vaddr;
	s->offset = place->offset;
	s->semaphore = place->semaphore;
	s->symbol = strndup(name, place->name_len);
	if (!s->symbol)
		return -ENOMEM;
	if (place->types_len)
		r = probe_types_decode(types, place->types_len, &s->types);
	return r;
}

static void ask_types(struct probe_question *q);

static void on_places(void *ctx, enum symbolizer_probe_result result, const uint8_t *bytes,
		      size_t len)
{
	struct probe_question *q = ctx;
	struct files_places_answer a;
	char why[PROBE_WHY_LEN];
	int r;

	if (result != SYMBOLIZER_PROBE_OK) {
		answer(q, NULL, failure(result));
		return;
	}
	files_places_answer(bytes, len, &a);
	if (a.head.problem != FILES_PLACES_FOUND) {
		describe(q, &a, why);
		answer(q, NULL, why);
		return;
	}
	q->sites->list = calloc(a.head.n_places, sizeof(*q->sites->list));
	q->sites->n_more = a.head.n_more;
	q->sites->is_go = a.head.is_go;
	r = q->sites->list ? files_places_decode(bytes, len, take_place, q) : -ENOMEM;
	if (r < 0) {
		if (r == -EBADMSG)
			symbolizer_probes_distrust(q->sym);
		answer(q, NULL, strerror(-r));
		return;
	}
	ask_types(q);
}

/* ---- types ---- */

static int take_types(struct probe_question *q, const uint8_t *bytes, size_t len)
{
	struct probe_site *s = &q->sites->list[q->asked];
	struct probe_types *types;
	int r = probe_types_decode(bytes, len, &types);

	if (r < 0)
		return r;
	if (q->place.kind == PROBE_USDT) {
		r = s->types ? probe_types_set_args(types, s->types) : 0;
		if (r < 0) {
			probe_types_free(types);
			return r;
		}
	}
	probe_types_free(s->types);
	s->types = types;
	return 0;
}

static void on_types(void *ctx, enum symbolizer_probe_result result, const uint8_t *bytes,
		     size_t len)
{
	struct probe_question *q = ctx;
	char why[PROBE_WHY_LEN];
	int r = 0;

	if (result == SYMBOLIZER_PROBE_OK && len > 0)
		r = take_types(q, bytes, len);
	if (r == -EBADMSG)
		symbolizer_probes_distrust(q->sym);
	/* Without DWARF expressions may do with what there is; what went wrong is to be told. */
	if (r < 0 || (result != SYMBOLIZER_PROBE_OK && result != SYMBOLIZER_PROBE_BROKEN &&
		      result != SYMBOLIZER_PROBE_TOO_LARGE)) {
		snprintf(why, sizeof(why), "its debug information (DWARF): %s",
			 r < 0 ? strerror(-r) : failure(result));
		answer(q, NULL, why);
		return;
	}
	q->asked++;
	ask_types(q);
}

/* Of the next site; at the end the answer. */
static void ask_types(struct probe_question *q)
{
	struct probe_sites *sites = q->sites;

	if (!q->fn || !q->needs_types || q->asked == sites->n) {
		q->sites = NULL;
		answer(q, sites, NULL);
		return;
	}
	q->probe.vaddr = q->vaddrs[q->asked];
	if (q->place.kind != PROBE_USDT)
		snprintf(q->probe.symbol, sizeof(q->probe.symbol), "%s",
			 sites->list[q->asked].symbol);
	symbolizer_ask_types(q->sym, q->module, &q->probe, on_types, q);
}

int probe_types_ask(struct symbolizer *sym, struct module *module, const struct probe_def *def,
		    const struct probe_place *place, probe_sites_fn *fn, void *ctx,
		    struct probe_question **ret)
{
	struct probe_question *q = calloc(1, sizeof(*q));

	*ret = NULL;
	if (!q)
		return -ENOMEM;
	q->sites = calloc(1, sizeof(*q->sites));
	if (!q->sites) {
		free(q);
		return -ENOMEM;
	}
	*ret = q;
	q->handle = ret;
	q->sym = sym;
	q->module = module;
	q->place = *place;
	q->fn = fn;
	q->ctx = ctx;
	q->needs_types = probe_needs_types(def, place);
	q->probe.flags = place->kind == PROBE_USDT ? FILES_PROBE_USDT : 0;
	q->probe.offset = place->offset;
	q->probe.words_len = (uint32_t)probe_words(def, q->probe.words, sizeof(q->probe.words));
	snprintf(q->probe.symbol, sizeof(q->probe.symbol), "%s", place->symbol);
	snprintf(q->probe.group, sizeof(q->probe.group), "%s", place->group);
	module_hold(module);
	symbolizer_ask_places(sym, module, &q->probe, on_places, q);
	if (*ret)
		(*ret)->handle = NULL;
	return 0;
}

void probe_question_free(struct probe_question *q)
{
	if (q)
		q->fn = NULL; /* gone when the worker has answered */
}
