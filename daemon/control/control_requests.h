/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_requests.h - what the requests of control.proto do. One table:
 * request, handler.
 */
#ifndef CONTROL_REQUESTS_H
#define CONTROL_REQUESTS_H

#include <stdint.h>

#include "control_server.h"

struct control_requests;
struct event_loop;
struct flight;
struct interpreter;
struct probes;
struct process_table;
struct session_manager;
struct symbolizer;
struct trigger_files;
struct triggers;
struct unwinder;

struct control_requests_env {
	struct event_loop *loop;
	struct session_manager *sessions;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwinder *unwinder;
	struct interpreter *interpreter;
	struct triggers *triggers;
	const struct trigger_files *trigger_files;
	struct probes *probes;
	struct flight *flight;
	uint64_t start_ns; /* of the daemon */
	const char *notes; /* what limits it; for status */
	/* The last client's session has ended or the client is gone. Optional. */
	void (*idle)(void *ctx);
	void *ctx;
};

int control_requests_new(const struct control_requests_env *env, struct control_requests **ret);
void control_requests_free(struct control_requests *r);
void control_requests_set_server(struct control_requests *r, struct control_server *server);

/* For struct control_server_env; ctx is the struct control_requests. */
int control_requests_handle(void *ctx, struct control_client *client, const Request *req);
void control_requests_gone(void *ctx, struct control_client *client);

/*
 * In control_config.c. Makes a configuration of a request: defaults, bounds. Pure but
 * for `config->command_line` and `config->probes`, which the caller frees. -EINVAL with `why`.
 */
struct trace_config;
int control_requests_config(const StartRequest *req, struct trace_config *config, char *why,
			    size_t why_size);

#endif
