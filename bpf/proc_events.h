/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* proc_events.h - records of bpf/proc.bpf.c, read by daemon/collect/proc.c. */
#ifndef PROC_EVENTS_H
#define PROC_EVENTS_H

#include "event.h"

enum proc_event_type {
	PROC_NEWTASK = 1, /* struct proc_task_event, the rest too but for PROC_EXEC */
	PROC_RENAME,
	PROC_EXIT,
	PROC_FREE,
	PROC_EXEC, /* struct proc_exec_event */
	PROC_EVENT_TYPES
};

#define PROC_NSTIDS 4

/* proc_task_event.flags, proc_exec_event.flags */
#define PROC_IS_KTHREAD 1
#define PROC_IS_LAST	2 /* PROC_EXIT: the process ends; two at once may both be told so */
#define PROC_IS_PLAIN	4 /* as bpf/user.bpf.h has it: its user may look into it */
#define PROC_WAS_PLAIN	8 /* or was, as far as its ids say, before it gave up its memory */

/*
 * hdr.tid is the task the event is about, hdr.peer_tid was current on hdr.cpu:
 * the parent of a new task, anybody when a task is freed.
 */
struct proc_task_event {
	struct event_hdr hdr;
	__u64 start_ns;		/* of the task: with its tid, who it is */
	__u64 process_start_ns; /* of its process's leader; not with PROC_FREE, nor is ppid */
	union {
		__u64 clone_flags; /* PROC_NEWTASK */
		__u64 exit_code;   /* PROC_IS_LAST: of the process, as wait(2) has it */
	};
	__u32 uid, gid;
	__s32 prio;
	__u32 flags;
	__u32 ppid;
	__u32 pad;
	__u32 nstid[PROC_NSTIDS];  /* in inner pid namespaces, outermost first; PROC_NEWTASK */
	char comm[EVENT_COMM_LEN]; /* PROC_RENAME: the new one */
};

#define PROC_FILENAME_LEN 128
#define PROC_ARGS_LEN	  256

/* hdr.tid == hdr.tgid == hdr.peer_tid: whoever calls exec becomes the leader. */
struct proc_exec_event {
	struct event_hdr hdr;
	__u64 start_ns;
	__u32 old_tid; /* of the caller before; differs when it was not the leader */
	__u32 uid, gid;
	__u32 flags;
	__u32 args_size; /* of all arguments, each with its NUL */
	__u32 args_len;	 /* how much of that is in `args`; 0: not readable */
	char comm[EVENT_COMM_LEN];
	char filename[PROC_FILENAME_LEN];
	char args[PROC_ARGS_LEN];
};

_Static_assert(sizeof(struct proc_task_event) == 128, "no padding");
_Static_assert(sizeof(struct proc_exec_event) == 480, "no padding");

#endif
