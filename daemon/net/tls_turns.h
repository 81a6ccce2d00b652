/* SPDX-License-Identifier: Apache-2.0 */
/* tls_turns.h - who says how much, when, once nothing can be read any more. */
#ifndef TLS_TURNS_H
#define TLS_TURNS_H

#include "net_exchange.h"

/* Where something begins. */
struct tls_place {
	uint64_t off, time_ns;
	uint32_t tgid, tid;
};

struct tls_turns {
	exchange_done_fn *done;
	void *ctx;
	bool server_may_begin; /* what it says first is no ticket */
	bool may_be_tickets;   /* TLS 1.3: the server's first records may be */
	bool is_resumed;

	uint64_t n_over;
	bool is_open, has_request, has_response;
	uint32_t flags;
	struct tls_place request, response;
	uint64_t request_end_ns, response_end_ns;
	uint64_t request_bytes, response_bytes;

	uint32_t n_answers; /* records of the server in this turn */
	uint32_t first_len;
	bool is_ticket; /* the record under way */
};

/* Data begins there: a record of `len` bytes, or 0: whatever it is. */
void tls_turns_begin(struct tls_turns *t, enum net_direction dir, const struct tls_place *at,
		     uint32_t len);
/* `n` bytes of it have moved. */
void tls_turns_add(struct tls_turns *t, enum net_direction dir, uint64_t n, uint64_t time_ns);
/* What is open was none. */
void tls_turns_forget(struct tls_turns *t);
/* Hands over what is open, with `flags`. */
void tls_turns_over(struct tls_turns *t, uint32_t flags);

#endif
