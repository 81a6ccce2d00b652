/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot_heaps.h - the pieces of code ("code blobs") in a HotSpot's code cache.
 *
 * A heap is a row of blocks, each a multiple of a segment long; a byte for each
 * segment (the segment map) says where blocks begin. Compilers put new ones in
 * and the sweeper takes old ones out while we read: what does not fit together
 * ends a heap, and is there the next time.
 */
#ifndef HOTSPOT_HEAPS_H
#define HOTSPOT_HEAPS_H

#include <stdint.h>

#include "hotspot_layout.h"

#define HOTSPOT_MAX_HEAPS 8 /* non-nmethods, profiled, non-profiled */

struct hotspot_blob {
	uint64_t code, end;
	uint64_t name;		/* where its text is */
	uint64_t method;	/* if it is an nmethod, else anything */
	uint32_t id;		/* of the compilation, likewise */
	int32_t frame_size;	/* words; 0 or less: not one of constant size */
	int32_t frame_complete; /* offset in the code; -1: nowhere */
	uint32_t heap;
};

/* From its first committed byte to the end of what is reserved for it. */
struct hotspot_heap {
	uint64_t start, end;
};

/*
 * Calls `fn` for each blob that is in use, by address within a heap, until it
 * returns non-zero, which is returned. -EFAULT: the heaps cannot be read.
 */
typedef int hotspot_blob_fn(void *ctx, const struct hotspot_blob *blob);
int hotspot_heaps_each(const struct hotspot_layout *l, struct hotspot_memory *m,
		       struct hotspot_heap heaps[HOTSPOT_MAX_HEAPS], uint32_t *ret_n,
		       hotspot_blob_fn *fn, void *ctx);

#endif
