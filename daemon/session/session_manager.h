/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_manager.h - all sessions: gives them slots, feeds them from the
 * sources, lets them end.
 */
#ifndef SESSION_MANAGER_H
#define SESSION_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "session.h"

struct event_loop;
struct session_manager;
struct managed_session;
struct interpreter;
struct probes;
struct unwinder;

struct session_manager_env {
	struct event_loop *loop;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct unwinder *unwinder;
	struct interpreter *interpreter;
	struct probes *probes;	   /* of the whole daemon */
	const char *marker_socket; /* kept, not copied; NULL: none */
	size_t ring_bytes;
	unsigned max_sessions;
	/* Of one user who may see their own processes alone: at a time, and begun a minute. */
	unsigned user_sessions, user_starts;
};

int session_manager_new(const struct session_manager_env *env, struct session_manager **ret);
void session_manager_free(struct session_manager *m); /* takes NULL */
struct sources *session_manager_sources(struct session_manager *m);

/* Whose session it is, and where its trace goes. */
struct session_owner {
	uid_t uid;
	pid_t pid;	     /* left out of samples and system calls; 0: not known */
	trace_sink_fn *sink; /* NULL: there is no trace, `tap` is told of what happens */
	trace_tap_fn *tap;   /* or NULL */
	/* All that has come so far was told: now and then, some ms apart. Optional. */
	void (*told)(void *ctx, uint64_t now_ns);
	/*
	 * The session has ended, by itself or as asked: everything is in the
	 * sink. `reason`: "" as asked, else why. The session is freed when this
	 * returns. Not called after session_manager_abandon().
	 */
	void (*ended)(void *ctx, struct session *session, const char *reason);
	/*
	 * The session has been flushed. `all`: every event that is not younger than
	 * `time_ns` has been handed to it. Optional.
	 */
	void (*flushed)(void *ctx, uint64_t time_ns, bool all);
	void *ctx;
	bool is_flight; /* the daemon's own: in a slot beside those of clients */
};

/*
 * If `config->owner.only_own`, of the processes of that user alone; the number is given here.
 * -EBUSY: all slots are taken, or all that such users may have. -ENODEV: nothing of what was asked
 * for can run here. `why` explains. `duration_ns` 0: until stopped.
 */
int session_manager_start(struct session_manager *m, struct trace_config *config,
			  uint64_t duration_ns, const struct session_owner *owner,
			  char why[WHY_LEN], struct managed_session **ret);
/* Begins the end; `ended` follows within seconds. */
void session_manager_stop(struct managed_session *ms, const char *reason);
/* The owner is gone: ends at once, without a word. */
void session_manager_abandon(struct managed_session *ms);
/* Ends all, as for a shutdown. */
void session_manager_stop_all(struct session_manager *m, const char *reason);
/* Time is up: those that have been stopped end now, whole, with what there is. */
void session_manager_end_all(struct session_manager *m);
/* Hands over what is in the rings by now, for 50 ms at most. Returns up to which time. */
uint64_t session_manager_catch_up(struct session_manager *m);
/* A child of ours is none of what is observed; 0: it has ended. There is one at a time. */
void session_manager_child(struct session_manager *m, pid_t pid);
size_t session_manager_count(const struct session_manager *m);

struct session *managed_session(const struct managed_session *ms);
uint32_t managed_session_id(const struct managed_session *ms);
unsigned managed_session_slot(const struct managed_session *ms);

typedef void managed_session_fn(void *ctx, const struct managed_session *ms,
				const struct session_owner *owner);
void session_manager_each(const struct session_manager *m, managed_session_fn *fn, void *ctx);

#endif
