/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_flame.c - a flame graph in the terminal: callers above callees, as wide
 * as their share. What has less than a column is left out.
 *
 * Without colours a function is "[name ]", and fits a file or a mail.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "report.h"
#include "short_name.h"

#define PLAIN_WIDTH 100
#define MAX_ROWS    500 /* deeper than that nothing has room, or all of it is one chain */
#define MIN_READ    5	/* columns: a row of narrower cells tells nothing */

struct cell {
	uint32_t node;
	double start; /* weight to its left */
};

struct row {
	struct cell *cells;
	size_t n;	 /* at most one for each column */
	unsigned widest; /* columns */
};

/* Sums of absurd weights stop at the greatest, and may lie beyond the whole. */
static unsigned column(const struct report *r, unsigned width, double weight)
{
	double at = r->weight ? weight * width / (double)r->weight + 0.5 : 0;

	return at < width ? (unsigned)at : width;
}

/* ---- text that fills columns ---- */

/* The first `columns` characters of `s`, the rest filled up. */
static void print_fitted(const char *s, unsigned columns)
{
	while (columns > 0 && *s) {
		putchar(*s++);
		while (((unsigned char)*s & 0xc0) == 0x80)
			putchar(*s++);
		columns--;
	}
	printf("%*s", (int)columns, "");
}

/* ANSI colours of one hue, so that neighbours can be told apart. */
static int colour_of(const struct report *r, uint32_t label)
{
	static const uint8_t kernel[] = { 208, 209, 214, 215 }, native[] = { 220, 221, 222, 228 },
			     generated[] = { 113, 114, 150, 156 },
			     others[] = { 250, 251, 252, 253 };
	const struct label *l = report_label_of(r, label);
	struct report_text name = report_label(r, label);
	uint64_t pick = hash_bytes(name.s, strlen(name.s), 0) & 3;
	const struct trace_function *f = report_function(r, l);

	if (l->kind == LABEL_KERNEL || (f && f->kind == TRACE_FRAME_KERNEL))
		return kernel[pick];
	if (f && f->kind >= TRACE_FRAME_INTERPRETED)
		return generated[pick];
	return report_is_code(l) ? native[pick] : others[pick];
}

/* As much of a name as tells the most in so many columns. */
static struct report_text name_of(const struct report *r, uint32_t node, unsigned columns)
{
	struct report_text name = { "all" };
	const char *last;

	if (node == STACK_TREE_ROOT)
		return name;
	name = report_short_label(r, stack_tree_label(r->tree, node), columns);
	last = short_name_last(name.s);
	if (report_columns(name.s) > columns)
		memmove(name.s, last, strlen(last) + 1);
	return name;
}

static void print_cell(const struct report *r, uint32_t node, unsigned width)
{
	struct report_text name = name_of(r, node, width);

	if (r->o->colour) {
		int colour = node == STACK_TREE_ROOT
				     ? 255
				     : colour_of(r, stack_tree_label(r->tree, node));

		printf("\033[38;5;16;48;5;%dm%s", colour, r->o->unicode ? "\u258f" : "|");
		print_fitted(name.s, width - 1);
		fputs("\033[0m", stdout);
	} else if (width == 1) {
		putchar('|');
	} else {
		putchar('[');
		print_fitted(name.s, width - 2);
		putchar(']');
	}
}

/* ---- rows ---- */

static void print_row(const struct report *r, const struct row *row, unsigned width)
{
	unsigned at = 0;

	for (size_t i = 0; i < row->n; i++) {
		const struct cell *c = &row->cells[i];
		double end = c->start + (double)stack_tree_sums(r->tree, c->node)->total;
		unsigned from = column(r, width, c->start), to = column(r, width, end);

		if (from < at) /* by rounding */
			from = at;
		if (to <= from)
			continue;
		printf("%*s", (int)(from - at), "");
		print_cell(r, c->node, to - from);
		at = to;
	}
	fputs("\n", stdout);
}

/* Those of `row`'s callees that have a column. */
static void next_row(const struct report *r, const struct row *row, unsigned width, struct row *ret)
{
	const uint32_t *children;
	size_t n;

	ret->n = ret->widest = 0;
	for (size_t i = 0; i < row->n; i++) {
		double start = row->cells[i].start;

		children = stack_tree_children(r->tree, row->cells[i].node, &n);
		for (size_t k = 0; k < n && ret->n < width; k++) {
			double total = (double)stack_tree_sums(r->tree, children[k])->total;
			unsigned columns =
				column(r, width, start + total) - column(r, width, start);

			/* Not what is thin but lies across a border. */
			if (columns && 2 * total * width >= (double)r->weight)
				ret->cells[ret->n++] = (struct cell){ children[k], start };
			if (columns > ret->widest)
				ret->widest = columns;
			start += total;
		}
	}
}

int report_flame(struct report *r)
{
	unsigned width = r->o->width ? r->o->width : PLAIN_WIDTH;
	struct row row = { 0 }, next = { 0 }, swap;

	row.cells = calloc((size_t)width + 1, sizeof(*row.cells));
	next.cells = calloc((size_t)width + 1, sizeof(*next.cells));
	if (!row.cells || !next.cells) {
		free(row.cells);
		free(next.cells);
		return -ENOMEM;
	}
	report_head(r);
	fputs("\n", stdout);
	row.n = 1; /* the root, from column 0 on */
	row.widest = width;
	/* Beside the functions there are the root and who ran them. */
	for (size_t i = 0; row.widest >= MIN_READ && i < MAX_ROWS; i++) {
		if (i >= 2 && i - 2 >= r->o->max_depth)
			break;
		print_row(r, &row, width);
		next_row(r, &row, width, &next);
		swap = row;
		row = next;
		next = swap;
	}
	free(row.cells);
	free(next.cells);
	return 0;
}
