/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code at addresses that are used again and again, and who was where when. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit_map.h"
#include "jit/jit_table.h"
#include "jit/jit_text.h"

static struct jit_map *map;
static void *block; /* of the table made last */
static struct jit_table table;

static void set_up(void)
{
	ck_assert_int_eq(jit_map_new(&map), 0);
}

static void tear_down(void)
{
	jit_map_free(map);
	free(block);
	block = NULL;
}

static void make_table(void)
{
	size_t len = jit_map_table_size(map);

	free(block);
	block = malloc(len);
	ck_assert_ptr_nonnull(block);
	jit_map_write_table(map, block);
	ck_assert_int_eq(jit_table_check(block, len, &table), 0);
}

static int add_as(uint64_t time_ns, uint64_t start, uint64_t size, const char *name, bool is_late)
{
	struct jit_code code = { .start = start,
				 .size = size,
				 .time_ns = time_ns,
				 .is_late = is_late,
				 .name = name,
				 .name_len = strlen(name) };

	return jit_map_add(map, &code);
}

static void add(uint64_t time_ns, uint64_t start, uint64_t size, const char *name)
{
	ck_assert_int_eq(add_as(time_ns, start, size, name, false), 0);
}

/* As a string, "-" if there is none. */
static const char *at(uint64_t pc, uint64_t time_ns)
{
	static char text[2 * JIT_MAX_NAME + 32];
	struct jit_name n;

	if (!jit_table_find(&table, pc, time_ns, &n))
		return "-";
	if (n.file)
		snprintf(text, sizeof(text), "%.*s %.*s:%u", (int)n.function_len, n.function,
			 (int)n.file_len, n.file, n.line);
	else
		snprintf(text, sizeof(text), "%.*s", (int)n.function_len, n.function);
	return text;
}

START_TEST(code_has_its_name_from_first_to_last_byte)
{
	add(10, 0x1000, 0x100, "f");
	add(10, 0x1100, 0x10, "g");
	make_table();
	ck_assert_str_eq(at(0xfff, 20), "-");
	ck_assert_str_eq(at(0x1000, 20), "f");
	ck_assert_str_eq(at(0x10ff, 20), "f");
	ck_assert_str_eq(at(0x1100, 20), "g");
	ck_assert_str_eq(at(0x1110, 20), "-");
}
END_TEST

START_TEST(the_name_is_the_one_of_that_time)
{
	add(10, 0x1000, 0x100, "first");
	add(20, 0x1000, 0x100, "second");
	add(30, 0x1000, 0x80, "third");
	make_table();
	ck_assert_str_eq(at(0x1010, 9), "-");
	ck_assert_str_eq(at(0x1010, 10), "first");
	ck_assert_str_eq(at(0x1010, 19), "first");
	ck_assert_str_eq(at(0x1010, 20), "second");
	ck_assert_str_eq(at(0x1010, 30), "third");
	ck_assert_str_eq(at(0x10f0, 30), "second");
	ck_assert_str_eq(at(0x10f0, 15), "first");
	ck_assert_uint_eq(table.head.newest_ns, 30);
}
END_TEST

START_TEST(code_in_the_middle_of_other_code_cuts_it_in_two)
{
	struct jit_name n;

	add(10, 0x1000, 0x1000, "outer");
	add(20, 0x1800, 0x10, "inner");
	make_table();
	ck_assert_uint_eq(table.head.n_symbols, 3);
	ck_assert_str_eq(at(0x17ff, 20), "outer");
	ck_assert_str_eq(at(0x1800, 20), "inner");
	ck_assert_str_eq(at(0x1810, 20), "outer");
	ck_assert(jit_table_find(&table, 0x1900, 20, &n));
	ck_assert_uint_eq(n.start, 0x1000); /* where the function is, not the piece */
}
END_TEST

START_TEST(what_is_noticed_late_was_there_before)
{
	ck_assert_int_eq(add_as(50, 0x1000, 0x100, "new", true), 0);
	add(60, 0x2000, 0x100, "old");
	ck_assert_int_eq(add_as(70, 0x2000, 0x100, "newer", true), 0);
	make_table();
	ck_assert_str_eq(at(0x1010, 1), "new");
	ck_assert_str_eq(at(0x2010, 65), "old");
	ck_assert_str_eq(at(0x2010, 70), "newer");
}
END_TEST

START_TEST(time_does_not_go_back)
{
	add(30, 0x1000, 0x100, "a");
	add(20, 0x1000, 0x100, "b");
	make_table();
	ck_assert_str_eq(at(0x1010, 30), "b");
	ck_assert_str_eq(at(0x1010, 25), "-");
}
END_TEST

START_TEST(code_moves_with_its_lines)
{
	struct jit_line_info lines[] = { { 0, "a.js", 4, 1 }, { 8, "a.js", 4, 2 } };
	struct jit_code code = { .start = 0x1000,
				 .size = 0x20,
				 .time_ns = 10,
				 .name = "f",
				 .name_len = 1,
				 .lines = lines,
				 .n_lines = 2 };

	ck_assert_int_eq(jit_map_add(map, &code), 0);
	ck_assert_int_eq(jit_map_move(map, 0x1000, 0x5000, 0x20, 20), 0);
	ck_assert_int_eq(jit_map_move(map, 0x1000, 0x5000, 0x20, 30), -ENOENT);
	make_table();
	ck_assert_str_eq(at(0x1000, 15), "f a.js:1");
	ck_assert_str_eq(at(0x1009, 15), "f a.js:2");
	ck_assert_str_eq(at(0x1009, 20), "-");
	ck_assert_str_eq(at(0x5007, 20), "f a.js:1");
	ck_assert_str_eq(at(0x5008, 20), "f a.js:2");
}
END_TEST

START_TEST(code_moves_onto_its_own_end)
{
	add(10, 0x1000, 0x20, "f");
	ck_assert_int_eq(jit_map_move(map, 0x1000, 0x1010, 0x20, 20), 0);
	make_table();
	ck_assert_str_eq(at(0x1008, 20), "-");
	ck_assert_str_eq(at(0x1018, 20), "f");
	ck_assert_str_eq(at(0x102f, 20), "f");
}
END_TEST

START_TEST(impossible_code_is_refused)
{
	ck_assert_int_eq(add_as(1, 0x1000, 0, "f", false), -EINVAL);
	ck_assert_int_eq(add_as(1, 0x1000, 1, "", false), -EINVAL);
	ck_assert_int_eq(add_as(1, UINT64_MAX - 5, 10, "f", false), -EINVAL);
	ck_assert_int_eq(add_as(1, 0xffffffff81000000, 0x100, "kernel", false), -EINVAL);
	ck_assert_int_eq(add_as(1, 0x1000, UINT64_MAX, "f", false), -EINVAL);
	ck_assert_int_eq(jit_map_move(map, 0x1000, UINT64_MAX, 1, 1), -EINVAL);
	make_table();
	ck_assert_uint_eq(table.head.n_symbols, 0);
}
END_TEST

START_TEST(names_become_utf8_and_are_cut)
{
	char name[2 * JIT_MAX_NAME];

	add(1, 0x1000, 16,
	    "a\xff"
	    "b");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add(1, 0x2000, 16, name);
	make_table();
	ck_assert_str_eq(at(0x1000, 1), "a\xef\xbf\xbd"
					"b");
	ck_assert_uint_eq(strlen(at(0x2000, 1)), JIT_MAX_NAME);
}
END_TEST

START_TEST(what_was_replaced_long_ago_is_forgotten)
{
	add(10, 0x1000, 16, "a");
	add(20, 0x1000, 16, "b");
	add(30, 0x1000, 16, "c");
	jit_map_forget(map, 25);
	make_table();
	ck_assert_str_eq(at(0x1000, 15), "-");
	ck_assert_str_eq(at(0x1000, 25), "b");
	ck_assert_str_eq(at(0x1000, 30), "c");
}
END_TEST

START_TEST(a_name_is_kept_once)
{
	for (uint64_t i = 0; i < 100; i++)
		add(i, 0x1000 + (i & 7) * 16, 16, "the same");
	make_table();
	ck_assert_uint_eq(table.head.n_text, 8);
}
END_TEST

START_TEST(memory_stays_bounded_when_code_is_replaced_for_ever)
{
	struct jit_line_info line = { 0, "file", 4, 1 };
	char name[32];
	struct jit_code code = { .size = 64, .name = name, .lines = &line, .n_lines = 1 };

	for (unsigned i = 0; i < 200000; i++) {
		code.time_ns = i;
		code.start = 0x10000 + (i * 7 % 1000) * 64;
		code.name_len = (size_t)snprintf(name, sizeof(name), "function-%u", i);
		ck_assert_int_eq(jit_map_add(map, &code), 0);
		if (i % 1000 == 0)
			jit_map_forget(map, i - 1000);
	}
	make_table();
	ck_assert_uint_eq(table.head.n_symbols, 1000);
	ck_assert_str_eq(at(0x10000 + (199999 * 7 % 1000) * 64, 199999), "function-199999 file:1");
	ck_assert_uint_lt(jit_map_bytes(map), 32 << 20);
}
END_TEST

START_TEST(beyond_the_cap_code_is_left_out_and_hides_what_was_there)
{
	uint64_t last;

	for (uint64_t i = 0; i < JIT_MAX_SYMBOLS; i++)
		if (add_as(1, 0x100000 + i * 64, 64, "f", false) < 0)
			break;
	ck_assert_int_eq(add_as(2, 0x10, 16, "one more", false), -ENOSPC);
	/* Holes in what is there make pieces of their own. */
	for (uint64_t i = 0; i < 1000; i++)
		(void)add_as(3, 0x100000 + i * 64 + 16, 16, "hole", false);
	make_table();
	ck_assert_uint_le(table.head.n_symbols, JIT_MAX_SYMBOLS);
	ck_assert_str_ne(at(0x100000 + 16, 3), "f");
	last = 0x100000 + (JIT_MAX_SYMBOLS - 8) * 64ull;
	ck_assert_str_eq(at(last, 3), "f");
}
END_TEST

/* ---- a model: every byte of a small address space has a name at each time ---- */

#define SPACE 64
#define STEPS 300

START_TEST(it_is_what_a_simple_model_says)
{
	static char model[STEPS + 1][SPACE][16];

	srand(_i + 1);
	for (unsigned t = 1; t <= STEPS; t++) {
		unsigned start = rand() % (SPACE - 1), size = 1 + rand() % (SPACE - start);
		char name[16];

		memcpy(model[t], model[t - 1], sizeof(model[t]));
		if (size > 8 && rand() % 4)
			size = 1 + size % 8;
		snprintf(name, sizeof(name), "n%u", rand() % 50);
		add(t, 0x1000 + start, size, name);
		for (unsigned i = start; i < start + size; i++)
			strcpy(model[t][i], name);
	}
	make_table();
	for (unsigned t = 1; t <= STEPS; t++)
		for (unsigned i = 0; i < SPACE; i++)
			ck_assert_str_eq(at(0x1000 + i, t), *model[t][i] ? model[t][i] : "-");
}
END_TEST

/* ---- tables from somebody else ---- */

START_TEST(a_table_with_a_wrong_reference_is_refused)
{
	struct jit_symbol *symbols;
	struct jit_table_head *head;
	struct jit_table t;
	size_t len;

	add(10, 0x1000, 16, "a");
	add(10, 0x2000, 16, "b");
	add(20, 0x2000, 16, "c");
	make_table();
	len = jit_map_table_size(map);
	head = block;
	symbols = (void *)(head + 1);
	ck_assert_int_eq(jit_table_check(block, len - 1, &t), -EBADMSG);
	ck_assert_int_eq(jit_table_check(block, 8, &t), -EBADMSG);

#define BREAK(field, value)                                                  \
	do {                                                                 \
		__typeof__(field) saved = field;                             \
		field = value;                                               \
		ck_assert_int_eq(jit_table_check(block, len, &t), -EBADMSG); \
		field = saved;                                               \
		ck_assert_int_eq(jit_table_check(block, len, &t), 0);        \
	} while (0)
	BREAK(head->magic, 1);
	BREAK(head->n_symbols, 3);
	BREAK(head->n_symbols, UINT32_MAX);
	BREAK(head->n_text, 1ull << 40);
	BREAK(symbols[0].name, 4000);
	BREAK(symbols[0].name_len, 0);
	BREAK(symbols[0].name_len, 4000);
	BREAK(symbols[0].start, 0x5000);
	BREAK(symbols[0].end, 0x2001);
	BREAK(symbols[0].base, 0x1001);
	BREAK(symbols[1].end, JIT_MAX_ADDR + 1);
	BREAK(symbols[1].n_lines, 1);
	BREAK(symbols[2].first_line, 7);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("jit_map");
	TCase *tc = tcase_create("code");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, code_has_its_name_from_first_to_last_byte);
	tcase_add_test(tc, the_name_is_the_one_of_that_time);
	tcase_add_test(tc, code_in_the_middle_of_other_code_cuts_it_in_two);
	tcase_add_test(tc, what_is_noticed_late_was_there_before);
	tcase_add_test(tc, time_does_not_go_back);
	tcase_add_test(tc, code_moves_with_its_lines);
	tcase_add_test(tc, code_moves_onto_its_own_end);
	tcase_add_test(tc, impossible_code_is_refused);
	tcase_add_test(tc, names_become_utf8_and_are_cut);
	tcase_add_test(tc, what_was_replaced_long_ago_is_forgotten);
	tcase_add_test(tc, a_name_is_kept_once);
	tcase_add_test(tc, memory_stays_bounded_when_code_is_replaced_for_ever);
	tcase_add_test(tc, beyond_the_cap_code_is_left_out_and_hides_what_was_there);
	tcase_add_loop_test(tc, it_is_what_a_simple_model_says, 0, 20);
	tcase_add_test(tc, a_table_with_a_wrong_reference_is_refused);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int n_failed;

	srunner_run_all(sr, CK_ENV);
	n_failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n_failed != 0;
}
