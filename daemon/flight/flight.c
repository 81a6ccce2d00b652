/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight.c - the flight recorder: its session and its ring of segments.
 *
 * A segment is whole when it has its size, or is old enough; then, and only between two
 * drains, the trace is cut. A session that fails is begun anew, with an empty ring.
 */
#include "flight/flight.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "flight/flight_impl.h"
#include "log.h"
#include "session_manager.h"

/* Of the ring: so much is given up at a time. Each begins with names that stand in others, too. */
#define SEGMENTS	  16
#define SEGMENT_BYTES_MAX (1 << 20)

/*
 * A segment that is old enough, if it has something, and if it has next to nothing. In a younger
 * one hardly a stack would come twice: each is written anew.
 */
#define SEGMENT_NS	(4 * NS_PER_SEC)
#define SEGMENT_MAX_NS	(10 * NS_PER_SEC)
#define SEGMENT_SOME(f) ((f)->segment_bytes / 16)

/* How long after a failure it is tried again. */
#define RETRY_NS (30 * NS_PER_SEC)

struct session *flight_session(const struct flight *f)
{
	return f->recording ? managed_session(f->recording) : NULL;
}

static void reset_ring(struct flight *f)
{
	if (f->has_ring)
		flight_ring_done(&f->ring);
	f->has_ring = false;
}

/* ---- the session ---- */

/* The trace_sink_fn. */
static int on_block(void *ctx, const void *data, size_t len, bool essential)
{
	struct flight *f = ctx;
	struct session *s = flight_session(f);

	return flight_ring_add(&f->ring, data, len, essential, s ? session_oldest(s) : 0);
}

static void cut(struct flight *f, uint64_t time_ns)
{
	struct session_cut cut;

	if (session_cut(flight_session(f), time_ns, (unsigned)f->ring.n_segments, &cut) < 0)
		return; /* the session will be ended */
	if (flight_ring_cut(&f->ring, cut.mark, cut.places, cut.n_places) < 0)
		log_warn("flight recorder: out of memory: older segments may go too soon");
}

static bool is_whole(const struct flight *f, uint64_t now_ns, bool all)
{
	const struct flight_segment *s = f->ring.last;
	uint64_t age_ns = now_ns - s->begin_ns;

	/* In an endless flood no drain is ever complete. */
	if (s->bytes >= f->segment_bytes)
		return all || s->bytes >= 2 * f->segment_bytes;
	return all &&
	       ((age_ns >= SEGMENT_NS && s->bytes >= SEGMENT_SOME(f)) || age_ns >= SEGMENT_MAX_NS);
}

static void on_flushed(void *ctx, uint64_t time_ns, bool all)
{
	struct flight *f = ctx;

	if (f->recording && f->ring.last && is_whole(f, time_ns, all))
		cut(f, time_ns);
}

static void fail(struct flight *f, const char *why)
{
	snprintf(f->why, sizeof(f->why), "%s", why);
	f->retry_ns = boot_ns() + RETRY_NS;
}

static void on_ended(void *ctx, struct session *s, const char *reason)
{
	struct flight *f = ctx;

	(void)s;
	f->recording = NULL;
	reset_ring(f);
	log_warn("flight recorder: it has stopped: %s; it begins anew in 30 s",
		 reason[0] ? reason : "nobody knows why");
	fail(f, reason);
}

/* The session's head is in the first segment: given up at once, it is the base of all. */
static int begin_ring(struct flight *f)
{
	cut(f, session_manager_catch_up(f->env.sessions));
	if (f->ring.n_segments < 2)
		return -ENOMEM;
	flight_ring_drop(&f->ring);
	f->ring.n_dropped = 0;
	return 0;
}

static int start(struct flight *f)
{
	struct session_owner owner = {
		.sink = on_block,
		.ended = on_ended,
		.flushed = on_flushed,
		.ctx = f,
		.is_flight = true,
	};
	struct trace_config config = f->env.trace;
	char why[WHY_LEN] = "";
	int r = flight_ring_init(&f->ring, f->env.config.size_bytes);

	if (r < 0)
		return r;
	f->has_ring = true;
	r = session_manager_start(f->env.sessions, &config, 0, &owner, why, &f->recording);
	if (r == 0)
		r = begin_ring(f);
	if (r == 0 && f->tap)
		r = session_tap(flight_session(f), f->tap, f->tap_ctx);
	if (r == 0) {
		f->why[0] = '\0';
		return 0;
	}
	if (f->recording)
		session_manager_abandon(f->recording);
	f->recording = NULL;
	reset_ring(f);
	fail(f, why[0] ? why : strerror(-r));
	log_warn("flight recorder: cannot record: %s; it is tried again", f->why);
	return r;
}

/* ---- life ---- */

int flight_new(const struct flight_env *env, struct flight **ret)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->env = *env;
	f->segment_bytes = env->config.size_bytes / SEGMENTS;
	if (f->segment_bytes > SEGMENT_BYTES_MAX)
		f->segment_bytes = SEGMENT_BYTES_MAX;
	/* Begun with the first tick: whoever waits for tracerd need not wait for sources. */
	snprintf(f->why, sizeof(f->why), "tracerd has only just begun: it will in a moment");
	*ret = f;
	return 0;
}

void flight_stop(struct flight *f)
{
	flight_snapshots_cancel(f, -ECANCELED, "tracerd was stopped");
	if (f->recording)
		session_manager_abandon(f->recording);
	f->recording = NULL;
	f->env.config.enabled = false;
	reset_ring(f);
}

void flight_free(struct flight *f)
{
	if (f)
		flight_stop(f);
	free(f);
}

void flight_tick(struct flight *f, uint64_t now_ns)
{
	flight_snapshots_tick(f, now_ns);
	if (f->env.config.enabled && !f->recording && now_ns >= f->retry_ns)
		(void)start(f);
}

void flight_tap(struct flight *f, trace_tap_fn *fn, void *ctx)
{
	f->tap = fn;
	f->tap_ctx = ctx;
	/* Without memory nobody listens until it is begun anew. */
	if (f->recording)
		(void)session_tap(flight_session(f), fn, ctx);
}

void flight_status(const struct flight *f, struct flight_status *ret)
{
	*ret = (struct flight_status){
		.enabled = f->env.config.enabled,
		.recording = f->recording != NULL,
		.why = f->why,
		.size_bytes = f->env.config.size_bytes,
		.n_segments = f->ring.n_segments,
		.n_dropped = f->ring.n_dropped,
		.n_snapshots = f->n_snapshots,
		.snapshot_bytes = flight_snapshots_bytes(f),
		.session = flight_session(f),
	};
	if (!f->has_ring)
		return;
	ret->held_bytes = f->ring.bytes + flight_base_bytes(f->ring.base);
	ret->begin_ns = f->ring.first ? f->ring.first->begin_ns : 0;
}
