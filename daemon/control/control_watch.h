/* SPDX-License-Identifier: Apache-2.0 */
/* control_watch.h - of a request to watch: what of the session is its own. */
#ifndef CONTROL_WATCH_H
#define CONTROL_WATCH_H

#include "collector.h"
#include "control_server.h"
#include "watch/watch.h"

struct probes;

struct control_watch_env {
	const struct process_table *processes;
	struct probes *probes;
};

/*
 * Chooses the sources in `config`, where the request names none. Lines go to `client`.
 * -EINVAL, -ENOENT with `why`.
 */
int control_watch_new(const struct control_watch_env *env, const WatchRequest *req,
		      struct trace_config *config, struct control_client *client, char why[WHY_LEN],
		      struct watch **ret);
/* Hands over the last lines and fills in how many there were. */
void control_watch_ended(struct watch *watch, Stopped *msg);

#endif
