/* SPDX-License-Identifier: Apache-2.0 */
/* From call frame information made by hand, good and bad, to unwind tables. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cfi_image.h"
#include "unwind/cfi.h"
#include "unwind/eh_frame.h"
#include "unwind/elf_cfi.h"
#include "unwind/unwind_table.h"

/* Instructions with their operand inside. */
#define ADVANCE(n)    (0x40 | (n))
#define OFFSET(reg)   (0x80 | (reg))
#define RESTORE(reg)  (0xc0 | (reg))
#define DEF_CFA	      0x0c
#define DEF_CFA_REG   0x0d
#define DEF_CFA_OFF   0x0e
#define DEF_CFA_EXPR  0x0f
#define UNDEFINED     0x07
#define REGISTER      0x09
#define REMEMBER      0x0a
#define RESTORE_STATE 0x0b
#define EXPRESSION    0x10

enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16 };
enum { X9 = 9, X29 = 29, X30 = 30, XSP = 31 };

/* "CFA is rsp + 8, the return address there": what each function begins with. */
#define X86_INITIAL CFI_BYTES(DEF_CFA, RSP, 8, OFFSET(RIP), 1)
#define ARM_INITIAL CFI_BYTES(DEF_CFA, XSP, 0)

static struct cfi_image image;
static void *bytes;
static struct unwind_table table;
static size_t cie; /* of x86-64, absolute addresses, data alignment -8 */

static void setup(void)
{
	image = (struct cfi_image){ .machine = EM_X86_64 };
	bytes = NULL;
	cie = put_cie(&image.eh_frame, 0, 0x78, RIP, X86_INITIAL);
}

static void teardown(void)
{
	cfi_image_done(&image);
	free(bytes);
}

static int try_to_make(void)
{
	struct elf_source src = { .fd = -1 };
	size_t len;
	int r;

	if (!image.file.len)
		cfi_image_finish(&image);
	src.image = image.file.data;
	src.len = image.file.len;
	r = eh_frame_table_of(cfi_machine_find(image.machine), &src, &bytes, &len);
	if (r == 0)
		ck_assert_int_eq(unwind_table_decode(bytes, len, &table), 0);
	return r;
}

static void make(void)
{
	ck_assert_int_eq(try_to_make(), 0);
}

/* The rule at CFI_TEXT + offset. */
static struct unwind_rule rule_at(uint64_t offset)
{
	struct unwind_rule rule;

	unwind_table_find(&table, CFI_TEXT_OFFSET + offset, &rule);
	return rule;
}

static enum unwind_cfa kind_at(uint64_t offset)
{
	return rule_at(offset).cfa;
}

static void assert_rule(uint64_t offset, struct unwind_rule expected)
{
	struct unwind_rule r = rule_at(offset);

	ck_assert_msg(memcmp(&r, &expected, sizeof(r)) == 0,
		      "at 0x%x: cfa %d reg %d off %d add %d, fp %d %d, ra %d %d, bx %d",
		      (unsigned)offset, r.cfa, r.cfa_reg, r.cfa_off, r.cfa_add, r.fp, r.fp_off,
		      r.ra, r.ra_off, r.bx_off);
}

/* rsp + off, and nothing else has moved. */
static struct unwind_rule sp_rule(int32_t off)
{
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_SP, .cfa_off = off, .ra = UNWIND_REG_CFA_OFF, .ra_off = -8
	};
}

static void add(uint64_t offset, uint64_t size, struct cfi_bytes program)
{
	put_fde(&image.eh_frame, cie, CFI_TEXT + offset, size, program);
}

static void assert_flags(uint32_t expected)
{
	ck_assert_uint_eq(table.head.flags, expected);
}

/* ---- rows ---- */

START_TEST(rules_change_where_the_program_says)
{
	struct unwind_rule pushed = sp_rule(16);

	add(0x100, 0x40,
	    CFI_BYTES(ADVANCE(1), DEF_CFA_OFF, 16, OFFSET(RBP), 2, ADVANCE(3), DEF_CFA_REG, RBP,
		      ADVANCE(0x20), DEF_CFA, RSP, 8, RESTORE(RBP)));
	make();
	pushed.fp = UNWIND_REG_CFA_OFF;
	pushed.fp_off = -16;
	ck_assert_int_eq(kind_at(0xff), UNWIND_CFA_NONE);
	assert_rule(0x100, sp_rule(8));
	assert_rule(0x101, pushed);
	assert_rule(0x103, pushed);
	pushed.cfa = UNWIND_CFA_FP;
	assert_rule(0x104, pushed);
	assert_rule(0x123, pushed);
	assert_rule(0x124, sp_rule(8));
	assert_rule(0x13f, sp_rule(8));
	ck_assert_int_eq(kind_at(0x140), UNWIND_CFA_NONE);
	assert_flags(UNWIND_TABLE_EH_FRAME);
	ck_assert_uint_eq(table.head.n_fdes, 1);
}
END_TEST

START_TEST(equal_neighbours_are_one_row)
{
	add(0, 0x10, CFI_NOTHING);
	add(0x10, 0x10, CFI_BYTES(ADVANCE(4), DEF_CFA_OFF, 8));
	add(0x20, 0x10, CFI_NOTHING);
	make();
	ck_assert_uint_eq(table.head.n_rows, 2); /* and where it ends */
}
END_TEST

START_TEST(every_page_of_a_long_function_has_a_row)
{
	add(0xff0, 0x3020, CFI_BYTES(ADVANCE(0x20), DEF_CFA_OFF, 64));
	make();
	assert_rule(0xff0, sp_rule(8));
	assert_rule(0x1000, sp_rule(8));
	assert_rule(0x1010, sp_rule(64));
	assert_rule(0x2000, sp_rule(64));
	assert_rule(0x3fff, sp_rule(64));
	assert_rule(0x400f, sp_rule(64));
	ck_assert_int_eq(kind_at(0x4010), UNWIND_CFA_NONE);
	ck_assert_uint_eq(table.head.n_pages, 5);
	ck_assert_uint_eq(table.head.first_page, CFI_TEXT_OFFSET >> UNWIND_PAGE_SHIFT);
}
END_TEST

START_TEST(pages_without_code_have_no_rows)
{
	add(0x10, 0x10, CFI_NOTHING);
	add(0x5010, 0x10, CFI_NOTHING);
	make();
	ck_assert_uint_eq(table.head.n_pages, 6);
	ck_assert_uint_eq(table.head.n_rows, 6);
	ck_assert_int_eq(kind_at(0x2000), UNWIND_CFA_NONE);
}
END_TEST

/* ---- what lies between functions ---- */

START_TEST(padding_keeps_the_rule_and_longer_gaps_have_none)
{
	add(0, 0x31, CFI_NOTHING);
	add(0x40, 0x15, CFI_NOTHING); /* after 15 bytes up to a multiple of 64 */
	add(0x60, 0x05, CFI_NOTHING); /* 11 up to 32 */
	add(0x78, 0x08, CFI_NOTHING); /* 19 up to 8: no padding */
	add(0x180, 0x10, CFI_NOTHING);
	make();
	assert_rule(0x3f, sp_rule(8));
	assert_rule(0x5f, sp_rule(8));
	ck_assert_int_eq(kind_at(0x65), UNWIND_CFA_NONE);
	ck_assert_int_eq(kind_at(0x77), UNWIND_CFA_NONE);
	ck_assert_int_eq(kind_at(0x80), UNWIND_CFA_NONE);
	ck_assert_int_eq(kind_at(0x17f), UNWIND_CFA_NONE);
	assert_rule(0x180, sp_rule(8));
}
END_TEST

START_TEST(code_at_the_entry_has_no_caller)
{
	image.entry = CFI_TEXT + 0x110;
	add(0, 0x108, CFI_NOTHING);
	add(0x150, 0x10, CFI_NOTHING);
	make();
	ck_assert_int_eq(kind_at(0x108), UNWIND_CFA_NONE);
	ck_assert_int_eq(kind_at(0x110), UNWIND_CFA_END);
	ck_assert_int_eq(kind_at(0x14f), UNWIND_CFA_END);
	assert_rule(0x150, sp_rule(8));
}
END_TEST

START_TEST(what_follows_far_behind_the_entry_is_no_end)
{
	image.entry = CFI_TEXT + 0x1000;
	add(0, 0x10, CFI_NOTHING);
	make();
	ck_assert_int_eq(kind_at(0x10ff), UNWIND_CFA_END);
	ck_assert_int_eq(kind_at(0x1100), UNWIND_CFA_NONE);
}
END_TEST

START_TEST(an_entry_with_a_description_is_as_described)
{
	image.entry = CFI_TEXT + 0x10;
	add(0, 0x80, CFI_NOTHING);
	make();
	assert_rule(0x10, sp_rule(8));
}
END_TEST

START_TEST(order_does_not_matter)
{
	add(0x80, 0x10, CFI_BYTES(DEF_CFA_OFF, 32));
	add(0x00, 0x10, CFI_NOTHING);
	add(0x40, 0x10, CFI_BYTES(DEF_CFA_OFF, 16));
	make();
	assert_rule(0, sp_rule(8));
	assert_rule(0x40, sp_rule(16));
	assert_rule(0x80, sp_rule(32));
	ck_assert_uint_eq(table.head.n_fdes, 3);
}
END_TEST

START_TEST(where_two_overlap_the_later_start_counts)
{
	add(0x00, 0x100, CFI_BYTES(ADVANCE(0x10), DEF_CFA_OFF, 16, ADVANCE(0x30), DEF_CFA_OFF, 24));
	add(0x20, 0x10, CFI_BYTES(DEF_CFA_OFF, 64));
	add(0x20, 0x80, CFI_BYTES(DEF_CFA_OFF, 72)); /* the first of two that begin here */
	make();
	assert_rule(0x10, sp_rule(16));
	assert_rule(0x20, sp_rule(64));
	ck_assert_int_eq(kind_at(0x30), UNWIND_CFA_NONE);
	ck_assert_int_eq(kind_at(0x40), UNWIND_CFA_NONE);
}
END_TEST

START_TEST(only_code_of_the_file_is_described)
{
	put_fde(&image.eh_frame, cie, 0x1000, 0x100, CFI_NOTHING);	/* not loaded */
	put_fde(&image.eh_frame, cie, 0, 0x100, CFI_NOTHING);		/* removed */
	put_fde(&image.eh_frame, cie, CFI_EH_FRAME, 0x10, CFI_NOTHING); /* data */
	add(CFI_TEXT_SIZE - 0x10, 0x1000, CFI_BYTES(ADVANCE(0x18), DEF_CFA_OFF, 64));
	make();
	ck_assert_uint_eq(table.head.n_fdes, 1);
	assert_rule(CFI_TEXT_SIZE - 1, sp_rule(8));
	ck_assert_int_eq(kind_at(CFI_TEXT_SIZE), UNWIND_CFA_NONE);
	assert_flags(UNWIND_TABLE_EH_FRAME);
}
END_TEST

/* ---- how entries may be written ---- */

struct encoding {
	uint8_t value;
	unsigned size; /* 0: LEB128 */
	uint64_t base; /* 0: the place itself, for pcrel */
};

START_TEST(every_encoding_of_addresses_is_read)
{
	static const struct encoding encodings[] = {
		{ 0x00, 8, 1 }, { 0x01, 0, 1 },	       { 0x02, 2, CFI_TEXT }, { 0x03, 4, 1 },
		{ 0x04, 8, 1 }, { 0x08, 8, 1 },	       { 0x09, 0, 1 },	      { 0x0a, 2, CFI_TEXT },
		{ 0x0b, 4, 1 }, { 0x0c, 8, 1 },	       { 0x1b, 4, 0 },	      { 0x10, 8, 0 },
		{ 0x1c, 8, 0 }, { 0x23, 4, CFI_TEXT }, { 0x22, 2, CFI_TEXT }, { 0x3b, 4, CFI_GOT },
		{ 0x34, 8, 1 }, { 0x50, 8, 1 },
	};
	const struct encoding *e = &encodings[_i];
	struct buf *b = &image.eh_frame;
	uint64_t base = e->base, start = CFI_TEXT + 0x80;
	size_t own = put_cie(b, e->value, 0x78, RIP, X86_INITIAL), begin;

	if ((e->value & 0x70) == 0x00)
		base = 0;
	if (e->value == 0x02 || e->value == 0x0a)
		return; /* 16 bits reach only the first 64 KiB, where there is no code */
	if ((e->value & 0x70) == 0x30)
		base = CFI_GOT;
	if (e->value == 0x50)
		base = 0;
	begin = begin_entry(b, false);
	put_u32(b, (uint32_t)(b->len - own));
	if (e->value == 0x50)
		while (b->len % 8)
			put_u8(b, 0xee);
	if ((e->value & 0x70) == 0x10)
		base = CFI_EH_FRAME + b->len;
	for (int i = 0; i < 2; i++) {
		uint64_t v = i == 0 ? start - base : 0x20;

		if (e->size)
			put_uint(b, v, e->size);
		else if (e->value & 8)
			put_sleb(b, (int64_t)v);
		else
			put_uleb(b, v);
	}
	put_uleb(b, 0);
	end_entry(b, begin, false);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME);
	ck_assert_int_eq(kind_at(0x7f), UNWIND_CFA_NONE);
	assert_rule(0x80, sp_rule(8));
	assert_rule(0x9f, sp_rule(8));
	ck_assert_int_eq(kind_at(0xa0), UNWIND_CFA_NONE);
}
END_TEST

START_TEST(what_only_the_dynamic_linker_knows_is_refused)
{
	static const uint8_t encodings[] = { 0x9b, 0x80, 0x4b, 0x05, 0x6b, 0x0f };
	size_t own = put_cie(&image.eh_frame, encodings[_i], 0x78, RIP, X86_INITIAL);

	put_fde(&image.eh_frame, own, CFI_TEXT, 0x10, CFI_NOTHING);
	add(0x40, 0x10, CFI_NOTHING);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME | UNWIND_TABLE_DAMAGED);
	assert_rule(0x40, sp_rule(8));
}
END_TEST

/* A CIE of any version and augmentation, with its FDE for [0, 0x10). */
static void add_by_hand(bool is_64, uint8_t version, const char *augmentation,
			struct cfi_bytes data)
{
	struct buf *b = &image.eh_frame;
	size_t own = begin_entry(b, is_64), begin;

	put_u32(b, 0);
	put_u8(b, version);
	ck_assert_int_eq(buf_append(b, augmentation, strlen(augmentation) + 1), 0);
	if (strcmp(augmentation, "eh") == 0)
		put_u64(b, 0xabcdef);
	if (version == 4)
		put_uint(b, 8, 2); /* bytes of an address, of a segment selector */
	put_uleb(b, 1);
	put_sleb(b, -8);
	put_u8(b, RIP);
	if (*augmentation == 'z')
		put_uleb(b, data.len);
	ck_assert_int_eq(buf_append(b, data.data, data.len), 0);
	ck_assert_int_eq(buf_append(b, X86_INITIAL.data, X86_INITIAL.len), 0);
	end_entry(b, own, is_64);

	begin = begin_entry(b, is_64);
	put_u32(b, (uint32_t)(b->len - own));
	put_u64(b, CFI_TEXT);
	put_u64(b, 0x10);
	if (*augmentation == 'z') {
		put_uleb(b, 4); /* of an exception table, say */
		put_u32(b, 0x0f0f0f0f);
	}
	end_entry(b, begin, is_64);
}

START_TEST(versions_and_augmentations_are_read)
{
	static const struct {
		bool is_64;
		uint8_t version;
		const char *augmentation;
		struct cfi_bytes data;
	} cases[] = {
		{ false, 1, "", { NULL, 0 } },
		{ false, 3, "", { NULL, 0 } },
		{ false, 4, "", { NULL, 0 } },
		{ true, 1, "", { NULL, 0 } },
		{ false, 1, "eh", { NULL, 0 } },
		{ false, 1, "z", { NULL, 0 } },
		{ false, 1, "z", { (const uint8_t *)"\x11\x22", 2 } }, /* what nobody asked for */
		{ false, 1, "zR", { (const uint8_t *)"\x00", 1 } },
		{ false, 4, "zR", { (const uint8_t *)"\x00", 1 } },
		{ true, 1, "zR", { (const uint8_t *)"\x00", 1 } },
		{ false, 1, "zPLR", { (const uint8_t *)"\x9b\1\2\3\4\x1b\0", 7 } },
		{ false, 1, "zPLR", { (const uint8_t *)"\xff\xff\0", 3 } },
		{ false, 1, "zRB", { (const uint8_t *)"\x00", 1 } },
		{ false, 1, "zRG", { (const uint8_t *)"\x00", 1 } },
	};

	image.eh_frame.len = 0;
	add_by_hand(cases[_i].is_64, cases[_i].version, cases[_i].augmentation, cases[_i].data);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME);
	assert_rule(0, sp_rule(8));
	assert_rule(0xf, sp_rule(8));
	ck_assert_int_eq(kind_at(0x10), UNWIND_CFA_NONE);
}
END_TEST

START_TEST(what_cannot_be_understood_is_left_out)
{
	static const struct {
		uint8_t version;
		const char *augmentation;
		struct cfi_bytes data;
	} cases[] = {
		{ 2, "", { NULL, 0 } },
		{ 5, "", { NULL, 0 } },
		{ 1, "R", { NULL, 0 } },
		{ 1, "armcc+", { NULL, 0 } },
		{ 1, "zX", { (const uint8_t *)"\x00", 1 } },
		{ 1, "zR", { NULL, 0 } },
		{ 1, "zP", { (const uint8_t *)"\x04\1", 2 } },
	};

	add_by_hand(false, cases[_i].version, cases[_i].augmentation, cases[_i].data);
	add(0x40, 0x10, CFI_NOTHING);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME | UNWIND_TABLE_DAMAGED);
	ck_assert_int_eq(kind_at(0), UNWIND_CFA_NONE);
	assert_rule(0x40, sp_rule(8));
}
END_TEST

START_TEST(a_signal_frame_is_one)
{
	add_by_hand(false, 1, "zRS", CFI_BYTES(0));
	make();
	assert_rule(0, (struct unwind_rule){ .cfa = UNWIND_CFA_SIGNAL });
}
END_TEST

/* ---- instructions ---- */

#define AT_8(off)                                                                              \
	{                                                                                      \
		.cfa = UNWIND_CFA_SP, .cfa_off = (off), .ra = UNWIND_REG_CFA_OFF, .ra_off = -8 \
	}

static const struct instructions {
	struct cfi_bytes program;
	struct unwind_rule expected; /* at 0x20 of 0x40 bytes */
} instructions[] = {
#define PROGRAM(...) \
	.program = { (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) }
#define RULE(...)  .expected = { .ra = UNWIND_REG_CFA_OFF, .ra_off = -8, __VA_ARGS__ }
#define ONLY(kind) .expected = { .cfa = (kind) }
	{ PROGRAM(0, 0, 0), .expected = AT_8(8) },
	{ PROGRAM(0x01, 0x20, 0x10, 0x40, 0, 0, 0, 0, 0, DEF_CFA_OFF, 16), .expected = AT_8(16) },
	{ PROGRAM(0x02, 0x20, DEF_CFA_OFF, 16), .expected = AT_8(16) },
	{ PROGRAM(0x02, 0x21, DEF_CFA_OFF, 16), .expected = AT_8(8) },
	{ PROGRAM(0x03, 0x20, 0, DEF_CFA_OFF, 16), .expected = AT_8(16) },
	{ PROGRAM(0x04, 0x20, 0, 0, 0, DEF_CFA_OFF, 16), .expected = AT_8(16) },
	{ PROGRAM(0x1d, 0x20, 0, 0, 0, 0, 0, 0, 0, DEF_CFA_OFF, 16), .expected = AT_8(16) },
	{ PROGRAM(0x04, 0, 0, 0, 0x80, DEF_CFA_OFF, 16), .expected = AT_8(8) },
	{ PROGRAM(0x05, RBP, 2),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_CFA_OFF, .fp_off = -16) },
	{ PROGRAM(OFFSET(RBP), 2, 0x06, RBP), .expected = AT_8(8) },
	{ PROGRAM(OFFSET(RBP), 2, RESTORE(RBP)), .expected = AT_8(8) },
	{ PROGRAM(OFFSET(RBP), 2, 0x08, RBP), .expected = AT_8(8) },
	{ PROGRAM(0x07, RBP), RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_UNDEF) },
	{ PROGRAM(0x07, RIP), ONLY(UNWIND_CFA_END) },
	{ PROGRAM(0x09, RBP, RBP), .expected = AT_8(8) },
	{ PROGRAM(0x09, RBP, 12), RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_BAD) },
	{ PROGRAM(0x09, RIP, 5),
	  .expected = { .cfa = UNWIND_CFA_SP, .cfa_off = 8, .ra = UNWIND_REG_REG, .ra_off = 5 } },
	{ PROGRAM(0x09, RIP, 99), ONLY(UNWIND_CFA_BAD_RA) },
	{ PROGRAM(REMEMBER, DEF_CFA_OFF, 64, OFFSET(RBP), 2, RESTORE_STATE), .expected = AT_8(8) },
	{ PROGRAM(REMEMBER, DEF_CFA_OFF, 64, OFFSET(RBP), 2),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 64, .fp = UNWIND_REG_CFA_OFF, .fp_off = -16) },
	{ PROGRAM(DEF_CFA, RBP, 16), RULE(.cfa = UNWIND_CFA_FP, .cfa_off = 16) },
	{ PROGRAM(DEF_CFA, 10, 0), RULE(.cfa = UNWIND_CFA_REG, .cfa_reg = 10) },
	{ PROGRAM(DEF_CFA, 0x80, 1, 0), ONLY(UNWIND_CFA_BAD_EXPR) },
	{ PROGRAM(DEF_CFA, RSP, 0xff, 0xff, 0xff, 0xff, 0x0f), ONLY(UNWIND_CFA_BAD_EXPR) },
	{ PROGRAM(DEF_CFA_REG, RBP), RULE(.cfa = UNWIND_CFA_FP, .cfa_off = 8) },
	{ PROGRAM(0x12, RBP, 0x7e), RULE(.cfa = UNWIND_CFA_FP, .cfa_off = 16) },
	{ PROGRAM(0x13, 0x7d), .expected = AT_8(24) },
	{ PROGRAM(0x11, RBP, 0x7e),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_CFA_OFF, .fp_off = 16) },
	{ PROGRAM(0x14, RBP, 2), RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_BAD) },
	{ PROGRAM(0x15, RBP, 2), RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_BAD) },
	{ PROGRAM(0x14, RSP, 0), .expected = AT_8(8) },
	{ PROGRAM(0x14, RSP, 1), ONLY(UNWIND_CFA_BAD_EXPR) }, /* the caller's sp is not the CFA */
	{ PROGRAM(0x16, RBP, 2, 0x76, 0),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_BAD) },
	{ PROGRAM(0x2e, 0x80, 1), .expected = AT_8(8) },
	{ PROGRAM(0x2d, 0x2c), .expected = AT_8(8) },
	{ PROGRAM(0x2f, RBP, 2),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_CFA_OFF, .fp_off = 16) },
	{ PROGRAM(OFFSET(RBX), 3), RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .bx_off = -24) },
	{ PROGRAM(UNDEFINED, RBX),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .bx_off = UNWIND_BX_GONE) },
	{ PROGRAM(EXPRESSION, RBX, 2, 0x76, 0x70),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .bx_off = UNWIND_BX_GONE) },
	{ PROGRAM(OFFSET(RIP), 2), ONLY(UNWIND_CFA_BAD_RA) },
	{ PROGRAM(EXPRESSION, RIP, 2, 0x76, 0), ONLY(UNWIND_CFA_BAD_RA) },
	{ PROGRAM(OFFSET(RBP), 0x80, 0x80, 1),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_BAD) },
	/* Where the frame pointer is saved in a frame that was aligned. */
	{ PROGRAM(EXPRESSION, RBP, 2, 0x76, 0),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_DEREF_FP) },
	{ PROGRAM(EXPRESSION, RBP, 2, 0x76, 0x70),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_DEREF_FP, .fp_off = -16) },
	{ PROGRAM(EXPRESSION, RBP, 2, 0x77, 0),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_BAD) },
	{ PROGRAM(EXPRESSION, RBP, 3, 0x76, 0, 0x06),
	  RULE(.cfa = UNWIND_CFA_SP, .cfa_off = 8, .fp = UNWIND_REG_BAD) },
	{ PROGRAM(DEF_CFA_EXPR, 3, 0x76, 0x78, 0x06),
	  RULE(.cfa = UNWIND_CFA_DEREF_FP, .cfa_off = -8) },
	/* libcrypto's: *(rsp + 152) + 8 */
	{ PROGRAM(DEF_CFA_EXPR, 6, 0x77, 0x98, 1, 0x06, 0x23, 8),
	  RULE(.cfa = UNWIND_CFA_DEREF_SP, .cfa_off = 152, .cfa_add = 8) },
	{ PROGRAM(DEF_CFA_EXPR, 5, 0x77, 0, 0x06, 0x38, 0x22),
	  RULE(.cfa = UNWIND_CFA_DEREF_SP, .cfa_add = 8) },
	{ PROGRAM(DEF_CFA_EXPR, 6, 0x77, 0, 0x06, 0x08, 16, 0x1c),
	  RULE(.cfa = UNWIND_CFA_DEREF_SP, .cfa_add = -16) },
	{ PROGRAM(DEF_CFA_EXPR, 6, 0x77, 0, 0x06, 0x09, 0xf0, 0x22),
	  RULE(.cfa = UNWIND_CFA_DEREF_SP, .cfa_add = -16) },
	{ PROGRAM(DEF_CFA_EXPR, 2, 0x76, 16), RULE(.cfa = UNWIND_CFA_FP, .cfa_off = 16) },
	{ PROGRAM(DEF_CFA_EXPR, 4, 0x77, 8, 0x23, 8), .expected = AT_8(16) },
	{ PROGRAM(DEF_CFA_EXPR, 3, 0x70, 0, 0x06), ONLY(UNWIND_CFA_BAD_EXPR) },
	{ PROGRAM(DEF_CFA_EXPR, 4, 0x77, 0, 0x06, 0x06), ONLY(UNWIND_CFA_BAD_EXPR) },
	{ PROGRAM(DEF_CFA_EXPR, 0), ONLY(UNWIND_CFA_BAD_EXPR) },
	{ PROGRAM(DEF_CFA_EXPR, 1, 0x77), ONLY(UNWIND_CFA_BAD_EXPR) },
	/* libgcrypt's way back from an expression. */
	{ PROGRAM(DEF_CFA_OFF, 56, DEF_CFA_EXPR, 3, 0x77, 8, 0x06, DEF_CFA_REG, RSP),
	  .expected = AT_8(56) },
	{ PROGRAM(DEF_CFA_EXPR, 3, 0x77, 8, 0x06, DEF_CFA_OFF, 16),
	  RULE(.cfa = UNWIND_CFA_DEREF_SP, .cfa_off = 8) },
	{ PROGRAM(DEF_CFA_EXPR, 3, 0x77, 8, 0x06, DEF_CFA_OFF, 16, DEF_CFA_REG, RSP),
	  .expected = AT_8(16) },
	/* The PLT's, of both kinds of stubs, and what only looks like it. */
	{ PROGRAM(DEF_CFA_EXPR, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
	  RULE(.cfa = UNWIND_CFA_PLT, .cfa_off = 11) },
	{ PROGRAM(DEF_CFA_EXPR, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22),
	  RULE(.cfa = UNWIND_CFA_PLT, .cfa_off = 10) },
	{ PROGRAM(DEF_CFA_EXPR, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x23, 0x2a, 0x33, 0x24, 0x22),
	  ONLY(UNWIND_CFA_BAD_EXPR) },
	{ PROGRAM(DEF_CFA_EXPR, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22),
	  ONLY(UNWIND_CFA_BAD_EXPR) },
#undef PROGRAM
#undef RULE
#undef ONLY
};

START_TEST(an_instruction_does_what_the_standard_says)
{
	add(0, 0x40, instructions[_i].program);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME);
	assert_rule(0x20, instructions[_i].expected);
}
END_TEST

START_TEST(a_program_that_breaks_off_loses_what_follows)
{
	static const struct cfi_bytes broken[] = {
		{ (const uint8_t *)"\x50\x3f", 2 },		     /* no such instruction */
		{ (const uint8_t *)"\x50\x0b", 2 },		     /* nothing was put aside */
		{ (const uint8_t *)"\x50\x01\0\0\0\0\0\0\0\0", 10 }, /* backwards */
		{ (const uint8_t *)"\x50\x0f\x7f\x77", 4 }, /* an expression beyond the end */
		{ (const uint8_t *)"\x50\x0c\x80\x80\x80\x80\x80\x80",
		  8 }, /* a number without end */
	};

	/* What pads the entry must not complete it: so a second one follows at once. */
	add(0, 0x40, broken[_i]);
	add(0x40, 0x10, CFI_BYTES(DEF_CFA_OFF, 16));
	make();
	ck_assert(table.head.flags & UNWIND_TABLE_EH_FRAME);
	assert_rule(0x0f, sp_rule(8));
	if (_i == 4)
		return; /* here the padding does end the number: of a register that is none */
	ck_assert(table.head.flags & UNWIND_TABLE_DAMAGED);
	ck_assert_int_eq(kind_at(0x10), UNWIND_CFA_NONE);
	ck_assert_int_eq(kind_at(0x3f), UNWIND_CFA_NONE);
	assert_rule(0x40, sp_rule(16));
}
END_TEST

START_TEST(states_are_put_aside_up_to_a_bound)
{
	uint8_t program[2 * CFI_STACK_MAX + 2];

	memset(program, REMEMBER, CFI_STACK_MAX);
	memset(program + CFI_STACK_MAX, RESTORE_STATE, CFI_STACK_MAX);
	add(0, 0x10, (struct cfi_bytes){ program, 2 * CFI_STACK_MAX });
	memset(program, REMEMBER, CFI_STACK_MAX + 1);
	memset(program + CFI_STACK_MAX + 1, RESTORE_STATE, CFI_STACK_MAX + 1);
	add(0x40, 0x10, (struct cfi_bytes){ program, 2 * CFI_STACK_MAX + 2 });
	make();
	assert_rule(0, sp_rule(8));
	ck_assert_int_eq(kind_at(0x40), UNWIND_CFA_NONE);
	assert_flags(UNWIND_TABLE_EH_FRAME | UNWIND_TABLE_DAMAGED);
}
END_TEST

/* ---- arm64 ---- */

static const struct instructions arm_instructions[] = {
#define PROGRAM(...) \
	.program = { (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }) }
	{ PROGRAM(0), { .cfa = UNWIND_CFA_SP } },
	{ PROGRAM(0x2d), { .cfa = UNWIND_CFA_SP } },
	{ PROGRAM(DEF_CFA_OFF, 32, OFFSET(X29), 4, OFFSET(X30), 3),
	  { .cfa = UNWIND_CFA_SP,
	    .cfa_off = 32,
	    .fp = UNWIND_REG_CFA_OFF,
	    .fp_off = -32,
	    .ra = UNWIND_REG_CFA_OFF,
	    .ra_off = -24 } },
	{ PROGRAM(DEF_CFA, X29, 16, OFFSET(X29), 2, OFFSET(X30), 1),
	  { .cfa = UNWIND_CFA_FP,
	    .cfa_off = 16,
	    .fp = UNWIND_REG_CFA_OFF,
	    .fp_off = -16,
	    .ra = UNWIND_REG_CFA_OFF,
	    .ra_off = -8 } },
	{ PROGRAM(OFFSET(X30), 1, RESTORE(X30)), { .cfa = UNWIND_CFA_SP } },
	{ PROGRAM(DEF_CFA, X9, 0), { .cfa = UNWIND_CFA_REG, .cfa_reg = X9 } },
	{ PROGRAM(REGISTER, X30, X9),
	  { .cfa = UNWIND_CFA_SP, .ra = UNWIND_REG_REG, .ra_off = X9 } },
	{ PROGRAM(REGISTER, X30, X30), { .cfa = UNWIND_CFA_SP } },
	{ PROGRAM(UNDEFINED, X30), { .cfa = UNWIND_CFA_END } },
	{ PROGRAM(OFFSET(RBX), 3), { .cfa = UNWIND_CFA_SP } }, /* x3 is nothing special here */
	{ PROGRAM(EXPRESSION, X30, 2, 0x8d, 0), { .cfa = UNWIND_CFA_BAD_RA } },
	{ PROGRAM(EXPRESSION, X29, 2, 0x8d, 0),
	  { .cfa = UNWIND_CFA_SP, .fp = UNWIND_REG_DEREF_FP } },
	{ PROGRAM(DEF_CFA_EXPR, 3, 0x8f, 8, 0x06), { .cfa = UNWIND_CFA_DEREF_SP, .cfa_off = 8 } },
	{ PROGRAM(DEF_CFA_EXPR, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22),
	  { .cfa = UNWIND_CFA_BAD_EXPR } },
#undef PROGRAM
};

START_TEST(arm64_has_its_own_registers)
{
	image.machine = EM_AARCH64;
	image.eh_frame.len = 0;
	cie = put_cie(&image.eh_frame, 0, 0x78, X30, ARM_INITIAL);
	add(0, 0x40, arm_instructions[_i].program);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME);
	assert_rule(0x20, arm_instructions[_i].expected);
}
END_TEST

/* ---- sections ---- */

START_TEST(a_file_without_descriptions_says_so)
{
	image.eh_frame.len = 0;
	make();
	assert_flags(UNWIND_TABLE_NO_CFI);
	ck_assert_uint_eq(table.head.n_rows, 0);
	ck_assert_uint_eq(table.head.n_pages, 0);
}
END_TEST

START_TEST(without_section_headers_the_segment_leads_there)
{
	add(0, 0x10, CFI_NOTHING);
	put_u32(&image.eh_frame, 0); /* the end */
	put_u32(&image.eh_frame, 0x12345678);
	image.without_sections = true;
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME);
	assert_rule(0, sp_rule(8));
}
END_TEST

START_TEST(after_an_empty_entry_a_section_goes_on)
{
	add(0, 0x10, CFI_NOTHING);
	put_u32(&image.eh_frame, 0);
	add(0x40, 0x10, CFI_NOTHING);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME);
	assert_rule(0x40, sp_rule(8));
}
END_TEST

START_TEST(debug_frame_fills_what_eh_frame_leaves)
{
	struct buf *b = &image.debug_frame;
	size_t debug = put_debug_cie(b, X86_INITIAL);

	add(0x100, 0x40, CFI_NOTHING);
	put_debug_fde(b, debug, CFI_TEXT, 0x200, CFI_BYTES(DEF_CFA_OFF, 64));
	put_debug_fde(b, debug, CFI_TEXT + 0x110, 8, CFI_BYTES(DEF_CFA_OFF, 72));
	put_debug_fde(b, debug, CFI_TEXT + 0x300, 0x10, CFI_BYTES(DEF_CFA_OFF, 80));
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME | UNWIND_TABLE_DEBUG_FRAME);
	assert_rule(0, sp_rule(64));
	assert_rule(0xff, sp_rule(64));
	assert_rule(0x100, sp_rule(8));
	assert_rule(0x110, sp_rule(8));
	assert_rule(0x13f, sp_rule(8));
	ck_assert_int_eq(kind_at(0x140), UNWIND_CFA_NONE);
	assert_rule(0x300, sp_rule(80));
}
END_TEST

START_TEST(debug_frame_alone_is_enough_compressed_or_not)
{
	struct buf *b = &image.debug_frame;
	size_t debug;

	image.eh_frame.len = 0;
	image.is_compressed = _i == 1;
	image.is_zdebug = _i == 2;
	put_u32(b, 0); /* so that the CIE is not at 0 */
	debug = put_debug_cie(b, X86_INITIAL);
	put_debug_fde(b, debug, CFI_TEXT, 0x10, CFI_NOTHING);
	make();
	assert_flags(UNWIND_TABLE_DEBUG_FRAME);
	assert_rule(0, sp_rule(8));
}
END_TEST

START_TEST(debug_frame_of_64_bits_is_read)
{
	struct buf *b = &image.debug_frame;
	size_t own = begin_entry(b, true), begin;

	image.eh_frame.len = 0;
	put_u64(b, UINT64_MAX);
	ck_assert_int_eq(buf_append(b, "\4\0\x08\0\1\x78\x10", 7), 0);
	ck_assert_int_eq(buf_append(b, X86_INITIAL.data, X86_INITIAL.len), 0);
	end_entry(b, own, true);
	begin = begin_entry(b, true);
	put_u64(b, own);
	put_u64(b, CFI_TEXT);
	put_u64(b, 0x10);
	end_entry(b, begin, true);
	make();
	assert_flags(UNWIND_TABLE_DEBUG_FRAME);
	assert_rule(0, sp_rule(8));
}
END_TEST

START_TEST(damage_to_the_compression_is_said)
{
	Elf64_Chdr ch = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1ull << 40 };
	struct buf *b = &image.debug_frame;
	uint8_t *found;

	add(0, 0x10, CFI_NOTHING);
	image.is_compressed = true;
	put_debug_fde(b, put_debug_cie(b, X86_INITIAL), CFI_TEXT + 0x100, 0x10, CFI_NOTHING);
	cfi_image_finish(&image);
	found = memmem(image.file.data, image.file.len,
		       &(Elf64_Chdr){ .ch_type = ELFCOMPRESS_ZLIB, .ch_size = b->len }, sizeof(ch));
	ck_assert_ptr_nonnull(found);
	switch (_i) {
	case 0: /* claims much */
		break;
	case 1: /* a method that we do not know */
		ch = (Elf64_Chdr){ .ch_type = 7, .ch_size = b->len };
		break;
	case 2: /* no zlib */
		ch.ch_size = b->len;
		memset(found + sizeof(ch), 0xff, 8);
		break;
	}
	memcpy(found, &ch, sizeof(ch));
	make();
	ck_assert(table.head.flags & UNWIND_TABLE_DAMAGED);
	assert_rule(0, sp_rule(8));
}
END_TEST

/* ---- damage ---- */

START_TEST(damaged_entries_cost_only_themselves)
{
	struct buf *b = &image.eh_frame;
	size_t begin;

	add(0, 0x10, CFI_NOTHING);
	begin = begin_entry(b, false);
	switch (_i) {
	case 0: /* a CIE before the section */
		put_u32(b, 0xfffffff0);
		break;
	case 1: /* inside of another entry */
		put_u32(b, (uint32_t)(b->len - cie - 4));
		break;
	case 2: /* itself */
		put_u32(b, (uint32_t)(b->len - begin));
		break;
	case 3: /* code up to beyond the end of the address space */
		put_u32(b, (uint32_t)(b->len - cie));
		put_u64(b, CFI_TEXT + 0x20);
		put_u64(b, UINT64_MAX - 0x10);
		put_uleb(b, 0);
		break;
	case 4: /* ends inside of its addresses */
		put_u32(b, (uint32_t)(b->len - cie));
		put_u32(b, 0);
		break;
	}
	end_entry(b, begin, false);
	add(0x48, 0x10, CFI_NOTHING);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME | UNWIND_TABLE_DAMAGED);
	assert_rule(0, sp_rule(8));
	assert_rule(0x48, sp_rule(8));
	ck_assert_int_eq(kind_at(0x20), UNWIND_CFA_NONE);
}
END_TEST

START_TEST(a_length_beyond_the_section_ends_it)
{
	struct buf *b = &image.eh_frame;

	add(0, 0x10, CFI_NOTHING);
	put_u32(b, _i == 0 ? 0x10000 : 0xffffffff);
	put_u64(b, UINT64_MAX - 4);
	put_u64(b, 0);
	make();
	assert_flags(UNWIND_TABLE_EH_FRAME | UNWIND_TABLE_DAMAGED);
	assert_rule(0, sp_rule(8));
}
END_TEST

START_TEST(a_file_may_end_anywhere)
{
	struct elf_source src = { .fd = -1 };

	add(0, 0x10, CFI_NOTHING);
	add(0x40, 0x10, CFI_BYTES(ADVANCE(1), DEF_CFA_OFF, 16));
	cfi_image_finish(&image);
	for (size_t len = 0; len < image.file.len; len++) {
		uint8_t *copy = malloc(len + 1); /* of its own, for the sanitizer */
		void *made;
		size_t made_len;
		int r;

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, image.file.data, len);
		src.image = copy;
		src.len = len;
		r = eh_frame_table_of(cfi_machine_find(EM_X86_64), &src, &made, &made_len);
		ck_assert(r == 0 || r == -ENOEXEC);
		if (r == 0) {
			ck_assert_int_eq(unwind_table_decode(made, made_len, &table), 0);
			free(made);
		}
		free(copy);
	}
}
END_TEST

START_TEST(what_is_no_program_of_this_machine_is_refused)
{
	Elf64_Ehdr *eh;

	add(0, 0x10, CFI_NOTHING);
	cfi_image_finish(&image);
	eh = (Elf64_Ehdr *)image.file.data;
	switch (_i) {
	case 0:
		eh->e_ident[EI_CLASS] = ELFCLASS32;
		break;
	case 1:
		eh->e_ident[EI_DATA] = ELFDATA2MSB;
		break;
	case 2:
		eh->e_machine = EM_AARCH64;
		break;
	case 3:
		eh->e_type = ET_REL;
		break;
	case 4:
		eh->e_phoff = 1ull << 62;
		break;
	case 5:
		eh->e_phnum = 0xffff;
		break;
	case 6:
		eh->e_ident[0] = 0;
		break;
	}
	ck_assert_int_eq(try_to_make(), -ENOEXEC);
}
END_TEST

/* ---- much ---- */

START_TEST(three_million_functions_degrade_only_their_table)
{
	enum { N = 3000000 };

	/* Each of 16 bytes, with a row of its own inside. */
	image.text_size = 16ull * N;
	image.eh_frame.len = 0;
	cie = put_cie(&image.eh_frame, 0, 0x78, RIP, X86_INITIAL);
	ck_assert_int_eq(buf_reserve(&image.eh_frame, 40ull * N), 0);
	for (uint64_t i = 0; i < N; i++)
		add(16 * i, 16, CFI_BYTES(ADVANCE(1), DEF_CFA_OFF, 16));
	make();
	ck_assert(table.head.flags & UNWIND_TABLE_CUT);
	ck_assert(table.head.flags & UNWIND_TABLE_EH_FRAME);
	ck_assert_uint_gt(table.head.n_fdes, 1000000);
	ck_assert_uint_lt(table.head.n_fdes, N);
	assert_rule(16 * 1000, sp_rule(8));
	assert_rule(16 * 1000 + 5, sp_rule(16));
	ck_assert_int_eq(kind_at(16 * (N - 1)), UNWIND_CFA_NONE);
}
END_TEST

START_TEST(code_of_terabytes_ends_at_the_last_page)
{
	const uint64_t all = (uint64_t)UNWIND_TABLE_MAX_PAGES << UNWIND_PAGE_SHIFT;

	image.text_size = 1ull << 42;
	add(0, 1ull << 42, CFI_NOTHING);
	make();
	ck_assert(table.head.flags & UNWIND_TABLE_CUT);
	ck_assert_uint_eq(table.head.n_pages, UNWIND_TABLE_MAX_PAGES);
	assert_rule(all - 1, sp_rule(8));
	ck_assert_int_eq(kind_at(all), UNWIND_CFA_NONE);
}
END_TEST

/* ---- the real thing ---- */

START_TEST(the_vdso_is_read_from_memory)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_rule rule;
	size_t len;

	if (!vdso)
		return;
	/* Two pages at least; what is behind the file in them is of no matter. */
	ck_assert_int_eq(eh_frame_table_image(vdso, (size_t)sysconf(_SC_PAGESIZE), &bytes, &len),
			 0);
	ck_assert_int_eq(unwind_table_decode(bytes, len, &table), 0);
	ck_assert_uint_gt(table.head.n_rows, 3);
	rule = table.rules[UNWIND_ROW_RULE(table.rows[1])];
	ck_assert_int_ne(rule.cfa, UNWIND_CFA_BAD_EXPR);
}
END_TEST

#define N_OF(array) ((int)(sizeof(array) / sizeof(array[0])))

int main(void)
{
	Suite *s = suite_create("eh_frame");
	TCase *tc = tcase_create("eh_frame"), *much = tcase_create("much");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(much, 120);
	tcase_add_checked_fixture(much, setup, teardown);
	tcase_add_test(tc, rules_change_where_the_program_says);
	tcase_add_test(tc, equal_neighbours_are_one_row);
	tcase_add_test(tc, every_page_of_a_long_function_has_a_row);
	tcase_add_test(tc, pages_without_code_have_no_rows);
	tcase_add_test(tc, padding_keeps_the_rule_and_longer_gaps_have_none);
	tcase_add_test(tc, code_at_the_entry_has_no_caller);
	tcase_add_test(tc, what_follows_far_behind_the_entry_is_no_end);
	tcase_add_test(tc, an_entry_with_a_description_is_as_described);
	tcase_add_test(tc, order_does_not_matter);
	tcase_add_test(tc, where_two_overlap_the_later_start_counts);
	tcase_add_test(tc, only_code_of_the_file_is_described);
	tcase_add_loop_test(tc, every_encoding_of_addresses_is_read, 0, 18);
	tcase_add_loop_test(tc, what_only_the_dynamic_linker_knows_is_refused, 0, 6);
	tcase_add_loop_test(tc, versions_and_augmentations_are_read, 0, 14);
	tcase_add_loop_test(tc, what_cannot_be_understood_is_left_out, 0, 7);
	tcase_add_test(tc, a_signal_frame_is_one);
	tcase_add_loop_test(tc, an_instruction_does_what_the_standard_says, 0, N_OF(instructions));
	tcase_add_loop_test(tc, a_program_that_breaks_off_loses_what_follows, 0, 5);
	tcase_add_test(tc, states_are_put_aside_up_to_a_bound);
	tcase_add_loop_test(tc, arm64_has_its_own_registers, 0, N_OF(arm_instructions));
	tcase_add_test(tc, a_file_without_descriptions_says_so);
	tcase_add_test(tc, without_section_headers_the_segment_leads_there);
	tcase_add_test(tc, after_an_empty_entry_a_section_goes_on);
	tcase_add_test(tc, debug_frame_fills_what_eh_frame_leaves);
	tcase_add_loop_test(tc, debug_frame_alone_is_enough_compressed_or_not, 0, 3);
	tcase_add_test(tc, debug_frame_of_64_bits_is_read);
	tcase_add_loop_test(tc, damage_to_the_compression_is_said, 0, 3);
	tcase_add_loop_test(tc, damaged_entries_cost_only_themselves, 0, 5);
	tcase_add_loop_test(tc, a_length_beyond_the_section_ends_it, 0, 2);
	tcase_add_test(tc, a_file_may_end_anywhere);
	tcase_add_loop_test(tc, what_is_no_program_of_this_machine_is_refused, 0, 7);
	tcase_add_test(much, three_million_functions_degrade_only_their_table);
	tcase_add_test(much, code_of_terabytes_ends_at_the_last_page);
	tcase_add_test(tc, the_vdso_is_read_from_memory);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, much);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
