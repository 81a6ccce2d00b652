/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/* alloc_events.h - records of bpf/alloc.bpf.c, read by daemon/collect/alloc.c. */
#ifndef ALLOC_EVENTS_H
#define ALLOC_EVENTS_H

#include "event.h"
#include "python.h"
#include "unwind.h"

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

#define ALLOC_PYTHON_CUT   0x80 /* there are more Python frames than these */
#define ALLOC_N_PYTHON(ev) ((ev)->python & ~ALLOC_PYTHON_CUT)

/*
 * An allocation that fills up its thread's measure. `ips`, innermost first: the
 * first is the allocator's function, the others are return addresses. Behind them
 * are the words of Python frames (python.h). Only as
 * many as there are get transferred, unless the daemon has to finish the walk:
 * then the whole record is, up to the end of what was copied of the stack.
 */
struct alloc_event {
	struct event_hdr hdr;
	__u64 size;   /* asked for */
	__u64 weight; /* bytes that the sample stands for */
	__u32 n_user;
	__u8 function; /* enum alloc_function */
	__u8 end;      /* enum unwind_end */
	__u8 has_copy;
	__u8 python; /* how many words; ALLOC_PYTHON_CUT */
	__u64 ips[UNWIND_MAX_FRAMES + PYTHON_WORDS_ROOM];
	struct unwind_copy copy;
	__u8 stack[UNWIND_COPY_BYTES];
};

#define ALLOC_HEAD (sizeof(struct event_hdr) + 24)
#define ALLOC_COPY_HEAD \
	(ALLOC_HEAD + 8 * (UNWIND_MAX_FRAMES + PYTHON_WORDS_ROOM) + sizeof(struct unwind_copy))
_Static_assert(sizeof(struct alloc_event) == ALLOC_COPY_HEAD + UNWIND_COPY_BYTES, "no padding");
_Static_assert(sizeof(struct alloc_event) < 32768, "per-CPU maps hold no more");

#endif
