/* SPDX-License-Identifier: Apache-2.0 */
/* flight_block.c - pieces of a trace, opened and closed again. */
#include "flight_block.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#define FIELD_TRACE_PACKET	 1
#define FIELD_COMPRESSED_PACKETS 50

/* As the writer of the pieces. */
#define DEFLATE_LEVEL 2

/* Of one block; a writer's have 256 KiB at most but for one packet. */
#define MAX_INFLATED (64u << 20)
#define CHUNK	     (256u << 10)

static int compressed_of(const void *data, size_t len, struct wire_field *ret)
{
	struct wire w;

	wire_init(&w, data, len);
	if (wire_next(&w, ret) != 1 || ret->number != FIELD_TRACE_PACKET ||
	    ret->type != WIRE_BYTES || !wire_at_end(&w))
		return -EBADMSG;
	wire_init(&w, ret->data, ret->len);
	if (wire_next(&w, ret) != 1 || ret->number != FIELD_COMPRESSED_PACKETS ||
	    ret->type != WIRE_BYTES)
		return -EBADMSG;
	return 0;
}

static int inflate_all(z_stream *z, struct buf *ret)
{
	int status = Z_OK;

	while (status == Z_OK) {
		int r = ret->len > MAX_INFLATED ? -EBADMSG : buf_reserve(ret, CHUNK);

		if (r < 0)
			return r;
		z->next_out = ret->data + ret->len;
		z->avail_out = (uInt)(ret->cap - ret->len);
		status = inflate(z, Z_NO_FLUSH);
		ret->len = (size_t)(z->next_out - ret->data);
	}
	return status == Z_STREAM_END ? 0 : -EBADMSG;
}

int flight_block_inflate(const void *data, size_t len, struct buf *ret)
{
	struct wire_field f;
	z_stream z = { 0 };
	int r = compressed_of(data, len, &f);

	ret->len = 0;
	if (r < 0)
		return r;
	z.next_in = (Bytef *)f.data;
	z.avail_in = (uInt)f.len;
	if (inflateInit(&z) != Z_OK)
		return -ENOMEM;
	r = inflate_all(&z, ret);
	inflateEnd(&z);
	return r;
}

int flight_put_number(struct buf *b, unsigned field, uint64_t value)
{
	int r = buf_reserve(b, 2 * WIRE_VARINT_MAX);

	if (r < 0)
		return r;
	b->len += wire_put_varint(b->data + b->len, (uint64_t)field << 3);
	b->len += wire_put_varint(b->data + b->len, value);
	return 0;
}

int flight_put_bytes(struct buf *b, unsigned field, const void *data, size_t len)
{
	int r = buf_reserve(b, 2 * WIRE_VARINT_MAX + len);

	if (r < 0)
		return r;
	b->len += wire_put_varint(b->data + b->len, (uint64_t)field << 3 | WIRE_BYTES);
	b->len += wire_put_varint(b->data + b->len, len);
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

int flight_block_deflate(const struct buf *packets, struct buf *ret)
{
	uLongf len = compressBound((uLong)packets->len);
	struct buf packed = { 0 }, packet = { 0 };
	int r = buf_reserve(&packed, len);

	ret->len = 0;
	if (r == 0 &&
	    compress2(packed.data, &len, packets->data, (uLong)packets->len, DEFLATE_LEVEL) != Z_OK)
		r = -EIO;
	if (r == 0)
		r = flight_put_bytes(&packet, FIELD_COMPRESSED_PACKETS, packed.data, len);
	if (r == 0)
		r = flight_put_bytes(ret, FIELD_TRACE_PACKET, packet.data, packet.len);
	buf_done(&packed);
	buf_done(&packet);
	return r;
}

int flight_block_next(struct wire *w, struct wire_field *ret)
{
	int r = wire_next(w, ret);

	if (r == 1 && (ret->number != FIELD_TRACE_PACKET || ret->type != WIRE_BYTES))
		return -EBADMSG;
	return r;
}
