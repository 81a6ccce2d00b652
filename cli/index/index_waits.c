/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_waits.c - waits of threads: slices on tracks "Waits", and the stacks of
 * who waited and who ended it, which are samples of sources of their own.
 *
 * As daemon/collect/offcpu_slices.c writes them: a slice of a track is over
 * before another one is written, the one called "runnable" inside it first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "index_impl.h"

#define WAITS_TRACK    "Waits"
#define RUNNABLE       "runnable"
#define SLEEPER_SOURCE "linux.offcpu"
#define WAKER_SOURCE   "linux.wakers"

enum { TYPE_BEGIN = 1, TYPE_END = 2 };

/* What an entry of hash.h takes while the table has just grown. */
#define ENTRY_BYTES 128

struct track {
	uint32_t pair; /* of its thread */
	int32_t tid;
	bool open;
	struct trace_wait wait; /* that is open */
};

struct index_waits {
	struct hash *threads;	/* uuid of a thread's track -> pair + 1 */
	struct hash *tracks;	/* uuid of a track "Waits" -> index + 1 */
	struct index_list list; /* struct track */
	struct index_list waits;
};

int index_waits_new(struct trace_index *ix, struct index_waits **ret)
{
	struct index_waits *w = calloc(1, sizeof(*w));

	(void)ix;
	if (!w)
		return -ENOMEM;
	if (hash_new(&w->threads) < 0 || hash_new(&w->tracks) < 0) {
		index_waits_free(w);
		return -ENOMEM;
	}
	*ret = w;
	return 0;
}

void index_waits_free(struct index_waits *w)
{
	if (!w)
		return;
	hash_free(w->threads);
	hash_free(w->tracks);
	free(w->list.items);
	free(w->waits.items);
	free(w);
}

/* ---- tracks ---- */

static void remember(struct trace_index *ix, struct hash *h, uint64_t uuid, size_t number)
{
	int r = pool_budget_take(&ix->budget, ENTRY_BYTES);

	if (r == 0)
		r = hash_set_u64(h, uuid, (void *)((uintptr_t)number + 1));
	if (r < 0)
		ix->error = r;
}

void index_waits_track(struct trace_index *ix, const TrackDescriptor *d)
{
	struct index_waits *w = ix->waits;
	const ThreadDescriptor *thread = d->thread;
	struct track *track;
	uintptr_t parent;

	if (!d->has_uuid)
		return;
	if (thread && thread->has_tid) {
		uint32_t pair = index_tasks_pair(ix, thread->has_pid ? thread->pid : INDEX_NO_PID,
						 (int32_t)thread->tid);

		if (pair != TRACE_NONE)
			remember(ix, w->threads, d->uuid, pair);
		return;
	}
	parent = (uintptr_t)hash_get_u64(w->threads, d->parent_uuid);
	if (!d->name || strcmp(d->name, WAITS_TRACK) != 0 || !parent ||
	    hash_get_u64(w->tracks, d->uuid))
		return;
	track = index_add(ix, &w->list, sizeof(*track));
	if (!track)
		return;
	track->pair = (uint32_t)(parent - 1);
	track->tid = index_tasks_tid(ix, track->pair);
	remember(ix, w->tracks, d->uuid, w->list.n - 1);
}

void index_event_names(struct trace_index *ix, struct index_sequence *seq, const InternedData *d)
{
	for (size_t i = 0; i < d->n_event_names; i++)
		index_define(ix, seq, TABLE_EVENT_NAMES, d->event_names[i]->iid,
			     index_cstring(ix, d->event_names[i]->name));
	for (size_t i = 0; i < d->n_debug_annotation_names; i++)
		index_define(ix, seq, TABLE_ARG_NAMES, d->debug_annotation_names[i]->iid,
			     index_cstring(ix, d->debug_annotation_names[i]->name));
	for (size_t i = 0; i < d->n_debug_annotation_string_values; i++) {
		const InternedString *s = d->debug_annotation_string_values[i];

		index_define(ix, seq, TABLE_ARG_TEXTS, s->iid,
			     index_string(ix, s->str.data, s->str.len));
	}
}

/* ---- events ---- */

struct index_arg index_event_arg(struct trace_index *ix, const struct index_sequence *seq,
				 const struct wire_field *annotation)
{
	struct index_arg arg = { .name = "", .text = TRACE_NONE };
	struct wire_field f;
	struct wire w;

	wire_init(&w, annotation->data, annotation->len);
	while (wire_next(&w, &f) > 0) {
		if (f.number == 1 && f.type == WIRE_VARINT)
			arg.name =
				trace_index_string(ix, index_lookup(seq, TABLE_ARG_NAMES, f.value));
		else if (f.number == 6 && f.type == WIRE_BYTES)
			arg.text = index_string(ix, f.data, f.len);
		else if (f.number == 17 && f.type == WIRE_VARINT)
			arg.text = index_lookup(seq, TABLE_ARG_TEXTS, f.value);
		else if (f.type == WIRE_VARINT)
			arg.number = f.value;
	}
	return arg;
}

/* Numbers until the end, when they are made times, threads and so on. */
static void take_arg(struct trace_wait *wait, const struct index_arg *arg, int32_t *waker_tid,
		     int32_t *waker_pid)
{
	if (strcmp(arg->name, "reason") == 0)
		wait->reason = arg->text;
	else if (strcmp(arg->name, "blocked_ns") == 0)
		wait->woken_ns = wait->begin_ns + arg->number;
	else if (strcmp(arg->name, "woken_by") == 0)
		wait->woken_by = arg->text;
	else if (strcmp(arg->name, "waking_function") == 0)
		wait->function = arg->text;
	else if (strcmp(arg->name, "waker_tid") == 0)
		*waker_tid = (int32_t)arg->number;
	else if (strcmp(arg->name, "waker_pid") == 0)
		*waker_pid = (int32_t)arg->number;
	else if (strcmp(arg->name, "began_before") == 0)
		wait->began_before = arg->number != 0;
	else if (strcmp(arg->name, "unfinished") == 0)
		wait->unfinished = arg->number != 0;
}

static void begin(struct trace_index *ix, const struct index_sequence *seq, struct track *track,
		  uint64_t time_ns, uint32_t name, const uint8_t *data, size_t len)
{
	int32_t waker_tid = 0, waker_pid = INDEX_NO_PID;
	struct wire_field f;
	struct wire w;

	track->open = true;
	track->wait = (struct trace_wait){
		.begin_ns = time_ns,
		.woken_ns = UINT64_MAX,
		.tid = track->tid,
		.thread = track->pair,
		.waker = TRACE_NONE,
		.name = name,
		.reason = TRACE_NONE,
		.woken_by = TRACE_NONE,
		.function = TRACE_NONE,
		.stack = TRACE_NONE,
		.waker_stack = TRACE_NONE,
	};
	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		struct index_arg arg;

		if (f.number != 4 || f.type != WIRE_BYTES)
			continue;
		arg = index_event_arg(ix, seq, &f);
		take_arg(&track->wait, &arg, &waker_tid, &waker_pid);
	}
	if (waker_tid > 0) {
		track->wait.waker_tid = waker_tid;
		track->wait.waker = index_tasks_pair(ix, waker_pid, waker_tid);
	}
}

static void end(struct trace_index *ix, struct track *track, uint64_t time_ns)
{
	struct trace_wait *wait = &track->wait, *kept;

	if (!track->open)
		return;
	track->open = false;
	if (strcmp(trace_index_string(ix, wait->name), RUNNABLE) == 0)
		return; /* what the wait around it says as well */
	if (time_ns < wait->begin_ns)
		return;
	wait->end_ns = time_ns;
	if (wait->woken_ns > time_ns)
		wait->woken_ns = time_ns;
	kept = index_add(ix, &ix->waits->waits, sizeof(*kept));
	if (kept)
		*kept = *wait;
}

void index_waits_event(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
		       const uint8_t *data, size_t len)
{
	uint64_t type = 0, uuid = 0;
	uint32_t name = TRACE_NONE;
	struct track *track;
	struct wire_field f;
	struct wire w;
	uintptr_t i;

	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 9)
			type = f.value;
		else if (f.number == 10)
			name = index_lookup(seq, TABLE_EVENT_NAMES, f.value);
		else if (f.number == 11)
			uuid = f.value;
	}
	i = (uintptr_t)hash_get_u64(ix->waits->tracks, uuid);
	if (!i || time_ns == 0)
		return;
	track = (struct track *)ix->waits->list.items + (i - 1);
	if (type == TYPE_BEGIN)
		begin(ix, seq, track, time_ns, name, data, len);
	else if (type == TYPE_END)
		end(ix, track, time_ns);
}

/* ---- at the end ---- */

static int by_thread_and_time(const void *pa, const void *pb)
{
	const struct trace_wait *a = pa, *b = pb;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->end_ns < b->end_ns ? -1 : a->end_ns > b->end_ns;
}

/* Samples lie at the end of the wait, and of wakers at the wakeup. */
struct sample_key {
	uint64_t time_ns;
	int32_t tid;
	uint32_t of_waker;
};

static int find_samples(struct trace_index *ix, struct hash *h)
{
	const struct trace_source *sources;
	const struct trace_sample *s;
	size_t n, n_sources;
	int r = 0;

	sources = trace_index_sources(ix, &n_sources);
	s = trace_index_samples(ix, &n);
	for (size_t i = 0; i < n && r == 0; i++) {
		const char *name = trace_index_string(ix, sources[s[i].source].name);
		struct sample_key key = {
			.time_ns = s[i].time_ns,
			.tid = trace_index_thread(ix, s[i].thread)->tid,
			.of_waker = strcmp(name, WAKER_SOURCE) == 0,
		};

		if (!key.of_waker && strcmp(name, SLEEPER_SOURCE) != 0)
			continue;
		r = pool_budget_take(&ix->budget, ENTRY_BYTES);
		if (r == 0)
			r = hash_set(h, &key, sizeof(key), (void *)((uintptr_t)s[i].stack + 1));
	}
	return r;
}

static uint32_t stack_of(const struct hash *h, uint64_t time_ns, int32_t tid, bool of_waker)
{
	struct sample_key key = { .time_ns = time_ns, .tid = tid, .of_waker = of_waker };
	uintptr_t i = (uintptr_t)hash_get(h, &key, sizeof(key));

	return i ? (uint32_t)(i - 1) : TRACE_NONE;
}

/* Behind the samples, whose stacks and threads it takes. */
void index_waits_finish(struct trace_index *ix)
{
	struct trace_wait *w = ix->waits->waits.items;
	size_t n = ix->waits->waits.n;
	struct hash *samples;
	int r = hash_new(&samples);

	if (r == 0)
		r = find_samples(ix, samples);
	for (size_t i = 0; i < n && r == 0 && ix->error == 0; i++) {
		w[i].stack = stack_of(samples, w[i].end_ns, w[i].tid, false);
		w[i].thread = index_tasks_thread(ix, w[i].thread, w[i].begin_ns);
		if (w[i].waker == TRACE_NONE)
			continue;
		w[i].waker_stack = stack_of(samples, w[i].woken_ns, w[i].waker_tid, true);
		w[i].waker = index_tasks_thread(ix, w[i].waker, w[i].woken_ns);
	}
	if (n)
		qsort(w, n, sizeof(*w), by_thread_and_time);
	hash_free(samples);
	if (r < 0)
		ix->error = r;
}

const struct trace_wait *trace_index_waits(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->waits ? ix->waits->waits.n : 0;
	return ix->waits ? ix->waits->waits.items : NULL;
}

int trace_index_want_waits(struct trace_index *ix)
{
	return ix->waits ? 0 : index_waits_new(ix, &ix->waits);
}
