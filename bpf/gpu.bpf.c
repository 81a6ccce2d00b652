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
#include "own.bpf.h"

#include "gpu_ioctl.bpf.h"
#include "gpu_ioctl_iter.bpf.h"
#include "gpu_points.bpf.h"
#include "gpu_syncobj.bpf.h"

char LICENSE[] SEC("license") = "GPL";
