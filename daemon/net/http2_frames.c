/* SPDX-License-Identifier: Apache-2.0 */
/* http2_frames.c - see http2_frames.h. */
#include "http2_frames.h"

#include <string.h>

#include "http2.h"

/* Where a boundary is looked for, a frame is not longer: what all accept, and few exceed. */
#define MAX_SOUGHT_DATA (1 << 20)
#define MAX_SOUGHT	(1 << 14)

#define MIN_HEADS 3 /* that must follow each other */

static const uint8_t preface[HTTP2_PREFACE_LEN + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/* What a type's frames are like. */
static const struct shape {
	uint8_t flags;	 /* that it has */
	bool has_stream; /* or none, ever; of either kind: WINDOW_UPDATE */
	uint8_t len;	 /* at least; exactly, if `exact` */
	bool exact;
} shapes[N_HTTP2_TYPES] = {
	[HTTP2_DATA] = { HTTP2_END_STREAM | HTTP2_PADDED, true, 0, false },
	[HTTP2_HEADERS] = { HTTP2_END_STREAM | HTTP2_END_HEADERS | HTTP2_PADDED |
				    HTTP2_HAS_PRIORITY,
			    true, 0, false },
	[HTTP2_PRIORITY] = { 0, true, 5, true },
	[HTTP2_RST_STREAM] = { 0, true, 4, true },
	[HTTP2_SETTINGS] = { HTTP2_ACK, false, 0, false },
	[HTTP2_PUSH_PROMISE] = { HTTP2_END_HEADERS | HTTP2_PADDED, true, 4, false },
	[HTTP2_PING] = { HTTP2_ACK, false, 8, true },
	[HTTP2_GOAWAY] = { 0, false, 8, false },
	[HTTP2_WINDOW_UPDATE] = { 0, true, 4, true },
	[HTTP2_CONTINUATION] = { HTTP2_END_HEADERS, true, 0, false },
};

static struct http2_frame frame_of(const uint8_t *p)
{
	return (struct http2_frame){
		.len = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2],
		.type = p[3],
		.flags = p[4],
		.stream =
			((uint32_t)p[5] << 24 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 8 | p[8]) &
			0x7fffffff,
	};
}

/* Can it be the head of a frame at all? Of types that are not known, if it is not too long. */
static bool is_possible(const struct http2_frame *f)
{
	const struct shape *s;

	if (f->type >= N_HTTP2_TYPES)
		return f->len <= MAX_SOUGHT;
	s = &shapes[f->type];
	if (f->type != HTTP2_WINDOW_UPDATE && s->has_stream != (f->stream != 0))
		return false;
	if (f->type == HTTP2_SETTINGS && (f->len % 6 != 0 || (f->flags & HTTP2_ACK && f->len > 0)))
		return false;
	return s->exact ? f->len == s->len : f->len >= s->len;
}

/*
 * And is it like what is sent? Zeros are not: there are many in the code of a header
 * field's value "0000", and behind it a real head.
 */
static bool is_likely(const uint8_t *p)
{
	struct http2_frame f = frame_of(p);

	if (f.type >= N_HTTP2_TYPES || !is_possible(&f) || p[5] & 0x80 ||
	    f.flags & ~shapes[f.type].flags)
		return false;
	if (f.type == HTTP2_DATA)
		return f.len <= MAX_SOUGHT_DATA && (f.len > 0 || f.flags & HTTP2_END_STREAM);
	return f.len <= MAX_SOUGHT && (f.type != HTTP2_HEADERS || f.len > 0);
}

/* Heads where the one before says, as far as they can be seen. */
struct chain {
	unsigned n_heads; /* 0: there is none, or a wrong one among them */
	bool is_whole;	  /* the last frame ends where the data does; it is not all DATA */
};

static struct chain chain_at(const uint8_t *data, size_t n)
{
	struct chain c = { 0 };
	bool has_other = false;

	while (n >= HTTP2_HEAD_LEN) {
		struct http2_frame f = frame_of(data);

		if (!is_likely(data))
			return (struct chain){ 0 };
		c.n_heads++;
		has_other |= f.type != HTTP2_DATA;
		if (n - HTTP2_HEAD_LEN < f.len)
			return c;
		data += HTTP2_HEAD_LEN + f.len;
		n -= HTTP2_HEAD_LEN + f.len;
	}
	c.is_whole = n == 0 && has_other;
	return c;
}

bool http2_is_preface(const uint8_t *data, size_t n)
{
	return n > 0 && memcmp(data, preface, n < HTTP2_PREFACE_LEN ? n : HTTP2_PREFACE_LEN) == 0;
}

/*
 * Calls begin with a frame more often than not, and end with one, and so does what is
 * copied behind a gap. A chain of frames that fills them, or of three within, is believed.
 * A lone head, such as DATA's, is not before it is followed by others.
 */
static bool find(struct http2_walk *w, const uint8_t *data, uint64_t n)
{
	struct chain c = chain_at(data, n);

	if (c.n_heads >= MIN_HEADS || (c.is_whole && c.n_heads > w->is_within))
		w->n_trials = 0;
	else if (c.n_heads > w->is_within)
		w->n_trials = MIN_HEADS - 1;
	else
		return false;
	return true;
}

static enum http2_step search(struct http2_walk *w, const uint8_t *data, uint64_t n,
			      uint64_t *ret_used)
{
	uint64_t at = 0;

	while (n - at >= HTTP2_HEAD_LEN && !find(w, data + at, n - at)) {
		w->is_within = true;
		at++;
	}
	w->is_within = false;
	if (n - at < HTTP2_HEAD_LEN) {
		w->n_searched += n;
		*ret_used = n;
		return HTTP2_NOTHING;
	}
	w->place = HTTP2_AT_HEAD;
	*ret_used = at;
	return HTTP2_PASSED;
}

static enum http2_step lose(struct http2_walk *w, bool is_within)
{
	bool was_found = w->n_trials == 0;

	w->place = HTTP2_NOWHERE;
	w->n_head = 0;
	w->is_within = is_within;
	if (!was_found)
		return HTTP2_PASSED;
	w->n_searched = 0;
	return HTTP2_LOST;
}

static enum http2_step walk_preface(struct http2_walk *w, const uint8_t *data, uint64_t n,
				    uint64_t *ret_used)
{
	uint64_t i = 0;

	while (data && i < n && w->n_head < HTTP2_PREFACE_LEN && data[i] == preface[w->n_head]) {
		w->n_head++;
		i++;
	}
	if (i < n && w->n_head < HTTP2_PREFACE_LEN) {
		w->place = HTTP2_NOWHERE;
		w->n_head = 0;
		return HTTP2_NO_PREFACE;
	}
	*ret_used = i;
	if (w->n_head < HTTP2_PREFACE_LEN)
		return HTTP2_NOTHING;
	w->n_head = 0;
	w->place = HTTP2_AT_HEAD;
	return HTTP2_PREFACE;
}

static enum http2_step walk_head(struct http2_walk *w, const uint8_t *data, uint64_t n,
				 uint64_t *ret_used)
{
	uint64_t take = HTTP2_HEAD_LEN - w->n_head;

	if (!data)
		return lose(w, false);
	if (take > n)
		take = n;
	memcpy(w->head + w->n_head, data, take);
	*ret_used = take;
	w->n_head += (uint8_t)take;
	if (w->n_head < HTTP2_HEAD_LEN)
		return HTTP2_NOTHING;
	w->n_head = 0;
	w->frame = frame_of(w->head);
	w->is_trial = w->n_trials > 0;
	if (w->is_trial ? !is_likely(w->head) : !is_possible(&w->frame))
		return lose(w, true);
	w->n_trials -= w->is_trial;
	w->left = w->frame.len;
	w->place = HTTP2_AT_PAYLOAD;
	return w->is_trial ? HTTP2_PASSED : HTTP2_FRAME;
}

enum http2_step http2_walk(struct http2_walk *w, const uint8_t *data, uint64_t n,
			   uint64_t *ret_used)
{
	*ret_used = 0;
	if (w->place == HTTP2_AT_PAYLOAD && w->left == 0) {
		w->place = HTTP2_AT_HEAD;
		return w->is_trial ? HTTP2_PASSED : HTTP2_FRAME_END;
	}
	if (n == 0)
		return HTTP2_NOTHING;
	switch (w->place) {
	case HTTP2_AT_PREFACE:
		return walk_preface(w, data, n, ret_used);
	case HTTP2_AT_HEAD:
		return walk_head(w, data, n, ret_used);
	case HTTP2_AT_PAYLOAD:
		*ret_used = n < w->left ? n : w->left;
		w->left -= (uint32_t)*ret_used;
		return w->is_trial ? HTTP2_PASSED : HTTP2_PAYLOAD;
	default:
		if (data)
			return search(w, data, n, ret_used);
		*ret_used = n;
		return HTTP2_NOTHING;
	}
}
