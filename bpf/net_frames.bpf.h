/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_frames.bpf.h - which bytes of a stream of frames are wanted: of TLS's records all
 * but application data, of HTTP/2's frames all but DATA; of these the heads. A part of
 * net.bpf.c.
 */
#ifndef NET_FRAMES_BPF_H
#define NET_FRAMES_BPF_H

#include "net_copy.bpf.h"

#define TLS_HEAD      5
#define HTTP2_HEAD    9
#define HTTP2_PREFACE 24

#define TLS_CHANGE_CIPHER 20
#define TLS_APPLICATION	  23
#define TLS_LAST_TYPE	  24
#define TLS_MAX_RECORD	  (16384 + 2048)

#define HTTP2_DATA	0
#define HTTP2_PADDED	0x08
#define HTTP2_MAX_FRAME (1 << 20)

enum frame_mode {
	FRAME_HEAD,
	FRAME_WANTED,
	FRAME_SKIPPED,
	FRAME_LOST, /* where the next one begins is not known */
};

/* ---- is it one? ---- */

/* HTTP/2: which flags a frame may have, by its type. */
static __always_inline __u8 http2_flags(__u8 type)
{
	switch (type) {
	case 0: /* DATA */
		return 0x09;
	case 1: /* HEADERS */
		return 0x2d;
	case 4: /* SETTINGS */
	case 6: /* PING */
		return 0x01;
	case 5: /* PUSH_PROMISE */
		return 0x0c;
	case 9: /* CONTINUATION */
		return 0x04;
	}
	return 0;
}

static __always_inline bool http2_is_credible(const __u8 *h, __u32 len, __u32 stream)
{
	__u8 type = h[3];

	if (type > 9 || h[4] & ~http2_flags(type) || h[5] & 0x80 || len > 1 << 17)
		return false;
	switch (type) {
	case 2: /* PRIORITY */
		return stream && len == 5;
	case 3: /* RST_STREAM */
		return stream && len == 4;
	case 4: /* SETTINGS */
		return !stream && len % 6 == 0;
	case 6: /* PING */
		return !stream && len == 8;
	case 7: /* GOAWAY */
		return !stream && len >= 8;
	case 8: /* WINDOW_UPDATE */
		return len == 4;
	}
	return stream;
}

/*
 * Do the room's bytes up to `n`, the first of `total`, begin with frames of HTTP/2? They
 * do if one ends where all does, or two are credible.
 */
__noinline int http2_are_frames(struct net_room *room, __u32 n, __u32 total)
{
	__u32 at = 0, len, stream;
	const __u8 *h;

	if (!room)
		return 0;
	for (int i = 0; i < 3; i++) {
		if (n < HTTP2_HEAD || at > n - HTTP2_HEAD || at > 128)
			return i >= 2;
		asm volatile("%0 &= 0xff" : "+r"(at));
		h = room->bytes + at;
		len = h[0] << 16 | h[1] << 8 | h[2];
		stream = h[5] << 24 | h[6] << 16 | h[7] << 8 | h[8];
		if (!http2_is_credible(h, len, stream))
			return false;
		at += HTTP2_HEAD + len;
		if (at == total)
			return true;
	}
	return true;
}

static __always_inline bool tls_is_record(const __u8 *h, __u32 n)
{
	return n >= TLS_HEAD && h[0] >= TLS_CHANGE_CIPHER && h[0] <= TLS_APPLICATION && h[1] == 3 &&
	       h[2] <= 4 && (h[3] << 8 | h[4]) <= TLS_MAX_RECORD;
}

#define LOOK_AHEAD 96

/* Where frames are begins is lost: is it here? A call's first byte often is such a place. */
static __always_inline void find_frame(struct net_room *room, struct net_way *way)
{
	struct net_cursor begin = room->cursor;
	__u32 n = gather(room, LOOK_AHEAD);

	room->cursor = begin;
	room->cut = 0;
	if (room->is_tls ? !tls_is_record(room->bytes, n) : !http2_are_frames(room, n, begin.total))
		return;
	way->mode = FRAME_HEAD;
	way->n_head = 0;
}

/* ---- its frames ---- */

/* The head is whole: what of the frame? */
static __always_inline void look_at_head(struct in_room *f)
{
	struct net_way *way = f->way;
	const __u8 *h = way->head;

	way->n_head = 0;
	if (f->room->is_tls) {
		way->left = h[3] << 8 | h[4];
		way->mode = h[0] == TLS_APPLICATION ? FRAME_SKIPPED : FRAME_WANTED;
		if (h[0] < TLS_CHANGE_CIPHER || h[0] > TLS_LAST_TYPE || h[1] != 3 ||
		    way->left > TLS_MAX_RECORD)
			way->mode = FRAME_LOST;
	} else {
		way->left = h[0] << 16 | h[1] << 8 | h[2];
		way->mode = h[3] == HTTP2_DATA ? FRAME_SKIPPED : FRAME_WANTED;
		if (way->left > HTTP2_MAX_FRAME)
			way->mode = FRAME_LOST;
		if (h[3] == HTTP2_DATA && h[4] & HTTP2_PADDED && way->left) {
			way->mode = FRAME_WANTED; /* its first byte: how much is none of it */
			way->behind = way->left - 1;
			way->left = 1;
		}
	}
	if (!way->left && way->mode != FRAME_LOST)
		way->mode = FRAME_HEAD;
}

/* The next `n` bytes of the piece are transferred. */
static __always_inline bool take(struct in_room *f, __u32 n)
{
	if (!cursor_peek(f->room, f->room->n_bytes, n) ||
	    !run_add(f->room, f->room->cursor.pos, n)) {
		f->room->cut = 1;
		return false;
	}
	f->room->n_bytes += n;
	return true;
}

/* The next `n` bytes of a frame have gone by. */
static __always_inline void frame_skip(struct net_way *way, __u32 n)
{
	way->left -= n;
	if (way->left)
		return;
	way->mode = way->behind ? FRAME_SKIPPED : FRAME_HEAD;
	way->left = way->behind;
	way->behind = 0;
}

static long frame_step(__u32 i, struct in_room *f)
{
	struct net_cursor *c = &f->room->cursor;
	struct net_way *way = f->way;
	__u32 want, n, have;

	if (way->mode == FRAME_LOST || !cursor_piece(c))
		return 1;
	if (!c->left)
		return 0;
	want = way->mode != FRAME_HEAD ? way->left
	       : f->room->is_tls       ? TLS_HEAD - way->n_head
				       : HTTP2_HEAD - way->n_head;
	n = want < c->left ? want : c->left;
	if (way->mode == FRAME_SKIPPED) {
		cursor_skip(c, n);
		frame_skip(way, n);
		return 0;
	}
	if (way->mode == FRAME_WANTED) {
		(void)take(f, n);
		cursor_skip(c, n);
		frame_skip(way, n);
		return 0;
	}
	have = way->n_head;
	asm volatile("" : "+r"(n), "+r"(have));
	if (have > HTTP2_HEAD || n > HTTP2_HEAD || n == 0) {
		way->mode = FRAME_LOST; /* cannot be: for the verifier */
		return 1;
	}
	if (bpf_probe_read_user(way->head + have, n, (void *)c->base)) {
		way->mode = FRAME_LOST;
		return 1;
	}
	(void)take(f, n);
	cursor_skip(c, n);
	way->n_head = have + n;
	if (way->n_head == (f->room->is_tls ? TLS_HEAD : HTTP2_HEAD))
		look_at_head(f);
	return 0;
}

#define MAX_FRAME_STEPS 512

/* The room's cursor is at the first byte of a call. */
__noinline int frames_walk(struct net_room *room, struct net_way *way, __u32 is_tls)
{
	struct in_room f = { .room = room, .way = way };

	if (!room || !way)
		return 0;
	room->is_tls = is_tls;
	if (way->mode == FRAME_LOST)
		find_frame(room, way);
	bpf_loop(MAX_FRAME_STEPS, frame_step, &f, 0);
	if (room->cursor.pos < room->cursor.total) {
		room->cut = 1;
		way->mode = FRAME_LOST;
	}
	return 0;
}

/* Bytes have gone by unseen, such as those of sendfile(). */
static __always_inline void frames_pass(struct net_way *way, __u32 n)
{
	if ((way->mode == FRAME_SKIPPED || way->mode == FRAME_WANTED) && way->left >= n) {
		frame_skip(way, n);
	} else {
		way->mode = FRAME_LOST;
	}
}

#endif
