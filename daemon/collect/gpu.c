/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu.c - what threads ask of GPU drivers, and what comes of it.
 *
 * BPF side: bpf/gpu.bpf.c. Ioctls become slices in gpu_ioctl.c.
 */
#include <asm/unistd.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_load.h"
#include "bpf_ring.h"
#include "collector.h"
#include "gpu.skel.h"
#include "gpu_devices.h"
#include "gpu_encode.h"
#include "log.h"

struct gpu {
	struct gpu_bpf *skel;
	struct bpf_ring *ring;
	struct collector_env env;
	uint8_t majors[GPU_MAX_MAJOR]; /* as the kernel's half has them */
};

static void gpu_stop(void *state)
{
	struct gpu *g = state;

	if (!g)
		return;
	bpf_ring_free(g->ring);
	gpu_bpf__destroy(g->skel);
	free(g);
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
}

static int open_and_load(struct gpu *g, bool own_tracepoints, char why[WHY_LEN])
{
	int r;

	gpu_bpf__destroy(g->skel);
	g->skel = gpu_bpf__open();
	if (!g->skel)
		return -ENOMEM; /* it is built in, so that is all that it can lack */
	bpf_program__set_autoload(g->skel->progs.on_ioctl_enter, own_tracepoints);
	bpf_program__set_autoload(g->skel->progs.on_ioctl_exit, own_tracepoints);
	bpf_program__set_autoload(g->skel->progs.on_any_enter, !own_tracepoints);
	bpf_program__set_autoload(g->skel->progs.on_any_exit, !own_tracepoints);
	r = bpf_load_trim(g->skel->obj, why, WHY_LEN);
	if (r < 0)
		return r;
	g->skel->rodata->ioctl_nr = __NR_ioctl;
	r = bpf_ring_resize(g->skel->obj, g->env.ring_bytes);
	return r < 0 ? r : bpf_load_while(g->skel->skeleton, g->env.keep_up, g->env.keep_up_ctx);
}

/* The way out first: a call whose way in was seen must not miss it. */
static int attach(struct gpu *g)
{
	struct gpu_bpf *skel = g->skel;

	skel->links.on_any_exit = bpf_program__attach(skel->progs.on_any_exit);
	if (!skel->links.on_any_exit)
		return -errno;
	skel->links.on_any_enter = bpf_program__attach(skel->progs.on_any_enter);
	return skel->links.on_any_enter ? 0 : -errno;
}

static int gpu_start(const struct collector_env *env, char why[WHY_LEN], void **ret_state)
{
	struct gpu *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->env = *env;
	r = open_and_load(g, false, why);
	if (r == -ENOTSUP)
		goto fail; /* no BTF; `why` says so */
	if (r == 0)
		r = bpf_ring_open(g->skel->obj, &g->ring);
	if (r == 0) {
		refresh_majors(g);
		r = attach(g);
	}
	if (r < 0) {
		bpf_load_explain(r, "BPF programs", why, WHY_LEN);
		goto fail;
	}
	*ret_state = g;
	return 0;

fail:
	gpu_stop(g);
	return r;
}

static int gpu_drain(void *state, uint64_t horizon_ns, unsigned budget)
{
	struct gpu *g = state;

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

	return i == 0 ? g->skel->obj : NULL;
}

static void gpu_exclude(void *state, const uint32_t *tgids, size_t n)
{
	struct gpu *g = state;

	for (size_t i = 0; i < EVENT_MAX_OWN; i++)
		__atomic_store_n(&g->skel->bss->own_tgids[i], i < n ? tgids[i] : 0,
				 __ATOMIC_RELAXED);
}

static void gpu_tick(void *state, uint64_t now_ns)
{
	(void)now_ns;
	refresh_majors(state);
}

const struct collector gpu_collector = {
	.name = "gpu",
	.summary = "ioctls of GPU drivers",
	.start = gpu_start,
	.stop = gpu_stop,
	.drain = gpu_drain,
	.count = gpu_count,
	.object = gpu_object,
	.tick = gpu_tick,
	.exclude = gpu_exclude,
	.valid = gpu_valid,
	.encoder_new = gpu_encoder_new,
	.encoder_free = gpu_encoder_free,
	.encode = gpu_encode,
	.flush = gpu_encoder_flush,
	.pending = gpu_encoder_pending,
	.lost = gpu_encoder_lost,
};
