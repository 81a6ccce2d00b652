/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rawclient.c - a client of tracerd that does what tracectl never would.
 *
 *	rawclient SOCKET ACTION [ARG]...
 *
 * Connects and does the actions in order; says one line for each answer.
 *
 *   hello PROTOCOL   sends that request; its answer is not waited for
 *   start SOURCES    asks for a session of these sources (a,b)
 *   status, stop     ask for these
 *   head LEN TYPE    sends the head of a frame alone
 *   random N SEED    sends N bytes
 *   slowly           what follows is sent byte by byte
 *   fds N            the next request carries N descriptors
 *   reply            prints the next answer that is not part of a trace
 *   trace            reads until bytes of a trace come
 *   end              waits until the daemon closes; what comes before is thrown away
 *   wait             says "ready" and waits for the end of the input
 *   connect          closes and connects again
 *   another          connects once more, the other connection stays open
 *   repeat N         does what follows N times
 *
 * Exits with 1, and says why, when something else happens than was asked for.
 * Built from nothing of the daemon's: its own idea of the protocol.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAD	  8
#define MAX_FDS	  253 /* SCM_MAX_FD of the kernel */
#define MAX_FRAME (2u << 20)
#define WAIT_MS	  60000

static const char *socket_path;
static int sock = -1;
static bool slowly;
static int n_fds; /* for the next request */
static uint32_t last_id;

static void die(const char *what)
{
	printf("rawclient: %s\n", what);
	exit(1);
}

static void do_connect(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", socket_path);
	/* A full backlog blocks, like any other client. */
	if (sock < 0 || connect(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		die(strerror(errno));
}

/* ---- sending ---- */

/* Returns false when the daemon has closed: often that is what is wanted. */
static bool send_with_fds(const uint8_t *data, size_t len)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
	for (int i = 0; i < n_fds; i++)
		((int *)CMSG_DATA(c))[i] = STDIN_FILENO;
	n_fds = 0;
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool send_bytes(const uint8_t *data, size_t len)
{
	if (n_fds)
		return send_with_fds(data, len);
	while (len > 0) {
		ssize_t n = send(sock, data, slowly ? 1 : len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return false;
		if (n < 0)
			die(strerror(errno));
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static void put_head(uint8_t *dst, uint32_t len, unsigned type)
{
	memset(dst, 0, HEAD);
	for (int i = 0; i < 4; i++)
		dst[i] = (uint8_t)(len >> 8 * i);
	dst[4] = (uint8_t)type;
}

/* Request { id, and one message `field` of `len` bytes }; all lengths are below 128. */
static void send_request(unsigned field, const uint8_t *message, size_t len)
{
	uint8_t data[HEAD + 256];
	size_t n = HEAD;

	data[n++] = 1 << 3;
	data[n++] = (uint8_t)(++last_id & 0x7f);
	data[n++] = (uint8_t)(field << 3 | 2);
	data[n++] = (uint8_t)len;
	memcpy(data + n, message, len);
	n += len;
	put_head(data, (uint32_t)(n - HEAD), 1);
	(void)send_bytes(data, n);
}

static void send_hello(unsigned protocol)
{
	const uint8_t hello[] = {
		1 << 3, (uint8_t)(protocol & 0x7f), 2 << 3 | 2, 3, '0', '.', '0'
	};

	send_request(2, hello, sizeof(hello));
}

static void send_start(const char *sources)
{
	uint8_t message[120];
	size_t n = 0;

	while (*sources) {
		size_t len = strcspn(sources, ",");

		if (len > 20 || n + 2 + len > sizeof(message))
			die("too many sources");
		message[n++] = 1 << 3 | 2;
		message[n++] = (uint8_t)len;
		memcpy(message + n, sources, len);
		n += len;
		sources += len + (sources[len] == ',');
	}
	send_request(3, message, n);
}

static void send_random(size_t n, unsigned seed)
{
	uint8_t data[4096];

	srandom(seed);
	while (n > 0) {
		size_t len = n < sizeof(data) ? n : sizeof(data);

		for (size_t i = 0; i < len; i++)
			data[i] = (uint8_t)random();
		if (!send_bytes(data, len))
			return;
		n -= len;
	}
}

/* ---- receiving ---- */

static size_t receive(uint8_t *data, size_t len)
{
	size_t n_got = 0;

	while (n_got < len) {
		struct pollfd p = { .fd = sock, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, WAIT_MS) <= 0)
			die("the daemon does not answer");
		n = recv(sock, data + n_got, len - n_got, 0);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			break;
		if (n < 0)
			die(strerror(errno));
		n_got += (size_t)n;
	}
	return n_got;
}

/* The type of the frame, or 0: closed. The payload has a NUL behind it. */
static unsigned receive_frame(uint8_t **ret, uint32_t *ret_len)
{
	static uint8_t payload[MAX_FRAME + 1];
	uint8_t head[HEAD];

	if (receive(head, HEAD) != HEAD)
		return 0;
	*ret_len = head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 |
		   (uint32_t)head[3] << 24;
	if (*ret_len > MAX_FRAME)
		die("the daemon sends a frame that is too long");
	if (receive(payload, *ret_len) != *ret_len)
		return 0;
	payload[*ret_len] = '\0';
	*ret = payload;
	return head[4];
}

static uint64_t get_varint(const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;

	for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
		v |= (uint64_t)(**p & 0x7f) << shift;
		if (*(*p)++ < 0x80)
			break;
	}
	return v;
}

/* The first field of that number which is a string or message. */
static const uint8_t *find_field(const uint8_t *p, const uint8_t *end, unsigned field, size_t *len)
{
	while (p < end) {
		uint64_t key = get_varint(&p, end), n = get_varint(&p, end);

		if ((key & 7) != 2)
			continue;
		if (n > (uint64_t)(end - p))
			break;
		*len = n;
		if (key >> 3 == field)
			return p;
		p += n;
	}
	return NULL;
}

static void print_reply(void)
{
	static const char *const kinds[] = {
		[2] = "error",	[3] = "hello",	 [4] = "started", [5] = "stopped",
		[6] = "status", [7] = "sources", [8] = "progress"
	};
	uint8_t *data;
	uint32_t data_len;
	unsigned type;

	do {
		type = receive_frame(&data, &data_len);
	} while (type == 3);
	if (type == 0) {
		puts("closed");
		return;
	}
	for (unsigned i = 2; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len, text_len;
		const uint8_t *msg = find_field(data, data + data_len, i, &len), *text;

		if (!msg)
			continue;
		text = i == 2 ? find_field(msg, msg + len, 2, &text_len) : NULL;
		printf("%s%s%.*s\n", kinds[i], text ? ": " : "", text ? (int)text_len : 0,
		       text ? (const char *)text : "");
		return;
	}
	puts("another answer");
}

static void await_trace(void)
{
	uint8_t *data;
	uint32_t len;
	unsigned type;

	do {
		type = receive_frame(&data, &len);
	} while (type == 2);
	puts(type == 3 ? "trace" : "closed");
}

static void await_end(void)
{
	uint8_t data[65536];

	while (receive(data, sizeof(data)) == sizeof(data))
		;
	puts("ended");
}

static void await_input_end(void)
{
	char data[64];

	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, data, sizeof(data)) > 0)
		;
}

/* ---- actions ---- */

static unsigned number(const char *s)
{
	return (unsigned)strtoul(s, NULL, 0);
}

static void do_actions(char **argv)
{
	while (*argv) {
		const char *what = *argv++, *a = *argv ? *argv : "",
			   *b = *argv && argv[1] ? argv[1] : "";
		int n_args = 0;

		if (strcmp(what, "hello") == 0 && ++n_args) {
			send_hello(number(a));
		} else if (strcmp(what, "start") == 0 && ++n_args) {
			send_start(a);
		} else if (strcmp(what, "stop") == 0) {
			send_request(4, NULL, 0);
		} else if (strcmp(what, "status") == 0) {
			send_request(5, NULL, 0);
		} else if (strcmp(what, "snapshot") == 0) {
			send_request(7, NULL, 0);
		} else if (strcmp(what, "head") == 0 && (n_args = 2)) {
			uint8_t head[HEAD];

			put_head(head, number(a), number(b));
			(void)send_bytes(head, HEAD);
		} else if (strcmp(what, "random") == 0 && (n_args = 2)) {
			send_random(number(a), number(b));
		} else if (strcmp(what, "slowly") == 0) {
			slowly = true;
		} else if (strcmp(what, "fds") == 0 && ++n_args) {
			n_fds = (int)number(a);
			if (n_fds > MAX_FDS)
				die("too many descriptors");
		} else if (strcmp(what, "reply") == 0) {
			print_reply();
		} else if (strcmp(what, "trace") == 0) {
			await_trace();
		} else if (strcmp(what, "end") == 0) {
			await_end();
		} else if (strcmp(what, "wait") == 0) {
			await_input_end();
		} else if (strcmp(what, "connect") == 0) {
			close(sock);
			do_connect();
		} else if (strcmp(what, "another") == 0) {
			do_connect();
		} else if (strcmp(what, "repeat") == 0) {
			for (unsigned i = number(a); i > 0; i--)
				do_actions(argv + 1);
			return;
		} else {
			die(what);
		}
		fflush(stdout);
		while (n_args-- > 0 && *argv)
			argv++;
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fputs("usage: rawclient SOCKET ACTION [ARG]...\n", stderr);
		return 2;
	}
	socket_path = argv[1];
	do_connect();
	do_actions(argv + 2);
	return 0;
}
