/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of users who have their own processes alone, and how many sessions they may have. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "session_users.h"

static const struct session_users_limits limits = { .max_sessions = 8, .user_sessions = 2 };
static struct trace_owner owners[16];
static struct session_user sessions[16];
static size_t n;
static uint8_t last;
static char why[256];

static void set_up(void)
{
	n = 0;
	last = 0;
	memset(owners, 0, sizeof(owners));
}

static void tear_down(void)
{
}

static int start(bool only_own, uint32_t uid, uint32_t gid)
{
	struct trace_owner *owner = &owners[n];
	int r;

	*owner = (struct trace_owner){ .only_own = only_own, .uid = uid, .gid = gid };
	r = only_own ? session_users_number(sessions, n, &limits, &last, owner, why, sizeof(why))
		     : 0;
	if (r == 0) {
		sessions[n] = (struct session_user){ owner, (unsigned)n };
		n++;
	}
	return r;
}

START_TEST(a_user_has_one_number)
{
	struct event_users users;

	ck_assert_int_eq(start(false, 0, 0), 0);
	ck_assert_int_eq(start(true, 1000, 1000), 0);
	ck_assert_int_eq(start(true, 1001, 1000), 0);
	ck_assert_int_eq(start(true, 1000, 1000), 0);
	ck_assert_uint_eq(owners[1].number, owners[3].number);
	ck_assert_uint_ne(owners[1].number, owners[2].number);
	session_users_list(sessions, n, &users);
	ck_assert_uint_eq(users.n, 2);
	ck_assert_uint_eq(users.slots[0], 0);
	ck_assert_uint_eq(users.slots[1], owners[1].number);
	ck_assert_uint_eq(users.slots[3], owners[1].number);
	ck_assert_uint_eq(users.users[0].uid, 1000);
	ck_assert_uint_eq(users.users[1].number, owners[2].number);
}
END_TEST

START_TEST(with_another_group_it_is_another_user)
{
	ck_assert_int_eq(start(true, 1000, 1000), 0);
	ck_assert_int_eq(start(true, 1000, 50), 0);
	ck_assert_uint_ne(owners[0].number, owners[1].number);
	ck_assert_int_eq(start(true, 1000, 1000), -EBUSY); /* but not for the limit */
	ck_assert_ptr_nonnull(strstr(why, "at most 2 recordings"));
}
END_TEST

START_TEST(half_of_the_sessions_is_for_those_who_see_all)
{
	for (uint32_t uid = 1; uid <= 4; uid++)
		ck_assert_int_eq(start(true, uid, uid), 0);
	ck_assert_int_eq(start(true, 5, 5), -EBUSY);
	ck_assert_ptr_nonnull(strstr(why, "half of the 8 sessions"));
	ck_assert_int_eq(start(false, 0, 0), 0);
}
END_TEST

START_TEST(numbers_go_round_and_are_never_0)
{
	uint8_t first;

	ck_assert_int_eq(start(true, 1, 1), 0);
	first = owners[0].number;
	for (int i = 0; i < 600; i++) {
		n = 1;
		ck_assert_int_eq(start(true, 2, 2), 0);
		ck_assert_uint_ne(owners[1].number, 0);
		ck_assert_uint_ne(owners[1].number, first);
	}
	n = 0;
	last = 7;
	ck_assert_int_eq(start(true, 3, 3), 0);
	ck_assert_uint_eq(owners[0].number, 8);
}
END_TEST

/* ---- how often they begin ---- */

static struct session_users_starts starts;

static int begins(uint32_t uid, uint64_t now_ns)
{
	why[0] = '\0';
	return session_users_start(&starts, uid, 10, now_ns, why, sizeof(why));
}

START_TEST(a_user_starts_ten_at_once_and_then_one_each_six_seconds)
{
	uint64_t now_ns = 500 * NS_PER_SEC;

	memset(&starts, 0, sizeof(starts));
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(begins(1000, now_ns), 0);
	ck_assert_int_eq(begins(1000, now_ns), -EAGAIN);
	ck_assert_str_eq(why, "this user has started 10 recordings within a minute: try again in 6 "
			      "s, or ask for more user_starts in tracerd.conf");
	ck_assert_int_eq(begins(1001, now_ns), 0);
	/* What is refused does not count. */
	ck_assert_int_eq(begins(1000, now_ns + 5 * NS_PER_SEC), -EAGAIN);
	ck_assert_ptr_nonnull(strstr(why, "in 1 s,"));
	ck_assert_int_eq(begins(1000, now_ns + 6 * NS_PER_SEC), 0);
	ck_assert_int_eq(begins(1000, now_ns + 6 * NS_PER_SEC), -EAGAIN);
	now_ns += 200 * NS_PER_SEC;
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(begins(1000, now_ns), 0);
	ck_assert_int_eq(begins(1000, now_ns), -EAGAIN);
}
END_TEST

START_TEST(who_has_many_numbers_has_no_more_than_three_users)
{
	uint64_t now_ns = 500 * NS_PER_SEC;
	unsigned n_started = 0;

	memset(&starts, 0, sizeof(starts));
	for (uint32_t uid = 100000; uid < 100400; uid++)
		n_started += begins(uid, now_ns) == 0;
	ck_assert_uint_eq(n_started, 30);
	ck_assert_str_eq(why,
			 "other users have started 30 recordings within a minute: try again in "
			 "2 s, or ask for more user_starts in tracerd.conf");
	/* For a while, as fast as it goes: two seconds each. */
	for (uint32_t i = 0; i < 600; i++)
		n_started += begins(200000 + i, now_ns + i * NS_PER_SEC) == 0;
	ck_assert_uint_eq(n_started, 30 + 299);
}
END_TEST

START_TEST(more_users_than_there_is_room_for_are_still_counted)
{
	uint64_t now_ns = 500 * NS_PER_SEC;

	memset(&starts, 0, sizeof(starts));
	for (int i = 0; i < 999; i++)
		ck_assert_int_eq(session_users_start(&starts, 7, 1000, now_ns, why, sizeof(why)),
				 0);
	for (uint32_t uid = 1000; uid < 2000; uid++)
		ck_assert_int_eq(session_users_start(&starts, uid, 1000, now_ns, why, sizeof(why)),
				 0);
	ck_assert_int_eq(session_users_start(&starts, 7, 1000, now_ns, why, sizeof(why)), 0);
	ck_assert_int_eq(session_users_start(&starts, 7, 1000, now_ns, why, sizeof(why)), -EAGAIN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session_users");
	TCase *tc = tcase_create("users");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_user_has_one_number);
	tcase_add_test(tc, with_another_group_it_is_another_user);
	tcase_add_test(tc, half_of_the_sessions_is_for_those_who_see_all);
	tcase_add_test(tc, numbers_go_round_and_are_never_0);
	tcase_add_test(tc, a_user_starts_ten_at_once_and_then_one_each_six_seconds);
	tcase_add_test(tc, who_has_many_numbers_has_no_more_than_three_users);
	tcase_add_test(tc, more_users_than_there_is_room_for_are_still_counted);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
