/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS on the wire: what real programs have said to each other, cut into every kind of
 * piece; and what is missing, foreign or made up.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/buf.h"
#include "net/tls_wire.h"
#include "tls_conversations.h"

#define MAX_TURNS 8
#define MAX_LINES 12
#define NS(line)  (1000 * ((uint64_t)(line) + 1)) /* a line's bytes move at that time */

/* What was told. */
static struct told {
	unsigned n_handshakes, n_turns;
	struct tls_handshake h;
	struct exchange turns[MAX_TURNS];
} told;

static struct net_privacy keep;
static struct tls_wire *wire;

static void on_handshake(void *ctx, const struct tls_handshake *h)
{
	struct told *t = ctx;

	t->n_handshakes++;
	t->h = *h;
}

static void on_turn(void *ctx, const struct exchange *e)
{
	struct told *t = ctx;

	ck_assert_uint_lt(t->n_turns, MAX_TURNS);
	t->turns[t->n_turns++] = *e;
}

static void begin(void)
{
	const struct tls_wire_sinks sinks = { on_handshake, on_turn, &told };

	memset(&told, 0, sizeof(told));
	tls_wire_free(wire);
	wire = tls_wire_new(&keep, &sinks);
	ck_assert_ptr_nonnull(wire);
}

static void tear_down(void)
{
	tls_wire_free(wire);
	wire = NULL;
}

/* ---- conversations ---- */

struct line {
	enum net_direction dir;
	struct buf bytes;
};

struct talk {
	struct line lines[MAX_LINES];
	unsigned n;
};

static unsigned digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static const char *read_bytes(const char *s, struct buf *ret)
{
	static const uint8_t filler[0x10000];

	while (*s && *s != '\n') {
		uint8_t byte;

		if (*s == ' ') {
			s++;
		} else if (*s == '~') {
			ck_assert_int_eq(buf_append(ret, filler, strtoul(s + 1, (char **)&s, 10)),
					 0);
		} else {
			byte = (uint8_t)(digit(s[0]) << 4 | digit(s[1]));
			ck_assert_int_eq(buf_append(ret, &byte, 1), 0);
			s += 2;
		}
	}
	return *s ? s + 1 : s;
}

static void read_talk(const char *s, struct talk *ret)
{
	memset(ret, 0, sizeof(*ret));
	while (*s) {
		struct line *l = &ret->lines[ret->n++];

		ck_assert_uint_le(ret->n, MAX_LINES);
		l->dir = *s == '>' ? NET_REQUEST : NET_RESPONSE;
		s = read_bytes(s + 1, &l->bytes);
	}
}

static void talk_done(struct talk *t)
{
	for (unsigned i = 0; i < t->n; i++)
		buf_done(&t->lines[i].bytes);
}

static uint64_t offs[2];

/* Of the piece the first `known` bytes are there. The copy is as long: valgrind and ASan see more.
 */
static int move_known(enum net_direction dir, uint64_t time_ns, const uint8_t *data, size_t len,
		      size_t known)
{
	uint8_t *copy = malloc(known ? known : 1);
	struct net_piece piece = { .off = offs[dir],
				   .len = len,
				   .n_data = known,
				   .data = copy,
				   .time_ns = time_ns,
				   .tgid = 7,
				   .tid = 70 + dir };
	int r;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, data, known);
	offs[dir] += len;
	r = tls_wire_piece(wire, dir, &piece);
	free(copy);
	return r;
}

static int move(enum net_direction dir, uint64_t time_ns, const uint8_t *data, size_t len)
{
	return move_known(dir, time_ns, data, len, len);
}

static void start(void)
{
	begin();
	offs[0] = offs[1] = 0;
}

/* In pieces of `chunk` bytes; 0: as libraries read, heads of records for themselves. */
static void play_line(const struct line *l, unsigned line, size_t chunk)
{
	size_t at = 0, k;

	while (at < l->bytes.len) {
		if (chunk)
			k = chunk;
		else
			k = 5;
		k = MIN(k, l->bytes.len - at);
		ck_assert_int_eq(move(l->dir, NS(line), l->bytes.data + at, k), 0);
		at += k;
		if (chunk)
			continue;
		k = (size_t)(l->bytes.data[at - 2] << 8 | l->bytes.data[at - 1]);
		ck_assert_int_eq(move(l->dir, NS(line), l->bytes.data + at, k), 0);
		at += k;
	}
}

static void play_lines(const char *text, unsigned n, size_t chunk)
{
	struct talk t;

	start();
	read_talk(text, &t);
	for (unsigned i = 0; i < MIN(n, t.n); i++)
		play_line(&t.lines[i], i, chunk);
	talk_done(&t);
}

static void play(const char *text, size_t chunk)
{
	play_lines(text, MAX_LINES, chunk);
	tls_wire_end(wire, NS(MAX_LINES), EXCHANGE_CLOSED);
}

/* ---- what they have to say ---- */

#define NEVER -1

struct expected {
	const char *text;
	uint16_t version;
	const char *cipher;
	bool resumed, retried, early_data;
	int server_hello, end; /* lines */
	const char *offered, *alpn;
	/* The turn: lines, and bytes with the heads of their records. */
	int request, response, response_end;
	uint64_t request_bytes, response_bytes;
};

static const struct expected all[] = {
	{ conversation_tls13, 0x0304, "TLS_AES_256_GCM_SHA384", false, false, false, 1, 2,
	  "h2,http/1.1", "", 4, 5, 5, 40, 4395 },
	{ conversation_tls13_resumed, 0x0304, "TLS_AES_256_GCM_SHA384", true, false, false, 1, 2,
	  "", "", 4, 5, 5, 40, 3953 },
	{ conversation_tls13_retry, 0x0304, "TLS_AES_256_GCM_SHA384", false, true, false, 3, 4, "",
	  "", 6, 7, 7, 40, 4234 },
	{ conversation_tls13_early, 0x0304, "TLS_AES_256_GCM_SHA384", true, false, true, 1, 2, "",
	  "", 0, 3, 3, 45, 87 },
	{ conversation_tls13_client_auth, 0x0304, "TLS_AES_256_GCM_SHA384", false, false, false, 1,
	  2, "", "", 4, 5, 5, 40, 6538 },
	{ conversation_tls13_gnutls, 0x0304, "TLS_AES_256_GCM_SHA384", false, false, false, 1, 2,
	  "http/1.1", "", 4, 5, 5, 40, 350 },
	{ conversation_tls12, 0x0303, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", false, false,
	  false, 1, 3, "h2,http/1.1", "http/1.1", 4, 5, 5, 47, 5006 },
	{ conversation_tls12_ticket, 0x0303, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", true, false,
	  false, 1, 2, "", "", 2, 3, 3, 47, 3605 },
	{ conversation_tls12_session, 0x0303, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", true,
	  false, false, 1, 2, "", "", 2, 3, 3, 47, 3616 },
	{ conversation_tls12_client_auth, 0x0303, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", false,
	  false, false, 1, 3, "", "", 4, 5, 5, 47, 7152 },
	{ conversation_tls12_gnutls, 0x0303, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", false,
	  false, false, 1, 3, "", "", 4, 5, 5, 47, 357 },
	{ conversation_tls10, 0x0301, "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", false, false, false,
	  1, 3, "", "", 4, 5, 5, 53, 37 + 7093 },
};

static void verify_handshake(const struct expected *x)
{
	const struct tls_handshake *h = &told.h;

	ck_assert_uint_eq(told.n_handshakes, 1);
	ck_assert_str_eq(h->sni, "www.example.org");
	ck_assert_str_eq(h->alpn_offered, x->offered);
	ck_assert_str_eq(h->alpn, x->alpn);
	ck_assert_uint_eq(h->version, x->version);
	ck_assert(h->has_cipher);
	ck_assert_str_eq(tls_cipher_name(h->cipher), x->cipher);
	ck_assert_int_eq(h->resumed, x->resumed);
	ck_assert_int_eq(h->retried, x->retried);
	ck_assert_int_eq(h->early_data, x->early_data);
	ck_assert(!h->failed && !h->lost);
	ck_assert_int_eq(h->alert, -1);
	ck_assert_uint_eq(h->begin_ns, NS(0));
	ck_assert_uint_eq(h->server_hello_ns, NS(x->server_hello));
	ck_assert_uint_eq(h->end_ns, NS(x->end));
	ck_assert_uint_eq(h->failed_ns, 0);
}

static void verify_turn(const struct expected *x)
{
	const struct exchange *e = &told.turns[0];

	ck_assert_uint_eq(told.n_turns, 1);
	ck_assert_uint_eq(e->index, 0);
	ck_assert_int_eq(e->protocol, EXCHANGE_TLS);
	ck_assert_uint_eq(e->flags, 0);
	ck_assert_uint_eq(e->request_ns, NS(x->request));
	ck_assert_uint_eq(e->response_ns, NS(x->response));
	ck_assert_uint_eq(e->response_end_ns, NS(x->response_end));
	ck_assert_uint_eq(e->request_bytes, x->request_bytes);
	ck_assert_uint_eq(e->response_bytes, x->response_bytes);
	ck_assert_uint_eq(e->request_tid, 70);
	ck_assert_uint_eq(e->response_tid, 71);
	ck_assert_uint_gt(e->request_off, 100);
}

START_TEST(conversations_are_understood_however_they_are_cut)
{
	static const size_t chunks[] = { 0, 1, 2, 3, 4, 5, 6, 7, 11, 64, 100, 1000, 16384 };
	const struct expected *x = &all[_i];

	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		play(x->text, chunks[i]);
		verify_handshake(x);
		verify_turn(x);
	}
}
END_TEST

struct alert_expected {
	const char *text;
	const char *alert;
	enum net_direction from;
	uint16_t version;
	int line;
};

static const struct alert_expected alerts[] = {
	{ conversation_tls13_bad_server, "unknown_ca", NET_REQUEST, 0x0304, 2 },
	{ conversation_tls12_no_cipher, "handshake_failure", NET_RESPONSE, 0, 1 },
	{ conversation_tls12_old_server, "protocol_version", NET_RESPONSE, 0, 1 },
};

START_TEST(an_alert_says_who_gave_up_and_why)
{
	const struct alert_expected *x = &alerts[_i];

	for (size_t chunk = 0; chunk < 9; chunk++) {
		play(x->text, chunk);
		ck_assert_uint_eq(told.n_handshakes, 1);
		ck_assert_uint_eq(told.n_turns, 0);
		ck_assert(told.h.failed);
		ck_assert_int_eq(told.h.alert_level, 2);
		ck_assert_str_eq(tls_alert_name(told.h.alert), x->alert);
		ck_assert_int_eq(told.h.alert_from, x->from);
		ck_assert_uint_eq(told.h.version, x->version);
		ck_assert_uint_eq(told.h.failed_ns, NS(x->line));
		ck_assert_uint_eq(told.h.end_ns, 0);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tls_wire");
	TCase *t = tcase_create("tls_wire");
	SRunner *sr;
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, NULL, tear_down);
	tcase_add_loop_test(t, conversations_are_understood_however_they_are_cut, 0,
			    sizeof(all) / sizeof(all[0]));
	tcase_add_loop_test(t, an_alert_says_who_gave_up_and_why, 0,
			    sizeof(alerts) / sizeof(alerts[0]));
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
