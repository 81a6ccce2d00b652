/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_uring.bpf.h - sends and receives by io_uring: which request moves a socket's
 * bytes, where these are, and whose ring it is. A part of net.bpf.c.
 *
 * The kernel says when a thread takes up a request, and when one waits for its socket.
 * Whether it is the one that has moved something is seen by its file.
 */
#ifndef NET_URING_BPF_H
#define NET_URING_BPF_H

#include "net_copy.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct io_sq_data;

struct io_ring_ctx {
	struct io_sq_data *sq_data; /* with IORING_SETUP_SQPOLL */
};

struct io_uring_task {
	struct task_struct *task;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	struct io_ring_ctx *ctx;
	struct io_uring_task *tctx;
};

/* Before Linux 6.13 (commit b54a14041ee6). */
struct io_kiocb___task {
	struct task_struct *task;
};

/* What a request is for begins where the request does. */
struct io_sr_msg {
	void *buf; /* or the msghdr */
};

struct io_rw {
	__u64 addr;
	__u32 len;
};

#pragma clang attribute pop

/* enum of linux/io_uring.h; numbers there do not change. */
enum {
	URING_READV = 1,
	URING_WRITEV = 2,
	URING_SENDMSG = 9,
	URING_RECVMSG = 10,
	URING_CONNECT = 16,
	URING_READ = 22,
	URING_WRITE = 23,
	URING_SEND = 26,
	URING_RECV = 27,
	URING_SEND_ZC = 47,
	URING_SENDMSG_ZC = 48,
};

#define URING_SENDS                                                                                \
	(1ull << URING_WRITEV | 1ull << URING_SENDMSG | 1ull << URING_WRITE | 1ull << URING_SEND | \
	 1ull << URING_SEND_ZC | 1ull << URING_SENDMSG_ZC)
#define URING_RECEIVES \
	(1ull << URING_READV | 1ull << URING_RECVMSG | 1ull << URING_READ | 1ull << URING_RECV)

/* The request that a thread has taken up last. */
struct net_uring {
	struct io_kiocb *req; /* may be gone */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct net_uring);
} net_urings SEC(".maps");

/* Requests that wait for their socket, by it and the direction. */
struct net_waiting {
	__u64 sk;
	__u64 sent;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct net_waiting);
	__type(value, __u64); /* struct io_kiocb *, may be gone */
} net_waiting SEC(".maps");

__u32 net_uses_uring; /* nobody has, so far: nothing needs to be looked up */

static __always_inline bool is_one_of(__u8 opcode, __u64 set)
{
	return opcode < 64 && set >> opcode & 1;
}

static __always_inline struct sock *sock_of(struct io_kiocb *req)
{
	struct file *file = BPF_CORE_READ(req, file);
	struct socket *socket = file_socket(file);

	return socket ? BPF_CORE_READ(socket, sk) : 0;
}

static __always_inline bool is_request(struct io_kiocb *req, struct sock *sk, bool sent)
{
	__u8 opcode = BPF_CORE_READ(req, opcode);

	return is_one_of(opcode, sent ? URING_SENDS : URING_RECEIVES) && sock_of(req) == sk;
}

/* The one that has just moved bytes of `sk` in this thread; NULL: none has. */
static __always_inline struct io_kiocb *uring_request(struct task_struct *task, struct sock *sk,
						      bool sent)
{
	struct net_waiting key = { .sk = (__u64)sk, .sent = sent };
	struct io_kiocb *req;
	struct net_uring *u;
	__u64 *waiting;

	if (!bpf_core_field_exists(((struct io_sr_msg *)0)->buf) || !net_uses_uring)
		return 0;
	u = bpf_task_storage_get(&net_urings, task, 0, 0);
	req = u ? u->req : 0;
	if (req && is_request(req, sk, sent))
		return req;
	waiting = bpf_map_lookup_elem(&net_waiting, &key);
	req = waiting ? (struct io_kiocb *)*waiting : 0;
	return req && is_request(req, sk, sent) ? req : 0;
}

/* Where its bytes are. False: in no place that is known here. */
static __always_inline bool uring_cursor(struct net_cursor *c, struct io_kiocb *req, __u32 total)
{
	struct io_sr_msg *sr = (void *)req;
	struct io_rw *rw = (void *)req;

	c->pos = 0;
	c->total = total;
	c->left = 0;
	c->name = 0;
	c->n_iov = 0;
	switch (BPF_CORE_READ(req, opcode)) {
	case URING_SEND:
	case URING_SEND_ZC:
	case URING_RECV:
		c->base = (__u64)BPF_CORE_READ(sr, buf);
		c->left = total;
		return c->base;
	case URING_SENDMSG:
	case URING_SENDMSG_ZC:
	case URING_RECVMSG:
		c->base = (__u64)BPF_CORE_READ(sr, buf);
		return cursor_of_message(c, c->base);
	case URING_READ:
	case URING_WRITE:
		c->base = BPF_CORE_READ(rw, addr);
		c->left = total;
		return c->base;
	case URING_READV:
	case URING_WRITEV:
		c->iov = BPF_CORE_READ(rw, addr);
		c->n_iov = BPF_CORE_READ(rw, len);
		return c->iov;
	}
	return false;
}

/* Of a ring that a thread of the kernel's looks after nobody asks: 0. */
static __always_inline __u32 uring_owner(struct io_kiocb *req)
{
	struct io_kiocb___task *old = (void *)req;

	if (BPF_CORE_READ(req, ctx, sq_data))
		return 0;
	if (bpf_core_field_exists(old->task))
		return BPF_CORE_READ(old, task, pid);
	return BPF_CORE_READ(req, tctx, task, pid);
}

/*
 * The thread that has asked for what this one does. The kernel's threads that work for
 * rings are part of the process, not of its program.
 */
static __always_inline void put_who(struct net_owner *ret, struct task_struct *task)
{
	struct net_uring *u;
	__u32 tid;

	ret->tgid = task->tgid;
	ret->tid = task->pid;
	ret->cgroup_id = bpf_get_current_cgroup_id();
	remember_user(&ret->ids, task);
	if (!(task->flags & PF_IO_WORKER))
		return;
	u = bpf_task_storage_get(&net_urings, task, 0, 0);
	tid = u && u->req ? uring_owner(u->req) : 0;
	ret->tid = tid ? tid : task->tgid;
}

static __always_inline void take_up(struct io_kiocb *req)
{
	struct net_uring *u;

	if (!is_one_of(req->opcode, URING_SENDS | URING_RECEIVES | 1ull << URING_CONNECT))
		return;
	u = bpf_task_storage_get(&net_urings, bpf_get_current_task_btf(), 0,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (u)
		u->req = req;
	if (!net_uses_uring)
		net_uses_uring = 1;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(on_uring_submit, struct io_kiocb *req)
{
	take_up(req);
	return 0;
}

/* The same, before Linux 6.3. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(on_uring_submit_sqe, struct io_kiocb *req)
{
	take_up(req);
	return 0;
}

/* In a thread of the kernel's for what may sleep, which nothing is submitted in. */
SEC("tp_btf/io_uring_file_get")
int BPF_PROG(on_uring_file, struct io_kiocb *req)
{
	if (((struct task_struct *)bpf_get_current_task_btf())->flags & PF_IO_WORKER)
		take_up(req);
	return 0;
}

/* It goes on when there is something to receive, or room to send. */
SEC("tp_btf/io_uring_poll_arm")
int BPF_PROG(on_uring_wait, struct io_kiocb *req)
{
	struct net_waiting key = {};
	__u64 value = (__u64)req;

	if (!is_one_of(req->opcode, URING_SENDS | URING_RECEIVES))
		return 0;
	key.sk = (__u64)sock_of(req);
	key.sent = is_one_of(req->opcode, URING_SENDS);
	if (key.sk)
		bpf_map_update_elem(&net_waiting, &key, &value, BPF_ANY);
	return 0;
}

#endif
