/* SPDX-License-Identifier: Apache-2.0 */
/* jit_pieces.c - pieces of code by address, of which no two overlap. */
#include "jit_pieces.h"

#include <errno.h>
#include <stdlib.h>

#define NONE	0u
#define MIN_CAP 64

void jit_pieces_init(struct jit_pieces *p, uint64_t seed)
{
	*p = (struct jit_pieces){ .random = seed | 1 };
	jit_pieces_clear(p);
}

void jit_pieces_done(struct jit_pieces *p)
{
	free(p->nodes);
	p->nodes = NULL;
}

void jit_pieces_clear(struct jit_pieces *p)
{
	p->root = p->free = NONE;
	p->n = 0;
	p->n_nodes = 1;
}

size_t jit_pieces_bytes(const struct jit_pieces *p)
{
	return p->cap * sizeof(*p->nodes);
}

int jit_pieces_reserve(struct jit_pieces *p)
{
	/* Free ones are not counted on: it is a few too many at worst. */
	uint32_t cap = p->cap ? 2 * p->cap : MIN_CAP;
	struct jit_piece *nodes;

	if (p->n_nodes + 3 <= p->cap)
		return 0;
	nodes = realloc(p->nodes, cap * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	p->nodes = nodes;
	p->cap = cap;
	return 0;
}

static uint32_t next_random(struct jit_pieces *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (uint32_t)(p->random >> 16);
}

static uint32_t new_node(struct jit_pieces *p, const struct jit_symbol *symbol)
{
	uint32_t i = p->free;

	if (i != NONE)
		p->free = p->nodes[i].left;
	else
		i = p->n_nodes++;
	p->nodes[i] = (struct jit_piece){ .symbol = *symbol, .priority = next_random(p) };
	p->n++;
	return i;
}

/* What starts below `addr` to the left, the rest to the right. */
static void split(struct jit_pieces *p, uint32_t tree, uint64_t addr, uint32_t *left,
		  uint32_t *right)
{
	struct jit_piece *n;

	if (tree == NONE) {
		*left = *right = NONE;
		return;
	}
	n = &p->nodes[tree];
	if (n->symbol.start < addr) {
		split(p, n->right, addr, &n->right, right);
		*left = tree;
	} else {
		split(p, n->left, addr, left, &n->left);
		*right = tree;
	}
}

static uint32_t join(struct jit_pieces *p, uint32_t left, uint32_t right)
{
	struct jit_piece *l, *r;

	if (left == NONE || right == NONE)
		return left == NONE ? right : left;
	l = &p->nodes[left];
	r = &p->nodes[right];
	if (l->priority > r->priority) {
		l->right = join(p, l->right, right);
		return left;
	}
	r->left = join(p, left, r->left);
	return right;
}

struct jit_symbol *jit_pieces_below(struct jit_pieces *p, uint64_t addr)
{
	uint32_t i = p->root, best = NONE;

	while (i != NONE) {
		if (p->nodes[i].symbol.start < addr) {
			best = i;
			i = p->nodes[i].right;
		} else {
			i = p->nodes[i].left;
		}
	}
	return best == NONE ? NULL : &p->nodes[best].symbol;
}

void jit_pieces_insert(struct jit_pieces *p, const struct jit_symbol *symbol)
{
	uint32_t left, right, i = new_node(p, symbol);

	split(p, p->root, symbol->start, &left, &right);
	p->root = join(p, join(p, left, i), right);
}

void jit_pieces_cut(struct jit_pieces *p, uint64_t addr)
{
	struct jit_symbol *s = jit_pieces_below(p, addr), rest;

	if (!s || s->end <= addr)
		return;
	rest = *s;
	s->end = rest.start = addr;
	jit_pieces_insert(p, &rest);
}

static void walk(const struct jit_pieces *p, uint32_t tree, jit_piece_fn *fn, void *ctx)
{
	if (tree == NONE)
		return;
	walk(p, p->nodes[tree].left, fn, ctx);
	fn(ctx, &p->nodes[tree].symbol);
	walk(p, p->nodes[tree].right, fn, ctx);
}

void jit_pieces_each(const struct jit_pieces *p, jit_piece_fn *fn, void *ctx)
{
	walk(p, p->root, fn, ctx);
}

static void free_tree(struct jit_pieces *p, uint32_t tree)
{
	if (tree == NONE)
		return;
	free_tree(p, p->nodes[tree].left);
	free_tree(p, p->nodes[tree].right);
	p->nodes[tree].left = p->free;
	p->free = tree;
	p->n--;
}

void jit_pieces_take(struct jit_pieces *p, uint64_t start, uint64_t end, jit_piece_fn *fn,
		     void *ctx)
{
	uint32_t left, middle, right;

	split(p, p->root, start, &left, &middle);
	split(p, middle, end, &middle, &right);
	walk(p, middle, fn, ctx);
	free_tree(p, middle);
	p->root = join(p, left, right);
}
