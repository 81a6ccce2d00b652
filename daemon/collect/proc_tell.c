/* SPDX-License-Identifier: Apache-2.0 */
/* proc_tell.c - a process that ends, for who listens. */
#include "proc_tell.h"

#include <string.h>

#include "process/process_table.h"
#include "trace_tap.h"

/* As wait(2) has it. */
#define STATUS_SIGNAL 0x7f
#define STATUS_CORE   0x80

void proc_tell_exit(struct proc_teller *t, struct trace_writer *w,
		    const struct process_table *processes, const struct proc_task_event *ev)
{
	const struct process *p = process_table_get(processes, ev->hdr.tgid);
	unsigned status = (unsigned)ev->exit_code, signal = status & STATUS_SIGNAL;
	char comm[EVENT_COMM_LEN + 1] = "";
	const struct trace_arg args[] = {
		{ .name = "comm", .type = ARG_STRING, .s = p ? p->comm : comm },
		{ .name = signal ? "signal" : "code",
		  .type = ARG_UINT,
		  .u = signal ? signal : status >> 8 & 0xff },
		{ .name = "core_dumped", .type = ARG_BOOL, .u = 1 },
	};
	const struct trace_tap_event told = {
		.kind = TAP_INSTANT,
		.time_ns = ev->hdr.time_ns,
		.end_ns = ev->hdr.time_ns,
		.name = "exit",
		.category = "process",
		.tgid = ev->hdr.tgid,
		.tid = ev->hdr.tgid,
		.args = args,
		.n_args = signal && status & STATUS_CORE ? 3 : 2,
	};

	if (!trace_is_tapped(w) || !(ev->flags & PROC_IS_LAST))
		return;
	if (t->ended_tgid == ev->hdr.tgid && t->ended_start_ns == ev->process_start_ns)
		return;
	t->ended_tgid = ev->hdr.tgid;
	t->ended_start_ns = ev->process_start_ns;
	memcpy(comm, ev->comm, EVENT_COMM_LEN);
	trace_tap_tell(w, &told);
}
