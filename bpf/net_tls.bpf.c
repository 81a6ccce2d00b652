/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_tls.bpf.c - what TLS libraries are given and give in clear text, and names that
 * getaddrinfo() is asked for.
 *
 * Feeds daemon/collect/net_tls.c, which puts a probe on the way in and on the way out of
 * each function. A call's bytes are read on its way out, from the buffer it was called
 * with. Its records go into the ring of net.bpf.c.
 */
#include "common.bpf.h"

#include "net_tls.h"
#include "net_tls_stream.bpf.h"
#include "own.bpf.h"

#if defined(__TARGET_ARCH_arm64)
#define RETURN_ADDRESS 0 /* what a call pushes, in bytes */
#else
#define RETURN_ADDRESS 8
#endif

/* Fixed at load. */
const volatile struct net_tls_function functions[NET_TLS_MAX_FUNCTIONS];

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct net_tls_globs);
} globs SEC(".maps");

/* Names of hosts that threads are looking up. */
struct lookup {
	__u64 sp;
	struct net_lookup_event ev;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lookup);
} lookups SEC(".maps");

/* ---- who is wanted ---- */

struct comm {
	char text[16];
};

/* Verified once, not for each of them. */
__noinline int matches(struct net_tls_glob *glob, struct comm *comm)
{
	__u64 at = 1;

	if (!glob || !comm)
		return false;
#pragma clang loop unroll(disable)
	for (int k = 0; k < 16 && comm->text[k]; k++)
		at = (at & glob->moves[(__u8)comm->text[k]]) << 1 | (at & glob->stays);
	return at >> (glob->n & 63) & 1;
}

/* Is the process called so that somebody has asked for it? Remembered until it is renamed. */
__noinline int named_as_wanted(struct tls_thread *t)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct net_tls_globs *g;
	__u32 zero = 0;
	struct comm comm = {};

	g = bpf_map_lookup_elem(&globs, &zero);
	if (!g || !t)
		return 0;
	bpf_probe_read_kernel(&comm, sizeof(comm), task->group_leader->comm);
	if (t->globs_version == g->version && *(__u64 *)comm.text == *(__u64 *)t->comm &&
	    *(__u64 *)(comm.text + 8) == *(__u64 *)(t->comm + 8))
		return t->wanted;
	__builtin_memcpy(t->comm, &comm, sizeof(comm));
	t->globs_version = g->version;
	t->wanted = 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < NET_TLS_MAX_GLOBS && i < g->n; i++)
		t->wanted |= matches(&g->globs[i], &comm);
	return t->wanted;
}

/* NULL: nobody has asked for it. */
static __always_inline struct tls_thread *wanted_thread(struct task_struct *task, __u64 cookie)
{
	struct tls_thread *t;

	if (is_own(task->tgid))
		return 0;
	t = bpf_task_storage_get(&tls_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		count_lost();
	else if ((cookie & NET_TLS_BY_NAME) && !named_as_wanted(t))
		return 0;
	return t;
}

/* ---- records ---- */

_Static_assert(sizeof(struct net_plain_event) == sizeof(struct net_io_event) &&
		       NET_PLAIN_HEAD == NET_IO_HEAD,
	       "one room is for both");

/* What a call has moved; len == 0: the other end has said that it is over. */
struct plain_move {
	struct task_struct *task;
	struct tls_stream *stream;
	__u64 handle, time_ns;
	__u64 off;
	__u32 dir; /* 1: sent */
	__u32 len;
};

static __always_inline void fill(struct net_plain_event *ev, const struct plain_move *m)
{
	ev->hdr.time_ns = m->time_ns;
	ev->hdr.cgroup_id = task_cgroup_id(m->task);
	ev->hdr.tgid = m->task->tgid;
	ev->hdr.tid = m->task->pid;
	__builtin_memcpy(&ev->sock, &m->stream->sock, sizeof(ev->sock));
	ev->off = m->off;
	ev->len = m->len;
	ev->flags = m->dir ? NET_SENT : 0;
	ev->protocol = m->stream->plain.protocol;
	ev->n_runs = 0;
	ev->link = m->stream->link;
	ev->stream = m->handle;
}

/* Without payload. */
static __always_inline void tell_bare(const struct plain_move *m, __u8 flags)
{
	struct net_plain_event *ev = event_reserve(NET_PLAIN, 0, NET_PLAIN_HEAD);

	if (!ev)
		return;
	fill(ev, m);
	ev->flags |= flags;
	event_submit(ev);
}

/* With the room's runs. */
static __always_inline void tell_runs(struct net_room *room, const struct plain_move *m)
{
	struct net_plain_event *ev;
	struct event_stream *counts;
	__u64 seq = 0;
	__u32 size;

	ev = room_record(room, &size);
	counts = ev ? stream_next(0, &seq) : 0;
	if (!counts)
		return;
	event_fill_at(&ev->hdr, m->time_ns, NET_PLAIN, 0, size, seq);
	fill(ev, m);
	ev->n_runs = room->n_runs;
	ev->flags |= room->cut ? NET_CUT : 0;
	event_output(&ev->hdr, counts, size);
}

static __always_inline void tell(struct plain_move *m, __u64 buf)
{
	struct tls_stream *s = m->stream;
	__u32 zero = 0;
	struct net_room *room = m->len && buf ? bpf_map_lookup_elem(&net_rooms, &zero) : 0;

	m->off = s->off[m->dir & 1];
	s->off[m->dir & 1] += m->len;
	if (!room || __sync_val_compare_and_swap(&room->busy, 0, 1) != 0) {
		pass_plain(&s->plain, m->dir, m->len);
		tell_bare(m, room ? NET_CUT : 0);
		return;
	}
	room->n_bytes = room->n_runs = room->cut = 0;
	walk_plain(room, &s->plain, m->dir, buf, m->len);
	tell_runs(room, m);
	room->busy = 0;
}

/* ---- getaddrinfo() ---- */

static __always_inline int enter_lookup(struct pt_regs *ctx, struct task_struct *task, __u64 cookie)
{
	__u64 sp = PT_REGS_SP(ctx);
	struct lookup *l;
	long n;

	if (!PT_REGS_PARM1(ctx) || !wanted_thread(task, cookie))
		return 0;
	l = bpf_task_storage_get(&lookups, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!l) {
		count_lost();
		return 0;
	}
	n = bpf_probe_read_user_str(l->ev.name, sizeof(l->ev.name),
				    (const void *)PT_REGS_PARM1(ctx));
	if (n <= 1)
		return 0;
	l->ev.name_len = n - 1;
	l->ev.enter_ns = bpf_ktime_get_boot_ns();
	l->sp = sp;
	return 0;
}

static __always_inline int leave_lookup(struct pt_regs *ctx, struct task_struct *task)
{
	struct lookup *l = bpf_task_storage_get(&lookups, task, 0, 0);
	__u64 now_ns = bpf_ktime_get_boot_ns(), seq = 0;
	struct event_stream *counts;
	__u32 size;

	if (!l || !l->sp || l->sp != PT_REGS_SP(ctx) - RETURN_ADDRESS)
		return 0;
	l->sp = 0;
	l->ev.ret = (int)PT_REGS_RC(ctx);
	size = NET_LOOKUP_HEAD + l->ev.name_len;
	counts = stream_next(0, &seq);
	if (!counts || size > sizeof(l->ev))
		return 0;
	event_fill_at(&l->ev.hdr, now_ns, NET_LOOKUP, 0, size, seq);
	l->ev.hdr.cgroup_id = task_cgroup_id(task);
	l->ev.hdr.tgid = task->tgid;
	l->ev.hdr.tid = task->pid;
	l->ev.hdr.user = task_user(task);
	event_output(&l->ev.hdr, counts, size);
	return 0;
}

/* ---- calls ---- */

/* NULL: there is none so deep. */
static __always_inline struct tls_call *call_at(struct tls_thread *t, __u32 i)
{
	if (i >= MAX_DEPTH)
		return 0;
	barrier_var(i); /* the mask is for the verifier, and stays */
	return &t->calls[i & (MAX_DEPTH - 1)];
}

/*
 * Is a call at `sp` another one, or what one that is under way does inside? Those that
 * cannot be under way any more, because they were jumped out of, are forgotten.
 */
static __always_inline bool is_new(struct tls_thread *t, __u64 sp, __u32 function, __u64 handle)
{
	struct tls_call *c;

#pragma clang loop unroll(disable)
	for (int i = 0; i < MAX_DEPTH; i++) {
		c = call_at(t, t->depth - 1);
		if (!c)
			break;
		/* The same one, through another probe; or the end of it is another function. */
		if (c->sp == sp && c->handle == handle)
			return false;
		if (c->sp > sp && !(c->function == function && c->handle == handle))
			break;
		t->depth--;
	}
	c = call_at(t, t->depth - 1);
	return !c || c->handle != handle;
}

/* NSPR's descriptors are files of all kinds, one layer above the other; TLS is no lowest one. */
static __always_inline bool has_layers(__u64 descriptor)
{
	__u64 lower = 0;

	bpf_probe_read_user(&lower, sizeof(lower), (const void *)(descriptor + 16));
	return lower != 0;
}

static __always_inline int forget(struct task_struct *task, __u64 handle)
{
	struct stream_key key = { .handle = handle, .tgid = task->tgid };

	bpf_map_delete_elem(&tls_streams, &key);
	return 0;
}

static __always_inline int enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cookie = bpf_get_attach_cookie(ctx), sp = PT_REGS_SP(ctx);
	__u64 handle = PT_REGS_PARM1(ctx);
	__u32 function = cookie & (NET_TLS_MAX_FUNCTIONS - 1);
	const volatile struct net_tls_function *f = &functions[function];
	struct net_thread *io;
	struct tls_thread *t;
	struct tls_call *c;

	if (f->kind == NET_TLS_FREE)
		return forget(task, handle);
	if (f->kind == NET_TLS_LOOKUP)
		return enter_lookup(ctx, task, cookie);
	if (!handle || ((f->flags & NET_TLS_NSPR) && !has_layers(handle)))
		return 0;
	t = wanted_thread(task, cookie);
	if (!t)
		return 0;
	io = bpf_task_storage_get(&net_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!io || !is_new(t, sp, function, handle))
		return 0;
	c = call_at(t, t->depth);
	if (!c) {
		count_lost();
		return 0;
	}
	link_waiting(t, io);
	c->sp = sp;
	c->handle = handle;
	c->buf = f->flags & NET_TLS_FILE ? 0 : PT_REGS_PARM2(ctx);
	c->out = f->flags & NET_TLS_OUT ? PT_REGS_PARM4(ctx) : 0;
	c->function = function;
	c->enter_ns = bpf_ktime_get_boot_ns();
	barrier();
	t->depth++;
	io->depth = t->depth;
	return 0;
}

/* How many bytes it has moved; below 0: none, it has failed. */
static __always_inline int moved(struct pt_regs *ctx, const struct tls_call *c)
{
	int ret = (int)PT_REGS_RC(ctx);
	__u64 n = 0;

	if (!c->out)
		return ret;
	/* 2: SSL_read_early_data() has come to its end. */
	if (ret != 1 || bpf_probe_read_user(&n, sizeof(n), (const void *)c->out) ||
	    n > 0x7fffffff || n == 0)
		return -1;
	return (int)n;
}

static __always_inline void over(struct task_struct *task, struct tls_thread *t,
				 struct net_thread *io, struct tls_call *c, int ret)
{
	const volatile struct net_tls_function *f =
		&functions[c->function & (NET_TLS_MAX_FUNCTIONS - 1)];
	struct stream_key key = { .handle = c->handle, .tgid = task->tgid };
	bool is_handshake = f->kind == NET_TLS_HANDSHAKE, is_write = f->kind == NET_TLS_WRITE;
	bool succeeded = is_handshake ? ret == !(f->flags & NET_TLS_ZERO) : ret > 0;
	struct plain_move m = { .task = task, .handle = c->handle, .dir = is_write };
	__u64 now_ns = bpf_ktime_get_boot_ns(), buf = c->buf;
	struct tls_stream *s;

	/* Of NSPR only where TLS goes through the socket below. */
	if ((f->flags & NET_TLS_NSPR) && !bpf_map_lookup_elem(&tls_streams, &key) &&
	    !(io->nested.time_ns >= c->enter_ns && io->nested.is_tls))
		return;
	s = stream_of(task, &key);
	if (!s)
		return;
	link_stream(s, c, t, io, !is_write, succeeded);
	if (!is_write)
		t->read_ns = now_ns;
	if (is_handshake)
		return;
	if (f->flags & NET_TLS_AGAIN) {
		if (!buf)
			buf = s->again_buf;
		s->again_buf = ret > 0 ? 0 : buf;
	}
	m.stream = s;
	m.len = ret;
	/* What is written is on its way when the socket has it, not when the library is done. */
	m.time_ns = is_write && io->nested.time_ns >= c->enter_ns ? io->nested.time_ns : now_ns;
	if (succeeded || (ret == 0 && (f->flags & NET_TLS_ENDS)))
		tell(&m, buf);
	if (succeeded && is_write && s->link == NET_LINK_NONE) {
		t->waiting = key;
		t->waits = 1;
		t->waits_ns = now_ns;
		io->wants_send = 1;
	}
}

static __always_inline int leave(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 function = bpf_get_attach_cookie(ctx) & (NET_TLS_MAX_FUNCTIONS - 1);
	__u64 sp = PT_REGS_SP(ctx) - RETURN_ADDRESS;
	struct tls_thread *t = bpf_task_storage_get(&tls_threads, task, 0, 0);
	struct net_thread *io = bpf_task_storage_get(&net_threads, task, 0, 0);
	struct tls_call *c;

	if (functions[function].kind == NET_TLS_LOOKUP)
		return leave_lookup(ctx, task);
	if (!t || !io)
		return 0;
	t->leaving = MAX_DEPTH;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MAX_DEPTH && i < t->depth; i++) {
		c = call_at(t, i);
		if (c && c->sp == sp && c->function == function)
			t->leaving = i;
	}
	c = call_at(t, t->leaving);
	if (!c)
		return 0;
	t->depth = io->depth = t->leaving;
	over(task, t, io, c, moved(ctx, c));
	return 0;
}

/* ---- programs ---- */

/* In single processes. */
SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	return enter(ctx);
}

SEC("uprobe")
int on_return(struct pt_regs *ctx)
{
	return leave(ctx);
}

/* The same in all of them. */
SEC("uprobe")
int on_call_of_all(struct pt_regs *ctx)
{
	return enter(ctx);
}

SEC("uprobe")
int on_return_of_all(struct pt_regs *ctx)
{
	return leave(ctx);
}

char LICENSE[] SEC("license") = "GPL";
