/* SPDX-License-Identifier: Apache-2.0 */
/* offcpu_slices.c - a wait as a slice on the track "Waits" below its thread's. */
#include "offcpu_slices.h"

#include <errno.h>
#include <string.h>

#include "offcpu_reason.h"
#include "process/process_table.h"
#include "trace_writer.h"

/* A slice in the making. */
struct slice {
	struct trace_event event;
	struct trace_arg args[TRACE_MAX_ARGS];
	char name[WAIT_NAME_LEN];
	char waker[COMM_LEN + 1];
};

static struct trace_arg *add(struct slice *s, const char *name, enum trace_arg_type type)
{
	struct trace_arg *arg = &s->args[s->event.n_args++];

	arg->name = name;
	arg->type = type;
	return arg;
}

static void add_uint(struct slice *s, const char *name, uint64_t v)
{
	add(s, name, ARG_UINT)->u = v;
}

static void add_pointer(struct slice *s, const char *name, uint64_t v)
{
	add(s, name, ARG_POINTER)->u = v;
}

static void add_true(struct slice *s, const char *name)
{
	add(s, name, ARG_BOOL)->u = 1;
}

static void add_string(struct slice *s, const char *name, const char *v)
{
	add(s, name, ARG_STRING)->s = v;
}

/* By the time the wait was over: somebody else has the waker's tid, who had not begun then. */
static bool waker_is_replaced(const struct encoder_env *env, const struct offcpu_wait *w)
{
	const struct thread *thread = process_table_thread(env->processes, w->ev->hdr.peer_tid);

	return thread && thread->start_ns > w->woken_ns;
}

static void add_waker(const struct encoder_env *env, struct slice *s, const struct offcpu_wait *w)
{
	const struct event_hdr *hdr = &w->ev->hdr;
	const struct thread *thread;

	if (!w->was_woken)
		return;
	if (w->interrupt) {
		add_string(s, "woken_by", w->interrupt);
	} else if (env->config->owner.only_own && !hdr->peer_tid) {
		add_string(s, "woken_by", "another user's thread");
	} else {
		thread = process_table_thread(env->processes, hdr->peer_tid);
		if (thread && !waker_is_replaced(env, w)) {
			memcpy(s->waker, thread->comm, COMM_LEN);
			s->waker[COMM_LEN] = '\0';
			add_string(s, "waker", s->waker);
		}
		add_uint(s, "waker_tid", hdr->peer_tid);
		add_uint(s, "waker_pid", hdr->peer_tgid);
	}
	if (w->function)
		add_string(s, "waking_function", w->function);
}

static void describe(const struct encoder_env *env, struct slice *s, const struct offcpu_wait *w)
{
	const struct offcpu_event *ev = w->ev;
	enum wait_reason reason = wait_describe(ev, w->in_fault, s->name);

	s->event.name = s->name;
	s->event.category = OFFCPU_CATEGORY;
	s->event.args = s->args;
	s->event.time_ns = w->begin_ns;
	add_string(s, "reason", wait_reason_name(reason));
	add_uint(s, "blocked_ns", w->woken_ns - w->begin_ns);
	add_uint(s, "runnable_ns", w->end_ns - w->woken_ns);
	add_string(s, "state", wait_state(ev->state));
	if (wait_is_fd_call(ev->syscall) && !(ev->flags & OFFCPU_COMPAT))
		add(s, "fd", ARG_INT)->i = (int32_t)ev->args[0];
	if (reason == WAIT_FUTEX)
		add_pointer(s, "futex", ev->args[0]);
	if (reason == WAIT_IOCTL)
		add_pointer(s, "request", (uint32_t)ev->args[1]);
	add_waker(env, s, w);
	if (w->ev->flags & OFFCPU_NO_STACK)
		add_true(s, "stack_left_out");
	if (w->began_before)
		add_true(s, "began_before");
	if (w->unfinished)
		add_true(s, "unfinished");
}

/*
 * The track of a thread's waits, described at a time when it lived: a waker may be gone
 * when the wait is over. 0: out of memory.
 */
static uint64_t waits_track(const struct encoder_env *env, uint32_t tgid, uint32_t tid,
			    uint64_t time_ns)
{
	const struct thread *thread = process_table_thread(env->processes, tid);
	struct trace_track track = { .name = OFFCPU_TRACK };

	trace_writer_time(env->writer, time_ns);
	track.parent = trace_thread_track(env->writer, tgid, tid, thread ? thread->start_ns : 0);
	return track.parent ? trace_track(env->writer, &track) : 0;
}

/* From the waker to the moment from which the thread can run. */
static int write_arrow(const struct encoder_env *env, const struct offcpu_wait *w, uint64_t flow_id)
{
	const struct event_hdr *hdr = &w->ev->hdr;
	struct trace_arg whom = { .name = "tid", .type = ARG_UINT, .u = hdr->tid };
	struct trace_event wakes = {
		.name = "wakes",
		.category = OFFCPU_CATEGORY,
		.time_ns = w->woken_ns,
		.args = &whom,
		.n_args = 1,
		.flow_id = flow_id,
	};
	int r = -ENOMEM;

	wakes.track = waits_track(env, hdr->peer_tgid, hdr->peer_tid, w->woken_ns);
	if (wakes.track)
		r = trace_instant(env->writer, &wakes, 0);
	trace_writer_time(env->writer, w->end_ns);
	return r;
}

static int write_runnable(const struct encoder_env *env, const struct offcpu_wait *w,
			  uint64_t track, uint64_t flow_id)
{
	struct trace_event runnable = {
		.name = "runnable",
		.category = OFFCPU_CATEGORY,
		.time_ns = w->woken_ns,
		.track = track,
	};
	int r = 0;

	/* Slices that begin together would be nested the other way round. */
	if (!w->was_woken || w->woken_ns <= w->begin_ns)
		return 0;
	if (!w->interrupt && w->ev->hdr.peer_tid && !waker_is_replaced(env, w)) {
		runnable.flow_id = flow_id;
		r = write_arrow(env, w, flow_id);
	}
	return r < 0 ? r : trace_slice(env->writer, &runnable, w->end_ns, 0);
}

int offcpu_write_slices(const struct encoder_env *env, const struct offcpu_wait *w,
			uint64_t flow_id)
{
	struct slice s = { 0 };
	int r;

	describe(env, &s, w);
	s.event.track = waits_track(env, w->ev->hdr.tgid, w->ev->hdr.tid, w->end_ns);
	if (!s.event.track)
		return -ENOMEM;
	/* The inner one first: slices are written in the order of their ends. */
	r = write_runnable(env, w, s.event.track, flow_id);
	return r < 0 ? r : trace_slice(env->writer, &s.event, w->end_ns, 0);
}
