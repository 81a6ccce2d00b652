/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_head.h - the head of an HTTP/1 message (RFC 9112, 2 to 5): its start line and
 * those few fields that anybody wants. Keeps nothing: texts lie in the bytes it was given.
 */
#ifndef HTTP1_HEAD_H
#define HTTP1_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net_stream.h"

/* A field's value may hold line ends of obsolete folding: they are blanks. */
struct http1_text {
	const uint8_t *data;
	size_t len;
};

struct http1_head {
	int minor;			  /* of HTTP/1.x; -1: not seen */
	struct http1_text method, target; /* of a request */
	int status;			  /* of a response */

	struct http1_text host, content_type, x_cache, upgrade;
	int64_t content_length, age;	  /* -1: none */
	bool is_bad_length;		  /* no number, or several that differ */
	bool has_coding, is_chunked;	  /* Transfer-Encoding: any; "chunked" comes last */
	bool says_close, says_keep_alive; /* Connection */
};

/*
 * The head that begins at `data`: its length with the empty line; 0: that is not there. It may
 * turn out to be none: then it is not `*ret_good`.
 */
size_t http1_head_parse(enum net_direction dir, const uint8_t *data, size_t n,
			struct http1_head *ret, bool *ret_good);
/*
 * Of one that is cut only whole lines count, and the start line as far as it goes. False: it is
 * none.
 */
bool http1_head_parse_cut(enum net_direction dir, const uint8_t *data, size_t n,
			  struct http1_head *ret);

/*
 * Could these be the first bytes of a message? A request that is expected here may have
 * any method.
 */
bool http1_head_begins(enum net_direction dir, const uint8_t *data, size_t n, bool is_expected);

bool http1_text_is(const struct http1_text *t, const char *word); /* case does not matter */

#endif
