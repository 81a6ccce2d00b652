/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes_pairs.c - which hits of probes belong together.
 *
 * A hit alone is an instant on its thread. One that begins something and the one that ends
 * it are a slice, written when it ends: of a thread, the innermost one of that probe; or
 * those with the same key, also of different threads, on tracks of their own.
 *
 * Slices of a thread nest in its functions, so within a function that returns nothing is
 * left of those that it called, and nothing of those whose part of the stack is used again:
 * what has not ended by then was left by longjmp() or an exception, or its end was lost, and
 * it is drawn to there, unfinished. Other pairs (two USDT probes, two functions) may cross:
 * one that outlives another around it moves to a track of its probe's, below the thread's, and
 * to the next one of those if it also outlives one that is there. Pairs in the kernel, but for
 * a function's entry and return, are there from the start: system calls begin and end between
 * them.
 *
 * That makes the slices of a track nest as long as no slice of a thread ends before what was
 * drawn already. Hits are in order; the end of a session, a pause or an exit has a clock
 * reading of its own, which may be a little older.
 *
 * What is open when its thread, its program or the session ends is drawn to there. What
 * cannot be drawn is counted: at the end an instant on the track "Probes" says how many.
 */
#include <errno.h>

#include "hash.h"
#include "probe/probes_encode_impl.h"
#include "process/process_table.h"

/* Of one stack: what lies farther apart is of two. */
#define STACK_BYTES (1u << 20)

/* ---- slices that end ---- */

/* What outlives `open`, which ends, cannot be on its track. */
static void make_way(const struct hit_stack *stack, const struct open_hit *open)
{
	for (struct open_hit *in = stack->top; in != open; in = in->outer) {
		if (!open->is_crossed)
			in->is_crossed = true;
		else if (in->known == open->known && in->lane <= open->lane)
			in->lane = open->lane + 1;
	}
}

/* Keyed ones are of several threads: each finds a lane that is free. */
static uint64_t end_in_order(struct hit_stack *stack, const struct open_hit *open, uint64_t end_ns)
{
	if (stack->is_keyed)
		return end_ns > open->begin_ns ? end_ns : open->begin_ns;
	if (end_ns > stack->drawn_ns)
		stack->drawn_ns = end_ns;
	return stack->drawn_ns;
}

/* `end` NULL: it is not known how. It is forgotten. */
static int write_open(struct probes_encoder *enc, struct hit_stacks *all, struct hit_stack *stack,
		      struct open_hit *open, const struct probes_event *end, uint64_t end_ns)
{
	struct probes_where where = { .tgid = stack->tgid,
				      .tid = stack->tid,
				      .start_ns = stack->start_ns,
				      .lane = open->lane,
				      .cpu = stack->cpu };
	int r = 0;

	make_way(stack, open);
	if (stack->is_keyed)
		where.kind = OF_PROCESS;
	else if (open->is_crossed)
		where.kind = BELOW_THREAD;
	if (open->ev) {
		r = probes_write_slice(enc, open->known, &where, open->ev, open->begin_ns, end,
				       end_in_order(stack, open, end_ns));
	} else {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, end ? 2 : 1);
	}
	open->known->n_users--;
	hit_stack_remove(all, stack, open);
	return r;
}

/* Those of user code alone, if the program is another one now. */
static int end_all(struct probes_encoder *enc, struct hit_stacks *all, struct hit_stack *stack,
		   uint64_t end_ns, bool user_only)
{
	struct open_hit *outer;
	int r = 0;

	for (struct open_hit *open = stack->top; r == 0 && open; open = outer) {
		outer = open->outer;
		if (!user_only || !open->known->is_kernel)
			r = write_open(enc, all, stack, open, NULL, end_ns);
	}
	return r;
}

/*
 * Whether what has begun there must have been left, as the thread's stack is that much
 * shorter: it grows down. Much higher is another stack, a signal's or a coroutine's. Of
 * another pair than a function only a second begin in the same frame says so.
 */
static bool is_left(const struct open_hit *open, const struct probes_known *known,
		    const struct probes_event *ev)
{
	if (open->known->is_kernel || !open->sp || ev->sp < open->sp ||
	    ev->sp - open->sp >= STACK_BYTES)
		return false;
	if (open->known->is_call)
		return ev->sp > open->sp;
	return open->known == known && ev->point == PROBES_BEGIN;
}

/* With one that was left go all that have begun within it, deeper in the stack. */
static int settle_left(struct probes_encoder *enc, struct hit_stack *stack,
		       const struct probes_known *known, const struct probes_event *ev)
{
	const struct open_hit *left = NULL;
	struct open_hit *outer;
	int r = 0;

	if (!ev->sp || known->is_kernel || ev->point == PROBES_FINISH)
		return 0;
	for (struct open_hit *open = stack->top; open; open = open->outer)
		if (is_left(open, known, ev))
			left = open;
	for (struct open_hit *open = stack->top; r == 0 && left && open; open = outer) {
		bool is_last = open == left;

		outer = open->outer;
		if (!open->known->is_kernel && open->sp && open->sp <= left->sp)
			r = write_open(enc, &enc->threads, stack, open, NULL, stack->last_ns);
		if (is_last)
			break;
	}
	return r;
}

/* The functions that `open`, one that returns, has called. */
static int settle_inner(struct probes_encoder *enc, struct hit_stack *stack,
			const struct open_hit *open, uint64_t end_ns)
{
	struct open_hit *outer;
	int r = 0;

	if (open->is_crossed || stack->is_keyed)
		return 0;
	for (struct open_hit *in = stack->top; r == 0 && in != open; in = outer) {
		outer = in->outer;
		if (!in->is_crossed && in->known->is_call && open->known->is_call)
			r = write_open(enc, &enc->threads, stack, in, NULL, end_ns);
	}
	return r;
}

/* ---- threads ---- */

static uint64_t thread_start(const struct probes_encoder *enc, uint32_t tid)
{
	const struct thread *t = process_table_thread(enc->env.processes, tid);

	return t ? t->start_ns : 0;
}

/* Whether a thread that began then is another one of the same number. */
static bool is_another(const struct hit_stack *stack, uint64_t start_ns)
{
	return stack->start_ns != start_ns && start_ns > stack->last_ns;
}

/* Another program, or another thread. */
static int renew(struct probes_encoder *enc, struct hit_stack *stack, uint64_t start_ns,
		 uint64_t time_ns)
{
	const struct process *p = process_table_get(enc->env.processes, stack->tgid);
	int r = 0;

	if (is_another(stack, start_ns)) {
		r = end_all(enc, &enc->threads, stack, stack->last_ns, false);
		stack->n_over = 0;
	} else if (p && p->exec_ns > stack->last_ns && p->exec_ns <= time_ns) {
		r = end_all(enc, &enc->threads, stack, p->exec_ns, true);
	}
	return r;
}

/* Whether nothing of the thread may come any more. */
static bool is_gone(void *ctx, const struct hit_stack *stack)
{
	const struct probes_encoder *enc = ctx;
	const struct thread *t = process_table_thread(enc->env.processes, stack->tid);

	if (stack->is_keyed)
		return true;
	return stack->tid && (!t || t->free_ns || is_another(stack, t->start_ns));
}

/* `*ret` NULL: there are too many. */
static int thread_stack(struct probes_encoder *enc, const struct probes_known *known,
			const struct probes_event *ev, struct hit_stack **ret)
{
	struct hit_stack_key key = { .key = ev->hdr.tid ? ev->hdr.tid : (uint64_t)ev->hdr.cpu << 32,
				     .probe = known->own_track ? known->probe->id : 0 };
	uint64_t start_ns = thread_start(enc, ev->hdr.tid);
	struct hit_stack *stack = hit_stack_of(&enc->threads, &key);
	int r = 0;

	if (!stack) {
		hit_stacks_sweep(&enc->threads, is_gone, enc);
		stack = hit_stack_of(&enc->threads, &key);
	}
	*ret = stack;
	if (!stack)
		return 0;
	if (stack->top)
		r = renew(enc, stack, start_ns, ev->hdr.time_ns);
	if (!stack->last_ns || start_ns)
		stack->start_ns = start_ns;
	stack->tgid = ev->hdr.tgid;
	stack->tid = ev->hdr.tid;
	stack->cpu = ev->hdr.cpu;
	stack->is_one_probes = known->own_track;
	return r;
}

/* Two hits of a thread never have one time: which came first must show. */
static uint64_t next_time(struct hit_stack *stack, uint64_t time_ns)
{
	if (time_ns <= stack->drawn_ns)
		time_ns = stack->drawn_ns + 1;
	stack->last_ns = stack->drawn_ns = time_ns;
	return time_ns;
}

static int on_begin(struct probes_encoder *enc, struct hit_stacks *all, struct hit_stack *stack,
		    struct probes_known *known, const struct probes_event *ev, uint64_t time_ns)
{
	if (hit_stack_push(all, stack, known, time_ns, ev)) {
		known->n_users++;
		return 0;
	}
	enc->counts.too_deep++;
	trace_writer_skip(enc->env.writer, 1);
	return 0;
}

static int on_end(struct probes_encoder *enc, struct hit_stacks *all, struct hit_stack *stack,
		  struct probes_known *known, const struct probes_event *ev, uint64_t time_ns)
{
	struct open_hit *open = hit_stack_find(stack, known, known->is_call ? ev->site : -1);
	int r;

	if (stack->n_over > 0) {
		stack->n_over--;
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	if (!open) {
		enc->counts.ends_without_begin++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	r = settle_inner(enc, stack, open, time_ns);
	return r < 0 ? r : write_open(enc, all, stack, open, ev, time_ns);
}

static int on_single(struct probes_encoder *enc, struct probes_known *known,
		     const struct hit_stack *stack, const struct probes_event *ev, uint64_t time_ns)
{
	const struct probes_where where = { .tgid = ev->hdr.tgid,
					    .tid = ev->hdr.tid,
					    .start_ns = stack->start_ns };

	return probes_write_instant(enc, known, &where, ev, time_ns);
}

int probes_thread_hit(struct probes_encoder *enc, struct probes_known *known,
		      const struct probes_event *ev)
{
	struct hit_stack *stack;
	uint64_t time_ns;
	int r = thread_stack(enc, known, ev, &stack);

	if (r < 0)
		return r;
	if (!stack) {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	r = settle_left(enc, stack, known, ev);
	if (r < 0)
		return r;
	time_ns = next_time(stack, ev->hdr.time_ns);
	if (ev->point == PROBES_SINGLE)
		return on_single(enc, known, stack, ev, time_ns);
	if (ev->point == PROBES_BEGIN)
		return on_begin(enc, &enc->threads, stack, known, ev, time_ns);
	return on_end(enc, &enc->threads, stack, known, ev, time_ns);
}

/* ---- keys ---- */

/* A key of a program, which is an address mostly, is of that process alone. */
int probes_keyed_hit(struct probes_encoder *enc, struct probes_known *known,
		     const struct probes_event *ev)
{
	struct hit_stack_key key = { .key = ev->key,
				     .probe = known->probe->id,
				     .tgid = known->is_kernel ? 0 : ev->hdr.tgid };
	struct hit_stack *stack = hit_stack_of(&enc->keyed, &key);

	if (!stack) {
		hit_stacks_sweep(&enc->keyed, is_gone, enc);
		stack = hit_stack_of(&enc->keyed, &key);
	}
	if (!stack) {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	stack->is_keyed = true;
	if (ev->point == PROBES_FINISH)
		return on_end(enc, &enc->keyed, stack, known, ev, ev->hdr.time_ns);
	if (!stack->top) {
		stack->tgid = ev->hdr.tgid;
		stack->tid = ev->hdr.tid;
		stack->n_over = 0;
	}
	return on_begin(enc, &enc->keyed, stack, known, ev, ev->hdr.time_ns);
}

/* ---- the end of probes, threads, sessions ---- */

int probes_pairs_end_of(struct probes_encoder *enc, const struct probes_known *known,
			uint64_t end_ns)
{
	struct hit_stacks *const all[] = { &enc->threads, &enc->keyed };
	int r = 0;

	for (size_t i = 0; i < 2; i++) {
		size_t pos = 0;
		void *stack;

		while (r == 0 && hash_next(all[i]->all, &pos, NULL, NULL, &stack)) {
			struct open_hit *open;

			while (r == 0 && (open = hit_stack_find(stack, known, -1)) != NULL)
				r = write_open(enc, all[i], stack, open, NULL, end_ns);
		}
	}
	return r;
}

/* When the thread ended, if it has. */
static uint64_t end_of(const struct probes_encoder *enc, const struct hit_stack *stack,
		       uint64_t stop_ns)
{
	const struct thread *t = process_table_thread(enc->env.processes, stack->tid);

	if (stack->is_keyed || stack->tid == 0)
		return stop_ns;
	if (!t || is_another(stack, t->start_ns))
		return stack->last_ns;
	return t->free_ns && t->free_ns < stop_ns ? t->free_ns : stop_ns;
}

static int end_stacks(struct probes_encoder *enc, struct hit_stacks *all, uint64_t stop_ns,
		      bool gone_only)
{
	size_t pos = 0;
	void *value;
	int r = 0;

	while (r == 0 && hash_next(all->all, &pos, NULL, NULL, &value)) {
		struct hit_stack *stack = value;

		if (stack->top && (!gone_only || is_gone(enc, stack)))
			r = end_all(enc, all, stack, end_of(enc, stack, stop_ns), false);
	}
	return r;
}

int probes_pairs_end_all(struct probes_encoder *enc, uint64_t stop_ns)
{
	int r = end_stacks(enc, &enc->threads, stop_ns, false);

	return r < 0 ? r : end_stacks(enc, &enc->keyed, stop_ns, false);
}

int probes_pairs_end_gone(struct probes_encoder *enc, uint64_t now_ns)
{
	return end_stacks(enc, &enc->threads, now_ns, true);
}
