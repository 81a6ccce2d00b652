/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what is said to systemd-resolved, in both directions. Texts end, memory is
 * bounded, and each question is told once.
 *
 * Input: pieces of a byte of flags (FLAG_*), a length of two bytes, and so many bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/resolve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FLAG_RESPONSE 0x01
#define FLAG_GAP      0x02 /* as many bytes before it were not told of */
#define FLAG_CUT      0x04 /* half of it is known */
#define FLAG_HASHED   0x08 /* of the first: names are */

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

static void on_query(void *ctx, const struct dns_query *q)
{
	size_t *n = ctx;

	CHECK(q->has_question && q->transport == DNS_VARLINK && q->n_sent == 1);
	CHECK(q->end_ns >= q->begin_ns && q->begin_ns > 0);
	CHECK(q->question.name[0] && memchr(q->question.name, '\0', sizeof(q->question.name)));
	CHECK(memchr(q->answer.answers, '\0', sizeof(q->answer.answers)));
	CHECK(memchr(q->error, '\0', sizeof(q->error)));
	CHECK(q->answer.n_addresses <= DNS_MAX_ADDRESSES);
	for (unsigned i = 0; i < q->answer.n_addresses; i++)
		CHECK(q->answer.addresses[i].len == 4 || q->answer.addresses[i].len == 16);
	++*n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct net_privacy p = { .hash_names = size && data[0] & FLAG_HASHED };
	uint64_t offs[2] = { 0 }, now = 1;
	size_t n_told = 0, n_bytes = 0;
	struct resolve *r = resolve_new(&p, on_query, &n_told);

	CHECK(r);
	for (size_t len; size >= 3; data += len, size -= len) {
		unsigned flags = data[0], dir = flags & FLAG_RESPONSE;
		struct net_piece piece;
		uint8_t *copy;
		int e;

		len = (size_t)data[1] << 8 | data[2];
		data += 3;
		size -= 3;
		len = len > size ? size : len;
		if (flags & FLAG_GAP)
			offs[dir] += len + 1;
		piece = (struct net_piece){ .off = offs[dir],
					    .len = len,
					    .n_data = flags & FLAG_CUT ? len / 2 : len,
					    .time_ns = now++ };
		offs[dir] += len;
		n_bytes += len;
		if (len == 0)
			continue;
		copy = malloc(piece.n_data ? piece.n_data : 1); /* no longer than it is */
		CHECK(copy);
		memcpy(copy, data, piece.n_data);
		piece.data = copy;
		e = resolve_piece(r, dir, &piece);
		free(copy);
		CHECK(resolve_bytes(r) < 1 << 20);
		if (e < 0)
			break;
	}
	resolve_end(r, now);
	CHECK(n_told <= n_bytes / 2);
	resolve_free(r);
	return 0;
}
