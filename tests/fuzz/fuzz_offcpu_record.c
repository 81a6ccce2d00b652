/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as records of waits, one after the other, up to the packets. What
 * is taken is accounted for.
 *
 * Input: records of two bytes of length and as many bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/offcpu_encode.h"
#include "collect/offcpu_reason.h"
#include "offcpu_events.h"
#include "process/process_table.h"
#include "symbolize/files_worker.h"
#include "symbolize/symbolizer.h"
#include "trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const struct trace_config config = { .offcpu_min_ns = 16 };
static struct symbolizer *symbolizer; /* never started: names of files never come */
static struct process_table *processes;

static int drop(void *ctx, const void *bytes, size_t len, bool essential)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	(void)essential;
	return 0;
}

/* The symbolizer's worker is this program under another name; it must not fuzz as well. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	if (strcmp((*argv)[0], files_worker_name(FILES_WORKER_SYMBOLS)) == 0)
		_exit(0);
	return 0;
}

static void set_up_once(void)
{
	if (symbolizer_new(&symbolizer) < 0 || process_table_new(symbolizer, &processes) < 0)
		abort();
}

/* So that not every input is one record of a wrong length after the other. */
static void make_length_fit(struct offcpu_event *ev, size_t len)
{
	size_t n = (len - OFFCPU_HEAD) / 8;

	ev->hdr.size = (uint16_t)len;
	ev->hdr.stream = 0;
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

/* Whether it counts as an event. */
static bool record(const struct encoder_env *env, void *encoder, const uint8_t *data, size_t len)
{
	struct offcpu_event *ev = malloc(len); /* so that a look beyond the end is seen */
	bool counts = false;

	if (!ev)
		return false;
	memcpy(ev, data, len);
	if (len >= OFFCPU_HEAD && ev->hdr.cgroup_id & 1)
		make_length_fit(ev, len);
	if (offcpu_valid(&ev->hdr, len)) {
		trace_writer_source(env->writer, 0, ev->hdr.time_ns);
		if (offcpu_encode(encoder, &ev->hdr) < 0)
			abort();
		counts = ev->hdr.type == OFFCPU_WAIT;
	}
	free(ev);
	return counts;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct encoder_env env = { .config = &config, .start_ns = 1000 };
	struct trace_writer_stats stats;
	void *encoder = NULL;
	uint64_t n = 0;

	if (!processes)
		set_up_once();
	env.processes = processes;
	env.symbolizer = symbolizer;
	if (trace_writer_new(drop, NULL, &env.writer) < 0 || offcpu_encoder_new(&env, &encoder) < 0)
		abort();
	while (size >= 2 + sizeof(struct event_hdr)) {
		size_t len = data[0] | (size_t)data[1] << 8;

		if (len > size - 2)
			len = size - 2;
		if (len < sizeof(struct event_hdr)) /* the ring hands out none without a head */
			len = sizeof(struct event_hdr);
		n += record(&env, encoder, data + 2, len);
		data += 2 + len;
		size -= 2 + len;
	}
	trace_writer_source(env.writer, 0, 0);
	if (offcpu_encoder_flush(encoder, 0, true) < 0 || trace_writer_flush(env.writer) < 0)
		abort();
	trace_writer_stats(env.writer, 0, &stats);
	if (stats.n_written + stats.n_skipped != n)
		abort();
	offcpu_encoder_free(encoder);
	trace_writer_free(env.writer);
	return 0;
}
