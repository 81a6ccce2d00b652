/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netclient.c - does with sockets what makes it hard to say whose they are, and says what
 * it did.
 *
 *	netclient pipeline ADDR PORT PATH...
 *		requests in one send(), then the answers
 *	netclient number ADDR PORT MS
 *		/n/1, /n/2, ... on one connection, so long, a thousand a second at most
 *	netclient fork ADDR PORT
 *		/parent, then /child by a child that has dup()ed it
 *	netclient pass ADDR PORT
 *		/sender, then /receiver by who was sent it (SCM_RIGHTS)
 *	netclient reuse ADDR PORT PORT2 N
 *		connects to both in turn, always the same descriptor
 *	netclient twin ADDR PORT SOURCE PATH
 *		/PATH from port SOURCE
 *	netclient reset ADDR PORT PATH
 *		sends a request and resets the connection (SO_LINGER)
 *	netclient ask ADDR NAME...
 *		A queries, each by a socket of its own that is closed
 *
 * Lines: "request PID TID LOCAL_PORT PATH", "connection PID LOCAL_PORT REMOTE_PORT FD
 * BEGIN_NS END_NS" (CLOCK_BOOTTIME around connect() and close()), "query PID NAME".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOST "www.test.lan"

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int connect_from(const char *addr, const char *port, int source)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_port = htons(source) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || inet_pton(AF_INET, addr, &to.sin_addr) != 1)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (source && bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
		die("bind");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connect");
	return fd;
}

static int local_port(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		die("getsockname");
	return ntohs(a.sin_port);
}

static void send_all(int fd, const char *data, size_t len)
{
	if (send(fd, data, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("send");
}

/* Reads `n` responses, all of which have a Content-Length; they may come in any pieces. */
static void receive(int fd, int n)
{
	static char buf[1 << 16];
	size_t len = 0;

	while (n > 0) {
		char *end, *length;
		size_t whole;
		ssize_t r = recv(fd, buf + len, sizeof(buf) - 1 - len, 0);

		if (r <= 0)
			die("recv");
		len += (size_t)r;
		buf[len] = '\0';
		while (n > 0 && (end = strstr(buf, "\r\n\r\n"))) {
			length = strcasestr(buf, "\r\nContent-Length:");
			whole = (size_t)(end - buf) + 4 +
				(length ? strtoul(length + 17, NULL, 10) : 0);
			if (len < whole)
				break;
			memmove(buf, buf + whole, len - whole + 1);
			len -= whole;
			n--;
		}
	}
}

static size_t request_text(char *buf, size_t size, const char *path)
{
	return (size_t)snprintf(buf, size, "GET %s HTTP/1.1\r\nHost: " HOST "\r\n\r\n", path);
}

static void get(int fd, const char *path)
{
	char text[512];

	send_all(fd, text, request_text(text, sizeof(text), path));
	receive(fd, 1);
	printf("request %d %d %d %s\n", getpid(), gettid(), local_port(fd), path);
	fflush(stdout);
}

/* ---- what it can do ---- */

static void pipeline(char **argv)
{
	int fd = connect_from(argv[0], argv[1], 0), n = 0;
	char text[4096];
	size_t len = 0;

	for (char **path = argv + 2; *path; path++, n++)
		len += request_text(text + len, sizeof(text) - len, *path);
	send_all(fd, text, len);
	receive(fd, n);
}

static void number(char **argv)
{
	int fd = connect_from(argv[0], argv[1], 0);
	uint64_t end = now_ns() + strtoull(argv[2], NULL, 10) * 1000000;
	char path[64], text[256];

	for (int i = 1; now_ns() < end; i++) {
		snprintf(path, sizeof(path), "/n/%d", i);
		send_all(fd, text, request_text(text, sizeof(text), path));
		receive(fd, 1);
		usleep(1000);
	}
}

static void in_child(char **argv)
{
	int fd = connect_from(argv[0], argv[1], 0);
	int status;
	pid_t child;

	get(fd, "/parent");
	child = fork();
	if (child == 0) {
		fd = dup(fd);
		get(fd, "/child");
		exit(0);
	}
	if (waitpid(child, &status, 0) < 0 || status)
		exit(1);
	get(fd, "/parent/again");
}

static void pass(char **argv)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec byte = { .iov_base = "x", .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &byte,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	int pair[2], fd, status;
	char received;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0)
		die("socketpair");
	if (fork() == 0) { /* before there is a connection: it cannot inherit it */
		byte.iov_base = &received;
		if (recvmsg(pair[1], &msg, 0) != 1)
			die("recvmsg");
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
		get(fd, "/receiver");
		exit(0);
	}
	fd = connect_from(argv[0], argv[1], 0);
	get(fd, "/sender");
	CMSG_FIRSTHDR(&msg)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&msg)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&msg)->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), &fd, sizeof(fd));
	if (sendmsg(pair[0], &msg, 0) != 1)
		die("sendmsg");
	close(fd);
	if (wait(&status) < 0 || status)
		exit(1);
}

static void reuse(char **argv)
{
	for (int i = 0, n = atoi(argv[3]); i < n; i++) {
		const char *port = argv[1 + i % 2];
		uint64_t begin = now_ns();
		int fd = connect_from(argv[0], port, 0);
		int local = local_port(fd);

		close(fd);
		printf("connection %d %d %s %d %" PRIu64 " %" PRIu64 "\n", getpid(), local, port,
		       fd, begin, now_ns());
	}
}

static void twin(char **argv)
{
	get(connect_from(argv[0], argv[1], atoi(argv[2])), argv[3]);
}

static void reset(char **argv)
{
	struct linger linger = { .l_onoff = 1 };
	int fd = connect_from(argv[0], argv[1], 0);
	char text[512];

	send_all(fd, text, request_text(text, sizeof(text), argv[2]));
	printf("request %d %d %d %s\n", getpid(), gettid(), local_port(fd), argv[2]);
	usleep(100000); /* it has arrived */
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

static size_t query_text(uint8_t *buf, uint16_t id, const char *name)
{
	const uint8_t head[12] = { id >> 8, id & 0xff, 1, 0, 0, 1 };
	const uint8_t tail[5] = { 0, 0, 1, 0, 1 };
	uint8_t *at = buf + sizeof(head);

	memcpy(buf, head, sizeof(head));
	for (const char *label = name; label; label = strchr(label, '.'), label += !!label) {
		size_t len = strcspn(label, ".");

		*at++ = (uint8_t)len;
		memcpy(at, label, len);
		at += len;
		if (!label[len])
			break;
	}
	memcpy(at, tail, sizeof(tail));
	return (size_t)(at - buf) + sizeof(tail);
}

/* The kernel gives such a socket the memory of the last one, whoever had it. */
static void ask(char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	uint8_t text[512];

	inet_pton(AF_INET, argv[0], &to.sin_addr);
	for (char **name = argv + 1; *name; name++) {
		int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		size_t len = query_text(text, 7, *name);

		if (sendto(fd, text, len, 0, (struct sockaddr *)&to, sizeof(to)) != (ssize_t)len ||
		    recv(fd, text, sizeof(text), 0) < 12)
			die("query");
		close(fd);
		printf("query %d %s\n", getpid(), *name);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int n_args;
		void (*run)(char **argv);
	} modes[] = {
		{ "pipeline", 3, pipeline }, { "number", 3, number }, { "fork", 2, in_child },
		{ "pass", 2, pass },	     { "reuse", 4, reuse },   { "twin", 4, twin },
		{ "reset", 3, reset },	     { "ask", 2, ask },
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc >= 2 + modes[i].n_args && !strcmp(argv[1], modes[i].name)) {
			modes[i].run(argv + 2);
			return 0;
		}
	}
	fputs("usage: netclient MODE ARGS\n", stderr);
	return 2;
}
