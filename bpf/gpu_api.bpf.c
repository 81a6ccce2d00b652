/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gpu_api.bpf.c - calls of CUDA, HIP, OpenCL, Vulkan, EGL and GLX.
 *
 * Feeds daemon/collect/gpu_api.c, which puts a probe on the way in and on the way
 * out of each function. A thread's calls that have not returned are kept as a stack;
 * a call is told when it is over, with its beginning.
 *
 * A call may never return: longjmp() or an exception leaves it, or its thread ends.
 * The first shows in the stack pointer, when the thread makes its next call or
 * returns from an outer one. (So would a thread that goes on with another stack, a
 * coroutine's, within a call: none does that in a callback of these libraries.)
 */
#define UNWIND_FROM_CALLER
#include "gpu_api_events.h"
#include "user_stack.bpf.h"

/* Calls within calls: a runtime's into its driver, a layer's into the next one. */
#define MAX_DEPTH 8 /* a power of two */

/* Of a thread's calls of a function, once in so long; then it stands for those since. */
const volatile __u64 stack_interval_ns = 1000000;
/* Fixed at load, by function. */
const volatile struct gpu_api_reads reads[GPU_API_MAX_FUNCTIONS];

struct open_call {
	struct gpu_api_event ev;
	__u64 sp;
};

/* Functions of a thread that take turns; those that share a place are sampled more often. */
#define STACK_TURNS 8

struct stack_turn {
	__u64 last_ns;
	__u32 function;
	__u32 n; /* calls since */
};

struct thread_calls {
	__u32 depth;
	__u32 weight; /* of the stack that is due */
	struct stack_turn turns[STACK_TURNS];
	struct open_call open[MAX_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_calls);
} threads SEC(".maps");

/* Holds on_stack(), so that the walker is verified by itself. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} then SEC(".maps");

/* A probe runs with preemption on: another one may come in between. */
struct room {
	struct gpu_api_stack ev;
	__u32 busy;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct room);
} rooms SEC(".maps");

/* ---- registers ---- */

#if defined(__TARGET_ARCH_arm64)
#define REGISTER_ARGS  8
#define RETURN_ADDRESS 0 /* what a call pushes, in bytes */
#else
#define REGISTER_ARGS  6
#define RETURN_ADDRESS 8
#endif

static __always_inline __u64 argument(struct pt_regs *ctx, __u32 i)
{
	__u64 word = 0;

#if defined(__TARGET_ARCH_arm64)
	if (i < REGISTER_ARGS)
		return ((const struct user_pt_regs *)ctx)->regs[i & 7];
#else
	switch (i) {
	case 0:
		return ctx->rdi;
	case 1:
		return ctx->rsi;
	case 2:
		return ctx->rdx;
	case 3:
		return ctx->rcx;
	case 4:
		return ctx->r8;
	case 5:
		return ctx->r9;
	}
#endif
	bpf_probe_read_user(
		&word, sizeof(word),
		(const void *)(PT_REGS_SP(ctx) + RETURN_ADDRESS + 8 * (__u64)(i - REGISTER_ARGS)));
	return word;
}

/*
 * A function that was jumped to at the end of another one, whose probe has put the
 * trampoline in place of the return address.
 */
static __always_inline bool is_tail_call(struct pt_regs *ctx, struct task_struct *task)
{
	__u64 to = 0, trampoline = 0;

#if defined(__TARGET_ARCH_arm64)
	to = ((const struct user_pt_regs *)ctx)->regs[30];
#else
	bpf_probe_read_user(&to, sizeof(to), (const void *)PT_REGS_SP(ctx));
#endif
	if (bpf_core_field_exists(task->utask))
		trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	return to && to == trampoline;
}

/* ---- calls ---- */

static __always_inline void count_lost(void)
{
	struct event_stream *s;
	__u64 seq;

	s = stream_next(0, &seq);
	if (s)
		__sync_fetch_and_add(&s->n_lost, 1);
}

/* NULL: there is none so deep. */
static __always_inline struct open_call *call_at(struct thread_calls *t, __u32 i)
{
	if (i >= MAX_DEPTH)
		return 0;
	barrier_var(i); /* the mask is for the verifier, and stays */
	return &t->open[i & (MAX_DEPTH - 1)];
}

/* The call is over. */
static __always_inline void tell(struct task_struct *task, struct open_call *c)
{
	/* The clock first: see event_reserve(). */
	__u64 now_ns = bpf_ktime_get_boot_ns(), seq = 0;
	struct event_stream *s = stream_next(0, &seq);
	__u32 size = gpu_api_size(&c->ev.call);

	if (!s)
		return;
	event_fill_at(&c->ev.hdr, now_ns, GPU_API_CALL, 0, size, seq);
	c->ev.hdr.cgroup_id = task_cgroup_id(task);
	c->ev.hdr.tgid = task->tgid;
	c->ev.hdr.tid = task->pid;
	event_output(&c->ev.hdr, s, size);
}

/* All but the outer `depth` are over, the innermost one first. */
static __always_inline void tell_inner(struct thread_calls *t, __u32 depth)
{
	struct task_struct *task = bpf_get_current_task_btf();

#pragma clang loop unroll(disable)
	for (int i = 0; i < MAX_DEPTH; i++) {
		__u32 n = t->depth;
		struct open_call *c = call_at(t, n - 1);

		if (n <= depth || !c)
			break;
		tell(task, c);
		t->depth = n - 1;
	}
}

/* The same, verified once. */
__noinline int tell_inner_of(struct thread_calls *t, __u32 depth)
{
	if (t)
		tell_inner(t, depth);
	return 0;
}

/* Those that cannot be under way when the stack pointer is at `sp`. Returns how many can. */
static __always_inline __u32 abandon(struct thread_calls *t, __u64 sp, bool tail_call)
{
	__u32 n = t->depth;

#pragma clang loop unroll(disable)
	for (int i = 0; i < MAX_DEPTH; i++) {
		struct open_call *c = call_at(t, n - 1);

		if (!c || c->sp > sp || (tail_call && c->sp == sp))
			break;
		c->ev.call.flags |= GPU_API_ABANDONED;
		n--;
	}
	return n;
}

/* The argument `i`; 0: there is none such. */
static __always_inline __u64 arg_at(const struct gpu_api_call *call, __u32 i)
{
	if (i >= GPU_API_ARGS)
		return 0;
	barrier_var(i); /* as in call_at() */
	return call->args[i & 15];
}

static __always_inline void read_memory(struct gpu_api_call *call,
					const volatile struct gpu_api_reads *r)
{
	__u64 text = arg_at(call, r->text_arg);
	long n;

#pragma clang loop unroll(full)
	for (int i = 0; i < GPU_API_WINDOWS; i++) {
		__u64 at = arg_at(call, r->windows[i].arg);
		__u32 len = r->windows[i].len;

		if (!at || len == 0)
			continue;
		call->has_windows = 1;
		barrier_var(len);
		if (len <= GPU_API_WINDOW_BYTES &&
		    !bpf_probe_read_user(call->windows[i], len,
					 (const void *)(at + r->windows[i].offset)))
			call->flags |= GPU_API_WINDOW_READ(i);
	}
	if (!text)
		return;
	n = bpf_probe_read_user_str(call->text, sizeof(call->text), (const void *)text);
	call->text_len = n > 1 && n <= GPU_API_TEXT ? n - 1 : 0;
}

static __always_inline void fill(struct pt_regs *ctx, struct gpu_api_call *call, __u32 function)
{
	const volatile struct gpu_api_reads *r = &reads[function & (GPU_API_MAX_FUNCTIONS - 1)];

	__builtin_memset(call, 0, sizeof(*call));
	call->function = function;
#pragma clang loop unroll(full)
	for (int i = 0; i < GPU_API_ARGS; i++)
		if (i < r->n_args)
			call->args[i] = argument(ctx, i);
	read_memory(call, r);
}

/* Is a stack due? Not of what a call that has one does inside. */
static __always_inline bool stack_due(struct thread_calls *t, __u32 function, __u32 depth)
{
	struct stack_turn *turn;
	__u64 now_ns;

	if (!reads[function & (GPU_API_MAX_FUNCTIONS - 1)].has_stack)
		return false;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MAX_DEPTH && i < depth; i++) {
		struct open_call *c = call_at(t, i);

		if (c && reads[c->ev.call.function & (GPU_API_MAX_FUNCTIONS - 1)].has_stack)
			return false;
	}
	now_ns = bpf_ktime_get_boot_ns();
	turn = &t->turns[function & (STACK_TURNS - 1)];
	if (turn->function != function) {
		turn->function = function;
		turn->last_ns = turn->n = 0;
	}
	turn->n++;
	if (turn->last_ns && now_ns - turn->last_ns < stack_interval_ns)
		return false;
	turn->last_ns = now_ns;
	t->weight = turn->n;
	turn->n = 0;
	return true;
}

SEC("uprobe")
int on_call(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 function = bpf_get_attach_cookie(ctx), depth;
	__u64 sp = PT_REGS_SP(ctx);
	struct open_call *c, *outer;
	struct thread_calls *t;
	bool tail_call = false;

	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		count_lost();
		return 0;
	}
	outer = call_at(t, t->depth - 1);
	if (outer && outer->sp <= sp) {
		tail_call = outer->sp == sp && is_tail_call(ctx, task);
		tell_inner(t, abandon(t, sp, tail_call));
	}
	depth = t->depth;
	outer = call_at(t, depth - 1);
	/* The same call, handed on by a loader or a layer. */
	if (outer && outer->ev.call.function == function)
		return 0;
	c = call_at(t, depth);
	if (!c) {
		count_lost();
		return 0;
	}
	c->sp = sp;
	fill(ctx, &c->ev.call, function);
	c->ev.call.enter_ns = bpf_ktime_get_boot_ns();
	barrier();
	t->depth = depth + 1;
	if (stack_due(t, function, depth))
		bpf_tail_call(ctx, &then, 0);
	return 0;
}

SEC("uprobe")
int on_return(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 function = bpf_get_attach_cookie(ctx), at = MAX_DEPTH;
	__u64 sp = PT_REGS_SP(ctx) - RETURN_ADDRESS;
	struct thread_calls *t = bpf_task_storage_get(&threads, task, 0, 0);
	const volatile struct gpu_api_reads *r = &reads[function & (GPU_API_MAX_FUNCTIONS - 1)];
	struct gpu_api_call *call;
	struct open_call *c;
	__u64 out;

	if (!t)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MAX_DEPTH && i < t->depth; i++) {
		c = call_at(t, i);
		if (!c)
			break;
		if (c->sp == sp && c->ev.call.function == function)
			at = i;
		else if (at < MAX_DEPTH) /* inside of it */
			c->ev.call.flags |= GPU_API_ABANDONED;
	}
	c = call_at(t, at);
	if (!c)
		return 0;
	call = &c->ev.call;
	call->ret = PT_REGS_RC(ctx);
	out = arg_at(call, r->out_arg);
	if (out && !bpf_probe_read_user(&call->out, sizeof(call->out), (const void *)out))
		call->flags |= GPU_API_OUT_READ;
	c->ev.call.flags &= ~GPU_API_ABANDONED;
	tell_inner_of(t, at);
	return 0;
}

/* ---- stacks ---- */

/* Goes on where on_call() ends: the call that has just begun is the innermost one. */
SEC("uprobe")
int on_stack(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_calls *t = bpf_task_storage_get(&threads, task, 0, 0);
	struct event_stream *s;
	struct open_call *c;
	struct room *room;
	__u32 zero = 0, len;
	__u64 seq = 0;

	c = t ? call_at(t, t->depth - 1) : 0;
	s = stream_next(0, &seq);
	room = bpf_map_lookup_elem(&rooms, &zero);
	if (!s || !room || !c)
		return 0;
	if (__sync_val_compare_and_swap(&room->busy, 0, 1) != 0) {
		__sync_fetch_and_add(&s->n_lost, 1);
		return 0;
	}
	event_fill_at(&room->ev.hdr, c->ev.call.enter_ns, GPU_API_STACK, 0, 0, seq);
	room->ev.hdr.cgroup_id = task_cgroup_id(task);
	room->ev.hdr.tgid = task->tgid;
	room->ev.hdr.tid = task->pid;
	room->ev.weight = t->weight;
	room->ev.function = c->ev.call.function;
	len = GPU_API_STACK_HEAD + user_stack_walk(ctx, &room->ev.user);
	if (len <= sizeof(room->ev)) { /* for the verifier: it is */
		room->ev.hdr.size = len;
		event_output(&room->ev.hdr, s, len);
	}
	room->busy = 0;
	/* Our own cost is not the call's. */
	c->ev.call.enter_ns = bpf_ktime_get_boot_ns();
	return 0;
}

/* ---- threads that end, or become another program, within a call ---- */

static __always_inline int leave(struct task_struct *task)
{
	struct thread_calls *t = bpf_task_storage_get(&threads, task, 0, 0);

	if (!t || t->depth == 0)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MAX_DEPTH && i < t->depth; i++) {
		struct open_call *c = call_at(t, i);

		if (c)
			c->ev.call.flags |= GPU_API_EXITED;
	}
	return tell_inner_of(t, 0);
}

SEC("tp_btf/sched_process_exit")
int on_exit(void *ctx)
{
	return leave(bpf_get_current_task_btf());
}

SEC("tp_btf/sched_process_exec")
int on_exec(void *ctx)
{
	return leave(bpf_get_current_task_btf());
}

/* ---- at the end of a recording ---- */

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

/* Read by the daemon: a record of each call that has not returned, the innermost one first. */
SEC("iter/task")
int unfinished(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gpu_api_event ev;
	struct thread_calls *t;
	__u32 depth;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t)
		return 0;
	depth = t->depth;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MAX_DEPTH; i++) {
		struct open_call *c = call_at(t, depth - 1 - i);

		if (i >= depth || !c)
			break;
		ev = c->ev;
		barrier();
		/* Its thread runs: the call may have ended and another begun meanwhile. */
		if (t->depth < depth - i || c->ev.call.enter_ns != ev.call.enter_ns)
			continue;
		ev.hdr.time_ns = bpf_ktime_get_boot_ns();
		ev.hdr.seq = 0;
		ev.hdr.cgroup_id = task_cgroup_id(task);
		ev.hdr.tgid = task->tgid;
		ev.hdr.tid = task->pid;
		ev.hdr.peer_tgid = ev.hdr.peer_tid = 0;
		ev.hdr.cpu = 0;
		ev.hdr.stream = 0;
		ev.hdr.type = GPU_API_UNFINISHED;
		ev.hdr.size = sizeof(ev);
		bpf_seq_write(ctx->meta->seq, &ev, sizeof(ev));
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
