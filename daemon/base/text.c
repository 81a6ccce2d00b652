/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - strings from elsewhere: make them printable, parse numbers out of them. */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Length of the well-formed character at `p` (RFC 3629: no surrogates, nothing
 * overlong), or 0. `*ret` is its code point.
 */
static size_t utf8_char(const uint8_t *p, size_t len, uint32_t *ret)
{
	static const uint32_t min[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;
	size_t n;

	if (p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		n = 2;
		c = p[0] & 0x1f;
	} else if ((p[0] & 0xf0) == 0xe0) {
		n = 3;
		c = p[0] & 0x0f;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		n = 4;
		c = p[0] & 0x07;
	} else {
		return 0;
	}
	if (n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < min[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

/* Cc, and the characters that turn the direction of what follows. */
static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

static size_t copy(char *dst, size_t dst_size, const void *src, size_t len, bool escape)
{
	const uint8_t *p = src;
	size_t out = 0;

	if (dst_size == 0)
		return 0;
	while (len > 0) {
		char esc[16];
		const char *piece = (const char *)p;
		uint32_t c = 0;
		size_t n = utf8_char(p, len, &c), n_out = n;

		if (n == 0) {
			n = 1;
			piece = "\xef\xbf\xbd";
			n_out = 3;
		} else if (escape && is_control(c)) {
			n_out = (size_t)snprintf(esc, sizeof(esc),
						 c < 0x100 ? "\\x%02x" : "\\u%04x", c);
			piece = esc;
		} else if (c == 0) {
			break; /* a NUL would end the string for every reader */
		}
		if (out + n_out >= dst_size)
			break;
		memcpy(dst + out, piece, n_out);
		out += n_out;
		p += n;
		len -= n;
	}
	dst[out] = '\0';
	return out;
}

size_t text_utf8(char *dst, size_t dst_size, const void *src, size_t len)
{
	return copy(dst, dst_size, src, len, false);
}

size_t text_printable(char *dst, size_t dst_size, const void *src, size_t len)
{
	return copy(dst, dst_size, src, len, true);
}

bool text_is_utf8(const void *src, size_t len)
{
	const uint8_t *p = src;
	uint32_t c;

	while (len > 0) {
		size_t n = *p - 1u < 0x7f ? 1 : utf8_char(p, len, &c);

		if (n == 0 || *p == '\0')
			return false;
		p += n;
		len -= n;
	}
	return true;
}

/* Digits at the start of `s`; `*end` is what follows them. */
static int leading_u64(const char *s, uint64_t *ret, const char **end)
{
	char *e;

	if (!isdigit((unsigned char)s[0]))
		return -EINVAL;
	errno = 0;
	*ret = strtoull(s, &e, 10);
	if (errno)
		return -ERANGE;
	*end = e;
	return 0;
}

int text_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *end;
	uint64_t v;
	int r = leading_u64(s, &v, &end);

	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	if (v < min || v > max)
		return -ERANGE;
	*ret = v;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static int with_unit(const char *s, const struct unit *units, uint64_t max, uint64_t *ret)
{
	const char *end;
	uint64_t v;
	int r = leading_u64(s, &v, &end);

	if (r < 0)
		return r;
	for (; units->name; units++) {
		if (strcmp(end, units->name) != 0)
			continue;
		if (v > max / units->factor)
			return -ERANGE;
		*ret = v * units->factor;
		return 0;
	}
	return -EINVAL;
}

int text_duration_ns(const char *s, uint64_t max_ns, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1000000000ull },	   { "s", 1000000000ull },
		{ "ms", 1000000ull },	   { "us", 1000ull },
		{ "m", 60000000000ull },   { "min", 60000000000ull },
		{ "h", 3600000000000ull }, { NULL, 0 },
	};

	return with_unit(s, units, max_ns, ret);
}

int text_bytes(const char *s, uint64_t max, uint64_t *ret)
{
	static const struct unit units[] = {
		{ "", 1 },	     { "K", 1ull << 10 }, { "M", 1ull << 20 },
		{ "G", 1ull << 30 }, { NULL, 0 },
	};

	return with_unit(s, units, max, ret);
}

int text_cpu_list(const char *s, bool *set, size_t max)
{
	int count = 0;

	while (*s && *s != '\n') {
		uint64_t first, last;
		int r = leading_u64(s, &first, &s);

		if (r < 0)
			return r;
		last = first;
		if (*s == '-') {
			r = leading_u64(s + 1, &last, &s);
			if (r < 0)
				return r;
		}
		if (last < first || last >= max)
			return -ERANGE;
		for (uint64_t i = first; i <= last; i++) {
			count += !set[i];
			set[i] = true;
		}
		if (*s == ',')
			s++;
		else if (*s && *s != '\n')
			return -EINVAL;
	}
	return count;
}
