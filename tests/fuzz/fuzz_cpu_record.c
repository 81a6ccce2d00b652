/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as CPU samples, with flushes and dropped blocks in between.
 *
 * Input: steps of one byte that says what happens; for a sample two bytes of
 * its length and its bytes.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "clock.h"
#include "cpu_events.h"
#include "process/mappings.h"
#include "process/process_table_update.h"
#include "record_fuzz.h"
#include "symbolize/symbolizer.h"

#define TGID	100
#define CODE	0x400000u
#define WAIT_NS (4 * NS_PER_SEC)

static uint64_t now;

static void add_program(const struct encoder_env *env)
{
	struct task_info task = { .tid = TGID, .tgid = TGID, .start_ns = 1, .process_start_ns = 1 };
	struct mapping mapping = { .start = CODE, .end = CODE + 0x100000 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	process_table_fork(env->processes, &task);
	if (symbolizer_module(env->symbolizer, fd, "/program", &mapping.module) < 0)
		abort();
	process_table_exec_maps(env->processes, TGID, 2);
	process_table_mmap(env->processes, TGID, 3, &mapping);
}

/* Few addresses, half of them in the file: then stacks come again. */
static void tame(struct event_hdr *hdr)
{
	struct cpu_sample_event *s = (struct cpu_sample_event *)hdr;
	unsigned n = (unsigned)s->n_kernel + s->n_user;

	now += s->hdr.time_ns & 0xffff;
	s->hdr.time_ns = now;
	s->hdr.tgid = TGID;
	s->hdr.tid = TGID + s->hdr.tid % 4;
	for (unsigned i = 0; i < n; i++)
		s->ips[i] = s->ips[i] & 1 ? CODE + s->ips[i] % 1024 : s->ips[i] % 1024;
}

static struct record_fuzz fuzz = {
	.name = "cpu",
	.config = { .event = "cpu-clock", .freq_hz = 999 },
	.set_up = add_program,
	.tame = tame,
	.is_checked = true,
	/* Nobody describes processes here. */
	.unchecked = { [CHECK_SAMPLE_OUTSIDE_LIFE] = true, [CHECK_SAMPLE_NAMELESS] = true },
};

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
	record_fuzz_record(&fuzz, &s, s.hdr.size);
}

static size_t step(const uint8_t *data, size_t size)
{
	size_t len;

	trace_writer_source(fuzz.env.writer, 0, now);
	switch (data[0] & 7) {
	case 0:
		record_fuzz_flush(&fuzz, now + (data[0] & 8 ? WAIT_NS : 0), false);
		return 1;
	case 1:
		record_fuzz_block(&fuzz, data[0] & 8);
		return 1;
	default:
		if (size < 3)
			return size;
		len = data[1] | (size_t)data[2] << 8;
		if (len > size - 3)
			len = size - 3;
		if (data[0] & 1)
			record_fuzz_record(&fuzz, data + 3, len);
		else
			good_sample(data + 3, len);
		return 3 + len;
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
	if (record_fuzz_end(&fuzz, now) != 0) /* each sample is wanted */
		abort();
	return 0;
}
