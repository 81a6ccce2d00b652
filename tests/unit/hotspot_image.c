/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot_image.c - the memory of a small HotSpot, made up. */
#include "hotspot_image.h"

#include <string.h>

#define SEGMENT	    128
#define MAX_FIELDS  40
#define STRIDE	    48
#define TYPE_STRIDE 40

/* Offsets in the objects, as JDK 17 and 25 have them. */
struct offsets {
	unsigned block_size, name, frame_complete, frame_size, begin, end, method, id, header;
};
static const struct offsets all_offsets[] = {
	[IMAGE_17] = { 16, 96, 20, 28, 32, 40, 112, 304, 352 },
	[IMAGE_25] = { 8, 8, 54, 44, 36, 40, 80, 212, 224 },
};

static const struct offsets *offsets_of(const struct image *image)
{
	return &all_offsets[image->version];
}

void image_put(struct image *image, uint64_t addr, const void *data, size_t len)
{
	if (addr >= IMAGE_BASE && addr - IMAGE_BASE <= IMAGE_BYTES &&
	    len <= IMAGE_BYTES - (addr - IMAGE_BASE))
		memcpy(image->bytes + (addr - IMAGE_BASE), data, len);
}

static void put64(struct image *image, uint64_t addr, uint64_t value)
{
	image_put(image, addr, &value, sizeof(value));
}

static void put32(struct image *image, uint64_t addr, uint32_t value)
{
	image_put(image, addr, &value, sizeof(value));
}

static void put16(struct image *image, uint64_t addr, unsigned value)
{
	uint16_t v = (uint16_t)value;

	image_put(image, addr, &v, sizeof(v));
}

static uint64_t take(struct image *image, size_t len)
{
	uint64_t at = image->at;

	image->at += (len + 7) & ~7ull;
	return at;
}

static uint64_t text(struct image *image, const char *s)
{
	uint64_t at = take(image, strlen(s) + 1);

	image_put(image, at, s, strlen(s) + 1);
	return at;
}

/* ---- tables ---- */

/* One of vmStructs; `address` 0: not static. */
static void field(struct image *image, const char *type, const char *name, const char *type_string,
		  uint64_t offset, uint64_t address)
{
	uint64_t e = image->entry;

	if (image->missing >> image->n_entries++ & 1)
		return;
	image->entry += STRIDE;
	put64(image, e, text(image, type));
	put64(image, e + 8, text(image, name));
	put64(image, e + 16, text(image, type_string));
	put32(image, e + 24, address != 0);
	put64(image, e + 32, offset);
	put64(image, e + 40, address);
}

static void type(struct image *image, uint64_t *entry, const char *name, uint64_t size)
{
	put64(image, *entry, text(image, name));
	put64(image, *entry + 24, size);
	*entry += TYPE_STRIDE;
}

static uint64_t variable(struct image *image, enum hotspot_symbol symbol, uint64_t value)
{
	image->symbols[symbol] = take(image, 8);
	put64(image, image->symbols[symbol], value);
	return value;
}

static void fields_of_blobs(struct image *image)
{
	const struct offsets *o = offsets_of(image);

	field(image, "CodeBlob", "_name", "const char*", o->name, 0);
	field(image, "CodeBlob", "_frame_size", "int", o->frame_size, 0);
	if (image->version == IMAGE_17) {
		field(image, "HeapBlock::Header", "_length", "size_t", 0, 0);
		field(image, "HeapBlock::Header", "_used", "bool", 8, 0);
		field(image, "CodeBlob", "_frame_complete_offset", "int", o->frame_complete, 0);
		field(image, "CodeBlob", "_code_begin", "address", o->begin, 0);
		field(image, "CodeBlob", "_code_end", "address", o->end, 0);
		field(image, "CompiledMethod", "_method", "Method*", o->method, 0);
	} else {
		field(image, "HeapBlock::Header", "_length", "uint32_t", 0, 0);
		field(image, "HeapBlock::Header", "_used", "bool", 4, 0);
		field(image, "CodeBlob", "_frame_complete_offset", "int16_t", o->frame_complete, 0);
		field(image, "CodeBlob", "_code_offset", "int", o->begin, 0);
		field(image, "CodeBlob", "_data_offset", "int", o->end, 0);
		field(image, "nmethod", "_method", "Method*", o->method, 0);
	}
	field(image, "nmethod", "_compile_id", "int", o->id, 0);
}

static void fields(struct image *image, uint64_t heaps)
{
	field(image, "Unrelated", "_heaps", "int", 0, 0);
	field(image, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 0, heaps);
	field(image, "GrowableArrayBase", "_len", "int", 0, 0);
	field(image, "GrowableArray<int>", "_data", "int*", 8, 0);
	field(image, "CodeHeap", "_memory", "VirtualSpace", 8, 0);
	field(image, "CodeHeap", "_segmap", "VirtualSpace", 120, 0);
	field(image, "CodeHeap", "_log2_segment_size", "int", 256, 0);
	field(image, "VirtualSpace", "_high_boundary", "char*", 8, 0);
	field(image, "VirtualSpace", "_low", "char*", 16, 0);
	field(image, "VirtualSpace", "_high", "char*", 24, 0);
	fields_of_blobs(image);
	field(image, "Method", "_constMethod", "ConstMethod*", 8, 0);
	field(image, "ConstMethod", "_constants", "ConstantPool*", 8, 0);
	field(image, "ConstMethod", "_name_index", "u2", 34, 0);
	field(image, "ConstantPool", "_pool_holder", "InstanceKlass*", 24, 0);
	field(image, "Klass", "_name", "Symbol*", 24, 0);
	field(image, "Symbol", "_length", "u2", 4, 0);
	field(image, "Symbol", "_body[0]", "u1", 6, 0);
}

/* ---- heaps ---- */

static uint64_t heap(struct image *image, unsigned i)
{
	uint64_t h = take(image, 264), segmap = take(image, IMAGE_HEAP_BYTES / SEGMENT),
		 low = IMAGE_HEAP(i);

	put64(image, h + 8 + 8, low + 0x100000); /* more is reserved */
	put64(image, h + 8 + 16, low);
	put64(image, h + 8 + 24, low + IMAGE_HEAP_BYTES);
	put64(image, h + 120 + 16, segmap);
	put64(image, h + 120 + 24, segmap + IMAGE_HEAP_BYTES / SEGMENT);
	put32(image, h + 256, 7);
	memset(image->bytes + (segmap - IMAGE_BASE), 0xff, IMAGE_HEAP_BYTES / SEGMENT);
	image->heap_at[i] = low;
	return h;
}

static uint64_t segmap_of(struct image *image, unsigned i)
{
	uint64_t array, data, h, segmap;

	/* The way that the reader goes. */
	memcpy(&array, image->bytes + 0x1000, 8);
	memcpy(&data, image->bytes + (array - IMAGE_BASE) + 8, 8);
	memcpy(&h, image->bytes + (data - IMAGE_BASE) + 8 * i, 8);
	memcpy(&segmap, image->bytes + (h - IMAGE_BASE) + 120 + 16, 8);
	return segmap;
}

void image_init(struct image *image, enum image_version version, uint64_t missing)
{
	uint64_t types, structs, array, data;

	memset(image, 0, sizeof(*image));
	image->version = version;
	image->missing = missing;
	image->at = IMAGE_BASE + 0x1008; /* the pointer to the array of heaps is there */
	structs = take(image, MAX_FIELDS * STRIDE);
	types = take(image, 8 * TYPE_STRIDE);
	variable(image, HOTSPOT_STRUCTS, structs);
	variable(image, HOTSPOT_STRUCT_STRIDE, STRIDE);
	variable(image, HOTSPOT_STRUCT_TYPE, 0);
	variable(image, HOTSPOT_STRUCT_FIELD, 8);
	variable(image, HOTSPOT_STRUCT_TYPE_STRING, 16);
	variable(image, HOTSPOT_STRUCT_STATIC, 24);
	variable(image, HOTSPOT_STRUCT_OFFSET, 32);
	variable(image, HOTSPOT_STRUCT_ADDRESS, 40);
	variable(image, HOTSPOT_TYPES, types);
	variable(image, HOTSPOT_TYPE_STRIDE, TYPE_STRIDE);
	variable(image, HOTSPOT_TYPE_NAME, 0);
	variable(image, HOTSPOT_TYPE_SIZE, 24);
	image->entry = structs;
	fields(image, IMAGE_BASE + 0x1000);
	type(image, &types, "int", 4);
	type(image, &types, "HeapBlock", offsets_of(image)->block_size);
	type(image, &types, "ConstantPool", 72);

	array = take(image, 16);
	data = take(image, 8 * IMAGE_N_HEAPS);
	put64(image, IMAGE_BASE + 0x1000, array);
	put32(image, array, IMAGE_N_HEAPS);
	put64(image, array + 8, data);
	for (unsigned i = 0; i < IMAGE_N_HEAPS; i++)
		put64(image, data + 8 * i, heap(image, i));
}

static ssize_t read_image(void *ctx, void *dst, size_t len, uint64_t addr)
{
	struct image *image = ctx;
	uint64_t at = addr - IMAGE_BASE;

	image->n_reads++;
	if (addr < IMAGE_BASE || at >= IMAGE_BYTES)
		return -1;
	if (len > IMAGE_BYTES - at)
		len = IMAGE_BYTES - at;
	memcpy(dst, image->bytes + at, len);
	return (ssize_t)len;
}

struct hotspot_memory image_memory(struct image *image)
{
	return (struct hotspot_memory){ .read = read_image, .ctx = image, .n_left = 1u << 20 };
}

/* ---- what is in them ---- */

static uint64_t symbol(struct image *image, const char *s)
{
	uint64_t at = take(image, 6 + strlen(s));

	put16(image, at + 4, (unsigned)strlen(s));
	image_put(image, at + 6, s, strlen(s));
	return at;
}

uint64_t image_method(struct image *image, const char *class_name, const char *name)
{
	uint64_t method = take(image, 88), constants = take(image, 56), klass = take(image, 32),
		 pool = take(image, 72 + 8 * 4);

	put64(image, method + 8, constants);
	put64(image, constants + 8, pool);
	put16(image, constants + 34, 3);
	put64(image, pool + 24, klass);
	put64(image, pool + 72 + 8 * 3, symbol(image, name));
	put64(image, klass + 24, symbol(image, class_name));
	return method;
}

uint64_t image_blob(struct image *image, unsigned heap_number, const struct image_blob *blob)
{
	const struct offsets *o = offsets_of(image);
	uint64_t block = image->heap_at[heap_number], at = block + o->block_size,
		 code = at + o->header, end = code + blob->size, segmap, first;
	uint64_t n = (end - block + SEGMENT - 1) / SEGMENT;

	if (block + n * SEGMENT > IMAGE_HEAP(heap_number) + IMAGE_HEAP_BYTES)
		return 0;
	image->heap_at[heap_number] += n * SEGMENT;
	segmap = segmap_of(image, heap_number);
	first = (block - IMAGE_HEAP(heap_number)) / SEGMENT;
	for (uint64_t i = 0; i < n; i++)
		image_put(image, segmap + first + i, &(uint8_t){ (uint8_t)(i < 254 ? i : 254) }, 1);
	put64(image, block, 0);
	put32(image, block, (uint32_t)n);
	image_put(image, block + o->block_size / 2, &(uint8_t){ 1 }, 1);
	put64(image, at + o->name, text(image, blob->name));
	put32(image, at + o->frame_size, (uint32_t)blob->frame_size);
	put64(image, at + o->method, blob->method);
	put32(image, at + o->id, (uint32_t)blob->id);
	if (image->version == IMAGE_17) {
		put32(image, at + o->frame_complete, (uint32_t)blob->frame_complete);
		put64(image, at + o->begin, code);
		put64(image, at + o->end, end);
	} else {
		put16(image, at + o->frame_complete, (unsigned)blob->frame_complete & 0xffff);
		put32(image, at + o->begin, o->header);
		put32(image, at + o->end, (uint32_t)(end - at));
	}
	image_put(image, code, blob->code, blob->size);
	return code;
}

void image_free_blob(struct image *image, uint64_t code)
{
	const struct offsets *o = offsets_of(image);
	uint64_t block = code - o->header - o->block_size;

	image_put(image, block + o->block_size / 2, &(uint8_t){ 0 }, 1);
}
