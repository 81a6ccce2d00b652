/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs a kernel gets that has this and lacks that, and what is said about it. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "collect/net_programs.h"

START_TEST(tracepoints_are_preferred)
{
	char why[WHY_LEN] = "";

	ck_assert_int_eq(net_programs_moves(true, true, false, why), NET_MOVES_TRACEPOINTS);
	ck_assert_int_eq(net_programs_moves(true, true, true, why), NET_MOVES_TRACEPOINTS);
	ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(functions_do_as_well)
{
	char why[WHY_LEN] = "";

	ck_assert_int_eq(net_programs_moves(true, false, true, why), NET_MOVES_FUNCTIONS);
	ck_assert_str_eq(why, "");
}
END_TEST

START_TEST(without_either_it_is_said_what_would_help)
{
	char why[WHY_LEN] = "";

	ck_assert_int_eq(net_programs_moves(true, false, false, why), NET_MOVES_NONE);
	ck_assert_ptr_nonnull(strstr(why, "connections alone"));
	ck_assert_ptr_nonnull(strstr(why, "Linux 6.3"));
	ck_assert_ptr_nonnull(strstr(why, "fentry"));
}
END_TEST

START_TEST(without_loops_nothing_is_walked)
{
	char why[WHY_LEN] = "";

	ck_assert_int_eq(net_programs_moves(false, true, true, why), NET_MOVES_NONE);
	ck_assert_ptr_nonnull(strstr(why, "Linux 5.17"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("net_programs");
	TCase *tc = tcase_create("net_programs");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, tracepoints_are_preferred);
	tcase_add_test(tc, functions_do_as_well);
	tcase_add_test(tc, without_either_it_is_said_what_would_help);
	tcase_add_test(tc, without_loops_nothing_is_walked);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
