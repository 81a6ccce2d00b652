/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.c - a table from byte strings or numbers to pointers.
 *
 * Linear probing with tombstones. Keys up to 16 bytes live in the slot, longer
 * ones in their own allocation.
 */
#include "hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define INLINE_KEY 16
#define MIN_SLOTS  16

struct slot {
	uint64_t hash;
	void *value; /* NULL: free, or removed when `removed` */
	uint32_t len;
	bool removed;
	union {
		uint8_t bytes[INLINE_KEY];
		uint8_t *far;
	} key;
};

struct hash {
	struct slot *slots;
	size_t n_slots; /* a power of two */
	size_t n_used;	/* with a value */
	size_t n_removed;
	uint64_t seed, seed_u64; /* what hash_bytes() makes of it for 8 bytes */
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	return x;
}

/* Both halves of the product: each bit of `x` reaches all of the result's. */
static uint64_t fold(uint64_t x)
{
	unsigned __int128 product = (unsigned __int128)x * 0xa0761d6478bd642full;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

#define STEP 0x9e3779b97f4a7c15ull

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t h = mix(seed ^ len), word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		h = fold(h ^ word) + STEP;
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	return mix(h ^ word);
}

int hash_new(struct hash **ret)
{
	struct hash *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->slots = calloc(MIN_SLOTS, sizeof(*h->slots));
	if (!h->slots) {
		free(h);
		return -ENOMEM;
	}
	h->n_slots = MIN_SLOTS;
	if (getrandom(&h->seed, sizeof(h->seed), GRND_NONBLOCK) != sizeof(h->seed))
		h->seed = (uint64_t)time(NULL) ^ (uintptr_t)h;
	h->seed_u64 = mix(h->seed ^ sizeof(uint64_t));
	*ret = h;
	return 0;
}

static void slot_free_key(struct slot *s)
{
	if (s->len > INLINE_KEY)
		free(s->key.far);
}

static const uint8_t *slot_key(const struct slot *s)
{
	return s->len > INLINE_KEY ? s->key.far : s->key.bytes;
}

void hash_clear(struct hash *h)
{
	for (size_t i = 0; i < h->n_slots; i++)
		if (h->slots[i].value)
			slot_free_key(&h->slots[i]);
	memset(h->slots, 0, h->n_slots * sizeof(*h->slots));
	h->n_used = h->n_removed = 0;
}

void hash_free(struct hash *h)
{
	if (!h)
		return;
	hash_clear(h);
	free(h->slots);
	free(h);
}

size_t hash_count(const struct hash *h)
{
	return h->n_used;
}

static struct slot *find(const struct hash *h, const void *key, size_t len, uint64_t hash)
{
	for (size_t i = hash & (h->n_slots - 1);; i = (i + 1) & (h->n_slots - 1)) {
		struct slot *s = &h->slots[i];

		if (!s->value && !s->removed)
			return NULL;
		if (s->value && s->hash == hash && s->len == len &&
		    (len == 0 || memcmp(slot_key(s), key, len) == 0))
			return s;
	}
}

void *hash_get(const struct hash *h, const void *key, size_t len)
{
	struct slot *s = find(h, key, len, hash_bytes(key, len, h->seed));

	return s ? s->value : NULL;
}

/* Keeps at most 3/4 of the slots in use or removed. */
static int make_room(struct hash *h)
{
	size_t n = h->n_slots;
	struct slot *slots;

	if ((h->n_used + h->n_removed + 1) * 4 <= h->n_slots * 3)
		return 0;
	if ((h->n_used + 1) * 2 > h->n_slots)
		n *= 2;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < h->n_slots; i++) {
		size_t j = h->slots[i].hash & (n - 1);

		if (!h->slots[i].value)
			continue;
		while (slots[j].value)
			j = (j + 1) & (n - 1);
		slots[j] = h->slots[i];
	}
	free(h->slots);
	h->slots = slots;
	h->n_slots = n;
	h->n_removed = 0;
	return 0;
}

/* `key` is not there yet. */
static int insert(struct hash *h, const void *key, size_t len, uint64_t hash, void *value)
{
	uint8_t *far = NULL;
	struct slot *s;
	size_t i;
	int r;

	if (len > UINT32_MAX)
		return -ENOMEM;
	if (len > INLINE_KEY) {
		far = malloc(len);
		if (!far)
			return -ENOMEM;
		memcpy(far, key, len);
	}
	r = make_room(h);
	if (r < 0) {
		free(far);
		return r;
	}

	i = hash & (h->n_slots - 1);
	while (h->slots[i].value)
		i = (i + 1) & (h->n_slots - 1);
	s = &h->slots[i];
	h->n_removed -= s->removed;
	h->n_used++;
	*s = (struct slot){ .hash = hash, .value = value, .len = (uint32_t)len };
	if (far)
		s->key.far = far;
	else if (len)
		memcpy(s->key.bytes, key, len);
	return 0;
}

int hash_set(struct hash *h, const void *key, size_t len, void *value)
{
	uint64_t hash = hash_bytes(key, len, h->seed);
	struct slot *s = find(h, key, len, hash);

	if (!s)
		return insert(h, key, len, hash, value);
	s->value = value;
	return 0;
}

int hash_add(struct hash *h, const void *key, size_t len, void *value, void **ret)
{
	uint64_t hash = hash_bytes(key, len, h->seed);
	struct slot *s = find(h, key, len, hash);

	*ret = s ? s->value : value;
	return s ? 0 : insert(h, key, len, hash, value);
}

void *hash_remove(struct hash *h, const void *key, size_t len)
{
	struct slot *s = find(h, key, len, hash_bytes(key, len, h->seed));
	void *value;

	if (!s)
		return NULL;
	value = s->value;
	slot_free_key(s);
	*s = (struct slot){ .removed = true };
	h->n_used--;
	h->n_removed++;
	return value;
}

bool hash_next(const struct hash *h, size_t *pos, const void **ret_key, size_t *ret_len,
	       void **ret_value)
{
	for (; *pos < h->n_slots; (*pos)++) {
		const struct slot *s = &h->slots[*pos];

		if (!s->value)
			continue;
		if (ret_key)
			*ret_key = slot_key(s);
		if (ret_len)
			*ret_len = s->len;
		*ret_value = s->value;
		(*pos)++;
		return true;
	}
	return false;
}

/* hash_get(), without its loop over the key. */
void *hash_get_u64(const struct hash *h, uint64_t key)
{
	uint64_t hash = mix(fold(h->seed_u64 ^ key) + STEP), other;

	for (size_t i = hash & (h->n_slots - 1);; i = (i + 1) & (h->n_slots - 1)) {
		const struct slot *s = &h->slots[i];

		if (!s->value && !s->removed)
			return NULL;
		if (!s->value || s->hash != hash || s->len != sizeof(key))
			continue;
		memcpy(&other, s->key.bytes, sizeof(other));
		if (other == key)
			return s->value;
	}
}

int hash_set_u64(struct hash *h, uint64_t key, void *value)
{
	return hash_set(h, &key, sizeof(key), value);
}

void *hash_remove_u64(struct hash *h, uint64_t key)
{
	return hash_remove(h, &key, sizeof(key));
}
