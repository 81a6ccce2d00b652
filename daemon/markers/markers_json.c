/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers_json.c - a datagram's JSON as the record of a marker.
 *
 * Our own, since it needs no tree of objects: what is read goes into the record at once,
 * and nothing nests deeper than `args`, which a library would let it.
 */
#include "markers_json.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

#define NUMBER_MAX 64 /* bytes of one */

struct reader {
	const char *at, *end;
};

enum value_type { VALUE_NULL, VALUE_BOOL, VALUE_I64, VALUE_U64, VALUE_F64, VALUE_STR };

/* Strings go where `text` points to; of those that are longer `is_cut` is set. */
struct value {
	enum value_type type;
	uint64_t bits;
	char *text;
	size_t max, len; /* max: without a NUL */
	bool is_cut;
};

/* ---- tokens ---- */

static void skip_blanks(struct reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

static bool take(struct reader *r, char c)
{
	skip_blanks(r);
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool take_word(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

/* ---- strings ---- */

static void put(struct value *v, const char *bytes, size_t len)
{
	if (v->is_cut || len > v->max - v->len) {
		v->is_cut = true;
		return;
	}
	memcpy(v->text + v->len, bytes, len);
	v->len += len;
}

static void put_rune(struct value *v, uint32_t c)
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
static int hex4(struct reader *r)
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
static int read_rune(struct reader *r, struct value *v)
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

static int read_escape(struct reader *r, struct value *v)
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
static size_t character_len(const struct reader *r)
{
	size_t n = 1;

	while (n < (size_t)(r->end - r->at) && ((unsigned char)r->at[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static int read_string(struct reader *r, struct value *v)
{
	v->type = VALUE_STR;
	v->len = 0;
	v->is_cut = false;
	if (!take(r, '"'))
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

static int read_number(struct reader *r, struct value *v)
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
	v->type = text[0] == '-' ? VALUE_I64 : VALUE_U64;
	v->bits = text[0] == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
	if (whole && errno == 0)
		return 0;
	d = strtod(text, &end);
	if (!isfinite(d))
		return -EINVAL;
	v->type = VALUE_F64;
	memcpy(&v->bits, &d, sizeof(d));
	return 0;
}

static int read_value(struct reader *r, struct value *v)
{
	skip_blanks(r);
	if (r->at == r->end)
		return -EINVAL;
	if (*r->at == '"')
		return read_string(r, v);
	v->bits = 0;
	v->type = VALUE_BOOL;
	if (take_word(r, "false"))
		return 0;
	v->bits = 1;
	if (take_word(r, "true"))
		return 0;
	v->type = VALUE_NULL;
	return take_word(r, "null") ? 0 : read_number(r, v);
}

/* ---- the record ---- */

static int read_name(struct reader *r, char *dst, size_t max, size_t *ret_len)
{
	struct value v = { .text = dst, .max = max - 1 };

	if (read_string(r, &v) < 0 || !take(r, ':'))
		return -EINVAL;
	*ret_len = v.len;
	return v.is_cut ? -E2BIG : 0;
}

static void set_arg(struct markers_arg *arg, const struct value *v)
{
	static const uint8_t types[] = {
		[VALUE_NULL] = MARKERS_STR, [VALUE_BOOL] = MARKERS_BOOL, [VALUE_I64] = MARKERS_I64,
		[VALUE_U64] = MARKERS_U64,  [VALUE_F64] = MARKERS_F64,	 [VALUE_STR] = MARKERS_STR,
	};

	arg->type = types[v->type];
	/* Whole numbers of one key are all of one type, if they can. */
	if (v->type == VALUE_U64 && v->bits <= INT64_MAX)
		arg->type = MARKERS_I64;
	if (arg->type != MARKERS_STR)
		arg->value = v->bits;
}

static int read_pair(struct reader *r, struct markers_event *ev)
{
	char key[MARKERS_KEY], text[MARKERS_TEXT];
	struct value v = { .text = text, .max = sizeof(text) - 1 };
	struct markers_arg arg = { 0 };
	size_t key_len;
	int e = read_name(r, key, sizeof(key), &key_len);

	if (e == 0)
		e = read_value(r, &v);
	if (e < 0)
		return e;
	if (v.type == VALUE_STR && v.is_cut)
		ev->flags |= MARKERS_CUT;
	if (ev->n_args == MARKERS_ARGS || ev->len > MARKERS_ROOM - MARKERS_ARG_MAX) {
		ev->flags |= MARKERS_CUT;
		return 0;
	}
	set_arg(&arg, &v);
	arg.key_len = (uint8_t)key_len;
	if (v.type == VALUE_NULL)
		v.len = strlen(strcpy(text, "null"));
	if (arg.type == MARKERS_STR)
		arg.text_len = (uint16_t)v.len;
	memcpy(ev->bytes + ev->len, &arg, sizeof(arg));
	memcpy(ev->bytes + ev->len + sizeof(arg), key, key_len);
	memcpy(ev->bytes + ev->len + sizeof(arg) + key_len, text, arg.text_len);
	ev->len += (uint32_t)MARKERS_ALIGN(sizeof(arg) + key_len + arg.text_len);
	ev->n_args++;
	return 0;
}

static int read_args(struct reader *r, struct markers_event *ev)
{
	int e;

	if (!take(r, '{'))
		return -EINVAL;
	if (take(r, '}'))
		return 0;
	do {
		e = read_pair(r, ev);
		if (e < 0)
			return e;
	} while (take(r, ','));
	return take(r, '}') ? 0 : -EINVAL;
}

static int read_phase(struct reader *r, struct markers_event *ev)
{
	static const char *const phases[N_MARKERS_PHASES] = {
		[MARKERS_BEGIN] = "begin",	   [MARKERS_END] = "end",
		[MARKERS_INSTANT] = "instant",	   [MARKERS_COUNTER] = "counter",
		[MARKERS_COUNTER_F64] = "",	   [MARKERS_ASYNC_BEGIN] = "async_begin",
		[MARKERS_ASYNC_END] = "async_end",
	};
	char text[16];
	struct value v = { .text = text, .max = sizeof(text) - 1 };

	if (read_string(r, &v) < 0 || v.is_cut || v.len == 0)
		return -EINVAL;
	text[v.len] = '\0';
	for (uint8_t i = 0; i < N_MARKERS_PHASES; i++) {
		if (strcmp(text, phases[i]) == 0) {
			ev->phase = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* What the record is made of, in whichever order it comes. */
struct parts {
	bool has_name, has_phase, has_args, has_value, has_id;
	struct reader args; /* at its beginning */
	struct value value, id;
};

/* `args` are put behind the name, which may come later. */
static int read_member(struct reader *r, struct markers_event *ev, struct parts *p)
{
	char key[8], none[1];
	struct markers_event *scratch;
	struct value name = { .text = (char *)ev->bytes, .max = MARKERS_NAME - 1 };
	size_t len;
	bool *has;
	int e = read_name(r, key, sizeof(key), &len);

	if (e < 0)
		return -EINVAL;
	key[len] = '\0';
	has = strcmp(key, "name") == 0	  ? &p->has_name
	      : strcmp(key, "phase") == 0 ? &p->has_phase
	      : strcmp(key, "args") == 0  ? &p->has_args
	      : strcmp(key, "value") == 0 ? &p->has_value
	      : strcmp(key, "id") == 0	  ? &p->has_id
					  : NULL;
	if (!has || *has)
		return -EINVAL;
	*has = true;
	if (has == &p->has_phase)
		return read_phase(r, ev);
	if (has == &p->has_value || has == &p->has_id) {
		struct value *v = has == &p->has_id ? &p->id : &p->value;

		*v = (struct value){ .text = none };
		return read_value(r, v);
	}
	if (has == &p->has_name) {
		e = read_string(r, &name);
		ev->name_len = (uint8_t)name.len;
		return e < 0 ? e : name.is_cut ? -E2BIG : 0;
	}
	skip_blanks(r);
	p->args = *r;
	scratch = calloc(1, sizeof(*scratch)); /* to find the end */
	e = scratch ? read_args(r, scratch) : -ENOMEM;
	free(scratch);
	return e;
}

static int read_members(struct reader *r, struct markers_event *ev, struct parts *p)
{
	int e;

	if (!take(r, '{'))
		return -EINVAL;
	do {
		e = read_member(r, ev, p);
		if (e < 0)
			return e;
	} while (take(r, ','));
	if (!take(r, '}'))
		return -EINVAL;
	skip_blanks(r);
	return r->at == r->end ? 0 : -EINVAL;
}

static bool is_number(const struct value *v)
{
	return v->type == VALUE_I64 || v->type == VALUE_U64 || v->type == VALUE_F64;
}

static void set_counter(struct markers_event *ev, enum value_type type, uint64_t bits)
{
	double d = (double)bits;

	ev->value = bits;
	if (type == VALUE_F64 || (type == VALUE_U64 && bits > INT64_MAX))
		ev->phase = MARKERS_COUNTER_F64;
	if (type == VALUE_U64 && bits > INT64_MAX)
		memcpy(&ev->value, &d, sizeof(d));
}

/* The first number of `args` is the value, where that is not said on its own. */
static int counter_of_args(struct markers_event *ev)
{
	uint32_t at = MARKERS_ALIGN((uint32_t)ev->name_len);

	for (unsigned i = 0; i < ev->n_args; i++) {
		const struct markers_arg *arg = (const void *)(ev->bytes + at);

		if (arg->type == MARKERS_I64 || arg->type == MARKERS_U64 ||
		    arg->type == MARKERS_F64) {
			set_counter(ev,
				    arg->type == MARKERS_F64   ? VALUE_F64
				    : arg->type == MARKERS_I64 ? VALUE_I64
							       : VALUE_U64,
				    arg->value);
			return 0;
		}
		at += (uint32_t)MARKERS_ALIGN(sizeof(*arg) + arg->key_len + arg->text_len);
	}
	return -EINVAL;
}

static int set_value(struct markers_event *ev, const struct parts *p)
{
	bool async = ev->phase == MARKERS_ASYNC_BEGIN || ev->phase == MARKERS_ASYNC_END;
	bool counter = ev->phase == MARKERS_COUNTER;

	if (p->has_id != async || (p->has_value && !counter))
		return -EINVAL;
	if (async) {
		ev->value = p->id.bits;
		return p->id.type == VALUE_U64 || p->id.type == VALUE_I64 ? 0 : -EINVAL;
	}
	if (counter && !p->has_value)
		return counter_of_args(ev);
	if (!counter)
		return 0;
	if (!is_number(&p->value))
		return -EINVAL;
	set_counter(ev, p->value.type, p->value.bits);
	return 0;
}

int markers_json_parse(const char *text, size_t len, struct markers_event *ret)
{
	struct reader r = { text, text + len };
	struct parts p = { 0 };
	int e;

	memset(ret, 0, sizeof(*ret));
	ret->phase = MARKERS_INSTANT;
	if (len > MARKERS_DATAGRAM_MAX || !text_is_utf8(text, len))
		return -EINVAL;
	e = read_members(&r, ret, &p);
	/* Whatever ends without a name is the innermost one. */
	if (e == 0 && ret->name_len == 0 && ret->phase != MARKERS_END)
		e = -EINVAL;
	ret->len = MARKERS_ALIGN((uint32_t)ret->name_len);
	if (e == 0 && p.has_args)
		e = read_args(&p.args, ret);
	return e < 0 ? e : set_value(ret, &p);
}
