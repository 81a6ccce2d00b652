/* SPDX-License-Identifier: Apache-2.0 */
/* trace_event.c - tracks. What is on them is in trace_slice.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trace_writer_impl.h"

enum { ORDER_EXPLICIT = 3 };
enum { UNIT_NS = 1, UNIT_COUNT = 2, UNIT_BYTES = 3 };

/* What /proc says about the start of a process is rounded down to a tick. */
#define START_TOLERANCE_NS (10 * NS_PER_MS)

struct track_entry {
	uint64_t uuid;	   /* 0: not described yet */
	uint64_t start_ns; /* of a thread or process; 0: not known */
	uint64_t used_ns;  /* the first event on its track */
	uint32_t tgid;	   /* of a thread */
};

/* What tells tracks apart; lengths differ as well. */
struct life_key {
	char kind[4]; /* "tid", "pid" */
	uint32_t id;
};
struct track_key {
	uint64_t parent, key, is_counter, rest; /* what a long name has beyond `name` */
	char name[104];
};

void trace_tracks_done(struct trace_writer *w)
{
	size_t pos = 0;
	void *entry;

	if (!w->tracks)
		return;
	while (hash_next(w->tracks, &pos, NULL, NULL, &entry))
		free(entry);
	hash_free(w->tracks);
}

void trace_tracks_forget(struct trace_writer *w, unsigned keep)
{
	size_t pos = 0, len;
	const void *key;
	void *entry;

	memset(w->recent_threads, 0, sizeof(w->recent_threads));
	while (hash_next(w->tracks, &pos, &key, &len, &entry)) {
		struct track_entry *e = entry;

		if (e->uuid && !trace_told_is_old(w, e->uuid, keep))
			continue;
		if (e->uuid)
			trace_told_forget(w, e->uuid);
		hash_remove(w->tracks, key, len);
		free(e);
	}
}

/* One writer describes all tracks of a trace. They are short: each event has one. */
static uint64_t new_uuid(struct trace_writer *w)
{
	return ++w->n_uuids;
}

static int put_descriptor(struct trace_writer *w, TrackDescriptor *desc)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	int r = desc->has_parent_uuid ? trace_track_use(w, desc->parent_uuid) : 0;

	pkt.has_timestamp = 1;
	pkt.timestamp = w->time_ns;
	pkt.track_descriptor = desc;
	/* Nobody has used the parent for long: better at the top than under nobody. */
	if (r == -ESTALE)
		desc->has_parent_uuid = r = 0;
	if (r == 0)
		r = trace_told_add(w, desc);
	return r < 0 ? r : trace_writer_put(w, SEQ_TRACKS, &pkt, 0);
}

/* The entry of `key`, new (uuid 0) or old; NULL: out of memory. */
static struct track_entry *entry_of(struct trace_writer *w, const void *key, size_t len)
{
	struct track_entry *e = hash_get(w->tracks, key, len);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (e && hash_set(w->tracks, key, len, e) < 0) {
		free(e);
		return NULL;
	}
	return e;
}

/* Whoever began after the track was used first is somebody else. */
static bool same_life(struct track_entry *e, uint64_t start_ns)
{
	uint64_t known_ns = e->start_ns ? e->start_ns : e->used_ns;

	if (!e->uuid || (start_ns && start_ns > known_ns + START_TOLERANCE_NS))
		return false;
	if (e->start_ns == 0)
		e->start_ns = start_ns;
	return true;
}

/* ---- who listens ---- */

static int tap_life(struct trace_writer *w, const struct life_key *key, const struct track_entry *e,
		    uint64_t uuid)
{
	struct tapped_track track = { .tgid = key->id };

	if (strcmp(key->kind, "tid") == 0)
		track = (struct tapped_track){ .tgid = e->tgid, .tid = key->id };
	return w->tapped ? trace_tap_track(w, uuid, &track, "") : 0;
}

static int tap_track(struct trace_writer *w, const struct track_key *key, uint64_t uuid)
{
	const struct tapped_track track = { .parent = key->parent };
	char name[sizeof(key->name) + 1] = "";

	memcpy(name, key->name, sizeof(key->name));
	return w->tapped ? trace_tap_track(w, uuid, &track, name) : 0;
}

int trace_tracks_tap(struct trace_writer *w)
{
	size_t pos = 0, len;
	const void *key;
	void *entry;
	int r = 0;

	while (r == 0 && hash_next(w->tracks, &pos, &key, &len, &entry)) {
		const struct track_entry *e = entry;

		if (!e->uuid)
			continue;
		r = len == sizeof(struct life_key) ? tap_life(w, key, e, e->uuid)
						   : tap_track(w, key, e->uuid);
	}
	return r;
}

/* ---- tracks ---- */

/* Takes the entry for a new life; whatever comes of describing it, it is known or is not. */
static uint64_t describe_life(struct trace_writer *w, struct track_entry *e,
			      const struct life_key *key, uint32_t tgid, uint64_t start_ns,
			      TrackDescriptor *desc)
{
	*e = (struct track_entry){ .start_ns = start_ns, .used_ns = w->time_ns, .tgid = tgid };
	desc->has_uuid = 1;
	desc->uuid = new_uuid(w);
	if (put_descriptor(w, desc) == 0 && tap_life(w, key, e, desc->uuid) == 0)
		e->uuid = desc->uuid;
	return e->uuid;
}

static uint64_t thread_track(struct trace_writer *w, uint32_t tgid, uint32_t tid, uint64_t start_ns)
{
	struct life_key key = { "tid", tid };
	TrackDescriptor desc = TRACK_DESCRIPTOR__INIT;
	ThreadDescriptor thread = THREAD_DESCRIPTOR__INIT;
	struct track_entry *e = entry_of(w, &key, sizeof(key));

	if (!e)
		return 0;
	if (same_life(e, start_ns))
		return e->uuid;
	/* No thread_name: it would win over every later name of the thread. */
	thread.has_pid = thread.has_tid = 1;
	thread.pid = (int32_t)tgid;
	thread.tid = tid;
	desc.thread = &thread;
	return describe_life(w, e, &key, tgid, start_ns, &desc);
}

uint64_t trace_thread_track(struct trace_writer *w, uint32_t tgid, uint32_t tid, uint64_t start_ns)
{
	struct recent_thread *recent = &w->recent_threads[tid % RECENT_THREADS];

	if (recent->tid == tid && recent->start_ns == start_ns && start_ns &&
	    trace_track_known(w, recent->uuid))
		return recent->uuid;
	*recent = (struct recent_thread){ .start_ns = start_ns, .tid = tid };
	recent->uuid = thread_track(w, tgid, tid, start_ns);
	return recent->uuid;
}

uint64_t trace_process_track(struct trace_writer *w, uint32_t tgid, uint64_t start_ns)
{
	struct life_key key = { "pid", tgid };
	TrackDescriptor desc = TRACK_DESCRIPTOR__INIT;
	ProcessDescriptor process = PROCESS_DESCRIPTOR__INIT;
	struct track_entry *e = entry_of(w, &key, sizeof(key));

	if (!e)
		return 0;
	if (same_life(e, start_ns))
		return e->uuid;
	process.has_pid = 1;
	process.pid = (int32_t)tgid;
	desc.process = &process;
	return describe_life(w, e, &key, tgid, start_ns, &desc);
}

static void describe_unit(CounterDescriptor *counter, const char *unit)
{
	static const struct {
		const char *name;
		int32_t unit;
	} known[] = { { "ns", UNIT_NS }, { "count", UNIT_COUNT }, { "bytes", UNIT_BYTES } };

	if (!unit)
		return;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(unit, known[i].name) == 0) {
			counter->has_unit = 1;
			counter->unit = known[i].unit;
			return;
		}
	}
	counter->unit_name = (char *)unit;
}

static int describe_track(struct trace_writer *w, const struct trace_track *track, uint64_t uuid)
{
	TrackDescriptor desc = TRACK_DESCRIPTOR__INIT;
	CounterDescriptor counter = COUNTER_DESCRIPTOR__INIT;
	struct buf scratch = { 0 };
	size_t len;
	int r;

	desc.has_uuid = 1;
	desc.uuid = uuid;
	desc.name = (char *)trace_clean(track->name, strlen(track->name), &scratch, &len);
	desc.description = (char *)track->description;
	desc.has_parent_uuid = track->parent != 0;
	desc.parent_uuid = track->parent;
	desc.has_sibling_order_rank = track->rank != 0;
	desc.sibling_order_rank = track->rank;
	desc.has_child_ordering = track->explicit_order;
	desc.child_ordering = ORDER_EXPLICIT;
	if (track->is_counter) {
		describe_unit(&counter, track->unit);
		desc.counter = &counter;
	}
	r = desc.name ? put_descriptor(w, &desc) : -ENOMEM;
	buf_done(&scratch);
	return r;
}

uint64_t trace_track(struct trace_writer *w, const struct trace_track *track)
{
	struct track_key key = { .parent = track->parent,
				 .key = track->key,
				 .is_counter = track->is_counter };
	size_t len = strlen(track->name);
	struct track_entry *e;
	uint64_t uuid;

	strncpy(key.name, track->name, sizeof(key.name));
	if (len > sizeof(key.name))
		key.rest = hash_bytes(track->name, len, 1);
	e = entry_of(w, &key, sizeof(key));
	if (!e)
		return 0;
	if (e->uuid)
		return e->uuid;
	uuid = new_uuid(w);
	if (describe_track(w, track, uuid) == 0 && tap_track(w, &key, uuid) == 0)
		e->uuid = uuid;
	return e->uuid;
}
