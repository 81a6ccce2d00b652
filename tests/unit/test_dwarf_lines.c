/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inlined functions and source lines, of every instruction of programs made here
 * by the compiler in different ways; addr2line is the witness.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "symbolize/dwarf_lines.h"
#include "symbolize/elf_symbols.h"

static char dir[64];

__attribute__((format(printf, 1, 2))) static int try_shell(const char *format, ...)
{
	char command[1024];
	va_list ap;
	int n = snprintf(command, sizeof(command), "cd %s && { ", dir);

	va_start(ap, format);
	n += vsnprintf(command + n, sizeof(command) - (size_t)n, format, ap);
	va_end(ap);
	ck_assert_int_lt(n, (int)sizeof(command) - 16);
	strcpy(command + n, "\n} >log 2>&1");
	return system(command);
}

#define shell(...) ck_assert_int_eq(try_shell(__VA_ARGS__), 0)

static const char source[] = "volatile int sink;\n"
			     "static inline __attribute__((always_inline)) int innermost(int x)\n"
			     "{\n"
			     "	for (int i = 0; i < x; i++)\n"
			     "		sink += i * x;\n"
			     "	return sink;\n"
			     "}\n"
			     "#include \"middle.h\"\n"
			     "__attribute__((noinline)) int outer(int x)\n"
			     "{\n"
			     "	int sum = 0;\n"
			     "	while (x-- > 0) {\n"
			     "		sum += middle(x);\n"
			     "		if (sum > 100)\n"
			     "			sum -= innermost(3);\n"
			     "	}\n"
			     "	return sum;\n"
			     "}\n"
			     "int main(int argc, char **argv)\n"
			     "{\n"
			     "	(void)argv;\n"
			     "	return outer(argc) + middle(argc);\n"
			     "}\n";
static const char header[] = "static inline __attribute__((always_inline)) int middle(int x)\n"
			     "{\n"
			     "	return innermost(x + 1) ^ innermost(x + 2);\n"
			     "}\n";

/* Its unlikely part lies elsewhere, as "halves.cold". */
static const char split[] = "extern volatile int sink;\n"
			    "volatile int sink;\n"
			    "__attribute__((cold, noinline)) int rare(int x)\n"
			    "{\n"
			    "	return sink + x;\n"
			    "}\n"
			    "static inline __attribute__((always_inline)) int twice(int x)\n"
			    "{\n"
			    "	return rare(x) + rare(x + 1);\n"
			    "}\n"
			    "__attribute__((noinline)) int halves(int x)\n"
			    "{\n"
			    "	if (x < 0)\n"
			    "		sink = twice(x);\n"
			    "	return sink++;\n"
			    "}\n"
			    "int main(int argc, char **argv)\n"
			    "{\n"
			    "	(void)argv;\n"
			    "	return halves(argc);\n"
			    "}\n";

static void write_file(const char *name, const char *text)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void setup(void)
{
	strcpy(dir, "/tmp/dwarf-lines-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	write_file("main.c", source);
	write_file("middle.h", header);
	write_file("split.c", split);
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

/* "function file:line;function file:line", innermost first, files without their directory. */
static void describe(const struct dwarf_frame *frames, size_t n, char *dst, size_t size)
{
	dst[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		const char *file = frames[i].file ? frames[i].file : "??";
		const char *slash = strrchr(file, '/');
		size_t len = strlen(dst);

		snprintf(dst + len, size - len, "%s%s %s:%u", i ? ";" : "",
			 frames[i].function ? frames[i].function : "??", slash ? slash + 1 : file,
			 frames[i].line);
	}
}

/*
 * The same from addr2line for one address: two lines for each frame, a function
 * and a place, up to the next address.
 */
static void read_witness(FILE *f, char *dst, size_t size)
{
	char function[512], place[512];
	int c;

	dst[0] = '\0';
	while ((c = getc(f)) != EOF && ungetc(c, f) != '0') { /* "0x..." */
		size_t len = strlen(dst);

		ck_assert(fgets(function, sizeof(function), f) && fgets(place, sizeof(place), f));
		function[strcspn(function, "\n")] = '\0';
		place[strcspn(place, " \n")] = '\0'; /* " (discriminator 2)" */
		if (strchr(place, '?'))
			strcpy(strchr(place, '?'), "0"); /* code of no line */
		snprintf(dst + len, size - len, "%s%s %s", len ? ";" : "", function, place);
	}
}

/* The address and size of a function, by nm. */
static void find_function(const char *name, uint64_t *ret_addr, uint64_t *ret_size)
{
	unsigned long long addr = 0, size = 0;
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "nm -S %s/whole | grep ' [tT] %s$'", dir, name);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%llx %llx", &addr, &size), 2);
	pclose(f);
	*ret_addr = addr;
	*ret_size = size;
}

/* Every third byte of a function. Returns the most frames that one of them has. */
static size_t compare_function(struct dwarf_lines *d, const char *witness, const char *name)
{
	uint64_t addr, size;
	size_t deepest = 0;
	char command[256], line[64];
	FILE *f;

	find_function(name, &addr, &size);
	snprintf(command, sizeof(command),
		 "seq %llu 3 %llu | xargs printf '%%#x\\n' | %s -a -s -f -i -e %s/whole",
		 (unsigned long long)addr, (unsigned long long)(addr + size - 1), witness, dir);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	for (uint64_t at = addr; at < addr + size; at += 3) {
		struct dwarf_frame frames[DWARF_MAX_FRAMES];
		char ours[4096], theirs[4096];
		size_t n = dwarf_lines_find(d, at, frames);

		ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
		ck_assert_uint_eq(strtoull(line, NULL, 16), at);
		describe(frames, n, ours, sizeof(ours));
		read_witness(f, theirs, sizeof(theirs));
		ck_assert_msg(strcmp(ours, theirs) == 0, "%s+0x%llx: %s, but %s says %s", name,
			      (unsigned long long)(at - addr), ours, witness, theirs);
		if (n > deepest)
			deepest = n;
	}
	ck_assert_int_eq(pclose(f), 0);
	return deepest;
}

static void compare(const char *witness, const char *file, const char *alt)
{
	int fd = open_in(file), alt_fd = alt ? open_in(alt) : -1;
	struct dwarf_lines *d;

	ck_assert_int_eq(dwarf_lines_load(fd, alt_fd, &d), 0);
	ck_assert_uint_eq(compare_function(d, witness, "outer"), 3);
	ck_assert_uint_eq(compare_function(d, witness, "main"), 3);
	dwarf_lines_free(d);
	close(fd);
	if (alt_fd >= 0)
		close(alt_fd);
}

static const char *const options[] = { "-O2 -g",
				       "-O2 -g -gdwarf-4",
				       "-O2 -g -gdwarf-3 -gstrict-dwarf",
				       "-O2 -g -gz",
				       "-O1 -g -fPIE -pie -ffunction-sections",
				       "-O2 -g -no-pie" };

START_TEST(every_instruction_has_the_frames_that_addr2line_tells)
{
	shell("gcc %s -o whole main.c", options[_i]);
	compare("addr2line", "whole", NULL);
	/* And so has its debug file. */
	shell("objcopy --only-keep-debug whole debug");
	compare("addr2line", "debug", NULL);
}
END_TEST

/* That of binutils does not know all of its DWARF 5. */
START_TEST(clang_is_understood_too)
{
	shell("clang -O2 -g -gdwarf-4 -o whole main.c");
	compare("addr2line", "whole", NULL);
	shell("clang -O2 -g -gdwarf-5 -o whole main.c");
	compare("llvm-addr2line", "whole", NULL);
}
END_TEST

START_TEST(what_several_files_share_is_found_in_the_shared_one)
{
	struct dwarf_lines *d;
	int fd, none;

	if (try_shell("dwz --version") != 0)
		return; /* not installed: tests/deps --test */
	shell("gcc -O2 -g -o whole main.c && cp whole one && cp whole two");
	shell("dwz -m shared -M shared one two");
	compare("addr2line", "one", "shared");
	/* A file that is not the shared one is not taken for it. */
	fd = open_in("one");
	none = open_in("main.c");
	ck_assert_int_eq(dwarf_lines_load(fd, none, &d), 0);
	dwarf_lines_free(d);
	close(fd);
	close(none);
}
END_TEST

START_TEST(both_parts_of_a_function_that_was_split_are_it)
{
	struct elf_symbols *symbols;
	uint64_t addr, size, start;
	struct dwarf_lines *d;
	int fd;

	shell("gcc -O2 -g -o whole split.c");
	fd = open_in("whole");
	ck_assert_int_eq(dwarf_lines_load(fd, -1, &d), 0);
	ck_assert_uint_eq(compare_function(d, "addr2line", "halves"), 1);
	ck_assert_uint_eq(compare_function(d, "addr2line", "halves.cold"), 2);
	dwarf_lines_free(d);
	ck_assert_int_eq(elf_symbols_load(fd, -1, &symbols), 0);
	find_function("halves.cold", &addr, &size);
	ck_assert_str_eq(elf_symbols_find(symbols, addr + size - 1, &start), "halves.cold");
	ck_assert_uint_eq(start, addr);
	find_function("halves", &addr, &size);
	ck_assert_str_eq(elf_symbols_find(symbols, addr + size - 1, &start), "halves");
	elf_symbols_free(symbols);
	close(fd);
}
END_TEST

START_TEST(split_units_leave_the_line_and_no_more)
{
	struct dwarf_frame frames[DWARF_MAX_FRAMES];
	struct dwarf_lines *d;
	uint64_t addr, size;
	int fd;

	shell("gcc -O2 -g -gsplit-dwarf -o whole main.c && rm -f *.dwo");
	find_function("outer", &addr, &size);
	fd = open_in("whole");
	ck_assert_int_eq(dwarf_lines_load(fd, -1, &d), 0);
	ck_assert_uint_eq(dwarf_lines_find(d, addr, frames), 1);
	ck_assert_uint_eq(frames[0].line, 10);
	ck_assert_ptr_null(frames[0].function);
	dwarf_lines_free(d);
	close(fd);
}
END_TEST

START_TEST(outside_of_the_program_there_is_nothing)
{
	static const uint64_t nowhere[] = { 0, 1, 0x400, 1ull << 40, UINT64_MAX };
	struct dwarf_frame frames[DWARF_MAX_FRAMES];
	struct dwarf_lines *d;
	int fd;

	shell("gcc -O2 -g -o whole main.c");
	fd = open_in("whole");
	ck_assert_int_eq(dwarf_lines_load(fd, -1, &d), 0);
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
		ck_assert_uint_eq(dwarf_lines_find(d, nowhere[i], frames), 0);
	dwarf_lines_free(d);
	close(fd);
}
END_TEST

START_TEST(a_file_without_dwarf_is_refused)
{
	struct dwarf_lines *d;
	int fd;

	shell("gcc -O2 -s -o whole main.c");
	fd = open_in("whole");
	ck_assert_int_eq(dwarf_lines_load(fd, -1, &d), -ENOEXEC);
	close(fd);
	fd = open_in("main.c");
	ck_assert_int_eq(dwarf_lines_load(fd, -1, &d), -ENOEXEC);
	close(fd);
}
END_TEST

START_TEST(a_file_cut_anywhere_is_read_or_refused)
{
	struct dwarf_frame frames[DWARF_MAX_FRAMES];
	struct dwarf_lines *d;
	uint64_t addr, size;

	shell("gcc -O2 -g -o whole main.c");
	find_function("outer", &addr, &size);
	for (int part = 1; part < 40; part++) {
		int fd;

		shell("head -c $(($(stat -c %%s whole) * %d / 40)) whole >cut", part);
		fd = open_in("cut");
		if (dwarf_lines_load(fd, -1, &d) == 0) {
			for (uint64_t at = addr; at < addr + size; at++)
				ck_assert_uint_le(dwarf_lines_find(d, at, frames),
						  DWARF_MAX_FRAMES);
			dwarf_lines_free(d);
		}
		close(fd);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dwarf_lines");
	TCase *tc = tcase_create("lines");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, every_instruction_has_the_frames_that_addr2line_tells, 0,
			    sizeof(options) / sizeof(options[0]));
	tcase_add_test(tc, clang_is_understood_too);
	tcase_add_test(tc, what_several_files_share_is_found_in_the_shared_one);
	tcase_add_test(tc, both_parts_of_a_function_that_was_split_are_it);
	tcase_add_test(tc, split_units_leave_the_line_and_no_more);
	tcase_add_test(tc, outside_of_the_program_there_is_nothing);
	tcase_add_test(tc, a_file_without_dwarf_is_refused);
	tcase_add_test(tc, a_file_cut_anywhere_is_read_or_refused);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
