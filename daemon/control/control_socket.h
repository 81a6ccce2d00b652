/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_socket.h - the one listening socket of the one daemon: handed over by
 * systemd, or bound here under a lock.
 */
#ifndef CONTROL_SOCKET_H
#define CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

struct control_socket;

/*
 * Takes systemd's socket if there is one, else binds `path` for root and
 * `group` ((gid_t)-1: root only), or for `everybody`. -EADDRINUSE: another daemon has the lock,
 * the log says which. A socket file that a dead daemon left is no obstacle.
 */
int control_socket_open(const char *path, gid_t group, bool everybody, struct control_socket **ret);
/* Removes what was made here. Takes NULL. */
void control_socket_free(struct control_socket *s);
/* The listening socket; the caller owns it. */
int control_socket_take(struct control_socket *s);

#endif
