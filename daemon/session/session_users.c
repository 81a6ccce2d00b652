/* SPDX-License-Identifier: Apache-2.0 */
/* session_users.c - users with sessions of their own processes alone, and how often these begin. */
#include "session_users.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "clock.h"

static bool has_number(const struct event_users *users, uint8_t number)
{
	for (uint32_t i = 0; i < users->n; i++)
		if (users->users[i].number == number)
			return true;
	return false;
}

void session_users_list(const struct session_user *sessions, size_t n, struct event_users *ret)
{
	*ret = (struct event_users){ 0 };
	for (size_t i = 0; i < n; i++) {
		const struct trace_owner *owner = sessions[i].owner;

		if (!owner->only_own)
			continue;
		ret->slots[sessions[i].slot] = owner->number;
		if (!has_number(ret, owner->number) && ret->n < EVENT_MAX_USERS)
			ret->users[ret->n++] =
				(struct event_user){ owner->uid, owner->gid, owner->number };
	}
}

static uint8_t new_number(uint8_t *last, const struct event_users *users)
{
	do
		*last = *last < UINT8_MAX ? *last + 1 : 1;
	while (has_number(users, *last));
	return *last;
}

/* They share half of the places among them: the other one is there for those who see all. */
int session_users_number(const struct session_user *sessions, size_t n,
			 const struct session_users_limits *limits, uint8_t *last,
			 struct trace_owner *owner, char *why, size_t why_size)
{
	unsigned n_all = 0, n_own = 0;
	struct event_users users;

	session_users_list(sessions, n, &users);
	for (size_t i = 0; i < n; i++) {
		const struct trace_owner *other = sessions[i].owner;

		if (!other->only_own)
			continue;
		n_all++;
		n_own += other->uid == owner->uid;
		if (other->uid == owner->uid && other->gid == owner->gid)
			owner->number = other->number;
	}
	if (n_own >= limits->user_sessions) {
		snprintf(why, why_size,
			 "a user has at most %u recordings at a time: stop one, or ask for more "
			 "user_sessions in tracerd.conf",
			 limits->user_sessions);
		return -EBUSY;
	}
	if (n_all >= (limits->max_sessions + 1) / 2 ||
	    (!owner->number && users.n >= EVENT_MAX_USERS)) {
		snprintf(why, why_size,
			 "other users record already, and half of the %u sessions is for those who "
			 "see all: try again later, or ask for more max_sessions in tracerd.conf",
			 limits->max_sessions);
		return -EBUSY;
	}
	if (!owner->number)
		owner->number = new_number(last, &users);
	return 0;
}

/* ---- how often they begin ---- */

#define MINUTE_NS (60 * NS_PER_SEC)

/* Each start moves `until_ns` by its share of a minute, and it is never more than that ahead. */
static uint64_t after_one_more(uint64_t until_ns, unsigned a_minute, uint64_t now_ns)
{
	return (until_ns > now_ns ? until_ns : now_ns) + MINUTE_NS / a_minute;
}

/* The user's, or one that is free; else that of whoever has started least. */
static struct session_user_start *entry_of(struct session_users_starts *starts, uint32_t uid,
					   uint64_t now_ns)
{
	struct session_user_start *oldest = &starts->users[0];

	for (size_t i = 0; i < SESSION_USERS_LATE; i++) {
		struct session_user_start *u = &starts->users[i];

		if (u->uid == uid && u->until_ns > now_ns)
			return u;
		if (u->until_ns < oldest->until_ns)
			oldest = u;
	}
	*oldest = (struct session_user_start){ .uid = uid };
	return oldest;
}

int session_users_start(struct session_users_starts *starts, uint32_t uid, unsigned a_minute,
			uint64_t now_ns, char *why, size_t why_size)
{
	struct session_user_start *user = entry_of(starts, uid, now_ns);
	uint64_t user_ns = after_one_more(user->until_ns, a_minute, now_ns);
	uint64_t all_ns = after_one_more(starts->all_ns, SESSION_USERS_ALL * a_minute, now_ns);
	bool is_users = user_ns > now_ns + MINUTE_NS;
	uint64_t next_ns = (is_users ? user_ns : all_ns) - MINUTE_NS;

	if (next_ns > now_ns) {
		snprintf(why, why_size,
			 "%s started %u recordings within a minute: try again in %u s, or ask for "
			 "more user_starts in tracerd.conf",
			 is_users ? "this user has" : "other users have",
			 is_users ? a_minute : SESSION_USERS_ALL * a_minute,
			 (unsigned)((next_ns - now_ns + NS_PER_SEC - 1) / NS_PER_SEC));
		return -EAGAIN;
	}
	user->until_ns = user_ns;
	starts->all_ns = all_ns;
	return 0;
}
