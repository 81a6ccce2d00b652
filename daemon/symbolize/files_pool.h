/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_pool.h - two workers of one kind, so that a slow file holds up itself alone.
 *
 * One does it all, and has in memory what it has read. When it has been busy with
 * one request for a while, what waits behind goes to the second, which is started
 * for that and ends when there was no need for it for some time.
 */
#ifndef FILES_POOL_H
#define FILES_POOL_H

#include "files_client.h"

#define FILES_POOL_WORKERS 2

struct files_pool;

/* There is room for more questions again, without one having been done. */
typedef void files_room_fn(void *ctx);

/* All as in files_client.h. */
int files_pool_new(enum files_worker_kind kind, files_done_fn *done, files_room_fn *room, void *ctx,
		   struct files_pool **ret);
int files_pool_start(struct files_pool *p, struct event_loop *loop);
void files_pool_free(struct files_pool *p);
void files_pool_submit(struct files_pool *p, struct files_batch *batch);
bool files_pool_wait(struct files_pool *p, uint64_t max_ns);
bool files_pool_busy(const struct files_pool *p);
void files_pool_collect(struct files_pool *p, uint64_t now_ns);
pid_t files_pool_pid(const struct files_pool *p, unsigned i); /* i < FILES_POOL_WORKERS */
uint64_t files_pool_restarts(const struct files_pool *p);

/* The second worker goes unless it is busy: files_pool_collect() may not be called for long. */
void files_pool_rest(struct files_pool *p);

#endif
