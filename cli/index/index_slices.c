/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index_slices.c - slices of a name: of threads (system calls, calls of libraries), of
 * processes (requests), and of neither that name a process (frames, jobs of GPUs).
 *
 * A slice is written when it is over, BEGIN and END together, or live and then in the
 * order of time: so an END belongs to what is open in the order of the file, as
 * check_slices.c has it.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "index_impl.h"

enum { TYPE_BEGIN = 1, TYPE_END = 2 };

/* What an entry of hash.h takes while the table has just grown. */
#define ENTRY_BYTES 128

#define NOT_WANTED UINT32_MAX /* an open slice of another name */
#define MAX_OPEN   512	      /* slices in each other, as the importer has it */

struct track {
	enum trace_slice_owner owner;
	uint32_t pair;		/* of its thread, or its process's main one; or TRACE_NONE */
	struct index_list open; /* uint32_t: index of a slice, or NOT_WANTED */
	size_t n_beyond;	/* open ones, beyond MAX_OPEN */
};

/* Slices of one name. */
struct called {
	uint32_t n;
	bool known, wanted;
};

struct index_slices {
	const char *wanted;
	struct hash *ids;	  /* uuid -> index of the track + 1 */
	struct index_list tracks; /* struct track */
	struct index_list called; /* struct called, by string */
	struct index_list slices;
};

void index_slices_free(struct index_slices *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->tracks.n; i++)
		free(((struct track *)s->tracks.items)[i].open.items);
	hash_free(s->ids);
	free(s->tracks.items);
	free(s->called.items);
	free(s->slices.items);
	free(s);
}

int trace_index_want_slices(struct trace_index *ix, const char *wanted)
{
	struct index_slices *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	if (hash_new(&s->ids) < 0) {
		free(s);
		return -ENOMEM;
	}
	s->wanted = wanted;
	index_slices_free(ix->slices);
	ix->slices = s;
	return 0;
}

/* ---- tracks ---- */

static struct track *find_track(const struct index_slices *s, uint64_t uuid)
{
	uintptr_t i = (uintptr_t)hash_get_u64(s->ids, uuid);

	return i ? (struct track *)s->tracks.items + (i - 1) : NULL;
}

static struct track *add_track(struct trace_index *ix, uint64_t uuid)
{
	struct index_slices *s = ix->slices;
	struct track *t = index_add(ix, &s->tracks, sizeof(*t));
	int r;

	if (!t)
		return NULL;
	t->owner = TRACE_SLICE_OF_NOBODY;
	t->pair = TRACE_NONE;
	r = pool_budget_take(&ix->budget, ENTRY_BYTES);
	if (r == 0)
		r = hash_set_u64(s->ids, uuid, (void *)(uintptr_t)s->tracks.n);
	if (r < 0) {
		ix->error = r;
		return NULL;
	}
	return t;
}

/* A track below another one is of the same owner. */
void index_slices_track(struct trace_index *ix, const TrackDescriptor *d)
{
	const struct track *parent = find_track(ix->slices, d->parent_uuid);
	const struct ThreadDescriptor *thread = d->thread;
	enum trace_slice_owner owner = TRACE_SLICE_OF_NOBODY;
	uint32_t pair = TRACE_NONE;
	struct track *t;

	if (!d->has_uuid || d->counter)
		return;
	if (thread && thread->has_tid) {
		owner = TRACE_SLICE_OF_THREAD;
		pair = index_tasks_pair(ix, thread->has_pid ? thread->pid : INDEX_NO_PID,
					(int32_t)thread->tid);
	} else if (d->process && d->process->has_pid) {
		owner = TRACE_SLICE_OF_PROCESS;
		pair = index_tasks_pair(ix, d->process->pid, d->process->pid);
	} else if (parent && parent->pair != TRACE_NONE) {
		owner = parent->owner;
		pair = parent->pair;
	}
	t = find_track(ix->slices, d->uuid);
	if (!t)
		t = add_track(ix, d->uuid);
	if (!t || t->pair != TRACE_NONE)
		return; /* the first to say it */
	t->owner = owner;
	t->pair = pair;
}

/* ---- slices ---- */

/* Counts a slice of the name. Is it one of those? */
static bool is_wanted(struct trace_index *ix, uint32_t name)
{
	struct index_list *l = &ix->slices->called;
	const char *wanted = ix->slices->wanted, *text;
	struct called *c;

	if (name == TRACE_NONE)
		return false;
	while (l->n <= name)
		if (!index_add(ix, l, sizeof(*c)))
			return false;
	c = (struct called *)l->items + name;
	if (!c->known) {
		text = trace_index_string(ix, name);
		c->known = true;
		c->wanted = strcmp(text, wanted) == 0 || fnmatch(wanted, text, 0) == 0;
	}
	if (c->n < UINT32_MAX)
		c->n++;
	return c->wanted;
}

static struct trace_slice *add_slice(struct trace_index *ix, uint64_t time_ns, uint32_t name)
{
	struct trace_slice *s = index_add(ix, &ix->slices->slices, sizeof(*s));

	if (!s)
		return NULL;
	s->begin_ns = s->end_ns = time_ns;
	s->name = name;
	s->owner = TRACE_SLICE_OF_NOBODY;
	s->thread = TRACE_NONE;
	s->track = TRACE_NONE;
	return s;
}

/* By its pid, as frames and jobs of GPUs tell it. */
static void set_process(struct trace_index *ix, struct trace_slice *s, uint64_t pid)
{
	if (pid == 0 || pid > INT32_MAX)
		return;
	s->owner = TRACE_SLICE_OF_PROCESS;
	s->thread = index_tasks_pair(ix, (int32_t)pid, (int32_t)pid);
}

static void find_process(struct trace_index *ix, const struct index_sequence *seq,
			 struct trace_slice *s, const uint8_t *data, size_t len)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		struct index_arg arg;

		if (f.number != 4 || f.type != WIRE_BYTES)
			continue;
		arg = index_event_arg(ix, seq, &f);
		if (strcmp(arg.name, "pid") == 0)
			set_process(ix, s, arg.number);
	}
}

struct event {
	uint64_t type, uuid;
	uint32_t name;
};

static struct event read_event(struct trace_index *ix, const struct index_sequence *seq,
			       const uint8_t *data, size_t len)
{
	struct event e = { .uuid = seq->track, .name = TRACE_NONE };
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		if (f.type == WIRE_BYTES && f.number == 23)
			e.name = index_string(ix, f.data, f.len);
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 9)
			e.type = f.value;
		else if (f.number == 10)
			e.name = index_lookup(seq, TABLE_EVENT_NAMES, f.value);
		else if (f.number == 11)
			e.uuid = f.value;
	}
	return e;
}

static void begin(struct trace_index *ix, const struct index_sequence *seq, struct track *track,
		  uint64_t time_ns, uint32_t name, const uint8_t *data, size_t len)
{
	struct trace_slice *s = NULL;
	uint32_t *open;

	if (track->open.n == MAX_OPEN) {
		track->n_beyond++;
		return;
	}
	if (is_wanted(ix, name))
		s = add_slice(ix, time_ns, name);
	open = index_add(ix, &track->open, sizeof(*open));
	if (!open)
		return;
	*open = s ? (uint32_t)(ix->slices->slices.n - 1) : NOT_WANTED;
	if (!s)
		return;
	s->unfinished = true;
	s->track = (uint32_t)(track - (struct track *)ix->slices->tracks.items);
	s->owner = track->owner;
	s->thread = track->pair;
	if (s->owner == TRACE_SLICE_OF_NOBODY)
		find_process(ix, seq, s, data, len);
}

static void end(struct trace_index *ix, struct track *track, uint64_t time_ns)
{
	struct trace_slice *s;
	uint32_t i;

	if (track->n_beyond) {
		track->n_beyond--;
		return;
	}
	if (track->open.n == 0)
		return;
	i = ((uint32_t *)track->open.items)[--track->open.n];
	if (i == NOT_WANTED)
		return;
	s = (struct trace_slice *)ix->slices->slices.items + i;
	s->unfinished = false;
	if (time_ns > s->begin_ns)
		s->end_ns = time_ns;
}

void index_slices_event(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
			const uint8_t *data, size_t len)
{
	struct event e = read_event(ix, seq, data, len);
	struct track *track;

	if (time_ns == 0 || (e.type != TYPE_BEGIN && e.type != TYPE_END))
		return;
	track = find_track(ix->slices, e.uuid);
	if (!track)
		track = add_track(ix, e.uuid);
	if (!track)
		return;
	if (e.type == TYPE_BEGIN)
		begin(ix, seq, track, time_ns, e.name, data, len);
	else
		end(ix, track, time_ns);
}

/* A job of a GPU is called as the importer calls it. */
void index_slices_stage(struct trace_index *ix, const struct index_sequence *seq, uint64_t time_ns,
			const uint8_t *data, size_t len)
{
	uint32_t name = TRACE_NONE, stage = TRACE_NONE, pid = TRACE_NONE;
	uint64_t duration = 0;
	struct trace_slice *s;
	struct wire_field f;
	struct wire w;

	wire_init(&w, data, len);
	while (wire_next(&w, &f) > 0) {
		if (f.type != WIRE_VARINT)
			continue;
		if (f.number == 2)
			duration = f.value;
		else if (f.number == 5)
			pid = index_lookup(seq, TABLE_GPU_CONTEXTS, f.value);
		else if (f.number == 14)
			stage = index_lookup(seq, TABLE_GPU_QUEUES, f.value);
		else if (f.number == 20)
			name = index_lookup(seq, TABLE_EVENT_NAMES, f.value);
	}
	if (name == TRACE_NONE)
		name = stage;
	if (time_ns == 0 || duration > UINT64_MAX - time_ns || !is_wanted(ix, name))
		return;
	s = add_slice(ix, time_ns, name);
	if (!s)
		return;
	s->end_ns = time_ns + duration;
	if (pid != TRACE_NONE)
		set_process(ix, s, pid);
}

/* ---- at the end ---- */

/* Behind the facts: what has no end is over with the recording. */
void index_slices_finish(struct trace_index *ix)
{
	struct trace_slice *s = ix->slices->slices.items;

	for (size_t i = 0; i < ix->slices->slices.n && ix->error == 0; i++) {
		if (s[i].unfinished && ix->facts.end_ns > s[i].begin_ns)
			s[i].end_ns = ix->facts.end_ns;
		if (s[i].thread == TRACE_NONE)
			s[i].owner = TRACE_SLICE_OF_NOBODY;
		else
			s[i].thread = index_tasks_thread(ix, s[i].thread, s[i].begin_ns);
	}
}

const struct trace_slice *trace_index_slices(const struct trace_index *ix, size_t *ret_n)
{
	*ret_n = ix->slices ? ix->slices->slices.n : 0;
	return ix->slices ? ix->slices->slices.items : NULL;
}

uint32_t trace_index_n_called(const struct trace_index *ix, uint32_t name)
{
	const struct index_slices *s = ix->slices;

	return s && name < s->called.n ? ((const struct called *)s->called.items)[name].n : 0;
}
