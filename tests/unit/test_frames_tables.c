/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables of generated code, which change all the time, in the maps of the walker. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "symbolize/jit_question.h"
#include "unwind/frames_tables.h"
#include "unwind/table_builder.h"
#include "unwind/unwind_maps.h"

#define TGID  77
#define HEAP  0x7f0000000000ull
#define OTHER 0x7f0000100000ull
#define NOW   (1000 * NS_PER_SEC)

static struct unwind_maps *maps;
static struct frames_tables *tables;
static struct jit_frames frames;
static void *blocks[16];
static size_t n_blocks;

/* What the source says. */
static struct {
	int r;
	const struct jit_frames *frames;
	uint64_t version;
	bool current;
} says;

static int source(void *ctx, uint32_t tgid, uint64_t time_ns, const struct jit_frames **ret,
		  uint64_t *ret_version, bool *ret_current)
{
	(void)ctx;
	(void)time_ns;
	*ret = tgid == TGID ? says.frames : NULL;
	*ret_version = tgid == TGID ? says.version : 0;
	*ret_current = tgid != TGID || says.current;
	return tgid == TGID ? says.r : 0;
}

static void set_up(void)
{
	ck_assert_int_eq(unwind_maps_new(false, &maps), 0);
	ck_assert_int_eq(frames_tables_new(maps, source, NULL, &tables), 0);
	frames.n = 0;
}

static void tear_down(void)
{
	frames_tables_free(tables);
	frames_tables_free(NULL);
	unwind_maps_free(maps);
	while (n_blocks > 0)
		free(blocks[--n_blocks]);
}

/* Code of 256 bytes at the beginning, with frames of that size; 0: none. */
static void add(uint64_t start, uint64_t end, int size)
{
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_SP, .cfa_off = size, .ra = UNWIND_REG_CFA_OFF, .ra_off = -8
	};
	struct table_builder b = { 0 };
	size_t len;

	if (size) {
		ck_assert_int_eq(table_builder_set(&b, 0, &rule), 0);
		rule = (struct unwind_rule){ 0 };
		ck_assert_int_eq(table_builder_set(&b, 256, &rule), 0);
	}
	ck_assert_int_eq(table_builder_finish(&b, 0, 0, &blocks[n_blocks], &len), 0);
	table_builder_done(&b);
	frames.all[frames.n].start = start;
	frames.all[frames.n].end = end;
	ck_assert_int_eq(
		unwind_table_decode(blocks[n_blocks++], len, &frames.all[frames.n++].table), 0);
	says.r = 0;
	says.frames = &frames;
	says.version++;
}

/* The size of frames at `pc`, as a walker finds it; 0: no rule, -1: no table, -2: not yet. */
static int frame_size(uint64_t pc)
{
	const struct unwind_table_ref *ref;
	const struct unwind_rule *rule;
	struct unwind_mapping m;

	frames_tables_piece(tables, TGID, pc, pc + 1, &m);
	ck_assert_uint_eq(m.start, pc);
	ck_assert_uint_eq(m.end, pc + 1);
	if (m.kind == UNWIND_MAPPING_JIT)
		return -1;
	ck_assert_uint_eq(m.kind, UNWIND_MAPPING_JIT_TABLE);
	ref = unwind_maps_table(maps, m.table);
	if (ref->state != UNWIND_TABLE_READY)
		return -2;
	rule = unwind_maps_rule(maps, ref->first, ref->n_pages, pc + m.delta);
	return rule && rule->cfa ? rule->cfa_off : 0;
}

START_TEST(a_process_of_which_nobody_tells_has_none)
{
	ck_assert_uint_eq(frames_tables_update(tables, TGID, NOW), 0);
	ck_assert_int_eq(frame_size(HEAP), -1);
	ck_assert(frames_tables_is_current(tables, TGID + 1, NOW));
}
END_TEST

START_TEST(what_is_not_known_yet_is_waited_for)
{
	uint64_t number;

	says.r = -EAGAIN;
	number = frames_tables_update(tables, TGID, NOW);
	ck_assert_uint_ne(number, 0);
	ck_assert_int_eq(frame_size(HEAP), -2);
	ck_assert_uint_eq(frames_tables_update(tables, TGID, NOW), number);
	ck_assert(!frames_tables_is_current(tables, TGID, NOW));
	add(HEAP, HEAP + 0x10000, 48);
	ck_assert_uint_ne(frames_tables_update(tables, TGID, NOW), number);
	ck_assert_int_eq(frame_size(HEAP), 48);
	/* Or it turns out that there is nothing. */
	frames_tables_drop(tables, TGID, NOW);
	says.frames = NULL;
	says.r = -EAGAIN;
	number = frames_tables_update(tables, TGID, NOW);
	says.r = 0;
	ck_assert_uint_ne(frames_tables_update(tables, TGID, NOW), number);
	ck_assert_int_eq(frame_size(HEAP), -1);
}
END_TEST

START_TEST(mappings_are_cut_where_tables_begin_and_end)
{
	struct unwind_mapping m;

	add(OTHER, OTHER + 0x10000, 64); /* in no order */
	add(HEAP, HEAP + 0x10000, 48);
	ck_assert_uint_ne(frames_tables_update(tables, TGID, NOW), 0);
	ck_assert_int_eq(frame_size(HEAP - 1), -1);
	ck_assert_int_eq(frame_size(HEAP), 48);
	ck_assert_int_eq(frame_size(HEAP + 255), 48);
	ck_assert_int_eq(frame_size(HEAP + 256), 0);
	ck_assert_int_eq(frame_size(HEAP + 0xffff), 0);
	ck_assert_int_eq(frame_size(HEAP + 0x10000), -1);
	ck_assert_int_eq(frame_size(OTHER + 1), 64);

	frames_tables_piece(tables, TGID, HEAP - 0x1000, OTHER + 0x1000, &m);
	ck_assert_uint_eq(m.end, HEAP);
	ck_assert_uint_eq(m.kind, UNWIND_MAPPING_JIT);
	frames_tables_piece(tables, TGID, HEAP + 0x1000, OTHER + 0x1000, &m);
	ck_assert_uint_eq(m.start, HEAP + 0x1000);
	ck_assert_uint_eq(m.end, HEAP + 0x10000);
	ck_assert_uint_eq(m.start + m.delta, 0x1000);
	frames_tables_piece(tables, TGID, m.end, OTHER + 0x1000, &m);
	ck_assert_uint_eq(m.end, OTHER);
	frames_tables_piece(tables, TGID, OTHER, OTHER + 0x1000, &m);
	ck_assert_uint_eq(m.end, OTHER + 0x1000);
}
END_TEST

/* The kernel goes on with the ones before until it has other mappings. */
START_TEST(a_change_is_another_table)
{
	struct unwind_mapping before, now;
	uint64_t number;

	add(HEAP, HEAP + 0x10000, 48);
	number = frames_tables_update(tables, TGID, NOW);
	ck_assert_uint_eq(frames_tables_update(tables, TGID, NOW), number);
	frames_tables_piece(tables, TGID, HEAP, HEAP + 1, &before);
	frames_tables_settle(tables, TGID, NOW);
	for (int size = 64; size < 80; size += 8) { /* of the first nobody has seen anything */
		frames.n = 0;
		add(HEAP, HEAP + 0x10000, size);
		ck_assert_uint_ne(frames_tables_update(tables, TGID, NOW), number);
		ck_assert_int_eq(frame_size(HEAP), size);
		ck_assert_uint_eq(unwind_maps_table(maps, before.table)->state, UNWIND_TABLE_READY);
	}
	frames_tables_piece(tables, TGID, HEAP, HEAP + 1, &now);
	frames_tables_settle(tables, TGID, NOW);
	ck_assert_uint_eq(unwind_maps_table(maps, before.table)->state, UNWIND_TABLE_FREE);
	ck_assert_uint_eq(unwind_maps_table(maps, now.table)->state, UNWIND_TABLE_READY);
}
END_TEST

START_TEST(tables_that_are_not_used_any_more_are_free_again)
{
	struct unwind_maps_stats stats;

	for (int i = 0; i < 16; i++) {
		frames.n = 0;
		add(HEAP, HEAP + 0x10000, 48 + 8 * i);
		ck_assert_uint_ne(frames_tables_update(tables, TGID, NOW), 0);
		if (i % 2)
			frames_tables_settle(tables, TGID, NOW);
	}
	frames_tables_drop(tables, TGID, NOW);
	unwind_maps_collect(maps, NOW + 2 * NS_PER_SEC);
	unwind_maps_stats(maps, &stats);
	ck_assert_uint_eq(stats.n_tables, 0);
	ck_assert_uint_eq(stats.n_rows, 0);
	ck_assert_uint_eq(stats.n_pages, 0);
	ck_assert_int_eq(frame_size(HEAP), -1);
}
END_TEST

START_TEST(a_heap_without_code_is_waited_for)
{
	add(HEAP, HEAP + 0x10000, 0);
	ck_assert_uint_ne(frames_tables_update(tables, TGID, NOW), 0);
	ck_assert_int_eq(frame_size(HEAP), -2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("frames_tables");
	TCase *t = tcase_create("frames_tables");
	SRunner *sr;
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_process_of_which_nobody_tells_has_none);
	tcase_add_test(t, what_is_not_known_yet_is_waited_for);
	tcase_add_test(t, mappings_are_cut_where_tables_begin_and_end);
	tcase_add_test(t, a_change_is_another_table);
	tcase_add_test(t, tables_that_are_not_used_any_more_are_free_again);
	tcase_add_test(t, a_heap_without_code_is_waited_for);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
