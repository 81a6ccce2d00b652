/* SPDX-License-Identifier: Apache-2.0 */
/* tracepoint_format.c - where the fields of a tracepoint's record lie. */
#include "tracepoint_format.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RECORD 8192 /* bytes; no tracepoint has more */
#define MAX_DECL   128

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

/* "field:DECLARATION;	offset:8;	size:4;	signed:1;" */
static bool read_line(const char *line, size_t len, const char **ret_decl, size_t *ret_len,
		      struct tracepoint_field *ret)
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
	len -= (size_t)(end - line);
	offset = number_of(end, len, "offset:");
	size = number_of(end, len, "size:");
	if (offset < 0 || size <= 0 || offset > MAX_RECORD || size > MAX_RECORD)
		return false;
	*ret_decl = decl;
	*ret_len = decl_len;
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
	const char *decl;
	size_t decl_len;

	while (*format) {
		size_t len = strcspn(format, "\n");
		struct tracepoint_field field;

		if (read_line(format, len, &decl, &decl_len, &field) &&
		    declares(decl, decl_len, name)) {
			*ret = field;
			return true;
		}
		format += len + (format[len] == '\n');
	}
	return false;
}

static size_t trimmed(const char *s, size_t len)
{
	while (len > 0 && isspace((unsigned char)s[len - 1]))
		len--;
	return len;
}

/* Both strings are cut if need be. */
static void split(const char *decl, size_t len, char type[MAX_DECL], char name[MAX_DECL],
		  unsigned *ret_count)
{
	const char *bracket;
	size_t end, start;

	len = trimmed(decl, len);
	end = len;
	*ret_count = 0;
	bracket = len && decl[len - 1] == ']' ? memrchr(decl, '[', len) : NULL;
	if (bracket) {
		*ret_count = (unsigned)strtoul(bracket + 1, NULL, 10);
		end = trimmed(decl, (size_t)(bracket - decl));
	}
	for (start = end;
	     start > 0 && (isalnum((unsigned char)decl[start - 1]) || decl[start - 1] == '_');
	     start--)
		;
	snprintf(name, MAX_DECL, "%.*s", (int)(end - start), decl + start);
	snprintf(type, MAX_DECL, "%.*s", (int)trimmed(decl, start), decl);
}

void tracepoint_fields(const char *format, tracepoint_field_fn *fn, void *ctx)
{
	const char *decl;
	size_t decl_len;

	while (*format) {
		size_t len = strcspn(format, "\n");
		char type[MAX_DECL], name[MAX_DECL];
		struct tracepoint_field field;
		unsigned count;

		if (read_line(format, len, &decl, &decl_len, &field)) {
			split(decl, decl_len, type, name, &count);
			fn(ctx, type, name, count, &field);
		}
		format += len + (format[len] == '\n');
	}
}
