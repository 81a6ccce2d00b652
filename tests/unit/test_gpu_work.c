/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of tracepoints and ioctls up to the packets: jobs, waits, frames, what links them, and
 * memory.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gpu/gpu_encode.h"
#include "gpu/gpu_points.h"
#include "gpu/gpu_work.h"
#include "gpu_point_events.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "written_trace.h"

#define CARD   (226u << 20 | 1000) /* nodes that no machine has */
#define CARD_2 (226u << 20 | 1001)
#define PERIOD (16 * NS_PER_MS)
#define FILE_1 0xffff888800001000

static struct written w;
static struct trace_config config;
static struct encoder_env env;
static struct process_table *processes;
static void *encoder;
static uint64_t t0, n_encoded;

static void open_encoder(void)
{
	env = (struct encoder_env){
		.writer = w.writer,
		.processes = processes,
		.config = &config,
		.start_ns = t0,
	};
	ck_assert_int_eq(gpu_encoder_new(&env, &encoder), 0);
}

static void set_up(void)
{
	config = (struct trace_config){ 0 };
	n_encoded = 0;
	written_open(&w);
	t0 = boot_ns();
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	open_encoder();
}

static void tear_down(void)
{
	gpu_encoder_free(encoder);
	process_table_free(processes);
	written_done(&w);
}

/* Every event is written, or left out for a reason: none is lost between. */
static void finish(void)
{
	trace_writer_source(w.writer, WRITTEN_SOURCE, t0 + NS_PER_SEC);
	ck_assert_int_eq(gpu_encoder_flush(encoder, t0 + NS_PER_SEC, true), 0);
	written_read(&w);
	written_assert_good(&w);
	written_assert_account(&w, n_encoded);
}

static void encode(const struct event_hdr *ev)
{
	ck_assert(gpu_valid(ev, ev->size));
	trace_writer_source(w.writer, WRITTEN_SOURCE, ev->time_ns);
	ck_assert_int_eq(gpu_encode(encoder, ev), 0);
	n_encoded++;
}

static struct gpu_point_event a_point(enum gpu_point point, uint64_t time)
{
	struct gpu_point_event ev = { .point = (uint16_t)point };

	ev.hdr.type = GPU_POINT;
	ev.hdr.size = sizeof(ev);
	ev.hdr.time_ns = t0 + time;
	ev.mono_ns = t0 + time - 5 * NS_PER_SEC; /* the machine has slept */
	return ev;
}

static struct gpu_point_event of_thread(enum gpu_point point, uint64_t time, uint32_t tid)
{
	struct gpu_point_event ev = a_point(point, time);

	ev.tgid = 1000;
	ev.tid = tid;
	strcpy(ev.comm, "game");
	return ev;
}

/* One that is queued in the ioctl that was entered at `ioctl`; 0: in none. */
static void queue(uint64_t seqno, uint64_t time, uint64_t ioctl, uint32_t rdev, const char *ring)
{
	struct gpu_point_event ev = of_thread(GPU_SCHED_QUEUE, time, 1001);

	ev.nums[NUM_CONTEXT] = 20;
	ev.nums[NUM_SEQNO] = seqno;
	ev.nums[NUM_ID] = seqno;
	strcpy(ev.strs[STR_RING], ring);
	if (ioctl) {
		ev.ioctl_ns = t0 + ioctl;
		ev.rdev = rdev;
		strcpy(ev.driver, "fakegpu");
	}
	encode(&ev.hdr);
}

static void step(enum gpu_point point, uint64_t seqno, uint64_t time, const char *ring)
{
	struct gpu_point_event ev = a_point(point, time);

	ev.nums[NUM_CONTEXT] = 20;
	ev.nums[NUM_SEQNO] = seqno;
	strcpy(ev.strs[STR_RING], ring);
	encode(&ev.hdr);
}

static struct gpu_ioctl_event an_ioctl(uint32_t request, uint64_t enter, uint64_t ret)
{
	struct gpu_ioctl_event ev = {
		.enter_ns = t0 + enter,
		.file = FILE_1,
		.request = request,
		.rdev = CARD,
		.nr = request & 0xff,
		.gpu_class = GPU_DRM,
		.ioctl_class = GPU_CLASS_SUBMIT,
		.driver = "fakegpu",
	};

	ev.hdr.type = GPU_IOCTL;
	ev.hdr.size = GPU_IOCTL_HEAD;
	ev.hdr.time_ns = t0 + ret;
	ev.hdr.tgid = 1000;
	ev.hdr.tid = 1001;
	return ev;
}

static void submit(uint64_t enter, uint64_t ret)
{
	struct gpu_ioctl_event ev = an_ioctl(0xc0206440, enter, ret);

	encode(&ev.hdr);
}

/* ---- looking at the trace ---- */

static const GpuRenderStageEvent *stage(size_t i, uint64_t *ret_time)
{
	for (size_t k = 0; k < w.n; k++)
		if (w.packets[k]->gpu_render_stage_event && i-- == 0) {
			if (ret_time)
				*ret_time = w.packets[k]->timestamp - t0;
			return w.packets[k]->gpu_render_stage_event;
		}
	return NULL;
}

/* Text of interned data of SEQ_GPU. */
static const char *specification(uint64_t iid)
{
	for (size_t k = 0; k < w.n; k++) {
		const InternedData *d = w.packets[k]->interned_data;

		for (size_t i = 0; d && i < d->n_gpu_specifications; i++)
			if (d->gpu_specifications[i]->iid == iid)
				return d->gpu_specifications[i]->name;
	}
	return NULL;
}

static bool is_named(enum trace_sequence seq, uint64_t iid, const char *name)
{
	for (size_t k = 0; k < w.n; k++) {
		const InternedData *d = w.packets[k]->interned_data;

		for (size_t i = 0; d && w.packets[k]->trusted_packet_sequence_id == (uint32_t)seq &&
				   i < d->n_event_names;
		     i++)
			if (d->event_names[i]->iid == iid)
				return strcmp((char *)d->event_names[i]->name, name) == 0;
	}
	return false;
}

/* The i-th slice or instant of this name. */
static const TracePacket *event(const char *name, size_t i)
{
	for (size_t k = 0; k < w.n; k++) {
		const TrackEvent *te = w.packets[k]->track_event;

		if (te && te->has_name_iid && is_named(SEQ_EVENTS, te->name_iid, name) && i-- == 0)
			return w.packets[k];
	}
	return NULL;
}

static const TrackDescriptor *track(uint64_t uuid)
{
	return written_track(&w, uuid);
}

/* "parent > name" of the track of an event. */
static const char *where(const TracePacket *pkt)
{
	static char text[128];
	const TrackDescriptor *t = track(pkt->track_event->track_uuid);
	const TrackDescriptor *parent = t && t->has_parent_uuid ? track(t->parent_uuid) : NULL;

	snprintf(text, sizeof(text), "%s > %s", parent ? parent->name : "",
		 t && t->name ? t->name : "");
	return text;
}

static const char *arg(const TracePacket *pkt, const char *name)
{
	static char text[64];
	const TrackEvent *te = pkt->track_event;

	for (size_t i = 0; i < te->n_debug_annotations; i++) {
		const DebugAnnotation *a = te->debug_annotations[i];

		for (size_t k = 0; k < w.n; k++) {
			const InternedData *d = w.packets[k]->interned_data;

			for (size_t n = 0; d && n < d->n_debug_annotation_names; n++) {
				if (d->debug_annotation_names[n]->iid != a->name_iid ||
				    strcmp((char *)d->debug_annotation_names[n]->name, name) != 0)
					continue;
				if (a->string_value)
					return a->string_value;
				snprintf(text, sizeof(text), "%llu",
					 (unsigned long long)a->uint_value);
				return text;
			}
		}
	}
	return "";
}

static size_t n_stages(void)
{
	size_t n = 0;

	while (stage(n, NULL))
		n++;
	return n;
}

/* ---- jobs ---- */

START_TEST(a_job_is_drawn_on_its_ring_and_linked_to_its_ioctl)
{
	const GpuRenderStageEvent *s;
	const TracePacket *ioctl, *queued;
	uint64_t time;

	queue(5, 1100, 1000, CARD, "gfx");
	submit(1000, 1200);
	step(GPU_SCHED_RUN, 5, 1500, "gfx");
	step(GPU_SCHED_DONE, 5, 9500, "");
	finish();
	ck_assert_uint_eq(n_stages(), 1);
	s = stage(0, &time);
	ck_assert_uint_eq(time, 1500);
	ck_assert_uint_eq(s->duration, 8000);
	ck_assert_uint_eq(s->context, 1000);
	ck_assert_str_eq(specification(s->hw_queue_iid), "gfx");
	ck_assert(is_named(SEQ_GPU, s->name_iid, "game"));
	ck_assert_str_eq(s->extra_data[0]->name, "fence");
	ck_assert_str_eq(s->extra_data[0]->value, "20:5");
	ck_assert_str_eq(s->extra_data[2]->name, "queued_ns");
	ck_assert_str_eq(s->extra_data[2]->value, "400");

	ioctl = NULL;
	for (size_t k = 0; k < w.n && !ioctl; k++)
		if (w.packets[k]->track_event && w.packets[k]->track_event->gpu_correlation)
			ioctl = w.packets[k];
	ck_assert_ptr_nonnull(ioctl);
	ck_assert_uint_eq(ioctl->timestamp, t0 + 1000);
	ck_assert_uint_eq(ioctl->track_event->gpu_correlation->n_render_stage_submission_event_ids,
			  1);
	ck_assert_uint_eq(ioctl->track_event->gpu_correlation->render_stage_submission_event_ids[0],
			  s->event_id);
	queued = event("game", 0);
	ck_assert_uint_eq(queued->timestamp, t0 + 1100);
	ck_assert_str_eq(where(queued), "GPU fakegpu renderD1000 > gfx queue");
	ck_assert_uint_eq(queued->track_event->terminating_flow_ids[0],
			  ioctl->track_event->flow_ids[0]);
}
END_TEST

START_TEST(the_new_tracepoints_name_the_device_themselves)
{
	struct gpu_point_event ev = of_thread(GPU_SCHED_QUEUE_2, 1000, 1001);
	const GpuInfo *info = NULL;

	ev.nums[NUM_CONTEXT] = 20;
	ev.nums[NUM_SEQNO] = 1;
	ev.nums[NUM_CLIENT_ID] = 33;
	strcpy(ev.strs[STR_RING], "gfx");
	strcpy(ev.strs[STR_DEV], "0000:03:00.0");
	encode(&ev.hdr);
	ev.nums[NUM_SEQNO] = 2;
	ev.hdr.time_ns++;
	strcpy(ev.strs[STR_DEV], "0000:04:00.0");
	encode(&ev.hdr);
	step(GPU_SCHED_RUN_2, 1, 2000, "gfx");
	step(GPU_SCHED_RUN_2, 2, 2100, "gfx");
	step(GPU_SCHED_DONE_2, 1, 3000, "");
	step(GPU_SCHED_DONE_2, 2, 4000, "");
	finish();
	ck_assert_uint_eq(n_stages(), 2);
	ck_assert_int_ne(stage(0, NULL)->gpu_id, stage(1, NULL)->gpu_id);
	for (size_t k = 0; k < w.n; k++)
		if (w.packets[k]->gpu_info)
			info = w.packets[k]->gpu_info;
	ck_assert_ptr_nonnull(info);
	ck_assert_str_eq(info->gpus[stage(0, NULL)->gpu_id]->pci_bdf, "0000:03:00.0");
	ck_assert_str_eq(info->gpus[stage(1, NULL)->gpu_id]->pci_bdf, "0000:04:00.0");
	ck_assert_uint_eq(stage(1, NULL)->duration, 1900); /* not after the other GPU's */
	ck_assert_str_eq(stage(0, NULL)->extra_data[3]->value, "33");
}
END_TEST

START_TEST(the_kernels_own_jobs_have_their_own_queue)
{
	struct gpu_point_event ev = of_thread(GPU_SCHED_QUEUE, 1000, 1001);

	queue(1, 500, 400, CARD, "sdma0");
	ev.flags = GPU_POINT_KTHREAD;
	strcpy(ev.comm, "kworker/u8:2");
	strcpy(ev.strs[STR_RING], "sdma0");
	ev.nums[NUM_CONTEXT] = 20;
	ev.nums[NUM_SEQNO] = 2;
	encode(&ev.hdr);
	step(GPU_SCHED_RUN, 2, 1100, "sdma0");
	step(GPU_SCHED_DONE, 2, 1200, "");
	finish();
	ck_assert_uint_eq(n_stages(), 1);
	ck_assert_str_eq(specification(stage(0, NULL)->hw_queue_iid), "sdma0 (kernel)");
	ck_assert(is_named(SEQ_GPU, stage(0, NULL)->name_iid, "kworker/u8:2"));
}
END_TEST

START_TEST(a_job_from_before_is_on_a_track_of_its_own)
{
	queue(1, 500, 400, CARD, "gfx"); /* so that the GPU is known */
	step(GPU_SCHED_RUN, 9, 1000, "gfx");
	step(GPU_SCHED_DONE, 9, 2000, "");
	finish();
	ck_assert_uint_eq(n_stages(), 0);
	ck_assert_str_eq(where(event("queued before the recording", 0)),
			 "GPU fakegpu renderD1000 > gfx");
}
END_TEST

START_TEST(what_still_runs_at_the_end_says_so)
{
	queue(1, 1000, 900, CARD, "gfx");
	submit(900, 1050);
	step(GPU_SCHED_RUN, 1, 1100, "gfx");
	queue(2, 1200, 1150, CARD, "gfx");
	submit(1150, 1300);
	finish();
	ck_assert_uint_eq(n_stages(), 1);
	ck_assert_uint_eq(stage(0, NULL)->duration, 100);
	ck_assert_str_eq(stage(0, NULL)->extra_data[4]->name, "unfinished");
}
END_TEST

START_TEST(where_events_are_missing_nobody_says_that_a_job_still_runs)
{
	struct gpu_point_event ev = of_thread(GPU_FENCE_WAIT_START, 1150, 1002);

	queue(1, 1000, 900, CARD, "gfx");
	step(GPU_SCHED_RUN, 1, 1100, "gfx");
	ev.hdr.tgid = ev.tgid;
	ev.hdr.tid = ev.tid;
	encode(&ev.hdr);
	gpu_encoder_lost(encoder, 0);
	queue(2, 1200, 1160, CARD, "compute");
	submit(1160, 1250);
	step(GPU_SCHED_RUN, 2, 1300, "compute");
	step(GPU_SCHED_DONE, 77, 1400, "");
	finish();
	ck_assert_uint_eq(n_stages(), 1);
	ck_assert_str_eq(specification(stage(0, NULL)->hw_queue_iid), "compute");
	ck_assert_ptr_null(event("fence wait", 0));
}
END_TEST

START_TEST(jobs_that_wait_together_have_lanes)
{
	const TracePacket *a, *b;

	for (uint64_t i = 1; i <= 2; i++)
		queue(i, 1000 + i, 900, CARD, "gfx");
	for (uint64_t i = 1; i <= 2; i++)
		step(GPU_SCHED_RUN, i, 2000 + i, "gfx");
	for (uint64_t i = 1; i <= 2; i++)
		step(GPU_SCHED_DONE, i, 3000 + i, "");
	finish();
	a = event("game", 0);
	b = event("game", 1);
	ck_assert_uint_ne(a->track_event->track_uuid, b->track_event->track_uuid);
	ck_assert_str_eq(where(a), where(b));
}
END_TEST

START_TEST(a_filter_leaves_out_others_jobs_but_not_their_time_on_the_ring)
{
	gpu_encoder_free(encoder);
	config.n_pids = 1;
	config.pids[0] = 1000;
	open_encoder();
	queue(1, 1000, 900, CARD, "gfx");
	{
		struct gpu_point_event ev = of_thread(GPU_SCHED_QUEUE, 990, 555);

		ev.tgid = 555;
		ev.nums[NUM_CONTEXT] = 21;
		ev.nums[NUM_SEQNO] = 1;
		ev.ioctl_ns = t0 + 900;
		ev.rdev = CARD;
		strcpy(ev.driver, "fakegpu");
		strcpy(ev.strs[STR_RING], "gfx");
		ck_assert(gpu_work_machine_wide(&ev.hdr));
		encode(&ev.hdr);
		ev = a_point(GPU_SCHED_RUN, 1100);
		ev.nums[NUM_CONTEXT] = 21;
		ev.nums[NUM_SEQNO] = 1;
		strcpy(ev.strs[STR_RING], "gfx");
		encode(&ev.hdr);
		step(GPU_SCHED_RUN, 1, 1200, "gfx");
		ev.point = GPU_SCHED_DONE;
		ev.hdr.time_ns = t0 + 2000;
		encode(&ev.hdr);
	}
	step(GPU_SCHED_DONE, 1, 3000, "");
	finish();
	ck_assert_uint_eq(n_stages(), 1);
	ck_assert_uint_eq(stage(0, NULL)->context, 1000);
	ck_assert_uint_eq(stage(0, NULL)->duration, 1000);
}
END_TEST

/* ---- drivers without a scheduler ---- */

static void a_fence(enum gpu_point point, const char *driver, const char *timeline, uint64_t seqno,
		    uint64_t time)
{
	bool is_new = point == GPU_FENCE_INIT || point == GPU_FENCE_EMIT;
	struct gpu_point_event ev = is_new ? of_thread(point, time, 1001) : a_point(point, time);

	ev.nums[NUM_CONTEXT] = 50;
	ev.nums[NUM_SEQNO] = seqno;
	strcpy(ev.strs[STR_RING], timeline);
	strcpy(ev.strs[STR_DEV], driver);
	if (is_new) {
		ev.ioctl_ns = ev.hdr.time_ns - 100;
		ev.rdev = CARD_2;
		strcpy(ev.driver, driver);
	}
	encode(&ev.hdr);
}

START_TEST(a_drivers_fence_is_a_job_where_nothing_else_tells)
{
	a_fence(GPU_FENCE_EMIT, "virtio_gpu", "controlq", 7, 1000);
	submit(900, 1100);
	a_fence(GPU_FENCE_SIGNALED, "virtio_gpu", "controlq", 7, 4000);
	a_fence(GPU_FENCE_INIT, "vgem", "unbound", 8, 5000);
	a_fence(GPU_FENCE_SIGNALED, "vgem", "unbound", 8, 6000);
	finish();
	ck_assert_uint_eq(n_stages(), 2);
	ck_assert_str_eq(specification(stage(0, NULL)->hw_queue_iid), "controlq");
	ck_assert_uint_eq(stage(0, NULL)->duration, 3000);
	ck_assert_str_eq(specification(stage(1, NULL)->hw_queue_iid), "fences");
	ck_assert_ptr_null(event("game", 0)); /* nothing has waited for its turn */
}
END_TEST

START_TEST(a_job_is_never_shown_twice)
{
	a_fence(GPU_FENCE_INIT, "drm_sched", "gfx", 1, 1000);
	a_fence(GPU_FENCE_INIT, "amdgpu", "gfx", 2, 1000);
	a_fence(GPU_FENCE_INIT, "dma_fence_array", "unbound", 3, 1000);
	/* A driver that nobody knows has shown to have a scheduler. */
	queue(9, 1050, 1040, CARD_2, "ring");
	a_fence(GPU_FENCE_INIT, "newgpu", "hw", 4, 1100);
	for (uint64_t i = 1; i <= 4; i++)
		a_fence(GPU_FENCE_SIGNALED, "any", "any", i, 2000 + i);
	finish();
	ck_assert_uint_eq(n_stages(), 0);
}
END_TEST

START_TEST(requests_of_i915_are_on_engines)
{
	struct gpu_point_event ev = of_thread(GPU_I915_ADD, 1000, 1001);

	ev.nums[NUM_CONTEXT] = 60;
	ev.nums[NUM_SEQNO] = 2;
	ev.nums[NUM_CLASS] = 2;
	ev.nums[NUM_INSTANCE] = 1;
	ev.rdev = CARD;
	ev.ioctl_ns = ev.hdr.time_ns - 10;
	strcpy(ev.driver, "i915");
	encode(&ev.hdr);
	ev.point = GPU_I915_IN; /* if the kernel has it, that is when it begins */
	ev.hdr.time_ns += 500;
	encode(&ev.hdr);
	ev = a_point(GPU_FENCE_SIGNALED, 3000);
	ev.nums[NUM_CONTEXT] = 60;
	ev.nums[NUM_SEQNO] = 2;
	encode(&ev.hdr);
	finish();
	ck_assert_uint_eq(n_stages(), 1);
	ck_assert_str_eq(specification(stage(0, NULL)->hw_queue_iid), "vcs1");
	ck_assert_uint_eq(stage(0, NULL)->duration, 1500);
}
END_TEST

/* ---- waits ---- */

START_TEST(a_wait_says_for_which_job)
{
	struct gpu_point_event ev = of_thread(GPU_FENCE_WAIT_START, 1500, 1002);
	const TracePacket *wait;

	queue(3, 1000, 900, CARD, "gfx");
	step(GPU_SCHED_RUN, 3, 1100, "gfx");
	ev.hdr.tgid = ev.tgid;
	ev.hdr.tid = ev.tid;
	ev.nums[NUM_CONTEXT] = 20;
	ev.nums[NUM_SEQNO] = 3;
	strcpy(ev.strs[STR_DEV], "drm_sched");
	strcpy(ev.strs[STR_RING], "gfx");
	ck_assert(!gpu_work_machine_wide(&ev.hdr));
	encode(&ev.hdr);
	step(GPU_SCHED_DONE, 3, 2000, "");
	ev.point = GPU_FENCE_WAIT_END;
	ev.hdr.time_ns = t0 + 2100;
	encode(&ev.hdr);
	finish();
	wait = event("fence wait", 0);
	ck_assert_ptr_nonnull(wait);
	ck_assert_uint_eq(wait->timestamp, t0 + 1500);
	ck_assert_int_eq((int)track(wait->track_event->track_uuid)->thread->tid, 1002);
	ck_assert_str_eq(arg(wait, "fence"), "20:3");
	ck_assert_str_eq(arg(wait, "ring"), "gfx");
	ck_assert_str_eq(arg(wait, "job_of"), "game");
	ck_assert_uint_eq(wait->track_event->gpu_correlation->render_stage_wait_event_ids[0],
			  stage(0, NULL)->event_id);
}
END_TEST

START_TEST(a_wait_for_what_is_not_known_is_a_wait_all_the_same)
{
	struct gpu_point_event ev = of_thread(GPU_FENCE_WAIT_START, 1500, 1002);

	ev.hdr.tgid = ev.tgid;
	ev.hdr.tid = ev.tid;
	ev.nums[NUM_CONTEXT] = 99;
	encode(&ev.hdr);
	ev.point = GPU_FENCE_WAIT_END;
	ev.nums[NUM_CONTEXT] = 98; /* the end of one from before */
	encode(&ev.hdr);
	finish(); /* it goes on at the end */
	for (size_t k = 0; k < w.n; k++)
		if (w.packets[k]->track_descriptor && w.packets[k]->track_descriptor->thread)
			ck_assert_uint_eq(w.packets[k]->timestamp, t0 + 1500); /* it lived then */
	ck_assert_str_eq(arg(event("fence wait", 0), "fence"), "99:0");
	ck_assert_ptr_null(event("fence wait", 0)->track_event->gpu_correlation);
}
END_TEST

/* The event of the ioctl that was entered then. */
static const TrackEvent *ioctl_at(uint64_t time)
{
	for (size_t k = 0; k < w.n; k++)
		if (w.packets[k]->track_event && w.packets[k]->timestamp == t0 + time)
			return w.packets[k]->track_event;
	ck_abort_msg("no event at %llu", (unsigned long long)time);
	return NULL;
}

START_TEST(an_ioctl_that_waits_is_linked_to_the_job)
{
	struct gpu_ioctl_event ev = an_ioctl(0xc02864c3, 1500, 2100);
	const TrackEvent *te;

	queue(3, 1000, 900, CARD, "gfx");
	submit(900, 1050);
	step(GPU_SCHED_RUN, 3, 1100, "gfx");
	step(GPU_SCHED_DONE, 3, 2000, "");
	ev.ioctl_class = GPU_CLASS_WAIT;
	encode(&ev.hdr);
	finish();
	te = ioctl_at(1500);
	ck_assert_uint_eq(te->gpu_correlation->render_stage_wait_event_ids[0],
			  stage(0, NULL)->event_id);
}
END_TEST

/* Two jobs are done in the meantime; which it was is told, and that of others there was none. */
START_TEST(a_wait_for_syncobjs_is_linked_to_what_is_told)
{
	struct gpu_ioctl_event ev = an_ioctl(0xc02864c3, 1500, 2100);
	struct gpu_point_event told = a_point(GPU_SYNCOBJ_WAITED, 2090);
	const TrackEvent *te;

	queue(3, 1000, 900, CARD, "gfx");
	queue(4, 1010, 900, CARD, "gfx");
	submit(900, 1050);
	step(GPU_SCHED_RUN, 3, 1100, "gfx");
	step(GPU_SCHED_DONE, 3, 1900, "");
	step(GPU_SCHED_RUN, 4, 1900, "gfx");
	step(GPU_SCHED_DONE, 4, 2000, "");
	told.hdr.tgid = told.tgid = ev.hdr.tgid;
	told.hdr.tid = told.tid = ev.hdr.tid;
	told.ioctl_ns = ev.enter_ns;
	told.nums[NUM_CONTEXT] = 20;
	told.nums[NUM_SEQNO] = 3;
	ev.ioctl_class = GPU_CLASS_WAIT;
	encode(&told.hdr);
	encode(&ev.hdr);
	/* It was signaled by hand. */
	ev = an_ioctl(0xc02864c3, 2150, 2200);
	ev.ioctl_class = GPU_CLASS_WAIT;
	encode(&ev.hdr);
	finish();
	te = ioctl_at(1500);
	ck_assert_uint_eq(te->gpu_correlation->n_render_stage_wait_event_ids, 1);
	ck_assert_uint_eq(te->gpu_correlation->render_stage_wait_event_ids[0],
			  stage(0, NULL)->event_id);
	ck_assert_ptr_null(ioctl_at(2150)->gpu_correlation);
}
END_TEST

/* ---- frames ---- */

static void flip(uint64_t time, int64_t ret)
{
	struct gpu_ioctl_event ev = an_ioctl(0xc01864b0, time, time + 20000);
	uint32_t in[6] = { 34, 60, 1 };

	ev.n_in = sizeof(in);
	memcpy(ev.data, in, sizeof(in));
	ev.hdr.size = GPU_IOCTL_SIZE(sizeof(in), 0);
	ev.ioctl_class = GPU_CLASS_KMS;
	ev.ret = ret;
	encode(&ev.hdr);
}

static void vblank(uint64_t seq, bool delivered)
{
	uint64_t time = seq * PERIOD;
	struct gpu_point_event ev = a_point(GPU_VBLANK_DELIVERED, time + 30000);

	ev.nums[NUM_SEQ] = seq;
	ev.nums[NUM_FILE] = FILE_1;
	if (delivered)
		encode(&ev.hdr);
	ev = a_point(GPU_VBLANK, time + 40000);
	ev.nums[NUM_SEQ] = seq;
	ev.nums[NUM_TIME] = ev.mono_ns - 40000;
	encode(&ev.hdr);
}

START_TEST(frames_are_slices_with_a_verdict)
{
	const FrameTimelineEvent__ActualDisplayFrameStart *actual[3] = { NULL };
	const TracePacket *late, *on_time;
	size_t n = 0;

	flip(10 * PERIOD + 1000000, 0);
	vblank(11, true);
	flip(11 * PERIOD + 1000000, 0);
	vblank(12, true);
	flip(12 * PERIOD + 1000000, 0);
	vblank(13, false);
	vblank(14, true);
	finish();
	on_time = event("frame on time", 1);
	late = event("frame late", 0);
	ck_assert_ptr_nonnull(late);
	ck_assert_ptr_null(event("frame late", 1));
	ck_assert_ptr_null(event("frame on time", 2));
	ck_assert_uint_eq(on_time->timestamp, t0 + 11 * PERIOD + 1000000);
	ck_assert_str_eq(where(on_time), "GPU fakegpu renderD1000 > CRTC 0");
	ck_assert_str_eq(arg(late, "late_by_vblanks"), "1");
	ck_assert_str_eq(arg(late, "reason"), "compositor");
	ck_assert_str_eq(arg(late, "seq"), "14");
	ck_assert_str_eq(where(event("vblank", 3)), "GPU fakegpu renderD1000 > CRTC 0 vblank");
	ck_assert_uint_eq(event("vblank", 3)->timestamp, t0 + 14 * PERIOD);
	for (size_t k = 0; k < w.n; k++)
		if (w.packets[k]->frame_timeline_event &&
		    w.packets[k]->frame_timeline_event->actual_display_frame_start)
			actual[n++] =
				w.packets[k]->frame_timeline_event->actual_display_frame_start;
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(actual[1]->present_type, 1);
	ck_assert_int_eq(actual[1]->jank_type, 1);
	ck_assert_int_eq(actual[2]->present_type, 2);
	ck_assert_int_eq(actual[2]->pid, 1000);
}
END_TEST

START_TEST(a_commit_is_linked_to_its_frame)
{
	const TrackEvent *commit = NULL, *frame;

	flip(10 * PERIOD + 1000000, 0);
	vblank(11, true);
	finish();
	frame = event("frame on time", 0)->track_event;
	for (size_t k = 0; k < w.n; k++)
		if (w.packets[k]->track_event && w.packets[k]->track_event->n_flow_ids)
			commit = w.packets[k]->track_event;
	ck_assert_ptr_nonnull(commit);
	ck_assert_uint_eq(commit->flow_ids[0], frame->terminating_flow_ids[0]);
}
END_TEST

START_TEST(a_test_or_a_failure_is_no_frame)
{
	struct gpu_ioctl_event ev = an_ioctl(0xc03864bc, 1000, 2000);
	uint32_t flags = 0x101;

	ev.n_in = sizeof(flags);
	memcpy(ev.data, &flags, sizeof(flags));
	ev.hdr.size = GPU_IOCTL_SIZE(sizeof(flags), 0);
	encode(&ev.hdr);
	flip(PERIOD, -EINVAL);
	vblank(11, true);
	flip(11 * PERIOD + 1000, -EBUSY);
	finish();
	ck_assert_ptr_null(event("frame on time", 0));
	ck_assert_ptr_nonnull(event("frame dropped", 0));
}
END_TEST

START_TEST(a_gpu_job_that_makes_a_frame_late_is_linked_to_it)
{
	const TracePacket *late;

	flip(10 * PERIOD + 1000000, 0);
	vblank(11, true);
	flip(11 * PERIOD + 1000000, 0);
	vblank(12, true);
	queue(1, 12 * PERIOD + 500000, 12 * PERIOD + 400000, CARD, "gfx");
	step(GPU_SCHED_RUN, 1, 12 * PERIOD + 600000, "gfx");
	submit(12 * PERIOD + 400000, 12 * PERIOD + 700000);
	flip(12 * PERIOD + 1000000, 0);
	vblank(13, false);
	step(GPU_SCHED_DONE, 1, 13 * PERIOD + 1000000, "");
	vblank(14, true);
	finish();
	late = event("frame late", 0);
	ck_assert_str_eq(arg(late, "reason"), "GPU");
	ck_assert_uint_eq(late->track_event->gpu_correlation->render_stage_wait_event_ids[0],
			  stage(0, NULL)->event_id);
	ck_assert_ptr_nonnull(event("GPU", 0));
	ck_assert_ptr_nonnull(event("flip", 0));
}
END_TEST

/* A client's job, and one of who owns the display, which waits for it. */
static void compose(uint64_t seqno, uint64_t client_ns, uint64_t own_ns, uint64_t done_ns)
{
	struct gpu_point_event ev = of_thread(GPU_SCHED_QUEUE, client_ns, 2001);

	ev.tgid = 2000;
	strcpy(ev.comm, "client");
	strcpy(ev.strs[STR_RING], "gfx");
	ev.rdev = CARD;
	ev.ioctl_ns = ev.hdr.time_ns;
	ev.nums[NUM_CONTEXT] = 20;
	ev.nums[NUM_SEQNO] = seqno;
	encode(&ev.hdr);
	queue(seqno + 1, own_ns, 0, CARD, "gfx");
	ev = a_point(GPU_SCHED_DEP_2, own_ns);
	ev.nums[NUM_CONTEXT] = ev.nums[NUM_DEP_CONTEXT] = 20;
	ev.nums[NUM_SEQNO] = seqno + 1;
	ev.nums[NUM_DEP_SEQNO] = seqno;
	encode(&ev.hdr);
	step(GPU_SCHED_RUN, seqno, own_ns + 100, "gfx");
	step(GPU_SCHED_RUN, seqno + 1, own_ns + 200, "gfx");
	step(GPU_SCHED_DONE, seqno, done_ns - 1000, "");
	step(GPU_SCHED_DONE, seqno + 1, done_ns, "");
}

START_TEST(a_clients_frame_is_on_its_own_timeline)
{
	const FrameTimelineEvent__ActualSurfaceFrameStart *surface = NULL;
	const FrameTimelineEvent__ActualDisplayFrameStart *display = NULL;
	size_t n = 0;

	for (uint64_t i = 0; i < 3; i++) {
		uint64_t now = (10 + i) * PERIOD + 1000000;

		if (i == 2)
			now += 2 * PERIOD; /* the client draws too late */
		compose(10 * i + 1, now, now + 1000000, now + 3000000);
		flip(now + 4000000, 0);
		if (i == 2) {
			vblank(13, false);
			vblank(14, false);
		}
		vblank(i == 2 ? 15 : 11 + i, true);
	}
	finish();
	for (size_t k = 0; k < w.n; k++) {
		const FrameTimelineEvent *e = w.packets[k]->frame_timeline_event;

		if (!e)
			continue;
		if (e->actual_surface_frame_start) {
			surface = e->actual_surface_frame_start;
			n++;
		}
		if (e->actual_display_frame_start)
			display = e->actual_display_frame_start;
	}
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(surface->pid, 2000);
	ck_assert_int_eq(display->pid, 1000);
	ck_assert_int_eq(surface->display_frame_token, display->token);
	ck_assert_int_eq(surface->jank_type, 64); /* the application missed it */
	ck_assert_int_eq(surface->present_type, 2);
	ck_assert_str_eq(arg(event("frame late", 0), "reason"), "application");
	ck_assert_str_eq(arg(event("frame late", 0), "client_pid"), "2000");
}
END_TEST

START_TEST(an_xid_is_a_mark)
{
	struct gpu_point_event ev = a_point(GPU_NVIDIA_XID, 1000);

	ev.nums[NUM_XID] = 79;
	strcpy(ev.strs[STR_RING], "GPU has fallen off the bus.");
	strcpy(ev.strs[STR_DEV], "0000:01:00");
	encode(&ev.hdr);
	finish();
	ck_assert_str_eq(arg(event("Xid", 0), "code"), "79");
}
END_TEST

/* ---- memory ---- */

static void add_process(uint32_t tgid)
{
	uint64_t start = t0 - NS_PER_SEC;
	struct task_info task = {
		.tid = tgid, .tgid = tgid, .start_ns = start, .process_start_ns = start
	};

	process_table_fork(processes, &task);
}

static void memory(uint32_t gpu_id, uint32_t pid, uint64_t size, uint64_t time)
{
	struct gpu_point_event ev = a_point(GPU_MEM_TOTAL, time);

	ev.nums[NUM_GPU_ID] = gpu_id;
	ev.nums[NUM_PID] = pid;
	ev.nums[NUM_SIZE] = size;
	ck_assert(gpu_work_machine_wide(&ev.hdr));
	encode(&ev.hdr);
}

/* The i-th value of "GPU memory" > `name` of a process; 0: of all. */
static const TracePacket *memory_of(uint32_t pid, const char *name, size_t i)
{
	for (size_t k = 0; k < w.n; k++) {
		const TrackEvent *te = w.packets[k]->track_event;
		const TrackDescriptor *t = te ? track(te->track_uuid) : NULL, *group, *process;

		if (!t || !t->counter || strcmp(t->name, name) != 0)
			continue;
		group = track(t->parent_uuid);
		ck_assert_str_eq(group->name, "GPU memory");
		process = group->has_parent_uuid ? track(group->parent_uuid) : NULL;
		if ((process ? (uint32_t)process->process->pid : 0) == pid && i-- == 0) {
			ck_assert_int_eq(t->counter->unit, 3); /* SIZE_BYTES */
			return w.packets[k];
		}
	}
	return NULL;
}

static void assert_memory(uint32_t pid, const char *name, size_t i, int64_t size, uint64_t time)
{
	const TracePacket *pkt = memory_of(pid, name, i);

	ck_assert_ptr_nonnull(pkt);
	ck_assert(pkt->track_event->has_counter_value);
	ck_assert_int_eq(pkt->track_event->counter_value, size);
	ck_assert_uint_eq(pkt->timestamp, t0 + time);
}

START_TEST(memory_is_drawn_by_process_and_by_gpu)
{
	add_process(1000);
	add_process(2000);
	memory(0, 1000, 4096, 100);
	memory(0, 0, 5ull << 32, 110);
	memory(1, 1000, 12288, 120);
	memory(0, 2000, 8192, 130);
	memory(0, 1000, 0, 140);
	memory(0, 0, 8192, 150);
	finish();
	assert_memory(1000, "gpu_id 0", 0, 4096, 100);
	assert_memory(1000, "gpu_id 0", 1, 0, 140);
	assert_memory(1000, "gpu_id 1", 0, 12288, 120);
	assert_memory(2000, "gpu_id 0", 0, 8192, 130);
	assert_memory(0, "gpu_id 0", 0, 5ll << 32, 110);
	assert_memory(0, "gpu_id 0", 1, 8192, 150);
	ck_assert_ptr_null(memory_of(0, "gpu_id 0", 2));
	ck_assert_ptr_null(memory_of(0, "gpu_id 1", 0));
	for (size_t k = 0; k < w.n; k++)
		ck_assert_ptr_null(w.packets[k]->gpu_mem_total_event); /* never both */
}
END_TEST

START_TEST(memory_of_who_is_not_there_is_left_out)
{
	add_process(1000);
	memory(0, 1001, 4096, 100); /* nobody knows it */
	memory(0, 1000, 4096, 200);
	process_table_free_task(processes, 1000, t0 - NS_PER_SEC, t0 + 300);
	memory(0, 1000, 0, 400); /* freed by a worker, later */
	finish();
	assert_memory(1000, "gpu_id 0", 0, 4096, 200);
	ck_assert_ptr_null(memory_of(1000, "gpu_id 0", 1));
	ck_assert_ptr_null(memory_of(1001, "gpu_id 0", 0));
}
END_TEST

START_TEST(a_filter_leaves_out_others_memory_but_not_the_total)
{
	gpu_encoder_free(encoder);
	config.n_pids = 1;
	config.pids[0] = 1000;
	open_encoder();
	add_process(1000);
	add_process(2000);
	memory(0, 1000, 4096, 100);
	memory(0, 2000, 8192, 200);
	memory(0, 0, 12288, 300);
	finish();
	assert_memory(1000, "gpu_id 0", 0, 4096, 100);
	assert_memory(0, "gpu_id 0", 0, 12288, 300);
	ck_assert_ptr_null(memory_of(2000, "gpu_id 0", 0));
}
END_TEST

/* ---- is it a record of ours? ---- */

START_TEST(what_cannot_be_is_not_valid)
{
	struct gpu_point_event ev = of_thread(GPU_FENCE_WAIT_START, 1000, 1), bad = ev;

	ck_assert(gpu_valid(&ev.hdr, sizeof(ev)));
	ck_assert(!gpu_valid(&ev.hdr, sizeof(ev) - 1));
	bad.point = N_GPU_POINT_KINDS;
	ck_assert(!gpu_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.flags = 2;
	ck_assert(!gpu_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.tid = 0;
	ck_assert(!gpu_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.tid = bad.tgid = 0;
	ck_assert(!gpu_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.ioctl_ns = bad.hdr.time_ns + 1;
	ck_assert(!gpu_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	memset(bad.strs[1], 'x', sizeof(bad.strs[1]));
	ck_assert(!gpu_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	memset(bad.comm, 'x', sizeof(bad.comm));
	ck_assert(!gpu_valid(&bad.hdr, sizeof(bad)));
	bad = ev;
	bad.hdr.type = GPU_POINT + 1;
	ck_assert(!gpu_valid(&bad.hdr, sizeof(bad)));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_work");
	TCase *tc = tcase_create("work");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_job_is_drawn_on_its_ring_and_linked_to_its_ioctl);
	tcase_add_test(tc, the_new_tracepoints_name_the_device_themselves);
	tcase_add_test(tc, the_kernels_own_jobs_have_their_own_queue);
	tcase_add_test(tc, a_job_from_before_is_on_a_track_of_its_own);
	tcase_add_test(tc, what_still_runs_at_the_end_says_so);
	tcase_add_test(tc, where_events_are_missing_nobody_says_that_a_job_still_runs);
	tcase_add_test(tc, jobs_that_wait_together_have_lanes);
	tcase_add_test(tc, a_filter_leaves_out_others_jobs_but_not_their_time_on_the_ring);
	tcase_add_test(tc, a_drivers_fence_is_a_job_where_nothing_else_tells);
	tcase_add_test(tc, a_job_is_never_shown_twice);
	tcase_add_test(tc, requests_of_i915_are_on_engines);
	tcase_add_test(tc, a_wait_says_for_which_job);
	tcase_add_test(tc, a_wait_for_what_is_not_known_is_a_wait_all_the_same);
	tcase_add_test(tc, an_ioctl_that_waits_is_linked_to_the_job);
	tcase_add_test(tc, a_wait_for_syncobjs_is_linked_to_what_is_told);
	tcase_add_test(tc, frames_are_slices_with_a_verdict);
	tcase_add_test(tc, a_commit_is_linked_to_its_frame);
	tcase_add_test(tc, a_test_or_a_failure_is_no_frame);
	tcase_add_test(tc, a_gpu_job_that_makes_a_frame_late_is_linked_to_it);
	tcase_add_test(tc, a_clients_frame_is_on_its_own_timeline);
	tcase_add_test(tc, an_xid_is_a_mark);
	tcase_add_test(tc, memory_is_drawn_by_process_and_by_gpu);
	tcase_add_test(tc, memory_of_who_is_not_there_is_left_out);
	tcase_add_test(tc, a_filter_leaves_out_others_memory_but_not_the_total);
	tcase_add_test(tc, what_cannot_be_is_not_valid);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
