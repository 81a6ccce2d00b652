/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - byte strings, each kept once. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

static struct pool *p;

static void set_up(void)
{
	ck_assert_int_eq(pool_new(NULL, &p), 0);
}

static void tear_down(void)
{
	pool_free(p);
}

static uint32_t add(const void *data, size_t len)
{
	uint32_t i = UINT32_MAX;

	ck_assert_int_eq(pool_add(p, data, len, &i), 0);
	return i;
}

START_TEST(strings_are_numbered_in_the_order_in_which_they_come)
{
	ck_assert_uint_eq(add("a", 1), 0);
	ck_assert_uint_eq(add("b", 1), 1);
	ck_assert_uint_eq(add("a", 1), 0);
	ck_assert_uint_eq(pool_count(p), 2);
	ck_assert_str_eq(pool_get(p, 1, NULL), "b");
	ck_assert_uint_eq(pool_find(p, "b", 1), 1);
	ck_assert_uint_eq(pool_find(p, "c", 1), UINT32_MAX);
}
END_TEST

START_TEST(length_and_zeros_are_part_of_a_string)
{
	size_t len;

	ck_assert_uint_eq(add("", 0), 0);
	ck_assert_uint_eq(add(NULL, 0), 0);
	ck_assert_uint_eq(add("\0", 1), 1);
	ck_assert_uint_eq(add("\0\0", 2), 2);
	pool_get(p, 2, &len);
	ck_assert_uint_eq(len, 2);
}
END_TEST

START_TEST(many_keep_their_numbers_and_places)
{
	const void *first = pool_get(p, add("first", 5), NULL);

	for (uint64_t i = 0; i < 100000; i++)
		ck_assert_uint_eq(add(&i, sizeof(i)), i + 1);
	for (uint64_t i = 0; i < 100000; i++) {
		ck_assert_uint_eq(add(&i, sizeof(i)), i + 1);
		ck_assert_mem_eq(pool_get(p, (uint32_t)i + 1, NULL), &i, sizeof(i));
		ck_assert_uint_eq((uintptr_t)pool_get(p, (uint32_t)i + 1, NULL) % 8, 0);
	}
	ck_assert_ptr_eq(pool_get(p, 0, NULL), first);
}
END_TEST

START_TEST(a_large_string_has_room_of_its_own)
{
	size_t size = 10 << 20, len;
	char *large = malloc(size);

	memset(large, 'x', size);
	ck_assert_uint_eq(add(large, size), 0);
	ck_assert_uint_eq(add("small", 5), 1);
	ck_assert_mem_eq(pool_get(p, 0, &len), large, size);
	ck_assert_uint_eq(len, size);
	free(large);
}
END_TEST

START_TEST(beyond_the_budget_nothing_is_added_and_nothing_lost)
{
	struct pool_budget budget = { .max = 300000 };
	struct pool *small;
	uint32_t n = 0, i;
	uint64_t key;
	int r = 0;

	ck_assert_int_eq(pool_new(&budget, &small), 0);
	for (key = 0; r == 0; key++) {
		r = pool_add(small, &key, sizeof(key), &i);
		n += r == 0;
	}
	ck_assert_int_eq(r, -E2BIG);
	ck_assert_uint_le(budget.used, budget.max);
	ck_assert_uint_gt(n, 1000);
	ck_assert_uint_eq(pool_count(small), n);
	for (key = 0; key < n; key++)
		ck_assert_uint_eq(pool_find(small, &key, sizeof(key)), key);
	pool_free(small);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("pool");
	TCase *tc = tcase_create("pool");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, strings_are_numbered_in_the_order_in_which_they_come);
	tcase_add_test(tc, length_and_zeros_are_part_of_a_string);
	tcase_add_test(tc, many_keep_their_numbers_and_places);
	tcase_add_test(tc, a_large_string_has_room_of_its_own);
	tcase_add_test(tc, beyond_the_budget_nothing_is_added_and_nothing_lost);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
