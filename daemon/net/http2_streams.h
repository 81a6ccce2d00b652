/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_streams.h - the streams of one connection that are not over, and what becomes of
 * them: each is an exchange, handed over when both of its halves have ended.
 *
 * Which thread's call is seen first, the one that sends a request or the one that already
 * reads the response, is a matter of luck: either half may come first.
 */
#ifndef HTTP2_STREAMS_H
#define HTTP2_STREAMS_H

#include "http2_hpack.h"
#include "net_exchange.h"

/* What no server allows by default; beyond it the oldest is handed over unfinished. */
#define HTTP2_MAX_STREAMS 1024

#define HTTP2_N_CLOSED 32

struct hash;

/* Where something is, when it was moved and by whom. */
struct http2_at {
	uint64_t off, time_ns;
	uint32_t tgid, tid;
};

struct http2_stream {
	struct http2_stream *next, *prev; /* in the order in which they were seen */
	struct exchange e;
	/* By direction. */
	bool has_head[2]; /* of a response: the final one */
	bool has_hole[2]; /* frames were not seen, which may have been its */
	bool ended[2];
	bool is_early;			    /* its response was seen before its request */
	char protocol[EXCHANGE_METHOD_LEN]; /* that a CONNECT asks for */
};

struct http2_streams {
	exchange_done_fn *done;
	void *done_ctx;
	struct hash *by_id;
	struct http2_stream *first, *last;
	unsigned n, n_early;
	uint32_t last_request; /* the highest stream of which the client has sent the head */
	uint32_t last_promise;
	/*
	 * There may be streams whose head was not seen. Those that are over must then be
	 * told from them: what still comes of a stream that was reset.
	 */
	bool has_holes;
	uint32_t closed[HTTP2_N_CLOSED];
	unsigned n_closed;
	uint32_t hole_flag; /* EXCHANGE_JOINED_LATE or EXCHANGE_LOST: why heads are missing */
	bool goes_away;	    /* the connection takes no more */
	bool no_requests;   /* the client's direction is over */
};

int http2_streams_init(struct http2_streams *s, exchange_done_fn *done, void *done_ctx);
void http2_streams_done(struct http2_streams *s); /* what is open is not handed over */
/* As if none had been. */
void http2_streams_drop(struct http2_streams *s);

struct http2_stream *http2_streams_find(const struct http2_streams *s, uint32_t id);
/*
 * The stream to which a frame of direction `dir` belongs, which may begin it; `is_head`:
 * HEADERS. NULL: it is over, or there is no memory.
 */
struct http2_stream *http2_streams_of(struct http2_streams *s, uint32_t id, enum net_direction dir,
				      bool is_head);
struct http2_stream *http2_streams_promise(struct http2_streams *s, uint32_t id);

/* Bytes of a frame that began at `at`, `n_body` of them a body's, have passed until `end_ns`. */
void http2_stream_bytes(struct http2_stream *st, enum net_direction dir, const struct http2_at *at,
			uint64_t end_ns, uint64_t n, uint64_t n_body);
/* Its bytes have passed. */
void http2_stream_head(struct http2_streams *s, struct http2_stream *st, enum net_direction dir,
		       const struct http2_head *head);
/* END_STREAM. May free `st`. */
void http2_stream_end(struct http2_streams *s, struct http2_stream *st, enum net_direction dir);
/* RST_STREAM, from either side. */
void http2_streams_reset(struct http2_streams *s, uint32_t id, uint64_t time_ns, uint32_t error);

/* GOAWAY of the direction: what the other side has begun beyond `last` is not answered. */
void http2_streams_refuse(struct http2_streams *s, enum net_direction dir, uint32_t last,
			  uint32_t error);
/* A direction is over, in order. */
void http2_streams_fin(struct http2_streams *s, enum net_direction dir);
/* Frames of a direction were not seen. */
void http2_streams_lose(struct http2_streams *s, enum net_direction dir);
/* All are handed over, with `flags`. */
void http2_streams_end(struct http2_streams *s, uint32_t flags);

#endif
