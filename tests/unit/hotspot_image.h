/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_image.h - the memory of a small HotSpot, made up: its tables and its code cache. */
#ifndef HOTSPOT_IMAGE_H
#define HOTSPOT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hotspot/hotspot_layout.h"
#include "hotspot/hotspot_memory.h"

#define IMAGE_BASE  0x200000000000ull /* not in the shadow of a sanitizer */
#define IMAGE_BYTES (256u << 10)

/* Code heaps, the second half of it; a segment has 128 bytes. */
#define IMAGE_HEAP_BYTES 0x8000u
#define IMAGE_N_HEAPS	 2
#define IMAGE_HEAP(i)	 (IMAGE_BASE + IMAGE_BYTES / 2 + (i)*IMAGE_HEAP_BYTES)

enum image_version {
	IMAGE_17, /* addresses of code, long block lengths, CompiledMethod */
	IMAGE_25, /* offsets of code, short ones, nmethod */
};

struct image {
	enum image_version version;
	uint64_t symbols[HOTSPOT_N_SYMBOLS];
	uint64_t at;			 /* free from here on */
	uint64_t heap_at[IMAGE_N_HEAPS]; /* likewise, in a heap */
	uint64_t entry;			 /* the next of the structs */
	uint64_t missing;		 /* bits of entries that are left out */
	unsigned n_entries;
	unsigned n_reads;
	uint8_t bytes[IMAGE_BYTES];
};

/* Without a code blob in it. `missing`: which fields its tables leave out, a bit each. */
void image_init(struct image *image, enum image_version version, uint64_t missing);
struct hotspot_memory image_memory(struct image *image);

void image_put(struct image *image, uint64_t addr, const void *data, size_t len);

/* A Method of that class ("java/lang/String"); its address. */
uint64_t image_method(struct image *image, const char *class_name, const char *name);

struct image_blob {
	const char *name;
	int frame_size, frame_complete;
	uint64_t method;
	int id;
	const void *code;
	size_t size;
};
/* Puts it into a heap; the address of its code. */
uint64_t image_blob(struct image *image, unsigned heap, const struct image_blob *blob);
/* The blob whose code is there is gone; its block is free. */
void image_free_blob(struct image *image, uint64_t code);

#endif
