/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpu_points.bpf.h - tracepoints of GPU schedulers, fences and displays. A part
 * of gpu.bpf.c.
 *
 * One program for most of them, attached once to each that there is, with its
 * number as cookie. Classic tracepoints: their records are described by the
 * kernel's own `format` files, where raw ones would need the layout of every
 * driver's structs, and most drivers are modules.
 *
 * What happens in interrupts has raw ones all the same: a classic one is passed
 * over, uncounted, where the interrupt comes while another program runs on the
 * CPU, such as one that walks a stack.
 */
#ifndef GPU_POINTS_BPF_H
#define GPU_POINTS_BPF_H

#include "gpu_point_events.h"

#define IOC_TYPE_DRM 'd'
#define IOC_NR_FIRST 0x40 /* of a driver's own ioctls */
#define IOC_NR_END   0xa0

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, N_GPU_POINTS);
	__type(key, __u32);
	__type(value, struct gpu_layout);
} gpu_layouts SEC(".maps");

/*
 * Fences that stand for jobs of drivers without a scheduler: of all others
 * nobody wants to know when they are signaled. Old ones make room.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64); /* context << 32 | seqno, of which tracepoints have 32 bits */
	__type(value, __u32);
} gpu_fences SEC(".maps");

__u32 n_module_loads; /* of any module: there may be tracepoints that there were not */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct dma_fence {
	__u64 context, seqno;
};
#pragma clang attribute pop

SEC("raw_tp/module_load")
int on_module_load(void *ctx)
{
	__sync_fetch_and_add(&n_module_loads, 1);
	return 0;
}

/* `ret` has room for two. */
static __always_inline void read_num(void *ctx, const struct gpu_field *f, __u64 *ret, bool two)
{
	__u32 size = f->size;
	struct dma_fence *fence;
	__u64 v = 0;

	if (size > sizeof(v))
		size = sizeof(v);
	bpf_probe_read_kernel(&v, size, ctx + f->offset);
	if (f->kind == GPU_FIELD_INT && size == 4)
		v = (__u64)(__s64)(__s32)v;
	if (f->kind != GPU_FIELD_FENCE || !two) {
		ret[0] = v;
		return;
	}
	fence = (void *)v;
	if (bpf_core_field_exists(fence->context)) {
		ret[0] = BPF_CORE_READ(fence, context);
		ret[1] = BPF_CORE_READ(fence, seqno);
	} else {
		ret[0] = GPU_CONTEXT_POINTER;
		ret[1] = v;
	}
}

static __always_inline void read_str(void *ctx, const struct gpu_field *f, char *ret)
{
	__u64 at = 0;
	__u32 loc = 0;

	if (f->size == 0)
		return;
	if (f->kind == GPU_FIELD_DATA_LOC) {
		bpf_probe_read_kernel(&loc, sizeof(loc), ctx + f->offset);
		loc &= 0xffff; /* above: its length */
		bpf_probe_read_kernel_str(ret, GPU_POINT_STR_LEN, ctx + loc);
	} else {
		bpf_probe_read_kernel(&at, sizeof(at), ctx + f->offset);
		bpf_probe_read_kernel_str(ret, GPU_POINT_STR_LEN, (void *)at);
	}
}

/* A fence of the kernel's own making in a core ioctl is no job: of a display, of a syncobj. */
static __always_inline bool in_drivers_ioctl(const struct gpu_ioctl_event *ioctl)
{
	__u32 nr;

	if (!ioctl)
		return false;
	nr = ioctl->request & 0xff;
	return ((ioctl->request >> 8) & 0xff) == IOC_TYPE_DRM && nr >= IOC_NR_FIRST &&
	       nr < IOC_NR_END;
}

static __always_inline bool is_new(__u64 key)
{
	__u32 one = 1;

	/* A driver may name its fence when it is made and number it later. */
	return (__u32)key != 0 && bpf_map_update_elem(&gpu_fences, &key, &one, BPF_NOEXIST) == 0;
}

/* Reads two fields of a fence before anything is reserved: most are not wanted. */
static __always_inline bool fence_wanted(void *ctx, const struct gpu_layout *l,
					 const struct gpu_ioctl_event *ioctl)
{
	__u32 c = l->context, s = l->seqno;
	__u64 context = 0, seqno = 0, key;

	if (!(l->flags & (GPU_LAYOUT_NEW_FENCE | GPU_LAYOUT_KNOWN | GPU_LAYOUT_REMEMBER)))
		return true;
	if (c >= GPU_POINT_NUMS || s >= GPU_POINT_NUMS)
		return false;
	if (l->flags & GPU_LAYOUT_NEW_FENCE && !in_drivers_ioctl(ioctl))
		return false;
	read_num(ctx, &l->nums[c], &context, false);
	read_num(ctx, &l->nums[s], &seqno, false);
	key = context << 32 | (__u32)seqno;
	if (l->flags & GPU_LAYOUT_KNOWN)
		return bpf_map_delete_elem(&gpu_fences, &key) == 0;
	return is_new(key) || l->flags & GPU_LAYOUT_REMEMBER;
}

static __always_inline void fill_thread(struct gpu_point_event *ev, const struct gpu_layout *l,
					const struct gpu_ioctl_event *ioctl)
{
	struct task_struct *task = bpf_get_current_task_btf();

	ev->tgid = task->tgid;
	ev->tid = task->pid;
	ev->flags = task->flags & PF_KTHREAD ? GPU_POINT_KTHREAD : 0;
	bpf_get_current_comm(ev->comm, sizeof(ev->comm));
	ev->hdr.cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	if (l->flags & GPU_LAYOUT_OF_THREAD) {
		ev->hdr.tgid = task->tgid;
		ev->hdr.tid = task->pid;
	}
	if (ioctl) {
		if (l->flags & GPU_LAYOUT_SUBMITS)
			gpu_ioctl_queued_job(ioctl);
		ev->ioctl_ns = ioctl->enter_ns;
		ev->file = ioctl->file;
		ev->rdev = ioctl->rdev;
		__builtin_memcpy(ev->driver, ioctl->driver, sizeof(ev->driver));
	}
}

/* A record with nothing but its head, `point` and times; NULL: lost. */
static __always_inline struct gpu_point_event *reserve_point(__u16 point)
{
	struct gpu_point_event *ev = event_reserve(GPU_POINT, 0, sizeof(*ev));

	if (!ev)
		return 0;
	__builtin_memset(&ev->mono_ns, 0, sizeof(*ev) - sizeof(ev->hdr));
	ev->mono_ns = bpf_ktime_get_ns();
	ev->point = point;
	return ev;
}

/* Of struct drm_sched_fence, which begins with the two fences of a job, "finished" second. */
SEC("raw_tp")
int on_gpu_sched_done(struct bpf_raw_tracepoint_args *ctx)
{
	struct dma_fence *finished = (void *)ctx->args[0] + bpf_core_type_size(struct dma_fence);
	struct gpu_point_event *ev = reserve_point(GPU_SCHED_DONE);

	if (!ev)
		return 0;
	ev->nums[0] = BPF_CORE_READ(finished, context);
	ev->nums[1] = BPF_CORE_READ(finished, seqno);
	event_submit(ev);
	return 0;
}

SEC("raw_tp")
int on_gpu_signaled(struct bpf_raw_tracepoint_args *ctx)
{
	struct dma_fence *fence = (void *)ctx->args[0];
	__u64 context = BPF_CORE_READ(fence, context), seqno = BPF_CORE_READ(fence, seqno);
	__u64 key = context << 32 | (__u32)seqno;
	struct gpu_point_event *ev;

	if (bpf_map_delete_elem(&gpu_fences, &key) != 0)
		return 0;
	ev = reserve_point(GPU_FENCE_SIGNALED);
	if (!ev)
		return 0;
	ev->nums[0] = context;
	ev->nums[1] = seqno;
	event_submit(ev);
	return 0;
}

SEC("raw_tp")
int on_gpu_vblank(struct bpf_raw_tracepoint_args *ctx)
{
	struct gpu_point_event *ev = reserve_point(GPU_VBLANK);

	if (!ev)
		return 0;
	ev->nums[0] = (__u32)ctx->args[0]; /* crtc */
	ev->nums[1] = (__u32)ctx->args[1]; /* seq */
	ev->nums[2] = ctx->args[2];	   /* time */
	event_submit(ev);
	return 0;
}

SEC("raw_tp")
int on_gpu_delivered(struct bpf_raw_tracepoint_args *ctx)
{
	struct gpu_point_event *ev = reserve_point(GPU_VBLANK_DELIVERED);

	if (!ev)
		return 0;
	ev->nums[0] = (__u32)ctx->args[1]; /* crtc */
	ev->nums[1] = (__u32)ctx->args[2]; /* seq */
	ev->nums[2] = ctx->args[0];	   /* file */
	event_submit(ev);
	return 0;
}

SEC("tp")
int on_gpu_point(void *ctx)
{
	__u32 point = bpf_get_attach_cookie(ctx);
	const struct gpu_layout *l = bpf_map_lookup_elem(&gpu_layouts, &point);
	const struct gpu_ioctl_event *ioctl = 0;
	struct gpu_point_event *ev;

	if (!l)
		return 0;
	/* In an interrupt the thread is whoever happened to run. */
	if (l->flags & GPU_LAYOUT_THREAD)
		ioctl = gpu_ioctl_now();
	if (!fence_wanted(ctx, l, ioctl))
		return 0;
	ev = reserve_point(point);
	if (!ev)
		return 0;
#pragma unroll
	for (int i = 0; i < GPU_POINT_NUMS; i++)
		if (l->nums[i].size)
			read_num(ctx, &l->nums[i], &ev->nums[i], i + 1 < GPU_POINT_NUMS);
#pragma unroll
	for (int i = 0; i < GPU_POINT_STRS; i++)
		read_str(ctx, &l->strs[i], ev->strs[i]);
	if (l->flags & GPU_LAYOUT_THREAD)
		fill_thread(ev, l, ioctl);
	event_submit(ev);
	return 0;
}

#endif
