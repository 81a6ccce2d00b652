/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel half of a probe is told, which files are meant, and when it is too much. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/probe_attach.h"
#include "collect/probe_limit.h"
#include "collect/probe_places.h"

START_TEST(a_name_means_files_that_go_on_with_a_version)
{
	ck_assert(probe_name_means("libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6"));
	ck_assert(probe_name_means("libsqlite3.so.0", "/usr/lib/libsqlite3.so.0.8.6"));
	ck_assert(probe_name_means("libc", "libc.so.6"));
	ck_assert(probe_name_means("node", "/usr/bin/node"));
	ck_assert(!probe_name_means("libc.so.6", "/usr/lib/libc.so.61"));
	ck_assert(!probe_name_means("libc", "/usr/lib/libcrypt.so.1"));
	ck_assert(!probe_name_means("libc.so.6", "/usr/lib/libc.so"));
	ck_assert(!probe_name_means("node", "/opt/node/bin"));
}
END_TEST

START_TEST(a_name_may_be_a_glob)
{
	const char *python = "@(python3.*|libpython3.*.so*)";

	ck_assert(probe_name_means(python, "/usr/bin/python3.11"));
	ck_assert(probe_name_means(python, "/usr/lib/libpython3.11.so.1.0"));
	ck_assert(!probe_name_means(python, "/usr/bin/perl"));
	ck_assert(probe_name_means("libssl.so*", "/x/libssl.so.3"));
	ck_assert(!probe_name_means("libssl.so", "/x/libgnutls.so.30"));
}
END_TEST

static struct probe_code code_with(enum probes_op op)
{
	struct probe_code code;

	memset(&code, 0, sizeof(code));
	code.insns[0].op = (uint8_t)op;
	code.insns[1].op = PROBES_END;
	code.n = 2;
	strcpy(code.texts[0], "text");
	return code;
}

START_TEST(a_place_has_what_the_probe_says)
{
	struct probe_code code = code_with(PROBES_FILTER);
	struct probe p = { .id = 5 };
	struct probes_place place;

	probe_place_fill(&p, PROBES_SINGLE, &code, &place);
	ck_assert_uint_eq(place.probe, 5);
	ck_assert_uint_eq(place.point, PROBES_SINGLE);
	ck_assert_uint_eq(place.flags, PROBES_FILTERS);
	ck_assert_uint_eq(place.interval_ns, 0);
	ck_assert_uint_eq(place.insns[1].op, PROBES_END);
	ck_assert_str_eq(place.texts[0], "text");
	strcpy(p.def.key, "arg0");
	code = code_with(PROBES_KEY);
	probe_place_fill(&p, PROBES_SINGLE, &code, &place);
	ck_assert_uint_eq(place.flags, PROBES_KEYED);
}
END_TEST

START_TEST(an_end_follows_its_begin_if_that_may_be_left_out)
{
	struct probe_code code = code_with(PROBES_EMIT);
	struct probe p = { .id = 5, .def = { .has_end = true } };
	struct probes_place place;

	probe_place_fill(&p, PROBES_FINISH, &code, &place);
	ck_assert_uint_eq(place.flags, 0);
	strcpy(p.def.condition, "arg0");
	probe_place_fill(&p, PROBES_FINISH, &code, &place);
	ck_assert_uint_eq(place.flags, PROBES_PAIRS);
	p.def.condition[0] = '\0';
	p.def.rate = 1000;
	probe_place_fill(&p, PROBES_FINISH, &code, &place);
	ck_assert_uint_eq(place.flags, PROBES_PAIRS);
	ck_assert_uint_eq(place.interval_ns, 0); /* the begins are limited */
	probe_place_fill(&p, PROBES_BEGIN, &code, &place);
	ck_assert_uint_eq(place.interval_ns, NS_PER_MS);
	ck_assert_uint_eq(place.ahead_ns, 100 * NS_PER_MS);
}
END_TEST

START_TEST(a_rate_of_less_than_ten_has_none_ahead)
{
	struct probe_code code = code_with(PROBES_EMIT);
	struct probe p = { .id = 5, .def = { .rate = 2 } };
	struct probes_place place;

	probe_place_fill(&p, PROBES_SINGLE, &code, &place);
	ck_assert_uint_eq(place.interval_ns, 500 * NS_PER_MS);
	ck_assert_uint_eq(place.ahead_ns, 0);
}
END_TEST

/* How long of `seconds` it was there, when there it is hit so often. */
static double share_there(uint64_t per_second, uint64_t cost_ns, unsigned seconds)
{
	const uint64_t step_ns = 50 * NS_PER_MS;
	uint64_t now_ns = NS_PER_SEC, n = 0, there_ns = 0;
	struct probe_limit l = { 0 };

	for (unsigned i = 0; i < seconds * 20; i++, now_ns += step_ns) {
		probe_limit_update(&l, n, cost_ns, now_ns);
		if (l.is_over)
			continue;
		there_ns += step_ns;
		n += per_second * step_ns / NS_PER_SEC;
	}
	return (double)there_ns / ((double)seconds * 1e9);
}

START_TEST(what_costs_little_stays)
{
	ck_assert(share_there(10000, 1000, 60) == 1);  /* 1 % */
	ck_assert(share_there(200000, 1000, 60) == 1); /* 20 % */
	ck_assert(share_there(0, 60000, 60) == 1);
}
END_TEST

START_TEST(what_costs_too_much_is_there_for_its_share)
{
	/* A CPU and a half, of which a quarter may be. */
	double share = share_there(1500000, 1000, 600);

	ck_assert(share > 0.15 && share < 0.18);
	/* Sixteen CPUs. */
	share = share_there(16000000, 1000, 6000);
	ck_assert(share > 0.013 && share < 0.018);
}
END_TEST

START_TEST(a_burst_is_forgiven)
{
	struct probe_limit l = { 0 };

	probe_limit_update(&l, 0, 1000, NS_PER_SEC);
	probe_limit_update(&l, 150000, 1000, 2 * NS_PER_SEC); /* 150 ms in a second */
	ck_assert(!l.is_over);
	probe_limit_update(&l, 600000, 1000, 3 * NS_PER_SEC); /* 450 ms */
	ck_assert(!l.is_over);
	probe_limit_update(&l, 1600000, 1000, 4 * NS_PER_SEC); /* all of it */
	ck_assert(l.is_over);
	/* Places that are gone are not counted any more. */
	probe_limit_update(&l, 10, 1000, 9 * NS_PER_SEC);
	ck_assert(!l.is_over);
	/* A number that makes no sense is no reason to be away for years. */
	probe_limit_update(&l, UINT64_MAX, 1ull << 40, 10 * NS_PER_SEC);
	ck_assert(l.is_over && l.debt_ns > 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("probe_places");
	TCase *tc = tcase_create("places");
	SRunner *runner = srunner_create(suite);
	int n_failed;

	tcase_add_test(tc, a_name_means_files_that_go_on_with_a_version);
	tcase_add_test(tc, a_name_may_be_a_glob);
	tcase_add_test(tc, a_place_has_what_the_probe_says);
	tcase_add_test(tc, an_end_follows_its_begin_if_that_may_be_left_out);
	tcase_add_test(tc, a_rate_of_less_than_ten_has_none_ahead);
	tcase_add_test(tc, what_costs_little_stays);
	tcase_add_test(tc, what_costs_too_much_is_there_for_its_share);
	tcase_add_test(tc, a_burst_is_forgiven);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
