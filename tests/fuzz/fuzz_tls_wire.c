/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what two ends of a connection say: told once at most, in bounded memory,
 * and the same of a handshake however its bytes are cut.
 *
 * Input: pieces of a byte of flags (FLAG_*), a length of two bytes, and so many bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/tls_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FLAG_RESPONSE 0x01
#define FLAG_GAP      0x02 /* as many bytes before it were not told of */
#define FLAG_CUT      0x04 /* half of it is known */
#define FLAG_FIN      0x08 /* its direction ends with it */
#define FLAG_NOT_NEW  0x10 /* the connection was there before */

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

struct told {
	unsigned n_handshakes;
	uint64_t n_turns, bytes[2];
	struct tls_handshake h;
};

static bool ends(const char *s, size_t room)
{
	return memchr(s, '\0', room) != NULL;
}

static void on_handshake(void *ctx, const struct tls_handshake *h)
{
	struct told *t = ctx;

	CHECK(t->n_handshakes++ == 0);
	CHECK(ends(h->sni, sizeof(h->sni)) && ends(h->alpn, sizeof(h->alpn)) &&
	      ends(h->alpn_offered, sizeof(h->alpn_offered)));
	CHECK(!h->failed == !h->failed_ns && !(h->failed && h->end_ns));
	CHECK((h->alert < 0) == (h->alert_level < 0) && h->alert <= 255);
	t->h = *h;
}

static void on_turn(void *ctx, const struct exchange *e)
{
	struct told *t = ctx;

	CHECK(e->protocol == EXCHANGE_TLS && e->index == t->n_turns);
	CHECK(e->request_ns || (e->flags & EXCHANGE_NO_REQUEST));
	CHECK(!e->request_bytes == !e->request_ns && !e->response_bytes == !e->response_ns);
	CHECK(e->request_end_ns >= e->request_ns && e->response_end_ns >= e->response_ns);
	t->n_turns++;
	t->bytes[0] += e->request_bytes;
	t->bytes[1] += e->response_bytes;
}

static void move(struct tls_wire *t, enum net_direction dir, struct net_piece *p, size_t chunk)
{
	struct net_piece part = *p;

	for (uint64_t at = 0; at < p->len; at += part.len) {
		part.off = p->off + at;
		part.len = p->len - at < chunk ? p->len - at : chunk;
		part.n_data = p->n_data < at ? 0 : p->n_data - at;
		if (part.n_data > part.len)
			part.n_data = part.len;
		/* No longer than it is. */
		uint8_t *copy = malloc(part.n_data ? part.n_data : 1);

		CHECK(copy);
		memcpy(copy, p->data + at, part.n_data);
		part.data = part.n_data ? copy : NULL;
		(void)tls_wire_piece(t, dir, &part);
		free(copy);
	}
}

/* Returns whether anything was missing. */
static bool play(const uint8_t *data, size_t size, size_t chunk, struct told *told)
{
	static const struct net_privacy p;
	const struct tls_wire_sinks sinks = { on_handshake, on_turn, told };
	struct tls_wire *t = tls_wire_new(&p, &sinks);
	uint64_t offs[2] = { 0 }, now = 1;
	bool missing = false;

	CHECK(t);
	memset(told, 0, sizeof(*told));
	for (size_t len; size >= 3; data += len, size -= len) {
		uint8_t flags = data[0];
		unsigned dir = flags & FLAG_RESPONSE;

		len = (size_t)data[1] << 8 | data[2];
		data += 3;
		size -= 3;
		len = len > size ? size : len;
		if ((flags & FLAG_GAP) || (offs[dir] == 0 && (flags & FLAG_NOT_NEW)))
			offs[dir] += len + 1;
		if (len > 0) {
			struct net_piece piece = { .off = offs[dir],
						   .len = len,
						   .n_data = flags & FLAG_CUT ? len / 2 : len,
						   .data = data,
						   .time_ns = now++ };

			move(t, dir, &piece, chunk);
		}
		offs[dir] += len;
		missing |= (flags & (FLAG_GAP | FLAG_CUT | FLAG_NOT_NEW)) != 0;
		if (flags & FLAG_FIN)
			tls_wire_fin(t, dir, now++);
		CHECK(tls_wire_bytes(t) < 4096);
	}
	tls_wire_end(t, now, size & 1 ? EXCHANGE_CLOSED : EXCHANGE_INCOMPLETE);
	CHECK(memcmp(&told->h, tls_wire_handshake(t), sizeof(told->h)) == 0 || !told->n_handshakes);
	tls_wire_free(t);
	return missing;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct told whole, cut;
	bool missing = play(data, size, SIZE_MAX, &whole);

	(void)play(data, size, 1 + size % 7, &cut);
	(void)tls_wire_is_hello(data, size);
	if (missing || whole.h.lost || cut.h.lost)
		return 0;
	CHECK(whole.n_handshakes == cut.n_handshakes);
	CHECK(memcmp(&whole.h, &cut.h, sizeof(whole.h)) == 0);
	return 0;
}
