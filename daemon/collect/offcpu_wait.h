/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offcpu_wait.h - a record of a wait, taken apart: its times within the
 * session, its pieces of stack, what the kernel's frames give away.
 */
#ifndef OFFCPU_WAIT_H
#define OFFCPU_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "offcpu_events.h"

struct symbolizer;

struct wait_frames {
	const __u64 *ips; /* innermost first; in the record */
	unsigned n;
};

struct offcpu_wait {
	const struct offcpu_event *ev;
	bool unfinished;
	bool began_before; /* the session, or anybody's look */
	uint64_t begin_ns; /* not before the session's start */
	uint64_t woken_ns; /* within the wait; its end if nobody woke it */
	uint64_t end_ns;
	bool was_woken;
	const char *interrupt; /* what woke it: "interrupt", "softirq"; NULL: the waker did */
	const char *function;  /* of the kernel, which woke it; NULL: not known */
	bool in_fault;	       /* it waits for a page */
	struct wait_frames user, python, kernel, waker_user, waker_kernel;
	/* To finish walks; NULL: they are over, or cannot be. */
	const struct unwind_copy *copy, *waker_copy;
	const __u8 *stack, *waker_stack; /* as many bytes as these say */
};

/* `ev` is valid, and must outlive the result. */
void offcpu_wait_read(const struct offcpu_event *ev, struct symbolizer *sym, uint64_t start_ns,
		      struct offcpu_wait *ret);

#endif
