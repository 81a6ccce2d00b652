/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_tree.c - who calls whom, for people.
 *
 * What is on one line is a chain: each calls the next one, and what else they do
 * is less than the least that is shown. So a line stands for all of them, and
 * the tree is indented only where it branches.
 */
#include <errno.h>
#include <string.h>

#include "clean.h"
#include "report.h"

#define LINE_WIDTH 100 /* where there is no terminal that says better */

/* A tree that branches deeper is indented beyond any screen. */
#define MAX_LEVELS 64

/* Columns in front of a name: "  12.3%   45.6%  ", or "  12.3%  ". */
static size_t indent_of(const struct report *r, unsigned level)
{
	return (r->o->mode->turns_tree ? 9 : 17) + 2 * (size_t)level;
}

/* Of callers there is no self: they are all here for what they call. */
static void start_line(const struct report *r, uint64_t total, uint64_t self, unsigned level)
{
	printf("%6.1f%%  ", report_percent(total, r->weight));
	if (!r->o->mode->turns_tree)
		printf("%5.1f%%  ", report_percent(self, r->weight));
	printf("%*s", (int)(2 * level), "");
}

static uint64_t total_of(const struct report *r, uint32_t node)
{
	return stack_tree_sums(r->tree, node)->total;
}

/* Of all that is in the tree. */
static bool is_heavy(const struct report *r, uint64_t weight)
{
	return weight && report_percent(weight, total_of(r, STACK_TREE_ROOT)) >= r->o->min_percent;
}

/* ---- chains ---- */

struct chain {
	uint32_t first, last; /* nodes */
	size_t depth;	      /* functions from the root to the last, both included */
};

/*
 * The node that goes on with a chain whose first one weighs `whole`, or the
 * root: there is none.
 */
static uint32_t next_in_chain(const struct report *r, uint64_t whole, uint32_t node, size_t depth)
{
	const uint32_t *children;
	size_t n;

	children = stack_tree_children(r->tree, node, &n);
	if (n == 0 || depth >= r->o->max_depth ||
	    !report_is_code(report_label_of(r, stack_tree_label(r->tree, node))))
		return STACK_TREE_ROOT;
	/* The heaviest is the first; what the others and the node itself have is the rest. */
	return is_heavy(r, whole - total_of(r, children[0])) || !is_heavy(r, whole)
		       ? STACK_TREE_ROOT
		       : children[0];
}

static bool is_code(const struct report *r, uint32_t node)
{
	return report_is_code(report_label_of(r, stack_tree_label(r->tree, node)));
}

static struct chain chain_from(const struct report *r, uint32_t node, size_t depth)
{
	struct chain c = { .first = node, .last = node, .depth = depth + is_code(r, node) };
	uint32_t next;

	while ((next = next_in_chain(r, total_of(r, node), c.last, c.depth)) != STACK_TREE_ROOT) {
		c.last = next;
		c.depth++;
	}
	return c;
}

/* " > name (x3)" (of callers: "<"), on this line or the next one. */
static void print_link(const struct report *r, uint32_t label, size_t times, unsigned level,
		       size_t *used)
{
	size_t width = r->o->width ? r->o->width : LINE_WIDTH;
	size_t indent = indent_of(r, level), len;
	struct report_text name =
		report_cut(report_short_label(r, label, REPORT_SHORT), report_room(r, indent + 8));
	char repeated[32] = "";
	bool first = *used == 0;

	if (times > 1)
		snprintf(repeated, sizeof(repeated), " (x%zu)", times);
	len = report_columns(name.s) + strlen(repeated) + 3;
	if (!first && *used + len > width) {
		printf("\n%*s", (int)indent, "");
		*used = 0;
	}
	if (*used == 0)
		*used = indent;
	if (!first)
		printf("%s%c ", *used == indent ? "" : " ", r->o->mode->turns_tree ? '<' : '>');
	printf("%s%s", name.s, repeated);
	*used += len;
}

static void print_chain(const struct report *r, const struct chain *c, size_t depth, unsigned level)
{
	size_t used = 0, times = 1;
	uint32_t next;

	start_line(r, total_of(r, c->first), stack_tree_sums(r->tree, c->last)->self, level);
	depth += is_code(r, c->first);
	for (uint32_t node = c->first;; node = next, depth++) {
		uint32_t label = stack_tree_label(r->tree, node);

		next = next_in_chain(r, total_of(r, c->first), node, depth);
		if (node != c->last && stack_tree_label(r->tree, next) == label) {
			times++;
			continue;
		}
		print_link(r, label, times, level, &used);
		times = 1;
		if (node == c->last)
			break;
	}
	fputs("\n", stdout);
}

/* ---- the tree ---- */

static void print_below(const struct report *r, uint32_t node, unsigned level, size_t depth)
{
	const uint32_t *children;
	uint64_t folded = 0;
	size_t n, n_folded = 0;

	children = stack_tree_children(r->tree, node, &n);
	if (n && is_heavy(r, total_of(r, children[0])) &&
	    (depth >= r->o->max_depth || level >= MAX_LEVELS)) {
		printf("%*s...\n", (int)indent_of(r, level), "");
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (is_heavy(r, total_of(r, children[i]))) {
			struct chain c = chain_from(r, children[i], depth);

			print_chain(r, &c, depth, level);
			print_below(r, c.last, level + 1, c.depth);
		} else {
			folded += total_of(r, children[i]);
			n_folded++;
		}
	}
	if (is_heavy(r, folded))
		printf("%6.1f%%%*s... %zu more\n", report_percent(folded, r->weight),
		       (int)indent_of(r, level) - 7, "", n_folded);
}

void report_tree(const struct report *r)
{
	printf("\n%7s%s  %s", "total", r->o->mode->turns_tree ? "" : "    self",
	       r->o->mode->turns_tree ? "callees < callers" : "callers > callees");
	if (r->o->min_percent > 0)
		printf(", from %g %% on", r->o->min_percent);
	fputs("\n", stdout);
	print_below(r, STACK_TREE_ROOT, 0, 0);
}

int report_callers(struct report *r)
{
	if (stack_tree_sums(r->tree, STACK_TREE_ROOT)->n_total == 0) {
		fprintf(stderr, "tracectl: no sample in %s has a function '%s'\n",
			clean(r->o->file), clean(r->o->mode_arg));
		return -ENOENT;
	}
	report_head(r);
	report_tree(r);
	return 0;
}
