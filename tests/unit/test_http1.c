/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1 as it should be: every byte was seen, or need not be. */
#include <check.h>
#include <stdio.h>
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
static const char empty[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

START_TEST(a_request_and_its_response_are_one_exchange)
{
	static const char request[] = "GET /a/b?c=SECRET HTTP/1.1\r\nHost: example.org:8080\r\n"
				      "Cookie: SECRET\r\n\r\n";
	static const char response[] = "HTTP/1.1 404 Not Found\r\nContent-Type: text/html; "
				       "charset=utf-8\r\nContent-Length: 5\r\n\r\nhello";
	const struct exchange *e;

	talk_ask(&t, request);
	ck_assert_uint_eq(t.http1->queue.n_entries, 1);
	ck_assert_uint_eq(t.n, 0);
	talk_answer(&t, response);
	ck_assert_uint_eq(t.http1->queue.n_entries, 0);
	ck_assert_uint_eq(t.n, 1);
	e = talk_next(&t);
	ck_assert_int_eq(e->protocol, EXCHANGE_HTTP1);
	ck_assert_uint_eq(e->index, 0);
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE);
	ck_assert_str_eq(e->method, "GET");
	ck_assert_str_eq(e->scheme, "");
	ck_assert_str_eq(e->host, "example.org:8080");
	ck_assert_str_eq(e->path, "/a/b?…");
	ck_assert_str_eq(e->version, "1.1");
	ck_assert_int_eq(e->status, 404);
	ck_assert_str_eq(e->content_type, "text/html");
	ck_assert_str_eq(e->cache, "");
	ck_assert_int_eq(e->grpc_status, -1);
	ck_assert_uint_eq(e->request_body, 0);
	ck_assert_uint_eq(e->response_body, 5);
	ck_assert_int_eq(e->response_length, 5);
	ck_assert_uint_eq(e->request_bytes, sizeof(request) - 1);
	ck_assert_uint_eq(e->response_bytes, sizeof(response) - 1);
	ck_assert_uint_eq(e->request_ns, 1);
	ck_assert_uint_eq(e->request_end_ns, 1);
	ck_assert_uint_eq(e->response_ns, 2);
	ck_assert_uint_eq(e->response_end_ns, 2);
	ck_assert_uint_eq(e->request_tgid, 10);
	ck_assert_uint_eq(e->request_tid, 100);
	ck_assert_uint_eq(e->response_tgid, 20);
	ck_assert_uint_eq(e->response_tid, 200);
}
END_TEST

START_TEST(times_are_those_of_the_first_and_the_last_byte)
{
	const struct exchange *e;

	talk_ask(&t, "POST /a HTTP/1.1\r\n");	     /* 1 */
	talk_ask(&t, "Content-Length: 4\r\n\r\nab"); /* 2 */
	talk_ask(&t, "cd");			     /* 3 */
	talk_answer(&t, "HTTP/1.1 200 OK\r\nConte"); /* 4 */
	talk_answer(&t, "nt-Length: 10\r\n\r\n");    /* 5 */
	talk_answer_unknown(&t, 6);		     /* 6 */
	talk_answer(&t, "7890");		     /* 7 */
	talk_ask(&t, get);			     /* 8 */
	ck_assert_uint_eq(t.n, 1);
	e = talk_next(&t);
	ck_assert_uint_eq(e->request_ns, 1);
	ck_assert_uint_eq(e->request_end_ns, 3);
	ck_assert_uint_eq(e->response_ns, 4);
	ck_assert_uint_eq(e->response_end_ns, 7);
	ck_assert_uint_eq(e->request_body, 4);
	ck_assert_uint_eq(e->response_body, 10);
}
END_TEST

START_TEST(offsets_and_numbers_are_the_connections)
{
	const struct exchange *e;

	talk_ask(&t, get);
	talk_answer(&t, empty);
	talk_ask(&t, get);
	talk_answer(&t, empty);
	talk_next(&t);
	e = talk_next(&t);
	ck_assert_uint_eq(e->index, 1);
	ck_assert_uint_eq(e->request_off, sizeof(get) - 1);
	ck_assert_uint_eq(e->response_off, sizeof(empty) - 1);
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE);
}
END_TEST

START_TEST(pipelined_requests_are_answered_in_their_order)
{
	talk_ask(&t, "GET /1 HTTP/1.1\r\n\r\nHEAD /2 HTTP/1.1\r\n\r\nGET /3 HT");
	talk_ask(&t, "TP/1.1\r\n\r\n");
	ck_assert_uint_eq(t.http1->queue.n_entries, 3);
	talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 201 OK\r\n"
			"Content-Length: 9\r\n\r\nHTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n"
			"\r\n2\r\nab\r\n0\r\n\r\n");
	ck_assert_uint_eq(t.n, 3);
	for (int i = 0; i < 3; i++) {
		const struct exchange *e = talk_next(&t);

		ck_assert_int_eq(e->path[1], '1' + i);
		ck_assert_int_eq(e->status, 200 + i);
		ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE | (i ? EXCHANGE_PIPELINED : 0));
		ck_assert_uint_eq(e->response_body, i == 0 ? 3 : i == 1 ? 0 : 2);
	}
}
END_TEST

START_TEST(some_responses_have_no_body_whatever_they_say)
{
	static const char *const heads[] = { "204 No Content", "304 Not Modified" };

	for (int i = 0; i < 2; i++) {
		char text[128];

		snprintf(text, sizeof(text), "HTTP/1.1 %s\r\nContent-Length: 5\r\n\r\n", heads[i]);
		talk_ask(&t, get);
		talk_answer(&t, text);
		ck_assert_uint_eq(t.n, 1);
		ck_assert_uint_eq(talk_next(&t)->response_body, 0);
	}
	talk_ask(&t, "HEAD / HTTP/1.1\r\n\r\n");
	talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
	ck_assert_int_eq(talk_next(&t)->response_length, 5);
	talk_ask(&t, "HEAD / HTTP/1.1\r\n\r\n");
	talk_answer(&t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	ck_assert_uint_eq(talk_next(&t)->response_body, 0);
}
END_TEST

START_TEST(a_body_may_be_sent_by_the_kernel)
{
	const struct exchange *e;

	talk_ask(&t, get);
	talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\n\r\n");
	talk_answer_unknown(&t, 1000000000);
	talk_gap(&t, NET_RESPONSE, 3999999990);
	ck_assert_uint_eq(t.n, 0);
	talk_answer_unknown(&t, 10);
	e = talk_next(&t);
	ck_assert_uint_eq(e->response_body, 5000000000);
	ck_assert_uint_eq(e->response_bytes, t.off[NET_RESPONSE]);
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE);
	ck_assert_uint_eq(e->response_end_ns, 4);
}
END_TEST

START_TEST(a_gap_at_a_bodys_end_ends_it)
{
	talk_ask(&t, get);
	talk_answer(&t, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
	talk_gap(&t, NET_RESPONSE, 100);
	talk_ask(&t, get);
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_uint_eq(talk_next(&t)->response_body, 100);
	ck_assert_uint_eq(talk_next(&t)->response_bytes, sizeof(empty) - 1);
}
END_TEST

START_TEST(chunks_are_counted_without_their_frames)
{
	static const char body[] = "5;name=\"a;b\"\r\nhello\r\nA \r\n0123456789\r\n"
				   "000\r\nTrailer: x\r\nMore: y\r\n\r\n";
	static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n"
				   "Content-Length: 3\r\n\r\n";
	const struct exchange *e;

	talk_ask(&t, get);
	talk_answer(&t, head);
	for (size_t i = 0; i < sizeof(body) - 1; i++) {
		ck_assert_uint_eq(t.n, 0);
		talk_piece(&t, NET_RESPONSE, body + i, 1, 1);
	}
	ck_assert_uint_eq(t.n, 1);
	e = talk_next(&t);
	ck_assert_uint_eq(e->response_body, 15);
	ck_assert_uint_eq(e->response_bytes, sizeof(head) + sizeof(body) - 2);
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE);
}
END_TEST

START_TEST(of_chunks_the_heads_are_enough)
{
	talk_ask(&t, get);
	talk_answer(&t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10000\r\n");
	talk_answer_unknown(&t, 0x10000);
	talk_answer_unknown(&t, 2);
	talk_answer(&t, "0\r\n\r\n");
	ck_assert_uint_eq(t.n, 1);
	ck_assert_uint_eq(t.got[0].response_body, 0x10000);
	ck_assert_uint_eq(t.got[0].flags, EXCHANGE_KEEPS_ALIVE);
}
END_TEST

START_TEST(an_upload_may_be_chunked)
{
	talk_ask(&t, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	talk_ask(&t, "0\r\n\r\n");
	talk_ask(&t, get);
	talk_answer(&t, empty);
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_uint_eq(t.got[0].request_body, 3);
	ck_assert_uint_eq(t.got[0].request_end_ns, 2);
	ck_assert_str_eq(t.got[1].method, "GET");
}
END_TEST

START_TEST(without_a_length_the_end_of_the_connection_is_the_bodys)
{
	const struct exchange *e;

	talk_ask(&t, get);
	talk_answer(&t, "HTTP/1.1 200 OK\r\n\r\nabc");
	talk_answer(&t, "HTTP/1.1 is a protocol");
	ck_assert_uint_eq(t.n, 0);
	http1_fin(t.http1, NET_RESPONSE, 100);
	ck_assert_uint_eq(t.n, 1);
	e = talk_next(&t);
	ck_assert_uint_eq(e->response_body, 25);
	ck_assert_int_eq(e->response_length, -1);
	ck_assert_uint_eq(e->response_end_ns, 3);
	ck_assert_uint_eq(e->flags, 0);
}
END_TEST

START_TEST(a_client_may_close_its_half_first)
{
	talk_ask(&t, get);
	http1_fin(t.http1, NET_REQUEST, 2);
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.n, 1);
	ck_assert_uint_eq(t.got[0].flags, EXCHANGE_KEEPS_ALIVE);
}
END_TEST

START_TEST(keeping_alive_depends_on_the_version_and_both_sides)
{
	static const struct {
		const char *request, *response;
		bool keeps_alive;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\n", true },
		{ "GET / HTTP/1.1\r\nConnection: close\r\n", "HTTP/1.1 200 OK\r\n", false },
		{ "GET / HTTP/1.1\r\n", "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\n", false },
		{ "GET / HTTP/1.0\r\n", "HTTP/1.0 200 OK\r\n", false },
		{ "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n", "HTTP/1.0 200 OK\r\n", false },
		{ "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n",
		  "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n", true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		talk_ask(&t, cases[i].request);
		talk_ask(&t, "\r\n");
		talk_answer(&t, cases[i].response);
		talk_answer(&t, "Content-Length: 0\r\n\r\n");
		ck_assert_uint_eq(t.n, 1);
		ck_assert_uint_eq(talk_next(&t)->flags,
				  cases[i].keeps_alive ? EXCHANGE_KEEPS_ALIVE : 0);
	}
}
END_TEST

START_TEST(what_is_asked_after_the_last_response_stays_unanswered)
{
	talk_ask(&t, get);
	talk_answer(&t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
	talk_ask(&t, "GET /b HTTP/1.1\r\n\r\n");
	ck_assert_uint_eq(t.n, 1);
	http1_fin(t.http1, NET_RESPONSE, 9);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_str_eq(t.got[1].path, "/b");
	ck_assert_uint_eq(t.got[1].flags, EXCHANGE_CLOSED);
	ck_assert_int_eq(t.got[1].status, 0);
	ck_assert_uint_eq(t.got[1].response_ns, 0);
}
END_TEST

START_TEST(interim_responses_are_no_answer)
{
	const struct exchange *e;

	talk_ask(&t, "POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	talk_answer(&t, "HTTP/1.1 100 Continue\r\n\r\n");
	talk_ask(&t, "abc");
	talk_answer(&t, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.n, 1);
	e = talk_next(&t);
	ck_assert_int_eq(e->status, 200);
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE | EXCHANGE_CONTINUED);
	ck_assert_uint_eq(e->request_end_ns, 3);
	ck_assert_uint_eq(e->response_ns, 5);
	ck_assert_uint_eq(e->response_bytes, t.off[NET_RESPONSE]);
	talk_ask(&t, get);
	talk_answer(&t, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No\r\n\r\n");
	ck_assert_uint_eq(talk_next(&t)->flags, EXCHANGE_KEEPS_ALIVE);
}
END_TEST

START_TEST(a_response_may_come_before_all_is_asked)
{
	talk_ask(&t, "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n01234");
	talk_answer(&t, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
	ck_assert_uint_eq(t.n, 0);
	talk_ask(&t, "56789");
	ck_assert_uint_eq(t.n, 1);
	ck_assert_uint_eq(t.got[0].flags, EXCHANGE_KEEPS_ALIVE);
	ck_assert_uint_eq(t.got[0].request_end_ns, 3);
	ck_assert_uint_eq(t.got[0].response_end_ns, 2);
	talk_next(&t);
	talk_ask(&t, "POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\n01234");
	talk_answer(&t, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
	http1_fin(t.http1, NET_RESPONSE, 9);
	ck_assert_uint_eq(t.n, 0);
	http1_end(t.http1, 10, EXCHANGE_CLOSED);
	ck_assert_uint_eq(t.got[0].flags, EXCHANGE_KEEPS_ALIVE | EXCHANGE_CLOSED);
	ck_assert_uint_eq(t.got[0].request_body, 5);
	ck_assert_uint_eq(t.got[0].request_end_ns, 0);
	ck_assert_int_eq(t.got[0].status, 413);
}
END_TEST

START_TEST(who_is_refused_may_keep_the_body)
{
	talk_ask(&t, "PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n");
	talk_answer(&t, "HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n");
	talk_ask(&t, get);
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_int_eq(t.got[0].status, 417);
	ck_assert_uint_eq(t.got[0].request_body, 0);
	ck_assert_str_eq(t.got[1].path, "/a");
	ck_assert_uint_eq(t.got[1].flags, EXCHANGE_KEEPS_ALIVE);
}
END_TEST

START_TEST(a_websocket_lasts_until_the_end)
{
	static const char upgrade[] = "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n"
				      "Connection: Upgrade\r\n\r\n";
	static const char switched[] = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n"
				       "Connection: Upgrade\r\n\r\n";
	const struct exchange *e;

	talk_ask(&t, upgrade);
	talk_piece(&t, NET_RESPONSE, switched, sizeof(switched) - 1, sizeof(switched) + 9);
	ck_assert_int_eq(t.next, HTTP1_SWITCHED);
	ck_assert_uint_eq(http1_switched_off(t.http1, NET_REQUEST), sizeof(upgrade) - 1);
	ck_assert_uint_eq(http1_switched_off(t.http1, NET_RESPONSE), sizeof(switched) - 1);
	e = talk_next(&t);
	ck_assert_int_eq(e->protocol, EXCHANGE_HTTP1);
	ck_assert_int_eq(e->status, 101);
	ck_assert_uint_eq(e->flags, 0);
	ck_assert_uint_eq(t.http1->queue.n_entries, 1);
	talk_ask(&t, "GET / HTTP/1.1\r\n\r\n");
	ck_assert_int_eq(t.next, HTTP1_GOES_ON);
	http1_fin(t.http1, NET_RESPONSE, 5);
	ck_assert_uint_eq(t.n, 0);
	http1_end(t.http1, 6, EXCHANGE_CLOSED);
	e = talk_next(&t);
	ck_assert_int_eq(e->protocol, EXCHANGE_WEBSOCKET);
	ck_assert_uint_eq(e->index, 1);
	ck_assert_uint_eq(e->flags, 0);
	ck_assert_str_eq(e->upgrade, "WebSocket");
	ck_assert_str_eq(e->path, "/chat");
	ck_assert_uint_eq(e->request_tgid, 10);
	ck_assert_uint_eq(e->request_tid, 0);
	ck_assert_uint_eq(e->response_tid, 0);
	ck_assert_uint_eq(e->request_bytes, 18);
	ck_assert_uint_eq(e->response_bytes, 10);
	ck_assert_uint_eq(e->request_ns, 2);
	ck_assert_uint_eq(e->response_end_ns, 6);
}
END_TEST

START_TEST(a_tunnel_lasts_until_the_end)
{
	const struct exchange *e;

	talk_ask(&t, "CONNECT me:SECRET@example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n");
	talk_answer(&t, "HTTP/1.1 200 Connection established\r\n\r\n");
	ck_assert_int_eq(t.next, HTTP1_SWITCHED);
	e = talk_next(&t);
	ck_assert_str_eq(e->method, "CONNECT");
	ck_assert_str_eq(e->host, "example.org:443");
	ck_assert_str_eq(e->path, "");
	ck_assert_int_eq(e->protocol, EXCHANGE_HTTP1);
	talk_ask(&t, "\x16\x03\x01");
	talk_gap(&t, NET_RESPONSE, 1000);
	talk_answer_unknown(&t, 24);
	http1_end(t.http1, 9, EXCHANGE_INCOMPLETE);
	e = talk_next(&t);
	ck_assert_int_eq(e->protocol, EXCHANGE_TUNNEL);
	ck_assert_uint_eq(e->flags, EXCHANGE_INCOMPLETE);
	ck_assert_uint_eq(e->request_bytes, 3);
	ck_assert_uint_eq(e->response_bytes, 1024);
	ck_assert_uint_eq(e->response_end_ns, 0);
}
END_TEST

START_TEST(a_refused_tunnel_is_none)
{
	talk_ask(&t, "CONNECT a:443 HTTP/1.1\r\n\r\n");
	talk_answer(&t, "HTTP/1.1 407 No\r\nContent-Length: 3\r\n\r\nabc");
	ck_assert_int_eq(t.next, HTTP1_GOES_ON);
	talk_ask(&t, get);
	talk_answer(&t, empty);
	ck_assert_uint_eq(t.n, 2);
	ck_assert_uint_eq(t.http1->queue.n_entries, 0);
}
END_TEST

START_TEST(http2_may_follow)
{
	talk_ask(&t, "GET / HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n");
	talk_answer(&t, "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n");
	ck_assert_int_eq(t.next, HTTP1_UPGRADED_H2C);
	ck_assert_uint_eq(t.n, 1);
	ck_assert_str_eq(t.got[0].upgrade, "h2c");
	ck_assert_uint_eq(t.http1->queue.n_entries, 0);
	http1_end(t.http1, 9, EXCHANGE_CLOSED);
	ck_assert_uint_eq(t.n, 1);
}
END_TEST

START_TEST(caches_tell_what_they_did)
{
	static const struct {
		const char *response, *cache;
	} cases[] = {
		{ "HTTP/1.1 304 Not Modified\r\nAge: 3\r\nX-Cache: HIT\r\n\r\n", "not modified" },
		{ "HTTP/1.1 204 x\r\nAge: 3\r\nX-Cache: HIT from a\r\n\r\n", "HIT from a" },
		{ "HTTP/1.1 204 x\r\nage:17\r\n\r\n", "age 17" },
		{ "HTTP/1.1 204 x\r\nAge: old\r\n\r\n", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		talk_ask(&t, get);
		talk_answer(&t, cases[i].response);
		ck_assert_str_eq(talk_next(&t)->cache, cases[i].cache);
	}
}
END_TEST

START_TEST(targets_have_four_forms)
{
	static const struct {
		const char *request, *scheme, *host, *path;
	} cases[] = {
		{ "GET http://u:SECRET@b:81/p?q HTTP/1.1\r\nHost: c\r\n\r\n", "http", "b:81",
		  "/p?…" },
		{ "GET http://b HTTP/1.1\r\n\r\n", "http", "b", "/" },
		{ "GET https://b?q@x HTTP/1.1\r\n\r\n", "https", "b", "/?…" },
		{ "OPTIONS * HTTP/1.1\r\nHost: c\r\n\r\n", "", "c", "*" },
		{ "GET /a b c HTTP/1.1\r\nHost: u:SECRET@c\r\n\r\n", "", "c", "/a b c" },
		{ "GET //a HTTP/1.1\r\nHost:\r\n\r\n", "", "", "//a" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct exchange *e;

		talk_ask(&t, cases[i].request);
		talk_answer(&t, empty);
		e = talk_next(&t);
		ck_assert_str_eq(e->scheme, cases[i].scheme);
		ck_assert_str_eq(e->host, cases[i].host);
		ck_assert_str_eq(e->path, cases[i].path);
	}
}
END_TEST

START_TEST(old_and_sloppy_heads_are_read)
{
	const struct exchange *e;

	talk_ask(&t, "\r\n\nGET /a HTTP/1.1\nHost : a\nno colon\n: no name\n\n");
	talk_answer(
		&t,
		"HTTP/1.1 200\nContent-Type:\n text/plain\n\t;a=b\nContent-Length:\r\n 2\r\n\nab");
	ck_assert_uint_eq(t.n, 1);
	e = talk_next(&t);
	ck_assert_str_eq(e->host, "a");
	ck_assert_str_eq(e->content_type, "text/plain");
	ck_assert_uint_eq(e->response_body, 2);
	ck_assert_uint_eq(e->request_bytes, t.off[NET_REQUEST] - 3);
	talk_ask(&t, "FOO-bar /a HTTP/1.1\r\n\r\n");
	talk_answer(&t, "HTTP/1.1 200 OK\r\nX-Cache: a\r\n  b\r\nContent-Length: 2, 2\r\n"
			"Content-Length: 2\r\n\r\nab");
	ck_assert_uint_eq(t.n, 1);
	e = talk_next(&t);
	ck_assert_str_eq(e->method, "FOO-bar");
	ck_assert_str_eq(e->cache, "a b");
	ck_assert_uint_eq(e->response_body, 2);
}
END_TEST

START_TEST(first_bytes_are_recognised)
{
	static const char *const requests[] = { "GET / HTT", "G",	   "PROPPATC", "CONNECT ",
						"CONNECT a", "M-SEARCH *", "PURGE /" };
	static const char *const others[] = { "PRI * HT",	  "GET",	  "get / HT",
					      "GETS / H",	  "GET  / H",	  "SSH-2.0-",
					      "\x16\x03\x01\x02", "*1\r\n$4\r\n", "HTTP/1.1",
					      "EHLO a.b",	  "GET\r\n" };

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		ck_assert(http1_is_request((const uint8_t *)requests[i], strlen(requests[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_msg(
			i == 1 || !http1_is_request((const uint8_t *)others[i], strlen(others[i])),
			"%s", others[i]);
	ck_assert(http1_is_response((const uint8_t *)"HTTP/1.0", 8));
	ck_assert(http1_is_response((const uint8_t *)"HTTP/1.1 200 OK", 15));
	ck_assert(!http1_is_response((const uint8_t *)"HTTP/2.0", 8));
	ck_assert(!http1_is_response((const uint8_t *)"HTTP/1.1 OK", 11));
	ck_assert(!http1_is_request(NULL, 0) && !http1_is_response(NULL, 0));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http1");
	TCase *tc = tcase_create("http1");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_request_and_its_response_are_one_exchange);
	tcase_add_test(tc, times_are_those_of_the_first_and_the_last_byte);
	tcase_add_test(tc, offsets_and_numbers_are_the_connections);
	tcase_add_test(tc, pipelined_requests_are_answered_in_their_order);
	tcase_add_test(tc, some_responses_have_no_body_whatever_they_say);
	tcase_add_test(tc, a_body_may_be_sent_by_the_kernel);
	tcase_add_test(tc, a_gap_at_a_bodys_end_ends_it);
	tcase_add_test(tc, chunks_are_counted_without_their_frames);
	tcase_add_test(tc, of_chunks_the_heads_are_enough);
	tcase_add_test(tc, an_upload_may_be_chunked);
	tcase_add_test(tc, without_a_length_the_end_of_the_connection_is_the_bodys);
	tcase_add_test(tc, a_client_may_close_its_half_first);
	tcase_add_test(tc, keeping_alive_depends_on_the_version_and_both_sides);
	tcase_add_test(tc, what_is_asked_after_the_last_response_stays_unanswered);
	tcase_add_test(tc, interim_responses_are_no_answer);
	tcase_add_test(tc, a_response_may_come_before_all_is_asked);
	tcase_add_test(tc, who_is_refused_may_keep_the_body);
	tcase_add_test(tc, a_websocket_lasts_until_the_end);
	tcase_add_test(tc, a_tunnel_lasts_until_the_end);
	tcase_add_test(tc, a_refused_tunnel_is_none);
	tcase_add_test(tc, http2_may_follow);
	tcase_add_test(tc, caches_tell_what_they_did);
	tcase_add_test(tc, targets_have_four_forms);
	tcase_add_test(tc, old_and_sloppy_heads_are_read);
	tcase_add_test(tc, first_bytes_are_recognised);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
