/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probes.bpf.c - probes without a stack, in programs and at tracepoints.
 *
 * Feeds daemon/collect/probes.c. See probes.bpf.h.
 */
#include "probes.bpf.h"

/* Hits at work on a CPU: each may be waiting for a page. */
#define ROOMS 4

struct rooms {
	struct probes_run at[ROOMS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rooms);
} rooms SEC(".maps");

/* What the daemon has to say of a probe, put here by it. */
struct probes_event inbox;

static __always_inline struct probes_run *take_room(void)
{
	__u32 zero = 0;
	struct rooms *all = bpf_map_lookup_elem(&rooms, &zero);

	if (!all)
		return 0;
#pragma clang loop unroll(full)
	for (int i = 0; i < ROOMS; i++)
		if (take(&all->at[i]))
			return &all->at[i];
	return 0;
}

static __always_inline int on_hit(void *ctx, __u64 cookie, __u64 sp, bool sleeps)
{
	/* The clock first: see event_reserve(). */
	__u64 now_ns = bpf_ktime_get_boot_ns();
	__u32 number = cookie;
	struct probes_place *place = bpf_map_lookup_elem(&places, &number);
	struct probes_counts *n = bpf_map_lookup_elem(&counts, &number);
	struct probes_run *run;
	__u32 size;

	if (!place || !n)
		return 0;
	if (is_own(bpf_get_current_pid_tgid() >> 32)) {
		__sync_fetch_and_add(&n->n_own, 1);
		return 0;
	}
	run = take_room();
	if (!run) {
		lose(n);
		return 0;
	}
	size = fill(ctx, run, place, n, cookie, sp, now_ns, sleeps);
	if (size)
		send(run, place, n, size, sizeof(run->ev));
	run->busy = 0;
	return 0;
}

#include "probes_at.bpf.h"

/* Run by the daemon: what is in the inbox goes the way of all others. */
SEC("syscall")
int on_notice(void *ctx)
{
	struct event_stream *s;
	__u64 seq = 0;

	s = stream_next(0, &seq);
	if (!s)
		return 0;
	inbox.hdr.seq = seq;
	inbox.hdr.cpu = bpf_get_smp_processor_id();
	inbox.hdr.stream = 0;
	inbox.hdr.size = PROBES_HEAD;
	event_output(&inbox.hdr, s, PROBES_HEAD);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
