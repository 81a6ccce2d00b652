/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_walk.h - the walk up a copied piece of a stack, for the samples that
 * came before the mappings and tables that they need.
 *
 * The same steps as in the kernel (bpf/unwind_step.h). Knows no processes: whoever
 * calls says what is mapped where.
 */
#ifndef STACK_WALK_H
#define STACK_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

struct unwind_maps;

/* What is mapped around a pc. */
struct stack_place {
	uint64_t start, end;	 /* of the mapping */
	uint64_t delta;		 /* pc + delta: offset behind the first page of the table */
	uint32_t first, n_pages; /* the table's, as in struct unwind_table_ref */
	bool has_table, is_jit;
};

struct stack_walk_env {
	const struct unwind_maps *maps;
	/* 0, or an enum unwind_end that ends the walk. */
	int (*locate)(void *ctx, uint64_t pc, struct stack_place *ret);
	void *ctx;
};

/*
 * Goes on from where `copy` stopped, with copy->len bytes of `stack` from
 * copy->from on. `ips` has `*n` > 0 frames, the last one being the one at
 * copy->pc; callers are added, up to UNWIND_MAX_FRAMES in all.
 */
enum unwind_end stack_walk(const struct stack_walk_env *env, const struct unwind_copy *copy,
			   const uint8_t *stack, uint64_t ips[UNWIND_MAX_FRAMES], uint32_t *n);

/* "COMPLETE", "JIT_NOFP": as users see it. */
const char *unwind_end_name(enum unwind_end end);
/* The thread's first frame was reached. */
bool unwind_end_is_whole(enum unwind_end end);
/* False: there was no user stack that could have been walked. */
bool unwind_end_has_stack(enum unwind_end end);

#endif
