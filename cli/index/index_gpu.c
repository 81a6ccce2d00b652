/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_gpu.c - jobs of GPUs and frames of displays, as daemon/trace/trace_gpu.h and
 * daemon/gpu/gpu_frame_slices.c write them. A job of any other producer is one
 * as well; the stack that submitted it is that of the slice that names it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index_impl.h"
#include "text.h"

#define FRAMES_TRACK "CRTC "
#define FRAME	     "frame"
#define GPU_PREFIX   "GPU "

enum { TYPE_BEGIN = 1, TYPE_END = 2 };

/* What an entry of hash.h takes while the table has just grown. */
#define ENTRY_BYTES 128

struct track {
	uint32_t display; /* string */
	bool open;
	struct trace_display_frame frame; /* that is open; its verdict TRACE_NONE: none */
};

struct index_gpu {
	struct hash *names;	/* uuid of a track of no thread -> string + 1 */
	struct hash *tracks;	/* uuid of a display's track -> index + 1 */
	struct hash *submits;	/* id of a job -> stack + 1 */
	struct index_list list; /* struct track */
	struct index_list jobs, frames;
	struct index_list gpus; /* uint32_t: string, by gpu_id */
};

int index_gpu_new(struct trace_index *ix, struct index_gpu **ret)
{
	struct index_gpu *g = calloc(1, sizeof(*g));

	(void)ix;
	if (!g)
		return -ENOMEM;
	if (hash_new(&g->names) < 0 || hash_new(&g->tracks) < 0 || hash_new(&g->submits) < 0) {
		index_gpu_free(g);
		return -ENOMEM;
	}
	*ret = g;
	return 0;
}

void index_gpu_free(struct index_gpu *g)
{
	if (!g)
		return;
	hash_free(g->names);
	hash_free(g->tracks);
	hash_free(g->submits);
	free(g->list.items);
	free(g->jobs.items);
	free(g->frames.items);
	free(g->gpus.items);
	free(g);
}

static void remember(struct trace_index *ix, struct hash *h, uint64_t key, size_t number)
{
	int r = pool_budget_take(&ix->budget, ENTRY_BYTES);

	if (r == 0)
		r = hash_set_u64(h, key, (void *)((uintptr_t)number + 1));
	if (r < 0)
		ix->error = r;
}

/* ---- what events lean on ---- */

/* "GPU vkms vkms" > "CRTC 0" is the display "vkms vkms, CRTC 0". */
static uint32_t display_name(struct trace_index *ix, const TrackDescriptor *d)
{
	uintptr_t parent = (uintptr_t)hash_get_u64(ix->gpu->names, d->parent_uuid);
	const char *name = parent ? trace_index_string(ix, (uint32_t)(parent - 1)) : "";
	char text[256];

	if (strncmp(name, GPU_PREFIX, strlen(GPU_PREFIX)) == 0)
		name += strlen(GPU_PREFIX);
	snprintf(text, sizeof(text), "%.150s%s%.80s", name, name[0] ? ", " : "", d->name);
	return index_cstring(ix, text);
}

void index_gpu_track(struct trace_index *ix, const TrackDescriptor *d)
{
	struct index_gpu *g = ix->gpu;
	struct track *track;

	if (!d->has_uuid || !d->name || d->thread || d->process)
		return;
	remember(ix, g->names, d->uuid, index_cstring(ix, d->name));
	if (strncmp(d->name, FRAMES_TRACK, strlen(FRAMES_TRACK)) != 0 ||
	    hash_get_u64(g->tracks, d->uuid))
		return;
	track = index_add(ix, &g->list, sizeof(*track));
	if (!track)
		return;
	track->display = display_name(ix, d);
	remember(ix, g->tracks, d->uuid, g->list.n - 1);
}

void index_gpu_info(struct trace_index *ix, const GpuInfo *info)
{
	struct index_list *l = &ix->gpu->gpus;

	for (size_t i = 0; i < info->n_gpus && i < 256; i++) {
		uint32_t *name =
			i < l->n ? (uint32_t *)l->items + i : index_add(ix, l, sizeof(*name));

		if (name)
			*name = index_cstring(ix, info->gpus[i]->name);
	}
}

void index_gpu_interned(struct trace_index *ix, struct index_sequence *seq, const InternedData *d)
{
	for (size_t i = 0; i < d->n_graphics_contexts; i++)
		index_define(ix, seq, TABLE_GPU_CONTEXTS, d->graphics_contexts[i]->iid,
			     (uint32_t)d->graphics_contexts[i]->pid);
	for (size_t i = 0; i < d->n_gpu_specifications; i++)
		index_define(ix, seq, TABLE_GPU_QUEUES, d->gpu_specifications[i]->iid,
			     index_cstring(ix, d->gpu_specifications[i]->name));
}

/* ---- jobs ---- */

static void take_extra(struct trace_gpu_job *job, const struct wire_field *e)
{
	char name[32] = "", value[32] = "";
	struct wire_field f;
	struct wire w;

	wire_init(&w, e->data, e->len);
	while (wire_next(&w, &f) > 0) {
		char *text = f.number == 1 ? name : value;

		if (f.type != WIRE_BYTES || f.number > 2 || f.len >= sizeof(name))
			continue;
		memcpy(text, f.data, f.len);
		text[f.len] = '\0';
	}
	if (strcmp(name, "queued_ns") == 0 && text_u64(value, 0, INT64_MAX, &job->queued_ns) < 0)
		job->queued_ns = UINT64_MAX;
	else if (strcmp(name, "unfinished") == 0)
		job->unfinished = true;
}

static void take_number(const struct trace_index *ix, const struct index_sequence *seq,
			const struct wire_field *f, struct trace_gpu_job *job)
{
	const struct index_list *gpus = &ix->gpu->gpus;
	uint32_t pid;

	switch (f->number) {
	case 1:
		job->id = f->value;
		break;
	case 2:
		job->end_ns = f->value; /* the duration, for now */
		break;
	case 5:
		pid = index_lookup(seq, TABLE_GPU_CONTEXTS, f->value);
		job->pid = pid == TRACE_NONE ? 0 : (int32_t)pid;
		break;
	case 11:
		if (f->value < gpus->n)
			job->gpu = ((const uint32_t *)gpus->items)[f->value];
		break;
	case 13:
		job->ring = index_lookup(seq, TABLE_GPU_QUEUES, f->value);
		break;
	case 20:
		job->process = index_lookup(seq, TABLE_EVENT_NAMES, f->value);
		break;
	}
}

void index_gpu_stage(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
		     const uint8_t *data, size_t len)
{
	struct trace_gpu_job job = {
		.begin_ns = time_ns,
		.queued_ns = UINT64_MAX,
		.process = TRACE_NONE,
		.gpu = TRACE_NONE,
		.ring = TRACE_NONE,
		.stack = TRACE_NONE,
	}, *kept;
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		if (f.type == WIRE_VARINT)
			take_number(ix, seq, &f, &job);
		else if (f.type == WIRE_BYTES && f.number == 6)
			take_extra(&job, &f);
	}
	if (time_ns == 0 || job.end_ns > UINT64_MAX - time_ns)
		return;
	job.end_ns += time_ns;
	kept = index_add(ix, &ix->gpu->jobs, sizeof(*kept));
	if (kept)
		*kept = job;
}

/* ---- slices ---- */

struct event {
	uint64_t type, uuid, stack_iid;
	uint32_t name;
	const uint8_t *correlation; /* NULL: none */
	size_t correlation_len;
};

static struct event read_event(const struct index_sequence *seq, const uint8_t *data, size_t len)
{
	struct event e = { .name = TRACE_NONE };
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		if (f.type == WIRE_BYTES && f.number == 3000) {
			e.correlation = f.data;
			e.correlation_len = f.len;
		}
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 9)
			e.type = f.value;
		else if (f.number == 10)
			e.name = index_lookup(seq, TABLE_EVENT_NAMES, f.value);
		else if (f.number == 11)
			e.uuid = f.value;
		else if (f.number == 56)
			e.stack_iid = f.value;
	}
	return e;
}

/* The jobs that this has submitted have its stack. */
static void submits(struct trace_index *ix, const struct index_sequence *seq, const struct event *e)
{
	uint32_t stack = index_lookup(seq, TABLE_STACKS, e->stack_iid);
	struct wire_field f;
	struct wire w;

	if (stack == TRACE_NONE)
		return;
	wire_init(&w, e->correlation, e->correlation_len);
	while (wire_next(&w, &f) > 0)
		if (f.number == 1 && f.type == WIRE_VARINT)
			remember(ix, ix->gpu->submits, f.value, stack);
}

static void begin(struct trace_index *ix, const struct index_sequence *seq, struct track *track,
		  uint64_t time_ns, const struct event *e, const uint8_t *data, size_t len)
{
	bool is_frame = strncmp(trace_index_string(ix, e->name), FRAME, strlen(FRAME)) == 0;
	struct trace_display_frame *frame = &track->frame;
	struct wire_field f;
	struct wire w;

	track->open = true;
	*frame = (struct trace_display_frame){
		.begin_ns = time_ns,
		.display = track->display,
		.verdict = is_frame ? e->name : TRACE_NONE,
		.reason = TRACE_NONE,
		.process = TRACE_NONE,
	};
	wire_init(&w, data, len);
	while (is_frame && wire_next(&w, &f) > 0) {
		struct index_arg arg;

		if (f.number != 4 || f.type != WIRE_BYTES)
			continue;
		arg = index_event_arg(ix, seq, &f);
		if (strcmp(arg.name, "pid") == 0)
			frame->pid = (int32_t)arg.number;
		else if (strcmp(arg.name, "process") == 0)
			frame->process = arg.text;
		else if (strcmp(arg.name, "reason") == 0)
			frame->reason = arg.text;
		else if (strcmp(arg.name, "late_by_vblanks") == 0)
			frame->late_by = arg.number;
		else if (strcmp(arg.name, "seq") == 0)
			frame->seq = arg.number;
		else if (strcmp(arg.name, "refresh_ns") == 0)
			frame->refresh_ns = arg.number;
	}
}

static void end(struct trace_index *ix, struct track *track, uint64_t time_ns)
{
	struct trace_display_frame *kept;

	if (!track->open)
		return;
	track->open = false;
	if (track->frame.verdict == TRACE_NONE || time_ns < track->frame.begin_ns)
		return;
	track->frame.end_ns = time_ns;
	kept = index_add(ix, &ix->gpu->frames, sizeof(*kept));
	if (kept)
		*kept = track->frame;
}

void index_gpu_event(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
		     const uint8_t *data, size_t len)
{
	struct event e = read_event(seq, data, len);
	struct track *track;
	uintptr_t i;

	if (e.correlation && e.stack_iid)
		submits(ix, seq, &e);
	i = (uintptr_t)hash_get_u64(ix->gpu->tracks, e.uuid);
	if (!i || time_ns == 0)
		return;
	track = (struct track *)ix->gpu->list.items + (i - 1);
	if (e.type == TYPE_BEGIN)
		begin(ix, seq, track, time_ns, &e, data, len);
	else if (e.type == TYPE_END)
		end(ix, track, time_ns);
}

/* ---- at the end ---- */

static int by_begin(const void *pa, const void *pb)
{
	const struct trace_gpu_job *a = pa, *b = pb;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static int by_display_and_end(const void *pa, const void *pb)
{
	const struct trace_display_frame *a = pa, *b = pb;

	if (a->display != b->display)
		return a->display < b->display ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

void index_gpu_finish(struct trace_index *ix)
{
	struct index_gpu *g = ix->gpu;
	struct trace_gpu_job *jobs = g->jobs.items;

	for (size_t i = 0; i < g->jobs.n; i++) {
		uintptr_t stack = (uintptr_t)hash_get_u64(g->submits, jobs[i].id);

		jobs[i].stack = stack ? (uint32_t)(stack - 1) : TRACE_NONE;
	}
	if (g->jobs.n)
		qsort(jobs, g->jobs.n, sizeof(*jobs), by_begin);
	if (g->frames.n)
		qsort(g->frames.items, g->frames.n, sizeof(struct trace_display_frame),
		      by_display_and_end);
}

int trace_index_want_gpu(struct trace_index *ix)
{
	return ix->gpu ? 0 : index_gpu_new(ix, &ix->gpu);
}

const struct trace_gpu_job *trace_index_gpu_jobs(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->gpu ? ix->gpu->jobs.n : 0;
	return ix->gpu ? ix->gpu->jobs.items : NULL;
}

const struct trace_display_frame *trace_index_frames(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->gpu ? ix->gpu->frames.n : 0;
	return ix->gpu ? ix->gpu->frames.items : NULL;
}
