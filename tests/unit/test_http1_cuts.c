/* SPDX-License-Identifier: Apache-2.0 */
/* However a conversation is cut into pieces, the exchanges are the same. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http1_talk.h"
#include "net/http1_kept.h"

/* What one side says before the other goes on; `unknown` bytes follow. */
struct turn {
	enum net_direction dir;
	const char *text;
	uint64_t unknown;
};

#define Q NET_REQUEST
#define A NET_RESPONSE

static const struct turn plain[] = {
	{ Q, "GET /1?a=b HTTP/1.1\r\nHost: a\r\nCookie: c\r\n\r\nHEAD /2 HTTP/1.1\r\n\r\n", 0 },
	{ A,
	  "HTTP/1.1 200 OK\r\nContent-Type: text/html;\r\n charset=x\r\nContent-Length: "
	  "5\r\n\r\n\r\n\r\n1",
	  0 },
	{ Q, "OPTIONS * HTTP/1.1\nHost:b\n\n\r\nGET http://c/4 HTTP/1.0\r\n\r\n", 0 },
	{ A,
	  "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\nHTTP/1.1 103 Early\r\nLink: "
	  "a\r\n\r\nHTTP/1.1 204 No\r\nConnection: close\r\n\r\n",
	  0 },
	{ A, "HTTP/1.0 404 No\r\nX-Cache: HIT\r\n  from x\r\nContent-Length: 1000\r\n\r\n", 1000 },
	{ Q, "GET /5 HTTP/1.1\r\n\r\n", 0 },
	{ A, "HTTP/1.1 304 Not\r\nContent-Length: 12\r\nAge: 3\r\n\r\n", 0 },
	{ Q, "GET /6 HTTP/1.1\r\n\r\n", 0 },
	{ A, "HTTP/1.1 200 OK\r\n\r\nGET / HTTP/1.1\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", 100 },
};

static const struct turn bodies[] = {
	{ Q,
	  "POST /1 HTTP/1.1\r\nExpect: 100-continue\r\nTransfer-Encoding: gzip\r\n"
	  "Transfer-encoding: chunked\r\n\r\n",
	  0 },
	{ A, "HTTP/1.1 100 Continue\r\n\r\n", 0 },
	{ Q, "5;a=\"b\"\r\nabc\r\n\r\nA\r\n0123456789\r\n0\r\nA: b\r\nC: d\r\n\r\n", 0 },
	{ A, "HTTP/1.1 201 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1F40\r\n", 8000 },
	{ A, "\r\n0\r\n\r\n", 0 },
	{ Q, "PUT /2 HTTP/1.1\r\nContent-Length: 30\r\n\r\n0123456789", 0 },
	{ A, "HTTP/1.1 413 No\r\nContent-Length: 2\r\n\r\nno", 0 },
	{ Q, "01234567890123456789FOO /3 HTTP/1.1\r\n\r\n", 0 },
	{ A, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 1000 },
	{ Q, "GET /4 HTTP/1.1\r\n\r\n", 0 },
	{ A, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcdef", 0 },
	{ Q, "GET /5 HTTP/1.1\r\nHost: a\r\nCook", 1000 },
	{ A, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 0 },
	{ Q, "DELETE /6 HTTP/1.1\r\nContent-Length: 3\r\n\r\na", 0 },
};

static const struct turn websocket[] = {
	{ Q, "GET /1 HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", 0 },
	{ A, "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n\r\n\x81\x05hello", 50 },
	{ Q, "\x81\x85GET / HTTP/1.1\r\n\r\n", 10 },
	{ A, "HTTP/1.1 200 OK\r\n\r\n", 0 },
};

static uint32_t state;

static uint32_t random_below(uint32_t n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

/* All pieces of a turn have its time: what cuts change is only where pieces end. */
static void say(struct talk *t, const struct turn *turn, uint64_t time_ns, uint32_t max)
{
	size_t known = strlen(turn->text);
	uint64_t len = known + turn->unknown;

	for (uint64_t at = 0; at < len;) {
		uint64_t n = max ? 1 + random_below(max) : len;

		if (n > len - at)
			n = len - at;
		t->time_ns = time_ns - 1;
		talk_piece(t, turn->dir, turn->text + (at < known ? at : known),
			   at >= known	    ? 0
			   : n < known - at ? n
					    : known - at,
			   n);
		at += n;
	}
}

static void hold(struct talk *t, const struct turn *turns, size_t n, uint32_t max)
{
	talk_begin(t);
	for (size_t i = 0; i < n; i++)
		say(t, &turns[i], i + 1, max);
	if (turns == plain)
		http1_fin(t->http1, NET_RESPONSE, n + 1);
	http1_end(t->http1, n + 1, EXCHANGE_CLOSED);
	talk_done(t);
}

static void check_cuts(const struct turn *turns, size_t n, unsigned n_exchanges)
{
	struct talk *whole = calloc(1, sizeof(*whole)), *cut = calloc(1, sizeof(*cut));

	ck_assert(whole && cut);
	hold(whole, turns, n, 0);
	ck_assert_uint_eq(whole->n, n_exchanges);
	for (unsigned i = 0; i < n_exchanges; i++)
		ck_assert_int_eq(whole->got[i].path[1], i == 2 && turns == plain ? 0
							: turns == websocket	 ? '1'
										 : (int)('1' + i));
	for (state = 1; state < 640; state++) {
		uint32_t seed = state;

		hold(cut, turns, n, seed % 64 + 1);
		ck_assert_msg(cut->n == n_exchanges, "seed %u: %u exchanges", seed, cut->n);
		for (unsigned i = 0; i < n_exchanges; i++)
			ck_assert_msg(memcmp(&cut->got[i], &whole->got[i], sizeof(cut->got[i])) ==
					      0,
				      "seed %u: exchange %u", seed, i);
		state = seed;
	}
	free(whole);
	free(cut);
}

START_TEST(plain_exchanges)
{
	check_cuts(plain, sizeof(plain) / sizeof(plain[0]), 6);
}
END_TEST

START_TEST(exchanges_with_bodies)
{
	check_cuts(bodies, sizeof(bodies) / sizeof(bodies[0]), 6);
}
END_TEST

START_TEST(another_protocol_afterwards)
{
	check_cuts(websocket, sizeof(websocket) / sizeof(websocket[0]), 2);
}
END_TEST

/* What is kept of a head that comes in parts, its room beyond the end, too. */
static void check_kept(uint32_t max)
{
	static const char head[] =
		"GET /a?b=SECRET HTTP/1.1\r\nAuthorization: SECRET\r\nHost: a\r\n"
		"Cookie:\r\n SECRET: SECRET\r\n\tSECRET\r\nAge:\r\n 1\r\nno colon SECRET\r\n"
		"X-Age : SECRET\r\nConnection : close\r\n\r\nbody";
	static const char kept[] = "GET /a? HTTP/1.1\r\nHost: a\r\nAge:\r\n 1\r\nConnection : "
				   "close\r\n\r\n";
	const struct net_privacy p = { .query = NET_QUERY_HIDE };
	struct http1_kept k = { 0 };
	size_t at = 0;

	while (!k.is_over) {
		size_t n = 1 + random_below(max), line = strcspn(head, "\n") + 1;

		n = n < sizeof(head) - 1 - at ? n : sizeof(head) - 1 - at;
		ck_assert_uint_gt(n, 0);
		at += (size_t)http1_keep(&k, &p, (const uint8_t *)head + at, n);
		ck_assert_uint_eq(k.n_seen, at);
		if (at >= line)
			ck_assert_ptr_null(memmem(k.data, k.len, "SECR", 4));
	}
	ck_assert_uint_eq(at, sizeof(head) - 5);
	ck_assert_uint_eq(k.len, sizeof(kept) - 1);
	ck_assert_mem_eq(k.data, kept, k.len);
	http1_forget(&k);
	ck_assert_ptr_null(k.data);
}

START_TEST(of_fields_that_nobody_reads_nothing_is_kept)
{
	for (state = 1; state < 500; state++) {
		uint32_t seed = state;

		check_kept(seed % 40 + 1);
		state = seed;
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("http1_cuts");
	TCase *tc = tcase_create("http1_cuts");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, plain_exchanges);
	tcase_add_test(tc, exchanges_with_bodies);
	tcase_add_test(tc, another_protocol_afterwards);
	tcase_add_test(tc, of_fields_that_nobody_reads_nothing_is_kept);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
