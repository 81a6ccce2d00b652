/* SPDX-License-Identifier: Apache-2.0 */
/* test_check_samples.c - samples, symbols, GPU jobs, frames and the ledger of a trace check. */
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

static StackSample *sample(int i)
{
	return t.samples[i]->stack_sample;
}

static TracePacketDefaults *defaults(void)
{
	return t.samples[0]->trace_packet_defaults;
}

/* ---- samples ---- */

/* It is not the CPU's then, and not counted as its. */
START_TEST(samples_without_a_source)
{
	defaults()->stack_sample_defaults->source = NULL;
	*good_trace_ledger(&t, "ledger.cpu.written") = 0;
	*good_trace_ledger(&t, "ledger.cpu.filtered") = 3;
	assert_found(&t, CHECK_SAMPLE_NO_SOURCE);
}
END_TEST

START_TEST(a_sample_without_a_thread)
{
	sample(1)->has_task_context_iid = 0;
	assert_found(&t, CHECK_SAMPLE_NO_THREAD);
}
END_TEST

START_TEST(a_task_context_without_a_tid)
{
	t.samples[0]->interned_data->stack_sample_task_contexts[1]->has_tid = 0;
	assert_found(&t, CHECK_SAMPLE_NO_THREAD);
}
END_TEST

START_TEST(a_sample_without_a_callstack)
{
	sample(1)->has_callstack_iid = 0;
	assert_found(&t, CHECK_SAMPLE_NO_CALLSTACK);
}
END_TEST

START_TEST(time_off_the_cpu_in_a_unit_of_cpu_time)
{
	defaults()->stack_sample_defaults->source = "linux.offcpu";
	*good_trace_ledger(&t, "ledger.cpu.written") = 0;
	*good_trace_ledger(&t, "ledger.cpu.filtered") = 3;
	assert_found(&t, CHECK_SAMPLE_UNIT);
}
END_TEST

START_TEST(time_off_the_cpu_in_a_unit_of_its_own_is_fine)
{
	StackSample__CounterDescriptor *d = defaults()->stack_sample_defaults->primary_descriptor;

	defaults()->stack_sample_defaults->source = "linux.offcpu";
	d->has_unit = 0;
	d->unit = 0;
	d->unit_str = "ns-offcpu";
	*good_trace_ledger(&t, "ledger.cpu.written") = 0;
	*good_trace_ledger(&t, "ledger.cpu.filtered") = 3;
	/* Nor must such samples lie where the thread runs. */
	t.samples[2]->timestamp = MS(25) - SLEPT;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_sample_of_a_process_without_a_name)
{
	t.samples[0]->interned_data->stack_sample_task_contexts[0]->pid = 555;
	assert_found(&t, CHECK_SAMPLE_NAMELESS);
}
END_TEST

START_TEST(a_process_may_be_named_after_the_file_was_cut)
{
	t.samples[0]->interned_data->stack_sample_task_contexts[0]->pid = 555;
	good_trace_remove(&t, t.disabled);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_sample_before_the_life_of_its_thread)
{
	/* Before the first switch of CPU 1: whether it ran is not known. */
	t.samples[1]->timestamp = MS(1) - SLEPT;
	assert_found(&t, CHECK_SAMPLE_OUTSIDE_LIFE);
}
END_TEST

START_TEST(a_sample_after_the_life_of_its_thread)
{
	sample(1)->has_execution_context_iid = 0;
	t.samples[1]->timestamp = MS(60) + 1 - SLEPT;
	assert_found(&t, CHECK_SAMPLE_OUTSIDE_LIFE);
}
END_TEST

START_TEST(a_sample_of_a_thread_that_sleeps)
{
	t.samples[2]->timestamp = MS(25) - SLEPT;
	assert_found(&t, CHECK_SAMPLE_NOT_RUNNING);
}
END_TEST

START_TEST(a_sample_on_another_cpu)
{
	sample(1)->execution_context_iid = 1;
	assert_found(&t, CHECK_SAMPLE_NOT_RUNNING);
}
END_TEST

START_TEST(a_sample_after_the_last_switch_belongs_to_the_thread_switched_in)
{
	t.samples[2]->timestamp = MS(41) - SLEPT;
	assert_found(&t, CHECK_SAMPLE_NOT_RUNNING);
}
END_TEST

START_TEST(a_sample_of_the_thread_switched_in_last_is_fine)
{
	t.samples[0]->interned_data->stack_sample_task_contexts[0]->tid = 101;
	t.samples[0]->timestamp = MS(41) - SLEPT;
	t.samples[2]->timestamp = MS(42) - SLEPT;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* The tracepoint fires a little before the thread is off the CPU. */
START_TEST(a_sample_within_the_handover_is_fine)
{
	t.samples[2]->timestamp = MS(40) + 5000 - SLEPT;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_sample_where_switches_were_lost_is_not_judged)
{
	TracePacket *pkt = good_trace_copy(&t, t.bundle_1);
	FtraceEventBundle *b = pkt->ftrace_events;

	/* CPU 1 again, from 50 ms on, with a loss before. */
	t.bundle_1->ftrace_events->n_event = 2;
	b->event += 2;
	b->n_event -= 2;
	b->has_lost_events = 1;
	b->lost_events = 1;
	good_trace_insert(&t, pkt, t.samples[0]);
	good_trace_lose(&t, "sched", 2);
	sample(0)->execution_context_iid = 2; /* of 100, at 5 ms, when 200 seems to run */
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* A second sampling session, of 100 at 7 ms. */
static TracePacket *second_session(char *counter, char *unit_str)
{
	TracePacket *pkt = good_trace_copy(&t, t.samples[0]);
	StackSampleDefaults *d = pkt->trace_packet_defaults->stack_sample_defaults;

	pkt->trusted_packet_sequence_id = 17;
	pkt->timestamp += 2000000;
	d->primary_descriptor->name = counter;
	if (unit_str) {
		d->primary_descriptor->has_unit = 0;
		d->primary_descriptor->unit_str = unit_str;
	}
	good_trace_insert(&t, pkt, t.begin_a);
	++*good_trace_ledger(&t, "ledger.cpu.written");
	++*good_trace_ledger(&t, "ledger.cpu.produced");
	return pkt;
}

/* Beside CPU samples there may be others, and each collector has its own account. */
START_TEST(samples_of_other_events_are_the_cpus_too)
{
	TracePacket *pkt = second_session("page-faults every 1", "page faults");

	pkt->trace_packet_defaults->stack_sample_defaults->source = "linux.page-faults";
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(samples_of_other_collectors_are_not_the_cpus)
{
	static char *const others[] = { "linux.offcpu", "linux.wakers", "linux.alloc" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		TracePacket *pkt = second_session(others[i], "of its own");

		pkt->trusted_packet_sequence_id += (uint32_t)i;
		pkt->trace_packet_defaults->stack_sample_defaults->source = others[i];
		--*good_trace_ledger(&t, "ledger.cpu.written");
		--*good_trace_ledger(&t, "ledger.cpu.produced");
	}
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(two_sessions_of_one_name)
{
	(void)second_session("cpu-clock 999 Hz", NULL);
	assert_found(&t, CHECK_SESSION_NAME);
}
END_TEST

START_TEST(two_sessions_of_two_names_are_fine)
{
	(void)second_session("cpu-clock 4000 Hz", NULL);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_perf_sample_with_a_count)
{
	TracePacket *pkt = good_trace_copy(&t, t.samples[1]);
	PerfSample *s = good_trace_alloc(&t, sizeof(*s));

	perf_sample__init(s);
	s->has_cpu = s->has_pid = s->has_tid = s->has_callstack_iid = s->has_timebase_count = 1;
	s->cpu = 1;
	s->pid = s->tid = 200;
	s->callstack_iid = 1;
	s->timebase_count = 12345;
	pkt->stack_sample = NULL;
	pkt->perf_sample = s;
	good_trace_insert(&t, pkt, t.samples[2]);
	assert_found(&t, CHECK_PERF_SAMPLE);
}
END_TEST

/* ---- symbols ---- */

START_TEST(symbols_before_the_samples)
{
	good_trace_move(&t, t.symbols, t.samples[0]);
	assert_found(&t, CHECK_SYMBOLS_EARLY);
}
END_TEST

START_TEST(symbols_of_another_build)
{
	t.symbols->module_symbols->build_id.len = 3;
	assert_found(&t, CHECK_SYMBOLS_MODULE);
}
END_TEST

START_TEST(symbols_of_a_module_that_was_not_sampled)
{
	t.symbols->module_symbols->path = "/bin/other";
	assert_found(&t, CHECK_SYMBOLS_MODULE);
}
END_TEST

START_TEST(symbols_of_an_address_that_was_not_sampled)
{
	t.symbols->module_symbols->address_symbols[0]->address = 0x2001;
	assert_found(&t, CHECK_SYMBOLS_ADDRESS);
}
END_TEST

/* Interned is not sampled: the importer makes a frame when an event uses it. */
START_TEST(symbols_of_a_frame_that_was_interned_only)
{
	InternedData *d = t.samples[0]->interned_data;

	d->callstacks[0]->frame_ids[1] = 1;
	assert_found(&t, CHECK_SYMBOLS_ADDRESS);
}
END_TEST

/* ---- GPU, frames, network ---- */

START_TEST(a_job_without_an_id)
{
	t.job->gpu_render_stage_event->has_event_id = 0;
	assert_found(&t, CHECK_STAGE_NO_ID);
}
END_TEST

START_TEST(a_job_without_a_queue)
{
	t.job->gpu_render_stage_event->has_hw_queue_iid = 0;
	assert_found(&t, CHECK_STAGE_QUEUE);
}
END_TEST

START_TEST(a_job_without_a_process)
{
	t.job->interned_data->graphics_contexts[0]->has_pid = 0;
	assert_found(&t, CHECK_STAGE_PROCESS);
}
END_TEST

START_TEST(a_job_without_a_duration)
{
	t.job->gpu_render_stage_event->has_duration = 0;
	assert_found(&t, CHECK_STAGE_PROCESS);
}
END_TEST

START_TEST(two_jobs_of_one_id)
{
	TracePacket *again = good_trace_copy(&t, t.job);

	again->interned_data = NULL;
	again->sequence_flags = 2;
	again->timestamp++;
	good_trace_insert(&t, again, t.frame_start);
	assert_found(&t, CHECK_STAGE_ID);
}
END_TEST

START_TEST(a_job_on_a_gpu_that_is_not_listed)
{
	t.job->gpu_render_stage_event->gpu_id = 1;
	assert_found(&t, CHECK_STAGE_GPU);
}
END_TEST

START_TEST(a_job_that_its_call_does_not_name)
{
	t.submitted = 2;
	assert_found(&t, CHECK_STAGE_FLOW);
}
END_TEST

START_TEST(a_job_of_no_call_needs_no_name)
{
	t.submitted = 2;
	t.job->gpu_render_stage_event->n_extra_data = 0;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(where_something_was_lost_it_may_have_been_the_call)
{
	good_trace_lose(&t, "cpu", 3);
	t.submitted = 2;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(a_frame_without_a_token)
{
	t.frame_start->frame_timeline_event->actual_surface_frame_start->token = 0;
	assert_found(&t, CHECK_FRAME_FIELDS);
}
END_TEST

START_TEST(a_frame_without_a_jank_type)
{
	t.frame_start->frame_timeline_event->actual_surface_frame_start->has_jank_type = 0;
	assert_found(&t, CHECK_FRAME_FIELDS);
}
END_TEST

START_TEST(a_frame_that_never_ends)
{
	good_trace_remove(&t, t.frame_end);
	assert_found(&t, CHECK_FRAME_UNPAIRED);
}
END_TEST

START_TEST(a_frame_that_never_started)
{
	good_trace_remove(&t, t.frame_start);
	t.frame_end->interned_data = t.frame_start->interned_data;
	assert_found(&t, CHECK_FRAME_UNPAIRED);
}
END_TEST

START_TEST(a_frame_that_ends_before_it_starts)
{
	t.frame_end->timestamp = MS(20);
	assert_found(&t, CHECK_FRAME_UNPAIRED);
}
END_TEST

START_TEST(a_display_frame_before_its_surface_frame)
{
	t.display_start->timestamp = MS(19);
	assert_found(&t, CHECK_FRAME_FLOW);
}
END_TEST

START_TEST(network_packets_without_all_lengths)
{
	t.network->network_packet_bundle->n_packet_lengths = 1;
	assert_found(&t, CHECK_NETWORK_ARRAYS);
}
END_TEST

/* ---- the ledger ---- */

START_TEST(a_complete_trace_without_a_ledger)
{
	good_trace_remove(&t, t.ledger);
	assert_found(&t, CHECK_LEDGER_MISSING);
}
END_TEST

START_TEST(an_incomplete_trace_needs_no_ledger)
{
	good_trace_remove(&t, t.ledger);
	good_trace_remove(&t, t.disabled);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(an_account_that_does_not_close)
{
	++*good_trace_ledger(&t, "ledger.proc.produced");
	assert_found(&t, CHECK_LEDGER_SUM);
}
END_TEST

START_TEST(an_account_without_one_of_its_parts)
{
	TraceAttributes *a = t.ledger->trace_attributes;

	a->attribute[0]->key = "another.key";
	assert_found(&t, CHECK_LEDGER_SUM);
}
END_TEST

START_TEST(the_last_account_counts)
{
	TracePacket *early = good_trace_copy(&t, t.ledger);

	early->trace_attributes->attribute[0]->long_value = 99;
	good_trace_insert(&t, early, t.second_snapshot);
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* More written than there is: for each source that can be counted. */
static void assert_written(const char *written, const char *filtered)
{
	++*good_trace_ledger(&t, written);
	--*good_trace_ledger(&t, filtered);
	assert_found(&t, CHECK_LEDGER_WRITTEN);
}

START_TEST(samples_that_are_not_in_the_file)
{
	assert_written("ledger.cpu.written", "ledger.cpu.filtered");
}
END_TEST

START_TEST(switches_that_are_not_in_the_file)
{
	assert_written("ledger.sched.written", "ledger.sched.filtered");
}
END_TEST

START_TEST(slices_that_are_not_in_the_file)
{
	assert_written("ledger.syscalls.written", "ledger.syscalls.filtered");
}
END_TEST

START_TEST(slices_of_other_categories_are_not_counted)
{
	t.begin_a->interned_data->event_categories[0]->name = "probe";
	assert_found(&t, CHECK_LEDGER_WRITTEN);
}
END_TEST

START_TEST(ioctls_of_gpus_are_not_counted_as_system_calls)
{
	t.begin_a->interned_data->event_categories[0]->name = "gpu";
	assert_found(&t, CHECK_LEDGER_WRITTEN);
}
END_TEST

/* Switches that the recorder adds are no events of the kernel's. */
static void infer_switches(int64_t n)
{
	TraceAttributes *a = t.ledger->trace_attributes;
	TraceAttributes__Attribute *last = a->attribute[a->n_attribute - 1];

	last->key = "sched.inferred_switches";
	last->long_value = n;
}

START_TEST(switches_that_were_inferred_may_exceed_the_account)
{
	infer_switches(2);
	*good_trace_ledger(&t, "ledger.sched.written") -= 2;
	*good_trace_ledger(&t, "ledger.sched.filtered") += 2;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(more_switches_than_written_and_inferred)
{
	infer_switches(1);
	*good_trace_ledger(&t, "ledger.sched.written") -= 2;
	*good_trace_ledger(&t, "ledger.sched.filtered") += 2;
	assert_found(&t, CHECK_LEDGER_WRITTEN);
}
END_TEST

/* What the kernel hid shows at the next switch; behind the last one there is none. */
START_TEST(where_switches_are_inferred_the_last_one_proves_nothing)
{
	infer_switches(1);
	t.samples[2]->timestamp = MS(41) - SLEPT;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

/* ---- loss ---- */

START_TEST(loss_that_is_recorded_is_good)
{
	struct trace_check *c;
	struct trace_summary s;
	char text[128];

	good_trace_lose(&t, "cpu", 7);
	good_trace_lose(&t, "sched", 5);
	*good_trace_ledger(&t, "ledger.sched.lost") = 0;
	*good_trace_ledger(&t, "ledger.sched.dropped") = 5;
	c = check_of_trace(&t);
	assert_only(c, N_CHECK_KINDS);
	trace_check_summary(c, &s);
	ck_assert_uint_eq(s.n_lost, 7);
	ck_assert_uint_eq(s.n_dropped, 5);
	trace_check_loss(c, text, sizeof(text));
	ck_assert_str_eq(text, "cpu lost 7 and dropped 0 of 10, "
			       "sched lost 0 and dropped 5 of 14");
	trace_check_free(c);
}
END_TEST

START_TEST(loss_in_the_ftrace_stats_is_recorded_too)
{
	good_trace_lose(&t, "cpu", 7);
	good_trace_lose(&t, "sched", 5);
	t.trace_stats->trace_stats->buffer_stats[0]->trace_writer_packet_loss = 7;
	t.stats_end->ftrace_stats->cpu_stats[0]->dropped_events = 5;
	assert_found(&t, N_CHECK_KINDS);
}
END_TEST

START_TEST(loss_without_an_instant)
{
	good_trace_lose(&t, "cpu", 12);
	*good_trace_ledger(&t, "ledger.sched.lost") = 1;
	++*good_trace_ledger(&t, "ledger.sched.produced");
	++t.trace_stats->trace_stats->buffer_stats[0]->trace_writer_packet_loss;
	assert_found(&t, CHECK_LOSS_INSTANTS);
}
END_TEST

START_TEST(loss_without_stats)
{
	good_trace_lose(&t, "cpu", 12);
	--t.trace_stats->trace_stats->buffer_stats[0]->trace_writer_packet_loss;
	assert_found(&t, CHECK_LOSS_STATS);
}
END_TEST

START_TEST(a_loss_in_a_bundle_that_the_ledger_does_not_have)
{
	t.bundle_1->ftrace_events->has_lost_events = 1;
	t.bundle_1->ftrace_events->lost_events = 1;
	assert_found(&t, CHECK_LOSS_INVENTED);
}
END_TEST

START_TEST(a_loss_in_the_stats_that_the_ledger_does_not_have)
{
	t.stats_end->ftrace_stats->cpu_stats[0]->dropped_events = 5;
	assert_found(&t, CHECK_LOSS_INVENTED);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		samples_without_a_source,
		a_sample_without_a_thread,
		a_task_context_without_a_tid,
		a_sample_without_a_callstack,
		time_off_the_cpu_in_a_unit_of_cpu_time,
		time_off_the_cpu_in_a_unit_of_its_own_is_fine,
		a_sample_of_a_process_without_a_name,
		a_process_may_be_named_after_the_file_was_cut,
		a_sample_before_the_life_of_its_thread,
		a_sample_after_the_life_of_its_thread,
		a_sample_of_a_thread_that_sleeps,
		a_sample_on_another_cpu,
		a_sample_after_the_last_switch_belongs_to_the_thread_switched_in,
		a_sample_of_the_thread_switched_in_last_is_fine,
		a_sample_within_the_handover_is_fine,
		a_sample_where_switches_were_lost_is_not_judged,
		samples_of_other_events_are_the_cpus_too,
		samples_of_other_collectors_are_not_the_cpus,
		two_sessions_of_one_name,
		two_sessions_of_two_names_are_fine,
		a_perf_sample_with_a_count,
		symbols_before_the_samples,
		symbols_of_another_build,
		symbols_of_a_module_that_was_not_sampled,
		symbols_of_an_address_that_was_not_sampled,
		symbols_of_a_frame_that_was_interned_only,
		a_job_without_an_id,
		a_job_without_a_queue,
		a_job_without_a_process,
		a_job_without_a_duration,
		two_jobs_of_one_id,
		a_job_on_a_gpu_that_is_not_listed,
		a_job_that_its_call_does_not_name,
		a_job_of_no_call_needs_no_name,
		where_something_was_lost_it_may_have_been_the_call,
		a_frame_without_a_token,
		a_frame_without_a_jank_type,
		a_frame_that_never_ends,
		a_frame_that_never_started,
		a_frame_that_ends_before_it_starts,
		a_display_frame_before_its_surface_frame,
		network_packets_without_all_lengths,
		a_complete_trace_without_a_ledger,
		an_incomplete_trace_needs_no_ledger,
		an_account_that_does_not_close,
		an_account_without_one_of_its_parts,
		the_last_account_counts,
		samples_that_are_not_in_the_file,
		switches_that_are_not_in_the_file,
		slices_that_are_not_in_the_file,
		slices_of_other_categories_are_not_counted,
		ioctls_of_gpus_are_not_counted_as_system_calls,
		switches_that_were_inferred_may_exceed_the_account,
		more_switches_than_written_and_inferred,
		where_switches_are_inferred_the_last_one_proves_nothing,
		loss_that_is_recorded_is_good,
		loss_in_the_ftrace_stats_is_recorded_too,
		loss_without_an_instant,
		loss_without_stats,
		a_loss_in_a_bundle_that_the_ledger_does_not_have,
		a_loss_in_the_stats_that_the_ledger_does_not_have,
	};
	Suite *suite = suite_create("check_samples");
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
