/* SPDX-License-Identifier: Apache-2.0 */
/* btf_copy.c - some types of a BTF, and what these consist of, as a BTF of their own. */
#include "btf_copy.h"

#include <errno.h>
#include <stdlib.h>

struct btf_copy {
	const struct btf *src;
	struct btf *dst;
	uint32_t *ids;	/* in `dst`, of the types of `src`; 0: is not there */
	uint32_t *todo; /* in `src`, of those whose parts may be missing */
	uint32_t n_todo, cap_todo;
	uint32_t pointer; /* in `dst`: one is like the other */
};

int btf_copy_new(const struct btf *src, struct btf_copy **ret)
{
	struct btf_copy *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->dst = btf__new_empty();
	if (!c->dst || btf_copy_from(c, src) < 0) {
		btf_copy_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

void btf_copy_free(struct btf_copy *c)
{
	if (!c)
		return;
	btf__free(c->dst);
	free(c->ids);
	free(c->todo);
	free(c);
}

static int remember(struct btf_copy *c, uint32_t id)
{
	if (c->n_todo == c->cap_todo) {
		uint32_t cap = c->cap_todo ? 2 * c->cap_todo : 1024;
		uint32_t *more = realloc(c->todo, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		c->todo = more;
		c->cap_todo = cap;
	}
	c->todo[c->n_todo++] = id;
	return 0;
}

static int add_pointer(struct btf_copy *c)
{
	int id;

	if (c->pointer)
		return 0;
	id = btf__add_ptr(c->dst, 0);
	if (id < 0)
		return id;
	c->pointer = (uint32_t)id;
	return 0;
}

int btf_copy_add(struct btf_copy *c, uint32_t id)
{
	const struct btf_type *t = btf__type_by_id(c->src, id);
	int r;

	if (!t)
		return -EINVAL;
	if (id == 0 || c->ids[id])
		return 0;
	if (btf_is_ptr(t)) {
		r = add_pointer(c);
		c->ids[id] = c->pointer;
		return r;
	}
	r = btf__add_type(c->dst, c->src, t);
	if (r < 0)
		return r;
	c->ids[id] = (uint32_t)r;
	return remember(c, id);
}

typedef int part_fn(struct btf_copy *c, uint32_t *id);

/* The parts of a type, which is one of `src` or was one of it. */
static int each_part(struct btf_copy *c, struct btf_type *t, part_fn *fn)
{
	int r = 0;

	if (btf_is_composite(t)) {
		for (uint32_t i = 0; r == 0 && i < btf_vlen(t); i++)
			r = fn(c, &btf_members(t)[i].type);
	} else if (btf_is_array(t)) {
		r = fn(c, &btf_array(t)->type);
		if (r == 0)
			r = fn(c, &btf_array(t)->index_type);
	} else if (btf_is_typedef(t) || btf_is_mod(t) || btf_is_type_tag(t)) {
		r = fn(c, &t->type);
	}
	return r;
}

/* The part_fns. */
static int add_part(struct btf_copy *c, uint32_t *id)
{
	return btf_copy_add(c, *id);
}

static int renumber(struct btf_copy *c, uint32_t *id)
{
	*id = c->ids[*id];
	return 0;
}

static int finish(struct btf_copy *c)
{
	int r = 0;

	/* It grows meanwhile. */
	for (uint32_t i = 0; r == 0 && i < c->n_todo; i++)
		r = each_part(c, (struct btf_type *)btf__type_by_id(c->src, c->todo[i]), add_part);
	for (uint32_t i = 0; r == 0 && i < c->n_todo; i++)
		r = each_part(c, (struct btf_type *)btf__type_by_id(c->dst, c->ids[c->todo[i]]),
			      renumber);
	c->n_todo = 0;
	return r;
}

int btf_copy_from(struct btf_copy *c, const struct btf *src)
{
	int r = finish(c);

	free(c->ids);
	c->src = src;
	c->ids = calloc(btf__type_cnt(src), sizeof(*c->ids));
	return r < 0 ? r : c->ids ? 0 : -ENOMEM;
}

int btf_copy_data(struct btf_copy *c, const void **ret, uint32_t *ret_size)
{
	int r = finish(c);

	if (r < 0)
		return r;
	*ret = btf__raw_data(c->dst, ret_size);
	return *ret ? 0 : -ENOMEM;
}
