/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syscalls_encode.c - one system call, one slice on its thread's track: named
 * after the call, everything that varies in its arguments.
 *
 * Slices of a thread cannot overlap: a call has returned before the thread
 * makes another, also from a signal handler, and records come in the order of
 * the returns.
 */
#include "syscalls_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "process/process_table.h"
#include "syscalls_names.h"
#include "trace_writer.h"

struct syscalls_encoder {
	struct encoder_env env;
};

/* A slice in the making. */
struct slice {
	struct trace_event event;
	struct trace_arg args[TRACE_MAX_ARGS];
	char protocol[PROTOCOL_TEXT_LEN];
	char peer[ADDRESS_TEXT_LEN], local[ADDRESS_TEXT_LEN];
};

/* ---- is it a record of ours? ---- */

static bool valid_address(const struct syscalls_call *call)
{
	switch (call->addr_family) {
	case 0:
	case AF_INET:
	case AF_INET6:
		return true;
	case AF_UNIX:
		return call->unix_addr.len <= UNIX_PATH_LEN;
	default:
		return false;
	}
}

static bool valid_call(const struct syscalls_call *call)
{
	if (!call_info(call->call) || (call->flags & ~CALL_FLAGS) || call->pad)
		return false;
	return call_is_wait(call->call) ? call->addr_family == 0 : valid_address(call);
}

bool syscalls_valid(const struct event_hdr *hdr, size_t len)
{
	const struct syscalls_event *ev = (const void *)hdr;

	return len == sizeof(*ev) && hdr->size == sizeof(*ev) && hdr->stream == 0 &&
	       (hdr->type == SYSCALLS_CALL || hdr->type == SYSCALLS_UNFINISHED) && hdr->tgid &&
	       hdr->tid && ev->call.enter_ns <= hdr->time_ns && valid_call(&ev->call);
}

/* ---- arguments ---- */

static struct trace_arg *add(struct slice *s, const char *name, enum trace_arg_type type)
{
	struct trace_arg *arg = &s->args[s->event.n_args++];

	arg->name = name;
	arg->type = type;
	return arg;
}

static void add_int(struct slice *s, const char *name, int64_t v)
{
	add(s, name, ARG_INT)->i = v;
}

static void add_true(struct slice *s, const char *name)
{
	add(s, name, ARG_BOOL)->u = 1;
}

static void add_string(struct slice *s, const char *name, const char *v)
{
	add(s, name, ARG_STRING)->s = v;
}

static void add_socket(struct slice *s, const struct syscalls_call *call)
{
	const char *protocol = call_protocol(call, s->protocol);
	bool has_peer = call_peer(call, s->peer);

	if (protocol)
		add_string(s, "proto", protocol);
	if (has_peer)
		add_string(s, "peer", s->peer);
	/* A connection's own end is the same in all its calls: where it begins will do. */
	if ((!has_peer || call->call <= CALL_LISTEN) && call_local(call, s->local))
		add_string(s, "local", s->local);
	if (call->flags & CALL_CLAIMED)
		add_true(s, "address_claimed");
}

static void add_wait(struct slice *s, const struct syscalls_call *call)
{
	bool epoll = call->call >= CALL_EPOLL_WAIT;

	add_int(s, epoll ? "max_events" : "fds", call->wait.n_fds);
	if (call->wait.timeout_ns >= 0)
		add_int(s, "timeout_ns", call->wait.timeout_ns);
	if (call->flags & CALL_RESTARTED)
		add_true(s, "restarted");
}

static void add_result(struct slice *s, enum call_result result, int64_t ret)
{
	static const char *const names[] = {
		[RESULT_STATUS] = "ret", [RESULT_BYTES] = "bytes", [RESULT_MESSAGES] = "messages",
		[RESULT_FD] = "new_fd",	 [RESULT_READY] = "ready",
	};
	const char *error = call_error(ret);

	if (!error) {
		if (result != RESULT_STATUS || ret != 0)
			add_int(s, names[result], ret);
		return;
	}
	add_string(s, "error", error);
	if (call_interrupted(ret))
		add_true(s, "interrupted");
}

/* ---- slices ---- */

static void describe(struct syscalls_encoder *enc, struct slice *s, const struct syscalls_event *ev)
{
	const struct syscalls_call *call = &ev->call;
	const struct call_info *info = call_info(call->call);

	s->event.name = info->name;
	s->event.args = s->args;
	if (call->fd >= 0 || call->call < CALL_FIRST_CREATE)
		add_int(s, "fd", call->fd);
	if (call_is_wait(call->call)) {
		s->event.category = "syscall";
		add_wait(s, call);
	} else {
		s->event.category = "net";
		add_socket(s, call);
	}
	if (ev->hdr.type == SYSCALLS_UNFINISHED)
		add_true(s, "unfinished");
	else
		add_result(s, info->result, call->ret);
	s->event.time_ns = call->enter_ns;
	if (call->enter_ns < enc->env.start_ns) {
		s->event.time_ns = enc->env.start_ns;
		add_true(s, "entered_before");
	}
}

int syscalls_encode(void *encoder, const struct event_hdr *hdr)
{
	struct syscalls_encoder *enc = encoder;
	const struct syscalls_event *ev = (const void *)hdr;
	const struct encoder_env *env = &enc->env;
	unsigned n_events = hdr->type == SYSCALLS_CALL;
	const struct thread *thread;
	struct slice s;

	if (hdr->time_ns < env->start_ns) {
		trace_writer_skip(env->writer, n_events);
		return 0;
	}
	memset(&s.event, 0, sizeof(s.event));
	describe(enc, &s, ev);

	thread = process_table_thread(env->processes, hdr->tid);
	s.event.track =
		trace_thread_track(env->writer, hdr->tgid, hdr->tid, thread ? thread->start_ns : 0);
	if (!s.event.track)
		return -ENOMEM;
	return trace_slice(env->writer, &s.event, hdr->time_ns, n_events);
}

int syscalls_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct syscalls_encoder *enc = calloc(1, sizeof(*enc));

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	*ret_encoder = enc;
	return 0;
}

void syscalls_encoder_free(void *encoder)
{
	free(encoder);
}
