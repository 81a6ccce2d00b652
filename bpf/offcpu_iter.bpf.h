/* SPDX-License-Identifier: GPL-2.0 */
/*
 * offcpu_iter.bpf.h - all threads at once: who sleeps when a recording begins,
 * and what goes on when it ends. A part of offcpu.bpf.c.
 */
#ifndef OFFCPU_ITER_BPF_H
#define OFFCPU_ITER_BPF_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___cpu {
	int on_cpu;
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

/* As `scratch`, which a switch uses that may interrupt us. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct offcpu_copied);
} unfinished_scratch SEC(".maps");

static __always_inline bool is_asleep(struct task_struct *task)
{
	struct task_struct___pre_5_14 *old = (void *)task;
	struct task_struct___cpu *cpu = (void *)task;
	__u32 state;

	if (bpf_core_field_exists(task->__state))
		state = BPF_CORE_READ(task, __state);
	else
		state = BPF_CORE_READ(old, state);
	return state != TASK_RUNNING && !(state & (TASK_NOLOAD | TASK_DEAD)) &&
	       !BPF_CORE_READ(cpu, on_cpu);
}

/* Run by the daemon when a session begins: who sleeps by then and is not followed begins now. */
SEC("iter/task")
int asleep_before(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct wait *w;
	__u64 begin_ns;

	if (!task || !is_asleep(task) || task->flags & PF_EXITING || is_own(task->tgid))
		return 0;
	w = wait_of(task->pid);
	if (!w || w->ev.begin_ns) /* it has been switched out since */
		return 0;
	clear(w, task->__state);
	w->ev.flags |= OFFCPU_BEGAN_BEFORE;
	w->ev.end = UNWIND_ASLEEP;
	barrier();
	begin_ns = w->ev.begin_ns = bpf_ktime_get_boot_ns();
	barrier();
	/* Awake by now? Then it was switched in too soon to find what we left for it. */
	if (!is_asleep(task) && w->ev.begin_ns == begin_ns && !w->ev.woken_ns)
		w->ev.begin_ns = 0;
	return 0;
}

/* Stacks that unfinished_with_stacks() may still copy: 35 MB. Set by the daemon before each run. */
__u32 n_copies_left;

/* Registers of a thread that sleeps, for a walk from where it entered the kernel. */
static __always_inline bool read_user_regs(struct task_struct *task, struct unwind_copy *copy)
{
	const void *regs = (const void *)bpf_task_pt_regs(task);
	struct unwind_walk w = {};
	bool is_compat;

	unwind_begin(&w, regs, &is_compat);
	if (is_compat || !w.sp)
		return false;
	unwind_copy_state(&w, task->group_leader, task, copy);
	return true;
}

/* To the end of a page at a time, since the next one may not be there. */
static __always_inline __u32 copy_from_task(struct task_struct *task, __u8 *stack, __u64 from)
{
	__u32 len = 0;

#pragma clang loop unroll(disable)
	for (int i = 0; i < OFFCPU_COPY_BYTES / 4096 + 1; i++) {
		__u32 piece = 4096 - ((from + len) & 4095);

		barrier_var(piece);
		barrier_var(len);
		if (piece == 0 || piece > 4096 || len > OFFCPU_COPY_BYTES - 4096)
			break;
		if (bpf_copy_from_user_task(stack + len, piece, (const void *)(from + len), task,
					    0))
			break;
		len += piece;
	}
	return len & ~7u; /* records have a multiple of 8 bytes */
}

/*
 * The user stack of a wait that began before anybody looked: the thread still
 * sleeps, so it is what it was. Returns the record's size, or 0: not to be had.
 */
static __always_inline __u32 copy_sleeper(struct offcpu_copied *rec, struct task_struct *task)
{
	__u32 len;

	if (n_copies_left == 0 || task->flags & PF_NO_USER || !task->mm ||
	    !read_user_regs(task, &rec->copy))
		return 0;
	n_copies_left--;
	rec->copy.from = rec->copy.sp - UNWIND_RED_ZONE;
	len = copy_from_task(task, rec->stacks, rec->copy.from);
	asm volatile("" : "+r"(len));
	if (len > OFFCPU_COPY_BYTES)
		return 0;
	rec->copy.len = len;
	rec->ev.ips[0] = rec->copy.pc;
	rec->ev.n_user = 1;
	rec->ev.end = UNWIND_NOPROC;
	rec->ev.has_copy = OFFCPU_COPY_SLEEPER;
	__builtin_memset(&rec->waker_copy, 0, sizeof(rec->waker_copy));
	return OFFCPU_COPY_HEAD + len;
}

static __always_inline int tell_unfinished(struct bpf_iter__task *ctx, bool can_read)
{
	struct task_struct *task = ctx->task;
	__u64 begin_ns, now = bpf_ktime_get_boot_ns();
	struct offcpu_copied *rec;
	__u32 tid, size, described, zero = 0;
	struct wait *w;

	if (!task)
		return 0;
	tid = task->pid;
	w = bpf_map_lookup_elem(&waits, &tid);
	rec = bpf_map_lookup_elem(&unfinished_scratch, &zero);
	if (!w || !rec)
		return 0;
	begin_ns = w->ev.begin_ns;
	if (!begin_ns) /* how long is for the session to judge, whose minimum is gone by now */
		return 0;
	described = w->described;
	size = put_together(rec, w);
	if (size == 0) {
		bpf_probe_read_kernel(&rec->ev, sizeof(rec->ev), &w->ev);
		rec->ev.has_copy = 0;
		if (can_read && !described && rec->ev.n_user == 0)
			size = copy_sleeper(rec, task);
	}
	if (!described && is_asleep(task))
		describe(&rec->ev, task);
	else if (!described)
		rec->ev.flags |= OFFCPU_NOT_DESCRIBED;
	barrier();
	/* It ran meanwhile: what was read belongs to two waits. */
	if (w->ev.begin_ns != begin_ns || rec->ev.begin_ns != begin_ns)
		return 0;

	if (size == 0)
		size = OFFCPU_HEAD + n_ips(&rec->ev) * sizeof(__u64);
	asm volatile("" : "+r"(size));
	if (size > sizeof(*rec))
		return 0;
	identify(&rec->ev, task);
	if (!rec->ev.woken_ns)
		rec->ev.hdr.peer_tgid = rec->ev.hdr.peer_tid = 0;
	rec->ev.hdr.time_ns = now;
	rec->ev.hdr.seq = 0;
	rec->ev.hdr.cpu = 0;
	rec->ev.hdr.type = OFFCPU_UNFINISHED;
	rec->ev.hdr.stream = 0;
	rec->ev.hdr.size = size;
	bpf_seq_write(ctx->meta->seq, rec, size);
	return 0;
}

/* Read by the daemon: a record of every wait that goes on. */
SEC("iter/task")
int unfinished(struct bpf_iter__task *ctx)
{
	return tell_unfinished(ctx, false);
}

/* The same where the kernel lets us read others' memory, from Linux 5.18 on. */
SEC("iter.s/task")
int unfinished_with_stacks(struct bpf_iter__task *ctx)
{
	return tell_unfinished(ctx, true);
}

#endif
