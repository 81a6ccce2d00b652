/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduler records in bundles: columns, the first switch, what follows a loss or a drop. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collect/sched_encode.h"
#include "sched_events.h"
#include "trace_meta.h"
#include "written_trace.h"

#define SLEEPING 1
#define MAX_KEPT 1024 /* of one kind on one CPU, in sched_encode.c */

static struct written w;
static void *encoder;
static uint64_t t0, n_encoded;

static void set_up(void)
{
	struct encoder_env env = { 0 };

	written_open(&w);
	env.writer = w.writer;
	t0 = boot_ns();
	env.start_ns = t0;
	n_encoded = 0;
	ck_assert_int_eq(sched_encoder_new(&env, &encoder), 0);
}

static void tear_down(void)
{
	sched_encoder_free(encoder);
	sched_encoder_free(NULL);
	written_done(&w);
}

static void encode(const struct event_hdr *ev)
{
	ck_assert(collector_by_name("sched")->valid(ev, ev->size));
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev->time_ns);
	ck_assert_int_eq(sched_encode(encoder, ev), 0);
	n_encoded++;
}

static struct sched_switch_event a_switch(unsigned cpu, uint64_t time, uint32_t prev, uint32_t next)
{
	struct sched_switch_event ev = { .prev_state = SLEEPING,
					 .prev_prio = 120,
					 .next_prio = 100 };

	ev.hdr.type = SCHED_SWITCH;
	ev.hdr.size = sizeof(ev);
	ev.hdr.cpu = (uint16_t)cpu;
	ev.hdr.time_ns = t0 + time;
	ev.hdr.tid = next;
	ev.hdr.peer_tid = prev;
	strcpy(ev.prev_comm, "prev");
	strcpy(ev.next_comm, "next");
	return ev;
}

static void put_switch(unsigned cpu, uint64_t time, uint32_t prev, uint32_t next)
{
	struct sched_switch_event ev = a_switch(cpu, time, prev, next);

	encode(&ev.hdr);
}

static void put_waking(unsigned cpu, uint64_t time, uint32_t tid)
{
	struct sched_waking_event ev = { .target_cpu = 1, .prio = 120, .flags = SCHED_IN_HARDIRQ };

	ev.hdr.type = SCHED_WAKING;
	ev.hdr.size = sizeof(ev);
	ev.hdr.cpu = (uint16_t)cpu;
	ev.hdr.time_ns = t0 + time;
	ev.hdr.tid = tid;
	strcpy(ev.comm, "woken");
	encode(&ev.hdr);
}

static void put_irq(unsigned cpu, uint64_t time, unsigned type, uint32_t number, uint32_t value)
{
	struct sched_irq_event ev = { .number = number, .value = value };

	ev.hdr.type = (uint16_t)type;
	ev.hdr.size = sizeof(ev);
	ev.hdr.cpu = (uint16_t)cpu;
	ev.hdr.time_ns = t0 + time;
	ev.hdr.peer_tid = 42;
	strcpy(ev.name, "eth0");
	encode(&ev.hdr);
}

static void flush(bool final)
{
	trace_writer_source(w.writer, WRITTEN_SOURCE, boot_ns());
	ck_assert_int_eq(sched_encoder_flush(encoder, boot_ns(), final), 0);
}

static const FtraceEventBundle *bundle(size_t i)
{
	const TracePacket *pkt;

	written_read(&w);
	pkt = written_packet(&w, SEQ_FTRACE, i);
	ck_assert_ptr_nonnull(pkt);
	ck_assert_ptr_nonnull(pkt->ftrace_events);
	return pkt->ftrace_events;
}

/* All that was encoded went somewhere. */
static void assert_account(void)
{
	struct trace_writer_stats stats;

	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	ck_assert_uint_eq(stats.n_written + stats.n_skipped + stats.n_dropped, n_encoded);
}

static uint64_t n_skipped(void)
{
	struct trace_writer_stats stats;

	trace_writer_stats(w.writer, WRITTEN_SOURCE, &stats);
	return stats.n_skipped;
}

START_TEST(the_first_switch_of_a_cpu_is_a_whole_event)
{
	const FtraceEventBundle *b;

	put_switch(3, 100, 7, 8);
	put_switch(3, 200, 8, 9);
	flush(false);
	b = bundle(0);
	ck_assert_uint_eq(b->cpu, 3);
	ck_assert(!b->lost_events);
	ck_assert_uint_eq(b->n_event, 1);
	ck_assert_uint_eq(b->event[0]->timestamp, t0 + 100);
	ck_assert_uint_eq(b->event[0]->pid, 7);
	ck_assert_int_eq(b->event[0]->sched_switch->prev_pid, 7);
	ck_assert_int_eq(b->event[0]->sched_switch->next_pid, 8);
	ck_assert_str_eq(b->event[0]->sched_switch->prev_comm, "prev");
	ck_assert_int_eq(b->event[0]->sched_switch->next_prio, 100);
	ck_assert_uint_eq(b->compact_sched->n_switch_timestamp, 1);
	ck_assert_uint_eq(b->compact_sched->switch_timestamp[0], t0 + 200);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(columns_hold_switches_and_wakings_and_names_once)
{
	const FtraceEventBundle__CompactSched *c;

	put_switch(0, 0, 1, 2);
	for (unsigned i = 1; i <= 10; i++) {
		put_switch(0, i * 100, 1 + i % 2, 1 + (i + 1) % 2);
		put_waking(0, i * 100 + 50, 77);
	}
	flush(false);
	c = bundle(0)->compact_sched;
	ck_assert_uint_eq(c->n_switch_timestamp, 10);
	ck_assert_uint_eq(c->n_waking_timestamp, 10);
	ck_assert_uint_eq(c->n_intern_table, 2);
	ck_assert_str_eq(c->intern_table[c->switch_next_comm_index[4]], "next");
	ck_assert_str_eq(c->intern_table[c->waking_comm_index[9]], "woken");
	for (unsigned i = 1; i < 10; i++) {
		ck_assert_uint_eq(c->switch_timestamp[i], 100);
		ck_assert_uint_eq(c->waking_timestamp[i], 100);
		ck_assert_int_eq(c->switch_prev_state[i], SLEEPING);
		ck_assert_int_eq(c->waking_pid[i], 77);
		ck_assert_uint_eq(c->waking_common_flags[i], SCHED_IN_HARDIRQ);
		ck_assert_int_eq(c->waking_target_cpu[i], 1);
	}
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(cpus_have_bundles_of_their_own)
{
	put_switch(0, 0, 1, 2);
	put_switch(1023, 1, 5, 6);
	put_switch(0, 2, 2, 3);
	flush(false);
	ck_assert_uint_eq(bundle(0)->cpu, 0);
	ck_assert_uint_eq(bundle(1)->cpu, 1023);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(the_second_flush_goes_on_without_a_whole_event)
{
	put_switch(0, 0, 1, 2);
	flush(false);
	put_switch(0, 1, 2, 3);
	flush(false);
	flush(false); /* nothing new, nothing written */
	ck_assert_uint_eq(bundle(1)->n_event, 0);
	ck_assert_uint_eq(bundle(1)->compact_sched->n_switch_timestamp, 1);
	ck_assert_uint_eq(written_count(&w, SEQ_FTRACE), 2);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(wakings_before_the_first_switch_are_skipped_and_counted)
{
	put_waking(0, 0, 5);
	put_waking(0, 1, 6);
	put_switch(0, 10, 1, 2);
	put_waking(0, 5, 7); /* late, and older */
	put_waking(0, 11, 8);
	flush(false);
	ck_assert_uint_eq(bundle(0)->compact_sched->n_waking_pid, 1);
	ck_assert_uint_eq(n_skipped(), 3);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(late_records_are_sorted_in)
{
	const FtraceEventBundle__CompactSched *c;

	put_switch(0, 0, 1, 2);
	put_waking(0, 30, 9);
	put_waking(0, 10, 8);
	put_waking(0, 20, 7);
	flush(false);
	c = bundle(0)->compact_sched;
	ck_assert_int_eq(c->waking_pid[0], 8);
	ck_assert_int_eq(c->waking_pid[1], 7);
	ck_assert_int_eq(c->waking_pid[2], 9);
	written_assert_good(&w);
}
END_TEST

START_TEST(after_a_loss_the_next_switch_is_a_whole_event_in_a_marked_bundle)
{
	put_switch(0, 0, 1, 2);
	flush(false); /* so that what is kept next begins compact */
	put_switch(0, 10, 2, 3);
	put_waking(0, 11, 50);
	sched_encoder_lost(encoder, 0);
	put_waking(0, 15, 51); /* by whom? */
	put_switch(0, 20, 7, 8);
	put_switch(0, 30, 8, 9);
	flush(false);
	ck_assert_uint_eq(bundle(1)->n_event, 0); /* older than the loss */
	ck_assert(!bundle(1)->lost_events);
	ck_assert_uint_eq(bundle(1)->compact_sched->n_switch_timestamp, 1);
	ck_assert(bundle(2)->lost_events);
	/* What was lost put 7 where 3 had been: the importer knows 3, so it must be told. */
	ck_assert_int_eq(bundle(2)->event[0]->sched_switch->prev_pid, 3);
	ck_assert_int_eq(bundle(2)->event[0]->sched_switch->next_pid, 7);
	ck_assert_uint_eq(bundle(2)->compact_sched->n_switch_timestamp, 2);
	ck_assert_int_eq(bundle(2)->compact_sched->switch_next_pid[0], 8);
	ck_assert_uint_eq(n_skipped(), 1);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(a_loss_right_behind_the_first_switch_loses_nothing_else)
{
	put_switch(0, 0, 1, 2);
	sched_encoder_lost(encoder, 0);
	put_switch(0, 20, 7, 8);
	sched_encoder_lost(encoder, 0);
	sched_encoder_lost(encoder, 0);
	put_switch(0, 30, 9, 10);
	flush(false);
	ck_assert_int_eq(bundle(0)->event[0]->sched_switch->next_pid, 2);
	ck_assert_int_eq(bundle(1)->event[0]->sched_switch->next_pid, 7);
	ck_assert_int_eq(bundle(1)->compact_sched->switch_next_pid[0], 8);
	ck_assert_int_eq(bundle(2)->event[0]->sched_switch->prev_pid, 8);
	ck_assert_int_eq(bundle(2)->event[0]->sched_switch->next_pid, 9);
	ck_assert_int_eq(bundle(2)->compact_sched->switch_next_pid[0], 10);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(a_loss_concerns_one_cpu_or_all)
{
	put_switch(0, 0, 1, 2);
	put_switch(1, 0, 1, 2);
	sched_encoder_lost(encoder, 1);
	put_switch(0, 10, 2, 3);
	put_switch(1, 10, 2, 3);
	flush(false);
	ck_assert_uint_eq(written_count(&w, SEQ_FTRACE), 0);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_FTRACE), 3);
	sched_encoder_lost(encoder, -1);
	put_switch(0, 20, 3, 4);
	put_switch(1, 20, 3, 4);
	flush(false);
	ck_assert(bundle(3)->lost_events);
	ck_assert(bundle(4)->lost_events);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(a_loss_that_nothing_follows_is_told_at_the_end)
{
	put_switch(0, 0, 1, 2);
	sched_encoder_lost(encoder, 0);
	flush(false);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_FTRACE), 1);
	flush(true);
	ck_assert(!bundle(0)->lost_events);
	ck_assert(bundle(1)->lost_events);
	ck_assert_uint_eq(bundle(1)->n_event, 0);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(after_a_drop_the_oldest_kept_switch_is_a_whole_event)
{
	put_switch(0, 0, 1, 2);
	flush(false);
	w.refuse_bulk = true;
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.refuse_bulk = false;
	put_waking(0, 5, 50); /* by 2, but who knows that now? */
	put_switch(0, 10, 2, 3);
	put_switch(0, 20, 3, 4);
	put_waking(0, 25, 51);
	flush(false);
	ck_assert(bundle(0)->lost_events);
	ck_assert_int_eq(bundle(0)->event[0]->sched_switch->prev_pid, 2);
	ck_assert_uint_eq(bundle(0)->compact_sched->n_switch_timestamp, 1);
	ck_assert_uint_eq(bundle(0)->compact_sched->n_waking_pid, 1);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(what_was_kept_at_a_drop_begins_with_a_whole_event)
{
	put_switch(0, 0, 1, 2);
	flush(false);
	put_waking(0, 5, 50);
	put_switch(0, 10, 2, 3);
	put_switch(0, 20, 3, 4);
	put_waking(0, 25, 51);
	w.refuse_bulk = true; /* the block with the first switch */
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.refuse_bulk = false;
	flush(false);
	ck_assert(bundle(0)->lost_events);
	ck_assert_int_eq(bundle(0)->event[0]->sched_switch->prev_pid, 2);
	ck_assert_int_eq(bundle(0)->event[0]->sched_switch->next_pid, 3);
	ck_assert_uint_eq(bundle(0)->compact_sched->n_switch_timestamp, 1);
	ck_assert_int_eq(bundle(0)->compact_sched->waking_pid[0], 51);
	ck_assert_uint_eq(n_skipped(), 1);
	assert_account();
	written_assert_good(&w);
}
END_TEST

/* Its own bundles fill a block that is dropped while the next CPU's wait for their turn. */
START_TEST(a_drop_in_the_middle_of_a_flush_is_noticed)
{
	for (unsigned cpu = 0; cpu < 64; cpu++)
		put_switch(cpu, 0, 1, 2);
	flush(false);
	for (unsigned i = 1; i < 900; i++)
		for (unsigned cpu = 0; cpu < 64; cpu++)
			put_switch(cpu, i * 1000 + cpu, 1 + i % 2, 1 + (i + 1) % 2);
	w.refuse_bulk = true;
	flush(false);
	w.refuse_bulk = false;
	ck_assert_uint_gt(trace_writer_generation(w.writer), 0);
	flush(false);
	for (unsigned cpu = 0; cpu < 64; cpu++)
		put_switch(cpu, 1000000 + cpu, 1 + 900 % 2, 1 + 901 % 2);
	flush(true);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(a_full_array_is_written_before_the_next_flush)
{
	put_switch(0, 0, 1, 2);
	for (unsigned i = 0; i < 3 * MAX_KEPT; i++) {
		put_switch(0, 10 + i, 1 + (i + 1) % 2, 1 + i % 2);
		put_waking(0, 10 + i, 60);
		put_irq(0, 10 + i, SCHED_SOFTIRQ_ENTRY, 1, 0);
	}
	written_read(&w);
	ck_assert_uint_ge(written_count(&w, SEQ_FTRACE), 3);
	for (size_t i = 0; i < written_count(&w, SEQ_FTRACE); i++)
		ck_assert_uint_le(bundle(i)->n_event, MAX_KEPT + 1);
	flush(true);
	assert_account();
	written_assert_good(&w);
}
END_TEST

/* A hidden switch takes two places at once. */
START_TEST(there_is_room_for_a_hidden_switch_at_the_end)
{
	size_t n = 0;

	put_switch(0, 0, 1, 2);
	for (unsigned i = 1; i <= MAX_KEPT - 1; i++)
		put_switch(0, 10 * i, 2, 2);
	put_switch(0, 1000000, 7, 2);
	put_switch(0, 1000010, 8, 2);
	flush(true);
	written_read(&w);
	for (size_t i = 0; i < written_count(&w, SEQ_FTRACE); i++) {
		ck_assert_uint_le(bundle(i)->compact_sched->n_switch_timestamp, MAX_KEPT);
		n += bundle(i)->compact_sched->n_switch_timestamp;
	}
	ck_assert_uint_eq(n, MAX_KEPT - 1 + 4);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(interrupts_and_power_are_whole_events)
{
	const FtraceEventBundle *b;

	put_irq(2, 1, SCHED_IRQ_ENTRY, 33, 0);
	put_irq(2, 2, SCHED_IRQ_EXIT, 33, 1);
	put_irq(2, 3, SCHED_SOFTIRQ_ENTRY, 9, 0);
	put_irq(2, 4, SCHED_SOFTIRQ_EXIT, 9, 0);
	put_irq(2, 5, SCHED_CPU_FREQUENCY, 7, 2400000);
	put_irq(2, 6, SCHED_CPU_IDLE, 7, UINT32_MAX);
	flush(false);
	b = bundle(0);
	ck_assert_uint_eq(b->n_event, 6);
	ck_assert_ptr_null(b->compact_sched);
	ck_assert_int_eq(b->event[0]->irq_handler_entry->irq, 33);
	ck_assert_str_eq(b->event[0]->irq_handler_entry->name, "eth0");
	ck_assert_uint_eq(b->event[0]->pid, 42);
	ck_assert_int_eq(b->event[1]->irq_handler_exit->ret, 1);
	ck_assert_uint_eq(b->event[2]->softirq_entry->vec, 9);
	ck_assert_uint_eq(b->event[3]->softirq_exit->vec, 9);
	ck_assert_uint_eq(b->event[4]->cpu_frequency->state, 2400000);
	ck_assert_uint_eq(b->event[4]->cpu_frequency->cpu_id, 7);
	ck_assert_uint_eq(b->event[5]->cpu_idle->state, UINT32_MAX);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(a_switch_that_the_kernel_hid_is_written_where_the_thread_arrived)
{
	const FtraceEventBundle__CompactSched *c;
	struct sched_switch_event ev;

	put_switch(0, 1000, 1, 2);
	ev = a_switch(0, 2000, 2, 3); /* the scheduler's clock is 500 behind */
	ev.prev_arrival = t0 + 500;
	encode(&ev.hdr);
	ev = a_switch(0, 5000, 9, 4); /* 9 was never put on the CPU; 3 was */
	ev.prev_arrival = t0 + 3500;
	encode(&ev.hdr);
	flush(true);
	c = bundle(0)->compact_sched;
	ck_assert_uint_eq(c->n_switch_timestamp, 3);
	ck_assert_int_eq(c->switch_next_pid[1], 9);
	ck_assert_uint_eq(c->switch_timestamp[0] + c->switch_timestamp[1], t0 + 4000);
	ck_assert_int_eq(c->switch_next_pid[2], 4);
	/* It is no event of the kernel's. */
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(a_hidden_switch_lies_between_its_neighbours_whatever_the_clock_says)
{
	static const uint64_t arrivals[] = { 0, 1, UINT64_MAX };
	const FtraceEventBundle__CompactSched *c;

	put_switch(0, 0, 1, 2);
	for (unsigned i = 0; i < 3; i++) {
		struct sched_switch_event ev = a_switch(0, 10 * (i + 1), 100 + i, 2);

		ev.prev_arrival = arrivals[i];
		encode(&ev.hdr);
	}
	put_switch(0, 30, 555, 3); /* at the very moment of the one before */
	flush(true);
	c = bundle(0)->compact_sched;
	ck_assert_uint_eq(c->n_switch_next_pid, 8);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(c->switch_next_pid[2 * i], 100 + (int)i);
	ck_assert_int_eq(c->switch_next_pid[6], 555);
	ck_assert_int_eq(c->switch_next_pid[7], 3);
	assert_account();
	written_assert_good(&w);
}
END_TEST

/* Promoted after a drop, it takes off the CPU who was there before. */
START_TEST(a_hidden_switch_knows_who_ran_before)
{
	put_switch(0, 0, 1, 2);
	flush(false);
	put_switch(0, 10, 9, 3); /* 2 -> 9 was hidden */
	w.refuse_bulk = true;
	ck_assert_int_eq(trace_writer_flush(w.writer), 0);
	w.refuse_bulk = false;
	flush(true);
	ck_assert_int_eq(bundle(0)->event[0]->sched_switch->prev_pid, 2);
	ck_assert_int_eq(bundle(0)->event[0]->sched_switch->next_pid, 9);
	assert_account();
	written_assert_good(&w);
}
END_TEST

START_TEST(names_that_are_not_utf8_are_made_so)
{
	struct sched_switch_event ev = a_switch(0, 10, 2, 3);

	put_switch(0, 0, 1, 2);
	memset(ev.next_comm, 0xff, sizeof(ev.next_comm)); /* not ended, either */
	encode(&ev.hdr);
	flush(false);
	ck_assert_uint_eq(strlen(bundle(0)->compact_sched->intern_table[0]), 3 * 15);
	written_assert_good(&w);
}
END_TEST

START_TEST(records_of_another_size_or_kind_are_not_valid)
{
	const struct collector *c = collector_by_name("sched");
	struct sched_switch_event ev = a_switch(0, 0, 1, 2);
	struct sched_waking_event waking = { .target_cpu = SCHED_MAX_CPUS };
	struct sched_irq_event irq = { .number = SCHED_MAX_CPUS };

	ck_assert(c->valid(&ev.hdr, sizeof(ev)));
	ck_assert(c->valid(&ev.hdr, sizeof(ev) + 8)); /* rounded up by the ring */
	ck_assert(!c->valid(&ev.hdr, sizeof(ev) - 1));
	ev.hdr.size--;
	ck_assert(!c->valid(&ev.hdr, sizeof(ev)));
	ev = a_switch(SCHED_MAX_CPUS, 0, 1, 2);
	ck_assert(!c->valid(&ev.hdr, sizeof(ev)));
	ev = a_switch(0, 0, 1u << 31, 2);
	ck_assert(!c->valid(&ev.hdr, sizeof(ev)));
	ev = a_switch(0, 0, 1, 2);
	for (unsigned type = 0; type < 256; type++) {
		ev.hdr.type = (uint8_t)type;
		ck_assert_int_eq(c->valid(&ev.hdr, sizeof(ev)), type == SCHED_SWITCH);
	}
	waking.hdr.type = SCHED_WAKING;
	waking.hdr.size = sizeof(waking);
	ck_assert(!c->valid(&waking.hdr, sizeof(waking)));
	waking.target_cpu--;
	ck_assert(c->valid(&waking.hdr, sizeof(waking)));
	irq.hdr.type = SCHED_CPU_FREQUENCY;
	irq.hdr.size = sizeof(irq);
	ck_assert(!c->valid(&irq.hdr, sizeof(irq)));
	irq.hdr.type = SCHED_IRQ_ENTRY;
	ck_assert(c->valid(&irq.hdr, sizeof(irq)));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sched_encode");
	TCase *tc = tcase_create("sched_encode");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_first_switch_of_a_cpu_is_a_whole_event);
	tcase_add_test(tc, columns_hold_switches_and_wakings_and_names_once);
	tcase_add_test(tc, cpus_have_bundles_of_their_own);
	tcase_add_test(tc, the_second_flush_goes_on_without_a_whole_event);
	tcase_add_test(tc, wakings_before_the_first_switch_are_skipped_and_counted);
	tcase_add_test(tc, late_records_are_sorted_in);
	tcase_add_test(tc, after_a_loss_the_next_switch_is_a_whole_event_in_a_marked_bundle);
	tcase_add_test(tc, a_loss_right_behind_the_first_switch_loses_nothing_else);
	tcase_add_test(tc, a_loss_concerns_one_cpu_or_all);
	tcase_add_test(tc, a_loss_that_nothing_follows_is_told_at_the_end);
	tcase_add_test(tc, after_a_drop_the_oldest_kept_switch_is_a_whole_event);
	tcase_add_test(tc, what_was_kept_at_a_drop_begins_with_a_whole_event);
	tcase_add_test(tc, a_drop_in_the_middle_of_a_flush_is_noticed);
	tcase_add_test(tc, a_full_array_is_written_before_the_next_flush);
	tcase_add_test(tc, there_is_room_for_a_hidden_switch_at_the_end);
	tcase_add_test(tc, interrupts_and_power_are_whole_events);
	tcase_add_test(tc, a_switch_that_the_kernel_hid_is_written_where_the_thread_arrived);
	tcase_add_test(tc, a_hidden_switch_lies_between_its_neighbours_whatever_the_clock_says);
	tcase_add_test(tc, a_hidden_switch_knows_who_ran_before);
	tcase_add_test(tc, names_that_are_not_utf8_are_made_so);
	tcase_add_test(tc, records_of_another_size_or_kind_are_not_valid);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
