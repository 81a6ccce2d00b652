/* SPDX-License-Identifier: Apache-2.0 */
/* flight_places.c - of which frames a snapshot may have source lines. */
#include "flight/flight_places.h"

#include <errno.h>
#include <stdlib.h>

#include "flight/flight_ring.h"
#include "session.h"
#include "symbolize/symbolizer.h"

void flight_places_done(struct flight_places *p)
{
	for (size_t i = 0; i < p->n; i++)
		location_release(p->list[i]);
	free(p->list);
	*p = (struct flight_places){ 0 };
}

static int add(struct flight_places *p, struct location *const *list, size_t n)
{
	struct location **grown = reallocarray(p->list, p->n + n + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	p->list = grown;
	for (size_t i = 0; i < n; i++) {
		location_hold(list[i]);
		p->list[p->n++] = list[i];
	}
	return 0;
}

int flight_places_collect(struct flight_places *p, const struct flight_segment *first,
			  const struct session *session)
{
	struct location *const *last;
	size_t n_last = session_places(session, &last);
	int r = 0;

	for (const struct flight_segment *s = first; r == 0 && s; s = s->next)
		r = s->next ? add(p, s->places, s->n_places) : add(p, last, n_last);
	return r;
}

static int by_address(const void *pa, const void *pb)
{
	struct location *const *a = pa, *const *b = pb;

	return *a < *b ? -1 : *a > *b;
}

void flight_places_keep(struct flight_places *p, const uint8_t *used)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (used[i])
			p->list[n++] = p->list[i];
		else
			location_release(p->list[i]);
	}
	p->n = n;
	if (n)
		qsort(p->list, n, sizeof(*p->list), by_address);
	n = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (n > 0 && p->list[n - 1] == p->list[i])
			location_release(p->list[i]);
		else
			p->list[n++] = p->list[i];
	}
	p->n = n;
}
