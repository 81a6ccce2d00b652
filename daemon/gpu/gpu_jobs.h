/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_jobs.h - what a GPU's rings have to do: jobs from being queued, over being
 * handed to the hardware, to the signal of their fence. Pure logic.
 *
 * A job is known by its fence. The hardware works off a ring in order, and "run"
 * only means that the driver has given it the job: it begins with it when it is
 * done with those that it was given before.
 *
 * Events of one job come in their order, since each is the cause of the next;
 * jobs may be done in any order. Where the first events of a job are missing (it
 * began before the recording) the rest is kept all the same.
 */
#ifndef GPU_JOBS_H
#define GPU_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_RING_NAME 32
#define GPU_JOB_COMM  16
#define GPU_MAX_DEPS  8 /* of one job; further ones are left out */

/* Of a fence. Tracepoints of fences have 32 bits of each: so much is compared. */
struct gpu_key {
	uint64_t context, seqno;
};

struct gpu_ring {
	uint32_t device; /* the caller's number; 0: not known */
	char name[GPU_RING_NAME];
};

struct gpu_job {
	struct gpu_key key;
	uint64_t id;	    /* in the trace: not 0, and no other job's */
	uint64_t queued_ns; /* 0: not seen, it began before the recording */
	uint64_t run_ns;    /* given to the hardware; 0: not yet */
	uint64_t start_ns;  /* the ring works on it; as far as is known until it is done */
	uint64_t done_ns;   /* 0: not yet */
	const struct gpu_ring *ring;
	/* Who has queued it; 0: not known. */
	uint32_t tgid, tid;
	uint64_t cgroup_id;
	uint64_t ioctl_ns; /* in which ioctl, by its entry; 0: in none */
	uint64_t client_id;
	char comm[GPU_JOB_COMM];
	bool is_kernel; /* not of a process: buffers moved, page tables */
	/* Jobs that it had to wait for. */
	struct gpu_dep {
		uint64_t id;
		uint32_t tgid;
	} deps[GPU_MAX_DEPS];
	unsigned n_deps;
	unsigned n_events; /* that made it, for the ledger */
};

struct gpu_jobs;

/* The job is done; valid during the call. */
typedef void gpu_job_fn(void *ctx, const struct gpu_job *job);

int gpu_jobs_new(gpu_job_fn *done, void *ctx, struct gpu_jobs **ret);
void gpu_jobs_free(struct gpu_jobs *jobs); /* takes NULL */

struct gpu_submit {
	struct gpu_key key;
	uint64_t time_ns;
	uint32_t device; /* 0: not known; then that of the only ring of this name, if so */
	const char *ring;
	uint32_t tgid, tid;
	uint64_t cgroup_id, ioctl_ns, client_id;
	uint64_t sched_id; /* the scheduler's number, before Linux 6.17 */
	const char *comm;
	bool is_kernel;
	bool at_once; /* given to the hardware in the same moment: there is no other event of it */
};

/*
 * Each returns the job, or NULL when the event belongs to none: it is not to be
 * counted with one. A job of the same fence that was there is forgotten.
 */
const struct gpu_job *gpu_jobs_queue(struct gpu_jobs *jobs, const struct gpu_submit *submit);
const struct gpu_job *gpu_jobs_run(struct gpu_jobs *jobs, struct gpu_key key, uint64_t time_ns,
				   uint32_t device, const char *ring);
const struct gpu_job *gpu_jobs_depend(struct gpu_jobs *jobs, struct gpu_key key, struct gpu_key on);
/* Before Linux 6.17 a dependency names the job by its number on its ring. */
const struct gpu_job *gpu_jobs_depend_by_id(struct gpu_jobs *jobs, const char *ring,
					    uint64_t sched_id, struct gpu_key on);
/* Calls `done`. False: there is no such job. */
bool gpu_jobs_done(struct gpu_jobs *jobs, struct gpu_key key, uint64_t time_ns);

/*
 * Going on, or done lately. A scheduler has two fences for a job, one context
 * after the other, the first of which says that it has begun: that one will do too.
 */
const struct gpu_job *gpu_jobs_find(const struct gpu_jobs *jobs, struct gpu_key key);

/* The last job of the process on the device (0: any) that was done in the time; NULL: none. */
const struct gpu_job *gpu_jobs_last_done(const struct gpu_jobs *jobs, uint32_t tgid,
					 uint32_t device, uint64_t from_ns, uint64_t to_ns);

/*
 * Jobs that the process queued in the time, latest first, and that are done or
 * run; at most `max`. Valid until the next event.
 */
size_t gpu_jobs_queued(const struct gpu_jobs *jobs, uint32_t tgid, uint64_t from_ns, uint64_t to_ns,
		       const struct gpu_job **ret, size_t max);

const struct gpu_job *gpu_jobs_by_id(const struct gpu_jobs *jobs, uint64_t id);

/* Hands over those that are not done, in no order. */
void gpu_jobs_each(const struct gpu_jobs *jobs, gpu_job_fn *fn, void *ctx);

/*
 * Forgets what has not been heard of since then: its end was missed. Returns how
 * many events are forgotten with it.
 */
size_t gpu_jobs_forget(struct gpu_jobs *jobs, uint64_t before_ns);

/* Events forgotten since the last call: of jobs whose fence was used anew. */
size_t gpu_jobs_forgotten(struct gpu_jobs *jobs);

#endif
