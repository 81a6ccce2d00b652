/* SPDX-License-Identifier: Apache-2.0 */
/* tracepoint_format.c - where the fields of a tracepoint's record lie. */
#include "tracepoint_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RECORD 8192 /* bytes; no tracepoint has more */

/* The number behind "; KEY:" in a line, or -1. */
static long number_of(const char *line, size_t len, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; i + n < len; i++)
		if (strncmp(line + i, key, n) == 0 && isdigit((unsigned char)line[i + n]))
			return strtol(line + i + n, NULL, 10);
	return -1;
}

/*
 * A declaration as in C, "struct drm_file * file", "u32 frame[3]", "char[] name":
 * the name is the last word, without what follows it in brackets.
 */
static bool declares(const char *decl, size_t len, const char *name)
{
	size_t n = strlen(name);
	const char *bracket;

	while (len > 0 && isspace((unsigned char)decl[len - 1]))
		len--;
	bracket = len && decl[len - 1] == ']' ? memrchr(decl, '[', len) : NULL;
	if (bracket)
		len = (size_t)(bracket - decl);
	if (n == 0 || len <= n || strncmp(decl + len - n, name, n) != 0)
		return false;
	return isspace((unsigned char)decl[len - n - 1]) || decl[len - n - 1] == '*';
}

static bool starts_with(const char *s, size_t len, const char *prefix)
{
	return len >= strlen(prefix) && strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool read_line(const char *line, size_t len, const char *name, struct tracepoint_field *ret)
{
	const char *decl = line, *end;
	size_t decl_len;
	long offset, size;

	while (decl < line + len && isspace((unsigned char)*decl))
		decl++;
	if (!starts_with(decl, (size_t)(line + len - decl), "field:"))
		return false;
	decl += strlen("field:");
	end = memchr(decl, ';', (size_t)(line + len - decl));
	if (!end)
		return false;
	decl_len = (size_t)(end - decl);
	if (!declares(decl, decl_len, name))
		return false;
	len -= (size_t)(end - line);
	offset = number_of(end, len, "offset:");
	size = number_of(end, len, "size:");
	if (offset < 0 || size <= 0 || offset > MAX_RECORD || size > MAX_RECORD)
		return false;
	*ret = (struct tracepoint_field){
		.offset = (uint16_t)offset,
		.size = (uint16_t)size,
		.is_signed = number_of(end, len, "signed:") == 1,
		.is_data_loc = starts_with(decl, decl_len, "__data_loc"),
		.is_pointer = memchr(decl, '*', decl_len) != NULL,
	};
	return true;
}

bool tracepoint_field(const char *format, const char *name, struct tracepoint_field *ret)
{
	while (*format) {
		size_t len = strcspn(format, "\n");

		if (read_line(format, len, name, ret))
			return true;
		format += len + (format[len] == '\n');
	}
	return false;
}
