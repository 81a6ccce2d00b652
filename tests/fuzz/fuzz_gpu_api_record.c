/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of calls of GPU APIs; the input is as for record_fuzz_run(). */
#include "gpu/gpu_api_table.h"
#include "gpu_api_events.h"
#include "record_fuzz.h"

static void make_length_fit(struct event_hdr *hdr, size_t len)
{
	struct gpu_api_event *ev = (struct gpu_api_event *)hdr;

	ev->hdr.type = len >= sizeof(*ev) && ev->hdr.type == GPU_API_UNFINISHED ? GPU_API_UNFINISHED
										: GPU_API_CALL;
	ev->call.function %= (uint16_t)gpu_api_n_functions;
	ev->call.flags &= GPU_API_FLAGS;
	ev->call.has_windows &= 1;
	ev->call.text_len &= 0x7f;
	if (len < sizeof(*ev))
		ev->call.text_len = 0;
}

static struct record_fuzz fuzz = {
	.name = "gpu-api",
	.config = { .gpu_api_classes = ~0u },
	.unfinished = GPU_API_UNFINISHED,
	.fit = make_length_fit,
	.fit_from = GPU_API_HEAD,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return record_fuzz_run(&fuzz, data, size);
}
