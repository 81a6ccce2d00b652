/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_frames.c - frames of a display: commit, vblank, verdict, reason. */
#include "gpu_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gpu_jobs.h"
#include "gpu_vblanks.h"

#define MAX_PENDING 64 /* commits that are not shown yet */
#define MAX_EARLY   32 /* told of before the ioctl that asked for it has returned */
#define MAX_SHOWN   32 /* told of, and the vblank's own time may still come */
#define MAX_QUEUED  64 /* vblanks that clients wait for */
#define MAX_CRTCS   64
#define MAX_WAITS   32 /* of the kernel, the latest */
#define N_GAPS	    8  /* frames that make a pace */
#define MIN_GAPS    4

#define WAIT_FOR_TIME_NS (100 * NS_PER_MS) /* for the vblank's own event */
#define GIVE_UP_NS	 (1 * NS_PER_SEC)  /* a commit older than one that has been shown */
#define ALL_CRTCS_NS	 (100 * NS_PER_MS) /* one commit is shown on all its displays */
#define IDLE_PERIODS	 15

struct pending {
	struct gpu_commit commit;
	uint64_t crtcs; /* on which it has been shown */
	uint64_t shown_ns;
};

struct told {
	uint64_t file, time_ns;
	uint32_t crtc, seq;
	unsigned n_events;
};

struct shown {
	struct gpu_frame frame;
	uint64_t told_ns;
};

struct crtc {
	uint32_t device, crtc;
	bool used;
	uint64_t seq, present_ns, commit_ns; /* of the last frame; 0: none */
	uint64_t gaps[N_GAPS];
	unsigned n_gaps;
	struct gpu_beat beat; /* by the frames alone */
};

struct gpu_frames {
	const struct gpu_jobs *jobs;
	gpu_frame_fn *fn;
	void *ctx;
	struct gpu_vblanks vblanks;
	struct pending pending[MAX_PENDING];
	struct told early[MAX_EARLY], queued[MAX_QUEUED];
	struct shown shown[MAX_SHOWN];
	size_t n_pending, n_early, n_queued, n_shown; /* oldest first */
	struct crtc crtcs[MAX_CRTCS];
	struct {
		uint64_t begin_ns, end_ns;
	} waits[MAX_WAITS];
	unsigned n_waits;
};

const char *gpu_reason_name(enum gpu_reason reason)
{
	static const char *const names[N_GPU_REASONS] = { "", "application", "GPU", "compositor" };

	return names[reason];
}

int gpu_frames_new(const struct gpu_jobs *jobs, gpu_frame_fn *fn, void *ctx,
		   struct gpu_frames **ret)
{
	struct gpu_frames *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->jobs = jobs;
	f->fn = fn;
	f->ctx = ctx;
	*ret = f;
	return 0;
}

void gpu_frames_free(struct gpu_frames *f)
{
	free(f);
}

/* Takes item `i` out of a list that keeps its order. */
#define REMOVE(list, n, i)                                                                \
	do {                                                                              \
		memmove(&(list)[i], &(list)[(i) + 1], (--(n) - (i)) * sizeof((list)[0])); \
	} while (0)

/* ---- what it was made of ---- */

static void add_client(struct gpu_frame *frame, const struct gpu_job *job)
{
	struct gpu_client *c;

	for (size_t i = 0; i < frame->n_clients; i++) {
		c = &frame->clients[i];
		if (c->tgid != job->tgid)
			continue;
		if (job->queued_ns < c->queued_ns)
			c->queued_ns = job->queued_ns;
		if (job->done_ns > c->done_ns) {
			c->done_ns = job->done_ns;
			c->job = job->id;
		}
		return;
	}
	if (frame->n_clients < GPU_FRAME_CLIENTS && job->tgid && job->queued_ns)
		frame->clients[frame->n_clients++] =
			(struct gpu_client){ job->tgid, job->id, job->queued_ns, job->done_ns,
					     job->cgroup_id };
}

/* Jobs that its process has queued since the frame before, and who they waited for. */
static void find_jobs(const struct gpu_frames *f, struct gpu_frame *frame, uint64_t since_ns)
{
	const struct gpu_job *jobs[GPU_FRAME_JOBS];
	const struct gpu_commit *c = &frame->commit;
	size_t n = gpu_jobs_queued(f->jobs, c->tgid, since_ns, c->time_ns, jobs, GPU_FRAME_JOBS);

	for (size_t i = 0; i < n; i++) {
		const struct gpu_job *job = jobs[i];
		/* What the GPU still works on is not done at the time of looking. */
		uint64_t done_ns = job->done_ns ? job->done_ns : frame->present_ns;

		frame->jobs[frame->n_jobs++] = job->id;
		if (done_ns > frame->gpu_done_ns)
			frame->gpu_done_ns = done_ns;
		for (unsigned k = 0; k < job->n_deps; k++) {
			const struct gpu_job *dep;

			if (job->deps[k].tgid == c->tgid)
				continue;
			dep = gpu_jobs_by_id(f->jobs, job->deps[k].id);
			if (dep && !dep->is_kernel)
				add_client(frame, dep);
		}
	}
}

/* ---- verdict ---- */

static struct crtc *crtc_of(struct gpu_frames *f, uint32_t device, uint32_t crtc)
{
	struct crtc *place = &f->crtcs[0];

	for (size_t i = 0; i < MAX_CRTCS; i++) {
		struct crtc *c = &f->crtcs[i];

		if (c->used && c->device == device && c->crtc == crtc)
			return c;
		if (place->used && (!c->used || c->present_ns < place->present_ns))
			place = c;
	}
	*place = (struct crtc){ .used = true, .device = device, .crtc = crtc };
	return place;
}

static uint64_t period_of(const struct gpu_frames *f, const struct crtc *c)
{
	const struct gpu_beat *beat = gpu_vblanks_of(&f->vblanks, c->device, c->crtc);

	return beat && beat->period_ns ? beat->period_ns : c->beat.period_ns;
}

/* Vblanks from one frame to the next when nothing is missed: the pace of the last few. */
static uint64_t pace_of(const struct crtc *c)
{
	uint64_t pace = UINT64_MAX;

	if (c->n_gaps < MIN_GAPS)
		return 1;
	for (size_t i = 0; i < N_GAPS && i < c->n_gaps; i++)
		if (c->gaps[i] < pace)
			pace = c->gaps[i];
	return pace;
}

static void judge(const struct crtc *c, struct gpu_frame *frame)
{
	uint64_t commit_ns = frame->commit.time_ns, present_ns = frame->present_ns;
	uint64_t period = frame->period_ns, waited, gap;
	bool idle;

	if (frame->seq == 0 || frame->commit.is_async)
		return;
	frame->verdict = FRAME_ON_TIME;
	if (!period)
		return; /* the first one */
	/* Vblanks between the commit and the one that has shown it; times are not that exact. */
	waited = present_ns - commit_ns;
	waited = waited > period / 16 ? (waited - period / 16) / period : 0;
	idle = !c->present_ns || frame->seq <= c->seq || commit_ns < c->present_ns ||
	       commit_ns - c->present_ns > IDLE_PERIODS * period;
	frame->late_by = waited;
	if (!idle) {
		gap = frame->seq - c->seq;
		if (gap > pace_of(c) && gap - pace_of(c) > waited)
			frame->late_by = gap - pace_of(c);
	}
	frame->target_ns = present_ns - frame->late_by * period;
	if (frame->late_by)
		frame->verdict = FRAME_LATE;
}

/* The kernel waited for a fence that came too late, before it could show the frame. */
static bool kernel_waited(const struct gpu_frames *f, const struct gpu_frame *frame)
{
	for (size_t i = 0; i < MAX_WAITS && i < f->n_waits; i++)
		if (f->waits[i].begin_ns >= frame->commit.time_ns &&
		    f->waits[i].end_ns > frame->target_ns &&
		    f->waits[i].end_ns <= frame->present_ns)
			return true;
	return false;
}

/* Was a job of the frame at work when the frame should have been shown? */
static bool gpu_was_late(const struct gpu_frames *f, const struct gpu_frame *frame)
{
	for (size_t i = 0; i < frame->n_jobs; i++) {
		const struct gpu_job *job = gpu_jobs_by_id(f->jobs, frame->jobs[i]);

		if (job && job->queued_ns <= frame->target_ns &&
		    (!job->done_ns || job->done_ns > frame->target_ns))
			return true;
	}
	for (size_t i = 0; i < frame->n_clients; i++)
		if (frame->clients[i].queued_ns <= frame->target_ns &&
		    frame->clients[i].done_ns > frame->target_ns)
			return true;
	return kernel_waited(f, frame);
}

static enum gpu_reason reason_of(const struct gpu_frames *f, const struct gpu_frame *frame)
{
	if (gpu_was_late(f, frame))
		return REASON_GPU;
	if (frame->commit.time_ns <= frame->target_ns)
		return REASON_COMPOSITOR;
	for (size_t i = 0; i < frame->n_clients; i++)
		if (frame->clients[i].queued_ns > frame->target_ns)
			return REASON_APPLICATION;
	return frame->n_clients ? REASON_COMPOSITOR : REASON_APPLICATION;
}

static void finish(struct gpu_frames *f, struct gpu_frame *frame, uint64_t present_ns)
{
	struct crtc *c = crtc_of(f, frame->commit.device, frame->crtc);

	frame->present_ns =
		present_ns > frame->commit.time_ns ? present_ns : frame->commit.time_ns + 1;
	find_jobs(f, frame, c->commit_ns);
	if (frame->seq && c->seq && frame->seq > c->seq)
		gpu_beat_measure(&c->beat, c->present_ns, frame->present_ns, frame->seq - c->seq);
	frame->period_ns = period_of(f, c);
	judge(c, frame);
	if (frame->verdict == FRAME_LATE)
		frame->reason = reason_of(f, frame);
	if (c->seq && frame->seq > c->seq)
		c->gaps[c->n_gaps++ % N_GAPS] = frame->seq - c->seq;
	c->seq = frame->seq;
	c->present_ns = frame->present_ns;
	c->commit_ns = frame->commit.time_ns;
	f->fn(f->ctx, frame);
}

static void finish_oldest(struct gpu_frames *f)
{
	struct shown s = f->shown[0];

	REMOVE(f->shown, f->n_shown, 0);
	finish(f, &s.frame, s.told_ns);
}

/* ---- events ---- */

static void show(struct gpu_frames *f, const struct gpu_commit *commit, const struct told *t)
{
	if (f->n_shown == MAX_SHOWN)
		finish_oldest(f);
	gpu_vblanks_learn(&f->vblanks, commit->device, t->crtc, t->seq, t->time_ns);
	f->shown[f->n_shown++] = (struct shown){
		.frame = { .commit = *commit,
			   .crtc = t->crtc,
			   .seq = t->seq,
			   .n_events = t->n_events },
		.told_ns = t->time_ns,
	};
}

static void drop(struct gpu_frames *f, const struct gpu_commit *commit, uint64_t known_ns)
{
	struct gpu_frame frame = {
		.commit = *commit,
		.verdict = FRAME_DROPPED,
		.reason = REASON_COMPOSITOR,
		.present_ns = known_ns,
	};

	if (frame.present_ns <= commit->time_ns)
		frame.present_ns = commit->time_ns + 1;
	f->fn(f->ctx, &frame);
}

/*
 * The latest commit of the file that is not shown on this CRTC yet: one that has
 * not been shown at all, or else one that has just been on another CRTC. The
 * kernel takes none for a CRTC that is still busy, so an older one is another's.
 */
static struct pending *match(struct gpu_frames *f, const struct told *t)
{
	uint64_t bit = 1ull << (t->crtc % 64);
	struct pending *best = NULL;

	for (size_t i = 0; i < f->n_pending; i++) {
		struct pending *p = &f->pending[i];

		if (p->commit.file != t->file || p->commit.time_ns >= t->time_ns || p->crtcs & bit)
			continue;
		if (p->crtcs && p->shown_ns + ALL_CRTCS_NS < t->time_ns)
			continue;
		if (!best || !p->crtcs || best->crtcs)
			best = p;
	}
	return best;
}

static bool told(struct gpu_frames *f, const struct told *t)
{
	struct pending *p = match(f, t);

	if (!p)
		return false;
	p->crtcs |= 1ull << (t->crtc % 64);
	p->shown_ns = t->time_ns;
	show(f, &p->commit, t);
	return true;
}

void gpu_frames_commit(struct gpu_frames *f, const struct gpu_commit *commit)
{
	if (commit->failed) {
		drop(f, commit, commit->end_ns);
		return;
	}
	if (f->n_pending == MAX_PENDING)
		REMOVE(f->pending, f->n_pending, 0);
	f->pending[f->n_pending++] = (struct pending){ .commit = *commit };
	for (size_t i = 0; i < f->n_early;) {
		if (f->early[i].file == commit->file && told(f, &f->early[i]))
			REMOVE(f->early, f->n_early, i);
		else
			i++;
	}
}

void gpu_frames_queued(struct gpu_frames *f, uint64_t file, uint32_t crtc, uint32_t seq)
{
	if (f->n_queued == MAX_QUEUED)
		REMOVE(f->queued, f->n_queued, 0);
	f->queued[f->n_queued++] = (struct told){ .file = file, .crtc = crtc, .seq = seq };
}

bool gpu_frames_delivered(struct gpu_frames *f, uint64_t file, uint32_t crtc, uint32_t seq,
			  uint64_t time_ns)
{
	struct told t = { file, time_ns, crtc, seq, 1 };

	for (size_t i = 0; i < f->n_queued; i++) {
		const struct told *q = &f->queued[i];

		if (q->file != file || q->crtc != crtc || (int32_t)(seq - q->seq) < 0)
			continue;
		REMOVE(f->queued, f->n_queued, i);
		return false;
	}
	if (file == 0)
		return false; /* the kernel's own commit */
	if (told(f, &t))
		return true;
	if (f->n_early == MAX_EARLY)
		REMOVE(f->early, f->n_early, 0);
	t.n_events = 0;
	f->early[f->n_early++] = t;
	return false;
}

uint32_t gpu_frames_vblank(struct gpu_frames *f, uint32_t crtc, uint32_t seq, uint64_t time_ns)
{
	struct gpu_beat *b = gpu_vblanks_add(&f->vblanks, crtc, seq, time_ns);

	for (size_t i = 0; i < f->n_shown;) {
		struct shown s = f->shown[i];

		if (s.frame.crtc != crtc || (uint32_t)s.frame.seq != seq ||
		    time_ns + WAIT_FOR_TIME_NS < s.told_ns ||
		    (b->device && b->device != s.frame.commit.device)) {
			i++;
			continue;
		}
		gpu_vblanks_learn(&f->vblanks, s.frame.commit.device, crtc, seq, time_ns);
		REMOVE(f->shown, f->n_shown, i);
		/* An interrupt that came late: what was committed meanwhile is shown as well. */
		finish(f, &s.frame, time_ns > s.frame.commit.time_ns ? time_ns : s.told_ns);
	}
	return b->device;
}

void gpu_frames_kernel_wait(struct gpu_frames *f, uint64_t begin_ns, uint64_t end_ns)
{
	unsigned i = f->n_waits++ % MAX_WAITS;

	f->waits[i].begin_ns = begin_ns;
	f->waits[i].end_ns = end_ns;
}

/* Has a later commit of the client been shown? Then this one never will be. */
static bool overtaken(const struct gpu_frames *f, size_t i)
{
	for (size_t k = i + 1; k < f->n_pending; k++)
		if (f->pending[k].commit.file == f->pending[i].commit.file && f->pending[k].crtcs)
			return true;
	return false;
}

void gpu_frames_flush(struct gpu_frames *f, uint64_t now_ns, bool final)
{
	while (f->n_shown && (final || f->shown[0].told_ns + WAIT_FOR_TIME_NS < now_ns))
		finish_oldest(f);
	for (size_t i = 0; i < f->n_pending;) {
		struct pending p = f->pending[i];
		bool old = p.commit.end_ns + GIVE_UP_NS < now_ns;

		if (!old || (!p.crtcs && !overtaken(f, i))) {
			i++;
			continue;
		}
		REMOVE(f->pending, f->n_pending, i);
		if (!p.crtcs)
			drop(f, &p.commit, p.commit.end_ns);
	}
	for (size_t i = 0; i < f->n_early;) {
		if (f->early[i].time_ns + GIVE_UP_NS < now_ns)
			REMOVE(f->early, f->n_early, i);
		else
			i++;
	}
}
