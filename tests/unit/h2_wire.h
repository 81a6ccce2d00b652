/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_wire.h - an HTTP/2 connection for tests: what its two ends write, call by call, in
 * real frames with real blocks of header fields (nghttp2's encoder), and what a parser
 * makes of it.
 */
#ifndef HTTP2_H2_H
#define HTTP2_H2_H

#include <nghttp2/nghttp2.h>

#include "buf.h"
#include "net/http2_impl.h"

#define H2_MAX_CALLS	 4096
#define H2_MAX_EXCHANGES 4096
#define H2_MAX_HOLES	 4096

struct h2_call {
	enum net_direction dir;
	bool is_mistaken; /* given as the other direction's */
	size_t at, len;	  /* in `bytes` of its direction */
	uint64_t time_ns;
};

/* Bytes of a direction that are not copied: DATA but for its head. */
struct h2_hole {
	size_t at, len;
};

struct h2_wire {
	struct buf bytes[2];
	nghttp2_hd_deflater *deflater[2];
	struct h2_call calls[H2_MAX_CALLS];
	size_t n_calls;
	struct h2_hole holes[2][H2_MAX_HOLES];
	size_t n_holes[2];
	bool has_tricky_bodies; /* which look much like frames */
};

struct h2_result {
	struct exchange got[H2_MAX_EXCHANGES];
	size_t n;
	int r; /* of the last piece */
};

void h2_init(struct h2_wire *w);
void h2_done(struct h2_wire *w);

/* Writing: all until h2_call() is one call, at `time_ns`. */
void h2_call(struct h2_wire *w, enum net_direction dir, uint64_t time_ns);
void h2_bytes(struct h2_wire *w, enum net_direction dir, const void *data, size_t len);
void h2_frame(struct h2_wire *w, enum net_direction dir, uint8_t type, uint8_t flags,
	      uint32_t stream, const void *payload, size_t len);
/* Names and values in turn, NULL at the end. The block, which the caller frees. */
uint8_t *h2_block(struct h2_wire *w, enum net_direction dir, size_t *ret_len, ...)
	__attribute__((sentinel));
#define h2_headers(w, dir, flags, stream, ...)                                               \
	do {                                                                                 \
		size_t block_len_;                                                           \
		uint8_t *block_ = h2_block(w, dir, &block_len_, __VA_ARGS__, NULL);          \
                                                                                             \
		h2_frame(w, dir, HTTP2_HEADERS, (flags) | HTTP2_END_HEADERS, stream, block_, \
			 block_len_);                                                        \
		free(block_);                                                                \
	} while (0)
/* `pad` < 0: none. */
void h2_data(struct h2_wire *w, enum net_direction dir, uint8_t flags, uint32_t stream, size_t len,
	     int pad);
/* The preface and both sides' SETTINGS. */
void h2_begin(struct h2_wire *w);
/* GET of `path` and its answer with `len` bytes, on `stream`, at `time_ns` and 10 later. */
void h2_get(struct h2_wire *w, uint32_t stream, const char *path, size_t len, uint64_t time_ns);

/* Reading: as it was written; or as bpf/net.bpf.c copies it, in random pieces. */
enum h2_cut { H2_WHOLE, H2_CUT, H2_COPIED };
void h2_read(const struct h2_wire *w, enum h2_cut cut, struct h2_result *ret);
exchange_done_fn h2_take; /* ctx: struct h2_result */
/* All calls from `first` on, before `end`, to a parser that is there. */
void h2_feed(const struct h2_wire *w, struct http2 *h, size_t first, size_t end, enum h2_cut cut,
	     struct h2_result *ret);
/* The exchange with this number, of which there is one. */
const struct exchange *h2_find(const struct h2_result *r, uint64_t index);

extern const struct net_privacy h2_privacy;

#endif
