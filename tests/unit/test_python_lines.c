/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of Python instructions, as CPython itself has them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interp/python_lines.h"

/*
 * Compiles some of the standard library, and a program with what is rare in it,
 * and prints of each function: first line, table, line of each instruction.
 */
static const char oracle[] =
	"import sys, types, importlib.util\n"
	"if sys.version_info < (3, 11): print('none'); sys.exit()\n"
	"def show(code):\n"
	"    lines = [p[0] or 0 for p in code.co_positions()]\n"
	"    print(code.co_firstlineno, code.co_linetable.hex(), ','.join(map(str, lines)))\n"
	"    for c in code.co_consts:\n"
	"        if isinstance(c, types.CodeType): show(c)\n"
	"for m in ('argparse', 'ast', 'asyncio.base_events', 'dataclasses', 'decimal', 'difflib',\n"
	"          'inspect', 'pickle', 're._parser', 'subprocess', 'tarfile', 'typing'):\n"
	"    show(importlib.util.find_spec(m).loader.get_code(m))\n"
	"far = 'def f(x):\\n' + '\\n' * 100000 + '  return x(\\n\\n\\n1)\\n'\n"
	"show(compile(far, 'far', 'exec'))\n"
	"wide = 'a = (' + ' ' * 300 + 'b +' + ' ' * 3000 + 'c)\\n'\n"
	"show(compile(wide, 'wide', 'exec'))\n"
	"long = 'x = [' + ','.join('f(%d)' % i for i in range(3000)) + ']\\n'\n"
	"show(compile(long, 'long', 'exec'))\n"
	"back = 'with (\\n a() as b,\\n c() as d\\n):\\n pass\\nfor i in x: await_ = i\\n'\n"
	"show(compile(back, 'back', 'exec'))\n"
	"show(compile('async def g():\\n async with a:\\n  async for i in b: yield i\\n', 'g', "
	"'exec'))\n";

static size_t from_hex(const char *hex, size_t len, uint8_t *ret)
{
	for (size_t i = 0; i < len / 2; i++) {
		unsigned byte;

		ck_assert_int_eq(sscanf(hex + 2 * i, "%2x", &byte), 1);
		ret[i] = (uint8_t)byte;
	}
	return len / 2;
}

static void check_function(char *text)
{
	char *save, *first = strtok_r(text, " ", &save), *hex = strtok_r(NULL, " ", &save);
	char *lines = strtok_r(NULL, "\n", &save);
	uint8_t *table = malloc(strlen(hex) + 1);
	size_t len = from_hex(hex, strlen(hex), table);
	uint32_t unit = 0;

	for (char *p = strtok_r(lines, ",", &save); p; p = strtok_r(NULL, ",", &save), unit++) {
		int32_t got = python_line(table, len, atoi(first), unit);

		ck_assert_msg(got == atoi(p), "unit %u: %d, not %s, in %s %s", unit, got, p, first,
			      hex);
	}
	ck_assert_uint_gt(unit, 0);
	ck_assert_int_eq(python_line(table, len, atoi(first), unit), 0);
	free(table);
}

START_TEST(every_instruction_has_the_line_that_python_says)
{
	char path[] = "/tmp/test_python_lines.XXXXXX", command[64], *line = NULL;
	int fd = mkstemp(path), n = 0;
	size_t size = 0;
	FILE *out;

	ck_assert_int_ge(fd, 0);
	out = fdopen(fd, "w");
	fputs(oracle, out);
	fclose(out);
	snprintf(command, sizeof(command), "python3 %s", path);
	out = popen(command, "r");
	while (getline(&line, &size, out) > 0 && strcmp(line, "none\n") != 0) {
		check_function(line);
		n++;
	}
	ck_assert_int_eq(pclose(out), 0);
	unlink(path);
	ck_assert(n > 1000 || strcmp(line, "none\n") == 0);
	free(line);
}
END_TEST

/* One entry of each form; python's own documentation has these examples. */
static const struct {
	const char *what, *hex;
	int32_t line_of_unit_0, line_of_unit_1;
} tables[] = {
	{ "same line, short form",
	  "8000"
	  "f0",
	  10, 0 },
	{ "one unit on the next line",
	  "d80000"
	  "80"
	  "00",
	  11, 11 },
	{ "two lines further", "e00000", 12, 0 },
	{ "without columns, two back", "e805", 8, 0 },
	{ "long form, 100 lines on",
	  "f0"
	  "4803"
	  "000000",
	  110, 0 },
	{ "no line at all, then one",
	  "f8"
	  "8000",
	  0, 10 },
	{ "eight units in one entry", "8700", 10, 10 },
};

START_TEST(each_form_of_entry_is_known)
{
	uint8_t bytes[64];
	size_t len = from_hex(tables[_i].hex, strlen(tables[_i].hex), bytes);

	ck_assert_int_eq(python_line(bytes, len, 10, 0), tables[_i].line_of_unit_0);
	ck_assert_int_eq(python_line(bytes, len, 10, 1), tables[_i].line_of_unit_1);
}
END_TEST

static const char *const nonsense[] = {
	"",			    /* nothing */
	"00",			    /* no entry begins so */
	"e8",			    /* a number that is missing */
	"e840",			    /* a number that has no end */
	"e8ff",			    /* an entry where a number should be */
	"e87f7f7f7f7f7f7f7f7f7f7f", /* a number that is too large */
	"e97f7f7f7f7f01"
	"e97f7f7f7f7f01", /* lines that go below zero */
};

START_TEST(nonsense_gives_no_line)
{
	uint8_t bytes[64];
	size_t len = from_hex(nonsense[_i], strlen(nonsense[_i]), bytes);

	for (uint32_t unit = 0; unit < 20; unit++)
		ck_assert_int_eq(python_line(bytes, len, 1, unit), 0);
}
END_TEST

START_TEST(lines_beyond_32_bits_do_not_wrap)
{
	/* 0x7fffffff and one more */
	static const uint8_t bytes[] = { 0xd8, 0, 0 };

	ck_assert_int_eq(python_line(bytes, sizeof(bytes), INT32_MAX, 0), 0);
	ck_assert_int_eq(python_line(bytes, sizeof(bytes), INT32_MAX - 1, 0), INT32_MAX);
	ck_assert_int_eq(python_line(bytes, sizeof(bytes), -5, 0), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("python_lines");
	TCase *tc = tcase_create("python_lines");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, every_instruction_has_the_line_that_python_says);
	tcase_add_loop_test(tc, each_form_of_entry_is_known, 0, sizeof(tables) / sizeof(tables[0]));
	tcase_add_loop_test(tc, nonsense_gives_no_line, 0, sizeof(nonsense) / sizeof(nonsense[0]));
	tcase_add_test(tc, lines_beyond_32_bits_do_not_wrap);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
