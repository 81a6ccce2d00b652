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

struct http1 {
	exchange_done_fn *done;
	void *ctx;
	bool open;
	struct exchange e;
};

bool http1_is_request(const uint8_t *data, size_t n)
{
	return n >= 4 && memcmp(data, "GET ", 4) == 0;
}

bool http1_is_response(const uint8_t *data, size_t n)
{
	return n >= 5 && memcmp(data, "HTTP/", 5) == 0;
}

struct http1 *http1_new(const struct net_privacy *p, exchange_done_fn *done, void *done_ctx)
{
	struct http1 *h = calloc(1, sizeof(*h));

	(void)p;
	if (h) {
		h->done = done;
		h->ctx = done_ctx;
	}
	return h;
}

void http1_free(struct http1 *h)
{
	free(h);
}

static void hand_over(struct http1 *h)
{
	h->done(h->ctx, &h->e);
	h->open = false;
}

enum http1_next http1_piece(struct http1 *h, enum net_direction dir, const struct net_piece *p)
{
	struct exchange *e = &h->e;

	if (dir == NET_REQUEST) {
		*e = (struct exchange){ .grpc_status = -1, .version = "1.1", .method = "GET" };
		e->request_ns = e->request_end_ns = p->time_ns;
		e->request_tgid = p->tgid;
		e->request_tid = p->tid;
		e->request_off = p->off;
		e->request_bytes = p->len;
		sscanf((const char *)p->data, "GET %255s HTTP/1.1\r\nHost: %127s", e->path, e->host);
		h->open = true;
		return HTTP1_GOES_ON;
	}
	if (!h->open)
		return HTTP1_GOES_ON;
	e->response_ns = e->response_end_ns = p->time_ns;
	e->response_tgid = p->tgid;
	e->response_tid = p->tid;
	e->response_bytes = p->len;
	if (p->n_data > 12)
		e->status = atoi((const char *)p->data + 9);
	hand_over(h);
	return HTTP1_GOES_ON;
}

uint64_t http1_switched_off(const struct http1 *h, enum net_direction dir);
uint64_t http1_switched_off(const struct http1 *h, enum net_direction dir)
{
	(void)h, (void)dir;
	return 0;
}

void http1_fin(struct http1 *h, enum net_direction dir, uint64_t time_ns)
{
	(void)h, (void)dir, (void)time_ns;
}

void http1_end(struct http1 *h, uint64_t time_ns, uint32_t flag)
{
	(void)time_ns;
	h->e.flags |= flag;
	if (h->open)
		hand_over(h);
}

size_t http1_bytes(const struct http1 *h)
{
	return sizeof(*h);
}

bool http2_is_preface(const uint8_t *data, size_t n)
{
	(void)data, (void)n;
	return false;
}

struct http2 *http2_new(const struct net_privacy *p, bool late, exchange_done_fn *done, void *ctx)
{
	(void)p, (void)late, (void)done, (void)ctx;
	return NULL;
}

void http2_free(struct http2 *h)
{
	(void)h;
}

void http2_upgraded(struct http2 *h, const struct exchange *request);
void http2_upgraded(struct http2 *h, const struct exchange *request)
{
	(void)h, (void)request;
}

int http2_piece(struct http2 *h, enum net_direction dir, const struct net_piece *piece)
{
	(void)h, (void)dir, (void)piece;
	return -1;
}

void http2_fin(struct http2 *h, enum net_direction dir, uint64_t time_ns)
{
	(void)h, (void)dir, (void)time_ns;
}

void http2_end(struct http2 *h, uint64_t time_ns, uint32_t flag)
{
	(void)h, (void)time_ns, (void)flag;
}

size_t http2_bytes(const struct http2 *h)
{
	(void)h;
	return 0;
}

bool tls_wire_is_hello(const uint8_t *data, size_t n)
{
	return n >= 6 && data[0] == 22 && data[5] == 1;
}

struct tls_wire {
	int unused;
};

struct tls_wire *tls_wire_new(const struct net_privacy *p, const struct tls_wire_sinks *sinks)
{
	(void)p, (void)sinks;
	return calloc(1, sizeof(struct tls_wire));
}

void tls_wire_free(struct tls_wire *t)
{
	free(t);
}

int tls_wire_piece(struct tls_wire *t, enum net_direction dir, const struct net_piece *piece)
{
	(void)t, (void)dir, (void)piece;
	return 0;
}

void tls_wire_fin(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	(void)t, (void)dir, (void)time_ns;
}

void tls_wire_end(struct tls_wire *t, uint64_t time_ns, uint32_t flag)
{
	(void)t, (void)time_ns, (void)flag;
}

size_t tls_wire_bytes(const struct tls_wire *t)
{
	return sizeof(*t);
}

const char *tls_version_name(uint16_t version)
{
	return version ? "TLS 1.3" : NULL;
}

const char *tls_cipher_name(uint16_t cipher)
{
	return cipher ? "TLS_AES_128_GCM_SHA256" : NULL;
}

const char *tls_alert_name(int alert)
{
	return alert >= 0 ? "alert" : NULL;
}

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

void net_privacy_name(const struct net_privacy *p, const uint8_t *name, size_t len, char *ret,
		      size_t room)
{
	(void)p;
	snprintf(ret, room, "%.*s", (int)len, name);
}
