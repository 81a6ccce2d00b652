/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_queue.h - the exchanges of an HTTP/1 connection that are under way, oldest first:
 * responses come in the order of their requests.
 */
#ifndef HTTP1_QUEUE_H
#define HTTP1_QUEUE_H

#include "http1_head.h"
#include "net_exchange.h"
#include "net_privacy.h"

/* More requests than this nobody sends ahead; what goes beyond has no names. */
#define HTTP1_MAX_OPEN 64

struct http1_entry {
	struct http1_entry *next;
	struct exchange e;
	bool has_request;		  /* or the response came before it */
	bool is_alone;			  /* no more of its request will come */
	bool request_over, response_over; /* with the body */
	bool response_begun;		  /* the final one */
	bool response_lost;		  /* part of it */
	bool says_close;		  /* the request */
	bool is_head, is_connect;
	uint64_t request_end; /* offset behind it */
};

struct http1_queue {
	const struct net_privacy *privacy;
	exchange_done_fn *done;
	void *done_ctx;
	struct http1_entry *first;
	unsigned n_entries;
	unsigned n_waiting; /* whose response is not over */
	uint64_t n_begun;
};

/* NULL: there are too many, or no memory. */
struct http1_entry *http1_queue_add(struct http1_queue *q);
/* Whose response is the next one, or under way; NULL: nobody's. */
struct http1_entry *http1_queue_waiting(const struct http1_queue *q);
/* That is, with its response: only the request is missing. NULL: none. */
struct http1_entry *http1_queue_early(const struct http1_queue *q);
void http1_queue_response_over(struct http1_queue *q, struct http1_entry *entry);
/* Takes it out and wipes it; `flags` are added to its own. */
void http1_queue_hand_over(struct http1_queue *q, struct http1_entry *entry, uint32_t flags);
void http1_queue_drop(struct http1_queue *q, struct http1_entry *entry);

/* What the heads say, as far as it may be kept. */
void http1_entry_request(struct http1_entry *entry, const struct net_privacy *p,
			 const struct http1_head *head);
void http1_entry_response(struct http1_entry *entry, const struct net_privacy *p,
			  const struct http1_head *head);

#endif
