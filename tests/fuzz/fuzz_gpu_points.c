/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as records of GPU tracepoints and ioctls, up to the packets; and as
 * the text of a tracepoint's `format`. Every event is written or left out once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_encode.h"
#include "gpu/gpu_points.h"
#include "gpu_point_events.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int drop(void *ctx, const void *bytes, size_t len, bool essential)
{
	(void)ctx;
	(void)bytes;
	(void)len;
	(void)essential;
	return 0;
}

static void parse_format(const uint8_t *data, size_t size)
{
	struct gpu_layout l;
	char *text = malloc(size + 1);

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	for (unsigned i = 0; i < N_GPU_POINTS; i++) {
		if (!gpu_point_layout((enum gpu_point)i, text, &l))
			continue;
		for (unsigned k = 0; k < GPU_POINT_NUMS; k++)
			if (l.nums[k].size > 8)
				abort();
		for (unsigned k = 0; k < GPU_POINT_STRS; k++)
			if (l.strs[k].size != 0 && l.strs[k].size != 4 && l.strs[k].size != 8)
				abort();
	}
	free(text);
}

/* The head says how long a record is; what is left over is one, too. */
static size_t length_at(const uint8_t *data, size_t size)
{
	struct event_hdr hdr;

	if (size < sizeof(hdr))
		return 0;
	memcpy(&hdr, data, sizeof(hdr));
	return hdr.size >= sizeof(hdr) && hdr.size <= size ? hdr.size : size;
}

static uint64_t encode(const struct encoder_env *env, void *encoder, const uint8_t *data,
		       size_t size)
{
	uint64_t last_ns = env->start_ns, n = 0;
	size_t len;

	trace_writer_source(env->writer, 0, last_ns);
	for (size_t at = 0; (len = length_at(data + at, size - at)) > 0; at += len) {
		struct event_hdr *hdr = malloc(len); /* so that a look beyond the end is seen */

		if (!hdr)
			break;
		memcpy(hdr, data + at, len);
		if (gpu_valid(hdr, len)) {
			trace_writer_source(env->writer, 0, hdr->time_ns);
			(void)gpu_encode(encoder, hdr);
			n += hdr->type != GPU_IOCTL_UNFINISHED;
			last_ns = hdr->time_ns;
		}
		free(hdr);
	}
	(void)gpu_encoder_flush(encoder, last_ns, false);
	(void)gpu_encoder_flush(encoder, last_ns, true);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct trace_config config;
	struct encoder_env env = { .config = &config, .start_ns = 1000 };
	/* The one that the corpus has: memory is drawn of who is known. */
	struct task_info task = {
		.tid = 100, .tgid = 100, .start_ns = 500, .process_start_ns = 500
	};
	struct trace_writer_stats stats;
	void *encoder = NULL;
	uint64_t n;

	parse_format(data, size);
	if (trace_writer_new(drop, NULL, &env.writer) < 0)
		return 0;
	if (process_table_new(NULL, &env.processes) == 0 && gpu_encoder_new(&env, &encoder) == 0) {
		process_table_fork(env.processes, &task);
		n = encode(&env, encoder, data, size);
		(void)trace_writer_flush(env.writer);
		trace_writer_stats(env.writer, 0, &stats);
		if (stats.n_written + stats.n_skipped + stats.n_dropped != n)
			abort();
	}
	gpu_encoder_free(encoder);
	process_table_free(env.processes);
	trace_writer_free(env.writer);
	return 0;
}
