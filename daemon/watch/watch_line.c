/* SPDX-License-Identifier: Apache-2.0 */
/* watch_line.c - an event as a line of JSON. */
#include "watch/watch_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "collector.h"
#include "json.h"
#include "process/process_table.h"
#include "text.h"

static const char *const kinds[] = {
	[TAP_SLICE] = "slice",
	[TAP_INSTANT] = "instant",
	[TAP_COUNTER] = "counter",
	[TAP_LOSS] = "lost",
};

void watch_clock_set(struct watch_clock *clock)
{
	clock->wall_ns = clock_ns(CLOCK_REALTIME) - boot_ns();
}

/* Most lines are of the second of the one before. */
static void put_times(struct json *j, uint64_t time_ns, struct watch_clock *clock)
{
	uint64_t wall_ns = time_ns + clock->wall_ns;
	time_t second = (time_t)(wall_ns / NS_PER_SEC);
	char text[sizeof(clock->text) + 16];
	struct tm tm;

	if (clock->second != (uint64_t)second || !clock->text[0]) {
		if (!gmtime_r(&second, &tm) ||
		    !strftime(clock->text, sizeof(clock->text), "%Y-%m-%dT%H:%M:%S", &tm))
			strcpy(clock->text, "1970-01-01T00:00:00");
		clock->second = (uint64_t)second;
	}
	snprintf(text, sizeof(text), "%s.%09uZ", clock->text, (unsigned)(wall_ns % NS_PER_SEC));
	json_u64(j, "time", time_ns);
	json_string(j, "wall", text);
}

static void put_owner(struct json *j, const struct trace_tap_event *ev,
		      const struct process_table *pt)
{
	const struct process *p = pt ? process_table_get(pt, ev->tgid) : NULL;
	const struct thread *t = pt && ev->tid ? process_table_thread(pt, ev->tid) : NULL;

	if (!ev->tgid)
		return;
	json_u64(j, "pid", ev->tgid);
	if (ev->tid)
		json_u64(j, "tid", ev->tid);
	if (p)
		json_string(j, "process", p->comm);
	if (t && t->tgid == ev->tgid)
		json_string(j, "thread", t->comm);
}

/* ---- arguments ---- */

static void put_value(struct json *j, const char *name, const struct trace_arg *arg)
{
	char text[24];

	switch (arg->type) {
	case ARG_UINT:
		json_u64(j, name, arg->u);
		break;
	case ARG_INT:
		json_i64(j, name, arg->i);
		break;
	case ARG_BOOL:
		json_bool(j, name, arg->u != 0);
		break;
	case ARG_DOUBLE:
		json_double(j, name, arg->d);
		break;
	case ARG_POINTER:
		snprintf(text, sizeof(text), "0x%" PRIx64, arg->u);
		json_string(j, name, text);
		break;
	case ARG_STRING:
	case ARG_REPEATED:
	case ARG_LITERAL:
		json_string(j, name, arg->s);
		break;
	}
}

#define MAX_NAME 128

static bool is_taken(char names[][MAX_NAME], size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Readers keep one of several members of a name: the second one is "NAME#2". */
static const char *own_name(char names[][MAX_NAME], size_t i, const char *name)
{
	size_t len = text_utf8(names[i], MAX_NAME - 8, name, strlen(name));

	for (unsigned n = 2; is_taken(names, i, names[i]); n++)
		snprintf(names[i] + len, MAX_NAME - len, "#%u", n);
	return names[i];
}

static void put_args(struct json *j, const struct trace_tap_event *ev)
{
	char names[TRACE_MAX_ARGS][MAX_NAME];

	if (!ev->n_args)
		return;
	json_object(j, "args");
	for (size_t i = 0; i < ev->n_args && i < TRACE_MAX_ARGS; i++)
		put_value(j, own_name(names, i, ev->args[i].name), &ev->args[i]);
	json_end(j);
}

/* ---- lines ---- */

/* Whole, or not at all. */
static int end_line(struct json *j, size_t begin)
{
	json_end(j);
	if (j->failed || buf_append(j->buf, "\n", 1) < 0) {
		j->buf->len = begin;
		return -ENOMEM;
	}
	return 0;
}

static const char *source_name(unsigned source)
{
	for (unsigned i = 0; collectors[i]; i++)
		if (i == source)
			return collectors[i]->name;
	return "tracer";
}

int watch_line_event(struct buf *lines, const struct trace_tap_event *ev,
		     const struct process_table *pt, struct watch_clock *clock)
{
	struct json j = { .buf = lines };
	size_t begin = lines->len;

	json_object(&j, NULL);
	json_string(&j, "type", kinds[ev->kind]);
	put_times(&j, ev->time_ns, clock);
	if (ev->kind == TAP_SLICE)
		json_u64(&j, "duration", ev->end_ns > ev->time_ns ? ev->end_ns - ev->time_ns : 0);
	json_string(&j, "source", source_name(ev->source));
	json_string(&j, "name", ev->name);
	if (ev->category)
		json_string(&j, "category", ev->category);
	put_owner(&j, ev, pt);
	if (ev->kind == TAP_COUNTER)
		json_double(&j, "value", ev->value);
	else if (ev->track)
		json_string(&j, "track", ev->track);
	put_args(&j, ev);
	return end_line(&j, begin);
}

int watch_line_lost(struct buf *lines, uint64_t n, const char *source, const char *reason,
		    uint64_t time_ns, struct watch_clock *clock)
{
	struct json j = { .buf = lines };
	size_t begin = lines->len;

	json_object(&j, NULL);
	json_string(&j, "type", kinds[TAP_LOSS]);
	put_times(&j, time_ns, clock);
	json_u64(&j, "lost", n);
	if (source)
		json_string(&j, "source", source);
	json_string(&j, "reason", reason);
	return end_line(&j, begin);
}
