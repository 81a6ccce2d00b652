/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes; lines for the administrator; what is known of CPUs. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpus.h"
#include "io.h"
#include "log.h"

static char path[] = "/tmp/test_io.XXXXXX";
static int fd;

static void set_up(void)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
}

static void tear_down(void)
{
	close(fd);
	unlink(path);
}

static void fill(size_t len)
{
	char *data = malloc(len ? len : 1);

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < len; i++)
		data[i] = (char)('a' + i % 26);
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(io_write_all(fd, data, len), 0);
	free(data);
}

START_TEST(a_small_file_is_read_as_a_string)
{
	char text[8];

	fill(5);
	ck_assert_int_eq(io_read_file(path, text, sizeof(text)), 5);
	ck_assert_str_eq(text, "abcde");
	fill(100); /* cut, and ended */
	ck_assert_int_eq(io_read_file(path, text, sizeof(text)), 7);
	ck_assert_str_eq(text, "abcdefg");
	ck_assert_int_eq(io_read_file(path, text, 1), 0);
	ck_assert_str_eq(text, "");
	ck_assert_int_eq(io_read_file("/does/not/exist", text, sizeof(text)), -ENOENT);
	ck_assert_int_eq(io_read_file("/tmp", text, sizeof(text)), -EISDIR);
}
END_TEST

START_TEST(a_file_is_appended_up_to_its_limit)
{
	struct buf b = { 0 };

	ck_assert_int_eq(buf_append(&b, "<", 1), 0);
	fill(200000);
	ck_assert_int_eq(io_read_all(path, 200000, &b), 0);
	ck_assert_uint_eq(b.len, 200001);
	for (size_t i = 0; i < 200000; i++)
		ck_assert_int_eq(b.data[i + 1], 'a' + (int)(i % 26));
	ck_assert_int_eq(io_read_all(path, 199999, &b), -EFBIG);
	buf_done(&b);
	fill(0);
	ck_assert_int_eq(io_read_all(path, 0, &b), 0);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_int_eq(io_read_all("/does/not/exist", 10, &b), -ENOENT);
	ck_assert_int_eq(io_read_all("/tmp", 10, &b), -EISDIR);
	buf_done(&b);
}
END_TEST

START_TEST(an_endless_file_ends_at_the_limit)
{
	struct buf b = { 0 };

	ck_assert_int_eq(io_read_all("/dev/zero", 1 << 20, &b), -EFBIG);
	ck_assert_uint_le(b.len, (1u << 20) + (64u << 10));
	buf_done(&b);
}
END_TEST

START_TEST(only_a_regular_file_is_opened)
{
	char fifo[sizeof(path) + 8], link[sizeof(path) + 8];
	int r = io_open_regular(path);

	ck_assert_int_ge(r, 0);
	close(r);
	snprintf(link, sizeof(link), "%s.link", path);
	ck_assert_int_eq(symlink(path, link), 0);
	r = io_open_regular(link);
	ck_assert_int_ge(r, 0);
	close(r);
	unlink(link);
	ck_assert_int_eq(io_open_regular("/does/not/exist"), -ENOENT);
	ck_assert_int_eq(io_open_regular("/tmp"), -EINVAL);
	ck_assert_int_eq(io_open_regular("/dev/null"), -EINVAL);

	/* Who would write into it is not let go on. */
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(io_open_regular(fifo), -EINVAL);
	ck_assert_int_eq(open(fifo, O_WRONLY | O_NONBLOCK), -1);
	ck_assert_int_eq(errno, ENXIO);
	unlink(fifo);
}
END_TEST

START_TEST(a_failed_write_says_why)
{
	ck_assert_int_eq(io_write_all(-1, "x", 1), -EBADF);
	ck_assert_int_eq(io_write_all(-1, "x", 0), 0);
}
END_TEST

/* ---- log ---- */

/* What log_*() writes while `fd` is stderr. */
static void logged(char *dst, size_t size, const char *program, enum log_level level,
		   const char *message)
{
	int saved = dup(STDERR_FILENO);

	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
	log_init(program, LOG_LEVEL_INFO);
	log_write(level, "%s", message);
	ck_assert_int_ge(dup2(saved, STDERR_FILENO), 0);
	close(saved);
	ck_assert_int_ge(io_read_file(path, dst, size), 0);
}

START_TEST(a_line_names_the_program_and_holds_no_control_characters)
{
	char text[2048];

	unsetenv("JOURNAL_STREAM");
	logged(text, sizeof(text), "tracerd", LOG_LEVEL_WARN, "a\nb\x1b[31m\xff");
	ck_assert_str_eq(text, "tracerd: a\\x0ab\\x1b[31m\xef\xbf\xbd\n");
	logged(text, sizeof(text), "tracerd", LOG_LEVEL_DEBUG, "not wanted");
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(a_long_line_is_cut_but_ended)
{
	char text[4096], message[3000], program[500];

	unsetenv("JOURNAL_STREAM");
	memset(message, 'm', sizeof(message));
	message[sizeof(message) - 1] = '\0';
	memset(program, 'p', sizeof(program));
	program[sizeof(program) - 1] = '\0';
	logged(text, sizeof(text), "x", LOG_LEVEL_ERROR, message);
	ck_assert_uint_gt(strlen(text), 900);
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	logged(text, sizeof(text), program, LOG_LEVEL_ERROR, message);
	ck_assert_ptr_nonnull(strchr(text, '\n'));
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	for (const char *p = text; *p; p++)
		ck_assert(*p == 'm' || *p == 'p' || *p == ':' || *p == ' ' || *p == '\n');
}
END_TEST

/* A terminal below a service inherits the variable, but is not the journal. */
START_TEST(the_journals_marks_are_for_the_journal_only)
{
	char text[256], stream[64];
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	logged(text, sizeof(text), "tracerd", LOG_LEVEL_WARN, "hello");
	ck_assert_str_eq(text, "<4>hello\n");
	setenv("JOURNAL_STREAM", "8:1", 1);
	logged(text, sizeof(text), "tracerd", LOG_LEVEL_WARN, "hello");
	ck_assert_str_eq(text, "tracerd: hello\n");
	setenv("JOURNAL_STREAM", "garbage", 1);
	logged(text, sizeof(text), "tracerd", LOG_LEVEL_WARN, "hello");
	ck_assert_str_eq(text, "tracerd: hello\n");
}
END_TEST

/* ---- CPUs ---- */

START_TEST(this_machine_has_cpus)
{
	bool online[MAX_CPUS];
	int n = cpus_online(online), count = 0;
	unsigned possible = cpus_possible();

	ck_assert_int_ge(n, 1);
	ck_assert_uint_ge(possible, (unsigned)n);
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		count += online[i];
		ck_assert(!online[i] || i < possible);
	}
	ck_assert_int_eq(count, n);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("io");
	TCase *tc = tcase_create("io");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_small_file_is_read_as_a_string);
	tcase_add_test(tc, a_file_is_appended_up_to_its_limit);
	tcase_add_test(tc, an_endless_file_ends_at_the_limit);
	tcase_add_test(tc, only_a_regular_file_is_opened);
	tcase_add_test(tc, a_failed_write_says_why);
	tcase_add_test(tc, a_line_names_the_program_and_holds_no_control_characters);
	tcase_add_test(tc, a_long_line_is_cut_but_ended);
	tcase_add_test(tc, the_journals_marks_are_for_the_journal_only);
	tcase_add_test(tc, this_machine_has_cpus);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
