/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_fences.h - threads that wait for fences, from the beginning of a wait to its end. Pure logic.
 */
#ifndef GPU_FENCES_H
#define GPU_FENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu_jobs.h"

struct gpu_fences;

struct gpu_wait {
	struct gpu_key key;
	uint64_t begin_ns;
	uint32_t tgid, tid;
};

int gpu_fences_new(struct gpu_fences **ret);
void gpu_fences_free(struct gpu_fences *f); /* takes NULL */

/* Returns how many events are forgotten for it: a wait of the thread whose end was missed. */
unsigned gpu_fences_begin(struct gpu_fences *f, const struct gpu_wait *wait);
/* Takes out the wait of the thread; false: none for this fence is known. */
bool gpu_fences_end(struct gpu_fences *f, uint32_t tid, struct gpu_key key, struct gpu_wait *ret);

/* Takes out one that still goes on, in no order; false: there is none. */
bool gpu_fences_rest(struct gpu_fences *f, struct gpu_wait *ret);

#endif
