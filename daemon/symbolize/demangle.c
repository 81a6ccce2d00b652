/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - what a symbol is called in the language it was written in. */
#include "demangle.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/text.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define PLT	 "@plt"

/*
 * Above this libiberty refuses (the limit of its recursion); with the limit
 * off, the stack it uses grows with the length: 64 bytes for each byte of the
 * name at once, and some hundred for each level of nesting.
 */
#define MAX_MANGLED 4096

/* A reference back in a D name ("Q") may stand for something that has others in it. */
#define MAX_D_REFERENCES 8

/* What clang appends to a local name that another unit came to need, and a number. */
#define PROMOTED ".llvm."

struct out {
	char *dst;
	size_t len;
	bool cut;
};

static void append(const char *s, size_t len, void *opaque)
{
	struct out *out = opaque;

	if (len > DEMANGLE_MAX - out->len) {
		len = DEMANGLE_MAX - out->len;
		out->cut = true;
	}
	memcpy(out->dst + out->len, s, len);
	out->len += len;
}

/* The first of the parts that ".part.0.cold" has, ".part.0"; 0: there is none. */
static size_t clone_len(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char digits[] = "0123456789";
	size_t n;

	if (s[0] != '.')
		return 0;
	n = 1 + strspn(s + 1, letters);
	while (n > 1 && s[n] == '.' && isdigit((unsigned char)s[n + 1]))
		n += 1 + strspn(s + n + 1, digits);
	return n > 1 ? n : 0;
}

/* As libiberty says it of C++. False: this is no such suffix. */
static bool append_clones(const char *s, struct out *out)
{
	size_t n;

	for (; (n = clone_len(s)); s += n) {
		if (strncmp(s, PROMOTED, strlen(PROMOTED)) == 0)
			continue;
		append(" [clone ", 8, out);
		append(s, n, out);
		append("]", 1, out);
	}
	return *s == '\0';
}

/* Where what the compiler has added to a Rust name begins, which libiberty leaves out; or "". */
static const char *rust_suffix(const char *name)
{
	static const char hash[] = "17h";
	const char *end = "", *p = name;

	if (strncmp(name, "_R", 2) == 0) {
		p = strchr(name, '.');
		return p ? p : "";
	}
	while ((p = strstr(p, hash))) { /* 16 digits and the end of the path */
		p += strlen(hash);
		if (strspn(p, "0123456789abcdef") == 16 && p[16] == 'E')
			end = p + 17;
	}
	return end;
}

static bool try_rust(const char *name, struct out *out)
{
	out->len = 0;
	out->cut = false;
	if (!rust_demangle_callback(name, DMGL_NO_OPTS, append, out))
		return false;
	(void)append_clones(rust_suffix(name), out);
	return true;
}

static bool try_cxx(const char *name, struct out *out, int options)
{
	out->len = 0;
	out->cut = false;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI | options, append, out) !=
	       0;
}

static size_t count_char(const char *s, char c)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

/* Linear but for the references: with so few the result has a megabyte at most. */
static bool try_d(char *name, struct out *out)
{
	char *readable, *suffix = strchr(name, '.');

	if (count_char(name, 'Q') > MAX_D_REFERENCES)
		return false;
	if (suffix)
		*suffix = '\0';
	readable = dlang_demangle(name, DMGL_NO_OPTS);
	if (suffix)
		*suffix = '.';
	if (!readable)
		return false;
	out->len = 0;
	out->cut = false;
	append(readable, strlen(readable), out);
	free(readable);
	return !suffix || append_clones(suffix, out);
}

static bool looks_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0 ||
	       strncmp(name, "_GLOBAL_", 8) == 0;
}

/* Rust first: a legacy Rust name is a well-formed C++ name, but for its hash. */
static bool readable(char *name, size_t len, struct out *out)
{
	if (len > MAX_MANGLED)
		return false;
	if (strncmp(name, "_D", 2) == 0)
		return try_d(name, out);
	if (!looks_mangled(name))
		return false;
	return try_rust(name, out) || try_cxx(name, out, 0) ||
	       try_cxx(name, out, DMGL_NO_RECURSE_LIMIT);
}

/* The length without what is of no use to a reader. */
static size_t without_promotion(const char *name, size_t len)
{
	size_t n = len;

	while (n > 0 && isdigit((unsigned char)name[n - 1]))
		n--;
	if (n == len || n <= strlen(PROMOTED))
		return len;
	n -= strlen(PROMOTED);
	return memcmp(name + n, PROMOTED, strlen(PROMOTED)) == 0 ? n : len;
}

size_t demangle(char dst[DEMANGLE_MAX + 1], const char *name)
{
	char raw[MAX_MANGLED + 1], result[DEMANGLE_MAX], utf8[3 * DEMANGLE_MAX + 1];
	struct out out = { .dst = result };
	size_t len = strlen(name), room = DEMANGLE_MAX;
	const char *at = len > 1 ? strchr(name + 1, '@') : NULL;
	const char *suffix = at && strncmp(at, PLT, sizeof(PLT)) == 0 ? PLT : "";

	if (at)
		len = (size_t)(at - name);
	len = without_promotion(name, len);
	memcpy(raw, name, len <= MAX_MANGLED ? len : MAX_MANGLED);
	raw[len <= MAX_MANGLED ? len : MAX_MANGLED] = '\0';

	if (!readable(raw, len, &out)) {
		out.len = 0;
		out.cut = false;
		append(raw, strlen(raw), &out);
	}

	len = text_utf8(utf8, sizeof(utf8), result, out.len);
	room -= strlen(suffix);
	if (!out.cut && len <= room) {
		memcpy(dst, utf8, len + 1);
	} else {
		room -= strlen(ELLIPSIS);
		len = text_utf8(dst, room + 1, utf8, len);
		len += strlen(strcpy(dst + len, ELLIPSIS));
	}
	return len + strlen(strcpy(dst + len, suffix));
}
