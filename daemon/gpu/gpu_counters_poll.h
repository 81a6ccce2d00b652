/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_counters_poll.h - one look at all GPUs and at those who use them, as records.
 *
 * Where there is no GPU this is three directories that are not there.
 */
#ifndef GPU_COUNTERS_POLL_H
#define GPU_COUNTERS_POLL_H

#include <stdint.h>

#include "collector.h"

struct gpu_counters_poll;

/* `proc` and `sys` are directories like /proc and /sys. */
int gpu_counters_poll_new(const char *proc, const char *sys, struct gpu_counters_poll **ret);
void gpu_counters_poll_free(struct gpu_counters_poll *poll); /* takes NULL */

/* Is there any GPU, as of the last look? Without one nobody needs to know of processes. */
bool gpu_counters_poll_has_gpu(const struct gpu_counters_poll *poll);

/* There is a process `tgid` with memory of its own. */
void gpu_counters_poll_process(struct gpu_counters_poll *poll, uint32_t tgid);

/* What is left out of those GPUs that are there now (empty = nothing). */
void gpu_counters_poll_explain(struct gpu_counters_poll *poll, char why[WHY_LEN]);

/*
 * Hands records to `sink`, all of time `now_ns`. `budget_ns` bounds the time
 * spent to find who uses GPUs.
 */
void gpu_counters_poll_run(struct gpu_counters_poll *poll, uint64_t now_ns, uint64_t budget_ns,
			   event_sink_fn *sink, void *sink_ctx);

/* Records made so far. */
uint64_t gpu_counters_poll_count(const struct gpu_counters_poll *poll);

#endif
