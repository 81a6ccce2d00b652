/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that every reader takes and no terminal obeys. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

static char *text;
static size_t len;
static FILE *out;
static struct json json;

static void set_up(void)
{
	out = open_memstream(&text, &len);
	json = (struct json){ .out = out };
}

static void tear_down(void)
{
	fclose(out);
	free(text);
}

static void assert_written(const char *want)
{
	fflush(out);
	ck_assert_str_eq(text, want);
}

START_TEST(values_are_separated_and_nested)
{
	json_object(&json, NULL);
	json_string(&json, "s", "text");
	json_array(&json, "a");
	json_u64(&json, NULL, 18446744073709551615ull);
	json_i64(&json, NULL, INT64_MIN);
	json_bool(&json, NULL, true);
	json_bool(&json, NULL, false);
	json_object(&json, NULL);
	json_end(&json);
	json_array(&json, NULL);
	json_end(&json);
	json_end(&json);
	json_double(&json, "d", 0.5);
	json_end(&json);
	assert_written("{\"s\":\"text\",\"a\":[18446744073709551615,-9223372036854775808,true,"
		       "false,{},[]],\"d\":0.5}");
}
END_TEST

START_TEST(what_would_break_a_string_or_a_terminal_is_escaped)
{
	json_array(&json, NULL);
	json_string(&json, NULL, "a\"b\\c\n\x1b[31m\x7f\xc2\x9b\xc2\xa0\xc3\xa4");
	json_string(&json, NULL, NULL);
	json_string(&json, NULL, "\xff");
	json_end(&json);
	assert_written("[\"a\\\"b\\\\c\\u000a\\u001b[31m\\u007f\\u009b\xc2\xa0\xc3\xa4\",\"\","
		       "\"\xef\xbf\xbd\"]");
}
END_TEST

START_TEST(names_are_escaped_too)
{
	json_object(&json, NULL);
	json_u64(&json, "a\"b", 1);
	json_end(&json);
	assert_written("{\"a\\\"b\":1}");
}
END_TEST

START_TEST(a_number_that_json_does_not_know_is_null)
{
	json_array(&json, NULL);
	json_double(&json, NULL, (double)NAN);
	json_double(&json, NULL, (double)-INFINITY);
	json_end(&json);
	assert_written("[null,null]");
}
END_TEST

/* A long string is written in pieces, which must not part a character. */
START_TEST(long_strings_keep_their_characters_whole)
{
	static const char *const chars[] = { "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80" };
	char src[400], want[402];

	for (size_t k = 0; k < 3; k++) {
		for (size_t shift = 0; shift < 70; shift++) {
			size_t n = shift;

			memset(src, 'x', shift);
			while (n + 4 < 300) {
				strcpy(src + n, chars[k]);
				n += strlen(chars[k]);
			}
			snprintf(want, sizeof(want), "\"%s\"", src);
			fflush(out);
			rewind(out);
			json = (struct json){ .out = out };
			json_string(&json, NULL, src);
			fputc('\0', out);
			assert_written(want);
		}
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("json");
	TCase *tc = tcase_create("json");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, values_are_separated_and_nested);
	tcase_add_test(tc, what_would_break_a_string_or_a_terminal_is_escaped);
	tcase_add_test(tc, names_are_escaped_too);
	tcase_add_test(tc, a_number_that_json_does_not_know_is_null);
	tcase_add_test(tc, long_strings_keep_their_characters_whole);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
