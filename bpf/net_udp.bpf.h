/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_udp.bpf.h - datagrams: those of DNS whole, of others how much. And UNIX sockets, of
 * which nothing else is told either, but for what systemd-resolved is asked. A part of
 * net.bpf.c.
 */
#ifndef NET_UDP_BPF_H
#define NET_UDP_BPF_H

#include "net_out.bpf.h"
#include "net_quic.bpf.h"
#include "net_thread.bpf.h"

#define DNS_MAX_PAYLOAD 1232

/* A socket's first so many moves are told one by one, since it may be gone soon; then seldom. */
#define COUNT_TELL_FIRST 8
#define COUNT_TELL_NS	 10000000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct unix_address___net {
	int len;
	struct sockaddr_un name[1];
};

struct atomic64 {
	__s64 counter;
};

struct sock_common___cookie {
	struct atomic64 skc_cookie;
};

struct sock___cookie {
	struct sock_common___cookie __sk_common;
};

#pragma clang attribute pop

/* ---- who is at the ends ---- */

/* A path ends in NUL, an abstract name starts with it. Of a long one, the end. */
static __always_inline void put_unix_path(struct net_unix *u, struct unix_address *addr)
{
	const char *path = addr->name[0].sun_path;
	__u32 len = BPF_CORE_READ(addr, len) - 3, n;
	char first = 0;

	if (len == 0 || len > NET_MAX_PATH_LEN)
		return;
	bpf_probe_read_kernel(&first, 1, path);
	if (!first) {
		u->is_abstract = 1;
		path++;
	}
	n = len;
	if (n > NET_PATH_LEN) {
		path += n - NET_PATH_LEN;
		n = NET_PATH_LEN;
	}
	asm volatile("" : "+r"(n)); /* the verifier shall see the bound that follows */
	if (n <= NET_PATH_LEN && bpf_probe_read_kernel(u->path, n, path) == 0)
		u->path_len = len;
}

/* The end that has a name is the server's. */
static __always_inline void put_unix_ends(struct net_sock *s, struct sock *sk)
{
	struct unix_sock *self = (struct unix_sock *)sk;
	struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ(self, peer);
	struct unix_address *ours = BPF_CORE_READ(self, addr), *theirs = 0;
	struct net_unix *u = &s->unix_sock;

	s->family = AF_UNIX;
	s->protocol = ((struct sock___net *)sk)->sk_type;
	if (peer) {
		u->peer_cookie =
			BPF_CORE_READ((struct sock___cookie *)peer, __sk_common.skc_cookie.counter);
		theirs = BPF_CORE_READ(peer, addr);
	}
	u->path_len = u->is_abstract = 0;
	if (theirs)
		put_unix_path(u, theirs);
	else if (ours)
		put_unix_path(u, ours);
	if (theirs || ours)
		s->role = theirs ? NET_ROLE_CLIENT : NET_ROLE_SERVER;
}

/* Of an unconnected socket, the other end of this one message. */
static __always_inline void put_name(struct net_sock *s, __u64 name)
{
	struct net_inet *inet = &s->inet;
	__u16 head[2] = {}; /* family, port */

	if (!name || bpf_probe_read_user(head, sizeof(head), (void *)name))
		return;
	__builtin_memset(inet->peer, 0, sizeof(inet->peer));
	inet->peer_port = __builtin_bswap16(head[1]);
	if (head[0] == AF_INET) {
		bpf_probe_read_user(inet->peer, 4, (void *)(name + 4));
	} else if (head[0] == AF_INET6) {
		bpf_probe_read_user(inet->peer, 16, (void *)(name + 8));
		if (is_v4_mapped(inet->peer)) {
			bpf_probe_read_user(inet->peer, 4, (void *)(name + 20));
			__builtin_memset(inet->peer + 4, 0, 12);
			__builtin_memset(inet->local, 0, 16);
			s->family = AF_INET;
			inet->mapped = 1;
		} else {
			s->family = AF_INET6;
			inet->mapped = 0;
		}
	}
}

/* ---- counts ---- */

static __always_inline struct net_count *count_of(struct sock *sk, const struct net_owner *who,
						  __u64 now)
{
	struct net_count *c = bpf_sk_storage_get(&net_counts, sk, 0, 0);

	if ((!c || c->owner.tgid != who->tgid) && is_own(who->tgid))
		return 0;
	if (!c) {
		c = bpf_sk_storage_get(&net_counts, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!c) {
			__sync_fetch_and_add(&n_no_storage, 1);
			return 0;
		}
		put_sock(&c->sock, sk);
		c->first_ns = now;
	}
	c->owner = *who;
	return c;
}

static __always_inline void put_count(struct net_bytes_event *ev, const struct net_count *c)
{
	__builtin_memcpy(&ev->sock, &c->sock, sizeof(ev->sock));
	ev->tx_bytes = c->tx_bytes;
	ev->rx_bytes = c->rx_bytes;
	ev->tx_messages = c->tx_messages;
	ev->rx_messages = c->rx_messages;
	ev->first_ns = c->first_ns;
	ev->state = 0;
	ev->quic = c->quic;
}

/* False: it is not the time to tell. */
static __always_inline bool count(struct net_count *c, __u32 len, bool sent, __u64 now)
{
	__sync_fetch_and_add(sent ? &c->tx_bytes : &c->rx_bytes, len);
	__sync_fetch_and_add(sent ? &c->tx_messages : &c->rx_messages, 1);
	if (c->n_told >= COUNT_TELL_FIRST && now - c->told_ns < COUNT_TELL_NS)
		return false;
	c->n_told++;
	c->told_ns = now;
	c->told_messages = c->tx_messages + c->rx_messages;
	return true;
}

static __always_inline void tell_count(const struct net_count *c)
{
	struct net_bytes_event *ev = event_reserve(NET_BYTES, 0, sizeof(*ev));

	if (!ev)
		return;
	put_thread(&ev->hdr, &c->owner);
	put_count(ev, c);
	event_submit(ev);
}

/* ---- UNIX sockets ---- */

const char resolve_path[40] = "/run/systemd/resolve/io.systemd.Resolve";

/* Is its other end systemd-resolved's, by the whole of its name? */
static __always_inline bool is_resolve(struct sock *sk)
{
	struct unix_sock *peer = (struct unix_sock *)BPF_CORE_READ((struct unix_sock *)sk, peer);
	struct unix_address *addr = peer ? BPF_CORE_READ(peer, addr) : 0;
	__u64 path[sizeof(resolve_path) / 8] = {};

	if (!addr || bpf_probe_read_kernel(path, sizeof(path), addr->name[0].sun_path))
		return false;
	for (int i = 0; i < sizeof(resolve_path); i++)
		if (((char *)path)[i] != resolve_path[i])
			return false;
	return true;
}

static __always_inline bool speaks_resolve(struct net_count *c, struct sock *sk)
{
	if (!c->speaks_resolve)
		c->speaks_resolve = 1 + is_resolve(sk);
	return c->speaks_resolve > 1;
}

/* What is asked of it, and what it answers: names and addresses. */
static __noinline int move_resolve(struct sock *sk, struct net_count *c, __u32 len, __u32 sent)
{
	struct net_move m = { .who = c->owner, .sock = &c->sock, .len = len, .fd = -1 };
	struct net_room *room = enter_room();

	m.now = bpf_ktime_get_boot_ns();
	m.protocol = NET_PROTOCOL_RESOLVE;
	m.flags = sent ? NET_SENT : 0;
	m.off = __sync_fetch_and_add(sent ? &c->tx_bytes : &c->rx_bytes, len);
	__sync_fetch_and_add(sent ? &c->tx_messages : &c->rx_messages, 1);
	c->told_messages = c->tx_messages + c->rx_messages;
	if (!room) {
		m.flags |= NET_CUT;
		record_bare_move(&m);
		return 0;
	}
	if (find_bytes(&room->cursor, sk, &c->many, &m)) {
		room->n_bytes = gather(room, len < NET_MAX_PAYLOAD ? len : NET_MAX_PAYLOAD);
		if (room->n_bytes)
			run_add(room, 0, room->n_bytes);
		room->cut |= len > NET_MAX_PAYLOAD;
	}
	record_move(room, &m);
	room->busy = 0;
	return 0;
}

static __noinline int move_unix(struct sock *sk, __u32 len, bool sent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now = bpf_ktime_get_boot_ns();
	struct net_owner who;
	struct net_count *c;

	put_who(&who, task);
	c = count_of(sk, &who, now);
	if (!c)
		return 0;
	if (!c->sock.family)
		put_unix_ends(&c->sock, sk);
	if (c->sock.protocol == SOCK_STREAM) {
		net_thread_io(task, &c->sock, NET_PROTOCOL_UNKNOWN, sent, now);
		if (speaks_resolve(c, sk))
			return move_resolve(sk, c, len, sent);
	}
	if (!count(c, len, sent, now))
		return 0;
	put_unix_ends(&c->sock, sk);
	tell_count(c);
	return 0;
}

/* ---- UDP ---- */

static __always_inline bool is_dns(const struct net_sock *s)
{
	return s->inet.peer_port == DNS_PORT || s->inet.local_port == DNS_PORT;
}

/* Whom it is connected to, if to anyone, now: it may be somebody else by the next time. */
static __always_inline bool put_udp_ends(struct net_sock *s, struct sock *sk)
{
	struct sock_common *c = &sk->__sk_common;

	if (c->skc_dport || !s->inet.local_port) {
		put_ends(s, sk);
		return c->skc_dport;
	}
	return false;
}

static __always_inline void move_dns(struct sock *sk, struct net_room *room, struct net_count *c,
				     struct net_move *m)
{
	room->n_bytes = gather(room, m->len < DNS_MAX_PAYLOAD ? m->len : DNS_MAX_PAYLOAD);
	if (room->n_bytes)
		run_add(room, 0, room->n_bytes);
	if (m->len > DNS_MAX_PAYLOAD)
		room->cut = 1;
	m->protocol = NET_PROTOCOL_DNS;
	m->flags |= NET_DATAGRAM;
	record_move(room, m);
}

/*
 * An unconnected socket says with each message whom it is for; whom one is from is not in
 * the caller's memory yet. A client's are from whom it has asked, a server's from anyone.
 */
static __noinline int move_udp(struct sock *sk, __u32 len, bool sent)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_move m = { .len = len, .fd = -1, .flags = sent ? NET_SENT : 0 };
	struct net_room *room = 0;
	struct net_count *c;
	bool connected, begins, readable = false;

	m.now = bpf_ktime_get_boot_ns();
	put_who(&m.who, task);
	c = count_of(sk, &m.who, m.now);
	if (!c)
		return 0;
	m.sock = &c->sock;
	connected = put_udp_ends(&c->sock, sk);
	if (!connected && !sent && c->sock.inet.local_port == DNS_PORT) {
		__builtin_memset(c->sock.inet.peer, 0, 16);
		c->sock.inet.peer_port = 0;
	}
	begins = may_begin_quic(c, len);
	if (is_dns(&c->sock) || (!connected && sent) || begins) {
		room = enter_room();
		readable = room && find_bytes(&room->cursor, sk, &c->many, &m);
		if (readable && sent && !connected)
			put_name(&c->sock, room->cursor.name);
		if (readable && begins && !is_dns(&c->sock))
			look_for_quic(room, c);
	}
	if (readable && is_dns(&c->sock))
		move_dns(sk, room, c, &m);
	else if (count(c, len, sent, m.now))
		tell_count(c);
	if (room)
		room->busy = 0;
	return 0;
}

/* A call for many messages has ended with one that failed. */
static __always_inline void fail_udp(struct sock *sk)
{
	struct net_count *c = bpf_sk_storage_get(&net_counts, sk, 0, 0);

	if (c)
		c->many.at = 0;
}

#endif
