/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_plain.bpf.h - what is copied of a clear text stream that a TLS library moves: the
 * heads of HTTP/1 messages, the frames of HTTP/2 but what is in DATA, and nothing else.
 *
 * The bytes of a call are in one piece of the caller's memory. Which protocol it is its
 * first bytes say, of each call until one is known.
 */
#ifndef NET_PLAIN_BPF_H
#define NET_PLAIN_BPF_H

#include "kernel.h"
#include "net_events.h"

/* From where an HTTP/1 message begins. */
#define HTTP1_BUDGET 2048

#define H2_HEAD	       9
#define H2_PREFACE     24
#define H2_DATA	       0
#define H2_TYPES       10
#define H2_MAX_FRAMES  1024  /* of one call */
#define H2_MAX_CONTROL 65536 /* no frame but DATA is longer, but by mistake */

/* Where in a frame a direction is. */
struct h2_walk {
	__u32 rest;	/* of a payload */
	__u8 is_wanted; /* the payload */
	__u8 n_head;
	__u8 in_step; /* it is known where frames begin */
	__u8 pad;
	__u8 head[24];
};

/* What of a stream the choice depends on. By direction: received, sent. */
struct plain_state {
	__u8 protocol; /* enum net_protocol */
	__u8 turn;     /* the direction that moved last */
	__u8 pad[2];
	__u32 budget[2];
	struct h2_walk h2[2];
};

/* A probe runs with preemption on: another one may come in between. */
struct plain_room {
	struct net_plain_event ev;
	__u8 slack[8192]; /* for the verifier: what is masked, and a run, fits */
	__u32 busy;
	/* A call that is walked through. */
	__u64 buf;
	__u32 len, pos;
	__u32 n_runs, n_bytes;
	__u32 cut;
	__u32 pad;
	struct h2_walk h2;
};

/* ---- which protocol ---- */

union plain_first {
	__u8 bytes[32];
	__u32 words[8];
	__u64 longs[4];
};

#define WORD(a, b, c, d) ((__u32)(a) | (__u32)(b) << 8 | (__u32)(c) << 16 | (__u32)(d) << 24)

static __always_inline bool is_http1(const union plain_first *f)
{
	__u8 after; /* what follows the method */

	switch (f->words[0]) {
	case WORD('H', 'T', 'T', 'P'):
		return f->bytes[4] == '/' && f->bytes[5] == '1' && f->bytes[6] == '.';
	case WORD('G', 'E', 'T', ' '):
	case WORD('P', 'U', 'T', ' '):
		after = f->bytes[3];
		break;
	case WORD('H', 'E', 'A', 'D'):
	case WORD('P', 'O', 'S', 'T'):
	case WORD('L', 'O', 'C', 'K'):
	case WORD('C', 'O', 'P', 'Y'):
	case WORD('M', 'O', 'V', 'E'):
		after = f->bytes[4];
		break;
	case WORD('P', 'A', 'T', 'C'):
	case WORD('T', 'R', 'A', 'C'):
	case WORD('M', 'K', 'C', 'O'):
	case WORD('P', 'U', 'R', 'G'):
		after = f->bytes[5];
		break;
	case WORD('D', 'E', 'L', 'E'):
	case WORD('S', 'E', 'A', 'R'):
	case WORD('U', 'N', 'L', 'O'):
	case WORD('R', 'E', 'P', 'O'):
		after = f->bytes[6];
		break;
	case WORD('O', 'P', 'T', 'I'):
	case WORD('C', 'O', 'N', 'N'):
		after = f->bytes[7];
		break;
	case WORD('P', 'R', 'O', 'P'):
		after = f->bytes[8] == ' ' ? ' ' : f->bytes[9];
		break;
	default:
		return false;
	}
	return after == ' ';
}

/* The client's first words: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n". */
static __always_inline bool is_preface(const union plain_first *f, __u32 len)
{
	return len >= H2_PREFACE && f->words[0] == WORD('P', 'R', 'I', ' ') &&
	       f->words[1] == WORD('*', ' ', 'H', 'T') && f->words[2] == WORD('T', 'P', '/', '2') &&
	       f->words[3] == WORD('.', '0', '\r', '\n');
}

static __always_inline __u32 h2_len(const __u8 *head)
{
	return (__u32)head[0] << 16 | (__u32)head[1] << 8 | head[2];
}

static __always_inline bool h2_is_credible(const __u8 *head)
{
	/* By type: has it a stream, and how long is it (0: that varies)? */
	__u32 len = h2_len(head), type = head[3];
	bool has_stream = head[5] | head[6] | head[7] | head[8];

	if (head[5] & 0x80)
		return false;
	switch (type) {
	case 0: /* DATA */
	case 1: /* HEADERS */
	case 9: /* CONTINUATION */
		return has_stream && !(head[4] & ~0x2d) && len <= 1 << 20;
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

/* A frame at the beginning that ends with the call, or that another one follows. */
static __always_inline bool is_frames(const union plain_first *f, __u64 buf, __u32 len)
{
	__u32 end = H2_HEAD + h2_len(f->bytes);
	__u8 head[16] = {};

	if (len < H2_HEAD || !h2_is_credible(f->bytes))
		return false;
	if (end == len)
		return true;
	return end + H2_HEAD <= len &&
	       bpf_probe_read_user(head, H2_HEAD, (const void *)(buf + end)) == 0 &&
	       h2_is_credible(head);
}

/* ---- what is copied ---- */

static __always_inline void add_run(struct plain_room *room, __u32 at, __u32 len)
{
	struct net_run *runs = (struct net_run *)room->ev.data, *last;
	__u32 left = NET_MAX_PAYLOAD - room->n_bytes, n = room->n_runs;

	if (left > NET_MAX_PAYLOAD || len > left) {
		room->cut = 1;
		len = left <= NET_MAX_PAYLOAD ? left : 0;
	}
	if (len == 0)
		return;
	if (n > 0) {
		last = &runs[(n - 1) & (NET_MAX_RUNS - 1)];
		if (last->at + last->len == at) {
			last->len += len;
			room->n_bytes += len;
			return;
		}
	}
	if (n >= NET_MAX_RUNS) {
		room->cut = 1;
		return;
	}
	barrier_var(n); /* the mask is for the verifier, and stays */
	last = &runs[n & (NET_MAX_RUNS - 1)];
	last->at = at;
	last->len = len;
	room->n_runs = n + 1;
	room->n_bytes += len;
}

/* A head is complete. */
static __always_inline void begin_frame(struct h2_walk *w)
{
	w->n_head = 0;
	w->rest = h2_len(w->head);
	w->is_wanted = w->head[3] != H2_DATA;
	if (w->head[3] < H2_TYPES ? !h2_is_credible(w->head) && w->head[3] != 5
				  : w->rest > H2_MAX_CONTROL)
		w->in_step = 0;
}

/* The bpf_loop() callback: a frame's head, or its payload. */
static long walk_step(__u32 i, void *ctx)
{
	struct plain_room *room = *(struct plain_room **)ctx;
	struct h2_walk *w = &room->h2;
	__u32 left = room->len - room->pos, n, at = w->n_head;

	if (room->pos >= room->len || !w->in_step)
		return 1;
	if (w->rest) {
		n = w->rest < left ? w->rest : left;
		if (w->is_wanted)
			add_run(room, room->pos, n);
		room->pos += n;
		w->rest -= n;
		return 0;
	}
	if (at >= H2_HEAD) {
		w->in_step = 0;
		return 1;
	}
	n = H2_HEAD - at;
	if (n > left)
		n = left;
	barrier_var(at);
	barrier_var(n);
	if (bpf_probe_read_user(w->head + (at & 15), n & 15,
				(const void *)(room->buf + room->pos))) {
		w->in_step = 0;
		room->cut = 1;
		return 1;
	}
	add_run(room, room->pos, n);
	room->pos += n;
	w->n_head = at + n;
	if (w->n_head == H2_HEAD)
		begin_frame(w);
	return 0;
}

/* The runs of an HTTP/2 call. What is not walked to its end is out of step. */
static __always_inline void walk(struct plain_room *room, struct h2_walk *w)
{
	void *ctx = room;

	room->h2 = *w;
	bpf_loop(H2_MAX_FRAMES, walk_step, &ctx, 0);
	if (room->pos < room->len) {
		room->h2.in_step = 0;
		room->cut = 1;
	}
	*w = room->h2;
}

/* Behind the runs. Returns how long all of it is. */
static __always_inline __u32 copy_runs(struct plain_room *room)
{
	struct net_run *runs = (struct net_run *)room->ev.data;
	__u32 at = room->n_runs * sizeof(*runs);

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < NET_MAX_RUNS; i++) {
		__u32 len;

		if (i >= room->n_runs)
			break;
		len = runs[i].len;
		if (len > NET_MAX_PAYLOAD)
			break;
		barrier_var(at);
		at &= 8191;
		if (bpf_probe_read_user(room->ev.data + at, len,
					(const void *)(room->buf + runs[i].at))) {
			room->n_runs = 0;
			room->cut = 1;
			return 0;
		}
		at += len;
	}
	return at;
}

static __always_inline void choose_http1(struct plain_room *room, struct plain_state *s, __u32 dir,
					 bool begins)
{
	__u32 n;

	if (begins)
		s->budget[dir] = HTTP1_BUDGET;
	else if (s->turn != dir)
		s->budget[dir] = 0;
	s->turn = dir;
	n = s->budget[dir] < room->len ? s->budget[dir] : room->len;
	s->budget[dir] -= n;
	add_run(room, 0, n);
}

/* Finds the runs of a call that has moved room->len bytes at room->buf. */
static __always_inline void choose(struct plain_room *room, struct plain_state *s, __u32 dir)
{
	struct h2_walk *w = &s->h2[dir & 1];
	union plain_first f = {};
	__u32 n = room->len < H2_PREFACE ? room->len : H2_PREFACE;

	dir &= 1;
	barrier_var(n);
	if (bpf_probe_read_user(&f, n & 31, (const void *)room->buf)) {
		w->in_step = 0;
		room->cut = 1;
		return;
	}
	if (s->protocol != NET_PROTOCOL_HTTP2 && is_http1(&f)) {
		s->protocol = NET_PROTOCOL_HTTP1;
		choose_http1(room, s, dir, true);
		return;
	}
	if (s->protocol == NET_PROTOCOL_HTTP1) {
		choose_http1(room, s, dir, false);
		return;
	}
	if (is_preface(&f, room->len)) {
		*w = (struct h2_walk){ .rest = H2_PREFACE, .is_wanted = 1, .in_step = 1 };
		s->protocol = NET_PROTOCOL_HTTP2;
	} else if (!w->in_step && is_frames(&f, room->buf, room->len)) {
		*w = (struct h2_walk){ .in_step = 1 };
		s->protocol = NET_PROTOCOL_HTTP2;
	}
	if (w->in_step)
		walk(room, w);
}

#endif
