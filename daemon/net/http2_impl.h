/* SPDX-License-Identifier: Apache-2.0 */
/* http2_impl.h - the insides of HTTP/2 on one connection, for http2.c and what tests it. */
#ifndef HTTP2_IMPL_H
#define HTTP2_IMPL_H

#include "http2.h"
#include "http2_block.h"
#include "http2_frames.h"
#include "http2_hpack.h"
#include "http2_streams.h"

#define HTTP2_MAX_CONTROL 8 /* of RST_STREAM and GOAWAY: what is looked at */

struct http2_direction {
	bool has_begun;	 /* a piece was seen */
	bool has_frames; /* and a frame */
	bool has_blocks;
	uint64_t next_off;
	struct http2_walk walk;
	struct http2_hpack hpack;
	struct http2_block block;
	/* Of the frame under way. */
	struct http2_at frame_at;
	uint8_t control[HTTP2_MAX_CONTROL];
	unsigned n_control;
	uint32_t n_passed;  /* of its payload */
	uint32_t body_left; /* likewise, without padding */
};

struct http2 {
	bool joined_late;
	/* Which side is the client's: shown by a :method or a :status. */
	bool knows_sides, is_reversed;
	struct http2_direction dirs[2];
	struct http2_streams streams;
};

#endif
