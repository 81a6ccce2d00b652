/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 connections of which not all is seen, or not in one piece: the exchanges are the
 * same, or less is known of them; never is one another's.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h2_wire.h"

static struct h2_wire w;
static struct h2_result r, expected;

static void set_up(void)
{
	h2_init(&w);
}

static void tear_down(void)
{
	h2_done(&w);
}

static uint32_t any(uint32_t n)
{
	return (uint32_t)random() % n;
}

/* Which stream it is says its path: no two have the same. */
static void path_of(uint32_t stream, char ret[64])
{
	snprintf(ret, 64, "/path/of/stream/%u", stream);
}

/* Fields of which an encoder keeps some, so that its table moves. */
static void any_field(char name[32], char value[64])
{
	snprintf(name, 32, "x-field-%u", any(12));
	snprintf(value, 64, "value-%u-%0*u", any(5), (int)any(40), any(3));
}

static void any_request(uint32_t stream)
{
	char path[64], name[32], value[64], host[32];
	bool has_body = any(3) == 0;
	uint8_t flags = has_body ? 0 : HTTP2_END_STREAM;

	path_of(stream, path);
	any_field(name, value);
	snprintf(host, sizeof(host), "host-%u", stream % 5);
	if (any(4) == 0) { /* in several frames */
		size_t len, at = 0, n;
		uint8_t *block = h2_block(&w, NET_REQUEST, &len, ":method",
					  has_body ? "POST" : "GET", ":scheme", "http", ":path",
					  path, ":authority", host, name, value, NULL);

		for (; at < len; at += n) {
			n = 1 + any((uint32_t)(len - at));
			h2_frame(&w, NET_REQUEST, at == 0 ? HTTP2_HEADERS : HTTP2_CONTINUATION,
				 (at == 0 ? flags : 0) | (at + n == len ? HTTP2_END_HEADERS : 0),
				 stream, block + at, n);
		}
		free(block);
	} else {
		h2_headers(&w, NET_REQUEST, flags, stream, ":method", has_body ? "POST" : "GET",
			   ":scheme", "http", ":path", path, ":authority", host, name, value);
	}
	if (has_body)
		h2_data(&w, NET_REQUEST, HTTP2_END_STREAM, stream, any(3000), (int)any(30) - 15);
}

static void any_response(uint32_t stream)
{
	static const char *const statuses[] = { "200", "404", "418", "503" };
	char name[32], value[64], type[64];
	bool has_trailers = any(4) == 0;

	any_field(name, value);
	snprintf(type, sizeof(type), "type/%u", stream);
	if (any(12) == 0)
		h2_headers(&w, NET_RESPONSE, 0, stream, ":status", "103");
	h2_headers(&w, NET_RESPONSE, 0, stream, ":status", statuses[stream / 2 % 4], "content-type",
		   type, name, value);
	for (unsigned i = any(4); i > 0; i--)
		h2_data(&w, NET_RESPONSE, 0, stream, any(2) ? any(100) : any(16384),
			(int)any(30) - 15);
	if (has_trailers)
		h2_headers(&w, NET_RESPONSE, HTTP2_END_STREAM, stream, "grpc-status", "5");
	else
		h2_data(&w, NET_RESPONSE, HTTP2_END_STREAM, stream, any(5), -1);
}

/* A long connection with some streams open at any time. */
static void any_connection(unsigned seed, unsigned n_streams)
{
	uint32_t open[8], stream = 1, n = 0, k;
	uint64_t time_ns = 100;

	srandom(seed);
	h2_begin(&w);
	while (n_streams > 0 || n > 0) {
		if (n_streams > 0 && n < 8 && any(2)) {
			any_request(stream);
			open[n++] = stream;
			stream += 2;
			n_streams--;
			if (any(2))
				h2_call(&w, NET_REQUEST, time_ns += 10);
		} else if (n > 0) {
			h2_call(&w, NET_REQUEST, time_ns += 10);
			k = any(n);
			any_response(open[k]);
			open[k] = open[--n];
			if (any(2))
				h2_call(&w, NET_RESPONSE, time_ns += 10);
		}
	}
	h2_call(&w, NET_RESPONSE, time_ns += 10);
}

static void must_be_equal(const struct exchange *a, const struct exchange *b)
{
	ck_assert_msg(memcmp(a, b, sizeof(*a)) == 0,
		      "stream %lu and %lu: %s %s, status %d %d, flags %x %x, body %lu %lu",
		      (unsigned long)a->index, (unsigned long)b->index, a->path, b->path, a->status,
		      b->status, a->flags, b->flags, (unsigned long)a->response_body,
		      (unsigned long)b->response_body);
}

/* The names that it has are right; `want` has all of them. */
static void names_must_be_right(const struct exchange *e, const struct exchange *want)
{
	ck_assert(e->method[0] == 0 || strcmp(e->method, want->method) == 0);
	ck_assert(e->path[0] == 0 || strcmp(e->path, want->path) == 0);
	ck_assert(e->host[0] == 0 || strcmp(e->host, want->host) == 0);
	ck_assert(e->scheme[0] == 0 || strcmp(e->scheme, want->scheme) == 0);
	ck_assert(e->status == 0 || e->status == want->status);
	ck_assert(e->content_type[0] == 0 || strcmp(e->content_type, want->content_type) == 0);
	ck_assert(e->grpc_status == -1 || e->grpc_status == want->grpc_status);
}

/*
 * What there is of each is right, and all of it is there if nothing is said. That an
 * interim response was before what was seen, nothing tells.
 */
static void all_must_be_parts(void)
{
	for (size_t i = 0; i < r.n; i++) {
		const struct exchange *want = h2_find(&expected, r.got[i].index);
		struct exchange *e = &r.got[i];

		names_must_be_right(e, want);
		ck_assert(e->request_ns == 0 || e->request_ns >= want->request_ns);
		ck_assert(e->request_body <= want->request_body);
		ck_assert(e->response_body <= want->response_body);
		ck_assert(e->response_bytes <= want->response_bytes);
		e->response_bytes = want->response_bytes;
		if (e->flags == EXCHANGE_KEEPS_ALIVE)
			must_be_equal(e, want);
	}
}

static void must_be_the_same(enum h2_cut cut)
{
	h2_read(&w, cut, &r);
	ck_assert_int_eq(r.r, 0);
	ck_assert_uint_eq(r.n, expected.n);
	for (size_t i = 0; i < r.n; i++)
		must_be_equal(&r.got[i], &expected.got[i]);
}

START_TEST(any_cuts_give_the_same)
{
	char path[64];

	w.has_tricky_bodies = true;
	any_connection((unsigned)_i + 1, 60);
	h2_read(&w, H2_WHOLE, &expected);
	ck_assert_uint_eq(expected.n, 60);
	for (size_t i = 0; i < expected.n; i++) {
		path_of((uint32_t)expected.got[i].index, path);
		ck_assert_str_eq(expected.got[i].path, path);
		ck_assert_uint_eq(expected.got[i].flags, EXCHANGE_KEEPS_ALIVE);
		ck_assert_int_ne(expected.got[i].status, 0);
	}
	for (int i = 0; i < 10; i++)
		must_be_the_same(H2_CUT);
}
END_TEST

/* Of DATA nothing but the head. */
START_TEST(bodies_need_not_be_copied)
{
	w.has_tricky_bodies = true;
	any_connection((unsigned)_i + 1, 60);
	h2_read(&w, H2_WHOLE, &expected);
	for (int i = 0; i < 10; i++)
		must_be_the_same(H2_COPIED);
}
END_TEST

/* From any call on, and with the bodies not copied. */
START_TEST(joined_late_no_name_is_wrong)
{
	size_t n_named = 0, n_of_new = 0;

	w.has_tricky_bodies = true;
	any_connection((unsigned)_i + 1, 60);
	h2_read(&w, H2_WHOLE, &expected);
	for (size_t first = 1; first < w.n_calls; first += 1 + any(5)) {
		enum h2_cut cut = any(2) ? H2_COPIED : H2_WHOLE;
		struct http2 *h = http2_new(&h2_privacy, true, h2_take, &r);

		r.n = 0;
		h2_feed(&w, h, first, w.n_calls, cut, &r);
		http2_end(h, 1000000, EXCHANGE_INCOMPLETE);
		http2_free(h);
		all_must_be_parts();
		for (size_t i = 0; i < r.n; i++) {
			n_of_new += r.got[i].request_ns != 0;
			n_named += r.got[i].path[0] != 0;
		}
	}
	ck_assert_uint_gt(n_of_new, 0);
	ck_assert_uint_eq(n_named, n_of_new); /* these paths are all new to the table */
}
END_TEST

/*
 * In the middle of a call, and of a frame: bytes that look like a frame and are none may
 * pass for a stream, which has no name.
 */
START_TEST(joined_anywhere_no_name_is_wrong)
{
	size_t n = 0;

	any_connection((unsigned)_i + 1, 60);
	h2_read(&w, H2_WHOLE, &expected);
	for (int i = 0; i < 50; i++) {
		struct http2 *h = http2_new(&h2_privacy, true, h2_take, &r);
		size_t first = any((uint32_t)w.n_calls);
		struct h2_call was = w.calls[first], *c = &w.calls[first];
		uint32_t skip = any((uint32_t)c->len);

		r.n = 0;
		c->at += skip;
		c->len -= skip;
		h2_feed(&w, h, first, w.n_calls, any(2) ? H2_COPIED : H2_CUT, &r);
		w.calls[first] = was;
		http2_end(h, 1000000, EXCHANGE_INCOMPLETE);
		http2_free(h);
		for (size_t k = 0; k < r.n; k++) {
			if (r.got[k].index % 2 == 1 && r.got[k].index < 120)
				names_must_be_right(&r.got[k], h2_find(&expected, r.got[k].index));
			else
				ck_assert(!r.got[k].path[0] && !r.got[k].host[0]);
		}
		n += r.n;
	}
	ck_assert_uint_gt(n, 0);
}
END_TEST

/* Calls that were lost: what follows is found again, and is either right or not there. */
START_TEST(after_a_loss_no_name_is_wrong)
{
	size_t n_whole = 0;

	w.has_tricky_bodies = true;
	any_connection((unsigned)_i + 1, 60);
	h2_read(&w, H2_WHOLE, &expected);
	for (int i = 0; i < 20; i++) {
		struct http2 *h = http2_new(&h2_privacy, false, h2_take, &r);
		enum h2_cut cut = any(2) ? H2_COPIED : H2_WHOLE;
		size_t lost = 3 + any((uint32_t)w.n_calls - 3);

		r.n = 0;
		h2_feed(&w, h, 0, lost, cut, &r);
		h2_feed(&w, h, lost + 1 + any(3), w.n_calls, cut, &r);
		http2_end(h, 1000000, EXCHANGE_INCOMPLETE);
		http2_free(h);
		all_must_be_parts();
		for (size_t k = 0; k < r.n; k++)
			n_whole += r.got[k].path[0] && r.got[k].status && r.got[k].response_end_ns;
	}
	ck_assert_uint_ge(n_whole, 20 * 40);
}
END_TEST

/* What is over is told, not kept until the connection ends. */
START_TEST(streams_of_before_do_not_pile_up)
{
	struct http2 *h = http2_new(&h2_privacy, true, h2_take, &r);

	r.n = 0;
	any_connection(1, 500);
	h2_feed(&w, h, w.n_calls / 3, w.n_calls, H2_COPIED, &r);
	ck_assert_uint_le(h->streams.n, 1);
	http2_free(h);
}
END_TEST

START_TEST(a_beginning_that_is_seen_is_not_late)
{
	struct http2 *h = http2_new(&h2_privacy, true, h2_take, &r);

	any_connection(1, 60);
	h2_read(&w, H2_WHOLE, &expected);
	r.n = 0;
	h2_feed(&w, h, 0, w.n_calls, H2_COPIED, &r);
	http2_free(h);
	ck_assert_uint_eq(r.n, expected.n);
	for (size_t i = 0; i < r.n; i++)
		must_be_equal(&r.got[i], &expected.got[i]);
}
END_TEST

/* Of the table's entries of before none is known; of the static table's, all are. */
START_TEST(names_of_before_are_left_out)
{
	const struct exchange *e;
	struct http2 *h = http2_new(&h2_privacy, true, h2_take, &r);

	r.n = 0;
	h2_begin(&w);
	for (uint32_t i = 0; i < 5; i++)
		h2_get(&w, 2 * i + 1, i == 3 ? "/other" : "/same", 10, 100 * (i + 1));
	h2_feed(&w, h, w.n_calls - 6, w.n_calls, H2_WHOLE, &r);
	http2_free(h);
	ck_assert_uint_eq(r.n, 3);
	for (size_t i = 0; i < 3; i++) {
		e = &r.got[i];
		ck_assert_str_eq(e->method, "GET");
		ck_assert_str_eq(e->scheme, "http");
		ck_assert_str_eq(e->host, "");
		ck_assert_str_eq(e->path, i == 1 ? "/other" : "/same"); /* is never in it */
		ck_assert_int_eq(e->status, 200);
		ck_assert_str_eq(e->content_type, "");
		ck_assert_uint_eq(e->response_body, 10);
		ck_assert_uint_eq(e->flags, EXCHANGE_KEEPS_ALIVE | EXCHANGE_JOINED_LATE);
		ck_assert(e->request_ns == 300 + 100 * i && e->response_ns == 310 + 100 * i);
	}
}
END_TEST

/* As when a server's port is above the client's. */
START_TEST(joined_late_with_the_sides_mistaken)
{
	struct http2 *h = http2_new(&h2_privacy, true, h2_take, &r);
	size_t n = 0;

	r.n = 0;
	any_connection(1, 60);
	h2_read(&w, H2_WHOLE, &expected);
	for (size_t i = 0; i < w.n_calls; i++) /* the bytes remain where they are */
		w.calls[i].is_mistaken = true;
	h2_feed(&w, h, w.n_calls / 4, w.n_calls, H2_COPIED, &r);
	ck_assert(http2_is_reversed(h));
	http2_free(h);
	all_must_be_parts();
	for (size_t i = 0; i < r.n; i++)
		n += r.got[i].path[0] && r.got[i].status && r.got[i].request_ns &&
		     r.got[i].response_ns;
	ck_assert_uint_ge(n, 30);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http2_cuts");
	TCase *t = tcase_create("http2_cuts");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, any_cuts_give_the_same, 0, 10);
	tcase_add_loop_test(t, bodies_need_not_be_copied, 0, 10);
	tcase_add_loop_test(t, joined_late_no_name_is_wrong, 0, 10);
	tcase_add_loop_test(t, joined_anywhere_no_name_is_wrong, 0, 10);
	tcase_add_loop_test(t, after_a_loss_no_name_is_wrong, 0, 10);
	tcase_add_test(t, streams_of_before_do_not_pile_up);
	tcase_add_test(t, joined_late_with_the_sides_mistaken);
	tcase_add_test(t, a_beginning_that_is_seen_is_not_late);
	tcase_add_test(t, names_of_before_are_left_out);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
