/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a perf map, in two parts with a reading in between: the table
 * that comes out is a good one, and the last line wins.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jit/jit_map.h"
#include "jit/jit_table.h"
#include "jit/perf_map.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

static size_t feed(struct perf_map *p, const uint8_t *data, size_t size, struct jit_map *map)
{
	char *copy = malloc(size ? size : 1); /* so that a look beyond the end is seen */
	size_t used;

	CHECK(copy);
	memcpy(copy, data, size);
	used = perf_map_parse(p, copy, size, map);
	CHECK(used <= size);
	free(copy);
	return used;
}

static void check_table(const struct jit_map *map)
{
	size_t len = jit_map_table_size(map);
	void *block = malloc(len);
	struct jit_table t;
	struct jit_name n;

	CHECK(block);
	jit_map_write_table(map, block);
	CHECK(jit_table_check(block, len, &t) == 0);
	for (uint32_t i = 0; i < t.head.n_symbols; i++) {
		CHECK(jit_table_find(&t, t.symbols[i].start, UINT64_MAX - 1, &n));
		CHECK(n.function == t.text + t.symbols[i].name);
		CHECK(text_is_utf8(n.function, n.function_len));
		CHECK(!n.file || text_is_utf8(n.file, n.file_len));
	}
	for (uint32_t i = 0; i < t.head.n_past; i++)
		(void)jit_table_find(&t, t.past[i].start, t.past[i].from_ns, &n);
	free(block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map p = { .is_first = true };
	struct jit_map *map;
	size_t half = size / 2, used;

	if (jit_map_new(&map) < 0)
		return 0;
	used = feed(&p, data, half, map);
	check_table(map);
	p.is_first = false;
	p.time_ns = 1000;
	(void)feed(&p, data + used, size - used, map);
	check_table(map);
	jit_map_free(map);
	return 0;
}
