/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c - a .perfetto-trace as a sequence of packets. */
#include "trace_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "buf.h"
#include "wire.h"

#define PACKET_TAG 0x0a /* field 1 of Trace, length-delimited */
#define HEAD_MAX   (1 + WIRE_VARINT_MAX)

/* No writer makes longer ones; a length beyond it is garbage that looks like one. */
#define MAX_PACKET (64u << 20)
#define READ_BYTES (256u << 10)

#define FIELD_COMPRESSED      50
#define FIELD_ZSTD_COMPRESSED 133

struct trace_file {
	int fd; /* -1: memory */
	bool eof, ended;

	struct buf in;	     /* what was read of `fd` */
	const uint8_t *data; /* the bytes at hand: in.data or the caller's */
	size_t len, pos;     /* of them, and how many are consumed */
	uint64_t offset;     /* in the file, of data[pos] */

	struct buf block;     /* inflated; wire.pos walks through it */
	struct wire in_block; /* what is left of it */
	uint64_t block_offset;
	size_t max_block;
	z_stream inflate;
	bool inflate_ready;

	enum trace_fault fault;
	const char *fault_text;
	uint64_t fault_offset;
	struct trace_file_stats stats;
};

static int new_reader(struct trace_file **ret)
{
	struct trace_file *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = -1;
	f->max_block = TRACE_FILE_MAX_BLOCK;
	if (inflateInit2(&f->inflate, 15 + 32) != Z_OK) { /* zlib or gzip, by its head */
		trace_file_free(f);
		return -ENOMEM;
	}
	f->inflate_ready = true;
	*ret = f;
	return 0;
}

int trace_file_open(int fd, struct trace_file **ret)
{
	int r = new_reader(ret);

	if (r == 0)
		(*ret)->fd = fd;
	return r;
}

int trace_file_open_memory(const void *data, size_t len, struct trace_file **ret)
{
	int r = new_reader(ret);

	if (r < 0)
		return r;
	(*ret)->data = data;
	(*ret)->len = len;
	(*ret)->stats.n_bytes = len;
	(*ret)->eof = true;
	return 0;
}

void trace_file_free(struct trace_file *f)
{
	if (!f)
		return;
	if (f->inflate_ready)
		inflateEnd(&f->inflate);
	buf_done(&f->in);
	buf_done(&f->block);
	free(f);
}

void trace_file_limit_block(struct trace_file *f, size_t max_bytes)
{
	if (max_bytes < TRACE_FILE_MAX_BLOCK)
		f->max_block = max_bytes;
}

enum trace_fault trace_file_fault(const struct trace_file *f, const char **ret_text,
				  uint64_t *ret_offset)
{
	*ret_text = f->fault_text;
	*ret_offset = f->fault_offset;
	return f->fault;
}

void trace_file_stats(const struct trace_file *f, struct trace_file_stats *ret)
{
	*ret = f->stats;
}

static int fault(struct trace_file *f, enum trace_fault what, uint64_t offset, const char *text)
{
	f->fault = what;
	f->fault_offset = offset;
	f->fault_text = text;
	return -EBADMSG;
}

static int garbage(struct trace_file *f, uint64_t offset, const char *text)
{
	f->ended = true;
	return fault(f, TRACE_FAULT_GARBAGE, offset, text);
}

/* ---- bytes ---- */

static size_t available(const struct trace_file *f)
{
	return f->len - f->pos;
}

static void consume(struct trace_file *f, size_t n)
{
	f->pos += n;
	f->offset += n;
}

/* Reads until `n` bytes are at hand or the file ends. */
static int fill(struct trace_file *f, size_t n)
{
	while (available(f) < n && !f->eof) {
		ssize_t got;

		if (f->pos > 0) {
			f->in.len -= f->pos;
			memmove(f->in.data, f->in.data + f->pos, f->in.len);
			f->pos = 0;
		}
		if (buf_reserve(&f->in, READ_BYTES) < 0)
			return -ENOMEM;
		got = read(f->fd, f->in.data + f->in.len, f->in.cap - f->in.len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		f->eof = got == 0;
		f->in.len += (size_t)got;
		f->stats.n_bytes += (size_t)got;
		f->data = f->in.data;
		f->len = f->in.len;
	}
	return 0;
}

/* ---- packets as they lie in the file ---- */

/* A file that was given its size in advance ends with zeros. */
static int zeros_to_the_end(struct trace_file *f)
{
	for (;;) {
		int r = fill(f, 1);

		if (r < 0)
			return r;
		if (available(f) == 0)
			break;
		if (f->data[f->pos] != 0)
			return garbage(f, f->offset, "bytes that are no packet, behind zeros");
		f->stats.n_zeros++;
		consume(f, 1);
	}
	f->ended = true;
	return 0;
}

static int cut_here(struct trace_file *f)
{
	f->stats.cut = true;
	f->stats.cut_offset = f->offset;
	f->ended = true;
	return 0;
}

/* Like trace_file_next(), with blocks as they are. */
static int next_in_file(struct trace_file *f, struct trace_packet_bytes *ret)
{
	struct wire w;
	uint64_t len;
	size_t head;
	int r;

	r = fill(f, HEAD_MAX);
	if (r < 0)
		return r;
	if (available(f) == 0) {
		f->ended = true;
		return 0;
	}
	if (f->data[f->pos] == 0)
		return zeros_to_the_end(f);
	if (f->data[f->pos] != PACKET_TAG)
		return garbage(f, f->offset, "bytes that are no packet");

	wire_init(&w, f->data + f->pos + 1, available(f) - 1);
	r = wire_varint(&w, &len);
	if (r == -ENODATA)
		return cut_here(f);
	if (r < 0 || len > MAX_PACKET)
		return garbage(f, f->offset, "a packet of impossible length");
	head = (size_t)(w.pos - (f->data + f->pos));
	r = fill(f, head + len);
	if (r < 0)
		return r;
	if (available(f) < head + len)
		return cut_here(f);

	*ret = (struct trace_packet_bytes){
		.data = f->data + f->pos + head,
		.len = len,
		.offset = f->offset,
	};
	consume(f, head + len);
	return 1;
}

/* ---- blocks ---- */

static int inflate_block(struct trace_file *f, const struct wire_field *z, uint64_t offset)
{
	z_stream *s = &f->inflate;
	int zr = Z_OK;

	f->block.len = 0;
	inflateReset(s);
	s->next_in = (Bytef *)z->data;
	s->avail_in = (uInt)z->len;
	while (zr == Z_OK && f->block.len <= f->max_block) {
		size_t room;

		if (buf_reserve(&f->block, 2 * z->len + 64) < 0)
			return -ENOMEM;
		room = f->block.cap - f->block.len;
		s->next_out = f->block.data + f->block.len;
		s->avail_out = (uInt)room;
		zr = inflate(s, Z_NO_FLUSH);
		f->block.len += room - s->avail_out;
		if (zr == Z_OK && s->avail_in == 0 && s->avail_out > 0)
			break; /* it wants more than there is */
	}
	if (zr == Z_MEM_ERROR)
		return -ENOMEM;
	if (f->block.len > f->max_block)
		return fault(f, TRACE_FAULT_TOO_BIG, offset, "a block inflates beyond any bound");
	if (zr != Z_STREAM_END)
		return fault(f, TRACE_FAULT_BLOCK, offset, "a block is no whole zlib stream");
	if (s->avail_in > 0)
		return fault(f, TRACE_FAULT_BLOCK, offset,
			     "bytes behind the zlib stream of a block");
	f->stats.n_inflated += f->block.len;
	return 0;
}

static bool is_block(const struct wire_field *field)
{
	return field->type == WIRE_BYTES &&
	       (field->number == FIELD_COMPRESSED || field->number == FIELD_ZSTD_COMPRESSED);
}

/*
 * Is the packet a block? Then `*ret_block` is its field and `*ret_n` the number
 * of fields, which should be one.
 */
static int find_block(const struct trace_packet_bytes *pkt, struct wire_field *ret_block,
		      size_t *ret_n)
{
	struct wire_field field;
	bool found = false;
	struct wire w;
	int r;

	*ret_n = 0;
	wire_init(&w, pkt->data, pkt->len);
	while ((r = wire_next(&w, &field)) > 0) {
		++*ret_n;
		if (!is_block(&field))
			continue;
		*ret_block = field;
		found = true;
	}
	return r < 0 ? r : found;
}

static int open_block(struct trace_file *f, const struct wire_field *block, size_t n_fields,
		      uint64_t offset)
{
	int r;

	if (block->number == FIELD_ZSTD_COMPRESSED) {
		f->stats.n_zstd_blocks++;
		return fault(f, TRACE_FAULT_ZSTD, offset, "a block compressed with zstd");
	}
	f->stats.n_blocks++;
	r = inflate_block(f, block, offset);
	if (r < 0)
		return r;
	wire_init(&f->in_block, f->block.data, f->block.len);
	f->block_offset = offset;
	if (n_fields > 1)
		return fault(f, TRACE_FAULT_WRAPPER, offset,
			     "a block's packet has other fields as well");
	return 0;
}

static void leave_block(struct trace_file *f)
{
	f->in_block.pos = f->in_block.end;
}

static int next_in_block(struct trace_file *f, struct trace_packet_bytes *ret)
{
	struct wire_field field;
	int r = wire_next(&f->in_block, &field);

	if (r < 0 || field.number != 1 || field.type != WIRE_BYTES) {
		leave_block(f);
		return fault(f, TRACE_FAULT_BLOCK, f->block_offset,
			     "a block's content is not whole packets");
	}
	*ret = (struct trace_packet_bytes){
		.data = field.data,
		.len = field.len,
		.offset = f->block_offset,
		.in_block = (size_t)(field.data - f->block.data),
	};
	return 1;
}

int trace_file_next(struct trace_file *f, struct trace_packet_bytes *ret)
{
	struct trace_packet_bytes pkt;
	struct wire_field block;
	bool inside;
	size_t n;
	int r;

	for (;;) {
		inside = !wire_at_end(&f->in_block);
		if (!inside && f->ended)
			return 0;
		r = inside ? next_in_block(f, &pkt) : next_in_file(f, &pkt);
		if (r < 0)
			return r;
		if (r == 0)
			continue; /* the end, and `ended` says so */
		if (pkt.len == 0)
			continue;
		r = find_block(&pkt, &block, &n);
		if (r < 0)
			return fault(f, TRACE_FAULT_PACKET, pkt.offset,
				     "a packet's fields do not parse");
		if (r > 0 && inside)
			return fault(f, TRACE_FAULT_NESTED, pkt.offset,
				     "a compressed block inside a compressed block");
		if (r == 0)
			break;
		r = open_block(f, &block, n, pkt.offset);
		if (r < 0)
			return r;
	}
	f->stats.n_packets++;
	*ret = pkt;
	return 1;
}
