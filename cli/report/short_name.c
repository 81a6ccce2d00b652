/* SPDX-License-Identifier: Apache-2.0 */
/* short_name.c - long names of functions, for people. */
#include "short_name.h"

#include <stdbool.h>
#include <string.h>

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* The length of "operator<<" and the like at `s`, whose brackets are none; 0: something else. */
static size_t operator_length(const char *start, const char *s)
{
	size_t len = strlen("operator");

	if (strncmp(s, "operator", len) != 0 || (s > start && is_word(s[-1])))
		return 0;
	if (strncmp(s + len, "()", 2) == 0 || strncmp(s + len, "[]", 2) == 0)
		return len + 2;
	if (!s[len] || !strchr("<>=-", s[len]))
		return 0;
	return len + strspn(s + len, "<>=-");
}

/* The length from the bracket at `s` to the one that closes it, both included; 0: there is none. */
static size_t bracket_length(const char *start, const char *s)
{
	size_t depth = 0, op;
	const char *p = s;

	for (; *p; p++) {
		op = operator_length(start, p);
		if (op) {
			p += op - 1;
		} else if (strncmp(p, "->", 2) == 0) {
			p++;
		} else if (strchr("<({[", *p)) {
			depth++;
		} else if (strchr(">)}]", *p)) {
			depth--;
			if (depth == 0)
				return (size_t)(p - s) + 1;
		}
	}
	return 0;
}

/* Does the bracket at `s` hold what tells functions apart? Brackets in it may still go. */
static bool is_kept(const char *start, const char *s)
{
	/* "<Vec<T> as Drop>::drop", "main (app.py:3)", "(anonymous namespace)" */
	return s == start || s[-1] == ' ' || strncmp(s, "(anonymous ", 11) == 0;
}

struct writer {
	char *dst;
	size_t size, len;
};

static void put(struct writer *w, const char *s, size_t n)
{
	size_t room = w->size - 1 - w->len;

	if (n > room)
		n = room;
	memcpy(w->dst + w->len, s, n);
	w->len += n;
}

size_t short_name(char *dst, size_t dst_size, const char *name)
{
	struct writer w = { .dst = dst, .size = dst_size };
	const char *p = name;

	if (dst_size == 0)
		return 0;
	while (*p) {
		size_t n = operator_length(name, p);
		bool bracket = n == 0 && (*p == '<' || *p == '(');

		if (bracket && !is_kept(name, p))
			n = bracket_length(name, p);
		if (bracket && n > strlen("<..>")) {
			put(&w, p, 1);
			put(&w, "..", 2);
			put(&w, p + n - 1, 1);
		} else {
			n = n ? n : 1;
			put(&w, p, n);
		}
		p += n;
	}
	dst[w.len] = '\0';
	return w.len;
}

const char *short_name_last(const char *name)
{
	const char *last = name;

	for (const char *p = name; (p = strstr(p, "::")) != NULL; p += 2)
		if (p[2])
			last = p + 2;
	return last;
}
