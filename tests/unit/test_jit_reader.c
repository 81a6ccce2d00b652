/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps and jitdump files as programs write them, and as they should not. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "jit/jit_map.h"
#include "jit/jit_names.h"
#include "jit/jit_reader.h"
#include "jit/jit_table.h"
#include "jit/perf_map.h"

#define NOW (1000 * NS_PER_SEC)

static char path[] = "/tmp/jit_reader.XXXXXX";
static int fd;
static struct jit_reader *reader;
static struct jit_read_result result;
static void *block;
static struct jit_table table;

static void set_up(enum jit_format format)
{
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkostemp(path, O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(jit_reader_new(format, &reader), 0);
}

static void set_up_text(void)
{
	set_up(JIT_PERF_MAP);
}

static void set_up_dump(void)
{
	set_up(JIT_DUMP);
}

static void tear_down(void)
{
	jit_reader_free(reader);
	close(fd);
	unlink(path);
	free(block);
	block = NULL;
}

/* ---- short forms ---- */

static void put(const void *data, size_t len)
{
	ck_assert_int_eq(lseek(fd, 0, SEEK_END) < 0, 0);
	ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
}

static void say(const char *text)
{
	put(text, strlen(text));
}

static void look(void)
{
	const struct jit_map *map = jit_reader_map(reader);
	size_t len = jit_map_table_size(map);

	free(block);
	block = malloc(len);
	ck_assert_ptr_nonnull(block);
	jit_map_write_table(map, block);
	ck_assert_int_eq(jit_table_check(block, len, &table), 0);
}

static int read_at(uint64_t now_ns, uint64_t since_ns)
{
	struct jit_read read = { .now_ns = now_ns, .since_ns = since_ns, .boot_offset_ns = 100 };
	int r;

	do {
		r = jit_reader_read(reader, fd, &read, &result);
	} while (r == 0 && !result.is_complete);
	look();
	return r;
}

static void read_file(void)
{
	ck_assert_int_eq(read_at(NOW, 0), 0);
}

static const char *at(uint64_t pc, uint64_t time_ns)
{
	static char text[2 * JIT_MAX_NAME + 32];
	struct jit_name n;

	if (!jit_table_find(&table, pc, time_ns, &n))
		return "-";
	if (n.file)
		snprintf(text, sizeof(text), "%.*s [%.*s:%u]", (int)n.function_len, n.function,
			 (int)n.file_len, n.file, n.line);
	else
		snprintf(text, sizeof(text), "%.*s", (int)n.function_len, n.function);
	return text;
}

/* ---- perf maps ---- */

START_TEST(lines_are_start_size_and_name)
{
	say("7f0000001000 20 plain\n"
	    "0x7f0000002000 0x20 with 0x\n"
	    "00007F0000003000 00000020 UPPER and spaces  inside \r\n");
	read_file();
	ck_assert_str_eq(at(0x7f000000101f, NOW), "plain");
	ck_assert_str_eq(at(0x7f0000001020, NOW), "-");
	ck_assert_str_eq(at(0x7f0000002000, NOW), "with 0x");
	ck_assert_str_eq(at(0x7f0000003000, NOW), "UPPER and spaces  inside");
	ck_assert_uint_eq(result.n_bad, 0);
}
END_TEST

START_TEST(other_lines_are_counted_and_left_out)
{
	static const char *const bad[] = {
		"no numbers\n",
		"1000\n",
		"1000 10\n",
		"1000 10 \n",
		"1000 0 empty\n",
		"11111111111111111 10 too long a number\n",
		"ffffffffffffffff 10 wraps\n",
		"ffffffff81000000 10 of the kernel\n",
		"-1000 10 negative\n",
		" 1000 10 blank first\n",
		"1000,10,commas\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		say(bad[i]);
	say("\n\n7f0000001000 20 good\n");
	read_file();
	ck_assert_uint_eq(result.n_bad, sizeof(bad) / sizeof(bad[0]));
	ck_assert_uint_eq(table.head.n_symbols, 1);
	ck_assert_str_eq(at(0x7f0000001000, NOW), "good");
}
END_TEST

START_TEST(the_last_line_wins)
{
	say("1000 100 old\n2000 10 other\n1000 80 new\n");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "new");
	ck_assert_str_eq(at(0x107f, NOW), "new");
	ck_assert_str_eq(at(0x1080, NOW), "old");
}
END_TEST

START_TEST(what_was_added_is_read_with_the_time_since_when)
{
	say("1000 10 first\n");
	read_file();
	say("1000 10 second\n2000 10 fresh\n");
	ck_assert_int_eq(read_at(NOW + 2000, NOW), 0);
	ck_assert_str_eq(at(0x1000, NOW - 1), "first");
	ck_assert_str_eq(at(0x1000, NOW), "second");
	ck_assert_str_eq(at(0x2000, 1), "fresh");
	ck_assert_uint_eq(result.n_restarts, 0);
}
END_TEST

START_TEST(a_line_being_written_waits_for_its_end)
{
	say("1000 10 whole\n2000 10 hal");
	read_file();
	ck_assert_str_eq(at(0x2000, NOW), "-");
	say("f and half\n");
	read_file();
	ck_assert_str_eq(at(0x2000, NOW), "half and half");
	ck_assert_uint_eq(result.n_bad, 0);
}
END_TEST

START_TEST(a_file_written_anew_is_read_anew)
{
	say("1000 10 before and quite long\n");
	read_file();
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET) < 0, 0);
	say("3000 10 after\n");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "-");
	ck_assert_str_eq(at(0x3000, NOW), "after");
	ck_assert_uint_eq(result.n_restarts, 1);
}
END_TEST

START_TEST(also_when_it_is_longer_than_before)
{
	say("1000 10 before\n");
	read_file();
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET) < 0, 0);
	say("3000 10 after, longer\n4000 10 another\n5000 10 and another\n");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "-");
	ck_assert_str_eq(at(0x3000, NOW), "after, longer");
	ck_assert_str_eq(at(0x5000, NOW), "and another");
}
END_TEST

START_TEST(lines_and_files_may_be_large)
{
	char *big = malloc(300000);
	unsigned n = 500000;

	ck_assert_ptr_nonnull(big);
	memset(big, 'x', 300000);
	put(big, 300000); /* one line without a meaning, over several windows */
	free(big);
	say("\n1000 10 behind it\n");
	for (unsigned i = 0; i < n; i += 1000) {
		char text[1000 * 64];
		size_t len = 0;

		for (unsigned j = i; j < i + 1000; j++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%x 20 a function with the number %u\n",
						0x100000 + j * 0x20, j);
		put(text, len);
	}
	read_file();
	ck_assert_uint_eq(result.n_bad, 1);
	ck_assert_str_eq(at(0x1000, NOW), "behind it");
	ck_assert_str_eq(at(0x100000 + 321 * 0x20, NOW), "a function with the number 321");
	ck_assert_str_eq(at(0x100000 + (n - 1) * 0x20, NOW), "a function with the number 499999");
}
END_TEST

START_TEST(a_huge_file_of_nothing_ends)
{
	ck_assert_int_eq(ftruncate(fd, 1ll << 40), 0);
	read_file();
	ck_assert(result.is_too_large);
	ck_assert_uint_eq(table.head.n_symbols, 0);
}
END_TEST

START_TEST(what_is_no_regular_file_is_not_read)
{
	int pipes[2];
	struct jit_read read = { .now_ns = NOW };

	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert_int_eq(jit_reader_read(reader, pipes[0], &read, &result), -EINVAL);
	close(pipes[0]);
	close(pipes[1]);
}
END_TEST

START_TEST(names_of_v8_have_file_and_line)
{
	say("1000 10 LazyCompile:*main /srv/my app.js:3\n"
	    "2000 10 JS:~read node:fs:410:12\n"
	    "3000 10 Function:^ /srv/a.js:1:2\n"
	    "4000 10 Builtin:ArrayPush\n"
	    "5000 10 JS:*f :7\n"
	    "6000 10 JS:*f\n"
	    "7000 10 other /srv/a.js:3\n"
	    "8000 10 JS:*f a:99999999999\n");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "LazyCompile:*main /srv/my app.js:3 [/srv/my app.js:3]");
	ck_assert_str_eq(at(0x2000, NOW), "JS:~read node:fs:410:12 [node:fs:410]");
	ck_assert_str_eq(at(0x3000, NOW), "Function:^ /srv/a.js:1:2 [/srv/a.js:1]");
	ck_assert_str_eq(at(0x4000, NOW), "Builtin:ArrayPush");
	ck_assert_str_eq(at(0x5000, NOW), "JS:*f :7");
	ck_assert_str_eq(at(0x6000, NOW), "JS:*f");
	ck_assert_str_eq(at(0x7000, NOW), "other /srv/a.js:3");
	ck_assert_str_eq(at(0x8000, NOW), "JS:*f a:99999999999");
}
END_TEST

/* ---- jitdump ---- */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static void put_u32(uint32_t v)
{
	put(&v, sizeof(v));
}

static void put_u64(uint64_t v)
{
	put(&v, sizeof(v));
}

static void put_header_as(uint32_t magic, uint32_t version, uint32_t machine, uint64_t flags)
{
	put_u32(magic);
	put_u32(version);
	put_u32(40);
	put_u32(machine);
	put_u32(0);
	put_u32(1234);
	put_u64(0);
	put_u64(flags);
}

static void put_header(void)
{
	put_header_as(0x4a695444, 1, MACHINE, 0);
}

static void put_record(uint32_t id, uint64_t time_ns, size_t len)
{
	put_u32(id);
	put_u32((uint32_t)(16 + len));
	put_u64(time_ns);
}

static void put_code(uint64_t time_ns, uint64_t addr, uint64_t size, const char *name)
{
	char *code = calloc(1, size);

	put_record(0, time_ns, 40 + strlen(name) + 1 + size);
	put_u32(1234);
	put_u32(1234);
	put_u64(addr);
	put_u64(addr);
	put_u64(size);
	put_u64(1);
	put(name, strlen(name) + 1);
	put(code, size);
	free(code);
}

static void put_move(uint64_t time_ns, uint64_t from, uint64_t to, uint64_t size)
{
	put_record(1, time_ns, 48);
	put_u64(0);
	put_u64(to);
	put_u64(from);
	put_u64(to);
	put_u64(size);
	put_u64(1);
}

START_TEST(code_has_the_name_of_its_time)
{
	const uint64_t T = NOW - 100000;

	put_header();
	put_code(T + 1000, 0x1000, 64, "first");
	put_code(T + 2000, 0x1000, 64, "second");
	put_move(T + 3000, 0x1000, 0x8000, 64);
	put_record(3, NOW, 0);
	read_file();
	/* Times are MONOTONIC in the file, 100 less. */
	ck_assert_str_eq(at(0x1000, T + 1099), "-");
	ck_assert_str_eq(at(0x1000, T + 1100), "first");
	ck_assert_str_eq(at(0x1000, T + 2099), "first");
	ck_assert_str_eq(at(0x1000, T + 2100), "second");
	ck_assert_str_eq(at(0x1000, T + 3100), "-");
	ck_assert_str_eq(at(0x8000, T + 3100), "second");
	ck_assert_uint_eq(result.n_bad, 0);
}
END_TEST

START_TEST(lines_come_before_their_code)
{
	put_header();
	put_record(2, 1000, 16 + (16 + 7) + (16 + 2) + (16 + 7));
	put_u64(0x1000);
	put_u64(3);
	put_u64(0x1000);
	put_u32(10);
	put_u32(0);
	put("fib.rb", 7);
	put_u64(0x1010);
	put_u32(11);
	put_u32(0);
	put("\377", 2);
	put_u64(0x1020);
	put_u32(5);
	put_u32(0);
	put("lib.rb", 7);
	put_code(1000, 0x1000, 64, "fib");
	put_code(1000, 0x2000, 64, "other");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "fib [fib.rb:10]");
	ck_assert_str_eq(at(0x100f, NOW), "fib [fib.rb:10]");
	ck_assert_str_eq(at(0x1010, NOW), "fib [fib.rb:11]");
	ck_assert_str_eq(at(0x103f, NOW), "fib [lib.rb:5]");
	ck_assert_str_eq(at(0x2000, NOW), "other");
}
END_TEST

START_TEST(lines_of_v8_are_counted_from_behind_an_elf_header)
{
	put_header();
	put_record(2, 1000, 16 + (16 + 5) + (16 + 2));
	put_u64(0x1000);
	put_u64(2);
	put_u64(0x1040);
	put_u32(10);
	put_u32(0);
	put("a.js", 5);
	put_u64(0x1050);
	put_u32(11);
	put_u32(0);
	put("\377", 2);
	put_code(1000, 0x1000, 64, "JS:*fib a.js:9:1");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "JS:*fib a.js:9:1 [a.js:10]");
	ck_assert_str_eq(at(0x1010, NOW), "JS:*fib a.js:9:1 [a.js:11]");
}
END_TEST

START_TEST(lines_of_v8_with_another_file_than_the_name_are_not_believed)
{
	put_header();
	put_record(2, 1000, 16 + 16 + 5);
	put_u64(0x1000);
	put_u64(1);
	put_u64(0x1040);
	put_u32(10);
	put_u32(0);
	put("\253\347\002\0z", 5); /* as node 20 writes them */
	put_code(1000, 0x1000, 64, "JS:*fib a.js:9:1");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "JS:*fib a.js:9:1 [a.js:9]");
}
END_TEST

START_TEST(unknown_records_and_code_are_jumped_over)
{
	put_header();
	put_record(4, 1, 24);
	put("unwinding, of no use....", 24);
	put_record(77, 1, 8);
	put("whatever", 8);
	put_code(10, 0x100000, 3 << 20, "large");
	put_code(20, 0x800000, 64, "behind");
	read_file();
	ck_assert_str_eq(at(0x100000, NOW), "large");
	ck_assert_str_eq(at(0x800000, NOW), "behind");
}
END_TEST

START_TEST(a_record_being_written_waits_for_its_end)
{
	off_t whole;

	put_header();
	put_code(10, 0x1000, 64, "a");
	put_code(20, 0x2000, 64, "b");
	whole = lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(ftruncate(fd, whole - 10), 0);
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "a");
	ck_assert_str_eq(at(0x2000, NOW), "-");
	ck_assert_int_eq(ftruncate(fd, whole), 0);
	read_file();
	ck_assert_str_eq(at(0x2000, NOW), "b");
	ck_assert_uint_eq(result.n_restarts, 0);
}
END_TEST

START_TEST(an_empty_file_may_become_one)
{
	read_file();
	ck_assert_int_eq(result.refusal, JITDUMP_FINE);
	put_header();
	read_file();
	put_code(10, 0x1000, 64, "a");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "a");
}
END_TEST

START_TEST(a_time_in_the_future_is_now)
{
	put_header();
	put_code(UINT64_MAX, 0x1000, 64, "a");
	put_code(NOW + 5, 0x2000, 64, "b");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "a");
	ck_assert_str_eq(at(0x2000, NOW), "b");
}
END_TEST

static enum jitdump_refusal refusal_of(uint32_t magic, uint32_t version, uint32_t machine,
				       uint64_t flags)
{
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET) < 0, 0);
	put_header_as(magic, version, machine, flags);
	put_code(1000, 0x1000, 64, "f");
	jit_reader_free(reader);
	ck_assert_int_eq(jit_reader_new(JIT_DUMP, &reader), 0);
	read_file();
	return result.refusal;
}

START_TEST(what_cannot_be_used_is_refused_with_its_reason)
{
	ck_assert_int_eq(refusal_of(0x4a695444, 1, MACHINE, 0), JITDUMP_FINE);
	ck_assert_int_eq(refusal_of(0x4454694a, 1, MACHINE, 0), JITDUMP_BYTE_ORDER);
	ck_assert_int_eq(refusal_of(0x464c457f, 1, MACHINE, 0), JITDUMP_NOT_ONE);
	ck_assert_int_eq(refusal_of(0x4a695444, 2, MACHINE, 0), JITDUMP_NOT_ONE);
	ck_assert_int_eq(refusal_of(0x4a695444, 1, EM_S390, 0), JITDUMP_MACHINE);
	ck_assert_int_eq(refusal_of(0x4a695444, 1, MACHINE, 1), JITDUMP_ARCH_TIMESTAMP);
	ck_assert_uint_eq(table.head.n_symbols, 0);
}
END_TEST

START_TEST(a_broken_record_ends_the_file_and_leaves_what_was_before)
{
	put_header();
	put_code(10, 0x1000, 64, "a");
	put_u32(0);
	put_u32(8); /* shorter than its own head */
	put_u64(20);
	put_code(30, 0x2000, 64, "b");
	read_file();
	ck_assert_int_eq(result.refusal, JITDUMP_BROKEN);
	ck_assert_str_eq(at(0x1000, NOW), "a");
	ck_assert_str_eq(at(0x2000, NOW), "-");
}
END_TEST

START_TEST(a_dump_written_anew_is_read_anew)
{
	put_header();
	put_code(10, 0x1000, 64, "a");
	read_file();
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET) < 0, 0);
	put_header();
	put_code(20, 0x3000, 64, "c");
	put_code(30, 0x4000, 64, "d");
	read_file();
	ck_assert_str_eq(at(0x1000, NOW), "-");
	ck_assert_str_eq(at(0x3000, NOW), "c");
	ck_assert_str_eq(at(0x4000, NOW), "d");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("jit_reader");
	TCase *tc = tcase_create("perf_map");

	tcase_add_checked_fixture(tc, set_up_text, tear_down);
	tcase_add_test(tc, lines_are_start_size_and_name);
	tcase_add_test(tc, other_lines_are_counted_and_left_out);
	tcase_add_test(tc, the_last_line_wins);
	tcase_add_test(tc, what_was_added_is_read_with_the_time_since_when);
	tcase_add_test(tc, a_line_being_written_waits_for_its_end);
	tcase_add_test(tc, a_file_written_anew_is_read_anew);
	tcase_add_test(tc, also_when_it_is_longer_than_before);
	tcase_add_test(tc, lines_and_files_may_be_large);
	tcase_add_test(tc, a_huge_file_of_nothing_ends);
	tcase_add_test(tc, what_is_no_regular_file_is_not_read);
	tcase_add_test(tc, names_of_v8_have_file_and_line);
	suite_add_tcase(s, tc);

	tc = tcase_create("jitdump");
	tcase_add_checked_fixture(tc, set_up_dump, tear_down);
	tcase_add_test(tc, code_has_the_name_of_its_time);
	tcase_add_test(tc, lines_come_before_their_code);
	tcase_add_test(tc, lines_of_v8_are_counted_from_behind_an_elf_header);
	tcase_add_test(tc, lines_of_v8_with_another_file_than_the_name_are_not_believed);
	tcase_add_test(tc, unknown_records_and_code_are_jumped_over);
	tcase_add_test(tc, a_record_being_written_waits_for_its_end);
	tcase_add_test(tc, an_empty_file_may_become_one);
	tcase_add_test(tc, a_time_in_the_future_is_now);
	tcase_add_test(tc, what_cannot_be_used_is_refused_with_its_reason);
	tcase_add_test(tc, a_broken_record_ends_the_file_and_leaves_what_was_before);
	tcase_add_test(tc, a_dump_written_anew_is_read_anew);
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
