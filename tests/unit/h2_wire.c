/* SPDX-License-Identifier: Apache-2.0 */
/* h2_wire.c - see h2_wire.h. */
#include "h2_wire.h"

#include <check.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct net_privacy h2_privacy = { .query = NET_QUERY_HIDE };

void h2_init(struct h2_wire *w)
{
	memset(w, 0, sizeof(*w));
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(nghttp2_hd_deflate_new(&w->deflater[i], 4096), 0);
}

void h2_done(struct h2_wire *w)
{
	for (int i = 0; i < 2; i++) {
		nghttp2_hd_deflate_del(w->deflater[i]);
		buf_done(&w->bytes[i]);
	}
}

void h2_bytes(struct h2_wire *w, enum net_direction dir, const void *data, size_t len)
{
	ck_assert_int_eq(buf_append(&w->bytes[dir], data, len), 0);
}

void h2_call(struct h2_wire *w, enum net_direction dir, uint64_t time_ns)
{
	struct h2_call *c = &w->calls[w->n_calls];
	size_t at = 0;

	for (size_t i = 0; i < w->n_calls; i++)
		if (w->calls[i].dir == dir)
			at = w->calls[i].at + w->calls[i].len;
	if (at == w->bytes[dir].len)
		return;
	ck_assert_uint_lt(w->n_calls++, H2_MAX_CALLS);
	*c = (struct h2_call){ dir, false, at, w->bytes[dir].len - at, time_ns };
}

void h2_frame(struct h2_wire *w, enum net_direction dir, uint8_t type, uint8_t flags,
	      uint32_t stream, const void *payload, size_t len)
{
	uint8_t head[HTTP2_HEAD_LEN] = {
		(uint8_t)(len >> 16),
		(uint8_t)(len >> 8),
		(uint8_t)len,
		type,
		flags,
		(uint8_t)(stream >> 24),
		(uint8_t)(stream >> 16),
		(uint8_t)(stream >> 8),
		(uint8_t)stream,
	};

	h2_bytes(w, dir, head, sizeof(head));
	if (len > 0)
		h2_bytes(w, dir, payload, len);
}

uint8_t *h2_block(struct h2_wire *w, enum net_direction dir, size_t *ret_len, ...)
{
	nghttp2_nv nv[32];
	size_t n = 0, room;
	const char *name, *value;
	uint8_t *block;
	ssize_t len;
	va_list ap;

	va_start(ap, ret_len);
	while ((name = va_arg(ap, const char *))) {
		value = va_arg(ap, const char *);
		ck_assert_uint_lt(n, 32);
		nv[n++] = (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name),
					strlen(value), NGHTTP2_NV_FLAG_NONE };
	}
	va_end(ap);
	room = nghttp2_hd_deflate_bound(w->deflater[dir], nv, n);
	block = malloc(room);
	ck_assert_ptr_nonnull(block);
	len = nghttp2_hd_deflate_hd(w->deflater[dir], block, room, nv, n);
	ck_assert_int_ge(len, 0);
	*ret_len = (size_t)len;
	return block;
}

void h2_data(struct h2_wire *w, enum net_direction dir, uint8_t flags, uint32_t stream, size_t len,
	     int pad)
{
	size_t extra = pad < 0 ? 0 : (size_t)pad + 1;
	uint8_t *payload = malloc(len + extra + 1);
	struct h2_hole *hole = &w->holes[dir][w->n_holes[dir]];
	size_t copied = pad < 0 ? 0 : 1;

	ck_assert_ptr_nonnull(payload);
	for (size_t i = 0; i < len + extra; i++)
		payload[i] =
			(uint8_t)(w->has_tricky_bodies && random() % 4 ? random() % 6 : random());
	if (pad >= 0)
		payload[0] = (uint8_t)pad;
	h2_frame(w, dir, HTTP2_DATA, flags | (pad < 0 ? 0 : HTTP2_PADDED), stream, payload,
		 len + extra);
	free(payload);
	ck_assert_uint_lt(w->n_holes[dir]++, H2_MAX_HOLES);
	hole->len = len + extra - copied;
	hole->at = w->bytes[dir].len - hole->len;
}

void h2_begin(struct h2_wire *w)
{
	static const uint8_t settings[] = { 0, 3, 0, 0, 0, 100 };

	h2_frame(w, NET_RESPONSE, HTTP2_SETTINGS, 0, 0, settings, sizeof(settings));
	h2_call(w, NET_RESPONSE, 1); /* a server that does not wait */
	h2_bytes(w, NET_REQUEST, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
	h2_frame(w, NET_REQUEST, HTTP2_SETTINGS, 0, 0, NULL, 0);
	h2_call(w, NET_REQUEST, 2);
	h2_frame(w, NET_RESPONSE, HTTP2_SETTINGS, HTTP2_ACK, 0, NULL, 0);
	h2_call(w, NET_RESPONSE, 3);
}

void h2_get(struct h2_wire *w, uint32_t stream, const char *path, size_t len, uint64_t time_ns)
{
	h2_headers(w, NET_REQUEST, HTTP2_END_STREAM, stream, ":method", "GET", ":scheme", "http",
		   ":authority", "example.org", ":path", path, "user-agent", "test");
	h2_call(w, NET_REQUEST, time_ns);
	h2_headers(w, NET_RESPONSE, 0, stream, ":status", "200", "content-type",
		   "text/html; charset=utf-8", "server", "test");
	h2_data(w, NET_RESPONSE, HTTP2_END_STREAM, stream, len, -1);
	h2_call(w, NET_RESPONSE, time_ns + 10);
}

/* ---- reading ---- */

void h2_take(void *ctx, const struct exchange *e)
{
	struct h2_result *r = ctx;

	ck_assert_uint_lt(r->n, H2_MAX_EXCHANGES);
	r->got[r->n++] = *e;
}

static void give(struct http2 *h, const struct h2_call *c, const uint8_t *bytes, size_t at,
		 size_t len, size_t n_data, struct h2_result *ret)
{
	uint8_t *exact = malloc(n_data + 1); /* so that a sanitizer sees who reads on */
	struct net_piece p = { .off = 1000 + at,
			       .len = len,
			       .n_data = n_data,
			       .data = exact + 1,
			       .time_ns = c->time_ns,
			       .tgid = 10 + c->dir,
			       .tid = 20 + c->dir };

	ck_assert_ptr_nonnull(exact);
	memcpy(exact + 1, bytes + at, n_data);
	ret->r = http2_piece(h, c->is_mistaken ? (enum net_direction) !c->dir : c->dir, &p);
	free(exact);
}

/* The first hole that ends behind `at`; at the end of all bytes if there is none. */
static struct h2_hole hole_after(const struct h2_wire *w, enum net_direction dir, size_t at)
{
	size_t first = 0, end = w->n_holes[dir];

	while (first < end) {
		size_t middle = (first + end) / 2;
		const struct h2_hole *hole = &w->holes[dir][middle];

		if (hole->at + hole->len <= at)
			first = middle + 1;
		else
			end = middle;
	}
	return first < w->n_holes[dir] ? w->holes[dir][first]
				       : (struct h2_hole){ w->bytes[dir].len, 0 };
}

/* What is not copied is behind a piece's data, or a gap before the next one. */
static void feed_copied(const struct h2_wire *w, struct http2 *h, const struct h2_call *c,
			struct h2_result *ret)
{
	size_t at = c->at, end = c->at + c->len;

	while (at < end) {
		struct h2_hole hole = hole_after(w, c->dir, at);
		size_t from = hole.at < at ? at : hole.at < end ? hole.at : end;
		size_t until = hole.at + hole.len < end ? hole.at + hole.len : end;
		bool is_gap = until < end && from > at && random() % 2;

		if (until < from)
			until = from;
		give(h, c, w->bytes[c->dir].data, at, (is_gap ? from : until) - at, from - at, ret);
		at = until;
	}
}

void h2_feed(const struct h2_wire *w, struct http2 *h, size_t first, size_t end, enum h2_cut cut,
	     struct h2_result *ret)
{
	for (size_t i = first; i < end; i++) {
		const struct h2_call *c = &w->calls[i];
		size_t at = 0, n;

		if (cut == H2_COPIED) {
			feed_copied(w, h, c, ret);
			continue;
		}
		for (; at < c->len; at += n) {
			n = c->len - at;
			if (cut == H2_CUT)
				n = 1 + (size_t)random() % (random() % 2 ? n : n < 12 ? n : 12);
			give(h, c, w->bytes[c->dir].data, c->at + at, n, n, ret);
		}
	}
}

void h2_read(const struct h2_wire *w, enum h2_cut cut, struct h2_result *ret)
{
	struct http2 *h = http2_new(&h2_privacy, false, h2_take, ret);

	ck_assert_ptr_nonnull(h);
	ret->n = 0;
	h2_feed(w, h, 0, w->n_calls, cut, ret);
	http2_end(h, 1000000, EXCHANGE_INCOMPLETE);
	ck_assert_uint_eq(h->streams.n, 0);
	http2_free(h);
}

const struct exchange *h2_find(const struct h2_result *r, uint64_t index)
{
	const struct exchange *found = NULL;

	for (size_t i = 0; i < r->n; i++) {
		if (r->got[i].index != index)
			continue;
		ck_assert_ptr_null(found);
		found = &r->got[i];
	}
	ck_assert_ptr_nonnull(found);
	return found;
}
