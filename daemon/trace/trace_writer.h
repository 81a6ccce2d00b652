/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_writer.h - the packets of one session: sequences, interning, tracks,
 * blocks, compression. One per session, since interned ids and track
 * descriptors belong to one trace.
 *
 * Packets gather in blocks of about 128 KiB, are compressed and handed to the
 * sink, at least every 250 ms (the session calls trace_writer_flush()). There
 * are two kinds of block. Essential ones hold what everything else leans on
 * (clocks, processes, track descriptors); bulk ones hold the events. When the
 * sink has no room a bulk block is dropped as a whole: its events are counted
 * as lost, and the writer starts a new generation, in which everything is
 * interned anew. An encoder that carries state from packet to packet compares
 * trace_writer_generation() with the one it knew.
 *
 * Functions return 0 or -errno; after -ENOMEM the trace is still well formed.
 * Strings that are interned, of tracks and of arguments need not be UTF-8: what
 * is not is replaced. Strings inside a packet are its author's business.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.pb-c.h"

struct trace_writer;
struct location; /* symbolize/symbolizer.h */
struct module;

/*
 * Packet sequences. Interned ids are valid within one sequence. Thread
 * descriptors have a sequence without events (perfetto-format: the last thread
 * described becomes "the sequence's thread").
 */
enum trace_sequence {
	SEQ_META = 1,	/* essential: clocks, attributes, service events */
	SEQ_EVENTS = 2, /* TrackEvents */
	SEQ_GPU = 3,
	SEQ_COUNTERS = 4,      /* SysStats, ProcessStats */
	SEQ_FTRACE = 5,	       /* bundles of scheduler events */
	SEQ_PROCESSES = 6,     /* essential: ProcessTree, newtask, rename, free */
	SEQ_TRACKS = 8,	       /* essential: TrackDescriptors */
	SEQ_SAMPLES = 16,      /* CPU samples */
	SEQ_OFFCPU = 17,       /* samples of waits, by who waits */
	SEQ_WAKERS = 18,       /* and by who ends them */
	SEQ_ALLOC = 19,	       /* samples of allocations */
	SEQ_GPU_API = 20,      /* samples of launches, submits and frames */
	SEQ_MORE_SAMPLES = 24, /* of further events, one sequence each */
	SEQ_MAX = 32,
};

/*
 * Takes one complete piece of a trace file, or returns -EAGAIN when there is
 * no room for it. `essential` pieces have a larger allowance; refusing one of
 * them ends the session.
 */
typedef int trace_sink_fn(void *ctx, const void *data, size_t len, bool essential);

/* Without a sink nothing is written: whoever listens (trace_tap.h) is told, and that is all. */
int trace_writer_new(trace_sink_fn *sink, void *sink_ctx, struct trace_writer **ret);
void trace_writer_free(struct trace_writer *w);

/* ---- packets ---- */

/*
 * Packs `pkt` as the next packet of `seq`: sets its sequence id and flags and
 * adds what has been interned for it. `n_events`: how many collected events
 * this packet completes, for the ledger of the current source. `pkt` stays the
 * caller's; nothing of it is kept.
 */
int trace_writer_put(struct trace_writer *w, enum trace_sequence seq, const TracePacket *pkt,
		     unsigned n_events);

/* A packet that is one sample. */
struct trace_sample {
	uint64_t time_ns, weight;
	uint64_t callstack_iid, task_iid, execution_iid;
	const char *error; /* why its stack is not whole; NULL: it is */
};
int trace_writer_put_sample(struct trace_writer *w, enum trace_sequence seq,
			    const struct trace_sample *sample, unsigned n_events);

/* Defaults of a sequence (source of samples, ...); repeated in each generation. */
int trace_writer_set_defaults(struct trace_writer *w, enum trace_sequence seq,
			      const TracePacketDefaults *defaults);

/* Events that are rightly left out (not wanted, or without meaning here). */
void trace_writer_skip(struct trace_writer *w, unsigned n_events);

/*
 * Whose event comes next (collector_index()) and when it happened: for the
 * ledger and for the descriptors of tracks that it is the first to use.
 */
void trace_writer_source(struct trace_writer *w, unsigned source, uint64_t time_ns);
/* When it happened, of what is written later than its event came: its thread may be gone. */
void trace_writer_time(struct trace_writer *w, uint64_t time_ns);

/* Grows when a bulk block was dropped: everything interned is gone. */
unsigned trace_writer_generation(const struct trace_writer *w);

/* How often that was because of a dropped block; else a segment has begun. */
unsigned trace_writer_n_drops(const struct trace_writer *w);

/* Closes the open blocks and hands them to the sink. */
int trace_writer_flush(struct trace_writer *w);
/*
 * The bulk block has its size. A file may end after any block: whoever has kept
 * what its events lean on writes it now and flushes; at twice the size the
 * writer itself does.
 */
bool trace_writer_is_full(const struct trace_writer *w);

/* In the sink: the earliest time of a packet in the piece at hand. UINT64_MAX: none has one. */
uint64_t trace_writer_oldest(const struct trace_writer *w);
/* Where pieces go from now on. */
void trace_writer_set_sink(struct trace_writer *w, trace_sink_fn *sink, void *sink_ctx);

/* ---- segments: any of them may become the first of a trace (trace_segments.c) ---- */

/* To be called before the first packet of a trace that will have segments. */
int trace_writer_split(struct trace_writer *w);
/*
 * Flushes and begins a segment: a generation in which tracks are described
 * again. When there are many, those that were not used in the last `keep` segments are forgotten:
 * what is put on them is left out. Whoever asks for one again gets another one, so `keep` segments
 * are all that a trace is ever made of.
 */
int trace_writer_restart(struct trace_writer *w, unsigned keep);
/* For who keeps the uuid of a track: it need not be asked for again. */
bool trace_track_known(const struct trace_writer *w, uint64_t uuid);
size_t trace_writer_n_tracks(const struct trace_writer *w);
/* Hands out what trace_writer_places() has, all of it, and begins anew. The caller frees. */
size_t trace_writer_take_places(struct trace_writer *w, struct location ***ret);

struct trace_writer_stats {
	uint64_t n_written, n_skipped, n_dropped; /* events */
};
void trace_writer_stats(const struct trace_writer *w, unsigned source,
			struct trace_writer_stats *ret);
uint64_t trace_writer_bytes(const struct trace_writer *w); /* handed to the sink */

/* ---- interning: 0 is never a valid id; it stands for "out of memory" ---- */

enum intern_kind { /* field numbers in InternedData */
		   INTERN_CATEGORY = 1,
		   INTERN_EVENT_NAME = 2,
		   INTERN_ANNOTATION_NAME = 3,
		   INTERN_FUNCTION = 5,
		   INTERN_BUILD_ID = 16,
		   INTERN_MAPPING_PATH = 17,
		   INTERN_SOURCE_PATH = 18,
		   INTERN_KERNEL_SYMBOL = 26,
		   INTERN_ANNOTATION_STRING = 29,
};

uint64_t trace_intern_string(struct trace_writer *w, enum trace_sequence seq, enum intern_kind kind,
			     const void *str, size_t len);
uint64_t trace_intern_frame(struct trace_writer *w, enum trace_sequence seq,
			    const struct location *loc);
/* `frames` are the ids of trace_intern_frame(), outermost first, n > 0. */
uint64_t trace_intern_callstack(struct trace_writer *w, enum trace_sequence seq,
				const uint64_t *frames, size_t n);
uint64_t trace_intern_task(struct trace_writer *w, enum trace_sequence seq, uint32_t tgid,
			   uint32_t tid);
uint64_t trace_intern_execution(struct trace_writer *w, enum trace_sequence seq, uint32_t cpu,
				bool in_kernel);
/* Its id is the pid itself. */
uint64_t trace_intern_graphics_context(struct trace_writer *w, enum trace_sequence seq,
				       uint32_t pid);
/* A queue or stage of a GPU; of one name there is one. */
uint64_t trace_intern_gpu_specification(struct trace_writer *w, enum trace_sequence seq,
					const char *name, int category);

/*
 * The locations of frames that are in the trace as far as it has been handed
 * over, and of whose module there are source lines; valid until the next packet.
 */
size_t trace_writer_places(const struct trace_writer *w, struct location *const **ret);
uint64_t trace_writer_places_over(const struct trace_writer *w); /* too many to keep */

/* ---- tracks: described at first use, known by uuid afterwards ---- */

/*
 * The track of a thread or process. `start_ns`: when it began (0: not known);
 * it tells apart users of one pid, to 10 ms as /proc does.
 */
uint64_t trace_thread_track(struct trace_writer *w, uint32_t tgid, uint32_t tid, uint64_t start_ns);
uint64_t trace_process_track(struct trace_writer *w, uint32_t tgid, uint64_t start_ns);

struct trace_track {
	const char *name;
	uint64_t parent;	 /* uuid, or 0: at the top */
	uint64_t key;		 /* tells apart tracks of one name and parent */
	bool is_counter;	 /* takes trace_counter*() only */
	const char *unit;	 /* of a counter: "bytes", "count", "ns" or any other text */
	const char *description; /* help text in the UI, or NULL */
	int rank;		 /* order among its siblings, if the parent says explicit */
	bool explicit_order;	 /* order children by rank */
};
uint64_t trace_track(struct trace_writer *w, const struct trace_track *track);

/* ---- TrackEvents ---- */

enum trace_arg_type {
	ARG_UINT,
	ARG_INT,
	ARG_BOOL,
	ARG_POINTER,
	ARG_DOUBLE,
	ARG_STRING,   /* copied into the packet */
	ARG_REPEATED, /* one that comes again: it is interned while there are few of them */
	ARG_LITERAL,  /* one that never changes: it is interned */
};

/* For who keeps a text: then it is looked up once in each generation. Zero-initialised is empty. */
struct trace_text_id {
	uint64_t iid; /* 0: none */
	unsigned generation;
};

struct trace_arg {
	const char *name; /* a literal: it is interned */
	enum trace_arg_type type;
	union {
		uint64_t u;
		int64_t i;
		double d;
		const char *s;
	};
};

#define TRACE_MAX_ARGS 28

/*
 * Arguments that come again together, packed once for as long as it holds. For who packs them:
 * who listens (trace_tap.h) is not told of them. Zero-initialised is empty, and never holds.
 */
struct trace_packed {
	uint8_t *data;
	size_t len;
	unsigned generation;
};
int trace_pack_args(struct trace_writer *w, const struct trace_arg *args, size_t n,
		    struct trace_packed *ret);
bool trace_packed_holds(const struct trace_writer *w, const struct trace_packed *packed);
void trace_packed_done(struct trace_packed *packed);

#define TRACE_MAX_PACKED 2

struct trace_event {
	uint64_t track;
	uint64_t time_ns;
	const char *name;	       /* a literal or one of few: it is interned */
	bool is_literal;	       /* the name is: then it is found sooner */
	struct trace_text_id *name_id; /* of one that is kept; or NULL */
	const char *category;	       /* a literal; or NULL */
	const struct trace_arg *args;
	size_t n_args;
	const struct trace_packed *packed[TRACE_MAX_PACKED]; /* more of them, which come first */
	size_t n_packed;
	uint64_t callstack_iid;	 /* on SEQ_EVENTS, or 0 */
	double callstack_weight; /* what the stack counts in flame graphs */
	uint64_t correlation_id; /* of events that belong together and have one colour; or 0 */
	uint64_t flow_id;	 /* or 0; or instead several: */
	const uint64_t *flow_ids, *end_flow_ids; /* that go on from here, and that end here */
	size_t n_flow_ids, n_end_flow_ids;
	/* GPU jobs (trace_gpu.h) that this has submitted, and that it has waited for. */
	const uint64_t *stages, *waited_stages;
	size_t n_stages, n_waited_stages;
};

/*
 * A whole slice, BEGIN and END. Slices of one track must nest, and be written
 * in the order of their ends.
 */
int trace_slice(struct trace_writer *w, const struct trace_event *ev, uint64_t end_ns,
		unsigned n_events);
/* One within another: its track is that one's. */
struct trace_inner {
	const char *name, *category; /* literals */
	uint64_t begin_ns, end_ns;
};
/* With others within it, in order, none of which overlaps another or is without length. */
int trace_slice_around(struct trace_writer *w, const struct trace_event *ev, uint64_t end_ns,
		       const struct trace_inner *inner, size_t n_inner, unsigned n_events);
int trace_instant(struct trace_writer *w, const struct trace_event *ev, unsigned n_events);
int trace_counter(struct trace_writer *w, uint64_t track, uint64_t time_ns, int64_t value);
int trace_counter_double(struct trace_writer *w, uint64_t track, uint64_t time_ns, double value);
/* One that is in the ledger; `bits` are those of an int64_t or a double. */
int trace_counter_event(struct trace_writer *w, uint64_t track, uint64_t time_ns, bool is_double,
			uint64_t bits, unsigned n_events);

#endif
