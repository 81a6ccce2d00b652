/* SPDX-License-Identifier: Apache-2.0 */
/* probe_sites_plain.c - places of probes by exact symbols and USDT notes, without types. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_types.h"
#include "symbolize/elf_usdt.h"
#include "symbolize/symbolizer.h"
#include "tracefs.h"

struct probe_question {
	probe_sites_fn *fn; /* NULL: nobody waits */
	void *ctx;
	char symbol[PROBE_EXPR_LEN];
	bool is_usdt;
};

void probe_sites_free(struct probe_sites *sites)
{
	if (!sites)
		return;
	for (size_t i = 0; i < sites->n; i++)
		free(sites->list[i].symbol);
	free(sites->list);
	free(sites);
}

static struct probe_sites *one_site(const char *symbol)
{
	struct probe_sites *s = calloc(1, sizeof(*s));

	if (s)
		s->list = calloc(1, sizeof(*s->list));
	if (!s || !s->list) {
		free(s);
		return NULL;
	}
	s->n = 1;
	s->list[0].symbol = strdup(symbol);
	return s;
}

static void on_functions(void *ctx, const uint64_t *offsets, size_t n)
{
	struct probe_question *q = ctx;
	struct probe_sites *s = NULL;

	(void)n;
	if (q->fn && offsets && offsets[0])
		s = one_site(q->symbol);
	if (s) {
		s->list[0].offset = offsets[0];
		s->list[0].semaphore = q->is_usdt ? offsets[1] : 0;
	}
	if (q->fn)
		q->fn(q->ctx, s, s ? "" : offsets ? "there is no such place in it" : "it cannot be read");
	free(q);
}

int probe_types_ask(struct symbolizer *sym, struct module *module, const struct probe_def *def,
		    const struct probe_place *place, probe_sites_fn *fn, void *ctx,
		    struct probe_question **ret)
{
	struct probe_question *q = calloc(1, sizeof(*q));
	char site[PROBE_EXPR_LEN + 128], semaphore[PROBE_EXPR_LEN + 128];
	const char *names[] = { site, semaphore };

	(void)def;
	if (!q)
		return -ENOMEM;
	*q = (struct probe_question){ .fn = fn, .ctx = ctx };
	q->is_usdt = place->kind == PROBE_USDT;
	snprintf(q->symbol, sizeof(q->symbol), "%s", place->symbol);
	snprintf(site, sizeof(site), q->is_usdt ? ELF_USDT_SITE "%s:%s" : "%.0s%s", place->group,
		 place->symbol);
	snprintf(semaphore, sizeof(semaphore), ELF_USDT_SEMAPHORE "%s:%s", place->group,
		 place->symbol);
	*ret = q;
	symbolizer_ask_functions(sym, module, names, q->is_usdt ? 2 : 1, on_functions, q);
	return 0;
}

void probe_question_free(struct probe_question *q)
{
	if (q)
		q->fn = NULL; /* freed with the answer */
}

int probe_types_kernel(const struct probe_def *def, const struct probe_place *place,
		       struct probe_sites **ret, char why[PROBE_WHY_LEN])
{
	uint64_t id;
	int r;

	(void)def;
	r = place->kind == PROBE_TRACEPOINT ? tracefs_event_id(place->group, place->symbol, &id)
					    : -ENOTSUP;
	if (r < 0) {
		snprintf(why, PROBE_WHY_LEN, "%s: %s", place->symbol, strerror(-r));
		return r;
	}
	*ret = one_site(place->symbol);
	return *ret ? 0 : -ENOMEM;
}
