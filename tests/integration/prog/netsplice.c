/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netsplice.c - reads from sockets with splice(), and says how much.
 *
 *	netsplice get ADDR PORT FILE PATH...	requests on one connection, their bodies into FILE
 *	netsplice relay PORT ADDR PORT2		one connection to PORT, both ways to ADDR:PORT2
 *
 * Of bodies in chunks the lines between these are received. Lines: "received BYTES", what
 * the program has taken out of its sockets.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned long long n_received;

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static struct sockaddr_in address(const char *addr, const char *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	if (inet_pton(AF_INET, addr, &a.sin_addr) != 1)
		die("inet_pton");
	return a;
}

static int connect_to(const char *addr, const char *port)
{
	struct sockaddr_in to = address(addr, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	return fd;
}

/* Through the pipe, all of what has come; 0: the end. */
static size_t splice_some(int from, int to, const int pipe_fds[2], size_t max)
{
	ssize_t n = splice(from, NULL, pipe_fds[1], NULL, max, SPLICE_F_MOVE);

	if (n < 0)
		die("splice");
	n_received += (size_t)n;
	for (ssize_t left = n, r; left > 0; left -= r) {
		r = splice(pipe_fds[0], NULL, to, NULL, (size_t)left, SPLICE_F_MOVE);
		if (r <= 0)
			die("splice out");
	}
	return (size_t)n;
}

static void splice_all(int from, int to, const int pipe_fds[2], size_t n)
{
	while (n > 0) {
		size_t some = splice_some(from, to, pipe_fds, n);

		if (!some)
			die("the end");
		n -= some;
	}
}

/* Up to `end` and not a byte more: what is behind it stays in the socket. */
static void receive_until(int fd, const char *end, char *ret, size_t size)
{
	size_t len;
	char *found;
	ssize_t n;

	do {
		n = recv(fd, ret, size - 1, MSG_PEEK);
		if (n <= 0)
			die("recv");
		ret[n] = '\0';
		found = strstr(ret, end);
	} while (!found);
	len = (size_t)(found - ret) + strlen(end);
	if (recv(fd, ret, len, MSG_WAITALL) != (ssize_t)len)
		die("recv");
	ret[len] = '\0';
	n_received += len;
}

static void take_chunks(int fd, int to, const int pipe_fds[2])
{
	char line[256];

	for (;;) {
		size_t n;

		receive_until(fd, "\r\n", line, sizeof(line));
		n = strtoul(line, NULL, 16);
		splice_all(fd, to, pipe_fds, n);
		receive_until(fd, "\r\n", line, sizeof(line));
		if (!n)
			return;
	}
}

static void get(int fd, int to, const int pipe_fds[2], const char *path)
{
	char text[4096];
	const char *length;
	int n = snprintf(text, sizeof(text),
			 "GET %s HTTP/1.1\r\nHost: www.test.lan\r\nAccept-Encoding: gzip\r\n\r\n",
			 path);

	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n)
		die("send");
	receive_until(fd, "\r\n\r\n", text, sizeof(text));
	length = strcasestr(text, "\r\nContent-Length:");
	if (length)
		splice_all(fd, to, pipe_fds, strtoul(length + 17, NULL, 10));
	else
		take_chunks(fd, to, pipe_fds);
}

static int accept_one(const char *port)
{
	struct sockaddr_in at = address("0.0.0.0", port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, conn;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 1) < 0)
		die("listen");
	conn = accept(fd, NULL, NULL);
	if (conn < 0)
		die("accept");
	close(fd);
	return conn;
}

static void relay(int a, int b, const int pipe_fds[2])
{
	struct pollfd fds[2] = { { .fd = a, .events = POLLIN }, { .fd = b, .events = POLLIN } };
	int n_open = 2;

	while (n_open > 0) {
		if (poll(fds, 2, -1) < 0)
			die("poll");
		for (int i = 0; i < 2; i++) {
			int to = i ? a : b;

			if (!fds[i].revents || splice_some(fds[i].fd, to, pipe_fds, 1 << 16) > 0)
				continue;
			shutdown(to, SHUT_WR);
			fds[i].fd = -1;
			n_open--;
		}
	}
}

int main(int argc, char *argv[])
{
	int pipe_fds[2];

	if (argc < 5 || pipe2(pipe_fds, O_CLOEXEC) < 0)
		die("usage");
	if (strcmp(argv[1], "get") == 0) {
		int fd = connect_to(argv[2], argv[3]);
		int to = open(argv[4], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		if (to < 0)
			die(argv[4]);
		for (int i = 5; i < argc; i++)
			get(fd, to, pipe_fds, argv[i]);
	} else {
		int fd = accept_one(argv[2]);

		relay(fd, connect_to(argv[3], argv[4]), pipe_fds);
	}
	printf("received %llu\n", n_received);
	return 0;
}
