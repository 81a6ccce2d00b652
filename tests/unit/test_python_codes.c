/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of Python functions, as the walker sends them. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interp/python_codes.h"

static struct python_codes *codes;
static struct python_code_event ev;
static unsigned n_forgotten;
static uint64_t last_forgotten;

static void on_forgotten(void *ctx, uint32_t tgid, uint64_t address)
{
	ck_assert_ptr_eq(ctx, &codes);
	ck_assert_uint_eq(tgid, 77);
	n_forgotten++;
	last_forgotten = address;
}

static void set_string(struct python_string *s, uint8_t *dst, const void *text, size_t bytes,
		       uint8_t kind)
{
	*s = (struct python_string){ .length = (uint32_t)(bytes / kind),
				     .bytes = (uint16_t)bytes,
				     .kind = kind };
	memcpy(dst, text, bytes);
}

static void set_name(const void *text, size_t bytes, uint8_t kind)
{
	set_string(&ev.name, ev.name_text, text, bytes, kind);
}

static void set_up(void)
{
	n_forgotten = 0;
	ck_assert_int_eq(python_codes_new(on_forgotten, &codes, &codes), 0);
	memset(&ev, 0, sizeof(ev));
	ev.address = 0x7f0000001000;
	ev.tgid = 77;
	ev.code = 1;
	ev.first_line = 10;
	set_name("Shop.total", 10, 1);
	set_string(&ev.file, ev.file_text, "/srv/shop.py", 12, 1);
	/* two units on line 11, then one on line 13 */
	memcpy(ev.linetable, "\xd9\x00\x00\xe0\x00\x00", 6);
	ev.linetable_len = ev.linetable_bytes = 6;
}

static void tear_down(void)
{
	python_codes_free(codes);
}

static int add(void)
{
	return python_codes_add(codes, &ev, PYTHON_CODE_HEAD + ev.linetable_bytes);
}

static const char *added_name(void)
{
	ck_assert_int_eq(add(), 0);
	return python_codes_get(codes, ev.code)->name;
}

START_TEST(a_description_is_found_by_its_number)
{
	const struct python_code_info *c;

	ck_assert_int_eq(add(), 0);
	c = python_codes_get(codes, 1);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->number, 1);
	ck_assert_uint_eq(c->tgid, 77);
	ck_assert_uint_eq(c->address, 0x7f0000001000);
	ck_assert_str_eq(c->name, "Shop.total");
	ck_assert_str_eq(c->file, "/srv/shop.py");
	ck_assert_int_eq(c->first_line, 10);
	ck_assert_int_eq(python_code_line(c, 0), 11);
	ck_assert_int_eq(python_code_line(c, 1), 11);
	ck_assert_int_eq(python_code_line(c, 2), 13);
	/* beyond the table, and before the first instruction: the function's own */
	ck_assert_int_eq(python_code_line(c, 3), 10);
	ck_assert_int_eq(python_code_line(c, PYTHON_NO_UNIT), 10);
	ck_assert_ptr_null(python_codes_get(codes, 2));
}
END_TEST

START_TEST(characters_of_each_width_become_utf8)
{
	static const uint16_t two[] = { 'm', 0xe9, 0x65e5, 0xd800, 0xdc00, 0 };
	static const uint32_t four[] = { 'x', 0x1f40d, 0x110000, 0xffffffff };

	set_name("caf\xe9\0", 5, 1);
	ck_assert_str_eq(added_name(), "café\xef\xbf\xbd");
	ev.code++;
	set_name(two, sizeof(two), 2);
	ck_assert_str_eq(added_name(), "mé日\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	ev.code++;
	set_name(four, sizeof(four), 4);
	ck_assert_str_eq(added_name(), "x\xf0\x9f\x90\x8d\xef\xbf\xbd\xef\xbf\xbd");
}
END_TEST

START_TEST(the_longest_strings_fit)
{
	memset(ev.name_text, 0, sizeof(ev.name_text));
	memset(ev.file_text, 0xff, sizeof(ev.file_text));
	ev.name = (struct python_string){ .length = ~0u, .bytes = PYTHON_MAX_NAME, .kind = 1 };
	ev.file = (struct python_string){ .length = ~0u, .bytes = PYTHON_MAX_FILE, .kind = 4 };
	ev.linetable_len = ev.linetable_bytes = PYTHON_MAX_LINETABLE;
	ck_assert_uint_eq(strlen(added_name()), 3 * PYTHON_MAX_NAME + 3);
	ck_assert_uint_eq(strlen(python_codes_get(codes, 1)->file), 3 * PYTHON_MAX_FILE / 4 + 3);
}
END_TEST

START_TEST(what_was_cut_ends_in_an_ellipsis)
{
	ev.name.length = 11;
	ck_assert_str_eq(added_name(), "Shop.total…");
}
END_TEST

START_TEST(a_name_that_could_not_be_read_is_said_to_be_unknown)
{
	ev.name = ev.file = (struct python_string){ 0 };
	ck_assert_str_eq(added_name(), "<unknown>");
	ck_assert_str_eq(python_codes_get(codes, 1)->file, "");
}
END_TEST

START_TEST(a_line_before_the_first_is_none)
{
	ev.first_line = -3;
	ev.linetable_bytes = 0;
	ck_assert_int_eq(add(), 0);
	ck_assert_int_eq(python_code_line(python_codes_get(codes, 1), 0), 0);
}
END_TEST

START_TEST(a_second_description_of_a_number_changes_nothing)
{
	ck_assert_int_eq(add(), 0);
	set_name("other", 5, 1);
	ck_assert_str_eq(added_name(), "Shop.total");
	ck_assert_uint_eq(python_codes_count(codes), 1);
}
END_TEST

START_TEST(what_is_no_description_is_refused)
{
	size_t len = PYTHON_CODE_HEAD + 6;

	ck_assert_int_eq(python_codes_add(codes, &ev, len - 1), -EBADMSG);
	ck_assert_int_eq(python_codes_add(codes, &ev, len + 1), -EBADMSG);
	ck_assert_int_eq(python_codes_add(codes, &ev, PYTHON_CODE_HEAD - 1), -EBADMSG);
	ck_assert_int_eq(python_codes_add(codes, &ev, 0), -EBADMSG);
	ev.code = 0;
	ck_assert_int_eq(add(), -EBADMSG);
	ev.code = 1;
	ev.name.kind = 3;
	ck_assert_int_eq(add(), -EBADMSG);
	ev.name.kind = 4; /* 10 bytes */
	ck_assert_int_eq(add(), -EBADMSG);
	ev.name.kind = 0;
	ck_assert_int_eq(add(), -EBADMSG);
	ev.name.kind = 1;
	ev.name.length = 9;
	ck_assert_int_eq(add(), -EBADMSG);
	ev.name.length = ev.name.bytes = PYTHON_MAX_NAME + 1;
	ck_assert_int_eq(add(), -EBADMSG);
	ev.name.length = ev.name.bytes = 10;
	ev.linetable_len = 5;
	ck_assert_int_eq(add(), -EBADMSG);
	ev.linetable_len = ev.linetable_bytes = PYTHON_MAX_LINETABLE + 1;
	ck_assert_int_eq(python_codes_add(codes, &ev, sizeof(ev) + 1), -EBADMSG);
	ck_assert_uint_eq(python_codes_count(codes), 0);
}
END_TEST

START_TEST(the_longest_unused_goes_when_there_is_no_room)
{
	ev.linetable_len = ev.linetable_bytes = PYTHON_MAX_LINETABLE;
	for (ev.code = 1; n_forgotten == 0; ev.code++) {
		ck_assert_uint_lt(ev.code, 100000);
		ev.address = ev.code * 0x100ull;
		ck_assert_int_eq(add(), 0);
		ck_assert_ptr_nonnull(python_codes_get(codes, 1)); /* in use all the time */
	}
	ck_assert_uint_eq(n_forgotten, 1);
	ck_assert_uint_eq(last_forgotten, 0x200);
	ck_assert_ptr_null(python_codes_get(codes, 2));
	ck_assert_ptr_nonnull(python_codes_get(codes, 3));
	ck_assert_uint_eq(python_codes_count(codes), ev.code - 2);
}
END_TEST

START_TEST(there_are_fewer_than_the_walker_has_room_for)
{
	for (ev.code = 1; ev.code <= 2 * PYTHON_MAX_CODES; ev.code++) {
		ev.address = ev.code * 0x100ull;
		ck_assert_int_eq(add(), 0);
	}
	ck_assert_uint_lt(python_codes_count(codes), PYTHON_MAX_CODES);
	ck_assert_uint_eq(python_codes_count(codes) + n_forgotten, 2 * PYTHON_MAX_CODES);
	ck_assert_uint_eq(last_forgotten, n_forgotten * 0x100ull);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("python_codes");
	TCase *tc = tcase_create("python_codes");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_description_is_found_by_its_number);
	tcase_add_test(tc, characters_of_each_width_become_utf8);
	tcase_add_test(tc, the_longest_strings_fit);
	tcase_add_test(tc, what_was_cut_ends_in_an_ellipsis);
	tcase_add_test(tc, a_name_that_could_not_be_read_is_said_to_be_unknown);
	tcase_add_test(tc, a_line_before_the_first_is_none);
	tcase_add_test(tc, a_second_description_of_a_number_changes_nothing);
	tcase_add_test(tc, what_is_no_description_is_refused);
	tcase_add_test(tc, the_longest_unused_goes_when_there_is_no_room);
	tcase_add_test(tc, there_are_fewer_than_the_walker_has_room_for);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
