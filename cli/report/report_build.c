/* SPDX-License-Identifier: Apache-2.0 */
/* report_build.c - the samples that are meant as a tree: who calls whom, or is called by whom. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

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
	const char *callers_of; /* glob of functions; NULL: all stacks, from their callers on */
	uint8_t *matches;	/* of each label: MATCHES_* */
	size_t cap_matches;
};

enum { MATCHES_UNKNOWN, MATCHES_YES, MATCHES_NO };

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
	uint32_t i = 0;
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

/* From the group to the innermost function. */
static int collect_path(struct builder *b, const struct bunch *bunch)
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
	return r;
}

/* ---- callers of some functions ---- */

/* By its name, with or without parameters; a module by its own. */
static bool name_matches(const struct builder *b, uint32_t label)
{
	const struct label *l = report_label_of(b->r, label);
	const struct trace_function *f = report_function(b->r, l);
	const char *name;
	char bare[1024];
	size_t len;

	if (!f && l->kind != LABEL_MODULE)
		return false;
	name = trace_index_string(b->r->ix, f ? f->name : l->value);
	if (fnmatch(b->callers_of, name, 0) == 0)
		return true;
	len = strcspn(name, "(");
	if (len == 0 || len >= sizeof(bare))
		return false;
	memcpy(bare, name, len);
	bare[len] = '\0';
	return fnmatch(b->callers_of, bare, 0) == 0;
}

/* 1 or 0, or -ENOMEM. */
static int is_wanted(struct builder *b, uint32_t label)
{
	if (label >= b->cap_matches) {
		size_t cap = pool_count(b->r->labels) + 1024;
		uint8_t *matches = realloc(b->matches, cap);

		if (!matches)
			return -ENOMEM;
		memset(matches + b->cap_matches, MATCHES_UNKNOWN, cap - b->cap_matches);
		b->matches = matches;
		b->cap_matches = cap;
	}
	if (b->matches[label] == MATCHES_UNKNOWN)
		b->matches[label] = name_matches(b, label) ? MATCHES_YES : MATCHES_NO;
	return b->matches[label] == MATCHES_YES;
}

/*
 * Leaves of the path the innermost function that is wanted and its callers, the
 * other way round; nothing, when there is none.
 */
static int turn_path(struct builder *b)
{
	int r;

	while (b->n_path > 0) {
		r = is_wanted(b, b->path[b->n_path - 1]);
		if (r < 0)
			return r;
		if (r > 0)
			break;
		b->n_path--;
	}
	for (size_t i = 0; i < b->n_path / 2; i++) {
		uint32_t swap = b->path[i];

		b->path[i] = b->path[b->n_path - 1 - i];
		b->path[b->n_path - 1 - i] = swap;
	}
	return 0;
}

static int add_path(struct builder *b, const struct bunch *bunch, const struct stack_sums *sums)
{
	int r = collect_path(b, bunch);

	if (r == 0 && b->callers_of) {
		r = turn_path(b);
		if (r < 0 || b->n_path == 0)
			return r;
	}
	if (r == 0)
		r = stack_tree_add(b->r->tree, b->path, b->n_path, sums->self, sums->n_self);
	return r;
}

/* ---- all of them ---- */

static int fill_tree(struct builder *b)
{
	const struct trace_sample *s;
	size_t n;
	int r = 0;

	s = trace_index_samples(b->r->ix, &n);
	for (size_t i = 0; i < n && r == 0; i++)
		if (report_is_meant(b->r, &s[i]))
			r = add_to_bunch(b, &s[i]);
	for (uint32_t i = 0; r == 0 && b->sums && i < pool_count(b->bunches); i++)
		r = add_path(b, pool_get(b->bunches, i, NULL), &b->sums[i]);
	return r < 0 ? r : stack_tree_finish(b->r->tree);
}

int report_build_tree(struct report *report)
{
	struct builder b = {
		.r = report,
		.callers_of = report->o->mode->turns_tree ? report->o->mode_arg : NULL,
	};
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
	free(b.matches);
	return r;
}
