/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of /proc's text, on captured text and on text meant to mislead. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/counters_parse.h"

static const char meminfo[] = "MemTotal:       24684096 kB\n"
			      "MemFree:        23573056 kB\n"
			      "MemAvailable:   24118176 kB\n"
			      "Buffers:            9472 kB\n"
			      "Active(anon):       1592 kB\n"
			      "SwapTotal:             0 kB\n"
			      "SReclaimable:     101300 kB\n"
			      "HugePages_Total:       0\n"
			      "PageTables:         3360 kB\n";

static const char stat_text[] = "cpu  3781 49896 6298 116290 607 0 81 398 0 0\n"
				"cpu0 1171 24909 2956 59390 65 0 15 189 0 0\n"
				"cpu1 2609 24987 3341 56900 541 0 65 208 0 0\n"
				"cpu2 0 0 0 0 0 0 0 0 0 0\n"
				"intr 382198 0 0 15 0\n"
				"ctxt 628195\n"
				"btime 1796005245\n"
				"processes 16371\n"
				"procs_running 3\n"
				"procs_blocked 0\n"
				"softirq 195361 0 25402 4 1137 62000 0 2 42078 0 64738\n";

static const char diskstats[] =
	"   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	"   8       0 sda 38192 9508 4726186 17813 8394 53068 3844648 14031 0 8780 33478\n"
	"   8       1 sda1 100 0 800 10 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	" 259       0 nvme0n1 10 0 80 1 20 0 160 2 0 0 0 0 0 0 0 0 0\n"
	" 259       1 nvme0n1p1 10 0 80 1 20 0 160 2 0 0 0 0 0 0 0 0 0\n"
	" 253       1 dm-1 1 0 8 1 1 0 8 1 0 0 0 0 0 0 0 0 0\n"
	" 253      10 dm-10 2 0 16 1 1 0 8 1 0 0 0 0 0 0 0 0 0\n";

static const char net_dev[] =
	"Inter-|   Receive                                                |  Transmit\n"
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs\n"
	"    lo:    3267      29    0    0    0     0          0         0     3268      29    0\n"
	"enp0s31f6:18446744073709551615 860 0 0 0 0 0 0    49135     569    0    0    0     0\n";

static const struct counters_value *find(const struct counters_values *values, int kind, int key)
{
	for (size_t i = 0; i < values->n; i++)
		if (values->items[i].kind == kind && values->items[i].key == key)
			return &values->items[i];
	return NULL;
}

struct found {
	size_t n, stop_after;
	struct counters_cpu cpus[8];
	struct counters_disk disks[8];
	struct counters_iface ifaces[8];
};

static int take_cpu(void *ctx, const struct counters_cpu *cpu)
{
	struct found *f = ctx;

	ck_assert_uint_lt(f->n, 8);
	f->cpus[f->n++] = *cpu;
	return f->n == f->stop_after;
}

static int take_disk(void *ctx, const struct counters_disk *disk)
{
	struct found *f = ctx;

	ck_assert_uint_lt(f->n, 8);
	f->disks[f->n++] = *disk;
	return f->n == f->stop_after;
}

static int take_iface(void *ctx, const struct counters_iface *iface)
{
	struct found *f = ctx;

	ck_assert_uint_lt(f->n, 8);
	f->ifaces[f->n++] = *iface;
	return f->n == f->stop_after;
}

/* A copy of exactly `len` bytes, so that the sanitizers see a byte too many. */
static char *exact(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, len);
	return copy;
}

START_TEST(meminfo_values_carry_perfettos_numbers)
{
	struct counters_values v = { 0 };

	counters_parse_meminfo(meminfo, strlen(meminfo), &v);
	ck_assert_uint_eq(v.n, 7);
	ck_assert_uint_eq(find(&v, COUNTERS_MEMINFO, 1)->value, 24684096);
	ck_assert_uint_eq(find(&v, COUNTERS_MEMINFO, 15)->value, 0);
	ck_assert_uint_eq(find(&v, COUNTERS_MEMINFO, 23)->value, 101300);
	ck_assert_uint_eq(find(&v, COUNTERS_MEMINFO, 26)->value, 3360);
}
END_TEST

START_TEST(a_name_that_only_begins_like_a_known_one_is_not_taken)
{
	static const char text[] =
		"Active(file): 1 kB\nMemTotal: x\nMemFree:\nmemfree: 3\nBuffers: 1x kB\n"
		"Cached: -5 kB\n";
	struct counters_values v = { 0 };

	counters_parse_meminfo(text, strlen(text), &v);
	ck_assert_uint_eq(v.n, 0);
}
END_TEST

START_TEST(a_number_beyond_64_bits_is_left_out)
{
	static const char text[] =
		"MemTotal: 18446744073709551616 kB\nMemFree: 18446744073709551615 kB\n";
	struct counters_values v = { 0 };

	counters_parse_meminfo(text, strlen(text), &v);
	ck_assert_uint_eq(v.n, 1);
	ck_assert_uint_eq(v.items[0].value, UINT64_MAX);
}
END_TEST

START_TEST(more_values_than_fit_are_left_out)
{
	struct counters_values v = { 0 };
	char text[100 * 16] = "";

	for (int i = 0; i < 100; i++)
		strcat(text, "MemFree: 1\n");
	counters_parse_meminfo(text, strlen(text), &v);
	ck_assert_uint_eq(v.n, COUNTERS_MAX_ITEMS);
}
END_TEST

START_TEST(vmstat_takes_the_few_that_are_shown)
{
	static const char text[] =
		"nr_free_pages 1121603\npgpgin 7\npgpgout 8\npswpin 9\npswpout 10\n"
		"pgfault 13036847\npgmajfault 1673\npgfaults 5\n";
	struct counters_values v = { 0 };

	counters_parse_vmstat(text, strlen(text), &v);
	ck_assert_uint_eq(v.n, 6);
	ck_assert_uint_eq(find(&v, COUNTERS_VMSTAT, 49)->value, 13036847);
	ck_assert_uint_eq(find(&v, COUNTERS_VMSTAT, 50)->value, 1673);
	ck_assert_uint_eq(find(&v, COUNTERS_VMSTAT, 41)->value, 9);
}
END_TEST

START_TEST(pressure_is_given_in_nanoseconds)
{
	static const char text[] = "some avg10=10.39 avg60=4.75 avg300=1.73 total=13655286\n"
				   "full avg10=0.00 avg60=0.00 avg300=0.00 total=12\n";
	struct counters_values v = { 0 };

	counters_parse_pressure(text, strlen(text), 3, &v);
	ck_assert_uint_eq(v.n, 2);
	ck_assert_uint_eq(find(&v, COUNTERS_PSI, 3)->value, 13655286000);
	ck_assert_uint_eq(find(&v, COUNTERS_PSI, 4)->value, 12000);
}
END_TEST

START_TEST(pressure_without_a_total_is_left_out)
{
	static const char text[] = "some avg10=0.00\nfull total=\nsome total=18446744073709551615\n"
				   "none total=4\nfull xtotal=4";
	struct counters_values v = { 0 };

	counters_parse_pressure(text, strlen(text), 1, &v);
	ck_assert_uint_eq(v.n, 0);
}
END_TEST

START_TEST(totals_of_proc_stat_are_found)
{
	struct counters_values v = { 0 };

	counters_parse_stat(stat_text, strlen(stat_text), &v);
	ck_assert_uint_eq(v.n, 3);
	ck_assert_uint_eq(find(&v, COUNTERS_FORKS, 0)->value, 16371);
	ck_assert_uint_eq(find(&v, COUNTERS_IRQS, 0)->value, 382198);
	ck_assert_uint_eq(find(&v, COUNTERS_SOFTIRQS, 0)->value, 195361);
}
END_TEST

START_TEST(each_cpu_that_ran_is_found_but_not_their_sum)
{
	struct found f = { 0 };

	ck_assert_int_eq(counters_parse_cpus(stat_text, strlen(stat_text), take_cpu, &f), 0);
	ck_assert_uint_eq(f.n, 2);
	ck_assert_uint_eq(f.cpus[1].cpu, 1);
	ck_assert_uint_eq(f.cpus[1].times[CPU_USER], 2609);
	ck_assert_uint_eq(f.cpus[1].times[CPU_IDLE], 56900);
	ck_assert_uint_eq(f.cpus[1].times[CPU_STEAL], 208);
}
END_TEST

START_TEST(a_cpu_line_that_is_cut_or_strange_is_left_out)
{
	static const char text[] =
		"cpu7 1 2 3 4 5 6 7\ncpux 1 2 3 4 5 6 7 8\ncpu-1 1 2 3 4 5 6 7 8\n"
		"cpu4294967296 1 2 3 4 5 6 7 8\ncpufreq 1 2 3 4 5 6 7 8\n"
		"cpu3 1 2 3 4 5 6 7 8";
	struct found f = { 0 };

	counters_parse_cpus(text, strlen(text), take_cpu, &f);
	ck_assert_uint_eq(f.n, 1);
	ck_assert_uint_eq(f.cpus[0].cpu, 3);
}
END_TEST

START_TEST(whole_disks_with_traffic_are_found)
{
	struct found f = { 0 };

	ck_assert_int_eq(counters_parse_disks(diskstats, strlen(diskstats), take_disk, &f), 0);
	ck_assert_uint_eq(f.n, 4);
	ck_assert_str_eq(f.disks[0].name, "sda");
	ck_assert_uint_eq(f.disks[0].read_sectors, 4726186);
	ck_assert_uint_eq(f.disks[0].read_ms, 17813);
	ck_assert_uint_eq(f.disks[0].write_sectors, 3844648);
	ck_assert_uint_eq(f.disks[0].write_ms, 14031);
	ck_assert_str_eq(f.disks[1].name, "nvme0n1");
	/* not a partition of dm-1, whatever the name begins with */
	ck_assert_str_eq(f.disks[2].name, "dm-1");
	ck_assert_str_eq(f.disks[3].name, "dm-10");
}
END_TEST

START_TEST(a_disk_with_too_long_a_name_or_too_few_numbers_is_left_out)
{
	static const char text[] = "8 0 abcdefghijklmnopqrstuvwxyzabcdef 1 1 1 1 1 1 1 1\n"
				   "8 0 sdb 1 1 1 1 1 1 1\n8 0\n8\n\n8 0 sdc 1 1 1 1 1 1 1 1\n";
	struct found f = { 0 };

	counters_parse_disks(text, strlen(text), take_disk, &f);
	ck_assert_uint_eq(f.n, 1);
	ck_assert_str_eq(f.disks[0].name, "sdc");
}
END_TEST

START_TEST(interfaces_are_found_even_when_a_number_touches_the_colon)
{
	struct found f = { 0 };

	ck_assert_int_eq(counters_parse_ifaces(net_dev, strlen(net_dev), take_iface, &f), 0);
	ck_assert_uint_eq(f.n, 2);
	ck_assert_str_eq(f.ifaces[0].name, "lo");
	ck_assert_uint_eq(f.ifaces[0].rx_bytes, 3267);
	ck_assert_uint_eq(f.ifaces[0].tx_bytes, 3268);
	ck_assert_str_eq(f.ifaces[1].name, "enp0s31f6");
	ck_assert_uint_eq(f.ifaces[1].rx_bytes, UINT64_MAX);
	ck_assert_uint_eq(f.ifaces[1].tx_bytes, 49135);
}
END_TEST

START_TEST(an_interface_line_without_name_or_numbers_is_left_out)
{
	static const char text[] =
		": 1 2 3 4 5 6 7 8 9\neth0: 1 2 3\n  :\nabcdefghijklmnop: 1 2 3 4 5 6 "
		"7 8 9\n";
	struct found f = { 0 };

	counters_parse_ifaces(text, strlen(text), take_iface, &f);
	ck_assert_uint_eq(f.n, 0);
}
END_TEST

START_TEST(the_one_who_takes_items_can_end_it)
{
	struct found f = { .stop_after = 1 };

	ck_assert_int_eq(counters_parse_disks(diskstats, strlen(diskstats), take_disk, &f), 1);
	ck_assert_uint_eq(f.n, 1);
	f.n = 0;
	ck_assert_int_eq(counters_parse_cpus(stat_text, strlen(stat_text), take_cpu, &f), 1);
	ck_assert_uint_eq(f.n, 1);
	f.n = 0;
	ck_assert_int_eq(counters_parse_ifaces(net_dev, strlen(net_dev), take_iface, &f), 1);
	ck_assert_uint_eq(f.n, 1);
}
END_TEST

#define PID_STAT_TAIL                                                                       \
	" R 16472 16472 13606 0 -1 4194304 102 0 0 0 11 22 5 6 20 0 1 0 90070 3133440 366 " \
	"18446744073709551615 94868643082240\n"

START_TEST(a_process_is_read_whatever_its_name)
{
	static const char *const texts[] = {
		"16477 (cat)" PID_STAT_TAIL,
		"1 (a) R 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1)" PID_STAT_TAIL,
		"1 (\n)\n)" PID_STAT_TAIL,
		"1 ()" PID_STAT_TAIL,
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct counters_pid_stat st;

		ck_assert_int_eq(counters_parse_pid_stat(texts[i], strlen(texts[i]), &st), 0);
		ck_assert_uint_eq(st.cpu_ticks, 33);
		ck_assert_uint_eq(st.start_ticks, 90070);
		ck_assert_uint_eq(st.rss_pages, 366);
	}
}
END_TEST

START_TEST(a_process_line_cut_anywhere_is_refused_or_whole)
{
	static const char text[] = "16477 (cat)" PID_STAT_TAIL;
	size_t whole = strstr(text, "366") - text + 3, n_ok = 0;

	for (size_t len = 0; len < strlen(text); len++) {
		struct counters_pid_stat st = { 0 };
		char *copy = exact(text, len);
		int r = counters_parse_pid_stat(copy, len, &st);

		/* A number may be cut, a field may not be missing. */
		ck_assert_int_eq(r, len + 2 < whole ? -EBADMSG : 0);
		n_ok += r == 0;
		free(copy);
	}
	ck_assert_uint_gt(n_ok, 0);
}
END_TEST

START_TEST(memory_is_read_from_status)
{
	static const char text[] =
		"Name:\tcat\nUmask:\t0022\nVmPeak:\t    9999 kB\nVmSize:\t    3060 kB\n"
		"VmHWM:\t    1769 kB\nVmRSS:\t    1768 kB\nRssAnon:\t     112 kB\n"
		"RssFile:\t    1656 kB\nRssShmem:\t       4 kB\nVmSwap:\t       7 kB\n";
	struct counters_process p;

	ck_assert_int_eq(counters_parse_pid_status(text, strlen(text), &p), 0);
	ck_assert_uint_eq(p.vm_size_kb, 3060);
	ck_assert_uint_eq(p.hwm_kb, 1769);
	ck_assert_uint_eq(p.rss_kb, 1768);
	ck_assert_uint_eq(p.anon_kb, 112);
	ck_assert_uint_eq(p.file_kb, 1656);
	ck_assert_uint_eq(p.shmem_kb, 4);
	ck_assert_uint_eq(p.swap_kb, 7);
}
END_TEST

START_TEST(a_thread_without_memory_is_not_a_process_of_zero_bytes)
{
	/* The name shows how the kernel escapes a newline in it. */
	static const char text[] = "Name:\tx\\nVmRSS:\t5\nUmask:\t0000\nState:\tI (idle)\n";
	struct counters_process p = { .rss_kb = 77 };

	ck_assert_int_eq(counters_parse_pid_status(text, strlen(text), &p), -ENODATA);
	ck_assert_uint_eq(p.rss_kb, 77);
}
END_TEST

START_TEST(a_number_file_may_be_negative)
{
	int64_t n = 0;

	ck_assert_int_eq(counters_parse_number("-1000\n", 6, &n), 0);
	ck_assert_int_eq(n, -1000);
	ck_assert_int_eq(counters_parse_number("2400000\n", 8, &n), 0);
	ck_assert_int_eq(n, 2400000);
	ck_assert_int_eq(counters_parse_number("", 0, &n), -EBADMSG);
	ck_assert_int_eq(counters_parse_number("-\n", 2, &n), -EBADMSG);
	ck_assert_int_eq(counters_parse_number("<unknown>\n", 10, &n), -EBADMSG);
	ck_assert_int_eq(counters_parse_number("9223372036854775808", 19, &n), -EBADMSG);
	ck_assert_int_eq(n, 2400000);
}
END_TEST

/* Random changes to good text; the sanitizers judge. */
START_TEST(damaged_text_is_read_without_harm)
{
	static const char *const texts[] = { meminfo, stat_text, diskstats, net_dev,
					     "16477 (cat)" PID_STAT_TAIL };
	unsigned seed = 1;

	for (int round = 0; round < 2000; round++) {
		const char *text = texts[round % 5];
		size_t len = (size_t)rand_r(&seed) % (strlen(text) + 1);
		char *copy = exact(text, len);
		struct counters_values v = { 0 };
		struct counters_pid_stat st;
		struct counters_process p;
		int64_t n;

		for (int i = 0; len && i < 4; i++)
			copy[(size_t)rand_r(&seed) % len] = "\0\n :09(x)\xff"[rand_r(&seed) % 10];
		counters_parse_meminfo(copy, len, &v);
		counters_parse_vmstat(copy, len, &v);
		counters_parse_stat(copy, len, &v);
		counters_parse_pressure(copy, len, 1, &v);
		ck_assert_uint_le(v.n, COUNTERS_MAX_ITEMS);
		counters_parse_cpus(copy, len, take_cpu, &(struct found){ .stop_after = 8 });
		counters_parse_disks(copy, len, take_disk, &(struct found){ .stop_after = 8 });
		counters_parse_ifaces(copy, len, take_iface, &(struct found){ .stop_after = 8 });
		(void)counters_parse_pid_stat(copy, len, &st);
		(void)counters_parse_pid_status(copy, len, &p);
		(void)counters_parse_number(copy, len, &n);
		free(copy);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("counters_parse");
	TCase *tc = tcase_create("text");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, meminfo_values_carry_perfettos_numbers);
	tcase_add_test(tc, a_name_that_only_begins_like_a_known_one_is_not_taken);
	tcase_add_test(tc, a_number_beyond_64_bits_is_left_out);
	tcase_add_test(tc, more_values_than_fit_are_left_out);
	tcase_add_test(tc, vmstat_takes_the_few_that_are_shown);
	tcase_add_test(tc, pressure_is_given_in_nanoseconds);
	tcase_add_test(tc, pressure_without_a_total_is_left_out);
	tcase_add_test(tc, totals_of_proc_stat_are_found);
	tcase_add_test(tc, each_cpu_that_ran_is_found_but_not_their_sum);
	tcase_add_test(tc, a_cpu_line_that_is_cut_or_strange_is_left_out);
	tcase_add_test(tc, whole_disks_with_traffic_are_found);
	tcase_add_test(tc, a_disk_with_too_long_a_name_or_too_few_numbers_is_left_out);
	tcase_add_test(tc, interfaces_are_found_even_when_a_number_touches_the_colon);
	tcase_add_test(tc, an_interface_line_without_name_or_numbers_is_left_out);
	tcase_add_test(tc, the_one_who_takes_items_can_end_it);
	tcase_add_test(tc, a_process_is_read_whatever_its_name);
	tcase_add_test(tc, a_process_line_cut_anywhere_is_refused_or_whole);
	tcase_add_test(tc, memory_is_read_from_status);
	tcase_add_test(tc, a_thread_without_memory_is_not_a_process_of_zero_bytes);
	tcase_add_test(tc, a_number_file_may_be_negative);
	tcase_add_test(tc, damaged_text_is_read_without_harm);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
