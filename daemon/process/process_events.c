/* SPDX-License-Identifier: Apache-2.0 */
/* process_events.c - what events tell of processes and threads, in the order of their time. */
#include <string.h>

#include "process/process_table_impl.h"

/*
 * A process that nobody has told of: its fork was lost, or the scan has not
 * come to it yet. It begins as what the event at hand shows.
 */
static struct proc *found_by_event(struct process_table *pt, const struct task_info *leader)
{
	struct proc *p = process_entry_new(pt, leader, leader->start_ns, true);
	struct task *t;

	if (!p)
		return NULL;
	process_family_join(pt, p, leader->parent_tgid);
	process_maps_fork(pt, p, NULL);
	t = process_entry_new_task(pt, p, leader, true);
	if (t)
		t->pub.found = ++pt->found;
	return p;
}

static struct proc *proc_of_thread(struct process_table *pt, const struct task_info *info)
{
	struct proc *p = process_table_proc(pt, info->tgid);
	struct task_info leader = *info;

	if (p && process_entry_same_start(p->pub.start_ns, p->exact, info->process_start_ns, true))
		return p;
	leader.tid = info->tgid;
	leader.parent_tgid = 0;
	leader.start_ns = info->process_start_ns;
	memcpy(leader.nstid, (uint32_t[MAX_PID_NS]){ 0 }, sizeof(leader.nstid));
	return found_by_event(pt, &leader);
}

static struct proc *new_child(struct process_table *pt, const struct task_info *info)
{
	struct proc *p = process_entry_new(pt, info, info->start_ns, true);
	struct proc *parent;

	if (!p)
		return NULL;
	process_family_join(pt, p, info->parent_tgid);
	parent = process_table_proc(pt, info->parent_tgid);
	if (parent && !info->is_kthread)
		(void)process_entry_set_cmdline(pt, p, parent->pub.cmdline,
						parent->pub.cmdline_len);
	process_maps_fork(pt, p, parent);
	return p;
}

void process_table_fork(struct process_table *pt, const struct task_info *info)
{
	struct task *t = process_entry_task(pt, info->tid);
	bool takes_over = t && !t->pub.free_ns;
	struct proc *p;

	if (t && process_entry_same_start(t->pub.start_ns, t->exact, info->start_ns, true)) {
		/* The scan was there first. */
		t->pub.start_ns = info->start_ns;
		t->exact = true;
		if (info->tid == info->tgid) {
			t->proc->pub.start_ns = info->start_ns;
			t->proc->exact = true;
		}
		return;
	}
	if (t && t->pub.tid == t->pub.tgid)
		process_entry_replace(pt, t->proc, info->start_ns);

	p = info->tid == info->tgid ? new_child(pt, info) : proc_of_thread(pt, info);
	t = p ? process_entry_new_task(pt, p, info, true) : NULL;
	if (t)
		t->pub.took_over = takes_over;
}

void process_table_alive(struct process_table *pt, const struct task_info *info)
{
	struct task *t = process_entry_task(pt, info->tid);
	struct proc *p;

	if (t && process_entry_is(t, info->start_ns))
		return;
	if (t && t->pub.tid == t->pub.tgid)
		process_entry_replace(pt, t->proc, info->start_ns);
	if (info->tid == info->tgid) {
		(void)found_by_event(pt, info);
		return;
	}
	p = proc_of_thread(pt, info);
	t = p ? process_entry_new_task(pt, p, info, true) : NULL;
	if (t)
		t->pub.found = ++pt->found;
}

void process_table_rename(struct process_table *pt, uint32_t tid, uint64_t start_ns,
			  const char comm[COMM_LEN])
{
	struct task *t = process_entry_task(pt, tid);

	if (!t || !process_entry_is(t, start_ns))
		return;
	(void)process_entry_set_comm(t->pub.comm, comm);
	if (tid == t->pub.tgid)
		(void)process_entry_set_comm(t->proc->pub.comm, comm);
}

/* ---- whose they are ---- */

void process_table_whose(struct process_table *pt, const struct task_info *leader, bool is_renamed,
			 uint64_t time_ns)
{
	struct proc *p = process_table_proc(pt, leader->tgid);
	bool is_same;

	if (!p || !process_entry_same_start(p->pub.start_ns, p->exact, leader->start_ns, true))
		return;
	is_same = p->pub.uid == leader->uid && p->pub.gid == leader->gid &&
		  (leader->was_plain || p->pub.is_plain == leader->is_plain);
	/* What goes on at its end tells nothing new, and may come before what happened then. */
	if (is_same && !is_renamed)
		return;
	p->pub.is_plain = is_same ? p->pub.is_plain : leader->is_plain;
	p->pub.told_ns = time_ns;
	if (!is_renamed && !leader->is_plain)
		return; /* filters go by whom it was */
	p->pub.uid = leader->uid;
	p->pub.gid = leader->gid;
}

void process_table_show(struct process_table *pt, uint32_t tgid, uint32_t uid, uint32_t gid,
			uint64_t time_ns)
{
	struct proc *p = process_table_proc(pt, tgid);

	if (!p || p->pub.told_ns > time_ns || p->pub.start_ns > time_ns ||
	    process_is_users(&p->pub, uid, gid))
		return;
	p->pub.is_plain = true;
	p->pub.uid = uid;
	p->pub.gid = gid;
	p->pub.told_ns = time_ns;
	for (struct task *t = p->tasks; t; t = t->next)
		t->pub.found = ++pt->found;
}

void process_table_free_task(struct process_table *pt, uint32_t tid, uint64_t start_ns,
			     uint64_t time_ns)
{
	struct task *t = process_entry_task(pt, tid);

	if (t && !t->pub.free_ns && process_entry_is(t, start_ns))
		process_entry_freed(t, time_ns);
}

static struct proc *found_by_exec(struct process_table *pt, const struct exec_info *exec)
{
	struct task_info leader = { .tid = exec->tgid,
				    .tgid = exec->tgid,
				    .start_ns = exec->start_ns,
				    .uid = exec->uid,
				    .gid = exec->gid,
				    .cgroup_id = exec->cgroup_id };

	memcpy(leader.comm, exec->comm, COMM_LEN);
	return found_by_event(pt, &leader);
}

void process_table_exec(struct process_table *pt, const struct exec_info *exec)
{
	struct proc *p = process_table_proc(pt, exec->tgid);
	struct task *t;

	if (!p || !process_entry_same_start(p->pub.start_ns, p->exact, exec->start_ns, true))
		p = found_by_exec(pt, exec);
	if (!p)
		return;
	p->pub.exec_ns = p->pub.told_ns = exec->time_ns;
	p->pub.uid = exec->uid;
	p->pub.gid = exec->gid;
	p->pub.is_plain = exec->is_plain;
	p->pub.cgroup_id = exec->cgroup_id;
	p->pub.is_kthread = false;
	(void)process_entry_set_comm(p->pub.comm, exec->comm);
	(void)process_entry_set_cmdline(pt, p, exec->cmdline, exec->cmdline_len);

	t = process_entry_task(pt, exec->tgid);
	if (t)
		(void)process_entry_set_comm(t->pub.comm, exec->comm);
}
