/* SPDX-License-Identifier: Apache-2.0 */
/* files_pool.c - two workers of one kind, so that a slow file holds up itself alone. */
#include "files_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "event_loop.h"

/* Nearly all files take less than 20 ms, the largest that we know half a second. */
#define STALL_NS (200 * NS_PER_MS)
#define WATCH_NS (100 * NS_PER_MS)

/* What it has read may be needed again, and the next slow file may come. */
#define KEEP_SECOND_NS (30 * NS_PER_SEC)

struct files_pool {
	enum files_worker_kind kind;
	files_done_fn *done;
	files_room_fn *room;
	void *ctx;
	struct event_loop *loop;			  /* NULL before the start */
	struct files_client *clients[FILES_POOL_WORKERS]; /* the second may be NULL */
	struct event_source *watch;			  /* NULL: nothing is on its way */
	uint64_t second_used_ns, n_restarts;		  /* of those seconds that are gone */
};

int files_pool_new(enum files_worker_kind kind, files_done_fn *done, files_room_fn *room, void *ctx,
		   struct files_pool **ret)
{
	struct files_pool *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->kind = kind;
	p->done = done;
	p->room = room;
	p->ctx = ctx;
	r = files_client_new(kind, done, ctx, &p->clients[0]);
	if (r < 0) {
		free(p);
		return r;
	}
	*ret = p;
	return 0;
}

int files_pool_start(struct files_pool *p, struct event_loop *loop)
{
	p->loop = loop;
	return files_client_start(p->clients[0], loop);
}

static void free_second(struct files_pool *p)
{
	struct files_client *second = p->clients[1];

	if (!second)
		return;
	p->n_restarts += files_client_restarts(second);
	p->clients[1] = NULL; /* nobody asks it any more */
	files_client_free(second);
}

void files_pool_free(struct files_pool *p)
{
	if (!p)
		return;
	p->loop = NULL;
	event_source_free(p->watch);
	free_second(p);
	files_client_free(p->clients[0]);
	free(p);
}

static bool is_stalled(const struct files_client *c)
{
	uint64_t since_ns = files_client_busy_since(c);

	return since_ns && boot_ns() > since_ns + STALL_NS;
}

/* Who takes what is about no file that one of them is busy with. */
static struct files_client *next_client(const struct files_pool *p)
{
	struct files_client *second = p->clients[1];

	/* If it does not start, what waits for the first is better off there. */
	if (second && files_client_ready(second) && !is_stalled(second) &&
	    is_stalled(p->clients[0]))
		return second;
	return p->clients[0];
}

/* One that is slow, or kills workers, must not do so to both. */
static struct files_client *client_for(const struct files_pool *p, const struct files_batch *b)
{
	for (unsigned i = 0; i < FILES_POOL_WORKERS; i++)
		if (p->clients[i] && files_client_has(p->clients[i], b->file_id))
			return p->clients[i];
	/* Without a descriptor only the first may still have the file. */
	return b->fd < 0 ? p->clients[0] : next_client(p);
}

static bool is_idle(const struct files_pool *p)
{
	for (unsigned i = 0; i < FILES_POOL_WORKERS; i++)
		if (p->clients[i] && files_client_busy_since(p->clients[i]))
			return false;
	return true;
}

static void submit_to_next(void *ctx, struct files_batch *batch)
{
	struct files_pool *p = ctx;

	files_client_submit(next_client(p), batch);
}

static void start_second(struct files_pool *p)
{
	if (files_client_new(p->kind, p->done, p->ctx, &p->clients[1]) < 0) {
		p->clients[1] = NULL; /* then it is slow */
		return;
	}
	if (files_client_start(p->clients[1], p->loop) < 0)
		free_second(p);
}

/* What is behind a slow one goes to the other. */
static void relieve(struct files_pool *p, unsigned i)
{
	struct files_client *slow = p->clients[i];

	if (!slow || !is_stalled(slow))
		return;
	if (!p->clients[1])
		start_second(p);
	p->second_used_ns = boot_ns();
	if (next_client(p) == slow || is_stalled(next_client(p)))
		return;
	files_client_recall(slow, submit_to_next, p);
	p->room(p->ctx);
}

static int on_watch(void *ctx, uint32_t events)
{
	struct files_pool *p = ctx;

	(void)events;
	for (unsigned i = 0; i < FILES_POOL_WORKERS; i++)
		if (p->clients[i])
			files_client_poll(p->clients[i]); /* it is we who may be late */
	for (unsigned i = 0; i < FILES_POOL_WORKERS; i++)
		relieve(p, i);
	if (is_idle(p)) {
		event_source_free(p->watch);
		p->watch = NULL;
	}
	return 0;
}

void files_pool_submit(struct files_pool *p, struct files_batch *batch)
{
	files_client_submit(client_for(p, batch), batch);
	/* Without a timer it is slow, and nothing worse. */
	if (p->loop && !p->watch && !is_idle(p) &&
	    event_loop_add_timer(p->loop, WATCH_NS, on_watch, p, &p->watch) < 0)
		p->watch = NULL;
}

bool files_pool_wait(struct files_pool *p, uint64_t max_ns)
{
	bool is_there = true;

	for (unsigned i = 0; i < FILES_POOL_WORKERS; i++)
		if (p->clients[i])
			is_there &= files_client_wait(p->clients[i], max_ns);
	return is_there;
}

bool files_pool_busy(const struct files_pool *p)
{
	return files_client_busy(next_client(p));
}

void files_pool_collect(struct files_pool *p, uint64_t now_ns)
{
	files_client_collect(p->clients[0], now_ns);
	if (!p->clients[1])
		return;
	files_client_collect(p->clients[1], now_ns);
	if (now_ns > p->second_used_ns + KEEP_SECOND_NS)
		files_pool_rest(p);
}

void files_pool_rest(struct files_pool *p)
{
	if (p->clients[1] && !files_client_busy_since(p->clients[1]))
		free_second(p);
}

pid_t files_pool_pid(const struct files_pool *p, unsigned i)
{
	return p->clients[i] ? files_client_pid(p->clients[i]) : 0;
}

uint64_t files_pool_restarts(const struct files_pool *p)
{
	uint64_t n = p->n_restarts;

	for (unsigned i = 0; i < FILES_POOL_WORKERS; i++)
		if (p->clients[i])
			n += files_client_restarts(p->clients[i]);
	return n;
}
