/* SPDX-License-Identifier: Apache-2.0 */
/* net_slices.c - slices with phases in them; connections as such slices. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "cgroup.h"
#include "clock.h"
#include "collect/syscalls_names.h"
#include "net_encode_impl.h"

/* A connection that is over sooner has no counters of its own. */
#define SHOWN_FROM_NS NS_PER_SEC

/* ---- arguments ---- */

struct trace_arg *net_arg(struct net_slice *s, const char *name, enum trace_arg_type type)
{
	struct trace_arg *arg =
		&s->args[s->event.n_args < TRACE_MAX_ARGS ? s->event.n_args++ : TRACE_MAX_ARGS - 1];

	arg->name = name;
	arg->type = type;
	s->event.args = s->args;
	return arg;
}

void net_arg_uint(struct net_slice *s, const char *name, uint64_t v)
{
	net_arg(s, name, ARG_UINT)->u = v;
}

void net_arg_true(struct net_slice *s, const char *name)
{
	net_arg(s, name, ARG_BOOL)->u = 1;
}

void net_arg_string(struct net_slice *s, const char *name, const char *v)
{
	if (v && v[0])
		net_arg(s, name, ARG_STRING)->s = v;
}

/* ---- phases ---- */

void net_phase(struct net_phases *p, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns < p->cursor_ns)
		begin_ns = p->cursor_ns;
	if (p->limit_ns && end_ns > p->limit_ns)
		end_ns = p->limit_ns;
	if (begin_ns >= end_ns || p->n == NET_MAX_PHASES)
		return;
	p->list[p->n++] =
		(struct trace_inner){ .name = name, .begin_ns = begin_ns, .end_ns = end_ns };
	p->cursor_ns = end_ns;
}

void net_phase_always(struct net_phases *p, const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	if (begin_ns < p->cursor_ns)
		begin_ns = p->cursor_ns;
	net_phase(p, name, begin_ns, end_ns > begin_ns ? end_ns : begin_ns + 1);
}

int net_slice_write(struct net_encoder *enc, struct net_slice *s, struct net_phases *p,
		    const char *phase_category, uint64_t end_ns, unsigned n_events)
{
	for (size_t i = 0; i < p->n; i++)
		p->list[i].category = phase_category;
	return trace_slice_around(enc->env.writer, &s->event, end_ns, p->list, p->n, n_events);
}

/* ---- connections ---- */

static void add_handshake(struct net_slice *s, const struct tls_handshake *h)
{
	const char *cipher = h->has_cipher ? tls_cipher_name(h->cipher) : NULL;

	net_arg_string(s, "tls_version", tls_version_name(h->version));
	net_arg_string(s, "tls_cipher", cipher);
	net_arg_string(s, "sni", h->sni);
	net_arg_string(s, "alpn", h->alpn);
	net_arg_string(s, "alpn_offered", h->alpn_offered);
	if (h->resumed)
		net_arg_true(s, "tls_resumed");
	if (h->alert >= 0)
		net_arg_string(s, "tls_alert", tls_alert_name(h->alert));
}

static void add_quic(struct net_slice *s, const struct net_quic *q)
{
	net_arg_string(s, "protocol", "QUIC");
	net_arg_uint(s, "quic_version", q->version);
	net_arg_uint(s, "quic_destination_id_bytes", q->to_len);
	net_arg_uint(s, "quic_source_id_bytes", q->from_len);
}

/* Texts of a slice's arguments. */
struct texts {
	char remote[NET_ADDRESS_LEN], local[NET_ADDRESS_LEN], container[CGROUP_NAME_LEN];
};

static const char *role_name(enum net_role role)
{
	return role == NET_ROLE_SERVER ? "server" : role == NET_ROLE_CLIENT ? "client" : NULL;
}

/* As calls have moved them; where calls are not looked at, as TCP counts them. */
static void add_bytes(const struct net_conn *c, struct net_slice *s)
{
	uint64_t sent = c->sent - c->base_sent, received = c->received - c->base_received;

	if (c->enc->env.config->net_level == NET_HEALTH) {
		sent = c->tcp_sent - c->base_tcp_sent;
		received = c->tcp_received - c->base_tcp_received;
	}
	net_arg_uint(s, "bytes_sent", sent);
	net_arg_uint(s, "bytes_received", received);
}

static void describe(const struct net_conn *c, struct net_slice *s, struct texts *t,
		     bool unfinished)
{
	const char *from;

	net_arg_string(s, "side", role_name(c->sock.role));
	if (net_peer_text(&c->sock, t->remote))
		net_arg_string(s, "remote", t->remote);
	if (net_local_text(&c->sock, t->local))
		net_arg_string(s, "local", t->local);
	net_arg_uint(s, "connection", c->sock.cookie);
	net_arg_uint(s, "netns", c->sock.netns);
	if (cgroup_container(c->cgroup_id, t->container))
		net_arg_string(s, "container", t->container);
	if (!(c->flags & CONN_FAILED))
		add_bytes(c, s);
	if (c->retransmits > c->base_retransmits)
		net_arg_uint(s, "retransmits", c->retransmits - c->base_retransmits);
	if (c->rtt_us)
		net_arg_uint(s, "rtt_us", c->rtt_us);
	if (c->cwnd)
		net_arg_uint(s, "cwnd", c->cwnd);
	if (c->error)
		net_arg_string(s, "error", call_error(-(int64_t)c->error));
	else if (c->flags & CONN_RESET_RECEIVED)
		net_arg_string(s, "error", "reset by peer");
	else if (c->flags & CONN_RESET_SENT)
		net_arg_string(s, "error", "reset");
	if (c->handshake)
		add_handshake(s, c->handshake);
	if (c->quic.version)
		add_quic(s, &c->quic);
	if (c->sock.role != NET_ROLE_SERVER && net_conn_name(c, &from))
		net_arg_string(s, "name_from", from);
	if (c->flags & CONN_BEFORE)
		net_arg_true(s, "before");
	if (unfinished)
		net_arg_true(s, "unfinished");
}

static void add_phases(const struct net_conn *c, struct net_phases *p, uint64_t end_ns)
{
	const struct tls_handshake *h = c->handshake;
	uint64_t open_ns = c->established_ns;

	if (c->sock.protocol != IPPROTO_TCP || !net_is_inet(&c->sock) || c->flags & CONN_FAILED)
		return;
	if (c->connect_ns)
		net_phase(p, "connect", c->connect_ns, open_ns ? open_ns : end_ns);
	if (h && h->begin_ns)
		net_phase(p, "TLS", h->begin_ns,
			  h->end_ns	 ? h->end_ns
			  : h->failed_ns ? h->failed_ns
					 : end_ns);
	if (open_ns || c->flags & CONN_BEFORE)
		net_phase(p, "established", open_ns ? open_ns : c->begin_ns,
			  c->closing_ns ? c->closing_ns : end_ns);
	if (c->closing_ns)
		net_phase(p, "closing", c->closing_ns, end_ns);
}

static void add_reason(struct net_slice *s, const struct net_point *p)
{
	const char *name = p->reason ? net_reason_name(p->kind, p->reason) : NULL;

	if (name)
		net_arg_string(s, "reason", name);
	else if (p->reason)
		net_arg_uint(s, "reason", p->reason);
}

static int write_points(struct net_conn *c, uint64_t track, uint64_t begin_ns, uint64_t end_ns)
{
	static const char *const names[N_NET_TCP_KINDS] = {
		[NET_TCP_RETRANSMIT] = "retransmit",
		[NET_TCP_RESET_SENT] = "reset sent",
		[NET_TCP_RESET_RECEIVED] = "reset received",
		[NET_TCP_DROP] = "drop",
	};
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < c->n_points; i++) {
		const struct net_point *p = &c->points[i];
		struct net_slice s = {
			.event = {
				.track = track,
				.time_ns = p->time_ns,
				.name = names[p->kind],
				.category = "tcp",
			},
		};

		if (s.event.time_ns <= begin_ns)
			s.event.time_ns = begin_ns + 1;
		if (s.event.time_ns > end_ns)
			s.event.time_ns = end_ns;
		net_arg_uint(&s, "connection", c->sock.cookie);
		if (p->n > 1)
			net_arg_uint(&s, "segments", p->n);
		add_reason(&s, p);
		r = trace_instant(c->enc->env.writer, &s.event, 0);
	}
	return r;
}

static void name_failed(const struct net_conn *c, char *ret, size_t size)
{
	const char *error = call_error(-(int64_t)c->error);

	if (error)
		snprintf(ret, size, "connect failed %s", error);
	else if (c->flags & CONN_RESET_RECEIVED)
		snprintf(ret, size, "connect failed ECONNREFUSED");
	else
		snprintf(ret, size, "connect given up");
}

int net_connection_write(struct net_conn *c, uint64_t end_ns, bool unfinished)
{
	struct net_encoder *enc = c->enc;
	char origin[NET_ORIGIN_LEN], name[64] = "connection";
	struct net_phases phases = { 0 };
	struct net_slice s = {
		.event = {
			.name = name,
			.category = net_sock_kind(&c->sock),
			.correlation_id = c->sock.cookie,
		},
	};
	struct texts texts;
	int r;

	if (net_is_successor(enc, c->tgid, c->owned_ns))
		c->tgid = 0; /* nobody's that there is */
	c->begin_ns = net_begin_in_life(enc, c->tgid, c->begin_ns, c->owned_ns);
	s.event.time_ns = c->begin_ns;
	if (end_ns <= c->begin_ns)
		end_ns = c->begin_ns + 1;
	/* Of one that was there before nobody has said: servers' ports are the lower ones. */
	if (net_is_inet(&c->sock) && c->sock.role == NET_ROLE_UNKNOWN)
		c->sock.role = c->sock.inet.local_port >= c->sock.inet.peer_port ? NET_ROLE_CLIENT
										 : NET_ROLE_SERVER;
	net_origin_name(c, NULL, origin);
	trace_writer_time(enc->env.writer, c->begin_ns);
	s.event.track = net_lane(enc,
				 &(struct net_drawn){
					 .tgid = c->tgid,
					 .kind = NET_LANE_CONNECTIONS,
					 .origin = origin,
					 .last = &c->origin,
					 .begin_ns = c->begin_ns,
					 .end_ns = end_ns,
				 },
				 &r);
	if (!s.event.track) {
		trace_writer_skip(enc->env.writer, c->n_events);
		c->n_events = 0;
		return r;
	}
	if (c->flags & CONN_FAILED)
		name_failed(c, name, sizeof(name));
	describe(c, &s, &texts, unfinished);
	phases.cursor_ns = c->begin_ns;
	phases.limit_ns = end_ns; /* what was said may be read later */
	add_phases(c, &phases, end_ns);
	r = write_points(c, s.event.track, c->begin_ns, end_ns);
	if (r < 0)
		return r;
	r = net_slice_write(enc, &s, &phases, "tcp.phase", end_ns, c->n_events);
	c->n_events = 0;
	return r;
}

/* ---- counters of one connection ---- */

static int write_counter(struct net_conn *c, unsigned i, uint64_t time_ns, uint64_t value)
{
	static const struct {
		const char *name, *unit;
	} texts[2] = { { "rtt", "us" }, { "cwnd", "segments" } };

	if (!c->counters[i])
		c->counters[i] = net_counter_track(c, texts[i].name, texts[i].unit);
	if (!c->counters[i])
		return -ENOMEM;
	return trace_counter(c->enc->env.writer, c->counters[i], time_ns, (int64_t)value);
}

int net_sample_write(struct net_conn *c, uint64_t time_ns)
{
	int r = 0;

	if (c->tgid == 0 || time_ns < c->begin_ns + SHOWN_FROM_NS)
		return 0;
	if (c->rtt_us != c->shown_rtt_us)
		r = write_counter(c, 0, time_ns, c->rtt_us);
	if (r == 0 && c->cwnd != c->shown_cwnd)
		r = write_counter(c, 1, time_ns, c->cwnd);
	c->shown_rtt_us = c->rtt_us;
	c->shown_cwnd = c->cwnd;
	return r;
}
