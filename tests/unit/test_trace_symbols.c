/* SPDX-License-Identifier: Apache-2.0 */
/* ModuleSymbols in the making: what was put in is there when it is packed and read again. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "trace_symbols.h"

static const uint8_t id[] = { 0xab, 0, 1, 2, 3, 4, 5, 6 };

static struct trace_symbols *s;
static ModuleSymbols *read_back;

static void begin(const char *path, size_t id_len)
{
	ck_assert_int_eq(trace_symbols_new(path, id, id_len, &s), 0);
}

static struct trace_symbol_line line_of(const char *function, const char *source, uint32_t line)
{
	return (struct trace_symbol_line){ function, source, strlen(function), strlen(source),
					   line };
}

static const ModuleSymbols *pack_and_read(void)
{
	ModuleSymbols *msg = trace_symbols_message(s);
	size_t len = module_symbols__get_packed_size(msg);
	uint8_t *bytes = malloc(len + 1);

	ck_assert_ptr_nonnull(bytes);
	module_symbols__pack(msg, bytes);
	read_back = module_symbols__unpack(NULL, len, bytes);
	ck_assert_ptr_nonnull(read_back);
	free(bytes);
	return read_back;
}

static void tear_down(void)
{
	trace_symbols_free(s);
	if (read_back)
		module_symbols__free_unpacked(read_back, NULL);
	read_back = NULL;
}

START_TEST(everything_is_read_back)
{
	struct trace_symbol_line lines[] = { line_of("inner", "/src/a.h", 7),
					     line_of("outer", "/src/a.c", 12) };
	const ModuleSymbols *m;

	begin("/usr/bin/x", sizeof(id));
	ck_assert_int_eq(trace_symbols_add(s, 0x1000, lines, 2), 0);
	ck_assert_int_eq(trace_symbols_add(s, 0x2000, lines + 1, 1), 0);
	ck_assert_uint_eq(trace_symbols_count(s), 2);
	m = pack_and_read();
	ck_assert_str_eq(m->path, "/usr/bin/x");
	ck_assert_uint_eq(m->build_id.len, sizeof(id));
	ck_assert_mem_eq(m->build_id.data, id, sizeof(id));
	ck_assert_uint_eq(m->n_address_symbols, 2);
	ck_assert_uint_eq(m->address_symbols[0]->address, 0x1000);
	ck_assert_uint_eq(m->address_symbols[0]->n_lines, 2);
	ck_assert_str_eq(m->address_symbols[0]->lines[0]->function_name, "inner");
	ck_assert_str_eq(m->address_symbols[0]->lines[0]->source_file_name, "/src/a.h");
	ck_assert_uint_eq(m->address_symbols[0]->lines[0]->line_number, 7);
	ck_assert_str_eq(m->address_symbols[0]->lines[1]->function_name, "outer");
	ck_assert_uint_eq(m->address_symbols[1]->lines[0]->line_number, 12);
}
END_TEST

START_TEST(what_is_not_known_is_left_out)
{
	struct trace_symbol_line lines[] = { line_of("", "/src/a.h", 7), line_of("f", "", 0) };
	const ModuleSymbols *m;

	begin("[vdso]", 0);
	ck_assert_int_eq(trace_symbols_add(s, 0, lines, 2), 0);
	m = pack_and_read();
	ck_assert_str_eq(m->path, "/[vdso]"); /* as the importer writes it */
	ck_assert(!m->has_build_id);
	ck_assert(m->address_symbols[0]->has_address);
	ck_assert_ptr_null(m->address_symbols[0]->lines[0]->function_name);
	ck_assert_ptr_null(m->address_symbols[0]->lines[1]->source_file_name);
	ck_assert(!m->address_symbols[0]->lines[1]->has_line_number);
}
END_TEST

START_TEST(strings_become_text)
{
	struct trace_symbol_line line = line_of("caf\xe9", "\xff\xff\xff", 1);
	const ModuleSymbols *m;
	const Line *got;

	begin("/x", sizeof(id));
	line.function_len--; /* not NUL-terminated */
	ck_assert_int_eq(trace_symbols_add(s, 1, &line, 1), 0);
	m = pack_and_read();
	got = m->address_symbols[0]->lines[0];
	ck_assert_str_eq(got->function_name, "caf");
	ck_assert(text_is_utf8(got->source_file_name, strlen(got->source_file_name)));
	ck_assert_uint_eq(strlen(got->source_file_name), 9);
}
END_TEST

START_TEST(there_may_be_many_addresses)
{
	struct trace_symbol_line line = line_of("f", "s", 1);
	const ModuleSymbols *m;

	begin("/x", sizeof(id));
	for (uint64_t i = 0; i < 10000; i++)
		ck_assert_int_eq(trace_symbols_add(s, i, &line, 1), 0);
	m = pack_and_read();
	ck_assert_uint_eq(m->n_address_symbols, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		ck_assert_uint_eq(m->address_symbols[i]->address, i);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_symbols");
	TCase *tc = tcase_create("symbols");
	SRunner *sr = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, NULL, tear_down);
	tcase_add_test(tc, everything_is_read_back);
	tcase_add_test(tc, what_is_not_known_is_left_out);
	tcase_add_test(tc, strings_become_text);
	tcase_add_test(tc, there_may_be_many_addresses);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
