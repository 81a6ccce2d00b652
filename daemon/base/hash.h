/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - a table from byte strings or numbers to pointers.
 *
 * Open addressing, grows by itself. Keys are copied. The hash is seeded per
 * process: keys come from traced processes, which must not choose collisions.
 */
#ifndef HASH_H
#define HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash;

int hash_new(struct hash **ret);
void hash_free(struct hash *h); /* takes NULL; values are the caller's */

size_t hash_count(const struct hash *h);
void *hash_get(const struct hash *h, const void *key, size_t len); /* NULL: not there */
/* Replaces; `value` must not be NULL. -ENOMEM leaves the table as it was. */
int hash_set(struct hash *h, const void *key, size_t len, void *value);
/* Leaves what is there; `*ret` is what there is then. */
int hash_add(struct hash *h, const void *key, size_t len, void *value, void **ret);
void *hash_remove(struct hash *h, const void *key, size_t len); /* what was there, or NULL */
void hash_clear(struct hash *h);

/* Walks in no order: start with `*pos` = 0; false at the end. Removing the current entry is fine.
 */
bool hash_next(const struct hash *h, size_t *pos, const void **ret_key, size_t *ret_len,
	       void **ret_value);

/* The same with a number as key. */
void *hash_get_u64(const struct hash *h, uint64_t key);
int hash_set_u64(struct hash *h, uint64_t key, void *value);
void *hash_remove_u64(struct hash *h, uint64_t key);

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

#endif
