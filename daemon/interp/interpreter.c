/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter.c - the frames of interpreters in stacks. */
#include "interpreter.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "frame_functions.h"
#include "frames.h"
#include "jvm_procs.h"
#include "process/process_table_update.h"
#include "python.h"
#include "python_codes.h"
#include "python_procs.h"
#include "symbolize/symbolizer.h"
#include "v8_procs.h"

enum map {
	MAP_PROCS,
	MAP_PROGRAMS,
	MAP_LAYOUTS,
	MAP_THREADS,
	MAP_CODES,
	MAP_RING,
	MAP_STATE,
	MAP_FRAMES_RULES,
	MAP_FRAMES_OBJECTS,
	MAP_FRAMES_RING,
	MAP_FRAMES_STATE,
	N_MAPS
};

static const char *const map_names[N_MAPS] = {
	"python_procs",	  "python_programs", "python_layouts", "python_threads",
	"python_codes",	  "python_ring",     "python_state",   "frames_rules",
	"frames_objects", "frames_ring",     "frames_state",
};

/* As in python.bpf.h. */
struct python_code_key {
	uint64_t address;
	uint32_t tgid;
	uint32_t pad;
};

/* As in frames.bpf.h. */
struct frames_key {
	uint64_t address;
	uint32_t tgid;
	uint32_t pad;
};

struct interpreter {
	struct symbolizer *sym;
	struct python_procs *procs;
	struct python_codes *codes; /* NULL without users, as the maps are */
	struct module *module;
	unsigned n_users;
	int maps[N_MAPS];
	struct ring_buffer *ring;
	size_t n_layouts; /* in the map */
	/* Of the maps before, from which the next ones go on. */
	struct python_state state;
	struct frames_state frames_state;
	struct process_table *processes;
	struct v8_procs *v8_procs;
	struct jvm_procs *jvm_procs;
	struct frame_functions *functions;
	struct ring_buffer *frames_ring;
	uint64_t n_unnamed;
};

/* ---- what the walkers know ---- */

static void tell_layouts(struct interpreter *in)
{
	size_t n;
	const struct python_layout *layouts = python_procs_layouts(in->procs, &n);

	for (; in->n_layouts < n; in->n_layouts++) {
		uint32_t i = (uint32_t)in->n_layouts;

		if (bpf_map_update_elem(in->maps[MAP_LAYOUTS], &i, &layouts[i], BPF_ANY) < 0)
			break;
	}
}

/* A full map leaves some without Python frames. */
static void tell_proc(void *ctx, uint32_t tgid, const struct python_proc *proc)
{
	struct interpreter *in = ctx;

	if (!in->n_users)
		return;
	if (!proc) {
		(void)bpf_map_delete_elem(in->maps[MAP_PROCS], &tgid);
		return;
	}
	tell_layouts(in);
	if (bpf_map_update_elem(in->maps[MAP_PROCS], &tgid, proc, BPF_ANY) < 0)
		log_debug("python: process %u: %s", tgid, strerror(errno));
}

static void tell_program(void *ctx, const struct python_program_key *key,
			 const struct python_program *program)
{
	struct interpreter *in = ctx;

	if (!in->n_users)
		return;
	tell_layouts(in);
	if (program)
		(void)bpf_map_update_elem(in->maps[MAP_PROGRAMS], key, program, BPF_ANY);
	else
		(void)bpf_map_delete_elem(in->maps[MAP_PROGRAMS], key);
}

static const struct python_listener listener = { .proc = tell_proc, .program = tell_program };

static void on_forgotten(void *ctx, uint32_t tgid, uint64_t address)
{
	struct interpreter *in = ctx;
	struct python_code_key key = { .address = address, .tgid = tgid };

	(void)bpf_map_delete_elem(in->maps[MAP_CODES], &key);
}

/* NULL: there is none any more. */
static void tell_rule(struct interpreter *in, uint32_t tgid, const struct frames_rule *rule)
{
	if (in->n_users && rule) {
		if (bpf_map_update_elem(in->maps[MAP_FRAMES_RULES], &tgid, rule, BPF_ANY) < 0)
			log_debug("frames: process %u: %s", tgid, strerror(errno));
	} else if (in->n_users) {
		(void)bpf_map_delete_elem(in->maps[MAP_FRAMES_RULES], &tgid);
		frame_functions_emptied(in->functions, tgid);
	}
}

static void tell_v8_rule(void *ctx, uint32_t tgid, const struct v8_proc *proc)
{
	tell_rule(ctx, tgid, proc ? proc->rule : NULL);
}

static void tell_jvm_rule(void *ctx, uint32_t tgid, const struct frames_rule *rule)
{
	tell_rule(ctx, tgid, rule);
}

static uint64_t jvm_symbols(void *ctx, uint32_t tgid, uint64_t *ret)
{
	struct interpreter *in = ctx;
	uint64_t id = jvm_procs_id(in->jvm_procs, tgid);

	return id && process_table_jvm(in->processes, tgid, ret) == 0 ? id : 0;
}

static void on_forgotten_object(void *ctx, uint32_t tgid, uint64_t address)
{
	struct interpreter *in = ctx;
	struct frames_key key = { .address = address, .tgid = tgid };

	if (in->n_users)
		(void)bpf_map_delete_elem(in->maps[MAP_FRAMES_OBJECTS], &key);
}

/* ---- mappings ---- */

static void on_mapped(void *ctx, uint32_t tgid, const struct mapping *mapping)
{
	struct interpreter *in = ctx;

	python_procs_mapped(in->procs, tgid, mapping);
	v8_procs_mapped(in->v8_procs, tgid, mapping);
	jvm_procs_mapped(in->jvm_procs, tgid, mapping);
}

static void on_forked(void *ctx, uint32_t child, uint32_t parent)
{
	struct interpreter *in = ctx;

	python_procs_forked(in->procs, child, parent);
	v8_procs_forked(in->v8_procs, child, parent);
	jvm_procs_forked(in->jvm_procs, child, parent);
}

static void on_emptied(void *ctx, uint32_t tgid)
{
	struct interpreter *in = ctx;

	python_procs_emptied(in->procs, tgid);
	v8_procs_emptied(in->v8_procs, tgid);
	jvm_procs_emptied(in->jvm_procs, tgid);
}

static const struct maps_observer observer = {
	.mapped = on_mapped,
	.forked = on_forked,
	.emptied = on_emptied,
};

int interpreter_new(struct symbolizer *sym, struct process_table *processes,
		    struct interpreter **ret)
{
	struct interpreter *in = calloc(1, sizeof(*in));
	struct frame_functions_config v8 = { .sym = sym,
					     .proc_fd = process_table_proc_fd(processes),
					     .jvm = jvm_symbols,
					     .forget = on_forgotten_object };
	int r;

	if (!in)
		return -ENOMEM;
	v8.ctx = in;
	in->sym = sym;
	in->processes = processes;
	for (int i = 0; i < N_MAPS; i++)
		in->maps[i] = -1;
	r = python_procs_new(sym, &listener, in, &in->procs);
	if (r == 0)
		r = v8_procs_new(sym, tell_v8_rule, in, &in->v8_procs);
	if (r == 0)
		r = jvm_procs_new(tell_jvm_rule, in, &in->jvm_procs);
	v8.procs = in->v8_procs;
	if (r == 0)
		r = frame_functions_new(&v8, &in->functions);
	if (r < 0) {
		interpreter_free(in);
		return r;
	}
	process_table_observe_maps(processes, &observer, in);
	*ret = in;
	return 0;
}

/* ---- users ---- */

/*
 * Locations outlive the maps, and so may samples that wait: a number must never
 * mean another function.
 */
static int set_state(struct interpreter *in)
{
	uint32_t zero = 0;

	if (bpf_map_update_elem(in->maps[MAP_STATE], &zero, &in->state, BPF_ANY) < 0 ||
	    bpf_map_update_elem(in->maps[MAP_FRAMES_STATE], &zero, &in->frames_state, BPF_ANY) < 0)
		return -errno;
	return 0;
}

static void keep_state(struct interpreter *in)
{
	struct frames_state frames_now;
	struct python_state now;
	uint32_t zero = 0;

	if (in->maps[MAP_STATE] >= 0 &&
	    bpf_map_lookup_elem(in->maps[MAP_STATE], &zero, &now) == 0 &&
	    now.n_codes > in->state.n_codes)
		in->state = now;
	if (in->maps[MAP_FRAMES_STATE] >= 0 &&
	    bpf_map_lookup_elem(in->maps[MAP_FRAMES_STATE], &zero, &frames_now) == 0 &&
	    frames_now.n_objects > in->frames_state.n_objects)
		in->frames_state = frames_now;
}

static void close_maps(struct interpreter *in)
{
	keep_state(in);
	ring_buffer__free(in->ring);
	ring_buffer__free(in->frames_ring);
	in->ring = in->frames_ring = NULL;
	for (int i = 0; i < N_MAPS; i++) {
		if (in->maps[i] >= 0)
			close(in->maps[i]);
		in->maps[i] = -1;
	}
	python_codes_free(in->codes);
	in->codes = NULL;
	in->n_layouts = 0;
}

void interpreter_free(struct interpreter *in)
{
	if (!in)
		return;
	close_maps(in);
	python_procs_free(in->procs);
	frame_functions_free(in->functions);
	v8_procs_free(in->v8_procs);
	jvm_procs_free(in->jvm_procs);
	free(in);
}

int interpreter_reuse(struct interpreter *in, struct bpf_object *obj)
{
	for (int i = 0; i < N_MAPS && in->n_users; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, map_names[i]);
		int r = map ? bpf_map__reuse_fd(map, in->maps[i]) : -ENOENT;

		if (r < 0)
			return r;
	}
	return 0;
}

static int on_code(void *ctx, void *record, size_t len)
{
	struct interpreter *in = ctx;

	if (python_codes_add(in->codes, record, len) == -EBADMSG)
		log_debug("python: a function's description makes no sense");
	return 0;
}

static int on_object(void *ctx, void *record, size_t len)
{
	struct interpreter *in = ctx;

	if (frame_functions_add(in->functions, record, len) == -EBADMSG)
		log_debug("v8: a function's description makes no sense");
	return 0;
}

/* The first one's maps become everybody's. */
static int open_maps(struct interpreter *in, struct bpf_object *obj)
{
	int r;

	for (int i = 0; i < N_MAPS; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, map_names[i]);

		in->maps[i] = map ? fcntl(bpf_map__fd(map), F_DUPFD_CLOEXEC, 3) : -1;
		if (in->maps[i] < 0)
			return map ? -errno : -ENOENT;
	}
	r = set_state(in);
	if (r == 0)
		r = python_codes_new(on_forgotten, in, &in->codes);
	if (r < 0)
		return r;
	in->ring = ring_buffer__new(in->maps[MAP_RING], on_code, in, NULL);
	if (in->ring)
		in->frames_ring = ring_buffer__new(in->maps[MAP_FRAMES_RING], on_object, in, NULL);
	return in->frames_ring ? 0 : -errno;
}

int interpreter_use(struct interpreter *in, struct bpf_object *obj)
{
	int r = in->n_users ? 0 : open_maps(in, obj);

	if (r < 0) {
		close_maps(in);
		return r;
	}
	if (in->n_users++ == 0) {
		python_procs_tell_all(in->procs);
		v8_procs_tell_all(in->v8_procs);
		jvm_procs_tell_all(in->jvm_procs);
	}
	return 0;
}

void interpreter_unuse(struct interpreter *in)
{
	if (in->n_users && --in->n_users == 0) {
		frame_functions_clear(in->functions);
		close_maps(in);
	}
}

/* ---- frames ---- */

/* A description is in the ring before any frame that refers to it is in another. */
static const struct python_code_info *find_code(struct interpreter *in, uint32_t number)
{
	const struct python_code_info *c = python_codes_get(in->codes, number);

	if (c || !number)
		return c;
	(void)ring_buffer__consume(in->ring);
	return python_codes_get(in->codes, number);
}

/* What all Python frames are of. NULL: out of memory. */
static struct module *python_module(struct interpreter *in)
{
	if (!in->module)
		in->module = symbolizer_pseudo_module(in->sym, "[python]");
	return in->module;
}

/* Numbers that no function has. */
#define CODE_UNNAMED 0
#define CODE_GAP     UINT32_MAX

static struct location *locate_none(struct interpreter *in, uint32_t code, const char *name)
{
	struct module *m = python_module(in);

	return m ? symbolizer_locate_line(in->sym, m, code, name, "", 0) : NULL;
}

struct location *interpreter_gap(struct interpreter *in)
{
	return locate_none(in, CODE_GAP, "[python frames missing]");
}

static struct location *locate_python(struct interpreter *in, uint64_t word)
{
	struct module *m = python_module(in);
	const struct python_code_info *c = NULL;

	if (!m)
		return NULL;
	if (in->n_users)
		c = find_code(in, PYTHON_WORD_CODE(word));
	if (!c) {
		in->n_unnamed++;
		return locate_none(in, CODE_UNNAMED, "[python]");
	}
	return symbolizer_locate_line(in->sym, m, c->number, c->name, c->file,
				      (uint32_t)python_code_line(c, PYTHON_WORD_UNIT(word)));
}

static struct location *locate_v8(struct interpreter *in, uint32_t number)
{
	struct location *loc = frame_functions_locate(in->functions, number);

	if (!loc && in->n_users) {
		(void)ring_buffer__consume(in->frames_ring);
		loc = frame_functions_locate(in->functions, number);
		frame_functions_ask(in->functions);
	}
	return loc ? loc : frame_functions_nameless(in->functions);
}

struct location *interpreter_locate(struct interpreter *in, uint64_t word)
{
	if (FRAMES_IS_WORD(word))
		return locate_v8(in, FRAMES_WORD_NUMBER(word));
	return locate_python(in, word);
}

void interpreter_collect(struct interpreter *in)
{
	if (!in->n_users)
		return;
	(void)ring_buffer__consume(in->ring);
	(void)ring_buffer__consume(in->frames_ring);
	frame_functions_collect(in->functions);
}

void interpreter_stats(const struct interpreter *in, struct interpreter_stats *ret)
{
	*ret = (struct interpreter_stats){
		.n_processes = python_procs_count(in->procs),
		.n_functions = in->codes ? python_codes_count(in->codes) : 0,
		.n_unknown_versions = python_procs_unknown(in->procs),
		.n_unnamed = in->n_unnamed,
		.n_v8_processes = v8_procs_count(in->v8_procs),
		.n_v8_functions = frame_functions_count(in->functions),
		.n_v8_unknown = v8_procs_unknown(in->v8_procs),
		.n_v8_missed = frame_functions_missed(in->functions),
		.v8_why = v8_procs_why(in->v8_procs),
	};
}
