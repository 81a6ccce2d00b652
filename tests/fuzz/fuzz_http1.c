/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the two directions of an HTTP/1 connection, in pieces with gaps between
 * them. Each piece: a byte of what it is (below), a gap before and unknown bytes behind
 * it in units of 8 where it says so, two bytes of length, data.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/http1_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

#define RESPONSE 0x01
#define GAP	 0x02
#define UNKNOWN	 0x04
#define FIN	 0x08
#define AGAIN	 0x10 /* some bytes that were there before */
#define IN_BYTES 0x20 /* one by one */
#define MAX_GAP	 0x40 /* the gap is huge */

struct stream {
	struct http1 *http1;
	uint64_t off[2], time_ns;
	uint64_t end[2], told[2];
	bool is_switched;
	unsigned n_tunnels;
};

static void check_text(const char *text, size_t room)
{
	CHECK(memchr(text, '\0', room));
}

static void check_exchange(void *ctx, const struct exchange *e)
{
	struct stream *s = ctx;

	check_text(e->method, sizeof(e->method));
	check_text(e->scheme, sizeof(e->scheme));
	check_text(e->host, sizeof(e->host));
	check_text(e->path, sizeof(e->path));
	check_text(e->version, sizeof(e->version));
	check_text(e->content_type, sizeof(e->content_type));
	check_text(e->cache, sizeof(e->cache));
	check_text(e->upgrade, sizeof(e->upgrade));
	/* A query's content is in no path; a host is behind the last '@'. */
	CHECK(!strchr(e->path, '?') || strcmp(strchr(e->path, '?'), "?…") == 0 ||
	      strlen(e->path) > sizeof(e->path) - 8);
	CHECK(!strchr(e->host, '@'));
	CHECK(e->status == 0 || (e->status >= 100 && e->status <= 999));
	CHECK(e->protocol < N_EXCHANGE_PROTOCOLS && e->grpc_status == -1);
	CHECK(!e->response_ns || !e->request_ns || e->request_ns <= e->response_ns);
	CHECK(!e->request_end_ns || e->request_ns <= e->request_end_ns);
	CHECK(!e->response_end_ns || e->response_ns <= e->response_end_ns);
	CHECK(e->request_body <= e->request_bytes && e->response_body <= e->response_bytes);
	s->told[0] += e->request_bytes;
	s->told[1] += e->response_bytes;
	s->n_tunnels += e->protocol != EXCHANGE_HTTP1;
}

static void give(struct stream *s, enum net_direction dir, const uint8_t *data, size_t n,
		 uint64_t len)
{
	uint8_t *copy = malloc(n ? n : 1);
	struct net_piece piece = {
		.off = s->off[dir], .len = len, .n_data = n, .data = copy, .time_ns = ++s->time_ns
	};
	enum http1_next next;

	CHECK(copy);
	if (n)
		memcpy(copy, data, n);
	if (len) {
		next = http1_piece(s->http1, dir, &piece);
		CHECK(next == HTTP1_GOES_ON || !s->is_switched);
		s->is_switched |= next != HTTP1_GOES_ON;
		CHECK(s->http1->queue.n_entries <= 64);
		CHECK(http1_bytes(s->http1) < 128 * 1024);
	}
	s->off[dir] += len;
	if (s->end[dir] < s->off[dir])
		s->end[dir] = s->off[dir];
	free(copy);
}

static size_t one_piece(struct stream *s, const uint8_t *p, size_t size)
{
	enum net_direction dir = p[0] & RESPONSE ? NET_RESPONSE : NET_REQUEST;
	uint64_t n_gap = 0, n_unknown = 0;
	size_t used = 1, n;
	uint8_t what = p[0];

	if (what & GAP && used < size)
		n_gap = p[used++] * 8u;
	if (what & UNKNOWN && used < size)
		n_unknown = p[used++] * 8u;
	if (used + 2 > size)
		return size;
	n = (size_t)p[used] | (size_t)p[used + 1] << 8;
	used += 2;
	n = n < size - used ? n : size - used;
	if (what & MAX_GAP)
		n_gap = UINT64_MAX / 64;
	s->off[dir] += n_gap;
	if (what & AGAIN)
		s->off[dir] -= s->off[dir] < 5 ? s->off[dir] : 5;
	if (what & IN_BYTES) {
		for (size_t i = 0; i < n; i++)
			give(s, dir, p + used + i, 1, 1);
		give(s, dir, NULL, 0, n_unknown);
	} else {
		give(s, dir, p + used, n, n + n_unknown);
	}
	if (what & FIN)
		http1_fin(s->http1, dir, ++s->time_ns);
	return used + n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_privacy privacy = { 0 };
	struct stream s = { 0 };
	uint32_t flag;

	if (size < 2)
		return 0;
	privacy.hash_names = data[0] & 2;
	s.off[0] = data[0] & 4 ? 1000 : 0;
	s.off[1] = data[0] & 8 ? 1000 : 0;
	flag = data[0] & 1 ? EXCHANGE_CLOSED : EXCHANGE_INCOMPLETE;
	s.http1 = http1_new(&privacy, check_exchange, &s);
	if (!s.http1)
		return 0;
	for (size_t at = 1; at < size;)
		at += one_piece(&s, data + at, size - at);
	if (!(data[0] & 16)) {
		http1_end(s.http1, ++s.time_ns, flag);
		CHECK(s.http1->queue.n_entries == 0);
		CHECK(s.told[0] <= s.end[0] && s.told[1] <= s.end[1]);
		CHECK(s.n_tunnels <= 1);
	}
	http1_free(s.http1);
	return 0;
}
