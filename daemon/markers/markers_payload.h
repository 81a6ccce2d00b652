/* SPDX-License-Identifier: Apache-2.0 */
/* markers_payload.h - records of markers: are they ours, and what is in them. */
#ifndef MARKERS_PAYLOAD_H
#define MARKERS_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "markers_events.h"
#include "trace_writer.h"

bool markers_valid(const struct event_hdr *hdr, size_t len);

/* An event of a trace in the making, out of one record or two. */
struct markers_slice {
	struct trace_event event;
	struct trace_arg args[TRACE_MAX_ARGS];
	char name[MARKERS_NAME];
	char text[2 * (MARKERS_ROOM + MARKERS_ARGS)];
	size_t len; /* of `text` */
};

/*
 * Names and keys of a session, of which there are so many and no more: all are kept until
 * its end. A key's text is the same for ever, it is what a trace knows the key by.
 */
struct markers_keys;
int markers_keys_new(struct markers_keys **ret);
void markers_keys_free(struct markers_keys *keys); /* takes NULL */

/* The same text at the same place, for a trace that knows it by that. */
const char *markers_key(struct markers_keys *keys, const void *key, size_t len);
/* `name`, or what stands for one too many. */
const char *markers_known_name(struct markers_keys *keys, const char *name);

/* Its name alone. */
void markers_slice_init(struct markers_slice *s, struct markers_keys *keys,
			const struct markers_event *ev);
/* The pairs of a record, and what is missing of them. `keys` outlives the slice. */
void markers_slice_add(struct markers_slice *s, struct markers_keys *keys,
		       const struct markers_event *ev);
void markers_slice_true(struct markers_slice *s, const char *literal);

/* The name as a string. */
void markers_name(const struct markers_event *ev, char dst[MARKERS_NAME]);

#endif
