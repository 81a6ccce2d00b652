/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* cpu_events.h - records of bpf/cpu.bpf.c, read by daemon/collect/cpu.c. */
#ifndef CPU_EVENTS_H
#define CPU_EVENTS_H

#include "event.h"

enum cpu_event_type {
	CPU_SAMPLE = 1, /* struct cpu_sample_event */
};

#define CPU_MAX_KERNEL_FRAMES 127
#define CPU_MAX_USER_FRAMES   127
#define CPU_MAX_FRAMES	      (CPU_MAX_KERNEL_FRAMES + CPU_MAX_USER_FRAMES)

/*
 * hdr.stream is the session's slot. `ips` holds the kernel's frames, then the
 * user's, each innermost first; the first of each is an instruction pointer,
 * the others are return addresses. Only as many as there are get transferred.
 */
struct cpu_sample_event {
	struct event_hdr hdr;
	__u16 n_kernel, n_user;
	__u8 in_kernel; /* where the CPU was */
	__u8 pad[3];
	__u64 ips[CPU_MAX_FRAMES];
};

#define CPU_SAMPLE_HEAD (sizeof(struct event_hdr) + 8)
_Static_assert(sizeof(struct cpu_sample_event) == CPU_SAMPLE_HEAD + 8 * CPU_MAX_FRAMES,
	       "no padding");

#endif
