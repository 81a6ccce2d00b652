/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers_stacks.h - slices that have begun and not ended: of a thread, of a process
 * that sends datagrams, or asynchronous ones of one process, name and id.
 */
#ifndef MARKERS_STACKS_H
#define MARKERS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "markers_events.h"

struct hash;

/* Slices within slices; of a trace's reader 512 is the limit, also for system calls within. */
#define MARKERS_DEPTH 256
/* All that are open, and threads that have made markers, of a session. */
#define MARKERS_MAX_OPEN   65536
#define MARKERS_MAX_STACKS 65536

struct markers_open {
	struct markers_open *outer;
	uint64_t begin_ns;
	struct markers_event *ev; /* the record, as long as it is */
};

struct markers_stack {
	uint32_t tgid, tid;
	uint16_t flags;	   /* MARKERS_SOCKET, or 0 */
	uint64_t start_ns; /* of the thread; 0: not known */
	uint64_t last_ns;  /* its latest marker */
	struct markers_open *top;
	unsigned depth;
	unsigned n_over; /* that began deeper: they are not shown */
};

struct markers_stacks {
	struct hash *all;
	size_t n_open;
};

int markers_stacks_init(struct markers_stacks *s);
void markers_stacks_done(struct markers_stacks *s); /* also of one that is all zero */

/* Of one key, made if there is none: NULL then says that there are too many, or no memory. */
struct markers_stack *markers_stack_of(struct markers_stacks *s, const void *key, size_t len);
/* Those with nothing open for whom `over` says yes are forgotten; NULL: all such. */
void markers_stacks_sweep(struct markers_stacks *s, bool (*over)(void *ctx, struct markers_stack *),
			  void *ctx);

/* False: too deep, too many, no memory. */
bool markers_stack_push(struct markers_stacks *s, struct markers_stack *stack, uint64_t begin_ns,
			const struct markers_event *ev);
/* The innermost one called as `ev` is, any if that has no name; NULL: none is open. */
const struct markers_open *markers_stack_find(const struct markers_stack *stack,
					      const struct markers_event *ev);
/* The innermost one, which there is, is forgotten. */
void markers_stack_pop(struct markers_stacks *s, struct markers_stack *stack);

#endif
