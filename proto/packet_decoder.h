/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet_decoder.h - from the bytes of a packet to a TracePacket, for bytes
 * that nobody has checked.
 *
 * Compares the wire with the message types first. That bounds the depth and
 * the memory of protobuf-c's unpacking, and it sees what unpacking hides: the
 * importer takes a repeated field only in its declared form, packed or not,
 * while protobuf-c takes both.
 */
#ifndef PACKET_DECODER_H
#define PACKET_DECODER_H

#include <stddef.h>
#include <stdint.h>

#include "trace.pb-c.h"

enum wire_deviation {
	WIRE_UNKNOWN_FIELD = 1, /* not in our trace.proto */
	WIRE_NOT_PACKED,	/* declared packed, but written one by one */
	WIRE_PACKED,		/* declared one by one, but written packed */
	WIRE_WRONG_TYPE,	/* an integer where a message is declared, ... */
	WIRE_BROKEN,		/* a message whose fields do not fill its length */
	WIRE_TOO_DEEP,
};

/* `message` is the short name of its type. */
typedef void wire_deviation_fn(void *ctx, enum wire_deviation what, const char *message,
			       uint32_t field);

struct packet_decoder;

int packet_decoder_new(struct packet_decoder **ret);
void packet_decoder_free(struct packet_decoder *d); /* takes NULL */

/*
 * Calls `fn` (or not, if NULL) for every deviation. `*ret` lives until the next
 * call. -EBADMSG: broken or too deep to unpack; -E2BIG: unpacked it would take
 * more memory than any honest packet; -ENOMEM.
 */
int packet_decode(struct packet_decoder *d, const uint8_t *data, size_t len, wire_deviation_fn *fn,
		  void *ctx, const TracePacket **ret);

#endif
