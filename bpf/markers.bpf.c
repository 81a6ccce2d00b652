/* SPDX-License-Identifier: GPL-2.0 */
/*
 * markers.bpf.c - what programs say of themselves (daemon/marker.h).
 *
 * Feeds daemon/collect/markers.c, which puts a probe on each of a file's seven places;
 * the cookie is the phase, the arguments are where a function's first four are. The
 * programs may sleep: names are read for the first time here, and the page with them is
 * often not in memory before.
 */
#include "common.bpf.h"
#include "markers_events.h"

/* A thread may be preempted, or wait for a page, in the middle of a marker. */
#define ROOMS 6

struct room {
	struct markers_event ev;
	__u32 busy;
	__u32 pad;
};

struct rooms {
	struct room at[ROOMS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rooms);
} rooms SEC(".maps");

/* A datagram's, put here by the daemon. */
struct markers_event inbox;

/* struct tracer_kv */
struct pair {
	__u64 key, type, value;
};

/* NULL: all are taken. */
static __always_inline struct room *take_room(void)
{
	__u32 zero = 0;
	struct rooms *all = bpf_map_lookup_elem(&rooms, &zero);

	if (!all)
		return 0;
#pragma clang loop unroll(full)
	for (int i = 0; i < ROOMS; i++)
		if (__sync_val_compare_and_swap(&all->at[i].busy, 0, 1) == 0)
			return &all->at[i];
	return 0;
}

/* Makes sure that a string's first pages are in memory. */
static __always_inline void fetch(__u64 at, __u32 max)
{
	__u64 last = at + max - 1;
	__u8 byte;

	(void)bpf_copy_from_user(&byte, 1, (const void *)at);
	if ((at ^ last) >> 12)
		(void)bpf_copy_from_user(&byte, 1, (const void *)(last & ~4095ull));
}

/* Its length without the NUL; less than 0: it cannot be read. */
static __always_inline long read_text(void *dst, __u32 max, __u64 at)
{
	long n;

	if (!at)
		return -1;
	n = bpf_probe_read_user_str(dst, max, (const void *)at);
	if (n < 0) {
		fetch(at, max);
		n = bpf_probe_read_user_str(dst, max, (const void *)at);
	}
	return n - 1;
}

static __always_inline bool read_pair(struct pair *dst, __u64 at)
{
	return bpf_probe_read_user(dst, sizeof(*dst), (const void *)at) == 0 ||
	       bpf_copy_from_user(dst, sizeof(*dst), (const void *)at) == 0;
}

/* False: there is no room, or nothing to read. Verified once, not for each of the pairs. */
__noinline int add_pair(struct markers_event *ev, __u64 at)
{
	struct markers_arg *arg;
	__u32 len, text = 0;
	struct pair pair;
	long n;

	if (!ev)
		return false;
	len = ev->len;
	if (len > MARKERS_ROOM - MARKERS_ARG_MAX) {
		ev->flags |= MARKERS_CUT;
		return false;
	}
	if (!read_pair(&pair, at)) {
		ev->flags |= MARKERS_UNREADABLE;
		return false;
	}
	arg = (struct markers_arg *)(ev->bytes + len);
	arg->pad = 0;
	arg->type = pair.type;
	arg->value = pair.type == MARKERS_STR ? 0 : pair.value;
	n = read_text(ev->bytes + len + sizeof(*arg), MARKERS_KEY, pair.key);
	if (n < 0 || n >= MARKERS_KEY) {
		ev->flags |= MARKERS_UNREADABLE;
		n = 0;
	}
	arg->key_len = n;
	len += sizeof(*arg) + n;
	if (pair.type == MARKERS_STR && pair.value) {
		n = read_text(ev->bytes + len, MARKERS_TEXT, pair.value);
		if (n < 0 || n >= MARKERS_TEXT) {
			ev->flags |= MARKERS_UNREADABLE;
			n = 0;
		}
		text = n;
	}
	arg->text_len = text;
	ev->len = MARKERS_ALIGN(len + text);
	ev->n_args++;
	return true;
}

static __always_inline void fill(struct markers_event *ev, struct pt_regs *ctx)
{
	__u64 pairs = PT_REGS_PARM2(ctx), n = PT_REGS_PARM3(ctx);
	long len;

	ev->value = PT_REGS_PARM4(ctx);
	ev->phase = bpf_get_attach_cookie(ctx);
	ev->flags = 0;
	ev->n_args = 0;
	len = read_text(ev->bytes, MARKERS_NAME, PT_REGS_PARM1(ctx));
	if (len < 0 || len >= MARKERS_NAME) {
		ev->flags |= MARKERS_UNREADABLE;
		len = 0;
	}
	ev->name_len = len;
	ev->len = MARKERS_ALIGN((__u32)len);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MARKERS_ARGS && i < n; i++)
		if (!add_pair(ev, pairs + i * sizeof(struct pair)))
			break;
	if (n > MARKERS_ARGS)
		ev->flags |= MARKERS_CUT;
}

static __always_inline void output(struct markers_event *ev, __u64 time_ns, __u16 type)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct event_stream *s;
	__u32 size = ev->len;
	__u64 seq = 0;

	s = stream_next(0, &seq);
	if (!s)
		return;
	if (size > MARKERS_ROOM) { /* for the verifier: it is not */
		__sync_fetch_and_add(&s->n_lost, 1);
		return;
	}
	size += MARKERS_HEAD;
	event_fill_at(&ev->hdr, time_ns, type, 0, size, seq);
	ev->hdr.cgroup_id = task_cgroup_id(task);
	ev->hdr.tgid = task->tgid;
	ev->hdr.tid = task->pid;
	ev->hdr.user = task_user(task);
	event_output(&ev->hdr, s, size);
}

static __always_inline void count_lost(void)
{
	__u64 seq;
	struct event_stream *s = stream_next(0, &seq);

	if (s)
		__sync_fetch_and_add(&s->n_lost, 1);
}

SEC("uprobe.s")
int on_marker(struct pt_regs *ctx)
{
	/* The clock first: what follows is not the program's, and see event_reserve(). */
	__u64 now_ns = bpf_ktime_get_boot_ns();
	struct room *room = take_room();

	if (!room) {
		count_lost();
		return 0;
	}
	fill(&room->ev, ctx);
	output(&room->ev, now_ns, MARKERS_MARK);
	room->busy = 0;
	return 0;
}

/* Run by the daemon: what is in the inbox goes the way of all others. */
SEC("syscall")
int on_datagram(void *ctx)
{
	struct event_stream *s;
	__u32 size = inbox.len;
	__u64 seq = 0;

	s = stream_next(0, &seq);
	if (!s)
		return 0;
	if (size > MARKERS_ROOM) { /* for the verifier */
		__sync_fetch_and_add(&s->n_lost, 1);
		return 0;
	}
	size += MARKERS_HEAD;
	inbox.hdr.seq = seq;
	inbox.hdr.cpu = bpf_get_smp_processor_id();
	inbox.hdr.stream = 0;
	inbox.hdr.size = size;
	event_output(&inbox.hdr, s, size);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
