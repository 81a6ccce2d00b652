/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_frame_slices.c - frames and vblanks as packets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gpu_slices_impl.h"

#define FRAMES_HELP "From the commit of a frame to the vblank that showed it, in stages."
#define VBLANK_HELP "Vertical blanks, as far as somebody asked to be told of them."

/* Colours go by the name: these differ. */
static const char *const frame_names[N_GPU_VERDICTS] = {
	[FRAME_LATENCY] = "frame",
	[FRAME_ON_TIME] = "frame on time",
	[FRAME_LATE] = "frame late",
	[FRAME_DROPPED] = "frame dropped",
};

/* ---- in colours: FrameTimelineEvent ---- */

/* Whose frame on a timeline it is. */
enum whose { OF_DISPLAY, OF_CLIENT, OF_LATE_CLIENT /* its drawing was not done in time */ };

/*
 * Red is whose own fault it is, yellow is a client that others have made late,
 * green a compositor whose client was late.
 */
static enum trace_jank jank_of(const struct gpu_frame *frame, enum whose whose)
{
	if (frame->verdict == FRAME_DROPPED)
		return JANK_DROPPED;
	if (frame->verdict != FRAME_LATE)
		return JANK_NONE;
	if (whose == OF_LATE_CLIENT)
		return JANK_APP;
	switch (frame->reason) {
	case REASON_GPU:
		return JANK_GPU;
	case REASON_APPLICATION:
		return whose == OF_DISPLAY && frame->n_clients ? JANK_APP : JANK_CPU;
	default:
		return frame->commit.time_ns > frame->target_ns ? JANK_CPU : JANK_DISPLAY;
	}
}

static void fill(const struct gpu_frame *frame, struct trace_frame *f)
{
	uint64_t period_ns = frame->period_ns ? frame->period_ns : 1;

	f->present = frame->verdict == FRAME_DROPPED ? PRESENT_DROPPED
		     : frame->verdict == FRAME_LATE  ? PRESENT_LATE
						     : PRESENT_ON_TIME;
	f->end_ns = frame->present_ns;
	f->expected_end_ns = frame->target_ns ? frame->target_ns : frame->present_ns;
	f->expected_ns = f->expected_end_ns - period_ns;
	f->used_gpu = frame->n_jobs > 0;
}

/* Frames of those whose drawings are shown: each on its own process's timeline. */
static int write_clients(struct gpu_slices *s, const struct gpu_frame *frame, int64_t token)
{
	struct trace_frame f = { .display_token = token };
	char layer[64];
	int r = 0;

	fill(frame, &f);
	for (size_t i = 0; i < frame->n_clients && r == 0; i++) {
		const struct gpu_client *c = &frame->clients[i];

		if (!gpu_slices_wanted(s, c->tgid, c->tgid, c->cgroup_id))
			continue;
		snprintf(layer, sizeof(layer), "%s", gpu_slices_process(s, c->tgid, "client"));
		f.token = ++s->n_frames;
		f.pid = c->tgid;
		f.layer = layer;
		f.jank = jank_of(frame, c->done_ns > frame->target_ns ? OF_LATE_CLIENT : OF_CLIENT);
		f.time_ns = c->queued_ns;
		if (f.time_ns < s->env.start_ns)
			f.time_ns = s->env.start_ns;
		/* The display's must not begin before it. */
		if (f.time_ns > frame->commit.time_ns)
			f.time_ns = frame->commit.time_ns;
		r = trace_frame(s->env.writer, &f);
	}
	return r;
}

static int write_timeline(struct gpu_slices *s, const struct gpu_frame *frame, uint64_t begin_ns,
			  int64_t token)
{
	struct trace_frame f = { .token = token, .pid = frame->commit.tgid, .time_ns = begin_ns };
	int r;

	if (frame->verdict == FRAME_LATENCY)
		return 0;
	fill(frame, &f);
	if (f.expected_ns < s->env.start_ns || f.expected_ns >= f.expected_end_ns)
		f.expected_ns = f.expected_end_ns - 1;
	if (f.expected_ns < s->env.start_ns)
		return 0;
	f.jank = jank_of(frame, OF_DISPLAY);
	r = write_clients(s, frame, token);
	return r < 0 ? r : trace_frame(s->env.writer, &f);
}

/* ---- in detail ---- */

/* Begins a moment after the frame, so that it is within it for a viewer. */
static int write_stage(struct gpu_slices *s, uint64_t track, const char *name, uint64_t begin_ns,
		       uint64_t end_ns)
{
	struct trace_event ev = {
		.track = track, .time_ns = begin_ns, .name = name, .category = "frame"
	};

	return begin_ns < end_ns ? trace_slice(s->env.writer, &ev, end_ns, 0) : 0;
}

static int write_stages(struct gpu_slices *s, const struct gpu_frame *frame, uint64_t track,
			uint64_t begin_ns)
{
	uint64_t at = begin_ns + 1, done_ns = frame->gpu_done_ns, end_ns = frame->present_ns;
	uint64_t ioctl_ns = frame->commit.end_ns < end_ns ? frame->commit.end_ns : end_ns;
	int r = 0;

	if (frame->verdict == FRAME_DROPPED)
		return 0;
	r = write_stage(s, track, "commit", at, ioctl_ns);
	if (ioctl_ns > at)
		at = ioctl_ns;
	if (r == 0 && done_ns > at) {
		r = write_stage(s, track, "GPU", at, done_ns < end_ns ? done_ns : end_ns);
		at = done_ns;
	}
	return r < 0 ? r : write_stage(s, track, "flip", at, end_ns);
}

static void describe(const struct gpu_slices *s, const struct gpu_frame *frame,
		     struct gpu_slice *slice)
{
	gpu_slice_arg(slice, "process", ARG_STRING)->s =
		gpu_slices_process(s, frame->commit.tgid, "?");
	gpu_slice_arg(slice, "pid", ARG_UINT)->u = frame->commit.tgid;
	if (frame->verdict == FRAME_LATE)
		gpu_slice_arg(slice, "late_by_vblanks", ARG_UINT)->u = frame->late_by;
	if (frame->reason)
		gpu_slice_arg(slice, "reason", ARG_STRING)->s = gpu_reason_name(frame->reason);
	if (frame->verdict == FRAME_DROPPED)
		return;
	gpu_slice_arg(slice, "latency_ns", ARG_UINT)->u = frame->present_ns - frame->commit.time_ns;
	if (frame->seq)
		gpu_slice_arg(slice, "seq", ARG_UINT)->u = frame->seq;
	if (frame->period_ns)
		gpu_slice_arg(slice, "refresh_ns", ARG_UINT)->u = frame->period_ns;
	if (frame->commit.is_async)
		gpu_slice_arg(slice, "async", ARG_BOOL)->u = 1;
	if (frame->n_clients)
		gpu_slice_arg(slice, "client_pid", ARG_UINT)->u = frame->clients[0].tgid;
}

static size_t find_waited(const struct gpu_slices *s, const struct gpu_frame *frame,
			  uint64_t ret[GPU_FRAME_JOBS + GPU_FRAME_CLIENTS])
{
	const struct gpu_client *c = frame->clients;
	size_t n = 0;

	for (size_t i = 0; i < frame->n_jobs; i++)
		ret[n++] = frame->jobs[i];
	for (size_t i = 0; i < frame->n_clients; i++)
		if (gpu_slices_wanted(s, c[i].tgid, c[i].tgid, c[i].cgroup_id))
			ret[n++] = c[i].job;
	return n;
}

int gpu_slices_frame(struct gpu_slices *s, const struct gpu_frame *frame)
{
	uint64_t waited[GPU_FRAME_JOBS + GPU_FRAME_CLIENTS], begin_ns = frame->commit.time_ns;
	struct gpu_slice slice = {
		.event = {
			.name = frame_names[frame->verdict],
			.category = "frame",
			.end_flow_ids = &frame->commit.id,
			.n_end_flow_ids = 1,
			.waited_stages = waited,
		},
	};
	char name[32];
	int r;

	if (begin_ns < s->env.start_ns)
		begin_ns = s->env.start_ns;
	if (begin_ns >= frame->present_ns ||
	    !gpu_slices_wanted(s, frame->commit.tgid, frame->commit.tid, frame->commit.cgroup_id)) {
		trace_writer_skip(s->env.writer, frame->n_events);
		return 0;
	}
	r = write_timeline(s, frame, begin_ns, ++s->n_frames);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "CRTC %u", frame->crtc);
	slice.event.track = gpu_slices_lane(s, frame->commit.device, name, FRAMES_HELP, &begin_ns,
					    frame->present_ns);
	if (!slice.event.track) {
		trace_writer_skip(s->env.writer, frame->n_events);
		return 0;
	}
	slice.event.time_ns = begin_ns;
	slice.event.n_waited_stages = find_waited(s, frame, waited);
	describe(s, frame, &slice);
	r = write_stages(s, frame, slice.event.track, begin_ns);
	return r < 0 ? r
		     : trace_slice(s->env.writer, &slice.event, frame->present_ns, frame->n_events);
}

int gpu_slices_vblank(struct gpu_slices *s, uint32_t device, uint32_t crtc, uint32_t seq,
		      uint64_t time_ns)
{
	struct gpu_slice slice = {
		.event = { .name = "vblank", .category = "frame", .time_ns = time_ns },
	};
	char name[32];

	snprintf(name, sizeof(name), "CRTC %u vblank", crtc);
	slice.event.track = gpu_slices_track(s, device, name, 0, VBLANK_HELP);
	if (!slice.event.track)
		return -ENOMEM;
	gpu_slice_arg(&slice, "seq", ARG_UINT)->u = seq;
	return trace_instant(s->env.writer, &slice.event, 1);
}
