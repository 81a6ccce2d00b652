/* SPDX-License-Identifier: Apache-2.0 */
/* control_requests.c - what the requests of control.proto do. */
#include "control_requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "control_frame.h"
#include "control_probes.h"
#include "control_recording.h"
#include "control_snapshot.h"
#include "control_status.h"
#include "control_triggers.h"

struct control_requests {
	struct control_requests_env env;
	struct control_recording_env recording;
	struct control_server *server;
	struct control_probes *probes;
	struct control_snapshots *snapshots;
	struct control_triggers *triggers;
};

int control_requests_new(const struct control_requests_env *env, struct control_requests **ret)
{
	const struct control_probes_env probes = {
		.loop = env->loop,
		.sessions = env->sessions,
		.probes = env->probes,
	};
	struct control_triggers_env triggers = {
		.loop = env->loop,
		.triggers = env->triggers,
		.flight = env->flight,
	};
	struct control_requests *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->env = *env;
	r->recording = (struct control_recording_env){
		.loop = env->loop,
		.sessions = env->sessions,
		.processes = env->processes,
		.symbolizer = env->symbolizer,
		.probes = env->probes,
	};
	err = control_probes_new(&probes, &r->probes);
	if (err == 0)
		err = control_snapshots_new(env->flight, env->triggers, &r->snapshots);
	triggers.snapshots = r->snapshots;
	if (err == 0)
		err = control_triggers_new(&triggers, &r->triggers);
	if (err < 0) {
		control_requests_free(r);
		return err;
	}
	*ret = r;
	return 0;
}

void control_requests_free(struct control_requests *r)
{
	if (r) {
		control_triggers_free(r->triggers);
		control_snapshots_free(r->snapshots);
		control_probes_free(r->probes);
	}
	free(r);
}

void control_requests_set_server(struct control_requests *r, struct control_server *server)
{
	r->server = server;
}

static int on_hello(struct control_requests *r, struct control_client *client, const Request *req)
{
	Reply reply = REPLY__INIT;
	Hello msg = HELLO__INIT;
	char why[128];

	(void)r;
	if (req->hello->protocol != CONTROL_PROTOCOL) {
		snprintf(why, sizeof(why),
			 "tracerd %s speaks protocol %d, the client %u: install the same version",
			 TRACER_VERSION, CONTROL_PROTOCOL, req->hello->protocol);
		return control_client_error(client, req->id, EPROTONOSUPPORT, why);
	}
	msg.has_protocol = reply.has_id = 1;
	msg.protocol = CONTROL_PROTOCOL;
	msg.version = TRACER_VERSION;
	reply.id = req->id;
	reply.hello = &msg;
	return control_client_reply(client, &reply);
}

static int on_start(struct control_requests *r, struct control_client *client, const Request *req)
{
	return control_recording_begin(&r->recording, client, req->id, req->start, NULL);
}

static int on_watch(struct control_requests *r, struct control_client *client, const Request *req)
{
	const StartRequest everything = START_REQUEST__INIT;

	return control_recording_begin(&r->recording, client, req->id,
				       req->watch->start ? req->watch->start : &everything,
				       req->watch);
}

static int on_stop(struct control_requests *r, struct control_client *client, const Request *req)
{
	(void)r;
	return control_recording_stop(client, req->id);
}

static int on_status(struct control_requests *r, struct control_client *client, const Request *req)
{
	const struct control_status_env env = {
		.sessions = r->env.sessions,
		.processes = r->env.processes,
		.symbolizer = r->env.symbolizer,
		.unwinder = r->env.unwinder,
		.interpreter = r->env.interpreter,
		.triggers = r->env.triggers,
		.trigger_files = r->env.trigger_files,
		.flight = r->env.flight,
		.start_ns = r->env.start_ns,
		.notes = r->env.notes,
		.n_clients = (unsigned)control_server_n_clients(r->server),
	};

	return control_status_reply(&env, client, req->id);
}

static int on_sources(struct control_requests *r, struct control_client *client, const Request *req)
{
	return control_sources_reply(r->env.sessions, client, req->id);
}

static int on_probes(struct control_requests *r, struct control_client *client, const Request *req)
{
	return control_probes_handle(r->probes, client, req);
}

static int on_snapshot(struct control_requests *r, struct control_client *client,
		       const Request *req)
{
	const struct control_snapshot what = {
		.id = req->id,
		.last_ns = req->snapshot->last_ns,
		.command_line = req->snapshot->command_line,
	};

	if (req->snapshot->n_on)
		return control_triggers_wait(r->triggers, client, req);
	return control_snapshots_send(r->snapshots, client, &what);
}

int control_requests_handle(void *ctx, struct control_client *client, const Request *req)
{
	static const struct {
		size_t field; /* of Request: the message that is there when it is this request */
		int (*fn)(struct control_requests *r, struct control_client *client,
			  const Request *req);
		bool by_all; /* also by users who may see their own processes alone */
	} table[] = {
		{ offsetof(Request, hello), on_hello, true },
		{ offsetof(Request, start), on_start, true },
		{ offsetof(Request, stop), on_stop, true },
		{ offsetof(Request, watch), on_watch, false },
		{ offsetof(Request, status), on_status, true },
		{ offsetof(Request, sources), on_sources, true },
		{ offsetof(Request, probe_add), on_probes, false },
		{ offsetof(Request, probe_list), on_probes, false },
		{ offsetof(Request, probe_remove), on_probes, false },
		{ offsetof(Request, snapshot), on_snapshot, false },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!*(void *const *)((const char *)req + table[i].field))
			continue;
		if (table[i].by_all || control_client_sees_all(client))
			return table[i].fn(ctx, client, req);
		(void)control_client_error(client, req->id, EACCES,
					   "permission denied: only root and members of the group "
					   "may do that (add the user to group tracer)");
		return -EACCES;
	}
	(void)control_client_error(client, req->id, EOPNOTSUPP,
				   "unknown request: is the client newer than tracerd?");
	return -EOPNOTSUPP;
}

void control_requests_gone(void *ctx, struct control_client *client)
{
	struct control_requests *r = ctx;

	control_probes_gone(r->probes, client);
	control_triggers_gone(r->triggers, client);
	control_snapshots_gone(r->snapshots, client);
	control_recording_gone(client);
	if (r->env.idle)
		r->env.idle(r->env.ctx);
}
