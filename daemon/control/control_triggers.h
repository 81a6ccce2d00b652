/* SPDX-License-Identifier: Apache-2.0 */
/* control_triggers.h - clients that wait for a trigger before they get a snapshot. */
#ifndef CONTROL_TRIGGERS_H
#define CONTROL_TRIGGERS_H

#include "control_server.h"

struct control_snapshots;
struct control_triggers;
struct event_loop;
struct flight;
struct triggers;

struct control_triggers_env {
	struct event_loop *loop;
	struct triggers *triggers;
	struct flight *flight;
	struct control_snapshots *snapshots;
};

int control_triggers_new(const struct control_triggers_env *env, struct control_triggers **ret);
void control_triggers_free(struct control_triggers *all); /* takes NULL */

/*
 * A SnapshotRequest with triggers. Sends a Progress when they are waited for, and another for
 * each that fires; then the snapshot. < 0: it was refused, and the client was told.
 */
int control_triggers_wait(struct control_triggers *all, struct control_client *client,
			  const Request *req);
/* The client is gone. */
void control_triggers_gone(struct control_triggers *all, struct control_client *client);

#endif
