/* SPDX-License-Identifier: Apache-2.0 */
/* trace_packets.c - the packets of a good_trace: their memory, their order, their file. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "good_trace.h"
#include "wire.h"

#define MAX_PACKETS 2048

struct piece {
	struct piece *next;
	_Alignas(16) unsigned char data[];
};

struct entry {
	TracePacket *pkt;
	const void *tail;
	size_t tail_len;
};

struct good_trace_packets {
	struct piece *memory;
	struct entry list[MAX_PACKETS];
	size_t n;
};

void *good_trace_alloc(struct good_trace *t, size_t size)
{
	struct piece *p = calloc(1, sizeof(*p) + size);

	ck_assert_ptr_nonnull(p);
	p->next = t->packets->memory;
	t->packets->memory = p;
	return p->data;
}

void good_trace_start(struct good_trace *t)
{
	t->packets = calloc(1, sizeof(*t->packets));
	ck_assert_ptr_nonnull(t->packets);
}

void good_trace_done(struct good_trace *t)
{
	struct piece *p = t->packets->memory, *next;

	for (; p; p = next) {
		next = p->next;
		free(p);
	}
	free(t->packets);
}

/* ---- the list ---- */

static size_t index_of(const struct good_trace *t, const TracePacket *pkt)
{
	size_t i = 0;

	while (i < t->packets->n && t->packets->list[i].pkt != pkt)
		i++;
	return i;
}

void good_trace_insert(struct good_trace *t, TracePacket *pkt, const TracePacket *before)
{
	struct good_trace_packets *p = t->packets;
	size_t i = before ? index_of(t, before) : p->n;

	ck_assert_uint_lt(p->n, MAX_PACKETS);
	memmove(&p->list[i + 1], &p->list[i], (p->n - i) * sizeof(p->list[0]));
	p->list[i] = (struct entry){ .pkt = pkt };
	p->n++;
}

void good_trace_remove(struct good_trace *t, const TracePacket *pkt)
{
	struct good_trace_packets *p = t->packets;
	size_t i = index_of(t, pkt);

	ck_assert_uint_lt(i, p->n);
	p->n--;
	memmove(&p->list[i], &p->list[i + 1], (p->n - i) * sizeof(p->list[0]));
}

void good_trace_move(struct good_trace *t, TracePacket *pkt, const TracePacket *before)
{
	good_trace_remove(t, pkt);
	good_trace_insert(t, pkt, before);
}

void good_trace_append(struct good_trace *t, const TracePacket *pkt, const struct buf *bytes)
{
	struct entry *e = &t->packets->list[index_of(t, pkt)];

	e->tail = memcpy(good_trace_alloc(t, bytes->len), bytes->data, bytes->len);
	e->tail_len = bytes->len;
}

bool good_trace_has_sequence(const struct good_trace *t, uint32_t seq)
{
	for (size_t i = 0; i < t->packets->n; i++)
		if (t->packets->list[i].pkt->trusted_packet_sequence_id == seq)
			return true;
	return false;
}

/* protobuf-c's memory, taken from the trace's. */
static void *unpack_alloc(void *ctx, size_t size)
{
	return good_trace_alloc(ctx, size);
}

static void unpack_free(void *ctx, void *p)
{
	(void)ctx;
	(void)p;
}

TracePacket *good_trace_copy(struct good_trace *t, const TracePacket *pkt)
{
	ProtobufCAllocator allocator = { unpack_alloc, unpack_free, t };
	size_t len = trace_packet__get_packed_size(pkt);
	uint8_t *data = good_trace_alloc(t, len);

	trace_packet__pack(pkt, data);
	return trace_packet__unpack(&allocator, len, data);
}

/* ---- the file ---- */

static void put_varint(struct buf *out, uint64_t value)
{
	ck_assert_int_eq(buf_reserve(out, WIRE_VARINT_MAX), 0);
	out->len += wire_put_varint(out->data + out->len, value);
}

void put_int(struct buf *out, unsigned field, uint64_t value)
{
	put_varint(out, (uint64_t)field << 3 | WIRE_VARINT);
	put_varint(out, value);
}

void put_bytes(struct buf *out, unsigned field, const void *data, size_t len)
{
	put_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
	put_varint(out, len);
	ck_assert_int_eq(buf_append(out, data, len), 0);
}

void put_packet(struct buf *out, const void *data, size_t len)
{
	put_bytes(out, 1, data, len);
}

void put_block(struct buf *out, const struct buf *packets)
{
	uLongf len = compressBound(packets->len);
	struct buf pkt = { 0 };
	uint8_t *z = malloc(len);

	ck_assert_ptr_nonnull(z);
	ck_assert_int_eq(compress(z, &len, packets->data, packets->len), Z_OK);
	put_bytes(&pkt, 50, z, len);
	put_packet(out, pkt.data, pkt.len);
	buf_done(&pkt);
	free(z);
}

static void put_entry(struct buf *out, const struct entry *e)
{
	struct buf data = { 0 };

	ck_assert_int_eq(buf_reserve(&data, trace_packet__get_packed_size(e->pkt)), 0);
	data.len = trace_packet__pack(e->pkt, data.data);
	ck_assert_int_eq(buf_append(&data, e->tail, e->tail_len), 0);
	put_packet(out, data.data, data.len);
	buf_done(&data);
}

void good_trace_write(const struct good_trace *t, struct buf *out, size_t n_per_block)
{
	struct buf block = { 0 };

	for (size_t i = 0; i < t->packets->n; i++) {
		put_entry(n_per_block ? &block : out, &t->packets->list[i]);
		if (n_per_block && ((i + 1) % n_per_block == 0 || i + 1 == t->packets->n)) {
			put_block(out, &block);
			block.len = 0;
		}
	}
	buf_done(&block);
}

struct trace_check *check_of(const void *data, size_t len)
{
	struct trace_check *c;
	struct trace_file *f;

	ck_assert_int_eq(trace_check_new(&c), 0);
	ck_assert_int_eq(trace_file_open_memory(data, len, &f), 0);
	ck_assert_int_eq(trace_check_file(c, f), 0);
	trace_file_free(f);
	return c;
}

struct trace_check *check_of_trace(const struct good_trace *t)
{
	struct buf file = { 0 };
	struct trace_check *c;

	good_trace_write(t, &file, 8);
	c = check_of(file.data, file.len);
	buf_done(&file);
	return c;
}

uint64_t found(const struct trace_check *c, enum check_kind kind)
{
	return trace_check_finding(c, kind)->count;
}

void assert_only(const struct trace_check *c, enum check_kind kind)
{
	for (enum check_kind k = 0; k < N_CHECK_KINDS; k++) {
		const struct check_finding *f = trace_check_finding(c, k);

		if (k == kind)
			ck_assert_msg(f->count > 0, "%s is not found", check_kinds[k].name);
		else
			ck_assert_msg(f->count == 0, "found %s: %s", check_kinds[k].name,
				      f->n_examples ? f->examples[0].text : "");
	}
}

void assert_found(const struct good_trace *t, enum check_kind kind)
{
	struct trace_check *c = check_of_trace(t);

	assert_only(c, kind);
	trace_check_free(c);
}
