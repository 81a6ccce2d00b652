/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as scheduler records, with losses, flushes and dropped blocks in
 * between.
 *
 * Input: steps of one byte that says what happens, for a record with its bytes.
 */
#include <string.h>

#include "collect/sched_encode.h"
#include "record_fuzz.h"
#include "sched_events.h"

#define N_CPUS	  3
#define N_THREADS 8

static uint64_t now;

/* Few CPUs and threads, and time goes on: then records have to do with each other. */
static void tame(struct event_hdr *hdr)
{
	now += hdr->time_ns & 0xfff;
	hdr->time_ns = now;
	hdr->seq >>= 1; /* the last number of all is never an event: see ledger_take() */
	hdr->cpu %= N_CPUS;
	hdr->tid %= N_THREADS;
	hdr->peer_tid %= N_THREADS;
}

static struct record_fuzz fuzz = {
	.name = "sched",
	.tame = tame,
	.is_checked = true,
	.unchecked = { [CHECK_PREV_STATE] = true }, /* it is handed through as the kernel has it */
};

static void record(const uint8_t *data, size_t len)
{
	struct sched_switch_event largest;
	struct event_hdr *ev = &largest.hdr;
	bool is_wild = len > 0 && data[len - 1] & 1; /* as it is: most are not valid */

	if (len < sizeof(*ev))
		return;
	memcpy(&largest, data, len);
	if (!is_wild) {
		ev->type = (uint16_t)(1 + ev->type % (SCHED_EVENT_TYPES - 1));
		ev->size = ev->type == SCHED_SWITCH   ? sizeof(struct sched_switch_event)
			   : ev->type == SCHED_WAKING ? sizeof(struct sched_waking_event)
						      : sizeof(struct sched_irq_event);
	}
	record_fuzz_record(&fuzz, ev, len);
}

static size_t step(const uint8_t *data, size_t size)
{
	size_t len = sizeof(struct sched_switch_event);

	trace_writer_source(fuzz.env.writer, 0, now);
	switch (data[0] & 0x1f) {
	case 0:
		sched_encoder_lost(fuzz.encoder, data[0] >> 5);
		return 1;
	case 1:
		sched_encoder_lost(fuzz.encoder, -1);
		return 1;
	case 2:
		record_fuzz_flush(&fuzz, now, false);
		return 1;
	case 3:
		record_fuzz_block(&fuzz, data[0] >> 5 & 1);
		return 1;
	default:
		if (len > size - 1)
			len = size - 1;
		record(data + 1, len);
		return 1 + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	record_fuzz_begin(&fuzz);
	now = fuzz.env.start_ns;
	while (size > 0) {
		size_t n = step(data, size);

		data += n;
		size -= n;
	}
	record_fuzz_end(&fuzz, now);
	return 0;
}
