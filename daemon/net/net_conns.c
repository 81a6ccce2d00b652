/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_conns.c - connections by their socket's cookie, from the first sign of them to the
 * last. One that has closed waits a little: what is read of it then has its record later.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "net_encode_impl.h"

/* ---- lists ---- */

static void list_add(struct net_conn **first, struct net_conn **last, struct net_conn *c)
{
	c->older = *last;
	c->newer = NULL;
	if (*last)
		(*last)->newer = c;
	else
		*first = c;
	*last = c;
}

static void list_remove(struct net_conn **first, struct net_conn **last, struct net_conn *c)
{
	if (c->older)
		c->older->newer = c->newer;
	else
		*first = c->newer;
	if (c->newer)
		c->newer->older = c->older;
	else
		*last = c->older;
}

static void unlist(struct net_conn *c)
{
	struct net_encoder *enc = c->enc;

	if (c->flags & CONN_CLOSED)
		list_remove(&enc->first_closed, &enc->last_closed, c);
	else
		list_remove(&enc->oldest, &enc->newest, c);
}

static void touch(struct net_conn *c)
{
	struct net_encoder *enc = c->enc;

	if (c->flags & CONN_CLOSED || enc->newest == c)
		return;
	list_remove(&enc->oldest, &enc->newest, c);
	list_add(&enc->oldest, &enc->newest, c);
}

/* ---- begin and end ---- */

static void conn_free(struct net_conn *c)
{
	struct net_encoder *enc = c->enc;

	unlist(c);
	net_peer_forget(c);
	net_dns_forget(c);
	if (!(c->flags & CONN_GHOST))
		hash_remove_u64(enc->conns, c->sock.cookie);
	net_stream_free(enc, c->stream);
	net_layer_free(enc, &c->wire);
	net_marks_free(c);
	free(c->points);
	free(c->handshake);
	free(c->led);
	free(c->host);
	if (c->said)
		trace_packed_done(&c->said->packed);
	free(c->said);
	free(c);
	enc->n_conns--;
}

/* Is there anything to show that is not in its requests? */
static bool is_shown(const struct net_conn *c)
{
	if (c->flags & CONN_GHOST)
		return false;
	if (!net_is_inet(&c->sock) || c->sock.protocol == IPPROTO_TCP)
		return true;
	/* A socket that asks for names, or serves them, is no connection; nor one that waits. */
	return c->wire.kind != LAYER_DNS &&
	       (c->sock.inet.peer_port || c->sent > c->base_sent || c->received > c->base_received);
}

void net_conn_end(struct net_conn *c, uint64_t time_ns, uint32_t flag)
{
	struct net_encoder *enc = c->enc;
	bool unfinished = flag == EXCHANGE_INCOMPLETE;
	bool shown = is_shown(c);
	int r = 0;

	net_stream_end(enc, c->stream, time_ns, flag);
	net_layer_end(&c->wire, time_ns, flag);
	net_note_error(enc, net_marks_end(c));
	if (shown)
		r = net_connection_write(c, time_ns, unfinished);
	else if (c->n_events)
		trace_writer_skip(enc->env.writer, c->n_events);
	net_note_error(enc, r);
	conn_free(c);
}

static void make_room(struct net_encoder *enc)
{
	if (enc->n_conns < NET_MAX_CONNS)
		return;
	if (enc->first_closed) {
		net_conn_end(enc->first_closed, enc->first_closed->closed_ns, EXCHANGE_CLOSED);
	} else {
		enc->over[NET_BOUND_CONNS]++;
		net_conn_end(enc->oldest, enc->oldest->last_ns, EXCHANGE_INCOMPLETE);
	}
}

static struct net_conn *conn_new(struct net_encoder *enc, const struct net_sock *sock,
				 const struct event_hdr *hdr, uint32_t flags)
{
	char container[CGROUP_NAME_LEN];
	struct net_conn *c;

	make_room(enc);
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->enc = enc;
	c->sock = *sock;
	c->flags = flags;
	c->begin_ns = c->last_ns = hdr->time_ns;
	c->wire.conn = c;
	c->wire.client_sends = sock->role != NET_ROLE_SERVER;
	if (!(flags & CONN_GHOST) && hash_set_u64(enc->conns, sock->cookie, c) < 0) {
		free(c);
		return NULL;
	}
	list_add(&enc->oldest, &enc->newest, c);
	enc->n_conns++;
	/* While it can be found out; it is remembered. */
	(void)cgroup_container(hdr->cgroup_id, container);
	return c;
}

struct net_conn *net_ghost_new(struct net_encoder *enc, const struct net_sock *sock,
			       const struct event_hdr *hdr)
{
	struct net_conn *c = conn_new(enc, sock, hdr, CONN_GHOST);

	if (!c)
		return NULL;
	c->tgid = hdr->tgid;
	c->owned_ns = hdr->time_ns;
	return c;
}

struct net_conn *net_conn_find(struct net_encoder *enc, uint64_t cookie)
{
	return hash_get_u64(enc->conns, cookie);
}

/* What was not known of the socket, or has become so. */
static void learn(struct net_conn *c, const struct net_sock *sock, const struct event_hdr *hdr)
{
	struct net_inet *inet = &c->sock.inet;

	if (c->tgid == 0 && hdr->tgid) {
		c->tgid = hdr->tgid;
		c->tid = hdr->tid;
		c->owned_ns = hdr->time_ns;
	}
	if (c->cgroup_id == 0)
		c->cgroup_id = hdr->cgroup_id;
	if (c->sock.role == NET_ROLE_UNKNOWN && sock->role) {
		c->sock.role = sock->role;
		if (c->wire.kind == LAYER_NONE)
			c->wire.client_sends = sock->role == NET_ROLE_CLIENT;
	}
	if (!net_is_inet(sock)) {
		if (!c->sock.unix_sock.path_len)
			c->sock.unix_sock = sock->unix_sock;
		return;
	}
	/* The local end is chosen while it connects; a closed one has none any more. */
	if (sock->inet.local_port && !inet->local_port) {
		inet->local_port = sock->inet.local_port;
		memcpy(inet->local, sock->inet.local, sizeof(inet->local));
	}
	if (sock->inet.peer_port && !inet->peer_port) {
		inet->peer_port = sock->inet.peer_port;
		memcpy(inet->peer, sock->inet.peer, sizeof(inet->peer));
	}
	if (sock->inet.pair)
		inet->pair = sock->inet.pair;
}

struct net_conn *net_conn_of(struct net_encoder *enc, const struct net_sock *sock,
			     const struct event_hdr *hdr, bool is_event, bool *ret_new)
{
	struct net_conn *c = sock->cookie ? net_conn_find(enc, sock->cookie) : NULL;

	*ret_new = !c;
	if (!c && sock->cookie)
		c = conn_new(enc, sock, hdr, 0);
	if (!c) {
		trace_writer_skip(enc->env.writer, is_event);
		return NULL;
	}
	learn(c, sock, hdr);
	touch(c);
	c->n_events += is_event;
	if (hdr->time_ns > c->last_ns)
		c->last_ns = hdr->time_ns;
	return c;
}

void net_conn_io(struct net_conn *c, const struct net_io_event *ev, bool is_new)
{
	bool sent = ev->flags & NET_SENT;

	if (is_new && !(ev->flags & NET_DATAGRAM) && (ev->off || ev->flags & NET_STALE)) {
		c->flags |= CONN_BEFORE;
		c->begin_ns = c->enc->env.start_ns;
	}
	if (ev->len == 0)
		return;
	net_peer_find(c);
	*(sent ? &c->sent : &c->received) += ev->len;
	net_note_error(c->enc, net_count(c->enc, ev->hdr.tgid, ev->hdr.time_ns, sent ? ev->len : 0,
					 sent ? 0 : ev->len));
}

/* ---- what TCP does ---- */

static void add_point(struct net_conn *c, const struct net_tcp_event *ev, uint32_t n)
{
	struct net_point *p;

	if (c->n_points >= NET_MAX_POINTS) {
		c->enc->over[NET_BOUND_POINTS]++;
		return;
	}
	/* Room for 1, 2, 4, ...: few connections have any. */
	if ((c->n_points & (c->n_points - 1)) == 0) {
		size_t room = c->n_points ? 2 * c->n_points : 1;

		p = realloc(c->points, room * sizeof(*p));
		if (!p) {
			net_note_error(c->enc, -ENOMEM);
			return;
		}
		c->points = p;
	}
	c->points[c->n_points++] = (struct net_point){ ev->hdr.time_ns, ev->kind, ev->reason, n };
}

static void close_tcp(struct net_conn *c, const struct net_tcp_event *ev)
{
	struct net_encoder *enc = c->enc;

	if (c->flags & CONN_CLOSED)
		return;
	if (ev->old_state == TCP_SYN_SENT)
		c->flags |= CONN_FAILED;
	unlist(c);
	c->flags |= CONN_CLOSED;
	c->closed_ns = ev->hdr.time_ns;
	list_add(&enc->first_closed, &enc->last_closed, c);
}

/*
 * What was sent counts again what was sent again; what was acknowledged, the SYN and FIN.
 * Without retransmits the one is exact, with them the other is within two bytes.
 */
static uint64_t tcp_sent(const struct net_tcp_event *ev)
{
	bool again = ev->total_retrans && ev->bytes_acked < ev->bytes_sent;

	return again ? ev->bytes_acked : ev->bytes_sent;
}

/* It was met in the listing first, but its beginning is told of as well. */
static void begin_anew(struct net_conn *c, const struct event_hdr *hdr)
{
	if (!(c->flags & CONN_BEFORE))
		return;
	c->flags &= ~(uint32_t)CONN_BEFORE;
	c->begin_ns = hdr->time_ns;
	if (hdr->tgid == c->tgid && c->owned_ns > hdr->time_ns)
		c->owned_ns = hdr->time_ns;
	c->sent -= c->base_sent;
	c->received -= c->base_received;
	c->base_sent = c->base_received = 0;
	c->base_tcp_sent = c->base_tcp_received = 0;
	c->base_retransmits = 0;
}

/* One that was there, and of which nobody has told. */
static void find_late(struct net_conn *c, const struct net_tcp_event *ev)
{
	c->flags |= CONN_BEFORE;
	c->begin_ns = c->enc->env.start_ns;
	c->base_retransmits = c->retransmits = ev->total_retrans;
	c->base_tcp_sent = tcp_sent(ev);
	c->base_tcp_received = ev->bytes_received;
}

static void take_state(struct net_conn *c, const struct net_tcp_event *ev, bool is_new)
{
	uint64_t time_ns = ev->hdr.time_ns;

	switch (ev->new_state) {
	case TCP_SYN_SENT:
		begin_anew(c, &ev->hdr);
		c->connect_ns = time_ns;
		c->sock.role = NET_ROLE_CLIENT;
		c->wire.client_sends = true;
		net_dns_led(c);
		return;
	case TCP_ESTABLISHED:
		if (ev->old_state == TCP_SYN_RECV)
			begin_anew(c, &ev->hdr);
		if (!c->established_ns)
			c->established_ns = time_ns;
		return;
	case TCP_SYN_RECV:
		return;
	case TCP_CLOSE:
		close_tcp(c, ev);
		break;
	default:
		break;
	}
	if (is_new)
		find_late(c, ev);
	if (!c->closing_ns && ev->old_state != TCP_SYN_SENT)
		c->closing_ns = time_ns;
}

/* The kernel's numbers only grow, but for those of records that come late. */
static void take_totals(struct net_conn *c, const struct net_tcp_event *ev)
{
	if (ev->total_retrans > c->retransmits)
		c->retransmits = ev->total_retrans;
	if (tcp_sent(ev) > c->tcp_sent)
		c->tcp_sent = tcp_sent(ev);
	if (ev->bytes_received > c->tcp_received)
		c->tcp_received = ev->bytes_received;
	if (ev->srtt_us)
		c->rtt_us = ev->srtt_us;
	if (ev->cwnd)
		c->cwnd = ev->cwnd;
	if (ev->error)
		c->error = ev->error;
}

void net_conn_tcp(struct net_conn *c, const struct net_tcp_event *ev, bool is_new)
{
	uint32_t retransmits = c->retransmits;

	if (is_new && ev->kind != NET_TCP_STATE)
		find_late(c, ev);
	take_totals(c, ev);
	switch (ev->kind) {
	case NET_TCP_STATE:
		take_state(c, ev, is_new);
		break;
	case NET_TCP_RETRANSMIT:
		add_point(c, ev, c->retransmits > retransmits ? c->retransmits - retransmits : 1);
		break;
	case NET_TCP_RESET_SENT:
		c->flags |= CONN_RESET_SENT;
		add_point(c, ev, 1);
		break;
	case NET_TCP_RESET_RECEIVED:
		c->flags |= CONN_RESET_RECEIVED;
		add_point(c, ev, 1);
		break;
	case NET_TCP_DROP:
		add_point(c, ev, 1);
		break;
	default: /* a sample: its numbers are all there is */
		net_note_error(c->enc, net_sample_write(c, ev->hdr.time_ns));
		break;
	}
}

/* ---- sockets without payload, and those that exist ---- */

static void count_messages(struct net_conn *c, const struct net_bytes_event *ev)
{
	uint64_t sent = ev->tx_bytes > c->sent ? ev->tx_bytes - c->sent : 0;
	uint64_t received = ev->rx_bytes > c->received ? ev->rx_bytes - c->received : 0;

	c->sent += sent;
	c->received += received;
	net_note_error(c->enc, net_count(c->enc, ev->hdr.tgid, ev->hdr.time_ns, sent, received));
}

/* A socket that there is: one that nobody has met before was there already. */
static void take_existing(struct net_conn *c, const struct net_bytes_event *ev)
{
	c->flags |= CONN_BEFORE;
	c->begin_ns = c->enc->env.start_ns;
	c->base_sent = c->sent = ev->tx_bytes;
	c->base_received = c->received = ev->rx_bytes;
}

void net_conn_bytes(struct net_conn *c, const struct net_bytes_event *ev, bool is_new)
{
	bool is_tcp = net_is_inet(&ev->sock) && ev->sock.protocol == IPPROTO_TCP;
	bool is_listed = ev->hdr.type == NET_SOCK;

	if (!c->quic.version)
		c->quic = ev->quic;
	if (is_listed && is_new && (is_tcp || ev->first_ns <= c->enc->env.start_ns))
		take_existing(c, ev);
	if (is_listed && (is_new ? c->flags & CONN_BEFORE : is_tcp))
		return;
	if (is_new) {
		uint64_t start_ns = c->enc->env.start_ns;

		c->begin_ns = ev->first_ns > start_ns ? ev->first_ns : start_ns;
		if (ev->first_ns < start_ns)
			c->flags |= CONN_BEFORE;
	}
	count_messages(c, ev);
}

void net_conns_free(struct net_encoder *enc)
{
	while (enc->first_closed)
		conn_free(enc->first_closed);
	while (enc->oldest)
		conn_free(enc->oldest);
	hash_free(enc->conns);
	hash_free(enc->streams);
	hash_free(enc->ends);
}
