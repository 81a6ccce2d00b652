/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_gpu.h - packets of GPUs and displays: the list of GPUs, jobs on their
 * queues, frames with a verdict. All on SEQ_GPU. Part of the trace writer.
 */
#ifndef TRACE_GPU_H
#define TRACE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace_writer.h"

struct trace_gpu {
	const char *name;
	const char *pci_bdf; /* or NULL */
};

/* What gpu_id N means: the N-th of the list. To be repeated as a whole when it grows. */
int trace_gpu_list(struct trace_writer *w, const struct trace_gpu *gpus, size_t n);

enum trace_stage_category { STAGE_OTHER, STAGE_GRAPHICS, STAGE_COMPUTE };

struct trace_stage_arg {
	const char *name;
	char value[48];
};

/* A job on a queue of a GPU: drawn where the queue worked on it. */
struct trace_stage {
	uint64_t id;		       /* not 0; that of the slices that submit it or wait for it */
	uint64_t time_ns, duration_ns; /* > 0 */
	uint32_t pid;		       /* > 0 */
	uint32_t gpu;		       /* place in the list */
	const char *queue;	       /* few different ones: interned */
	enum trace_stage_category category;
	const char *name; /* likewise */
	const struct trace_stage_arg *args;
	size_t n_args;
	const uint64_t *waits; /* jobs that it had to wait for */
	size_t n_waits;
};
int trace_stage(struct trace_writer *w, const struct trace_stage *stage, unsigned n_events);

enum trace_present { PRESENT_ON_TIME = 1, PRESENT_LATE, PRESENT_EARLY, PRESENT_DROPPED };

/* Whose fault a late frame is decides its colour: jank types of FrameTimelineEvent. */
enum trace_jank {
	JANK_NONE = 1,
	JANK_DISPLAY = 8,
	JANK_CPU = 16, /* the process that owns the display */
	JANK_GPU = 32,
	JANK_APP = 64,
	JANK_DROPPED = 1024,
};

struct trace_frame {
	int64_t token;	       /* its number, and its name in the UI; not 0 */
	int64_t display_token; /* of a surface: the frame that shows it; 0: this is one of a display
				*/
	uint32_t pid;
	const char *layer; /* of a surface */
	uint64_t expected_ns, expected_end_ns;
	uint64_t time_ns, end_ns; /* > time_ns */
	enum trace_present present;
	enum trace_jank jank;
	bool used_gpu;
};

/* A surface's frame is written before the display's. */
int trace_frame(struct trace_writer *w, const struct trace_frame *frame);

#endif
