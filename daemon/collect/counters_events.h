/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters_events.h - the records of the counters collector: a head, and as
 * many items as it says. They are made in user space, but travel and are
 * checked like those of a BPF program.
 */
#ifndef COUNTERS_EVENTS_H
#define COUNTERS_EVENTS_H

#include "collect/counters_parse.h"
#include "event.h"

enum counters_event_type {
	COUNTERS_SYSTEM = 1,
	COUNTERS_CPUS,
	COUNTERS_CPUFREQ, /* item i is CPU i, all in one record */
	COUNTERS_DISKS,
	COUNTERS_IFACES,
	COUNTERS_PROCESSES,
};

#define COUNTERS_MAX_CPUFREQ 1024

/* All records of one poll carry the same time. */
struct counters_record {
	struct event_hdr hdr;
	uint32_t n, pad;
	union {
		struct counters_value values[COUNTERS_MAX_ITEMS];
		struct counters_cpu cpus[COUNTERS_MAX_ITEMS];
		uint32_t khz[COUNTERS_MAX_CPUFREQ];
		struct counters_disk disks[COUNTERS_MAX_ITEMS];
		struct counters_iface ifaces[COUNTERS_MAX_ITEMS];
		struct counters_process processes[COUNTERS_MAX_ITEMS];
	} items;
};

/* Of the whole record with `n` items; 0: no such type, or too many. */
size_t counters_record_size(unsigned type, size_t n);

bool counters_valid(const struct event_hdr *ev, size_t len);

#endif
