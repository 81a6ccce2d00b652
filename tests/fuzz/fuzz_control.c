/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes from a client, in pieces of any size: framing, unpacking, and the
 * configuration that a request to record becomes. No session is started.
 *
 * Input: one byte that chooses the pieces, then what the client sends.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector.h"
#include "control_frame.h"
#include "control_requests.h"
#include "control_server.h"
#include "event_loop.h"

#define MAX_ERRORS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct event_loop *loop;
static int idle_pipe[2];
static unsigned n_idle, n_failed;
static int gone;

static void check_config(const StartRequest *start, struct control_client *client, uint32_t id)
{
	char why[WHY_LEN] = "";
	struct trace_config config;

	if (control_requests_config(start, &config, why, sizeof(why)) < 0) {
		if (!why[0])
			abort();
		(void)control_client_error(client, id, EINVAL, why);
		return;
	}
	if (config.freq_hz == 0 || config.counters_interval_ms < 10 ||
	    config.n_pids > TRACE_MAX_PIDS ||
	    !memchr(config.comm_glob, 0, sizeof(config.comm_glob)) ||
	    !memchr(config.event, 0, sizeof(config.event)) || config.net_level > NET_SYSCALLS ||
	    config.net_query > NET_QUERY_DROP || config.n_plaintext > TRACE_MAX_PLAINTEXT)
		abort();
	free(config.command_line);
}

static int on_request(void *ctx, struct control_client *client, const Request *req)
{
	(void)ctx;
	if (gone || n_failed >= MAX_ERRORS)
		abort();
	if (req->start)
		check_config(req->start, client, req->id);
	if (req->stop) {
		n_failed++;
		return -ENOENT;
	}
	return 0;
}

static void on_gone(void *ctx, struct control_client *client)
{
	(void)ctx;
	(void)client;
	gone++;
}

static int on_idle(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	return ++n_idle < 2 ? 0 : -EINTR;
}

/* Until whatever was ready has had its turn. */
static void turn(void)
{
	struct event_source *idle;

	n_idle = 0;
	if (event_loop_add(loop, idle_pipe[0], EPOLLIN, on_idle, NULL, &idle) < 0)
		abort();
	(void)event_loop_run(loop);
	event_source_free(idle);
}

/* The client reads as well: replies must be whole frames. */
static void read_replies(int fd)
{
	uint8_t buf[4096];

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_server_env env = { .queue_bytes = 1 << 20,
					  .max_clients = 1,
					  .group = (gid_t)-1,
					  .request = on_request,
					  .gone = on_gone };
	struct control_server *server;
	unsigned piece;
	int pair[2];

	if (size < 1)
		return 0;
	if (!loop &&
	    (event_loop_new(&loop) < 0 || pipe(idle_pipe) < 0 || write(idle_pipe[1], "x", 1) != 1))
		abort();
	env.loop = loop;
	gone = 0;
	n_failed = 0;
	piece = data[0];
	data++;
	size--;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0 ||
	    control_server_new(&env, &server) < 0 || control_server_adopt(server, pair[0]) < 0)
		abort();
	while (size > 0 && !gone) {
		/* 0: all at once; else pieces that are not all the same. */
		size_t n = piece ? 1 + piece % 61 : size;
		ssize_t sent;

		piece = piece ? 1 + (piece * 5 + 3) % 255 : 0;
		if (n > size)
			n = size;
		sent = send(pair[1], data, n, MSG_NOSIGNAL);
		if (sent > 0) {
			data += sent;
			size -= (size_t)sent;
		}
		turn();
		read_replies(pair[1]);
		if (sent < 0 && errno != EAGAIN)
			break;
	}
	for (unsigned i = 0; i < 20 && !gone; i++)
		turn();
	control_server_free(server);
	if (gone != 1)
		abort();
	close(pair[1]);
	return 0;
}
