/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as records of GPU tracepoints and ioctls, whose heads say how long they
 * are; and as the text of a tracepoint's `format`.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_points.h"
#include "gpu_point_events.h"
#include "process/process_table_update.h"
#include "record_fuzz.h"

static uint64_t last_ns;

/* The one that the corpus has: memory is drawn of who is known. */
static void add_process(const struct encoder_env *env)
{
	struct task_info task = {
		.tid = 100, .tgid = 100, .start_ns = 500, .process_start_ns = 500
	};

	process_table_fork(env->processes, &task);
}

static void note_time(struct event_hdr *hdr)
{
	last_ns = hdr->time_ns;
}

static struct record_fuzz fuzz = {
	.name = "gpu",
	.unfinished = GPU_IOCTL_UNFINISHED,
	.set_up = add_process,
	.tame = note_time,
};

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len;

	parse_format(data, size);
	record_fuzz_begin(&fuzz);
	last_ns = RECORD_START_NS;
	for (; (len = length_at(data, size)) > 0; data += len, size -= len)
		record_fuzz_record(&fuzz, data, len);
	record_fuzz_flush(&fuzz, last_ns, false);
	record_fuzz_end(&fuzz, last_ns);
	return 0;
}
