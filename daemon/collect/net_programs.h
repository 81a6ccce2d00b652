/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_programs.h - which programs of bpf/net.bpf.c this kernel takes, and when they run.
 * A part of net.c.
 */
#ifndef COLLECT_NET_PROGRAMS_H
#define COLLECT_NET_PROGRAMS_H

#include <stdbool.h>

#include "collector.h"

struct net_bpf;

/*
 * Between the skeleton's open and load. `why` says what is left out, or nothing.
 * -ENOTSUP: no BTF; `why` says so.
 */
int net_programs_choose(struct net_bpf *skel, char why[WHY_LEN]);

/*
 * How it is seen what sockets move, on a kernel that has these: loops in programs, the
 * tracepoints, functions that can be watched. NET_MOVES_NONE: not at all; `why` says so.
 */
enum net_moves { NET_MOVES_NONE, NET_MOVES_TRACEPOINTS, NET_MOVES_FUNCTIONS };
enum net_moves net_programs_moves(bool loops, bool tracepoints, bool functions, char why[WHY_LEN]);

/* What TCP does. */
int net_programs_attach_tcp(struct net_bpf *skel);

/* What is moved; in every thread of the machine, so only while somebody wants to know. */
int net_programs_attach_moves(struct net_bpf *skel);
void net_programs_detach_moves(struct net_bpf *skel);

/*
 * Where no function can be attached to, splice() is seen by what every receive has: only
 * from when somebody does it until nobody has for a while.
 */
struct net_splices {
	uint32_t n;	  /* that have been seen */
	unsigned n_quiet; /* ticks since then */
};
int net_programs_follow_splices(struct net_bpf *skel, struct net_splices *s);
void net_programs_splices_tick(struct net_bpf *skel, struct net_splices *s);

#endif
