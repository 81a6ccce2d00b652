/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * gpu_point_events.h - tracepoints of GPU schedulers, fences, displays and memory, as
 * bpf/gpu_points.bpf.h writes them down. Types GPU_JOBS_FIRST and up of gpu_events.h.
 *
 * The same program serves all of them: where the fields of a tracepoint lie
 * differs from kernel to kernel, and is told by the daemon in `gpu_layouts`.
 * What they mean is said in daemon/gpu/gpu_points.c.
 */
#ifndef GPU_POINT_EVENTS_H
#define GPU_POINT_EVENTS_H

#include "event.h"
#include "gpu_events.h"

#define GPU_POINT GPU_JOBS_FIRST /* hdr.type of all of them */

enum gpu_point {
	GPU_SCHED_QUEUE, /* the names before Linux 6.17 ... */
	GPU_SCHED_RUN,
	GPU_SCHED_DONE,
	GPU_SCHED_DEP,
	GPU_SCHED_QUEUE_2, /* ... and since */
	GPU_SCHED_RUN_2,
	GPU_SCHED_DONE_2,
	GPU_SCHED_DEP_2,
	GPU_FENCE_INIT,
	GPU_FENCE_EMIT,
	GPU_FENCE_SIGNALED,
	GPU_FENCE_WAIT_START,
	GPU_FENCE_WAIT_END,
	GPU_I915_ADD,
	GPU_I915_IN,
	GPU_VBLANK,
	GPU_VBLANK_QUEUED,
	GPU_VBLANK_DELIVERED,
	GPU_NVIDIA_XID,
	GPU_MEM_TOTAL,
	N_GPU_POINTS,
	/* No tracepoint: a wait for syncobjs is over that has waited for this fence. */
	GPU_SYNCOBJ_WAITED = N_GPU_POINTS,
	N_GPU_POINT_KINDS
};

#define GPU_POINT_NUMS	   6
#define GPU_POINT_STRS	   2
#define GPU_POINT_STR_LEN  32
#define GPU_POINT_COMM_LEN 16

enum gpu_field_kind {
	GPU_FIELD_UINT,
	GPU_FIELD_INT,
	GPU_FIELD_FENCE,    /* pointer to a dma_fence: two numbers, its context and seqno */
	GPU_FIELD_DATA_LOC, /* text in the record */
	GPU_FIELD_TEXT,	    /* pointer to text */
};

/* Without a way to look into it a fence is known by its address: this context. */
#define GPU_CONTEXT_POINTER (~0ull)

struct gpu_field {
	__u16 offset;
	__u8 size; /* 0: this kernel does not have it */
	__u8 kind;
};

/* gpu_layout.flags */
#define GPU_LAYOUT_THREAD    0x01 /* happens in the thread that it is about */
#define GPU_LAYOUT_OF_THREAD 0x02 /* ... and is this thread's event, for filters */
#define GPU_LAYOUT_NEW_FENCE 0x04 /* only in a driver's own ioctl; remembers the fence */
#define GPU_LAYOUT_KNOWN     0x08 /* only of a fence that is remembered, and forgets it */
#define GPU_LAYOUT_REMEMBER  0x10 /* remembers the fence */
#define GPU_LAYOUT_SUBMITS                                                     \
	0x20 /* the ioctl that it happens in submits work, whatever else it is \
	      */

struct gpu_layout {
	__u16 flags;
	/* Which numbers are the context and seqno of a fence to remember. */
	__u8 context, seqno;
	struct gpu_field nums[GPU_POINT_NUMS];
	struct gpu_field strs[GPU_POINT_STRS];
};

/* gpu_point_event.flags */
#define GPU_POINT_KTHREAD 0x01 /* the thread is the kernel's own */
#define GPU_POINT_FLAGS	  0x01

struct gpu_point_event {
	struct event_hdr hdr; /* tgid and tid 0: of no thread, only of the machine */
	__u64 mono_ns;	      /* CLOCK_MONOTONIC at hdr.time_ns: in it are times within `nums` */
	__u64 ioctl_ns;	      /* when the ioctl was entered in which this happened; 0 = none */
	__u64 file;	      /* of that ioctl: struct drm_file */
	__u64 nums[GPU_POINT_NUMS];
	__u32 tgid, tid; /* the thread that ran; of layouts with GPU_LAYOUT_THREAD, else 0 */
	__u32 rdev;	 /* of that ioctl: major << 20 | minor; 0 = none */
	__u16 point;	 /* enum gpu_point */
	__u16 flags;
	char comm[GPU_POINT_COMM_LEN];
	char driver[GPU_DRIVER_NAME]; /* of that ioctl; empty: not known */
	char strs[GPU_POINT_STRS][GPU_POINT_STR_LEN];
};

_Static_assert(sizeof(struct gpu_point_event) == sizeof(struct event_hdr) + 24 +
							 8 * GPU_POINT_NUMS + 16 +
							 GPU_POINT_COMM_LEN + GPU_DRIVER_NAME +
							 GPU_POINT_STRS * GPU_POINT_STR_LEN,
	       "no padding");

#endif
