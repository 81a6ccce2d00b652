/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_report.c - `tracectl report` as a user sees it: status, and output against
 * tests/golden/report/. With UPDATE=1 in the environment that is written anew.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buf.h"
#include "command.h"
#include "good_trace.h"
#include "io.h"
#include "report_completeness.h"
#include "text.h"
#include "unwind/stack_walk.h"

#define GOLDEN "tests/golden/report/"
#define TRACE  GOLDEN "trace.pftrace"
#define GPU    GOLDEN "gpu.pftrace"
#define SLICES GOLDEN "slices.pftrace"

#define MAX_ARGS 12

static char out[1 << 18], err[8192]; /* what the command printed */

static void read_back(int fd, char *dst, size_t size)
{
	ssize_t n = pread(fd, dst, size - 1, 0);

	ck_assert_int_ge(n, 0);
	dst[n] = '\0';
	close(fd);
}

/* `args` is one string, with a space between them. */
static int run(const char *args)
{
	int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
	int new_out = memfd_create("out", MFD_CLOEXEC), new_err = memfd_create("err", MFD_CLOEXEC);
	char *argv[MAX_ARGS + 2] = { "report" };
	char copy[512];
	int argc = 1, status;

	ck_assert_uint_lt(strlen(args), sizeof(copy));
	strcpy(copy, args);
	for (char *s = copy, *arg; (arg = strsep(&s, " ")) != NULL;)
		if (arg[0] && argc <= MAX_ARGS)
			argv[argc++] = arg;
	fflush(NULL);
	ck_assert_int_ge(dup2(new_out, STDOUT_FILENO), 0);
	ck_assert_int_ge(dup2(new_err, STDERR_FILENO), 0);
	status = cmd_report(argc, argv);
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

/* ---- golden output ---- */

static const struct {
	const char *name, *args;
} golden[] = {
	{ "default", "" },
	{ "children", "--children --top 5" },
	{ "by-process", "--by process" },
	{ "by-thread", "--by thread" },
	{ "by-cpu", "--by cpu" },
	{ "by-module", "--by module" },
	{ "by-line", "--by line" },
	{ "no-inline", "--no-inline" },
	{ "no-kernel", "--no-kernel" },
	{ "min", "--min 15" },
	{ "depth", "--depth 2" },
	{ "pid", "--pid 200" },
	{ "tid", "--tid 101,30" },
	{ "comm", "--comm s*" },
	{ "cpu", "--cpu 1" },
	{ "time", "--from 0.5 --to 750ms" },
	{ "offcpu", "--source offcpu" },
	{ "other-producers", "--source 50" },
	{ "folded", "--folded" },
	{ "folded-thread", "--folded --by thread --no-inline" },
	{ "folded-offcpu", "--folded --source linux.offcpu" },
	{ "flame", "--flame" },
	{ "callers", "--callers *fib --min 0" },
	{ "callers-read", "--callers ksys_read --by process" },
	{ "callers-module", "--callers libc* --by module" },
	{ "completeness", "--completeness" },
	{ "json", "--json" },
	{ "json-line", "--json --by line --tid 101" },
	{ "json-thread", "--json --by thread --tid 101" },
	{ "gpu", "--gpu" },
	{ "gpu-pid", "--gpu --pid 200 --from 0.05" },
	{ "gpu-comm", "--gpu --comm g* --top 1" },
	{ "gpu-json", "--gpu --json" },
	{ "frames", "--frames" },
	{ "frames-top", "--frames --top 1 --pid 100" },
	{ "frames-json", "--json --frames --to 100ms" },
	{ "slice", "--slice read" },
	{ "slice-glob", "--slice r*d --by thread --min 50" },
	{ "slice-library", "--slice cuLaunchKernel --callers launch" },
	{ "slice-request", "--slice GET* --flame" },
	{ "slice-frame", "--slice frame*" },
	{ "slice-job", "--slice app --folded" },
	{ "slice-time", "--slice read --from 150ms --to 650ms" },
	{ "slice-pid", "--slice * --pid 200" },
	{ "slice-comm", "--slice * --comm worker --no-kernel" },
	{ "slice-json", "--slice read --json --tid 101" },
};

#define N_GOLDEN ((int)(sizeof(golden) / sizeof(golden[0])))

static const char *trace_of(const char *args)
{
	if (strstr(args, "--slice"))
		return SLICES;
	return strstr(args, "--gpu") || strstr(args, "--frames") ? GPU : TRACE;
}

START_TEST(output_is_what_it_was)
{
	char path[128], args[256];
	struct buf expected = { 0 };

	snprintf(path, sizeof(path), GOLDEN "%s.txt", golden[_i].name);
	snprintf(args, sizeof(args), "%s %s", golden[_i].args, trace_of(golden[_i].args));
	ck_assert_int_eq(run(args), 0);
	ck_assert_str_eq(err, "");
	if (getenv("UPDATE")) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(io_write_all(fd, out, strlen(out)), 0);
		close(fd);
		return;
	}
	ck_assert_int_eq(io_read_all(path, 1 << 20, &expected), 0);
	ck_assert_int_eq(buf_append(&expected, "", 1), 0);
	ck_assert_str_eq(out, (const char *)expected.data);
	buf_done(&expected);
}
END_TEST

START_TEST(no_output_has_what_a_terminal_would_obey)
{
	char args[256];

	snprintf(args, sizeof(args), "%s %s", golden[_i].args, trace_of(golden[_i].args));
	ck_assert_int_eq(run(args), 0);
	for (const unsigned char *p = (const unsigned char *)out; *p; p++)
		ck_assert(*p == '\n' || (*p >= 0x20 && *p != 0x7f));
	ck_assert(text_is_utf8(out, strlen(out)));
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(a_file_without_such_samples_has_status_1_and_says_which_there_are)
{
	ck_assert_int_eq(run("--source blocked " TRACE), 1);
	assert_says(err, "no samples of 'blocked'");
	assert_says(err, "linux.offcpu (off-CPU)");
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(run("--callers nobody " TRACE), 1);
	assert_says(err, "no sample in " TRACE " has a function 'nobody'");
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(run("--pid 4711 " TRACE), 1);
	assert_says(err, "none of the samples");
}
END_TEST

START_TEST(a_file_without_gpu_jobs_or_frames_has_status_1)
{
	ck_assert_int_eq(run("--gpu " TRACE), 1);
	assert_says(err, "has no such GPU jobs");
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(run("--frames " TRACE), 1);
	assert_says(err, "has no such frames");
	ck_assert_int_eq(run("--gpu --pid 4711 " GPU), 1);
	ck_assert_int_eq(run("--frames --from 500ms " GPU), 1);
	ck_assert_int_eq(run("--gpu --frames " GPU), 2);
	assert_says(err, "one at a time");
	ck_assert_int_eq(run("--gpu --json --folded " GPU), 2);
}
END_TEST

START_TEST(what_is_no_trace_has_status_2)
{
	ck_assert_int_eq(run("tests/golden/report/trace.textproto"), 2);
	assert_says(err, "is no Perfetto trace");
	ck_assert_int_eq(run("/dev/null"), 2);
	assert_says(err, "is empty");
	ck_assert_int_eq(run("/nonexistent"), 2);
	assert_says(err, "No such file");
}
END_TEST

static const char *const wrong[] = {
	"--pid x " TRACE,	   "--tid -1 " TRACE,
	"--by words " TRACE,	   "--min 101 " TRACE,
	"--min nan " TRACE,	   "--depth 0 " TRACE,
	"--cpu x " TRACE,	   "--from -1 " TRACE,
	"--from inf " TRACE,	   "--from 2 --to 1 " TRACE,
	"--folded --flame " TRACE, "--nonsense " TRACE,
	TRACE " " TRACE,	   "",
};

START_TEST(a_wrong_command_line_has_status_2_and_one_message)
{
	ck_assert_int_eq(run(wrong[_i]), 2);
	ck_assert_str_ne(err, "");
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(help_lists_every_way_to_report)
{
	ck_assert_int_eq(run("--help"), 0);
	assert_says(out, "--flame");
	assert_says(out, "--folded");
	assert_says(out, "--completeness");
	assert_says(out, "--json");
	assert_says(out, "--slice");
}
END_TEST

START_TEST(every_reason_of_the_walker_is_known_for_what_it_is)
{
	for (unsigned e = 0; e < UNWIND_ENDS; e++) {
		const char *name = unwind_end_name((enum unwind_end)e);
		enum stack_end want = e <= UNWIND_APPROX			 ? STACK_WHOLE
				      : unwind_end_has_stack((enum unwind_end)e) ? STACK_ENDS
										 : STACK_NONE;

		ck_assert_msg(stack_end_of(name) == want, "%s", name);
		ck_assert_msg(stack_end_text(name)[0] != '\0', "%s", name);
	}
	ck_assert_int_eq(stack_end_of(""), STACK_WHOLE);
	ck_assert_int_eq(stack_end_of("OF_ANOTHER_PRODUCER"), STACK_ENDS);
	ck_assert_str_eq(stack_end_text("OF_ANOTHER_PRODUCER"), "");
}
END_TEST

/* ---- files that are not whole ---- */

START_TEST(a_trace_that_is_cut_anywhere_is_reported_or_refused_but_read)
{
	struct buf file = { 0 };
	char path[64];

	ck_assert_int_eq(io_read_all(TRACE, 1 << 20, &file), 0);
	for (size_t len = 0; len < file.len; len += 37) {
		int fd = memfd_create("cut", MFD_CLOEXEC), status;

		ck_assert_int_eq(io_write_all(fd, file.data, len), 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		status = run(path);
		ck_assert_msg(status >= 0 && status <= 2, "%d at %zu", status, len);
		/* The first sample ends at byte 2000 or so. */
		if (len > 3000)
			ck_assert_int_eq(status, 0);
		close(fd);
	}
	buf_done(&file);
}
END_TEST

START_TEST(blocks_that_cannot_be_read_are_said_to_be)
{
	int fd = memfd_create("zstd", MFD_CLOEXEC);
	struct buf file = { 0 }, block = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	put_bytes(&block, 133, "frame", 5);
	put_packet(&file, block.data, block.len);
	ck_assert_int_eq(io_write_all(fd, file.data, file.len), 0);
	ck_assert_int_eq(run(path), 2);
	assert_says(err, "zstd");

	file.len = 0;
	ck_assert_int_eq(io_read_all(TRACE, 1 << 20, &file), 0);
	ck_assert_int_eq(io_write_all(fd, file.data, file.len), 0);
	ck_assert_int_eq(run(path), 0);
	assert_says(out, "1 block ");
	buf_done(&file);
	buf_done(&block);
	close(fd);
}
END_TEST

/* ---- on a terminal ---- */

/* Columns of the longest line behind what stands above; escape sequences have none. */
static size_t widest(const char *text)
{
	size_t max = 0, n = 0;
	const char *p = strstr(text, "\n\n");

	for (p = p ? p : text; *p; p++) {
		if (*p == '\033')
			p = strchr(p, 'm');
		else if (*p == '\n')
			n = 0;
		else if (((unsigned char)*p & 0xc0) != 0x80 && ++n > max)
			max = n;
	}
	return max;
}

/* What the way to report number `mode` prints on a terminal. */
static char *on_terminal(int mode, unsigned width)
{
	struct report_options o = {
		.file = TRACE,
		.mode = &report_modes[mode],
		.inlined = true,
		.kernel = true,
		.max_depth = SIZE_MAX,
		.max_rows = 20,
		.width = width,
		.colour = true,
		.unicode = true,
	};
	int fd = open(TRACE, O_RDONLY | O_CLOEXEC);
	FILE *saved = stdout;
	struct trace_index *ix;
	struct trace_file *f;
	char *text;
	size_t len;

	ck_assert_int_eq(trace_index_new(&ix), 0);
	ck_assert_int_eq(trace_file_open(fd, &f), 0);
	ck_assert_int_eq(trace_index_read(ix, f), 0);
	stdout = open_memstream(&text, &len);
	ck_assert_int_eq(report_on(&o, ix), 0);
	fclose(stdout);
	stdout = saved;
	trace_file_free(f);
	trace_index_free(ix);
	close(fd);
	return text;
}

START_TEST(lines_are_no_wider_than_the_terminal)
{
	for (unsigned width = 72; width <= 200; width += 16) {
		char *text = on_terminal(_i, width);

		ck_assert_uint_le(widest(text), width);
		free(text);
	}
}
END_TEST

START_TEST(a_flame_graph_fills_the_terminal_with_colours)
{
	char *text = on_terminal(1, 80), *line = strstr(text, "\n\n") + 2;

	ck_assert_uint_eq(widest(text), 80);
	ck_assert_ptr_nonnull(strstr(line, "\033[38;5;16;48;5;"));
	/* Colours end with the line. */
	for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
		ck_assert_mem_eq(end - 4, "\033[0m", 4);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("report");
	TCase *tc = tcase_create("report");
	SRunner *sr;
	int failed;

	/* The output must not hang on where the tests run. */
	unsetenv("COLUMNS");
	tcase_add_loop_test(tc, output_is_what_it_was, 0, N_GOLDEN);
	tcase_add_loop_test(tc, no_output_has_what_a_terminal_would_obey, 0, N_GOLDEN);
	tcase_add_test(tc, a_file_without_such_samples_has_status_1_and_says_which_there_are);
	tcase_add_test(tc, a_file_without_gpu_jobs_or_frames_has_status_1);
	tcase_add_test(tc, what_is_no_trace_has_status_2);
	tcase_add_loop_test(tc, a_wrong_command_line_has_status_2_and_one_message, 0,
			    (int)(sizeof(wrong) / sizeof(wrong[0])));
	tcase_add_test(tc, help_lists_every_way_to_report);
	tcase_add_test(tc, every_reason_of_the_walker_is_known_for_what_it_is);
	tcase_add_test(tc, a_trace_that_is_cut_anywhere_is_reported_or_refused_but_read);
	tcase_add_test(tc, blocks_that_cannot_be_read_are_said_to_be);
	tcase_add_loop_test(tc, lines_are_no_wider_than_the_terminal, 0, 2);
	tcase_add_test(tc, a_flame_graph_fills_the_terminal_with_colours);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
