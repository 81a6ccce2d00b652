/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* markers_events.h - records of bpf/markers.bpf.c, read by daemon/collect/markers.c. */
#ifndef MARKERS_EVENTS_H
#define MARKERS_EVENTS_H

#include "event.h"

enum markers_event_type {
	MARKERS_MARK = 1, /* somebody has made a marker */
	MARKERS_REFUSED,  /* a datagram that is none: `tgid` has sent it */
	MARKERS_STOP,	  /* a session stops at hdr.time_ns: no event of the ledger */
};

enum markers_phase {
	MARKERS_BEGIN,
	MARKERS_END,
	MARKERS_INSTANT,
	MARKERS_COUNTER,
	MARKERS_COUNTER_F64,
	MARKERS_ASYNC_BEGIN,
	MARKERS_ASYNC_END,
	N_MARKERS_PHASES
};

/* As daemon/marker.h has them. */
enum markers_arg_type {
	MARKERS_I64 = 1,
	MARKERS_U64,
	MARKERS_F64,
	MARKERS_STR,
	MARKERS_BOOL,
	N_MARKERS_ARG_TYPES
};

/* markers_event.flags */
#define MARKERS_CUT	   0x01 /* there were more pairs than have room */
#define MARKERS_UNREADABLE 0x02 /* the name, or a pair, was not to be read */
#define MARKERS_SOCKET	   0x04 /* by a datagram: of the process, not of its thread `tid` */
#define MARKERS_FLAGS	   0x07

/* With their NULs. */
#define MARKERS_NAME 128
#define MARKERS_KEY  48
#define MARKERS_TEXT 256
#define MARKERS_ARGS 12

/* A pair; then the key and the text without NULs, and what is missing to 8 bytes. */
struct markers_arg {
	__u64 value; /* of MARKERS_F64 its bits; of MARKERS_STR 0 */
	__u16 text_len;
	__u8 type; /* enum markers_arg_type */
	__u8 key_len;
	__u32 pad;
};

/* Behind the name there is room for pairs, as long as the largest one would fit. */
#define MARKERS_ROOM	2048
#define MARKERS_ARG_MAX (sizeof(struct markers_arg) + MARKERS_KEY + MARKERS_TEXT + 8)

/* Only as much of it is transferred as there is. */
struct markers_event {
	struct event_hdr hdr;
	__u64 value; /* the id, or the value of a counter */
	__u8 phase;  /* enum markers_phase */
	__u8 flags;
	__u8 n_args;
	__u8 name_len;
	__u32 len;		  /* of the part of `bytes` that is used, a multiple of 8 */
	__u8 bytes[MARKERS_ROOM]; /* the name, what is missing to 8 bytes, pairs */
};

#define MARKERS_HEAD (sizeof(struct event_hdr) + 16)

#define MARKERS_ALIGN(n) (((n) + 7u) & ~7u)

_Static_assert(sizeof(struct markers_arg) == 16, "no padding");
_Static_assert(sizeof(struct markers_event) == MARKERS_HEAD + MARKERS_ROOM, "no padding");

#endif
