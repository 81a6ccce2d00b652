/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a trace whose waits are asked for. Whatever they are, children
 * of a node never have more time than it has.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "trace_index.h"
#include "wait_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_BYTES (64u << 20)

static void check_below(const struct wait_tree *t, uint32_t parent)
{
	const struct wait_node *node, *p = wait_tree_node(t, parent);
	uint64_t sum = 0, last = UINT64_MAX;

	for (uint32_t i = p->first_child; i != WAIT_NODE_NONE; i = node->next) {
		node = wait_tree_node(t, i);
		(void)wait_tree_where(t, node);
		if (node->ns > last || node->longest_ns > node->ns || node->runnable_ns > node->ns)
			abort();
		last = node->ns;
		sum += node->ns;
		check_below(t, i);
	}
	if (sum > p->ns)
		abort();
}

static void explain(const struct trace_index *ix)
{
	const struct trace_facts *facts = trace_index_facts(ix);
	const struct trace_wait *w;
	struct wait_tree *t;
	int32_t last = -1;
	size_t n;
	int r = 0;

	w = trace_index_waits(ix, &n);
	if (wait_tree_new(ix, 8, &t) < 0)
		return;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (w[i].begin_ns > w[i].woken_ns || w[i].woken_ns > w[i].end_ns)
			abort();
		if (w[i].tid != last)
			r = wait_tree_add(t, w[i].tid, facts->start_ns, facts->end_ns);
		last = w[i].tid;
	}
	if (r == 0) {
		wait_tree_sort(t);
		check_below(t, 0);
	}
	wait_tree_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_index *ix;
	struct trace_file *f;

	if (trace_index_new(&ix) < 0)
		return 0;
	trace_index_limit(ix, MAX_BYTES);
	if (trace_index_want_waits(ix) == 0 && trace_file_open_memory(data, size, &f) == 0) {
		if (trace_index_read(ix, f) == 0)
			explain(ix);
		trace_file_free(f);
	}
	trace_index_free(ix);
	return 0;
}
