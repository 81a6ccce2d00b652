/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.c - functions and a USDT probe to be probed, called so often as one is told.
 *
 *	probes calls N		probed(i, "call I"), i from 0; prints "N calls"
 *	probes nest N		outer(i) that calls itself down to 0, and inner()
 *	probes usdt N		the probe shop:sell(i, "item I"), where somebody probes it; prints
 *				how often somebody did
 *	probes busy SECONDS	probed() without end, or until SIGTERM; prints how often
 *	probes threads N M	N threads, M calls of probed() each
 *	probes cost N		N calls of probed(); prints the CPU time of one, in ns
 *	probes libc N M		a64l() of the C library, every M ms, N times
 *
 * Exit status 1: a function has not done what it does.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct item {
	long number;
	const char *name;
	struct item *next;
};

/* ---- functions ---- */

__attribute__((noinline)) long probed(long n, const char *text, const struct item *item)
{
	__asm__ volatile("" ::"r"(text), "r"(item) : "memory");
	return n * 3 + 1;
}

__attribute__((noinline)) long inner(long n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

__attribute__((noinline)) long outer(long n)
{
	long ret;

	if (n == 0)
		return inner(0);
	ret = outer(n - 1) + inner(n);
	__asm__ volatile("" : "+r"(ret));
	return ret;
}

/* ---- a USDT probe: a note of systemtap's, version 3 ---- */

#if defined(__x86_64__)
#define SELL_ARGS "-8@%rdi 8@%rsi"
#else
#define SELL_ARGS "-8@x0 8@x1"
#endif

__asm__(".pushsection .probes, \"aw\", @progbits\n"
	".balign 2\n"
	"sell_semaphore: .2byte 0\n"
	".popsection\n"
	".pushsection .stapsdt.base, \"aG\", @progbits, .stapsdt.base, comdat\n"
	".weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n"
	".popsection\n"
	".text\n"
	".globl sell\n"
	".type sell, %function\n"
	"sell:\n"
	".cfi_startproc\n"
	"990: nop\n"
	"ret\n"
	".cfi_endproc\n"
	".size sell, . - sell\n"
	".pushsection .note.stapsdt, \"\", @note\n"
	".balign 4\n"
	".4byte 992f - 991f, 994f - 993f, 3\n"
	"991: .asciz \"stapsdt\"\n"
	"992: .balign 4\n"
	"993: .8byte 990b, _.stapsdt.base, sell_semaphore\n"
	".asciz \"shop\"\n"
	".asciz \"sell\"\n"
	".asciz \"" SELL_ARGS "\"\n"
	"994: .balign 4\n"
	".popsection\n");

void sell(long n, const char *name);
extern unsigned short sell_semaphore __attribute__((visibility("hidden")));

/* ---- what there is to do ---- */

static int calls(long n)
{
	struct item last = { 7, "last", NULL }, item = { 5, "first", &last };
	char text[64];

	for (long i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "call %ld", i);
		if (probed(i, text, &item) != i * 3 + 1)
			return 1;
	}
	printf("%ld calls\n", n);
	return 0;
}

static int nest(long n)
{
	return outer(n) != (n + 1) * (n + 2) / 2;
}

static int sales(long n)
{
	char text[64];
	long seen = 0;

	for (long i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "item %ld", i);
		if (*(volatile unsigned short *)&sell_semaphore == 0)
			continue;
		sell(i, text);
		seen++;
	}
	printf("%ld sales\n", seen);
	return 0;
}

static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

static int busy(double seconds)
{
	struct timespec begin, now;
	unsigned long n = 0;

	signal(SIGTERM, on_signal);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 100; i++, n++)
			if (probed((long)n, "busy", NULL) != (long)n * 3 + 1)
				return 1;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!stopped &&
		 (double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
			 seconds);
	printf("%lu calls\n", n);
	return 0;
}

static void *call(void *arg)
{
	long n = (long)(size_t)arg;

	for (long i = 0; i < n; i++)
		if (probed(i, "thread", NULL) != i * 3 + 1)
			exit(1);
	return NULL;
}

static int threads(long n, long each)
{
	pthread_t all[256];

	for (long i = 0; i < n && i < 256; i++)
		if (pthread_create(&all[i], NULL, call, (void *)(size_t)each) != 0)
			return 1;
	for (long i = 0; i < n && i < 256; i++)
		pthread_join(all[i], NULL);
	printf("%ld calls\n", n * each);
	return 0;
}

static double cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static int cost(long n)
{
	double begin_ns = cpu_ns();

	for (long i = 0; i < n; i++)
		if (probed(i, "some text", NULL) != i * 3 + 1)
			return 1;
	printf("%.1f\n", (cpu_ns() - begin_ns) / (double)n);
	return 0;
}

static int libc(long n, long ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };

	for (long i = 0; i < n; i++) {
		if (a64l("/") != 1)
			return 1;
		nanosleep(&pause, NULL);
	}
	printf("%ld calls\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "calls") == 0)
		return calls(atol(argv[2]));
	if (strcmp(what, "nest") == 0)
		return nest(atol(argv[2]));
	if (strcmp(what, "usdt") == 0)
		return sales(atol(argv[2]));
	if (strcmp(what, "busy") == 0)
		return busy(atof(argv[2]));
	if (strcmp(what, "threads") == 0 && argc > 3)
		return threads(atol(argv[2]), atol(argv[3]));
	if (strcmp(what, "cost") == 0)
		return cost(atol(argv[2]));
	if (strcmp(what, "libc") == 0 && argc > 3)
		return libc(atol(argv[2]), atol(argv[3]));
	fprintf(stderr, "usage: probes calls|nest|usdt|busy|threads|cost|libc N [M]\n");
	return 2;
}
