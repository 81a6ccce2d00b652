/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - writes JSON to a stream. */
#include "json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text.h"

static void quote(struct json *j, const char *s)
{
	size_t len = strlen(s);

	fputc('"', j->out);
	while (len > 0) {
		char clean[256];
		/* Whole characters only: a cut one would be taken for bad. */
		size_t piece = len < 64 ? len : 64;

		while (piece < len && piece > 60 && ((unsigned char)s[piece] & 0xc0) == 0x80)
			piece--;
		text_utf8(clean, sizeof(clean), s, piece);
		for (const unsigned char *p = (const unsigned char *)clean; *p; p++) {
			if (*p == '"' || *p == '\\')
				fprintf(j->out, "\\%c", *p);
			else if (*p < 0x20 || *p == 0x7f)
				fprintf(j->out, "\\u%04x", *p);
			else if (*p == 0xc2 && p[1] < 0xa0) /* C1: a terminal obeys them, too */
				fprintf(j->out, "\\u%04x", *++p);
			else
				fputc(*p, j->out);
		}
		s += piece;
		len -= piece;
	}
	fputc('"', j->out);
}

static void begin(struct json *j, const char *name)
{
	if (j->not_first[j->depth])
		fputc(',', j->out);
	j->not_first[j->depth] = true;
	if (!name)
		return;
	quote(j, name);
	fputc(':', j->out);
}

static void open_level(struct json *j, const char *name, char opening, char closing)
{
	begin(j, name);
	fputc(opening, j->out);
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
	fputc(j->closing[j->depth], j->out);
	j->depth--;
}

void json_string(struct json *j, const char *name, const char *value)
{
	begin(j, name);
	quote(j, value ? value : "");
}

void json_u64(struct json *j, const char *name, uint64_t value)
{
	begin(j, name);
	fprintf(j->out, "%" PRIu64, value);
}

void json_i64(struct json *j, const char *name, int64_t value)
{
	begin(j, name);
	fprintf(j->out, "%" PRId64, value);
}

void json_double(struct json *j, const char *name, double value)
{
	begin(j, name);
	if (isfinite(value))
		fprintf(j->out, "%.17g", value);
	else
		fputs("null", j->out); /* JSON knows neither infinities nor NaN */
}

void json_bool(struct json *j, const char *name, bool value)
{
	begin(j, name);
	fputs(value ? "true" : "false", j->out);
}
