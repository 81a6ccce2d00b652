/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_work.h - what GPUs and displays do: records of tracepoints, handed to the
 * models of jobs, fences and frames. A part of the source gpu, one per session.
 */
#ifndef GPU_WORK_H
#define GPU_WORK_H

#include "collector.h"
#include "gpu_events.h"

struct gpu_links;
struct gpu_work;

bool gpu_work_valid(const struct event_hdr *hdr, size_t len);
/* Of the machine, not of a thread: a session's filter looks at it later. */
bool gpu_work_machine_wide(const struct event_hdr *hdr);

/* `links` outlives it; `sys`: where sysfs is, a literal. */
int gpu_work_new(const struct encoder_env *env, struct gpu_links *links, const char *sys,
		 struct gpu_work **ret);
void gpu_work_free(struct gpu_work *w); /* takes NULL */

int gpu_work_encode(struct gpu_work *w, const struct event_hdr *hdr);
/* An ioctl that has returned, before its slice is made: it may be a commit, or have waited for a
 * job. */
void gpu_work_ioctl(struct gpu_work *w, const struct gpu_ioctl_event *ev);
/* Events are missing: what is open now may be over for long. */
void gpu_work_lost(struct gpu_work *w);
int gpu_work_flush(struct gpu_work *w, uint64_t now_ns, bool final);

#endif
