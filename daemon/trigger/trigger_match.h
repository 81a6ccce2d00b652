/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_match.h - whether something that is recorded is what a trigger waits for, and what
 * to say of it.
 */
#ifndef TRIGGER_MATCH_H
#define TRIGGER_MATCH_H

#include "trace_tap.h"
#include "trigger/trigger_spec.h"

#define TRIGGER_WHAT_LEN 320

/* What has happened; on the track "Triggers" it is an instant with all of that. */
struct trigger_fired {
	uint64_t time_ns;	     /* of the end, if it took time */
	uint32_t tgid, tid;	     /* 0: nobody's */
	char comm[3 * 16 + 1];	     /* of the process, or "" */
	char what[TRIGGER_WHAT_LEN]; /* "'fsync' took 12.3 ms" */
	uint64_t duration_ns;	     /* of a slice; else 0 */
	uint64_t n_missed;	     /* that came too soon after the one before this */
};

/* The source without which it never comes; NULL: any, none, or one that is always there. */
const char *trigger_source(const struct trigger_spec *spec);

/* `source`: the index of trigger_source(), or -1. `comm`: of the process, "" if it is not known. */
typedef const char *trigger_comm_fn(void *ctx, uint32_t tgid);
bool trigger_match(const struct trigger_spec *spec, int source, const struct trace_tap_event *ev,
		   trigger_comm_fn *comm, void *ctx);

/* Of an event that matches. */
void trigger_describe(const struct trigger_spec *spec, const struct trace_tap_event *ev,
		      trigger_comm_fn *comm, void *ctx, struct trigger_fired *ret);

/* "slice:fsync>10ms: 'fsync' took 12.3 ms, by postgres (1234)" */
#define TRIGGER_TEXT_LEN (TRIGGER_SPEC_LEN + TRIGGER_WHAT_LEN + 64)
void trigger_fired_text(const char *spec, const struct trigger_fired *fired,
			char dst[TRIGGER_TEXT_LEN]);

#endif
