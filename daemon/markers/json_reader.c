/* SPDX-License-Identifier: Apache-2.0 */
/* json_reader.c - the tokens of JSON, strictly. */
#include "json_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64 /* bytes of one */

/* ---- tokens ---- */

void json_skip_blanks(struct json_reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

bool json_take(struct json_reader *r, char c)
{
	json_skip_blanks(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool take_word(struct json_reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

/* ---- strings ---- */

static void put(struct json_value *v, const char *bytes, size_t len)
{
	if (v->is_cut || len > v->max - v->len) {
		v->is_cut = true;
		return;
	}
	memcpy(v->text + v->len, bytes, len);
	v->len += len;
}

static void put_rune(struct json_value *v, uint32_t c)
{
	char utf8[4];
	size_t n = 0;

	if (c < 0x80) {
		utf8[n++] = (char)c;
	} else if (c < 0x800) {
		utf8[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		utf8[n++] = (char)(0xe0 | c >> 12);
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		utf8[n++] = (char)(0xf0 | c >> 18);
		utf8[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	if (c >= 0x80)
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	put(v, utf8, n);
}

/* Four digits; -EINVAL. */
static int hex4(struct json_reader *r)
{
	int c = 0;

	if (r->end - r->at < 4)
		return -EINVAL;
	for (int i = 0; i < 4; i++, r->at++) {
		int digit = *r->at;

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f')
			digit = (digit | 0x20) - 'a' + 10;
		else
			return -EINVAL;
		c = c << 4 | digit;
	}
	return c;
}

/* Behind "\u". Text with a NUL in it is none. */
static int read_rune(struct json_reader *r, struct json_value *v)
{
	int c = hex4(r), low;

	if (c <= 0 || (c >= 0xdc00 && c < 0xe000))
		return -EINVAL;
	if (c >= 0xd800 && c < 0xdc00) {
		if (!take_word(r, "\\u"))
			return -EINVAL;
		low = hex4(r);
		if (low < 0xdc00 || low >= 0xe000)
			return -EINVAL;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	put_rune(v, (uint32_t)c);
	return 0;
}

static int read_escape(struct json_reader *r, struct json_value *v)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known;
	char c;

	if (r->at == r->end)
		return -EINVAL;
	c = *r->at++;
	if (c == 'u')
		return read_rune(r, v);
	known = c ? strchr(from, c) : NULL;
	if (!known)
		return -EINVAL;
	put(v, &to[known - from], 1);
	return 0;
}

/* Whole characters, which the datagram has been checked for. */
static size_t character_len(const struct json_reader *r)
{
	size_t n = 1;

	while (n < (size_t)(r->end - r->at) && ((unsigned char)r->at[n] & 0xc0) == 0x80)
		n++;
	return n;
}

int json_read_string(struct json_reader *r, struct json_value *v)
{
	v->type = JSON_STR;
	v->len = 0;
	v->is_cut = false;
	if (!json_take(r, '"'))
		return -EINVAL;
	while (r->at < r->end && *r->at != '"') {
		size_t n = character_len(r);

		if ((unsigned char)*r->at < ' ')
			return -EINVAL;
		if (*r->at == '\\') {
			r->at++;
			if (read_escape(r, v) < 0)
				return -EINVAL;
			continue;
		}
		put(v, r->at, n);
		r->at += n;
	}
	if (r->at == r->end)
		return -EINVAL;
	r->at++;
	return 0;
}

/* ---- other values ---- */

static size_t digits(const char *s)
{
	size_t n = 0;

	while (s[n] >= '0' && s[n] <= '9')
		n++;
	return n;
}

/* The length of what is a number of JSON; 0: it is none. */
static size_t number_len(const char *s, bool *ret_whole)
{
	size_t at = s[0] == '-', n = digits(s + at);

	if (n == 0 || (s[at] == '0' && n > 1))
		return 0;
	at += n;
	*ret_whole = true;
	if (s[at] == '.') {
		n = digits(s + at + 1);
		*ret_whole = false;
		at += 1 + n;
	}
	if (n > 0 && (s[at] == 'e' || s[at] == 'E')) {
		at += 1 + (s[at + 1] == '-' || s[at + 1] == '+');
		n = digits(s + at);
		*ret_whole = false;
		at += n;
	}
	return n > 0 ? at : 0;
}

static int read_number(struct json_reader *r, struct json_value *v)
{
	char text[NUMBER_MAX] = "", *end;
	size_t len = (size_t)(r->end - r->at);
	bool whole = false;
	double d;

	memcpy(text, r->at, len < sizeof(text) - 1 ? len : sizeof(text) - 1);
	len = number_len(text, &whole);
	if (len == 0 || len == sizeof(text) - 1)
		return -EINVAL;
	text[len] = '\0';
	r->at += len;
	errno = 0;
	v->type = text[0] == '-' ? JSON_I64 : JSON_U64;
	v->bits = text[0] == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	if (whole && errno == 0)
		return 0;
	d = strtod(text, &end);
	if (!isfinite(d))
		return -EINVAL;
	v->type = JSON_F64;
	memcpy(&v->bits, &d, sizeof(d));
	return 0;
}

int json_read_value(struct json_reader *r, struct json_value *v)
{
	json_skip_blanks(r);
	if (r->at == r->end)
		return -EINVAL;
	if (*r->at == '"')
		return json_read_string(r, v);
	v->bits = 0;
	v->type = JSON_BOOL;
	if (take_word(r, "false"))
		return 0;
	v->bits = 1;
	if (take_word(r, "true"))
		return 0;
	v->type = JSON_NULL;
	return take_word(r, "null") ? 0 : read_number(r, v);
}
