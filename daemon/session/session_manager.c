/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_manager.c - all sessions.
 *
 * While there is one, a timer drains the rings 25 times a second, 10 times if only the
 * flight recorder records; a full ring of 16 MiB is half a second of the worst flood measured. A
 * drain takes 10 ms at most; when more is waiting the next one comes at once, but clients and
 * signals get their turn in between.
 */
#include "session_manager.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "interp/interpreter.h"
#include "log.h"
#include "process/process_table.h"
#include "session_users.h"
#include "symbolize/symbolizer.h"
#include "unwind/unwinder.h"

#define DRAIN_INTERVAL_NS (40 * NS_PER_MS)
#define QUIET_INTERVAL_NS (100 * NS_PER_MS) /* while only the flight recorder records */
#define BUSY_INTERVAL_NS  NS_PER_MS
#define DRAIN_SLICE_NS	  (10 * NS_PER_MS)
#define CATCH_UP_NS	  (50 * NS_PER_MS)
#define LAST_DRAIN_NS	  (200 * NS_PER_MS)
#define FLUSH_INTERVAL_NS (200 * NS_PER_MS)
#define TICK_INTERVAL_NS  NS_PER_SEC

struct managed_session {
	struct session_manager *manager;
	struct managed_session *next;
	struct session *session;
	struct session_owner owner;
	struct trace_owner starting; /* while there is no session yet */
	unsigned slot;
	uint32_t id;
	uint64_t duration_ns; /* 0: until stopped */
	bool stopping, drained;
	char reason[WHY_LEN];
};

struct session_manager {
	struct session_manager_env env;
	struct sources *sources;
	struct managed_session *first;
	size_t n_sessions;
	uint32_t last_id;
	uint8_t last_user; /* number given last */
	struct session_users_starts user_starts;
	struct event_source *timer; /* while there are sessions */
	uint64_t interval_ns;	    /* of the timer */
	uint64_t flushed_ns, ticked_ns;
	pid_t child; /* 0: none */
};

/* The source_event_fn: one record, to every session that may want it. */
static void on_event(void *ctx, unsigned source, const struct event_hdr *ev, size_t len, bool valid)
{
	struct session_manager *m = ctx;

	for (struct managed_session *ms = m->first; ms; ms = ms->next)
		session_event(ms->session, source, ev, len, valid);
}

/*
 * While a session starts, which may take long, the others go on; and its own
 * sources that have started already do not run full before it has.
 */
static void keep_up(void *ctx)
{
	struct session_manager *m = ctx;

	(void)sources_drain(m->sources, boot_ns(), DRAIN_SLICE_NS);
}

int session_manager_new(const struct session_manager_env *env, struct session_manager **ret)
{
	struct session_manager *m = calloc(1, sizeof(*m));
	struct sources_env sources_env = {
		.loop = env->loop,
		.processes = env->processes,
		.symbolizer = env->symbolizer,
		.unwinder = env->unwinder,
		.interpreter = env->interpreter,
		.probes = env->probes,
		.marker_socket = env->marker_socket,
		.ring_bytes = env->ring_bytes,
		.fn = on_event,
		.ctx = m,
		.keep_up = keep_up,
	};
	int r;

	if (!m)
		return -ENOMEM;
	m->env = *env;
	r = sources_new(&sources_env, &m->sources);
	if (r < 0) {
		free(m);
		return r;
	}
	*ret = m;
	return 0;
}

void session_manager_free(struct session_manager *m)
{
	if (!m)
		return;
	while (m->first)
		session_manager_abandon(m->first);
	sources_free(m->sources);
	free(m);
}

struct sources *session_manager_sources(struct session_manager *m)
{
	return m->sources;
}

size_t session_manager_count(const struct session_manager *m)
{
	return m->n_sessions;
}

/* What is ours is not part of what is observed. */
static void update_own(struct session_manager *m)
{
	uint32_t own[EVENT_MAX_OWN] = { (uint32_t)getpid() };
	pid_t workers[] = { symbolizer_worker_pid(m->env.symbolizer),
			    symbolizer_second_worker_pid(m->env.symbolizer),
			    unwinder_worker_pid(m->env.unwinder),
			    symbolizer_jit_worker_pid(m->env.symbolizer),
			    symbolizer_lines_worker_pid(m->env.symbolizer),
			    symbolizer_probes_worker_pid(m->env.symbolizer) };
	size_t n = 1;

	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++)
		if (workers[i] > 0)
			own[n++] = (uint32_t)workers[i];
	if (m->child > 0)
		own[n++] = (uint32_t)m->child;
	for (struct managed_session *ms = m->first; ms && n < EVENT_MAX_OWN; ms = ms->next)
		if (ms->owner.pid > 0)
			own[n++] = (uint32_t)ms->owner.pid;
	sources_exclude(m->sources, own, n);
}

void session_manager_child(struct session_manager *m, pid_t pid)
{
	m->child = pid;
	update_own(m);
}

uint64_t session_manager_catch_up(struct session_manager *m)
{
	uint64_t now_ns = boot_ns();

	(void)sources_drain(m->sources, now_ns, CATCH_UP_NS);
	return now_ns;
}

/* ---- users who have their own processes alone ---- */

static size_t list_owners(const struct session_manager *m,
			  struct session_user list[EVENT_MAX_STREAMS])
{
	size_t n = 0;

	for (const struct managed_session *ms = m->first; ms && n < EVENT_MAX_STREAMS;
	     ms = ms->next) {
		list[n].owner = ms->session ? &session_config(ms->session)->owner : &ms->starting;
		list[n++].slot = ms->slot;
	}
	return n;
}

static void update_users(struct session_manager *m)
{
	struct session_user list[EVENT_MAX_STREAMS];
	struct event_users users;

	session_users_list(list, list_owners(m, list), &users);
	sources_set_users(m->sources, &users);
}

static int admit_user(struct session_manager *m, struct trace_owner *owner, char why[WHY_LEN])
{
	const struct session_users_limits limits = { m->env.max_sessions, m->env.user_sessions };
	struct session_user list[EVENT_MAX_STREAMS];

	int r;

	r = session_users_number(list, list_owners(m, list), &limits, &m->last_user, owner, why,
				 WHY_LEN);
	if (r == 0)
		r = session_users_start(&m->user_starts, owner->uid, m->env.user_starts, boot_ns(),
					why, WHY_LEN);
	return r;
}

/* ---- the end of a session ---- */

static void remove_session(struct managed_session *ms)
{
	struct session_manager *m = ms->manager;
	struct managed_session **link = &m->first;

	while (*link != ms)
		link = &(*link)->next;
	*link = ms->next;
	m->n_sessions--;
	session_free(ms->session);
	free(ms);
	update_own(m);
	update_users(m);
	if (!m->first) {
		event_source_free(m->timer);
		m->timer = NULL;
		symbolizer_rest(m->env.symbolizer);
	}
}

void session_manager_abandon(struct managed_session *ms)
{
	remove_session(ms);
}

void session_manager_stop(struct managed_session *ms, const char *reason)
{
	if (ms->stopping)
		return;
	ms->stopping = true;
	snprintf(ms->reason, sizeof(ms->reason), "%s", reason);
	session_stop(ms->session);
}

void session_manager_stop_all(struct session_manager *m, const char *reason)
{
	for (struct managed_session *ms = m->first; ms; ms = ms->next)
		session_manager_stop(ms, reason);
}

static void end_session(struct managed_session *ms)
{
	if (session_error(ms->session) < 0 && !ms->reason[0])
		snprintf(ms->reason, sizeof(ms->reason), "%s",
			 session_error(ms->session) == -EAGAIN
				 ? "the client does not take the trace"
				 : strerror(-session_error(ms->session)));
	ms->owner.ended(ms->owner.ctx, ms->session, ms->reason);
	remove_session(ms);
}

void session_manager_end_all(struct session_manager *m)
{
	uint64_t now_ns = boot_ns();

	(void)sources_drain(m->sources, now_ns, LAST_DRAIN_NS);
	for (struct managed_session *ms = m->first, *next; ms; ms = next) {
		next = ms->next;
		if (!ms->stopping)
			continue;
		session_hurry(ms->session);
		(void)session_finish(ms->session, now_ns); /* an error is remembered */
		end_session(ms);
	}
}

/* Returns whether the session is over. */
static bool advance(struct managed_session *ms, uint64_t now_ns)
{
	if (session_error(ms->session) < 0)
		return true;
	if (!ms->stopping && ms->duration_ns && session_elapsed_ns(ms->session) >= ms->duration_ns)
		session_manager_stop(ms, "");
	return ms->drained && session_finish(ms->session, now_ns) != -EAGAIN;
}

/* ---- the timer ---- */

static bool is_due(uint64_t *last_ns, uint64_t now_ns, uint64_t interval_ns)
{
	if (now_ns < *last_ns + interval_ns)
		return false;
	*last_ns = now_ns;
	return true;
}

static int on_timer(void *ctx, uint32_t events);

static int start_timer(struct session_manager *m, uint64_t interval_ns)
{
	struct event_source *timer;
	int r;

	r = event_loop_add_timer(m->env.loop, interval_ns, on_timer, m, &timer);
	if (r < 0)
		return r;
	event_source_free(m->timer);
	m->timer = timer;
	m->interval_ns = interval_ns;
	return 0;
}

/* `more`: the last drain has left something. */
static uint64_t interval_of(const struct session_manager *m, bool more)
{
	if (more)
		return BUSY_INTERVAL_NS;
	return m->first && !m->first->next && m->first->owner.is_flight ? QUIET_INTERVAL_NS
									: DRAIN_INTERVAL_NS;
}

static bool any_stopping(const struct session_manager *m)
{
	for (const struct managed_session *ms = m->first; ms; ms = ms->next)
		if (ms->stopping)
			return true;
	return false;
}

static int on_timer(void *ctx, uint32_t events)
{
	struct session_manager *m = ctx;
	uint64_t horizon_ns = boot_ns(), now_ns;
	bool more, flush, tick;

	(void)events;
	more = sources_drain(m->sources, horizon_ns, DRAIN_SLICE_NS);
	now_ns = boot_ns();
	flush = is_due(&m->flushed_ns, now_ns, FLUSH_INTERVAL_NS);
	tick = is_due(&m->ticked_ns, now_ns, TICK_INTERVAL_NS);
	if (tick) {
		sources_tick(m->sources, now_ns);
		process_table_collect(m->env.processes, now_ns);
		symbolizer_collect(m->env.symbolizer, now_ns);
		unwinder_collect(m->env.unwinder, now_ns);
		interpreter_collect(m->env.interpreter);
		update_own(m);	 /* a worker that has died has a successor */
		update_users(m); /* programs that have come since */
	}

	if (flush || any_stopping(m))
		symbolizer_ask(m->env.symbolizer);
	for (struct managed_session *ms = m->first, *next; ms; ms = next) {
		bool was_stopping = ms->stopping; /* its own time may be up below */

		next = ms->next;
		/* A session's error is remembered; advance() ends it. */
		if (tick && !ms->stopping)
			(void)session_tick(ms->session, now_ns);
		if (flush && !ms->drained && session_flush(ms->session, now_ns) == 0 &&
		    ms->owner.flushed)
			ms->owner.flushed(ms->owner.ctx, horizon_ns, !more);
		if (ms->owner.told)
			ms->owner.told(ms->owner.ctx, now_ns);
		if (advance(ms, now_ns)) {
			end_session(ms);
			continue;
		}
		/* Stopped before this drain began: nothing of it is left in the rings. */
		if (was_stopping && !more)
			ms->drained = true;
	}
	/* Without a descriptor for another timer this one has to do. */
	if (m->timer && interval_of(m, more) != m->interval_ns)
		(void)start_timer(m, interval_of(m, more));
	return 0;
}

/* ---- the start of a session ---- */

/* The flight recorder has the last one. */
static int free_slot(const struct session_manager *m)
{
	bool taken[EVENT_MAX_STREAMS] = { 0 };

	for (struct managed_session *ms = m->first; ms; ms = ms->next)
		taken[ms->slot] = true;
	for (unsigned i = 0; i < m->env.max_sessions && i < EVENT_MAX_STREAMS - 1; i++)
		if (!taken[i])
			return (int)i;
	return -EBUSY;
}

/* BPF sees pids of the initial namespace; here /proc shows others, and names would be wrong. */
static bool in_pid_namespace(void)
{
	static const char initial[] = "pid:[4026531836]";
	char link[64];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (n <= 0)
		return false;
	link[n] = '\0';
	return strcmp(link, initial) != 0;
}

int session_manager_start(struct session_manager *m, struct trace_config *config,
			  uint64_t duration_ns, const struct session_owner *owner,
			  char why[WHY_LEN], struct managed_session **ret)
{
	struct session_env env = {
		.sources = m->sources,
		.processes = m->env.processes,
		.symbolizer = m->env.symbolizer,
		.unwinder = m->env.unwinder,
		.interpreter = m->env.interpreter,
		.probes = m->env.probes,
		.sink = owner->sink,
		.sink_ctx = owner->ctx,
		.tap = owner->tap,
		.segments = owner->is_flight,
	};
	struct managed_session *ms;
	int slot = owner->is_flight ? EVENT_MAX_STREAMS - 1 : free_slot(m), r;

	if (slot < 0) {
		snprintf(why, WHY_LEN,
			 "all %u sessions are in use: stop one or raise max_sessions in "
			 "tracerd.conf",
			 m->env.max_sessions);
		return slot;
	}
	if (in_pid_namespace()) {
		snprintf(why, WHY_LEN,
			 "tracerd runs in a pid namespace, where the kernel's pids cannot be told "
			 "from its own: run it on the host, or in a container with the host's "
			 "pids (--pid=host)");
		return -ENOTSUP;
	}
	if (config->owner.only_own) {
		r = admit_user(m, &config->owner, why);
		if (r < 0)
			return r;
	}
	ms = calloc(1, sizeof(*ms));
	if (!ms)
		return -ENOMEM;
	*ms = (struct managed_session){ .manager = m,
					.owner = *owner,
					.starting = config->owner,
					.slot = (unsigned)slot,
					.id = m->last_id + 1,
					.duration_ns = duration_ns };
	env.slot = (unsigned)slot;
	if (!m->timer) {
		r = start_timer(m, DRAIN_INTERVAL_NS);
		if (r < 0)
			goto fail;
	}
	/* Before the sources start: they shall not see the client wait for them. */
	ms->next = m->first;
	m->first = ms;
	update_own(m);
	update_users(m);
	m->first = ms->next;

	r = session_start(&env, config, why, &ms->session);
	if (r < 0)
		goto fail;
	ms->next = m->first;
	m->first = ms;
	m->n_sessions++;
	m->last_id++;
	update_own(m); /* sources have workers, too */
	*ret = ms;
	return 0;

fail:
	free(ms);
	update_own(m);
	update_users(m);
	if (!m->first) {
		event_source_free(m->timer);
		m->timer = NULL;
	}
	return r;
}

struct session *managed_session(const struct managed_session *ms)
{
	return ms->session;
}

uint32_t managed_session_id(const struct managed_session *ms)
{
	return ms->id;
}

unsigned managed_session_slot(const struct managed_session *ms)
{
	return ms->slot;
}

void session_manager_each(const struct session_manager *m, managed_session_fn *fn, void *ctx)
{
	for (struct managed_session *ms = m->first; ms; ms = ms->next)
		fn(ctx, ms, &ms->owner);
}
