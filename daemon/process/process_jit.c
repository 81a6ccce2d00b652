/* SPDX-License-Identifier: Apache-2.0 */
/* process_jit.c - names for the code that a process has generated itself. */
#include "process/process_jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "hash.h"
#include "hotspot/hotspot_layout.h"
#include "log.h"
#include "process/jit_files.h"
#include "process/jit_promises.h"
#include "process/jit_source.h"
#include "process/jvm_files.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"

/* A perf map, and as many jitdump files: each compiler in the process has its own. */
#define MAX_DUMPS 4

/* Of all processes. One descriptor each; tables take some megabytes at most, as a rule. */
#define MAX_FILES	512
#define MAX_TABLE_BYTES (256u << 20)

/* Waiting at a time, 250 bytes each: some seconds of two CPUs in deep generated code. */
#define MAX_PROMISES 65536
/* Encoders wait for three seconds. We are asked to look after it once a second. */
#define MAX_WAIT_NS (1500 * NS_PER_MS)

/* Between two looks for a perf map, ever more seldom; and for another in its place. */
#define MIN_LOOK_NS   (50 * NS_PER_MS)
#define MAX_LOOK_NS   (500 * NS_PER_MS)
#define LOOK_AGAIN_NS NS_PER_SEC

struct process_jit {
	TAILQ_ENTRY(process_jit) link;
	struct jit_pool *pool;
	struct jit_source *map, *dumps[MAX_DUMPS];
	struct jit_source *inherited; /* the map of who it was forked from, */
	uint64_t inherited_ns;	      /* as it was at that time */
	struct jit_source *jvm;	      /* its memory, */
	struct module *jvm_module;    /* if it has this library (held), */
	uint64_t jvm_base;	      /* here */
	uint64_t frames_version;
	struct hash *open; /* pc -> the last struct jit_promise for it */
	uint64_t look_ns, look_after_ns;
	uint64_t version;
	bool was_untrusted; /* it is counted once */
	bool is_settling;
	struct jit_promises promises;
};

TAILQ_HEAD(jits, process_jit);

struct jit_pool {
	struct symbolizer *sym;
	struct jvm_files *jvms;
	struct jits all; /* longest unused first */
	size_t n_promises;
	struct jit_stats stats;
};

static uint64_t next_version(void)
{
	static uint64_t last;

	return ++last;
}

int jit_pool_new(struct symbolizer *sym, struct jit_pool **ret)
{
	struct jit_pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return -ENOMEM;
	pool->sym = sym;
	TAILQ_INIT(&pool->all);
	r = jvm_files_new(sym, &pool->jvms);
	if (r < 0) {
		free(pool);
		return r;
	}
	*ret = pool;
	return 0;
}

void jit_pool_free(struct jit_pool *pool)
{
	if (!pool)
		return;
	jvm_files_free(pool->jvms);
	free(pool);
}

struct process_jit *process_jit_new(struct jit_pool *pool)
{
	struct process_jit *jit = calloc(1, sizeof(*jit));

	if (!jit)
		return NULL;
	jit->pool = pool;
	if (hash_new(&jit->open) < 0) {
		free(jit);
		return NULL;
	}
	jit->version = next_version();
	TAILQ_INIT(&jit->promises);
	TAILQ_INSERT_TAIL(&pool->all, jit, link);
	return jit;
}

/* ---- promises ---- */

static bool find(const struct process_jit *jit, uint64_t pc, uint64_t time_ns, struct jit_name *ret)
{
	/* A jitdump file knows more than a perf map of the same code. */
	for (size_t i = 0; i < MAX_DUMPS && jit->dumps[i]; i++)
		if (jit_source_find(jit->dumps[i], pc, time_ns, ret))
			return true;
	/* And a JVM itself more than what was written down of it once. */
	if (jit->jvm && jit_source_find(jit->jvm, pc, time_ns, ret))
		return true;
	if (jit->map && jit_source_find(jit->map, pc, time_ns, ret))
		return true;
	return jit->inherited && jit_source_find(jit->inherited, pc, jit->inherited_ns, ret);
}

static struct location *locate(struct process_jit *jit, uint64_t pc, uint64_t time_ns)
{
	struct jit_name name;

	return find(jit, pc, time_ns, &name) ? symbolizer_locate_generated(jit->pool->sym, &name)
					     : NULL;
}

/* `must`: it has waited long enough. Returns whether it is settled. */
static bool settle(struct process_jit *jit, struct jit_promise *p, bool must)
{
	struct location *loc = locate(jit, p->pc, p->time_ns);

	if (hash_get_u64(jit->open, p->pc) == p)
		(void)hash_remove_u64(jit->open, p->pc);
	if (!jit_promise_settle(&jit->promises, jit->pool->sym, p, loc, must))
		return false;
	jit->pool->n_promises--;
	return true;
}

static bool is_current(struct process_jit *jit, uint64_t time_ns)
{
	bool current = true;

	for (size_t i = 0; i < MAX_DUMPS && jit->dumps[i]; i++)
		current &= jit_source_is_current(jit->dumps[i], time_ns);
	if (jit->map)
		current &= jit_source_is_current(jit->map, time_ns);
	if (jit->jvm_module)
		current &= jit->jvm && jit_source_is_current(jit->jvm, time_ns);
	if (jit->inherited)
		current &= jit_source_is_current(jit->inherited, jit->inherited_ns);
	return current;
}

static void settle_all(struct process_jit *jit, bool must)
{
	uint64_t now_ns = boot_ns();
	struct jit_promise *p, *next;

	if (jit->is_settling)
		return; /* a file was asked for below, and answered at once */
	jit->is_settling = true;
	for (p = TAILQ_FIRST(&jit->promises); p; p = next) {
		bool late = now_ns > p->made_ns + MAX_WAIT_NS;

		next = TAILQ_NEXT(p, link);
		if (is_current(jit, p->time_ns))
			(void)settle(jit, p, must || late);
		else if (must || late)
			jit->pool->stats.n_late += settle(jit, p, true);
	}
	jit->is_settling = false;
}

/* ---- files ---- */

static void drop(struct process_jit *jit, struct jit_source **s)
{
	if (!*s)
		return;
	jit_source_free(*s);
	*s = NULL;
	jit->pool->stats.n_files--;
}

/* It has none, or none that can be read. */
static void forget_jvm(struct process_jit *jit)
{
	if (jit->jvm_module)
		module_release(jit->jvm_module);
	jit->jvm_module = NULL;
}

void process_jit_free(struct process_jit *jit)
{
	if (!jit)
		return;
	settle_all(jit, true);
	drop(jit, &jit->map);
	drop(jit, &jit->inherited);
	drop(jit, &jit->jvm);
	forget_jvm(jit);
	for (size_t i = 0; i < MAX_DUMPS; i++)
		drop(jit, &jit->dumps[i]);
	TAILQ_REMOVE(&jit->pool->all, jit, link);
	hash_free(jit->open);
	free(jit);
}

static size_t table_bytes(const struct process_jit *jit)
{
	size_t n = jit->map ? jit_source_bytes(jit->map) : 0;

	n += jit->inherited ? jit_source_bytes(jit->inherited) : 0;
	n += jit->jvm ? jit_source_bytes(jit->jvm) : 0;

	for (size_t i = 0; i < MAX_DUMPS && jit->dumps[i]; i++)
		n += jit_source_bytes(jit->dumps[i]);
	return n;
}

static void drop_tables(struct process_jit *jit)
{
	if (jit->map)
		jit_source_drop_table(jit->map);
	if (jit->inherited)
		jit_source_drop_table(jit->inherited);
	if (jit->jvm)
		jit_source_drop_table(jit->jvm);
	for (size_t i = 0; i < MAX_DUMPS && jit->dumps[i]; i++)
		jit_source_drop_table(jit->dumps[i]);
	jit->version = next_version();
}

/* The tables of those whose code was not sampled for longest go. */
static void make_room(struct jit_pool *pool, const struct process_jit *keep)
{
	size_t n = 0;
	struct process_jit *jit;

	TAILQ_FOREACH(jit, &pool->all, link)
	n += table_bytes(jit);
	for (jit = TAILQ_FIRST(&pool->all); jit && n > MAX_TABLE_BYTES;
	     jit = TAILQ_NEXT(jit, link)) {
		if (jit == keep)
			continue;
		n -= table_bytes(jit);
		drop_tables(jit);
	}
}

static void on_changed(void *ctx, struct jit_source *s, bool is_other)
{
	struct process_jit *jit = ctx;
	struct jit_source_stats stats;

	jit_source_take_stats(s, &stats);
	jit->pool->stats.n_failed += stats.is_failed;
	jit->pool->stats.n_bad += stats.n_bad;
	jit->pool->stats.n_over_cap += stats.n_over_cap;
	if (is_other) {
		jit->version = next_version();
		if (s == jit->jvm)
			jit->frames_version = jit->version;
		make_room(jit->pool, jit);
	}
	settle_all(jit, false);
}

/* Takes over `fd`. NULL: beyond the limits. */
static struct jit_source *add(struct process_jit *jit, const struct jit_place *place,
			      enum jit_format format, const uint64_t *symbols, int fd)
{
	struct jit_source_config config = {
		.format = format, .tgid = place->p->tgid, .changed = on_changed, .ctx = jit
	};
	struct jit_source *s;

	if (jit->pool->stats.n_files >= MAX_FILES) {
		jit->pool->stats.n_over_cap++;
		close(fd);
		return NULL;
	}
	if (format == JIT_DUMP)
		config.timens_ns = jit_files_timens(place->proc_fd, place->p->tgid);
	config.symbols = symbols;
	if (jit_source_new(jit->pool->sym, fd, &config, &s) < 0)
		return NULL;
	jit->pool->stats.n_files++;
	jit->pool->stats.n_opened++;
	jit->version = next_version();
	return s;
}

void process_jit_add_dump(struct process_jit *jit, const struct jit_place *place, int fd)
{
	struct jit_file_state state;
	size_t i = 0;

	if (jit_files_state(fd, &state) < 0)
		goto out;
	for (; i < MAX_DUMPS && jit->dumps[i]; i++)
		if (jit_source_is_file(jit->dumps[i], &state))
			goto out;
	if (i < MAX_DUMPS) {
		jit->dumps[i] = add(jit, place, JIT_DUMP, NULL, fd);
		return;
	}
	jit->pool->stats.n_over_cap++;
out:
	close(fd);
}

/*
 * Code that was there before the fork is told of in the map of who forked: a
 * server's workers run what was compiled before them.
 */
static void look_for_inherited(struct process_jit *jit, const struct jit_place *place)
{
	struct jit_place there = *place;
	struct jit_file_state state;
	int fd;

	if (!place->parent || place->parent->free_ns)
		return;
	there.p = place->parent;
	if (jit_files_open_map(there.pins, there.proc_fd, there.p, &fd, &state) < 0)
		return;
	jit->inherited = add(jit, &there, JIT_PERF_MAP, NULL, fd);
	jit->inherited_ns = place->p->start_ns;
}

/* The process may make its map at any time, or put another one in its place. */
static void look_for_map(struct process_jit *jit, const struct jit_place *place, uint64_t time_ns)
{
	struct jit_file_state state;
	uint64_t now_ns;
	int fd, r;

	if (time_ns < jit->look_ns || place->p->free_ns)
		return;
	now_ns = boot_ns();
	if (jit->look_after_ns == 0)
		look_for_inherited(jit, place);
	r = jit_files_open_map(place->pins, place->proc_fd, place->p, &fd, &state);
	if (r < 0) {
		jit->look_after_ns = jit->look_after_ns ? 2 * jit->look_after_ns : MIN_LOOK_NS;
		if (jit->look_after_ns > MAX_LOOK_NS)
			jit->look_after_ns = MAX_LOOK_NS;
		if (r == -EPERM && !jit->was_untrusted) {
			jit->pool->stats.n_untrusted++;
			log_info(
				"process %u: what lies in place of its perf map is not read: it is "
				"no regular file, or of another user",
				place->p->tgid);
		}
		jit->was_untrusted |= r == -EPERM;
	} else {
		jit->look_after_ns = LOOK_AGAIN_NS;
		if (jit->map && jit_source_is_file(jit->map, &state)) {
			close(fd);
		} else {
			drop(jit, &jit->map);
			jit->map = add(jit, place, JIT_PERF_MAP, NULL, fd);
		}
	}
	jit->look_ns = now_ns + jit->look_after_ns;
}

/* ---- JVMs ---- */

void process_jit_add_jvm(struct process_jit *jit, struct module *module, uint64_t base)
{
	if (jit->jvm || jit->jvm_module == module)
		return;
	forget_jvm(jit);
	module_hold(module);
	jit->jvm_module = module;
	jit->jvm_base = base;
}

int process_jit_jvm(const struct process_jit *jit, uint64_t *ret_symbols)
{
	if (!jit->jvm_module)
		return -ENOENT;
	return jvm_files_symbols(jit->pool->jvms, jit->jvm_module, jit->jvm_base, ret_symbols);
}

/* As soon as it is known where its variables are. */
static void look_for_jvm(struct process_jit *jit, const struct jit_place *place)
{
	uint64_t symbols[HOTSPOT_N_SYMBOLS];
	int fd = -1, r;

	if (!jit->jvm_module || jit->jvm)
		return;
	r = jvm_files_symbols(jit->pool->jvms, jit->jvm_module, jit->jvm_base, symbols);
	if (r == -EAGAIN)
		return;
	if (r == 0 && !place->p->free_ns) {
		r = jit_files_open_memory(place->proc_fd, place->p, &fd);
		if (r < 0)
			log_info("process %u: the code of its JVM stays without names: %s",
				 place->p->tgid, strerror(-r));
	}
	if (fd >= 0)
		jit->jvm = add(jit, place, JIT_HOTSPOT, symbols, fd);
	if (!jit->jvm)
		forget_jvm(jit);
}

int process_jit_frames(struct process_jit *jit, const struct jit_place *place, uint64_t time_ns,
		       const struct jit_frames **ret, uint64_t *ret_version, bool *ret_current)
{
	*ret = NULL;
	*ret_version = 0;
	*ret_current = true;
	look_for_jvm(jit, place);
	if (!jit->jvm_module)
		return 0;
	*ret_current = jit->jvm && jit_source_is_current(jit->jvm, time_ns);
	*ret = jit->jvm ? jit_source_frames(jit->jvm) : NULL;
	if (*ret)
		*ret_version = jit->frames_version;
	else if (!jit->jvm || !jit_source_is_failed(jit->jvm))
		return -EAGAIN;
	return 0;
}

/* ---- questions ---- */

/*
 * Of a JVM's code all that is younger than the last reading has the name that the next one
 * gives: all who ask for an address in the meantime get the same promise.
 */
static struct jit_promise *open_promise(struct process_jit *jit, uint64_t pc, uint64_t reading)
{
	struct jit_promise *p;

	if (!jit->jvm || jit->map || jit->dumps[0] || jit->inherited)
		return NULL;
	p = hash_get_u64(jit->open, pc);
	return p && p->reading == reading ? p : NULL;
}

static struct location *promise(struct process_jit *jit, uint64_t pc, uint64_t time_ns,
				struct location *fallback)
{
	uint64_t reading = jit->jvm ? jit_source_reading_for(jit->jvm, time_ns) : 0;
	struct jit_promise *p = open_promise(jit, pc, reading);

	if (p)
		return p->loc;
	p = jit_promise_new(&jit->promises, jit->pool->sym, pc, time_ns, fallback);
	if (!p)
		return NULL;
	jit->pool->n_promises++;
	p->reading = reading;
	(void)hash_set_u64(jit->open, pc, p); /* or it is not shared */
	return p->loc;
}

struct location *process_jit_locate(struct process_jit *jit, const struct jit_place *place,
				    uint64_t pc, uint64_t time_ns, bool may_wait,
				    struct location *fallback)
{
	look_for_map(jit, place, time_ns);
	look_for_jvm(jit, place);
	if (!jit->map && !jit->dumps[0] && !jit->inherited && !jit->jvm_module)
		return NULL;
	TAILQ_REMOVE(&jit->pool->all, jit, link);
	TAILQ_INSERT_TAIL(&jit->pool->all, jit, link);
	if (is_current(jit, time_ns) || !may_wait)
		return locate(jit, pc, time_ns);
	if (jit->pool->n_promises >= MAX_PROMISES) {
		jit->pool->stats.n_over_cap++;
		return locate(jit, pc, time_ns);
	}
	return promise(jit, pc, time_ns, fallback);
}

uint64_t process_jit_version(struct process_jit *jit, const struct jit_place *place,
			     uint64_t time_ns)
{
	look_for_map(jit, place, time_ns);
	look_for_jvm(jit, place);
	if (!is_current(jit, time_ns))
		return 0;
	for (size_t i = 0; i < MAX_DUMPS && jit->dumps[i]; i++)
		if (time_ns < jit_source_newest(jit->dumps[i]))
			return 0;
	if (jit->map && time_ns < jit_source_newest(jit->map))
		return 0;
	if (jit->jvm && time_ns < jit_source_newest(jit->jvm))
		return 0;
	return jit->version;
}

void jit_pool_collect(struct jit_pool *pool)
{
	struct process_jit *jit;

	TAILQ_FOREACH(jit, &pool->all, link)
	settle_all(jit, false);
}

void jit_pool_stats(const struct jit_pool *pool, struct jit_stats *ret)
{
	*ret = pool->stats;
}
