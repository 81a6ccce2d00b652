/* SPDX-License-Identifier: Apache-2.0 */
/* jit_text.h - names, each kept once, one behind the other in one block. */
#ifndef JIT_TEXT_H
#define JIT_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct jit_text;

/* Part of the block. */
struct jit_text_ref {
	uint32_t at, len;
};

int jit_text_new(struct jit_text **ret);
void jit_text_free(struct jit_text *t); /* takes NULL */
void jit_text_clear(struct jit_text *t);

/*
 * `len` bytes as valid UTF-8, cut to JIT_MAX_NAME. -ENOSPC: the block is
 * JIT_MAX_TEXT_BYTES long; -ENOMEM.
 */
int jit_text_add(struct jit_text *t, const char *s, size_t len, struct jit_text_ref *ret);

const char *jit_text_data(const struct jit_text *t); /* until the next addition */
size_t jit_text_len(const struct jit_text *t);
size_t jit_text_bytes(const struct jit_text *t); /* of memory */

#endif
