/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_processes.h - which processes get memory counters, and the numbers.
 *
 * Reading every process at every poll costs too much on a large machine, so a
 * survey goes round all of them in slices of bounded time, and those that have
 * much memory or used the CPU since the last look are watched: these are read
 * at every poll, from descriptors that stay open and so cannot be taken over by
 * another process of the same id.
 */
#ifndef COUNTERS_PROCESSES_H
#define COUNTERS_PROCESSES_H

#include <stddef.h>
#include <stdint.h>

#include "collect/counters_parse.h"

struct counters_processes;

/* `proc_fd` is a directory like /proc; it stays the caller's. */
int counters_processes_new(int proc_fd, struct counters_processes **ret);
void counters_processes_free(struct counters_processes *cp); /* takes NULL */

/* There is a process `tgid`. Cheap when it is known already. */
int counters_processes_add(struct counters_processes *cp, uint32_t tgid);

/*
 * Surveys for about `budget_ns`, then reads those watched into `items`.
 * Returns how many.
 */
size_t counters_processes_poll(struct counters_processes *cp, uint64_t budget_ns,
			       struct counters_process items[COUNTERS_MAX_ITEMS]);

#endif
