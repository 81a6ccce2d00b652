/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_frames.h - where HTTP/2's frames are in the bytes of one direction (RFC 9113, 4).
 *
 * Bytes are given in any portions, known or not. Within a frame what is not known only
 * passes; where a head should be, the boundary is lost, and found again where the bytes
 * look like frames.
 */
#ifndef HTTP2_FRAMES_H
#define HTTP2_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP2_HEAD_LEN	  9
#define HTTP2_PREFACE_LEN 24

enum http2_type {
	HTTP2_DATA,
	HTTP2_HEADERS,
	HTTP2_PRIORITY,
	HTTP2_RST_STREAM,
	HTTP2_SETTINGS,
	HTTP2_PUSH_PROMISE,
	HTTP2_PING,
	HTTP2_GOAWAY,
	HTTP2_WINDOW_UPDATE,
	HTTP2_CONTINUATION,
	N_HTTP2_TYPES /* of those that RFC 9113 has; others are passed over */
};

#define HTTP2_END_STREAM   0x01
#define HTTP2_ACK	   0x01
#define HTTP2_END_HEADERS  0x04
#define HTTP2_PADDED	   0x08
#define HTTP2_HAS_PRIORITY 0x20

struct http2_frame {
	uint32_t len; /* of its payload */
	uint32_t stream;
	uint8_t type, flags;
};

enum http2_place {
	HTTP2_AT_PREFACE, /* the client's 24 bytes, or what is left of them */
	HTTP2_AT_HEAD,
	HTTP2_AT_PAYLOAD,
	HTTP2_NOWHERE, /* the boundary is lost */
};

struct http2_walk {
	enum http2_place place;
	uint8_t head[HTTP2_PREFACE_LEN];
	uint8_t n_head; /* so many bytes of it, or of the preface, have come */
	struct http2_frame frame;
	uint32_t left;	  /* of the frame's payload */
	bool is_within;	  /* lost within these bytes, not before them */
	uint8_t n_trials; /* so many heads more must be where they should before they count */
	bool is_trial;	  /* of the frame: it does not count */
	uint64_t n_searched;
};

enum http2_step {
	HTTP2_NOTHING,	  /* all bytes are used up */
	HTTP2_PREFACE,	  /* it is whole */
	HTTP2_NO_PREFACE, /* there is none; nothing is used up */
	HTTP2_FRAME,	  /* `frame` is known, its payload begins */
	HTTP2_PAYLOAD,	  /* what is used up belongs to it */
	HTTP2_FRAME_END,
	HTTP2_LOST,   /* there was no head where one should have been */
	HTTP2_PASSED, /* nothing that counts */
};

/* One step; `data` NULL: the bytes are not known. Until HTTP2_NOTHING, also with n == 0. */
enum http2_step http2_walk(struct http2_walk *w, const uint8_t *data, uint64_t n,
			   uint64_t *ret_used);

#endif
