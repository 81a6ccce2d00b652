/* SPDX-License-Identifier: Apache-2.0 */
/* http2_block.c - see http2_block.h. */
#include "http2_block.h"

#include <stdlib.h>
#include <string.h>

void http2_block_begin(struct http2_block *b, const struct http2_frame *f,
		       const struct http2_at *at)
{
	*b = (struct http2_block){
		.is_open = true,
		.is_promise = f->type == HTTP2_PUSH_PROMISE,
		.ends_stream = f->type == HTTP2_HEADERS && f->flags & HTTP2_END_STREAM,
		.on_stream = f->stream,
		.at = *at,
	};
	if (!b->is_promise)
		b->stream = f->stream;
	b->data = malloc(HTTP2_MAX_BLOCK); /* at once: nothing is left where it has grown from */
	b->is_cut = !b->data;
}

void http2_block_frame(struct http2_block *b)
{
	b->frame_start = b->len;
}

void http2_block_payload(struct http2_block *b, const uint8_t *data, uint64_t n)
{
	uint64_t room = HTTP2_MAX_BLOCK - b->len;

	if (b->is_cut)
		return;
	b->is_cut = !data || n > room;
	if (!data)
		return;
	n = n < room ? n : room;
	memcpy(b->data + b->len, data, n);
	b->len += n;
	b->n_dirty = b->len > b->n_dirty ? b->len : b->n_dirty;
}

static uint32_t promised_stream(const uint8_t *p)
{
	return ((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]) &
	       0x7fffffff;
}

/* What is not of the block goes: padding, priority, the promised stream's number. */
static void strip(struct http2_block *b, const struct http2_frame *f)
{
	uint8_t *p = b->data + b->frame_start;
	size_t n = b->len - b->frame_start, skip = 0, n_pad = 0;

	if (f->type != HTTP2_CONTINUATION && f->flags & HTTP2_PADDED) {
		n_pad = n > 0 ? p[0] : 0;
		skip = 1;
	}
	if (f->type == HTTP2_PUSH_PROMISE) {
		if (n >= skip + 4)
			b->stream = promised_stream(p + skip);
		skip += 4;
	} else if (f->type == HTTP2_HEADERS && f->flags & HTTP2_HAS_PRIORITY) {
		skip += 5;
	}
	if (skip + n_pad > f->len || n < skip) {
		b->is_cut = true;
		b->len = b->frame_start;
		return;
	}
	if (n > f->len - n_pad)
		n = f->len - n_pad;
	memmove(p, p + skip, n - skip);
	b->len = b->frame_start + n - skip;
}

void http2_block_frame_end(struct http2_block *b, const struct http2_frame *f)
{
	b->n_wire += HTTP2_HEAD_LEN + f->len;
	if (b->data)
		strip(b, f);
}

void http2_block_wipe(struct http2_block *b)
{
	if (b->data)
		explicit_bzero(b->data, b->n_dirty);
	free(b->data);
	*b = (struct http2_block){ 0 };
}
