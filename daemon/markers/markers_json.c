/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markers_json.c - a datagram's JSON as the record of a marker.
 *
 * Our own, since it needs no tree of objects: what is read goes into the record at once,
 * and nothing nests deeper than `args`, which a library would let it.
 */
#include "markers_json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json_reader.h"
#include "text.h"

static int read_name(struct json_reader *r, char *dst, size_t max, size_t *ret_len)
{
	struct json_value v = { .text = dst, .max = max - 1 };

	if (json_read_string(r, &v) < 0 || !json_take(r, ':'))
		return -EINVAL;
	*ret_len = v.len;
	return v.is_cut ? -E2BIG : 0;
}

static void set_arg(struct markers_arg *arg, const struct json_value *v)
{
	static const uint8_t types[] = {
		[JSON_NULL] = MARKERS_STR, [JSON_BOOL] = MARKERS_BOOL, [JSON_I64] = MARKERS_I64,
		[JSON_U64] = MARKERS_U64,  [JSON_F64] = MARKERS_F64,   [JSON_STR] = MARKERS_STR,
	};

	arg->type = types[v->type];
	/* Whole numbers of one key are all of one type, if they can. */
	if (v->type == JSON_U64 && v->bits <= INT64_MAX)
		arg->type = MARKERS_I64;
	if (arg->type != MARKERS_STR)
		arg->value = v->bits;
}

static int read_pair(struct json_reader *r, struct markers_event *ev)
{
	char key[MARKERS_KEY], text[MARKERS_TEXT];
	struct json_value v = { .text = text, .max = sizeof(text) - 1 };
	struct markers_arg arg = { 0 };
	size_t key_len;
	int e = read_name(r, key, sizeof(key), &key_len);

	if (e == 0)
		e = json_read_value(r, &v);
	if (e < 0)
		return e;
	if (v.type == JSON_STR && v.is_cut)
		ev->flags |= MARKERS_CUT;
	if (ev->n_args == MARKERS_ARGS || ev->len > MARKERS_ROOM - MARKERS_ARG_MAX) {
		ev->flags |= MARKERS_CUT;
		return 0;
	}
	set_arg(&arg, &v);
	arg.key_len = (uint8_t)key_len;
	if (v.type == JSON_NULL)
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

static int read_args(struct json_reader *r, struct markers_event *ev)
{
	int e;

	if (!json_take(r, '{'))
		return -EINVAL;
	if (json_take(r, '}'))
		return 0;
	do {
		e = read_pair(r, ev);
		if (e < 0)
			return e;
	} while (json_take(r, ','));
	return json_take(r, '}') ? 0 : -EINVAL;
}

static int read_phase(struct json_reader *r, struct markers_event *ev)
{
	static const char *const phases[N_MARKERS_PHASES] = {
		[MARKERS_BEGIN] = "begin",	   [MARKERS_END] = "end",
		[MARKERS_INSTANT] = "instant",	   [MARKERS_COUNTER] = "counter",
		[MARKERS_COUNTER_F64] = "",	   [MARKERS_ASYNC_BEGIN] = "async_begin",
		[MARKERS_ASYNC_END] = "async_end",
	};
	char text[16];
	struct json_value v = { .text = text, .max = sizeof(text) - 1 };

	if (json_read_string(r, &v) < 0 || v.is_cut || v.len == 0)
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
	struct json_reader args; /* at its beginning */
	struct json_value value, id;
};

/* `args` are put behind the name, which may come later. */
static int read_member(struct json_reader *r, struct markers_event *ev, struct parts *p)
{
	char key[8], none[1];
	struct markers_event *scratch;
	struct json_value name = { .text = (char *)ev->bytes, .max = MARKERS_NAME - 1 };
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
		struct json_value *v = has == &p->has_id ? &p->id : &p->value;

		*v = (struct json_value){ .text = none };
		return json_read_value(r, v);
	}
	if (has == &p->has_name) {
		e = json_read_string(r, &name);
		ev->name_len = (uint8_t)name.len;
		return e < 0 ? e : name.is_cut ? -E2BIG : 0;
	}
	json_skip_blanks(r);
	p->args = *r;
	scratch = calloc(1, sizeof(*scratch)); /* to find the end */
	e = scratch ? read_args(r, scratch) : -ENOMEM;
	free(scratch);
	return e;
}

static int read_members(struct json_reader *r, struct markers_event *ev, struct parts *p)
{
	int e;

	if (!json_take(r, '{'))
		return -EINVAL;
	do {
		e = read_member(r, ev, p);
		if (e < 0)
			return e;
	} while (json_take(r, ','));
	if (!json_take(r, '}'))
		return -EINVAL;
	json_skip_blanks(r);
	return r->at == r->end ? 0 : -EINVAL;
}

static bool is_number(const struct json_value *v)
{
	return v->type == JSON_I64 || v->type == JSON_U64 || v->type == JSON_F64;
}

static void set_counter(struct markers_event *ev, enum json_type type, uint64_t bits)
{
	double d = (double)bits;

	ev->value = bits;
	if (type == JSON_F64 || (type == JSON_U64 && bits > INT64_MAX))
		ev->phase = MARKERS_COUNTER_F64;
	if (type == JSON_U64 && bits > INT64_MAX)
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
				    arg->type == MARKERS_F64   ? JSON_F64
				    : arg->type == MARKERS_I64 ? JSON_I64
							       : JSON_U64,
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
		return p->id.type == JSON_U64 || p->id.type == JSON_I64 ? 0 : -EINVAL;
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
	struct json_reader r = { text, text + len };
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
