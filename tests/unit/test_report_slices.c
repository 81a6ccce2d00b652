/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tracectl report --slice` of traces that are made here: against a count that compares
 * each slice with each sample, and what it says when there is nothing to report.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "buf.h"
#include "command.h"
#include "good_trace.h"
#include "io.h"

#define SLICES "tests/golden/report/slices.pftrace"

#define SEQ    7
#define PID    100
#define N_TIDS 3 /* PID and those behind it */

#define UUID_PROCESS 50
#define UUID_NOBODY  60 /* which nothing describes */

static struct buf trace;
static char out[1 << 16], err[8192];

/* ---- the trace ---- */

static void put(TracePacket *pkt)
{
	static bool cleared;
	uint8_t *data = malloc(trace_packet__get_packed_size(pkt) + 16);

	if (trace.len == 0)
		cleared = false;
	pkt->has_trusted_packet_sequence_id = 1;
	pkt->trusted_packet_sequence_id = SEQ;
	pkt->has_sequence_flags = 1;
	pkt->sequence_flags = cleared ? 2 : 1;
	cleared = true;
	ck_assert_ptr_nonnull(data);
	put_packet(&trace, data, trace_packet__pack(pkt, data));
	free(data);
}

static void put_track(uint64_t uuid, uint64_t parent, int32_t tid)
{
	ThreadDescriptor thread = THREAD_DESCRIPTOR__INIT;
	ProcessDescriptor process = PROCESS_DESCRIPTOR__INIT;
	TrackDescriptor d = TRACK_DESCRIPTOR__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;

	thread.has_pid = thread.has_tid = process.has_pid = 1;
	thread.pid = process.pid = PID;
	thread.tid = tid;
	d.has_uuid = 1;
	d.uuid = uuid;
	d.has_parent_uuid = parent != 0;
	d.parent_uuid = parent;
	if (tid)
		d.thread = &thread;
	else if (!parent)
		d.process = &process;
	pkt.track_descriptor = &d;
	put(&pkt);
}

/* `name` NULL: an END. Times are in ns since T0. */
static void put_event(uint64_t uuid, const char *name, uint64_t ns)
{
	TrackEvent e = TRACK_EVENT__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;

	e.has_type = e.has_track_uuid = 1;
	e.type = name ? 1 : 2;
	e.track_uuid = uuid;
	e.name = (char *)name;
	pkt.has_timestamp = 1;
	pkt.timestamp = T0 + ns;
	pkt.track_event = &e;
	put(&pkt);
}

static void put_slice(uint64_t uuid, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	put_event(uuid, name, begin_ns);
	put_event(uuid, NULL, end_ns);
}

static void put_sample(uint32_t tid, uint64_t ns)
{
	InlineCallstack__Frame frame = INLINE_CALLSTACK__FRAME__INIT, *frames = &frame;
	InlineCallstack stack = INLINE_CALLSTACK__INIT;
	StackSample__TaskContext task = STACK_SAMPLE__TASK_CONTEXT__INIT;
	StackSample sample = STACK_SAMPLE__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;

	frame.function_name = (char *)"function";
	stack.n_frames = 1;
	stack.frames = &frames;
	task.has_pid = task.has_tid = 1;
	task.pid = PID;
	task.tid = tid;
	sample.task_context = &task;
	sample.callstack = &stack;
	pkt.has_timestamp = 1;
	pkt.timestamp = T0 + ns;
	pkt.stack_sample = &sample;
	put(&pkt);
}

static void put_end(uint64_t ns)
{
	TracingServiceEvent disabled = TRACING_SERVICE_EVENT__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;

	disabled.has_tracing_disabled = 1;
	disabled.tracing_disabled = 1;
	pkt.has_timestamp = 1;
	pkt.timestamp = T0 + ns;
	pkt.service_event = &disabled;
	put(&pkt);
}

/* Thread `i` has the track 10 + i and one below it, 20 + i; the process two lanes. */
static void put_tracks(void)
{
	trace.len = 0;
	for (int i = 0; i < N_TIDS; i++) {
		put_track(10 + (uint64_t)i, 0, PID + i);
		put_track(20 + (uint64_t)i, 10 + (uint64_t)i, 0);
	}
	put_track(UUID_PROCESS, 0, 0);
	put_track(UUID_PROCESS + 1, UUID_PROCESS, 0);
	put_track(UUID_PROCESS + 2, UUID_PROCESS + 1, 0);
}

/* ---- the command ---- */

static void read_back(int fd, char *dst, size_t size)
{
	ssize_t n = pread(fd, dst, size - 1, 0);

	ck_assert_int_ge(n, 0);
	dst[n] = '\0';
	close(fd);
}

static int run(const char *file, const char *slice, const char *option, const char *value)
{
	char *argv[] = { (char *)"report", (char *)"--slice", (char *)slice, (char *)file,
			 (char *)option,   (char *)value,     NULL };
	int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO), status;
	int new_out = memfd_create("out", MFD_CLOEXEC), new_err = memfd_create("err", MFD_CLOEXEC);

	fflush(NULL);
	ck_assert_int_ge(dup2(new_out, STDOUT_FILENO), 0);
	ck_assert_int_ge(dup2(new_err, STDERR_FILENO), 0);
	status = cmd_report(value ? 6 : option ? 5 : 4, argv);
	fflush(NULL);
	ck_assert_int_ge(dup2(saved_out, STDOUT_FILENO), 0);
	ck_assert_int_ge(dup2(saved_err, STDERR_FILENO), 0);
	close(saved_out);
	close(saved_err);
	read_back(new_out, out, sizeof(out));
	read_back(new_err, err, sizeof(err));
	return status;
}

/* Of the trace that was put together. */
static int report(const char *slice)
{
	int fd = memfd_create("trace", MFD_CLOEXEC), status;
	char path[64];

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, trace.data, trace.len), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = run(path, slice, "--json", NULL);
	close(fd);
	return status;
}

/* A number of the slices; "samples": of all that lie in them. */
static uint64_t number(const char *name)
{
	bool all = strcmp(name, "samples") == 0;
	const char *at = strstr(out, all ? "],\"samples\":" : "\"slices\":");
	char key[64];

	snprintf(key, sizeof(key), "\"%s\":", name);
	at = at ? strstr(at, key) : NULL;
	ck_assert_msg(at != NULL, "no %s in %s", name, out);
	return strtoull(at + strlen(key), NULL, 10);
}

static void assert_says(const char *where, const char *text)
{
	ck_assert_msg(strstr(where, text) != NULL, "\"%s\" is not in: %s", text, where);
}

/* ---- against a simple count ---- */

#define N_SPANS	 400
#define N_POINTS 2000

static struct {
	int owner; /* thread, or N_TIDS: the process */
	uint64_t begin_ns, end_ns;
} slices[N_SPANS];

static struct {
	int thread;
	uint64_t ns;
} samples[N_POINTS];

static bool lies_in(int sample, int slice)
{
	return (slices[slice].owner == N_TIDS || slices[slice].owner == samples[sample].thread) &&
	       samples[sample].ns >= slices[slice].begin_ns &&
	       samples[sample].ns <= slices[slice].end_ns;
}

START_TEST(samples_are_those_of_a_simple_count)
{
	uint64_t n_in = 0, n_without = 0, total_ns = 0;

	srandom(1 + (unsigned)_i);
	put_tracks();
	for (int i = 0; i < N_SPANS; i++) {
		uint64_t step = 1000 * (uint64_t)i, track;

		/* Those of a thread one after the other, requests over each other. */
		slices[i].owner = (int)(random() % (N_TIDS + 1));
		slices[i].begin_ns = step + (uint64_t)random() % 500;
		slices[i].end_ns = slices[i].begin_ns +
				   (uint64_t)random() % (slices[i].owner == N_TIDS ? 5000 : 500);
		if (slices[i].owner == N_TIDS)
			put_track(track = 1000 + (uint64_t)i, UUID_PROCESS, 0);
		else
			track = (random() % 2 ? 10 : 20) + (uint64_t)slices[i].owner;
		put_slice(track, "wanted", slices[i].begin_ns, slices[i].end_ns);
		total_ns += slices[i].end_ns - slices[i].begin_ns;
	}
	for (int i = 0; i < N_POINTS; i++) {
		samples[i].thread = (int)(random() % N_TIDS);
		samples[i].ns = (uint64_t)random() % (1000 * N_SPANS);
		put_sample((uint32_t)(PID + samples[i].thread), samples[i].ns);
	}
	for (int i = 0; i < N_POINTS; i++) {
		bool in = false;

		for (int k = 0; k < N_SPANS; k++)
			in = in || lies_in(i, k);
		n_in += in;
	}
	for (int k = 0; k < N_SPANS; k++) {
		bool any = false;

		for (int i = 0; i < N_POINTS; i++)
			any = any || lies_in(i, k);
		n_without += !any;
	}
	ck_assert_int_eq(report("wanted"), 0);
	ck_assert_uint_eq(number("samples"), n_in);
	ck_assert_uint_eq(number("count"), N_SPANS);
	ck_assert_uint_eq(number("without_samples"), n_without);
	ck_assert_uint_eq(number("total_ns"), total_ns);
}
END_TEST

/* ---- who is who ---- */

START_TEST(a_recursion_counts_once)
{
	put_tracks();
	/* Live, in the order of time: three deep, the last one on the track below. */
	put_event(10, "f", 100);
	put_event(10, "f", 200);
	put_event(10, "g", 250);
	put_slice(20, "f", 300, 400);
	put_event(10, NULL, 450);
	put_event(10, NULL, 500);
	put_event(10, NULL, 600);
	for (uint64_t ns = 50; ns < 1000; ns += 100)
		put_sample(PID, ns); /* 150 to 550 lie in it */
	ck_assert_int_eq(report("f"), 0);
	ck_assert_uint_eq(number("samples"), 5);
	ck_assert_uint_eq(number("count"), 1);
	ck_assert_uint_eq(number("inside_of_these"), 2);
	ck_assert_uint_eq(number("total_ns"), 500);
	ck_assert_int_eq(report("?"), 0);
	ck_assert_uint_eq(number("samples"), 5);
	ck_assert_uint_eq(number("inside_of_these"), 3);
}
END_TEST

START_TEST(slices_that_touch_each_other_are_two)
{
	put_tracks();
	put_slice(10, "f", 100, 200);
	put_slice(10, "f", 200, 300);
	put_slice(10, "f", 300, 300);
	put_sample(PID, 200);
	put_sample(PID + 1, 250);
	ck_assert_int_eq(report("f"), 0);
	ck_assert_uint_eq(number("samples"), 1);
	ck_assert_uint_eq(number("count"), 3);
	ck_assert_uint_eq(number("inside_of_these"), 0);
	ck_assert_uint_eq(number("without_samples"), 1);
}
END_TEST

START_TEST(what_has_no_end_ends_with_the_recording)
{
	put_tracks();
	put_event(10, "f", 100);
	put_event(11, "g", 100); /* another thread's, which says nothing of the first one */
	put_event(11, NULL, 150);
	put_event(11, NULL, 170); /* an END of nothing */
	put_sample(PID, 50);
	put_sample(PID, 900);
	put_sample(PID, 1000);
	put_end(1000);
	ck_assert_int_eq(report("f"), 0);
	ck_assert_uint_eq(number("samples"), 2);
	ck_assert_uint_eq(number("unfinished"), 1);
	ck_assert_uint_eq(number("total_ns"), 900);
}
END_TEST

START_TEST(calls_deeper_than_any_viewer_follows_keep_their_ends)
{
	put_tracks();
	put_event(10, "f", 100);
	for (int i = 0; i < 600; i++)
		put_event(10, "deep", 110);
	for (int i = 0; i < 600; i++)
		put_event(10, NULL, 190);
	put_event(10, NULL, 200);
	put_sample(PID, 150);
	put_sample(PID, 210);
	put_end(300);
	ck_assert_int_eq(report("f"), 0);
	ck_assert_uint_eq(number("samples"), 1);
	ck_assert_uint_eq(number("total_ns"), 100);
	ck_assert_uint_eq(number("unfinished"), 0);
}
END_TEST

START_TEST(what_is_on_no_thread_has_the_samples_of_its_process)
{
	put_tracks();
	put_slice(UUID_PROCESS + 1, "GET /[a]?x", 100, 300);
	put_slice(UUID_PROCESS + 2, "GET /[a]?x", 200, 400);
	put_slice(UUID_NOBODY, "GET /[a]?x", 0, 1000);
	for (uint32_t i = 0; i < N_TIDS; i++) {
		put_sample(PID + i, 250);
		put_sample(PID + i, 500);
	}
	/* A name is itself before it is a glob. */
	ck_assert_int_eq(report("GET /[a]?x"), 0);
	ck_assert_uint_eq(number("samples"), N_TIDS);
	ck_assert_uint_eq(number("count"), 3);
	ck_assert_uint_eq(number("of_processes"), 2);
	ck_assert_uint_eq(number("of_no_process"), 1);
	ck_assert_uint_eq(number("without_samples"), 1);
	ck_assert_uint_eq(number("inside_of_these"), 0);
}
END_TEST

/* Requests that all lie over each other, and samples that lie in all of them. */
START_TEST(many_of_both_take_no_longer_than_their_number)
{
	enum { MANY = 100000 };
	clock_t start;

	put_tracks();
	for (uint64_t i = 0; i < MANY; i++) {
		put_slice(UUID_PROCESS + 1 + i % 2, "GET", i, 10 * MANY + i);
		put_slice(10, "read", 10 * i, 10 * i + 5);
		put_sample(PID, 10 * i + 3);
	}
	start = clock();
	ck_assert_int_eq(report("*"), 0);
	ck_assert_uint_eq(number("samples"), MANY);
	ck_assert_uint_eq(number("count"), 2 * MANY);
	/* Each with each would be 10^10. */
	ck_assert_int_lt((clock() - start) / CLOCKS_PER_SEC, 20);
}
END_TEST

/* ---- nothing to report ---- */

START_TEST(a_name_that_is_not_there_is_told_its_nearest)
{
	ck_assert_int_eq(run(SLICES, "raed", NULL, NULL), 1);
	assert_says(err, "has no slices 'raed'; the nearest:\n  read (5)\n");
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(run(SLICES, "cuLaunch?", NULL, NULL), 1);
	assert_says(err, "nearest:\n  cuLaunchKernel (2)\n");
	ck_assert_int_eq(run(SLICES, "get", "--folded", NULL), 1);
	assert_says(err, "nearest:\n  GET /a (2)\n");
	ck_assert_int_eq(run(SLICES, "log", NULL, NULL), 1);
	assert_says(err, "nearest:\n  log\\x1b[31m (1)\n");
	ck_assert_int_eq(run("tests/golden/report/trace.pftrace", "read", NULL, NULL), 1);
	assert_says(err, "has no slices: --sources");
}
END_TEST

START_TEST(slices_without_samples_have_status_1_and_are_told)
{
	ck_assert_int_eq(run(SLICES, "poll", NULL, NULL), 1);
	assert_says(err, "lies in the 1 slice 'poll' (80.0 ms in all)");
	ck_assert_int_eq(run(SLICES, "read", "--pid", "200"), 1);
	assert_says(err, "none of the 5 slices 'read'");
	ck_assert_int_eq(run(SLICES, "read", "--to", "50ms"), 1);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(reports_without_samples_have_no_slices)
{
	ck_assert_int_eq(run(SLICES, "read", "--gpu", NULL), 2);
	assert_says(err, "--gpu has none");
	ck_assert_int_eq(run(SLICES, "read", "--why", "x"), 2);
	ck_assert_int_eq(run(SLICES, "read", "--network", NULL), 2);
	ck_assert_str_eq(out, "");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("report_slices");
	TCase *tc = tcase_create("report_slices");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, samples_are_those_of_a_simple_count, 0, 5);
	tcase_add_test(tc, a_recursion_counts_once);
	tcase_add_test(tc, slices_that_touch_each_other_are_two);
	tcase_add_test(tc, what_has_no_end_ends_with_the_recording);
	tcase_add_test(tc, calls_deeper_than_any_viewer_follows_keep_their_ends);
	tcase_add_test(tc, what_is_on_no_thread_has_the_samples_of_its_process);
	tcase_add_test(tc, many_of_both_take_no_longer_than_their_number);
	tcase_add_test(tc, a_name_that_is_not_there_is_told_its_nearest);
	tcase_add_test(tc, slices_without_samples_have_status_1_and_are_told);
	tcase_add_test(tc, reports_without_samples_have_no_slices);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
