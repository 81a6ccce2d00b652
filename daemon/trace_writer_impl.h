/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_writer_impl.h - the insides of a trace writer, shared by its
 * files: trace_writer.c (packets and blocks), trace_sample.c (samples), trace_intern.c (interned
 * data), trace_places.c (locations), trace_event.c (tracks), trace_slice.c (what is on them).
 */
#ifndef TRACE_WRITER_IMPL_H
#define TRACE_WRITER_IMPL_H

#include <libdeflate.h>

#include "buf.h"
#include "collector.h"
#include "hash.h"
#include "trace_writer.h"

#define INTERN_KINDS 64 /* field numbers of InternedData that we use are below */

/* Frames interned lately, by the id of their location: most of a stack is found here. */
#define RECENT_FRAMES 8192
struct recent_frame {
	uint64_t location, iid; /* location 0: free */
};

/* Literals interned lately, by where they are. */
#define RECENT_LITERALS 512
struct recent_literal {
	const char *text; /* NULL: free */
	uint64_t iid;
	enum intern_kind kind;
};

/* Tracks of threads asked for lately. */
#define RECENT_THREADS 64
struct recent_thread {
	uint64_t start_ns, uuid; /* uuid 0: free */
	uint32_t tid;
};

struct trace_sequence_state {
	bool cleared;			/* the generation's first packet has been put */
	bool lost;			/* a block of it was dropped since its last packet */
	struct buf pending;		/* fields of InternedData, to go with the next packet */
	struct buf defaults;		/* a packed TracePacketDefaults, or empty */
	struct hash *ids[INTERN_KINDS]; /* content -> iid; NULL until used */
	uint64_t next_iid[INTERN_KINDS];
	struct recent_frame *frames;	 /* RECENT_FRAMES; NULL until used */
	struct recent_literal *literals; /* RECENT_LITERALS; NULL until used */
};

struct trace_block {
	struct buf packets;
	uint64_t n_events[MAX_COLLECTORS]; /* completed by these packets */
};

struct location;

/* Locations with frames in the trace (trace_places.c); each is held. */
struct trace_places {
	struct hash *known; /* by id; NULL until used */
	struct location **list;
	size_t n, cap;
	size_t n_sure;	 /* of them in blocks that were handed over */
	uint64_t n_over; /* beyond the cap */
};

struct trace_writer {
	trace_sink_fn *sink;
	void *sink_ctx;

	struct trace_block bulk, essential;
	struct trace_sequence_state sequences[SEQ_MAX];
	unsigned generation;

	unsigned source; /* of the event at hand */
	uint64_t time_ns;
	struct trace_writer_stats stats[MAX_COLLECTORS];
	uint64_t n_bytes;

	struct trace_places places;
	struct hash *tracks; /* identity -> struct track_entry */
	struct recent_thread recent_threads[RECENT_THREADS];

	struct buf out;		       /* one compressed block */
	struct buf packet, event, arg; /* in the making */
	struct libdeflate_compressor *deflate;
};

/* trace_writer_put() that leaves the block open, for packets that must share one. */
int trace_writer_add(struct trace_writer *w, enum trace_sequence seq, const TracePacket *pkt,
		     unsigned n_events);
/* The same of fields that are packed already. */
int trace_writer_add_packed(struct trace_writer *w, enum trace_sequence seq, const void *fields,
			    size_t len, unsigned n_events);
int trace_writer_put_packed(struct trace_writer *w, enum trace_sequence seq, const void *fields,
			    size_t len, unsigned n_events);

/* Appends field `field`, of wire type "length-delimited", to `b`. */
int trace_append_field(struct buf *b, unsigned field, const void *data, size_t len);

/* `str` itself if it is UTF-8, else a clean copy in `*scratch`; NULL: out of memory. */
const char *trace_clean(const char *str, size_t len, struct buf *scratch, size_t *ret_len);

/* trace_intern_string() of a text that never changes. */
uint64_t trace_intern_literal(struct trace_writer *w, enum trace_sequence seq,
			      enum intern_kind kind, const char *text);

void trace_intern_forget(struct trace_sequence_state *s);
void trace_tracks_done(struct trace_writer *w);

void trace_places_note(struct trace_places *p, const struct location *loc);
/* What is not sure yet is now, or went down with its block. */
void trace_places_settle(struct trace_places *p, bool is_written);
void trace_places_done(struct trace_places *p);

#endif
