/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers.c - makes markers.
 *
 *	markers nest		slices within slices, with payloads of all types; an end without a
 *				begin, a begin without an end; threads; counters; asynchronous ones
 *	markers burst N		N instants as fast as it goes; prints N
 *	markers busy SECONDS	slices "busy" of 20 ms of work in busy_work(), and pauses of 20 ms
 *	markers cost N		what a turn of an empty loop costs, and one with an instant: ns each
 *	markers recorded N	the same while somebody records
 *
 * But for `cost` it waits for that.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../../daemon/marker.h"

#define WAIT_MS 20000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void wait_for_recorder(void)
{
	for (int i = 0; i < WAIT_MS && !tracer_enabled(); i++)
		usleep(1000);
	if (!tracer_enabled()) {
		fputs("markers: nobody records\n", stderr);
		exit(1);
	}
}

static volatile unsigned long sum;

__attribute__((noinline)) static void busy_work(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		for (int i = 0; i < 1000; i++)
			sum += (unsigned long)i;
}

static void *on_thread(void *name)
{
	tracer_begin((const char *)name, tracer_i64("thread", 1));
	tracer_async_end("request", 7, tracer_str("status", "ok"));
	tracer_end((const char *)name);
	return NULL;
}

static void nest(void)
{
	char text[400];
	pthread_t thread;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	tracer_end("never begun");
	tracer_begin("outer", tracer_i64("i", -5), tracer_u64("u", 1ull << 63),
		     tracer_f64("f", 2.5), tracer_str("s", "text"), tracer_bool("b", 1));
	tracer_begin("inner", tracer_str("long", text), tracer_str("null", NULL));
	tracer_instant("now", tracer_i64("n", 1));
	tracer_end("inner", tracer_str("result", "good"));
	tracer_begin("left open");
	tracer_end("outer", tracer_i64("end", 3));
	tracer_counter("queue", 4);
	tracer_counter("queue", -2);
	tracer_counter_f64("load", 0.75);
	tracer_async_begin("request", 7, tracer_str("path", "/"));
	pthread_create(&thread, NULL, on_thread, (void *)"threaded");
	pthread_join(thread, NULL);
	tracer_begin("");
	tracer_end("");
	tracer_begin("to the end");
	usleep(20000);
}

static void burst(long n)
{
	for (long i = 0; i < n; i++)
		tracer_instant("burst", tracer_i64("i", i));
	printf("%ld\n", n);
}

static void busy(double seconds)
{
	double end = now() + seconds;

	while (now() < end) {
		tracer_begin("busy");
		busy_work(0.02);
		tracer_end("busy");
		usleep(20000);
	}
}

static void cost(long n)
{
	double begin = now(), middle;

	for (long i = 0; i < n; i++)
		__asm__ volatile("" ::: "memory");
	middle = now();
	for (long i = 0; i < n; i++) {
		__asm__ volatile("" ::: "memory");
		tracer_instant("cost", tracer_i64("i", i));
	}
	printf("%.3f %.3f\n", (middle - begin) * 1e9 / (double)n,
	       (now() - middle) * 1e9 / (double)n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	double n = argc > 2 ? atof(argv[2]) : 0;

	if (strcmp(what, "cost") == 0) {
		cost((long)n);
		return 0;
	}
	wait_for_recorder();
	if (strcmp(what, "nest") == 0)
		nest();
	else if (strcmp(what, "burst") == 0)
		burst((long)n);
	else if (strcmp(what, "busy") == 0)
		busy(n);
	else if (strcmp(what, "recorded") == 0)
		cost((long)n);
	else
		return 2;
	return 0;
}
