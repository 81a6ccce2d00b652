/* SPDX-License-Identifier: Apache-2.0 */
/* probes_stacks.c - pairs of hits that have begun and not ended. */
#include "probe/probes_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

int hit_stacks_init(struct hit_stacks *s)
{
	*s = (struct hit_stacks){ 0 };
	return hash_new(&s->all);
}

void hit_stacks_done(struct hit_stacks *s)
{
	size_t pos = 0;
	void *value;

	if (!s->all)
		return;
	while (hash_next(s->all, &pos, NULL, NULL, &value)) {
		struct hit_stack *stack = value;

		while (stack->top)
			hit_stack_remove(s, stack, stack->top);
		free(stack);
	}
	hash_free(s->all);
	s->all = NULL;
}

struct hit_stack *hit_stack_of(struct hit_stacks *s, const struct hit_stack_key *key)
{
	struct hit_stack *stack = hash_get(s->all, key, sizeof(*key));

	if (stack || hash_count(s->all) >= PROBES_MAX_STACKS)
		return stack;
	stack = calloc(1, sizeof(*stack));
	if (stack && hash_set(s->all, key, sizeof(*key), stack) < 0) {
		free(stack);
		return NULL;
	}
	return stack;
}

void hit_stacks_sweep(struct hit_stacks *s, bool (*over)(void *ctx, const struct hit_stack *),
		      void *ctx)
{
	size_t pos = 0, len;
	const void *key;
	void *value;

	while (hash_next(s->all, &pos, &key, &len, &value)) {
		struct hit_stack *stack = value;

		if (stack->top || !over(ctx, stack))
			continue;
		(void)hash_remove(s->all, key, len);
		free(stack);
	}
}

/* Without its call stack, when there is no room for those any more. */
static struct probes_event *keep_record(struct hit_stacks *s, const struct probes_event *ev)
{
	size_t size = ev->hdr.size;
	struct probes_event *copy;

	if (s->n_bytes + size > PROBES_MAX_BYTES)
		size = PROBES_HEAD + ev->len;
	copy = malloc(size);
	if (!copy)
		return NULL;
	memcpy(copy, ev, size);
	if (size < ev->hdr.size)
		copy->flags &= (__u8)~PROBES_HAS_STACK;
	copy->hdr.size = (__u16)size;
	s->n_bytes += size;
	return copy;
}

bool hit_stack_push(struct hit_stacks *s, struct hit_stack *stack, struct probes_known *known,
		    uint64_t begin_ns, const struct probes_event *ev)
{
	struct open_hit *open = NULL;

	if (s->n_open < PROBES_MAX_OPEN && stack->n_over == 0)
		open = calloc(1, sizeof(*open));
	if (!open) {
		stack->n_over++;
		return false;
	}
	open->known = known;
	open->site = ev->site;
	open->sp = ev->sp;
	open->begin_ns = begin_ns;
	open->is_crossed = stack->is_one_probes;
	if (stack->depth < PROBES_DEPTH)
		open->ev = keep_record(s, ev);
	open->outer = stack->top;
	stack->top = open;
	stack->depth++;
	s->n_open++;
	return true;
}

struct open_hit *hit_stack_find(const struct hit_stack *stack, const struct probes_known *known,
				int site)
{
	struct open_hit *open = stack->top;

	while (open && (open->known != known || (site >= 0 && open->site != (unsigned)site)))
		open = open->outer;
	return open;
}

void hit_stack_remove(struct hit_stacks *s, struct hit_stack *stack, struct open_hit *open)
{
	struct open_hit **at = &stack->top;

	while (*at != open)
		at = &(*at)->outer;
	*at = open->outer;
	stack->depth--;
	s->n_open--;
	if (open->ev)
		s->n_bytes -= open->ev->hdr.size;
	free(open->ev);
	free(open);
}
