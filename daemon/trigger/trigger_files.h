/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_files.h - the triggers of tracerd.conf: each writes what the flight recorder has to
 * NAME-TIME.perfetto-trace in a directory of tracerd's, within bounds.
 */
#ifndef TRIGGER_FILES_H
#define TRIGGER_FILES_H

#include "flight/flight.h"
#include "trigger/trigger_config.h"
#include "trigger/trigger_wait.h"

/* Where they go: the first of $STATE_DIRECTORY, as systemd sets it, or /var/lib/tracer. */
const char *trigger_files_dir(void);

struct trigger_files;

struct trigger_files_env {
	struct event_loop *loop;
	struct triggers *triggers;
	const char *dir; /* made if it is not there; kept, not copied */
	/* flight_snapshot() and flight_snapshot_cancel(), with the marks of what has fired. */
	int (*snapshot)(void *ctx, const struct flight_request *request, char why[WHY_LEN],
			struct flight_snapshot **ret);
	void (*cancel)(void *ctx, struct flight_snapshot *snapshot);
	void *ctx;
};

/*
 * Waits from now on. A trigger that cannot be waited for here is told in the log, and by
 * trigger_files_each().
 */
int trigger_files_new(const struct trigger_files_env *env, const struct trigger_configs *configs,
		      struct trigger_files **ret);
void trigger_files_free(struct trigger_files *tf); /* takes NULL; files that are not whole go */

struct trigger_files_status {
	const struct trigger_config *config;
	uint64_t n_fired;
	uint64_t n_files;    /* written */
	uint64_t n_too_soon; /* not written: min_interval, or one was being written */
	uint64_t n_failed;
	const char *dir, *last; /* name of the last file, or "" */
	const char *why;	/* it does not wait, or the last one has failed; or "" */
};
typedef void trigger_files_fn(void *ctx, const struct trigger_files_status *status);
void trigger_files_each(const struct trigger_files *tf, trigger_files_fn *fn, void *ctx);

#endif
