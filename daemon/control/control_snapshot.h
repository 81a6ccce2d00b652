/* SPDX-License-Identifier: Apache-2.0 */
/* control_snapshot.h - snapshots of the flight recorder, on their way to clients. */
#ifndef CONTROL_SNAPSHOT_H
#define CONTROL_SNAPSHOT_H

#include <stdint.h>

#include "control_server.h"

struct control_snapshots;
struct flight;
struct triggers;

/* Each shows what has fired lately. */
int control_snapshots_new(struct flight *flight, const struct triggers *triggers,
			  struct control_snapshots **ret);
void control_snapshots_free(struct control_snapshots *all); /* takes NULL */

/* What a client has asked for; copied. */
struct control_snapshot {
	uint32_t id; /* of its request */
	uint64_t last_ns;
	const char *command_line; /* or NULL */
	const char *trigger;	  /* what it is taken for; or NULL */
};

/*
 * Sends a snapshot of now, and then the Reply `snapshot`, or `error`. < 0: it was refused, and
 * the client was told.
 */
int control_snapshots_send(struct control_snapshots *all, struct control_client *client,
			   const struct control_snapshot *what);
/* The client is gone. */
void control_snapshots_gone(struct control_snapshots *all, struct control_client *client);

#endif
