/* SPDX-License-Identifier: Apache-2.0 */
/* http2_streams.c - see http2_streams.h. */
#include "http2_streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

#define ERROR_NONE    0 /* RFC 9113, 7 */
#define ERROR_REFUSED 7

int http2_streams_init(struct http2_streams *s, exchange_done_fn *done, void *done_ctx)
{
	*s = (struct http2_streams){ .done = done, .done_ctx = done_ctx };
	return hash_new(&s->by_id);
}

static void drop(struct http2_streams *s, struct http2_stream *st)
{
	*(st->prev ? &st->prev->next : &s->first) = st->next;
	*(st->next ? &st->next->prev : &s->last) = st->prev;
	s->n--;
	s->n_early -= st->is_early;
	explicit_bzero(st, sizeof(*st));
	free(st);
}

void http2_streams_drop(struct http2_streams *s)
{
	while (s->first)
		drop(s, s->first);
	hash_clear(s->by_id);
	memset(s->closed, 0, sizeof(s->closed));
	s->last_request = s->last_promise = 0;
	s->goes_away = s->no_requests = false;
}

void http2_streams_done(struct http2_streams *s)
{
	if (s->by_id)
		http2_streams_drop(s);
	hash_free(s->by_id);
	s->by_id = NULL;
}

/* ---- the end of a stream ---- */

static void remember_closed(struct http2_streams *s, uint32_t id)
{
	s->closed[s->n_closed++ % HTTP2_N_CLOSED] = id;
}

static bool was_closed(const struct http2_streams *s, uint32_t id)
{
	for (unsigned i = 0; i < HTTP2_N_CLOSED; i++)
		if (s->closed[i] == id)
			return true;
	return false;
}

static void tell(struct http2_streams *s, struct http2_stream *st, uint32_t flags)
{
	struct exchange *e = &st->e;

	e->flags |= flags;
	if (flags & (EXCHANGE_INCOMPLETE | EXCHANGE_CLOSED)) {
		e->request_end_ns = st->ended[NET_REQUEST] ? e->request_end_ns : 0;
		e->response_end_ns = st->ended[NET_RESPONSE] ? e->response_end_ns : 0;
	}
	if (!s->goes_away)
		e->flags |= EXCHANGE_KEEPS_ALIVE;
	if (e->request_ns == 0)
		e->flags |= EXCHANGE_NO_REQUEST;
	else if (!st->has_head[NET_REQUEST])
		e->flags |= s->hole_flag;
	if (e->response_ns != 0 && !st->has_head[NET_RESPONSE])
		e->flags |= s->hole_flag;
	s->done(s->done_ctx, e);
}

static void hand_over(struct http2_streams *s, struct http2_stream *st, uint32_t flags)
{
	uint32_t id = (uint32_t)st->e.index;

	hash_remove_u64(s->by_id, id);
	remember_closed(s, id);
	tell(s, st, flags);
	drop(s, st);
}

/* Of a request that was not seen: it never will be, since numbers only grow. */
static bool is_request_over(const struct http2_streams *s, const struct http2_stream *st)
{
	if (st->ended[NET_REQUEST] || st->has_hole[NET_REQUEST])
		return true;
	return st->e.request_ns == 0 &&
	       (st->e.index % 2 == 0 || st->e.index < s->last_request || s->no_requests);
}

static void end_if_over(struct http2_streams *s, struct http2_stream *st)
{
	if (st->ended[NET_RESPONSE] && is_request_over(s, st))
		hand_over(s, st, 0);
}

static void end_all_over(struct http2_streams *s)
{
	struct http2_stream *next;

	for (struct http2_stream *st = s->first; st; st = next) {
		next = st->next;
		end_if_over(s, st);
	}
}

/* ---- the beginning ---- */

static struct http2_stream *open_stream(struct http2_streams *s, uint32_t id)
{
	struct http2_stream *st;

	if (s->n >= HTTP2_MAX_STREAMS)
		hand_over(s, s->first, EXCHANGE_INCOMPLETE);
	st = calloc(1, sizeof(*st));
	if (!st)
		return NULL;
	if (hash_set_u64(s->by_id, id, st) < 0) {
		free(st);
		return NULL;
	}
	st->e = (struct exchange){ .index = id,
				   .protocol = EXCHANGE_HTTP2,
				   .version = "2",
				   .grpc_status = -1,
				   .response_length = -1 };
	st->prev = s->last;
	*(s->last ? &s->last->next : &s->first) = st;
	s->last = st;
	s->n++;
	return st;
}

struct http2_stream *http2_streams_find(const struct http2_streams *s, uint32_t id)
{
	return hash_get_u64(s->by_id, id);
}

/* HEADERS of the client: of a new stream, or trailers. */
static void note_request(struct http2_streams *s, uint32_t id, struct http2_stream *st)
{
	if (st && st->is_early) {
		st->is_early = false;
		s->n_early--;
	}
	if (id <= s->last_request)
		return;
	s->last_request = id;
	if (s->n_early > 0)
		end_all_over(s); /* not this one */
}

struct http2_stream *http2_streams_of(struct http2_streams *s, uint32_t id, enum net_direction dir,
				      bool is_head)
{
	struct http2_stream *st = http2_streams_find(s, id);
	bool is_new = id % 2 == 1 && id > s->last_request;

	if (dir == NET_REQUEST && is_head && id % 2 == 1)
		note_request(s, id, st);
	else if (dir == NET_REQUEST)
		is_new = false;
	if (st || (!is_new && (!s->has_holes || was_closed(s, id))))
		return st;
	st = open_stream(s, id);
	if (st && dir == NET_RESPONSE && id % 2 == 1) {
		st->is_early = true;
		s->n_early++;
	}
	return st;
}

struct http2_stream *http2_streams_promise(struct http2_streams *s, uint32_t id)
{
	if (id % 2 == 1 || id == 0 || id <= s->last_promise || http2_streams_find(s, id))
		return NULL;
	s->last_promise = id;
	return open_stream(s, id);
}

/* ---- what belongs to one ---- */

void http2_stream_bytes(struct http2_stream *st, enum net_direction dir, const struct http2_at *at,
			uint64_t end_ns, uint64_t n, uint64_t n_body)
{
	struct exchange *e = &st->e;

	if (dir == NET_REQUEST) {
		if (e->request_ns == 0) {
			e->request_ns = at->time_ns;
			e->request_off = at->off;
			e->request_tgid = at->tgid;
			e->request_tid = at->tid;
		}
		e->request_end_ns = end_ns;
		e->request_bytes += n;
		e->request_body += n_body;
		return;
	}
	if (e->response_ns == 0) {
		e->response_ns = at->time_ns;
		e->response_off = at->off;
		e->response_tgid = at->tgid;
		e->response_tid = at->tid;
	}
	e->response_end_ns = end_ns;
	e->response_bytes += n;
	e->response_body += n_body;
}

#define COPY(to, from)                                              \
	do {                                                        \
		_Static_assert(sizeof(to) == sizeof(from), "room"); \
		memcpy(to, from, sizeof(to));                       \
	} while (0)

static void note_grpc(struct exchange *e, const struct http2_head *h)
{
	if (strncmp(h->content_type, "application/grpc", strlen("application/grpc")) == 0)
		e->flags |= EXCHANGE_GRPC;
	if (h->grpc_status >= 0)
		e->grpc_status = h->grpc_status;
}

static void request_head(struct http2_stream *st, const struct http2_head *h)
{
	struct exchange *e = &st->e;

	if (st->has_head[NET_REQUEST])
		return; /* trailers, of which nothing is kept */
	/* Without one it is trailers too, of a request that had begun before. */
	st->has_head[NET_REQUEST] = h->method[0] || h->has_unknown;
	COPY(e->method, h->method);
	COPY(e->scheme, h->scheme);
	if (h->authority[0])
		COPY(e->host, h->authority);
	else
		COPY(e->host, h->host);
	COPY(e->path, h->path);
	COPY(st->protocol, h->protocol);
	note_grpc(e, h);
}

static void set_cache(struct exchange *e, const struct http2_head *h)
{
	if (e->status == 304)
		snprintf(e->cache, sizeof(e->cache), "not modified");
	else if (h->x_cache[0])
		COPY(e->cache, h->x_cache);
	else if (h->age[0])
		snprintf(e->cache, sizeof(e->cache), "age %s", h->age);
}

/* An interim response is none yet: what counts is when the final one begins. */
static void interim_head(struct exchange *e, const struct http2_head *h)
{
	if (h->status == 100)
		e->flags |= EXCHANGE_CONTINUED;
	e->response_ns = e->response_end_ns = 0;
	e->response_off = 0;
	e->response_tgid = e->response_tid = 0;
}

static void response_head(struct http2_stream *st, const struct http2_head *h)
{
	struct exchange *e = &st->e;

	if (!st->has_head[NET_RESPONSE] || (e->status == 0 && h->status >= 200)) {
		if (h->status >= 100 && h->status < 200) {
			interim_head(e, h);
			return;
		}
		st->has_head[NET_RESPONSE] = h->status || h->has_unknown; /* likewise */
		e->status = h->status;
		COPY(e->content_type, h->content_type);
		e->response_length = h->length;
		set_cache(e, h);
	}
	note_grpc(e, h);
}

/* The CONNECT is over when it is agreed to; what follows is an exchange of its own. */
static void begin_tunnel(struct http2_streams *s, struct http2_stream *st)
{
	struct exchange *e = &st->e;

	tell(s, st, 0);
	e->protocol = EXCHANGE_TUNNEL;
	e->flags &= EXCHANGE_JOINED_LATE | EXCHANGE_LOST;
	COPY(e->upgrade, st->protocol);
	if (strcmp(st->protocol, "websocket") == 0)
		e->protocol = EXCHANGE_WEBSOCKET;
	e->request_ns = e->response_ns;
	e->request_end_ns = e->response_ns = e->response_end_ns;
	e->request_bytes = e->response_bytes = 0;
	e->request_body = e->response_body = 0;
	e->response_length = -1;
}

void http2_stream_head(struct http2_streams *s, struct http2_stream *st, enum net_direction dir,
		       const struct http2_head *head)
{
	struct exchange *e = &st->e;

	if (head->has_unknown)
		e->flags |= EXCHANGE_JOINED_LATE;
	if (dir == NET_REQUEST)
		request_head(st, head);
	else
		response_head(st, head);
	if (e->protocol == EXCHANGE_HTTP2 && st->has_head[NET_REQUEST] &&
	    st->has_head[NET_RESPONSE] && strcmp(e->method, "CONNECT") == 0 && e->status >= 200 &&
	    e->status < 300)
		begin_tunnel(s, st);
}

void http2_stream_end(struct http2_streams *s, struct http2_stream *st, enum net_direction dir)
{
	st->ended[dir] = true;
	end_if_over(s, st);
}

/* A server that has answered may ask for no more of the request: nothing has failed. */
void http2_streams_reset(struct http2_streams *s, uint32_t id, uint64_t time_ns, uint32_t error)
{
	struct http2_stream *st = http2_streams_find(s, id);
	uint32_t flags = EXCHANGE_RESET;

	if (!st) {
		remember_closed(s, id);
		return;
	}
	if (st->ended[NET_RESPONSE] && error == ERROR_NONE)
		flags = 0;
	if (!st->ended[NET_REQUEST] && st->e.request_ns)
		st->e.request_end_ns = time_ns;
	if (!st->ended[NET_RESPONSE] && st->e.response_ns)
		st->e.response_end_ns = time_ns;
	st->e.error = error;
	hand_over(s, st, flags);
}

/* ---- what concerns many ---- */

void http2_streams_refuse(struct http2_streams *s, enum net_direction dir, uint32_t last,
			  uint32_t error)
{
	struct http2_stream *next;

	s->goes_away = true;
	for (struct http2_stream *st = s->first; st; st = next) {
		next = st->next;
		if (st->e.index <= last || st->e.index % 2 != (dir == NET_RESPONSE) ||
		    st->e.response_ns)
			continue;
		st->e.error = error == ERROR_NONE ? ERROR_REFUSED : error;
		hand_over(s, st, EXCHANGE_RESET);
	}
}

void http2_streams_fin(struct http2_streams *s, enum net_direction dir)
{
	if (dir == NET_RESPONSE) {
		http2_streams_end(s, EXCHANGE_CLOSED);
		return;
	}
	s->no_requests = true;
	for (struct http2_stream *st = s->first; st; st = st->next) {
		if (!st->ended[NET_REQUEST] && st->e.request_ns && st->e.protocol == EXCHANGE_HTTP2)
			st->e.flags |= EXCHANGE_CLOSED;
		st->ended[NET_REQUEST] = true;
	}
	end_all_over(s);
}

void http2_streams_lose(struct http2_streams *s, enum net_direction dir)
{
	s->has_holes = true;
	for (struct http2_stream *st = s->first; st; st = st->next) {
		if (st->ended[dir])
			continue;
		st->has_hole[dir] = true;
		st->e.flags |= EXCHANGE_LOST;
	}
	end_all_over(s);
}

void http2_streams_end(struct http2_streams *s, uint32_t flags)
{
	while (s->first)
		hand_over(s, s->first, flags);
}
