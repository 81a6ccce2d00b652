/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes_stacks.h - pairs of hits that have begun and not ended, of one session: those of a
 * thread, of one probe on a thread, or of one key.
 */
#ifndef PROBES_STACKS_H
#define PROBES_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes_events.h"

struct hash;
struct probes_known; /* a probe, as its encoder knows it */

/* Slices within slices; of a trace's reader 512 is the limit, also for others within. */
#define PROBES_DEPTH 256
/* All that are open in a session, and stacks of them that there are. */
#define PROBES_MAX_OPEN	  65536
#define PROBES_MAX_STACKS 65536
/* Of all their records; beyond, call stacks are left out. */
#define PROBES_MAX_BYTES (64u << 20)

struct open_hit {
	struct open_hit *outer;
	struct probes_known *known;
	unsigned site; /* which function of it, of a glob */
	uint64_t sp;   /* the user's; below it is the function's frame */
	uint64_t begin_ns;
	bool is_crossed;	 /* it has outlived one around it: it is below the thread's track */
	unsigned lane;		 /* on which one there, of those of its probe */
	struct probes_event *ev; /* the record, as long as it is; NULL: too deep to be shown */
};

struct hit_stack {
	uint32_t tgid, tid;
	uint32_t cpu;	   /* of the latest hit */
	uint64_t start_ns; /* of the thread; 0: not known */
	uint64_t last_ns;  /* its latest hit */
	uint64_t drawn_ns; /* its latest hit or end of a slice: nothing ends before */
	struct open_hit *top;
	unsigned depth;
	unsigned n_over; /* that began when too many were open */
	bool is_keyed;
	bool is_one_probes; /* not all of the thread's: no other one's slices are on its track */
};

struct hit_stacks {
	struct hash *all;
	size_t n_open, n_bytes;
};

/* Which stack: all of it counts, also the padding that there is none of. */
struct hit_stack_key {
	uint64_t key;	/* or the tid */
	uint32_t probe; /* 0: of a thread's probes that share its track */
	uint32_t tgid;	/* of a key: where it holds, or 0 */
};

int hit_stacks_init(struct hit_stacks *s);
void hit_stacks_done(struct hit_stacks *s); /* also of one that is all zero */

/* Made if there is none: NULL then says that there are too many, or no memory. */
struct hit_stack *hit_stack_of(struct hit_stacks *s, const struct hit_stack_key *key);
/* Those with nothing open for whom `over` says yes are forgotten. */
void hit_stacks_sweep(struct hit_stacks *s, bool (*over)(void *ctx, const struct hit_stack *),
		      void *ctx);

/* False: too many, or no memory. `keep`: so much of the record. */
bool hit_stack_push(struct hit_stacks *s, struct hit_stack *stack, struct probes_known *known,
		    uint64_t begin_ns, const struct probes_event *ev);
/* The innermost one of a probe, and of that function of it (-1: any); NULL: none is open. */
struct open_hit *hit_stack_find(const struct hit_stack *stack, const struct probes_known *known,
				int site);
/* Wherever in it; what is within it stays. */
void hit_stack_remove(struct hit_stacks *s, struct hit_stack *stack, struct open_hit *open);

#endif
