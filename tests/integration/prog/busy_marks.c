/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy_marks.c - a thread that is always busy, and says each 20 ms how much CPU time it
 * has had: lines of CLOCK_BOOTTIME and CLOCK_THREAD_CPUTIME_ID, in nanoseconds.
 *
 *	busy_marks CPU SECONDS >FILE
 *
 * It stays on that CPU, ahead of whoever else wants it: samples come at points of the
 * wall clock, and CPU time that comes in short pieces is hit by chance.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MARK_NS 20000000u

static uint64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The two clocks at one moment: what lay between the readings is tried again. */
static void mark(void)
{
	uint64_t before, cpu, after;
	int n = 0;

	do {
		before = now_ns(CLOCK_BOOTTIME);
		cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
		after = now_ns(CLOCK_BOOTTIME);
	} while (after - before > 20000 && ++n < 100);
	printf("%" PRIu64 " %" PRIu64 "\n", after, cpu);
}

int main(int argc, char **argv)
{
	uint64_t next, end;
	cpu_set_t set;

	if (argc != 3) {
		fprintf(stderr, "usage: busy_marks CPU SECONDS\n");
		return 2;
	}
	CPU_ZERO(&set);
	CPU_SET(strtoul(argv[1], NULL, 10), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0) {
		perror("busy_marks");
		return 1;
	}
	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }) < 0)
		perror("busy_marks: not ahead of others");
	next = now_ns(CLOCK_BOOTTIME);
	end = next + strtoul(argv[2], NULL, 10) * 1000000000u;
	while (now_ns(CLOCK_BOOTTIME) < end) {
		if (now_ns(CLOCK_BOOTTIME) < next)
			continue;
		mark();
		next += MARK_NS;
	}
	return 0;
}
