/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_slices_impl.h - the insides of gpu_slices.c, shared with what writes frames and memory. */
#ifndef GPU_SLICES_IMPL_H
#define GPU_SLICES_IMPL_H

#include "gpu_lanes.h"
#include "gpu_slices.h"
#include "trace_gpu.h"
#include "trace_writer.h"

#define MAX_LANE_GROUPS 128

/* A ring's queue or a CRTC's frames. */
struct lane_group {
	uint32_t device;
	char name[GPU_RING_NAME + 8];
	struct gpu_lanes lanes;
};

struct gpu_slices {
	struct encoder_env env;
	struct gpu_list *gpus;
	const struct gpu_jobs *jobs;
	size_t n_listed; /* GPUs that the trace knows */
	struct lane_group groups[MAX_LANE_GROUPS];
	size_t n_groups;
	int64_t n_frames; /* tokens */
};

/* A slice or instant in the making. */
struct gpu_slice {
	struct trace_event event;
	struct trace_arg args[TRACE_MAX_ARGS];
};

struct trace_arg *gpu_slice_arg(struct gpu_slice *s, const char *name, enum trace_arg_type type);

/* The track "GPU DRIVER DEVICE" > `name`; 0: out of memory. */
uint64_t gpu_slices_track(struct gpu_slices *s, uint32_t device, const char *name, uint64_t key,
			  const char *description);

/*
 * A track of this name with room for the slice; `*begin_ns` may be put off. 0:
 * there is none.
 */
uint64_t gpu_slices_lane(struct gpu_slices *s, uint32_t device, const char *name,
			 const char *description, uint64_t *begin_ns, uint64_t end_ns);

/* What a process is called; `fallback` if it is not known. Valid until the next event. */
const char *gpu_slices_process(const struct gpu_slices *s, uint32_t tgid, const char *fallback);

#endif
