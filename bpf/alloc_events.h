/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* alloc_events.h - records of bpf/alloc.bpf.c, read by daemon/collect/alloc.c. */
#ifndef ALLOC_EVENTS_H
#define ALLOC_EVENTS_H

#include "event.h"
#include "user_stack.h"

enum alloc_event_type {
	ALLOC_SAMPLE = 1, /* struct alloc_event */
};

/* Which argument is the size. The attach cookie of each probe. */
enum alloc_function {
	ALLOC_MALLOC = 1,     /* the first */
	ALLOC_CALLOC,	      /* the first times the second */
	ALLOC_REALLOC,	      /* the second */
	ALLOC_ALIGNED,	      /* the second: aligned_alloc(), memalign() */
	ALLOC_POSIX_MEMALIGN, /* the third */
	ALLOC_FUNCTIONS
};

/*
 * An allocation that fills up its thread's measure; the innermost frame is the
 * allocator's function.
 */
struct alloc_event {
	struct event_hdr hdr;
	__u64 size;	/* asked for */
	__u64 weight;	/* bytes that the sample stands for */
	__u32 function; /* enum alloc_function */
	__u32 pad;
	struct user_stack user;
};

#define ALLOC_HEAD (sizeof(struct event_hdr) + 24)
_Static_assert(sizeof(struct alloc_event) == ALLOC_HEAD + sizeof(struct user_stack), "no padding");
_Static_assert(sizeof(struct alloc_event) < 32768, "per-CPU maps hold no more");

#endif
