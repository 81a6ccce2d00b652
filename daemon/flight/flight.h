/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight.h - the flight recorder: a session without a client that goes on from the start of
 * tracerd, whose trace lies in memory, the oldest of it given up for the newest; and snapshots
 * of it, each a trace of its own.
 *
 * A snapshot is made by a child (flight_snapshot.c), in which everything stands still, while
 * the recorder goes on as if nothing was. It lies in memory until its owner has taken it.
 */
#ifndef FLIGHT_H
#define FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector.h"
#include "config.h"
#include "trace_tap.h"

struct event_loop;
struct flight;
struct flight_snapshot;
struct session_manager;
struct symbolizer;

struct flight_env {
	struct event_loop *loop;
	struct session_manager *sessions;
	struct symbolizer *symbolizer;
	struct flight_config config;
	struct trace_config trace; /* what is recorded, made of `config` */
};

/* Records from the first tick on, if it is enabled. What cannot start is tried again, and `status`
 * says why.
 */
int flight_new(const struct flight_env *env, struct flight **ret);
void flight_free(struct flight *f); /* takes NULL; snapshots end with -ECANCELED */

/* Records no longer; snapshots that are not sent yet end with -ECANCELED. */
void flight_stop(struct flight *f);

/* About once a second. */
void flight_tick(struct flight *f, uint64_t now_ns);

/*
 * Who listens to what the recorder writes, across its restarts; NULL: nobody. Is told
 * everything as it is written, which for a slice is its end.
 */
void flight_tap(struct flight *f, trace_tap_fn *fn, void *ctx);

/* ---- snapshots ---- */

/* Something that the trace shall show: an instant on the track "Triggers". */
struct flight_mark {
	uint64_t time_ns;
	const char *name;		/* "slice:frame>10ms" */
	const char *detail;		/* what it was: "'frame' took 31.2 ms"; or NULL */
	const char *by;			/* who waited for it: "[trigger NAME]"; or NULL */
	const char *comm;		/* of the process whose it was; or NULL */
	uint32_t tgid, tid;		/* 0: nobody's */
	uint64_t duration_ns, n_missed; /* 0: not shown */
};

struct flight_info {
	uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
	uint64_t bytes;
};

/*
 * Takes all of a piece and returns 0, or takes nothing and returns -EAGAIN: it is offered
 * again 40 ms later. Anything else ends the snapshot with that.
 */
typedef int flight_sink_fn(void *ctx, const void *data, size_t len);

/*
 * The last call of a snapshot, which is freed afterwards. `err` 0: all of it is in the sink;
 * else `why` says in a sentence what went wrong. Not called from within flight_snapshot(), and
 * not after flight_snapshot_cancel().
 */
typedef void flight_done_fn(void *ctx, int err, const char *why, const struct flight_info *info);

struct flight_request {
	uint64_t last_ns; /* no more than whole segments that hold that; 0: all there is */
	const char
		*command_line; /* for the trace's attributes, or NULL; is copied, like the rest */
	const struct flight_mark *marks;
	size_t n_marks;
	flight_sink_fn *sink;
	flight_done_fn *done;
	void *ctx;
};

/*
 * Begins a snapshot of what there is at this moment. What comes later, as with
 * `tracectl snapshot --after`, is for the caller to wait for. Not to be called from within a
 * tap: what is being written then is in the midst of it. -ENOENT: nothing is recorded;
 * -EBUSY: as many snapshots as there may be are being taken; `why` says so, and what to do.
 */
int flight_snapshot(struct flight *f, const struct flight_request *request, char why[WHY_LEN],
		    struct flight_snapshot **ret);
/* Its owner is gone: ends at once, without a word. */
void flight_snapshot_cancel(struct flight_snapshot *s);

/* ---- facts ---- */

struct flight_status {
	bool enabled, recording;
	const char *why;     /* it does not record, or lacks something; or "" */
	uint64_t size_bytes; /* what it may have */
	uint64_t held_bytes; /* what it has */
	uint64_t begin_ns;   /* of what it has, CLOCK_BOOTTIME; 0: nothing */
	uint64_t n_segments;
	uint64_t n_dropped;	       /* segments, since it began */
	uint64_t n_snapshots;	       /* taken so far */
	uint64_t snapshot_bytes;       /* of those that are not sent yet */
	const struct session *session; /* NULL: none */
};
void flight_status(const struct flight *f, struct flight_status *ret);

#endif
