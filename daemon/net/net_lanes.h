/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_lanes.h - slices that overlap, on as many tracks of one name as that takes: a
 * viewer draws them as one. There may be thousands, so the first free one is looked
 * for in a tree.
 */
#ifndef NET_LANES_H
#define NET_LANES_H

#include <stdint.h>

#define NET_MAX_LANES 16384

/* Zero-initialised is empty; net_lanes_done() when finished. */
struct net_lanes {
	/* A heap of minima: node i has 2 i and 2 i + 1 below it, the lanes are the last `n`. */
	uint64_t *end_ns;
	uint64_t *tracks; /* of the lanes, uuids; 0: not known yet */
	uint32_t n;	  /* a power of two, or 0 */
};

/*
 * The first lane whose last slice is over by `begin_ns`; it is taken until `end_ns`.
 * -ENOSPC: there are too many; -ENOMEM.
 */
int net_lanes_take(struct net_lanes *l, uint64_t begin_ns, uint64_t end_ns);
void net_lanes_done(struct net_lanes *l);

#endif
