/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_client.c - asks for unwind tables of files.
 *
 * For each request the daemon makes a memfd, the worker writes the table into
 * it, and before the daemon looks inside it is sealed: nobody can change what
 * was checked, or make it shorter than what is mapped.
 */
#include "table_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "symbolize/files_client.h"

/* On their way: one is made, one waits, so that the worker is never idle for want of us. */
#define MAX_SENT 2

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

struct request {
	struct files_batch batch; /* first. file_id: the request's */
	TAILQ_ENTRY(request) link;
};

TAILQ_HEAD(requests, request);

struct table_client {
	struct files_client *files;
	table_done_fn *done;
	void *ctx;
	struct requests waiting;
	unsigned n_sent;
	bool is_sending, is_ending;
};

void table_block_free(struct table_block *block)
{
	if (!block)
		return;
	(void)munmap(block->bytes, block->len);
	free(block);
}

/* ---- what the worker has written ---- */

static int map_sealed(int fd, void **ret, size_t *ret_len)
{
	struct stat st;
	void *bytes;

	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || (uint64_t)st.st_size > UNWIND_TABLE_MAX_BYTES)
		return -EBADMSG;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	*ret = bytes;
	*ret_len = (size_t)st.st_size;
	return 0;
}

static int take_block(int fd, struct table_block **ret)
{
	struct table_block *block = calloc(1, sizeof(*block));
	int r;

	if (!block)
		return -ENOMEM;
	r = map_sealed(fd, &block->bytes, &block->len);
	if (r < 0) {
		free(block);
		return r;
	}
	r = unwind_table_decode(block->bytes, block->len, &block->table);
	if (r < 0) {
		table_block_free(block);
		return r;
	}
	*ret = block;
	return 0;
}

/* ---- requests ---- */

static void send_waiting(struct table_client *c);

static void finish(struct table_client *c, struct request *rq, enum table_result result,
		   struct table_block *block)
{
	uint64_t id = rq->batch.file_id;

	if (rq->batch.second_fd >= 0)
		close(rq->batch.second_fd);
	free(rq);
	c->done(c->ctx, id, result, block);
}

static enum table_result take_answer(struct table_client *c, struct request *rq,
				     struct table_block **ret)
{
	int r = take_block(rq->batch.second_fd, ret);

	if (r == 0)
		return TABLE_OK;
	if (r == -ENOMEM || r == -EMFILE)
		return TABLE_NO_WORKER; /* it is we who cannot, now */
	log_warn("unwind: what worker %d made is no table (%s); going on with another worker",
		 (int)files_client_pid(c->files), strerror(-r));
	files_client_distrust(c->files);
	return TABLE_KILLER;
}

static void on_done(void *ctx, struct files_batch *batch, enum files_result result,
		    struct files_reply *reply)
{
	static const enum table_result results[] = {
		[FILES_RESULT_BROKEN] = TABLE_BROKEN,	    [FILES_RESULT_GONE] = TABLE_BROKEN,
		[FILES_RESULT_TOO_LARGE] = TABLE_TOO_LARGE, [FILES_RESULT_KILLER] = TABLE_KILLER,
		[FILES_RESULT_NO_WORKER] = TABLE_NO_WORKER,
	};
	struct table_client *c = ctx;
	struct request *rq = (struct request *)batch;
	struct table_block *block = NULL;
	enum table_result own;

	(void)reply;
	c->n_sent--;
	own = result == FILES_RESULT_OK ? take_answer(c, rq, &block) : results[result];
	finish(c, rq, own, block);
	send_waiting(c);
}

static struct request *take_next(struct table_client *c)
{
	struct request *rq = TAILQ_FIRST(&c->waiting);

	if (rq)
		TAILQ_REMOVE(&c->waiting, rq, link);
	return rq;
}

static void send_request(struct table_client *c, struct request *rq)
{
	rq->batch.second_fd = memfd_create("unwind-table", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (rq->batch.second_fd < 0) {
		finish(c, rq, TABLE_NO_WORKER, NULL);
		return;
	}
	c->n_sent++;
	files_client_submit(c->files, &rq->batch);
}

/* Done may be called in here, and submit: that is sent by the loop that runs already. */
static void send_waiting(struct table_client *c)
{
	struct request *rq;

	if (c->is_sending || c->is_ending)
		return;
	c->is_sending = true;
	while (c->n_sent < MAX_SENT && (rq = take_next(c)))
		send_request(c, rq);
	c->is_sending = false;
}

/* ---- */

int table_client_new(table_done_fn *done, void *ctx, struct table_client **ret)
{
	struct table_client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->done = done;
	c->ctx = ctx;
	TAILQ_INIT(&c->waiting);
	r = files_client_new(FILES_WORKER_TABLES, on_done, c, &c->files);
	if (r < 0) {
		free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int table_client_start(struct table_client *c, struct event_loop *loop)
{
	return files_client_start(c->files, loop);
}

void table_client_free(struct table_client *c)
{
	struct request *rq;

	if (!c)
		return;
	c->is_ending = true;
	files_client_free(c->files);
	while ((rq = take_next(c)))
		finish(c, rq, TABLE_NO_WORKER, NULL);
	free(c);
}

int table_client_submit(struct table_client *c, uint64_t id, int fd)
{
	struct request *rq = calloc(1, sizeof(*rq));

	if (!rq)
		return -ENOMEM;
	rq->batch.file_id = id;
	rq->batch.kind = FILES_TABLE;
	rq->batch.fd = fd;
	rq->batch.second_fd = -1;
	TAILQ_INSERT_TAIL(&c->waiting, rq, link);
	send_waiting(c);
	return 0;
}

void table_client_collect(struct table_client *c, uint64_t now_ns)
{
	files_client_collect(c->files, now_ns);
	send_waiting(c);
}

pid_t table_client_pid(const struct table_client *c)
{
	return files_client_pid(c->files);
}

uint64_t table_client_restarts(const struct table_client *c)
{
	return files_client_restarts(c->files);
}
