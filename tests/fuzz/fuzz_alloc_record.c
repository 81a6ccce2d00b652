/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of allocations; the input is as for record_fuzz_run(). */
#include "alloc_events.h"
#include "record_fuzz.h"

static void make_length_fit(struct event_hdr *hdr, size_t len)
{
	struct alloc_event *ev = (struct alloc_event *)hdr;

	len -= ALLOC_HEAD;
	ev->user.has_copy = len >= USER_STACK_COPY_HEAD;
	if (ev->user.has_copy)
		ev->user.copy.len = (uint16_t)(len - USER_STACK_COPY_HEAD);
	else
		ev->user.n_user = (uint32_t)((len - USER_STACK_HEAD) / 8);
}

static struct record_fuzz fuzz = {
	.name = "alloc",
	.fit = make_length_fit,
	.fit_from = ALLOC_HEAD + USER_STACK_HEAD,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return record_fuzz_run(&fuzz, data, size);
}
