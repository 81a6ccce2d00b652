/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_frames.h - frames of a display: from the commit (an atomic commit or a page
 * flip that asks for an event) to the vertical blank at which it was shown.
 * Pure logic.
 *
 * Was it late? A frame is to be shown at the vblank after its commit; and one of
 * a row of frames, at the pace of that row after the one before, whoever came
 * too late. A client that has shown nothing for a while was idle and misses
 * nothing. Where the display has no vblanks (seq 0), and where the client asked
 * not to wait for one, there is only a latency.
 *
 * Whose fault? If the fences tell that the GPU was still at work for the frame
 * when it should have been shown, the GPU's; else of who came too late: the
 * application whose jobs the frame shows, or the process that owns the display,
 * which is called the compositor if others draw for it or if it came in time.
 */
#ifndef GPU_FRAMES_H
#define GPU_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu_jobs;
struct gpu_frames;

#define GPU_FRAME_JOBS	  16 /* of one frame; the latest */
#define GPU_FRAME_CLIENTS 4

enum gpu_verdict {
	FRAME_LATENCY, /* there is no vblank to be late for */
	FRAME_ON_TIME,
	FRAME_LATE,
	FRAME_DROPPED, /* never shown */
	N_GPU_VERDICTS
};

enum gpu_reason { REASON_NONE, REASON_APPLICATION, REASON_GPU, REASON_COMPOSITOR, N_GPU_REASONS };

const char *gpu_reason_name(enum gpu_reason reason); /* "application"; "" for none */

struct gpu_commit {
	uint64_t time_ns, end_ns; /* of the ioctl */
	uint64_t file;		  /* struct drm_file */
	uint64_t id;		  /* the caller's, for the frame */
	uint32_t device;	  /* the caller's number */
	uint32_t tgid, tid;
	uint64_t cgroup_id;
	bool is_async; /* may be shown at once, without waiting for a vblank */
	bool failed;   /* the display was busy with the one before */
};

/* Another process whose job the frame had to wait for: what it drew is shown. */
struct gpu_client {
	uint32_t tgid;
	uint64_t job;	    /* its id */
	uint64_t queued_ns; /* its drawing began */
	uint64_t done_ns;
	uint64_t cgroup_id;
};

struct gpu_frame {
	struct gpu_commit commit;
	uint32_t crtc;
	uint64_t seq;
	uint64_t present_ns; /* of a dropped one: when that was known */
	uint64_t target_ns;  /* when it should have been shown; 0: not known */
	uint64_t period_ns;  /* of the display; 0: not known */
	uint64_t late_by;    /* vblanks */
	enum gpu_verdict verdict;
	enum gpu_reason reason;
	unsigned n_events;    /* that made it, for the ledger */
	uint64_t gpu_done_ns; /* the last of its jobs; 0: none is known */
	uint64_t jobs[GPU_FRAME_JOBS];
	size_t n_jobs;
	struct gpu_client clients[GPU_FRAME_CLIENTS];
	size_t n_clients;
};

typedef void gpu_frame_fn(void *ctx, const struct gpu_frame *frame);

/* `jobs` outlives it. */
int gpu_frames_new(const struct gpu_jobs *jobs, gpu_frame_fn *fn, void *ctx,
		   struct gpu_frames **ret);
void gpu_frames_free(struct gpu_frames *f); /* takes NULL */

/* A commit that asks for an event; when its ioctl has returned. */
void gpu_frames_commit(struct gpu_frames *f, const struct gpu_commit *commit);

/* The client `file` wants to be told of a vblank: that is no frame. */
void gpu_frames_queued(struct gpu_frames *f, uint64_t file, uint32_t crtc, uint32_t seq);

/*
 * It is told: of a vblank it waits for, or that its frame is shown. False: of no
 * frame, as far as is known now; the event does not count with one.
 */
bool gpu_frames_delivered(struct gpu_frames *f, uint64_t file, uint32_t crtc, uint32_t seq,
			  uint64_t time_ns);

/*
 * A vblank at `time_ns`. The kernel does not say of which device: it is found out
 * by the numbers and times. Returns that device's number, or 0.
 */
uint32_t gpu_frames_vblank(struct gpu_frames *f, uint32_t crtc, uint32_t seq, uint64_t time_ns);

/* The kernel itself has waited for a fence: on the way to the display, perhaps. */
void gpu_frames_kernel_wait(struct gpu_frames *f, uint64_t begin_ns, uint64_t end_ns);

/* Tells of frames that nothing more will be heard of. */
void gpu_frames_flush(struct gpu_frames *f, uint64_t now_ns, bool final);

#endif
