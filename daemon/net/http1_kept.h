/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_kept.h - what must be kept of an HTTP/1 head until all of it is there: the start
 * line, without a query that nobody may see, and those fields that somebody reads. Of
 * others not more than their names is ever stored.
 */
#ifndef HTTP1_KEPT_H
#define HTTP1_KEPT_H

#include "net_privacy.h"

#define HTTP1_MAX_HEAD (16 * 1024) /* servers refuse more */

/* Zero-initialised is empty. */
struct http1_kept {
	uint8_t *data; /* a head, or its beginning; NULL: nothing */
	size_t len, cap;
	size_t n_seen; /* bytes of it so far, with those that were not kept */
	size_t line;   /* where in `data` the line begins that is under way */
	int fate;      /* of that line */
	bool is_start_kept, is_over;
};

/*
 * Takes bytes up to the head's end, or until HTTP1_MAX_HEAD have been seen. Returns how
 * many, or -ENOMEM.
 */
int http1_keep(struct http1_kept *k, const struct net_privacy *p, const uint8_t *data, size_t n);
void http1_forget(struct http1_kept *k); /* wipes; it is empty again */

#endif
