/* SPDX-License-Identifier: Apache-2.0 */
/* markers_stacks.c - slices that have begun and not ended. */
#include "markers_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

int markers_stacks_init(struct markers_stacks *s)
{
	s->n_open = 0;
	return hash_new(&s->all);
}

static void free_stack(struct markers_stacks *s, struct markers_stack *stack)
{
	while (stack->top)
		markers_stack_pop(s, stack);
	free(stack);
}

void markers_stacks_done(struct markers_stacks *s)
{
	size_t pos = 0;
	void *stack;

	if (!s->all)
		return;
	while (hash_next(s->all, &pos, NULL, NULL, &stack))
		free_stack(s, stack);
	hash_free(s->all);
	s->all = NULL;
}

struct markers_stack *markers_stack_of(struct markers_stacks *s, const void *key, size_t len)
{
	struct markers_stack *stack = hash_get(s->all, key, len);

	if (stack || hash_count(s->all) >= MARKERS_MAX_STACKS)
		return stack;
	stack = calloc(1, sizeof(*stack));
	if (stack && hash_set(s->all, key, len, stack) < 0) {
		free(stack);
		return NULL;
	}
	return stack;
}

void markers_stacks_sweep(struct markers_stacks *s, bool (*over)(void *ctx, struct markers_stack *),
			  void *ctx)
{
	size_t pos = 0, len;
	const void *key;
	void *value;

	while (hash_next(s->all, &pos, &key, &len, &value)) {
		struct markers_stack *stack = value;

		if (stack->top || (over && !over(ctx, stack)))
			continue;
		(void)hash_remove(s->all, key, len);
		free(stack);
	}
}

bool markers_stack_push(struct markers_stacks *s, struct markers_stack *stack, uint64_t begin_ns,
			const struct markers_event *ev)
{
	struct markers_open *open = NULL;

	if (stack->depth < MARKERS_DEPTH && s->n_open < MARKERS_MAX_OPEN && stack->n_over == 0)
		open = calloc(1, sizeof(*open));
	if (open)
		open->ev = malloc(ev->hdr.size);
	if (!open || !open->ev) {
		free(open);
		stack->n_over++;
		return false;
	}
	memcpy(open->ev, ev, ev->hdr.size);
	open->begin_ns = begin_ns;
	open->outer = stack->top;
	stack->top = open;
	stack->depth++;
	s->n_open++;
	return true;
}

const struct markers_open *markers_stack_find(const struct markers_stack *stack,
					      const struct markers_event *ev)
{
	const struct markers_open *open = stack->top;

	while (open && ev->name_len > 0 &&
	       (open->ev->name_len != ev->name_len ||
		memcmp(open->ev->bytes, ev->bytes, ev->name_len) != 0))
		open = open->outer;
	return open;
}

void markers_stack_pop(struct markers_stacks *s, struct markers_stack *stack)
{
	struct markers_open *open = stack->top;

	stack->top = open->outer;
	stack->depth--;
	s->n_open--;
	free(open->ev);
	free(open);
}
