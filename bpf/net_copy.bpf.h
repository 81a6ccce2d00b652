/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_copy.bpf.h - the bytes that a system call moves, out of its caller's memory. A
 * part of net.bpf.c.
 *
 * The call's own arguments say where they are: they are those the thread has entered
 * the kernel with. They are believed only if the descriptor among them leads to the very
 * socket that has moved the bytes; the kernel moves some on its own, in the midst of
 * any other call.
 */
#ifndef NET_COPY_BPF_H
#define NET_COPY_BPF_H

#include "net_socket.bpf.h"
#include "syscall_regs.bpf.h"

/* Where the call's bytes are; the daemon knows the numbers. */
const volatile __u8 net_call_of_nr[NET_MAX_NR]; /* enum net_call */

__u32 net_n_splices; /* that were seen: somebody does it, and the daemon looks closer */

/* How far a call's bytes have been walked. */
struct net_cursor {
	__u64 base, left; /* of the piece that is under way */
	__u64 iov;	  /* the pieces behind it */
	__u64 name;	  /* where the address is that it is for; 0: none */
	__u32 n_iov;
	__u32 pos, total; /* of the bytes that were moved */
};

#define NET_MAX_RUN_BYTES (NET_MAX_RUNS * sizeof(struct net_run))

/* Behind the last byte: the verifier adds up bounds that are never reached together. */
#define NET_SLACK (NET_MAX_PAYLOAD + 64)

/*
 * Where a call's bytes are put together. What loops change is here and not on the stack:
 * there the verifier would follow every value of it.
 */
struct net_room {
	__u32 busy;
	__u32 n_bytes; /* of `bytes` that are to be transferred */
	__u32 n_runs;
	__u32 cut;
	struct net_cursor cursor;
	__u32 have, want;	/* gather() */
	__u32 head_pos, head_n; /* of what HTTP/1's heads are looked for in */
	__u32 skip;		/* of what was walked already */
	__u32 fresh;		/* the bytes at the cursor are there already, up to `have` */
	__u32 is_tls;
	struct net_run runs[NET_MAX_RUNS];
	/* A record is made where its bytes are: see room_record(). */
	__u8 before[NET_IO_HEAD + NET_MAX_RUN_BYTES] __attribute__((aligned(8)));
	__u8 bytes[NET_MAX_PAYLOAD + NET_SLACK];
};

_Static_assert(NET_IO_HEAD == NET_PLAIN_HEAD, "both kinds of records have a room");

/* A program may be preempted, and another one come in between. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct net_room);
} net_rooms SEC(".maps");

/* Takes the room of this CPU, if it is free. */
static __always_inline struct net_room *enter_room(void)
{
	__u32 zero = 0;
	struct net_room *room = bpf_map_lookup_elem(&net_rooms, &zero);

	if (!room || __sync_val_compare_and_swap(&room->busy, 0, 1) != 0)
		return 0;
	room->n_bytes = room->n_runs = room->cut = room->fresh = 0;
	return room;
}

__u64 n_unreadable; /* copies that failed */

struct user_iovec {
	__u64 base, len;
};

struct user_msghdr_head {
	__u64 name;
	__u32 name_len, pad;
	__u64 iov, n_iov;
};

#define MMSGHDR_SIZE   64
#define MMSGHDR_LEN_AT 56

/* Is `fd` of the running thread a descriptor of `sk`? */
static __always_inline bool is_of_fd(struct task_struct *task, __u32 fd, struct sock *sk)
{
	struct file *file = task_file(task, fd);
	struct socket *socket = ((struct sock___net *)sk)->sk_socket;

	return file && socket && socket->file == file;
}

static __always_inline bool cursor_of_message(struct net_cursor *c, __u64 msg)
{
	struct user_msghdr_head head;

	if (bpf_probe_read_user(&head, sizeof(head), (void *)msg))
		return false;
	c->name = head.name;
	c->iov = head.iov;
	c->n_iov = head.n_iov;
	return true;
}

/*
 * The one of many messages that has just been moved. The call goes on with those it
 * was with if the thread and their place are the same, and the kernel has noted the
 * length of the one before; an error has ended it (net_udp.bpf.h).
 */
static __always_inline bool cursor_of_many(struct net_cursor *c, struct net_many *many,
					   const struct args *args, __u32 tid, __u32 moved)
{
	__u64 at = args->a[1];
	__u32 n = many->n, len = 0;
	bool goes_on = many->at == at && many->tid == tid && n < (__u32)args->a[2];

	if (goes_on &&
	    (bpf_probe_read_user(&len, 4,
				 (void *)(at + (n - 1) * (__u64)MMSGHDR_SIZE + MMSGHDR_LEN_AT)) ||
	     len != many->len))
		goes_on = false;
	if (!goes_on)
		n = 0;
	many->at = at;
	many->tid = tid;
	many->n = n + 1;
	many->len = moved;
	return cursor_of_message(c, at + n * (__u64)MMSGHDR_SIZE);
}

/*
 * At the first byte of those that the running call has moved through `sk`. False: they
 * are not the caller's, or not where its arguments say.
 */
static __always_inline bool cursor_begin(struct net_cursor *c, struct sock *sk,
					 struct net_many *many, __u32 total, __s32 *ret_fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 nr = syscall_nr(regs);
	struct args args;
	__u8 call;

	if (nr >= NET_MAX_NR || is_compat(task))
		return false;
	call = net_call_of_nr[nr];
	if (!call)
		return false;
	if (call == NET_CALL_SPLICE) {
		__sync_fetch_and_add(&net_n_splices, 1);
		return false;
	}
	read_args(regs, &args);
	if (!is_of_fd(task, args.a[0], sk))
		return false;
	*ret_fd = args.a[0];
	c->pos = 0;
	c->total = total;
	c->base = args.a[1];
	c->left = 0;
	c->iov = args.a[1];
	c->n_iov = 0;
	c->name = 0;
	switch (call) {
	case NET_CALL_SENDTO:
		c->name = args.a[4];
		c->left = total;
		return true;
	case NET_CALL_BUFFER:
		c->left = total;
		return true;
	case NET_CALL_VECTOR:
		c->n_iov = args.a[2];
		return true;
	case NET_CALL_MESSAGE:
		return cursor_of_message(c, args.a[1]);
	case NET_CALL_MESSAGES:
		return cursor_of_many(c, many, &args, task->pid, total);
	}
	return false;
}

/* A piece that is not over, if there is one: then `left` > 0, or the next look gives it. */
static __always_inline bool cursor_piece(struct net_cursor *c)
{
	struct user_iovec v;

	if (c->pos >= c->total)
		return false;
	if (c->left)
		return true;
	if (!c->n_iov || bpf_probe_read_user(&v, sizeof(v), (void *)c->iov))
		return false;
	c->iov += sizeof(v);
	c->n_iov--;
	c->base = v.base;
	c->left = v.len;
	if (c->left > c->total - c->pos)
		c->left = c->total - c->pos;
	return true;
}

static __always_inline void cursor_skip(struct net_cursor *c, __u32 n)
{
	c->pos += n;
	c->base += n;
	c->left -= n;
}

/* The next `n` bytes of the piece, to `at` of the room's bytes. They stay where they are. */
static __always_inline bool cursor_peek(struct net_room *room, __u32 at, __u32 n)
{
	asm volatile("" : "+r"(at), "+r"(n)); /* the verifier shall see the bounds that follow */
	if (at >= NET_MAX_PAYLOAD || n > NET_MAX_PAYLOAD - at)
		return false;
	asm volatile("%0 &= 0x1fff" : "+r"(n));
	if (n > NET_MAX_PAYLOAD)
		return false;
	asm volatile("%0 &= 0xfff" : "+r"(at));
	if (at + n > NET_MAX_PAYLOAD)
		return false;
	if (bpf_probe_read_user(room->bytes + at, n, (void *)room->cursor.base)) {
		__sync_fetch_and_add(&n_unreadable, 1);
		return false;
	}
	return true;
}

struct in_room {
	struct net_room *room;
	struct net_way *way;
};

static long gather_step(__u32 i, struct in_room *in)
{
	struct net_room *room = in->room;
	struct net_cursor *c = &room->cursor;
	__u32 have = room->have, n = room->want - have;

	if (have >= room->want || !cursor_piece(c))
		return 1;
	if (n > c->left)
		n = c->left;
	if (n && !cursor_peek(room, have, n))
		return 1;
	cursor_skip(c, n);
	room->have = have + n;
	return 0;
}

#define GATHER_PIECES 64

/*
 * The next `want` bytes, behind those that are to be transferred. Returns where those
 * that could be had end.
 */
__noinline int gather(struct net_room *room, __u32 want)
{
	struct in_room in = { .room = room };
	struct net_cursor *c;
	__u32 have;

	if (!room)
		return 0;
	c = &room->cursor;
	have = room->n_bytes;
	if (want > c->total - c->pos)
		want = c->total - c->pos;
	room->have = have;
	room->want = have + want;
	if (c->left >= want) { /* in one piece, as most are */
		if (want && cursor_peek(room, have, want)) {
			cursor_skip(c, want);
			room->have = have + want;
		}
	} else {
		bpf_loop(GATHER_PIECES, gather_step, &in, 0);
	}
	if (room->have < room->want)
		room->cut = 1;
	return room->have;
}

/* Bytes of the room that were moved `at` bytes behind the first: they follow the last run. */
static __always_inline bool run_add(struct net_room *room, __u32 at, __u32 len)
{
	__u32 i = room->n_runs;
	struct net_run *run;

	if (i > 0 && i <= NET_MAX_RUNS) {
		run = &room->runs[i - 1];
		if (run->at + run->len == at) {
			run->len += len;
			return true;
		}
	}
	if (i >= NET_MAX_RUNS) {
		room->cut = 1;
		return false;
	}
	room->runs[i].at = at;
	room->runs[i].len = len;
	room->n_runs = i + 1;
	return true;
}

/*
 * A record whose bytes are the room's: right before them its runs, and before these its
 * head, which the caller fills. NULL: cannot be.
 */
static __always_inline void *room_record(struct net_room *room, __u32 *ret_size)
{
	__u32 at = room->n_runs * sizeof(struct net_run), n = room->n_bytes;
	__u32 begin = NET_MAX_RUN_BYTES - at;
	__u8 *record;

	asm volatile("" : "+r"(at), "+r"(n), "+r"(begin)); /* for the verifier: see the bounds */
	if (at > NET_MAX_RUN_BYTES || begin > NET_MAX_RUN_BYTES || n > NET_MAX_PAYLOAD)
		return 0;
	record = room->before + begin;
	if (at == sizeof(struct net_run))
		*(struct net_run *)(record + NET_IO_HEAD) = room->runs[0];
	else if (at)
		bpf_probe_read_kernel(record + NET_IO_HEAD, at, room->runs);
	*ret_size = NET_IO_HEAD + at + n;
	return record;
}

#endif
