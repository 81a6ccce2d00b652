/* SPDX-License-Identifier: Apache-2.0 */
/* probe_def.c - from what the author of a probe has written to its parts. */
#include "probe/probe_def.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "probe/probe_expr.h"

#define AT_END "@end"

static const struct {
	const char *name, *form;
} kinds[] = {
	[PROBE_UPROBE] = { "uprobe", "uprobe:PATH:FUNCTION[+OFFSET]" },
	[PROBE_URETPROBE] = { "uretprobe", "uretprobe:PATH:FUNCTION" },
	[PROBE_USDT] = { "usdt", "usdt:PATH:PROVIDER:NAME" },
	[PROBE_TRACEPOINT] = { "tracepoint", "tracepoint:SYSTEM:NAME" },
	[PROBE_FENTRY] = { "fentry", "fentry:FUNCTION" },
	[PROBE_FEXIT] = { "fexit", "fexit:FUNCTION" },
	[PROBE_KPROBE] = { "kprobe", "kprobe:FUNCTION[+OFFSET]" },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

__attribute__((format(printf, 2, 3))) static int refuse(char why[PROBE_WHY_LEN], const char *fmt,
							...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, PROBE_WHY_LEN, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* ---- SPEC ---- */

static bool has_path(enum probe_kind kind)
{
	return kind <= PROBE_USDT;
}

static int find_kind(const char *word, size_t len, const char *spec, enum probe_kind *ret,
		     char why[PROBE_WHY_LEN])
{
	char name[PROBE_NAME_LEN];
	struct nearest near = { .wanted = name };

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	for (size_t i = 0; i < N_KINDS; i++) {
		if (strcmp(kinds[i].name, name) == 0) {
			*ret = (enum probe_kind)i;
			return 0;
		}
		nearest_offer(&near, kinds[i].name);
	}
	refuse(why,
	       "\"%.200s\": a place begins with uprobe:, uretprobe:, usdt:, tracepoint:, fentry:, "
	       "fexit: or kprobe:",
	       spec);
	nearest_append(&near, why, PROBE_WHY_LEN);
	return -EINVAL;
}

/* Up to the next colon, behind which `*at` then is. False: it is too long, or empty. */
static bool take_part(const char **at, char *dst, size_t size)
{
	size_t len = strcspn(*at, ":");

	if (len == 0 || len >= size)
		return false;
	memcpy(dst, *at, len);
	dst[len] = '\0';
	*at += len + ((*at)[len] == ':');
	return true;
}

static bool is_plain(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

/* "+0x1f" at the end of a symbol. A C++ name may have a plus, but no number behind it. */
static int take_offset(struct probe_place *p, const char *spec, char why[PROBE_WHY_LEN])
{
	char *plus = strrchr(p->symbol, '+'), *end;

	if (!plus || !isdigit((unsigned char)plus[1]))
		return 0;
	errno = 0;
	p->offset = strtoull(plus + 1, &end, 0);
	if (*end || errno || p->offset > INT32_MAX)
		return refuse(why, "\"%.200s\": \"%.40s\" is no offset; write +16 or +0x10", spec,
			      plus);
	*plus = '\0';
	plus = strrchr(p->symbol, '+');
	if (plus && isdigit((unsigned char)plus[1]))
		return refuse(why, "\"%.200s\": there is one offset, or none", spec);
	if (!p->symbol[0])
		return refuse(why, "\"%.200s\": an offset counts from a function: FUNCTION+OFFSET",
			      spec);
	if (p->kind == PROBE_UPROBE || p->kind == PROBE_KPROBE || p->offset == 0)
		return 0;
	return refuse(why, "\"%.200s\": only uprobe: and kprobe: can be inside a function", spec);
}

/* Of tracefs, or of BTF. */
static bool is_kernel_name(const char *s)
{
	while (isalnum((unsigned char)*s) || (*s && strchr("_-.", *s)))
		s++;
	return *s == '\0';
}

static int check_parts(const struct probe_place *p, const char *spec, char why[PROBE_WHY_LEN])
{
	if (!is_plain(spec))
		return refuse(why, "a place has control characters in it");
	if (has_path(p->kind) && p->path[0] != '/' && strchr(p->path, '/'))
		return refuse(why,
			      "\"%.200s\": a path begins with /; or write the name of a library "
			      "alone, as libc.so.6",
			      spec);
	if (!has_path(p->kind) && (!is_kernel_name(p->symbol) || !is_kernel_name(p->group)))
		return refuse(why,
			      "\"%.200s\": a name in the kernel has letters, digits and _; globs "
			      "are for functions of programs",
			      spec);
	return 0;
}

int probe_place_parse(const char *spec, struct probe_place *ret, char why[PROBE_WHY_LEN])
{
	struct probe_place p = { 0 };
	const char *at = spec, *colon = strchr(spec, ':');
	bool fits = true;
	int r;

	if (strlen(spec) >= PROBE_SPEC_LEN)
		return refuse(why, "\"%.100s...\": a place has at most %d characters", spec,
			      PROBE_SPEC_LEN - 1);
	r = find_kind(spec, colon ? (size_t)(colon - spec) : strlen(spec), spec, &p.kind, why);
	if (r < 0)
		return r;
	at = colon ? colon + 1 : spec + strlen(spec);
	if (has_path(p.kind))
		fits = take_part(&at, p.path, sizeof(p.path));
	if (fits && (p.kind == PROBE_USDT || p.kind == PROBE_TRACEPOINT))
		fits = take_part(&at, p.group, sizeof(p.group));
	/* All that is left: C++ names have colons. */
	if (!fits || !*at || strlen(at) >= sizeof(p.symbol))
		return refuse(why, "\"%.200s\" should read %s", spec, kinds[p.kind].form);
	snprintf(p.symbol, sizeof(p.symbol), "%s", at);
	if (p.kind != PROBE_USDT && p.kind != PROBE_TRACEPOINT)
		r = take_offset(&p, spec, why);
	if (r == 0)
		r = check_parts(&p, spec, why);
	if (r == 0)
		*ret = p;
	return r;
}

void probe_place_text(const struct probe_place *p, char *dst, size_t size)
{
	char offset[32] = "";

	if (p->offset)
		snprintf(offset, sizeof(offset), "+0x%llx", (unsigned long long)p->offset);
	snprintf(dst, size, "%s:%s%s%s%s%s%s", kinds[p->kind].name, p->path, p->path[0] ? ":" : "",
		 p->group, p->group[0] ? ":" : "", p->symbol, offset);
}

/* ---- NAME=EXPR:TYPE ---- */

static const struct {
	const char *name;
	enum probe_type type;
	uint16_t size;
} types[] = {
	{ "s8", PROBE_TYPE_SIGNED, 1 },	   { "s16", PROBE_TYPE_SIGNED, 2 },
	{ "s32", PROBE_TYPE_SIGNED, 4 },   { "s64", PROBE_TYPE_SIGNED, 8 },
	{ "u8", PROBE_TYPE_UNSIGNED, 1 },  { "u16", PROBE_TYPE_UNSIGNED, 2 },
	{ "u32", PROBE_TYPE_UNSIGNED, 4 }, { "u64", PROBE_TYPE_UNSIGNED, 8 },
	{ "x8", PROBE_TYPE_HEX, 1 },	   { "x16", PROBE_TYPE_HEX, 2 },
	{ "x32", PROBE_TYPE_HEX, 4 },	   { "x64", PROBE_TYPE_HEX, 8 },
	{ "ptr", PROBE_TYPE_POINTER, 8 },  { "bool", PROBE_TYPE_BOOL, 1 },
	{ "f32", PROBE_TYPE_FLOAT, 4 },	   { "f64", PROBE_TYPE_FLOAT, 8 },
	{ "str", PROBE_TYPE_TEXT, 0 },
};

#define N_TYPES (sizeof(types) / sizeof(types[0]))

/* "str(64)" */
static int parse_text_type(const char *word, const char *text, struct probe_arg *ret,
			   char why[PROBE_WHY_LEN])
{
	char *end;
	unsigned long n = strtoul(word + 4, &end, 10);

	if (!isdigit((unsigned char)word[4]) || strcmp(end, ")") != 0 || n < 1 || n > PROBES_TEXT)
		return refuse(why, "\"%.200s\": of a string 1 to %d bytes can be had: str(%d)",
			      text, PROBES_TEXT, PROBES_TEXT);
	ret->type = PROBE_TYPE_TEXT;
	ret->size = (uint16_t)n;
	return 0;
}

static int parse_type(const char *word, const char *text, struct probe_arg *ret,
		      char why[PROBE_WHY_LEN])
{
	struct nearest near = { .wanted = word };

	if (strncmp(word, "str(", 4) == 0)
		return parse_text_type(word, text, ret, why);
	for (size_t i = 0; i < N_TYPES; i++) {
		if (strcmp(types[i].name, word) == 0) {
			ret->type = types[i].type;
			ret->size = types[i].size;
			return 0;
		}
		nearest_offer(&near, types[i].name);
	}
	refuse(why,
	       "\"%.160s\": there is no type \"%.40s\"; there are s8 to s64, u8 to u64, x8 to "
	       "x64, ptr, bool, str, str(N), f32, f64",
	       text, word);
	nearest_append(&near, why, PROBE_WHY_LEN);
	return -EINVAL;
}

/* The last colon outside of strings and brackets that is not half of a "::"; or NULL. */
static const char *type_colon(const char *expr)
{
	const char *found = NULL;
	char quote = '\0';
	int depth = 0;

	for (const char *c = expr; *c; c++) {
		if (*c == '\\' && c[1])
			c++;
		else if (quote && *c == quote)
			quote = '\0';
		else if (quote)
			continue;
		else if (*c == '"' || *c == '\'')
			quote = *c;
		else if (*c == '(' || *c == '[')
			depth++;
		else if (*c == ')' || *c == ']')
			depth--;
		else if (*c == ':' && c[1] == ':')
			c++;
		else if (*c == ':' && depth == 0)
			found = c;
	}
	return found;
}

static void copy_trimmed(char *dst, size_t size, const char *src, size_t len)
{
	while (len > 0 && isspace((unsigned char)*src)) {
		src++;
		len--;
	}
	while (len > 0 && isspace((unsigned char)src[len - 1]))
		len--;
	snprintf(dst, size, "%.*s", (int)len, src);
}

static bool is_name(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	while (isalnum((unsigned char)*s) || (*s && strchr("_.-", *s)))
		s++;
	return *s == '\0';
}

static int take_name(const char *text, const char *equals, struct probe_arg *ret,
		     char why[PROBE_WHY_LEN])
{
	size_t len = (size_t)(equals - text), end = strlen(AT_END);

	if (len > end && strncmp(equals - end, AT_END, end) == 0) {
		ret->at_end = true;
		len -= end;
	}
	if (len < sizeof(ret->name))
		copy_trimmed(ret->name, sizeof(ret->name), text, len);
	if (!is_name(ret->name))
		return refuse(why,
			      "\"%.200s\": before the = there is a name of letters, digits, _, . "
			      "and -, of at most %d characters",
			      text, PROBE_NAME_LEN - 1);
	return 0;
}

int probe_arg_parse(const char *text, struct probe_arg *ret, char why[PROBE_WHY_LEN])
{
	const char *equals = strchr(text, '='), *colon;
	struct probe_arg arg = { 0 };
	char type[PROBE_NAME_LEN];
	size_t len;
	int r;

	if (!is_plain(text))
		return refuse(why, "an argument has control characters in it");
	if (!equals || equals[1] == '=')
		return refuse(why, "\"%.200s\" should read NAME=EXPRESSION or NAME=EXPRESSION:TYPE",
			      text);
	r = take_name(text, equals, &arg, why);
	if (r < 0)
		return r;
	colon = type_colon(equals + 1);
	len = colon ? (size_t)(colon - equals - 1) : strlen(equals + 1);
	if (len >= sizeof(arg.expr))
		return refuse(why, "\"%.100s...\": an expression has at most %d characters", text,
			      PROBE_EXPR_LEN - 1);
	copy_trimmed(arg.expr, sizeof(arg.expr), equals + 1, len);
	if (!arg.expr[0])
		return refuse(why, "\"%.200s\": there is no expression behind the =", text);
	if (colon) {
		copy_trimmed(type, sizeof(type), colon + 1, strlen(colon + 1));
		r = parse_type(type, text, &arg, why);
	}
	if (r == 0)
		*ret = arg;
	return r;
}

/* ---- all of it ---- */

static bool is_return(enum probe_kind kind)
{
	return kind == PROBE_URETPROBE || kind == PROBE_FEXIT;
}

/* Reads the expression, and says whether it needs a function to have returned. */
static int check_expr(const struct probe_def *def, const char *what, const char *expr,
		      bool *ret_at_end, char why[PROBE_WHY_LEN])
{
	bool needs = false;
	int r = probe_expr_check(expr, &needs, why);

	if (r < 0 || !needs)
		return r;
	if (is_return(def->at.kind) && !def->has_end)
		return 0;
	if (def->has_end && is_return(def->end.kind)) {
		*ret_at_end = true;
		return 0;
	}
	return refuse(why,
		      "%.64s of probe \"%.64s\" mentions retval, which is known when a function "
		      "returns: at uretprobe: or fexit:, or with such an end",
		      what, def->name);
}

static int check_arg(const struct probe_def *def, struct probe_arg *arg, char why[PROBE_WHY_LEN])
{
	int r = check_expr(def, arg->name, arg->expr, &arg->at_end, why);

	if (r == 0 && arg->at_end && !def->has_end)
		return refuse(why, "%s of probe \"%s\" is taken at the end, but it has none",
			      arg->name, def->name);
	return r;
}

static int check_args(struct probe_def *def, char why[PROBE_WHY_LEN])
{
	int r = 0;

	for (size_t i = 0; i < def->n_args && r == 0; i++) {
		for (size_t k = 0; k < i; k++)
			if (strcmp(def->args[i].name, def->args[k].name) == 0)
				return refuse(why, "probe \"%s\" has two arguments \"%s\"",
					      def->name, def->args[i].name);
		r = check_arg(def, &def->args[i], why);
	}
	if (r < 0 || !def->counter.name[0])
		return r;
	if (def->counter.type == PROBE_TYPE_TEXT)
		return refuse(why, "counter \"%s\" of probe \"%s\" is to be a number, not a string",
			      def->counter.name, def->name);
	return check_arg(def, &def->counter, why);
}

int probe_def_check(struct probe_def *def, char why[PROBE_WHY_LEN])
{
	bool at_end = false;
	int r;

	if (!def->name[0] || !is_plain(def->name))
		return refuse(why, "a probe has a name, without control characters");
	if (!def->at.symbol[0])
		return refuse(why, "probe \"%s\" has no place: --at SPEC", def->name);
	if (def->has_end && is_return(def->at.kind))
		return refuse(why,
			      "probe \"%s\" begins where a function returns: what ends there "
			      "begins at uprobe: or fentry:",
			      def->name);
	r = check_args(def, why);
	if (r == 0 && def->condition[0])
		r = check_expr(def, "the condition", def->condition, &at_end, why);
	if (r == 0 && at_end)
		return refuse(why,
			      "the condition of probe \"%s\" mentions retval, which is not known "
			      "when it begins; compare it where the slices are read, or probe the "
			      "return alone",
			      def->name);
	if (r == 0 && def->key[0])
		r = check_expr(def, "the key", def->key, &at_end, why);
	if (r == 0 && at_end)
		return refuse(why, "the key of probe \"%s\" must be known when it begins",
			      def->name);
	return r;
}
