/* SPDX-License-Identifier: Apache-2.0 */
/* flight_cut_impl.h - the insides of a cut: flight_cut.c and flight_cut_sched.c. */
#ifndef FLIGHT_CUT_IMPL_H
#define FLIGHT_CUT_IMPL_H

#include "cpus.h"
#include "flight/flight_cut.h"
#include "hash.h"
#include "trace_writer.h"

struct cut_cpu {
	bool begun;	   /* a switch is in the snapshot */
	uint64_t begun_ns; /* the first one */
	bool has_before;   /* one was left out, the last of which is: */
	int32_t pid, prio; /* of the thread that it put there */
	char comm[64];
};

struct flight_cut {
	uint64_t begin_ns;
	const struct flight_base *base;
	struct hash *depths;	  /* track -> slices across the beginning so far */
	uint64_t counted[2];	  /* ids of the categories of system calls; 0: not so far */
	struct flight_used *used; /* of the segment that is noted */
	uint64_t n_stacks;	  /* left out */
	uint64_t n_cut[MAX_COLLECTORS];
	struct cut_cpu cpus[MAX_CPUS];
};

void flight_cut_count(struct flight_cut *c, const char *source, uint64_t n);

/* In place; the message stays its owner's, to be freed as before. Whether something has changed. */
bool flight_cut_bundle(struct flight_cut *c, FtraceEventBundle *bundle, bool of_processes);

#endif
