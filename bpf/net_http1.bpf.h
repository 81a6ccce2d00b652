/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_http1.bpf.h - which bytes of HTTP/1 are heads. A part of net.bpf.c.
 *
 * Heads are copied to their end and no further; for that the lines are walked, eight
 * bytes at a time, and of the fields those are read that say how long the body is. It
 * is not the parser: what is not understood here is not copied, until the conversation
 * turns and something begins that looks like a head.
 */
#ifndef NET_HTTP1_BPF_H
#define NET_HTTP1_BPF_H

#include "net_copy.bpf.h"

#define HTTP1_MAX_HEAD 2048

enum http1_mode {
	HTTP1_START, /* of a message */
	HTTP1_HEAD,  /* in one whose end is still to come */
	HTTP1_BODY,  /* `left` bytes of it */
	HTTP1_REST,  /* of unknown length: until the conversation turns */
};

/* net_way.http1 */
#define HTTP1_IS_REQUEST 0x01
#define HTTP1_HAS_LENGTH 0x02
#define HTTP1_IS_CHUNKED 0x04
#define HTTP1_NO_BODY	 0x08 /* 1xx, 204, 304 */
#define HTTP1_BODY_COMES 0x10 /* none of the body has come */

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

static __always_inline bool is_response(__u64 w)
{
	return (w & ~0ull >> 8) == WORD('H', 'T', 'T', 'P', '/', '1', '.', 0);
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

/* The head's bytes from `begin` to `pos`, behind those of the one before. */
static __always_inline void keep_head(struct in_room *h)
{
	__u32 len = h->room->head_pos - h->room->head_begin, from = h->room->head_begin,
	      to = h->room->n_bytes;

	if (!len || !run_add(h->room, h->room->head_begin, len))
		return;
	h->room->n_bytes += len;
	if (from == to)
		return;
	asm volatile("%0 &= 0xfff" : "+r"(from));
	asm volatile("%0 &= 0x7ff" : "+r"(to));
	asm volatile("%0 &= 0x7ff" : "+r"(len));
	if (from + len <= NET_MAX_PAYLOAD && to + len <= NET_MAX_PAYLOAD)
		bpf_probe_read_kernel(h->room->bytes + to, len, h->room->bytes + from);
}

static __always_inline void end_head(struct in_room *h)
{
	__u8 flags = h->way->http1;

	keep_head(h);
	h->way->taken = 0;
	if (flags & HTTP1_NO_BODY)
		h->way->mode = HTTP1_START;
	else if (flags & HTTP1_IS_CHUNKED)
		h->way->mode = HTTP1_REST;
	else if (flags & HTTP1_HAS_LENGTH)
		h->way->mode = h->way->left ? HTTP1_BODY : HTTP1_START;
	else
		h->way->mode = flags & HTTP1_IS_REQUEST ? HTTP1_START : HTTP1_REST;
}

/* False: no message begins here. */
static __always_inline bool begin_head(struct in_room *h)
{
	__u64 w = word_at(h->room, h->room->head_pos), status;

	h->way->http1 = 0;
	if (h->room->head_n - h->room->head_pos < 8)
		return false;
	if (is_method(w)) {
		h->way->http1 = HTTP1_IS_REQUEST;
	} else if (is_response(w)) {
		status = word_at(h->room, h->room->head_pos + 9) & 0xffffff;
		if ((__u8)status == '1' || status == WORD('2', '0', '4', 0, 0, 0, 0, 0) ||
		    status == WORD('3', '0', '4', 0, 0, 0, 0, 0))
			h->way->http1 = HTTP1_NO_BODY;
	} else {
		return false;
	}
	h->way->mode = HTTP1_HEAD;
	h->way->line = 8;
	h->way->left = 0;
	h->room->head_begin = h->room->head_pos;
	h->room->head_pos += 8;
	return true;
}

/* Up to the end of a line, or eight bytes on. */
static __always_inline void walk_head(struct in_room *h)
{
	__u32 k = behind_newline(word_at(h->room, h->room->head_pos)), line = h->way->line;
	bool empty;

	if (!k || h->room->head_pos + k > h->room->head_n) {
		k = h->room->head_n - h->room->head_pos < 8 ? h->room->head_n - h->room->head_pos
							    : 8;
		h->room->head_pos += k;
		h->way->line = line + k < 255 ? line + k : 255;
		return;
	}
	line += k - 1;
	empty = line == 0 ||
		(line == 1 &&
		 (k == 1 || (__u8)word_at(h->room, h->room->head_pos + k - 2) == '\r'));
	h->room->head_pos += k;
	h->way->line = 0;
	if (empty)
		end_head(h);
	else
		look_at_field(h);
}

static long http1_step(__u32 i, struct in_room *h)
{
	__u32 rest = h->room->head_n - h->room->head_pos;

	if (h->room->head_pos >= h->room->head_n)
		return 1;
	switch (h->way->mode) {
	case HTTP1_START:
		if (!begin_head(h))
			h->way->mode = HTTP1_REST;
		return 0;
	case HTTP1_HEAD:
		walk_head(h);
		return 0;
	case HTTP1_BODY:
		/* The answer to HEAD has a length and no body: what comes next is a head. */
		if (rest >= 8 && is_response(word_at(h->room, h->room->head_pos))) {
			h->way->mode = HTTP1_START;
			return 0;
		}
		if (h->way->left <= rest) {
			h->room->head_pos += h->way->left;
			h->way->mode = HTTP1_START;
			return 0;
		}
		h->way->left -= rest;
		h->way->http1 &= ~HTTP1_BODY_COMES;
		h->room->head_pos = h->room->head_n;
		return 1;
	}
	h->room->head_pos = h->room->head_n;
	return 1;
}

/* Bytes have gone by unseen, or too many have. */
static __always_inline void http1_pass(struct net_way *way, __u32 n)
{
	way->http1 &= ~HTTP1_BODY_COMES;
	if (way->mode == HTTP1_BODY && way->left >= n) {
		way->left -= n;
		if (!way->left)
			way->mode = HTTP1_START;
	} else {
		way->mode = HTTP1_REST;
	}
}

/*
 * All of it is body, or would be: the answer to HEAD has a length and no body, so what
 * comes next may be a head.
 */
static __always_inline bool is_body(struct net_room *room, struct net_way *way)
{
	struct net_cursor begin = room->cursor;
	__u32 n;

	if (way->mode != HTTP1_BODY || way->left < begin.total)
		return false;
	n = gather(room, 8);
	if (n == 8 && is_response(word_at(room, 0))) {
		room->cursor = begin;
		room->cut = 0;
		way->mode = HTTP1_START;
		return false;
	}
	http1_pass(way, begin.total);
	room->cut = 0;
	return true;
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

/* The room's cursor is at the first byte of a call. */
__noinline int http1_walk(struct net_room *room, struct net_way *way)
{
	struct in_room h = { .room = room, .way = way };
	__u32 total, n;

	if (!room || !way)
		return 0;
	if (is_body(room, way))
		return 0;
	n = total = room->cursor.total;
	if (n > HTTP1_MAX_HEAD - way->taken)
		n = HTTP1_MAX_HEAD - way->taken;
	n = gather(room, n);
	if (n == total && way->mode == HTTP1_START && is_bare_request(room, n)) {
		run_add(room, 0, n);
		room->n_bytes = n;
		return 0;
	}
	room->head_n = n;
	room->head_pos = room->head_begin = 0;
	bpf_loop(HTTP1_MAX_HEAD, http1_step, &h, 0);
	if (way->mode == HTTP1_HEAD) {
		keep_head(&h);
		way->taken += room->head_pos - room->head_begin;
		if (n < total || way->taken >= HTTP1_MAX_HEAD) {
			room->cut = 1;
			way->taken = 0;
			way->mode = HTTP1_REST;
		}
	} else if (n < total) {
		http1_pass(way, total - n);
	}
	return 0;
}

#endif
