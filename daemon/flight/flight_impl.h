/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_impl.h - the insides of the flight recorder: flight.c (its session and its ring),
 * flight_snapshot.c (snapshots on their way), flight_child.c (how one is made).
 */
#ifndef FLIGHT_IMPL_H
#define FLIGHT_IMPL_H

#include "flight/flight.h"
#include "flight/flight_ring.h"
#include "session.h"

/* A snapshot takes as much memory as the ring, while it is sent. */
#define FLIGHT_MAX_SNAPSHOTS 2

struct managed_session;

struct flight {
	struct flight_env env;
	struct managed_session *recording; /* NULL: none */
	uint64_t retry_ns;		   /* when to try again then */
	char why[WHY_LEN];
	struct flight_ring ring;
	bool has_ring;
	size_t segment_bytes; /* of a segment that is whole */

	trace_tap_fn *tap;
	void *tap_ctx;

	struct flight_snapshot *snapshots;
	uint64_t n_snapshots; /* taken so far */
};

struct session *flight_session(const struct flight *f); /* NULL: none */

/* In flight_snapshot.c. */
void flight_snapshots_cancel(struct flight *f, int err, const char *why);
void flight_snapshots_tick(struct flight *f, uint64_t now_ns);
uint64_t flight_snapshots_bytes(const struct flight *f);

/* ---- what a child does (flight_child.c) ---- */

struct flight_job {
	struct flight *flight;
	const struct flight_request *request;
	struct flight_segment *first; /* that the snapshot has */
	struct session_cost cost;     /* since it began */
	uint64_t end_ns;
	/* Of all segments; the child says in as many bytes behind the trace which it has. */
	struct location *const *places;
	size_t n_places;
	int fd;	       /* where the trace goes */
	int result_fd; /* and then, struct flight_result */
};

struct flight_result {
	int err;
	uint64_t bytes;
};

void flight_child(struct flight_job *job) __attribute__((noreturn));

#endif
