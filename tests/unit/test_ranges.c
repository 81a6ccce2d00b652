/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of an array are taken. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "unwind/ranges.h"

#define SIZE 1000

static struct ranges *r;

static void set_up(void)
{
	ck_assert_int_eq(ranges_new(SIZE, &r), 0);
}

static void tear_down(void)
{
	ranges_free(r);
	ranges_free(NULL);
}

static uint32_t take(uint32_t n)
{
	uint32_t first = SIZE;

	ck_assert_int_eq(ranges_take(r, n, &first), 0);
	ck_assert_uint_le(first + n, SIZE);
	return first;
}

START_TEST(what_is_taken_does_not_overlap)
{
	uint32_t a = take(10), b = take(20), c = take(30);

	ck_assert(a + 10 <= b && b + 20 <= c);
	ck_assert_uint_eq(ranges_used(r), 60);
}
END_TEST

START_TEST(all_of_it_can_be_taken_and_not_more)
{
	uint32_t first;

	ck_assert_uint_eq(take(SIZE), 0);
	ck_assert_int_eq(ranges_take(r, 1, &first), -ENOSPC);
	ranges_give(r, 0, SIZE);
	ck_assert_uint_eq(take(SIZE), 0);
}
END_TEST

START_TEST(neighbours_are_joined_in_any_order)
{
	static const unsigned orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					      { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	for (size_t i = 0; i < 6; i++) {
		uint32_t at[3];

		for (size_t k = 0; k < 3; k++)
			at[k] = take(k == 2 ? SIZE - 200 : 100);
		for (size_t k = 0; k < 3; k++)
			ranges_give(r, at[orders[i][k]], orders[i][k] == 2 ? SIZE - 200 : 100);
		ck_assert_uint_eq(ranges_used(r), 0);
		ck_assert_uint_eq(take(SIZE), 0);
		ranges_give(r, 0, SIZE);
	}
}
END_TEST

START_TEST(a_gap_that_is_too_short_is_passed_over)
{
	uint32_t a = take(10), b = take(10), c;

	ranges_give(r, a, 10);
	c = take(11);
	ck_assert_uint_ge(c, b + 10);
	ck_assert_uint_eq(take(10), a);
}
END_TEST

/* Against a plain array of who has what. */
START_TEST(a_long_random_life_keeps_the_books_straight)
{
	static uint16_t owner[SIZE];
	struct {
		uint32_t first, n;
	} held[64] = { 0 };
	uint32_t used = 0;

	srandom(1);
	for (int i = 0; i < 20000; i++) {
		unsigned k = (unsigned)random() % 64;
		uint32_t n = 1 + (uint32_t)random() % 40;

		if (held[k].n) {
			ranges_give(r, held[k].first, held[k].n);
			for (uint32_t j = 0; j < held[k].n; j++)
				owner[held[k].first + j] = 0;
			used -= held[k].n;
			held[k].n = 0;
		} else if (ranges_take(r, n, &held[k].first) == 0) {
			held[k].n = n;
			used += n;
			for (uint32_t j = 0; j < n; j++) {
				ck_assert_uint_eq(owner[held[k].first + j], 0);
				owner[held[k].first + j] = (uint16_t)(k + 1);
			}
		}
		ck_assert_uint_eq(ranges_used(r), used);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ranges");
	TCase *t = tcase_create("ranges");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, what_is_taken_does_not_overlap);
	tcase_add_test(t, all_of_it_can_be_taken_and_not_more);
	tcase_add_test(t, neighbours_are_joined_in_any_order);
	tcase_add_test(t, a_gap_that_is_too_short_is_passed_over);
	tcase_add_test(t, a_long_random_life_keeps_the_books_straight);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
