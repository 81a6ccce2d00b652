/* SPDX-License-Identifier: Apache-2.0 */
/* What a listener is told of that which is written. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trace_gpu.h"
#include "trace_writer_impl.h"
#include "written_trace.h"

static struct written w;
static uint64_t now;
static char told[4096];

static void listen(void *ctx, const struct trace_tap_event *ev)
{
	static const char *const kinds[] = { "slice", "instant", "counter" };
	size_t len = strlen(told);

	ck_assert_ptr_eq(ctx, &w);
	len += (size_t)snprintf(told + len, sizeof(told) - len, "%s %s/%s %u/%u on %s %lu+%lu",
				kinds[ev->kind], ev->name, ev->category ? ev->category : "-",
				ev->tgid, ev->tid, ev->track ? ev->track : "-", ev->time_ns - now,
				ev->end_ns - ev->time_ns);
	for (size_t i = 0; i < ev->n_args; i++)
		len += (size_t)snprintf(told + len, sizeof(told) - len, " %s=%s", ev->args[i].name,
					ev->args[i].s);
	if (ev->kind == TAP_COUNTER)
		len += (size_t)snprintf(told + len, sizeof(told) - len, " %g", ev->value);
	snprintf(told + len, sizeof(told) - len, " of %u\n", ev->source);
}

static void set_up(void)
{
	written_open(&w);
	now = boot_ns();
	trace_writer_source(w.writer, WRITTEN_SOURCE, now);
	told[0] = '\0';
}

static void tear_down(void)
{
	written_done(&w);
}

static void tap(void)
{
	ck_assert_int_eq(trace_writer_tap(w.writer, listen, &w), 0);
}

static uint64_t lane_of(struct trace_writer *to, uint64_t parent)
{
	const struct trace_track track = { .name = "lane", .parent = parent };

	return trace_track(to, &track);
}

static void write_all(struct trace_writer *to, uint64_t thread)
{
	const struct trace_arg arg = { .name = "who", .type = ARG_STRING, .s = "me" };
	const struct trace_inner inner = { "part", "p", now + 1, now + 2 };
	struct trace_event ev = {
		.track = thread, .time_ns = now, .name = "whole", .args = &arg, .n_args = 1
	};
	const struct trace_track counter = { .name = "heap", .parent = thread, .is_counter = true };

	ck_assert_int_eq(trace_slice_around(to, &ev, now + 5, &inner, 1, 1), 0);
	ev.n_args = 0;
	ev.category = "c";
	ck_assert_int_eq(trace_slice(to, &ev, now + 7, 1), 0);
	ev.track = lane_of(to, thread);
	ck_assert_int_eq(trace_instant(to, &ev, 1), 0);
	ev.track = lane_of(to, 0);
	ck_assert_int_eq(trace_instant(to, &ev, 1), 0);
	ck_assert_int_eq(trace_counter(to, trace_track(to, &counter), now, -3), 0);
	ck_assert_int_eq(trace_counter_double(to, trace_track(to, &counter), now, 0.5), 0);
}

static const char *const expected = "slice whole/- 7/8 on - 0+5 who=me of 3\n"
				    "slice part/p 7/8 on - 1+1 of 3\n"
				    "slice whole/c 7/8 on - 0+7 of 3\n"
				    "instant whole/c 7/8 on lane 0+0 of 3\n"
				    "instant whole/c 0/0 on lane 0+0 of 3\n"
				    "counter heap/- 7/8 on heap 0+0 -3 of 3\n"
				    "counter heap/- 7/8 on heap 0+0 0.5 of 3\n";

START_TEST(each_event_is_told_with_whose_it_is)
{
	tap();
	write_all(w.writer, trace_thread_track(w.writer, 7, 8, 0));
	ck_assert_str_eq(told, expected);
}
END_TEST

START_TEST(who_comes_late_knows_the_tracks_that_there_are)
{
	uint64_t thread = trace_thread_track(w.writer, 7, 8, 0);

	write_all(w.writer, thread);
	ck_assert_str_eq(told, "");
	tap();
	write_all(w.writer, thread);
	ck_assert_str_eq(told, expected);
}
END_TEST

START_TEST(who_has_gone_is_told_nothing)
{
	tap();
	ck_assert_int_eq(trace_writer_tap(w.writer, NULL, NULL), 0);
	ck_assert(!trace_is_tapped(w.writer));
	write_all(w.writer, trace_thread_track(w.writer, 7, 8, 0));
	ck_assert_str_eq(told, "");
	tap();
	ck_assert(trace_is_tapped(w.writer));
	write_all(w.writer, trace_thread_track(w.writer, 7, 8, 0));
	ck_assert_str_eq(told, expected);
}
END_TEST

/* A tid whose owner changes has two tracks; what comes late of the first is still the first's. */
START_TEST(a_tid_that_is_given_away_has_two_owners)
{
	struct trace_event ev = { .time_ns = now, .name = "a" };

	tap();
	ev.track = trace_thread_track(w.writer, 1, 8, now - NS_PER_SEC);
	ck_assert_uint_ne(ev.track, trace_thread_track(w.writer, 2, 8, now));
	ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
	ev.track = trace_thread_track(w.writer, 2, 8, now);
	ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
	ck_assert_str_eq(told, "instant a/- 1/8 on - 0+0 of 3\ninstant a/- 2/8 on - 0+0 of 3\n");
}
END_TEST

START_TEST(what_other_packets_draw_is_told_too)
{
	const struct trace_stage_arg arg = { "ring", "gfx" };
	const struct trace_stage stage = { .id = 1,
					   .time_ns = now,
					   .duration_ns = 9,
					   .pid = 5,
					   .queue = "gfx_0.0.0",
					   .name = "job",
					   .args = &arg,
					   .n_args = 1 };
	const struct trace_tap_event exit = {
		.kind = TAP_INSTANT, .time_ns = now, .end_ns = now, .name = "exit", .tgid = 5
	};

	ck_assert_int_eq(trace_stage(w.writer, &stage, 1), 0);
	trace_tap_tell(w.writer, &exit);
	tap();
	ck_assert_int_eq(trace_stage(w.writer, &stage, 1), 0);
	trace_tap_tell(w.writer, &exit);
	ck_assert_str_eq(told, "slice job/gpu 5/0 on gfx_0.0.0 0+9 ring=gfx of 3\n"
			       "instant exit/- 5/0 on - 0+0 of 3\n");
}
END_TEST

/* Watching leaves no trace: nothing is packed, nothing is kept, events are in the account. */
START_TEST(without_a_sink_all_is_told_and_nothing_is_kept)
{
	struct trace_writer_stats stats;
	struct trace_writer *deaf;
	uint64_t track;

	ck_assert_int_eq(trace_writer_new(NULL, NULL, &deaf), 0);
	ck_assert_int_eq(trace_writer_tap(deaf, listen, &w), 0);
	trace_writer_source(deaf, WRITTEN_SOURCE, now);
	track = trace_thread_track(deaf, 7, 8, 0);
	write_all(deaf, track);
	ck_assert_str_eq(told, expected);
	trace_writer_stats(deaf, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_written, 4);
	for (int i = 0; i < 100000; i++) {
		char text[32];

		snprintf(text, sizeof(text), "stack %d", i);
		ck_assert_uint_ne(trace_intern_string(deaf, SEQ_EVENTS, INTERN_EVENT_NAME, text,
						      strlen(text)),
				  0);
		if (i % 1000 == 0)
			ck_assert_int_eq(trace_writer_flush(deaf), 0);
	}
	ck_assert_uint_lt(deaf->sequences[SEQ_EVENTS].next_iid[INTERN_EVENT_NAME], 10000);
	ck_assert_uint_eq(deaf->bulk.packets.len, 0);
	ck_assert_uint_eq(trace_writer_bytes(deaf), 0);
	trace_writer_free(deaf);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_tap");
	TCase *tc = tcase_create("listeners");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, each_event_is_told_with_whose_it_is);
	tcase_add_test(tc, who_comes_late_knows_the_tracks_that_there_are);
	tcase_add_test(tc, who_has_gone_is_told_nothing);
	tcase_add_test(tc, a_tid_that_is_given_away_has_two_owners);
	tcase_add_test(tc, without_a_sink_all_is_told_and_nothing_is_kept);
	tcase_add_test(tc, what_other_packets_draw_is_told_too);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed > 0;
}
