/* SPDX-License-Identifier: Apache-2.0 */
/* tls_turns.c - turns of encrypted data as exchanges. */
#include "tls_turns.h"

#include <string.h>

/*
 * Tickets are hundreds of bytes. OpenSSL's server sends two of equal length, which is
 * unlikely to be a response's beginning; and one to whom it knows already, as others do.
 * A single one behind a full handshake (Go, Java) cannot be told from a response.
 */
#define MIN_TICKET 64
#define MAX_TICKET 2048

void tls_turns_forget(struct tls_turns *t)
{
	t->is_open = t->has_request = t->has_response = t->is_ticket = false;
	t->flags = 0;
	t->request = t->response = (struct tls_place){ 0 };
	t->request_end_ns = t->response_end_ns = 0;
	t->request_bytes = t->response_bytes = 0;
	t->n_answers = t->first_len = 0;
}

void tls_turns_over(struct tls_turns *t, uint32_t flags)
{
	struct exchange e = {
		.protocol = EXCHANGE_TLS,
		.grpc_status = -1,
		.response_length = -1,
		.request_ns = t->request.time_ns,
		.request_end_ns = t->request_end_ns,
		.request_tgid = t->request.tgid,
		.request_tid = t->request.tid,
		.request_off = t->request.off,
		.request_bytes = t->request_bytes,
		.response_ns = t->response.time_ns,
		.response_end_ns = t->response_end_ns,
		.response_tgid = t->response.tgid,
		.response_tid = t->response.tid,
		.response_off = t->response.off,
		.response_bytes = t->response_bytes,
	};

	if (!t->is_open)
		return;
	e.index = t->n_over++;
	e.flags = t->flags | flags | (t->has_request ? 0 : EXCHANGE_NO_REQUEST);
	tls_turns_forget(t);
	t->done(t->ctx, &e);
}

static void request_begins(struct tls_turns *t, const struct tls_place *at)
{
	if (t->has_response)
		tls_turns_over(t, 0);
	if (t->has_request)
		return;
	t->is_open = t->has_request = true;
	t->request = *at;
}

/*
 * With the second record it is known what the first one was. If that was a ticket, the
 * response is still to come; sets is_ticket if this is another one.
 */
static void look_for_tickets(struct tls_turns *t, uint32_t len)
{
	bool is_second = ++t->n_answers == 2;

	if (t->n_answers == 1)
		t->first_len = len;
	if (!is_second || t->first_len < MIN_TICKET || t->first_len > MAX_TICKET)
		return;
	t->is_ticket = len == t->first_len;
	if (!t->is_ticket && !t->is_resumed)
		return;
	t->has_response = false;
	t->response = (struct tls_place){ 0 };
	t->response_end_ns = t->response_bytes = 0;
}

static void response_begins(struct tls_turns *t, const struct tls_place *at, uint32_t len)
{
	t->is_ticket = false;
	if (!t->is_open) {
		t->may_be_tickets = false; /* here they are, if there are any */
		if (!t->server_may_begin)
			return;
		t->is_open = true;
	}
	if (t->may_be_tickets && t->n_over == 0)
		look_for_tickets(t, len);
	if (t->has_response || t->is_ticket)
		return;
	t->has_response = true;
	t->response = *at;
}

void tls_turns_begin(struct tls_turns *t, enum net_direction dir, const struct tls_place *at,
		     uint32_t len)
{
	if (dir == NET_REQUEST)
		request_begins(t, at);
	else
		response_begins(t, at, len);
}

void tls_turns_add(struct tls_turns *t, enum net_direction dir, uint64_t n, uint64_t time_ns)
{
	if (dir == NET_REQUEST && t->has_request) {
		t->request_bytes += n;
		t->request_end_ns = time_ns;
	} else if (dir == NET_RESPONSE && t->has_response && !t->is_ticket) {
		t->response_bytes += n;
		t->response_end_ns = time_ns;
	}
}
