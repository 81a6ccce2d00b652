/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - tracectl's end of the control socket: find or start a daemon,
 * ask, get answers. Blocking, but for client_next() which is for poll loops.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "control.pb-c.h"
#include "control_frame.h"

struct client;

/* Where daemons are looked for; set by the global options of tracectl. */
extern const char *client_socket_path; /* NULL: CONTROL_SOCKET */
extern int client_private;	       /* always start a private daemon */

/*
 * Connects to the daemon and greets it. When there is none, the caller is root
 * and did not name a socket, a private one is started. On failure `err` says
 * what and what to do.
 */
int client_open(struct client **ret, char *err, size_t err_size);
/* Closes; waits for a private daemon to end. Takes NULL. */
void client_close(struct client *c);
int client_is_private(const struct client *c);
int client_fd(const struct client *c);
/* After -EPIPE: how a private daemon has ended, to stand behind what is said of it; or "". */
const char *client_end(struct client *c);

/* Fills in the id, sends. */
int client_send(struct client *c, Request *req);

struct client_message {
	Reply *reply;	      /* or NULL; freed with client_message_done() */
	const uint8_t *trace; /* or trace bytes, valid until the next client_next() */
	size_t trace_len;
};

/*
 * Reads what has arrived. 1: `*msg` is filled; 0: nothing whole yet (with
 * `wait`: never); -EPIPE: the daemon is gone; other: protocol error.
 */
int client_next(struct client *c, int wait, struct client_message *msg);
void client_message_done(struct client_message *msg);

/*
 * Sends and waits for the reply to it. An error reply gives its code and
 * message; `*ret` is freed with reply__free_unpacked().
 */
int client_ask(struct client *c, Request *req, Reply **ret, char *err, size_t err_size);

#endif
