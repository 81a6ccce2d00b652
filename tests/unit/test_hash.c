/* SPDX-License-Identifier: Apache-2.0 */
/* A table from byte strings or numbers to pointers. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

static struct hash *h;

static void set_up(void)
{
	ck_assert_int_eq(hash_new(&h), 0);
}

static void tear_down(void)
{
	hash_free(h);
}

static void *number(uintptr_t n)
{
	return (void *)n;
}

START_TEST(what_was_set_is_found_and_nothing_else)
{
	for (uintptr_t i = 1; i <= 20000; i++)
		ck_assert_int_eq(hash_set_u64(h, i * 7, number(i)), 0);
	ck_assert_uint_eq(hash_count(h), 20000);
	for (uintptr_t i = 1; i <= 20000; i++) {
		ck_assert_ptr_eq(hash_get_u64(h, i * 7), number(i));
		ck_assert_ptr_null(hash_get_u64(h, i * 7 + 1));
	}
}
END_TEST

START_TEST(setting_again_replaces)
{
	ck_assert_int_eq(hash_set(h, "key", 3, number(1)), 0);
	ck_assert_int_eq(hash_set(h, "key", 3, number(2)), 0);
	ck_assert_uint_eq(hash_count(h), 1);
	ck_assert_ptr_eq(hash_get(h, "key", 3), number(2));
}
END_TEST

/* Across the border between keys in the slot and keys of their own. */
START_TEST(keys_of_every_length_are_compared_whole)
{
	uint8_t key[64];

	memset(key, 0, sizeof(key));
	for (uintptr_t len = 0; len <= sizeof(key); len++)
		ck_assert_int_eq(hash_set(h, key, len, number(len + 1)), 0);
	for (uintptr_t len = 0; len <= sizeof(key); len++)
		ck_assert_ptr_eq(hash_get(h, key, len), number(len + 1));
	for (size_t len = 1; len <= sizeof(key); len++) {
		key[len - 1] = 1;
		ck_assert_ptr_null(hash_get(h, key, len));
		key[len - 1] = 0;
	}
}
END_TEST

START_TEST(an_empty_key_needs_no_bytes)
{
	ck_assert_ptr_null(hash_get(h, NULL, 0));
	ck_assert_int_eq(hash_set(h, NULL, 0, number(1)), 0);
	ck_assert_ptr_eq(hash_get(h, NULL, 0), number(1));
	ck_assert_ptr_eq(hash_remove(h, NULL, 0), number(1));
}
END_TEST

START_TEST(what_was_removed_is_gone_and_may_come_back)
{
	static const char far[] = "a key that is longer than a slot has room for";

	ck_assert_ptr_null(hash_remove(h, far, sizeof(far)));
	ck_assert_int_eq(hash_set(h, far, sizeof(far), number(3)), 0);
	ck_assert_ptr_eq(hash_remove(h, far, sizeof(far)), number(3));
	ck_assert_ptr_null(hash_get(h, far, sizeof(far)));
	ck_assert_ptr_null(hash_remove(h, far, sizeof(far)));
	ck_assert_uint_eq(hash_count(h), 0);
	ck_assert_int_eq(hash_set(h, far, sizeof(far), number(4)), 0);
	ck_assert_ptr_eq(hash_get(h, far, sizeof(far)), number(4));
}
END_TEST

/* Removed slots must not fill the table: a lookup would never come to an end. */
START_TEST(coming_and_going_for_ever_neither_hangs_nor_forgets)
{
	for (uint64_t i = 0; i < 200000; i++) {
		ck_assert_int_eq(hash_set_u64(h, i, number((uintptr_t)i + 1)), 0);
		if (i >= 10)
			ck_assert_ptr_eq(hash_remove_u64(h, i - 10), number((uintptr_t)i - 10 + 1));
		ck_assert_ptr_null(hash_get_u64(h, i + 1));
	}
	ck_assert_uint_eq(hash_count(h), 10);
	for (uint64_t i = 199990; i < 200000; i++)
		ck_assert_ptr_eq(hash_get_u64(h, i), number((uintptr_t)i + 1));
}
END_TEST

START_TEST(a_walk_sees_each_entry_once_even_when_it_removes_them)
{
	bool seen[1000] = { 0 };
	const void *key;
	size_t pos = 0, len, n = 0;
	uint64_t k;
	void *value;

	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(hash_set_u64(h, i, number((uintptr_t)i + 1)), 0);
	while (hash_next(h, &pos, &key, &len, &value)) {
		ck_assert_uint_eq(len, sizeof(k));
		memcpy(&k, key, sizeof(k));
		ck_assert(!seen[k]);
		ck_assert_ptr_eq(value, number((uintptr_t)k + 1));
		seen[k] = true;
		n++;
		if (k % 2)
			ck_assert_ptr_eq(hash_remove(h, key, len), value);
	}
	ck_assert_uint_eq(n, 1000);
	ck_assert_uint_eq(hash_count(h), 500);
}
END_TEST

START_TEST(a_cleared_table_is_empty_and_usable)
{
	size_t pos = 0;
	void *value;

	for (uint64_t i = 0; i < 1000; i++)
		ck_assert_int_eq(hash_set_u64(h, i, h), 0);
	hash_clear(h);
	ck_assert_uint_eq(hash_count(h), 0);
	ck_assert(!hash_next(h, &pos, NULL, NULL, &value));
	ck_assert_ptr_null(hash_get_u64(h, 5));
	ck_assert_int_eq(hash_set_u64(h, 5, h), 0);
	ck_assert_ptr_eq(hash_get_u64(h, 5), h);
}
END_TEST

START_TEST(adding_leaves_what_is_there_and_says_so)
{
	static const char far[] = "a key that is too long for the slot";
	void *is;

	ck_assert_int_eq(hash_add(h, far, sizeof(far), number(1), &is), 0);
	ck_assert_ptr_eq(is, number(1));
	ck_assert_int_eq(hash_add(h, far, sizeof(far), number(2), &is), 0);
	ck_assert_ptr_eq(is, number(1));
	ck_assert_ptr_eq(hash_get(h, far, sizeof(far)), number(1));
	ck_assert_uint_eq(hash_count(h), 1);
	(void)hash_remove(h, far, sizeof(far));
	ck_assert_int_eq(hash_add(h, far, sizeof(far), number(2), &is), 0);
	ck_assert_ptr_eq(is, number(2));
}
END_TEST

START_TEST(each_byte_of_a_string_counts_for_its_hash)
{
	uint8_t data[40] = { 0 };
	uint64_t plain = hash_bytes(data, sizeof(data), 1);

	ck_assert(hash_bytes(data, sizeof(data), 2) != plain);
	ck_assert(hash_bytes(data, sizeof(data) - 1, 1) != plain);
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i] = 1;
		ck_assert(hash_bytes(data, sizeof(data), 1) != plain);
		data[i] = 0;
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hash");
	TCase *tc = tcase_create("hash");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, what_was_set_is_found_and_nothing_else);
	tcase_add_test(tc, setting_again_replaces);
	tcase_add_test(tc, keys_of_every_length_are_compared_whole);
	tcase_add_test(tc, an_empty_key_needs_no_bytes);
	tcase_add_test(tc, what_was_removed_is_gone_and_may_come_back);
	tcase_add_test(tc, coming_and_going_for_ever_neither_hangs_nor_forgets);
	tcase_add_test(tc, a_walk_sees_each_entry_once_even_when_it_removes_them);
	tcase_add_test(tc, a_cleared_table_is_empty_and_usable);
	tcase_add_test(tc, adding_leaves_what_is_there_and_says_so);
	tcase_add_test(tc, each_byte_of_a_string_counts_for_its_hash);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
