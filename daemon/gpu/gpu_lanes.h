/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_lanes.h - slices that overlap, on as many tracks of one name as that takes:
 * a viewer draws them as one.
 */
#ifndef GPU_LANES_H
#define GPU_LANES_H

#include <stdint.h>

#define GPU_MAX_LANES 32

struct gpu_lanes {
	uint64_t end_ns[GPU_MAX_LANES]; /* of the last slice on each */
};

/*
 * A lane that is free from `*begin_ns` to `end_ns`, the first one. If there is
 * none, that which is free soonest, and `*begin_ns` is put off; -1: none before the end.
 */
static inline int gpu_lane(struct gpu_lanes *lanes, uint64_t *begin_ns, uint64_t end_ns)
{
	int best = 0;

	for (int i = 0; i < GPU_MAX_LANES; i++) {
		if (lanes->end_ns[i] <= *begin_ns) {
			lanes->end_ns[i] = end_ns;
			return i;
		}
		if (lanes->end_ns[i] < lanes->end_ns[best])
			best = i;
	}
	if (lanes->end_ns[best] >= end_ns)
		return -1;
	*begin_ns = lanes->end_ns[best];
	lanes->end_ns[best] = end_ns;
	return best;
}

#endif
