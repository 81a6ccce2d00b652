/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a jitdump file, first a part of it and then the whole, read as
 * the worker does it: the table that comes out is a good one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit/jit_map.h"
#include "jit/jit_reader.h"
#include "jit/jit_table.h"
#include "text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

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
		CHECK(jit_table_find(&t, t.symbols[i].end - 1, t.symbols[i].from_ns, &n));
		CHECK(text_is_utf8(n.function, n.function_len));
		CHECK(!n.file || text_is_utf8(n.file, n.file_len));
	}
	for (uint32_t i = 0; i < t.head.n_past; i++)
		(void)jit_table_find(&t, t.past[i].start, t.past[i].from_ns, &n);
	free(block);
}

static void read_on(struct jit_reader *reader, int fd)
{
	struct jit_read read = { .now_ns = UINT64_MAX / 2 };
	struct jit_read_result result = { 0 };

	while (!result.is_complete)
		CHECK(jit_reader_read(reader, fd, &read, &result) == 0);
	check_table(jit_reader_map(reader));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jit_reader *reader;
	int fd = memfd_create("dump", MFD_CLOEXEC);

	CHECK(fd >= 0);
	if (jit_reader_new(JIT_DUMP, &reader) < 0)
		goto out;
	CHECK(pwrite(fd, data, size / 2, 0) == (ssize_t)(size / 2));
	read_on(reader, fd);
	CHECK(pwrite(fd, data, size, 0) == (ssize_t)size);
	read_on(reader, fd);
	jit_reader_free(reader);
out:
	close(fd);
	return 0;
}
