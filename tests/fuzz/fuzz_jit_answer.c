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

static void look_up_rules(const struct unwind_table *t, const uint8_t *end)
{
	struct unwind_rule rule;

	CHECK((const uint8_t *)(t->rules + t->head.n_rules) <= end);
	for (uint64_t page = 0; page <= t->head.n_pages; page++)
		unwind_table_find(t, (t->head.first_page + page) << UNWIND_PAGE_SHIFT | 0x123,
				  &rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Aligned as a mapping is, and no longer than it is. */
	uint64_t *copy = malloc(size ? size : 1);
	const uint8_t *end = (const uint8_t *)copy + size;
	struct jit_frames frames;
	struct jit_answer a;
	struct jit_table t;

	CHECK(copy);
	memcpy(copy, data, size);
	if (jit_answer_check(copy, size, &a, &t, &frames) == 0 && (a.flags & JIT_ANSWER_TABLE)) {
		const struct jit_symbol *all = t.symbols;
		uint32_t n = t.head.n_symbols + t.head.n_past;

		for (uint32_t i = 0; i < n; i++) {
			look_up(&t, all[i].start, all[i].from_ns, end);
			look_up(&t, all[i].end - 1, all[i].until_ns - 1, end);
			look_up(&t, all[i].end, UINT64_MAX, end);
		}
		CHECK(frames.n <= JIT_MAX_FRAMES);
		for (uint32_t i = 0; i < frames.n; i++)
			look_up_rules(&frames.all[i].table, end);
	}
	free(copy);
	return 0;
}
