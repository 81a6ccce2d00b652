/* SPDX-License-Identifier: GPL-2.0 */
/*
 * probes.bpf.h - what happens where somebody has put a probe: its code is run, and what
 * that says becomes a record.
 *
 * A part of the objects that are attached (probes.bpf.c and the others), which share the
 * maps below. The attach cookie has the number of a place in
 * `places`.
 */
#ifndef PROBES_BPF_H
#define PROBES_BPF_H

#include "common.bpf.h"
#include "own.bpf.h"
#include "probes_events.h"
#include "probes_numbers.h"

/* Fixed at load: programs of uprobes may wait for memory (Linux 6.0). */
const volatile bool can_sleep = true;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROBES_MAX);
	__type(key, __u32);
	__type(value, struct probes_place);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROBES_MAX);
	__type(key, __u32);
	__type(value, struct probes_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct probes_open_key);
	__type(value, struct probes_open);
} opens SEC(".maps");

/* A hit at work. What the object needs for a stack follows. */
struct probes_run {
	__u64 registers[PROBES_REGISTERS];
	__u64 at; /* the thread's registers, the tracepoint's record, or arguments */
	__u32 pc;
	__u8 has_failed, is_wanted;
	__u16 pad;
	char text[PROBES_COMPARED];
	__u32 busy;
	__u32 pad2;
	struct probes_event ev;
};

/* What a page fault, or another thread on this CPU, may come in between. */
static __always_inline bool take(struct probes_run *run)
{
	return run && __sync_val_compare_and_swap(&run->busy, 0, 1) == 0;
}

/* ---- values ---- */

/* Pages that are private and writable; 0: a thread of the kernel. */
static __always_inline __u64 data_pages(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, data_vm);
}

static __always_inline __u64 of_task(struct probes_run *run, __s64 what)
{
	__u64 ids = bpf_get_current_pid_tgid();

	switch (what) {
	case 0:
		return ids >> 32;
	case 1:
		return (__u32)ids;
	case 2:
		return bpf_get_smp_processor_id();
	case 3:
		return run->ev.hdr.time_ns;
	case 5:
		return data_pages();
	default:
		return (__u32)bpf_get_current_uid_gid();
	}
}

/* ---- memory ---- */

/* What the kernel was given by a program is the program's: BTF does not tell them apart. */
static __always_inline bool is_in_kernel(__u64 at, bool is_kernel)
{
	return is_kernel && (__s64)at < 0;
}

static __always_inline bool load(void *dst, __u32 size, __u64 from, bool is_kernel, bool sleeps)
{
	if (is_in_kernel(from, is_kernel))
		return bpf_probe_read_kernel(dst, size, (const void *)from) == 0;
	if (bpf_probe_read_user(dst, size, (const void *)from) == 0)
		return true;
	return sleeps && can_sleep && bpf_copy_from_user(dst, size, (const void *)from) == 0;
}

/* Waits for the pages of a string. */
static __always_inline void fetch(__u64 from, __u32 size)
{
	__u64 last = from + size - 1;
	__u8 byte;

	(void)bpf_copy_from_user(&byte, 1, (const void *)from);
	if ((from ^ last) >> 12)
		(void)bpf_copy_from_user(&byte, 1, (const void *)(last & ~4095ull));
}

/* A string's length with its NUL, as it is in `dst`; less than 0: it cannot be read. */
static __always_inline long load_text(void *dst, __u32 size, __u64 from, __u32 flags, bool sleeps)
{
	long n;

	if (is_in_kernel(from, flags & PROBES_KERNEL))
		return bpf_probe_read_kernel_str(dst, size, (const void *)from);
	n = bpf_probe_read_user_str(dst, size, (const void *)from);
	if (n < 0 && sleeps && can_sleep) {
		fetch(from, size);
		n = bpf_probe_read_user_str(dst, size, (const void *)from);
	}
	/* One of a known size may end where the page does. */
	if (n < 0 && flags & PROBES_SIZED && size > 1 &&
	    bpf_probe_read_user(dst, size - 1, (const void *)from) == 0)
		n = size;
	return n;
}

/* ---- what becomes of values ---- */

/* The value's head, or NULL: there is no room (there is for as many as there may be). */
static __always_inline struct probes_value *next_value(struct probes_run *run)
{
	__u32 len = run->ev.len;
	struct probes_value *v;

	barrier_var(len);
	if (len > PROBES_ROOM - sizeof(*v) - PROBES_TEXT - 16)
		return 0;
	v = (struct probes_value *)(run->ev.bytes + len);
	__builtin_memset(v, 0, sizeof(*v));
	run->ev.n_values++;
	return v;
}

static __always_inline void emit(struct probes_run *run, __u64 value)
{
	struct probes_value *v = next_value(run);

	if (!v)
		return;
	v->is_unreadable = run->has_failed;
	v->len = run->has_failed ? 0 : sizeof(value);
	*(__u64 *)(v + 1) = value;
	run->ev.len += sizeof(*v) + v->len;
}

/* Of a string without a size one byte more than fits says that there is more. */
static __always_inline void emit_text(struct probes_run *run, const struct probes_insn *insn,
				      __u64 from, __u64 bytes, bool sleeps)
{
	struct probes_value *v = next_value(run);
	__u64 max = insn->imm;
	bool is_sized = insn->flags & PROBES_SIZED, is_longer;
	long n = -1;

	if (!v)
		return;
	if (max > PROBES_TEXT)
		max = PROBES_TEXT;
	is_longer = is_sized && bytes > max;
	if (is_sized && bytes < max)
		max = bytes;
	barrier_var(max);
	if (!run->has_failed && max <= PROBES_TEXT)
		n = load_text(v + 1, (__u32)max + (is_sized ? 1 : 2), from, insn->flags, sleeps);
	v->is_text = 1;
	v->is_unreadable = n < 0;
	n = n > 0 ? n - 1 : 0;
	v->is_cut = n > max || (is_longer && n == max);
	if (n > max)
		n = max;
	barrier_var(n);
	if (n < 0 || n > PROBES_TEXT)
		return; /* for the verifier: it is not */
	v->len = n;
	__builtin_memset((__u8 *)(v + 1) + n, 0, 8);
	run->ev.len += sizeof(*v) + ((n + 7) & ~7u);
}

/* Whether the string at `from` is the text, or begins with it. */
static __always_inline __u64 compare_text(struct probes_run *run, const char *text, __u64 from,
					  __u32 flags, __u64 bytes, bool sleeps)
{
	__u32 size = PROBES_COMPARED;

	if (flags & PROBES_SIZED && bytes < PROBES_COMPARED - 1)
		size = (__u32)bytes + 1;
	__builtin_memset(run->text, 0, sizeof(run->text));
	barrier_var(size);
	if (size <= PROBES_COMPARED && load_text(run->text, size, from, flags, sleeps) < 0) {
		run->has_failed = 1;
		return 0;
	}
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < PROBES_COMPARED; i++) {
		if (text[i] == 0)
			return flags & PROBES_PREFIX || run->text[i] == 0;
		if (run->text[i] != text[i])
			return 0;
	}
	return 1;
}

/* True: the hit is not wanted. */
static __always_inline bool consume(struct probes_run *run, const struct probes_insn *insn, __u64 a,
				    __u64 b, bool sleeps)
{
	switch (insn->op) {
	case PROBES_FILTER:
		run->is_wanted = !run->has_failed && a;
		break;
	case PROBES_EMIT:
		emit(run, a);
		break;
	case PROBES_EMIT_TEXT:
		emit_text(run, insn, a, b, sleeps);
		break;
	case PROBES_KEY:
		run->ev.key = run->has_failed ? 0 : a;
		run->ev.flags |= run->has_failed ? 0 : PROBES_HAS_KEY;
		break;
	default: /* PROBES_COUNTER */
		run->ev.counter = run->has_failed ? 0 : a;
		run->ev.flags |= run->has_failed ? 0 : PROBES_HAS_COUNTER;
	}
	run->has_failed = 0;
	return !run->is_wanted;
}

/* ---- the machine ---- */

static __always_inline __u64 value_of(struct probes_run *run, struct probes_place *place,
				      const struct probes_insn *insn, __u64 a, __u64 b, bool sleeps)
{
	bool is_signed = insn->flags & PROBES_SIGNED, is_kernel = insn->flags & PROBES_KERNEL;
	__u32 size = insn->size;
	__u64 value = 0;

	if (size == 0 || size > 8)
		size = 8;
	barrier_var(size);
	switch (insn->op) {
	case PROBES_CONST:
		return insn->imm;
	case PROBES_REGISTER:
		(void)bpf_probe_read_kernel(&value, 8, (const void *)(run->at + insn->imm));
		return value;
	case PROBES_FIELD:
		if (size <= 8)
			run->has_failed |=
				bpf_probe_read_kernel(&value, size,
						      (const void *)(run->at + insn->imm)) != 0;
		return probes_extend(value, size, is_signed);
	case PROBES_RECORD:
		return run->at + insn->imm;
	case PROBES_TASK:
		return of_task(run, insn->imm);
	case PROBES_LOAD:
		if (size <= 8)
			run->has_failed |= !load(&value, size, a + insn->imm, is_kernel, sleeps);
		return probes_extend(value, size, is_signed);
	case PROBES_EXTEND:
		return probes_extend(a, size, is_signed);
	case PROBES_TEXT_EQ:
		return compare_text(run, place->texts[insn->imm & (PROBES_TEXTS - 1)], a,
				    insn->flags, b, sleeps);
	}
	return probes_calculate(insn->op, a, insn->flags & PROBES_IMM ? (__u64)insn->imm : b,
				is_signed);
}

static __always_inline bool is_taken(const struct probes_insn *insn, __u64 a)
{
	return insn->op == PROBES_JUMP || (insn->op == PROBES_JUMP_IF ? a != 0 : a == 0);
}

static __always_inline __u64 *register_at(struct probes_run *run, __u32 i)
{
	barrier_var(i);
	return &run->registers[i & (PROBES_REGISTERS - 1)];
}

/* Not 0: it was the last one. */
static __always_inline int step(struct probes_run *run, struct probes_place *place, bool sleeps)
{
	struct probes_insn *insn;
	__u64 a, b;
	__u32 pc;

	if (!run || !place)
		return 1;
	pc = run->pc;
	barrier_var(pc);
	if (pc >= PROBES_CODE)
		return 1;
	insn = &place->insns[pc];
	run->pc = pc + 1;
	if (insn->op == PROBES_END)
		return 1;
	a = *register_at(run, insn->a);
	b = *register_at(run, insn->b);
	if (insn->op >= PROBES_FILTER)
		return consume(run, insn, a, b, sleeps);
	if (run->has_failed)
		return 0; /* up to who takes the value */
	if (insn->op >= PROBES_JUMP && insn->op <= PROBES_JUMP_UNLESS) {
		if (is_taken(insn, a))
			run->pc += (__u32)insn->imm & 127;
		return 0;
	}
	a = value_of(run, place, insn, a, b, sleeps);
	*register_at(run, insn->dst) = a;
	return 0;
}

/* Functions of their own, which the verifier looks at once. */
__noinline int step_awake(struct probes_run *run, struct probes_place *place)
{
	return step(run, place, false);
}

__noinline int step_asleep(struct probes_run *run, struct probes_place *place)
{
	return step(run, place, true);
}

__noinline int run_awake(struct probes_run *run, struct probes_place *place)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < PROBES_CODE; i++)
		if (step_awake(run, place))
			break;
	return 0;
}

__noinline int run_asleep(struct probes_run *run, struct probes_place *place)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < PROBES_CODE; i++)
		if (step_asleep(run, place))
			break;
	return 0;
}

/* ---- begins and their ends ---- */

static __always_inline void open_key(const struct probes_run *run, const struct probes_place *place,
				     struct probes_open_key *ret)
{
	bool is_keyed = place->flags & PROBES_KEYED;

	ret->key = is_keyed ? run->ev.key : (__u32)bpf_get_current_pid_tgid();
	ret->probe = place->probe;
	ret->is_keyed = is_keyed;
}

/* Only while one that was recorded is open, others are remembered. */
static __always_inline void opened(const struct probes_run *run, const struct probes_place *place,
				   bool is_recorded)
{
	struct probes_open first = { .recorded = 1, .depth = 1 }, *open;
	struct probes_open_key key;

	open_key(run, place, &key);
	open = bpf_map_lookup_elem(&opens, &key);
	if (!open) {
		if (is_recorded)
			bpf_map_update_elem(&opens, &key, &first, BPF_ANY);
		return;
	}
	if (open->depth >= 64) /* their ends were missed */
		open->recorded = open->depth = 0;
	open->recorded = open->recorded << 1 | is_recorded;
	open->depth++;
}

/* Was its begin recorded? */
static __always_inline bool closed(const struct probes_run *run, const struct probes_place *place)
{
	struct probes_open_key key;
	struct probes_open *open;
	bool was_recorded;

	open_key(run, place, &key);
	open = bpf_map_lookup_elem(&opens, &key);
	if (!open)
		return false;
	was_recorded = open->recorded & 1;
	open->recorded >>= 1;
	if (open->depth <= 1)
		bpf_map_delete_elem(&opens, &key);
	else
		open->depth--;
	return was_recorded;
}

/* ---- hits ---- */

/* Two threads of a CPU may take the same turn: one hit more. */
static __always_inline bool is_over(const struct probes_place *place, struct probes_counts *n,
				    __u64 now_ns)
{
	__u64 next_ns = n->next_ns;

	if (!place->interval_ns)
		return false;
	if (next_ns < now_ns)
		next_ns = now_ns;
	if (next_ns - now_ns > place->ahead_ns) {
		__sync_fetch_and_add(&n->n_over, 1);
		__sync_fetch_and_add(&n->n_to_tell, 1);
		return true;
	}
	n->next_ns = next_ns + place->interval_ns;
	return false;
}

static __always_inline void begin_event(struct probes_run *run, void *ctx,
					const struct probes_place *place, __u64 cookie, __u64 sp,
					__u64 now_ns)
{
	struct probes_event *ev = &run->ev;

	run->at = (__u64)ctx;
	run->pc = 0;
	run->has_failed = 0;
	run->is_wanted = 1;
	ev->hdr.time_ns = now_ns;
	ev->probe = place->probe;
	ev->point = place->point;
	ev->flags = ev->n_values = ev->pad = 0;
	ev->len = ev->n_over = 0;
	ev->site = cookie >> 32;
	ev->sp = sp;
	ev->key = ev->counter = 0;
}

/* Runs the code. False: the hit is not to be recorded, which has been counted. */
static __always_inline bool is_to_record(struct probes_run *run, struct probes_place *place,
					 struct probes_counts *n, bool sleeps)
{
	bool is_end = place->point == PROBES_FINISH, pairs = place->flags & PROBES_PAIRS;
	bool filters = place->flags & PROBES_FILTERS, keyed = place->flags & PROBES_KEYED;
	__u64 now_ns = run->ev.hdr.time_ns;

	if (is_end && pairs && !keyed && !closed(run, place))
		goto unwanted;
	if (!is_end && !filters && !(pairs && keyed) && is_over(place, n, now_ns))
		goto over;
	(void)(sleeps ? run_asleep(run, place) : run_awake(run, place));
	if (!run->is_wanted)
		goto unwanted;
	if (is_end && pairs && keyed && !closed(run, place))
		goto unwanted;
	if (!is_end && (filters || (pairs && keyed)) && is_over(place, n, now_ns))
		goto over;
	return true;

unwanted:
	__sync_fetch_and_add(&n->n_unwanted, 1);
over:
	if (!is_end && pairs)
		opened(run, place, false);
	return false;
}

/* 0: there is nothing to record. Else as many bytes as are to be sent; the head has no number yet.
 */
static __always_inline __u32 fill(void *ctx, struct probes_run *run, struct probes_place *place,
				  struct probes_counts *n, __u64 cookie, __u64 sp, __u64 now_ns,
				  bool sleeps)
{
	begin_event(run, ctx, place, cookie, sp, now_ns);
	if (!is_to_record(run, place, n, sleeps))
		return 0;
	return PROBES_HEAD + run->ev.len;
}

static __always_inline void lose(struct probes_counts *n)
{
	__u64 seq;
	struct event_stream *s = stream_next(0, &seq);

	if (s)
		__sync_fetch_and_add(&s->n_lost, 1);
	__sync_fetch_and_add(&n->n_lost, 1);
}

/* Of a record of `size` bytes there is room for `max`. */
static __always_inline void send(struct probes_run *run, const struct probes_place *place,
				 struct probes_counts *n, __u32 size, __u32 max)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct probes_event *ev = &run->ev;
	struct event_stream *s;
	long r = -1;
	__u64 seq = 0, start, flags;

	s = stream_next(0, &seq);
	if (!s)
		return;
	event_fill_at(&ev->hdr, ev->hdr.time_ns, PROBES_HIT, 0, size, seq);
	ev->hdr.cgroup_id = task_cgroup_id(task);
	ev->hdr.tgid = task->tgid;
	ev->hdr.tid = task->pid;
	ev->n_over = __sync_lock_test_and_set(&n->n_to_tell, 0);
	ev->flags |= ev->n_over ? PROBES_LIMITED : 0;
	start = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	flags = wakeup_flag(start, start + size);
	barrier_var(size); /* for the verifier: it is not larger */
	if (size <= max)
		r = bpf_ringbuf_output(&ring, ev, size, flags);
	if (r == 0) {
		__sync_fetch_and_add(&n->n_hits, 1);
	} else {
		__sync_fetch_and_add(&n->n_lost, 1);
		__sync_fetch_and_add(&s->n_lost, 1);
		__sync_fetch_and_add(&n->n_to_tell, ev->n_over);
	}
	if (place->flags & PROBES_PAIRS && place->point == PROBES_BEGIN)
		opened(run, place, r == 0);
}

#endif
