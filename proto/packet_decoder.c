/* SPDX-License-Identifier: Apache-2.0 */
/* packet_decoder.c - from bytes to a TracePacket, for bytes that nobody has checked. */
#include "packet_decoder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "wire.h"

#define MAX_DEPTH  24 /* protobuf-c recurses; our messages nest 6 deep, annotations some more */
#define CHUNK_MIN  (64u << 10)
#define CHUNK_KEEP (8u << 20)
/* The largest packets are bundles of some MB; unpacked they grow about tenfold. */
#define MAX_ARENA (256u << 20)

/* Memory of one packet: taken piece by piece, given back all at once. */
struct chunk {
	struct chunk *next;
	size_t cap, used;
	_Alignas(16) uint8_t data[];
};

struct packet_decoder {
	struct chunk *chunks; /* the first one is being filled */
	size_t total;
	bool over_limit;
	ProtobufCAllocator allocator;
};

static void *arena_alloc(void *ctx, size_t size)
{
	struct packet_decoder *d = ctx;
	struct chunk *c = d->chunks;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!c || c->cap - c->used < size) {
		size_t cap = c ? 2 * c->cap : CHUNK_MIN;

		if (size > MAX_ARENA || d->total > MAX_ARENA) {
			d->over_limit = true;
			return NULL;
		}
		if (cap < size)
			cap = size;
		c = malloc(sizeof(*c) + cap);
		if (!c)
			return NULL;
		c->next = d->chunks;
		c->cap = cap;
		c->used = 0;
		d->chunks = c;
		d->total += cap;
	}
	p = c->data + c->used;
	c->used += size;
	return p;
}

static void arena_free(void *ctx, void *p)
{
	(void)ctx;
	(void)p;
}

/* Keeps the newest chunk, which is the largest, unless it is too large to keep. */
static void arena_reset(struct packet_decoder *d, size_t keep)
{
	struct chunk *c = d->chunks, *next;

	d->chunks = NULL;
	d->total = 0;
	d->over_limit = false;
	for (; c; c = next) {
		next = c->next;
		if (!d->chunks && c->cap <= keep) {
			c->next = NULL;
			c->used = 0;
			d->chunks = c;
			d->total = c->cap;
		} else {
			free(c);
		}
	}
}

int packet_decoder_new(struct packet_decoder **ret)
{
	struct packet_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->allocator.alloc = arena_alloc;
	d->allocator.free = arena_free;
	d->allocator.allocator_data = d;
	*ret = d;
	return 0;
}

void packet_decoder_free(struct packet_decoder *d)
{
	if (!d)
		return;
	arena_reset(d, 0);
	free(d);
}

/* ---- the wire against the message types ---- */

struct walk {
	wire_deviation_fn *fn;
	void *ctx;
	bool unusable; /* not to be given to protobuf-c */
};

static void deviation(struct walk *walk, enum wire_deviation what,
		      const ProtobufCMessageDescriptor *desc, uint32_t field)
{
	if (what == WIRE_BROKEN || what == WIRE_TOO_DEEP)
		walk->unusable = true;
	if (walk->fn)
		walk->fn(walk->ctx, what, desc->short_name, field);
}

static enum wire_type declared_type(const ProtobufCFieldDescriptor *fd)
{
	switch (fd->type) {
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		return WIRE_BYTES;
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return WIRE_FIXED64;
	case PROTOBUF_C_TYPE_FIXED32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_FLOAT:
		return WIRE_FIXED32;
	default:
		return WIRE_VARINT;
	}
}

/* Is the form of `f` as declared? 0 or the deviation. */
static enum wire_deviation form_of(const ProtobufCFieldDescriptor *fd, const struct wire_field *f)
{
	enum wire_type scalar = declared_type(fd);
	bool repeated = fd->label == PROTOBUF_C_LABEL_REPEATED && scalar != WIRE_BYTES;
	bool packed = repeated && (fd->flags & PROTOBUF_C_FIELD_FLAG_PACKED);

	if (f->type == (packed ? WIRE_BYTES : scalar))
		return 0;
	if (packed && f->type == scalar)
		return WIRE_NOT_PACKED;
	if (repeated && f->type == WIRE_BYTES)
		return WIRE_PACKED;
	return WIRE_WRONG_TYPE;
}

static void walk_message(struct walk *walk, const ProtobufCMessageDescriptor *desc,
			 const uint8_t *data, size_t len, unsigned depth)
{
	struct wire_field f;
	struct wire w;
	int r;

	if (depth > MAX_DEPTH) {
		deviation(walk, WIRE_TOO_DEEP, desc, 0);
		return;
	}
	wire_init(&w, data, len);
	while ((r = wire_next(&w, &f)) > 0) {
		const ProtobufCFieldDescriptor *fd =
			protobuf_c_message_descriptor_get_field(desc, f.number);
		enum wire_deviation what = fd ? form_of(fd, &f) : WIRE_UNKNOWN_FIELD;

		if (what)
			deviation(walk, what, desc, f.number);
		else if (fd->type == PROTOBUF_C_TYPE_MESSAGE)
			walk_message(walk, fd->descriptor, f.data, f.len, depth + 1);
	}
	if (r < 0)
		deviation(walk, WIRE_BROKEN, desc, 0);
}

int packet_decode(struct packet_decoder *d, const uint8_t *data, size_t len, wire_deviation_fn *fn,
		  void *ctx, const TracePacket **ret)
{
	struct walk walk = { .fn = fn, .ctx = ctx };
	TracePacket *pkt;

	arena_reset(d, CHUNK_KEEP);
	walk_message(&walk, &trace_packet__descriptor, data, len, 0);
	if (walk.unusable)
		return -EBADMSG;
	pkt = trace_packet__unpack(&d->allocator, len, data);
	if (pkt) {
		*ret = pkt;
		return 0;
	}
	if (d->over_limit)
		return -E2BIG;
	/* A wrong wire type or a packed field that does not add up. */
	deviation(&walk, WIRE_BROKEN, &trace_packet__descriptor, 0);
	return -EBADMSG;
}
