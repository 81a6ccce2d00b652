/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/2 connections, in real frames, and the exchanges that come of them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "h2_wire.h"

static struct h2_wire w;
static struct h2_result r;

static void set_up(void)
{
	srandom(1);
	h2_init(&w);
}

static void tear_down(void)
{
	h2_done(&w);
}

static const struct exchange *only(void)
{
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_int_eq(r.r, 0);
	ck_assert_uint_eq(r.n, 1);
	return &r.got[0];
}

#define GET ":method", "GET", ":scheme", "http", ":authority", "example.org", ":path"

START_TEST(a_request_and_its_answer)
{
	const struct exchange *e;
	size_t request_at, response_at;

	h2_begin(&w);
	request_at = w.bytes[NET_REQUEST].len;
	response_at = w.bytes[NET_RESPONSE].len;
	h2_get(&w, 1, "/a/b?secret=1", 1234, 100);
	e = only();
	ck_assert_uint_eq(e->index, 1);
	ck_assert_int_eq(e->protocol, EXCHANGE_HTTP2);
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE);
	ck_assert_str_eq(e->method, "GET");
	ck_assert_str_eq(e->scheme, "http");
	ck_assert_str_eq(e->host, "example.org");
	ck_assert(strncmp(e->path, "/a/b?", 5) == 0);
	ck_assert_ptr_null(strstr(e->path, "secret"));
	ck_assert_str_eq(e->version, "2");
	ck_assert_int_eq(e->status, 200);
	ck_assert_str_eq(e->content_type, "text/html");
	ck_assert_int_eq(e->grpc_status, -1);
	ck_assert_int_eq(e->response_length, -1);
	ck_assert_uint_eq(e->request_body, 0);
	ck_assert_uint_eq(e->response_body, 1234);
	ck_assert_uint_eq(e->request_bytes, w.bytes[NET_REQUEST].len - request_at);
	ck_assert_uint_eq(e->response_bytes, w.bytes[NET_RESPONSE].len - response_at);
	ck_assert_uint_eq(e->request_off, 1000 + request_at);
	ck_assert_uint_eq(e->response_off, 1000 + response_at);
	ck_assert(e->request_ns == 100 && e->request_end_ns == 100);
	ck_assert(e->response_ns == 110 && e->response_end_ns == 110);
	ck_assert(e->request_tgid == 10 && e->request_tid == 20);
	ck_assert(e->response_tgid == 11 && e->response_tid == 21);
}
END_TEST

/* What a frame can have around its block and its body. */
START_TEST(padding_and_priority_are_not_of_the_message)
{
	uint8_t payload[600] = { 7, 0x80, 0, 0, 3, 16 };
	const struct exchange *e;
	size_t len;
	uint8_t *block;

	h2_begin(&w);
	block = h2_block(&w, NET_REQUEST, &len, ":method", "POST", ":scheme", "http", ":authority",
			 "h", ":path", "/padded", NULL);
	memcpy(payload + 6, block, len);
	free(block);
	memset(payload + 6 + len, 0x82, 7); /* would be :method GET */
	h2_frame(&w, NET_REQUEST, HTTP2_HEADERS,
		 HTTP2_PADDED | HTTP2_HAS_PRIORITY | HTTP2_END_HEADERS, 1, payload, 6 + len + 7);
	h2_data(&w, NET_REQUEST, 0, 1, 100, 255);
	h2_data(&w, NET_REQUEST, 0, 1, 0, 10);
	h2_data(&w, NET_REQUEST, HTTP2_END_STREAM, 1, 23, 0);
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "204", "content-length", "0");
	h2_call(&w, NET_RESPONSE, 200);
	e = only();
	ck_assert_str_eq(e->method, "POST");
	ck_assert_str_eq(e->path, "/padded");
	ck_assert_uint_eq(e->request_body, 123);
	ck_assert_int_eq(e->status, 204);
	ck_assert_int_eq(e->response_length, 0);
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE);
}
END_TEST

/* END_STREAM is on HEADERS, the last byte in a CONTINUATION. */
START_TEST(a_block_in_many_frames)
{
	const struct exchange *e;
	char path[200];
	size_t len;
	uint8_t *block;

	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = 0;
	h2_begin(&w);
	block = h2_block(&w, NET_REQUEST, &len, GET, path, NULL);
	h2_frame(&w, NET_REQUEST, HTTP2_HEADERS, HTTP2_END_STREAM, 1, block, 3);
	h2_call(&w, NET_REQUEST, 100);
	for (size_t i = 3; i < len - 1; i++)
		h2_frame(&w, NET_REQUEST, HTTP2_CONTINUATION, 0, 1, block + i, 1);
	h2_frame(&w, NET_REQUEST, HTTP2_CONTINUATION, 0, 1, NULL, 0);
	h2_frame(&w, NET_REQUEST, HTTP2_CONTINUATION, HTTP2_END_HEADERS, 1, block + len - 1, 1);
	h2_call(&w, NET_REQUEST, 101);
	free(block);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "404");
	h2_call(&w, NET_RESPONSE, 102);
	e = only();
	ck_assert_str_eq(e->path, path);
	ck_assert(e->request_ns == 100 && e->request_end_ns == 101);
	ck_assert_int_eq(e->status, 404);
}
END_TEST

START_TEST(a_grpc_call_has_its_status_in_the_trailers)
{
	const struct exchange *e;

	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, 0, 1, ":method", "POST", ":scheme", "http", ":path",
		   "/pkg.Service/Method", ":authority", "h:50051", "content-type",
		   "application/grpc+proto", "te", "trailers");
	h2_data(&w, NET_REQUEST, HTTP2_END_STREAM, 1, 15, -1);
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, 0, 1, ":status", "200", "content-type", "application/grpc");
	h2_data(&w, NET_RESPONSE, 0, 1, 20, -1);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, "grpc-status", "14", "grpc-message",
		   "no");
	h2_call(&w, NET_RESPONSE, 200);
	e = only();
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE | EXCHANGE_GRPC);
	ck_assert_int_eq(e->grpc_status, 14);
	ck_assert_int_eq(e->status, 200);
	ck_assert_str_eq(e->path, "/pkg.Service/Method");
	ck_assert_uint_eq(e->response_body, 20);
}
END_TEST

START_TEST(a_grpc_call_that_fails_at_once_has_nothing_but_trailers)
{
	const struct exchange *e;

	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/x", "content-type",
		   "application/grpc");
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "200", "content-type",
		   "application/grpc", "grpc-status", "12");
	h2_call(&w, NET_RESPONSE, 200);
	e = only();
	ck_assert_int_eq(e->grpc_status, 12);
}
END_TEST

START_TEST(interim_responses_are_not_the_response)
{
	const struct exchange *e;

	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, 0, 1, GET, "/x", "expect", "100-continue");
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, 0, 1, ":status", "100");
	h2_call(&w, NET_RESPONSE, 110);
	h2_data(&w, NET_REQUEST, HTTP2_END_STREAM, 1, 5, -1);
	h2_call(&w, NET_REQUEST, 120);
	h2_headers(&w, NET_RESPONSE, 0, 1, ":status", "103", "link", "</x>");
	h2_call(&w, NET_RESPONSE, 130);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "304", "age", "17");
	h2_call(&w, NET_RESPONSE, 140);
	e = only();
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE | EXCHANGE_CONTINUED);
	ck_assert_int_eq(e->status, 304);
	ck_assert_str_eq(e->cache, "not modified");
	ck_assert(e->request_end_ns == 120 && e->response_ns == 140);
}
END_TEST

START_TEST(what_a_cache_has_answered)
{
	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/x");
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 3, GET, "/y");
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 3, ":status", "200", "age", "17");
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "200", "age", "18", "x-cache",
		   "HIT from there");
	h2_call(&w, NET_RESPONSE, 200);
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_uint_eq(r.n, 2);
	ck_assert_str_eq(r.got[0].path, "/y"); /* in the order in which they end */
	ck_assert_str_eq(r.got[0].cache, "age 17");
	ck_assert_str_eq(r.got[1].cache, "HIT from there");
}
END_TEST

static void reset(enum net_direction dir, uint32_t stream, uint32_t error, uint64_t time_ns)
{
	uint8_t code[4] = { 0, 0, 0, (uint8_t)error };

	h2_frame(&w, dir, HTTP2_RST_STREAM, 0, stream, code, sizeof(code));
	h2_call(&w, dir, time_ns);
}

/* What is still on its way when a stream is reset belongs to nobody. */
START_TEST(a_stream_that_is_reset)
{
	const struct exchange *e;

	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/x");
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, 0, 1, ":status", "200");
	h2_data(&w, NET_RESPONSE, 0, 1, 50, -1);
	h2_call(&w, NET_RESPONSE, 200);
	reset(NET_REQUEST, 1, 8, 300);
	h2_data(&w, NET_RESPONSE, 0, 1, 60, -1);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, "grpc-status", "0");
	h2_call(&w, NET_RESPONSE, 400);
	e = only();
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE | EXCHANGE_RESET);
	ck_assert_uint_eq(e->error, 8);
	ck_assert_uint_eq(e->response_body, 50);
	ck_assert_uint_eq(e->response_end_ns, 300);
}
END_TEST

START_TEST(a_server_that_needs_no_more_of_the_request_has_not_failed)
{
	const struct exchange *e;

	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, 0, 1, ":method", "POST", ":scheme", "http", ":path", "/x",
		   ":authority", "h");
	h2_data(&w, NET_REQUEST, 0, 1, 1000, -1);
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "413");
	reset(NET_RESPONSE, 1, 0, 200);
	h2_data(&w, NET_REQUEST, HTTP2_END_STREAM, 1, 1000, -1);
	h2_call(&w, NET_REQUEST, 300);
	e = only();
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE);
	ck_assert_int_eq(e->status, 413);
	ck_assert_uint_eq(e->request_body, 1000);
}
END_TEST

START_TEST(what_a_server_has_not_taken_is_refused)
{
	static const uint8_t goaway[] = { 0, 0, 0, 1, 0, 0, 0, 0, 'b', 'y', 'e' };

	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/1");
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 3, GET, "/3");
	h2_call(&w, NET_REQUEST, 100);
	h2_frame(&w, NET_RESPONSE, HTTP2_GOAWAY, 0, 0, goaway, sizeof(goaway));
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "200");
	h2_call(&w, NET_RESPONSE, 200);
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_uint_eq(r.n, 2);
	ck_assert_str_eq(r.got[0].path, "/3");
	ck_assert_uint_eq(r.got[0].flags, EXCHANGE_RESET);
	ck_assert_uint_eq(r.got[0].error, 7);
	ck_assert_str_eq(r.got[1].path, "/1");
	ck_assert_uint_eq(r.got[1].flags, 0); /* and the connection takes no more */
}
END_TEST

/* Its block is in the table of the server's direction, as all that follow. */
START_TEST(a_push_is_an_exchange_of_its_own)
{
	const struct exchange *e;
	uint8_t payload[600] = { 2, 0, 0, 0, 2 };
	size_t len;
	uint8_t *block;

	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/page");
	h2_call(&w, NET_REQUEST, 100);
	block = h2_block(&w, NET_RESPONSE, &len, GET, "/style.css", "x-new", "1", NULL);
	memcpy(payload + 5, block, len);
	free(block);
	h2_frame(&w, NET_RESPONSE, HTTP2_PUSH_PROMISE, HTTP2_END_HEADERS | HTTP2_PADDED, 1, payload,
		 5 + len + 2);
	h2_call(&w, NET_RESPONSE, 200);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "200", "x-new", "1");
	h2_headers(&w, NET_RESPONSE, 0, 2, ":status", "201", "content-type", "text/css", "x-new",
		   "1");
	h2_data(&w, NET_RESPONSE, HTTP2_END_STREAM, 2, 77, -1);
	h2_call(&w, NET_RESPONSE, 300);
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_uint_eq(r.n, 2);
	e = h2_find(&r, 1);
	ck_assert_str_eq(e->path, "/page");
	e = h2_find(&r, 2);
	ck_assert_str_eq(e->path, "/style.css");
	ck_assert_int_eq(e->status, 201);
	ck_assert_str_eq(e->content_type, "text/css");
	ck_assert_uint_eq(e->response_body, 77);
	ck_assert(e->request_ns == 200 && e->response_ns == 300);
	ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE);
}
END_TEST

static void connect_to(const char *protocol)
{
	h2_begin(&w);
	if (protocol)
		h2_headers(&w, NET_REQUEST, 0, 1, ":method", "CONNECT", ":protocol", protocol,
			   ":scheme", "https", ":path", "/chat", ":authority", "example.org");
	else
		h2_headers(&w, NET_REQUEST, 0, 1, ":method", "CONNECT", ":authority",
			   "example.org:443");
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, 0, 1, ":status", "200");
	h2_call(&w, NET_RESPONSE, 200);
	h2_data(&w, NET_REQUEST, 0, 1, 30, -1);
	h2_call(&w, NET_REQUEST, 300);
	h2_data(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, 40, -1);
	h2_call(&w, NET_RESPONSE, 400);
	h2_data(&w, NET_REQUEST, HTTP2_END_STREAM, 1, 0, -1);
	h2_call(&w, NET_REQUEST, 500);
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_uint_eq(r.n, 2);
	ck_assert_int_eq(r.got[0].protocol, EXCHANGE_HTTP2);
	ck_assert_str_eq(r.got[0].method, "CONNECT");
	ck_assert_uint_eq(r.got[0].response_end_ns, 200);
	ck_assert_uint_eq(r.got[0].request_body, 0);
	ck_assert_uint_eq(r.got[1].request_ns, 200);
	ck_assert_uint_eq(r.got[1].request_body, 30);
	ck_assert_uint_eq(r.got[1].response_body, 40);
	ck_assert(r.got[1].request_end_ns == 500 && r.got[1].response_end_ns == 400);
}

START_TEST(a_tunnel)
{
	connect_to(NULL);
	ck_assert_str_eq(r.got[0].host, "example.org:443");
	ck_assert_str_eq(r.got[0].path, "");
	ck_assert_int_eq(r.got[1].protocol, EXCHANGE_TUNNEL);
}
END_TEST

START_TEST(a_websocket_on_a_stream)
{
	connect_to("websocket");
	ck_assert_str_eq(r.got[0].path, "/chat");
	ck_assert_int_eq(r.got[1].protocol, EXCHANGE_WEBSOCKET);
	ck_assert_str_eq(r.got[1].upgrade, "websocket");
	ck_assert_str_eq(r.got[1].path, "/chat");
}
END_TEST

START_TEST(after_an_upgrade_the_answer_is_on_stream_1)
{
	struct exchange request = { .method = "GET",
				    .path = "/old",
				    .version = "1.1",
				    .upgrade = "h2c",
				    .status = 101,
				    .request_ns = 50,
				    .request_end_ns = 51,
				    .response_ns = 52 };
	struct http2 *h = http2_new(&h2_privacy, false, h2_take, &r);

	memset(&r, 0, sizeof(r));
	ck_assert_ptr_nonnull(h);
	http2_upgraded(h, &request);
	h2_begin(&w);
	h2_headers(&w, NET_RESPONSE, 0, 1, ":status", "200");
	h2_data(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, 11, -1);
	h2_call(&w, NET_RESPONSE, 90);
	h2_get(&w, 3, "/new", 5, 100);
	h2_feed(&w, h, 0, w.n_calls, H2_WHOLE, &r);
	http2_free(h);
	ck_assert_uint_eq(r.n, 2);
	ck_assert_str_eq(r.got[0].path, "/old");
	ck_assert_str_eq(r.got[0].version, "2");
	ck_assert_str_eq(r.got[0].upgrade, "");
	ck_assert_int_eq(r.got[0].status, 200);
	ck_assert_uint_eq(r.got[0].request_ns, 50);
	ck_assert_uint_eq(r.got[0].response_ns, 90);
	ck_assert_uint_eq(r.got[0].response_body, 11);
	ck_assert_str_eq(r.got[1].path, "/new");
}
END_TEST

/* Another thread may have read the answer before the sender's call is over. */
START_TEST(an_answer_that_is_seen_first)
{
	struct h2_call call;

	h2_begin(&w);
	h2_get(&w, 1, "/first", 10, 100);
	h2_get(&w, 3, "/second", 20, 200);
	for (size_t i = w.n_calls - 4; i < w.n_calls; i += 2) {
		call = w.calls[i];
		w.calls[i] = w.calls[i + 1];
		w.calls[i + 1] = call;
	}
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_uint_eq(r.n, 2);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(r.got[i].flags, EXCHANGE_KEEPS_ALIVE);
		ck_assert_str_eq(r.got[i].path, i == 0 ? "/first" : "/second");
		ck_assert_uint_eq(r.got[i].response_body, i == 0 ? 10 : 20);
	}
}
END_TEST

START_TEST(the_end_of_the_connection_and_of_the_recording)
{
	struct http2 *h = http2_new(&h2_privacy, false, h2_take, &r);

	memset(&r, 0, sizeof(r));
	ck_assert_ptr_nonnull(h);
	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/1");
	h2_headers(&w, NET_REQUEST, 0, 3, GET, "/3");
	h2_call(&w, NET_REQUEST, 100);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 3, ":status", "200");
	h2_call(&w, NET_RESPONSE, 200);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 5, GET, "/5");
	h2_call(&w, NET_REQUEST, 300);
	h2_feed(&w, h, 0, w.n_calls, H2_WHOLE, &r);
	ck_assert_uint_eq(h->streams.n, 3);
	http2_fin(h, NET_REQUEST, 400); /* "/3" has its answer, and will not be longer */
	ck_assert_uint_eq(r.n, 1);
	ck_assert_str_eq(r.got[0].path, "/3");
	ck_assert_uint_eq(r.got[0].flags, EXCHANGE_KEEPS_ALIVE | EXCHANGE_CLOSED);
	http2_fin(h, NET_RESPONSE, 500);
	ck_assert_uint_eq(r.n, 3);
	ck_assert_str_eq(r.got[1].path, "/1");
	ck_assert_uint_eq(r.got[1].flags, EXCHANGE_KEEPS_ALIVE | EXCHANGE_CLOSED);
	ck_assert_uint_eq(r.got[1].response_ns, 0);
	http2_end(h, 600, EXCHANGE_INCOMPLETE);
	ck_assert_uint_eq(r.n, 3);
	http2_free(h);
}
END_TEST

START_TEST(no_more_streams_are_kept_than_there_is_room_for)
{
	h2_begin(&w);
	for (uint32_t i = 0; i < 3000; i++)
		h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 2 * i + 1, GET, "/x");
	h2_call(&w, NET_REQUEST, 100);
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_uint_eq(r.n, 3000);
	for (uint32_t i = 0; i < 3000; i++) {
		ck_assert_uint_eq(r.got[i].index, 2 * i + 1);
		ck_assert(r.got[i].flags & EXCHANGE_INCOMPLETE);
	}
}
END_TEST

/* Its names come first; what follows it must do without its entries. */
START_TEST(of_a_block_that_is_too_large_the_beginning_counts)
{
	static char large[20000];
	const struct exchange *e;

	for (size_t i = 0; i < sizeof(large) - 1; i++)
		large[i] = (char)('A' + random() % 26);
	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/1", "x-large", large, "x-small",
		   "1");
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 3, GET, "/3");
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 5, GET, "/3", "x-small", "1");
	h2_call(&w, NET_REQUEST, 100);
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_uint_eq(r.n, 3);
	e = h2_find(&r, 1);
	ck_assert_str_eq(e->path, "/1");
	ck_assert_str_eq(e->host, "example.org");
	ck_assert(e->flags & EXCHANGE_LOST);
	e = h2_find(&r, 3);
	ck_assert_str_eq(e->path, "/3");
	ck_assert(!(e->flags & EXCHANGE_LOST));
	e = h2_find(&r, 5); /* of what was said since, all is known */
	ck_assert_str_eq(e->path, "/3");
}
END_TEST

START_TEST(what_is_not_http2_is_refused)
{
	static const char http1[] = "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n";

	h2_bytes(&w, NET_REQUEST, http1, strlen(http1));
	h2_call(&w, NET_REQUEST, 100);
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_int_lt(r.r, 0);
	ck_assert_uint_eq(r.n, 0);
}
END_TEST

/* What had come of it is forgotten, and a head after it has its nine bytes. */
START_TEST(half_a_preface_and_then_frames)
{
	struct http2 *h = http2_new(&h2_privacy, true, h2_take, &r);

	r.n = 0;
	ck_assert_ptr_nonnull(h);
	h2_bytes(&w, NET_REQUEST, NGHTTP2_CLIENT_MAGIC, 20);
	h2_call(&w, NET_REQUEST, 100);
	h2_frame(&w, NET_REQUEST, HTTP2_SETTINGS, 0, 0, NULL, 0);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/x");
	h2_call(&w, NET_REQUEST, 200);
	h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, 1, ":status", "200");
	h2_call(&w, NET_RESPONSE, 300);
	h2_feed(&w, h, 0, w.n_calls, H2_WHOLE, &r);
	http2_free(h);
	ck_assert_uint_eq(r.n, 1);
	ck_assert_str_eq(r.got[0].path, "/x");
}
END_TEST

START_TEST(noise_within_a_connection_ends_it)
{
	static uint8_t noise[80000];

	memset(noise, 0xff, sizeof(noise));
	h2_begin(&w);
	h2_headers(&w, NET_REQUEST, HTTP2_END_STREAM, 1, GET, "/1");
	h2_call(&w, NET_REQUEST, 100);
	h2_bytes(&w, NET_REQUEST, noise, sizeof(noise));
	h2_call(&w, NET_REQUEST, 200);
	h2_read(&w, H2_WHOLE, &r);
	ck_assert_int_lt(r.r, 0);
	ck_assert_uint_eq(r.n, 1);
	ck_assert_uint_eq(r.got[0].flags,
			  EXCHANGE_KEEPS_ALIVE | EXCHANGE_INCOMPLETE | EXCHANGE_LOST);
}
END_TEST

START_TEST(what_a_connection_begins_with)
{
	ck_assert(http2_is_preface((const uint8_t *)NGHTTP2_CLIENT_MAGIC, 24));
	ck_assert(http2_is_preface((const uint8_t *)NGHTTP2_CLIENT_MAGIC, 3));
	ck_assert(!http2_is_preface((const uint8_t *)"PRI * HTTP/1.1\r\n", 16));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http2");
	TCase *t = tcase_create("http2");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_request_and_its_answer);
	tcase_add_test(t, padding_and_priority_are_not_of_the_message);
	tcase_add_test(t, a_block_in_many_frames);
	tcase_add_test(t, a_grpc_call_has_its_status_in_the_trailers);
	tcase_add_test(t, a_grpc_call_that_fails_at_once_has_nothing_but_trailers);
	tcase_add_test(t, interim_responses_are_not_the_response);
	tcase_add_test(t, what_a_cache_has_answered);
	tcase_add_test(t, a_stream_that_is_reset);
	tcase_add_test(t, a_server_that_needs_no_more_of_the_request_has_not_failed);
	tcase_add_test(t, what_a_server_has_not_taken_is_refused);
	tcase_add_test(t, a_push_is_an_exchange_of_its_own);
	tcase_add_test(t, a_tunnel);
	tcase_add_test(t, a_websocket_on_a_stream);
	tcase_add_test(t, after_an_upgrade_the_answer_is_on_stream_1);
	tcase_add_test(t, an_answer_that_is_seen_first);
	tcase_add_test(t, the_end_of_the_connection_and_of_the_recording);
	tcase_add_test(t, no_more_streams_are_kept_than_there_is_room_for);
	tcase_add_test(t, of_a_block_that_is_too_large_the_beginning_counts);
	tcase_add_test(t, what_is_not_http2_is_refused);
	tcase_add_test(t, half_a_preface_and_then_frames);
	tcase_add_test(t, noise_within_a_connection_ends_it);
	tcase_add_test(t, what_a_connection_begins_with);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
