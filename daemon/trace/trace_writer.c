/* SPDX-License-Identifier: Apache-2.0 */
/* trace_writer.c - packets, blocks and generations of one session's trace. */
#include "trace_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_packet.h"
#include "trace_writer_impl.h"

/*
 * libdeflate takes half the time of zlib at its level 2; its own next level takes 1.5
 * times as long as the first and finds 4 % more.
 */
#define DEFLATE_LEVEL 1

#define FLAG_CLEARED 1

#define FIELD_INTERNED_DATA	 12
#define FIELD_PREVIOUS_DROPPED	 42
#define FIELD_COMPRESSED_PACKETS 50
#define FIELD_DEFAULTS		 59
#define FIELD_FIRST_PACKET	 87

/* Of what is interned, without a sink. */
#define MAX_PENDING (64 * 1024)

int trace_writer_new(trace_sink_fn *sink, void *sink_ctx, struct trace_writer **ret)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->sink = sink;
	w->sink_ctx = sink_ctx;
	w->bulk.oldest_ns = w->essential.oldest_ns = UINT64_MAX;
	r = hash_new(&w->tracks);
	if (r < 0)
		goto fail;
	w->deflate = sink ? libdeflate_alloc_compressor(DEFLATE_LEVEL) : NULL;
	if (sink && !w->deflate) {
		r = -ENOMEM;
		goto fail;
	}
	*ret = w;
	return 0;

fail:
	trace_writer_free(w);
	return r;
}

void trace_writer_free(struct trace_writer *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < SEQ_MAX; i++) {
		buf_done(&w->sequences[i].pending);
		buf_done(&w->sequences[i].defaults);
		for (unsigned field = 0; field < INTERN_KINDS; field++)
			hash_free(w->sequences[i].ids[field]);
		free(w->sequences[i].frames);
		free(w->sequences[i].literals);
	}
	trace_tracks_done(w);
	trace_tap_done(w);
	trace_told_done(w);
	trace_places_done(&w->places);
	buf_done(&w->bulk.packets);
	buf_done(&w->essential.packets);
	buf_done(&w->out);
	libdeflate_free_compressor(w->deflate);
	free(w);
}

void trace_writer_source(struct trace_writer *w, unsigned source, uint64_t time_ns)
{
	w->source = source;
	w->time_ns = time_ns;
}

void trace_writer_time(struct trace_writer *w, uint64_t time_ns)
{
	w->time_ns = time_ns;
}

void trace_writer_skip(struct trace_writer *w, unsigned n_events)
{
	w->stats[w->source].n_skipped += n_events;
}

unsigned trace_writer_generation(const struct trace_writer *w)
{
	return w->generation;
}

void trace_writer_stats(const struct trace_writer *w, unsigned source,
			struct trace_writer_stats *ret)
{
	*ret = w->stats[source];
}

unsigned trace_writer_n_drops(const struct trace_writer *w)
{
	return w->n_drops;
}

uint64_t trace_writer_oldest(const struct trace_writer *w)
{
	return w->oldest_ns;
}

void trace_writer_set_sink(struct trace_writer *w, trace_sink_fn *sink, void *sink_ctx)
{
	w->sink = sink;
	w->sink_ctx = sink_ctx;
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return w->n_bytes;
}

int trace_append_field(struct buf *b, unsigned field, const void *data, size_t len)
{
	int r = buf_reserve(b, PACK_HEAD_MAX + len);

	if (r == 0)
		b->len = (size_t)(pack_bytes(b->data + b->len, field, data, len) - b->data);
	return r;
}

/* ---- blocks ---- */

/* Makes w->out one Trace.packet whose compressed_packets are the block's. */
static int compress_block(struct trace_writer *w, const struct trace_block *block)
{
	/* Lengths are known only afterwards: room for the two heads in front. */
	const size_t room = 2 * PACK_HEAD_MAX;
	size_t bound = libdeflate_zlib_compress_bound(w->deflate, block->packets.len);
	uint8_t head[PACK_HEAD_MAX], *at;
	size_t len, n;
	int r;

	w->out.len = 0;
	r = buf_reserve(&w->out, room + bound);
	if (r < 0)
		return r;
	len = libdeflate_zlib_compress(w->deflate, block->packets.data, block->packets.len,
				       w->out.data + room, bound);
	if (len == 0)
		return -EIO;

	n = (size_t)(pack_head(head, FIELD_COMPRESSED_PACKETS, len) - head);
	at = pack_head(w->out.data, PACKET_FIELD, n + len);
	memcpy(at, head, n);
	memmove(at + n, w->out.data + room, len);
	w->out.len = (size_t)(at + n - w->out.data) + len;
	return 0;
}

/* What was interned went down with the block: the next packets start anew. */
static void new_generation(struct trace_writer *w)
{
	for (unsigned i = 0; i < SEQ_MAX; i++) {
		struct trace_sequence_state *s = &w->sequences[i];

		if (trace_is_essential(i))
			continue;
		s->lost = s->lost || s->cleared;
		s->cleared = false;
		trace_intern_forget(s);
	}
	w->generation++;
	w->n_drops++;
}

static int hand_over(struct trace_writer *w, struct trace_block *block)
{
	int r = 0;

	if (w->sink)
		r = compress_block(w, block);
	if (w->sink && r == 0)
		r = w->sink(w->sink_ctx, w->out.data, w->out.len, block == &w->essential);
	return r;
}

static int close_block(struct trace_writer *w, struct trace_block *block)
{
	bool essential = block == &w->essential;
	int r;

	if (block->packets.len == 0)
		return 0;
	w->oldest_ns = block->oldest_ns;
	r = hand_over(w, block);
	if (r < 0 && (essential || r != -EAGAIN))
		return r;

	for (unsigned i = 0; i < MAX_COLLECTORS; i++) {
		if (r == 0)
			w->stats[i].n_written += block->n_events[i];
		else
			w->stats[i].n_dropped += block->n_events[i];
	}
	if (r == 0)
		w->n_bytes += w->out.len;
	else
		new_generation(w);
	if (!essential)
		trace_places_settle(&w->places, r == 0);
	block->packets.len = 0;
	block->oldest_ns = UINT64_MAX;
	memset(block->n_events, 0, sizeof(block->n_events));
	return 0;
}

/* What waits for a packet waits for ever where slices are only told. */
static void forget_pending(struct trace_writer *w)
{
	for (unsigned i = 0; i < SEQ_MAX; i++) {
		if (w->sequences[i].pending.len > MAX_PENDING) {
			new_generation(w);
			return;
		}
	}
}

/* Essential first: its descriptors and names must precede their users in the file. */
int trace_writer_flush(struct trace_writer *w)
{
	int r = close_block(w, &w->essential);

	if (!w->sink)
		forget_pending(w);
	return r < 0 ? r : close_block(w, &w->bulk);
}

bool trace_writer_is_full(const struct trace_writer *w)
{
	return w->bulk.packets.len >= TRACE_BLOCK_BYTES;
}

/* ---- packets ---- */

/* What the writer says of a packet: whose it is, and what a reader must know before. */
static uint8_t *put_own_fields(const struct trace_sequence_state *s, enum trace_sequence seq,
			       uint8_t *at)
{
	at = pack_number(at, PACKET_SEQUENCE_ID, seq);
	at = pack_number(at, PACKET_FLAGS, s->cleared ? PACKET_NEEDS : FLAG_CLEARED | PACKET_NEEDS);
	if (!s->cleared && !s->lost && !s->went_on)
		at = pack_number(at, FIELD_FIRST_PACKET, 1);
	if (s->lost)
		at = pack_number(at, FIELD_PREVIOUS_DROPPED, 1);
	return at;
}

/* What goes with it. The block may move. NULL: no memory. */
static uint8_t *put_state(struct trace_sequence_state *s, struct buf *packets, uint8_t *at)
{
	size_t begin = packets->len;
	int r;

	packets->len = (size_t)(at - packets->data);
	r = buf_reserve(packets, 2 * PACK_HEAD_MAX + s->pending.len + s->defaults.len);
	at = packets->data + packets->len;
	packets->len = begin;
	if (r < 0)
		return NULL;
	if (s->pending.len)
		at = pack_bytes(at, FIELD_INTERNED_DATA, s->pending.data, s->pending.len);
	if (!s->cleared && s->defaults.len)
		at = pack_bytes(at, FIELD_DEFAULTS, s->defaults.data, s->defaults.len);
	s->pending.len = 0;
	return at;
}

/* `end`: behind all of its fields. */
static int close_packet(struct trace_writer *w, enum trace_sequence seq, uint8_t *end,
			unsigned n_events)
{
	struct trace_sequence_state *s = &w->sequences[seq];
	struct trace_block *block = trace_block_of(w, seq);

	if (s->pending.len || !s->cleared)
		end = put_state(s, &block->packets, end);
	if (!end)
		return -ENOMEM;
	s->cleared = true;
	s->lost = false;
	trace_packet_close(w, block, end, n_events);
	return 0;
}

/* All tracks that a hand-made event is on. */
static int use_tracks(struct trace_writer *w, const TrackEvent *ev)
{
	int r = ev->has_track_uuid ? trace_track_use(w, ev->track_uuid) : 0;

	for (size_t i = 0; r == 0 && i < ev->n_extra_counter_track_uuids; i++)
		r = trace_track_use(w, ev->extra_counter_track_uuids[i]);
	for (size_t i = 0; r == 0 && i < ev->n_extra_double_counter_track_uuids; i++)
		r = trace_track_use(w, ev->extra_double_counter_track_uuids[i]);
	return r;
}

int trace_writer_add(struct trace_writer *w, enum trace_sequence seq, const TracePacket *pkt,
		     unsigned n_events)
{
	int r = pkt->track_event ? use_tracks(w, pkt->track_event) : 0;
	uint8_t *at;

	if (r == -ESTALE) {
		trace_writer_skip(w, n_events);
		return 0;
	}
	if (r < 0)
		return r;
	at = trace_packet_begin(w, seq, trace_packet__get_packed_size(pkt));
	if (!at)
		return -ENOMEM;
	if (pkt->has_timestamp)
		trace_note_time(trace_block_of(w, seq), pkt->timestamp);
	at = put_own_fields(&w->sequences[seq], seq, at + trace_packet__pack(pkt, at));
	return close_packet(w, seq, at, n_events);
}

int trace_packet_after(struct trace_writer *w, enum trace_sequence seq)
{
	int r = 0;

	if (w->essential.packets.len >= TRACE_BLOCK_BYTES)
		r = close_block(w, &w->essential);
	if (r == 0 && !trace_is_essential(seq) && w->bulk.packets.len >= 2 * TRACE_BLOCK_BYTES)
		r = trace_writer_flush(w);
	return r;
}

/*
 * An essential packet never closes the bulk block: somebody may have interned
 * something for a packet to come, and closing can start a new generation.
 */
int trace_writer_put(struct trace_writer *w, enum trace_sequence seq, const TracePacket *pkt,
		     unsigned n_events)
{
	int r = trace_writer_add(w, seq, pkt, n_events);

	return r < 0 ? r : trace_packet_after(w, seq);
}

int trace_packet_end_with(struct trace_writer *w, enum trace_sequence seq, uint8_t *end,
			  uint64_t time_ns, unsigned n_events)
{
	end = put_own_fields(&w->sequences[seq], seq, end);
	return close_packet(w, seq, pack_number(end, PACKET_TIMESTAMP, time_ns), n_events);
}

int trace_writer_set_defaults(struct trace_writer *w, enum trace_sequence seq,
			      const TracePacketDefaults *defaults)
{
	struct buf *b = &w->sequences[seq].defaults;
	int r;

	b->len = 0;
	r = buf_reserve(b, trace_packet_defaults__get_packed_size(defaults));
	if (r < 0)
		return r;
	b->len = trace_packet_defaults__pack(defaults, b->data);
	return 0;
}
