/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v8_image.h - memory of a process that runs V8, for tests: objects laid out as node
 * 20 says it does. It is our own: addresses are right for who reads /proc/self/mem.
 */
#ifndef V8_IMAGE_H
#define V8_IMAGE_H

#include "v8/v8_layout.h"
#include "v8/v8_memory.h"

#define IMAGE_BYTES (1u << 20)

/* Of node 20.20.2. */
struct v8_facts v8_image_facts(void);
/* Of another version, to which the memory is laid out from the next reset on. */
extern int v8_image_major, v8_image_minor;

extern struct v8_memory v8_image; /* after v8_image_reset() */
void v8_image_reset(void);

/* An object of `size` bytes and this type; its tagged address. */
uint64_t v8_object(uint16_t type, size_t size);
void v8_poke(uint64_t object, size_t field, uint64_t value);
uint64_t v8_peek(uint64_t object, size_t field);
void v8_poke_small(uint64_t object, size_t field, int32_t value);
uint64_t v8_one_byte(const char *text);
uint64_t v8_two_byte(const uint16_t *text, uint32_t n);
uint64_t v8_cons(uint64_t first, uint64_t second, uint32_t n);

enum {
	TYPE_ONE_BYTE = 0x28,
	TYPE_TWO_BYTE = 0x20,
	TYPE_CONS = 0x29,
	TYPE_EXTERNAL = 0x2a,
	TYPE_SLICED = 0x2b,
	TYPE_THIN = 0x2d,
	TYPE_SCRIPT = 167,
	TYPE_ARRAY = 175,
	TYPE_SCOPE = 261,
	TYPE_SHARED = 262,
};

#define SHARED_BYTES 72

/* A ScopeInfo of a function, that begins at `start`; each name may be 0. */
uint64_t v8_scope(int n_locals, uint64_t name, uint64_t inferred, int32_t start);
uint64_t v8_script(const char *name, uint64_t source);
uint64_t v8_shared(uint64_t name_or_scope, uint64_t script, uint32_t literal);
/* As the walker would have it. */
uint64_t v8_identity(uint64_t shared);

#endif
