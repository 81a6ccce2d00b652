/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_lives.c - when a pid was whose, by task_newtask and sched_process_free,
 * and whether what is said about a pid falls into that time.
 *
 * What lies outside gives a second process or thread of the same number, which
 * has no name or none of the samples, and nothing tells.
 */
#include <errno.h>
#include <stdlib.h>

#include "check_impl.h"

#define CLONE_THREAD 0x00010000

#define AMBIGUOUS UINT64_MAX

struct life {
	uint64_t time_ns;
	int32_t pid;
	int32_t creator; /* the thread that made it; of a newtask */
	bool begins;	 /* newtask, or else free */
};

/* Something about `pid` that is right from this time on. */
struct claim {
	uint64_t time_ns, offset;
	uint64_t uuid;	/* of a track */
	int32_t parent; /* of a ProcessTree's process; -1: none */
	int32_t pid;
	bool process;
};

struct check_lives {
	struct check_list lives;
	struct check_list trees;  /* claims of ProcessTrees */
	struct check_list tracks; /* claims of TrackDescriptors */
	struct hash *named;	  /* pid -> not NULL: as a process */
	struct hash *owners;	  /* tid -> pid + 1 of its process, or AMBIGUOUS */
};

int check_lives_new(struct check_lives **ret)
{
	struct check_lives *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	if (hash_new(&l->named) < 0 || hash_new(&l->owners) < 0) {
		check_lives_free(l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

void check_lives_free(struct check_lives *l)
{
	if (!l)
		return;
	check_list_done(&l->lives);
	check_list_done(&l->trees);
	check_list_done(&l->tracks);
	hash_free(l->named);
	hash_free(l->owners);
	free(l);
}

static void name_process(struct trace_check *c, int32_t pid)
{
	if (hash_set_u64(c->lives->named, (uint32_t)pid, c) < 0)
		c->error = -ENOMEM;
}

/* Which process a thread belongs to, unless its number was another's as well. */
static void own(struct trace_check *c, int32_t tid, int32_t tgid)
{
	uintptr_t old = (uintptr_t)hash_get_u64(c->lives->owners, (uint32_t)tid);
	uintptr_t new = (uintptr_t)(uint32_t)tgid + 1;

	if (old && old != new)
		new = (uintptr_t)AMBIGUOUS;
	if (hash_set_u64(c->lives->owners, (uint32_t)tid, (void *)new) < 0)
		c->error = -ENOMEM;
}

static struct life *add_life(struct trace_check *c, int32_t pid, uint64_t time_ns)
{
	struct life *l = check_list_add(c, &c->lives->lives, sizeof(*l));

	if (l) {
		l->time_ns = time_ns;
		l->pid = pid;
	}
	return l;
}

void check_lives_newtask(struct trace_check *c, const FtraceEvent *e)
{
	const TaskNewtaskFtraceEvent *task = e->task_newtask;
	struct life *l = add_life(c, task->pid, e->timestamp);

	if (!l)
		return;
	l->begins = true;
	l->creator = (int32_t)e->pid;
	if (task->clone_flags & CLONE_THREAD)
		l->creator = -1; /* has no parent of its own */
	else
		name_process(c, task->pid);
}

void check_lives_free_task(struct trace_check *c, int32_t pid, uint64_t time_ns)
{
	add_life(c, pid, time_ns);
}

static void add_tree(struct trace_check *c, int32_t pid, int32_t parent)
{
	struct claim *claim;

	if (!c->has_time)
		return;
	claim = check_list_add(c, &c->lives->trees, sizeof(*claim));
	if (claim)
		*claim = (struct claim){
			.time_ns = c->time_ns,
			.offset = c->offset,
			.pid = pid,
			.parent = parent,
		};
}

void check_lives_tree(struct trace_check *c, const ProcessTree *tree)
{
	for (size_t i = 0; i < tree->n_processes; i++) {
		const ProcessTree__Process *p = tree->processes[i];

		if (p->n_cmdline == 0)
			check_report(c, CHECK_TREE_CMDLINE, c->time_ns,
				     "ProcessTree entry of %d has no cmdline", p->pid);
		else
			name_process(c, p->pid);
		add_tree(c, p->pid, p->has_ppid ? p->ppid : -1);
	}
	for (size_t i = 0; i < tree->n_threads; i++) {
		add_tree(c, tree->threads[i]->tid, -1);
		own(c, tree->threads[i]->tid, tree->threads[i]->tgid);
	}
}

void check_lives_descriptor(struct trace_check *c, bool process, int32_t pid, uint64_t uuid)
{
	struct claim *claim;

	if (!c->has_time)
		return;
	claim = check_list_add(c, &c->lives->tracks, sizeof(*claim));
	if (claim)
		*claim = (struct claim){
			.time_ns = c->time_ns,
			.offset = c->offset,
			.uuid = uuid,
			.pid = pid,
			.process = process,
		};
}

/* ---- at the end ---- */

static int by_pid_and_time(const void *pa, const void *pb)
{
	const struct life *a = pa, *b = pb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (int)a->begins - (int)b->begins; /* the old one goes first */
}

void check_lives_sort(struct trace_check *c)
{
	struct check_list *l = &c->lives->lives;

	if (l->n)
		qsort(l->items, l->n, sizeof(struct life), by_pid_and_time);
}

/* Index of the first entry of `pid` that is later than `time_ns`. */
static size_t after(const struct check_lives *l, int32_t pid, uint64_t time_ns)
{
	const struct life *lives = l->lives.items;
	size_t low = 0, high = l->lives.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (lives[mid].pid < pid ||
		    (lives[mid].pid == pid && lives[mid].time_ns <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool check_lives_alive(const struct trace_check *c, int32_t pid, uint64_t time_ns)
{
	const struct life *lives = c->lives->lives.items;
	size_t i = after(c->lives, pid, time_ns);

	/* It began, or it is freed at this very time. */
	if (i > 0 && lives[i - 1].pid == pid)
		return lives[i - 1].begins || lives[i - 1].time_ns == time_ns;
	/* Nothing so far: what ends or never changes was there before. */
	return i == c->lives->lives.n || lives[i].pid != pid || !lives[i].begins;
}

bool check_lives_named(const struct trace_check *c, int32_t pid)
{
	return hash_get_u64(c->lives->named, (uint32_t)pid) != NULL;
}

static void check_claims(struct trace_check *c, const struct check_list *claims,
			 enum check_kind kind, const char *what)
{
	const struct claim *claim = claims->items;

	for (size_t i = 0; i < claims->n; i++)
		if (!check_lives_alive(c, claim[i].pid, claim[i].time_ns))
			check_report_at(c, kind, claim[i].offset, claim[i].time_ns,
					"%s %d at %.6f s, when it did not live", what, claim[i].pid,
					check_seconds(c, claim[i].time_ns));
}

static int by_owner(const void *pa, const void *pb)
{
	const struct claim *a = pa, *b = pb;

	if (a->process != b->process)
		return (int)a->process - (int)b->process;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

static void second_uuids(struct trace_check *c)
{
	struct check_list *l = &c->lives->tracks;
	struct claim *claim = l->items;

	if (l->n)
		qsort(claim, l->n, sizeof(*claim), by_owner);
	for (size_t i = 1; i < l->n; i++) {
		const struct claim *a = &claim[i - 1], *b = &claim[i];

		if (a->process != b->process || a->pid != b->pid || a->uuid == b->uuid)
			continue;
		if (after(c->lives, a->pid, a->time_ns) == after(c->lives, b->pid, b->time_ns))
			check_report_at(c, CHECK_SECOND_UUID, b->offset, b->time_ns,
					"%s %d has two tracks", b->process ? "process" : "thread",
					b->pid);
	}
}

static int by_pid_of_tree(const void *pa, const void *pb)
{
	const struct claim *a = pa, *b = pb;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* The parent that newtask gives the process which `claim` is about; -1: not known. */
static int32_t born_of(const struct check_lives *l, const struct claim *claim)
{
	const struct life *lives = l->lives.items;
	size_t i = after(l, claim->pid, claim->time_ns);
	uintptr_t owner;

	if (i == 0 || lives[i - 1].pid != claim->pid || !lives[i - 1].begins ||
	    lives[i - 1].creator < 0)
		return -1;
	owner = (uintptr_t)hash_get_u64(l->owners, (uint32_t)lives[i - 1].creator);
	return owner == 0 || owner == (uintptr_t)AMBIGUOUS ? -1 : (int32_t)(owner - 1);
}

static void parents(struct trace_check *c)
{
	struct check_lives *l = c->lives;
	struct claim *claim = l->trees.items;
	const struct claim *last = NULL; /* with a parent */

	if (l->trees.n)
		qsort(claim, l->trees.n, sizeof(*claim), by_pid_of_tree);
	for (size_t i = 0; i < l->trees.n; i++) {
		const struct claim *now = &claim[i];
		int32_t parent = born_of(l, now);

		if (now->parent < 0)
			continue;
		if (last && last->pid == now->pid &&
		    after(l, last->pid, last->time_ns) == after(l, now->pid, now->time_ns))
			parent = last->parent;
		if (parent >= 0 && parent != now->parent)
			check_report_at(c, CHECK_TREE_PARENT, now->offset, now->time_ns,
					"process %d of parent %d gets the parent %d", now->pid,
					parent, now->parent);
		last = now;
	}
}

void check_lives_finish(struct trace_check *c)
{
	if (check_ledger_lost(c, "proc"))
		return; /* who lived when is not known */
	check_claims(c, &c->lives->trees, CHECK_TREE_OUTSIDE_LIFE, "ProcessTree entry of");
	check_claims(c, &c->lives->tracks, CHECK_TRACK_OUTSIDE_LIFE, "track of");
	second_uuids(c);
	parents(c);
}
