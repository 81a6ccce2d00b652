/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of markers; the input is as for record_fuzz_run(). */
#include "markers_events.h"
#include "record_fuzz.h"

/* A name, and perhaps a pair, of the bytes that are there. */
static void make_length_fit(struct event_hdr *hdr, size_t len)
{
	struct markers_event *ev = (struct markers_event *)hdr;
	size_t room = (len - MARKERS_HEAD) & ~7ul, at;

	ev->hdr.type = MARKERS_MARK;
	ev->phase %= N_MARKERS_PHASES;
	ev->flags &= MARKERS_FLAGS;
	ev->len = (__u32)room;
	ev->hdr.size = (__u16)(MARKERS_HEAD + room);
	ev->n_args &= 1;
	ev->name_len %= MARKERS_NAME;
	if (!ev->n_args || room < sizeof(struct markers_arg) + 16) {
		ev->n_args = 0;
		if (MARKERS_ALIGN((size_t)ev->name_len) != room)
			ev->name_len = room < MARKERS_NAME - 8 ? (__u8)room : 120;
		return;
	}
	ev->name_len %= 8;
	at = MARKERS_ALIGN((size_t)ev->name_len);
	((struct markers_arg *)(ev->bytes + at))->pad = 0;
}

static struct record_fuzz fuzz = {
	.name = "markers",
	.unfinished = MARKERS_STOP,
	.fit = make_length_fit,
	.fit_from = MARKERS_HEAD,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return record_fuzz_run(&fuzz, data, size);
}
