/* SPDX-License-Identifier: GPL-2.0 */
/*
 * syscalls.bpf.c - system calls on sockets, and waits for descriptors.
 *
 * Feeds daemon/collect/syscalls.c. One pair of programs sees every system call
 * of the machine, so their first instructions decide whether it is one of
 * ours. The per-call tracepoints would spare the others some 45 ns, but they
 * take seconds to detach, need tracefs, and no perf sample's program can run
 * while a program of theirs does (bpf_prog_active).
 */
#include "common.bpf.h"
#include "own.bpf.h"
#include "socket.bpf.h"
#include "syscall_regs.bpf.h"
#include "syscalls_events.h"

/* Facts of the machine, fixed at load. */
const volatile __u8 call_of_nr[SYSCALLS_MAX_NR]; /* enum syscalls_call_id */
const volatile __u64 wait_min_ns = 10000;	 /* a wait that is over sooner is no event */

/* Calls of 32-bit programs: their numbers and structs differ, so they are not shown. */
__u64 n_compat;

struct call_state {
	struct syscalls_call call; /* .call is CALL_NONE when nothing is under way */
	__u64 name;		   /* a sockaddr or msghdr of the caller's, or 0 */
	__u64 name_len;		   /* its length; of CALL_RECVFROM: where that is */
	__u32 nr;		   /* the kernel's number */
	__u32 restart;		   /* the wait that was interrupted, or CALL_NONE */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_state);
} calls SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

#define ERESTART_RESTARTBLOCK 516

/* Keeps the last CALL_PATH_LEN of the `len` bytes at `src`, in the kernel or not. */
static __always_inline void put_path(struct syscalls_call *call, const char *src, __u32 len,
				     bool in_kernel)
{
	__u32 n = len;

	if (n > CALL_PATH_LEN) {
		src += n - CALL_PATH_LEN;
		n = CALL_PATH_LEN;
	}
	asm volatile("" : "+r"(n)); /* the verifier shall see the bound that follows */
	if (n > CALL_PATH_LEN)
		return;
	if (in_kernel ? bpf_probe_read_kernel(call->unix_addr.path, n, src)
		      : bpf_probe_read_user(call->unix_addr.path, n, src))
		return;
	call->unix_addr.len = len;
}

static __always_inline void put_unix(struct syscalls_call *call, struct unix_sock *sk)
{
	struct unix_sock *peer;
	struct unix_address *addr = 0;
	const char *path;
	char first = 0;
	__u32 len;

	call->addr_family = AF_UNIX;
	peer = (struct unix_sock *)BPF_CORE_READ(sk, peer);
	if (peer)
		addr = BPF_CORE_READ(peer, addr);
	if (!addr) {
		addr = BPF_CORE_READ(sk, addr);
		call->flags |= CALL_PATH_LOCAL;
	}
	if (!addr)
		return;

	/* Past the address family; a path ends in NUL, an abstract name starts with it. */
	len = BPF_CORE_READ(addr, len) - 3;
	if (len == 0 || len > UNIX_PATH_LEN)
		return;
	path = addr->name[0].sun_path;
	bpf_probe_read_kernel(&first, 1, path);
	if (!first) {
		call->flags |= CALL_PATH_ABSTRACT;
		path++;
	}
	put_path(call, path, len, true);
}

static __always_inline void put_inet(struct syscalls_call *call, struct sock_common *sk)
{
	struct syscalls_inet *inet = &call->inet;

	call->addr_family = call->family;
	inet->local_port = BPF_CORE_READ(sk, skc_num);
	inet->peer_port = __builtin_bswap16(BPF_CORE_READ(sk, skc_dport));
	if (call->family == AF_INET) {
		bpf_core_read(inet->local, 4, &sk->skc_rcv_saddr);
		bpf_core_read(inet->peer, 4, &sk->skc_daddr);
	} else if (bpf_core_field_exists(sk->skc_v6_daddr)) {
		bpf_core_read(inet->local, 16, &sk->skc_v6_rcv_saddr);
		bpf_core_read(inet->peer, 16, &sk->skc_v6_daddr);
		if (inet->peer[0] == 0xfe)
			inet->scope_id = BPF_CORE_READ(sk, skc_bound_dev_if);
	}
}

/* What the socket is, and who is at its ends. */
static __always_inline void put_socket(struct syscalls_call *call, struct socket *socket)
{
	struct sock *sk = BPF_CORE_READ(socket, sk);

	call->flags = (call->flags & CALL_RESTARTED) | CALL_SOCKET_KNOWN;
	call->sock_type = BPF_CORE_READ(socket, type);
	call->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	call->protocol = BPF_CORE_READ(sk, sk_protocol);
	if (call->family == AF_INET || call->family == AF_INET6)
		put_inet(call, &sk->__sk_common);
	else if (call->family == AF_UNIX && bpf_core_type_exists(struct unix_sock))
		put_unix(call, (struct unix_sock *)sk);
}

static __always_inline void put_fd(struct syscalls_call *call, struct task_struct *task, __u32 fd)
{
	struct socket *socket = file_socket(task_file(task, fd));

	if (socket)
		put_socket(call, socket);
}

/* ---- on the way in ---- */

static __always_inline __s64 timeout_ms(__u64 arg)
{
	return (int)arg < 0 ? -1 : (__s64)(int)arg * 1000000;
}

/* A struct timespec (`unit` 1) or timeval (1000) of the caller's, as far as it can be read. */
static __always_inline __s64 timeout_at(__u64 ptr, __u32 unit, bool readable)
{
	__u64 t[2];

	if (!ptr || !readable || bpf_probe_read_user(t, sizeof(t), (void *)ptr))
		return -1;
	if (t[0] > (1ull << 32))
		return -1; /* an eternity, or nonsense */
	return t[0] * 1000000000 + (__u32)t[1] * unit;
}

static __always_inline void put_wait(struct syscalls_call *call, __u8 id, const struct args *args,
				     bool readable)
{
	struct syscalls_wait *wait = &call->wait;

	switch (id) {
	case CALL_POLL:
		wait->n_fds = args->a[1];
		wait->timeout_ns = timeout_ms(args->a[2]);
		break;
	case CALL_PPOLL:
		wait->n_fds = args->a[1];
		wait->timeout_ns = timeout_at(args->a[2], 1, readable);
		break;
	case CALL_SELECT:
	case CALL_PSELECT6:
		wait->n_fds = args->a[0];
		wait->timeout_ns = timeout_at(args->a[4], id == CALL_SELECT ? 1000 : 1, readable);
		break;
	default:
		call->fd = args->a[0];
		wait->n_fds = args->a[2];
		wait->timeout_ns = id == CALL_EPOLL_PWAIT2 ? timeout_at(args->a[3], 1, readable)
							   : timeout_ms(args->a[3]);
	}
}

/* Where the caller put an address that the socket may not know. */
static __always_inline void enter_name(struct call_state *st, __u8 id, const struct args *args)
{
	switch (id) {
	case CALL_CONNECT:
	case CALL_BIND:
	case CALL_SENDMSG:
	case CALL_SENDMMSG:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
		st->name = args->a[1];
		st->name_len = args->a[2];
		break;
	case CALL_SENDTO:
	case CALL_RECVFROM:
		st->name = args->a[4];
		st->name_len = args->a[5];
		break;
	}
}

static __always_inline void count_lost(void)
{
	struct event_stream *s;
	__u64 seq;

	s = stream_next(0, &seq);
	if (s)
		__sync_fetch_and_add(&s->n_lost, 1);
}

/* A blank state of the current thread; NULL: no memory. */
static __always_inline struct call_state *begin(struct task_struct *task, __u32 nr)
{
	struct call_state *st =
		bpf_task_storage_get(&calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!st) {
		count_lost();
		return 0;
	}
	st->call.call = CALL_NONE;
	barrier();
	__builtin_memset(&st->call, 0, sizeof(st->call));
	st->call.fd = -1;
	st->name = 0;
	st->nr = nr;
	return st;
}

/* From here on unfinished() sees the call. The last thing done: our own cost is not the call's. */
static __always_inline int under_way(struct call_state *st, __u8 id)
{
	st->restart = CALL_NONE;
	st->call.enter_ns = bpf_ktime_get_boot_ns();
	barrier();
	st->call.call = id;
	return 0;
}

static __always_inline int enter_restart(struct task_struct *task)
{
	struct call_state *st = bpf_task_storage_get(&calls, task, 0, 0);
	__u8 id;

	if (!st || !st->restart)
		return 0;
	id = st->restart;
	st->nr = SYSCALLS_MAX_NR; /* whichever number it has here */
	st->call.flags |= CALL_RESTARTED;
	return under_way(st, id);
}

static __always_inline int enter_create(struct task_struct *task, __u32 nr, __u8 id,
					const struct args *args)
{
	struct call_state *st = begin(task, nr);

	if (!st)
		return 0;
	st->call.flags = CALL_SOCKET_KNOWN;
	st->call.family = args->a[0];
	st->call.sock_type = args->a[1] & 0xf; /* without SOCK_NONBLOCK, SOCK_CLOEXEC */
	st->call.protocol = args->a[2];
	return under_way(st, id);
}

static __always_inline int enter_fd(struct task_struct *task, __u32 nr, __u8 id,
				    const struct args *args)
{
	__u32 fd = args->a[0];
	struct socket *socket = file_socket(task_file(task, fd));
	struct call_state *st;

	if (!socket && id == CALL_SPLICE) {
		fd = args->a[2];
		socket = file_socket(task_file(task, fd));
	}
	if (!socket && id >= CALL_FIRST_ANY_FD)
		return 0;

	st = begin(task, nr);
	if (!st)
		return 0;
	st->call.fd = fd;
	enter_name(st, id, args);
	if (socket)
		put_socket(&st->call, socket);
	return under_way(st, id);
}

/* `current`: `task` is, so its memory can be read. */
static __always_inline int enter(struct task_struct *task, bool current, struct pt_regs *regs,
				 __u32 nr, __u8 id)
{
	struct call_state *st;
	struct args args;

	if (is_own(task->tgid))
		return 0;
	if (is_compat(task)) {
		__sync_fetch_and_add(&n_compat, 1);
		return 0;
	}
	read_args(regs, &args);

	if (id < CALL_FIRST_CREATE)
		return enter_fd(task, nr, id, &args);
	if (id == CALL_RESTART)
		return enter_restart(task);
	if (id < CALL_FIRST_WAIT)
		return enter_create(task, nr, id, &args);

	st = begin(task, nr);
	if (!st)
		return 0;
	put_wait(&st->call, id, &args, current);
	return under_way(st, id);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(syscall_enter, struct pt_regs *regs, long nr)
{
	__u8 id;

	if ((__u64)nr >= SYSCALLS_MAX_NR)
		return 0;
	id = call_of_nr[nr];
	return id ? enter(bpf_get_current_task_btf(), true, regs, nr, id) : 0;
}

/*
 * Run once by the daemon, when the programs are attached: calls that have been
 * entered before, of threads that sleep in them. They begin now.
 */
SEC("iter/task")
int entered_before(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct call_state *st;
	struct pt_regs *regs;
	__u64 enter_ns;
	__u32 nr;
	__u8 id;

	if (!task || (task->flags & PF_KTHREAD) || !task->__state)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	nr = syscall_nr(regs);
	if (nr >= SYSCALLS_MAX_NR)
		return 0;
	id = call_of_nr[nr];
	if (!id || bpf_task_storage_get(&calls, task, 0, 0)) /* it has made calls since */
		return 0;
	enter(task, false, regs, nr, id);

	/* Awake by now? Then its exit may have come too soon to find what we left for it. */
	st = bpf_task_storage_get(&calls, task, 0, 0);
	if (!st)
		return 0;
	enter_ns = st->call.enter_ns;
	barrier();
	if (!task->__state && st->call.enter_ns == enter_ns)
		st->call.call = CALL_NONE;
	return 0;
}

/* ---- on the way out ---- */

/* Takes over the address in the caller's memory, as the peer's or, of bind(), as our own. */
static __always_inline void claim(struct syscalls_call *call, __u64 ptr, __u32 len)
{
	const char *p = (const char *)ptr;
	bool local = call->call == CALL_BIND;
	struct syscalls_inet *inet = &call->inet;
	char name[UNIX_PATH_LEN];
	__u16 family = 0, port = 0;
	long n;

	if (!ptr || len < sizeof(family) || bpf_probe_read_user(&family, sizeof(family), p))
		return;
	if (family != AF_UNIX && (family != AF_INET || len < 8) && (family != AF_INET6 || len < 24))
		return;

	if (family != call->addr_family || family == AF_UNIX)
		__builtin_memset(call->bytes, 0, sizeof(call->bytes));
	call->addr_family = family;
	call->flags &= CALL_RESTARTED | CALL_SOCKET_KNOWN;
	call->flags |= CALL_CLAIMED | (local && family == AF_UNIX ? CALL_PATH_LOCAL : 0);

	if (family == AF_UNIX) {
		len -= sizeof(family);
		p += sizeof(family);
		if (len == 0 || len > UNIX_PATH_LEN || bpf_probe_read_user(name, 1, p))
			return;
		if (!name[0]) {
			call->flags |= CALL_PATH_ABSTRACT;
			put_path(call, p + 1, len - 1, false);
			return;
		}
		n = bpf_probe_read_user_str(name, sizeof(name), p);
		if (n <= 1)
			return;
		n = n - 1 < len ? n - 1 : len;
		put_path(call, p, n, false);
		return;
	}

	bpf_probe_read_user(&port, sizeof(port), p + 2);
	port = __builtin_bswap16(port);
	if (local)
		inet->local_port = port;
	else
		inet->peer_port = port;
	if (family == AF_INET) {
		bpf_probe_read_user(local ? inet->local : inet->peer, 4, p + 4);
	} else {
		bpf_probe_read_user(local ? inet->local : inet->peer, 16, p + 8);
		if (len >= 28 && !local)
			bpf_probe_read_user(&inet->scope_id, 4, p + 24);
	}
}

/* The first members of the kernel's struct user_msghdr; struct mmsghdr starts with one. */
struct message_head {
	__u64 name;
	__u32 name_len;
};

/* The other end of one message of a socket without a fixed one. */
static __always_inline void claim_message(struct call_state *st, long ret)
{
	struct syscalls_call *call = &st->call;
	struct message_head head = { st->name, st->name_len };

	if (!st->name || call->sock_type == SOCK_STREAM)
		return;
	switch (call->call) {
	case CALL_SENDTO:
		break;
	case CALL_RECVFROM:
		if (ret < 0 || bpf_probe_read_user(&head.name_len, 4, (void *)st->name_len))
			return;
		break;
	default:
		if (bpf_probe_read_user(&head, 12, (void *)st->name))
			return;
		if (ret < 0 && (call->call == CALL_RECVMSG || call->call == CALL_RECVMMSG))
			return;
	}
	claim(call, head.name, head.name_len);
}

/* What is known only now: the new socket, the address that was given or taken. */
static __always_inline void complete(struct task_struct *task, struct call_state *st, long ret)
{
	struct syscalls_call *call = &st->call;

	switch (call->call) {
	case CALL_CONNECT:
	case CALL_BIND:
		if (ret)
			claim(call, st->name, st->name_len);
		else
			put_fd(call, task, call->fd);
		break;
	case CALL_LISTEN:
		put_fd(call, task, call->fd);
		break;
	case CALL_ACCEPT:
	case CALL_ACCEPT4:
		if (ret >= 0)
			put_fd(call, task, ret);
		break;
	case CALL_SENDTO:
	case CALL_SENDMSG:
	case CALL_SENDMMSG:
	case CALL_RECVFROM:
	case CALL_RECVMSG:
	case CALL_RECVMMSG:
		claim_message(st, ret);
		break;
	}
}

static __always_inline bool is_wait(__u8 id)
{
	return id >= CALL_FIRST_WAIT && id <= CALL_EPOLL_PWAIT2;
}

static __always_inline void record(struct task_struct *task, const struct syscalls_call *call,
				   long ret)
{
	struct syscalls_event *ev = event_reserve(SYSCALLS_CALL, 0, sizeof(*ev));

	if (!ev)
		return;
	ev->hdr.tgid = task->tgid;
	ev->hdr.tid = task->pid;
	ev->hdr.user = task_user(task);
	ev->hdr.cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	ev->call = *call;
	ev->call.ret = ret;
	event_submit(ev);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(syscall_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_state *st = bpf_task_storage_get(&calls, task, 0, 0);
	__u8 id;

	if (!st)
		return 0;
	id = st->call.call;
	if (!id)
		return 0;
	/* Should an exit ever pass unseen, the next one must not be taken for it. */
	if (st->nr != SYSCALLS_MAX_NR && st->nr != syscall_nr(regs)) {
		st->call.call = CALL_NONE;
		return 0;
	}

	if (is_wait(id)) {
		if (ret == -ERESTART_RESTARTBLOCK)
			st->restart = id;
		if (bpf_ktime_get_boot_ns() - st->call.enter_ns >= wait_min_ns)
			record(task, &st->call, ret);
	} else {
		complete(task, st, ret);
		record(task, &st->call, ret);
	}
	st->call.call = CALL_NONE;
	return 0;
}

/* ---- at the end of a recording ---- */

/* Read by the daemon: a record of every call that has not returned. */
SEC("iter/task")
int unfinished(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct syscalls_event ev = {};
	struct call_state *st;
	__u64 now;

	if (!task)
		return 0;
	st = bpf_task_storage_get(&calls, task, 0, 0);
	if (!st || !st->call.call)
		return 0;
	ev.call = st->call;
	barrier();
	/* Its thread runs: the call may have ended and another begun meanwhile. */
	if (!st->call.call || st->call.enter_ns != ev.call.enter_ns || !ev.call.call)
		return 0;
	now = bpf_ktime_get_boot_ns();
	if (is_wait(ev.call.call) && now - ev.call.enter_ns < wait_min_ns)
		return 0;

	ev.hdr.time_ns = now;
	ev.hdr.tgid = task->tgid;
	ev.hdr.tid = task->pid;
	ev.hdr.user = task_user(task);
	ev.hdr.cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	ev.hdr.type = SYSCALLS_UNFINISHED;
	ev.hdr.size = sizeof(ev);
	bpf_seq_write(ctx->meta->seq, &ev, sizeof(ev));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
