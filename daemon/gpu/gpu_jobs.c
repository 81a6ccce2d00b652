/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_jobs.c - jobs on the rings of GPUs. */
#include "gpu_jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_point_events.h"
#include "hash.h"

#define MAX_JOBS   16384 /* at a time; no more is believed */
#define MAX_RINGS  256
#define MAX_RECENT 2048 /* done lately, so that who waited for them finds them */

/* Any fixed seed will do: ids are unique within a trace. */
#define ID_SEED 0x6770755f6a6f62ull

/* A job with its place on the ring. */
struct entry {
	struct gpu_job job;
	uint64_t after_ns; /* when the last of those was done that the ring was given before */
	uint64_t sched_id;
	struct ring *on;
	struct entry *prev, *next; /* on the ring, in the order that it was given them */
};

struct ring {
	struct gpu_ring ring;
	struct entry *first, *last;
};

struct gpu_jobs {
	gpu_job_fn *done;
	void *ctx;
	struct hash *open;   /* key -> struct entry */
	struct hash *recent; /* key -> index in `ended` + 1 */
	struct gpu_job *ended;
	uint64_t n_ended; /* the next one's place is the rest by MAX_RECENT */
	struct ring *rings[MAX_RINGS];
	size_t n_rings;
	size_t n_forgotten;
};

static uint64_t key_of(struct gpu_key key)
{
	if (key.context == GPU_CONTEXT_POINTER)
		return key.seqno; /* an address: its upper half is no context */
	return key.context << 32 | (uint32_t)key.seqno;
}

int gpu_jobs_new(gpu_job_fn *done, void *ctx, struct gpu_jobs **ret)
{
	struct gpu_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return -ENOMEM;
	jobs->done = done;
	jobs->ctx = ctx;
	jobs->ended = calloc(MAX_RECENT, sizeof(*jobs->ended));
	if (!jobs->ended || hash_new(&jobs->open) < 0 || hash_new(&jobs->recent) < 0) {
		gpu_jobs_free(jobs);
		return -ENOMEM;
	}
	*ret = jobs;
	return 0;
}

void gpu_jobs_free(struct gpu_jobs *jobs)
{
	size_t pos = 0;
	void *entry;

	if (!jobs)
		return;
	while (jobs->open && hash_next(jobs->open, &pos, NULL, NULL, &entry))
		free(entry);
	hash_free(jobs->open);
	hash_free(jobs->recent);
	for (size_t i = 0; i < jobs->n_rings; i++)
		free(jobs->rings[i]);
	free(jobs->ended);
	free(jobs);
}

/* ---- rings ---- */

/* Device 0: that of the only ring of this name. NULL: there are too many. */
static struct ring *ring_of(struct gpu_jobs *jobs, uint32_t device, const char *name)
{
	struct ring *same = NULL, *exact = NULL;
	size_t n_same = 0;

	for (size_t i = 0; i < jobs->n_rings; i++) {
		struct ring *r = jobs->rings[i];

		if (strncmp(r->ring.name, name, sizeof(r->ring.name) - 1) != 0)
			continue;
		if (r->ring.device == device)
			exact = r;
		if (r->ring.device) {
			same = r;
			n_same++;
		}
	}
	if (device == 0 && n_same == 1)
		return same;
	if (exact)
		return exact;
	if (jobs->n_rings == MAX_RINGS || !(exact = calloc(1, sizeof(*exact))))
		return NULL;
	exact->ring.device = device;
	snprintf(exact->ring.name, sizeof(exact->ring.name), "%s", name);
	return jobs->rings[jobs->n_rings++] = exact;
}

static void append(struct entry *e)
{
	struct ring *r = e->on;

	e->prev = r->last;
	e->next = NULL;
	*(r->last ? &r->last->next : &r->first) = e;
	r->last = e;
}

static bool is_on_ring(const struct entry *e)
{
	return e->prev || e->next || e->on->first == e;
}

static void leave(struct entry *e)
{
	struct ring *r = e->on;

	if (!is_on_ring(e))
		return;
	*(e->prev ? &e->prev->next : &r->first) = e->next;
	*(e->next ? &e->next->prev : &r->last) = e->prev;
	e->prev = e->next = NULL;
}

/* ---- entries ---- */

static struct entry *find(const struct gpu_jobs *jobs, struct gpu_key key)
{
	return hash_get_u64(jobs->open, key_of(key));
}

static void drop(struct gpu_jobs *jobs, struct entry *e)
{
	hash_remove_u64(jobs->open, key_of(e->job.key));
	leave(e);
	free(e);
}

static struct entry *add(struct gpu_jobs *jobs, struct gpu_key key, uint64_t time_ns,
			 uint32_t device, const char *ring)
{
	/* An address comes again; a context and seqno do not. */
	uint64_t unique[] = { key.context, key.seqno,
			      key.context == GPU_CONTEXT_POINTER ? time_ns : 0 };
	struct ring *r = ring_of(jobs, device, ring);
	struct entry *old = find(jobs, key), *e;

	if (old) {
		jobs->n_forgotten += old->job.n_events;
		drop(jobs, old);
	}
	if (!r || hash_count(jobs->open) >= MAX_JOBS || !(e = calloc(1, sizeof(*e))))
		return NULL;
	if (hash_set_u64(jobs->open, key_of(key), e) < 0) {
		free(e);
		return NULL;
	}
	e->on = r;
	e->job.key = key;
	e->job.ring = &r->ring;
	e->job.id = hash_bytes(unique, sizeof(unique), ID_SEED);
	if (e->job.id == 0)
		e->job.id = 1;
	return e;
}

/* ---- events ---- */

static void hand_over(struct entry *e, uint64_t time_ns)
{
	/* After a reset of the GPU it is given the job again. */
	leave(e);
	e->job.run_ns = e->job.start_ns = time_ns;
	e->after_ns = 0;
	append(e);
}

const struct gpu_job *gpu_jobs_queue(struct gpu_jobs *jobs, const struct gpu_submit *s)
{
	struct entry *e = add(jobs, s->key, s->time_ns, s->device, s->ring);

	if (!e)
		return NULL;
	e->sched_id = s->sched_id;
	e->job.queued_ns = s->time_ns;
	e->job.tgid = s->tgid;
	e->job.tid = s->tid;
	e->job.cgroup_id = s->cgroup_id;
	e->job.ioctl_ns = s->ioctl_ns;
	e->job.client_id = s->client_id;
	e->job.is_kernel = s->is_kernel;
	e->job.n_events = 1;
	snprintf(e->job.comm, sizeof(e->job.comm), "%s", s->comm ? s->comm : "");
	if (s->at_once)
		hand_over(e, s->time_ns);
	return &e->job;
}

const struct gpu_job *gpu_jobs_run(struct gpu_jobs *jobs, struct gpu_key key, uint64_t time_ns,
				   uint32_t device, const char *ring)
{
	struct entry *e = find(jobs, key);

	if (!e)
		e = add(jobs, key, time_ns, device, ring);
	if (!e)
		return NULL;
	e->job.n_events++;
	hand_over(e, time_ns);
	return &e->job;
}

static void finish(struct entry *e, uint64_t time_ns)
{
	struct gpu_job *job = &e->job;

	job->done_ns = time_ns;
	job->start_ns = job->run_ns > e->after_ns ? job->run_ns : e->after_ns;
	/* One that was given up before it ran has no time on the ring. */
	if (job->run_ns == 0 || job->start_ns >= time_ns)
		job->start_ns = time_ns - 1;
	for (struct entry *later = e->next; later && job->run_ns; later = later->next) {
		if (later->after_ns < time_ns)
			later->after_ns = time_ns;
		if (later->job.start_ns < time_ns)
			later->job.start_ns = time_ns;
	}
}

static void remember(struct gpu_jobs *jobs, const struct gpu_job *job)
{
	size_t place = jobs->n_ended % MAX_RECENT;
	struct gpu_job *old = &jobs->ended[place];
	uint64_t key = key_of(old->key);

	if (old->id && (uintptr_t)hash_get_u64(jobs->recent, key) == place + 1)
		hash_remove_u64(jobs->recent, key);
	*old = *job;
	jobs->n_ended++;
	/* Out of memory: who waited for it does not find it. */
	(void)hash_set_u64(jobs->recent, key_of(job->key), (void *)(uintptr_t)(place + 1));
}

bool gpu_jobs_done(struct gpu_jobs *jobs, struct gpu_key key, uint64_t time_ns)
{
	struct entry *e = find(jobs, key);

	if (!e)
		return false;
	e->job.n_events++;
	finish(e, time_ns);
	remember(jobs, &e->job);
	jobs->done(jobs->ctx, &e->job);
	drop(jobs, e);
	return true;
}

static const struct gpu_job *depend(struct gpu_jobs *jobs, struct entry *e, struct gpu_key on)
{
	const struct gpu_job *other = gpu_jobs_find(jobs, on);

	if (!e)
		return NULL;
	e->job.n_events++;
	if (!other || other == &e->job || e->job.n_deps == GPU_MAX_DEPS)
		return &e->job;
	for (unsigned i = 0; i < e->job.n_deps; i++)
		if (e->job.deps[i].id == other->id)
			return &e->job;
	e->job.deps[e->job.n_deps++] = (struct gpu_dep){ other->id, other->tgid };
	return &e->job;
}

const struct gpu_job *gpu_jobs_depend(struct gpu_jobs *jobs, struct gpu_key key, struct gpu_key on)
{
	return depend(jobs, find(jobs, key), on);
}

const struct gpu_job *gpu_jobs_depend_by_id(struct gpu_jobs *jobs, const char *ring,
					    uint64_t sched_id, struct gpu_key on)
{
	struct entry *found = NULL;
	size_t pos = 0;
	void *item;

	/* Rare: a job at the head of its queue that may not run yet. */
	while (hash_next(jobs->open, &pos, NULL, NULL, &item)) {
		struct entry *e = item;

		if (e->sched_id != sched_id || e->job.run_ns || !e->job.queued_ns ||
		    strncmp(e->on->ring.name, ring, GPU_RING_NAME - 1) != 0)
			continue;
		if (found)
			return NULL; /* on two GPUs: whose it is cannot be said */
		found = e;
	}
	return depend(jobs, found, on);
}

/* ---- questions ---- */

static const struct gpu_job *find_exact(const struct gpu_jobs *jobs, struct gpu_key key)
{
	struct entry *e = find(jobs, key);
	size_t place;

	if (e)
		return &e->job;
	place = (uintptr_t)hash_get_u64(jobs->recent, key_of(key));
	return place ? &jobs->ended[place - 1] : NULL;
}

const struct gpu_job *gpu_jobs_find(const struct gpu_jobs *jobs, struct gpu_key key)
{
	const struct gpu_job *job = find_exact(jobs, key);

	if (job || key.context == GPU_CONTEXT_POINTER)
		return job;
	key.context++;
	return find_exact(jobs, key);
}

/* The i-th of those that are done, latest first; NULL: no more are known. */
static const struct gpu_job *ended(const struct gpu_jobs *jobs, uint64_t i)
{
	if (i >= jobs->n_ended || i >= MAX_RECENT)
		return NULL;
	return &jobs->ended[(jobs->n_ended - 1 - i) % MAX_RECENT];
}

const struct gpu_job *gpu_jobs_last_done(const struct gpu_jobs *jobs, uint32_t tgid,
					 uint32_t device, uint64_t from_ns, uint64_t to_ns)
{
	const struct gpu_job *job;

	for (uint64_t i = 0; (job = ended(jobs, i)) && job->done_ns >= from_ns; i++)
		if (job->done_ns <= to_ns && job->tgid == tgid &&
		    (device == 0 || job->ring->device == device))
			return job;
	return NULL;
}

static bool queued_in(const struct gpu_job *job, uint32_t tgid, uint64_t from_ns, uint64_t to_ns)
{
	return job->tgid == tgid && job->queued_ns > from_ns && job->queued_ns <= to_ns;
}

static int latest_first(const void *pa, const void *pb)
{
	const struct gpu_job *a = *(const struct gpu_job *const *)pa;
	const struct gpu_job *b = *(const struct gpu_job *const *)pb;

	return a->queued_ns < b->queued_ns ? 1 : a->queued_ns > b->queued_ns ? -1 : 0;
}

size_t gpu_jobs_queued(const struct gpu_jobs *jobs, uint32_t tgid, uint64_t from_ns, uint64_t to_ns,
		       const struct gpu_job **ret, size_t max)
{
	const struct gpu_job *job;
	size_t n = 0, pos = 0;
	void *item;

	while (n < max && hash_next(jobs->open, &pos, NULL, NULL, &item)) {
		const struct entry *e = item;

		if (e->job.run_ns && queued_in(&e->job, tgid, from_ns, to_ns))
			ret[n++] = &e->job;
	}
	for (uint64_t i = 0; n < max && (job = ended(jobs, i)) && job->done_ns > from_ns; i++)
		if (queued_in(job, tgid, from_ns, to_ns))
			ret[n++] = job;
	qsort(ret, n, sizeof(*ret), latest_first);
	return n;
}

const struct gpu_job *gpu_jobs_by_id(const struct gpu_jobs *jobs, uint64_t id)
{
	const struct gpu_job *job;
	size_t pos = 0;
	void *item;

	for (uint64_t i = 0; (job = ended(jobs, i)); i++)
		if (job->id == id)
			return job;
	while (hash_next(jobs->open, &pos, NULL, NULL, &item))
		if (((struct entry *)item)->job.id == id)
			return &((struct entry *)item)->job;
	return NULL;
}

void gpu_jobs_each(const struct gpu_jobs *jobs, gpu_job_fn *fn, void *ctx)
{
	size_t pos = 0;
	void *item;

	while (hash_next(jobs->open, &pos, NULL, NULL, &item))
		fn(ctx, &((struct entry *)item)->job);
}

/* ---- forgetting ---- */

size_t gpu_jobs_forget(struct gpu_jobs *jobs, uint64_t before_ns)
{
	size_t n = 0, pos = 0;
	void *item;

	while (hash_next(jobs->open, &pos, NULL, NULL, &item)) {
		struct entry *e = item;
		uint64_t last_ns = e->job.run_ns ? e->job.run_ns : e->job.queued_ns;

		if (last_ns >= before_ns)
			continue;
		n += e->job.n_events;
		drop(jobs, e);
	}
	return n;
}

size_t gpu_jobs_forgotten(struct gpu_jobs *jobs)
{
	size_t n = jobs->n_forgotten;

	jobs->n_forgotten = 0;
	return n;
}
