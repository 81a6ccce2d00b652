/* SPDX-License-Identifier: Apache-2.0 */
/* report_select.c - which samples are meant, and their stacks as a tree. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "report.h"

#define CPU_SOURCE "linux.perf"

/* ---- one source ---- */

bool report_is_cpu(const struct report *r, const struct trace_source *s)
{
	return strcmp(trace_index_string(r->ix, s->name), CPU_SOURCE) == 0;
}

/* CPU time first: that is what a profile is. The less the better. */
static int rank(const struct report *r, const struct trace_source *s)
{
	const char *name = trace_index_string(r->ix, s->name);

	if (report_is_cpu(r, s))
		return s->unit == TRACE_UNIT_BYTES || s->unit == TRACE_UNIT_PAGE_FAULTS;
	return name[0] == '\0' ? 2 : 3;
}

/* "linux.perf", "perf", "cpu-clock 999 Hz", "cpu-clock" */
static bool is_called(const struct report *r, const struct trace_source *s, const char *wanted)
{
	const char *name = trace_index_string(r->ix, s->name);
	const char *counter = trace_index_string(r->ix, s->counter);
	size_t word = strcspn(counter, " ");

	if (strcmp(name, wanted) == 0 || strcmp(counter, wanted) == 0)
		return true;
	if (strncmp(name, "linux.", 6) == 0 && strcmp(name + 6, wanted) == 0)
		return true;
	return word && strlen(wanted) == word && strncmp(counter, wanted, word) == 0;
}

static const struct trace_source *choose_source(const struct report *r)
{
	const struct trace_source *s, *best = NULL;
	size_t n;

	s = trace_index_sources(r->ix, &n);
	for (size_t i = 0; i < n; i++) {
		if (r->o->source && !is_called(r, &s[i], r->o->source))
			continue;
		if (!best || rank(r, &s[i]) < rank(r, best) ||
		    (rank(r, &s[i]) == rank(r, best) && s[i].n_samples > best->n_samples))
			best = &s[i];
	}
	return best;
}

static int no_source(const struct report *r)
{
	const struct trace_source *s;
	size_t n;

	s = trace_index_sources(r->ix, &n);
	if (n == 0) {
		fprintf(stderr, "tracectl: %s has no stack samples\n", clean(r->o->file));
		return -ENOENT;
	}
	fprintf(stderr, "tracectl: %s has no samples of '%s', but of\n", clean(r->o->file),
		clean(r->o->source));
	for (size_t i = 0; i < n; i++)
		fprintf(stderr, "  %s\n", report_source(r, &s[i]).s);
	return -ENOENT;
}

/* ---- filters ---- */

static bool is_in(const int32_t *ids, size_t n, int32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return n == 0;
}

static bool thread_matches(const struct report *r, const struct trace_thread *t)
{
	const struct trace_process *p = trace_index_process(r->ix, t->process);
	const struct report_options *o = r->o;

	if (!is_in(o->pids, o->n_pids, p->pid) || !is_in(o->tids, o->n_tids, t->tid))
		return false;
	for (size_t i = 0; i < o->n_comms; i++)
		if (fnmatch(o->comms[i], trace_index_string(r->ix, t->name), 0) == 0 ||
		    fnmatch(o->comms[i], trace_index_string(r->ix, p->name), 0) == 0)
			return true;
	return o->n_comms == 0;
}

bool report_is_meant(const struct report *r, const struct trace_sample *s)
{
	const struct trace_facts *facts = trace_index_facts(r->ix);
	const struct report_options *o = r->o;
	size_t n;

	if (r->source != trace_index_sources(r->ix, &n) + s->source ||
	    !r->thread_matches[s->thread])
		return false;
	if (o->has_cpus && (s->cpu >= MAX_CPUS || !o->cpus[s->cpu]))
		return false;
	if (o->has_from && s->time_ns < facts->start_ns + o->from_ns)
		return false;
	return !o->has_to || (s->time_ns && s->time_ns < facts->start_ns + o->to_ns);
}

/* Samples, weight, and of how many. */
static int count(struct report *r)
{
	uint32_t n_threads = trace_index_n_threads(r->ix);
	uint32_t n_processes = trace_index_n_processes(r->ix);
	bool *seen = calloc((size_t)n_threads + n_processes + 1, sizeof(*seen));
	const struct trace_sample *s;
	size_t n;

	if (!seen)
		return -ENOMEM;
	s = trace_index_samples(r->ix, &n);
	for (size_t i = 0; i < n; i++) {
		uint32_t process;

		if (!report_is_meant(r, &s[i]))
			continue;
		r->n_samples++;
		if (__builtin_add_overflow(r->weight, s[i].weight, &r->weight))
			r->weight = UINT64_MAX;
		process = trace_index_thread(r->ix, s[i].thread)->process;
		r->n_threads += !seen[s[i].thread];
		r->n_processes += !seen[n_threads + process];
		seen[s[i].thread] = seen[n_threads + process] = true;
	}
	free(seen);
	return 0;
}

int report_select(struct report *r)
{
	uint32_t n = trace_index_n_threads(r->ix);

	r->budget.max = TRACE_INDEX_MAX_BYTES;
	r->source = choose_source(r);
	if (!r->source)
		return no_source(r);
	r->thread_matches = calloc((size_t)n + 1, sizeof(*r->thread_matches));
	if (!r->thread_matches)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		r->thread_matches[i] = thread_matches(r, trace_index_thread(r->ix, i));
	return count(r);
}

void report_done(struct report *r)
{
	free(r->thread_matches);
	pool_free(r->labels);
	stack_tree_free(r->tree);
}

/* ---- the tree ---- */

/* Samples with the same stack of the same group, as one. In a pool: no padding. */
struct bunch {
	uint32_t group; /* label */
	uint32_t stack;
};

struct builder {
	struct report *r;
	struct pool *bunches;
	struct stack_sums *sums; /* of each bunch; self and n_self */
	size_t cap_sums;
	uint32_t *code_labels;	 /* of functions or lines, + 1; 0: not yet */
	uint32_t *thread_labels; /* + 1 */
	uint32_t *path;
	size_t n_path, cap_path;
};

static int label(struct builder *b, enum label_kind kind, uint32_t value, uint32_t *ret)
{
	struct label l = { .kind = kind, .value = value };

	return pool_add(b->r->labels, &l, sizeof(l), ret);
}

static int group_of_thread(struct builder *b, uint32_t thread, uint32_t *ret)
{
	const struct trace_thread *t = trace_index_thread(b->r->ix, thread);
	int r = 0;

	if (!b->thread_labels[thread]) {
		if (b->r->o->by == BY_THREAD)
			r = label(b, LABEL_THREAD, thread, ret);
		else if (b->r->o->by == BY_PROCESS)
			r = label(b, LABEL_PROCESS, t->process, ret);
		else
			r = label(b, LABEL_COMM, t->name, ret);
		if (r < 0)
			return r;
		b->thread_labels[thread] = *ret + 1;
	}
	*ret = b->thread_labels[thread] - 1;
	return 0;
}

static int add_to_bunch(struct builder *b, const struct trace_sample *s)
{
	struct bunch bunch = { .stack = s->stack };
	uint32_t i;
	int r;

	if (b->r->o->by == BY_CPU)
		r = label(b, LABEL_CPU, s->cpu, &bunch.group);
	else
		r = group_of_thread(b, s->thread, &bunch.group);
	if (r == 0)
		r = pool_add(b->bunches, &bunch, sizeof(bunch), &i);
	if (r < 0)
		return r;
	if (i >= b->cap_sums) {
		size_t cap = b->cap_sums ? 2 * b->cap_sums : 1024;
		struct stack_sums *sums = reallocarray(b->sums, cap, sizeof(*sums));

		if (!sums)
			return -ENOMEM;
		memset(sums + b->cap_sums, 0, (cap - b->cap_sums) * sizeof(*sums));
		b->sums = sums;
		b->cap_sums = cap;
	}
	b->sums[i].n_self++;
	if (__builtin_add_overflow(b->sums[i].self, s->weight, &b->sums[i].self))
		b->sums[i].self = UINT64_MAX;
	return 0;
}

static int push(struct builder *b, uint32_t label)
{
	if (b->n_path == b->cap_path) {
		size_t cap = b->cap_path ? 2 * b->cap_path : 256;
		uint32_t *path = reallocarray(b->path, cap, sizeof(*path));

		if (!path)
			return -ENOMEM;
		b->path = path;
		b->cap_path = cap;
	}
	b->path[b->n_path++] = label;
	return 0;
}

/* A function, of which `code` is the number, or that of a line in it. */
static int push_function(struct builder *b, uint32_t function, uint32_t code)
{
	const struct trace_function *f = trace_index_function(b->r->ix, function);
	enum report_by by = b->r->o->by;
	uint32_t l;
	int r;

	if (!b->r->o->kernel && f->kind == TRACE_FRAME_KERNEL)
		return 0;
	if (!b->code_labels[code]) {
		r = by == BY_MODULE ? label(b, LABEL_MODULE, f->module, &l)
		    : by == BY_LINE ? label(b, LABEL_LINE, code, &l)
				    : label(b, LABEL_FUNCTION, code, &l);
		if (r < 0)
			return r;
		b->code_labels[code] = l + 1;
	}
	l = b->code_labels[code] - 1;
	/* Of modules only the ways from one to another are of interest. */
	if (by == BY_MODULE && b->n_path > 1 && b->path[b->n_path - 1] == l)
		return 0;
	return push(b, l);
}

static int add_path(struct builder *b, const struct bunch *bunch, const struct stack_sums *sums)
{
	const uint32_t *frames, *functions, *code;
	size_t n_frames, n;
	uint32_t l;
	int r;

	b->n_path = 0;
	r = push(b, bunch->group);
	frames = trace_index_stack(b->r->ix, bunch->stack, &n_frames);
	for (size_t i = 0; i < n_frames && r == 0; i++) {
		code = functions = trace_index_frame(b->r->ix, frames[i], &n);
		if (b->r->o->by == BY_LINE)
			code = trace_index_frame_lines(b->r->ix, frames[i], &n);
		for (size_t k = 0; k < (b->r->o->inlined ? n : 1) && r == 0; k++)
			r = push_function(b, functions[k], code[k]);
	}
	if (r == 0 && b->n_path == 1) {
		r = label(b, LABEL_KERNEL, 0, &l);
		if (r == 0)
			r = push(b, l);
	}
	if (r == 0)
		r = stack_tree_add(b->r->tree, b->path, b->n_path, sums->self, sums->n_self);
	return r;
}

static int fill_tree(struct builder *b)
{
	const struct trace_sample *s;
	size_t n;
	int r = 0;

	s = trace_index_samples(b->r->ix, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		if (report_is_meant(b->r, &s[i]))
			r = add_to_bunch(b, &s[i]);
	for (uint32_t i = 0; r == 0 && i < pool_count(b->bunches); i++)
		r = add_path(b, pool_get(b->bunches, i, NULL), &b->sums[i]);
	return r < 0 ? r : stack_tree_finish(b->r->tree);
}

int report_build_tree(struct report *report)
{
	struct builder b = { .r = report };
	uint32_t n_code;
	int r;

	r = pool_new(&report->budget, &report->labels);
	if (r == 0)
		r = stack_tree_new(&report->budget, &report->tree);
	if (r == 0)
		r = pool_new(&report->budget, &b.bunches);
	if (r < 0)
		return r;
	n_code = report->o->by == BY_LINE ? trace_index_n_lines(report->ix)
					  : trace_index_n_functions(report->ix);
	b.code_labels = calloc((size_t)n_code + 1, sizeof(*b.code_labels));
	b.thread_labels =
		calloc((size_t)trace_index_n_threads(report->ix) + 1, sizeof(*b.thread_labels));
	r = b.code_labels && b.thread_labels ? fill_tree(&b) : -ENOMEM;
	pool_free(b.bunches);
	free(b.code_labels);
	free(b.thread_labels);
	free(b.sums);
	free(b.path);
	return r;
}
