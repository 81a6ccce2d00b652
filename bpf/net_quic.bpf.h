/* SPDX-License-Identifier: GPL-2.0 */
/*
 * net_quic.bpf.h - does a UDP socket carry QUIC? Its first packets say so in clear text:
 * an Initial has a version and the lengths of both connection ids (RFC 9000, 17.2.2;
 * version 2: RFC 9369). Nothing else of it is kept. A part of net.bpf.c.
 */
#ifndef NET_QUIC_BPF_H
#define NET_QUIC_BPF_H

#include "net_copy.bpf.h"

/* Of a socket's first so many messages; an Initial fills its datagram up to this at least. */
#define QUIC_MAX_TRIES 4
#define QUIC_MIN_LEN   1200

#define QUIC_VERSION_1 0x00000001
#define QUIC_VERSION_2 0x6b3343cf
/* Of the first byte: a long head, the fixed bit, and which packet it is. */
#define QUIC_KIND	0xf0
#define QUIC_INITIAL_1	0xc0
#define QUIC_INITIAL_2	0xd0
#define QUIC_MAX_ID_LEN 20

static __always_inline bool may_begin_quic(const struct net_count *c, __u32 len)
{
	return !c->quic.version && len >= QUIC_MIN_LEN &&
	       c->tx_messages + c->rx_messages < QUIC_MAX_TRIES;
}

/* The room's cursor is at the first byte of the message. */
static __always_inline void look_for_quic(struct net_room *room, struct net_count *c)
{
	__u8 *b = room->bytes, to_len, from_len;
	__u32 version;

	if (gather(room, 32) != 32)
		return;
	version = (__u32)b[1] << 24 | b[2] << 16 | b[3] << 8 | b[4];
	if ((version != QUIC_VERSION_1 || (b[0] & QUIC_KIND) != QUIC_INITIAL_1) &&
	    (version != QUIC_VERSION_2 || (b[0] & QUIC_KIND) != QUIC_INITIAL_2))
		return;
	to_len = b[5];
	if (to_len > QUIC_MAX_ID_LEN)
		return;
	from_len = b[(6 + to_len) & 31];
	if (from_len > QUIC_MAX_ID_LEN)
		return;
	c->quic.version = version == QUIC_VERSION_1 ? 1 : 2;
	c->quic.to_len = to_len;
	c->quic.from_len = from_len;
}

#endif
