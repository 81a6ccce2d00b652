/* SPDX-License-Identifier: Apache-2.0 */
/* control_recording.c - a client's session: its start, its progress, its account at the end. */
#include "control_recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/perf_event_spec.h"
#include "control_requests.h"
#include "control_watch.h"
#include "event_loop.h"
#include "log.h"
#include "session_manager.h"
#include "session_own.h"
#include "symbolize/symbolizer.h"
#include "unwind/stack_walk.h"
#include "watch/watch.h"

#define MIN_PROGRESS_MS 50

/* A client's session, from its start to its end. Is the client's data. */
struct recording {
	const struct control_recording_env *env;
	struct control_client *client;
	struct managed_session *session;
	struct watch *watch;	       /* lines instead of a trace; NULL: a trace */
	struct event_source *progress; /* timer, or NULL */
	uint32_t stop_id;	       /* of the request to be answered by Stopped */
};

static void recording_free(struct recording *rec)
{
	event_source_free(rec->progress);
	watch_free(rec->watch);
	control_client_set_data(rec->client, NULL);
	free(rec);
}

/* ---- what it is told ---- */

static void totals(struct session *s, uint64_t *events, uint64_t *lost)
{
	*events = *lost = 0;
	for (unsigned i = 0; collectors[i]; i++) {
		struct session_ledger l;

		session_ledger(s, i, &l);
		*events += l.n_written;
		*lost += l.n_lost + l.n_dropped;
	}
}

static int on_progress(void *ctx, uint32_t events)
{
	struct recording *rec = ctx;
	struct session *s = managed_session(rec->session);
	Reply reply = REPLY__INIT;
	Progress msg = PROGRESS__INIT;

	(void)events;
	msg.has_elapsed_ns = msg.has_bytes = msg.has_events = msg.has_lost = 1;
	msg.elapsed_ns = session_elapsed_ns(s);
	msg.bytes = session_bytes(s);
	totals(s, &msg.events, &msg.lost);
	reply.progress = &msg;
	/* A client that does not read will be dropped by the server. */
	(void)control_client_reply(rec->client, &reply);
	return 0;
}

static void fill_ledger(SourceLedger *msg, unsigned i, const struct session_ledger *l)
{
	source_ledger__init(msg);
	msg->name = (char *)collectors[i]->name;
	msg->has_produced = msg->has_lost = msg->has_malformed = 1;
	msg->has_filtered = msg->has_dropped = msg->has_written = 1;
	msg->produced = l->n_produced;
	msg->lost = l->n_lost;
	msg->malformed = l->n_malformed;
	msg->filtered = l->n_filtered;
	msg->dropped = l->n_dropped;
	msg->written = l->n_written;
}

/* How stacks have ended: those of one source in one reply. */
struct stack_ends {
	StackEnd ends[UNWIND_ENDS], *ptrs[UNWIND_ENDS];
};

static void fill_stack_ends(SourceLedger *msg, const uint64_t *ends, struct stack_ends *room)
{
	msg->has_stacks = msg->has_whole_stacks = 1;
	msg->stack_ends = room->ptrs;
	for (int i = 0; i < UNWIND_ENDS; i++) {
		enum unwind_end end = (enum unwind_end)i;
		StackEnd *e = &room->ends[msg->n_stack_ends];

		if (!ends[i])
			continue;
		stack_end__init(e);
		e->reason = (char *)unwind_end_name(end);
		e->has_samples = 1;
		e->samples = ends[i];
		room->ptrs[msg->n_stack_ends++] = e;
		msg->stacks += unwind_end_has_stack(end) ? ends[i] : 0;
		msg->whole_stacks += unwind_end_is_whole(end) ? ends[i] : 0;
	}
}

static void on_ended(void *ctx, struct session *s, const char *reason)
{
	struct control_client *client = ctx;
	struct recording *rec = control_client_data(client);
	struct session_cost cost;
	struct symbolizer_stats symbols;
	SourceLedger ledgers[MAX_COLLECTORS], *ptrs[MAX_COLLECTORS];
	struct stack_ends ends[MAX_COLLECTORS];
	Reply reply = REPLY__INIT;
	Stopped msg = STOPPED__INIT;
	const char *why;

	for (unsigned i = 0; collectors[i]; i++) {
		struct session_ledger l;

		if (!session_source_on(s, i, &why))
			continue;
		session_ledger(s, i, &l);
		ptrs[msg.n_ledger] = &ledgers[msg.n_ledger];
		fill_ledger(ptrs[msg.n_ledger++], i, &l);
		if (session_stack_ends(s, i))
			fill_stack_ends(&ledgers[msg.n_ledger - 1], session_stack_ends(s, i),
					&ends[i]);
	}
	session_cost(s, &cost);
	symbolizer_stats(rec->env->symbolizer, &symbols);
	msg.ledger = ptrs;
	msg.reason = (char *)reason;
	msg.has_elapsed_ns = msg.has_bytes = msg.has_processes = 1;
	msg.has_daemon_cpu_ns = msg.has_bpf_cpu_ns = control_client_sees_all(client);
	msg.has_kernel_hidden = msg.has_unsampled_ns = 1;
	msg.elapsed_ns = session_elapsed_ns(s);
	msg.bytes = session_bytes(s);
	msg.processes = cost.n_processes;
	msg.daemon_cpu_ns = cost.daemon_cpu_ns;
	msg.bpf_cpu_ns = cost.bpf_cpu_ns;
	msg.unsampled_ns = cost.unsampled_ns;
	msg.has_samples_due = msg.has_samples_taken = cost.n_due != 0;
	msg.samples_due = cost.n_due;
	msg.samples_taken = cost.n_taken;
	msg.kernel_hidden = symbols.kernel_hidden;
	reply.has_id = 1;
	reply.id = rec->stop_id;
	reply.stopped = &msg;
	if (rec->watch)
		control_watch_ended(rec->watch, &msg);
	(void)control_client_reply(client, &reply);
	recording_free(rec);
}

/* ---- its start ---- */

static int reply_started(struct recording *rec, uint32_t id)
{
	struct session *s = managed_session(rec->session);
	SourceState states[MAX_COLLECTORS], *ptrs[MAX_COLLECTORS];
	Reply reply = REPLY__INIT;
	Started msg = STARTED__INIT;

	for (unsigned i = 0; collectors[i]; i++) {
		const char *why;

		ptrs[msg.n_sources] = &states[msg.n_sources];
		source_state__init(ptrs[msg.n_sources]);
		states[msg.n_sources].name = (char *)collectors[i]->name;
		states[msg.n_sources].has_on = 1;
		states[msg.n_sources].on = session_source_on(s, i, &why);
		states[msg.n_sources].why = (char *)why;
		msg.n_sources++;
	}
	msg.sources = ptrs;
	msg.has_session = msg.has_start_ns = reply.has_id = 1;
	msg.session = managed_session_id(rec->session);
	msg.start_ns = session_start_ns(s);
	msg.sampling = (char *)session_sampling(s);
	reply.id = id;
	reply.started = &msg;
	return control_client_reply(rec->client, &reply);
}

/* For a user who may see their own processes alone. */
static int keep_to_own(const struct control_client *client, const StartRequest *req,
		       struct trace_config *config, char why[WHY_LEN])
{
	config->owner = (struct trace_owner){
		.only_own = true,
		.uid = control_client_uid(client),
		.gid = control_client_gid(client),
		.kernel_hidden = !session_own_kernel_is_open(),
	};
	return session_own_restrict(config, req->n_sources || req->gpu_api, why, WHY_LEN);
}

static void watch_tapped(void *ctx, const struct trace_tap_event *ev)
{
	const struct recording *rec = control_client_data(ctx);

	watch_event(rec->watch, ev);
}

static void watch_told(void *ctx, uint64_t now_ns)
{
	const struct recording *rec = control_client_data(ctx);

	(void)now_ns;
	watch_flush(rec->watch, false);
}

static int start_recording(struct recording *rec, const StartRequest *req,
			   const WatchRequest *watch, char why[WHY_LEN])
{
	struct session_owner owner = {
		.uid = control_client_uid(rec->client),
		.pid = control_client_pid(rec->client),
		.sink = watch ? NULL : control_client_trace,
		.tap = watch ? watch_tapped : NULL,
		.told = watch ? watch_told : NULL,
		.ended = on_ended,
		.ctx = rec->client,
	};
	const struct control_watch_env watch_env = { rec->env->processes, rec->env->probes };
	struct trace_config config;
	uint32_t interval_ms = req->has_progress_interval_ms ? req->progress_interval_ms : 0;
	int r;

	r = control_requests_config(req, &config, why, WHY_LEN);
	if (r < 0)
		return r;
	if (watch)
		r = control_watch_new(&watch_env, watch, &config, rec->client, why, &rec->watch);
	/* Who asks for no rate gets what there is; the reply and the trace say how much. */
	if (!req->has_freq_hz && config.freq_hz > perf_event_max_rate())
		config.freq_hz = perf_event_max_rate();
	if (r == 0 && !control_client_sees_all(rec->client))
		r = keep_to_own(rec->client, req, &config, why);
	if (r == 0)
		r = session_manager_start(rec->env->sessions, &config,
					  req->has_duration_ns ? req->duration_ns : 0, &owner, why,
					  &rec->session);
	free(config.command_line);
	free(config.probes);
	if (r < 0 || interval_ms == 0)
		return r;
	if (interval_ms < MIN_PROGRESS_MS)
		interval_ms = MIN_PROGRESS_MS;
	/* Without a timer there is no progress line; the recording is the same. */
	(void)event_loop_add_timer(rec->env->loop, interval_ms * NS_PER_MS, on_progress, rec,
				   &rec->progress);
	return 0;
}

int control_recording_begin(const struct control_recording_env *env, struct control_client *client,
			    uint32_t id, const StartRequest *req, const WatchRequest *watch)
{
	char why[WHY_LEN] = "";
	struct recording *rec;
	int err;

	if (control_client_data(client)) {
		(void)control_client_error(client, id, EBUSY,
					   "this client has a session: stop it first");
		return -EBUSY;
	}
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return control_client_error(client, id, ENOMEM, "out of memory");
	rec->env = env;
	rec->client = client;
	control_client_set_data(client, rec);
	err = start_recording(rec, req, watch, why);
	if (err == 0)
		return reply_started(rec, id);
	recording_free(rec);
	log_told("a session could not start: %s", why[0] ? why : strerror(-err));
	return control_client_error(client, id, err, why[0] ? why : strerror(-err));
}

/* ---- its end ---- */

int control_recording_stop(struct control_client *client, uint32_t id)
{
	struct recording *rec = control_client_data(client);

	if (!rec) {
		(void)control_client_error(client, id, ENOENT, "this client has no session");
		return -ENOENT;
	}
	if (rec->stop_id) { /* the answer to the first one is on its way */
		(void)control_client_error(client, id, EALREADY, "the session is stopping");
		return 0;
	}
	rec->stop_id = id;
	session_manager_stop(rec->session, "");
	return 0;
}

void control_recording_gone(struct control_client *client)
{
	struct recording *rec = control_client_data(client);
	struct managed_session *session;

	if (!rec)
		return;
	session = rec->session;
	recording_free(rec);
	session_manager_abandon(session);
}
