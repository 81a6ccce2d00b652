/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_tree.h - why threads waited: what for, who ended it, and what the waker
 * was doing meanwhile, and so on, as a tree of times.
 *
 * A wait's children say who ended it. A waker's children say where its time
 * went while others waited for it: into waits of its own, which have wakers
 * again, or into running. Time is counted where it lies: children of a node
 * never have more than it has.
 */
#ifndef WAIT_TREE_H
#define WAIT_TREE_H

#include "trace_index.h"

enum wait_node_kind {
	NODE_ROOT,
	NODE_WAIT,	/* `name` at `where` */
	NODE_WAKER,	/* a thread: `name`, at `where` when it woke the other one */
	NODE_INTERRUPT, /* `name` is its kind, `where` the kernel's function */
	NODE_NOBODY,	/* it still waits, or its waker was not seen */
	NODE_RAN,	/* it ran, could have run, or waited too short to be seen */
};

#define WAIT_NODE_NONE UINT32_MAX

struct wait_node {
	enum wait_node_kind kind;
	uint32_t name;	/* string or TRACE_NONE */
	uint32_t where; /* string: the last functions, "read_line < read_file"; or TRACE_NONE */
	int32_t tid;	/* of a waker; 0: of several */
	uint64_t ns;	/* of the waits: from their begin to their end */
	uint64_t runnable_ns; /* woken, but not on a CPU yet */
	uint64_t longest_ns, n;
	uint32_t first_child, next; /* WAIT_NODE_NONE: no more; the longest first when sorted */
};

struct wait_tree;

int wait_tree_new(const struct trace_index *ix, unsigned max_depth, struct wait_tree **ret);
void wait_tree_free(struct wait_tree *t); /* takes NULL */

/* Adds the waits of thread `tid` as far as they lie within [from_ns, to_ns). -ENOMEM, -E2BIG. */
int wait_tree_add(struct wait_tree *t, int32_t tid, uint64_t from_ns, uint64_t to_ns);
void wait_tree_sort(struct wait_tree *t);

/* 0 is the root, whose children are waits. Valid until the next is added. */
const struct wait_node *wait_tree_node(const struct wait_tree *t, uint32_t i);
/* Of `name` and `where`. */
const char *wait_tree_where(const struct wait_tree *t, const struct wait_node *node);

#endif
