/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolize_worker.c - the daemon's worker at work for the command line: one
 * question after the other.
 *
 * Debug files may come from anywhere. They are parsed where the daemon does it,
 * in a process that has none of the user's rights (symbolize/files_worker.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "event_loop.h"
#include "symbolize.h"
#include "symbolize/files_client.h"

struct symbolize_worker {
	struct event_loop *loop;
	struct event_source *timer;
	struct files_client *client;

	/* The question at hand. */
	struct files_batch batch;
	bool done;
	int error;
	struct files_debug *debug; /* where its answer goes */
	symbolize_lines_fn *fn;
	void *ctx;
	uint32_t n_answered;
};

static int take_lines(struct symbolize_worker *w, struct files_reply *reply)
{
	struct source_frame frames[FILES_FRAMES_MAX];
	int r = 0;

	for (uint32_t i = 0; i < reply->head.n && r == 0; i++) {
		size_t n = files_reply_next_lines(reply, frames);

		r = w->fn(w->ctx, w->batch.offsets[i], frames, n);
	}
	w->n_answered = reply->head.n;
	return r;
}

static void on_done(void *ctx, struct files_batch *batch, enum files_result result,
		    struct files_reply *reply)
{
	struct symbolize_worker *w = ctx;

	w->done = true;
	w->error = -EIO;
	if (result == FILES_RESULT_NO_WORKER)
		w->error = -ECHILD;
	if (result == FILES_RESULT_OK && batch->kind == FILES_DEBUG) {
		files_reply_get_debug(reply, w->debug);
		w->error = 0;
	} else if (result == FILES_RESULT_OK) {
		w->error = take_lines(w, reply);
	}
	event_loop_stop(w->loop);
}

static int on_timer(void *ctx, uint32_t events)
{
	struct symbolize_worker *w = ctx;

	(void)events;
	files_client_collect(w->client, boot_ns());
	return 0;
}

int symbolize_worker_new(struct symbolize_worker **ret)
{
	struct symbolize_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	r = event_loop_new(&w->loop);
	if (r == 0)
		r = files_client_new(FILES_WORKER_LINES, on_done, w, &w->client);
	if (r == 0)
		r = files_client_start(w->client, w->loop);
	if (r == 0)
		r = event_loop_add_timer(w->loop, NS_PER_SEC, on_timer, w, &w->timer);
	if (r < 0) {
		symbolize_worker_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void symbolize_worker_free(struct symbolize_worker *w)
{
	if (!w)
		return;
	event_source_free(w->timer);
	files_client_free(w->client);
	event_loop_free(w->loop);
	free(w);
}

static int ask(struct symbolize_worker *w)
{
	int r;

	w->done = false;
	w->batch.n_kills = 0;
	files_client_submit(w->client, &w->batch);
	while (!w->done) {
		r = event_loop_run(w->loop);
		if (r < 0)
			return r;
	}
	return w->error;
}

int symbolize_worker_debug(struct symbolize_worker *w, int fd, int debug_fd,
			   struct files_debug *ret)
{
	w->batch = (struct files_batch){ .file_id = w->batch.file_id + 1,
					 .kind = FILES_DEBUG,
					 .fd = fd,
					 .second_fd = debug_fd };
	w->debug = ret;
	return ask(w);
}

int symbolize_worker_lines(struct symbolize_worker *w, int fd, int alt_fd,
			   const struct trace_module *m, symbolize_lines_fn *fn, void *ctx)
{
	uint64_t file_id = w->batch.file_id + 1;
	size_t n = trace_module_count(m);
	int r = 0;

	w->fn = fn;
	w->ctx = ctx;
	for (size_t at = 0; at < n && r == 0; at += w->n_answered) {
		w->batch = (struct files_batch){
			.file_id = file_id, .kind = FILES_LINES, .fd = fd, .second_fd = alt_fd
		};
		for (uint32_t i = 0; i < FILES_BATCH_MAX && at + i < n; i++, w->batch.n++)
			w->batch.offsets[i] = trace_module_address(m, at + i)->address;
		w->n_answered = 0;
		r = ask(w);
	}
	return r;
}
