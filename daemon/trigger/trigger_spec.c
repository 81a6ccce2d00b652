/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_spec.c - reads what a trigger waits for.
 *
 * Names are taken as they are, and may have colons, commas and signs of comparison in them; so
 * options are looked for from the end, and a comparison is the last one there is. Only where
 * the name of an argument follows is it the first.
 */
#include "trigger/trigger_spec.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "text.h"

#define MAX_DURATION_NS	    (24 * 3600 * NS_PER_SEC)
#define DEFAULT_INTERVAL_NS NS_PER_SEC
#define MAX_VBLANKS	    1000000
#define ALL_KINDS                                                                    \
	"slice:NAME>10ms, late-frame[>=N], http:status>=500, http:latency>200ms, "   \
	"exit:COMM[=CODE], signal:COMM[=SIGSEGV], psi:cpu>30%, probe:NAME[=ARG>N], " \
	"marker:NAME[=ARG>N], sigusr2"

/* A SPEC that is being read. */
struct reader {
	struct trigger_spec *spec;
	char *why;
};

static int refuse(const struct reader *r, const char *what, const char *value, const char *allowed)
{
	snprintf(r->why, TRIGGER_WHY_LEN, "trigger '%.100s': %s%s%.60s%s: %s", r->spec->text, what,
		 value ? " '" : "", value ? value : "", value ? "'" : "", allowed);
	return -EINVAL;
}

static int take(const struct reader *r, const char *what, const char *text,
		char dst[TRIGGER_NAME_LEN])
{
	size_t len = strlen(text);

	if (len == 0 || len >= TRIGGER_NAME_LEN)
		return refuse(r, what, NULL, "it has 1 to 127 bytes, and may be a glob");
	memcpy(dst, text, len + 1);
	return 0;
}

/* ---- comparisons ---- */

bool trigger_compare(enum trigger_op op, long double a, long double b)
{
	switch (op) {
	case TRIGGER_ANY:
		return true;
	case TRIGGER_EQ:
		return a == b;
	case TRIGGER_NE:
		return a != b;
	case TRIGGER_GT:
		return a > b;
	case TRIGGER_GE:
		return a >= b;
	case TRIGGER_LT:
		return a < b;
	case TRIGGER_LE:
		return a <= b;
	}
	return false;
}

/* The operator at `at`, and where it ends. TRIGGER_ANY: there is none. */
static enum trigger_op read_op(char *at, char **end)
{
	bool equal = at[0] && at[1] == '=';

	*end = at + 1 + equal;
	switch (at[0]) {
	case '>':
		return equal ? TRIGGER_GE : TRIGGER_GT;
	case '<':
		return equal ? TRIGGER_LE : TRIGGER_LT;
	case '=':
		return TRIGGER_EQ;
	case '!':
		return equal ? TRIGGER_NE : TRIGGER_ANY;
	default:
		return TRIGGER_ANY;
	}
}

/* Cuts `text` at its comparison; returns what it is compared with, or NULL: there is none. */
static char *cut_first(char *text, enum trigger_op *op)
{
	char *end;

	for (; *text; text++) {
		*op = read_op(text, &end);
		if (*op == TRIGGER_ANY)
			continue;
		*text = '\0';
		return end;
	}
	*op = TRIGGER_ANY;
	return NULL;
}

static char *cut_last(char *text, enum trigger_op *op)
{
	for (char *p = text + strlen(text); p-- > text;) {
		char *end;

		if (!strchr("<>=", *p))
			continue;
		if (p > text && *p == '=' && strchr("<>=!", p[-1]))
			p--;
		*op = read_op(p, &end);
		*p = '\0';
		return end;
	}
	*op = TRIGGER_ANY;
	return NULL;
}

/* ---- one kind each; `rest` is what follows the colon ---- */

static int parse_duration(const struct reader *r, const char *text, const char *form)
{
	uint64_t ns;

	if (!text || text_duration_ns(text, MAX_DURATION_NS, &ns) < 0)
		return refuse(r, text ? "no time" : "no limit", text, form);
	if (r->spec->op == TRIGGER_EQ || r->spec->op == TRIGGER_NE)
		return refuse(r, "a time is compared with >, >=, < or <=", NULL, form);
	r->spec->number = ns;
	r->spec->is_number = true;
	return 0;
}

static int parse_number(const struct reader *r, const char *text, uint64_t min, uint64_t max,
			const char *form)
{
	uint64_t n;

	if (text_u64(text, min, max, &n) < 0)
		return refuse(r, "no such number", text, form);
	r->spec->number = n;
	r->spec->is_number = true;
	return 0;
}

static int parse_slice(const struct reader *r, char *rest)
{
	const char *limit = cut_last(rest, &r->spec->op);
	int err = take(r, "the name of the slice is missing or too long", rest, r->spec->name);

	return err < 0 ? err
		       : parse_duration(r, limit, "slice:NAME>10ms, with a time in s, ms or us");
}

static int parse_late_frame(const struct reader *r, char *rest)
{
	static const char form[] = "late-frame, or late-frame>=N with N vblanks from 1 to 1000000";
	const char *limit = cut_first(rest, &r->spec->op);

	if (*rest)
		return refuse(r, "unknown", rest, form);
	return limit ? parse_number(r, limit, 1, MAX_VBLANKS, form) : 0;
}

static int parse_http(const struct reader *r, char *rest)
{
	static const char form[] = "http:status>=500 with a status from 100 to 999, or "
				   "http:latency>200ms with a time in s, ms or us";
	const char *limit = cut_first(rest, &r->spec->op);

	if (!limit)
		return refuse(r, "nothing to compare with", NULL, form);
	if (strcmp(rest, "status") == 0)
		return parse_number(r, limit, 100, 999, form);
	r->spec->kind = TRIGGER_HTTP_LATENCY;
	return strcmp(rest, "latency") == 0 ? parse_duration(r, limit, form)
					    : refuse(r, "unknown", rest, form);
}

static int parse_exit(const struct reader *r, char *rest)
{
	const char *code = cut_last(rest, &r->spec->op);
	int err = take(r, "the program's name is missing or too long", rest, r->spec->name);

	if (err < 0 || !code)
		return err;
	return parse_number(r, code, 0, 255, "exit:COMM=CODE, or with != > >= < <=, from 0 to 255");
}

static int parse_signal(const struct reader *r, char *rest)
{
	static const char form[] = "signal:COMM or signal:COMM=SIGNAL, a name such as SIGSEGV or a "
				   "number from 1 to 64";
	const char *name = cut_last(rest, &r->spec->op);
	int err = take(r, "the program's name is missing or too long", rest, r->spec->name);

	if (err < 0 || !name)
		return err;
	if (trigger_signal_number(name) < 0)
		return refuse(r, "no signal", name, form);
	if (r->spec->op != TRIGGER_EQ && r->spec->op != TRIGGER_NE)
		return refuse(r, "a signal is compared with = or !=", NULL, form);
	r->spec->number = trigger_signal_number(name);
	r->spec->is_number = true;
	return 0;
}

static int parse_psi(const struct reader *r, char *rest)
{
	static const char form[] = "psi:cpu>30%, psi:memory>30% or psi:io>30%, from 0 to 99";
	char *limit = cut_first(rest, &r->spec->op), *percent = limit ? strchr(limit, '%') : NULL;

	if (!limit)
		return refuse(r, "no limit", NULL, form);
	for (unsigned i = 0; i < TRIGGER_RESOURCES; i++) {
		r->spec->resource = (enum trigger_resource)i;
		if (strcmp(rest, trigger_resource_name(r->spec->resource)) == 0)
			break;
		if (i == TRIGGER_RESOURCES - 1)
			return refuse(r, "unknown", rest, form);
	}
	if (r->spec->op != TRIGGER_GT && r->spec->op != TRIGGER_GE)
		return refuse(r, "pressure is compared with > or >=", NULL, form);
	if (!percent || percent[1])
		return refuse(r, "no percentage", limit, form);
	*percent = '\0';
	return parse_number(r, limit, 0, 99, form);
}

/* Of an argument: a number, if it is one in whole, and always a text. */
static int take_value(const struct reader *r, const char *text)
{
	int err = take(r, "the argument's value is missing or too long", text, r->spec->value);
	char *end;

	if (err < 0)
		return err;
	/* Without blanks and names of what is no number. */
	if (isdigit((unsigned char)text[text[0] == '-'])) {
		r->spec->number = strtold(text, &end);
		r->spec->is_number = !*end && isfinite(r->spec->number);
	}
	if (!r->spec->is_number && r->spec->op != TRIGGER_EQ && r->spec->op != TRIGGER_NE)
		return refuse(r, "no number", text, "a text is compared with = or !=");
	return 0;
}

static int parse_named(const struct reader *r, char *rest)
{
	static const char form[] = "NAME=ARG>N, or with >= < <= = !=";
	char *arg = strchr(rest, '='), *value;
	int err;

	if (arg)
		*arg++ = '\0';
	err = take(r, "the name is missing or too long", rest, r->spec->name);
	if (err < 0 || !arg)
		return err;
	value = cut_first(arg, &r->spec->op);
	if (!value)
		return refuse(r, "nothing to compare the argument with", arg, form);
	err = take(r, "the argument's name is missing or too long", arg, r->spec->arg);
	return err < 0 ? err : take_value(r, value);
}

static int parse_sigusr2(const struct reader *r, char *rest)
{
	return *rest ? refuse(r, "unknown", rest, "sigusr2 has nothing behind it") : 0;
}

/* ---- options ---- */

static int set_option(const struct reader *r, const char *key, size_t len, const char *value)
{
	static const char form[] = "category=GLOB, comm=GLOB, pid=N, min_interval=1s";
	struct trigger_spec *spec = r->spec;
	uint64_t n;

	if (len == 8 && memcmp(key, "category", len) == 0)
		return take(r, "category= is empty or too long", value, spec->category);
	if (len == 4 && memcmp(key, "comm", len) == 0)
		return take(r, "comm= is empty or too long", value, spec->comm);
	if (len == 3 && memcmp(key, "pid", len) == 0) {
		if (text_u64(value, 1, INT32_MAX, &n) < 0)
			return refuse(r, "no pid", value, "pid=N with a process's number");
		spec->pid = (uint32_t)n;
		return 0;
	}
	if (len == 12 && memcmp(key, "min_interval", len) == 0)
		return text_duration_ns(value, MAX_DURATION_NS, &spec->min_interval_ns) < 0
			       ? refuse(r, "no time", value, "min_interval=1s, up to 24h")
			       : 0;
	return refuse(r, "unknown option", key, form);
}

/* Cuts off what is behind the last comma as long as it is "word=value". */
static int cut_options(const struct reader *r, char *text)
{
	char *comma;

	while ((comma = strrchr(text, ','))) {
		size_t len = strspn(comma + 1, "abcdefghijklmnopqrstuvwxyz_");
		int err;

		if (len == 0 || comma[1 + len] != '=')
			return 0;
		err = set_option(r, comma + 1, len, comma + len + 2);
		if (err < 0)
			return err;
		*comma = '\0';
	}
	return 0;
}

/* ---- all of it ---- */

static int parse_kind(const struct reader *r, char *text)
{
	static const struct {
		const char *name;
		enum trigger_kind kind;
		int (*fn)(const struct reader *r, char *rest);
	} kinds[] = {
		{ "slice:", TRIGGER_SLICE, parse_slice },
		{ "late-frame", TRIGGER_LATE_FRAME, parse_late_frame },
		{ "http:", TRIGGER_HTTP_STATUS, parse_http },
		{ "exit:", TRIGGER_EXIT, parse_exit },
		{ "signal:", TRIGGER_SIGNAL, parse_signal },
		{ "psi:", TRIGGER_PSI, parse_psi },
		{ "probe:", TRIGGER_PROBE, parse_named },
		{ "marker:", TRIGGER_MARKER, parse_named },
		{ "sigusr2", TRIGGER_SIGUSR2, parse_sigusr2 },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].name);

		if (strncmp(text, kinds[i].name, len) != 0)
			continue;
		r->spec->kind = kinds[i].kind;
		return kinds[i].fn(r, text + len);
	}
	return refuse(r, "there is no such kind", NULL, ALL_KINDS);
}

int trigger_spec_parse(const char *text, struct trigger_spec *ret, char why[TRIGGER_WHY_LEN])
{
	struct reader r = { .spec = ret, .why = why };
	char copy[TRIGGER_SPEC_LEN];
	size_t len = strlen(text);
	int err;

	*ret = (struct trigger_spec){ .min_interval_ns = DEFAULT_INTERVAL_NS };
	if (len >= sizeof(copy)) {
		snprintf(why, TRIGGER_WHY_LEN, "trigger '%.40s...' is longer than %d bytes", text,
			 TRIGGER_SPEC_LEN - 1);
		return -EINVAL;
	}
	memcpy(copy, text, len + 1);
	memcpy(ret->text, text, len + 1);
	err = cut_options(&r, copy);
	return err < 0 ? err : parse_kind(&r, copy);
}

/* ---- names ---- */

int trigger_signal_number(const char *name)
{
	uint64_t n;

	if (text_u64(name, 1, SIGRTMAX, &n) == 0)
		return (int)n;
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (int i = 1; i < NSIG; i++) {
		const char *abbreviation = sigabbrev_np(i);

		if (abbreviation && strcmp(name, abbreviation) == 0)
			return i;
	}
	return -EINVAL;
}

void trigger_signal_text(int number, char dst[TRIGGER_SIGNAL_LEN])
{
	const char *abbreviation = sigabbrev_np(number);

	if (abbreviation)
		snprintf(dst, TRIGGER_SIGNAL_LEN, "SIG%s", abbreviation);
	else
		snprintf(dst, TRIGGER_SIGNAL_LEN, "signal %d", number);
}

const char *trigger_resource_name(enum trigger_resource resource)
{
	static const char *const names[TRIGGER_RESOURCES] = {
		[TRIGGER_CPU] = "cpu",
		[TRIGGER_MEMORY] = "memory",
		[TRIGGER_IO] = "io",
	};

	return names[resource];
}
