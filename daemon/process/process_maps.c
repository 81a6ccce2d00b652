/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_maps.c - the mappings of processes: who shares whose, what is read
 * from /proc and when, and where an address is.
 *
 * A process that began after us is known by its events from its exec on. The
 * others are read: at once when an address in one is asked for, otherwise in
 * the background, those that use the CPU first. What was read is as of the
 * time its reading began; events up to then are left out, later ones go in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "process/maps_reader.h"
#include "process/process_table_impl.h"
#include "symbolize/symbolizer.h"

/* Readings that somebody waits for: one may take this long, all a fifth of the time. */
#define READ_NOW_NS	(10 * NS_PER_MS)
#define MAX_CREDIT_NS	(200 * NS_PER_MS)
#define CREDIT_FRACTION 5

/* From the record of an exec to the first instruction of the new program. */
#define EXEC_NS (10 * NS_PER_MS)

/*
 * Between two readings of one process, because of addresses that are not in it. Code that
 * was moved (mremap tells nobody) is found soon; who runs at such an address all the time
 * (a stack that was misread) costs a dozen readings, then one a minute.
 */
#define MIN_REREAD_NS (20 * NS_PER_MS)
#define MAX_REREAD_NS (64 * NS_PER_SEC)

/* ---- whose mappings ---- */

static void queue(struct process_table *pt, struct proc *p, bool first)
{
	struct proc *next = first ? pt->queue_first : NULL;

	if (p->queued)
		return;
	p->queued = true;
	p->next_queued = next;
	p->prev_queued = next ? next->prev_queued : pt->queue_last;
	*(next ? &next->prev_queued : &pt->queue_last) = p;
	*(p->prev_queued ? &p->prev_queued->next_queued : &pt->queue_first) = p;
}

static void unqueue(struct process_table *pt, struct proc *p)
{
	if (!p->queued)
		return;
	p->queued = false;
	*(p->next_queued ? &p->next_queued->prev_queued : &pt->queue_last) = p->prev_queued;
	*(p->prev_queued ? &p->prev_queued->next_queued : &pt->queue_first) = p->next_queued;
}

void process_table_observe_maps(struct process_table *pt, const struct maps_observer *observer,
				void *ctx)
{
	pt->observer = observer;
	pt->observer_ctx = ctx;
}

static void tell_all(struct process_table *pt, struct proc *p)
{
	const struct mapping *all;
	size_t n;

	if (!pt->observer)
		return;
	pt->observer->emptied(pt->observer_ctx, p->pub.tgid);
	if (!p->maps || mappings_all(p->maps, &all, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		pt->observer->mapped(pt->observer_ctx, p->pub.tgid, &all[i]);
}

void process_maps_drop(struct process_table *pt, struct proc *p)
{
	if (pt->observer)
		pt->observer->emptied(pt->observer_ctx, p->pub.tgid);
	unqueue(pt, p);
	maps_reader_free(p->reader);
	p->reader = NULL;
	mappings_release(p->maps);
	p->maps = NULL;
	process_generated_drop(p);
}

/* ---- programs that a process has been ---- */

void process_maps_forget(struct proc *p, uint64_t before_ns)
{
	for (size_t i = 0; i < MAX_OLD_MAPS; i++) {
		if (p->old[i].until_ns >= before_ns)
			continue;
		mappings_release(p->old[i].maps);
		p->old[i] = (struct old_maps){ 0 };
	}
}

/* Samples that are looked at later may be older than this exec. */
static void keep_old(struct proc *p, uint64_t until_ns)
{
	mappings_release(p->old[MAX_OLD_MAPS - 1].maps);
	memmove(&p->old[1], &p->old[0], (MAX_OLD_MAPS - 1) * sizeof(p->old[0]));
	p->old[0] = (struct old_maps){ .until_ns = until_ns };
	if (p->maps_state == MAPS_KNOWN && p->maps)
		p->old[0].maps = mappings_hold(p->maps);
}

void process_maps_fork(struct process_table *pt, struct proc *child, const struct proc *parent)
{
	if (child->pub.is_kthread) {
		child->maps_state = MAPS_NONE;
		return;
	}
	if (parent) {
		child->maps_state =
			parent->maps_state == MAPS_NONE ? MAPS_KNOWN : parent->maps_state;
		/* What was read of the parent may be younger than the child's first events. */
		child->maps_time_ns = parent->maps_time_ns < child->pub.start_ns
					      ? parent->maps_time_ns
					      : child->pub.start_ns;
		child->maps_lost = parent->maps_lost;
		child->cpu_ticks = parent->cpu_ticks;
		if (parent->maps)
			child->maps = mappings_hold(parent->maps);
		if (pt->observer)
			pt->observer->forked(pt->observer_ctx, child->pub.tgid, parent->pub.tgid);
	}
	if (child->maps_state == MAPS_UNKNOWN || child->maps_lost)
		queue(pt, child, false);
}

void process_table_exec_maps(struct process_table *pt, uint32_t tgid, uint64_t time_ns)
{
	struct proc *p = process_table_proc(pt, tgid);

	if (!p || p->maps_time_ns >= time_ns)
		return;
	keep_old(p, time_ns);
	process_maps_drop(pt, p);
	p->maps_state = MAPS_KNOWN;
	p->maps_time_ns = time_ns - 1; /* the first mapping may carry the same time */
	p->maps_lost = false;
	p->reread_ns = p->reread_after_ns = 0;
}

void process_table_mmap(struct process_table *pt, uint32_t tgid, uint64_t time_ns,
			const struct mapping *mapping)
{
	struct proc *p = process_table_proc(pt, tgid);

	if (!p || p->maps_state == MAPS_NONE)
		return;
	if (p->reader && time_ns > maps_reader_time(p->reader))
		(void)maps_reader_add(p->reader, mapping); /* counted when it is installed */
	if (time_ns <= p->maps_time_ns)
		return;
	process_generated_mapped(pt, p, mapping);
	if (!p->maps)
		p->maps = mappings_new(&pt->budget);
	if (!p->maps || mappings_set(&p->maps, mapping) < 0) {
		pt->stats.n_over_cap++;
		/* Most of what fills it up may be unmapped by now. */
		process_maps_want(pt, p);
	}
	if (pt->observer)
		pt->observer->mapped(pt->observer_ctx, tgid, mapping);
}

/* ---- reading ---- */

/* Once more, but ever more seldom. */
void process_maps_want(struct process_table *pt, struct proc *p)
{
	uint64_t now_ns = boot_ns();

	if (p->queued || p->pub.free_ns || now_ns < p->reread_ns)
		return;
	p->reread_after_ns = p->reread_after_ns ? 2 * p->reread_after_ns : MIN_REREAD_NS;
	if (p->reread_after_ns > MAX_REREAD_NS)
		p->reread_after_ns = MAX_REREAD_NS;
	p->reread_ns = now_ns + p->reread_after_ns;
	queue(pt, p, true); /* somebody waits for it */
}

static void install(struct process_table *pt, struct proc *p)
{
	pt->stats.n_over_cap += maps_reader_over_cap(p->reader);
	/*
	 * With an exec on its way this may be the new program's, too early. Its
	 * own events will tell.
	 */
	if (!pt->exec_pending || !pt->exec_pending(pt->exec_pending_ctx, p->pub.tgid)) {
		pt->stats.n_rescans += p->maps_state == MAPS_KNOWN;
		mappings_release(p->maps);
		p->maps = maps_reader_take(p->reader);
		p->maps_time_ns = maps_reader_time(p->reader);
		p->maps_state = MAPS_KNOWN;
		p->maps_lost = false;
		process_generated_mapped_all(pt, p);
		tell_all(pt, p);
	}
	maps_reader_free(p->reader);
	p->reader = NULL;
}

/* 1: done, for good or not. 0: it takes longer than this. */
static int read_maps(struct process_table *pt, struct proc *p, uint64_t deadline_ns)
{
	int r = 0;

	if (p->pub.free_ns)
		return 1;
	if (!p->reader)
		r = maps_reader_open(pt->proc_fd, p->pub.tgid, p->pub.start_ns / TICK_NS, pt->pins,
				     &pt->budget, &p->reader);
	if (r == 0)
		r = maps_reader_step(p->reader, deadline_ns);
	if (r > 0)
		install(pt, p);
	if (r < 0) { /* gone, or not ours to read: another try when it is asked for */
		maps_reader_free(p->reader);
		p->reader = NULL;
	}
	return r != 0;
}

bool process_table_wants_reading(const struct process_table *pt)
{
	return pt->queue_first != NULL;
}

bool process_table_read_maps(struct process_table *pt, uint64_t deadline_ns)
{
	while (pt->queue_first) {
		struct proc *p = pt->queue_first;

		if (!read_maps(pt, p, deadline_ns))
			return true;
		unqueue(pt, p);
		if (boot_ns() > deadline_ns)
			break;
	}
	return pt->queue_first != NULL;
}

static int busier_first(const void *a, const void *b)
{
	const struct proc *pa = *(struct proc *const *)a, *pb = *(struct proc *const *)b;

	return (pa->cpu_ticks < pb->cpu_ticks) - (pa->cpu_ticks > pb->cpu_ticks);
}

void process_maps_sort_queue(struct process_table *pt)
{
	struct proc **all;
	size_t n = 0;

	for (struct proc *p = pt->queue_first; p; p = p->next_queued)
		n++;
	all = n ? malloc(n * sizeof(*all)) : NULL;
	if (!all)
		return; /* any order will do */
	n = 0;
	for (struct proc *p = pt->queue_first; p; p = p->next_queued)
		all[n++] = p;
	qsort(all, n, sizeof(*all), busier_first);
	pt->queue_first = pt->queue_last = NULL;
	for (size_t i = 0; i < n; i++) {
		all[i]->queued = false;
		queue(pt, all[i], false);
	}
	free(all);
}

void process_table_reread_all(struct process_table *pt)
{
	size_t pos = 0;
	void *value;

	while (hash_next(pt->procs, &pos, NULL, NULL, &value)) {
		struct proc *p = value;

		if (p->maps_state == MAPS_NONE || p->pub.free_ns)
			continue;
		/* A reading begun before the loss would not hold what was lost. */
		maps_reader_free(p->reader);
		p->reader = NULL;
		p->maps_lost = true;
		p->reread_ns = p->reread_after_ns = 0;
		queue(pt, p, false);
	}
	process_maps_sort_queue(pt);
}

/* At once, if there is time to spare for it. */
static void read_now(struct process_table *pt, struct proc *p)
{
	uint64_t now_ns = boot_ns(), spent_ns;

	pt->read_credit_ns += (now_ns - pt->credit_time_ns) / CREDIT_FRACTION;
	if (pt->read_credit_ns > MAX_CREDIT_NS)
		pt->read_credit_ns = MAX_CREDIT_NS;
	pt->credit_time_ns = now_ns;

	unqueue(pt, p);
	if (pt->read_credit_ns < READ_NOW_NS || !read_maps(pt, p, now_ns + READ_NOW_NS)) {
		queue(pt, p, true);
	} else if (p->maps_state == MAPS_UNKNOWN || p->maps_lost) {
		p->reread_after_ns = MIN_REREAD_NS;
		p->reread_ns = now_ns + p->reread_after_ns;
	}
	spent_ns = boot_ns() - now_ns;
	pt->read_credit_ns -= spent_ns < pt->read_credit_ns ? spent_ns : pt->read_credit_ns;
}

/* ---- questions ---- */

/* What was mapped then: before an exec it was another program. */
static struct mappings *maps_at(const struct proc *p, uint64_t time_ns)
{
	struct mappings *m = p->maps;

	for (size_t i = 0; i < MAX_OLD_MAPS && time_ns < p->old[i].until_ns; i++)
		m = p->old[i].maps;
	return m;
}

const struct mapping *process_maps_find(const struct proc *p, uint64_t pc, uint64_t time_ns)
{
	struct mappings *m = maps_at(p, time_ns);

	return m ? mappings_find(m, pc) : NULL;
}

const struct mapping *process_table_mapping(struct process_table *pt, uint32_t tgid, uint64_t pc,
					    uint64_t time_ns, bool *ret_wait)
{
	struct proc *p = process_table_proc(pt, tgid);
	const struct mapping *m;

	*ret_wait = !p && pt->is_scanning;
	if (!p || p->maps_state == MAPS_NONE)
		return NULL;
	if ((p->maps_state == MAPS_UNKNOWN || p->maps_lost) && !p->pub.free_ns &&
	    boot_ns() >= p->reread_ns)
		read_now(pt, p);
	m = process_maps_find(p, pc, time_ns);
	if (!m) /* on its way into the new program it still has the registers of the old one */
		m = process_maps_find(p, pc, time_ns - EXEC_NS);
	if (!m && p->maps_state == MAPS_KNOWN && time_ns >= p->old[0].until_ns)
		process_maps_want(pt, p);
	*ret_wait = !m && p->queued;
	return m;
}

struct mappings *process_table_mappings(const struct process_table *pt, uint32_t tgid)
{
	const struct proc *p = process_table_proc(pt, tgid);

	return p && p->maps_state == MAPS_KNOWN ? p->maps : NULL;
}

int process_table_resolve(struct process_table *pt, uint32_t tgid, uint64_t pc, uint64_t time_ns,
			  struct module **ret_module, uint64_t *ret_offset)
{
	const struct mapping *m;
	bool wait;

	m = process_table_mapping(pt, tgid, pc, time_ns, &wait);
	if (!m)
		return -ENOENT;
	*ret_module = m->module;
	*ret_offset = pc - m->start + m->pgoff;
	return 0;
}

uint64_t process_maps_version(const struct proc *p, uint64_t time_ns)
{
	const struct mappings *m = maps_at(p, time_ns);

	return p->maps_state == MAPS_KNOWN && !p->maps_lost && m ? mappings_version(m) : 0;
}

uint64_t process_table_maps_version(struct process_table *pt, uint32_t tgid, uint64_t time_ns)
{
	struct proc *p = process_table_proc(pt, tgid);
	uint64_t version = p ? process_maps_version(p, time_ns) : 0;

	return version ? process_generated_version(pt, p, version, time_ns) : 0;
}
