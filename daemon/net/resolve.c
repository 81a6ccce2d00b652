/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - questions to systemd-resolved that are under way, and their answers. */
#include "resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dns_message.h"
#include "resolve_message.h"

/* Who asks for more before the first is answered is no resolver's client. */
#define MAX_QUESTIONS 64

struct question {
	struct question *next; /* a younger one */
	struct dns_place begin;
	bool is_told; /* there is an answer already, and more may come */
	struct resolve_call call;
};

/* One direction: messages with a NUL behind each. */
struct half {
	uint64_t next;	  /* offset of the byte that is to come */
	bool out_of_step; /* the beginning of what comes is not known */
	bool is_cut;	  /* there is more of the message than is kept */
	struct dns_place begin;
	size_t len;
	uint8_t *data; /* RESOLVE_KEPT; NULL: no message is under way */
};

struct resolve {
	const struct net_privacy *privacy;
	dns_query_fn *done;
	void *ctx;
	struct question *oldest, **end;
	size_t n;
	uint64_t missed;
	struct half halves[2];
};

struct resolve *resolve_new(const struct net_privacy *p, dns_query_fn *done, void *done_ctx)
{
	struct resolve *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct resolve){ .privacy = p, .done = done, .ctx = done_ctx };
	r->end = &r->oldest;
	return r;
}

static void drop_oldest(struct resolve *r)
{
	struct question *q = r->oldest;

	r->oldest = q->next;
	if (!r->oldest)
		r->end = &r->oldest;
	r->n--;
	explicit_bzero(q, sizeof(*q));
	free(q);
}

static void forget(struct half *h)
{
	if (h->data)
		explicit_bzero(h->data, RESOLVE_KEPT);
	free(h->data);
	h->data = NULL;
	h->len = 0;
	h->is_cut = false;
}

void resolve_free(struct resolve *r)
{
	if (!r)
		return;
	while (r->oldest)
		drop_oldest(r);
	forget(&r->halves[0]);
	forget(&r->halves[1]);
	free(r);
}

size_t resolve_bytes(const struct resolve *r)
{
	return sizeof(*r) + r->n * sizeof(struct question) +
	       (!!r->halves[0].data + !!r->halves[1].data) * RESOLVE_KEPT;
}

uint64_t resolve_missed(const struct resolve *r)
{
	return r->missed;
}

/* ---- questions ---- */

static void tell(struct resolve *r, const struct question *q, const struct resolve_reply *reply,
		 uint64_t end_ns)
{
	struct dns_query told = {
		.begin_ns = q->begin.time_ns,
		.end_ns = end_ns > q->begin.time_ns ? end_ns : q->begin.time_ns,
		.tgid = q->begin.tgid,
		.tid = q->begin.tid,
		.has_question = true,
		.transport = DNS_VARLINK,
		.n_sent = 1,
		.question = q->call.question,
	};

	if (!q->call.is_question)
		return;
	if (reply) {
		told.has_answer = true;
		told.answer = reply->answer;
		memcpy(told.error, reply->error, sizeof(told.error));
	}
	r->done(r->ctx, &told);
	explicit_bzero(&told, sizeof(told));
}

static void give_up(struct resolve *r, uint64_t time_ns)
{
	while (r->oldest) {
		if (!r->oldest->is_told)
			tell(r, r->oldest, NULL, time_ns);
		drop_oldest(r);
	}
}

void resolve_end(struct resolve *r, uint64_t time_ns)
{
	give_up(r, time_ns);
}

static int take_call(struct resolve *r, const struct half *h)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q || r->n >= MAX_QUESTIONS) {
		r->missed++;
		free(q);
		return 0;
	}
	q->begin = h->begin;
	if (resolve_read_call(r->privacy, h->data, h->len, &q->call) < 0 && !h->is_cut) {
		free(q);
		return -EPROTO;
	}
	if (q->call.is_oneway) {
		free(q);
		return 0;
	}
	*r->end = q;
	r->end = &q->next;
	r->n++;
	return 0;
}

static int take_reply(struct resolve *r, const struct half *h, uint64_t time_ns)
{
	struct resolve_reply reply;
	int e = resolve_read_reply(r->privacy, h->data, h->len, h->is_cut, &reply);

	if (e == 0 && r->oldest) {
		if (!r->oldest->is_told)
			tell(r, r->oldest, &reply, time_ns);
		r->oldest->is_told = true;
		if (!reply.continues)
			drop_oldest(r);
	}
	explicit_bzero(&reply, sizeof(reply));
	return e < 0 ? -EPROTO : 0;
}

/* ---- bytes ---- */

/* A part of a message that has no NUL in it; without `data` it is not known what it says. */
static int keep(struct half *h, const struct net_piece *p, const uint8_t *data, size_t n)
{
	size_t room;

	if (!h->data) {
		h->data = malloc(RESOLVE_KEPT);
		if (!h->data)
			return -ENOMEM;
		h->begin = (struct dns_place){ p->time_ns, p->tgid, p->tid };
	}
	room = RESOLVE_KEPT - h->len;
	if (n > room || !data || h->is_cut) {
		h->is_cut = true;
		n = data && n > room ? room : 0;
	}
	if (n)
		memcpy(h->data + h->len, data, n);
	h->len += n;
	return 0;
}

static int end_message(struct resolve *r, enum net_direction dir, uint64_t time_ns)
{
	struct half *h = &r->halves[dir];
	int e = 0;

	if (!h->out_of_step && h->data)
		e = dir == NET_REQUEST ? take_call(r, h) : take_reply(r, h, time_ns);
	h->out_of_step = false;
	forget(h);
	return e;
}

/* Nobody knows how many messages were in there: whose answer comes next is open. */
static void lose(struct resolve *r, enum net_direction dir, uint64_t time_ns)
{
	give_up(r, time_ns);
	forget(&r->halves[dir]);
	r->halves[dir].out_of_step = true;
}

static int take_known(struct resolve *r, enum net_direction dir, const struct net_piece *p,
		      const uint8_t *data, size_t n)
{
	struct half *h = &r->halves[dir];

	while (n > 0) {
		const uint8_t *nul = memchr(data, '\0', n);
		size_t some = nul ? (size_t)(nul - data) : n;
		int e = some ? keep(h, p, data, some) : 0;

		if (e == 0 && nul)
			e = end_message(r, dir, p->time_ns);
		if (e < 0)
			return e;
		some += nul != NULL;
		data += some;
		n -= some;
	}
	return 0;
}

int resolve_piece(struct resolve *r, enum net_direction dir, const struct net_piece *p)
{
	struct half *h = &r->halves[dir];
	uint64_t end = p->off + p->len, old;
	int e = 0;

	if (end <= h->next)
		return 0;
	if (p->off > h->next)
		lose(r, dir, p->time_ns);
	old = p->off < h->next ? h->next - p->off : 0; /* nothing comes twice */
	h->next = end;
	if (old < p->n_data)
		e = take_known(r, dir, p, p->data + old, p->n_data - old);
	/* Of a long answer the rest is not copied; it ends with the call, as a rule. */
	if (e == 0 && p->n_data < p->len) {
		e = keep(h, p, NULL, 0);
		if (e == 0)
			e = end_message(r, dir, p->time_ns);
	}
	return e;
}
