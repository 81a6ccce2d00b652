/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kernel.h - the kernel's types, as far as our BPF programs look into them.
 *
 * Written by hand in place of a vmlinux.h, so that the build needs no BTF and
 * gives the same objects on every machine. Fields are found by name at load
 * time (CO-RE): order, offsets and missing fields do not matter here. When a
 * kernel changes a field, add a second flavour (`struct x___old`) and choose
 * with bpf_core_field_exists().
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#ifndef true
#define bool _Bool
#define true 1
#define false 0
#endif

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	unsigned int val;
} kuid_t;

typedef struct {
	unsigned int val;
} kgid_t;

typedef struct {
	__u64 val;
} kernel_cap_t;

struct user_namespace {
	struct user_namespace *parent;
	int level;
	kuid_t owner;
};

struct cred {
	kuid_t uid, suid, euid;
	kgid_t gid, sgid, egid;
	kernel_cap_t cap_permitted;
	struct user_namespace *user_ns;
};

/* The returns that uretprobes wait for, of one thread, innermost first. */
struct return_instance {
	struct return_instance *next;
	unsigned long orig_ret_vaddr;
	bool chained; /* another one of the same return follows */
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
	unsigned long arg_start, arg_end;
	unsigned long start_stack;
	unsigned long data_vm; /* pages */
	unsigned long flags;
};

/* mm_struct.flags became a bitmap in Linux 6.18. */
typedef struct {
	unsigned long __mm_flags[1];
} mm_flags_t;

struct mm_struct___6_18 {
	mm_flags_t flags;
};

/* Part of task_struct where the architecture says so (x86, arm64). */
struct thread_info {
	__u32 cpu;
};

/* With CONFIG_SCHED_INFO, as distributions have it. */
struct sched_info {
	unsigned long long last_arrival;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
	int group_exit_code;
	unsigned int flags;
};

struct task_struct {
	struct thread_info thread_info;
	struct sched_info sched_info;
	unsigned int __state;
	int exit_state, exit_code;
	unsigned int flags;
	int prio;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct mm_struct *mm;
	const struct cred *cred, *real_cred;
	char comm[16];
	struct signal_struct *signal;
	struct css_set *cgroups;
	struct uprobe_task *utask; /* with CONFIG_UPROBES */
	__u64 start_boottime;
	__u64 self_exec_id;
};

/* task_struct.__state was `state` before Linux 5.14 (commit 2f064a59a11f). */
struct task_struct___pre_5_14 {
	long state;
};

/* task_struct.cpu moved into thread_info in Linux 5.16 (commit bcf9033e5449). */
struct task_struct___pre_5_16 {
	unsigned int cpu;
};

/* Number of the system call that a thread is in; below 0: none. */
struct pt_regs___x86_nr {
	unsigned long orig_ax;
};

struct pt_regs___arm64_nr {
	int syscallno;
};

/* A thread's registers in user space, as it entered the kernel. */
struct pt_regs___x86_user {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct pt_regs___arm64_user {
	__u64 regs[31];
	__u64 sp, pc, pstate;
	int syscallno;
};

struct linux_binprm {
	const char *filename;
};

struct irqaction {
	const char *name;
};

#pragma clang attribute pop

/* task_struct.flags */
#define PF_EXITING   0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD   0x00200000

/* signal_struct.flags: group_exit_code is that of the process */
#define SIGNAL_GROUP_EXIT 0x00000004

#endif
