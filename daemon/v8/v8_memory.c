/* SPDX-License-Identifier: Apache-2.0 */
/* v8_memory.c - objects and strings of V8's in the memory of a process. */
#include "v8_memory.h"

#include <string.h>

#define TAG_MASK 3
#define TAG	 1

/* Pieces of a string that are looked at, and how deep they may be nested. */
#define MAX_PIECES 256
#define MAX_DEPTH  32

/* Of an external string's type: where its characters are is not to be had without its methods. */
#define TYPE_UNCACHED 0x10

/* In V8 no string is longer than half of this. */
#define MAX_LENGTH (1u << 30)

static uint64_t at(uint64_t object, int16_t field)
{
	return object + (uint64_t)(int64_t)field;
}

static bool fail(const struct v8_memory *m)
{
	if (m->is_unsteady)
		*m->is_unsteady = true;
	return false;
}

bool v8_read(const struct v8_memory *m, uint64_t addr, void *dst, size_t len)
{
	return m->read(m->ctx, addr, dst, len) || fail(m);
}

bool v8_read_u64(const struct v8_memory *m, uint64_t addr, uint64_t *ret)
{
	return v8_read(m, addr, ret, sizeof(*ret));
}

uint64_t v8_pointer(const struct v8_memory *m, uint64_t object, int16_t field)
{
	uint64_t value;

	if (!v8_read_u64(m, at(object, field), &value) || (value & TAG_MASK) != TAG)
		return 0;
	return value;
}

int32_t v8_small(const struct v8_memory *m, uint64_t object, int16_t field)
{
	uint64_t value;

	if (!v8_read_u64(m, at(object, field), &value) || (uint32_t)value != 0 || value >> 63)
		return -1;
	return (int32_t)(value >> 32);
}

uint32_t v8_type(const struct v8_memory *m, uint64_t object)
{
	uint64_t map;
	uint16_t type;

	if (!object)
		return V8_NO_TYPE;
	map = v8_pointer(m, object, m->layout->map);
	if (!map) /* in its place is where the object has been moved to */
		(void)fail(m);
	if (!map || !v8_read(m, at(map, m->layout->map_type), &type, sizeof(type)))
		return V8_NO_TYPE;
	return type;
}

bool v8_is_string(const struct v8_memory *m, uint64_t object)
{
	return v8_type(m, object) < m->layout->type_not_string;
}

/* ---- strings ---- */

struct piece {
	uint64_t string;
	uint32_t from, n;
};

static bool length_of(const struct v8_memory *m, uint64_t string, uint32_t *ret)
{
	return v8_read(m, at(string, m->layout->string_length), ret, sizeof(*ret)) &&
	       *ret < MAX_LENGTH;
}

/*
 * What this part of a string is made of: 0, it is `ret_flat`'s; 1 or 2, parts of
 * others; -1, it makes no sense.
 */
static int parts_of(const struct v8_memory *m, const struct piece *p, struct piece ret[2],
		    struct v8_flat *ret_flat)
{
	const struct v8_layout *l = m->layout;
	uint32_t type = v8_type(m, p->string), length, first;
	uint16_t how;
	int32_t offset;

	if (type >= l->type_not_string || !length_of(m, p->string, &length) || p->from > length ||
	    p->n > length - p->from)
		return -1;
	how = type & l->representation_mask;
	if (how == l->sequential || how == l->external) {
		bool one_byte = (type & l->encoding_mask) == l->one_byte_tag;

		ret_flat->length = length;
		ret_flat->width = one_byte ? 1 : 2;
		ret_flat->chars = at(p->string, one_byte ? l->one_byte : l->two_byte);
		if (how == l->external &&
		    (type & TYPE_UNCACHED ||
		     !v8_read_u64(m, at(p->string, l->external_data), &ret_flat->chars)))
			return -1;
		return 0;
	}
	ret[0] = (struct piece){ 0, p->from, p->n };
	if (how == l->thin) {
		ret[0].string = v8_pointer(m, p->string, l->thin_actual);
		return 1;
	}
	if (how == l->sliced) {
		offset = v8_small(m, p->string, l->sliced_offset);
		ret[0].string = v8_pointer(m, p->string, l->sliced_parent);
		ret[0].from += (uint32_t)offset;
		return offset < 0 ? -1 : 1;
	}
	if (how != l->cons)
		return -1;
	ret[0].string = v8_pointer(m, p->string, l->cons_first);
	if (!ret[0].string || !length_of(m, ret[0].string, &first) || first > length)
		return -1;
	if (p->from >= first) {
		ret[0] = (struct piece){ v8_pointer(m, p->string, l->cons_second), p->from - first,
					 p->n };
		return 1;
	}
	if (p->n <= first - p->from)
		return 1;
	ret[0].n = first - p->from;
	ret[1] = (struct piece){ v8_pointer(m, p->string, l->cons_second), 0, p->n - ret[0].n };
	return 2;
}

bool v8_flat(const struct v8_memory *m, uint64_t string, struct v8_flat *ret)
{
	struct piece p = { string, 0, 0 }, parts[2];

	if (!v8_is_string(m, string) || !length_of(m, string, &p.n))
		return false;
	for (int i = 0; i < MAX_DEPTH; i++) {
		struct v8_flat flat;
		int n = parts_of(m, &p, parts, &flat);

		if (n == 0) {
			*ret = (struct v8_flat){ flat.chars + (uint64_t)p.from * flat.width, p.n,
						 flat.width };
			return true;
		}
		if (n != 1)
			return false;
		p = parts[0];
	}
	return false;
}

static size_t put_utf8(char *dst, uint16_t ch)
{
	if (ch == 0 || (ch >= 0xd800 && ch < 0xe000))
		ch = 0xfffd;
	if (ch < 0x80) {
		dst[0] = (char)ch;
		return 1;
	}
	if (ch < 0x800) {
		dst[0] = (char)(0xc0 | ch >> 6);
		dst[1] = (char)(0x80 | (ch & 63));
		return 2;
	}
	dst[0] = (char)(0xe0 | ch >> 12);
	dst[1] = (char)(0x80 | (ch >> 6 & 63));
	dst[2] = (char)(0x80 | (ch & 63));
	return 3;
}

/* Part of a string in one piece, of at most V8_MAX_STRING characters. Bytes, or -1. */
static int copy_flat(const struct v8_memory *m, const struct v8_flat *flat, const struct piece *p,
		     char *dst)
{
	uint16_t wide[V8_MAX_STRING];
	const uint8_t *narrow = (const uint8_t *)wide;
	size_t n = 0;

	if (p->n > V8_MAX_STRING || !v8_read(m, flat->chars + (uint64_t)p->from * flat->width, wide,
					     (size_t)p->n * flat->width))
		return -1;
	for (uint32_t i = 0; i < p->n; i++)
		n += put_utf8(dst + n, flat->width == 1 ? narrow[i] : wide[i]);
	return (int)n;
}

int v8_string(const struct v8_memory *m, uint64_t string, bool tail, uint32_t max, char *dst)
{
	struct piece stack[MAX_DEPTH + 2] = { { string, 0, 0 } };
	size_t depth = 1, len = 0;
	uint32_t length;

	if (max > V8_MAX_STRING || !v8_is_string(m, string) || !length_of(m, string, &length))
		return -1;
	stack[0].n = length < max ? length : max;
	stack[0].from = tail ? length - stack[0].n : 0;
	for (int i = 0; i < MAX_PIECES && depth > 0; i++) {
		struct piece p = stack[--depth], parts[2];
		struct v8_flat flat;
		int n = parts_of(m, &p, parts, &flat);

		if (n < 0 || depth + (size_t)n > MAX_DEPTH)
			return -1;
		while (n > 1)
			stack[depth++] = parts[--n];
		if (n == 1) {
			stack[depth++] = parts[0];
			continue;
		}
		n = copy_flat(m, &flat, &p, dst + len);
		if (n < 0)
			return -1;
		len += (size_t)n;
	}
	dst[len] = '\0';
	return depth == 0 ? (int)len : -1;
}
