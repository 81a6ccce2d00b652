/* SPDX-License-Identifier: Apache-2.0 */
/* offcpu_reason.h - what a thread waited for, in words. Pure. */
#ifndef OFFCPU_REASON_H
#define OFFCPU_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "offcpu_events.h"

enum wait_reason {
	WAIT_UNKNOWN, /* nobody looked in time */
	WAIT_FUTEX,   /* a lock, a condition, a thread's end: all are futexes */
	WAIT_POLL,    /* poll, select, epoll */
	WAIT_READ,
	WAIT_WRITE,
	WAIT_SLEEP,
	WAIT_CHILD,
	WAIT_IOCTL,
	WAIT_IO_URING,
	WAIT_SIGNAL,
	WAIT_CONNECT, /* to be connected, or for who connects */
	WAIT_LOCK,    /* of a file */
	WAIT_FILE,    /* what file systems do: open, fsync, rename */
	WAIT_IPC,     /* System V and POSIX queues and semaphores */
	WAIT_MEMORY,  /* mmap and its kin wait for the address space's lock */
	WAIT_PROCESS, /* fork, exec, exit */
	WAIT_FAULT,   /* a page that was not there */
	WAIT_STOPPED, /* by a signal or a debugger */
	WAIT_KERNEL,  /* a kernel thread: its stack says more */
	WAIT_CALL,    /* another system call */
	WAIT_REASONS
};

/* "futex", "page fault": for an argument and for reports. */
const char *wait_reason_name(enum wait_reason reason);

#define WAIT_NAME_LEN 64

/*
 * The reason, and in `name` what a person would call it: "futex", "read pipe",
 * "recvfrom tcp", "page fault (disk)". There are only some hundred such names.
 * `in_fault`: the kernel's stack shows that it waits for a page.
 */
enum wait_reason wait_describe(const struct offcpu_event *ev, bool in_fault,
			       char name[WAIT_NAME_LEN]);

/* Is a kernel function of this name on the way of a page fault only? */
bool wait_is_fault(const char *function);

/* "S", "D", "T": as ps has it. */
const char *wait_state(uint32_t state);

/* For each of this machine's system call numbers: is the first argument what it waits for? */
void wait_fd_calls(uint8_t ret[OFFCPU_MAX_NR]);
/* The same for one number. */
bool wait_is_fd_call(int32_t nr);

#endif
