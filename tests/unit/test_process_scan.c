/* SPDX-License-Identifier: Apache-2.0 */
/* A directory like /proc, walked, and the mappings of its processes read. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "process/mappings.h"
#include "process/process_scan.h"
#include "process/process_table_update.h"

/* Before any scan: the machine may have started only just now. */
#define START_TICKS 100ull
#define START_NS    (START_TICKS * TICK_NS)
#define FOREVER	    UINT64_MAX
#define PAGE	    4096ull

static char root[64];
static struct process_table *pt;

static void set_up(void)
{
	strcpy(root, "/tmp/process_scan.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	ck_assert_int_eq(process_table_new(NULL, &pt), 0);
	ck_assert_int_eq(process_table_set_proc(pt, root), 0);
}

static void tear_down(void)
{
	char command[96];

	process_table_free(pt);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}

/* ---- the tree ---- */

static FILE *create(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static FILE *create(const char *fmt, ...)
{
	char path[256];
	size_t len = (size_t)snprintf(path, sizeof(path), "%s/", root);
	va_list args;
	FILE *f;

	va_start(args, fmt);
	vsnprintf(path + len, sizeof(path) - len, fmt, args);
	va_end(args);
	for (char *slash = strchr(path + len, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	return f;
}

static void put_stat(const char *dir, unsigned pid, const char *comm, unsigned ppid, unsigned flags,
		     unsigned n_threads, unsigned long long ticks, unsigned cpu_ticks)
{
	FILE *f = create("%s/stat", dir);

	fprintf(f, "%u (%s) S %u 1 1 0 -1 %u 0 0 0 0 %u 0 0 0 20 0 %u 0 %llu 0 0", pid, comm, ppid,
		flags, cpu_ticks, n_threads, ticks);
	fclose(f);
}

static void put_process(unsigned pid, unsigned ppid, const char *comm, const char *cmdline,
			size_t cmdline_len)
{
	char dir[32];
	FILE *f;

	snprintf(dir, sizeof(dir), "%u", pid);
	put_stat(dir, pid, comm, ppid, 4194304, 1, START_TICKS, 0);
	f = create("%u/status", pid);
	fprintf(f, "Name:\t%s\nTgid:\t%u\nUid:\t1000\t0\t0\t0\nNSpid:\t%u\n", comm, pid, pid);
	fclose(f);
	f = create("%u/cmdline", pid);
	fwrite(cmdline, 1, cmdline_len, f);
	fclose(f);
}

static void put_thread(unsigned tgid, unsigned tid, const char *comm)
{
	char dir[32];

	snprintf(dir, sizeof(dir), "%u/task/%u", tgid, tid);
	put_stat(dir, tid, comm, 1, 4194304, 2, START_TICKS + 5, 0);
}

static void scan_all(void)
{
	struct process_scan *scan;

	ck_assert_int_eq(process_scan_new(pt, &scan), 0);
	ck_assert_int_eq(process_scan_step(scan, FOREVER), 1);
	process_scan_free(scan);
}

/* ---- scan ---- */

START_TEST(a_process_is_what_its_files_say)
{
	const struct process *p;

	put_process(10, 1, "a) (b", "prog\0-x\0\0", 9);
	scan_all();
	p = process_table_get(pt, 10);
	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq(p->ppid, 1);
	ck_assert_uint_eq(p->uid, 1000);
	ck_assert_uint_eq(p->start_ns, START_NS);
	ck_assert_str_eq(p->comm, "a) (b");
	ck_assert_uint_eq(p->cmdline_len, 8);
	ck_assert_mem_eq(p->cmdline, "prog\0-x", 8);
	ck_assert(!p->is_kthread);
	ck_assert_str_eq(process_table_thread(pt, 10)->comm, "a) (b");
	ck_assert_uint_gt(process_table_thread(pt, 10)->found, 0);
}
END_TEST

START_TEST(threads_belong_to_their_process)
{
	put_process(10, 1, "main", "prog", 4);
	put_stat("10", 10, "main", 1, 0, 3, START_TICKS, 0);
	put_thread(10, 10, "main");
	put_thread(10, 11, "worker");
	put_thread(10, 12, "worker 2");
	scan_all();
	ck_assert_uint_eq(process_table_thread(pt, 11)->tgid, 10);
	ck_assert_str_eq(process_table_thread(pt, 12)->comm, "worker 2");
	ck_assert_uint_eq(process_table_thread(pt, 12)->start_ns, START_NS + 5 * TICK_NS);
}
END_TEST

START_TEST(inner_pids_are_kept)
{
	FILE *f;

	put_process(10, 1, "main", "prog", 4);
	put_stat("10", 10, "main", 1, 0, 2, START_TICKS, 0);
	f = create("10/status");
	fprintf(f, "Tgid:\t10\nUid:\t0\nNSpid:\t10\t5\t1\n");
	fclose(f);
	put_thread(10, 11, "worker");
	f = create("10/task/11/status");
	fprintf(f, "Tgid:\t10\nUid:\t0\nNSpid:\t11\t6\t2\n");
	fclose(f);
	scan_all();
	ck_assert_uint_eq(process_table_get(pt, 10)->nspid[0], 5);
	ck_assert_uint_eq(process_table_get(pt, 10)->nspid[1], 1);
	ck_assert_uint_eq(process_table_get(pt, 10)->nspid[2], 0);
	ck_assert_uint_eq(process_table_thread(pt, 11)->nstid[0], 6);
}
END_TEST

START_TEST(a_kernel_thread_has_no_command_line)
{
	put_process(2, 0, "kthreadd", "", 0);
	put_stat("2", 2, "kthreadd", 0, 0x208040, 1, 1, 0);
	put_process(3, 2, "kworker/0:0-mm", "must not be read", 16);
	put_stat("3", 3, "kworker/0:0-mm", 2, 0x4208060, 1, 1, 0);
	scan_all();
	ck_assert(process_table_get(pt, 3)->is_kthread);
	ck_assert_str_eq(process_table_get(pt, 3)->comm, "kworker/0:0");
	ck_assert_ptr_null(process_table_get(pt, 3)->cmdline);
	ck_assert_uint_eq(process_table_get(pt, 3)->ppid, 2);
}
END_TEST

START_TEST(the_cgroup_is_its_directorys_inode)
{
	struct stat st;
	char path[256];
	FILE *f;

	f = create("self/mountinfo");
	fprintf(f, "1 1 0:1 / /nowhere rw - cgroup cgroup rw\n");
	fprintf(f, "2 1 0:2 / %s/cgroups rw - cgroup2 none rw\n", root);
	fclose(f);
	fclose(create("cgroups/a.slice/b/cgroup.procs"));
	snprintf(path, sizeof(path), "%s/cgroups/a.slice/b", root);
	ck_assert_int_eq(stat(path, &st), 0);

	for (unsigned pid = 10; pid < 13; pid++) {
		put_process(pid, 1, "main", "prog", 4);
		f = create("%u/cgroup", pid);
		fprintf(f, "5:cpu:/\n0::%s\n", pid == 12 ? "/gone" : "/a.slice/b");
		fclose(f);
	}
	scan_all();
	ck_assert_uint_eq(process_table_get(pt, 10)->cgroup_id, st.st_ino);
	ck_assert_uint_eq(process_table_get(pt, 11)->cgroup_id, st.st_ino);
	ck_assert_uint_eq(process_table_get(pt, 12)->cgroup_id, 0);
}
END_TEST

START_TEST(what_is_no_process_or_ends_meanwhile_is_left_out)
{
	struct process_table_stats s;

	fclose(create("acpi/wakeup"));
	fclose(create("10/empty")); /* gone before its stat was read */
	fclose(create("11/stat"));  /* gone while it was read */
	put_process(12, 1, "main", "prog", 4);
	put_stat("12", 12, "main", 1, 0, 9, START_TICKS, 0); /* its threads are gone */
	scan_all();
	process_table_stats(pt, &s);
	ck_assert_uint_eq(s.n_processes, 1);
	ck_assert_ptr_nonnull(process_table_get(pt, 12));
}
END_TEST

START_TEST(a_long_command_line_is_cut)
{
	static char big[100000];

	memset(big, 'x', sizeof(big));
	put_process(10, 1, "main", big, sizeof(big));
	scan_all();
	ck_assert_uint_le(process_table_get(pt, 10)->cmdline_len, 2048);
	ck_assert_ptr_nonnull(strstr(process_table_get(pt, 10)->cmdline, "xx\xe2\x80\xa6"));
}
END_TEST

START_TEST(a_scan_in_slices_sees_everybody_once)
{
	struct process_table_stats s;
	struct process_scan *scan;
	unsigned n_steps = 0;

	for (unsigned pid = 100; pid < 200; pid++)
		put_process(pid, 1, "main", "prog", 4);
	put_stat("150", 150, "main", 1, 0, 21, START_TICKS, 0);
	for (unsigned tid = 1000; tid < 1020; tid++)
		put_thread(150, tid, "worker");

	ck_assert_int_eq(process_scan_new(pt, &scan), 0);
	while (process_scan_step(scan, 0) == 0) /* a deadline that is over */
		n_steps++;
	process_scan_free(scan);
	ck_assert_uint_ge(n_steps, 120);
	process_table_stats(pt, &s);
	ck_assert_uint_eq(s.n_processes, 100);
	ck_assert_uint_eq(s.n_threads, 120);
}
END_TEST

START_TEST(a_scan_may_find_more_until_it_is_over_or_given_up)
{
	struct process_scan *scan;

	ck_assert(!process_table_is_scanning(pt));
	ck_assert_int_eq(process_scan_new(pt, &scan), 0);
	ck_assert(process_table_is_scanning(pt));
	process_scan_free(scan);
	ck_assert(!process_table_is_scanning(pt));
	scan_all();
	ck_assert(!process_table_is_scanning(pt));
}
END_TEST

START_TEST(a_second_scan_finds_who_is_gone_and_who_is_new)
{
	char command[96];

	put_process(10, 1, "stays", "prog", 4);
	put_process(11, 1, "goes", "prog", 4);
	scan_all();
	snprintf(command, sizeof(command), "rm -r %s/11", root);
	ck_assert_int_eq(system(command), 0);
	put_process(12, 1, "comes", "prog", 4);
	fclose(create("10/task/10/stat")); /* the leader is looked for before it counts as gone */
	scan_all();
	ck_assert_uint_eq(process_table_get(pt, 10)->free_ns, 0);
	ck_assert_uint_ne(process_table_get(pt, 11)->free_ns, 0);
	ck_assert_uint_eq(process_table_get(pt, 12)->free_ns, 0);
}
END_TEST

/* ---- mappings ---- */

static void put_maps(unsigned pid, unsigned n, unsigned first_file_page)
{
	FILE *f = create("%u/maps", pid);

	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%llx-%llx %s %08llx fe:00 77 /usr/bin/prog\n", (2 * i + 2) * PAGE,
			(2 * i + 3) * PAGE, i % 2 ? "r--p" : "r-xp", (first_file_page + i) * PAGE);
	fclose(f);
}

/* The page of the file, or -1. */
static long file_page(uint32_t tgid, uint64_t page)
{
	struct module *module;
	uint64_t offset;

	if (process_table_resolve(pt, tgid, page * PAGE, UINT64_MAX, &module, &offset) < 0)
		return -1;
	return (long)(offset / PAGE);
}

START_TEST(mappings_are_read_when_an_address_is_asked_for)
{
	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 4, 100);
	scan_all();
	ck_assert_int_eq(file_page(10, 2), 100);
	ck_assert_int_eq(file_page(10, 4), -1); /* not executable */
	ck_assert_int_eq(file_page(10, 6), 102);
	ck_assert_int_eq(file_page(10, 1), -1);
	ck_assert_int_eq(file_page(10, 3), -1);
}
END_TEST

/* /proc shows the present, events come later: the child's are older than the reading. */
START_TEST(a_reading_of_the_parent_hides_no_event_of_a_child)
{
	struct task_info child = { .tid = 20, .tgid = 20, .parent_tgid = 10, .comm = "child" };
	struct mapping mapping = { .start = 50 * PAGE, .end = 51 * PAGE, .pgoff = 7 * PAGE };
	uint64_t fork_ns = boot_ns() - 20 * NS_PER_MS;

	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 4, 100);
	scan_all();
	ck_assert_int_eq(file_page(10, 2), 100);
	child.start_ns = child.process_start_ns = fork_ns;
	process_table_fork(pt, &child);
	ck_assert_int_eq(file_page(20, 2), 100);
	process_table_exec_maps(pt, 20, fork_ns + NS_PER_MS);
	process_table_mmap(pt, 20, fork_ns + 2 * NS_PER_MS, &mapping);
	ck_assert_int_eq(file_page(20, 50), 7);
	ck_assert_int_eq(file_page(20, 2), -1);
}
END_TEST

START_TEST(mappings_are_read_in_slices_in_the_background)
{
	unsigned n_steps = 0;

	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 65000, 0);
	put_process(11, 1, "main", "prog", 4);
	put_maps(11, 2, 500);
	scan_all();
	while (process_table_read_maps(pt, 0))
		n_steps++;
	ck_assert_uint_gt(n_steps, 100);
	/* Files that are not there any more cannot help now. */
	put_maps(10, 0, 0);
	put_maps(11, 0, 0);
	for (unsigned i = 0; i < 65000; i += 2)
		ck_assert_int_eq(file_page(10, 2 * i + 2), i);
	ck_assert_int_eq(file_page(11, 2), 500);
}
END_TEST

START_TEST(whoever_used_the_cpu_most_is_read_first)
{
	for (unsigned pid = 10; pid < 20; pid++) {
		char dir[8];

		snprintf(dir, sizeof(dir), "%u", pid);
		put_process(pid, 1, "main", "prog", 4);
		put_stat(dir, pid, "main", 1, 0, 1, START_TICKS, pid == 17 ? 1000 : 5);
		put_maps(pid, 2, pid);
	}
	scan_all();
	ck_assert(process_table_read_maps(pt, 0)); /* one process is always read */
	for (unsigned pid = 10; pid < 20; pid++)
		put_maps(pid, 0, 0);
	for (unsigned pid = 10; pid < 20; pid++)
		ck_assert_int_eq(file_page(pid, 2), pid == 17 ? 17 : -1);
}
END_TEST

START_TEST(the_maps_of_a_new_owner_of_the_pid_are_not_taken)
{
	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 2, 100);
	scan_all();
	put_stat("10", 10, "other", 1, 0, 1, START_TICKS + 1, 0);
	ck_assert_int_eq(file_page(10, 2), -1);
	while (process_table_read_maps(pt, FOREVER))
		;
	ck_assert_int_eq(file_page(10, 2), -1);
}
END_TEST

static bool is_pending(void *ctx, uint32_t tgid)
{
	ck_assert_uint_eq(tgid, 10);
	return *(bool *)ctx;
}

START_TEST(maps_read_while_an_exec_is_on_its_way_are_not_taken)
{
	bool pending = true;

	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 2, 100); /* of the new program already */
	process_table_set_exec_pending(pt, is_pending, &pending);
	scan_all();
	ck_assert_int_eq(file_page(10, 2), -1);
	process_table_exec_maps(pt, 10, boot_ns());
	pending = false;
	ck_assert_int_eq(file_page(10, 2), -1);
	process_table_mmap(pt, 10, boot_ns(),
			   &(struct mapping){ 2 * PAGE, 3 * PAGE, 100 * PAGE, NULL });
	ck_assert_int_eq(file_page(10, 2), 100);
}
END_TEST

START_TEST(events_older_than_what_was_read_do_not_undo_it)
{
	uint64_t before = boot_ns();

	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 2, 100);
	scan_all();
	ck_assert_int_eq(file_page(10, 2), 100);
	process_table_mmap(pt, 10, before, &(struct mapping){ 2 * PAGE, 3 * PAGE, 7 * PAGE, NULL });
	ck_assert_int_eq(file_page(10, 2), 100);
	process_table_mmap(pt, 10, boot_ns(),
			   &(struct mapping){ 2 * PAGE, 3 * PAGE, 8 * PAGE, NULL });
	ck_assert_int_eq(file_page(10, 2), 8);
}
END_TEST

/* mremap() moves code, and no event tells. */
START_TEST(code_that_has_moved_is_found_soon_after_it_was_asked_for)
{
	bool was_wanted = false;

	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 2, 100);
	scan_all();
	ck_assert_int_eq(file_page(10, 2), 100);
	ck_assert(!process_table_wants_reading(pt));
	put_maps(10, 4, 100);
	for (int i = 0; i < 100 && file_page(10, 6) < 0; i++) { /* a second at most, not 64 */
		was_wanted |= process_table_wants_reading(pt);
		while (process_table_read_maps(pt, FOREVER))
			;
		usleep(10000);
	}
	ck_assert(was_wanted);
	ck_assert_int_eq(file_page(10, 6), 102);
}
END_TEST

START_TEST(a_mapping_made_while_maps_are_read_is_not_forgotten)
{
	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 60000, 0);
	scan_all();
	ck_assert(process_table_read_maps(pt, 0)); /* begun */
	process_table_mmap(pt, 10, boot_ns(),
			   &(struct mapping){ PAGE, 2 * PAGE, 777 * PAGE, NULL });
	while (process_table_read_maps(pt, FOREVER))
		;
	ck_assert_int_eq(file_page(10, 1), 777);
	ck_assert_int_eq(file_page(10, 2), 0);
	ck_assert_int_eq(file_page(10, 2 * 59998 + 2), 59998);
}
END_TEST

START_TEST(lost_events_are_made_up_for_by_reading_again)
{
	struct process_table_stats s;

	put_process(10, 1, "main", "prog", 4);
	put_maps(10, 2, 100);
	scan_all();
	ck_assert_int_eq(file_page(10, 2), 100);
	put_maps(10, 2, 200);
	ck_assert_int_eq(file_page(10, 2), 100);
	process_table_reread_all(pt);
	ck_assert_int_eq(file_page(10, 2), 200);
	process_table_stats(pt, &s);
	ck_assert_uint_eq(s.n_rescans, 1);
}
END_TEST

START_TEST(lines_that_are_none_are_passed_over)
{
	FILE *f = create("10/maps");

	fprintf(f, "garbage\n\n%llx-%llx r-xp 0 fe:00 1 /", 2 * PAGE, 3 * PAGE);
	for (unsigned i = 0; i < 100000; i++) /* longer than any path */
		fputc('x', f);
	fprintf(f, "\n%llx-%llx r-xp 00005000 fe:00 1 /ok\n", 4 * PAGE, 5 * PAGE);
	fprintf(f, "%llx-%llx r-xp 00006000 fe:00 1 /no-newline", 6 * PAGE, 7 * PAGE);
	fclose(f);
	put_process(10, 1, "main", "prog", 4);
	scan_all();
	ck_assert_int_eq(file_page(10, 2), -1);
	ck_assert_int_eq(file_page(10, 4), 5);
	ck_assert_int_eq(file_page(10, 6), -1);
}
END_TEST

static TCase *new_case(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	return t;
}

int main(void)
{
	Suite *s = suite_create("process_scan");
	SRunner *sr = srunner_create(s);
	TCase *t = new_case(s, "scan");
	int failed;

	tcase_add_test(t, a_process_is_what_its_files_say);
	tcase_add_test(t, threads_belong_to_their_process);
	tcase_add_test(t, inner_pids_are_kept);
	tcase_add_test(t, a_kernel_thread_has_no_command_line);
	tcase_add_test(t, the_cgroup_is_its_directorys_inode);
	tcase_add_test(t, what_is_no_process_or_ends_meanwhile_is_left_out);
	tcase_add_test(t, a_long_command_line_is_cut);
	tcase_add_test(t, a_scan_in_slices_sees_everybody_once);
	tcase_add_test(t, a_scan_may_find_more_until_it_is_over_or_given_up);
	tcase_add_test(t, a_second_scan_finds_who_is_gone_and_who_is_new);
	t = new_case(s, "mappings");
	tcase_add_test(t, mappings_are_read_when_an_address_is_asked_for);
	tcase_add_test(t, a_reading_of_the_parent_hides_no_event_of_a_child);
	tcase_add_test(t, mappings_are_read_in_slices_in_the_background);
	tcase_add_test(t, whoever_used_the_cpu_most_is_read_first);
	tcase_add_test(t, the_maps_of_a_new_owner_of_the_pid_are_not_taken);
	tcase_add_test(t, maps_read_while_an_exec_is_on_its_way_are_not_taken);
	tcase_add_test(t, events_older_than_what_was_read_do_not_undo_it);
	tcase_add_test(t, code_that_has_moved_is_found_soon_after_it_was_asked_for);
	tcase_add_test(t, a_mapping_made_while_maps_are_read_is_not_forgotten);
	tcase_add_test(t, lost_events_are_made_up_for_by_reading_again);
	tcase_add_test(t, lines_that_are_none_are_passed_over);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
