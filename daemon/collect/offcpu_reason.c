/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offcpu_reason.c - what a thread waited for, in words: a table of the system
 * calls that can wait, and of the kinds of file that can be waited for.
 *
 * Numbers of calls come from <asm/unistd.h>: they are the architecture's. A
 * call that one does not have is simply absent there.
 */
#include "offcpu_reason.h"

#include <asm/unistd.h>
#include <stdio.h>
#include <string.h>

#include "syscalls_names.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* Kernel's include/linux/sched.h. */
#define TASK_INTERRUPTIBLE   0x01
#define TASK_UNINTERRUPTIBLE 0x02
#define TASK_STOPPED	     0x04
#define TASK_TRACED	     0x08

static const char *const reasons[WAIT_REASONS] = {
	[WAIT_UNKNOWN] = "unknown",
	[WAIT_FUTEX] = "futex",
	[WAIT_POLL] = "poll",
	[WAIT_READ] = "read",
	[WAIT_WRITE] = "write",
	[WAIT_SLEEP] = "sleep",
	[WAIT_CHILD] = "child process",
	[WAIT_IOCTL] = "ioctl",
	[WAIT_IO_URING] = "io_uring",
	[WAIT_SIGNAL] = "signal",
	[WAIT_CONNECT] = "connection",
	[WAIT_LOCK] = "file lock",
	[WAIT_FILE] = "file system",
	[WAIT_IPC] = "ipc",
	[WAIT_MEMORY] = "address space",
	[WAIT_PROCESS] = "process",
	[WAIT_FAULT] = "page fault",
	[WAIT_STOPPED] = "stopped",
	[WAIT_KERNEL] = "kernel thread",
	[WAIT_CALL] = "system call",
};

struct call {
	unsigned nr;
	const char *name;
	enum wait_reason reason;
	bool fd; /* its first argument is a descriptor, which it waits for */
};

static const struct call calls[] = {
	{ __NR_futex, "futex", WAIT_FUTEX, false },
	{ __NR_ppoll, "ppoll", WAIT_POLL, false },
	{ __NR_pselect6, "pselect6", WAIT_POLL, false },
	{ __NR_epoll_pwait, "epoll_pwait", WAIT_POLL, false },
	{ __NR_read, "read", WAIT_READ, true },
	{ __NR_readv, "readv", WAIT_READ, true },
	{ __NR_pread64, "pread64", WAIT_READ, true },
	{ __NR_preadv, "preadv", WAIT_READ, true },
	{ __NR_recvfrom, "recvfrom", WAIT_READ, true },
	{ __NR_recvmsg, "recvmsg", WAIT_READ, true },
	{ __NR_recvmmsg, "recvmmsg", WAIT_READ, true },
	{ __NR_getdents64, "getdents64", WAIT_READ, true },
	{ __NR_readahead, "readahead", WAIT_READ, true },
	{ __NR_splice, "splice", WAIT_READ, true },
	{ __NR_tee, "tee", WAIT_READ, true },
	{ __NR_write, "write", WAIT_WRITE, true },
	{ __NR_writev, "writev", WAIT_WRITE, true },
	{ __NR_pwrite64, "pwrite64", WAIT_WRITE, true },
	{ __NR_pwritev, "pwritev", WAIT_WRITE, true },
	{ __NR_sendto, "sendto", WAIT_WRITE, true },
	{ __NR_sendmsg, "sendmsg", WAIT_WRITE, true },
	{ __NR_sendmmsg, "sendmmsg", WAIT_WRITE, true },
	{ __NR_sendfile, "sendfile", WAIT_WRITE, true },
	{ __NR_vmsplice, "vmsplice", WAIT_WRITE, true },
	{ __NR_nanosleep, "nanosleep", WAIT_SLEEP, false },
	{ __NR_clock_nanosleep, "clock_nanosleep", WAIT_SLEEP, false },
	{ __NR_wait4, "wait4", WAIT_CHILD, false },
	{ __NR_waitid, "waitid", WAIT_CHILD, false },
	{ __NR_ioctl, "ioctl", WAIT_IOCTL, true },
	{ __NR_rt_sigsuspend, "rt_sigsuspend", WAIT_SIGNAL, false },
	{ __NR_rt_sigtimedwait, "rt_sigtimedwait", WAIT_SIGNAL, false },
	{ __NR_connect, "connect", WAIT_CONNECT, true },
	{ __NR_accept, "accept", WAIT_CONNECT, true },
	{ __NR_accept4, "accept4", WAIT_CONNECT, true },
	{ __NR_flock, "flock", WAIT_LOCK, true },
	{ __NR_fcntl, "fcntl", WAIT_LOCK, true },
	{ __NR_openat, "openat", WAIT_FILE, false },
	{ __NR_close, "close", WAIT_FILE, true },
	{ __NR_fsync, "fsync", WAIT_FILE, true },
	{ __NR_fdatasync, "fdatasync", WAIT_FILE, true },
	{ __NR_sync_file_range, "sync_file_range", WAIT_FILE, true },
	{ __NR_fallocate, "fallocate", WAIT_FILE, true },
	{ __NR_ftruncate, "ftruncate", WAIT_FILE, true },
	{ __NR_fstat, "fstat", WAIT_FILE, true },
	{ __NR_syncfs, "syncfs", WAIT_FILE, true },
	{ __NR_copy_file_range, "copy_file_range", WAIT_FILE, true },
	{ __NR_sync, "sync", WAIT_FILE, false },
	{ __NR_statx, "statx", WAIT_FILE, false },
	{ __NR_newfstatat, "newfstatat", WAIT_FILE, false },
	{ __NR_faccessat, "faccessat", WAIT_FILE, false },
	{ __NR_readlinkat, "readlinkat", WAIT_FILE, false },
	{ __NR_unlinkat, "unlinkat", WAIT_FILE, false },
	{ __NR_mkdirat, "mkdirat", WAIT_FILE, false },
	{ __NR_renameat2, "renameat2", WAIT_FILE, false },
	{ __NR_linkat, "linkat", WAIT_FILE, false },
	{ __NR_symlinkat, "symlinkat", WAIT_FILE, false },
	{ __NR_mount, "mount", WAIT_FILE, false },
	{ __NR_umount2, "umount2", WAIT_FILE, false },
	{ __NR_msgrcv, "msgrcv", WAIT_IPC, false },
	{ __NR_msgsnd, "msgsnd", WAIT_IPC, false },
	{ __NR_semop, "semop", WAIT_IPC, false },
	{ __NR_semtimedop, "semtimedop", WAIT_IPC, false },
	{ __NR_mq_timedreceive, "mq_timedreceive", WAIT_IPC, false },
	{ __NR_mq_timedsend, "mq_timedsend", WAIT_IPC, false },
	{ __NR_io_getevents, "io_getevents", WAIT_POLL, false },
	{ __NR_mmap, "mmap", WAIT_MEMORY, false },
	{ __NR_munmap, "munmap", WAIT_MEMORY, false },
	{ __NR_mprotect, "mprotect", WAIT_MEMORY, false },
	{ __NR_mremap, "mremap", WAIT_MEMORY, false },
	{ __NR_madvise, "madvise", WAIT_MEMORY, false },
	{ __NR_brk, "brk", WAIT_MEMORY, false },
	{ __NR_mlock, "mlock", WAIT_MEMORY, false },
	{ __NR_msync, "msync", WAIT_MEMORY, false },
	{ __NR_clone, "clone", WAIT_PROCESS, false },
	{ __NR_execve, "execve", WAIT_PROCESS, false },
	{ __NR_exit, "exit", WAIT_PROCESS, false },
	{ __NR_exit_group, "exit_group", WAIT_PROCESS, false },
	{ __NR_ptrace, "ptrace", WAIT_PROCESS, false },
	{ __NR_membarrier, "membarrier", WAIT_CALL, false },
	{ __NR_getrandom, "getrandom", WAIT_CALL, false },
	{ __NR_perf_event_open, "perf_event_open", WAIT_CALL, false },
	{ __NR_bpf, "bpf", WAIT_CALL, false },
	{ __NR_restart_syscall, "restart_syscall", WAIT_CALL, false },
#ifdef __NR_io_uring_enter
	{ __NR_io_uring_enter, "io_uring_enter", WAIT_IO_URING, false },
	{ __NR_io_uring_register, "io_uring_register", WAIT_IO_URING, false },
#endif
#ifdef __NR_clone3
	{ __NR_clone3, "clone3", WAIT_PROCESS, false },
#endif
#ifdef __NR_openat2
	{ __NR_openat2, "openat2", WAIT_FILE, false },
#endif
#ifdef __NR_preadv2
	{ __NR_preadv2, "preadv2", WAIT_READ, true },
	{ __NR_pwritev2, "pwritev2", WAIT_WRITE, true },
#endif
#ifdef __NR_epoll_pwait2
	{ __NR_epoll_pwait2, "epoll_pwait2", WAIT_POLL, false },
#endif
#ifdef __NR_futex_waitv
	{ __NR_futex_waitv, "futex_waitv", WAIT_FUTEX, false },
#endif
#ifdef __NR_poll /* and the others that newer architectures have left out */
	{ __NR_poll, "poll", WAIT_POLL, false },
	{ __NR_select, "select", WAIT_POLL, false },
	{ __NR_epoll_wait, "epoll_wait", WAIT_POLL, false },
	{ __NR_open, "open", WAIT_FILE, false },
	{ __NR_stat, "stat", WAIT_FILE, false },
	{ __NR_lstat, "lstat", WAIT_FILE, false },
	{ __NR_access, "access", WAIT_FILE, false },
	{ __NR_unlink, "unlink", WAIT_FILE, false },
	{ __NR_rename, "rename", WAIT_FILE, false },
	{ __NR_mkdir, "mkdir", WAIT_FILE, false },
	{ __NR_rmdir, "rmdir", WAIT_FILE, false },
	{ __NR_getdents, "getdents", WAIT_READ, true },
	{ __NR_pause, "pause", WAIT_SIGNAL, false },
	{ __NR_fork, "fork", WAIT_PROCESS, false },
	{ __NR_vfork, "vfork", WAIT_PROCESS, false },
#endif
};

static const struct call *call_of(int32_t nr)
{
	for (size_t i = 0; i < N(calls); i++)
		if (nr >= 0 && calls[i].nr == (unsigned)nr)
			return &calls[i];
	return NULL;
}

const char *wait_reason_name(enum wait_reason reason)
{
	return reason < WAIT_REASONS ? reasons[reason] : reasons[WAIT_UNKNOWN];
}

void wait_fd_calls(uint8_t ret[OFFCPU_MAX_NR])
{
	memset(ret, 0, OFFCPU_MAX_NR);
	for (size_t i = 0; i < N(calls); i++)
		if (calls[i].fd && calls[i].nr < OFFCPU_MAX_NR)
			ret[calls[i].nr] = 1;
}

bool wait_is_fd_call(int32_t nr)
{
	const struct call *call = call_of(nr);

	return call && call->fd;
}

/* Of the kernel's ways into a fault, those that are on every architecture's stack. */
bool wait_is_fault(const char *function)
{
	static const char *const names[] = {
		"handle_mm_fault",
		"do_user_addr_fault",
		"do_page_fault",
		"handle_userfault",
	};

	for (size_t i = 0; i < N(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

const char *wait_state(uint32_t state)
{
	if (state & TASK_TRACED)
		return "t";
	if (state & TASK_STOPPED)
		return "T";
	if (state & TASK_UNINTERRUPTIBLE)
		return "D";
	return state & TASK_INTERRUPTIBLE ? "S" : "?";
}

/* Majors of the kernel's Documentation/admin-guide/devices.txt. */
static const char *device_name(uint32_t rdev)
{
	uint32_t major = rdev >> 20;

	if (major == 4 || major == 5 || (major >= 136 && major <= 143) || major == 204 ||
	    major == 229)
		return "tty";
	if (major == 13)
		return "input";
	if (major == 116)
		return "sound";
	return "device";
}

/* The kernel's own name, without its brackets; should it be none, an honest "file". */
static void anon_name(const struct offcpu_event *ev, char ret[OFFCPU_ANON_NAME_LEN])
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(ev->anon_name) && ev->anon_name[i]; i++) {
		char c = ev->anon_name[i];

		if ((c >= 'a' && c <= 'z') || c == '_' || c == '-')
			ret[n++] = c;
	}
	ret[n < OFFCPU_ANON_NAME_LEN ? n : OFFCPU_ANON_NAME_LEN - 1] = '\0';
	if (n == 0)
		strcpy(ret, "file");
}

/* "": there is none. */
static void object_name(const struct offcpu_event *ev, char ret[PROTOCOL_TEXT_LEN])
{
	static const char *const names[OFFCPU_FILES] = {
		[OFFCPU_FILE_NONE] = "",
		[OFFCPU_FILE_PIPE] = "pipe",
		[OFFCPU_FILE_REGULAR] = "file",
		[OFFCPU_FILE_DIRECTORY] = "directory",
		[OFFCPU_FILE_BLOCK] = "block device",
		[OFFCPU_FILE_PIDFD] = "pidfd",
		[OFFCPU_FILE_OTHER] = "file",
	};
	struct syscalls_call call = {
		.flags = CALL_SOCKET_KNOWN,
		.family = ev->family,
		.sock_type = ev->sock_type,
		.protocol = ev->protocol,
	};
	const char *protocol;

	switch (ev->file) {
	case OFFCPU_FILE_SOCKET:
		protocol = call_protocol(&call, ret);
		if (protocol != ret)
			snprintf(ret, PROTOCOL_TEXT_LEN, "%s", protocol ? protocol : "socket");
		break;
	case OFFCPU_FILE_CHAR:
		strcpy(ret, device_name(ev->rdev));
		break;
	case OFFCPU_FILE_ANON:
		anon_name(ev, ret);
		break;
	default:
		strcpy(ret, ev->file < OFFCPU_FILES && names[ev->file] ? names[ev->file] : "");
	}
}

static enum wait_reason describe_call(const struct offcpu_event *ev, char name[WAIT_NAME_LEN])
{
	const struct call *call = ev->flags & OFFCPU_COMPAT ? NULL : call_of(ev->syscall);
	char object[PROTOCOL_TEXT_LEN];

	if (ev->flags & OFFCPU_COMPAT) {
		strcpy(name, "32-bit system call");
		return WAIT_CALL;
	}
	if (!call) {
		snprintf(name, WAIT_NAME_LEN, "system call %d", ev->syscall);
		return WAIT_CALL;
	}
	object_name(ev, object);
	snprintf(name, WAIT_NAME_LEN, "%s%s%.32s%s", call->name, object[0] ? " " : "", object,
		 ev->flags & OFFCPU_IO_WAIT ? " (disk)" : "");
	return call->reason;
}

enum wait_reason wait_describe(const struct offcpu_event *ev, bool in_fault,
			       char name[WAIT_NAME_LEN])
{
	bool disk = ev->flags & OFFCPU_IO_WAIT;
	enum wait_reason reason;

	if (ev->flags & OFFCPU_NOT_DESCRIBED)
		reason = WAIT_UNKNOWN;
	else if (ev->flags & OFFCPU_KERNEL_THREAD)
		reason = WAIT_KERNEL;
	else if (ev->state & (TASK_STOPPED | TASK_TRACED))
		reason = WAIT_STOPPED;
	else if (in_fault || (ev->syscall < 0 && disk))
		reason = WAIT_FAULT;
	else if (ev->syscall < 0)
		reason = WAIT_UNKNOWN;
	else
		return describe_call(ev, name);
	snprintf(name, WAIT_NAME_LEN, "%s%s", reasons[reason], disk ? " (disk)" : "");
	return reason;
}
