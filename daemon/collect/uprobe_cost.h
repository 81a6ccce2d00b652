/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uprobe_cost.h - what a probe costs who runs into it: a microsecond on most machines,
 * tens of them in a virtual machine within another one.
 */
#ifndef UPROBE_COST_H
#define UPROBE_COST_H

#include <stdint.h>

/*
 * Of a probe on the way into a function, at an instruction that the kernel has to step
 * over; one on the way out costs about as much. Measured once; then it takes some
 * milliseconds, and to let go of the probe 100. -errno: this kernel has none, or we may not.
 */
int uprobe_cost_ns(uint64_t *ret);

/* It will be asked for: a thread begins to find out. */
void uprobe_cost_begin(void);

#endif
