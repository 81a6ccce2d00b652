/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_folded.c - a line for each stack, as flamegraph.pl and its relatives
 * take them: who ran, the frames from the outermost on, a count.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report.h"

/* What has a meaning in the format has none in a name. */
static void print_name(const struct report *r, uint32_t label)
{
	struct report_text name = report_label(r, label);

	for (char *p = name.s; *p; p++)
		if (*p == ';')
			*p = ':';
	fputs(name.s, stdout);
}

/* The nodes from below the root to `node`, in `*path`, which grows. */
static int path_to(const struct stack_tree *t, uint32_t node, uint32_t **path, size_t *cap,
		   size_t *ret_n)
{
	size_t n = 0;

	for (; node != STACK_TREE_ROOT; node = stack_tree_parent(t, node)) {
		if (n == *cap) {
			size_t new_cap = *cap ? 2 * *cap : 256;
			uint32_t *p = reallocarray(*path, new_cap, sizeof(*p));

			if (!p)
				return -ENOMEM;
			*path = p;
			*cap = new_cap;
		}
		(*path)[n++] = node;
	}
	*ret_n = n;
	return 0;
}

/* CPU samples are counted, as everywhere; all else is measured in what it measures. */
static uint64_t count_of(const struct report *r, uint32_t node)
{
	const struct stack_sums *sums = stack_tree_sums(r->tree, node);

	if (report_is_cpu(r, r->source))
		return sums->n_self;
	return sums->self;
}

int report_folded(struct report *r)
{
	uint32_t *path = NULL;
	size_t cap = 0, n;
	int error = 0;

	for (uint32_t node = 1; node < stack_tree_n_nodes(r->tree); node++) {
		if (count_of(r, node) == 0)
			continue;
		error = path_to(r->tree, node, &path, &cap, &n);
		if (error < 0)
			break;
		while (n > 0) {
			print_name(r, stack_tree_label(r->tree, path[--n]));
			if (n > 0)
				putchar(';');
		}
		printf(" %" PRIu64 "\n", count_of(r, node));
	}
	free(path);
	return error;
}
