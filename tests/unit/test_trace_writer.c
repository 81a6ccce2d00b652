/* SPDX-License-Identifier: Apache-2.0 */
/* Packets, blocks and generations of a trace; what is interned, and what is left of a drop. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "symbolize/symbolizer.h"
#include "trace_file.h"
#include "trace_meta.h"
#include "trace_writer_impl.h"
#include "written_trace.h"

#define CLEARED 1
#define NEEDS	2

static struct written w;
static uint64_t now;

static void set_up(void)
{
	written_open(&w);
	now = boot_ns();
}

static void tear_down(void)
{
	written_done(&w);
}

static uint64_t a_track(const char *name)
{
	const struct trace_track track = { .name = name };
	uint64_t uuid = trace_track(w.writer, &track);

	ck_assert_uint_ne(uuid, 0);
	return uuid;
}

static void instant(const char *name, unsigned n_events)
{
	const struct trace_event ev = { .track = a_track("t"), .time_ns = now++, .name = name };

	ck_assert_int_eq(trace_instant(w.writer, &ev, n_events), 0);
}

static uint64_t n_written(void)
{
	struct trace_writer_stats stats;

	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	return stats.n_written;
}

static uint64_t n_dropped(void)
{
	struct trace_writer_stats stats;

	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	return stats.n_dropped;
}

/* Packed by hand, read by protobuf-c. */
START_TEST(a_sample_reads_as_it_was_put)
{
	static const struct trace_sample samples[] = {
		{ .time_ns = UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX },
		{ .time_ns = 127, .callstack_iid = 1, .task_iid = 128, .execution_iid = 16384 },
		{ .time_ns = 1, .weight = 1, 1, 1, 1, .error = "JIT_NOFP" },
		{ .time_ns = 1, .weight = 1, 1, 1, 1, .error = "" },
	};
	const size_t n = sizeof(samples) / sizeof(samples[0]);

	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(trace_writer_put_sample(w.writer, SEQ_SAMPLES, &samples[i], 1), 0);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_SAMPLES), n);
	for (size_t i = 0; i < n; i++) {
		const TracePacket *pkt = written_packet(&w, SEQ_SAMPLES, i);
		const StackSample *got = pkt->stack_sample;

		ck_assert_uint_eq(pkt->timestamp, samples[i].time_ns);
		ck_assert_uint_eq(pkt->sequence_flags, i ? NEEDS : CLEARED | NEEDS);
		ck_assert_ptr_nonnull(got);
		ck_assert_uint_eq(got->primary_weight, samples[i].weight);
		ck_assert_uint_eq(got->callstack_iid, samples[i].callstack_iid);
		ck_assert_uint_eq(got->task_context_iid, samples[i].task_iid);
		ck_assert_uint_eq(got->execution_context_iid, samples[i].execution_iid);
		ck_assert_pstr_eq(got->unwind_error, samples[i].error);
		ck_assert_uint_eq(got->base.n_unknown_fields + pkt->base.n_unknown_fields, 0);
	}
}
END_TEST

START_TEST(the_first_packet_of_a_sequence_says_so)
{
	instant("a", 1);
	instant("b", 1);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS), 2);
	ck_assert_uint_eq(written_packet(&w, SEQ_EVENTS, 0)->sequence_flags, CLEARED | NEEDS);
	ck_assert(written_packet(&w, SEQ_EVENTS, 0)->first_packet_on_sequence);
	ck_assert(!written_packet(&w, SEQ_EVENTS, 0)->previous_packet_dropped);
	ck_assert_uint_eq(written_packet(&w, SEQ_EVENTS, 1)->sequence_flags, NEEDS);
	ck_assert(!written_packet(&w, SEQ_EVENTS, 1)->first_packet_on_sequence);
	ck_assert_uint_eq(written_packet(&w, SEQ_META, 0)->sequence_flags, CLEARED | NEEDS);
	written_assert_good(&w);
}
END_TEST

START_TEST(essential_packets_precede_the_bulk_that_leans_on_them)
{
	size_t track = SIZE_MAX, event = SIZE_MAX;

	instant("a", 1);
	written_read(&w);
	for (size_t i = 0; i < w.n; i++) {
		if (w.packets[i]->track_descriptor)
			track = i;
		if (w.packets[i]->track_event)
			event = i;
	}
	ck_assert_uint_lt(track, event);
	ck_assert_ptr_nonnull(w.packets[0]->clock_snapshot);
	ck_assert_uint_eq(w.n_blocks, 2);
}
END_TEST

START_TEST(events_count_as_written_when_their_block_has_gone)
{
	instant("a", 2);
	ck_assert_uint_eq(n_written(), 0);
	trace_writer_skip(w.writer, 5);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(n_written(), 2);
	ck_assert_uint_eq(n_dropped(), 0);
	ck_assert_uint_eq(trace_writer_bytes(w.writer), w.file.len);
}
END_TEST

START_TEST(after_a_drop_everything_is_told_anew)
{
	TracePacketDefaults defaults = TRACE_PACKET_DEFAULTS__INIT;
	unsigned generation = trace_writer_generation(w.writer);
	const TracePacket *pkt;

	defaults.has_timestamp_clock_id = 1;
	defaults.timestamp_clock_id = 6;
	ck_assert_int_eq(trace_writer_set_defaults(w.writer, SEQ_EVENTS, &defaults), 0);
	instant("a", 1);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.refuse_bulk = true;
	instant("a", 1);
	instant("b", 3);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(trace_writer_generation(w.writer), generation + 1);
	ck_assert_uint_eq(n_dropped(), 4);
	ck_assert_uint_eq(n_written(), 1);
	w.refuse_bulk = false;
	instant("b", 1);
	instant("a", 1);
	instant("a", 1);
	written_read(&w);
	ck_assert_uint_eq(n_written(), 4);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS), 4);
	pkt = written_packet(&w, SEQ_EVENTS, 1);
	ck_assert_uint_eq(pkt->sequence_flags, CLEARED | NEEDS);
	ck_assert(pkt->previous_packet_dropped);
	ck_assert(!pkt->first_packet_on_sequence);
	ck_assert_ptr_nonnull(pkt->trace_packet_defaults);
	ck_assert_str_eq(pkt->interned_data->event_names[0]->name, "b");
	ck_assert_ptr_nonnull(written_packet(&w, SEQ_EVENTS, 2)->interned_data);
	ck_assert(!written_packet(&w, SEQ_EVENTS, 2)->previous_packet_dropped);
	ck_assert_ptr_null(written_packet(&w, SEQ_EVENTS, 3)->interned_data);
	/* What is essential was never dropped, and is not told again. */
	ck_assert_uint_eq(written_count(&w, SEQ_TRACKS), 1);
	written_assert_good(&w);
}
END_TEST

START_TEST(a_sequence_that_was_dropped_whole_has_not_begun)
{
	w.refuse_bulk = true;
	instant("a", 1);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	instant("a", 1);
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.refuse_bulk = false;
	instant("a", 1);
	written_read(&w);
	ck_assert(written_packet(&w, SEQ_EVENTS, 0)->previous_packet_dropped);
	ck_assert_uint_eq(n_dropped(), 2);
	written_assert_good(&w);
}
END_TEST

START_TEST(an_essential_block_that_is_refused_is_an_error)
{
	w.refuse_all = true;
	instant("a", 1);
	ck_assert_int_eq(trace_writer_flush(w.writer), -EAGAIN);
	w.refuse_all = false;
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.fail = -EPIPE;
	instant("a", 1);
	ck_assert_int_eq(trace_writer_flush(w.writer), -EPIPE);
	ck_assert_uint_eq(n_dropped(), 0);
}
END_TEST

START_TEST(blocks_close_by_themselves)
{
	char name[64];

	for (unsigned i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "a name of its own, number %u", i);
		instant(name, 1);
	}
	ck_assert_uint_gt(w.n_blocks, 3);
	ck_assert(!trace_writer_is_full(w.writer) || w.n_blocks > 3);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS) > 0, 1);
	ck_assert_uint_eq(n_written(), 20000);
	written_assert_good(&w);
}
END_TEST

START_TEST(begin_and_end_of_a_slice_share_a_block)
{
	struct trace_packet_bytes bytes;
	struct trace_file *f;
	uint64_t block = 0;
	int open = 0;
	size_t n = 0;

	for (unsigned i = 0; i < 20000; i++) {
		const struct trace_event ev = { .track = a_track("t"),
						.time_ns = now,
						.name = "slice" };

		ck_assert_int_eq(trace_slice(w.writer, &ev, now + 10, 1), 0);
		now += 20;
	}
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_gt(w.n_blocks, 3);
	ck_assert_int_eq(trace_file_open_memory(w.file.data, w.file.len, &f), 0);
	while (trace_file_next(f, &bytes) == 1) {
		TracePacket *pkt = trace_packet__unpack(NULL, bytes.len, bytes.data);

		if (bytes.offset != block)
			ck_assert_int_eq(open, 0);
		block = bytes.offset;
		if (pkt->track_event)
			open += pkt->track_event->type == 1 ? 1 : -1;
		n += pkt->track_event != NULL;
		trace_packet__free_unpacked(pkt, NULL);
	}
	ck_assert_int_eq(open, 0);
	ck_assert_uint_eq(n, 40000);
	trace_file_free(f);
	written_assert_good(&w);
}
END_TEST

START_TEST(a_packet_larger_than_a_block_is_a_block)
{
	const size_t len = 5 << 20;
	char *text = malloc(len + 1);
	const struct trace_arg arg = { .name = "text", .type = ARG_STRING, .s = text };
	struct trace_event ev = {
		.track = a_track("t"), .time_ns = now, .name = "x", .args = &arg, .n_args = 1
	};
	const TracePacket *pkt;

	ck_assert_ptr_nonnull(text);
	memset(text, 'x', len);
	text[len] = '\0';
	instant("before", 1);
	ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
	instant("behind", 1);
	written_read(&w);
	pkt = written_packet(&w, SEQ_EVENTS, 1);
	ck_assert_uint_eq(strlen(pkt->track_event->debug_annotations[0]->string_value), len);
	ck_assert_uint_eq(n_written(), 3);
	written_assert_good(&w);
	free(text);
}
END_TEST

/* ---- interning ---- */

static struct module module = { .id = 7, .path = (char *)"/usr/bin/a", .build_id_len = 0 };

static uint64_t a_frame(uint64_t id, bool ready, const char *function)
{
	const struct location loc = { .id = id,
				      .module = &module,
				      .rel_pc = id * 16,
				      .function = function,
				      .ready = ready,
				      .kind = LOCATION_NATIVE };

	return trace_intern_frame(w.writer, SEQ_EVENTS, &loc);
}

START_TEST(the_same_content_has_the_same_id_and_no_other)
{
	uint64_t a = trace_intern_string(w.writer, SEQ_EVENTS, INTERN_EVENT_NAME, "a", 1);
	uint64_t f = a_frame(1, true, "main"), g = a_frame(2, true, "main");
	uint64_t stack[] = { f, g };
	uint64_t c = trace_intern_callstack(w.writer, SEQ_EVENTS, stack, 2);

	ck_assert_uint_ne(a, 0);
	ck_assert_uint_eq(trace_intern_string(w.writer, SEQ_EVENTS, INTERN_EVENT_NAME, "a", 1), a);
	ck_assert_uint_ne(trace_intern_string(w.writer, SEQ_EVENTS, INTERN_EVENT_NAME, "b", 1), a);
	ck_assert_uint_ne(trace_intern_string(w.writer, SEQ_EVENTS, INTERN_EVENT_NAME, "", 0), 0);
	ck_assert_uint_ne(f, g);
	ck_assert_uint_eq(a_frame(1, true, "main"), f);
	ck_assert_uint_ne(a_frame(1, false, NULL), f); /* it went out without its name before */
	ck_assert_uint_eq(trace_intern_callstack(w.writer, SEQ_EVENTS, stack, 2), c);
	ck_assert_uint_ne(trace_intern_callstack(w.writer, SEQ_EVENTS, stack, 1), c);
	ck_assert_uint_eq(trace_intern_callstack(w.writer, SEQ_EVENTS, stack, 0), 0);
	ck_assert_uint_ne(trace_intern_task(w.writer, SEQ_EVENTS, 1, 2),
			  trace_intern_task(w.writer, SEQ_EVENTS, 2, 1));
	ck_assert_uint_ne(trace_intern_execution(w.writer, SEQ_EVENTS, 1, true),
			  trace_intern_execution(w.writer, SEQ_EVENTS, 1, false));
}
END_TEST

START_TEST(interned_data_goes_with_the_next_packet_of_its_sequence)
{
	const InternedData *data;

	module.build_id_len = 20;
	memset(module.build_id, 0xab, 20);
	a_frame(1, true, "main");
	a_frame(2, false, NULL);
	instant("x", 1);
	written_read(&w);
	data = written_packet(&w, SEQ_EVENTS, 0)->interned_data;
	ck_assert_uint_eq(data->n_frames, 2);
	ck_assert_uint_eq(data->n_mappings, 1);
	ck_assert_uint_eq(data->n_build_ids, 1);
	ck_assert_uint_eq(data->build_ids[0]->str.len, 20);
	ck_assert_uint_eq(data->n_function_names, 2);
	ck_assert_uint_eq(data->function_names[1]->str.len, strlen("[a+0x20]"));
	ck_assert_mem_eq(data->function_names[1]->str.data, "[a+0x20]", 8);
	module.build_id_len = 0;
	written_assert_good(&w);
}
END_TEST

START_TEST(strings_that_are_not_utf8_are_made_so)
{
	const struct trace_arg arg = { .name = "arg", .type = ARG_STRING, .s = "a\xff\xfe" };
	struct trace_event ev = { .track = a_track("tr\xc0k"),
				  .time_ns = now,
				  .name = "n\x80",
				  .category = "c\x80",
				  .args = &arg,
				  .n_args = 1 };
	const TracePacket *pkt;

	ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
	written_read(&w);
	pkt = written_packet(&w, SEQ_EVENTS, 0);
	ck_assert_str_eq(pkt->interned_data->event_names[0]->name, "n\xef\xbf\xbd");
	ck_assert_str_eq(pkt->interned_data->event_categories[0]->name, "c\xef\xbf\xbd");
	ck_assert_str_eq(pkt->track_event->debug_annotations[0]->string_value,
			 "a\xef\xbf\xbd\xef\xbf\xbd");
	ck_assert_str_eq(written_packet(&w, SEQ_TRACKS, 0)->track_descriptor->name,
			 "tr\xef\xbf\xbdk");
	written_assert_good(&w);
}
END_TEST

/* Out of memory: an id without a meaning must not be handed out the next time. */
START_TEST(an_id_that_could_not_be_explained_is_forgotten)
{
	struct trace_sequence_state *s = &w.writer->sequences[SEQ_EVENTS];
	uint64_t f;

	instant("x", 1);
	s->pending.len = SIZE_MAX / 2; /* no room for anything */
	ck_assert_uint_eq(trace_intern_string(w.writer, SEQ_EVENTS, INTERN_EVENT_NAME, "a", 1), 0);
	ck_assert_uint_eq(a_frame(1, true, "main"), 0);
	ck_assert_uint_eq(trace_intern_task(w.writer, SEQ_EVENTS, 1, 1), 0);
	s->pending.len = 0;
	f = a_frame(1, true, "main");
	ck_assert_uint_ne(f, 0);
	ck_assert_uint_ne(trace_intern_callstack(w.writer, SEQ_EVENTS, &f, 1), 0);
	instant("a", 1);
	written_read(&w);
	ck_assert_uint_eq(written_packet(&w, SEQ_EVENTS, 1)->interned_data->n_frames, 1);
	ck_assert_uint_eq(written_packet(&w, SEQ_EVENTS, 1)->interned_data->n_function_names, 1);
	ck_assert_uint_eq(written_packet(&w, SEQ_EVENTS, 1)->interned_data->n_mappings, 1);
	written_assert_good(&w);
}
END_TEST

/* ---- anything, with drops at any time ---- */

static void something(unsigned n_names)
{
	char name[32];
	struct trace_event ev = { .time_ns = now, .name = name, .category = "cat" };
	uint64_t frames[4];
	size_t n = 1 + (size_t)random() % 4;

	snprintf(name, sizeof(name), "name %ld", random() % n_names);
	ev.track = a_track("a");
	for (size_t i = 0; i < n; i++) {
		char function[32];
		uint64_t id = (uint64_t)random() % n_names;

		snprintf(function, sizeof(function), "function %llu", (unsigned long long)id);
		frames[i] = a_frame(id, true, function);
	}
	ev.callstack_iid = trace_intern_callstack(w.writer, SEQ_EVENTS, frames, n);
	/* A new track in between: its descriptor must not part the id from its meaning. */
	snprintf(name, sizeof(name), "track %ld", random() % n_names);
	(void)a_track(name);
	if (random() % 2)
		ck_assert_int_eq(trace_slice(w.writer, &ev, now + 1, 1), 0);
	else
		ck_assert_int_eq(trace_instant(w.writer, &ev, 1), 0);
	now += 2;
}

START_TEST(whatever_is_dropped_the_rest_is_a_good_trace)
{
	unsigned n = 0;

	srandom((unsigned)_i + 1);
	for (unsigned round = 0; round < 60; round++) {
		w.refuse_bulk = random() % 3 == 0;
		for (unsigned i = (unsigned)random() % 800; i > 0; i--, n++)
			something(1 + 40 * ((unsigned)_i + 1));
		if (random() % 2)
			ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	}
	w.refuse_bulk = false;
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	ck_assert_uint_eq(n_written() + n_dropped(), n);
	ck_assert_uint_gt(n_written(), 0);
	ck_assert_uint_gt(n_dropped(), 0);
	ck_assert_uint_gt(trace_writer_generation(w.writer), 1);
	written_assert_good(&w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace_writer");
	TCase *tc = tcase_create("trace_writer");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_sample_reads_as_it_was_put);
	tcase_add_test(tc, the_first_packet_of_a_sequence_says_so);
	tcase_add_test(tc, essential_packets_precede_the_bulk_that_leans_on_them);
	tcase_add_test(tc, events_count_as_written_when_their_block_has_gone);
	tcase_add_test(tc, after_a_drop_everything_is_told_anew);
	tcase_add_test(tc, a_sequence_that_was_dropped_whole_has_not_begun);
	tcase_add_test(tc, an_essential_block_that_is_refused_is_an_error);
	tcase_add_test(tc, blocks_close_by_themselves);
	tcase_add_test(tc, begin_and_end_of_a_slice_share_a_block);
	tcase_add_test(tc, a_packet_larger_than_a_block_is_a_block);
	tcase_add_test(tc, the_same_content_has_the_same_id_and_no_other);
	tcase_add_test(tc, interned_data_goes_with_the_next_packet_of_its_sequence);
	tcase_add_test(tc, strings_that_are_not_utf8_are_made_so);
	tcase_add_test(tc, an_id_that_could_not_be_explained_is_forgotten);
	tcase_add_loop_test(tc, whatever_is_dropped_the_rest_is_a_good_trace, 0, 6);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
