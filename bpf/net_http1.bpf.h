/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_http1.bpf.h - which bytes of HTTP/1 are heads. A part of net.bpf.c.
 *
 * Heads are copied to their end and no further, and of chunked bodies the lines between
 * the chunks; for that the lines of a head are walked, eight bytes at a time, and of the
 * fields those are read that say how long the body is. It is not the parser: what is not
 * understood here is not copied, until the conversation turns and something begins that
 * looks like a head.
 */
#ifndef NET_HTTP1_BPF_H
#define NET_HTTP1_BPF_H

#include "net_copy.bpf.h"

#define HTTP1_MAX_HEAD 2048

enum http1_mode {
	HTTP1_START,   /* of a message */
	HTTP1_BEGUN,   /* `line` bytes of a response have come, too few to say so */
	HTTP1_HEAD,    /* in one whose end is still to come */
	HTTP1_BODY,    /* `left` bytes of it */
	HTTP1_CHUNK,   /* in the line before a chunk; `left` is its length so far */
	HTTP1_DATA,    /* `left` bytes of a chunk, and of the end of line behind it */
	HTTP1_TRAILER, /* behind the last chunk, until an empty line */
	HTTP1_REST,    /* of unknown length: until the conversation turns */
};

/* net_way.http1 */
#define HTTP1_IS_REQUEST 0x01
#define HTTP1_HAS_LENGTH 0x02
#define HTTP1_IS_CHUNKED 0x04
#define HTTP1_NO_BODY	 0x08 /* 1xx, 204, 304 */
#define HTTP1_BODY_COMES 0x10 /* none of the body has come */
#define HTTP1_EXTENSION	 0x20 /* the length of the chunk is complete */

#define WORD(a, b, c, d, e, f, g, h)                                                             \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)
#define EACH(byte) ((byte)*0x0101010101010101ull)

/* Of a request: its method and the blank. */
static __always_inline bool is_method(__u64 w)
{
	switch ((__u32)w) {
	case WORD('G', 'E', 'T', ' ', 0, 0, 0, 0):
	case WORD('P', 'U', 'T', ' ', 0, 0, 0, 0):
		return true;
	case WORD('P', 'O', 'S', 'T', 0, 0, 0, 0):
	case WORD('H', 'E', 'A', 'D', 0, 0, 0, 0):
		return (__u8)(w >> 32) == ' ';
	}
	return (__u32)w == WORD('P', 'A', 'T', 'C', 0, 0, 0, 0)
		       ? (__u16)(w >> 32) == ('H' | ' ' << 8)
		       : (w & ~0ull >> 8) == WORD('D', 'E', 'L', 'E', 'T', 'E', ' ', 0) ||
				 w == WORD('O', 'P', 'T', 'I', 'O', 'N', 'S', ' ') ||
				 w == WORD('C', 'O', 'N', 'N', 'E', 'C', 'T', ' ') ||
				 (w & ~0ull >> 16) == WORD('T', 'R', 'A', 'C', 'E', ' ', 0, 0);
}

/* WebDAV's and those of caches, where they ask for a path: a few words of other protocols too. */
static __always_inline bool is_rare_method(__u64 w)
{
	switch (w) {
	case WORD('P', 'R', 'O', 'P', 'F', 'I', 'N', 'D'):
	case WORD('P', 'R', 'O', 'P', 'P', 'A', 'T', 'C'):
	case WORD('M', 'K', 'C', 'A', 'L', 'E', 'N', 'D'):
	case WORD('R', 'E', 'P', 'O', 'R', 'T', ' ', '/'):
	case WORD('S', 'E', 'A', 'R', 'C', 'H', ' ', '/'):
	case WORD('U', 'N', 'L', 'O', 'C', 'K', ' ', '/'):
		return true;
	}
	switch (w & ~0ull >> 8) {
	case WORD('M', 'K', 'C', 'O', 'L', ' ', '/', 0):
	case WORD('P', 'U', 'R', 'G', 'E', ' ', '/', 0):
		return true;
	}
	switch (w & ~0ull >> 16) {
	case WORD('C', 'O', 'P', 'Y', ' ', '/', 0, 0):
	case WORD('M', 'O', 'V', 'E', ' ', '/', 0, 0):
	case WORD('L', 'O', 'C', 'K', ' ', '/', 0, 0):
		return true;
	}
	return false;
}

#define RESPONSE     WORD('H', 'T', 'T', 'P', '/', '1', '.', 0)
#define RESPONSE_LEN 7

static __always_inline bool is_response(__u64 w)
{
	return (w & ~0ull >> 8) == RESPONSE;
}

/* Of a word the first `n` bytes. */
static __always_inline __u64 first_of(__u64 w, __u32 n)
{
	return n >= 8 ? w : w & ((1ull << 8 * n) - 1);
}

/* Are these all of a call's bytes and the first of a response? Some are read one at a time. */
static __always_inline bool may_be_response(__u64 w, __u32 n)
{
	return n < RESPONSE_LEN && first_of(w, n) == first_of(RESPONSE, n);
}

/* How far behind the first newline of a word; 0: it has none. */
static __always_inline __u32 behind_newline(__u64 w)
{
	__u64 x = w ^ EACH('\n'), t = (x - EACH(1ull)) & ~x & EACH(0x80ull);

	if (!t)
		return 0;
	return (((t & -t) - 1) & EACH(1ull)) * EACH(1ull) >> 56;
}

static __always_inline __u64 word_at(const struct net_room *room, __u32 at)
{
	asm volatile("%0 &= 0xfff" : "+r"(at));
	return *(const __u64 *)(room->bytes + at);
}

/* The number of a Content-Length from `at` on. What is none, or absurd, has no length. */
static __always_inline void read_length(struct in_room *h, __u32 at)
{
	__u64 value = 0;
	bool any = false;

	asm volatile("%0 &= 0xfff" : "+r"(at));
	for (int i = 0; i < 16; i++) {
		__u8 c = h->room->bytes[at + i];

		if (c == ' ' && !any)
			continue;
		if (c < '0' || c > '9')
			break;
		value = value * 10 + (c - '0');
		any = true;
	}
	if (!any)
		return;
	h->way->left = value;
	h->way->http1 |= HTTP1_HAS_LENGTH | HTTP1_BODY_COMES;
}

/* The field that begins at `pos`: case does not matter. */
static __always_inline void look_at_field(struct in_room *h)
{
	__u64 a = word_at(h->room, h->room->head_pos) | EACH(0x20ull), b;

	if (a == WORD('c', 'o', 'n', 't', 'e', 'n', 't', '-')) {
		b = word_at(h->room, h->room->head_pos + 8) | EACH(0x20ull);
		if ((b & ~0ull >> 8) == WORD('l', 'e', 'n', 'g', 't', 'h', ':', 0))
			read_length(h, h->room->head_pos + 15);
	} else if (a == WORD('t', 'r', 'a', 'n', 's', 'f', 'e', 'r')) {
		b = word_at(h->room, h->room->head_pos + 8) | EACH(0x20ull);
		if (b == WORD('-', 'e', 'n', 'c', 'o', 'd', 'i', 'n'))
			h->way->http1 |= HTTP1_IS_CHUNKED;
	}
}

/* The head is over; what comes now? */
static __always_inline void end_head(struct net_way *way)
{
	__u8 flags = way->http1;

	way->taken = 0;
	way->http1 |= HTTP1_BODY_COMES;
	if (flags & HTTP1_NO_BODY) {
		way->mode = HTTP1_START;
	} else if (flags & HTTP1_IS_CHUNKED) {
		way->left = 0;
		way->http1 &= ~HTTP1_EXTENSION;
		way->mode = HTTP1_CHUNK;
	} else if (flags & HTTP1_HAS_LENGTH) {
		way->mode = way->left ? HTTP1_BODY : HTTP1_START;
	} else {
		way->mode = flags & HTTP1_IS_REQUEST ? HTTP1_START : HTTP1_REST;
	}
}

/* Of a response whose first bytes come a few at a time, some more. False: it was none. */
static __always_inline bool begin_bytewise(struct in_room *h, __u32 line)
{
	__u32 pos = h->room->head_pos, n = h->room->head_n - pos;

	line &= 7;
	if (n > RESPONSE_LEN - line)
		n = RESPONSE_LEN - line;
	if (first_of(word_at(h->room, pos), n) != first_of(RESPONSE >> 8 * line, n))
		return false;
	h->way->http1 = 0;
	h->way->left = 0;
	h->way->line = line + n;
	h->way->mode = line + n < RESPONSE_LEN ? HTTP1_BEGUN : HTTP1_HEAD;
	h->room->head_pos += n;
	return true;
}

/* False: no message begins here. */
static __always_inline bool begin_head(struct in_room *h)
{
	__u32 pos = h->room->head_pos, rest = h->room->head_n - pos, n = rest < 8 ? rest : 8;
	__u64 w = first_of(word_at(h->room, pos), n), status;

	h->way->http1 = 0;
	if (is_response(w)) {
		status = word_at(h->room, pos + 9) & 0xffffff;
		if (rest >= 12 &&
		    ((__u8)status == '1' || status == WORD('2', '0', '4', 0, 0, 0, 0, 0) ||
		     status == WORD('3', '0', '4', 0, 0, 0, 0, 0)))
			h->way->http1 = HTTP1_NO_BODY;
	} else if (is_method(w) || is_rare_method(w)) {
		h->way->http1 = HTTP1_IS_REQUEST;
	} else {
		return may_be_response(w, rest) && begin_bytewise(h, 0);
	}
	h->way->mode = HTTP1_HEAD;
	h->way->line = n;
	h->way->left = 0;
	h->room->head_pos += n;
	return true;
}

/* The line ends at `pos`, behind its newline. 1: so does the head, or the trailer. */
static __always_inline long end_line(struct in_room *h, __u32 pos, bool empty)
{
	h->room->head_pos = pos;
	h->way->line = 0;
	if (!empty) {
		if (h->way->mode == HTTP1_HEAD)
			look_at_field(h);
		return 0;
	}
	if (h->way->mode == HTTP1_HEAD)
		end_head(h->way);
	else
		h->way->mode = HTTP1_START;
	return 1;
}

#define WORDS_AT_ONCE 6

/* Up to the end of a line, or some words on. 1: the head or the trailer is over. */
static long http1_line(__u32 i, struct in_room *h)
{
	struct net_room *room = h->room;
	__u32 line = h->way->line, pos = room->head_pos, n = room->head_n, k = 0;
	bool empty;

	if (pos >= n)
		return 1;
	for (int j = 0; j < WORDS_AT_ONCE; j++) {
		k = behind_newline(word_at(room, pos));
		if (k)
			break;
		pos += 8;
		line += 8;
	}
	if (k && pos + k <= n) {
		line += k - 1;
		empty = line == 0 ||
			(line == 1 && (k == 1 || (__u8)word_at(room, pos + k - 2) == '\r'));
		return end_line(h, pos + k, empty);
	}
	line += n - pos; /* which may be before what was looked at */
	if (!k && pos < n)
		line -= n - pos;
	else
		pos = n;
	room->head_pos = pos;
	h->way->line = line < 255 ? line : 255;
	return 0;
}

static __always_inline __s32 hex_value(__u8 c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character of the line before a chunk. 1: that is over, or is none. */
static long http1_chunk(__u32 i, struct in_room *h)
{
	struct net_room *room = h->room;
	struct net_way *way = h->way;
	__u8 c;

	if (room->head_pos >= room->head_n)
		return 1;
	c = word_at(room, room->head_pos);
	room->head_pos++;
	if (c == '\n') {
		way->taken = 0;
		way->line = 0;
		way->http1 &= ~HTTP1_EXTENSION;
		way->mode = way->left ? HTTP1_DATA : HTTP1_TRAILER;
		if (way->left)
			way->left += 2;
		return 1;
	}
	if (hex_value(c) >= 0 && !(way->http1 & HTTP1_EXTENSION) && way->left < 1ull << 40)
		way->left = way->left << 4 | hex_value(c);
	else
		way->http1 |= HTTP1_EXTENSION;
	return 0;
}

/* The bytes are where they shall be; those that were walked are kept. */
static __always_inline void keep_walked(struct net_room *room, struct net_way *way)
{
	__u32 len = room->head_pos - room->n_bytes;

	/* What follows is found from the call's beginning again. */
	room->skip = len;
	if (!len || !run_add(room, room->cursor.pos, len))
		return;
	room->n_bytes += len;
	if (way->mode == HTTP1_HEAD || way->mode == HTTP1_CHUNK || way->mode == HTTP1_TRAILER)
		way->taken += len;
	if (way->taken >= HTTP1_MAX_HEAD) {
		room->cut = 1;
		way->taken = 0;
		way->mode = HTTP1_REST;
	}
}

#define CHUNK_LINE 32

/* Of `n` bytes that are none of the heads: what comes behind them? */
static __always_inline void http1_skip(struct net_way *way, __u64 n)
{
	way->left -= n;
	if (way->left)
		return;
	way->mode = way->mode == HTTP1_BODY ? HTTP1_START : HTTP1_CHUNK;
}

/*
 * A head is over, and what is behind it was copied with it. The answer to HEAD has a
 * length and no body: what comes next is a head. If all the rest is body, that is all.
 */
static __always_inline void look_behind_head(struct in_room *h)
{
	struct net_room *room = h->room;
	__u32 rest = room->cursor.total - room->cursor.pos - room->skip;

	if (h->way->mode != HTTP1_BODY || room->head_n - room->head_pos < 8)
		return;
	h->way->http1 &= ~HTTP1_BODY_COMES;
	if (is_response(word_at(room, room->head_pos))) {
		h->way->mode = HTTP1_START;
	} else if (h->way->left >= rest) {
		http1_skip(h->way, rest);
		room->skip = 0;
		room->cursor.pos = room->cursor.total;
	}
}

/* A head, or what is here of it. */
static __always_inline void walk_lines(struct in_room *h)
{
	struct net_room *room = h->room;
	struct net_cursor begin = room->cursor;
	__u32 want = h->way->mode == HTTP1_CHUNK ? CHUNK_LINE : HTTP1_MAX_HEAD - h->way->taken;
	__u8 was = h->way->mode;

	if (room->n_bytes >= NET_MAX_PAYLOAD) {
		room->cut = 1;
		h->way->mode = HTTP1_REST;
		return;
	}
	if (want > NET_MAX_PAYLOAD - room->n_bytes)
		want = NET_MAX_PAYLOAD - room->n_bytes;
	room->head_n = room->fresh ? room->have : gather(room, want);
	room->fresh = 0;
	room->cursor = begin;
	room->head_pos = room->n_bytes;
	if (room->head_n <= room->head_pos || (was == HTTP1_START && !begin_head(h)) ||
	    (was == HTTP1_BEGUN && !begin_bytewise(h, h->way->line))) {
		h->way->mode = HTTP1_REST;
		return;
	}
	if (was == HTTP1_CHUNK)
		bpf_loop(CHUNK_LINE, http1_chunk, h, 0);
	else
		bpf_loop(HTTP1_MAX_HEAD, http1_line, h, 0);
	keep_walked(room, h->way);
	look_behind_head(h);
}

/* The answer to HEAD has a length and no body: what comes next is a head. */
static __always_inline bool has_no_body(struct in_room *h)
{
	struct net_cursor begin = h->room->cursor;
	__u32 have;

	h->way->http1 &= ~HTTP1_BODY_COMES;
	have = gather(h->room, 8);
	h->room->cursor = begin;
	return have == h->room->n_bytes + 8 && is_response(word_at(h->room, h->room->n_bytes));
}

static long http1_step(__u32 i, struct in_room *h)
{
	struct net_room *room = h->room;
	struct net_cursor *c = &room->cursor;
	__u64 n;

	if (!cursor_piece(c))
		return 1;
	if (room->skip) {
		n = room->skip < c->left ? room->skip : c->left;
		room->skip -= n;
		cursor_skip(c, n);
		return 0;
	}
	switch (h->way->mode) {
	case HTTP1_REST:
		return 1;
	case HTTP1_BODY:
		if (h->way->http1 & HTTP1_BODY_COMES && has_no_body(h)) {
			h->way->mode = HTTP1_START;
			return 0;
		}
		/* fall through */
	case HTTP1_DATA:
		n = h->way->left < c->left ? h->way->left : c->left;
		cursor_skip(c, n);
		http1_skip(h->way, n);
		return 0;
	}
	walk_lines(h);
	return 0;
}

/* Bytes have gone by unseen. */
static __always_inline void http1_pass(struct net_way *way, __u32 n)
{
	way->http1 &= ~HTTP1_BODY_COMES;
	if ((way->mode == HTTP1_BODY || way->mode == HTTP1_DATA) && way->left >= n)
		http1_skip(way, n);
	else
		way->mode = HTTP1_REST;
}

/* In the midst of a message, whose framing is known. */
static __always_inline bool http1_is_within(const struct net_way *way)
{
	return way->mode != HTTP1_START && way->mode != HTTP1_REST;
}

/* All of it is body, which nobody has to look at. */
static __always_inline bool http1_is_body(const struct net_way *way, __u32 n)
{
	if (way->mode == HTTP1_BODY)
		return way->left >= n && !(way->http1 & HTTP1_BODY_COMES);
	return way->mode == HTTP1_REST || (way->mode == HTTP1_DATA && way->left >= n);
}

/* A whole request without a body, which most are, need not be walked. */
static __always_inline bool is_bare_request(const struct net_room *room, __u32 n)
{
	__u32 first = word_at(room, 0), end = n - 4;

	if (first != (__u32)WORD('G', 'E', 'T', ' ', 0, 0, 0, 0) &&
	    first != (__u32)WORD('H', 'E', 'A', 'D', 0, 0, 0, 0))
		return false;
	return n > 16 && (__u32)word_at(room, end) == ('\r' | '\n' << 8 | '\r' << 16 | '\n' << 24);
}

#define HTTP1_MAX_STEPS 256

/*
 * The room's cursor is at the first byte of a call; these are there already where a
 * message begins.
 */
__noinline int http1_walk(struct net_room *room, struct net_way *way)
{
	struct in_room h = { .room = room, .way = way };
	__u32 total;

	if (!room || !way)
		return 0;
	total = room->cursor.total;
	if (room->fresh && room->have == total && is_bare_request(room, total)) {
		run_add(room, 0, total);
		room->n_bytes = total;
		return 0;
	}
	room->skip = 0;
	bpf_loop(HTTP1_MAX_STEPS, http1_step, &h, 0);
	if (room->cursor.pos + room->skip < total && way->mode != HTTP1_REST) {
		room->cut = 1;
		way->mode = HTTP1_REST;
	}
	return 0;
}

#endif
