/* SPDX-License-Identifier: Apache-2.0 */
/* control_probe_def.c - probes out of the texts that clients send, and back. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control_probes.h"
#include "text.h"

/* ---- from texts ---- */

/* NULL: nothing was said. */
static int take_text(char *dst, size_t size, const char *what, const char *text,
		     char why[PROBE_WHY_LEN])
{
	size_t len = text ? strlen(text) : 0;

	if (len >= size) {
		snprintf(why, PROBE_WHY_LEN, "%s has at most %zu bytes", what, size - 1);
		return -EINVAL;
	}
	memcpy(dst, text ? text : "", len + 1);
	return 0;
}

/* It is said in lists, on tracks and on command lines, where a number is an id. */
static int take_name(struct probe_def *def, const char *name, char why[PROBE_WHY_LEN])
{
	int r = take_text(def->name, sizeof(def->name), "the name of a probe", name, why);

	if (r < 0)
		return r;
	if (def->name[0] && strspn(def->name, "0123456789") != strlen(def->name) &&
	    !strpbrk(def->name, " \t\n\"'\\") && text_is_utf8(def->name, strlen(def->name)))
		return 0;
	snprintf(why, PROBE_WHY_LEN,
		 "the name of a probe is one word, and no number: it stands in lists and traces");
	return -EINVAL;
}

static int take_place(struct probe_place *place, const char *what, const char *spec,
		      char why[PROBE_WHY_LEN])
{
	if (spec && strlen(spec) < PROBE_SPEC_LEN)
		return probe_place_parse(spec, place, why);
	if (spec)
		snprintf(why, PROBE_WHY_LEN, "%s has at most %d bytes", what, PROBE_SPEC_LEN - 1);
	else
		snprintf(why, PROBE_WHY_LEN,
			 "it does not say where it is: want uprobe:PATH:FUNCTION, "
			 "usdt:PATH:PROVIDER:NAME, tracepoint:SYSTEM:NAME or another SPEC");
	return -EINVAL;
}

static int take_args(struct probe_def *def, char *const *texts, size_t n, char why[PROBE_WHY_LEN])
{
	for (size_t i = 0; i < n; i++) {
		int r;

		if (def->n_args == PROBES_ARGS) {
			snprintf(why, PROBE_WHY_LEN, "a probe has at most %d arguments",
				 PROBES_ARGS);
			return -EINVAL;
		}
		r = probe_arg_parse(texts[i], &def->args[def->n_args], why);
		if (r < 0)
			return r;
		def->n_args++;
	}
	return 0;
}

static int take_parts(const ProbeDef *msg, struct probe_def *def, char why[PROBE_WHY_LEN])
{
	int r = take_place(&def->at, "the place of a probe", msg->at, why);

	def->has_end = msg->end && msg->end[0];
	if (r == 0 && def->has_end)
		r = take_place(&def->end, "the end of a probe", msg->end, why);
	if (r == 0)
		r = take_args(def, msg->args, msg->n_args, why);
	if (r == 0)
		r = take_text(def->condition, sizeof(def->condition), "a condition", msg->condition,
			      why);
	if (r == 0)
		r = take_text(def->key, sizeof(def->key), "a key", msg->key, why);
	if (r == 0 && msg->counter && msg->counter[0])
		r = probe_arg_parse(msg->counter, &def->counter, why);
	return r;
}

int control_probe_def(const ProbeDef *msg, struct probe_def *ret, char why[PROBE_WHY_LEN])
{
	char reason[PROBE_WHY_LEN] = "";
	int r;

	memset(ret, 0, sizeof(*ret));
	r = take_name(ret, msg->name, why);
	if (r < 0)
		return r;
	ret->with_stack = msg->stack;
	ret->rate = msg->rate;
	r = take_parts(msg, ret, reason);
	if (r == 0)
		r = probe_def_check(ret, reason);
	if (r < 0)
		snprintf(why, PROBE_WHY_LEN, "probe %s: %.*s", ret->name,
			 PROBE_WHY_LEN - PROBE_NAME_LEN - 16, reason);
	return r;
}

/* ---- to texts ---- */

static void type_text(const struct probe_arg *arg, char *dst, size_t size)
{
	static const char *const letters[] = {
		[PROBE_TYPE_SIGNED] = "s", [PROBE_TYPE_UNSIGNED] = "u",	 [PROBE_TYPE_HEX] = "x",
		[PROBE_TYPE_FLOAT] = "f",  [PROBE_TYPE_POINTER] = "ptr", [PROBE_TYPE_BOOL] = "bool",
		[PROBE_TYPE_TEXT] = "str",
	};

	if (arg->type == PROBE_TYPE_AUTO)
		dst[0] = '\0';
	else if (arg->type == PROBE_TYPE_TEXT && arg->size)
		snprintf(dst, size, ":str(%u)", arg->size);
	else if (arg->type == PROBE_TYPE_TEXT || arg->type == PROBE_TYPE_POINTER ||
		 arg->type == PROBE_TYPE_BOOL)
		snprintf(dst, size, ":%s", letters[arg->type]);
	else
		snprintf(dst, size, ":%s%u", letters[arg->type], arg->size ? arg->size * 8 : 64);
}

static char *arg_text(const struct probe_arg *arg, char *dst, size_t size)
{
	char type[16];

	type_text(arg, type, sizeof(type));
	snprintf(dst, size, "%s%s=%s%s", arg->name, arg->at_end ? "@end" : "", arg->expr, type);
	return dst;
}

void control_probe_texts(const struct probe_def *def, struct control_probe_texts *t)
{
	ProbeDef *msg = &t->msg;

	probe_def__init(msg);
	msg->name = (char *)def->name;
	probe_place_text(&def->at, t->at, sizeof(t->at));
	msg->at = t->at;
	if (def->has_end) {
		probe_place_text(&def->end, t->end, sizeof(t->end));
		msg->end = t->end;
	}
	msg->args = t->list;
	for (size_t i = 0; i < def->n_args; i++)
		msg->args[msg->n_args++] = arg_text(&def->args[i], t->args[i], sizeof(t->args[i]));
	if (def->condition[0])
		msg->condition = (char *)def->condition;
	if (def->key[0])
		msg->key = (char *)def->key;
	if (def->counter.name[0])
		msg->counter =
			arg_text(&def->counter, t->args[PROBES_ARGS], sizeof(t->args[PROBES_ARGS]));
	msg->has_stack = msg->has_rate = 1;
	msg->stack = def->with_stack;
	msg->rate = def->rate;
}
