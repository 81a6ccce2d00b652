/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers_socket.h - the socket to which programs in any language send markers, one
 * datagram each (markers_json.h); there while somebody records.
 *
 * Whose a datagram is the kernel says, and when it was sent: how late it is read does not
 * matter. A sender waits while the socket is full, or is told: nothing is lost here.
 */
#ifndef MARKERS_SOCKET_H
#define MARKERS_SOCKET_H

#include "markers_events.h"

struct event_loop;
struct markers_socket;

/* A whole record but for its number and CPU: a marker, or MARKERS_REFUSED. */
typedef void markers_datagram_fn(void *ctx, struct markers_event *ev);

/* -EADDRINUSE: another daemon has it. */
int markers_socket_open(struct event_loop *loop, const char *path, markers_datagram_fn *fn,
			void *ctx, struct markers_socket **ret);
void markers_socket_free(struct markers_socket *s); /* takes NULL */

/* What waits, or some of it. */
void markers_socket_read(struct markers_socket *s);

#endif
