/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_socket.bpf.h - what is known of a socket: who is at its ends, whose it is, how far
 * its streams have come. A part of net.bpf.c.
 *
 * It is kept in the socket itself, so that it ends with it and no pointer is ever
 * taken for that of another one.
 */
#ifndef NET_SOCKET_BPF_H
#define NET_SOCKET_BPF_H

#include "common.bpf.h"
#include "net_events.h"
#include "own.bpf.h"
#include "socket.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common___net {
	unsigned short skc_family;
	volatile unsigned char skc_state;
	unsigned long skc_flags;
	possible_net_t skc_net;
};

struct sock___net {
	struct sock_common___net __sk_common;
	__u16 sk_protocol;
	__u16 sk_type;
	int sk_err;
	struct socket *sk_socket;
};

struct sk_buff {
	struct sock *sk;
};

/* Since Linux 5.17; the numbers are not the same everywhere. */
enum skb_drop_reason {
	SKB_DROP_REASON_NOT_SPECIFIED = 2,
};

struct tcp_sock {
	__u32 rcv_nxt, copied_seq;
	__u32 write_seq, snd_una, snd_nxt;
	__u64 bytes_received, bytes_acked, bytes_sent, bytes_retrans;
	__u32 srtt_us, mdev_us, snd_cwnd, snd_ssthresh, total_retrans;
};

#pragma clang attribute pop

#define IPPROTO_TCP 6
#define IPPROTO_UDP 17

#define DNS_PORT 53

#define SOCK_DONE 1 /* bit of skc_flags: FIN has come */

/* enum of net/tcp_states.h */
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_FIN_WAIT1,
	TCP_FIN_WAIT2,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_LISTEN,
	TCP_CLOSING,
	TCP_NEW_SYN_RECV,
};

/* Where a direction is in what it carries, for whoever decides which bytes are copied. */
struct net_way {
	__u64 off;    /* in the stream, of what comes next */
	__u64 left;   /* of the body, the frame or the chunk that is under way */
	__u32 base;   /* sequence number of the stream's first byte */
	__u32 behind; /* bytes of the frame behind `left`, which nobody wants */
	__u16 taken;  /* bytes of the head that is under way */
	__u8 has_base;
	__u8 mode;     /* enum http1_mode, enum frame_mode */
	__u8 n_head;   /* bytes of a frame's head that have come */
	__u8 is_ended; /* its end has been told */
	__u8 line;     /* HTTP/1: characters of the line so far */
	__u8 http1;    /* HTTP/1: flags of the head under way */
	__u8 head[20]; /* more than the longest: for the verifier */
};

/* How far a call for many messages has come: nobody tells which of them is moved. */
struct net_many {
	__u64 at;  /* the messages; 0: none is under way */
	__u32 tid; /* whose call */
	__u32 n;   /* have been moved */
	__u32 len; /* of the last one of these */
	__u32 pad;
};

/* Who has used a socket last; 0: nobody yet. */
struct net_owner {
	__u64 cgroup_id;
	__u32 tgid, tid;
	struct user_ids ids; /* the user's it was then: remember_user(), always */
};

/* Of TCP. */
struct net_state {
	struct net_sock sock;
	struct net_owner owner;
	struct net_many many;
	__u64 sampled_ns, retrans_ns, drop_ns; /* when these were told */
	__u64 stack_jiffy;		       /* when a stack was refused lastly */
	__u32 told_retrans;
	__u32 told_srtt, told_cwnd; /* by the last sample */
	__u32 listing;		    /* the last one it was in */
	__u8 is_known;		    /* 0: it is new */
	__u8 protocol;		    /* enum net_protocol */
	__u8 n_tries;		    /* to find out the protocol */
	__u8 n_pieces;		    /* whose bytes were copied, where they are counted */
	__u8 stale;
	__u8 last_way;		/* 1 + index of `ways`; 0: none */
	__u16 epoch;		/* as net_epoch: what has been received since is all known */
	struct net_way ways[2]; /* received, sent */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct net_state);
} net_socks SEC(".maps");

/* Odd while the daemon has what is received watched: what came before nobody knows. */
__u32 net_epoch;

/* Of others. */
struct net_count {
	struct net_sock sock;
	struct net_owner owner;
	struct net_many many;
	__u64 tx_bytes, rx_bytes, tx_messages, rx_messages;
	__u64 first_ns, told_ns, told_messages;
	__u32 n_told;
	__u32 listing;
	__u32 speaks_resolve; /* of a UNIX socket: 1 + whether it does; 0: not looked at yet */
	struct net_quic quic; /* of UDP */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct net_count);
} net_counts SEC(".maps");

/* What could not be kept or read. The daemon tells. */
__u64 n_no_storage;

static __always_inline void put_owner(struct net_owner *ret, struct task_struct *task)
{
	ret->tgid = task->tgid;
	ret->tid = task->pid;
	ret->cgroup_id = task_cgroup_id(task);
	remember_user(&ret->ids, task);
}

static __always_inline bool is_v4_mapped(const __u8 a[16])
{
	const __u32 *w = (const void *)a;

	return !w[0] && !w[1] && w[2] == __builtin_bswap32(0xffff);
}

/* Of an IPv6 socket. Mapped addresses are as those of IPv4. */
static __always_inline void put_inet6(struct net_sock *s, struct sock_common *sk)
{
	struct net_inet *inet = &s->inet;

	if (!bpf_core_field_exists(sk->skc_v6_daddr))
		return;
	bpf_core_read(inet->local, 16, &sk->skc_v6_rcv_saddr);
	bpf_core_read(inet->peer, 16, &sk->skc_v6_daddr);
	if (is_v4_mapped(inet->peer)) {
		s->family = AF_INET;
		inet->mapped = 1;
		__builtin_memset(inet->local, 0, 16);
		__builtin_memset(inet->peer, 0, 16);
		bpf_core_read(inet->local, 4, &sk->skc_rcv_saddr);
		bpf_core_read(inet->peer, 4, &sk->skc_daddr);
	} else if (inet->peer[0] == 0xfe && (inet->peer[1] & 0xc0) == 0x80) {
		inet->scope_id = BPF_CORE_READ(sk, skc_bound_dev_if);
	}
}

/* Who is at its ends: once known it stays, but for the ports of one that is connecting. */
static __always_inline void put_ends(struct net_sock *s, struct sock *sk)
{
	struct sock_common *c = &sk->__sk_common;
	struct net_inet *inet = &s->inet;

	s->family = c->skc_family;
	inet->local_port = c->skc_num;
	inet->peer_port = __builtin_bswap16(c->skc_dport);
	if (s->family == AF_INET) {
		bpf_core_read(inet->local, 4, &c->skc_rcv_saddr);
		bpf_core_read(inet->peer, 4, &c->skc_daddr);
	} else {
		put_inet6(s, c);
	}
}

static __always_inline void put_sock(struct net_sock *s, struct sock *sk)
{
	struct sock___net *n = (void *)sk;

	s->cookie = bpf_get_socket_cookie(sk);
	s->netns = BPF_CORE_READ(n, __sk_common.skc_net.net, ns.inum);
	s->protocol = n->sk_protocol;
}

/*
 * Of a socket that is new to us. NULL: no memory, which is counted. Not for one that may
 * be no whole socket (a request, or one in TIME_WAIT).
 */
static __noinline struct net_state *state_new(struct sock *sk)
{
	struct net_state *st = bpf_sk_storage_get(&net_socks, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!st) {
		__sync_fetch_and_add(&n_no_storage, 1);
		return 0;
	}
	put_sock(&st->sock, sk);
	put_ends(&st->sock, sk);
	st->epoch = net_epoch;
	return st;
}

/* ---- TCP's own numbers ---- */

/*
 * What has come since the beginning is bytes_received; the difference of both is the
 * sequence number of the first byte, and stays. Read once more when a packet came between.
 */
static __always_inline __u32 received_base(struct tcp_sock *tp)
{
	__u32 next = tp->rcv_nxt, base;

	for (int i = 0; i < 3; i++) {
		base = next - (__u32)tp->bytes_received;
		barrier();
		if (tp->rcv_nxt == next)
			break;
		next = tp->rcv_nxt;
	}
	return base;
}

/* Likewise; but a client's SYN was acknowledged and is counted, a server's is not. */
static __always_inline __u32 sent_base(struct tcp_sock *tp, bool client)
{
	__u32 una = tp->snd_una, base;

	for (int i = 0; i < 3; i++) {
		base = una - (__u32)tp->bytes_acked;
		barrier();
		if (tp->snd_una == una)
			break;
		una = tp->snd_una;
	}
	return base + client;
}

/*
 * Of a connection that was there before us: a client's SYN is the one that was sent and
 * is not among the bytes that were. Not to be told once there is a FIN, or while
 * another CPU is at it.
 */
static __always_inline void guess_role(struct net_state *st, struct sock *sk, struct tcp_sock *tp)
{
	__u8 state = ((struct sock___net *)sk)->__sk_common.skc_state;
	__u32 extra =
		tp->snd_nxt - sent_base(tp, false) - (__u32)(tp->bytes_sent - tp->bytes_retrans);

	if (state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT)
		return;
	if (extra == 1)
		st->sock.role = NET_ROLE_CLIENT;
	else if (extra == 0)
		st->sock.role = NET_ROLE_SERVER;
}

/* The same at both ends, whoever asks. */
static __always_inline __u32 pair_of(__u32 a, __u32 b)
{
	__u32 h = (a ^ b) * 0x9e3779b1 + (a + b);

	h ^= h >> 16;
	h *= 0x85ebca6b;
	h ^= h >> 13;
	return h ? h : 1;
}

/* Once it is connected. */
static __always_inline void learn_bases(struct net_state *st, struct sock *sk, struct tcp_sock *tp)
{
	if (!st->sock.role)
		guess_role(st, sk, tp);
	if (!st->ways[0].has_base) {
		st->ways[0].base = received_base(tp);
		st->ways[0].off = tp->bytes_received;
		st->ways[0].has_base = 1;
	}
	if (!st->ways[1].has_base && st->sock.role) {
		st->ways[1].base = sent_base(tp, st->sock.role == NET_ROLE_CLIENT);
		st->ways[1].off = tp->bytes_acked;
		st->ways[1].has_base = 1;
		st->sock.inet.pair = pair_of(st->ways[0].base, st->ways[1].base);
	}
}

/* The stream's position at a sequence number: that which is nearest to where it was last. */
static __always_inline __u64 stream_at(const struct net_way *way, __u32 seq)
{
	return way->off + (__s32)(seq - way->base - (__u32)way->off);
}

/* Where a direction has come to, in bytes of the program's. */
static __always_inline __u64 stream_end(const struct net_state *st, struct sock *sk,
					struct tcp_sock *tp, bool sent)
{
	__u32 seq;

	if (sent) {
		if (!st->ways[1].has_base)
			return 0;
		return stream_at(&st->ways[1], tp->write_seq);
	}
	seq = tp->copied_seq;
	/* A FIN that was read counts as a byte. */
	if (((struct sock___net *)sk)->__sk_common.skc_flags & 1ul << SOCK_DONE &&
	    seq == tp->rcv_nxt)
		seq--;
	return stream_at(&st->ways[0], seq);
}

/* A connection that nobody has told of: it was there before us. */
static __always_inline void meet_tcp(struct net_state *st, struct sock *sk, struct tcp_sock *tp)
{
	if (!st->is_known) {
		st->is_known = 1;
		st->stale = tp->bytes_received > 0 || tp->bytes_acked > 1;
	}
	put_ends(&st->sock, sk);
	if (st->sock.inet.peer_port == DNS_PORT || st->sock.inet.local_port == DNS_PORT)
		st->protocol = NET_PROTOCOL_DNS;
	learn_bases(st, sk, tp);
}

/* A whole TCP socket, and not one that listens? */
static __always_inline bool is_connection(struct sock *sk)
{
	struct sock___net *n = (void *)sk;
	__u8 state = n->__sk_common.skc_state;

	return state != TCP_NEW_SYN_RECV && state != TCP_TIME_WAIT && state != TCP_LISTEN &&
	       n->sk_protocol == IPPROTO_TCP;
}

#endif
