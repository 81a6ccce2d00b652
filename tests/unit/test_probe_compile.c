/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of probes by their values: they are compiled, and the code runs over memory
 * that a program could have.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_registers.h"
#include "probe/probe_types.h"
#include "probe_machine.h"

/* ---- the program ---- */

struct heap {
	uint64_t size;
	char name[16];
	int32_t cells[4];
};

struct gc {
	int32_t generation;
	uint32_t low : 3, mid : 7, negative : 6;
	struct heap heap;
	struct gc *next;
	const char *label;
	double ratio;
	union {
		uint16_t inner;
		uint8_t byte;
	};
	uint8_t is_full;
	int16_t table[2][3];
	void *opaque;
};

#define GC_AT	 0x7f0000001000
#define NEXT_AT	 0x7f0000002000
#define LABEL_AT 0x7f0000003000
#define STACK_AT 0x7ffc00000000

static const char label[] = "young collection";

static const struct gc next = { .generation = 2, .heap = { .size = 7 }, .label = NULL };
static const struct gc gc = {
	.generation = -1,
	.low = 5,
	.mid = 100,
	.negative = 0x3d,
	.heap = { .size = 1ull << 40, .name = "eden space", .cells = { 10, -20, 30, 40 } },
	.next = (struct gc *)NEXT_AT,
	.label = (const char *)LABEL_AT,
	.ratio = 0.5,
	.inner = 0x1234,
	.is_full = 1,
	.table = { { 1, 2, 3 }, { 4, -5, 6 } },
	.opaque = (void *)GC_AT,
};

static uint64_t stack[4] = { 0xdead, 66, 77, 88 };

/* ---- what is known of it ---- */

static struct probe_types *types;

static uint32_t str(const char *s)
{
	return (uint32_t)probe_types_add_string(types, s, strlen(s));
}

static uint32_t type(enum probe_type_kind kind, uint64_t size, unsigned flags)
{
	return (uint32_t)probe_types_add_type(
		types, &(struct probe_type_entry){ .kind = (uint8_t)kind,
						   .size = size,
						   .flags = (uint8_t)flags,
						   .target = PROBE_NO_TYPE });
}

static uint32_t to(enum probe_type_kind kind, uint64_t size, uint32_t target, uint32_t count)
{
	uint32_t i = type(kind, size, 0);

	probe_types_type(types, i)->target = target;
	probe_types_type(types, i)->count = count;
	return i;
}

static void member(const char *name, uint32_t of, size_t offset)
{
	(void)probe_types_add_member(
		types, &(struct probe_member){ .name = str(name), .type = of, .offset = offset });
}

static void bits(const char *name, uint32_t of, size_t offset, unsigned at, unsigned size)
{
	(void)probe_types_add_member(types, &(struct probe_member){ .name = str(name),
								    .type = of,
								    .offset = offset,
								    .bit_at = (uint8_t)at,
								    .bit_size = (uint8_t)size });
}

static void members_of(uint32_t i, const char *name)
{
	static uint32_t first;
	struct probe_type_entry *t = probe_types_type(types, i);
	uint32_t n = (uint32_t)(types->members.len / sizeof(struct probe_member));

	first = name ? first : 0;
	t->name = name ? str(name) : 0;
	t->first = first;
	t->n = n - first;
	first = n;
}

static void named(const char *name, uint32_t of, bool is_constant, int64_t value)
{
	(void)probe_types_add_name(types, &(struct probe_name){ .name = str(name),
								.type = of,
								.value = value,
								.is_constant = is_constant });
}

static void value(const char *name, uint32_t of, enum probe_location_kind kind, uint16_t reg,
		  int64_t offset)
{
	(void)probe_types_add_value(
		types, &(struct probe_value){ .name = str(name),
					      .type = of,
					      .at = { .kind = (uint8_t)kind,
						      .registers = { reg, PROBE_NO_REGISTER },
						      .offset = offset } });
}

static void add_structs(uint32_t *ret_gc)
{
	uint32_t s32 = type(PROBE_KIND_INT, 4, PROBE_TYPE_IS_SIGNED);
	uint32_t u32 = type(PROBE_KIND_INT, 4, 0), u64 = type(PROBE_KIND_INT, 8, 0);
	uint32_t ch = type(PROBE_KIND_INT, 1, PROBE_TYPE_IS_SIGNED | PROBE_TYPE_IS_CHAR);
	uint32_t u8 = type(PROBE_KIND_INT, 1, 0), u16 = type(PROBE_KIND_INT, 2, 0);
	uint32_t s16 = type(PROBE_KIND_INT, 2, PROBE_TYPE_IS_SIGNED);
	uint32_t row = to(PROBE_KIND_ARRAY, 6, s16, 3);
	uint32_t heap = type(PROBE_KIND_STRUCT, sizeof(struct heap), 0);
	uint32_t inner = type(PROBE_KIND_STRUCT, 2, 0);
	uint32_t t = type(PROBE_KIND_STRUCT, sizeof(struct gc), 0);

	members_of(s32, ""); /* from here on */
	probe_types_type(types, s32)->n = 0;
	member("size", u64, offsetof(struct heap, size));
	member("name", to(PROBE_KIND_ARRAY, 16, ch, 16), offsetof(struct heap, name));
	member("cells", to(PROBE_KIND_ARRAY, 16, s32, 4), offsetof(struct heap, cells));
	members_of(heap, "heap");
	member("inner", u16, 0);
	member("byte", u8, 0);
	members_of(inner, "");
	member("generation", s32, 0);
	bits("low", u32, 4, 0, 3);
	bits("mid", u32, 4, 3, 7);
	bits("negative", s32, 5, 2, 6);
	member("heap", heap, offsetof(struct gc, heap));
	member("next", to(PROBE_KIND_POINTER, 8, t, 0), offsetof(struct gc, next));
	member("label", to(PROBE_KIND_POINTER, 8, ch, 0), offsetof(struct gc, label));
	member("ratio", type(PROBE_KIND_FLOAT, 8, 0), offsetof(struct gc, ratio));
	member("", inner, offsetof(struct gc, inner));
	member("is_full", type(PROBE_KIND_BOOL, 1, 0), offsetof(struct gc, is_full));
	member("table", to(PROBE_KIND_ARRAY, 12, row, 2), offsetof(struct gc, table));
	member("opaque", to(PROBE_KIND_POINTER, 8, type(PROBE_KIND_VOID, 0, 0), 0),
	       offsetof(struct gc, opaque));
	members_of(t, "gc");
	named("gc", t, false, 0);
	named("OLD", s32, true, 2);
	named("cell_t", s32, false, 0);
	*ret_gc = t;
}

/* collect(struct gc *gc, int how, struct pair by_value, unsigned count) */
static void know_function(void)
{
	uint16_t r0 = probe_arch_arg(PROBE_ARCH, 0), r1 = probe_arch_arg(PROBE_ARCH, 1);
	uint32_t t, pair, s32;

	ck_assert_int_eq(probe_types_new(&types), 0);
	add_structs(&t);
	s32 = type(PROBE_KIND_INT, 4, PROBE_TYPE_IS_SIGNED);
	types->flags = PROBE_TYPES_HAS_TYPES | PROBE_TYPES_AT_ENTRY | PROBE_TYPES_FUNCTION;
	value("gc", to(PROBE_KIND_POINTER, 8, t, 0), PROBE_AT_REGISTERS, r0, 0);
	value("how", s32, PROBE_AT_REGISTERS, r1, 0);
	pair = type(PROBE_KIND_STRUCT, 8, 0);
	probe_types_type(types, pair)->first =
		(uint32_t)(types->members.len / sizeof(struct probe_member));
	member("a", s32, 0);
	member("b", s32, 4);
	probe_types_type(types, pair)->n = 2;
	value("by_value", pair, PROBE_AT_REGISTERS, probe_arch_arg(PROBE_ARCH, 2), 0);
	value("count", type(PROBE_KIND_INT, 4, 0), PROBE_AT_REGISTERS,
	      probe_arch_arg(PROBE_ARCH, 3), 0);
	value("ratio", type(PROBE_KIND_FLOAT, 8, 0), PROBE_AT_NOTHING, PROBE_NO_REGISTER,
	      PROBE_IN_VECTOR);
	types->n_args = 5;
	value("total", type(PROBE_KIND_INT, 8, 0), PROBE_AT_PC, PROBE_NO_REGISTER, 0x100);
	value("far", s32, PROBE_AT_MEMORY, probe_arch_stack(PROBE_ARCH), 8);
	value("", s32, PROBE_AT_REGISTERS, probe_arch_retval(PROBE_ARCH, 0), 0);
	types->retval = (uint32_t)probe_types_n_values(types) - 1;
}

static void forget(void)
{
	probe_types_free(types);
	types = NULL;
}

#define PC_AT 0x555500001000

static void make_process(struct machine *m)
{
	static const uint64_t total = 123456789012;

	*m = (struct machine){ .task = { 100, 101, 3, 5000, 1000 } };
	machine_memory(m, GC_AT, &gc, sizeof(gc));
	machine_memory(m, NEXT_AT, &next, sizeof(next));
	machine_memory(m, LABEL_AT, label, sizeof(label));
	machine_memory(m, STACK_AT, stack, sizeof(stack));
	machine_memory(m, PC_AT + 0x100, &total, sizeof(total));
	machine_register(m, probe_arch_stack(PROBE_ARCH), STACK_AT);
	machine_register(m, probe_arch_pc(PROBE_ARCH), PC_AT);
	machine_register(m, probe_arch_arg(PROBE_ARCH, 0), GC_AT);
	machine_register(m, probe_arch_arg(PROBE_ARCH, 1), 0xffffffff00000000 | (uint32_t)-3);
	machine_register(m, probe_arch_arg(PROBE_ARCH, 2), 0xfffffff900000008);
	machine_register(m, probe_arch_arg(PROBE_ARCH, 3), 0xabcdef0000000009);
}

/* ---- one expression ---- */

static char why[PROBE_WHY_LEN];

static int compile(const char *at, const char *text, const struct probe_types *known,
		   struct probe_code *ret)
{
	struct probe_def def = { .name = "p", .n_args = 1 };
	int r = probe_place_parse(at, &def.at, why);

	if (r == 0)
		r = probe_arg_parse(text, &def.args[0], why);
	if (r == 0)
		r = probe_def_check(&def, why);
	return r < 0 ? r : probe_compile(&def, PROBES_SINGLE, known, ret, why);
}

static void run(struct machine *m, const char *at, const char *text,
		const struct probe_types *known, struct probe_code *code)
{
	ck_assert_msg(compile(at, text, known, code) == 0, "%s: %s", text, why);
	ck_assert_msg(machine_run(m, code), "%s", text);
	ck_assert_uint_eq(m->n_values, 1);
}

struct number_case {
	const char *expr;
	int64_t value;
	enum probe_type type;
	unsigned size;
};

static void check_numbers(const char *at, const struct number_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct probe_code code;
		struct machine m;
		char text[PROBE_EXPR_LEN];

		make_process(&m);
		snprintf(text, sizeof(text), "x=%s", cases[i].expr);
		run(&m, at, text, types, &code);
		ck_assert_msg(!m.values[0].is_unreadable && !m.values[0].is_text, "%s", text);
		ck_assert_msg((int64_t)m.values[0].number == cases[i].value, "%s: %lld", text,
			      (long long)m.values[0].number);
		ck_assert_msg(code.type[0] == cases[i].type && code.size[0] == cases[i].size,
			      "%s: type %d of %u", text, code.type[0], code.size[0]);
	}
}

#define S PROBE_TYPE_SIGNED
#define U PROBE_TYPE_UNSIGNED
#define B PROBE_TYPE_BOOL

START_TEST(numbers_are_those_of_c)
{
	static const struct number_case cases[] = {
		{ "1 + 2 * 3", 7, S, 8 },
		{ "(1 + 2) * 3", 9, S, 8 },
		{ "10 - 3 - 2", 5, S, 8 },
		{ "-7 / 2", -3, S, 8 },
		{ "-7 % 3", -1, S, 8 },
		{ "0x10 | 1 ^ 3 & 2", 0x13, S, 8 },
		{ "1 << 4 >> 2", 4, S, 8 },
		{ "-8 >> 1", -4, S, 8 },
		{ "1 + 1 << 3", 16, S, 8 },
		{ "~0", -1, S, 8 },
		{ "!0 + !5", 1, S, 8 },
		{ "1 < 2 == 1", 1, B, 1 },
		{ "3 > 2 && 2 > 3 || 1", 1, B, 1 },
		{ "'a'", 97, S, 8 },
		{ "'\\n'", 10, S, 8 },
		{ "010", 8, S, 8 },
		{ "0xffffffffffffffff > 1", 1, B, 1 },
		{ "(u8)0x1ff", 0xff, U, 1 },
		{ "(signed char)0xff", -1, S, 1 },
		{ "(int)0xffffffff < 0", 1, B, 1 },
		{ "(unsigned long)-1", -1, U, 8 },
		{ "true + NULL", 1, S, 8 },
		{ "pid * 1000 + tid", 100101, S, 8 },
		{ "cpu", 3, U, 4 },
		{ "uid", 1000, U, 4 },
	};

	check_numbers("uprobe:/bin/a:f", cases, sizeof(cases) / sizeof(cases[0]));
}
END_TEST

START_TEST(registers_are_arguments_where_nothing_is_known)
{
	static const struct number_case cases[] = {
		{ "arg0", GC_AT, S, 8 },
		{ "(int)arg1", -3, S, 4 },
		{ "arg1:u32", (uint32_t)-3, U, 4 },
		{ "arg1:s32", -3, S, 4 },
		{ "arg1:bool", 1, B, 1 },
		{ "*(u64 *)arg0 & 7", 7, U, 8 },
		{ "*(int *)(arg0 + 0)", -1, S, 4 },
		{ "((unsigned char *)arg0)[1]", 0xff, U, 1 },
#if defined(__x86_64__)
		{ "$rdi", GC_AT, S, 8 },
		{ "$esi", (uint32_t)-3, U, 4 },
		{ "$sil", 0xfd, U, 1 },
		{ "$dl", 8, U, 1 },
		{ "$dh", 0, U, 1 },
		{ "arg6", 66, S, 8 },
		{ "arg7 + arg8", 165, S, 8 },
		{ "*(u64 *)($sp + 8)", 66, U, 8 },
#endif
	};

	check_numbers("uprobe:/bin/a:f", cases, sizeof(cases) / sizeof(cases[0]));
}
END_TEST

START_TEST(members_are_followed)
{
	static const struct number_case cases[] = {
		{ "gc->generation", -1, S, 4 },
		{ "arg0->generation", -1, S, 4 },
		{ "how", -3, S, 4 },
		{ "how < 0", 1, B, 1 },
		{ "gc->heap.size", 1ll << 40, U, 8 },
		{ "gc->heap.size >> 20", 1 << 20, U, 8 },
		{ "gc->heap.cells[1]", -20, S, 4 },
		{ "gc->heap.cells[how + 5]", 30, S, 4 },
		{ "*gc->heap.cells", 10, S, 4 },
		{ "*(gc->heap.cells + 3)", 40, S, 4 },
		{ "&gc->heap.cells[3] - gc->heap.cells", 3, S, 8 },
		{ "gc->table[1][1]", -5, S, 2 },
		{ "gc->table[how + 4][2]", 6, S, 2 },
		{ "gc->next->generation", 2, S, 4 },
		{ "gc->next->heap.size", 7, U, 8 },
		{ "(*gc->next).generation", 2, S, 4 },
		{ "gc->next->next == 0", 1, B, 1 },
		{ "gc->next->generation == OLD", 1, B, 1 },
		{ "gc->low", 5, U, 4 },
		{ "gc->mid", 100, U, 4 },
		{ "gc->negative", -3, S, 4 },
		{ "gc->inner", 0x1234, U, 2 },
		{ "gc->byte", 0x34, U, 1 },
		{ "gc->is_full", 1, B, 1 },
		{ "gc->next", NEXT_AT, PROBE_TYPE_POINTER, 8 },
		{ "gc->heap.cells", GC_AT + 8 + 24, PROBE_TYPE_POINTER, 8 },
		{ "&gc->heap", GC_AT + 8, PROBE_TYPE_POINTER, 8 },
		{ "&gc[1]", GC_AT + sizeof(struct gc), PROBE_TYPE_POINTER, 8 },
		{ "((struct gc *)gc->opaque)->generation", -1, S, 4 },
		{ "((gc *)gc->opaque)->heap.cells[0]", 10, S, 4 },
		{ "*(cell_t *)&gc->heap.cells[1]", -20, S, 4 },
		{ "(cell_t)0x1fffffff0", -16, S, 4 },
		{ "by_value.a", 8, S, 4 },
		{ "by_value.b", -7, S, 4 },
		{ "by_value.a + arg2.b", 1, S, 8 },
		{ "count", 9, U, 4 },
		{ "total", 123456789012, U, 8 },
		{ "far", 66, S, 4 },
		{ "gc->label[0]", 'y', S, 1 },
		{ "gc->label[0]:u8", 'y', U, 1 },
		{ "gc->generation:u8", 0xff, U, 1 },
		{ "gc->next && gc->next->generation == 2", 1, B, 1 },
		{ "gc->next->next && gc->next->next->generation", 0, B, 1 },
		{ "!gc->next->next || gc->next->next->generation", 1, B, 1 },
		{ "count == 9 && how == -3", 1, B, 1 },
		{ "gc->ratio", 0x3fe0000000000000, PROBE_TYPE_FLOAT, 8 },
		{ "*(double *)&gc->ratio:f64", 0x3fe0000000000000, PROBE_TYPE_FLOAT, 8 },
		{ "gc:x64", GC_AT, PROBE_TYPE_HEX, 8 },
		{ "(unsigned)how == -3", 1, B, 1 },
	};

	know_function();
	check_numbers("uprobe:/bin/a:collect", cases, sizeof(cases) / sizeof(cases[0]));
	forget();
}
END_TEST

START_TEST(text_is_read)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "x=gc->label", label },
		{ "x=str(gc->label)", label },
		{ "x=gc->label:str(5)", "young" },
		{ "x=gc->heap.name", "eden space" },
		{ "x=str(gc->label, 7)", "young c" },
		{ "x=str(gc->label, count - 4)", "young" },
		{ "x=str(gc->label, count):str(2)", "yo" },
		{ "x=&gc->label[6]", "collection" },
		{ "x=gc->label + 6", "collection" },
		{ "x=(char *)gc->label", label },
		{ "x=str(gc->opaque)", "\xff\xff\xff\xff\x25\xf7" },
	};

	know_function();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct probe_code code;
		struct machine m;

		make_process(&m);
		run(&m, "uprobe:/bin/a:collect", cases[i].text, types, &code);
		ck_assert_msg(m.values[0].is_text && !m.values[0].is_unreadable, "%s",
			      cases[i].text);
		if (i + 1 < sizeof(cases) / sizeof(cases[0]))
			ck_assert_str_eq(m.values[0].text, cases[i].says);
		ck_assert_int_eq(code.type[0], PROBE_TYPE_TEXT);
	}
	forget();
}
END_TEST

START_TEST(text_is_compared)
{
	static const struct number_case cases[] = {
		{ "gc->label == \"young collection\"", 1, B, 1 },
		{ "gc->label == \"young\"", 0, B, 1 },
		{ "gc->label == \"young*\"", 1, B, 1 },
		{ "gc->label != \"young\"", 1, B, 1 },
		{ "\"young*\" == gc->label", 1, B, 1 },
		{ "gc->heap.name == \"eden space\" && how == -3", 1, B, 1 },
		{ "gc->heap.name == \"e\" || gc->heap.name == \"eden\\*\"", 0, B, 1 },
		{ "str(gc->label) == \"y*\"", 1, B, 1 },
		{ "str(gc->label, 5) == \"young\"", 1, B, 1 },
		{ "str(gc->label, count - 4) == \"young\"", 1, B, 1 },
		{ "str(gc->label, count) == \"young\"", 0, B, 1 },
	};

	know_function();
	check_numbers("uprobe:/bin/a:collect", cases, sizeof(cases) / sizeof(cases[0]));
	forget();
}
END_TEST

START_TEST(what_cannot_be_read_is_said)
{
	static const char *const texts[] = { "x=gc->next->next->generation",
					     "x=gc->next->next->heap.size + 1", "x=*(u64 *)8",
					     "x=gc->next->label" };

	know_function();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct probe_code code;
		struct machine m;

		make_process(&m);
		run(&m, "uprobe:/bin/a:collect", texts[i], types, &code);
		ck_assert_msg(m.values[0].is_unreadable, "%s", texts[i]);
	}
	forget();
}
END_TEST

START_TEST(what_is_returned)
{
	struct probe_code code;
	struct machine m;

	make_process(&m);
	machine_register(&m, probe_arch_retval(PROBE_ARCH, 0), (uint32_t)-5);
	run(&m, "uretprobe:/bin/a:collect", "x=retval", NULL, &code);
	ck_assert_uint_eq(m.values[0].number, (uint32_t)-5);
	know_function();
	make_process(&m);
	machine_register(&m, probe_arch_retval(PROBE_ARCH, 0), (uint32_t)-5);
	run(&m, "uretprobe:/bin/a:collect", "x=retval", types, &code);
	ck_assert_int_eq((int64_t)m.values[0].number, -5);
	forget();
}
END_TEST

START_TEST(fields_of_a_tracepoint)
{
	static const struct {
		uint64_t common;
		int32_t pid;
		uint32_t name_loc; /* 9 bytes at 40 */
		char comm[16];
		int64_t args[1];
		char name[16];
	} record = { 0, -4, 9 << 16 | 40, "worker", { 55 }, "/dev/null" };
	static const struct number_case cases[] = {
		{ "pid", -4, S, 4 },
		{ "pid * 2", -8, S, 8 },
		{ "args[0]", 55, S, 8 },
		{ "args[pid + 4]", 55, S, 8 },
		{ "tid", 101, U, 4 },
		{ "comm == \"work*\"", 1, B, 1 },
		{ "name == \"/dev/null\"", 1, B, 1 },
		{ "comm[1]", 'o', S, 1 },
	};
	struct probe_code code;
	struct machine m;
	char text[64];
	uint32_t ch, s64;

	ck_assert_int_eq(probe_types_new(&types), 0);
	types->flags = PROBE_TYPES_HAS_TYPES;
	ch = type(PROBE_KIND_INT, 1, PROBE_TYPE_IS_SIGNED | PROBE_TYPE_IS_CHAR);
	s64 = type(PROBE_KIND_INT, 8, PROBE_TYPE_IS_SIGNED);
	value("pid", type(PROBE_KIND_INT, 4, PROBE_TYPE_IS_SIGNED), PROBE_AT_FIELD,
	      PROBE_NO_REGISTER, 8);
	value("name", to(PROBE_KIND_ARRAY, 0, ch, 0), PROBE_AT_DATA_LOC, PROBE_NO_REGISTER, 12);
	value("comm", to(PROBE_KIND_ARRAY, 16, ch, 16), PROBE_AT_FIELD, PROBE_NO_REGISTER, 16);
	value("args", to(PROBE_KIND_ARRAY, 8, s64, 1), PROBE_AT_FIELD, PROBE_NO_REGISTER, 32);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_process(&m);
		m.record = &record;
		m.record_len = sizeof(record);
		m.record_at = 0xffff888000000000;
		snprintf(text, sizeof(text), "x=%s", cases[i].expr);
		run(&m, "tracepoint:a:b", text, types, &code);
		ck_assert_msg((int64_t)m.values[0].number == cases[i].value, "%s: %lld", text,
			      (long long)m.values[0].number);
		ck_assert_msg(code.type[0] == cases[i].type && code.size[0] == cases[i].size, "%s",
			      text);
	}
	make_process(&m);
	m.record = &record;
	m.record_len = sizeof(record);
	run(&m, "tracepoint:a:b", "x=name", types, &code);
	ck_assert_str_eq(m.values[0].text, "/dev/null");
	forget();
}
END_TEST

START_TEST(the_parts_of_a_probe)
{
	struct probe_def def = { .name = "p",
				 .has_end = true,
				 .n_args = 3,
				 .key = "arg0",
				 .condition = "gc->generation == -1" };
	struct probe_code begin, end;
	struct machine m;

	know_function();
	ck_assert_int_eq(probe_place_parse("uprobe:/bin/a:collect", &def.at, why), 0);
	ck_assert_int_eq(probe_place_parse("usdt:/bin/a:gc:done", &def.end, why), 0);
	ck_assert_int_eq(probe_arg_parse("a=gc->heap.size", &def.args[0], why), 0);
	ck_assert_int_eq(probe_arg_parse("b@end=how", &def.args[1], why), 0);
	ck_assert_int_eq(probe_arg_parse("c=how", &def.args[2], why), 0);
	ck_assert_int_eq(probe_arg_parse("n=gc->next->generation", &def.counter, why), 0);
	ck_assert_int_eq(probe_def_check(&def, why), 0);
	ck_assert_msg(probe_compile(&def, PROBES_BEGIN, types, &begin, why) == 0, "%s", why);
	ck_assert_msg(probe_compile(&def, PROBES_FINISH, types, &end, why) == 0, "%s", why);
	make_process(&m);
	ck_assert(machine_run(&m, &begin));
	ck_assert(!m.is_unwanted && m.has_key && m.has_counter);
	ck_assert_uint_eq(m.key, GC_AT);
	ck_assert_uint_eq(m.counter, 2);
	ck_assert_uint_eq(m.n_values, 2);
	ck_assert(begin.arg[0] == 0 && begin.arg[1] == 2);
	make_process(&m);
	ck_assert(machine_run(&m, &end));
	ck_assert(m.has_key && !m.has_counter && m.n_values == 1 && end.arg[0] == 1);
	ck_assert_int_eq((int64_t)m.values[0].number, -3);
	make_process(&m);
	machine_register(&m, probe_arch_arg(PROBE_ARCH, 0), NEXT_AT);
	ck_assert(machine_run(&m, &begin) && m.is_unwanted && m.n_values == 0);
	make_process(&m);
	machine_register(&m, probe_arch_arg(PROBE_ARCH, 0), 0);
	ck_assert(machine_run(&m, &begin) && m.is_unwanted);
	forget();
}
END_TEST

START_TEST(mistakes_are_explained)
{
	static const struct {
		const char *at, *text, *says;
	} bad[] = {
		{ "u:f", "x=gc->heap.sise", "near it: size" },
		{ "u:f", "x=gc->zzz", "it has generation, low" },
		{ "u:f", "x=gcc->heap", "near it: gc" },
		{ "u:f", "x=zzzzzz", "there are gc, how" },
		{ "u:f", "x=gc.heap", "write ->heap" },
		{ "u:f", "x=gc->heap->size", "write .size" },
		{ "u:f", "x=how->size", "no pointer" },
		{ "u:f", "x=gc->heap", "this is a struct" },
		{ "u:f", "x=*gc->opaque", "is not known; cast it" },
		{ "u:f", "x=arg9", "has no arg9, but 5 arguments" },
		{ "u:f", "x=ratio", "floating-point numbers, which a probe cannot read" },
		{ "u:f", "x=gc->ratio + 1", "cannot calculate" },
		{ "u:f", "x=gc->ratio:f32", "of 8 bytes: f64" },
		{ "u:f", "x=gc->ratio:u64", "its type is f64" },
		{ "u:f", "x=gc->generation:f64", "no floating-point number" },
		{ "u:f", "x=gc->heap.cells[4]", "has 4 elements" },
		{ "u:f", "x=(struct gv *)arg0", "near it: gc" },
		{ "u:f", "x=(struct gc)arg0", "to a pointer: (gc *)" },
		{ "u:f", "x=gc->heap.size < -1", "never negative" },
		{ "u:f", "x=gc->label < \"a\"", "with == or !=" },
		{ "u:f", "x=how == \"a\"", "str(p)" },
		{ "u:f", "x=\"a\"", "only be compared" },
		{ "u:f", "x=how / 0", "divides by 0" },
		{ "u:f", "x=str(gc->label, gc)", "whole number" },
		{ "u:f", "x=$rdx2", "no register" },
		{ "u:f", "x=&gc->mid", "has no address" },
		{ "u:f", "x=&how", "not in memory" },
		{ "u:f", "x=strlen(arg0)", "calls no functions" },
		{ "u:f", "x=(how ? 1 : 2)", "no ?:" },
		{ "u:f", "x=1.5", "no floating point" },
		{ "u:f", "x=(1", "a ) is missing" },
		{ "u:f", "x=gc->heap.cells[1", "a ] is missing" },
		{ "u:f", "x=1 2", "operator is expected" },
		{ "u:f", "x='ab'", "one between two quotes" },
		{ "u:f", "x=how == \"a", "does not end" },
		{ "u:f", "x=99999999999999999999", "more than 64 bits" },
		{ "u:f", "x=((((((((((((((((((((((((((1))))))))))))))))))))))))))", "too deeply" },
		{ "u:f", "x=how+(how+(how+(how+(how+(how+(how+(how+(how+how))))))))",
		  "nested too deeply" },
		{ "n:f", "x=gc->heap", "there is no debug information (DWARF)" },
		{ "n:f", "x=arg0->heap", "the type is not" },
		{ "n:f", "x=(struct gc *)arg0", "no debug information" },
		{ "n:f+4", "x=arg0", "name a register" },
		{ "r:f", "x=arg0", "arguments are gone" },
		{ "r:f", "x=gc", "cannot be told" },
		{ "t:f", "x=arg0", "fields have names" },
		{ "t:f", "x=$rdi", "no registers at a tracepoint" },
	};
	static const char *const specs[][2] = { { "u:", "uprobe:/bin/a:" },
						{ "n:", "uprobe:/bin/a:" },
						{ "r:", "uretprobe:/bin/a:" },
						{ "t:", "tracepoint:a:" } };

	know_function();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct probe_code code;
		char spec[64];

		for (size_t k = 0; k < 4; k++)
			if (strncmp(specs[k][0], bad[i].at, 2) == 0)
				snprintf(spec, sizeof(spec), "%s%s", specs[k][1], bad[i].at + 2);
		ck_assert_msg(
			compile(spec, bad[i].text, bad[i].at[0] == 'n' ? NULL : types, &code) < 0,
			"%s", bad[i].text);
		ck_assert_msg(strstr(why, bad[i].says), "%s: %s", bad[i].text, why);
	}
	forget();
}
END_TEST

START_TEST(code_that_is_too_long_is_refused)
{
	struct probe_def def = { .name = "p", .n_args = PROBES_ARGS };
	struct probe_code code;
	char text[PROBE_EXPR_LEN];

	know_function();
	ck_assert_int_eq(probe_place_parse("uprobe:/bin/a:f", &def.at, why), 0);
	for (size_t i = 0; i < def.n_args; i++) {
		snprintf(text, sizeof(text),
			 "a%zu=gc->next->next->next->next + how * how / how - "
			 "(how & how) + how * how",
			 i);
		ck_assert_int_eq(probe_arg_parse(text, &def.args[i], why), 0);
	}
	ck_assert_int_eq(probe_def_check(&def, why), 0);
	ck_assert_int_lt(probe_compile(&def, PROBES_SINGLE, types, &code, why), 0);
	ck_assert_msg(strstr(why, "more than the 96 instructions"), "%s", why);
	forget();
}
END_TEST

START_TEST(a_table_goes_over_the_wire)
{
	static uint8_t bytes[64 << 10];
	struct probe_types *there;
	struct machine m;
	struct probe_code code;
	ssize_t len;

	know_function();
	len = probe_types_encode(types, bytes, sizeof(bytes));
	ck_assert_int_gt(len, 0);
	ck_assert_int_lt(probe_types_encode(types, bytes, (size_t)len - 1), 0);
	ck_assert_int_eq(probe_types_decode(bytes, (size_t)len, &there), 0);
	make_process(&m);
	run(&m, "uprobe:/bin/a:f", "x=gc->next->heap.size", there, &code);
	ck_assert_uint_eq(m.values[0].number, 7);
	probe_types_free(there);
	for (size_t i = 0; i < (size_t)len; i++)
		ck_assert_int_lt(probe_types_decode(bytes, i, &there), 0);
	/* What is wrong in it is refused, or harmless. */
	for (size_t i = 0; i < (size_t)len; i++) {
		bytes[i] ^= 0xff;
		if (probe_types_decode(bytes, (size_t)len, &there) == 0) {
			(void)compile("uprobe:/bin/a:f", "x=gc->next->heap.size", there, &code);
			probe_types_free(there);
		}
		bytes[i] ^= 0xff;
	}
	forget();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe_compile");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, numbers_are_those_of_c);
	tcase_add_test(tc, registers_are_arguments_where_nothing_is_known);
	tcase_add_test(tc, members_are_followed);
	tcase_add_test(tc, text_is_read);
	tcase_add_test(tc, text_is_compared);
	tcase_add_test(tc, what_cannot_be_read_is_said);
	tcase_add_test(tc, what_is_returned);
	tcase_add_test(tc, fields_of_a_tracepoint);
	tcase_add_test(tc, the_parts_of_a_probe);
	tcase_add_test(tc, mistakes_are_explained);
	tcase_add_test(tc, code_that_is_too_long_is_refused);
	tcase_add_test(tc, a_table_goes_over_the_wire);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
