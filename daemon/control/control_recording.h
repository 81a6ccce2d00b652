/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_recording.h - a client's session, which sends a trace, or lines to whoever watches,
 * from the request to start it to the account at its end. A client has one at a time, as its data.
 */
#ifndef CONTROL_RECORDING_H
#define CONTROL_RECORDING_H

#include <stdint.h>

#include "control_server.h"

struct event_loop;
struct probes;
struct process_table;
struct session_manager;
struct symbolizer;

struct control_recording_env {
	struct event_loop *loop;
	struct session_manager *sessions;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct probes *probes;
};

/*
 * Answers request `id` by Started, or by an error; `watch` is NULL where a trace is wanted. `env`
 * outlives the recording.
 */
int control_recording_begin(const struct control_recording_env *env, struct control_client *client,
			    uint32_t id, const StartRequest *req, const WatchRequest *watch);
/* Stopped, with the account, follows as the answer when all has been written. */
int control_recording_stop(struct control_client *client, uint32_t id);
void control_recording_gone(struct control_client *client);

#endif
