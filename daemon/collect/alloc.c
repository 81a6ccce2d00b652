/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - where memory is asked for: stacks of malloc() and its kin, one each
 * so many bytes of a thread.
 *
 * BPF side: bpf/alloc.bpf.c. A probe costs whoever runs into it a microsecond,
 * so there are some in the processes that a session names and in their
 * descendants only, and none without names. Whoever is forked or maps the
 * library later gets them when the process table has told of it, some 50 ms
 * later. Where the functions are in the file is found out by the worker.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.skel.h"
#include "alloc_encode.h"
#include "alloc_events.h"
#include "bpf_load.h"
#include "bpf_ring.h"
#include "clock.h"
#include "collector.h"
#include "log.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "symbolize/files_protocol.h"
#include "symbolize/symbolizer.h"
#include "unwind/unwinder.h"

/* Libraries, and processes with one of them, that have probes at a time. */
#define MAX_FILES  32
#define MAX_PROBED 128

/* How often processes are looked through for new ones. */
#define UPDATE_NS (50 * NS_PER_MS)

static const struct {
	const char *name;
	enum alloc_function function;
} functions[] = {
	{ "malloc", ALLOC_MALLOC },	    { "calloc", ALLOC_CALLOC },
	{ "realloc", ALLOC_REALLOC },	    { "posix_memalign", ALLOC_POSIX_MEMALIGN },
	{ "aligned_alloc", ALLOC_ALIGNED }, { "memalign", ALLOC_ALIGNED },
};

#define N_FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

struct file {			       /* with allocation functions in it */
	struct module *module;	       /* held; NULL: the entry is free */
	unsigned n_asked;	       /* answers of the worker that are missing */
	uint64_t offsets[N_FUNCTIONS]; /* in the file; 0: it has none such */
};

struct probed {	       /* a process that has probes in a file */
	uint32_t tgid; /* 0: the entry is free */
	uint64_t start_ns;
	struct file *file;
	struct bpf_link *links[N_FUNCTIONS];
};

struct alloc {
	struct alloc_bpf *skel;
	struct bpf_ring *ring;
	struct collector_env env;
	bool has_unwinder;
	bool is_stopped; /* and is freed with the last answer */
	unsigned n_asked;
	bool failure_told, limit_told;
	uint64_t updated_ns;
	struct trace_config *sessions[EVENT_MAX_STREAMS]; /* what they want; NULL: none there */
	struct file files[MAX_FILES];
	struct probed probed[MAX_PROBED];
};

/* A question to the worker, about some of the functions of a file. */
struct question {
	struct alloc *a;
	struct file *file;
	size_t first, n;
};

/* ---- probes ---- */

static void probed_drop(struct probed *p)
{
	for (size_t i = 0; i < N_FUNCTIONS; i++)
		bpf_link__destroy(p->links[i]);
	*p = (struct probed){ 0 };
}

static void tell_failure(struct alloc *a, uint32_t tgid, int error)
{
	if (a->failure_told)
		return;
	a->failure_told = true;
	log_warn("alloc: no probes in process %u: %s%s", tgid, strerror(-error),
		 error == -EACCES || error == -EPERM ? " (needs CAP_PERFMON)" : "");
}

/* False: not one. */
static bool attach(struct alloc *a, struct probed *p)
{
	int fd = symbolizer_open(a->env.symbolizer, p->file->module);
	bool any = false;
	char path[64];

	if (fd < 0)
		return false;
	/* The file itself: its path may be another's by now, or of another namespace. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < N_FUNCTIONS; i++) {
		DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = functions[i].function);

		if (!p->file->offsets[i])
			continue;
		p->links[i] = bpf_program__attach_uprobe_opts(
			a->skel->progs.on_alloc, (pid_t)p->tgid, path, p->file->offsets[i], &opts);
		if (!p->links[i])
			tell_failure(a, p->tgid, -errno);
		any = any || p->links[i];
	}
	close(fd);
	return any;
}

static bool has_probes(const struct alloc *a, uint32_t tgid, const struct file *file)
{
	for (size_t i = 0; i < MAX_PROBED; i++)
		if (a->probed[i].tgid == tgid && a->probed[i].file == file)
			return true;
	return false;
}

static void probe(struct alloc *a, const struct process *process, struct file *file)
{
	if (file->n_asked || has_probes(a, process->tgid, file))
		return;
	for (size_t i = 0; i < MAX_PROBED; i++) {
		struct probed *p = &a->probed[i];

		if (p->tgid)
			continue;
		p->tgid = process->tgid;
		p->start_ns = process->start_ns;
		p->file = file;
		/* Without success it is not tried again. */
		(void)attach(a, p);
		return;
	}
	if (!a->limit_told)
		log_warn("alloc: more than %d processes: those beyond have no probes", MAX_PROBED);
	a->limit_told = true;
}

/* ---- files ---- */

/* By the names that C libraries and allocators have. */
static bool may_allocate(const char *path)
{
	static const char *const names[] = { "libc.so",	     "libc-2.",	    "ld-musl-",
					     "libjemalloc.", "libtcmalloc", "libmimalloc" };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void alloc_free(struct alloc *a)
{
	for (size_t i = 0; i < MAX_FILES; i++)
		if (a->files[i].module)
			module_release(a->files[i].module);
	free(a);
}

/* The symbolizer_objects_fn. */
static void on_answer(void *ctx, const struct module *module, const struct files_objects *objects)
{
	struct question *q = ctx;
	struct alloc *a = q->a;

	(void)module;
	for (size_t i = 0; objects && i < q->n; i++) {
		uint64_t at = objects->objects[i].vaddr - objects->text_vaddr;

		if (objects->objects[i].vaddr && at < objects->text_size)
			q->file->offsets[q->first + i] = objects->text_offset + at;
	}
	q->file->n_asked--;
	free(q);
	if (--a->n_asked == 0 && a->is_stopped)
		alloc_free(a);
}

static void ask(struct alloc *a, struct file *file, size_t first)
{
	const char *names[FILES_OBJECTS_MAX];
	struct question *q = malloc(sizeof(*q));

	if (!q)
		return; /* no probes on these */
	*q = (struct question){ .a = a, .file = file, .first = first };
	for (; q->n < FILES_OBJECTS_MAX && first + q->n < N_FUNCTIONS; q->n++)
		names[q->n] = functions[first + q->n].name;
	file->n_asked++;
	a->n_asked++;
	symbolizer_ask_objects(a->env.symbolizer, file->module, names, q->n, on_answer, q);
}

/* NULL: there are too many. */
static struct file *file_of(struct alloc *a, struct module *module)
{
	struct file *file = NULL;

	for (size_t i = 0; i < MAX_FILES; i++) {
		if (a->files[i].module == module)
			return &a->files[i];
		if (!a->files[i].module && !file)
			file = &a->files[i];
	}
	if (!file)
		return NULL;
	*file = (struct file){ .module = module };
	module_hold(module);
	for (size_t i = 0; i < N_FUNCTIONS; i += FILES_OBJECTS_MAX)
		ask(a, file, i);
	return file;
}

/* ---- processes ---- */

static bool is_wanted(const struct alloc *a, uint32_t tgid)
{
	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++) {
		const struct trace_config *c = a->sessions[i];

		if (c && process_table_descends(a->env.processes, tgid, c->pids, c->n_pids))
			return true;
	}
	return false;
}

/* The process_fn: those that are wanted get what they lack. */
static int look_at(void *ctx, const struct process *process)
{
	struct alloc *a = ctx;
	const struct mapping *all;
	struct mappings *maps;
	size_t n;

	if (process->free_ns || process->is_kthread || !is_wanted(a, process->tgid))
		return 0;
	maps = process_table_mappings(a->env.processes, process->tgid);
	if (!maps || mappings_all(maps, &all, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct module *module = all[i].module;
		struct file *file;

		if (!module || !module_is_file(module) || !may_allocate(module->path))
			continue;
		file = file_of(a, module);
		if (file)
			probe(a, process, file);
	}
	return 0;
}

static void drop_gone(struct alloc *a)
{
	for (size_t i = 0; i < MAX_PROBED; i++) {
		struct probed *p = &a->probed[i];
		const struct process *process;

		if (!p->tgid)
			continue;
		process = process_table_get(a->env.processes, p->tgid);
		if (!process || process->free_ns || process->start_ns != p->start_ns ||
		    !is_wanted(a, p->tgid))
			probed_drop(p);
	}
}

static void update(struct alloc *a)
{
	uint64_t now_ns = boot_ns();

	if (now_ns < a->updated_ns + UPDATE_NS)
		return;
	a->updated_ns = now_ns;
	drop_gone(a);
	(void)process_table_each(a->env.processes, look_at, a);
}

/* ---- the collector ---- */

static void alloc_stop(void *state)
{
	struct alloc *a = state;

	if (!a)
		return;
	for (size_t i = 0; i < MAX_PROBED; i++)
		probed_drop(&a->probed[i]);
	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++)
		free(a->sessions[i]);
	bpf_ring_free(a->ring);
	alloc_bpf__destroy(a->skel);
	if (a->has_unwinder)
		unwinder_release(a->env.unwinder);
	a->is_stopped = true;
	if (a->n_asked == 0)
		alloc_free(a);
}

/* By tables, where the kernel can loop so long; else by frame pointers alone. */
static int prepare_walks(struct alloc *a)
{
	int r;

	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_loop, NULL) != 1) {
		a->skel->rodata->unwind_by_tables = false;
		return 0;
	}
	r = unwinder_acquire(a->env.unwinder, a->env.loop);
	if (r < 0)
		return r;
	a->has_unwinder = true;
	return unwinder_reuse(a->env.unwinder, a->skel->obj);
}

static int alloc_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct alloc *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->env = *env;
	a->skel = alloc_bpf__open();
	if (!a->skel) {
		r = -errno;
		goto fail;
	}
	r = bpf_ring_resize(a->skel->obj, env->ring_bytes);
	if (r == 0)
		r = prepare_walks(a);
	if (r == 0)
		r = alloc_bpf__load(a->skel);
	if (r == 0)
		r = bpf_ring_open(a->skel->obj, &a->ring);
	if (r < 0) {
		bpf_load_explain(r, "BPF program", why, WHY_LEN);
		goto fail;
	}
	*ret_state = a;
	return 0;

fail:
	alloc_stop(a);
	return r;
}

static int alloc_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct alloc *a = state;

	update(a);
	if (a->has_unwinder)
		unwinder_update(a->env.unwinder);
	return bpf_ring_drain(a->ring, horizon_ns, budget, a->env.sink, a->env.sink_ctx);
}

static struct bpf_object *alloc_object(void *state)
{
	struct alloc *a = state;

	return a->skel->obj;
}

static int alloc_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct alloc *a = state;

	return bpf_ring_count(a->ring, stream, cpu, ret);
}

/* The finest of all sessions: to a coarser one the samples are as good, only more. */
static void set_step(struct alloc *a)
{
	uint64_t step = UINT64_MAX;

	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++)
		if (a->sessions[i] && a->sessions[i]->alloc_bytes < step)
			step = a->sessions[i]->alloc_bytes;
	__atomic_store_n(&a->skel->data->sample_bytes, step == UINT64_MAX ? 0 : step,
			 __ATOMIC_RELAXED);
}

static int alloc_session_open(void *state, const struct trace_config *config, unsigned slot,
			      char why[WHY_LEN])
{
	struct alloc *a = state;

	if (config->n_pids == 0) {
		snprintf(why, WHY_LEN,
			 "probes in all processes would slow the machine down: name some with "
			 "--pid, or record a command");
		return -EINVAL;
	}
	a->sessions[slot] = malloc(sizeof(*config));
	if (!a->sessions[slot])
		return -ENOMEM;
	*a->sessions[slot] = *config;
	set_step(a);
	a->updated_ns = 0;
	update(a);
	return 0;
}

static void alloc_session_close(void *state, unsigned slot)
{
	struct alloc *a = state;

	free(a->sessions[slot]);
	a->sessions[slot] = NULL;
	set_step(a);
	drop_gone(a);
}

const struct collector alloc_collector = {
	.name = "alloc",
	.summary = "allocations of memory in some processes: a stack each so many bytes",
	.on_demand = true,
	.start = alloc_start,
	.stop = alloc_stop,
	.drain = alloc_drain,
	.count = alloc_count,
	.object = alloc_object,
	.session_open = alloc_session_open,
	.session_close = alloc_session_close,
	.valid = alloc_valid,
	.encoder_new = alloc_encoder_new,
	.encoder_free = alloc_encoder_free,
	.encode = alloc_encode,
	.flush = alloc_encoder_flush,
	.pending = alloc_encoder_pending,
	.stack_ends = alloc_encoder_stack_ends,
};
