/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_flows.c - the flows of requests: from whom asks to whom serves, and back.
 *
 * A viewer draws the arrows of a flow from event to event in the order of time, and none
 * for a flow with one end.
 */
#include <errno.h>
#include <stdlib.h>

#include "check_impl.h"

/* An event that a flow goes through. */
struct point {
	uint64_t id, time_ns, offset;
	uint8_t stage; /* of the request's life */
};

struct check_flows {
	struct check_list points;
};

int check_flows_new(struct check_flows **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void check_flows_free(struct check_flows *f)
{
	if (!f)
		return;
	check_list_done(&f->points);
	free(f);
}

size_t check_flows_add(struct trace_check *c, uint8_t stage)
{
	const TrackEvent *e = c->pkt->track_event;
	size_t first = c->flows->points.n, n = e->n_flow_ids + e->n_terminating_flow_ids;

	for (size_t i = 0; i < n; i++) {
		struct point *p = check_list_add(c, &c->flows->points, sizeof(*p));

		if (!p)
			break;
		*p = (struct point){
			.id = i < e->n_flow_ids ? e->flow_ids[i]
						: e->terminating_flow_ids[i - e->n_flow_ids],
			.time_ns = c->time_ns,
			.offset = c->offset,
			.stage = stage,
		};
	}
	return first;
}

void check_flows_stage(struct trace_check *c, size_t first, size_t n, uint8_t stage)
{
	struct point *p = c->flows->points.items;

	for (size_t i = first; i < first + n && i < c->flows->points.n; i++)
		p[i].stage = stage;
}

static int by_id_and_time(const void *pa, const void *pb)
{
	const struct point *a = pa, *b = pb;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool is_ours(const struct point *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i].stage != CHECK_NOT_OURS)
			return true;
	return false;
}

static void check_flow(struct trace_check *c, const struct point *p, size_t n)
{
	uint8_t reached = 0;

	if (!is_ours(p, n))
		return;
	/* The other end may lie before the beginning of a snapshot. */
	if (n == 1 && !c->is_snapshot)
		check_report_at(c, CHECK_NET_FLOW_END, p->offset, p->time_ns,
				"flow %llu at %.6f s has one end", (unsigned long long)p->id,
				check_seconds(c, p->time_ns));
	for (size_t i = 0; i < n; i++) {
		if (p[i].stage == CHECK_NO_STAGE || p[i].stage == CHECK_NOT_OURS)
			continue;
		if (p[i].stage < reached) {
			check_report_at(c, CHECK_NET_FLOW_BACK, p[i].offset, p[i].time_ns,
					"flow %llu at %.6f s goes back", (unsigned long long)p->id,
					check_seconds(c, p[i].time_ns));
			return;
		}
		reached = p[i].stage;
	}
}

void check_flows_finish(struct trace_check *c)
{
	struct check_list *l = &c->flows->points;
	struct point *p = l->items;
	size_t n;

	if (l->n)
		qsort(p, l->n, sizeof(*p), by_id_and_time);
	for (size_t i = 0; i < l->n; i += n) {
		for (n = 1; i + n < l->n && p[i + n].id == p[i].id;)
			n++;
		check_flow(c, p + i, n);
	}
}
