/* SPDX-License-Identifier: Apache-2.0 */
/* session_own.c - what a user who may see their own processes alone gets to see. */
#include "session_own.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/cpu_encode.h"
#include "collector.h"
#include "cpus.h"
#include "io.h"
#include "markers_events.h"
#include "offcpu_events.h"
#include "proc_events.h"
#include "process/process_table_update.h"
#include "sched_events.h"
#include "text.h"

/* Each sample stops all CPUs for a microsecond, whoever has them. */
#define MAX_HZ 1000

/* As sysctl has them when users may sample the kernel, and see its addresses. */
#define PARANOID_KERNEL 1
#define KPTR_OPEN	0

struct own_view {
	const struct trace_owner *owner;
	struct process_table *processes;
	uint32_t running[MAX_CPUS]; /* the user's thread that has the CPU; 0: others */
	union {
		struct proc_task_event task;
		struct sched_switch_event sched;
		struct sched_waking_event waking;
		struct offcpu_copied wait;
	} room;
};

typedef const struct event_hdr *view_fn(struct own_view *v, const struct event_hdr *ev);

static bool is_own_thread(const struct own_view *v, const struct event_hdr *ev)
{
	return ev->user == v->owner->number;
}

static bool is_own_peer(const struct own_view *v, const struct event_hdr *ev)
{
	return ev->peer_user == v->owner->number;
}

static bool is_own_process(const struct own_view *v, uint32_t tgid)
{
	return process_is_users(process_table_get(v->processes, tgid), v->owner->uid,
				v->owner->gid);
}

/* Nothing in it is about others. */
static const struct event_hdr *view_whole(struct own_view *v, const struct event_hdr *ev)
{
	if (!is_own_thread(v, ev))
		return NULL;
	/* It may have become the user's without an exec, which would have told. */
	process_table_show(v->processes, ev->tgid, v->owner->uid, v->owner->gid, ev->time_ns);
	return ev;
}

/*
 * The table has been told of it already, and what is written is what the table has. The
 * end of a process it knows better than the record, which comes when all else is gone.
 */
static const struct event_hdr *view_task(struct own_view *v, const struct event_hdr *ev)
{
	const struct proc_task_event *task = (const void *)ev;
	uint64_t start_ns = ev->type == PROC_EXEC ? ((const struct proc_exec_event *)ev)->start_ns
						  : task->start_ns;

	if (!is_own_process(v, ev->tgid) || !process_table_is(v->processes, ev->tid, start_ns))
		return NULL;
	if (ev->type == PROC_EXEC || is_own_process(v, ev->peer_tgid))
		return ev;
	v->room.task = *task;
	v->room.task.hdr.peer_tgid = ev->tgid;
	v->room.task.hdr.peer_tid = ev->tid;
	return &v->room.task.hdr;
}

static void hide(uint32_t *tgid, uint32_t *tid, int16_t *prio, char comm[EVENT_COMM_LEN])
{
	*tgid = 0;
	*tid = OWN_OTHERS;
	*prio = 0;
	strncpy(comm, OWN_OTHERS_NAME, EVENT_COMM_LEN);
}

/* One that ends has given up its memory, which would say whose it is; the table knows. */
static bool is_own_to_the_end(const struct own_view *v, const struct event_hdr *hdr)
{
	const struct process *p = process_table_get(v->processes, hdr->peer_tgid);

	return process_is_users(p, v->owner->uid, v->owner->gid) && p->told_ns <= hdr->time_ns;
}

/*
 * A CPU is the user's or not: what others do with it meanwhile is one stretch. A thread
 * that is told to have it is told to give it up, whoever it has become.
 */
static const struct event_hdr *view_switch(struct own_view *v, const struct event_hdr *hdr)
{
	struct sched_switch_event *ev = &v->room.sched;
	uint32_t *running = &v->running[hdr->cpu < MAX_CPUS ? hdr->cpu : 0];
	bool comes = is_own_thread(v, hdr);
	bool goes = is_own_peer(v, hdr) || (*running && hdr->peer_tid == *running) ||
		    is_own_to_the_end(v, hdr);

	if (!comes && !goes && !*running)
		return NULL;
	*ev = *(const struct sched_switch_event *)hdr;
	if (!comes)
		hide(&ev->hdr.tgid, &ev->hdr.tid, &ev->next_prio, ev->next_comm);
	if (!goes) {
		hide(&ev->hdr.peer_tgid, &ev->hdr.peer_tid, &ev->prev_prio, ev->prev_comm);
		ev->prev_state = 0;
		ev->prev_arrival = 0; /* of one of them, not of the stretch */
	} else if (!is_own_peer(v, hdr)) {
		memset(ev->prev_comm, 0, sizeof(ev->prev_comm));
	}
	*running = comes ? hdr->tid : 0;
	if (comes)
		process_table_show(v->processes, hdr->tgid, v->owner->uid, v->owner->gid,
				   hdr->time_ns);
	return &ev->hdr;
}

/* Who wakes it is whoever has the CPU, as the switches tell. */
static const struct event_hdr *view_waking(struct own_view *v, const struct event_hdr *hdr)
{
	struct sched_waking_event *ev = &v->room.waking;

	if (!is_own_thread(v, hdr))
		return NULL;
	*ev = *(const struct sched_waking_event *)hdr;
	if (!is_own_peer(v, hdr)) {
		ev->hdr.peer_tgid = 0;
		ev->hdr.peer_tid = OWN_OTHERS;
	}
	return &ev->hdr;
}

/* Interrupts, frequencies and idle CPUs are the machine's. */
static const struct event_hdr *view_sched(struct own_view *v, const struct event_hdr *ev)
{
	if (ev->type == SCHED_SWITCH)
		return view_switch(v, ev);
	return ev->type == SCHED_WAKING ? view_waking(v, ev) : NULL;
}

/* Where in the kernel and in whom it was woken; from `n` addresses on. */
static void drop_waker_stack(struct offcpu_copied *rec, size_t n)
{
	struct offcpu_event *ev = &rec->ev;
	size_t kernel = ev->n_waker_kernel, user = ev->n_waker_user;

	ev->n_waker_kernel = 0;
	if (ev->hdr.peer_tid)
		memmove(ev->ips + n, ev->ips + n + kernel, user * sizeof(ev->ips[0]));
	else
		ev->n_waker_user = 0;
	if (!ev->hdr.peer_tid && ev->has_copy) {
		ev->has_copy &= ~OFFCPU_COPY_WAKER;
		memset(&rec->waker_copy, 0, sizeof(rec->waker_copy));
	}
}

/* What is sent of it, as the kernel's half has it. */
static uint16_t size_of_wait(const struct offcpu_copied *rec)
{
	const struct offcpu_event *ev = &rec->ev;
	size_t n = (size_t)ev->n_user + OFFCPU_N_PYTHON(ev) + ev->n_kernel + ev->n_waker_kernel +
		   ev->n_waker_user;

	if (ev->has_copy)
		return (uint16_t)(OFFCPU_COPY_HEAD + rec->copy.len + rec->waker_copy.len);
	return (uint16_t)(OFFCPU_HEAD + n * sizeof(ev->ips[0]));
}

static const struct event_hdr *view_wait(struct own_view *v, const struct event_hdr *hdr)
{
	struct offcpu_copied *rec = &v->room.wait;
	struct offcpu_event *ev = &rec->ev;
	bool whole = is_own_peer(v, hdr) && !v->owner->kernel_hidden;

	if (!view_whole(v, hdr) || whole || hdr->size > sizeof(*rec))
		return is_own_thread(v, hdr) && whole ? hdr : NULL;
	memset(rec, 0, sizeof(*ev) + sizeof(rec->copy) + sizeof(rec->waker_copy));
	memcpy(rec, hdr, hdr->size);
	if (!is_own_peer(v, hdr))
		ev->hdr.peer_tgid = ev->hdr.peer_tid = 0;
	drop_waker_stack(rec, (size_t)ev->n_user + OFFCPU_N_PYTHON(ev) + ev->n_kernel);
	if (!ev->has_copy)
		memset(&rec->copy, 0, sizeof(rec->copy) + sizeof(rec->waker_copy));
	ev->hdr.size = size_of_wait(rec);
	return &ev->hdr;
}

/* Of a datagram the daemon is told the process alone. */
static const struct event_hdr *view_marker(struct own_view *v, const struct event_hdr *ev)
{
	if (ev->type == MARKERS_STOP)
		return ev;
	if (ev->type != MARKERS_MARK)
		return NULL;
	if (!(((const struct markers_event *)ev)->flags & MARKERS_SOCKET))
		return view_whole(v, ev);
	return is_own_process(v, ev->tgid) ? ev : NULL;
}

static const struct rule {
	const char *source;
	view_fn *view;
	const char *gives;
} rules[] = {
	{ "proc", view_task, "your processes and threads" },
	{ "sched", view_sched, "when your threads had a CPU, and what woke them" },
	{ "syscalls", view_whole, "socket calls and waits of your threads" },
	{ "offcpu", view_wait, "waits of your threads" },
	{ "net", view_whole, "connections and requests of your processes" },
	{ "markers", view_marker, "markers of your processes" },
	{ "cpu", view_whole, "stack samples of your threads" },
	/* All others: nothing. */
};

static const struct rule *rule_of(unsigned source)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (strcmp(rules[i].source, collectors[source]->name) == 0)
			return &rules[i];
	return NULL;
}

const char *session_own_gives(unsigned source)
{
	const struct rule *rule = rule_of(source);

	return rule ? rule->gives : NULL;
}

int own_view_new(const struct trace_config *config, struct process_table *processes,
		 struct own_view **ret)
{
	struct own_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->owner = &config->owner;
	v->processes = processes;
	*ret = v;
	return 0;
}

void own_view_free(struct own_view *v)
{
	free(v);
}

const struct event_hdr *own_view_of(struct own_view *v, unsigned source, const struct event_hdr *ev)
{
	const struct rule *rule = rule_of(source);

	return rule ? rule->view(v, ev) : NULL;
}

/* ---- what may be asked for ---- */

static int read_sysctl(const char *path, int64_t *ret)
{
	struct buf text = { 0 };
	int r = io_read_all(path, 64, &text);

	if (r == 0)
		r = buf_append(&text, "", 1);
	if (r == 0)
		*ret = strtol((const char *)text.data, NULL, 10);
	buf_done(&text);
	return r;
}

bool session_own_kernel_is_open(void)
{
	int64_t paranoid, kptr;

	return read_sysctl("/proc/sys/kernel/perf_event_paranoid", &paranoid) == 0 &&
	       read_sysctl("/proc/sys/kernel/kptr_restrict", &kptr) == 0 &&
	       paranoid <= PARANOID_KERNEL && kptr == KPTR_OPEN;
}

/* Each event, and not more often than users may have it. */
static int check_sampling(const struct trace_config *config, char *why, size_t why_size)
{
	struct cpu_sampling plan;

	for (unsigned i = 0; i < cpu_sampling_count(config); i++) {
		if (cpu_sampling_plan(config, i, &plan) < 0)
			continue; /* which is said when it starts */
		if (plan.spec.type != PERF_TYPE_SOFTWARE && !plan.spec.rate_hz) {
			snprintf(
				why, why_size,
				"users who see their own processes alone may sample clocks, cycles "
				"and software events, not %.40s",
				plan.event);
			return -EACCES;
		}
		if (plan.spec.rate_hz &&
		    plan.period < perf_event_period(&plan.spec, MAX_HZ, cpus_max_hz())) {
			snprintf(why, why_size,
				 "users who see their own processes alone may sample %d times a "
				 "second",
				 MAX_HZ);
			return -EACCES;
		}
	}
	return 0;
}

int session_own_restrict(struct trace_config *config, bool by_name, char *why, size_t why_size)
{
	if (config->n_plaintext) {
		snprintf(why, why_size,
			 "what is inside TLS is not for users who see their own processes alone: "
			 "leave out --tls-plaintext");
		return -EACCES;
	}
	if (config->n_probes) {
		snprintf(why, why_size,
			 "probes are not for users who see their own processes alone");
		return -EACCES;
	}
	for (unsigned i = 0; collectors[i]; i++) {
		if (!(config->sources & 1u << i) || session_own_gives(i))
			continue;
		if (by_name) {
			snprintf(why, why_size,
				 "source %s is not for users who see their own processes alone: "
				 "leave it out, or join the group that may see all",
				 collectors[i]->name);
			return -EACCES;
		}
		config->sources &= ~(1u << i);
	}
	return check_sampling(config, why, why_size);
}
