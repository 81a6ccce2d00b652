/* SPDX-License-Identifier: Apache-2.0 */
/* process_table.c - processes and threads. Their mappings are in process_maps.c. */
#include "process/process_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "process/module_pins.h"
#include "process/process_jit.h"
#include "process/process_table_impl.h"

/*
 * A process has a few hundred bytes here besides its mappings. Linux allows
 * four million tasks; a machine that has them is not one to be traced whole.
 */
#define MAX_PROCS 65536
#define MAX_TASKS 262144
/* 32 bytes each; ten thousand processes have about 300,000. */
#define MAX_MAPPINGS_IN_ALL (4u << 20)
/* Long command lines are compilers' and Java's; the first arguments tell. */
#define MAX_CMDLINE 2048

/* Events of a dead process may be in other rings for as long as sessions lag behind. */
#define KEEP_DEAD_NS (2 * NS_PER_SEC)
/* Samples wait for what they need up to 3 s. */
#define KEEP_OLD_MAPS_NS (5 * NS_PER_SEC)
/* Dead, but needed to tell whose descendants their children are. */
#define MAX_DEAD_PARENTS 4096

int process_table_new(struct symbolizer *sym, struct process_table **ret)
{
	struct process_table *pt = calloc(1, sizeof(*pt));
	int r;

	if (!pt)
		return -ENOMEM;
	pt->sym = sym;
	pt->proc_fd = -1;
	pt->budget.max = MAX_MAPPINGS_IN_ALL;
	r = hash_new(&pt->procs);
	if (r == 0)
		r = hash_new(&pt->tasks);
	if (r == 0)
		r = jit_pool_new(sym, &pt->jits);
	if (r == 0)
		r = process_table_set_proc(pt, "/proc");
	if (r < 0) {
		process_table_free(pt);
		return r;
	}
	*ret = pt;
	return 0;
}

int process_table_set_proc(struct process_table *pt, const char *path)
{
	struct module_pins *pins;
	int fd, r;

	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = module_pins_new(pt->sym, fd, &pins);
	if (r < 0) {
		close(fd);
		return r;
	}
	module_pins_free(pt->pins);
	if (pt->proc_fd >= 0)
		close(pt->proc_fd);
	pt->pins = pins;
	pt->proc_fd = fd;
	return 0;
}

int process_table_proc_fd(const struct process_table *pt)
{
	return pt->proc_fd;
}

struct module_pins *process_table_pins(struct process_table *pt)
{
	return pt->pins;
}

void process_table_set_exec_pending(struct process_table *pt, exec_pending_fn *fn, void *ctx)
{
	pt->exec_pending = fn;
	pt->exec_pending_ctx = ctx;
}

/* ---- entries ---- */

struct proc *process_table_proc(const struct process_table *pt, uint32_t tgid)
{
	return hash_get_u64(pt->procs, tgid);
}

static struct task *task_at(const struct process_table *pt, uint32_t tid)
{
	return hash_get_u64(pt->tasks, tid);
}

/* Start times from /proc have lost their last digits. */
static bool same_start(uint64_t a, bool a_exact, uint64_t b, bool b_exact)
{
	return a_exact && b_exact ? a == b : a / TICK_NS == b / TICK_NS;
}

/*
 * When a thread that is not the leader calls exec, the old leader takes over
 * its tid and is freed under it (de_thread() in fs/exec.c): so the start time
 * of the process is right for any of its threads.
 */
static bool is_task(const struct task *t, uint64_t start_ns)
{
	return same_start(t->pub.start_ns, t->exact, start_ns, true) ||
	       same_start(t->proc->pub.start_ns, t->proc->exact, start_ns, true);
}

static void remove_task(struct process_table *pt, struct task *t)
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

static void remove_proc(struct process_table *pt, struct proc *p)
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

/* Somebody else has its pid since `time_ns`. If its end was not told, it was then. */
static void replace_proc(struct process_table *pt, struct proc *p, uint64_t time_ns)
{
	process_family_tell(p, time_ns);
	remove_proc(pt, p);
}

void process_table_clear(struct process_table *pt)
{
	size_t pos = 0;
	void *p;

	process_locate_forget(pt);
	while (pt->procs && hash_next(pt->procs, &pos, NULL, NULL, &p))
		remove_proc(pt, p);
	if (pt->pins)
		module_pins_clear(pt->pins);
}

void process_table_free(struct process_table *pt)
{
	if (!pt)
		return;
	process_table_clear(pt);
	hash_free(pt->procs);
	hash_free(pt->tasks);
	jit_pool_free(pt->jits);
	module_pins_free(pt->pins);
	if (pt->proc_fd >= 0)
		close(pt->proc_fd);
	free(pt);
}

/* In place of whoever had the pid before. NULL: does not fit. */
static struct proc *new_proc(struct process_table *pt, const struct task_info *info,
			     uint64_t start_ns, bool exact)
{
	struct proc *p = process_table_proc(pt, info->tgid);

	if (p)
		replace_proc(pt, p, start_ns);
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

static struct task *new_task(struct process_table *pt, struct proc *p, const struct task_info *info,
			     bool exact)
{
	struct task *t = task_at(pt, info->tid);

	if (t)
		remove_task(pt, t);
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

/* Returns whether it is another one than before. */
static bool set_cmdline(struct process_table *pt, struct proc *p, const char *cmdline, size_t len)
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

static bool set_comm(char *dst, const char *comm)
{
	if (memcmp(dst, comm, COMM_LEN) == 0)
		return false;
	memcpy(dst, comm, COMM_LEN);
	dst[COMM_LEN - 1] = '\0';
	return true;
}

/* ---- events ---- */

/*
 * A process that nobody has told of: its fork was lost, or the scan has not
 * come to it yet. It begins as what the event at hand shows.
 */
static struct proc *found_by_event(struct process_table *pt, const struct task_info *leader)
{
	struct proc *p = new_proc(pt, leader, leader->start_ns, true);
	struct task *t;

	if (!p)
		return NULL;
	process_family_join(pt, p, leader->parent_tgid);
	process_maps_fork(pt, p, NULL);
	t = new_task(pt, p, leader, true);
	if (t)
		t->pub.found = ++pt->found;
	return p;
}

static struct proc *proc_of_thread(struct process_table *pt, const struct task_info *info)
{
	struct proc *p = process_table_proc(pt, info->tgid);
	struct task_info leader = *info;

	if (p && same_start(p->pub.start_ns, p->exact, info->process_start_ns, true))
		return p;
	leader.tid = info->tgid;
	leader.parent_tgid = 0;
	leader.start_ns = info->process_start_ns;
	memcpy(leader.nstid, (uint32_t[MAX_PID_NS]){ 0 }, sizeof(leader.nstid));
	return found_by_event(pt, &leader);
}

static struct proc *new_child(struct process_table *pt, const struct task_info *info)
{
	struct proc *p = new_proc(pt, info, info->start_ns, true);
	struct proc *parent;

	if (!p)
		return NULL;
	process_family_join(pt, p, info->parent_tgid);
	parent = process_table_proc(pt, info->parent_tgid);
	if (parent && !info->is_kthread)
		(void)set_cmdline(pt, p, parent->pub.cmdline, parent->pub.cmdline_len);
	process_maps_fork(pt, p, parent);
	return p;
}

void process_table_fork(struct process_table *pt, const struct task_info *info)
{
	struct task *t = task_at(pt, info->tid);
	bool takes_over = t && !t->pub.free_ns;
	struct proc *p;

	if (t && same_start(t->pub.start_ns, t->exact, info->start_ns, true)) {
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
		replace_proc(pt, t->proc, info->start_ns);

	p = info->tid == info->tgid ? new_child(pt, info) : proc_of_thread(pt, info);
	t = p ? new_task(pt, p, info, true) : NULL;
	if (t)
		t->pub.took_over = takes_over;
}

void process_table_alive(struct process_table *pt, const struct task_info *info)
{
	struct task *t = task_at(pt, info->tid);
	struct proc *p;

	if (t && is_task(t, info->start_ns))
		return;
	if (t && t->pub.tid == t->pub.tgid)
		replace_proc(pt, t->proc, info->start_ns);
	if (info->tid == info->tgid) {
		(void)found_by_event(pt, info);
		return;
	}
	p = proc_of_thread(pt, info);
	t = p ? new_task(pt, p, info, true) : NULL;
	if (t)
		t->pub.found = ++pt->found;
}

void process_table_rename(struct process_table *pt, uint32_t tid, uint64_t start_ns,
			  const char comm[COMM_LEN])
{
	struct task *t = task_at(pt, tid);

	if (!t || !is_task(t, start_ns))
		return;
	(void)set_comm(t->pub.comm, comm);
	if (tid == t->pub.tgid)
		(void)set_comm(t->proc->pub.comm, comm);
}

/* ---- whose they are ---- */

bool process_is_users(const struct process *p, uint32_t uid, uint32_t gid)
{
	return p && p->is_plain && p->uid == uid && p->gid == gid;
}

void process_table_whose(struct process_table *pt, const struct task_info *leader, bool is_renamed,
			 uint64_t time_ns)
{
	struct proc *p = process_table_proc(pt, leader->tgid);
	bool is_same;

	if (!p || !same_start(p->pub.start_ns, p->exact, leader->start_ns, true))
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

/* The leader is freed last: whoever is left then was missed. */
static void mark_free(struct task *t, uint64_t time_ns)
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

void process_table_free_task(struct process_table *pt, uint32_t tid, uint64_t start_ns,
			     uint64_t time_ns)
{
	struct task *t = task_at(pt, tid);

	if (t && !t->pub.free_ns && is_task(t, start_ns))
		mark_free(t, time_ns);
}

bool process_table_is(const struct process_table *pt, uint32_t tid, uint64_t start_ns)
{
	const struct task *t = task_at(pt, tid);

	return t && is_task(t, start_ns);
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

	if (!p || !same_start(p->pub.start_ns, p->exact, exec->start_ns, true))
		p = found_by_exec(pt, exec);
	if (!p)
		return;
	p->pub.exec_ns = p->pub.told_ns = exec->time_ns;
	p->pub.uid = exec->uid;
	p->pub.gid = exec->gid;
	p->pub.is_plain = exec->is_plain;
	p->pub.cgroup_id = exec->cgroup_id;
	p->pub.is_kthread = false;
	(void)set_comm(p->pub.comm, exec->comm);
	(void)set_cmdline(pt, p, exec->cmdline, exec->cmdline_len);

	t = task_at(pt, exec->tgid);
	if (t)
		(void)set_comm(t->pub.comm, exec->comm);
}

/* ---- what /proc shows ---- */

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
	struct proc *p = new_proc(pt, info, info->start_ns, false);
	struct task *t;

	if (!p)
		return;
	p->scan = pt->scan;
	p->pub.is_plain = info->is_plain;
	p->pub.told_ns = seen->time_ns;
	p->cpu_ticks = seen->cpu_ticks;
	process_family_join(pt, p, info->parent_tgid);
	(void)set_cmdline(pt, p, seen->cmdline, seen->cmdline_len);
	process_maps_fork(pt, p, NULL);
	t = new_task(pt, p, info, false);
	if (!t)
		return;
	t->scan = pt->scan;
	t->pub.found = ++pt->found;
}

void process_table_saw_process(struct process_table *pt, const struct process_seen *seen)
{
	const struct task_info *info = &seen->leader;
	struct proc *p = process_table_proc(pt, info->tgid);
	struct task *t = task_at(pt, info->tgid);
	bool changed;

	if (!p || !same_start(p->pub.start_ns, p->exact, info->start_ns, false)) {
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
	changed = set_comm(p->pub.comm, info->comm);
	changed |= set_cmdline(pt, p, seen->cmdline, seen->cmdline_len);
	if (!t || t->proc != p) {
		t = new_task(pt, p, info, false);
		changed = true;
	}
	if (!t)
		return;
	t->scan = pt->scan;
	(void)set_comm(t->pub.comm, info->comm);
	if (changed)
		t->pub.found = ++pt->found;
}

void process_table_saw_thread(struct process_table *pt, const struct task_info *info)
{
	struct proc *p = process_table_proc(pt, info->tgid);
	struct task *t = task_at(pt, info->tid);

	if (!p)
		return;
	if (t && same_start(t->pub.start_ns, t->exact, info->start_ns, false)) {
		t->scan = pt->scan;
		if (set_comm(t->pub.comm, info->comm))
			t->pub.found = ++pt->found;
		return;
	}
	if (t && t->pub.tid == t->pub.tgid)
		replace_proc(pt, t->proc, info->start_ns);
	t = new_task(pt, p, info, false);
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
			mark_free(t, began_ns);
	}
	process_maps_sort_queue(pt);
}

/* ---- questions ---- */

const struct process *process_table_get(const struct process_table *pt, uint32_t tgid)
{
	struct proc *p = process_table_proc(pt, tgid);

	return p ? &p->pub : NULL;
}

const struct thread *process_table_thread(const struct process_table *pt, uint32_t tid)
{
	struct task *t = task_at(pt, tid);

	return t ? &t->pub : NULL;
}

int process_table_each(const struct process_table *pt, process_fn *fn, void *ctx)
{
	size_t pos = 0;
	void *p;
	int r = 0;

	while (r == 0 && hash_next(pt->procs, &pos, NULL, NULL, &p))
		r = fn(ctx, &((const struct proc *)p)->pub);
	return r;
}

int process_table_each_thread(const struct process_table *pt, const struct process *p,
			      thread_fn *fn, void *ctx)
{
	const struct proc *proc = process_table_proc(pt, p->tgid);
	int r = 0;

	for (const struct task *t = proc ? proc->tasks : NULL; t && r == 0; t = t->next)
		r = fn(ctx, &t->pub);
	return r;
}

uint64_t process_table_found(const struct process_table *pt)
{
	return pt->found;
}

/* ---- forgetting ---- */

static bool long_dead(uint64_t free_ns, uint64_t now_ns)
{
	return free_ns && free_ns + KEEP_DEAD_NS < now_ns;
}

void process_table_collect(struct process_table *pt, uint64_t now_ns)
{
	unsigned n_dead_parents = 0;
	size_t pos = 0;
	void *value;

	while (hash_next(pt->tasks, &pos, NULL, NULL, &value)) {
		struct task *t = value;

		if (long_dead(t->pub.free_ns, now_ns) && t->pub.tid != t->pub.tgid)
			remove_task(pt, t);
	}
	pos = 0;
	while (hash_next(pt->procs, &pos, NULL, NULL, &value)) {
		struct proc *p = value;

		if (now_ns > KEEP_OLD_MAPS_NS)
			process_maps_forget(p, now_ns - KEEP_OLD_MAPS_NS);
		if (!long_dead(p->pub.free_ns, now_ns))
			continue;
		if (p->children && n_dead_parents++ < MAX_DEAD_PARENTS)
			process_maps_drop(pt, p);
		else
			remove_proc(pt, p);
	}
	process_locate_collect(pt, now_ns);
	module_pins_collect(pt->pins, now_ns);
	jit_pool_collect(pt->jits);
}

void process_table_stats(const struct process_table *pt, struct process_table_stats *ret)
{
	struct jit_stats jit;

	*ret = pt->stats;
	ret->n_processes = hash_count(pt->procs);
	ret->n_threads = hash_count(pt->tasks);
	ret->n_mappings = pt->budget.n_used;
	ret->n_unpinned = module_pins_missed(pt->pins);
	jit_pool_stats(pt->jits, &jit);
	ret->n_jit_files = jit.n_opened;
	ret->n_jit_refused = jit.n_untrusted + jit.n_failed;
	ret->n_jit_missed = jit.n_late + jit.n_over_cap + jit.n_bad;
}
