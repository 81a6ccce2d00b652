/* SPDX-License-Identifier: Apache-2.0 */
/* net_names.c - names of requests, and what those of one name have in common. */
#include <stdlib.h>
#include <string.h>

#include "net_encode_impl.h"

struct net_name *net_request_name(struct net_encoder *enc, const char *name, bool *ret_fits)
{
	size_t len = strlen(name);
	struct net_name *known = hash_get(enc->names, name, len);

	if (known)
		return known;
	if (hash_count(enc->names) < NET_MAX_NAMES)
		known = calloc(1, sizeof(*known));
	*ret_fits = known && hash_set(enc->names, name, len, known) == 0;
	if (!*ret_fits)
		free(known);
	return NULL;
}

static char *append(char **at, const char *text)
{
	char *begin = *at;

	*at = stpcpy(begin, text) + 1;
	return begin;
}

void net_name_learn(struct net_name *known, const struct exchange *e, const char *url)
{
	char *at = malloc(strlen(url) + strlen(e->method) + strlen(e->host) +
			  strlen(e->content_type) + 4);

	if (!at)
		return;
	known->url = append(&at, url);
	known->method = append(&at, e->method);
	known->host = append(&at, e->host);
	known->content_type = append(&at, e->content_type);
	known->status = e->status;
}

void net_names_free(struct net_encoder *enc)
{
	size_t pos = 0;
	void *at;

	while (enc->names && hash_next(enc->names, &pos, NULL, NULL, &at)) {
		struct net_name *name = at;

		trace_packed_done(&name->packed);
		free(name->url);
		free(name);
	}
	hash_free(enc->names);
}
