/* SPDX-License-Identifier: Apache-2.0 */
/* Waits in a trace: as slices with arrows, and as samples of sleepers and wakers. */
#include <asm/unistd.h>
#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/offcpu_encode.h"
#include "cpus.h"
#include "interp/interpreter.h"
#include "offcpu_events.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "symbolize/symbolizer.h"
#include "written_trace.h"

#define TGID   100
#define TID    101
#define WAKER  102
#define MIN    (1 * NS_PER_MS)
#define USER   0x7fff00000000ull
#define KERNEL 0xffffc00000000000ull /* no symbols are there */

static struct written w;
static struct trace_config config;
static struct symbolizer *symbolizer;
static struct process_table *processes;
static struct interpreter *interpreter;
static void *encoder;
static uint64_t t0, n_encoded;

static void add_thread(ProcessTree *tree, uint32_t tid)
{
	static ProcessTree__Thread threads[8], *ptrs[8];
	ProcessTree__Thread *thread = &threads[tree->n_threads];
	struct task_info task = {
		.tid = tid, .tgid = TGID, .start_ns = 1, .process_start_ns = 1, .comm = "program"
	};

	process_tree__thread__init(thread);
	thread->has_tid = thread->has_tgid = 1;
	thread->tid = (int32_t)tid;
	thread->tgid = TGID;
	ptrs[tree->n_threads++] = thread;
	tree->threads = ptrs;
	process_table_fork(processes, &task);
}

static void put_tree(void)
{
	ProcessTree tree = PROCESS_TREE__INIT;
	ProcessTree__Process process = PROCESS_TREE__PROCESS__INIT, *processes_ptr = &process;
	TracePacket pkt = TRACE_PACKET__INIT;
	char *cmdline = (char *)"program";

	process.has_pid = 1;
	process.pid = TGID;
	process.n_cmdline = 1;
	process.cmdline = &cmdline;
	tree.n_processes = 1;
	tree.processes = &processes_ptr;
	add_thread(&tree, TGID);
	add_thread(&tree, TID);
	add_thread(&tree, WAKER);
	pkt.has_timestamp = 1;
	pkt.timestamp = t0;
	pkt.process_tree = &tree;
	ck_assert_int_eq(trace_writer_put(w.writer, SEQ_PROCESSES, &pkt, 0), 0);
}

static void set_up(void)
{
	struct encoder_env env = { .config = &config };

	written_open(&w);
	t0 = boot_ns();
	n_encoded = 0;
	config.offcpu_min_ns = MIN;
	/* Never started: nobody answers. */
	ck_assert_int_eq(symbolizer_new(&symbolizer), 0);
	ck_assert_int_eq(process_table_new(symbolizer, &processes), 0);
	ck_assert_int_eq(interpreter_new(symbolizer, processes, &interpreter), 0);
	put_tree();
	env.writer = w.writer;
	env.interpreter = interpreter;
	env.processes = processes;
	env.symbolizer = symbolizer;
	env.start_ns = t0;
	ck_assert_int_eq(offcpu_encoder_new(&env, &encoder), 0);
}

static void tear_down(void)
{
	offcpu_encoder_free(encoder);
	offcpu_encoder_free(NULL);
	process_table_free(processes);
	symbolizer_free(symbolizer);
	interpreter_free(interpreter);
	written_done(&w);
}

static void set_size(struct offcpu_event *ev)
{
	ev->hdr.size = (uint16_t)(OFFCPU_HEAD + 8u * (ev->n_user + ev->n_kernel +
						      ev->n_waker_kernel + ev->n_waker_user));
}

/* read() of a pipe, ended by another thread; times in ms after the start. */
static struct offcpu_event a_wait(unsigned begin, unsigned woken, unsigned end)
{
	struct offcpu_event ev;

	memset(&ev, 0, sizeof(ev));
	ev.hdr.type = OFFCPU_WAIT;
	ev.hdr.time_ns = t0 + end * NS_PER_MS;
	ev.hdr.tgid = ev.hdr.peer_tgid = TGID;
	ev.hdr.tid = TID;
	ev.hdr.peer_tid = WAKER;
	ev.hdr.cpu = 1;
	ev.begin_ns = t0 + begin * NS_PER_MS;
	ev.woken_ns = woken ? t0 + woken * NS_PER_MS : 0;
	ev.syscall = __NR_read;
	ev.args[0] = 7;
	ev.file = OFFCPU_FILE_PIPE;
	ev.state = 1;
	ev.n_user = 2;
	ev.n_kernel = 1;
	ev.n_waker_kernel = 1;
	ev.n_waker_user = 1;
	ev.ips[0] = USER + 0x10;
	ev.ips[1] = USER + 0x21;
	ev.ips[2] = KERNEL + 0x10;
	ev.ips[3] = KERNEL + 0x20;
	ev.ips[4] = USER + 0x30;
	set_size(&ev);
	return ev;
}

static void encode(const struct offcpu_event *ev)
{
	ck_assert(offcpu_valid(&ev->hdr, ev->hdr.size));
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev->hdr.time_ns);
	ck_assert_int_eq(offcpu_encode(encoder, &ev->hdr), 0);
	n_encoded += ev->hdr.type == OFFCPU_WAIT;
}

static void finish(void)
{
	trace_writer_source(w.writer, WRITTEN_SOURCE, t0);
	ck_assert_int_eq(offcpu_encoder_flush(encoder, t0, true), 0);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
}

/* ---- reading back ---- */

/* "wakes 2" instants, "runnable 2-3", "read pipe 0-3 fd=7 ...": times in ms. */
static char events[4096];

static char names[2][64][64]; /* of events, of arguments */

static void append(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void append(const char *format, ...)
{
	size_t len = strlen(events);
	va_list args;

	va_start(args, format);
	vsnprintf(events + len, sizeof(events) - len, format, args);
	va_end(args);
}

static void learn(const InternedData *in)
{
	for (size_t i = 0; in && i < in->n_event_names; i++)
		snprintf(names[0][in->event_names[i]->iid], 64, "%s", in->event_names[i]->name);
	for (size_t i = 0; in && i < in->n_debug_annotation_names; i++)
		snprintf(names[1][in->debug_annotation_names[i]->iid], 64, "%s",
			 in->debug_annotation_names[i]->name);
}

static void append_args(const TrackEvent *te)
{
	for (size_t i = 0; i < te->n_debug_annotations; i++) {
		const DebugAnnotation *a = te->debug_annotations[i];
		const char *arg = names[1][a->name_iid];

		if (a->string_value)
			append(" %s=%s", arg, a->string_value);
		else if (a->has_bool_value)
			append(" %s", arg);
		else if (strcmp(arg, "fd") == 0)
			append(" fd=%" PRId64, a->int_value);
		else if (strcmp(arg + strlen(arg) - 3, "_ns") == 0)
			append(" %s=%" PRIu64, arg, (uint64_t)(a->uint_value / NS_PER_MS));
		else
			append(" %s=%" PRIu64, arg, a->uint_value);
	}
}

static const char *written_events(void)
{
	const TracePacket *pkt;

	finish();
	written_read(&w);
	events[0] = '\0';
	for (size_t i = 0; (pkt = written_packet(&w, SEQ_EVENTS, i)); i++) {
		const TrackEvent *te = pkt->track_event;
		uint64_t ms = (pkt->timestamp - t0) / NS_PER_MS;

		learn(pkt->interned_data);
		if (te->type == 2) {
			append("-%" PRIu64 "\n", ms);
			continue;
		}
		append("%s", te->n_flow_ids ? ">" : "");
		append("%s", names[0][te->name_iid]);
		append_args(te);
		append(" %" PRIu64 "%s", ms, te->type == 3 ? "\n" : "");
	}
	return events;
}

/* "WEIGHT@TIME of TID, N frames": times in ms. */
static const char *written_samples(enum trace_sequence seq)
{
	static char text[1024];
	const TracePacket *pkt;
	size_t len = 0;

	finish();
	written_read(&w);
	text[0] = '\0';
	for (size_t i = 0; (pkt = written_packet(&w, seq, i)); i++) {
		const InternedData *in = pkt->interned_data;

		len += (size_t)snprintf(text + len, sizeof(text) - len, "%" PRIu64 "@%" PRIu64,
					(uint64_t)(pkt->stack_sample->primary_weight / NS_PER_MS),
					(uint64_t)((pkt->timestamp - t0) / NS_PER_MS));
		if (in && in->n_stack_sample_task_contexts && in->n_callstacks)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						" of %u, %zu frames",
						in->stack_sample_task_contexts[0]->tid,
						in->callstacks[0]->n_frame_ids);
		len += (size_t)snprintf(text + len, sizeof(text) - len, "\n");
	}
	return text;
}

/* ---- tests ---- */

START_TEST(a_wait_is_a_slice_with_its_reason_and_an_arrow_from_the_waker)
{
	struct offcpu_event ev = a_wait(1, 5, 7);

	encode(&ev);
	ck_assert_str_eq(written_events(),
			 ">wakes tid=101 5\n"
			 ">runnable 5-7\n"
			 "read pipe reason=read blocked_ns=4 runnable_ns=2 state=S fd=7 "
			 "waker=program waker_tid=102 waker_pid=100 1-7\n");
	written_assert_good(&w);
}
END_TEST

/* When a track is described its thread must live: by the end of the wait the waker may be gone. */
START_TEST(the_wakers_track_is_of_the_time_when_it_woke)
{
	struct offcpu_event ev = a_wait(1, 5, 7);
	const TracePacket *pkt;
	int found = 0;

	encode(&ev);
	finish();
	written_read(&w);
	for (size_t i = 0; (pkt = written_packet(&w, SEQ_TRACKS, i)); i++) {
		const ThreadDescriptor *thread = pkt->track_descriptor->thread;

		if (!thread)
			continue;
		found++;
		ck_assert_uint_eq((pkt->timestamp - t0) / NS_PER_MS, thread->tid == WAKER ? 5 : 7);
	}
	ck_assert_int_eq(found, 2);
	written_assert_good(&w);
}
END_TEST

START_TEST(no_arrow_comes_from_who_has_the_wakers_tid_later)
{
	struct offcpu_event ev = a_wait(1, 5, 7);
	struct task_info later = { .tid = WAKER,
				   .tgid = TGID,
				   .start_ns = t0 + 6 * NS_PER_MS,
				   .process_start_ns = 1,
				   .comm = "later" };

	process_table_fork(processes, &later);
	encode(&ev);
	ck_assert_str_eq(written_events(),
			 "runnable 5-7\n"
			 "read pipe reason=read blocked_ns=4 runnable_ns=2 state=S fd=7 "
			 "waker_tid=102 waker_pid=100 1-7\n");
	written_assert_good(&w);
}
END_TEST

START_TEST(the_sleepers_sample_weighs_the_wait_and_the_wakers_what_it_ended)
{
	struct offcpu_event ev = a_wait(1, 5, 7);
	const StackSampleDefaults *defaults;

	encode(&ev);
	ck_assert_str_eq(written_samples(SEQ_OFFCPU), "6@7 of 101, 3 frames\n");
	ck_assert_str_eq(written_samples(SEQ_WAKERS), "4@5 of 102, 2 frames\n");
	defaults = written_packet(&w, SEQ_OFFCPU, 0)->trace_packet_defaults->stack_sample_defaults;
	ck_assert_str_eq(defaults->source, "linux.offcpu");
	ck_assert_str_eq(defaults->primary_descriptor->unit_str, "ns-offcpu");
	ck_assert(!defaults->primary_descriptor->has_unit); /* it is no CPU time */
	written_assert_good(&w);
}
END_TEST

START_TEST(python_frames_are_behind_the_users_in_the_record)
{
	struct offcpu_event ev = a_wait(1, 5, 7);

	/* two more, before the kernel's and the waker's */
	memmove(ev.ips + 4, ev.ips + 2, 3 * sizeof(ev.ips[0]));
	ev.ips[2] = PYTHON_WORD(1, 5, 0);
	ev.ips[3] = PYTHON_WORD(2, 6, 1);
	ev.python = 2 | OFFCPU_PYTHON_CUT;
	ck_assert(!offcpu_valid(&ev.hdr, ev.hdr.size));
	ev.hdr.size = (uint16_t)(ev.hdr.size + 2 * 8);
	encode(&ev);
	/* and one that says that there are more */
	ck_assert_str_eq(written_samples(SEQ_OFFCPU), "6@7 of 101, 6 frames\n");
	ck_assert_str_eq(written_samples(SEQ_WAKERS), "4@5 of 102, 2 frames\n");
	written_assert_good(&w);
}
END_TEST

START_TEST(an_interrupt_is_not_the_doing_of_whom_it_interrupts)
{
	struct offcpu_event ev = a_wait(1, 5, 7);

	ev.flags = OFFCPU_WOKEN_BY_IRQ;
	encode(&ev);
	ev = a_wait(8, 9, 10);
	ev.flags = OFFCPU_WOKEN_BY_SOFT;
	encode(&ev);
	ck_assert_str_eq(written_events(),
			 "runnable 5-7\n"
			 "read pipe reason=read blocked_ns=4 runnable_ns=2 state=S fd=7 "
			 "woken_by=interrupt 1-7\n"
			 "runnable 9-10\n"
			 "read pipe reason=read blocked_ns=1 runnable_ns=1 state=S fd=7 "
			 "woken_by=softirq 8-10\n");
	ck_assert_str_eq(written_samples(SEQ_WAKERS), "");
	written_assert_good(&w);
}
END_TEST

START_TEST(whose_waker_was_not_seen_has_been_blocked_all_the_time)
{
	struct offcpu_event ev = a_wait(1, 0, 7);

	encode(&ev);
	ck_assert_str_eq(written_events(), "read pipe reason=read blocked_ns=6 runnable_ns=0 "
					   "state=S fd=7 1-7\n");
	ck_assert_str_eq(written_samples(SEQ_WAKERS), "");
	written_assert_good(&w);
}
END_TEST

START_TEST(who_is_woken_on_the_way_to_sleep_has_not_been_blocked)
{
	struct offcpu_event ev = a_wait(2, 1, 7);

	encode(&ev);
	ck_assert_str_eq(written_events(),
			 "read pipe reason=read blocked_ns=0 runnable_ns=5 state=S fd=7 "
			 "waker=program waker_tid=102 waker_pid=100 2-7\n");
	written_assert_good(&w);
}
END_TEST

START_TEST(a_wait_that_began_before_counts_from_the_sessions_start)
{
	struct offcpu_event ev = a_wait(0, 2, 3);

	ev.begin_ns = t0 - 100 * NS_PER_MS;
	encode(&ev);
	ck_assert_ptr_nonnull(strstr(written_events(), "blocked_ns=2 runnable_ns=1"));
	ck_assert_ptr_nonnull(strstr(events, "began_before 0-3\n"));
	ck_assert_str_eq(written_samples(SEQ_OFFCPU), "3@3 of 101, 3 frames\n");
	written_assert_good(&w);
}
END_TEST

START_TEST(one_that_goes_on_is_shown_and_is_no_event)
{
	struct offcpu_event ev = a_wait(1, 0, 9);
	struct trace_writer_stats stats;

	ev.hdr.type = OFFCPU_UNFINISHED;
	encode(&ev);
	ck_assert_ptr_nonnull(strstr(written_events(), "unfinished 1-9\n"));
	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_written + stats.n_skipped, 0);
	written_assert_good(&w);
}
END_TEST

START_TEST(what_is_below_the_sessions_minimum_is_left_out_and_counted)
{
	struct offcpu_event ev = a_wait(1, 5, 7);
	struct trace_writer_stats stats;

	ev.begin_ns = ev.hdr.time_ns - MIN + 1;
	encode(&ev);
	ev.hdr.type = OFFCPU_UNFINISHED;
	encode(&ev);
	ck_assert_str_eq(written_events(), "");
	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_skipped, 1);
	ev = a_wait(1, 0, 2);
	encode(&ev);
	ck_assert_str_ne(written_events(), "");
	written_assert_good(&w);
}
END_TEST

START_TEST(a_wait_without_a_stack_is_a_sample_all_the_same)
{
	struct offcpu_event ev = a_wait(1, 5, 7);

	ev.n_user = ev.n_kernel = ev.n_waker_kernel = ev.n_waker_user = 0;
	set_size(&ev);
	encode(&ev);
	ck_assert_str_eq(written_samples(SEQ_OFFCPU), "6@7 of 101, 1 frames\n");
	ck_assert_str_eq(written_samples(SEQ_WAKERS), "");
	written_assert_good(&w);
}
END_TEST

START_TEST(whatever_is_dropped_the_waits_left_are_good)
{
	struct trace_writer_stats stats;

	srandom((unsigned)_i + 1);
	for (unsigned i = 0; i < 3000; i++) {
		struct offcpu_event ev =
			a_wait(4 * i, 4 * i + 1 + (unsigned)random() % 3, 4 * i + 3);

		ev.ips[0] = USER + (uint64_t)random() % 50;
		ev.woken_ns = random() % 5 ? ev.woken_ns : 0;
		ev.flags = random() % 5 ? 0 : OFFCPU_WOKEN_BY_IRQ;
		encode(&ev);
		if (random() % 100 == 0 || i == 1500) {
			w.refuse_bulk = random() % 3 == 0 || i == 1500;
			ck_assert_int_eq(trace_writer_flush(w.writer), 0);
			w.refuse_bulk = false;
		}
	}
	finish();
	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_written + stats.n_dropped, n_encoded);
	ck_assert_uint_gt(stats.n_dropped, 0);
	written_assert_good(&w);
}
END_TEST

static bool is_valid(struct offcpu_event ev)
{
	return offcpu_valid(&ev.hdr, ev.hdr.size);
}

START_TEST(only_whole_records_with_sensible_times_are_valid)
{
	struct offcpu_event good = a_wait(1, 5, 7), ev;

	ck_assert(is_valid(good));
	ck_assert(!offcpu_valid(&good.hdr, good.hdr.size - 1u));
	ck_assert(!offcpu_valid(&good.hdr, good.hdr.size + 8u));
	ck_assert(!offcpu_valid(&good.hdr, sizeof(good.hdr)));
#define BAD(field, value)                                          \
	do {                                                       \
		ev = good;                                         \
		ev.field = (value);                                \
		ck_assert_msg(!is_valid(ev), #field " = " #value); \
	} while (0)
	BAD(hdr.type, 0);
	BAD(hdr.type, OFFCPU_EVENT_TYPES);
	BAD(hdr.stream, 1);
	BAD(hdr.cpu, MAX_CPUS);
	BAD(hdr.tid, 0);
	BAD(hdr.tgid, 0);
	BAD(waker_cpu, MAX_CPUS);
	BAD(begin_ns, 0);
	BAD(begin_ns, good.hdr.time_ns + 1);
	BAD(woken_ns, good.hdr.time_ns + 1);
	BAD(file, OFFCPU_FILES);
	BAD(end, UNWIND_ENDS);
	BAD(waker_end, UNWIND_ENDS);
	BAD(has_copy, 4);
	BAD(has_copy, 1); /* which is not there */
	BAD(flags, OFFCPU_FLAGS + 1);
	BAD(n_user, 3);
#undef BAD
	ev = good;
	ev.n_user = OFFCPU_MAX_USER + 1;
	set_size(&ev);
	ck_assert(!is_valid(ev));
	ev = good;
	ev.n_kernel = OFFCPU_MAX_KERNEL + 1;
	set_size(&ev);
	ck_assert(!is_valid(ev));
	ev = good;
	ev.n_user = OFFCPU_MAX_USER;
	ev.n_kernel = ev.n_waker_kernel = OFFCPU_MAX_KERNEL;
	ev.n_waker_user = OFFCPU_MAX_WAKER_USER;
	set_size(&ev);
	ck_assert(is_valid(ev));
}
END_TEST

/* A wait with a copy of its stack, `len` bytes of it. */
static struct offcpu_copied a_copied_wait(uint32_t len)
{
	static struct offcpu_copied rec;

	memset(&rec, 0, sizeof(rec));
	rec.ev = a_wait(1, 5, 7);
	rec.ev.end = UNWIND_NOPROC;
	rec.ev.has_copy = 1;
	rec.copy.pc = rec.ev.ips[1];
	rec.copy.sp = 0x7ffc00001000;
	rec.copy.from = rec.copy.sp;
	rec.copy.len = len;
	rec.ev.hdr.size = (uint16_t)(OFFCPU_COPY_HEAD + len);
	return rec;
}

START_TEST(a_copy_of_the_stack_has_its_length)
{
	struct offcpu_copied rec = a_copied_wait(64);

	ck_assert(offcpu_valid(&rec.ev.hdr, rec.ev.hdr.size));
	ck_assert(!offcpu_valid(&rec.ev.hdr, rec.ev.hdr.size + 8u));
	rec.copy.len = 72;
	ck_assert(!offcpu_valid(&rec.ev.hdr, rec.ev.hdr.size));
	rec = a_copied_wait(OFFCPU_COPY_BYTES);
	ck_assert(offcpu_valid(&rec.ev.hdr, rec.ev.hdr.size));
	rec.ev.has_copy = OFFCPU_COPY_SLEEPER | OFFCPU_COPY_WAKER;
	rec.waker_copy.len = OFFCPU_COPY_BYTES;
	rec.ev.hdr.size = sizeof(rec);
	ck_assert(offcpu_valid(&rec.ev.hdr, sizeof(rec)));
	rec.ev.has_copy = OFFCPU_COPY_WAKER; /* and still there is one of the sleeper */
	ck_assert(!offcpu_valid(&rec.ev.hdr, sizeof(rec)));
	rec = a_copied_wait(OFFCPU_COPY_BYTES + 8);
	ck_assert(!offcpu_valid(&rec.ev.hdr, rec.ev.hdr.size));
	rec = a_copied_wait(64);
	rec.ev.n_user = 0;
	ck_assert(!offcpu_valid(&rec.ev.hdr, rec.ev.hdr.size));
}
END_TEST

START_TEST(a_walk_that_nobody_finishes_says_why_it_ends)
{
	struct offcpu_copied rec = a_copied_wait(64);

	rec.ev.waker_end = UNWIND_PENDING;
	encode(&rec.ev);
	ck_assert_str_eq(written_samples(SEQ_WAKERS), "4@5 of 102, 3 frames\n");
	ck_assert_str_eq(written_packet(&w, SEQ_WAKERS, 0)->stack_sample->unwind_error, "PENDING");
	ck_assert_str_eq(written_samples(SEQ_OFFCPU), "6@7 of 101, 4 frames\n");
	ck_assert_str_eq(written_packet(&w, SEQ_OFFCPU, 0)->stack_sample->unwind_error, "NOPROC");
	written_assert_good(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("offcpu_encode");
	TCase *tc = tcase_create("offcpu_encode");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_wait_is_a_slice_with_its_reason_and_an_arrow_from_the_waker);
	tcase_add_test(tc, the_wakers_track_is_of_the_time_when_it_woke);
	tcase_add_test(tc, no_arrow_comes_from_who_has_the_wakers_tid_later);
	tcase_add_test(tc, the_sleepers_sample_weighs_the_wait_and_the_wakers_what_it_ended);
	tcase_add_test(tc, python_frames_are_behind_the_users_in_the_record);
	tcase_add_test(tc, an_interrupt_is_not_the_doing_of_whom_it_interrupts);
	tcase_add_test(tc, whose_waker_was_not_seen_has_been_blocked_all_the_time);
	tcase_add_test(tc, who_is_woken_on_the_way_to_sleep_has_not_been_blocked);
	tcase_add_test(tc, a_wait_that_began_before_counts_from_the_sessions_start);
	tcase_add_test(tc, one_that_goes_on_is_shown_and_is_no_event);
	tcase_add_test(tc, what_is_below_the_sessions_minimum_is_left_out_and_counted);
	tcase_add_test(tc, a_wait_without_a_stack_is_a_sample_all_the_same);
	tcase_add_loop_test(tc, whatever_is_dropped_the_waits_left_are_good, 0, 4);
	tcase_add_test(tc, only_whole_records_with_sensible_times_are_valid);
	tcase_add_test(tc, a_copy_of_the_stack_has_its_length);
	tcase_add_test(tc, a_walk_that_nobody_finishes_says_why_it_ends);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
