/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_writer_impl.h - the insides of a trace writer, shared by its
 * files: trace_writer.c (packets and blocks), trace_sample.c (samples), trace_intern.c (interned
 * data), trace_places.c (locations), trace_event.c (tracks), trace_slice.c (what is on them),
 * trace_tap.c (who listens), trace_segments.c (traces in segments).
 */
#ifndef TRACE_WRITER_IMPL_H
#define TRACE_WRITER_IMPL_H

#include <libdeflate.h>

#include "buf.h"
#include "collector.h"
#include "hash.h"
#include "trace_tap.h"
#include "trace_writer.h"

#define INTERN_KINDS 64 /* field numbers of InternedData that we use are below */

/* Frames interned lately, by the id of their location: most of a stack is found here. */
#define RECENT_FRAMES 8192
struct recent_frame {
	uint64_t location, iid; /* location 0: free */
};

/* Literals interned lately, by where they are: a pair of places for each hash, the newer one first.
 */
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
	bool went_on;			/* there is an earlier segment of it */
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
	uint64_t oldest_ns;		   /* the earliest time of a packet; UINT64_MAX: none */
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
	unsigned generation, n_drops;
	uint64_t oldest_ns; /* of the block that is being handed over */

	unsigned segment;
	struct hash *told; /* uuid -> struct told_track; NULL: there are no segments */

	unsigned source; /* of the event at hand */
	uint64_t time_ns;
	struct trace_writer_stats stats[MAX_COLLECTORS];
	uint64_t n_bytes;

	struct trace_places places;
	struct hash *tracks; /* identity -> struct track_entry */
	uint64_t n_uuids;    /* given to tracks so far */
	struct recent_thread recent_threads[RECENT_THREADS];

	trace_tap_fn *tap; /* NULL: nobody listens */
	void *tap_ctx;
	struct hash *tapped; /* uuid -> struct tapped_track; NULL: nobody has listened yet */

	struct buf out;	    /* one compressed block */
	size_t length_room; /* bytes left for the length of the packet in the making */
	struct libdeflate_compressor *deflate;
};

/* trace_writer_put() that leaves the block open, for packets that must share one. */
int trace_writer_add(struct trace_writer *w, enum trace_sequence seq, const TracePacket *pkt,
		     unsigned n_events);

/* Appends field `field`, of wire type "length-delimited", to `b`. */
int trace_append_field(struct buf *b, unsigned field, const void *data, size_t len);

/* `str` itself if it is UTF-8, else a clean copy in `*scratch`; NULL: out of memory. */
const char *trace_clean(const char *str, size_t len, struct buf *scratch, size_t *ret_len);

/* trace_intern_string() of a text that never changes. */
uint64_t trace_intern_new_literal(struct trace_writer *w, enum trace_sequence seq,
				  enum intern_kind kind, const char *text);
static inline struct recent_literal *recent_literals(const struct trace_sequence_state *s,
						     enum intern_kind kind, const char *text)
{
	uint64_t hash = ((uintptr_t)text + kind) * 0x9e3779b97f4a7c15ull;

	return &s->literals[hash >> 56 << 1];
}
static inline uint64_t trace_intern_literal(struct trace_writer *w, enum trace_sequence seq,
					    enum intern_kind kind, const char *text)
{
	const struct trace_sequence_state *s = &w->sequences[seq];
	const struct recent_literal *pair = s->literals ? recent_literals(s, kind, text) : NULL;

	for (unsigned i = 0; pair && i < 2; i++)
		if (pair[i].text == text && pair[i].kind == kind)
			return pair[i].iid;
	return trace_intern_new_literal(w, seq, kind, text);
}

void trace_intern_forget(struct trace_sequence_state *s);
void trace_tracks_done(struct trace_writer *w);
/* Those that were not used in the last `keep` segments. */
void trace_tracks_forget(struct trace_writer *w, unsigned keep);
/* Tells trace_tap_track() of all that there are. */
int trace_tracks_tap(struct trace_writer *w);

/* trace_segments.c. 0, and the track is described in this segment; -ESTALE: it is forgotten. */
int trace_track_use(struct trace_writer *w, uint64_t uuid);
int trace_told_add(struct trace_writer *w, const TrackDescriptor *desc);
bool trace_told_is_old(const struct trace_writer *w, uint64_t uuid, unsigned keep);
void trace_told_forget(struct trace_writer *w, uint64_t uuid);
void trace_told_done(struct trace_writer *w);

/* What a tap is told of a track, once that is described: whose it is, or its name. */
struct tapped_track {
	uint64_t parent;
	uint32_t tgid, tid;
	char name[]; /* "": it is a thread's or a process's */
};
int trace_tap_track(struct trace_writer *w, uint64_t uuid, const struct tapped_track *track,
		    const char *name);
void trace_tap_done(struct trace_writer *w);
/* For who writes; to be called if there is a tap. */
void trace_tap_event(struct trace_writer *w, enum trace_tap_kind kind, const struct trace_event *ev,
		     uint64_t end_ns);
void trace_tap_counter(struct trace_writer *w, uint64_t track, uint64_t time_ns, bool is_double,
		       uint64_t bits);

void trace_places_note(struct trace_places *p, const struct location *loc);
/* What is not sure yet is now, or went down with its block. */
void trace_places_settle(struct trace_places *p, bool is_written);
void trace_places_done(struct trace_places *p);

#endif
