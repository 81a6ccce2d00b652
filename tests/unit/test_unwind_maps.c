/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables and mappings in the maps of the walker, without a kernel. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "unwind/eh_frame.h"
#include "unwind/table_builder.h"
#include "unwind/unwind_maps.h"

static struct unwind_maps *maps;

static void set_up(void)
{
	ck_assert_int_eq(unwind_maps_new(false, &maps), 0);
}

static void tear_down(void)
{
	unwind_maps_free(maps);
	unwind_maps_free(NULL);
}

struct built {
	void *bytes;
	struct unwind_table table;
};

static struct built built_done(void *bytes, size_t len)
{
	struct built b = { .bytes = bytes };

	ck_assert_int_eq(unwind_table_decode(bytes, len, &b.table), 0);
	return b;
}

static struct built table_of_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes;
	size_t len;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(eh_frame_table(fd, &bytes, &len), 0);
	close(fd);
	return built_done(bytes, len);
}

/* One row each `step` bytes, each with a rule of its own out of `n_rules`, numbered from `base` on.
 */
static struct built made_up(unsigned n_rows, unsigned step, unsigned n_rules, int base)
{
	struct table_builder builder = { 0 };
	void *bytes;
	size_t len;
	int r = 0;

	for (unsigned i = 0; i < n_rows; i++) {
		struct unwind_rule rule = { .cfa = UNWIND_CFA_SP,
					    .ra = UNWIND_REG_CFA_OFF,
					    .cfa_off = base + 8 * (int)(i % n_rules),
					    .ra_off = -8 };

		/* Check's assertions are slow: one for millions of rows. */
		r |= table_builder_set(&builder, 0x5000 + (uint64_t)i * step, &rule);
	}
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(table_builder_finish(&builder, 0, 1, &bytes, &len), 0);
	table_builder_done(&builder);
	return built_done(bytes, len);
}

static uint32_t fill(const struct built *b)
{
	uint32_t id;

	ck_assert_int_eq(unwind_maps_table_new(maps, &id), 0);
	ck_assert_uint_eq(unwind_maps_table(maps, id)->state, UNWIND_TABLE_PENDING);
	ck_assert_int_eq(unwind_maps_table_fill(maps, id, &b->table), 0);
	ck_assert_uint_eq(unwind_maps_table(maps, id)->state, UNWIND_TABLE_READY);
	return id;
}

/* At every row and in between, what the maps say is what the table says. */
static void assert_same(uint32_t id, const struct built *b)
{
	const struct unwind_table_ref *ref = unwind_maps_table(maps, id);
	static const struct unwind_rule none;
	size_t n_wrong = 0;

	for (uint32_t page = 0; page < b->table.head.n_pages; page++) {
		for (uint32_t low = 0; low < UNWIND_PAGE_SIZE; low += 7) {
			uint64_t at = ((uint64_t)page << UNWIND_PAGE_SHIFT) + low;
			const struct unwind_rule *got =
				unwind_maps_rule(maps, ref->first, ref->n_pages, at);
			struct unwind_rule want;

			unwind_table_find(&b->table,
					  at + (b->table.head.first_page << UNWIND_PAGE_SHIFT),
					  &want);
			n_wrong += memcmp(got ? got : &none, &want, sizeof(want)) != 0;
		}
	}
	ck_assert_uint_eq(n_wrong, 0);
	ck_assert_ptr_null(unwind_maps_rule(maps, ref->first, ref->n_pages,
					    (uint64_t)ref->n_pages << UNWIND_PAGE_SHIFT));
}

START_TEST(tables_of_files_say_in_the_maps_what_they_said_before)
{
	static const char *const paths[] = { "/proc/self/exe", "/bin/bash", "/usr/bin/perl" };
	struct built built[3];
	uint32_t ids[3];

	for (size_t i = 0; i < 3; i++) {
		built[i] = table_of_file(paths[i]);
		ids[i] = fill(&built[i]);
	}
	for (size_t i = 0; i < 3; i++)
		assert_same(ids[i], &built[i]);
	for (size_t i = 0; i < 3; i++)
		free(built[i].bytes);
}
END_TEST

/* More rows than a shard has, so that the table lies in pieces. */
START_TEST(a_table_longer_than_a_shard_lies_in_pieces)
{
	struct built b = made_up(3 << 20, 16, 700, 8);
	uint32_t id = fill(&b);

	ck_assert_uint_gt(b.table.head.n_rows, UNWIND_SHARD_ROWS);
	assert_same(id, &b);
	free(b.bytes);
}
END_TEST

START_TEST(equal_rules_are_kept_once_and_go_with_the_last_table)
{
	struct built a = made_up(1000, 16, 100, 8), b = made_up(1000, 16, 100, 8),
		     c = made_up(1000, 16, 100, 80000);
	uint32_t ids[3] = { fill(&a), fill(&b), fill(&c) };
	struct unwind_maps_stats stats;

	unwind_maps_stats(maps, &stats);
	ck_assert_uint_eq(stats.n_rules, 201); /* and the one that says nothing */
	unwind_maps_table_free(maps, ids[0], 0);
	unwind_maps_table_free(maps, ids[2], 0);
	unwind_maps_collect(maps, 2 * NS_PER_SEC);
	unwind_maps_stats(maps, &stats);
	ck_assert_uint_eq(stats.n_rules, 101);
	ck_assert_uint_eq(stats.n_tables, 1);
	assert_same(ids[1], &b);
	free(a.bytes);
	free(b.bytes);
	free(c.bytes);
}
END_TEST

/* A program may be looking at it still. */
START_TEST(what_was_freed_rests_before_it_is_used_again)
{
	struct built b = made_up(1000, 16, 10, 8);
	uint32_t id = fill(&b);
	struct unwind_maps_stats stats;

	unwind_maps_table_free(maps, id, NS_PER_SEC);
	unwind_maps_collect(maps, NS_PER_SEC + NS_PER_SEC / 2);
	unwind_maps_stats(maps, &stats);
	ck_assert_uint_ge(stats.n_rows, 1000);
	unwind_maps_collect(maps, 3 * NS_PER_SEC);
	unwind_maps_stats(maps, &stats);
	ck_assert_uint_eq(stats.n_rows, 0);
	ck_assert_uint_eq(stats.n_pages, 0);
	ck_assert_uint_eq(stats.n_tables, 0);
	free(b.bytes);
}
END_TEST

START_TEST(when_rows_are_full_the_table_that_does_not_fit_is_refused_whole)
{
	struct built b = made_up(4 << 20, 16, 700, 8);
	struct unwind_maps_stats before, after;
	uint32_t ids[8], n = 0;
	int r;

	for (;;) {
		ck_assert_int_eq(unwind_maps_table_new(maps, &ids[n]), 0);
		unwind_maps_stats(maps, &before);
		r = unwind_maps_table_fill(maps, ids[n], &b.table);
		if (r < 0)
			break;
		ck_assert_uint_lt(++n, 8);
	}
	ck_assert_int_eq(r, -ENOSPC);
	unwind_maps_stats(maps, &after);
	ck_assert_uint_eq(before.n_rows, after.n_rows);
	ck_assert_uint_eq(before.n_rules, after.n_rules);
	ck_assert_uint_eq(before.n_pages, after.n_pages);
	assert_same(ids[0], &b);
	/* Once one has gone there is room again. */
	unwind_maps_table_free(maps, ids[0], 0);
	unwind_maps_collect(maps, 2 * NS_PER_SEC);
	ck_assert_int_eq(unwind_maps_table_fill(maps, ids[n], &b.table), 0);
	assert_same(ids[n], &b);
	free(b.bytes);
}
END_TEST

START_TEST(too_many_rules_refuse_the_table_that_brings_them)
{
	struct built a = made_up(60000, 16, 60000, 8), b = made_up(60000, 16, 60000, 8000000);
	uint32_t id = fill(&a), other;

	ck_assert_int_eq(unwind_maps_table_new(maps, &other), 0);
	ck_assert_int_eq(unwind_maps_table_fill(maps, other, &b.table), -ENOSPC);
	assert_same(id, &a);
	unwind_maps_table_free(maps, id, 0);
	unwind_maps_collect(maps, 2 * NS_PER_SEC);
	ck_assert_int_eq(unwind_maps_table_fill(maps, other, &b.table), 0);
	assert_same(other, &b);
	free(a.bytes);
	free(b.bytes);
}
END_TEST

START_TEST(a_file_without_rules_has_no_table)
{
	struct built b = made_up(0, 16, 1, 8);
	uint32_t id;

	ck_assert_int_eq(unwind_maps_table_new(maps, &id), 0);
	ck_assert_int_eq(unwind_maps_table_fill(maps, id, &b.table), 0);
	ck_assert_uint_eq(unwind_maps_table(maps, id)->state, UNWIND_TABLE_NONE);
	free(b.bytes);
}
END_TEST

START_TEST(the_number_of_tables_is_bounded)
{
	uint32_t id, n = 0;

	while (unwind_maps_table_new(maps, &id) == 0)
		n++;
	ck_assert_uint_eq(n, UNWIND_TABLES);
	unwind_maps_table_free(maps, 77, 0);
	unwind_maps_collect(maps, 2 * NS_PER_SEC);
	ck_assert_int_eq(unwind_maps_table_new(maps, &id), 0);
	ck_assert_uint_eq(id, 77);
}
END_TEST

/* ---- processes ---- */

START_TEST(a_process_that_changes_gives_its_old_mappings_back)
{
	static struct unwind_mapping some[1000];
	struct unwind_maps_stats stats;

	for (uint64_t i = 0; i < 2000; i++) {
		ck_assert_int_eq(unwind_maps_proc_set(maps, 1, 5, 6, some, 1000, i * NS_PER_SEC),
				 0);
		unwind_maps_collect(maps, i * NS_PER_SEC);
	}
	unwind_maps_stats(maps, &stats);
	ck_assert_uint_eq(stats.n_procs, 1);
	ck_assert_uint_le(stats.n_mappings, 3000);
	unwind_maps_proc_remove(maps, 1, 3000 * NS_PER_SEC);
	unwind_maps_proc_remove(maps, 1, 3000 * NS_PER_SEC);
	unwind_maps_collect(maps, 3002 * NS_PER_SEC);
	unwind_maps_stats(maps, &stats);
	ck_assert_uint_eq(stats.n_procs, 0);
	ck_assert_uint_eq(stats.n_mappings, 0);
}
END_TEST

START_TEST(mappings_of_all_processes_are_bounded)
{
	static struct unwind_mapping some[16384];
	uint32_t n = 0;

	while (unwind_maps_proc_set(maps, n + 1, 5, 6, some, 16384, 0) == 0)
		n++;
	ck_assert_uint_eq(n, UNWIND_MAPPINGS / 16384);
	ck_assert_int_eq(unwind_maps_proc_set(maps, 99, 5, 6, some, 1, 0), -ENOSPC);
	ck_assert_int_eq(unwind_maps_proc_set(maps, 99, 5, 6, some, 0, 0), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwind_maps");
	TCase *t = tcase_create("maps");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, tables_of_files_say_in_the_maps_what_they_said_before);
	tcase_add_test(t, a_table_longer_than_a_shard_lies_in_pieces);
	tcase_add_test(t, equal_rules_are_kept_once_and_go_with_the_last_table);
	tcase_add_test(t, what_was_freed_rests_before_it_is_used_again);
	tcase_add_test(t, when_rows_are_full_the_table_that_does_not_fit_is_refused_whole);
	tcase_add_test(t, too_many_rules_refuse_the_table_that_brings_them);
	tcase_add_test(t, a_file_without_rules_has_no_table);
	tcase_add_test(t, the_number_of_tables_is_bounded);
	tcase_add_test(t, a_process_that_changes_gives_its_old_mappings_back);
	tcase_add_test(t, mappings_of_all_processes_are_bounded);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
