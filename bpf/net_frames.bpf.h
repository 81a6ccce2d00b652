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
#define HTTP2_MAX_FRAME (1 << 20)

enum frame_mode {
	FRAME_HEAD,
	FRAME_WANTED,
	FRAME_SKIPPED,
	FRAME_LOST, /* where the next one begins is not known */
};

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
		way->left -= n;
		if (!way->left)
			way->mode = FRAME_HEAD;
		return 0;
	}
	if (way->mode == FRAME_WANTED) {
		(void)take(f, n);
		cursor_skip(c, n);
		way->left -= n;
		if (!way->left)
			way->mode = FRAME_HEAD;
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
		way->left -= n;
		if (!way->left)
			way->mode = FRAME_HEAD;
	} else {
		way->mode = FRAME_LOST;
	}
}

#endif
