/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - writes JSON to a stream or into memory. */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text.h"

/* What is not plain is cleaned in pieces of so many bytes. */
#define PIECE	   64
#define MAX_NUMBER 32

static void put(struct json *j, const char *text, size_t len)
{
	if (j->out)
		fwrite(text, 1, len, j->out);
	else if (buf_append(j->buf, text, len) < 0)
		j->failed = true;
}

static void put_char(struct json *j, char c)
{
	put(j, &c, 1);
}

static bool is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void escape(struct json *j, unsigned char c)
{
	char text[8];

	put(j, text, (size_t)snprintf(text, sizeof(text), "\\u%04x", c));
}

/* It is UTF-8. */
static void put_clean(struct json *j, const char *clean)
{
	for (const unsigned char *p = (const unsigned char *)clean; *p; p++) {
		if (*p == '"' || *p == '\\') {
			put_char(j, '\\');
			put_char(j, (char)*p);
		} else if (*p < 0x20 || *p == 0x7f) {
			escape(j, *p);
		} else if (*p == 0xc2 && p[1] < 0xa0) { /* C1: a terminal obeys them, too */
			escape(j, *++p);
		} else {
			put_char(j, (char)*p);
		}
	}
}

static void quote(struct json *j, const char *s)
{
	size_t len = strlen(s);

	put_char(j, '"');
	while (len > 0) {
		char clean[PIECE * 3 + 1]; /* a bad byte becomes three */
		size_t piece = 0;

		while (piece < len && is_plain(s[piece]))
			piece++;
		if (piece > 0) {
			put(j, s, piece);
		} else {
			piece = len < PIECE ? len : PIECE;
			/* Whole characters only: a cut one would be taken for bad. */
			while (piece < len && piece > PIECE - 4 &&
			       ((unsigned char)s[piece] & 0xc0) == 0x80)
				piece--;
			text_utf8(clean, sizeof(clean), s, piece);
			put_clean(j, clean);
		}
		s += piece;
		len -= piece;
	}
	put_char(j, '"');
}

static void begin(struct json *j, const char *name)
{
	if (j->not_first[j->depth])
		put_char(j, ',');
	j->not_first[j->depth] = true;
	if (!name)
		return;
	quote(j, name);
	put_char(j, ':');
}

static void open_level(struct json *j, const char *name, char opening, char closing)
{
	begin(j, name);
	put_char(j, opening);
	assert(j->depth + 1 < JSON_MAX_DEPTH);
	j->depth++;
	j->not_first[j->depth] = false;
	j->closing[j->depth] = closing;
}

void json_object(struct json *j, const char *name)
{
	open_level(j, name, '{', '}');
}

void json_array(struct json *j, const char *name)
{
	open_level(j, name, '[', ']');
}

void json_end(struct json *j)
{
	assert(j->depth > 0);
	put_char(j, j->closing[j->depth]);
	j->depth--;
}

void json_string(struct json *j, const char *name, const char *value)
{
	begin(j, name);
	quote(j, value ? value : "");
}

void json_u64(struct json *j, const char *name, uint64_t value)
{
	char text[MAX_NUMBER];

	begin(j, name);
	put(j, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, value));
}

void json_i64(struct json *j, const char *name, int64_t value)
{
	char text[MAX_NUMBER];

	begin(j, name);
	put(j, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, value));
}

void json_double(struct json *j, const char *name, double value)
{
	char text[MAX_NUMBER];

	begin(j, name);
	if (isfinite(value))
		put(j, text, (size_t)snprintf(text, sizeof(text), "%.17g", value));
	else
		put(j, "null", 4); /* JSON knows neither infinities nor NaN */
}

void json_bool(struct json *j, const char *name, bool value)
{
	begin(j, name);
	put(j, value ? "true" : "false", value ? 4 : 5);
}
