/* SPDX-License-Identifier: Apache-2.0 */
/* Names of events that can be sampled, and the periods that come of them. */
#include <check.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "collect/cpu_encode.h"
#include "collect/perf_event_spec.h"

START_TEST(every_name_is_found_and_means_one_event)
{
	struct perf_event_spec a, b;
	size_t n = 0;

	for (const char *name; (name = perf_event_name(n)); n++) {
		ck_assert_int_eq(perf_event_parse(name, &a), 0);
		ck_assert_str_eq(a.name, name);
		ck_assert(a.type == PERF_TYPE_SOFTWARE || a.type == PERF_TYPE_HARDWARE);
		ck_assert_int_ge(a.unit, 1);
		for (size_t i = 0; i < n; i++) {
			ck_assert_int_eq(perf_event_parse(perf_event_name(i), &b), 0);
			ck_assert(a.type != b.type || a.config != b.config);
		}
	}
	ck_assert_uint_gt(n, 10);
	ck_assert_ptr_null(perf_event_name(SIZE_MAX));
}
END_TEST

START_TEST(a_tracepoint_is_a_system_and_a_name)
{
	static const char *const bad[] = { ":",		  "sched:", ":x",	    "a:b:c",
					   "sched:../id", "a b:c",  "page-faults:u" };
	struct perf_event_spec spec;

	ck_assert_int_eq(perf_event_parse("sched:sched_switch", &spec), 0);
	ck_assert_uint_eq(spec.type, PERF_TYPE_TRACEPOINT);
	ck_assert_uint_eq(spec.default_period, 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(perf_event_parse(bad[i], &spec) == -ENOENT, "%s", bad[i]);
}
END_TEST

START_TEST(a_period_may_follow_the_event)
{
	struct trace_config config = { .freq_hz = 999, .n_more_events = 2 };
	struct cpu_sampling s;

	strcpy(config.event, "page-faults@100");
	strcpy(config.more_events[0], "sched:sched_switch@7");
	strcpy(config.more_events[1], "page-faults@0");
	ck_assert_uint_eq(cpu_sampling_count(&config), 3);
	ck_assert_int_eq(cpu_sampling_plan(&config, 0, &s), 0);
	ck_assert_uint_eq(s.period, 100);
	ck_assert_str_eq(s.event, "page-faults");
	ck_assert_str_eq(s.name, "page-faults every 100");
	ck_assert_int_eq(cpu_sampling_plan(&config, 1, &s), 0);
	ck_assert_uint_eq(s.period, 7);
	ck_assert_str_eq(s.event, "sched:sched_switch");
	ck_assert_int_eq(cpu_sampling_plan(&config, 2, &s), -ERANGE);
}
END_TEST

START_TEST(a_raw_event_is_an_r_and_hex_digits)
{
	static const char *const bad[] = { "",	   "r",	  "cpu", "cycles:u", "rxyz",
					   "r12g", "r 1", "r-1", "R12",	     "r12345678901234567" };
	struct perf_event_spec spec;

	ck_assert_int_eq(perf_event_parse("r1c2", &spec), 0);
	ck_assert_uint_eq(spec.type, PERF_TYPE_RAW);
	ck_assert_uint_eq(spec.config, 0x1c2);
	ck_assert_int_eq(perf_event_parse("rffffffffffffffff", &spec), 0);
	ck_assert(spec.config == UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(perf_event_parse(bad[i], &spec) == -ENOENT, "%s", bad[i]);
}
END_TEST

static uint64_t period(const char *name, uint32_t freq_hz, uint64_t cpu_hz)
{
	struct perf_event_spec spec;

	ck_assert_int_eq(perf_event_parse(name, &spec), 0);
	return perf_event_period(&spec, freq_hz, cpu_hz);
}

START_TEST(a_frequency_becomes_a_fixed_period)
{
	ck_assert_uint_eq(period("cpu-clock", 999, 0), 1001001);
	ck_assert_uint_eq(period("cpu-clock", 1, 0), 1000000000);
	ck_assert_uint_eq(period("cycles", 1000, 3000000000ull), 3000000);
	ck_assert_uint_eq(period("page-faults", 999, 3000000000ull), 1);
	ck_assert_uint_eq(period("cache-misses", 999, 3000000000ull), 10007);
	ck_assert_uint_eq(period("r1", 999, 3000000000ull), 100003);
}
END_TEST

START_TEST(no_event_is_sampled_at_every_cycle_for_want_of_knowledge)
{
	ck_assert_uint_ge(period("cycles", 999, 0), 100000);
	ck_assert_uint_ge(period("instructions", 999, 0), 100000);
	ck_assert_uint_ge(period("ref-cycles", 0, 0), 1);
	for (size_t i = 0; perf_event_name(i); i++)
		ck_assert_uint_ge(period(perf_event_name(i), UINT32_MAX, 1), 1);
}
END_TEST

static struct cpu_sampling plan(const char *event, uint32_t freq_hz, uint64_t p)
{
	struct trace_config config = { .freq_hz = freq_hz, .period = p };
	struct cpu_sampling s;

	strcpy(config.event, event);
	ck_assert_int_eq(cpu_sampling_plan(&config, 0, &s), 0);
	return s;
}

START_TEST(a_plan_says_what_is_really_sampled)
{
	struct trace_config config = { .freq_hz = 999, .event = "nonsense" };
	struct cpu_sampling s = plan("cpu-clock", 999, 0);

	ck_assert_uint_eq(s.period, 1001001);
	ck_assert_str_eq(s.name, "cpu-clock 999 Hz");
	s = plan("page-faults", 999, 0);
	ck_assert_uint_eq(s.period, 1);
	ck_assert_str_eq(s.name, "page-faults every 1");
	s = plan("page-faults", 999, 77);
	ck_assert_str_eq(s.name, "page-faults every 77");
	/* The kernel's timer is not faster than that, whatever is asked for. */
	s = plan("cpu-clock", 999, 1);
	ck_assert_uint_eq(s.period, 10000);
	ck_assert_str_eq(s.name, "cpu-clock every 10000");
	s = plan("cpu-clock", 100000, 0);
	ck_assert_uint_eq(s.period, 10000);
	ck_assert_int_eq(cpu_sampling_plan(&config, 0, &s), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("perf_event_spec");
	TCase *tc = tcase_create("perf_event_spec");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, every_name_is_found_and_means_one_event);
	tcase_add_test(tc, a_tracepoint_is_a_system_and_a_name);
	tcase_add_test(tc, a_period_may_follow_the_event);
	tcase_add_test(tc, a_raw_event_is_an_r_and_hex_digits);
	tcase_add_test(tc, a_frequency_becomes_a_fixed_period);
	tcase_add_test(tc, no_event_is_sampled_at_every_cycle_for_want_of_knowledge);
	tcase_add_test(tc, a_plan_says_what_is_really_sampled);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
