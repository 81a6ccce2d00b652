/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the memory of a process that has a libjvm.so: tables come of it
 * that can be believed, or nothing, after a bounded number of readings.
 *
 * First the addresses of the variables (enum hotspot_symbol), then pieces of memory:
 * offset (4 bytes), length (2 bytes), and so many bytes. After one without bytes it is
 * read; the next ones change it, and it is read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hotspot/hotspot_memory.h"
#include "hotspot/hotspot_reader.h"
#include "jit/jit_map.h"
#include "jit/jit_table.h"
#include "unwind/unwind_table.h"

#define BASE	  0x100000000ull
#define BYTES	  (256u << 10)
#define MAX_READS (3u << 20) /* of one slice */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

static uint8_t memory[BYTES];
static unsigned n_reads;

static ssize_t read_memory(void *ctx, void *dst, size_t len, uint64_t addr)
{
	(void)ctx;
	n_reads++;
	if (addr < BASE || addr - BASE >= BYTES)
		return -1;
	if (len > BYTES - (addr - BASE))
		len = BYTES - (addr - BASE);
	memcpy(dst, memory + (addr - BASE), len);
	return (ssize_t)len;
}

static void look_at_names(const struct jit_map *map)
{
	size_t len = jit_map_table_size(map);
	void *block = malloc(len);
	struct jit_table table;

	CHECK(block);
	jit_map_write_table(map, block);
	CHECK(jit_table_check(block, len, &table) == 0);
	free(block);
}

static void look_at_rows(const struct hotspot_reader *reader)
{
	struct hotspot_table tables[HOTSPOT_MAX_HEAPS];
	int n = hotspot_reader_tables(reader, tables);

	CHECK(n >= 0 && n <= HOTSPOT_MAX_HEAPS);
	for (int i = 0; i < n; i++) {
		struct unwind_table table;

		CHECK(unwind_table_decode(tables[i].bytes, tables[i].len, &table) == 0);
		CHECK(tables[i].heap.start < tables[i].heap.end);
		free(tables[i].bytes);
	}
}

static void read_it(struct hotspot_reader *reader, const uint64_t *symbols, uint64_t now_ns)
{
	struct hotspot_read read = { .symbols = symbols, .since_ns = now_ns - 1, .now_ns = now_ns };
	struct hotspot_memory m = { .read = read_memory };
	struct hotspot_result result;

	n_reads = 0;
	if (hotspot_reader_read(reader, &m, &read, &result) == 0)
		CHECK(memchr(result.why, 0, sizeof(result.why)));
	CHECK(n_reads < MAX_READS);
	look_at_names(hotspot_reader_map(reader));
	look_at_rows(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t symbols[HOTSPOT_N_SYMBOLS] = { 0 }, now_ns = 1000;
	struct hotspot_reader *reader;
	size_t at = sizeof(symbols);

	if (size < at)
		return 0;
	memcpy(symbols, data, at);
	memset(memory, 0, sizeof(memory));
	CHECK(hotspot_reader_new(&reader) == 0);
	while (size - at >= 6) {
		uint32_t to;
		uint16_t len;

		memcpy(&to, data + at, sizeof(to));
		memcpy(&len, data + at + 4, sizeof(len));
		at += 6;
		if (len > size - at)
			len = (uint16_t)(size - at);
		to %= BYTES;
		if (len == 0)
			read_it(reader, symbols, now_ns++);
		else
			memcpy(memory + to, data + at, len < BYTES - to ? len : BYTES - to);
		at += len;
	}
	read_it(reader, symbols, now_ns++);
	read_it(reader, symbols, now_ns);
	hotspot_reader_free(reader);
	return 0;
}
