/* SPDX-License-Identifier: GPL-2.0 */
/*
 * irq_depth.bpf.h - what interrupts a CPU right now.
 *
 * The kernel's own preempt_count cannot be read on every kernel (its symbol is
 * hidden on some), so we count: whoever includes this has programs on the
 * tracepoints of entry and exit that call irq_enter() and irq_leave(), and one on
 * sched_switch that calls irq_none(): an exit that passes unseen, such as of an
 * interrupt that came between the attaching of the two, does not count for ever.
 */
#ifndef IRQ_DEPTH_BPF_H
#define IRQ_DEPTH_BPF_H

#include "kernel.h"

struct irq_depth {
	__u32 hard, soft;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct irq_depth);
} irq_depth SEC(".maps");

static __always_inline struct irq_depth *this_depth(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&irq_depth, &zero);
}

static __always_inline void irq_enter(bool soft)
{
	struct irq_depth *depth = this_depth();

	if (depth)
		(*(soft ? &depth->soft : &depth->hard))++;
}

/* An exit whose entry was before the program was attached finds 0. */
static __always_inline void irq_leave(bool soft)
{
	struct irq_depth *depth = this_depth();
	__u32 *n;

	if (!depth)
		return;
	n = soft ? &depth->soft : &depth->hard;
	if (*n > 0)
		(*n)--;
}

/* A CPU that switches threads is in no interrupt. */
static __always_inline void irq_none(void)
{
	struct irq_depth *depth = this_depth();

	if (depth && (depth->hard || depth->soft))
		depth->hard = depth->soft = 0;
}

#endif
