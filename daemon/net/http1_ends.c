/* SPDX-License-Identifier: Apache-2.0 */
/* http1_ends.c - HTTP/1.x on one connection: how it ends, or becomes another protocol. */
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "http1_impl.h"

/* What goes on after the response at hand, as an exchange of its own. */
static void begin_tunnel(struct http1 *h, const struct exchange *from)
{
	struct http1_entry *entry = http1_queue_add(&h->queue);
	bool is_websocket = strcasecmp(from->upgrade, "websocket") == 0;
	uint64_t index;

	if (!entry)
		return;
	index = entry->e.index;
	entry->e = *from;
	entry->e.index = index;
	entry->e.protocol = is_websocket ? EXCHANGE_WEBSOCKET : EXCHANGE_TUNNEL;
	entry->e.flags = 0;
	entry->e.request_ns = entry->e.response_ns = h->half[NET_RESPONSE].last_ns;
	entry->e.request_end_ns = entry->e.response_end_ns = 0;
	entry->e.request_off = h->switched[NET_REQUEST];
	entry->e.response_off = h->switched[NET_RESPONSE];
	entry->e.response_length = -1;
	entry->e.request_tid = entry->e.response_tid = 0; /* no thread begins it */
	entry->has_request = true;
}

void http1_switch(struct http1 *h, struct http1_entry *entry)
{
	struct exchange from = { .grpc_status = -1 };
	struct http1_half *request = &h->half[NET_REQUEST];

	h->is_switched = true;
	h->switched[NET_RESPONSE] = h->half[NET_RESPONSE].at;
	h->switched[NET_REQUEST] = entry && entry->request_over ? entry->request_end : request->at;
	if (entry) {
		entry->e.flags &= ~EXCHANGE_KEEPS_ALIVE;
		from = entry->e;
		h->is_h2c = strcasecmp(from.upgrade, "h2c") == 0;
	}
	if (entry && !entry->request_over)
		entry->is_alone = true; /* it will not be any more */
	http1_begin_body(h, NET_RESPONSE, HTTP1_NO_BODY, 0);
	/* What seemed to be requests behind it is the other protocol's. */
	while (h->queue.first)
		http1_queue_drop(&h->queue, h->queue.first);
	for (int dir = 0; dir < 2; dir++) {
		h->half[dir].entry = NULL;
		http1_forget(&h->half[dir].kept);
	}
	if (!h->is_h2c)
		begin_tunnel(h, &from);
}

/* ---- the end of all ---- */

/* Of messages that are not over: what there is of them. */
static void take_unfinished(struct http1 *h, enum net_direction dir)
{
	struct http1_half *half = &h->half[dir];

	if (half->state == HTTP1_IN_HEAD)
		http1_take_cut_head(h, dir);
	else if (half->state == HTTP1_IN_BODY && half->entry && dir == NET_REQUEST)
		half->entry->e.request_body = half->body.n_payload;
	else if (half->state == HTTP1_IN_BODY && half->entry)
		half->entry->e.response_body = half->body.n_payload;
	half->state = HTTP1_SEEKING;
}

/* Where a message ends whose end nobody knows; if nothing has come for so long, it was there. */
#define QUIET_NS NS_PER_SEC

static bool is_endless(const struct http1_half *half)
{
	return half->state == HTTP1_IN_BODY && half->body.framing == HTTP1_UNTIL_TURN;
}

static bool is_quiet(const struct http1_half *half, uint64_t now_ns)
{
	return now_ns > half->last_ns && now_ns - half->last_ns > QUIET_NS;
}

/* It may have had the answers in it to all that was asked. */
static uint32_t flag_of_unanswered(const struct http1 *h, uint32_t flag)
{
	bool is_known = !is_endless(&h->half[NET_RESPONSE]);

	return is_known || flag != EXCHANGE_CLOSED ? flag : EXCHANGE_LOST;
}

/* Of which no more will come: its response may. */
static void give_up_request(struct http1 *h)
{
	struct http1_entry *entry = h->half[NET_REQUEST].entry;

	if (!entry)
		return;
	h->half[NET_REQUEST].entry = NULL;
	entry->is_alone = true;
	entry->e.flags |= EXCHANGE_CLOSED;
	if (entry->response_over)
		http1_hand_over(h, entry, 0);
}

void http1_fin(struct http1 *h, enum net_direction dir, uint64_t time_ns)
{
	struct http1_half *half = &h->half[dir];
	bool is_framed = half->state == HTTP1_IN_BODY && half->body.framing == HTTP1_UNTIL_CLOSE;
	uint32_t flag = flag_of_unanswered(h, EXCHANGE_CLOSED);

	(void)time_ns; /* the last byte has its own */
	if (h->is_switched)
		return;
	if (is_endless(half) || is_framed)
		http1_end_message(h, dir);
	take_unfinished(h, dir);
	if (dir == NET_REQUEST) {
		give_up_request(h);
		return;
	}
	for (struct http1_entry *entry = h->queue.first, *next; entry; entry = next) {
		next = entry->next;
		/* Else its request is still under way. */
		if (!entry->response_over)
			http1_hand_over(h, entry, flag);
		else if (!entry->has_request)
			http1_hand_over(h, entry, 0);
	}
}

static void end_tunnel(struct http1 *h, uint64_t time_ns, uint32_t flag)
{
	struct http1_entry *entry = h->queue.first;
	struct exchange *e;

	if (!entry)
		return;
	e = &entry->e;
	e->request_bytes = e->request_body = h->half[NET_REQUEST].at - h->switched[NET_REQUEST];
	e->response_bytes = e->response_body = h->half[NET_RESPONSE].at - h->switched[NET_RESPONSE];
	if (flag == EXCHANGE_CLOSED)
		e->request_end_ns = e->response_end_ns = time_ns;
	http1_hand_over(h, entry, flag & ~EXCHANGE_CLOSED);
}

void http1_end(struct http1 *h, uint64_t time_ns, uint32_t flag)
{
	struct http1_half *response = &h->half[NET_RESPONSE];

	if (h->is_switched) {
		end_tunnel(h, time_ns, flag);
		return;
	}
	flag = flag_of_unanswered(h, flag);
	if (is_endless(response) && (flag != EXCHANGE_INCOMPLETE || is_quiet(response, time_ns)))
		http1_end_message(h, NET_RESPONSE);
	take_unfinished(h, NET_REQUEST);
	take_unfinished(h, NET_RESPONSE);
	while (h->queue.first) {
		struct http1_entry *entry = h->queue.first;
		bool is_over = entry->response_over && !entry->has_request;

		http1_hand_over(h, entry, is_over ? 0 : flag);
	}
}
