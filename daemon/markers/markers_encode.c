/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers_encode.c - slices and instants on the track of the thread that made them,
 * counters and asynchronous slices on tracks of its process.
 *
 * A slice is written when it ends, with the payloads of both ends. What a program leaves
 * open is told as it is: within a slice that ends, and when its thread or the session
 * ends, it is drawn to there and said to be unfinished. What cannot be drawn is counted:
 * at the end of a session an instant on the track "Markers" says how many.
 *
 * A process's datagrams have a track of their own: they begin and end in the middle of
 * system calls, and of which thread nobody says.
 */
#include "markers_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "markers_stacks.h"
#include "net/net_lanes.h"
#include "process/process_table.h"

struct markers_counts {
	uint64_t ends_without_begin, too_deep, refused, async_over;
};

struct markers_encoder {
	struct encoder_env env;
	struct markers_keys *keys;
	struct markers_stacks threads, async;
	struct hash *lanes; /* of asynchronous slices, by process and name */
	struct markers_counts counts;
	struct markers_slice slice;
	bool is_stopped;
};

/* Whose; of asynchronous slices also which. */
struct stack_key {
	uint32_t id, flags;
	uint64_t value;
	char name[MARKERS_NAME];
};

/* ---- tracks ---- */

static uint64_t process_start(const struct markers_encoder *enc, uint32_t tgid)
{
	const struct process *p = process_table_get(enc->env.processes, tgid);

	return p ? p->start_ns : 0;
}

static uint64_t thread_start(const struct markers_encoder *enc, uint32_t tid)
{
	const struct thread *t = process_table_thread(enc->env.processes, tid);

	return t ? t->start_ns : 0;
}

static uint64_t process_track(struct markers_encoder *enc, uint32_t tgid)
{
	return trace_process_track(enc->env.writer, tgid, process_start(enc, tgid));
}

static uint64_t stack_track(struct markers_encoder *enc, const struct markers_stack *stack)
{
	struct trace_track track = { .name = "markers" };

	if (!(stack->flags & MARKERS_SOCKET))
		return trace_thread_track(enc->env.writer, stack->tgid, stack->tid,
					  stack->start_ns);
	track.parent = process_track(enc, stack->tgid);
	return track.parent ? trace_track(enc->env.writer, &track) : 0;
}

/* ---- slices that end ---- */

/* `end`: the record that ends it; NULL: it is not known how it ended. */
static int write_slice(struct markers_encoder *enc, const struct markers_open *open, uint64_t track,
		       uint64_t end_ns, const struct markers_event *end)
{
	struct markers_slice *s = &enc->slice;

	markers_slice_init(s, enc->keys, open->ev);
	markers_slice_add(s, enc->keys, open->ev);
	if (end)
		markers_slice_add(s, enc->keys, end);
	else
		markers_slice_true(s, "unfinished");
	s->event.track = track;
	s->event.time_ns = open->begin_ns;
	if (!track)
		return -ENOMEM;
	return trace_slice(enc->env.writer, &s->event, end_ns, end ? 2 : 1);
}

/* All within `outer`, the innermost one first; NULL: all. */
static int write_inner(struct markers_encoder *enc, struct markers_stack *stack, uint64_t track,
		       const struct markers_open *outer, uint64_t end_ns)
{
	int r = 0;

	while (r == 0 && stack->top != outer) {
		r = write_slice(enc, stack->top, track, end_ns, NULL);
		markers_stack_pop(&enc->threads, stack);
	}
	return r;
}

static int end_all(struct markers_encoder *enc, struct markers_stack *stack, uint64_t end_ns)
{
	if (!stack->top)
		return 0;
	return write_inner(enc, stack, stack_track(enc, stack), NULL,
			   end_ns > stack->last_ns ? end_ns : stack->last_ns);
}

/* ---- threads ---- */

static bool is_gone(void *ctx, struct markers_stack *stack)
{
	const struct markers_encoder *enc = ctx;
	const struct thread *t = process_table_thread(enc->env.processes, stack->tid);

	return !t || t->free_ns || t->start_ns != stack->start_ns;
}

/* Its number may have been another's. `*ret` NULL: there are too many. */
static int thread_stack(struct markers_encoder *enc, const struct markers_event *ev,
			struct markers_stack **ret)
{
	bool socket = ev->flags & MARKERS_SOCKET;
	uint32_t tid = socket ? ev->hdr.tgid : ev->hdr.tid;
	uint64_t start_ns = thread_start(enc, tid);
	struct stack_key key = { .id = tid, .flags = socket ? MARKERS_SOCKET : 0 };
	struct markers_stack *stack = markers_stack_of(&enc->threads, &key, sizeof(key));
	int r = 0;

	if (!stack) {
		markers_stacks_sweep(&enc->threads, is_gone, enc);
		stack = markers_stack_of(&enc->threads, &key, sizeof(key));
	}
	*ret = stack;
	if (!stack)
		return 0;
	if (stack->tgid && stack->start_ns != start_ns && start_ns > stack->last_ns) {
		r = end_all(enc, stack, stack->last_ns);
		stack->n_over = 0;
	}
	if (!stack->tgid || start_ns)
		stack->start_ns = start_ns;
	stack->tgid = ev->hdr.tgid;
	stack->tid = tid;
	stack->flags = (uint16_t)key.flags;
	return r;
}

/* Datagrams may have the same time, or one before the last one's. */
static uint64_t next_time(struct markers_stack *stack, uint64_t time_ns)
{
	if (time_ns <= stack->last_ns)
		time_ns = stack->last_ns + 1;
	stack->last_ns = time_ns;
	return time_ns;
}

static int on_end(struct markers_encoder *enc, struct markers_stack *stack,
		  const struct markers_event *ev, uint64_t time_ns)
{
	const struct markers_open *open = markers_stack_find(stack, ev);
	uint64_t track;
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
	track = stack_track(enc, stack);
	r = write_inner(enc, stack, track, open, time_ns);
	if (r == 0)
		r = write_slice(enc, open, track, time_ns, ev);
	markers_stack_pop(&enc->threads, stack);
	return r;
}

static int on_instant(struct markers_encoder *enc, const struct markers_stack *stack,
		      const struct markers_event *ev, uint64_t time_ns)
{
	struct markers_slice *s = &enc->slice;

	markers_slice_init(s, enc->keys, ev);
	markers_slice_add(s, enc->keys, ev);
	s->event.track = stack_track(enc, stack);
	s->event.time_ns = time_ns;
	if (!s->event.track)
		return -ENOMEM;
	return trace_instant(enc->env.writer, &s->event, 1);
}

/* Of a thread, or of a process's datagrams. */
static int on_thread_event(struct markers_encoder *enc, const struct markers_event *ev)
{
	struct markers_stack *stack;
	uint64_t time_ns;
	int r = thread_stack(enc, ev, &stack);

	if (r < 0)
		return r;
	if (!stack) {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	time_ns = next_time(stack, ev->hdr.time_ns);
	if (ev->phase == MARKERS_INSTANT)
		return on_instant(enc, stack, ev, time_ns);
	if (ev->phase == MARKERS_END)
		return on_end(enc, stack, ev, time_ns);
	if (!markers_stack_push(&enc->threads, stack, time_ns, ev)) {
		enc->counts.too_deep++;
		trace_writer_skip(enc->env.writer, 1);
	}
	return 0;
}

/* ---- processes ---- */

static int on_counter(struct markers_encoder *enc, const struct markers_event *ev)
{
	char name[MARKERS_NAME];
	struct trace_track track = { .is_counter = true };
	uint64_t uuid;

	markers_name(ev, name);
	track.name = markers_known_name(enc->keys, name);
	track.parent = process_track(enc, ev->hdr.tgid);
	uuid = track.parent ? trace_track(enc->env.writer, &track) : 0;
	if (!uuid)
		return -ENOMEM;
	return trace_counter_event(enc->env.writer, uuid, ev->hdr.time_ns,
				   ev->phase == MARKERS_COUNTER_F64, ev->value, 1);
}

/* The track of a slice from `begin_ns` to `end_ns`; 0: there are too many at a time. */
static uint64_t async_track(struct markers_encoder *enc, const struct markers_event *ev,
			    uint64_t begin_ns, uint64_t end_ns)
{
	struct stack_key key = { .id = ev->hdr.tgid };
	struct trace_track track = { 0 };
	struct net_lanes *l;
	int lane;

	markers_name(ev, key.name);
	track.name = markers_known_name(enc->keys, key.name);
	l = hash_get(enc->lanes, &key, sizeof(key));
	if (!l && hash_count(enc->lanes) < MARKERS_MAX_STACKS) {
		l = calloc(1, sizeof(*l));
		if (l && hash_set(enc->lanes, &key, sizeof(key), l) < 0) {
			free(l);
			l = NULL;
		}
	}
	lane = l ? net_lanes_take(l, begin_ns, end_ns) : -ENOSPC;
	if (lane < 0)
		return 0;
	track.parent = process_track(enc, ev->hdr.tgid);
	track.key = (uint64_t)lane + 1;
	return track.parent ? trace_track(enc->env.writer, &track) : 0;
}

/* The innermost one; `end` as of write_slice(). */
static int end_async(struct markers_encoder *enc, struct markers_stack *stack, uint64_t end_ns,
		     const struct markers_event *end)
{
	const struct markers_open *open = stack->top;
	uint64_t track = async_track(enc, open->ev, open->begin_ns, end_ns);
	int r = 0;

	if (track) {
		r = write_slice(enc, open, track, end_ns, end);
	} else {
		enc->counts.async_over++;
		trace_writer_skip(enc->env.writer, end ? 2 : 1);
	}
	markers_stack_pop(&enc->async, stack);
	return r;
}

/* NULL: there are too many. */
static struct markers_stack *async_stack(struct markers_encoder *enc,
					 const struct markers_event *ev)
{
	struct stack_key key = { .id = ev->hdr.tgid, .value = ev->value };
	struct markers_stack *stack;

	markers_name(ev, key.name);
	stack = markers_stack_of(&enc->async, &key, sizeof(key));
	if (!stack) {
		markers_stacks_sweep(&enc->async, NULL, NULL);
		stack = markers_stack_of(&enc->async, &key, sizeof(key));
	}
	return stack;
}

static int on_async(struct markers_encoder *enc, const struct markers_event *ev)
{
	struct markers_stack *stack = async_stack(enc, ev);
	uint64_t start_ns = process_start(enc, ev->hdr.tgid);

	/* What another process with the same number has left open. */
	while (stack && stack->top && stack->top->begin_ns < start_ns) {
		int r = end_async(enc, stack, stack->top->begin_ns, NULL);

		if (r < 0)
			return r;
	}
	if (stack && ev->phase == MARKERS_ASYNC_END && stack->top) {
		uint64_t begin_ns = stack->top->begin_ns;

		/* Threads tell of what they do in any order. */
		return end_async(enc, stack,
				 ev->hdr.time_ns > begin_ns ? ev->hdr.time_ns : begin_ns, ev);
	}
	if (stack && ev->phase == MARKERS_ASYNC_BEGIN &&
	    markers_stack_push(&enc->async, stack, ev->hdr.time_ns, ev)) {
		stack->tgid = ev->hdr.tgid;
		stack->n_over = 0;
		return 0;
	}
	if (ev->phase == MARKERS_ASYNC_END)
		enc->counts.ends_without_begin++;
	else
		enc->counts.async_over++;
	if (stack)
		stack->n_over = 0;
	trace_writer_skip(enc->env.writer, 1);
	return 0;
}

/* ---- the end of a session ---- */

/* When the thread ended, if it has. */
static uint64_t end_of(const struct markers_encoder *enc, const struct markers_stack *stack,
		       uint64_t stop_ns)
{
	const struct thread *t = process_table_thread(enc->env.processes, stack->tid);

	if (!t)
		return stack->last_ns;
	return t->free_ns && t->free_ns < stop_ns ? t->free_ns : stop_ns;
}

static int tell(struct markers_encoder *enc, uint64_t time_ns, const char *what, uint64_t n)
{
	const struct trace_track track = { .name = "Markers" };
	struct trace_arg arg = { .name = "count", .type = ARG_UINT };
	struct trace_event ev = {
		.time_ns = time_ns,
		.name = what,
		.category = "marker",
		.args = &arg,
		.n_args = 1,
	};

	if (n == 0)
		return 0;
	arg.u = n;
	ev.track = trace_track(enc->env.writer, &track);
	return ev.track ? trace_instant(enc->env.writer, &ev, 0) : -ENOMEM;
}

static int tell_counts(struct markers_encoder *enc, uint64_t time_ns)
{
	const struct markers_counts *c = &enc->counts;
	int r = tell(enc, time_ns, "ends without a begin", c->ends_without_begin);

	if (r == 0)
		r = tell(enc, time_ns, "nested too deep, or too many at a time",
			 c->too_deep + c->async_over);
	if (r == 0)
		r = tell(enc, time_ns, "datagrams that are no markers", c->refused);
	return r;
}

static int on_stop(struct markers_encoder *enc, uint64_t stop_ns)
{
	size_t pos = 0;
	void *stack;
	int r = 0;

	if (enc->is_stopped)
		return 0;
	enc->is_stopped = true;
	while (r == 0 && hash_next(enc->threads.all, &pos, NULL, NULL, &stack))
		r = end_all(enc, stack, end_of(enc, stack, stop_ns));
	pos = 0;
	while (r == 0 && hash_next(enc->async.all, &pos, NULL, NULL, &stack)) {
		struct markers_stack *a = stack;

		while (r == 0 && a->top)
			r = end_async(enc, a,
				      stop_ns > a->top->begin_ns ? stop_ns : a->top->begin_ns,
				      NULL);
	}
	return r < 0 ? r : tell_counts(enc, stop_ns);
}

/* ---- life ---- */

int markers_encode(void *encoder, const struct event_hdr *hdr)
{
	const struct markers_event *ev = (const void *)hdr;
	struct markers_encoder *enc = encoder;

	if (hdr->type == MARKERS_STOP)
		return on_stop(enc, hdr->time_ns);
	if (hdr->time_ns < enc->env.start_ns || hdr->type == MARKERS_REFUSED) {
		enc->counts.refused += hdr->type == MARKERS_REFUSED;
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	switch (ev->phase) {
	case MARKERS_COUNTER:
	case MARKERS_COUNTER_F64:
		return on_counter(enc, ev);
	case MARKERS_ASYNC_BEGIN:
	case MARKERS_ASYNC_END:
		return on_async(enc, ev);
	default:
		return on_thread_event(enc, ev);
	}
}

/* A session that fails has no stop. */
int markers_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	return final ? on_stop(encoder, now_ns) : 0;
}

bool markers_is_machine_wide(const struct event_hdr *hdr)
{
	return hdr->type == MARKERS_STOP;
}

int markers_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct markers_encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	r = markers_keys_new(&enc->keys);
	if (r == 0)
		r = markers_stacks_init(&enc->threads);
	if (r == 0)
		r = markers_stacks_init(&enc->async);
	if (r == 0)
		r = hash_new(&enc->lanes);
	if (r < 0) {
		markers_encoder_free(enc);
		return r;
	}
	*ret_encoder = enc;
	return 0;
}

void markers_encoder_free(void *encoder)
{
	struct markers_encoder *enc = encoder;
	size_t pos = 0;
	void *lanes;

	if (!enc)
		return;
	markers_stacks_done(&enc->threads);
	markers_stacks_done(&enc->async);
	while (enc->lanes && hash_next(enc->lanes, &pos, NULL, NULL, &lanes)) {
		net_lanes_done(lanes);
		free(lanes);
	}
	hash_free(enc->lanes);
	markers_keys_free(enc->keys);
	free(enc);
}
