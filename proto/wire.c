/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - protobuf as it lies in memory: field by field, nothing copied. */
#include "wire.h"

#include <errno.h>
#include <string.h>

#define MAX_FIELD_NUMBER ((1u << 29) - 1)

void wire_init(struct wire *w, const void *data, size_t len)
{
	w->pos = data;
	w->end = len ? w->pos + len : w->pos;
}

bool wire_at_end(const struct wire *w)
{
	return w->pos == w->end;
}

int wire_varint(struct wire *w, uint64_t *ret)
{
	const uint8_t *p = w->pos;
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (p == w->end)
			return -ENODATA;
		byte = *p++;
		if (shift == 63 && byte > 1)
			return -EBADMSG;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			w->pos = p;
			*ret = v;
			return 0;
		}
	}
	return -EBADMSG;
}

static int fixed(struct wire *w, size_t n, uint64_t *ret)
{
	if ((size_t)(w->end - w->pos) < n)
		return -EBADMSG;
	*ret = 0;
	for (size_t i = 0; i < n; i++)
		*ret |= (uint64_t)w->pos[i] << 8 * i;
	w->pos += n;
	return 0;
}

static int bytes(struct wire *w, struct wire_field *f)
{
	uint64_t len;

	if (wire_varint(w, &len) < 0 || len > (size_t)(w->end - w->pos))
		return -EBADMSG;
	f->data = w->pos;
	f->len = (size_t)len;
	w->pos += len;
	return 0;
}

int wire_next(struct wire *w, struct wire_field *ret)
{
	struct wire_field f = { 0 };
	uint64_t tag;
	int r;

	if (wire_at_end(w))
		return 0;
	if (wire_varint(w, &tag) < 0)
		return -EBADMSG;
	if (tag >> 3 == 0 || tag >> 3 > MAX_FIELD_NUMBER)
		return -EBADMSG;
	f.number = (uint32_t)(tag >> 3);
	f.type = (enum wire_type)(tag & 7);

	switch (f.type) {
	case WIRE_VARINT:
		r = wire_varint(w, &f.value) < 0 ? -EBADMSG : 0;
		break;
	case WIRE_FIXED64:
		r = fixed(w, 8, &f.value);
		break;
	case WIRE_FIXED32:
		r = fixed(w, 4, &f.value);
		break;
	case WIRE_BYTES:
		r = bytes(w, &f);
		break;
	default:
		r = -EBADMSG;
	}
	if (r < 0)
		return r;
	*ret = f;
	return 1;
}

size_t wire_put_varint(uint8_t *dst, uint64_t value)
{
	size_t n = 0;

	do {
		if (dst)
			dst[n] = (uint8_t)(value | (value >= 0x80 ? 0x80 : 0));
		value >>= 7;
		n++;
	} while (value);
	return n;
}
