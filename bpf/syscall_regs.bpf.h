/* SPDX-License-Identifier: GPL-2.0 */
/*
 * syscall_regs.bpf.h - which system call a thread is in, and with what
 * arguments, from the registers it entered the kernel with.
 */
#ifndef SYSCALL_REGS_BPF_H
#define SYSCALL_REGS_BPF_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs___x86 {
	unsigned long di, si, dx, r10, r8, r9, orig_ax;
};

struct pt_regs___arm64_call {
	__u64 regs[31];
	int syscallno;
};

struct thread_info___x86 {
	__u32 status;
};

struct task_struct___x86 {
	struct thread_info___x86 thread_info;
};

struct thread_info___arm64 {
	unsigned long flags;
};

struct task_struct___arm64 {
	struct thread_info___arm64 thread_info;
};

#pragma clang attribute pop

#define TS_COMPAT 0x0002    /* x86: thread_info.status, a 32-bit call is under way */
#define TIF_32BIT (1 << 22) /* arm64: thread_info.flags, a 32-bit program */

struct args {
	__u64 a[6];
};

static __always_inline void read_args(struct pt_regs *ctx_regs, struct args *ret)
{
	struct pt_regs___x86 *x = (void *)ctx_regs;
	struct pt_regs___arm64_call *arm = (void *)ctx_regs;

	if (bpf_core_field_exists(x->orig_ax)) {
		ret->a[0] = x->di;
		ret->a[1] = x->si;
		ret->a[2] = x->dx;
		ret->a[3] = x->r10;
		ret->a[4] = x->r8;
		ret->a[5] = x->r9;
	} else {
		for (int i = 0; i < 6; i++)
			ret->a[i] = arm->regs[i];
	}
}

/* As an int below 0: the thread is in no system call. */
static __always_inline __u32 syscall_nr(struct pt_regs *ctx_regs)
{
	struct pt_regs___x86 *x = (void *)ctx_regs;
	struct pt_regs___arm64_call *arm = (void *)ctx_regs;

	if (bpf_core_field_exists(x->orig_ax))
		return x->orig_ax;
	return arm->syscallno;
}

static __always_inline bool is_compat(struct task_struct *task)
{
	struct task_struct___x86 *x = (void *)task;
	struct task_struct___arm64 *arm = (void *)task;

	if (bpf_core_field_exists(x->thread_info.status))
		return x->thread_info.status & TS_COMPAT;
	return arm->thread_info.flags & TIF_32BIT;
}

#endif
