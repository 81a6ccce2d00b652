/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as DNS: a message, datagrams of some peers, both ends of a TCP connection.
 * Texts end, memory is bounded, each query is told once; and a stream's messages are the
 * same however it is cut.
 *
 * Input: pieces of a byte of flags (FLAG_*), a length of two bytes, and so many bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "net/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FLAG_RESPONSE 0x01
#define FLAG_GAP      0x02 /* as many bytes before it were not told of */
#define FLAG_CUT      0x04 /* half of it is known */
#define FLAG_LATE     0x08 /* some seconds later */
#define FLAG_PEERS    0x30

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

static void verify(const struct dns_message *m)
{
	CHECK(memchr(m->name, '\0', sizeof(m->name)) &&
	      memchr(m->answers, '\0', sizeof(m->answers)));
	CHECK(m->n_addresses <= DNS_MAX_ADDRESSES);
	for (unsigned i = 0; i < m->n_addresses; i++)
		CHECK(m->addresses[i].len == 4 || m->addresses[i].len == 16);
	CHECK(m->rcode <= 0xfff && m->opcode <= 15);
}

struct told {
	uint64_t n, digest;
};

static void on_query(void *ctx, const struct dns_query *q)
{
	struct told *t = ctx;

	CHECK(q->has_question || q->has_answer);
	CHECK(q->end_ns >= q->begin_ns && q->begin_ns > 0);
	CHECK(!q->has_question == !q->n_sent);
	verify(&q->question);
	verify(&q->answer);
	t->n++;
	t->digest = hash_bytes(&q->answer, sizeof(q->answer), t->digest);
	t->digest = hash_bytes(&q->question, sizeof(q->question), t->digest);
}

static int move(struct dns *d, const struct net_piece *p, unsigned flags, bool tcp)
{
	uint8_t *copy = malloc(p->n_data ? p->n_data : 1); /* no longer than it is */
	struct net_piece piece = *p;
	int r = 0;

	CHECK(copy);
	memcpy(copy, p->data, p->n_data);
	piece.data = p->n_data ? copy : NULL;
	if (tcp)
		r = dns_piece(d, flags & FLAG_RESPONSE, &piece);
	else
		dns_datagram(d, flags & FLAG_RESPONSE, &piece, flags & FLAG_PEERS);
	free(copy);
	return r;
}

/* As datagrams, or pieces of a connection. */
static void play(const uint8_t *data, size_t size, bool tcp)
{
	static const struct net_privacy p;
	struct told told = { 0 };
	struct dns *d = dns_new(&p, on_query, &told);
	uint64_t offs[2] = { 0 }, now = 1;

	CHECK(d);
	for (size_t len; size >= 3; data += len, size -= len) {
		uint8_t flags = data[0];
		unsigned dir = flags & FLAG_RESPONSE;
		struct net_piece piece;

		len = (size_t)data[1] << 8 | data[2];
		data += 3;
		size -= 3;
		len = len > size ? size : len;
		if (flags & FLAG_GAP)
			offs[dir] += len + 1;
		now += flags & FLAG_LATE ? 3000000000 : 1;
		piece = (struct net_piece){ .off = offs[dir],
					    .len = len,
					    .n_data = flags & FLAG_CUT ? len / 2 : len,
					    .data = data,
					    .time_ns = now };
		offs[dir] += len;
		if (len > 0 && move(d, &piece, flags, tcp) < 0)
			break; /* it is not DNS */
		if (flags & FLAG_GAP)
			dns_asked_elsewhere(d, dns_asked(d), now);
		dns_expire(d, now);
		CHECK(dns_bytes(d) < 2 << 20);
	}
	dns_end(d, now);
	CHECK(dns_missed(d) == 0 || told.n > 4096);
	dns_free(d);
}

/* One direction of a connection, in pieces of `chunk` bytes. */
static struct told stream(const uint8_t *data, size_t size, size_t chunk)
{
	static const struct net_privacy p;
	struct told told = { 0 };
	struct dns *d = dns_new(&p, on_query, &told);

	CHECK(d);
	for (size_t at = 0; at < size; at += chunk) {
		size_t n = size - at < chunk ? size - at : chunk;
		struct net_piece piece = {
			.off = at, .len = n, .n_data = n, .data = data + at, .time_ns = 1
		};

		if (move(d, &piece, 0, true) < 0)
			break;
	}
	dns_end(d, 1);
	dns_free(d);
	return told;
}

static void parse(const uint8_t *data, size_t size)
{
	static const struct net_privacy hashed = { .hash_names = true };
	struct dns_message m;
	uint8_t *copy = malloc(size ? size : 1);

	CHECK(copy);
	memcpy(copy, data, size);
	if (dns_parse(&hashed, copy, size, size + 1, &m) == 0)
		CHECK(m.cut);
	verify(&m);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct told whole, cut;

	parse(data, size);
	play(data, size, false);
	play(data, size, true);
	if (size == 0)
		return 0;
	whole = stream(data, size, size);
	cut = stream(data, size, 1); /* nobody finds a beginning again in these */
	CHECK(whole.n == cut.n && whole.digest == cut.digest);
	return 0;
}
