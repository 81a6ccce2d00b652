/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_streams.c - clear text of TLS libraries, and which connection it is of.
 *
 * A stream is known by the library's handle, its connection by what BPF has seen around
 * the calls; it may be known late, or never: then the stream has a connection of its own
 * that has no addresses. Handles are used again.
 */
#include <stdlib.h>

#include "net_encode_impl.h"

void net_stream_free(struct net_encoder *enc, struct net_stream *s)
{
	if (!s)
		return;
	s->conn->stream = NULL;
	net_layer_free(enc, &s->layer);
	hash_remove(enc->streams, &s->key, sizeof(s->key));
	free(s);
}

void net_stream_end(struct net_encoder *enc, struct net_stream *s, uint64_t time_ns, uint32_t flag)
{
	if (!s)
		return;
	net_layer_end(&s->layer, time_ns, flag);
	net_stream_free(enc, s);
}

static struct net_stream *stream_new(struct net_encoder *enc, const struct net_plain_event *ev,
				     struct net_conn *c)
{
	bool fits = hash_count(enc->streams) < NET_MAX_STREAMS;
	struct net_stream *s = fits ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	s->key.handle = ev->stream;
	s->key.tgid = ev->hdr.tgid;
	s->conn = s->layer.conn = c;
	s->layer.stream = s;
	if (hash_set(enc->streams, &s->key, sizeof(s->key), s) < 0) {
		free(s);
		return NULL;
	}
	net_stream_end(enc, c->stream, ev->hdr.time_ns, EXCHANGE_CLOSED);
	c->stream = s;
	return s;
}

/* The handle is another stream's by now. */
static bool is_reused(const struct net_stream *s, const struct net_plain_event *ev)
{
	enum net_direction dir =
		!!(ev->flags & NET_SENT) == s->layer.client_sends ? NET_REQUEST : NET_RESPONSE;
	bool moved = ev->sock.cookie && !(s->conn->flags & CONN_GHOST) &&
		     ev->sock.cookie != s->conn->sock.cookie;

	return moved || (ev->len && ev->off == 0 && s->layer.next[dir] > 0);
}

/* The connection of what had none has become known. */
static void move(struct net_stream *s, struct net_conn *to, uint64_t time_ns)
{
	struct net_conn *ghost = s->conn;

	net_stream_end(to->enc, to->stream, time_ns, EXCHANGE_CLOSED);
	ghost->stream = NULL;
	to->n_events += ghost->n_events;
	ghost->n_events = 0;
	s->conn = s->layer.conn = to;
	to->stream = s;
	net_conn_end(ghost, time_ns, EXCHANGE_CLOSED);
}

static struct net_stream *stream_of(struct net_encoder *enc, const struct net_plain_event *ev)
{
	struct {
		uint64_t handle;
		uint32_t tgid, pad;
	} key = { .handle = ev->stream, .tgid = ev->hdr.tgid };
	struct net_stream *s = hash_get(enc->streams, &key, sizeof(key));
	struct net_conn *c = NULL;
	bool is_new;

	if (s && is_reused(s, ev)) {
		struct net_conn *old = s->conn;

		net_stream_end(enc, s, ev->hdr.time_ns, EXCHANGE_CLOSED);
		if (old->flags & CONN_GHOST)
			net_conn_end(old, ev->hdr.time_ns, EXCHANGE_CLOSED);
		s = NULL;
	}
	if (ev->sock.cookie)
		c = net_conn_of(enc, &ev->sock, &ev->hdr, true, &is_new);
	else if (s)
		c = s->conn;
	else
		c = net_ghost_new(enc, &ev->sock, &ev->hdr);
	if (!c)
		return NULL;
	/* A new connection may have taken the place of the one that it was of. */
	s = hash_get(enc->streams, &key, sizeof(key));
	if (!ev->sock.cookie)
		c->n_events++;
	if (s && s->conn != c)
		move(s, c, ev->hdr.time_ns);
	return s ? s : stream_new(enc, ev, c);
}

void net_stream_plain(struct net_encoder *enc, const struct net_plain_event *ev)
{
	const struct net_record rec = { &ev->hdr,     ev->off,	  ev->len, ev->flags,
					ev->protocol, ev->n_runs, ev->data };
	struct net_stream *s = stream_of(enc, ev);

	if (!s) {
		enc->over[NET_BOUND_CONNS]++;
		return;
	}
	if (ev->link)
		s->link = ev->link;
	net_layer_take(&s->layer, &rec);
}
