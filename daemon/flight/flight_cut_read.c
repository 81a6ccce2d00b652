/* SPDX-License-Identifier: Apache-2.0 */
/* flight_cut_read.c - where a snapshot begins: what has to be known of packets for that. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flight/flight_block.h"
#include "flight/flight_cut_impl.h"

/* Of the messages within. */
#define FIELD_INTERN_CATEGORY 1
#define FIELD_EVENT_CATEGORY  3
#define FIELD_EVENT_TYPE      9
#define FIELD_EVENT_TRACK     11
#define FIELD_EVENT_STACK     56
#define FIELD_SAMPLE_STACK    6
#define FIELD_FRAME_END	      5

static void read_event(struct packet *p)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, p->body, p->body_len);
	while (wire_next(&w, &f) == 1) {
		if (f.number == FIELD_EVENT_TYPE)
			p->type = (uint8_t)f.value;
		else if (f.number == FIELD_EVENT_TRACK)
			p->track = f.value;
		else if (f.number == FIELD_EVENT_CATEGORY)
			p->category = f.value;
		else if (f.number == FIELD_EVENT_STACK)
			p->callstack = f.value;
	}
}

static void read_sample(struct packet *p)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, p->body, p->body_len);
	while (wire_next(&w, &f) == 1)
		if (f.number == FIELD_SAMPLE_STACK)
			p->callstack = f.value;
}

static void read_frame(struct packet *p)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, p->body, p->body_len);
	p->is_frame_end = wire_next(&w, &f) == 1 && f.number == FIELD_FRAME_END;
}

/* Which category ids are those of system calls. */
static void read_category(struct flight_cut *c, const struct wire_field *category)
{
	static const char *const names[] = { "syscall", "net" };
	struct wire_field f;
	uint64_t iid = 0;
	struct wire w;

	wire_init(&w, category->data, category->len);
	while (wire_next(&w, &f) == 1) {
		if (f.number == 1)
			iid = f.value;
		for (size_t i = 0; f.type == WIRE_BYTES && i < 2; i++)
			if (f.len == strlen(names[i]) && memcmp(f.data, names[i], f.len) == 0)
				c->counted[i] = iid;
	}
}

static void read_interned(struct flight_cut *c, const struct wire_field *interned)
{
	struct wire_field f;
	struct wire w;

	wire_init(&w, interned->data, interned->len);
	while (wire_next(&w, &f) == 1)
		if (f.number == FIELD_INTERN_CATEGORY && f.type == WIRE_BYTES)
			read_category(c, &f);
}

static int read_packet(struct flight_cut *c, const struct wire_field *whole, struct packet *p)
{
	struct wire_field f;
	struct wire w;
	uint64_t flags = 0;
	int r;

	*p = (struct packet){ .data = whole->data, .len = whole->len };
	wire_init(&w, whole->data, whole->len);
	while ((r = wire_next(&w, &f)) == 1) {
		switch (f.number) {
		case FIELD_TIMESTAMP:
			p->has_time = true;
			p->time_ns = f.value;
			break;
		case FIELD_SEQUENCE:
			p->sequence = (uint32_t)f.value;
			break;
		case FIELD_FLAGS:
			flags = f.value;
			break;
		case FIELD_INTERNED:
			p->interned = f;
			break;
		case FIELD_DEFAULTS:
		case FIELD_FIRST_PACKET:
		case FIELD_DROPPED:
			break;
		default:
			p->what = f.number;
			p->body = f.data;
			p->body_len = f.len;
		}
	}
	p->has_state = p->interned.len || (flags & 1);
	if (flags & 1 && p->sequence == SEQ_EVENTS)
		c->counted[0] = c->counted[1] = 0;
	if (p->interned.len && p->sequence == SEQ_EVENTS)
		read_interned(c, &p->interned);
	if (p->what == FIELD_TRACK_EVENT)
		read_event(p);
	else if (p->what == FIELD_FRAME)
		read_frame(p);
	else if (p->what == FIELD_SAMPLE)
		read_sample(p);
	return r;
}

static struct packet *add_packet(struct packets *all)
{
	if (all->n == all->cap) {
		size_t cap = all->cap ? 2 * all->cap : 1024;
		struct packet *grown = reallocarray(all->list, cap, sizeof(*grown));

		if (!grown)
			return NULL;
		all->list = grown;
		all->cap = cap;
	}
	return &all->list[all->n++];
}

int flight_cut_read(struct flight_cut *c, const struct buf *packets, struct packets *all)
{
	struct wire_field f;
	struct wire w;
	int r;

	wire_init(&w, packets->data, packets->len);
	while ((r = flight_block_next(&w, &f)) == 1) {
		struct packet *p = add_packet(all);

		r = p ? read_packet(c, &f, p) : -ENOMEM;
		if (r < 0)
			return r;
	}
	return r;
}
