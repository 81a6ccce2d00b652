/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_parsers.c - the parsers of what is said on a connection, what they hand over, and how
 * much memory they take.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net_encode_impl.h"

/* ---- what parsers hand over ---- */

/* What is asked for in HTTP/1 and answered in HTTP/2. Without memory it is not shown there. */
static void keep_upgraded(struct net_layer *l, const struct exchange *e)
{
	if (!l->upgraded)
		l->upgraded = malloc(sizeof(*l->upgraded));
	if (l->upgraded)
		*l->upgraded = *e;
}

/* A connection joined late was taken for the other end than it is; its parser has found out. */
static void turn_round(struct net_layer *l)
{
	if (l->is_reversed || l->kind != LAYER_HTTP2 || !l->parser.any ||
	    !http2_is_reversed(l->parser.http2))
		return;
	l->is_reversed = true;
	l->conn->sock.role = l->client_sends ? NET_ROLE_SERVER : NET_ROLE_CLIENT;
}

static void exchange_done(void *ctx, const struct exchange *e)
{
	struct net_layer *l = ctx;

	turn_round(l);
	if (e->status == 101 && strcmp(e->upgrade, "h2c") == 0)
		keep_upgraded(l, e);
	net_note_error(l->conn->enc, net_request_write(l, e));
}

/* A turn of what is shown in clear text would be there twice. */
static void turn_done(void *ctx, const struct exchange *e)
{
	struct net_layer *l = ctx;

	if (!l->conn->stream || !l->conn->stream->layer.parser.any)
		exchange_done(ctx, e);
}

static void handshake_done(void *ctx, const struct tls_handshake *h)
{
	struct net_layer *l = ctx;
	struct net_conn *c = l->conn;

	if (!c->handshake)
		c->handshake = malloc(sizeof(*c->handshake));
	if (c->handshake)
		*c->handshake = *h;
	else
		net_note_error(c->enc, -ENOMEM);
}

static void query_done(void *ctx, const struct dns_query *q)
{
	struct net_layer *l = ctx;

	net_note_error(l->conn->enc, net_dns_write(l->conn, q));
}

/* ---- parsers ---- */

static size_t parsers_bytes(const struct net_layer *l)
{
	size_t others = l->tunnel ? http1_bytes(l->tunnel) : 0;

	others += net_times_bytes(&l->heard) + net_times_bytes(&l->told);
	if (!l->parser.any)
		return others;
	switch (l->kind) {
	case LAYER_HTTP1:
		return others + http1_bytes(l->parser.http1);
	case LAYER_HTTP2:
		return others + http2_bytes(l->parser.http2);
	case LAYER_TLS:
		return others + tls_wire_bytes(l->parser.tls);
	case LAYER_DNS:
		return others + dns_bytes(l->parser.dns);
	case LAYER_RESOLVE:
		return others + resolve_bytes(l->parser.resolve);
	default:
		return others;
	}
}

void net_parser_count(struct net_encoder *enc, struct net_layer *l)
{
	size_t now = parsers_bytes(l);

	enc->parser_bytes += now - l->bytes;
	l->bytes = now;
}

void net_parser_free(struct net_encoder *enc, struct net_layer *l)
{
	if (l->parser.any) {
		switch (l->kind) {
		case LAYER_HTTP1:
			http1_free(l->parser.http1);
			break;
		case LAYER_HTTP2:
			http2_free(l->parser.http2);
			break;
		case LAYER_TLS:
			tls_wire_free(l->parser.tls);
			break;
		case LAYER_DNS:
			enc->over[NET_BOUND_QUERIES] += dns_missed(l->parser.dns);
			dns_free(l->parser.dns);
			break;
		case LAYER_RESOLVE:
			enc->over[NET_BOUND_QUERIES] += resolve_missed(l->parser.resolve);
			resolve_free(l->parser.resolve);
			break;
		default:
			break;
		}
	}
	l->parser.any = NULL;
	net_parser_count(enc, l);
}

void net_layer_free(struct net_encoder *enc, struct net_layer *l)
{
	net_peer_leave(l);
	net_times_done(&l->heard);
	net_times_done(&l->told);
	http1_free(l->tunnel);
	l->tunnel = NULL;
	free(l->upgraded);
	l->upgraded = NULL;
	net_parser_free(enc, l);
	l->kind = LAYER_OVER;
}

void net_parser_end(struct net_layer *l, uint64_t time_ns, uint32_t flag)
{
	if (!l->parser.any)
		return;
	switch (l->kind) {
	case LAYER_HTTP1:
		http1_end(l->parser.http1, time_ns, flag);
		break;
	case LAYER_HTTP2:
		http2_end(l->parser.http2, time_ns, flag);
		break;
	case LAYER_TLS:
		tls_wire_end(l->parser.tls, time_ns, flag);
		break;
	case LAYER_DNS:
		dns_end(l->parser.dns, time_ns);
		break;
	case LAYER_RESOLVE:
		resolve_end(l->parser.resolve, time_ns);
		break;
	default:
		break;
	}
}

void net_layer_end(struct net_layer *l, uint64_t time_ns, uint32_t flag)
{
	l->end_ns = time_ns;
	net_parser_end(l, time_ns, flag);
	if (l->tunnel)
		http1_end(l->tunnel, time_ns, flag);
	net_layer_free(l->conn->enc, l);
}

void net_layer_expire(struct net_layer *l, uint64_t now_ns)
{
	if (l->kind == LAYER_DNS && l->parser.dns)
		dns_expire(l->parser.dns, now_ns);
}

void net_parser_new(struct net_layer *l, enum net_layer_kind kind, bool late)
{
	struct net_encoder *enc = l->conn->enc;
	const struct tls_wire_sinks sinks = { handshake_done, turn_done, l };
	const struct net_privacy *p = &enc->privacy;

	l->kind = kind;
	if (enc->parser_bytes >= NET_MAX_PARSERS) {
		enc->over[NET_BOUND_PARSERS]++;
		l->kind = LAYER_OVER;
		return;
	}
	switch (kind) {
	case LAYER_HTTP1:
		l->parser.http1 = http1_new(p, exchange_done, l);
		break;
	case LAYER_HTTP2:
		l->parser.http2 = http2_new(p, late, exchange_done, l);
		net_times_keep_many(&l->heard);
		net_times_keep_many(&l->told);
		break;
	case LAYER_TLS:
		l->parser.tls = tls_wire_new(p, &sinks);
		break;
	case LAYER_DNS:
		l->parser.dns = dns_new(p, query_done, l);
		break;
	case LAYER_RESOLVE:
		l->parser.resolve = resolve_new(p, query_done, l);
		break;
	default:
		return;
	}
	if (!l->parser.any) {
		net_note_error(enc, -ENOMEM);
		l->kind = LAYER_OVER;
	}
}
