/* SPDX-License-Identifier: Apache-2.0 */
/* files_places.c - what the daemon reads of the worker's answer to FILES_PLACES. */
#include "files_places.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "files_protocol.h"

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n > 0 && p[n - 1] == 0)
		n--;
	return n == 0;
}

static bool head_valid(const struct files_places_head *h)
{
	return h->n_places <= FILES_PLACES_MAX && h->problem < FILES_PROBLEMS && h->is_go <= 1 &&
	       h->n_near <= NEAREST_MAX && all_zero(h->zero, sizeof(h->zero)) &&
	       (h->problem == FILES_PLACES_FOUND) == (h->n_places > 0);
}

static bool place_valid(const uint8_t *p, size_t len, struct files_place *ret)
{
	if (len < sizeof(*ret))
		return false;
	memcpy(ret, p, sizeof(*ret));
	return !ret->zero && ret->name_len < FILES_PROBE_SYMBOL &&
	       (size_t)ret->name_len + ret->types_len <= len - sizeof(*ret) &&
	       !memchr(p + sizeof(*ret), 0, ret->name_len);
}

/* The places; 0: they are not such. Returns where the names begin. */
static size_t walk(const uint8_t *bytes, size_t len, uint32_t n, files_place_fn *fn, void *ctx,
		   int *ret)
{
	size_t at = sizeof(struct files_places_head);
	struct files_place place;
	const uint8_t *name;

	for (uint32_t i = 0; i < n && *ret == 0; i++) {
		if (!place_valid(bytes + at, len - at, &place)) {
			*ret = -EBADMSG;
			return at;
		}
		name = bytes + at + sizeof(place);
		if (fn)
			*ret = fn(ctx, &place, (const char *)name, name + place.name_len);
		at += sizeof(place) + place.name_len + place.types_len;
	}
	return at;
}

int files_places_decode(const uint8_t *bytes, size_t len, files_place_fn *fn, void *ctx)
{
	struct files_places_head head;
	size_t at;
	int r = 0;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (!head_valid(&head))
		return -EBADMSG;
	at = walk(bytes, len, head.n_places, NULL, NULL, &r);
	for (unsigned i = 0; r == 0 && i < head.n_near; i++) {
		size_t n = strnlen((const char *)bytes + at, len - at);

		if (n == len - at || n >= NEAREST_NAME_MAX)
			return -EBADMSG;
		at += n + 1;
	}
	if (r < 0 || at != len)
		return -EBADMSG;
	if (fn)
		(void)walk(bytes, len, head.n_places, fn, ctx, &r);
	return r;
}

void files_places_answer(const uint8_t *bytes, size_t len, struct files_places_answer *ret)
{
	int r = 0;
	size_t at;

	*ret = (struct files_places_answer){ .near = { .wanted = "" } };
	memcpy(&ret->head, bytes, sizeof(ret->head));
	at = walk(bytes, len, ret->head.n_places, NULL, NULL, &r);
	for (; ret->near.n < ret->head.n_near; ret->near.n++) {
		size_t n = strlen((const char *)bytes + at) + 1;

		memcpy(ret->near.names[ret->near.n], bytes + at, n);
		at += n;
	}
}
