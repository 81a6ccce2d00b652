/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1 of which parts are missing, or that is none: nothing is told that is not so. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "http1_talk.h"

static struct talk t;

static void setup(void)
{
	talk_begin(&t);
}

static void teardown(void)
{
	talk_done(&t);
}

static const char get[] = "GET /a HTTP/1.1\r\nHost: example.org\r\n\r\n";
static const char get_b[] = "GET /b HTTP/1.1\r\nHost: example.org\r\n\r\n";
static const char empty[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
static const char empty_404[] = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
static const char chunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";

static void check_next(const char *path, int status, uint32_t flags)
{
	const struct exchange *e = talk_next(&t);

	ck_assert_str_eq(e->path, path);
	ck_assert_int_eq(e->status, status);
	ck_assert_uint_eq(e->flags & ~EXCHANGE_KEEPS_ALIVE, flags);
}

/* What came before did no harm. */
static void check_goes_on(void)
{
	ck_assert_uint_eq(t.n, 0);
	ck_assert_uint_eq(t.http1->queue.n_entries, 0);
	for (int i = 0; i < 3; i++) {
		talk_ask(&t, get);
		talk_answer(&t, empty);
		talk_ask(&t, get_b);
		talk_answer(&t, empty_404);
		ck_assert_uint_eq(t.n, 2);
		check_next("/a", 200, 0);
		check_next("/b", 404, 0);
	}
}

START_TEST(chunks_that_were_not_copied_last_until_the_turn)
{
	talk_ask(&t, get);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	talk_gap(&t, NET_RESPONSE, 24);
	talk_answer_unknown(&t, 976);
	ck_assert_uint_eq(t.n, 0);
	talk_ask(&t, get_b);
	ck_assert_uint_eq(t.n, 1);
	ck_assert_uint_eq(t.got[0].response_bytes, sizeof(chunked) - 1 + 2000);
	ck_assert_uint_eq(t.got[0].response_body, 2003);
	ck_assert_uint_eq(t.got[0].response_end_ns, 4);
	check_next("/a", 200, EXCHANGE_FRAMES | EXCHANGE_LOST);
	talk_answer(&t, empty_404);
	check_next("/b", 404, 0);
	check_goes_on();
}
END_TEST

START_TEST(chunks_that_are_none_last_until_the_turn)
{
	static const char *const bad[] = { "\r\n",	"x\r\n",       "0123456789abcdef\r\n",
					   "3\r\nabcd", "3\r\nabc\rx", "-1\r\n" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		talk_ask(&t, get);
		talk_answer(&t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
		talk_answer(&t, bad[i]);
		talk_answer(&t, "and more");
		ck_assert_uint_eq(t.n, 0);
		talk_ask(&t, get_b);
		check_next("/a", 200, EXCHANGE_FRAMES);
		talk_answer(&t, empty);
		check_next("/b", 200, 0);
	}
	check_goes_on();
}
END_TEST

START_TEST(the_last_chunk_is_recognised)
{
	for (int cut = 0; cut < 3; cut++) {
		talk_ask(&t, get);
		talk_answer(&t, chunked);
		talk_answer_unknown(&t, 1000);
		talk_answer(&t, cut == 0   ? "0\r\n\r\n"
				: cut == 1 ? "abc\r\n0\r\n\r\n"
					   : "abc\r\n0\r");
		if (cut == 2)
			talk_answer(&t, "\n\r\n");
		ck_assert_uint_eq(t.n, 1);
		check_next("/a", 200, EXCHANGE_FRAMES);
	}
	talk_ask(&t, get);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	talk_answer(&t, "10\r\n\r\n");
	talk_answer(&t, "abc\r\n0\r\n\r\nabc");
	ck_assert_uint_eq(t.n, 0);
	talk_answer(&t, "\r\n0\r\n\r\n");
	check_next("/a", 200, EXCHANGE_FRAMES);
	check_goes_on();
}
END_TEST

START_TEST(a_lost_end_is_that_of_the_connection)
{
	talk_ask(&t, get);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	http1_fin(t.http1, NET_RESPONSE, 9);
	ck_assert_uint_eq(t.got[0].response_end_ns, 3);
	check_next("/a", 200, EXCHANGE_FRAMES);
	teardown();
	setup();
	talk_ask(&t, get);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	http1_end(t.http1, 9, EXCHANGE_CLOSED);
	check_next("/a", 200, EXCHANGE_FRAMES);
	teardown();
	setup();
	talk_ask(&t, get);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	http1_end(t.http1, 9, EXCHANGE_INCOMPLETE);
	ck_assert_uint_eq(t.got[0].response_end_ns, 0);
	ck_assert_uint_eq(t.got[0].response_body, 1003);
	check_next("/a", 200, EXCHANGE_FRAMES | EXCHANGE_INCOMPLETE);
	/* Who is silent for long has said all. */
	teardown();
	setup();
	talk_ask(&t, get);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	http1_end(t.http1, 2000000000, EXCHANGE_INCOMPLETE);
	ck_assert_uint_eq(t.got[0].response_end_ns, 3);
	check_next("/a", 200, EXCHANGE_FRAMES);
}
END_TEST

START_TEST(answers_may_lie_behind_a_lost_end)
{
	for (int i = 0; i < 2; i++) {
		talk_ask(&t, "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
		talk_answer(&t, chunked);
		talk_answer_unknown(&t, 1000);
		if (i == 0)
			http1_fin(t.http1, NET_RESPONSE, 9);
		else
			http1_end(t.http1, 9, EXCHANGE_CLOSED);
		check_next("/a", 200, EXCHANGE_FRAMES);
		check_next("/b", 0, EXCHANGE_LOST | EXCHANGE_PIPELINED);
		teardown();
		setup();
	}
}
END_TEST

START_TEST(the_next_head_ends_what_is_lost)
{
	talk_ask(&t, "GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	talk_answer(&t, "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nabc");
	ck_assert_uint_eq(t.n, 2);
	ck_assert_uint_eq(t.got[0].response_bytes, sizeof(chunked) - 1 + 1000);
	check_next("/a", 200, EXCHANGE_FRAMES);
	check_next("/b", 404, EXCHANGE_PIPELINED);
	/* Where no other is expected, it is a body. */
	talk_ask(&t, get);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	talk_answer(&t, empty_404);
	talk_ask(&t, get_b);
	check_next("/a", 200, EXCHANGE_FRAMES);
	talk_answer(&t, empty);
	check_next("/b", 200, 0);
	check_goes_on();
}
END_TEST

START_TEST(a_head_longer_than_its_copy_lasts_until_the_turn)
{
	static const char head[] = "GET /a HTTP/1.1\r\nHost: example.org\r\nCookie: SECR";

	talk_piece(&t, NET_REQUEST, head, sizeof(head) - 1, 3000);
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.n, 1);
	ck_assert_str_eq(t.got[0].host, "example.org");
	ck_assert_uint_eq(t.got[0].request_bytes, 3000);
	ck_assert_uint_eq(t.got[0].request_end_ns, 1);
	check_next("/a", 200, EXCHANGE_LOST);
	/* Its rest may come even now. */
	talk_piece(&t, NET_REQUEST, NULL, 0, 100);
	check_goes_on();
	talk_piece(&t, NET_REQUEST, "GET /very/long?a", 16, 3000);
	talk_answer(&t, empty);
	check_next("/very/long?…", 200, EXCHANGE_LOST);
	talk_piece(&t, NET_REQUEST, head, sizeof(head) - 1, 3000);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	talk_ask(&t, get_b);
	check_next("/a", 200, EXCHANGE_LOST | EXCHANGE_FRAMES);
	talk_answer(&t, empty);
	check_next("/b", 200, 0);
	check_goes_on();
}
END_TEST

START_TEST(a_gap_in_a_responses_head_lasts_until_the_turn)
{
	talk_ask(&t, get);
	talk_answer(&t, "HTTP/1.1 404 No\r\nContent-Type: text/plain\r\nConte");
	talk_gap(&t, NET_RESPONSE, 100);
	talk_answer(&t, "abc");
	ck_assert_uint_eq(t.n, 0);
	talk_ask(&t, get_b);
	ck_assert_str_eq(t.got[0].content_type, "text/plain");
	ck_assert_uint_eq(t.got[0].response_bytes, t.off[NET_RESPONSE]);
	check_next("/a", 404, EXCHANGE_LOST);
	talk_answer(&t, empty);
	check_next("/b", 200, 0);
	check_goes_on();
}
END_TEST

START_TEST(a_response_without_any_known_byte_is_counted)
{
	talk_ask(&t, get);
	talk_answer_unknown(&t, 100);
	talk_answer_unknown(&t, 200);
	talk_ask(&t, get_b);
	ck_assert_uint_eq(t.got[0].response_bytes, 300);
	ck_assert_uint_eq(t.got[0].response_ns, 2);
	ck_assert_uint_eq(t.got[0].response_end_ns, 3);
	check_next("/a", 0, EXCHANGE_LOST);
	talk_answer(&t, empty);
	check_next("/b", 200, 0);
	check_goes_on();
}
END_TEST

START_TEST(a_lost_response_does_not_move_the_others)
{
	talk_ask(&t, get);
	talk_gap(&t, NET_RESPONSE, 100);
	talk_ask(&t, get_b);
	talk_answer(&t, empty_404);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_uint_eq(t.got[1].response_bytes, sizeof(empty_404) - 1);
	check_next("/a", 0, EXCHANGE_LOST);
	check_next("/b", 404, EXCHANGE_PIPELINED);
	check_goes_on();
}
END_TEST

START_TEST(a_lost_request_does_not_move_the_others)
{
	talk_ask(&t, get);
	talk_answer(&t, empty);
	check_next("/a", 200, 0);
	talk_gap(&t, NET_REQUEST, 100);
	talk_answer(&t, empty_404);
	talk_ask(&t, get);
	talk_answer(&t, empty);
	check_next("", 404, EXCHANGE_NO_REQUEST);
	check_next("/a", 200, 0);
	check_goes_on();
	/* Sent without a copy, which is known at once. */
	talk_piece(&t, NET_REQUEST, NULL, 0, 100);
	talk_answer(&t, empty_404);
	check_next("", 404, EXCHANGE_NO_REQUEST);
	check_goes_on();
}
END_TEST

START_TEST(who_joins_in_the_middle_waits_for_a_head)
{
	t.off[NET_REQUEST] = 1000;
	t.off[NET_RESPONSE] = 5000;
	talk_answer(&t, "the rest of a body");
	talk_answer_unknown(&t, 100);
	talk_answer(&t, "HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nabc");
	check_next("", 404, EXCHANGE_NO_REQUEST);
	talk_ask(&t, "the rest of an upload");
	ck_assert_uint_eq(t.n, 0);
	check_goes_on();
}
END_TEST

START_TEST(a_response_to_head_may_be_the_first_one_seen)
{
	t.off[NET_REQUEST] = t.off[NET_RESPONSE] = 1000;
	talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n");
	talk_ask(&t, get_b);
	check_next("", 200, EXCHANGE_NO_REQUEST);
	talk_answer(&t, empty);
	check_next("/b", 200, 0);
	check_goes_on();
}
END_TEST

START_TEST(a_response_may_be_told_before_its_request)
{
	talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
	talk_ask(&t, get);
	talk_answer(&t, "abc");
	ck_assert_uint_eq(t.n, 1);
	ck_assert_uint_eq(t.got[0].request_ns, 1);
	ck_assert_uint_eq(t.got[0].response_ns, 1);
	check_next("/a", 200, 0);
	check_goes_on();
	talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n");
	talk_ask(&t, "HEAD /h HTTP/1.1\r\n\r\n");
	check_next("/h", 200, 0);
	check_goes_on();
}
END_TEST

START_TEST(responses_that_are_one_ahead_fall_in_again)
{
	/* Of a request before we came, of a stream whose offsets began with us. */
	talk_answer(&t, empty_404);
	for (int i = 0; i < 5; i++) {
		talk_ask(&t, get);
		talk_answer(&t, empty);
	}
	ck_assert_uint_ge(t.n, 5);
	while (t.n)
		talk_next(&t);
	check_goes_on();
}
END_TEST

START_TEST(a_response_that_was_taken_for_a_body_costs_one)
{
	talk_ask(&t, get);
	talk_answer(&t, chunked);
	talk_answer_unknown(&t, 1000);
	talk_answer(&t, empty_404); /* of /b, which is told later */
	talk_ask(&t, get_b);
	check_next("/a", 200, EXCHANGE_FRAMES);
	talk_ask(&t, get);
	check_next("/b", 0, EXCHANGE_LOST);
	talk_answer(&t, empty);
	check_next("/a", 200, 0);
	check_goes_on();
}
END_TEST

START_TEST(lengths_that_differ_are_none)
{
	static const char *const bad[] = { "3\r\nContent-Length: 4", "3, 4", "x", "", "-3", "3 4",
					   "99999999999999999999" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		talk_ask(&t, get);
		talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: ");
		talk_answer(&t, bad[i]);
		talk_answer(&t, "\r\n\r\nabcdef");
		ck_assert_uint_eq(t.n, 0);
		talk_ask(&t, get_b);
		ck_assert_int_eq(t.got[0].response_length, -1);
		ck_assert_uint_eq(t.got[0].response_body, 6);
		check_next("/a", 200, EXCHANGE_LOST);
		talk_answer(&t, empty);
		check_next("/b", 200, 0);
	}
	talk_ask(&t, "POST /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab");
	talk_answer(&t, empty_404);
	check_next("/a", 404, EXCHANGE_LOST);
	check_goes_on();
}
END_TEST

START_TEST(a_head_without_end_is_given_up)
{
	char line[1025];

	memset(line, 'x', sizeof(line) - 1);
	line[1024] = '\0';
	talk_ask(&t, "GET /a HTTP/1.1\r\nX:");
	for (int i = 0; i < 100; i++) {
		talk_ask(&t, line);
		ck_assert_uint_lt(http1_bytes(t.http1), 20 * 1024);
	}
	ck_assert_uint_lt(http1_bytes(t.http1), 2048);
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.got[0].request_bytes, t.off[NET_REQUEST]);
	check_next("/a", 200, EXCHANGE_LOST);
	check_goes_on();
}
END_TEST

START_TEST(too_many_requests_have_no_names)
{
	for (int i = 0; i < 200; i++)
		talk_ask(&t, get);
	ck_assert_uint_le(t.http1->queue.n_entries, 64);
	ck_assert_uint_lt(http1_bytes(t.http1), 64 * 1024);
	for (int i = 0; i < 200; i++)
		talk_answer(&t, empty);
	ck_assert_uint_eq(t.n, 200);
	for (int i = 0; i < 200; i++) {
		const struct exchange *e = talk_next(&t);

		ck_assert_int_eq(e->status, 200);
		ck_assert_uint_eq(!!(e->flags & EXCHANGE_NO_REQUEST), i >= 64);
		ck_assert_uint_eq(!!(e->flags & EXCHANGE_LOST), i >= 64);
	}
	check_goes_on();
}
END_TEST

START_TEST(what_is_unfinished_is_handed_over_at_the_end)
{
	for (int i = 0; i < 2; i++) {
		uint32_t flag = i ? EXCHANGE_CLOSED : EXCHANGE_INCOMPLETE;

		talk_ask(&t, get);
		talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
		talk_ask(&t, get_b);
		talk_ask(&t, "POST /c HTTP/1.1\r\nHo");
		http1_end(t.http1, 9, flag);
		ck_assert_uint_eq(t.n, 3);
		ck_assert_uint_eq(t.got[0].response_body, 3);
		ck_assert_uint_eq(t.got[0].response_ns, 2);
		ck_assert_uint_eq(t.got[0].response_end_ns, 0);
		ck_assert_uint_eq(t.got[2].request_bytes, 20);
		ck_assert_uint_eq(t.got[2].request_end_ns, 0);
		check_next("/a", 200, flag);
		check_next("/b", 0, flag | EXCHANGE_PIPELINED);
		check_next("/c", 0, flag | EXCHANGE_PIPELINED);
		ck_assert_uint_eq(t.http1->queue.n_entries, 0);
		teardown();
		setup();
	}
	talk_ask(&t, get);
	talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Ty");
	http1_end(t.http1, 9, EXCHANGE_CLOSED);
	ck_assert_uint_eq(t.got[0].response_bytes, 27);
	check_next("/a", 200, EXCHANGE_CLOSED);
}
END_TEST

START_TEST(a_request_that_its_client_breaks_off_is_no_more_kept)
{
	talk_ask(&t, "GET /a HTTP/1.1\r\nHost: a\r\nAuthoriz");
	http1_fin(t.http1, NET_REQUEST, 9);
	ck_assert_uint_lt(http1_bytes(t.http1), 1500);
	ck_assert_uint_eq(t.n, 0);
	talk_answer(&t, empty_404);
	ck_assert_str_eq(t.got[0].host, "a");
	ck_assert_uint_eq(t.got[0].request_bytes, t.off[NET_REQUEST]);
	check_next("/a", 404, EXCHANGE_CLOSED);
	http1_end(t.http1, 9, EXCHANGE_CLOSED);
	ck_assert_uint_eq(t.n, 0);
}
END_TEST

START_TEST(a_server_may_end_it_without_being_asked)
{
	talk_ask(&t, get);
	talk_answer(&t, empty);
	check_next("/a", 200, 0);
	talk_answer(&t, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
	http1_fin(t.http1, NET_RESPONSE, 9);
	check_next("", 408, EXCHANGE_NO_REQUEST);
	http1_end(t.http1, 9, EXCHANGE_CLOSED);
	ck_assert_uint_eq(t.n, 0);
}
END_TEST

START_TEST(other_protocols_are_none_of_ours)
{
	talk_ask(&t, "GET /\r\n\r\n"); /* HTTP/0.9 */
	talk_answer(&t, "<html>");
	talk_ask(&t, "GET / RTSP/1.0\r\n\r\n");
	talk_answer(&t, "RTSP/1.0 200 OK\r\n\r\n");
	talk_ask(&t, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	talk_ask(&t, "\x16\x03\x01");
	talk_answer(&t, "\x16\x03\x01");
	ck_assert_uint_eq(t.http1->queue.n_entries, 0);
	check_goes_on();
}
END_TEST

START_TEST(bytes_that_come_twice_count_once)
{
	talk_ask(&t, get);
	t.off[NET_REQUEST] -= 10;
	talk_ask(&t, "ple.org\r\n\r\n");
	t.off[NET_REQUEST] -= 5;
	talk_piece(&t, NET_REQUEST, "gar", 3, 5);
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.got[0].request_bytes, sizeof(get) - 1);
	check_next("/a", 200, 0);
	talk_ask(&t, "\n");
	check_goes_on();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http1_lost");
	TCase *tc = tcase_create("http1_lost");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, chunks_that_were_not_copied_last_until_the_turn);
	tcase_add_test(tc, chunks_that_are_none_last_until_the_turn);
	tcase_add_test(tc, the_last_chunk_is_recognised);
	tcase_add_test(tc, a_lost_end_is_that_of_the_connection);
	tcase_add_test(tc, answers_may_lie_behind_a_lost_end);
	tcase_add_test(tc, the_next_head_ends_what_is_lost);
	tcase_add_test(tc, a_head_longer_than_its_copy_lasts_until_the_turn);
	tcase_add_test(tc, a_gap_in_a_responses_head_lasts_until_the_turn);
	tcase_add_test(tc, a_response_without_any_known_byte_is_counted);
	tcase_add_test(tc, a_lost_response_does_not_move_the_others);
	tcase_add_test(tc, a_lost_request_does_not_move_the_others);
	tcase_add_test(tc, who_joins_in_the_middle_waits_for_a_head);
	tcase_add_test(tc, a_response_to_head_may_be_the_first_one_seen);
	tcase_add_test(tc, a_response_may_be_told_before_its_request);
	tcase_add_test(tc, responses_that_are_one_ahead_fall_in_again);
	tcase_add_test(tc, a_response_that_was_taken_for_a_body_costs_one);
	tcase_add_test(tc, lengths_that_differ_are_none);
	tcase_add_test(tc, a_head_without_end_is_given_up);
	tcase_add_test(tc, too_many_requests_have_no_names);
	tcase_add_test(tc, what_is_unfinished_is_handed_over_at_the_end);
	tcase_add_test(tc, a_request_that_its_client_breaks_off_is_no_more_kept);
	tcase_add_test(tc, a_server_may_end_it_without_being_asked);
	tcase_add_test(tc, other_protocols_are_none_of_ours);
	tcase_add_test(tc, bytes_that_come_twice_count_once);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
