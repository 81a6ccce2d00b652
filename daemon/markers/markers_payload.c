/* SPDX-License-Identifier: Apache-2.0 */
/* markers_payload.c - records of markers: are they ours, and what is in them. */
#include "markers_payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "hash.h"

/* Of one session; those beyond share one. */
#define MAX_KEYS  16384
#define MAX_NAMES 65536

struct markers_keys {
	struct hash *texts;
	struct hash *names;
};

/* ---- records ---- */

/* Where the pair ends that is at `at`; 0: there is none. */
static size_t behind_pair(const struct markers_event *ev, size_t at)
{
	const struct markers_arg *arg = (const void *)(ev->bytes + at);
	size_t end;

	if (at + sizeof(*arg) > ev->len)
		return 0;
	end = at + sizeof(*arg) + arg->key_len + arg->text_len;
	if (arg->pad || arg->key_len >= MARKERS_KEY || arg->text_len >= MARKERS_TEXT)
		return 0;
	if (arg->type == MARKERS_STR ? arg->value != 0 : arg->text_len != 0)
		return 0;
	return MARKERS_ALIGN(end) <= ev->len ? MARKERS_ALIGN(end) : 0;
}

static bool valid_mark(const struct markers_event *ev)
{
	size_t at = MARKERS_ALIGN((size_t)ev->name_len);

	if (ev->phase >= N_MARKERS_PHASES || (ev->flags & ~MARKERS_FLAGS) ||
	    ev->n_args > MARKERS_ARGS || ev->name_len >= MARKERS_NAME || at > ev->len)
		return false;
	for (unsigned i = 0; i < ev->n_args; i++) {
		at = behind_pair(ev, at);
		if (at == 0)
			return false;
	}
	return at == ev->len;
}

bool markers_valid(const struct event_hdr *hdr, size_t len)
{
	const struct markers_event *ev = (const void *)hdr;

	if (len < MARKERS_HEAD || len > sizeof(*ev) || hdr->size != len || hdr->stream != 0 ||
	    hdr->cpu >= MAX_CPUS || !hdr->tgid || !hdr->tid || ev->len > MARKERS_ROOM ||
	    len != MARKERS_HEAD + ev->len)
		return false;
	return hdr->type == MARKERS_REFUSED || (hdr->type == MARKERS_MARK && valid_mark(ev));
}

/* ---- keys ---- */

int markers_keys_new(struct markers_keys **ret)
{
	struct markers_keys *keys = calloc(1, sizeof(*keys));
	int r = keys ? hash_new(&keys->texts) : -ENOMEM;

	if (r == 0)
		r = hash_new(&keys->names);
	if (r < 0) {
		markers_keys_free(keys);
		return r;
	}
	*ret = keys;
	return 0;
}

void markers_keys_free(struct markers_keys *keys)
{
	size_t pos = 0;
	void *text;

	if (!keys)
		return;
	while (keys->texts && hash_next(keys->texts, &pos, NULL, NULL, &text))
		free(text);
	hash_free(keys->texts);
	hash_free(keys->names);
	free(keys);
}

const char *markers_key(struct markers_keys *keys, const void *key, size_t len)
{
	char *text;

	if (len == 0)
		return "?";
	text = hash_get(keys->texts, key, len);
	if (text)
		return text;
	if (hash_count(keys->texts) >= MAX_KEYS)
		return "(a key too many)";
	text = strndup(key, len);
	if (!text || hash_set(keys->texts, key, len, text) < 0) {
		free(text);
		return "?";
	}
	return text;
}

const char *markers_known_name(struct markers_keys *keys, const char *name)
{
	size_t len = strlen(name);

	if (len == 0)
		return "(no name)";
	if (hash_get(keys->names, name, len))
		return name;
	if (hash_count(keys->names) >= MAX_NAMES || hash_set(keys->names, name, len, keys) < 0)
		return "(a name too many)";
	return name;
}

/* ---- slices ---- */

void markers_name(const struct markers_event *ev, char dst[MARKERS_NAME])
{
	memcpy(dst, ev->bytes, ev->name_len);
	dst[ev->name_len] = '\0';
}

void markers_slice_init(struct markers_slice *s, struct markers_keys *keys,
			const struct markers_event *ev)
{
	memset(&s->event, 0, sizeof(s->event));
	s->len = 0;
	markers_name(ev, s->name);
	s->event.name = markers_known_name(keys, s->name);
	s->event.category = "marker";
	s->event.args = s->args;
}

static struct trace_arg *add(struct markers_slice *s, const char *key, enum trace_arg_type type)
{
	struct trace_arg *arg;

	if (s->event.n_args == TRACE_MAX_ARGS)
		return NULL;
	arg = &s->args[s->event.n_args++];
	arg->name = key;
	arg->type = type;
	return arg;
}

void markers_slice_true(struct markers_slice *s, const char *literal)
{
	struct trace_arg *arg = add(s, literal, ARG_BOOL);

	if (arg)
		arg->u = 1;
}

static const char *keep_text(struct markers_slice *s, const void *text, size_t len)
{
	char *dst = s->text + s->len;

	if (len >= sizeof(s->text) - s->len)
		return "";
	memcpy(dst, text, len);
	dst[len] = '\0';
	s->len += len + 1;
	return dst;
}

static void add_pair(struct markers_slice *s, struct markers_keys *keys,
		     const struct markers_arg *from)
{
	static const enum trace_arg_type types[N_MARKERS_ARG_TYPES] = {
		[MARKERS_I64] = ARG_INT,    [MARKERS_U64] = ARG_UINT,  [MARKERS_F64] = ARG_DOUBLE,
		[MARKERS_STR] = ARG_STRING, [MARKERS_BOOL] = ARG_BOOL,
	};
	const uint8_t *key = (const uint8_t *)(from + 1);
	struct trace_arg *arg;

	if (from->type == 0 || from->type >= N_MARKERS_ARG_TYPES) {
		markers_slice_true(s, "marker_of_another_version");
		return;
	}
	arg = add(s, markers_key(keys, key, from->key_len), types[from->type]);
	if (!arg)
		return;
	if (from->type == MARKERS_STR)
		arg->s = keep_text(s, key + from->key_len, from->text_len);
	else
		arg->u = from->value;
}

void markers_slice_add(struct markers_slice *s, struct markers_keys *keys,
		       const struct markers_event *ev)
{
	size_t at = MARKERS_ALIGN((size_t)ev->name_len);

	for (unsigned i = 0; i < ev->n_args; i++) {
		add_pair(s, keys, (const void *)(ev->bytes + at));
		at = behind_pair(ev, at);
	}
	if (ev->flags & MARKERS_CUT)
		markers_slice_true(s, "payload_cut");
	if (ev->flags & MARKERS_UNREADABLE)
		markers_slice_true(s, "payload_unreadable");
}
