/* SPDX-License-Identifier: Apache-2.0 */
/* jit_text.c - names, each kept once, one behind the other in one block. */
#include "jit_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/text.h"
#include "jit_table.h"

#define MIN_SLOTS 256 /* a power of two */

struct jit_text {
	struct buf block;
	struct jit_text_ref *slots; /* open addressing; len 0: free */
	size_t n_slots, n_used;
	uint64_t seed;
};

int jit_text_new(struct jit_text **ret)
{
	struct jit_text *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->n_slots = MIN_SLOTS;
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	/* Whoever writes the names must not choose where they collide. */
	if (!t->slots || getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != sizeof(t->seed)) {
		jit_text_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void jit_text_free(struct jit_text *t)
{
	if (!t)
		return;
	buf_done(&t->block);
	free(t->slots);
	free(t);
}

void jit_text_clear(struct jit_text *t)
{
	t->block.len = 0;
	t->n_used = 0;
	memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
}

static struct jit_text_ref *slot_of(const struct jit_text *t, const void *s, size_t len)
{
	size_t i = hash_bytes(s, len, t->seed) & (t->n_slots - 1);

	while (t->slots[i].len &&
	       (t->slots[i].len != len || memcmp(t->block.data + t->slots[i].at, s, len) != 0))
		i = (i + 1) & (t->n_slots - 1);
	return &t->slots[i];
}

static int grow(struct jit_text *t)
{
	struct jit_text_ref *old = t->slots;
	size_t n_old = t->n_slots;

	t->slots = calloc(2 * n_old, sizeof(*t->slots));
	if (!t->slots) {
		t->slots = old;
		return -ENOMEM;
	}
	t->n_slots = 2 * n_old;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].len)
			*slot_of(t, t->block.data + old[i].at, old[i].len) = old[i];
	free(old);
	return 0;
}

int jit_text_add(struct jit_text *t, const char *s, size_t len, struct jit_text_ref *ret)
{
	char clean[JIT_MAX_NAME + 1];
	struct jit_text_ref *slot;
	int r;

	*ret = (struct jit_text_ref){ 0 };
	if (len == 0)
		return 0;
	if (len > JIT_MAX_NAME || !text_is_utf8(s, len)) {
		len = text_utf8(clean, sizeof(clean), s, len);
		s = clean;
	}
	if (len == 0)
		return 0;
	slot = slot_of(t, s, len);
	if (slot->len) {
		*ret = *slot;
		return 0;
	}
	if (len > JIT_MAX_TEXT_BYTES - t->block.len)
		return -ENOSPC;
	if (t->n_used >= t->n_slots / 4 * 3) {
		r = grow(t);
		if (r < 0)
			return r;
		slot = slot_of(t, s, len);
	}
	*ret = (struct jit_text_ref){ (uint32_t)t->block.len, (uint32_t)len };
	r = buf_append(&t->block, s, len);
	if (r < 0)
		return r;
	*slot = *ret;
	t->n_used++;
	return 0;
}

const char *jit_text_data(const struct jit_text *t)
{
	return (const char *)t->block.data;
}

size_t jit_text_len(const struct jit_text *t)
{
	return t->block.len;
}

size_t jit_text_bytes(const struct jit_text *t)
{
	return t->block.cap + t->n_slots * sizeof(*t->slots);
}
