/* SPDX-License-Identifier: Apache-2.0 */
/* control_status.c - the answers to `status` and `sources`. */
#include "control_status.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "collect/perf_event_spec.h"
#include "collector.h"
#include "cost.h"
#include "flight/flight.h"
#include "interp/interpreter.h"
#include "process/process_table.h"
#include "session_manager.h"
#include "session_own.h"
#include "symbolize/symbolizer.h"
#include "trigger/trigger_status.h"
#include "unwind/unwinder.h"

#define MAX_SHOWN_SESSIONS EVENT_MAX_STREAMS
#define MAX_SHOWN_EVENTS   64

/* ---- sources ---- */

struct source_list {
	SourceStatus msgs[MAX_COLLECTORS], *ptrs[MAX_COLLECTORS];
	struct source_info infos[MAX_COLLECTORS];
	size_t n;
};

static const char *state_of(const struct source_info *info)
{
	if (info->running)
		return "on";
	return info->err < 0 ? "off" : "idle";
}

static void list_sources(struct sources *sources, struct source_list *list)
{
	for (list->n = 0; collectors[list->n]; list->n++) {
		struct source_info *info = &list->infos[list->n];
		SourceStatus *msg = &list->msgs[list->n];

		sources_info(sources, (unsigned)list->n, info);
		list->ptrs[list->n] = msg;
		source_status__init(msg);
		msg->name = (char *)collectors[list->n]->name;
		msg->summary = (char *)collectors[list->n]->summary;
		msg->state = (char *)state_of(info);
		msg->why = info->why;
		msg->has_produced = msg->has_lost = msg->has_delivered = msg->has_malformed = 1;
		msg->has_bpf_runs = msg->has_bpf_ns = msg->has_by_default = 1;
		msg->produced = info->n_produced;
		msg->lost = info->n_lost;
		msg->delivered = info->n_delivered;
		msg->malformed = info->n_malformed;
		msg->bpf_runs = info->bpf_runs;
		msg->bpf_ns = info->bpf_ns;
		msg->by_default = !collectors[list->n]->on_demand;
	}
}

/* ---- sources, for users who may see their own processes alone ---- */

struct own_list {
	const struct control_client *client;
	bool on[MAX_COLLECTORS]; /* in a session of theirs */
};

static bool is_own_session(const struct control_client *client, const struct session_owner *owner)
{
	return control_client_sees_all(client) || owner->uid == control_client_uid(client);
}

/* The managed_session_fn. */
static void note_sources(void *ctx, const struct managed_session *ms,
			 const struct session_owner *owner)
{
	struct own_list *own = ctx;
	const char *why;

	for (unsigned i = 0; is_own_session(own->client, owner) && collectors[i]; i++)
		own->on[i] |= session_source_on(managed_session(ms), i, &why);
}

/* What they get of them and whether it works; not how much goes on in the machine. */
static void list_own_sources(struct session_manager *sessions, const struct control_client *client,
			     struct source_list *list)
{
	struct own_list own = { .client = client };

	session_manager_each(sessions, note_sources, &own);
	list->n = 0;
	for (unsigned i = 0; collectors[i]; i++) {
		struct source_info *info = &list->infos[list->n];
		SourceStatus *msg = &list->msgs[list->n];

		if (!session_own_gives(i))
			continue;
		sources_info(session_manager_sources(sessions), i, info);
		list->ptrs[list->n++] = msg;
		source_status__init(msg);
		msg->name = (char *)collectors[i]->name;
		msg->summary = (char *)session_own_gives(i);
		msg->state = own.on[i] ? "on" : info->err < 0 ? "off" : "idle";
		msg->why = info->err < 0 ? info->why : "";
		msg->has_by_default = 1;
		msg->by_default = !collectors[i]->on_demand;
	}
}

static void try_sources(struct sources *sources)
{
	struct source_info info;
	char why[WHY_LEN];

	for (unsigned i = 0; collectors[i]; i++) {
		sources_info(sources, i, &info);
		if (!info.tried)
			sources_prepare(sources, i);
	}
	for (unsigned i = 0; collectors[i]; i++) {
		sources_info(sources, i, &info);
		if (!info.tried && sources_acquire(sources, i, why) == 0)
			sources_release(sources, i);
	}
}

int control_sources_reply(struct session_manager *sessions, struct control_client *client,
			  uint32_t id)
{
	struct source_list *list = calloc(1, sizeof(*list));
	char *events[MAX_SHOWN_EVENTS];
	Reply reply = REPLY__INIT;
	Sources msg = SOURCES__INIT;
	int r;

	if (!list)
		return control_client_error(client, id, -ENOMEM, "out of memory");
	if (control_client_sees_all(client)) {
		try_sources(session_manager_sources(sessions));
		list_sources(session_manager_sources(sessions), list);
	} else {
		list_own_sources(sessions, client, list);
	}
	msg.n_sources = list->n;
	msg.sources = list->ptrs;
	while (msg.n_events < MAX_SHOWN_EVENTS && perf_event_name(msg.n_events)) {
		events[msg.n_events] = (char *)perf_event_name(msg.n_events);
		msg.n_events++;
	}
	msg.events = events;
	reply.has_id = 1;
	reply.id = id;
	reply.sources = &msg;
	r = control_client_reply(client, &reply);
	free(list);
	return r;
}

/* ---- sessions ---- */

struct session_list {
	const struct control_client *client;
	SessionStatus msgs[MAX_SHOWN_SESSIONS], *ptrs[MAX_SHOWN_SESSIONS];
	char *source_names[MAX_SHOWN_SESSIONS][MAX_COLLECTORS];
	size_t n;
};

/* What it records, and how that goes. */
static void fill_session(SessionStatus *msg, const struct session *s, char **source_names)
{
	const char *why;

	session_status__init(msg);
	msg->has_elapsed_ns = msg->has_bytes = msg->has_events = 1;
	msg->has_lost = msg->has_dropped = 1;
	msg->elapsed_ns = session_elapsed_ns(s);
	msg->sampling = (char *)session_sampling(s);
	msg->bytes = session_bytes(s);
	msg->sources = source_names;
	for (unsigned i = 0; collectors[i]; i++) {
		struct session_ledger l;

		if (!session_source_on(s, i, &why))
			continue;
		session_ledger(s, i, &l);
		msg->sources[msg->n_sources++] = (char *)collectors[i]->name;
		msg->events += l.n_written;
		msg->lost += l.n_lost;
		msg->dropped += l.n_dropped;
	}
}

static void list_session(void *ctx, const struct managed_session *ms,
			 const struct session_owner *owner)
{
	struct session_list *list = ctx;
	SessionStatus *msg = &list->msgs[list->n];

	if (list->n == MAX_SHOWN_SESSIONS || owner->is_flight ||
	    !is_own_session(list->client, owner))
		return;
	fill_session(msg, managed_session(ms), list->source_names[list->n]);
	list->ptrs[list->n] = msg;
	msg->has_id = msg->has_uid = msg->has_pid = 1;
	msg->id = managed_session_id(ms);
	msg->uid = owner->uid;
	msg->pid = (uint32_t)owner->pid;
	list->n++;
}

/* ---- the flight recorder ---- */

struct flight_message {
	FlightStatus msg;
	SessionStatus session;
	char *source_names[MAX_COLLECTORS];
};

static FlightStatus *fill_flight(struct flight_message *m, const struct flight *flight)
{
	FlightStatus *msg = &m->msg;
	struct flight_status status;

	flight_status(flight, &status);
	flight_status__init(msg);
	msg->has_enabled = msg->has_recording = msg->has_size = msg->has_held = 1;
	msg->has_span_ns = msg->has_segments = msg->has_given_up = 1;
	msg->has_snapshots = msg->has_snapshot_bytes = 1;
	msg->enabled = status.enabled;
	msg->recording = status.recording;
	msg->why = (char *)status.why;
	msg->size = status.size_bytes;
	msg->held = status.held_bytes;
	msg->span_ns = status.begin_ns ? boot_ns() - status.begin_ns : 0;
	msg->segments = status.n_segments;
	msg->given_up = status.n_dropped;
	msg->snapshots = status.n_snapshots;
	msg->snapshot_bytes = status.snapshot_bytes;
	if (status.session) {
		fill_session(&m->session, status.session, m->source_names);
		msg->session = &m->session;
	}
	return msg;
}

/* ---- all of it ---- */

/* For users who may see their own processes alone. */
static void fill_own_status(Status *msg, const struct control_status_env *env)
{
	msg->version = TRACER_VERSION;
	msg->notes = "you may record your own processes; who is in the group sees all";
	msg->has_pid = msg->has_uptime_ns = 1;
	msg->pid = (uint32_t)getpid();
	msg->uptime_ns = boot_ns() - env->start_ns;
}

static void fill_status(Status *msg, const struct control_status_env *env)
{
	struct process_table_stats processes;
	pid_t workers[] = { symbolizer_worker_pid(env->symbolizer),
			    symbolizer_second_worker_pid(env->symbolizer),
			    unwinder_worker_pid(env->unwinder),
			    symbolizer_jit_worker_pid(env->symbolizer),
			    symbolizer_lines_worker_pid(env->symbolizer),
			    symbolizer_probes_worker_pid(env->symbolizer) };
	struct symbolizer_stats symbols;
	struct unwinder_stats unwinder;
	struct interpreter_stats interpreters;
	struct cost cost;

	process_table_stats(env->processes, &processes);
	symbolizer_stats(env->symbolizer, &symbols);
	unwinder_stats(env->unwinder, &unwinder);
	interpreter_stats(env->interpreter, &interpreters);
	cost_read(&cost, workers, sizeof(workers) / sizeof(workers[0]));
	msg->version = TRACER_VERSION;
	msg->notes = (char *)env->notes;
	msg->has_pid = msg->has_uptime_ns = msg->has_n_clients = 1;
	msg->has_n_processes = msg->has_n_threads = msg->has_n_mappings = 1;
	msg->has_n_symbol_files = msg->has_n_symbol_files_failed = 1;
	msg->has_n_worker_restarts = msg->has_cpu_ns = msg->has_rss_bytes = 1;
	msg->pid = (uint32_t)getpid();
	msg->uptime_ns = boot_ns() - env->start_ns;
	msg->n_clients = env->n_clients;
	msg->n_processes = processes.n_processes;
	msg->n_threads = processes.n_threads;
	msg->n_mappings = processes.n_mappings;
	msg->n_symbol_files = symbols.n_files;
	msg->n_symbol_files_failed = symbols.n_files_failed;
	msg->n_worker_restarts = symbols.n_worker_restarts + unwinder.n_restarts;
	msg->cpu_ns = cost.cpu_ns;
	msg->rss_bytes = cost.rss_bytes;
	msg->has_n_unwind_tables = msg->has_n_unwind_rows = msg->has_unwind_bytes = 1;
	msg->has_n_unwind_failed = msg->has_n_unwind_no_room = 1;
	msg->n_unwind_tables = unwinder.n_tables;
	msg->n_unwind_rows = unwinder.n_rows;
	msg->unwind_bytes = unwinder.bytes;
	msg->n_unwind_failed = unwinder.n_failed;
	msg->n_unwind_no_room = unwinder.n_no_room;
	msg->has_n_unwind_partial = 1;
	msg->n_unwind_partial = unwinder.n_partial;
	msg->has_n_python_processes = msg->has_n_python_functions = 1;
	msg->has_n_python_unknown = msg->has_n_python_unnamed = 1;
	msg->n_python_processes = interpreters.n_processes;
	msg->n_python_functions = interpreters.n_functions;
	msg->n_python_unknown = interpreters.n_unknown_versions;
	msg->n_python_unnamed = interpreters.n_unnamed;
	msg->has_n_v8_processes = msg->has_n_v8_functions = 1;
	msg->has_n_v8_unknown = msg->has_n_v8_missed = 1;
	msg->n_v8_processes = interpreters.n_v8_processes;
	msg->n_v8_functions = interpreters.n_v8_functions;
	msg->n_v8_unknown = interpreters.n_v8_unknown;
	msg->n_v8_missed = interpreters.n_v8_missed;
	msg->v8_unknown = (char *)interpreters.v8_why;
	msg->has_n_jit_files = msg->has_n_jit_refused = msg->has_n_jit_missed = 1;
	msg->n_jit_files = processes.n_jit_files;
	msg->n_jit_refused = processes.n_jit_refused;
	msg->n_jit_missed = processes.n_jit_missed;
}

int control_status_reply(const struct control_status_env *env, struct control_client *client,
			 uint32_t id)
{
	struct source_list *sources = calloc(1, sizeof(*sources));
	struct session_list *sessions = calloc(1, sizeof(*sessions));
	struct flight_message flight;
	Reply reply = REPLY__INIT;
	Status msg = STATUS__INIT;
	int r = -ENOMEM;

	if (sources && sessions) {
		sessions->client = client;
		session_manager_each(env->sessions, list_session, sessions);
		if (control_client_sees_all(client)) {
			list_sources(session_manager_sources(env->sessions), sources);
			fill_status(&msg, env);
			msg.flight = fill_flight(&flight, env->flight);
			trigger_status_fill(&msg, env->triggers, env->trigger_files);
		} else {
			list_own_sources(env->sessions, client, sources);
			fill_own_status(&msg, env);
		}
		msg.n_sources = sources->n;
		msg.sources = sources->ptrs;
		msg.n_sessions = sessions->n;
		msg.sessions = sessions->ptrs;
		reply.has_id = 1;
		reply.id = id;
		reply.status = &msg;
		r = control_client_reply(client, &reply);
	}
	free(sources);
	free(sessions);
	return r;
}
