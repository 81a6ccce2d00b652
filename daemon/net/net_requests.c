/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_requests.c - one request and its response, one slice in a lane of its origin, with
 * what the time went to in it; and where in the program it came from.
 *
 * A flow goes from the thread that sends it to the request, to the request of the process
 * that serves it and its threads, and back. Its id is made of what both ends know.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "net_encode_impl.h"

#define URL_LEN	 (EXCHANGE_HOST_LEN + EXCHANGE_PATH_LEN + 32)
#define NAME_LEN (EXCHANGE_METHOD_LEN + EXCHANGE_PATH_LEN + 32)
/* A name that was looked up longer before than that was not looked up for this connection. */
#define DNS_BEFORE_CONNECT_NS NS_PER_SEC
/* The calls of a TLS library surround those of its socket. */
#define PLAIN_SLACK_NS (5 * NS_PER_MS)

/* One in the making. */
struct request {
	struct net_layer *layer;
	struct net_conn *conn;
	const struct exchange *e;
	bool is_client;
	uint32_t tgid, tid;		  /* whose it is */
	uint64_t request_ns, response_ns; /* as both ends have it; 0: not seen */
	uint64_t begin_ns, end_ns;
	uint64_t flow_id;
	struct net_name *known; /* one of its name was there before; or NULL */
	struct net_phases phases;
	struct net_slice slice;
	/* From the slice's arguments on nothing is read that was not written: it is much. */
	char name[NAME_LEN], url[URL_LEN], proto[16], error[48];
	char origin[NET_ORIGIN_LEN];
	char remote[NET_ADDRESS_LEN], local[NET_ADDRESS_LEN];
};

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
static const char *failure(const struct request *q, char scratch[16])
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

static const char *proto_of(struct request *q)
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

static void make_name(struct request *q)
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
static void make_shorter(struct request *q)
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

static void find_name(struct request *q)
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

/* A Host field without its port, which the connection knows. */
static void host_alone(const char *host, char ret[EXCHANGE_HOST_LEN])
{
	const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
	char *colon;

	stpcpy(ret, host);
	colon = end ? strchr(ret + (end - host), ':') : strrchr(ret, ':');
	if (colon && (end || strchr(ret, ':') == colon))
		*colon = '\0';
}

static void make_url(struct request *q)
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
static void add_text(struct request *q, const char *name, const char *text,
		     enum trace_arg_type type)
{
	if (text && text[0])
		net_arg(&q->slice, name, type)->s = text;
}

static void add_repeated(struct request *q, const char *name, const char *text,
			 struct trace_text_id *id)
{
	struct trace_arg *arg = net_arg(&q->slice, name, ARG_REPEATED);

	arg->s = text;
	arg->id = id;
}

/*
 * One that there is as often as there are requests of this name, once or often. `known`: what it
 * mostly is then, or NULL.
 */
static void add_common(struct request *q, const char *name, const char *text,
		       struct net_text *known)
{
	if (!known || !text[0])
		net_arg_string(&q->slice, name, text);
	else
		add_repeated(q, name, text, net_text_id(known, text));
}

static void add_ends(struct request *q)
{
	struct net_ends *ends = q->layer->n_exchanges ? net_conn_ends(q->conn) : NULL;

	if (!ends) {
		if (net_peer_text(&q->conn->sock, q->remote))
			net_arg_string(&q->slice, "remote", q->remote);
		if (net_local_text(&q->conn->sock, q->local))
			net_arg_string(&q->slice, "local", q->local);
		return;
	}
	if (ends->remote)
		add_repeated(q, "remote", ends->remote, &ends->remote_id);
	if (ends->local)
		add_repeated(q, "local", ends->local, &ends->local_id);
}

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

static const char *error_of(struct request *q)
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

static void add_http(struct request *q)
{
	struct net_slice *s = &q->slice;
	const struct exchange *e = q->e;
	struct net_name *known = q->known;

	add_common(q, "method", e->method, known ? &known->method : NULL);
	add_common(q, "url", q->url, known ? &known->url : NULL);
	add_common(q, "host", e->host, known ? &known->host : NULL);
	if (e->status)
		net_arg_uint(s, "status", (uint64_t)e->status);
	add_common(q, "content_type", e->content_type, known ? &known->content_type : NULL);
	net_arg_string(s, "cache", e->cache);
	net_arg_string(s, "upgrade", e->upgrade);
	if (e->grpc_status >= 0 && e->flags & EXCHANGE_GRPC)
		net_arg_uint(s, "grpc_status", (uint64_t)e->grpc_status);
}

static void add_args(struct request *q)
{
	struct net_slice *s = &q->slice;
	const struct exchange *e = q->e;
	const char *proto = proto_of(q);

	if (e->protocol != EXCHANGE_TLS)
		add_http(q);
	net_arg_uint(s, "request_bytes", e->request_bytes);
	net_arg_uint(s, "response_bytes", e->response_bytes);
	if (e->protocol != EXCHANGE_TLS)
		net_arg_uint(s, "response_body", e->response_body);
	add_text(q, "proto", proto, proto == q->proto ? ARG_STRING : ARG_LITERAL);
	add_text(q, "side", q->is_client ? "client" : "server", ARG_LITERAL);
	add_ends(q);
	if (q->conn->sock.cookie)
		net_arg_uint(s, "connection", q->conn->sock.cookie);
	net_arg_uint(s, "index", q->layer->n_exchanges);
	if (q->layer->n_exchanges || q->conn->flags & CONN_BEFORE)
		net_arg_true(s, "reused");
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
}

/* ---- phases ---- */

/* Times that were not seen, or are in no order, become those of their neighbours. */
static uint64_t not_before(uint64_t time_ns, uint64_t earliest_ns)
{
	return time_ns > earliest_ns ? time_ns : earliest_ns;
}

/* What had to be done before the first request of a connection could be sent. */
static void add_setup(struct request *q)
{
	const struct net_conn *c = q->conn;
	const struct tls_handshake *h = c->handshake;
	uint64_t own_ns;

	if (!q->is_client || q->layer->n_exchanges || c->flags & CONN_BEFORE)
		return;
	/* What others have done for it may be older than its process. */
	if (q->tgid != c->tgid)
		return;
	own_ns = net_begin_in_life(c->enc, c->tgid, c->begin_ns, c->owned_ns);
	if (c->led && c->led->tgid == c->tgid &&
	    c->led->end_ns + DNS_BEFORE_CONNECT_NS > c->begin_ns)
		net_phase(&q->phases, "DNS", c->led->begin_ns, c->led->end_ns);
	if (c->connect_ns && c->established_ns)
		net_phase(&q->phases, "connect", not_before(c->connect_ns, own_ns),
			  c->established_ns);
	if (h && h->begin_ns && h->end_ns)
		net_phase(&q->phases, "TLS", not_before(h->begin_ns, own_ns), h->end_ns);
}

static void add_phases(struct request *q)
{
	const struct exchange *e = q->e;
	uint64_t sent_ns = not_before(e->request_end_ns, q->request_ns);
	uint64_t answered_ns =
		q->response_ns ? not_before(q->response_ns, q->request_ns) : q->end_ns;
	uint64_t busy_ns = q->layer->busy_ns;

	add_setup(q);
	if (!(e->flags & EXCHANGE_NO_REQUEST) && q->request_ns) {
		net_phase_always(&q->phases, q->is_client ? "send" : "receive", q->request_ns,
				 sent_ns < answered_ns ? sent_ns : answered_ns);
		/* Before it others had to be answered. */
		if (e->flags & EXCHANGE_PIPELINED && busy_ns > sent_ns)
			net_phase(&q->phases, "queue", sent_ns,
				  busy_ns < answered_ns ? busy_ns : answered_ns);
		net_phase(&q->phases, "wait", sent_ns, answered_ns);
	}
	if (q->response_ns)
		net_phase_always(&q->phases, q->is_client ? "receive" : "send", answered_ns,
				 q->end_ns);
}

/* Both ends of a request agree about when it went from one to the other. */
static void take_times(struct request *q)
{
	const struct exchange *e = q->e;
	struct net_layer *l = q->layer;

	q->request_ns = e->request_ns;
	q->response_ns = e->response_ns;
	if (q->request_ns)
		q->request_ns = q->is_client ? net_time_sent(l, e->request_off, e->request_ns)
					     : net_time_received(l, e->request_off, e->request_ns);
	if (q->response_ns)
		q->response_ns = q->is_client
					 ? net_time_received(l, e->response_off, e->response_ns)
					 : net_time_sent(l, e->response_off, e->response_ns);
}

static void fix_times(struct request *q)
{
	const struct exchange *e = q->e;
	uint64_t begin_ns = q->request_ns ? q->request_ns : q->response_ns;

	q->end_ns = not_before(e->response_end_ns, not_before(q->response_ns, e->request_end_ns));
	if (e->flags & (EXCHANGE_INCOMPLETE | EXCHANGE_CLOSED))
		q->end_ns = not_before(q->end_ns, q->layer->end_ns);
	add_phases(q);
	q->begin_ns = q->phases.n ? q->phases.list[0].begin_ns : begin_ns;
	/* Room for what lies within, the shortest of which has a nanosecond. */
	q->end_ns = not_before(q->end_ns, not_before(q->phases.cursor_ns, q->begin_ns + 1));
}

/* ---- flows ---- */

static uint64_t flow_of(const struct request *q)
{
	const struct net_inet *inet = &q->conn->sock.inet;
	struct {
		uint8_t client[16], server[16];
		uint16_t client_port, server_port;
		uint32_t pair;
		uint64_t off;
		uint32_t protocol, is_plain;
	} key;
	uint64_t id;

	if (!net_is_inet(&q->conn->sock) || q->e->flags & EXCHANGE_NO_REQUEST)
		return 0;
	memset(&key, 0, sizeof(key));
	memcpy(key.client, q->is_client ? inet->local : inet->peer, 16);
	memcpy(key.server, q->is_client ? inet->peer : inet->local, 16);
	key.client_port = q->is_client ? inet->local_port : inet->peer_port;
	key.server_port = q->is_client ? inet->peer_port : inet->local_port;
	key.pair = inet->pair;
	key.off = q->e->protocol == EXCHANGE_HTTP2 ? q->e->index : q->e->request_off;
	key.protocol = q->e->protocol;
	key.is_plain = q->layer->stream != NULL;
	id = hash_bytes(&key, sizeof(key), 0);
	return id ? id : 1;
}

static int write_threads(const struct request *q)
{
	const struct exchange *e = q->e;
	uint64_t slack_ns = q->layer->stream ? PLAIN_SLACK_NS : 0;
	struct net_thread_point p = {
		.name = q->is_client ? "request sent" : "request received",
		.time_ns = q->request_ns,
		.call_ns = e->request_ns,
		.tgid = e->request_tgid,
		.tid = e->request_tid,
		.sent = q->is_client,
		.flow_id = q->flow_id,
	};
	int r = 0;

	if (p.tid && p.time_ns)
		r = net_thread_write(q->conn, &p, slack_ns);
	p.name = q->is_client ? "response received" : "response sent";
	p.time_ns = q->response_ns;
	p.call_ns = e->response_ns;
	p.tgid = e->response_tgid;
	p.tid = e->response_tid;
	p.sent = !q->is_client;
	/* What is encrypted looks like an answer also when it was said before the request came. */
	if (e->protocol == EXCHANGE_TLS)
		p.flow_id = 0;
	return r == 0 && p.tid && p.time_ns ? net_thread_write(q->conn, &p, slack_ns) : r;
}

/* ---- all of it ---- */

static int write_request(struct request *q)
{
	struct net_conn *c = q->conn;
	struct net_encoder *enc = c->enc;
	bool is_tls = q->e->protocol == EXCHANGE_TLS;
	int r = 0;

	take_times(q);
	fix_times(q);
	trace_writer_time(enc->env.writer, q->begin_ns);
	q->slice.event.track = net_lane(enc,
					&(struct net_drawn){
						.tgid = q->tgid,
						.kind = NET_LANE_REQUESTS,
						.origin = q->origin,
						.last = &c->origin,
						.begin_ns = q->begin_ns,
						.end_ns = q->end_ns,
					},
					&r);
	if (!q->slice.event.track)
		return r;
	find_name(q);
	make_url(q);
	add_args(q);
	q->slice.event.category = is_tls ? "tls" : "http";
	q->slice.event.time_ns = q->begin_ns;
	q->slice.event.flow_id = q->flow_id;
	r = write_threads(q);
	if (r < 0)
		return r;
	r = net_slice_write(enc, &q->slice, &q->phases, is_tls ? "tls.phase" : "http.phase",
			    q->end_ns, c->n_events);
	c->n_events = 0;
	return r;
}

/* The first host that is asked for is what the connection is called, for good. */
static void take_host(struct net_conn *c, const char *host)
{
	if (!c->host && host[0])
		c->host = strdup(host); /* without memory it goes by its address */
}

int net_request_write(struct net_layer *l, const struct exchange *e)
{
	struct request q;
	char host[EXCHANGE_HOST_LEN];
	int r;

	memset(&q, 0, offsetof(struct request, slice.args));
	q.layer = l;
	q.conn = l->conn;
	q.e = e;
	host[0] = '\0';
	q.is_client = l->client_sends != l->is_reversed;
	q.tgid = e->request_tid ? e->request_tgid : e->response_tgid;
	q.tid = e->request_tid ? e->request_tid : e->response_tid;
	if (!q.tgid)
		q.tgid = l->conn->tgid;
	if (strcmp(e->method, "CONNECT") != 0)
		host_alone(e->host, host);
	if (q.is_client)
		take_host(l->conn, host);
	net_origin_name(l->conn, host, q.origin);
	/* An arrow has two ends, if there is a thread at one. */
	q.flow_id = e->request_tid || e->response_tid ? flow_of(&q) : 0;
	r = write_request(&q);
	l->n_exchanges++;
	if (e->response_end_ns > l->busy_ns)
		l->busy_ns = e->response_end_ns;
	return r;
}
