/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_slices.c - jobs and waits for fences as packets. */
#include "gpu_slices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_points.h"
#include "gpu_slices_impl.h"
#include "process/process_table.h"
#include "trace_filter.h"

#define QUEUE_HELP "How long jobs have waited: from being queued to the ring's work on them."
#define OLD_HELP   "Jobs that were queued before the recording, or for a GPU that is not known."

int gpu_slices_new(const struct encoder_env *env, struct gpu_list *gpus,
		   const struct gpu_jobs *jobs, struct gpu_slices **ret)
{
	struct gpu_slices *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->env = *env;
	s->gpus = gpus;
	s->jobs = jobs;
	*ret = s;
	return 0;
}

void gpu_slices_free(struct gpu_slices *s)
{
	free(s);
}

/* ---- what slices have in common ---- */

struct trace_arg *gpu_slice_arg(struct gpu_slice *s, const char *name, enum trace_arg_type type)
{
	struct trace_arg *arg = &s->args[s->event.n_args++];

	arg->name = name;
	arg->type = type;
	s->event.args = s->args;
	return arg;
}

bool gpu_slices_wanted(const struct gpu_slices *s, uint32_t tgid, uint32_t tid, uint64_t cgroup_id)
{
	const struct event_hdr whose = { .tgid = tgid, .tid = tid, .cgroup_id = cgroup_id };

	return !trace_filter_any(s->env.config) ||
	       trace_filter_match(s->env.config, s->env.processes, &whose);
}

const char *gpu_slices_process(const struct gpu_slices *s, uint32_t tgid, const char *fallback)
{
	static char comm[COMM_LEN + 1];
	const struct process *p = process_table_get(s->env.processes, tgid);

	if (!p || !p->comm[0])
		return fallback;
	snprintf(comm, sizeof(comm), "%.*s", COMM_LEN, p->comm);
	return comm;
}

uint64_t gpu_slices_track(struct gpu_slices *s, uint32_t device, const char *name, uint64_t key,
			  const char *description)
{
	const struct gpu_list_item *gpu = gpu_list_get(s->gpus, device);
	char text[sizeof(gpu->name) + 8];
	struct trace_track parent = { .name = text };
	struct trace_track track = { .name = name, .key = key, .description = description };

	snprintf(text, sizeof(text), "GPU %s", gpu ? gpu->name : "displays");
	track.parent = trace_track(s->env.writer, &parent);
	return track.parent ? trace_track(s->env.writer, &track) : 0;
}

uint64_t gpu_slices_lane(struct gpu_slices *s, uint32_t device, const char *name,
			 const char *description, uint64_t *begin_ns, uint64_t end_ns)
{
	struct lane_group *g = NULL;
	int lane;

	for (size_t i = 0; i < s->n_groups && !g; i++)
		if (s->groups[i].device == device && strcmp(s->groups[i].name, name) == 0)
			g = &s->groups[i];
	if (!g) {
		if (s->n_groups == MAX_LANE_GROUPS)
			return 0;
		g = &s->groups[s->n_groups++];
		g->device = device;
		snprintf(g->name, sizeof(g->name), "%s", name);
	}
	lane = gpu_lane(&g->lanes, begin_ns, end_ns);
	return lane < 0 ? 0 : gpu_slices_track(s, device, name, (uint64_t)lane, description);
}

int gpu_slices_gpus(struct gpu_slices *s)
{
	struct trace_gpu gpus[GPU_LIST_MAX];
	size_t n = gpu_list_count(s->gpus);

	if (n == s->n_listed)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct gpu_list_item *gpu = gpu_list_get(s->gpus, (uint32_t)i + 1);

		gpus[i].name = gpu->name;
		gpus[i].pci_bdf = gpu->is_pci ? gpu->device : NULL;
	}
	s->n_listed = n;
	return trace_gpu_list(s->env.writer, gpus, n);
}

/* ---- jobs ---- */

/* By its name: what else is there is nobody's guess. */
static enum trace_stage_category category_of(const char *ring)
{
	static const char *const graphics[] = { "gfx", "rcs", "render", "bin" };
	static const char *const compute[] = { "comp", "ccs", "csd" };

	for (size_t i = 0; i < sizeof(graphics) / sizeof(graphics[0]); i++)
		if (strncmp(ring, graphics[i], strlen(graphics[i])) == 0)
			return STAGE_GRAPHICS;
	for (size_t i = 0; i < sizeof(compute) / sizeof(compute[0]); i++)
		if (strncmp(ring, compute[i], strlen(compute[i])) == 0)
			return STAGE_COMPUTE;
	return STAGE_OTHER;
}

static void fence_text(struct gpu_key key, char *ret, size_t size)
{
	if (key.context == GPU_CONTEXT_POINTER)
		snprintf(ret, size, "0x%llx", (unsigned long long)key.seqno);
	else
		snprintf(ret, size, "%llu:%llu", (unsigned long long)key.context,
			 (unsigned long long)key.seqno);
}

static int write_queue(struct gpu_slices *s, const struct gpu_job *job)
{
	char name[GPU_RING_NAME + 8], fence[48];
	uint64_t begin_ns = job->queued_ns;
	struct gpu_slice slice = {
		.event = {
			.name = gpu_slices_process(s, job->tgid, job->comm),
			.category = "gpu",
			.end_flow_ids = &job->id,
			.n_end_flow_ids = job->ioctl_ns != 0,
		},
	};

	snprintf(name, sizeof(name), "%s queue", job->ring->name);
	slice.event.track =
		gpu_slices_lane(s, job->ring->device, name, QUEUE_HELP, &begin_ns, job->start_ns);
	if (!slice.event.track)
		return 0; /* more wait than can be drawn: the job itself is there */
	slice.event.time_ns = begin_ns;
	fence_text(job->key, fence, sizeof(fence));
	gpu_slice_arg(&slice, "fence", ARG_STRING)->s = fence;
	gpu_slice_arg(&slice, "pid", ARG_UINT)->u = job->tgid;
	gpu_slice_arg(&slice, "tid", ARG_UINT)->u = job->tid;
	if (job->run_ns > job->queued_ns)
		gpu_slice_arg(&slice, "handed_over_after_ns", ARG_UINT)->u =
			job->run_ns - job->queued_ns;
	if (job->n_deps)
		gpu_slice_arg(&slice, "depends_on", ARG_UINT)->u = job->n_deps;
	return trace_slice(s->env.writer, &slice.event, job->start_ns, 0);
}

/* Whose job it is, or on which GPU, is not known; the queues of GPUs need both. */
static int write_old(struct gpu_slices *s, const struct gpu_job *job, uint64_t end_ns)
{
	uint64_t begin_ns = job->start_ns;
	char fence[48];
	struct gpu_slice slice = {
		.event = { .name = "queued before the recording", .category = "gpu" },
	};

	slice.event.track =
		gpu_slices_lane(s, job->ring->device, job->ring->name, OLD_HELP, &begin_ns, end_ns);
	if (!slice.event.track) {
		trace_writer_skip(s->env.writer, job->n_events);
		return 0;
	}
	slice.event.time_ns = begin_ns;
	fence_text(job->key, fence, sizeof(fence));
	gpu_slice_arg(&slice, "fence", ARG_STRING)->s = fence;
	if (job->tgid) {
		slice.event.name = gpu_slices_process(s, job->tgid, job->comm);
		gpu_slice_arg(&slice, "pid", ARG_UINT)->u = job->tgid;
	}
	return trace_slice(s->env.writer, &slice.event, end_ns, job->n_events);
}

static int write_stage(struct gpu_slices *s, const struct gpu_job *job, uint64_t end_ns)
{
	char queue[GPU_RING_NAME + 16];
	uint64_t waits[GPU_MAX_DEPS];
	struct trace_stage_arg args[6];
	struct trace_stage stage = {
		.id = job->id,
		.time_ns = job->start_ns,
		.duration_ns = end_ns - job->start_ns,
		.pid = job->tgid,
		.gpu = job->ring->device - 1,
		.queue = queue,
		.category = category_of(job->ring->name),
		.name = gpu_slices_process(s, job->tgid, job->comm),
		.args = args,
		.waits = waits,
	};
	struct trace_stage_arg *a = args;

	snprintf(queue, sizeof(queue), "%s%s", job->ring->name, job->is_kernel ? " (kernel)" : "");
	for (; stage.n_waits < job->n_deps; stage.n_waits++)
		waits[stage.n_waits] = job->deps[stage.n_waits].id;
	a->name = "fence";
	fence_text(job->key, a->value, sizeof(a->value));
	a++;
	a->name = "tid";
	snprintf(a->value, sizeof(a->value), "%u", job->tid);
	a++;
	a->name = "queued_ns"; /* before it began */
	snprintf(a->value, sizeof(a->value), "%llu",
		 (unsigned long long)(job->start_ns > job->queued_ns
					      ? job->start_ns - job->queued_ns
					      : 0));
	a++;
	if (job->ioctl_ns) {
		a->name = "submitted_in"; /* a call whose slice names the job */
		strcpy(a->value, "ioctl");
		a++;
	}
	if (job->client_id) {
		a->name = "client_id";
		snprintf(a->value, sizeof(a->value), "%llu", (unsigned long long)job->client_id);
		a++;
	}
	if (!job->done_ns) {
		a->name = "unfinished";
		strcpy(a->value, "true");
		a++;
	}
	stage.n_args = (size_t)(a - args);
	return trace_stage(s->env.writer, &stage, job->n_events);
}

int gpu_slices_job(struct gpu_slices *s, const struct gpu_job *job, uint64_t end_ns)
{
	int r = 0;

	if (job->done_ns)
		end_ns = job->done_ns;
	if (!job->start_ns || job->start_ns >= end_ns ||
	    !gpu_slices_wanted(s, job->tgid, job->tid, job->cgroup_id)) {
		trace_writer_skip(s->env.writer, job->n_events);
		return 0;
	}
	r = gpu_slices_gpus(s);
	if (r < 0)
		return r;
	if (!job->tgid || !job->ring->device)
		return write_old(s, job, end_ns);
	if (job->start_ns > job->queued_ns && job->run_ns != job->queued_ns)
		r = write_queue(s, job);
	return r < 0 ? r : write_stage(s, job, end_ns);
}

/* ---- waits ---- */

int gpu_slices_wait(struct gpu_slices *s, const struct gpu_wait *wait, uint64_t end_ns,
		    const struct gpu_wait_text *text, unsigned n_events)
{
	const struct thread *thread = process_table_thread(s->env.processes, wait->tid);
	const struct gpu_job *job = gpu_jobs_find(s->jobs, wait->key);
	char fence[48];
	struct gpu_slice slice = {
		.event = {
			.name = "fence wait",
			.category = "gpu",
			.time_ns = wait->begin_ns,
		},
	};

	if (end_ns < wait->begin_ns)
		end_ns = wait->begin_ns;
	trace_writer_time(s->env.writer, wait->begin_ns);
	slice.event.track = trace_thread_track(s->env.writer, wait->tgid, wait->tid,
					       thread ? thread->start_ns : 0);
	if (!slice.event.track)
		return -ENOMEM;
	fence_text(wait->key, fence, sizeof(fence));
	gpu_slice_arg(&slice, "fence", ARG_STRING)->s = fence;
	if (text->driver[0])
		gpu_slice_arg(&slice, "driver", ARG_STRING)->s = text->driver;
	if (text->timeline[0])
		gpu_slice_arg(&slice, "timeline", ARG_STRING)->s = text->timeline;
	if (text->unfinished)
		gpu_slice_arg(&slice, "unfinished", ARG_BOOL)->u = 1;
	if (job && job->tgid) {
		gpu_slice_arg(&slice, "ring", ARG_STRING)->s = job->ring->name;
		gpu_slice_arg(&slice, "job_of", ARG_STRING)->s =
			gpu_slices_process(s, job->tgid, job->comm);
		gpu_slice_arg(&slice, "job_of_pid", ARG_UINT)->u = job->tgid;
		if (gpu_slices_wanted(s, job->tgid, job->tid, job->cgroup_id)) {
			slice.event.waited_stages = &job->id;
			slice.event.n_waited_stages = 1;
		}
	}
	return trace_slice(s->env.writer, &slice.event, end_ns, n_events);
}

int gpu_slices_xid(struct gpu_slices *s, const struct gpu_point_event *ev)
{
	struct gpu_slice slice = {
		.event = { .name = "Xid", .category = "gpu", .time_ns = ev->hdr.time_ns },
	};

	slice.event.track = gpu_slices_track(s, gpu_list_of_device(s->gpus, ev->strs[STR_DEV]),
					     "errors", 0, "Errors that the driver reports.");
	if (!slice.event.track)
		return -ENOMEM;
	gpu_slice_arg(&slice, "code", ARG_UINT)->u = ev->nums[NUM_XID];
	gpu_slice_arg(&slice, "message", ARG_STRING)->s = ev->strs[STR_RING];
	return trace_instant(s->env.writer, &slice.event, 1);
}
