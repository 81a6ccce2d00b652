/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clocks we use, in nanoseconds. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC 1000000000ull
#define NS_PER_MS  1000000ull

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* The one clock of every event and every packet. */
static inline uint64_t boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

/*
 * How long the machine has slept since its start: BOOTTIME - MONOTONIC. Read
 * again while somebody comes between the readings, which would look like sleep.
 */
static inline uint64_t asleep_ns(void)
{
	uint64_t before, boot, after, best = UINT64_MAX, result = 0;

	for (int i = 0; i < 8 && best > 20000; i++) {
		before = clock_ns(CLOCK_MONOTONIC);
		boot = boot_ns();
		after = clock_ns(CLOCK_MONOTONIC);
		if (after - before >= best)
			continue;
		best = after - before;
		result = boot - before;
	}
	return result;
}

#endif
