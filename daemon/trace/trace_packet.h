/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_packet.h - packets that are packed where they stay, in the writer's block: for slices
 * and samples, of which there are hundreds of thousands a second.
 */
#ifndef TRACE_PACKET_H
#define TRACE_PACKET_H

#include <errno.h>

#include "trace_pack.h"
#include "trace_writer_impl.h"

/* Of Trace, and of TracePacket. */
#define PACKET_FIELD	   1
#define PACKET_TIMESTAMP   8
#define PACKET_SEQUENCE_ID 10
#define PACKET_FLAGS	   13

#define PACKET_NEEDS 2 /* of the flags: what was interned before */

#define PACKET_KEY_LEN 1
/* What every packet has: its sequence's id, flags and time; and twice as much, some. */
#define PACKET_OWN_USUAL 12
#define PACKET_OWN_MAX	 (5 * PACK_NUMBER_MAX)

/*
 * Input of one compressed block, a stream of zlib's format. From 64 KiB on there is
 * nothing more to gain; a reader that finds the file cut loses at most one block.
 */
#define TRACE_BLOCK_BYTES (128 * 1024)

static inline bool trace_is_essential(enum trace_sequence seq)
{
	return seq == SEQ_META || seq == SEQ_PROCESSES || seq == SEQ_TRACKS;
}

static inline struct trace_block *trace_block_of(struct trace_writer *w, enum trace_sequence seq)
{
	return trace_is_essential(seq) ? &w->essential : &w->bulk;
}

static inline void trace_note_time(struct trace_block *block, uint64_t time_ns)
{
	if (time_ns < block->oldest_ns)
		block->oldest_ns = time_ns;
}

/*
 * The place for fields of `len` bytes at the most. NULL: no memory. Nothing else may be put before
 * the packet ends, and until then it is not there.
 */
static inline uint8_t *trace_packet_begin(struct trace_writer *w, enum trace_sequence seq,
					  size_t len)
{
	struct buf *packets = &trace_block_of(w, seq)->packets;

	if (buf_reserve(packets, PACK_HEAD_MAX + len + PACKET_OWN_MAX) < 0)
		return NULL;
	w->length_room = pack_varint_len(len + PACKET_OWN_USUAL);
	return packets->data + packets->len + PACKET_KEY_LEN + w->length_room;
}

static inline void trace_packet_close(struct trace_writer *w, struct trace_block *block,
				      uint8_t *end, unsigned n_events)
{
	struct buf *packets = &block->packets;
	uint8_t *length = pack_key(packets->data + packets->len, PACKET_FIELD, WIRE_BYTES);

	packets->len = (size_t)(pack_length(length, w->length_room, end) - packets->data);
	block->n_events[w->source] += n_events;
}

/* With what a reader must know before, which is seldom. */
int trace_packet_end_with(struct trace_writer *w, enum trace_sequence seq, uint8_t *end,
			  uint64_t time_ns, unsigned n_events);

/*
 * `end`: behind the fields. The time comes last: what packets have in common is in one piece then,
 * from the time's upper bytes on to the next one's fields. A compressor finds longer pieces so,
 * and sooner.
 */
static inline int trace_packet_end(struct trace_writer *w, enum trace_sequence seq, uint8_t *end,
				   uint64_t time_ns, unsigned n_events)
{
	const struct trace_sequence_state *s = &w->sequences[seq];
	struct trace_block *block = trace_block_of(w, seq);

	trace_note_time(block, time_ns);
	if (s->pending.len || !s->cleared)
		return trace_packet_end_with(w, seq, end, time_ns, n_events);
	end = pack_number(end, PACKET_SEQUENCE_ID, seq);
	end = pack_number(end, PACKET_FLAGS, PACKET_NEEDS);
	end = pack_number(end, PACKET_TIMESTAMP, time_ns);
	trace_packet_close(w, block, end, n_events);
	return 0;
}

/* Closes blocks that are full; to be called when no packet follows that must be in the same one. */
int trace_packet_after(struct trace_writer *w, enum trace_sequence seq);

#endif
