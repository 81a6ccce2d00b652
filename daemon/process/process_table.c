/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_table.c - processes and threads: the table, questions to it, and what it forgets. What
 * events tell is in process_events.c, what /proc shows in process_seen.c, mappings in
 * process_maps.c.
 */
#include "process/process_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "process/module_pins.h"
#include "process/process_jit.h"
#include "process/process_table_impl.h"

/* 32 bytes each; ten thousand processes have about 300,000. */
#define MAX_MAPPINGS_IN_ALL (4u << 20)

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

struct proc *process_table_proc(const struct process_table *pt, uint32_t tgid)
{
	return hash_get_u64(pt->procs, tgid);
}

void process_table_clear(struct process_table *pt)
{
	size_t pos = 0;
	void *p;

	process_locate_forget(pt);
	while (pt->procs && hash_next(pt->procs, &pos, NULL, NULL, &p))
		process_entry_remove(pt, p);
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

/* ---- questions ---- */

bool process_is_users(const struct process *p, uint32_t uid, uint32_t gid)
{
	return p && p->is_plain && p->uid == uid && p->gid == gid;
}

bool process_table_is(const struct process_table *pt, uint32_t tid, uint64_t start_ns)
{
	const struct task *t = process_entry_task(pt, tid);

	return t && process_entry_is(t, start_ns);
}

const struct process *process_table_get(const struct process_table *pt, uint32_t tgid)
{
	struct proc *p = process_table_proc(pt, tgid);

	return p ? &p->pub : NULL;
}

const struct thread *process_table_thread(const struct process_table *pt, uint32_t tid)
{
	struct task *t = process_entry_task(pt, tid);

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
			process_entry_remove_task(pt, t);
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
			process_entry_remove(pt, p);
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
