/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as CPU samples, with flushes and dropped blocks in between. Every
 * sample is accounted for, and what was written is a good trace.
 *
 * Input: steps of one byte that says what happens; for a sample two bytes of
 * its length and its bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "collect/cpu_encode.h"
#include "cpu_events.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "symbolize/files_worker.h"
#include "symbolize/symbolizer.h"
#include "trace_check.h"
#include "trace_file.h"
#include "trace_meta.h"
#include "trace_writer.h"

#define TGID	100
#define CODE	0x400000u
#define WAIT_NS (4 * NS_PER_SEC)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct trace_config config = { .event = "cpu-clock", .freq_hz = 999 };
static struct symbolizer *symbolizer; /* never started: names of files never come */
static struct process_table *processes;
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

static void set_up_once(void)
{
	struct task_info task = { .tid = TGID, .tgid = TGID, .start_ns = 1, .process_start_ns = 1 };
	struct mapping mapping = { .start = CODE, .end = CODE + 0x100000 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (symbolizer_new(&symbolizer) < 0 || process_table_new(symbolizer, &processes) < 0)
		abort();
	process_table_fork(processes, &task);
	if (symbolizer_module(symbolizer, fd, "/program", &mapping.module) < 0)
		abort();
	process_table_exec_maps(processes, TGID, 2);
	process_table_mmap(processes, TGID, 3, &mapping);
}

/* Few addresses, half of them in the file: then stacks come again. */
static void tame(struct cpu_sample_event *s)
{
	unsigned n = (unsigned)s->n_kernel + s->n_user;

	now += s->hdr.time_ns & 0xffff;
	s->hdr.time_ns = now;
	s->hdr.tgid = TGID;
	s->hdr.tid = TGID + s->hdr.tid % 4;
	for (unsigned i = 0; i < n; i++)
		s->ips[i] = s->ips[i] & 1 ? CODE + s->ips[i] % 1024 : s->ips[i] % 1024;
}

static void sample(const uint8_t *data, size_t len)
{
	struct cpu_sample_event *s;

	if (len < sizeof(s->hdr))
		return;
	s = malloc(len); /* so that a look beyond the end is seen */
	if (!s)
		return;
	memcpy(s, data, len);
	if (cpu_sample_valid(&s->hdr, len)) {
		tame(s);
		trace_writer_source(writer, 0, s->hdr.time_ns);
		if (cpu_encode(encoder, &s->hdr) < 0)
			abort();
		n_encoded++;
	}
	free(s);
}

/* A well-formed head, so that not every input is one malformed sample after the other. */
static void good_sample(const uint8_t *data, size_t len)
{
	struct cpu_sample_event s = { 0 };
	size_t n = len / 2 < CPU_MAX_FRAMES ? len / 2 : CPU_MAX_FRAMES;

	if (n == 0)
		return;
	s.hdr.type = CPU_SAMPLE;
	s.hdr.time_ns = data[0];
	s.hdr.tid = data[1];
	s.hdr.cpu = data[0] % 4;
	s.n_kernel = (uint16_t)(data[1] % (n + 1));
	if (s.n_kernel > CPU_MAX_KERNEL_FRAMES)
		s.n_kernel = CPU_MAX_KERNEL_FRAMES;
	s.n_user = (uint16_t)(n - s.n_kernel);
	s.in_kernel = s.n_kernel > 0;
	s.hdr.size = (uint16_t)(CPU_SAMPLE_HEAD + 8 * n);
	for (size_t i = 0; i < n; i++)
		s.ips[i] = data[2 * i] | (uint64_t)data[2 * i + 1] << 8;
	sample((const uint8_t *)&s, s.hdr.size);
}

static size_t step(const uint8_t *data, size_t size)
{
	size_t len;

	trace_writer_source(writer, 0, now);
	switch (data[0] & 7) {
	case 0:
		if (cpu_encoder_flush(encoder, now + (data[0] & 8 ? WAIT_NS : 0), false) < 0)
			abort();
		return 1;
	case 1:
		refuse = data[0] & 8;
		if (trace_writer_flush(writer) < 0)
			abort();
		return 1;
	default:
		if (size < 3)
			return size;
		len = data[1] | (size_t)data[2] << 8;
		if (len > size - 3)
			len = size - 3;
		if (data[0] & 1)
			sample(data + 3, len);
		else
			good_sample(data + 3, len);
		return 3 + len;
	}
}

static void check_trace(void)
{
	struct trace_writer_stats stats;
	struct trace_check *c;
	struct trace_file *f;

	trace_writer_stats(writer, 0, &stats);
	if (stats.n_written + stats.n_dropped != n_encoded)
		abort();
	if (trace_check_new(&c) < 0 || trace_file_open_memory(file.data, file.len, &f) < 0)
		abort();
	if (trace_check_file(c, f) < 0)
		abort();
	for (enum check_kind k = 0; k < N_CHECK_KINDS; k++)
		/* Nobody describes processes here. */
		if (k != CHECK_SAMPLE_OUTSIDE_LIFE && k != CHECK_SAMPLE_NAMELESS &&
		    trace_check_finding(c, k)->count)
			abort();
	trace_file_free(f);
	trace_check_free(c);
}

/* The symbolizer's worker is this program under another name; it must not fuzz as well. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	if (strcmp((*argv)[0], files_worker_name(FILES_WORKER_SYMBOLS)) == 0)
		_exit(0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct encoder_env env = { .config = &config };

	if (!processes)
		set_up_once();
	n_encoded = 0;
	refuse = false;
	file.len = 0;
	now = boot_ns();
	if (trace_writer_new(sink, NULL, &writer) < 0)
		abort();
	trace_writer_source(writer, 1, now);
	env.writer = writer;
	env.processes = processes;
	env.symbolizer = symbolizer;
	env.start_ns = now;
	if (trace_meta_clocks(writer) < 0 || trace_meta_machine(writer) < 0 ||
	    trace_meta_milestone(writer, TRACE_STARTED, now) < 0 ||
	    cpu_encoder_new(&env, &encoder) < 0)
		abort();
	while (size > 0) {
		size_t n = step(data, size);

		data += n;
		size -= n;
	}
	trace_writer_source(writer, 0, now);
	if (cpu_encoder_flush(encoder, now, true) < 0 || trace_writer_flush(writer) < 0)
		abort();
	check_trace();
	cpu_encoder_free(encoder);
	trace_writer_free(writer);
	return 0;
}
