/* SPDX-License-Identifier: Apache-2.0 */
/* Who lived when a ring begins, out of what its former segments said. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "flight/flight_base.h"
#include "flight/flight_block.h"
#include "written_trace.h"

#define CLONE_THREAD 0x00010000

static struct written w;
static struct flight_base *base;
static struct buf block;
static uint64_t t0;

static void set_up(void)
{
	written_open(&w);
	ck_assert_int_eq(flight_base_new(&base), 0);
	t0 = boot_ns();
}

static void tear_down(void)
{
	flight_base_free(base);
	buf_done(&block);
	written_done(&w);
}

static void add_packet(TracePacket *pkt)
{
	size_t len = trace_packet__get_packed_size(pkt);
	uint8_t *data = malloc(len + 1);

	trace_packet__pack(pkt, data);
	ck_assert_int_eq(flight_put_bytes(&block, 1, data, len), 0);
	free(data);
}

static void says_process(uint64_t at, int32_t pid, int32_t ppid, const char *name)
{
	char *cmdline[] = { (char *)name };
	ProcessTree__Process p = PROCESS_TREE__PROCESS__INIT, *ps = &p;
	ProcessTree__Thread t = PROCESS_TREE__THREAD__INIT, *ts = &t;
	ProcessTree tree = PROCESS_TREE__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;

	p.has_pid = p.has_ppid = t.has_tid = t.has_tgid = pkt.has_timestamp = 1;
	p.pid = t.tid = t.tgid = pid;
	p.ppid = ppid;
	p.n_cmdline = 1;
	p.cmdline = cmdline;
	t.name = (char *)name;
	tree.n_processes = tree.n_threads = 1;
	tree.processes = &ps;
	tree.threads = &ts;
	pkt.timestamp = t0 + at;
	pkt.process_tree = &tree;
	add_packet(&pkt);
}

static void says_event(uint64_t at, FtraceEvent *ev)
{
	FtraceEventBundle bundle = FTRACE_EVENT_BUNDLE__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;

	ev->has_timestamp = ev->has_pid = bundle.has_cpu = 1;
	ev->timestamp = t0 + at;
	bundle.n_event = 1;
	bundle.event = &ev;
	pkt.ftrace_events = &bundle;
	add_packet(&pkt);
}

static void says_free(uint64_t at, int32_t tid)
{
	SchedProcessFreeFtraceEvent gone = SCHED_PROCESS_FREE_FTRACE_EVENT__INIT;
	FtraceEvent ev = FTRACE_EVENT__INIT;

	gone.has_pid = 1;
	gone.pid = tid;
	ev.sched_process_free = &gone;
	says_event(at, &ev);
}

static void says_thread(uint64_t at, int32_t tid, int32_t creator, const char *name)
{
	TaskNewtaskFtraceEvent task = TASK_NEWTASK_FTRACE_EVENT__INIT;
	FtraceEvent ev = FTRACE_EVENT__INIT;

	task.has_pid = task.has_clone_flags = 1;
	task.pid = tid;
	task.comm = (char *)name;
	task.clone_flags = CLONE_THREAD;
	ev.pid = (uint32_t)creator;
	ev.task_newtask = &task;
	says_event(at, &ev);
}

/* The segment that was written down is given up. */
static void give_up(void)
{
	ck_assert_int_eq(flight_base_note(base, &block), 0);
	ck_assert_int_eq(flight_base_apply(base), 0);
	block.len = 0;
}

static void tell(void)
{
	ck_assert_int_eq(flight_base_write(base, w.writer, t0), 0);
	written_read(&w);
}

static const ProcessTree__Process *process(int32_t pid)
{
	for (size_t i = 0; i < w.n; i++) {
		const ProcessTree *tree = w.packets[i]->process_tree;

		for (size_t k = 0; tree && k < tree->n_processes; k++)
			if (tree->processes[k]->pid == pid)
				return tree->processes[k];
	}
	return NULL;
}

static const ProcessTree__Thread *thread(int32_t tid)
{
	for (size_t i = 0; i < w.n; i++) {
		const ProcessTree *tree = w.packets[i]->process_tree;

		for (size_t k = 0; tree && k < tree->n_threads; k++)
			if (tree->threads[k]->tid == tid)
				return tree->threads[k];
	}
	return NULL;
}

START_TEST(the_last_word_on_a_process_holds)
{
	says_process(1, 10, 1, "sh");
	give_up();
	says_process(2, 10, 1, "make");
	give_up();
	tell();
	ck_assert_str_eq(process(10)->cmdline[0], "make");
	ck_assert_str_eq(thread(10)->name, "make");
	ck_assert_uint_eq(written_packet(&w, SEQ_PROCESSES, 0)->timestamp, t0);
}
END_TEST

START_TEST(who_is_freed_is_gone_in_the_order_of_time)
{
	says_process(1, 10, 1, "lives");
	/* Written before what it follows: a segment is not in order. */
	says_free(5, 11);
	says_process(4, 11, 10, "short");
	give_up();
	tell();
	ck_assert_ptr_nonnull(process(10));
	ck_assert_ptr_null(process(11));
	ck_assert_ptr_null(thread(11));
	ck_assert_uint_eq(flight_base_n_threads(base), 1);
}
END_TEST

START_TEST(a_number_that_is_used_again_is_its_new_owner)
{
	says_process(1, 11, 1, "old");
	says_free(5, 11);
	says_process(6, 11, 1, "new");
	give_up();
	tell();
	ck_assert_str_eq(process(11)->cmdline[0], "new");
}
END_TEST

START_TEST(a_thread_is_of_its_creators_process)
{
	says_process(1, 10, 1, "server");
	says_thread(2, 12, 10, "worker");
	says_thread(3, 13, 12, "helper");
	says_thread(3, 14, 999, "of nobody");
	give_up();
	tell();
	ck_assert_int_eq(thread(12)->tgid, 10);
	ck_assert_int_eq(thread(13)->tgid, 10);
	ck_assert_str_eq(thread(13)->name, "helper");
	ck_assert_ptr_null(thread(14));
}
END_TEST

START_TEST(who_has_lost_the_parent_is_a_child_of_init)
{
	says_process(1, 1, 0, "init");
	says_process(1, 10, 1, "parent");
	says_process(1, 11, 10, "child");
	give_up();
	says_free(2, 10);
	give_up();
	tell();
	ck_assert_int_eq(process(11)->ppid, 1);
	ck_assert_int_eq(process(1)->ppid, 0);
}
END_TEST

/* Of its end nothing was said, or not yet. */
START_TEST(a_thread_goes_with_its_process)
{
	says_process(1, 10, 1, "prog");
	says_thread(2, 11, 10, "worker");
	give_up();
	ck_assert(flight_base_has_thread(base, 11));
	says_free(3, 10);
	give_up();
	ck_assert(!flight_base_has_process(base, 10));
	give_up();
	ck_assert(!flight_base_has_thread(base, 11));
	tell();
	ck_assert_ptr_null(thread(11));
	ck_assert_uint_eq(flight_base_bytes(base), 0);
}
END_TEST

START_TEST(a_thread_may_be_told_of_before_its_process)
{
	says_process(1, 10, 1, "prog");
	says_thread(2, 11, 10, "worker");
	says_free(3, 10);
	says_thread(4, 12, 11, "later");
	give_up();
	says_process(5, 10, 1, "prog");
	give_up();
	give_up();
	tell();
	ck_assert_int_eq(thread(12)->tgid, 10);
}
END_TEST

START_TEST(it_takes_no_more_room_for_those_who_come_and_go)
{
	size_t bytes;

	says_process(1, 10, 1, "lives");
	give_up();
	bytes = flight_base_bytes(base);
	for (int32_t i = 0; i < 1000; i++) {
		says_process(2, 100 + i, 10, "short");
		says_free(3, 100 + i);
		give_up();
	}
	ck_assert_uint_eq(flight_base_bytes(base), bytes);
}
END_TEST

START_TEST(thousands_are_told_in_several_packets)
{
	for (int32_t i = 0; i < 2000; i++)
		says_process(1, 100 + i, 1, "many");
	give_up();
	tell();
	ck_assert_uint_ge(written_count(&w, SEQ_PROCESSES), 8);
	ck_assert_ptr_nonnull(process(100));
	ck_assert_ptr_nonnull(thread(2099));
}
END_TEST

START_TEST(bytes_that_are_no_packets_are_refused)
{
	static const uint8_t nonsense[] = { 0x0a, 5, 0xff };

	ck_assert_int_eq(buf_append(&block, nonsense, sizeof(nonsense)), 0);
	ck_assert_int_lt(flight_base_note(base, &block), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flight_base");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_last_word_on_a_process_holds);
	tcase_add_test(tc, who_is_freed_is_gone_in_the_order_of_time);
	tcase_add_test(tc, a_number_that_is_used_again_is_its_new_owner);
	tcase_add_test(tc, a_thread_is_of_its_creators_process);
	tcase_add_test(tc, who_has_lost_the_parent_is_a_child_of_init);
	tcase_add_test(tc, a_thread_goes_with_its_process);
	tcase_add_test(tc, a_thread_may_be_told_of_before_its_process);
	tcase_add_test(tc, it_takes_no_more_room_for_those_who_come_and_go);
	tcase_add_test(tc, thousands_are_told_in_several_packets);
	tcase_add_test(tc, bytes_that_are_no_packets_are_refused);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? 1 : 0;
}
