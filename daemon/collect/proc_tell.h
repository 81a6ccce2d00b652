/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_tell.h - what a listener (trace_tap.h) hears of processes, which the trace has as ftrace
 * events and entries of a tree.
 */
#ifndef PROC_TELL_H
#define PROC_TELL_H

#include <stdint.h>

#include "proc_events.h"

struct process_table;
struct trace_writer;

struct proc_teller {
	/* The process that has ended last. */
	uint32_t ended_tgid;
	uint64_t ended_start_ns;
};

/*
 * Of a PROC_EXIT: with the last thread of a process an instant "exit" with its comm, and the
 * code or the signal.
 */
void proc_tell_exit(struct proc_teller *t, struct trace_writer *w,
		    const struct process_table *processes, const struct proc_task_event *ev);

#endif
