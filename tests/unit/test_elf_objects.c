/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of this very program, of files that are none, and of files cut short. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/elf_file.h"
#include "symbolize/elf_objects.h"
#include "symbolize/elf_starts.h"

#define MARK "found in the file"

/* Not static: those are in .symtab too, but compilers may rename them. */
extern char elf_objects_mark[32], elf_objects_zero[32];
char elf_objects_mark[32] = MARK;
char elf_objects_zero[32];
extern int elf_objects_int, elf_objects_nothing;
int elf_objects_int = -4711;
int elf_objects_nothing;

static int fd;
int main(void);
void elf_function_here(void);

__attribute__((noinline)) void elf_function_here(void)
{
	__asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop");
}

static Elf *elf;

static void set_up(void)
{
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(elf_file_open(fd, &elf), 0);
}

static void tear_down(void)
{
	elf_end(elf);
	close(fd);
}

/* What the program is moved by in memory. */
static int first_is_the_program(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	*(uint64_t *)ret = info->dlpi_addr;
	return 1;
}

static uint64_t bias(void)
{
	uint64_t ret = 0;

	(void)dl_iterate_phdr(first_is_the_program, &ret);
	return ret;
}

static int wants_ints(const char *name)
{
	return strcmp(name, "elf_objects_int") == 0 || strcmp(name, "elf_objects_nothing") == 0;
}

static void on_int(void *ctx, const char *name, int32_t value)
{
	++*(int *)ctx;
	ck_assert_int_eq(value, strcmp(name, "elf_objects_int") == 0 ? -4711 : 0);
}

START_TEST(values_of_all_that_is_wanted)
{
	int n = 0;

	elf_objects_nothing = 1; /* in memory alone */
	elf_ints(elf, fd, wants_ints, on_int, &n);
	ck_assert_int_eq(n, 2);
}
END_TEST

START_TEST(a_variable_is_where_it_is_with_what_is_in_it)
{
	char bytes[sizeof(elf_objects_mark)] = "";
	uint64_t vaddr = 0;

	ck_assert_int_eq(elf_object(elf, fd, "elf_objects_mark", bytes, sizeof(bytes), &vaddr),
			 sizeof(bytes));
	ck_assert_uint_eq(vaddr + bias(), (uintptr_t)elf_objects_mark);
	ck_assert_str_eq(bytes, MARK);
}
END_TEST

START_TEST(what_begins_as_zeroes_is_in_no_file)
{
	char bytes[32];
	uint64_t vaddr = 0;

	ck_assert_int_eq(elf_object(elf, fd, "elf_objects_zero", bytes, sizeof(bytes), &vaddr), 0);
	ck_assert_uint_eq(vaddr + bias(), (uintptr_t)elf_objects_zero);
}
END_TEST

START_TEST(functions_are_found_as_variables_are)
{
	char bytes[32];
	uint64_t vaddr = 0;

	ck_assert_int_gt(elf_object(elf, fd, "main", bytes, sizeof(bytes), &vaddr), 0);
	ck_assert_uint_eq(vaddr + bias(), (uintptr_t)main);
	ck_assert_mem_eq(bytes, (const void *)(uintptr_t)main, sizeof(bytes));
}
END_TEST

START_TEST(what_other_files_have_is_not_found)
{
	char bytes[32];
	uint64_t vaddr;

	ck_assert_int_eq(elf_object(elf, fd, "malloc", bytes, sizeof(bytes), &vaddr), -ENOENT);
	ck_assert_int_eq(elf_object(elf, fd, "no such thing", bytes, sizeof(bytes), &vaddr),
			 -ENOENT);
	ck_assert_int_eq(elf_object(elf, fd, "", bytes, sizeof(bytes), &vaddr), -ENOENT);
}
END_TEST

START_TEST(the_text_is_where_functions_are)
{
	struct elf_text text;
	uint64_t at = (uintptr_t)elf_object - bias();

	ck_assert_int_eq(elf_text(elf, &text), 0);
	ck_assert(at >= text.vaddr && at < text.vaddr + text.size);
}
END_TEST

/* Where they are, what is there is their code. */
START_TEST(functions_are_found_in_the_file)
{
	static const char names[][24] = { "main",
					  "elf_objects_mark",
					  "no such thing",
					  "elf_function_here",
					  ".note.gnu.build-id",
					  ".note.go.buildid" };
	uint64_t offsets[6];
	uint8_t code[16];

	elf_functions(elf, names[0], sizeof(names[0]), 6, offsets);
	ck_assert_uint_ne(offsets[4], 0); /* sections */
	ck_assert_uint_eq(offsets[5], 0);
	ck_assert_uint_eq(offsets[1], 0); /* a variable */
	ck_assert_uint_eq(offsets[2], 0);
	ck_assert_int_eq(pread(fd, code, sizeof(code), (off_t)offsets[0]), sizeof(code));
	ck_assert_mem_eq(code, (const void *)(uintptr_t)main, sizeof(code));
	ck_assert_int_eq(pread(fd, code, sizeof(code), (off_t)offsets[3]), sizeof(code));
	ck_assert_mem_eq(code, (const void *)(uintptr_t)elf_function_here, sizeof(code));
}
END_TEST

/* With symbols, and of a copy that has no sections by what is there for exceptions. */
START_TEST(where_functions_begin_is_known)
{
	static const char names[][24] = { "main", "elf_function_here" };
	off_t size = lseek(fd, 0, SEEK_END);
	char *copy = malloc((size_t)size);
	int bare_fd = memfd_create("bare", MFD_CLOEXEC);
	uint64_t offsets[5], starts[5];
	Elf64_Ehdr eh;
	Elf *bare;

	elf_functions(elf, names[0], sizeof(names[0]), 2, offsets);
	offsets[2] = offsets[0] + 1;
	offsets[3] = 1ull << 40;
	offsets[4] = 0;
	elf_starts(elf, fd, offsets, 5, starts);
	ck_assert_mem_eq(starts, offsets, 2 * sizeof(offsets[0]));
	for (int i = 2; i < 5; i++)
		ck_assert_uint_eq(starts[i], 0);

	ck_assert_int_eq(pread(fd, copy, (size_t)size, 0), size);
	memcpy(&eh, copy, sizeof(eh));
	eh.e_shoff = eh.e_shnum = eh.e_shstrndx = 0;
	memcpy(copy, &eh, sizeof(eh));
	ck_assert_int_eq(pwrite(bare_fd, copy, (size_t)size, 0), size);
	ck_assert_int_eq(elf_file_open(bare_fd, &bare), 0);
	elf_starts(bare, bare_fd, offsets, 5, starts);
	ck_assert_mem_eq(starts, offsets, 2 * sizeof(offsets[0]));
	for (int i = 2; i < 5; i++)
		ck_assert_uint_eq(starts[i], 0);
	elf_end(bare);
	close(bare_fd);
	free(copy);
}
END_TEST

/* A file that ends anywhere: nothing is found, or something is, but never read beyond. */
START_TEST(a_file_cut_short_does_no_harm)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *copy = malloc((size_t)size);
	int cut_fd = memfd_create("cut", MFD_CLOEXEC);

	ck_assert_int_eq(pread(fd, copy, (size_t)size, 0), size);
	ck_assert_int_eq(pwrite(cut_fd, copy, (size_t)size, 0), size);
	for (int i = 0; i < 64; i++) {
		char bytes[32];
		struct elf_text text;
		uint64_t vaddr;
		Elf *cut;

		ck_assert_int_eq(ftruncate(cut_fd, size - size * i / 64), 0);
		if (elf_file_open(cut_fd, &cut) < 0)
			continue;
		(void)elf_text(cut, &text);
		ck_assert_int_le(
			elf_object(cut, cut_fd, "elf_objects_mark", bytes, sizeof(bytes), &vaddr),
			sizeof(bytes));
		elf_end(cut);
	}
	close(cut_fd);
	free(copy);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("elf_objects");
	TCase *tc = tcase_create("elf_objects");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_variable_is_where_it_is_with_what_is_in_it);
	tcase_add_test(tc, values_of_all_that_is_wanted);
	tcase_add_test(tc, what_begins_as_zeroes_is_in_no_file);
	tcase_add_test(tc, functions_are_found_as_variables_are);
	tcase_add_test(tc, functions_are_found_in_the_file);
	tcase_add_test(tc, where_functions_begin_is_known);
	tcase_add_test(tc, what_other_files_have_is_not_found);
	tcase_add_test(tc, the_text_is_where_functions_are);
	tcase_add_test(tc, a_file_cut_short_does_no_harm);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
