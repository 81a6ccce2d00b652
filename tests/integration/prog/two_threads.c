/* SPDX-License-Identifier: Apache-2.0 */
/*
 * two_threads.c - two threads with names, which compute in functions of their own
 * for some CPU time each; then one of them replaces the program's name.
 *
 *	two_threads LEFT_MS RIGHT_MS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile uint64_t sink;

static uint64_t cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

__attribute__((noinline)) static uint64_t hot_left(uint64_t x)
{
	for (volatile int i = 0; i < 100000; i++)
		x = x * 6364136223846793005u + (uint64_t)i;
	return x;
}

__attribute__((noinline)) static uint64_t hot_right(uint64_t x)
{
	for (volatile int i = 0; i < 100000; i++)
		x = x * 2862933555777941757u + (uint64_t)i;
	return x;
}

__attribute__((noinline)) static void work(uint64_t (*hot)(uint64_t), uint64_t ms)
{
	uint64_t end = cpu_ms() + ms;

	while (cpu_ms() < end)
		sink = hot(sink);
}

static void *left(void *ms)
{
	pthread_setname_np(pthread_self(), "left");
	work(hot_left, (uintptr_t)ms);
	return NULL;
}

static void *right(void *ms)
{
	pthread_setname_np(pthread_self(), "right");
	work(hot_right, (uintptr_t)ms);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t left_ms, right_ms;
	pthread_t threads[2];

	if (argc != 3) {
		fprintf(stderr, "usage: two_threads LEFT_MS RIGHT_MS\n");
		return 2;
	}
	left_ms = strtoull(argv[1], NULL, 10);
	right_ms = strtoull(argv[2], NULL, 10);
	if (pthread_create(&threads[0], NULL, left, (void *)(uintptr_t)left_ms) != 0 ||
	    pthread_create(&threads[1], NULL, right, (void *)(uintptr_t)right_ms) != 0)
		return 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	pthread_setname_np(pthread_self(), "two-renamed");
	work(hot_right, right_ms / 4);
	return 0;
}
