/* SPDX-License-Identifier: Apache-2.0 */
/* stack_known.h - stacks that were written before, found by their addresses. */
#ifndef STACK_KNOWN_H
#define STACK_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

/* What a sample has of its stack, innermost first. */
struct stack_addresses {
	const uint64_t *kernel, *user, *words;
	uint32_t n_kernel, n_user, n_words;
	bool words_whole;
};

/* A copy with all that it points to, to be freed. NULL: out of memory. */
struct stack_addresses *stack_addresses_copy(const struct stack_addresses *at);

/* Two hashes of the addresses with independent seeds: 128 bits never meet by chance. */
struct known_stack {
	uint64_t hash[2];
	uint64_t maps_version;	/* of the process; 0: it cannot be known */
	uint64_t callstack_iid; /* 0: it is not */
	unsigned generation;	/* of the writer */
	bool approx;		/* interpreted frames may be at the wrong place */
};

struct known_stacks;

int known_stacks_new(struct known_stacks **ret);
void known_stacks_free(struct known_stacks *k);

/*
 * Sets the hash of `stack`, whose version and generation are there already, and the rest if
 * it is known. `salt`: what else tells it from others with these addresses.
 */
void known_stacks_find(const struct known_stacks *k, const struct stack_addresses *at,
		       uint64_t salt, struct known_stack *stack);
void known_stacks_add(struct known_stacks *k, const struct known_stack *stack);

#endif
