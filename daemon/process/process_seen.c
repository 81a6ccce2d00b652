/* SPDX-License-Identifier: Apache-2.0 */
/* process_seen.c - what /proc shows of processes and threads, in the table. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/process_table_impl.h"

void process_table_scan_begin(struct process_table *pt)
{
	pt->scan++;
	pt->is_scanning = true;
}

void process_table_scan_over(struct process_table *pt)
{
	pt->is_scanning = false;
}

bool process_table_is_scanning(const struct process_table *pt)
{
	return pt->is_scanning;
}

static void found_by_scan(struct process_table *pt, const struct process_seen *seen)
{
	const struct task_info *info = &seen->leader;
	struct proc *p = process_entry_new(pt, info, info->start_ns, false);
	struct task *t;

	if (!p)
		return;
	p->scan = pt->scan;
	p->pub.is_plain = info->is_plain;
	p->pub.told_ns = seen->time_ns;
	p->cpu_ticks = seen->cpu_ticks;
	process_family_join(pt, p, info->parent_tgid);
	(void)process_entry_set_cmdline(pt, p, seen->cmdline, seen->cmdline_len);
	process_maps_fork(pt, p, NULL);
	t = process_entry_new_task(pt, p, info, false);
	if (!t)
		return;
	t->scan = pt->scan;
	t->pub.found = ++pt->found;
}

void process_table_saw_process(struct process_table *pt, const struct process_seen *seen)
{
	const struct task_info *info = &seen->leader;
	struct proc *p = process_table_proc(pt, info->tgid);
	struct task *t = process_entry_task(pt, info->tgid);
	bool changed;

	if (!p || !process_entry_same_start(p->pub.start_ns, p->exact, info->start_ns, false)) {
		found_by_scan(pt, seen);
		return;
	}
	p->scan = pt->scan;
	p->cpu_ticks = seen->cpu_ticks;
	p->pub.uid = info->uid;
	p->pub.gid = info->gid;
	p->pub.is_plain = info->is_plain;
	p->pub.told_ns = seen->time_ns;
	p->pub.cgroup_id = info->cgroup_id;
	memcpy(p->pub.nspid, info->nstid, sizeof(p->pub.nspid));
	changed = process_entry_set_comm(p->pub.comm, info->comm);
	changed |= process_entry_set_cmdline(pt, p, seen->cmdline, seen->cmdline_len);
	if (!t || t->proc != p) {
		t = process_entry_new_task(pt, p, info, false);
		changed = true;
	}
	if (!t)
		return;
	t->scan = pt->scan;
	(void)process_entry_set_comm(t->pub.comm, info->comm);
	if (changed)
		t->pub.found = ++pt->found;
}

void process_table_saw_thread(struct process_table *pt, const struct task_info *info)
{
	struct proc *p = process_table_proc(pt, info->tgid);
	struct task *t = process_entry_task(pt, info->tid);

	if (!p)
		return;
	if (t && process_entry_same_start(t->pub.start_ns, t->exact, info->start_ns, false)) {
		t->scan = pt->scan;
		if (process_entry_set_comm(t->pub.comm, info->comm))
			t->pub.found = ++pt->found;
		return;
	}
	if (t && t->pub.tid == t->pub.tgid)
		process_entry_replace(pt, t->proc, info->start_ns);
	t = process_entry_new_task(pt, p, info, false);
	if (!t)
		return;
	t->scan = pt->scan;
	t->pub.found = ++pt->found;
}

/* A directory of threads that end while it is read may leave one out. */
static bool is_there(const struct process_table *pt, const struct task *t)
{
	char name[64];

	snprintf(name, sizeof(name), "%u/task/%u", t->pub.tgid, t->pub.tid);
	return faccessat(pt->proc_fd, name, F_OK, 0) == 0;
}

void process_table_scan_end(struct process_table *pt, uint64_t began_ns)
{
	size_t pos = 0;
	void *value;

	while (hash_next(pt->tasks, &pos, NULL, NULL, &value)) {
		struct task *t = value;

		if (t->scan != pt->scan && !t->pub.free_ns && t->pub.start_ns < began_ns &&
		    !is_there(pt, t))
			process_entry_freed(t, began_ns);
	}
	process_maps_sort_queue(pt);
}
