/* SPDX-License-Identifier: Apache-2.0 */
/* wait_tree.c - why threads waited, as a tree of times. */
#include "wait_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "pool.h"

#define MAX_NODES   1000000 /* 80 MB; a report that a person can read has some hundred */
#define MAX_WHERE   4	    /* functions that say where it was */
#define STACK_ENDS  "[stack ends"
#define WHERE_BYTES 256

struct wait_tree {
	const struct trace_index *ix;
	unsigned max_depth;
	struct wait_node *nodes;
	size_t n, cap;
	struct hash *children; /* struct child_key -> node + 1 */
	struct pool *wheres;
	uint32_t *where_of; /* of each stack + 1: `wheres`, + 1; 0: not asked yet */
};

/* No padding. */
struct child_key {
	uint32_t parent, kind, name, where;
};

int wait_tree_new(const struct trace_index *ix, unsigned max_depth, struct wait_tree **ret)
{
	struct wait_tree *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->ix = ix;
	t->max_depth = max_depth;
	t->cap = 64;
	t->nodes = calloc(t->cap, sizeof(*t->nodes));
	t->where_of = calloc((size_t)trace_index_n_stacks(ix) + 1, sizeof(*t->where_of));
	r = t->nodes && t->where_of ? hash_new(&t->children) : -ENOMEM;
	if (r == 0)
		r = pool_new(NULL, &t->wheres);
	if (r < 0) {
		wait_tree_free(t);
		return r;
	}
	t->nodes[t->n++] = (struct wait_node){ .kind = NODE_ROOT,
					       .name = TRACE_NONE,
					       .where = TRACE_NONE,
					       .first_child = WAIT_NODE_NONE,
					       .next = WAIT_NODE_NONE };
	*ret = t;
	return 0;
}

void wait_tree_free(struct wait_tree *t)
{
	if (!t)
		return;
	free(t->nodes);
	free(t->where_of);
	hash_free(t->children);
	pool_free(t->wheres);
	free(t);
}

const struct wait_node *wait_tree_node(const struct wait_tree *t, uint32_t i)
{
	return &t->nodes[i];
}

/* ---- where a thread was ---- */

static const struct trace_function *frame_function(const struct wait_tree *t, uint32_t frame)
{
	size_t n;
	const uint32_t *functions = trace_index_frame(t->ix, frame, &n);

	return trace_index_function(t->ix, functions[n - 1]);
}

/*
 * "read_line < read_file < main": the last user functions of a stack, innermost
 * first; of one without, the kernel's.
 */
static void describe(const struct wait_tree *t, uint32_t stack, char ret[WHERE_BYTES])
{
	size_t n, n_user = 0, len = 0, n_named = 0;
	const uint32_t *frames = trace_index_stack(t->ix, stack, &n);

	for (size_t i = 0; i < n; i++)
		n_user += frame_function(t, frames[i])->kind != TRACE_FRAME_KERNEL;
	ret[0] = '\0';
	for (size_t i = n; i-- > 0 && n_named < MAX_WHERE;) {
		const struct trace_function *f = frame_function(t, frames[i]);
		const char *name = trace_index_string(t->ix, f->name);
		size_t room = WHERE_BYTES - len - 1, need = strlen(name) + 3;

		if ((f->kind == TRACE_FRAME_KERNEL) != (n_user == 0) ||
		    strncmp(name, STACK_ENDS, strlen(STACK_ENDS)) == 0)
			continue;
		if (need > room)
			break;
		len += (size_t)(stpcpy(stpcpy(ret + len, n_named ? " < " : ""), name) -
				(ret + len));
		n_named++;
	}
}

/* A string of `wheres`; TRACE_NONE: nothing is known. */
static int where_of(struct wait_tree *t, uint32_t stack, uint32_t *ret)
{
	char text[WHERE_BYTES];
	int r;

	*ret = TRACE_NONE;
	if (stack == TRACE_NONE)
		return 0;
	if (!t->where_of[stack]) {
		uint32_t i;

		describe(t, stack, text);
		r = pool_add(t->wheres, text, strlen(text), &i);
		if (r < 0)
			return r;
		t->where_of[stack] = i + 1;
	}
	*ret = t->where_of[stack] - 1;
	return 0;
}

const char *wait_tree_where(const struct wait_tree *t, const struct wait_node *node)
{
	if (node->where == TRACE_NONE)
		return "";
	if (node->kind == NODE_INTERRUPT)
		return trace_index_string(t->ix, node->where);
	return pool_get(t->wheres, node->where, NULL);
}

/* ---- nodes ---- */

static int new_node(struct wait_tree *t, const struct child_key *key, uint32_t *ret)
{
	struct wait_node *parent;

	if (t->n == MAX_NODES)
		return -E2BIG;
	if (t->n == t->cap) {
		struct wait_node *more = realloc(t->nodes, 2 * t->cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		t->nodes = more;
		t->cap *= 2;
	}
	if (hash_set(t->children, key, sizeof(*key), (void *)((uintptr_t)t->n + 1)) < 0)
		return -ENOMEM;
	parent = &t->nodes[key->parent];
	t->nodes[t->n] = (struct wait_node){
		.kind = (enum wait_node_kind)key->kind,
		.name = key->name,
		.where = key->where,
		.first_child = WAIT_NODE_NONE,
		.next = parent->first_child,
	};
	parent->first_child = (uint32_t)t->n;
	*ret = (uint32_t)t->n++;
	return 0;
}

/* The child of `parent` that is so; one time more, `ns` long. */
static int count(struct wait_tree *t, uint32_t parent, enum wait_node_kind kind, uint32_t name,
		 uint32_t where, uint64_t ns, uint32_t *ret)
{
	struct child_key key = { .parent = parent, .kind = kind, .name = name, .where = where };
	uintptr_t found = (uintptr_t)hash_get(t->children, &key, sizeof(key));
	struct wait_node *node;
	int r = 0;

	*ret = (uint32_t)(found - 1);
	if (!found)
		r = new_node(t, &key, ret);
	if (r < 0)
		return r;
	node = &t->nodes[*ret];
	node->n++;
	node->ns += ns;
	if (ns > node->longest_ns)
		node->longest_ns = ns;
	return 0;
}

/* ---- waits ---- */

static int add_within(struct wait_tree *t, uint32_t parent, int32_t tid, uint64_t from_ns,
		      uint64_t to_ns, unsigned depth);

static uint32_t name_of(const struct wait_tree *t, uint32_t thread)
{
	return trace_index_thread(t->ix, thread)->name;
}

/* Who ended it. The waker had [from_ns, to_ns) for it. */
static int add_waker(struct wait_tree *t, uint32_t parent, const struct trace_wait *w,
		     uint64_t from_ns, uint64_t to_ns, unsigned depth)
{
	uint32_t node, where;
	int r;

	if (w->woken_by != TRACE_NONE)
		return count(t, parent, NODE_INTERRUPT, w->woken_by, w->function, to_ns - from_ns,
			     &node);
	if (w->waker == TRACE_NONE)
		return count(t, parent, NODE_NOBODY, TRACE_NONE, TRACE_NONE, to_ns - from_ns,
			     &node);
	r = where_of(t, w->waker_stack, &where);
	if (r == 0)
		r = count(t, parent, NODE_WAKER, name_of(t, w->waker), where, to_ns - from_ns,
			  &node);
	if (r < 0)
		return r;
	if (t->nodes[node].n == 1)
		t->nodes[node].tid = w->waker_tid;
	else if (t->nodes[node].tid != w->waker_tid)
		t->nodes[node].tid = 0;
	if (depth >= t->max_depth)
		return 0;
	return add_within(t, node, w->waker_tid, from_ns, to_ns, depth + 1);
}

/* The part of a wait that lies within [from_ns, to_ns). */
static int add_wait(struct wait_tree *t, uint32_t parent, const struct trace_wait *w,
		    uint64_t from_ns, uint64_t to_ns, unsigned depth)
{
	uint64_t woken_ns = w->woken_ns < to_ns ? w->woken_ns : to_ns;
	uint32_t node, where;
	int r;

	if (woken_ns < from_ns)
		woken_ns = from_ns;
	r = where_of(t, w->stack, &where);
	if (r == 0)
		r = count(t, parent, NODE_WAIT, w->name, where, to_ns - from_ns, &node);
	if (r < 0)
		return r;
	t->nodes[node].runnable_ns += to_ns - woken_ns;
	return woken_ns > from_ns ? add_waker(t, node, w, from_ns, woken_ns, depth) : 0;
}

/* The first wait of `tid` that ends after `time_ns`, or of a greater tid. */
static size_t first_wait(const struct trace_wait *w, size_t n, int32_t tid, uint64_t time_ns)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w[mid].tid < tid || (w[mid].tid == tid && w[mid].end_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Where the time of `tid` went: waits, and below a waker also the rest. */
static int add_within(struct wait_tree *t, uint32_t parent, int32_t tid, uint64_t from_ns,
		      uint64_t to_ns, unsigned depth)
{
	uint64_t rest_ns = to_ns - from_ns, at_ns = from_ns;
	const struct trace_wait *w;
	uint32_t node;
	size_t n;
	int r = 0;

	w = trace_index_waits(t->ix, &n);
	for (size_t i = first_wait(w, n, tid, from_ns); r == 0 && i < n && w[i].tid == tid; i++) {
		/* Those of a file that is not ours may overlap: nothing counts twice. */
		uint64_t begin_ns = w[i].begin_ns > at_ns ? w[i].begin_ns : at_ns;
		uint64_t end_ns = w[i].end_ns < to_ns ? w[i].end_ns : to_ns;

		if (begin_ns >= to_ns)
			break;
		if (begin_ns >= end_ns)
			continue;
		at_ns = end_ns;
		rest_ns -= end_ns - begin_ns;
		r = add_wait(t, parent, &w[i], begin_ns, end_ns, depth);
	}
	if (r == 0 && parent != 0 && rest_ns > 0)
		r = count(t, parent, NODE_RAN, TRACE_NONE, TRACE_NONE, rest_ns, &node);
	return r;
}

int wait_tree_add(struct wait_tree *t, int32_t tid, uint64_t from_ns, uint64_t to_ns)
{
	int r = from_ns < to_ns ? add_within(t, 0, tid, from_ns, to_ns, 0) : 0;
	struct wait_node *root = t->nodes;

	root->ns = root->runnable_ns = root->n = 0;
	for (uint32_t i = root->first_child; i != WAIT_NODE_NONE; i = t->nodes[i].next) {
		root->ns += t->nodes[i].ns;
		root->runnable_ns += t->nodes[i].runnable_ns;
		root->n += t->nodes[i].n;
	}
	return r;
}

/* ---- order ---- */

/* Merges two sorted lists of siblings. */
static uint32_t merge(struct wait_tree *t, uint32_t a, uint32_t b)
{
	uint32_t head = WAIT_NODE_NONE, *end = &head;

	while (a != WAIT_NODE_NONE && b != WAIT_NODE_NONE) {
		uint32_t *less = t->nodes[a].ns >= t->nodes[b].ns ? &a : &b;

		*end = *less;
		end = &t->nodes[*less].next;
		*less = *end;
	}
	*end = a != WAIT_NODE_NONE ? a : b;
	return head;
}

static uint32_t sort(struct wait_tree *t, uint32_t list)
{
	uint32_t half = list, end, second;

	if (list == WAIT_NODE_NONE || t->nodes[list].next == WAIT_NODE_NONE)
		return list;
	for (end = t->nodes[list].next; end != WAIT_NODE_NONE; end = t->nodes[end].next) {
		end = t->nodes[end].next;
		if (end == WAIT_NODE_NONE)
			break;
		half = t->nodes[half].next;
	}
	second = t->nodes[half].next;
	t->nodes[half].next = WAIT_NODE_NONE;
	return merge(t, sort(t, list), sort(t, second));
}

void wait_tree_sort(struct wait_tree *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->nodes[i].first_child = sort(t, t->nodes[i].first_child);
}
