/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - protobuf as it lies in memory: field by field, nothing copied.
 *
 * For what generated code does not show (was a repeated field packed?) and for
 * bytes that nobody has checked yet. Knows no message types.
 */
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types 3 and 4, the groups of old, are not accepted. */
enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire {
	const uint8_t *pos, *end;
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;	     /* of VARINT, FIXED64 and FIXED32 */
	const uint8_t *data; /* of BYTES; points into the message */
	size_t len;
};

void wire_init(struct wire *w, const void *data, size_t len);
bool wire_at_end(const struct wire *w);

/* 1 and the next field, 0 at the end, or -EBADMSG: what follows is no field that fits. */
int wire_next(struct wire *w, struct wire_field *ret);

/*
 * One varint, as in a packed field. -EBADMSG: longer than 64 bits; -ENODATA:
 * ends before its last byte. `w` stays in front of it then.
 */
int wire_varint(struct wire *w, uint64_t *ret);

/* Writes `value` at `dst` and returns its length, or only counts when `dst` is NULL. */
#define WIRE_VARINT_MAX 10
size_t wire_put_varint(uint8_t *dst, uint64_t value);

#endif
