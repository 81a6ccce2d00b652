/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_users.h - which users have sessions of their own processes alone, by which
 * number their records are known, and how many such sessions there may be.
 */
#ifndef SESSION_USERS_H
#define SESSION_USERS_H

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

#endif
