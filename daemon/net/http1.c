/* SPDX-License-Identifier: Apache-2.0 */
/* http1.c - HTTP/1.x on one connection: from pieces to messages. */
#include "http1.h"

#include <stdlib.h>
#include <string.h>

#include "http1_impl.h"

/* The part of a piece that is known and has not been looked at yet. */
struct cursor {
	const uint8_t *data;
	size_t n;
	bool is_first; /* nothing of the piece has been looked at */
	const struct net_piece *piece;
};

static void advance(struct http1_half *half, struct cursor *c, size_t n)
{
	c->data += n;
	c->n -= n;
	c->is_first = false;
	half->at += n;
}

struct http1 *http1_new(const struct net_privacy *p, exchange_done_fn *done, void *done_ctx)
{
	struct http1 *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->queue = (struct http1_queue){ .privacy = p, .done = done, .done_ctx = done_ctx };
	return h;
}

void http1_free(struct http1 *h)
{
	if (!h)
		return;
	while (h->queue.first)
		http1_queue_drop(&h->queue, h->queue.first);
	for (int dir = 0; dir < 2; dir++)
		http1_forget(&h->half[dir].kept);
	free(h);
}

size_t http1_bytes(const struct http1 *h)
{
	return sizeof(*h) + h->queue.n_entries * sizeof(struct http1_entry) +
	       h->half[NET_REQUEST].kept.cap + h->half[NET_RESPONSE].kept.cap;
}

unsigned http1_n_open(const struct http1 *h)
{
	return h->queue.n_entries;
}

uint64_t http1_switched_off(const struct http1 *h, enum net_direction dir)
{
	return h->switched[dir];
}

/* ---- heads ---- */

/* What it is stays unknown until a head is recognised at the beginning of a piece. */
static void seek(struct http1_half *half, struct cursor *c)
{
	half->state = HTTP1_SEEKING;
	advance(half, c, c->n);
}

/* It was none. */
static void drop_head(struct http1 *h, enum net_direction dir)
{
	http1_head_dropped(h, dir);
	h->half[dir].state = HTTP1_SEEKING;
}

/* A head that does not lie in one piece. */
static void take_part(struct http1 *h, enum net_direction dir, struct cursor *c)
{
	struct http1_half *half = &h->half[dir];
	struct http1_kept *kept = &half->kept;
	size_t before = kept->n_seen;
	struct http1_head head;
	bool is_good;
	int n = http1_keep(kept, h->queue.privacy, c->data, c->n);

	if (n < 0) {
		http1_head_lost(h, dir);
		return;
	}
	advance(half, c, (size_t)n);
	if (kept->is_over) {
		if (http1_head_parse(dir, kept->data, kept->len, &head, &is_good) && is_good)
			http1_head_over(h, dir, &head, kept->n_seen);
		else
			drop_head(h, dir);
		http1_forget(kept);
	} else if (before < 32 && !http1_head_begins(dir, kept->data, kept->len, true)) {
		http1_head_dropped(h, dir);
		seek(half, c);
	} else if (kept->n_seen >= HTTP1_MAX_HEAD) {
		http1_head_lost(h, dir);
	}
}

static void take_head(struct http1 *h, enum net_direction dir, struct cursor *c)
{
	bool is_begun = h->half[dir].kept.n_seen, is_good;
	struct http1_head head;
	size_t end = is_begun ? 0 : http1_head_parse(dir, c->data, c->n, &head, &is_good);

	if (end == 0 || end > HTTP1_MAX_HEAD) {
		take_part(h, dir, c);
		return;
	}
	advance(&h->half[dir], c, end);
	if (is_good)
		http1_head_over(h, dir, &head, end);
	else
		drop_head(h, dir);
}

/* ---- pieces ---- */

static void take_start(struct http1 *h, enum net_direction dir, struct cursor *c)
{
	struct http1_half *half = &h->half[dir];
	bool is_expected = half->state == HTTP1_BETWEEN, is_first = c->is_first;

	/* Empty lines before a message count for nothing (RFC 9112, 2.2). */
	while (c->n > 0 && (*c->data == '\r' || *c->data == '\n'))
		advance(half, c, 1);
	if (c->n == 0)
		return;
	if (!(is_expected || is_first) || !http1_head_begins(dir, c->data, c->n, is_expected)) {
		h->is_unsure |= dir == NET_RESPONSE;
		seek(half, c);
		return;
	}
	http1_begin_message(h, dir, c->piece);
}

/*
 * Nobody knows the body's end; or it will not come: who expected 100 and was refused may
 * keep it.
 */
static bool may_be_over(const struct http1_half *half, enum net_direction dir)
{
	return half->body.framing == HTTP1_UNTIL_TURN ||
	       (dir == NET_REQUEST && half->body.n_payload == 0 && half->entry &&
		half->entry->response_over);
}

/* Enough of it to be sure, where it is not certain that there is one. */
static bool is_head(enum net_direction dir, const struct cursor *c)
{
	return c->is_first && c->n >= 12 && http1_head_begins(dir, c->data, c->n, false);
}

static void take_body(struct http1 *h, enum net_direction dir, struct cursor *c)
{
	struct http1_half *half = &h->half[dir];
	size_t n;

	if (may_be_over(half, dir) && is_head(dir, c) && http1_ends_before_head(h, dir))
		return;
	n = http1_body_known(&half->body, c->data, c->n);
	advance(half, c, n);
	http1_body_taken(h, dir, n);
}

static void take_known(struct http1 *h, enum net_direction dir, struct cursor *c)
{
	while (c->n > 0 && !h->is_switched) {
		switch (h->half[dir].state) {
		case HTTP1_BETWEEN:
		case HTTP1_SEEKING:
			take_start(h, dir, c);
			break;
		case HTTP1_IN_HEAD:
			take_head(h, dir, c);
			break;
		case HTTP1_IN_BODY:
			take_body(h, dir, c);
			break;
		}
	}
}

static void take_unknown(struct http1 *h, enum net_direction dir, uint64_t n,
			 const struct net_piece *piece)
{
	struct http1_half *half = &h->half[dir];

	while (n > 0 && !h->is_switched) {
		uint64_t some;

		if (half->state == HTTP1_IN_HEAD)
			http1_head_lost(h, dir);
		else if (half->state != HTTP1_IN_BODY && !http1_begin_unseen(h, dir, piece))
			break;
		some = http1_body_unknown(&half->body, n);
		half->at += some;
		n -= some;
		http1_body_taken(h, dir, some);
	}
}

/*
 * Of a connection that we know from its beginning this may come late, too: then what is
 * before it is missing.
 */
static void see_first(struct http1 *h, enum net_direction dir, uint64_t off)
{
	struct http1_half *half = &h->half[dir];

	half->was_seen = true;
	half->from_start = off == 0 || h->half[!dir].from_start;
	half->state = half->from_start ? HTTP1_BETWEEN : HTTP1_SEEKING;
	half->at = half->from_start ? 0 : off;
	if (h->is_switched)
		h->switched[dir] = off;
}

enum http1_next http1_piece(struct http1 *h, enum net_direction dir, const struct net_piece *piece)
{
	struct http1_half *half = &h->half[dir];
	struct cursor c = { piece->data, piece->n_data, true, piece };
	uint64_t end = piece->off + piece->len, n_old;
	bool was_switched = h->is_switched;

	if (!half->was_seen)
		see_first(h, dir, piece->off);
	n_old = half->at > piece->off ? half->at - piece->off : 0;
	if (n_old >= piece->len)
		return HTTP1_GOES_ON;
	if (piece->off > half->at) {
		take_unknown(h, dir, piece->off - half->at, piece);
		half->at = piece->off;
		if (half->state == HTTP1_IN_BODY && half->body.framing == HTTP1_UNTIL_TURN)
			http1_lost(h, dir);
	}
	half->piece_off = piece->off;
	half->last_ns = piece->time_ns;
	if (n_old > 0 && n_old < c.n) {
		c.data += n_old;
		c.n -= n_old;
	} else if (n_old > 0) {
		c.n = 0;
	}
	take_known(h, dir, &c);
	if (end > half->at)
		take_unknown(h, dir, end - half->at, piece);
	half->at = end;
	if (was_switched || !h->is_switched)
		return HTTP1_GOES_ON;
	return h->is_h2c ? HTTP1_UPGRADED_H2C : HTTP1_SWITCHED;
}
