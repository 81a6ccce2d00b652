/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hotspot_layout.h - where in its objects a HotSpot keeps what we need, as it
 * says itself.
 *
 * libjvm.so exports tables for debuggers ("vmStructs"): the name of each type
 * and field with its offset, and where static fields are. No version is known
 * here: what is needed is looked up by name, and a JVM that lacks a name is left
 * alone.
 */
#ifndef HOTSPOT_LAYOUT_H
#define HOTSPOT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hotspot_memory;

/* Variables of libjvm.so by which the tables are read. */
enum hotspot_symbol {
	HOTSPOT_STRUCTS,
	HOTSPOT_STRUCT_STRIDE,
	HOTSPOT_STRUCT_TYPE,
	HOTSPOT_STRUCT_FIELD,
	HOTSPOT_STRUCT_TYPE_STRING,
	HOTSPOT_STRUCT_STATIC,
	HOTSPOT_STRUCT_OFFSET,
	HOTSPOT_STRUCT_ADDRESS,
	HOTSPOT_TYPES,
	HOTSPOT_TYPE_STRIDE,
	HOTSPOT_TYPE_NAME,
	HOTSPOT_TYPE_SIZE,
	HOTSPOT_N_SYMBOLS
};
extern const char *const hotspot_symbol_names[HOTSPOT_N_SYMBOLS];

enum hotspot_slot {
	HOTSPOT_HEAPS, /* a growable array of code heaps; or, in old ones, */
	HOTSPOT_HEAP,  /* the only one */
	HOTSPOT_ARRAY_LEN,
	HOTSPOT_ARRAY_DATA,
	HOTSPOT_HEAP_MEMORY,
	HOTSPOT_HEAP_SEGMAP,
	HOTSPOT_HEAP_LOG2,
	HOTSPOT_SPACE_LOW,
	HOTSPOT_SPACE_HIGH,
	HOTSPOT_SPACE_END,
	HOTSPOT_BLOCK_LENGTH,
	HOTSPOT_BLOCK_USED,
	HOTSPOT_BLOB_NAME,
	HOTSPOT_BLOB_FRAME_SIZE,
	HOTSPOT_BLOB_FRAME_COMPLETE,
	HOTSPOT_BLOB_CODE_BEGIN, /* an address; or, in others, */
	HOTSPOT_BLOB_CODE_OFFSET,
	HOTSPOT_BLOB_CODE_END,
	HOTSPOT_BLOB_DATA_OFFSET,
	HOTSPOT_NMETHOD_METHOD,
	HOTSPOT_NMETHOD_ID,
	HOTSPOT_METHOD_CONST,
	HOTSPOT_CONST_POOL,
	HOTSPOT_CONST_NAME,
	HOTSPOT_POOL_HOLDER,
	HOTSPOT_KLASS_NAME,
	HOTSPOT_SYMBOL_LENGTH,
	HOTSPOT_SYMBOL_BODY,
	HOTSPOT_N_SLOTS
};

struct hotspot_field {
	uint64_t at;  /* offset in the object, or the address of a static one; */
	uint8_t size; /* 0: there is none */
	bool is_signed;
};

struct hotspot_layout {
	struct hotspot_field fields[HOTSPOT_N_SLOTS];
	uint64_t block_size, pool_size; /* HeapBlock, ConstantPool */
};

/* In one object, so that its first bytes can be read in one go. */
#define HOTSPOT_MAX_OFFSET 480

/*
 * `symbols` are addresses in the process. -EFAULT: the tables cannot be read, or make no
 * sense (yet); -ENODATA: something is missing, and what that is in `why`.
 */
#define HOTSPOT_WHY_MAX 64
int hotspot_layout_read(struct hotspot_memory *m, const uint64_t symbols[HOTSPOT_N_SYMBOLS],
			struct hotspot_layout *ret, char why[HOTSPOT_WHY_MAX]);

static inline bool hotspot_has(const struct hotspot_layout *l, enum hotspot_slot slot)
{
	return l->fields[slot].size > 0;
}

/* A field of an object of which `len` bytes were read; 0 if it is not among them. */
uint64_t hotspot_get(const struct hotspot_layout *l, enum hotspot_slot slot, const uint8_t *object,
		     size_t len);
/* A field of the object at `addr`, or a static one (addr 0). False: cannot be read. */
bool hotspot_fetch(const struct hotspot_layout *l, struct hotspot_memory *m, enum hotspot_slot slot,
		   uint64_t addr, uint64_t *ret);

#endif
