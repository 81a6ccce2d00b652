/* SPDX-License-Identifier: Apache-2.0 */
/* trace_tap.c - whoever listens to what is written, and on whose track it lies. */
#include "trace_tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_writer_impl.h"

/* Tracks above a track: more than there ever are. */
#define MAX_DEPTH 16

int trace_writer_tap(struct trace_writer *w, trace_tap_fn *fn, void *ctx)
{
	int r = 0;

	if (fn && !w->tapped) {
		r = hash_new(&w->tapped);
		if (r == 0)
			r = trace_tracks_tap(w);
		if (r < 0)
			trace_tap_done(w);
	}
	w->tap = r < 0 ? NULL : fn;
	w->tap_ctx = ctx;
	return r;
}

void trace_tap_done(struct trace_writer *w)
{
	size_t pos = 0;
	void *track;

	if (!w->tapped)
		return;
	while (hash_next(w->tapped, &pos, NULL, NULL, &track))
		free(track);
	hash_free(w->tapped);
	w->tapped = NULL;
}

int trace_tap_track(struct trace_writer *w, uint64_t uuid, const struct tapped_track *track,
		    const char *name)
{
	size_t len = strlen(name) + 1;
	struct tapped_track *t = malloc(sizeof(*t) + len);
	void *old = hash_get_u64(w->tapped, uuid);

	if (!t)
		return -ENOMEM;
	*t = *track;
	memcpy(t->name, name, len);
	if (hash_set_u64(w->tapped, uuid, t) < 0) {
		free(t);
		return -ENOMEM;
	}
	free(old);
	return 0;
}

/* Whose track it is: that of the nearest thread or process above, or of nobody. */
static void find_owner(const struct trace_writer *w, uint64_t uuid, struct trace_tap_event *ev)
{
	for (unsigned i = 0; i < MAX_DEPTH && uuid; i++) {
		const struct tapped_track *t = hash_get_u64(w->tapped, uuid);

		if (!t)
			return;
		if (i == 0 && t->name[0])
			ev->track = t->name;
		if (t->tgid) {
			ev->tgid = t->tgid;
			ev->tid = t->tid;
			return;
		}
		uuid = t->parent;
	}
}

void trace_tap_event(struct trace_writer *w, enum trace_tap_kind kind, const struct trace_event *ev,
		     uint64_t end_ns)
{
	struct trace_tap_event tapped = {
		.kind = kind,
		.source = w->source,
		.time_ns = ev->time_ns,
		.end_ns = end_ns,
		.name = ev->name,
		.category = ev->category,
		.args = ev->args,
		.n_args = ev->n_args < TRACE_MAX_ARGS ? ev->n_args : TRACE_MAX_ARGS,
	};

	find_owner(w, ev->track, &tapped);
	w->tap(w->tap_ctx, &tapped);
}

void trace_tap_counter(struct trace_writer *w, uint64_t track, uint64_t time_ns, bool is_double,
		       uint64_t bits)
{
	struct trace_tap_event tapped = {
		.kind = TAP_COUNTER, .source = w->source, .time_ns = time_ns, .end_ns = time_ns
	};

	if (is_double)
		memcpy(&tapped.value, &bits, sizeof(bits));
	else
		tapped.value = (double)(int64_t)bits;
	find_owner(w, track, &tapped);
	tapped.name = tapped.track ? tapped.track : "";
	w->tap(w->tap_ctx, &tapped);
}

bool trace_is_tapped(const struct trace_writer *w)
{
	return w->tap != NULL;
}

void trace_tap_tell(struct trace_writer *w, const struct trace_tap_event *ev)
{
	struct trace_tap_event tapped = *ev;

	if (!w->tap)
		return;
	tapped.source = w->source;
	w->tap(w->tap_ctx, &tapped);
}
