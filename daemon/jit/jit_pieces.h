/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jit_pieces.h - pieces of code by address, of which no two overlap.
 *
 * A treap: its priorities are random, so that no order of addresses makes the
 * tree deep. The owner keeps its own references to text and lines in order.
 */
#ifndef JIT_PIECES_H
#define JIT_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit_table.h"

struct jit_piece {
	struct jit_symbol symbol;
	uint32_t left, right, priority; /* of a free one: left is the next free one */
};

/* The owner looks at `n` alone. */
struct jit_pieces {
	uint32_t n;
	struct jit_piece *nodes; /* [0] stands for none */
	uint32_t n_nodes, cap, free, root;
	uint64_t random;
};

void jit_pieces_init(struct jit_pieces *p, uint64_t seed);
void jit_pieces_done(struct jit_pieces *p);
void jit_pieces_clear(struct jit_pieces *p);
size_t jit_pieces_bytes(const struct jit_pieces *p);

/* Room for an insertion and two cuts, which then do not fail. -ENOMEM. */
int jit_pieces_reserve(struct jit_pieces *p);

/* The last one that starts below `addr`, or NULL. Its start must not be changed. */
struct jit_symbol *jit_pieces_below(struct jit_pieces *p, uint64_t addr);
/* One that overlaps none. */
void jit_pieces_insert(struct jit_pieces *p, const struct jit_symbol *symbol);
/* One that reaches over `addr` becomes two. */
void jit_pieces_cut(struct jit_pieces *p, uint64_t addr);

/* In the order of their addresses; `fn` must not change the set. */
typedef void jit_piece_fn(void *ctx, struct jit_symbol *symbol);
void jit_pieces_each(const struct jit_pieces *p, jit_piece_fn *fn, void *ctx);
/* Takes out those that start from `start` to `end`. */
void jit_pieces_take(struct jit_pieces *p, uint64_t start, uint64_t end, jit_piece_fn *fn,
		     void *ctx);

#endif
