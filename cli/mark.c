/* SPDX-License-Identifier: Apache-2.0 */
/* mark.c - `tracectl mark`: puts a marker into the recordings that go on. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "clean.h"
#include "client.h"
#include "command.h"
#include "control_frame.h"
#include "json.h"

/* How long to wait when more markers are sent than read. */
#define SEND_SECONDS 2

struct mark {
	const char *phase, *value, *id; /* NULL: none */
	char **pairs;			/* the name, and KEY=VALUE */
	int n;
};

static int usage(FILE *out, int status)
{
	fputs("Usage: tracectl mark [-b|-e|-c VALUE] [--async ID] NAME [KEY=VALUE]...\n"
	      "\n"
	      "Puts a marker into all recordings that go on, with a payload. As root it is the\n"
	      "calling process's, a shell's say; else that of tracectl itself.\n"
	      "\n"
	      "  -b, --begin          a slice begins\n"
	      "  -e, --end            the innermost one of that name ends\n"
	      "  -c, --counter VALUE  a value of a counter; without any of these: an instant\n"
	      "      --async ID       the slice may overlap others; its name and ID say which it "
	      "is\n"
	      "\n"
	      "Exit status: 0 sent, 1 nobody records markers, 2 usage.\n",
	      out);
	return status;
}

/* ---- the message ---- */

static bool is_number(const char *text, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	return *text && !*end && isfinite(*ret) && strspn(text, "0123456789+-.eE") == strlen(text);
}

static void add_value(struct json *j, const char *name, const char *text)
{
	char *end;
	long long whole;
	double d;

	errno = 0;
	whole = strtoll(text, &end, 10);
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		json_bool(j, name, *text == 't');
	else if (!is_number(text, &d))
		json_string(j, name, text);
	else if (!*end && errno == 0)
		json_i64(j, name, whole);
	else
		json_double(j, name, d);
}

static int add_pairs(struct json *j, const struct mark *m)
{
	json_object(j, "args");
	for (int i = 1; i < m->n; i++) {
		char *equals = strchr(m->pairs[i], '=');

		if (!equals || equals == m->pairs[i]) {
			fprintf(stderr, "tracectl: mark: '%s' is not KEY=VALUE\n",
				clean(m->pairs[i]));
			return -EINVAL;
		}
		*equals = '\0';
		add_value(j, m->pairs[i], equals + 1);
	}
	json_end(j);
	return 0;
}

/* What there is to send; the caller frees it. NULL: said why. */
static char *message(const struct mark *m, size_t *ret_len)
{
	char *text = NULL;
	struct json j = { .out = open_memstream(&text, ret_len) };
	int r;

	if (!j.out)
		return NULL;
	json_object(&j, NULL);
	json_string(&j, "name", m->pairs[0]);
	json_string(&j, "phase", m->phase);
	if (m->value)
		add_value(&j, "value", m->value);
	if (m->id)
		add_value(&j, "id", m->id);
	r = add_pairs(&j, m);
	if (r == 0)
		json_end(&j);
	if (fclose(j.out) != 0 || r < 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- sending ---- */

/* `pid`: whose it is. */
static int send_as(int fd, const struct sockaddr_un *to, pid_t pid, const char *text, size_t len)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(struct ucred)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_CREDENTIALS } };
	struct ucred cred = { .pid = pid, .uid = getuid(), .gid = getgid() };
	struct iovec iov = { (void *)text, len };
	struct msghdr msg = { .msg_name = (void *)to,
			      .msg_namelen = sizeof(*to),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.head), &cred, sizeof(cred));
	return sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int send_it(const char *path, const char *text, size_t len)
{
	const struct timeval patience = { .tv_sec = SEND_SECONDS };
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	strcpy(to.sun_path, path);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	r = send_as(fd, &to, getppid(), text, len);
	if (r == -EPERM) /* not root */
		r = send_as(fd, &to, getpid(), text, len);
	close(fd);
	return r;
}

static int mark(const struct mark *m)
{
	char path[MARKER_PATH_MAX], *text;
	size_t len;
	int r = control_marker_path(client_socket_path ? client_socket_path : CONTROL_SOCKET, path);

	if (r < 0) {
		fputs("tracectl: mark: the socket's path is too long\n", stderr);
		return EXIT_USAGE;
	}
	text = message(m, &len);
	if (!text)
		return EXIT_USAGE;
	r = send_it(path, text, len);
	free(text);
	if (r == -ENOENT || r == -ECONNREFUSED)
		fprintf(stderr, "tracectl: mark: nobody records markers (%s)\n", clean(path));
	else if (r < 0)
		fprintf(stderr, "tracectl: mark: %s: %s\n", clean(path), strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- the command ---- */

/* -EINVAL: said why. */
static int finish(struct mark *m, bool begin, bool end)
{
	double value;

	if (begin + end + (m->value != NULL) > 1 || (m->id && !begin && !end)) {
		fputs("tracectl: mark: one of --begin, --end and --counter; --async is of the "
		      "first two\n",
		      stderr);
		return -EINVAL;
	}
	if ((m->value && !is_number(m->value, &value)) ||
	    (m->id && (!*m->id || strspn(m->id, "0123456789") != strlen(m->id)))) {
		fprintf(stderr, "tracectl: mark: '%s' is not a number\n",
			clean(m->value ? m->value : m->id));
		return -EINVAL;
	}
	m->phase = "instant";
	if (m->value)
		m->phase = "counter";
	else if (begin)
		m->phase = m->id ? "async_begin" : "begin";
	else if (end)
		m->phase = m->id ? "async_end" : "end";
	return 0;
}

int cmd_mark(int argc, char **argv)
{
	static const struct option options[] = {
		{ "begin", no_argument, NULL, 'b' },
		{ "end", no_argument, NULL, 'e' },
		{ "counter", required_argument, NULL, 'c' },
		{ "async", required_argument, NULL, 'A' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool begin = false, end = false;
	struct mark m = { 0 };
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "+bec:h", options, NULL)) != -1) {
		if (c == 'b')
			begin = true;
		else if (c == 'e')
			end = true;
		else if (c == 'c')
			m.value = optarg;
		else if (c == 'A')
			m.id = optarg;
		else
			return usage(c == 'h' ? stdout : stderr, c == 'h' ? EXIT_OK : EXIT_USAGE);
	}
	m.pairs = argv + optind;
	m.n = argc - optind;
	if (m.n == 0 || !m.pairs[0][0])
		return usage(stderr, EXIT_USAGE);
	return finish(&m, begin, end) < 0 ? EXIT_USAGE : mark(&m);
}
