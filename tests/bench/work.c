/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.c - a fixed amount of work under a call chain of a given depth.
 *
 *	work THREADS DEPTH UNITS
 *
 * Prints the CPU seconds that each unit of a million steps has taken, over all
 * threads: what a recorder adds to that is its cost for the program.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEPS 1000000

static unsigned depth, units;
static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t leaf(uint64_t x)
{
	for (unsigned i = 0; i < STEPS; i++)
		x = x * 6364136223846793005u + i;
	return x;
}

/* Not a tail call: the frame stays. */
__attribute__((noinline)) static uint64_t descend(unsigned left, uint64_t x)
{
	uint64_t r = left ? descend(left - 1, x + left) : leaf(x);

	__asm__ volatile("" : "+r"(r));
	return r + left;
}

static void *thread(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < units; i++)
		sink += descend(depth, i);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc == 4 ? (unsigned)atoi(argv[1]) : 0;
	struct timespec ts;
	pthread_t ids[64];

	if (n == 0 || n > 64) {
		fprintf(stderr, "usage: work THREADS DEPTH UNITS\n");
		return 2;
	}
	depth = (unsigned)atoi(argv[2]);
	units = (unsigned)atoi(argv[3]);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&ids[i], NULL, thread, NULL) != 0)
			return 1;
	for (unsigned i = 0; i < n; i++)
		pthread_join(ids[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	printf("%.9f\n", ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9) / (n * units));
	return 0;
}
