/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_peers.c - connections whose both ends are on this machine, and which of two times
 * that two processes have seen is the right one.
 *
 * Times are those of the returns of calls. What is sent to another process of the machine
 * is often received there before the sender's call returns.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "net_encode_impl.h"

static uint64_t key_of(const struct net_inet *i, bool reversed)
{
	struct {
		uint8_t from[16], to[16];
		uint16_t from_port, to_port;
		uint32_t pair;
	} key;

	memset(&key, 0, sizeof(key));
	memcpy(key.from, reversed ? i->peer : i->local, 16);
	memcpy(key.to, reversed ? i->local : i->peer, 16);
	key.from_port = reversed ? i->peer_port : i->local_port;
	key.to_port = reversed ? i->local_port : i->peer_port;
	key.pair = i->pair;
	return hash_bytes(&key, sizeof(key), 0);
}

void net_peer_find(struct net_conn *c)
{
	const struct net_inet *i = &c->sock.inet;
	struct net_encoder *enc = c->enc;
	struct net_conn *peer;

	if (c->flags & CONN_PAIRED || c->sock.protocol != IPPROTO_TCP || !net_is_inet(&c->sock) ||
	    !i->pair || !i->local_port || !i->peer_port)
		return;
	/* Without memory for it nobody finds it: its times are as its own calls have them. */
	if (hash_set_u64(enc->ends, key_of(i, false), c) < 0)
		return;
	c->flags |= CONN_PAIRED;
	peer = hash_get_u64(enc->ends, key_of(i, true));
	if (!peer || peer == c || peer->peer)
		return;
	c->peer = peer;
	peer->peer = c;
}

static void left_clear(struct net_left *left)
{
	net_times_done(&left->heard);
	net_times_done(&left->told);
}

static void left_free(struct net_left *left)
{
	if (left)
		left_clear(left);
	free(left);
}

void net_peer_forget(struct net_conn *c)
{
	uint64_t key = key_of(&c->sock.inet, false);

	if (c->peer)
		c->peer->peer = NULL;
	c->peer = NULL;
	left_free(c->left[0]);
	left_free(c->left[1]);
	if (c->flags & CONN_PAIRED && hash_get_u64(c->enc->ends, key) == c)
		hash_remove_u64(c->enc->ends, key);
}

/* ---- times ---- */

void net_times_keep_many(struct net_times *t)
{
	uint32_t first = t->n > NET_FEW_TIMES ? t->n - NET_FEW_TIMES : 0;
	struct net_time *many = t->many ? NULL : malloc(NET_MANY_TIMES * sizeof(*many));

	if (!many)
		return;
	for (uint32_t i = first; i < t->n; i++)
		many[i % NET_MANY_TIMES] = t->few[i % NET_FEW_TIMES];
	t->many = many;
}

void net_times_done(struct net_times *t)
{
	free(t->many);
	t->many = NULL;
	t->n = 0;
}

size_t net_times_bytes(const struct net_times *t)
{
	return t->many ? NET_MANY_TIMES * sizeof(*t->many) : 0;
}

static struct net_time *time_at(const struct net_times *t, uint32_t i)
{
	return (struct net_time *)(t->many ? &t->many[i % NET_MANY_TIMES]
					   : &t->few[i % NET_FEW_TIMES]);
}

void net_times_add(struct net_times *t, uint64_t off, uint64_t len, uint64_t time_ns)
{
	*time_at(t, t->n++) = (struct net_time){ off, off + len, time_ns };
}

/* 0: not known. */
static uint64_t time_of(const struct net_times *t, uint64_t off)
{
	uint32_t room = t->many ? NET_MANY_TIMES : NET_FEW_TIMES;

	for (uint32_t i = t->n; i > 0 && t->n - i < room; i--) {
		const struct net_time *at = time_at(t, i - 1);

		if (at->off <= off && off < at->end)
			return at->time_ns;
	}
	return 0;
}

void net_peer_leave(struct net_layer *l)
{
	struct net_conn *peer = l->conn->peer;
	struct net_left **left = peer ? &peer->left[l->stream != NULL] : NULL;

	if (!left || l->heard.n + l->told.n == 0)
		return;
	if (!*left)
		*left = malloc(sizeof(**left));
	else
		left_clear(*left);
	if (!*left) /* the times are as its own calls have them */
		return;
	**left = (struct net_left){ l->heard, l->told };
	l->heard = l->told = (struct net_times){ 0 };
}

/* The other end of what is said, in the same kind of text. */
static const struct net_layer *other_end(const struct net_layer *l)
{
	const struct net_conn *peer = l->conn->peer;

	if (!peer)
		return NULL;
	if (!l->stream)
		return &peer->wire;
	return peer->stream ? &peer->stream->layer : NULL;
}

static uint64_t other_heard(const struct net_layer *l, uint64_t off)
{
	const struct net_left *left = l->conn->left[l->stream != NULL];
	const struct net_layer *other = other_end(l);

	return other ? time_of(&other->heard, off) : left ? time_of(&left->heard, off) : 0;
}

static uint64_t other_told(const struct net_layer *l, uint64_t off)
{
	const struct net_left *left = l->conn->left[l->stream != NULL];
	const struct net_layer *other = other_end(l);

	return other ? time_of(&other->told, off) : left ? time_of(&left->told, off) : 0;
}

uint64_t net_time_sent(struct net_layer *l, uint64_t off, uint64_t time_ns)
{
	uint64_t heard_ns = other_heard(l, off);

	if (heard_ns && heard_ns < time_ns)
		time_ns = heard_ns;
	net_times_add(&l->told, off, 1, time_ns);
	return time_ns;
}

uint64_t net_time_received(const struct net_layer *l, uint64_t off, uint64_t time_ns)
{
	uint64_t told_ns = other_told(l, off);

	return told_ns > time_ns ? told_ns : time_ns;
}
