/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's symbols: from written files, and from the kernel that runs. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolize/kallsyms.h"

#define AT 1000000000000ull /* some time */

static const char text[] = "ffffffff81000000 T first_alias\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000100 t middle\n"
			   "ffffffff81000180 D a_variable\n"
			   "ffffffff81000200 W weak_one\n"
			   "ffffffff81000300 w weaker_one\n"
			   "ffffffff81900000 t last_of_kernel\n"
			   "ffffffffc0300000 t second_module_first\t[second]\n"
			   "ffffffffc0300080 t second_module_last\t[second]\n"
			   "ffffffffc0201000 t trampoline\t[first]\n"
			   "ffffffffc0400000 t bpf_prog_6deef7357e7b4530_x\t[bpf]\n";

static char path[64];

static void write_file(const char *s)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(s, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static void setup(void)
{
	int fd;

	strcpy(path, "/tmp/kallsyms-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void teardown(void)
{
	unlink(path);
}

static struct kallsyms *load(const char *s)
{
	struct kallsyms *k;

	write_file(s);
	ck_assert_int_eq(kallsyms_new(path, AT, &k), 0);
	return k;
}

static void check_symbol(struct kallsyms *k, uint64_t addr, const char *name, const char *module,
			 uint64_t start)
{
	struct kallsyms_symbol s;

	ck_assert_msg(kallsyms_find(k, addr, &s), "%s not found", name);
	ck_assert_str_eq(s.name, name);
	ck_assert_str_eq(s.module, module);
	ck_assert_uint_eq(s.start, start);
}

static void check_missing(struct kallsyms *k, uint64_t addr)
{
	struct kallsyms_symbol s;

	if (kallsyms_find(k, addr, &s))
		ck_abort_msg("%s at %llx", s.name, (unsigned long long)addr);
}

START_TEST(an_address_belongs_to_the_function_before_it)
{
	struct kallsyms *k = load(text);

	check_missing(k, 0xffffffff80ffffffull);
	check_symbol(k, 0xffffffff81000100ull, "middle", "", 0xffffffff81000100ull);
	check_symbol(k, 0xffffffff810001ffull, "middle", "", 0xffffffff81000100ull);
	check_symbol(k, 0xffffffff81000200ull, "weak_one", "", 0xffffffff81000200ull);
	check_symbol(k, 0xffffffff81000300ull, "weaker_one", "", 0xffffffff81000300ull);
	ck_assert_uint_eq(kallsyms_stext(k), 0xffffffff81000000ull);
	ck_assert(!kallsyms_hidden(k));
	kallsyms_free(k);
}
END_TEST

START_TEST(of_several_names_the_first_one_counts)
{
	struct kallsyms *k = load(text);

	check_symbol(k, 0xffffffff81000000ull, "first_alias", "", 0xffffffff81000000ull);
	check_symbol(k, 0xffffffff810000ffull, "first_alias", "", 0xffffffff81000000ull);
	ck_assert_uint_eq(kallsyms_count(k), 9);
	kallsyms_free(k);
}
END_TEST

START_TEST(modules_need_not_be_sorted_and_have_their_name)
{
	struct kallsyms *k = load(text);

	check_symbol(k, 0xffffffffc0201004ull, "trampoline", "[first]", 0xffffffffc0201000ull);
	check_symbol(k, 0xffffffffc0300010ull, "second_module_first", "[second]",
		     0xffffffffc0300000ull);
	check_symbol(k, 0xffffffffc0400001ull, "bpf_prog_6deef7357e7b4530_x", "[bpf]",
		     0xffffffffc0400000ull);
	kallsyms_free(k);
}
END_TEST

START_TEST(a_function_does_not_reach_into_what_lies_far_behind_it)
{
	struct kallsyms *k = load(text);

	check_missing(k, 0xffffffffa0000000ull); /* between the kernel and its modules */
	check_missing(k, 0xffffffffc0280000ull); /* between two modules */
	check_missing(k, 0xffffffffffffffffull);
	/* But within the kernel a function may be as large as it likes. */
	check_symbol(k, 0xffffffff818fffffull, "weaker_one", "", 0xffffffff81000300ull);
	kallsyms_free(k);
}
END_TEST

START_TEST(hidden_addresses_are_no_symbols)
{
	struct kallsyms *k = load("0000000000000000 T _stext\n"
				  "0000000000000000 t something\n"
				  "0000000000000000 t other\t[module]\n");

	ck_assert(kallsyms_hidden(k));
	ck_assert_uint_eq(kallsyms_count(k), 0);
	ck_assert_uint_eq(kallsyms_stext(k), 0);
	check_missing(k, 0);
	check_missing(k, 0xffffffff81000000ull);
	kallsyms_free(k);
}
END_TEST

START_TEST(lines_of_another_form_are_left_out)
{
	struct kallsyms *k = load("\n"
				  "ffffffff81000000\n"
				  "ffffffff81000000 T\n"
				  "ffffffff81000000 T \n"
				  "ffffffff81000000T name\n"
				  "fffffffff81000000 T too_long_an_address\n"
				  " T name\n"
				  "x T name\n"
				  "ffffffff81000400 T \tmodule_without_a_name\n"
				  "ffffffff81000500 T last_line_without_an_end");

	ck_assert_uint_eq(kallsyms_count(k), 1);
	check_symbol(k, 0xffffffff81000500ull, "last_line_without_an_end", "",
		     0xffffffff81000500ull);
	kallsyms_free(k);
	k = load("");
	ck_assert(!kallsyms_hidden(k));
	check_missing(k, 0xffffffff81000000ull);
	kallsyms_free(k);
}
END_TEST

START_TEST(what_cannot_be_opened_is_an_error)
{
	struct kallsyms *k;

	ck_assert_int_eq(kallsyms_new("/nowhere/at/all", AT, &k), -ENOENT);
}
END_TEST

START_TEST(a_module_that_was_loaded_later_is_found_after_a_reload)
{
	struct kallsyms *k = load("ffffffff81000000 T _stext\n");

	check_missing(k, 0xffffffffc0500000ull);
	write_file("ffffffff81000000 T _stext\n"
		   "ffffffffc0500000 t new_function\t[new]\n");
	ck_assert(!kallsyms_reload(k, AT)); /* too soon after the start */
	check_missing(k, 0xffffffffc0500000ull);
	ck_assert(kallsyms_reload(k, AT + NS_PER_SEC));
	check_symbol(k, 0xffffffffc0500000ull, "new_function", "[new]", 0xffffffffc0500000ull);
	/* The next time is further away. */
	write_file("ffffffff81000000 T _stext\n"
		   "ffffffffc0600000 t newer_function\t[new]\n");
	ck_assert(!kallsyms_reload(k, AT + 5 * NS_PER_SEC));
	ck_assert(kallsyms_reload(k, AT + 6 * NS_PER_SEC));
	check_symbol(k, 0xffffffffc0600000ull, "newer_function", "[new]", 0xffffffffc0600000ull);
	kallsyms_free(k);
}
END_TEST

START_TEST(another_function_at_the_same_address_is_noticed)
{
	struct kallsyms *k = load("ffffffffc0500000 t old_function\t[old]\n");

	write_file("ffffffffc0500000 t new_function\t[new]\n");
	ck_assert(kallsyms_reload(k, AT + 5 * NS_PER_SEC));
	check_symbol(k, 0xffffffffc0500000ull, "new_function", "[new]", 0xffffffffc0500000ull);
	kallsyms_free(k);
}
END_TEST

/* How many reloads an hour of misses, one each second, costs. */
static unsigned count_reloads(struct kallsyms *k)
{
	unsigned n = 0;

	for (uint64_t s = 1; s <= 3600; s++) {
		char line[64];

		/* A change is how a reload shows. */
		if (s % 600 == 0) {
			snprintf(line, sizeof(line), "ffffffff81000000 T f%u\n", (unsigned)s);
			write_file(line);
		}
		n += kallsyms_reload(k, AT + s * NS_PER_SEC);
	}
	return n;
}

START_TEST(a_reload_that_finds_nothing_new_makes_the_next_one_later)
{
	struct kallsyms *k = load("ffffffff81000000 T f\n");
	unsigned n = count_reloads(k);

	/* All but perhaps the last change were seen, though most reloads were in vain. */
	ck_assert_uint_ge(n, 5);
	ck_assert_uint_le(n, 6);
	kallsyms_free(k);
	/* In vain after 5 s: the next one is 10 s later. */
	k = load("ffffffff81000000 T f\n");
	ck_assert(!kallsyms_reload(k, AT + 5 * NS_PER_SEC));
	write_file("ffffffff81000000 T g\n");
	ck_assert(!kallsyms_reload(k, AT + 14 * NS_PER_SEC));
	ck_assert(kallsyms_reload(k, AT + 15 * NS_PER_SEC));
	kallsyms_free(k);
}
END_TEST

START_TEST(a_table_that_is_not_trusted_is_read_at_the_next_chance)
{
	struct kallsyms *k = load("ffffffffc0500000 t old_function\t[old]\n");

	write_file("ffffffffc0500000 t new_function\t[new]\n");
	/* It knows of what was before. */
	kallsyms_distrust(k, AT - 1);
	ck_assert(!kallsyms_is_distrusted(k));
	ck_assert(!kallsyms_reload(k, AT + NS_PER_SEC / 2));
	/* As young as it is. */
	kallsyms_distrust(k, AT + 1);
	ck_assert(kallsyms_is_distrusted(k));
	ck_assert(kallsyms_reload(k, AT + NS_PER_SEC / 2));
	/* The next one would be five seconds away. */
	write_file("ffffffffc0500000 t newer_function\t[new]\n");
	kallsyms_distrust(k, AT + 3 * NS_PER_SEC);
	ck_assert(kallsyms_is_distrusted(k));
	ck_assert(kallsyms_reload(k, AT + 3 * NS_PER_SEC));
	ck_assert(!kallsyms_is_distrusted(k));
	check_symbol(k, 0xffffffffc0500000ull, "newer_function", "[new]", 0xffffffffc0500000ull);
	kallsyms_free(k);
}
END_TEST

static void write_modules(const char *s)
{
	char name[80];
	FILE *f;

	snprintf(name, sizeof(name), "%s.modules", path);
	f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(s, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(another_module_is_noticed_before_a_reload_is_due)
{
	struct kallsyms *k = load("ffffffffc0500000 t old_function\t[old]\n");
	char modules[80];

	snprintf(modules, sizeof(modules), "%s.modules", path);
	write_modules("old 16384 0 - Loading 0xffffffffc0500000\n");
	ck_assert_int_eq(kallsyms_set_modules(k, modules), 0);
	/* Who uses it, and how, is no change. */
	write_modules("old 16384 2 x,y, Live 0xffffffffc0500000 (OE)\n");
	ck_assert(!kallsyms_reload(k, AT + NS_PER_SEC / 2));
	write_file("ffffffffc0500000 t new_function\t[new]\n");
	write_modules("new 16384 0 - Live 0xffffffffc0500000\n");
	/* It has just looked. */
	ck_assert(!kallsyms_reload(k, AT + NS_PER_SEC / 2 + 1));
	ck_assert(kallsyms_reload(k, AT + NS_PER_SEC * 3 / 4));
	check_symbol(k, 0xffffffffc0500000ull, "new_function", "[new]", 0xffffffffc0500000ull);
	/* Without a miss: it is distrusted. */
	kallsyms_check_modules(k, AT + NS_PER_SEC);
	ck_assert(!kallsyms_is_distrusted(k));
	write_modules("");
	kallsyms_check_modules(k, AT + 2 * NS_PER_SEC);
	ck_assert(kallsyms_is_distrusted(k));
	unlink(modules);
	kallsyms_free(k);
}
END_TEST

START_TEST(without_a_list_of_modules_nothing_changes)
{
	struct kallsyms *k = load("ffffffffc0500000 t old_function\t[old]\n");

	ck_assert_int_eq(kallsyms_set_modules(k, "/nowhere/at/all"), 0);
	write_file("ffffffffc0500000 t new_function\t[new]\n");
	ck_assert(!kallsyms_reload(k, AT + NS_PER_SEC / 2));
	kallsyms_check_modules(k, AT + NS_PER_SEC / 2);
	ck_assert(!kallsyms_is_distrusted(k));
	ck_assert(kallsyms_reload(k, AT + NS_PER_SEC));
	kallsyms_free(k);
}
END_TEST

START_TEST(the_kernels_own_text_has_an_end)
{
	struct kallsyms *k = load("ffffffff81000000 T _stext\n"
				  "ffffffff81000100 t middle\n"
				  "ffffffff81000200 T _etext\n"
				  "ffffffffc0500000 T _etext\t[module]\n");

	ck_assert(!kallsyms_is_core(k, 0xffffffff80ffffffull));
	ck_assert(kallsyms_is_core(k, 0xffffffff81000000ull));
	ck_assert(kallsyms_is_core(k, 0xffffffff810001ffull));
	ck_assert(!kallsyms_is_core(k, 0xffffffff81000200ull));
	ck_assert(!kallsyms_is_core(k, 0xffffffffc0500000ull));
	kallsyms_free(k);
	/* Where it is not known, none of it is for good. */
	k = load("ffffffff81000000 T _stext\n");
	ck_assert(!kallsyms_is_core(k, 0xffffffff81000000ull));
	kallsyms_free(k);
}
END_TEST

START_TEST(a_file_that_vanished_leaves_the_table_as_it_was)
{
	struct kallsyms *k = load(text);

	unlink(path);
	ck_assert(!kallsyms_reload(k, AT + 5 * NS_PER_SEC));
	check_symbol(k, 0xffffffff81000100ull, "middle", "", 0xffffffff81000100ull);
	kallsyms_free(k);
}
END_TEST

START_TEST(the_kernel_that_runs_has_functions_or_hides_them)
{
	struct kallsyms_symbol s;
	struct kallsyms *k;

	ck_assert_int_eq(kallsyms_new("/proc/kallsyms", AT, &k), 0);
	if (kallsyms_hidden(k)) {
		ck_assert_uint_eq(kallsyms_count(k), 0);
	} else {
		ck_assert_uint_gt(kallsyms_count(k), 1000);
		ck_assert_uint_ne(kallsyms_stext(k), 0);
		ck_assert(kallsyms_find(k, kallsyms_stext(k), &s));
		ck_assert_uint_eq(s.start, kallsyms_stext(k));
	}
	kallsyms_free(k);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kallsyms");
	TCase *tc = tcase_create("kallsyms");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, an_address_belongs_to_the_function_before_it);
	tcase_add_test(tc, of_several_names_the_first_one_counts);
	tcase_add_test(tc, modules_need_not_be_sorted_and_have_their_name);
	tcase_add_test(tc, a_function_does_not_reach_into_what_lies_far_behind_it);
	tcase_add_test(tc, hidden_addresses_are_no_symbols);
	tcase_add_test(tc, lines_of_another_form_are_left_out);
	tcase_add_test(tc, what_cannot_be_opened_is_an_error);
	tcase_add_test(tc, a_module_that_was_loaded_later_is_found_after_a_reload);
	tcase_add_test(tc, another_function_at_the_same_address_is_noticed);
	tcase_add_test(tc, a_reload_that_finds_nothing_new_makes_the_next_one_later);
	tcase_add_test(tc, a_table_that_is_not_trusted_is_read_at_the_next_chance);
	tcase_add_test(tc, another_module_is_noticed_before_a_reload_is_due);
	tcase_add_test(tc, without_a_list_of_modules_nothing_changes);
	tcase_add_test(tc, the_kernels_own_text_has_an_end);
	tcase_add_test(tc, a_file_that_vanished_leaves_the_table_as_it_was);
	tcase_add_test(tc, the_kernel_that_runs_has_functions_or_hides_them);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
