/* SPDX-License-Identifier: Apache-2.0 */
/* index_clocks.c - times of any clock in that of the trace, by its clock snapshots. */
#include <errno.h>
#include <stdlib.h>

#include "index_impl.h"

#define N_CLOCKS 16 /* ids of builtin clocks are below it */

struct snapshot {
	uint64_t clocks[N_CLOCKS];
	uint32_t present; /* bits */
};

struct index_clocks {
	struct index_list snapshots;
};

int index_clocks_new(struct index_clocks **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void index_clocks_free(struct index_clocks *k)
{
	if (!k)
		return;
	free(k->snapshots.items);
	free(k);
}

void index_clocks_snapshot(struct trace_index *ix, const ClockSnapshot *s)
{
	struct snapshot *item = index_add(ix, &ix->clocks->snapshots, sizeof(*item));

	if (!item)
		return;
	for (size_t i = 0; i < s->n_clocks; i++) {
		uint32_t id = s->clocks[i]->clock_id;

		if (id >= N_CLOCKS)
			continue;
		item->present |= 1u << id;
		item->clocks[id] = s->clocks[i]->timestamp;
	}
	if (!(item->present & 1u << CLOCK_ID_BOOTTIME)) {
		ix->clocks->snapshots.n--; /* it explains nothing */
		return;
	}
	if (ix->facts.realtime_ns == 0)
		ix->facts.realtime_ns = item->clocks[CLOCK_ID_REALTIME];
}

/* By the nearest earlier snapshot, of those that come before the packet in the file. */
uint64_t index_clocks_time(const struct trace_index *ix, uint32_t clock, uint64_t time)
{
	const struct index_list *l = &ix->clocks->snapshots;
	const struct snapshot *s = l->items;
	size_t low = 0, high = l->n;

	if (clock == CLOCK_ID_BOOTTIME)
		return time;
	if (clock >= N_CLOCKS || l->n == 0)
		return 0;
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (s[mid].clocks[clock] <= time)
			low = mid;
		else
			high = mid;
	}
	if (!(s[low].present & 1u << clock))
		return 0;
	return time - s[low].clocks[clock] + s[low].clocks[CLOCK_ID_BOOTTIME];
}

void index_clocks_range(const struct trace_index *ix, uint64_t *ret_first, uint64_t *ret_last)
{
	const struct index_list *l = &ix->clocks->snapshots;
	const struct snapshot *s = l->items;

	*ret_first = l->n ? s[0].clocks[CLOCK_ID_BOOTTIME] : 0;
	*ret_last = l->n ? s[l->n - 1].clocks[CLOCK_ID_BOOTTIME] : 0;
}
