/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.c - probes that users have put on functions, USDT probes and tracepoints.
 *
 * BPF side: bpf/probes.bpf.c, and bpf/probes_stack.bpf.c for those with a stack; nothing is
 * loaded before there is a probe. Libraries and programs that the system has are probed
 * before anybody maps them, others when the process table has told of somebody who does,
 * some 50 ms later. What hits cost is watched: a probe that takes too much of a CPU is
 * taken away for a while, again and again (probe_limit.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "bpf_load.h"
#include "bpf_ring.h"
#include "clock.h"
#include "collector.h"
#include "hash.h"
#include "log.h"
#include "probe/probes.h"
#include "probe/probes_encode.h"
#include "probe_attach.h"
#include "probe_ends.h"
#include "probe_programs.h"
#include "probes_impl.h"
#include "process/mappings.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "symbolize/system_libraries.h"

/* How often processes are looked through for new files, and hits are counted. */
#define UPDATE_NS (50 * NS_PER_MS)
#define MAX_SEEN  65536
/* How often files are let go of that nobody has mapped since the last time. */
#define PRUNE_NS (30 * NS_PER_SEC)
/* A session waits so long for where its probes are: before, there are none. */
#define ANSWER_NS (10 * NS_PER_SEC)
#define TURN_NS	  (20 * NS_PER_MS)

/* ---- loading ---- */

static void unload(struct probes_source *s)
{
	probe_places_free(s->places);
	bpf_ring_free(s->ring);
	s->places = NULL;
	s->ring = NULL;
}

/* What the probe needs of it, and is not there yet. */
static int load(struct probes_source *s, const struct probe *p, char why[PROBE_WHY_LEN])
{
	int r = probe_programs_load(s->programs, p->def.with_stack);
	struct bpf_object *obj = probe_programs_object(s->programs, false);

	if (r == 0 && !s->ring) {
		r = bpf_ring_open(obj, &s->ring);
		if (r == 0)
			r = probe_places_new(obj, &s->places);
		if (r < 0)
			unload(s);
	}
	if (r < 0)
		bpf_load_explain(r, "BPF programs", why, PROBE_WHY_LEN);
	s->attach_env.places = s->places;
	return r;
}

/* ---- files ---- */

static void look_at_module(struct probes_source *s, struct module *module)
{
	if (!module_is_file(module) || hash_get_u64(s->known, module->id))
		return;
	if (hash_count(s->known) >= MAX_SEEN)
		hash_clear(s->known);
	(void)hash_set_u64(s->known, module->id, s);
	for (size_t i = 0; i < PROBES_MAX_DEFS; i++)
		if (s->ones[i].attached)
			probe_attached_look(s->ones[i].attached, module, module->path, false);
}

/* The probe_mapped_fn. */
static bool is_mapped(void *ctx, const struct module *module)
{
	return hash_get_u64(ctx, module->id) != NULL;
}

/* The process_fn: notes what it has mapped. */
static int note_modules(void *ctx, const struct process *process)
{
	struct probes_source *s = ctx;
	const struct mapping *all;
	struct mappings *maps;
	size_t n;

	maps = process->free_ns ? NULL : process_table_mappings(s->env.processes, process->tgid);
	if (!maps || mappings_all(maps, &all, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].module && hash_set_u64(s->known, all[i].module->id, s) < 0)
			return -ENOMEM;
	return 0;
}

/* Files of processes that are gone. */
static void prune(struct probes_source *s)
{
	hash_clear(s->known);
	hash_clear(s->seen);
	if (process_table_is_scanning(s->env.processes) ||
	    process_table_each(s->env.processes, note_modules, s) < 0)
		return;
	for (size_t i = 0; i < PROBES_MAX_DEFS; i++)
		if (s->ones[i].attached)
			probe_attached_prune(s->ones[i].attached, is_mapped, s->known);
	hash_clear(s->known);
}

/* Most have not changed since the last time. True: these have, or nobody remembers. */
static bool is_news(struct probes_source *s, const struct mappings *maps)
{
	uint64_t version = mappings_version(maps);

	if (hash_get_u64(s->seen, version))
		return false;
	if (hash_count(s->seen) >= MAX_SEEN)
		hash_clear(s->seen);
	(void)hash_set_u64(s->seen, version, s);
	return true;
}

/* The process_fn. */
static int look_at(void *ctx, const struct process *process)
{
	struct probes_source *s = ctx;
	const struct mapping *all;
	struct mappings *maps;
	size_t n;

	if (process->free_ns || process->is_kthread)
		return 0;
	maps = process_table_mappings(s->env.processes, process->tgid);
	if (!maps || !is_news(s, maps) || mappings_all(maps, &all, &n) < 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (all[i].module)
			look_at_module(s, all[i].module);
	return 0;
}

struct search {
	struct probes_source *source;
	struct probe_attached *attached;
	struct nearest nearest; /* of names of files, where none is meant */
};

/* The system_library_wanted_fn. */
static bool is_wanted_file(void *ctx, const char *name)
{
	const struct search *search = ctx;

	return probe_attached_wants_name(search->attached, name);
}

/* The same: none is wanted. */
static bool is_near(void *ctx, const char *name)
{
	struct search *search = ctx;

	nearest_offer(&search->nearest, name);
	return false;
}

/* The system_library_fn. */
static void on_file(void *ctx, int fd, const char *path)
{
	struct search *search = ctx;
	struct module *module;

	if (symbolizer_module(search->source->env.symbolizer, fd, path, &module) == 0)
		probe_attached_look(search->attached, module, path, true);
}

/* What there is now, for one that is new. */
static void look_for(struct probes_source *s, const struct probe *p, struct probe_attached *a)
{
	struct search search = { s, a, { .wanted = p->def.at.path } };
	char near[PROBE_WHY_LEN] = "";

	system_libraries_find("/", is_wanted_file, on_file, &search);
	system_programs_find("/", is_wanted_file, on_file, &search);
	hash_clear(s->seen);
	hash_clear(s->known);
	(void)process_table_each(s->env.processes, look_at, s);
	if (!probe_attached_has_files(a)) {
		system_libraries_find("/", is_near, on_file, &search);
		system_programs_find("/", is_near, on_file, &search);
		nearest_append(&search.nearest, near, sizeof(near));
	}
	probe_attached_settle(a, near);
}

static void update(struct probes_source *s)
{
	uint64_t now_ns = boot_ns();

	if (now_ns < s->updated_ns + UPDATE_NS)
		return;
	s->updated_ns = now_ns;
	if (now_ns > s->pruned_ns + PRUNE_NS) {
		s->pruned_ns = now_ns;
		prune(s);
	}
	(void)process_table_each(s->env.processes, look_at, s);
	for (size_t i = 0; i < PROBES_MAX_DEFS; i++)
		if (s->ones[i].attached)
			probes_limit(s, &s->ones[i], now_ns);
}

/* ---- the registry's backend ---- */

static int on_attach(void *ctx, struct probe *p, char why[PROBE_WHY_LEN])
{
	struct probes_source *s = ctx;
	struct probes_one *one = NULL;
	int r;

	for (size_t i = 0; i < PROBES_MAX_DEFS && !one; i++)
		if (!s->ones[i].probe)
			one = &s->ones[i];
	if (!one)
		return -ENOSPC; /* the registry has no more */
	r = load(s, p, why);
	if (r == 0 && probes_is_uprobe(p))
		probes_measure_trap(s);
	if (r == 0)
		r = probe_attached_new(&s->attach_env, p, why, &one->attached);
	if (r < 0)
		return r;
	one->probe = p;
	p->attached = one;
	probes_update_cost(s, p);
	look_for(s, p, one->attached);
	return 0;
}

static void on_detach(void *ctx, struct probe *p)
{
	struct probes_one *one = p->attached;

	(void)ctx;
	if (!one)
		return;
	if (one->is_paused)
		p->paused_ns += boot_ns() - one->paused_since_ns;
	probe_attached_free(one->attached);
	*one = (struct probes_one){ 0 };
	p->attached = NULL;
}

static void on_count(void *ctx, struct probe *p)
{
	struct probes_one *one = p->attached;

	(void)ctx;
	if (one)
		probe_attached_count(one->attached);
}

/* ---- the collector ---- */

static void probes_stop(void *state)
{
	struct probes_source *s = state;

	if (!s)
		return;
	if (s->env.probes)
		probes_set_backend(s->env.probes, NULL);
	probe_ends_free(s->ends);
	unload(s);
	probe_programs_free(s->programs);
	hash_free(s->seen);
	hash_free(s->known);
	free(s);
}

static int probes_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct probes_backend backend = { .attach = on_attach,
					  .detach = on_detach,
					  .count = on_count };
	struct probes_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->env = *env;
	s->attach_env.probes = env->probes;
	s->attach_env.symbolizer = env->symbolizer;
	r = probe_programs_new(env, &s->programs);
	if (r == 0)
		r = probe_ends_new(&s->ends);
	s->attach_env.programs = s->programs;
	s->attach_env.ends = s->ends;
	if (r == 0)
		r = hash_new(&s->seen);
	if (r == 0)
		r = hash_new(&s->known);
	if (r < 0) {
		snprintf(why, WHY_LEN, "out of memory");
		s->env.probes = NULL; /* it has no backend yet */
		probes_stop(s);
		return r;
	}
	backend.ctx = s;
	if (env->probes)
		probes_set_backend(env->probes, &backend);
	*ret_state = s;
	return 0;
}

static int probes_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct probes_source *s = state;
	int n;

	if (!s->ring)
		return 0;
	update(s);
	probe_programs_update(s->programs);
	n = bpf_ring_drain(s->ring, horizon_ns, budget, s->env.sink, s->env.sink_ctx);
	probe_ends_update(s->ends, n >= 0 && n < (int)budget ? horizon_ns : 0);
	return n;
}

static int probes_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct probes_source *s = state;

	*ret = (struct event_stream){ 0 };
	return s->ring ? bpf_ring_count(s->ring, stream, cpu, ret) : 0;
}

static struct bpf_object *probes_object(void *state, unsigned i)
{
	struct probes_source *s = state;

	if (i == 0)
		return probe_programs_object(s->programs, false);
	return i == 1 ? probe_programs_object(s->programs, true) : NULL;
}

/* ---- sessions ---- */

struct waiting {
	int slot;
	const struct probe *waits, *failed;
	const struct probe *nowhere; /* no process has its file */
};

/* The probe_fn: of the session's own, and those of all. */
static void look_at_state(void *ctx, struct probe *p)
{
	struct waiting *w = ctx;

	if (p->slot != w->slot && p->slot != PROBES_EVERY)
		return;
	if (p->state == PROBE_ATTACHES)
		w->waits = p;
	if (p->slot == w->slot && p->state == PROBE_FAILED)
		w->failed = p;
	if (p->slot == w->slot && p->state == PROBE_WAITS)
		w->nowhere = p;
}

static void await_answers(struct probes_source *s, struct waiting *w)
{
	uint64_t deadline_ns = boot_ns() + ANSWER_NS;

	do {
		s->updated_ns = 0;
		update(s);
		*w = (struct waiting){ .slot = w->slot };
		probes_each(s->env.probes, look_at_state, w);
	} while (w->waits && !w->failed && boot_ns() < deadline_ns &&
		 symbolizer_probes_wait(s->env.symbolizer, TURN_NS));
}

static int probes_session_open(void *state, const struct trace_config *config, unsigned slot,
			       char why[WHY_LEN])
{
	struct probes_source *s = state;
	struct waiting w = { .slot = (int)slot };
	char long_why[PROBE_WHY_LEN];
	uint32_t id;
	int r = 0;

	if (!s->env.probes)
		return 0;
	for (unsigned i = 0; i < config->n_probes && r == 0; i++) {
		r = probes_add(s->env.probes, &config->probes[i], (int)slot, config->uid, long_why,
			       &id);
		if (r < 0)
			snprintf(why, WHY_LEN, "probe '%.60s': %.430s", config->probes[i].name,
				 long_why);
	}
	if (r == 0) {
		await_answers(s, &w);
		if (w.failed) {
			snprintf(why, WHY_LEN, "probe '%.60s': %.430s", w.failed->def.name,
				 w.failed->why);
			r = -EINVAL;
		} else if (w.waits) {
			snprintf(why, WHY_LEN,
				 "probe '%.60s' is not in place yet: its file is still being read",
				 w.waits->def.name);
		} else if (w.nowhere) {
			snprintf(why, WHY_LEN,
				 "probe '%.60s' waits: no process has mapped its file so far",
				 w.nowhere->def.name);
		}
	}
	if (r < 0)
		probes_remove_of(s->env.probes, (int)slot);
	return r;
}

static void probes_session_close(void *state, unsigned slot)
{
	struct probes_source *s = state;

	if (s->env.probes)
		probes_remove_of(s->env.probes, (int)slot);
}

static int probes_unfinished(void *state, uint64_t end_ns, event_sink_fn *fn, void *fn_ctx)
{
	struct event_hdr hdr = { .time_ns = end_ns, .type = PROBES_STOP, .size = sizeof(hdr) };

	(void)state;
	fn(fn_ctx, &hdr, sizeof(hdr));
	return 0;
}

const struct collector probes_collector = {
	.name = "probes",
	.summary = "probes that users have put on functions, USDT probes and tracepoints",
	.start = probes_start,
	.stop = probes_stop,
	.drain = probes_drain,
	.count = probes_count,
	.object = probes_object,
	.session_open = probes_session_open,
	.session_close = probes_session_close,
	.unfinished = probes_unfinished,
	.is_machine_wide = probes_is_machine_wide,
	.valid = probes_valid,
	.encoder_new = probes_encoder_new,
	.encoder_free = probes_encoder_free,
	.encode = probes_encode,
	.flush = probes_encoder_flush,
	.pending = probes_encoder_pending,
	.stack_ends = probes_encoder_stack_ends,
};
