/* SPDX-License-Identifier: Apache-2.0 */
/*
 * written_trace.h - what a trace writer hands to its sink, kept and read again,
 * for tests. A trace begins as the daemon's do, so that it can be checked.
 */
#ifndef WRITTEN_TRACE_H
#define WRITTEN_TRACE_H

#include "buf.h"
#include "trace_check.h"
#include "trace_writer.h"

#define WRITTEN_SOURCE 3 /* of the events, unless a test says otherwise */

struct written {
	struct trace_writer *writer;
	struct buf file; /* what the sink has taken */
	unsigned n_blocks;
	bool refuse_bulk, refuse_all; /* -EAGAIN */
	int fail;		      /* another error, or 0 */

	/* After written_read(). */
	TracePacket **packets;
	size_t n;
};

void written_open(struct written *w); /* a writer, and the head of a trace */
void written_done(struct written *w);

/* Flushes, and reads all packets from the start. */
void written_read(struct written *w);
/* Asserts that this many events were written or left out, and none lost. */
void written_assert_account(const struct written *w, uint64_t n_events);
/* Asserts that the check of what was written finds nothing. */
void written_assert_good(struct written *w);

/* Packets of a sequence after written_read(), by number; NULL: fewer. */
const TracePacket *written_packet(const struct written *w, enum trace_sequence seq, size_t i);

/* Tracks after written_read(), by uuid or by name and the uuid above; NULL: not described. */
#define WRITTEN_ANYWHERE UINT64_MAX
const TrackDescriptor *written_track(const struct written *w, uint64_t uuid);
const TrackDescriptor *written_track_named(const struct written *w, const char *name,
					   uint64_t parent);

size_t written_count(const struct written *w, enum trace_sequence seq);

#endif
