/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_sched.c - C4 of a trace check: scheduling, processes. */
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

static FtraceEventBundle *cpu_0(void)
{
	return t.bundle_0->ftrace_events;
}

static FtraceEventBundle__CompactSched *compact(void)
{
	return cpu_0()->compact_sched;
}

/* ---- events ---- */

START_TEST(a_bundle_without_a_cpu)
{
	TracePacket *pkt = good_trace_copy(&t, t.bundle_1);

	pkt->ftrace_events->has_cpu = 0;
	good_trace_insert(&t, pkt, t.bundle_1);
	assert_found(&t, CHECK_BUNDLE_NO_CPU);
}
END_TEST

START_TEST(a_bundle_of_cpu_1024)
{
	TracePacket *pkt = good_trace_copy(&t, t.bundle_1);

	pkt->ftrace_events->cpu = 1024;
	good_trace_insert(&t, pkt, t.bundle_1);
	assert_found(&t, CHECK_BUNDLE_NO_CPU);
}
END_TEST

START_TEST(a_bundle_with_a_clock_of_its_own)
{
	cpu_0()->has_ftrace_clock = 1;
	cpu_0()->ftrace_clock = 2;
	assert_found(&t, CHECK_FTRACE_CLOCK);
}
END_TEST

START_TEST(an_event_without_a_pid)
{
	cpu_0()->event[0]->has_pid = 0;
	assert_found(&t, CHECK_EVENT_NO_PID);
}
END_TEST

/* It is not counted: a viewer does not see it either. */
START_TEST(an_event_without_a_time)
{
	t.bundle_1->ftrace_events->event[1]->has_timestamp = 0;
	--*good_trace_ledger(&t, "ledger.sched.written");
	--*good_trace_ledger(&t, "ledger.sched.produced");
	assert_found(&t, CHECK_EVENT_NO_TIME);
}
END_TEST

START_TEST(an_event_without_a_payload)
{
	t.bundle_1->ftrace_events->event[1]->softirq_entry = NULL;
	--*good_trace_ledger(&t, "ledger.sched.written");
	--*good_trace_ledger(&t, "ledger.sched.produced");
	assert_found(&t, CHECK_EVENT_EMPTY);
}
END_TEST

START_TEST(an_event_of_another_kind_is_fine)
{
	FtraceEvent *e = t.bundle_1->ftrace_events->event[1];
	PrintFtraceEvent *print = good_trace_alloc(&t, sizeof(*print));

	print_ftrace_event__init(print);
	e->softirq_entry = NULL;
	e->print = print;
	--*good_trace_ledger(&t, "ledger.sched.written");
	--*good_trace_ledger(&t, "ledger.sched.produced");
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_blocked_reason_whose_function_nobody_interned)
{
	FtraceEvent *e = t.bundle_1->ftrace_events->event[1];
	SchedBlockedReasonFtraceEvent *why = good_trace_alloc(&t, sizeof(*why));

	sched_blocked_reason_ftrace_event__init(why);
	why->has_caller = 1;
	why->caller = 3;
	e->softirq_entry = NULL;
	e->sched_blocked_reason = why;
	--*good_trace_ledger(&t, "ledger.sched.written");
	--*good_trace_ledger(&t, "ledger.sched.produced");
	assert_found(&t, CHECK_IID_UNKNOWN);
}
END_TEST

/* ---- compact switches and wakings ---- */

/* A bundle behind all others whose arrays are wrong; it is ignored as a whole. */
static FtraceEventBundle__CompactSched *one_more_bundle(void)
{
	TracePacket *pkt = good_trace_copy(&t, t.bundle_0);
	FtraceEventBundle *b = pkt->ftrace_events;

	b->n_event = 0;
	b->compact_sched->switch_timestamp[0] += 100000000;
	b->compact_sched->waking_timestamp[0] += 100000000;
	good_trace_insert(&t, pkt, t.samples[0]);
	return b->compact_sched;
}

static void count_sched(int64_t n)
{
	*good_trace_ledger(&t, "ledger.sched.written") += n;
	*good_trace_ledger(&t, "ledger.sched.produced") += n;
}

START_TEST(switch_arrays_of_unequal_length)
{
	one_more_bundle()->n_switch_next_prio = 2;
	count_sched(2); /* the wakings */
	assert_found(&t, CHECK_COMPACT_UNEQUAL);
}
END_TEST

START_TEST(waking_arrays_of_unequal_length)
{
	one_more_bundle()->n_waking_comm_index = 1;
	count_sched(3); /* the switches */
	assert_found(&t, CHECK_COMPACT_UNEQUAL);
}
END_TEST

START_TEST(wakings_without_flags_are_fine)
{
	compact()->n_waking_common_flags = 0;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(switches_that_go_back_within_a_bundle)
{
	compact()->switch_timestamp[2] = (uint64_t)-1000;
	assert_found(&t, CHECK_COMPACT_NEGATIVE);
}
END_TEST

START_TEST(wakings_that_go_back_within_a_bundle)
{
	compact()->waking_timestamp[1] = (uint64_t)-1000;
	assert_found(&t, CHECK_COMPACT_NEGATIVE);
}
END_TEST

START_TEST(a_name_beyond_the_bundles_table)
{
	compact()->switch_next_comm_index[1] = 3;
	assert_found(&t, CHECK_COMPACT_INDEX);
}
END_TEST

START_TEST(a_wakings_name_beyond_the_bundles_table)
{
	compact()->waking_comm_index[1] = 3;
	assert_found(&t, CHECK_COMPACT_INDEX);
}
END_TEST

START_TEST(a_cpu_that_starts_with_a_compact_switch)
{
	cpu_0()->event++;
	cpu_0()->n_event--;
	count_sched(-1);
	/* The first sample is not covered then, which is no finding. */
	assert_found(&t, CHECK_NO_FULL_SWITCH);
}
END_TEST

/* Bundles of CPU 0 behind the first, each with three compact switches; the first tells of a loss.
 */
static void bundles_after_a_loss(int n)
{
	for (int i = 0; i < n; i++) {
		TracePacket *pkt = good_trace_copy(&t, t.bundle_0);
		FtraceEventBundle *b = pkt->ftrace_events;

		b->n_event = 0;
		b->has_lost_events = i == 0;
		b->lost_events = i == 0;
		b->compact_sched->switch_timestamp[0] += 100000000 * (1 + (uint64_t)i);
		b->compact_sched->waking_timestamp[0] += 100000000 * (1 + (uint64_t)i);
		good_trace_insert(&t, pkt, t.samples[0]);
		count_sched(5);
	}
	good_trace_lose(&t, "sched", 4);
}

START_TEST(a_bundle_that_tells_of_a_loss_may_hold_what_was_before_it)
{
	bundles_after_a_loss(1);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_compact_switch_after_a_loss)
{
	bundles_after_a_loss(2);
	assert_found(&t, CHECK_NO_FULL_SWITCH);
}
END_TEST

/* Those of processes have a sequence of their own: no switch is lost with them. */
START_TEST(a_compact_switch_after_a_loss_of_other_events_is_fine)
{
	TracePacket *lost = good_trace_copy(&t, t.bundle_0), *pkt = good_trace_copy(&t, t.bundle_0);

	lost->trusted_packet_sequence_id = t.later_tree->trusted_packet_sequence_id;
	lost->ftrace_events->n_event = 0;
	lost->ftrace_events->compact_sched = NULL;
	lost->ftrace_events->has_lost_events = lost->ftrace_events->lost_events = 1;
	good_trace_insert(&t, lost, t.samples[0]);
	pkt->ftrace_events->n_event = 0;
	pkt->ftrace_events->compact_sched->switch_timestamp[0] += 100000000;
	pkt->ftrace_events->compact_sched->waking_timestamp[0] += 100000000;
	good_trace_insert(&t, pkt, t.samples[0]);
	count_sched(5);
	good_trace_lose(&t, "proc", 4);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_waking_before_the_first_switch_of_its_cpu)
{
	compact()->waking_timestamp[0] = MS(1) - 1;
	compact()->waking_timestamp[1] = MS(39) - MS(1);
	assert_found(&t, CHECK_WAKING_EARLY);
}
END_TEST

/* ---- the story of a CPU ---- */

static SchedSwitchFtraceEvent *second_full_switch(void)
{
	return t.bundle_1->ftrace_events->event[2]->sched_switch;
}

START_TEST(a_full_switch_from_a_thread_that_did_not_run)
{
	second_full_switch()->prev_pid = 101;
	assert_found(&t, CHECK_PREV_PID);
}
END_TEST

/* Two bundles of CPU 1, with a loss between them. */
START_TEST(a_full_switch_from_another_thread_after_a_loss_is_fine)
{
	TracePacket *pkt = good_trace_copy(&t, t.bundle_1);
	FtraceEventBundle *b = pkt->ftrace_events;

	t.bundle_1->ftrace_events->n_event = 2;
	b->event += 2;
	b->n_event -= 2;
	b->has_lost_events = 1;
	b->lost_events = 1;
	b->event[0]->sched_switch->prev_pid = 101;
	good_trace_insert(&t, pkt, t.samples[0]);
	good_trace_lose(&t, "sched", 4);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* The loss lies before the full switch; what is compact was kept before it. */
START_TEST(compact_switches_before_the_loss_in_its_bundle_are_fine)
{
	FtraceEvent **events = good_trace_alloc(&t, 8 * sizeof(*events));
	TracePacket *pkt = good_trace_copy(&t, t.bundle_0);
	FtraceEventBundle *b = pkt->ftrace_events;

	/* 101 runs from 40 ms on; 20, 30 and 40 ms later compact ones; at 200 ms a full one. */
	b->event[0]->timestamp = MS(200);
	b->event[0]->sched_switch->prev_pid = 4711;
	b->event[0]->sched_switch->next_pid = 101;
	events[0] = b->event[0];
	b->event = events;
	b->n_event = 1;
	b->has_lost_events = 1;
	b->lost_events = 1;
	b->compact_sched->switch_timestamp[0] += 100000000;
	b->compact_sched->waking_timestamp[0] += 100000000;
	good_trace_insert(&t, pkt, t.samples[0]);
	count_sched(6);
	good_trace_lose(&t, "sched", 4);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_state_with_unknown_bits)
{
	compact()->switch_prev_state[0] = 0x402;
	assert_found(&t, CHECK_PREV_STATE);
}
END_TEST

START_TEST(a_state_of_two_bits)
{
	second_full_switch()->prev_state = 3;
	assert_found(&t, CHECK_PREV_STATE);
}
END_TEST

START_TEST(a_bundle_older_than_the_one_before)
{
	TracePacket *pkt = good_trace_copy(&t, t.bundle_0);
	FtraceEventBundle__CompactSched *s = pkt->ftrace_events->compact_sched;

	/* One switch of the same thread, to itself, so that nothing else is wrong. */
	pkt->ftrace_events->n_event = 0;
	s->n_switch_timestamp = s->n_switch_prev_state = s->n_switch_next_pid = 1;
	s->n_switch_next_prio = s->n_switch_next_comm_index = 1;
	s->switch_timestamp[0] = MS(39);
	s->switch_next_pid[0] = 100;
	s->n_waking_timestamp = s->n_waking_pid = s->n_waking_target_cpu = 0;
	s->n_waking_prio = s->n_waking_comm_index = s->n_waking_common_flags = 0;
	good_trace_insert(&t, pkt, t.samples[0]);
	count_sched(1);
	assert_found(&t, CHECK_SCHED_BACK);
}
END_TEST

START_TEST(full_switches_among_compact_ones_are_put_in_order)
{
	FtraceEvent **events = good_trace_alloc(&t, 8 * sizeof(*events));
	FtraceEvent *e = good_trace_copy(&t, t.bundle_1)->ftrace_events->event[2];

	/* At 45 ms, behind the compact ones, yet first in the bundle. */
	e->timestamp = MS(45);
	e->sched_switch->prev_pid = 101;
	events[0] = e;
	memcpy(events + 1, cpu_0()->event, cpu_0()->n_event * sizeof(*events));
	cpu_0()->event = events;
	cpu_0()->n_event++;
	count_sched(1);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* ---- FtraceStats ---- */

START_TEST(stats_without_a_phase)
{
	struct trace_check *c;

	t.stats_end->ftrace_stats->phase = 0;
	c = check_of_trace(&t);
	assert_only(c, CHECK_FTRACE_STATS);
	trace_check_free(c);
}
END_TEST

START_TEST(no_stats_at_the_end)
{
	good_trace_remove(&t, t.stats_end);
	assert_found(&t, CHECK_FTRACE_STATS);
}
END_TEST

START_TEST(no_stats_at_the_start)
{
	good_trace_remove(&t, t.stats_start);
	assert_found(&t, CHECK_FTRACE_STATS);
}
END_TEST

/* ---- processes ---- */

START_TEST(a_process_without_a_cmdline)
{
	t.tree->process_tree->processes[0]->n_cmdline = 0;
	assert_found(&t, CHECK_TREE_CMDLINE);
}
END_TEST

START_TEST(a_process_whose_parent_changes)
{
	TracePacket *pkt = good_trace_copy(&t, t.tree);

	pkt->timestamp = MS(30);
	pkt->process_tree->processes[1]->ppid = 0;
	good_trace_insert(&t, pkt, t.samples[0]);
	assert_found(&t, CHECK_TREE_PARENT);
}
END_TEST

/* 100 makes 200. */
START_TEST(a_process_whose_parent_is_not_who_made_it)
{
	t.later_tree->process_tree->processes[0]->ppid = 1;
	assert_found(&t, CHECK_TREE_PARENT);
}
END_TEST

/* The thread that makes it is one of process 100. */
START_TEST(a_process_made_by_a_worker_thread_is_fine)
{
	cpu_0()->event[1]->pid = 101;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_process_tree_before_its_newtask)
{
	t.later_tree->timestamp = MS(2) - 1;
	assert_found(&t, CHECK_TREE_OUTSIDE_LIFE);
}
END_TEST

START_TEST(a_process_tree_at_its_newtask_is_fine)
{
	t.later_tree->timestamp = MS(2);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_process_tree_after_the_free)
{
	t.later_tree->timestamp = MS(60) + 1;
	assert_found(&t, CHECK_TREE_OUTSIDE_LIFE);
}
END_TEST

/* Events of processes were lost, and the trace says so: who lived when is not known. */
START_TEST(lives_are_not_judged_when_events_of_them_were_lost)
{
	good_trace_lose(&t, "proc", 1);
	t.later_tree->timestamp = MS(60) + 1;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_bundle_without_a_cpu,
		a_bundle_of_cpu_1024,
		a_bundle_with_a_clock_of_its_own,
		an_event_without_a_pid,
		an_event_without_a_time,
		an_event_without_a_payload,
		an_event_of_another_kind_is_fine,
		a_blocked_reason_whose_function_nobody_interned,
		switch_arrays_of_unequal_length,
		waking_arrays_of_unequal_length,
		wakings_without_flags_are_fine,
		switches_that_go_back_within_a_bundle,
		wakings_that_go_back_within_a_bundle,
		a_name_beyond_the_bundles_table,
		a_wakings_name_beyond_the_bundles_table,
		a_cpu_that_starts_with_a_compact_switch,
		a_bundle_that_tells_of_a_loss_may_hold_what_was_before_it,
		a_compact_switch_after_a_loss,
		a_compact_switch_after_a_loss_of_other_events_is_fine,
		a_waking_before_the_first_switch_of_its_cpu,
		a_full_switch_from_a_thread_that_did_not_run,
		a_full_switch_from_another_thread_after_a_loss_is_fine,
		compact_switches_before_the_loss_in_its_bundle_are_fine,
		a_state_with_unknown_bits,
		a_state_of_two_bits,
		a_bundle_older_than_the_one_before,
		full_switches_among_compact_ones_are_put_in_order,
		stats_without_a_phase,
		no_stats_at_the_end,
		no_stats_at_the_start,
		a_process_without_a_cmdline,
		a_process_whose_parent_changes,
		a_process_whose_parent_is_not_who_made_it,
		a_process_made_by_a_worker_thread_is_fine,
		a_process_tree_before_its_newtask,
		a_process_tree_at_its_newtask_is_fine,
		a_process_tree_after_the_free,
		lives_are_not_judged_when_events_of_them_were_lost,
	};
	Suite *suite = suite_create("check_sched");
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
