/* SPDX-License-Identifier: Apache-2.0 */
/* Names that somebody may have meant. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

static const char *const names[] = {
	"malloc", "calloc", "realloc", "free",	   "mallopt",	     "malloc_usable_size",
	"mmap",	  "munmap", "memcpy",  "memalign", "posix_memalign", "malloc_trim",
};

START_TEST(the_nearest_ones_come_first)
{
	static const struct {
		const char *wanted, *says;
	} cases[] = {
		{ "mallok", "; near it: malloc, " },
		{ "amlloc", "; near it: malloc" },
		{ "MALLOC", "; near it: malloc" },
		{ "fre", "; near it: free" },
		{ "malloc", "; near it: calloc, " },
		{ "memalig", "; near it: memalign, posix_memalign" },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nearest n = { .wanted = cases[i].wanted };

		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			nearest_offer(&n, names[k]);
		text[0] = '\0';
		nearest_append(&n, text, sizeof(text));
		ck_assert_msg(strncmp(text, cases[i].says, strlen(cases[i].says)) == 0, "%s: %s",
			      cases[i].wanted, text);
	}
}
END_TEST

START_TEST(what_is_like_nothing_is_near_nothing)
{
	struct nearest n = { .wanted = "zzzzzz" };
	char text[64] = "no", small[12] = "none";

	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		nearest_offer(&n, names[k]);
	nearest_append(&n, text, sizeof(text));
	ck_assert_str_eq(text, "no");
	ck_assert(nearest_is("malloc", "calloc"));
	ck_assert(!nearest_is("malloc", "free"));
	n = (struct nearest){ .wanted = "fred" };
	nearest_offer(&n, "free");
	nearest_append(&n, small, sizeof(small));
	ck_assert_uint_lt(strlen(small), sizeof(small));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nearest");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, the_nearest_ones_come_first);
	tcase_add_test(tc, what_is_like_nothing_is_near_nothing);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
