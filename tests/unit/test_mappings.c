/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of mappings against a model that remembers who owns each page. */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "process/mappings.h"
#include "symbolize/modules.h"

#define PAGE	4096ull
#define N_PAGES 4096

static struct mappings_budget budget;
static struct modules *modules;
static struct module *module[8];

static void set_up(void)
{
	budget = (struct mappings_budget){ .max = 1u << 20 };
	ck_assert_int_eq(modules_new(&modules), 0);
	for (unsigned i = 0; i < 8; i++) {
		char name[] = "[0]";

		name[1] = (char)('0' + i);
		module[i] = &modules_by_name(modules, MODULE_PSEUDO, name)->pub;
	}
}

static unsigned refs(struct module *m)
{
	return ((struct code_module *)m)->n_refs;
}

/* Whoever forgets a reference, or gives one back twice, is found here. */
static void tear_down(void)
{
	ck_assert_uint_eq(budget.n_used, 0);
	for (unsigned i = 0; i < 8; i++)
		ck_assert_uint_eq(refs(module[i]), 0);
	modules_free(modules);
}

static int set(struct mappings **m, uint64_t first_page, uint64_t n_pages, unsigned i)
{
	return mappings_set(m, &(struct mapping){ .start = first_page * PAGE,
						  .end = (first_page + n_pages) * PAGE,
						  .pgoff = (i * 1000 + first_page) * PAGE,
						  .module = module[i] });
}

/* 0: nothing there. */
static uint64_t offset_at(struct mappings *m, uint64_t pc)
{
	const struct mapping *found = mappings_find(m, pc);

	if (!found)
		return 0;
	ck_assert(pc >= found->start && pc < found->end);
	return pc - found->start + found->pgoff;
}

START_TEST(an_empty_block_has_nothing)
{
	struct mappings *m = mappings_new(&budget);

	ck_assert_ptr_null(mappings_find(m, 0));
	ck_assert_ptr_null(mappings_find(m, UINT64_MAX));
	ck_assert_uint_eq(mappings_count(m), 0);
	mappings_release(m);
	mappings_release(NULL);
}
END_TEST

START_TEST(the_end_is_exclusive)
{
	struct mappings *m = mappings_new(&budget);

	ck_assert_int_eq(set(&m, 2, 1, 1), 0);
	ck_assert_ptr_null(mappings_find(m, 2 * PAGE - 1));
	ck_assert_ptr_nonnull(mappings_find(m, 2 * PAGE));
	ck_assert_ptr_nonnull(mappings_find(m, 3 * PAGE - 1));
	ck_assert_ptr_null(mappings_find(m, 3 * PAGE));
	ck_assert_int_eq(set(&m, 2, 0, 1), -EINVAL);
	mappings_release(m);
}
END_TEST

START_TEST(a_newer_mapping_cuts_an_older_one_in_two)
{
	struct mappings *m = mappings_new(&budget);

	ck_assert_int_eq(set(&m, 10, 10, 1), 0);
	ck_assert_int_eq(set(&m, 14, 2, 2), 0);
	ck_assert_uint_eq(offset_at(m, 13 * PAGE), 1013 * PAGE);
	ck_assert_uint_eq(offset_at(m, 14 * PAGE), 2014 * PAGE);
	ck_assert_uint_eq(offset_at(m, 16 * PAGE), 1016 * PAGE);
	ck_assert_uint_eq(mappings_count(m), 3);
	mappings_release(m);
}
END_TEST

START_TEST(a_shared_block_is_copied_when_one_of_its_owners_changes_it)
{
	struct mappings *parent = mappings_new(&budget), *child;

	ck_assert_int_eq(set(&parent, 1, 1, 1), 0);
	child = mappings_hold(parent);
	ck_assert_int_eq(set(&child, 1, 1, 2), 0);
	ck_assert_int_eq(set(&child, 5, 1, 3), 0);
	ck_assert_uint_eq(offset_at(parent, PAGE), 1001 * PAGE);
	ck_assert_ptr_null(mappings_find(parent, 5 * PAGE));
	ck_assert_uint_eq(offset_at(child, PAGE), 2001 * PAGE);
	mappings_release(parent);
	ck_assert_uint_eq(offset_at(child, 5 * PAGE), 3005 * PAGE);
	mappings_release(child);
}
END_TEST

/* Searches in between decide when the list is merged; the answers may not depend on it. */
START_TEST(the_newest_mapping_of_each_page_wins)
{
	static uint64_t model[N_PAGES];
	struct mappings *m = mappings_new(&budget);
	unsigned n_added = 200u << (_i % 5), search_every = 1u << _i;

	srandom((unsigned)_i + 1);
	for (unsigned i = 0; i < N_PAGES; i++)
		model[i] = 0;
	for (unsigned n = 0; n < n_added; n++) {
		unsigned len = 1 + (unsigned)random() % (n % 3 ? 3 : 100);
		unsigned first = (unsigned)random() % (N_PAGES - len), i = (unsigned)random() % 8;
		unsigned page = (unsigned)random() % N_PAGES;

		ck_assert_int_eq(set(&m, first, len, i), 0);
		for (unsigned p = first; p < first + len; p++)
			model[p] = (i * 1000ull + p) * PAGE;
		if (n % search_every == 0)
			ck_assert_uint_eq(offset_at(m, page * PAGE), model[page]);
	}
	for (unsigned p = 0; p < N_PAGES; p++)
		ck_assert_uint_eq(offset_at(m, p * PAGE), model[p]);
	mappings_release(m);
}
END_TEST

/* Upwards, downwards, and in no order. */
START_TEST(the_most_mappings_a_process_can_have_fit)
{
	struct mappings *m = mappings_new(&budget);

	for (unsigned n = 0; n < 65000; n++) {
		unsigned at = _i == 0 ? n : _i == 1 ? 65000 - n : n * 40503u % 65536;

		ck_assert_int_eq(set(&m, 2 * at, 1, n % 8), 0);
	}
	for (unsigned n = 0; n < 65000; n++) {
		unsigned at = _i == 0 ? n : _i == 1 ? 65000 - n : n * 40503u % 65536;

		ck_assert_uint_eq(offset_at(m, 2 * at * PAGE), (n % 8 * 1000 + 2 * at) * PAGE);
		ck_assert_ptr_null(mappings_find(m, (2 * at + 1) * PAGE));
	}
	mappings_release(m);
}
END_TEST

START_TEST(a_full_block_takes_no_more_and_keeps_what_it_has)
{
	struct mappings *m = mappings_new(&budget);
	unsigned n = 0;

	while (set(&m, 2 * n, 1, 1) == 0)
		n++;
	ck_assert_uint_eq(n, MAPPINGS_MAX);
	ck_assert_int_eq(set(&m, 0, 1, 2), -ENOSPC);
	ck_assert_uint_eq(offset_at(m, 0), 1000 * PAGE);
	ck_assert_uint_eq(offset_at(m, 2 * (n - 1) * PAGE), (1000 + 2 * (n - 1)) * PAGE);
	mappings_release(m);
}
END_TEST

START_TEST(the_budget_bounds_all_blocks_together)
{
	struct mappings *m[64];
	unsigned n_full = 0;

	budget.max = 4096;
	for (unsigned i = 0; i < 64; i++) {
		m[i] = mappings_new(&budget);
		for (unsigned n = 0; n < 200; n++) {
			int r = set(&m[i], 2 * (200 - n), 1, n % 8);

			ck_assert(r == 0 || r == -ENOSPC);
			n_full += r != 0;
			ck_assert_uint_le(budget.n_used, budget.max);
		}
	}
	ck_assert_uint_gt(n_full, 0);
	for (unsigned i = 0; i < 64; i++) {
		(void)mappings_find(m[i], 10 * PAGE);
		mappings_release(m[i]);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mappings");
	TCase *t = tcase_create("blocks");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, an_empty_block_has_nothing);
	tcase_add_test(t, the_end_is_exclusive);
	tcase_add_test(t, a_newer_mapping_cuts_an_older_one_in_two);
	tcase_add_test(t, a_shared_block_is_copied_when_one_of_its_owners_changes_it);
	tcase_add_loop_test(t, the_newest_mapping_of_each_page_wins, 0, 12);
	tcase_add_loop_test(t, the_most_mappings_a_process_can_have_fit, 0, 3);
	tcase_add_test(t, a_full_block_takes_no_more_and_keeps_what_it_has);
	tcase_add_test(t, the_budget_bounds_all_blocks_together);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
