/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_entries.c - the entries of the table: whose they are, how they come, what is copied
 * into them and how they go. What does not fit is counted.
 */
#include <stdlib.h>
#include <string.h>

#include "process/process_table_impl.h"

/*
 * A process has a few hundred bytes here besides its mappings. Linux allows
 * four million tasks; a machine that has them is not one to be traced whole.
 */
#define MAX_PROCS 65536
#define MAX_TASKS 262144
/* Long command lines are compilers' and Java's; the first arguments tell. */
#define MAX_CMDLINE 2048

struct task *process_entry_task(const struct process_table *pt, uint32_t tid)
{
	return hash_get_u64(pt->tasks, tid);
}

bool process_entry_same_start(uint64_t a, bool a_exact, uint64_t b, bool b_exact)
{
	return a_exact && b_exact ? a == b : a / TICK_NS == b / TICK_NS;
}

/*
 * When a thread that is not the leader calls exec, the old leader takes over
 * its tid and is freed under it (de_thread() in fs/exec.c): so the start time
 * of the process is right for any of its threads.
 */
bool process_entry_is(const struct task *t, uint64_t start_ns)
{
	return process_entry_same_start(t->pub.start_ns, t->exact, start_ns, true) ||
	       process_entry_same_start(t->proc->pub.start_ns, t->proc->exact, start_ns, true);
}

void process_entry_remove_task(struct process_table *pt, struct task *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		t->proc->tasks = t->next;
	if (t->next)
		t->next->prev = t->prev;
	hash_remove_u64(pt->tasks, t->pub.tid);
	free(t);
}

void process_entry_remove(struct process_table *pt, struct proc *p)
{
	struct task *next;

	process_family_leave(pt, p);
	while (p->children)
		process_family_leave(pt, p->children);
	for (struct task *t = p->tasks; t; t = next) {
		next = t->next;
		hash_remove_u64(pt->tasks, t->pub.tid);
		free(t);
	}
	process_maps_forget(p, UINT64_MAX);
	process_maps_drop(pt, p);
	hash_remove_u64(pt->procs, p->pub.tgid);
	free(p->pub.cmdline);
	free(p);
}

void process_entry_replace(struct process_table *pt, struct proc *p, uint64_t time_ns)
{
	process_family_tell(p, time_ns);
	process_entry_remove(pt, p);
}

struct proc *process_entry_new(struct process_table *pt, const struct task_info *info,
			       uint64_t start_ns, bool exact)
{
	struct proc *p = process_table_proc(pt, info->tgid);

	if (p)
		process_entry_replace(pt, p, start_ns);
	p = hash_count(pt->procs) < MAX_PROCS ? calloc(1, sizeof(*p)) : NULL;
	if (!p || hash_set_u64(pt->procs, info->tgid, p) < 0) {
		pt->stats.n_over_cap++;
		free(p);
		return NULL;
	}
	p->pub.tgid = info->tgid;
	p->pub.start_ns = start_ns;
	p->exact = exact;
	p->pub.uid = info->uid;
	p->pub.gid = info->gid;
	p->pub.cgroup_id = info->cgroup_id;
	p->pub.is_kthread = info->is_kthread;
	memcpy(p->pub.comm, info->comm, COMM_LEN);
	memcpy(p->pub.nspid, info->nstid, sizeof(p->pub.nspid));
	process_family_adopt(pt, p);
	return p;
}

struct task *process_entry_new_task(struct process_table *pt, struct proc *p,
				    const struct task_info *info, bool exact)
{
	struct task *t = process_entry_task(pt, info->tid);

	if (t)
		process_entry_remove_task(pt, t);
	t = hash_count(pt->tasks) < MAX_TASKS ? calloc(1, sizeof(*t)) : NULL;
	if (!t || hash_set_u64(pt->tasks, info->tid, t) < 0) {
		pt->stats.n_over_cap++;
		free(t);
		return NULL;
	}
	t->pub.tid = info->tid;
	t->pub.tgid = info->tgid;
	t->pub.start_ns = info->start_ns;
	t->exact = exact;
	memcpy(t->pub.comm, info->comm, COMM_LEN);
	memcpy(t->pub.nstid, info->nstid, sizeof(t->pub.nstid));
	t->proc = p;
	t->next = p->tasks;
	if (t->next)
		t->next->prev = t;
	p->tasks = t;
	return t;
}

bool process_entry_set_cmdline(struct process_table *pt, struct proc *p, const char *cmdline,
			       size_t len)
{
	char *copy = NULL;

	if (len > MAX_CMDLINE)
		len = MAX_CMDLINE;
	if (len == p->pub.cmdline_len && (len == 0 || memcmp(cmdline, p->pub.cmdline, len) == 0))
		return false;
	if (len > 0) {
		copy = malloc(len);
		if (!copy) {
			pt->stats.n_over_cap++;
			return false;
		}
		memcpy(copy, cmdline, len);
		copy[len - 1] = '\0';
	}
	free(p->pub.cmdline);
	p->pub.cmdline = copy;
	p->pub.cmdline_len = len;
	return true;
}

bool process_entry_set_comm(char *dst, const char *comm)
{
	if (memcmp(dst, comm, COMM_LEN) == 0)
		return false;
	memcpy(dst, comm, COMM_LEN);
	dst[COMM_LEN - 1] = '\0';
	return true;
}

void process_entry_freed(struct task *t, uint64_t time_ns)
{
	struct proc *p = t->proc;

	t->pub.free_ns = time_ns;
	if (t->pub.tid != p->pub.tgid)
		return;
	p->pub.free_ns = time_ns;
	process_family_tell(p, time_ns);
	for (t = p->tasks; t; t = t->next)
		if (!t->pub.free_ns)
			t->pub.free_ns = time_ns;
}
