/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_stream.h - what a parser of a protocol is given: the bytes of one connection, piece
 * by piece, as far as they were copied.
 *
 * A parser sees one connection from one end. It is told the direction of the
 * conversation, not of the calls: a client's send and a server's receive are both
 * requests. Pieces of a direction come in the order of their offsets; those of the two
 * directions in the order of time. What is missing (lost, or never copied) is a gap
 * between the end of one piece and the `off` of the next, or the part of a piece behind
 * its data. Parsers keep no piece, never read beyond `n_data`, and bear any bytes.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum net_direction { NET_REQUEST, NET_RESPONSE };

struct net_piece {
	uint64_t off;  /* of its first byte, in its direction */
	uint64_t len;  /* bytes that were moved, > 0 */
	size_t n_data; /* the first so many of them are known, <= len */
	const uint8_t *data;
	uint64_t time_ns;   /* CLOCK_BOOTTIME, when the call was over */
	uint32_t tgid, tid; /* whose call it was */
};

#endif
