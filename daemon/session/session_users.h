/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_users.h - which users have sessions of their own processes alone, by which
 * number their records are known, how many such sessions there may be, and how often they
 * may begin.
 */
#ifndef SESSION_USERS_H
#define SESSION_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "trace_config.h"

/* A session, of any owner. */
struct session_user {
	const struct trace_owner *owner;
	unsigned slot;
};

/* What the kernel's half is told. */
void session_users_list(const struct session_user *sessions, size_t n, struct event_users *ret);

struct session_users_limits {
	unsigned max_sessions, user_sessions; /* in all, of one such user */
};

/*
 * Gives the owner of a session to come the user's number, or a new one. Numbers go round by
 * `last`: a record that waits for its switch carries the one of the user it was of then, and
 * must not be taken for another one's. -EBUSY with `why`: there are too many.
 */
int session_users_number(const struct session_user *sessions, size_t n,
			 const struct session_users_limits *limits, uint8_t *last,
			 struct trace_owner *owner, char *why, size_t why_size);

/*
 * Starts of sessions: each has programs loaded into the kernel, for which all wait. So many
 * at once, and as many a minute; of all users together SESSION_USERS_ALL times as many.
 */
#define SESSION_USERS_ALL  3
#define SESSION_USERS_LATE 128 /* users who have started something in the last minute */

struct session_users_starts {
	uint64_t all_ns; /* when it is as if none had started anything; likewise each user's */
	struct session_user_start {
		uint32_t uid;
		uint64_t until_ns; /* in the past: free */
	} users[SESSION_USERS_LATE];
};

/* One start more, by `uid` at `now_ns`. -EAGAIN with `why`, and it is not counted: too many. */
int session_users_start(struct session_users_starts *starts, uint32_t uid, unsigned a_minute,
			uint64_t now_ns, char *why, size_t why_size);

#endif
