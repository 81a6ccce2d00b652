/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_encode.c - samples of allocations, weighed in bytes, in a trace. */
#include "alloc_encode.h"

#include "alloc_events.h"
#include "cpus.h"
#include "perf_event_spec.h"
#include "stack_encode.h"

/* The size that a record has, or 0: none has that. */
static size_t size_of(const struct alloc_event *ev, size_t len)
{
	if (ev->n_user == 0 || ev->n_user > UNWIND_MAX_FRAMES)
		return 0;
	if (!ev->has_copy)
		return ALLOC_HEAD + (ev->n_user + ALLOC_N_PYTHON(ev)) * sizeof(uint64_t);
	if (len < ALLOC_COPY_HEAD || ev->copy.len > UNWIND_COPY_BYTES)
		return 0;
	return ALLOC_COPY_HEAD + (size_t)ev->copy.len;
}

bool alloc_valid(const struct event_hdr *hdr, size_t len)
{
	const struct alloc_event *ev = (const void *)hdr;

	if (hdr->type != ALLOC_SAMPLE || len < ALLOC_HEAD || hdr->size != len)
		return false;
	return hdr->stream == 0 && hdr->cpu < MAX_CPUS && hdr->tgid && hdr->tid &&
	       ev->function > 0 && ev->function < ALLOC_FUNCTIONS && ev->end < UNWIND_ENDS &&
	       ev->has_copy <= 1 && ev->weight > 0 && ev->weight <= INT64_MAX &&
	       size_of(ev, len) == len;
}

/* There is nothing else to keep: the encoder is that of the stacks. */
int alloc_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	static const struct stack_source source = {
		.seq = SEQ_ALLOC,
		.source = "linux.alloc",
		.counter = "allocated bytes",
		.unit = UNIT_BYTES,
	};
	struct stack_encoder *stacks;
	int r = stack_encoder_new(env, &source, &stacks);

	if (r == 0)
		*ret_encoder = stacks;
	return r;
}

void alloc_encoder_free(void *encoder)
{
	stack_encoder_free(encoder);
}

int alloc_encode(void *encoder, const struct event_hdr *hdr)
{
	const struct alloc_event *ev = (const void *)hdr;
	struct stack_sample s = {
		.time_ns = hdr->time_ns,
		.tgid = hdr->tgid,
		.tid = hdr->tid,
		.cpu = hdr->cpu,
		.weight = ev->weight,
		.user = (const uint64_t *)ev->ips,
		.n_user = ev->n_user,
		.end = ev->end,
	};

	s.words = s.user + s.n_user;
	s.n_words = ALLOC_N_PYTHON(ev);
	s.words_whole = !(ev->python & ALLOC_PYTHON_CUT);
	if (ev->has_copy) {
		s.copy = &ev->copy;
		s.stack = ev->stack;
	}
	return stack_encoder_add(encoder, &s);
}

int alloc_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	return stack_encoder_flush(encoder, now_ns, final);
}

bool alloc_encoder_pending(void *encoder)
{
	return stack_encoder_pending(encoder);
}

const uint64_t *alloc_encoder_stack_ends(void *encoder)
{
	return stack_encoder_ends(encoder);
}
