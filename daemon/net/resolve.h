/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve.h - what systemd-resolved is asked over its own socket: varlink, that is
 * objects of JSON, each with a NUL behind it, answered in the order in which they came.
 *
 * glibc asks it so (nss-resolve), and resolvectl. What others are asked of the kinds that
 * name something; of all else that there was an answer, so that the next one is its own.
 */
#ifndef RESOLVE_H
#define RESOLVE_H

#include "dns.h"

/* What is kept of one message: no question is longer, and of an answer it is enough. */
#define RESOLVE_KEPT 4096

struct resolve;
/* `p` outlives it. NULL: no memory. */
struct resolve *resolve_new(const struct net_privacy *p, dns_query_fn *done, void *done_ctx);
void resolve_free(struct resolve *r); /* takes NULL; what is under way is dropped */
/* -EPROTO: it is not that. */
int resolve_piece(struct resolve *r, enum net_direction dir, const struct net_piece *piece);
/* The connection is closed, or the recording over: what was not answered is told. */
void resolve_end(struct resolve *r, uint64_t time_ns);
size_t resolve_bytes(const struct resolve *r); /* an upper bound of its memory */
/* Questions that nobody is told of: too many were under way, or there was no memory. */
uint64_t resolve_missed(const struct resolve *r);

#endif
