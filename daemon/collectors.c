/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collectors.c - the table of sources. A new source is one line here.
 *
 * In order of start: what names things comes first, the sampler last, so that
 * it does not record how the others attach.
 */
#include <string.h>

#include "collector.h"

extern const struct collector proc_collector, counters_collector, gpu_counters_collector,
	sched_collector, syscalls_collector, gpu_collector, offcpu_collector, alloc_collector,
	gpu_api_collector, net_collector, markers_collector, probes_collector, cpu_collector;

const struct collector *const collectors[] = {
	&proc_collector,	 &counters_collector,
	&gpu_counters_collector, &sched_collector,
	&syscalls_collector,	 &gpu_collector,
	&offcpu_collector,	 &alloc_collector,
	&gpu_api_collector,	 &net_collector,
	&markers_collector,	 &probes_collector,
	&cpu_collector,		 NULL,
};

const struct collector *collector_by_name(const char *name)
{
	for (size_t i = 0; collectors[i]; i++)
		if (strcmp(collectors[i]->name, name) == 0)
			return collectors[i];
	return NULL;
}

int collector_index(const struct collector *c)
{
	for (int i = 0; collectors[i]; i++)
		if (collectors[i] == c)
			return i;
	return -1;
}
