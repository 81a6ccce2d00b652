/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_segments.c - a trace that is cut into segments, any of which may become its first.
 *
 * Each begins a generation, so what is interned is there. Tracks are described again at their
 * first use in a segment: for that their descriptors are kept, of those that were used lately.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_packet.h"

#define FIELD_TRACK_DESCRIPTOR 60

/* Tracks above a track: more than there ever are. */
#define MAX_DEPTH 16

/* So few tracks are all kept. */
#define KEEP_TRACKS 4096

struct told_track {
	uint64_t parent;
	uint64_t used_ns; /* the last event on it: whoever has it lived then */
	unsigned segment; /* that it was used in last, and is described in */
	uint32_t len;
	uint8_t desc[]; /* packed */
};

int trace_writer_split(struct trace_writer *w)
{
	return w->told ? 0 : hash_new(&w->told);
}

void trace_told_done(struct trace_writer *w)
{
	size_t pos = 0;
	void *track;

	if (!w->told)
		return;
	while (hash_next(w->told, &pos, NULL, NULL, &track))
		free(track);
	hash_free(w->told);
}

int trace_told_add(struct trace_writer *w, const TrackDescriptor *desc)
{
	size_t len = track_descriptor__get_packed_size(desc);
	struct told_track *t, *old;

	if (!w->told)
		return 0;
	t = malloc(sizeof(*t) + len);
	if (!t)
		return -ENOMEM;
	*t = (struct told_track){ .parent = desc->has_parent_uuid ? desc->parent_uuid : 0,
				  .used_ns = w->time_ns,
				  .segment = w->segment,
				  .len = (uint32_t)len };
	track_descriptor__pack(desc, t->desc);
	old = hash_get_u64(w->told, desc->uuid);
	if (hash_set_u64(w->told, desc->uuid, t) < 0) {
		free(t);
		return -ENOMEM;
	}
	free(old);
	return 0;
}

/*
 * As of its last use, or of what is put on it now if that is older: the thread may be gone, and
 * something of it come late.
 */
static int put_again(struct trace_writer *w, const struct told_track *t)
{
	uint64_t time_ns = w->time_ns < t->used_ns ? w->time_ns : t->used_ns;
	uint8_t *at = trace_packet_begin(w, SEQ_TRACKS, PACK_HEAD_MAX + t->len);
	int r;

	if (!at)
		return -ENOMEM;
	at = pack_bytes(at, FIELD_TRACK_DESCRIPTOR, t->desc, t->len);
	r = trace_packet_end(w, SEQ_TRACKS, at, time_ns, 0);
	return r < 0 ? r : trace_packet_after(w, SEQ_TRACKS);
}

int trace_track_use(struct trace_writer *w, uint64_t uuid)
{
	struct told_track *path[MAX_DEPTH], *t;
	unsigned n = 0;
	int r = 0;

	if (!w->told || !uuid)
		return 0;
	for (uint64_t id = uuid; id && n < MAX_DEPTH; n++) {
		path[n] = hash_get_u64(w->told, id);
		if (!path[n])
			return -ESTALE;
		if (path[n]->segment == w->segment)
			break;
		id = path[n]->parent;
	}
	t = path[0];
	/* A parent before its children. */
	while (r == 0 && n-- > 0) {
		r = put_again(w, path[n]);
		if (r == 0)
			path[n]->segment = w->segment;
	}
	t->used_ns = w->time_ns;
	return r;
}

bool trace_track_known(const struct trace_writer *w, uint64_t uuid)
{
	return uuid && (!w->told || hash_get_u64(w->told, uuid));
}

bool trace_told_is_old(const struct trace_writer *w, uint64_t uuid, unsigned keep)
{
	const struct told_track *t = hash_get_u64(w->told, uuid);

	return !t || t->segment + keep < w->segment;
}

void trace_told_forget(struct trace_writer *w, uint64_t uuid)
{
	free(hash_remove_u64(w->told, uuid));
	if (w->tapped)
		free(hash_remove_u64(w->tapped, uuid));
}

size_t trace_writer_n_tracks(const struct trace_writer *w)
{
	return w->told ? hash_count(w->told) : 0;
}

int trace_writer_restart(struct trace_writer *w, unsigned keep)
{
	int r = trace_writer_flush(w);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < SEQ_MAX; i++) {
		struct trace_sequence_state *s = &w->sequences[i];

		s->went_on = s->went_on || s->cleared;
		s->cleared = false;
		trace_intern_forget(s);
	}
	w->generation++;
	w->segment++;
	if (w->told && hash_count(w->told) > KEEP_TRACKS)
		trace_tracks_forget(w, keep);
	return 0;
}
