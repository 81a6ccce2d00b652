/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_request_args.c - what a request is called, and what is said of it.
 *
 * Most of that it has in common with those of its name and those of its connection: such
 * arguments are packed once, and after that only compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_request.h"
#include "trace_tap.h"

/* ---- texts, put together by hand: there are several for each request ---- */

static char *put_status(char *at, int status)
{
	*at++ = (char)('0' + status / 100 % 10);
	*at++ = (char)('0' + status / 10 % 10);
	*at++ = (char)('0' + status % 10);
	*at = '\0';
	return at;
}

/* ---- what it is called ---- */

/* What went wrong, as one word; NULL: nothing. */
static const char *failure(const struct net_request *q, char scratch[16])
{
	const struct exchange *e = q->e;

	if (e->flags & EXCHANGE_RESET)
		return "reset";
	if (e->flags & EXCHANGE_CLOSED)
		return q->conn->flags & (CONN_RESET_RECEIVED | CONN_RESET_SENT) ? "reset"
										: "closed";
	if (e->status < 400)
		return NULL;
	if (e->status > 999)
		snprintf(scratch, 16, "%d", e->status);
	else
		put_status(scratch, e->status);
	return scratch;
}

static const char *proto_of(struct net_request *q)
{
	switch (q->e->protocol) {
	case EXCHANGE_HTTP2:
		return "HTTP/2";
	case EXCHANGE_WEBSOCKET:
		return "WebSocket";
	case EXCHANGE_TUNNEL:
		return "tunnel";
	case EXCHANGE_TLS:
		return q->conn->handshake ? tls_version_name(q->conn->handshake->version) : NULL;
	default:
		break;
	}
	if (!q->e->version[0] || strcmp(q->e->version, "1.1") == 0)
		return "HTTP/1.1";
	if (strcmp(q->e->version, "1.0") == 0)
		return "HTTP/1.0";
	snprintf(q->proto, sizeof(q->proto), "HTTP/%s", q->e->version);
	return q->proto;
}

/* Its target is an authority, and no path. */
static bool is_connect(const struct exchange *e)
{
	return strcmp(e->method, "CONNECT") == 0;
}

static void make_name(struct net_request *q)
{
	const struct exchange *e = q->e;
	char scratch[16];
	const char *failed = failure(q, scratch), *space = failed ? " " : "";
	char *at;

	failed = failed ? failed : "";
	if (e->protocol == EXCHANGE_WEBSOCKET || e->protocol == EXCHANGE_TUNNEL) {
		bool tunnel = e->protocol == EXCHANGE_TUNNEL;

		snprintf(q->name, sizeof(q->name), "%s %s", proto_of(q),
			 tunnel ? e->host : e->path);
	} else if (e->protocol == EXCHANGE_TLS) {
		snprintf(q->name, sizeof(q->name), "TLS exchange%s%s", space, failed);
	} else if (!e->method[0]) { /* its beginning, or what its names lean on, was not seen */
		snprintf(q->name, sizeof(q->name), "request%s%s", space, failed);
	} else {
		at = stpcpy(stpcpy(q->name, e->method), " ");
		at = stpcpy(at, e->path[0] ? e->path : e->host[0] && is_connect(e) ? e->host : "…");
		stpcpy(stpcpy(at, space), failed);
	}
}

/* What stands for names when there are too many. */
static void make_shorter(struct net_request *q)
{
	const struct exchange *e = q->e;
	char scratch[16];
	const char *failed = failure(q, scratch);

	if (e->protocol == EXCHANGE_WEBSOCKET || e->protocol == EXCHANGE_TUNNEL)
		snprintf(q->name, sizeof(q->name), "%.20s …", proto_of(q));
	else if (e->protocol != EXCHANGE_TLS && e->method[0])
		snprintf(q->name, sizeof(q->name), "%s …%s%s", e->method, failed ? " " : "",
			 failed ? failed : "");
}

static void find_name(struct net_request *q)
{
	struct trace_event *ev = &q->slice.event;
	bool fits;

	make_name(q);
	ev->name = q->name;
	q->known = net_request_name(q->conn->enc, q->name, &fits);
	if (q->known)
		ev->name_id = &q->known->id;
	else if (!fits)
		make_shorter(q);
}

void net_request_host(const struct exchange *e, char ret[EXCHANGE_HOST_LEN])
{
	const char *host = e->host, *end = host[0] == '[' ? strchr(host, ']') : NULL;
	char *colon;

	ret[0] = '\0';
	if (is_connect(e))
		return;
	stpcpy(ret, host);
	colon = end ? strchr(ret + (end - host), ':') : strrchr(ret, ':');
	if (colon && (end || strchr(ret, ':') == colon))
		*colon = '\0';
}

static void make_url(struct net_request *q)
{
	const struct exchange *e = q->e;
	bool tls = q->layer->stream || (q->conn->handshake && q->conn->handshake->version);
	const char *scheme = e->scheme[0] ? e->scheme : tls ? "https" : "http";

	char *at = q->url;

	*at = '\0';
	if (!e->host[0])
		return;
	if (is_connect(e)) {
		stpcpy(at, e->host);
		return;
	}
	at = stpcpy(stpcpy(stpcpy(at, scheme), "://"), e->host);
	stpcpy(stpcpy(at, e->path[0] == '/' || !e->path[0] ? "" : "/"), e->path);
}

/* ---- arguments ---- */

/* Not if it is empty. */
static void add_text(struct net_request *q, const char *name, const char *text,
		     enum trace_arg_type type)
{
	if (text && text[0])
		net_arg(&q->slice, name, type)->s = text;
}

static bool use(struct net_request *q, const struct trace_packed *packed)
{
	struct trace_event *ev = &q->slice.event;
	const struct trace_writer *w = q->conn->enc->env.writer;

	/* Who listens is told of each. */
	if (trace_is_tapped(w) || !trace_packed_holds(w, packed))
		return false;
	ev->packed[ev->n_packed++] = packed;
	return true;
}

/* Arguments from `first` on; without memory they stay as they are. */
static void pack(struct net_request *q, size_t first, struct trace_packed *packed)
{
	struct trace_event *ev = &q->slice.event;
	struct trace_writer *w = q->conn->enc->env.writer;

	if (ev->n_args == first)
		return;
	if (trace_pack_args(w, ev->args + first, ev->n_args - first, packed) == 0 && use(q, packed))
		ev->n_args = first;
}

/* ---- what those of a name have in common ---- */

static bool is_as_known(const struct net_request *q)
{
	const struct net_name *known = q->known;
	const struct exchange *e = q->e;

	return known->url && known->status == e->status && strcmp(known->url, q->url) == 0 &&
	       strcmp(known->method, e->method) == 0 && strcmp(known->host, e->host) == 0 &&
	       strcmp(known->content_type, e->content_type) == 0;
}

static void add_http(struct net_request *q)
{
	enum trace_arg_type type = q->known ? ARG_REPEATED : ARG_STRING;
	struct net_slice *s = &q->slice;
	const struct exchange *e = q->e;
	size_t first = s->event.n_args;
	bool is_usual;

	if (q->known && !q->known->url)
		net_name_learn(q->known, e, q->url);
	is_usual = q->known && is_as_known(q);
	if (is_usual && use(q, &q->known->packed))
		return;
	add_text(q, "method", e->method, type);
	add_text(q, "url", q->url, type);
	add_text(q, "host", e->host, type);
	if (e->status)
		net_arg_uint(s, "status", (uint64_t)e->status);
	add_text(q, "content_type", e->content_type, type);
	if (is_usual)
		pack(q, first, &q->known->packed);
}

static void add_more_http(struct net_request *q)
{
	struct net_slice *s = &q->slice;
	const struct exchange *e = q->e;

	net_arg_string(s, "cache", e->cache);
	net_arg_string(s, "upgrade", e->upgrade);
	if (e->grpc_status >= 0 && e->flags & EXCHANGE_GRPC)
		net_arg_uint(s, "grpc_status", (uint64_t)e->grpc_status);
}

/* ---- what those of a connection have in common, from the second on ---- */

static struct net_said *said_of(struct net_conn *c)
{
	if (!c->said)
		c->said = calloc(1, sizeof(*c->said));
	return c->said;
}

static void add_connection(struct net_request *q)
{
	struct net_conn *c = q->conn;
	const char *proto = proto_of(q);
	bool is_reused = q->layer->n_exchanges > 0;
	struct net_said *said = is_reused && proto != q->proto ? said_of(c) : NULL;
	enum trace_arg_type type = is_reused ? ARG_REPEATED : ARG_STRING;
	size_t first = q->slice.event.n_args;

	if (said && said->proto == proto && said->is_client == q->is_client &&
	    memcmp(&said->sock, &c->sock, sizeof(c->sock)) == 0 && use(q, &said->packed))
		return;
	add_text(q, "proto", proto, proto == q->proto ? ARG_STRING : ARG_LITERAL);
	add_text(q, "side", q->is_client ? "client" : "server", ARG_LITERAL);
	if (net_peer_text(&c->sock, q->remote))
		add_text(q, "remote", q->remote, type);
	if (net_local_text(&c->sock, q->local))
		add_text(q, "local", q->local, type);
	if (c->sock.cookie)
		net_arg_uint(&q->slice, "connection", c->sock.cookie);
	if (is_reused || c->flags & CONN_BEFORE)
		net_arg_true(&q->slice, "reused");
	if (!said)
		return;
	said->proto = proto;
	said->is_client = q->is_client;
	said->sock = c->sock;
	pack(q, first, &said->packed);
}

/* ---- and what is each one's own ---- */

static const char *link_name(uint8_t link)
{
	static const char *const names[] = {
		[NET_LINK_NONE] = "none",
		[NET_LINK_NESTED] = "nested",
		[NET_LINK_LAST] = "last",
		[NET_LINK_GUESS] = "guess",
	};

	return link < sizeof(names) / sizeof(names[0]) ? names[link] : NULL;
}

static const char *error_of(struct net_request *q)
{
	const struct exchange *e = q->e;

	if (e->flags & EXCHANGE_RESET) {
		snprintf(q->error, sizeof(q->error), "stream reset: %u", e->error);
		return q->error;
	}
	if (!(e->flags & EXCHANGE_CLOSED))
		return NULL;
	if (q->conn->flags & CONN_RESET_RECEIVED)
		return "reset by peer";
	return q->conn->flags & CONN_RESET_SENT ? "reset" : "connection closed";
}

static void add_args(struct net_request *q)
{
	struct net_slice *s = &q->slice;
	const struct exchange *e = q->e;
	bool is_tls = e->protocol == EXCHANGE_TLS;

	if (!is_tls)
		add_http(q);
	add_connection(q);
	if (!is_tls)
		add_more_http(q);
	net_arg_uint(s, "request_bytes", e->request_bytes);
	net_arg_uint(s, "response_bytes", e->response_bytes);
	if (!is_tls)
		net_arg_uint(s, "response_body", e->response_body);
	if (q->layer->stream) {
		net_arg_true(s, "tls");
		add_text(q, "link", link_name(q->layer->stream->link), ARG_LITERAL);
	}
	net_arg_string(s, "error", error_of(q));
	if (e->flags & EXCHANGE_INCOMPLETE)
		net_arg_true(s, "incomplete");
	if (e->flags & EXCHANGE_JOINED_LATE)
		net_arg_true(s, "joined_late");
	if (e->flags & EXCHANGE_LOST)
		net_arg_true(s, "lost");
	if (q->tid)
		net_arg_uint(s, "thread", q->tid);
	net_arg_uint(s, "index", q->layer->n_exchanges);
}

void net_request_describe(struct net_request *q)
{
	find_name(q);
	make_url(q);
	add_args(q);
}
