/* SPDX-License-Identifier: Apache-2.0 */
/* http1_messages.c - HTTP/1.x on one connection: from messages to exchanges. */
#include <stdlib.h>
#include <string.h>

#include "http1_impl.h"

void http1_hand_over(struct http1 *h, struct http1_entry *entry, uint32_t flags)
{
	for (int dir = 0; dir < 2; dir++)
		if (h->half[dir].entry == entry)
			h->half[dir].entry = NULL;
	http1_queue_hand_over(&h->queue, entry, flags);
}

/* ---- ends ---- */

static void request_over(struct http1_half *half, struct http1_entry *entry)
{
	entry->e.request_end_ns = half->last_ns;
	entry->e.request_body = half->body.n_payload;
	entry->request_end = half->at;
	entry->request_over = true;
}

void http1_end_message(struct http1 *h, enum net_direction dir)
{
	struct http1_half *half = &h->half[dir], *request = &h->half[NET_REQUEST];
	struct http1_entry *entry = half->entry;

	half->entry = NULL;
	half->state = HTTP1_BETWEEN;
	if (!entry)
		return;
	if (dir == NET_REQUEST) {
		request_over(half, entry);
	} else {
		entry->e.response_end_ns = half->last_ns;
		entry->e.response_body = half->body.n_payload;
		http1_queue_response_over(&h->queue, entry);
		/* Who has been answered in full has asked in full, as far as anybody can know. */
		if (request->entry == entry && request->state == HTTP1_IN_BODY &&
		    request->body.framing == HTTP1_UNTIL_TURN) {
			request_over(request, entry);
			request->entry = NULL;
			request->state = HTTP1_SEEKING;
		}
	}
	if (entry->response_over && (entry->request_over || entry->is_alone))
		http1_hand_over(h, entry, 0);
}

void http1_lost(struct http1 *h, enum net_direction dir)
{
	struct http1_entry *entry = h->half[dir].entry;

	if (entry && dir == NET_REQUEST)
		entry->e.flags |= EXCHANGE_LOST;
	else if (entry)
		entry->response_lost = true;
}

void http1_body_taken(struct http1 *h, enum net_direction dir, uint64_t n)
{
	struct http1_half *half = &h->half[dir];
	struct http1_entry *entry = half->entry;

	if (entry && dir == NET_REQUEST)
		entry->e.request_bytes += n;
	else if (entry)
		entry->e.response_bytes += n;
	if (half->body.framing == HTTP1_UNTIL_TURN && !half->body.was_chunked)
		http1_lost(h, dir);
	else if (entry && half->body.framing == HTTP1_UNTIL_TURN)
		entry->e.flags |= EXCHANGE_FRAMES;
	if (half->body.is_over)
		http1_end_message(h, dir);
}

void http1_begin_body(struct http1 *h, enum net_direction dir, enum http1_framing framing,
		      int64_t length)
{
	h->half[dir].state = HTTP1_IN_BODY;
	http1_body_begin(&h->half[dir].body, framing, length > 0 ? (uint64_t)length : 0);
	http1_body_taken(h, dir, 0);
}

/* ---- begins ---- */

/* Nobody will answer it any more, or has done it where it was not seen. */
static void give_up(struct http1 *h, struct http1_entry *entry)
{
	http1_hand_over(h, entry, EXCHANGE_LOST);
}

/*
 * The other side goes on, so a response whose end is not known is over; and so is one
 * whose request we do not know, where no body came: it was HEAD.
 */
static void turn_to_request(struct http1 *h)
{
	struct http1_half *half = &h->half[NET_RESPONSE];

	if (half->state != HTTP1_IN_BODY || h->queue.n_waiting > 1)
		return;
	if (half->body.framing == HTTP1_UNTIL_TURN) {
		http1_end_message(h, NET_RESPONSE);
		h->is_unsure = true;
	} else if (half->entry && half->entry->is_alone && half->body.n_payload == 0) {
		http1_end_message(h, NET_RESPONSE);
	}
}

/*
 * Its answer may have been taken for a part of the one before: a request that is sent
 * later says so, as most clients wait for an answer.
 */
static void give_up_unanswered(struct http1 *h)
{
	struct http1_entry *entry = http1_queue_waiting(&h->queue);
	enum http1_state state = h->half[NET_RESPONSE].state;

	if (!h->is_unsure || !entry || !entry->request_over || h->queue.n_waiting > 1)
		return;
	if (state == HTTP1_IN_HEAD || state == HTTP1_IN_BODY ||
	    entry->e.request_off >= h->half[NET_REQUEST].piece_off)
		return;
	give_up(h, entry);
	h->n_unmatched++;
}

/* Whose response came first. Twice in a row is no coincidence: they are one ahead, then. */
static struct http1_entry *early_entry(struct http1 *h)
{
	struct http1_entry *entry = http1_queue_early(&h->queue);

	if (entry && h->was_early) {
		if (entry->response_over)
			http1_hand_over(h, entry, 0);
		else
			entry->is_alone = true;
		entry = NULL;
	}
	h->was_early = entry != NULL;
	return entry;
}

static struct http1_entry *request_entry(struct http1 *h)
{
	struct http1_entry *entry;
	bool is_pipelined;

	turn_to_request(h);
	give_up_unanswered(h);
	entry = early_entry(h);
	if (entry)
		return entry;
	is_pipelined = h->queue.n_waiting > 0;
	entry = h->n_untold ? NULL : http1_queue_add(&h->queue);
	if (!entry)
		h->n_untold++;
	else if (is_pipelined)
		entry->e.flags |= EXCHANGE_PIPELINED;
	return entry;
}

static void begin_request(struct http1 *h)
{
	const struct net_piece *begin = &h->half[NET_REQUEST].begin;
	struct http1_entry *entry = request_entry(h);

	h->half[NET_REQUEST].entry = entry;
	if (!entry)
		return;
	entry->has_request = true;
	entry->e.request_ns = begin->time_ns;
	entry->e.request_off = begin->off;
	entry->e.request_tgid = begin->tgid;
	entry->e.request_tid = begin->tid;
}

static void begin_response(struct http1_half *half, struct http1_entry *entry)
{
	half->entry = entry;
	if (!entry)
		return;
	entry->response_begun = true;
	entry->e.response_ns = half->begin.time_ns;
	entry->e.response_off = half->begin.off;
	entry->e.response_tgid = half->begin.tgid;
	entry->e.response_tid = half->begin.tid;
}

/*
 * A response that nobody has asked for, as far as we saw. If all requests were seen, its
 * own comes in a moment: a thread that sends may be told later than one that receives.
 */
static struct http1_entry *response_entry(struct http1 *h)
{
	struct http1_half *request = &h->half[NET_REQUEST];
	struct http1_entry *entry = http1_queue_waiting(&h->queue), *early;
	bool is_second;
	bool all_seen = request->was_seen ? request->state != HTTP1_SEEKING
					  : h->half[NET_RESPONSE].from_start;

	if (entry)
		return entry;
	early = http1_queue_early(&h->queue);
	is_second = early != NULL;
	if (early)
		http1_hand_over(h, early, 0);
	entry = http1_queue_add(&h->queue);
	if (!entry)
		return NULL;
	if (h->n_untold > 0) {
		h->n_untold--;
		entry->e.flags |= EXCHANGE_LOST;
		entry->is_alone = true;
	} else if (h->n_unmatched > 0) {
		h->n_unmatched--;
		entry->is_alone = true;
	} else {
		entry->is_alone = !all_seen || is_second;
	}
	h->is_unsure |= entry->is_alone;
	return entry;
}

void http1_begin_message(struct http1 *h, enum net_direction dir, const struct net_piece *piece)
{
	struct http1_half *half = &h->half[dir];

	half->begin = *piece;
	half->begin.data = NULL;
	half->begin.off = half->at;
	half->state = HTTP1_IN_HEAD;
	if (dir == NET_REQUEST)
		begin_request(h);
}

bool http1_begin_unseen(struct http1 *h, enum net_direction dir, const struct net_piece *piece)
{
	struct http1_half *half = &h->half[dir];
	struct http1_entry *entry;

	half->begin = *piece;
	half->begin.data = NULL;
	half->begin.off = half->at;
	if (dir == NET_REQUEST) {
		/* Whose response is there already, or still to come. */
		entry = http1_queue_early(&h->queue);
		if (entry && entry->response_over)
			http1_hand_over(h, entry, 0);
		else if (entry)
			entry->is_alone = true;
		else if (half->state == HTTP1_BETWEEN && h->queue.n_waiting > 0)
			h->n_unmatched++;
		half->state = HTTP1_SEEKING;
		return false;
	}
	/* All but the last have been answered in there, or will never be. */
	while (h->queue.n_waiting > 1)
		give_up(h, http1_queue_waiting(&h->queue));
	entry = http1_queue_waiting(&h->queue);
	half->state = HTTP1_SEEKING;
	if (!entry)
		return false;
	begin_response(half, entry);
	http1_begin_body(h, dir, HTTP1_UNTIL_TURN, 0);
	return true;
}

bool http1_ends_before_head(struct http1 *h, enum net_direction dir)
{
	struct http1_half *half = &h->half[dir];
	struct http1_entry *entry = half->entry;

	if (dir == NET_REQUEST) {
		if (entry && !entry->response_begun)
			return false;
	} else if (entry && !entry->e.status) {
		/* What was missing was another one's, then: this is its head. */
		entry->e.response_bytes = 0;
		entry->response_lost = false;
		half->entry = NULL;
		half->state = HTTP1_BETWEEN;
		return true;
	} else if (h->queue.n_waiting < 2) {
		return false;
	}
	http1_end_message(h, dir);
	return true;
}

/* ---- heads ---- */

static enum http1_framing request_framing(const struct http1_head *head)
{
	if (head->has_coding)
		return head->is_chunked ? HTTP1_CHUNKED : HTTP1_UNTIL_TURN;
	if (head->is_bad_length)
		return HTTP1_UNTIL_TURN;
	return head->content_length > 0 ? HTTP1_LENGTH : HTTP1_NO_BODY;
}

/* RFC 9112, 6.3. */
static enum http1_framing response_framing(const struct http1_head *head,
					   const struct http1_entry *entry)
{
	if ((entry && entry->is_head) || head->status == 204 || head->status == 304)
		return HTTP1_NO_BODY;
	if (head->has_coding)
		return head->is_chunked ? HTTP1_CHUNKED : HTTP1_UNTIL_CLOSE;
	if (head->is_bad_length)
		return HTTP1_UNTIL_TURN;
	return head->content_length >= 0 ? HTTP1_LENGTH : HTTP1_UNTIL_CLOSE;
}

static void request_head(struct http1 *h, const struct http1_head *head, size_t len)
{
	struct http1_entry *entry = h->half[NET_REQUEST].entry;
	struct http1_half *response = &h->half[NET_RESPONSE];

	if (entry) {
		http1_entry_request(entry, h->queue.privacy, head);
		entry->e.request_bytes += len;
		/* Its response came first, and seemed to have a body. */
		if (entry->is_head && response->entry == entry &&
		    response->state == HTTP1_IN_BODY && response->body.n_payload == 0)
			http1_end_message(h, NET_RESPONSE);
	}
	http1_begin_body(h, NET_REQUEST, request_framing(head), head->content_length);
}

static void interim_head(struct http1 *h, const struct http1_head *head, size_t len)
{
	struct http1_entry *entry = http1_queue_waiting(&h->queue);

	h->half[NET_RESPONSE].state = HTTP1_BETWEEN;
	if (!entry)
		return;
	entry->e.response_bytes += len;
	if (head->status == 100)
		entry->e.flags |= EXCHANGE_CONTINUED;
}

static void response_head(struct http1 *h, const struct http1_head *head, size_t len)
{
	struct http1_half *half = &h->half[NET_RESPONSE];
	struct http1_entry *entry;
	enum http1_framing framing;

	if (head->status < 200 && head->status != 101) {
		interim_head(h, head, len);
		return;
	}
	entry = response_entry(h);
	if (entry && entry->has_request)
		h->is_unsure = false;
	begin_response(half, entry);
	if (entry) {
		http1_entry_response(entry, h->queue.privacy, head);
		entry->e.response_bytes += len;
	}
	if (head->status == 101 || (entry && entry->is_connect && head->status < 300)) {
		http1_switch(h, entry);
		return;
	}
	framing = response_framing(head, entry);
	if (entry && framing == HTTP1_UNTIL_CLOSE)
		entry->e.flags &= ~EXCHANGE_KEEPS_ALIVE;
	http1_begin_body(h, NET_RESPONSE, framing, head->content_length);
}

void http1_head_over(struct http1 *h, enum net_direction dir, const struct http1_head *head,
		     size_t len)
{
	if (dir == NET_REQUEST)
		request_head(h, head, len);
	else
		response_head(h, head, len);
}

void http1_head_dropped(struct http1 *h, enum net_direction dir)
{
	struct http1_half *half = &h->half[dir];
	struct http1_entry *entry = half->entry;

	half->entry = NULL;
	if (dir == NET_REQUEST && entry && !entry->response_begun) {
		http1_queue_drop(&h->queue, entry);
	} else if (dir == NET_REQUEST && entry) {
		entry->has_request = false;
		entry->is_alone = true;
		entry->e.request_ns = entry->e.request_off = 0;
		entry->e.request_tgid = entry->e.request_tid = 0;
		if (entry->response_over)
			http1_hand_over(h, entry, 0);
	}
	h->is_unsure |= dir == NET_RESPONSE;
	http1_forget(&half->kept);
}

/* Takes what is there of a head into the exchange. */
void http1_take_cut_head(struct http1 *h, enum net_direction dir)
{
	struct http1_half *half = &h->half[dir];
	struct http1_entry *entry = half->entry;
	struct http1_head head;
	bool is_good = half->kept.data &&
		       http1_head_parse_cut(dir, half->kept.data, half->kept.len, &head);

	if (dir == NET_RESPONSE) {
		entry = response_entry(h);
		begin_response(half, entry);
	}
	if (entry && dir == NET_REQUEST) {
		entry->e.request_bytes += half->kept.n_seen;
		if (is_good)
			http1_entry_request(entry, h->queue.privacy, &head);
	} else if (entry) {
		entry->e.response_bytes += half->kept.n_seen;
		if (is_good && head.status >= 200)
			http1_entry_response(entry, h->queue.privacy, &head);
	}
	http1_forget(&half->kept);
}

void http1_head_lost(struct http1 *h, enum net_direction dir)
{
	http1_take_cut_head(h, dir);
	http1_begin_body(h, dir, HTTP1_UNTIL_TURN, 0);
}
