/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf_event_spec.h - names of events that can be sampled, as perf(1) spells
 * them. Only what is named here reaches perf_event_open(2): clients never
 * choose a perf_event_attr.
 */
#ifndef PERF_EVENT_SPEC_H
#define PERF_EVENT_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* StackSample.CounterDescriptor.unit */
enum {
	UNIT_NANOSECONDS = 1,
	UNIT_CYCLES,
	UNIT_INSTRUCTIONS,
	UNIT_BYTES,
	UNIT_PAGE_FAULTS,
	UNIT_CACHE_MISSES,
	UNIT_CACHE_REFERENCES,
	UNIT_BRANCH_MISSES,
	UNIT_COUNT
};

struct perf_event_spec {
	const char *name;
	uint32_t type;	  /* PERF_TYPE_* */
	uint64_t config;  /* PERF_COUNT_* or a raw code */
	int unit;	  /* StackSample.CounterDescriptor.unit */
	uint64_t rate_hz; /* how fast it counts at most, to turn Hz into a period; 0: not known */
	uint64_t default_period; /* where Hz make no sense */
};

/*
 * "cpu-clock", "cycles", "page-faults", ..., "rHEX" for a raw event of the CPU's
 * PMU, or "SYSTEM:NAME" for a tracepoint, whose `config` is then still to be
 * found (tracefs.h). -ENOENT: no such name.
 */
int perf_event_parse(const char *name, struct perf_event_spec *ret);

/* The names, for messages; NULL at the end. */
const char *perf_event_name(size_t i);

/*
 * The fixed period that gives about `freq_hz` samples a second on a busy CPU.
 * `cpu_hz`: the CPU's highest frequency, for events that count cycles.
 */
uint64_t perf_event_period(const struct perf_event_spec *spec, uint32_t freq_hz, uint64_t cpu_hz);

/* What the kernel makes of `period`: a sample must weigh what it stands for. */
uint64_t perf_event_real_period(const struct perf_event_spec *spec, uint64_t period);

/*
 * Samples per second and CPU that the kernel lets pass. It lowers this by
 * itself where an interrupt takes long, as in virtual machines.
 */
uint32_t perf_event_max_rate(void);

#endif
