/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_thread.bpf.h - what a thread does with sockets around its calls of a TLS library.
 *
 * Shared by bpf/net.bpf.c, which says what sockets have moved, and bpf/net_tls.bpf.c,
 * which makes of it whose connection a clear text stream is. Only threads that have
 * called such a library, while somebody wanted to know, have one.
 */
#ifndef NET_THREAD_BPF_H
#define NET_THREAD_BPF_H

#include "kernel.h"
#include "net_events.h"

/* A socket that a thread has used. */
struct net_touch {
	__u64 time_ns; /* 0: none */
	struct net_sock sock;
	__u32 is_tls; /* what it carries is known to be TLS */
	__u32 pad;
};

struct net_thread {
	__u32 depth;		   /* calls of TLS libraries that it is in */
	__u32 wants_send;	   /* a stream waits for the next socket that is sent to */
	struct net_touch nested;   /* lastly, within such a call */
	struct net_touch received; /* lastly, outside of one */
	struct net_touch sent;	   /* the first one since wants_send was set */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct net_thread);
} net_threads SEC(".maps");

static __always_inline void net_touch(struct net_touch *touch, const struct net_sock *sock,
				      bool is_tls, __u64 now_ns)
{
	touch->sock = *sock;
	touch->is_tls = is_tls;
	touch->time_ns = now_ns;
}

/*
 * To be called where bytes have gone in or out of a stream socket (TCP, UNIX), in the
 * thread that has called, with or without payload. A stream whose protocol is known
 * and is not TLS has nothing to do with it.
 */
static __always_inline void net_thread_io(struct task_struct *task, const struct net_sock *sock,
					  __u8 protocol, bool sent, __u64 now_ns)
{
	struct net_thread *t;

	if (protocol != NET_PROTOCOL_TLS && protocol != NET_PROTOCOL_UNKNOWN)
		return;
	t = bpf_task_storage_get(&net_threads, task, 0, 0);
	if (!t)
		return;
	if (t->depth > 0) {
		net_touch(&t->nested, sock, protocol == NET_PROTOCOL_TLS, now_ns);
	} else if (!sent) {
		net_touch(&t->received, sock, protocol == NET_PROTOCOL_TLS, now_ns);
	} else if (t->wants_send) {
		t->wants_send = 0;
		net_touch(&t->sent, sock, protocol == NET_PROTOCOL_TLS, now_ns);
	}
}

#endif
