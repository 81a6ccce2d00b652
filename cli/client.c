/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - tracectl's end of the control socket. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_CHUNK (64 * 1024)

/* Daemon's end of the socket in a private daemon. */
#define PRIVATE_FD 3

const char *client_socket_path;
int client_private;

struct client {
	int fd;
	pid_t daemon; /* of a private one, or 0 */
	uint32_t last_id;
	struct buf in;
	size_t consumed; /* of `in`, by the last message */
};

/* ---- a private daemon ---- */

/* Beside us (in a build tree), or where it is installed. Never through PATH. */
static int find_daemon(char *path, size_t size)
{
	static const struct {
		bool beside;
		const char *path;
	} places[] = { { true, "/tracerd" },
		       { true, "/../sbin/tracerd" },
		       { false, "/usr/local/sbin/tracerd" },
		       { false, "/usr/sbin/tracerd" } };
	char self[PATH_MAX], *dir;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		return -errno;
	self[n] = '\0';
	dir = dirname(self);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int len = snprintf(path, size, "%s%s", places[i].beside ? dir : "", places[i].path);

		if (len > 0 && (size_t)len < size && access(path, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

static void run_daemon(const char *path, int fd)
{
	/* Ends with us, however we end. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Ctrl-C is for tracectl, which then stops the daemon in order. */
	setpgid(0, 0);
	if (fd != PRIVATE_FD && dup2(fd, PRIVATE_FD) < 0)
		_exit(127);
	fcntl(PRIVATE_FD, F_SETFD, 0);
	execl(path, "tracerd", "--control-fd", "3", (char *)NULL);
	fprintf(stderr, "tracectl: cannot run %s: %s\n", path, strerror(errno));
	_exit(127);
}

static int start_private(struct client *c, char *err, size_t err_size)
{
	char path[PATH_MAX];
	int pair[2];

	if (geteuid() != 0) {
		snprintf(err, err_size,
			 "no tracerd is running and only root can start one: run as root, or "
			 "'systemctl start tracer' and join group tracer");
		return -EACCES;
	}
	if (access("/proc/self", F_OK) < 0) {
		snprintf(err, err_size, "/proc is not mounted: mount -t proc proc /proc");
		return -EIO;
	}
	if (find_daemon(path, sizeof(path)) < 0) {
		snprintf(err, err_size,
			 "cannot find tracerd beside tracectl nor in "
			 "/usr/local/sbin or /usr/sbin");
		return -ENOENT;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		snprintf(err, err_size, "socketpair: %s", strerror(errno));
		return -errno;
	}
	fflush(NULL);
	c->daemon = fork();
	if (c->daemon == 0)
		run_daemon(path, pair[1]);
	close(pair[1]);
	if (c->daemon < 0) {
		snprintf(err, err_size, "fork: %s", strerror(errno));
		close(pair[0]);
		c->daemon = 0;
		return -EAGAIN;
	}
	c->fd = pair[0];
	return 0;
}

/* ---- connect ---- */

/* -ENOENT: there is no daemon. */
static int connect_socket(struct client *c, char *err, size_t err_size)
{
	const char *path = client_socket_path ? client_socket_path : CONTROL_SOCKET;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int r;

	if (strlen(path) >= sizeof(addr.sun_path)) {
		snprintf(err, err_size, "%s: the path is too long for a socket", path);
		return -ENAMETOOLONG;
	}
	strcpy(addr.sun_path, path);
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	if (connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return 0;
	r = -errno;
	close(c->fd);
	c->fd = -1;
	if (r == -EACCES)
		snprintf(err, err_size,
			 "permission denied: only root and members of group tracer may use %s",
			 path);
	else if (r == -ENOENT || r == -ECONNREFUSED || r == -ENOTDIR)
		snprintf(err, err_size, "no tracerd listens at %s", path);
	else
		snprintf(err, err_size, "%s: %s", path, strerror(-r));
	return r == -ECONNREFUSED || r == -ENOTDIR ? -ENOENT : r;
}

static int greet(struct client *c, char *err, size_t err_size)
{
	Request req = REQUEST__INIT;
	Hello hello = HELLO__INIT;
	Reply *reply;
	int r;

	hello.has_protocol = 1;
	hello.protocol = CONTROL_PROTOCOL;
	hello.version = TRACER_VERSION;
	req.hello = &hello;
	r = client_ask(c, &req, &reply, err, err_size);
	if (r == 0)
		reply__free_unpacked(reply, NULL);
	return r;
}

int client_open(struct client **ret, char *err, size_t err_size)
{
	struct client *c = calloc(1, sizeof(*c));
	int r = -ENOENT;

	if (!c)
		return -ENOMEM;
	c->fd = -1;
	signal(SIGPIPE, SIG_IGN);
	if (!client_private)
		r = connect_socket(c, err, err_size);
	if (r == -ENOENT && (client_private || !client_socket_path))
		r = start_private(c, err, err_size);
	if (r == 0)
		r = greet(c, err, err_size);
	if (r < 0) {
		client_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

void client_close(struct client *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	/* It ends when its socket does. */
	while (c->daemon > 0 && waitpid(c->daemon, NULL, 0) < 0 && errno == EINTR)
		;
	buf_done(&c->in);
	free(c);
}

const char *client_end(struct client *c)
{
	static char how[128];
	int status;

	if (c->daemon <= 0 || waitpid(c->daemon, &status, 0) != c->daemon)
		return "";
	c->daemon = 0;
	if (!WIFSIGNALED(status))
		return "";
	/* The kernel does that when memory is short, and tells nobody else. */
	snprintf(how, sizeof(how), ", killed by signal %d%s", WTERMSIG(status),
		 WTERMSIG(status) == SIGKILL
			 ? " (if memory was short: ring_size in tracerd.conf, or fewer --sources)"
			 : "");
	return how;
}

int client_is_private(const struct client *c)
{
	return c->daemon > 0;
}

int client_fd(const struct client *c)
{
	return c->fd;
}

/* ---- talk ---- */

int client_send(struct client *c, Request *req)
{
	struct buf out = { 0 };
	size_t len, pos = 0;
	uint8_t *data;
	int r;

	req->has_id = 1;
	req->id = ++c->last_id;
	len = request__get_packed_size(req);
	if (len > FRAME_MAX_REQUEST)
		return -EMSGSIZE;
	data = malloc(len ? len : 1);
	if (!data)
		return -ENOMEM;
	request__pack(req, data);
	r = frame_append(&out, FRAME_REQUEST, data, (uint32_t)len);
	free(data);
	while (r == 0 && pos < out.len) {
		ssize_t n = send(c->fd, out.data + pos, out.len - pos, MSG_NOSIGNAL);

		if (n >= 0)
			pos += (size_t)n;
		else if (errno != EINTR)
			r = -errno;
	}
	buf_done(&out);
	return r;
}

/* A frame that is in `in`: 1, or 0 when more is needed. */
static int take_frame(struct client *c, struct client_message *msg)
{
	struct frame frame;
	long n = frame_parse(c->in.data, c->in.len, FRAME_MAX_REPLY, &frame);

	if (n <= 0)
		return (int)n;
	*msg = (struct client_message){ 0 };
	c->consumed = (size_t)n;
	if (frame.type == FRAME_TRACE) {
		msg->trace = frame.payload;
		msg->trace_len = frame.len;
		return 1;
	}
	msg->reply = reply__unpack(NULL, frame.len, frame.payload);
	return msg->reply ? 1 : -EBADMSG;
}

int client_next(struct client *c, int wait, struct client_message *msg)
{
	if (c->consumed) {
		c->in.len -= c->consumed;
		memmove(c->in.data, c->in.data + c->consumed, c->in.len);
		c->consumed = 0;
	}
	for (;;) {
		ssize_t n;
		int r = take_frame(c, msg);

		if (r != 0)
			return r;
		r = buf_reserve(&c->in, READ_CHUNK);
		if (r < 0)
			return r;
		n = recv(c->fd, c->in.data + c->in.len, READ_CHUNK, wait ? 0 : MSG_DONTWAIT);
		if (n > 0)
			c->in.len += (size_t)n;
		else if (n == 0 || errno == ECONNRESET)
			return -EPIPE;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
}

void client_message_done(struct client_message *msg)
{
	if (msg->reply)
		reply__free_unpacked(msg->reply, NULL);
	msg->reply = NULL;
}

int client_ask(struct client *c, Request *req, Reply **ret, char *err, size_t err_size)
{
	struct client_message msg;
	int r = client_send(c, req);

	/* Who closes at once has said why, before. */
	if (r == 0 || r == -EPIPE)
		r = client_next(c, 1, &msg);
	if (r < 0) {
		snprintf(err, err_size, "tracerd: %s%s",
			 r == -EPIPE ? "it closed the connection" : strerror(-r),
			 r == -EPIPE ? client_end(c) : "");
		return r;
	}
	if (!msg.reply) {
		snprintf(err, err_size, "tracerd answered with something else");
		return -EBADMSG;
	}
	if (msg.reply->error) {
		r = msg.reply->error->code ? -(int)msg.reply->error->code : -EIO;
		snprintf(err, err_size, "%s",
			 msg.reply->error->message ? msg.reply->error->message : strerror(-r));
		client_message_done(&msg);
		return r;
	}
	*ret = msg.reply;
	return 0;
}
