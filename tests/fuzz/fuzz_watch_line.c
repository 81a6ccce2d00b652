/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the names and arguments of an event: what comes out is a line of JSON. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/json_text.h"
#include "watch/watch_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                  \
	do {                              \
		if (!(condition))         \
			__builtin_trap(); \
	} while (0)

static const uint8_t *at, *end;

static uint64_t number(size_t n)
{
	uint64_t value = 0;

	for (; n > 0 && at < end; n--)
		value = value << 8 | *at++;
	return value;
}

/* What is up to the next NUL, in memory of its own. */
static char *text(void)
{
	size_t len = strnlen((const char *)at, (size_t)(end - at));
	char *copy = strndup((const char *)at, len);

	if (!copy)
		abort();
	at += len < (size_t)(end - at) ? len + 1 : len;
	return copy;
}

static void fill_arg(struct trace_arg *arg, char **name, char **value)
{
	*name = text();
	*value = NULL;
	arg->name = *name;
	arg->type = (enum trace_arg_type)(number(1) % (ARG_LITERAL + 1));
	if (arg->type == ARG_STRING || arg->type == ARG_REPEATED || arg->type == ARG_LITERAL)
		arg->s = *value = text();
	else
		arg->u = number(8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_arg args[TRACE_MAX_ARGS];
	char *names[TRACE_MAX_ARGS], *values[TRACE_MAX_ARGS], *name, *category, *track;
	struct trace_tap_event ev = { .args = args };
	struct watch_clock clock = { 0 };
	struct buf lines = { 0 };
	uint64_t bits;

	at = data;
	end = data + size;
	ev.kind = (enum trace_tap_kind)(number(1) % TAP_LOSS);
	ev.source = (unsigned)number(1);
	ev.tgid = (uint32_t)number(1);
	ev.tid = (uint32_t)number(1);
	ev.time_ns = number(8);
	ev.end_ns = number(8);
	clock.wall_ns = number(8);
	bits = number(8);
	memcpy(&ev.value, &bits, sizeof(bits));
	ev.name = name = text();
	ev.category = category = text();
	ev.track = track = text();
	for (; at < end && ev.n_args < TRACE_MAX_ARGS; ev.n_args++)
		fill_arg(&args[ev.n_args], &names[ev.n_args], &values[ev.n_args]);

	CHECK(watch_line_event(&lines, &ev, NULL, &clock) == 0);
	CHECK(json_text_is_line((const char *)lines.data, lines.len));
	lines.len = 0;
	CHECK(watch_line_lost(&lines, ev.time_ns, name, category, ev.end_ns, &clock) == 0);
	CHECK(json_text_is_line((const char *)lines.data, lines.len));

	for (size_t i = 0; i < ev.n_args; i++) {
		free(names[i]);
		free(values[i]);
	}
	free(name);
	free(category);
	free(track);
	buf_done(&lines);
	return 0;
}
