/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process records and what becomes of them in a trace. Each test tells what
 * happens, and compares the whole trace, as lines in the order of time, with
 * what a reader must find there.
 */
#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buf.h"
#include "clock.h"
#include "collect/proc_encode.h"
#include "proc_events.h"
#include "process/process_table_update.h"
#include "trace_file.h"
#include "trace_tap.h"
#include "trace_writer.h"

#define T0	     (1000 * NS_PER_SEC) /* the session's start */
#define OLD	     (500 * NS_PER_SEC)	 /* when those were born that are there then */
#define MAX_LINES    40000
#define CLONE_THREAD 0x10000

static struct trace_writer *writer;
static struct process_table *pt;
static struct trace_config config;
static struct buf file;
static void *encoder;
static uint64_t n_encoded;
static unsigned cpu;
static char empty[64]; /* in place of /proc */

static int keep(void *ctx, const void *data, size_t len, bool essential)
{
	(void)ctx;
	ck_assert(essential); /* what everything else leans on is never dropped */
	return buf_append(&file, data, len);
}

static void set_up(void)
{
	strcpy(empty, "/tmp/proc_encode.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(empty));
	ck_assert_int_eq(trace_writer_new(keep, NULL, &writer), 0);
	ck_assert_int_eq(process_table_new(NULL, &pt), 0);
	ck_assert_int_eq(process_table_set_proc(pt, empty), 0);
	encoder = NULL;
	config = (struct trace_config){ 0 };
	n_encoded = 0;
	cpu = 0;
}

static void tear_down(void)
{
	proc_encoder_free(encoder);
	process_table_free(pt);
	trace_writer_free(writer);
	buf_done(&file);
	rmdir(empty);
}

/* ---- what happens ---- */

static void begin_session(void)
{
	struct encoder_env env = {
		.writer = writer, .processes = pt, .config = &config, .start_ns = T0
	};

	trace_writer_source(writer, 0, T0);
	ck_assert_int_eq(proc_encoder_new(&env, &encoder), 0);
}

/* As the collector does it: first applied, then encoded. */
static void happens(const struct event_hdr *ev)
{
	ck_assert(proc_event_valid(ev, ev->size));
	proc_apply(pt, ev);
	if (!encoder)
		return;
	trace_writer_source(writer, 0, ev->time_ns);
	ck_assert_int_eq(proc_encode(encoder, ev), 0);
	n_encoded++;
}

static struct proc_task_event event(uint16_t type, uint64_t time_ns, uint32_t tgid, uint32_t tid,
				    uint64_t start_ns, const char *comm)
{
	struct proc_task_event ev = { .hdr = { .type = type,
					       .size = sizeof(ev),
					       .time_ns = time_ns,
					       .tgid = tgid,
					       .tid = tid,
					       .peer_tgid = tgid,
					       .peer_tid = tid,
					       .cpu = (uint16_t)cpu },
				      .start_ns = start_ns,
				      .process_start_ns = start_ns,
				      .ppid = 10,
				      .prio = 120 };

	snprintf(ev.comm, sizeof(ev.comm), "%s", comm);
	return ev;
}

static void forks(uint64_t time_ns, uint32_t parent, uint32_t tgid, const char *comm)
{
	struct proc_task_event ev = event(PROC_NEWTASK, time_ns, tgid, tgid, time_ns - 10, comm);

	ev.hdr.peer_tgid = ev.hdr.peer_tid = parent;
	happens(&ev.hdr);
}

static void forks_thread(uint64_t time_ns, uint32_t tgid, uint64_t process_start_ns, uint32_t tid)
{
	struct proc_task_event ev = event(PROC_NEWTASK, time_ns, tgid, tid, time_ns - 10, "thread");

	ev.hdr.peer_tid = tgid;
	ev.process_start_ns = process_start_ns;
	ev.clone_flags = CLONE_THREAD;
	happens(&ev.hdr);
}

static void renames(uint64_t time_ns, uint32_t tgid, uint32_t tid, uint64_t start_ns,
		    const char *comm)
{
	struct proc_task_event ev = event(PROC_RENAME, time_ns, tgid, tid, start_ns, comm);

	happens(&ev.hdr);
}

static void exits(uint64_t time_ns, uint32_t tgid, uint32_t tid, uint64_t start_ns)
{
	struct proc_task_event ev = event(PROC_EXIT, time_ns, tgid, tid, start_ns, "dying");

	happens(&ev.hdr);
}

/* RCU frees it: current is whoever happens to run. */
static void is_freed(uint64_t time_ns, uint32_t tgid, uint32_t tid, uint64_t start_ns)
{
	struct proc_task_event ev = event(PROC_FREE, time_ns, tgid, tid, start_ns, "dead");

	ev.hdr.peer_tgid = ev.hdr.peer_tid = 0;
	happens(&ev.hdr);
}

static void execs(uint64_t time_ns, uint32_t tgid, uint32_t old_tid, uint64_t start_ns,
		  const char *args, size_t args_len)
{
	struct proc_exec_event ev = { .hdr = { .type = PROC_EXEC,
					       .size = sizeof(ev),
					       .time_ns = time_ns,
					       .tgid = tgid,
					       .tid = tgid,
					       .peer_tgid = tgid,
					       .peer_tid = tgid,
					       .cpu = (uint16_t)cpu },
				      .start_ns = start_ns,
				      .old_tid = old_tid,
				      .uid = 1000,
				      .args_size = (uint32_t)args_len,
				      .args_len = (uint32_t)args_len,
				      .comm = "exec",
				      .filename = "/bin/exec" };

	memcpy(ev.args, args, args_len < sizeof(ev.args) ? args_len : sizeof(ev.args));
	if (ev.args_len > sizeof(ev.args))
		ev.args_len = sizeof(ev.args);
	happens(&ev.hdr);
}

static void is_found(uint32_t ppid, uint32_t tgid, uint64_t start_ns, const char *cmdline)
{
	struct process_seen seen = { .leader = { .tid = tgid,
						 .tgid = tgid,
						 .parent_tgid = ppid,
						 .start_ns = start_ns / TICK_NS * TICK_NS,
						 .comm = "found" },
				     .cmdline = cmdline,
				     .cmdline_len = cmdline ? strlen(cmdline) + 1 : 0 };

	seen.leader.is_kthread = !cmdline;
	process_table_saw_process(pt, &seen);
}

static void thread_is_found(uint32_t tgid, uint32_t tid, uint64_t start_ns)
{
	process_table_saw_thread(pt, &(struct task_info){ .tid = tid,
							  .tgid = tgid,
							  .start_ns = start_ns / TICK_NS * TICK_NS,
							  .comm = "found-thread" });
}

/* ---- what a reader finds ---- */

struct line {
	uint64_t time_ns;
	size_t order;
	char text[160];
};

static struct line lines[MAX_LINES];
static size_t n_lines;

static void add_line(uint64_t time_ns, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add_line(uint64_t time_ns, const char *fmt, ...)
{
	va_list args;

	ck_assert_uint_lt(n_lines, MAX_LINES);
	va_start(args, fmt);
	vsnprintf(lines[n_lines].text, sizeof(lines[0].text), fmt, args);
	va_end(args);
	lines[n_lines].time_ns = time_ns;
	lines[n_lines].order = n_lines;
	n_lines++;
}

static void read_tree(uint64_t time_ns, const ProcessTree *tree)
{
	ck_assert_uint_le(tree->n_processes + tree->n_threads, 500);
	for (size_t i = 0; i < tree->n_processes; i++) {
		const ProcessTree__Process *p = tree->processes[i];
		char args[160] = "";

		ck_assert_uint_gt(p->n_cmdline, 0);
		for (size_t j = 0; j < p->n_cmdline; j++) {
			ck_assert(j > 0 || p->cmdline[j][0]);
			snprintf(args + strlen(args), sizeof(args) - strlen(args), " %.100s",
				 p->cmdline[j]);
		}
		ck_assert_int_eq(p->has_is_kthread, p->is_kthread);
		ck_assert(!p->is_kthread || p->cmdline_is_comm);
		add_line(time_ns, "process %d parent %d uid %d%s%s:%s", p->pid,
			 p->has_ppid ? p->ppid : -1, p->uid, p->is_kthread ? " kthread" : "",
			 p->cmdline_is_comm ? " comm" : "", args);
	}
	for (size_t i = 0; i < tree->n_threads; i++) {
		const ProcessTree__Thread *t = tree->threads[i];

		add_line(time_ns, "thread %d of %d: %s", t->tid, t->tgid, t->name);
	}
}

static void read_bundle(const FtraceEventBundle *bundle)
{
	ck_assert(bundle->has_cpu);
	if (bundle->lost_events)
		add_line(0, "lost on cpu %u", bundle->cpu);
	for (size_t i = 0; i < bundle->n_event; i++) {
		const FtraceEvent *ev = bundle->event[i];

		ck_assert(ev->has_pid && ev->has_timestamp);
		if (ev->task_newtask)
			add_line(ev->timestamp, "newtask %d %s by %u flags %" PRIx64 " cpu %u",
				 ev->task_newtask->pid, ev->task_newtask->comm, ev->pid,
				 ev->task_newtask->clone_flags, bundle->cpu);
		else if (ev->task_rename)
			add_line(ev->timestamp, "rename %d %s", ev->task_rename->pid,
				 ev->task_rename->newcomm);
		else if (ev->sched_process_exit)
			add_line(ev->timestamp, "exit %d of %d", ev->sched_process_exit->pid,
				 ev->sched_process_exit->tgid);
		else if (ev->sched_process_free)
			add_line(ev->timestamp, "free %d", ev->sched_process_free->pid);
		else
			ck_abort_msg("an event of another kind");
	}
}

static int by_time(const void *a, const void *b)
{
	const struct line *la = a, *lb = b;

	if (la->time_ns != lb->time_ns)
		return la->time_ns < lb->time_ns ? -1 : 1;
	if (la->time_ns == T0) /* listed in no particular order */
		return strcmp(la->text, lb->text);
	return la->order < lb->order ? -1 : 1;
}

/* Everything written becomes `lines`; each event is accounted for. */
static void finish(void)
{
	struct trace_writer_stats stats;
	struct trace_packet_bytes bytes;
	struct trace_file *f = NULL;

	ck_assert_int_eq(proc_encoder_flush(encoder, T0 + 100 * NS_PER_SEC, true), 0);
	ck_assert_int_eq(trace_writer_flush(writer), 0);
	trace_writer_stats(writer, 0, &stats);
	ck_assert_uint_eq(stats.n_written + stats.n_skipped, n_encoded);
	ck_assert_uint_eq(stats.n_dropped, 0);
	n_lines = 0;
	ck_assert_int_eq(trace_file_open_memory(file.data, file.len, &f), 0);
	while (trace_file_next(f, &bytes) == 1) {
		TracePacket *pkt = trace_packet__unpack(NULL, bytes.len, bytes.data);

		ck_assert_ptr_nonnull(pkt);
		ck_assert_uint_eq(pkt->trusted_packet_sequence_id, SEQ_PROCESSES);
		if (pkt->process_tree) {
			ck_assert(pkt->has_timestamp);
			read_tree(pkt->timestamp, pkt->process_tree);
		}
		if (pkt->ftrace_events)
			read_bundle(pkt->ftrace_events);
		trace_packet__free_unpacked(pkt, NULL);
	}
	trace_file_free(f);
	qsort(lines, n_lines, sizeof(lines[0]), by_time);
}

/* `want` has one line per line; times in ns after the start, those at the start without. */
static void expect(const char *want)
{
	char got[8192] = "";

	finish();
	for (size_t i = 0; i < n_lines; i++) {
		size_t len = strlen(got);

		if (lines[i].time_ns > T0)
			snprintf(got + len, sizeof(got) - len, "%llu %s\n",
				 (unsigned long long)(lines[i].time_ns - T0), lines[i].text);
		else
			snprintf(got + len, sizeof(got) - len, "%s\n", lines[i].text);
	}
	ck_assert_str_eq(got, want);
}

/* ---- the beginning ---- */

START_TEST(all_that_live_are_listed_at_the_start)
{
	is_found(0, 2, 1, NULL);
	is_found(2, 3, 1, NULL);
	is_found(1, 10, OLD, "prog");
	thread_is_found(10, 11, OLD);
	is_found(1, 20, OLD, "dead");
	is_freed(T0 - 1, 20, 20, OLD);
	begin_session();
	finish();
	ck_assert_uint_eq(n_lines, 7);
	for (size_t i = 0; i < n_lines; i++)
		ck_assert_uint_eq(lines[i].time_ns, T0);
}
END_TEST

START_TEST(kernel_threads_are_named_by_their_comm)
{
	is_found(0, 2, 1, NULL);
	is_found(2, 3, 1, NULL);
	begin_session();
	expect("process 2 parent 0 uid 0 kthread comm: found\n"
	       "process 3 parent 2 uid 0 kthread comm: found\n"
	       "thread 2 of 2: found\n"
	       "thread 3 of 3: found\n");
}
END_TEST

/* A reader would make a process without a name of the parent. */
START_TEST(who_lost_the_parent_before_the_session_is_a_child_of_init)
{
	is_found(1, 10, OLD, "parent");
	is_found(10, 11, OLD, "child");
	is_freed(T0 - 1, 10, 10, OLD);
	begin_session();
	execs(T0 + 1000, 11, 11, OLD, "new", 4);
	expect("process 11 parent 1 uid 0: child\n"
	       "thread 11 of 11: found\n"
	       "1001 process 11 parent 1 uid 1000: new\n"
	       "1001 thread 11 of 11: exec\n");
}
END_TEST

START_TEST(ten_thousand_processes_are_listed_in_packets_of_500)
{
	for (unsigned i = 1; i <= 10000; i++)
		is_found(1, i, OLD, "prog");
	begin_session();
	finish(); /* which looks at the sizes */
	ck_assert_uint_eq(n_lines, 20000);
}
END_TEST

/* ---- events ---- */

START_TEST(a_process_from_fork_to_free)
{
	is_found(1, 10, OLD, "shell");
	begin_session();
	cpu = 3;
	forks(T0 + 1000, 10, 11, "shell");
	renames(T0 + 2000, 11, 11, T0 + 990, "exec");
	execs(T0 + 3000, 11, 11, T0 + 990, "ls\0-l", 6);
	exits(T0 + 4000, 11, 11, T0 + 990);
	is_freed(T0 + 5000, 11, 11, T0 + 990);
	expect("process 10 parent 1 uid 0: shell\n"
	       "thread 10 of 10: found\n"
	       "1000 newtask 11 shell by 10 flags 0 cpu 3\n"
	       "2000 rename 11 exec\n"
	       "3001 process 11 parent 10 uid 1000: ls -l\n"
	       "3001 thread 11 of 11: exec\n"
	       "4000 exit 11 of 11\n"
	       "5000 free 11\n");
}
END_TEST

START_TEST(a_child_without_exec_has_its_parents_name)
{
	is_found(1, 10, OLD, "server");
	begin_session();
	forks(T0 + 1000, 10, 11, "server");
	expect("process 10 parent 1 uid 0: server\n"
	       "thread 10 of 10: found\n"
	       "1000 newtask 11 server by 10 flags 0 cpu 0\n"
	       "1001 process 11 parent 10 uid 0: server\n"
	       "1001 thread 11 of 11: server\n");
}
END_TEST

START_TEST(entries_of_two_blocks_are_two)
{
	begin_session();
	forks(T0 + 1000, 10, 11, "shell");
	ck_assert_int_eq(proc_encoder_flush(encoder, T0 + 1500, false), 0);
	execs(T0 + 3000, 11, 11, T0 + 990, "ls", 3);
	expect("1000 newtask 11 shell by 10 flags 0 cpu 0\n"
	       "1001 process 11 parent 10 uid 0 comm: shell\n"
	       "1001 thread 11 of 11: shell\n"
	       "3001 process 11 parent 10 uid 1000: ls\n"
	       "3001 thread 11 of 11: exec\n");
}
END_TEST

START_TEST(a_thread_is_named_by_its_newtask_until_it_is_renamed)
{
	is_found(1, 10, OLD, "prog");
	begin_session();
	forks_thread(T0 + 1000, 10, OLD, 11);
	forks_thread(T0 + 1100, 10, OLD, 12);
	renames(T0 + 2000, 10, 12, T0 + 1090, "worker");
	expect("process 10 parent 1 uid 0: prog\n"
	       "thread 10 of 10: found\n"
	       "1000 newtask 11 thread by 10 flags 10000 cpu 0\n"
	       "1100 newtask 12 thread by 10 flags 10000 cpu 0\n"
	       "2000 rename 12 worker\n"
	       "2001 thread 12 of 10: worker\n");
}
END_TEST

/* In ftrace the rename replaces the name of the process by the comm. */
START_TEST(a_renamed_main_thread_keeps_its_process_name)
{
	is_found(1, 10, OLD, "prog");
	begin_session();
	renames(T0 + 2000, 10, 10, OLD, "other");
	expect("process 10 parent 1 uid 0: prog\n"
	       "thread 10 of 10: found\n"
	       "2000 rename 10 other\n"
	       "2001 process 10 parent 1 uid 0: prog\n"
	       "2001 thread 10 of 10: other\n");
}
END_TEST

START_TEST(an_exec_from_a_thread_ends_the_thread)
{
	is_found(1, 10, OLD, "prog");
	begin_session();
	forks_thread(T0 + 1000, 10, OLD, 11);
	exits(T0 + 1500, 10, 10, OLD); /* the old leader */
	execs(T0 + 3000, 10, 11, OLD, "new", 4);
	is_freed(T0 + 4000, 10, 11, OLD); /* it had taken the thread's tid */
	expect("process 10 parent 1 uid 0: prog\n"
	       "thread 10 of 10: found\n"
	       "1000 newtask 11 thread by 10 flags 10000 cpu 0\n"
	       "1500 exit 10 of 10\n"
	       "3001 process 10 parent 1 uid 1000: new\n"
	       "3001 thread 10 of 10: exec\n"
	       "4000 free 11\n");
}
END_TEST

/* The parent may not change, and may not be named after its end. */
START_TEST(who_loses_the_parent_is_named_as_of_before)
{
	is_found(1, 10, OLD, "shell");
	begin_session();
	forks(T0 + 1000, 10, 11, "shell");
	ck_assert_int_eq(proc_encoder_flush(encoder, T0 + 1500, false), 0);
	is_freed(T0 + 2000, 10, 10, OLD);
	renames(T0 + 3000, 11, 11, T0 + 990, "exec");
	execs(T0 + 4000, 11, 11, T0 + 990, "daemon", 7);
	forks(T0 + 5000, 11, 12, "exec");
	is_freed(T0 + 6000, 12, 12, T0 + 4990);
	expect("process 10 parent 1 uid 0: shell\n"
	       "thread 10 of 10: found\n"
	       "1000 newtask 11 shell by 10 flags 0 cpu 0\n"
	       "1001 process 11 parent 10 uid 0: shell\n"
	       "1001 thread 11 of 11: shell\n"
	       "1999 process 11 parent 10 uid 1000: daemon\n"
	       "1999 thread 11 of 11: exec\n"
	       "2000 free 10\n"
	       "5000 newtask 12 exec by 11 flags 0 cpu 0\n"
	       "5001 process 12 parent 11 uid 0: daemon\n"
	       "5001 thread 12 of 12: exec\n"
	       "6000 free 12\n");
}
END_TEST

START_TEST(a_reused_pid_gets_entries_of_both_owners)
{
	begin_session();
	forks(T0 + 1000, 10, 11, "first");
	is_freed(T0 + 2000, 11, 11, T0 + 990);
	forks(T0 + 3000, 10, 11, "second");
	expect("1000 newtask 11 first by 10 flags 0 cpu 0\n"
	       "1001 process 11 parent 10 uid 0 comm: first\n"
	       "1001 thread 11 of 11: first\n"
	       "2000 free 11\n"
	       "3000 newtask 11 second by 10 flags 0 cpu 0\n"
	       "3001 process 11 parent 10 uid 0 comm: second\n"
	       "3001 thread 11 of 11: second\n");
}
END_TEST

/* The number is free before the task is: a reader would take the new one for ended. */
START_TEST(a_task_whose_pid_is_reused_before_it_is_freed_ends_at_the_reuse)
{
	begin_session();
	forks(T0 + 1000, 10, 11, "first");
	forks(T0 + 3000, 10, 11, "second");
	is_freed(T0 + 3500, 11, 11, T0 + 990);
	exits(T0 + 4000, 11, 11, T0 + 2990);
	expect("1000 newtask 11 first by 10 flags 0 cpu 0\n"
	       "1001 process 11 parent 10 uid 0 comm: first\n"
	       "1001 thread 11 of 11: first\n"
	       "2999 free 11\n"
	       "3000 newtask 11 second by 10 flags 0 cpu 0\n"
	       "3001 process 11 parent 10 uid 0 comm: second\n"
	       "3001 thread 11 of 11: second\n"
	       "4000 exit 11 of 11\n");
}
END_TEST

/* Listed at the start, it has no other beginning: it must have an end. */
START_TEST(a_task_of_the_start_whose_pid_is_reused_before_it_is_freed_ends)
{
	is_found(1, 10, OLD, "shell");
	is_found(10, 11, OLD, "old");
	begin_session();
	forks(T0 + 3000, 10, 11, "second");
	is_freed(T0 + 3500, 11, 11, OLD);
	expect("process 10 parent 1 uid 0: shell\n"
	       "process 11 parent 10 uid 0: old\n"
	       "thread 10 of 10: found\n"
	       "thread 11 of 11: found\n"
	       "2999 free 11\n"
	       "3000 newtask 11 second by 10 flags 0 cpu 0\n"
	       "3001 process 11 parent 10 uid 0: shell\n"
	       "3001 thread 11 of 11: second\n");
}
END_TEST

/* It came first, but its time was taken later: in the middle of it the other CPU was faster. */
START_TEST(a_free_with_a_later_time_than_the_reuse_comes_before_it)
{
	begin_session();
	forks(T0 + 1000, 10, 11, "first");
	forks(T0 + 1100, 10, 12, "other");
	is_freed(T0 + 3005, 11, 11, T0 + 990);
	is_freed(T0 + 3006, 12, 12, T0 + 1090);
	forks(T0 + 3000, 10, 11, "second");
	expect("1000 newtask 11 first by 10 flags 0 cpu 0\n"
	       "1001 process 11 parent 10 uid 0 comm: first\n"
	       "1001 thread 11 of 11: first\n"
	       "1100 newtask 12 other by 10 flags 0 cpu 0\n"
	       "1101 process 12 parent 10 uid 0 comm: other\n"
	       "1101 thread 12 of 12: other\n"
	       "2999 free 11\n"
	       "3000 newtask 11 second by 10 flags 0 cpu 0\n"
	       "3001 process 11 parent 10 uid 0 comm: second\n"
	       "3001 thread 11 of 11: second\n"
	       "3006 free 12\n");
}
END_TEST

/* Listed at the start: a newtask later in time would make it another process. */
START_TEST(a_task_that_the_scan_has_listed_gets_no_newtask)
{
	is_found(1, 10, OLD, "shell");
	is_found(10, 11, T0 + 5 * TICK_NS, "young");
	begin_session();
	forks(T0 + 5 * TICK_NS + 1000, 10, 11, "shell");
	renames(T0 + 6 * TICK_NS, 11, 11, T0 + 5 * TICK_NS + 990, "name");
	expect("process 10 parent 1 uid 0: shell\n"
	       "process 11 parent 10 uid 0: young\n"
	       "thread 10 of 10: found\n"
	       "thread 11 of 11: found\n"
	       "60000000 rename 11 name\n"
	       "60000001 process 11 parent 10 uid 0: young\n"
	       "60000001 thread 11 of 11: name\n");
}
END_TEST

START_TEST(who_is_found_later_was_there_from_the_start)
{
	begin_session();
	is_found(1, 10, OLD, "old");
	thread_is_found(10, 11, OLD);
	is_found(1, 20, T0 + NS_PER_SEC, "its-fork-was-lost");
	finish();
	ck_assert_uint_eq(n_lines, 5);
	for (size_t i = 0; i < n_lines; i++)
		ck_assert_uint_eq(lines[i].time_ns, i < 3 ? T0 : T0 + NS_PER_SEC + TICK_NS);
	ck_assert_str_eq(lines[3].text, "process 20 parent 1 uid 0: its-fork-was-lost");
}
END_TEST

/* It ends before the scan comes to it. */
START_TEST(who_is_only_known_by_its_end_was_there_from_the_start)
{
	is_found(1, 10, OLD, "shell");
	begin_session();
	exits(T0 + 2000, 20, 20, OLD);
	is_freed(T0 + 3000, 20, 20, OLD);
	exits(T0 + 2100, 30, 31, OLD);
	is_freed(T0 + 3100, 30, 31, OLD);
	expect("process 10 parent 1 uid 0: shell\n"
	       "process 20 parent 10 uid 0 comm: dying\n"
	       "process 30 parent -1 uid 0 comm: dying\n"
	       "thread 10 of 10: found\n"
	       "thread 20 of 20: dying\n"
	       "thread 30 of 30: dying\n"
	       "thread 31 of 30: dying\n"
	       "2000 exit 20 of 20\n"
	       "2100 exit 31 of 30\n"
	       "3000 free 20\n"
	       "3100 free 31\n");
}
END_TEST

START_TEST(who_is_freed_without_being_known_is_left_out)
{
	begin_session();
	is_freed(T0 + 3000, 10, 10, OLD);
	expect("");
}
END_TEST

START_TEST(a_new_thread_of_a_process_not_found_yet_brings_it_along)
{
	begin_session();
	forks_thread(T0 + 1000, 10, OLD, 11);
	is_freed(T0 + 2000, 10, 11, T0 + 990);
	expect("process 10 parent -1 uid 0 comm: thread\n"
	       "thread 10 of 10: thread\n"
	       "1000 newtask 11 thread by 10 flags 10000 cpu 0\n"
	       "2000 free 11\n");
}
END_TEST

/* ---- names ---- */

START_TEST(names_that_are_no_text_are_made_text)
{
	begin_session();
	forks(T0 + 1000, 10, 11, "\xff\x1b");
	execs(T0 + 2000, 11, 11, T0 + 990, "a\xc3\0\0b", 6);
	expect("1000 newtask 11 \xef\xbf\xbd\x1b by 10 flags 0 cpu 0\n"
	       "2001 process 11 parent 10 uid 1000: a\xef\xbf\xbd  b\n"
	       "2001 thread 11 of 11: exec\n");
}
END_TEST

START_TEST(nobody_is_without_a_name)
{
	begin_session();
	forks(T0 + 1000, 10, 11, "");
	forks(T0 + 1100, 10, 12, "x");
	execs(T0 + 2000, 12, 12, T0 + 1090, "\0arg", 5); /* argv[0] is empty */
	expect("1000 newtask 11 [no name] by 10 flags 0 cpu 0\n"
	       "1001 process 11 parent 10 uid 0 comm: [no name]\n"
	       "1001 thread 11 of 11: [no name]\n"
	       "1100 newtask 12 x by 10 flags 0 cpu 0\n"
	       "2001 process 12 parent 10 uid 1000 comm: exec\n"
	       "2001 thread 12 of 12: exec\n");
}
END_TEST

START_TEST(a_long_command_line_is_cut_and_shows_it)
{
	char args[300];

	memset(args, 'x', sizeof(args));
	args[90] = '\0';
	begin_session();
	forks(T0 + 1000, 10, 11, "x");
	execs(T0 + 2000, 11, 11, T0 + 990, args, sizeof(args));
	finish();
	ck_assert_uint_eq(n_lines, 3);
	ck_assert_ptr_nonnull(strstr(lines[1].text, "xx x"));
}
END_TEST

/* ---- much, and loss ---- */

START_TEST(a_storm_is_written_whole_and_each_event_once)
{
	begin_session();
	for (unsigned i = 0; i < 5000; i++) {
		uint64_t t = T0 + 1000 * (i + 1);

		cpu = i % 7;
		forks(t, 10, 100 + i, "storm");
		execs(t + 100, 100 + i, 100 + i, t - 10, "storm\0child", 12);
		is_freed(t + 200, 100 + i, 100 + i, t - 10);
	}
	finish();
	ck_assert_uint_eq(n_lines, 20000); /* newtask, process, thread, free */
	for (unsigned i = 0; i < 5000; i++) {
		ck_assert_int_eq(strncmp(lines[4 * i].text, "newtask", 7), 0);
		ck_assert_int_eq(strncmp(lines[4 * i + 1].text, "process", 7), 0);
		ck_assert_int_eq(strncmp(lines[4 * i + 2].text, "thread", 6), 0);
		ck_assert_int_eq(strncmp(lines[4 * i + 3].text, "free", 4), 0);
	}
}
END_TEST

START_TEST(a_loss_shows_in_the_next_bundle_of_its_cpu)
{
	begin_session();
	proc_encoder_lost(encoder, 2);
	forks(T0 + 1000, 10, 11, "x");
	is_freed(T0 + 1500, 11, 11, T0 + 990);
	expect("lost on cpu 2\n"
	       "1000 newtask 11 x by 10 flags 0 cpu 0\n"
	       "1001 process 11 parent 10 uid 0 comm: x\n"
	       "1001 thread 11 of 11: x\n"
	       "1500 free 11\n");
}
END_TEST

/* ---- records ---- */

START_TEST(records_that_cannot_be_are_invalid)
{
	struct proc_task_event ev = event(PROC_NEWTASK, T0, 10, 10, OLD, "x"), bad = ev;

	ck_assert(proc_event_valid(&ev.hdr, sizeof(ev)));
	ck_assert(!proc_event_valid(&ev.hdr, sizeof(ev) - 1));
	bad.hdr.type = 0;
	ck_assert(!proc_event_valid(&bad.hdr, sizeof(bad)));
	bad.hdr.type = PROC_EVENT_TYPES;
	ck_assert(!proc_event_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.hdr.type = PROC_EXEC; /* of the other size */
	ck_assert(!proc_event_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.hdr.tid = 0;
	ck_assert(!proc_event_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.hdr.tgid = UINT32_MAX;
	ck_assert(!proc_event_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.hdr.cpu = 1024; /* a reader refuses the whole trace */
	ck_assert(!proc_event_valid(&bad.hdr, sizeof(bad)));
}
END_TEST

START_TEST(an_exec_with_more_arguments_than_fit_is_invalid)
{
	struct proc_exec_event ev = {
		.hdr = { .type = PROC_EXEC, .size = sizeof(ev), .tgid = 1, .tid = 1 },
		.args_len = PROC_ARGS_LEN
	};

	ck_assert(proc_event_valid(&ev.hdr, sizeof(ev)));
	ev.args_len++;
	ck_assert(!proc_event_valid(&ev.hdr, sizeof(ev)));
}
END_TEST

/* ---- who listens ---- */

static char told[512];

static void listen(void *ctx, const struct trace_tap_event *ev)
{
	size_t len = strlen(told);

	(void)ctx;
	ck_assert_int_eq(ev->kind, TAP_INSTANT);
	ck_assert_str_eq(ev->category, "process");
	len += (size_t)snprintf(told + len, sizeof(told) - len, "%s of %u at %lu", ev->name,
				ev->tgid, (unsigned long)(ev->time_ns - T0));
	for (size_t i = 0; i < ev->n_args; i++)
		len += ev->args[i].type == ARG_STRING
			       ? (size_t)snprintf(told + len, sizeof(told) - len, " %s=%s",
						  ev->args[i].name, ev->args[i].s)
			       : (size_t)snprintf(told + len, sizeof(told) - len, " %s=%lu",
						  ev->args[i].name, ev->args[i].u);
	snprintf(told + len, sizeof(told) - len, "\n");
}

static void ends(uint64_t time_ns, uint32_t tgid, uint32_t tid, uint64_t start_ns, uint32_t flags,
		 unsigned status)
{
	struct proc_task_event ev =
		event(PROC_EXIT, time_ns, tgid, tid, start_ns, tid == 10 ? "first" : "worker");

	ev.process_start_ns = OLD;
	ev.flags = flags;
	ev.exit_code = status;
	happens(&ev.hdr);
}

START_TEST(a_listener_hears_how_processes_end)
{
	struct proc_task_event one = event(PROC_NEWTASK, OLD + 10, 10, 10, OLD, "first");

	happens(&one.hdr);
	begin_session();
	ends(T0 + 1, 10, 10, OLD, PROC_IS_LAST, 1 << 8); /* nobody listens */
	ck_assert_int_eq(trace_writer_tap(writer, listen, NULL), 0);
	told[0] = '\0';
	ends(T0 + 2, 10, 11, OLD + 5, 0, 0); /* a thread that leaves others */
	ends(T0 + 3, 10, 12, OLD + 5, PROC_IS_LAST, 3 << 8);
	ends(T0 + 4, 10, 10, OLD, PROC_IS_LAST, 3 << 8); /* both thought that they are the last */
	ends(T0 + 5, 20, 20, OLD, PROC_IS_LAST, 6 | 0x80);
	ends(T0 + 6, 21, 21, OLD, PROC_IS_LAST, 9);
	ck_assert_str_eq(told, "exit of 10 at 3 comm=first code=3\n"
			       "exit of 20 at 5 comm=worker signal=6 core_dumped=1\n"
			       "exit of 21 at 6 comm=worker signal=9\n");
}
END_TEST

START_TEST(a_listener_with_filters_hears_of_its_own)
{
	struct proc_task_event one = event(PROC_NEWTASK, OLD + 10, 10, 10, OLD, "first");

	happens(&one.hdr);
	config.n_pids = 1;
	config.pids[0] = 20;
	begin_session();
	ck_assert_int_eq(trace_writer_tap(writer, listen, NULL), 0);
	told[0] = '\0';
	ends(T0 + 1, 20, 20, OLD, PROC_IS_LAST, 0);
	ends(T0 + 2, 10, 10, OLD, PROC_IS_LAST, 0);
	ck_assert_str_eq(told, "exit of 20 at 1 comm=worker code=0\n");
}
END_TEST

static TCase *new_case(Suite *s, const char *name)
{
	TCase *t = tcase_create(name);

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	return t;
}

int main(void)
{
	Suite *s = suite_create("proc_encode");
	SRunner *sr = srunner_create(s);
	TCase *t = new_case(s, "start");
	int failed;

	tcase_add_test(t, all_that_live_are_listed_at_the_start);
	tcase_add_test(t, kernel_threads_are_named_by_their_comm);
	tcase_add_test(t, who_lost_the_parent_before_the_session_is_a_child_of_init);
	tcase_add_test(t, ten_thousand_processes_are_listed_in_packets_of_500);
	t = new_case(s, "events");
	tcase_add_test(t, a_process_from_fork_to_free);
	tcase_add_test(t, a_child_without_exec_has_its_parents_name);
	tcase_add_test(t, entries_of_two_blocks_are_two);
	tcase_add_test(t, a_thread_is_named_by_its_newtask_until_it_is_renamed);
	tcase_add_test(t, a_renamed_main_thread_keeps_its_process_name);
	tcase_add_test(t, an_exec_from_a_thread_ends_the_thread);
	tcase_add_test(t, who_loses_the_parent_is_named_as_of_before);
	tcase_add_test(t, a_reused_pid_gets_entries_of_both_owners);
	tcase_add_test(t, a_task_whose_pid_is_reused_before_it_is_freed_ends_at_the_reuse);
	tcase_add_test(t, a_task_of_the_start_whose_pid_is_reused_before_it_is_freed_ends);
	tcase_add_test(t, a_free_with_a_later_time_than_the_reuse_comes_before_it);
	tcase_add_test(t, a_task_that_the_scan_has_listed_gets_no_newtask);
	tcase_add_test(t, who_is_found_later_was_there_from_the_start);
	tcase_add_test(t, who_is_only_known_by_its_end_was_there_from_the_start);
	tcase_add_test(t, who_is_freed_without_being_known_is_left_out);
	tcase_add_test(t, a_new_thread_of_a_process_not_found_yet_brings_it_along);
	t = new_case(s, "names");
	tcase_add_test(t, names_that_are_no_text_are_made_text);
	tcase_add_test(t, nobody_is_without_a_name);
	tcase_add_test(t, a_long_command_line_is_cut_and_shows_it);
	t = new_case(s, "much");
	tcase_add_test(t, a_storm_is_written_whole_and_each_event_once);
	tcase_add_test(t, a_loss_shows_in_the_next_bundle_of_its_cpu);
	t = new_case(s, "listener");
	tcase_add_test(t, a_listener_hears_how_processes_end);
	tcase_add_test(t, a_listener_with_filters_hears_of_its_own);
	t = new_case(s, "records");
	tcase_add_test(t, records_that_cannot_be_are_invalid);
	tcase_add_test(t, an_exec_with_more_arguments_than_fit_is_invalid);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
