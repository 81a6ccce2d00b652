/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_api_encode.c - a call is a slice on its thread's track, named after the
 * function; where launches, submits and swaps come from are samples of a source of
 * their own, weighed in calls.
 *
 * Slices of a thread nest: records come in the order of the ends, and calls that
 * were left without a return have ended by the time the next thing happened.
 */
#include "gpu_api_encode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/perf_event_spec.h"
#include "collect/stack_encode.h"
#include "cpus.h"
#include "gpu_api_kernels.h"
#include "gpu_api_table.h"
#include "process/process_table.h"
#include "trace_writer.h"

#define JOINED_LEN 64 /* three numbers of 64 bits */

struct gpu_api_encoder {
	struct encoder_env env;
	struct stack_encoder *stacks;
	struct gpu_api_kernels *kernels;
};

/* A slice in the making. */
struct slice {
	struct trace_event event;
	struct trace_arg args[TRACE_MAX_ARGS];
	char joined[GPU_API_MAX_ARGS][JOINED_LEN];
	char text[GPU_API_TEXT + 1];
	char result[GPU_API_RESULT_LEN];
};

/* ---- is it a record of ours? ---- */

static bool valid_call(const struct event_hdr *hdr, size_t len)
{
	const struct gpu_api_event *ev = (const void *)hdr;
	const struct gpu_api_call *call = &ev->call;

	if (len < GPU_API_HEAD || call->function >= gpu_api_n_functions ||
	    call->text_len >= GPU_API_TEXT || call->has_windows > 1)
		return false;
	if (len != (hdr->type == GPU_API_CALL ? gpu_api_size(call) : sizeof(*ev)))
		return false;
	return !(call->flags & ~GPU_API_FLAGS) && call->enter_ns <= hdr->time_ns &&
	       (call->has_windows ||
		!(call->flags & (GPU_API_WINDOW_READ(0) | GPU_API_WINDOW_READ(1))));
}

static bool valid_stack(const struct event_hdr *hdr, size_t len)
{
	const struct gpu_api_stack *ev = (const void *)hdr;

	return len >= GPU_API_STACK_HEAD + USER_STACK_HEAD && ev->function < gpu_api_n_functions &&
	       ev->weight > 0 && ev->weight <= INT64_MAX &&
	       user_stack_valid(&ev->user, len - GPU_API_STACK_HEAD);
}

bool gpu_api_valid(const struct event_hdr *hdr, size_t len)
{
	if (hdr->size != len || hdr->stream != 0 || hdr->cpu >= MAX_CPUS || !hdr->tgid || !hdr->tid)
		return false;
	switch (hdr->type) {
	case GPU_API_CALL:
	case GPU_API_UNFINISHED:
		return valid_call(hdr, len);
	case GPU_API_STACK:
		return valid_stack(hdr, len);
	default:
		return false;
	}
}

/* ---- arguments ---- */

static struct trace_arg *add(struct slice *s, const char *name, enum trace_arg_type type)
{
	struct trace_arg *arg = &s->args[s->event.n_args++];

	arg->name = name;
	arg->type = type;
	return arg;
}

static void add_true(struct slice *s, const char *name)
{
	add(s, name, ARG_BOOL)->u = 1;
}

static void add_string(struct slice *s, const char *name, const char *v)
{
	add(s, name, ARG_STRING)->s = v;
}

/* The `i`th number of an argument. False: it is not there. */
static bool number(const struct gpu_api_call *call, const struct gpu_api_arg *a,
		   const struct gpu_api_reads *reads, unsigned i, uint64_t *ret)
{
	size_t size = a->type == ARG_TYPE_U32 || a->type == ARG_TYPE_I32 ? 4 : 8, at;

	*ret = 0;
	if (a->type == ARG_TYPE_DIM3) { /* x and y in one register, z in the next */
		*ret = (uint32_t)(call->args[a->arg + i / 2] >> (i % 2 ? 32 : 0));
		return true;
	}
	if (a->window < 0) {
		*ret = call->args[a->arg + i];
		return true;
	}
	if (!(call->flags & GPU_API_WINDOW_READ(a->window)))
		return false;
	at = a->offset - reads->windows[a->window].offset + i * size;
	memcpy(ret, &call->windows[a->window][at], size);
	return true;
}

/* Signed numbers are never several. */
static void add_joined(struct slice *s, const struct gpu_api_call *call,
		       const struct gpu_api_arg *a, const struct gpu_api_reads *reads, unsigned n)
{
	char *text = s->joined[a - gpu_api_spec(call->function)->args];
	size_t len = 0;
	uint64_t v;

	for (unsigned i = 0; i < n; i++) {
		if (!number(call, a, reads, i, &v))
			return;
		if (a->type == ARG_TYPE_U32)
			v = (uint32_t)v;
		len += (size_t)snprintf(text + len, JOINED_LEN - len, "%s%llu", i ? "," : "",
					(unsigned long long)v);
	}
	if (n)
		add_string(s, a->name, text);
}

static void add_kernel(struct gpu_api_encoder *enc, struct slice *s, const struct gpu_api_event *ev,
		       const char *name, uint64_t handle)
{
	const char *kernel = gpu_api_kernels_name(enc->kernels, ev, handle);

	if (kernel)
		add_string(s, name, kernel);
	else
		add(s, name, ARG_POINTER)->u = handle;
}

static void add_one(struct gpu_api_encoder *enc, struct slice *s, const struct gpu_api_event *ev,
		    const struct gpu_api_arg *a, uint64_t v)
{
	switch (a->type) {
	case ARG_TYPE_U32:
		add(s, a->name, ARG_UINT)->u = (uint32_t)v;
		break;
	case ARG_TYPE_I32:
		add(s, a->name, ARG_INT)->i = (int32_t)v;
		break;
	case ARG_TYPE_U64:
		add(s, a->name, ARG_UINT)->u = v;
		break;
	case ARG_TYPE_KERNEL:
		add_kernel(enc, s, ev, a->name, v);
		break;
	default:
		add(s, a->name, ARG_POINTER)->u = v;
	}
}

static void add_arg(struct gpu_api_encoder *enc, struct slice *s, const struct gpu_api_event *ev,
		    const struct gpu_api_arg *a, const struct gpu_api_reads *reads)
{
	const struct gpu_api_call *call = &ev->call;
	uint64_t v;

	switch (a->type) {
	case ARG_TYPE_TEXT:
		if (!call->text_len)
			return;
		memcpy(s->text, call->text, call->text_len);
		s->text[call->text_len] = '\0';
		add_string(s, a->name, s->text);
		break;
	case ARG_TYPE_OUT:
		if (call->flags & GPU_API_OUT_READ)
			add(s, a->name, ARG_POINTER)->u = call->out;
		break;
	case ARG_TYPE_DIM3:
		add_joined(s, call, a, reads, 3);
		break;
	case ARG_TYPE_SIZES:
		add_joined(s, call, a, reads, call->args[2] < 3 ? (unsigned)call->args[2] : 3);
		break;
	default:
		if (a->n > 1)
			add_joined(s, call, a, reads, a->n);
		else if (number(call, a, reads, 0, &v))
			add_one(enc, s, ev, a, v);
	}
}

/* ---- slices ---- */

/* An out parameter holds what was there before, when the function failed. */
static const char *result_of(const struct gpu_api_event *ev, char scratch[GPU_API_RESULT_LEN])
{
	const struct gpu_api_function *f = &gpu_api_functions[ev->call.function];

	return gpu_api_result_name(f->result, ev->call.ret, scratch);
}

static bool has_returned(const struct gpu_api_event *ev)
{
	return ev->hdr.type == GPU_API_CALL &&
	       !(ev->call.flags & (GPU_API_ABANDONED | GPU_API_EXITED));
}

static void add_result(struct slice *s, const struct gpu_api_event *ev, const char *failure)
{
	if (ev->hdr.type == GPU_API_UNFINISHED)
		add_true(s, "unfinished");
	else if (ev->call.flags & GPU_API_ABANDONED)
		add_true(s, "abandoned");
	else if (ev->call.flags & GPU_API_EXITED)
		add_true(s, "exited");
	else if (failure)
		add_string(s, "result", failure);
	else if (gpu_api_functions[ev->call.function].result == RESULT_POINTER)
		add(s, "ret", ARG_POINTER)->u = ev->call.ret;
}

static void describe(struct gpu_api_encoder *enc, struct slice *s, const struct gpu_api_event *ev,
		     const char *failure)
{
	const struct gpu_api_function *f = &gpu_api_functions[ev->call.function];
	const struct gpu_api_spec *spec = gpu_api_spec(ev->call.function);

	s->event.name = f->name;
	s->event.category = GPU_API_CATEGORY;
	s->event.args = s->args;
	s->event.time_ns = ev->call.enter_ns;
	add_string(s, "api", gpu_api_name(f->api));
	for (int i = 0; i < spec->n; i++)
		if (spec->args[i].type != ARG_TYPE_OUT || (has_returned(ev) && !failure))
			add_arg(enc, s, ev, &spec->args[i], &spec->reads);
	add_result(s, ev, failure);
	if (ev->call.enter_ns < enc->env.start_ns) {
		s->event.time_ns = enc->env.start_ns;
		add_true(s, "entered_before");
	}
}

static bool is_wanted(const struct gpu_api_encoder *enc, uint32_t function)
{
	return enc->env.config->gpu_api_classes & 1u << gpu_api_functions[function].class;
}

static int encode_call(struct gpu_api_encoder *enc, const struct gpu_api_event *ev)
{
	const struct encoder_env *env = &enc->env;
	unsigned n_events = ev->hdr.type == GPU_API_CALL;
	const struct thread *thread;
	struct slice s;
	const char *failure = has_returned(ev) ? result_of(ev, s.result) : NULL;

	if (has_returned(ev) && !failure)
		gpu_api_kernels_learn(enc->kernels, ev);
	if (ev->hdr.time_ns < env->start_ns || !is_wanted(enc, ev->call.function)) {
		trace_writer_skip(env->writer, n_events);
		return 0;
	}
	memset(&s.event, 0, sizeof(s.event));
	describe(enc, &s, ev, failure);
	thread = process_table_thread(env->processes, ev->hdr.tid);
	s.event.track = trace_thread_track(env->writer, ev->hdr.tgid, ev->hdr.tid,
					   thread ? thread->start_ns : 0);
	if (!s.event.track)
		return -ENOMEM;
	return trace_slice(env->writer, &s.event, ev->hdr.time_ns, n_events);
}

static int encode_stack(struct gpu_api_encoder *enc, const struct gpu_api_stack *ev)
{
	struct stack_sample s = {
		.time_ns = ev->hdr.time_ns,
		.tgid = ev->hdr.tgid,
		.tid = ev->hdr.tid,
		.cpu = ev->hdr.cpu,
		.weight = ev->weight,
	};

	if (ev->hdr.time_ns < enc->env.start_ns || !is_wanted(enc, ev->function)) {
		trace_writer_skip(enc->env.writer, 1);
		return 0;
	}
	stack_sample_user(&s, &ev->user);
	return stack_encoder_add(enc->stacks, &s);
}

int gpu_api_encode(void *encoder, const struct event_hdr *hdr)
{
	if (hdr->type == GPU_API_STACK)
		return encode_stack(encoder, (const struct gpu_api_stack *)hdr);
	return encode_call(encoder, (const struct gpu_api_event *)hdr);
}

/* ---- life ---- */

int gpu_api_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct gpu_api_encoder *enc = encoder;

	return stack_encoder_flush(enc->stacks, now_ns, final);
}

bool gpu_api_encoder_pending(void *encoder)
{
	struct gpu_api_encoder *enc = encoder;

	return stack_encoder_pending(enc->stacks);
}

const uint64_t *gpu_api_encoder_stack_ends(void *encoder)
{
	struct gpu_api_encoder *enc = encoder;

	return stack_encoder_ends(enc->stacks);
}

int gpu_api_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	static const struct stack_source source = {
		.seq = SEQ_GPU_API,
		.source = GPU_API_SOURCE,
		.counter = "launches, submits and frames",
		.unit = UNIT_COUNT,
	};
	struct gpu_api_encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	r = stack_encoder_new(env, &source, &enc->stacks);
	if (r == 0)
		r = gpu_api_kernels_new(env->processes, &enc->kernels);
	if (r < 0) {
		gpu_api_encoder_free(enc);
		return r;
	}
	*ret_encoder = enc;
	return 0;
}

void gpu_api_encoder_free(void *encoder)
{
	struct gpu_api_encoder *enc = encoder;

	if (!enc)
		return;
	stack_encoder_free(enc->stacks);
	gpu_api_kernels_free(enc->kernels);
	free(enc);
}
