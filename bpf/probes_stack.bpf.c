/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probes_stack.bpf.c - probes whose hits have a stack: that of the thread's user code,
 * behind the values.
 *
 * Feeds daemon/collect/probes.c, which gives it the maps of probes.bpf.c.
 */
#include "probes.bpf.h"
#include "user_stack.bpf.h"

struct stack_room {
	struct probes_run run;
	__u8 bytes[sizeof(struct user_stack)];
};

/* Hits at work on a CPU. */
#define STACK_ROOMS 3

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STACK_ROOMS);
	__type(key, __u32);
	__type(value, struct stack_room);
} stack_rooms SEC(".maps");

static __always_inline struct stack_room *take_room(void)
{
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < STACK_ROOMS; i++) {
		__u32 number = i;
		struct stack_room *room = bpf_map_lookup_elem(&stack_rooms, &number);

		if (room && take(&room->run))
			return room;
	}
	return 0;
}

/* Not of a kernel thread, which has none. How many bytes it has added. */
static __always_inline __u32 add_stack(void *ctx, struct stack_room *room)
{
	__u32 len = room->run.ev.len, size;
	struct user_stack *u;

	barrier_var(len);
	if (len > PROBES_ROOM)
		return 0;
	u = (struct user_stack *)(room->run.ev.bytes + len);
	size = user_stack_walk(ctx, u);
	if (u->n_user == 0)
		return 0;
	room->run.ev.flags |= PROBES_HAS_STACK;
	return size;
}

static __always_inline int on_hit(void *ctx, __u64 cookie, __u64 sp, bool sleeps)
{
	/* The clock first: see event_reserve(). */
	__u64 now_ns = bpf_ktime_get_boot_ns();
	__u32 number = cookie;
	struct probes_place *place = bpf_map_lookup_elem(&places, &number);
	struct probes_counts *n = bpf_map_lookup_elem(&counts, &number);
	struct stack_room *room;
	__u32 size;

	if (!place || !n)
		return 0;
	if (is_own(bpf_get_current_pid_tgid() >> 32)) {
		__sync_fetch_and_add(&n->n_own, 1);
		return 0;
	}
	room = take_room();
	if (!room) {
		lose(n);
		return 0;
	}
	size = fill(ctx, &room->run, place, n, cookie, sp, now_ns, sleeps);
	if (size)
		size += add_stack(ctx, room);
	if (size)
		send(&room->run, place, n, size, sizeof(room->run.ev) + sizeof(room->bytes));
	room->run.busy = 0;
	return 0;
}

#include "probes_at.bpf.h"

char LICENSE[] SEC("license") = "GPL";
