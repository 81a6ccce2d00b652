/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpu_ioctl_iter.bpf.h - all threads at once: who is in an ioctl when a recording
 * begins and when it ends, and whether there are 32-bit programs. A part of
 * gpu.bpf.c.
 */
#ifndef GPU_IOCTL_ITER_BPF_H
#define GPU_IOCTL_ITER_BPF_H

#include "gpu_ioctl.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct___size {
	unsigned long task_size; /* of the address space */
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/*
 * Run once by the daemon, when the programs are attached: ioctls that have been
 * entered before, of threads that sleep in them. They begin now.
 */
SEC("iter/task")
int entered_before(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gpu_call *call;
	struct pt_regs *regs;
	__u64 enter_ns;

	if (!task || (task->flags & PF_KTHREAD) || !task->__state ||
	    bpf_task_storage_get(&gpu_calls, task, 0, 0)) /* it has made calls since */
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	enter_by_regs(task, false, regs, syscall_nr(regs), GPU_ENTERED_BEFORE);

	/* Awake by now? Then its exit may have come too soon to find what we left for it. */
	call = bpf_task_storage_get(&gpu_calls, task, 0, 0);
	if (!call)
		return 0;
	enter_ns = call->ev.enter_ns;
	barrier();
	if (!task->__state && call->ev.enter_ns == enter_ns)
		call->active = 0;
	return 0;
}

/* Read by the daemon: a head of a record for each process of a 32-bit program. */
SEC("iter/task")
int compat_processes(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct event_hdr hdr = { .size = sizeof(hdr) };
	struct mm_struct___size *mm;

	if (!task || task->pid != task->tgid)
		return 0;
	mm = (void *)task->mm;
	if (mm && BPF_CORE_READ(mm, task_size) <= 1ull << 32)
		bpf_seq_write(ctx->meta->seq, &hdr, sizeof(hdr));
	return 0;
}

/* Of unfinished(), which one program at a time reads. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gpu_ioctl_event);
} gpu_unfinished SEC(".maps");

/* Read by the daemon: a record of every ioctl that has not returned. */
SEC("iter/task")
int unfinished(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gpu_ioctl_event *ev;
	struct gpu_call *call;
	__u32 zero = 0, size, nr;

	ev = bpf_map_lookup_elem(&gpu_unfinished, &zero);
	if (!task || !ev)
		return 0;
	call = bpf_task_storage_get(&gpu_calls, task, 0, 0);
	if (!call || !call->active)
		return 0;
	/* The return of one that was entered before us may not be seen. */
	nr = syscall_nr((struct pt_regs *)bpf_task_pt_regs(task));
	if (nr != ioctl_nr && nr != compat_ioctl_nr)
		return 0;
	bpf_probe_read_kernel(ev, sizeof(*ev), &call->ev);
	barrier();
	/* Its thread runs: the call may have ended and another begun meanwhile. */
	if (!call->active || call->ev.enter_ns != ev->enter_ns)
		return 0;
	ev->n_out = 0;
	size = GPU_IOCTL_SIZE(ev->n_in, 0);
	if (size > sizeof(*ev))
		return 0;
	event_fill(&ev->hdr, GPU_IOCTL_UNFINISHED, 0, size, 0);
	ev->hdr.tgid = task->tgid;
	ev->hdr.tid = task->pid;
	ev->hdr.cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	bpf_seq_write(ctx->meta->seq, ev, size);
	return 0;
}

#endif
