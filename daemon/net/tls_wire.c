/* SPDX-License-Identifier: Apache-2.0 */
/* tls_wire.c - from one TLS record to the next, however they were moved. */
#include "tls_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "tls_wire_impl.h"

/* RFC 5246, 6.2.3: 2^14, and 2048 for what encrypts it. */
#define MAX_RECORD   ((1u << 14) + 2048)
#define CLIENT_HELLO 1
#define SERVER_HELLO 2

struct tls_wire *tls_wire_new(const struct net_privacy *p, const struct tls_wire_sinks *sinks)
{
	struct tls_wire *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->sinks = *sinks;
	t->handshake.alert = t->handshake.alert_level = -1;
	t->turns.done = sinks->turn;
	t->turns.ctx = sinks->ctx;
	t->messages = tls_messages_new(p, &t->handshake);
	if (!t->messages) {
		free(t);
		return NULL;
	}
	return t;
}

void tls_wire_free(struct tls_wire *t)
{
	if (!t)
		return;
	tls_messages_free(t->messages);
	explicit_bzero(t, sizeof(*t));
	free(t);
}

size_t tls_wire_bytes(const struct tls_wire *t)
{
	return sizeof(*t) + (t->messages ? 2 * sizeof(*t->messages) : 0);
}

const struct tls_handshake *tls_wire_handshake(const struct tls_wire *t)
{
	return &t->handshake;
}

/* ---- heads of records ---- */

static bool is_head(const uint8_t *p)
{
	uint32_t len = (uint32_t)p[3] << 8 | p[4];

	return p[0] >= TLS_CHANGE_CIPHER_SPEC && p[0] <= TLS_HEARTBEAT && p[1] == 3 && p[2] <= 4 &&
	       len <= MAX_RECORD && (len > 0 || p[0] == TLS_DATA);
}

static bool is_hello_of(enum net_direction dir, const uint8_t *data, size_t n)
{
	if (n < TLS_RECORD_HEAD || data[0] != TLS_HANDSHAKE || !is_head(data))
		return false;
	/* Type, three bytes of its length, the version. */
	return (n <= 5 || data[5] == (dir == NET_REQUEST ? CLIENT_HELLO : SERVER_HELLO)) &&
	       (n <= 6 || data[6] == 0) && (n <= 9 || data[9] == 3);
}

bool tls_wire_is_hello(const uint8_t *data, size_t n)
{
	return is_hello_of(NET_REQUEST, data, n);
}

static bool is_first(const struct tls_direction *d, enum net_direction dir)
{
	return is_head(d->head) &&
	       (d->head[0] == TLS_HANDSHAKE || (dir == NET_RESPONSE && d->head[0] == TLS_ALERT));
}

static void out_of_step(struct tls_wire *t, struct tls_direction *d)
{
	d->in_step = false;
	d->left = 0;
	d->n_head = 0;
	if (t->stage == TLS_SHAKES) {
		t->handshake.lost = true;
		t->messages[d - t->dirs].is_broken = true;
	}
}

/* The handshake was before us, nobody is told of it. */
static void join_late(struct tls_wire *t)
{
	t->stage = TLS_OVER;
	tls_messages_free(t->messages);
	t->messages = NULL;
}

/* Alerts of a connection that had begun before us close it. */
static void first_record(struct tls_wire *t, enum net_direction dir)
{
	const struct tls_direction *d = &t->dirs[dir];
	bool is_late = !d->from_start;

	if (d->type == TLS_DATA || (is_late && d->type == TLS_ALERT)) {
		join_late(t);
		return;
	}
	t->stage = TLS_SHAKES;
	t->handshake.lost = dir == NET_RESPONSE || is_late;
	if (!t->handshake.lost)
		t->handshake.begin_ns = d->begins.time_ns;
}

static void begin_record(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	struct tls_direction *d = &t->dirs[dir];

	d->type = d->head[0];
	d->length = d->left = (uint32_t)d->head[3] << 8 | d->head[4];
	d->n_head = 0;
	d->is_data = d->is_clear = false;

	if (t->stage == TLS_BEFORE)
		first_record(t, dir);
	if (t->stage == TLS_SHAKES)
		tls_handshake_record(t, dir, time_ns);
	else
		d->is_data = t->stage == TLS_OVER && d->type == TLS_DATA;
	/* What closes the connection is not worth a turn. */
	d->is_data = d->is_data && !tls_is_alert_len(t, d->length);
	if (!d->is_data)
		return;
	tls_turns_begin(&t->turns, dir, &d->begins, d->length);
	tls_turns_add(&t->turns, dir, TLS_RECORD_HEAD, time_ns);
}

/* ---- bytes ---- */

struct walk {
	struct tls_wire *t;
	enum net_direction dir;
	const struct net_piece *piece;
	bool blind_told; /* the piece has been looked at as a whole */
};

/* The first record of a stream decides whether it is one of ours. */
static int head_complete(struct walk *w, uint64_t off)
{
	struct tls_wire *t = w->t;
	struct tls_direction *d = &t->dirs[w->dir];

	if (d->from_start && off == d->base + TLS_RECORD_HEAD && !is_first(d, w->dir))
		return tls_handshake_refuse(t, w->piece->time_ns);
	if (is_head(d->head))
		begin_record(t, w->dir, w->piece->time_ns);
	else
		out_of_step(t, d);
	return 0;
}

/* Bytes of heads; returns how many. */
static int take_head(struct walk *w, uint64_t off, const uint8_t *data, size_t n, size_t *ret)
{
	struct tls_direction *d = &w->t->dirs[w->dir];
	size_t k = MIN(n, (size_t)(TLS_RECORD_HEAD - d->n_head));

	if (d->n_head == 0)
		d->begins = (struct tls_place){ .off = off,
						.time_ns = w->piece->time_ns,
						.tgid = w->piece->tgid,
						.tid = w->piece->tid };
	memcpy(d->head + d->n_head, data, k);
	d->n_head = (uint8_t)(d->n_head + k);
	*ret = k;
	return d->n_head == TLS_RECORD_HEAD ? head_complete(w, off + k) : 0;
}

static int take_body(struct walk *w, const uint8_t *data, size_t n)
{
	struct tls_wire *t = w->t;
	struct tls_direction *d = &t->dirs[w->dir];

	d->left -= (uint32_t)n;
	if (d->is_data)
		tls_turns_add(&t->turns, w->dir, n, w->piece->time_ns);
	if (!d->is_clear || t->stage != TLS_SHAKES)
		return 0;
	return tls_handshake_content(t, w->dir, data, n, w->piece->time_ns);
}

/* Where a connection begins a ClientHello is, unseen. */
static void first_blind(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	if (dir != NET_REQUEST || !t->dirs[dir].from_start) {
		join_late(t);
		return;
	}
	t->stage = TLS_SHAKES;
	t->handshake.begin_ns = time_ns;
	t->handshake.lost = true;
}

/* Of a piece whose record is not known: as if it were one. */
static void begin_blind(struct walk *w, uint64_t off)
{
	struct tls_wire *t = w->t;
	struct tls_direction *d = &t->dirs[w->dir];
	const struct net_piece *p = w->piece;
	uint64_t body = d->lone_head ? p->len : p->len - TLS_RECORD_HEAD;

	if (t->stage == TLS_SHAKES)
		d->is_data = tls_handshake_blind(t, w->dir, p->time_ns);
	else
		d->is_data = t->stage == TLS_OVER && !tls_is_blind_alert_len(t, body);
	if (!d->lone_head)
		d->begins = (struct tls_place){ off, p->time_ns, p->tgid, p->tid };
	if (d->is_data)
		tls_turns_begin(&t->turns, w->dir, &d->begins, 0);
	if (d->is_data && d->lone_head)
		tls_turns_add(&t->turns, w->dir, TLS_RECORD_HEAD, p->time_ns);
	d->lone_head = false;
}

/* Nobody knows what they are: after the handshake they are data. */
static void take_blind(struct walk *w, uint64_t off, uint64_t n)
{
	struct tls_wire *t = w->t;
	struct tls_direction *d = &t->dirs[w->dir];
	const struct net_piece *p = w->piece;

	if (t->stage == TLS_BEFORE)
		first_blind(t, w->dir, p->time_ns);
	if (p->len == TLS_RECORD_HEAD && n == p->len && !d->lone_head) {
		d->lone_head = true;
		d->begins = (struct tls_place){ off, p->time_ns, p->tgid, p->tid };
		return;
	}
	if (!w->blind_told) {
		w->blind_told = true;
		begin_blind(w, off);
	}
	if (d->is_data)
		tls_turns_add(&t->turns, w->dir, n, p->time_ns);
}

/* `n` bytes from `off` on; `data` NULL: they are not known. */
static int walk(struct walk *w, uint64_t off, const uint8_t *data, uint64_t n)
{
	struct tls_direction *d = &w->t->dirs[w->dir];

	while (n > 0) {
		size_t k;
		int r;

		if (d->in_step && d->left > 0) {
			k = (size_t)MIN(n, d->left);
			r = take_body(w, data, k);
		} else if (d->in_step && data) {
			r = take_head(w, off, data, (size_t)n, &k);
		} else {
			if (d->in_step)
				out_of_step(w->t, d);
			take_blind(w, off, n);
			return 0;
		}
		if (r < 0)
			return r;
		off += k;
		n -= k;
		if (data)
			data += k;
	}
	return 0;
}

/* ---- pieces ---- */

/* Bytes that nobody has told of. */
static int pass_gap(struct walk *w, uint64_t gap)
{
	struct tls_direction *d = &w->t->dirs[w->dir];

	if (d->in_step && gap <= d->left)
		return walk(w, d->next, NULL, gap);
	out_of_step(w->t, d);
	w->t->turns.flags |= w->t->turns.is_open ? EXCHANGE_LOST : 0;
	if (w->t->stage == TLS_SHAKES)
		tls_handshake_hole(w->t, w->dir);
	return 0;
}

/*
 * Programs write whole records, and libraries read them whole or head by head: where a
 * piece begins with a head, there a record begins.
 */
static void find_step(struct tls_direction *d, const uint8_t *data, size_t n)
{
	if (d->in_step || n < TLS_RECORD_HEAD || !is_head(data))
		return;
	d->in_step = true;
	d->lone_head = false;
	d->left = 0;
	d->n_head = 0;
}

/* TLS may begin later than its connection, as behind CONNECT: with a hello of both. */
static void begin_direction(struct tls_wire *t, enum net_direction dir,
			    const struct net_piece *piece)
{
	struct tls_direction *d = &t->dirs[dir];
	const struct tls_direction *client = &t->dirs[NET_REQUEST];

	d->has_begun = true;
	d->base = d->next = piece->off;
	d->from_start = piece->off == 0;
	if (!d->from_start && is_hello_of(dir, piece->data, piece->n_data))
		d->from_start = dir == NET_REQUEST || (client->from_start && client->base > 0);
	d->in_step = d->from_start;
	t->handshake.lost |= !d->from_start && t->stage == TLS_SHAKES;
}

int tls_wire_piece(struct tls_wire *t, enum net_direction dir, const struct net_piece *piece)
{
	struct tls_direction *d = &t->dirs[dir];
	struct walk w = { .t = t, .dir = dir, .piece = piece };
	uint64_t off = piece->off, end = piece->off + piece->len;
	size_t n_data = piece->n_data, seen;
	int r = 0;

	if (!d->has_begun)
		begin_direction(t, dir, piece);
	if (off > d->next)
		r = pass_gap(&w, off - d->next);
	if (r < 0 || end <= d->next)
		return r;
	seen = off < d->next ? (size_t)(d->next - off) : 0; /* nothing comes twice */
	off += seen;
	n_data -= MIN(seen, n_data);
	d->next = end;
	if (n_data > 0) {
		find_step(d, piece->data + seen, n_data);
		r = walk(&w, off, piece->data + seen, n_data);
	}
	return r < 0 ? r : walk(&w, off + n_data, NULL, end - off - n_data);
}

static bool is_within(const struct tls_wire *t)
{
	const struct tls_direction *d = &t->dirs[NET_RESPONSE];

	return !t->turns.has_response || (d->in_step && d->is_data && d->left > 0);
}

void tls_wire_fin(struct tls_wire *t, enum net_direction dir, uint64_t time_ns)
{
	t->dirs[dir].has_ended = true;
	if (t->dirs[!dir].has_ended)
		tls_handshake_end(t, time_ns, EXCHANGE_CLOSED);
	if (dir == NET_RESPONSE && t->stage == TLS_OVER)
		tls_turns_over(&t->turns, is_within(t) ? EXCHANGE_CLOSED : 0);
}

void tls_wire_end(struct tls_wire *t, uint64_t time_ns, uint32_t flag)
{
	tls_handshake_end(t, time_ns, flag);
	tls_turns_over(&t->turns, is_within(t) ? flag : 0);
}
