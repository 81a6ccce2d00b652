/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_slice.c - slices, instants and counters, packed by hand: there are millions of
 * them, and protobuf-c looks twice at each of the fields that a packet could have.
 */
#include <errno.h>
#include <string.h>

#include "trace_writer_impl.h"
#include "wire.h"

enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

/* Of TracePacket. */
#define FIELD_TIMESTAMP	  8
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

/* A key has at most three bytes. */
#define NUMBER_MAX (3 + WIRE_VARINT_MAX)
#define FIXED_MAX  (3 + 8)
/* All of a packet but for what there may be several of. */
#define EVENT_MAX (12 * NUMBER_MAX)

/* ---- fields; room must be there ---- */

static void put_varint(struct buf *b, uint64_t value)
{
	while (value >= 0x80) {
		b->data[b->len++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	b->data[b->len++] = (uint8_t)value;
}

static void put_number(struct buf *b, unsigned field, uint64_t value)
{
	put_varint(b, (uint64_t)field << 3);
	put_varint(b, value);
}

static void put_fixed(struct buf *b, unsigned field, const void *value)
{
	put_varint(b, (uint64_t)field << 3 | WIRE_FIXED64);
	memcpy(b->data + b->len, value, 8);
	b->len += 8;
}

static void put_bytes(struct buf *b, unsigned field, const void *bytes, size_t len)
{
	put_varint(b, (uint64_t)field << 3 | WIRE_BYTES);
	put_varint(b, len);
	memcpy(b->data + b->len, bytes, len);
	b->len += len;
}

/* ---- packets ---- */

/* `body` is a whole TrackEvent. */
static int put_packet(struct trace_writer *w, uint64_t time_ns, const struct buf *body,
		      bool leave_open, unsigned n_events)
{
	struct buf *b = &w->packet;
	int r;

	b->len = 0;
	r = buf_reserve(b, 2 * NUMBER_MAX + body->len);
	if (r < 0)
		return r;
	put_number(b, FIELD_TIMESTAMP, time_ns);
	put_bytes(b, FIELD_TRACK_EVENT, body->data, body->len);
	/* A BEGIN waits for its END: one without the other would be drawn wrong for ever. */
	if (leave_open)
		return trace_writer_add_packed(w, SEQ_EVENTS, b->data, b->len, n_events);
	return trace_writer_put_packed(w, SEQ_EVENTS, b->data, b->len, n_events);
}

static int begin_body(struct trace_writer *w, uint64_t track, int type, size_t more)
{
	int r;

	w->event.len = 0;
	r = buf_reserve(&w->event, EVENT_MAX + more);
	if (r < 0)
		return r;
	put_number(&w->event, FIELD_TYPE, (uint64_t)type);
	put_number(&w->event, FIELD_TRACK, track);
	return track ? trace_track_use(w, track) : -ENOMEM;
}

/* A track that nobody had used for long, and has not asked for again: the event is left out. */
static int put_or_skip(struct trace_writer *w, int r, unsigned n_events)
{
	if (r != -ESTALE)
		return r;
	trace_writer_skip(w, n_events);
	return 0;
}

/* ---- arguments ---- */

static int put_text(struct trace_writer *w, const char *text)
{
	struct buf *b = &w->event, scratch = { 0 };
	size_t len;
	const char *clean = trace_clean(text, strlen(text), &scratch, &len);
	int r = clean ? buf_reserve(b, 2 * NUMBER_MAX + len) : -ENOMEM;

	if (r == 0)
		put_bytes(b, FIELD_ARG_STRING, clean, len);
	buf_done(&scratch);
	return r;
}

static int put_repeated(struct trace_writer *w, const char *text)
{
	uint64_t iid;

	if (w->sequences[SEQ_EVENTS].next_iid[INTERN_ANNOTATION_STRING] >= MAX_TEXTS)
		return put_text(w, text);
	iid = trace_intern_string(w, SEQ_EVENTS, INTERN_ANNOTATION_STRING, text, strlen(text));
	put_number(&w->event, FIELD_ARG_TEXT_ID, iid);
	return iid ? 0 : -ENOMEM;
}

static int put_literal(struct trace_writer *w, const char *text)
{
	uint64_t iid = trace_intern_literal(w, SEQ_EVENTS, INTERN_ANNOTATION_STRING, text);

	put_number(&w->event, FIELD_ARG_TEXT_ID, iid);
	return iid ? 0 : -ENOMEM;
}

/* There is room for a number. */
static int put_value(struct trace_writer *w, const struct trace_arg *arg)
{
	struct buf *b = &w->event;

	switch (arg->type) {
	case ARG_UINT:
		put_number(b, FIELD_ARG_UINT, arg->u);
		break;
	case ARG_INT:
		put_number(b, FIELD_ARG_INT, (uint64_t)arg->i);
		break;
	case ARG_BOOL:
		put_number(b, FIELD_ARG_BOOL, arg->u != 0);
		break;
	case ARG_DOUBLE:
		put_fixed(b, FIELD_ARG_DOUBLE, &arg->d);
		break;
	case ARG_POINTER:
		put_number(b, FIELD_ARG_POINTER, arg->u);
		break;
	case ARG_STRING:
		return put_text(w, arg->s);
	case ARG_REPEATED:
		return put_repeated(w, arg->s);
	case ARG_LITERAL:
		return put_literal(w, arg->s);
	}
	return 0;
}

/* What was put behind `at` gets its length, of which there is one byte already. */
static void put_length(struct buf *b, size_t at)
{
	size_t len = b->len - at - 1, n = 1;

	for (size_t rest = len >> 7; rest; rest >>= 7)
		n++;
	if (n > 1)
		memmove(b->data + at + n, b->data + at + 1, len);
	b->len = at;
	put_varint(b, len);
	b->len += len;
}

static int put_arg(struct trace_writer *w, const struct trace_arg *arg)
{
	uint64_t name_iid = trace_intern_literal(w, SEQ_EVENTS, INTERN_ANNOTATION_NAME, arg->name);
	struct buf *b = &w->event;
	int r = name_iid ? buf_reserve(b, 5 * NUMBER_MAX) : -ENOMEM;
	size_t at;

	if (r < 0)
		return r;
	put_varint(b, FIELD_ARG << 3 | WIRE_BYTES);
	at = b->len++;
	put_number(b, FIELD_ARG_NAME, name_iid);
	r = put_value(w, arg);
	if (r == 0)
		put_length(b, at);
	return r;
}

static int put_args(struct trace_writer *w, const struct trace_event *ev)
{
	int r = 0;

	for (size_t i = 0; i < ev->n_args && i < TRACE_MAX_ARGS && r == 0; i++)
		r = put_arg(w, &ev->args[i]);
	return r;
}

/* ---- events ---- */

static int put_stages(struct trace_writer *w, const struct trace_event *ev)
{
	struct buf *b = &w->arg;
	int r;

	if (!ev->n_stages && !ev->n_waited_stages)
		return 0;
	b->len = 0;
	r = buf_reserve(b, NUMBER_MAX * (ev->n_stages + ev->n_waited_stages));
	if (r < 0)
		return r;
	for (size_t i = 0; i < ev->n_stages; i++)
		put_number(b, FIELD_SUBMITS, ev->stages[i]);
	for (size_t i = 0; i < ev->n_waited_stages; i++)
		put_number(b, FIELD_WAITS, ev->waited_stages[i]);
	r = buf_reserve(&w->event, NUMBER_MAX + b->len);
	if (r == 0)
		put_bytes(&w->event, FIELD_GPU_CORRELATION, b->data, b->len);
	return r;
}

static int put_event(struct trace_writer *w, const struct trace_event *ev, int type,
		     unsigned n_events)
{
	const uint64_t *flows = ev->flow_id ? &ev->flow_id : ev->flow_ids;
	size_t n_flows = ev->flow_id ? 1 : ev->n_flow_ids;
	struct buf *b = &w->event;
	uint64_t category_iid = 0, name_iid;
	int r = begin_body(w, ev->track, type, FIXED_MAX * (n_flows + ev->n_end_flow_ids));

	if (r < 0)
		return r;
	name_iid = ev->is_literal ? trace_intern_literal(w, SEQ_EVENTS, INTERN_EVENT_NAME, ev->name)
				  : trace_intern_string(w, SEQ_EVENTS, INTERN_EVENT_NAME, ev->name,
							strlen(ev->name));
	if (ev->category)
		category_iid = trace_intern_literal(w, SEQ_EVENTS, INTERN_CATEGORY, ev->category);
	if (name_iid == 0 || (ev->category && category_iid == 0))
		return -ENOMEM;
	put_number(b, FIELD_NAME, name_iid);
	if (category_iid)
		put_number(b, FIELD_CATEGORY, category_iid);
	for (size_t i = 0; i < n_flows; i++)
		put_fixed(b, FIELD_FLOW, &flows[i]);
	for (size_t i = 0; i < ev->n_end_flow_ids; i++)
		put_fixed(b, FIELD_END_FLOW, &ev->end_flow_ids[i]);
	if (ev->correlation_id)
		put_number(b, FIELD_CORRELATION, ev->correlation_id);
	if (ev->callstack_iid)
		put_number(b, FIELD_CALLSTACK, ev->callstack_iid);
	if (ev->callstack_iid && ev->callstack_weight > 0)
		put_fixed(b, FIELD_CALLSTACK_WEIGHT, &ev->callstack_weight);
	r = put_args(w, ev);
	if (r == 0)
		r = put_stages(w, ev);
	return r < 0 ? r : put_packet(w, ev->time_ns, b, type == TYPE_BEGIN, n_events);
}

/*
 * An event within another: nothing but a name, or an end; packed at once, since it is
 * shorter than a length of one byte can tell.
 */
static int put_inner(struct trace_writer *w, uint64_t track, uint64_t time_ns, uint64_t name_iid,
		     uint64_t category_iid)
{
	struct buf *b = &w->packet;
	size_t at;
	int r;

	b->len = 0;
	r = buf_reserve(b, 6 * NUMBER_MAX);
	if (r < 0)
		return r;
	put_number(b, FIELD_TIMESTAMP, time_ns);
	put_varint(b, FIELD_TRACK_EVENT << 3 | WIRE_BYTES);
	at = b->len++;
	put_number(b, FIELD_TYPE, name_iid ? TYPE_BEGIN : TYPE_END);
	put_number(b, FIELD_TRACK, track);
	if (name_iid)
		put_number(b, FIELD_NAME, name_iid);
	if (category_iid)
		put_number(b, FIELD_CATEGORY, category_iid);
	b->data[at] = (uint8_t)(b->len - at - 1);
	return trace_writer_add_packed(w, SEQ_EVENTS, b->data, b->len, 0);
}

static int put_inner_slice(struct trace_writer *w, uint64_t track, const struct trace_inner *inner)
{
	uint64_t name_iid = trace_intern_literal(w, SEQ_EVENTS, INTERN_EVENT_NAME, inner->name);
	uint64_t category_iid = 0;
	int r;

	if (inner->category)
		category_iid =
			trace_intern_literal(w, SEQ_EVENTS, INTERN_CATEGORY, inner->category);
	if (name_iid == 0 || (inner->category && category_iid == 0))
		return -ENOMEM;
	r = put_inner(w, track, inner->begin_ns, name_iid, category_iid);
	return r < 0 ? r : put_inner(w, track, inner->end_ns, 0, 0);
}

/* END carries no name: with one it could end another slice than its own. */
static int put_end(struct trace_writer *w, uint64_t track, uint64_t time_ns, unsigned n_events)
{
	int r = begin_body(w, track, TYPE_END, 0);

	return r < 0 ? r : put_packet(w, time_ns, &w->event, false, n_events);
}

/* Without a sink. */
static int only_tell(struct trace_writer *w, uint64_t track, unsigned n_events)
{
	int r = track ? trace_track_use(w, track) : -ENOMEM;

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
		r = put_inner_slice(w, ev->track, &inner[i]);
	return r < 0 ? r : put_end(w, ev->track, end_ns, n_events);
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

	if (w->tap && r == 0)
		trace_tap_event(w, TAP_INSTANT, ev, ev->time_ns);
	return put_or_skip(w, r, n_events);
}

static int put_counter(struct trace_writer *w, uint64_t track, uint64_t time_ns, bool is_double,
		       uint64_t bits, unsigned n_events)
{
	int r;

	if (!w->sink)
		return only_tell(w, track, n_events);
	r = begin_body(w, track, TYPE_COUNTER, 0);
	if (r < 0)
		return put_or_skip(w, r, n_events);
	if (is_double)
		put_fixed(&w->event, FIELD_DOUBLE_COUNTER, &bits);
	else
		put_number(&w->event, FIELD_COUNTER, bits);
	return put_packet(w, time_ns, &w->event, false, n_events);
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
