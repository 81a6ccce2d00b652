/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_body.h - where the body of an HTTP/1 message ends (RFC 9112, 6 and 7). Of the
 * bytes only chunks' heads are looked at, and only they must be known.
 */
#ifndef HTTP1_BODY_H
#define HTTP1_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http1_framing {
	HTTP1_NO_BODY,
	HTTP1_LENGTH,
	HTTP1_CHUNKED,
	HTTP1_UNTIL_CLOSE,
	HTTP1_UNTIL_TURN, /* nobody knows: until the other side goes on, or the connection ends */
};

struct http1_body {
	enum http1_framing framing;
	int state;	    /* of chunks */
	unsigned n_digits;  /* of a chunk's size, so far */
	uint64_t left;	    /* of the body, or of the chunk */
	uint64_t n_payload; /* bytes so far, without chunks' frames as far as these are known */
	bool is_over;
	bool was_chunked; /* and its chunks got lost: then its end may be recognised */
	uint64_t last;	  /* the last 8 bytes */
};

void http1_body_begin(struct http1_body *b, enum http1_framing framing, uint64_t length);

/* How many of `n` bytes belong to it. */
size_t http1_body_known(struct http1_body *b, const uint8_t *data, size_t n);
uint64_t http1_body_unknown(struct http1_body *b, uint64_t n);

#endif
