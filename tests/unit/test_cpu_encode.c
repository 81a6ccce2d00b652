/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in a trace: their stacks, their order, and how long they wait for names. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "collect/cpu_encode.h"
#include "cpu_events.h"
#include "interp/interpreter.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "symbolize/kernel_code.h"
#include "symbolize/symbolizer.h"
#include "trace_meta.h"
#include "written_trace.h"

#define TGID 100 /* its code at CODE is of a file whose names never come; elsewhere is nothing */
#define TID  101
#define CODE 0x400000u

#define MAX_WAIT_NS (3 * NS_PER_SEC) /* as in cpu_encode.c */
#define MAX_WAITING 65536

static struct written w;
static struct trace_config config;
static struct symbolizer *symbolizer;
static struct process_table *processes;
static struct interpreter *interpreter;
static void *encoder;
static uint64_t t0, n_encoded;

static void put_tree(void)
{
	ProcessTree tree = PROCESS_TREE__INIT;
	ProcessTree__Process process = PROCESS_TREE__PROCESS__INIT, *processes_ptr = &process;
	ProcessTree__Thread thread = PROCESS_TREE__THREAD__INIT, *threads_ptr = &thread;
	TracePacket pkt = TRACE_PACKET__INIT;
	char *cmdline = (char *)"program";

	process.has_pid = 1;
	process.pid = TGID;
	process.n_cmdline = 1;
	process.cmdline = &cmdline;
	thread.has_tid = thread.has_tgid = 1;
	thread.tid = TID;
	thread.tgid = TGID;
	tree.n_processes = tree.n_threads = 1;
	tree.processes = &processes_ptr;
	tree.threads = &threads_ptr;
	pkt.has_timestamp = 1;
	pkt.timestamp = t0;
	pkt.process_tree = &tree;
	ck_assert_int_eq(trace_writer_put(w.writer, SEQ_PROCESSES, &pkt, 0), 0);
}

static void add_process(void)
{
	struct task_info task = {
		.tid = TGID, .tgid = TGID, .start_ns = 1, .process_start_ns = 1, .comm = "program"
	};
	struct mapping mapping = { .start = CODE, .end = CODE + 0x100000 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	process_table_fork(processes, &task);
	ck_assert_int_eq(symbolizer_module(symbolizer, fd, "/usr/bin/program", &mapping.module), 0);
	process_table_exec_maps(processes, TGID, 2);
	process_table_mmap(processes, TGID, 3, &mapping);
}

static void set_up(void)
{
	struct encoder_env env = { .config = &config };

	written_open(&w);
	t0 = boot_ns();
	n_encoded = 0;
	strcpy(config.event, "cpu-clock");
	config.freq_hz = 1000;
	/* Never started: nobody answers. */
	ck_assert_int_eq(symbolizer_new(&symbolizer), 0);
	ck_assert_int_eq(process_table_new(symbolizer, &processes), 0);
	ck_assert_int_eq(interpreter_new(symbolizer, processes, &interpreter), 0);
	add_process();
	put_tree();
	env.writer = w.writer;
	env.processes = processes;
	env.symbolizer = symbolizer;
	env.interpreter = interpreter;
	ck_assert_int_eq(cpu_encoder_new(&env, &encoder), 0);
}

static void tear_down(void)
{
	cpu_encoder_free(encoder);
	cpu_encoder_free(NULL);
	process_table_free(processes);
	symbolizer_free(symbolizer);
	interpreter_free(interpreter);
	written_done(&w);
}

static struct cpu_sample_event a_sample(uint64_t time, unsigned n_kernel, unsigned n_user)
{
	struct cpu_sample_event ev;

	memset(&ev, 0, sizeof(ev));
	ev.hdr.type = CPU_SAMPLE;
	ev.hdr.time_ns = t0 + time;
	ev.hdr.tgid = TGID;
	ev.hdr.tid = TID;
	ev.hdr.cpu = 1;
	ev.n_kernel = (uint16_t)n_kernel;
	ev.n_user = (uint16_t)n_user;
	ev.hdr.size = (uint16_t)(CPU_SAMPLE_HEAD + 8 * (n_kernel + n_user));
	ev.in_kernel = n_kernel > 0;
	for (unsigned i = 0; i < n_kernel; i++)
		ev.ips[i] = 0xffffffff81000000ull + 0x1000 * i;
	return ev;
}

static void encode(const struct cpu_sample_event *ev)
{
	ck_assert(cpu_sample_valid(&ev->hdr, ev->hdr.size));
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev->hdr.time_ns);
	ck_assert_int_eq(cpu_encode(encoder, &ev->hdr), 0);
	n_encoded++;
}

/* A stack of unmapped code: its one name is known at once. */
static void put_known(uint64_t time)
{
	struct cpu_sample_event ev = a_sample(time, 0, 1);

	ev.ips[0] = 0x7fff00000000ull;
	encode(&ev);
}

/* A stack in the file. */
static void put_unknown(uint64_t time, uint64_t pc)
{
	struct cpu_sample_event ev = a_sample(time, 0, 1);

	ev.ips[0] = pc;
	encode(&ev);
}

static void flush(uint64_t time, bool final)
{
	trace_writer_source(w.writer, WRITTEN_SOURCE, t0 + time);
	ck_assert_int_eq(cpu_encoder_flush(encoder, t0 + time, final), 0);
}

static size_t n_samples(void)
{
	written_read(&w);
	return written_count(&w, SEQ_SAMPLES);
}

static const TracePacket *sample(size_t i)
{
	const TracePacket *pkt = written_packet(&w, SEQ_SAMPLES, i);

	ck_assert_ptr_nonnull(pkt);
	ck_assert_ptr_nonnull(pkt->stack_sample);
	return pkt;
}

START_TEST(a_sample_says_who_where_and_how_much)
{
	struct cpu_sample_event ev = a_sample(5, 1, 0);
	const TracePacket *pkt;

	encode(&ev);
	put_known(6);
	ck_assert_uint_eq(n_samples(), 2);
	pkt = sample(0);
	ck_assert_uint_eq(pkt->timestamp, t0 + 5);
	ck_assert_uint_eq(pkt->stack_sample->primary_weight, 1000000);
	ck_assert_str_eq(pkt->trace_packet_defaults->stack_sample_defaults->source, "linux.perf");
	ck_assert_uint_eq(pkt->interned_data->stack_sample_task_contexts[0]->pid, TGID);
	ck_assert_uint_eq(pkt->interned_data->stack_sample_task_contexts[0]->tid, TID);
	ck_assert_uint_eq(pkt->interned_data->stack_sample_execution_contexts[0]->cpu, 1);
	ck_assert_int_eq(pkt->interned_data->stack_sample_execution_contexts[0]->mode, 2);
	ck_assert_int_eq(sample(1)->interned_data->stack_sample_execution_contexts[0]->mode, 1);
	written_assert_good(&w);
}
END_TEST

/* A stack that is known by its addresses is so only while the same code is there. */
START_TEST(kernel_code_has_the_name_of_its_time)
{
	/* No kernel has text of its own so low. */
	const uint64_t addr = 0xffff900000001000ull;
	static const char *const names[] = { "bpf_prog_one", "bpf_prog_two" };
	struct kernel_change change = { .start = addr, .len = 64, .is_bpf = true };
	struct cpu_sample_event ev = a_sample(0, 1, 0);
	static const uint64_t times[] = { 10, 10, 30, 30 };

	for (unsigned i = 0; i < 2; i++) {
		change.name = names[i];
		change.name_len = strlen(names[i]);
		change.time_ns = t0 + 20 * i;
		change.is_gone = false;
		symbolizer_kernel_change(symbolizer, &change);
		change.time_ns = t0 + 20 * i + 15;
		change.is_gone = true;
		symbolizer_kernel_change(symbolizer, &change);
	}
	ev.ips[0] = addr + 8;
	for (unsigned i = 0; i < 4; i++) {
		ev.hdr.time_ns = t0 + times[i];
		encode(&ev);
	}
	flush(40, true);
	ck_assert_uint_eq(n_samples(), 4);
	for (unsigned i = 0; i < 2; i++) {
		const TracePacket *first = sample(2 * i);

		ck_assert_uint_eq(first->interned_data->n_function_names, 1);
		ck_assert_mem_eq(first->interned_data->function_names[0]->str.data, names[i],
				 strlen(names[i]));
		/* The second of each is known. */
		ck_assert_uint_eq(sample(2 * i + 1)->stack_sample->callstack_iid,
				  first->stack_sample->callstack_iid);
	}
	ck_assert_uint_ne(sample(0)->stack_sample->callstack_iid,
			  sample(2)->stack_sample->callstack_iid);
	written_assert_good(&w);
}
END_TEST

/* Of the frames of a callstack the trace wants the outermost first. */
START_TEST(a_stack_is_written_from_the_far_end)
{
	static const uint64_t user[] = { CODE + 0x1000, CODE + 0x2001, CODE + 0x3001 };
	static const uint64_t want[] = { 0x3000, 0x2000, 0x1000 }; /* calls, not returns */
	struct cpu_sample_event ev = a_sample(0, 2, 3);
	const InternedData *data;

	memcpy(ev.ips + 2, user, sizeof(user));
	encode(&ev);
	flush(0, true);
	ck_assert_uint_eq(n_samples(), 1);
	data = sample(0)->interned_data;
	ck_assert_uint_eq(data->n_callstacks, 1);
	ck_assert_uint_eq(data->callstacks[0]->n_frame_ids, 5);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(data->callstacks[0]->frame_ids[i], data->frames[i]->iid);
		ck_assert_uint_eq(data->frames[i]->rel_pc, want[i]);
		ck_assert_int_eq(data->frames[i]->kind, LOCATION_NATIVE);
	}
	ck_assert_int_eq(data->frames[data->n_frames - 1]->kind, LOCATION_KERNEL);
	written_assert_good(&w);
}
END_TEST

/* Sets the words of `n` Python frames, of a function that nobody has described. */
static void add_words(struct cpu_sample_event *ev, unsigned n, unsigned code, bool cut)
{
	for (unsigned i = 0; i < n; i++)
		ev->ips[ev->n_kernel + ev->n_user + i] = PYTHON_WORD(code, i, i == n - 1);
	ev->python = (uint8_t)(n | (cut ? CPU_PYTHON_CUT : 0));
	ev->hdr.size = (uint16_t)(ev->hdr.size + 8 * n);
}

static char frame_name[64];

static const char *nth_frame(const InternedData *data, size_t i)
{
	uint64_t frame = data->callstacks[0]->frame_ids[i], name = 0;

	for (size_t k = 0; k < data->n_frames; k++)
		if (data->frames[k]->iid == frame)
			name = data->frames[k]->function_name_id;
	for (size_t k = 0; k < data->n_function_names; k++)
		if (data->function_names[k]->iid == name)
			snprintf(frame_name, sizeof(frame_name), "%.*s",
				 (int)data->function_names[k]->str.len,
				 (const char *)data->function_names[k]->str.data);
	return frame_name;
}

START_TEST(python_frames_are_between_the_native_and_the_kernels)
{
	struct cpu_sample_event ev = a_sample(0, 1, 1);
	const InternedData *data;

	ev.ips[1] = 0x7fff00000000ull;
	add_words(&ev, 2, 5, false);
	encode(&ev);
	flush(0, true);
	ck_assert_uint_eq(n_samples(), 1);
	data = sample(0)->interned_data;
	ck_assert_uint_eq(data->callstacks[0]->n_frame_ids, 4);
	ck_assert_str_eq(nth_frame(data, 0), "[unknown]");
	ck_assert_str_eq(nth_frame(data, 1), "[python]");
	ck_assert_str_eq(nth_frame(data, 2), "[python]");
	/* Where they belong nobody can tell: no native frame ran them. */
	ck_assert_str_eq(sample(0)->stack_sample->unwind_error, "APPROX");
	written_assert_good(&w);
}
END_TEST

START_TEST(python_frames_that_were_not_walked_are_said_to_be_missing)
{
	struct cpu_sample_event ev = a_sample(0, 0, 1);
	const InternedData *data;

	ev.ips[0] = 0x7fff00000000ull;
	add_words(&ev, PYTHON_MAX_FRAMES, 5, true);
	encode(&ev);
	ck_assert_uint_eq(n_samples(), 1);
	data = sample(0)->interned_data;
	ck_assert_uint_eq(data->callstacks[0]->n_frame_ids, PYTHON_MAX_FRAMES + 2);
	ck_assert_str_eq(nth_frame(data, 0), "[python frames missing]");
	ck_assert_str_eq(nth_frame(data, 1), "[python]");
	written_assert_good(&w);
}
END_TEST

START_TEST(stacks_that_differ_in_python_frames_alone_are_two)
{
	for (unsigned i = 0; i < 4; i++) {
		struct cpu_sample_event ev = a_sample(i, 0, 1);

		ev.ips[0] = CODE + 0x10;
		add_words(&ev, 1 + i / 2, 5, false);
		encode(&ev);
		flush(i, true);
	}
	ck_assert_uint_eq(n_samples(), 4);
	ck_assert_uint_eq(sample(0)->stack_sample->callstack_iid,
			  sample(1)->stack_sample->callstack_iid);
	ck_assert_uint_ne(sample(1)->stack_sample->callstack_iid,
			  sample(2)->stack_sample->callstack_iid);
	ck_assert_uint_eq(sample(2)->stack_sample->callstack_iid,
			  sample(3)->stack_sample->callstack_iid);
	ck_assert_str_eq(sample(3)->stack_sample->unwind_error, "APPROX");
	written_assert_good(&w);
}
END_TEST

START_TEST(a_sample_waits_for_names_and_goes_without_them_in_the_end)
{
	const InternedData *data;
	char name[64] = "";

	put_unknown(0, CODE + 0x123);
	ck_assert(cpu_encoder_pending(encoder));
	flush(MAX_WAIT_NS, false);
	ck_assert_uint_eq(n_samples(), 0);
	flush(MAX_WAIT_NS + 1, false);
	ck_assert(!cpu_encoder_pending(encoder));
	ck_assert_uint_eq(n_samples(), 1);
	data = sample(0)->interned_data;
	memcpy(name, data->function_names[0]->str.data, data->function_names[0]->str.len);
	ck_assert_str_eq(name, "[program+0x123]");
	written_assert_good(&w);
}
END_TEST

START_TEST(samples_keep_their_order)
{
	put_known(0);
	put_unknown(1, CODE + 1);
	put_known(2); /* its name is there, but it is not its turn */
	put_known(3);
	flush(10, false);
	ck_assert_uint_eq(n_samples(), 1);
	put_known(MAX_WAIT_NS + 2); /* a late one lets all go, by itself */
	ck_assert_uint_eq(n_samples(), 5);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(sample(i)->timestamp, t0 + i);
	written_assert_good(&w);
}
END_TEST

static const char *outermost(size_t i)
{
	const InternedData *data = sample(i)->interned_data;
	uint64_t frame = data->callstacks[0]->frame_ids[0], name = 0;

	for (size_t k = 0; k < data->n_frames; k++)
		if (data->frames[k]->iid == frame)
			name = data->frames[k]->function_name_id;
	for (size_t k = 0; k < data->n_function_names; k++)
		if (data->function_names[k]->iid == name)
			return (const char *)data->function_names[k]->str.data;
	return NULL;
}

START_TEST(a_stack_that_is_not_whole_says_why)
{
	struct cpu_sample_event ev = a_sample(0, 0, 1);
	const char *mark = "[stack ends: JIT_NOFP]";

	ev.ips[0] = 0x7fff00000000ull;
	ev.end = UNWIND_JIT_NOFP;
	encode(&ev);
	ev.end = UNWIND_COMPLETE;
	encode(&ev);
	ev.end = UNWIND_APPROX;
	encode(&ev);
	ev.end = UNWIND_EXITING; /* nothing is missing: there was nothing */
	encode(&ev);
	ck_assert_uint_eq(n_samples(), 4);
	ck_assert_str_eq(sample(0)->stack_sample->unwind_error, "JIT_NOFP");
	ck_assert_int_eq(strncmp(outermost(0), mark, strlen(mark)), 0);
	ck_assert_ptr_null(sample(1)->stack_sample->unwind_error);
	ck_assert_str_eq(sample(2)->stack_sample->unwind_error, "APPROX");
	ck_assert_str_eq(sample(3)->stack_sample->unwind_error, "EXITING");
	ck_assert_uint_eq(cpu_encoder_stack_ends(encoder)[UNWIND_JIT_NOFP], 1);
	ck_assert_uint_eq(cpu_encoder_stack_ends(encoder)[UNWIND_COMPLETE], 1);
	written_assert_good(&w);
}
END_TEST

/* Two that differ in how they ended alone are two. */
START_TEST(equal_frames_that_end_differently_are_two_stacks)
{
	struct cpu_sample_event ev = a_sample(0, 0, 1);

	ev.ips[0] = 0x7fff00000000ull;
	ev.end = UNWIND_NOMAP;
	encode(&ev);
	ev.end = UNWIND_COMPLETE;
	encode(&ev);
	ck_assert_uint_eq(n_samples(), 2);
	ck_assert_uint_ne(sample(0)->stack_sample->callstack_iid,
			  sample(1)->stack_sample->callstack_iid);
}
END_TEST

START_TEST(the_last_flush_waits_for_nobody)
{
	put_unknown(0, CODE + 1);
	put_known(1);
	ck_assert(cpu_encoder_pending(encoder));
	flush(2, true);
	ck_assert(!cpu_encoder_pending(encoder));
	ck_assert_uint_eq(n_samples(), 2);
	written_assert_good(&w);
}
END_TEST

START_TEST(not_more_than_so_many_wait)
{
	struct trace_writer_stats stats;

	for (unsigned i = 0; i < MAX_WAITING + 100; i++)
		put_unknown(i, CODE + 16);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_written, 100);
}
END_TEST

START_TEST(what_still_waits_is_freed)
{
	put_unknown(0, CODE + 1);
	put_unknown(1, CODE + 2);
}
END_TEST

START_TEST(a_stack_is_told_once_in_a_generation)
{
	struct cpu_sample_event ev = a_sample(0, 0, 3);

	ev.ips[0] = 0x7fff00000000ull;
	ev.ips[1] = 0x7fff00001000ull;
	ev.ips[2] = 0x7fff00002000ull;
	for (unsigned i = 0; i < 10; i++)
		encode(&ev);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(n_samples(), 10);
	ck_assert_uint_eq(sample(0)->interned_data->n_callstacks, 1);
	for (unsigned i = 1; i < 10; i++)
		ck_assert_ptr_null(sample(i)->interned_data);
	w.refuse_bulk = true;
	encode(&ev);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.refuse_bulk = false;
	encode(&ev);
	encode(&ev);
	ck_assert_uint_eq(n_samples(), 12);
	ck_assert_uint_eq(sample(10)->interned_data->n_callstacks, 1);
	ck_assert_ptr_nonnull(sample(10)->trace_packet_defaults);
	ck_assert_ptr_null(sample(11)->interned_data);
	written_assert_good(&w);
}
END_TEST

START_TEST(a_known_stack_that_waits_is_told_again_when_its_block_is_dropped)
{
	struct cpu_sample_event ev = a_sample(0, 2, 2);

	ev.ips[2] = 0x7fff00000000ull;
	ev.ips[3] = 0x7fff00001000ull;
	encode(&ev);
	put_unknown(1, CODE + 1);
	ev.hdr.time_ns += 2;
	encode(&ev); /* behind the one without a name */
	ev.hdr.time_ns++;
	encode(&ev);
	w.refuse_bulk = _i;
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.refuse_bulk = false;
	flush(4, true);
	ck_assert_uint_eq(n_samples(), _i ? 3 : 4);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(sample(i + !_i)->timestamp, t0 + 1 + i);
	ck_assert_uint_eq(sample(2)->stack_sample->callstack_iid,
			  sample(_i ? 1 : 3)->stack_sample->callstack_iid);
	written_assert_good(&w); /* each id means something */
}
END_TEST

START_TEST(equal_addresses_are_one_location_until_the_mappings_change)
{
	struct mapping mapping = { .start = CODE + 0x50000, .end = CODE + 0x51000 };
	const uint64_t pcs[] = { CODE + 5, CODE + 0x50005, CODE + 5, 0x7fff00000000ull };
	struct location *first[4], *then[4];

	ck_assert(process_table_locate_all(processes, TGID, pcs, 4, t0, first));
	ck_assert_ptr_eq(first[0], first[2]);
	ck_assert_ptr_ne(first[0], first[1]);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_ptr_eq(process_table_locate(processes, TGID, pcs[i], t0), first[i]);
	ck_assert(process_table_locate_all(processes, TGID, pcs, 4, t0, then));
	ck_assert_mem_eq(first, then, sizeof(first));

	mapping.module = symbolizer_pseudo_module(symbolizer, "[anon:exec]");
	process_table_mmap(processes, TGID, t0, &mapping);
	ck_assert(process_table_locate_all(processes, TGID, pcs, 4, t0 + 1, then));
	ck_assert_ptr_eq(first[0], then[0]);
	ck_assert_ptr_ne(first[1], then[1]);
	ck_assert_str_eq(then[1]->module->path, "[anon:exec]");

	/* What is remembered is let go of some time. */
	process_table_collect(processes, t0);
	process_table_collect(processes, t0 + 3600 * NS_PER_SEC);
	ck_assert(process_table_locate_all(processes, TGID, pcs, 4, t0 + 1, then));
	ck_assert_ptr_eq(first[0], then[0]);
}
END_TEST

START_TEST(before_its_exec_an_address_is_in_another_file)
{
	struct mapping mapping = { .start = CODE, .end = CODE + 0x100000 };
	const uint64_t pc = CODE + 5;
	struct location *before, *after;

	ck_assert(process_table_locate_all(processes, TGID, &pc, 1, t0, &before));
	process_table_exec_maps(processes, TGID, t0 + 10);
	mapping.module = symbolizer_pseudo_module(symbolizer, "[other]");
	process_table_mmap(processes, TGID, t0 + 11, &mapping);
	ck_assert(process_table_locate_all(processes, TGID, &pc, 1, t0 + 12, &after));
	ck_assert_str_eq(after->module->path, "[other]");
	ck_assert(process_table_locate_all(processes, TGID, &pc, 1, t0 + 9, &after));
	ck_assert_ptr_eq(after, before);
}
END_TEST

START_TEST(new_mappings_mean_other_frames_at_the_same_address)
{
	struct mapping mapping = { .start = CODE, .end = CODE + 0x100000, .pgoff = 0x10000 };
	struct cpu_sample_event ev = a_sample(0, 0, 1);

	ev.ips[0] = CODE + 0x500;
	encode(&ev);
	flush(0, true);
	mapping.module = symbolizer_pseudo_module(symbolizer, "[new]");
	process_table_mmap(processes, TGID, t0, &mapping);
	ev.hdr.time_ns++;
	encode(&ev);
	flush(0, true);
	ck_assert_uint_eq(n_samples(), 2);
	ck_assert_uint_ne(sample(0)->stack_sample->callstack_iid,
			  sample(1)->stack_sample->callstack_iid);
	written_assert_good(&w);
}
END_TEST

START_TEST(whatever_is_dropped_the_samples_left_are_good)
{
	struct trace_writer_stats stats;

	srandom((unsigned)_i + 1);
	for (unsigned i = 0; i < 8000; i++) {
		struct cpu_sample_event ev =
			a_sample(i, (unsigned)random() % 3, 1 + (unsigned)random() % 20);

		for (unsigned k = 0; k < ev.n_user; k++)
			ev.ips[ev.n_kernel + k] =
				random() % 4 ? 0x7fff00000000ull + (uint64_t)random() % 30
					     : CODE + (uint64_t)random() % 300;
		encode(&ev);
		if (random() % 50 == 0)
			flush(i, random() % 2);
		if (random() % 100 == 0 || i == 4000) {
			w.refuse_bulk = random() % 3 == 0 || i == 4000;
			ck_assert_int_eq(trace_writer_flush(w.writer), 0);
			w.refuse_bulk = false;
		}
	}
	flush(8000, true);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_written + stats.n_dropped, n_encoded);
	ck_assert_uint_gt(stats.n_dropped, 0);
	written_assert_good(&w);
}
END_TEST

START_TEST(only_samples_of_their_own_size_are_valid)
{
	struct cpu_sample_event ev = a_sample(0, 127, 127);

	ck_assert(cpu_sample_valid(&ev.hdr, ev.hdr.size));
	ck_assert(!cpu_sample_valid(&ev.hdr, ev.hdr.size - 1u));
	ev.hdr.size -= 8;
	ck_assert(!cpu_sample_valid(&ev.hdr, sizeof(ev)));
	ev = a_sample(0, 2, 3);
	ck_assert(cpu_sample_valid(&ev.hdr, ev.hdr.size));
	ck_assert(cpu_sample_valid(&ev.hdr, sizeof(ev)));
	ck_assert(!cpu_sample_valid(&ev.hdr, CPU_SAMPLE_HEAD - 1));
	ev.n_user = 4;
	ck_assert(!cpu_sample_valid(&ev.hdr, sizeof(ev)));
	ev = a_sample(0, 1, 1);
	add_words(&ev, 3, 1, false);
	ck_assert(cpu_sample_valid(&ev.hdr, ev.hdr.size));
	ev.python++;
	ck_assert(!cpu_sample_valid(&ev.hdr, sizeof(ev)));
	ev = a_sample(0, 0, 0);
	ck_assert(!cpu_sample_valid(&ev.hdr, sizeof(ev)));
	ev = a_sample(0, 1, 1);
	ev.n_kernel = UINT16_MAX;
	ev.n_user = 3; /* together 2, if they wrapped */
	ck_assert(!cpu_sample_valid(&ev.hdr, sizeof(ev)));
	ev = a_sample(0, 1, 1);
	ev.hdr.type = 2;
	ck_assert(!cpu_sample_valid(&ev.hdr, sizeof(ev)));
	ev = a_sample(0, 1, 1);
	ev.hdr.cpu = 1024;
	ck_assert(!cpu_sample_valid(&ev.hdr, sizeof(ev)));
}
END_TEST

START_TEST(a_record_with_a_copied_stack_has_the_size_that_it_says)
{
	struct cpu_sample_event ev = a_sample(0, 0, 2);
	struct event_hdr *hdr = &ev.hdr;

	ev.has_copy = 1;
	ev.copy.len = 1000;
	hdr->size = CPU_SAMPLE_COPY_HEAD + 1000;
	ck_assert(cpu_sample_valid(hdr, hdr->size));
	ck_assert(cpu_sample_valid(hdr, hdr->size + 8)); /* large ones are reserved whole */
	ck_assert(!cpu_sample_valid(hdr, hdr->size - 1u));
	hdr->size--;
	ck_assert(!cpu_sample_valid(hdr, hdr->size + 1u));
	hdr->size = CPU_SAMPLE_COPY_HEAD;
	ev.copy.len = UNWIND_LARGE_COPY_BYTES + 1;
	ck_assert(!cpu_sample_valid(hdr, 65535));
	ev.copy.len = 0;
	ck_assert(cpu_sample_valid(hdr, hdr->size));
	ev.n_user = 0;
	ck_assert(!cpu_sample_valid(hdr, hdr->size));
	ev.n_user = 2;
	ev.end = UNWIND_ENDS;
	ck_assert(!cpu_sample_valid(hdr, hdr->size));
}
END_TEST

START_TEST(each_event_of_a_session_has_a_source_of_its_own)
{
	struct trace_config two = config;
	struct encoder_env env = {
		.config = &two, .writer = w.writer, .processes = processes, .symbolizer = symbolizer
	};
	struct cpu_sample_event ev = a_sample(0, 0, 1);
	const TracePacket *pkt;
	void *e;

	two.n_more_events = 1;
	strcpy(two.more_events[0], "page-faults@10");
	ck_assert_int_eq(cpu_encoder_new(&env, &e), 0);
	ev.ips[0] = 0x7fff00000000ull;
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev.hdr.time_ns);
	ck_assert_int_eq(cpu_encode(e, &ev.hdr), 0);
	ev.event = 1;
	ck_assert_int_eq(cpu_encode(e, &ev.hdr), 0);
	ev.event = 7; /* the kernel writes no such thing: no crash */
	ck_assert_int_eq(cpu_encode(e, &ev.hdr), 0);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_SAMPLES), 2);
	ck_assert_uint_eq(written_count(&w, SEQ_MORE_SAMPLES), 1);
	pkt = written_packet(&w, SEQ_MORE_SAMPLES, 0);
	ck_assert_str_eq(pkt->trace_packet_defaults->stack_sample_defaults->source,
			 "linux.page-faults");
	ck_assert_uint_eq(pkt->stack_sample->primary_weight, 10);
	cpu_encoder_free(e);
}
END_TEST

/* Viewers add up whatever counts time or cycles as the CPU's. */
START_TEST(only_the_first_event_counts_in_units_of_the_cpu)
{
	static const char *const events[][2] = { { "task-clock", "ns-task-clock" },
						 { "cycles", "more-cycles" },
						 { "page-faults", NULL } };
	struct trace_config more = config;
	struct encoder_env env = { .config = &more,
				   .writer = w.writer,
				   .processes = processes,
				   .symbolizer = symbolizer };
	struct cpu_sample_event ev = a_sample(0, 0, 1);
	void *e;

	ev.ips[0] = 0x7fff00000000ull;
	more.n_more_events = 3;
	for (size_t i = 0; i < 3; i++)
		strcpy(more.more_events[i], events[i][0]);
	ck_assert_int_eq(cpu_encoder_new(&env, &e), 0);
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev.hdr.time_ns);
	for (ev.event = 0; ev.event < 4; ev.event++)
		ck_assert_int_eq(cpu_encode(e, &ev.hdr), 0);
	written_read(&w);
	for (unsigned i = 0; i < 3; i++) {
		const TracePacket *pkt = written_packet(&w, SEQ_MORE_SAMPLES + i, 0);
		const StackSample__CounterDescriptor *d =
			pkt->trace_packet_defaults->stack_sample_defaults->primary_descriptor;

		ck_assert_int_eq(d->has_unit, events[i][1] == NULL);
		if (events[i][1])
			ck_assert_str_eq(d->unit_str, events[i][1]);
	}
	cpu_encoder_free(e);
}
END_TEST

START_TEST(an_event_that_does_not_exist_gives_no_encoder)
{
	struct trace_config other = { .event = "nonsense", .freq_hz = 1 };
	struct encoder_env env = { .config = &other, .writer = w.writer };
	void *none = NULL;

	ck_assert_int_lt(cpu_encoder_new(&env, &none), 0);
	ck_assert_ptr_null(none);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cpu_encode");
	TCase *tc = tcase_create("cpu_encode");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_sample_says_who_where_and_how_much);
	tcase_add_test(tc, kernel_code_has_the_name_of_its_time);
	tcase_add_test(tc, a_stack_is_written_from_the_far_end);
	tcase_add_test(tc, python_frames_are_between_the_native_and_the_kernels);
	tcase_add_test(tc, python_frames_that_were_not_walked_are_said_to_be_missing);
	tcase_add_test(tc, stacks_that_differ_in_python_frames_alone_are_two);
	tcase_add_test(tc, a_sample_waits_for_names_and_goes_without_them_in_the_end);
	tcase_add_test(tc, samples_keep_their_order);
	tcase_add_test(tc, a_stack_that_is_not_whole_says_why);
	tcase_add_test(tc, equal_frames_that_end_differently_are_two_stacks);
	tcase_add_test(tc, a_record_with_a_copied_stack_has_the_size_that_it_says);
	tcase_add_test(tc, each_event_of_a_session_has_a_source_of_its_own);
	tcase_add_test(tc, only_the_first_event_counts_in_units_of_the_cpu);
	tcase_add_test(tc, the_last_flush_waits_for_nobody);
	tcase_add_test(tc, not_more_than_so_many_wait);
	tcase_add_test(tc, what_still_waits_is_freed);
	tcase_add_test(tc, a_stack_is_told_once_in_a_generation);
	tcase_add_loop_test(tc, a_known_stack_that_waits_is_told_again_when_its_block_is_dropped, 0,
			    2);
	tcase_add_test(tc, equal_addresses_are_one_location_until_the_mappings_change);
	tcase_add_test(tc, before_its_exec_an_address_is_in_another_file);
	tcase_add_test(tc, new_mappings_mean_other_frames_at_the_same_address);
	tcase_add_loop_test(tc, whatever_is_dropped_the_samples_left_are_good, 0, 4);
	tcase_add_test(tc, only_samples_of_their_own_size_are_valid);
	tcase_add_test(tc, an_event_that_does_not_exist_gives_no_encoder);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
