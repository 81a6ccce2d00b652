/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offcpu_encode.c - a wait is a slice (offcpu_slices.c), and a sample of the
 * sleeper's stack that weighs what the wait lasted. The waker's stack is a
 * sample of another source, weighed with the blocked time that it has ended.
 */
#include "offcpu_encode.h"

#include <errno.h>
#include <stdlib.h>

#include "cpus.h"
#include "offcpu_slices.h"
#include "offcpu_wait.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "trace_writer.h"

/* Flow ids live in the file: these are ours. */
#define FLOW_BASE (0x0ffcull << 48)

struct offcpu_encoder {
	struct encoder_env env;
	uint64_t n_waits;
};

/* ---- is it a record of ours? ---- */

static unsigned n_ips(const struct offcpu_event *ev)
{
	return (unsigned)ev->n_user + ev->n_kernel + ev->n_waker_kernel + ev->n_waker_user;
}

bool offcpu_valid(const struct event_hdr *hdr, size_t len)
{
	const struct offcpu_event *ev = (const void *)hdr;

	if ((hdr->type != OFFCPU_WAIT && hdr->type != OFFCPU_UNFINISHED) || len < OFFCPU_HEAD ||
	    hdr->size != len || len != OFFCPU_HEAD + n_ips(ev) * sizeof(uint64_t))
		return false;
	return hdr->stream == 0 && hdr->cpu < MAX_CPUS && ev->waker_cpu < MAX_CPUS && hdr->tgid &&
	       hdr->tid && ev->n_user <= OFFCPU_MAX_USER && ev->n_kernel <= OFFCPU_MAX_KERNEL &&
	       ev->n_waker_kernel <= OFFCPU_MAX_KERNEL &&
	       ev->n_waker_user <= OFFCPU_MAX_WAKER_USER && ev->begin_ns &&
	       ev->begin_ns <= hdr->time_ns && ev->woken_ns <= hdr->time_ns &&
	       ev->file < OFFCPU_FILES && !(ev->flags & ~OFFCPU_FLAGS);
}

/* ---- samples ---- */

/* A stack of a record: the user's frames and the kernel's, each innermost first. */
struct stack {
	enum trace_sequence seq;
	uint64_t time_ns, weight;
	uint64_t taken_ns; /* when the stack was as it says */
	uint32_t tgid, tid;
	uint16_t cpu;
	struct wait_frames user, kernel;
};

/* TODO(stack_encode): temporary, until the queue that waits for names is shared with cpu_encode. */
static int write_stack(struct offcpu_encoder *enc, const struct stack *st, unsigned n_events)
{
	struct trace_writer *w = enc->env.writer;
	uint64_t frames[OFFCPU_MAX_IPS + 1];
	TracePacket pkt = TRACE_PACKET__INIT;
	StackSample msg = STACK_SAMPLE__INIT;
	size_t n = 0;

	for (unsigned i = st->user.n; i-- > 0;) {
		struct location *loc = process_table_locate(
			enc->env.processes, st->tgid, st->user.ips[i] - (i > 0), st->taken_ns);

		if (!loc || !(frames[n++] = trace_intern_frame(w, st->seq, loc)))
			return -ENOMEM;
	}
	for (unsigned i = st->kernel.n; i-- > 0;) {
		struct location *loc =
			symbolizer_locate_kernel(enc->env.symbolizer, st->kernel.ips[i] - 1);

		if (!loc || !(frames[n++] = trace_intern_frame(w, st->seq, loc)))
			return -ENOMEM;
	}
	if (n == 0) { /* a sample has a stack: an unknown one */
		struct location *loc =
			process_table_locate(enc->env.processes, st->tgid, 0, st->taken_ns);

		if (!loc || !(frames[n++] = trace_intern_frame(w, st->seq, loc)))
			return -ENOMEM;
	}
	msg.has_callstack_iid = msg.has_task_context_iid = msg.has_execution_context_iid = 1;
	msg.has_primary_weight = 1;
	msg.callstack_iid = trace_intern_callstack(w, st->seq, frames, n);
	msg.task_context_iid = trace_intern_task(w, st->seq, st->tgid, st->tid);
	msg.execution_context_iid = trace_intern_execution(w, st->seq, st->cpu, st->kernel.n > 0);
	msg.primary_weight = st->weight;
	if (!msg.callstack_iid || !msg.task_context_iid || !msg.execution_context_iid)
		return -ENOMEM;
	pkt.has_timestamp = 1;
	pkt.timestamp = st->time_ns;
	pkt.stack_sample = &msg;
	return trace_writer_put(w, st->seq, &pkt, n_events);
}

static int write_samples(struct offcpu_encoder *enc, const struct offcpu_wait *w)
{
	const struct event_hdr *hdr = &w->ev->hdr;
	struct stack sleeper = {
		.seq = SEQ_OFFCPU,
		.time_ns = w->end_ns,
		.taken_ns = w->begin_ns,
		.weight = w->end_ns - w->begin_ns,
		.tgid = hdr->tgid,
		.tid = hdr->tid,
		.cpu = hdr->cpu,
		.user = w->user,
		.kernel = w->kernel,
	};
	struct stack waker = {
		.seq = SEQ_WAKERS,
		.time_ns = w->woken_ns,
		.taken_ns = w->woken_ns,
		.weight = w->woken_ns - w->begin_ns,
		.tgid = hdr->peer_tgid,
		.tid = hdr->peer_tid,
		.cpu = w->ev->waker_cpu,
		.user = w->waker_user,
		.kernel = w->waker_kernel,
	};
	int r = 0;

	/* What an interrupt does is not the doing of whom it interrupts. */
	if (w->was_woken && !w->interrupt && waker.kernel.n + waker.user.n > 0 && waker.tid)
		r = write_stack(enc, &waker, 0);
	return r < 0 ? r : write_stack(enc, &sleeper, !w->unfinished);
}

int offcpu_encode(void *encoder, const struct event_hdr *hdr)
{
	struct offcpu_encoder *enc = encoder;
	const struct encoder_env *env = &enc->env;
	const struct offcpu_event *ev = (const void *)hdr;
	struct offcpu_wait w;
	int r;

	/* Another session may want shorter ones. */
	if (hdr->time_ns < env->start_ns ||
	    hdr->time_ns - ev->begin_ns < env->config->offcpu_min_ns) {
		trace_writer_skip(env->writer, hdr->type == OFFCPU_WAIT);
		return 0;
	}
	offcpu_wait_read(ev, env->symbolizer, env->start_ns, &w);
	r = offcpu_write_slices(env, &w, FLOW_BASE + ++enc->n_waits);
	return r < 0 ? r : write_samples(enc, &w);
}

int offcpu_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	(void)encoder;
	(void)now_ns;
	(void) final;
	return 0;
}

bool offcpu_encoder_pending(void *encoder)
{
	(void)encoder;
	return false;
}

/* ---- life ---- */

static int describe_sequence(struct trace_writer *w, enum trace_sequence seq, const char *source,
			     const char *name, const char *unit)
{
	TracePacketDefaults defaults = TRACE_PACKET_DEFAULTS__INIT;
	StackSampleDefaults samples = STACK_SAMPLE_DEFAULTS__INIT;
	StackSample__CounterDescriptor counter = STACK_SAMPLE__COUNTER_DESCRIPTOR__INIT;

	samples.source = (char *)source;
	samples.primary_descriptor = &counter;
	counter.name = (char *)name;
	counter.unit_str = (char *)unit; /* nanoseconds proper would be taken for CPU time */
	defaults.stack_sample_defaults = &samples;
	return trace_writer_set_defaults(w, seq, &defaults);
}

int offcpu_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct offcpu_encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	r = describe_sequence(env->writer, SEQ_OFFCPU, OFFCPU_SOURCE, "off-CPU time", OFFCPU_UNIT);
	if (r == 0)
		r = describe_sequence(env->writer, SEQ_WAKERS, WAKERS_SOURCE, "blocked time ended",
				      WAKERS_UNIT);
	if (r < 0) {
		free(enc);
		return r;
	}
	*ret_encoder = enc;
	return 0;
}

void offcpu_encoder_free(void *encoder)
{
	free(encoder);
}
