/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_cut_impl.h - the insides of a cut: flight_cut.c, flight_cut_read.c (packets),
 * flight_cut_sched.c (bundles), flight_cut_tracks.c (tracks of the dead).
 */
#ifndef FLIGHT_CUT_IMPL_H
#define FLIGHT_CUT_IMPL_H

#include "cpus.h"
#include "flight/flight_cut.h"
#include "hash.h"
#include "trace_writer.h"
#include "wire.h"

#define FIELD_TRACE_PACKET 1 /* of Trace */

/* Of TracePacket. */
#define FIELD_FTRACE	    1
#define FIELD_PROCESS_TREE  2
#define FIELD_CLOCKS	    6
#define FIELD_TIMESTAMP	    8
#define FIELD_SEQUENCE	    10
#define FIELD_TRACK_EVENT   11
#define FIELD_INTERNED	    12
#define FIELD_FLAGS	    13
#define FIELD_DROPPED	    42
#define FIELD_STAGE	    53
#define FIELD_DEFAULTS	    59
#define FIELD_DESCRIPTOR    60
#define FIELD_SERVICE_EVENT 69
#define FIELD_FRAME	    76
#define FIELD_FIRST_PACKET  87
#define FIELD_SAMPLE	    135

struct cut_cpu {
	bool begun;	   /* a switch is in the snapshot */
	uint64_t begun_ns; /* the first one */
	bool has_before;   /* one was left out, the last of which is: */
	int32_t pid, prio; /* of the thread that it put there */
	char comm[64];
};

struct flight_cut {
	uint64_t begin_ns;
	const struct flight_base *base;
	struct hash *depths;	  /* track -> slices across the beginning so far */
	struct hash *held;	  /* uuid -> struct held_track; NULL: none so far */
	uint64_t counted[2];	  /* ids of the categories of system calls; 0: not so far */
	struct flight_used *used; /* of the segment that is noted */
	uint64_t n_stacks;	  /* left out */
	uint64_t n_cut[MAX_COLLECTORS];
	struct cut_cpu cpus[MAX_CPUS];
};

enum verdict { KEEP, LEAVE_OUT, MOVE, REPLACE };

struct packet {
	const uint8_t *data;
	size_t len;
	uint64_t time_ns;
	bool has_time, has_state; /* interned data, defaults, flags */
	uint32_t sequence, what;  /* `what`: the number of the payload's field */
	const uint8_t *body;
	size_t body_len;

	struct wire_field interned;
	uint64_t callstack; /* 0: it has none */

	uint8_t type; /* of a TrackEvent */
	uint64_t track, category;
	bool is_frame_end;

	enum verdict verdict;
	uint64_t new_time_ns;
	size_t new_at, new_len; /* in `replaced` */
};

struct packets {
	struct packet *list;
	size_t n, cap;
	struct buf replaced;
};

/* All of a block; `all` is empty at first. */
int flight_cut_read(struct flight_cut *c, const struct buf *packets, struct packets *all);

/*
 * A track described before the beginning: 1 if its thread or process was gone by then, and it is
 * held back.
 */
int flight_cut_hold(struct flight_cut *c, const struct packet *p);
/* Appends the tracks that are held and that this packet, which is left, needs. */
int flight_cut_release(struct flight_cut *c, const struct packet *p, struct buf *ret);

void flight_cut_count(struct flight_cut *c, const char *source, uint64_t n);

/* In place; the message stays its owner's, to be freed as before. Whether something has changed. */
bool flight_cut_bundle(struct flight_cut *c, FtraceEventBundle *bundle, bool of_processes);

#endif
