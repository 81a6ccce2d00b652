/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_pack.h - fields of packets that are packed by hand: there are millions of these, and
 * protobuf-c looks twice at each of the fields that a packet could have. Each function writes at
 * `at`, where there must be room, and returns what is behind.
 */
#ifndef TRACE_PACK_H
#define TRACE_PACK_H

#include <stdint.h>
#include <string.h>

#include "wire.h"

/* A key has at most three bytes. */
#define PACK_NUMBER_MAX (3 + WIRE_VARINT_MAX)
#define PACK_FIXED_MAX	(3 + 8)
/* What is in front of a message or text. */
#define PACK_HEAD_MAX PACK_NUMBER_MAX

/* How many bytes it takes. */
static inline size_t pack_varint_len(uint64_t value)
{
	size_t n = 1;

	while (value >>= 7)
		n++;
	return n;
}

static inline uint8_t *pack_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline uint8_t *pack_key(uint8_t *at, unsigned field, enum wire_type type)
{
	return pack_varint(at, (uint64_t)field << 3 | type);
}

static inline uint8_t *pack_number(uint8_t *at, unsigned field, uint64_t value)
{
	return pack_varint(pack_key(at, field, WIRE_VARINT), value);
}

static inline uint8_t *pack_fixed(uint8_t *at, unsigned field, const void *value)
{
	at = pack_key(at, field, WIRE_FIXED64);
	memcpy(at, value, 8);
	return at + 8;
}

/* Of a message or text of `len` bytes. */
static inline uint8_t *pack_head(uint8_t *at, unsigned field, size_t len)
{
	return pack_varint(pack_key(at, field, WIRE_BYTES), len);
}

static inline uint8_t *pack_bytes(uint8_t *at, unsigned field, const void *bytes, size_t len)
{
	at = pack_head(at, field, len);
	memcpy(at, bytes, len);
	return at + len;
}

/*
 * What lies from `at` + `left` to `end` gets its length in front, at `at`, for which `left` bytes
 * were left. It is moved if that was not what it takes.
 */
static inline uint8_t *pack_length(uint8_t *at, size_t left, uint8_t *end)
{
	size_t len = (size_t)(end - at) - left, n = pack_varint_len(len);

	if (n != left)
		memmove(at + n, at + left, len);
	pack_varint(at, len);
	return at + n + len;
}

#endif
