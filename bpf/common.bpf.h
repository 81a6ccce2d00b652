/* SPDX-License-Identifier: GPL-2.0 */
/*
 * common.bpf.h - what every BPF object of ours has: one ring, the counters of
 * its streams, and the way a record gets into the ring.
 *
 * Included once per .bpf.c, first of all. The maps
 * `ring` and `streams` are found by these names in daemon/kernel/bpf_ring.c.
 *
 * What does not say whose a record is (hdr.user) gives it to no user but those who may
 * see everything.
 */
#ifndef COMMON_BPF_H
#define COMMON_BPF_H

#include "event.h"
#include "kernel.h"
#include "user.bpf.h"

/* Fixed at load. Wake the daemon once this much is waiting, not once per event. */
const volatile __u32 wakeup_bytes = 256 * 1024;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22); /* resized by the daemon before load */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENT_MAX_STREAMS);
	__type(key, __u32);
	__type(value, struct event_stream);
} streams SEC(".maps");

static __always_inline __u64 task_cgroup_id(struct task_struct *task)
{
	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

/*
 * Counts one event of `stream` and takes its number. Atomic because a program
 * may be interrupted by another one that uses the same stream on this CPU.
 */
static __always_inline struct event_stream *stream_next(__u32 stream, __u64 *ret_seq)
{
	struct event_stream *s = bpf_map_lookup_elem(&streams, &stream);

	if (s)
		*ret_seq = __sync_fetch_and_add(&s->n_produced, 1);
	return s;
}

static __always_inline void event_fill_at(struct event_hdr *hdr, __u64 time_ns, __u16 type,
					  __u16 stream, __u16 size, __u64 seq)
{
	hdr->time_ns = time_ns;
	hdr->seq = seq;
	hdr->cgroup_id = 0;
	hdr->tgid = hdr->tid = hdr->peer_tgid = hdr->peer_tid = 0;
	hdr->cpu = bpf_get_smp_processor_id();
	hdr->type = type;
	hdr->stream = stream;
	hdr->user = hdr->peer_user = 0;
	hdr->size = size;
}

static __always_inline void event_fill(struct event_hdr *hdr, __u16 type, __u16 stream, __u16 size,
				       __u64 seq)
{
	event_fill_at(hdr, bpf_ktime_get_boot_ns(), type, stream, size, seq);
}

/*
 * A record of `size` bytes (a constant) with its head filled, or NULL when the
 * ring is full: then the loss is already counted. Caller sets the threads.
 */
static __always_inline void *event_reserve(__u16 type, __u16 stream, __u16 size)
{
	struct event_stream *s;
	struct event_hdr *hdr;
	/*
	 * The clock first: a program may be preempted here for as long as a
	 * thread may be. With a time from before, this record is old among those
	 * that were numbered meanwhile; the other way round they would all seem
	 * to come after it.
	 */
	__u64 time_ns = bpf_ktime_get_boot_ns(), seq = 0;

	s = stream_next(stream, &seq);
	if (!s)
		return 0;
	hdr = bpf_ringbuf_reserve(&ring, size, 0);
	if (!hdr) {
		__sync_fetch_and_add(&s->n_lost, 1);
		return 0;
	}
	event_fill_at(hdr, time_ns, type, stream, size, seq);
	return hdr;
}

/*
 * A wakeup is an interrupt to this CPU and costs 1 us: ask for one with the record that
 * crosses the threshold, `start` and `end` being where that lies, not with every record
 * beyond it. Those that others have reserved meanwhile are in them, too: hence the band. What
 * is crossed unseen all the same the reader's timer finds. (A size is not compared with what
 * is not known: Linux 6.12 forgets then how large it can be.)
 */
#define WAKEUP_BAND 512

static __always_inline __u64 wakeup_flag(__u64 start, __u64 end)
{
	return end >= wakeup_bytes && start < (__u64)wakeup_bytes + WAKEUP_BAND
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* `size`: what was reserved. */
static __always_inline void event_submit_sized(void *ev, __u32 size)
{
	__u64 end = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	bpf_ringbuf_submit(ev, wakeup_flag(end - size, end));
}

static __always_inline void event_submit(void *ev)
{
	event_submit_sized(ev, ((struct event_hdr *)ev)->size);
}

/*
 * For records of variable size, built elsewhere: the head's `size` says how long. False:
 * the ring is full.
 */
static __always_inline bool event_output(struct event_hdr *hdr, struct event_stream *s, __u32 size)
{
	__u64 start = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	if (bpf_ringbuf_output(&ring, hdr, size, wakeup_flag(start, start + size)) == 0)
		return true;
	__sync_fetch_and_add(&s->n_lost, 1);
	return false;
}

#endif
