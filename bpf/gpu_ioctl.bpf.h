/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpu_ioctl.bpf.h - ioctls on GPU devices and on the files they share buffers
 * and fences with. A part of gpu.bpf.c.
 *
 * The tracepoints of this one system call, so that no other one pays for it.
 * Only where they cannot be had are those of all calls used.
 */
#ifndef GPU_IOCTL_BPF_H
#define GPU_IOCTL_BPF_H

#include "socket.bpf.h"
#include "syscall_regs.bpf.h"

/* Facts of the machine, fixed at load. */
const volatile __u32 ioctl_nr = 16;	 /* of the system call, here */
const volatile __u64 slow_ns = 1000000; /* what takes that long is always kept */

/* The call of a thread, from its entry to its exit. */
struct gpu_call {
	struct gpu_ioctl_event ev;
	__u32 active; /* 0: none is under way */
	__u32 n_skipped;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct gpu_call);
} gpu_calls SEC(".maps");

/* Of a major number: enum gpu_class. The daemon's. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GPU_MAX_MAJOR);
	__type(key, __u32);
	__type(value, __u8);
} gpu_majors SEC(".maps");

/*
 * The ioctl that the running thread is in, or NULL: for whatever happens
 * inside, such as a job that is queued.
 */
static __always_inline const struct gpu_ioctl_event *gpu_ioctl_now(void)
{
	struct gpu_call *call = bpf_task_storage_get(&gpu_calls, bpf_get_current_task_btf(), 0, 0);

	return call && call->active ? &call->ev : 0;
}

static __always_inline void count_lost(void)
{
	struct event_stream *s;
	__u64 seq;

	s = stream_next(0, &seq);
	if (s)
		__sync_fetch_and_add(&s->n_lost, 1);
}

/* ---- on the way in ---- */

static __always_inline __u8 class_of_rdev(__u32 rdev)
{
	__u32 major = rdev >> 20;
	__u8 *class = bpf_map_lookup_elem(&gpu_majors, &major);

	return class ? *class : GPU_NONE;
}

static __always_inline int ioctl_enter(__u32 fd, __u32 request, __u64 arg)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file = task_file(task, fd);
	struct inode *inode;
	struct gpu_call *call;
	__u32 rdev;
	__u8 class;

	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if ((BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFCHR)
		return 0;
	rdev = BPF_CORE_READ(inode, i_rdev);
	class = class_of_rdev(rdev);
	if (!class || is_own(task->tgid))
		return 0;

	call = bpf_task_storage_get(&gpu_calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		count_lost();
		return 0;
	}
	call->active = 0;
	call->ev.ret = 0;
	call->ev.arg = arg;
	call->ev.file = (__u64)BPF_CORE_READ(file, private_data);
	call->ev.request = request;
	call->ev.rdev = rdev;
	call->ev.fd = fd;
	call->ev.gpu_class = class;
	call->ev.ioctl_class = GPU_CLASS_UNKNOWN;
	call->ev.flags = 0;
	call->ev.n_in = call->ev.n_out = 0;
	call->ev.enter_ns = bpf_ktime_get_boot_ns();
	barrier();
	call->active = 1;
	return 0;
}

/* ---- on the way out ---- */

static __always_inline int ioctl_exit(__s64 ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct gpu_call *call = bpf_task_storage_get(&gpu_calls, task, 0, 0);
	struct event_stream *s;
	__u64 now, seq = 0;
	__u32 size;

	if (!call || !call->active)
		return 0;
	call->active = 0;
	now = bpf_ktime_get_boot_ns();
	s = stream_next(0, &seq);
	if (!s)
		return 0;
	size = GPU_IOCTL_HEAD;
	event_fill_at(&call->ev.hdr, now, GPU_IOCTL, 0, size, seq);
	call->ev.hdr.tgid = task->tgid;
	call->ev.hdr.tid = task->pid;
	call->ev.hdr.cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	call->ev.ret = ret;
	event_output(&call->ev.hdr, s, size);
	return 0;
}

struct tp_sys_enter {
	__u64 common;
	__s64 nr;
	__u64 args[6];
};

struct tp_sys_exit {
	__u64 common;
	__s64 nr;
	__s64 ret;
};

SEC("tp/syscalls/sys_enter_ioctl")
int on_ioctl_enter(struct tp_sys_enter *ctx)
{
	return ioctl_enter(ctx->args[0], ctx->args[1], ctx->args[2]);
}

SEC("tp/syscalls/sys_exit_ioctl")
int on_ioctl_exit(struct tp_sys_exit *ctx)
{
	return ioctl_exit(ctx->ret);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_any_enter, struct pt_regs *regs, long nr)
{
	struct args args;

	if (nr != ioctl_nr)
		return 0;
	read_args(regs, &args);
	return ioctl_enter(args.a[0], args.a[1], args.a[2]);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_any_exit, struct pt_regs *regs, long ret)
{
	return syscall_nr(regs) == ioctl_nr ? ioctl_exit(ret) : 0;
}

#endif
