/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of GPU APIs: which records are valid, and what becomes of them in a trace. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cpus.h"
#include "gpu/gpu_api_encode.h"
#include "gpu/gpu_api_symbols.h"
#include "gpu/gpu_api_table.h"
#include "interp/interpreter.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "written_trace.h"

static struct written w;
static uint64_t start_ns; /* of the session */
static struct trace_config config;
static struct symbolizer *symbolizer;
static struct process_table *processes;
static struct interpreter *interpreter;
static void *encoder;
static struct gpu_api_event ev;

static void set_up(void)
{
	struct encoder_env env = { .config = &config };

	config.gpu_api_classes = GPU_API_DEFAULT_CLASSES;
	written_open(&w);
	start_ns = boot_ns();
	env.start_ns = start_ns;
	ck_assert_int_eq(symbolizer_new(&symbolizer), 0);
	ck_assert_int_eq(process_table_new(symbolizer, &processes), 0);
	ck_assert_int_eq(interpreter_new(symbolizer, processes, &interpreter), 0);
	env.interpreter = interpreter;
	env.writer = w.writer;
	env.processes = processes;
	env.symbolizer = symbolizer;
	ck_assert_int_eq(gpu_api_encoder_new(&env, &encoder), 0);
	trace_writer_source(w.writer, WRITTEN_SOURCE, start_ns);
}

static void tear_down(void)
{
	gpu_api_encoder_free(encoder);
	gpu_api_encoder_free(NULL);
	process_table_free(processes);
	symbolizer_free(symbolizer);
	interpreter_free(interpreter);
	written_done(&w);
}

/* A call of thread 101 that has lasted a microsecond. */
static void call(const char *function)
{
	int i = gpu_api_by_symbol(function);

	ck_assert_msg(i >= 0, "%s", function);
	memset(&ev, 0, sizeof(ev));
	ev.hdr.type = GPU_API_CALL;
	ev.hdr.time_ns = start_ns + 5000;
	ev.hdr.tgid = 100;
	ev.hdr.tid = 101;
	ev.call.enter_ns = start_ns + 4000;
	ev.call.function = (uint16_t)i;
	ev.hdr.size = (uint16_t)gpu_api_size(&ev.call);
}

static void set_text(const char *text)
{
	ev.call.text_len = (uint8_t)strlen(text);
	memcpy(ev.call.text, text, strlen(text));
	ev.hdr.size = sizeof(ev);
}

static void set_window(int i, size_t at, const void *data, size_t len)
{
	memcpy(&ev.call.windows[i][at], data, len);
	ev.call.has_windows = 1;
	ev.call.flags |= (uint8_t)GPU_API_WINDOW_READ(i);
	ev.hdr.size = (uint16_t)gpu_api_size(&ev.call);
}

static void encode(void)
{
	ck_assert(gpu_api_valid(&ev.hdr, ev.hdr.size));
	ck_assert_int_eq(gpu_api_encode(encoder, &ev.hdr), 0);
}

/* ---- reading back ---- */

/* Of one name; ids are of SEQ_EVENTS. */
static const char *interned(size_t up_to, uint64_t iid, bool is_name)
{
	for (size_t i = 0; i <= up_to; i++) {
		const InternedData *d = w.packets[i]->interned_data;

		if (!d || w.packets[i]->trusted_packet_sequence_id != SEQ_EVENTS)
			continue;
		for (size_t k = 0; is_name && k < d->n_event_names; k++)
			if (d->event_names[k]->iid == iid)
				return d->event_names[k]->name;
		for (size_t k = 0; !is_name && k < d->n_debug_annotation_names; k++)
			if (d->debug_annotation_names[k]->iid == iid)
				return d->debug_annotation_names[k]->name;
	}
	ck_abort_msg("name %" PRIu64 " was not interned", iid);
	return NULL;
}

static void print_arg(char *text, size_t at, const DebugAnnotation *a)
{
	char value[256];

	if (a->string_value)
		snprintf(value, sizeof(value), "%s", a->string_value);
	else if (a->has_uint_value)
		snprintf(value, sizeof(value), "%" PRIu64, a->uint_value);
	else if (a->has_int_value)
		snprintf(value, sizeof(value), "%" PRId64, a->int_value);
	else if (a->has_pointer_value)
		snprintf(value, sizeof(value), "0x%" PRIx64, a->pointer_value);
	else
		snprintf(value, sizeof(value), "%s", a->bool_value ? "true" : "false");
	strcat(strcat(strcat(strcat(text, " "), interned(at, a->name_iid, false)), "="), value);
}

/* All slices: "NAME ARG=VALUE...", a line each. */
static const char *slices(void)
{
	static char text[8192];

	written_read(&w);
	text[0] = '\0';
	for (size_t i = 0; i < w.n; i++) {
		const TrackEvent *te = w.packets[i]->track_event;

		if (!te || te->type != 1)
			continue;
		strcat(text, interned(i, te->name_iid, true));
		for (size_t k = 0; k < te->n_debug_annotations; k++)
			print_arg(text, i, te->debug_annotations[k]);
		strcat(text, "\n");
	}
	return text;
}

static uint64_t begin_of(size_t n)
{
	for (size_t i = 0; i < w.n; i++)
		if (w.packets[i]->track_event && w.packets[i]->track_event->type == 1 && n-- == 0)
			return w.packets[i]->timestamp;
	return 0;
}

START_TEST(a_launch_shows_its_grid_and_what_is_launched)
{
	call("cuModuleGetFunction");
	set_text("saxpy");
	ev.call.out = 0x700;
	ev.call.flags = GPU_API_OUT_READ;
	encode();
	call("cuLaunchKernel");
	ev.call.args[0] = 0x700;
	for (int i = 1; i <= 6; i++)
		ev.call.args[i] = 0xdead00000000 + (uint64_t)i; /* rubbish above an unsigned */
	ev.call.args[7] = 1024;
	encode();
	ev.call.args[0] = 0x701; /* another one, and of another process the same */
	ev.call.ret = 1;
	encode();
	ev.call.args[0] = 0x700;
	ev.hdr.tgid = ev.hdr.tid = 200;
	encode();
	ck_assert_str_eq(slices(),
			 "cuModuleGetFunction api=cuda name=saxpy kernel=0x700 module=0x0\n"
			 "cuLaunchKernel api=cuda kernel=saxpy grid=1,2,3 block=4,5,6 "
			 "shared_bytes=1024 stream=0x0\n"
			 "cuLaunchKernel api=cuda kernel=0x701 grid=1,2,3 block=4,5,6 "
			 "shared_bytes=1024 stream=0x0 result=CUDA_ERROR_INVALID_VALUE\n"
			 "cuLaunchKernel api=cuda kernel=0x700 grid=1,2,3 block=4,5,6 "
			 "shared_bytes=1024 stream=0x0 result=CUDA_ERROR_INVALID_VALUE\n");
	written_assert_good(&w);
}
END_TEST

START_TEST(what_failed_has_written_nothing)
{
	call("cuMemAlloc");
	ev.call.args[1] = 4096;
	ev.call.out = 0x123;
	ev.call.flags = GPU_API_OUT_READ;
	ev.call.ret = 2;
	encode();
	/* Nor does it name a kernel. */
	call("cuModuleGetFunction");
	set_text("saxpy");
	ev.call.out = 0x700;
	ev.call.flags = GPU_API_OUT_READ;
	ev.call.ret = 500;
	encode();
	call("cuLaunchKernel");
	ev.call.args[0] = 0x700;
	ev.call.flags = GPU_API_ABANDONED;
	encode();
	ck_assert_str_eq(slices(),
			 "cuMemAlloc api=cuda bytes=4096 result=CUDA_ERROR_OUT_OF_MEMORY\n"
			 "cuModuleGetFunction api=cuda name=saxpy module=0x0 "
			 "result=CUDA_ERROR_NOT_FOUND\n"
			 "cuLaunchKernel api=cuda kernel=0x700 grid=0,0,0 block=0,0,0 "
			 "shared_bytes=0 stream=0x0 abandoned=true\n");
}
END_TEST

START_TEST(structures_are_read_where_they_could_be)
{
	const uint32_t config_words[7] = { 7, 8, 9, 10, 11, 12, 512 };
	const uint64_t sizes[3] = { 1024, 2, 0xffff };
	uint64_t stream = 0x99;

	call("cuLaunchKernelEx");
	ev.call.args[1] = 0x700;
	set_window(0, 0, config_words, sizeof(config_words));
	set_window(0, 32, &stream, sizeof(stream));
	encode();
	call("cuLaunchKernelEx"); /* what it points to is not there */
	ev.call.args[1] = 0x700;
	encode();
	call("clEnqueueNDRangeKernel");
	ev.call.args[2] = 2; /* dimensions */
	set_window(0, 0, sizes, sizeof(sizes));
	encode();
	ev.call.args[2] = 1ull << 40;
	set_window(1, 0, sizes, sizeof(sizes));
	encode();
	call("cudaLaunchKernel");
	ev.call.args[1] = 2 | 3ull << 32;
	ev.call.args[2] = 0xdead00000004;
	ev.call.args[3] = 5 | 6ull << 32;
	ev.call.args[4] = 7;
	encode();
	ck_assert_str_eq(slices(),
			 "cuLaunchKernelEx api=cuda kernel=0x700 grid=7,8,9 block=10,11,12 "
			 "shared_bytes=512 stream=0x99\n"
			 "cuLaunchKernelEx api=cuda kernel=0x700\n"
			 "clEnqueueNDRangeKernel api=opencl kernel=0x0 global=1024,2 queue=0x0 "
			 "waits_for=0\n"
			 "clEnqueueNDRangeKernel api=opencl kernel=0x0 global=1024,2,65535 "
			 "local=1024,2,65535 queue=0x0 waits_for=0\n"
			 "cudaLaunchKernel api=cudart kernel=0x0 grid=2,3,4 block=5,6,7 "
			 "shared_bytes=0 stream=0x0\n");
}
END_TEST

START_TEST(how_a_call_ended_is_said)
{
	call("cuCtxSynchronize");
	ev.call.enter_ns = start_ns - 1000;
	encode();
	ev.call.enter_ns = start_ns + 1;
	ev.call.flags = GPU_API_EXITED;
	ev.call.ret = 999; /* whatever was in there */
	encode();
	ev.hdr.type = GPU_API_UNFINISHED;
	ev.call.flags = 0;
	ev.hdr.size = sizeof(ev);
	encode();
	ck_assert_str_eq(slices(), "cuCtxSynchronize api=cuda entered_before=true\n"
				   "cuCtxSynchronize api=cuda exited=true\n"
				   "cuCtxSynchronize api=cuda unfinished=true\n");
	ck_assert_uint_eq(begin_of(0), start_ns);
}
END_TEST

START_TEST(what_is_not_wanted_is_left_out_and_accounted_for)
{
	struct trace_writer_stats stats;

	config.gpu_api_classes = 1u << GPU_LAUNCH;
	call("cuModuleGetFunction"); /* but it is listened to */
	set_text("saxpy");
	ev.call.out = 0x700;
	ev.call.flags = GPU_API_OUT_READ;
	encode();
	call("vkGetDeviceProcAddr");
	encode();
	call("cuLaunchKernel");
	ev.call.args[0] = 0x700;
	encode();
	ev.hdr.time_ns = start_ns - 1; /* before the session */
	ev.call.enter_ns = start_ns - 2;
	encode();
	ck_assert_str_eq(slices(), "cuLaunchKernel api=cuda kernel=saxpy grid=0,0,0 block=0,0,0 "
				   "shared_bytes=0 stream=0x0\n");
	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_written, 1);
	ck_assert_uint_eq(stats.n_skipped, 3);
}
END_TEST

static void a_stack(struct gpu_api_stack *s)
{
	memset(s, 0, sizeof(*s));
	s->hdr.type = GPU_API_STACK;
	s->hdr.time_ns = start_ns + 4000;
	s->hdr.tgid = 100;
	s->hdr.tid = 101;
	s->weight = 17;
	s->function = (uint32_t)gpu_api_by_symbol("cuLaunchKernel");
	s->user.n_user = 2;
	s->user.ips[0] = 0x7fff00000010;
	s->user.ips[1] = 0x7fff00000021;
	s->hdr.size = GPU_API_STACK_HEAD + USER_STACK_HEAD + 2 * 8;
}

START_TEST(a_stack_weighs_the_calls_it_stands_for)
{
	static struct gpu_api_stack s;
	const TracePacket *pkt;

	a_stack(&s);
	ck_assert(gpu_api_valid(&s.hdr, s.hdr.size));
	ck_assert_int_eq(gpu_api_encode(encoder, &s.hdr), 0);
	ck_assert_int_eq(gpu_api_encoder_flush(encoder, s.hdr.time_ns, true), 0);
	ck_assert(!gpu_api_encoder_pending(encoder));
	ck_assert_uint_eq(gpu_api_encoder_stack_ends(encoder)[UNWIND_COMPLETE], 1);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_GPU_API), 1);
	pkt = written_packet(&w, SEQ_GPU_API, 0);
	ck_assert_uint_eq(pkt->stack_sample->primary_weight, 17);
	ck_assert_str_eq(pkt->trace_packet_defaults->stack_sample_defaults->source,
			 "linux.gpu_api");
}
END_TEST

START_TEST(only_whole_records_are_valid)
{
	static struct gpu_api_stack s;
	struct gpu_api_event good;

	call("cuLaunchKernel");
	good = ev;
	ck_assert(gpu_api_valid(&ev.hdr, ev.hdr.size));
	ck_assert(!gpu_api_valid(&ev.hdr, ev.hdr.size - 1u));
	ck_assert(!gpu_api_valid(&ev.hdr, sizeof(ev.hdr)));
#define BAD(field, value)                                                                 \
	do {                                                                              \
		ev = good;                                                                \
		ev.field = (value);                                                       \
		ck_assert_msg(!gpu_api_valid(&ev.hdr, ev.hdr.size), #field " = " #value); \
	} while (0)
	BAD(hdr.type, 0);
	BAD(hdr.type, GPU_API_UNFINISHED); /* those are whole */
	BAD(hdr.type, GPU_API_STACK);
	BAD(hdr.stream, 1);
	BAD(hdr.cpu, MAX_CPUS);
	BAD(hdr.tid, 0);
	BAD(hdr.size, sizeof(ev));
	BAD(call.function, (uint16_t)gpu_api_n_functions);
	BAD(call.enter_ns, start_ns + 5001);
	BAD(call.flags, 0x20);
	BAD(call.flags, GPU_API_WINDOW_READ(0)); /* which is not there */
	BAD(call.has_windows, 1);
	BAD(call.has_windows, 2);
	BAD(call.text_len, 1);
	BAD(call.text_len, GPU_API_TEXT);
#undef BAD
	a_stack(&s);
	s.function = (uint32_t)gpu_api_n_functions;
	ck_assert(!gpu_api_valid(&s.hdr, s.hdr.size));
	a_stack(&s);
	s.weight = 0;
	ck_assert(!gpu_api_valid(&s.hdr, s.hdr.size));
	a_stack(&s);
	s.user.n_user = 3;
	ck_assert(!gpu_api_valid(&s.hdr, s.hdr.size));
	a_stack(&s);
	ck_assert(!gpu_api_valid(&s.hdr, GPU_API_STACK_HEAD));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_api_encode");
	TCase *tc = tcase_create("gpu_api_encode");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_launch_shows_its_grid_and_what_is_launched);
	tcase_add_test(tc, what_failed_has_written_nothing);
	tcase_add_test(tc, structures_are_read_where_they_could_be);
	tcase_add_test(tc, how_a_call_ended_is_said);
	tcase_add_test(tc, what_is_not_wanted_is_left_out_and_accounted_for);
	tcase_add_test(tc, a_stack_weighs_the_calls_it_stands_for);
	tcase_add_test(tc, only_whole_records_are_valid);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
