/* SPDX-License-Identifier: Apache-2.0 */
/* trace_slice.c - slices, instants and counters, packed by hand: there are millions of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_packet.h"

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

/* Of TracePacket. */
#define FIELD_TRACK_EVENT 11

/* Of TrackEvent. */
#define FIELD_CATEGORY	       3
#define FIELD_ARG	       4
#define FIELD_TYPE	       9
#define FIELD_NAME	       10
#define FIELD_TRACK	       11
#define FIELD_COUNTER	       30
#define FIELD_DOUBLE_COUNTER   44
#define FIELD_FLOW	       47
#define FIELD_END_FLOW	       48
#define FIELD_CORRELATION      52
#define FIELD_CALLSTACK	       56
#define FIELD_CALLSTACK_WEIGHT 57
#define FIELD_GPU_CORRELATION  3000

/* Of GpuCorrelation. */
#define FIELD_SUBMITS 1
#define FIELD_WAITS   2

/* Of DebugAnnotation. */
#define FIELD_ARG_NAME	  1
#define FIELD_ARG_BOOL	  2
#define FIELD_ARG_UINT	  3
#define FIELD_ARG_INT	  4
#define FIELD_ARG_DOUBLE  5
#define FIELD_ARG_STRING  6
#define FIELD_ARG_POINTER 7
#define FIELD_ARG_TEXT_ID 17

/* Texts of arguments that are interned; beyond, they stand in their events. */
#define MAX_TEXTS 16384

/* A number whose key has one byte. */
#define SHORT_MAX (1 + WIRE_VARINT_MAX)
/* Of an event that is nothing but a name, or an end: type, track, name, category. */
#define BARE_MAX (2 + 3 * SHORT_MAX)
/* All of an event but for what there may be several of. */
#define EVENT_MAX (BARE_MAX + 2 * PACK_NUMBER_MAX + PACK_FIXED_MAX)
/* More than that take more than 127 bytes. */
#define FEW_ARGS 8
/* An argument but for a text that is in it. */
#define ARG_MAX (PACK_HEAD_MAX + 2 * PACK_NUMBER_MAX)

/* A track that nobody had used for long, and has not asked for again: the event is left out. */
static int put_or_skip(struct trace_writer *w, int r, unsigned n_events)
{
	if (r != -ESTALE)
		return r;
	trace_writer_skip(w, n_events);
	return 0;
}

/* ---- arguments ---- */

/* NULL, here and below: no memory. */
static uint8_t *put_text(uint8_t *at, const char *text)
{
	struct buf scratch = { 0 };
	size_t len;
	const char *clean = trace_clean(text, strlen(text), &scratch, &len);

	at = clean ? pack_bytes(at, FIELD_ARG_STRING, clean, len) : NULL;
	buf_done(&scratch);
	return at;
}

static uint8_t *put_text_id(uint8_t *at, uint64_t iid)
{
	return iid ? pack_number(at, FIELD_ARG_TEXT_ID, iid) : NULL;
}

static uint8_t *put_repeated(struct trace_writer *w, uint8_t *at, const char *text)
{
	if (w->sequences[SEQ_EVENTS].next_iid[INTERN_ANNOTATION_STRING] >= MAX_TEXTS)
		return put_text(at, text);
	return put_text_id(at, trace_intern_string(w, SEQ_EVENTS, INTERN_ANNOTATION_STRING, text,
						   strlen(text)));
}

static uint8_t *put_value(struct trace_writer *w, uint8_t *at, const struct trace_arg *arg)
{
	switch (arg->type) {
	case ARG_UINT:
		return pack_number(at, FIELD_ARG_UINT, arg->u);
	case ARG_INT:
		return pack_number(at, FIELD_ARG_INT, (uint64_t)arg->i);
	case ARG_BOOL:
		return pack_number(at, FIELD_ARG_BOOL, arg->u != 0);
	case ARG_DOUBLE:
		return pack_fixed(at, FIELD_ARG_DOUBLE, &arg->d);
	case ARG_POINTER:
		return pack_number(at, FIELD_ARG_POINTER, arg->u);
	case ARG_STRING:
		return put_text(at, arg->s);
	case ARG_REPEATED:
		return put_repeated(w, at, arg->s);
	case ARG_LITERAL:
		return put_text_id(
			at, trace_intern_literal(w, SEQ_EVENTS, INTERN_ANNOTATION_STRING, arg->s));
	}
	return at;
}

static uint8_t *put_arg(struct trace_writer *w, uint8_t *at, const struct trace_arg *arg)
{
	uint64_t name_iid = trace_intern_literal(w, SEQ_EVENTS, INTERN_ANNOTATION_NAME, arg->name);
	uint8_t *length = pack_key(at, FIELD_ARG, WIRE_BYTES);

	if (!name_iid)
		return NULL;
	at = put_value(w, pack_number(length + 1, FIELD_ARG_NAME, name_iid), arg);
	return at ? pack_length(length, 1, at) : NULL;
}

static size_t args_max(const struct trace_arg *args, size_t n)
{
	size_t len = n * ARG_MAX;

	/* One byte that is not UTF-8 becomes three at worst. */
	for (size_t i = 0; i < n; i++)
		if (args[i].type == ARG_STRING || args[i].type == ARG_REPEATED)
			len += 3 * strlen(args[i].s);
	return len;
}

static uint8_t *put_args(struct trace_writer *w, uint8_t *at, const struct trace_arg *args,
			 size_t n)
{
	for (size_t i = 0; at && i < n; i++)
		at = put_arg(w, at, &args[i]);
	return at;
}

int trace_pack_args(struct trace_writer *w, const struct trace_arg *args, size_t n,
		    struct trace_packed *ret)
{
	uint8_t *data = realloc(ret->data, args_max(args, n) + 1), *end;

	if (!data)
		return -ENOMEM;
	ret->data = data;
	end = put_args(w, data, args, n);
	if (!end) {
		trace_packed_done(ret);
		return -ENOMEM;
	}
	ret->len = (size_t)(end - data);
	ret->generation = w->generation;
	data = realloc(ret->data, ret->len + 1); /* to what it takes */
	if (data)
		ret->data = data;
	return 0;
}

bool trace_packed_holds(const struct trace_writer *w, const struct trace_packed *packed)
{
	return packed->data && packed->generation == w->generation;
}

void trace_packed_done(struct trace_packed *packed)
{
	free(packed->data);
	*packed = (struct trace_packed){ 0 };
}

static size_t n_args(const struct trace_event *ev)
{
	return ev->n_args < TRACE_MAX_ARGS ? ev->n_args : TRACE_MAX_ARGS;
}

static size_t packed_len(const struct trace_event *ev)
{
	size_t len = 0;

	for (size_t i = 0; i < ev->n_packed; i++)
		len += ev->packed[i]->len;
	return len;
}

static uint8_t *put_packed(uint8_t *at, const struct trace_packed *packed)
{
	memcpy(at, packed->data, packed->len);
	return at + packed->len;
}

/* ---- events ---- */

static size_t n_flows(const struct trace_event *ev)
{
	return (ev->flow_id ? 1 : ev->n_flow_ids) + ev->n_end_flow_ids;
}

static uint8_t *put_flows(uint8_t *at, const struct trace_event *ev)
{
	const uint64_t *flows = ev->flow_id ? &ev->flow_id : ev->flow_ids;
	size_t n = ev->flow_id ? 1 : ev->n_flow_ids;

	for (size_t i = 0; i < n; i++)
		at = pack_fixed(at, FIELD_FLOW, &flows[i]);
	for (size_t i = 0; i < ev->n_end_flow_ids; i++)
		at = pack_fixed(at, FIELD_END_FLOW, &ev->end_flow_ids[i]);
	return at;
}

static size_t stages_max(const struct trace_event *ev)
{
	return PACK_NUMBER_MAX * (ev->n_stages + ev->n_waited_stages) + PACK_HEAD_MAX;
}

static uint8_t *put_stages(uint8_t *at, const struct trace_event *ev)
{
	uint8_t *length;

	if (!ev->n_stages && !ev->n_waited_stages)
		return at;
	length = at = pack_key(at, FIELD_GPU_CORRELATION, WIRE_BYTES);
	at++;
	for (size_t i = 0; i < ev->n_stages; i++)
		at = pack_number(at, FIELD_SUBMITS, ev->stages[i]);
	for (size_t i = 0; i < ev->n_waited_stages; i++)
		at = pack_number(at, FIELD_WAITS, ev->waited_stages[i]);
	return pack_length(length, 1, at);
}

static uint8_t *put_bare(uint8_t *at, int type, uint64_t track, uint64_t name_iid,
			 uint64_t category_iid)
{
	at = pack_number(at, FIELD_TYPE, (uint64_t)type);
	at = pack_number(at, FIELD_TRACK, track);
	if (name_iid)
		at = pack_number(at, FIELD_NAME, name_iid);
	if (category_iid)
		at = pack_number(at, FIELD_CATEGORY, category_iid);
	return at;
}

struct name_ids {
	uint64_t name, category; /* 0: none */
};

static uint64_t name_of(struct trace_writer *w, const struct trace_event *ev)
{
	struct trace_text_id *id = ev->name_id;
	uint64_t iid;

	if (ev->is_literal)
		return trace_intern_literal(w, SEQ_EVENTS, INTERN_EVENT_NAME, ev->name);
	if (id && id->iid && id->generation == w->generation)
		return id->iid;
	iid = trace_intern_string(w, SEQ_EVENTS, INTERN_EVENT_NAME, ev->name, strlen(ev->name));
	if (id)
		*id = (struct trace_text_id){ iid, w->generation };
	return iid;
}

static int add_category(struct trace_writer *w, const char *category, struct name_ids *ids)
{
	ids->category =
		category ? trace_intern_literal(w, SEQ_EVENTS, INTERN_CATEGORY, category) : 0;
	return ids->name && (ids->category || !category) ? 0 : -ENOMEM;
}

static uint8_t *put_fields(struct trace_writer *w, uint8_t *at, const struct trace_event *ev,
			   int type, const struct name_ids *ids)
{
	at = put_bare(at, type, ev->track, ids->name, ids->category);
	if (ev->correlation_id)
		at = pack_number(at, FIELD_CORRELATION, ev->correlation_id);
	if (ev->callstack_iid)
		at = pack_number(at, FIELD_CALLSTACK, ev->callstack_iid);
	if (ev->callstack_iid && ev->callstack_weight > 0)
		at = pack_fixed(at, FIELD_CALLSTACK_WEIGHT, &ev->callstack_weight);
	for (size_t i = 0; i < ev->n_packed; i++)
		at = put_packed(at, ev->packed[i]);
	at = put_args(w, at, ev->args, n_args(ev));
	/* Flows last: of all that differs from event to event they are the longest. */
	return at ? put_flows(put_stages(at, ev), ev) : NULL;
}

static int use_track(struct trace_writer *w, uint64_t track)
{
	return track ? trace_track_use(w, track) : -ENOMEM;
}

static int put_event(struct trace_writer *w, const struct trace_event *ev, int type,
		     unsigned n_events)
{
	size_t len = EVENT_MAX + PACK_FIXED_MAX * n_flows(ev) + packed_len(ev) +
		     args_max(ev->args, n_args(ev)) + stages_max(ev);
	size_t length_room = ev->n_packed || ev->n_args > FEW_ARGS ? 2 : 1;
	struct name_ids ids;
	uint8_t *at, *length;
	int r = use_track(w, ev->track);

	if (r < 0)
		return r;
	ids.name = name_of(w, ev);
	r = add_category(w, ev->category, &ids);
	if (r < 0)
		return r;
	at = trace_packet_begin(w, SEQ_EVENTS, PACK_HEAD_MAX + len);
	if (!at)
		return -ENOMEM;
	length = pack_key(at, FIELD_TRACK_EVENT, WIRE_BYTES);
	at = put_fields(w, length + length_room, ev, type, &ids);
	if (!at)
		return -ENOMEM;
	at = pack_length(length, length_room, at);
	return trace_packet_end(w, SEQ_EVENTS, at, ev->time_ns, n_events);
}

/* An event that is nothing but a name, or an end (0): shorter than one byte can tell. */
static int put_short(struct trace_writer *w, uint64_t track, uint64_t time_ns,
		     const struct name_ids *ids, unsigned n_events)
{
	uint8_t *at = trace_packet_begin(w, SEQ_EVENTS, 2 + BARE_MAX), *length;

	if (!at)
		return -ENOMEM;
	length = pack_key(at, FIELD_TRACK_EVENT, WIRE_BYTES);
	at = put_bare(length + 1, ids->name ? TYPE_BEGIN : TYPE_END, track, ids->name,
		      ids->category);
	*length = (uint8_t)(at - length - 1);
	return trace_packet_end(w, SEQ_EVENTS, at, time_ns, n_events);
}

/* END carries no name: with one it could end another slice than its own. */
static const struct name_ids no_name;

static int put_inner(struct trace_writer *w, uint64_t track, const struct trace_inner *inner)
{
	struct name_ids ids = { .name = trace_intern_literal(w, SEQ_EVENTS, INTERN_EVENT_NAME,
							     inner->name) };
	int r = add_category(w, inner->category, &ids);

	if (r == 0)
		r = put_short(w, track, inner->begin_ns, &ids, 0);
	return r < 0 ? r : put_short(w, track, inner->end_ns, &no_name, 0);
}

/* Without a sink. */
static int only_tell(struct trace_writer *w, uint64_t track, unsigned n_events)
{
	int r = use_track(w, track);

	/* Of a track that is forgotten the owner is not known, and nothing else is missing. */
	if (r < 0 && r != -ESTALE)
		return r;
	w->stats[w->source].n_written += n_events;
	return 0;
}

static int put_slice(struct trace_writer *w, const struct trace_event *ev, uint64_t end_ns,
		     const struct trace_inner *inner, size_t n_inner, unsigned n_events)
{
	int r;

	if (!w->sink)
		return only_tell(w, ev->track, n_events);
	r = put_event(w, ev, TYPE_BEGIN, 0);
	for (size_t i = 0; r == 0 && i < n_inner; i++)
		r = put_inner(w, ev->track, &inner[i]);
	if (r == 0)
		r = put_short(w, ev->track, end_ns, &no_name, n_events);
	/* A BEGIN waits for its END: one without the other would be drawn wrong for ever. */
	return r < 0 ? r : trace_packet_after(w, SEQ_EVENTS);
}

int trace_slice(struct trace_writer *w, const struct trace_event *ev, uint64_t end_ns,
		unsigned n_events)
{
	int r = put_slice(w, ev, end_ns, NULL, 0, n_events);

	if (w->tap && r == 0)
		trace_tap_event(w, TAP_SLICE, ev, end_ns);
	return put_or_skip(w, r, n_events);
}

static void tap_inner(struct trace_writer *w, uint64_t track, const struct trace_inner *inner)
{
	const struct trace_event ev = { .track = track,
					.time_ns = inner->begin_ns,
					.name = inner->name,
					.category = inner->category };

	trace_tap_event(w, TAP_SLICE, &ev, inner->end_ns);
}

int trace_slice_around(struct trace_writer *w, const struct trace_event *ev, uint64_t end_ns,
		       const struct trace_inner *inner, size_t n_inner, unsigned n_events)
{
	int r = put_slice(w, ev, end_ns, inner, n_inner, n_events);

	if (!w->tap || r < 0)
		return put_or_skip(w, r, n_events);
	trace_tap_event(w, TAP_SLICE, ev, end_ns);
	for (size_t i = 0; i < n_inner; i++)
		tap_inner(w, ev->track, &inner[i]);
	return 0;
}

int trace_instant(struct trace_writer *w, const struct trace_event *ev, unsigned n_events)
{
	int r = w->sink ? put_event(w, ev, TYPE_INSTANT, n_events)
			: only_tell(w, ev->track, n_events);

	if (w->sink && r == 0)
		r = trace_packet_after(w, SEQ_EVENTS);
	if (w->tap && r == 0)
		trace_tap_event(w, TAP_INSTANT, ev, ev->time_ns);
	return put_or_skip(w, r, n_events);
}

static int put_counter(struct trace_writer *w, uint64_t track, uint64_t time_ns, bool is_double,
		       uint64_t bits, unsigned n_events)
{
	uint8_t *at, *length;
	int r;

	if (!w->sink)
		return only_tell(w, track, n_events);
	r = use_track(w, track);
	if (r < 0)
		return put_or_skip(w, r, n_events);
	at = trace_packet_begin(w, SEQ_EVENTS, 2 + BARE_MAX + PACK_NUMBER_MAX);
	if (!at)
		return -ENOMEM;
	length = pack_key(at, FIELD_TRACK_EVENT, WIRE_BYTES);
	at = put_bare(length + 1, TYPE_COUNTER, track, 0, 0);
	if (is_double)
		at = pack_fixed(at, FIELD_DOUBLE_COUNTER, &bits);
	else
		at = pack_number(at, FIELD_COUNTER, bits);
	*length = (uint8_t)(at - length - 1);
	r = trace_packet_end(w, SEQ_EVENTS, at, time_ns, n_events);
	return r < 0 ? r : trace_packet_after(w, SEQ_EVENTS);
}

int trace_counter_event(struct trace_writer *w, uint64_t track, uint64_t time_ns, bool is_double,
			uint64_t bits, unsigned n_events)
{
	int r = put_counter(w, track, time_ns, is_double, bits, n_events);

	if (w->tap && r == 0)
		trace_tap_counter(w, track, time_ns, is_double, bits);
	return r;
}

int trace_counter(struct trace_writer *w, uint64_t track, uint64_t time_ns, int64_t value)
{
	return trace_counter_event(w, track, time_ns, false, (uint64_t)value, 0);
}

int trace_counter_double(struct trace_writer *w, uint64_t track, uint64_t time_ns, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return trace_counter_event(w, track, time_ns, true, bits, 0);
}
