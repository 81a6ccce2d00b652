/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_server.h - the control socket and its clients: who may connect, who of them
 * may see everything, how much each may send and leave unread. What requests mean is in
 * control_requests.c.
 */
#ifndef CONTROL_SERVER_H
#define CONTROL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "control.pb-c.h"

struct control_client;
struct control_server;
struct event_loop;

struct control_server_env {
	struct event_loop *loop;
	size_t queue_bytes; /* trace data that waits for a slow client */
	unsigned max_clients;
	gid_t group; /* whose members see everything, as root does; (gid_t)-1: nobody */
	bool others; /* all other users may connect, too, and see what is their own */
	size_t others_queue_bytes; /* theirs */

	/* A request that is well formed. < 0: counts as an error of the client's. */
	int (*request)(void *ctx, struct control_client *client, const Request *req);
	/* The client is gone; nothing more can be sent to it. */
	void (*gone)(void *ctx, struct control_client *client);
	void *ctx;
};

int control_server_new(const struct control_server_env *env, struct control_server **ret);
void control_server_free(struct control_server *s); /* takes NULL; drops all clients */

/* Accepts on `fd` from now on, and owns it. */
int control_server_listen(struct control_server *s, int fd);
/* `fd` is a connected client already, as with a private daemon; owned from now on. */
int control_server_adopt(struct control_server *s, int fd);
size_t control_server_n_clients(const struct control_server *s);
/* Sends what waits, for at most `timeout_ms`, before a shutdown. */
void control_server_drain(struct control_server *s, int timeout_ms);
/* Often enough, about once a second: drops who takes nothing for too long. */
void control_server_tick(struct control_server *s, uint64_t now_ns);

uid_t control_client_uid(const struct control_client *c);
gid_t control_client_gid(const struct control_client *c);
/* Root and the group; else a user who may see their own processes alone. */
bool control_client_sees_all(const struct control_client *c);
pid_t control_client_pid(const struct control_client *c);
void *control_client_data(const struct control_client *c); /* the owner's, NULL at first */
void control_client_set_data(struct control_client *c, void *data);

int control_client_reply(struct control_client *c, const Reply *reply);
int control_client_error(struct control_client *c, uint32_t id, int code, const char *message);

/*
 * Queues bytes of the client's trace. -EAGAIN: it has not read enough of what
 * it was sent before; `essential` bytes may use twice the room. Is a
 * trace_sink_fn.
 */
int control_client_trace(void *client, const void *data, size_t len, bool essential);

/* It may take nothing for as long as it likes: what it misses is said to it. */
void control_client_may_stall(struct control_client *c);

#endif
