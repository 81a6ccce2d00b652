/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_encode.c - samples of allocations, weighed in bytes, in a trace. */
#include "alloc_encode.h"

#include "alloc_events.h"
#include "cpus.h"
#include "perf_event_spec.h"
#include "stack_encode.h"

bool alloc_valid(const struct event_hdr *hdr, size_t len)
{
	const struct alloc_event *ev = (const void *)hdr;

	if (hdr->type != ALLOC_SAMPLE || len < ALLOC_HEAD + USER_STACK_HEAD || hdr->size != len)
		return false;
	return hdr->stream == 0 && hdr->cpu < MAX_CPUS && hdr->tgid && hdr->tid &&
	       ev->function > 0 && ev->function < ALLOC_FUNCTIONS && ev->weight > 0 &&
	       ev->weight <= INT64_MAX && user_stack_valid(&ev->user, len - ALLOC_HEAD);
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
	};

	stack_sample_user(&s, &ev->user);
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
