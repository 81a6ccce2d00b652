/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_gpu.c - GPU jobs and counters, frames, bundles of network packets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check_impl.h"

/* A frame between its start and its end. */
struct frame {
	uint64_t start_ns, offset;
	int64_t cookie, token;
};

/* A job that was submitted in a traced call, which has to name it. */
struct job {
	uint64_t id, time_ns, offset;
};

/* A surface frame waits for its display frame. */
struct surface {
	uint64_t start_ns, offset;
	int64_t display_token;
};

struct check_gpu {
	struct check_list frames;   /* all starts */
	struct check_list surfaces; /* actual ones */
	struct check_list jobs;	    /* struct job */
	struct hash *stages;	    /* event_id -> 1 */
	struct hash *submitted;	    /* likewise: named by a slice */
	size_t n_gpus;
	struct hash *pending;  /* cookie -> index of its frame + 1 */
	struct hash *displays; /* token of an actual display frame -> index of its frame + 1 */
};

int check_gpu_new(struct check_gpu **ret)
{
	struct check_gpu *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	if (hash_new(&g->pending) < 0 || hash_new(&g->displays) < 0 || hash_new(&g->stages) < 0 ||
	    hash_new(&g->submitted) < 0) {
		check_gpu_free(g);
		return -ENOMEM;
	}
	*ret = g;
	return 0;
}

void check_gpu_free(struct check_gpu *g)
{
	if (!g)
		return;
	check_list_done(&g->frames);
	check_list_done(&g->surfaces);
	check_list_done(&g->jobs);
	hash_free(g->stages);
	hash_free(g->submitted);
	hash_free(g->pending);
	hash_free(g->displays);
	free(g);
}

/* ---- jobs and counters ---- */

static void put(struct trace_check *c, struct hash *h, uint64_t id)
{
	if (hash_set_u64(h, id, (void *)1) < 0)
		c->error = -ENOMEM;
}

/* A recorder that knows of a call in which it was submitted says so in the job. */
static bool in_a_call(const GpuRenderStageEvent *e)
{
	for (size_t i = 0; i < e->n_extra_data; i++)
		if (e->extra_data[i]->name && strcmp(e->extra_data[i]->name, "submitted_in") == 0)
			return true;
	return false;
}

static void stage_links(struct trace_check *c, const GpuRenderStageEvent *e)
{
	struct check_gpu *g = c->gpu;
	struct job *job;

	if (hash_get_u64(g->stages, e->event_id))
		check_report(c, CHECK_STAGE_ID, c->time_ns, "two GPU jobs with event_id %llu",
			     (unsigned long long)e->event_id);
	put(c, g->stages, e->event_id);
	if (!in_a_call(e))
		return;
	job = check_list_add(c, &g->jobs, sizeof(*job));
	if (job)
		*job = (struct job){ e->event_id, c->time_ns, c->offset };
}

static void correlation(struct trace_check *c, const GpuCorrelation *gc)
{
	for (size_t i = 0; i < gc->n_render_stage_submission_event_ids; i++)
		put(c, c->gpu->submitted, gc->render_stage_submission_event_ids[i]);
}

static void render_stage(struct trace_check *c, const GpuRenderStageEvent *e)
{
	const struct check_entry *context;

	if (!e->has_event_id)
		check_report(c, CHECK_STAGE_NO_ID, c->time_ns, "GPU job without event_id");
	else
		stage_links(c, e);
	if (e->has_gpu_id && c->gpu->n_gpus && (size_t)e->gpu_id >= c->gpu->n_gpus)
		check_report(c, CHECK_STAGE_GPU, c->time_ns, "GPU job on number %d of %zu GPUs",
			     e->gpu_id, c->gpu->n_gpus);
	if (!e->has_hw_queue_iid)
		check_report(c, CHECK_STAGE_QUEUE, c->time_ns, "GPU job without hw_queue_iid");
	else
		check_ref(c, I_GPU_SPECIFICATION, e->hw_queue_iid);
	if (e->has_stage_iid)
		check_ref(c, I_GPU_SPECIFICATION, e->stage_iid);
	if (e->has_name_iid)
		check_ref(c, I_EVENT_NAME, e->name_iid);
	context = e->has_context ? check_ref(c, I_GRAPHICS_CONTEXT, e->context) : NULL;
	if (!e->has_context || (context && (context->ref == NO_REF || context->ref == 0)))
		check_report(c, CHECK_STAGE_PROCESS, c->time_ns, "GPU job of no process");
	if (!e->duration)
		check_report(c, CHECK_STAGE_PROCESS, c->time_ns, "GPU job without a duration");
}

/* ---- frames ---- */

struct start {
	int64_t cookie, token;
	bool complete; /* cookie, token and pid are there */
	bool actual, described;
	bool has_display;
	int64_t display_token;
};

/* False: the event is no start. */
static bool start_of(const FrameTimelineEvent *e, struct start *ret)
{
	const FrameTimelineEvent__ExpectedDisplayFrameStart *ed = e->expected_display_frame_start;
	const FrameTimelineEvent__ActualDisplayFrameStart *ad = e->actual_display_frame_start;
	const FrameTimelineEvent__ExpectedSurfaceFrameStart *es = e->expected_surface_frame_start;
	const FrameTimelineEvent__ActualSurfaceFrameStart *as = e->actual_surface_frame_start;

	*ret = (struct start){ .described = true };
	if (ed) {
		ret->cookie = ed->cookie;
		ret->token = ed->token;
		ret->complete = ed->has_cookie && ed->has_token && ed->has_pid;
	} else if (es) {
		ret->cookie = es->cookie;
		ret->token = es->token;
		ret->complete = es->has_cookie && es->has_token && es->has_pid;
	} else if (ad) {
		ret->cookie = ad->cookie;
		ret->token = ad->token;
		ret->complete = ad->has_cookie && ad->has_token && ad->has_pid;
		ret->actual = true;
		ret->described = ad->present_type && ad->jank_type && ad->prediction_type;
	} else if (as) {
		ret->cookie = as->cookie;
		ret->token = as->token;
		ret->complete = as->has_cookie && as->has_token && as->has_pid;
		ret->actual = ret->has_display = true;
		ret->described = as->present_type && as->jank_type && as->prediction_type;
		ret->display_token = as->display_frame_token;
	} else {
		return false;
	}
	return true;
}

static void surface(struct trace_check *c, const struct start *start)
{
	struct surface *s = check_list_add(c, &c->gpu->surfaces, sizeof(*s));

	if (!s)
		return;
	s->start_ns = c->time_ns;
	s->offset = c->offset;
	s->display_token = start->display_token;
}

static void frame_start(struct trace_check *c, const struct start *start)
{
	struct check_gpu *g = c->gpu;
	struct frame *f;

	if (!start->complete || start->token == 0 || !start->described)
		check_report(c, CHECK_FRAME_FIELDS, c->time_ns,
			     !start->described
				     ? "frame %lld without present, jank or prediction type"
				     : "frame %lld without cookie, token or pid",
			     (long long)start->token);
	if (!start->complete)
		return;
	if (hash_get_u64(g->pending, (uint64_t)start->cookie))
		check_report(c, CHECK_FRAME_UNPAIRED, c->time_ns, "frame cookie %lld starts twice",
			     (long long)start->cookie);
	f = check_list_add(c, &g->frames, sizeof(*f));
	if (!f)
		return;
	f->start_ns = c->time_ns;
	f->offset = c->offset;
	f->cookie = start->cookie;
	f->token = start->token;
	if (hash_set_u64(g->pending, (uint64_t)start->cookie, (void *)(uintptr_t)g->frames.n) < 0)
		c->error = -ENOMEM;
	if (!start->actual)
		return;
	if (start->has_display)
		surface(c, start);
	else if (hash_set_u64(g->displays, (uint64_t)start->token, (void *)(uintptr_t)g->frames.n) <
		 0)
		c->error = -ENOMEM;
}

static void frame_end(struct trace_check *c, int64_t cookie)
{
	size_t i = (uintptr_t)hash_remove_u64(c->gpu->pending, (uint64_t)cookie);

	if (i == 0)
		check_report(c, CHECK_FRAME_UNPAIRED, c->time_ns,
			     "frame cookie %lld ends without a start", (long long)cookie);
	else if (c->time_ns <= ((struct frame *)c->gpu->frames.items)[i - 1].start_ns)
		check_report(c, CHECK_FRAME_UNPAIRED, c->time_ns,
			     "frame cookie %lld ends before it starts", (long long)cookie);
}

static void frame_timeline(struct trace_check *c, const FrameTimelineEvent *e)
{
	struct start start;

	if (start_of(e, &start))
		frame_start(c, &start);
	else if (e->frame_end)
		frame_end(c, e->frame_end->cookie);
}

/* ---- network ---- */

static void network_bundle(struct trace_check *c, const NetworkPacketBundle *b)
{
	if (b->has_iid)
		check_ref(c, I_PACKET_CONTEXT, b->iid);
	if (b->n_packet_timestamps != b->n_packet_lengths)
		check_report(c, CHECK_NETWORK_ARRAYS, c->time_ns, "%zu times and %zu lengths",
			     b->n_packet_timestamps, b->n_packet_lengths);
}

void check_gpu_packet(struct trace_check *c)
{
	const TracePacket *p = c->pkt;

	if (p->gpu_info && p->gpu_info->n_gpus > c->gpu->n_gpus)
		c->gpu->n_gpus = p->gpu_info->n_gpus;
	if (p->track_event && p->track_event->gpu_correlation)
		correlation(c, p->track_event->gpu_correlation);
	if (p->gpu_render_stage_event)
		render_stage(c, p->gpu_render_stage_event);
	if (p->gpu_counter_event && p->gpu_counter_event->has_counter_descriptor_iid)
		check_ref(c, I_GPU_COUNTERS, p->gpu_counter_event->counter_descriptor_iid);
	if (p->frame_timeline_event)
		frame_timeline(c, p->frame_timeline_event);
	if (p->network_packet_bundle)
		network_bundle(c, p->network_packet_bundle);
}

/* Where something was lost, it may have been the call. */
static void find_unlinked(struct trace_check *c)
{
	const struct check_gpu *g = c->gpu;
	const struct job *jobs = g->jobs.items;

	if (!c->summary.complete || c->summary.n_lost || c->summary.n_dropped)
		return;
	for (size_t i = 0; i < g->jobs.n; i++)
		if (!hash_get_u64(g->submitted, jobs[i].id))
			check_report_at(
				c, CHECK_STAGE_FLOW, jobs[i].offset, jobs[i].time_ns,
				"GPU job %llu was submitted in a call that does not name it",
				(unsigned long long)jobs[i].id);
}

void check_gpu_finish(struct trace_check *c)
{
	const struct check_gpu *g = c->gpu;
	const struct surface *s = g->surfaces.items;
	const struct frame *frames = g->frames.items;
	size_t pos = 0;
	void *item;

	find_unlinked(c);
	while (c->summary.complete && hash_next(g->pending, &pos, NULL, NULL, &item)) {
		const struct frame *f = &frames[(uintptr_t)item - 1];

		check_report_at(c, CHECK_FRAME_UNPAIRED, f->offset, f->start_ns,
				"frame cookie %lld never ends", (long long)f->cookie);
	}
	for (size_t i = 0; i < g->surfaces.n; i++) {
		size_t d = (uintptr_t)hash_get_u64(g->displays, (uint64_t)s[i].display_token);

		if (d && frames[d - 1].start_ns < s[i].start_ns)
			check_report_at(c, CHECK_FRAME_FLOW, s[i].offset, s[i].start_ns,
					"display frame %lld starts before its surface frame",
					(long long)s[i].display_token);
	}
}
