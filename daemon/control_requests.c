/* SPDX-License-Identifier: Apache-2.0 */
/* control_requests.c - what the requests of control.proto do. */
#include "control_requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/perf_event_spec.h"
#include "collector.h"
#include "control_frame.h"
#include "control_status.h"
#include "event_loop.h"
#include "gpu/gpu_api_table.h"
#include "log.h"
#include "process/process_table.h"
#include "session_manager.h"
#include "symbolize/symbolizer.h"
#include "unwind/stack_walk.h"

#define DEFAULT_EVENT	    "cpu-clock"
#define DEFAULT_FREQ_HZ	    999
#define MAX_FREQ_HZ	    100000 /* the kernel's own limit is usually lower and is said then */
#define DEFAULT_COUNTERS_MS 1000
#define MIN_COUNTERS_MS	    10
#define MAX_COUNTERS_MS	    3600000
#define MIN_PROGRESS_MS	    50
#define DEFAULT_WAIT_NS	    NS_PER_MS
#define MAX_WAIT_NS	    (3600 * NS_PER_SEC)
#define DEFAULT_ALLOC_BYTES (512 * 1024)
#define MAX_ALLOC_BYTES	    (1ull << 40)
#define MAX_COMMAND_LINE    4096

struct control_requests {
	struct control_requests_env env;
	struct control_server *server;
};

/* A client's session, from its start to its end. Is the client's data. */
struct recording {
	struct control_requests *all;
	struct control_client *client;
	struct managed_session *session;
	struct event_source *progress; /* timer, or NULL */
	uint32_t stop_id;	       /* of the request to be answered by Stopped */
};

int control_requests_new(const struct control_requests_env *env, struct control_requests **ret)
{
	struct control_requests *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->env = *env;
	*ret = r;
	return 0;
}

void control_requests_free(struct control_requests *r)
{
	free(r);
}

void control_requests_set_server(struct control_requests *r, struct control_server *server)
{
	r->server = server;
}

/* ---- configuration ---- */

static int choose_sources(const StartRequest *req, struct trace_config *config, char *why,
			  size_t why_size)
{
	const struct collector *c;

	for (size_t i = 0; collectors[i]; i++)
		if (req->n_sources == 0 && !collectors[i]->on_demand)
			config->sources |= 1u << i;
	for (size_t k = 0; k < req->n_sources + req->n_without; k++) {
		bool out = k >= req->n_sources;
		const char *name = out ? req->without[k - req->n_sources] : req->sources[k];

		c = collector_by_name(name);
		if (!c) {
			snprintf(why, why_size,
				 "there is no source '%.40s': tracectl status lists them", name);
			return -EINVAL;
		}
		if (out)
			config->sources &= ~(1u << collector_index(c));
		else
			config->sources |= 1u << collector_index(c);
	}
	return 0;
}

/* Asked for with its classes it is there beside the others, whichever they are. */
static int choose_gpu_api(const StartRequest *req, struct trace_config *config, char *why,
			  size_t why_size)
{
	config->gpu_api_classes = GPU_API_DEFAULT_CLASSES;
	if (!req->gpu_api)
		return 0;
	config->sources |= 1u << collector_index(collector_by_name("gpu-api"));
	if (gpu_api_classes_parse(req->gpu_api, &config->gpu_api_classes) == 0)
		return 0;
	snprintf(why, why_size,
		 "calls of GPU APIs are of the classes launch, submit, present, copy, memory, "
		 "sync, build, setup (default) and draw; or all");
	return -EINVAL;
}

static int choose_filters(const StartRequest *req, struct trace_config *config, char *why,
			  size_t why_size)
{
	if (req->n_pids > TRACE_MAX_PIDS) {
		snprintf(why, why_size, "at most %d pids", TRACE_MAX_PIDS);
		return -EINVAL;
	}
	config->n_pids = (uint32_t)req->n_pids;
	if (req->n_pids)
		memcpy(config->pids, req->pids, req->n_pids * sizeof(*req->pids));
	if (req->comm) {
		if (strlen(req->comm) >= sizeof(config->comm_glob)) {
			snprintf(why, why_size, "the pattern of comm has at most %zu bytes",
				 sizeof(config->comm_glob) - 1);
			return -EINVAL;
		}
		strcpy(config->comm_glob, req->comm);
	}
	config->has_cgroup = req->has_cgroup_id;
	config->cgroup_id = req->cgroup_id;
	config->has_uid = req->has_uid;
	config->uid = req->uid;
	return 0;
}

static int choose_sampling(const StartRequest *req, struct trace_config *config, char *why,
			   size_t why_size)
{
	const char *event = req->event ? req->event : DEFAULT_EVENT;

	if (strlen(event) >= sizeof(config->event)) {
		snprintf(why, why_size, "the name of an event has at most %zu bytes",
			 sizeof(config->event) - 1);
		return -EINVAL;
	}
	strcpy(config->event, event);
	if (req->n_more_events >= TRACE_MAX_EVENTS) {
		snprintf(why, why_size, "at most %d events", TRACE_MAX_EVENTS);
		return -EINVAL;
	}
	for (size_t i = 0; i < req->n_more_events; i++) {
		if (strlen(req->more_events[i]) >= TRACE_EVENT_LEN) {
			snprintf(why, why_size, "the name of an event has at most %d bytes",
				 TRACE_EVENT_LEN - 1);
			return -EINVAL;
		}
		strcpy(config->more_events[i], req->more_events[i]);
	}
	config->n_more_events = (unsigned)req->n_more_events;
	config->must_sample = req->event || req->has_freq_hz || req->has_period || req->n_sources;
	config->period = req->has_period ? req->period : 0;
	config->freq_hz = req->has_freq_hz ? req->freq_hz : DEFAULT_FREQ_HZ;
	if (config->freq_hz == 0 || config->freq_hz > MAX_FREQ_HZ) {
		snprintf(why, why_size, "the frequency is 1 to %d Hz", MAX_FREQ_HZ);
		return -EINVAL;
	}
	if (req->has_period && (req->period == 0 || req->period > INT64_MAX)) {
		snprintf(why, why_size, "the period must be at least 1");
		return -EINVAL;
	}
	return 0;
}

int control_requests_config(const StartRequest *req, struct trace_config *config, char *why,
			    size_t why_size)
{
	int r;

	*config = (struct trace_config){ .counters_interval_ms = DEFAULT_COUNTERS_MS,
					 .offcpu_min_ns = DEFAULT_WAIT_NS,
					 .alloc_bytes = DEFAULT_ALLOC_BYTES };
	r = choose_sources(req, config, why, why_size);
	if (r == 0)
		r = choose_gpu_api(req, config, why, why_size);
	if (r == 0)
		r = choose_filters(req, config, why, why_size);
	if (r == 0)
		r = choose_sampling(req, config, why, why_size);
	if (r < 0)
		return r;
	if (req->has_counters_interval_ms)
		config->counters_interval_ms = req->counters_interval_ms;
	if (config->counters_interval_ms < MIN_COUNTERS_MS ||
	    config->counters_interval_ms > MAX_COUNTERS_MS) {
		snprintf(why, why_size, "counters are read every %d to %d ms", MIN_COUNTERS_MS,
			 MAX_COUNTERS_MS);
		return -EINVAL;
	}
	if (req->has_alloc_bytes)
		config->alloc_bytes = req->alloc_bytes;
	if (config->alloc_bytes == 0 || config->alloc_bytes > MAX_ALLOC_BYTES) {
		snprintf(why, why_size, "a sample of allocations each 1 byte to 1 TiB");
		return -EINVAL;
	}
	if (req->has_offcpu_min_ns)
		config->offcpu_min_ns = req->offcpu_min_ns;
	if (config->offcpu_min_ns > MAX_WAIT_NS) {
		snprintf(why, why_size, "a wait of an hour is recorded in any case");
		return -EINVAL;
	}
	if (req->command_line) {
		config->command_line = strndup(req->command_line, MAX_COMMAND_LINE);
		if (!config->command_line)
			return -ENOMEM;
	}
	return 0;
}

/* ---- a session's own messages ---- */

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

static void recording_free(struct recording *rec)
{
	event_source_free(rec->progress);
	control_client_set_data(rec->client, NULL);
	free(rec);
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
	symbolizer_stats(rec->all->env.symbolizer, &symbols);
	msg.ledger = ptrs;
	msg.reason = (char *)reason;
	msg.has_elapsed_ns = msg.has_bytes = msg.has_processes = 1;
	msg.has_daemon_cpu_ns = msg.has_bpf_cpu_ns = msg.has_kernel_hidden = 1;
	msg.has_unsampled_ns = 1;
	msg.elapsed_ns = session_elapsed_ns(s);
	msg.bytes = session_bytes(s);
	msg.processes = cost.n_processes;
	msg.daemon_cpu_ns = cost.daemon_cpu_ns;
	msg.bpf_cpu_ns = cost.bpf_cpu_ns;
	msg.unsampled_ns = cost.unsampled_ns;
	msg.kernel_hidden = symbols.kernel_hidden;
	reply.has_id = 1;
	reply.id = rec->stop_id;
	reply.stopped = &msg;
	(void)control_client_reply(client, &reply);
	recording_free(rec);
}

/* ---- requests ---- */

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

static int start_recording(struct recording *rec, const StartRequest *req, char why[WHY_LEN])
{
	struct session_owner owner = {
		.uid = control_client_uid(rec->client),
		.pid = control_client_pid(rec->client),
		.sink = control_client_trace,
		.ended = on_ended,
		.ctx = rec->client,
	};
	struct trace_config config;
	uint32_t interval_ms = req->has_progress_interval_ms ? req->progress_interval_ms : 0;
	int r;

	r = control_requests_config(req, &config, why, WHY_LEN);
	if (r < 0)
		return r;
	/* Who asks for no rate gets what there is; the reply and the trace say how much. */
	if (!req->has_freq_hz && config.freq_hz > perf_event_max_rate())
		config.freq_hz = perf_event_max_rate();
	r = session_manager_start(rec->all->env.sessions, &config,
				  req->has_duration_ns ? req->duration_ns : 0, &owner, why,
				  &rec->session);
	free(config.command_line);
	if (r < 0 || interval_ms == 0)
		return r;
	if (interval_ms < MIN_PROGRESS_MS)
		interval_ms = MIN_PROGRESS_MS;
	/* Without a timer there is no progress line; the recording is the same. */
	(void)event_loop_add_timer(rec->all->env.loop, interval_ms * NS_PER_MS, on_progress, rec,
				   &rec->progress);
	return 0;
}

static int on_start(struct control_requests *r, struct control_client *client, const Request *req)
{
	char why[WHY_LEN] = "";
	struct recording *rec;
	int err;

	if (control_client_data(client)) {
		(void)control_client_error(client, req->id, EBUSY,
					   "this client has a session: stop it first");
		return -EBUSY;
	}
	rec = calloc(1, sizeof(*rec));
	if (!rec)
		return control_client_error(client, req->id, ENOMEM, "out of memory");
	rec->all = r;
	rec->client = client;
	control_client_set_data(client, rec);
	err = start_recording(rec, req->start, why);
	if (err == 0)
		return reply_started(rec, req->id);
	recording_free(rec);
	log_info("a session could not start: %s", why[0] ? why : strerror(-err));
	return control_client_error(client, req->id, err, why[0] ? why : strerror(-err));
}

static int on_stop(struct control_requests *r, struct control_client *client, const Request *req)
{
	struct recording *rec = control_client_data(client);

	(void)r;
	if (!rec) {
		(void)control_client_error(client, req->id, ENOENT, "this client has no session");
		return -ENOENT;
	}
	if (rec->stop_id) { /* the answer to the first one is on its way */
		(void)control_client_error(client, req->id, EALREADY, "the session is stopping");
		return 0;
	}
	rec->stop_id = req->id;
	session_manager_stop(rec->session, "");
	return 0;
}

static int on_status(struct control_requests *r, struct control_client *client, const Request *req)
{
	const struct control_status_env env = {
		.sessions = r->env.sessions,
		.processes = r->env.processes,
		.symbolizer = r->env.symbolizer,
		.unwinder = r->env.unwinder,
		.interpreter = r->env.interpreter,
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

int control_requests_handle(void *ctx, struct control_client *client, const Request *req)
{
	static const struct {
		size_t field; /* of Request: the message that is there when it is this request */
		int (*fn)(struct control_requests *r, struct control_client *client,
			  const Request *req);
	} table[] = {
		{ offsetof(Request, hello), on_hello },
		{ offsetof(Request, start), on_start },
		{ offsetof(Request, stop), on_stop },
		{ offsetof(Request, status), on_status },
		{ offsetof(Request, sources), on_sources },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (*(void *const *)((const char *)req + table[i].field))
			return table[i].fn(ctx, client, req);
	(void)control_client_error(client, req->id, EOPNOTSUPP,
				   "unknown request: is the client newer than tracerd?");
	return -EOPNOTSUPP;
}

void control_requests_gone(void *ctx, struct control_client *client)
{
	struct control_requests *r = ctx;
	struct recording *rec = control_client_data(client);

	if (rec) {
		struct managed_session *session = rec->session;

		recording_free(rec);
		session_manager_abandon(session);
	}
	if (r->env.idle)
		r->env.idle(r->env.ctx);
}
