/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_check_file.c - C1 of a trace check (the file, the wire, clocks), and
 * the whole: a good trace passes, each mistake is found, and only that.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "good_trace.h"

static struct good_trace t;
static struct buf file, bytes, inner; /* for what tests write by hand */

static void setup(void)
{
	good_trace_init(&t);
}

static void teardown(void)
{
	good_trace_done(&t);
	buf_done(&file);
	buf_done(&bytes);
	buf_done(&inner);
}

static void assert_file(enum check_kind kind)
{
	struct trace_check *c = check_of(file.data, file.len);

	assert_only(c, kind);
	trace_check_free(c);
}

/* ---- the whole ---- */

START_TEST(a_good_trace_passes)
{
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(the_summary_counts_what_is_there)
{
	struct trace_summary s;
	struct trace_check *c;
	char loss[64];

	good_trace_write(&t, &file, 0);
	c = check_of(file.data, file.len);
	trace_check_summary(c, &s);
	ck_assert_uint_eq(s.n_bytes, file.len);
	ck_assert_uint_eq(s.n_samples, 3);
	ck_assert_uint_eq(s.n_switches, 6);
	ck_assert_uint_eq(s.n_wakings, 2);
	ck_assert_uint_eq(s.n_slices, 3);
	ck_assert_uint_eq(s.start_ns, T0);
	ck_assert_uint_eq(s.end_ns, MS(20000));
	ck_assert(s.complete && !s.cut && s.has_ledger);
	ck_assert_uint_eq(s.n_lost + s.n_dropped, 0);
	ck_assert_uint_eq(s.n_findings, 0);
	ck_assert_uint_eq(trace_check_loss(c, loss, sizeof(loss)), 0);
	trace_check_free(c);
}
END_TEST

/* Wherever a recorder is killed: the file is incomplete, but nothing is wrong with it. */
START_TEST(a_file_cut_anywhere_is_no_finding)
{
	size_t n_complete = 0;

	good_trace_write(&t, &file, 0);
	for (size_t len = 0; len < file.len; len++) {
		struct trace_check *c = check_of(file.data, len);
		struct trace_summary s;

		assert_only(c, N_CHECK_KINDS);
		trace_check_summary(c, &s);
		n_complete += s.complete;
		trace_check_free(c);
	}
	ck_assert_uint_gt(n_complete, 0);
	ck_assert_uint_lt(n_complete, file.len / 4);
}
END_TEST

START_TEST(a_cut_file_says_where)
{
	struct trace_check *c;
	struct trace_summary s;
	size_t n_first;

	good_trace_write(&t, &file, 0);
	n_first = file.len;
	put_packet(&file, "\x50\x01", 2);
	c = check_of(file.data, file.len - 1);
	trace_check_summary(c, &s);
	ck_assert(s.cut);
	ck_assert_uint_eq(s.cut_offset, n_first);
	trace_check_free(c);
}
END_TEST

START_TEST(a_finding_keeps_a_bounded_number_of_examples)
{
	struct trace_check *c;

	good_trace_write(&t, &file, 0);
	put_int(&bytes, 4242, 1);
	for (int i = 0; i < 1000; i++)
		put_packet(&file, bytes.data, bytes.len);
	c = check_of(file.data, file.len);
	ck_assert_uint_eq(found(c, CHECK_UNKNOWN_FIELD), 1000);
	ck_assert_uint_eq(trace_check_finding(c, CHECK_UNKNOWN_FIELD)->n_examples, CHECK_EXAMPLES);
	trace_check_free(c);
}
END_TEST

/* ---- C1: the file ---- */

START_TEST(garbage_behind_the_packets)
{
	good_trace_write(&t, &file, 0);
	ck_assert_int_eq(buf_append(&file, "\xff", 1), 0);
	assert_file(CHECK_GARBAGE);
}
END_TEST

START_TEST(zeros_behind_the_packets_are_no_garbage)
{
	good_trace_write(&t, &file, 0);
	ck_assert_int_eq(buf_append(&file, (char[64]){ 0 }, 64), 0);
	assert_file(N_CHECK_KINDS);
}
END_TEST

START_TEST(a_packet_whose_fields_do_not_parse)
{
	good_trace_write(&t, &file, 0);
	put_packet(&file, "\x0a\x7f", 2);
	assert_file(CHECK_BROKEN_PACKET);
}
END_TEST

START_TEST(a_block_that_does_not_inflate)
{
	good_trace_write(&t, &file, 0);
	put_bytes(&bytes, 50, "\x78\x9c\x01\x02", 4);
	put_packet(&file, bytes.data, bytes.len);
	assert_file(CHECK_BROKEN_BLOCK);
}
END_TEST

START_TEST(a_block_that_inflates_to_too_much)
{
	static const char zeros[1 << 20];

	good_trace_write(&t, &file, 0);
	for (int i = 0; i < 65; i++)
		put_packet(&inner, zeros, sizeof(zeros));
	put_block(&file, &inner);
	assert_file(CHECK_BLOCK_TOO_BIG);
}
END_TEST

START_TEST(a_block_within_a_block)
{
	good_trace_write(&t, &file, 0);
	put_packet(&bytes, "\x50\x01", 2);
	put_block(&inner, &bytes);
	put_block(&file, &inner);
	assert_file(CHECK_NESTED_BLOCK);
}
END_TEST

START_TEST(a_field_beside_a_block)
{
	good_trace_write(&t, &file, 0);
	put_packet(&bytes, "\x50\x01", 2);
	put_block(&inner, &bytes);
	/* The block's packet without its head, and a sequence id. */
	bytes.len = 0;
	ck_assert_int_eq(buf_append(&bytes, inner.data + 2, inner.len - 2), 0);
	put_int(&bytes, 10, 1);
	put_packet(&file, bytes.data, bytes.len);
	assert_file(CHECK_BLOCK_WRAPPER);
}
END_TEST

START_TEST(a_block_of_zstd)
{
	good_trace_write(&t, &file, 0);
	put_bytes(&bytes, 133, "", 1);
	put_packet(&file, bytes.data, bytes.len);
	assert_file(CHECK_ZSTD);
}
END_TEST

START_TEST(blocks_of_zlib_and_of_zstd)
{
	struct trace_check *c;

	good_trace_write(&t, &file, 8);
	put_bytes(&bytes, 133, "", 1);
	put_packet(&file, bytes.data, bytes.len);
	c = check_of(file.data, file.len);
	ck_assert_uint_eq(found(c, CHECK_MIXED_COMPRESSION), 1);
	ck_assert_uint_eq(found(c, CHECK_ZSTD), 1);
	trace_check_free(c);
}
END_TEST

/* ---- C1: the wire ---- */

START_TEST(an_unknown_field)
{
	put_int(&bytes, 4242, 1);
	good_trace_append(&t, t.uuid, &bytes);
	assert_found(&t, CHECK_UNKNOWN_FIELD);
}
END_TEST

START_TEST(frame_ids_that_are_packed)
{
	TracePacket *pkt = good_trace_copy(&t, t.samples[1]);

	/* A packet of InternedData{callstacks{iid 2, frame_ids [1, 2]}} before the second sample.
	 */
	pkt->stack_sample = NULL;
	pkt->has_timestamp = 0;
	good_trace_insert(&t, pkt, t.samples[1]);
	t.samples[1]->stack_sample->callstack_iid = 2;
	put_int(&bytes, 1, 2);
	put_bytes(&bytes, 2, "\1\2", 2);
	put_bytes(&inner, 7, bytes.data, bytes.len);
	bytes.len = 0;
	put_bytes(&bytes, 12, inner.data, inner.len);
	good_trace_append(&t, pkt, &bytes);
	assert_found(&t, CHECK_PACKED);
}
END_TEST

START_TEST(flow_ids_that_are_packed)
{
	TracePacket *pkt = good_trace_copy(&t, t.instant);

	pkt->track_event = NULL;
	good_trace_insert(&t, pkt, t.instant);
	put_int(&inner, 9, 3);
	put_int(&inner, 11, UUID_LANE);
	put_bytes(&inner, 47, "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
	put_bytes(&bytes, 11, inner.data, inner.len);
	good_trace_append(&t, pkt, &bytes);
	assert_found(&t, CHECK_PACKED);
}
END_TEST

START_TEST(a_compact_sched_that_is_not_packed)
{
	FtraceEventBundle__CompactSched *s = t.bundle_0->ftrace_events->compact_sched;
	TracePacket *pkt = good_trace_copy(&t, t.bundle_0);

	/* The last switch of CPU 0 moves to a bundle of its own, written one by one. */
	s->n_switch_timestamp = s->n_switch_prev_state = s->n_switch_next_pid = 2;
	s->n_switch_next_prio = s->n_switch_next_comm_index = 2;
	pkt->ftrace_events = NULL;
	good_trace_insert(&t, pkt, t.later_tree);
	put_int(&inner, 1, MS(40));
	put_int(&inner, 2, 0x100);
	put_int(&inner, 3, 101);
	put_int(&inner, 4, 120);
	put_bytes(&inner, 5, "worker", 6);
	put_int(&inner, 6, 0);
	put_int(&bytes, 1, 0);
	put_bytes(&bytes, 4, inner.data, inner.len);
	inner.len = 0;
	put_bytes(&inner, 1, bytes.data, bytes.len);
	good_trace_append(&t, pkt, &inner);
	assert_found(&t, CHECK_NOT_PACKED);
}
END_TEST

START_TEST(a_field_of_another_type)
{
	struct trace_check *c;

	put_bytes(&bytes, 79, "x", 1); /* trusted_pid */
	good_trace_append(&t, t.symbols, &bytes);
	c = check_of_trace(&t);
	ck_assert_uint_eq(found(c, CHECK_WRONG_TYPE), 1);
	trace_check_free(c);
}
END_TEST

START_TEST(a_message_that_is_broken)
{
	TracePacket *pkt = good_trace_copy(&t, t.disabled);

	pkt->service_event = NULL;
	good_trace_insert(&t, pkt, t.disabled);
	put_bytes(&bytes, 7, "\x0a\x05", 2); /* sys_stats that end within a field */
	good_trace_append(&t, pkt, &bytes);
	assert_found(&t, CHECK_BROKEN_MESSAGE);
}
END_TEST

/* Annotations, each in the one before: protobuf-c would recurse as deep, and off its stack. */
START_TEST(a_message_that_nests_without_end)
{
	TracePacket *pkt = good_trace_copy(&t, t.disabled);

	pkt->service_event = NULL;
	good_trace_insert(&t, pkt, t.disabled);
	for (int i = 0; i < 20000; i++) {
		struct buf swap = bytes;

		inner.len = 0;
		put_bytes(&inner, i == 0 ? 4 : 11, bytes.data, bytes.len);
		bytes = inner;
		inner = swap;
	}
	inner.len = 0;
	put_bytes(&inner, 4, bytes.data, bytes.len);
	bytes.len = 0;
	put_bytes(&bytes, 11, inner.data, inner.len);
	good_trace_append(&t, pkt, &bytes);
	assert_found(&t, CHECK_BROKEN_MESSAGE);
}
END_TEST

/* ---- C1: clocks ---- */

/* Puts `pkt` first, and the start of the sequence's state with it. */
static void move_to_front(TracePacket *pkt)
{
	good_trace_move(&t, pkt, t.first_snapshot);
	pkt->sequence_flags = 3;
	t.first_snapshot->sequence_flags = 2;
}

START_TEST(another_first_packet)
{
	move_to_front(t.uuid);
	assert_found(&t, CHECK_FIRST_PACKET);
}
END_TEST

START_TEST(symbols_as_first_packet)
{
	struct trace_check *c;

	move_to_front(t.symbols);
	c = check_of_trace(&t);
	ck_assert_uint_eq(found(c, CHECK_FIRST_PACKET), 1);
	ck_assert_uint_eq(found(c, CHECK_SYMBOLS_EARLY), 1);
	trace_check_free(c);
}
END_TEST

START_TEST(a_first_snapshot_without_a_trace_clock)
{
	t.first_snapshot->clock_snapshot->has_primary_trace_clock = 0;
	t.first_snapshot->clock_snapshot->primary_trace_clock = 0;
	assert_found(&t, CHECK_FIRST_PACKET);
}
END_TEST

START_TEST(a_snapshot_with_fewer_clocks)
{
	ClockSnapshot *s = t.second_snapshot->clock_snapshot;

	s->clocks[2] = s->clocks[--s->n_clocks];
	assert_found(&t, CHECK_SNAPSHOT_CLOCKS);
}
END_TEST

START_TEST(a_snapshot_with_a_clock_twice)
{
	t.second_snapshot->clock_snapshot->clocks[2]->clock_id = 3;
	assert_found(&t, CHECK_SNAPSHOT_CLOCKS);
}
END_TEST

START_TEST(a_snapshot_that_carries_an_event)
{
	t.second_snapshot->trace_stats = t.trace_stats->trace_stats;
	assert_found(&t, CHECK_SNAPSHOT_PAYLOAD);
}
END_TEST

START_TEST(a_trace_clock_that_goes_back)
{
	TracePacket *back = good_trace_copy(&t, t.second_snapshot);

	for (int i = 0; i < 4; i++)
		back->clock_snapshot->clocks[i]->timestamp -= 1000000;
	good_trace_insert(&t, back, t.stats_end);
	assert_found(&t, CHECK_CLOCK_BACK);
}
END_TEST

START_TEST(snapshots_more_than_15_s_apart)
{
	good_trace_remove(&t, t.second_snapshot);
	assert_found(&t, CHECK_SNAPSHOT_GAP);
}
END_TEST

/* It slept for 8 of the 20 s. */
START_TEST(snapshots_apart_by_a_suspend_are_fine)
{
	good_trace_remove(&t, t.second_snapshot);
	t.last_snapshot->clock_snapshot->clocks[1]->timestamp -= 8000000000;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* The machine slept for 2 s after 5 ms; the samples behind are converted as if it had not. */
START_TEST(a_snapshot_that_comes_too_late_after_a_suspend)
{
	TracePacket *late = good_trace_copy(&t, t.second_snapshot);
	ClockSnapshot__Clock **clocks = late->clock_snapshot->clocks;

	clocks[0]->timestamp = clocks[2]->timestamp = clocks[3]->timestamp = MS(2006);
	clocks[1]->timestamp = MS(6) - SLEPT;
	good_trace_insert(&t, late, t.begin_a);
	for (int i = 0; i < 2; i++) {
		TracePacket *later = i ? t.last_snapshot : t.second_snapshot;

		later->clock_snapshot->clocks[1]->timestamp -= 2000000000;
	}
	assert_found(&t, CHECK_SNAPSHOT_LATE);
}
END_TEST

START_TEST(a_clock_that_no_snapshot_has)
{
	t.counter->has_timestamp_clock_id = 1;
	t.counter->timestamp_clock_id = 4;
	assert_found(&t, CHECK_UNKNOWN_CLOCK);
}
END_TEST

START_TEST(an_event_without_a_time)
{
	t.instant->has_timestamp = 0;
	assert_found(&t, CHECK_NO_TIME);
}
END_TEST

START_TEST(an_event_at_time_0)
{
	t.instant->timestamp = 0;
	assert_found(&t, CHECK_STRAY_TIME);
}
END_TEST

START_TEST(an_event_in_monotonic_time)
{
	t.instant->timestamp -= SLEPT;
	assert_found(&t, CHECK_STRAY_TIME);
}
END_TEST

START_TEST(an_event_in_real_time)
{
	t.instant->timestamp = 1790000000000000000ull;
	assert_found(&t, CHECK_STRAY_TIME);
}
END_TEST

START_TEST(an_event_after_the_last_snapshot)
{
	TracePacket *late = good_trace_copy(&t, t.instant);

	late->timestamp = MS(21500);
	good_trace_insert(&t, late, t.trace_stats);
	assert_found(&t, CHECK_STRAY_TIME);
}
END_TEST

START_TEST(a_scheduler_event_before_the_start)
{
	t.started->timestamp = MS(2);
	assert_found(&t, CHECK_BEFORE_START);
}
END_TEST

START_TEST(a_start_that_comes_behind_the_events)
{
	t.started->timestamp = MS(2);
	good_trace_move(&t, t.started, t.second_snapshot);
	assert_found(&t, CHECK_BEFORE_START);
}
END_TEST

static void assert_marker(unsigned number)
{
	TracePacket *pkt = good_trace_copy(&t, t.disabled);

	pkt->service_event = NULL;
	put_int(&inner, number, 1);
	put_bytes(&bytes, 69, inner.data, inner.len);
	good_trace_insert(&t, pkt, t.disabled);
	good_trace_append(&t, pkt, &bytes);
	assert_found(&t, CHECK_MARKERS);
}

START_TEST(a_flush_marker)
{
	assert_marker(3);
}
END_TEST

START_TEST(a_read_marker)
{
	assert_marker(4);
}
END_TEST

START_TEST(no_uuid)
{
	good_trace_remove(&t, t.uuid);
	assert_found(&t, CHECK_METADATA);
}
END_TEST

START_TEST(no_timezone)
{
	t.system_info->system_info->has_timezone_off_mins = 0;
	assert_found(&t, CHECK_METADATA);
}
END_TEST

START_TEST(no_start)
{
	good_trace_remove(&t, t.started);
	assert_found(&t, CHECK_METADATA);
}
END_TEST

START_TEST(no_release_before_the_first_bundle)
{
	good_trace_move(&t, t.system_info, t.later_tree);
	assert_found(&t, CHECK_SYSTEM_INFO_LATE);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_good_trace_passes,
		the_summary_counts_what_is_there,
		a_file_cut_anywhere_is_no_finding,
		a_cut_file_says_where,
		a_finding_keeps_a_bounded_number_of_examples,
		garbage_behind_the_packets,
		zeros_behind_the_packets_are_no_garbage,
		a_packet_whose_fields_do_not_parse,
		a_block_that_does_not_inflate,
		a_block_that_inflates_to_too_much,
		a_block_within_a_block,
		a_field_beside_a_block,
		a_block_of_zstd,
		blocks_of_zlib_and_of_zstd,
		an_unknown_field,
		frame_ids_that_are_packed,
		flow_ids_that_are_packed,
		a_compact_sched_that_is_not_packed,
		a_field_of_another_type,
		a_message_that_is_broken,
		a_message_that_nests_without_end,
		another_first_packet,
		symbols_as_first_packet,
		a_first_snapshot_without_a_trace_clock,
		a_snapshot_with_fewer_clocks,
		a_snapshot_with_a_clock_twice,
		a_snapshot_that_carries_an_event,
		a_trace_clock_that_goes_back,
		snapshots_more_than_15_s_apart,
		snapshots_apart_by_a_suspend_are_fine,
		a_snapshot_that_comes_too_late_after_a_suspend,
		a_clock_that_no_snapshot_has,
		an_event_without_a_time,
		an_event_at_time_0,
		an_event_in_monotonic_time,
		an_event_in_real_time,
		an_event_after_the_last_snapshot,
		a_scheduler_event_before_the_start,
		a_start_that_comes_behind_the_events,
		a_flush_marker,
		a_read_marker,
		no_uuid,
		no_timezone,
		no_start,
		no_release_before_the_first_bundle,
	};
	Suite *suite = suite_create("check_file");
	TCase *tc = tcase_create("mistakes");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		tcase_add_test(tc, tests[i]);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
