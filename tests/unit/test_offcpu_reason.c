/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waited for, in words. */
#include <asm/unistd.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "collect/offcpu_reason.h"

static struct offcpu_event ev;
static char name[WAIT_NAME_LEN];

static void set_up(void)
{
	memset(&ev, 0, sizeof(ev));
	ev.syscall = -1;
	ev.state = 1;
}

static void tear_down(void)
{
}

static void assert_wait(enum wait_reason reason, const char *text)
{
	ck_assert_int_eq(wait_describe(&ev, false, name), reason);
	ck_assert_str_eq(name, text);
}

static void in_call(int nr, enum offcpu_file file)
{
	set_up();
	ev.syscall = nr;
	ev.file = (uint8_t)file;
}

START_TEST(a_call_is_named_with_what_it_waits_for)
{
	in_call(__NR_futex, OFFCPU_FILE_NONE);
	assert_wait(WAIT_FUTEX, "futex");
	in_call(__NR_ppoll, OFFCPU_FILE_NONE);
	assert_wait(WAIT_POLL, "ppoll");
	in_call(__NR_clock_nanosleep, OFFCPU_FILE_NONE);
	assert_wait(WAIT_SLEEP, "clock_nanosleep");
	in_call(__NR_read, OFFCPU_FILE_PIPE);
	assert_wait(WAIT_READ, "read pipe");
	in_call(__NR_write, OFFCPU_FILE_PIPE);
	assert_wait(WAIT_WRITE, "write pipe");
	in_call(__NR_wait4, OFFCPU_FILE_NONE);
	assert_wait(WAIT_CHILD, "wait4");
	in_call(__NR_flock, OFFCPU_FILE_REGULAR);
	assert_wait(WAIT_LOCK, "flock file");
	in_call(511, OFFCPU_FILE_NONE);
	assert_wait(WAIT_CALL, "system call 511");
}
END_TEST

START_TEST(a_socket_is_named_by_its_protocol)
{
	in_call(__NR_recvfrom, OFFCPU_FILE_SOCKET);
	ev.family = AF_INET;
	ev.sock_type = SOCK_STREAM;
	ev.protocol = IPPROTO_TCP;
	assert_wait(WAIT_READ, "recvfrom tcp");
	ev.family = AF_UNIX;
	ev.protocol = 0;
	assert_wait(WAIT_READ, "recvfrom unix stream");
	ev.family = ev.sock_type = ev.protocol = UINT16_MAX;
	ck_assert_int_eq(wait_describe(&ev, false, name), WAIT_READ);
	ck_assert_uint_lt(strlen(name), sizeof(name));
}
END_TEST

START_TEST(a_device_is_named_by_its_major_number)
{
	in_call(__NR_ioctl, OFFCPU_FILE_CHAR);
	ev.rdev = 136u << 20 | 3;
	assert_wait(WAIT_IOCTL, "ioctl tty");
	ev.rdev = 226u << 20;
	assert_wait(WAIT_IOCTL, "ioctl device");
}
END_TEST

START_TEST(what_has_no_inode_of_its_own_has_the_kernels_name)
{
	in_call(__NR_read, OFFCPU_FILE_ANON);
	strcpy(ev.anon_name, "[eventfd]");
	assert_wait(WAIT_READ, "read eventfd");
	memcpy(ev.anon_name, "[a_name_without_i", sizeof(ev.anon_name));
	assert_wait(WAIT_READ, "read a_name_without_i");
	memcpy(ev.anon_name, "\x1b[2J\xff\n\"\\;|$()&%<>?!", sizeof(ev.anon_name));
	assert_wait(WAIT_READ, "read file");
}
END_TEST

START_TEST(a_page_fault_is_one_within_a_call_too)
{
	in_call(__NR_read, OFFCPU_FILE_PIPE);
	ck_assert_int_eq(wait_describe(&ev, true, name), WAIT_FAULT);
	ck_assert_str_eq(name, "page fault");
	set_up();
	ev.flags = OFFCPU_IO_WAIT;
	assert_wait(WAIT_FAULT, "page fault (disk)");
	ck_assert(wait_is_fault("handle_mm_fault"));
	ck_assert(!wait_is_fault("vfs_read"));
	ck_assert(!wait_is_fault(""));
}
END_TEST

START_TEST(what_is_not_known_is_not_guessed)
{
	assert_wait(WAIT_UNKNOWN, "unknown");
	in_call(__NR_read, OFFCPU_FILE_PIPE);
	ev.flags = OFFCPU_NOT_DESCRIBED;
	assert_wait(WAIT_UNKNOWN, "unknown");
	in_call(__NR_read, OFFCPU_FILE_PIPE);
	ev.flags = OFFCPU_COMPAT; /* another call has this number there */
	assert_wait(WAIT_CALL, "32-bit system call");
}
END_TEST

START_TEST(the_state_goes_before_the_call)
{
	in_call(__NR_read, OFFCPU_FILE_PIPE);
	ev.state = 4;
	assert_wait(WAIT_STOPPED, "stopped");
	ev.flags = OFFCPU_KERNEL_THREAD;
	assert_wait(WAIT_KERNEL, "kernel thread");
	in_call(__NR_read, OFFCPU_FILE_REGULAR);
	ev.flags = OFFCPU_IO_WAIT;
	ev.state = 2;
	assert_wait(WAIT_READ, "read file (disk)");
	ck_assert_str_eq(wait_state(1), "S");
	ck_assert_str_eq(wait_state(2), "D");
	ck_assert_str_eq(wait_state(0x102), "D"); /* killable */
	ck_assert_str_eq(wait_state(4), "T");
	ck_assert_str_eq(wait_state(8), "t");
	ck_assert_str_eq(wait_state(0), "?");
}
END_TEST

START_TEST(every_reason_has_a_name)
{
	for (int i = 0; i < WAIT_REASONS; i++)
		ck_assert_ptr_nonnull(wait_reason_name((enum wait_reason)i));
	ck_assert_str_eq(wait_reason_name((enum wait_reason)WAIT_REASONS), "unknown");
}
END_TEST

START_TEST(the_kernels_side_looks_at_descriptors_of_these_calls_only)
{
	uint8_t fd_calls[OFFCPU_MAX_NR];

	wait_fd_calls(fd_calls);
	ck_assert(fd_calls[__NR_read] && wait_is_fd_call(__NR_read));
	ck_assert(fd_calls[__NR_ioctl] && wait_is_fd_call(__NR_ioctl));
	ck_assert(!fd_calls[__NR_futex] && !wait_is_fd_call(__NR_futex));
	ck_assert(!fd_calls[__NR_openat]); /* a directory's descriptor is not waited for */
	ck_assert(!wait_is_fd_call(-1));
	for (int i = 0; i < OFFCPU_MAX_NR; i++)
		ck_assert_int_eq(fd_calls[i], wait_is_fd_call(i));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("offcpu_reason");
	TCase *tc = tcase_create("offcpu_reason");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_call_is_named_with_what_it_waits_for);
	tcase_add_test(tc, a_socket_is_named_by_its_protocol);
	tcase_add_test(tc, a_device_is_named_by_its_major_number);
	tcase_add_test(tc, what_has_no_inode_of_its_own_has_the_kernels_name);
	tcase_add_test(tc, a_page_fault_is_one_within_a_call_too);
	tcase_add_test(tc, what_is_not_known_is_not_guessed);
	tcase_add_test(tc, the_state_goes_before_the_call);
	tcase_add_test(tc, every_reason_has_a_name);
	tcase_add_test(tc, the_kernels_side_looks_at_descriptors_of_these_calls_only);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
