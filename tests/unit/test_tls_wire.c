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

/* ---- made up: a handshake, and records behind it ---- */

/* A record of `len` bytes that mean nothing; of the piece `known` are known. */
static void say_known(enum net_direction dir, unsigned line, uint8_t type, size_t len, size_t known)
{
	static uint8_t record[5 + 0x10000];

	record[0] = type;
	record[1] = record[2] = 3;
	record[3] = (uint8_t)(len >> 8);
	record[4] = (uint8_t)len;
	ck_assert_int_eq(move_known(dir, NS(line), record, 5 + len, MIN(known, 5 + len)), 0);
}

static void say(enum net_direction dir, unsigned line, uint8_t type, size_t len)
{
	say_known(dir, line, type, len, SIZE_MAX);
}

/* So many lines of them are the handshake. */
#define LINES_13 3
#define LINES_12 4

START_TEST(turns_follow_each_other)
{
	play_lines(conversation_tls13, LINES_13, 1000);
	say(NET_RESPONSE, 10, 23, 200); /* a ticket, perhaps */
	say(NET_REQUEST, 11, 23, 100);
	say(NET_REQUEST, 12, 23, 50);
	say(NET_RESPONSE, 13, 23, 16401);
	say(NET_RESPONSE, 14, 23, 1000);
	ck_assert_uint_eq(told.n_turns, 0);
	say(NET_REQUEST, 15, 23, 30);
	ck_assert_uint_eq(told.n_turns, 1);
	ck_assert_uint_eq(told.turns[0].request_ns, NS(11));
	ck_assert_uint_eq(told.turns[0].request_end_ns, NS(12));
	ck_assert_uint_eq(told.turns[0].request_bytes, 160);
	ck_assert_uint_eq(told.turns[0].response_ns, NS(13));
	ck_assert_uint_eq(told.turns[0].response_end_ns, NS(14));
	ck_assert_uint_eq(told.turns[0].response_bytes, 16406 + 1005);
	ck_assert_uint_eq(told.turns[0].response_off, offs[NET_RESPONSE] - 16406 - 1005);
	say(NET_RESPONSE, 16, 23, 10);
	tls_wire_fin(wire, NET_RESPONSE, NS(17));
	ck_assert_uint_eq(told.n_turns, 2);
	ck_assert_uint_eq(told.turns[1].index, 1);
	ck_assert_uint_eq(told.turns[1].flags, 0);
	tls_wire_end(wire, NS(18), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 2);
	ck_assert_uint_eq(told.n_handshakes, 1);
}
END_TEST

START_TEST(two_equal_tickets_are_no_response)
{
	play_lines(conversation_tls13, LINES_13, 1000);
	say(NET_REQUEST, 11, 23, 100);
	say(NET_RESPONSE, 12, 23, 250);
	say(NET_RESPONSE, 12, 23, 250);
	say(NET_RESPONSE, 13, 23, 250);
	tls_wire_end(wire, NS(18), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 1);
	ck_assert_uint_eq(told.turns[0].response_ns, NS(13));
	ck_assert_uint_eq(told.turns[0].response_bytes, 255);
	/* Once they have been there, others are none. */
	play_lines(conversation_tls13, LINES_13 + 1, 1000);
	say(NET_REQUEST, 11, 23, 100);
	say(NET_RESPONSE, 12, 23, 250);
	say(NET_RESPONSE, 13, 23, 250);
	tls_wire_end(wire, NS(18), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 1);
	ck_assert_uint_eq(told.turns[0].response_bytes, 510);
}
END_TEST

START_TEST(one_ticket_is_no_response_of_a_resumed_session)
{
	for (int resumed = 0; resumed < 2; resumed++) {
		play_lines(resumed ? conversation_tls13_resumed : conversation_tls13, LINES_13,
			   1000);
		say(NET_REQUEST, 11, 23, 100);
		say(NET_RESPONSE, 12, 23, 250);
		say(NET_RESPONSE, 13, 23, 300);
		say(NET_RESPONSE, 14, 23, 300);
		tls_wire_end(wire, NS(18), EXCHANGE_CLOSED);
		ck_assert_uint_eq(told.n_turns, 1);
		ck_assert_uint_eq(told.turns[0].response_ns, NS(resumed ? 13 : 12));
		ck_assert_uint_eq(told.turns[0].response_bytes, 610 + (resumed ? 0 : 255));
		/* If it is all there is, it is the response. */
		play_lines(conversation_tls13_resumed, LINES_13, 1000);
		say(NET_REQUEST, 11, 23, 100);
		say(NET_RESPONSE, 12, 23, 250);
		tls_wire_end(wire, NS(18), EXCHANGE_CLOSED);
		ck_assert_uint_eq(told.turns[0].response_bytes, 255);
	}
}
END_TEST

START_TEST(a_turn_without_an_end_says_so)
{
	static const uint32_t flags[] = { EXCHANGE_CLOSED, EXCHANGE_INCOMPLETE };
	static const uint8_t half[] = { 23, 3, 3, 1, 0, 1, 2, 3 };

	for (int i = 0; i < 2; i++) {
		play_lines(conversation_tls12, LINES_12, 1000);
		say(NET_REQUEST, 11, 23, 100);
		tls_wire_end(wire, NS(12), flags[i]);
		ck_assert_uint_eq(told.n_turns, 1);
		ck_assert_uint_eq(told.turns[0].flags, flags[i]);
		ck_assert_uint_eq(told.turns[0].response_ns, 0);

		play_lines(conversation_tls12, LINES_12, 1000);
		say(NET_REQUEST, 11, 23, 100);
		ck_assert_int_eq(move(NET_RESPONSE, NS(12), half, sizeof(half)), 0);
		tls_wire_end(wire, NS(13), flags[i]);
		ck_assert_uint_eq(told.n_turns, 1);
		ck_assert_uint_eq(told.turns[0].flags, flags[i]);
		ck_assert_uint_eq(told.turns[0].response_bytes, sizeof(half));
	}
}
END_TEST

START_TEST(a_server_may_speak_first)
{
	play_lines(conversation_tls12_gnutls, LINES_12, 1000);
	say(NET_RESPONSE, 10, 23, 60);
	say(NET_REQUEST, 11, 23, 40);
	tls_wire_end(wire, NS(12), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 2);
	ck_assert_uint_eq(told.turns[0].flags, EXCHANGE_NO_REQUEST);
	ck_assert_uint_eq(told.turns[0].response_bytes, 65);
	ck_assert_uint_eq(told.turns[1].request_bytes, 45);
	/* Where HTTP was agreed on, it does not. */
	play_lines(conversation_tls12, LINES_12, 1000);
	say(NET_RESPONSE, 10, 23, 60);
	tls_wire_end(wire, NS(12), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 0);
}
END_TEST

/* ---- what is not known ---- */

START_TEST(heads_of_records_are_enough)
{
	play_lines(conversation_tls13, LINES_13, 1000);
	for (unsigned i = 0; i < 3; i++) {
		say_known(NET_REQUEST, 10 + 2 * i, 23, 300, 5);
		say_known(NET_RESPONSE, 11 + 2 * i, 23, 16401, 5);
	}
	say_known(NET_REQUEST, 20, 23, 19, 5); /* close_notify */
	tls_wire_end(wire, NS(21), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(told.turns[i].flags, 0);
		ck_assert_uint_eq(told.turns[i].request_bytes, 305);
		ck_assert_uint_eq(told.turns[i].response_bytes, 16406);
	}
}
END_TEST

START_TEST(without_heads_there_are_turns_all_the_same)
{
	play_lines(conversation_tls13, LINES_13, 1000);
	for (unsigned i = 0; i < 3; i++) {
		say_known(NET_REQUEST, 10 + 2 * i, 23, 300, 0);
		say_known(NET_RESPONSE, 11 + 2 * i, 23, 60000, 0);
	}
	say_known(NET_REQUEST, 20, 23, 19, 0);
	tls_wire_end(wire, NS(21), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(told.turns[i].request_bytes, 305);
		ck_assert_uint_eq(told.turns[i].response_bytes, 60005);
		ck_assert_uint_eq(told.turns[i].response_ns, NS(11 + 2 * i));
	}
}
END_TEST

START_TEST(heads_for_themselves_are_part_of_what_follows)
{
	play_lines(conversation_tls12, LINES_12, 1000);
	for (unsigned i = 0; i < 3; i++) {
		say_known(NET_REQUEST, 10 + 3 * i, 23, 0, 0);
		say_known(NET_REQUEST, 11 + 3 * i, 23, 295, 0);
		say_known(NET_RESPONSE, 12 + 3 * i, 23, 60000, 0);
	}
	say_known(NET_REQUEST, 20, 23, 0, 0);
	say_known(NET_REQUEST, 20, 23, 21, 0); /* 26 bytes: close_notify */
	tls_wire_end(wire, NS(21), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 3);
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(told.turns[i].flags, 0);
		ck_assert_uint_eq(told.turns[i].request_ns, NS(10 + 3 * i));
		ck_assert_uint_eq(told.turns[i].request_bytes, 305);
	}
}
END_TEST

/* The whole second line is one piece, of which as much is known as is copied of one. */
START_TEST(a_certificate_may_be_longer_than_what_is_copied)
{
	struct talk t;

	read_talk(conversation_tls12, &t);
	for (size_t known = 200; known < t.lines[1].bytes.len; known += 11) {
		start();
		play_line(&t.lines[0], 0, 1000);
		ck_assert_int_eq(move_known(NET_RESPONSE, NS(1), t.lines[1].bytes.data,
					    t.lines[1].bytes.len, known),
				 0);
		play_line(&t.lines[2], 2, 1000);
		play_line(&t.lines[3], 3, 1000);
		ck_assert_uint_eq(told.n_handshakes, 1);
		ck_assert(!told.h.failed);
		ck_assert_uint_eq(told.h.version, 0x0303);
		ck_assert_str_eq(told.h.alpn, "http/1.1");
		ck_assert_uint_eq(told.h.end_ns, NS(3));
		ck_assert(!told.h.resumed);
	}
	talk_done(&t);
}
END_TEST

START_TEST(a_hole_within_a_record_is_passed_over)
{
	play_lines(conversation_tls13, LINES_13, 1000);
	say(NET_REQUEST, 10, 23, 300);
	ck_assert_int_eq(move(NET_RESPONSE, NS(11), (const uint8_t[]){ 23, 3, 3, 1, 0, 9 }, 6), 0);
	offs[NET_RESPONSE] += 255; /* nobody has told of the rest */
	say(NET_RESPONSE, 12, 23, 100);
	tls_wire_end(wire, NS(13), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 1);
	ck_assert_uint_eq(told.turns[0].flags, 0);
	ck_assert_uint_eq(told.turns[0].response_bytes, 261 + 105);
}
END_TEST

START_TEST(behind_a_hole_the_next_piece_with_a_head_begins_a_record)
{
	play_lines(conversation_tls13, LINES_13, 1000);
	say(NET_REQUEST, 10, 23, 300);
	say(NET_RESPONSE, 11, 23, 100);
	offs[NET_RESPONSE] += 5000;
	say(NET_RESPONSE, 12, 23, 200);
	say(NET_RESPONSE, 13, 23, 19); /* is known to be no data again */
	tls_wire_end(wire, NS(13), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_turns, 1);
	ck_assert_uint_eq(told.turns[0].flags, EXCHANGE_LOST);
	ck_assert_uint_eq(told.turns[0].response_bytes, 105 + 205);
}
END_TEST

/* One line of a handshake was never told of. */
static void play_without(const char *text, unsigned missing, bool blind)
{
	struct talk t;

	start();
	read_talk(text, &t);
	for (unsigned i = 0; i < t.n; i++) {
		const struct line *l = &t.lines[i];

		if (i == missing && !blind)
			offs[l->dir] += l->bytes.len;
		else if (i == missing)
			ck_assert_int_eq(move_known(l->dir, NS(i), l->bytes.data, l->bytes.len, 0),
					 0);
		else
			play_line(l, i, 0x10000);
	}
	talk_done(&t);
	tls_wire_end(wire, NS(MAX_LINES), EXCHANGE_CLOSED);
}

static void verify_without(const struct expected *x, unsigned missing)
{
	uint64_t bytes = 0;

	ck_assert_uint_eq(told.n_handshakes, 1);
	ck_assert_msg(told.h.lost, "without line %u", missing);
	ck_assert_msg(!told.h.failed, "without line %u", missing);
	for (unsigned i = 0; i < told.n_turns; i++)
		bytes += told.turns[i].response_bytes;
	/* What an early request is answered with may be taken for the handshake's. */
	if (!x->early_data)
		ck_assert_uint_ge(bytes, x->response_bytes);
	if (missing > 0)
		ck_assert_str_eq(told.h.sni, "www.example.org");
	if (missing != (unsigned)x->server_hello)
		ck_assert_uint_eq(told.h.version, x->version);
}

START_TEST(a_handshake_goes_on_without_a_part_of_it)
{
	const struct expected *x = &all[_i];

	for (unsigned missing = 0; missing <= (unsigned)x->end; missing++) {
		play_without(x->text, missing, false);
		verify_without(x, missing);
		play_without(x->text, missing, true);
		verify_without(x, missing);
	}
}
END_TEST

START_TEST(tls_may_begin_behind_something_else)
{
	struct talk t;

	for (size_t chunk = 5; chunk < 1000; chunk += 83) {
		start();
		read_talk(conversation_tls13, &t);
		offs[0] = 120; /* CONNECT, and that it is all right */
		offs[1] = 40;
		for (unsigned i = 0; i < t.n; i++)
			play_line(&t.lines[i], i, chunk);
		talk_done(&t);
		tls_wire_end(wire, NS(MAX_LINES), EXCHANGE_CLOSED);
		verify_handshake(&all[0]);
		verify_turn(&all[0]);
	}
}
END_TEST

START_TEST(who_joins_late_has_turns_and_no_handshake)
{
	start();
	offs[0] = offs[1] = 12345;
	say(NET_REQUEST, 1, 23, 300);
	say(NET_RESPONSE, 2, 23, 400);
	say(NET_RESPONSE, 3, 21, 26); /* close_notify of TLS 1.2 */
	tls_wire_end(wire, NS(4), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_handshakes, 0);
	ck_assert_uint_eq(told.n_turns, 1);
	ck_assert_uint_eq(told.turns[0].request_bytes, 305);

	start();
	offs[0] = offs[1] = 12345;
	say(NET_RESPONSE, 3, 21, 26);
	tls_wire_end(wire, NS(4), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_handshakes, 0);
	ck_assert_uint_eq(told.n_turns, 0);
}
END_TEST

/* ---- how it fails ---- */

START_TEST(a_connection_that_ends_too_early_has_failed)
{
	for (unsigned lines = 1; lines < LINES_12; lines++) {
		play_lines(conversation_tls12, lines, 1000);
		tls_wire_fin(wire, NET_RESPONSE, NS(9));
		ck_assert_uint_eq(told.n_handshakes, 0);
		tls_wire_fin(wire, NET_REQUEST, NS(10));
		ck_assert_uint_eq(told.n_handshakes, 1);
		ck_assert(told.h.failed);
		ck_assert_uint_eq(told.h.failed_ns, NS(10));
		ck_assert_int_eq(told.h.alert, -1);
		tls_wire_end(wire, NS(11), EXCHANGE_CLOSED);
		ck_assert_uint_eq(told.n_handshakes, 1);

		play_lines(conversation_tls12, lines, 1000);
		tls_wire_end(wire, NS(9), EXCHANGE_INCOMPLETE); /* it is the recording that ends */
		ck_assert_uint_eq(told.n_handshakes, 1);
		ck_assert(!told.h.failed);
		ck_assert_uint_eq(told.h.end_ns, 0);
	}
}
END_TEST

START_TEST(an_encrypted_alert_is_told_by_its_length)
{
	for (int dir = 0; dir < 2; dir++) {
		play_lines(conversation_tls13, 2, 1000);
		say(dir, 5, 23, 19);
		ck_assert_uint_eq(told.n_handshakes, 1);
		ck_assert(told.h.failed);
		ck_assert_int_eq(told.h.alert, -1);
		ck_assert_int_eq(told.h.alert_from, dir);
		ck_assert_uint_eq(told.h.failed_ns, NS(5));
		say(NET_REQUEST, 6, 23, 100);
		tls_wire_end(wire, NS(7), EXCHANGE_CLOSED);
		ck_assert_uint_eq(told.n_turns, 0);
		ck_assert_uint_eq(told.n_handshakes, 1);
	}
}
END_TEST

START_TEST(a_warning_is_no_failure)
{
	static const uint8_t warning[] = { 21, 3, 3, 0, 2, 1, 112 };
	struct talk t;

	start();
	read_talk(conversation_tls12, &t);
	play_line(&t.lines[0], 0, 1000);
	ck_assert_int_eq(move(NET_RESPONSE, NS(1), warning, sizeof(warning)), 0);
	for (unsigned i = 1; i < LINES_12; i++)
		play_line(&t.lines[i], i, 1000);
	talk_done(&t);
	ck_assert_uint_eq(told.n_handshakes, 1);
	ck_assert(!told.h.failed);
	ck_assert_str_eq(tls_alert_name(told.h.alert), "unrecognized_name");
	ck_assert_int_eq(told.h.alert_level, 1);
}
END_TEST

START_TEST(what_is_not_tls_is_refused)
{
	/* SSL 2's hello for SSL 3 and later; a request; a ServerHello of a client. */
	static const uint8_t ssl2[] = { 0x80, 0x2e, 0x01, 0x03, 0x01, 0x00, 0x15, 0x00, 0x00 };
	static const uint8_t http[] = "GET / HTTP/1.1\r\n\r\n";
	static const uint8_t hello[] = { 22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3 };
	static const uint8_t odd[] = { 22, 3, 3, 0xff, 0xff };

	start();
	ck_assert_int_eq(move(NET_REQUEST, NS(0), ssl2, sizeof(ssl2)), -EPROTO);
	start();
	ck_assert_int_eq(move(NET_REQUEST, NS(0), http, sizeof(http)), -EPROTO);
	start();
	ck_assert_int_eq(move(NET_REQUEST, NS(0), hello, sizeof(hello)), -EPROTO);
	start();
	ck_assert_int_eq(move(NET_REQUEST, NS(0), odd, sizeof(odd)), -EPROTO);
	tls_wire_end(wire, NS(1), EXCHANGE_CLOSED);
	ck_assert_uint_eq(told.n_handshakes, 0);
	/* A server that answers in clear text. */
	play_lines(conversation_tls12, 1, 1000);
	ck_assert_int_eq(move(NET_RESPONSE, NS(1), http, sizeof(http)), -EPROTO);
	ck_assert_uint_eq(told.n_handshakes, 1);
	ck_assert(told.h.failed);
	ck_assert_uint_eq(told.h.failed_ns, NS(1));
	ck_assert_uint_eq(told.n_turns, 0);
}
END_TEST

START_TEST(a_hello_is_known_by_its_first_bytes)
{
	static const uint8_t hello[] = { 22, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3 };
	uint8_t other[sizeof(hello)];

	for (size_t n = 0; n <= sizeof(hello); n++)
		ck_assert_int_eq(tls_wire_is_hello(hello, n), n >= 5);
	for (size_t i = 0; i < 10; i++) {
		memcpy(other, hello, sizeof(other));
		other[i] = 0xff;
		/* The record's length may be anything reasonable, the message's low bytes too. */
		ck_assert_int_eq(tls_wire_is_hello(other, sizeof(other)),
				 i == 4 || i == 7 || i == 8);
	}
}
END_TEST

/* ---- ClientHello ---- */

static void put(struct buf *b, const char *bytes, size_t n)
{
	ck_assert_int_eq(buf_append(b, bytes, n), 0);
}

static void put_u16(struct buf *b, size_t number)
{
	const char bytes[2] = { (char)(number >> 8), (char)number };

	put(b, bytes, 2);
}

static void put_extension(struct buf *b, unsigned type, const char *body, size_t n)
{
	put_u16(b, type);
	put_u16(b, n);
	put(b, body, n);
}

static void put_name(struct buf *b, const char *name)
{
	struct buf body = { 0 };

	put_u16(&body, strlen(name) + 3);
	put(&body, "", 1);
	put_u16(&body, strlen(name));
	put(&body, name, strlen(name));
	put_extension(b, 0, (const char *)body.data, body.len);
	buf_done(&body);
}

/* The names have their lengths before them. */
static void put_alpn(struct buf *b, const char *names, size_t n)
{
	struct buf body = { 0 };

	put_u16(&body, n);
	put(&body, names, n);
	put_extension(b, 16, (const char *)body.data, body.len);
	buf_done(&body);
}

/* A ClientHello with these extensions, in records of `room` bytes, in pieces of `chunk`. */
static void say_hello(const struct buf *extensions, size_t room, size_t chunk)
{
	static const char fixed[34 + 1 + 4 + 2] = { 3, 3, [36] = 2, 0x13, 0x01, 1, 0 };
	struct buf message = { 0 }, wire_bytes = { 0 };

	put(&message, "\1\0", 2);
	put_u16(&message, sizeof(fixed) + 2 + extensions->len);
	put(&message, fixed, sizeof(fixed));
	put_u16(&message, extensions->len);
	put(&message, (const char *)extensions->data, extensions->len);
	for (size_t at = 0; at < message.len; at += room) {
		size_t n = MIN(room, message.len - at);

		put(&wire_bytes, "\26\3\1", 3);
		put_u16(&wire_bytes, n);
		put(&wire_bytes, (const char *)message.data + at, n);
	}
	start();
	for (size_t at = 0; at < wire_bytes.len; at += chunk)
		ck_assert_int_eq(move(NET_REQUEST, NS(0), wire_bytes.data + at,
				      MIN(chunk, wire_bytes.len - at)),
				 0);
	buf_done(&message);
	buf_done(&wire_bytes);
	ck_assert_uint_lt(tls_wire_bytes(wire), 4096);
}

START_TEST(a_large_hello_is_read_piece_by_piece)
{
	static const char padding[30000];
	static const size_t rooms[] = { 16384, 1000, 100, 7 };
	static const size_t chunks[] = { 100000, 1448, 60, 3 };
	struct buf b = { 0 };

	put_extension(&b, 21, padding, sizeof(padding));
	put_name(&b, "large.example.org");
	put_extension(&b, 51, padding, sizeof(padding));
	put_alpn(&b, "\2h2\10http/1.1", 12);
	put_extension(&b, 42, padding, 0);
	for (size_t i = 0; i < 4; i++) {
		for (size_t k = 0; k < 4; k++) {
			const struct tls_handshake *h;

			say_hello(&b, rooms[i], chunks[k]);
			h = tls_wire_handshake(wire);
			ck_assert_str_eq(h->sni, "large.example.org");
			ck_assert_str_eq(h->alpn_offered, "h2,http/1.1");
			ck_assert(h->early_data && !h->lost);
		}
	}
	buf_done(&b);
}
END_TEST

START_TEST(protocols_are_told_without_grease)
{
	static const char text[] = "\2\n\n\3a,b\2\xfa\xfa\4h\1\x80g";
	static const char many[] = "\24"
				   "01234567890123456789\24"
				   "01234567890123456789\24"
				   "01234567890123456789\2h2";
	struct buf b = { 0 };

	put_alpn(&b, text, sizeof(text) - 1);
	say_hello(&b, 16384, 10000);
	ck_assert_str_eq(tls_wire_handshake(wire)->alpn_offered, "a?b,h??g");
	buf_done(&b);
	put_alpn(&b, many, sizeof(many) - 1);
	say_hello(&b, 16384, 10000);
	ck_assert_str_eq(tls_wire_handshake(wire)->alpn_offered,
			 "01234567890123456789,01234567890123456789,...");
	buf_done(&b);
	put_alpn(&b, "\377h2", 3); /* longer than there is */
	put_extension(&b, 0, "\0\20\0\377", 4);
	say_hello(&b, 16384, 10000);
	ck_assert_str_eq(tls_wire_handshake(wire)->alpn_offered, "");
	ck_assert_str_eq(tls_wire_handshake(wire)->sni, "");
	buf_done(&b);
}
END_TEST

START_TEST(names_are_hashed_where_that_is_wanted)
{
	keep.hash_names = true;
	play(conversation_tls13, 1000);
	keep.hash_names = false;
	ck_assert_int_eq(told.h.sni[0], '#');
	ck_assert_ptr_null(strstr(told.h.sni, "example"));
	ck_assert_str_eq(told.h.alpn_offered, "h2,http/1.1");
}
END_TEST

START_TEST(numbers_have_their_names)
{
	ck_assert_str_eq(tls_version_name(0x0304), "TLS 1.3");
	ck_assert_str_eq(tls_version_name(0x0300), "SSL 3.0");
	ck_assert_ptr_null(tls_version_name(0x0305));
	ck_assert_str_eq(tls_cipher_name(0x0001), "TLS_RSA_WITH_NULL_MD5");
	ck_assert_str_eq(tls_cipher_name(0xc02f), "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
	ck_assert_str_eq(tls_cipher_name(0xcca8), "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256");
	ck_assert_str_eq(tls_cipher_name(0xd005), "TLS_ECDHE_PSK_WITH_AES_128_CCM_SHA256");
	ck_assert_ptr_null(tls_cipher_name(0x0a0a));
	ck_assert_str_eq(tls_alert_name(0), "close_notify");
	ck_assert_str_eq(tls_alert_name(121), "ech_required");
	ck_assert_ptr_null(tls_alert_name(-1));
	ck_assert_ptr_null(tls_alert_name(0x10000));
}
END_TEST

static void add_made_up(Suite *s)
{
	TCase *t = tcase_create("made_up");

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, NULL, tear_down);
	tcase_add_test(t, turns_follow_each_other);
	tcase_add_test(t, two_equal_tickets_are_no_response);
	tcase_add_test(t, one_ticket_is_no_response_of_a_resumed_session);
	tcase_add_test(t, a_turn_without_an_end_says_so);
	tcase_add_test(t, a_server_may_speak_first);
	tcase_add_test(t, heads_of_records_are_enough);
	tcase_add_test(t, without_heads_there_are_turns_all_the_same);
	tcase_add_test(t, heads_for_themselves_are_part_of_what_follows);
	tcase_add_test(t, a_hole_within_a_record_is_passed_over);
	tcase_add_test(t, behind_a_hole_the_next_piece_with_a_head_begins_a_record);
	tcase_add_test(t, tls_may_begin_behind_something_else);
	tcase_add_test(t, who_joins_late_has_turns_and_no_handshake);
	tcase_add_test(t, a_connection_that_ends_too_early_has_failed);
	tcase_add_test(t, an_encrypted_alert_is_told_by_its_length);
	tcase_add_test(t, a_warning_is_no_failure);
	tcase_add_test(t, what_is_not_tls_is_refused);
	tcase_add_test(t, a_hello_is_known_by_its_first_bytes);
	tcase_add_test(t, a_large_hello_is_read_piece_by_piece);
	tcase_add_test(t, protocols_are_told_without_grease);
	tcase_add_test(t, names_are_hashed_where_that_is_wanted);
	tcase_add_test(t, numbers_have_their_names);
}

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
	tcase_add_test(t, a_certificate_may_be_longer_than_what_is_copied);
	tcase_add_loop_test(t, a_handshake_goes_on_without_a_part_of_it, 0,
			    sizeof(all) / sizeof(all[0]));
	tcase_add_loop_test(t, an_alert_says_who_gave_up_and_why, 0,
			    sizeof(alerts) / sizeof(alerts[0]));
	add_made_up(s);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
