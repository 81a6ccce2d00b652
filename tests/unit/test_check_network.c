/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_network.c - N of a trace check: requests, connections, flows. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "good_network.h"

static struct good_trace t;
static struct good_network n;

static void setup(void)
{
	good_trace_init(&t);
	good_network_add(&t, &n);
}

static void teardown(void)
{
	good_trace_done(&t);
}

START_TEST(a_good_network)
{
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* ---- phases ---- */

START_TEST(a_phase_that_nobody_knows)
{
	TracePacket *pkt = n.phases[2];

	pkt->track_event->has_name_iid = 0;
	pkt->track_event->name = "ponder";
	assert_found(&t, CHECK_NET_PHASE);
}
END_TEST

START_TEST(a_phase_of_the_other_kind)
{
	n.established->track_event->has_name_iid = 0;
	n.established->track_event->name = "receive";
	assert_found(&t, CHECK_NET_PHASE);
}
END_TEST

START_TEST(a_phase_in_no_request)
{
	n.phases[3]->timestamp = MS(153);
	good_net_end(&n, n.phases[3])->timestamp = MS(155);
	assert_found(&t, CHECK_NET_PHASE);
}
END_TEST

START_TEST(a_phase_in_a_connection_that_is_one_of_requests)
{
	good_net_slice(&n, n.connection->track_event->track_uuid, "wait", "http.phase", 150000,
		       160000);
	assert_found(&t, CHECK_NET_PHASE);
}
END_TEST

START_TEST(phases_that_overlap)
{
	/* In the one behind it, so that they nest. */
	n.phases[1]->timestamp = MS(122);
	good_net_end(&n, n.phases[1])->timestamp = MS(130);
	assert_found(&t, CHECK_NET_PHASE_OVERLAP);
}
END_TEST

START_TEST(a_phase_without_length_is_fine)
{
	good_net_end(&n, n.phases[1])->timestamp = n.phases[1]->timestamp;
	n.phases[2]->timestamp = n.phases[1]->timestamp;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_gap_between_phases_is_fine)
{
	good_net_end(&n, n.phases[1])->timestamp -= 500000;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_request_without_phases_is_fine)
{
	good_net_slice(&n, n.request->track_event->track_uuid, "GET /more", "http", 210000, 220000);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* ---- flows ---- */

START_TEST(a_flow_with_one_end)
{
	good_net_flow(&n, n.sent, 1);
	assert_found(&t, CHECK_NET_FLOW_END);
}
END_TEST

/* A wait for the GPU, say. */
START_TEST(an_end_of_another_source_is_one)
{
	good_net_flow(&n, n.sent, 1);
	good_net_flow(&n, t.begin_b, 1);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(flows_of_other_sources_are_not_judged)
{
	good_net_flow(&n, t.begin_b, 1);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(one_end_where_something_was_lost_is_fine)
{
	good_net_flow(&n, n.sent, 1);
	good_trace_lose(&t, "cpu", 1);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(flows_of_others_are_not_looked_at)
{
	n.sent->track_event->n_category_iids = 0;
	good_net_flow(&n, n.sent, 1);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_request_that_is_served_before_it_is_made)
{
	for (size_t i = 0; i < 3; i++) {
		n.served_phases[i]->timestamp -= 20000000;
		good_net_end(&n, n.served_phases[i])->timestamp -= 20000000;
	}
	n.served->timestamp -= 20000000;
	assert_found(&t, CHECK_NET_FLOW_BACK);
}
END_TEST

START_TEST(a_response_that_comes_before_it_is_sent)
{
	n.received->timestamp = MS(137);
	assert_found(&t, CHECK_NET_FLOW_BACK);
}
END_TEST

START_TEST(a_flow_through_requests_as_a_whole)
{
	good_net_flow(&n, n.request, 1);
	good_net_flow(&n, n.served, 1);
	assert_found(&t, N_CHECK_KINDS);
	n.served->timestamp = MS(111);
	assert_found(&t, CHECK_NET_FLOW_BACK);
}
END_TEST

START_TEST(ends_of_one_time_are_fine)
{
	n.received->timestamp = MS(138);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* ---- arguments ---- */

START_TEST(a_connection_without_a_peer)
{
	good_net_arg(&n, n.connection, "remote")->string_value = "";
	assert_found(&t, CHECK_NET_CONNECTION);
}
END_TEST

START_TEST(a_connection_without_a_side)
{
	good_net_arg(&n, n.failed, "side")->string_value = NULL;
	assert_found(&t, CHECK_NET_CONNECTION);
}
END_TEST

START_TEST(one_that_was_there_before_may_have_no_side)
{
	DebugAnnotation *mark = good_net_arg(&n, n.connection, "unfinished"),
			*remote = good_net_arg(&n, n.connection, "remote");

	good_net_arg(&n, n.connection, "side")->string_value = NULL;
	mark->has_name_iid = 0;
	mark->name = "before";
	assert_found(&t, N_CHECK_KINDS);
	remote->string_value = NULL;
	assert_found(&t, CHECK_NET_CONNECTION);
}
END_TEST

static void set_query(const char *value)
{
	n.attributes->trace_attributes->attribute[1]->string_value = (char *)value;
}

static void set_url(const char *url)
{
	good_net_arg(&n, n.request, "url")->string_value = (char *)url;
}

START_TEST(a_query_that_should_be_hidden)
{
	set_url("http://example.org/a?token=secret");
	assert_found(&t, CHECK_NET_QUERY);
}
END_TEST

START_TEST(a_query_behind_one_that_is_hidden)
{
	set_url("http://example.org/a?\u2026&token=secret");
	assert_found(&t, CHECK_NET_QUERY);
}
END_TEST

START_TEST(a_query_in_a_name)
{
	n.request->track_event->has_name_iid = 0;
	n.request->track_event->name = "GET /a?token=secret";
	assert_found(&t, CHECK_NET_QUERY);
}
END_TEST

START_TEST(a_query_that_is_cut_is_fine)
{
	set_url("http://example.org/a?");
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(keys_without_values)
{
	set_query("keys");
	set_url("/a?x=\u2026&y=&z&token=\u2026");
	assert_found(&t, N_CHECK_KINDS);
	set_url("/a?x=\u2026&token=secret");
	assert_found(&t, CHECK_NET_QUERY);
}
END_TEST

START_TEST(no_query_where_they_are_dropped)
{
	set_query("drop");
	assert_found(&t, CHECK_NET_QUERY); /* "GET /missing?…" */
}
END_TEST

START_TEST(queries_that_are_kept_are_fine)
{
	set_query("keep");
	set_url("/a?token=public");
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_negative_size)
{
	DebugAnnotation *a = good_net_arg(&n, n.connection, "bytes_sent");

	a->has_uint_value = 0;
	a->has_int_value = 1;
	a->int_value = -1;
	assert_found(&t, CHECK_NET_SIZE);
}
END_TEST

START_TEST(a_size_that_cannot_be)
{
	good_net_arg(&n, n.request, "request_bytes")->uint_value = 1ull << 60;
	assert_found(&t, CHECK_NET_SIZE);
}
END_TEST

START_TEST(a_body_that_is_more_than_all)
{
	good_net_arg(&n, n.request, "response_body")->uint_value = 1000000;
	assert_found(&t, CHECK_NET_SIZE);
}
END_TEST

START_TEST(a_body_of_which_something_was_lost_is_fine)
{
	good_net_arg(&n, n.request, "response_body")->uint_value = 1000000;
	good_net_put_bool(&n, n.request, "lost");
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

int main(void)
{
	const TTest *tests[] = {
		a_good_network,
		a_phase_that_nobody_knows,
		a_phase_of_the_other_kind,
		a_phase_in_no_request,
		a_phase_in_a_connection_that_is_one_of_requests,
		phases_that_overlap,
		a_phase_without_length_is_fine,
		a_gap_between_phases_is_fine,
		a_request_without_phases_is_fine,
		a_flow_with_one_end,
		an_end_of_another_source_is_one,
		flows_of_other_sources_are_not_judged,
		one_end_where_something_was_lost_is_fine,
		flows_of_others_are_not_looked_at,
		a_request_that_is_served_before_it_is_made,
		a_response_that_comes_before_it_is_sent,
		a_flow_through_requests_as_a_whole,
		ends_of_one_time_are_fine,
		a_connection_without_a_peer,
		a_connection_without_a_side,
		one_that_was_there_before_may_have_no_side,
		a_query_that_should_be_hidden,
		a_query_behind_one_that_is_hidden,
		a_query_in_a_name,
		a_query_that_is_cut_is_fine,
		keys_without_values,
		no_query_where_they_are_dropped,
		queries_that_are_kept_are_fine,
		a_negative_size,
		a_size_that_cannot_be,
		a_body_that_is_more_than_all,
		a_body_of_which_something_was_lost_is_fine,
	};
	Suite *suite = suite_create("check_network");
	TCase *tc = tcase_create("mistakes");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
