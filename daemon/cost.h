/* SPDX-License-Identifier: Apache-2.0 */
/* cost.h - what tracing costs: CPU time of daemon, workers and BPF programs, memory. */
#ifndef COST_H
#define COST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cost {
	uint64_t time_ns; /* BOOTTIME of the reading */
	uint64_t cpu_ns;  /* of this process and its workers, so far */
	uint64_t rss_bytes;
};

/* Of workers, 0 is none. What cannot be read stays 0. */
void cost_read(struct cost *ret, const pid_t *workers, size_t n_workers);

#endif
