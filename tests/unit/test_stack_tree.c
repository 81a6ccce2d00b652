/* SPDX-License-Identifier: Apache-2.0 */
/* test_stack_tree.c - many stacks as one tree: sums, order, recursion, bounds. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "stack_tree.h"

enum { MAIN, A, B, C, N_LABELS };

static struct stack_tree *t;

static void set_up(void)
{
	ck_assert_int_eq(stack_tree_new(NULL, &t), 0);
}

static void tear_down(void)
{
	stack_tree_free(t);
}

#define ADD(weight, ...)                                                                     \
	ck_assert_int_eq(                                                                    \
		stack_tree_add(t, (const uint32_t[]){ __VA_ARGS__ },                         \
			       sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
			       weight, 1),                                                   \
		0)

static uint32_t child(uint32_t node, size_t i)
{
	size_t n;
	const uint32_t *children = stack_tree_children(t, node, &n);

	ck_assert_uint_lt(i, n);
	return children[i];
}

static size_t n_children(uint32_t node)
{
	size_t n;

	stack_tree_children(t, node, &n);
	return n;
}

START_TEST(common_callers_are_one_node_and_sums_go_up)
{
	uint32_t root_main, a;

	ADD(5, MAIN, A);
	ADD(3, MAIN, B);
	ADD(2, MAIN, A, C);
	ADD(1, MAIN);
	ck_assert_int_eq(stack_tree_finish(t), 0);

	ck_assert_uint_eq(stack_tree_n_nodes(t), 5);
	ck_assert_uint_eq(n_children(STACK_TREE_ROOT), 1);
	root_main = child(STACK_TREE_ROOT, 0);
	ck_assert_uint_eq(stack_tree_label(t, root_main), MAIN);
	ck_assert_uint_eq(stack_tree_sums(t, root_main)->total, 11);
	ck_assert_uint_eq(stack_tree_sums(t, root_main)->self, 1);
	ck_assert_uint_eq(stack_tree_sums(t, root_main)->n_total, 4);
	a = child(root_main, 0);
	ck_assert_uint_eq(stack_tree_label(t, a), A);
	ck_assert_uint_eq(stack_tree_sums(t, a)->self, 5);
	ck_assert_uint_eq(stack_tree_sums(t, a)->total, 7);
	ck_assert_uint_eq(stack_tree_parent(t, a), root_main);
	ck_assert_uint_eq(stack_tree_label(t, child(a, 0)), C);
	ck_assert_uint_eq(n_children(child(a, 0)), 0);
	ck_assert_uint_eq(stack_tree_sums(t, STACK_TREE_ROOT)->total, 11);
}
END_TEST

START_TEST(the_heaviest_comes_first_and_of_equals_the_earlier)
{
	ADD(2, MAIN, A);
	ADD(7, MAIN, B);
	ADD(2, MAIN, C);
	ck_assert_int_eq(stack_tree_finish(t), 0);
	ck_assert_uint_eq(stack_tree_label(t, child(1, 0)), B);
	ck_assert_uint_eq(stack_tree_label(t, child(1, 1)), A);
	ck_assert_uint_eq(stack_tree_label(t, child(1, 2)), C);
}
END_TEST

START_TEST(recursion_counts_once_for_its_function)
{
	ADD(4, MAIN, A, A, A);
	ADD(1, MAIN, A, B, A);
	ck_assert_int_eq(stack_tree_finish(t), 0);
	ck_assert_uint_eq(stack_tree_label_sums(t, A)->total, 5);
	ck_assert_uint_eq(stack_tree_label_sums(t, A)->self, 5);
	ck_assert_uint_eq(stack_tree_label_sums(t, A)->n_total, 2);
	ck_assert_uint_eq(stack_tree_label_sums(t, MAIN)->self, 0);
	ck_assert_uint_eq(stack_tree_label_sums(t, B)->total, 1);
	ck_assert_uint_eq(stack_tree_label_sums(t, 4711)->total, 0);
}
END_TEST

START_TEST(an_empty_stack_is_the_roots)
{
	ck_assert_int_eq(stack_tree_add(t, NULL, 0, 3, 1), 0);
	ck_assert_int_eq(stack_tree_finish(t), 0);
	ck_assert_uint_eq(stack_tree_sums(t, STACK_TREE_ROOT)->self, 3);
	ck_assert_uint_eq(n_children(STACK_TREE_ROOT), 0);
}
END_TEST

START_TEST(weights_that_do_not_fit_stop_at_the_greatest)
{
	ADD(UINT64_MAX, MAIN, A);
	ADD(UINT64_MAX, MAIN, A);
	ADD(5, MAIN, B);
	ck_assert_int_eq(stack_tree_finish(t), 0);
	ck_assert_uint_eq(stack_tree_sums(t, 1)->total, UINT64_MAX);
	ck_assert_uint_eq(stack_tree_label_sums(t, MAIN)->total, UINT64_MAX);
	ck_assert_uint_eq(stack_tree_label_sums(t, B)->total, 5);
}
END_TEST

START_TEST(a_stack_of_any_depth_fits)
{
	size_t n = 300000;
	uint32_t *labels = calloc(n, sizeof(*labels));

	ck_assert_int_eq(stack_tree_add(t, labels, n, 1, 1), 0);
	ck_assert_int_eq(stack_tree_finish(t), 0);
	ck_assert_uint_eq(stack_tree_n_nodes(t), n + 1);
	ck_assert_uint_eq(stack_tree_sums(t, 1)->total, 1);
	free(labels);
}
END_TEST

START_TEST(beyond_the_budget_it_says_so)
{
	struct pool_budget budget = { .max = 1 << 20 };
	struct stack_tree *small;
	uint32_t label = 0;
	int r = 0;

	ck_assert_int_eq(stack_tree_new(&budget, &small), 0);
	for (; r == 0; label++)
		r = stack_tree_add(small, &label, 1, 1, 1);
	ck_assert_int_eq(r, -E2BIG);
	ck_assert_uint_gt(label, 1000);
	stack_tree_free(small);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stack_tree");
	TCase *tc = tcase_create("stack_tree");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, common_callers_are_one_node_and_sums_go_up);
	tcase_add_test(tc, the_heaviest_comes_first_and_of_equals_the_earlier);
	tcase_add_test(tc, recursion_counts_once_for_its_function);
	tcase_add_test(tc, an_empty_stack_is_the_roots);
	tcase_add_test(tc, weights_that_do_not_fit_stop_at_the_greatest);
	tcase_add_test(tc, a_stack_of_any_depth_fits);
	tcase_add_test(tc, beyond_the_budget_it_says_so);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
