/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampler.h - the perf events of one session: what is sampled, on which CPUs, and
 * that it goes on when CPUs come and go.
 *
 * Always a fixed period; the kernel's freq mode samples idle machines too often.
 */
#ifndef SAMPLER_H
#define SAMPLER_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector.h"
#include "cpu_encode.h"

struct sampler;

/* The programs that the events run; the cookie is CPU_COOKIE(slot, index of the event). */
struct sampler_programs {
	struct bpf_program *on_overflow;   /* of a counter */
	struct bpf_program *on_tracepoint; /* each time; NULL without tracepoints */
	uint64_t *tracepoint_periods;	   /* by cookie, [CPU_COOKIES] */
	int calls_fd;			   /* the map of how often each event has called */
};

/*
 * Opens what the session's configuration asks for. On failure `why` says what
 * and what to do: -ENOENT an event that does not exist, and what
 * perf_event_open(2) says.
 */
int sampler_new(const struct sampler_programs *programs, const struct trace_config *config,
		unsigned slot, char why[WHY_LEN], struct sampler **ret);
void sampler_free(struct sampler *s); /* takes NULL */

/*
 * About once a second: opens events on CPUs that have come online, and anew
 * those that have died. `woke_up`: the machine was suspended, which kills them.
 */
void sampler_tick(struct sampler *s, bool woke_up);

/*
 * Of all events that count: how many samples were due by what they have counted, and how many
 * times the kernel has come to take one, of whoever ran. A timer that is asked for more than
 * the machine has time for comes less often, and the kernel tells nobody.
 */
void sampler_due(const struct sampler *s, struct due_samples *ret);

#endif
