/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_work.c - records of tracepoints, handed to the models of jobs, fences and frames.
 *
 * Records come nearly in the order of their times, and those of one job, wait or
 * frame exactly so, since each is the cause of the next and all CPUs share a ring.
 */
#include "gpu_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gpu_fences.h"
#include "gpu_frames.h"
#include "gpu_jobs.h"
#include "gpu_links.h"
#include "gpu_list.h"
#include "gpu_points.h"
#include "gpu_slices.h"
#include "hash.h"
#include "trace_writer.h"

#define MAX_JOB_NS (60 * NS_PER_SEC) /* drivers reset a GPU long before */

#define FRAME_SEED 0x6770755f66726dull

#define NR_PAGE_FLIP	 0xb0
#define NR_MODE_ATOMIC	 0xbc
#define NR_SYNCOBJ_WAIT	 0xc3
#define NR_TIMELINE_WAIT 0xca
#define FLIP_EVENT	 0x01 /* the same for both */
#define FLIP_ASYNC	 0x02
#define ATOMIC_TEST	 0x100

struct gpu_work {
	struct encoder_env env;
	struct gpu_links *links;
	struct gpu_list *gpus;
	struct gpu_jobs *jobs;
	struct gpu_fences *fences;
	struct gpu_frames *frames;
	struct gpu_slices *slices;
	uint64_t with_scheduler; /* bit N: GPU N has jobs of a scheduler */
	uint64_t last_ns;	 /* of the latest record */
	uint64_t lost_ns;	 /* until then some are missing; 0: none */
	bool syncobjs_told;	 /* this kernel says what waits for syncobjs have waited for */
	int error;		 /* of writing, since the last look */
};

/* ---- is it a record of ours? ---- */

bool gpu_work_valid(const struct event_hdr *hdr, size_t len)
{
	const struct gpu_point_event *ev = (const void *)hdr;

	if (hdr->type != GPU_POINT || len != sizeof(*ev) || ev->point >= N_GPU_POINT_KINDS ||
	    (ev->flags & ~GPU_POINT_FLAGS) || ev->ioctl_ns > hdr->time_ns ||
	    !memchr(ev->comm, '\0', sizeof(ev->comm)) ||
	    !memchr(ev->driver, '\0', sizeof(ev->driver)) || !ev->tgid != !ev->tid)
		return false;
	for (int i = 0; i < GPU_POINT_STRS; i++)
		if (!memchr(ev->strs[i], '\0', sizeof(ev->strs[i])))
			return false;
	/* A wait is a thread's. */
	return ev->tid || (ev->point != GPU_FENCE_WAIT_START && ev->point != GPU_FENCE_WAIT_END &&
			   ev->point != GPU_SYNCOBJ_WAITED);
}

bool gpu_work_machine_wide(const struct event_hdr *hdr)
{
	return hdr->type == GPU_POINT && hdr->tgid == 0;
}

/* ---- jobs ---- */

static void on_job(void *ctx, const struct gpu_job *job)
{
	struct gpu_work *w = ctx;
	int r = gpu_slices_job(w->slices, job, w->last_ns);

	if (r < 0)
		w->error = r;
}

static struct gpu_key key_of(const struct gpu_point_event *ev)
{
	return (struct gpu_key){ ev->nums[NUM_CONTEXT], ev->nums[NUM_SEQNO] };
}

/* Of what it says itself, or else of the ioctl that it happens in, or of the only one. */
static uint32_t device_of(struct gpu_work *w, const struct gpu_point_event *ev)
{
	uint32_t device = 0;

	if (ev->rdev)
		device = gpu_list_of_rdev(w->gpus, ev->rdev, ev->driver);
	else if (ev->point == GPU_SCHED_QUEUE_2 || ev->point == GPU_SCHED_RUN_2)
		device = gpu_list_of_device(w->gpus, ev->strs[STR_DEV]);
	if (!device && gpu_list_count(w->gpus) == 1)
		device = 1;
	return device;
}

static bool counted(const struct gpu_job *job)
{
	return job != NULL;
}

/* `scheduled`: it waits for its turn, else the hardware gets it at once. */
static bool queue(struct gpu_work *w, const struct gpu_point_event *ev, const char *ring,
		  bool scheduled)
{
	struct gpu_submit submit = {
		.key = key_of(ev),
		.time_ns = ev->hdr.time_ns,
		.device = device_of(w, ev),
		.ring = ring,
		.tgid = ev->tgid,
		.tid = ev->tid,
		.cgroup_id = ev->hdr.cgroup_id,
		.ioctl_ns = ev->ioctl_ns,
		.comm = ev->comm,
		.is_kernel = (ev->flags & GPU_POINT_KTHREAD) != 0,
		.at_once = !scheduled,
	};
	const struct gpu_job *job;

	if (scheduled) {
		submit.client_id = ev->nums[NUM_CLIENT_ID];
		submit.sched_id = ev->nums[NUM_ID];
		if (submit.device)
			w->with_scheduler |= 1ull << (submit.device % 64);
	}
	job = gpu_jobs_queue(w->jobs, &submit);
	if (!job)
		return false;
	if (!ev->ioctl_ns || !gpu_slices_wanted(w->slices, job->tgid, job->tid, job->cgroup_id))
		return true;
	if (scheduled)
		gpu_links_add(w->links, ev->tid, ev->ioctl_ns, GPU_LINK_STARTS, job->id);
	gpu_links_add(w->links, ev->tid, ev->ioctl_ns, GPU_LINK_SUBMITS, job->id);
	return true;
}

static bool run(struct gpu_work *w, const struct gpu_point_event *ev, const char *ring)
{
	return counted(gpu_jobs_run(w->jobs, key_of(ev), ev->hdr.time_ns, device_of(w, ev), ring));
}

static bool has_scheduler(const struct gpu_work *w, uint32_t device, const char *driver)
{
	/* These have rings of both kinds. */
	if (strcmp(driver, "nouveau") == 0)
		return false;
	return device && (w->with_scheduler >> (device % 64) & 1);
}

/*
 * A fence that a driver makes in its own ioctl stands for a job where nothing else
 * does. Those of a scheduler and of collections of fences do not.
 */
static bool fence(struct gpu_work *w, const struct gpu_point_event *ev)
{
	static const char *const others[] = {
		"drm_sched",
		"dma_fence_array",
		"dma_fence_chain",
		"stub",
		"drm_stub",
		"i915",
		/* Drivers whose jobs all go through a scheduler, and whose other fences are none.
		 */
		"amdgpu",
		"amdgpu_tlb_fence",
		"etnaviv",
		"lima",
		"panfrost",
		"v3d",
		"powervr",
		"panthor",
		"xe",
		"amdxdna",
		"rocket",
		"ethosu",
		"asahi",
	};
	const char *driver = ev->strs[STR_DEV], *ring = ev->strs[STR_RING];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(driver, others[i]) == 0)
			return false;
	if (has_scheduler(w, device_of(w, ev), driver))
		return false;
	return queue(w, ev, strcmp(ring, "unbound") == 0 || !ring[0] ? "fences" : ring, false);
}

/* "rcs0": the names that the driver itself prints. */
static bool i915(struct gpu_work *w, const struct gpu_point_event *ev)
{
	static const char *const classes[] = { "rcs", "bcs", "vcs", "vecs", "ccs" };
	uint64_t class = ev->nums[NUM_CLASS];
	char ring[GPU_RING_NAME];

	snprintf(ring, sizeof(ring), "%s%u",
		 class < sizeof(classes) / sizeof(classes[0]) ? classes[class] : "other",
		 (unsigned)ev->nums[NUM_INSTANCE]);
	return ev->point == GPU_I915_ADD ? queue(w, ev, ring, false) : run(w, ev, ring);
}

static bool depend(struct gpu_work *w, const struct gpu_point_event *ev)
{
	struct gpu_key on = { ev->nums[NUM_DEP_CONTEXT], ev->nums[NUM_DEP_SEQNO] };

	if (ev->point == GPU_SCHED_DEP_2)
		return counted(gpu_jobs_depend(w->jobs, key_of(ev), on));
	return counted(gpu_jobs_depend_by_id(w->jobs, ev->strs[STR_RING], ev->nums[NUM_ID], on));
}

/* ---- waits ---- */

static void skip(struct gpu_work *w, size_t n)
{
	trace_writer_skip(w->env.writer, (unsigned)n);
}

static void wait_start(struct gpu_work *w, const struct gpu_point_event *ev)
{
	struct gpu_wait wait = {
		.key = key_of(ev),
		.begin_ns = ev->hdr.time_ns,
		.tgid = ev->tgid,
		.tid = ev->tid,
	};

	skip(w, gpu_fences_begin(w->fences, &wait));
}

static int wait_end(struct gpu_work *w, const struct gpu_point_event *ev)
{
	struct gpu_wait_text text = { ev->strs[STR_DEV], ev->strs[STR_RING], false };
	struct gpu_wait wait;

	if (!gpu_fences_end(w->fences, ev->tid, key_of(ev), &wait)) {
		skip(w, 1);
		return 0;
	}
	if (ev->flags & GPU_POINT_KTHREAD)
		gpu_frames_kernel_wait(w->frames, wait.begin_ns, ev->hdr.time_ns);
	return gpu_slices_wait(w->slices, &wait, ev->hdr.time_ns, &text, 2);
}

/* ---- frames ---- */

static void on_frame(void *ctx, const struct gpu_frame *frame)
{
	struct gpu_work *w = ctx;
	int r = gpu_slices_frame(w->slices, frame);

	if (r < 0)
		w->error = r;
}

static int vblank(struct gpu_work *w, const struct gpu_point_event *ev)
{
	uint32_t crtc = (uint32_t)ev->nums[NUM_CRTC], seq = (uint32_t)ev->nums[NUM_SEQ], device;
	uint64_t time_ns = ev->hdr.time_ns, mono_ns = ev->nums[NUM_TIME];

	/* When the display says it was, if that is near: some drivers say nothing. */
	if (mono_ns + NS_PER_SEC > ev->mono_ns && mono_ns < ev->mono_ns + NS_PER_SEC)
		time_ns = time_ns - ev->mono_ns + mono_ns;
	device = gpu_frames_vblank(w->frames, crtc, seq, time_ns);
	if (time_ns < w->env.start_ns) {
		skip(w, 1);
		return 0;
	}
	return gpu_slices_vblank(w->slices, device, crtc, seq, time_ns);
}

static void delivered(struct gpu_work *w, const struct gpu_point_event *ev)
{
	if (!gpu_frames_delivered(w->frames, ev->nums[NUM_FILE], (uint32_t)ev->nums[NUM_CRTC],
				  (uint32_t)ev->nums[NUM_SEQ], ev->hdr.time_ns))
		skip(w, 1);
}

/* What was passed in, as far as it is known: 0 where it is not. */
static uint32_t input_u32(const struct gpu_ioctl_event *ev, unsigned offset)
{
	uint32_t v = 0;

	if (offset + sizeof(v) <= ev->n_in && !(ev->flags & GPU_NO_INPUT))
		memcpy(&v, ev->data + offset, sizeof(v));
	return v;
}

/* False: it is no commit, or one that nobody will be told of. */
static bool is_commit(const struct gpu_ioctl_event *ev, uint32_t *ret_flags)
{
	if (ev->gpu_class != GPU_DRM || (ev->nr != NR_PAGE_FLIP && ev->nr != NR_MODE_ATOMIC))
		return false;
	*ret_flags = input_u32(ev, ev->nr == NR_PAGE_FLIP ? 8 : 0);
	return (*ret_flags & FLIP_EVENT) && !(*ret_flags & ATOMIC_TEST);
}

static void commit(struct gpu_work *w, const struct gpu_ioctl_event *ev, uint32_t flags)
{
	uint64_t unique[] = { ev->file, ev->enter_ns, ev->hdr.tid };
	struct gpu_commit c = {
		.time_ns = ev->enter_ns,
		.end_ns = ev->hdr.time_ns,
		.file = ev->file,
		.id = hash_bytes(unique, sizeof(unique), FRAME_SEED) | 1,
		.device = gpu_list_of_rdev(w->gpus, ev->rdev, ev->driver),
		.tgid = ev->hdr.tgid,
		.tid = ev->hdr.tid,
		.cgroup_id = ev->hdr.cgroup_id,
		.is_async = (flags & FLIP_ASYNC) != 0,
		.failed = ev->ret == -EBUSY,
	};

	if (ev->ret < 0 && !c.failed)
		return;
	gpu_links_add(w->links, ev->hdr.tid, ev->enter_ns, GPU_LINK_STARTS, c.id);
	gpu_frames_commit(w->frames, &c);
}

static bool waits_for_syncobjs(const struct gpu_ioctl_event *ev)
{
	return ev->gpu_class == GPU_DRM &&
	       (ev->nr == NR_SYNCOBJ_WAIT || ev->nr == NR_TIMELINE_WAIT);
}

/* Comes before its ioctl, which takes what it has waited for. */
static void syncobj_waited(struct gpu_work *w, const struct gpu_point_event *ev)
{
	const struct gpu_job *job = gpu_jobs_find(w->jobs, key_of(ev));

	w->syncobjs_told = true;
	if (job)
		gpu_links_add(w->links, ev->hdr.tid, ev->ioctl_ns, GPU_LINK_WAITED, job->id);
	skip(w, 1);
}

void gpu_work_ioctl(struct gpu_work *w, const struct gpu_ioctl_event *ev)
{
	const struct gpu_job *job;
	uint32_t flags;

	if (is_commit(ev, &flags)) {
		commit(w, ev, flags);
	} else if (ev->ioctl_class == GPU_CLASS_WAIT && ev->ret >= 0 &&
		   !(w->syncobjs_told && waits_for_syncobjs(ev))) {
		/* Which fence it was is not told: the last job that was done meanwhile. */
		job = gpu_jobs_last_done(w->jobs, ev->hdr.tgid,
					 gpu_list_of_rdev(w->gpus, ev->rdev, ev->driver),
					 ev->enter_ns, ev->hdr.time_ns);
		if (job)
			gpu_links_add(w->links, ev->hdr.tid, ev->enter_ns, GPU_LINK_WAITED,
				      job->id);
	}
}

/* ---- all of them ---- */

/* A step of a job: counted when the job is written, or not at all. */
static void job_step(struct gpu_work *w, const struct gpu_point_event *ev)
{
	bool taken;

	switch (ev->point) {
	case GPU_SCHED_QUEUE:
	case GPU_SCHED_QUEUE_2:
		taken = queue(w, ev, ev->strs[STR_RING], true);
		break;
	case GPU_SCHED_RUN:
	case GPU_SCHED_RUN_2:
		taken = run(w, ev, ev->strs[STR_RING]);
		break;
	case GPU_SCHED_DEP:
	case GPU_SCHED_DEP_2:
		taken = depend(w, ev);
		break;
	case GPU_FENCE_INIT:
	case GPU_FENCE_EMIT:
		taken = fence(w, ev);
		break;
	case GPU_I915_ADD:
	case GPU_I915_IN:
		taken = i915(w, ev);
		break;
	default:
		taken = gpu_jobs_done(w->jobs, key_of(ev), ev->hdr.time_ns);
	}
	if (!taken)
		skip(w, 1);
}

static int take_error(struct gpu_work *w)
{
	int r = w->error;

	w->error = 0;
	return r;
}

int gpu_work_encode(struct gpu_work *w, const struct event_hdr *hdr)
{
	const struct gpu_point_event *ev = (const void *)hdr;
	int r = 0;

	if (hdr->time_ns > w->last_ns)
		w->last_ns = hdr->time_ns;
	switch (ev->point) {
	case GPU_FENCE_WAIT_START:
		wait_start(w, ev);
		break;
	case GPU_FENCE_WAIT_END:
		r = wait_end(w, ev);
		break;
	case GPU_VBLANK:
		r = vblank(w, ev);
		break;
	case GPU_VBLANK_QUEUED:
		gpu_frames_queued(w->frames, ev->nums[NUM_FILE], (uint32_t)ev->nums[NUM_CRTC],
				  (uint32_t)ev->nums[NUM_SEQ]);
		skip(w, 1);
		break;
	case GPU_VBLANK_DELIVERED:
		delivered(w, ev);
		break;
	case GPU_SYNCOBJ_WAITED:
		syncobj_waited(w, ev);
		break;
	case GPU_NVIDIA_XID:
		r = gpu_slices_xid(w->slices, ev);
		break;
	case GPU_MEM_TOTAL:
		r = gpu_slices_memory(w->slices, ev);
		break;
	default:
		job_step(w, ev);
	}
	return r < 0 ? r : take_error(w);
}

void gpu_work_lost(struct gpu_work *w)
{
	w->lost_ns = w->last_ns;
}

/* That it still runs is not said of a job whose end may be missing. */
static void on_open_job(void *ctx, const struct gpu_job *job)
{
	struct gpu_work *w = ctx;

	if (job->run_ns > w->lost_ns)
		on_job(ctx, job);
	else
		skip(w, job->n_events);
}

/* What still goes on when the recording ends. */
static int write_rest(struct gpu_work *w)
{
	struct gpu_wait_text text = { "", "", true };
	struct gpu_wait wait;
	int r = 0;

	gpu_jobs_each(w->jobs, on_open_job, w);
	while (r == 0 && gpu_fences_rest(w->fences, &wait)) {
		if (wait.begin_ns > w->lost_ns)
			r = gpu_slices_wait(w->slices, &wait, w->last_ns, &text, 1);
		else
			skip(w, 1);
	}
	return r;
}

int gpu_work_flush(struct gpu_work *w, uint64_t now_ns, bool final)
{
	int r = 0;

	gpu_frames_flush(w->frames, now_ns, final);
	if (!final && now_ns > MAX_JOB_NS)
		skip(w, gpu_jobs_forget(w->jobs, now_ns - MAX_JOB_NS));
	skip(w, gpu_jobs_forgotten(w->jobs));
	if (final)
		r = write_rest(w);
	return r < 0 ? r : take_error(w);
}

int gpu_work_new(const struct encoder_env *env, struct gpu_links *links, const char *sys,
		 struct gpu_work **ret)
{
	struct gpu_work *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->env = *env;
	w->links = links;
	r = gpu_list_new(sys, &w->gpus);
	if (r == 0)
		r = gpu_jobs_new(on_job, w, &w->jobs);
	if (r == 0)
		r = gpu_fences_new(&w->fences);
	if (r == 0)
		r = gpu_frames_new(w->jobs, on_frame, w, &w->frames);
	if (r == 0)
		r = gpu_slices_new(env, w->gpus, w->jobs, &w->slices);
	if (r == 0)
		r = gpu_slices_gpus(w->slices);
	if (r < 0) {
		gpu_work_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void gpu_work_free(struct gpu_work *w)
{
	if (!w)
		return;
	gpu_slices_free(w->slices);
	gpu_frames_free(w->frames);
	gpu_fences_free(w->fences);
	gpu_jobs_free(w->jobs);
	gpu_list_free(w->gpus);
	free(w);
}
