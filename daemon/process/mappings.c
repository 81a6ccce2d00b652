/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings.c - the executable mappings of one address space.
 *
 * A sorted array without overlaps, and in front of it a short list of what was
 * added lately, newest last. An address is looked for in the list first. The
 * list is merged when it is full, or before a search while that is cheap: so
 * 65,000 mappings one by one, in any order, cost 256 merges and not 65,000.
 */
#include "mappings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/symbolizer.h"

#define MAX_RECENT 256
#define CHEAP	   1024 /* mappings that are merged before each search */

struct list {
	struct mapping *at;
	size_t n, cap;
};

struct mappings {
	unsigned refs;
	struct mappings_budget *budget;
	struct list sorted, recent;
	size_t hit; /* index in `sorted` of the last one found */
	uint64_t version;
	bool full; /* MAPPINGS_MAX was reached: a block at the edge would merge all the time */
};

static void hold_module(struct module *module)
{
	if (module)
		module_hold(module);
}

static void release_modules(const struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->at[i].module)
			module_release(l->at[i].module);
}

/* Room for `n` in all. The budget counts capacity: that is what is allocated. */
static int reserve(struct mappings *m, struct list *l, size_t n)
{
	size_t cap = l->cap ? l->cap : 8;
	struct mapping *at;

	if (l->at && n <= l->cap)
		return 0;
	while (cap < n)
		cap *= 2;
	if (m->budget->n_used + (cap - l->cap) > m->budget->max)
		return -ENOSPC;
	at = realloc(l->at, cap * sizeof(*at));
	if (!at)
		return -ENOMEM;
	m->budget->n_used += cap - l->cap;
	l->at = at;
	l->cap = cap;
	return 0;
}

/* Frees the array, not the modules. */
static void list_done(struct mappings *m, struct list *l)
{
	m->budget->n_used -= l->cap;
	free(l->at);
	*l = (struct list){ 0 };
}

uint64_t mappings_new_version(void)
{
	static uint64_t last;

	return ++last;
}

uint64_t mappings_version(const struct mappings *m)
{
	return m->version;
}

struct mappings *mappings_new(struct mappings_budget *budget)
{
	struct mappings *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->refs = 1;
	m->budget = budget;
	m->version = mappings_new_version();
	return m;
}

struct mappings *mappings_hold(struct mappings *m)
{
	m->refs++;
	return m;
}

void mappings_release(struct mappings *m)
{
	if (!m || --m->refs > 0)
		return;
	release_modules(&m->sorted);
	release_modules(&m->recent);
	list_done(m, &m->sorted);
	list_done(m, &m->recent);
	free(m);
}

size_t mappings_count(const struct mappings *m)
{
	return m->sorted.n + m->recent.n;
}

static void emit(struct list *out, const struct mapping *o, uint64_t start, uint64_t end)
{
	out->at[out->n++] = (struct mapping){ .start = start,
					      .end = end,
					      .pgoff = o->pgoff + (start - o->start),
					      .module = o->module };
}

/*
 * Writes what of `o` no newer mapping hides, and the newer ones that lie in
 * front of those pieces. `*next` is the first of `newer` not written yet; it
 * ends after o->start.
 */
static void cut(const struct mapping *o, const struct list *newer, size_t *next, struct list *out)
{
	uint64_t from = o->start;

	while (*next < newer->n && newer->at[*next].start < o->end) {
		const struct mapping *over = &newer->at[*next];

		if (over->start > from)
			emit(out, o, from, over->start);
		if (over->end >= o->end)
			return; /* it may hide the next one too */
		out->at[out->n++] = *over;
		from = over->end;
		(*next)++;
	}
	emit(out, o, from, o->end);
}

/*
 * `out` = `newer` over `older`, all sorted and without overlaps. Room for all
 * and two per newer one must be there: each may cut one of the older in two.
 */
static void merge(const struct list *older, const struct list *newer, struct list *out)
{
	size_t next = 0;

	out->n = 0;
	for (size_t i = 0; i < older->n; i++) {
		const struct mapping *o = &older->at[i];

		while (next < newer->n && newer->at[next].end <= o->start)
			out->at[out->n++] = newer->at[next++];
		cut(o, newer, &next, out);
	}
	while (next < newer->n)
		out->at[out->n++] = newer->at[next++];
}

/* `recent` as a sorted list without overlaps, in one of the two. Single-threaded. */
static const struct list *sort_recent(const struct mappings *m)
{
	static struct mapping room[2][2 * MAX_RECENT];
	static struct list lists[2];
	unsigned from = 0;

	lists[0] = (struct list){ .at = room[0] };
	lists[1] = (struct list){ .at = room[1] };
	for (size_t i = 0; i < m->recent.n; i++, from = !from) {
		struct list one = { .at = &m->recent.at[i], .n = 1 };

		merge(&lists[from], &one, &lists[!from]);
	}
	return &lists[from];
}

/* On failure nothing has changed. */
static int merge_recent(struct mappings *m)
{
	const struct list *news = sort_recent(m);
	struct list out = { 0 };
	int r;

	r = reserve(m, &out, m->sorted.n + 2 * news->n);
	if (r < 0)
		return r;
	merge(&m->sorted, news, &out);
	for (size_t i = 0; i < out.n; i++)
		hold_module(out.at[i].module);
	release_modules(&m->sorted);
	release_modules(&m->recent);
	list_done(m, &m->sorted);
	m->sorted = out;
	m->recent.n = 0;
	m->hit = 0;
	return 0;
}

static int copy_list(struct mappings *m, struct list *dst, const struct list *src)
{
	int r = src->n ? reserve(m, dst, src->n) : 0;

	if (r < 0)
		return r;
	for (size_t i = 0; i < src->n; i++) {
		dst->at[i] = src->at[i];
		hold_module(src->at[i].module);
		dst->n++;
	}
	return 0;
}

/* `*m` becomes a block of its own. */
static int unshare(struct mappings **m)
{
	struct mappings *own = mappings_new((*m)->budget);
	int r;

	if (!own)
		return -ENOMEM;
	r = copy_list(own, &own->sorted, &(*m)->sorted);
	if (r == 0)
		r = copy_list(own, &own->recent, &(*m)->recent);
	if (r < 0) {
		mappings_release(own);
		return r;
	}
	mappings_release(*m);
	*m = own;
	return 0;
}

/* Behind all others, as in /proc/PID/maps: no merge is needed. */
static bool comes_last(const struct mappings *m, const struct mapping *add)
{
	return m->recent.n == 0 &&
	       (m->sorted.n == 0 || m->sorted.at[m->sorted.n - 1].end <= add->start);
}

int mappings_set(struct mappings **block, const struct mapping *add)
{
	struct mappings *m;
	struct list *l;
	int r;

	if (add->start >= add->end)
		return -EINVAL;
	if ((*block)->refs > 1) {
		r = unshare(block);
		if (r < 0)
			return r;
	}
	m = *block;
	if (m->full)
		return -ENOSPC;
	if (m->recent.n == MAX_RECENT) {
		r = merge_recent(m);
		if (r < 0)
			return r;
	}
	m->full = mappings_count(m) >= MAPPINGS_MAX;
	if (m->full)
		return -ENOSPC;

	l = comes_last(m, add) ? &m->sorted : &m->recent;
	r = reserve(m, l, l->n + 1);
	if (r < 0)
		return r;
	l->at[l->n++] = *add;
	hold_module(add->module);
	m->version = mappings_new_version();
	return 0;
}

static bool covers(const struct mapping *mapping, uint64_t pc)
{
	return pc >= mapping->start && pc < mapping->end;
}

const struct mapping *mappings_find(struct mappings *m, uint64_t pc)
{
	size_t lo = 0, hi;

	/* Without memory for it the search goes through the list instead. */
	if (m->recent.n > 0 && m->sorted.n <= CHEAP)
		(void)merge_recent(m);
	for (size_t i = m->recent.n; i > 0; i--)
		if (covers(&m->recent.at[i - 1], pc))
			return &m->recent.at[i - 1];

	if (m->hit < m->sorted.n && covers(&m->sorted.at[m->hit], pc))
		return &m->sorted.at[m->hit];
	for (hi = m->sorted.n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->sorted.at[mid].end <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == m->sorted.n || !covers(&m->sorted.at[lo], pc))
		return NULL;
	m->hit = lo;
	return &m->sorted.at[lo];
}

int mappings_all(struct mappings *m, const struct mapping **ret, size_t *ret_n)
{
	int r = m->recent.n > 0 ? merge_recent(m) : 0;

	if (r < 0)
		return r;
	*ret = m->sorted.at;
	*ret_n = m->sorted.n;
	return 0;
}
