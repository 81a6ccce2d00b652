/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_gpu.c - GPU time: of each process on each ring, and of the stacks that
 * submitted it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "clean.h"
#include "hash.h"
#include "json.h"
#include "report.h"
#include "report_window.h"

/* Jobs of one process on one ring, or of one process with one stack. */
struct row {
	uint32_t gpu, ring, process,
		stack; /* as in trace_gpu_job; those not asked for are the same */
	int32_t pid;
	uint64_t n, busy_ns;
	size_t first_queued, n_queued; /* of those that tell, by length */
};

struct rows {
	struct row *list;
	size_t n;
	struct hash *by_key; /* index + 1 */
};

/* How long a job of the ring with this number was queued. */
struct queued {
	size_t ring;
	uint64_t ns;
};

struct gpu_report {
	const struct report *r;
	struct report_window window;
	struct rows rings, stacks;
	struct hash *same; /* the functions of a stack -> the first stack that has them + 1 */
	struct queued *queued;
	size_t n_queued, cap_queued;
	uint64_t n_jobs, busy_ns;
};

/* ---- adding up ---- */

static struct row *row_of(struct rows *rows, const struct row *key)
{
	struct {
		uint32_t gpu, ring, process, stack;
		int32_t pid;
	} k = { key->gpu, key->ring, key->process, key->stack, key->pid };
	uintptr_t found = (uintptr_t)hash_get(rows->by_key, &k, sizeof(k));
	struct row *more;

	if (found)
		return &rows->list[found - 1];
	more = realloc(rows->list, (rows->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	rows->list = more;
	if (hash_set(rows->by_key, &k, sizeof(k), (void *)(rows->n + 1)) < 0)
		return NULL;
	more[rows->n] = *key;
	return &more[rows->n++];
}

static int add_queued(struct gpu_report *g, size_t ring, uint64_t ns)
{
	if (g->n_queued == g->cap_queued) {
		size_t cap = g->cap_queued ? 2 * g->cap_queued : 64;
		struct queued *more = realloc(g->queued, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		g->queued = more;
		g->cap_queued = cap;
	}
	g->queued[g->n_queued++] = (struct queued){ ring, ns };
	return 0;
}

/* Two stacks of the same functions at other lines are one. TRACE_NONE: out of memory. */
static uint32_t same_functions(struct gpu_report *g, uint32_t stack)
{
	const struct trace_index *ix = g->r->ix;
	struct buf key = { 0 };
	size_t n, n_functions;
	const uint32_t *frames = trace_index_stack(ix, stack, &n), *functions;
	uintptr_t found = 0;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		functions = trace_index_frame(ix, frames[i], &n_functions);
		r = buf_append(&key, functions, n_functions * sizeof(*functions));
	}
	if (r == 0)
		found = (uintptr_t)hash_get(g->same, key.data, key.len);
	if (r == 0 && !found &&
	    hash_set(g->same, key.data, key.len, (void *)((uintptr_t)stack + 1)) == 0)
		found = (uintptr_t)stack + 1;
	buf_done(&key);
	return found ? (uint32_t)(found - 1) : TRACE_NONE;
}

static int add_job(struct gpu_report *g, const struct trace_gpu_job *job)
{
	struct row ring = { job->gpu, job->ring, job->process, TRACE_NONE, .pid = job->pid };
	struct row stack = { TRACE_NONE, TRACE_NONE, job->process, job->stack, .pid = job->pid };
	uint64_t ns = report_window_part(&g->window, job->begin_ns, job->end_ns);
	struct row *row;
	int r = 0;

	row = row_of(&g->rings, &ring);
	if (!row)
		return -ENOMEM;
	row->n++;
	row->busy_ns += ns;
	if (job->queued_ns != UINT64_MAX)
		r = add_queued(g, (size_t)(row - g->rings.list), job->queued_ns);
	if (job->stack != TRACE_NONE && r == 0) {
		stack.stack = same_functions(g, job->stack);
		r = stack.stack == TRACE_NONE ? -ENOMEM : 0;
	}
	row = row_of(&g->stacks, &stack);
	if (!row)
		return -ENOMEM;
	row->n++;
	row->busy_ns += ns;
	g->n_jobs++;
	g->busy_ns += ns;
	return r;
}

static int by_ring_and_length(const void *pa, const void *pb)
{
	const struct queued *a = pa, *b = pb;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static void sort_queued(struct gpu_report *g)
{
	struct row *row;

	if (g->n_queued)
		qsort(g->queued, g->n_queued, sizeof(*g->queued), by_ring_and_length);
	for (size_t i = 0; i < g->n_queued; i++) {
		row = &g->rings.list[g->queued[i].ring];
		if (row->n_queued++ == 0)
			row->first_queued = i;
	}
}

static int busier(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->busy_ns != b->busy_ns)
		return a->busy_ns > b->busy_ns ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	if (a->gpu != b->gpu)
		return a->gpu < b->gpu ? -1 : 1;
	return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static int build(struct gpu_report *g)
{
	const struct trace_gpu_job *jobs;
	size_t n;
	int r = 0;

	jobs = trace_index_gpu_jobs(g->r->ix, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		if (report_window_has(&g->window, jobs[i].begin_ns, jobs[i].end_ns) &&
		    report_window_is_meant(g->r, jobs[i].pid, jobs[i].process))
			r = add_job(g, &jobs[i]);
	sort_queued(g);
	if (g->rings.n)
		qsort(g->rings.list, g->rings.n, sizeof(struct row), busier);
	if (g->stacks.n)
		qsort(g->stacks.list, g->stacks.n, sizeof(struct row), busier);
	return r;
}

/* The least that `percent` of them are not above. */
static uint64_t percentile(const struct gpu_report *g, const struct row *row, unsigned percent)
{
	size_t i = (row->n_queued * percent + 99) / 100;

	return row->n_queued ? g->queued[row->first_queued + (i ? i - 1 : 0)].ns : 0;
}

/* ---- as text ---- */

static const char *string(const struct gpu_report *g, uint32_t s, const char *none)
{
	return s == TRACE_NONE ? none : trace_index_string(g->r->ix, s);
}

static void print_process(const struct gpu_report *g, const struct row *row)
{
	printf("%s [%d]", report_printable(string(g, row->process, "?")).s, row->pid);
}

static void print_rings(const struct gpu_report *g)
{
	printf("\n%10s %6s %8s %10s %10s %10s  %s\n", "busy", "of all", "jobs", "queued 50%", "95%",
	       "longest", "process, ring");
	for (size_t i = 0; i < g->rings.n && i < g->r->o->max_rows; i++) {
		const struct row *row = &g->rings.list[i];

		printf("%10s %5.1f%% %8s", report_duration(row->busy_ns).s,
		       report_percent(row->busy_ns, g->window.to_ns - g->window.from_ns),
		       report_number(row->n).s);
		if (row->n_queued)
			printf(" %10s %10s %10s", report_duration(percentile(g, row, 50)).s,
			       report_duration(percentile(g, row, 95)).s,
			       report_duration(percentile(g, row, 100)).s);
		else
			printf(" %10s %10s %10s", "-", "-", "-");
		printf("  ");
		print_process(g, row);
		printf(", %s", report_printable(string(g, row->ring, "?")).s);
		if (row->gpu != TRACE_NONE)
			printf(" of %s", report_printable(string(g, row->gpu, "")).s);
		fputs("\n", stdout);
	}
	if (g->rings.n > g->r->o->max_rows)
		printf("%62s%zu more, see --top\n", "", g->rings.n - g->r->o->max_rows);
}

#define MAX_SHOWN 24 /* functions of a stack; the outer ones are left out */

typedef void function_fn(void *ctx, const char *name);

static void each_function(const struct gpu_report *g, uint32_t stack, size_t max, function_fn *fn,
			  void *ctx)
{
	const struct trace_index *ix = g->r->ix;
	size_t n, n_functions;
	const uint32_t *frames = trace_index_stack(ix, stack, &n), *functions;

	for (size_t i = n > max ? n - max : 0; i < n; i++) {
		functions = trace_index_frame(ix, frames[i], &n_functions);
		for (size_t k = 0; k < n_functions; k++)
			fn(ctx,
			   trace_index_string(ix, trace_index_function(ix, functions[k])->name));
	}
}

static void print_function(void *ctx, const char *name)
{
	bool *is_first = ctx;

	printf("%s%s", *is_first ? "" : " > ", report_printable(name).s);
	*is_first = false;
}

static void print_stacks(const struct gpu_report *g)
{
	printf("\n%10s %6s %8s  %s\n", "GPU time", "share", "jobs", "submitted by");
	for (size_t i = 0; i < g->stacks.n && i < g->r->o->max_rows; i++) {
		const struct row *row = &g->stacks.list[i];
		bool is_first = true;

		printf("%10s %5.1f%% %8s  ", report_duration(row->busy_ns).s,
		       report_percent(row->busy_ns, g->busy_ns), report_number(row->n).s);
		print_process(g, row);
		printf("\n%28s", "");
		if (row->stack == TRACE_NONE)
			printf("no stack: the submission was not seen, or is the kernel's own");
		else
			each_function(g, row->stack, MAX_SHOWN, print_function, &is_first);
		fputs("\n", stdout);
	}
	if (g->stacks.n > g->r->o->max_rows)
		printf("%28s%zu more, see --top\n", "", g->stacks.n - g->r->o->max_rows);
}

static void print_text(const struct gpu_report *g)
{
	report_machine(g->r);
	report_lost(g->r);
	printf("\n%s GPU job%s, ", report_number(g->n_jobs).s, g->n_jobs == 1 ? "" : "s");
	printf("%s of GPU time\n", report_duration(g->busy_ns).s);
	print_rings(g);
	print_stacks(g);
}

/* ---- as JSON ---- */

static void put_string(struct json *j, const struct gpu_report *g, const char *name, uint32_t s)
{
	if (s != TRACE_NONE)
		json_string(j, name, trace_index_string(g->r->ix, s));
}

static void put_function(void *ctx, const char *name)
{
	json_string(ctx, NULL, name);
}

static void put_row(struct json *j, const struct gpu_report *g, const struct row *row)
{
	json_object(j, NULL);
	json_u64(j, "pid", (uint64_t)row->pid);
	put_string(j, g, "process", row->process);
	put_string(j, g, "gpu", row->gpu);
	put_string(j, g, "ring", row->ring);
	json_u64(j, "jobs", row->n);
	json_u64(j, "busy_ns", row->busy_ns);
	if (row->n_queued) {
		json_u64(j, "queued_50_ns", percentile(g, row, 50));
		json_u64(j, "queued_95_ns", percentile(g, row, 95));
		json_u64(j, "queued_max_ns", percentile(g, row, 100));
	}
	if (row->stack != TRACE_NONE) {
		json_array(j, "stack");
		each_function(g, row->stack, SIZE_MAX, put_function, j);
		json_end(j);
	}
	json_end(j);
}

static void put_json(const struct gpu_report *g)
{
	struct json j = { .out = stdout };

	json_object(&j, NULL);
	json_string(&j, "file", g->r->o->file);
	json_u64(&j, "from_ns", g->window.from_ns);
	json_u64(&j, "to_ns", g->window.to_ns);
	json_u64(&j, "jobs", g->n_jobs);
	json_u64(&j, "busy_ns", g->busy_ns);
	json_array(&j, "rings");
	for (size_t i = 0; i < g->rings.n; i++)
		put_row(&j, g, &g->rings.list[i]);
	json_end(&j);
	json_array(&j, "stacks");
	for (size_t i = 0; i < g->stacks.n; i++)
		put_row(&j, g, &g->stacks.list[i]);
	json_end(&j);
	json_end(&j);
	fputs("\n", stdout);
}

static void rows_done(struct rows *rows)
{
	free(rows->list);
	hash_free(rows->by_key);
}

int report_gpu(struct report *r)
{
	struct gpu_report g = { .r = r };
	int error;

	report_window_of(r, &g.window);
	error = hash_new(&g.rings.by_key);
	if (error == 0)
		error = hash_new(&g.stacks.by_key);
	if (error == 0)
		error = hash_new(&g.same);
	if (error == 0)
		error = build(&g);
	if (error == 0 && g.n_jobs == 0) {
		fprintf(stderr, "tracectl: %s has no such GPU jobs\n", clean(r->o->file));
		error = -ENOENT;
	}
	if (error == 0 && r->o->json)
		put_json(&g);
	else if (error == 0)
		print_text(&g);
	rows_done(&g.rings);
	rows_done(&g.stacks);
	hash_free(g.same);
	free(g.queued);
	return error;
}
