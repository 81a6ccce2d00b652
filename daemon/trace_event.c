/* SPDX-License-Identifier: Apache-2.0 */
/* trace_event.c - tracks, and the slices, instants and counters on them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trace_writer_impl.h"

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { ORDER_EXPLICIT = 3 };
enum { UNIT_NS = 1, UNIT_COUNT = 2, UNIT_BYTES = 3 };

/* What /proc says about the start of a process is rounded down to a tick. */
#define START_TOLERANCE_NS (10 * NS_PER_MS)

struct track_entry {
	uint64_t uuid;	   /* 0: not described yet */
	uint64_t start_ns; /* of a thread or process; 0: not known */
	uint64_t used_ns;  /* the first event on its track */
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

/* Any fixed seed will do: one trace must not use a uuid twice, that is all. */
static uint64_t uuid_of(const void *key, size_t len, uint64_t salt)
{
	uint64_t uuid = hash_bytes(key, len, 0x7472616365720000ull ^ salt);

	return uuid ? uuid : 1;
}

static int put_descriptor(struct trace_writer *w, TrackDescriptor *desc)
{
	TracePacket pkt = TRACE_PACKET__INIT;

	pkt.has_timestamp = 1;
	pkt.timestamp = w->time_ns;
	pkt.track_descriptor = desc;
	return trace_writer_put(w, SEQ_TRACKS, &pkt, 0);
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

/* Takes the entry for a new life; whatever comes of describing it, it is known or is not. */
static uint64_t describe_life(struct trace_writer *w, struct track_entry *e, const void *key,
			      size_t len, uint64_t start_ns, TrackDescriptor *desc)
{
	*e = (struct track_entry){ .start_ns = start_ns, .used_ns = w->time_ns };
	desc->has_uuid = 1;
	/* Without a start two lives are told apart by when they were met. */
	desc->uuid = uuid_of(key, len, start_ns ? start_ns : w->time_ns);
	if (put_descriptor(w, desc) == 0)
		e->uuid = desc->uuid;
	return e->uuid;
}

uint64_t trace_thread_track(struct trace_writer *w, uint32_t tgid, uint32_t tid, uint64_t start_ns)
{
	struct {
		char kind[4];
		uint32_t tid;
	} key = { "tid", tid };
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
	return describe_life(w, e, &key, sizeof(key), start_ns, &desc);
}

uint64_t trace_process_track(struct trace_writer *w, uint32_t tgid, uint64_t start_ns)
{
	struct {
		char kind[4];
		uint32_t tgid;
	} key = { "pid", tgid };
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
	return describe_life(w, e, &key, sizeof(key), start_ns, &desc);
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
	struct {
		uint64_t parent, key, is_counter, rest; /* what a long name has beyond `name` */
		char name[104];
	} key = { .parent = track->parent, .key = track->key, .is_counter = track->is_counter };
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
	uuid = uuid_of(&key, sizeof(key), 0);
	if (describe_track(w, track, uuid) == 0)
		e->uuid = uuid;
	return e->uuid;
}

/* ---- events ---- */

struct arg_messages {
	DebugAnnotation msgs[TRACE_MAX_ARGS];
	DebugAnnotation *ptrs[TRACE_MAX_ARGS];
	struct buf scratch[TRACE_MAX_ARGS];
};

static int fill_arg(struct trace_writer *w, const struct trace_arg *arg, DebugAnnotation *msg,
		    struct buf *scratch)
{
	size_t len;

	debug_annotation__init(msg);
	msg->has_name_iid = 1;
	msg->name_iid = trace_intern_string(w, SEQ_EVENTS, INTERN_ANNOTATION_NAME, arg->name,
					    strlen(arg->name));
	switch (arg->type) {
	case ARG_UINT:
		msg->has_uint_value = 1;
		msg->uint_value = arg->u;
		break;
	case ARG_INT:
		msg->has_int_value = 1;
		msg->int_value = arg->i;
		break;
	case ARG_BOOL:
		msg->has_bool_value = 1;
		msg->bool_value = arg->u != 0;
		break;
	case ARG_POINTER:
		msg->has_pointer_value = 1;
		msg->pointer_value = arg->u;
		break;
	case ARG_STRING:
		msg->string_value = (char *)trace_clean(arg->s, strlen(arg->s), scratch, &len);
		if (!msg->string_value)
			return -ENOMEM;
		break;
	}
	return msg->name_iid ? 0 : -ENOMEM;
}

static int put_event(struct trace_writer *w, const struct trace_event *ev, int type,
		     unsigned n_events)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	TrackEvent te = TRACK_EVENT__INIT;
	GpuCorrelation stages = GPU_CORRELATION__INIT;
	struct arg_messages args = { 0 };
	uint64_t category_iid = 0, flow = ev->flow_id;
	size_t n = ev->n_args < TRACE_MAX_ARGS ? ev->n_args : TRACE_MAX_ARGS;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		args.ptrs[i] = &args.msgs[i];
		r = fill_arg(w, &ev->args[i], args.ptrs[i], &args.scratch[i]);
	}
	te.n_debug_annotations = n;
	te.debug_annotations = args.ptrs;
	te.has_type = te.has_track_uuid = te.has_name_iid = 1;
	te.type = type;
	te.track_uuid = ev->track;
	te.name_iid =
		trace_intern_string(w, SEQ_EVENTS, INTERN_EVENT_NAME, ev->name, strlen(ev->name));
	if (ev->category) {
		category_iid = trace_intern_string(w, SEQ_EVENTS, INTERN_CATEGORY, ev->category,
						   strlen(ev->category));
		te.n_category_iids = 1;
		te.category_iids = &category_iid;
	}
	te.has_callstack_iid = ev->callstack_iid != 0;
	te.callstack_iid = ev->callstack_iid;
	te.has_callstack_weight = ev->callstack_iid && ev->callstack_weight > 0;
	te.callstack_weight = ev->callstack_weight;
	te.n_flow_ids = flow ? 1 : ev->n_flow_ids;
	te.flow_ids = flow ? &flow : (uint64_t *)ev->flow_ids;
	te.n_terminating_flow_ids = ev->n_end_flow_ids;
	te.terminating_flow_ids = (uint64_t *)ev->end_flow_ids;
	stages.n_render_stage_submission_event_ids = ev->n_stages;
	stages.render_stage_submission_event_ids = (uint64_t *)ev->stages;
	stages.n_render_stage_wait_event_ids = ev->n_waited_stages;
	stages.render_stage_wait_event_ids = (uint64_t *)ev->waited_stages;
	if (ev->n_stages || ev->n_waited_stages)
		te.gpu_correlation = &stages;
	pkt.has_timestamp = 1;
	pkt.timestamp = ev->time_ns;
	pkt.track_event = &te;
	if (te.name_iid == 0 || ev->track == 0 || (ev->category && category_iid == 0))
		r = -ENOMEM;
	/* A BEGIN waits for its END: one without the other would be drawn wrong for ever. */
	if (r == 0 && type == TYPE_BEGIN)
		r = trace_writer_add(w, SEQ_EVENTS, &pkt, n_events);
	else if (r == 0)
		r = trace_writer_put(w, SEQ_EVENTS, &pkt, n_events);
	for (size_t i = 0; i < n; i++)
		buf_done(&args.scratch[i]);
	return r;
}

/* END carries no name: with one it could end another slice than its own. */
static int put_end(struct trace_writer *w, uint64_t track, uint64_t time_ns, unsigned n_events)
{
	TracePacket pkt = TRACE_PACKET__INIT;
	TrackEvent te = TRACK_EVENT__INIT;

	te.has_type = te.has_track_uuid = 1;
	te.type = TYPE_END;
	te.track_uuid = track;
	pkt.has_timestamp = 1;
	pkt.timestamp = time_ns;
	pkt.track_event = &te;
	return trace_writer_put(w, SEQ_EVENTS, &pkt, n_events);
}

int trace_slice(struct trace_writer *w, const struct trace_event *ev, uint64_t end_ns,
		unsigned n_events)
{
	int r = put_event(w, ev, TYPE_BEGIN, 0);

	return r < 0 ? r : put_end(w, ev->track, end_ns, n_events);
}

int trace_instant(struct trace_writer *w, const struct trace_event *ev, unsigned n_events)
{
	return put_event(w, ev, TYPE_INSTANT, n_events);
}

static int put_counter(struct trace_writer *w, uint64_t time_ns, TrackEvent *te)
{
	TracePacket pkt = TRACE_PACKET__INIT;

	te->has_type = te->has_track_uuid = 1;
	te->type = TYPE_COUNTER;
	pkt.has_timestamp = 1;
	pkt.timestamp = time_ns;
	pkt.track_event = te;
	return te->track_uuid ? trace_writer_put(w, SEQ_EVENTS, &pkt, 0) : -ENOMEM;
}

int trace_counter(struct trace_writer *w, uint64_t track, uint64_t time_ns, int64_t value)
{
	TrackEvent te = TRACK_EVENT__INIT;

	te.track_uuid = track;
	te.has_counter_value = 1;
	te.counter_value = value;
	return put_counter(w, time_ns, &te);
}

int trace_counter_double(struct trace_writer *w, uint64_t track, uint64_t time_ns, double value)
{
	TrackEvent te = TRACK_EVENT__INIT;

	te.track_uuid = track;
	te.has_double_counter_value = 1;
	te.double_counter_value = value;
	return put_counter(w, time_ns, &te);
}
