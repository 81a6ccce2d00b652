/* SPDX-License-Identifier: Apache-2.0 */
/*
 * offcpu_slices.h - a wait as a slice on the track "Waits" below its thread's.
 *
 * It is named after what was waited for. Within it another slice, "runnable",
 * begins when the thread was woken, and an arrow leads there from the instant
 * "wakes" on the waker's track.
 */
#ifndef OFFCPU_SLICES_H
#define OFFCPU_SLICES_H

#include "collector.h"
#include "offcpu_wait.h"

/* Names that reports look for. */
#define OFFCPU_TRACK	"Waits"
#define OFFCPU_CATEGORY "offcpu"

/*
 * `flow_id` is used by no other wait of the trace. Waits of a thread cannot
 * overlap, and come in the order of their ends.
 */
int offcpu_write_slices(const struct encoder_env *env, const struct offcpu_wait *w,
			uint64_t flow_id);

#endif
