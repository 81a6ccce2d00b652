/* SPDX-License-Identifier: Apache-2.0 */
/* What systemd and we tell each other. */
#include <check.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"

static void set_up(void)
{
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
}

static void tear_down(void)
{
}

static void set_number(const char *name, long long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", value);
	setenv(name, text, 1);
}

/* A socket named `path`; '@' stands for the NUL of an abstract one. */
static int listen_at(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	ck_assert_int_ge(fd, 0);
	memcpy(addr.sun_path, path, strlen(path));
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path))),
			 0);
	return fd;
}

static void assert_told(const char *path)
{
	char text[64] = "";
	int fd = listen_at(path);

	setenv("NOTIFY_SOCKET", path, 1);
	notify("READY=1");
	ck_assert_int_eq(recv(fd, text, sizeof(text), 0), 7);
	ck_assert_str_eq(text, "READY=1");
	close(fd);
}

START_TEST(systemd_is_told_by_path_or_abstract_name)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/test_notify.%d", (int)getpid());
	assert_told(path);
	unlink(path);
	snprintf(path, sizeof(path), "@test_notify.%d", (int)getpid());
	assert_told(path);
}
END_TEST

START_TEST(nobody_to_tell_is_no_problem)
{
	char path[300];

	notify("READY=1");
	setenv("NOTIFY_SOCKET", "", 1);
	notify("READY=1");
	setenv("NOTIFY_SOCKET", "/does/not/exist", 1);
	notify("READY=1");
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	setenv("NOTIFY_SOCKET", path, 1);
	notify("READY=1");
}
END_TEST

START_TEST(the_watchdog_is_for_the_process_that_is_named)
{
	ck_assert_uint_eq(notify_watchdog_ns(), 0);
	set_number("WATCHDOG_USEC", 30000000);
	ck_assert_uint_eq(notify_watchdog_ns(), 30000000000ull);
	set_number("WATCHDOG_PID", getpid());
	ck_assert_uint_eq(notify_watchdog_ns(), 30000000000ull);
	set_number("WATCHDOG_PID", getppid());
	ck_assert_uint_eq(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_PID", "me", 1);
	ck_assert_uint_eq(notify_watchdog_ns(), 0);
}
END_TEST

START_TEST(a_watchdog_of_centuries_is_not_one_of_microseconds)
{
	setenv("WATCHDOG_USEC", "18446744073709552", 1); /* x 1000 = 2^64 + 384 */
	ck_assert_uint_eq(notify_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "9223372036854775", 1);
	ck_assert(notify_watchdog_ns() == 9223372036854775000ull);
	setenv("WATCHDOG_USEC", "infinity", 1);
	ck_assert_uint_eq(notify_watchdog_ns(), 0);
}
END_TEST

START_TEST(a_socket_is_taken_only_when_it_is_ours)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd != 3) {
		ck_assert_int_eq(dup2(fd, 3), 3);
		close(fd);
	}
	ck_assert_int_eq(notify_listen_fd(), -1);
	set_number("LISTEN_FDS", 1);
	ck_assert_int_eq(notify_listen_fd(), -1); /* for whom? */
	set_number("LISTEN_PID", getppid());
	ck_assert_int_eq(notify_listen_fd(), -1);
	set_number("LISTEN_PID", getpid());
	set_number("LISTEN_FDS", 0);
	ck_assert_int_eq(notify_listen_fd(), -1);
	ck_assert_int_eq(fcntl(3, F_GETFD), 0);
	set_number("LISTEN_FDS", 1);
	ck_assert_int_eq(notify_listen_fd(), 3);
	ck_assert_int_eq(fcntl(3, F_GETFD), FD_CLOEXEC);
	close(3);
	ck_assert_int_eq(notify_listen_fd(), -1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("notify");
	TCase *tc = tcase_create("notify");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, systemd_is_told_by_path_or_abstract_name);
	tcase_add_test(tc, nobody_to_tell_is_no_problem);
	tcase_add_test(tc, the_watchdog_is_for_the_process_that_is_named);
	tcase_add_test(tc, a_watchdog_of_centuries_is_not_one_of_microseconds);
	tcase_add_test(tc, a_socket_is_taken_only_when_it_is_ours);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
