/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_io.bpf.h - what calls move through TCP sockets, and of which protocol that is. A
 * part of net.bpf.c.
 */
#ifndef NET_IO_BPF_H
#define NET_IO_BPF_H

#include "net_frames.bpf.h"
#include "net_http1.bpf.h"
#include "net_out.bpf.h"
#include "net_tcp.bpf.h"
#include "net_thread.bpf.h"
#include "net_udp.bpf.h"

#define MSG_TRUNC 0x20

/* How often it is tried to find out what a connection speaks: where its turns begin. */
#define MAX_TRIES 16
/* Of TLS: handshakes are over by then, also where a head is a call of its own. */
#define TLS_MAX_PIECES 48

/* Of the head of a record with a handshake, as far as it has come. */
static __always_inline bool is_begun_hello(__u64 w, __u32 n)
{
	if (n == 0 || (__u8)w != 0x16 || (n > 1 && (__u8)(w >> 8) != 3))
		return false;
	return n < 3 || (__u8)(w >> 16) <= 4;
}

/* By the first bytes of a turn. */
static __always_inline __u8 protocol_of(struct net_room *room, __u32 n)
{
	__u64 w = first_of(word_at(room, 0), n);

	if (n < 6 && is_begun_hello(w, n))
		return NET_PROTOCOL_TLS;
	if (is_method(w) || is_response(w) || is_rare_method(w))
		return NET_PROTOCOL_HTTP1;
	if (w == WORD('P', 'R', 'I', ' ', '*', ' ', 'H', 'T'))
		return NET_PROTOCOL_HTTP2;
	/* A record with a ClientHello or ServerHello, or what of them there is. */
	if ((w & 0xffff) == 0x0316 && (__u8)(w >> 16) <= 4 &&
	    ((__u8)(w >> 40) == 1 || (__u8)(w >> 40) == 2))
		return NET_PROTOCOL_TLS;
	return NET_PROTOCOL_UNKNOWN;
}

/* A server may send its SETTINGS first: a whole frame of them, at the very beginning. */
static __always_inline bool is_settings(struct net_room *room, __u32 n, __u64 off)
{
	__u64 w = word_at(room, 0);
	__u32 len = (__u8)(w >> 16) | (__u32)(__u8)(w >> 8) << 8 | (__u32)(__u8)w << 16;

	return off == 0 && n >= 9 && room->bytes[8] == 0 && w >> 24 == 4 && len % 6 == 0 &&
	       len <= 120;
}

/* `begun`: nobody knows where in its frames the other direction is. */
static __always_inline void enter_protocol(struct net_state *st, __u8 protocol, __u8 index,
					   bool begun)
{
	st->protocol = protocol;
	for (int i = 0; i < 2; i++) {
		st->ways[i].mode = 0;
		st->ways[i].left = 0;
		st->ways[i].n_head = 0;
		st->ways[i].behind = 0;
		st->ways[i].taken = 0;
	}
	if (begun && protocol != NET_PROTOCOL_HTTP1)
		st->ways[!index].mode = FRAME_LOST;
	st->n_pieces = 0;
}

/*
 * Where a turn begins, of a connection that is not known yet, or speaks HTTP/1, which
 * may change into something else. True: it is known now.
 */
__noinline int find_protocol(struct net_room *room, struct net_state *st, __u32 index, __u64 off,
			     __u32 len)
{
	struct net_cursor begin;
	bool was_http1;
	__u8 protocol;
	__u32 n;

	if (!room || !st)
		return 0;
	index &= 1;
	begin = room->cursor;
	was_http1 = st->protocol == NET_PROTOCOL_HTTP1;
	n = gather(room, was_http1 ? HTTP1_MAX_HEAD : LOOK_AHEAD);
	protocol = protocol_of(room, n);

	room->cursor = begin;
	room->cut = 0;
	if (!protocol && is_settings(room, n, off))
		protocol = NET_PROTOCOL_HTTP2;
	if (!protocol && st->stale && !was_http1 && http2_are_frames(room, n, len))
		protocol = NET_PROTOCOL_HTTP2;
	if (!protocol)
		return false;
	room->fresh = was_http1 && protocol == NET_PROTOCOL_HTTP1;
	if (protocol != st->protocol)
		enter_protocol(st, protocol, index, st->stale && !was_http1);
	if (protocol == NET_PROTOCOL_HTTP2 && room->bytes[0] == 'P') {
		st->ways[index].mode = FRAME_WANTED;
		st->ways[index].left = HTTP2_PREFACE;
	}
	return true;
}

/* A server's SETTINGS have come first: this is the client's preface. */
static __always_inline bool is_preface(const struct net_state *st, const struct net_way *way,
				       const struct net_move *m)
{
	bool by_client = (st->sock.role == NET_ROLE_CLIENT) == !!(m->flags & NET_SENT);

	return m->off == 0 && by_client && way->mode == FRAME_HEAD && !st->stale;
}

/* No payload will be wanted of this one. */
static __always_inline bool is_closed_book(const struct net_state *st, bool turned)
{
	if (st->protocol == NET_PROTOCOL_UNKNOWN)
		return !turned || st->n_tries >= MAX_TRIES;
	return st->protocol == NET_PROTOCOL_TLS && st->n_pieces >= TLS_MAX_PIECES;
}

/* What is known to be none of the heads, however it is moved. */
static __always_inline bool is_known_body(const struct net_state *st, const struct net_way *way,
					  __u32 len, bool turned)
{
	if (turned || st->protocol != NET_PROTOCOL_HTTP1)
		return false;
	return http1_is_body(way, len);
}

static __always_inline void pass(struct net_state *st, struct net_way *way, __u32 len)
{
	if (st->protocol == NET_PROTOCOL_HTTP1)
		http1_pass(way, len);
	else if (st->protocol == NET_PROTOCOL_HTTP2 || st->protocol == NET_PROTOCOL_TLS)
		frames_pass(way, len);
}

/* The room's cursor is at the first byte of those that were moved. */
static __always_inline void walk(struct net_room *room, struct net_state *st, struct net_way *way,
				 const struct net_move *m, bool turned)
{
	if (st->protocol == NET_PROTOCOL_UNKNOWN ||
	    (st->protocol == NET_PROTOCOL_HTTP1 && turned)) {
		if (find_protocol(room, st, m->flags & NET_SENT ? 1 : 0, m->off, m->len)) {
			if (st->protocol == NET_PROTOCOL_HTTP1)
				way->mode = HTTP1_START;
		} else if (st->protocol == NET_PROTOCOL_UNKNOWN) {
			st->n_tries++;
			return;
		} else if (!http1_is_within(way)) {
			if (!may_be_response(word_at(room, 0), m->len)) {
				pass(st, way, m->len);
				return;
			}
			way->mode = HTTP1_START;
		}
	}
	switch (st->protocol) {
	case NET_PROTOCOL_HTTP1:
		http1_walk(room, way);
		break;
	case NET_PROTOCOL_HTTP2:
		if (is_preface(st, way, m)) {
			way->mode = FRAME_WANTED;
			way->left = HTTP2_PREFACE;
		}
		frames_walk(room, way, 0);
		break;
	case NET_PROTOCOL_TLS:
		st->n_pieces++;
		frames_walk(room, way, 1);
		break;
	case NET_PROTOCOL_DNS: /* their lengths before them */
		room->n_bytes = gather(room, m->len < DNS_MAX_PAYLOAD ? m->len : DNS_MAX_PAYLOAD);
		run_add(room, 0, room->n_bytes);
		if (!room->n_bytes)
			room->n_runs = 0;
		break;
	}
}

/* Bytes of a stream, as far as they are wanted. */
static __always_inline void move_stream(struct sock *sk, struct net_state *st, struct net_move *m,
					bool turned, bool readable)
{
	struct net_way *way = &st->ways[m->flags & NET_SENT ? 1 : 0];
	struct net_room *room;

	if (is_closed_book(st, turned)) {
		record_bare_move(m);
		return;
	}
	if (is_known_body(st, way, m->len, turned)) {
		pass(st, way, m->len);
		record_bare_move(m);
		return;
	}
	room = enter_room();
	if (room && readable && find_bytes(&room->cursor, sk, &st->many, m)) {
		walk(room, st, way, m, turned);
		m->protocol = st->protocol;
		record_move(room, m);
	} else {
		m->flags |= room && readable ? 0 : NET_CUT;
		pass(st, way, m->len);
		record_bare_move(m);
	}
	if (room)
		room->busy = 0;
}

/* The end of what comes in, told once: a FIN was read. */
static __always_inline bool is_end(struct net_way *way, struct sock *sk, bool sent)
{
	struct sock___net *n = (void *)sk;

	if (sent || way->is_ended || !(n->__sk_common.skc_flags & 1ul << SOCK_DONE))
		return false;
	way->is_ended = 1;
	return true;
}

/* The socket's state, new or old (NULL: there is none yet); NULL: it is left out. */
static __always_inline struct net_state *state_of(struct sock *sk, struct tcp_sock *tp,
						  struct net_state *st, const struct net_owner *who)
{
	if ((!st || st->owner.tgid != who->tgid) && is_own(who->tgid))
		return 0;
	if (!st)
		st = state_new(sk);
	if (!st)
		return 0;
	st->owner = *who;
	if (!st->ways[0].has_base || !st->ways[1].has_base)
		meet_tcp(st, sk, tp);
	return st;
}

/* Before it is told: does the conversation turn here, and may the thread have a stack? */
static __noinline bool wants_stack(struct sock *sk, struct net_state *st, __u32 len, __u32 sent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_stacks *s;
	struct tcp_sock *tp;

	if (!len || st->last_way == 1 + sent)
		return false;
	s = may_take_stack(task, &st->stack_jiffy);
	if (!s || is_own(task->tgid))
		return false;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return false;
	s->now = bpf_ktime_get_boot_ns();
	s->sent = sent;
	s->cookie = st->sock.cookie;
	s->off = stream_end(st, sk, tp, sent) - len;
	put_who(&s->who, task);
	return true;
}

static __noinline int move_tcp(struct sock *sk, struct net_state *st, __u32 len, __u32 msg_flags,
			       __u32 sent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_move m = { .len = len, .fd = -1, .flags = sent ? NET_SENT : 0 };
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct net_way *way;
	bool turned;
	__u64 end;

	if (!tp)
		return 0;
	m.now = bpf_ktime_get_boot_ns();
	put_who(&m.who, task);
	st = state_of(sk, tp, st, &m.who);
	if (!st)
		return 0;
	way = &st->ways[sent ? 1 : 0];
	if (!len && !is_end(way, sk, sent))
		return 0;
	m.sock = &st->sock;
	m.protocol = st->protocol;
	end = stream_end(st, sk, tp, sent);
	m.off = end - len;
	turned = st->last_way != 1 + sent;
	if (sent ? turned && is_in_body(st) : m.off > way->off) {
		__u32 n = tell_unseen(st, sk, tp, sent ? 0 : len, !sent);

		if (n)
			pass(st, &st->ways[0], n);
	}
	way->off = end;
	if (st->stale)
		m.flags |= NET_STALE;
	if (!len) {
		record_bare_move(&m);
		return 0;
	}
	st->last_way = 1 + sent;
	move_stream(sk, st, &m, turned, !(msg_flags & MSG_TRUNC));
	if (st->protocol == NET_PROTOCOL_TLS || st->protocol == NET_PROTOCOL_UNKNOWN)
		net_thread_io(task, &st->sock, st->protocol, sent, m.now);
	if (m.now - st->sampled_ns >= TCP_SAMPLE_NS)
		sample_tcp(st, tp, m.now);
	return 0;
}

#endif
