/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_wire.h - an HTTP/2 connection for tests: what its two ends write, call by call, in
 * real frames with real blocks of header fields (nghttp2's encoder), and what a parser
 * makes of it.
 */
#ifndef HTTP2_WIRE_H
#define HTTP2_WIRE_H

#include <nghttp2/nghttp2.h>

#include "buf.h"
#include "net/http2.h"
#include "net/http2_frames.h"

#define WIRE_MAX_CALLS	   4096
#define WIRE_MAX_EXCHANGES 4096
#define WIRE_MAX_HOLES	   4096

struct wire_call {
	enum net_direction dir;
	size_t at, len; /* in `bytes` of its direction */
	uint64_t time_ns;
};

/* Bytes of a direction that are not copied: DATA but for its head. */
struct wire_hole {
	size_t at, len;
};

struct wire {
	struct buf bytes[2];
	nghttp2_hd_deflater *deflater[2];
	struct wire_call calls[WIRE_MAX_CALLS];
	size_t n_calls;
	struct wire_hole holes[2][WIRE_MAX_HOLES];
	size_t n_holes[2];
	bool has_tricky_bodies; /* which look much like frames */
};

struct wire_result {
	struct exchange got[WIRE_MAX_EXCHANGES];
	size_t n;
	int r; /* of the last piece */
};

void wire_init(struct wire *w);
void wire_done(struct wire *w);

/* Writing: all until wire_call() is one call, at `time_ns`. */
void wire_call(struct wire *w, enum net_direction dir, uint64_t time_ns);
void wire_bytes(struct wire *w, enum net_direction dir, const void *data, size_t len);
void wire_frame(struct wire *w, enum net_direction dir, uint8_t type, uint8_t flags,
		uint32_t stream, const void *payload, size_t len);
/* Names and values in turn, NULL at the end. The block, which the caller frees. */
uint8_t *wire_block(struct wire *w, enum net_direction dir, size_t *ret_len, ...)
	__attribute__((sentinel));
#define wire_headers(w, dir, flags, stream, ...)                                               \
	do {                                                                                   \
		size_t block_len_;                                                             \
		uint8_t *block_ = wire_block(w, dir, &block_len_, __VA_ARGS__, NULL);          \
                                                                                               \
		wire_frame(w, dir, HTTP2_HEADERS, (flags) | HTTP2_END_HEADERS, stream, block_, \
			   block_len_);                                                        \
		free(block_);                                                                  \
	} while (0)
/* `pad` < 0: none. */
void wire_data(struct wire *w, enum net_direction dir, uint8_t flags, uint32_t stream, size_t len,
	       int pad);
/* The preface and both sides' SETTINGS. */
void wire_begin(struct wire *w);
/* GET of `path` and its answer with `len` bytes, on `stream`, at `time_ns` and 10 later. */
void wire_get(struct wire *w, uint32_t stream, const char *path, size_t len, uint64_t time_ns);

/* Reading: as it was written; or as bpf/net.bpf.c copies it, in random pieces. */
enum wire_cut { WIRE_WHOLE, WIRE_CUT, WIRE_COPIED };
void wire_read(const struct wire *w, enum wire_cut cut, struct wire_result *ret);
exchange_done_fn wire_take; /* ctx: struct wire_result */
/* All calls from `first` on, before `end`, to a parser that is there. */
void wire_feed(const struct wire *w, struct http2 *h, size_t first, size_t end, enum wire_cut cut,
	       struct wire_result *ret);
/* The exchange with this number, of which there is one. */
const struct exchange *wire_find(const struct wire_result *r, uint64_t index);

extern const struct net_privacy wire_privacy;

#endif
