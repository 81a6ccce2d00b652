/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpu_syncobj.bpf.h - which fences a thread has waited for that waits for syncobjs: no
 * tracepoint tells. A part of gpu.bpf.c.
 *
 * A handle is looked up where the kernel does, in the tree of the file's syncobjs, when
 * the wait is over: then each has its fence, also if it had none before.
 */
#ifndef GPU_SYNCOBJ_BPF_H
#define GPU_SYNCOBJ_BPF_H

#include "gpu_point_events.h"

#define SYNCOBJ_MAX_HANDLES 8  /* of one wait */
#define SYNCOBJ_MAX_POINTS  16 /* of a timeline, from its end back */
#define XARRAY_MAX_DEPTH    6  /* 32 bits, 6 at a time */
#define XARRAY_SLOTS	    64

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xarray {
	void *xa_head;
};

struct xa_node {
	unsigned char shift;
	void *slots[XARRAY_SLOTS];
};

struct idr {
	struct xarray idr_rt;
	unsigned int idr_base;
};

struct drm_file___syncobjs {
	struct idr syncobj_idr;
};

struct drm_syncobj {
	struct dma_fence *fence;
};

struct dma_fence_ops {
	bool use_64bit_seqno;
};

struct dma_fence___ops {
	const struct dma_fence_ops *ops;
};

/* A point of a timeline, around the fence that it waits for. */
struct dma_fence_chain {
	struct dma_fence *prev;
	__u64 prev_seqno;
	struct dma_fence *fence;
};

#pragma clang attribute pop

/* Both begin with the handles' address; of the two only this has their points. */
struct syncobj_timeline_wait {
	__u64 handles, points;
	__s64 timeout_ns;
	__u32 n_handles;
};

struct syncobj_wait {
	__u64 handles;
	__s64 timeout_ns;
	__u32 n_handles;
};

/*
 * What an IDR has for an id; NULL: nothing. As xa_load() does it: an inner node is marked
 * by its address, a tree without one has index 0 alone.
 */
static __always_inline void *idr_find(struct idr *idr, __u32 id)
{
	__u64 entry = (__u64)BPF_CORE_READ(idr, idr_rt.xa_head);
	__u32 index = id - BPF_CORE_READ(idr, idr_base);

	for (int i = 0; i < XARRAY_MAX_DEPTH && (entry & 3) == 2; i++) {
		struct xa_node *node = (void *)(entry - 2);
		__u32 shift = BPF_CORE_READ(node, shift) & 31, slot = index >> shift;

		if (slot >= XARRAY_SLOTS ||
		    bpf_probe_read_kernel(&entry, sizeof(entry), (void *)node->slots + 8 * slot))
			return 0;
		index &= (1u << shift) - 1;
	}
	return index || entry & 3 ? 0 : (void *)entry;
}

static __always_inline bool is_chain(struct dma_fence *fence)
{
	return BPF_CORE_READ((struct dma_fence___ops *)fence, ops, use_64bit_seqno);
}

/* The fence behind a timeline's point; of `fence` itself if it is none. NULL: not known. */
static __always_inline struct dma_fence *fence_of_point(struct dma_fence *fence, __u64 point)
{
	for (int i = 0; i < SYNCOBJ_MAX_POINTS && fence && is_chain(fence); i++) {
		struct dma_fence_chain *chain = (void *)fence;

		if (!point || BPF_CORE_READ(chain, prev_seqno) < point)
			return BPF_CORE_READ(chain, fence);
		fence = BPF_CORE_READ(chain, prev);
	}
	return fence && is_chain(fence) ? 0 : fence;
}

static __always_inline void tell_waited(const struct gpu_ioctl_event *ioctl,
					struct dma_fence *fence)
{
	struct gpu_point_event *ev = reserve_point(GPU_SYNCOBJ_WAITED);
	struct gpu_layout of_thread = { .flags = GPU_LAYOUT_OF_THREAD };

	if (!ev)
		return;
	ev->nums[0] = BPF_CORE_READ(fence, context);
	ev->nums[1] = BPF_CORE_READ(fence, seqno);
	fill_thread(ev, &of_thread, ioctl);
	event_submit(ev);
}

static __noinline int tell_syncobjs(struct gpu_call *call)
{
	struct drm_file___syncobjs *file;
	struct syncobj_timeline_wait wait = {};
	__u64 point = 0;
	__u32 handle;

	if (!call || !bpf_core_type_exists(struct drm_syncobj) ||
	    !bpf_core_field_exists(((struct dma_fence_ops *)0)->use_64bit_seqno))
		return 0;
	file = (void *)call->ev.file;
	if (call->ev.nr == DRM_NR_SYNCOBJ_WAIT) {
		struct syncobj_wait plain = {};

		bpf_probe_read_user(&plain, sizeof(plain), (void *)call->arg);
		wait.handles = plain.handles;
		wait.n_handles = plain.n_handles;
	} else {
		bpf_probe_read_user(&wait, sizeof(wait), (void *)call->arg);
	}
	for (__u32 i = 0; i < SYNCOBJ_MAX_HANDLES && i < wait.n_handles; i++) {
		struct drm_syncobj *syncobj;
		struct dma_fence *fence;

		if (bpf_probe_read_user(&handle, sizeof(handle), (void *)wait.handles + 4 * i))
			break;
		if (wait.points)
			bpf_probe_read_user(&point, sizeof(point), (void *)wait.points + 8 * i);
		syncobj = idr_find(&file->syncobj_idr, handle);
		fence = syncobj ? fence_of_point(BPF_CORE_READ(syncobj, fence), point) : 0;
		if (fence)
			tell_waited(&call->ev, fence);
	}
	return 0;
}

#endif
