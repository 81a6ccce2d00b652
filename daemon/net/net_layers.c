/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_layers.c - bytes on their way to a parser: on the wire of a connection, and in clear
 * text in the TLS stream of a library.
 *
 * Which parser it is BPF has said, by the first bytes; whose bytes are requests, the
 * connection's role or else their looks. After a CONNECT or a 101 it is looked at anew.
 */
#include "net_encode_impl.h"

/* ---- whose bytes are requests? ---- */

#define TLS_HANDSHAKE	 22
#define TLS_SERVER_HELLO 2

/* 1: a request, -1: a response, 0: nobody knows. */
static int looks_like(enum net_layer_kind kind, const struct net_piece *p)
{
	if (p->n_data == 0)
		return 0;
	switch (kind) {
	case LAYER_HTTP1:
		return http1_is_request(p->data, p->n_data)    ? 1
		       : http1_is_response(p->data, p->n_data) ? -1
							       : 0;
	case LAYER_HTTP2:
		return http2_is_preface(p->data, p->n_data) ? 1 : 0;
	case LAYER_TLS:
		if (p->n_data < 6)
			return 0;
		if (p->data[0] == TLS_HANDSHAKE && p->data[5] == TLS_SERVER_HELLO)
			return -1;
		return tls_wire_is_hello(p->data, p->n_data) ? 1 : 0;
	default:
		return 0;
	}
}

static bool by_ports(const struct net_sock *s)
{
	if (!net_is_inet(s))
		return true;
	return s->inet.local_port >= s->inet.peer_port;
}

static bool client_sends(struct net_conn *c, enum net_layer_kind kind, bool sent,
			 const struct net_piece *p)
{
	int looks = looks_like(kind, p);

	if (c->sock.role == NET_ROLE_UNKNOWN && looks)
		c->sock.role = (looks > 0) == sent ? NET_ROLE_CLIENT : NET_ROLE_SERVER;
	if (c->sock.role != NET_ROLE_UNKNOWN)
		return c->sock.role == NET_ROLE_CLIENT;
	return by_ports(&c->sock);
}

/* ---- pieces ---- */

static enum net_layer_kind kind_of(uint8_t protocol)
{
	switch (protocol) {
	case NET_PROTOCOL_HTTP1:
		return LAYER_HTTP1;
	case NET_PROTOCOL_HTTP2:
		return LAYER_HTTP2;
	case NET_PROTOCOL_TLS:
		return LAYER_TLS;
	case NET_PROTOCOL_DNS:
		return LAYER_DNS;
	case NET_PROTOCOL_RESOLVE:
		return LAYER_RESOLVE;
	default:
		return LAYER_NONE;
	}
}

/* What it is after a CONNECT or a 101, by its looks. */
static enum net_layer_kind guess(const struct net_piece *p)
{
	if (p->n_data < 5)
		return LAYER_NONE;
	if (tls_wire_is_hello(p->data, p->n_data))
		return LAYER_TLS;
	if (http2_is_preface(p->data, p->n_data))
		return LAYER_HTTP2;
	return http1_is_request(p->data, p->n_data) ? LAYER_HTTP1 : LAYER_NONE;
}

static void end_of_protocol(struct net_layer *l, uint64_t time_ns)
{
	/* What it could not understand it has told of. */
	net_parser_end(l, time_ns, EXCHANGE_LOST);
	net_parser_free(l->conn->enc, l);
	l->kind = LAYER_OVER;
}

/* Of what was told already nothing is told again. False: that is all of it. */
static bool trim(struct net_piece *p, uint64_t next)
{
	uint64_t n = next - p->off;

	if (p->off >= next)
		return true;
	if (n >= p->len)
		return false;
	p->off += n;
	p->len -= n;
	p->data += n < p->n_data ? n : p->n_data;
	p->n_data -= n < p->n_data ? n : p->n_data;
	return true;
}

static void take_behind_switch(struct net_layer *l, enum net_direction dir,
			       const struct net_piece *p);

/*
 * The parser stays: it has a tunnel, or a WebSocket, that lasts until the end. The other
 * protocol's first bytes may be in the same piece.
 */
static void switch_protocol(struct net_layer *l, enum net_direction dir, const struct net_piece *p,
			    enum http1_next next)
{
	struct net_piece rest = *p;

	if (next == HTTP1_GOES_ON)
		return;
	http1_free(l->tunnel);
	l->tunnel = l->parser.http1;
	l->parser.any = NULL;
	l->kind = LAYER_NONE;
	if (next == HTTP1_UPGRADED_H2C) {
		net_parser_new(l, LAYER_HTTP2, false);
		if (l->parser.any && l->upgraded)
			http2_upgraded(l->parser.http2, l->upgraded);
	}
	if (trim(&rest, http1_switched_off(l->tunnel, dir)))
		take_behind_switch(l, dir, &rest);
}

/* What was sent ahead is told of when it is answered: by then its times shall still be there. */
static void keep_times(struct net_layer *l)
{
	if (l->heard.many || http1_n_open(l->parser.http1) <= NET_FEW_TIMES / 2)
		return;
	net_times_keep_many(&l->heard);
	net_times_keep_many(&l->told);
}

static void feed_parser(struct net_layer *l, enum net_direction dir, const struct net_piece *p)
{
	enum http1_next next;
	int r = 0;

	switch (l->kind) {
	case LAYER_HTTP1:
		next = http1_piece(l->parser.http1, dir, p);
		keep_times(l);
		switch_protocol(l, dir, p, next);
		break;
	case LAYER_HTTP2:
		r = http2_piece(l->parser.http2, dir, p);
		break;
	case LAYER_TLS:
		r = tls_wire_piece(l->parser.tls, dir, p);
		break;
	case LAYER_DNS:
		r = dns_piece(l->parser.dns, dir, p);
		break;
	case LAYER_RESOLVE:
		r = resolve_piece(l->parser.resolve, dir, p);
		break;
	default:
		return;
	}
	if (r < 0)
		end_of_protocol(l, p->time_ns);
}

static void take_behind_switch(struct net_layer *l, enum net_direction dir,
			       const struct net_piece *p)
{
	enum net_layer_kind kind = l->kind == LAYER_NONE ? guess(p) : LAYER_NONE;

	if (kind != LAYER_NONE)
		net_parser_new(l, kind, false);
	if (l->parser.any)
		feed_parser(l, dir, p);
}

static void take_piece(struct net_layer *l, bool sent, struct net_piece *p)
{
	enum net_direction dir = sent == l->client_sends ? NET_REQUEST : NET_RESPONSE;

	if (!trim(p, l->next[dir]))
		return;
	l->next[dir] = p->off + p->len;
	if (l->tunnel) /* it only counts */
		http1_piece(l->tunnel, dir, p);
	if (l->tunnel)
		take_behind_switch(l, dir, p);
	else if (l->parser.any)
		feed_parser(l, dir, p);
}

/* Each run with what is behind it is a piece; what is before the first one is one, too. */
static void take_record(struct net_layer *l, const struct net_record *rec)
{
	const struct net_run *runs = (const void *)rec->data;
	const uint8_t *data = rec->data + rec->n_runs * sizeof(*runs);
	bool sent = rec->flags & NET_SENT;
	struct net_piece p = {
		.time_ns = rec->hdr->time_ns,
		.tgid = rec->hdr->tgid,
		.tid = rec->hdr->tid,
		.off = rec->off,
		.data = data,
	};

	/* What nobody has seen was not before that, and may have been then. */
	if (rec->flags & NET_UNSEEN && l->seen_ns)
		p.time_ns = l->seen_ns;
	l->seen_ns = p.time_ns;
	for (int i = -1; i < rec->n_runs; i++) {
		uint64_t begin = i < 0 ? 0 : runs[i].at;
		uint64_t end = i + 1 < rec->n_runs ? runs[i + 1].at : rec->len;

		p.off = rec->off + begin;
		p.len = end - begin;
		p.n_data = i < 0 ? 0 : runs[i].len;
		p.data = data;
		data += p.n_data;
		if (p.len > 0)
			take_piece(l, sent, &p);
	}
}

static void prepare(struct net_layer *l, const struct net_record *rec)
{
	const struct net_run *runs = (const void *)rec->data;
	struct net_piece first = { 0 };
	bool late = rec->off > 0 || rec->flags & NET_STALE;

	if (rec->n_runs && runs[0].at == 0) {
		first.data = rec->data + rec->n_runs * sizeof(*runs);
		first.n_data = runs[0].len;
	}
	l->client_sends =
		client_sends(l->conn, kind_of(rec->protocol), rec->flags & NET_SENT, &first);
	net_parser_new(l, kind_of(rec->protocol), late);
}

/* An orderly end of what is sent, or of what is received. */
static void take_fin(struct net_layer *l, const struct net_record *rec)
{
	bool sent = rec->flags & NET_SENT;
	enum net_direction dir = sent == l->client_sends ? NET_REQUEST : NET_RESPONSE;
	uint64_t time_ns = rec->hdr->time_ns;

	l->end_ns = time_ns; /* of what can have no more behind it */
	if (l->tunnel)
		http1_fin(l->tunnel, dir, time_ns);
	if (!l->parser.any)
		return;
	if (l->kind == LAYER_HTTP1)
		http1_fin(l->parser.http1, dir, time_ns);
	else if (l->kind == LAYER_HTTP2)
		http2_fin(l->parser.http2, dir, time_ns);
	else if (l->kind == LAYER_TLS)
		tls_wire_fin(l->parser.tls, dir, time_ns);
}

/*
 * Could a message begin in it? Of HTTP heads are copied, so that what was read of a large one,
 * or of a body, in many pieces does not push out when its beginning was read.
 */
static bool may_begin(const struct net_layer *l, const struct net_record *rec)
{
	return rec->n_runs || (l->kind != LAYER_HTTP1 && l->kind != LAYER_HTTP2);
}

void net_layer_take(struct net_layer *l, const struct net_record *rec)
{
	if (rec->flags & NET_CUT)
		l->conn->enc->over[NET_BOUND_CUT]++;
	if (rec->len == 0) {
		take_fin(l, rec);
	} else {
		if (!(rec->flags & NET_SENT) && may_begin(l, rec))
			net_times_add(&l->heard, rec->off, rec->len, rec->hdr->time_ns);
		if (l->kind == LAYER_NONE && !l->tunnel && rec->protocol)
			prepare(l, rec);
		take_record(l, rec);
	}
	net_parser_count(l->conn->enc, l);
}

/* ---- DNS over UDP: one message, one record ---- */

static void take_datagram(struct net_conn *c, const struct net_record *rec,
			  const struct net_sock *sock)
{
	const struct net_run *runs = (const void *)rec->data;
	struct net_layer *l = &c->wire;
	struct net_piece p = {
		.off = rec->off,
		.len = rec->len,
		.time_ns = rec->hdr->time_ns,
		.tgid = rec->hdr->tgid,
		.tid = rec->hdr->tid,
		.data = rec->data + rec->n_runs * sizeof(*runs),
	};
	bool sent = rec->flags & NET_SENT;
	uint64_t peer = 0;

	if (rec->protocol != NET_PROTOCOL_DNS || rec->len == 0)
		return;
	if (rec->n_runs && runs[0].at == 0)
		p.n_data = runs[0].len;
	if (l->kind == LAYER_NONE) {
		if (c->sock.role == NET_ROLE_UNKNOWN)
			c->sock.role =
				sock->inet.local_port == 53 ? NET_ROLE_SERVER : NET_ROLE_CLIENT;
		l->client_sends = c->sock.role == NET_ROLE_CLIENT;
		net_parser_new(l, LAYER_DNS, false);
	}
	if (l->kind != LAYER_DNS) /* a socket has either datagrams or a stream */
		return;
	if (sent) { /* who is asked, or whom this answer is for: a socket may have several */
		c->sock.family = sock->family;
		c->sock.inet = sock->inet;
	}
	if (l->client_sends)
		net_dns_asks(c);
	/* Who is asked, or has asked, may be unknown: the id will do. */
	if (!l->client_sends && sock->inet.peer_port)
		peer = hash_bytes(sock->inet.peer, sizeof(sock->inet.peer), sock->inet.peer_port);
	if (l->parser.any)
		dns_datagram(l->parser.dns, sent == l->client_sends ? NET_REQUEST : NET_RESPONSE,
			     &p, peer);
	if (l->parser.any && l->client_sends && sent)
		net_dns_asked(c, p.tgid, p.time_ns);
	net_parser_count(c->enc, l);
}

void net_layer_io(struct net_conn *c, const struct net_io_event *ev)
{
	const struct net_record rec = { &ev->hdr,     ev->off,	  ev->len, ev->flags,
					ev->protocol, ev->n_runs, ev->data };

	if (ev->flags & NET_DATAGRAM)
		take_datagram(c, &rec, &ev->sock);
	else
		net_layer_take(&c->wire, &rec);
}
