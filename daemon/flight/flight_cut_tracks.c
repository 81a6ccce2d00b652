/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_cut_tracks.c - where a snapshot begins: tracks of whoever was gone by then.
 *
 * A track that was described before is described as of the beginning. Of somebody who had died
 * that would be a second life of the pid, which may have been given to another one since; and
 * hardly ever is anything left on it. So it is held back until there is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flight/flight_base.h"
#include "flight/flight_block.h"
#include "flight/flight_cut_impl.h"

/* Of TrackDescriptor, and of its process and thread. */
#define FIELD_UUID    1
#define FIELD_PROCESS 3
#define FIELD_THREAD  4
#define FIELD_PARENT  5
#define FIELD_PID     1
#define FIELD_TID     2

/* Of TrackEvent, beside its track. */
#define FIELD_COUNTERS	      31
#define FIELD_DOUBLE_COUNTERS 45

#define MAX_DEPTH 16

struct held_track {
	uint64_t parent;
	struct buf packet; /* that describes it, as of the beginning */
};

struct description {
	uint64_t uuid, parent;
	int32_t pid, tid; /* 0: it is nobody's own */
	bool is_thread;
};

static uint64_t number_in(const struct wire_field *message, unsigned number)
{
	struct wire_field f;
	struct wire w;
	uint64_t ret = 0;

	wire_init(&w, message->data, message->len);
	while (wire_next(&w, &f) == 1)
		if (f.number == number)
			ret = f.value;
	return ret;
}

static void read_description(const struct packet *p, struct description *ret)
{
	struct wire_field f;
	struct wire w;

	*ret = (struct description){ 0 };
	wire_init(&w, p->body, p->body_len);
	while (wire_next(&w, &f) == 1) {
		if (f.number == FIELD_UUID)
			ret->uuid = f.value;
		else if (f.number == FIELD_PARENT)
			ret->parent = f.value;
		else if (f.number == FIELD_PROCESS && f.type == WIRE_BYTES)
			ret->pid = (int32_t)number_in(&f, FIELD_PID);
		else if (f.number == FIELD_THREAD && f.type == WIRE_BYTES)
			ret->tid = (int32_t)number_in(&f, FIELD_TID);
	}
}

/* Before anything has been given up, the base knows nobody. */
static bool is_gone(const struct flight_cut *c, const struct description *d)
{
	if (flight_base_n_threads(c->base) == 0)
		return false;
	if (d->tid)
		return !flight_base_has_thread(c->base, d->tid);
	if (d->pid)
		return !flight_base_has_process(c->base, d->pid);
	return d->parent && hash_get_u64(c->held, d->parent);
}

static void drop(struct flight_cut *c, uint64_t uuid)
{
	struct held_track *t = hash_remove_u64(c->held, uuid);

	if (t)
		buf_done(&t->packet);
	free(t);
}

void flight_cut_next_segment(struct flight_cut *c)
{
	struct held_track *t;
	size_t pos = 0;
	void *value;

	while (c->held && hash_next(c->held, &pos, NULL, NULL, &value)) {
		t = value;
		buf_done(&t->packet);
		free(t);
	}
	hash_free(c->held);
	c->held = NULL;
}

bool flight_cut_is_holding(const struct flight_cut *c)
{
	return c->held && hash_count(c->held) > 0;
}

static int describe(const struct flight_cut *c, const struct packet *p, struct buf *ret)
{
	struct buf packet = { 0 };
	int r = flight_put_number(&packet, FIELD_TIMESTAMP, c->begin_ns);

	if (r == 0)
		r = flight_put_number(&packet, FIELD_SEQUENCE, p->sequence);
	if (r == 0)
		r = flight_put_bytes(&packet, FIELD_DESCRIPTOR, p->body, p->body_len);
	if (r == 0)
		r = flight_put_bytes(ret, FIELD_TRACE_PACKET, packet.data, packet.len);
	buf_done(&packet);
	return r;
}

int flight_cut_hold(struct flight_cut *c, const struct packet *p)
{
	struct held_track *t;
	struct description d;
	int r = 0;

	read_description(p, &d);
	if (!c->held)
		r = hash_new(&c->held);
	if (r < 0 || !is_gone(c, &d))
		return r;
	drop(c, d.uuid);
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->parent = d.parent;
	r = describe(c, p, &t->packet);
	if (r == 0)
		r = hash_set_u64(c->held, d.uuid, t);
	if (r < 0) {
		buf_done(&t->packet);
		free(t);
		return r;
	}
	return 1;
}

/* Parents before their children. */
static int release(struct flight_cut *c, uint64_t uuid, struct buf *ret)
{
	const struct held_track *path[MAX_DEPTH];
	uint64_t ids[MAX_DEPTH];
	unsigned n = 0;
	int r = 0;

	for (uint64_t id = uuid; id && n < MAX_DEPTH; id = path[n++]->parent) {
		path[n] = hash_get_u64(c->held, id);
		if (!path[n])
			break;
		ids[n] = id;
	}
	while (r == 0 && n-- > 0) {
		r = buf_append(ret, path[n]->packet.data, path[n]->packet.len);
		drop(c, ids[n]);
	}
	return r;
}

/* Numbers of a repeated field, packed or one by one. */
static int release_all(struct flight_cut *c, const struct wire_field *f, struct buf *ret)
{
	uint64_t uuid;
	struct wire w;
	int r = 0;

	if (f->type != WIRE_BYTES)
		return release(c, f->value, ret);
	wire_init(&w, f->data, f->len);
	while (r == 0 && !wire_at_end(&w)) {
		r = wire_varint(&w, &uuid);
		if (r == 0)
			r = release(c, uuid, ret);
	}
	return r;
}

int flight_cut_release(struct flight_cut *c, const struct packet *p, struct buf *ret)
{
	struct description d;
	struct wire_field f;
	struct wire w;
	int r = 0;

	if (!flight_cut_is_holding(c))
		return 0;
	if (p->what == FIELD_DESCRIPTOR) {
		read_description(p, &d);
		drop(c, d.uuid);
		return release(c, d.parent, ret);
	}
	if (p->what != FIELD_TRACK_EVENT)
		return 0;
	wire_init(&w, p->body, p->body_len);
	while (r == 0 && wire_next(&w, &f) == 1)
		if (f.number == FIELD_COUNTERS || f.number == FIELD_DOUBLE_COUNTERS)
			r = release_all(c, &f, ret);
	return r < 0 ? r : release(c, p->track, ret);
}
