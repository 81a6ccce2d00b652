/* SPDX-License-Identifier: Apache-2.0 */
/* control_status.h - the answers to `status` and `sources`. */
#ifndef CONTROL_STATUS_H
#define CONTROL_STATUS_H

#include <stdint.h>

#include "control_server.h"

struct flight;
struct interpreter;
struct process_table;
struct session_manager;
struct symbolizer;
struct trigger_files;
struct triggers;
struct unwinder;

struct control_status_env {
	struct session_manager *sessions;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwinder *unwinder;
	struct interpreter *interpreter;
	const struct triggers *triggers;
	const struct trigger_files *trigger_files;
	const struct flight *flight;
	uint64_t start_ns;
	const char *notes;
	unsigned n_clients;
};

int control_status_reply(const struct control_status_env *env, struct control_client *client,
			 uint32_t id);

/*
 * Tries each source that has never run, for a moment: the answer tells what
 * works here. Takes up to some seconds the first time.
 */
int control_sources_reply(struct session_manager *sessions, struct control_client *client,
			  uint32_t id);

#endif
