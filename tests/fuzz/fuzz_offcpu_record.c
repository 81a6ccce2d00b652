/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of waits; the input is as for record_fuzz_run(). */
#include "collect/offcpu_reason.h"
#include "offcpu_events.h"
#include "record_fuzz.h"

static void make_length_fit(struct event_hdr *hdr, size_t len)
{
	struct offcpu_event *ev = (struct offcpu_event *)hdr;
	size_t n = (len - OFFCPU_HEAD) / 8;

	ev->has_copy = len >= OFFCPU_COPY_HEAD ? 1 + ev->hdr.cgroup_id / 2 % 3 : 0;
	if (ev->has_copy) {
		struct offcpu_copied *rec = (struct offcpu_copied *)ev;
		uint32_t all = (uint32_t)(len - OFFCPU_COPY_HEAD);

		rec->copy.len = ev->has_copy == 2 ? 0 : ev->has_copy == 1 ? all : all / 3;
		rec->waker_copy.len = all - rec->copy.len;
		return;
	}
	ev->n_user = (uint8_t)(n < 100 ? n : 100);
	ev->n_kernel = (uint8_t)(n - ev->n_user < 30 ? n - ev->n_user : 30);
	n -= (size_t)ev->n_user + ev->n_kernel;
	ev->n_waker_kernel = (uint8_t)(n < 30 ? n : 30);
	ev->n_waker_user = (uint8_t)(n - ev->n_waker_kernel);
}

static struct record_fuzz fuzz = {
	.name = "offcpu",
	.config = { .offcpu_min_ns = 16 },
	.unfinished = OFFCPU_UNFINISHED,
	.fit = make_length_fit,
	.fit_from = OFFCPU_HEAD,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return record_fuzz_run(&fuzz, data, size);
}
