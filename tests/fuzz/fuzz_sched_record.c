/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as scheduler records, with losses, flushes and dropped blocks in
 * between. Every event is accounted for, and what was written is a good trace.
 *
 * Input: steps of one byte that says what happens, for a record with its bytes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "clock.h"
#include "collect/sched_encode.h"
#include "sched_events.h"
#include "trace_check.h"
#include "trace_file.h"
#include "trace_meta.h"
#include "trace_writer.h"

#define N_CPUS	  3
#define N_THREADS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct trace_writer *writer;
static struct buf file;
static void *encoder;
static bool refuse;
static uint64_t now, n_encoded;

static int sink(void *ctx, const void *bytes, size_t len, bool essential)
{
	(void)ctx;
	if (refuse && !essential)
		return -EAGAIN;
	return buf_append(&file, bytes, len);
}

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

static void record(const uint8_t *data, size_t len)
{
	const struct collector *sched = collector_by_name("sched");
	struct event_hdr *ev;
	bool is_wild = len > 0 && data[len - 1] & 1; /* as it is: most are not valid */

	if (len < sizeof(*ev))
		return;
	ev = malloc(len); /* so that a look beyond the end is seen */
	if (!ev)
		return;
	memcpy(ev, data, len);
	if (!is_wild) {
		ev->type = (uint16_t)(1 + ev->type % (SCHED_EVENT_TYPES - 1));
		ev->size = ev->type == SCHED_SWITCH   ? sizeof(struct sched_switch_event)
			   : ev->type == SCHED_WAKING ? sizeof(struct sched_waking_event)
						      : sizeof(struct sched_irq_event);
	}
	if (sched->valid(ev, len)) {
		tame(ev);
		trace_writer_source(writer, 0, ev->time_ns);
		if (sched_encode(encoder, ev) < 0)
			abort();
		n_encoded++;
	}
	free(ev);
}

static size_t step(const uint8_t *data, size_t size)
{
	size_t len = sizeof(struct sched_switch_event);

	trace_writer_source(writer, 0, now);
	switch (data[0] & 0x1f) {
	case 0:
		sched_encoder_lost(encoder, data[0] >> 5);
		return 1;
	case 1:
		sched_encoder_lost(encoder, -1);
		return 1;
	case 2:
		if (sched_encoder_flush(encoder, now, false) < 0)
			abort();
		return 1;
	case 3:
		refuse = data[0] >> 5 & 1;
		if (trace_writer_flush(writer) < 0)
			abort();
		return 1;
	default:
		if (len > size - 1)
			len = size - 1;
		record(data + 1, len);
		return 1 + len;
	}
}

static void check_trace(void)
{
	struct trace_check *c;
	struct trace_file *f;

	if (trace_check_new(&c) < 0 || trace_file_open_memory(file.data, file.len, &f) < 0)
		abort();
	if (trace_check_file(c, f) < 0)
		abort();
	for (enum check_kind k = 0; k < N_CHECK_KINDS; k++)
		/* The state is handed through as the kernel has it. */
		if (k != CHECK_PREV_STATE && trace_check_finding(c, k)->count)
			abort();
	trace_file_free(f);
	trace_check_free(c);
}

static void check_account(void)
{
	struct trace_writer_stats stats;

	trace_writer_stats(writer, 0, &stats);
	if (stats.n_written + stats.n_skipped + stats.n_dropped != n_encoded)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct encoder_env env = { 0 };

	n_encoded = 0;
	refuse = false;
	file.len = 0;
	now = boot_ns();
	if (trace_writer_new(sink, NULL, &writer) < 0)
		abort();
	env.writer = writer;
	env.start_ns = now;
	trace_writer_source(writer, 1, now);
	if (trace_meta_clocks(writer) < 0 || trace_meta_machine(writer) < 0 ||
	    trace_meta_milestone(writer, TRACE_STARTED, now) < 0 ||
	    sched_encoder_new(&env, &encoder) < 0)
		abort();
	while (size > 0) {
		size_t n = step(data, size);

		data += n;
		size -= n;
	}
	trace_writer_source(writer, 0, now);
	if (sched_encoder_flush(encoder, now, true) < 0 || trace_writer_flush(writer) < 0)
		abort();
	check_account();
	check_trace();
	sched_encoder_free(encoder);
	trace_writer_free(writer);
	return 0;
}
