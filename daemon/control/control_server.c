/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_server.c - the control socket and its clients.
 *
 * A client is never waited for: what it does not read is queued up to a bound,
 * then its trace loses whole blocks (the writer counts them), and after 30 s
 * without progress it is dropped. Nobody else notices.
 */
#include "control_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "control_frame.h"
#include "event_loop.h"
#include "log.h"

/* So that one user cannot take all places. Root may. */
#define MAX_CLIENTS_PER_USER 4
#define TOO_MANY_OF_USER     "too many clients of this user: close one, 4 is the most"
#define MAX_ERRORS	     3
#define STALL_NS	     (30 * NS_PER_SEC)
#define DRAIN_POLL_MS	     10
#define READ_CHUNK	     4096
#define MAX_GROUPS	     256

/* Beside a full queue of trace. Whoever lets more replies wait asks without reading. */
#define MAX_WAITING_REPLIES (2 * FRAME_MAX_REPLY)

/* Bytes of a trace go out in frames no larger than a reply may be. */
#define TRACE_FRAME_MAX FRAME_MAX_REPLY

struct control_client {
	struct control_server *server;
	struct control_client *next;
	struct event_source *source;
	int fd;
	uid_t uid;
	gid_t gid;
	pid_t pid;
	bool sees_all;
	void *data;

	struct buf in, out;
	size_t out_pos;	      /* sent already */
	uint64_t progress_ns; /* when the client last took something, or nothing waited */
	unsigned n_errors;
	bool may_stall;
	bool dead; /* to be dropped when the stack has unwound */
};

struct control_server {
	struct control_server_env env;
	int listen_fd;
	int reserve_fd; /* given up to be able to say "no" when descriptors run out */
	struct event_source *listen_source;
	struct control_client *clients;
	size_t n_clients;
};

static int open_reserve(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int control_server_new(const struct control_server_env *env, struct control_server **ret)
{
	struct control_server *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->env = *env;
	s->listen_fd = -1;
	s->reserve_fd = open_reserve();
	*ret = s;
	return 0;
}

static void client_free(struct control_client *c)
{
	event_source_free(c->source);
	close(c->fd);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
}

static void client_drop(struct control_client *c)
{
	struct control_server *s = c->server;
	struct control_client **link = &s->clients;

	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	s->n_clients--;
	s->env.gone(s->env.ctx, c);
	client_free(c);
}

void control_server_free(struct control_server *s)
{
	if (!s)
		return;
	while (s->clients)
		client_drop(s->clients);
	event_source_free(s->listen_source);
	if (s->listen_fd >= 0)
		close(s->listen_fd);
	if (s->reserve_fd >= 0)
		close(s->reserve_fd);
	free(s);
}

size_t control_server_n_clients(const struct control_server *s)
{
	return s->n_clients;
}

uid_t control_client_uid(const struct control_client *c)
{
	return c->uid;
}

gid_t control_client_gid(const struct control_client *c)
{
	return c->gid;
}

bool control_client_sees_all(const struct control_client *c)
{
	return c->sees_all;
}

pid_t control_client_pid(const struct control_client *c)
{
	return c->pid;
}

void control_client_may_stall(struct control_client *c)
{
	c->may_stall = true;
}

void *control_client_data(const struct control_client *c)
{
	return c->data;
}

void control_client_set_data(struct control_client *c, void *data)
{
	c->data = data;
}

/* ---- out ---- */

static void send_some(struct control_client *c)
{
	while (c->out_pos < c->out.len && !c->dead) {
		ssize_t n = send(c->fd, c->out.data + c->out_pos, c->out.len - c->out_pos,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			c->dead = errno != EAGAIN;
			break;
		}
		c->out_pos += (size_t)n;
		c->progress_ns = boot_ns();
	}
	if (c->out_pos == c->out.len) {
		c->out.len = c->out_pos = 0;
		c->progress_ns = boot_ns();
	} else if (c->out_pos > c->out.len / 2) {
		/* Sent bytes are shifted out when they are the larger part: linear in all. */
		c->out.len -= c->out_pos;
		memmove(c->out.data, c->out.data + c->out_pos, c->out.len);
		c->out_pos = 0;
	}
	(void)event_source_set(c->source, EPOLLIN | (c->out.len ? EPOLLOUT : 0));
}

static size_t n_waiting(const struct control_client *c)
{
	return c->out.len - c->out_pos;
}

static int queue(struct control_client *c, enum frame_type type, const void *data, size_t len)
{
	int r;

	if (c->dead)
		return -EPIPE;
	if (c->out.len == 0)
		c->progress_ns = boot_ns(); /* nothing waited until now */
	r = frame_append(&c->out, type, data, (uint32_t)len);
	if (r == 0)
		send_some(c);
	return r;
}

static size_t queue_bytes(const struct control_client *c)
{
	return c->sees_all ? c->server->env.queue_bytes : c->server->env.others_queue_bytes;
}

int control_client_trace(void *client, const void *data, size_t len, bool essential)
{
	struct control_client *c = client;
	size_t limit = queue_bytes(c) * (essential ? 2 : 1);
	const uint8_t *p = data;
	int r = 0;

	if (c->dead)
		return -EPIPE;
	if (n_waiting(c) + len > limit)
		return -EAGAIN;
	while (len > 0 && r == 0) {
		size_t n = len < TRACE_FRAME_MAX ? len : TRACE_FRAME_MAX;

		r = queue(c, FRAME_TRACE, p, n);
		p += n;
		len -= n;
	}
	return r;
}

int control_client_reply(struct control_client *c, const Reply *reply)
{
	size_t len = reply__get_packed_size(reply);
	uint8_t *data;
	int r;

	if (len > FRAME_MAX_REPLY)
		return -EMSGSIZE;
	if (n_waiting(c) + len > 2 * queue_bytes(c) + MAX_WAITING_REPLIES) {
		c->dead = true;
		return -EPIPE;
	}
	data = malloc(len ? len : 1);
	if (!data)
		return -ENOMEM;
	reply__pack(reply, data);
	r = queue(c, FRAME_REPLY, data, len);
	free(data);
	return r;
}

int control_client_error(struct control_client *c, uint32_t id, int code, const char *message)
{
	Reply reply = REPLY__INIT;
	ControlError error = CONTROL_ERROR__INIT;

	error.has_code = reply.has_id = 1;
	error.code = (uint32_t)(code < 0 ? -code : code);
	error.message = (char *)message;
	reply.id = id;
	reply.error = &error;
	return control_client_reply(c, &reply);
}

/* ---- in ---- */

/* One error more; too many, or one after which the framing is lost, end the client. */
static void client_fault(struct control_client *c, int code, const char *message, bool fatal)
{
	(void)control_client_error(c, 0, code, message);
	if (fatal || ++c->n_errors >= MAX_ERRORS)
		c->dead = true;
}

static void on_frame(struct control_client *c, const struct frame *frame)
{
	Request *req;

	if (frame->type != FRAME_REQUEST) {
		client_fault(c, EBADMSG, "only requests are expected from a client", false);
		return;
	}
	req = request__unpack(NULL, frame->len, frame->payload);
	if (!req) {
		client_fault(c, EBADMSG, "the request is not a valid message", false);
		return;
	}
	if (c->server->env.request(c->server->env.ctx, c, req) < 0 && ++c->n_errors >= MAX_ERRORS)
		c->dead = true;
	request__free_unpacked(req, NULL);
}

static void parse_input(struct control_client *c)
{
	size_t pos = 0;

	while (!c->dead) {
		struct frame frame;
		long n = frame_parse(c->in.data + pos, c->in.len - pos, FRAME_MAX_REQUEST, &frame);

		if (n == 0)
			break;
		if (n < 0) {
			client_fault(c, (int)n,
				     n == -EMSGSIZE ? "a request has at most 64 KiB"
						    : "this is not tracer's control protocol",
				     true);
			break;
		}
		on_frame(c, &frame);
		pos += (size_t)n;
	}
	c->in.len -= pos;
	if (pos)
		memmove(c->in.data, c->in.data + pos, c->in.len);
}

static void receive_some(struct control_client *c)
{
	ssize_t n;

	if (buf_reserve(&c->in, READ_CHUNK) < 0) {
		c->dead = true;
		return;
	}
	/* Descriptors sent along have no room and are closed by the kernel. */
	n = recv(c->fd, c->in.data + c->in.len, READ_CHUNK, MSG_DONTWAIT);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		c->dead = true;
	if (n <= 0)
		return;
	c->in.len += (size_t)n;
	parse_input(c);
}

static int on_client(void *ctx, uint32_t events)
{
	struct control_client *c = ctx;

	if (events & EPOLLOUT)
		send_some(c);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		receive_some(c);
	if (c->dead)
		client_drop(c);
	return 0;
}

/* ---- coming and going ---- */

static bool is_member(const struct control_server *s, int fd, const struct ucred *cred)
{
	gid_t groups[MAX_GROUPS];
	socklen_t len = sizeof(groups);

	if (cred->uid == 0 || cred->uid == geteuid())
		return true;
	if (s->env.group == (gid_t)-1)
		return false;
	if (cred->gid == s->env.group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == s->env.group)
			return true;
	return false;
}

static unsigned clients_of(const struct control_server *s, uid_t uid)
{
	unsigned n = 0;

	for (const struct control_client *c = s->clients; c; c = c->next)
		n += c->uid == uid;
	return n;
}

/* Half of the places is for those who see all. */
static bool others_are_full(const struct control_server *s)
{
	unsigned n = 0;

	for (const struct control_client *c = s->clients; c; c = c->next)
		n += !c->sees_all;
	return n >= (s->env.max_clients + 1) / 2;
}

/* One frame for somebody who is not let in; it fits into any socket's buffer. */
static void refuse(int fd, int code, const char *message)
{
	Reply reply = REPLY__INIT;
	ControlError error = CONTROL_ERROR__INIT;
	uint8_t data[512 + FRAME_HEAD];
	size_t len;

	error.has_code = 1;
	error.code = (uint32_t)code;
	error.message = (char *)message;
	reply.error = &error;
	len = reply__get_packed_size(&reply);
	if (len <= sizeof(data) - FRAME_HEAD) {
		frame_head(data, FRAME_REPLY, (uint32_t)len);
		reply__pack(&reply, data + FRAME_HEAD);
		(void)send(fd, data, FRAME_HEAD + len, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	close(fd);
}

static int add_client(struct control_server *s, int fd, const struct ucred *cred, bool sees_all)
{
	struct control_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	*c = (struct control_client){ .server = s,
				      .fd = fd,
				      .uid = cred->uid,
				      .gid = cred->gid,
				      .pid = cred->pid,
				      .sees_all = sees_all,
				      .progress_ns = boot_ns() };
	r = event_loop_add(s->env.loop, fd, EPOLLIN, on_client, c, &c->source);
	if (r < 0) {
		client_free(c);
		return r;
	}
	c->next = s->clients;
	s->clients = c;
	s->n_clients++;
	return 0;
}

static void admit(struct control_server *s, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	bool sees_all;
	int r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		close(fd);
		return;
	}
	sees_all = is_member(s, fd, &cred);
	if (!sees_all && !s->env.others) {
		log_warn("refused a client of uid %u: not root and not in the group", cred.uid);
		refuse(fd, EACCES,
		       "permission denied: only root and members of the group may "
		       "use tracerd (add the user to group tracer)");
		return;
	}
	if (cred.uid != 0 && clients_of(s, cred.uid) >= MAX_CLIENTS_PER_USER) {
		refuse(fd, EBUSY, TOO_MANY_OF_USER);
		return;
	}
	if (s->n_clients >= s->env.max_clients || (!sees_all && others_are_full(s))) {
		refuse(fd, EBUSY,
		       "too many clients: close one or raise max_clients in tracerd.conf");
		return;
	}
	r = add_client(s, fd, &cred, sees_all);
	if (r < 0)
		log_warn("cannot serve a client: %s", strerror(-r));
}

/* Without a free descriptor the client would wait in the backlog and we would spin. */
static void say_no_more_fds(struct control_server *s)
{
	int fd;

	if (s->reserve_fd < 0)
		return;
	close(s->reserve_fd);
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		refuse(fd, EMFILE, "tracerd has no free file descriptors: raise LimitNOFILE");
	s->reserve_fd = open_reserve();
}

static int on_listen(void *ctx, uint32_t events)
{
	struct control_server *s = ctx;

	(void)events;
	for (int i = 0; i < 16; i++) { /* then others get their turn */
		int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			admit(s, fd);
		else if (errno == EMFILE || errno == ENFILE)
			say_no_more_fds(s);
		else
			break;
	}
	return 0;
}

int control_server_listen(struct control_server *s, int fd)
{
	s->listen_fd = fd;
	return event_loop_add(s->env.loop, fd, EPOLLIN, on_listen, s, &s->listen_source);
}

int control_server_adopt(struct control_server *s, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	/* Across a socketpair this is who made it: the parent. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	return add_client(s, fd, &cred, true);
}

void control_server_tick(struct control_server *s, uint64_t now_ns)
{
	for (struct control_client *c = s->clients, *next; c; c = next) {
		next = c->next;
		if (c->out.len && !c->may_stall && now_ns >= c->progress_ns + STALL_NS)
			log_warn("dropped the client with pid %d: it has read nothing for 30 s",
				 (int)c->pid);
		else if (!c->dead)
			continue;
		client_drop(c);
	}
}

/* Sends what the sockets take. Returns a client that would take more later, or NULL. */
static struct control_client *send_to_all(struct control_server *s)
{
	struct control_client *waiting = NULL;

	for (struct control_client *c = s->clients; c; c = c->next) {
		send_some(c);
		if (c->out.len && !c->dead)
			waiting = c;
	}
	return waiting;
}

void control_server_drain(struct control_server *s, int timeout_ms)
{
	uint64_t deadline = boot_ns() + (uint64_t)timeout_ms * NS_PER_MS;
	struct control_client *c;

	/* One that does not read must not use up the time of those that do. */
	while ((c = send_to_all(s)) != NULL && boot_ns() < deadline) {
		struct pollfd p = { .fd = c->fd, .events = POLLOUT };

		(void)poll(&p, 1, DRAIN_POLL_MS);
	}
}
