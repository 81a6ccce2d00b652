/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netload.c - HTTP over loopback with itself, at a rate or on many connections.
 *
 *	netload rate THREADS EVENTS_PER_SECOND SECONDS
 *		each thread sends a request and an answer through a connection of its own and
 *		receives both: four events. At the end: "events N seconds S"
 *	netload hold N
 *		opens N connections, one request and answer on each; says "ready", and closes
 *		them at the end of stdin
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define BURST	    32	/* requests between two looks at the clock */
#define PER_REQUEST 4	/* events */
#define PER_PROCESS 400 /* connections: two descriptors each */

static const char request[] = "GET /index.html HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
			     "Content-Length: 5\r\n\r\nhello";

struct pair {
	int client, server;
};

struct worker {
	pthread_t id;
	uint64_t end_ns, n_requests;
	double per_second;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int listener(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET };
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, len) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)addr, &len) < 0)
		die("listen");
	return fd;
}

static struct pair connection(int listening, const struct sockaddr_in *addr)
{
	struct pair p = { .client = socket(AF_INET, SOCK_STREAM, 0) };

	if (p.client < 0 || connect(p.client, (const struct sockaddr *)addr, sizeof(*addr)) < 0)
		die("connect");
	p.server = accept(listening, NULL, NULL);
	if (p.server < 0)
		die("accept");
	return p;
}

static void move(int from, int to, const char *data, size_t len)
{
	char buf[512];

	/* Loopback hands over at once, and as it was sent. */
	if (send(from, data, len, MSG_NOSIGNAL) != (ssize_t)len ||
	    recv(to, buf, sizeof(buf), 0) != (ssize_t)len)
		die("move");
}

static void exchange(const struct pair *p)
{
	move(p->client, p->server, request, sizeof(request) - 1);
	move(p->server, p->client, answer, sizeof(answer) - 1);
}

static void *run(void *arg)
{
	struct worker *w = arg;
	struct sockaddr_in addr;
	struct pair p = connection(listener(&addr), &addr);
	uint64_t start = now_ns(), now = start;

	while (now < w->end_ns) {
		if ((double)w->n_requests > (double)(now - start) / 1e9 * w->per_second) {
			usleep(500);
		} else {
			for (int i = 0; i < BURST; i++)
				exchange(&p);
			w->n_requests += BURST;
		}
		now = now_ns();
	}
	return NULL;
}

static int rate(int n_threads, double events, double seconds)
{
	static struct worker workers[MAX_THREADS];
	uint64_t start = now_ns(), n = 0;

	if (n_threads < 1 || n_threads > MAX_THREADS)
		return 2;
	for (int i = 0; i < n_threads; i++) {
		workers[i].end_ns = start + (uint64_t)(seconds * 1e9);
		workers[i].per_second = events / PER_REQUEST / n_threads;
		if (pthread_create(&workers[i].id, NULL, run, &workers[i]))
			die("pthread_create");
	}
	for (int i = 0; i < n_threads; i++) {
		pthread_join(workers[i].id, NULL);
		n += workers[i].n_requests;
	}
	printf("events %lu seconds %.3f\n", (unsigned long)n * PER_REQUEST,
	       (double)(now_ns() - start) / 1e9);
	return 0;
}

/* Until stdin ends. */
static void hold_some(int n, int ready)
{
	struct sockaddr_in addr;
	int listening = listener(&addr);
	char byte = 'x';

	for (int i = 0; i < n; i++) {
		struct pair p = connection(listening, &addr);

		exchange(&p);
	}
	if (write(ready, &byte, 1) != 1 || read(STDIN_FILENO, &byte, 1) < 0)
		die("hold");
	exit(0);
}

static int hold(int n)
{
	int ready[2];
	char byte;

	if (pipe(ready) < 0)
		die("pipe");
	for (int left = n; left > 0; left -= PER_PROCESS) {
		if (fork() == 0)
			hold_some(left < PER_PROCESS ? left : PER_PROCESS, ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			die("a child");
	}
	puts("ready");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "rate"))
		return rate(atoi(argv[2]), atof(argv[3]), atof(argv[4]));
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(atoi(argv[2]));
	fputs("usage: netload rate THREADS EVENTS_PER_SECOND SECONDS | hold N\n", stderr);
	return 2;
}
