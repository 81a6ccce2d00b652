/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_heaps.c - the pieces of code in a HotSpot's code cache. */
#include "hotspot_heaps.h"

#include <errno.h>
#include <string.h>

#include "hotspot_memory.h"

#define MAX_HEAP_BYTES (4ull << 30)
#define MIN_LOG2       4 /* of a segment's size; 7 is usual */
#define MAX_LOG2       16

/* The head of a block and what we look at in a blob. */
#define BLOB_BYTES (HOTSPOT_MAX_OFFSET + 32)

/* Of the segment map that many are read at once. */
#define WINDOW 4096

struct heap {
	uint64_t low, high, segmap, n_segments;
	uint64_t log2;
	uint32_t number;
	uint64_t window_at; /* number of the first segment in it */
	size_t window_len;
	uint8_t window[WINDOW];
};

static bool fetch_heap(const struct hotspot_layout *l, struct hotspot_memory *m, uint64_t at,
		       struct heap *ret, struct hotspot_heap *bounds)
{
	uint64_t memory = at + l->fields[HOTSPOT_HEAP_MEMORY].at, map_high,
		 segmap = at + l->fields[HOTSPOT_HEAP_SEGMAP].at;

	if (!hotspot_fetch(l, m, HOTSPOT_SPACE_LOW, memory, &ret->low) ||
	    !hotspot_fetch(l, m, HOTSPOT_SPACE_HIGH, memory, &ret->high) ||
	    !hotspot_fetch(l, m, HOTSPOT_SPACE_END, memory, &bounds->end) ||
	    !hotspot_fetch(l, m, HOTSPOT_SPACE_LOW, segmap, &ret->segmap) ||
	    !hotspot_fetch(l, m, HOTSPOT_SPACE_HIGH, segmap, &map_high) ||
	    !hotspot_fetch(l, m, HOTSPOT_HEAP_LOG2, at, &ret->log2))
		return false;
	if (ret->log2 < MIN_LOG2 || ret->log2 > MAX_LOG2 || ret->low % 4096 || ret->low == 0 ||
	    ret->high < ret->low || bounds->end < ret->high ||
	    bounds->end - ret->low > MAX_HEAP_BYTES || map_high < ret->segmap)
		return false;
	bounds->start = ret->low;
	ret->n_segments = (ret->high - ret->low) >> ret->log2;
	if (ret->n_segments > map_high - ret->segmap)
		ret->n_segments = map_high - ret->segmap;
	ret->window_len = 0;
	return true;
}

/* Does a block begin with this segment? */
static bool begins_block(struct hotspot_memory *m, struct heap *h, uint64_t segment)
{
	if (segment < h->window_at || segment - h->window_at >= h->window_len) {
		uint64_t left = h->n_segments - segment;

		h->window_at = segment;
		h->window_len = hotspot_memory_some(m, h->segmap + segment, h->window,
						    left < WINDOW ? left : WINDOW);
		if (h->window_len == 0)
			return false;
	}
	return h->window[segment - h->window_at] == 0;
}

/* `object` is what lies at `at`. */
static struct hotspot_blob blob_of(const struct hotspot_layout *l, uint64_t at,
				   const uint8_t *object, size_t len)
{
	struct hotspot_blob b = {
		.name = hotspot_get(l, HOTSPOT_BLOB_NAME, object, len),
		.method = hotspot_get(l, HOTSPOT_NMETHOD_METHOD, object, len),
		.id = (uint32_t)hotspot_get(l, HOTSPOT_NMETHOD_ID, object, len),
		.frame_size = (int32_t)hotspot_get(l, HOTSPOT_BLOB_FRAME_SIZE, object, len),
		.frame_complete = (int32_t)hotspot_get(l, HOTSPOT_BLOB_FRAME_COMPLETE, object, len),
	};

	if (hotspot_has(l, HOTSPOT_BLOB_CODE_BEGIN))
		b.code = hotspot_get(l, HOTSPOT_BLOB_CODE_BEGIN, object, len);
	else
		b.code = at + hotspot_get(l, HOTSPOT_BLOB_CODE_OFFSET, object, len);
	if (hotspot_has(l, HOTSPOT_BLOB_CODE_END))
		b.end = hotspot_get(l, HOTSPOT_BLOB_CODE_END, object, len);
	else
		b.end = at + hotspot_get(l, HOTSPOT_BLOB_DATA_OFFSET, object, len);
	return b;
}

static int each_of_heap(const struct hotspot_layout *l, struct hotspot_memory *m, struct heap *h,
			hotspot_blob_fn *fn, void *ctx)
{
	uint8_t block[BLOB_BYTES];
	int r = 0;

	for (uint64_t segment = 0, n; r == 0 && segment < h->n_segments; segment += n) {
		uint64_t at = h->low + (segment << h->log2);
		struct hotspot_blob b;
		size_t len;

		if (!begins_block(m, h, segment))
			return 0;
		len = hotspot_memory_some(m, at, block, sizeof(block));
		n = hotspot_get(l, HOTSPOT_BLOCK_LENGTH, block, len);
		if (n == 0 || n > h->n_segments - segment)
			return 0;
		if (!hotspot_get(l, HOTSPOT_BLOCK_USED, block, len) || len <= l->block_size)
			continue;
		b = blob_of(l, at + l->block_size, block + l->block_size, len - l->block_size);
		b.heap = h->number;
		/* One that is just being made makes no sense yet. */
		if (b.code > at && b.code < b.end && b.end <= at + (n << h->log2))
			r = fn(ctx, &b);
	}
	return r;
}

static bool heap_at(const struct hotspot_layout *l, struct hotspot_memory *m, uint64_t i,
		    uint64_t data, uint64_t *ret)
{
	if (!hotspot_has(l, HOTSPOT_HEAPS))
		return hotspot_fetch(l, m, HOTSPOT_HEAP, 0, ret);
	return hotspot_memory_read(m, data + i * sizeof(*ret), ret, sizeof(*ret));
}

int hotspot_heaps_each(const struct hotspot_layout *l, struct hotspot_memory *m,
		       struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS], uint32_t *ret_n,
		       hotspot_blob_fn *fn, void *ctx)
{
	uint64_t array, data = 0, n = 1, at;
	struct heap h = { 0 };
	int r = 0;

	*ret_n = 0;
	if (hotspot_has(l, HOTSPOT_HEAPS) &&
	    (!hotspot_fetch(l, m, HOTSPOT_HEAPS, 0, &array) || array == 0 ||
	     !hotspot_fetch(l, m, HOTSPOT_ARRAY_LEN, array, &n) ||
	     !hotspot_fetch(l, m, HOTSPOT_ARRAY_DATA, array, &data)))
		return -EFAULT;
	if (n == 0 || n > HOTSPOT_MAX_HEAPS)
		return -EFAULT;
	for (uint64_t i = 0; i < n && r == 0; i++) {
		if (!heap_at(l, m, i, data, &at) || at == 0 ||
		    !fetch_heap(l, m, at, &h, &heaps[*ret_n]))
			return -EFAULT;
		h.number = (*ret_n)++;
		r = each_of_heap(l, m, &h, fn, ctx);
	}
	return r;
}
