/* SPDX-License-Identifier: Apache-2.0 */
/* dns_stream.c - DNS messages out of a TCP connection (RFC 7766). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "dns_message.h"

static uint16_t get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void forget(struct dns_stream *s)
{
	if (s->bytes)
		explicit_bzero(s->bytes, DNS_KEPT);
	free(s->bytes);
	s->bytes = NULL;
	s->left = s->have = s->n_head = 0;
}

void dns_stream_done(struct dns_stream *s)
{
	forget(s);
}

size_t dns_stream_bytes(const struct dns_stream *s)
{
	return s->bytes ? DNS_KEPT : 0;
}

struct walk {
	struct dns_stream *s;
	const struct net_piece *piece;
	dns_message_fn *fn;
	void *ctx;
};

static void out_of_step(struct dns_stream *s)
{
	s->in_step = false;
	forget(s);
}

/* Whoever begins with what is no message does not speak DNS. */
static int message(struct walk *w, const uint8_t *data, size_t n, uint64_t end_off)
{
	struct dns_stream *s = w->s;
	bool is_first = end_off == 2u + s->len, is_whole = n == s->len;
	int r = w->fn(w->ctx, data, n, s->len, &s->begin, w->piece->time_ns);

	forget(s);
	if (r >= 0 || !is_whole)
		return 0;
	if (is_first)
		return -EPROTO;
	out_of_step(s);
	return 0;
}

static int take_head(struct walk *w, uint64_t off, const uint8_t *data, size_t n, size_t *ret)
{
	struct dns_stream *s = w->s;
	size_t k = MIN(n, (size_t)(2 - s->n_head));

	if (s->n_head == 0)
		s->begin = (struct dns_place){ w->piece->time_ns, w->piece->tgid, w->piece->tid };
	memcpy(s->head + s->n_head, data, k);
	s->n_head = (uint8_t)(s->n_head + k);
	*ret = k;
	if (s->n_head < 2)
		return 0;
	s->n_head = 0;
	s->len = s->left = get_u16(s->head);
	s->have = 0;
	s->is_whole = true;
	if (s->len >= DNS_HEAD_LEN)
		return 0;
	if (off + k == 2)
		return -EPROTO;
	out_of_step(s);
	return 0;
}

/* Without memory its beginning is all that is known. */
static void keep(struct dns_stream *s, const uint8_t *data, size_t n)
{
	if (!s->bytes && s->have == 0)
		s->bytes = calloc(1, DNS_KEPT);
	if (!data || !s->bytes)
		s->is_whole = false;
	if (!s->is_whole)
		return;
	n = MIN(n, (size_t)(DNS_KEPT - s->have));
	memcpy(s->bytes + s->have, data, n);
	s->have = (uint16_t)(s->have + n);
}

static int take_body(struct walk *w, uint64_t off, const uint8_t *data, size_t n)
{
	static const uint8_t none[1];
	struct dns_stream *s = w->s;

	if (data && n == s->len) /* all of it: as much is looked at as would be kept */
		return message(w, data, MIN(n, DNS_KEPT), off + n);
	keep(s, data, n);
	s->left = (uint16_t)(s->left - n);
	if (s->left > 0)
		return 0;
	return message(w, s->bytes ? s->bytes : none, s->have, off + n);
}

static int walk(struct walk *w, uint64_t off, const uint8_t *data, uint64_t n)
{
	struct dns_stream *s = w->s;

	while (n > 0 && s->in_step) {
		size_t k;
		int r;

		if (s->left > 0) {
			k = (size_t)MIN(n, s->left);
			r = take_body(w, off, data, k);
		} else if (data) {
			r = take_head(w, off, data, (size_t)n, &k);
		} else {
			out_of_step(s);
			return 0;
		}
		if (r < 0)
			return r;
		off += k;
		n -= k;
		if (data)
			data += k;
	}
	return 0;
}

/* Most write a message at once, and read it so, or its length for itself. */
static void find_step(struct dns_stream *s, const struct net_piece *piece)
{
	uint16_t len;

	if (s->in_step || piece->n_data < 2)
		return;
	len = get_u16(piece->data);
	s->in_step = len >= DNS_HEAD_LEN && (piece->len == 2 || piece->len == 2u + len);
}

int dns_stream_piece(struct dns_stream *s, const struct net_piece *piece, dns_message_fn *fn,
		     void *ctx)
{
	struct walk w = { .s = s, .piece = piece, .fn = fn, .ctx = ctx };
	uint64_t off = piece->off, end = piece->off + piece->len, next = s->next;
	size_t n_data = piece->n_data, seen;
	int r = 0;

	if (!s->has_begun) {
		s->has_begun = true;
		s->in_step = off == 0;
		next = off;
	}
	if (end <= next)
		return 0;
	s->next = end;
	if (off > next && s->in_step && off - next <= s->left)
		r = walk(&w, next, NULL, off - next);
	else if (off > next)
		out_of_step(s);
	if (r < 0)
		return r;
	seen = off < next ? (size_t)(next - off) : 0; /* nothing comes twice */
	if (seen == 0)
		find_step(s, piece);
	off += seen;
	n_data -= MIN(seen, n_data);
	if (n_data > 0)
		r = walk(&w, off, piece->data + seen, n_data);
	return r < 0 ? r : walk(&w, off + n_data, NULL, end - off - n_data);
}
