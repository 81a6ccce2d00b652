/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel code that comes and goes: who was at an address when. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "symbolize/kallsyms.h"
#include "symbolize/kernel_code.h"

#define AT 0xffffffffc0000000ull

static struct kernel_code *kc;

static void setup(void)
{
	ck_assert_int_eq(kernel_code_new(&kc), 0);
}

static void teardown(void)
{
	kernel_code_free(kc);
}

static struct kernel_change of(uint64_t time_ns, uint64_t start, uint32_t len, const char *name)
{
	return (struct kernel_change){ .time_ns = time_ns,
				       .start = start,
				       .len = len,
				       .is_bpf = true,
				       .name = name,
				       .name_len = strlen(name) };
}

static void came(uint64_t time_ns, uint64_t start, uint32_t len, const char *name)
{
	struct kernel_change change = of(time_ns, start, len, name);

	ck_assert_int_eq(kernel_code_change(kc, &change), 0);
}

static void went(uint64_t time_ns, uint64_t start, uint32_t len, const char *name)
{
	struct kernel_change change = of(time_ns, start, len, name);

	change.is_gone = true;
	ck_assert_int_eq(kernel_code_change(kc, &change), 0);
}

static void check_at(uint64_t time_ns, uint64_t addr, const char *name)
{
	struct kallsyms_symbol s;

	ck_assert_msg(kernel_code_find(kc, addr, time_ns, &s), "%s not found", name);
	ck_assert_str_eq(s.name, name);
	ck_assert_uint_le(s.start, addr);
}

static void check_nobody(uint64_t time_ns, uint64_t addr)
{
	struct kallsyms_symbol s;

	if (kernel_code_find(kc, addr, time_ns, &s))
		ck_abort_msg("%s at %llu", s.name, (unsigned long long)time_ns);
}

START_TEST(a_program_is_there_between_its_coming_and_its_going)
{
	struct kallsyms_symbol s;

	came(100, AT, 0x40, "one");
	went(200, AT, 0x40, "one");
	check_nobody(99, AT);
	check_at(100, AT, "one");
	check_at(199, AT + 0x3f, "one");
	check_nobody(199, AT - 1);
	check_nobody(199, AT + 0x40);
	check_nobody(200, AT);
	ck_assert(kernel_code_find(kc, AT + 8, 150, &s));
	ck_assert_uint_eq(s.start, AT);
	ck_assert_str_eq(s.module, "[bpf]");
}
END_TEST

START_TEST(of_two_at_one_place_each_has_its_time)
{
	uint64_t one, two;

	came(100, AT, 0x40, "one");
	went(200, AT, 0x40, "one");
	came(300, AT + 0x10, 0x40, "two"); /* the kernel does not start at the same byte */
	check_at(150, AT + 0x20, "one");
	check_at(350, AT + 0x20, "two");
	check_nobody(250, AT + 0x20);
	check_nobody(350, AT + 0x8);
	one = kernel_code_find(kc, AT + 0x20, 150, NULL);
	two = kernel_code_find(kc, AT + 0x20, 350, NULL);
	ck_assert_uint_ne(one, two);
	ck_assert_uint_eq(two, kernel_code_find(kc, AT + 0x21, UINT64_MAX - 1, NULL));
}
END_TEST

START_TEST(what_goes_without_having_come_was_there_before)
{
	went(200, AT, 0x40, "old");
	check_at(0, AT, "old");
	check_at(199, AT, "old");
	check_nobody(200, AT);
	/* But not before the one that was there until then. */
	came(300, AT, 0x40, "new");
	went(400, AT, 0x40, "new");
	went(600, AT, 0x40, "newer");
	check_at(350, AT, "new");
	check_at(500, AT, "newer");
	check_at(100, AT, "old");
}
END_TEST

START_TEST(whoever_comes_ends_those_whose_end_was_missed)
{
	came(100, AT, 0x40, "one");
	came(100, AT + 0x40, 0x40, "next to it");
	came(200, AT + 0x20, 0x20, "two");
	check_at(199, AT + 0x20, "one");
	check_at(200, AT + 0x20, "two");
	check_nobody(200, AT);
	check_at(200, AT + 0x40, "next to it");
	/* Its end comes too late: the successor stays. */
	went(300, AT, 0x40, "one");
	check_at(301, AT + 0x20, "two");
}
END_TEST

START_TEST(who_is_gone_is_found_when_asked_for)
{
	struct kallsyms_symbol s;

	came(100, AT, 0x40, "one");
	went(200, AT, 0x40, "one");
	came(300, AT, 0x40, "two");
	went(400, AT, 0x40, "two");
	ck_assert(!kernel_code_find_gone(kc, AT, 150, &s));
	ck_assert(kernel_code_find_gone(kc, AT, 200, &s));
	ck_assert_str_eq(s.name, "one");
	ck_assert(kernel_code_find_gone(kc, AT, 400, &s));
	ck_assert_str_eq(s.name, "two");
	ck_assert(!kernel_code_find_gone(kc, AT + 0x40, 400, &s));
}
END_TEST

START_TEST(after_a_loss_only_the_past_is_known)
{
	came(100, AT, 0x40, "one");
	kernel_code_missed(kc, 200);
	check_at(199, AT, "one");
	check_nobody(200, AT);
	went(300, AT, 0x40, "one"); /* it was there all the time */
	check_at(250, AT, "one");
}
END_TEST

START_TEST(who_is_gone_for_long_is_forgotten)
{
	came(100, AT, 0x40, "one");
	went(200, AT, 0x40, "one");
	came(100, AT + 0x1000, 0x40, "stays");
	kernel_code_collect(kc, 200 + 9 * NS_PER_SEC);
	check_at(150, AT, "one");
	ck_assert_uint_eq(kernel_code_count(kc), 2);
	kernel_code_collect(kc, 200 + 11 * NS_PER_SEC);
	ck_assert_uint_eq(kernel_code_count(kc), 1);
	check_nobody(150, AT);
	check_at(UINT64_MAX - 1, AT + 0x1000, "stays");
}
END_TEST

START_TEST(there_is_a_limit_and_then_room_again)
{
	struct kernel_change change = of(100, 0, 16, "many");
	size_t n = 0;
	int r;

	while ((r = kernel_code_change(kc, &change)) == 0) {
		change.start += 16;
		ck_assert_uint_lt(++n, 1000000);
	}
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_uint_eq(kernel_code_count(kc), n);
	check_at(100, change.start - 1, "many");
	kernel_code_missed(kc, 200);
	kernel_code_collect(kc, 20 * NS_PER_SEC);
	ck_assert_uint_eq(kernel_code_count(kc), 0);
	ck_assert_int_eq(kernel_code_change(kc, &change), 0);
}
END_TEST

START_TEST(what_the_kernel_makes_for_itself_is_called_as_in_kallsyms)
{
	struct kernel_change change = of(100, AT, 16, "ftrace_trampoline");
	struct kallsyms_symbol s;

	change.is_bpf = false;
	ck_assert_int_eq(kernel_code_change(kc, &change), 0);
	ck_assert(kernel_code_find(kc, AT, 100, &s));
	ck_assert_str_eq(s.module, "[__builtin__ftrace]");
	change = of(100, AT + 16, 16, "kprobe_insn_page");
	change.is_bpf = false;
	ck_assert_int_eq(kernel_code_change(kc, &change), 0);
	ck_assert(kernel_code_find(kc, AT + 16, 100, &s));
	ck_assert_str_eq(s.module, "[__builtin__kprobes]");
}
END_TEST

/* Random changes in few places, against a list that is searched from the end. */
START_TEST(the_same_as_a_list_of_all_that_came)
{
	enum { N = 2000, PLACES = 16 };
	uint64_t from[N], until[N];
	unsigned place[N], alive[PLACES], n = 0;
	char name[32];

	memset(alive, 0xff, sizeof(alive));
	srand(1);
	for (uint64_t t = 1; n < N; t++) {
		unsigned p = (unsigned)rand() % PLACES;

		snprintf(name, sizeof(name), "program %u", n);
		if (alive[p] == UINT32_MAX) {
			came(t, AT + p * 64, 64, name);
			place[n] = p;
			from[n] = t;
			until[n] = UINT64_MAX;
			alive[p] = n++;
		} else {
			went(t, AT + p * 64, 64, name);
			until[alive[p]] = t;
			alive[p] = UINT32_MAX;
		}
	}
	for (unsigned i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "program %u", i);
		check_at(from[i], AT + place[i] * 64 + 63, name);
		check_at(until[i] - 1, AT + place[i] * 64, name);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernel_code");
	TCase *tc = tcase_create("kernel_code");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_program_is_there_between_its_coming_and_its_going);
	tcase_add_test(tc, of_two_at_one_place_each_has_its_time);
	tcase_add_test(tc, what_goes_without_having_come_was_there_before);
	tcase_add_test(tc, whoever_comes_ends_those_whose_end_was_missed);
	tcase_add_test(tc, who_is_gone_is_found_when_asked_for);
	tcase_add_test(tc, after_a_loss_only_the_past_is_known);
	tcase_add_test(tc, who_is_gone_for_long_is_forgotten);
	tcase_add_test(tc, there_is_a_limit_and_then_room_again);
	tcase_add_test(tc, what_the_kernel_makes_for_itself_is_called_as_in_kallsyms);
	tcase_add_test(tc, the_same_as_a_list_of_all_that_came);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
