/* SPDX-License-Identifier: Apache-2.0 */
/*
 * good_trace.h - a small trace without a mistake, for tests to make one in.
 *
 * The packets are messages that a test changes in place before the trace is
 * written. Everything lives in the trace's own memory: put into the messages
 * whatever lives as long, free nothing.
 */
#ifndef GOOD_TRACE_H
#define GOOD_TRACE_H

#include "buf.h"
#include "trace.pb-c.h"
#include "trace_check.h"

#define T0    1000000000000ull /* BOOTTIME of the first snapshot */
#define SLEPT 5000000000ull    /* BOOTTIME - MONOTONIC */
#define MS(n) (T0 + (n)*1000000ull)

/* Threads: 100 and 101 of process 100; 200 is started by 100 at 2 ms and freed at 60 ms. */
enum {
	UUID_MAIN = 11,
	UUID_WORKER,
	UUID_PROCESS,
	UUID_LOSS,
	UUID_RSS,
	UUID_LANE,
	UUID_FRAMES,
};

/* CPU samples at 5, 6 and 35 ms: of 100 on CPU 0, 200 on CPU 1, 100 on CPU 0 again. */
#define N_SAMPLES 3

struct good_trace {
	/* Those that tests change; all are in the trace, in this order. */
	TracePacket *first_snapshot, *uuid, *system_info, *started, *tree, *stats_start;
	TracePacket *main_track, *worker_track, *process_track, *loss_track, *rss_track;
	TracePacket *lane_track;
	TracePacket *bundle_0;	 /* CPU 0: a full switch at 1 ms, newtask at 2, compact to 40 */
	TracePacket *later_tree; /* process 200, at 3 ms */
	TracePacket *bundle_1;	 /* CPU 1: the life of 200 */
	TracePacket *samples[N_SAMPLES];
	TracePacket *begin_a, *end_a;	      /* 6 to 7 ms on the main thread */
	TracePacket *begin_b, *end_b;	      /* 7 to 8 ms, right behind it */
	TracePacket *begin_outer, *end_outer; /* 5.5 to 9 ms, around both */
	TracePacket *counter, *instant;
	TracePacket *job, *frame_start, *frame_end, *display_start, *display_end, *network;
	TracePacket *second_snapshot;		/* at 10 s */
	TracePacket *stats_end, *last_snapshot; /* at 20 s */
	TracePacket *ledger, *trace_stats, *disabled, *symbols;

	uint64_t submitted; /* the job that the outer slice submits */
	struct good_trace_packets *packets;
};

void good_trace_init(struct good_trace *t);
void good_trace_done(struct good_trace *t);

/* ledger.SOURCE.FIELD of the last attributes. */
int64_t *good_trace_ledger(struct good_trace *t, const char *key);

/*
 * `n` events of a source ("cpu") are lost, and said to be: in the ledger, the
 * stats and by an instant.
 */
void good_trace_lose(struct good_trace *t, const char *source, uint64_t n);

/* ---- trace_packets.c ---- */

void good_trace_start(struct good_trace *t);
bool good_trace_has_sequence(const struct good_trace *t, uint32_t seq);

/* Zeroed memory that goes with the trace. */
void *good_trace_alloc(struct good_trace *t, size_t size);
/* A copy of `pkt`, to change and insert. */
TracePacket *good_trace_copy(struct good_trace *t, const TracePacket *pkt);

void good_trace_remove(struct good_trace *t, const TracePacket *pkt);
/* `before` NULL: at the end. */
void good_trace_insert(struct good_trace *t, TracePacket *pkt, const TracePacket *before);
/* Moves `pkt`. */
void good_trace_move(struct good_trace *t, TracePacket *pkt, const TracePacket *before);
/* Behind the last field of the message these bytes, which are copied. */
void good_trace_append(struct good_trace *t, const TracePacket *pkt, const struct buf *bytes);

/* The file: `n_per_block` packets in each compressed block, 0: not compressed. */
void good_trace_write(const struct good_trace *t, struct buf *out, size_t n_per_block);

/* Fields by hand, for what generated code does not write. */
void put_int(struct buf *out, unsigned field, uint64_t value);
void put_bytes(struct buf *out, unsigned field, const void *data, size_t len);
/* One Trace.packet around `data`; a packet around `packets`, compressed. */
void put_packet(struct buf *out, const void *data, size_t len);
void put_block(struct buf *out, const struct buf *packets);

/* The check of a file, or of `t` when written. The caller frees it. */
struct trace_check *check_of(const void *data, size_t len);
struct trace_check *check_of_trace(const struct good_trace *t);

/* Writes `t`, checks it, and asserts that just `kind` is found; N_CHECK_KINDS: nothing. */
void assert_found(const struct good_trace *t, enum check_kind kind);
/* The same for a check. */
void assert_only(const struct trace_check *c, enum check_kind kind);
uint64_t found(const struct trace_check *c, enum check_kind kind); /* how often */

#endif
