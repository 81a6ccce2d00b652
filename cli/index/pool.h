/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - byte strings, each kept once and known by a number: 0, 1, 2, ... in
 * the order in which they came.
 *
 * Also for structs without padding. The hash is seeded per pool: what goes in
 * comes from files that nobody has checked.
 */
#ifndef POOL_H
#define POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool;

/* What several pools and lists may take together; `used` only grows. */
struct pool_budget {
	size_t used, max;
};

/* `budget` is borrowed, and may be NULL. */
int pool_new(struct pool_budget *budget, struct pool **ret);
void pool_free(struct pool *p); /* takes NULL */

/* -ENOMEM; -E2BIG: beyond the budget, or 2^32 - 2 strings. The pool stays as it was. */
int pool_add(struct pool *p, const void *data, size_t len, uint32_t *ret);
/* Is it there? UINT32_MAX: no. */
uint32_t pool_find(const struct pool *p, const void *data, size_t len);

/*
 * At an address that is a multiple of 8 and stays valid with the pool, a NUL
 * behind it. `i` < pool_count(). `ret_len` may be NULL.
 */
const void *pool_get(const struct pool *p, uint32_t i, size_t *ret_len);
uint32_t pool_count(const struct pool *p);

/* Room for `n` bytes more: 0 or -E2BIG. */
int pool_budget_take(struct pool_budget *b, size_t n);

#endif
