/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as records of calls of GPU APIs, one after the other, up to the packets.
 * What is taken is accounted for.
 *
 * Input: records of two bytes of length and as many bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu_api_encode.h"
#include "gpu/gpu_api_table.h"
#include "gpu_api_events.h"
#include "process/process_table.h"
#include "symbolize/files_worker.h"
#include "symbolize/symbolizer.h"
#include "trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const struct trace_config config = { .gpu_api_classes = ~0u };
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
static void make_length_fit(struct gpu_api_event *ev, size_t len)
{
	ev->hdr.size = (uint16_t)len;
	ev->hdr.stream = 0;
	ev->hdr.type = len >= sizeof(*ev) && ev->hdr.type == GPU_API_UNFINISHED ? GPU_API_UNFINISHED
										: GPU_API_CALL;
	ev->call.function %= (uint16_t)gpu_api_n_functions;
	ev->call.flags &= GPU_API_FLAGS;
	ev->call.has_windows &= 1;
	ev->call.text_len &= 0x7f;
	if (len < sizeof(*ev))
		ev->call.text_len = 0;
}

/* Whether it counts as an event. */
static bool record(const struct encoder_env *env, void *encoder, const uint8_t *data, size_t len)
{
	struct gpu_api_event *ev = malloc(len); /* so that a look beyond the end is seen */
	bool counts = false;

	if (!ev)
		return false;
	memcpy(ev, data, len);
	if (len >= GPU_API_HEAD && ev->hdr.cgroup_id & 1)
		make_length_fit(ev, len);
	if (gpu_api_valid(&ev->hdr, len)) {
		trace_writer_source(env->writer, 0, ev->hdr.time_ns);
		if (gpu_api_encode(encoder, &ev->hdr) < 0)
			abort();
		counts = ev->hdr.type != GPU_API_UNFINISHED;
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
	if (trace_writer_new(drop, NULL, &env.writer) < 0 ||
	    gpu_api_encoder_new(&env, &encoder) < 0)
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
	if (gpu_api_encoder_flush(encoder, 0, true) < 0 || trace_writer_flush(env.writer) < 0)
		abort();
	trace_writer_stats(env.writer, 0, &stats);
	if (stats.n_written + stats.n_skipped != n)
		abort();
	gpu_api_encoder_free(encoder);
	trace_writer_free(env.writer);
	return 0;
}
