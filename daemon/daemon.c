/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.c - the parts of tracerd, wired together. */
#include "daemon.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "clock.h"
#include "control_frame.h"
#include "control_requests.h"
#include "control_server.h"
#include "control_socket.h"
#include "event_loop.h"
#include "flight/flight.h"
#include "interp/interpreter.h"
#include "log.h"
#include "notify.h"
#include "probe/probes.h"
#include "process/process_table.h"
#include "session_manager.h"
#include "symbolize/symbolizer.h"
#include "trigger/trigger_files.h"
#include "trigger/trigger_psi.h"
#include "unwind/unwinder.h"

/*
 * A stop must be over in 2 s: sessions get this long to wait for names and lines, clients that
 * long to read.
 */
#define STOP_LIMIT_NS (1200 * NS_PER_MS)
#define STOP_SEND_MS  400
#define STOP_POLL_NS  (20 * NS_PER_MS)

/* All that is in /proc is looked through for them: for good, once a second is too much. */
#define FLIGHT_COUNTERS_MS 2000

/* Recordings that follow one another share what is known of processes. */
#define KEEP_PROCESSES_NS (10 * NS_PER_SEC)

struct daemon {
	struct event_loop *loop;
	struct symbolizer *symbolizer;
	struct process_table *processes;
	struct unwinder *unwinder;
	struct interpreter *interpreter;
	struct probes *probes;
	struct session_manager *sessions;
	struct flight *flight;
	struct triggers *triggers;
	struct trigger_files *trigger_files;
	struct control_requests *requests;
	struct control_server *server;
	struct control_socket *socket; /* NULL: private */

	char marker_socket[MARKER_PATH_MAX];
	int signal_fd;
	bool private, stopping;
	uint64_t stop_ns;
	uint64_t busy_ns; /* when there was a session last */
	struct event_source *signals, *tick, *watchdog, *stop_poll;
};

static int on_stop_poll(void *ctx, uint32_t events)
{
	struct daemon *d = ctx;

	(void)events;
	if (boot_ns() > d->stop_ns + STOP_LIMIT_NS) {
		session_manager_end_all(d->sessions);
		event_loop_stop(d->loop);
	}
	if (session_manager_count(d->sessions) == 0)
		event_loop_stop(d->loop);
	return 0;
}

/* Sessions end as if stopped by their clients, so that their files are whole. */
static void begin_stop(struct daemon *d)
{
	if (d->stopping) {
		event_loop_stop(d->loop); /* asked twice: at once */
		return;
	}
	d->stopping = true;
	d->stop_ns = boot_ns();
	notify("STOPPING=1");
	flight_stop(d->flight);
	session_manager_stop_all(d->sessions, "tracerd was stopped");
	if (session_manager_count(d->sessions) == 0 ||
	    event_loop_add_timer(d->loop, STOP_POLL_NS, on_stop_poll, d, &d->stop_poll) < 0)
		event_loop_stop(d->loop);
}

/* For who waits for it. */
static void on_sigusr2(struct daemon *d, uint32_t sender)
{
	if (triggers_sigusr2(d->triggers, sender, boot_ns()) == 0)
		log_info("SIGUSR2 from process %u: no trigger waits for it", sender);
}

static int on_signal(void *ctx, uint32_t events)
{
	struct daemon *d = ctx;
	struct signalfd_siginfo info;

	(void)events;
	if (read(d->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGUSR2)
		on_sigusr2(d, info.ssi_pid);
	else if (info.ssi_signo == SIGHUP)
		log_info("SIGHUP: the configuration is read at start only");
	else
		begin_stop(d);
	return 0;
}

static int on_tick(void *ctx, uint32_t events)
{
	struct daemon *d = ctx;
	uint64_t now_ns = boot_ns();

	(void)events;
	control_server_tick(d->server, now_ns);
	flight_tick(d->flight, now_ns);
	if (session_manager_count(d->sessions) > 0) {
		d->busy_ns = now_ns;
		return 0; /* sessions do the rest too */
	}
	/* Open files keep mounts busy, and deleted ones their blocks. */
	if (now_ns > d->busy_ns + KEEP_PROCESSES_NS)
		process_table_clear(d->processes);
	process_table_collect(d->processes, now_ns);
	symbolizer_collect(d->symbolizer, now_ns);
	return 0;
}

static int on_watchdog(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	notify("WATCHDOG=1");
	return 0;
}

static void on_idle(void *ctx)
{
	struct daemon *d = ctx;

	if (d->private)
		event_loop_stop(d->loop);
}

/* ---- wiring ---- */

static int watch_signals(struct daemon *d)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (d->signal_fd < 0)
		return -errno;
	return event_loop_add(d->loop, d->signal_fd, 1 /* EPOLLIN */, on_signal, d, &d->signals);
}

static gid_t group_id(const char *name)
{
	struct group *group = name[0] ? getgrnam(name) : NULL;

	return group ? group->gr_gid : (gid_t)-1;
}

/* What is recorded is checked as a client's wish is. */
static int flight_trace(const struct flight_config *flight, struct trace_config *ret)
{
	StartRequest req = START_REQUEST__INIT;
	char names[sizeof(flight->sources)], *list[MAX_COLLECTORS], *save = NULL;
	char why[WHY_LEN];
	int r;

	strcpy(names, flight->sources);
	req.sources = list;
	for (char *name = strtok_r(names, ", \t", &save); name && req.n_sources < MAX_COLLECTORS;
	     name = strtok_r(NULL, ", \t", &save))
		list[req.n_sources++] = name;
	req.event = (char *)flight->event;
	req.has_freq_hz = req.has_counters_interval_ms = 1;
	req.counters_interval_ms = FLIGHT_COUNTERS_MS;
	req.freq_hz = (uint32_t)flight->freq_hz;
	r = control_requests_config(&req, ret, why, sizeof(why));
	if (r < 0)
		log_error("tracerd.conf: [flight]: %s", why);
	ret->must_sample = false;
	return r;
}

static int new_flight(struct daemon *d, const struct daemon_options *options)
{
	struct flight_env env = {
		.loop = d->loop,
		.sessions = d->sessions,
		.symbolizer = d->symbolizer,
		.config = options->config.flight,
	};
	int r = flight_trace(&env.config, &env.trace);

	/* A private daemon records for its one client. */
	if (d->private)
		env.config.enabled = false;
	return r < 0 ? r : flight_new(&env, &d->flight);
}

/* ---- triggers ---- */

static void tap_flight(void *ctx, trace_tap_fn *fn, void *fn_ctx)
{
	struct daemon *d = ctx;

	flight_tap(d->flight, fn, fn_ctx);
}

static int take_snapshot(void *ctx, const struct flight_request *request, char why[WHY_LEN],
			 struct flight_snapshot **ret)
{
	struct flight_mark marks[TRIGGERS_MARKS];
	struct flight_request marked = *request;
	struct daemon *d = ctx;

	marked.marks = marks;
	marked.n_marks = triggers_marks(d->triggers, marks);
	return flight_snapshot(d->flight, &marked, why, ret);
}

static void cancel_snapshot(void *ctx, struct flight_snapshot *snapshot)
{
	(void)ctx;
	flight_snapshot_cancel(snapshot);
}

static int new_triggers(struct daemon *d, const struct daemon_options *options)
{
	const struct trigger_configs none = { 0 };
	struct triggers_env triggers = {
		.loop = d->loop,
		.processes = d->processes,
		.psi_dir = TRIGGER_PSI_DIR,
		.tap = tap_flight,
		.ctx = d,
	};
	struct trigger_files_env files = {
		.loop = d->loop,
		.dir = trigger_files_dir(),
		.snapshot = take_snapshot,
		.cancel = cancel_snapshot,
		.ctx = d,
	};
	int r = triggers_new(&triggers, &d->triggers);

	if (r < 0)
		return r;
	files.triggers = d->triggers;
	return trigger_files_new(&files, d->private ? &none : &options->config.triggers,
				 &d->trigger_files);
}

static int new_parts(struct daemon *d, const struct daemon_options *options)
{
	struct session_manager_env sessions = {
		.loop = d->loop,
		.symbolizer = d->symbolizer,
		.marker_socket = d->marker_socket,
		.ring_bytes = options->config.ring_bytes,
		.max_sessions = (unsigned)options->config.max_sessions,
		.user_sessions = (unsigned)options->config.user_sessions,
		.user_starts = (unsigned)options->config.user_starts,
	};
	struct control_requests_env requests = {
		.loop = d->loop,
		.symbolizer = d->symbolizer,
		.start_ns = boot_ns(),
		.notes = options->notes,
		.idle = on_idle,
		.ctx = d,
	};
	struct control_server_env server = {
		.loop = d->loop,
		.queue_bytes = options->config.client_queue_bytes,
		.max_clients = (unsigned)options->config.max_clients,
		.group = group_id(options->config.group),
		.others = strcmp(options->config.users, "own") == 0,
		.others_queue_bytes = options->config.user_queue_bytes,
		.request = control_requests_handle,
		.gone = control_requests_gone,
	};
	int r;

	r = control_marker_path(options->socket_path, d->marker_socket);
	if (r == 0)
		r = process_table_new(d->symbolizer, &d->processes);
	if (r < 0)
		return r;
	sessions.processes = requests.processes = d->processes;
	r = unwinder_new(d->symbolizer, d->processes, &d->unwinder);
	if (r < 0)
		return r;
	sessions.unwinder = requests.unwinder = d->unwinder;
	r = interpreter_new(d->symbolizer, d->processes, &d->interpreter);
	if (r < 0)
		return r;
	sessions.interpreter = requests.interpreter = d->interpreter;
	r = probes_new(&d->probes);
	if (r < 0)
		return r;
	sessions.probes = requests.probes = d->probes;
	r = session_manager_new(&sessions, &d->sessions);
	if (r < 0)
		return r;
	requests.sessions = d->sessions;
	r = new_flight(d, options);
	if (r < 0)
		return r;
	requests.flight = d->flight;
	r = new_triggers(d, options);
	if (r < 0)
		return r;
	requests.triggers = d->triggers;
	requests.trigger_files = d->trigger_files;
	r = control_requests_new(&requests, &d->requests);
	if (r < 0)
		return r;
	server.ctx = d->requests;
	r = control_server_new(&server, &d->server);
	if (r < 0)
		return r;
	control_requests_set_server(d->requests, d->server);
	return 0;
}

static int open_control(struct daemon *d, const struct daemon_options *options)
{
	int fd, r;

	if (d->private) {
		r = control_server_adopt(d->server, options->control_fd);
		if (r < 0)
			log_error("descriptor %d is not the client's socket: %s",
				  options->control_fd, strerror(-r));
		return r;
	}
	if (options->config.group[0] && group_id(options->config.group) == (gid_t)-1)
		log_warn("there is no group '%s': only root may use this daemon",
			 options->config.group);
	r = control_socket_open(options->socket_path, group_id(options->config.group),
				strcmp(options->config.users, "own") == 0, &d->socket);
	if (r < 0)
		return r;
	fd = control_socket_take(d->socket);
	return control_server_listen(d->server, fd);
}

static int start_timers(struct daemon *d)
{
	uint64_t watchdog_ns = notify_watchdog_ns();
	int r = event_loop_add_timer(d->loop, NS_PER_SEC, on_tick, d, &d->tick);

	/* Half of what is allowed, as sd_watchdog_enabled(3) advises. */
	if (r == 0 && watchdog_ns)
		r = event_loop_add_timer(d->loop, watchdog_ns / 2, on_watchdog, d, &d->watchdog);
	return r;
}

int daemon_new(const struct daemon_options *options, struct symbolizer *sym, struct daemon **ret)
{
	struct daemon *d = calloc(1, sizeof(*d));
	int r = -ENOMEM;

	if (!d) {
		symbolizer_free(sym);
		return r;
	}
	d->symbolizer = sym;
	d->signal_fd = -1;
	d->private = options->control_fd >= 0;
	r = event_loop_new(&d->loop);
	if (r == 0)
		r = watch_signals(d);
	if (r == 0)
		r = symbolizer_start(d->symbolizer, d->loop);
	if (r == 0)
		r = new_parts(d, options);
	if (r == 0)
		r = start_timers(d);
	if (r < 0) {
		log_error("cannot start: %s", strerror(-r));
		goto fail;
	}
	r = open_control(d, options); /* says itself what is wrong */
	if (r < 0)
		goto fail;
	*ret = d;
	return 0;

fail:
	daemon_free(d);
	return r;
}

void daemon_free(struct daemon *d)
{
	if (!d)
		return;
	control_server_free(d->server); /* first: it lets go of the sessions */
	control_requests_free(d->requests);
	trigger_files_free(d->trigger_files);
	triggers_free(d->triggers);
	flight_free(d->flight);
	session_manager_free(d->sessions);
	probes_free(d->probes);
	unwinder_free(d->unwinder);
	process_table_free(d->processes);
	symbolizer_free(d->symbolizer);
	interpreter_free(d->interpreter);
	control_socket_free(d->socket);
	event_source_free(d->signals);
	event_source_free(d->tick);
	event_source_free(d->watchdog);
	event_source_free(d->stop_poll);
	if (d->signal_fd >= 0)
		close(d->signal_fd);
	event_loop_free(d->loop);
	free(d);
}

int daemon_run(struct daemon *d)
{
	int r;

	notify("READY=1");
	r = event_loop_run(d->loop);
	control_server_drain(d->server, STOP_SEND_MS);
	return r;
}
