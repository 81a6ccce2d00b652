/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_tree.c - many stacks as one tree.
 *
 * A node is found by its parent and its label, in a table of numbers with linear
 * probing; a parent's number is always below its children's. Trees of millions
 * of nodes miss every cache, so a node is found with as few looks as possible:
 * none at all for callers that the stack before had, too.
 */
#include "stack_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "hash.h"

#define MIN_SLOTS 1024

struct node {
	uint32_t parent, label;
	struct stack_sums sums;
};

struct label {
	struct stack_sums sums;
	uint64_t last_stack; /* the latest one it was counted for, from 1 */
};

struct stack_tree {
	struct pool_budget *budget;
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	uint32_t *slots; /* nodes; 0, which is nobody's child: free */
	size_t n_slots;	 /* a power of two, at least 4/3 of n_nodes */
	uint64_t seed;
	uint32_t *last; /* nodes of the latest stack */
	size_t n_last, cap_last;
	struct label *labels;
	size_t n_labels, cap_labels;
	uint64_t n_stacks;
	int error;
	uint32_t *children;    /* of all nodes, one after the other */
	uint32_t *first_child; /* of each node, in `children`; one more at the end */
};

static void add_to(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

/* `items` with zeroed room for `n`, which may lie elsewhere now; NULL and `t->error`. */
static void *grow(struct stack_tree *t, void *items, size_t *cap, size_t n, size_t size)
{
	size_t new_cap = *cap ? *cap : 64;
	char *p = NULL;
	int r;

	if (n <= *cap)
		return items;
	while (new_cap < n)
		new_cap *= 2;
	r = pool_budget_take(t->budget, (new_cap - *cap) * size);
	if (r == 0)
		p = realloc(items, new_cap * size);
	if (!p) {
		t->error = r < 0 ? r : -ENOMEM;
		return NULL;
	}
	memset(p + *cap * size, 0, (new_cap - *cap) * size);
	*cap = new_cap;
	return p;
}

static int grow_nodes(struct stack_tree *t, size_t n)
{
	struct node *p = grow(t, t->nodes, &t->cap_nodes, n, sizeof(*p));

	if (!p)
		return t->error;
	t->nodes = p;
	if (t->n_nodes < n)
		t->n_nodes = n;
	return 0;
}

static int grow_labels(struct stack_tree *t, size_t n)
{
	struct label *p = grow(t, t->labels, &t->cap_labels, n, sizeof(*p));

	if (!p)
		return t->error;
	t->labels = p;
	if (t->n_labels < n)
		t->n_labels = n;
	return 0;
}

int stack_tree_new(struct pool_budget *budget, struct stack_tree **ret)
{
	struct stack_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->budget = budget;
	t->n_slots = MIN_SLOTS;
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	if (!t->slots || grow_nodes(t, 1) < 0) {
		stack_tree_free(t);
		return -ENOMEM;
	}
	if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed))
		t->seed = (uintptr_t)t;
	*ret = t;
	return 0;
}

void stack_tree_free(struct stack_tree *t)
{
	if (!t)
		return;
	free(t->nodes);
	free(t->slots);
	free(t->last);
	free(t->labels);
	free(t->children);
	free(t->first_child);
	free(t);
}

/* ---- adding ---- */

/* The slot where the node is, or where it would go. */
static size_t find_slot(const struct stack_tree *t, const uint32_t *slots, size_t n_slots,
			uint32_t parent, uint32_t label)
{
	uint64_t key = (uint64_t)parent << 32 | label;
	size_t i = hash_bytes(&key, sizeof(key), t->seed) & (n_slots - 1);

	for (; slots[i]; i = (i + 1) & (n_slots - 1))
		if (t->nodes[slots[i]].parent == parent && t->nodes[slots[i]].label == label)
			break;
	return i;
}

static int grow_slots(struct stack_tree *t)
{
	size_t n = 2 * t->n_slots;
	uint32_t *slots;
	int r;

	if ((t->n_nodes + 1) * 4 <= t->n_slots * 3)
		return 0;
	r = pool_budget_take(t->budget, (n - t->n_slots) * sizeof(*slots));
	if (r < 0)
		return r;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 1; i < t->n_nodes; i++)
		slots[find_slot(t, slots, n, t->nodes[i].parent, t->nodes[i].label)] = (uint32_t)i;
	free(t->slots);
	t->slots = slots;
	t->n_slots = n;
	return 0;
}

static int child_of(struct stack_tree *t, uint32_t parent, uint32_t label, uint32_t *ret)
{
	size_t i = find_slot(t, t->slots, t->n_slots, parent, label);
	int r;

	if (t->slots[i]) {
		*ret = t->slots[i];
		return 0;
	}
	if (t->n_nodes == UINT32_MAX)
		return -E2BIG;
	r = grow_slots(t);
	if (r == 0)
		r = grow_nodes(t, t->n_nodes + 1);
	if (r < 0)
		return r;
	*ret = (uint32_t)(t->n_nodes - 1);
	t->nodes[*ret].parent = parent;
	t->nodes[*ret].label = label;
	t->slots[find_slot(t, t->slots, t->n_slots, parent, label)] = *ret;
	return 0;
}

/* As child_of(), for the stack's caller number `depth`. */
static int next_node(struct stack_tree *t, uint32_t label, size_t depth, uint32_t *node)
{
	uint32_t *last;
	int r;

	if (depth < t->n_last && t->nodes[t->last[depth]].label == label) {
		*node = t->last[depth]; /* the callers were the same, or n_last would be less */
		return 0;
	}
	last = grow(t, t->last, &t->cap_last, depth + 1, sizeof(*last));
	if (!last)
		return t->error;
	t->last = last;
	t->n_last = 0; /* until it is whole again */
	r = child_of(t, *node, label, node);
	if (r < 0)
		return r;
	t->last[depth] = *node;
	t->n_last = depth + 1;
	return 0;
}

static int count_label(struct stack_tree *t, uint32_t label, uint64_t weight, uint64_t n_samples)
{
	int r = grow_labels(t, (size_t)label + 1);
	struct label *l;

	if (r < 0)
		return r;
	l = &t->labels[label];
	if (l->last_stack == t->n_stacks)
		return 0; /* recursion: once in a stack is enough */
	l->last_stack = t->n_stacks;
	add_to(&l->sums.total, weight);
	add_to(&l->sums.n_total, n_samples);
	return 0;
}

int stack_tree_add(struct stack_tree *t, const uint32_t *labels, size_t n, uint64_t weight,
		   uint64_t n_samples)
{
	uint32_t node = STACK_TREE_ROOT;
	int r;

	t->n_stacks++;
	for (size_t i = 0; i < n; i++) {
		r = count_label(t, labels[i], weight, n_samples);
		if (r == 0)
			r = next_node(t, labels[i], i, &node);
		if (r < 0)
			return r;
	}
	add_to(&t->nodes[node].sums.self, weight);
	add_to(&t->nodes[node].sums.n_self, n_samples);
	if (n) {
		add_to(&t->labels[labels[n - 1]].sums.self, weight);
		add_to(&t->labels[labels[n - 1]].sums.n_self, n_samples);
	}
	return 0;
}

/* ---- the tree as a whole ---- */

static void sum_up(struct stack_tree *t)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		t->nodes[i].sums.total = t->nodes[i].sums.self;
		t->nodes[i].sums.n_total = t->nodes[i].sums.n_self;
	}
	for (size_t i = t->n_nodes; i-- > 1;) {
		struct stack_sums *parent = &t->nodes[t->nodes[i].parent].sums;

		add_to(&parent->total, t->nodes[i].sums.total);
		add_to(&parent->n_total, t->nodes[i].sums.n_total);
	}
}

static int heavier(const void *pa, const void *pb, void *ctx)
{
	const struct stack_tree *t = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	uint64_t weight_a = t->nodes[a].sums.total, weight_b = t->nodes[b].sums.total;

	if (weight_a != weight_b)
		return weight_a > weight_b ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Sorts the nodes by their parents, and those of one parent by weight. */
static int list_children(struct stack_tree *t)
{
	size_t n = t->n_nodes;
	uint32_t *next;

	t->children = calloc(n, sizeof(*t->children));
	t->first_child = calloc(n + 1, sizeof(*t->first_child));
	next = calloc(n, sizeof(*next));
	if (!t->children || !t->first_child || !next) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 1; i < n; i++)
		t->first_child[t->nodes[i].parent + 1]++;
	for (size_t i = 0; i < n; i++)
		t->first_child[i + 1] += t->first_child[i];
	memcpy(next, t->first_child, n * sizeof(*next));
	for (size_t i = 1; i < n; i++)
		t->children[next[t->nodes[i].parent]++] = (uint32_t)i;
	free(next);
	for (size_t i = 0; i < n; i++)
		if (t->first_child[i + 1] - t->first_child[i] > 1)
			qsort_r(t->children + t->first_child[i],
				t->first_child[i + 1] - t->first_child[i], sizeof(*t->children),
				heavier, t);
	return 0;
}

int stack_tree_finish(struct stack_tree *t)
{
	/* Once more for what list_children() allocates. */
	int r = pool_budget_take(t->budget, 3 * t->n_nodes * sizeof(uint32_t));

	if (r < 0)
		return r;
	sum_up(t);
	return list_children(t);
}

/* ---- asked ---- */

uint32_t stack_tree_n_nodes(const struct stack_tree *t)
{
	return (uint32_t)t->n_nodes;
}

uint32_t stack_tree_label(const struct stack_tree *t, uint32_t node)
{
	return t->nodes[node].label;
}

uint32_t stack_tree_parent(const struct stack_tree *t, uint32_t node)
{
	return t->nodes[node].parent;
}

const struct stack_sums *stack_tree_sums(const struct stack_tree *t, uint32_t node)
{
	return &t->nodes[node].sums;
}

const uint32_t *stack_tree_children(const struct stack_tree *t, uint32_t node, size_t *ret_n)
{
	*ret_n = t->first_child[node + 1] - t->first_child[node];
	return t->children + t->first_child[node];
}

uint32_t stack_tree_n_labels(const struct stack_tree *t)
{
	return (uint32_t)t->n_labels;
}

const struct stack_sums *stack_tree_label_sums(const struct stack_tree *t, uint32_t label)
{
	static const struct stack_sums none;

	return label < t->n_labels ? &t->labels[label].sums : &none;
}
