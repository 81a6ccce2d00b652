/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi_reader.h - reads numbers one after the other and never beyond the end.
 *
 * Beyond the end everything is 0 and the reader is `bad` from there on, so that
 * a caller asks once, after a group of reads.
 */
#ifndef CFI_READER_H
#define CFI_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cfi_reader {
	const uint8_t *p, *end;
	bool bad;
};

static inline bool cfi_more(const struct cfi_reader *r)
{
	return r->p < r->end;
}

static inline void cfi_fail(struct cfi_reader *r)
{
	r->p = r->end;
	r->bad = true;
}

/* The next `n` bytes; the end, and bad, when there are fewer. */
static inline const uint8_t *cfi_skip(struct cfi_reader *r, uint64_t n)
{
	const uint8_t *p = r->p;

	if (n > (uint64_t)(r->end - r->p)) {
		cfi_fail(r);
		return r->end;
	}
	r->p += n;
	return p;
}

/* A number of 1, 2, 4 or 8 bytes in the byte order of this machine, both little. */
static inline uint64_t cfi_uint(struct cfi_reader *r, unsigned n)
{
	uint64_t v = 0;

	if (n > (uint64_t)(r->end - r->p)) {
		cfi_fail(r);
		return 0;
	}
	memcpy(&v, r->p, n);
	r->p += n;
	return v;
}

static inline int64_t cfi_int(struct cfi_reader *r, unsigned n)
{
	unsigned unused = 64 - 8 * n;

	return (int64_t)(cfi_uint(r, n) << unused) >> unused;
}

/* Bits above the 64th are dropped. */
static inline uint64_t cfi_uleb(struct cfi_reader *r)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (cfi_more(r)) {
		uint8_t byte = *r->p++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
		shift += shift < 64 ? 7 : 0;
	}
	r->bad = true;
	return 0;
}

static inline int64_t cfi_sleb(struct cfi_reader *r)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (cfi_more(r)) {
		uint8_t byte = *r->p++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
		if (byte & 0x80)
			continue;
		if (shift < 64 && (byte & 0x40))
			v |= ~0ull << shift;
		return (int64_t)v;
	}
	r->bad = true;
	return 0;
}

#endif
