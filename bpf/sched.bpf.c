/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sched.bpf.c - who runs on which CPU, who wakes whom, and what interrupts them.
 *
 * Feeds daemon/collect/sched.c. No filters: a CPU's time line is whole or wrong.
 */
#include "common.bpf.h"
#include "irq_depth.bpf.h"
#include "sched_events.h"

/* Kernel's include/linux/sched.h; these have not changed since 4.14 resp. as noted. */
#define TASK_UNINTERRUPTIBLE 0x02
#define TASK_REPORT	     0x7f
#define TASK_REPORT_IDLE     0x80  /* a kernel thread that waits without adding to the load */
#define TASK_REPORT_MAX	     0x100 /* was running: preempted */
#define TASK_NOLOAD	     0x400
#define TASK_IDLE	     (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)
#define TASK_RTLOCK_WAIT     0x1000 /* 5.15 */
#define TASK_FROZEN	     0x8000 /* 6.1 */

/* Fixed at load: of this architecture. */
const volatile __u32 nr_sched_yield;

static __always_inline bool in_sched_yield(struct task_struct *task)
{
	void *regs = (void *)bpf_task_pt_regs(task);
	struct pt_regs___arm64_nr *arm64 = regs;
	struct pt_regs___x86_nr *x86 = regs;

	if (task->flags & PF_KTHREAD)
		return true; /* the one way for it to be here without a preemption */
	if (bpf_core_field_exists(x86->orig_ax))
		return BPF_CORE_READ(x86, orig_ax) == nr_sched_yield;
	if (bpf_core_field_exists(arm64->syscallno))
		return BPF_CORE_READ(arm64, syscallno) == nr_sched_yield;
	return true;
}

/*
 * What __trace_sched_switch_state() gives, the highest reported bit alone, with
 * one difference. A thread whose time is up when it returns to user space is
 * switched out by a plain schedule(): the kernel prints "R" for that, as for a
 * yield. It did not give way and nobody woke it: like any other preempted
 * thread it is reported as "R+".
 */
static __always_inline __u32 reported_state(bool preempt, struct task_struct *prev, __u32 state)
{
	__u32 bits;

	if (preempt)
		return TASK_REPORT_MAX;
	bits = (state | prev->exit_state) & TASK_REPORT;
	if ((state & TASK_IDLE) == TASK_IDLE)
		bits = TASK_REPORT_IDLE;
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		bits = TASK_UNINTERRUPTIBLE;

	for (__u32 bit = TASK_REPORT_IDLE; bit; bit >>= 1)
		if (bits & bit)
			return bit;
	return prev->pid == 0 || in_sched_yield(prev) ? 0 : TASK_REPORT_MAX;
}

static __always_inline int record_switch(bool preempt, struct task_struct *prev,
					 struct task_struct *next, __u32 state)
{
	struct sched_switch_event *ev;

	irq_none(); /* first: Linux 6.1 forgets what it knows of a record on such ways */
	ev = event_reserve(SCHED_SWITCH, 0, sizeof(*ev));
	if (!ev)
		return 0;
	/* `current` is still prev: the bpf_get_current_*() helpers are not about next. */
	ev->hdr.cgroup_id = task_cgroup_id(next);
	ev->hdr.tgid = next->tgid;
	ev->hdr.tid = next->pid;
	ev->hdr.peer_tgid = prev->tgid;
	ev->hdr.peer_tid = prev->pid;
	ev->hdr.user = task_user(next);
	ev->hdr.peer_user = task_user(prev);
	ev->prev_arrival = 0;
	if (bpf_core_field_exists(prev->sched_info))
		ev->prev_arrival = prev->sched_info.last_arrival;
	ev->prev_state = reported_state(preempt, prev, state);
	ev->prev_prio = prev->prio;
	ev->next_prio = next->prio;
	__builtin_memcpy(ev->prev_comm, prev->comm, sizeof(ev->prev_comm));
	__builtin_memcpy(ev->next_comm, next->comm, sizeof(ev->next_comm));
	event_submit(ev);
	return 0;
}

/* Linux 5.18 and newer hand over the state: by now a waker may have changed it in the task. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return record_switch(preempt, prev, next, prev_state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_pre_5_18, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct task_struct___pre_5_14 *old = (void *)prev;
	__u32 state;

	if (bpf_core_field_exists(prev->__state))
		state = BPF_CORE_READ(prev, __state);
	else
		state = BPF_CORE_READ(old, state);
	return record_switch(preempt, prev, next, state);
}

static __always_inline __u8 irq_flags(void)
{
	struct irq_depth *depth = this_depth();

	if (!depth)
		return 0;
	return (depth->hard ? SCHED_IN_HARDIRQ : 0) | (depth->soft ? SCHED_IN_SOFTIRQ : 0);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct sched_waking_event *ev = event_reserve(SCHED_WAKING, 0, sizeof(*ev));
	struct task_struct___pre_5_16 *old = (void *)p;
	__u64 current = bpf_get_current_pid_tgid();

	if (!ev)
		return 0;
	ev->hdr.cgroup_id = task_cgroup_id(p);
	ev->hdr.tgid = p->tgid;
	ev->hdr.tid = p->pid;
	ev->hdr.user = task_user(p);
	ev->hdr.peer_tgid = current >> 32;
	ev->hdr.peer_tid = (__u32)current;
	if (bpf_core_field_exists(p->thread_info.cpu))
		ev->target_cpu = BPF_CORE_READ(p, thread_info.cpu);
	else
		ev->target_cpu = BPF_CORE_READ(old, cpu);
	ev->prio = p->prio;
	ev->flags = irq_flags();
	ev->pad = 0;
	__builtin_memcpy(ev->comm, p->comm, sizeof(ev->comm));
	event_submit(ev);
	return 0;
}

/* The name is cleared: what a record does not set is whatever the ring held before. */
static __always_inline struct sched_irq_event *irq_event(__u16 type, __u32 number, __u32 value)
{
	struct sched_irq_event *ev = event_reserve(type, 0, sizeof(*ev));
	__u64 current = bpf_get_current_pid_tgid();

	if (!ev)
		return 0;
	ev->hdr.peer_tgid = current >> 32;
	ev->hdr.peer_tid = (__u32)current;
	ev->number = number;
	ev->value = value;
	__builtin_memset(ev->name, 0, sizeof(ev->name));
	return ev;
}

static __always_inline int record_irq(__u16 type, __u32 number, __u32 value)
{
	struct sched_irq_event *ev = irq_event(type, number, value);

	if (ev)
		event_submit(ev);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int irq, struct irqaction *action)
{
	struct sched_irq_event *ev;

	irq_enter(false);
	/*
	 * Last, so that the reserved record is tested for NULL in one place: Linux 6.1's
	 * verifier takes a second test for a way on which it is never submitted.
	 */
	ev = irq_event(SCHED_IRQ_ENTRY, irq, 0);
	if (!ev)
		return 0;
	bpf_probe_read_kernel_str(ev->name, sizeof(ev->name), BPF_CORE_READ(action, name));
	event_submit(ev);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int irq, struct irqaction *action, int ret)
{
	irq_leave(false);
	return record_irq(SCHED_IRQ_EXIT, irq, ret);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vec)
{
	irq_enter(true);
	return record_irq(SCHED_SOFTIRQ_ENTRY, vec, 0);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vec)
{
	irq_leave(true);
	return record_irq(SCHED_SOFTIRQ_EXIT, vec, 0);
}

/* On x86 the timer, which wakes most, is no irq of irq_handler_entry. Only counted. */
SEC("tp_btf/local_timer_entry")
int BPF_PROG(on_x86_timer_entry, int vector)
{
	irq_enter(false);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(on_x86_timer_exit, int vector)
{
	irq_leave(false);
	return 0;
}

SEC("tp_btf/cpu_frequency")
int BPF_PROG(on_cpu_frequency, unsigned int khz, unsigned int cpu)
{
	return record_irq(SCHED_CPU_FREQUENCY, cpu, khz);
}

SEC("tp_btf/cpu_idle")
int BPF_PROG(on_cpu_idle, unsigned int state, unsigned int cpu)
{
	return record_irq(SCHED_CPU_IDLE, cpu, state);
}

char LICENSE[] SEC("license") = "GPL";
