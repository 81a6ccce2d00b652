/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that grow. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

START_TEST(what_is_appended_stays_in_order)
{
	struct buf b = { 0 };

	for (unsigned i = 0; i < 10000; i++)
		ck_assert_int_eq(buf_append(&b, &i, sizeof(i)), 0);
	ck_assert_uint_eq(b.len, 10000 * sizeof(unsigned));
	for (unsigned i = 0; i < 10000; i++)
		ck_assert_mem_eq(b.data + i * sizeof(i), &i, sizeof(i));
	buf_done(&b);
	ck_assert_ptr_null(b.data);
	ck_assert_int_eq(buf_append(&b, "x", 1), 0);
	buf_done(&b);
}
END_TEST

START_TEST(reserving_does_not_change_the_length)
{
	struct buf b = { 0 };

	ck_assert_int_eq(buf_reserve(&b, 1000), 0);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_uint_ge(b.cap, 1000);
	memset(b.data, 1, 1000); /* all of it is ours: ASan would say otherwise */
	buf_done(&b);
}
END_TEST

START_TEST(a_size_that_would_wrap_is_refused_and_changes_nothing)
{
	struct buf b = { 0 };

	ck_assert_int_eq(buf_append(&b, "abc", 3), 0);
	ck_assert_int_eq(buf_reserve(&b, SIZE_MAX), -ENOMEM);
	ck_assert_int_eq(buf_reserve(&b, SIZE_MAX - 3), -ENOMEM);
	ck_assert_int_eq(buf_reserve(&b, SIZE_MAX / 2 - 2), -ENOMEM);
	ck_assert_uint_eq(b.len, 3);
	ck_assert_mem_eq(b.data, "abc", 3);
	buf_done(&b);
}
END_TEST

START_TEST(nothing_may_be_appended_from_nowhere)
{
	struct buf b = { 0 };

	ck_assert_int_eq(buf_append(&b, NULL, 0), 0);
	ck_assert_ptr_null(b.data);
	buf_done(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("buf");
	TCase *tc = tcase_create("buf");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, what_is_appended_stays_in_order);
	tcase_add_test(tc, reserving_does_not_change_the_length);
	tcase_add_test(tc, a_size_that_would_wrap_is_refused_and_changes_nothing);
	tcase_add_test(tc, nothing_may_be_appended_from_nowhere);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
