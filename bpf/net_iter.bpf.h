/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_iter.bpf.h - all sockets that there are, in any namespace, by the descriptors that
 * lead to them: when a recording begins, what has not been told when it ends, and once in
 * a while how connections are. A part of net.bpf.c.
 */
#ifndef NET_ITER_BPF_H
#define NET_ITER_BPF_H

#include "net_tcp.bpf.h"
#include "net_udp.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

#pragma clang attribute pop

/* Set by the daemon before each run: a socket is in one listing once. */
__u32 net_listing = 1;
__u32 net_only_rest; /* what has moved since it was told */

static __always_inline void write_sock(struct seq_file *seq, struct net_bytes_event *ev,
				       const struct net_owner *owner)
{
	ev->hdr.time_ns = bpf_ktime_get_boot_ns();
	ev->hdr.tgid = owner->tgid;
	ev->hdr.tid = owner->tid;
	ev->hdr.cgroup_id = owner->cgroup_id;
	ev->hdr.user = user_number(&owner->ids);
	ev->hdr.type = NET_SOCK;
	ev->hdr.size = sizeof(*ev);
	bpf_seq_write(seq, ev, sizeof(*ev));
}

static __always_inline int list_tcp(struct bpf_iter__task_file *ctx, struct task_struct *task,
				    struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	__u8 state = ((struct sock___net *)sk)->__sk_common.skc_state;
	struct net_bytes_event ev = {};
	struct net_state *st;

	if (!tp || !is_connection(sk) || state == TCP_CLOSE || state == TCP_SYN_RECV)
		return 0;
	st = know_tcp(sk, tp);
	if (!st || st->listing == net_listing)
		return 0;
	st->listing = net_listing;
	follow_received(st, sk, tp);
	if (!st->owner.tgid || st->owner.tgid == task->tgid)
		put_owner(&st->owner, task);
	__builtin_memcpy(&ev.sock, &st->sock, sizeof(ev.sock));
	ev.tx_bytes = st->ways[1].has_base ? stream_end(st, sk, tp, true) : tp->bytes_acked;
	ev.rx_bytes = tp->bytes_received;
	ev.state = state;
	write_sock(ctx->meta->seq, &ev, &st->owner);
	return 0;
}

static __always_inline int list_count(struct bpf_iter__task_file *ctx, struct task_struct *task,
				      struct sock *sk, bool is_unix)
{
	struct net_count *c = bpf_sk_storage_get(&net_counts, sk, 0, 0);
	struct net_bytes_event ev = {};

	if (!c) {
		if (net_only_rest)
			return 0;
		c = bpf_sk_storage_get(&net_counts, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!c)
			return 0;
		put_sock(&c->sock, sk);
		c->first_ns = bpf_ktime_get_boot_ns();
	}
	if (c->listing == net_listing ||
	    (net_only_rest && c->tx_messages + c->rx_messages == c->told_messages))
		return 0;
	c->listing = net_listing;
	if (!c->owner.tgid || c->owner.tgid == task->tgid)
		put_owner(&c->owner, task);
	if (is_unix)
		put_unix_ends(&c->sock, sk);
	else
		put_udp_ends(&c->sock, sk);
	put_count(&ev, c);
	write_sock(ctx->meta->seq, &ev, &c->owner);
	return 0;
}

/* NULL: the descriptor leads to none, or to one of ours. */
static __always_inline struct sock *listed_sock(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct socket *socket;

	if (!task || !file || is_own(task->tgid))
		return 0;
	socket = (struct socket *)bpf_sock_from_file(file);
	return socket ? socket->sk : 0;
}

SEC("iter/task_file")
int list_sockets(struct bpf_iter__task_file *ctx)
{
	struct sock *sk = listed_sock(ctx);
	struct task_struct *task = ctx->task;
	struct sock___net *n = (void *)sk;
	__u16 family;

	if (!sk || !task)
		return 0;
	family = n->__sk_common.skc_family;
	if (family == AF_UNIX) /* neither one that listens nor one that is not connected yet */
		return n->sk_type != SOCK_STREAM || n->__sk_common.skc_state == TCP_ESTABLISHED
			       ? list_count(ctx, task, sk, true)
			       : 0;
	if (family != AF_INET && family != AF_INET6)
		return 0;
	if (n->sk_protocol == IPPROTO_TCP)
		return list_tcp(ctx, task, sk);
	return n->sk_protocol == IPPROTO_UDP ? list_count(ctx, task, sk, false) : 0;
}

/* What has become of round trips since they were told, where nobody watches what is moved. */
SEC("iter/task_file")
int sample_sockets(struct bpf_iter__task_file *ctx)
{
	struct sock *sk = listed_sock(ctx);
	__u64 now = bpf_ktime_get_boot_ns();
	struct net_state *st;
	struct tcp_sock *tp;

	if (!sk || ((struct sock___net *)sk)->__sk_common.skc_state != TCP_ESTABLISHED)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	st = tp ? bpf_sk_storage_get(&net_socks, sk, 0, 0) : 0;
	if (!st || now - st->sampled_ns < TCP_SAMPLE_NS)
		return 0;
	if (st->told_srtt != tp->srtt_us || st->told_cwnd != tp->snd_cwnd)
		sample_tcp(st, tp, now);
	return 0;
}

#endif
