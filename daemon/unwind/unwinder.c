/* SPDX-License-Identifier: Apache-2.0 */
/* unwinder.c - what stacks need to be walked. */
#include "unwinder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "frames_tables.h"
#include "hash.h"
#include "log.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "stack_walk.h"
#include "symbolize/jit_question.h"
#include "symbolize/symbolizer.h"
#include "table_client.h"
#include "text.h"
#include "unwind_maps.h"

/* A process with more is walked in the daemon, from copies. Java has some hundred. */
#define MAX_PROC_MAPPINGS 16384
/* Where tables of generated code begin and end mappings are cut. */
#define MAX_PIECES (MAX_PROC_MAPPINGS + 2 * JIT_MAX_FRAMES)
/* A table stays for so long after the last process that used it. */
#define KEEP_TABLE_NS (60 * NS_PER_SEC)
/* For want of room, those that have not been used for this long may go. */
#define MIN_KEEP_NS NS_PER_SEC
/* Without a worker stacks are walked by frame pointers for so long. */
#define RETRY_NS (10 * NS_PER_SEC)

struct table {		       /* of a module */
	struct module *module; /* held */
	uint32_t id;
	int fd;		  /* of its file while the worker is busy with it, else -1 */
	bool is_asked;	  /* the worker has it, or had */
	unsigned n_users; /* processes */
	uint64_t idle_since_ns;
	uint64_t retry_ns; /* there was no worker: to be asked for again then; 0: not */
};

struct tracked { /* a process whose mappings the kernel has, or shall have */
	uint32_t tgid;
	uint64_t start_ns, exec_id; /* as the kernel knows it */
	uint64_t exec_ns;	    /* as the process table does */
	uint64_t maps_version;	    /* exported; 0: none yet */
	uint64_t frames_number;	    /* likewise */
	struct table **tables;	    /* used by these mappings */
	size_t n_tables;
};

struct unwinder {
	struct symbolizer *sym;
	struct process_table *processes;
	unsigned n_users;
	struct unwind_maps *maps; /* NULL without users */
	struct table_client *client;
	struct hash *tables;  /* module id -> struct table */
	struct hash *tracked; /* tgid -> struct tracked */
	struct frames_tables *frames;
	struct unwind_mapping *room; /* MAX_PIECES, to put mappings together */
	uint64_t news, n_failed, n_partial, n_no_room;
};

int unwinder_new(struct symbolizer *sym, struct process_table *processes, struct unwinder **ret)
{
	struct unwinder *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	u->sym = sym;
	u->processes = processes;
	r = hash_new(&u->tables);
	if (r == 0)
		r = hash_new(&u->tracked);
	if (r < 0) {
		unwinder_free(u);
		return r;
	}
	*ret = u;
	return 0;
}

/* ---- tables ---- */

static void table_drop(struct unwinder *u, struct table *t, uint64_t now_ns)
{
	(void)hash_remove_u64(u->tables, t->module->id);
	unwind_maps_table_free(u->maps, t->id, now_ns);
	module_release(t->module);
	free(t);
}

static void drop_idle(struct unwinder *u, uint64_t now_ns, uint64_t keep_ns)
{
	size_t pos = 0;
	void *value;

	while (hash_next(u->tables, &pos, NULL, NULL, &value)) {
		struct table *t = value;

		if (t->n_users == 0 && t->fd < 0 && now_ns > t->idle_since_ns + keep_ns)
			table_drop(u, t, now_ns);
	}
}

/* NULL: out of memory or numbers. */
static struct table *table_of(struct unwinder *u, struct module *module)
{
	struct table *t = hash_get_u64(u->tables, module->id);

	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	if (unwind_maps_table_new(u->maps, &t->id) < 0)
		goto fail;
	if (hash_set_u64(u->tables, module->id, t) < 0) {
		unwind_maps_table_free(u->maps, t->id, boot_ns());
		goto fail;
	}
	t->module = module;
	t->fd = -1;
	t->idle_since_ns = boot_ns();
	module_hold(module);
	if (!module_is_file(module))
		unwind_maps_table_state(u->maps, t->id, UNWIND_TABLE_NONE);
	return t;

fail:
	free(t);
	return NULL;
}

/* Frame pointers it is. */
static void without_table(struct unwinder *u, struct table *t)
{
	u->n_failed++;
	unwind_maps_table_state(u->maps, t->id, UNWIND_TABLE_NONE);
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

/* A stack leads through it: the worker shall make its table. */
static void ask_for(struct unwinder *u, struct table *t)
{
	if (t->is_asked)
		return;
	t->is_asked = true;
	t->fd = symbolizer_open(u->sym, t->module);
	if (t->fd < 0 || table_client_submit(u->client, t->module->id, t->fd) < 0)
		without_table(u, t);
}

static void warn_of(const struct table *t, const char *what)
{
	char path[256];

	(void)text_printable(path, sizeof(path), t->module->path, strlen(t->module->path));
	log_warn("unwind: %s: %s", path, what);
}

static void no_room(struct unwinder *u, struct table *t)
{
	u->n_no_room++;
	unwind_maps_table_state(u->maps, t->id, UNWIND_TABLE_NO_ROOM);
	warn_of(t, "no room for its unwind table; stacks end there");
}

/* What is missing in a table costs stacks through this file alone. */
static void note_flags(struct unwinder *u, const struct table *t, uint32_t flags)
{
	if (!(flags & (UNWIND_TABLE_CUT | UNWIND_TABLE_DAMAGED)))
		return;
	u->n_partial++;
	warn_of(t,
		flags & UNWIND_TABLE_CUT
			? "more call frame information than fits into a table; some of its stacks "
			  "end there"
			: "some of its call frame information cannot be read; some of its stacks "
			  "end there");
}

/* If all is full, tables that nobody uses now make room. */
static void lay_down(struct unwinder *u, struct table *t, const struct unwind_table *table)
{
	uint64_t now_ns = boot_ns();

	if (unwind_maps_table_fill(u->maps, t->id, table) == 0)
		return;
	drop_idle(u, now_ns, MIN_KEEP_NS);
	unwind_maps_collect(u->maps, now_ns);
	if (unwind_maps_table_fill(u->maps, t->id, table) < 0)
		no_room(u, t);
}

/* The table_done_fn. A table that is asked for stays until then. */
static void on_table(void *ctx, uint64_t id, enum table_result result, struct table_block *block)
{
	struct unwinder *u = ctx;
	struct table *t = hash_get_u64(u->tables, id);

	u->news++;
	if (result != TABLE_OK) {
		without_table(u, t);
		t->retry_ns = result == TABLE_NO_WORKER ? boot_ns() + RETRY_NS : 0;
		return;
	}
	note_flags(u, t, block->table.head.flags);
	lay_down(u, t, &block->table);
	table_block_free(block);
	close(t->fd);
	t->fd = -1;
	t->idle_since_ns = boot_ns();
}

/* ---- processes ---- */

static void give_tables(struct tracked *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->n_tables; i++) {
		p->tables[i]->n_users--;
		p->tables[i]->idle_since_ns = now_ns;
	}
	free(p->tables);
	p->tables = NULL;
	p->n_tables = 0;
}

static void untrack(struct unwinder *u, struct tracked *p)
{
	uint64_t now_ns = boot_ns();

	unwind_maps_proc_remove(u->maps, p->tgid, now_ns);
	frames_tables_drop(u->frames, p->tgid, now_ns);
	give_tables(p, now_ns);
	(void)hash_remove_u64(u->tracked, p->tgid);
	free(p);
}

/* Code that no file has: its functions come from the process itself. */
static bool is_generated(const struct module *module)
{
	const char *path = module->path;

	return !module_is_file(module) &&
	       (strcmp(path, "[anon:exec]") == 0 || strncmp(path, "[heap", 5) == 0 ||
		strncmp(path, "[stack", 6) == 0);
}

static uint32_t export_generated(struct unwinder *u, const struct mapping *m, uint32_t tgid,
				 struct unwind_mapping *ret, uint32_t max)
{
	uint32_t n = 0;

	for (uint64_t at = m->start; at < m->end && n < max; at = ret[n++].end)
		frames_tables_piece(u->frames, tgid, at, m->end, &ret[n]);
	return n;
}

/* Returns how many entries it takes, at most `max`. */
static uint32_t export_mapping(struct unwinder *u, const struct mapping *m, struct tracked *p,
			       struct unwind_mapping *ret, uint32_t max)
{
	struct table *t;

	if (!m->module || max == 0)
		return 0;
	if (is_generated(m->module))
		return export_generated(u, m, p->tgid, ret, max);
	t = table_of(u, m->module);
	if (!t)
		return 0;
	*ret = (struct unwind_mapping){
		.start = m->start,
		.end = m->end,
		.delta = m->pgoff - m->start,
		.table = t->id,
		.kind = UNWIND_MAPPING_FILE,
	};
	t->n_users++;
	p->tables[p->n_tables++] = t;
	return 1;
}

/* What the process table knows of it becomes what the kernel knows. */
static void export(struct unwinder *u, struct tracked *p)
{
	struct mappings *maps = process_table_mappings(u->processes, p->tgid);
	uint64_t now_ns = boot_ns(), frames = frames_tables_update(u->frames, p->tgid, 0);
	struct tracked old = *p;
	const struct mapping *all;
	uint32_t n = 0;
	size_t n_all;

	u->news += frames != p->frames_number; /* walks may have waited for it */
	if (!maps || mappings_all(maps, &all, &n_all) < 0 ||
	    (mappings_version(maps) == p->maps_version && frames == p->frames_number))
		return;
	p->maps_version = mappings_version(maps);
	p->frames_number = frames;
	if (n_all > MAX_PROC_MAPPINGS)
		n_all = 0;
	p->tables = calloc(n_all ? n_all : 1, sizeof(*p->tables));
	p->n_tables = 0;
	for (size_t i = 0; p->tables && i < n_all; i++)
		n += export_mapping(u, &all[i], p, &u->room[n], MAX_PIECES - n);
	if (unwind_maps_proc_set(u->maps, p->tgid, p->start_ns, p->exec_id, u->room, n, now_ns) < 0)
		unwind_maps_proc_remove(u->maps, p->tgid, now_ns); /* not with tables of before */
	frames_tables_settle(u->frames, p->tgid, now_ns);
	give_tables(&old, now_ns);
}

/* The sample of `walk` has shown which program in which process it is. */
static void track(struct unwinder *u, const struct unfinished_walk *walk)
{
	const struct process *known = process_table_get(u->processes, walk->tgid);
	struct tracked *p = hash_get_u64(u->tracked, walk->tgid);

	/* By now it may be another program already. */
	if (!known || known->free_ns || known->exec_ns > walk->time_ns)
		return;
	if (p && (p->start_ns != walk->copy->start_ns || p->exec_id != walk->copy->exec_id)) {
		untrack(u, p);
		p = NULL;
	}
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return;
		p->tgid = walk->tgid;
		p->start_ns = walk->copy->start_ns;
		p->exec_id = walk->copy->exec_id;
		p->exec_ns = known->exec_ns;
		if (hash_set_u64(u->tracked, p->tgid, p) < 0) {
			free(p);
			return;
		}
	}
	export(u, p);
}

void unwinder_update(struct unwinder *u)
{
	size_t pos = 0;
	void *value;

	while (u->maps && hash_next(u->tracked, &pos, NULL, NULL, &value)) {
		struct tracked *p = value;
		const struct process *known = process_table_get(u->processes, p->tgid);

		if (!known || known->free_ns || known->exec_ns != p->exec_ns)
			untrack(u, p);
		else
			export(u, p);
	}
}

/* ---- walks ---- */

struct walk {
	struct unwinder *u;
	const struct unfinished_walk *job;
	bool wait;
};

/* In generated code the piece around `pc` that has one table, or none. */
static int locate_generated(struct walk *w, const struct mapping *mapping, uint64_t pc,
			    struct stack_place *ret)
{
	struct unwind_mapping piece = { .end = mapping->start };
	const struct unwind_table_ref *ref;

	(void)frames_tables_update(w->u->frames, w->job->tgid, w->job->time_ns);
	while (piece.end <= pc)
		frames_tables_piece(w->u->frames, w->job->tgid, piece.end, mapping->end, &piece);
	ret->start = piece.start;
	ret->end = piece.end;
	ret->is_jit = true;
	if (piece.kind == UNWIND_MAPPING_JIT)
		return 0;
	ref = unwind_maps_table(w->u->maps, piece.table);
	if (ref->state == UNWIND_TABLE_PENDING)
		return UNWIND_PENDING;
	ret->has_table = ref->state == UNWIND_TABLE_READY;
	ret->delta = piece.delta - ((uint64_t)ref->first_page << UNWIND_PAGE_SHIFT);
	ret->first = ref->first;
	ret->n_pages = ref->n_pages;
	return 0;
}

static int locate(void *ctx, uint64_t pc, struct stack_place *ret)
{
	struct walk *w = ctx;
	struct unwinder *u = w->u;
	const struct unwind_table_ref *ref;
	const struct mapping *m;
	struct table *t;

	m = process_table_mapping(u->processes, w->job->tgid, pc, w->job->time_ns, &w->wait);
	if (!m || !m->module)
		return UNWIND_NOMAP;
	if (is_generated(m->module))
		return locate_generated(w, m, pc, ret);
	ret->start = m->start;
	ret->end = m->end;
	ret->delta = m->pgoff - m->start;
	t = table_of(u, m->module);
	if (!t)
		return UNWIND_TABLE_FULL;
	ref = unwind_maps_table(u->maps, t->id);
	if (ref->state == UNWIND_TABLE_PENDING)
		ask_for(u, t);
	if (ref->state == UNWIND_TABLE_PENDING) {
		w->wait = true;
		return UNWIND_PENDING;
	}
	if (ref->state == UNWIND_TABLE_NO_ROOM)
		return UNWIND_TABLE_FULL;
	ret->has_table = ref->state == UNWIND_TABLE_READY;
	ret->delta -= (uint64_t)ref->first_page << UNWIND_PAGE_SHIFT;
	ret->first = ref->first;
	ret->n_pages = ref->n_pages;
	return 0;
}

int unwinder_finish(struct unwinder *u, const struct unfinished_walk *job, bool now,
		    uint64_t ips[UNWIND_MAX_FRAMES], uint32_t *n, enum unwind_end *ret)
{
	struct walk w = { .u = u, .job = job };
	struct stack_walk_env env = { .maps = u->maps, .locate = locate, .ctx = &w };
	uint32_t n_before = *n;
	enum unwind_end end;

	if (!u->maps || *n == 0 || *n > UNWIND_MAX_FRAMES)
		return 0;
	end = stack_walk(&env, job->copy, job->stack, ips, n);
	track(u, job);
	if (end == UNWIND_PENDING &&
	    !w.wait) { /* in generated code: it may be younger than its table */
		w.wait = !frames_tables_is_current(u->frames, job->tgid, job->time_ns);
		end = UNWIND_JIT_NOFP;
	}
	if (!hash_get_u64(u->tracked, job->tgid))
		frames_tables_drop(u->frames, job->tgid, boot_ns());
	if (w.wait && !now) {
		*n = n_before;
		return -EAGAIN;
	}
	*ret = end;
	return 0;
}

uint64_t unwinder_news(const struct unwinder *u)
{
	return u->news;
}

/* ---- users ---- */

static void stop(struct unwinder *u)
{
	size_t pos = 0;
	void *value;

	table_client_free(u->client); /* what it was busy with is done now */
	u->client = NULL;
	if (u->maps) {
		while (hash_next(u->tracked, &pos, NULL, NULL, &value))
			untrack(u, value);
		pos = 0;
		while (hash_next(u->tables, &pos, NULL, NULL, &value))
			table_drop(u, value, 0);
		frames_tables_free(u->frames);
		u->frames = NULL;
	}
	unwind_maps_free(u->maps);
	u->maps = NULL;
	free(u->room);
	u->room = NULL;
}

static int frames_of(void *ctx, uint32_t tgid, uint64_t time_ns, const struct jit_frames **ret,
		     uint64_t *ret_version, bool *ret_current)
{
	return process_table_frames(((struct unwinder *)ctx)->processes, tgid, time_ns, ret,
				    ret_version, ret_current);
}

int unwinder_acquire(struct unwinder *u, struct event_loop *loop)
{
	int r;

	if (u->n_users > 0) {
		u->n_users++;
		return 0;
	}
	u->room = calloc(MAX_PIECES, sizeof(*u->room));
	if (!u->room)
		return -ENOMEM;
	r = unwind_maps_new(true, &u->maps);
	if (r == 0)
		r = frames_tables_new(u->maps, frames_of, u, &u->frames);
	if (r == 0)
		r = table_client_new(on_table, u, &u->client);
	if (r == 0)
		r = table_client_start(u->client, loop);
	if (r < 0) {
		stop(u);
		return r;
	}
	u->n_users = 1;
	return 0;
}

void unwinder_release(struct unwinder *u)
{
	if (--u->n_users == 0)
		stop(u);
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	stop(u);
	hash_free(u->tables);
	hash_free(u->tracked);
	free(u);
}

int unwinder_reuse(struct unwinder *u, struct bpf_object *obj)
{
	return unwind_maps_reuse(u->maps, obj);
}

/* Tables for which there was no worker may be asked for again. */
static void retry_tables(struct unwinder *u, uint64_t now_ns)
{
	size_t pos = 0;
	void *value;

	while (hash_next(u->tables, &pos, NULL, NULL, &value)) {
		struct table *t = value;

		if (t->retry_ns == 0 || now_ns < t->retry_ns)
			continue;
		t->retry_ns = 0;
		t->is_asked = false;
		u->n_failed--;
		unwind_maps_table_state(u->maps, t->id, UNWIND_TABLE_PENDING);
	}
}

void unwinder_collect(struct unwinder *u, uint64_t now_ns)
{
	if (!u->maps)
		return;
	table_client_collect(u->client, now_ns);
	retry_tables(u, now_ns);
	drop_idle(u, now_ns, KEEP_TABLE_NS);
	unwind_maps_collect(u->maps, now_ns);
}

pid_t unwinder_worker_pid(const struct unwinder *u)
{
	return u->client ? table_client_pid(u->client) : 0;
}

void unwinder_stats(const struct unwinder *u, struct unwinder_stats *ret)
{
	struct unwind_maps_stats maps = { 0 };

	if (u->maps)
		unwind_maps_stats(u->maps, &maps);
	*ret = (struct unwinder_stats){
		.n_tables = maps.n_tables,
		.n_rows = maps.n_rows,
		.n_rules = maps.n_rules,
		.n_processes = maps.n_procs,
		.n_failed = u->n_failed,
		.n_partial = u->n_partial,
		.n_no_room = u->n_no_room,
		.n_restarts = u->client ? table_client_restarts(u->client) : 0,
		.bytes = maps.bytes,
	};
}
