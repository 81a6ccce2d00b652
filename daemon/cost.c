/* SPDX-License-Identifier: Apache-2.0 */
/* cost.c - what tracing costs. */
#include "cost.h"

#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "io.h"

void cost_read(struct cost *ret, const pid_t *workers, size_t n_workers)
{
	unsigned long size, resident;
	clockid_t clock;
	char text[128];

	*ret = (struct cost){ .time_ns = boot_ns(), .cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) };
	for (size_t i = 0; i < n_workers; i++)
		if (workers[i] > 0 && clock_getcpuclockid(workers[i], &clock) == 0)
			ret->cpu_ns += clock_ns(clock);
	if (io_read_file("/proc/self/statm", text, sizeof(text)) > 0 &&
	    sscanf(text, "%lu %lu", &size, &resident) == 2)
		ret->rss_bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}
