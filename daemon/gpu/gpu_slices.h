/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_slices.h - jobs, waits for fences, frames, vblanks and memory as packets. A part of
 * gpu_work.c, which knows what they are.
 *
 * A job is drawn on its queue, below "GPU", while the queue works on it; how long
 * it waited before is a slice on "GPU DRIVER DEVICE" > "RING queue". A frame is on
 * the timelines of its process in the colour of its verdict, and with all details
 * on "GPU DRIVER DEVICE" > "CRTC N".
 */
#ifndef GPU_SLICES_H
#define GPU_SLICES_H

#include "collector.h"
#include "gpu_fences.h"
#include "gpu_frames.h"
#include "gpu_jobs.h"
#include "gpu_list.h"
#include "gpu_point_events.h"

struct gpu_slices;

/* All outlive it. */
int gpu_slices_new(const struct encoder_env *env, struct gpu_list *gpus,
		   const struct gpu_jobs *jobs, struct gpu_slices **ret);
void gpu_slices_free(struct gpu_slices *s); /* takes NULL */

/* Is this process's doing wanted in the session? */
bool gpu_slices_wanted(const struct gpu_slices *s, uint32_t tgid, uint32_t tid, uint64_t cgroup_id);

/* The list of GPUs, if it has grown. */
int gpu_slices_gpus(struct gpu_slices *s);

/* `end_ns`: if it is not done, when the recording ended. */
int gpu_slices_job(struct gpu_slices *s, const struct gpu_job *job, uint64_t end_ns);

struct gpu_wait_text {
	const char *driver, *timeline;
	bool unfinished;
};
int gpu_slices_wait(struct gpu_slices *s, const struct gpu_wait *wait, uint64_t end_ns,
		    const struct gpu_wait_text *text, unsigned n_events);

int gpu_slices_frame(struct gpu_slices *s, const struct gpu_frame *frame);
int gpu_slices_vblank(struct gpu_slices *s, uint32_t device, uint32_t crtc, uint32_t seq,
		      uint64_t time_ns);
int gpu_slices_xid(struct gpu_slices *s, const struct gpu_point_event *ev);
int gpu_slices_memory(struct gpu_slices *s, const struct gpu_point_event *ev);

#endif
