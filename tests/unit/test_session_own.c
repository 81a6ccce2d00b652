/* SPDX-License-Identifier: Apache-2.0 */
/* What a user who may see their own processes alone gets of each record. */
#include <check.h>
#include <errno.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>

#include "collect/cpu_encode.h"
#include "collect/proc_encode.h"
#include "collector.h"
#include "cpu_events.h"
#include "markers_events.h"
#include "offcpu_events.h"
#include "proc_events.h"
#include "process/process_table_update.h"
#include "sched_events.h"
#include "session_own.h"

enum { ME = 1000, OTHER = 1001, MY_NUMBER = 7, OTHER_NUMBER = 8, MINE = 10, THEIRS = 20 };

static struct process_table *processes;
static struct trace_config config;
static struct own_view *view;

static struct proc_task_event task_event(uint16_t type, uint32_t pid, uint32_t uid, uint32_t flags)
{
	struct proc_task_event ev = { .start_ns = 1000 * pid,
				      .process_start_ns = 1000 * pid,
				      .uid = uid,
				      .gid = uid,
				      .flags = flags,
				      .comm = "a name" };

	ev.hdr = (struct event_hdr){ .time_ns = 1000 * pid + 1,
				     .tgid = pid,
				     .tid = pid,
				     .peer_tgid = 1,
				     .peer_tid = 1,
				     .type = (uint8_t)type,
				     .size = sizeof(ev) };
	return ev;
}

static void happens(struct proc_task_event ev)
{
	proc_apply(processes, &ev.hdr);
}

static void set_up(void)
{
	memset(&config, 0, sizeof(config));
	config.owner = (struct trace_owner){
		.only_own = true, .uid = ME, .gid = ME, .number = MY_NUMBER, .kernel_hidden = true
	};
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	ck_assert_int_eq(own_view_new(&config, processes, &view), 0);
	happens(task_event(PROC_NEWTASK, MINE, ME, PROC_IS_PLAIN));
	happens(task_event(PROC_NEWTASK, THEIRS, OTHER, PROC_IS_PLAIN));
}

static void tear_down(void)
{
	own_view_free(view);
	process_table_free(processes);
}

static const struct event_hdr *see(const char *source, const struct event_hdr *ev)
{
	return own_view_of(view, (unsigned)collector_index(collector_by_name(source)), ev);
}

/* ---- whole records ---- */

START_TEST(a_record_is_given_to_whose_it_is)
{
	static const char *const sources[] = { "cpu", "syscalls", "net", "markers" };
	struct event_hdr ev = { .tgid = MINE, .tid = MINE, .type = 1, .user = MY_NUMBER };

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct markers_event room = { .hdr = ev };

		ck_assert_ptr_eq(see(sources[i], &room.hdr), &room.hdr);
		room.hdr.user = OTHER_NUMBER;
		ck_assert_ptr_null(see(sources[i], &room.hdr));
		room.hdr.user = 0;
		ck_assert_ptr_null(see(sources[i], &room.hdr));
	}
}
END_TEST

START_TEST(what_is_not_in_the_table_gives_nothing)
{
	static const char *const sources[] = { "counters",     "gpu",	"gpu-api",
					       "gpu-counters", "alloc", "probes" };
	struct event_hdr ev = { .tgid = MINE, .tid = MINE, .type = 1, .user = MY_NUMBER };

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		ck_assert_ptr_nonnull(collector_by_name(sources[i]));
		ck_assert_ptr_null(see(sources[i], &ev));
	}
}
END_TEST

START_TEST(a_datagram_is_of_whose_process_has_sent_it)
{
	struct markers_event ev = { .hdr = { .tgid = MINE, .type = MARKERS_MARK },
				    .flags = MARKERS_SOCKET };

	ck_assert_ptr_eq(see("markers", &ev.hdr), &ev.hdr);
	ev.hdr.tgid = THEIRS;
	ck_assert_ptr_null(see("markers", &ev.hdr));
	ev.hdr.tgid = MINE;
	ev.hdr.type = MARKERS_REFUSED;
	ck_assert_ptr_null(see("markers", &ev.hdr));
}
END_TEST

/* ---- processes ---- */

START_TEST(processes_are_seen_while_they_are_the_users)
{
	struct proc_task_event ev = task_event(PROC_RENAME, MINE, ME, PROC_IS_PLAIN);
	const struct event_hdr *seen;

	seen = see("proc", &ev.hdr);
	ck_assert_ptr_nonnull(seen);
	/* By whom is nobody's business. */
	ck_assert_uint_eq(seen->peer_tid, MINE);
	ev = task_event(PROC_RENAME, THEIRS, OTHER, PROC_IS_PLAIN);
	ck_assert_ptr_null(see("proc", &ev.hdr));
	/* It has another user's ids, or may not be looked into. */
	ev = task_event(PROC_RENAME, MINE, ME, 0);
	happens(ev);
	ck_assert_ptr_null(see("proc", &ev.hdr));
	/* Another one with its pid. */
	ev = task_event(PROC_RENAME, MINE, ME, PROC_IS_PLAIN);
	happens(ev);
	ev.start_ns++;
	ck_assert_ptr_null(see("proc", &ev.hdr));
}
END_TEST

START_TEST(its_end_is_the_end_of_what_it_was)
{
	struct proc_task_event ev = task_event(PROC_FREE, MINE, ME, PROC_WAS_PLAIN);

	happens(ev);
	ck_assert_ptr_nonnull(see("proc", &ev.hdr));
	happens(task_event(PROC_NEWTASK, 30, ME, 0)); /* one that may not be looked into */
	ev = task_event(PROC_EXIT, 30, ME, PROC_WAS_PLAIN);
	happens(ev);
	ck_assert_ptr_null(see("proc", &ev.hdr));
}
END_TEST

START_TEST(who_becomes_the_users_without_an_exec_is_shown_from_then_on)
{
	struct event_hdr ev = {
		.tgid = 30, .tid = 30, .type = 1, .user = MY_NUMBER, .time_ns = 29000
	};

	happens(task_event(PROC_NEWTASK, 30, 0, PROC_IS_PLAIN));
	ck_assert(!process_is_users(process_table_get(processes, 30), ME, ME));
	ck_assert_ptr_nonnull(see("syscalls", &ev)); /* of another one, before it */
	ck_assert(!process_is_users(process_table_get(processes, 30), ME, ME));
	ev.time_ns = 31000;
	ck_assert_ptr_nonnull(see("syscalls", &ev));
	ck_assert(process_is_users(process_table_get(processes, 30), ME, ME));
}
END_TEST

/* ---- the scheduler ---- */

static const struct sched_switch_event *switch_to(uint32_t from, uint32_t to)
{
	static struct sched_switch_event ev;

	ev = (struct sched_switch_event){ .prev_comm = "from",
					  .next_comm = "to",
					  .prev_prio = 120,
					  .next_prio = 120,
					  .prev_state = 1,
					  .prev_arrival = 5 };
	ev.hdr = (struct event_hdr){ .time_ns = 50000,
				     .tgid = to,
				     .tid = to,
				     .peer_tgid = from,
				     .peer_tid = from,
				     .type = SCHED_SWITCH };
	ev.hdr.user = to == MINE || to == MINE + 1 ? MY_NUMBER : 0;
	ev.hdr.peer_user = from == MINE || from == MINE + 1 ? MY_NUMBER : 0;
	return (const void *)see("sched", &ev.hdr);
}

START_TEST(of_others_there_is_one_stretch)
{
	const struct sched_switch_event *ev;

	ck_assert_ptr_null(switch_to(0, THEIRS));
	ev = switch_to(THEIRS, MINE);
	ck_assert_uint_eq(ev->hdr.tid, MINE);
	ck_assert_uint_eq(ev->hdr.peer_tid, OWN_OTHERS);
	ck_assert_uint_eq(ev->hdr.peer_tgid, 0);
	ck_assert_uint_eq(ev->prev_state, 0);
	ck_assert_uint_eq(ev->prev_arrival, 0);
	ck_assert_int_eq(ev->prev_prio, 0);
	ck_assert_int_eq(strncmp(ev->prev_comm, OWN_OTHERS_NAME, EVENT_COMM_LEN), 0);
	ck_assert_str_eq(ev->next_comm, "to");
	ev = switch_to(MINE, MINE + 1);
	ck_assert_uint_eq(ev->hdr.peer_tid, MINE);
	ck_assert_str_eq(ev->prev_comm, "from");
	ev = switch_to(MINE + 1, 0);
	ck_assert_uint_eq(ev->hdr.tid, OWN_OTHERS);
	ck_assert_uint_eq(ev->hdr.peer_tid, MINE + 1);
	ck_assert_uint_eq(ev->prev_state, 1);
	ck_assert_ptr_null(switch_to(0, THEIRS));
	ck_assert_ptr_null(switch_to(THEIRS, 0));
}
END_TEST

START_TEST(who_had_the_cpu_gives_it_up_whoever_it_is_by_then)
{
	struct sched_switch_event ev = { .prev_comm = "secret" };
	const struct sched_switch_event *seen;

	ck_assert_ptr_nonnull(switch_to(THEIRS, MINE + 1));
	ev.hdr = (struct event_hdr){
		.time_ns = 60000, .tid = THEIRS, .peer_tid = MINE + 1, .type = SCHED_SWITCH
	};
	seen = (const void *)see("sched", &ev.hdr);
	ck_assert_uint_eq(seen->hdr.peer_tid, MINE + 1);
	ck_assert_str_eq(seen->prev_comm, "");
	ck_assert_ptr_null(see("sched", &ev.hdr));
}
END_TEST

START_TEST(a_switch_that_nobody_told_of_ends_the_stretch)
{
	const struct sched_switch_event *ev;

	ck_assert_ptr_nonnull(switch_to(THEIRS, MINE));
	ev = switch_to(THEIRS, 0);
	ck_assert_uint_eq(ev->hdr.tid, OWN_OTHERS);
	ck_assert_uint_eq(ev->hdr.peer_tid, OWN_OTHERS);
	ck_assert_ptr_null(switch_to(0, THEIRS));
}
END_TEST

START_TEST(who_wakes_is_not_said)
{
	struct sched_waking_event ev = { .comm = "mine" };
	const struct event_hdr *seen;

	ev.hdr = (struct event_hdr){ .tgid = MINE,
				     .tid = MINE,
				     .peer_tgid = THEIRS,
				     .peer_tid = THEIRS,
				     .type = SCHED_WAKING,
				     .user = MY_NUMBER };
	seen = see("sched", &ev.hdr);
	ck_assert_uint_eq(seen->peer_tid, OWN_OTHERS);
	ck_assert_uint_eq(seen->peer_tgid, 0);
	ev.hdr.user = 0;
	ev.hdr.peer_user = MY_NUMBER; /* mine wakes another one's */
	ck_assert_ptr_null(see("sched", &ev.hdr));
	ev.hdr.user = MY_NUMBER;
	ev.hdr.type = SCHED_IRQ_ENTRY;
	ck_assert_ptr_null(see("sched", &ev.hdr));
}
END_TEST

/* ---- waits ---- */

/* Two frames of the user's, one of the kernel's, one and two of the waker's; and copies. */
static struct offcpu_copied a_wait(bool copied)
{
	struct offcpu_copied rec = { 0 };
	struct offcpu_event *ev = &rec.ev;

	ev->hdr = (struct event_hdr){ .time_ns = 90,
				      .tgid = MINE,
				      .tid = MINE,
				      .peer_tgid = THEIRS,
				      .peer_tid = THEIRS,
				      .type = OFFCPU_WAIT,
				      .user = MY_NUMBER };
	ev->begin_ns = 10;
	ev->woken_ns = 80;
	ev->n_user = 2;
	ev->n_kernel = 1;
	ev->n_waker_kernel = 1;
	ev->n_waker_user = 2;
	for (unsigned i = 0; i < 6; i++)
		ev->ips[i] = 100 + i;
	ev->hdr.size = OFFCPU_HEAD + 6 * 8;
	if (copied) {
		ev->has_copy = OFFCPU_COPY_SLEEPER | OFFCPU_COPY_WAKER;
		rec.copy.len = 16;
		rec.waker_copy.len = 32;
		memset(rec.stacks, 'm', 16);
		memset(rec.stacks + 16, 's', 32);
		ev->hdr.size = OFFCPU_COPY_HEAD + 48;
	}
	return rec;
}

START_TEST(of_a_wait_the_waker_is_left_out)
{
	for (int copied = 0; copied < 2; copied++) {
		struct offcpu_copied rec = a_wait(copied);
		const struct offcpu_event *ev = (const void *)see("offcpu", &rec.ev.hdr);

		ck_assert_uint_eq(ev->hdr.peer_tid, 0);
		ck_assert_uint_eq(ev->hdr.peer_tgid, 0);
		ck_assert_uint_eq(ev->n_waker_user, 0);
		ck_assert_uint_eq(ev->n_waker_kernel, 0);
		ck_assert_uint_eq(ev->n_user, 2);
		ck_assert_uint_eq(ev->n_kernel, 1);
		ck_assert_uint_eq(ev->woken_ns, 80);
		ck_assert_uint_eq(ev->has_copy, copied ? OFFCPU_COPY_SLEEPER : 0);
		ck_assert(collector_by_name("offcpu")->valid(&ev->hdr, ev->hdr.size));
		ck_assert_uint_eq(ev->hdr.size,
				  copied ? OFFCPU_COPY_HEAD + 16 : OFFCPU_HEAD + 3 * 8);
		rec.ev.hdr.user = OTHER_NUMBER;
		ck_assert_ptr_null(see("offcpu", &rec.ev.hdr));
	}
}
END_TEST

START_TEST(of_the_users_own_waker_the_kernel_is_left_out)
{
	struct offcpu_copied rec = a_wait(false);
	const struct offcpu_event *ev;

	rec.ev.hdr.peer_user = MY_NUMBER;
	ev = (const void *)see("offcpu", &rec.ev.hdr);
	ck_assert_uint_eq(ev->hdr.peer_tid, THEIRS);
	ck_assert_uint_eq(ev->n_waker_kernel, 0);
	ck_assert_uint_eq(ev->n_waker_user, 2);
	ck_assert_uint_eq(ev->ips[3], 104);
	ck_assert_uint_eq(ev->ips[4], 105);
	ck_assert(collector_by_name("offcpu")->valid(&ev->hdr, ev->hdr.size));
	config.owner.kernel_hidden = false;
	ck_assert_ptr_eq(see("offcpu", &rec.ev.hdr), &rec.ev.hdr);
}
END_TEST

/* ---- what may be asked for ---- */

static int restrict_to(const char *event, uint32_t hz, uint64_t period, char why[256])
{
	strcpy(config.event, event);
	config.freq_hz = hz;
	config.period = period;
	return session_own_restrict(&config, false, why, 256);
}

START_TEST(sources_of_the_machine_are_left_out_or_refused)
{
	unsigned cpu = (unsigned)collector_index(collector_by_name("cpu"));
	unsigned gpu = (unsigned)collector_index(collector_by_name("gpu"));
	char why[256];

	config.sources = 1u << cpu | 1u << gpu;
	ck_assert_int_eq(restrict_to("cpu-clock", 99, 0, why), 0);
	ck_assert_uint_eq(config.sources, 1u << cpu);
	config.sources = 1u << cpu | 1u << gpu;
	ck_assert_int_eq(session_own_restrict(&config, true, why, sizeof(why)), -EACCES);
	ck_assert_ptr_nonnull(strstr(why, "source gpu"));
	ck_assert_ptr_null(session_own_gives(gpu));
}
END_TEST

START_TEST(only_so_often_and_no_tracepoints)
{
	char why[256];

	ck_assert_int_eq(restrict_to("cpu-clock", 1000, 0, why), 0);
	ck_assert_int_eq(restrict_to("cpu-clock", 1001, 0, why), -EACCES);
	ck_assert_int_eq(restrict_to("cpu-clock", 99, 1000, why), -EACCES);
	ck_assert_int_eq(restrict_to("cpu-clock@1000", 99, 0, why), -EACCES);
	ck_assert_int_eq(restrict_to("page-faults", 99, 1, why), 0);
	ck_assert_int_eq(restrict_to("sched:sched_switch", 99, 0, why), -EACCES);
	strcpy(config.more_events[0], "cpu-clock@1000");
	config.n_more_events = 1;
	ck_assert_int_eq(restrict_to("cpu-clock", 99, 0, why), -EACCES);
	config.n_more_events = 0;
	config.n_plaintext = 1;
	ck_assert_int_eq(restrict_to("cpu-clock", 99, 0, why), -EACCES);
	config.n_plaintext = 0;
	config.n_probes = 1;
	ck_assert_int_eq(restrict_to("cpu-clock", 99, 0, why), -EACCES);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("session_own");
	TCase *tc = tcase_create("view");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_record_is_given_to_whose_it_is);
	tcase_add_test(tc, what_is_not_in_the_table_gives_nothing);
	tcase_add_test(tc, a_datagram_is_of_whose_process_has_sent_it);
	tcase_add_test(tc, processes_are_seen_while_they_are_the_users);
	tcase_add_test(tc, its_end_is_the_end_of_what_it_was);
	tcase_add_test(tc, who_becomes_the_users_without_an_exec_is_shown_from_then_on);
	tcase_add_test(tc, of_others_there_is_one_stretch);
	tcase_add_test(tc, who_had_the_cpu_gives_it_up_whoever_it_is_by_then);
	tcase_add_test(tc, a_switch_that_nobody_told_of_ends_the_stretch);
	tcase_add_test(tc, who_wakes_is_not_said);
	tcase_add_test(tc, of_a_wait_the_waker_is_left_out);
	tcase_add_test(tc, of_the_users_own_waker_the_kernel_is_left_out);
	tcase_add_test(tc, sources_of_the_machine_are_left_out_or_refused);
	tcase_add_test(tc, only_so_often_and_no_tracepoints);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
