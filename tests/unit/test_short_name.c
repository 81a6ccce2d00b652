/* SPDX-License-Identifier: Apache-2.0 */
/* test_short_name.c - long names of functions, for people. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "short_name.h"

static const struct {
	const char *name, *want;
} cases[] = {
	{ "main", "main" },
	{ "", "" },
	{ "f()", "f()" },
	{ "fib(int)", "fib(..)" },
	{ "std::map<int, long>::at(int const&) const", "std::map<..>::at(..) const" },
	{ "a<b<c>, d(e)>::f<(x)1>(g<h>*)", "a<..>::f<..>(..)" },
	{ "(anonymous namespace)::f(std::string)", "(anonymous namespace)::f(..)" },
	{ "ns::(anonymous namespace)::f(std::string)", "ns::(anonymous namespace)::f(..)" },
	{ "A::operator()(int, int) const", "A::operator()(..) const" },
	{ "std::ostream& operator<<<char>(std::ostream&, char)",
	  "std::ostream& operator<<<char>(..)" },
	{ "bool operator<(T const&, T const&)", "bool operator<(..)" },
	{ "A<x>::operator->() const", "A<x>::operator->() const" },
	{ "X::operator bool() const", "X::operator bool() const" },
	{ "cooperator<aaaa>(b)", "cooperator<..>(b)" },
	{ "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
	  "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop" },
	{ "<mpmc::Receiver<(Reader<Stdout>, String)> as Recv<A, B>>::recv::{closure#0}",
	  "<mpmc::Receiver<..> as Recv<..>>::recv::{closure#0}" },
	{ "core::iter::Iterator::map<A, B>", "core::iter::Iterator::map<..>" },
	{ "render (/srv/app/views.py:12)", "render (/srv/app/views.py:12)" },
	{ "main::{lambda(int)#1}::operator()(int) const",
	  "main::{lambda(..)#1}::operator()(..) const" },
	/* What does not add up stays. */
	{ "broken<int", "broken<int" },
	{ "broken(int", "broken(int" },
	{ "a>b)", "a>b)" },
	{ "<<<<<", "<<<<<" },
};

START_TEST(parameters_and_arguments_go_and_the_rest_stays)
{
	char dst[256];
	size_t n = short_name(dst, sizeof(dst), cases[_i].name);

	ck_assert_str_eq(dst, cases[_i].want);
	ck_assert_uint_eq(n, strlen(dst));
	ck_assert_uint_le(n, strlen(cases[_i].name));
}
END_TEST

START_TEST(no_room_is_never_exceeded)
{
	char dst[8];

	for (size_t size = 1; size <= sizeof(dst); size++) {
		memset(dst, 'x', sizeof(dst));
		ck_assert_uint_lt(short_name(dst, size, "function(parameters)"), size);
		ck_assert_uint_lt(strlen(dst), size);
	}
	ck_assert_uint_eq(short_name(dst, 0, "f"), 0);
}
END_TEST

START_TEST(the_last_part_is_behind_the_last_colons)
{
	ck_assert_str_eq(short_name_last("std::map<..>::at(..) const"), "at(..) const");
	ck_assert_str_eq(short_name_last("main"), "main");
	ck_assert_str_eq(short_name_last("odd::"), "odd::");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("short_name");
	TCase *tc = tcase_create("short_name");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, parameters_and_arguments_go_and_the_rest_stays, 0,
			    (int)(sizeof(cases) / sizeof(cases[0])));
	tcase_add_test(tc, no_room_is_never_exceeded);
	tcase_add_test(tc, the_last_part_is_behind_the_last_colons);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
