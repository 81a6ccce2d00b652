/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_plain.bpf.h - what is copied of a clear text stream that a TLS library moves: as of
 * the streams of sockets, heads of HTTP/1 and frames of HTTP/2 but what is in DATA. A part
 * of net_tls.bpf.c.
 *
 * The bytes of a call are in one piece of the caller's memory. Which protocol it is its
 * first bytes say.
 */
#ifndef NET_PLAIN_BPF_H
#define NET_PLAIN_BPF_H

/* Of sockets there is more in them than this needs. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-function"
#include "net_frames.bpf.h"
#include "net_http1.bpf.h"
#pragma clang diagnostic pop

#define H2_MAX_CONTROL 65536 /* no frame but DATA is longer, but by mistake */

/* By direction: received, sent. */
struct plain_state {
	struct net_way ways[2];
	__u8 protocol; /* enum net_protocol */
	__u8 turn;     /* 1 + the direction that moved last */
	__u8 pad[6];
};

static __always_inline __u32 h2_len(const __u8 *head)
{
	return (__u32)head[0] << 16 | (__u32)head[1] << 8 | head[2];
}

static __always_inline bool h2_is_credible(const __u8 *head)
{
	bool has_stream = head[5] | head[6] | head[7] | head[8];
	__u32 len = h2_len(head);

	if (head[5] & 0x80)
		return false;
	switch (head[3]) {
	case 0: /* DATA */
	case 1: /* HEADERS */
	case 9: /* CONTINUATION */
		return has_stream && !(head[4] & ~0x2d) && len <= HTTP2_MAX_FRAME;
	case 2: /* PRIORITY */
		return has_stream && len == 5;
	case 3: /* RST_STREAM */
		return has_stream && len == 4;
	case 4: /* SETTINGS */
		return !has_stream && len % 6 == 0 && len <= 6 * 64 && !(head[4] & ~1);
	case 6: /* PING */
		return !has_stream && len == 8 && !(head[4] & ~1);
	case 7: /* GOAWAY */
		return !has_stream && len >= 8 && len <= H2_MAX_CONTROL;
	case 8: /* WINDOW_UPDATE */
		return len == 4 && head[4] == 0;
	}
	return false;
}

/* A frame at the beginning of a call that ends with it, or that another one follows. */
static __always_inline bool begins_with_frames(const struct net_room *room, __u64 buf, __u32 len)
{
	__u32 end = HTTP2_HEAD + h2_len(room->bytes);
	__u8 head[16] = {};

	if (len < HTTP2_HEAD || !h2_is_credible(room->bytes))
		return false;
	if (end == len)
		return true;
	return end + HTTP2_HEAD <= len &&
	       bpf_probe_read_user(head, HTTP2_HEAD, (const void *)(buf + end)) == 0 &&
	       h2_is_credible(head);
}

static __always_inline void begin_way(struct net_way *way, __u8 mode)
{
	way->mode = mode;
	way->left = 0;
	way->n_head = 0;
	way->taken = 0;
}

/* By the first bytes of a call. True: this direction can be followed from here on. */
static __always_inline bool find_plain(struct net_room *room, struct plain_state *s, __u32 dir,
				       __u64 buf, __u32 len)
{
	struct net_cursor at = room->cursor;
	__u32 n = gather(room, 9);
	__u64 w = word_at(room, 0);

	room->cursor = at;
	room->cut = 0;
	if (s->protocol != NET_PROTOCOL_HTTP2 && n >= 8 &&
	    (is_method(w) || is_response(w) || is_rare_method(w))) {
		s->protocol = NET_PROTOCOL_HTTP1;
		begin_way(&s->ways[dir & 1], HTTP1_START);
		return true;
	}
	if (s->protocol == NET_PROTOCOL_HTTP1)
		return false;
	if (w != WORD('P', 'R', 'I', ' ', '*', ' ', 'H', 'T') &&
	    !begins_with_frames(room, buf, len))
		return false;
	if (s->protocol != NET_PROTOCOL_HTTP2) {
		s->protocol = NET_PROTOCOL_HTTP2;
		begin_way(&s->ways[~dir & 1], FRAME_LOST); /* the other one, until it is seen */
	}
	begin_way(&s->ways[dir & 1], FRAME_HEAD);
	if (room->bytes[0] == 'P') {
		s->ways[dir & 1].mode = FRAME_WANTED;
		s->ways[dir & 1].left = HTTP2_PREFACE;
	}
	return true;
}

/* Finds the bytes that are wanted of the `len` that a call has moved at `buf`. */
static __always_inline void walk_plain(struct net_room *room, struct plain_state *s, __u32 dir,
				       __u64 buf, __u32 len)
{
	struct net_way *way = &s->ways[dir & 1];
	bool turned = s->turn != dir + 1, known;

	s->turn = dir + 1;
	room->cursor = (struct net_cursor){ .base = buf, .left = len, .total = len };
	known = s->protocol == NET_PROTOCOL_HTTP1   ? !turned
		: s->protocol == NET_PROTOCOL_HTTP2 ? way->mode != FRAME_LOST
						    : false;
	if (!known && !find_plain(room, s, dir, buf, len)) {
		if (s->protocol == NET_PROTOCOL_HTTP1)
			http1_pass(way, len);
	} else if (s->protocol == NET_PROTOCOL_HTTP1) {
		http1_walk(room, way);
	} else {
		frames_walk(room, way, 0);
	}
}

/* Bytes have gone by unseen. */
static __always_inline void pass_plain(struct plain_state *s, __u32 dir, __u32 len)
{
	s->turn = dir + 1;
	if (s->protocol == NET_PROTOCOL_HTTP1)
		http1_pass(&s->ways[dir & 1], len);
	else if (s->protocol == NET_PROTOCOL_HTTP2)
		frames_pass(&s->ways[dir & 1], len);
}

#endif
