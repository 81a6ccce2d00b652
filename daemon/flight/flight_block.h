/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_block.h - pieces of a trace as a trace writer hands them out: one packet each, whose
 * compressed_packets are a block of packets.
 */
#ifndef FLIGHT_BLOCK_H
#define FLIGHT_BLOCK_H

#include <stddef.h>

#include "buf.h"
#include "wire.h"

/* `ret` is emptied first, and has the packets then. -EBADMSG: it is no such piece. */
int flight_block_inflate(const void *data, size_t len, struct buf *ret);
/* The piece of `packets`; `ret` is emptied first. */
int flight_block_deflate(const struct buf *packets, struct buf *ret);

/* The next packet of a block's: 1, 0 at the end, -EBADMSG. */
int flight_block_next(struct wire *w, struct wire_field *ret);

/* Appends one field of an enclosing message. */
int flight_put_bytes(struct buf *b, unsigned field, const void *data, size_t len);
int flight_put_number(struct buf *b, unsigned field, uint64_t value);

#endif
