/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_rules.h - the table of ioctls as the kernel's half needs it: what is kept, and
 * how much of it is read.
 */
#ifndef GPU_RULES_H
#define GPU_RULES_H

#include "gpu_ioctl_table.h"

/* Where the rule of an ioctl is; 0: it has none, since its number is too large. */
uint32_t gpu_rule_key(unsigned slot, uint32_t nr);

/* One rule for all rows of the driver with that number. False: there are none. */
bool gpu_rule_make(unsigned slot, uint32_t nr, struct gpu_ioctl_rule *ret);

/* Into the maps gpu_rules and gpu_drivers. */
int gpu_rules_write(int rules_fd, int drivers_fd);

#endif
