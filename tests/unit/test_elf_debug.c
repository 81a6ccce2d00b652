/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbols that a stripped file has elsewhere: in a debug file, in a compressed
 * section, in the table of a Go program. The files are made by the compiler and
 * binutils, nm is the witness.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lzma.h>

#include "base/buf.h"
#include "base/io.h"
#include "symbolize/elf_debug.h"
#include "symbolize/elf_symbols.h"

static char dir[64];

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
	char command[1024];
	va_list ap;
	int n = snprintf(command, sizeof(command), "cd %s && { ", dir);

	va_start(ap, format);
	n += vsnprintf(command + n, sizeof(command) - (size_t)n, format, ap);
	va_end(ap);
	ck_assert_int_lt(n, (int)sizeof(command) - 16);
	strcpy(command + n, "\n} >log 2>&1");
	ck_assert_msg(system(command) == 0, "%s", command);
}

static const char source[] = "static __attribute__((noinline)) int hidden(int x)\n"
			     "{ __asm__ volatile(\"nop\"); return x * 3; }\n"
			     "int shown(int x) { return hidden(x) + 1; }\n";

static void make(const char *gcc_options)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/lib.c", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, source, strlen(source)), 0);
	close(fd);
	shell("gcc -O1 -g -shared -fPIC %s -o lib.so lib.c", gcc_options);
	shell("cp lib.so whole.so");
	shell("objcopy --only-keep-debug lib.so lib.debug");
	shell("strip lib.so && objcopy --add-gnu-debuglink=lib.debug lib.so");
}

static void setup(void)
{
	strcpy(dir, "/tmp/elf-debug-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
	shell("rm -rf %s/*", dir);
	rmdir(dir);
}

static int open_in(const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s: %m", path);
	return fd;
}

/* By nm, in the file that has everything. */
static uint64_t address_of(const char *function)
{
	unsigned long long addr = 0;
	char command[256];
	FILE *nm;

	snprintf(command, sizeof(command), "nm %s/whole.so | grep ' [tT] %s$'", dir, function);
	nm = popen(command, "r");
	ck_assert_ptr_nonnull(nm);
	ck_assert_int_eq(fscanf(nm, "%llx", &addr), 1);
	pclose(nm);
	return addr;
}

static void check_names(const char *file, const char *debug, const char *hidden)
{
	int fd = open_in(file), debug_fd = debug ? open_in(debug) : -1;
	struct elf_symbols *t;
	uint64_t start = 0;
	const char *name;

	ck_assert_int_eq(elf_symbols_load(fd, debug_fd, &t), 0);
	name = elf_symbols_find(t, address_of("shown"), &start);
	ck_assert_ptr_nonnull(name);
	ck_assert_str_eq(name, "shown");
	name = elf_symbols_find(t, address_of("hidden") + 2, &start);
	if (hidden) {
		ck_assert_ptr_nonnull(name);
		ck_assert_str_eq(name, hidden);
		ck_assert_uint_eq(start, address_of("hidden"));
	} else {
		ck_assert_ptr_null(name);
	}
	elf_symbols_free(t);
	close(fd);
	if (debug_fd >= 0)
		close(debug_fd);
}

static void read_debug(const char *file, struct elf_debug *ret)
{
	int fd = open_in(file);

	ck_assert_int_eq(elf_debug_read(fd, ret), 0);
	close(fd);
}

static bool fits(const char *file, const char *debug)
{
	struct elf_debug of, found;
	int fd = open_in(debug);
	bool fit;

	read_debug(file, &of);
	fit = elf_debug_fits(&of, fd, &found);
	close(fd);
	return fit;
}

/* ---- debug files ---- */

START_TEST(a_file_says_what_it_has_and_where_the_rest_is)
{
	struct elf_debug d;

	make("");
	read_debug("whole.so", &d);
	ck_assert(d.has_symbols && d.has_lines);
	ck_assert_str_eq(d.link, "");
	ck_assert_uint_eq(d.build_id_len, 20);
	read_debug("lib.so", &d);
	ck_assert(!d.has_symbols && !d.has_lines);
	ck_assert_str_eq(d.link, "lib.debug");
	ck_assert_str_eq(d.alt, "");
	read_debug("lib.debug", &d);
	ck_assert(d.has_symbols && d.has_lines);
	ck_assert_uint_eq(d.build_id_len, 20);
}
END_TEST

START_TEST(the_debug_file_gives_a_stripped_one_its_names)
{
	make("");
	check_names("lib.so", NULL, NULL);
	check_names("lib.so", "lib.debug", "hidden");
}
END_TEST

START_TEST(a_broken_debug_file_costs_only_its_names)
{
	make("");
	shell("head -c 300 lib.debug >cut && echo nothing >text && : >empty");
	check_names("lib.so", "cut", NULL);
	check_names("lib.so", "text", NULL);
	check_names("lib.so", "empty", NULL);
}
END_TEST

START_TEST(a_debug_file_fits_by_build_id)
{
	make("");
	ck_assert(fits("lib.so", "lib.debug"));
	/* The checksum would not be right, but the build id is. */
	shell("cp lib.debug touched && echo >>touched");
	ck_assert(fits("lib.so", "touched"));
	shell("gcc -O2 -g -shared -fPIC -o other.so lib.c");
	ck_assert(!fits("lib.so", "other.so"));
	shell("echo nothing >text");
	ck_assert(!fits("lib.so", "text"));
}
END_TEST

START_TEST(without_build_ids_it_fits_by_checksum)
{
	make("-Wl,--build-id=none");
	ck_assert(fits("lib.so", "lib.debug"));
	shell("cp lib.debug touched && echo >>touched");
	ck_assert(!fits("lib.so", "touched"));
	shell("objcopy --remove-section=.gnu_debuglink lib.so bare.so");
	ck_assert(!fits("bare.so", "lib.debug"));
}
END_TEST

START_TEST(an_alternative_link_has_a_name_and_a_build_id)
{
	struct elf_debug d;

	make("");
	shell("printf 'x/y.debug\\0aaaabbbbccccddddeeee' >alt");
	shell("objcopy --add-section .gnu_debugaltlink=alt lib.debug with");
	read_debug("with", &d);
	ck_assert_str_eq(d.alt, "x/y.debug");
	ck_assert_uint_eq(d.alt_build_id_len, 20);
	ck_assert_int_eq(memcmp(d.alt_build_id, "aaaabbbbccccddddeeee", 20), 0);
	shell("printf 'x/y.debug\\0aaa' >alt");
	shell("objcopy --add-section .gnu_debugaltlink=alt lib.debug with");
	read_debug("with", &d);
	ck_assert_str_eq(d.alt, "");
}
END_TEST

START_TEST(a_link_that_makes_no_sense_is_none)
{
	static const char *const links[] = { "''",
					     "'name'",
					     "'name\\0'",
					     "'name\\0\\0\\0\\0abc'",
					     "'\\0\\0\\0\\0abcd'",
					     "\"$(printf %0300d 1)\\0abcdefg\"" };
	struct elf_debug d;

	make("");
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		shell("printf %s >link", links[i]);
		shell("objcopy --remove-section=.gnu_debuglink lib.so bare.so");
		shell("objcopy --add-section .gnu_debuglink=link bare.so with");
		read_debug("with", &d);
		ck_assert_msg(!d.link[0], "%s gives '%s'", links[i], d.link);
	}
}
END_TEST

/* ---- the compressed section ---- */

static void compress_to(const void *data, size_t len, const char *name)
{
	size_t cap = lzma_stream_buffer_bound(len), n = 0;
	uint8_t *packed = malloc(cap);
	char path[96];
	int fd;

	ck_assert_ptr_nonnull(packed);
	ck_assert_int_eq(
		lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, data, len, packed, &n, cap),
		LZMA_OK);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, packed, n), 0);
	close(fd);
	free(packed);
}

static void add_mini(const char *name)
{
	shell("objcopy --add-section .gnu_debugdata=%s lib.so mini.so", name);
}

START_TEST(the_compressed_table_gives_a_stripped_file_its_names)
{
	struct buf mini = { 0 };
	char path[96];

	make("");
	shell("objcopy -S --keep-symbol=hidden lib.debug table");
	snprintf(path, sizeof(path), "%s/table", dir);
	ck_assert_int_eq(io_read_all(path, 1 << 20, &mini), 0);
	compress_to(mini.data, mini.len, "table.xz");
	add_mini("table.xz");
	check_names("mini.so", NULL, "hidden");
	/* Cut, it is nothing. */
	shell("head -c 100 table.xz >cut.xz");
	add_mini("cut.xz");
	check_names("mini.so", NULL, NULL);
	buf_done(&mini);
}
END_TEST

START_TEST(what_is_in_the_compressed_section_need_not_make_sense)
{
	const size_t bomb = 200u << 20;
	void *zeroes = calloc(1, bomb);

	make("");
	ck_assert_ptr_nonnull(zeroes);
	compress_to(zeroes, bomb, "bomb.xz");
	free(zeroes);
	add_mini("bomb.xz");
	check_names("mini.so", NULL, NULL);
	compress_to("no ELF", 6, "text.xz");
	add_mini("text.xz");
	check_names("mini.so", NULL, NULL);
	compress_to("", 0, "empty.xz");
	add_mini("empty.xz");
	check_names("mini.so", NULL, NULL);
	shell("echo nothing >noxz");
	add_mini("noxz");
	check_names("mini.so", NULL, NULL);
}
END_TEST

/* ---- Go ---- */

static void put_uint(struct buf *b, uint64_t value, unsigned size)
{
	ck_assert_int_eq(buf_append(b, &value, size), 0); /* little-endian */
}

static void put_at(struct buf *b, size_t at, uint64_t value, unsigned size)
{
	memcpy(b->data + at, &value, size);
}

struct go_version {
	uint32_t magic;
	unsigned n_words; /* of the header */
	int text, names, functions;
	unsigned step;
};

static const struct go_version go_versions[] = {
	{ 0xfffffffb, 1, -1, -1, -1, 8 }, /* 1.2 */
	{ 0xfffffffa, 7, -1, 2, 6, 8 },	  /* 1.16 */
	{ 0xfffffff0, 8, 2, 3, 7, 4 },	  /* 1.18 */
	{ 0xfffffff1, 8, 2, 3, 7, 4 },	  /* 1.20 */
};

/* A table of two functions, "main.hidden" where hidden is and "main.next" behind it. */
static void make_table(struct buf *b, const struct go_version *v, uint64_t text)
{
	static const char names[] = "\0main.hidden\0main.next";
	uint64_t hidden = address_of("hidden"), base = v->text >= 0 ? address_of("hidden") - 16 : 0;
	uint64_t addresses[] = { hidden - base, hidden + 16 - base, hidden + 32 - base };
	size_t names_at, list_at, functions_at, origin;

	put_uint(b, v->magic, 4);
	put_uint(b, 0x08010000, 4);
	for (unsigned i = 0; i < v->n_words; i++)
		put_uint(b, i == 0 ? 2 : 0, 8);
	names_at = v->names >= 0 ? b->len : 0;
	if (v->names >= 0)
		ck_assert_int_eq(buf_append(b, names, sizeof(names)), 0);
	while (b->len % 8)
		put_uint(b, 0, 1);
	list_at = b->len;
	origin = v->functions >= 0 ? list_at : 0;
	functions_at = list_at + 5 * v->step;
	for (unsigned i = 0; i < 3; i++) {
		put_uint(b, addresses[i], v->step);
		if (i < 2)
			put_uint(b, functions_at + i * (v->step + 4) - origin, v->step);
	}
	for (unsigned i = 0; i < 2; i++) {
		size_t name = i ? sizeof("\0main.hidden") : 1;

		put_uint(b, addresses[i], v->step);
		put_uint(b, v->names >= 0 ? name : functions_at + 2 * (v->step + 4) + name, 4);
	}
	if (v->names < 0)
		ck_assert_int_eq(buf_append(b, names, sizeof(names)), 0);
	if (v->text >= 0)
		put_at(b, 8 + 8 * (size_t)v->text, text ? base : 0, 8);
	if (v->names >= 0)
		put_at(b, 8 + 8 * (size_t)v->names, names_at, 8);
	if (v->functions >= 0)
		put_at(b, 8 + 8 * (size_t)v->functions, list_at, 8);
}

static void add_table(const struct buf *b, const char *section)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/table", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, b->data, b->len), 0);
	close(fd);
	shell("objcopy --add-section %s=table lib.so go.so", section);
}

START_TEST(the_table_of_a_go_program_names_its_functions)
{
	struct buf b = { 0 };

	make("");
	make_table(&b, &go_versions[_i], 1);
	add_table(&b, ".gopclntab");
	check_names("go.so", NULL, "main.hidden");
	add_table(&b, ".data.rel.ro.gopclntab");
	check_names("go.so", NULL, "main.hidden");
	buf_done(&b);
}
END_TEST

START_TEST(a_table_of_go_cut_anywhere_is_read_or_left)
{
	struct buf b = { 0 }, whole;
	struct elf_symbols *t;

	make("");
	make_table(&b, &go_versions[_i], 1);
	whole = b;
	for (size_t len = 1; len < whole.len; len += 7) {
		int fd;

		b.len = len;
		add_table(&b, ".gopclntab");
		fd = open_in("go.so");
		ck_assert_int_eq(elf_symbols_load(fd, -1, &t), 0);
		elf_symbols_free(t);
		close(fd);
	}
	buf_done(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("elf_debug");
	TCase *files = tcase_create("files"), *mini = tcase_create("mini"),
	      *go = tcase_create("go");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, files);
	tcase_add_checked_fixture(files, setup, teardown);
	tcase_set_timeout(files, 60);
	tcase_add_test(files, a_file_says_what_it_has_and_where_the_rest_is);
	tcase_add_test(files, the_debug_file_gives_a_stripped_one_its_names);
	tcase_add_test(files, a_broken_debug_file_costs_only_its_names);
	tcase_add_test(files, a_debug_file_fits_by_build_id);
	tcase_add_test(files, without_build_ids_it_fits_by_checksum);
	tcase_add_test(files, an_alternative_link_has_a_name_and_a_build_id);
	tcase_add_test(files, a_link_that_makes_no_sense_is_none);
	suite_add_tcase(s, mini);
	tcase_add_checked_fixture(mini, setup, teardown);
	tcase_set_timeout(mini, 60);
	tcase_add_test(mini, the_compressed_table_gives_a_stripped_file_its_names);
	tcase_add_test(mini, what_is_in_the_compressed_section_need_not_make_sense);
	suite_add_tcase(s, go);
	tcase_add_checked_fixture(go, setup, teardown);
	tcase_set_timeout(go, 60);
	tcase_add_loop_test(go, the_table_of_a_go_program_names_its_functions, 0, 4);
	tcase_add_loop_test(go, a_table_of_go_cut_anywhere_is_read_or_left, 0, 4);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
