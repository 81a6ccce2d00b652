/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpu.bpf.c - what threads ask of GPU drivers, and what comes of it.
 *
 * Feeds daemon/collect/gpu.c. One object and one ring, so that what an ioctl
 * has queued is told before the ioctl itself, which is told as it returns.
 * Included in this order: later parts look at the call under way of earlier ones.
 *
 * The band of common.bpf.h is that of small records. One with a copied stack may
 * jump over it; a wider one would have a flood of ioctls ask for thousands of wakeups.
 */
#include "common.bpf.h"
#include "gpu_events.h"

/* Changed by the daemon while we run. */
__u32 own_tgids[EVENT_MAX_OWN]; /* left out; 0 = free */

static __always_inline bool is_own(__u32 tgid)
{
	for (int i = 0; i < EVENT_MAX_OWN && own_tgids[i]; i++)
		if (own_tgids[i] == tgid)
			return true;
	return false;
}

#include "gpu_ioctl.bpf.h"
#include "gpu_ioctl_iter.bpf.h"
#include "gpu_points.bpf.h"

char LICENSE[] SEC("license") = "GPL";
