/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_block.h - a block of header fields under way: HEADERS or PUSH_PROMISE, and their
 * CONTINUATIONs, without what else is in these frames.
 */
#ifndef HTTP2_BLOCK_H
#define HTTP2_BLOCK_H

#include "http2_frames.h"
#include "http2_streams.h"

/* With its padding: what servers accept by default. The beginning of it has the names. */
#define HTTP2_MAX_BLOCK (16 << 10)

struct http2_block {
	bool is_open;
	bool is_cut; /* only its beginning is there */
	bool is_promise, ends_stream;
	uint32_t stream;    /* that it is about: of a promise, the promised one; 0: not known */
	uint32_t on_stream; /* on which it comes */
	struct http2_at at;
	uint64_t n_wire; /* bytes of its frames */
	uint8_t *data;	 /* HTTP2_MAX_BLOCK bytes; NULL: no memory */
	size_t len, n_dirty, frame_start;
};

static inline bool http2_is_in_block(const struct http2_frame *f)
{
	return f->type == HTTP2_HEADERS || f->type == HTTP2_PUSH_PROMISE ||
	       f->type == HTTP2_CONTINUATION;
}

/* Its first frame. */
void http2_block_begin(struct http2_block *b, const struct http2_frame *f,
		       const struct http2_at *at);
/* Each of its frames, the first one too: its payload, and its end, also if that is missing. */
void http2_block_frame(struct http2_block *b);
void http2_block_payload(struct http2_block *b, const uint8_t *data, uint64_t n);
void http2_block_frame_end(struct http2_block *b, const struct http2_frame *f);
/* Nothing of it stays in memory. */
void http2_block_wipe(struct http2_block *b);

#endif
