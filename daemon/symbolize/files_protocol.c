/* SPDX-License-Identifier: Apache-2.0 */
/* files_protocol.c - what the daemon and its worker say to each other. */
#include "files_protocol.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

size_t files_request_len(const struct files_request *req)
{
	size_t head_len = offsetof(struct files_request, offsets);

	if (req->kind == FILES_NAMES && req->n <= FILES_BATCH_MAX)
		return head_len + req->n * sizeof(req->offsets[0]);
	if (req->kind == FILES_OBJECTS && req->n <= FILES_OBJECTS_MAX)
		return head_len + req->n * sizeof(req->objects[0]);
	if (req->kind == FILES_TABLE && req->n == 0)
		return head_len;
	return 0;
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

void files_reply_next(struct files_reply *reply, struct files_entry *ret)
{
	memcpy(&ret->head, reply->entries, sizeof(ret->head));
	ret->name = (const char *)reply->entries + sizeof(ret->head);
	reply->entries += sizeof(ret->head) + ret->head.name_len;
	reply->len -= sizeof(ret->head) + ret->head.name_len;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n > 0 && p[n - 1] == 0)
		n--;
	return n == 0;
}

static bool head_valid(const struct files_reply_head *h)
{
	if (h->status < FILES_READY || h->status > FILES_TOO_LARGE || h->n > FILES_BATCH_MAX)
		return false;
	if (h->n > 0 && h->status != FILES_OK)
		return false;
	if (h->kind > FILES_TABLE || (h->kind == FILES_TABLE && h->n > 0) ||
	    (h->kind == FILES_OBJECTS && h->n > FILES_OBJECTS_MAX))
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

int files_reply_decode(const void *msg, size_t len, struct files_reply *ret)
{
	struct files_reply reply;
	size_t off = 0, n;

	if (len < sizeof(reply.head))
		return -EBADMSG;
	memcpy(&reply.head, msg, sizeof(reply.head));
	if (!head_valid(&reply.head))
		return -EBADMSG;
	reply.entries = (const uint8_t *)msg + sizeof(reply.head);
	reply.len = len - sizeof(reply.head);
	if (reply.head.kind == FILES_OBJECTS && reply.head.status == FILES_OK) {
		if (!read_objects(reply.entries, reply.len, &reply.objects))
			return -EBADMSG;
		reply.len = 0;
		*ret = reply;
		return 0;
	}
	for (uint32_t i = 0; i < reply.head.n; i++) {
		if (!entry_valid(reply.entries + off, reply.len - off, &n))
			return -EBADMSG;
		off += n;
	}
	if (off != reply.len)
		return -EBADMSG;
	*ret = reply;
	return 0;
}
