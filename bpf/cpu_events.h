/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* cpu_events.h - records of bpf/cpu.bpf.c, read by daemon/collect/cpu.c. */
#ifndef CPU_EVENTS_H
#define CPU_EVENTS_H

#include "event.h"
#include "python.h"
#include "unwind.h"

enum cpu_event_type {
	CPU_SAMPLE = 1, /* struct cpu_sample_event */
};

#define CPU_MAX_KERNEL_FRAMES 127
#define CPU_MAX_USER_FRAMES   UNWIND_MAX_FRAMES
#define CPU_MAX_FRAMES	      (CPU_MAX_KERNEL_FRAMES + CPU_MAX_USER_FRAMES)

#define CPU_MAX_IPS (CPU_MAX_FRAMES + PYTHON_WORDS_ROOM)

/* The attach cookie: whose sample it is, and of which of its events. */
#define CPU_MAX_EVENTS	    8
#define CPU_COOKIE(slot, i) ((slot)*CPU_MAX_EVENTS + (i))
#define CPU_COOKIE_SLOT(c)  ((c) / CPU_MAX_EVENTS)
#define CPU_COOKIE_EVENT(c) ((c) % CPU_MAX_EVENTS)
#define CPU_COOKIES	    (EVENT_MAX_STREAMS * CPU_MAX_EVENTS)

#define CPU_PYTHON_CUT 0x80 /* there are more Python frames than these */

/*
 * hdr.stream is the session's slot. `ips` holds the kernel's frames, then the
 * user's, each innermost first; the first of each is an instruction pointer,
 * the others are return addresses. Behind them are the words of Python frames
 * (python.h). Only as many as there are get transferred,
 * unless the daemon has to finish the walk: then the whole record is, up to the
 * end of what was copied of the stack.
 */
struct cpu_sample_event {
	struct event_hdr hdr;
	__u16 n_kernel, n_user;
	__u8 in_kernel; /* where the CPU was */
	__u8 end;	/* enum unwind_end */
	__u8 has_copy;
	__u8 python; /* how many words; CPU_PYTHON_CUT */
	__u8 event;  /* of those that the session samples */
	__u8 pad[7];
	__u64 ips[CPU_MAX_IPS];
	struct unwind_copy copy;
	__u8 stack[UNWIND_COPY_BYTES]; /* or UNWIND_LARGE_COPY_BYTES, in the ring alone */
};

#define CPU_SAMPLE_HEAD	     (sizeof(struct event_hdr) + 16)
#define CPU_SAMPLE_COPY_HEAD (CPU_SAMPLE_HEAD + 8 * CPU_MAX_IPS + sizeof(struct unwind_copy))
_Static_assert(sizeof(struct cpu_sample_event) == CPU_SAMPLE_COPY_HEAD + UNWIND_COPY_BYTES,
	       "no padding");
#define CPU_SAMPLE_LARGE (CPU_SAMPLE_COPY_HEAD + UNWIND_LARGE_COPY_BYTES)
_Static_assert(CPU_SAMPLE_LARGE < 65536, "hdr.size has 16 bits");
_Static_assert(sizeof(struct cpu_sample_event) < 32768, "per-CPU maps hold no more");

#endif
