/* SPDX-License-Identifier: Apache-2.0 */
/* http1_talk.c - a conversation with daemon/net/http1.h. */
#include "http1_talk.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void take(void *ctx, const struct exchange *e)
{
	struct talk *t = ctx;

	ck_assert_uint_lt(t->n, TALK_MAX);
	t->got[t->n++] = *e;
}

void talk_begin(struct talk *t)
{
	memset(t, 0, sizeof(*t));
	t->http1 = http1_new(&t->privacy, take, t);
	ck_assert_ptr_nonnull(t->http1);
}

void talk_done(struct talk *t)
{
	http1_free(t->http1);
}

void talk_piece(struct talk *t, enum net_direction dir, const void *text, size_t n_data,
		uint64_t len)
{
	/* What is beyond `n_data` must not be read: ASan would say so. */
	uint8_t *copy = malloc(n_data ? n_data : 1);
	struct net_piece piece = { .off = t->off[dir],
				   .len = len,
				   .n_data = n_data,
				   .data = copy,
				   .time_ns = ++t->time_ns,
				   .tgid = dir == NET_REQUEST ? 10 : 20,
				   .tid = dir == NET_REQUEST ? 100 : 200 };

	ck_assert_ptr_nonnull(copy);
	if (n_data)
		memcpy(copy, text, n_data);
	t->next = http1_piece(t->http1, dir, &piece);
	t->off[dir] += len;
	free(copy);
}

void talk_ask(struct talk *t, const char *text)
{
	talk_piece(t, NET_REQUEST, text, strlen(text), strlen(text));
}

void talk_answer(struct talk *t, const char *text)
{
	talk_piece(t, NET_RESPONSE, text, strlen(text), strlen(text));
}

void talk_answer_unknown(struct talk *t, uint64_t len)
{
	talk_piece(t, NET_RESPONSE, NULL, 0, len);
}

void talk_gap(struct talk *t, enum net_direction dir, uint64_t len)
{
	t->off[dir] += len;
}

const struct exchange *talk_next(struct talk *t)
{
	static struct exchange e;

	ck_assert_uint_gt(t->n, 0);
	e = t->got[0];
	memmove(t->got, t->got + 1, --t->n * sizeof(t->got[0]));
	return &e;
}
