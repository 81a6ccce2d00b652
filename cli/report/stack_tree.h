/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_tree.h - many stacks as one tree: who called whom, and what it weighs.
 *
 * A stack is a path of labels, the outermost first. What labels are is the
 * caller's business: numbers below some bound. Beside the tree, each label has
 * sums of its own: in how much of the whole it is, however often in one stack.
 */
#ifndef STACK_TREE_H
#define STACK_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "pool.h"

struct stack_tree;

struct stack_sums {
	uint64_t self, total;	  /* weights; they stop at UINT64_MAX */
	uint64_t n_self, n_total; /* samples */
};

/* `budget` is borrowed, and may be NULL. */
int stack_tree_new(struct pool_budget *budget, struct stack_tree **ret);
void stack_tree_free(struct stack_tree *t); /* takes NULL */

/* An empty path is the root's own. -ENOMEM, -E2BIG. */
int stack_tree_add(struct stack_tree *t, const uint32_t *labels, size_t n, uint64_t weight,
		   uint64_t n_samples);
/* Once, before anything is asked. */
int stack_tree_finish(struct stack_tree *t);

#define STACK_TREE_ROOT 0

uint32_t stack_tree_n_nodes(const struct stack_tree *t);
uint32_t stack_tree_label(const struct stack_tree *t, uint32_t node);  /* not of the root */
uint32_t stack_tree_parent(const struct stack_tree *t, uint32_t node); /* the root's is itself */
const struct stack_sums *stack_tree_sums(const struct stack_tree *t, uint32_t node);
/* The heaviest first; equal ones in the order in which they came. */
const uint32_t *stack_tree_children(const struct stack_tree *t, uint32_t node, size_t *ret_n);

/* Labels that occurred are below this; sums of one that did not are 0. */
uint32_t stack_tree_n_labels(const struct stack_tree *t);
const struct stack_sums *stack_tree_label_sums(const struct stack_tree *t, uint32_t label);

#endif
