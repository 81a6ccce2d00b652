/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flood.c - recorded system calls, as many as possible or at a given rate.
 *
 *	flood [-t THREADS] [-n CALLS | -s SECONDS] [-r CALLS_PER_SECOND]
 *
 * -n and -r are for all threads together. Each thread sends a byte to itself
 * through a socket pair and receives it, in turn. At the end: "calls N seconds
 * S", with every call that the source "syscalls" records in N.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define BURST	    128 /* calls between two looks at the clock */

struct worker {
	pthread_t id;
	uint64_t limit, n; /* calls */
	uint64_t end_ns;   /* 0 = when `limit` is reached */
	double rate;	   /* per second; 0 = unlimited */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void burst(int fds[2], struct worker *w, uint64_t max)
{
	char byte = 'x';

	for (uint64_t i = 0; i < max; i++) {
		ssize_t r = i % 2 ? recv(fds[1], &byte, 1, MSG_DONTWAIT)
				  : send(fds[0], &byte, 1, MSG_DONTWAIT);

		if (r != 1) {
			perror("flood");
			exit(1);
		}
		w->n++;
	}
}

static void *run(void *arg)
{
	struct worker *w = arg;
	uint64_t start = now_ns(), now = start;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) < 0) {
		perror("socketpair");
		exit(1);
	}
	w->n = 3; /* with the two that close */
	while (w->n < w->limit && (w->end_ns == 0 || now < w->end_ns)) {
		uint64_t left = w->limit - w->n;

		burst(fds, w, left < BURST ? left : BURST);
		now = now_ns();
		if (w->rate > 0) {
			uint64_t due = start + (uint64_t)((double)w->n / w->rate * 1e9);
			struct timespec ts = { (time_t)(due / 1000000000),
					       (long)(due % 1000000000) };

			while (due > now &&
			       clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
				;
			now = now_ns();
		}
	}
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[MAX_THREADS];
	uint64_t calls = UINT64_MAX, n = 0, start = now_ns();
	double seconds = 0, rate = 0;
	int opt, n_threads = 2;

	while ((opt = getopt(argc, argv, "t:n:s:r:")) != -1) {
		switch (opt) {
		case 't':
			n_threads = atoi(optarg);
			break;
		case 'n':
			calls = strtoull(optarg, NULL, 10);
			break;
		case 's':
			seconds = atof(optarg);
			break;
		case 'r':
			rate = atof(optarg);
			break;
		default:
			return 2;
		}
	}
	if (n_threads < 1 || n_threads > MAX_THREADS || (calls == UINT64_MAX && seconds <= 0)) {
		fprintf(stderr, "usage: flood [-t THREADS] [-n CALLS | -s SECONDS] [-r RATE]\n");
		return 2;
	}

	for (int i = 0; i < n_threads; i++) {
		struct worker *w = &workers[i];

		w->limit = calls == UINT64_MAX ? calls : calls / (uint64_t)n_threads;
		w->end_ns = seconds > 0 ? start + (uint64_t)(seconds * 1e9) : 0;
		w->rate = rate / n_threads;
		if (pthread_create(&w->id, NULL, run, w) != 0) {
			perror("pthread_create");
			return 1;
		}
	}
	for (int i = 0; i < n_threads; i++) {
		pthread_join(workers[i].id, NULL);
		n += workers[i].n;
	}
	printf("calls %llu seconds %.3f\n", (unsigned long long)n,
	       (double)(now_ns() - start) / 1e9);
	return 0;
}
