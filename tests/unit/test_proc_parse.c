/* SPDX-License-Identifier: Apache-2.0 */
/* The text files of /proc/PID: real lines, and lines that processes make nasty. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/proc_parse.h"

static const struct {
	const char *line;
	uint64_t start, end, pgoff, inode;
	uint32_t major, minor;
	bool executable;
	const char *name;
} good_maps[] = {
	{ "558b2b494000-558b2b4a8000 r-xp 00003000 fe:00 248030                     /usr/bin/sed",
	  0x558b2b494000, 0x558b2b4a8000, 0x3000, 248030, 0xfe, 0, true, "/usr/bin/sed" },
	{ "558b2b491000-558b2b494000 r--p 00000000 fe:00 248030                     /usr/bin/sed",
	  0x558b2b491000, 0x558b2b494000, 0, 248030, 0xfe, 0, false, "/usr/bin/sed" },
	{ "7ffd8a5f2000-7ffd8a5f4000 r-xp 00000000 00:00 0                          [vdso]",
	  0x7ffd8a5f2000, 0x7ffd8a5f4000, 0, 0, 0, 0, true, "[vdso]" },
	{ "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
	  0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, 0, true, "[vsyscall]" },
	{ "7f0000000000-7f0000001000 rwxp 00000000 00:00 0 ", 0x7f0000000000, 0x7f0000001000, 0, 0,
	  0, 0, true, "" },
	{ "7f0000000000-7f0000001000 rwxp 00000000 00:00 0", 0x7f0000000000, 0x7f0000001000, 0, 0,
	  0, 0, true, "" },
	{ "1000-2000 r-xs 00000000 00:01 5 /tmp/a file with blanks  (deleted)", 0x1000, 0x2000, 0,
	  5, 0, 1, true, "/tmp/a file with blanks  (deleted)" },
	{ "1000-2000 r-xp ffffffffff000 103:05 18446744073709551615 /x\\012y", 0x1000, 0x2000,
	  0xffffffffff000, UINT64_MAX, 0x103, 5, true, "/x\\012y" },
	{ "1000-2000 r-xp 00000000 00:01 7 /memfd:\033]0;pwned\a (deleted)", 0x1000, 0x2000, 0, 7,
	  0, 1, true, "/memfd:\033]0;pwned\a (deleted)" },
	{ "1000-2000 r-xp 00000000 00:01 7 /1000-2000 r-xp 00000000 00:01 8 /other", 0x1000, 0x2000,
	  0, 7, 0, 1, true, "/1000-2000 r-xp 00000000 00:01 8 /other" },
};

START_TEST(lines_of_maps_are_read)
{
	struct maps_line m;

	ck_assert_int_eq(proc_parse_maps_line(good_maps[_i].line, strlen(good_maps[_i].line), &m),
			 0);
	ck_assert_uint_eq(m.start, good_maps[_i].start);
	ck_assert_uint_eq(m.end, good_maps[_i].end);
	ck_assert_uint_eq(m.pgoff, good_maps[_i].pgoff);
	ck_assert_uint_eq(m.inode, good_maps[_i].inode);
	ck_assert_uint_eq(m.dev_major, good_maps[_i].major);
	ck_assert_uint_eq(m.dev_minor, good_maps[_i].minor);
	ck_assert_int_eq(m.executable, good_maps[_i].executable);
	ck_assert_uint_eq(m.name_len, strlen(good_maps[_i].name));
	ck_assert_mem_eq(m.name, good_maps[_i].name, m.name_len);
}
END_TEST

static const char *const bad_maps[] = {
	"",
	"1000",
	"1000-",
	"1000-2000",
	"1000-2000 ",
	"1000-2000 r-xp",
	"1000-2000 r-x 0 0:0 0 /short-permissions",
	"1000-2000 r-xpp 0 0:0 0 /long-permissions",
	"1000-2000 r-xp 0",
	"1000-2000 r-xp 0 0 0 /no-colon",
	"1000-2000 r-xp 0 0:0",
	"1000-2000 r-xp 0 0:0 /no-inode",
	"1000-2000 r-xp 0 0:0 12/no-blank",
	"2000-1000 r-xp 0 0:0 0 /backwards",
	"1000-1000 r-xp 0 0:0 0 /empty",
	"10000000000000000-20000000000000000 r-xp 0 0:0 0 /65-bits",
	"1000-2000 r-xp 0 100000000:0 0 /33-bit-major",
	"1000-2000 r-xp 0 0:0 18446744073709551616 /65-bit-inode",
	"-1000-2000 r-xp 0 0:0 0 /negative",
	" 1000-2000 r-xp 0 0:0 0 /blank-first",
	"0x1000-0x2000 r-xp 0 0:0 0 /prefix",
};

START_TEST(what_is_no_line_of_maps_is_refused)
{
	struct maps_line m = { .start = 77 };

	ck_assert_int_eq(proc_parse_maps_line(bad_maps[_i], strlen(bad_maps[_i]), &m), -EINVAL);
	ck_assert_uint_eq(m.start, 77);
}
END_TEST

/* Each prefix of a good line, in memory that ends where the prefix does. */
START_TEST(a_line_of_maps_may_end_anywhere)
{
	const char *line = good_maps[_i].line;

	for (size_t n = 0; n <= strlen(line); n++) {
		char *copy = malloc(n ? n : 1);
		struct maps_line m;

		memcpy(copy, line, n);
		if (proc_parse_maps_line(copy, n, &m) == 0)
			ck_assert_ptr_eq(m.name + m.name_len, copy + n);
		free(copy);
	}
}
END_TEST

/* ---- stat ---- */

#define STAT_TAIL \
	" S 17 18 19 0 -1 4194304 102 0 0 0 30 12 0 0 20 0 3 0 142909 3133440 408 1844674407370"
#define KTHREAD_TAIL " I 2 0 0 0 -1 69238880 0 0 0 0 0 40 0 0 20 0 1 0 11 0 0"

START_TEST(a_comm_may_hold_anything)
{
	static const struct {
		const char *text, *comm;
	} table[] = {
		{ "42 (sleep)" STAT_TAIL, "sleep" },
		{ "42 (a b)" STAT_TAIL, "a b" },
		{ "42 ())" STAT_TAIL, ")" },
		{ "42 ()" STAT_TAIL, "" },
		{ "42 (x) S 1 1 1)" STAT_TAIL, "x) S 1 1 1" },
		{ "42 (a\nb)" STAT_TAIL, "a\nb" },
		{ "42 (\033[31m\xff)" STAT_TAIL, "\033[31m\xff" },
		{ "42 (longer-than-a-comm-can-be)" STAT_TAIL, "longer-than-a-c" },
	};
	struct proc_stat s;

	ck_assert_int_eq(proc_parse_stat(table[_i].text, strlen(table[_i].text), &s), 0);
	ck_assert_str_eq(s.comm, table[_i].comm);
	ck_assert_uint_eq(s.pid, 42);
	ck_assert_uint_eq(s.ppid, 17);
	ck_assert_int_eq(s.state, 'S');
	ck_assert(!s.is_kthread);
	ck_assert_uint_eq(s.cpu_ticks, 42);
	ck_assert_uint_eq(s.n_threads, 3);
	ck_assert_uint_eq(s.start_ticks, 142909);
}
END_TEST

START_TEST(a_worker_is_named_without_its_work)
{
	static const struct {
		const char *text, *comm;
	} table[] = {
		{ "42 (kworker/0:1-events)" KTHREAD_TAIL, "kworker/0:1" },
		{ "42 (kworker/u8:3+flush-254:0)" KTHREAD_TAIL, "kworker/u8:3" },
		{ "42 (kworker/R-kbloc)" KTHREAD_TAIL, "kworker/R-kbloc" },
		{ "42 (irq/9-acpi)" KTHREAD_TAIL, "irq/9-acpi" },
		{ "42 (kworker/0:1-user)" STAT_TAIL, "kworker/0:1-use" },
	};
	struct proc_stat s;

	ck_assert_int_eq(proc_parse_stat(table[_i].text, strlen(table[_i].text), &s), 0);
	ck_assert_str_eq(s.comm, table[_i].comm);
	ck_assert_int_eq(s.is_kthread, _i != 4);
}
END_TEST

START_TEST(a_stat_cut_short_is_refused)
{
	const char text[] = "42 (sleep)" STAT_TAIL;
	const size_t needed =
		strlen("42 (sleep) S 17 18 19 0 -1 4194304 102 0 0 0 30 12 0 0 20 0 3 0 1");
	struct proc_stat s;

	for (size_t n = 0; n < sizeof(text); n++) {
		char *copy = malloc(n ? n : 1);

		memcpy(copy, text, n);
		ck_assert_int_eq(proc_parse_stat(copy, n, &s), n < needed ? -EINVAL : 0);
		free(copy);
	}
}
END_TEST

/* ---- status ---- */

START_TEST(status_has_the_inner_pids)
{
	static const char text[] = "Name:\tNSpid:\t9\nTgid:\t4711\nUid:\t1000\t1001\t1000\t1000\n"
				   "NSpid:\t4711\t33\t1\nThreads:\t1\n";
	struct proc_status s;

	ck_assert_int_eq(proc_parse_status(text, sizeof(text) - 1, &s), 0);
	ck_assert_uint_eq(s.tgid, 4711);
	ck_assert_uint_eq(s.uid, 1000);
	ck_assert_uint_eq(s.nstid[0], 33);
	ck_assert_uint_eq(s.nstid[1], 1);
	ck_assert_uint_eq(s.nstid[2], 0);
}
END_TEST

START_TEST(pids_of_too_many_namespaces_are_cut)
{
	static const char text[] = "Tgid:\t1\nUid:\t0\t0\nNSpid:\t1\t2\t3\t4\t5\t6\t7\t8";
	struct proc_status s;

	ck_assert_int_eq(proc_parse_status(text, sizeof(text) - 1, &s), 0);
	for (unsigned i = 0; i < MAX_PID_NS; i++)
		ck_assert_uint_eq(s.nstid[i], i + 2);
}
END_TEST

START_TEST(a_status_without_namespaces_is_enough)
{
	static const char text[] = "Uid:\t4294967295\t0\nTgid:\t7\n";
	struct proc_status s;

	ck_assert_int_eq(proc_parse_status(text, sizeof(text) - 1, &s), 0);
	ck_assert_uint_eq(s.uid, UINT32_MAX);
	ck_assert_uint_eq(s.nstid[0], 0);
}
END_TEST

START_TEST(a_status_without_uid_is_refused)
{
	static const char *const table[] = { "",
					     "Tgid:\t7\n",
					     "Uid:\t0\n",
					     "Tgid:\nUid:\t0\n",
					     "Tgid:\t7\nUid:\tx\n",
					     "Tgid:\t4294967296\nUid:\t0\n" };
	struct proc_status s;

	ck_assert_int_eq(proc_parse_status(table[_i], strlen(table[_i]), &s), -EINVAL);
}
END_TEST

/* ---- cgroup, mountinfo ---- */

START_TEST(the_v2_cgroup_is_the_one_with_number_0)
{
	static const char text[] =
		"12:pids:/wrong\n10:name=0::/worse:/wrong\n0::/user.slice/a:b c\n";
	const char *path;
	size_t len;

	ck_assert_int_eq(proc_parse_cgroup(text, sizeof(text) - 1, &path, &len), 0);
	ck_assert_uint_eq(len, strlen("/user.slice/a:b c"));
	ck_assert_mem_eq(path, "/user.slice/a:b c", len);
	ck_assert_int_eq(proc_parse_cgroup("1:cpu:/x\n", 9, &path, &len), -ENOENT);
	ck_assert_int_eq(proc_parse_cgroup("0::", 3, &path, &len), -ENOENT);
	ck_assert_int_eq(proc_parse_cgroup("", 0, &path, &len), -ENOENT);
}
END_TEST

START_TEST(a_mount_is_found_by_its_type)
{
	static const struct {
		const char *line;
		int r;
		const char *path;
	} table[] = {
		{ "41 31 0:38 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw", 0,
		  "/sys/fs/cgroup" },
		{ "41 31 0:38 / /a\\040b\\134c rw shared:9 master:1 - cgroup2 none rw", 0,
		  "/a b\\c" },
		{ "41 31 0:38 / /x\\99 rw - cgroup2 none rw", 0, "/x\\99" },
		{ "41 31 0:38 / /sys/fs/cgroup rw - cgroup cgroup rw,cpu", -ENOENT, NULL },
		{ "41 31 0:38 / /cgroup2 rw - tmpfs cgroup2 rw", -ENOENT, NULL },
		{ "41 31 0:38 / /sys/fs/cgroup rw cgroup2 cgroup2 rw", -EINVAL, NULL },
		{ "41 31 0:38 / /sys/fs/cgroup rw -", -EINVAL, NULL },
		{ "41 31", -EINVAL, NULL },
		{ "", -EINVAL, NULL },
		{ "1 2 0:3 / /longer-than-thirty-two-bytes-are-long r - cgroup2 c r", -ENAMETOOLONG,
		  NULL },
	};
	char path[32];

	ck_assert_int_eq(proc_parse_mount(table[_i].line, strlen(table[_i].line), "cgroup2", path,
					  sizeof(path)),
			 table[_i].r);
	if (table[_i].r == 0)
		ck_assert_str_eq(path, table[_i].path);
}
END_TEST

/* ---- command lines ---- */

START_TEST(arguments_end_with_nul_each)
{
	char dst[64];

	ck_assert_uint_eq(proc_tidy_cmdline(dst, sizeof(dst), "a\0bc\0", 5, false), 5);
	ck_assert_mem_eq(dst, "a\0bc\0", 5);
	/* A process has written over the end of its arguments: no NUL. */
	ck_assert_uint_eq(proc_tidy_cmdline(dst, sizeof(dst), "title", 5, false), 6);
	ck_assert_mem_eq(dst, "title\0", 6);
	/* Empty arguments within count; those at the end are what a title leaves over. */
	ck_assert_uint_eq(proc_tidy_cmdline(dst, sizeof(dst), "a\0\0b\0\0\0\0", 8, false), 5);
	ck_assert_mem_eq(dst, "a\0\0b\0", 5);
	ck_assert_uint_eq(proc_tidy_cmdline(dst, sizeof(dst), "\0\0\0", 3, false), 0);
	ck_assert_uint_eq(proc_tidy_cmdline(dst, sizeof(dst), "", 0, true), 0);
}
END_TEST

START_TEST(a_cut_command_line_shows_it)
{
	char dst[10];

	/* By the caller. */
	ck_assert_uint_eq(proc_tidy_cmdline(dst, sizeof(dst), "abc", 3, true), 7);
	ck_assert_mem_eq(dst, "abc\xe2\x80\xa6\0", 7);
	/* By the room there is: never written beyond. */
	ck_assert_uint_eq(proc_tidy_cmdline(dst, sizeof(dst), "0123456789abcdef", 16, false), 10);
	ck_assert_mem_eq(dst, "012345\xe2\x80\xa6\0", 10);
	ck_assert_uint_eq(proc_tidy_cmdline(dst, 3, "abc", 3, false), 0);
}
END_TEST

/* ---- names of mappings ---- */

START_TEST(what_is_behind_a_mapping_shows_in_its_name)
{
	static const struct {
		const char *name;
		uint64_t inode;
		enum code_kind kind;
	} table[] = {
		{ "/usr/bin/sed", 5, CODE_FILE },
		{ "/tmp/x (deleted)", 5, CODE_FILE },
		{ "/memfd:jit (deleted)", 5, CODE_FILE },
		{ "/dev/zero", 5, CODE_FILE }, /* not a regular file: refused when it is opened */
		{ "/dev/zero (deleted)", 5, CODE_ANON },
		{ "/SYSV00000000 (deleted)", 5, CODE_ANON },
		{ "/anon_hugepage (deleted)", 5, CODE_ANON },
		{ "/anon_hugepage_lib.so", 5, CODE_FILE },
		{ "//anon", 0, CODE_ANON },
		{ "", 0, CODE_ANON },
		{ "[heap]", 0, CODE_ANON },
		{ "[stack]", 0, CODE_ANON },
		{ "[anon:name]", 0, CODE_ANON },
		{ "[vdso]", 0, CODE_VDSO },
		{ "[vdso]x", 0, CODE_ANON },
		{ "[vsyscall]", 0, CODE_SPECIAL },
		{ "[uprobes]", 0, CODE_SPECIAL },
		{ "anon_inode:[perf_event]", 5, CODE_ANON },
	};

	ck_assert_int_eq(proc_code_kind(table[_i].name, strlen(table[_i].name), table[_i].inode),
			 table[_i].kind);
}
END_TEST

START_TEST(one_deleted_is_stripped)
{
	static const struct {
		const char *name;
		size_t len;
	} table[] = {
		{ "/x (deleted)", 2 },
		{ "/x (deleted) (deleted)", 12 }, /* a file called "x (deleted)" */
		{ "/x", 2 },
		{ "/x(deleted)", 11 },
		{ " (deleted)", 10 },
		{ "", 0 },
	};

	ck_assert_uint_eq(proc_path_len(table[_i].name, strlen(table[_i].name)), table[_i].len);
}
END_TEST

#define N(array) ((int)(sizeof(array) / sizeof((array)[0])))

int main(void)
{
	Suite *s = suite_create("proc_parse");
	TCase *t = tcase_create("maps");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_loop_test(t, lines_of_maps_are_read, 0, N(good_maps));
	tcase_add_loop_test(t, what_is_no_line_of_maps_is_refused, 0, N(bad_maps));
	tcase_add_loop_test(t, a_line_of_maps_may_end_anywhere, 0, N(good_maps));
	tcase_add_loop_test(t, what_is_behind_a_mapping_shows_in_its_name, 0, 18);
	tcase_add_loop_test(t, one_deleted_is_stripped, 0, 6);
	t = tcase_create("stat");
	suite_add_tcase(s, t);
	tcase_add_loop_test(t, a_comm_may_hold_anything, 0, 8);
	tcase_add_loop_test(t, a_worker_is_named_without_its_work, 0, 5);
	tcase_add_test(t, a_stat_cut_short_is_refused);
	t = tcase_create("status");
	suite_add_tcase(s, t);
	tcase_add_test(t, status_has_the_inner_pids);
	tcase_add_test(t, pids_of_too_many_namespaces_are_cut);
	tcase_add_test(t, a_status_without_namespaces_is_enough);
	tcase_add_loop_test(t, a_status_without_uid_is_refused, 0, 6);
	tcase_add_test(t, the_v2_cgroup_is_the_one_with_number_0);
	tcase_add_loop_test(t, a_mount_is_found_by_its_type, 0, 10);
	t = tcase_create("cmdline");
	suite_add_tcase(s, t);
	tcase_add_test(t, arguments_end_with_nul_each);
	tcase_add_test(t, a_cut_command_line_shows_it);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
