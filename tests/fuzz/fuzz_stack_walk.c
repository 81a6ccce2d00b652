/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over stacks that a traced process has written, by tables that its files
 * have asked for: any registers, any memory, any rules. Whatever they are, a
 * walk ends, within its bounds, and for a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "unwind/stack_walk.h"
#include "unwind/table_builder.h"
#include "unwind/unwind_maps.h"

#define CODE 0x400000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct unwind_maps *maps;
static uint32_t table_id;
static bool is_jit;

struct input { /* of fixed size, before the stack */
	uint64_t pc, sp, fp, bx;
	uint8_t is_exact, has_bx, is_jit, n_rules;
	uint32_t from; /* below sp */
	uint64_t regs[16];
	struct unwind_rule rules[8];
};

static int locate(void *ctx, uint64_t pc, struct stack_place *ret)
{
	const struct unwind_table_ref *ref = unwind_maps_table(maps, table_id);

	(void)ctx;
	if (pc < CODE || pc >= CODE + 0x100000)
		return pc & 1 ? UNWIND_NOMAP : UNWIND_PENDING;
	*ret = (struct stack_place){
		.start = CODE,
		.end = CODE + 0x100000,
		.delta = -(uint64_t)CODE - ((uint64_t)ref->first_page << UNWIND_PAGE_SHIFT),
		.first = ref->first,
		.n_pages = ref->n_pages,
		.has_table = ref->state == UNWIND_TABLE_READY,
		.is_jit = is_jit,
	};
	return 0;
}

/* Rules that a table may hold, as unwind_table_decode() would let them through. */
static bool make_table(const struct input *in)
{
	struct table_builder b = { 0 };
	struct unwind_table table;
	void *bytes;
	size_t len;
	bool ok;

	for (unsigned i = 0; i < 64; i++)
		if (table_builder_set(&b, (uint64_t)i * 64, &in->rules[i % (1 + in->n_rules % 8)]) <
		    0)
			abort();
	if (table_builder_finish(&b, 0, 1, &bytes, &len) < 0)
		abort();
	table_builder_done(&b);
	ok = unwind_table_decode(bytes, len, &table) == 0;
	if (ok && (unwind_maps_table_new(maps, &table_id) < 0 ||
		   unwind_maps_table_fill(maps, table_id, &table) < 0))
		abort();
	free(bytes);
	return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stack_walk_env env = { .locate = locate };
	struct unwind_copy copy = { 0 };
	uint64_t ips[UNWIND_MAX_FRAMES];
	enum unwind_end end;
	struct input in;
	uint32_t n = 1;

	if (size < sizeof(in))
		return 0;
	memcpy(&in, data, sizeof(in));
	data += sizeof(in);
	size -= sizeof(in);
	if (!maps && unwind_maps_new(false, &maps) < 0)
		abort();
	env.maps = maps;
	if (!make_table(&in))
		return 0;
	is_jit = in.is_jit & 1;
	copy.pc = in.pc;
	copy.sp = in.sp;
	copy.fp = in.fp;
	copy.bx = in.bx;
	copy.has_bx = in.has_bx & 1;
	copy.is_exact = in.is_exact & 1;
	copy.from = in.sp - in.from % 256;
	copy.len = (uint32_t)(size < UNWIND_LARGE_COPY_BYTES ? size : UNWIND_LARGE_COPY_BYTES);
	memcpy(copy.regs, in.regs, sizeof(in.regs));
	ips[0] = in.pc;
	end = stack_walk(&env, &copy, data, ips, &n);
	if (n == 0 || n > UNWIND_MAX_FRAMES || end >= UNWIND_ENDS || !unwind_end_name(end))
		abort();
	unwind_maps_table_free(maps, table_id, 0);
	unwind_maps_collect(maps, UINT64_MAX);
	return 0;
}
