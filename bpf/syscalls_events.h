/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* syscalls_events.h - records of bpf/syscalls.bpf.c, read by daemon/collect/syscalls.c. */
#ifndef SYSCALLS_EVENTS_H
#define SYSCALLS_EVENTS_H

#include "event.h"

enum syscalls_event_type {
	SYSCALLS_CALL = 1,   /* a system call has returned */
	SYSCALLS_UNFINISHED, /* one that has not, as of hdr.time_ns: no event of the ledger */
	SYSCALLS_EVENT_TYPES
};

/*
 * The calls we look at, in our numbers: the kernel's differ from one
 * architecture to the next. User space maps one to the other.
 */
enum syscalls_call_id {
	CALL_NONE,

	/* On a socket by their nature; an fd that is none makes them fail. */
	CALL_CONNECT,
	CALL_ACCEPT,
	CALL_ACCEPT4,
	CALL_BIND,
	CALL_LISTEN,
	CALL_SENDTO,
	CALL_SENDMSG,
	CALL_SENDMMSG,
	CALL_RECVFROM,
	CALL_RECVMSG,
	CALL_RECVMMSG,
	CALL_SHUTDOWN,

	/* On anything; of interest on a socket only. */
	CALL_READ,
	CALL_READV,
	CALL_PREADV2,
	CALL_WRITE,
	CALL_WRITEV,
	CALL_PWRITEV2,
	CALL_SENDFILE,
	CALL_SPLICE,
	CALL_CLOSE,

	/* They make sockets. */
	CALL_SOCKET,
	CALL_SOCKETPAIR,

	/* Waits for descriptors to become ready; only those that last are recorded. */
	CALL_POLL,
	CALL_PPOLL,
	CALL_SELECT,
	CALL_PSELECT6,
	CALL_EPOLL_WAIT,
	CALL_EPOLL_PWAIT,
	CALL_EPOLL_PWAIT2,

	/* Goes on with a wait that a signal without a handler has interrupted. */
	CALL_RESTART,

	N_CALLS
};

#define CALL_FIRST_ANY_FD CALL_READ
#define CALL_FIRST_CREATE CALL_SOCKET
#define CALL_FIRST_WAIT	  CALL_POLL

#define SYSCALLS_MAX_NR 512 /* the kernel's numbers; the largest in 6.18 is 470 */

/* syscalls_call.flags */
#define CALL_SOCKET_KNOWN  0x01 /* family, sock_type and protocol hold */
#define CALL_CLAIMED	   0x02 /* the address is what the caller's memory says, not the socket */
#define CALL_PATH_LOCAL	   0x04 /* `path` is the socket's own, not its peer's */
#define CALL_PATH_ABSTRACT 0x08 /* `path` lacks its first byte, a NUL */
#define CALL_RESTARTED	   0x10 /* goes on after an interruption */
#define CALL_FLAGS	   0x1f

#define CALL_PATH_LEN 47
#define UNIX_PATH_LEN 108 /* the kernel's limit */

struct syscalls_inet {
	__u8 local[16], peer[16];    /* 4 of them for IPv4 */
	__u16 local_port, peer_port; /* host byte order; 0 = not known */
	__u32 scope_id;		     /* of a link-local peer: interface index */
};

struct syscalls_unix {
	__u8 len;		  /* of the whole name; 0 = unnamed */
	__u8 path[CALL_PATH_LEN]; /* its last bytes, if it is longer than that */
};

struct syscalls_wait {
	__s64 timeout_ns; /* < 0: none */
	__u32 n_fds;
	__u32 pad;
};

/* What of a call is known when it is entered, and `ret`. */
struct syscalls_call {
	__u64 enter_ns; /* CLOCK_BOOTTIME */
	__s64 ret;	/* as the kernel has it: -512 and below are restarts */
	__s32 fd;	/* -1 = none */
	__u8 call;	/* enum syscalls_call_id */
	__u8 flags;
	__u16 family;	   /* of the socket */
	__u16 sock_type;   /* SOCK_* */
	__u16 protocol;	   /* IPPROTO_* */
	__u16 addr_family; /* what `inet` or `unix_addr` holds: AF_INET, AF_INET6, AF_UNIX; 0 =
			      neither */
	__u16 pad;
	union {
		struct syscalls_inet inet;
		struct syscalls_unix unix_addr;
		struct syscalls_wait wait;
		__u8 bytes[48];
	};
};

struct syscalls_event {
	struct event_hdr hdr; /* time_ns: when the call returned */
	struct syscalls_call call;
};

_Static_assert(sizeof(struct syscalls_inet) == 40, "no padding");
_Static_assert(sizeof(struct syscalls_unix) == 48, "no padding");
_Static_assert(sizeof(struct syscalls_call) == 80, "no padding");
_Static_assert(sizeof(struct syscalls_event) == 128, "two cache lines");

#endif
