/* SPDX-License-Identifier: Apache-2.0 */
/* probes_record.h - records of probes: are they ours, and what is in them. */
#ifndef PROBES_RECORD_H
#define PROBES_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/probes.h"
#include "trace_writer.h"

struct markers_keys;

/* A probe in one session. */
struct probes_known {
	struct probe *probe; /* held */
	/* Texts that a trace knows things by; they are the same for ever. */
	const char *name, *counter, *args[PROBES_ARGS];
	const char *functions[PROBES_MAX]; /* that a glob means; NULL: not met yet */
	bool is_call;	     /* from the entry of a function to its return: such nest */
	bool is_kernel;	     /* one of its places is the kernel's */
	bool own_track;	     /* its slices may cross anything else that the thread does */
	unsigned n_users;    /* open slices, and slices that wait for their call stack */
	uint64_t removed_ns; /* when it was seen to be gone; 0: it is there */
};

bool probes_valid(const struct event_hdr *hdr, size_t len);

/* The thread's stack, which is there. */
const struct user_stack *probes_stack(const struct probes_event *ev);

/* An event of a trace in the making, out of one record or two. */
struct probes_slice {
	struct trace_event event;
	struct trace_arg args[TRACE_MAX_ARGS];
	char text[2 * (PROBES_ROOM + 8 * PROBES_ARGS)];
	size_t len; /* of `text` */
};

/* Its name alone: the probe's; of a glob the function's, of which `texts` keeps the text. */
void probes_slice_init(struct probes_slice *s, struct probes_known *known,
		       struct markers_keys *texts, const struct probes_event *ev);
/* What the record says, by the names that the probe's author has given. */
void probes_slice_add(struct probes_slice *s, const struct probes_known *known,
		      const struct probes_event *ev);
void probes_slice_true(struct probes_slice *s, const char *literal);

/* The bits of an int64_t or, then `*ret_is_double`, of a double. */
uint64_t probes_counter(const struct probes_known *known, const struct probes_event *ev,
			bool *ret_is_double);

#endif
