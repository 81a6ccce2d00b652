/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as memory of a process that runs V8: no name, or one that is UTF-8 and ends.
 *
 * The first bytes say how V8's structures are laid out, in so far as they are not fixed,
 * and where to begin; the rest is the memory. It changes while it is read, as
 * that of a process does.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "v8/v8_function.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x10000ull

struct memory {
	const uint8_t *bytes;
	size_t size;
	unsigned n_reads;
};

static bool read_memory(void *ctx, uint64_t addr, void *dst, size_t len)
{
	struct memory *m = ctx;

	m->n_reads++;
	if (addr < BASE || addr - BASE > m->size || len > m->size - (addr - BASE))
		return false;
	memcpy(dst, m->bytes + (addr - BASE), len);
	return true;
}

/* As in node 20, with what the file may say differently. */
static void make_layout(struct v8_layout *l, const uint8_t head[8])
{
	*l = (struct v8_layout){
		.map = -1,
		.map_type = 11,
		.shared_name = 15,
		.shared_script = 31,
		.script_source = 7,
		.script_name = 15,
		.script_line_offset = 23,
		.script_line_ends = 55,
		.script_id = 63,
		.scope_flags = 7,
		.scope_n_locals = 23,
		.scope_first = head[0] & 1 ? 47 : 31,
		.scope_start = head[0] & 1 ? 31 : 0,
		.raw_scope_flags = head[0] & 1,
		.array_length = 7,
		.array_data = 15,
		.string_length = 11,
		.one_byte = 15,
		.two_byte = 15,
		.cons_first = 15,
		.cons_second = 23,
		.sliced_parent = 15,
		.sliced_offset = 23,
		.thin_actual = 15,
		.external_data = 23,
		.representation_mask = 7,
		.encoding_mask = 8,
		.cons = 1,
		.external = 2,
		.sliced = 3,
		.thin = 5,
		.one_byte_tag = 8,
		.type_not_string = 128,
		.type_shared = 262,
		.type_script = 167,
		.type_scope = 261,
		.type_array = 175,
		.identity = { ~0ull, 0, ~0ull, 0, ~0ull, 0, 0xffffffff00000000ull },
	};
}

static void check_text(const char *s, size_t size)
{
	size_t len = strnlen(s, size);

	if (len == size || !text_is_utf8(s, len))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct v8_function f;
	struct v8_layout layout;
	struct memory memory = { 0 };
	struct v8_memory m = { .layout = &layout, .read = read_memory, .ctx = &memory };
	struct v8_lines *lines;
	__u64 window[FRAMES_WINDOW] = { 0 };
	uint64_t object;
	int r;

	if (size < 8 || v8_lines_new(&lines) < 0)
		return 0;
	make_layout(&layout, data);
	memory.bytes = data + 8;
	memory.size = size - 8;
	object = BASE + ((data[1] | (uint64_t)data[2] << 8) & ~7ull) + 1;
	(void)read_memory(&memory, object - 1, window, sizeof(window));
	for (uint64_t process = 1; process <= 2; process++) {
		memset(&f, 0xff, sizeof(f));
		memory.n_reads = 0;
		r = v8_function_read(&m, lines, process, object,
				     frames_identity(window, layout.identity), &f);
		if (r == 0) {
			check_text(f.name, sizeof(f.name));
			check_text(f.file, sizeof(f.file));
			if (!*f.name)
				abort();
		}
		/* However pieces of strings are knotted together, it comes to an end. */
		if (memory.n_reads > 20000)
			abort();
	}
	v8_lines_free(lines);
	return 0;
}
