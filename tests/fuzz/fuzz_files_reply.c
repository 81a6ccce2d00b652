/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a reply of the worker: refused, or read within their bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_types.h"
#include "symbolize/files_places.h"
#include "symbolize/files_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_string(const char *s, size_t len, size_t max, const char *end)
{
	if (len > max || s > end || len > (size_t)(end - s) || memchr(s, 0, len))
		abort();
}

static void read_names(struct files_reply *reply, const char *end)
{
	for (uint32_t i = 0; i < reply->head.n; i++) {
		struct files_entry e;

		files_reply_next(reply, &e);
		check_string(e.name, e.head.name_len, DEMANGLE_MAX, end);
	}
	if (reply->len != 0)
		abort();
}

static void read_lines(struct files_reply *reply, const char *end)
{
	for (uint32_t i = 0; i < reply->head.n; i++) {
		struct source_frame frames[FILES_FRAMES_MAX];
		size_t n = files_reply_next_lines(reply, frames);

		for (size_t j = 0; j < n; j++) {
			check_string(frames[j].function, frames[j].function_len, DEMANGLE_MAX, end);
			check_string(frames[j].source, frames[j].source_len, FILES_SOURCE_MAX, end);
		}
	}
	if (reply->len != 0)
		abort();
}

static void read_debug(const struct files_reply *reply)
{
	struct files_debug d;

	files_reply_get_debug(reply, &d);
	if (!memchr(d.info.link, 0, sizeof(d.info.link)) ||
	    !memchr(d.info.alt, 0, sizeof(d.info.alt)) || d.info.build_id_len > BUILD_ID_MAX ||
	    d.info.alt_build_id_len > BUILD_ID_MAX)
		abort();
}

static void read_functions(const struct files_reply *reply)
{
	uint64_t offsets[FILES_FUNCTIONS_MAX];

	if (reply->len != reply->head.n * sizeof(offsets[0]))
		abort();
	files_reply_get_functions(reply, offsets);
}

/* The files_place_fn. */
static int read_place(void *ctx, const struct files_place *place, const char *name,
		      const uint8_t *types)
{
	struct probe_types *t;

	check_string(name, place->name_len, FILES_PROBE_SYMBOL - 1, ctx);
	if (types + place->types_len > (const uint8_t *)ctx)
		abort();
	if (probe_types_decode(types, place->types_len, &t) == 0)
		probe_types_free(t);
	return 0;
}

static void read_places(const struct files_reply *reply, const char *end)
{
	struct files_places_answer a;

	if (files_places_decode(reply->entries, reply->len, read_place, (void *)end) < 0)
		abort();
	files_places_answer(reply->entries, reply->len, &a);
	if (a.near.n > NEAREST_MAX || (a.head.problem != 0) != (a.head.n_places == 0))
		abort();
	for (size_t i = 0; i < a.near.n; i++)
		if (!memchr(a.near.names[i], 0, NEAREST_NAME_MAX))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct files_reply reply;
	const char *end = (const char *)data + size;

	if (files_reply_decode(data, size, &reply) < 0)
		return 0;
	if (size > FILES_REPLY_MAX || reply.head.n > FILES_BATCH_MAX)
		abort();
	if (reply.head.status != FILES_OK)
		return 0;
	if (reply.head.kind == FILES_NAMES)
		read_names(&reply, end);
	else if (reply.head.kind == FILES_LINES || reply.head.kind == FILES_V8_NAMES)
		read_lines(&reply, end);
	else if (reply.head.kind == FILES_DEBUG)
		read_debug(&reply);
	else if (reply.head.kind == FILES_FUNCTIONS || reply.head.kind == FILES_STARTS)
		read_functions(&reply);
	else if (reply.head.kind == FILES_PLACES)
		read_places(&reply, end);
	return 0;
}
