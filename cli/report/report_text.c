/* SPDX-License-Identifier: Apache-2.0 */
/* report_text.c - a report for people: what weighs most, and the call tree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define MODULE_MAX  24
#define PERCENT_LEN 17 /* "  12.3%   45.6%  " */
#define WEIGHT_LEN  14 /* "     12.3 MB  " */

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

static void print_padded(struct report_text t, size_t columns)
{
	printf("%s%*s", t.s, (int)(columns - report_columns(t.s)), "");
}

static void print_code(const struct report *r, const struct row *rows, size_t n)
{
	bool functions = r->o->by != BY_MODULE;
	int width = (int)module_width(r, rows, n);
	size_t name_room =
		report_room(r, PERCENT_LEN + WEIGHT_LEN + (functions ? (size_t)width + 2 : 0));

	printf("\n%7s %7s %12s  ", "self", "total", weight_title(r));
	if (functions)
		printf("%-*s  function%s\n", width, "module", r->o->by == BY_LINE ? " (line)" : "");
	else
		printf("module\n");
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];

		printf("%6.1f%% %6.1f%% %12s  ", report_percent(row->sums->self, r->weight),
		       report_percent(row->sums->total, r->weight),
		       report_weight(r, weight_of(row)).s);
		if (functions)
			print_padded(module_of(r, row), (size_t)width + 2);
		printf("%s\n",
		       report_cut(report_short_label(r, row->label, REPORT_SHORT), name_room).s);
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
	bool code = r->o->by == BY_FUNCTION || r->o->by == BY_LINE || r->o->by == BY_MODULE;
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

int report_tables(struct report *r)
{
	int error;

	report_head(r);
	error = print_table(r);
	if (error < 0)
		return error;
	report_tree(r);
	return 0;
}
