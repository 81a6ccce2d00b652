/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.c - which parts of an array are taken. A sorted array of the gaps. */
#include "ranges.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct gap {
	uint32_t first, n;
};

struct ranges {
	struct gap *gaps;
	size_t n_gaps, cap;
	uint32_t used;
};

int ranges_new(uint32_t size, struct ranges **ret)
{
	struct ranges *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->cap = 16;
	r->gaps = malloc(r->cap * sizeof(*r->gaps));
	if (!r->gaps) {
		free(r);
		return -ENOMEM;
	}
	r->gaps[r->n_gaps++] = (struct gap){ .first = 0, .n = size };
	*ret = r;
	return 0;
}

void ranges_free(struct ranges *r)
{
	if (!r)
		return;
	free(r->gaps);
	free(r);
}

static void remove_gap(struct ranges *r, size_t i)
{
	memmove(&r->gaps[i], &r->gaps[i + 1], (r->n_gaps - i - 1) * sizeof(*r->gaps));
	r->n_gaps--;
}

int ranges_take(struct ranges *r, uint32_t n, uint32_t *ret_first)
{
	for (size_t i = 0; i < r->n_gaps; i++) {
		struct gap *gap = &r->gaps[i];

		if (gap->n < n)
			continue;
		*ret_first = gap->first;
		gap->first += n;
		gap->n -= n;
		if (gap->n == 0)
			remove_gap(r, i);
		r->used += n;
		return 0;
	}
	return -ENOSPC;
}

static int insert_gap(struct ranges *r, size_t i, struct gap gap)
{
	if (r->n_gaps == r->cap) {
		struct gap *more = realloc(r->gaps, 2 * r->cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		r->gaps = more;
		r->cap *= 2;
	}
	memmove(&r->gaps[i + 1], &r->gaps[i], (r->n_gaps - i) * sizeof(*r->gaps));
	r->gaps[i] = gap;
	r->n_gaps++;
	return 0;
}

void ranges_give(struct ranges *r, uint32_t first, uint32_t n)
{
	size_t i = 0, hi = r->n_gaps;

	while (i < hi) { /* the first gap behind */
		size_t mid = i + (hi - i) / 2;

		if (r->gaps[mid].first < first)
			i = mid + 1;
		else
			hi = mid;
	}
	if (i > 0 && r->gaps[i - 1].first + r->gaps[i - 1].n == first) {
		r->gaps[--i].n += n;
	} else if (i < r->n_gaps && r->gaps[i].first == first + n) {
		r->gaps[i].first = first;
		r->gaps[i].n += n;
	} else if (insert_gap(r, i, (struct gap){ .first = first, .n = n }) < 0) {
		return;
	}
	r->used -= n;
	if (i + 1 < r->n_gaps && r->gaps[i].first + r->gaps[i].n == r->gaps[i + 1].first) {
		r->gaps[i].n += r->gaps[i + 1].n;
		remove_gap(r, i + 1);
	}
}

uint32_t ranges_used(const struct ranges *r)
{
	return r->used;
}
