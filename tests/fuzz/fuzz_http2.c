/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an HTTP/2 connection, in any pieces of both directions, with gaps and with
 * parts that were not copied; joined late or not. The first byte says which; then each
 * piece has a byte of what it is like and one of its length.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/http2_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

#define MAX_STREAMS 1024
#define MAX_BYTES   (4 << 20)

/* What a piece is like. */
#define IS_RESPONSE 0x01
#define IS_BEHIND   0x02 /* a gap is before it */
#define IS_CUT	    0x04 /* there is more of it than was copied */
#define IS_LONG	    0x08 /* its length is in units of 16 bytes */
#define IS_FIN	    0x10
#define IS_AGAIN    0x20 /* it begins before the last one's end */

static void check_text(const char *text, size_t room)
{
	CHECK(memchr(text, 0, room));
}

static void check_exchange(void *ctx, const struct exchange *e)
{
	size_t *n = ctx;

	(*n)++;
	CHECK(e->index > 0 && e->index <= INT32_MAX);
	CHECK(e->protocol < N_EXCHANGE_PROTOCOLS);
	check_text(e->method, sizeof(e->method));
	check_text(e->scheme, sizeof(e->scheme));
	check_text(e->host, sizeof(e->host));
	check_text(e->path, sizeof(e->path));
	check_text(e->version, sizeof(e->version));
	check_text(e->content_type, sizeof(e->content_type));
	check_text(e->cache, sizeof(e->cache));
	check_text(e->upgrade, sizeof(e->upgrade));
	CHECK(e->status >= 0 && e->status <= 999);
	CHECK(e->grpc_status >= -1);
	CHECK(e->request_body <= e->request_bytes && e->response_body <= e->response_bytes);
	CHECK(!(e->flags & EXCHANGE_NO_REQUEST) || (!e->request_ns && !e->method[0]));
	CHECK(e->request_ns <= e->request_end_ns || !e->request_end_ns);
	CHECK(e->response_ns <= e->response_end_ns || !e->response_end_ns);
}

struct input {
	const uint8_t *at, *end;
	uint64_t off[2];
	uint64_t time_ns;
};

/* False: it is over. */
static bool next_piece(struct http2 *h, struct input *in)
{
	struct net_piece p = { .tgid = 1, .tid = 2 };
	enum net_direction dir;
	uint8_t like;
	int r;

	if (in->end - in->at < 2)
		return false;
	like = in->at[0];
	p.n_data = (size_t)in->at[1] * (like & IS_LONG ? 16 : 1);
	in->at += 2;
	if (p.n_data > (size_t)(in->end - in->at))
		p.n_data = (size_t)(in->end - in->at);
	p.data = in->at;
	in->at += p.n_data;
	dir = like & IS_RESPONSE ? NET_RESPONSE : NET_REQUEST;
	p.time_ns = ++in->time_ns;
	if (like & IS_FIN) {
		http2_fin(h, dir, p.time_ns);
		return true;
	}
	p.len = p.n_data + (like & IS_CUT ? 1 + (uint64_t)like * 50 : 0);
	if (p.len == 0)
		return true;
	if (like & IS_BEHIND)
		in->off[dir] += like;
	if (like & IS_AGAIN && in->off[dir] > 20)
		in->off[dir] -= 20;
	p.off = in->off[dir];
	in->off[dir] += p.len;
	r = http2_piece(h, dir, &p);
	CHECK(h->streams.n <= MAX_STREAMS && http2_bytes(h) <= MAX_BYTES);
	CHECK(r == 0 || h->streams.n == 0);
	return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct exchange request = { .method = "GET", .path = "/", .request_ns = 1 };
	static const struct net_privacy privacies[] = { { .query = NET_QUERY_HIDE },
							{ .query = NET_QUERY_KEEP } };
	struct input in = { .at = data, .end = data + size, .time_ns = 10 };
	struct http2 *h;
	size_t n = 0;
	uint8_t how;

	if (size == 0)
		return 0;
	how = *in.at++;
	(void)http2_is_preface(in.at, size - 1);
	h = http2_new(&privacies[how >> 2 & 1], how & 1, check_exchange, &n);
	if (!h)
		return 0;
	if (how & 2)
		http2_upgraded(h, &request);
	while (next_piece(h, &in))
		continue;
	if (how & 8)
		http2_end(h, in.time_ns + 1, EXCHANGE_CLOSED);
	CHECK(!(how & 8) || h->streams.n == 0);
	http2_free(h);
	return 0;
}
