/* SPDX-License-Identifier: Apache-2.0 */
/* python_lines.c - the source line of an instruction of CPython's. */
#include "python_lines.h"

#include <stdbool.h>

/* An entry begins with 0x80 | code << 3 | units - 1; only such bytes have the top bit. */
#define ENTRY_BIT   0x80
#define CODE(byte)  ((byte) >> 3 & 15)
#define UNITS(byte) (((byte)&7) + 1u)

enum entry_code {
	/* 0 to 9: on the same line */
	CODE_LINE_0 = 10,
	CODE_LINE_1 = 11,
	CODE_LINE_2 = 12,
	CODE_NO_COLUMNS = 13,
	CODE_LONG = 14,
	CODE_NONE = 15,
};

#define MAX_VARINT_BITS 32

struct cursor {
	const uint8_t *pos, *end;
};

/* Groups of six bits, the lowest first; bit 6 says that another follows. */
static bool read_varint(struct cursor *c, uint32_t *ret)
{
	unsigned shift = 0;

	*ret = 0;
	while (c->pos < c->end && shift < MAX_VARINT_BITS) {
		uint8_t byte = *c->pos++;

		if (byte & ENTRY_BIT)
			return false;
		*ret |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			return true;
		shift += 6;
	}
	return false;
}

/* The sign is the lowest bit. */
static bool read_signed(struct cursor *c, int64_t *ret)
{
	uint32_t value;

	if (!read_varint(c, &value))
		return false;
	*ret = value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
	return true;
}

int32_t python_line(const uint8_t *table, size_t len, int32_t first_line, uint32_t unit)
{
	struct cursor c = { table, table + len };
	int64_t line = first_line;
	uint64_t next = 0; /* the first unit after this entry */

	while (c.pos < c.end) {
		uint8_t head = *c.pos++;
		int64_t delta = 0;

		if (!(head & ENTRY_BIT))
			return 0;
		switch (CODE(head)) {
		case CODE_LINE_1:
			delta = 1;
			break;
		case CODE_LINE_2:
			delta = 2;
			break;
		case CODE_NO_COLUMNS:
		case CODE_LONG:
			if (!read_signed(&c, &delta))
				return 0;
			break;
		}
		line += delta;
		if (line < INT32_MIN || line > INT32_MAX)
			return 0;
		next += UNITS(head);
		if (unit < next)
			return CODE(head) == CODE_NONE || line < 0 ? 0 : (int32_t)line;
		/* Columns and the last line are of no interest. */
		while (c.pos < c.end && !(*c.pos & ENTRY_BIT))
			c.pos++;
	}
	return 0;
}
