/* SPDX-License-Identifier: Apache-2.0 */
/* stand_in.c - until the parsers are there: one piece, one message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dns.h"
#include "http1.h"
#include "http2.h"
#include "net_privacy.h"
#include "tls_wire.h"

struct dns {
	dns_query_fn *done;
	void *ctx;
	struct dns_query q;
};

struct dns *dns_new(const struct net_privacy *p, dns_query_fn *done, void *done_ctx)
{
	struct dns *d = calloc(1, sizeof(*d));

	(void)p;
	if (d) {
		d->done = done;
		d->ctx = done_ctx;
	}
	return d;
}

void dns_free(struct dns *d)
{
	free(d);
}

void dns_datagram(struct dns *d, enum net_direction dir, const struct net_piece *p, uint64_t peer)
{
	struct dns_query *q = &d->q;

	(void)peer;
	if (dir == NET_REQUEST) {
		*q = (struct dns_query){ .begin_ns = p->time_ns, .tgid = p->tgid, .tid = p->tid };
		q->has_question = true;
		q->question.qtype = 1;
		strcpy(q->question.name, "example.org");
		return;
	}
	q->end_ns = p->time_ns;
	q->has_answer = true;
	q->answer.n_addresses = 1;
	q->answer.addresses[0] = (struct dns_address){ 4, { 10, 0, 0, 2 } };
	d->done(d->ctx, q);
}

int dns_piece(struct dns *d, enum net_direction dir, const struct net_piece *piece)
{
	(void)d, (void)dir, (void)piece;
	return 0;
}

void dns_expire(struct dns *d, uint64_t now_ns)
{
	(void)d, (void)now_ns;
}

void dns_end(struct dns *d, uint64_t time_ns)
{
	(void)d, (void)time_ns;
}

size_t dns_bytes(const struct dns *d)
{
	return sizeof(*d);
}

const char *dns_type_name(uint16_t type, char scratch[16])
{
	snprintf(scratch, 16, type == 1 ? "A" : "TYPE%u", type);
	return scratch;
}

const char *dns_rcode_name(uint16_t rcode, char scratch[16])
{
	snprintf(scratch, 16, rcode ? "NXDOMAIN" : "NOERROR");
	return scratch;
}
