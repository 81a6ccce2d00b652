/* SPDX-License-Identifier: Apache-2.0 */
/* `tracectl report --why` of traces that the encoder of waits has written. */
#include <asm/unistd.h>
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "collect/offcpu_encode.h"
#include "command.h"
#include "io.h"
#include "offcpu_events.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "symbolize/symbolizer.h"
#include "trace_meta.h"
#include "written_trace.h"

#define TGID   100
#define READER 101
#define WRITER 102
#define KERNEL 0xffffc00000000000ull /* no symbols are there */

static struct written w;
static struct trace_config config;
static struct symbolizer *symbolizer;
static struct process_table *processes;
static void *encoder;
static uint64_t t0;
static char out[1 << 16], err[4096], path[64];
static int file = -1;

static void put_thread(uint32_t tid, const char *comm)
{
	ProcessTree tree = PROCESS_TREE__INIT;
	ProcessTree__Thread thread = PROCESS_TREE__THREAD__INIT, *threads = &thread;
	TracePacket pkt = TRACE_PACKET__INIT;
	struct task_info task = { .tid = tid, .tgid = TGID, .start_ns = 1, .process_start_ns = 1 };

	strcpy(task.comm, comm);
	process_table_fork(processes, &task);
	thread.has_tid = thread.has_tgid = 1;
	thread.tid = (int32_t)tid;
	thread.tgid = TGID;
	thread.name = (char *)comm;
	tree.n_threads = 1;
	tree.threads = &threads;
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
	config.offcpu_min_ns = NS_PER_MS;
	ck_assert_int_eq(symbolizer_new(&symbolizer), 0);
	ck_assert_int_eq(process_table_new(symbolizer, &processes), 0);
	put_thread(TGID, "program");
	put_thread(READER, "reader");
	put_thread(WRITER, "writer");
	env.writer = w.writer;
	env.processes = processes;
	env.symbolizer = symbolizer;
	env.start_ns = t0;
	ck_assert_int_eq(offcpu_encoder_new(&env, &encoder), 0);
}

static void tear_down(void)
{
	offcpu_encoder_free(encoder);
	process_table_free(processes);
	symbolizer_free(symbolizer);
	written_done(&w);
	if (file >= 0)
		close(file);
	file = -1;
}

/* Times in ms after the start; `waker` 0: an interrupt. */
static void put_wait(uint32_t tid, int nr, uint32_t waker, unsigned begin, unsigned woken,
		     unsigned end)
{
	struct offcpu_event ev;

	memset(&ev, 0, sizeof(ev));
	ev.hdr.type = woken ? OFFCPU_WAIT : OFFCPU_UNFINISHED;
	ev.hdr.time_ns = t0 + end * NS_PER_MS;
	ev.hdr.tgid = ev.hdr.peer_tgid = TGID;
	ev.hdr.tid = tid;
	ev.hdr.peer_tid = waker;
	ev.begin_ns = t0 + begin * NS_PER_MS + 1;
	ev.woken_ns = woken ? t0 + woken * NS_PER_MS + 1 : 0;
	ev.hdr.time_ns++;
	ev.flags = waker ? 0 : OFFCPU_WOKEN_BY_IRQ;
	ev.syscall = nr;
	ev.file = nr == __NR_read ? OFFCPU_FILE_PIPE : OFFCPU_FILE_NONE;
	ev.state = 1;
	ev.n_kernel = ev.n_waker_kernel = 1;
	ev.ips[0] = KERNEL + 0x10;
	ev.ips[1] = KERNEL + 0x20;
	ev.hdr.size = OFFCPU_HEAD + 2 * 8;
	ck_assert(offcpu_valid(&ev.hdr, ev.hdr.size));
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev.hdr.time_ns);
	ck_assert_int_eq(offcpu_encode(encoder, &ev.hdr), 0);
}

/* ---- the command ---- */

static void finish(unsigned end)
{
	ck_assert_int_eq(offcpu_encoder_flush(encoder, t0, true), 0);
	ck_assert_int_eq(trace_meta_milestone(w.writer, TRACE_DISABLED, t0 + end * NS_PER_MS), 0);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	file = memfd_create("trace", MFD_CLOEXEC);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(io_write_all(file, w.file.data, w.file.len), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
}

static void read_back(int fd, char *dst, size_t size)
{
	ssize_t n = pread(fd, dst, size - 1, 0);

	ck_assert_int_ge(n, 0);
	dst[n] = '\0';
	close(fd);
}

static int why(const char *thread, const char *option, const char *value)
{
	char *argv[] = { (char *)"report",
			 (char *)"--why",
			 (char *)thread,
			 path,
			 (char *)option,
			 (char *)value,
			 NULL };
	int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO), status;
	int new_out = memfd_create("out", MFD_CLOEXEC), new_err = memfd_create("err", MFD_CLOEXEC);

	fflush(NULL);
	ck_assert_int_ge(dup2(new_out, STDOUT_FILENO), 0);
	ck_assert_int_ge(dup2(new_err, STDERR_FILENO), 0);
	status = cmd_report(option ? 6 : 4, argv);
	fflush(NULL);
	ck_assert_int_ge(dup2(saved_out, STDOUT_FILENO), 0);
	ck_assert_int_ge(dup2(saved_err, STDERR_FILENO), 0);
	close(saved_out);
	close(saved_err);
	read_back(new_out, out, sizeof(out));
	read_back(new_err, err, sizeof(err));
	return status;
}

static void assert_says(const char *where, const char *text)
{
	ck_assert_msg(strstr(where, text) != NULL, "\"%s\" is not in: %s", text, where);
}

/* The line that ends so, without the blanks in it but one. */
static const char *line_with(const char *text)
{
	static char line[512];
	const char *at = strstr(out, text), *begin = at;
	size_t n = 0;

	ck_assert_msg(at != NULL, "\"%s\" is not in: %s", text, out);
	while (begin > out && begin[-1] != '\n')
		begin--;
	for (; *begin && *begin != '\n' && n < sizeof(line) - 1; begin++)
		if (*begin != ' ' || (n && line[n - 1] != ' '))
			line[n++] = *begin;
	line[n] = '\0';
	return line;
}

/* ---- tests ---- */

/*
 * reader:  0 ====== futex ========= 8 . 9 == futex == 14
 * writer:  0 . 1 == read pipe == 6 ..8.....13.........14
 */
static void put_chain(void)
{
	put_wait(WRITER, __NR_read, 0, 1, 6, 6);
	put_wait(READER, __NR_futex, WRITER, 0, 8, 9);
	put_wait(READER, __NR_futex, WRITER, 9, 13, 14);
}

START_TEST(time_goes_down_the_chain_of_wakers)
{
	put_chain();
	finish(20);
	ck_assert_int_eq(why("reader", "--min", "0"), 0);
	ck_assert_str_eq(err, "");
	assert_says(out, "reader [101]: 2 waits, 14.0 ms of ");
	assert_says(out, "blocked 12.0 ms, then runnable 2.00 ms");
	ck_assert_str_eq(line_with("100.0%         2"), "14.0 ms 100.0% 2 9.00 ms futex");
	ck_assert_str_eq(line_with("woken by writer"),
			 "85.7% 12.0 ms 2x woken by writer [102]: [kernel]");
	ck_assert_str_eq(line_with("read pipe"), "35.7% 5.00 ms 1x read pipe: [kernel]");
	ck_assert_str_eq(line_with("woken by interrupt"), "35.7% 5.00 ms 1x woken by interrupt");
	ck_assert_str_eq(line_with("ran, or waited"),
			 "50.0% 7.00 ms 2x ran, or waited too short to be seen");
}
END_TEST

START_TEST(a_thread_may_be_told_by_its_number)
{
	put_chain();
	finish(20);
	ck_assert_int_eq(why("102", NULL, NULL), 0);
	assert_says(out, "writer [102]: 1 waits, 5.00 ms");
	ck_assert_ptr_null(strstr(out, "reader"));
}
END_TEST

START_TEST(a_name_may_mean_several_threads)
{
	put_chain();
	finish(20);
	ck_assert_int_eq(why("*r", NULL, NULL), 0);
	assert_says(out, "2 threads '*r': 3 waits, 19.0 ms");
	assert_says(out, "read pipe (read)");
}
END_TEST

START_TEST(only_what_lies_between_two_times_counts)
{
	put_chain();
	finish(20);
	ck_assert_int_eq(why("reader", "--from", "10ms"), 0);
	/* The recording began a little before t0. */
	assert_says(out, "reader [101]: 1 waits, ");
	ck_assert_int_eq(why("reader", "--to", "0.0001s"), 0);
	assert_says(out, "reader [101]: ");
}
END_TEST

START_TEST(depth_is_that_of_the_wakers_that_are_followed)
{
	put_chain();
	finish(20);
	ck_assert_int_eq(why("reader", "--depth", "1"), 0);
	assert_says(out, "read pipe");
}
END_TEST

START_TEST(who_is_never_woken_is_said_to_wait_on)
{
	put_wait(READER, __NR_futex, 0, 1, 0, 20);
	finish(20);
	ck_assert_int_eq(why("reader", NULL, NULL), 0);
	assert_says(out, "not woken, or nobody saw by whom");
}
END_TEST

START_TEST(without_waits_it_is_said_how_to_record_them)
{
	finish(20);
	ck_assert_int_eq(why("reader", NULL, NULL), 1);
	assert_says(err, "record them with --sources offcpu");
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(without_waits_of_that_thread_this_is_said)
{
	put_chain();
	finish(20);
	ck_assert_int_eq(why("nobody", NULL, NULL), 1);
	assert_says(err, "no waits of a thread 'nobody'");
	ck_assert_int_eq(why("1\n2", NULL, NULL), 1);
	ck_assert_ptr_null(strstr(err, "1\n2")); /* nothing that a terminal obeys */
}
END_TEST

int main(void)
{
	Suite *s = suite_create("report_why");
	TCase *tc = tcase_create("report_why");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, time_goes_down_the_chain_of_wakers);
	tcase_add_test(tc, a_thread_may_be_told_by_its_number);
	tcase_add_test(tc, a_name_may_mean_several_threads);
	tcase_add_test(tc, only_what_lies_between_two_times_counts);
	tcase_add_test(tc, depth_is_that_of_the_wakers_that_are_followed);
	tcase_add_test(tc, who_is_never_woken_is_said_to_wait_on);
	tcase_add_test(tc, without_waits_it_is_said_how_to_record_them);
	tcase_add_test(tc, without_waits_of_that_thread_this_is_said);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
