/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_fences.c - threads that wait for fences. */
#include "gpu_fences.h"

#include <errno.h>
#include <stdlib.h>

#include "hash.h"

#define MAX_WAITS 4096 /* threads that wait at a time; no more is believed */

struct gpu_fences {
	struct hash *waits; /* by tid: struct gpu_wait */
};

int gpu_fences_new(struct gpu_fences **ret)
{
	struct gpu_fences *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	if (hash_new(&f->waits) < 0) {
		free(f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

void gpu_fences_free(struct gpu_fences *f)
{
	size_t pos = 0;
	void *wait;

	if (!f)
		return;
	while (hash_next(f->waits, &pos, NULL, NULL, &wait))
		free(wait);
	hash_free(f->waits);
	free(f);
}

unsigned gpu_fences_begin(struct gpu_fences *f, const struct gpu_wait *wait)
{
	struct gpu_wait *w = hash_get_u64(f->waits, wait->tid);

	if (w) {
		*w = *wait;
		return 1;
	}
	if (hash_count(f->waits) >= MAX_WAITS || !(w = malloc(sizeof(*w))))
		return 1;
	*w = *wait;
	if (hash_set_u64(f->waits, wait->tid, w) < 0) {
		free(w);
		return 1;
	}
	return 0;
}

static void take(struct gpu_fences *f, struct gpu_wait *w, struct gpu_wait *ret)
{
	*ret = *w;
	hash_remove_u64(f->waits, w->tid);
	free(w);
}

bool gpu_fences_end(struct gpu_fences *f, uint32_t tid, struct gpu_key key, struct gpu_wait *ret)
{
	struct gpu_wait *w = hash_get_u64(f->waits, tid);

	if (!w || w->key.context != key.context || w->key.seqno != key.seqno)
		return false;
	take(f, w, ret);
	return true;
}

bool gpu_fences_rest(struct gpu_fences *f, struct gpu_wait *ret)
{
	size_t pos = 0;
	void *w;

	if (!hash_next(f->waits, &pos, NULL, NULL, &w))
		return false;
	take(f, w, ret);
	return true;
}
