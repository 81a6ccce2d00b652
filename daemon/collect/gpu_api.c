/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_api.c - calls of CUDA, HIP, OpenCL, Vulkan, EGL, GLX and GL as slices on their
 * threads, with the stacks of launches, submits and swaps.
 *
 * BPF side: bpf/gpu_api.bpf.c. Probes are put on libraries, in all processes: those
 * that the system has get them before the session begins, others when the process
 * table has told of somebody who maps them, some 50 ms later.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_iter.h"
#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "clock.h"
#include "collector.h"
#include "gpu/gpu_api_encode.h"
#include "gpu/gpu_api_lookups.h"
#include "gpu/gpu_api_symbols.h"
#include "gpu/gpu_api_table.h"
#include "hash.h"
#include "lib_probes.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "symbolize/system_libraries.h"
#include "uprobes.h"
#include "walks.h"

/* Behind the structs that it has from there. */
#include "gpu_api.skel.h"

/* How often processes are looked through for new libraries. */
#define UPDATE_NS (50 * NS_PER_MS)
#define MAX_SEEN  65536
/* A session waits so long for where the functions are: before, there are no probes. */
#define ANSWER_NS (10 * NS_PER_SEC)
#define TURN_NS	  (20 * NS_PER_MS)
/* Of those that are new since, and nobody goes on meanwhile. */
#define NEW_ANSWER_NS (100 * NS_PER_MS)

struct gpu_api_source {
	struct gpu_api_bpf *skel;
	struct bpf_loading *loading; /* NULL: that is over */
	struct bpf_ring *ring;
	struct collector_env env;
	struct walks walks;
	struct lib_probes *probes;
	struct gpu_api_lookups *lookups;
	uint64_t updated_ns;
	struct hash *seen; /* mappings that were looked through, by their version */
	uint32_t classes[EVENT_MAX_STREAMS]; /* that the session in the slot wants */
};

/* ---- libraries ---- */

static void probe(struct gpu_api_source *g, struct module *module, const char *path)
{
	int api = gpu_api_of_library(path);
	const struct lib_function *functions;
	size_t n;

	if (api < 0 || !module_is_file(module))
		return;
	functions = gpu_api_symbols(api, &n);
	lib_probes_in_all(g->probes, module, functions, n);
}

/* The system_library_wanted_fn. */
static bool is_gpu_library(void *ctx, const char *name)
{
	(void)ctx;
	return gpu_api_of_library(name) >= 0;
}

/* The system_library_fn. */
static void on_library(void *ctx, int fd, const char *path)
{
	struct gpu_api_source *g = ctx;
	struct module *module;

	if (symbolizer_module(g->env.symbolizer, fd, path, &module) == 0)
		probe(g, module, path);
}

/* Most have not changed since the last time. True: these have, or nobody remembers. */
static bool is_news(struct gpu_api_source *g, const struct mappings *maps)
{
	uint64_t version = mappings_version(maps);

	if (hash_get_u64(g->seen, version))
		return false;
	if (hash_count(g->seen) >= MAX_SEEN)
		hash_clear(g->seen);
	(void)hash_set_u64(g->seen, version, g);
	return true;
}

/* The process_fn. */
static int look_at(void *ctx, const struct process *process)
{
	struct gpu_api_source *g = ctx;
	const struct mapping *all;
	struct mappings *maps;
	size_t n;

	if (process->free_ns || process->is_kthread)
		return 0;
	maps = process_table_mappings(g->env.processes, process->tgid);
	if (!maps || !is_news(g, maps) || mappings_all(maps, &all, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].module)
			probe(g, all[i].module, all[i].module->path);
	return 0;
}

static void update(struct gpu_api_source *g)
{
	uint64_t now_ns = boot_ns();

	if (now_ns < g->updated_ns + UPDATE_NS)
		return;
	g->updated_ns = now_ns;
	(void)process_table_each(g->env.processes, look_at, g);
	gpu_api_lookups_update(g->lookups, now_ns);
}

/* ---- the kernel's half ---- */

static void gpu_api_stop(void *state)
{
	struct gpu_api_source *g = state;

	if (!g)
		return;
	gpu_api_lookups_free(g->lookups);
	lib_probes_free(g->probes);
	hash_free(g->seen);
	(void)bpf_loading_end(&g->loading, NULL, NULL);
	bpf_ring_free(g->ring);
	gpu_api_bpf__destroy(g->skel);
	walks_end(&g->walks);
	free(g);
}

static int await_loaded(struct gpu_api_source *g)
{
	return bpf_loading_end(&g->loading, g->env.keep_up, g->env.keep_up_ctx);
}

/* Without the iterator, calls that go on at the end of a session are not shown. */
static int open_object(struct gpu_api_source *g, bool with_iterator)
{
	struct gpu_api_bpf *skel;
	int r;

	(void)await_loaded(g); /* of a failed attempt */
	gpu_api_bpf__destroy(g->skel);
	g->loading = bpf_loading_new();
	skel = g->skel = gpu_api_bpf__open_opts(bpf_loading_opts(g->loading));
	if (!skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	for (size_t i = 0; i < gpu_api_n_functions; i++)
		memcpy((void *)&skel->rodata->reads[i], &gpu_api_spec(i)->reads,
		       sizeof(skel->rodata->reads[i]));
	uprobes_prepare(skel->progs.on_call);
	uprobes_prepare(skel->progs.on_return);
	uprobes_prepare(skel->progs.on_stack);
	bpf_program__set_autoload(skel->progs.unfinished, with_iterator);
	r = bpf_ring_resize(skel->obj, g->env.ring_bytes);
	if (r == 0)
		r = walks_prepare(&g->walks, &g->env, "gpu-api", skel->obj,
				  &skel->rodata->unwind_by_tables, &skel->rodata->python_frames);
	if (r == 0)
		bpf_loading_begin(g->loading, skel->skeleton);
	return r;
}

static int attach(struct gpu_api_source *g)
{
	struct lib_probes_env env = { .collector = "gpu-api", .symbolizer = g->env.symbolizer };
	struct gpu_api_bpf *skel = g->skel;
	uint32_t zero = 0;
	int stack_fd = bpf_program__fd(skel->progs.on_stack), r;

	if (bpf_map_update_elem(bpf_map__fd(skel->maps.then), &zero, &stack_fd, BPF_ANY) < 0)
		return -errno;
	skel->links.on_exit = bpf_program__attach(skel->progs.on_exit);
	skel->links.on_exec = bpf_program__attach(skel->progs.on_exec);
	if (!skel->links.on_exit || !skel->links.on_exec)
		return -errno;
	if (bpf_program__autoload(skel->progs.unfinished))
		skel->links.unfinished = bpf_program__attach(skel->progs.unfinished);
	/* The way out first: a call whose way in was seen must not miss it. */
	env.programs[0].prog = skel->progs.on_return;
	env.programs[0].at_return = true;
	env.programs[1].prog = skel->progs.on_call;
	r = lib_probes_new(&env, &g->probes);
	return r < 0 ? r
		     : gpu_api_lookups_new(g->env.symbolizer, g->env.processes, g->probes,
					   &g->lookups);
}

static void find_libraries(struct gpu_api_source *g)
{
	system_libraries_find("/", is_gpu_library, on_library, g);
	g->updated_ns = 0;
	update(g);
}

/* Before the first session begins; others go on meanwhile. */
static void await_answers(struct gpu_api_source *g)
{
	uint64_t deadline_ns = boot_ns() + ANSWER_NS;

	while (lib_probes_pending(g->probes) && boot_ns() < deadline_ns &&
	       symbolizer_wait(g->env.symbolizer, TURN_NS))
		if (g->env.keep_up)
			g->env.keep_up(g->env.keep_up_ctx);
}

static int gpu_api_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct gpu_api_source *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->env = *env;
	r = hash_new(&g->seen);
	if (r == 0)
		r = open_object(g, true);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		gpu_api_stop(g);
		return r;
	}
	*ret_state = g;
	return 0;
}

static int gpu_api_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct gpu_api_source *g = *ret_state;
	int r = await_loaded(g);

	(void)env;
	if (r < 0) {
		r = open_object(g, false);
		if (r == 0)
			r = await_loaded(g);
	}
	if (r == 0)
		r = walks_begin(&g->walks, &g->env, g->skel->obj, g->skel->rodata->python_frames);
	if (r == 0)
		r = bpf_ring_open(g->skel->obj, &g->ring);
	if (r == 0)
		r = attach(g);
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		gpu_api_stop(g);
		return r;
	}
	lib_probes_want(g->probes, 0); /* none yet */
	find_libraries(g);
	await_answers(g);
	return 0;
}

/* The bpf_ring_fn. */
static void on_record(void *ctx, const struct event_hdr *ev, size_t len)
{
	struct gpu_api_source *g = ctx;

	if (ev->type == GPU_API_CALL && gpu_api_valid(ev, len))
		gpu_api_lookups_see(g->lookups, (const struct gpu_api_event *)ev);
	g->env.sink(g->env.sink_ctx, ev, len);
}

static int gpu_api_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct gpu_api_source *g = state;

	update(g);
	walks_update(&g->walks);
	return bpf_ring_drain(g->ring, horizon_ns, budget, on_record, g);
}

static int gpu_api_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct gpu_api_source *g = state;

	return bpf_ring_count(g->ring, stream, cpu, ret);
}

static struct bpf_object *gpu_api_object(void *state, unsigned i)
{
	struct gpu_api_source *g = state;

	return i == 0 ? g->skel->obj : NULL;
}

/* ---- sessions ---- */

static void want(struct gpu_api_source *g)
{
	uint32_t classes = 1u << GPU_LOOKUP;

	for (size_t i = 0; i < EVENT_MAX_STREAMS; i++)
		classes |= g->classes[i];
	lib_probes_want(g->probes, classes);
}

static int gpu_api_session_open(void *state, const struct trace_config *config, unsigned slot,
				char why[WHY_LEN])
{
	struct gpu_api_source *g = state;
	int r;

	g->classes[slot] = config->gpu_api_classes;
	want(g);
	find_libraries(g); /* new ones */
	if (lib_probes_pending(g->probes))
		(void)symbolizer_wait(g->env.symbolizer, NEW_ANSWER_NS);
	if (lib_probes_count(g->probes) > 0)
		return 0;
	r = lib_probes_error(g->probes);
	if (r < 0) {
		bpf_load_explain(r, "probes", why, WHY_LEN);
		g->classes[slot] = 0;
	} else {
		snprintf(why, WHY_LEN,
			 "no library of a GPU API is here yet; one is probed some 50 ms after a "
			 "process has mapped it");
	}
	return r;
}

/* Probes stay as long as there is another session: to end them takes time. */
static void gpu_api_session_close(void *state, unsigned slot)
{
	struct gpu_api_source *g = state;

	g->classes[slot] = 0;
}

struct unfinished {
	uint64_t end_ns;
	event_sink_fn *fn;
	void *fn_ctx;
};

static void push_unfinished(void *ctx, const struct event_hdr *hdr, size_t len)
{
	const struct unfinished *u = ctx;
	struct gpu_api_event ev;

	if (!gpu_api_valid(hdr, len) || hdr->type != GPU_API_UNFINISHED)
		return;
	memcpy(&ev, hdr, len);
	ev.hdr.time_ns = u->end_ns;
	if (ev.call.enter_ns < u->end_ns)
		u->fn(u->fn_ctx, &ev.hdr, len);
}

static int gpu_api_unfinished(void *state, uint64_t end_ns, event_sink_fn *fn, void *fn_ctx)
{
	struct gpu_api_source *g = state;
	struct unfinished u = { end_ns, fn, fn_ctx };

	if (!g->skel->links.unfinished)
		return 0;
	return bpf_iter_run(g->skel->links.unfinished, push_unfinished, &u);
}

const struct collector gpu_api_collector = {
	.name = "gpu-api",
	.summary = "calls of CUDA, HIP, OpenCL, Vulkan, EGL and GL, with stacks of launches",
	.on_demand = true,
	.prepare = gpu_api_prepare,
	.start = gpu_api_start,
	.stop = gpu_api_stop,
	.drain = gpu_api_drain,
	.count = gpu_api_count,
	.object = gpu_api_object,
	.session_open = gpu_api_session_open,
	.session_close = gpu_api_session_close,
	.unfinished = gpu_api_unfinished,
	.valid = gpu_api_valid,
	.encoder_new = gpu_api_encoder_new,
	.encoder_free = gpu_api_encoder_free,
	.encode = gpu_api_encode,
	.flush = gpu_api_encoder_flush,
	.pending = gpu_api_encoder_pending,
	.stack_ends = gpu_api_encoder_stack_ends,
};
