/* SPDX-License-Identifier: GPL-2.0 */
/*
 * user.bpf.h - whose process it is, as the kernel has it when it lets a user look into
 * one (ptrace_may_access()): real, effective and saved ids are all the user's, no
 * capabilities, and its memory may be dumped. Programs with the set-user-id bit, with
 * capabilities or that cannot be read are nobody's, and so is who had other ids and has
 * not called exec since.
 *
 * Looked at with each record, since it may change between two of them. While all
 * sessions have everything it costs a look into one map.
 */
#ifndef USER_BPF_H
#define USER_BPF_H

#include "event.h"
#include "kernel.h"

/* The daemon finds the map by its name and writes it while programs are attached. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_users);
} users SEC(".maps");

#define NO_USER 0xffffffffu

struct user_ids {
	__u32 uid, gid; /* uid NO_USER: nobody's */
};

#define DUMPABLE_MASK 3
#define DUMPABLE_USER 1 /* SUID_DUMP_USER */

static __always_inline bool is_dumpable(struct mm_struct *mm)
{
	struct mm_struct___6_18 *bitmap = (void *)mm;
	unsigned long flags = 0;

	if (!mm) /* it has given it up: it ends */
		return false;
	if (bpf_core_field_exists(bitmap->flags))
		flags = BPF_CORE_READ(bitmap, flags.__mm_flags[0]);
	else if (bpf_core_field_exists(mm->flags))
		flags = BPF_CORE_READ(mm, flags);
	return (flags & DUMPABLE_MASK) == DUMPABLE_USER;
}

/* Capabilities count in the user's own namespaces alone. */
#define MAX_USER_NS_LEVEL 4

static __always_inline bool has_capabilities(const struct cred *cred, __u32 uid)
{
	struct user_namespace *ns = BPF_CORE_READ(cred, user_ns);
	__u64 caps = ~0ull;
	int level = BPF_CORE_READ(ns, level);

	if (level == 0) {
		bpf_core_read(&caps, sizeof(caps), &cred->cap_permitted);
		return caps != 0;
	}
	for (int i = 0; i < MAX_USER_NS_LEVEL && level > 1; i++) {
		ns = BPF_CORE_READ(ns, parent);
		level--;
	}
	return level != 1 || BPF_CORE_READ(ns, owner.val) != uid;
}

/* What its credentials say, without a look at its memory, which it may have given up. */
static __always_inline bool has_plain_ids(struct task_struct *task, struct user_ids *ret)
{
	const struct cred *cred = BPF_CORE_READ(task, real_cred);

	ret->uid = BPF_CORE_READ(cred, uid.val);
	ret->gid = BPF_CORE_READ(cred, gid.val);
	return ret->uid == BPF_CORE_READ(cred, euid.val) &&
	       ret->uid == BPF_CORE_READ(cred, suid.val) &&
	       ret->gid == BPF_CORE_READ(cred, egid.val) &&
	       ret->gid == BPF_CORE_READ(cred, sgid.val) && !has_capabilities(cred, ret->uid);
}

static __always_inline bool is_plain(struct task_struct *task, struct user_ids *ret)
{
	return has_plain_ids(task, ret) && is_dumpable(BPF_CORE_READ(task, mm));
}

static __always_inline struct event_users *some_users(void)
{
	__u32 zero = 0;
	struct event_users *u = bpf_map_lookup_elem(&users, &zero);

	return u && u->n ? u : 0;
}

/* Functions of their own, since they are called in many places; this one is verified once. */
__noinline __u32 number_of(__u32 uid, __u32 gid)
{
	struct event_users *u = some_users();

	if (!u || uid == NO_USER)
		return 0;
	for (__u32 i = 0; i < EVENT_MAX_USERS && i < u->n; i++)
		if (u->users[i].uid == uid && u->users[i].gid == gid)
			return u->users[i].number;
	return 0;
}

static __noinline __u32 look_at_user(struct task_struct *task)
{
	struct user_ids ids = {};

	return is_plain(task, &ids) ? number_of(ids.uid, ids.gid) : 0;
}

/* For hdr.user. */
static __always_inline __u8 task_user(struct task_struct *task)
{
	return some_users() ? look_at_user(task) : 0;
}

static __always_inline __u8 user_number(const struct user_ids *ids)
{
	return some_users() ? number_of(ids->uid, ids->gid) : 0;
}

/* As one number, of which the verifier follows no parts. */
static __noinline __u64 plain_ids(struct task_struct *task)
{
	struct user_ids ids = {};

	if (!is_plain(task, &ids))
		return NO_USER;
	return (__u64)ids.gid << 32 | ids.uid;
}

/* Of who is remembered: a number may stand for somebody else by then. */
static __always_inline void remember_user(struct user_ids *ret, struct task_struct *task)
{
	__u64 ids = some_users() ? plain_ids(task) : NO_USER;

	ret->uid = ids;
	ret->gid = ids >> 32;
}

#endif
