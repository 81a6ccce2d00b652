/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_spec.c - names of events that can be sampled. */
#include "perf_event_spec.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "text.h"

#define RATE_NS	    1000000000ull /* counts nanoseconds */
#define RATE_CYCLES 1		  /* counts cycles: the CPU's frequency */

#define RATE_CYCLES_GUESS 2000000000ull

/* perf_swevent_start_hrtimer() in the kernel raises what is less. */
#define MIN_CLOCK_PERIOD 10000

#define SW(name, config, unit, rate, period)                                         \
	{                                                                            \
		name, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config, unit, rate, period \
	}
#define HW(name, config, unit, rate, period)                                         \
	{                                                                            \
		name, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config, unit, rate, period \
	}

/* Default periods of rare events: each one. Of frequent ones: odd, so as not to beat with loops. */
static const struct perf_event_spec specs[] = {
	SW("cpu-clock", CPU_CLOCK, UNIT_NANOSECONDS, RATE_NS, 0),
	SW("task-clock", TASK_CLOCK, UNIT_NANOSECONDS, RATE_NS, 0),
	SW("page-faults", PAGE_FAULTS, UNIT_PAGE_FAULTS, 0, 1),
	SW("minor-faults", PAGE_FAULTS_MIN, UNIT_PAGE_FAULTS, 0, 1),
	SW("major-faults", PAGE_FAULTS_MAJ, UNIT_PAGE_FAULTS, 0, 1),
	SW("context-switches", CONTEXT_SWITCHES, UNIT_COUNT, 0, 1),
	SW("cpu-migrations", CPU_MIGRATIONS, UNIT_COUNT, 0, 1),
	SW("alignment-faults", ALIGNMENT_FAULTS, UNIT_COUNT, 0, 1),
	SW("emulation-faults", EMULATION_FAULTS, UNIT_COUNT, 0, 1),
	HW("cycles", CPU_CYCLES, UNIT_CYCLES, RATE_CYCLES, 0),
	HW("ref-cycles", REF_CPU_CYCLES, UNIT_CYCLES, RATE_CYCLES, 0),
	HW("bus-cycles", BUS_CYCLES, UNIT_CYCLES, 0, 100003),
	HW("instructions", INSTRUCTIONS, UNIT_INSTRUCTIONS, RATE_CYCLES, 0),
	HW("cache-references", CACHE_REFERENCES, UNIT_CACHE_REFERENCES, 0, 100003),
	HW("cache-misses", CACHE_MISSES, UNIT_CACHE_MISSES, 0, 10007),
	HW("branches", BRANCH_INSTRUCTIONS, UNIT_COUNT, 0, 1000003),
	HW("branch-misses", BRANCH_MISSES, UNIT_BRANCH_MISSES, 0, 10007),
	HW("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND, UNIT_CYCLES, 0, 1000003),
	HW("stalled-cycles-backend", STALLED_CYCLES_BACKEND, UNIT_CYCLES, 0, 1000003),
};

#define N_SPECS (sizeof(specs) / sizeof(specs[0]))

const char *perf_event_name(size_t i)
{
	return i < N_SPECS ? specs[i].name : NULL;
}

static int parse_raw(const char *name, struct perf_event_spec *ret)
{
	char *end;
	uint64_t config;

	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]) || strlen(name) > 17)
		return -ENOENT;
	config = strtoull(name + 1, &end, 16);
	if (*end)
		return -ENOENT;
	*ret = (struct perf_event_spec){ .name = NULL,
					 .type = PERF_TYPE_RAW,
					 .config = config,
					 .unit = UNIT_COUNT,
					 .default_period = 100003 };
	return 0;
}

/* "sched:sched_switch". Its number is looked up when it is opened. */
static int parse_tracepoint(const char *name, struct perf_event_spec *ret)
{
	const char *colon = strchr(name, ':');

	if (colon == name || !colon[1] || strchr(colon + 1, ':'))
		return -ENOENT;
	/* "cycles:u" is no tracepoint; modifiers are not known here. */
	for (size_t i = 0; i < N_SPECS; i++)
		if (strncmp(specs[i].name, name, (size_t)(colon - name)) == 0 &&
		    specs[i].name[colon - name] == '\0')
			return -ENOENT;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-' && c != colon)
			return -ENOENT;
	*ret = (struct perf_event_spec){
		.name = NULL, .type = PERF_TYPE_TRACEPOINT, .unit = UNIT_COUNT, .default_period = 1
	};
	return 0;
}

int perf_event_parse(const char *name, struct perf_event_spec *ret)
{
	for (size_t i = 0; i < N_SPECS; i++) {
		if (strcmp(specs[i].name, name) == 0) {
			*ret = specs[i];
			return 0;
		}
	}
	return strchr(name, ':') ? parse_tracepoint(name, ret) : parse_raw(name, ret);
}

uint64_t perf_event_period(const struct perf_event_spec *spec, uint32_t freq_hz, uint64_t cpu_hz)
{
	uint64_t rate = spec->rate_hz;

	/* Not knowing the CPU must not make it a sample per cycle. */
	if (rate == RATE_CYCLES)
		rate = cpu_hz ? cpu_hz : RATE_CYCLES_GUESS;

	if (rate == 0 || freq_hz == 0)
		return spec->default_period ? spec->default_period : 1;
	return rate / freq_hz ? rate / freq_hz : 1;
}

uint64_t perf_event_real_period(const struct perf_event_spec *spec, uint64_t period)
{
	if (spec->rate_hz == RATE_NS && period < MIN_CLOCK_PERIOD)
		return MIN_CLOCK_PERIOD;
	return period;
}

uint32_t perf_event_max_rate(void)
{
	char text[32];
	uint64_t rate;

	if (io_read_file("/proc/sys/kernel/perf_event_max_sample_rate", text, sizeof(text)) < 0)
		return UINT32_MAX;
	text[strcspn(text, "\n")] = '\0';
	return text_u64(text, 1, UINT32_MAX, &rate) < 0 ? UINT32_MAX : (uint32_t)rate;
}
