/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_points.c - tracepoints of GPU jobs, fences, frames and memory. */
#include "gpu_points.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_ending.h"
#include "bpf_load.h"
#include "log.h"
#include "tracefs.h"
#include "tracepoint_format.h"

#define MAX_FORMAT 16384

/*
 * Names of fields, at the place that gpu_points.h gives them. "?" in front: does
 * without, "*" in front: a fence, which takes two places.
 */
struct point {
	const char *system, *name;
	uint16_t flags;
	const char *nums[GPU_POINT_NUMS];
	const char *strs[GPU_POINT_STRS];
};

#define SCHED_OLD                                                           \
	{                                                                   \
		"*fence", NULL, "?job_count", "?hw_job_count", NULL, "?id", \
	}
#define SCHED_NEW                                                                            \
	{                                                                                    \
		"fence_context", "fence_seqno", "?job_count", "?hw_job_count", "?client_id", \
	}
#define FENCE_NUMS                 \
	{                          \
		"context", "seqno" \
	}
#define FENCE_STRS                   \
	{                            \
		"timeline", "driver" \
	}
#define I915_NUMS                                          \
	{                                                  \
		"ctx", "seqno", "dev", "class", "instance" \
	}

static const struct point points[N_GPU_POINTS] = {
	[GPU_SCHED_QUEUE] = { "gpu_scheduler",
			      "drm_sched_job",
			      GPU_LAYOUT_THREAD | GPU_LAYOUT_SUBMITS,
			      SCHED_OLD,
			      { "name" } },
	[GPU_SCHED_RUN] = { "gpu_scheduler", "drm_run_job", 0, SCHED_OLD, { "name" } },
	[GPU_SCHED_DONE] = { "gpu_scheduler", "drm_sched_process_job", 0, { "*fence" }, { NULL } },
	[GPU_SCHED_DEP] = { "gpu_scheduler",
			    "drm_sched_job_wait_dep",
			    0,
			    { NULL, NULL, "ctx", "seqno", NULL, "id" },
			    { "name" } },
	[GPU_SCHED_QUEUE_2] = { "gpu_scheduler",
				"drm_sched_job_queue",
				GPU_LAYOUT_THREAD | GPU_LAYOUT_SUBMITS,
				SCHED_NEW,
				{ "name", "?dev" } },
	[GPU_SCHED_RUN_2] = { "gpu_scheduler",
			      "drm_sched_job_run",
			      0,
			      SCHED_NEW,
			      { "name", "?dev" } },
	[GPU_SCHED_DONE_2] = { "gpu_scheduler",
			       "drm_sched_job_done",
			       0,
			       { "fence_context", "fence_seqno" },
			       { NULL } },
	[GPU_SCHED_DEP_2] = { "gpu_scheduler",
			      "drm_sched_job_add_dep",
			      0,
			      { "fence_context", "fence_seqno", "ctx", "seqno" },
			      { NULL } },
	[GPU_FENCE_INIT] = { "dma_fence", "dma_fence_init",
			     GPU_LAYOUT_THREAD | GPU_LAYOUT_NEW_FENCE, FENCE_NUMS, FENCE_STRS },
	[GPU_FENCE_EMIT] = { "dma_fence", "dma_fence_emit",
			     GPU_LAYOUT_THREAD | GPU_LAYOUT_NEW_FENCE, FENCE_NUMS, FENCE_STRS },
	[GPU_FENCE_SIGNALED] = { "dma_fence", "dma_fence_signaled", GPU_LAYOUT_KNOWN, FENCE_NUMS,
				 FENCE_STRS },
	[GPU_FENCE_WAIT_START] = { "dma_fence", "dma_fence_wait_start",
				   GPU_LAYOUT_THREAD | GPU_LAYOUT_OF_THREAD, FENCE_NUMS,
				   FENCE_STRS },
	[GPU_FENCE_WAIT_END] = { "dma_fence", "dma_fence_wait_end",
				 GPU_LAYOUT_THREAD | GPU_LAYOUT_OF_THREAD, FENCE_NUMS, FENCE_STRS },
	[GPU_I915_ADD] = { "i915",
			   "i915_request_add",
			   GPU_LAYOUT_THREAD | GPU_LAYOUT_REMEMBER | GPU_LAYOUT_SUBMITS,
			   I915_NUMS,
			   { NULL } },
	[GPU_I915_IN] = { "i915", "i915_request_in", 0, I915_NUMS, { NULL } },
	[GPU_VBLANK] = { "drm", "drm_vblank_event", 0, { "crtc", "seq", "?time" }, { NULL } },
	[GPU_VBLANK_QUEUED] = { "drm",
				"drm_vblank_event_queued",
				0,
				{ "crtc", "seq", "file" },
				{ NULL } },
	[GPU_VBLANK_DELIVERED] = { "drm",
				   "drm_vblank_event_delivered",
				   0,
				   { "crtc", "seq", "file" },
				   { NULL } },
	[GPU_NVIDIA_XID] = { "nvidia", "nvidia_dev_xid", 0, { "error_code" }, { "?msg", "?dev" } },
	[GPU_MEM_TOTAL] = { "gpu_mem", "gpu_mem_total", 0, { "gpu_id", "pid", "size" }, { NULL } },
};

const char *gpu_point_system(enum gpu_point point)
{
	return points[point].system;
}

const char *gpu_point_name(enum gpu_point point)
{
	return points[point].name;
}

/* ---- layouts ---- */

static bool number_field(const char *format, const char *name, bool fence, struct gpu_field *ret)
{
	struct tracepoint_field f;

	if (!tracepoint_field(format, name, &f) || f.is_data_loc || f.size > 8)
		return false;
	if (fence && !f.is_pointer)
		return false;
	ret->offset = f.offset;
	ret->size = (uint8_t)f.size;
	ret->kind = fence ? GPU_FIELD_FENCE : f.is_signed ? GPU_FIELD_INT : GPU_FIELD_UINT;
	return true;
}

static bool text_field(const char *format, const char *name, bool fence, struct gpu_field *ret)
{
	struct tracepoint_field f;

	(void)fence;
	if (!tracepoint_field(format, name, &f))
		return false;
	if (f.is_data_loc ? f.size != 4 : (!f.is_pointer || f.size != 8))
		return false;
	ret->offset = f.offset;
	ret->size = (uint8_t)f.size;
	ret->kind = f.is_data_loc ? GPU_FIELD_DATA_LOC : GPU_FIELD_TEXT;
	return true;
}

typedef bool field_fn(const char *format, const char *name, bool fence, struct gpu_field *ret);

static bool all_fields(const char *format, const char *const *names, size_t n, field_fn *fn,
		       struct gpu_field *ret)
{
	for (size_t i = 0; i < n; i++) {
		const char *name = names[i];
		bool optional = name && *name == '?', fence = name && *name == '*';

		if (name && !fn(format, name + (optional || fence), fence, &ret[i]) && !optional)
			return false;
	}
	return true;
}

bool gpu_point_layout(enum gpu_point point, const char *format, struct gpu_layout *ret)
{
	const struct point *p = &points[point];

	*ret = (struct gpu_layout){
		.flags = p->flags,
		.context = NUM_CONTEXT,
		.seqno = NUM_SEQNO,
	};
	return all_fields(format, p->nums, GPU_POINT_NUMS, number_field, ret->nums) &&
	       all_fields(format, p->strs, GPU_POINT_STRS, text_field, ret->strs);
}

/* ---- attaching ---- */

struct gpu_points {
	struct gpu_point_programs programs;
	int layouts_fd;
	struct bpf_link *links[N_GPU_POINTS];
	bool useless[N_GPU_POINTS]; /* there, but not as we know it: told once */
};

int gpu_points_new(const struct gpu_point_programs *programs, int layouts_fd,
		   struct gpu_points **ret)
{
	struct gpu_points *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->programs = *programs;
	p->layouts_fd = layouts_fd;
	*ret = p;
	return 0;
}

void gpu_points_free(struct gpu_points *p)
{
	if (!p)
		return;
	bpf_links_end(p->links, N_GPU_POINTS);
	free(p);
}

static int attach_one(struct gpu_points *p, unsigned i)
{
	struct gpu_layout layout;
	char format[MAX_FORMAT];
	uint64_t id;
	int r;

	if (p->programs.raw[i]) {
		p->links[i] =
			bpf_program__attach_raw_tracepoint(p->programs.raw[i], points[i].name);
		if (p->links[i] || errno == ENOENT)
			return 0;
	}
	r = tracefs_event_id(points[i].system, points[i].name, &id);
	if (r == 0)
		r = tracefs_event_format(points[i].system, points[i].name, format, sizeof(format));
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (!gpu_point_layout((enum gpu_point)i, format, &layout)) {
		p->useless[i] = true;
		log_warn("gpu: tracepoint %s:%s is not as we know it", points[i].system,
			 points[i].name);
		return 0;
	}
	if (bpf_map_update_elem(p->layouts_fd, &i, &layout, BPF_ANY) < 0)
		return -errno;
	return bpf_attach_tracepoint(p->programs.classic, id, i, &p->links[i]);
}

/*
 * The end of a thing before its beginning: what is seen to begin is seen to end.
 * Jobs first, since a driver that has just been loaded is about to be used.
 */
static const uint8_t attach_order[N_GPU_POINTS] = {
	GPU_SCHED_DONE,	    GPU_SCHED_RUN,	  GPU_SCHED_QUEUE,   GPU_SCHED_DONE_2,
	GPU_SCHED_RUN_2,    GPU_SCHED_QUEUE_2,	  GPU_SCHED_DEP,     GPU_SCHED_DEP_2,
	GPU_FENCE_SIGNALED, GPU_FENCE_EMIT,	  GPU_FENCE_INIT,    GPU_I915_IN,
	GPU_I915_ADD,	    GPU_VBLANK_DELIVERED, GPU_VBLANK_QUEUED, GPU_VBLANK,
	GPU_FENCE_WAIT_END, GPU_FENCE_WAIT_START, GPU_NVIDIA_XID,    GPU_MEM_TOTAL,
};

int gpu_points_attach(struct gpu_points *p)
{
	unsigned n_before = gpu_points_attached(p);
	int result = 0, r;

	for (unsigned k = 0; k < N_GPU_POINTS; k++) {
		unsigned i = attach_order[k];

		if (p->links[i] || p->useless[i])
			continue;
		r = attach_one(p, i);
		if (r < 0 && result == 0)
			result = r;
	}
	if (gpu_points_attached(p) != n_before)
		log_debug("gpu: attached to %u tracepoints", gpu_points_attached(p));
	return result;
}

unsigned gpu_points_attached(const struct gpu_points *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < N_GPU_POINTS; i++)
		n += p->links[i] != NULL;
	return n;
}
