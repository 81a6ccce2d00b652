/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a HotSpot: what its code is called, and how to unwind from it. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "hotspot/hotspot_reader.h"
#include "hotspot/hotspot_rows.h"
#include "hotspot_image.h"
#include "jit/jit_map.h"
#include "jit/jit_table.h"
#include "unwind/unwind_table.h"

#define NOW (1000 * NS_PER_SEC)

static struct image image;
static struct hotspot_reader *reader;
static struct hotspot_result result;

static void set_up(void)
{
	ck_assert_int_eq(hotspot_reader_new(&reader), 0);
	image_init(&image, IMAGE_17, 0);
}

static void tear_down(void)
{
	hotspot_reader_free(reader);
	hotspot_reader_free(NULL);
}

static int read_at(uint64_t now_ns)
{
	static uint64_t since_ns;
	struct hotspot_read read = { .symbols = image.symbols, .now_ns = now_ns };
	struct hotspot_memory memory = image_memory(&image);
	int r;

	read.since_ns = now_ns == NOW ? 0 : since_ns;
	r = hotspot_reader_read(reader, &memory, &read, &result);
	since_ns = now_ns;
	return r;
}

/* The name at an address, or "". */
static const char *name_at(uint64_t pc, uint64_t time_ns)
{
	static char name[JIT_MAX_NAME + 1];
	const struct jit_map *map = hotspot_reader_map(reader);
	size_t len = jit_map_table_size(map);
	void *block = malloc(len);
	struct jit_table table;
	struct jit_name found;

	name[0] = '\0';
	jit_map_write_table(map, block);
	ck_assert_int_eq(jit_table_check(block, len, &table), 0);
	if (jit_table_find(&table, pc, time_ns, &found)) {
		memcpy(name, found.function, found.function_len);
		name[found.function_len] = '\0';
	}
	free(block);
	return name;
}

/* What the heaps' tables say of an address. */
static struct unwind_rule rule_at(uint64_t pc)
{
	struct hotspot_table tables[HOTSPOT_MAX_HEAPS];
	struct unwind_rule rule = { .cfa = UNWIND_CFA_BAD_EXPR }; /* no heap */
	int n = hotspot_reader_tables(reader, tables);

	ck_assert_int_ge(n, 0);
	for (int i = 0; i < n; i++) {
		struct unwind_table table;

		ck_assert_int_eq(unwind_table_decode(tables[i].bytes, tables[i].len, &table), 0);
		if (pc >= tables[i].heap.start && pc < tables[i].heap.end)
			unwind_table_find(&table, pc - tables[i].heap.start, &rule);
		free(tables[i].bytes);
	}
	return rule;
}

static void assert_sp(struct unwind_rule rule, int off, bool has_fp)
{
	ck_assert_uint_eq(rule.cfa, UNWIND_CFA_SP);
	ck_assert_int_eq(rule.cfa_off, off);
	ck_assert_uint_eq(rule.ra, UNWIND_REG_CFA_OFF);
	ck_assert_int_eq(rule.ra_off, -8);
	ck_assert_uint_eq(rule.fp, has_fp ? UNWIND_REG_CFA_OFF : UNWIND_REG_SAME);
	ck_assert_int_eq(rule.fp_off, has_fp ? -16 : 0);
}

static void assert_fp(struct unwind_rule rule)
{
	ck_assert_uint_eq(rule.cfa, UNWIND_CFA_FP);
	ck_assert_int_eq(rule.cfa_off, 16);
	ck_assert_uint_eq(rule.fp, UNWIND_REG_CFA_OFF);
	ck_assert_int_eq(rule.fp_off, -16);
}

/* ---- rows ---- */

static struct hotspot_row rows[64];

static size_t rows_of(enum hotspot_kind kind, bool is_method, int frame_size, int frame_complete,
		      const void *bytes, size_t len)
{
	struct hotspot_code code = { .kind = kind,
				     .is_method = is_method,
				     .frame_size = frame_size,
				     .frame_complete = frame_complete,
				     .size = len,
				     .bytes = bytes,
				     .n_bytes = len };

	return hotspot_rows(&code, rows, 64);
}

/* The rule at an offset in the code. */
static struct unwind_rule row_at(size_t n, uint32_t at)
{
	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(rows[0].at, 0);
	while (n > 1 && rows[n - 1].at > at)
		n--;
	return rows[n - 1].rule;
}

/* As C1 and C2 of JDK 17 make it, with a stack bang. */
static const uint8_t banged[] = {
	0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, /* 0: mov %eax,-0x14000(%rsp) */
	0x55,					  /* 7: push %rbp */
	0x48, 0x83, 0xec, 0x30,			  /* 8: sub $0x30,%rsp */
	0x5d,					  /* 12: a byte that is no pop */
	0x90, 0x48, 0x83, 0xc4, 0x30,		  /* 14: add $0x30,%rsp */
	0x5d,					  /* 18: pop %rbp */
	0x49, 0x3b, 0xa7, 0x38, 0x03, 0x00, 0x00, /* 19: cmp 0x338(%r15),%rsp */
	0x0f, 0x87, 0x01, 0x00, 0x00, 0x00,	  /* 26: ja */
	0xc3,					  /* 32: ret */
	0x90, 0x90,				  /* 33: another way through it */
};

START_TEST(a_compiled_method_has_a_frame_of_constant_size_but_at_its_ends)
{
	size_t n = rows_of(HOTSPOT_COMPILED, true, 8, 12, banged, sizeof(banged));

	assert_sp(row_at(n, 0), 8, false);
	assert_sp(row_at(n, 7), 8, false);
	assert_sp(row_at(n, 8), 16, true);
	assert_sp(row_at(n, 12), 64, true);
	assert_sp(row_at(n, 13), 64, true);
	assert_sp(row_at(n, 17), 64, true);
	assert_sp(row_at(n, 18), 16, true);
	assert_sp(row_at(n, 19), 8, false);
	assert_sp(row_at(n, 32), 8, false);
	assert_sp(row_at(n, 33), 64, true);
}
END_TEST

START_TEST(a_frame_may_be_made_without_a_push)
{
	static const uint8_t code[] = {
		0x48, 0x81, 0xec, 0x18, 0x00, 0x00, 0x00, /* 0: sub $0x18,%rsp */
		0x48, 0x89, 0x6c, 0x24, 0x10,		  /* 7: mov %rbp,0x10(%rsp) */
		0x90,					  /* 12: */
		0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3,	  /* 13: add $0x10,%rsp; pop %rbp; ret */
	};
	size_t n = rows_of(HOTSPOT_COMPILED, true, 4, 12, code, sizeof(code));

	assert_sp(row_at(n, 0), 8, false);
	assert_sp(row_at(n, 7), 32, false);
	assert_sp(row_at(n, 12), 32, true);
	assert_sp(row_at(n, 17), 16, true);
	assert_sp(row_at(n, 18), 8, false);
}
END_TEST

START_TEST(a_prologue_that_is_not_known_ends_where_the_blob_says)
{
	static const uint8_t code[64] = { 0x90, 0x55, 0x5d };
	size_t n = rows_of(HOTSPOT_COMPILED, true, 6, 20, code, sizeof(code));

	assert_sp(row_at(n, 19), 8, false);
	assert_sp(row_at(n, 20), 48, true);
	assert_sp(row_at(n, 63), 48, true);
}
END_TEST

START_TEST(stubs_with_a_frame_pointer_are_walked_by_it)
{
	static const uint8_t code[] = {
		0x55, 0x48, 0x8b, 0xec,	      /* 0: push %rbp; mov %rsp,%rbp */
		0x90, 0xc9, 0xc3,	      /* 4: nop; 5: leave; 6: ret */
		0x90,			      /* 7: */
		0x5d, 0xc5, 0xf8, 0x77, 0xc3, /* 8: pop %rbp; 9: vzeroupper; ret */
		0x55, 0x48, 0x89, 0xe5,	      /* 13: the next one, in the other encoding */
		0x90,			      /* 17: */
	};
	size_t n = rows_of(HOTSPOT_STUBS, false, 0, -1, code, sizeof(code));

	assert_sp(row_at(n, 0), 8, false);
	assert_sp(row_at(n, 1), 16, true);
	assert_fp(row_at(n, 4));
	assert_sp(row_at(n, 6), 8, false);
	assert_fp(row_at(n, 7));
	assert_sp(row_at(n, 8), 16, true);
	assert_sp(row_at(n, 9), 8, false);
	assert_sp(row_at(n, 12), 8, false);
	assert_sp(row_at(n, 13), 8, false);
	assert_sp(row_at(n, 14), 16, true);
	assert_fp(row_at(n, 17));
	/* The same as a stub that says how large its frame is. */
	n = rows_of(HOTSPOT_COMPILED, false, 144, -1, code, sizeof(code));
	assert_fp(row_at(n, 4));
}
END_TEST

START_TEST(what_has_no_frame_has_what_it_pushes)
{
	static const uint8_t code[] = {
		0x57, 0x56, 0x90, 0x50,			  /* 0: */
		0x48, 0x83, 0xec, 0x08, 0xe8, 0, 0, 0, 0, /* 4: sub $8,%rsp; 8: call */
		0x48, 0x83, 0xc4, 0x08, 0xc3,		  /* 13: add $8,%rsp; 17: ret */
	};
	size_t n = rows_of(HOTSPOT_FRAMELESS, false, 0, -1, code, sizeof(code));

	assert_sp(row_at(n, 0), 8, false);
	assert_sp(row_at(n, 1), 16, false);
	assert_sp(row_at(n, 2), 24, false);
	assert_sp(row_at(n, 4), 24, false);
	assert_sp(row_at(n, 8), 32, false);
	assert_sp(row_at(n, 13), 32, false);
	assert_sp(row_at(n, 17), 24, false);
}
END_TEST

START_TEST(what_has_no_frame_may_keep_the_frame_pointer)
{
	static const uint8_t code[] = {
		0x55, 0x48, 0x8b, 0xef, /* push %rbp; mov %rdi,%rbp */
		0x53, 0x90, 0x50,	/* push %rbx; nop; push %rax */
	};
	size_t n = rows_of(HOTSPOT_FRAMELESS, false, 0, -1, code, sizeof(code));

	assert_sp(row_at(n, 0), 8, false);
	assert_sp(row_at(n, 1), 16, true);
	assert_sp(row_at(n, 4), 16, true);
	assert_sp(row_at(n, 5), 24, true);
	assert_sp(row_at(n, 6), 24, true);
}
END_TEST

START_TEST(the_interpreter_says_in_its_frame_where_its_caller_is)
{
	static const uint8_t code[] = { 0x90, 0xc9, 0xc3 };
	size_t n = rows_of(HOTSPOT_INTERPRETER, false, 0, -1, code, sizeof(code));
	struct unwind_rule rule = row_at(n, 2);

	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(rule.cfa, UNWIND_CFA_DEREF_FP);
	ck_assert_int_eq(rule.cfa_off, -8);
	ck_assert_uint_eq(rule.ra, UNWIND_REG_DEREF_FP);
	ck_assert_int_eq(rule.ra_off, 8);
	ck_assert_uint_eq(rule.fp, UNWIND_REG_DEREF_FP);
	ck_assert_int_eq(rule.fp_off, 0);
}
END_TEST

START_TEST(blobs_are_told_by_their_names)
{
	ck_assert_int_eq(hotspot_kind_of("Interpreter", 0), HOTSPOT_INTERPRETER);
	ck_assert_int_eq(hotspot_kind_of("StubRoutines (2)", 0), HOTSPOT_STUBS);
	ck_assert_int_eq(hotspot_kind_of("I2C/C2I adapters", 0), HOTSPOT_FRAMELESS);
	ck_assert_int_eq(hotspot_kind_of("new_instance Runtime1 stub", 144), HOTSPOT_COMPILED);
	ck_assert_int_eq(hotspot_kind_of("nmethod", -1), HOTSPOT_FRAMELESS);
	ck_assert_int_eq(hotspot_kind_of("nmethod", INT32_MAX), HOTSPOT_FRAMELESS);
	ck_assert(hotspot_is_method("native nmethod"));
	ck_assert(!hotspot_is_method("nmethods"));
}
END_TEST

/* ---- the whole ---- */

static uint64_t add_method(unsigned heap, const char *class_name, const char *name, int id)
{
	struct image_blob blob = { .name = "nmethod",
				   .frame_size = 8,
				   .frame_complete = 12,
				   .method = image_method(&image, class_name, name),
				   .id = id,
				   .code = banged,
				   .size = sizeof(banged) };

	return image_blob(&image, heap, &blob);
}

static uint64_t add_interpreter(void)
{
	static const uint8_t code[600];
	struct image_blob blob = {
		.name = "Interpreter", .frame_complete = -1, .code = code, .size = sizeof(code)
	};

	return image_blob(&image, 0, &blob);
}

static void methods_have_names_and_rows(enum image_version version)
{
	uint64_t interpreter, first, second;

	image_init(&image, version, 0);
	interpreter = add_interpreter();
	first = add_method(0, "java/lang/String", "hashCode", 1);
	second = add_method(1, "Main", "run", 2);
	ck_assert_int_eq(read_at(NOW), 0);
	ck_assert(result.is_complete);
	ck_assert_str_eq(result.why, "");
	ck_assert_str_eq(name_at(interpreter + 599, NOW), "[interpreted]");
	ck_assert_str_eq(name_at(first, NOW), "java.lang.String.hashCode");
	ck_assert_str_eq(name_at(second + sizeof(banged) - 1, NOW), "Main.run");
	ck_assert_str_eq(name_at(second + sizeof(banged), NOW), "");
	ck_assert_uint_eq(rule_at(interpreter).cfa, UNWIND_CFA_DEREF_FP);
	assert_sp(rule_at(first), 8, false);
	assert_sp(rule_at(second + 12), 64, true);
	/* Nothing is said of what lies between. */
	ck_assert_uint_eq(rule_at(second + sizeof(banged)).cfa, UNWIND_CFA_NONE);
	ck_assert_uint_eq(rule_at(IMAGE_HEAP(1)).cfa, UNWIND_CFA_NONE);
}

START_TEST(methods_of_different_versions_have_names_and_rows)
{
	methods_have_names_and_rows(IMAGE_17);
	hotspot_reader_free(reader);
	ck_assert_int_eq(hotspot_reader_new(&reader), 0);
	methods_have_names_and_rows(IMAGE_25);
}
END_TEST

START_TEST(what_has_not_changed_is_not_read_again)
{
	uint64_t version;
	unsigned n_first, n_second;

	for (int i = 0; i < 20; i++)
		add_method(0, "Main", "run", i);
	ck_assert_int_eq(read_at(NOW), 0);
	n_first = image.n_reads;
	/* Once more, since it may have been read while it was being written. */
	version = hotspot_reader_version(reader);
	ck_assert_int_eq(read_at(NOW + 1), 0);
	ck_assert_uint_eq(hotspot_reader_version(reader), version);
	image.n_reads = 0;
	ck_assert_int_eq(read_at(NOW + 2), 0);
	n_second = image.n_reads;
	ck_assert_uint_eq(hotspot_reader_version(reader), version);
	ck_assert_uint_lt(n_second, 40);
	ck_assert_uint_lt(n_second, n_first / 5);
}
END_TEST

START_TEST(code_that_is_replaced_has_the_name_of_its_time)
{
	uint64_t version, old = add_method(0, "Main", "old", 1), now;

	ck_assert_int_eq(read_at(NOW), 0);
	version = hotspot_reader_version(reader);
	image_free_blob(&image, old);
	ck_assert_int_eq(read_at(NOW + 10), 0);
	ck_assert_uint_ne(hotspot_reader_version(reader), version);
	ck_assert_uint_eq(rule_at(old + 12).cfa, UNWIND_CFA_NONE);
	/* Its name stays as long as nobody else is there. */
	ck_assert_str_eq(name_at(old, NOW + 10), "Main.old");
	image.heap_at[0] = IMAGE_HEAP(0);
	now = add_method(0, "Main", "young", 2);
	ck_assert_uint_eq(now, old);
	ck_assert_int_eq(read_at(NOW + 20), 0);
	ck_assert_str_eq(name_at(old, NOW + 5), "Main.old");
	ck_assert_str_eq(name_at(old, NOW + 20), "Main.young");
	assert_sp(rule_at(old + 12), 64, true);
}
END_TEST

START_TEST(what_was_written_while_it_was_read_is_read_again)
{
	uint64_t code = add_method(0, "Main", "run", 1);
	uint8_t zeroes[sizeof(banged)] = { 0 };

	image_put(&image, code, zeroes, sizeof(zeroes));
	ck_assert_int_eq(read_at(NOW), 0);
	assert_sp(rule_at(code + 18), 64, true); /* no return is seen */
	image_put(&image, code, banged, sizeof(banged));
	ck_assert_int_eq(read_at(NOW + 1), 0);
	assert_sp(rule_at(code + 18), 16, true);
}
END_TEST

START_TEST(a_method_whose_name_cannot_be_read_has_none_for_now)
{
	struct image_blob blob = { .name = "nmethod",
				   .frame_size = 8,
				   .frame_complete = 12,
				   .method = 0x1234,
				   .code = banged,
				   .size = sizeof(banged) };
	uint64_t code = image_blob(&image, 0, &blob), version;

	ck_assert_int_eq(read_at(NOW), 0);
	ck_assert_str_eq(name_at(code, NOW), "[unnamed method]");
	assert_sp(rule_at(code + 12), 64, true);
	version = hotspot_reader_version(reader);
	ck_assert_int_eq(read_at(NOW + 1), 0);
	ck_assert_int_eq(read_at(NOW + 2), 0);
	ck_assert_uint_eq(hotspot_reader_version(reader), version);
}
END_TEST

/* Each field that its tables leave out switches it off, and is named. */
START_TEST(a_jvm_that_lacks_something_is_left_alone)
{
	for (unsigned i = 1; i < 26; i++) { /* the first one is of no use */
		uint64_t n_before;

		hotspot_reader_free(reader);
		ck_assert_int_eq(hotspot_reader_new(&reader), 0);
		image_init(&image, i % 2 ? IMAGE_17 : IMAGE_25, 1ull << i);
		(void)add_method(0, "Main", "run", 1);
		ck_assert_int_eq(read_at(NOW), 0);
		ck_assert_msg(strstr(result.why, "::") != NULL, "%u: %s", i, result.why);
		n_before = image.n_reads;
		ck_assert_int_eq(read_at(NOW + 1), 0);
		ck_assert_str_ne(result.why, "");
		ck_assert_uint_eq(image.n_reads, n_before); /* for ever */
	}
}
END_TEST

START_TEST(a_jvm_that_begins_is_not_ready)
{
	uint64_t zero = 0;

	image_put(&image, image.symbols[HOTSPOT_STRUCT_STRIDE], &zero, 8);
	ck_assert_int_eq(read_at(NOW), -EFAULT);
	zero = 48;
	image_put(&image, image.symbols[HOTSPOT_STRUCT_STRIDE], &zero, 8);
	/* Then there are no heaps yet. */
	zero = 0;
	image_put(&image, IMAGE_BASE + 0x1000, &zero, 8);
	ck_assert_int_eq(read_at(NOW + 1), -EFAULT);
	ck_assert_uint_eq(jit_map_table_size(hotspot_reader_map(reader)),
			  sizeof(struct jit_table_head));
}
END_TEST

/* They would take the place of others in what all processes share. */
START_TEST(frames_have_not_any_number_of_sizes)
{
	struct hotspot_table tables[HOTSPOT_MAX_HEAPS];
	struct unwind_table table;
	int n;

	for (int i = 0; i < 4; i++) {
		static uint8_t pushes[4096];
		struct image_blob blob = {
			.name = "x", .frame_complete = -1, .code = pushes, .size = sizeof(pushes)
		};

		memset(pushes, 0x50, sizeof(pushes)); /* a row each, and a rule */
		ck_assert_uint_ne(image_blob(&image, 0, &blob), 0);
	}
	ck_assert_int_eq(read_at(NOW), 0);
	n = hotspot_reader_tables(reader, tables);
	ck_assert_int_eq(n, IMAGE_N_HEAPS);
	ck_assert_int_eq(unwind_table_decode(tables[0].bytes, tables[0].len, &table), 0);
	ck_assert_uint_le(table.head.n_rules, 4096);
	ck_assert_uint_gt(table.head.n_rules, 4000);
	for (int i = 0; i < n; i++)
		free(tables[i].bytes);
}
END_TEST

START_TEST(a_heap_that_makes_no_sense_ends)
{
	uint64_t first = add_method(0, "Main", "first", 1), second, other;
	uint32_t zero = 0;

	second = add_method(0, "Main", "second", 2);
	other = add_method(1, "Main", "other", 3);
	/* The head of its block says that it has no length. */
	image_put(&image, second - 352 - 16, &zero, sizeof(zero));
	ck_assert_int_eq(read_at(NOW), 0);
	ck_assert_str_eq(name_at(first, NOW), "Main.first");
	ck_assert_str_eq(name_at(second, NOW), "");
	ck_assert_str_eq(name_at(other, NOW), "Main.other");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hotspot");
	TCase *t = tcase_create("rows"), *w = tcase_create("reader");
	SRunner *sr;
	int failed;

	suite_add_tcase(s, t);
	tcase_add_test(t, a_compiled_method_has_a_frame_of_constant_size_but_at_its_ends);
	tcase_add_test(t, a_frame_may_be_made_without_a_push);
	tcase_add_test(t, a_prologue_that_is_not_known_ends_where_the_blob_says);
	tcase_add_test(t, stubs_with_a_frame_pointer_are_walked_by_it);
	tcase_add_test(t, what_has_no_frame_has_what_it_pushes);
	tcase_add_test(t, what_has_no_frame_may_keep_the_frame_pointer);
	tcase_add_test(t, the_interpreter_says_in_its_frame_where_its_caller_is);
	tcase_add_test(t, blobs_are_told_by_their_names);

	suite_add_tcase(s, w);
	tcase_add_checked_fixture(w, set_up, tear_down);
	tcase_set_timeout(w, 60);
	tcase_add_test(w, methods_of_different_versions_have_names_and_rows);
	tcase_add_test(w, what_has_not_changed_is_not_read_again);
	tcase_add_test(w, code_that_is_replaced_has_the_name_of_its_time);
	tcase_add_test(w, what_was_written_while_it_was_read_is_read_again);
	tcase_add_test(w, a_method_whose_name_cannot_be_read_has_none_for_now);
	tcase_add_test(w, a_jvm_that_lacks_something_is_left_alone);
	tcase_add_test(w, a_jvm_that_begins_is_not_ready);
	tcase_add_test(w, frames_have_not_any_number_of_sizes);
	tcase_add_test(w, a_heap_that_makes_no_sense_ends);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
