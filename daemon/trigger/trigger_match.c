/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_match.c - one event and one trigger. Every event that is recorded comes through
 * here, so what is quickly looked at and seldom true comes first.
 */
#include "trigger/trigger_match.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* ---- arguments ---- */

static const struct trace_arg *find_arg(const struct trace_tap_event *ev, const char *name)
{
	for (size_t i = 0; i < ev->n_args; i++)
		if (strcmp(ev->args[i].name, name) == 0)
			return &ev->args[i];
	return NULL;
}

/* NULL: it is a number. */
static const char *arg_text(const struct trace_arg *arg)
{
	switch (arg->type) {
	case ARG_STRING:
	case ARG_REPEATED:
	case ARG_LITERAL:
		return arg->s;
	default:
		return NULL;
	}
}

static long double arg_number(const struct trace_arg *arg)
{
	switch (arg->type) {
	case ARG_INT:
		return arg->i;
	case ARG_DOUBLE:
		return arg->d;
	case ARG_BOOL:
		return arg->u != 0;
	default:
		return arg->u;
	}
}

static bool matches_number(const struct trigger_spec *spec, const struct trace_tap_event *ev,
			   const char *name)
{
	const struct trace_arg *arg = find_arg(ev, name);

	return arg && !arg_text(arg) && trigger_compare(spec->op, arg_number(arg), spec->number);
}

/* An argument that somebody has named: a number, or a text. */
static bool matches_arg(const struct trigger_spec *spec, const struct trace_tap_event *ev)
{
	const struct trace_arg *arg;
	const char *text;

	if (spec->op == TRIGGER_ANY)
		return true;
	arg = find_arg(ev, spec->arg);
	if (!arg)
		return false;
	text = arg_text(arg);
	if (text)
		return (spec->op == TRIGGER_EQ || spec->op == TRIGGER_NE) &&
		       (fnmatch(spec->value, text, 0) == 0) == (spec->op == TRIGGER_EQ);
	if (arg->type == ARG_BOOL && !spec->is_number)
		return (strcmp(spec->value, arg->u ? "true" : "false") == 0) ==
		       (spec->op == TRIGGER_EQ);
	return spec->is_number && trigger_compare(spec->op, arg_number(arg), spec->number);
}

/* Whose it is: that of the track, or one that is named. */
static uint32_t tgid_of(const struct trace_tap_event *ev)
{
	const struct trace_arg *pid = ev->tgid ? NULL : find_arg(ev, "pid");

	return pid && pid->type == ARG_UINT ? (uint32_t)pid->u : ev->tgid;
}

/* Drawn to where it is known, which is not how long it took. */
static bool is_unfinished(const struct trace_tap_event *ev)
{
	return find_arg(ev, "unfinished") != NULL;
}

/* ---- kinds ---- */

static bool is_of(const struct trace_tap_event *ev, enum trace_tap_kind kind, const char *category)
{
	return ev->kind == kind && ev->category && strcmp(ev->category, category) == 0;
}

static bool took(const struct trigger_spec *spec, const struct trace_tap_event *ev)
{
	return trigger_compare(spec->op, ev->end_ns - ev->time_ns, spec->number) &&
	       !is_unfinished(ev);
}

/* Of a program; what is compared of its end is `arg`. */
static bool ended(const struct trigger_spec *spec, const struct trace_tap_event *ev,
		  const char *name)
{
	const struct trace_arg *comm;

	if (!is_of(ev, TAP_INSTANT, "process") || strcmp(ev->name, "exit") != 0 ||
	    !find_arg(ev, name))
		return false;
	comm = find_arg(ev, "comm");
	return (spec->op == TRIGGER_ANY || matches_number(spec, ev, name)) && comm &&
	       arg_text(comm) && fnmatch(spec->name, arg_text(comm), 0) == 0;
}

static bool matches_kind(const struct trigger_spec *spec, const struct trace_tap_event *ev)
{
	switch (spec->kind) {
	case TRIGGER_SLICE:
		return ev->kind == TAP_SLICE && took(spec, ev) &&
		       fnmatch(spec->name, ev->name, 0) == 0;
	case TRIGGER_LATE_FRAME:
		return is_of(ev, TAP_SLICE, "frame") && strcmp(ev->name, "frame late") == 0 &&
		       (spec->op == TRIGGER_ANY || matches_number(spec, ev, "late_by_vblanks"));
	case TRIGGER_HTTP_STATUS:
		return is_of(ev, TAP_SLICE, "http") && matches_number(spec, ev, "status");
	case TRIGGER_HTTP_LATENCY:
		return is_of(ev, TAP_SLICE, "http") && took(spec, ev);
	case TRIGGER_EXIT:
		return ended(spec, ev, "code");
	case TRIGGER_SIGNAL:
		return ended(spec, ev, "signal");
	case TRIGGER_PROBE:
	case TRIGGER_MARKER:
		return ev->kind != TAP_COUNTER && fnmatch(spec->name, ev->name, 0) == 0 &&
		       matches_arg(spec, ev);
	case TRIGGER_PSI:
	case TRIGGER_SIGUSR2:
		break; /* no events */
	}
	return false;
}

const char *trigger_source(const struct trigger_spec *spec)
{
	switch (spec->kind) {
	case TRIGGER_LATE_FRAME:
		return "gpu";
	case TRIGGER_HTTP_STATUS:
	case TRIGGER_HTTP_LATENCY:
		return "net";
	case TRIGGER_PROBE:
		return "probes";
	case TRIGGER_MARKER:
		return "markers";
	default:
		return NULL;
	}
}

bool trigger_match(const struct trigger_spec *spec, int source, const struct trace_tap_event *ev,
		   trigger_comm_fn *comm, void *ctx)
{
	if (source >= 0 && (unsigned)source != ev->source)
		return false;
	if (!matches_kind(spec, ev) || (spec->pid && spec->pid != tgid_of(ev)))
		return false;
	if (spec->category[0] && (!ev->category || fnmatch(spec->category, ev->category, 0) != 0))
		return false;
	return !spec->comm[0] ||
	       (tgid_of(ev) && fnmatch(spec->comm, comm(ctx, tgid_of(ev)), 0) == 0);
}

/* ---- words ---- */

static void put_duration(char *dst, size_t size, uint64_t ns)
{
	if (ns < 1000)
		snprintf(dst, size, "%u ns", (unsigned)ns);
	else if (ns < 1000000)
		snprintf(dst, size, "%.1f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(dst, size, "%.1f ms", (double)ns / 1e6);
	else
		snprintf(dst, size, "%.2f s", (double)ns / 1e9);
}

static void put_value(char *dst, size_t size, const struct trace_arg *arg)
{
	const char *text = arg_text(arg);

	if (text)
		snprintf(dst, size, "'%s'", text);
	else if (arg->type == ARG_DOUBLE)
		snprintf(dst, size, "%g", arg->d);
	else if (arg->type == ARG_INT)
		snprintf(dst, size, "%lld", (long long)arg->i);
	else if (arg->type == ARG_POINTER)
		snprintf(dst, size, "0x%llx", (unsigned long long)arg->u);
	else
		snprintf(dst, size, "%llu", (unsigned long long)arg->u);
}

static void describe_end(const struct trigger_spec *spec, const struct trace_tap_event *ev,
			 char *dst, size_t size)
{
	const struct trace_arg *comm = find_arg(ev, "comm");
	char text[TRIGGER_SIGNAL_LEN];

	if (spec->kind == TRIGGER_EXIT) {
		snprintf(dst, size, "%s exited with %llu", arg_text(comm),
			 (unsigned long long)find_arg(ev, "code")->u);
		return;
	}
	trigger_signal_text((int)find_arg(ev, "signal")->u, text);
	snprintf(dst, size, "%s was killed by %s", arg_text(comm), text);
}

/* "'NAME' took 12.3 ms, ARG 5" */
static void describe_slice(const struct trace_tap_event *ev, const char *arg_name, char *dst,
			   size_t size)
{
	const struct trace_arg *arg = arg_name ? find_arg(ev, arg_name) : NULL;
	char duration[32], value[128] = "";
	size_t len;

	put_duration(duration, sizeof(duration), ev->end_ns - ev->time_ns);
	if (arg)
		put_value(value, sizeof(value), arg);
	len = (size_t)snprintf(dst, size, "'%.120s'%s%s", ev->name,
			       ev->kind == TAP_SLICE ? " took " : "",
			       ev->kind == TAP_SLICE ? duration : "");
	if (arg && len < size)
		snprintf(dst + len, size - len, ", %s %s", arg_name, value);
}

void trigger_describe(const struct trigger_spec *spec, const struct trace_tap_event *ev,
		      trigger_comm_fn *comm, void *ctx, struct trigger_fired *ret)
{
	const char *arg = NULL, *text;
	char what[TRIGGER_WHAT_LEN];

	*ret = (struct trigger_fired){
		.time_ns = ev->end_ns,
		.tgid = tgid_of(ev),
		.tid = ev->tid,
		.duration_ns = ev->kind == TAP_SLICE ? ev->end_ns - ev->time_ns : 0,
	};
	text = ret->tgid ? comm(ctx, ret->tgid) : "";
	text_utf8(ret->comm, sizeof(ret->comm), text, strlen(text));
	if (spec->kind == TRIGGER_LATE_FRAME)
		arg = "late_by_vblanks";
	else if (spec->kind == TRIGGER_HTTP_STATUS || spec->kind == TRIGGER_HTTP_LATENCY)
		arg = "status";
	else if (spec->op != TRIGGER_ANY && spec->arg[0])
		arg = spec->arg;
	if (spec->kind == TRIGGER_EXIT || spec->kind == TRIGGER_SIGNAL)
		describe_end(spec, ev, what, sizeof(what));
	else
		describe_slice(ev, arg, what, sizeof(what));
	text_utf8(ret->what, sizeof(ret->what), what, strlen(what));
}

void trigger_fired_text(const char *spec, const struct trigger_fired *fired,
			char dst[TRIGGER_TEXT_LEN])
{
	char text[TRIGGER_TEXT_LEN];
	int len = snprintf(text, sizeof(text), "%s: %s", spec, fired->what);

	if (fired->tgid && len >= 0 && (size_t)len < sizeof(text))
		snprintf(text + len, sizeof(text) - (size_t)len, ", by %s (%u)",
			 fired->comm[0] ? fired->comm : "?", fired->tgid);
	text_utf8(dst, TRIGGER_TEXT_LEN, text, strlen(text));
}
