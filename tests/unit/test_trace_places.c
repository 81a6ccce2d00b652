/* SPDX-License-Identifier: Apache-2.0 */
/* Which locations a trace has frames of: those in blocks that were handed over, each once. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/location_store.h"
#include "trace_writer_impl.h"
#include "written_trace.h"

static struct written w;
static struct location_store *store;
static struct module module = { .id = 1, .path = "/usr/bin/x", .build_id_len = 8 };

static void gone(void *ctx, const struct module *m)
{
	(void)ctx;
	(void)m;
}

static void set_up(void)
{
	written_open(&w);
	ck_assert_int_eq(location_store_new(gone, NULL, &store), 0);
}

static void tear_down(void)
{
	written_done(&w);
	location_store_trim(store, 0);
	ck_assert_uint_eq(location_store_count(store), 0); /* nobody holds them any more */
	location_store_free(store);
}

static struct location *location(uint64_t addr, bool has_lines)
{
	struct location_entry *e = location_store_get(store, &module, addr);

	if (!e) {
		e = location_store_add(store, &module, addr, LOCATION_NATIVE);
		ck_assert_ptr_nonnull(e);
		location_set_symbol(e, addr, 0x1000, "function", 8);
		e->pub.has_lines = has_lines;
	}
	return &e->pub;
}

/* A packet with a frame of it. */
static void put(struct location *loc)
{
	TracePacket pkt = TRACE_PACKET__INIT;

	ck_assert_uint_ne(trace_intern_frame(w.writer, SEQ_SAMPLES, loc), 0);
	ck_assert_int_eq(trace_writer_put(w.writer, SEQ_SAMPLES, &pkt, 0), 0);
}

static size_t n_places(void)
{
	struct location *const *locs;

	return trace_writer_places(w.writer, &locs);
}

START_TEST(what_has_been_handed_over_is_known)
{
	struct location *const *locs;

	put(location(0x1010, true));
	put(location(0x1020, true));
	ck_assert_uint_eq(n_places(), 0); /* not yet */
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(trace_writer_places(w.writer, &locs), 2);
	ck_assert_uint_eq(locs[0]->rel_pc, 0x1010);
	ck_assert_uint_eq(locs[1]->rel_pc, 0x1020);
	ck_assert_uint_eq(trace_writer_places_over(w.writer), 0);
}
END_TEST

START_TEST(a_location_is_known_once)
{
	for (int i = 0; i < 3; i++) {
		put(location(0x1010, true));
		ck_assert_int_eq(trace_writer_flush(w.writer), 0);
		trace_intern_forget(&w.writer->sequences[SEQ_SAMPLES]);
	}
	ck_assert_uint_eq(n_places(), 1);
}
END_TEST

START_TEST(without_lines_to_be_had_it_is_left_out)
{
	put(location(0x1010, false));
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(n_places(), 0);
}
END_TEST

START_TEST(what_went_down_with_a_block_is_not_there_unless_it_comes_again)
{
	put(location(0x1010, true));
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.refuse_bulk = true;
	put(location(0x1010, true));
	put(location(0x1020, true));
	put(location(0x1030, true));
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(n_places(), 1);
	w.refuse_bulk = false;
	put(location(0x1030, true));
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(n_places(), 2);
}
END_TEST

START_TEST(too_many_are_counted)
{
	const unsigned max = 65536;

	for (unsigned i = 0; i < max + 5; i++)
		put(location(0x1000 + i, true));
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(n_places(), max);
	ck_assert_uint_eq(trace_writer_places_over(w.writer), 5);
}
END_TEST

/* The importer finds lines by path and build id: both must be the same for all frames. */
START_TEST(a_module_whose_build_id_was_not_known_yet_gets_another_mapping)
{
	struct module late = { .id = 2, .path = "/usr/bin/late" };
	struct location first = { .id = 1000, .module = &late, .rel_pc = 1, .kind = 1 };
	struct location second = {
		.id = 1001, .module = &late, .rel_pc = 2, .kind = 1, .function = "f", .ready = true
	};
	uint64_t next;

	put(&first);
	next = w.writer->sequences[SEQ_SAMPLES].next_iid[19];
	late.build_id_len = 20;
	put(&second);
	ck_assert_uint_eq(w.writer->sequences[SEQ_SAMPLES].next_iid[19], next + 1);
	put(&second);
	ck_assert_uint_eq(w.writer->sequences[SEQ_SAMPLES].next_iid[19], next + 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace_places");
	TCase *tc = tcase_create("places");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, what_has_been_handed_over_is_known);
	tcase_add_test(tc, a_location_is_known_once);
	tcase_add_test(tc, without_lines_to_be_had_it_is_left_out);
	tcase_add_test(tc, what_went_down_with_a_block_is_not_there_unless_it_comes_again);
	tcase_add_test(tc, too_many_are_counted);
	tcase_add_test(tc, a_module_whose_build_id_was_not_known_yet_gets_another_mapping);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
