/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as records of ioctls, one after the other, up to the packets; what is
 * taken is accounted for. And as the texts that devices are found in.
 *
 * Input: records of two bytes of length and as many bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/gpu_devices.h"
#include "gpu/gpu_ioctl.h"
#include "gpu/gpu_links.h"
#include "process/process_table.h"
#include "symbolize/files_worker.h"
#include "symbolize/symbolizer.h"
#include "trace_writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static const struct trace_config config;
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

/* /proc/devices and /proc/misc are the source's other input. */
static void parse_devices(const uint8_t *data, size_t size)
{
	uint8_t class[GPU_MAX_MAJOR];
	char *text = malloc(size + 1);

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	gpu_majors_parse(text, class);
	for (size_t i = 0; i < GPU_MAX_MAJOR; i++)
		if (class[i] >= N_GPU_CLASSES)
			abort();
	(void)gpu_misc_minor(text, "udmabuf");
	free(text);
}

/* So that not every input is one record of a wrong length after the other. */
static void make_length_fit(struct gpu_ioctl_event *ev, size_t len)
{
	struct gpu_ioctl_stack_event *stack = (void *)ev;
	size_t data = len - GPU_IOCTL_HEAD;

	ev->hdr.size = (uint16_t)len;
	ev->hdr.stream = 0;
	ev->driver[GPU_DRIVER_NAME - 1] = '\0';
	if (ev->enter_ns > ev->hdr.time_ns)
		ev->enter_ns = ev->hdr.time_ns;
	ev->gpu_class = (uint8_t)(1 + ev->gpu_class % (N_GPU_CLASSES - 1));
	if (len < (sizeof(struct gpu_ioctl_event) + USER_STACK_HEAD)) {
		ev->hdr.type = (uint16_t)(ev->hdr.type % 2 ? GPU_IOCTL : GPU_IOCTL_UNFINISHED);
		ev->n_in = (uint8_t)(data < GPU_IOCTL_MAX_DATA ? data : GPU_IOCTL_MAX_DATA);
		data -= data < GPU_ROUND(ev->n_in) ? data : GPU_ROUND(ev->n_in);
		ev->n_out = (uint8_t)(data < GPU_IOCTL_MAX_DATA ? data : GPU_IOCTL_MAX_DATA);
		return;
	}
	ev->hdr.type = GPU_IOCTL_STACK;
	ev->n_in %= GPU_IOCTL_MAX_DATA + 1;
	ev->n_out %= GPU_IOCTL_MAX_DATA + 1;
	stack->user.has_copy = len >= (sizeof(struct gpu_ioctl_event) + USER_STACK_COPY_HEAD);
	if (stack->user.has_copy)
		stack->user.copy.len =
			(uint32_t)(len - (sizeof(struct gpu_ioctl_event) + USER_STACK_COPY_HEAD));
	else
		stack->user.n_user =
			(uint32_t)((len - (sizeof(struct gpu_ioctl_event) + USER_STACK_HEAD)) / 8);
}

/* Whether it counts as an event. */
static bool record(const struct encoder_env *env, struct gpu_ioctls *ioctls,
		   struct gpu_links *links, const uint8_t *data, size_t len)
{
	struct gpu_ioctl_event *ev = malloc(len); /* so that a look beyond the end is seen */
	bool counts = false;

	if (!ev)
		return false;
	memcpy(ev, data, len);
	if (len >= GPU_IOCTL_HEAD && ev->hdr.cgroup_id & 1)
		make_length_fit(ev, len);
	if (ev->hdr.size == len && gpu_ioctl_valid(&ev->hdr, len)) {
		gpu_links_add(links, ev->hdr.tid % 3, ev->enter_ns, ev->fd % 2, 1 + ev->hdr.seq);
		trace_writer_source(env->writer, 0, ev->hdr.time_ns);
		if (gpu_ioctls_encode(ioctls, &ev->hdr) < 0)
			abort();
		counts = ev->hdr.type != GPU_IOCTL_UNFINISHED;
	}
	free(ev);
	return counts;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct encoder_env env = { .config = &config, .start_ns = 1000 };
	struct gpu_ioctls *ioctls = NULL;
	struct gpu_links *links = NULL;
	struct trace_writer_stats stats;
	uint64_t n = 0;

	if (!processes)
		set_up_once();
	parse_devices(data, size);
	env.processes = processes;
	env.symbolizer = symbolizer;
	if (trace_writer_new(drop, NULL, &env.writer) < 0 || gpu_links_new(&links) < 0 ||
	    gpu_ioctls_new(&env, links, &ioctls) < 0)
		abort();
	while (size >= 2 + sizeof(struct event_hdr)) {
		size_t len = data[0] | (size_t)data[1] << 8;

		if (len > size - 2)
			len = size - 2;
		if (len < sizeof(struct event_hdr)) /* the ring hands out none without a head */
			len = sizeof(struct event_hdr);
		n += record(&env, ioctls, links, data + 2, len);
		data += 2 + len;
		size -= 2 + len;
	}
	trace_writer_source(env.writer, 0, 0);
	if (gpu_ioctls_flush(ioctls, 0, true) < 0 || trace_writer_flush(env.writer) < 0)
		abort();
	trace_writer_stats(env.writer, 0, &stats);
	if (stats.n_written + stats.n_skipped != n)
		abort();
	gpu_ioctls_free(ioctls);
	gpu_links_free(links);
	trace_writer_free(env.writer);
	return 0;
}
