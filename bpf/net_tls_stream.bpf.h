/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_tls_stream.bpf.h - clear text streams: handles of a TLS library in a process; and
 * whose connection they are.
 *
 * That of the socket that is used within a call; of programs that move the bytes between
 * library and socket themselves, the one the thread has received from before a read, or
 * sends to after a write.
 */
#ifndef NET_TLS_STREAM_BPF_H
#define NET_TLS_STREAM_BPF_H

#include "common.bpf.h"
#include "net_plain.bpf.h"
#include "net_thread.bpf.h"

#define MAX_DEPTH 4 /* calls within calls: TLS within TLS; a power of two */

struct stream_key {
	__u64 handle;
	__u32 tgid;
	__u32 pad;
};

struct tls_stream {
	__u64 born; /* when the process was: another one may have its number */
	__u64 off[2];
	struct net_sock sock; /* cookie 0: not known */
	__u64 again_buf;      /* of a write that is to be tried again */
	__u64 other_cookie;   /* what says that it is another one */
	struct plain_state plain;
	__u8 link; /* enum net_link */
	__u8 pad[7];
};

struct tls_call {
	__u64 sp, handle, buf, out, enter_ns;
	__u32 function;
	__u32 pad;
};

struct tls_thread {
	__u32 depth;
	__u32 globs_version; /* of `wanted` */
	char comm[16];
	__u32 wanted;
	__u32 waits;   /* `waiting` has been written, and not sent yet */
	__u32 leaving; /* leave(): not a variable, of which the verifier would follow each value */
	__u32 pad;
	__u64 waits_ns;
	__u64 read_ns; /* when the last read or handshake was over */
	struct stream_key waiting;
	struct tls_call calls[MAX_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tls_thread);
} tls_threads SEC(".maps");

/* Emptied of processes that have ended by the daemon. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct stream_key);
	__type(value, struct tls_stream);
} tls_streams SEC(".maps");

static __always_inline void count_lost(void)
{
	struct event_stream *s;
	__u64 seq;

	s = stream_next(0, &seq);
	if (s)
		__sync_fetch_and_add(&s->n_lost, 1);
}

/* A new one: there is no room for it on the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tls_stream);
} tls_empty SEC(".maps");

static __always_inline struct tls_stream *stream_of(struct task_struct *task,
						    struct stream_key *key)
{
	struct tls_stream *s = bpf_map_lookup_elem(&tls_streams, key);
	__u64 born = task->group_leader->start_boottime;
	struct tls_stream *empty;
	__u32 zero = 0;

	if (s && s->born == born)
		return s;
	empty = bpf_map_lookup_elem(&tls_empty, &zero);
	if (!empty || bpf_map_update_elem(&tls_streams, key, empty, BPF_ANY) < 0) {
		count_lost();
		return 0;
	}
	s = bpf_map_lookup_elem(&tls_streams, key);
	if (s)
		s->born = born;
	return s;
}

static __always_inline void set_link(struct tls_stream *s, const struct net_touch *touch, __u8 link)
{
	s->sock = touch->sock;
	s->link = link;
	s->other_cookie = 0;
}

/*
 * What a call tells of the stream's connection. Better evidence replaces weaker one; as
 * good evidence for another socket does when it comes twice.
 */
static __always_inline void link_stream(struct tls_stream *s, const struct tls_call *c,
					const struct tls_thread *t, const struct net_thread *io,
					bool has_read, bool succeeded)
{
	const struct net_touch *touch = &io->received;
	__u8 link;

	if (io->nested.time_ns >= c->enter_ns) {
		if (s->link != NET_LINK_NESTED || s->sock.cookie != io->nested.sock.cookie)
			set_link(s, &io->nested, NET_LINK_NESTED);
		return;
	}
	/* Received since the last read, of whichever stream: it was for this one. */
	if (!has_read || s->link == NET_LINK_NESTED || touch->time_ns <= t->read_ns)
		return;
	link = succeeded && touch->is_tls ? NET_LINK_LAST : NET_LINK_GUESS;
	if (s->link == NET_LINK_NONE || (s->link == NET_LINK_GUESS && link == NET_LINK_LAST)) {
		set_link(s, touch, link);
	} else if (s->sock.cookie == touch->sock.cookie) {
		s->other_cookie = 0;
	} else if (link == NET_LINK_LAST) {
		if (s->other_cookie == touch->sock.cookie)
			set_link(s, touch, link);
		else
			s->other_cookie = touch->sock.cookie;
	}
}

/* The thread has sent since it wrote to a stream of which nothing else was known. */
static __always_inline void link_waiting(struct tls_thread *t, struct net_thread *io)
{
	struct tls_stream *s;

	if (!t->waits || io->sent.time_ns <= t->waits_ns)
		return;
	t->waits = 0;
	s = bpf_map_lookup_elem(&tls_streams, &t->waiting);
	if (s && s->link == NET_LINK_NONE)
		set_link(s, &io->sent, NET_LINK_GUESS);
}

#endif
