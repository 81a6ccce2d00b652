/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_points.h - which tracepoints tell of GPU jobs, fences, frames and memory, what
 * their fields are called, and the attaching to those that this kernel has.
 *
 * Drivers are modules, and with them their tracepoints come and go: what is
 * not there yet is tried again whenever a module has been loaded. An attached
 * tracepoint keeps its module from being unloaded; when the source stops, all
 * are let go.
 */
#ifndef GPU_POINTS_H
#define GPU_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu_point_events.h"

/* Numbers of a record by their meaning: indexes in gpu_point_event.nums. */
enum {
	/* of jobs and fences */
	NUM_CONTEXT = 0,
	NUM_SEQNO = 1,
	/* GPU_SCHED_QUEUE*, GPU_SCHED_RUN* */
	NUM_JOB_COUNT = 2,
	NUM_HW_JOB_COUNT = 3,
	NUM_CLIENT_ID = 4, /* since 6.17 */
	NUM_ID = 5,	   /* before, of the scheduler's */
	/* GPU_SCHED_DEP: the job is `id` on its ring; _2: the first two */
	NUM_DEP_CONTEXT = 2,
	NUM_DEP_SEQNO = 3,
	/* GPU_I915_* */
	NUM_DEV = 2,
	NUM_CLASS = 3,
	NUM_INSTANCE = 4,
	/* GPU_VBLANK* */
	NUM_CRTC = 0,
	NUM_SEQ = 1,
	NUM_FILE = 2, /* queued, delivered */
	NUM_TIME = 2, /* vblank: CLOCK_MONOTONIC */
	/* GPU_NVIDIA_XID */
	NUM_XID = 0,
	/* GPU_MEM_TOTAL */
	NUM_GPU_ID = 0,
	NUM_PID = 1, /* 0: of all */
	NUM_SIZE = 2,
};

/* Texts likewise. */
enum {
	STR_RING = 0, /* or the timeline of a fence, or the message */
	STR_DEV = 1,  /* or the driver of a fence */
};

/*
 * The layout of a point, from the text of its tracepoint's `format`. False: a
 * field is missing without which it says nothing. Pure.
 */
bool gpu_point_layout(enum gpu_point point, const char *format, struct gpu_layout *ret);

const char *gpu_point_system(enum gpu_point point);
const char *gpu_point_name(enum gpu_point point);

struct bpf_program;
struct gpu_points;

/* `raw`: programs of raw tracepoints, for what happens in interrupts; NULL: there is none. */
struct gpu_point_programs {
	struct bpf_program *classic;
	struct bpf_program *raw[N_GPU_POINTS];
};

/* `layouts_fd`: the map gpu_layouts. Nothing happens yet. */
int gpu_points_new(const struct gpu_point_programs *programs, int layouts_fd,
		   struct gpu_points **ret);
void gpu_points_free(struct gpu_points *p); /* detaches; takes NULL */

/*
 * Attaches to what there is and was not before. What is not there is no error.
 * 0, or the first error of what is there: -EACCES and -EPERM where tracefs may
 * not be read.
 */
int gpu_points_attach(struct gpu_points *p);
unsigned gpu_points_attached(const struct gpu_points *p); /* how many */

#endif
