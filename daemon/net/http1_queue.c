/* SPDX-License-Identifier: Apache-2.0 */
/* http1_queue.c - the exchanges of an HTTP/1 connection that are under way. */
#include "http1_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct http1_entry *http1_queue_add(struct http1_queue *q)
{
	struct http1_entry *entry, **end = &q->first;

	if (q->n_entries >= HTTP1_MAX_OPEN)
		return NULL;
	entry = malloc(
		sizeof(*entry)); /* sooner than calloc(), and there is one for each request */
	if (!entry)
		return NULL;
	*entry = (struct http1_entry){ .e = { .index = q->n_begun++,
					      .protocol = EXCHANGE_HTTP1,
					      .grpc_status = -1,
					      .response_length = -1 } };
	while (*end)
		end = &(*end)->next;
	*end = entry;
	q->n_entries++;
	q->n_waiting++;
	return entry;
}

struct http1_entry *http1_queue_waiting(const struct http1_queue *q)
{
	struct http1_entry *entry = q->first;

	while (entry && entry->response_over)
		entry = entry->next;
	return entry;
}

struct http1_entry *http1_queue_early(const struct http1_queue *q)
{
	struct http1_entry *entry = q->first;

	while (entry && (entry->has_request || entry->is_alone))
		entry = entry->next;
	return entry;
}

void http1_queue_response_over(struct http1_queue *q, struct http1_entry *entry)
{
	q->n_waiting -= !entry->response_over;
	entry->response_over = true;
}

void http1_queue_drop(struct http1_queue *q, struct http1_entry *entry)
{
	struct http1_entry **at = &q->first;

	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	q->n_entries--;
	q->n_waiting -= !entry->response_over;
	explicit_bzero(entry, sizeof(*entry));
	free(entry);
}

void http1_queue_hand_over(struct http1_queue *q, struct http1_entry *entry, uint32_t flags)
{
	struct exchange *e = &entry->e;

	e->flags |= flags;
	if (!entry->has_request)
		e->flags |= EXCHANGE_NO_REQUEST;
	if (entry->response_lost)
		e->flags |= EXCHANGE_LOST;
	/* Two threads: the answer was read before the call was over that sent the request. */
	if (e->request_ns > e->response_ns && e->response_ns)
		e->request_ns = e->response_ns;
	q->done(q->done_ctx, e);
	http1_queue_drop(q, entry);
}

/* ---- what heads say ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void copy_text(const struct http1_text *t, char *ret, size_t room)
{
	size_t n = 0;

	net_privacy_text(t->data, t->len, ret, room);
	/* Folded: one blank for the line's end and what the next begins with. */
	for (size_t i = 0; ret[i]; i++) {
		bool blank = is_blank(ret[i]);

		if (!blank || n == 0 || ret[n - 1] != ' ')
			ret[n++] = blank ? ' ' : ret[i];
	}
	ret[n] = '\0';
}

/* That of the request, if it was seen: a server answers in its own. */
static void copy_version(struct exchange *e, const struct http1_head *head)
{
	const char version[] = { '1', '.', (char)('0' + head->minor), '\0' };

	if (head->minor >= 0 && !e->version[0])
		memcpy(e->version, version, sizeof(version));
}

/* "http" of "http://host/path"; 0: it is no absolute URL. */
static size_t scheme_len(const struct http1_text *t)
{
	size_t i = 0;

	while (i < t->len && i < sizeof(((struct exchange *)0)->scheme) &&
	       ((t->data[i] | 0x20) >= 'a' && (t->data[i] | 0x20) <= 'z'))
		i++;
	return i > 0 && i + 3 <= t->len && memcmp(t->data + i, "://", 3) == 0 ? i : 0;
}

/* Takes scheme and authority off; what is left begins with the path (RFC 9112, 3.2.2). */
static void take_authority(struct http1_entry *entry, const struct net_privacy *p,
			   struct http1_text *target)
{
	struct http1_text host = *target;
	size_t scheme = scheme_len(target), n = 0;

	if (!scheme)
		return;
	net_privacy_text(target->data, scheme, entry->e.scheme, sizeof(entry->e.scheme));
	host.data += scheme + 3;
	host.len -= scheme + 3;
	while (n < host.len && host.data[n] != '/' && host.data[n] != '?' && host.data[n] != '#')
		n++;
	net_privacy_name(p, host.data, n, entry->e.host, sizeof(entry->e.host));
	target->data = host.data + n;
	target->len = host.len - n;
}

/* Of "?a=b" of an absolute URL the path is "/". */
static void copy_path(struct exchange *e, const struct net_privacy *p,
		      const struct http1_text *target)
{
	bool is_empty = target->len == 0 || target->data[0] == '?' || target->data[0] == '#';

	e->path[0] = '/';
	net_privacy_path(p, target->data, target->len, e->path + is_empty,
			 sizeof(e->path) - is_empty);
}

void http1_entry_request(struct http1_entry *entry, const struct net_privacy *p,
			 const struct http1_head *head)
{
	struct http1_text target = head->target;
	struct exchange *e = &entry->e;

	net_privacy_text(head->method.data, head->method.len, e->method, sizeof(e->method));
	copy_version(e, head);
	entry->is_head = strcmp(e->method, "HEAD") == 0;
	entry->is_connect = strcmp(e->method, "CONNECT") == 0;
	entry->says_close = head->says_close || (head->minor == 0 && !head->says_keep_alive);
	if (entry->is_connect) {
		net_privacy_name(p, target.data, target.len, e->host, sizeof(e->host));
		return;
	}
	take_authority(entry, p, &target);
	if (!e->host[0])
		net_privacy_name(p, head->host.data, head->host.len, e->host, sizeof(e->host));
	if (head->target.len)
		copy_path(e, p, &target);
}

/* Caches name themselves behind their verdict. */
static void copy_cache(struct exchange *e, const struct net_privacy *p,
		       const struct http1_head *head)
{
	struct http1_text x_cache = head->x_cache;

	if (p->hash_names) {
		const uint8_t *blank = x_cache.len ? memchr(x_cache.data, ' ', x_cache.len) : NULL;

		x_cache.len = blank ? (size_t)(blank - x_cache.data) : x_cache.len;
	}
	if (head->status == 304)
		strcpy(e->cache, "not modified");
	else if (x_cache.len)
		copy_text(&x_cache, e->cache, sizeof(e->cache));
	else if (head->age >= 0)
		snprintf(e->cache, sizeof(e->cache), "age %lld", (long long)head->age);
}

void http1_entry_response(struct http1_entry *entry, const struct net_privacy *p,
			  const struct http1_head *head)
{
	struct http1_text type = head->content_type;
	struct exchange *e = &entry->e;
	const uint8_t *end = type.len ? memchr(type.data, ';', type.len) : NULL;

	e->status = head->status;
	copy_version(e, head);
	if (end)
		type.len = (size_t)(end - type.data);
	while (type.len > 0 && is_blank((char)type.data[type.len - 1]))
		type.len--;
	copy_text(&type, e->content_type, sizeof(e->content_type));
	copy_cache(e, p, head);
	if (head->status == 101)
		copy_text(&head->upgrade, e->upgrade, sizeof(e->upgrade));
	if (!head->is_bad_length)
		e->response_length = head->content_length;
	if (!entry->says_close && !head->says_close && (head->minor > 0 || head->says_keep_alive))
		e->flags |= EXCHANGE_KEEPS_ALIVE;
}
