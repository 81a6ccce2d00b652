/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, strings and lines of V8's, in memory that is made here. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "v8/v8_function.h"
#include "v8_image.h"

static struct v8_lines *lines;
static struct v8_function f;
static char text[3 * V8_MAX_STRING + 1];

static void set_up(void)
{
	v8_image_reset();
	ck_assert_int_eq(v8_lines_new(&lines), 0);
	memset(&f, 0xee, sizeof(f));
}

static void tear_down(void)
{
	v8_lines_free(lines);
}

static int read_function(uint64_t shared)
{
	return v8_function_read(&v8_image, lines, 1, shared, v8_identity(shared), &f);
}

/* ---- strings ---- */

static int read_string(uint64_t s)
{
	return v8_string(&v8_image, s, false, V8_MAX_STRING, text);
}

START_TEST(strings_in_one_piece)
{
	static const uint16_t wide[] = { 'n', 0xfc, 0x20ac, 0xd800, 0 };

	ck_assert_int_eq(read_string(v8_one_byte("work")), 4);
	ck_assert_str_eq(text, "work");
	ck_assert_int_eq(read_string(v8_one_byte("")), 0);
	ck_assert_int_eq(read_string(v8_one_byte("\xfc")), 2); /* Latin 1 */
	ck_assert_str_eq(text, "ü");
	ck_assert_int_eq(read_string(v8_two_byte(wide, 5)), 12);
	ck_assert_str_eq(text, "nü€\xef\xbf\xbd\xef\xbf\xbd");
}
END_TEST

START_TEST(strings_of_pieces)
{
	uint64_t foo = v8_one_byte("foo"), bar = v8_one_byte("bar"), s, thin, sliced;

	s = v8_cons(v8_cons(foo, v8_one_byte("."), 4), v8_cons(bar, foo, 6), 10);
	ck_assert_int_eq(read_string(s), 10);
	ck_assert_str_eq(text, "foo.barfoo");
	thin = v8_object(TYPE_THIN, 32);
	v8_poke(thin, 8, 10ull << 32);
	v8_poke(thin, 16, s);
	ck_assert_int_eq(read_string(thin), 10);
	sliced = v8_object(TYPE_SLICED, 32);
	v8_poke(sliced, 8, 4ull << 32);
	v8_poke(sliced, 16, thin);
	v8_poke_small(sliced, 24, 2);
	ck_assert_int_eq(read_string(sliced), 4);
	ck_assert_str_eq(text, "o.ba");
}
END_TEST

START_TEST(beginning_and_end)
{
	uint64_t s = v8_cons(v8_one_byte("/very/long/"), v8_one_byte("path"), 15);

	ck_assert_int_eq(v8_string(&v8_image, s, false, 5, text), 5);
	ck_assert_str_eq(text, "/very");
	ck_assert_int_eq(v8_string(&v8_image, s, true, 5, text), 5);
	ck_assert_str_eq(text, "/path");
	ck_assert_int_eq(v8_string(&v8_image, s, true, 0, text), 0);
}
END_TEST

START_TEST(external_strings)
{
	uint64_t chars = v8_one_byte("somewhere else"), s = v8_object(TYPE_EXTERNAL, 32);

	v8_poke(s, 8, 9ull << 32);
	v8_poke(s, 24, chars - 1 + 16);
	ck_assert_int_eq(read_string(s), 9);
	ck_assert_str_eq(text, "somewhere");
	s = v8_object(TYPE_EXTERNAL | 0x10, 32); /* whose methods would say where */
	v8_poke(s, 8, 9ull << 32);
	v8_poke(s, 24, chars - 1 + 16);
	ck_assert_int_eq(read_string(s), -1);
}
END_TEST

START_TEST(strings_that_are_none)
{
	uint64_t loop = v8_cons(0, 0, 8), large = v8_one_byte("x");

	ck_assert_int_eq(read_string(0), -1);
	ck_assert_int_eq(read_string(1), -1);
	ck_assert_int_eq(read_string(v8_object(TYPE_SHARED, 32)), -1);
	ck_assert_int_eq(read_string(loop), -1);
	v8_poke(loop, 16, loop);
	v8_poke(loop, 24, loop);
	ck_assert_int_eq(read_string(loop), -1);
	v8_poke(large, 8, 500ull << 32); /* longer than memory is */
	ck_assert_int_eq(read_string(large), -1);
	v8_poke(large, 8, 0xffffffffull << 32);
	ck_assert_int_eq(read_string(large), -1);
	ck_assert_int_eq(read_string(v8_object(0x2c, 32)), -1); /* no such kind */
}
END_TEST

/* ---- functions ---- */

static const char source[] = "first();\nfunction f() {\n}\r\nfunction g() {}\rfunction h() {}\n";

static int32_t place_of(const char *what)
{
	return (int32_t)(strstr(source, what) - source);
}

START_TEST(a_function)
{
	uint64_t script = v8_script("/srv/shop.js", v8_one_byte(source));
	uint64_t scope = v8_scope(3, v8_one_byte("f"), 0, place_of("() {\n"));

	ck_assert_int_eq(read_function(v8_shared(scope, script, 7)), 0);
	ck_assert_str_eq(f.name, "f");
	ck_assert_str_eq(f.file, "/srv/shop.js");
	ck_assert_uint_eq(f.line, 2);
	scope = v8_scope(80, 0, v8_one_byte("Shop.g"), place_of("function g"));
	ck_assert_int_eq(read_function(v8_shared(scope, script, 8)), 0);
	ck_assert_str_eq(f.name, "Shop.g");
	ck_assert_uint_eq(f.line, 4);
	scope = v8_scope(0, v8_one_byte(""), v8_one_byte("h"), place_of("function h"));
	ck_assert_int_eq(read_function(v8_shared(scope, script, 9)), 0);
	ck_assert_str_eq(f.name, "h");
	ck_assert_uint_eq(f.line, 5);
}
END_TEST

START_TEST(a_function_of_v8_13)
{
	uint64_t script, scope;

	v8_image_major = 13;
	v8_image_minor = 6;
	v8_image_reset();
	script = v8_script("/srv/shop.js", v8_one_byte(source));
	scope = v8_scope(3, v8_one_byte("f"), v8_one_byte("not this"), place_of("() {\n"));
	ck_assert_int_eq(read_function(v8_shared(scope, script, 7)), 0);
	ck_assert_str_eq(f.name, "f");
	ck_assert_uint_eq(f.line, 2);
	scope = v8_scope(0, 0, v8_one_byte("Shop.g"), place_of("function g"));
	ck_assert_int_eq(read_function(v8_shared(scope, script, 8)), 0);
	ck_assert_str_eq(f.name, "Shop.g");
	ck_assert_uint_eq(f.line, 4);
	v8_image_major = 11;
	v8_image_minor = 3;
}
END_TEST

START_TEST(without_a_name)
{
	uint64_t script = v8_script("", v8_one_byte(source));

	ck_assert_int_eq(read_function(v8_shared(v8_scope(0, 0, 0, 0), script, 0)), 0);
	ck_assert_str_eq(f.name, "(anonymous)");
	ck_assert_str_eq(f.file, "");
	ck_assert_uint_eq(f.line, 1);
	/* It was never compiled: its name lies there alone, or the mark of those without. */
	ck_assert_int_eq(read_function(v8_shared(v8_one_byte("f"), script, 0)), 0);
	ck_assert_str_eq(f.name, "f");
	ck_assert_uint_eq(f.line, 0);
	ck_assert_int_eq(read_function(v8_shared(0, script, 0)), 0);
	ck_assert_str_eq(f.name, "(anonymous)");
	ck_assert_int_eq(read_function(v8_shared(v8_object(131, 32), script, 0)), -EBADMSG);
}
END_TEST

START_TEST(names_of_scripts)
{
	uint64_t scope = v8_scope(0, 0, 0, 0);

	ck_assert_int_eq(read_function(v8_shared(scope, v8_script("file:///srv/a.mjs", 0), 0)), 0);
	ck_assert_str_eq(f.file, "/srv/a.mjs");
	ck_assert_uint_eq(f.line, 0); /* there is no source */
	ck_assert_int_eq(read_function(v8_shared(scope, v8_script("node:fs", 0), 0)), 0);
	ck_assert_str_eq(f.file, "node:fs");
}
END_TEST

/* Where V8 has the ends of lines itself, these hold. */
START_TEST(lines_that_are_known)
{
	uint64_t script = v8_script("a.js", 0), ends = v8_object(TYPE_ARRAY, 64);
	uint64_t shared = v8_shared(v8_scope(0, 0, 0, 25), script, 0);

	v8_poke(script, 56, ends);
	v8_poke_small(ends, 8, 3);
	v8_poke_small(ends, 16, 10);
	v8_poke_small(ends, 24, 20);
	v8_poke_small(ends, 32, 30);
	v8_poke_small(script, 24, 100); /* the script is a part of something */
	ck_assert_int_eq(read_function(shared), 0);
	ck_assert_uint_eq(f.line, 103);
	v8_poke_small(ends, 8, INT32_MAX); /* more than there is memory */
	ck_assert_int_eq(read_function(shared), -ESTALE);
}
END_TEST

START_TEST(lines_of_wide_and_long_sources)
{
	static const uint16_t wide[] = { 'a', 0x2028, 'b', 0x2029, '\r', '\n', 'c' };
	static char many[9000];
	uint64_t script = v8_script("w.js", v8_two_byte(wide, 7));

	ck_assert_uint_eq(v8_line(lines, &v8_image, 1, script, 6), 4);
	ck_assert_uint_eq(v8_line(lines, &v8_image, 1, script, 0), 1);
	ck_assert_uint_eq(v8_line(lines, &v8_image, 1, script, 8), 0); /* behind its end */
	memset(many, 'x', sizeof(many) - 1);
	for (int i = 0; i < 9000; i += 10)
		many[i] = '\n';
	many[4095] = '\r'; /* in two pieces */
	many[4096] = '\n';
	many[4090] = 'x';
	script = v8_script("m.js", v8_cons(v8_one_byte(many), v8_one_byte(""), 8999));
	ck_assert_uint_eq(v8_line(lines, &v8_image, 1, script, 8995), 901);
	ck_assert_uint_eq(v8_line(lines, &v8_image, 1, script, 15), 3);
	ck_assert_uint_eq(v8_line(lines, &v8_image, 2, script, 4095), 410);
	ck_assert_uint_eq(v8_line(lines, &v8_image, 2, script, 4097), 411);
}
END_TEST

START_TEST(more_scripts_than_are_kept)
{
	for (int round = 0; round < 2; round++)
		for (uint64_t process = 0; process < 40; process++) {
			uint64_t script = v8_script("a.js", v8_one_byte("\n\n\n\n"));

			ck_assert_uint_eq(v8_line(lines, &v8_image, process, script, 3), 4);
		}
}
END_TEST

/* ---- not what it was ---- */

START_TEST(another_function_lies_there)
{
	uint64_t script = v8_script("a.js", 0), scope = v8_scope(0, 0, 0, 0);
	uint64_t shared = v8_shared(scope, script, 7), was = v8_identity(shared);

	v8_poke(shared, 8, 0x4711); /* bytecode comes and goes */
	v8_poke(shared, 24, 0x4711);
	ck_assert_uint_eq(v8_identity(shared), was);
	v8_poke(shared, 48, 8ull << 32 | 0x1234);
	ck_assert_int_eq(v8_function_read(&v8_image, lines, 1, shared, was, &f), -ESTALE);
	v8_poke(shared, 48, 7ull << 32);
	ck_assert_int_eq(v8_function_read(&v8_image, lines, 1, shared, was, &f), 0);
	v8_poke(shared, 16, v8_scope(0, 0, 0, 0));
	ck_assert_int_eq(v8_function_read(&v8_image, lines, 1, shared, was, &f), -ESTALE);
	ck_assert_int_eq(v8_function_read(&v8_image, lines, 1, 0x1001, was, &f), -ESTALE);
}
END_TEST

static uint64_t n_reads, moves_at, moving;

/* The garbage collector comes in between. */
static bool moving_read(void *ctx, uint64_t addr, void *dst, size_t len)
{
	if (++n_reads == moves_at)
		v8_poke(moving, 32, v8_script("other.js", 0));
	return ((const struct v8_memory *)ctx)->read(NULL, addr, dst, len);
}

START_TEST(it_moves_while_it_is_read)
{
	uint64_t scope = v8_scope(0, v8_one_byte("f"), 0, 0);
	uint64_t script = v8_script("a.js", v8_one_byte(source));
	uint64_t shared = v8_shared(scope, script, 7), was = v8_identity(shared);
	struct v8_memory m = { .layout = v8_image.layout, .read = moving_read, .ctx = &v8_image };
	int r = -ESTALE;

	moving = shared;
	for (moves_at = 1; r < 0; moves_at++) {
		v8_poke(shared, 32, script);
		n_reads = 0;
		r = v8_function_read(&m, lines, 1, shared, was, &f);
		ck_assert(r == 0 || r == -ESTALE);
		if (r == 0)
			ck_assert_str_eq(f.file, "a.js");
		ck_assert_uint_lt(moves_at, 1000);
	}
	ck_assert_uint_gt(moves_at, 10);
}
END_TEST

/* The collector writes where an object has gone over the pointer to its map. */
START_TEST(a_part_is_being_moved)
{
	uint64_t name = v8_one_byte("f"), text_of = v8_one_byte(source);
	uint64_t scope = v8_scope(0, name, 0, 9), script = v8_script("a.js", text_of);
	uint64_t shared = v8_shared(scope, script, 7), was = v8_identity(shared);
	uint64_t parts[] = { name, text_of, scope, script };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		uint64_t map = v8_peek(parts[i], 0);

		v8_poke(parts[i], 0, 0x3a1000001000);
		ck_assert_int_eq(v8_function_read(&v8_image, lines, 1, shared, was, &f), -ESTALE);
		v8_poke(parts[i], 0, map);
		ck_assert_int_eq(v8_function_read(&v8_image, lines, 1, shared, was, &f), 0);
		ck_assert_str_eq(f.name, "f");
		ck_assert_uint_eq(f.line, 2);
	}
}
END_TEST

START_TEST(things_that_are_no_functions)
{
	uint64_t script = v8_script("a.js", 0), scope = v8_scope(0, 0, 0, 0);
	uint64_t shared = v8_shared(scope, v8_object(131, 32), 7); /* a builtin: undefined */
	uint64_t other = v8_object(TYPE_SCRIPT, SHARED_BYTES);

	ck_assert_int_eq(read_function(shared), -ENOENT);
	ck_assert_int_eq(read_function(other), -EBADMSG);
	scope = v8_scope(0, 0, 0, 0);
	v8_poke_small(scope, 24, 1 << 20); /* so many variables are none */
	ck_assert_int_eq(read_function(v8_shared(scope, script, 7)), 0);
	ck_assert_str_eq(f.name, "(anonymous)");
	ck_assert_uint_eq(f.line, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("v8_function");
	TCase *tc = tcase_create("function");
	SRunner *sr;
	int n;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, strings_in_one_piece);
	tcase_add_test(tc, strings_of_pieces);
	tcase_add_test(tc, beginning_and_end);
	tcase_add_test(tc, external_strings);
	tcase_add_test(tc, strings_that_are_none);
	tcase_add_test(tc, a_function);
	tcase_add_test(tc, a_function_of_v8_13);
	tcase_add_test(tc, without_a_name);
	tcase_add_test(tc, names_of_scripts);
	tcase_add_test(tc, lines_that_are_known);
	tcase_add_test(tc, lines_of_wide_and_long_sources);
	tcase_add_test(tc, more_scripts_than_are_kept);
	tcase_add_test(tc, another_function_lies_there);
	tcase_add_test(tc, it_moves_while_it_is_read);
	tcase_add_test(tc, a_part_is_being_moved);
	tcase_add_test(tc, things_that_are_no_functions);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
