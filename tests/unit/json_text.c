/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.c - whether a text is one line of JSON. */
#include "json_text.h"

#include <string.h>

#include "markers/json_reader.h"
#include "text.h"

#define MAX_MEMBERS 64
#define MAX_NAME    1024

static bool is_value(struct json_reader *r, unsigned depth);

static bool is_object(struct json_reader *r, unsigned depth)
{
	char names[MAX_MEMBERS][MAX_NAME];
	size_t lens[MAX_MEMBERS], n = 0;

	if (json_take(r, '}'))
		return true;
	do {
		struct json_value v = { .text = names[n], .max = sizeof(names[n]) };

		if (n == MAX_MEMBERS || json_read_string(r, &v) < 0 || v.is_cut)
			return false;
		lens[n] = v.len;
		for (size_t i = 0; i < n; i++)
			if (lens[i] == v.len && memcmp(names[i], names[n], v.len) == 0)
				return false;
		n++;
		if (!json_take(r, ':') || !is_value(r, depth + 1))
			return false;
	} while (json_take(r, ','));
	return json_take(r, '}');
}

static bool is_value(struct json_reader *r, unsigned depth)
{
	char text[16];
	struct json_value v = { .text = text, .max = sizeof(text) };

	if (depth > 4)
		return false;
	if (json_take(r, '{'))
		return is_object(r, depth);
	return json_read_value(r, &v) == 0;
}

static bool is_quiet(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f)
			return false;
		if (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0)
			return false;
	}
	return true;
}

bool json_text_is_line(const char *text, size_t len)
{
	struct json_reader r = { text, text + len - 1 };

	if (len < 3 || text[0] != '{' || text[len - 1] != '\n')
		return false;
	return text_is_utf8(text, len - 1) && is_quiet(text, len - 1) && is_value(&r, 0) &&
	       r.at == r.end;
}
