/* SPDX-License-Identifier: Apache-2.0 */
/* files_protocol.c - what the daemon and its worker say to each other. */
#include "files_protocol.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "files_places.h"

size_t files_request_len(const struct files_request *req)
{
	size_t head_len = offsetof(struct files_request, offsets);

	switch (req->kind) {
	case FILES_NAMES:
	case FILES_LINES:
	case FILES_STARTS:
		return req->n <= FILES_BATCH_MAX ? head_len + req->n * sizeof(req->offsets[0]) : 0;
	case FILES_OBJECTS:
		return req->n <= FILES_OBJECTS_MAX ? head_len + req->n * sizeof(req->objects[0])
						   : 0;
	case FILES_FUNCTIONS:
		return req->n <= FILES_FUNCTIONS_MAX ? head_len + req->n * sizeof(req->functions[0])
						     : 0;
	case FILES_TABLE:
	case FILES_DEBUG:
	case FILES_V8_FACTS:
		return req->n == 0 ? head_len : 0;
	case FILES_GENERATED:
		return req->n == 0 ? head_len + sizeof(req->generated) : 0;
	case FILES_V8_NAMES:
		return req->n <= FILES_V8_MAX ? head_len + sizeof(req->v8) : 0;
	case FILES_JVM_NAMES:
		return req->n <= FILES_V8_MAX ? head_len + sizeof(req->jvm) : 0;
	case FILES_PLACES:
	case FILES_TYPES:
		return req->n == 0 && req->probe.words_len <= FILES_PROBE_WORDS
			       ? head_len + sizeof(req->probe)
			       : 0;
	default:
		return 0;
	}
}

static void put(struct files_writer *w, const void *data, size_t len)
{
	assert(len <= sizeof(w->bytes) - w->len);
	memcpy(w->bytes + w->len, data, len);
	w->len += len;
}

void files_reply_begin(struct files_writer *w, const struct files_reply_head *head)
{
	w->len = 0;
	put(w, head, sizeof(*head));
}

void files_reply_add(struct files_writer *w, const struct files_entry_head *entry, const char *name)
{
	put(w, entry, sizeof(*entry));
	put(w, name, entry->name_len);
}

void files_reply_objects(struct files_writer *w, const struct files_objects *objects)
{
	put(w, objects, sizeof(*objects));
}

void files_reply_functions(struct files_writer *w, const uint64_t *offsets, size_t n)
{
	put(w, offsets, n * sizeof(*offsets));
}

void files_reply_debug(struct files_writer *w, const struct files_debug *debug)
{
	put(w, debug, sizeof(*debug));
}

void files_reply_facts(struct files_writer *w, const struct v8_facts *facts)
{
	put(w, facts, sizeof(*facts));
}

void files_reply_bytes(struct files_writer *w, const void *bytes, size_t len)
{
	put(w, bytes, len);
}

bool files_reply_lines(struct files_writer *w, const struct source_frame *frames, size_t n)
{
	struct files_lines_head head = { .n_frames = (uint16_t)n };
	size_t len = sizeof(head);

	for (size_t i = 0; i < n; i++)
		len += sizeof(struct files_frame_head) + frames[i].function_len +
		       frames[i].source_len;
	if (len > sizeof(w->bytes) - w->len)
		return false;
	put(w, &head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		const struct source_frame *f = &frames[i];
		struct files_frame_head h = { .line = f->line,
					      .function_len = (uint16_t)f->function_len,
					      .source_len = (uint16_t)f->source_len };

		put(w, &h, sizeof(h));
		put(w, f->function, f->function_len);
		put(w, f->source, f->source_len);
	}
	return true;
}

static void skip(struct files_reply *reply, void *dst, size_t len)
{
	if (dst)
		memcpy(dst, reply->entries, len);
	reply->entries += len;
	reply->len -= len;
}

void files_reply_get_debug(const struct files_reply *reply, struct files_debug *ret)
{
	memcpy(ret, reply->entries, sizeof(*ret));
}

void files_reply_get_functions(const struct files_reply *reply, uint64_t ret[FILES_FUNCTIONS_MAX])
{
	memcpy(ret, reply->entries, reply->len);
}

void files_reply_get_facts(const struct files_reply *reply, struct v8_facts *ret)
{
	memcpy(ret, reply->entries, sizeof(*ret));
}

size_t files_reply_next_lines(struct files_reply *reply, struct source_frame ret[FILES_FRAMES_MAX])
{
	struct files_lines_head head;

	skip(reply, &head, sizeof(head));
	for (size_t i = 0; i < head.n_frames; i++) {
		struct files_frame_head h;

		skip(reply, &h, sizeof(h));
		ret[i] = (struct source_frame){ .function = (const char *)reply->entries,
						.function_len = h.function_len,
						.source = (const char *)reply->entries +
							  h.function_len,
						.source_len = h.source_len,
						.line = h.line };
		skip(reply, NULL, (size_t)h.function_len + h.source_len);
	}
	return head.n_frames;
}

void files_reply_next(struct files_reply *reply, struct files_entry *ret)
{
	skip(reply, &ret->head, sizeof(ret->head));
	ret->name = (const char *)reply->entries;
	skip(reply, NULL, ret->head.name_len);
}

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n > 0 && p[n - 1] == 0)
		n--;
	return n == 0;
}

static uint32_t max_entries(uint8_t kind)
{
	switch (kind) {
	case FILES_NAMES:
	case FILES_LINES:
	case FILES_FUNCTIONS:
	case FILES_STARTS:
		return FILES_BATCH_MAX;
	case FILES_OBJECTS:
		return FILES_OBJECTS_MAX;
	case FILES_V8_NAMES:
	case FILES_JVM_NAMES:
		return FILES_V8_MAX;
	default:
		return 0;
	}
}

static bool head_valid(const struct files_reply_head *h)
{
	if (h->status < FILES_READY || h->status > FILES_TOO_LARGE)
		return false;
	if (h->n > 0 && h->status != FILES_OK)
		return false;
	if (h->kind > FILES_TYPES || h->n > max_entries(h->kind))
		return false;
	if (h->build_id_len && (h->build_id_len < BUILD_ID_MIN || h->build_id_len > BUILD_ID_MAX))
		return false;
	return all_zero(h->zero, sizeof(h->zero));
}

static bool entry_valid(const uint8_t *p, size_t len, size_t *ret_len)
{
	struct files_entry_head e;

	if (len < sizeof(e))
		return false;
	memcpy(&e, p, sizeof(e));
	if ((e.flags & ~(FILES_HAS_VADDR | FILES_HAS_SYMBOL)) || !all_zero(e.zero, sizeof(e.zero)))
		return false;
	if (e.name_len > DEMANGLE_MAX || e.name_len > len - sizeof(e))
		return false;
	if (!(e.flags & FILES_HAS_SYMBOL) != (e.name_len == 0))
		return false;
	if ((e.flags & FILES_HAS_SYMBOL) && !(e.flags & FILES_HAS_VADDR))
		return false;
	*ret_len = sizeof(e) + e.name_len;
	return !memchr(p + sizeof(e), 0, e.name_len);
}

static bool objects_valid(const struct files_objects *o)
{
	for (size_t i = 0; i < FILES_OBJECTS_MAX; i++)
		if (o->objects[i].len > FILES_OBJECT_BYTES || o->objects[i].zero ||
		    (o->objects[i].len && !o->objects[i].vaddr))
			return false;
	return true;
}

static bool read_objects(const uint8_t *p, size_t len, struct files_objects *ret)
{
	if (len != sizeof(*ret))
		return false;
	memcpy(ret, p, len);
	return objects_valid(ret);
}

/* A string that ends, and nothing behind it. */
static bool string_valid(const char *s, size_t size)
{
	size_t len = strnlen(s, size);

	return len < size && all_zero((const uint8_t *)s + len, size - len);
}

static bool id_valid(const uint8_t *id, size_t len)
{
	return (len == 0 || len >= BUILD_ID_MIN) && len <= BUILD_ID_MAX &&
	       all_zero(id + len, BUILD_ID_MAX - len);
}

/* Booleans too are bytes until they are known to be 0 or 1. */
static bool debug_valid(const uint8_t *p, size_t len)
{
	uint8_t has_symbols, has_lines;
	struct files_debug d;

	if (len != sizeof(d))
		return false;
	memcpy(&has_symbols, p + offsetof(struct files_debug, info.has_symbols), 1);
	memcpy(&has_lines, p + offsetof(struct files_debug, info.has_lines), 1);
	if (has_symbols > 1 || has_lines > 1)
		return false;
	memcpy(&d, p, sizeof(d));
	return d.fits <= 1 && string_valid(d.info.link, sizeof(d.info.link)) &&
	       string_valid(d.info.alt, sizeof(d.info.alt)) &&
	       id_valid(d.info.build_id, d.info.build_id_len) &&
	       id_valid(d.info.alt_build_id, d.info.alt_build_id_len);
}

static bool frame_valid(const uint8_t *p, size_t len, size_t *ret_len)
{
	struct files_frame_head h;

	if (len < sizeof(h))
		return false;
	memcpy(&h, p, sizeof(h));
	if (h.function_len > DEMANGLE_MAX || h.source_len > FILES_SOURCE_MAX)
		return false;
	*ret_len = sizeof(h) + h.function_len + h.source_len;
	return *ret_len <= len && !memchr(p + sizeof(h), 0, *ret_len - sizeof(h));
}

static bool lines_valid(const uint8_t *p, size_t len, size_t *ret_len)
{
	struct files_lines_head h;
	size_t at = sizeof(h), n;

	if (len < sizeof(h))
		return false;
	memcpy(&h, p, sizeof(h));
	if (h.n_frames > FILES_FRAMES_MAX || !all_zero(h.zero, sizeof(h.zero)))
		return false;
	for (size_t i = 0; i < h.n_frames; i++) {
		if (!frame_valid(p + at, len - at, &n))
			return false;
		at += n;
	}
	*ret_len = at;
	return true;
}

typedef bool entry_valid_fn(const uint8_t *p, size_t len, size_t *ret_len);

static bool all_valid(const struct files_reply *reply, entry_valid_fn *valid)
{
	size_t off = 0, n;

	for (uint32_t i = 0; i < reply->head.n; i++) {
		if (!valid(reply->entries + off, reply->len - off, &n))
			return false;
		off += n;
	}
	return off == reply->len;
}

/* What follows the head. */
static bool content_valid(struct files_reply *reply)
{
	if (reply->head.status != FILES_OK)
		return reply->len == 0;
	switch (reply->head.kind) {
	case FILES_OBJECTS:
		return read_objects(reply->entries, reply->len, &reply->objects);
	case FILES_DEBUG:
		return debug_valid(reply->entries, reply->len);
	case FILES_FUNCTIONS:
	case FILES_STARTS:
		return reply->len == reply->head.n * sizeof(uint64_t);
	case FILES_V8_FACTS:
		return reply->len == sizeof(struct v8_facts);
	case FILES_LINES:
	case FILES_V8_NAMES:
	case FILES_JVM_NAMES:
		return all_valid(reply, lines_valid);
	case FILES_PLACES:
		return files_places_decode(reply->entries, reply->len, NULL, NULL) == 0;
	case FILES_TYPES:
		return true; /* probe_types_decode() looks at it as a whole */
	default:
		return all_valid(reply, entry_valid);
	}
}

int files_reply_decode(const void *msg, size_t len, struct files_reply *ret)
{
	struct files_reply reply;

	if (len < sizeof(reply.head))
		return -EBADMSG;
	memcpy(&reply.head, msg, sizeof(reply.head));
	if (!head_valid(&reply.head))
		return -EBADMSG;
	reply.entries = (const uint8_t *)msg + sizeof(reply.head);
	reply.len = len - sizeof(reply.head);
	if (!content_valid(&reply))
		return -EBADMSG;
	*ret = reply;
	return 0;
}
