/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_client.h - the daemon's end of the worker: requests go out, answers
 * come in, and when the worker dies or hangs the file that did it is named.
 *
 * Never waits. Knows questions about files, not modules or locations.
 */
#ifndef FILES_CLIENT_H
#define FILES_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "files_protocol.h"
#include "files_worker.h"

struct event_loop;
struct files_client;

/* One question. The owner keeps it, and its descriptors open, until it is done. */
struct files_batch {
	TAILQ_ENTRY(files_batch) link;
	uint64_t file_id;
	enum files_kind kind;
	int fd;		/* -1: perhaps the worker still has the file */
	int second_fd;	/* what goes with it (FILES_FD_SECOND), or -1 */
	uint32_t flags; /* of struct files_request */
	uint32_t n;
	union {
		uint64_t offsets[FILES_BATCH_MAX];
		char objects[FILES_OBJECTS_MAX][FILES_OBJECT_NAME_MAX];
		struct files_generated generated;
		char functions[FILES_FUNCTIONS_MAX][FILES_FUNCTION_NAME_MAX];
		struct files_v8 v8;
		struct files_jvm jvm;
		struct files_probe probe;
	};
	/* Workers that others killed over this file; goes on from the owner's number. */
	unsigned n_kills;
	/* the client's: */
	uint32_t seq;
	bool is_recalled; /* stands for one that is somewhere else now */
};

enum files_result {
	FILES_RESULT_OK,
	FILES_RESULT_BROKEN,	/* the file cannot be read as code */
	FILES_RESULT_GONE,	/* no descriptor, and the worker no longer has the file */
	FILES_RESULT_TOO_LARGE, /* beyond what the worker may use */
	FILES_RESULT_KILLER,	/* the worker died of this file, or hung */
	FILES_RESULT_NO_WORKER, /* none can be had; ask again much later */
};

/* The batch is done. `reply` is NULL but for FILES_RESULT_OK. May submit more. */
typedef void files_done_fn(void *ctx, struct files_batch *batch, enum files_result result,
			   struct files_reply *reply);

/* Starts the worker. That it cannot be started is no failure here. */
int files_client_new(enum files_worker_kind kind, files_done_fn *done, void *ctx,
		     struct files_client **ret);
/* From here on answers are read. */
int files_client_start(struct files_client *c, struct event_loop *loop);
/* Ends the worker. Batches that are not done end as FILES_RESULT_NO_WORKER. */
void files_client_free(struct files_client *c);

void files_client_submit(struct files_client *c, struct files_batch *batch);
/*
 * Since when the worker has been busy with the oldest request, as far as its answers
 * have been read; 0: it has none.
 */
uint64_t files_client_busy_since(const struct files_client *c);
bool files_client_ready(const struct files_client *c); /* the worker has begun */
/* Reads what has been answered by now. */
void files_client_poll(struct files_client *c);
bool files_client_has(const struct files_client *c, uint64_t file_id);
/*
 * Hands back what waits behind the oldest request and is about another file, in
 * its order, but for what only this worker may know (fd < 0). What the worker has been
 * sent of it is answered to nobody.
 */
typedef void files_recall_fn(void *ctx, struct files_batch *batch);
void files_client_recall(struct files_client *c, files_recall_fn *fn, void *ctx);
/* What the worker delivered beside its answers is wrong: another one takes over. */
void files_client_distrust(struct files_client *c);
/*
 * Reads what the worker says until all is answered that has been submitted, at most
 * so long. Not from within files_done_fn. False: there is no worker to wait for now.
 */
bool files_client_wait(struct files_client *c, uint64_t max_ns);
/* Enough is on its way: whoever waits fills larger batches. */
bool files_client_busy(const struct files_client *c);

/* About once a second. */
void files_client_collect(struct files_client *c, uint64_t now_ns);

pid_t files_client_pid(const struct files_client *c); /* 0: none now */
uint64_t files_client_restarts(const struct files_client *c);

#endif
