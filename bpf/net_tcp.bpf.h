/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_tcp.bpf.h - what TCP does, most of it behind the program's back. A part of
 * net.bpf.c.
 */
#ifndef NET_TCP_BPF_H
#define NET_TCP_BPF_H

#include "net_out.bpf.h"
#include "net_unseen.bpf.h"

#define TCP_SAMPLE_NS  100000000
#define TCP_RETRANS_NS 10000000
#define TCP_DROP_NS    1000000

/* Which arguments tracepoints have here. */
const volatile bool reset_has_reason; /* since Linux 6.10 */
const volatile bool drop_has_reason;  /* since Linux 5.17 */
const volatile bool drop_has_sock;    /* who the packet would have been for; since Linux 6.11 */

#define PUT_NUMBERS(ev, READ)                                \
	do {                                                 \
		(ev)->srtt_us = READ(srtt_us) >> 3;          \
		(ev)->rttvar_us = READ(mdev_us) >> 2;        \
		(ev)->cwnd = READ(snd_cwnd);                 \
		(ev)->ssthresh = READ(snd_ssthresh);         \
		(ev)->total_retrans = READ(total_retrans);   \
		(ev)->bytes_sent = READ(bytes_sent);         \
		(ev)->bytes_acked = READ(bytes_acked);       \
		(ev)->bytes_received = READ(bytes_received); \
	} while (0)
#define READ_FIELD(field) tp->field
#define READ_COPY(field)  BPF_CORE_READ(tp, field)

static __always_inline struct net_tcp_event *begin_bare(const struct net_state *st, __u8 kind)
{
	struct net_tcp_event *ev = event_reserve(NET_TCP, 0, sizeof(*ev));

	if (!ev)
		return 0;
	put_thread(&ev->hdr, &st->owner); /* as far as it is known */
	__builtin_memcpy(&ev->sock, &st->sock, sizeof(ev->sock));
	ev->kind = kind;
	ev->old_state = ev->new_state = 0;
	ev->by_owner = 0;
	ev->reason = ev->error = 0;
	return ev;
}

static __always_inline struct net_tcp_event *begin_tcp(const struct net_state *st,
						       struct tcp_sock *tp, __u8 kind)
{
	struct net_tcp_event *ev = begin_bare(st, kind);

	if (ev)
		PUT_NUMBERS(ev, READ_FIELD);
	return ev;
}

/* Of a connection that lives longer than a moment, in passing. */
static __noinline int sample_tcp(struct net_state *st, struct tcp_sock *tp, __u64 now)
{
	struct net_tcp_event *ev;

	/* First: the verifier of Linux 6.1 asks twice for an event where anything is between. */
	st->sampled_ns = now;
	st->told_srtt = tp->srtt_us;
	st->told_cwnd = tp->snd_cwnd;
	ev = begin_tcp(st, tp, NET_TCP_SAMPLE);
	if (ev)
		event_submit(ev);
	return 0;
}

/* Does the owner itself close it, in this very call? */
static __always_inline bool is_by_owner(const struct net_state *st, int new_state)
{
	return st->owner.tgid == bpf_get_current_pid_tgid() >> 32 &&
	       (new_state == TCP_SYN_SENT || new_state == TCP_FIN_WAIT1 ||
		new_state == TCP_LAST_ACK);
}

/* A connection begins: it is ours to know from its first byte on. NULL: it is left out. */
static __always_inline struct net_state *meet_new(struct sock *sk, int old_state, int new_state)
{
	struct net_state *st = bpf_sk_storage_get(&net_socks, sk, 0, 0);
	struct task_struct *task = bpf_get_current_task_btf();
	bool is_client = new_state == TCP_SYN_SENT;

	if (!is_client && !(old_state == TCP_SYN_RECV && new_state == TCP_ESTABLISHED))
		return st;
	if (st) /* a socket may connect again */
		bpf_sk_storage_delete(&net_socks, sk);
	if (is_client && is_own(task->tgid))
		return 0;
	st = state_new(sk);
	if (!st)
		return 0;
	st->is_known = 1;
	st->sock.role = is_client ? NET_ROLE_CLIENT : NET_ROLE_SERVER;
	if (is_client && !(task->flags & PF_KTHREAD))
		put_who(&st->owner, task);
	return st;
}

/* shutdown() or close(): nothing is sent any more. */
static __always_inline void end_sent(struct net_state *st, struct sock *sk, struct tcp_sock *tp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_move m = { .sock = &st->sock, .fd = -1, .flags = NET_SENT };

	if (!st->ways[1].has_base || st->ways[1].is_ended || task->flags & PF_KTHREAD)
		return;
	st->ways[1].is_ended = 1;
	m.off = st->ways[1].off = stream_end(st, sk, tp, true);
	m.now = bpf_ktime_get_boot_ns();
	put_who(&m.who, task);
	m.protocol = st->protocol;
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
		meet_tcp(st, sk, tp); /* the local port of a client is known only now */
		st->sampled_ns = bpf_ktime_get_boot_ns();
	} else if (new_state == TCP_FIN_WAIT1 || new_state == TCP_LAST_ACK) {
		tell_unseen(st, sk, tp, 0, false);
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

/* ---- behind the program's back ---- */

/* Of a connection, known or not; NULL: no memory. */
static __always_inline struct net_state *know_tcp(struct sock *sk, struct tcp_sock *tp)
{
	struct net_state *st = bpf_sk_storage_get(&net_socks, sk, 0, 0);

	if (st)
		return st;
	st = state_new(sk);
	if (st)
		meet_tcp(st, sk, tp);
	return st;
}

static __always_inline void record_kind(struct sock *sk, __u8 kind, __u32 reason)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct net_tcp_event *ev;
	struct net_state *st;

	if (!tp || !is_connection(sk))
		return;
	st = know_tcp(sk, tp);
	if (!st)
		return;
	ev = begin_tcp(st, tp, kind);
	if (!ev)
		return;
	ev->reason = reason;
	event_submit(ev);
}

/* The counter says how many segments; a burst of them is one event. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	__u64 now = bpf_ktime_get_boot_ns();
	struct net_tcp_event *ev;
	struct net_state *st;

	if (!tp || !is_connection(sk))
		return 0;
	st = know_tcp(sk, tp);
	if (!st || st->told_retrans == tp->total_retrans || now - st->retrans_ns < TCP_RETRANS_NS)
		return 0;
	st->retrans_ns = now;
	st->told_retrans = tp->total_retrans;
	ev = begin_tcp(st, tp, NET_TCP_RETRANSMIT);
	if (ev)
		event_submit(ev);
	return 0;
}

/* Without a socket it is the answer to what nobody waits for: nobody's. */
SEC("tp_btf/tcp_send_reset")
int BPF_PROG(on_reset_sent, struct sock *sk)
{
	if (sk)
		record_kind(sk, NET_TCP_RESET_SENT, reset_has_reason ? ctx[2] : 0);
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(on_reset_received, struct sock *sk)
{
	record_kind(sk, NET_TCP_RESET_RECEIVED, 0);
	return 0;
}

/* Packets are freed all the time; with a reason that says more than that, they are dropped. */
static __always_inline bool is_drop(int reason)
{
	return reason >
	       (int)bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_NOT_SPECIFIED);
}

static __always_inline void record_drop(struct sock *sk, __u32 reason)
{
	/* Of a packet's socket the verifier does not let us look at more than a socket's. */
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u64 now = bpf_ktime_get_boot_ns();
	struct net_tcp_event *ev;
	struct net_state *st;

	if (!sk || !is_connection(sk))
		return;
	st = bpf_sk_storage_get(&net_socks, sk, 0, 0);
	if (!st || now - st->drop_ns < TCP_DROP_NS)
		return;
	st->drop_ns = now;
	ev = begin_bare(st, NET_TCP_DROP);
	if (!ev)
		return;
	PUT_NUMBERS(ev, READ_COPY);
	ev->reason = reason;
	event_submit(ev);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(on_drop, struct sk_buff *skb)
{
	int reason = drop_has_reason ? ctx[2] : 0;

	if (!is_drop(reason))
		return 0;
	if (drop_has_sock)
		record_drop((struct sock *)ctx[3], reason);
	else
		record_drop(skb->sk, reason);
	return 0;
}

#endif
