/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2.c - see http2.h: what the frames of both directions say, to the streams.
 *
 * http2_frames.c finds the frames, http2_hpack.c reads blocks of fields, http2_streams.c
 * has the exchanges.
 */
#include "http2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http2_impl.h"

/* So many bytes without a frame among them: it is no HTTP/2. */
#define MAX_SEARCHED (64 << 10)

struct http2 *http2_new(const struct net_privacy *p, bool joined_late, exchange_done_fn *done,
			void *done_ctx)
{
	struct http2 *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	if (http2_streams_init(&h->streams, done, done_ctx) < 0) {
		free(h);
		return NULL;
	}
	h->joined_late = h->streams.has_holes = joined_late;
	h->streams.hole_flag = joined_late ? EXCHANGE_JOINED_LATE : 0;
	http2_hpack_init(&h->dirs[NET_REQUEST].hpack, p, joined_late);
	http2_hpack_init(&h->dirs[NET_RESPONSE].hpack, p, joined_late);
	h->dirs[NET_REQUEST].walk.place = HTTP2_AT_PREFACE;
	h->dirs[NET_RESPONSE].walk.place = joined_late ? HTTP2_NOWHERE : HTTP2_AT_HEAD;
	return h;
}

void http2_free(struct http2 *h)
{
	if (!h)
		return;
	for (int i = 0; i < 2; i++) {
		http2_block_wipe(&h->dirs[i].block);
		http2_hpack_done(&h->dirs[i].hpack);
	}
	http2_streams_done(&h->streams);
	free(h);
}

size_t http2_bytes(const struct http2 *h)
{
	size_t n = sizeof(*h) + 1024 + h->streams.n * (sizeof(struct http2_stream) + 128);

	for (int i = 0; i < 2; i++)
		n += http2_hpack_bytes(&h->dirs[i].hpack) +
		     (h->dirs[i].block.data ? HTTP2_MAX_BLOCK : 0);
	return n;
}

void http2_upgraded(struct http2 *h, const struct exchange *request)
{
	struct http2_stream *st = http2_streams_of(&h->streams, 1, NET_REQUEST, true);

	if (!st)
		return;
	st->e = *request;
	st->e.index = 1;
	st->e.protocol = EXCHANGE_HTTP2;
	st->e.flags = request->flags & EXCHANGE_LOST;
	memcpy(st->e.version, "2", 2);
	st->e.upgrade[0] = st->e.content_type[0] = st->e.cache[0] = 0;
	st->e.status = 0;
	st->e.grpc_status = -1;
	st->e.response_length = -1;
	st->e.response_ns = st->e.response_end_ns = st->e.response_off = 0;
	st->e.response_body = st->e.response_bytes = 0;
	st->e.response_tgid = st->e.response_tid = 0;
	st->has_head[NET_REQUEST] = true;
	http2_stream_end(&h->streams, st, NET_REQUEST);
}

/* ---- blocks of header fields ---- */

/* What a direction of bytes is for the streams. */
static enum net_direction side_of(const struct http2 *h, enum net_direction dir)
{
	return h->is_reversed ? (enum net_direction) !dir : dir;
}

bool http2_is_reversed(const struct http2 *h)
{
	return h->is_reversed;
}

/* Who was there before us may have been taken for the client by mistake. */
static void find_sides(struct http2 *h, enum net_direction dir, const struct http2_head *head)
{
	bool is_request = head->method[0] != 0, is_response = head->status != 0;

	if (h->knows_sides || is_request == is_response)
		return;
	h->knows_sides = true;
	if (!h->joined_late || is_request == (dir == NET_REQUEST))
		return;
	h->is_reversed = true;
	http2_streams_drop(&h->streams); /* they are the wrong way round */
}

static void end_of_block(struct http2 *h, const struct http2_block *b, enum net_direction side,
			 const struct http2_head *head, uint64_t time_ns)
{
	enum net_direction about = b->is_promise ? NET_REQUEST : side;
	struct http2_stream *st = b->is_promise
					  ? http2_streams_promise(&h->streams, b->stream)
					  : http2_streams_of(&h->streams, b->stream, side, true);

	if (!st)
		return;
	if (b->is_cut)
		st->e.flags |= EXCHANGE_LOST;
	http2_stream_bytes(st, about, &b->at, time_ns, b->n_wire, 0);
	http2_stream_head(&h->streams, st, about, head);
	if (b->is_promise || b->ends_stream)
		http2_stream_end(&h->streams, st, about);
}

static void finish_block(struct http2 *h, enum net_direction dir, uint64_t time_ns)
{
	struct http2_direction *d = &h->dirs[dir];
	struct http2_block b = d->block;
	struct http2_head head;

	d->has_blocks = true;
	if (http2_hpack_block(&d->hpack, b.data, b.len, &head) < 0)
		b.is_cut = true;
	if (b.is_cut)
		http2_hpack_forget(&d->hpack);
	http2_block_wipe(&d->block);
	if (!b.is_promise)
		find_sides(h, dir, &head);
	end_of_block(h, &b, side_of(h, dir), &head, time_ns);
}

/* Its end will not come: what there is of it has the names, as a rule. */
static void cut_block(struct http2 *h, enum net_direction dir, uint64_t time_ns)
{
	struct http2_block *b = &h->dirs[dir].block;

	if (!b->is_open)
		return;
	b->is_cut = true;
	finish_block(h, dir, time_ns);
}

/* The direction is over, perhaps in the middle of a frame of it. */
static void end_block(struct http2 *h, enum net_direction dir, uint64_t time_ns)
{
	struct http2_direction *d = &h->dirs[dir];

	if (d->block.is_open && d->walk.place == HTTP2_AT_PAYLOAD)
		http2_block_frame_end(&d->block, &d->walk.frame);
	cut_block(h, dir, time_ns);
}

/* Between a block's frames there are no others. */
static void block_frame(struct http2 *h, enum net_direction dir, const struct http2_frame *f)
{
	struct http2_direction *d = &h->dirs[dir];
	struct http2_block *b = &d->block;

	if (b->is_open && (f->type != HTTP2_CONTINUATION || f->stream != b->on_stream))
		cut_block(h, dir, d->frame_at.time_ns);
	if (f->type == HTTP2_CONTINUATION && !b->is_open)
		http2_hpack_forget(&d->hpack); /* of a block whose beginning was not seen */
	else if (f->type == HTTP2_HEADERS || f->type == HTTP2_PUSH_PROMISE)
		http2_block_begin(b, f, &d->frame_at);
	if (b->is_open)
		http2_block_frame(b);
}

static void block_frame_end(struct http2 *h, enum net_direction dir, const struct http2_frame *f,
			    uint64_t time_ns)
{
	struct http2_block *b = &h->dirs[dir].block;

	if (!b->is_open)
		return;
	http2_block_frame_end(b, f);
	if (f->flags & HTTP2_END_HEADERS)
		finish_block(h, dir, time_ns);
}

/* ---- frames ---- */

/* It has begun before us: nothing of its table is known. */
static void begin_late(struct http2 *h, enum net_direction dir)
{
	http2_hpack_forget(&h->dirs[dir].hpack);
	h->streams.has_holes = true;
	h->streams.hole_flag = EXCHANGE_JOINED_LATE;
}

static void on_frame(struct http2 *h, enum net_direction dir)
{
	struct http2_direction *d = &h->dirs[dir];
	const struct http2_frame *f = &d->walk.frame;
	struct http2_stream *st;

	if (!d->has_frames && (f->type != HTTP2_SETTINGS || f->flags & HTTP2_ACK) &&
	    !h->joined_late)
		begin_late(h, dir);
	d->has_frames = true;
	d->n_passed = 0;
	d->n_control = 0;
	if (http2_is_in_block(f) || d->block.is_open)
		block_frame(h, dir, f);
	if (f->type != HTTP2_DATA)
		return;
	d->body_left = f->len;
	st = http2_streams_of(&h->streams, f->stream, side_of(h, dir), false);
	if (st)
		http2_stream_bytes(st, side_of(h, dir), &d->frame_at, d->frame_at.time_ns,
				   HTTP2_HEAD_LEN, 0);
}

static void data_payload(struct http2 *h, enum net_direction dir, const uint8_t *data, uint64_t n,
			 uint64_t time_ns)
{
	struct http2_direction *d = &h->dirs[dir];
	const struct http2_frame *f = &d->walk.frame;
	struct http2_stream *st = http2_streams_find(&h->streams, f->stream);
	uint64_t n_body = n;

	if (f->flags & HTTP2_PADDED && d->n_passed == 0) {
		uint32_t n_pad = data ? data[0] : 0;

		d->body_left = f->len - 1 > n_pad ? f->len - 1 - n_pad : 0;
		n_body--;
	}
	if (n_body > d->body_left)
		n_body = d->body_left;
	d->body_left -= (uint32_t)n_body;
	if (st)
		http2_stream_bytes(st, side_of(h, dir), &d->frame_at, time_ns, n, n_body);
}

static void on_payload(struct http2 *h, enum net_direction dir, const uint8_t *data, uint64_t n,
		       uint64_t time_ns)
{
	struct http2_direction *d = &h->dirs[dir];
	const struct http2_frame *f = &d->walk.frame;

	if (http2_is_in_block(f)) {
		if (d->block.is_open)
			http2_block_payload(&d->block, data, n);
	} else if (f->type == HTTP2_DATA) {
		data_payload(h, dir, data, n, time_ns);
	} else if (data && d->n_control == d->n_passed) {
		for (uint64_t i = 0; i < n && d->n_control < HTTP2_MAX_CONTROL; i++)
			d->control[d->n_control++] = data[i];
	}
	d->n_passed += (uint32_t)n;
}

static uint32_t control_word(const struct http2_direction *d, unsigned at)
{
	const uint8_t *p = d->control + at;

	if (d->n_control < at + 4)
		return 0;
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void on_frame_end(struct http2 *h, enum net_direction dir, uint64_t time_ns)
{
	struct http2_direction *d = &h->dirs[dir];
	const struct http2_frame *f = &d->walk.frame;
	struct http2_stream *st;

	switch (f->type) {
	case HTTP2_DATA:
		st = http2_streams_find(&h->streams, f->stream);
		if (st && f->flags & HTTP2_END_STREAM)
			http2_stream_end(&h->streams, st, side_of(h, dir));
		break;
	case HTTP2_RST_STREAM:
		http2_streams_reset(&h->streams, f->stream, time_ns, control_word(d, 0));
		break;
	case HTTP2_GOAWAY:
		if (d->n_control == HTTP2_MAX_CONTROL)
			http2_streams_refuse(&h->streams, side_of(h, dir),
					     control_word(d, 0) & 0x7fffffff, control_word(d, 4));
		break;
	default:
		if (http2_is_in_block(f))
			block_frame_end(h, dir, f, time_ns);
		break;
	}
}

/* ---- bytes ---- */

static void on_lost(struct http2 *h, enum net_direction dir, uint64_t time_ns)
{
	cut_block(h, dir, time_ns);
	http2_hpack_forget(&h->dirs[dir].hpack);
	if (h->streams.hole_flag == 0)
		h->streams.hole_flag = EXCHANGE_LOST;
	http2_streams_lose(&h->streams, side_of(h, dir));
}

/*
 * The beginning, for all that we were told. What a server can have said before it are
 * SETTINGS, if we know where its frames are: no header fields.
 */
static void on_preface(struct http2 *h)
{
	struct http2_direction *answers = &h->dirs[NET_RESPONSE];

	if (!h->joined_late || h->streams.n > 0 || answers->has_blocks)
		return;
	h->knows_sides = true;
	h->dirs[NET_REQUEST].hpack.is_partial = false;
	if (!answers->has_begun)
		answers->walk.place = HTTP2_AT_HEAD;
	else if (answers->walk.place == HTTP2_NOWHERE || answers->walk.n_trials > 0)
		return;
	answers->hpack.is_partial = false;
	h->joined_late = h->streams.has_holes = false;
	h->streams.hole_flag = 0;
}

static void on_step(struct http2 *h, enum net_direction dir, enum http2_step step,
		    const uint8_t *data, uint64_t n, uint64_t time_ns)
{
	switch (step) {
	case HTTP2_PREFACE:
		on_preface(h);
		break;
	case HTTP2_NO_PREFACE:
		begin_late(h, dir);
		break;
	case HTTP2_FRAME:
		on_frame(h, dir);
		break;
	case HTTP2_PAYLOAD:
		on_payload(h, dir, data, n, time_ns);
		break;
	case HTTP2_FRAME_END:
		on_frame_end(h, dir, time_ns);
		break;
	case HTTP2_LOST:
		on_lost(h, dir, time_ns);
		break;
	case HTTP2_NOTHING:
	case HTTP2_PASSED:
		break;
	}
}

/* `n` bytes from `at` on; `data` NULL: not known. */
static void feed(struct http2 *h, enum net_direction dir, struct http2_at at, const uint8_t *data,
		 uint64_t n)
{
	struct http2_direction *d = &h->dirs[dir];
	enum http2_step step;
	uint64_t used;

	do {
		bool is_at_frame = d->walk.n_head == 0 && d->walk.place != HTTP2_AT_PAYLOAD;

		if (is_at_frame)
			d->frame_at = at;
		step = http2_walk(&d->walk, data, n, &used);
		on_step(h, dir, step, data, used, at.time_ns);
		data = data ? data + used : NULL;
		n -= used;
		at.off += used;
	} while (step != HTTP2_NOTHING || n > 0);
}

static int give_up(struct http2 *h)
{
	http2_streams_end(&h->streams, EXCHANGE_INCOMPLETE | EXCHANGE_LOST);
	return -EBADMSG;
}

int http2_piece(struct http2 *h, enum net_direction dir, const struct net_piece *piece)
{
	struct http2_direction *d = &h->dirs[dir];
	struct http2_at at = { piece->off, piece->time_ns, piece->tgid, piece->tid };
	uint64_t known = piece->n_data, len = piece->len, skip = 0;
	const uint8_t *data = piece->data;

	if (d->has_begun && at.off > d->next_off) {
		at.off = d->next_off;
		feed(h, dir, at, NULL, piece->off - d->next_off);
		at.off = piece->off;
	} else if (d->has_begun && at.off < d->next_off) {
		skip = d->next_off - at.off < len ? d->next_off - at.off : len;
	}
	if (skip < known)
		feed(h, dir, (struct http2_at){ at.off + skip, at.time_ns, at.tgid, at.tid },
		     data + skip, known - skip);
	if (skip < known)
		skip = known;
	at.off += skip;
	if (skip < len)
		feed(h, dir, at, NULL, len - skip);
	if (!d->has_begun || piece->off + len > d->next_off)
		d->next_off = piece->off + len;
	d->has_begun = true;
	if (d->walk.place == HTTP2_NOWHERE && d->walk.n_searched > MAX_SEARCHED)
		return give_up(h);
	if (!d->has_frames && !h->joined_late && d->walk.place == HTTP2_NOWHERE &&
	    d->walk.n_searched >= HTTP2_HEAD_LEN)
		return give_up(h);
	return 0;
}

void http2_fin(struct http2 *h, enum net_direction dir, uint64_t time_ns)
{
	end_block(h, dir, time_ns);
	http2_streams_fin(&h->streams, side_of(h, dir));
}

void http2_end(struct http2 *h, uint64_t time_ns, uint32_t flag)
{
	end_block(h, NET_REQUEST, time_ns);
	end_block(h, NET_RESPONSE, time_ns);
	http2_streams_end(&h->streams, flag);
}
