/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_requests.c - one request and its response, one slice in a lane of its origin, with
 * what the time went to in it; and where in the program it came from.
 *
 * A flow goes from the thread that sends it to the request, to the request of the process
 * that serves it and its threads, and back. Its id is made of what both ends know.
 */
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "net_request.h"

/* A name that was looked up longer before than that was not looked up for this connection. */
#define DNS_BEFORE_CONNECT_NS NS_PER_SEC
/* The calls of a TLS library surround those of its socket. */
#define PLAIN_SLACK_NS (5 * NS_PER_MS)

/* ---- phases ---- */

/* Times that were not seen, or are in no order, become those of their neighbours. */
static uint64_t not_before(uint64_t time_ns, uint64_t earliest_ns)
{
	return time_ns > earliest_ns ? time_ns : earliest_ns;
}

/* What had to be done before the first request of a connection could be sent. */
static void add_setup(struct net_request *q)
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

static void add_phases(struct net_request *q)
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
static void take_times(struct net_request *q)
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

static void fix_times(struct net_request *q)
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

static uint64_t flow_of(const struct net_request *q)
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

static int write_threads(const struct net_request *q)
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

static int write_request(struct net_request *q)
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
	net_request_describe(q);
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
	struct net_request q;
	char host[EXCHANGE_HOST_LEN];
	int r;

	memset(&q, 0, offsetof(struct net_request, slice.args));
	q.layer = l;
	q.conn = l->conn;
	q.e = e;
	q.is_client = l->client_sends != l->is_reversed;
	q.tgid = e->request_tid ? e->request_tgid : e->response_tgid;
	q.tid = e->request_tid ? e->request_tid : e->response_tid;
	if (!q.tgid)
		q.tgid = l->conn->tgid;
	net_request_host(e, host);
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
