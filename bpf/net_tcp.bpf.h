/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_tcp.bpf.h - what TCP does, most of it behind the program's back. A part of
 * net.bpf.c.
 */
#ifndef NET_TCP_BPF_H
#define NET_TCP_BPF_H

#include "net_out.bpf.h"

/* Whose connection it is, as far as it is known. */
static __always_inline void put_owner(struct event_hdr *hdr, const struct net_state *st)
{
	hdr->tgid = st->tgid;
	hdr->tid = st->tid;
	hdr->cgroup_id = st->cgroup_id;
}

static __always_inline void put_numbers(struct net_tcp_event *ev, struct tcp_sock *tp)
{
	ev->srtt_us = tp->srtt_us >> 3;
	ev->rttvar_us = tp->mdev_us >> 2;
	ev->cwnd = tp->snd_cwnd;
	ev->ssthresh = tp->snd_ssthresh;
	ev->total_retrans = tp->total_retrans;
	ev->bytes_sent = tp->bytes_sent;
	ev->bytes_acked = tp->bytes_acked;
	ev->bytes_received = tp->bytes_received;
}

static __always_inline struct net_tcp_event *begin_tcp(const struct net_state *st,
						       struct tcp_sock *tp, __u8 kind)
{
	struct net_tcp_event *ev = event_reserve(NET_TCP, 0, sizeof(*ev));

	if (!ev)
		return 0;
	put_owner(&ev->hdr, st);
	__builtin_memcpy(&ev->sock, &st->sock, sizeof(ev->sock));
	ev->kind = kind;
	ev->old_state = ev->new_state = 0;
	ev->by_owner = 0;
	ev->reason = ev->error = 0;
	put_numbers(ev, tp);
	return ev;
}

/* Does the owner itself close it, in this very call? */
static __always_inline bool is_by_owner(const struct net_state *st, int new_state)
{
	return st->tgid == bpf_get_current_pid_tgid() >> 32 &&
	       (new_state == TCP_SYN_SENT || new_state == TCP_FIN_WAIT1 ||
		new_state == TCP_LAST_ACK);
}

/* connect() and close() come from the program, all else from the network. */
static __always_inline bool set_owner(struct net_state *st)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (task->flags & PF_KTHREAD)
		return true;
	if (is_own(task->tgid))
		return false;
	st->tgid = task->tgid;
	st->tid = task->pid;
	st->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	return true;
}

/* A connection begins: it is ours to know from its first byte on. NULL: it is left out. */
static __always_inline struct net_state *meet_new(struct sock *sk, int old_state, int new_state)
{
	struct net_state *st = bpf_sk_storage_get(&net_socks, sk, 0, 0);
	bool is_client = new_state == TCP_SYN_SENT;

	if (!is_client && !(old_state == TCP_SYN_RECV && new_state == TCP_ESTABLISHED))
		return st;
	if (st) /* a socket may connect again */
		bpf_sk_storage_delete(&net_socks, sk);
	if (is_client && is_own(bpf_get_current_pid_tgid() >> 32))
		return 0;
	st = state_new(sk);
	if (!st)
		return 0;
	st->is_known = 1;
	st->sock.role = is_client ? NET_ROLE_CLIENT : NET_ROLE_SERVER;
	if (is_client)
		(void)set_owner(st);
	return st;
}

/* shutdown() or close(): nothing is sent any more. */
static __always_inline void end_sent(struct net_state *st, struct sock *sk, struct tcp_sock *tp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_move m = { .task = task, .st = st, .fd = -1, .flags = NET_SENT };

	if (!st->ways[1].has_base || st->ways[1].is_ended || task->flags & PF_KTHREAD)
		return;
	st->ways[1].is_ended = 1;
	m.off = st->ways[1].off = stream_end(st, sk, tp, true);
	m.flags |= st->stale ? NET_STALE : 0;
	record_bare_move(&m);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int old_state, int new_state)
{
	struct sock___net *n = (void *)sk;
	struct net_tcp_event *ev;
	struct net_state *st;
	struct tcp_sock *tp;

	if (n->sk_protocol != IPPROTO_TCP || old_state == TCP_LISTEN || new_state == TCP_LISTEN ||
	    new_state == TCP_SYN_RECV)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	st = meet_new(sk, old_state, new_state);
	if (!st || !tp)
		return 0;
	if (new_state == TCP_ESTABLISHED) {
		put_ends(&st->sock, sk); /* the local port of a client, only now */
		learn_bases(st, sk, tp);
		if (st->sock.inet.peer_port == 53 || st->sock.inet.local_port == 53)
			st->protocol = NET_PROTOCOL_DNS;
	} else if (new_state == TCP_FIN_WAIT1 || new_state == TCP_LAST_ACK) {
		end_sent(st, sk, tp);
	}
	ev = begin_tcp(st, tp, NET_TCP_STATE);
	if (!ev)
		return 0;
	ev->old_state = old_state;
	ev->new_state = new_state;
	ev->by_owner = is_by_owner(st, new_state);
	ev->error = new_state == TCP_CLOSE ? n->sk_err : 0;
	event_submit(ev);
	return 0;
}

#endif
