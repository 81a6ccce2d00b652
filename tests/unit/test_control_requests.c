/* SPDX-License-Identifier: Apache-2.0 */
/* What a request to record becomes: defaults, and every bound. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "control_requests.h"
#include "gpu/gpu_api_table.h"
#include "trace_config.h"

static StartRequest req;
static struct trace_config config;
static char why[WHY_LEN];

static void set_up(void)
{
	req = (StartRequest)START_REQUEST__INIT;
	why[0] = '\0';
}

static void tear_down(void)
{
}

static void assert_taken(void)
{
	ck_assert_msg(control_requests_config(&req, &config, why, sizeof(why)) == 0, "%s", why);
	free(config.command_line);
}

static void assert_refused(const char *reason)
{
	why[0] = '\0';
	ck_assert_int_eq(control_requests_config(&req, &config, why, sizeof(why)), -EINVAL);
	ck_assert_msg(strstr(why, reason) != NULL, "'%s' without '%s'", why, reason);
	ck_assert_ptr_null(config.command_line);
}

static uint32_t bit(const char *name)
{
	return 1u << collector_index(collector_by_name(name));
}

START_TEST(an_empty_request_means_the_defaults)
{
	uint32_t all = 0;

	for (unsigned i = 0; collectors[i]; i++)
		all |= collectors[i]->on_demand ? 0 : 1u << i;
	ck_assert_int_eq(control_requests_config(&req, &config, why, sizeof(why)), 0);
	ck_assert_uint_eq(config.sources, all);
	ck_assert_str_eq(config.event, "cpu-clock");
	ck_assert_uint_eq(config.freq_hz, 999);
	ck_assert_uint_eq(config.period, 0);
	ck_assert_uint_eq(config.counters_interval_ms, 1000);
	ck_assert_uint_eq(config.offcpu_min_ns, 1000000);
	ck_assert_uint_eq(config.n_pids, 0);
	ck_assert_str_eq(config.comm_glob, "");
	ck_assert(!config.has_cgroup && !config.has_uid);
	ck_assert_ptr_null(config.command_line);
}
END_TEST

START_TEST(sources_are_chosen_by_name_or_left_out)
{
	char *some[] = { (char *)"cpu", (char *)"sched", (char *)"cpu" };
	char *bad[] = { (char *)"no\x1bsuch" };
	uint32_t all;

	assert_taken();
	all = config.sources;
	req.sources = some;
	req.n_sources = 3;
	assert_taken();
	ck_assert_uint_eq(config.sources, bit("cpu") | bit("sched"));
	req.without = some;
	req.n_without = 1;
	assert_taken();
	ck_assert_uint_eq(config.sources, bit("sched"));
	req.n_sources = 0;
	assert_taken();
	ck_assert_uint_eq(config.sources, all & ~bit("cpu"));
	req.without = bad;
	assert_refused("there is no source");
	req.n_without = 0;
	req.sources = bad;
	req.n_sources = 1;
	assert_refused("there is no source");
}
END_TEST

START_TEST(gpu_apis_come_beside_the_others)
{
	char *one[] = { (char *)"sched" };
	uint32_t defaults;

	assert_taken();
	defaults = config.sources;
	ck_assert(!(defaults & bit("gpu-api")));
	ck_assert_uint_eq(config.gpu_api_classes, GPU_API_DEFAULT_CLASSES);
	req.gpu_api = (char *)"launch,draw";
	assert_taken();
	ck_assert_uint_eq(config.sources, defaults | bit("gpu-api"));
	ck_assert_uint_eq(config.gpu_api_classes, 1u << GPU_LAUNCH | 1u << GPU_DRAW);
	req.sources = one;
	req.n_sources = 1;
	assert_taken();
	ck_assert_uint_eq(config.sources, bit("sched") | bit("gpu-api"));
	req.gpu_api = (char *)"launch,nothing";
	assert_refused("launch, submit");
}
END_TEST

START_TEST(the_network_is_a_waterfall_without_secrets)
{
	assert_taken();
	ck_assert_int_eq(config.net_level, NET_WATERFALL);
	ck_assert_int_eq(config.net_query, NET_QUERY_HIDE);
	ck_assert(!config.net_hash_names);
	ck_assert_uint_eq(config.n_plaintext, 0);
	ck_assert(!(config.sources & bit("syscalls")));
}
END_TEST

START_TEST(levels_of_the_network)
{
	char *one[] = { (char *)"sched" };

	req.sources = one;
	req.n_sources = 1;
	req.net = (char *)"health";
	assert_taken();
	ck_assert_int_eq(config.net_level, NET_HEALTH);
	ck_assert_uint_eq(config.sources, bit("sched") | bit("net"));
	req.net = (char *)"waterfall";
	assert_taken();
	ck_assert_int_eq(config.net_level, NET_WATERFALL);
	ck_assert_uint_eq(config.sources, bit("sched") | bit("net"));
	req.net = (char *)"syscalls";
	assert_taken();
	ck_assert_int_eq(config.net_level, NET_SYSCALLS);
	ck_assert_uint_eq(config.sources, bit("sched") | bit("net") | bit("syscalls"));
	req.net = (char *)"all";
	assert_refused("health, waterfall, syscalls");
}
END_TEST

START_TEST(privacy_is_chosen_by_words)
{
	static const char *const words[] = { "hide", "keep", "keys", "drop" };
	char *one[] = { (char *)"sched" };

	req.sources = one;
	req.n_sources = 1;
	for (int i = 0; i < 4; i++) {
		req.query = (char *)words[i];
		assert_taken();
		ck_assert_int_eq(config.net_query, i);
		ck_assert_uint_eq(config.sources, bit("sched") | bit("net"));
	}
	req.query = (char *)"";
	assert_refused("hide, keep, keys, drop");
	req.query = NULL;
	req.names = (char *)"plain";
	assert_taken();
	ck_assert(!config.net_hash_names);
	req.names = (char *)"hash";
	assert_taken();
	ck_assert(config.net_hash_names);
	ck_assert_uint_eq(config.sources, bit("sched") | bit("net"));
	req.names = (char *)"none";
	assert_refused("plain or hash");
}
END_TEST

START_TEST(whose_tls_is_read_is_named)
{
	static const char *const bad[] = { "",	     "1234",	       "pid:",	"pid:0",
					   "pid:-1", "pid:2147483648", "comm:", "lib:",
					   "lib:/",  "lib:libssl.so.3" };
	char *good[] = { (char *)"pid:1234", (char *)"comm:nginx*",
			 (char *)"lib:/usr/lib/libssl.so.3" };
	char *many[9], *one[] = { NULL }, text[200];

	req.tls_plaintext = good;
	req.n_tls_plaintext = 3;
	assert_taken();
	ck_assert_uint_eq(config.n_plaintext, 3);
	for (int i = 0; i < 3; i++)
		ck_assert_str_eq(config.plaintext[i], good[i]);
	req.tls_plaintext = one;
	req.n_tls_plaintext = 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		one[0] = (char *)bad[i];
		assert_refused("pid:N, comm:GLOB or lib:/PATH");
	}
	memset(text, 'x', sizeof(text));
	memcpy(text, "lib:/", 5);
	text[127] = '\0';
	one[0] = text;
	assert_taken();
	ck_assert_str_eq(config.plaintext[0], text);
	text[127] = 'x';
	text[128] = '\0';
	assert_refused("at most 127 bytes");
	for (int i = 0; i < 9; i++)
		many[i] = good[0];
	req.tls_plaintext = many;
	req.n_tls_plaintext = 9;
	assert_refused("at most 8");
	req.n_tls_plaintext = 8;
	assert_taken();
	ck_assert_uint_eq(config.n_plaintext, 8);
}
END_TEST

START_TEST(every_number_has_its_bounds)
{
	static const struct {
		uint32_t value;
		bool good;
	} freqs[] = { { 0, false }, { 1, true }, { 100000, true }, { 100001, false } },
	  intervals[] = { { 0, false },	     { 9, false },	 { 10, true },
			  { 3600000, true }, { 3600001, false }, { UINT32_MAX, false } };

	for (size_t i = 0; i < 4; i++) {
		req.has_freq_hz = 1;
		req.freq_hz = freqs[i].value;
		if (freqs[i].good)
			assert_taken();
		else
			assert_refused("the frequency is 1 to 100000 Hz");
	}
	req.has_freq_hz = 0;
	for (size_t i = 0; i < 6; i++) {
		req.has_counters_interval_ms = 1;
		req.counters_interval_ms = intervals[i].value;
		if (intervals[i].good)
			assert_taken();
		else
			assert_refused("every 10 to 3600000 ms");
	}
	req.has_counters_interval_ms = 0;
	req.has_offcpu_min_ns = 1;
	req.offcpu_min_ns = UINT64_MAX;
	assert_refused("an hour");
	req.offcpu_min_ns = 0;
	assert_taken();
	ck_assert_uint_eq(config.offcpu_min_ns, 0);
	req.has_alloc_bytes = 1;
	req.alloc_bytes = 0;
	assert_refused("each 1 byte to 1 TiB");
	req.alloc_bytes = 1;
	assert_taken();
	req.has_period = 1;
	req.period = 0;
	assert_refused("the period");
	req.period = (uint64_t)INT64_MAX + 1;
	assert_refused("the period");
	req.period = INT64_MAX;
	assert_taken();
	ck_assert(config.period == INT64_MAX);
}
END_TEST

START_TEST(strings_have_their_bounds)
{
	char text[5000];

	memset(text, 'x', sizeof(text));
	text[64] = '\0';
	req.comm = text;
	assert_refused("at most 63 bytes");
	text[63] = '\0';
	assert_taken();
	ck_assert_str_eq(config.comm_glob, text);
	req.comm = NULL;
	req.event = text;
	assert_taken();
	text[63] = 'x';
	assert_refused("at most 63 bytes");
	req.event = NULL;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	req.command_line = text;
	ck_assert_int_eq(control_requests_config(&req, &config, why, sizeof(why)), 0);
	ck_assert_uint_eq(strlen(config.command_line), 4096);
	free(config.command_line);
}
END_TEST

START_TEST(pids_are_counted)
{
	uint32_t pids[65];

	for (uint32_t i = 0; i < 65; i++)
		pids[i] = i + 1;
	req.pids = pids;
	req.n_pids = 65;
	assert_refused("at most 64 pids");
	req.n_pids = 64;
	assert_taken();
	ck_assert_uint_eq(config.n_pids, 64);
	ck_assert_uint_eq(config.pids[63], 64);
}
END_TEST

START_TEST(filters_are_set_when_they_were_given)
{
	req.has_cgroup_id = req.has_uid = 1;
	req.cgroup_id = 77;
	req.uid = 0;
	assert_taken();
	ck_assert(config.has_cgroup && config.cgroup_id == 77);
	ck_assert(config.has_uid && config.uid == 0);
}
END_TEST

START_TEST(a_reason_is_cut_to_its_room)
{
	char small[8];

	req.has_freq_hz = 1;
	req.freq_hz = 0;
	ck_assert_int_eq(control_requests_config(&req, &config, small, sizeof(small)), -EINVAL);
	ck_assert_str_eq(small, "the fre");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_requests");
	TCase *tc = tcase_create("control_requests");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, an_empty_request_means_the_defaults);
	tcase_add_test(tc, sources_are_chosen_by_name_or_left_out);
	tcase_add_test(tc, gpu_apis_come_beside_the_others);
	tcase_add_test(tc, the_network_is_a_waterfall_without_secrets);
	tcase_add_test(tc, levels_of_the_network);
	tcase_add_test(tc, privacy_is_chosen_by_words);
	tcase_add_test(tc, whose_tls_is_read_is_named);
	tcase_add_test(tc, every_number_has_its_bounds);
	tcase_add_test(tc, strings_have_their_bounds);
	tcase_add_test(tc, pids_are_counted);
	tcase_add_test(tc, filters_are_set_when_they_were_given);
	tcase_add_test(tc, a_reason_is_cut_to_its_room);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
