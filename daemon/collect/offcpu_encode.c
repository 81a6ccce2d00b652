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
#include "stack_encode.h"
#include "trace_writer.h"

/* Flow ids live in the file: these are ours. */
#define FLOW_BASE (0x0ffcull << 48)

struct offcpu_encoder {
	struct encoder_env env;
	struct stack_encoder *sleepers, *wakers;
	uint64_t n_waits;
};

/* ---- is it a record of ours? ---- */

static unsigned n_ips(const struct offcpu_event *ev)
{
	return (unsigned)ev->n_user + OFFCPU_N_PYTHON(ev) + ev->n_kernel + ev->n_waker_kernel +
	       ev->n_waker_user;
}

/* The size that a record has, or 0: none has that. */
static size_t size_of(const struct offcpu_event *ev, size_t len)
{
	const struct offcpu_copied *rec = (const void *)ev;

	if (!ev->has_copy)
		return OFFCPU_HEAD + n_ips(ev) * sizeof(uint64_t);
	if (len < OFFCPU_COPY_HEAD || rec->copy.len > OFFCPU_COPY_BYTES ||
	    rec->waker_copy.len > OFFCPU_COPY_BYTES)
		return 0;
	/* Each belongs to a walk that has begun. */
	if (ev->has_copy & OFFCPU_COPY_SLEEPER ? ev->n_user == 0 : rec->copy.len > 0)
		return 0;
	if (ev->has_copy & OFFCPU_COPY_WAKER ? ev->n_waker_user == 0 : rec->waker_copy.len > 0)
		return 0;
	return OFFCPU_COPY_HEAD + (size_t)rec->copy.len + rec->waker_copy.len;
}

static bool valid_wait(const struct offcpu_event *ev)
{
	return ev->n_user <= OFFCPU_MAX_USER && OFFCPU_N_PYTHON(ev) <= OFFCPU_MAX_PYTHON &&
	       ev->n_kernel <= OFFCPU_MAX_KERNEL && ev->n_waker_kernel <= OFFCPU_MAX_KERNEL &&
	       ev->n_waker_user <= OFFCPU_MAX_WAKER_USER && ev->end < UNWIND_ENDS &&
	       ev->waker_end < UNWIND_ENDS &&
	       ev->has_copy <= (OFFCPU_COPY_SLEEPER | OFFCPU_COPY_WAKER) && ev->begin_ns &&
	       ev->begin_ns <= ev->hdr.time_ns && ev->woken_ns <= ev->hdr.time_ns &&
	       ev->waker_cpu < MAX_CPUS && ev->file < OFFCPU_FILES && !(ev->flags & ~OFFCPU_FLAGS);
}

bool offcpu_valid(const struct event_hdr *hdr, size_t len)
{
	const struct offcpu_event *ev = (const void *)hdr;

	if ((hdr->type != OFFCPU_WAIT && hdr->type != OFFCPU_UNFINISHED) || len < OFFCPU_HEAD)
		return false;
	return hdr->size == len && size_of(ev, len) == len && hdr->stream == 0 &&
	       hdr->cpu < MAX_CPUS && hdr->tgid && hdr->tid && valid_wait(ev);
}

/* ---- samples ---- */

static void set_frames(struct stack_sample *s, const struct wait_frames *user,
		       const struct wait_frames *kernel)
{
	s->user = (const uint64_t *)user->ips;
	s->n_user = user->n;
	s->kernel = (const uint64_t *)kernel->ips;
	s->n_kernel = kernel->n;
	s->in_kernel = kernel->n > 0;
}

/* A sample has a stack: this one reads "[unknown]". */
static void set_no_frames(struct stack_sample *s)
{
	static const uint64_t nowhere = 0;

	s->user = &nowhere;
	s->n_user = 1;
	s->copy = NULL;
}

/*
 * A walk that came too early, and no copy of the stack to finish it: what can be
 * had is that the next one does not. Asking for the rest of this one brings the
 * process's mappings and the table of its last frame.
 */
static bool ask_for_tables(const struct stack_sample *s, uint64_t start_ns, uint64_t exec_id,
			   struct unwind_copy *ret)
{
	const uint64_t nowhere = 1ull << 40; /* any address: nothing was copied from it */

	if (s->n_user == 0 ||
	    (s->end != UNWIND_NOPROC && s->end != UNWIND_NOMAP && s->end != UNWIND_PENDING))
		return false;
	*ret = (struct unwind_copy){
		.pc = s->user[s->n_user - 1],
		.sp = nowhere,
		.fp = nowhere,
		.from = nowhere,
		.start_ns = start_ns,
		.exec_id = exec_id,
		.is_exact = s->n_user == 1,
	};
	return true;
}

static int write_sleeper(struct offcpu_encoder *enc, const struct offcpu_wait *w)
{
	const struct offcpu_event *ev = w->ev;
	struct unwind_copy ask;
	struct stack_sample s = {
		.time_ns = w->end_ns,
		.weight = w->end_ns - w->begin_ns,
		.tgid = ev->hdr.tgid,
		.tid = ev->hdr.tid,
		.cpu = ev->hdr.cpu,
		.end = ev->end,
		.copy = w->copy,
		.stack = w->stack,
		.is_extra = w->unfinished,
	};

	set_frames(&s, &w->user, &w->kernel);
	s.words = (const uint64_t *)w->python.ips;
	s.n_words = w->python.n;
	s.words_whole = !(ev->python & OFFCPU_PYTHON_CUT);
	if (!s.copy && ask_for_tables(&s, ev->start_ns, ev->exec_id, &ask)) {
		s.copy = &ask;
		s.stack = (const uint8_t *)""; /* of no length */
	}
	if (s.n_user + s.n_kernel == 0)
		set_no_frames(&s);
	return stack_encoder_add(enc->sleepers, &s);
}

static int write_waker(struct offcpu_encoder *enc, const struct offcpu_wait *w)
{
	const struct offcpu_event *ev = w->ev;
	struct unwind_copy ask;
	struct stack_sample s = {
		.time_ns = w->woken_ns,
		.weight = w->woken_ns - w->begin_ns,
		.tgid = ev->hdr.peer_tgid,
		.tid = ev->hdr.peer_tid,
		.cpu = ev->waker_cpu,
		.end = ev->waker_end,
		.copy = w->waker_copy,
		.stack = w->waker_stack,
		.is_extra = true,
	};

	/* What an interrupt does is not the doing of whom it interrupts. */
	if (!w->was_woken || w->interrupt || s.tid == 0 || w->waker_kernel.n + w->waker_user.n == 0)
		return 0;
	set_frames(&s, &w->waker_user, &w->waker_kernel);
	if (!s.copy && ask_for_tables(&s, ev->waker_start_ns, ev->waker_exec_id, &ask)) {
		s.copy = &ask;
		s.stack = (const uint8_t *)"";
	}
	return stack_encoder_add(enc->wakers, &s);
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
	if (r == 0)
		r = write_waker(enc, &w);
	return r < 0 ? r : write_sleeper(enc, &w);
}

int offcpu_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct offcpu_encoder *enc = encoder;
	int r = stack_encoder_flush(enc->sleepers, now_ns, final);

	return r < 0 ? r : stack_encoder_flush(enc->wakers, now_ns, final);
}

bool offcpu_encoder_pending(void *encoder)
{
	const struct offcpu_encoder *enc = encoder;

	return stack_encoder_pending(enc->sleepers) || stack_encoder_pending(enc->wakers);
}

const uint64_t *offcpu_encoder_stack_ends(void *encoder)
{
	const struct offcpu_encoder *enc = encoder;

	return stack_encoder_ends(enc->sleepers);
}

/* ---- life ---- */

int offcpu_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	/* Nanoseconds proper would be taken for CPU time. */
	static const struct stack_source sleepers = {
		.seq = SEQ_OFFCPU,
		.source = OFFCPU_SOURCE,
		.counter = "off-CPU time",
		.unit_str = OFFCPU_UNIT,
	};
	static const struct stack_source wakers = {
		.seq = SEQ_WAKERS,
		.source = WAKERS_SOURCE,
		.counter = "blocked time ended",
		.unit_str = WAKERS_UNIT,
	};
	struct offcpu_encoder *enc = calloc(1, sizeof(*enc));
	int r;

	if (!enc)
		return -ENOMEM;
	enc->env = *env;
	r = stack_encoder_new(env, &sleepers, &enc->sleepers);
	if (r == 0)
		r = stack_encoder_new(env, &wakers, &enc->wakers);
	if (r < 0) {
		offcpu_encoder_free(enc);
		return r;
	}
	*ret_encoder = enc;
	return 0;
}

void offcpu_encoder_free(void *encoder)
{
	struct offcpu_encoder *enc = encoder;

	if (!enc)
		return;
	stack_encoder_free(enc->sleepers);
	stack_encoder_free(enc->wakers);
	free(enc);
}
