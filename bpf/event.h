/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * event.h - the head of every record that a BPF program writes and the daemon
 * reads.
 *
 * Included from both sides: only fixed-size types, no pointers, no padding.
 */
#ifndef EVENT_H
#define EVENT_H

#include <linux/types.h>

#define EVENT_COMM_LEN 16

/*
 * Starts every record. The pipeline and the session filter look at nothing
 * else; what follows belongs to the collector whose ring the record came from.
 */
struct event_hdr {
	__u64 time_ns;		   /* CLOCK_BOOTTIME */
	__u64 seq;		   /* counts the stream's events on this CPU, lost ones too */
	__u64 cgroup_id;	   /* cgroup v2 id of `tid`; 0 = not known */
	__u32 tgid, tid;	   /* whose event this is, in the initial pid namespace */
	__u32 peer_tgid, peer_tid; /* the other end: the thread switched out, the waker; or 0 */
	__u16 cpu;
	__u8 type;	/* the collector's own enum, see its *_events.h */
	__u8 peer_user; /* as `user`, of `peer_tid` */
	__u8 stream;	/* index in the BPF object's `streams`; the session slot for samples */
	__u8 user;	/* event_user.number of whose thread `tid` was then; 0: of none of them */
	__u16 size;	/* of the whole record, in bytes */
};

_Static_assert(sizeof(struct event_hdr) == 48, "event_hdr is part of the BPF ABI");

/*
 * What became of a stream's events on one CPU, counted in the kernel. Always
 * n_produced = records in the ring + n_lost.
 */
struct event_stream {
	__u64 n_produced;
	__u64 n_lost; /* the ring was full */
};

#define EVENT_MAX_STREAMS 64

/*
 * Users with sessions that have their own processes alone, and whose the sessions are. A
 * number stands for one user as long as a record may carry it.
 */
#define EVENT_MAX_USERS 16
struct event_user {
	__u32 uid, gid;
	__u32 number; /* 1 to 255 */
};
struct event_users {
	__u32 n;
	struct event_user users[EVENT_MAX_USERS];
	__u8 slots[EVENT_MAX_STREAMS]; /* number; 0: that session has all */
};

/* Processes of our own that are left out: the daemon, its workers, clients while there is room. */
#define EVENT_MAX_OWN 24
struct event_own {
	__u32 tgids[EVENT_MAX_OWN]; /* 0-ended, if there is room */
};

#endif
