/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_unseen.bpf.h - what has left a TCP socket without anyone's having seen it: the kernel
 * itself reads some, and of splice() not all is told of (net_splice.bpf.h). TCP knows how
 * far a socket has been read, so whoever looks next finds it. A part of net.bpf.c.
 */
#ifndef NET_UNSEEN_BPF_H
#define NET_UNSEEN_BPF_H

#include "net_http1.bpf.h"
#include "net_out.bpf.h"

/* From here on it is known how far the socket has been read. False: so it was before. */
static __always_inline bool follow_received(struct net_state *st, struct sock *sk,
					    struct tcp_sock *tp)
{
	if (st->epoch == (__u16)net_epoch)
		return false;
	st->epoch = net_epoch;
	st->ways[0].off = stream_end(st, sk, tp, false);
	return true;
}

/* How many bytes have left the socket that nobody has told of. */
static __always_inline __u32 unseen(struct net_state *st, struct sock *sk, struct tcp_sock *tp)
{
	__s64 n;

	if (!(net_epoch & 1) || !st->ways[0].has_base || follow_received(st, sk, tp))
		return 0;
	n = stream_end(st, sk, tp, false) - st->ways[0].off;
	return n > 0 && n < 1ll << 31 ? n : 0;
}

/* What is received next is a body's, as far as it is known. */
static __always_inline bool is_in_body(const struct net_state *st)
{
	__u8 mode = st->ways[0].mode;

	return st->protocol == NET_PROTOCOL_HTTP1 && (mode == HTTP1_BODY || mode == HTTP1_DATA);
}

/*
 * Tells of them, but for the last `len` bytes, which have a record of their own. Not
 * `sure`: another thread may have received them just now, and its record comes next. Then
 * they are told twice, which does no harm to what is not looked at.
 */
static __noinline int tell_unseen(struct net_state *st, struct sock *sk, struct tcp_sock *tp,
				  __u32 len, bool sure)
{
	struct net_move m = { .fd = -1, .flags = NET_KERNEL | NET_UNSEEN };
	__u32 n = unseen(st, sk, tp);

	if (n <= len || !st->owner.tgid)
		return 0;
	if (!sure && st->protocol && !(is_in_body(st) && n <= st->ways[0].left))
		return 0;
	m.who = st->owner;
	m.sock = &st->sock;
	m.now = bpf_ktime_get_boot_ns();
	m.protocol = st->protocol;
	m.off = st->ways[0].off;
	m.len = n - len;
	m.flags |= st->stale ? NET_STALE : 0;
	st->ways[0].off += m.len;
	__sync_fetch_and_add(&net_n_splices, 1); /* as it seems */
	record_bare_move(&m);
	return m.len;
}

#endif
