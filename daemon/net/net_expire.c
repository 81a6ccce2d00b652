/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_expire.c - connections that are over: a little after they were closed, when nobody
 * will use them any more, and with the recording.
 */
#include <netinet/in.h>

#include "clock.h"
#include "net_encode_impl.h"
#include "process/process_table.h"

#define CLOSED_WAIT_NS (500 * NS_PER_MS)
/* A UDP socket's end is not told. */
#define UDP_IDLE_NS	   (15 * NS_PER_SEC)
#define EXPIRE_INTERVAL_NS NS_PER_SEC
/* One whose process has died, and which nobody else uses for so long. */
#define ORPHAN_IDLE_NS (2 * NS_PER_SEC)

static bool is_idle(const struct net_conn *c, uint64_t now_ns)
{
	return c->sock.protocol == IPPROTO_UDP && net_is_inet(&c->sock) &&
	       c->wire.kind == LAYER_DNS && c->last_ns + UDP_IDLE_NS < now_ns;
}

/* Nobody tells when a UNIX socket is closed, or one of UDP: at the latest with its process. */
static bool is_left_behind(const struct net_conn *c)
{
	const struct process *p = process_table_get(c->enc->env.processes, c->tgid);

	if (net_is_inet(&c->sock) && c->sock.protocol == IPPROTO_TCP)
		return false;
	return !p || p->free_ns || p->start_ns > c->owned_ns;
}

/* What it has asked was waited for as long as its process lived; else nothing is known. */
static uint64_t left_ns(const struct net_conn *c)
{
	const struct process *p = process_table_get(c->enc->env.processes, c->tgid);

	if (c->wire.kind != LAYER_DNS)
		return c->last_ns;
	if (!p || !is_left_behind(c))
		return c->enc->last_ns;
	return p->start_ns > c->owned_ns ? p->start_ns : p->free_ns;
}

/* Queries that nobody has answered are given up; sockets that have asked them are gone by then. */
static void expire(struct net_encoder *enc, uint64_t now_ns)
{
	struct net_conn *newer;

	if (now_ns < enc->expired_ns + EXPIRE_INTERVAL_NS)
		return;
	enc->expired_ns = now_ns;
	for (struct net_conn *c = enc->oldest; c; c = newer) {
		bool is_orphan =
			c->tgid && c->last_ns + ORPHAN_IDLE_NS < now_ns && is_left_behind(c);

		newer = c->newer;
		net_layer_expire(&c->wire, now_ns);
		if (is_orphan || is_idle(c, now_ns))
			net_conn_end(c, left_ns(c), EXCHANGE_CLOSED);
	}
}

static void end_last(struct net_conn *c)
{
	if (is_left_behind(c))
		net_conn_end(c, left_ns(c), EXCHANGE_CLOSED);
	else
		net_conn_end(c, c->enc->last_ns, EXCHANGE_INCOMPLETE);
}

void net_conns_flush(struct net_encoder *enc, uint64_t now_ns, bool final)
{
	while (enc->first_closed &&
	       (final || enc->first_closed->closed_ns + CLOSED_WAIT_NS < now_ns))
		net_conn_end(enc->first_closed, enc->first_closed->closed_ns, EXCHANGE_CLOSED);
	expire(enc, now_ns);
	/* A viewer shows what was not over as if it had ended with the recording. */
	while (final && enc->oldest)
		end_last(enc->oldest);
}
