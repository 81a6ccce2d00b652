/* SPDX-License-Identifier: Apache-2.0 */
/* flight_cut.c - where a snapshot begins: packets and slices. Bundles are in flight_cut_sched.c. */
#include "flight/flight_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flight/flight_base.h"
#include "flight/flight_block.h"
#include "flight/flight_cut_impl.h"
#include "flight/flight_used.h"
#include "hash.h"

/* Of the messages within. */
#define FIELD_ARG      4
#define FIELD_ARG_UINT 3
#define FIELD_ARG_NAME 10

enum { TYPE_BEGIN = 1, TYPE_END = 2 };

/* Slices within one another on a track: deeper than a viewer takes them. */
#define MAX_DEPTH 512

#define ARG_EARLIER "began_earlier_ns"

int flight_cut_new(uint64_t begin_ns, const struct flight_base *base, struct flight_cut **ret)
{
	struct flight_cut *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->begin_ns = begin_ns;
	c->base = base;
	if (hash_new(&c->depths) < 0 || flight_used_new(&c->used) < 0) {
		flight_cut_free(c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

void flight_cut_free(struct flight_cut *c)
{
	if (!c)
		return;
	hash_free(c->depths);
	flight_cut_next_segment(c);
	flight_used_free(c->used);
	free(c);
}

uint64_t flight_cut_n_stacks(const struct flight_cut *c)
{
	return c->n_stacks;
}

bool flight_cut_has_place(const struct flight_cut *c, const struct location *loc)
{
	return flight_used_has(c->used, loc);
}

const uint64_t *flight_cut_counts(const struct flight_cut *c)
{
	return c->n_cut;
}

void flight_cut_count(struct flight_cut *c, const char *source, uint64_t n)
{
	int i = collector_index(collector_by_name(source));

	if (i >= 0)
		c->n_cut[i] += n;
}

/* ---- deciding ---- */

static void move_to(struct packet *p, uint64_t time_ns)
{
	p->verdict = MOVE;
	p->new_time_ns = time_ns;
}

static int replace(struct packets *all, struct packet *p, const ProtobufCMessage *msg)
{
	size_t len = protobuf_c_message_get_packed_size(msg);
	int r = buf_reserve(&all->replaced, len);

	if (r < 0)
		return r;
	p->verdict = REPLACE;
	p->new_at = all->replaced.len;
	p->new_len = len;
	protobuf_c_message_pack(msg, all->replaced.data + all->replaced.len);
	all->replaced.len += len;
	return 0;
}

/*
 * Slices are written in the order of their ends, so of those on one track that go on across the
 * beginning the outer ones come later.
 */
static uint64_t begin_of_slice(struct flight_cut *c, uint64_t track)
{
	uintptr_t depth = (uintptr_t)hash_get_u64(c->depths, track) + 1;

	if (depth >= MAX_DEPTH)
		depth = MAX_DEPTH - 1;
	(void)hash_set_u64(c->depths, track, (void *)depth); /* else it may look nested wrongly */
	return c->begin_ns + MAX_DEPTH - depth;
}

static void cut_slice(struct flight_cut *c, struct packet *begin, struct packet *end)
{
	if (begin->time_ns >= c->begin_ns)
		return;
	if (end->time_ns > c->begin_ns + MAX_DEPTH) {
		move_to(begin, begin_of_slice(c, begin->track));
		return;
	}
	begin->verdict = end->verdict = LEAVE_OUT;
	if (begin->category &&
	    (begin->category == c->counted[0] || begin->category == c->counted[1]))
		flight_cut_count(c, "syscalls", 1);
}

static void cut_frame(struct flight_cut *c, struct packet *start, struct packet *end)
{
	if (start->time_ns >= c->begin_ns)
		return;
	if (end->time_ns <= c->begin_ns)
		start->verdict = end->verdict = LEAVE_OUT;
	else
		move_to(start, c->begin_ns);
}

/* A job's duration is in its packet. */
static int cut_stage(struct flight_cut *c, struct packets *all, struct packet *p)
{
	TracePacket *pkt = trace_packet__unpack(NULL, p->len, p->data);
	GpuRenderStageEvent *stage = pkt ? pkt->gpu_render_stage_event : NULL;
	uint64_t end_ns;
	int r = 0;

	if (!stage) {
		if (pkt)
			trace_packet__free_unpacked(pkt, NULL);
		return -ENOMEM;
	}
	end_ns = p->time_ns + stage->duration;
	if (end_ns <= c->begin_ns) {
		p->verdict = LEAVE_OUT;
	} else {
		stage->duration = end_ns - c->begin_ns;
		pkt->timestamp = c->begin_ns;
		r = replace(all, p, &pkt->base);
	}
	trace_packet__free_unpacked(pkt, NULL);
	return r;
}

/*
 * What is said of a process whose parent is gone is said as of before (proc_encode.c); who has
 * lost it before the beginning is a child of init here.
 */
static int cut_tree(struct flight_cut *c, struct packets *all, struct packet *p)
{
	TracePacket *pkt = trace_packet__unpack(NULL, p->len, p->data);
	int r;

	if (!pkt || !pkt->process_tree) {
		if (pkt)
			trace_packet__free_unpacked(pkt, NULL);
		return -ENOMEM;
	}
	pkt->timestamp = c->begin_ns;
	for (size_t i = 0; i < pkt->process_tree->n_processes; i++) {
		ProcessTree__Process *process = pkt->process_tree->processes[i];

		if (process->ppid > 1 && !flight_base_has_process(c->base, process->ppid))
			process->ppid = 1;
	}
	r = replace(all, p, &pkt->base);
	trace_packet__free_unpacked(pkt, NULL);
	return r;
}

static int cut_bundle(struct flight_cut *c, struct packets *all, struct packet *p, bool is_first)
{
	TracePacket *pkt;
	int r = 0;

	if (!is_first)
		return 0;
	pkt = trace_packet__unpack(NULL, p->len, p->data);
	if (!pkt || !pkt->ftrace_events)
		r = -ENOMEM;
	else if (flight_cut_bundle(c, pkt->ftrace_events, p->sequence == SEQ_PROCESSES))
		r = replace(all, p, &pkt->base);
	if (pkt)
		trace_packet__free_unpacked(pkt, NULL);
	return r;
}

/* Of what has one time and is a point. */
static void cut_point(struct flight_cut *c, struct packet *p)
{
	p->verdict = LEAVE_OUT;
	if (p->what == FIELD_SAMPLE &&
	    (p->sequence == SEQ_SAMPLES || p->sequence >= SEQ_MORE_SAMPLES))
		flight_cut_count(c, "cpu", 1);
}

static int cut_track(struct flight_cut *c, struct packet *p)
{
	int r = flight_cut_hold(c, p);

	if (r == 1)
		p->verdict = LEAVE_OUT;
	else
		move_to(p, c->begin_ns);
	return r < 0 ? r : 0;
}

static int cut_old(struct flight_cut *c, struct packets *all, struct packet *p)
{
	switch (p->what) {
	case FIELD_PROCESS_TREE:
		return cut_tree(c, all, p);
	case FIELD_STAGE:
		return cut_stage(c, all, p);
	case FIELD_DESCRIPTOR:
		return cut_track(c, p);
	default:
		cut_point(c, p);
		return 0;
	}
}

/* BEGIN and END of a slice, and what is within it, lie together. */
static int decide(struct flight_cut *c, struct packets *all, bool is_first)
{
	size_t open[MAX_DEPTH], n_open = 0, frame = SIZE_MAX;
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->n; i++) {
		struct packet *p = &all->list[i];
		bool old = p->has_time && p->time_ns < c->begin_ns;

		if (p->what == FIELD_FTRACE) {
			r = cut_bundle(c, all, p, is_first);
		} else if (p->what == FIELD_TRACK_EVENT && p->type == TYPE_BEGIN) {
			if (n_open < MAX_DEPTH)
				open[n_open++] = i;
		} else if (p->what == FIELD_TRACK_EVENT && p->type == TYPE_END) {
			if (n_open > 0)
				cut_slice(c, &all->list[open[--n_open]], p);
		} else if (p->what == FIELD_FRAME && !p->is_frame_end) {
			frame = i;
		} else if (p->what == FIELD_FRAME) {
			if (frame < i)
				cut_frame(c, &all->list[frame], p);
		} else if (old || p->what == FIELD_SERVICE_EVENT) {
			r = cut_old(c, all, p);
		}
	}
	return r;
}

/* ---- writing ---- */

/* What the next packets of its sequence lean on. */
static int put_state(const struct packet *p, struct buf *ret)
{
	struct buf kept = { 0 };
	struct wire_field f;
	struct wire w;
	int r = 0;

	wire_init(&w, p->data, p->len);
	while (r == 0 && wire_next(&w, &f) == 1) {
		if (f.number == FIELD_INTERNED || f.number == FIELD_DEFAULTS)
			r = flight_put_bytes(&kept, f.number, f.data, f.len);
		else if (f.number == FIELD_SEQUENCE || f.number == FIELD_FLAGS ||
			 f.number == FIELD_FIRST_PACKET || f.number == FIELD_DROPPED)
			r = flight_put_number(&kept, f.number, f.value);
	}
	if (r == 0)
		r = flight_put_bytes(ret, FIELD_TRACE_PACKET, kept.data, kept.len);
	buf_done(&kept);
	return r;
}

/* A slice says how much earlier it has begun. */
static int put_event(const struct packet *p, struct buf *packet)
{
	struct buf event = { 0 }, arg = { 0 };
	int r = buf_append(&event, p->body, p->body_len);

	if (r == 0)
		r = flight_put_bytes(&arg, FIELD_ARG_NAME, ARG_EARLIER, strlen(ARG_EARLIER));
	if (r == 0)
		r = flight_put_number(&arg, FIELD_ARG_UINT, p->new_time_ns - p->time_ns);
	if (r == 0)
		r = flight_put_bytes(&event, FIELD_ARG, arg.data, arg.len);
	if (r == 0)
		r = flight_put_bytes(packet, p->what, event.data, event.len);
	buf_done(&event);
	buf_done(&arg);
	return r;
}

static int put_moved(const struct packet *p, struct buf *ret)
{
	struct buf packet = { 0 };
	struct wire_field f;
	struct wire w;
	int r = 0;

	wire_init(&w, p->data, p->len);
	while (r == 0 && wire_next(&w, &f) == 1) {
		if (f.number == FIELD_TIMESTAMP)
			r = flight_put_number(&packet, f.number, p->new_time_ns);
		else if (f.number == FIELD_TRACK_EVENT)
			r = put_event(p, &packet);
		else if (f.type == WIRE_BYTES)
			r = flight_put_bytes(&packet, f.number, f.data, f.len);
		else if (f.type == WIRE_VARINT)
			r = flight_put_number(&packet, f.number, f.value);
	}
	if (r == 0)
		r = flight_put_bytes(ret, FIELD_TRACE_PACKET, packet.data, packet.len);
	buf_done(&packet);
	return r;
}

static int put_packet(const struct packets *all, const struct packet *p, struct buf *ret)
{
	switch (p->verdict) {
	case KEEP:
		return flight_put_bytes(ret, FIELD_TRACE_PACKET, p->data, p->len);
	case LEAVE_OUT:
		return p->has_state ? put_state(p, ret) : 0;
	case MOVE:
		return put_moved(p, ret);
	case REPLACE:
		return flight_put_bytes(ret, FIELD_TRACE_PACKET, all->replaced.data + p->new_at,
					p->new_len);
	}
	return 0;
}

static int note_used(struct flight_cut *c, const struct packet *p)
{
	int r = 0;

	if (p->interned.len)
		r = flight_used_intern(c->used, p->sequence, p->interned.data, p->interned.len);
	if (r == 0 && p->callstack && p->verdict != LEAVE_OUT)
		r = flight_used_stack(c->used, p->sequence, p->callstack);
	return r;
}

int flight_cut_block(struct flight_cut *c, const struct buf *packets, unsigned how, struct buf *ret)
{
	struct packets all = { 0 };
	int r = flight_cut_read(c, packets, &all);

	ret->len = 0;
	if (r == 0)
		r = decide(c, &all, how & CUT_BUNDLES);
	for (size_t i = 0; r == 0 && i < all.n; i++) {
		const struct packet *p = &all.list[i];

		c->n_stacks += p->callstack && p->verdict == LEAVE_OUT;
		if (how & CUT_NOTES)
			r = note_used(c, p);
		if (r == 0 && p->verdict != LEAVE_OUT)
			r = flight_cut_release(c, p, ret);
		if (r == 0)
			r = put_packet(&all, p, ret);
	}
	buf_done(&all.replaced);
	free(all.list);
	return r;
}

int flight_cut_pass(struct flight_cut *c, const struct buf *packets, struct buf *ret)
{
	struct packets all = { 0 };
	int r = flight_cut_read(c, packets, &all);

	ret->len = 0;
	for (size_t i = 0; r == 0 && i < all.n; i++)
		r = flight_cut_release(c, &all.list[i], ret);
	free(all.list);
	return r;
}
