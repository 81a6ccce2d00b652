/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_tracks.c - C3 of a trace check: tracks, slices, counters. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "good_trace.h"

static struct good_trace t;

static void setup(void)
{
	good_trace_init(&t);
}

static void teardown(void)
{
	good_trace_done(&t);
}

/* ---- descriptors ---- */

START_TEST(a_descriptor_without_a_uuid)
{
	TracePacket *pkt = good_trace_copy(&t, t.lane_track);

	pkt->track_descriptor->has_uuid = 0;
	good_trace_insert(&t, pkt, t.bundle_0);
	assert_found(&t, CHECK_DESCRIPTOR_BAD);
}
END_TEST

START_TEST(a_thread_descriptor_without_a_tid)
{
	t.worker_track->track_descriptor->thread->has_tid = 0;
	assert_found(&t, CHECK_DESCRIPTOR_BAD);
}
END_TEST

START_TEST(a_process_descriptor_that_is_a_counter)
{
	TracePacket *pkt = good_trace_copy(&t, t.process_track);

	pkt->track_descriptor->uuid = 99;
	pkt->track_descriptor->counter = t.rss_track->track_descriptor->counter;
	good_trace_insert(&t, pkt, t.bundle_0);
	assert_found(&t, CHECK_DESCRIPTOR_BAD);
}
END_TEST

START_TEST(thread_descriptors_on_the_sequence_of_the_events)
{
	TracePacket *pkt = good_trace_copy(&t, t.worker_track);

	pkt->trusted_packet_sequence_id = t.instant->trusted_packet_sequence_id;
	good_trace_insert(&t, pkt, t.instant);
	assert_found(&t, CHECK_DESCRIPTOR_SEQUENCE);
}
END_TEST

START_TEST(a_descriptor_repeated_is_fine)
{
	good_trace_insert(&t, good_trace_copy(&t, t.worker_track), t.instant);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_uuid_for_two_tracks)
{
	TracePacket *pkt = good_trace_copy(&t, t.lane_track);

	pkt->track_descriptor->name = "answers";
	good_trace_insert(&t, pkt, t.bundle_0);
	assert_found(&t, CHECK_UUID_REUSED);
}
END_TEST

START_TEST(two_uuids_for_a_thread)
{
	TracePacket *pkt = good_trace_copy(&t, t.worker_track);

	pkt->track_descriptor->uuid = 99;
	pkt->timestamp = MS(5);
	good_trace_insert(&t, pkt, t.instant);
	assert_found(&t, CHECK_SECOND_UUID);
}
END_TEST

START_TEST(two_uuids_for_a_process)
{
	TracePacket *pkt = good_trace_copy(&t, t.process_track);

	pkt->track_descriptor->uuid = 99;
	pkt->timestamp = MS(5);
	good_trace_insert(&t, pkt, t.instant);
	assert_found(&t, CHECK_SECOND_UUID);
}
END_TEST

/* A track of 200, and one of the thread that is 200 later. */
static void two_lives(uint64_t second_ns)
{
	static const uint64_t uuids[] = { 98, 99 };

	for (int i = 0; i < 2; i++) {
		TracePacket *pkt = good_trace_copy(&t, t.worker_track);

		pkt->track_descriptor->uuid = uuids[i];
		pkt->track_descriptor->thread->tid = 200;
		pkt->timestamp = i ? second_ns : MS(10);
		good_trace_insert(&t, pkt, t.instant);
	}
}

/* CPU 1 starts 200 a second time, at 70 ms. */
static void reuse_200(void)
{
	FtraceEventBundle *b = t.bundle_1->ftrace_events;
	FtraceEvent **events = good_trace_alloc(&t, 8 * sizeof(*events));
	FtraceEvent *newtask;

	memcpy(events, b->event, b->n_event * sizeof(*events));
	newtask = good_trace_copy(&t, t.bundle_0)->ftrace_events->event[1];
	newtask->timestamp = MS(70);
	events[b->n_event++] = newtask;
	b->event = events;
}

START_TEST(two_uuids_for_two_lives_are_fine)
{
	reuse_200();
	two_lives(MS(80));
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(two_uuids_for_one_life_of_a_reused_pid)
{
	reuse_200();
	two_lives(MS(11));
	assert_found(&t, CHECK_SECOND_UUID);
}
END_TEST

START_TEST(a_track_of_a_thread_that_is_gone)
{
	two_lives(MS(80));
	assert_found(&t, CHECK_TRACK_OUTSIDE_LIFE);
}
END_TEST

START_TEST(a_parent_that_nobody_described)
{
	t.lane_track->track_descriptor->parent_uuid = 99;
	assert_found(&t, CHECK_UNKNOWN_PARENT);
}
END_TEST

START_TEST(a_parent_that_is_described_later)
{
	good_trace_move(&t, t.process_track, t.bundle_0);
	/* Of the counter and of the lane. */
	assert_found(&t, CHECK_UNKNOWN_PARENT);
}
END_TEST

START_TEST(tracks_that_nest_too_deep)
{
	/* The lane is at depth 1. */
	for (uint64_t uuid = 1000; uuid < 1100; uuid++) {
		TracePacket *pkt = good_trace_copy(&t, t.lane_track);

		pkt->track_descriptor->uuid = uuid;
		pkt->track_descriptor->parent_uuid = uuid == 1000 ? UUID_LANE : uuid - 1;
		good_trace_insert(&t, pkt, t.bundle_0);
		if (uuid == 1098)
			assert_found(&t, N_CHECK_KINDS);
	}
	assert_found(&t, CHECK_TRACK_DEPTH);
}
END_TEST

/* ---- events ---- */

START_TEST(an_event_without_a_track)
{
	t.instant->track_event->has_track_uuid = 0;
	assert_found(&t, CHECK_NO_TRACK);
}
END_TEST

START_TEST(an_event_on_the_default_track_of_its_sequence_is_fine)
{
	TracePacketDefaults *d = good_trace_alloc(&t, sizeof(*d));
	TrackEventDefaults *e = good_trace_alloc(&t, sizeof(*e));

	trace_packet_defaults__init(d);
	track_event_defaults__init(e);
	e->has_track_uuid = 1;
	e->track_uuid = UUID_LANE;
	d->track_event_defaults = e;
	t.begin_a->trace_packet_defaults = d;
	t.instant->track_event->has_track_uuid = 0;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(an_event_on_a_track_that_nobody_described)
{
	t.instant->track_event->track_uuid = 99;
	assert_found(&t, CHECK_UNKNOWN_TRACK);
}
END_TEST

START_TEST(an_event_before_the_descriptor_of_its_track)
{
	good_trace_move(&t, t.lane_track, t.job);
	assert_found(&t, CHECK_UNKNOWN_TRACK);
}
END_TEST

START_TEST(a_counter_before_its_descriptor)
{
	good_trace_move(&t, t.rss_track, t.job);
	assert_found(&t, CHECK_COUNTER_EARLY);
}
END_TEST

START_TEST(a_counter_on_a_track_that_is_none)
{
	t.counter->track_event->track_uuid = UUID_LANE;
	assert_found(&t, CHECK_TRACK_TYPE);
}
END_TEST

START_TEST(an_instant_on_a_counter)
{
	t.instant->track_event->track_uuid = UUID_RSS;
	assert_found(&t, CHECK_TRACK_TYPE);
}
END_TEST

START_TEST(a_state_on_a_track_without_states)
{
	t.instant->track_event->type = 5;
	assert_found(&t, CHECK_TRACK_TYPE);
}
END_TEST

START_TEST(a_counter_without_a_value)
{
	t.counter->track_event->has_counter_value = 0;
	assert_found(&t, CHECK_COUNTER_VALUE);
}
END_TEST

START_TEST(more_extra_counters_than_values)
{
	uint64_t uuid = UUID_RSS;

	t.instant->track_event->n_extra_counter_track_uuids = 1;
	t.instant->track_event->extra_counter_track_uuids = &uuid;
	assert_found(&t, CHECK_COUNTER_VALUE);
}
END_TEST

START_TEST(an_event_without_a_type)
{
	t.instant->track_event->has_type = 0;
	assert_found(&t, CHECK_EVENT_TYPE);
}
END_TEST

START_TEST(an_event_of_an_unknown_type)
{
	t.instant->track_event->type = 6;
	assert_found(&t, CHECK_EVENT_TYPE);
}
END_TEST

/* ---- slices ---- */

START_TEST(an_end_without_a_begin)
{
	TracePacket *pkt = good_trace_copy(&t, t.end_a);

	pkt->timestamp = MS(20);
	good_trace_insert(&t, pkt, t.counter);
	assert_found(&t, CHECK_END_WITHOUT_BEGIN);
}
END_TEST

START_TEST(an_end_too_many_inside_an_open_slice)
{
	TracePacket *pkt = good_trace_copy(&t, t.end_a);

	pkt->timestamp = MS(8) + 500000;
	good_trace_insert(&t, pkt, t.counter);
	assert_found(&t, CHECK_END_WITHOUT_BEGIN);
}
END_TEST

START_TEST(a_begin_without_an_end)
{
	TracePacket *pkt = good_trace_copy(&t, t.begin_b);

	pkt->track_event->track_uuid = UUID_LANE;
	pkt->track_event->n_category_iids = 0;
	good_trace_insert(&t, pkt, t.counter);
	assert_found(&t, CHECK_BEGIN_WITHOUT_END);
}
END_TEST

START_TEST(a_slice_marked_unfinished_needs_no_end)
{
	TracePacket *pkt = good_trace_copy(&t, t.begin_b);
	DebugAnnotation *a = pkt->track_event->debug_annotations[0];

	a->has_name_iid = 0;
	a->name = "unfinished";
	pkt->track_event->track_uuid = UUID_LANE;
	good_trace_insert(&t, pkt, t.counter);
	/* Nor is it counted as written. */
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(an_end_before_its_begin)
{
	t.end_outer->timestamp = MS(5);
	assert_found(&t, CHECK_SLICE_NEGATIVE);
}
END_TEST

START_TEST(crossing_slices_each_written_whole)
{
	t.end_a->timestamp = MS(7) + 500000;
	assert_found(&t, CHECK_SLICES_CROSS);
}
END_TEST

START_TEST(a_child_that_outlives_its_parent)
{
	t.end_outer->timestamp = MS(7) + 500000;
	assert_found(&t, CHECK_SLICES_CROSS);
}
END_TEST

/* B's pair is written first: at 7 ms a viewer sees BEGIN(B), then END(A). */
START_TEST(slices_that_meet_written_in_the_wrong_order)
{
	good_trace_move(&t, t.begin_b, t.begin_a);
	good_trace_move(&t, t.end_b, t.begin_a);
	t.begin_b->interned_data = t.begin_a->interned_data;
	t.begin_b->sequence_flags = 3;
	t.begin_a->sequence_flags = 2;
	assert_found(&t, CHECK_BEGIN_BEFORE_END);
}
END_TEST

/* The same live: BEGIN(A), BEGIN(B), END(A), END(B). */
START_TEST(slices_that_meet_written_live_in_the_wrong_order)
{
	good_trace_move(&t, t.begin_b, t.end_a);
	assert_found(&t, CHECK_BEGIN_BEFORE_END);
}
END_TEST

START_TEST(slices_written_live_are_fine)
{
	good_trace_move(&t, t.begin_outer, t.begin_a);
	t.begin_outer->interned_data = t.begin_a->interned_data;
	t.begin_outer->sequence_flags = 3;
	t.begin_a->sequence_flags = 2;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(an_empty_slice_written_whole_is_fine)
{
	t.end_b->timestamp = t.begin_b->timestamp;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(slices_that_nest_too_deep)
{
	for (int i = 0; i < 513; i++) {
		TracePacket *pkt = good_trace_copy(&t, t.begin_b);

		pkt->timestamp = MS(100) + (uint64_t)i;
		pkt->track_event->track_uuid = UUID_LANE;
		pkt->track_event->n_category_iids = 0;
		good_trace_insert(&t, pkt, t.job);
	}
	for (int i = 0; i < 513; i++) {
		TracePacket *pkt = good_trace_copy(&t, t.end_b);

		pkt->timestamp = MS(200) + (uint64_t)i;
		pkt->track_event->track_uuid = UUID_LANE;
		good_trace_insert(&t, pkt, t.job);
	}
	assert_found(&t, CHECK_SLICE_DEPTH);
}
END_TEST

START_TEST(slices_that_end_together_are_fine)
{
	t.end_outer->timestamp = t.end_b->timestamp;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_descriptor_without_a_uuid,
		a_thread_descriptor_without_a_tid,
		a_process_descriptor_that_is_a_counter,
		thread_descriptors_on_the_sequence_of_the_events,
		a_descriptor_repeated_is_fine,
		a_uuid_for_two_tracks,
		two_uuids_for_a_thread,
		two_uuids_for_a_process,
		two_uuids_for_two_lives_are_fine,
		two_uuids_for_one_life_of_a_reused_pid,
		a_track_of_a_thread_that_is_gone,
		a_parent_that_nobody_described,
		a_parent_that_is_described_later,
		tracks_that_nest_too_deep,
		an_event_without_a_track,
		an_event_on_the_default_track_of_its_sequence_is_fine,
		an_event_on_a_track_that_nobody_described,
		an_event_before_the_descriptor_of_its_track,
		a_counter_before_its_descriptor,
		a_counter_on_a_track_that_is_none,
		an_instant_on_a_counter,
		a_state_on_a_track_without_states,
		a_counter_without_a_value,
		more_extra_counters_than_values,
		an_event_without_a_type,
		an_event_of_an_unknown_type,
		an_end_without_a_begin,
		an_end_too_many_inside_an_open_slice,
		a_begin_without_an_end,
		a_slice_marked_unfinished_needs_no_end,
		an_end_before_its_begin,
		crossing_slices_each_written_whole,
		a_child_that_outlives_its_parent,
		slices_that_meet_written_in_the_wrong_order,
		slices_that_meet_written_live_in_the_wrong_order,
		slices_written_live_are_fine,
		an_empty_slice_written_whole_is_fine,
		slices_that_nest_too_deep,
		slices_that_end_together_are_fine,
	};
	Suite *suite = suite_create("check_tracks");
	TCase *tc = tcase_create("mistakes");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
