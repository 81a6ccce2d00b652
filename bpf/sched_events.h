/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* sched_events.h - records of bpf/sched.bpf.c, read by daemon/collect/sched.c. */
#ifndef SCHED_EVENTS_H
#define SCHED_EVENTS_H

#include "event.h"

enum sched_event_type {
	SCHED_SWITCH = 1, /* struct sched_switch_event */
	SCHED_WAKING,	  /* struct sched_waking_event */
	SCHED_IRQ_ENTRY,  /* struct sched_irq_event, the rest too */
	SCHED_IRQ_EXIT,
	SCHED_SOFTIRQ_ENTRY,
	SCHED_SOFTIRQ_EXIT,
	SCHED_CPU_FREQUENCY,
	SCHED_CPU_IDLE,
	SCHED_EVENT_TYPES
};

/* hdr.tid is the thread switched in, hdr.peer_tid the one switched out. */
struct sched_switch_event {
	struct event_hdr hdr;
	__u64 prev_arrival; /* when the CPU got to prev, by the scheduler's own clock; 0: unknown */
	__u32 prev_state;   /* as the kernel's own tracepoint prints it; see on_switch() */
	__s16 prev_prio, next_prio;
	char prev_comm[EVENT_COMM_LEN];
	char next_comm[EVENT_COMM_LEN];
};

/* hdr.tid is woken, hdr.peer_tid was current on hdr.cpu. */
struct sched_waking_event {
	struct event_hdr hdr;
	__u32 target_cpu;
	__s16 prio;
	__u8 flags; /* SCHED_IN_* */
	__u8 pad;
	char comm[EVENT_COMM_LEN];
};

/* Bits of ftrace's common_flags. */
#define SCHED_IN_HARDIRQ 0x08
#define SCHED_IN_SOFTIRQ 0x10

#define SCHED_IRQ_NAME_LEN 24

/* hdr.peer_tid was current. */
struct sched_irq_event {
	struct event_hdr hdr;
	__u32 number;		       /* irq, softirq vector, or the CPU concerned */
	__u32 value;		       /* handler's return value, kHz, or idle state (~0: left) */
	char name[SCHED_IRQ_NAME_LEN]; /* of the irq's handler, at its entry */
};

_Static_assert(sizeof(struct sched_switch_event) == 96, "no padding");
_Static_assert(sizeof(struct sched_waking_event) == 72, "no padding");
_Static_assert(sizeof(struct sched_irq_event) == 80, "no padding");

#endif
