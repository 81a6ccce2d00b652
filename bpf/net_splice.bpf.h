/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_splice.bpf.h - what splice() takes out of a TCP socket: no tracepoint of receives
 * tells of it, and its bytes are nowhere in a program's memory. A part of net.bpf.c.
 *
 * It is seen where the kernel's function returns; where none can be attached to, at a
 * tracepoint that every piece of every receive has, only while somebody splices: what
 * comes before that is unseen (net_unseen.bpf.h).
 */
#ifndef NET_SPLICE_BPF_H
#define NET_SPLICE_BPF_H

#include "net_io.bpf.h"

/* As move_tcp(), of which it is a small part: nothing is looked at. */
static __noinline int move_spliced(struct sock *sk, __u32 len)
{
	struct net_state *st = bpf_sk_storage_get(&net_socks, sk, 0, 0);
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_move m = { .len = len, .fd = -1, .flags = NET_KERNEL };
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct net_way *way;

	if (!tp)
		return 0;
	m.now = bpf_ktime_get_boot_ns();
	put_who(&m.who, task);
	st = state_of(sk, tp, st, &m.who);
	if (!st)
		return 0;
	way = &st->ways[0];
	if (!len && !is_end(way, sk, false))
		return 0;
	way->off = stream_end(st, sk, tp, false);
	m.sock = &st->sock;
	m.protocol = st->protocol;
	m.off = way->off - len;
	m.flags |= st->stale ? NET_STALE : 0;
	if (len) {
		st->last_way = 1;
		pass(st, way, len);
	}
	record_bare_move(&m);
	if (m.now - st->sampled_ns >= TCP_SAMPLE_NS)
		sample_tcp(st, tp, m.now);
	return 0;
}

SEC("fexit/tcp_splice_read")
int BPF_PROG(on_splice, struct socket *socket, void *pos, void *pipe, size_t size, __u32 flags,
	     long ret)
{
	struct sock *sk = socket->sk;

	return sk && ret >= 0 ? move_spliced(sk, ret) : 0;
}

/* Does the running thread splice out of this socket? The kernel reads others behind its back. */
static __always_inline bool is_spliced(struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 nr = syscall_nr(regs);
	struct args args;

	if (nr >= NET_MAX_NR || net_call_of_nr[nr] != NET_CALL_SPLICE || is_compat(task))
		return false;
	read_args(regs, &args);
	return is_of_fd(task, args.a[0], sk);
}

/* What has just been spliced out of it, 0: its stream is over; < 0: nothing. */
static __always_inline int spliced(struct sock *sk)
{
	struct net_state *st = bpf_sk_storage_get(&net_socks, sk, 0, 0);
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	__u32 n;

	if (!st || !tp)
		return -1;
	__sync_fetch_and_add(&net_n_splices, 1);
	n = unseen(st, sk, tp);
	return n || tp->copied_seq == tp->rcv_nxt ? (int)n : -1;
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(on_space, struct sock *sk)
{
	int n = is_spliced(sk) ? spliced(sk) : -1;

	return n >= 0 ? move_spliced(sk, n) : 0;
}

#endif
