/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_texts.c - texts that requests have in common, with their ids in the trace: those of a
 * name, and those of a connection.
 */
#include <stdlib.h>
#include <string.h>

#include "net_encode_impl.h"

/* ---- of a name ---- */

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

struct trace_text_id *net_text_id(struct net_text *known, const char *text)
{
	if (!known->text)
		known->text = strdup(text);
	return known->text && strcmp(known->text, text) == 0 ? &known->id : NULL;
}

void net_names_free(struct net_encoder *enc)
{
	size_t pos = 0;
	void *at;

	while (enc->names && hash_next(enc->names, &pos, NULL, NULL, &at)) {
		struct net_name *name = at;

		free(name->method.text);
		free(name->url.text);
		free(name->host.text);
		free(name->content_type.text);
		free(name);
	}
	hash_free(enc->names);
}

/* ---- of a connection ---- */

static struct net_ends *ends_new(const struct net_sock *sock)
{
	char remote[NET_ADDRESS_LEN] = "", local[NET_ADDRESS_LEN] = "";
	bool has_remote = net_peer_text(sock, remote), has_local = net_local_text(sock, local);
	size_t n_remote = strlen(remote) + 1, n_local = strlen(local) + 1;
	struct net_ends *ends = malloc(sizeof(*ends) + n_remote + n_local);

	if (!ends)
		return NULL;
	*ends = (struct net_ends){ .sock = *sock };
	memcpy(ends->texts, remote, n_remote);
	memcpy(ends->texts + n_remote, local, n_local);
	ends->remote = has_remote ? ends->texts : NULL;
	ends->local = has_local ? ends->texts + n_remote : NULL;
	return ends;
}

struct net_ends *net_conn_ends(struct net_conn *c)
{
	if (c->ends && memcmp(&c->ends->sock, &c->sock, sizeof(c->sock)) == 0)
		return c->ends;
	free(c->ends);
	c->ends = ends_new(&c->sock);
	return c->ends;
}
