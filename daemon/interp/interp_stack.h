/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interp_stack.h - the interpreted frames of one sample, until its native frames
 * have names and the two can be merged.
 */
#ifndef INTERP_STACK_H
#define INTERP_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interp_stack;
struct interpreter;
struct location;

/*
 * Finds the locations of `n` words (bpf/python.h, or bpf/frames.h), innermost first, while they
 * are known, and holds them. `whole`: there are no more; otherwise a frame more says
 * so. -ENOMEM.
 */
int interp_stack_new(struct interpreter *in, const uint64_t *words, size_t n, bool whole,
		     struct interp_stack **ret);
void interp_stack_free(struct interp_stack *st); /* takes NULL */

/* All names are there that will be. */
bool interp_stack_ready(const struct interp_stack *st);

/*
 * Merges (merge.h) with the native frames of the same sample, outermost first,
 * of which `whole` says that there are no more. `ret` has room for both. What is
 * returned is only valid as long as both are. Returns how many, or 0 without
 * memory. `*ret_approx` as in merge.h.
 */
size_t interp_stack_merge(const struct interp_stack *st, struct location *const *native, size_t n,
			  bool whole, struct location **ret, bool *ret_approx);

#endif
