/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_client.h - asks for unwind tables of files, and has them made by a
 * process without privileges (symbolize/files_worker.h).
 *
 * Never waits. Knows files by a number and a descriptor. A file that kills the
 * worker, or keeps it busy for 5 s, is a loss of that file's table alone: who
 * asked must not ask for it again.
 */
#ifndef TABLE_CLIENT_H
#define TABLE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind_table.h"

struct event_loop;
struct table_client;

enum table_result {
	TABLE_OK,
	TABLE_BROKEN,	 /* no file that could have a table, or it cannot be read */
	TABLE_TOO_LARGE, /* the worker had no memory for it */
	TABLE_KILLER,	 /* the worker died of this file, hung, or lied about it */
	TABLE_NO_WORKER, /* none can be had; ask again much later */
};

/* A table that was checked (unwind_table_decode()), in memory that nobody can write to any more. */
struct table_block {
	struct unwind_table table;
	/* the client's: */
	void *bytes;
	size_t len;
};

void table_block_free(struct table_block *block); /* takes NULL */

/*
 * The request is done. `block` is NULL but for TABLE_OK, and the callee's, who
 * frees it. May submit more.
 */
typedef void table_done_fn(void *ctx, uint64_t id, enum table_result result,
			   struct table_block *block);

/* Starts the worker. That it cannot be started is no failure here. */
int table_client_new(table_done_fn *done, void *ctx, struct table_client **ret);
/* From here on answers are read. */
int table_client_start(struct table_client *c, struct event_loop *loop);
/* Ends the worker. What is not done ends as TABLE_NO_WORKER. */
void table_client_free(struct table_client *c);

/*
 * Asks for the table of `fd`, which stays the caller's and open until it is
 * done. `id` is not in use by another request. They are served in the order in
 * which they came. Done may be called before this returns. -ENOMEM.
 */
int table_client_submit(struct table_client *c, uint64_t id, int fd);

/* About once a second. */
void table_client_collect(struct table_client *c, uint64_t now_ns);

pid_t table_client_pid(const struct table_client *c); /* 0: none now */
uint64_t table_client_restarts(const struct table_client *c);

#endif
