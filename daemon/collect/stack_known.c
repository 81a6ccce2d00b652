/* SPDX-License-Identifier: Apache-2.0 */
/* stack_known.c - stacks that were written before, found by their addresses. */
#include "stack_known.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "hash.h"

/* A power of two: 200 KB. */
#define KNOWN_STACKS 4096

struct known_stacks {
	uint64_t seeds[2];
	struct known_stack at[KNOWN_STACKS]; /* maps_version 0: free */
};

static uint64_t *put(uint64_t *dst, const uint64_t **words, uint32_t n)
{
	if (n > 0) /* else there may be no array either */
		memcpy(dst, *words, n * sizeof(*dst));
	*words = dst;
	return dst + n;
}

struct stack_addresses *stack_addresses_copy(const struct stack_addresses *at)
{
	size_t n = (size_t)at->n_kernel + at->n_user + at->n_words;
	struct stack_addresses *copy = malloc(sizeof(*copy) + n * sizeof(uint64_t));
	uint64_t *words;

	if (!copy)
		return NULL;
	*copy = *at;
	words = (uint64_t *)(copy + 1);
	words = put(words, &copy->kernel, at->n_kernel);
	words = put(words, &copy->user, at->n_user);
	(void)put(words, &copy->words, at->n_words);
	return copy;
}

int known_stacks_new(struct known_stacks **ret)
{
	struct known_stacks *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	/* A program that chooses its addresses must not choose a hash. */
	if (getrandom(k->seeds, sizeof(k->seeds), 0) != sizeof(k->seeds)) {
		r = -errno;
		free(k);
		return r;
	}
	*ret = k;
	return 0;
}

void known_stacks_free(struct known_stacks *k)
{
	free(k);
}

static size_t slot(const struct known_stack *stack)
{
	return stack->hash[0] & (KNOWN_STACKS - 1);
}

static bool same_stack(const struct known_stack *a, const struct known_stack *b)
{
	return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1] &&
	       a->maps_version == b->maps_version && a->generation == b->generation;
}

void known_stacks_find(const struct known_stacks *k, const struct stack_addresses *at,
		       uint64_t salt, struct known_stack *stack)
{
	const struct known_stack *known;

	for (int i = 0; i < 2; i++) {
		uint64_t seed = k->seeds[i] ^ salt ^ ((uint64_t)at->n_kernel << 32);

		seed = hash_bytes(at->kernel, at->n_kernel * sizeof(*at->kernel), seed);
		seed = hash_bytes(at->user, at->n_user * sizeof(*at->user), seed);
		stack->hash[i] = hash_bytes(at->words, at->n_words * sizeof(*at->words), seed);
	}
	known = &k->at[slot(stack)];
	if (stack->maps_version && same_stack(known, stack)) {
		stack->callstack_iid = known->callstack_iid;
		stack->approx = known->approx;
	}
}

void known_stacks_add(struct known_stacks *k, const struct known_stack *stack)
{
	if (stack->maps_version && stack->callstack_iid)
		k->at[slot(stack)] = *stack;
}
