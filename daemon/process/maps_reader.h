/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps_reader.h - /proc/PID/maps to a block of mappings, in slices: a process
 * may have 65,000 lines, and each may mean a file to open.
 */
#ifndef MAPS_READER_H
#define MAPS_READER_H

#include <stdint.h>

struct mapping;
struct mappings;
struct mappings_budget;
struct maps_reader;
struct module_pins;

/*
 * -ESRCH when the process is gone, or when `start_ticks` is not its start time:
 * then the pid has another owner.
 */
int maps_reader_open(int proc_fd, uint32_t tgid, uint64_t start_ticks, struct module_pins *pins,
		     struct mappings_budget *budget, struct maps_reader **ret);
void maps_reader_free(struct maps_reader *reader); /* takes NULL */

/* Reads on until `deadline_ns`. 1: all is read. 0: call again. -errno: it cannot be read. */
int maps_reader_step(struct maps_reader *reader, uint64_t deadline_ns);

/* What is mapped at this time or before is in the block; what comes later may be. */
uint64_t maps_reader_time(const struct maps_reader *reader);
/* A mapping that has come up since. */
int maps_reader_add(struct maps_reader *reader, const struct mapping *add);

/* The block, now the caller's. */
struct mappings *maps_reader_take(struct maps_reader *reader);
uint64_t maps_reader_over_cap(const struct maps_reader *reader); /* mappings left out */

#endif
