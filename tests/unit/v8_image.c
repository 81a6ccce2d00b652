/* SPDX-License-Identifier: Apache-2.0 */
/* v8_image.c - the memory of a process that runs V8, for tests. */
#include "v8_image.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static uint8_t memory[IMAGE_BYTES] __attribute__((aligned(8)));
static size_t used;
static struct v8_layout layout;
struct v8_memory v8_image;
int v8_image_major = 11, v8_image_minor = 3;

struct v8_facts v8_image_facts(void)
{
	struct v8_facts f = {
		.values = {
			[V8_MAJOR] = 11,
			[V8_MINOR] = 3,
			[V8_TAGGED_SIZE] = 8,
			[V8_HEAP_OBJECT_TAG] = 1,
			[V8_HEAP_OBJECT_TAG_MASK] = 3,
			[V8_SMI_TAG_MASK] = 1,
			[V8_SMI_VALUE_SHIFT] = 1,
			[V8_SMI_SHIFT_SIZE] = 31,
			[V8_FP_CONTEXT] = -8,
			[V8_FP_FUNCTION] = -16,
			[V8_OBJECT_MAP] = 0,
			[V8_MAP_TYPE] = 12,
			[V8_FUNCTION_SHARED] = 24,
			[V8_SHARED_NAME] = 16,
			[V8_SHARED_SCRIPT] = 32,
			[V8_SHARED_FLAGS] = 48,
			[V8_SCRIPT_SOURCE] = 8,
			[V8_SCRIPT_NAME] = 16,
			[V8_SCRIPT_LINE_ENDS] = 56,
			[V8_SCOPE_N_LOCALS] = 2,
			[V8_SCOPE_FIRST] = 3,
			[V8_ARRAY_LENGTH] = 8,
			[V8_ARRAY_DATA] = 16,
			[V8_STRING_LENGTH] = 12,
			[V8_STRING_ONE_BYTE] = 16,
			[V8_STRING_TWO_BYTE] = 16,
			[V8_CONS_FIRST] = 16,
			[V8_CONS_SECOND] = 24,
			[V8_SLICED_PARENT] = 16,
			[V8_SLICED_OFFSET] = 24,
			[V8_THIN_ACTUAL] = 16,
			[V8_EXTERNAL_RESOURCE] = 16,
			[V8_STRING_REPRESENTATION_MASK] = 7,
			[V8_STRING_ENCODING_MASK] = 8,
			[V8_TAG_SEQUENTIAL] = 0,
			[V8_TAG_CONS] = 1,
			[V8_TAG_EXTERNAL] = 2,
			[V8_TAG_SLICED] = 3,
			[V8_TAG_THIN] = 5,
			[V8_TAG_ONE_BYTE] = 8,
			[V8_TYPE_NOT_STRING] = 128,
			[V8_TYPE_FUNCTION] = 2066,
			[V8_TYPE_SHARED] = TYPE_SHARED,
			[V8_TYPE_SCRIPT] = TYPE_SCRIPT,
			[V8_TYPE_SCOPE] = TYPE_SCOPE,
			[V8_TYPE_ARRAY] = TYPE_ARRAY,
		},
	};

	f.known = (1ull << V8_N_FACTS) - 1;
	f.values[V8_MAJOR] = v8_image_major;
	f.values[V8_MINOR] = v8_image_minor;
	if (v8_image_major >= 13)
		f.values[V8_SCOPE_FIRST] = 5;
	return f;
}

static bool read_image(void *ctx, uint64_t addr, void *dst, size_t len)
{
	(void)ctx;
	addr -= (uintptr_t)memory;
	if (addr > used || len > used - addr)
		return false;
	memcpy(dst, memory + addr, len);
	return true;
}

void v8_image_reset(void)
{
	struct v8_facts facts = v8_image_facts();
	struct frames_rule rule;
	const char *why;

	memset(memory, 0, sizeof(memory));
	used = 0;
	ck_assert_int_eq(v8_layout(&facts, &layout, &rule, &why), 0);
	v8_image = (struct v8_memory){ .layout = &layout, .read = read_image };
}

static uint64_t allocate(size_t size)
{
	uint64_t at = (uintptr_t)memory + used;

	used += (size + 7) & ~(size_t)7;
	ck_assert_uint_le(used, sizeof(memory));
	return at;
}

static void *place(uint64_t object, size_t field)
{
	return memory + (object - 1 - (uintptr_t)memory) + field;
}

void v8_poke(uint64_t object, size_t field, uint64_t value)
{
	memcpy(place(object, field), &value, sizeof(value));
}

uint64_t v8_peek(uint64_t object, size_t field)
{
	uint64_t value;

	memcpy(&value, place(object, field), sizeof(value));
	return value;
}

void v8_poke_small(uint64_t object, size_t field, int32_t value)
{
	v8_poke(object, field, (uint64_t)(uint32_t)value << 32);
}

uint64_t v8_object(uint16_t type, size_t size)
{
	uint64_t map = allocate(32) + 1, object = allocate(size) + 1;

	memcpy(place(map, 12), &type, sizeof(type));
	v8_poke(object, 0, map);
	return object;
}

static uint64_t string(uint16_t type, uint32_t n, size_t size)
{
	uint64_t s = v8_object(type, size);

	memcpy(place(s, 12), &n, sizeof(n));
	return s;
}

uint64_t v8_one_byte(const char *text)
{
	uint64_t s = string(TYPE_ONE_BYTE, (uint32_t)strlen(text), 16 + strlen(text));

	memcpy(place(s, 16), text, strlen(text));
	return s;
}

uint64_t v8_two_byte(const uint16_t *text, uint32_t n)
{
	uint64_t s = string(TYPE_TWO_BYTE, n, 16 + 2 * n);

	memcpy(place(s, 16), text, 2 * n);
	return s;
}

uint64_t v8_cons(uint64_t first, uint64_t second, uint32_t n)
{
	uint64_t s = string(TYPE_CONS, n, 32);

	v8_poke(s, 16, first);
	v8_poke(s, 24, second);
	return s;
}

uint64_t v8_scope(int n_locals, uint64_t name, uint64_t inferred, int32_t start)
{
	uint64_t s = v8_object(TYPE_SCOPE, 128 + 16 * (size_t)n_locals);
	size_t at = 32 + (n_locals < 75 ? 16 : 8) * (size_t)n_locals + (n_locals < 75 ? 0 : 8);
	int32_t flags = (name ? 1 << 12 : 0) | (inferred ? 1 << 14 : 0);

	if (v8_image_major >= 13) {
		v8_poke(s, 8, (uint32_t)flags);
		v8_poke_small(s, 32, start);
		v8_poke_small(s, 40, start + 10);
		at += 16;
	} else {
		v8_poke_small(s, 8, flags);
	}
	v8_poke_small(s, 24, n_locals);
	if (name) {
		v8_poke(s, at, name);
		at += 16;
	}
	if (inferred) {
		v8_poke(s, at, inferred);
		at += 8;
	}
	if (v8_image_major < 13) {
		v8_poke_small(s, at, start);
		v8_poke_small(s, at + 8, start + 10);
	}
	return s;
}

uint64_t v8_script(const char *name, uint64_t source)
{
	uint64_t s = v8_object(TYPE_SCRIPT, 128);

	v8_poke(s, 8, source);
	v8_poke(s, 16, v8_one_byte(name));
	v8_poke(s, 56, v8_object(131, 32)); /* undefined: it was not asked for */
	v8_poke_small(s, 64, 42);
	return s;
}

uint64_t v8_shared(uint64_t name_or_scope, uint64_t script, uint32_t literal)
{
	uint64_t s = v8_object(TYPE_SHARED, SHARED_BYTES);

	v8_poke(s, 16, name_or_scope);
	v8_poke(s, 32, script);
	v8_poke(s, 48, (uint64_t)literal << 32 | 0x1234);
	return s;
}

uint64_t v8_identity(uint64_t shared)
{
	__u64 window[FRAMES_WINDOW];

	ck_assert(read_image(NULL, shared - 1, window, sizeof(window)));
	return frames_identity(window, layout.identity);
}
