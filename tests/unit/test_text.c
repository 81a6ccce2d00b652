/* SPDX-License-Identifier: Apache-2.0 */
/* Strings from elsewhere, made printable and parsed. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static void assert_utf8(const char *bytes, size_t len, const char *want)
{
	char out[256];
	size_t n = text_utf8(out, sizeof(out), bytes, len);

	ck_assert_str_eq(out, want);
	ck_assert_uint_eq(n, strlen(want));
	ck_assert(text_is_utf8(out, n));
}

START_TEST(good_utf8_stays_as_it_is)
{
	static const char good[] = "a\x7f"
				   "\xc2\x80\xdf\xbf"
				   "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"
				   "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";

	ck_assert(text_is_utf8(good, strlen(good)));
	assert_utf8(good, strlen(good), good);
}
END_TEST

START_TEST(each_bad_byte_becomes_one_replacement)
{
	static const struct {
		const char *bytes, *want;
	} cases[] = {
		{ "a\x80z", "a" BAD "z" },			 /* alone */
		{ "\xc0\xaf", BAD BAD },			 /* overlong "/" */
		{ "\xe0\x9f\xbf", BAD BAD BAD },		 /* overlong */
		{ "\xf0\x8f\xbf\xbf", BAD BAD BAD BAD },	 /* overlong */
		{ "\xed\xa0\x80", BAD BAD BAD },		 /* a surrogate */
		{ "\xf4\x90\x80\x80", BAD BAD BAD BAD },	 /* beyond U+10FFFF */
		{ "\xf5\x80\x80\x80\xff", BAD BAD BAD BAD BAD }, /* never in UTF-8 */
		{ "\xe2\x82", BAD BAD },			 /* ends too early */
		{ "\xe2\x82z", BAD BAD "z" },			 /* broken off */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert(!text_is_utf8(cases[i].bytes, strlen(cases[i].bytes)));
		assert_utf8(cases[i].bytes, strlen(cases[i].bytes), cases[i].want);
	}
}
END_TEST

START_TEST(a_nul_ends_a_string)
{
	ck_assert(!text_is_utf8("a\0b", 3));
	assert_utf8("a\0b", 3, "a");
}
END_TEST

/* No length makes it write beyond its room or leave half a character. */
START_TEST(a_string_is_cut_between_characters)
{
	static const char src[] = "x\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\x1b\xff";

	for (size_t size = 0; size < 40; size++) {
		char *dst = malloc(size + 1); /* ASan sees one byte too many */
		size_t n;

		ck_assert_ptr_nonnull(dst);
		memset(dst, 'U', size + 1);
		n = text_utf8(dst, size, src, strlen(src));
		ck_assert_int_eq(dst[size], 'U');
		if (size) {
			ck_assert_uint_lt(n, size);
			ck_assert_uint_eq(strlen(dst), n);
			ck_assert(text_is_utf8(dst, n));
		}
		memset(dst, 'U', size + 1);
		n = text_printable(dst, size, src, strlen(src));
		ck_assert_int_eq(dst[size], 'U');
		if (size)
			ck_assert(text_is_utf8(dst, n) && n < size);
		free(dst);
	}
}
END_TEST

START_TEST(a_terminal_gets_no_control_characters)
{
	static const char src[] = "\x1b]0;x\a\n\t\x7f"
				  "\xc2\x9b"	 /* CSI as one C1 character */
				  "\xe2\x80\xae" /* right-to-left override */
				  "\xe2\x81\xa6" /* an isolate */
				  "\xef\xbb\xbf" /* a mark of byte order */
				  "\xff\xc3\xa4";
	char out[256];

	text_printable(out, sizeof(out), src, sizeof(src) - 1);
	ck_assert_str_eq(out,
			 "\\x1b]0;x\\x07\\x0a\\x09\\x7f\\x9b\\u202e\\u2066\\ufeff" BAD "\xc3\xa4");
	text_printable(out, sizeof(out), "a\0b", 3);
	ck_assert_str_eq(out, "a\\x00b");
}
END_TEST

START_TEST(a_number_is_the_whole_string)
{
	static const char *const bad[] = { "", " 1", "1 ", "+1", "-1", "0x1", "1a", "a", "1.5" };
	uint64_t v = 42;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(text_u64(bad[i], 0, UINT64_MAX, &v), -EINVAL);
	ck_assert_int_eq(text_u64("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
	ck_assert_int_eq(text_u64("4", 5, 7, &v), -ERANGE);
	ck_assert_int_eq(text_u64("8", 5, 7, &v), -ERANGE);
	ck_assert_uint_eq(v, 42); /* untouched by what fails */
	ck_assert_int_eq(text_u64("18446744073709551615", 0, UINT64_MAX, &v), 0);
	ck_assert(v == UINT64_MAX);
	ck_assert_int_eq(text_u64("007", 5, 7, &v), 0);
	ck_assert_uint_eq(v, 7);
}
END_TEST

START_TEST(times_and_sizes_have_units_and_limits)
{
	uint64_t v = 0;

	ck_assert_int_eq(text_duration_ns("10", UINT64_MAX, &v), 0);
	ck_assert(v == 10000000000ull);
	ck_assert_int_eq(text_duration_ns("250ms", UINT64_MAX, &v), 0);
	ck_assert(v == 250000000ull);
	ck_assert_int_eq(text_duration_ns("3us", UINT64_MAX, &v), 0);
	ck_assert(v == 3000ull);
	ck_assert_int_eq(text_duration_ns("2m", UINT64_MAX, &v), 0);
	ck_assert(v == 120000000000ull);
	ck_assert_int_eq(text_duration_ns("1h", UINT64_MAX, &v), 0);
	ck_assert(v == 3600000000000ull);
	ck_assert_int_eq(text_duration_ns("2s", 1999999999ull, &v), -ERANGE);
	ck_assert_int_eq(text_duration_ns("18446744073709551615h", UINT64_MAX, &v), -ERANGE);
	ck_assert_int_eq(text_duration_ns("10x", UINT64_MAX, &v), -EINVAL);
	ck_assert_int_eq(text_duration_ns("s", UINT64_MAX, &v), -EINVAL);
	ck_assert_int_eq(text_duration_ns("-1s", UINT64_MAX, &v), -EINVAL);

	ck_assert_int_eq(text_bytes("4096", UINT64_MAX, &v), 0);
	ck_assert_uint_eq(v, 4096);
	ck_assert_int_eq(text_bytes("64M", UINT64_MAX, &v), 0);
	ck_assert_uint_eq(v, 64u << 20);
	ck_assert_int_eq(text_bytes("1G", (1u << 30) - 1, &v), -ERANGE);
	ck_assert_int_eq(text_bytes("17179869184G", UINT64_MAX, &v), -ERANGE);
	ck_assert_int_eq(text_bytes("1GB", UINT64_MAX, &v), -EINVAL);
}
END_TEST

START_TEST(a_list_of_cpus_sets_what_it_names)
{
	bool set[16] = { 0 };

	ck_assert_int_eq(text_cpu_list("0-3,8,10-11\n", set, 16), 7);
	for (unsigned i = 0; i < 16; i++)
		ck_assert_int_eq(set[i], i <= 3 || i == 8 || i == 10 || i == 11);
	ck_assert_int_eq(text_cpu_list("3,3-4", set, 16), 1); /* what was not set before */
	ck_assert_int_eq(text_cpu_list("\n", set, 16), 0);
	ck_assert_int_eq(text_cpu_list("16", set, 16), -ERANGE);
	ck_assert_int_eq(text_cpu_list("1-16", set, 16), -ERANGE);
	ck_assert_int_eq(text_cpu_list("0-18446744073709551615", set, 16), -ERANGE);
	ck_assert_int_eq(text_cpu_list("0-99999999999999999999", set, 16), -ERANGE);
	ck_assert_int_eq(text_cpu_list("3-1", set, 16), -ERANGE);
	ck_assert_int_eq(text_cpu_list("1-", set, 16), -EINVAL);
	ck_assert_int_eq(text_cpu_list(",1", set, 16), -EINVAL);
	ck_assert_int_eq(text_cpu_list("1 2", set, 16), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("text");
	TCase *tc = tcase_create("text");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, good_utf8_stays_as_it_is);
	tcase_add_test(tc, each_bad_byte_becomes_one_replacement);
	tcase_add_test(tc, a_nul_ends_a_string);
	tcase_add_test(tc, a_string_is_cut_between_characters);
	tcase_add_test(tc, a_terminal_gets_no_control_characters);
	tcase_add_test(tc, a_number_is_the_whole_string);
	tcase_add_test(tc, times_and_sizes_have_units_and_limits);
	tcase_add_test(tc, a_list_of_cpus_sets_what_it_names);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
