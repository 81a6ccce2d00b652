/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwinder.h - what stacks need to be walked: keeps the walker's maps
 * (unwind_maps.h) in step with the processes that are sampled, and finishes the
 * walks that came too early.
 *
 * Nothing is prepared for programs that never run. The first sample of a process
 * finds no mappings in the kernel, the first one in a library no table: such a
 * sample carries a copy of its stack, the daemon finishes its walk as soon as it
 * knows enough, and later samples are walked in the kernel. So no stack depends
 * on who is faster, however short a process lives.
 *
 * Runs in the event loop; tables are made in a worker (table_client.h).
 */
#ifndef UNWINDER_H
#define UNWINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind.h"

struct bpf_object;
struct event_loop;
struct process_table;
struct symbolizer;
struct unwinder;

int unwinder_new(struct symbolizer *sym, struct process_table *processes, struct unwinder **ret);
void unwinder_free(struct unwinder *u); /* takes NULL */

/*
 * One user more, one less. The maps and the worker exist while there are users.
 * Fails with what bpf(2) says.
 */
int unwinder_acquire(struct unwinder *u, struct event_loop *loop);
void unwinder_release(struct unwinder *u);

/* Makes an object that includes unwind.bpf.h use the maps: between open and load. */
int unwinder_reuse(struct unwinder *u, struct bpf_object *obj);

/* After the process table has changed, before samples are looked at: cheap if nothing did. */
void unwinder_update(struct unwinder *u);
/* About once a second. */
void unwinder_collect(struct unwinder *u, uint64_t now_ns);

pid_t unwinder_worker_pid(const struct unwinder *u); /* 0: none now */

struct unfinished_walk {
	uint32_t tgid;
	uint64_t time_ns; /* of the sample */
	const struct unwind_copy *copy;
	const uint8_t *stack; /* copy->len bytes */
};

/*
 * Finishes a walk that ended for want of a mapping or a table. `ips` has `*n`
 * frames, more are added. Returns 0 and why it ended, or -EAGAIN: what is
 * missing may come (unwinder_news() changes then), and nothing was written. With
 * `now` it ends whatever is missing.
 */
int unwinder_finish(struct unwinder *u, const struct unfinished_walk *walk, bool now,
		    uint64_t ips[UNWIND_MAX_FRAMES], uint32_t *n, enum unwind_end *ret);
/* Changes with each table that has come. */
uint64_t unwinder_news(const struct unwinder *u);

struct unwinder_stats {
	uint64_t n_tables, n_rows, n_rules, n_processes;
	uint64_t n_failed;   /* files without a table: broken, or they cost a worker */
	uint64_t n_partial;  /* files of which some could not be read, or was too much */
	uint64_t n_no_room;  /* files whose table did not fit */
	uint64_t n_restarts; /* of the worker */
	uint64_t bytes;	     /* of the maps */
};
void unwinder_stats(const struct unwinder *u, struct unwinder_stats *ret);

#endif
