/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_encode.c - process records to packets.
 *
 * A reader takes a task for known from its task_newtask, or its first entry in
 * a ProcessTree, to its sched_process_free; what is said of it outside of that
 * makes a second, nameless one. So entries carry a time just after the event
 * that they follow, a task that is in the tree already gets no task_newtask,
 * and a task that was replaced under its tid ends just before. A rename in
 * ftrace is ignored for what a ProcessTree has named, and replaces the name of
 * the process: each is followed by an entry that sets both right.
 */
#include "proc_encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "clock.h"
#include "cpus.h"
#include "hash.h"
#include "proc_events.h"
#include "proc_tell.h"
#include "proc_tree.h"
#include "process/process_table_update.h"
#include "trace_filter.h"
#include "trace_tap.h"

/* Then what is kept is written before the block is closed. */
#define MAX_KEPT 2048

/* A task_newtask may come this long after the start time that the task carries. */
#define YOUNG_NS NS_PER_SEC

/* Within which records that interrupted each other lie. */
#define MAX_DISORDER_NS NS_PER_MS

/* An entry of the ProcessTree to come; the last of its kind until it is written. */
struct entry {
	uint64_t time_ns;
	struct thread thread;
	struct process process; /* if `whole`; its cmdline is in `cmdlines` */
	size_t cmdline_at;
	bool whole;
	unsigned n_events;
};

struct proc_encoder {
	struct encoder_env env;
	struct proc_tree *tree;
	uint64_t found; /* process_table_found() as of what is written */

	struct proc_task_event events[MAX_KEPT];
	bool inferred[MAX_KEPT]; /* the kernel has not told, or tells later */
	unsigned n_events;
	struct entry entries[MAX_KEPT];
	unsigned n_entries;
	struct buf cmdlines;
	struct hash *entry_of; /* tid -> number in `entries` + 1 */

	/* Young tasks in the tree whose task_newtask may be on its way. tid -> tick of its start */
	struct hash *listed;
	bool lost[MAX_CPUS];
	struct proc_teller teller;
};

bool proc_event_valid(const struct event_hdr *ev, size_t len)
{
	static const size_t sizes[PROC_EVENT_TYPES] = {
		[PROC_NEWTASK] = sizeof(struct proc_task_event),
		[PROC_RENAME] = sizeof(struct proc_task_event),
		[PROC_EXIT] = sizeof(struct proc_task_event),
		[PROC_FREE] = sizeof(struct proc_task_event),
		[PROC_EXEC] = sizeof(struct proc_exec_event),
	};

	if (ev->type >= PROC_EVENT_TYPES || sizes[ev->type] == 0 || len < sizes[ev->type] ||
	    ev->size != sizes[ev->type] || ev->cpu >= MAX_CPUS)
		return false;
	/* Pids are positive numbers in the trace. */
	if (ev->tid == 0 || ev->tid > INT32_MAX || ev->tgid == 0 || ev->tgid > INT32_MAX)
		return false;
	return ev->type != PROC_EXEC ||
	       ((const struct proc_exec_event *)ev)->args_len <= PROC_ARGS_LEN;
}

/* ---- what is there at the beginning, or found later ---- */

/*
 * The time of an entry about a task that no event has told of: the start of the
 * session, if the task was there by then; otherwise just after its start, which
 * is not known to the last digit.
 */
static uint64_t found_time(const struct proc_encoder *e, const struct thread *t)
{
	uint64_t time_ns = t->start_ns + TICK_NS;

	if (time_ns <= e->env.start_ns)
		return e->env.start_ns;
	if (t->free_ns && t->free_ns <= time_ns)
		time_ns = t->free_ns - 1;
	return time_ns > e->env.start_ns ? time_ns : e->env.start_ns;
}

/* As much of a start time as /proc shows. */
static void *start_tick(uint64_t start_ns)
{
	return (void *)(uintptr_t)(start_ns / TICK_NS + 1);
}

static int remember_young(struct proc_encoder *e, const struct thread *t)
{
	if (t->start_ns + YOUNG_NS < e->env.start_ns)
		return 0;
	return hash_set_u64(e->listed, t->tid, start_tick(t->start_ns));
}

static int list_thread(void *ctx, const struct thread *t)
{
	struct proc_encoder *e = ctx;
	int r;

	if (t->free_ns)
		return 0;
	r = remember_young(e, t);
	return r < 0 ? r : proc_tree_add_thread(e->tree, e->env.start_ns, t);
}

/* A user who may see their own processes alone is told of no other. */
static bool is_shown(const struct proc_encoder *e, const struct process *p)
{
	const struct trace_owner *owner = e->env.config ? &e->env.config->owner : NULL;

	return !owner || !owner->only_own || process_is_users(p, owner->uid, owner->gid);
}

/*
 * A reader takes a parent that is freed already for a new process, without a
 * name. So who had lost the parent before the session is a child of init, who
 * takes such in.
 */
static bool is_orphan(const struct proc_encoder *e, const struct process *p)
{
	return p->parent_free_ns && p->parent_free_ns <= e->env.start_ns;
}

/*
 * Whoever loses the parent during the session keeps it: a reader does not like
 * it changed. What there is to say of such a process is said as of when the
 * parent was still there.
 */
static int put_process(struct proc_encoder *e, uint64_t *time_ns, const struct process *p,
		       unsigned n_events)
{
	struct process shown = *p;

	if (!is_shown(e, process_table_get(e->env.processes, p->ppid)))
		shown.ppid = 0;
	else if (is_orphan(e, p))
		shown.ppid = 1;
	else if (p->parent_free_ns && p->parent_free_ns <= *time_ns)
		*time_ns = p->parent_free_ns - 1;
	return proc_tree_add_process(e->tree, *time_ns, &shown, n_events);
}

static int list_process(void *ctx, const struct process *p)
{
	struct proc_encoder *e = ctx;
	uint64_t time_ns = e->env.start_ns;
	int r;

	if (p->free_ns || !is_shown(e, p))
		return 0;
	r = put_process(e, &time_ns, p, 0);
	return r < 0 ? r : process_table_each_thread(e->env.processes, p, list_thread, e);
}

static int list_found_thread(void *ctx, const struct thread *t)
{
	struct proc_encoder *e = ctx;
	const struct process *p = process_table_get(e->env.processes, t->tgid);
	uint64_t time_ns = found_time(e, t);
	int r = 0;

	if (t->found <= e->found || (t->free_ns && t->free_ns <= e->env.start_ns))
		return 0;
	if (t->tid == t->tgid)
		r = put_process(e, &time_ns, p, 0);
	if (r == 0)
		r = proc_tree_add_thread(e->tree, time_ns, t);
	return r < 0 ? r : remember_young(e, t);
}

static int list_found(void *ctx, const struct process *p)
{
	struct proc_encoder *e = ctx;

	if (!is_shown(e, p))
		return 0;
	return process_table_each_thread(e->env.processes, p, list_found_thread, e);
}

static int write_found(struct proc_encoder *e)
{
	uint64_t found = process_table_found(e->env.processes);
	int r;

	if (found == e->found)
		return 0;
	r = process_table_each(e->env.processes, list_found, e);
	e->found = found;
	return r < 0 ? r : proc_tree_put(e->tree);
}

int proc_encoder_new(const struct encoder_env *env, void **ret_encoder)
{
	struct proc_encoder *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->env = *env;
	r = proc_tree_new(env->writer, &e->tree);
	if (r == 0)
		r = hash_new(&e->entry_of);
	if (r == 0)
		r = hash_new(&e->listed);
	if (r == 0)
		r = process_table_each(env->processes, list_process, e);
	if (r == 0)
		r = proc_tree_put(e->tree);
	if (r < 0) {
		proc_encoder_free(e);
		return r;
	}
	e->found = process_table_found(env->processes);
	*ret_encoder = e;
	return 0;
}

void proc_encoder_free(void *encoder)
{
	struct proc_encoder *e = encoder;

	if (!e)
		return;
	proc_tree_free(e->tree);
	hash_free(e->entry_of);
	hash_free(e->listed);
	buf_done(&e->cmdlines);
	free(e);
}

/* ---- ftrace events ---- */

struct message {
	FtraceEvent event;
	union {
		TaskNewtaskFtraceEvent newtask;
		TaskRenameFtraceEvent rename;
		SchedProcessExitFtraceEvent exit;
		SchedProcessFreeFtraceEvent free;
	};
	char comm[CLEAN_COMM];
};

static void fill_message(struct message *m, const struct proc_task_event *ev)
{
	int32_t tid = (int32_t)ev->hdr.tid;

	ftrace_event__init(&m->event);
	m->event.has_timestamp = m->event.has_pid = 1;
	m->event.timestamp = ev->hdr.time_ns;
	m->event.pid = ev->hdr.peer_tid;
	proc_clean_comm(m->comm, ev->comm);

	switch (ev->hdr.type) {
	case PROC_NEWTASK:
		task_newtask_ftrace_event__init(&m->newtask);
		m->newtask.has_pid = m->newtask.has_clone_flags = 1;
		m->newtask.pid = tid;
		m->newtask.comm = m->comm;
		m->newtask.clone_flags = ev->clone_flags;
		m->event.task_newtask = &m->newtask;
		break;
	case PROC_RENAME:
		task_rename_ftrace_event__init(&m->rename);
		m->rename.has_pid = 1;
		m->rename.pid = tid;
		m->rename.newcomm = m->comm;
		m->event.task_rename = &m->rename;
		break;
	case PROC_EXIT:
		sched_process_exit_ftrace_event__init(&m->exit);
		m->exit.has_pid = m->exit.has_tgid = m->exit.has_prio = 1;
		m->exit.pid = tid;
		m->exit.tgid = (int32_t)ev->hdr.tgid;
		m->exit.prio = ev->prio;
		m->exit.comm = m->comm;
		m->event.sched_process_exit = &m->exit;
		break;
	default: /* PROC_FREE */
		sched_process_free_ftrace_event__init(&m->free);
		m->free.has_pid = m->free.has_prio = 1;
		m->free.pid = tid;
		m->free.prio = ev->prio;
		m->free.comm = m->comm;
		m->event.sched_process_free = &m->free;
	}
}

/* The kept events of one CPU. */
static int write_bundle(struct proc_encoder *e, unsigned cpu, struct message *messages,
			FtraceEvent **ptrs)
{
	FtraceEventBundle bundle = FTRACE_EVENT_BUNDLE__INIT;
	TracePacket pkt = TRACE_PACKET__INIT;
	unsigned n_told = 0;

	for (unsigned i = 0; i < e->n_events; i++) {
		if (e->events[i].hdr.cpu != cpu)
			continue;
		n_told += !e->inferred[i];
		fill_message(&messages[bundle.n_event], &e->events[i]);
		ptrs[bundle.n_event] = &messages[bundle.n_event].event;
		bundle.n_event++;
	}
	bundle.event = ptrs;
	bundle.has_cpu = 1;
	bundle.cpu = cpu;
	bundle.has_lost_events = bundle.lost_events = e->lost[cpu];
	e->lost[cpu] = false;
	pkt.ftrace_events = &bundle;
	return trace_writer_put(e->env.writer, SEQ_PROCESSES, &pkt, n_told);
}

static int write_events(struct proc_encoder *e)
{
	/* One thread writes one bundle at a time. */
	static struct message messages[MAX_KEPT];
	static FtraceEvent *ptrs[MAX_KEPT];
	bool wanted[MAX_CPUS];
	int r = 0;

	memcpy(wanted, e->lost, sizeof(wanted));
	for (unsigned i = 0; i < e->n_events; i++)
		wanted[e->events[i].hdr.cpu] = true;
	for (unsigned cpu = 0; cpu < MAX_CPUS && r == 0; cpu++)
		if (wanted[cpu])
			r = write_bundle(e, cpu, messages, ptrs);
	e->n_events = 0;
	return r;
}

/* ---- entries ---- */

static int write_entries(struct proc_encoder *e)
{
	int r = 0;

	for (unsigned i = 0; i < e->n_entries && r == 0; i++) {
		struct entry *entry = &e->entries[i];

		if (entry->whole) {
			entry->process.cmdline =
				entry->process.cmdline_len
					? (char *)e->cmdlines.data + entry->cmdline_at
					: NULL;
			r = put_process(e, &entry->time_ns, &entry->process, entry->n_events);
		}
		if (r == 0)
			r = proc_tree_add_thread(e->tree, entry->time_ns, &entry->thread);
	}
	e->n_entries = 0;
	e->cmdlines.len = 0;
	hash_clear(e->entry_of);
	return r < 0 ? r : proc_tree_put(e->tree);
}

static int write_kept(struct proc_encoder *e)
{
	int r = write_events(e);

	return r < 0 ? r : write_entries(e);
}

/* The entry of `t` that is not written yet; a new one if there is none. */
static struct entry *entry_of(struct proc_encoder *e, const struct thread *t)
{
	uintptr_t number = (uintptr_t)hash_get_u64(e->entry_of, t->tid);

	/* Of an earlier owner of the tid: that one keeps its own. */
	if (number && e->entries[number - 1].thread.start_ns == t->start_ns)
		return &e->entries[number - 1];
	if (hash_set_u64(e->entry_of, t->tid, (void *)(uintptr_t)(e->n_entries + 1)) < 0)
		return NULL;
	e->entries[e->n_entries] = (struct entry){ 0 };
	return &e->entries[e->n_entries++];
}

/* Says what the table says now of the task, from just after `time_ns` on. */
static int add_entry(struct proc_encoder *e, uint32_t tid, uint64_t time_ns, unsigned n_events)
{
	const struct thread *t = process_table_thread(e->env.processes, tid);
	const struct process *p = process_table_get(e->env.processes, t->tgid);
	struct entry *entry = entry_of(e, t);
	size_t at = e->cmdlines.len;
	int r = 0;

	if (!entry)
		return -ENOMEM;
	if (tid == t->tgid)
		r = buf_append(&e->cmdlines, p->cmdline, p->cmdline_len);
	if (r < 0)
		return r;
	entry->time_ns = time_ns + 1;
	entry->thread = *t;
	entry->process = *p;
	entry->cmdline_at = at;
	entry->whole = tid == t->tgid;
	entry->n_events += n_events;
	return 0;
}

/* ---- keeping ---- */

static void keep(struct proc_encoder *e, const struct proc_task_event *ev, bool inferred)
{
	e->inferred[e->n_events] = inferred;
	e->events[e->n_events++] = *ev;
}

/*
 * Records of one CPU stay in order, even where one interrupted another: so the
 * end of a task may come before the beginning of the next with its tid, and
 * carry a later time. In the order of time that would end the new one.
 */
static void end_before(struct proc_encoder *e, const struct proc_task_event *newtask)
{
	for (unsigned i = e->n_events; i-- > 0;) {
		struct proc_task_event *ev = &e->events[i];

		if (ev->hdr.time_ns + MAX_DISORDER_NS < newtask->hdr.time_ns)
			break;
		if (ev->hdr.type == PROC_FREE && ev->hdr.tid == newtask->hdr.tid &&
		    ev->hdr.time_ns >= newtask->hdr.time_ns)
			ev->hdr.time_ns = newtask->hdr.time_ns - 1;
	}
}

/*
 * A task is freed a while after its tid is: when that has been given away already,
 * the kernel's record of it comes too late to end the right one.
 */
static void infer_free(struct proc_encoder *e, const struct proc_task_event *newtask)
{
	struct proc_task_event ev = *newtask;

	ev.hdr.type = PROC_FREE;
	ev.hdr.time_ns--;
	keep(e, &ev, true);
}

static int encode_newtask(struct proc_encoder *e, const struct proc_task_event *ev)
{
	bool known = process_table_is(e->env.processes, ev->hdr.tid, ev->start_ns);

	if (hash_remove_u64(e->listed, ev->hdr.tid) == start_tick(ev->start_ns)) {
		trace_writer_skip(e->env.writer, 1);
		return 0;
	}
	end_before(e, ev);
	if (known && process_table_thread(e->env.processes, ev->hdr.tid)->took_over)
		infer_free(e, ev);
	keep(e, ev, false);
	/* Threads get their name and process from the event itself. */
	if (known && (ev->hdr.tid == ev->hdr.tgid || ev->nstid[0]))
		return add_entry(e, ev->hdr.tid, ev->hdr.time_ns, 0);
	return 0;
}

/* No event of the trace, where a new name and command line say it. */
static void tell_exec(struct proc_encoder *e, const struct proc_exec_event *ev)
{
	char cmdline[PROC_ARGS_LEN + 1], file[PROC_FILENAME_LEN + 1] = "";
	const struct trace_arg args[] = {
		{ .name = "file", .type = ARG_STRING, .s = file },
		{ .name = "cmdline", .type = ARG_STRING, .s = cmdline },
		{ .name = "cmdline_bytes", .type = ARG_UINT, .u = ev->args_size },
	};
	const struct trace_tap_event told = { .kind = TAP_INSTANT,
					      .time_ns = ev->hdr.time_ns,
					      .end_ns = ev->hdr.time_ns,
					      .name = "exec",
					      .category = "process",
					      .tgid = ev->hdr.tgid,
					      .tid = ev->hdr.tid,
					      .args = args,
					      .n_args = ev->args_len < ev->args_size ? 3 : 2 };
	size_t len = ev->args_len;

	while (len && ev->args[len - 1] == '\0')
		len--;
	for (size_t i = 0; i < len; i++)
		cmdline[i] = (char)(ev->args[i] ? ev->args[i] : ' ');
	cmdline[len] = '\0';
	memcpy(file, ev->filename, sizeof(ev->filename));
	trace_tap_tell(e->env.writer, &told);
}

/* Who listens for processes of their own is not told of others. */
static bool is_told(const struct proc_encoder *e, const struct event_hdr *hdr)
{
	return trace_is_tapped(e->env.writer) &&
	       trace_filter_match(e->env.config, e->env.processes, hdr);
}

static int encode_exec(struct proc_encoder *e, const struct proc_exec_event *ev)
{
	if (is_told(e, &ev->hdr))
		tell_exec(e, ev);
	if (process_table_is(e->env.processes, ev->hdr.tgid, ev->start_ns))
		return add_entry(e, ev->hdr.tgid, ev->hdr.time_ns, 1);
	trace_writer_skip(e->env.writer, 1);
	return 0;
}

/* See put_process(). */
static bool is_told_early(const struct proc_encoder *e, const struct event_hdr *hdr)
{
	const struct process *p = process_table_get(e->env.processes, hdr->tid);

	return p && p->parent_free_ns && p->parent_free_ns <= hdr->time_ns && !is_orphan(e, p);
}

int proc_encode(void *encoder, const struct event_hdr *hdr)
{
	const struct proc_task_event *ev = (const void *)hdr;
	struct proc_encoder *e = encoder;
	unsigned n = hdr->type == PROC_NEWTASK ? 2 : 1; /* with the end of another */
	int r;

	if (e->n_events + n > MAX_KEPT || e->n_entries == MAX_KEPT) {
		r = write_kept(e);
		if (r < 0)
			return r;
	}
	if (hdr->type == PROC_EXEC)
		return encode_exec(e, (const void *)hdr);
	if (hdr->type == PROC_NEWTASK)
		return encode_newtask(e, ev);
	if (hdr->type == PROC_EXIT && is_told(e, hdr))
		proc_tell_exit(&e->teller, e->env.writer, e->env.processes, ev);

	/* Not known: another one has its tid by now, or the scan has not come to it. */
	if (!process_table_is(e->env.processes, hdr->tid, ev->start_ns)) {
		trace_writer_skip(e->env.writer, 1);
		return 0;
	}
	/* The entry comes before such a rename, which would undo it. */
	if (hdr->type == PROC_RENAME && is_told_early(e, hdr))
		trace_writer_skip(e->env.writer, 1);
	else
		keep(e, ev, false);
	return hdr->type == PROC_RENAME ? add_entry(e, hdr->tid, hdr->time_ns, 0) : 0;
}

void proc_encoder_lost(void *encoder, int cpu)
{
	struct proc_encoder *e = encoder;
	unsigned first = cpu < 0 ? 0 : (unsigned)cpu;
	unsigned end = cpu < 0 ? cpus_possible() : (unsigned)cpu + 1;

	for (unsigned i = first; i < end && i < MAX_CPUS; i++)
		e->lost[i] = true;
}

int proc_encoder_flush(void *encoder, uint64_t now_ns, bool final)
{
	struct proc_encoder *e = encoder;
	int r;

	(void)now_ns;
	(void) final;
	r = write_kept(e);
	return r < 0 ? r : write_found(e);
}

/* Whose samples are in the trace already may be found only now. */
bool proc_encoder_pending(void *encoder)
{
	const struct proc_encoder *e = encoder;

	return process_table_is_scanning(e->env.processes);
}
