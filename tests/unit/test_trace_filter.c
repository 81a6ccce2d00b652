/* SPDX-License-Identifier: Apache-2.0 */
/* Does this event concern this session? */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "trace_filter.h"

static struct process_table *processes;
static struct trace_config config;

static void add(uint32_t tgid, uint32_t parent, uint32_t uid, const char *comm)
{
	struct task_info task = { .tid = tgid,
				  .tgid = tgid,
				  .parent_tgid = parent,
				  .start_ns = 1000000000ull * tgid,
				  .process_start_ns = 1000000000ull * tgid,
				  .uid = uid };

	strncpy(task.comm, comm, sizeof(task.comm) - 1);
	process_table_fork(processes, &task);
}

/* 10 is the parent of 20, which is the parent of 30; 40 is nobody's. */
static void set_up(void)
{
	memset(&config, 0, sizeof(config));
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	add(10, 1, 0, "init");
	add(20, 10, 1000, "bash");
	add(30, 20, 1000, "nginx: worker");
	add(40, 1, 33, "nginx");
}

static void tear_down(void)
{
	process_table_free(processes);
}

static bool match(uint32_t tgid)
{
	struct event_hdr ev = { .tgid = tgid, .tid = tgid + 1, .cgroup_id = tgid * 100 };

	return trace_filter_match(&config, processes, &ev);
}

START_TEST(without_a_filter_everything_matches)
{
	ck_assert(!trace_filter_any(&config));
	ck_assert(match(10) && match(40) && match(999));
}
END_TEST

START_TEST(a_pid_stands_for_its_descendants)
{
	config.n_pids = 1;
	config.pids[0] = 20;
	ck_assert(trace_filter_any(&config));
	ck_assert(!match(10));
	ck_assert(match(20) && match(30));
	ck_assert(!match(40) && !match(999));
	config.n_pids = 2;
	config.pids[1] = 40;
	ck_assert(match(40));
}
END_TEST

START_TEST(a_name_is_a_pattern)
{
	strcpy(config.comm_glob, "nginx*");
	ck_assert(trace_filter_any(&config));
	ck_assert(match(30) && match(40) && !match(20));
	ck_assert(!match(999)); /* nobody knows its name */
	strcpy(config.comm_glob, "nginx");
	ck_assert(!match(30) && match(40));
	strcpy(config.comm_glob, "["); /* no pattern, but no crash */
	ck_assert(!match(40));
}
END_TEST

START_TEST(a_user_is_that_of_the_process)
{
	config.has_uid = true;
	config.uid = 1000;
	ck_assert(trace_filter_any(&config));
	ck_assert(match(20) && match(30) && !match(10) && !match(40) && !match(999));
	config.uid = 0;
	ck_assert(match(10) && !match(20) && !match(999));
}
END_TEST

START_TEST(all_that_is_set_must_match)
{
	config.n_pids = 1;
	config.pids[0] = 10;
	config.has_uid = true;
	config.uid = 1000;
	strcpy(config.comm_glob, "b*");
	ck_assert(match(20));
	ck_assert(!match(10) && !match(30) && !match(40));
	config.has_cgroup = true;
	config.cgroup_id = 2000;
	ck_assert(match(20));
	config.cgroup_id = 1;
	ck_assert(!match(20));
}
END_TEST

START_TEST(a_cgroup_that_is_gone_is_in_none_but_itself)
{
	ck_assert(cgroup_contains(123456789012ull, 123456789012ull));
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(!cgroup_contains(123456789012ull, 123456789013ull));
		ck_assert(!cgroup_contains(1, 0));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace_filter");
	TCase *tc = tcase_create("trace_filter");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, without_a_filter_everything_matches);
	tcase_add_test(tc, a_pid_stands_for_its_descendants);
	tcase_add_test(tc, a_name_is_a_pattern);
	tcase_add_test(tc, a_user_is_that_of_the_process);
	tcase_add_test(tc, all_that_is_set_must_match);
	tcase_add_test(tc, a_cgroup_that_is_gone_is_in_none_but_itself);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
