/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alloc.c - where memory is asked for: stacks of malloc() and its kin, one each
 * so many bytes of a thread.
 *
 * BPF side: bpf/alloc.bpf.c. A probe costs whoever runs into it a microsecond,
 * so there are some in the processes that a session names and in their
 * descendants only, and none without names. Whoever is forked or maps the
 * library later gets them when the process table has told of it, some 50 ms
 * later.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.skel.h"
#include "alloc_encode.h"
#include "alloc_events.h"
#include "bpf_load.h"
#include "bpf_ring.h"
#include "clock.h"
#include "collector.h"
#include "lib_probes.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "walks.h"

/* How often processes are looked through for new ones. */
#define UPDATE_NS (50 * NS_PER_MS)

struct alloc {
	struct alloc_bpf *skel;
	struct bpf_ring *ring;
	struct collector_env env;
	struct walks walks;
	struct lib_probes *probes;
	uint64_t updated_ns;
	struct trace_config *sessions[EVENT_MAX_STREAMS]; /* what they want; NULL: none there */
};

static const struct lib_function functions[] = {
	{ .name = "malloc", .cookie = ALLOC_MALLOC },
	{ .name = "calloc", .cookie = ALLOC_CALLOC },
	{ .name = "realloc", .cookie = ALLOC_REALLOC },
	{ .name = "posix_memalign", .cookie = ALLOC_POSIX_MEMALIGN },
	{ .name = "aligned_alloc", .cookie = ALLOC_ALIGNED },
	{ .name = "memalign", .cookie = ALLOC_ALIGNED },
};

/* ---- processes ---- */

/* May the file of this path have such functions? By the names of C libraries and allocators. */
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

		if (module && module_is_file(module) && may_allocate(module->path))
			lib_probes_in_process(a->probes, process, module, functions,
					      sizeof(functions) / sizeof(functions[0]));
	}
	return 0;
}

/* The lib_wanted_fn. */
static bool is_still_wanted(void *ctx, uint32_t tgid, uint64_t start_ns)
{
	struct alloc *a = ctx;
	const struct process *process = process_table_get(a->env.processes, tgid);

	return process && !process->free_ns && process->start_ns == start_ns && is_wanted(a, tgid);
}

static void update(struct alloc *a)
{
	uint64_t now_ns = boot_ns();

	if (now_ns < a->updated_ns + UPDATE_NS)
		return;
	a->updated_ns = now_ns;
	lib_probes_keep(a->probes, is_still_wanted, a);
	(void)process_table_each(a->env.processes, look_at, a);
}

/* ---- the collector ---- */

static void alloc_stop(void *state)
{
	struct alloc *a = state;

	if (!a)
		return;
	lib_probes_free(a->probes);
	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++)
		free(a->sessions[i]);
	bpf_ring_free(a->ring);
	alloc_bpf__destroy(a->skel);
	walks_end(&a->walks);
	free(a);
}

static int alloc_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct lib_probes_env probes_env = { .collector = "alloc", .symbolizer = env->symbolizer };
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
		r = walks_prepare(&a->walks, &a->env, "alloc", a->skel->obj,
				  &a->skel->rodata->unwind_by_tables,
				  &a->skel->rodata->python_frames);
	if (r == 0)
		r = alloc_bpf__load(a->skel);
	if (r == 0)
		r = walks_begin(&a->walks, &a->env, a->skel->obj, a->skel->rodata->python_frames);
	if (r == 0)
		r = bpf_ring_open(a->skel->obj, &a->ring);
	if (r == 0) {
		probes_env.programs[0].prog = a->skel->progs.on_alloc;
		r = lib_probes_new(&probes_env, &a->probes);
	}
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
	walks_update(&a->walks);
	return bpf_ring_drain(a->ring, horizon_ns, budget, a->env.sink, a->env.sink_ctx);
}

static struct bpf_object *alloc_object(void *state, unsigned i)
{
	struct alloc *a = state;

	return i == 0 ? a->skel->obj : NULL;
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
	lib_probes_keep(a->probes, is_still_wanted, a);
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
