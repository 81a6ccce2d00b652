/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_impl.h - the two halves of an HTTP/1 connection, shared by http1.c, which cuts
 * pieces into messages, http1_messages.c, which makes exchanges of them, and http1_ends.c.
 */
#ifndef HTTP1_IMPL_H
#define HTTP1_IMPL_H

#include "http1.h"
#include "http1_body.h"
#include "http1_kept.h"
#include "http1_queue.h"

enum http1_state {
	HTTP1_BETWEEN, /* messages: a head comes next */
	HTTP1_SEEKING, /* one that can be recognised: what comes before it is not ours */
	HTTP1_IN_HEAD,
	HTTP1_IN_BODY,
};

struct http1_half {
	enum http1_state state;
	bool was_seen, from_start;
	uint64_t at;		     /* offset behind what has been taken */
	uint64_t piece_off, last_ns; /* of the piece that is looked at, or was */
	struct net_piece begin;	     /* of the message: where and whose; without data */

	struct http1_kept kept; /* of a head that does not lie in one piece */
	struct http1_body body;
	struct http1_entry *entry; /* whose message it is; NULL: of nobody that we keep */
};

struct http1 {
	struct http1_queue queue;
	struct http1_half half[2]; /* enum net_direction */
	/* Requests that came when there were too many: so many responses have no names. */
	uint64_t n_untold;
	/* Responses that may still come of requests that were given up, or never seen. */
	uint64_t n_unmatched;
	bool is_unsure; /* a response may have passed unseen */
	bool was_early; /* the last request came behind its response */
	bool is_switched, is_h2c;
	uint64_t switched[2]; /* where the other protocol begins */
};

/* A head begins. */
void http1_begin_message(struct http1 *h, enum net_direction dir, const struct net_piece *piece);
/* A message begins, or was there, in what is not known. False: it is nobody's. */
bool http1_begin_unseen(struct http1 *h, enum net_direction dir, const struct net_piece *piece);
/* All of it is there, `len` bytes; or it goes no further; or it was none. */
void http1_head_over(struct http1 *h, enum net_direction dir, const struct http1_head *head,
		     size_t len);
void http1_head_lost(struct http1 *h, enum net_direction dir);
void http1_head_dropped(struct http1 *h, enum net_direction dir);
/* Of the message under way something is missing. */
void http1_lost(struct http1 *h, enum net_direction dir);
/* What is there of a head goes into its exchange. */
void http1_take_cut_head(struct http1 *h, enum net_direction dir);
void http1_begin_body(struct http1 *h, enum net_direction dir, enum http1_framing framing,
		      int64_t length);
/* `n` bytes more of the body, which may be over now. */
void http1_body_taken(struct http1 *h, enum net_direction dir, uint64_t n);
/* Does the message, whose end nobody knows, end before the head that is there? */
bool http1_ends_before_head(struct http1 *h, enum net_direction dir);
void http1_end_message(struct http1 *h, enum net_direction dir);
void http1_hand_over(struct http1 *h, struct http1_entry *entry, uint32_t flags);
/* Behind the response of `entry`, whose head ends here, is another protocol. */
void http1_switch(struct http1 *h, struct http1_entry *entry);

#endif
