/* SPDX-License-Identifier: Apache-2.0 */
/* Traces in segments: each has what its events lean on. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trace_writer.h"
#include "written_trace.h"

static struct written w;
static uint64_t now;

static void set_up(void)
{
	written_open(&w);
	ck_assert_int_eq(trace_writer_split(w.writer), 0);
	now = boot_ns();
	trace_writer_source(w.writer, WRITTEN_SOURCE, now);
}

static void tear_down(void)
{
	written_done(&w);
}

static void instant(uint64_t track, uint64_t time_ns)
{
	const struct trace_event ev = {
		.track = track, .time_ns = time_ns, .name = "point", .category = "test"
	};

	trace_writer_time(w.writer, time_ns);
	ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
}

/* What has been handed over from here on, alone. */
static void begin_segment(unsigned keep)
{
	ck_assert_int_eq(trace_writer_restart(w.writer, keep), 0);
	w.file.len = 0;
}

static const TrackDescriptor *described(size_t i)
{
	const TracePacket *pkt = written_packet(&w, SEQ_TRACKS, i);

	return pkt ? pkt->track_descriptor : NULL;
}

START_TEST(a_segment_describes_the_tracks_that_it_uses_parents_first)
{
	uint64_t thread = trace_thread_track(w.writer, 10, 11, now);
	const struct trace_track of_thread = { .name = "a", .parent = thread };
	const struct trace_track other = { .name = "b" };
	uint64_t a = trace_track(w.writer, &of_thread);

	(void)trace_track(w.writer, &other);
	instant(a, now + 1);
	begin_segment(1);
	instant(a, now + 100);
	instant(a, now + 200);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_TRACKS), 2);
	ck_assert_uint_eq(described(0)->uuid, thread);
	ck_assert_int_eq(described(0)->thread->tid, 11);
	ck_assert_uint_eq(described(1)->uuid, a);
	/* Of a time when they were used: the thread may be gone by now. */
	ck_assert_uint_eq(written_packet(&w, SEQ_TRACKS, 0)->timestamp, now);
	ck_assert_uint_eq(written_packet(&w, SEQ_TRACKS, 1)->timestamp, now + 1);
}
END_TEST

START_TEST(a_new_track_brings_the_parent_that_an_earlier_segment_has)
{
	uint64_t thread = trace_thread_track(w.writer, 10, 11, now);
	const struct trace_track below = { .name = "a", .parent = thread };

	begin_segment(1);
	(void)trace_track(w.writer, &below);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_TRACKS), 2);
	ck_assert_uint_eq(described(0)->uuid, thread);
	ck_assert_uint_eq(described(1)->parent_uuid, thread);
}
END_TEST

START_TEST(a_segment_begins_all_sequences_anew_without_a_loss)
{
	const struct trace_track track = { .name = "a" };
	uint64_t uuid = trace_track(w.writer, &track);
	unsigned generation = trace_writer_generation(w.writer);
	const TracePacket *pkt;

	instant(uuid, now);
	begin_segment(1);
	ck_assert_uint_eq(trace_writer_generation(w.writer), generation + 1);
	ck_assert_uint_eq(trace_writer_n_drops(w.writer), 0);
	instant(uuid, now + 1);
	written_read(&w);
	pkt = written_packet(&w, SEQ_EVENTS, 0);
	ck_assert_uint_eq(pkt->sequence_flags, 3);
	ck_assert(!pkt->first_packet_on_sequence && !pkt->previous_packet_dropped);
	ck_assert_ptr_nonnull(pkt->interned_data);
	ck_assert_uint_eq(pkt->interned_data->n_event_names, 1);
	ck_assert_uint_eq(written_packet(&w, SEQ_TRACKS, 0)->sequence_flags, 3);
}
END_TEST

START_TEST(of_many_tracks_those_not_used_for_long_are_forgotten)
{
	uint64_t first = 0, used = 0;

	for (unsigned i = 0; i < 5000; i++) {
		char name[32];
		const struct trace_track track = { .name = name };

		snprintf(name, sizeof(name), "track %u", i);
		used = trace_track(w.writer, &track);
		first = first ? first : used;
	}
	for (unsigned i = 0; i < 3; i++) {
		begin_segment(1);
		instant(used, now + i);
	}
	ck_assert_uint_lt(trace_writer_n_tracks(w.writer), 10);
	ck_assert(trace_track_known(w.writer, used));
	ck_assert(!trace_track_known(w.writer, first));
	ck_assert(!trace_track_known(w.writer, 0));
}
END_TEST

START_TEST(an_event_on_a_track_that_is_forgotten_is_left_out_and_counted)
{
	struct trace_writer_stats stats;
	uint64_t forgotten = trace_track(w.writer, &(struct trace_track){ .name = "forgotten" });
	uint64_t again;

	for (unsigned i = 0; i < 5000; i++)
		(void)trace_thread_track(w.writer, 1, 1000 + i, now);
	for (unsigned i = 0; i < 3; i++)
		begin_segment(1);
	instant(forgotten, now);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS), 0);
	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_skipped, 1);
	/* Whoever asks for it again has another one: what was on the first is gone by then. */
	again = trace_track(w.writer, &(struct trace_track){ .name = "forgotten" });
	ck_assert_uint_ne(again, forgotten);
	instant(again, now);
	instant(forgotten, now);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS), 1);
	ck_assert_uint_eq(written_packet(&w, SEQ_EVENTS, 0)->track_event->track_uuid, again);
}
END_TEST

START_TEST(without_segments_every_track_is_known)
{
	struct written plain;

	written_open(&plain);
	ck_assert(trace_track_known(plain.writer, 123));
	ck_assert(!trace_track_known(plain.writer, 0));
	ck_assert_uint_eq(trace_writer_n_tracks(plain.writer), 0);
	written_done(&plain);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_segments");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_segment_describes_the_tracks_that_it_uses_parents_first);
	tcase_add_test(tc, a_new_track_brings_the_parent_that_an_earlier_segment_has);
	tcase_add_test(tc, a_segment_begins_all_sequences_anew_without_a_loss);
	tcase_add_test(tc, of_many_tracks_those_not_used_for_long_are_forgotten);
	tcase_add_test(tc, an_event_on_a_track_that_is_forgotten_is_left_out_and_counted);
	tcase_add_test(tc, without_segments_every_track_is_known);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? 1 : 0;
}
