/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of allocations: which records are valid, and what becomes of them in a trace. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_events.h"
#include "clock.h"
#include "collect/alloc_encode.h"
#include "cpus.h"
#include "interp/interpreter.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "written_trace.h"

static struct written w;
static struct trace_config config;
static struct symbolizer *symbolizer;
static struct process_table *processes;
static struct interpreter *interpreter;
static void *encoder;
static struct alloc_event ev;

static void set_up(void)
{
	struct encoder_env env = { .config = &config };

	written_open(&w);
	ck_assert_int_eq(symbolizer_new(&symbolizer), 0);
	ck_assert_int_eq(process_table_new(symbolizer, &processes), 0);
	ck_assert_int_eq(interpreter_new(symbolizer, processes, &interpreter), 0);
	env.interpreter = interpreter;
	env.writer = w.writer;
	env.processes = processes;
	env.symbolizer = symbolizer;
	ck_assert_int_eq(alloc_encoder_new(&env, &encoder), 0);

	memset(&ev, 0, sizeof(ev));
	ev.hdr.type = ALLOC_SAMPLE;
	ev.hdr.time_ns = boot_ns();
	ev.hdr.tgid = 100;
	ev.hdr.tid = 101;
	ev.function = ALLOC_MALLOC;
	ev.size = 100;
	ev.weight = 524288;
	ev.user.n_user = 2;
	ev.user.ips[0] = 0x7fff00000010;
	ev.user.ips[1] = 0x7fff00000021;
	ev.hdr.size = ALLOC_HEAD + USER_STACK_HEAD + 2 * 8;
}

static void tear_down(void)
{
	alloc_encoder_free(encoder);
	alloc_encoder_free(NULL);
	process_table_free(processes);
	symbolizer_free(symbolizer);
	interpreter_free(interpreter);
	written_done(&w);
}

START_TEST(a_sample_weighs_the_bytes_it_stands_for)
{
	const TracePacket *pkt;
	const StackSampleDefaults *defaults;

	ck_assert(alloc_valid(&ev.hdr, ev.hdr.size));
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev.hdr.time_ns);
	ck_assert_int_eq(alloc_encode(encoder, &ev.hdr), 0);
	ck_assert_int_eq(alloc_encoder_flush(encoder, ev.hdr.time_ns, true), 0);
	ck_assert(!alloc_encoder_pending(encoder));
	ck_assert_uint_eq(alloc_encoder_stack_ends(encoder)[UNWIND_COMPLETE], 1);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_ALLOC), 1);
	pkt = written_packet(&w, SEQ_ALLOC, 0);
	ck_assert_uint_eq(pkt->stack_sample->primary_weight, 524288);
	ck_assert_uint_eq(pkt->interned_data->callstacks[0]->n_frame_ids, 2);
	defaults = pkt->trace_packet_defaults->stack_sample_defaults;
	ck_assert_str_eq(defaults->source, "linux.alloc");
	ck_assert_int_eq(defaults->primary_descriptor->unit, 4);
}
END_TEST

START_TEST(python_frames_are_behind_the_users_in_the_record)
{
	ev.user.ips[2] = PYTHON_WORD(1, 5, 0);
	ev.user.ips[3] = PYTHON_WORD(2, 6, 1);
	ev.user.python = 2;
	ck_assert(!alloc_valid(&ev.hdr, ev.hdr.size));
	ev.hdr.size += 2 * 8;
	ck_assert(alloc_valid(&ev.hdr, ev.hdr.size));
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev.hdr.time_ns);
	ck_assert_int_eq(alloc_encode(encoder, &ev.hdr), 0);
	ck_assert_int_eq(alloc_encoder_flush(encoder, ev.hdr.time_ns, true), 0);
	written_read(&w);
	ck_assert_uint_eq(
		written_packet(&w, SEQ_ALLOC, 0)->interned_data->callstacks[0]->n_frame_ids, 4);
}
END_TEST

static bool is_valid(const struct alloc_event *e)
{
	return alloc_valid(&e->hdr, e->hdr.size);
}

START_TEST(only_whole_records_are_valid)
{
	struct alloc_event good = ev;

	ck_assert(!alloc_valid(&ev.hdr, ev.hdr.size - 1u));
	ck_assert(!alloc_valid(&ev.hdr, ev.hdr.size + 8u));
	ck_assert(!alloc_valid(&ev.hdr, sizeof(ev.hdr)));
#define BAD(field, value)                                           \
	do {                                                        \
		ev = good;                                          \
		ev.field = (value);                                 \
		ck_assert_msg(!is_valid(&ev), #field " = " #value); \
	} while (0)
	BAD(hdr.type, 2);
	BAD(hdr.stream, 1);
	BAD(hdr.cpu, MAX_CPUS);
	BAD(hdr.tid, 0);
	BAD(function, 0);
	BAD(function, ALLOC_FUNCTIONS);
	BAD(user.end, UNWIND_ENDS);
	BAD(weight, 0);
	BAD(weight, UINT64_MAX);
	BAD(user.n_user, 0);
	BAD(user.n_user, 3);
	BAD(user.n_user, UINT32_MAX);
	BAD(user.has_copy, 1); /* which is not there */
	BAD(user.has_copy, 2);
#undef BAD
	ev = good;
	ev.user.has_copy = 1;
	ev.user.copy.len = 64;
	ev.hdr.size = ALLOC_HEAD + USER_STACK_COPY_HEAD + 64;
	ck_assert(is_valid(&ev));
	ev.user.copy.len = 65;
	ck_assert(!is_valid(&ev));
	ev.user.copy.len = UINT16_MAX;
	ck_assert(!is_valid(&ev));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("alloc_encode");
	TCase *tc = tcase_create("alloc_encode");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_sample_weighs_the_bytes_it_stands_for);
	tcase_add_test(tc, python_frames_are_behind_the_users_in_the_record);
	tcase_add_test(tc, only_whole_records_are_valid);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
