/* SPDX-License-Identifier: GPL-2.0 */
/*
 * alloc.bpf.c - where memory is asked for: a stack each so many bytes.
 *
 * Feeds daemon/collect/alloc.c, which puts a probe on the functions of the C
 * library, in the processes that are meant and in no other.
 */
#include "alloc_events.h"
#include "user_stack.bpf.h"

/* Changed by the daemon while we run. */
__u64 sample_bytes = 512 * 1024;

/* What a thread has asked for since its last sample. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32); /* tid */
	__type(value, __u64);
} asked SEC(".maps");

/* A probe runs with preemption on: another one may come in between. */
struct room {
	struct alloc_event ev;
	__u32 busy;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct room);
} rooms SEC(".maps");

static __always_inline __u64 size_of(struct pt_regs *ctx, __u32 function)
{
	__u64 size;

	switch (function) {
	case ALLOC_MALLOC:
		return PT_REGS_PARM1(ctx);
	case ALLOC_CALLOC:
		size = PT_REGS_PARM1(ctx);
		if (size >> 32 || PT_REGS_PARM2(ctx) >> 32)
			return 0; /* it fails, or nearly so */
		return size * PT_REGS_PARM2(ctx);
	case ALLOC_REALLOC:
		/* Of nothing is malloc(), which C libraries call for it. */
		return PT_REGS_PARM1(ctx) ? PT_REGS_PARM2(ctx) : 0;
	case ALLOC_POSIX_MEMALIGN:
		return PT_REGS_PARM3(ctx);
	default:
		return PT_REGS_PARM2(ctx);
	}
}

/* How many bytes a sample taken now stands for; 0: it is not time yet. */
static __always_inline __u64 due(__u32 tid, __u64 size)
{
	__u64 *sum = bpf_map_lookup_elem(&asked, &tid), first, n, step = sample_bytes;

	if (size == 0 || step == 0 || size >> 48) /* none has that much: it fails */
		return 0;
	if (!sum) {
		/* Threads that live short must not all be between two samples. */
		first = size + bpf_get_prandom_u32() % (step >> 32 ? ~0u : (__u32)step | 1);
		n = first / step;
		first -= n * step;
		bpf_map_update_elem(&asked, &tid, &first, BPF_ANY);
		return n * step;
	}
	*sum += size;
	if (*sum < step)
		return 0;
	n = *sum / step;
	*sum -= n * step;
	return n * step;
}

static __always_inline void record(struct pt_regs *ctx, struct alloc_event *ev,
				   struct event_stream *s, __u64 seq, __u32 function, __u64 size,
				   __u64 weight)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u64 ids = bpf_get_current_pid_tgid();
	__u32 len;

	event_fill(&ev->hdr, ALLOC_SAMPLE, 0, 0, seq);
	ev->hdr.cgroup_id = task_cgroup_id(task);
	ev->hdr.tgid = ids >> 32;
	ev->hdr.tid = (__u32)ids;
	ev->size = size;
	ev->weight = weight;
	ev->function = function;
	len = ALLOC_HEAD + user_stack_walk(ctx, &ev->user);
	if (len > sizeof(*ev))
		return; /* for the verifier: it cannot be */
	ev->hdr.size = len;
	event_output(&ev->hdr, s, len);
}

SEC("uprobe")
int on_alloc(struct pt_regs *ctx)
{
	__u32 function = bpf_get_attach_cookie(ctx), zero = 0;
	__u64 size = size_of(ctx, function), seq = 0, weight;
	struct event_stream *s;
	struct room *room;

	weight = due((__u32)bpf_get_current_pid_tgid(), size);
	if (!weight)
		return 0;
	s = stream_next(0, &seq);
	room = bpf_map_lookup_elem(&rooms, &zero);
	if (!s || !room)
		return 0;
	if (__sync_val_compare_and_swap(&room->busy, 0, 1) != 0) {
		__sync_fetch_and_add(&s->n_lost, 1);
		return 0;
	}
	record(ctx, &room->ev, s, seq, function, size, weight);
	room->busy = 0;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
