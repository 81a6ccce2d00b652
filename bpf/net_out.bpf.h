/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_out.bpf.h - records of what was moved, and of where in the program that was. A
 * part of net.bpf.c.
 */
#ifndef NET_OUT_BPF_H
#define NET_OUT_BPF_H

#include "net_uring.bpf.h"
#include "user_stack.bpf.h"

/* A thread's stacks: no more than so many in so long. */
#define NET_STACK_WINDOW_NS 100000000
#define NET_STACK_LIMIT	    20

struct net_stacks {
	__u64 window_ns;
	__u32 n;
	__u32 sent; /* of the stack that is to be taken now: what it is of */
	__u64 now, cookie, off;
	struct net_owner who;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct net_stacks);
} net_stacks SEC(".maps");

struct net_stack_room {
	struct net_stack_event ev;
	__u32 busy;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct net_stack_room);
} net_stack_rooms SEC(".maps");

/* What a call has moved, and whose call it is. */
struct net_move {
	struct net_owner who; /* whom it is done for */
	const struct net_sock *sock;
	__u64 now; /* when it was over */
	__u64 off;
	__u32 len;
	__s32 fd;
	__u8 flags; /* of the event */
	__u8 protocol;
};

static __always_inline void put_thread(struct event_hdr *hdr, const struct net_owner *who)
{
	hdr->tgid = who->tgid;
	hdr->tid = who->tid;
	hdr->cgroup_id = who->cgroup_id;
	hdr->user = user_number(&who->ids);
}

/*
 * At the first byte of those that were moved, whoever has asked for it. False: they are
 * nowhere in a program's memory, or nobody knows where.
 */
static __noinline bool find_bytes(struct net_cursor *c, struct sock *sk, struct net_many *many,
				  struct net_move *m)
{
	struct io_kiocb *req;

	if (cursor_begin(c, sk, many, m->len, &m->fd))
		return true;
	req = uring_request(bpf_get_current_task_btf(), sk, m->flags & NET_SENT);
	if (!req) {
		m->flags |= NET_KERNEL;
		return false;
	}
	m->flags |= NET_URING;
	return uring_cursor(c, req, m->len);
}

/* Asked at every turn. Of a thread that has had enough it is enough to ask once a jiffy. */
static __always_inline struct net_stacks *may_take_stack(struct task_struct *task,
							 __u64 *refused_jiffy)
{
	__u64 jiffy = bpf_jiffies64(), now;
	struct net_stacks *s;

	if (*refused_jiffy == jiffy)
		return 0;
	s = bpf_task_storage_get(&net_stacks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s)
		return 0;
	now = bpf_ktime_get_boot_ns();
	if (now - s->window_ns > NET_STACK_WINDOW_NS) {
		s->window_ns = now;
		s->n = 0;
	}
	if (s->n++ < NET_STACK_LIMIT)
		return s;
	*refused_jiffy = jiffy;
	return 0;
}

/* Functions of their own, whose stacks are not there while the walk needs its. */
static __noinline int output_stack(struct net_stack_room *room, __u32 size)
{
	struct net_stack_event *ev = &room->ev;
	struct event_stream *s;
	struct net_stacks *of;
	__u64 seq = 0;

	of = bpf_task_storage_get(&net_stacks, bpf_get_current_task_btf(), 0, 0);
	if (!of || !ev->user.n_user || size > sizeof(*ev)) /* the last cannot be */
		return 0;
	s = stream_next(0, &seq);
	if (!s)
		return 0;
	event_fill_at(&ev->hdr, of->now, NET_STACK, 0, size, seq);
	put_thread(&ev->hdr, &of->who);
	ev->cookie = of->cookie;
	ev->off = of->off;
	ev->sent = of->sent;
	ev->pad = 0;
	event_output(&ev->hdr, s, size);
	return 0;
}

static __noinline struct net_stack_room *take_stack_room(void)
{
	struct net_stack_room *room;
	__u32 zero = 0;

	room = bpf_map_lookup_elem(&net_stack_rooms, &zero);
	return room && __sync_val_compare_and_swap(&room->busy, 0, 1) == 0 ? room : 0;
}

/* What it is of is in the thread's storage. */
static __noinline int record_stack(void *ctx)
{
	struct net_stack_room *room = take_stack_room();

	if (!room)
		return 0;
	output_stack(room, NET_STACK_HEAD + user_stack_walk(ctx, &room->ev.user));
	room->busy = 0;
	return 0;
}

static __always_inline void put_move(struct net_io_event *ev, const struct net_move *m)
{
	put_thread(&ev->hdr, &m->who);
	__builtin_memcpy(&ev->sock, m->sock, sizeof(ev->sock));
	ev->off = m->off;
	ev->len = m->len;
	ev->fd = m->fd;
	ev->flags = m->flags;
	ev->protocol = m->protocol;
	ev->n_runs = 0;
	__builtin_memset(ev->pad, 0, sizeof(ev->pad));
}

/* Without payload: as it is, into the ring. */
static __always_inline void record_bare_move(const struct net_move *m)
{
	struct net_io_event *ev;
	struct event_stream *s;
	__u64 seq = 0;

	s = stream_next(0, &seq);
	if (!s)
		return;
	ev = bpf_ringbuf_reserve(&ring, NET_IO_HEAD, 0);
	if (!ev) {
		__sync_fetch_and_add(&s->n_lost, 1);
		return;
	}
	event_fill_at(&ev->hdr, m->now, NET_IO, 0, NET_IO_HEAD, seq);
	put_move(ev, m);
	event_submit(ev);
}

/* With the room's runs. */
static __always_inline void record_move(struct net_room *room, const struct net_move *m)
{
	struct event_stream *s;
	struct net_io_event *ev;
	__u64 seq = 0;
	__u32 size;

	ev = room_record(room, &size);
	s = ev ? stream_next(0, &seq) : 0;
	if (!s)
		return;
	event_fill_at(&ev->hdr, m->now, NET_IO, 0, size, seq);
	put_move(ev, m);
	ev->n_runs = room->n_runs;
	ev->flags |= room->cut ? NET_CUT : 0;
	event_output(&ev->hdr, s, size);
}

#endif
