/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.c - a report for people: a table of what weighs most, and the call tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define LINE_WIDTH  100 /* where there is no terminal that says better */
#define MODULE_MAX  24
#define PERCENT_LEN 17 /* "  12.3%   45.6%  " */
#define WEIGHT_LEN  14 /* "     12.3 MB  " */
#define MIN_NAME    20 /* columns: less tells nothing, and the line may be too long */

/* A tree that branches deeper is indented beyond any screen. */
#define MAX_LEVELS 64

/* ---- the table ---- */

struct row {
	uint32_t label;
	const struct stack_sums *sums;
	bool by_total;
};

static uint64_t weight_of(const struct row *row)
{
	return row->by_total ? row->sums->total : row->sums->self;
}

static int heavier(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (weight_of(a) != weight_of(b))
		return weight_of(a) > weight_of(b) ? -1 : 1;
	if (a->sums->total != b->sums->total)
		return a->sums->total > b->sums->total ? -1 : 1;
	return a->label < b->label ? -1 : a->label > b->label;
}

/* Functions or modules, or those who ran them. */
static int collect(const struct report *r, bool code, struct row **ret, size_t *ret_n)
{
	uint32_t n_labels = stack_tree_n_labels(r->tree);
	struct row *rows = calloc((size_t)n_labels + 1, sizeof(*rows));
	size_t n = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_labels; i++) {
		struct row row = {
			.label = i,
			.sums = stack_tree_label_sums(r->tree, i),
			.by_total = r->o->by_total || !code,
		};

		if (report_is_code(report_label_of(r, i)) == code && row.sums->n_total)
			rows[n++] = row;
	}
	qsort(rows, n, sizeof(*rows), heavier);
	*ret = rows;
	*ret_n = n;
	return 0;
}

static const char *weight_title(const struct report *r)
{
	switch (r->source->unit) {
	case TRACE_UNIT_NS:
		return "time";
	case TRACE_UNIT_BYTES:
		return "bytes";
	case TRACE_UNIT_CYCLES:
		return "cycles";
	case TRACE_UNIT_INSTRUCTIONS:
		return "instructions";
	case TRACE_UNIT_PAGE_FAULTS:
		return "page faults";
	default:
		return "count";
	}
}

static struct report_text module_of(const struct report *r, const struct row *row)
{
	const char *module = report_module(r, report_label_of(r, row->label));

	return report_cut(report_printable(module), MODULE_MAX);
}

/* "libstdc++.so.6.0.30" in a column. */
static size_t module_width(const struct report *r, const struct row *rows, size_t n)
{
	size_t width = strlen("module");

	for (size_t i = 0; i < n; i++) {
		size_t len = report_columns(module_of(r, &rows[i]).s);

		if (len > width)
			width = len;
	}
	return width;
}

/* What is left of a terminal's line for a name; elsewhere lines may be long. */
static size_t room(const struct report *r, size_t used)
{
	if (!r->o->width)
		return SIZE_MAX;
	return r->o->width > used + MIN_NAME ? r->o->width - used : MIN_NAME;
}

static void print_padded(struct report_text t, size_t columns)
{
	printf("%s%*s", t.s, (int)(columns - report_columns(t.s)), "");
}

static void print_code(const struct report *r, const struct row *rows, size_t n)
{
	bool functions = r->o->by != BY_MODULE;
	int width = (int)module_width(r, rows, n);
	size_t name_room = room(r, PERCENT_LEN + WEIGHT_LEN + (functions ? (size_t)width + 2 : 0));

	printf("\n%7s %7s %12s  ", "self", "total", weight_title(r));
	if (functions)
		printf("%-*s  function\n", width, "module");
	else
		printf("module\n");
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];

		printf("%6.1f%% %6.1f%% %12s  ", report_percent(row->sums->self, r->weight),
		       report_percent(row->sums->total, r->weight),
		       report_weight(r, weight_of(row)).s);
		if (functions)
			print_padded(module_of(r, row), (size_t)width + 2);
		printf("%s\n", report_cut(report_label(r, row->label), name_room).s);
	}
}

static void print_groups(const struct report *r, const struct row *rows, size_t n)
{
	static const char *const titles[] = {
		[BY_PROCESS] = "process", [BY_THREAD] = "thread", [BY_CPU] = "CPU"
	};

	printf("\n%7s %12s %10s  %s\n", "share", weight_title(r), "samples", titles[r->o->by]);
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];

		printf("%6.1f%% %12s %10s  %s\n", report_percent(row->sums->total, r->weight),
		       report_weight(r, row->sums->total).s, report_number(row->sums->n_total).s,
		       report_label(r, row->label).s);
	}
}

static int print_table(const struct report *r)
{
	bool code = r->o->by == BY_FUNCTION || r->o->by == BY_MODULE;
	struct row *rows;
	size_t n, shown;
	int error = collect(r, code, &rows, &n);

	if (error < 0)
		return error;
	shown = n < r->o->max_rows ? n : r->o->max_rows;
	if (code)
		print_code(r, rows, shown);
	else
		print_groups(r, rows, shown);
	if (shown < n)
		printf("%*s%zu more, see --top\n", 30, "", n - shown);
	free(rows);
	return 0;
}

/* ---- the tree ---- */

static void start_line(const struct report *r, const struct stack_sums *sums, unsigned level)
{
	printf("%6.1f%% %6.1f%%  %*s", report_percent(sums->total, r->weight),
	       report_percent(sums->self, r->weight), (int)(2 * level), "");
}

static bool is_heavy(const struct report *r, uint32_t node)
{
	return report_percent(stack_tree_sums(r->tree, node)->total, r->weight) >=
	       r->o->min_percent;
}

/* " > name (x3)", on this line or the next one. */
static void print_link(const struct report *r, uint32_t label, size_t times, unsigned level,
		       size_t *used)
{
	size_t width = r->o->width ? r->o->width : LINE_WIDTH;
	size_t indent = PERCENT_LEN + 2 * (size_t)level, len;
	struct report_text name = report_cut(report_label(r, label), room(r, indent + 8));
	char repeated[32] = "";
	bool first = *used == 0;

	if (times > 1)
		snprintf(repeated, sizeof(repeated), " (x%zu)", times);
	len = strlen(name.s) + strlen(repeated) + 3;
	if (!first && *used + len > width) {
		printf("\n%*s", (int)indent, "");
		*used = 0;
	}
	if (*used == 0)
		*used = indent;
	printf("%s%s%s", first ? "" : *used == indent ? "> " : " > ", name.s, repeated);
	*used += len;
}

/*
 * Where a chain goes on: to the only one that `node` calls and leaves all its
 * time to; or to the root, which is to say nowhere.
 */
static uint32_t next_in_chain(const struct report *r, uint32_t node, size_t depth)
{
	const uint32_t *children;
	size_t n;

	children = stack_tree_children(r->tree, node, &n);
	if (n != 1 || stack_tree_sums(r->tree, node)->n_self || depth >= r->o->max_depth ||
	    !report_is_code(report_label_of(r, stack_tree_label(r->tree, node))))
		return STACK_TREE_ROOT;
	return children[0];
}

/*
 * A node, and those below it as long as there is no choice, on one line or some.
 * Returns the last one, where the tree branches or ends: what any of them does
 * itself, that one does.
 */
static uint32_t print_chain(const struct report *r, uint32_t node, unsigned level, size_t *depth)
{
	size_t used = 0, times = 1, end_depth = *depth;
	uint32_t next, last = node;

	do {
		end_depth += report_is_code(report_label_of(r, stack_tree_label(r->tree, last)));
		next = next_in_chain(r, last, end_depth);
		last = next != STACK_TREE_ROOT ? next : last;
	} while (next != STACK_TREE_ROOT);
	start_line(r, stack_tree_sums(r->tree, last), level);
	for (;; node = next) {
		uint32_t label = stack_tree_label(r->tree, node);

		*depth += report_is_code(report_label_of(r, label));
		next = next_in_chain(r, node, *depth);
		if (next != STACK_TREE_ROOT && stack_tree_label(r->tree, next) == label) {
			times++;
			continue;
		}
		print_link(r, label, times, level, &used);
		times = 1;
		if (next == STACK_TREE_ROOT)
			break;
	}
	fputs("\n", stdout);
	return last;
}

static void print_node(const struct report *r, uint32_t node, unsigned level, size_t depth)
{
	const uint32_t *children;
	uint64_t folded = 0;
	size_t n, n_folded = 0;

	if (node != STACK_TREE_ROOT)
		node = print_chain(r, node, level++, &depth);
	children = stack_tree_children(r->tree, node, &n);
	if (n && (depth >= r->o->max_depth || level >= MAX_LEVELS)) {
		printf("%*s...\n", (int)(PERCENT_LEN + 2 * level), "");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (is_heavy(r, children[i])) {
			print_node(r, children[i], level, depth);
		} else {
			folded += stack_tree_sums(r->tree, children[i])->total;
			n_folded++;
		}
	}
	if (report_percent(folded, r->weight) >= r->o->min_percent)
		printf("%6.1f%%          %*s... %zu more\n", report_percent(folded, r->weight),
		       (int)(2 * level), "", n_folded);
}

int report_tables(struct report *r)
{
	int error;

	report_head(r);
	error = print_table(r);
	if (error < 0)
		return error;
	printf("\n%7s %7s  callers > callees", "total", "self");
	if (r->o->min_percent > 0)
		printf(", from %g %% on", r->o->min_percent);
	fputs("\n", stdout);
	print_node(r, STACK_TREE_ROOT, 0, 0);
	return 0;
}
