/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as what the worker for generated code has written: refused, or all
 * that can be looked up lies within.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/jit_question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

static void look_up(const struct jit_table *t, uint64_t pc, uint64_t time_ns, const void *end)
{
	struct jit_name n;

	if (!jit_table_find(t, pc, time_ns, &n))
		return;
	CHECK(n.function_len > 0 && n.function_len <= JIT_MAX_NAME);
	CHECK(n.function >= t->text && n.function + n.function_len <= (const char *)end);
	CHECK(!n.file ||
	      (n.file >= t->text && n.file_len > 0 && n.file + n.file_len <= (const char *)end));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Aligned as a mapping is, and no longer than it is. */
	uint64_t *copy = malloc(size ? size : 1);
	const uint8_t *end = (const uint8_t *)copy + size;
	struct jit_answer a;
	struct jit_table t;

	CHECK(copy);
	memcpy(copy, data, size);
	if (jit_answer_check(copy, size, &a, &t) == 0 && (a.flags & JIT_ANSWER_TABLE)) {
		const struct jit_symbol *all = t.symbols;
		uint32_t n = t.head.n_symbols + t.head.n_past;

		for (uint32_t i = 0; i < n; i++) {
			look_up(&t, all[i].start, all[i].from_ns, end);
			look_up(&t, all[i].end - 1, all[i].until_ns - 1, end);
			look_up(&t, all[i].end, UINT64_MAX, end);
		}
	}
	free(copy);
	return 0;
}
