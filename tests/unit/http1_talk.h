/* SPDX-License-Identifier: Apache-2.0 */
/* http1_talk.h - a conversation with daemon/net/http1.h, and what it makes of it. */
#ifndef HTTP1_TALK_H
#define HTTP1_TALK_H

#include "net/http1_impl.h"

#define TALK_MAX 256

struct talk {
	struct http1 *http1;
	struct net_privacy privacy;
	struct exchange got[TALK_MAX];
	unsigned n;
	uint64_t off[2];
	uint64_t time_ns; /* of the last piece: 1, 2, ... */
	enum http1_next next;
};

void talk_begin(struct talk *t);
void talk_done(struct talk *t);
/* A piece whose first `n_data` bytes are `text`; thread 100 sends requests, 200 responses. */
void talk_piece(struct talk *t, enum net_direction dir, const void *text, size_t n_data,
		uint64_t len);
void talk_ask(struct talk *t, const char *text);
void talk_answer(struct talk *t, const char *text);
void talk_answer_unknown(struct talk *t, uint64_t len);
/* Bytes that nobody told us of. */
void talk_gap(struct talk *t, enum net_direction dir, uint64_t len);
/* The next one that has been handed over; fails when there is none. */
const struct exchange *talk_next(struct talk *t);

#endif
