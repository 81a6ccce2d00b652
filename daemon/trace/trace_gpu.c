/* SPDX-License-Identifier: Apache-2.0 */
/* trace_gpu.c - packets of GPUs and displays. */
#include "trace_gpu.h"

#include <errno.h>
#include <string.h>

#include "trace_writer_impl.h"

#define MAX_GPUS       64
#define MAX_STAGE_ARGS 8

enum { PREDICTION_VALID = 1, SEVERITY_NONE = 1, SEVERITY_FULL = 3 };

int trace_gpu_list(struct trace_writer *w, const struct trace_gpu *gpus, size_t n)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	GpuInfo info = GPU_INFO__INIT;
	GpuInfo__Gpu msgs[MAX_GPUS], *ptrs[MAX_GPUS];

	if (n > MAX_GPUS)
		n = MAX_GPUS;
	for (size_t i = 0; i < n; i++) {
		gpu_info__gpu__init(&msgs[i]);
		msgs[i].name = (char *)gpus[i].name;
		msgs[i].pci_bdf = (char *)gpus[i].pci_bdf;
		ptrs[i] = &msgs[i];
	}
	info.n_gpus = n;
	info.gpus = ptrs;
	pkt.gpu_info = &info;
	return trace_writer_put(w, SEQ_META, &pkt, 0);
}

static void tap_stage(struct trace_writer *w, const struct trace_stage *stage)
{
	struct trace_arg args[MAX_STAGE_ARGS];
	struct trace_tap_event ev = {
		.kind = TAP_SLICE,
		.time_ns = stage->time_ns,
		.end_ns = stage->time_ns + stage->duration_ns,
		.name = stage->name,
		.category = "gpu",
		.tgid = stage->pid,
		.track = stage->queue,
		.args = args,
	};

	for (; ev.n_args < stage->n_args && ev.n_args < MAX_STAGE_ARGS; ev.n_args++)
		args[ev.n_args] = (struct trace_arg){ .name = stage->args[ev.n_args].name,
						      .type = ARG_STRING,
						      .s = stage->args[ev.n_args].value };
	trace_tap_tell(w, &ev);
}

int trace_stage(struct trace_writer *w, const struct trace_stage *stage, unsigned n_events)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	GpuRenderStageEvent msg = GPU_RENDER_STAGE_EVENT__INIT;
	GpuRenderStageEvent__ExtraData extra[MAX_STAGE_ARGS], *ptrs[MAX_STAGE_ARGS];

	msg.has_event_id = msg.has_duration = msg.has_context = msg.has_gpu_id = 1;
	msg.has_hw_queue_iid = msg.has_stage_iid = msg.has_name_iid = 1;
	msg.event_id = stage->id;
	msg.duration = stage->duration_ns;
	msg.gpu_id = (int32_t)stage->gpu;
	msg.context = trace_intern_graphics_context(w, SEQ_GPU, stage->pid);
	msg.hw_queue_iid =
		trace_intern_gpu_specification(w, SEQ_GPU, stage->queue, stage->category);
	msg.stage_iid = trace_intern_gpu_specification(w, SEQ_GPU, "job", STAGE_OTHER);
	msg.name_iid = trace_intern_string(w, SEQ_GPU, INTERN_EVENT_NAME, stage->name,
					   strlen(stage->name));
	if (!msg.context || !msg.hw_queue_iid || !msg.stage_iid || !msg.name_iid)
		return -ENOMEM;
	for (; msg.n_extra_data < stage->n_args && msg.n_extra_data < MAX_STAGE_ARGS;
	     msg.n_extra_data++) {
		size_t i = msg.n_extra_data;

		gpu_render_stage_event__extra_data__init(&extra[i]);
		extra[i].name = (char *)stage->args[i].name;
		extra[i].value = (char *)stage->args[i].value;
		ptrs[i] = &extra[i];
	}
	msg.extra_data = ptrs;
	msg.n_event_wait_ids = stage->n_waits;
	msg.event_wait_ids = (uint64_t *)stage->waits;
	pkt.has_timestamp = 1;
	pkt.timestamp = stage->time_ns;
	pkt.gpu_render_stage_event = &msg;
	if (w->tap)
		tap_stage(w, stage);
	return trace_writer_put(w, SEQ_GPU, &pkt, n_events);
}

/* ---- frames ---- */

static int put_frame(struct trace_writer *w, FrameTimelineEvent *msg, uint64_t time_ns, bool begins)
{
	TracePacket pkt = TRACE_PACKET__INIT;

	pkt.has_timestamp = 1;
	pkt.timestamp = time_ns;
	pkt.frame_timeline_event = msg;
	/* A start waits for its end: one without the other would be drawn wrong for ever. */
	return begins ? trace_writer_add(w, SEQ_GPU, &pkt, 0)
		      : trace_writer_put(w, SEQ_GPU, &pkt, 0);
}

static int put_end(struct trace_writer *w, int64_t cookie, uint64_t time_ns)
{
	FrameTimelineEvent msg = FRAME_TIMELINE_EVENT__INIT;
	FrameTimelineEvent__FrameEnd end = FRAME_TIMELINE_EVENT__FRAME_END__INIT;

	end.has_cookie = 1;
	end.cookie = cookie;
	msg.frame_end = &end;
	return put_frame(w, &msg, time_ns, false);
}

static int put_expected(struct trace_writer *w, const struct trace_frame *f, int64_t cookie)
{
	FrameTimelineEvent msg = FRAME_TIMELINE_EVENT__INIT;
	FrameTimelineEvent__ExpectedSurfaceFrameStart surface =
		FRAME_TIMELINE_EVENT__EXPECTED_SURFACE_FRAME_START__INIT;
	FrameTimelineEvent__ExpectedDisplayFrameStart display =
		FRAME_TIMELINE_EVENT__EXPECTED_DISPLAY_FRAME_START__INIT;
	int r;

	if (f->display_token) {
		surface.has_cookie = surface.has_token = surface.has_pid = 1;
		surface.has_display_frame_token = 1;
		surface.cookie = cookie;
		surface.token = f->token;
		surface.display_frame_token = f->display_token;
		surface.pid = (int32_t)f->pid;
		surface.layer_name = (char *)f->layer;
		msg.expected_surface_frame_start = &surface;
	} else {
		display.has_cookie = display.has_token = display.has_pid = 1;
		display.cookie = cookie;
		display.token = f->token;
		display.pid = (int32_t)f->pid;
		msg.expected_display_frame_start = &display;
	}
	r = put_frame(w, &msg, f->expected_ns, true);
	return r < 0 ? r : put_end(w, cookie, f->expected_end_ns);
}

static void fill_surface(const struct trace_frame *f, int64_t cookie,
			 FrameTimelineEvent__ActualSurfaceFrameStart *m)
{
	m->has_cookie = m->has_token = m->has_pid = m->has_display_frame_token = 1;
	m->has_present_type = m->has_on_time_finish = m->has_gpu_composition = 1;
	m->has_jank_type = m->has_prediction_type = m->has_is_buffer = 1;
	m->has_jank_severity_type = 1;
	m->cookie = cookie;
	m->token = f->token;
	m->display_frame_token = f->display_token;
	m->pid = (int32_t)f->pid;
	m->layer_name = (char *)f->layer;
	m->present_type = f->present;
	m->on_time_finish = f->present == PRESENT_ON_TIME;
	m->gpu_composition = f->used_gpu;
	m->jank_type = f->jank;
	m->prediction_type = PREDICTION_VALID;
	m->is_buffer = 1;
	m->jank_severity_type = f->jank == JANK_NONE ? SEVERITY_NONE : SEVERITY_FULL;
}

static void fill_display(const struct trace_frame *f, int64_t cookie,
			 FrameTimelineEvent__ActualDisplayFrameStart *m)
{
	m->has_cookie = m->has_token = m->has_pid = m->has_present_type = 1;
	m->has_on_time_finish = m->has_gpu_composition = m->has_jank_type = 1;
	m->has_prediction_type = m->has_jank_severity_type = 1;
	m->cookie = cookie;
	m->token = f->token;
	m->pid = (int32_t)f->pid;
	m->present_type = f->present;
	m->on_time_finish = f->present == PRESENT_ON_TIME;
	m->gpu_composition = f->used_gpu;
	m->jank_type = f->jank;
	m->prediction_type = PREDICTION_VALID;
	m->jank_severity_type = f->jank == JANK_NONE ? SEVERITY_NONE : SEVERITY_FULL;
}

static int put_actual(struct trace_writer *w, const struct trace_frame *f, int64_t cookie)
{
	FrameTimelineEvent msg = FRAME_TIMELINE_EVENT__INIT;
	FrameTimelineEvent__ActualSurfaceFrameStart surface =
		FRAME_TIMELINE_EVENT__ACTUAL_SURFACE_FRAME_START__INIT;
	FrameTimelineEvent__ActualDisplayFrameStart display =
		FRAME_TIMELINE_EVENT__ACTUAL_DISPLAY_FRAME_START__INIT;
	int r;

	if (f->display_token) {
		fill_surface(f, cookie, &surface);
		msg.actual_surface_frame_start = &surface;
	} else {
		fill_display(f, cookie, &display);
		msg.actual_display_frame_start = &display;
	}
	r = put_frame(w, &msg, f->time_ns, true);
	return r < 0 ? r : put_end(w, cookie, f->end_ns);
}

int trace_frame(struct trace_writer *w, const struct trace_frame *f)
{
	/* Cookies tell apart what is open: all that a token ever names are different. */
	int64_t cookie = 4 * f->token + (f->display_token ? 2 : 0);
	int r = put_expected(w, f, cookie);

	return r < 0 ? r : put_actual(w, f, cookie + 1);
}
