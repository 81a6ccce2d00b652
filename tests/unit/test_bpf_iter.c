/* SPDX-License-Identifier: Apache-2.0 */
/* Records of an iterator, as they come out of a descriptor. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf_iter.h"

#define MAX_SEEN 64

static int fds[2];
static uint64_t seen[MAX_SEEN];
static size_t n_seen;

static void set_up(void)
{
	ck_assert_int_eq(pipe(fds), 0);
	n_seen = 0;
}

static void tear_down(void)
{
	close(fds[0]);
}

static void on_record(void *ctx, const struct event_hdr *ev, size_t len)
{
	ck_assert_ptr_eq(ctx, fds);
	ck_assert_uint_eq(len, ev->size);
	ck_assert_uint_eq((uintptr_t)ev % 8, 0);
	ck_assert_uint_lt(n_seen, MAX_SEEN);
	seen[n_seen++] = ev->seq;
}

/* A record of `size` bytes with the number `seq`. */
static size_t put(char *at, uint64_t seq, uint16_t size)
{
	struct event_hdr hdr = { .seq = seq, .size = size };

	memset(at, 0, size);
	memcpy(at, &hdr, sizeof(hdr));
	return size;
}

static int read_bytes(const char *bytes, size_t len)
{
	ck_assert_int_eq(write(fds[1], bytes, len), (ssize_t)len);
	close(fds[1]);
	return bpf_iter_read(fds[0], on_record, fds);
}

START_TEST(records_of_any_size_come_one_after_the_other)
{
	static char bytes[60000];
	size_t len = 0;

	len += put(bytes + len, 1, sizeof(struct event_hdr));
	len += put(bytes + len, 2, 20000);
	len += put(bytes + len, 3, 56);
	len += put(bytes + len, 4, 30000);
	ck_assert_int_eq(read_bytes(bytes, len), 0);
	ck_assert_uint_eq(n_seen, 4);
	for (size_t i = 0; i < n_seen; i++)
		ck_assert_uint_eq(seen[i], i + 1);
}
END_TEST

/* A writer that gives a few bytes at a time, in a process of its own. */
START_TEST(a_record_may_be_cut_anywhere)
{
	char bytes[2048];
	size_t len = 0;
	pid_t pid;

	for (uint64_t i = 1; i <= 10; i++)
		len += put(bytes + len, i, (uint16_t)(sizeof(struct event_hdr) + 8 * i));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		for (size_t at = 0; at < len; at++)
			if (write(fds[1], bytes + at, 1) != 1)
				_exit(1);
		_exit(0);
	}
	close(fds[1]);
	ck_assert_int_eq(bpf_iter_read(fds[0], on_record, fds), 0);
	ck_assert_uint_eq(n_seen, 10);
}
END_TEST

START_TEST(nothing_is_no_error)
{
	ck_assert_int_eq(read_bytes("", 0), 0);
	ck_assert_uint_eq(n_seen, 0);
}
END_TEST

START_TEST(what_is_no_record_is_refused)
{
	static const uint16_t sizes[] = { 0, 8, 40, 49, 65528 };
	char bytes[256];

	put(bytes, 1, 48);
	put(bytes + 48, 2, 64);
	memcpy(bytes + 48 + offsetof(struct event_hdr, size), &sizes[_i], sizeof(sizes[0]));
	ck_assert_int_eq(read_bytes(bytes, 112), -EBADMSG);
	ck_assert_uint_eq(n_seen, 1);
}
END_TEST

START_TEST(a_record_that_does_not_end_is_refused)
{
	char bytes[64];

	put(bytes, 1, 64);
	ck_assert_int_eq(read_bytes(bytes, 63), -EBADMSG);
	ck_assert_uint_eq(n_seen, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("bpf_iter");
	TCase *tc = tcase_create("bpf_iter");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, records_of_any_size_come_one_after_the_other);
	tcase_add_test(tc, a_record_may_be_cut_anywhere);
	tcase_add_test(tc, nothing_is_no_error);
	tcase_add_loop_test(tc, what_is_no_record_is_refused, 0, 5);
	tcase_add_test(tc, a_record_that_does_not_end_is_refused);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
