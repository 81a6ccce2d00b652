/* SPDX-License-Identifier: Apache-2.0 */
/* dns_queries.c - queries under way, and their answers. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>

#include "base/hash.h"
#include "dns_message.h"

/* As long as resolvers wait, all their attempts at one server together. */
#define TIMEOUT_NS (10ull * 1000 * 1000 * 1000)
/* A busy server has some hundred under way; 1.5 MB of a socket at most. */
#define MAX_QUERIES 4096
#define MIN_BUCKETS 8

struct query {
	struct query *older, *younger; /* by last_ns */
	struct query *next;	       /* in its bucket */
	uint64_t peer, name_hash;
	uint64_t begin_ns, last_ns;   /* first and last time that it was sent */
	uint64_t asked, elsewhere_ns; /* see dns.h; 0: not yet */
	uint32_t tgid, tid;
	uint16_t id, qtype, qclass;
	uint8_t opcode;
	bool over_tcp, is_answered;
	unsigned n_sent;
	uint64_t bytes_sent;
	unsigned n_more; /* answers that may still come, of one that was repeated */
	size_t size;
	char name[];
};

struct dns {
	const struct net_privacy *privacy;
	dns_query_fn *done;
	void *ctx;
	struct query *oldest, *youngest;
	struct query **buckets;
	size_t n_buckets, n; /* a power of two, or 0 */
	uint64_t seed;
	size_t bytes;
	uint64_t missed;
	struct dns_stream streams[2];
};

struct dns *dns_new(const struct net_privacy *p, dns_query_fn *done, void *done_ctx)
{
	struct dns *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->privacy = p;
	d->done = done;
	d->ctx = done_ctx;
	if (getrandom(&d->seed, sizeof(d->seed), GRND_NONBLOCK) < 0)
		d->seed = (uintptr_t)d; /* chains are bounded anyway */
	return d;
}

size_t dns_bytes(const struct dns *d)
{
	return sizeof(*d) + d->bytes + d->n_buckets * sizeof(struct query *) +
	       dns_stream_bytes(&d->streams[0]) + dns_stream_bytes(&d->streams[1]);
}

uint64_t dns_missed(const struct dns *d)
{
	return d->missed;
}

/* ---- the table ---- */

static void take_out(struct dns *d, struct query *q)
{
	if (q->older)
		q->older->younger = q->younger;
	else
		d->oldest = q->younger;
	if (q->younger)
		q->younger->older = q->older;
	else
		d->youngest = q->older;
}

static void put_last(struct dns *d, struct query *q)
{
	q->older = d->youngest;
	q->younger = NULL;
	if (d->youngest)
		d->youngest->younger = q;
	else
		d->oldest = q;
	d->youngest = q;
}

static struct query **bucket(const struct dns *d, uint16_t id)
{
	return &d->buckets[hash_bytes(&id, sizeof(id), d->seed) & (d->n_buckets - 1)];
}

/* Without memory for more the chains grow. */
static int grow(struct dns *d)
{
	size_t n = d->n_buckets ? 2 * d->n_buckets : MIN_BUCKETS;
	struct query **buckets, *q;

	if (d->n < d->n_buckets)
		return 0;
	buckets = calloc(n, sizeof(struct query *));
	if (!buckets)
		return d->n_buckets ? 0 : -ENOMEM;
	free(d->buckets);
	d->buckets = buckets;
	d->n_buckets = n;
	for (q = d->oldest; q; q = q->younger) {
		struct query **at = bucket(d, q->id);

		q->next = *at;
		*at = q;
	}
	return 0;
}

static void forget(struct dns *d, struct query *q)
{
	struct query **at = bucket(d, q->id);

	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	take_out(d, q);
	d->n--;
	d->bytes -= q->size;
	explicit_bzero(q, q->size);
	free(q);
}

void dns_free(struct dns *d)
{
	struct query *q, *next;

	if (!d)
		return;
	for (q = d->oldest; q; q = next) {
		next = q->younger;
		forget(d, q);
	}
	dns_stream_done(&d->streams[0]);
	dns_stream_done(&d->streams[1]);
	free(d->buckets);
	free(d);
}

static uint64_t hash_name(const struct dns *d, const char *name)
{
	return hash_bytes(name, strlen(name), d->seed);
}

/* How well a query fits; 0: not at all. The peer of one of them may not be known. */
static int fits(const struct query *q, const struct dns_message *m, uint64_t name_hash,
		uint64_t peer)
{
	if (q->id != m->id || (q->peer != peer && q->peer && peer))
		return 0;
	/* An answer may come without its question, as when the server has not understood it. */
	if (m->n_questions > 0 && (q->name_hash != name_hash || q->qtype != m->qtype))
		return 0;
	return 1 + (q->peer == peer) + 2 * !q->is_answered;
}

static struct query *find(const struct dns *d, const struct dns_message *m, uint64_t peer)
{
	uint64_t name_hash = hash_name(d, m->name);
	struct query *found = NULL;
	int best = 0;

	if (d->n == 0)
		return NULL;
	for (struct query *q = *bucket(d, m->id); q; q = q->next) {
		int how = fits(q, m, name_hash, peer);

		if (how > best) {
			best = how;
			found = q;
		}
	}
	return found;
}

/* ---- what becomes of a query ---- */

static void tell(struct dns *d, const struct query *q, const struct dns_message *answer,
		 uint64_t end_ns)
{
	struct dns_query told = { .begin_ns = q->begin_ns,
				  .end_ns = end_ns,
				  .tgid = q->tgid,
				  .tid = q->tid,
				  .has_question = true,
				  .transport = q->over_tcp ? DNS_TCP : DNS_UDP,
				  .n_sent = q->n_sent,
				  .request_bytes = q->bytes_sent };

	told.question.id = q->id;
	told.question.opcode = q->opcode;
	told.question.n_questions = 1;
	told.question.qtype = q->qtype;
	told.question.qclass = q->qclass;
	memcpy(told.question.name, q->name, strlen(q->name) + 1);
	if (answer) {
		told.has_answer = true;
		told.answer = *answer;
		told.response_bytes = answer->len;
	}
	d->done(d->ctx, &told);
	explicit_bzero(&told, sizeof(told));
}

static void give_up(struct dns *d, struct query *q, uint64_t end_ns)
{
	if (q->elsewhere_ns && q->elsewhere_ns < end_ns)
		end_ns = q->elsewhere_ns;
	if (!q->is_answered)
		tell(d, q, NULL, end_ns);
	forget(d, q);
}

void dns_expire(struct dns *d, uint64_t now_ns)
{
	struct query *q, *next;

	for (q = d->oldest; q && q->last_ns + TIMEOUT_NS <= now_ns; q = next) {
		next = q->younger;
		give_up(d, q, q->last_ns + TIMEOUT_NS);
	}
}

void dns_end(struct dns *d, uint64_t time_ns)
{
	struct query *q, *next;

	dns_expire(d, time_ns);
	for (q = d->oldest; q; q = next) {
		next = q->younger;
		give_up(d, q, time_ns);
	}
}

uint64_t dns_asked(const struct dns *d)
{
	return d->youngest ? d->youngest->asked : 0;
}

/* Who asks some servers one after the other has few under way. */
#define MAX_LOOKED_AT 64

void dns_asked_elsewhere(struct dns *d, uint64_t asked, uint64_t time_ns)
{
	unsigned n = 0;

	for (struct query *q = d->youngest; q && n++ < MAX_LOOKED_AT; q = q->older)
		if (q->asked == asked && !q->is_answered && !q->elsewhere_ns &&
		    time_ns > q->last_ns)
			q->elsewhere_ns = time_ns;
}

/* ---- messages ---- */

struct moved {
	const struct dns_place *begin;
	uint64_t end_ns, peer;
	bool over_tcp;
};

static void begin(struct query *q, const struct dns_message *m, const struct moved *at)
{
	q->begin_ns = at->begin->time_ns;
	q->last_ns = at->end_ns;
	q->tgid = at->begin->tgid;
	q->tid = at->begin->tid;
	q->over_tcp = at->over_tcp;
	q->is_answered = false;
	q->elsewhere_ns = 0;
	q->n_sent = 1;
	q->bytes_sent = m->len;
	q->n_more = 0;
}

static int add(struct dns *d, const struct dns_message *m, const struct moved *at)
{
	size_t len = strlen(m->name) + 1;
	struct query *q, **chain;

	if (d->n >= MAX_QUERIES) {
		q = d->oldest;
		assert(!q->older);
		d->missed += !q->is_answered;
		forget(d, q);
	}
	q = calloc(1, sizeof(*q) + len);
	if (!q || grow(d) < 0) {
		free(q);
		return -ENOMEM;
	}
	q->size = sizeof(*q) + len;
	q->peer = at->peer;
	q->name_hash = hash_name(d, m->name);
	q->asked = hash_bytes(m->name, len, m->qtype);
	begin(q, m, at);
	q->id = m->id;
	q->qtype = m->qtype;
	q->qclass = m->qclass;
	q->opcode = m->opcode;
	memcpy(q->name, m->name, len);
	chain = bucket(d, q->id);
	q->next = *chain;
	*chain = q;
	put_last(d, q);
	d->n++;
	d->bytes += q->size;
	return 0;
}

static void query(struct dns *d, const struct dns_message *m, const struct moved *at)
{
	struct query *q = find(d, m, at->peer);

	if (!q) {
		d->missed += add(d, m, at) < 0;
		return;
	}
	if (q->is_answered) { /* it is asked once more */
		begin(q, m, at);
	} else {
		q->n_sent++;
		q->bytes_sent += m->len;
		q->last_ns = at->end_ns;
	}
	take_out(d, q);
	put_last(d, q);
}

/* Who asked is not known. */
static void unasked(struct dns *d, const struct dns_message *m, const struct moved *at)
{
	struct dns_query told = { .begin_ns = at->begin->time_ns,
				  .end_ns = at->end_ns,
				  .tgid = at->begin->tgid,
				  .tid = at->begin->tid,
				  .has_answer = true,
				  .answer = *m,
				  .response_bytes = m->len,
				  .transport = at->over_tcp ? DNS_TCP : DNS_UDP };

	d->done(d->ctx, &told);
	explicit_bzero(&told, sizeof(told));
}

static void answer(struct dns *d, const struct dns_message *m, const struct moved *at)
{
	struct query *q = find(d, m, at->peer);
	bool is_transfer;

	if (!q) {
		unasked(d, m, at);
		return;
	}
	is_transfer = at->over_tcp && (q->qtype == DNS_AXFR || q->qtype == DNS_IXFR);
	if (!q->is_answered) {
		tell(d, q, m, at->end_ns);
		q->is_answered = true;
		q->n_more = q->n_sent;
	}
	/* A zone comes in as many messages as it needs. */
	if (!is_transfer && --q->n_more == 0)
		forget(d, q);
}

static int take(struct dns *d, const uint8_t *data, size_t n_data, size_t len,
		const struct moved *at)
{
	struct dns_message m;
	int r = dns_parse(d->privacy, data, n_data, len, &m);

	if (r < 0)
		return r;
	if (m.is_response)
		answer(d, &m, at);
	else
		query(d, &m, at);
	explicit_bzero(&m, sizeof(m));
	return 0;
}

void dns_datagram(struct dns *d, enum net_direction dir, const struct net_piece *piece,
		  uint64_t peer)
{
	const struct dns_place begin = { piece->time_ns, piece->tgid, piece->tid };
	const struct moved at = { &begin, piece->time_ns, peer, false };

	(void)dir; /* see dns.h */
	/* What cannot be read is no message of ours. */
	(void)take(d, piece->data, piece->n_data, piece->len, &at);
}

static int on_message(void *ctx, const uint8_t *data, size_t n_data, size_t len,
		      const struct dns_place *begin, uint64_t end_ns)
{
	const struct moved at = { begin, end_ns, 0, true };

	return take(ctx, data, n_data, len, &at);
}

int dns_piece(struct dns *d, enum net_direction dir, const struct net_piece *piece)
{
	return dns_stream_piece(&d->streams[dir], piece, on_message, d);
}
