/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks, what lies on them, and what a trace says about itself. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trace_meta.h"
#include "trace_writer_impl.h"
#include "written_trace.h"

static struct written w;
static uint64_t now;

static void set_up(void)
{
	written_open(&w);
	now = boot_ns();
	trace_writer_source(w.writer, WRITTEN_SOURCE, now);
}

static void tear_down(void)
{
	written_done(&w);
}

static size_t n_tracks(void)
{
	written_read(&w);
	return written_count(&w, SEQ_TRACKS);
}

START_TEST(a_track_is_described_once)
{
	const struct trace_track a = { .name = "a" }, b = { .name = "b" };
	const struct trace_track a_below = { .name = "a", .parent = 5 };
	const struct trace_track a_keyed = { .name = "a", .key = 1 };
	const struct trace_track a_counter = { .name = "a", .is_counter = true };
	uint64_t uuid = trace_track(w.writer, &a);

	ck_assert_uint_eq(trace_track(w.writer, &a), uuid);
	ck_assert_uint_ne(trace_track(w.writer, &b), uuid);
	ck_assert_uint_ne(trace_track(w.writer, &a_below), uuid);
	ck_assert_uint_ne(trace_track(w.writer, &a_keyed), uuid);
	ck_assert_uint_ne(trace_track(w.writer, &a_counter), uuid);
	ck_assert_uint_eq(n_tracks(), 5);
	ck_assert_uint_eq(written_packet(&w, SEQ_TRACKS, 0)->track_descriptor->uuid, uuid);
	ck_assert_str_eq(written_packet(&w, SEQ_TRACKS, 0)->track_descriptor->name, "a");
	ck_assert_uint_eq(written_packet(&w, SEQ_TRACKS, 0)->timestamp, now);
}
END_TEST

START_TEST(names_that_differ_at_their_end_only_are_two_tracks)
{
	char name[400];
	struct trace_track track = { .name = name };

	for (size_t len = 1; len < sizeof(name); len++) {
		uint64_t uuid;

		memset(name, 'n', len);
		name[len] = '\0';
		uuid = trace_track(w.writer, &track);
		name[len - 1] = 'm';
		ck_assert_uint_ne(trace_track(w.writer, &track), uuid);
	}
	ck_assert_uint_eq(n_tracks(), 2 * (sizeof(name) - 1));
}
END_TEST

START_TEST(a_track_that_could_not_be_described_is_tried_again)
{
	const struct trace_track track = { .name = "a" };
	size_t len = w.writer->essential.packets.len;
	uint64_t uuid;

	w.writer->essential.packets.len = SIZE_MAX / 2; /* as if memory were out */
	ck_assert_uint_eq(trace_track(w.writer, &track), 0);
	ck_assert_uint_eq(trace_thread_track(w.writer, 1, 2, 3), 0);
	w.writer->essential.packets.len = len;
	uuid = trace_track(w.writer, &track);
	ck_assert_uint_ne(uuid, 0);
	ck_assert_uint_ne(trace_thread_track(w.writer, 1, 2, 3), 0);
	ck_assert_uint_eq(n_tracks(), 2);
}
END_TEST

START_TEST(a_thread_and_a_process_of_one_id_are_two_tracks)
{
	uint64_t t = trace_thread_track(w.writer, 10, 10, 0), p;

	p = trace_process_track(w.writer, 10, 0);
	ck_assert_uint_ne(t, p);
	ck_assert_uint_eq(trace_thread_track(w.writer, 10, 10, 0), t);
	ck_assert_uint_eq(trace_process_track(w.writer, 10, 0), p);
	ck_assert_uint_eq(n_tracks(), 2);
	ck_assert_int_eq(written_packet(&w, SEQ_TRACKS, 0)->track_descriptor->thread->pid, 10);
	ck_assert_int_eq(written_packet(&w, SEQ_TRACKS, 0)->track_descriptor->thread->tid, 10);
	/* A name here would win over every later name of the thread. */
	ck_assert_ptr_null(
		written_packet(&w, SEQ_TRACKS, 0)->track_descriptor->thread->thread_name);
}
END_TEST

START_TEST(who_gets_a_used_id_gets_a_track_of_its_own)
{
	uint64_t first = trace_thread_track(w.writer, 10, 11, now - 100 * NS_PER_MS);
	uint64_t second;

	/* As /proc rounds it, or as it is not known. */
	ck_assert_uint_eq(trace_thread_track(w.writer, 10, 11, now - 95 * NS_PER_MS), first);
	ck_assert_uint_eq(trace_thread_track(w.writer, 10, 11, 0), first);
	second = trace_thread_track(w.writer, 20, 11, now);
	ck_assert_uint_ne(second, first);
	ck_assert_uint_eq(trace_thread_track(w.writer, 20, 11, now), second);
	ck_assert_uint_eq(n_tracks(), 2);
}
END_TEST

START_TEST(a_start_that_was_not_known_at_first_is_learned)
{
	uint64_t first = trace_process_track(w.writer, 10, 0), second, third;

	/* It began before its first event: the same one. */
	ck_assert_uint_eq(trace_process_track(w.writer, 10, now - NS_PER_SEC), first);
	second = trace_process_track(w.writer, 10, now + NS_PER_SEC);
	ck_assert_uint_ne(second, first);
	/* Never known, and the next began after it was met. */
	trace_writer_source(w.writer, WRITTEN_SOURCE, now + 2 * NS_PER_SEC);
	(void)trace_thread_track(w.writer, 30, 31, 0);
	third = trace_thread_track(w.writer, 32, 31, now + 3 * NS_PER_SEC);
	ck_assert_uint_ne(third, trace_thread_track(w.writer, 30, 33, 0));
	ck_assert_uint_eq(n_tracks(), 5);
	ck_assert_int_eq(written_packet(&w, SEQ_TRACKS, 3)->track_descriptor->thread->pid, 32);
}
END_TEST

START_TEST(arguments_have_the_type_they_were_given)
{
	const struct trace_arg args[] = {
		{ .name = "u", .type = ARG_UINT, .u = UINT64_MAX },
		{ .name = "i", .type = ARG_INT, .i = -5 },
		{ .name = "b", .type = ARG_BOOL, .u = 7 },
		{ .name = "p", .type = ARG_POINTER, .u = 0xffff800000000000ull },
		{ .name = "s", .type = ARG_STRING, .s = "" },
	};
	const struct trace_track track = { .name = "t" };
	const struct trace_event ev = { .track = trace_track(w.writer, &track),
					.time_ns = now,
					.name = "e",
					.args = args,
					.n_args = 5,
					.flow_id = 77 };
	DebugAnnotation **a;
	TrackEvent *te;

	ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
	written_read(&w);
	te = written_packet(&w, SEQ_EVENTS, 0)->track_event;
	ck_assert_uint_eq(te->n_debug_annotations, 5);
	a = te->debug_annotations;
	ck_assert(a[0]->has_uint_value && a[0]->uint_value == UINT64_MAX);
	ck_assert(a[1]->has_int_value && a[1]->int_value == -5);
	ck_assert(a[2]->has_bool_value && a[2]->bool_value == 1);
	ck_assert(a[3]->has_pointer_value && a[3]->pointer_value == 0xffff800000000000ull);
	ck_assert_str_eq(a[4]->string_value, "");
	ck_assert_uint_eq(te->n_flow_ids, 1);
	ck_assert(te->flow_ids[0] == 77);
	written_assert_good(&w);
}
END_TEST

START_TEST(an_event_without_a_track_is_an_error)
{
	const struct trace_event ev = { .time_ns = now, .name = "e" };

	ck_assert_int_lt(trace_instant(w.writer, &ev, 1), 0);
	ck_assert_int_lt(trace_slice(w.writer, &ev, now + 1, 1), 0);
	ck_assert_int_lt(trace_counter(w.writer, 0, now, 1), 0);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS), 0);
}
END_TEST

START_TEST(counters_are_whole_or_broken_numbers_with_units)
{
	struct trace_track track = { .name = "bytes", .is_counter = true, .unit = "bytes" };
	uint64_t uuid = trace_track(w.writer, &track);

	ck_assert_int_eq(trace_counter(w.writer, uuid, now, -3), 0);
	ck_assert_int_eq(trace_counter_double(w.writer, uuid, now + 1, 0.5), 0);
	track = (struct trace_track){ .name = "load", .is_counter = true, .unit = "%" };
	ck_assert_int_eq(trace_counter(w.writer, trace_track(w.writer, &track), now, 4), 0);
	track = (struct trace_track){ .name = "plain", .is_counter = true };
	ck_assert_int_eq(trace_counter(w.writer, trace_track(w.writer, &track), now, 4), 0);
	written_read(&w);
	ck_assert_int_eq(written_packet(&w, SEQ_EVENTS, 0)->track_event->counter_value, -3);
	ck_assert(written_packet(&w, SEQ_EVENTS, 1)->track_event->double_counter_value == 0.5);
	ck_assert_int_eq(written_packet(&w, SEQ_TRACKS, 0)->track_descriptor->counter->unit, 3);
	ck_assert_str_eq(written_packet(&w, SEQ_TRACKS, 1)->track_descriptor->counter->unit_name,
			 "%");
	ck_assert_ptr_nonnull(written_packet(&w, SEQ_TRACKS, 2)->track_descriptor->counter);
	written_assert_good(&w);
}
END_TEST

/* One literal may be the name of several things, and a text. */
START_TEST(texts_of_arguments_are_told_once_if_they_come_again)
{
	static const char text[] = "connect";
	const struct trace_track track = { .name = "a" };
	const struct trace_arg args[] = {
		{ .name = text, .type = ARG_LITERAL, .s = text },
		{ .name = "url", .type = ARG_REPEATED, .s = "a\xff" },
	};
	struct trace_event ev = { .track = trace_track(w.writer, &track),
				  .time_ns = now,
				  .name = text,
				  .category = text,
				  .args = args,
				  .n_args = 2 };
	const InternedData *in;
	const TrackEvent *te;

	ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
	ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
	written_read(&w);
	in = written_packet(&w, SEQ_EVENTS, 0)->interned_data;
	ck_assert_str_eq(in->event_names[0]->name, text);
	ck_assert_str_eq(in->event_categories[0]->name, text);
	ck_assert_str_eq(in->debug_annotation_names[0]->name, text);
	ck_assert_uint_eq(in->n_debug_annotation_string_values, 2);
	ck_assert_mem_eq(in->debug_annotation_string_values[0]->str.data, text, strlen(text));
	ck_assert_mem_eq(in->debug_annotation_string_values[1]->str.data, "a\xef\xbf\xbd", 4);
	ck_assert_ptr_null(written_packet(&w, SEQ_EVENTS, 1)->interned_data);
	te = written_packet(&w, SEQ_EVENTS, 1)->track_event;
	ck_assert_uint_eq(te->debug_annotations[0]->string_value_iid, 1);
	ck_assert_uint_eq(te->debug_annotations[1]->string_value_iid, 2);
	written_assert_good(&w);
}
END_TEST

/* They hold until what they lean on goes down with a block. */
START_TEST(arguments_that_are_packed_come_first_and_hold_for_a_generation)
{
	const struct trace_track track = { .name = "a" };
	const struct trace_arg args[] = {
		{ .name = "url", .type = ARG_REPEATED, .s = "/index" },
		{ .name = "method", .type = ARG_STRING, .s = "G\xff" },
		{ .name = "status", .type = ARG_UINT, .u = 200 },
	};
	const struct trace_arg own = { .name = "size", .type = ARG_INT, .i = -1 };
	struct trace_text_id name_id = { 0 };
	struct trace_packed packed = { 0 };
	struct trace_event ev = { .track = trace_track(w.writer, &track),
				  .time_ns = now,
				  .name = "e",
				  .name_id = &name_id,
				  .args = &own,
				  .n_args = 1,
				  .packed = { &packed },
				  .n_packed = 1 };

	ck_assert(!trace_packed_holds(w.writer, &packed));
	for (unsigned i = 0; i < 2; i++) {
		const TrackEvent *te;

		ck_assert_int_eq(trace_pack_args(w.writer, args, 3, &packed), 0);
		ck_assert(trace_packed_holds(w.writer, &packed));
		ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
		ck_assert_int_eq(trace_slice(w.writer, &ev, now + 1, 1), 0);
		written_read(&w);
		te = written_packet(&w, SEQ_EVENTS, 3 * i + 1)->track_event;
		ck_assert_uint_eq(te->name_iid, name_id.iid);
		ck_assert_uint_eq(te->n_debug_annotations, 4);
		ck_assert_uint_eq(te->debug_annotations[0]->string_value_iid, 1);
		ck_assert_str_eq(te->debug_annotations[1]->string_value, "G\xef\xbf\xbd");
		ck_assert_uint_eq(te->debug_annotations[2]->uint_value, 200);
		ck_assert_int_eq(te->debug_annotations[3]->int_value, -1);
		w.refuse_bulk = true;
		ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
		ck_assert_int_eq(trace_writer_flush(w.writer), 0);
		w.refuse_bulk = false;
		ck_assert(!trace_packed_holds(w.writer, &packed));
	}
	written_assert_good(&w);
	trace_packed_done(&packed);
	ck_assert(!trace_packed_holds(w.writer, &packed));
}
END_TEST

/* ---- what a trace says about itself ---- */

START_TEST(a_snapshot_has_six_clocks_of_one_moment)
{
	const ClockSnapshot *s;

	written_read(&w);
	s = w.packets[0]->clock_snapshot;
	ck_assert_uint_eq(s->n_clocks, 6);
	ck_assert_uint_eq(s->primary_trace_clock, 6); /* BOOTTIME */
	ck_assert_uint_eq(w.packets[0]->timestamp, s->clocks[0]->timestamp);
	ck_assert_uint_eq(s->clocks[0]->clock_id, 6);
}
END_TEST

START_TEST(a_complete_trace_with_its_account_is_good)
{
	static const char *const fields[] = { "produced", "lost",    "malformed",
					      "filtered", "dropped", "written" };
	static const int64_t numbers[] = { 10, 3, 0, 2, 1, 4 };
	const struct trace_track loss = { .name = "Data loss" };
	struct trace_attribute attrs[6] = { 0 };
	uint64_t dropped[2] = { 0, 0 }, per_source[2] = { 4, 0 };

	for (unsigned i = 0; i < 6; i++) {
		snprintf(attrs[i].key, sizeof(attrs[i].key), "ledger.x.%s", fields[i]);
		attrs[i].is_number = true;
		attrs[i].number = numbers[i];
	}
	ck_assert_int_eq(trace_meta_ftrace_stats(w.writer, dropped, 2, false, boot_ns()), 0);
	ck_assert_int_eq(trace_meta_loss(w.writer, trace_track(w.writer, &loss), now, "x",
					 "ring full", 1, 3),
			 0);
	ck_assert_int_eq(trace_meta_loss(w.writer, trace_track(w.writer, &loss), now, "x",
					 "client too slow", -1, 1),
			 0);
	ck_assert_int_eq(trace_meta_loss(w.writer, 0, now, "x", "y", -1, 1), -ENOMEM);
	ck_assert_int_eq(trace_meta_attributes(w.writer, attrs, 6), 0);
	ck_assert_int_eq(trace_meta_ftrace_stats(w.writer, dropped, 2, true, boot_ns()), 0);
	ck_assert_int_eq(trace_meta_stats(w.writer, per_source, 2), 0);
	ck_assert_int_eq(trace_meta_clocks(w.writer), 0);
	ck_assert_int_eq(trace_meta_milestone(w.writer, TRACE_DISABLED, boot_ns()), 0);
	written_read(&w);
	written_assert_good(&w);
	for (size_t i = 0; i < w.n; i++) {
		const TrackEvent *te = w.packets[i]->track_event;

		if (te && te->n_debug_annotations == 4)
			ck_assert(te->debug_annotations[3]->int_value == 1);
		if (te)
			ck_assert_str_eq(te->name, "x events lost");
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace_event");
	TCase *tc = tcase_create("trace_event");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_track_is_described_once);
	tcase_add_test(tc, names_that_differ_at_their_end_only_are_two_tracks);
	tcase_add_test(tc, a_track_that_could_not_be_described_is_tried_again);
	tcase_add_test(tc, a_thread_and_a_process_of_one_id_are_two_tracks);
	tcase_add_test(tc, who_gets_a_used_id_gets_a_track_of_its_own);
	tcase_add_test(tc, a_start_that_was_not_known_at_first_is_learned);
	tcase_add_test(tc, arguments_have_the_type_they_were_given);
	tcase_add_test(tc, an_event_without_a_track_is_an_error);
	tcase_add_test(tc, counters_are_whole_or_broken_numbers_with_units);
	tcase_add_test(tc, texts_of_arguments_are_told_once_if_they_come_again);
	tcase_add_test(tc, arguments_that_are_packed_come_first_and_hold_for_a_generation);
	tcase_add_test(tc, a_snapshot_has_six_clocks_of_one_moment);
	tcase_add_test(tc, a_complete_trace_with_its_account_is_good);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
