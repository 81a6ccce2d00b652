/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_command.c - `tracectl check` as a user sees it: status and output. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"
#include "good_trace.h"

#define FIXTURE "tests/fixtures/example.pftrace"

static struct good_trace t;
static char out[32768]; /* what the command printed */

static void setup(void)
{
	good_trace_init(&t);
}

static void teardown(void)
{
	good_trace_done(&t);
}

/* A path by which `bytes` can be opened. */
static const char *path_of(const struct buf *bytes)
{
	static char path[64];
	int fd = memfd_create("trace", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes->data, bytes->len), (ssize_t)bytes->len);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

static const char *trace_path(void)
{
	struct buf file = { 0 };
	const char *path;

	good_trace_write(&t, &file, 8);
	path = path_of(&file);
	buf_done(&file);
	return path;
}

/* Runs it with `arg` (or NULL) and `path`; `out` has what came on stdout. */
static int run(const char *arg, const char *path)
{
	char *argv[] = { "check", (char *)(arg ? arg : path), (char *)(arg ? path : NULL), NULL };
	int saved = dup(STDOUT_FILENO), fd = memfd_create("out", MFD_CLOEXEC);
	int status;
	ssize_t n;

	fflush(stdout);
	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	status = cmd_check(argv[2] ? 3 : argv[1] ? 2 : 1, argv);
	fflush(stdout);
	ck_assert_int_ge(dup2(saved, STDOUT_FILENO), 0);
	close(saved);
	n = pread(fd, out, sizeof(out) - 1, 0);
	ck_assert_int_ge(n, 0);
	out[n] = '\0';
	close(fd);
	return status;
}

static void assert_says(const char *text)
{
	ck_assert_msg(strstr(out, text) != NULL, "\"%s\" is not in: %s", text, out);
}

static size_t n_lines(void)
{
	size_t n = 0;

	for (const char *p = out; *p; p++)
		n += *p == '\n';
	return n;
}

START_TEST(a_good_trace_gives_one_line_and_status_0)
{
	ck_assert_int_eq(run(NULL, trace_path()), 0);
	ck_assert_uint_eq(n_lines(), 1);
	assert_says("3 samples, 6 switches, 3 slices, 20.000 s, complete, no loss, good");
}
END_TEST

START_TEST(a_finding_gives_a_line_with_its_remedy_and_status_1)
{
	t.samples[1]->stack_sample->callstack_iid = 12;
	t.samples[2]->stack_sample->callstack_iid = 13;
	ck_assert_int_eq(run(NULL, trace_path()), 1);
	ck_assert_uint_eq(n_lines(), 2);
	assert_says("C2 iid-unknown: callstack iid 12 used before it was interned (offset ");
	assert_says(", 0.006000 s), 2 times; intern it first");
	assert_says("1 kind of findings");
}
END_TEST

START_TEST(verbose_gives_each_place)
{
	t.samples[1]->stack_sample->callstack_iid = 12;
	t.samples[2]->stack_sample->callstack_iid = 13;
	ck_assert_int_eq(run("-v", trace_path()), 1);
	ck_assert_uint_eq(n_lines(), 3);
	assert_says("callstack iid 13 used");
}
END_TEST

START_TEST(quiet_says_nothing)
{
	t.samples[1]->stack_sample->callstack_iid = 12;
	ck_assert_int_eq(run("-q", trace_path()), 1);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(an_incomplete_trace_is_good_and_said_to_be_incomplete)
{
	good_trace_remove(&t, t.disabled);
	good_trace_remove(&t, t.ledger);
	ck_assert_int_eq(run(NULL, trace_path()), 0);
	assert_says("not complete: no end of recording, good");
}
END_TEST

START_TEST(a_cut_trace_is_good_and_said_to_be_cut)
{
	struct buf file = { 0 };

	good_trace_write(&t, &file, 8);
	file.len--;
	ck_assert_int_eq(run(NULL, path_of(&file)), 0);
	assert_says("cut in the last packet (offset ");
	buf_done(&file);
}
END_TEST

START_TEST(names_from_the_file_cannot_speak_to_the_terminal)
{
	t.lane_track->track_descriptor->name = "\x1b[2Jrequests\n";
	t.instant->track_event->type = 5;
	ck_assert_int_eq(run(NULL, trace_path()), 1);
	ck_assert_ptr_null(strchr(out, '\x1b'));
	assert_says("\\x1b[2Jrequests\\x0a");
}
END_TEST

START_TEST(json_has_the_same)
{
	t.lane_track->track_descriptor->name = "\"re\\quests\"";
	t.instant->track_event->type = 5;
	ck_assert_int_eq(run("--json", trace_path()), 1);
	ck_assert_uint_eq(n_lines(), 1);
	assert_says("\"good\":false,\"complete\":true,\"cut\":false");
	assert_says("\"samples\":3,\"switches\":6,\"wakings\":2,\"slices\":3");
	assert_says("{\"section\":\"C3\",\"name\":\"track-type\",\"count\":1,");
	assert_says("track \\\"\\\"re\\\\quests\\\"\\\"\"");
}
END_TEST

START_TEST(what_is_no_trace_gives_status_2)
{
	struct buf text = { 0 };

	ck_assert_int_eq(run(NULL, path_of(&text)), 2);
	ck_assert_int_eq(buf_append(&text, "#!/bin/sh\n", 10), 0);
	ck_assert_int_eq(run(NULL, path_of(&text)), 2);
	buf_done(&text);
	ck_assert_int_eq(run(NULL, "/nonexistent"), 2);
	ck_assert_int_eq(run(NULL, "/"), 2);
}
END_TEST

START_TEST(wrong_usage_gives_status_2)
{
	ck_assert_int_eq(run(NULL, NULL), 2);
	ck_assert_int_eq(run("--wrong", "x"), 2);
}
END_TEST

START_TEST(the_worst_of_several_files_counts)
{
	const char *path = trace_path();

	ck_assert_int_eq(run(path, "/nonexistent"), 2);
	ck_assert_int_eq(run("/nonexistent", path), 2);
	ck_assert_int_eq(run(path, path), 0);
	ck_assert_uint_eq(n_lines(), 2);
}
END_TEST

/* Written by hand, not by us, and loaded by Perfetto without a notice: nothing of C1-C4. */
START_TEST(the_example_has_only_what_its_readme_says)
{
	int status = run("-v", FIXTURE);

	ck_assert_int_eq(status, 1);
	assert_says("S sample-not-running: ");
	assert_says(", 3 times; ");
	assert_says("L ledger-missing: ");
	assert_says("253 packets, 22 samples, 54 switches, 47 slices, 1.000 s, complete, "
		    "2 kinds of findings");
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_good_trace_gives_one_line_and_status_0,
		a_finding_gives_a_line_with_its_remedy_and_status_1,
		verbose_gives_each_place,
		quiet_says_nothing,
		an_incomplete_trace_is_good_and_said_to_be_incomplete,
		a_cut_trace_is_good_and_said_to_be_cut,
		names_from_the_file_cannot_speak_to_the_terminal,
		json_has_the_same,
		what_is_no_trace_gives_status_2,
		wrong_usage_gives_status_2,
		the_worst_of_several_files_counts,
		the_example_has_only_what_its_readme_says,
	};
	Suite *suite = suite_create("check_command");
	TCase *tc = tcase_create("command");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
