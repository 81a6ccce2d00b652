/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbolizer_lines.c - source lines and inlined functions of many locations.
 *
 * Asked for when a recording ends, file by file, those with most locations
 * first: the worker keeps the DWARF of one file. It is another worker than the
 * one for names, whom a large file would hold up, and is there only as long as
 * somebody asks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "symbolizer_impl.h"

/* Another recording may end soon. Until then the worker keeps the last file in memory. */
#define KEEP_WORKER_NS (10 * NS_PER_SEC)

/* Locations of one module: [first, first + n). */
struct run {
	size_t first, n;
};

struct lines_query {
	TAILQ_ENTRY(lines_query) link;
	bool is_queued; /* has something left to ask */
	struct symbolizer *sym;
	lines_fn *fn;
	void *ctx;
	struct location **locs; /* by module, then by address; each is held */
	size_t n;
	struct run *runs;
	size_t n_runs;
	size_t run, at; /* what to ask next: location `at` of run `run` */
	size_t n_asked; /* batches on their way */
	size_t n_answered;
};

/* One batch, which may outlive its query. */
struct lines_question {
	struct files_batch batch; /* first */
	struct symbolizer *sym;
	struct lines_query *query; /* NULL: nobody waits for the answer */
	struct code_module *module;
	struct location *locs[FILES_BATCH_MAX];
	bool fd_is_ours;
	TAILQ_ENTRY(lines_question) link;
};

static struct code_module *module_of(const struct location *loc)
{
	return (struct code_module *)loc->module;
}

/* ---- questions ---- */

/* The descriptors for the DWARF of `m`; -1: it cannot be reached any more. */
static int open_dwarf(struct symbolizer *sym, struct code_module *m, bool *ret_ours)
{
	*ret_ours = true;
	if (m->debug.dwarf == DWARF_IN_DEBUG_FILE)
		return symbolizer_open_debug(sym, m);
	if (m->fd < 0)
		return modules_reopen(m);
	*ret_ours = false;
	return m->fd;
}

static void question_free(struct lines_question *lq)
{
	for (uint32_t i = 0; i < lq->batch.n; i++)
		location_release(lq->locs[i]);
	if (lq->fd_is_ours && lq->batch.fd >= 0)
		close(lq->batch.fd);
	if (lq->batch.second_fd >= 0)
		close(lq->batch.second_fd);
	lq->module->n_busy--;
	free(lq);
}

/* False: out of memory, or the file is out of reach. */
static bool ask(struct lines_query *q, struct location *const *locs, size_t n)
{
	struct lines_question *lq = calloc(1, sizeof(*lq));
	struct code_module *m = module_of(locs[0]);

	if (!lq)
		return false;
	*lq = (struct lines_question){ .sym = q->sym, .query = q, .module = m };
	lq->batch.kind = FILES_LINES;
	lq->batch.flags = FILES_DWARF_ONLY;
	lq->batch.file_id = m->pub.id;
	lq->batch.second_fd = -1;
	m->n_busy++;
	lq->batch.fd = open_dwarf(q->sym, m, &lq->fd_is_ours);
	if (lq->batch.fd < 0) {
		question_free(lq);
		return false;
	}
	modules_touch(m);
	lq->batch.second_fd = symbolizer_open_alt(q->sym, m);
	lq->batch.n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		lq->locs[i] = locs[i];
		location_hold(locs[i]);
		lq->batch.offsets[i] = locs[i]->rel_pc;
	}
	TAILQ_INSERT_TAIL(&q->sym->lines_asked, lq, link);
	q->n_asked++;
	files_client_submit(q->sym->lines_client, (struct files_batch *)lq);
	return true;
}

static void dequeue(struct lines_query *q)
{
	if (q->is_queued)
		TAILQ_REMOVE(&q->sym->queries, q, link);
	q->is_queued = false;
}

/* The next batch. What cannot be asked for is passed over: it is missed. */
static void ask_next(struct lines_query *q)
{
	const struct run *run = &q->runs[q->run];
	size_t n = run->n - q->at;
	struct location **locs = q->locs + run->first + q->at;

	if (n > FILES_BATCH_MAX)
		n = FILES_BATCH_MAX;
	q->at += n;
	if (module_of(locs[0])->debug.lines_failed || !ask(q, locs, n))
		q->at = run->n;
	if (q->at < run->n)
		return;
	q->at = 0;
	if (++q->run == q->n_runs)
		dequeue(q);
}

/* Also comes here again from on_done() when a batch is done at once. */
static void pump(struct symbolizer *sym)
{
	struct lines_query *q;

	if (sym->is_pumping)
		return;
	sym->is_pumping = true;
	while ((q = TAILQ_FIRST(&sym->queries)) && !files_client_busy(sym->lines_client))
		ask_next(q);
	sym->is_pumping = false;
}

/* ---- answers ---- */

/* Strings stay where they are, in the message. */
static void take_lines(struct lines_question *lq, struct files_reply *reply)
{
	struct source_frame *frames = calloc(FILES_BATCH_MAX * FILES_FRAMES_MAX, sizeof(*frames));
	struct source_place places[FILES_BATCH_MAX];
	struct lines_query *q = lq->query;

	if (!frames)
		return;
	for (uint32_t i = 0; i < reply->head.n; i++) {
		struct source_frame *at = frames + i * FILES_FRAMES_MAX;

		places[i] = (struct source_place){ .location = lq->locs[i], .frames = at };
		places[i].n = files_reply_next_lines(reply, at);
	}
	q->n_answered += reply->head.n;
	q->fn(q->ctx, places, reply->head.n);
	free(frames);
}

static void fail_lines(struct code_module *m, enum log_level level, const char *why)
{
	char path[256];

	if (m->debug.lines_failed)
		return;
	m->debug.lines_failed = true;
	(void)text_printable(path, sizeof(path), m->pub.path, strlen(m->pub.path));
	log_write(level, "lines: %s: %s; its functions stay without source lines", path, why);
}

static void on_done(void *ctx, struct files_batch *batch, enum files_result result,
		    struct files_reply *reply)
{
	struct symbolizer *sym = ctx;
	struct lines_question *lq = (struct lines_question *)batch;
	struct lines_query *q = lq->query;

	TAILQ_REMOVE(&sym->lines_asked, lq, link);
	if (result == FILES_RESULT_BROKEN)
		fail_lines(lq->module, LOG_LEVEL_DEBUG, "its DWARF is too large, or not readable");
	else if (result == FILES_RESULT_KILLER)
		fail_lines(lq->module, LOG_LEVEL_WARN, "the worker that read it died or hung");
	if (q) {
		q->n_asked--;
		if (result == FILES_RESULT_OK)
			take_lines(lq, reply);
		/* The rest did not fit into the reply. */
		if (result == FILES_RESULT_OK && reply->head.n < batch->n)
			(void)ask(q, lq->locs + reply->head.n, batch->n - reply->head.n);
	}
	question_free(lq);
	if (sym->lines_client)
		pump(sym);
}

/* ---- queries ---- */

static int by_module_then_address(const void *pa, const void *pb)
{
	const struct location *a = *(struct location *const *)pa;
	const struct location *b = *(struct location *const *)pb;

	if (a->module->id != b->module->id)
		return a->module->id < b->module->id ? -1 : 1;
	return a->rel_pc < b->rel_pc ? -1 : a->rel_pc > b->rel_pc;
}

static int largest_first(const void *pa, const void *pb)
{
	const struct run *a = pa, *b = pb;

	return a->n > b->n ? -1 : a->n < b->n;
}

static void find_runs(struct lines_query *q)
{
	for (size_t i = 0; i < q->n; i++) {
		if (i == 0 || q->locs[i]->module != q->locs[i - 1]->module)
			q->runs[q->n_runs++] = (struct run){ .first = i };
		q->runs[q->n_runs - 1].n++;
	}
	qsort(q->runs, q->n_runs, sizeof(*q->runs), largest_first);
}

static int start_worker(struct symbolizer *sym)
{
	int r;

	if (sym->lines_client)
		return 0;
	r = files_client_new(FILES_WORKER_LINES, on_done, sym, &sym->lines_client);
	if (r == 0 && sym->loop)
		r = files_client_start(sym->lines_client, sym->loop);
	return r;
}

int lines_query_new(struct symbolizer *sym, struct location *const *locs, size_t n, lines_fn *fn,
		    void *ctx, struct lines_query **ret)
{
	struct lines_query *q = calloc(1, sizeof(*q));
	int r = -ENOMEM;

	if (!q)
		return r;
	*q = (struct lines_query){ .sym = sym, .fn = fn, .ctx = ctx };
	q->locs = calloc(n + 1, sizeof(struct location *));
	q->runs = calloc(n + 1, sizeof(*q->runs));
	if (!q->locs || !q->runs)
		goto fail;
	for (size_t i = 0; i < n; i++) {
		if (!locs[i]->has_lines)
			continue;
		location_hold(locs[i]);
		q->locs[q->n++] = locs[i];
	}
	if (q->n > 0) {
		r = start_worker(sym);
		if (r < 0)
			goto fail;
		qsort(q->locs, q->n, sizeof(struct location *), by_module_then_address);
		find_runs(q);
		TAILQ_INSERT_TAIL(&sym->queries, q, link);
		q->is_queued = true;
	}
	sym->n_queries++;
	*ret = q;
	if (q->n > 0)
		pump(sym);
	return 0;

fail:
	for (size_t i = 0; i < q->n; i++)
		location_release(q->locs[i]);
	free(q->locs);
	free(q->runs);
	free(q);
	return r;
}

void lines_query_free(struct lines_query *q)
{
	struct lines_question *lq;

	if (!q)
		return;
	TAILQ_FOREACH(lq, &q->sym->lines_asked, link)
	if (lq->query == q)
		lq->query = NULL;
	dequeue(q);
	q->sym->n_queries--;
	q->sym->lines_used_ns = boot_ns();
	for (size_t i = 0; i < q->n; i++)
		location_release(q->locs[i]);
	free(q->locs);
	free(q->runs);
	free(q);
}

bool lines_query_done(const struct lines_query *q)
{
	return !q->is_queued && q->n_asked == 0;
}

size_t lines_query_missed(const struct lines_query *q)
{
	return q->n - q->n_answered;
}

pid_t symbolizer_lines_worker_pid(const struct symbolizer *sym)
{
	return sym->lines_client ? files_client_pid(sym->lines_client) : 0;
}

void symbolizer_lines_done(struct symbolizer *sym)
{
	struct files_client *client = sym->lines_client;

	sym->lines_client = NULL; /* nothing more is asked */
	files_client_free(client);
}

void symbolizer_rest(struct symbolizer *sym)
{
	files_pool_rest(sym->pool);
	if (sym->n_queries == 0)
		symbolizer_lines_done(sym);
}

void symbolizer_lines_collect(struct symbolizer *sym, uint64_t now_ns)
{
	if (!sym->lines_client)
		return;
	files_client_collect(sym->lines_client, now_ns);
	pump(sym);
	if (sym->n_queries == 0 && TAILQ_EMPTY(&sym->lines_asked) &&
	    now_ns > sym->lines_used_ns + KEEP_WORKER_NS)
		symbolizer_lines_done(sym);
}
