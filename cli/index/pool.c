/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.c - byte strings, each kept once and known by a number.
 *
 * The strings lie in chunks that never move; a table of numbers with linear
 * probing finds them.
 */
#include "pool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "hash.h"

#define CHUNK_BYTES (64u << 10) /* small pools are many: one for each kind of thing */
#define CHUNK_MAX   (4u << 20)
#define MIN_SLOTS   64
#define MAX_STRINGS (UINT32_MAX - 1)

struct chunk {
	struct chunk *next;
	size_t cap, used;
	_Alignas(8) uint8_t data[];
};

struct entry {
	const uint8_t *data;
	uint32_t len;
	uint32_t hash;
};

struct pool {
	struct pool_budget *budget;
	struct chunk *chunks; /* the first one is being filled */
	struct entry *entries;
	uint32_t n, cap;
	uint32_t *slots; /* number + 1, 0: free */
	size_t n_slots;	 /* a power of two, at least 4/3 of n */
	uint64_t seed;
};

int pool_budget_take(struct pool_budget *b, size_t n)
{
	if (!b)
		return 0;
	if (b->used > b->max || n > b->max - b->used)
		return -E2BIG;
	b->used += n;
	return 0;
}

int pool_new(struct pool_budget *budget, struct pool **ret)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->budget = budget;
	p->n_slots = MIN_SLOTS;
	p->slots = calloc(p->n_slots, sizeof(*p->slots));
	if (!p->slots) {
		free(p);
		return -ENOMEM;
	}
	if (getrandom(&p->seed, sizeof(p->seed), GRND_NONBLOCK) != sizeof(p->seed))
		p->seed = (uint64_t)time(NULL) ^ (uintptr_t)p;
	*ret = p;
	return 0;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	for (struct chunk *c = p->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(p->entries);
	free(p->slots);
	free(p);
}

uint32_t pool_count(const struct pool *p)
{
	return p->n;
}

const void *pool_get(const struct pool *p, uint32_t i, size_t *ret_len)
{
	if (ret_len)
		*ret_len = p->entries[i].len;
	return p->entries[i].data;
}

/* The slot where it is, or where it would go. */
static size_t find_slot(const struct pool *p, const void *data, size_t len, uint32_t hash)
{
	size_t i = hash & (p->n_slots - 1);

	for (; p->slots[i]; i = (i + 1) & (p->n_slots - 1)) {
		const struct entry *e = &p->entries[p->slots[i] - 1];

		if (e->hash == hash && e->len == len &&
		    (len == 0 || memcmp(e->data, data, len) == 0))
			break;
	}
	return i;
}

uint32_t pool_find(const struct pool *p, const void *data, size_t len)
{
	uint32_t hash = (uint32_t)hash_bytes(data, len, p->seed);
	size_t i = find_slot(p, data, len, hash);

	return p->slots[i] ? p->slots[i] - 1 : UINT32_MAX;
}

/* ---- growing ---- */

static int grow_slots(struct pool *p)
{
	size_t n = 2 * p->n_slots;
	uint32_t *slots;
	int r;

	if (((size_t)p->n + 1) * 4 <= p->n_slots * 3)
		return 0;
	r = pool_budget_take(p->budget, (n - p->n_slots) * sizeof(*slots));
	if (r < 0)
		return r;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t k = 0; k < p->n; k++) {
		size_t i = p->entries[k].hash & (n - 1);

		while (slots[i])
			i = (i + 1) & (n - 1);
		slots[i] = k + 1;
	}
	free(p->slots);
	p->slots = slots;
	p->n_slots = n;
	return 0;
}

static int grow_entries(struct pool *p)
{
	size_t cap = p->cap ? 2 * (size_t)p->cap : 64;
	struct entry *entries;
	int r;

	if (p->n < p->cap)
		return 0;
	if (p->n == MAX_STRINGS)
		return -E2BIG;
	if (cap > MAX_STRINGS)
		cap = MAX_STRINGS;
	r = pool_budget_take(p->budget, (cap - p->cap) * sizeof(*entries));
	if (r < 0)
		return r;
	entries = realloc(p->entries, cap * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	p->entries = entries;
	p->cap = (uint32_t)cap;
	return 0;
}

static int copy(struct pool *p, const void *data, size_t len, const uint8_t **ret)
{
	size_t need = (len + 1 + 7) & ~(size_t)7;
	struct chunk *c = p->chunks;
	int r;

	if (!c || c->cap - c->used < need) {
		size_t cap = !c ? CHUNK_BYTES : c->cap < CHUNK_MAX ? 2 * c->cap : CHUNK_MAX;

		if (cap < need)
			cap = need;
		r = pool_budget_take(p->budget, sizeof(*c) + cap);
		if (r < 0)
			return r;
		c = malloc(sizeof(*c) + cap);
		if (!c)
			return -ENOMEM;
		c->next = p->chunks;
		c->cap = cap;
		c->used = 0;
		p->chunks = c;
	}
	*ret = c->data + c->used;
	if (len)
		memcpy(c->data + c->used, data, len);
	memset(c->data + c->used + len, 0, need - len);
	c->used += need;
	return 0;
}

int pool_add(struct pool *p, const void *data, size_t len, uint32_t *ret)
{
	uint32_t hash = (uint32_t)hash_bytes(data, len, p->seed);
	size_t i = find_slot(p, data, len, hash);
	struct entry e = { .hash = hash, .len = (uint32_t)len };
	int r;

	if (p->slots[i]) {
		*ret = p->slots[i] - 1;
		return 0;
	}
	if (len > UINT32_MAX - 16)
		return -E2BIG;
	r = grow_slots(p);
	if (r == 0)
		r = grow_entries(p);
	if (r == 0)
		r = copy(p, data, len, &e.data);
	if (r < 0)
		return r;
	i = find_slot(p, data, len, hash); /* the table may be another one by now */
	p->entries[p->n] = e;
	p->slots[i] = ++p->n;
	*ret = p->n - 1;
	return 0;
}
