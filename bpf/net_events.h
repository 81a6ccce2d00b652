/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * net_events.h - records of bpf/net.bpf.c and bpf/net_tls.bpf.c, read by
 * daemon/collect/net.c.
 *
 * Each says by itself which socket it is about, so that a lost record takes nothing
 * with it but what it told; and where in its stream it belongs, so that what was lost
 * is seen. Payload is copied only of protocols that are known, and of those only what
 * their heads need: of everything else the length is all there is.
 */
#ifndef NET_EVENTS_H
#define NET_EVENTS_H

#include "event.h"
#include "user_stack.h"

/* hdr.type */
enum net_event_type {
	NET_IO = 1, /* struct net_io_event: bytes have gone in or out */
	NET_STACK, /* struct net_stack_event: where the NET_IO comes from that follows on its thread
		    */
	NET_TCP,   /* struct net_tcp_event: what TCP has done */
	NET_BYTES, /* struct net_bytes_event: what a socket without payload has moved so far */
	NET_SOCK,  /* the same, of one that exists: at the start or end of a session, no event of
		      the ledger */
	NET_LOOKUP, /* struct net_lookup_event: getaddrinfo() has returned */
	NET_PLAIN,  /* struct net_plain_event: what a TLS library was given, or has given */
	NET_EVENT_TYPES
};

/* Which end of a connection. Of what was there before us the kernel does not say. */
enum net_role { NET_ROLE_UNKNOWN, NET_ROLE_CLIENT, NET_ROLE_SERVER };

/* What BPF takes a stream for, by its first bytes and its port. */
enum net_protocol {
	NET_PROTOCOL_UNKNOWN, /* not looked at yet, or not one of these: no payload */
	NET_PROTOCOL_HTTP1,
	NET_PROTOCOL_HTTP2, /* in clear text */
	NET_PROTOCOL_TLS,
	NET_PROTOCOL_DNS,     /* over UDP or TCP, by port 53 */
	NET_PROTOCOL_RESOLVE, /* what is said to systemd-resolved over its own socket, by its name
			       */
	N_NET_PROTOCOLS
};

/* Where a system call has the bytes that it moves. */
enum net_call {
	NET_CALL_NONE,	   /* none of ours */
	NET_CALL_BUFFER,   /* its second argument */
	NET_CALL_SENDTO,   /* likewise, and its fifth is whom it is for, or 0 */
	NET_CALL_VECTOR,   /* its third argument tells how many iovecs the second has */
	NET_CALL_MESSAGE,  /* its second argument is a msghdr */
	NET_CALL_MESSAGES, /* likewise, but many */
	NET_CALL_SPLICE,   /* in no place of the caller's: between descriptors */
};

#define NET_MAX_NR 512 /* system calls beyond are none of ours */

/* A UNIX socket's name: as much of its end as there is room for. */
#define NET_PATH_LEN	 38
#define NET_MAX_PATH_LEN 108 /* which it may have */

struct net_inet {
	__u8 local[16], peer[16];    /* 4 of them for IPv4; v4-mapped ones are as AF_INET */
	__u16 local_port, peer_port; /* host byte order; 0 = not known */
	__u32 scope_id;		     /* interface of a link-local peer */
	/*
	 * Made of both initial sequence numbers, the same at both ends of a TCP connection
	 * and at no other one with the same addresses; 0 = not known.
	 */
	__u32 pair;
	__u32 mapped; /* an IPv6 socket that talks IPv4 */
};

struct net_unix {
	__u64 peer_cookie; /* 0: not known, or not connected */
	__u8 path_len;	   /* 0: neither end has a name; of the name, which may be longer */
	__u8 is_abstract;  /* the name's first byte, a NUL, is left out */
	__u8 path[NET_PATH_LEN];
};

struct net_sock {
	__u64 cookie;  /* the kernel's, as `ss -e` shows it: unique while the machine runs */
	__u32 netns;   /* its inode number, as /proc/PID/ns/net has it */
	__u16 family;  /* AF_INET, AF_INET6, AF_UNIX: which of the two below holds */
	__u8 protocol; /* IPPROTO_TCP, IPPROTO_UDP; of AF_UNIX: SOCK_* */
	__u8 role;     /* enum net_role */
	union {
		struct net_inet inet;
		struct net_unix unix_sock;
	};
};

_Static_assert(sizeof(struct net_inet) == 48 && sizeof(struct net_unix) == 48, "no padding");
_Static_assert(sizeof(struct net_sock) == 64, "one cache line");

/*
 * Payload is kept in runs: run i is `len` bytes that begin `at` bytes after the event's
 * first. They are in order and do not overlap; what is between them was not copied.
 */
struct net_run {
	__u32 at, len;
};

#define NET_MAX_RUNS	32
#define NET_MAX_PAYLOAD 4096 /* of all runs of one event */

/* net_io_event.flags, net_plain_event.flags */
#define NET_SENT  0x01 /* or received */
#define NET_URING 0x02 /* by io_uring: the thread is the ring's owner */
#define NET_KERNEL \
	0x04 /* by the kernel itself, or splice() and the like: payload is not the caller's */
#define NET_CUT	     0x08 /* more was wanted than is here: no room, or memory could not be read */
#define NET_DATAGRAM 0x10 /* `off` does not count; the event is one message */
#define NET_STALE                                                                     \
	0x20 /* the socket had been used before we looked: its stream has a beginning \
		that nobody saw */
#define NET_UNSEEN                                                                          \
	0x40 /* it has left the socket before this moment, and after what the record before \
		tells of: see net_unseen.bpf.h */
#define NET_FLAGS 0x7f

/*
 * Only as much is transferred as there is: `n_runs` runs, and behind them their bytes.
 * An event with len == 0 is the stream's orderly end in its direction: what was received
 * is FIN, what was sent is shutdown() or close().
 */
struct net_io_event {
	struct event_hdr hdr; /* time_ns: when the call was over; tgid, tid: whose call */
	struct net_sock sock;
	/*
	 * Of the first byte, in this direction, since the connection began. For TCP it is made
	 * of the kernel's own sequence numbers: what moved unseen is a gap, and both ends of a
	 * connection agree about it, also when it was there before us.
	 */
	__u64 off;
	__u32 len; /* bytes that were moved */
	__s32 fd;  /* -1: not known */
	__u8 flags;
	__u8 protocol; /* enum net_protocol */
	__u8 n_runs;
	__u8 pad[5];
	__u8 data[NET_MAX_RUNS * sizeof(struct net_run) + NET_MAX_PAYLOAD];
};

#define NET_IO_HEAD 136
_Static_assert(NET_IO_HEAD == sizeof(struct event_hdr) + sizeof(struct net_sock) + 24,
	       "no padding");
_Static_assert(sizeof(struct net_io_event) ==
		       NET_IO_HEAD + NET_MAX_RUNS * sizeof(struct net_run) + NET_MAX_PAYLOAD,
	       "no padding");

/*
 * A thread's stack where a message begins (the direction of its socket has turned), not
 * more often than some hundred times a second.
 */
struct net_stack_event {
	struct event_hdr hdr;
	__u64 cookie;
	__u64 off;
	__u32 sent; /* as NET_SENT */
	__u32 pad;
	struct user_stack user;
};

#define NET_STACK_HEAD (sizeof(struct event_hdr) + 24)
_Static_assert(sizeof(struct net_stack_event) == NET_STACK_HEAD + sizeof(struct user_stack),
	       "no padding");

enum net_tcp_kind {
	NET_TCP_STATE = 1,  /* old_state -> new_state (TCP_* of linux/tcp.h: tcp_states.h) */
	NET_TCP_RETRANSMIT, /* total_retrans has grown; not one per segment */
	NET_TCP_RESET_SENT, /* `reason`: enum sk_rst_reason of this kernel, or 0 */
	NET_TCP_RESET_RECEIVED,
	NET_TCP_DROP,	/* `reason`: enum skb_drop_reason of this kernel */
	NET_TCP_SAMPLE, /* of rtt, cwnd: not more often than 10 times a second */
	N_NET_TCP_KINDS
};

/* The kernel's numbers, when it happened. hdr.tgid, tid: the socket's owner; 0 = not known. */
struct net_tcp_event {
	struct event_hdr hdr;
	struct net_sock sock;
	__u8 kind;
	__u8 old_state, new_state;
	__u8 by_owner; /* it happened in the owner's call, not behind its back */
	__u32 reason;
	__u32 error; /* errno of a connection that failed; or 0 */
	__u32 srtt_us, rttvar_us;
	__u32 cwnd, ssthresh;			       /* segments */
	__u32 total_retrans;			       /* segments, since the connection began */
	__u64 bytes_sent, bytes_acked, bytes_received; /* since it began */
};

_Static_assert(sizeof(struct net_tcp_event) ==
		       sizeof(struct event_hdr) + sizeof(struct net_sock) + 56,
	       "no padding");

/* What the first packets of QUIC say in clear text. */
struct net_quic {
	__u8 version;	       /* 1, 2; 0: none was seen */
	__u8 to_len, from_len; /* of the connection ids of the first Initial */
	__u8 pad;
};

/*
 * Of UNIX sockets, and of UDP that is not DNS: once in a while and at the end. Of NET_SOCK
 * also TCP, with the state it is in.
 */
struct net_bytes_event {
	struct event_hdr hdr;
	struct net_sock sock;
	__u64 tx_bytes, rx_bytes, tx_messages, rx_messages; /* since we know it */
	__u64 first_ns;					    /* when that was */
	__u32 state;					    /* TCP_*, or 0 */
	struct net_quic quic;				    /* of UDP */
};

_Static_assert(sizeof(struct net_bytes_event) ==
		       sizeof(struct event_hdr) + sizeof(struct net_sock) + 48,
	       "no padding");

#define NET_NAME_LEN 256

struct net_lookup_event {
	struct event_hdr hdr;
	__u64 enter_ns;
	__s32 ret; /* EAI_* */
	__u32 name_len;
	__u8 name[NET_NAME_LEN];
};

#define NET_LOOKUP_HEAD (sizeof(struct event_hdr) + 16)

/* How a TLS stream was found to belong to its connection. */
enum net_link { NET_LINK_NONE, NET_LINK_NESTED, NET_LINK_LAST, NET_LINK_GUESS };

/* As a net_io_event, of the clear text of a TLS connection. */
struct net_plain_event {
	struct event_hdr hdr;
	struct net_sock sock; /* cookie 0: not known */
	__u64 off;	      /* of clear text, in this direction */
	__u32 len;
	__u8 flags;
	__u8 protocol; /* NET_PROTOCOL_HTTP1 or NET_PROTOCOL_HTTP2; unknown: no payload */
	__u8 n_runs;
	__u8 link;    /* enum net_link */
	__u64 stream; /* the library's own handle (SSL *); with the tgid: which stream */
	__u8 data[NET_MAX_RUNS * sizeof(struct net_run) + NET_MAX_PAYLOAD];
};

#define NET_PLAIN_HEAD 136
_Static_assert(NET_PLAIN_HEAD == sizeof(struct event_hdr) + sizeof(struct net_sock) + 24,
	       "no padding");

#endif
