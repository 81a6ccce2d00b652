/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_links.c - flows between ioctls and what they set going. */
#include "gpu_links.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPEN \
	64 /* threads that are in such an ioctl at a time; beyond, the oldest is left out */

struct open_ioctl {
	uint32_t tid; /* 0: free */
	uint64_t enter_ns;
	uint64_t used; /* when it came to be, in adds */
	struct gpu_link_set set;
};

struct gpu_links {
	struct open_ioctl open[MAX_OPEN];
	uint64_t n_added;
};

int gpu_links_new(struct gpu_links **ret)
{
	struct gpu_links *links = calloc(1, sizeof(*links));

	if (!links)
		return -ENOMEM;
	*ret = links;
	return 0;
}

void gpu_links_free(struct gpu_links *links)
{
	free(links);
}

/* The thread's place, or else a free one, or else the oldest. */
static struct open_ioctl *place_of(struct gpu_links *links, uint32_t tid)
{
	struct open_ioctl *best = &links->open[0];

	for (size_t i = 0; i < MAX_OPEN; i++) {
		struct open_ioctl *o = &links->open[i];

		if (o->tid == tid)
			return o;
		if (best->tid && (!o->tid || o->used < best->used))
			best = o;
	}
	return best;
}

void gpu_links_add(struct gpu_links *links, uint32_t tid, uint64_t enter_ns, enum gpu_link kind,
		   uint64_t flow_id)
{
	struct open_ioctl *o = place_of(links, tid);
	struct gpu_link_set *set = &o->set;

	if (o->tid != tid || o->enter_ns != enter_ns) {
		memset(o, 0, sizeof(*o));
		o->tid = tid;
		o->enter_ns = enter_ns;
		o->used = ++links->n_added;
	}
	if (kind == GPU_LINK_STARTS && set->n_starts < GPU_MAX_LINKS)
		set->starts[set->n_starts++] = flow_id;
	else if (kind == GPU_LINK_ENDS && set->n_ends < GPU_MAX_LINKS)
		set->ends[set->n_ends++] = flow_id;
	else if (kind == GPU_LINK_SUBMITS && set->n_submits < GPU_MAX_LINKS)
		set->submits[set->n_submits++] = flow_id;
	else if (kind == GPU_LINK_WAITED && set->n_waited < GPU_MAX_LINKS)
		set->waited[set->n_waited++] = flow_id;
}

void gpu_links_take(struct gpu_links *links, uint32_t tid, uint64_t enter_ns,
		    struct gpu_link_set *ret)
{
	struct open_ioctl *o = place_of(links, tid);

	ret->n_starts = ret->n_ends = ret->n_submits = ret->n_waited = 0;
	if (!tid || o->tid != tid)
		return;
	if (o->enter_ns == enter_ns)
		*ret = o->set;
	if (o->enter_ns <= enter_ns)
		o->tid = 0;
}
