/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* offcpu_events.h - records of bpf/offcpu.bpf.c, read by daemon/collect/offcpu.c. */
#ifndef OFFCPU_EVENTS_H
#define OFFCPU_EVENTS_H

#include "event.h"
#include "python.h"
#include "unwind.h"

enum offcpu_event_type {
	OFFCPU_WAIT = 1,   /* a thread runs again */
	OFFCPU_UNFINISHED, /* one still waits, as of hdr.time_ns: no event of the ledger */
	OFFCPU_EVENT_TYPES
};

/* What the descriptor is that a system call waits for. */
enum offcpu_file {
	OFFCPU_FILE_NONE, /* the call has none, or it was closed meanwhile */
	OFFCPU_FILE_PIPE,
	OFFCPU_FILE_SOCKET, /* `family`, `sock_type`, `protocol` */
	OFFCPU_FILE_REGULAR,
	OFFCPU_FILE_DIRECTORY,
	OFFCPU_FILE_CHAR, /* `rdev` */
	OFFCPU_FILE_BLOCK,
	OFFCPU_FILE_ANON, /* `anon_name`: "[eventfd]" */
	OFFCPU_FILE_PIDFD,
	OFFCPU_FILE_OTHER,
	OFFCPU_FILES
};

/* offcpu_event.flags */
#define OFFCPU_KERNEL_THREAD 0x0001
#define OFFCPU_IO_WAIT	     0x0002 /* waits for a disk, says the kernel */
#define OFFCPU_COMPAT	     0x0004 /* a 32-bit program: numbers of calls are others */
#define OFFCPU_BEGAN_BEFORE  0x0008 /* found asleep; its user stack is not to be had */
#define OFFCPU_WOKEN_BY_IRQ  0x0010 /* the waker is whom an interrupt found running */
#define OFFCPU_WOKEN_BY_SOFT 0x0020
#define OFFCPU_NO_SWITCH_IN  0x0040 /* the kernel did not tell: ended when woken */
#define OFFCPU_WAKER_KERNEL  0x0080 /* the waker is a kernel thread */
#define OFFCPU_NOT_DESCRIBED 0x0100 /* it ran before one could look: reason unknown */
#define OFFCPU_NO_STACK	     0x0200 /* of the user: too many waits at the time */
#define OFFCPU_FLAGS	     0x03ff

#define OFFCPU_MAX_USER	      127
#define OFFCPU_MAX_PYTHON     63 /* a wait is kept for each thread: half of what a CPU sample has */
#define OFFCPU_MAX_KERNEL     32
#define OFFCPU_MAX_WAKER_USER 96
#define OFFCPU_MAX_IPS                                                                 \
	(OFFCPU_MAX_USER + OFFCPU_MAX_PYTHON + OFFCPU_MAX_KERNEL + OFFCPU_MAX_KERNEL + \
	 OFFCPU_MAX_WAKER_USER)
#define OFFCPU_ANON_NAME_LEN 17

#define OFFCPU_PYTHON_CUT   0x80 /* there are more Python frames than these */
#define OFFCPU_N_PYTHON(ev) ((ev)->python & ~OFFCPU_PYTHON_CUT)

#define OFFCPU_MAX_NR 512 /* system calls; the largest in 6.18 is 470 */

/*
 * hdr.tid has waited and hdr.peer_tid has woken it (0: nobody did, or it is not
 * known). `ips`: the user's frames, the words of Python frames, the kernel's, then
 * the waker's in the kernel and in user space, each innermost first; the first of
 * the user's is an instruction pointer, the others are return addresses. Only as
 * many as there are get transferred, unless the daemon has to finish a walk: then
 * it is a struct offcpu_copied, up to the end of what was copied.
 */
struct offcpu_event {
	struct event_hdr hdr; /* time_ns: when the thread was switched in */
	__u64 begin_ns;	      /* when it was switched out */
	__u64 woken_ns;	      /* 0: not woken, or not seen */
	__u64 args[3];	      /* of the system call */
	/* Which program in which process it is, as in struct unwind_proc. */
	__u64 start_ns, exec_id;
	__u64 waker_start_ns, waker_exec_id;
	__s32 syscall; /* the kernel's number; < 0: in none */
	__u32 rdev;    /* OFFCPU_FILE_CHAR, _BLOCK: major << 20 | minor */
	__u32 state;   /* TASK_* of the wait */
	__u16 flags;
	__u16 family, sock_type, protocol;
	__u16 waker_cpu;
	__u8 file; /* enum offcpu_file */
	__u8 n_user, n_kernel, n_waker_kernel, n_waker_user;
	__u8 end, waker_end; /* enum unwind_end, of the walks up the user stacks */
	__u8 has_copy;	     /* OFFCPU_COPY_* */
	__u8 python;	     /* how many words; OFFCPU_PYTHON_CUT */
	char anon_name[OFFCPU_ANON_NAME_LEN];
	__u64 ips[OFFCPU_MAX_IPS];
};

/* offcpu_event.has_copy */
#define OFFCPU_COPY_SLEEPER 1
#define OFFCPU_COPY_WAKER   2

#define OFFCPU_COPY_BYTES 14336 /* so that two fit into a per-CPU map */

/* One copy behind the other, each as long as it says; 0 for one that is not there. */
struct offcpu_copied {
	struct offcpu_event ev;
	struct unwind_copy copy, waker_copy;
	__u8 stacks[2 * OFFCPU_COPY_BYTES];
};

#define OFFCPU_HEAD	 (sizeof(struct event_hdr) + 9 * 8 + 3 * 4 + 5 * 2 + 9 + OFFCPU_ANON_NAME_LEN)
#define OFFCPU_COPY_HEAD (sizeof(struct offcpu_event) + 2 * sizeof(struct unwind_copy))
_Static_assert(sizeof(struct offcpu_event) == OFFCPU_HEAD + 8 * OFFCPU_MAX_IPS, "no padding");
_Static_assert(sizeof(struct offcpu_copied) == OFFCPU_COPY_HEAD + 2 * OFFCPU_COPY_BYTES,
	       "no padding");
_Static_assert(sizeof(struct offcpu_copied) < 32768, "per-CPU maps hold no more");

#endif
