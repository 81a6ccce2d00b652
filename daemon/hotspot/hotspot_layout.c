/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_layout.c - where in its objects a HotSpot keeps what we need. */
#include "hotspot_layout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hotspot_memory.h"

/* JDK 17 has 788 fields and 768 types; an entry of the tables has 48 bytes. */
#define MAX_ENTRIES    8192
#define MAX_ENTRY_SIZE 256
#define MAX_NAME       64

const char *const hotspot_symbol_names[HOTSPOT_N_SYMBOLS] = {
	[HOTSPOT_STRUCTS] = "gHotSpotVMStructs",
	[HOTSPOT_STRUCT_STRIDE] = "gHotSpotVMStructEntryArrayStride",
	[HOTSPOT_STRUCT_TYPE] = "gHotSpotVMStructEntryTypeNameOffset",
	[HOTSPOT_STRUCT_FIELD] = "gHotSpotVMStructEntryFieldNameOffset",
	[HOTSPOT_STRUCT_TYPE_STRING] = "gHotSpotVMStructEntryTypeStringOffset",
	[HOTSPOT_STRUCT_STATIC] = "gHotSpotVMStructEntryIsStaticOffset",
	[HOTSPOT_STRUCT_OFFSET] = "gHotSpotVMStructEntryOffsetOffset",
	[HOTSPOT_STRUCT_ADDRESS] = "gHotSpotVMStructEntryAddressOffset",
	[HOTSPOT_TYPES] = "gHotSpotVMTypes",
	[HOTSPOT_TYPE_STRIDE] = "gHotSpotVMTypeEntryArrayStride",
	[HOTSPOT_TYPE_NAME] = "gHotSpotVMTypeEntryTypeNameOffset",
	[HOTSPOT_TYPE_SIZE] = "gHotSpotVMTypeEntrySizeOffset",
};

/* Names have moved from version to version; what they mean has not. */
static const struct {
	enum hotspot_slot slot;
	const char *type, *field;
} wanted[] = {
	{ HOTSPOT_HEAPS, "CodeCache", "_heaps" },
	{ HOTSPOT_HEAP, "CodeCache", "_heap" },		    /* up to 8 */
	{ HOTSPOT_ARRAY_LEN, "GrowableArrayBase", "_len" }, /* from 16 on */
	{ HOTSPOT_ARRAY_LEN, "GenericGrowableArray", "_len" },
	{ HOTSPOT_ARRAY_DATA, "GrowableArray<int>", "_data" },
	{ HOTSPOT_HEAP_MEMORY, "CodeHeap", "_memory" },
	{ HOTSPOT_HEAP_SEGMAP, "CodeHeap", "_segmap" },
	{ HOTSPOT_HEAP_LOG2, "CodeHeap", "_log2_segment_size" },
	{ HOTSPOT_SPACE_LOW, "VirtualSpace", "_low" },
	{ HOTSPOT_SPACE_HIGH, "VirtualSpace", "_high" },
	{ HOTSPOT_SPACE_END, "VirtualSpace", "_high_boundary" },
	{ HOTSPOT_BLOCK_LENGTH, "HeapBlock::Header", "_length" },
	{ HOTSPOT_BLOCK_USED, "HeapBlock::Header", "_used" },
	{ HOTSPOT_BLOB_NAME, "CodeBlob", "_name" },
	{ HOTSPOT_BLOB_FRAME_SIZE, "CodeBlob", "_frame_size" },
	{ HOTSPOT_BLOB_FRAME_COMPLETE, "CodeBlob", "_frame_complete_offset" },
	{ HOTSPOT_BLOB_CODE_BEGIN, "CodeBlob", "_code_begin" }, /* 9 to 22 */
	{ HOTSPOT_BLOB_CODE_OFFSET, "CodeBlob", "_code_offset" },
	{ HOTSPOT_BLOB_CODE_END, "CodeBlob", "_code_end" },
	{ HOTSPOT_BLOB_DATA_OFFSET, "CodeBlob", "_data_offset" },
	{ HOTSPOT_NMETHOD_METHOD, "CompiledMethod", "_method" }, /* 9 to 22 */
	{ HOTSPOT_NMETHOD_METHOD, "nmethod", "_method" },
	{ HOTSPOT_NMETHOD_ID, "nmethod", "_compile_id" },
	{ HOTSPOT_METHOD_CONST, "Method", "_constMethod" },
	{ HOTSPOT_CONST_POOL, "ConstMethod", "_constants" },
	{ HOTSPOT_CONST_NAME, "ConstMethod", "_name_index" },
	{ HOTSPOT_POOL_HOLDER, "ConstantPool", "_pool_holder" },
	{ HOTSPOT_KLASS_NAME, "Klass", "_name" },
	{ HOTSPOT_SYMBOL_LENGTH, "Symbol", "_length" },
	{ HOTSPOT_SYMBOL_BODY, "Symbol", "_body[0]" },
	{ HOTSPOT_SYMBOL_BODY, "Symbol", "_body" },
};
#define N_WANTED (sizeof(wanted) / sizeof(wanted[0]))

/* What is no pointer. */
static const struct {
	const char *name;
	uint8_t size;
	bool is_signed;
} integers[] = {
	{ "int", 4, true },	      { "jint", 4, true },	{ "int16_t", 2, true },
	{ "short", 2, true },	      { "u1", 1, false },	{ "u2", 2, false },
	{ "u4", 4, false },	      { "jushort", 2, false },	{ "unsigned short", 2, false },
	{ "unsigned int", 4, false }, { "uint16_t", 2, false }, { "uint32_t", 4, false },
	{ "size_t", 8, false },	      { "bool", 1, false },
};

static struct hotspot_field field_of(const char *type, uint64_t at)
{
	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
		if (strcmp(type, integers[i].name) == 0)
			return (struct hotspot_field){ at, integers[i].size,
						       integers[i].is_signed };
	/* A pointer, or an object that begins there. */
	return (struct hotspot_field){ at, 8, false };
}

/* ---- the tables ---- */

static uint64_t word_at(const uint8_t *entry, uint64_t at)
{
	uint64_t word;

	memcpy(&word, entry + at, sizeof(word));
	return word;
}

/* The table's address, its entries' size, and the offsets in them that follow. */
struct table {
	uint64_t at, stride;
	uint64_t offsets[HOTSPOT_N_SYMBOLS];
};

static bool read_table(struct hotspot_memory *m, const uint64_t symbols[HOTSPOT_N_SYMBOLS],
		       enum hotspot_symbol table, enum hotspot_symbol last, struct table *ret)
{
	if (!hotspot_memory_read(m, symbols[table], &ret->at, sizeof(ret->at)) ||
	    !hotspot_memory_read(m, symbols[table + 1], &ret->stride, sizeof(ret->stride)))
		return false;
	if (ret->stride < sizeof(uint64_t) || ret->stride > MAX_ENTRY_SIZE)
		return false;
	for (int i = table + 2; i <= (int)last; i++)
		if (!hotspot_memory_read(m, symbols[i], &ret->offsets[i], sizeof(uint64_t)) ||
		    ret->offsets[i] > ret->stride - sizeof(uint64_t))
			return false;
	return true;
}

static void take_field(struct hotspot_memory *m, const struct table *t, const uint8_t *entry,
		       const char *type, struct hotspot_layout *ret)
{
	bool is_static = word_at(entry, t->offsets[HOTSPOT_STRUCT_STATIC]) & 0xffffffff;
	char field[MAX_NAME] = "", type_string[MAX_NAME] = "";
	uint64_t at = word_at(
		entry, t->offsets[is_static ? HOTSPOT_STRUCT_ADDRESS : HOTSPOT_STRUCT_OFFSET]);

	(void)hotspot_memory_string(m, word_at(entry, t->offsets[HOTSPOT_STRUCT_FIELD]), field,
				    sizeof(field));
	for (size_t i = 0; i < N_WANTED; i++) {
		if (strcmp(type, wanted[i].type) != 0 || strcmp(field, wanted[i].field) != 0 ||
		    hotspot_has(ret, wanted[i].slot) || (!is_static && at > HOTSPOT_MAX_OFFSET))
			continue;
		(void)hotspot_memory_string(m,
					    word_at(entry, t->offsets[HOTSPOT_STRUCT_TYPE_STRING]),
					    type_string, sizeof(type_string));
		ret->fields[wanted[i].slot] = field_of(type_string, at);
	}
}

static bool is_wanted(const char *type)
{
	for (size_t i = 0; i < N_WANTED; i++)
		if (strcmp(type, wanted[i].type) == 0)
			return true;
	return false;
}

static bool read_structs(struct hotspot_memory *m, const uint64_t symbols[HOTSPOT_N_SYMBOLS],
			 struct hotspot_layout *ret)
{
	uint8_t entry[MAX_ENTRY_SIZE];
	char type[MAX_NAME] = "";
	uint64_t name, last = 0;
	struct table t = { 0 };

	if (!read_table(m, symbols, HOTSPOT_STRUCTS, HOTSPOT_STRUCT_ADDRESS, &t))
		return false;
	for (unsigned i = 0; i < MAX_ENTRIES; i++) {
		if (!hotspot_memory_read(m, t.at + i * t.stride, entry, t.stride))
			return false;
		name = word_at(entry, t.offsets[HOTSPOT_STRUCT_TYPE]);
		if (!name)
			return true;
		if (name != last && !hotspot_memory_string(m, name, type, sizeof(type)))
			return false;
		last = name;
		if (is_wanted(type))
			take_field(m, &t, entry, type, ret);
	}
	return false;
}

static bool read_types(struct hotspot_memory *m, const uint64_t symbols[HOTSPOT_N_SYMBOLS],
		       struct hotspot_layout *ret)
{
	uint8_t entry[MAX_ENTRY_SIZE];
	char type[MAX_NAME];
	struct table t = { 0 };
	uint64_t name;

	if (!read_table(m, symbols, HOTSPOT_TYPES, HOTSPOT_TYPE_SIZE, &t))
		return false;
	for (unsigned i = 0; i < MAX_ENTRIES; i++) {
		if (!hotspot_memory_read(m, t.at + i * t.stride, entry, t.stride))
			return false;
		name = word_at(entry, t.offsets[HOTSPOT_TYPE_NAME]);
		if (!name)
			return true;
		if (!hotspot_memory_string(m, name, type, sizeof(type)))
			return false;
		if (strcmp(type, "HeapBlock") == 0)
			ret->block_size = word_at(entry, t.offsets[HOTSPOT_TYPE_SIZE]);
		else if (strcmp(type, "ConstantPool") == 0)
			ret->pool_size = word_at(entry, t.offsets[HOTSPOT_TYPE_SIZE]);
	}
	return false;
}

/* ---- is all there? ---- */

static bool has_other(const struct hotspot_layout *l, enum hotspot_slot slot)
{
	switch (slot) {
	case HOTSPOT_HEAPS:
		return hotspot_has(l, HOTSPOT_HEAP);
	case HOTSPOT_HEAP:
	case HOTSPOT_BLOB_CODE_OFFSET:
	case HOTSPOT_BLOB_DATA_OFFSET:
		return true; /* the one before it was looked for */
	case HOTSPOT_ARRAY_LEN:
	case HOTSPOT_ARRAY_DATA:
		return !hotspot_has(l, HOTSPOT_HEAPS);
	case HOTSPOT_BLOB_CODE_BEGIN:
		return hotspot_has(l, HOTSPOT_BLOB_CODE_OFFSET);
	case HOTSPOT_BLOB_CODE_END:
		return hotspot_has(l, HOTSPOT_BLOB_DATA_OFFSET);
	default:
		return false;
	}
}

static int check_all(const struct hotspot_layout *l, char why[HOTSPOT_WHY_MAX])
{
	for (size_t i = 0; i < N_WANTED; i++) {
		if (hotspot_has(l, wanted[i].slot) || has_other(l, wanted[i].slot))
			continue;
		snprintf(why, HOTSPOT_WHY_MAX, "%s::%s", wanted[i].type, wanted[i].field);
		return -ENODATA;
	}
	if (l->block_size == 0 || l->block_size > 64) {
		snprintf(why, HOTSPOT_WHY_MAX, "the size of HeapBlock");
		return -ENODATA;
	}
	if (l->pool_size < 16 || l->pool_size > 4096) {
		snprintf(why, HOTSPOT_WHY_MAX, "the size of ConstantPool");
		return -ENODATA;
	}
	return 0;
}

int hotspot_layout_read(struct hotspot_memory *m, const uint64_t symbols[HOTSPOT_N_SYMBOLS],
			struct hotspot_layout *ret, char why[HOTSPOT_WHY_MAX])
{
	struct hotspot_layout l = { 0 };
	int r;

	if (!read_structs(m, symbols, &l) || !read_types(m, symbols, &l))
		return -EFAULT;
	r = check_all(&l, why);
	if (r == 0)
		*ret = l;
	return r;
}

/* ---- fields ---- */

static uint64_t value_of(const struct hotspot_field *f, const uint8_t bytes[8])
{
	uint64_t value = 0;

	memcpy(&value, bytes, f->size);
	if (f->is_signed && f->size < 8 && value >> (8 * f->size - 1))
		value |= ~0ull << (8 * f->size);
	return value;
}

uint64_t hotspot_get(const struct hotspot_layout *l, enum hotspot_slot slot, const uint8_t *object,
		     size_t len)
{
	const struct hotspot_field *f = &l->fields[slot];
	uint8_t bytes[8] = { 0 };

	if (f->size == 0 || f->at > len || f->size > len - f->at)
		return 0;
	memcpy(bytes, object + f->at, f->size);
	return value_of(f, bytes);
}

bool hotspot_fetch(const struct hotspot_layout *l, struct hotspot_memory *m, enum hotspot_slot slot,
		   uint64_t addr, uint64_t *ret)
{
	const struct hotspot_field *f = &l->fields[slot];
	uint8_t bytes[8] = { 0 };

	if (f->size == 0 || !hotspot_memory_read(m, addr + f->at, bytes, f->size))
		return false;
	*ret = value_of(f, bytes);
	return true;
}
