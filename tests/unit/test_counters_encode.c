/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the counters collector, and what becomes of them in a trace. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/counters_encode.h"
#include "collect/counters_events.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "written_trace.h"

#define T0 (100 * NS_PER_SEC)

static struct written w;
static struct trace_config config = { .counters_interval_ms = 1000 };
static struct process_table *processes;
static void *encoder;
static uint64_t n_encoded;

static void set_up(void)
{
	struct encoder_env env = { .config = &config, .start_ns = T0 };

	config.counters_interval_ms = 1000;
	n_encoded = 0;
	written_open(&w);
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	trace_writer_source(w.writer, WRITTEN_SOURCE, T0);
	env.writer = w.writer;
	env.processes = processes;
	ck_assert_int_eq(counters_encoder_new(&env, &encoder), 0);
}

static void tear_down(void)
{
	counters_encoder_free(encoder);
	process_table_free(processes);
	written_done(&w);
}

static void encode(struct counters_record *rec, unsigned type, size_t n, uint64_t time_ns)
{
	size_t len = counters_record_size(type, n);

	rec->n = (uint32_t)n;
	rec->hdr.type = (uint16_t)type;
	rec->hdr.size = (uint16_t)len;
	rec->hdr.time_ns = time_ns;
	ck_assert(counters_valid(&rec->hdr, len));
	ck_assert_int_eq(counters_encode(encoder, &rec->hdr), 0);
	n_encoded++;
}

/* All packets written; and each event is accounted for. */
static void finish(void)
{
	written_read(&w);
	written_assert_account(&w, n_encoded);
}

static const TrackDescriptor *track_named(const char *name)
{
	return written_track_named(&w, name, WRITTEN_ANYWHERE);
}

/* The values of a counter track in the order of the file. */
static size_t values_of(const char *name, int64_t values[16], uint64_t times[16])
{
	const TrackDescriptor *d = track_named(name);
	size_t n = 0;

	ck_assert_ptr_nonnull(d);
	for (size_t i = 0; i < w.n; i++) {
		const TrackEvent *te = w.packets[i]->track_event;

		if (!te || te->track_uuid != d->uuid)
			continue;
		ck_assert_uint_lt(n, 16);
		ck_assert(te->has_counter_value);
		times[n] = w.packets[i]->timestamp;
		values[n++] = te->counter_value;
	}
	return n;
}

static void encode_iface(const char *name, uint64_t rx, uint64_t tx, uint64_t time_ns)
{
	static struct counters_record rec;

	memset(&rec, 0, sizeof(rec));
	strcpy(rec.items.ifaces[0].name, name);
	rec.items.ifaces[0].rx_bytes = rx;
	rec.items.ifaces[0].tx_bytes = tx;
	encode(&rec, COUNTERS_IFACES, 1, time_ns);
}

START_TEST(the_machines_values_become_one_packet)
{
	static struct counters_record rec;
	const SysStats *s = NULL;

	memset(&rec, 0, sizeof(rec));
	rec.items.values[0] = (struct counters_value){ COUNTERS_MEMINFO, 1, 0, 1000 };
	rec.items.values[1] = (struct counters_value){ COUNTERS_MEMINFO, 2, 0, 400 };
	rec.items.values[2] = (struct counters_value){ COUNTERS_VMSTAT, 49, 0, 7 };
	rec.items.values[3] = (struct counters_value){ COUNTERS_PSI, 6, 0, 8000 };
	rec.items.values[4] = (struct counters_value){ COUNTERS_FORKS, 0, 0, 9 };
	rec.items.values[5] = (struct counters_value){ COUNTERS_IRQS, 0, 0, 10 };
	rec.items.values[6] = (struct counters_value){ COUNTERS_SOFTIRQS, 0, 0, 11 };
	encode(&rec, COUNTERS_SYSTEM, 7, T0);
	finish();
	for (size_t i = 0; i < w.n; i++) {
		if (!w.packets[i]->sys_stats)
			continue;
		ck_assert_ptr_null(s);
		s = w.packets[i]->sys_stats;
		ck_assert_uint_eq(w.packets[i]->timestamp, T0);
	}
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->n_meminfo, 2);
	ck_assert_int_eq(s->meminfo[1]->key, 2);
	ck_assert_uint_eq(s->meminfo[1]->value, 400);
	ck_assert_uint_eq(s->n_vmstat, 1);
	ck_assert_int_eq(s->vmstat[0]->key, 49);
	ck_assert_uint_eq(s->n_psi, 1);
	ck_assert_int_eq(s->psi[0]->resource, 6);
	ck_assert_uint_eq(s->psi[0]->total_ns, 8000);
	ck_assert_uint_eq(s->num_forks, 9);
	ck_assert_uint_eq(s->num_irq_total, 10);
	ck_assert_uint_eq(s->num_softirq_total, 11);
}
END_TEST

START_TEST(what_is_always_zero_is_left_out_until_it_is_not)
{
	static struct counters_record rec;
	static const uint64_t swap_kb[] = { 0, 0, 5, 0 };
	size_t n_swap[4] = { 0 }, n = 0;

	memset(&rec, 0, sizeof(rec));
	for (uint64_t i = 0; i < 4; i++) {
		rec.items.values[0] = (struct counters_value){ COUNTERS_MEMINFO, 6, 0, swap_kb[i] };
		rec.items.values[1] = (struct counters_value){ COUNTERS_VMSTAT, 41, 0, swap_kb[i] };
		rec.items.values[2] = (struct counters_value){ COUNTERS_PSI, 2, 0, 0 };
		encode(&rec, COUNTERS_SYSTEM, 3, T0 + i * NS_PER_SEC);
	}
	finish();
	for (size_t i = 0; i < w.n; i++) {
		const SysStats *s = w.packets[i]->sys_stats;

		if (!s)
			continue;
		ck_assert_uint_lt(n, 4);
		ck_assert_uint_eq(s->n_meminfo, s->n_vmstat);
		ck_assert_uint_eq(s->n_psi, 1);
		n_swap[n++] = s->n_meminfo;
	}
	ck_assert_uint_eq(n, 4);
	ck_assert_uint_eq(n_swap[0] + n_swap[1], 0);
	ck_assert_uint_eq(n_swap[2] + n_swap[3], 2);
}
END_TEST

START_TEST(cpus_and_disks_keep_their_numbers_and_names)
{
	static struct counters_record rec;
	bool cpus = false, disks = false, freqs = false;

	memset(&rec, 0, sizeof(rec));
	rec.items.cpus[0].cpu = 5;
	for (int i = 0; i < N_CPU_TIMES; i++)
		rec.items.cpus[0].times[i] = 100 + (uint64_t)i;
	encode(&rec, COUNTERS_CPUS, 1, T0);
	memset(&rec, 0, sizeof(rec));
	/* a name that is not UTF-8 */
	strcpy(rec.items.disks[0].name, "sd\xff");
	rec.items.disks[0].write_ms = 4;
	encode(&rec, COUNTERS_DISKS, 1, T0);
	memset(&rec, 0, sizeof(rec));
	rec.items.khz[1] = 2400000;
	encode(&rec, COUNTERS_CPUFREQ, 2, T0);
	finish();
	for (size_t i = 0; i < w.n; i++) {
		const SysStats *s = w.packets[i]->sys_stats;

		if (s && s->n_cpu_stat) {
			cpus = true;
			ck_assert_uint_eq(s->cpu_stat[0]->cpu_id, 5);
			ck_assert_uint_eq(s->cpu_stat[0]->user_ns, 100);
			ck_assert_uint_eq(s->cpu_stat[0]->steal_ns, 107);
		}
		if (s && s->n_disk_stat) {
			disks = true;
			ck_assert_str_eq(s->disk_stat[0]->device_name, "sd\xef\xbf\xbd");
			ck_assert_uint_eq(s->disk_stat[0]->write_time_ms, 4);
		}
		if (s && s->n_cpufreq_khz) {
			freqs = true;
			ck_assert_uint_eq(s->n_cpufreq_khz, 2);
			ck_assert_uint_eq(s->cpufreq_khz[1], 2400000);
		}
	}
	ck_assert(cpus && disks && freqs);
}
END_TEST

static void add_process(uint32_t tgid, uint64_t start_ns)
{
	struct task_info task = { .tid = tgid, .tgid = tgid, .parent_tgid = 1 };

	task.start_ns = task.process_start_ns = start_ns;
	process_table_fork(processes, &task);
}

START_TEST(only_processes_that_live_at_that_time_are_written)
{
	static struct counters_record rec;
	const ProcessStats *s = NULL;

	add_process(10, T0 - 5);
	add_process(20, T0 - 5);
	process_table_free_task(processes, 20, T0 - 5, T0 - 1); /* ended before */
	add_process(30, T0 + 1);				/* begins after */
	add_process(40, T0 - 5);
	process_table_free_task(processes, 40, T0 - 5, T0 + 1); /* ended since */
	memset(&rec, 0, sizeof(rec));
	for (uint32_t i = 0; i < 5; i++) {
		rec.items.processes[i].tgid = 10 * (i + 1); /* 50 is unknown */
		rec.items.processes[i].rss_kb = 1000 + i;
		rec.items.processes[i].oom_score_adj = -17;
	}
	encode(&rec, COUNTERS_PROCESSES, 5, T0);
	finish();
	for (size_t i = 0; i < w.n; i++)
		if (w.packets[i]->process_stats)
			s = w.packets[i]->process_stats;
	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(s->n_processes, 2);
	ck_assert_int_eq(s->processes[0]->pid, 10);
	ck_assert_uint_eq(s->processes[0]->vm_rss_kb, 1000);
	ck_assert_int_eq(s->processes[0]->oom_score_adj, -17);
	ck_assert_int_eq(s->processes[1]->pid, 40);
}
END_TEST

START_TEST(a_record_of_unknown_processes_only_is_accounted_for)
{
	static struct counters_record rec;

	memset(&rec, 0, sizeof(rec));
	rec.items.processes[0].tgid = 99;
	encode(&rec, COUNTERS_PROCESSES, 1, T0);
	finish();
	for (size_t i = 0; i < w.n; i++)
		ck_assert_ptr_null(w.packets[i]->process_stats);
}
END_TEST

START_TEST(traffic_is_written_as_a_rate)
{
	int64_t values[16];
	uint64_t times[16];

	encode_iface("eth0", 1000, 500, T0);
	encode_iface("eth0", 3000, 500, T0 + NS_PER_SEC);
	encode_iface("eth0", 3000, 1500, T0 + 3 * NS_PER_SEC);
	finish();
	ck_assert_str_eq(track_named("eth0 received")->counter->unit_name, "bytes/s");
	ck_assert_uint_eq(track_named("eth0 received")->parent_uuid,
			  track_named("Network interfaces")->uuid);
	ck_assert_uint_eq(values_of("eth0 received", values, times), 2);
	ck_assert_int_eq(values[0], 2000);
	ck_assert_uint_eq(times[0], T0 + NS_PER_SEC);
	ck_assert_int_eq(values[1], 0);
	ck_assert_uint_eq(values_of("eth0 sent", values, times), 2);
	ck_assert_int_eq(values[0], 0);
	ck_assert_int_eq(values[1], 500);
}
END_TEST

START_TEST(an_idle_interface_has_no_track)
{
	encode_iface("dummy0", 1000, 500, T0);
	encode_iface("dummy0", 1000, 500, T0 + NS_PER_SEC);
	finish();
	ck_assert_ptr_null(track_named("dummy0 received"));
	ck_assert_ptr_null(track_named("Network interfaces"));
}
END_TEST

START_TEST(a_counter_that_began_anew_is_no_burst)
{
	int64_t values[16];
	uint64_t times[16];

	encode_iface("eth0", 1000, 0, T0);
	encode_iface("eth0", 2000, 0, T0 + NS_PER_SEC);
	encode_iface("eth0", 10, 0, T0 + 2 * NS_PER_SEC);
	encode_iface("eth0", 110, 0, T0 + 3 * NS_PER_SEC);
	finish();
	ck_assert_uint_eq(values_of("eth0 received", values, times), 3);
	ck_assert_int_eq(values[1], 0);
	ck_assert_int_eq(values[2], 100);
}
END_TEST

START_TEST(an_interface_that_goes_away_ends_at_zero)
{
	int64_t values[16];
	uint64_t times[16];

	encode_iface("veth1", 1000, 0, T0);
	encode_iface("veth1", 2000, 0, T0 + NS_PER_SEC);
	encode_iface("eth0", 5, 5, T0 + 2 * NS_PER_SEC);
	encode_iface("eth0", 5, 5, T0 + 3 * NS_PER_SEC);
	finish();
	ck_assert_uint_eq(values_of("veth1 received", values, times), 2);
	ck_assert_int_eq(values[1], 0);
	ck_assert_uint_eq(times[1], T0 + 3 * NS_PER_SEC);
}
END_TEST

static size_t n_sys_stats(void)
{
	size_t n = 0;

	for (size_t i = 0; i < w.n; i++)
		n += w.packets[i]->sys_stats != NULL;
	return n;
}

/* Another session wants it ten times as often: this one keeps its own interval. */
START_TEST(a_session_takes_only_the_polls_of_its_own_interval)
{
	static struct counters_record rec;

	memset(&rec, 0, sizeof(rec));
	rec.items.values[0] = (struct counters_value){ COUNTERS_FORKS, 0, 0, 9 };
	for (uint64_t i = 0; i < 50; i++)
		encode(&rec, COUNTERS_SYSTEM, 1, T0 + i * NS_PER_SEC / 10);
	finish();
	ck_assert_uint_ge(n_sys_stats(), 5);
	ck_assert_uint_le(n_sys_stats(), 6);
}
END_TEST

START_TEST(a_poll_that_comes_a_little_early_or_late_is_taken)
{
	static struct counters_record rec;
	static const int jitter_ms[] = { 0, -100, 200, -200, 30, 240, 0, -240, 10, 0 };

	memset(&rec, 0, sizeof(rec));
	rec.items.values[0] = (struct counters_value){ COUNTERS_FORKS, 0, 0, 9 };
	for (int i = 0; i < 10; i++)
		encode(&rec, COUNTERS_SYSTEM, 1,
		       T0 + (uint64_t)(i * 1000 + jitter_ms[i]) * NS_PER_MS);
	finish();
	ck_assert_uint_eq(n_sys_stats(), 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("counters_encode");
	TCase *tc = tcase_create("packets");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_machines_values_become_one_packet);
	tcase_add_test(tc, what_is_always_zero_is_left_out_until_it_is_not);
	tcase_add_test(tc, cpus_and_disks_keep_their_numbers_and_names);
	tcase_add_test(tc, only_processes_that_live_at_that_time_are_written);
	tcase_add_test(tc, a_record_of_unknown_processes_only_is_accounted_for);
	tcase_add_test(tc, traffic_is_written_as_a_rate);
	tcase_add_test(tc, an_idle_interface_has_no_track);
	tcase_add_test(tc, a_counter_that_began_anew_is_no_burst);
	tcase_add_test(tc, an_interface_that_goes_away_ends_at_zero);
	tcase_add_test(tc, a_session_takes_only_the_polls_of_its_own_interval);
	tcase_add_test(tc, a_poll_that_comes_a_little_early_or_late_is_taken);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
