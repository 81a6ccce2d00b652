/* SPDX-License-Identifier: Apache-2.0 */
/* The process table as events change it, in good and in bad order. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "process/mappings.h"
#include "process/process_table_update.h"

#define T0   (1000 * NS_PER_SEC)
#define PAGE 4096ull

static struct process_table *pt;
static char empty[] = "/tmp/process_table.XXXXXX"; /* in place of /proc: nobody lives there */

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(empty));
	ck_assert_int_eq(process_table_new(NULL, &pt), 0);
	ck_assert_int_eq(process_table_set_proc(pt, empty), 0);
}

static void tear_down(void)
{
	process_table_free(pt);
	rmdir(empty);
}

/* ---- short forms ---- */

static struct task_info task(uint32_t tgid, uint32_t tid, uint64_t start_ns)
{
	struct task_info t = {
		.tid = tid, .tgid = tgid, .start_ns = start_ns, .process_start_ns = start_ns
	};

	snprintf(t.comm, sizeof(t.comm), "task-%u", tid);
	return t;
}

static void fork_process(uint32_t parent, uint32_t tgid, uint64_t start_ns)
{
	struct task_info t = task(tgid, tgid, start_ns);

	t.parent_tgid = parent;
	process_table_fork(pt, &t);
}

static void fork_thread(uint32_t tgid, uint32_t tid, uint64_t start_ns, uint64_t process_start_ns)
{
	struct task_info t = task(tgid, tid, start_ns);

	t.process_start_ns = process_start_ns;
	t.parent_tgid = tgid;
	process_table_fork(pt, &t);
}

static void see_process(uint32_t ppid, uint32_t tgid, uint64_t start_ns, const char *cmdline)
{
	struct process_seen seen = { .leader = task(tgid, tgid, start_ns / TICK_NS * TICK_NS),
				     .cmdline = cmdline,
				     .cmdline_len = cmdline ? strlen(cmdline) + 1 : 0 };

	seen.leader.parent_tgid = ppid;
	process_table_saw_process(pt, &seen);
}

static void see_thread(uint32_t tgid, uint32_t tid, uint64_t start_ns)
{
	struct task_info t = task(tgid, tid, start_ns / TICK_NS * TICK_NS);

	process_table_saw_thread(pt, &t);
}

static void exec_process(uint32_t tgid, uint32_t old_tid, uint64_t start_ns, const char *cmdline)
{
	struct exec_info e = { .tgid = tgid,
			       .old_tid = old_tid,
			       .start_ns = start_ns,
			       .time_ns = start_ns + 5000,
			       .comm = "new-comm",
			       .cmdline = cmdline,
			       .cmdline_len = strlen(cmdline) + 1 };

	process_table_exec(pt, &e);
}

static void rename_task(uint32_t tid, uint64_t start_ns, const char *name)
{
	char comm[COMM_LEN] = "";
	size_t len = strlen(name);

	memcpy(comm, name, len < sizeof(comm) ? len : sizeof(comm)); /* maybe without a NUL */
	process_table_rename(pt, tid, start_ns, comm);
}

static void map(uint32_t tgid, uint64_t time_ns, uint64_t page, uint64_t file_page)
{
	process_table_mmap(pt, tgid, time_ns,
			   &(struct mapping){ .start = page * PAGE,
					      .end = (page + 1) * PAGE,
					      .pgoff = file_page * PAGE });
}

/* The page of the file that was mapped there then, or -1. */
static long file_page_at(uint32_t tgid, uint64_t page, uint64_t time_ns)
{
	struct module *module;
	uint64_t offset;
	int r = process_table_resolve(pt, tgid, page * PAGE + 5, time_ns, &module, &offset);

	if (r == -ENOENT)
		return -1;
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(offset % PAGE, 5);
	return (long)(offset / PAGE);
}

static long file_page(uint32_t tgid, uint64_t page)
{
	return file_page_at(tgid, page, UINT64_MAX);
}

static struct process_table_stats stats(void)
{
	struct process_table_stats s;

	process_table_stats(pt, &s);
	return s;
}

static int count_thread(void *ctx, const struct thread *t)
{
	(void)t;
	++*(unsigned *)ctx;
	return 0;
}

static unsigned n_threads(uint32_t tgid)
{
	unsigned n = 0;

	process_table_each_thread(pt, process_table_get(pt, tgid), count_thread, &n);
	return n;
}

/* ---- tasks ---- */

START_TEST(a_child_is_named_as_its_parent_until_exec)
{
	see_process(1, 10, T0, "parent");
	fork_process(10, 11, T0 + NS_PER_SEC);
	ck_assert_str_eq(process_table_get(pt, 11)->cmdline, "parent");
	ck_assert_uint_eq(process_table_get(pt, 11)->ppid, 10);
	ck_assert_uint_eq(process_table_get(pt, 11)->exec_ns, 0);

	exec_process(11, 11, T0 + NS_PER_SEC, "child");
	ck_assert_str_eq(process_table_get(pt, 11)->cmdline, "child");
	ck_assert_str_eq(process_table_get(pt, 11)->comm, "new-comm");
	ck_assert_str_eq(process_table_thread(pt, 11)->comm, "new-comm");
	ck_assert_uint_ne(process_table_get(pt, 11)->exec_ns, 0);
	ck_assert_str_eq(process_table_get(pt, 10)->cmdline, "parent");
}
END_TEST

START_TEST(a_rename_of_the_leader_is_one_of_the_process)
{
	fork_process(1, 10, T0);
	fork_thread(10, 11, T0 + 1, T0);
	rename_task(11, T0 + 1, "worker");
	ck_assert_str_eq(process_table_thread(pt, 11)->comm, "worker");
	ck_assert_str_eq(process_table_get(pt, 10)->comm, "task-10");
	rename_task(10, T0, "boss");
	ck_assert_str_eq(process_table_get(pt, 10)->comm, "boss");
	/* Of somebody who had the tid before, and of nobody. */
	rename_task(10, T0 - 1, "wrong");
	rename_task(12, T0, "wrong");
	ck_assert_str_eq(process_table_get(pt, 10)->comm, "boss");
}
END_TEST

START_TEST(a_fork_that_the_scan_has_seen_changes_nothing)
{
	see_process(1, 10, T0 + 1234, "seen");
	see_thread(10, 11, T0 + 5678);
	fork_process(1, 10, T0 + 1234);
	fork_thread(10, 11, T0 + 5678, T0 + 1234);
	ck_assert_uint_eq(stats().n_processes, 1);
	ck_assert_uint_eq(stats().n_threads, 2);
	ck_assert_str_eq(process_table_get(pt, 10)->cmdline, "seen");
	/* But it knows the start to the last digit. */
	ck_assert_uint_eq(process_table_get(pt, 10)->start_ns, T0 + 1234);
	ck_assert_uint_eq(process_table_thread(pt, 11)->start_ns, T0 + 5678);
}
END_TEST

START_TEST(a_scan_after_the_fork_keeps_what_events_told)
{
	fork_process(7, 10, T0 + 1234);
	see_process(1, 10, T0 + 1234, "cmdline"); /* its parent has died meanwhile */
	ck_assert_uint_eq(stats().n_processes, 1);
	ck_assert_uint_eq(process_table_get(pt, 10)->ppid, 7);
	ck_assert_uint_eq(process_table_get(pt, 10)->start_ns, T0 + 1234);
	ck_assert_str_eq(process_table_get(pt, 10)->cmdline, "cmdline");
}
END_TEST

START_TEST(a_reused_pid_is_another_process_at_once)
{
	fork_process(1, 10, T0);
	fork_thread(10, 11, T0 + 1, T0);
	map(10, T0 + 2, 5, 50);
	fork_process(1, 10, T0 + 100); /* the end of the first one was never told */
	ck_assert_uint_eq(process_table_get(pt, 10)->start_ns, T0 + 100);
	ck_assert_ptr_null(process_table_thread(pt, 11));
	ck_assert_uint_eq(n_threads(10), 1);
	ck_assert_int_eq(file_page(10, 5), -1);
	ck_assert(process_table_thread(pt, 10)->took_over);

	/* The freeing of the first comes late: it is not about the second. */
	process_table_free_task(pt, 10, T0, T0 + 200);
	ck_assert_uint_eq(process_table_get(pt, 10)->free_ns, 0);
	ck_assert(process_table_is(pt, 10, T0 + 100));
	ck_assert(!process_table_is(pt, 10, T0));
}
END_TEST

START_TEST(a_tid_may_move_from_a_thread_to_a_process_and_back)
{
	fork_process(1, 10, T0);
	fork_thread(10, 20, T0 + 1, T0);
	fork_process(1, 20, T0 + 2);
	ck_assert_uint_eq(process_table_thread(pt, 20)->tgid, 20);
	ck_assert_uint_eq(n_threads(10), 1);
	fork_thread(10, 20, T0 + 3, T0);
	ck_assert_uint_eq(process_table_thread(pt, 20)->tgid, 10);
	ck_assert_ptr_null(process_table_get(pt, 20));
	ck_assert_uint_eq(n_threads(10), 2);
}
END_TEST

START_TEST(a_thread_of_an_unknown_process_brings_it_along)
{
	uint64_t found = process_table_found(pt);

	fork_thread(10, 11, T0 + 5, T0);
	ck_assert_uint_eq(process_table_get(pt, 10)->start_ns, T0);
	ck_assert_uint_eq(n_threads(10), 2);
	ck_assert_uint_gt(process_table_thread(pt, 10)->found, found);
	ck_assert_uint_eq(process_table_thread(pt, 11)->found, 0);
	/* The scan then says who it is. */
	see_process(1, 10, T0, "who");
	ck_assert_str_eq(process_table_get(pt, 10)->cmdline, "who");
	ck_assert_uint_eq(stats().n_processes, 1);
}
END_TEST

START_TEST(a_sign_of_life_makes_known_whoever_it_is_of)
{
	struct task_info t = task(10, 10, T0);

	t.parent_tgid = 5;
	process_table_alive(pt, &t);
	ck_assert_uint_eq(process_table_get(pt, 10)->ppid, 5);
	ck_assert_uint_gt(process_table_thread(pt, 10)->found, 0);
	t = task(20, 21, T0);
	process_table_alive(pt, &t);
	ck_assert_uint_eq(n_threads(20), 2);
	/* Who is known stays as it is. */
	t = task(10, 10, T0);
	memcpy(t.comm, "other", 6);
	process_table_alive(pt, &t);
	ck_assert_str_eq(process_table_get(pt, 10)->comm, "task-10");
	/* Another one with that tid does not. */
	t.start_ns = t.process_start_ns = T0 + 7;
	process_table_alive(pt, &t);
	ck_assert_str_eq(process_table_get(pt, 10)->comm, "other");
	ck_assert_uint_eq(stats().n_processes, 2);
}
END_TEST

START_TEST(children_are_told_when_their_parent_is_gone)
{
	fork_process(1, 10, T0);
	fork_process(10, 11, T0 + 10);
	fork_process(10, 12, T0 + 20);
	ck_assert_uint_eq(process_table_get(pt, 11)->parent_free_ns, 0);
	process_table_free_task(pt, 10, T0, T0 + 30);
	ck_assert_uint_eq(process_table_get(pt, 11)->parent_free_ns, T0 + 30);
	/* Without a word: when somebody else has its pid. */
	fork_process(12, 13, T0 + 40);
	fork_process(1, 12, T0 + 50);
	ck_assert_uint_eq(process_table_get(pt, 13)->parent_free_ns, T0 + 50);
}
END_TEST

START_TEST(a_parent_that_is_found_late_has_its_children)
{
	see_process(10, 11, T0 + NS_PER_SEC, "child");
	see_process(10, 12, T0 + NS_PER_SEC, "child");
	see_process(10, 13, T0 - NS_PER_SEC, "older than the parent");
	see_process(1, 10, T0, "parent");
	process_table_free_task(pt, 10, T0, T0 + 2 * NS_PER_SEC);
	ck_assert_uint_eq(process_table_get(pt, 11)->parent_free_ns, T0 + 2 * NS_PER_SEC);
	ck_assert_uint_eq(process_table_get(pt, 12)->parent_free_ns, T0 + 2 * NS_PER_SEC);
	ck_assert_uint_eq(process_table_get(pt, 13)->parent_free_ns, 0);
}
END_TEST

START_TEST(an_exec_of_an_unknown_process_brings_it_along)
{
	exec_process(10, 10, T0, "late");
	ck_assert_str_eq(process_table_get(pt, 10)->cmdline, "late");
	ck_assert_uint_gt(process_table_thread(pt, 10)->found, 0);
}
END_TEST

/* de_thread(): the caller becomes 10, the old leader is freed under the caller's tid. */
START_TEST(after_an_exec_from_a_thread_the_leader_lives_and_the_thread_does_not)
{
	fork_process(1, 10, T0);
	fork_thread(10, 11, T0 + 1, T0);
	if (_i == 0)
		process_table_free_task(pt, 11, T0, T0 + 10); /* before the exec is told */
	exec_process(10, 11, T0, "after");
	if (_i == 1)
		process_table_free_task(pt, 11, T0, T0 + 10);
	ck_assert_uint_eq(process_table_thread(pt, 10)->free_ns, 0);
	ck_assert_uint_eq(process_table_get(pt, 10)->free_ns, 0);
	ck_assert_uint_eq(process_table_thread(pt, 11)->free_ns, T0 + 10);
	process_table_free_task(pt, 10, T0, T0 + 20);
	ck_assert_uint_eq(process_table_get(pt, 10)->free_ns, T0 + 20);
}
END_TEST

START_TEST(the_dead_stay_findable_for_a_while)
{
	fork_process(1, 10, T0);
	fork_thread(10, 11, T0 + 1, T0);
	map(10, T0 + 2, 5, 50);
	process_table_free_task(pt, 10, T0, T0 + NS_PER_SEC);
	ck_assert_uint_eq(process_table_thread(pt, 11)->free_ns, T0 + NS_PER_SEC);
	process_table_collect(pt, T0 + 2 * NS_PER_SEC);
	ck_assert_ptr_nonnull(process_table_get(pt, 10));
	process_table_collect(pt, T0 + 60 * NS_PER_SEC);
	ck_assert_ptr_null(process_table_get(pt, 10));
	ck_assert_ptr_null(process_table_thread(pt, 11));
	ck_assert_uint_eq(stats().n_mappings, 0);
}
END_TEST

START_TEST(a_cleared_table_knows_nobody)
{
	fork_process(1, 10, T0);
	fork_thread(10, 11, T0 + 1, T0);
	fork_process(10, 12, T0 + 2);
	map(10, T0 + 3, 5, 50);
	process_table_clear(pt);
	ck_assert_uint_eq(stats().n_processes, 0);
	ck_assert_uint_eq(stats().n_threads, 0);
	ck_assert_uint_eq(stats().n_mappings, 0);
	ck_assert(!process_table_read_maps(pt, UINT64_MAX));
	fork_process(1, 10, T0);
	ck_assert_ptr_nonnull(process_table_get(pt, 10));
}
END_TEST

START_TEST(events_about_nobody_do_no_harm)
{
	process_table_free_task(pt, 99, T0, T0);
	process_table_exec_maps(pt, 99, T0);
	map(99, T0, 1, 1);
	see_thread(99, 98, T0);
	process_table_collect(pt, T0);
	ck_assert_uint_eq(stats().n_processes, 0);
	ck_assert_uint_eq(stats().n_threads, 0);
	ck_assert(!process_table_is(pt, 99, T0));
	ck_assert_int_eq(file_page(99, 1), -1);
}
END_TEST

START_TEST(who_is_not_in_the_second_scan_is_gone)
{
	process_table_scan_begin(pt);
	see_process(1, 10, T0, "a");
	see_process(1, 20, T0, "b");
	process_table_scan_end(pt, T0 + 1);
	process_table_scan_begin(pt);
	see_process(1, 10, T0, "a");
	fork_process(1, 30, T0 + 2 * NS_PER_SEC); /* too young for the scan to have seen */
	process_table_scan_end(pt, T0 + NS_PER_SEC);
	ck_assert_uint_eq(process_table_get(pt, 10)->free_ns, 0);
	ck_assert_uint_eq(process_table_get(pt, 20)->free_ns, T0 + NS_PER_SEC);
	ck_assert_uint_eq(process_table_get(pt, 30)->free_ns, 0);
}
END_TEST

START_TEST(what_the_scan_corrects_counts_as_found)
{
	uint64_t found;

	see_process(1, 10, T0, "a");
	found = process_table_found(pt);
	see_process(1, 10, T0, "a");
	ck_assert_uint_eq(process_table_found(pt), found);
	see_process(1, 10, T0, "b");
	ck_assert_uint_gt(process_table_thread(pt, 10)->found, found);
}
END_TEST

START_TEST(names_that_are_too_long_are_cut)
{
	static char big[100000];
	struct process_seen seen = { .leader = task(10, 10, T0),
				     .cmdline = big,
				     .cmdline_len = sizeof(big) };

	memset(big, 'x', sizeof(big));
	memset(seen.leader.comm, 'y', COMM_LEN); /* without its NUL */
	process_table_saw_process(pt, &seen);
	rename_task(10, T0, "0123456789abcdefghi");
	ck_assert_uint_lt(process_table_get(pt, 10)->cmdline_len, 5000);
	ck_assert_int_eq(
		process_table_get(pt, 10)->cmdline[process_table_get(pt, 10)->cmdline_len - 1],
		'\0');
	ck_assert_str_eq(process_table_get(pt, 10)->comm, "0123456789abcde");
}
END_TEST

START_TEST(more_processes_than_fit_are_counted)
{
	for (unsigned i = 1; i <= 70000; i++)
		fork_process(0, i, T0 + i);
	ck_assert_uint_eq(stats().n_processes, 65536);
	ck_assert_uint_eq(stats().n_over_cap, 70000 - 65536);
	ck_assert_ptr_null(process_table_get(pt, 70000));
	/* The dead make room. */
	process_table_free_task(pt, 1, T0 + 1, T0);
	process_table_collect(pt, T0 + 100 * NS_PER_SEC);
	fork_process(2, 70000, T0 + 70000);
	ck_assert_ptr_nonnull(process_table_get(pt, 70000));
}
END_TEST

/* ---- descendants ---- */

static bool descends(uint32_t tgid, uint32_t root)
{
	return process_table_descends(pt, tgid, &root, 1);
}

START_TEST(grandchildren_descend_and_strangers_do_not)
{
	see_process(0, 1, T0, "init");
	see_process(1, 10, T0, "root");
	see_process(1, 20, T0, "stranger");
	fork_process(10, 11, T0 + NS_PER_SEC);
	fork_process(11, 12, T0 + 2 * NS_PER_SEC);
	ck_assert(descends(10, 10));
	ck_assert(descends(11, 10));
	ck_assert(descends(12, 10));
	ck_assert(!descends(20, 10));
	ck_assert(!descends(1, 10));
	ck_assert(!descends(99, 10));
	ck_assert(descends(99, 99));
	ck_assert(descends(12, 1));
}
END_TEST

START_TEST(an_orphan_descends_from_who_forked_its_dead_parent)
{
	see_process(1, 10, T0, "root");
	fork_process(10, 11, T0 + NS_PER_SEC);
	fork_process(11, 12, T0 + NS_PER_SEC + 1);
	process_table_free_task(pt, 11, T0 + NS_PER_SEC, T0 + 2 * NS_PER_SEC);
	process_table_collect(pt, T0 + 100 * NS_PER_SEC);
	ck_assert(descends(12, 10));
	/* With its last child the dead parent goes too. */
	process_table_free_task(pt, 12, T0 + NS_PER_SEC + 1, T0 + 100 * NS_PER_SEC);
	process_table_collect(pt, T0 + 200 * NS_PER_SEC);
	process_table_collect(pt, T0 + 201 * NS_PER_SEC);
	ck_assert_uint_eq(stats().n_processes, 1);
}
END_TEST

START_TEST(a_new_owner_of_the_parents_pid_is_not_the_parent)
{
	fork_process(1, 10, T0);
	fork_process(10, 11, T0 + NS_PER_SEC);
	fork_process(1, 10, T0 + 2 * NS_PER_SEC);
	ck_assert(!descends(11, 10));
	fork_process(10, 12, T0 + 3 * NS_PER_SEC);
	ck_assert(descends(12, 10));
}
END_TEST

START_TEST(a_circle_of_parents_ends)
{
	see_process(11, 10, T0, "a");
	see_process(10, 11, T0, "b");
	see_process(12, 12, T0, "c");
	ck_assert(!descends(10, 5));
	ck_assert(!descends(12, 5));
	process_table_free_task(pt, 10, T0, T0);
	process_table_free_task(pt, 11, T0, T0);
	process_table_collect(pt, T0 + 100 * NS_PER_SEC);
}
END_TEST

/* ---- mappings ---- */

START_TEST(exec_begins_with_an_empty_address_space)
{
	fork_process(1, 10, T0);
	process_table_exec_maps(pt, 10, T0 + 10);
	map(10, T0 + 11, 5, 50);
	ck_assert_int_eq(file_page(10, 5), 50);
	process_table_exec_maps(pt, 10, T0 + 20);
	ck_assert_int_eq(file_page(10, 5), -1);
	map(10, T0 + 20, 6, 60); /* in the same nanosecond */
	exec_process(10, 10, T0, "new");
	ck_assert_int_eq(file_page(10, 6), 60);
}
END_TEST

/* Samples are looked at later than the events around them. */
START_TEST(before_an_exec_a_process_is_the_program_that_it_was)
{
	const uint64_t t = 1000 * NS_PER_SEC, ms = NS_PER_MS;

	fork_process(1, 10, t);
	process_table_exec_maps(pt, 10, t);
	map(10, t + ms, 1, 100);
	process_table_exec_maps(pt, 10, t + 100 * ms);
	map(10, t + 101 * ms, 1, 200);
	process_table_exec_maps(pt, 10, t + 200 * ms);
	map(10, t + 201 * ms, 2, 300);
	ck_assert_int_eq(file_page_at(10, 1, t + 50 * ms), 100);
	ck_assert_int_eq(file_page_at(10, 1, t + 150 * ms), 200);
	ck_assert_int_eq(file_page_at(10, 1, t + 250 * ms), -1);
	ck_assert_int_eq(file_page_at(10, 2, t + 250 * ms), 300);
	/* The kernel runs on for a while with the registers of the old one. */
	ck_assert_int_eq(file_page_at(10, 1, t + 201 * ms), 200);
	ck_assert_int_eq(file_page_at(10, 2, t + 150 * ms), -1);
}
END_TEST

START_TEST(a_chain_of_execs_is_remembered_up_to_a_limit_and_for_a_while)
{
	const uint64_t t = 1000 * NS_PER_SEC;

	fork_process(1, 10, t);
	for (uint64_t i = 0; i < 7; i++) {
		process_table_exec_maps(pt, 10, t + i * NS_PER_SEC);
		map(10, t + i * NS_PER_SEC + 1, 1, 100 + i);
	}
	for (uint64_t i = 2; i < 7; i++)
		ck_assert_int_eq(file_page_at(10, 1, t + i * NS_PER_SEC + NS_PER_SEC / 2),
				 100 + (long)i);
	process_table_collect(pt, t + 60 * NS_PER_SEC);
	ck_assert_int_eq(file_page_at(10, 1, t + 4 * NS_PER_SEC + NS_PER_SEC / 2), 106);
}
END_TEST

/* A shell's child, sampled before it has become the command. */
START_TEST(before_its_exec_a_child_has_its_parents_mappings)
{
	const uint64_t t = 1000 * NS_PER_SEC;

	fork_process(1, 10, t);
	process_table_exec_maps(pt, 10, t);
	map(10, t + 1, 1, 100);
	fork_process(10, 20, t + NS_PER_SEC);
	process_table_exec_maps(pt, 20, t + 2 * NS_PER_SEC);
	ck_assert_int_eq(file_page_at(20, 1, t + NS_PER_SEC + 5), 100);
	ck_assert_int_eq(file_page_at(20, 1, t + 3 * NS_PER_SEC), -1);
}
END_TEST

START_TEST(a_child_has_its_parents_mappings_until_it_changes_them)
{
	fork_process(1, 10, T0);
	process_table_exec_maps(pt, 10, T0 + 10);
	map(10, T0 + 11, 5, 50);
	fork_process(10, 11, T0 + 20);
	ck_assert_int_eq(file_page(11, 5), 50);
	map(11, T0 + 30, 5, 51);
	ck_assert_int_eq(file_page(11, 5), 51);
	ck_assert_int_eq(file_page(10, 5), 50);
	process_table_exec_maps(pt, 10, T0 + 40);
	ck_assert_int_eq(file_page(11, 5), 51);
}
END_TEST

/* What an observer of mappings was told, as "+5:0x1000" and the like. */
static char told[256];

static void told_mapped(void *ctx, uint32_t tgid, const struct mapping *mapping)
{
	size_t n = strlen(told);

	ck_assert_ptr_eq(ctx, told);
	snprintf(told + n, sizeof(told) - n, "+%u:0x%llx ", tgid,
		 (unsigned long long)mapping->start);
}

static void told_forked(void *ctx, uint32_t child, uint32_t parent)
{
	size_t n = strlen(told);

	ck_assert_ptr_eq(ctx, told);
	snprintf(told + n, sizeof(told) - n, "%u>%u ", parent, child);
}

static void told_emptied(void *ctx, uint32_t tgid)
{
	size_t n = strlen(told);

	ck_assert_ptr_eq(ctx, told);
	snprintf(told + n, sizeof(told) - n, "-%u ", tgid);
}

START_TEST(an_observer_is_told_of_mappings_as_they_come_and_go)
{
	static const struct maps_observer observer = { told_mapped, told_forked, told_emptied };

	process_table_observe_maps(pt, &observer, told);
	fork_process(1, 5, T0);
	process_table_exec_maps(pt, 5, T0 + 10);
	told[0] = '\0';
	map(5, T0 + 11, 2, 0);
	map(5, T0 + 9, 3, 0); /* of the program before */
	fork_process(5, 6, T0 + 12);
	ck_assert_str_eq(told, "+5:0x2000 5>6 ");
	told[0] = '\0';
	process_table_exec_maps(pt, 6, T0 + 13);
	map(6, T0 + 14, 4, 0);
	ck_assert_str_eq(told, "-6 +6:0x4000 ");
	told[0] = '\0';
	process_table_clear(pt);
	ck_assert_ptr_nonnull(strstr(told, "-5 "));
	ck_assert_ptr_nonnull(strstr(told, "-6 "));
}
END_TEST

START_TEST(a_kernel_thread_has_no_mappings)
{
	struct task_info t = task(10, 10, T0);

	t.is_kthread = true;
	process_table_fork(pt, &t);
	map(10, T0 + 1, 5, 50);
	ck_assert_int_eq(file_page(10, 5), -1);
	/* A helper program that the kernel starts is forked from one. */
	fork_process(10, 11, T0 + 2);
	process_table_exec_maps(pt, 11, T0 + 3);
	map(11, T0 + 4, 5, 51);
	ck_assert_int_eq(file_page(11, 5), 51);
}
END_TEST

START_TEST(too_many_mappings_are_counted_and_the_first_ones_stay)
{
	fork_process(1, 10, T0);
	process_table_exec_maps(pt, 10, T0 + 1);
	for (unsigned i = 0; i < MAPPINGS_MAX + 100; i++)
		map(10, T0 + 2 + i, 2 * i, i);
	ck_assert_uint_eq(stats().n_over_cap, 100);
	ck_assert_int_eq(file_page(10, 0), 0);
	ck_assert_int_eq(file_page(10, 2 * (MAPPINGS_MAX - 1)), MAPPINGS_MAX - 1);
	ck_assert_int_eq(file_page(10, 2 * MAPPINGS_MAX), -1);
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
	Suite *s = suite_create("process_table");
	SRunner *sr = srunner_create(s);
	TCase *t = new_case(s, "tasks");
	int failed;

	tcase_add_test(t, a_child_is_named_as_its_parent_until_exec);
	tcase_add_test(t, a_rename_of_the_leader_is_one_of_the_process);
	tcase_add_test(t, a_fork_that_the_scan_has_seen_changes_nothing);
	tcase_add_test(t, a_scan_after_the_fork_keeps_what_events_told);
	tcase_add_test(t, a_reused_pid_is_another_process_at_once);
	tcase_add_test(t, a_tid_may_move_from_a_thread_to_a_process_and_back);
	tcase_add_test(t, a_thread_of_an_unknown_process_brings_it_along);
	tcase_add_test(t, a_sign_of_life_makes_known_whoever_it_is_of);
	tcase_add_test(t, children_are_told_when_their_parent_is_gone);
	tcase_add_test(t, a_parent_that_is_found_late_has_its_children);
	tcase_add_test(t, an_exec_of_an_unknown_process_brings_it_along);
	tcase_add_loop_test(t, after_an_exec_from_a_thread_the_leader_lives_and_the_thread_does_not,
			    0, 2);
	tcase_add_test(t, the_dead_stay_findable_for_a_while);
	tcase_add_test(t, a_cleared_table_knows_nobody);
	tcase_add_test(t, events_about_nobody_do_no_harm);
	tcase_add_test(t, who_is_not_in_the_second_scan_is_gone);
	tcase_add_test(t, what_the_scan_corrects_counts_as_found);
	tcase_add_test(t, names_that_are_too_long_are_cut);
	tcase_add_test(t, more_processes_than_fit_are_counted);
	t = new_case(s, "descendants");
	tcase_add_test(t, grandchildren_descend_and_strangers_do_not);
	tcase_add_test(t, an_orphan_descends_from_who_forked_its_dead_parent);
	tcase_add_test(t, a_new_owner_of_the_parents_pid_is_not_the_parent);
	tcase_add_test(t, a_circle_of_parents_ends);
	t = new_case(s, "mappings");
	tcase_add_test(t, exec_begins_with_an_empty_address_space);
	tcase_add_test(t, before_an_exec_a_process_is_the_program_that_it_was);
	tcase_add_test(t, a_chain_of_execs_is_remembered_up_to_a_limit_and_for_a_while);
	tcase_add_test(t, before_its_exec_a_child_has_its_parents_mappings);
	tcase_add_test(t, a_child_has_its_parents_mappings_until_it_changes_them);
	tcase_add_test(t, an_observer_is_told_of_mappings_as_they_come_and_go);
	tcase_add_test(t, a_kernel_thread_has_no_mappings);
	tcase_add_test(t, too_many_mappings_are_counted_and_the_first_ones_stay);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
