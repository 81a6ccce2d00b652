/* SPDX-License-Identifier: Apache-2.0 */
/* The counters' poller, on a directory that looks like /proc. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/counters_events.h"
#include "collect/counters_poll.h"
#include "collect/counters_processes.h"

#define BUDGET_NS 1000000000ull /* enough for all that a test makes */

static char root[64];

static void put_file(const char *name, const char *text)
{
	char path[256], *slash;
	size_t len = strlen(text);
	int fd;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		(void)mkdir(path, 0755); /* may be there */
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, len), (ssize_t)len);
	close(fd);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_path(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	(void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put_process(unsigned pid, unsigned start, unsigned ticks, unsigned rss_pages)
{
	char name[64], text[512];

	snprintf(name, sizeof(name), "%u/stat", pid);
	snprintf(text, sizeof(text),
		 "%u (p) S 1 1 1 0 -1 0 0 0 0 0 %u 0 0 0 20 0 1 0 %u 4096 %u 0\n", pid, ticks,
		 start, rss_pages);
	put_file(name, text);
	snprintf(name, sizeof(name), "%u/status", pid);
	snprintf(text, sizeof(text), "Name:\tp\nVmSize:\t%u kB\nVmRSS:\t%u kB\n", rss_pages * 8,
		 rss_pages * 4);
	put_file(name, text);
	snprintf(name, sizeof(name), "%u/oom_score_adj", pid);
	put_file(name, "-17\n");
}

static void set_up(void)
{
	strcpy(root, "/tmp/test_counters_poll.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	put_file("meminfo", "MemTotal: 100 kB\nMemFree: 40 kB\n");
	put_file("vmstat", "pgfault 5\n");
	put_file("stat", "cpu 0\ncpu0 1 2 3 4 5 6 7 8\ncpu1 1 1 1 1 1 1 1 1\nprocesses 9\n");
	put_file("diskstats", "8 0 sda 1 1 10 1 1 1 20 1\n");
	put_file("1/net/dev", "  eth0: 7 0 0 0 0 0 0 0 8 0\n");
	put_file("pressure/cpu", "some total=1\nfull total=2\n");
	put_file("pressure/io", "some total=3\nfull total=4\n");
	put_file("pressure/memory", "some total=5\nfull total=6\n");
}

static void tear_down(void)
{
	(void)nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct got {
	size_t n, n_of[8], n_items[8];
	uint64_t next_seq;
	struct counters_record last[8]; /* by type */
};

static void take(void *ctx, const struct event_hdr *ev, size_t len)
{
	struct got *g = ctx;
	const struct counters_record *rec = (const struct counters_record *)ev;

	ck_assert(counters_valid(ev, len));
	ck_assert_uint_eq(ev->seq, g->next_seq++);
	ck_assert_uint_lt(ev->type, 8);
	g->n++;
	g->n_of[ev->type]++;
	g->n_items[ev->type] += rec->n;
	memcpy(&g->last[ev->type], ev, len);
}

static struct counters_poll *open_poll(char why[WHY_LEN])
{
	struct counters_poll *poll = NULL;

	ck_assert_int_eq(counters_poll_new(root, root, why, &poll), 0);
	return poll;
}

START_TEST(one_poll_makes_one_record_of_each_kind)
{
	static struct got g;
	char why[WHY_LEN];
	struct counters_poll *poll;

	memset(&g, 0, sizeof(g));
	put_process(100, 1, 0, 50);
	poll = open_poll(why);
	ck_assert_str_eq(why, "");
	counters_poll_process(poll, 100);
	counters_poll_run(poll, 12345, BUDGET_NS, take, &g);
	ck_assert_uint_eq(g.n, 5);
	ck_assert_uint_eq(counters_poll_count(poll), 5);
	ck_assert_uint_eq(g.last[COUNTERS_SYSTEM].hdr.time_ns, 12345);
	/* 2 of meminfo, 1 of vmstat, 6 of pressure, 1 of stat */
	ck_assert_uint_eq(g.last[COUNTERS_SYSTEM].n, 10);
	ck_assert_uint_eq(g.last[COUNTERS_CPUS].n, 2);
	ck_assert_uint_eq(g.last[COUNTERS_DISKS].items.disks[0].write_sectors, 20);
	ck_assert_uint_eq(g.last[COUNTERS_IFACES].items.ifaces[0].tx_bytes, 8);
	ck_assert_uint_eq(g.last[COUNTERS_PROCESSES].items.processes[0].tgid, 100);
	ck_assert_uint_eq(g.last[COUNTERS_PROCESSES].items.processes[0].rss_kb, 200);
	ck_assert_int_eq(g.last[COUNTERS_PROCESSES].items.processes[0].oom_score_adj, -17);
	counters_poll_free(poll);
}
END_TEST

START_TEST(files_are_read_anew_at_each_poll)
{
	static struct got g;
	char why[WHY_LEN];
	struct counters_poll *poll = open_poll(why);

	memset(&g, 0, sizeof(g));
	counters_poll_run(poll, 1, BUDGET_NS, take, &g);
	put_file("diskstats", "8 0 sda 1 1 10 1 1 1 2000 1\n8 16 sdb 1 1 1 1 1 1 1 1\n");
	counters_poll_run(poll, 2, BUDGET_NS, take, &g);
	ck_assert_uint_eq(g.last[COUNTERS_DISKS].n, 2);
	ck_assert_uint_eq(g.last[COUNTERS_DISKS].items.disks[0].write_sectors, 2000);
	ck_assert_uint_eq(counters_poll_count(poll), g.n);
	counters_poll_free(poll);
}
END_TEST

START_TEST(cpu_time_never_goes_back)
{
	static struct got g;
	char why[WHY_LEN];
	struct counters_poll *poll = open_poll(why);
	struct counters_cpu before;

	memset(&g, 0, sizeof(g));
	counters_poll_run(poll, 1, BUDGET_NS, take, &g);
	before = g.last[COUNTERS_CPUS].items.cpus[0];
	put_file("stat", "cpu0 9 2 3 2 5 6 7 8\n");
	counters_poll_run(poll, 2, BUDGET_NS, take, &g);
	ck_assert_uint_eq(g.last[COUNTERS_CPUS].n, 1);
	ck_assert_uint_eq(g.last[COUNTERS_CPUS].items.cpus[0].times[CPU_IDLE],
			  before.times[CPU_IDLE]);
	ck_assert_uint_gt(g.last[COUNTERS_CPUS].items.cpus[0].times[CPU_USER],
			  before.times[CPU_USER]);
	counters_poll_free(poll);
}
END_TEST

START_TEST(what_is_missing_is_named_and_left_out)
{
	static struct got g;
	char why[WHY_LEN];
	struct counters_poll *poll;

	memset(&g, 0, sizeof(g));
	remove_path("pressure");
	remove_path("diskstats");
	poll = open_poll(why);
	ck_assert_ptr_nonnull(strstr(why, "diskstats"));
	ck_assert_ptr_nonnull(strstr(why, "pressure/cpu"));
	ck_assert_ptr_nonnull(strstr(why, "psi=1"));
	counters_poll_run(poll, 1, BUDGET_NS, take, &g);
	ck_assert_uint_eq(g.n_of[COUNTERS_DISKS], 0);
	ck_assert_uint_eq(g.last[COUNTERS_SYSTEM].n, 4);
	counters_poll_free(poll);
}
END_TEST

START_TEST(without_the_hosts_interfaces_its_own_are_read)
{
	static struct got g;
	char why[WHY_LEN];
	struct counters_poll *poll;

	memset(&g, 0, sizeof(g));
	remove_path("1");
	put_file("net/dev", "  lo: 70 0 0 0 0 0 0 0 80 0\n");
	poll = open_poll(why);
	ck_assert_str_eq(why, "");
	counters_poll_run(poll, 1, BUDGET_NS, take, &g);
	ck_assert_str_eq(g.last[COUNTERS_IFACES].items.ifaces[0].name, "lo");
	counters_poll_free(poll);
}
END_TEST

START_TEST(an_empty_proc_is_an_error)
{
	struct counters_poll *poll = NULL;
	char why[WHY_LEN];

	tear_down();
	ck_assert_int_eq(mkdir(root, 0755), 0);
	ck_assert_int_eq(counters_poll_new(root, root, why, &poll), -ENOENT);
	ck_assert_ptr_null(poll);
	ck_assert_ptr_nonnull(strstr(why, "meminfo"));
}
END_TEST

START_TEST(many_items_go_out_in_several_records)
{
	static struct got g;
	static char text[20000];
	char why[WHY_LEN];
	struct counters_poll *poll;

	memset(&g, 0, sizeof(g));
	for (int i = 0; i < 130; i++)
		sprintf(text + strlen(text), "veth%d: 1 0 0 0 0 0 0 0 1 0\n", i);
	put_file("1/net/dev", text);
	text[0] = 0;
	for (int i = 0; i < 64; i++)
		sprintf(text + strlen(text), "cpu%d 1 1 1 1 1 1 1 1\n", i);
	put_file("stat", text);
	poll = open_poll(why);
	counters_poll_run(poll, 1, BUDGET_NS, take, &g);
	ck_assert_uint_eq(g.n_of[COUNTERS_IFACES], 3);
	ck_assert_uint_eq(g.n_items[COUNTERS_IFACES], 130);
	ck_assert_uint_eq(g.n_of[COUNTERS_CPUS], 1); /* exactly full, and no empty one after it */
	counters_poll_free(poll);
}
END_TEST

START_TEST(a_cpu_number_beyond_all_reason_costs_no_memory)
{
	static struct got g;
	char why[WHY_LEN];
	struct counters_poll *poll;

	memset(&g, 0, sizeof(g));
	put_file("stat", "cpu4294967295 1 1 1 1 1 1 1 1\ncpu8191 1 1 1 1 1 1 1 1\n");
	poll = open_poll(why);
	counters_poll_run(poll, 1, BUDGET_NS, take, &g);
	ck_assert_uint_eq(g.last[COUNTERS_CPUS].n, 1);
	ck_assert_uint_eq(g.last[COUNTERS_CPUS].items.cpus[0].cpu, 8191);
	counters_poll_free(poll);
}
END_TEST

START_TEST(frequencies_stand_at_the_place_of_their_cpu)
{
	static struct got g;
	char why[WHY_LEN];
	struct counters_poll *poll;

	memset(&g, 0, sizeof(g));
	put_file("cpu0/cpufreq/scaling_cur_freq", "1200000\n");
	put_file("cpu1/online", "0\n");
	put_file("cpu2/cpufreq/scaling_cur_freq", "<unknown>\n");
	put_file("cpu3/cpufreq/scaling_cur_freq", "3400000\n");
	poll = open_poll(why);
	counters_poll_run(poll, 1, BUDGET_NS, take, &g);
	ck_assert_uint_eq(g.last[COUNTERS_CPUFREQ].n, 4);
	ck_assert_uint_eq(g.last[COUNTERS_CPUFREQ].items.khz[0], 1200000);
	ck_assert_uint_eq(g.last[COUNTERS_CPUFREQ].items.khz[1], 0);
	ck_assert_uint_eq(g.last[COUNTERS_CPUFREQ].items.khz[2], 0);
	ck_assert_uint_eq(g.last[COUNTERS_CPUFREQ].items.khz[3], 3400000);
	counters_poll_free(poll);
}
END_TEST

/* ---- processes ---- */

static struct counters_processes *open_processes(int *ret_fd)
{
	struct counters_processes *cp = NULL;

	*ret_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(counters_processes_new(*ret_fd, &cp), 0);
	return cp;
}

static bool has(const struct counters_process *items, size_t n, uint32_t tgid)
{
	for (size_t i = 0; i < n; i++)
		if (items[i].tgid == tgid)
			return true;
	return false;
}

START_TEST(the_largest_processes_are_watched)
{
	struct counters_process items[COUNTERS_MAX_ITEMS];
	int fd;
	struct counters_processes *cp = open_processes(&fd);
	size_t n;

	for (unsigned i = 0; i < 40; i++) {
		put_process(1000 + i, 1, 0, 10 + i);
		ck_assert_int_eq(counters_processes_add(cp, 1000 + i), 0);
		ck_assert_int_eq(counters_processes_add(cp, 1000 + i), 0);
	}
	n = counters_processes_poll(cp, BUDGET_NS, items);
	ck_assert_uint_eq(n, 20);
	ck_assert(has(items, n, 1039));
	ck_assert(has(items, n, 1020));
	ck_assert(!has(items, n, 1019));
	counters_processes_free(cp);
	close(fd);
}
END_TEST

START_TEST(one_that_used_the_cpu_is_watched_and_stays_so)
{
	struct counters_process items[COUNTERS_MAX_ITEMS];
	int fd;
	struct counters_processes *cp = open_processes(&fd);
	size_t n;

	for (unsigned i = 0; i < 40; i++) {
		put_process(1000 + i, 1, 5, 10 + i);
		counters_processes_add(cp, 1000 + i);
	}
	n = counters_processes_poll(cp, BUDGET_NS, items);
	ck_assert(!has(items, n, 1000));
	put_process(1000, 1, 6, 10);
	n = counters_processes_poll(cp, BUDGET_NS, items);
	ck_assert_uint_eq(n, 21);
	ck_assert(has(items, n, 1000));
	n = counters_processes_poll(cp, BUDGET_NS, items);
	ck_assert(has(items, n, 1000));
	counters_processes_free(cp);
	close(fd);
}
END_TEST

START_TEST(who_has_not_deserved_it_for_longest_makes_room)
{
	struct counters_process items[COUNTERS_MAX_ITEMS];
	int fd;
	struct counters_processes *cp = open_processes(&fd);
	size_t n;

	/* 20 large ones, and 100 small ones of which others run in each poll */
	for (unsigned i = 0; i < 120; i++) {
		put_process(1000 + i, 1, 5, i < 20 ? 1000 : 1);
		counters_processes_add(cp, 1000 + i);
	}
	counters_processes_poll(cp, BUDGET_NS, items);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < 20; i++)
			put_process(1020 + round * 20 + i, 1, 6, 1);
		n = counters_processes_poll(cp, BUDGET_NS, items);
		ck_assert_uint_le(n, COUNTERS_MAX_ITEMS);
		ck_assert(has(items, n, 1020 + round * 20));
		ck_assert(has(items, n, 1000)); /* a large one never goes */
	}
	ck_assert_uint_eq(n, COUNTERS_MAX_ITEMS);
	ck_assert(!has(items, n, 1020));
	counters_processes_free(cp);
	close(fd);
}
END_TEST

START_TEST(one_that_has_ended_is_forgotten)
{
	struct counters_process items[COUNTERS_MAX_ITEMS];
	int fd;
	struct counters_processes *cp = open_processes(&fd);

	put_process(7, 1, 0, 10);
	put_process(8, 1, 0, 10);
	counters_processes_add(cp, 7);
	counters_processes_add(cp, 8);
	counters_processes_add(cp, 9); /* never was */
	ck_assert_uint_eq(counters_processes_poll(cp, BUDGET_NS, items), 2);
	remove_path("7");
	ck_assert_uint_eq(counters_processes_poll(cp, BUDGET_NS, items), 1);
	ck_assert_uint_eq(items[0].tgid, 8);
	/* and may come again as another one */
	put_process(7, 2, 0, 30);
	counters_processes_add(cp, 7);
	ck_assert_uint_eq(counters_processes_poll(cp, BUDGET_NS, items), 2);
	counters_processes_free(cp);
	close(fd);
}
END_TEST

START_TEST(cpu_time_of_a_reused_pid_is_not_compared_with_the_last_ones)
{
	struct counters_process items[COUNTERS_MAX_ITEMS];
	int fd;
	struct counters_processes *cp = open_processes(&fd);
	size_t n;

	for (unsigned i = 0; i < 21; i++) {
		put_process(1000 + i, 1, 5, i ? 100 : 1);
		counters_processes_add(cp, 1000 + i);
	}
	counters_processes_poll(cp, BUDGET_NS, items);
	put_process(1000, 2, 50, 1);
	n = counters_processes_poll(cp, BUDGET_NS, items);
	ck_assert(!has(items, n, 1000));
	counters_processes_free(cp);
	close(fd);
}
END_TEST

START_TEST(the_survey_goes_round_however_small_its_budget)
{
	struct counters_process items[COUNTERS_MAX_ITEMS];
	int fd;
	struct counters_processes *cp = open_processes(&fd);
	size_t n = 0;

	for (unsigned i = 0; i < 100; i++) {
		put_process(1000 + i, 1, 0, i == 99 ? 5000 : 1);
		counters_processes_add(cp, 1000 + i);
	}
	for (unsigned i = 0; i < 100 / 8 + 1; i++)
		n = counters_processes_poll(cp, 0, items);
	ck_assert(has(items, n, 1099));
	counters_processes_free(cp);
	close(fd);
}
END_TEST

/* ---- records ---- */

START_TEST(a_record_that_lies_about_itself_is_not_valid)
{
	static struct counters_record rec;
	size_t len = counters_record_size(COUNTERS_IFACES, 2);

	memset(&rec, 0, sizeof(rec));
	rec.hdr.type = COUNTERS_IFACES;
	rec.hdr.size = (uint16_t)len;
	rec.n = 2;
	strcpy(rec.items.ifaces[0].name, "eth0");
	strcpy(rec.items.ifaces[1].name, "eth1");
	ck_assert(counters_valid(&rec.hdr, len));
	ck_assert(!counters_valid(&rec.hdr, len - 1));
	ck_assert(!counters_valid(&rec.hdr, sizeof(rec.hdr)));
	rec.n = 3;
	ck_assert(!counters_valid(&rec.hdr, len));
	rec.n = 0;
	ck_assert(!counters_valid(&rec.hdr, len));
	rec.n = 2;
	memset(rec.items.ifaces[1].name, 'x', COUNTERS_IFACE_LEN);
	ck_assert(!counters_valid(&rec.hdr, len));
	rec.items.ifaces[1].name[0] = 0;
	ck_assert(!counters_valid(&rec.hdr, len));
	rec.items.ifaces[1].name[0] = 'x';
	rec.items.ifaces[1].name[COUNTERS_IFACE_LEN - 1] = 0;
	ck_assert(counters_valid(&rec.hdr, len));
	rec.hdr.stream = 1;
	ck_assert(!counters_valid(&rec.hdr, len));
	rec.hdr.stream = 0;
	rec.hdr.type = 99;
	ck_assert(!counters_valid(&rec.hdr, len));
}
END_TEST

START_TEST(a_value_with_an_unknown_key_is_not_valid)
{
	static struct counters_record rec;
	size_t len = counters_record_size(COUNTERS_SYSTEM, 1);

	memset(&rec, 0, sizeof(rec));
	rec.hdr.type = COUNTERS_SYSTEM;
	rec.hdr.size = (uint16_t)len;
	rec.n = 1;
	rec.items.values[0] = (struct counters_value){ .kind = COUNTERS_PSI, .key = 6 };
	ck_assert(counters_valid(&rec.hdr, len));
	rec.items.values[0].key = 7;
	ck_assert(!counters_valid(&rec.hdr, len));
	rec.items.values[0] = (struct counters_value){ .kind = 0, .key = 0 };
	ck_assert(!counters_valid(&rec.hdr, len));
	rec.items.values[0] = (struct counters_value){ .kind = COUNTERS_SOFTIRQS + 1, .key = 0 };
	ck_assert(!counters_valid(&rec.hdr, len));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("counters_poll");
	TCase *tc = tcase_create("poll");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, one_poll_makes_one_record_of_each_kind);
	tcase_add_test(tc, files_are_read_anew_at_each_poll);
	tcase_add_test(tc, cpu_time_never_goes_back);
	tcase_add_test(tc, what_is_missing_is_named_and_left_out);
	tcase_add_test(tc, without_the_hosts_interfaces_its_own_are_read);
	tcase_add_test(tc, an_empty_proc_is_an_error);
	tcase_add_test(tc, many_items_go_out_in_several_records);
	tcase_add_test(tc, a_cpu_number_beyond_all_reason_costs_no_memory);
	tcase_add_test(tc, frequencies_stand_at_the_place_of_their_cpu);
	tcase_add_test(tc, the_largest_processes_are_watched);
	tcase_add_test(tc, one_that_used_the_cpu_is_watched_and_stays_so);
	tcase_add_test(tc, who_has_not_deserved_it_for_longest_makes_room);
	tcase_add_test(tc, one_that_has_ended_is_forgotten);
	tcase_add_test(tc, cpu_time_of_a_reused_pid_is_not_compared_with_the_last_ones);
	tcase_add_test(tc, the_survey_goes_round_however_small_its_budget);
	tcase_add_test(tc, a_record_that_lies_about_itself_is_not_valid);
	tcase_add_test(tc, a_value_with_an_unknown_key_is_not_valid);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
