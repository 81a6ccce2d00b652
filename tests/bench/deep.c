/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deep.c - burns CPU time under a call chain of many forms, built without frame
 * pointers: small and large frames, and libc's qsort() on the way.
 *
 *	deep DEPTH [MILLISECONDS]	0: for ever
 *
 * With MILLISECONDS it is over after so much CPU time: a short-lived process.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FRAME __attribute__((noipa))

static uint64_t end_ns;
static volatile uint64_t sink;

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

FRAME static uint64_t leaf(uint64_t x)
{
	for (unsigned i = 0; i < 200000; i++)
		x = x * 6364136223846793005u + i;
	return x;
}

FRAME static uint64_t small(unsigned left);

/* What qsort() calls goes on from where its caller was. */
static unsigned below;

FRAME static int compare(const void *a, const void *b)
{
	unsigned left = below;

	if (left) {
		below = 0; /* once for each sort */
		sink += small(left);
	}
	return *(const int *)a - *(const int *)b;
}

FRAME static uint64_t sorts(unsigned left)
{
	int v[] = { 2, 1 };

	below = left - 1;
	qsort(v, 2, sizeof(v[0]), compare);
	return (uint64_t)v[0];
}

FRAME static uint64_t large(unsigned left)
{
	volatile char frame[1024];
	uint64_t r;

	frame[left & 1023] = 1;
	r = small(left - 1);
	return r + (uint64_t)frame[left & 1023];
}

FRAME static uint64_t small(unsigned left)
{
	uint64_t r;

	if (left == 0)
		r = leaf(left);
	else if (left % 8 == 7)
		r = sorts(left);
	else if (left % 4 == 3)
		r = large(left);
	else
		r = small(left - 1);
	__asm__ volatile("" : "+r"(r)); /* no tail call */
	return r + left;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)atoi(argv[1]) : 48;

	if (argc > 2)
		end_ns = (uint64_t)atoi(argv[2]) * 1000000;
	do
		sink += small(depth);
	while (!end_ns || cpu_ns() < end_ns);
	return 0;
}
