/* SPDX-License-Identifier: Apache-2.0 */
/* markers_socket.c - the socket to which programs in any language send markers. */
#include "markers_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "log.h"
#include "markers_json.h"

/* Datagrams in a row: others have their turn, too. */
#define MAX_ROW 1024
/* What waits in it, beside the kernel's limit of datagrams (net.unix.max_dgram_qlen). */
#define BUFFER_BYTES (4 << 20)

struct markers_socket {
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": not bound */
	struct event_source *readable;
	markers_datagram_fn *fn;
	void *ctx;
	char text[MARKERS_DATAGRAM_MAX + 1];
	struct markers_event ev;
};

/* Somebody listens: one that a dead daemon left refuses. */
static bool is_taken(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool taken = fd >= 0 && connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0;

	if (fd >= 0)
		close(fd);
	return taken;
}

/* The control socket's, where there is one; its parent must be there (/run). */
static void make_directory(const char *path)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;

	strcpy(dir, path);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	if (slash && dir[0] && mkdir(dir, 0755) < 0 && errno != EEXIST)
		log_debug("markers: cannot make %s: %s", dir, strerror(errno));
}

static int bind_path(struct markers_socket *s, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	static const int yes = 1, bytes = BUFFER_BYTES;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	if (setsockopt(s->fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) < 0 ||
	    setsockopt(s->fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes)) < 0)
		return -errno;
	(void)setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	make_directory(path);
	if (is_taken(&addr))
		return -EADDRINUSE;
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	if (bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	strcpy(s->path, path);
	return chmod(path, 0666) < 0 ? -errno : 0; /* for everybody: the kernel says who it is */
}

/* CLOCK_REALTIME jumps: how far it is from ours is asked each time. */
static uint64_t boot_time(const struct timespec *sent)
{
	uint64_t now_ns = boot_ns();
	struct timespec now;
	int64_t ago;

	clock_gettime(CLOCK_REALTIME, &now);
	ago = (int64_t)(now.tv_sec - sent->tv_sec) * (int64_t)NS_PER_SEC + now.tv_nsec -
	      sent->tv_nsec;
	if (ago < 0 || ago > (int64_t)(60 * NS_PER_SEC))
		ago = 0;
	return now_ns - (uint64_t)ago;
}

/* False: the kernel does not say whose it is. */
static bool read_head(struct msghdr *msg, struct event_hdr *hdr)
{
	hdr->time_ns = boot_ns();
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct timespec sent;
		struct ucred cred;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS) {
			memcpy(&cred, CMSG_DATA(c), sizeof(cred));
			hdr->tgid = hdr->tid = cred.pid > 0 ? (uint32_t)cred.pid : 0;
		} else if (c->cmsg_type == SCM_TIMESTAMPNS) {
			memcpy(&sent, CMSG_DATA(c), sizeof(sent));
			hdr->time_ns = boot_time(&sent);
		}
	}
	return hdr->tgid != 0;
}

/* Descriptors that came along are nobody's. */
static void close_fds(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0;
		     c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			close(fd);
		}
	}
}

/* False: none waits. */
static bool read_one(struct markers_socket *s)
{
	_Alignas(struct cmsghdr) char control[2048];
	struct iovec iov = { s->text, sizeof(s->text) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct event_hdr hdr = { 0 };
	ssize_t n = recvmsg(s->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return errno == EINTR;
	close_fds(&msg);
	if (!read_head(&msg, &hdr))
		return true; /* of a process that cannot be seen from here */
	hdr.type = MARKERS_MARK;
	if ((msg.msg_flags & MSG_TRUNC) || markers_json_parse(s->text, (size_t)n, &s->ev) < 0) {
		memset(&s->ev, 0, sizeof(s->ev));
		hdr.type = MARKERS_REFUSED;
	}
	s->ev.hdr = hdr;
	s->ev.flags |= MARKERS_SOCKET;
	s->fn(s->ctx, &s->ev);
	return true;
}

void markers_socket_read(struct markers_socket *s)
{
	for (int i = 0; i < MAX_ROW && read_one(s); i++)
		;
}

static int on_readable(void *ctx, uint32_t events)
{
	(void)events;
	markers_socket_read(ctx);
	return 0;
}

int markers_socket_open(struct event_loop *loop, const char *path, markers_datagram_fn *fn,
			void *ctx, struct markers_socket **ret)
{
	struct markers_socket *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->fd = -1;
	s->fn = fn;
	s->ctx = ctx;
	r = bind_path(s, path);
	if (r == 0)
		r = event_loop_add(loop, s->fd, EPOLLIN, on_readable, s, &s->readable);
	if (r < 0) {
		markers_socket_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void markers_socket_free(struct markers_socket *s)
{
	if (!s)
		return;
	event_source_free(s->readable);
	if (s->path[0])
		unlink(s->path);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}
