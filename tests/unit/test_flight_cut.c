/* SPDX-License-Identifier: Apache-2.0 */
/* Where a snapshot begins: what is left of blocks that have something older. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "flight/flight_base.h"
#include "flight/flight_block.h"
#include "flight/flight_cut.h"
#include "trace_gpu.h"
#include "trace_writer.h"

#define BEGIN 1000000000ull

static struct trace_writer *writer;
static struct flight_base *base;
static struct flight_cut *cut;
static struct buf packets, left; /* of the block at hand, before and after */
static TracePacket *pkts[64];
static size_t n;

/* The trace_sink_fn: blocks are joined, as if they were one. */
static int take(void *ctx, const void *data, size_t len, bool essential)
{
	struct buf block = { 0 };

	(void)ctx;
	(void)essential;
	ck_assert_int_eq(flight_block_inflate(data, len, &block), 0);
	ck_assert_int_eq(buf_append(&packets, block.data, block.len), 0);
	buf_done(&block);
	return 0;
}

static void set_up(void)
{
	ck_assert_int_eq(trace_writer_new(take, NULL, &writer), 0);
	ck_assert_int_eq(flight_base_new(&base), 0);
	ck_assert_int_eq(flight_cut_new(BEGIN, base, &cut), 0);
	trace_writer_source(writer, 3, BEGIN);
}

static void forget(void)
{
	while (n > 0)
		trace_packet__free_unpacked(pkts[--n], NULL);
}

static void tear_down(void)
{
	forget();
	trace_writer_free(writer);
	flight_cut_free(cut);
	flight_base_free(base);
	buf_done(&packets);
	buf_done(&left);
}

/* Cuts what was written since the last time; what is left of it is in pkts[]. */
static void do_cut(unsigned how)
{
	struct wire_field f;
	struct wire w;

	forget();
	ck_assert_int_eq(trace_writer_flush(writer), 0);
	ck_assert_int_eq(flight_cut_block(cut, &packets, how, &left), 0);
	packets.len = 0;
	wire_init(&w, left.data, left.len);
	while (flight_block_next(&w, &f) == 1) {
		TracePacket *pkt = trace_packet__unpack(NULL, f.len, f.data);

		ck_assert_ptr_nonnull(pkt);
		pkts[n++] = pkt;
		ck_assert_uint_lt(n, 64);
	}
}

static uint64_t track(void)
{
	return trace_track(writer, &(struct trace_track){ .name = "track" });
}

/* Without the descriptors in front of them. */
static void skip_descriptors(void)
{
	size_t skip = 0;

	while (skip < n && pkts[skip]->track_descriptor)
		trace_packet__free_unpacked(pkts[skip++], NULL);
	memmove(pkts, pkts + skip, (n - skip) * sizeof(pkts[0]));
	n -= skip;
}

static void slice(uint64_t uuid, const char *category, uint64_t begin_ns, uint64_t end_ns)
{
	const struct trace_event ev = {
		.track = uuid, .time_ns = begin_ns, .name = "slice", .category = category
	};

	ck_assert_int_eq(trace_slice(writer, &ev, end_ns, 1), 0);
}

static void instant(uint64_t uuid, uint64_t time_ns)
{
	const struct trace_event ev = { .track = uuid, .time_ns = time_ns, .name = "point" };

	ck_assert_int_eq(trace_instant(writer, &ev, 1), 0);
}

static uint64_t n_cut(const char *source)
{
	return flight_cut_counts(cut)[collector_index(collector_by_name(source))];
}

START_TEST(a_point_before_the_beginning_leaves_what_others_lean_on)
{
	uint64_t uuid = track();

	instant(uuid, BEGIN - 1);
	instant(uuid, BEGIN);
	do_cut(0);
	skip_descriptors();
	ck_assert_uint_eq(n, 2);
	ck_assert_ptr_null(pkts[0]->track_event);
	ck_assert(!pkts[0]->has_timestamp);
	ck_assert_uint_eq(pkts[0]->sequence_flags, 3);
	ck_assert_uint_eq(pkts[0]->interned_data->n_event_names, 1);
	ck_assert_uint_eq(pkts[1]->timestamp, BEGIN);
	ck_assert_uint_eq(pkts[1]->track_event->name_iid,
			  pkts[0]->interned_data->event_names[0]->iid);
}
END_TEST

START_TEST(a_slice_across_the_beginning_begins_there_and_says_so)
{
	const DebugAnnotation *arg;

	slice(track(), "test", BEGIN - 5000, BEGIN + 5000);
	do_cut(0);
	skip_descriptors();
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_ge(pkts[0]->timestamp, BEGIN);
	ck_assert_uint_lt(pkts[0]->timestamp, BEGIN + 512);
	ck_assert_uint_eq(pkts[0]->track_event->n_debug_annotations, 1);
	arg = pkts[0]->track_event->debug_annotations[0];
	ck_assert_str_eq(arg->name, "began_earlier_ns");
	ck_assert_uint_eq(arg->uint_value, pkts[0]->timestamp - (BEGIN - 5000));
	ck_assert_uint_eq(pkts[1]->timestamp, BEGIN + 5000);
}
END_TEST

START_TEST(what_is_within_another_still_is)
{
	uint64_t uuid = track(), inner, outer;

	slice(uuid, "test", BEGIN - 10, BEGIN + 5000);
	slice(uuid, "test", BEGIN - 1000000, BEGIN + 9000);
	do_cut(0);
	skip_descriptors();
	inner = pkts[0]->timestamp;
	outer = pkts[2]->timestamp;
	ck_assert_uint_ge(outer, BEGIN);
	ck_assert_uint_lt(outer, inner);
}
END_TEST

START_TEST(slices_that_are_over_by_then_are_left_out_and_system_calls_counted)
{
	uint64_t uuid = track();

	slice(uuid, "syscall", BEGIN - 20, BEGIN - 10);
	slice(uuid, "test", BEGIN - 9, BEGIN - 8);
	slice(uuid, "syscall", BEGIN + 1000, BEGIN + 2000);
	do_cut(0);
	skip_descriptors();
	ck_assert_uint_eq(n_cut("syscalls"), 1);
	/* Two with what they had interned, without events, and the last one. */
	ck_assert_uint_eq(n, 4);
	ck_assert_ptr_null(pkts[0]->track_event);
	ck_assert_ptr_null(pkts[1]->track_event);
	ck_assert_uint_eq(pkts[2]->timestamp, BEGIN + 1000);
	ck_assert_uint_eq(pkts[3]->timestamp, BEGIN + 2000);
}
END_TEST

START_TEST(system_calls_are_counted_by_the_ids_of_their_segment)
{
	uint64_t uuid;

	ck_assert_int_eq(trace_writer_split(writer), 0);
	uuid = track();
	slice(uuid, "syscall", BEGIN + 10, BEGIN + 20);
	do_cut(0);
	ck_assert_int_eq(trace_writer_restart(writer, 1), 0);
	/* The other way round than before, and in a block that has nothing older. */
	slice(uuid, "test", BEGIN + 30, BEGIN + 40);
	slice(uuid, "syscall", BEGIN + 50, BEGIN + 60);
	ck_assert_int_eq(trace_writer_flush(writer), 0);
	ck_assert_int_eq(flight_cut_pass(cut, &packets, &left), 0);
	packets.len = 0;
	slice(uuid, "syscall", BEGIN - 9, BEGIN - 8);
	slice(uuid, "syscall", BEGIN - 7, BEGIN - 6);
	slice(uuid, "test", BEGIN - 5, BEGIN - 4);
	do_cut(0);
	ck_assert_uint_eq(n_cut("syscalls"), 2);
}
END_TEST

START_TEST(samples_before_the_beginning_are_left_out_and_counted)
{
	struct trace_sample sample = { .time_ns = BEGIN - 1, .weight = 1, .callstack_iid = 1 };

	ck_assert_int_eq(trace_writer_put_sample(writer, SEQ_SAMPLES, &sample, 1), 0);
	sample.time_ns = BEGIN;
	ck_assert_int_eq(trace_writer_put_sample(writer, SEQ_SAMPLES, &sample, 1), 0);
	do_cut(0);
	ck_assert_uint_eq(n, 2);
	ck_assert_ptr_null(pkts[0]->stack_sample);
	ck_assert_uint_eq(pkts[1]->timestamp, BEGIN);
	ck_assert_uint_eq(n_cut("cpu"), 1);
	ck_assert_uint_eq(flight_cut_n_stacks(cut), 1);
}
END_TEST

START_TEST(a_job_keeps_its_end)
{
	const struct trace_stage stage = { .id = 7,
					   .time_ns = BEGIN - 100,
					   .duration_ns = 300,
					   .pid = 1,
					   .queue = "ring",
					   .name = "job" };

	ck_assert_int_eq(trace_stage(writer, &stage, 1), 0);
	do_cut(0);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(pkts[0]->timestamp, BEGIN);
	ck_assert_uint_eq(pkts[0]->gpu_render_stage_event->duration, 200);
}
END_TEST

/* ---- processes ---- */

START_TEST(what_is_said_of_processes_is_said_at_the_beginning)
{
	char *cmdline[] = { (char *)"prog" };
	ProcessTree__Process p = PROCESS_TREE__PROCESS__INIT, *ps = &p;
	ProcessTree tree = PROCESS_TREE__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;

	p.has_pid = p.has_ppid = pkt.has_timestamp = 1;
	p.pid = 20;
	p.ppid = 19; /* who is not there any more */
	p.n_cmdline = 1;
	p.cmdline = cmdline;
	tree.n_processes = 1;
	tree.processes = &ps;
	pkt.timestamp = BEGIN - 1000;
	pkt.process_tree = &tree;
	ck_assert_int_eq(trace_writer_put(writer, SEQ_PROCESSES, &pkt, 0), 0);
	do_cut(0);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(pkts[0]->timestamp, BEGIN);
	ck_assert_int_eq(pkts[0]->process_tree->processes[0]->ppid, 1);
}
END_TEST

/* ---- tracks of who was gone by then ---- */

/* At the beginning this process lives, and its one thread. */
static void lives(int32_t pid)
{
	ProcessTree__Process p = PROCESS_TREE__PROCESS__INIT, *ps = &p;
	ProcessTree__Thread t = PROCESS_TREE__THREAD__INIT, *ts = &t;
	ProcessTree tree = PROCESS_TREE__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;
	struct buf block = { 0 };
	uint8_t packed[200];
	size_t len;

	p.has_pid = t.has_tid = t.has_tgid = pkt.has_timestamp = 1;
	p.pid = t.tid = t.tgid = pid;
	tree.n_processes = tree.n_threads = 1;
	tree.processes = &ps;
	tree.threads = &ts;
	pkt.timestamp = 1;
	pkt.process_tree = &tree;
	len = trace_packet__pack(&pkt, packed);
	ck_assert_int_eq(flight_put_bytes(&block, 1, packed, len), 0);
	ck_assert_int_eq(flight_base_note(base, &block), 0);
	ck_assert_int_eq(flight_base_apply(base), 0);
	buf_done(&block);
}

static uint64_t track_of(uint32_t pid)
{
	trace_writer_source(writer, 3, BEGIN - 10);
	return trace_track(writer, &(struct trace_track){
					   .name = "of it",
					   .parent = trace_process_track(writer, pid, 100),
				   });
}

static size_t n_descriptors(void)
{
	size_t n_found = 0;

	for (size_t i = 0; i < n; i++)
		n_found += pkts[i]->track_descriptor != NULL;
	return n_found;
}

START_TEST(a_track_of_who_was_gone_is_left_out)
{
	lives(7);
	instant(track_of(7), BEGIN - 5);
	instant(track_of(9), BEGIN - 5);
	trace_writer_source(writer, 3, BEGIN - 10);
	instant(trace_thread_track(writer, 7, 8, 100), BEGIN - 5);
	do_cut(0);
	ck_assert_uint_eq(n_descriptors(), 2);
	for (size_t i = 0; i < n; i++) {
		if (!pkts[i]->track_descriptor)
			continue;
		ck_assert_uint_eq(pkts[i]->timestamp, BEGIN);
		if (pkts[i]->track_descriptor->process)
			ck_assert_int_eq(pkts[i]->track_descriptor->process->pid, 7);
	}
	ck_assert(flight_cut_is_holding(cut));
	flight_cut_next_segment(cut);
	ck_assert(!flight_cut_is_holding(cut));
}
END_TEST

START_TEST(but_is_there_where_something_is_left_on_it)
{
	uint64_t uuid;

	lives(7);
	uuid = track_of(9);
	instant(uuid, BEGIN - 5);
	do_cut(0);
	ck_assert_uint_eq(n_descriptors(), 0);
	slice(uuid, "net", BEGIN - 4, BEGIN + 100000);
	do_cut(0);
	ck_assert_uint_eq(n, 4);
	ck_assert_int_eq(pkts[0]->track_descriptor->process->pid, 9);
	ck_assert_uint_eq(pkts[0]->timestamp, BEGIN);
	ck_assert_uint_eq(pkts[1]->track_descriptor->uuid, uuid);
	ck_assert_uint_eq(pkts[1]->track_descriptor->parent_uuid, pkts[0]->track_descriptor->uuid);
	ck_assert_ptr_nonnull(pkts[2]->track_event);
	/* Once. */
	slice(uuid, "net", BEGIN + 200000, BEGIN + 300000);
	do_cut(0);
	ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(also_in_a_block_that_is_not_cut)
{
	uint64_t uuid;
	struct wire w;
	struct wire_field f;
	size_t n_before = 0;

	lives(7);
	uuid = track_of(9);
	instant(uuid, BEGIN - 5);
	do_cut(0);
	instant(track(), BEGIN + 1);
	ck_assert_int_eq(trace_writer_flush(writer), 0);
	ck_assert_int_eq(flight_cut_pass(cut, &packets, &left), 0);
	ck_assert_uint_eq(left.len, 0);
	packets.len = 0;
	instant(uuid, BEGIN + 2);
	ck_assert_int_eq(trace_writer_flush(writer), 0);
	ck_assert_int_eq(flight_cut_pass(cut, &packets, &left), 0);
	wire_init(&w, left.data, left.len);
	while (flight_block_next(&w, &f) == 1)
		n_before++;
	ck_assert_uint_eq(n_before, 2);
	ck_assert(!flight_cut_is_holding(cut));
}
END_TEST

START_TEST(before_anything_was_given_up_nobody_is_known_to_be_gone)
{
	instant(track_of(9), BEGIN - 5);
	do_cut(0);
	ck_assert_uint_eq(n_descriptors(), 2);
	ck_assert(!flight_cut_is_holding(cut));
}
END_TEST

/* ---- the scheduler ---- */

#define N_SWITCHES 4

static void put_bundle(const uint64_t *times, size_t n_times, const uint64_t *wakings,
		       size_t n_wakings)
{
	FtraceEventBundle__CompactSched s = FTRACE_EVENT_BUNDLE__COMPACT_SCHED__INIT;
	FtraceEventBundle bundle = FTRACE_EVENT_BUNDLE__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;
	uint64_t deltas[N_SWITCHES], waking_deltas[N_SWITCHES];
	int64_t states[N_SWITCHES] = { 1, 1, 1, 1 };
	int32_t tids[N_SWITCHES] = { 11, 12, 13, 14 }, prios[N_SWITCHES] = { 120, 120, 120, 120 };
	int32_t cpus[N_SWITCHES] = { 0 };
	uint32_t comms[N_SWITCHES] = { 0, 1, 0, 1 }, flags[N_SWITCHES] = { 0 };
	char *table[] = { (char *)"even", (char *)"odd" };

	for (size_t i = 0; i < n_times; i++)
		deltas[i] = times[i] - (i ? times[i - 1] : 0);
	for (size_t i = 0; i < n_wakings; i++)
		waking_deltas[i] = wakings[i] - (i ? wakings[i - 1] : 0);
	s.n_switch_timestamp = s.n_switch_prev_state = s.n_switch_next_pid = n_times;
	s.n_switch_next_prio = s.n_switch_next_comm_index = n_times;
	s.switch_timestamp = deltas;
	s.switch_prev_state = states;
	s.switch_next_pid = tids;
	s.switch_next_prio = prios;
	s.switch_next_comm_index = comms;
	s.n_waking_timestamp = s.n_waking_pid = s.n_waking_target_cpu = n_wakings;
	s.n_waking_prio = s.n_waking_comm_index = s.n_waking_common_flags = n_wakings;
	s.waking_timestamp = waking_deltas;
	s.waking_pid = tids;
	s.waking_target_cpu = cpus;
	s.waking_prio = prios;
	s.waking_comm_index = comms;
	s.waking_common_flags = flags;
	s.n_intern_table = 2;
	s.intern_table = table;
	bundle.has_cpu = bundle.has_lost_events = bundle.lost_events = 1;
	bundle.compact_sched = &s;
	pkt.ftrace_events = &bundle;
	ck_assert_int_eq(trace_writer_put(writer, SEQ_FTRACE, &pkt, 0), 0);
}

START_TEST(the_first_switch_that_is_left_becomes_a_whole_event)
{
	static const uint64_t times[] = { BEGIN - 20, BEGIN - 10, BEGIN + 10, BEGIN + 25 };
	static const uint64_t wakings[] = { BEGIN - 5, BEGIN + 5, BEGIN + 15 };
	const FtraceEventBundle__CompactSched *s;
	const SchedSwitchFtraceEvent *sw;

	put_bundle(times, 4, wakings, 3);
	do_cut(CUT_BUNDLES);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(pkts[0]->ftrace_events->n_event, 1);
	ck_assert_uint_eq(pkts[0]->ftrace_events->event[0]->timestamp, BEGIN + 10);
	sw = pkts[0]->ftrace_events->event[0]->sched_switch;
	ck_assert_int_eq(sw->prev_pid, 12);
	ck_assert_str_eq(sw->prev_comm, "odd");
	ck_assert_int_eq(sw->next_pid, 13);
	ck_assert_str_eq(sw->next_comm, "even");
	s = pkts[0]->ftrace_events->compact_sched;
	ck_assert_uint_eq(s->n_switch_timestamp, 1);
	ck_assert_uint_eq(s->switch_timestamp[0], BEGIN + 25);
	ck_assert_int_eq(s->switch_next_pid[0], 14);
	/* Who wakes is known from the first switch on. */
	ck_assert_uint_eq(s->n_waking_timestamp, 1);
	ck_assert_uint_eq(s->waking_timestamp[0], BEGIN + 15);
	ck_assert_int_eq(s->waking_pid[0], 13);
	ck_assert_uint_eq(n_cut("sched"), 4);
	/* What was lost before it is not missing here. */
	ck_assert(!pkts[0]->ftrace_events->lost_events);
}
END_TEST

START_TEST(a_later_bundle_of_the_cpu_is_left_alone)
{
	static const uint64_t times[] = { BEGIN + 10, BEGIN + 25 };
	static const uint64_t later[] = { BEGIN + 40, BEGIN + 55 };
	static const uint64_t wakings[] = { BEGIN + 30 };

	put_bundle(times, 2, NULL, 0);
	put_bundle(later, 2, wakings, 1);
	do_cut(CUT_BUNDLES);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(pkts[1]->ftrace_events->compact_sched->n_switch_timestamp, 2);
	ck_assert_uint_eq(pkts[1]->ftrace_events->compact_sched->n_waking_timestamp, 1);
	ck_assert(pkts[1]->ftrace_events->lost_events);
	ck_assert_uint_eq(n_cut("sched"), 0);
}
END_TEST

START_TEST(bytes_that_are_no_packets_are_refused)
{
	static const uint8_t nonsense[] = { 0x0a, 5, 0xff };

	ck_assert_int_eq(buf_append(&packets, nonsense, sizeof(nonsense)), 0);
	ck_assert_int_lt(flight_cut_block(cut, &packets, CUT_BUNDLES | CUT_NOTES, &left), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flight_cut");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_point_before_the_beginning_leaves_what_others_lean_on);
	tcase_add_test(tc, a_slice_across_the_beginning_begins_there_and_says_so);
	tcase_add_test(tc, what_is_within_another_still_is);
	tcase_add_test(tc, slices_that_are_over_by_then_are_left_out_and_system_calls_counted);
	tcase_add_test(tc, system_calls_are_counted_by_the_ids_of_their_segment);
	tcase_add_test(tc, samples_before_the_beginning_are_left_out_and_counted);
	tcase_add_test(tc, a_job_keeps_its_end);
	tcase_add_test(tc, what_is_said_of_processes_is_said_at_the_beginning);
	tcase_add_test(tc, a_track_of_who_was_gone_is_left_out);
	tcase_add_test(tc, but_is_there_where_something_is_left_on_it);
	tcase_add_test(tc, also_in_a_block_that_is_not_cut);
	tcase_add_test(tc, before_anything_was_given_up_nobody_is_known_to_be_gone);
	tcase_add_test(tc, the_first_switch_that_is_left_becomes_a_whole_event);
	tcase_add_test(tc, a_later_bundle_of_the_cpu_is_left_alone);
	tcase_add_test(tc, bytes_that_are_no_packets_are_refused);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? 1 : 0;
}
