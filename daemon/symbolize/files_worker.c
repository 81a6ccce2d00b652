/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_worker.c - the process without privileges that reads traced files.
 *
 * Serves one request after the other (files_serve.c). Whatever goes wrong with a
 * file may end this process; the daemon knows which file it was and starts a new
 * one.
 */
#include "files_worker.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "files_protocol.h"
#include "files_sandbox.h"
#include "files_serve.h"

/* Unhandled, SIGALRM ends the process, also out of a read that hangs in FUSE. */
static void set_deadline(int seconds)
{
	struct itimerval t = { .it_value.tv_sec = seconds };

	(void)setitimer(ITIMER_REAL, &t, NULL);
}

/*
 * The size of the request, 0 when the daemon is gone. `fds` has what came along,
 * -1 where nothing did.
 */
static ssize_t receive(int sock, struct files_request *req, int fds[FILES_MAX_FDS])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(FILES_MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = req, .iov_len = sizeof(*req) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int got[FILES_MAX_FDS] = { -1, -1 };
	struct cmsghdr *c;
	ssize_t n;

	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(got, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	for (unsigned i = 0, next = 0; i < FILES_MAX_FDS; i++)
		fds[i] = req->fds & 1u << i ? got[next++] : -1;
	return n;
}

static int answer(int sock, const struct files_writer *reply)
{
	struct iovec iov = { .iov_base = (void *)reply->bytes, .iov_len = reply->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static bool request_valid(const struct files_request *req, size_t len, enum files_worker_kind kind)
{
	const size_t head_len = offsetof(struct files_request, offsets);

	return len >= head_len && len == files_request_len(req) &&
	       (req->kind == FILES_TABLE) == (kind == FILES_WORKER_TABLES) &&
	       (req->kind == FILES_GENERATED || req->kind == FILES_V8_NAMES ||
		req->kind == FILES_JVM_NAMES) == (kind == FILES_WORKER_JIT);
}

/* Returns when the daemon has closed its end, or is not who it should be. */
static int run(enum files_worker_kind kind, struct files_server *server, int sock)
{
	static struct files_writer reply;
	struct files_reply_head ready = { .status = FILES_READY };
	struct files_request req;
	int r, fds[FILES_MAX_FDS];

	files_reply_begin(&reply, &ready);
	r = answer(sock, &reply);
	while (r == 0) {
		ssize_t n = receive(sock, &req, fds);

		if (n <= 0)
			return 0;
		if (!request_valid(&req, (size_t)n, kind))
			return -EBADMSG;
		set_deadline(FILES_DEADLINE_S);
		files_serve(server, &req, fds, &reply);
		set_deadline(0); /* the daemon may take its time to read */
		r = answer(sock, &reply);
	}
	return r;
}

static bool is_our_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

const char *files_worker_name(enum files_worker_kind kind)
{
	static const char *const names[FILES_WORKER_KINDS] = {
		[FILES_WORKER_SYMBOLS] = "tracer-files",
		[FILES_WORKER_TABLES] = "tracer-tables",
		[FILES_WORKER_LINES] = "tracer-lines",
		[FILES_WORKER_JIT] = "tracer-jit",
	};

	return names[kind];
}

/* FILES_WORKER_KINDS: this is another program, or was not started by one of ours. */
static enum files_worker_kind which_worker(void)
{
	enum files_worker_kind kind = 0;

	while (kind < FILES_WORKER_KINDS &&
	       strcmp(program_invocation_name, files_worker_name(kind)) != 0)
		kind++;
	return is_our_socket(FILES_WORKER_FD) ? kind : FILES_WORKER_KINDS;
}

__attribute__((constructor)) static void become_the_worker(void)
{
	enum files_worker_kind kind = which_worker();
	struct files_server *server;

	if (kind == FILES_WORKER_KINDS)
		return;
	if (files_server_new(&server) < 0 || files_sandbox_enter(FILES_WORKER_FD, kind) < 0 ||
	    run(kind, server, FILES_WORKER_FD) < 0)
		_exit(EXIT_FAILURE);
	_exit(EXIT_SUCCESS);
}
