/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - what threads ask of GPU drivers, and what comes of it.
 *
 * BPF side: bpf/gpu.bpf.c. Ioctls become slices in gpu_ioctl.c, what comes of them
 * in gpu_work.c.
 */
#include <asm/unistd.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_ending.h"
#include "bpf_iter.h"
#include "bpf_load.h"
#include "bpf_loading.h"
#include "bpf_ring.h"
#include "collector.h"
#include "gpu.skel.h"
#include "gpu/gpu_devices.h"
#include "gpu/gpu_encode.h"
#include "gpu/gpu_ioctl_table.h"
#include "gpu/gpu_points.h"
#include "gpu/gpu_rules.h"
#include "gpu/gpu_work.h"
#include "gpu_programs.h"
#include "log.h"
#include "walks.h"

#define COMPAT_IOCTL_NR 54 /* of 32-bit programs, on x86 and on Arm */

struct gpu {
	struct gpu_bpf *skel;
	struct bpf_loading *loading; /* NULL: that is over */
	struct gpu_bpf *compat; /* those for all system calls; NULL: not needed, or in `skel` */
	struct bpf_ring *ring;
	struct collector_env env;
	struct walks walks;
	struct gpu_places at;
	bool compat_failed; /* 32-bit programs cannot be watched */
	struct gpu_points *points;
	uint32_t n_module_loads;       /* that have been looked after */
	uint8_t majors[GPU_MAX_MAJOR]; /* as the kernel's half has them */
};

static void unload(struct gpu *g)
{
	(void)bpf_loading_end(&g->loading, NULL, NULL);
	bpf_ring_free(g->ring);
	g->ring = NULL;
	if (g->compat)
		bpf_skeleton_end(g->compat->skeleton);
	gpu_bpf__destroy(g->compat);
	g->compat = NULL;
	if (g->skel)
		bpf_skeleton_end(g->skel->skeleton);
	gpu_bpf__destroy(g->skel);
	g->skel = NULL;
	walks_end(&g->walks);
}

static void gpu_stop(void *state)
{
	struct gpu *g = state;

	if (!g)
		return;
	gpu_points_free(g->points); /* first of all: they keep drivers from being unloaded */
	unload(g);
	free(g);
}

static void set_slots(struct gpu_bpf *skel)
{
	static const struct {
		enum gpu_class class;
		const char *driver;
	} slots[] = {
		{ GPU_KFD, "kfd" },
		{ GPU_NVIDIA, "nvidia" },
		{ GPU_NVIDIA_UVM, "nvidia-uvm" },
		{ GPU_DMA_HEAP, "dma-heap" },
		{ GPU_UDMABUF, "udmabuf" },
		{ GPU_DMA_BUF, "dma-buf" },
		{ GPU_SYNC_FILE, "sync_file" },
	};
	uint32_t *ret = (uint32_t *)skel->rodata->slot_of_class;

	for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		ret[slots[i].class] = gpu_ioctl_slot(slots[i].driver);
	skel->rodata->modeset_slot = gpu_ioctl_slot("nvidia-modeset");
	skel->rodata->core_slot = gpu_ioctl_slot("drm");
}

/* Drivers come and go: NVIDIA's get a major number when their module is loaded. */
static void refresh_majors(struct gpu *g)
{
	int fd = bpf_map__fd(g->skel->maps.gpu_majors);
	uint8_t now[GPU_MAX_MAJOR];

	(void)gpu_majors_read(now); /* the fixed ones are set anyway */
	for (uint32_t i = 0; i < GPU_MAX_MAJOR; i++)
		if (now[i] != g->majors[i] && bpf_map_update_elem(fd, &i, &now[i], BPF_ANY) == 0)
			g->majors[i] = now[i];
	g->skel->data->udmabuf_minor = gpu_udmabuf_minor();
}

/*
 * What the kernel's half has learnt of devices is forgotten, so that it learns of
 * another driver behind the same number. It cannot read names where the kernel tells
 * nothing of the DRM core's types: then user space says what it knows.
 */
static void refresh_nodes(struct gpu *g)
{
	int fd = bpf_map__fd(g->skel->maps.gpu_nodes);
	uint32_t keys[512], n = 0, key;
	struct gpu_node node;

	__atomic_fetch_add(&g->skel->data->generation, 1, __ATOMIC_RELAXED);
	for (int r = bpf_map_get_next_key(fd, NULL, &key); r == 0 && n < 512;
	     r = bpf_map_get_next_key(fd, &key, &key))
		keys[n++] = key;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t major = keys[i] >> 20, minor = keys[i] & 0xfffff;
		enum gpu_class class;

		if (bpf_map_lookup_elem(fd, &keys[i], &node) < 0)
			continue;
		if (node.driver[0] && !node.by_daemon) {
			(void)bpf_map_delete_elem(fd, &keys[i]);
			continue;
		}
		memset(&node, 0, sizeof(node));
		class = major < GPU_MAX_MAJOR && g->majors[major] == GPU_ACCEL ? GPU_ACCEL
									       : GPU_DRM;
		gpu_driver_name(class, major, minor, node.driver);
		node.slot = gpu_ioctl_slot(node.driver);
		node.by_daemon = 1;
		(void)bpf_map_update_elem(fd, &keys[i], &node, BPF_ANY);
	}
}

/* ---- programs ---- */

static int await_loaded(struct gpu *g)
{
	return bpf_loading_end(&g->loading, g->env.keep_up, g->env.keep_up_ctx);
}

/* Without the iterators, ioctls that go on when a session starts or ends are not shown. */
static int open_object(struct gpu *g, bool with_iterators, char why[WHY_LEN])
{
	int r;

	(void)await_loaded(g); /* of a failed attempt */
	gpu_bpf__destroy(g->skel);
	g->loading = bpf_loading_new();
	g->skel = gpu_bpf__open_opts(bpf_loading_opts(g->loading));
	if (!g->skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	gpu_programs_choose(g->skel, &g->at, with_iterators);
	r = bpf_load_trim(g->skel->obj, why, WHY_LEN);
	if (r < 0)
		return r;
	g->skel->rodata->ioctl_nr = __NR_ioctl;
	g->skel->rodata->compat_ioctl_nr = COMPAT_IOCTL_NR;
	set_slots(g->skel);
	r = bpf_ring_resize(g->skel->obj, g->env.ring_bytes);
	if (r == 0)
		r = walks_prepare(&g->walks, &g->env, "gpu", g->skel->obj,
				  &g->skel->rodata->unwind_by_tables,
				  &g->skel->rodata->python_frames);
	if (r == 0)
		bpf_loading_begin(g->loading, g->skel->skeleton);
	return r;
}

/* The bpf_iter_fn that counts. */
static void count(void *ctx, const struct event_hdr *hdr, size_t len)
{
	(void)hdr;
	(void)len;
	++*(unsigned *)ctx;
}

/*
 * Seldom wanted, and as large as all others: these programs come in a second object with the
 * same maps.
 */
static int start_compat(struct gpu *g)
{
	struct bpf_loading *loading = bpf_loading_new();
	struct gpu_bpf *skel = gpu_bpf__open_opts(bpf_loading_opts(loading));
	const struct gpu_places at = { .place = GPU_AT_ALL_CALLS };
	int r = -ENOMEM;

	if (skel) {
		gpu_programs_choose_compat(skel);
		r = bpf_reuse_maps(skel->obj, g->skel->obj);
	}
	if (r == 0)
		bpf_loading_begin(loading, skel->skeleton);
	if (r == 0)
		r = bpf_loading_end(&loading, g->env.keep_up, g->env.keep_up_ctx);
	if (r == 0)
		r = gpu_programs_attach(skel, &at);
	(void)bpf_loading_end(&loading, NULL, NULL);
	if (r == 0)
		g->compat = skel;
	else
		gpu_bpf__destroy(skel);
	return r;
}

/* Ioctls of 32-bit programs are seen at the tracepoints of all calls only. */
static void look_for_compat(struct gpu *g)
{
	struct gpu_bpf *skel = g->skel;
	unsigned n = 0;

	if (g->compat || !skel->links.compat_processes || g->compat_failed ||
	    bpf_iter_run(skel->links.compat_processes, count, &n) < 0 || n == 0)
		return;
	g->compat_failed = start_compat(g) < 0;
	if (g->compat_failed)
		log_warn("gpu: there are 32-bit programs, whose ioctls are not shown");
	else
		log_info("gpu: there are 32-bit programs: all system calls are looked at");
}

/* Then those that have been entered before; what the iterator finds stays in the kernel. */
static int attach(struct gpu *g)
{
	struct gpu_bpf *skel = g->skel;
	int r = gpu_programs_attach(skel, &g->at);

	if (r < 0 || !bpf_program__autoload(skel->progs.unfinished))
		return r;
	skel->links.unfinished = bpf_program__attach(skel->progs.unfinished);
	skel->links.entered_before = bpf_program__attach(skel->progs.entered_before);
	if (bpf_program__autoload(skel->progs.compat_processes))
		skel->links.compat_processes = bpf_program__attach(skel->progs.compat_processes);
	look_for_compat(g);
	if (skel->links.entered_before)
		(void)bpf_iter_run(skel->links.entered_before, NULL, NULL); /* as good as it gets */
	return 0;
}

/* With what has been opened. */
static int try_start(struct gpu *g, char why[WHY_LEN])
{
	int r = await_loaded(g);

	if (r < 0) {
		r = open_object(g, false, why);
		if (r == 0)
			r = await_loaded(g);
	}
	if (r == 0)
		r = walks_begin(&g->walks, &g->env, g->skel->obj, g->skel->rodata->python_frames);
	if (r == 0)
		r = bpf_ring_open(g->skel->obj, &g->ring);
	if (r == 0)
		r = gpu_rules_write(bpf_map__fd(g->skel->maps.gpu_rules),
				    bpf_map__fd(g->skel->maps.gpu_drivers));
	if (r < 0)
		return r;
	memset(g->majors, 0, sizeof(g->majors));
	refresh_majors(g);
	r = attach(g);
	return r;
}

/*
 * Jobs, fences and frames are told by tracepoints, most of which come with a
 * driver: those that there are now, and later those of modules that are loaded.
 * Without them there are still the ioctls.
 */
static void start_points(struct gpu *g, char why[WHY_LEN])
{
	struct gpu_bpf *skel = g->skel;
	struct gpu_point_programs programs = {
		.classic = skel->progs.on_gpu_point,
		.raw = {
			[GPU_SCHED_DONE] = skel->progs.on_gpu_sched_done,
			[GPU_SCHED_DONE_2] = skel->progs.on_gpu_sched_done,
			[GPU_FENCE_SIGNALED] = skel->progs.on_gpu_signaled,
			[GPU_VBLANK] = skel->progs.on_gpu_vblank,
			[GPU_VBLANK_DELIVERED] = skel->progs.on_gpu_delivered,
		},
	};
	int r;

	skel->links.on_module_load = bpf_program__attach(skel->progs.on_module_load);
	r = gpu_points_new(&programs, bpf_map__fd(skel->maps.gpu_layouts), &g->points);
	if (r == 0)
		r = gpu_points_attach(g->points);
	if (r < 0 && !why[0])
		snprintf(why, WHY_LEN,
			 "without GPU jobs and frames: tracepoints: %s: may tracefs be read?",
			 strerror(-r));
}

/* A module has been loaded: it may have brought some. */
static void look_for_points(struct gpu *g)
{
	uint32_t n = __atomic_load_n(&g->skel->bss->n_module_loads, __ATOMIC_RELAXED);
	int r;

	if (n == g->n_module_loads || !g->points)
		return;
	g->n_module_loads = n;
	r = gpu_points_attach(g->points);
	if (r < 0)
		log_info("gpu: tracepoints: %s", strerror(-r));
}

static int gpu_prepare(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct gpu *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->env = *env;
	gpu_places_find(&g->at);
	r = open_object(g, true, why);
	if (r < 0 && r != -ENOTSUP) /* no BTF; `why` says so */
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
	if (r < 0)
		gpu_stop(g);
	else
		*ret_state = g;
	return r;
}

static int gpu_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct gpu *g = *ret_state;
	int r = try_start(g, why);

	(void)env;
	while (r < 0 && g->at.place < GPU_AT_ALL_CALLS) {
		unload(g);
		g->at.place++;
		r = open_object(g, true, why);
		if (r == 0)
			r = try_start(g, why);
	}
	if (r == 0) {
		start_points(g, why);
	} else {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		gpu_stop(g);
	}
	return r;
}

static int gpu_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct gpu *g = state;

	walks_update(&g->walks);
	look_for_points(g);
	return bpf_ring_drain(g->ring, horizon_ns, budget, g->env.sink, g->env.sink_ctx);
}

static int gpu_count(void *state, unsigned stream, unsigned cpu, struct event_stream *ret)
{
	struct gpu *g = state;

	return bpf_ring_count(g->ring, stream, cpu, ret);
}

static struct bpf_object *gpu_object(void *state, unsigned i)
{
	struct gpu *g = state;

	if (i == 0)
		return g->skel->obj;
	return i == 1 && g->compat ? g->compat->obj : NULL;
}

static void gpu_tick(void *state, uint64_t now_ns)
{
	struct gpu *g = state;

	(void)now_ns;
	refresh_majors(g);
	refresh_nodes(g);
	if (!g->skel->links.on_module_load && g->points)
		(void)gpu_points_attach(g->points); /* nobody tells of modules: look */
	look_for_compat(g);
}

struct unfinished {
	uint64_t end_ns;
	event_sink_fn *fn;
	void *fn_ctx;
};

static void push_unfinished(void *ctx, const struct event_hdr *hdr, size_t len)
{
	const struct unfinished *u = ctx;
	struct gpu_ioctl_event ev;

	if (len > sizeof(ev) || !gpu_valid(hdr, len))
		return;
	memcpy(&ev, hdr, len);
	ev.hdr.time_ns = u->end_ns;
	if (ev.enter_ns < u->end_ns)
		u->fn(u->fn_ctx, &ev.hdr, len);
}

static int gpu_unfinished(void *state, uint64_t end_ns, event_sink_fn *fn, void *fn_ctx)
{
	struct gpu *g = state;
	struct unfinished u = { end_ns, fn, fn_ctx };

	if (!g->skel->links.unfinished)
		return 0;
	return bpf_iter_run(g->skel->links.unfinished, push_unfinished, &u);
}

const struct collector gpu_collector = {
	.name = "gpu",
	.summary = "ioctls of GPU drivers, jobs of GPUs, waits for fences, frames of displays",
	.prepare = gpu_prepare,
	.start = gpu_start,
	.stop = gpu_stop,
	.drain = gpu_drain,
	.count = gpu_count,
	.object = gpu_object,
	.tick = gpu_tick,
	.unfinished = gpu_unfinished,
	.is_machine_wide = gpu_work_machine_wide,
	.valid = gpu_valid,
	.encoder_new = gpu_encoder_new,
	.encoder_free = gpu_encoder_free,
	.encode = gpu_encode,
	.flush = gpu_encoder_flush,
	.pending = gpu_encoder_pending,
	.stack_ends = gpu_encoder_stack_ends,
	.lost = gpu_encoder_lost,
};
