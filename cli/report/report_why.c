/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_why.c - why a thread waited: for what, who ended it, and what had kept
 * the waker, down the chain.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "clean.h"
#include "hash.h"
#include "report.h"
#include "text.h"
#include "wait_tree.h"

/* Wakers of wakers: longer chains are rare, and nobody reads them. */
#define DEFAULT_DEPTH 8
#define MAX_DEPTH     64

#define MAX_THREADS 4096 /* of one name; beyond, the first ones are shown */

/* All waits for one thing. */
struct row {
	uint32_t name, reason;
	uint64_t n, ns, longest_ns;
};

struct why {
	const struct report *r;
	uint64_t from_ns, to_ns;
	int32_t tids[MAX_THREADS];
	size_t n_tids;
	uint32_t thread; /* one of them */
	struct row *rows;
	size_t n_rows;
	struct hash *row_of; /* name -> index + 1 */
	struct wait_tree *tree;
};

/* ---- which threads ---- */

static bool is_meant(const struct trace_index *ix, const struct trace_wait *w, const char *wanted)
{
	uint64_t tid;

	if (text_u64(wanted, 1, INT32_MAX, &tid) == 0)
		return w->tid == (int32_t)tid;
	return fnmatch(wanted, trace_index_string(ix, trace_index_thread(ix, w->thread)->name),
		       0) == 0;
}

/* -ENOENT: none, said on stderr. Waits are in the order of their threads. */
static int choose_threads(struct why *y)
{
	const struct trace_index *ix = y->r->ix;
	const char *wanted = y->r->o->mode_arg, *file = y->r->o->file;
	const struct trace_wait *w;
	size_t n;

	w = trace_index_waits(ix, &n);
	for (size_t i = 0; i < n && y->n_tids < MAX_THREADS; i++) {
		if ((y->n_tids && y->tids[y->n_tids - 1] == w[i].tid) ||
		    !is_meant(ix, &w[i], wanted))
			continue;
		y->tids[y->n_tids++] = w[i].tid;
		y->thread = w[i].thread;
	}
	if (y->n_tids)
		return 0;
	if (n == 0)
		fprintf(stderr, "tracectl: %s has no waits: record them with --sources offcpu\n",
			clean(file));
	else
		fprintf(stderr, "tracectl: %s has no waits of a thread '%s'\n", clean(file),
			clean(wanted));
	return -ENOENT;
}

/* ---- for what ---- */

static struct row *row_of(struct why *y, const struct trace_wait *w)
{
	uintptr_t found = (uintptr_t)hash_get_u64(y->row_of, w->name);
	struct row *more;

	if (found)
		return &y->rows[found - 1];
	more = realloc(y->rows, (y->n_rows + 1) * sizeof(*more));
	if (!more)
		return NULL;
	y->rows = more;
	if (hash_set_u64(y->row_of, w->name, (void *)(y->n_rows + 1)) < 0)
		return NULL;
	more[y->n_rows] = (struct row){ .name = w->name, .reason = w->reason };
	return &more[y->n_rows++];
}

static int add_row(struct why *y, const struct trace_wait *w, uint64_t ns)
{
	struct row *row = row_of(y, w);

	if (!row)
		return -ENOMEM;
	row->n++;
	row->ns += ns;
	if (ns > row->longest_ns)
		row->longest_ns = ns;
	return 0;
}

static int more_time(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Both the waits and the threads that are meant are in the order of their tids. */
static int count_rows(struct why *y)
{
	const struct trace_wait *w;
	size_t n, k = 0;
	int r = 0;

	w = trace_index_waits(y->r->ix, &n);
	for (size_t i = 0; i < n && r == 0; i++) {
		uint64_t begin_ns = w[i].begin_ns > y->from_ns ? w[i].begin_ns : y->from_ns;
		uint64_t end_ns = w[i].end_ns < y->to_ns ? w[i].end_ns : y->to_ns;

		while (k < y->n_tids && y->tids[k] < w[i].tid)
			k++;
		if (k < y->n_tids && y->tids[k] == w[i].tid && begin_ns < end_ns)
			r = add_row(y, &w[i], end_ns - begin_ns);
	}
	if (y->n_rows)
		qsort(y->rows, y->n_rows, sizeof(*y->rows), more_time);
	return r;
}

static void print_rows(const struct why *y)
{
	uint64_t whole = wait_tree_node(y->tree, 0)->ns;
	size_t max = y->r->o->max_rows;

	printf("\n%10s %6s %9s %10s  %s\n", "time", "share", "waits", "longest", "waited for");
	for (size_t i = 0; i < y->n_rows && i < max; i++) {
		const struct row *row = &y->rows[i];
		const char *name = trace_index_string(y->r->ix, row->name);
		const char *reason = trace_index_string(y->r->ix, row->reason);

		printf("%10s %5.1f%% %9s %10s  %s", report_duration(row->ns).s,
		       report_percent(row->ns, whole), report_number(row->n).s,
		       report_duration(row->longest_ns).s, report_printable(name).s);
		if (reason[0] && strcmp(reason, name) != 0)
			printf(" (%s)", report_printable(reason).s);
		fputs("\n", stdout);
	}
	if (y->n_rows > max)
		printf("%38s%zu more, see --top\n", "", y->n_rows - max);
}

/* ---- why ---- */

static void print_text(const struct why *y, const struct wait_node *node)
{
	const char *name = trace_index_string(y->r->ix, node->name);
	const char *where = wait_tree_where(y->tree, node);

	switch (node->kind) {
	case NODE_WAKER:
		printf("woken by %s", report_printable(name[0] ? name : "?").s);
		if (node->tid)
			printf(" [%d]", node->tid);
		break;
	case NODE_INTERRUPT:
		printf("woken by %s", report_printable(name).s);
		break;
	case NODE_NOBODY:
		printf("not woken, or nobody saw by whom");
		break;
	case NODE_RAN:
		printf("ran, or waited too short to be seen");
		break;
	default:
		printf("%s", report_printable(name[0] ? name : "?").s);
	}
	if (where[0])
		printf(": %s", report_printable(where).s);
	fputs("\n", stdout);
}

static void print_below(const struct why *y, const struct wait_node *parent, unsigned depth)
{
	uint64_t whole = wait_tree_node(y->tree, 0)->ns;
	const struct wait_node *node;

	for (uint32_t i = parent->first_child; i != WAIT_NODE_NONE; i = node->next) {
		node = wait_tree_node(y->tree, i);
		if (report_percent(node->ns, whole) < y->r->o->min_percent)
			continue;
		printf("%5.1f%% %10s %8sx  %*s", report_percent(node->ns, whole),
		       report_duration(node->ns).s, report_number(node->n).s, (int)(3 * depth), "");
		print_text(y, node);
		print_below(y, node, depth + 1);
	}
}

static void print_head(const struct why *y)
{
	const struct wait_node *root = wait_tree_node(y->tree, 0);
	const struct trace_index *ix = y->r->ix;
	const struct trace_thread *thread = trace_index_thread(ix, y->thread);
	const char *name = trace_index_string(ix, thread->name);

	report_machine(y->r);
	report_lost(y->r);
	if (y->n_tids == 1)
		printf("\n%s [%d]: ", report_printable(name[0] ? name : "?").s, y->tids[0]);
	else
		printf("\n%zu threads '%s': ", y->n_tids, report_printable(y->r->o->mode_arg).s);
	printf("%s waits, ", report_number(root->n).s);
	printf("%s of ", report_duration(root->ns).s);
	printf("%s: ", report_duration(y->n_tids * (y->to_ns - y->from_ns)).s);
	printf("blocked %s, ", report_duration(root->ns - root->runnable_ns).s);
	printf("then runnable %s\n", report_duration(root->runnable_ns).s);
}

static int build(struct why *y)
{
	size_t depth = y->r->o->max_depth;
	int r;

	if (depth > MAX_DEPTH)
		depth = depth == SIZE_MAX ? DEFAULT_DEPTH : MAX_DEPTH;
	r = wait_tree_new(y->r->ix, (unsigned)depth, &y->tree);
	for (size_t i = 0; i < y->n_tids && r == 0; i++)
		r = wait_tree_add(y->tree, y->tids[i], y->from_ns, y->to_ns);
	if (r == 0)
		wait_tree_sort(y->tree);
	return r == 0 ? count_rows(y) : r;
}

static void choose_times(struct why *y)
{
	const struct trace_facts *facts = trace_index_facts(y->r->ix);
	const struct report_options *o = y->r->o;

	y->from_ns = facts->start_ns + (o->has_from ? o->from_ns : 0);
	y->to_ns = facts->end_ns;
	if (o->has_to && facts->start_ns + o->to_ns < y->to_ns)
		y->to_ns = facts->start_ns + o->to_ns;
	if (y->from_ns > y->to_ns)
		y->from_ns = y->to_ns;
}

int report_why(struct report *r)
{
	struct why *y = calloc(1, sizeof(*y));
	int error;

	if (!y)
		return -ENOMEM;
	y->r = r;
	choose_times(y);
	error = hash_new(&y->row_of);
	if (error == 0)
		error = choose_threads(y);
	if (error == 0)
		error = build(y);
	if (error == 0) {
		print_head(y);
		print_rows(y);
		printf("\nWhat ended the waits, and what had kept the waker meanwhile, in shares "
		       "of "
		       "all of them:\n\n");
		print_below(y, wait_tree_node(y->tree, 0), 0);
	}
	wait_tree_free(y->tree);
	hash_free(y->row_of);
	free(y->rows);
	free(y);
	return error;
}
