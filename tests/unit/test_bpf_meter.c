/* SPDX-License-Identifier: Apache-2.0 */
/* What BPF programs cost, of which the kernel measures a part. */
#include <check.h>
#include <stdlib.h>

#include "bpf_meter.h"

#define MS 1000000ull

static struct bpf_meter meter;
static struct bpf_cost kernel; /* what it has measured */

static void set_up(void)
{
	meter = (struct bpf_meter){ 0 };
	kernel = (struct bpf_cost){ 0 };
}

static void run(uint64_t runs, uint64_t ns, uint64_t unsampled_ns)
{
	kernel.runs += runs;
	kernel.ns += ns;
	kernel.unsampled_ns += unsampled_ns;
}

static void expect(uint64_t now_ns, uint64_t runs, uint64_t ns, uint64_t unsampled_ns)
{
	struct bpf_cost cost = bpf_meter_read(&meter, &kernel, now_ns);

	ck_assert_uint_eq(cost.runs, runs);
	ck_assert_uint_eq(cost.ns, ns);
	ck_assert_uint_eq(cost.unsampled_ns, unsampled_ns);
}

START_TEST(what_is_measured_counts_at_once)
{
	bpf_meter_open(&meter, &kernel, 0);
	run(10, 5000, 1000);
	expect(1, 10, 5000, 1000);
}
END_TEST

START_TEST(what_is_not_measured_goes_on_at_the_last_pace)
{
	bpf_meter_open(&meter, &kernel, 0);
	run(10, 5000, 1000);
	bpf_meter_close(&meter, &kernel, 50 * MS);
	expect(50 * MS, 10, 5000, 1000);
	expect(100 * MS, 20, 10000, 2000);
	bpf_meter_open(&meter, &kernel, 400 * MS);
	expect(400 * MS, 80, 40000, 8000);
	/* All is quiet now. */
	bpf_meter_close(&meter, &kernel, 450 * MS);
	expect(450 * MS, 80, 40000, 8000);
	expect(800 * MS, 80, 40000, 8000);
}
END_TEST

START_TEST(it_never_goes_back)
{
	uint64_t last = 0;

	for (unsigned i = 0; i < 1000; i++) {
		uint64_t now_ns = i * 7 * MS;
		struct bpf_cost cost;

		if (i % 40 == 0)
			bpf_meter_open(&meter, &kernel, now_ns);
		if (meter.is_open)
			run(1, (uint64_t)rand() % 10000, 0);
		if (i % 40 == 7)
			bpf_meter_close(&meter, &kernel, now_ns);
		cost = bpf_meter_read(&meter, &kernel, now_ns);
		ck_assert_uint_ge(cost.ns, last);
		last = cost.ns;
	}
	ck_assert_uint_gt(last, 2 * kernel.ns);
}
END_TEST

START_TEST(a_window_without_time_tells_nothing_of_what_follows)
{
	bpf_meter_open(&meter, &kernel, 5);
	run(3, 900, 0);
	bpf_meter_close(&meter, &kernel, 5);
	expect(1000 * MS, 3, 900, 0);
}
END_TEST

START_TEST(opened_twice_it_goes_on)
{
	bpf_meter_open(&meter, &kernel, 0);
	run(1, 100, 0);
	bpf_meter_open(&meter, &kernel, 10);
	run(1, 100, 0);
	expect(20, 2, 200, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bpf_meter");
	TCase *tc = tcase_create("meter");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, set_up, NULL);
	tcase_add_test(tc, what_is_measured_counts_at_once);
	tcase_add_test(tc, what_is_not_measured_goes_on_at_the_last_pace);
	tcase_add_test(tc, it_never_goes_back);
	tcase_add_test(tc, a_window_without_time_tells_nothing_of_what_follows);
	tcase_add_test(tc, opened_twice_it_goes_on);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
