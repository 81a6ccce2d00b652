/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_poll.h - one look at the machine's counters, as records.
 *
 * Files stay open between polls. What cannot be read is left out, and named
 * once when the poller is made.
 */
#ifndef COUNTERS_POLL_H
#define COUNTERS_POLL_H

#include <stdint.h>

#include "collector.h"

struct counters_poll;

/*
 * `proc` and `cpus` are directories like /proc and /sys/devices/system/cpu;
 * `why` says what is left out (empty = nothing). -ENOENT: nothing is left.
 */
int counters_poll_new(const char *proc, const char *cpus, char why[WHY_LEN],
		      struct counters_poll **ret);
void counters_poll_free(struct counters_poll *poll); /* takes NULL */

/* There is a process `tgid` with memory of its own. */
void counters_poll_process(struct counters_poll *poll, uint32_t tgid);

/*
 * Hands records to `sink`, all of time `now_ns`. `budget_ns` bounds the time
 * spent to find the busiest processes.
 */
void counters_poll_run(struct counters_poll *poll, uint64_t now_ns, uint64_t budget_ns,
		       event_sink_fn *sink, void *sink_ctx);

uint64_t counters_poll_count(const struct counters_poll *poll); /* records made so far */

#endif
