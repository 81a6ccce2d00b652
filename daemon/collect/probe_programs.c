/* SPDX-License-Identifier: Apache-2.0 */
/* probe_programs.c - the BPF programs of probes, loaded as they are needed. */
#include "probe_programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_load.h"
#include "bpf_ring.h"
#include "log.h"
#include "tracefs.h"
#include "uprobes.h"
#include "walks.h"

/* Behind the structs that they have from there. */
#include "probes.skel.h"
#include "probes_stack.skel.h"

struct probe_programs {
	struct collector_env env;
	bool can_sleep;
	struct probes_bpf *plain;	/* NULL: not loaded */
	struct probes_stack_bpf *stack; /* likewise */
	struct walks walks;
};

int probe_programs_new(const struct collector_env *env, struct probe_programs **ret)
{
	struct probe_programs *pp = calloc(1, sizeof(*pp));

	if (!pp)
		return -ENOMEM;
	pp->env = *env;
	*ret = pp;
	return 0;
}

static void unload_stack(struct probe_programs *pp)
{
	probes_stack_bpf__destroy(pp->stack);
	pp->stack = NULL;
	walks_end(&pp->walks);
}

void probe_programs_free(struct probe_programs *pp)
{
	if (!pp)
		return;
	unload_stack(pp);
	probes_bpf__destroy(pp->plain);
	free(pp);
}

/* ---- loading ---- */

/* Programs of uprobes may wait for memory, where this kernel lets them. */
static void prepare_uprobe(const struct probe_programs *pp, struct bpf_program *prog)
{
	if (!pp->can_sleep)
		(void)bpf_program__set_flags(prog, 0);
	uprobes_prepare(prog);
}

static int load_plain(struct probe_programs *pp, bool can_sleep)
{
	struct probes_bpf *skel = probes_bpf__open();
	int r;

	if (!skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	pp->can_sleep = skel->rodata->can_sleep = can_sleep;
	prepare_uprobe(pp, skel->progs.on_uprobe);
	r = bpf_ring_resize(skel->obj, pp->env.ring_bytes);
	if (r == 0)
		r = probes_bpf__load(skel);
	if (r < 0)
		probes_bpf__destroy(skel);
	else
		pp->plain = skel;
	return r;
}

/* All objects have the maps of the first one. */
static int share(const struct probe_programs *pp, struct bpf_object *obj)
{
	static const char *const names[] = {
		"ring", "streams", "own", "places", "counts", "opens"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(obj, names[i]);
		int fd = bpf_object__find_map_fd_by_name(pp->plain->obj, names[i]), r;

		r = map && fd >= 0 ? bpf_map__reuse_fd(map, fd) : -ENOENT;
		if (r < 0)
			return r;
	}
	return 0;
}

static int prepare_stack(struct probe_programs *pp, struct probes_stack_bpf *skel)
{
	int r = share(pp, skel->obj);

	skel->rodata->can_sleep = pp->can_sleep;
	prepare_uprobe(pp, skel->progs.on_uprobe);
	return r < 0 ? r
		     : walks_prepare(&pp->walks, &pp->env, "probes", skel->obj,
				     &skel->rodata->unwind_by_tables, &skel->rodata->python_frames);
}

static int load_stack(struct probe_programs *pp)
{
	struct probes_stack_bpf *skel = pp->stack = probes_stack_bpf__open();
	int r = skel ? prepare_stack(pp, skel) : -ENOMEM;

	if (r == 0)
		r = probes_stack_bpf__load(skel);
	if (r == 0)
		r = walks_begin(&pp->walks, &pp->env, skel->obj, skel->rodata->python_frames);
	if (r < 0)
		unload_stack(pp);
	return r;
}

int probe_programs_load(struct probe_programs *pp, bool with_stack)
{
	bool had_all = pp->plain && (pp->stack || !with_stack);
	int r = 0;

	if (had_all)
		return 0;
	if (!pp->plain)
		r = load_plain(pp, true);
	if (r < 0)
		r = load_plain(pp, false);
	if (r == 0 && with_stack && !pp->stack)
		r = load_stack(pp);
	if (r == 0 && pp->env.loaded)
		pp->env.loaded(pp->env.sink_ctx);
	return r;
}

struct bpf_object *probe_programs_object(struct probe_programs *pp, bool with_stack)
{
	if (with_stack)
		return pp->stack ? pp->stack->obj : NULL;
	return pp->plain ? pp->plain->obj : NULL;
}

struct bpf_program *probe_programs_uprobe(struct probe_programs *pp, bool with_stack)
{
	return with_stack ? pp->stack->progs.on_uprobe : pp->plain->progs.on_uprobe;
}

static struct bpf_program *tracepoint_of_all(struct probe_programs *pp, bool with_stack)
{
	return with_stack ? pp->stack->progs.on_tracepoint : pp->plain->progs.on_tracepoint;
}

/* ---- places of the kernel ---- */

static const char *program_name(enum probe_kind kind)
{
	switch (kind) {
	case PROBE_FENTRY:
		return "on_entry";
	case PROBE_FEXIT:
		return "on_exit";
	case PROBE_TRACEPOINT:
		return "on_tracepoint";
	default:
		return "on_kprobe";
	}
}

/* Of an object that is opened anew, this program alone. */
static int load_one(struct bpf_object *obj, const struct probe_place *place,
		    struct bpf_program **ret)
{
	const char *name = program_name(place->kind);
	struct bpf_program *prog, *wanted = NULL;
	int r = 0;

	bpf_object__for_each_program(prog, obj)
	{
		bool is_wanted = strcmp(bpf_program__name(prog), name) == 0;

		(void)bpf_program__set_autoload(prog, is_wanted);
		if (is_wanted)
			wanted = prog;
	}
	if (!wanted)
		return -ENOENT;
	if (place->kind == PROBE_FENTRY || place->kind == PROBE_FEXIT)
		r = bpf_program__set_attach_target(wanted, 0, place->symbol);
	if (r == 0)
		r = bpf_object__load(obj);
	*ret = wanted;
	return r;
}

static int attach_tracepoint(const struct bpf_program *prog, const struct probe_place *place,
			     uint64_t cookie, struct bpf_link **ret)
{
	uint64_t id;
	int r = tracefs_event_id(place->group, place->symbol, &id);

	return r < 0 ? r : bpf_attach_tracepoint(prog, id, cookie, ret);
}

static int attach_one(struct bpf_object *obj, const struct probe_place *place, uint64_t cookie,
		      struct bpf_link **ret)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .offset = place->offset);
	struct bpf_program *prog;
	int r = load_one(obj, place, &prog);

	if (r < 0)
		return r;
	if (place->kind == PROBE_TRACEPOINT)
		return attach_tracepoint(prog, place, cookie, ret);
	*ret = place->kind == PROBE_KPROBE
		       ? bpf_program__attach_kprobe_opts(prog, place->symbol, &opts)
		       : bpf_program__attach(prog);
	return *ret ? 0 : -errno;
}

/* The link keeps what it needs: nothing else of the object is left. */
static int attach_plain(struct probe_programs *pp, const struct probe_place *place, uint64_t cookie,
			struct bpf_link **ret)
{
	struct probes_bpf *skel = probes_bpf__open();
	int r = skel ? share(pp, skel->obj) : -ENOMEM;

	if (r == 0) {
		skel->rodata->kernel_cookie = cookie;
		r = attach_one(skel->obj, place, cookie, ret);
	}
	probes_bpf__destroy(skel);
	return r;
}

static int attach_stack(struct probe_programs *pp, const struct probe_place *place, uint64_t cookie,
			struct bpf_link **ret)
{
	struct probes_stack_bpf *skel = probes_stack_bpf__open();
	int r = skel ? prepare_stack(pp, skel) : -ENOMEM;

	if (r == 0) {
		skel->rodata->kernel_cookie = cookie;
		r = attach_one(skel->obj, place, cookie, ret);
	}
	probes_stack_bpf__destroy(skel);
	return r;
}

int probe_programs_attach(struct probe_programs *pp, const struct probe_place *place,
			  bool with_stack, uint64_t cookie, struct bpf_link **ret)
{
	int r = -EEXIST;

	/* At a tracepoint a program may be once; for the second probe there is another one. */
	if (place->kind == PROBE_TRACEPOINT)
		r = attach_tracepoint(tracepoint_of_all(pp, with_stack), place, cookie, ret);
	if (r == -EEXIST)
		r = with_stack ? attach_stack(pp, place, cookie, ret)
			       : attach_plain(pp, place, cookie, ret);
	if (r < 0)
		log_debug("probes: %s: %s", place->symbol, strerror(-r));
	return r;
}

/* ---- while they run ---- */

uint64_t probe_programs_run_ns(struct probe_programs *pp, bool is_uprobe, bool with_stack)
{
	struct bpf_prog_info info = { 0 };
	__u32 len = sizeof(info);
	struct bpf_program *prog;

	if (!probe_programs_object(pp, with_stack))
		return 0;
	prog = is_uprobe ? probe_programs_uprobe(pp, with_stack)
			 : tracepoint_of_all(pp, with_stack);
	if (bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) < 0 || !info.run_cnt)
		return 0;
	return info.run_time_ns / info.run_cnt;
}

void probe_programs_tell(struct probe_programs *pp, uint32_t probe, uint16_t type, uint64_t now_ns)
{
	struct probes_event *inbox = &pp->plain->bss->inbox;
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int r;

	memset(inbox, 0, PROBES_HEAD);
	inbox->hdr.type = type;
	inbox->hdr.time_ns = now_ns;
	inbox->probe = probe;
	r = bpf_prog_test_run_opts(bpf_program__fd(pp->plain->progs.on_notice), &opts);
	if (r < 0)
		log_debug("probes: a pause is not told: %s", strerror(-r));
}

void probe_programs_update(struct probe_programs *pp)
{
	walks_update(&pp->walks);
}
