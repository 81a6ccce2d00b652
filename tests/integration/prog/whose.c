/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whose.c - a process that does some of everything, and whose traces all bear its name:
 * threads, samples, waits, calls, requests, markers, sockets.
 *
 *	whose NAME		until it is killed
 *	whose NAME drop UID GID	as root until the file NAME.go is there; then it has that user's
 *				ids, but is the same program
 *	whose NAME become UID GID	and says that it may be looked into, as NAME2
 *	whose NAME wake PID	every turn wakes that one, which waits in `whose NAME wait`
 */
#include <arpa/inet.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../../../daemon/marker.h"

static char name[64];
static volatile unsigned long sum;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) static void busy_work(double seconds)
{
	double end = now() + seconds;

	while (now() < end)
		for (int i = 0; i < 1000; i++)
			sum += (unsigned long)i;
}

/* ---- a server of its own, and requests to it ---- */

static int listener;
static struct sockaddr_in address = { .sin_family = AF_INET };

static void *serve(void *arg)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
	char head[512], thread[16];

	(void)arg;
	snprintf(thread, sizeof(thread), "%.11sthr", name);
	prctl(PR_SET_NAME, thread);
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			die("accept");
		while (recv(fd, head, sizeof(head), 0) > 0)
			if (send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) < 0)
				break;
		close(fd);
	}
	return NULL;
}

static void start_server(void)
{
	socklen_t len = sizeof(address);
	pthread_t thread;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 8) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) < 0 ||
	    pthread_create(&thread, NULL, serve, NULL) != 0)
		die("a server");
}

static void request(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), n;
	char text[256];

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("connect");
	n = snprintf(text, sizeof(text), "GET /%s-url HTTP/1.1\r\nHost: %s.host\r\n\r\n", name,
		     name);
	if (send(fd, text, (size_t)n, 0) != n || recv(fd, text, sizeof(text), 0) <= 0)
		die("request");
	close(fd);
}

static void datagram(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int in = socket(AF_UNIX, SOCK_DGRAM, 0), out = socket(AF_UNIX, SOCK_DGRAM, 0);
	socklen_t len = sizeof(to.sun_family) + 1;
	char byte = 0;

	len += (socklen_t)snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s-socket", name);
	if (in < 0 || out < 0 || bind(in, (struct sockaddr *)&to, len) < 0 ||
	    connect(out, (struct sockaddr *)&to, len) < 0)
		die("a socket");
	if (send(out, &byte, 1, 0) != 1 || recv(in, &byte, 1, 0) != 1)
		die("a datagram");
	close(in);
	close(out);
}

static void rename_self(const char *to)
{
	char comm[16];

	snprintf(name, sizeof(name), "%s", to);
	snprintf(comm, sizeof(comm), "%.10scomm", name);
	prctl(PR_SET_NAME, comm);
}

static void turn(pid_t wakes)
{
	char marker[80];

	snprintf(marker, sizeof(marker), "%s-marker", name);
	tracer_begin(marker, tracer_str("value", name));
	busy_work(0.002);
	request();
	datagram();
	tracer_end(marker);
	if (wakes > 0)
		kill(wakes, SIGUSR1);
	usleep(100000);
}

static void take_ids(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		die("ids");
}

static void wait_for_signals(void)
{
	sigset_t set;
	int signal;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	puts("waits");
	fflush(stdout);
	for (;;)
		sigwait(&set, &signal);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[2] : "";
	bool changes = argc > 4, becomes = strcmp(what, "become") == 0;
	char go[80], other[64];
	pid_t wakes = 0;

	if (argc < 2)
		return 2;
	rename_self(argv[1]);
	if (strcmp(what, "wait") == 0)
		wait_for_signals();
	if (strcmp(what, "wake") == 0 && argc > 3)
		wakes = atoi(argv[3]);
	start_server();
	snprintf(go, sizeof(go), "%s.go", argv[1]);
	snprintf(other, sizeof(other), "%.32s2", argv[1]);
	for (;;) {
		turn(wakes);
		if (!changes || access(go, F_OK) != 0)
			continue;
		changes = false;
		take_ids((uid_t)atoi(argv[3]), (gid_t)atoi(argv[4]));
		if (becomes) {
			prctl(PR_SET_DUMPABLE, 1);
			rename_self(other);
		}
	}
}
