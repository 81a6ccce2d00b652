/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1.h - HTTP/1.x on one connection (RFC 9112): requests matched with their responses,
 * pipelined ones too, bodies skipped by their framing.
 *
 * Where a head was not copied, or a chunk's, nobody knows where its message ends: then it
 * lasts until the other side goes on (the turn), the next head that can be recognised, or
 * the end of the connection, and is EXCHANGE_LOST or EXCHANGE_FRAMES. Of chunks that were
 * not copied the last five bytes of the last piece are enough, "0\r\n\r\n".
 *
 * What may look odd in an exchange and is right: a response that was complete before its
 * request; a request or response that was handed over unfinished has no end (0). After a
 * 101 or CONNECT there is one more exchange, which begins there and lasts until the
 * connection ends: EXCHANGE_WEBSOCKET, or EXCHANGE_TUNNEL; its bytes are what was moved
 * either way.
 */
#ifndef HTTP1_H
#define HTTP1_H

#include "net_exchange.h"
#include "net_privacy.h"

struct http1;

/* Could these, at least 8 of them or all there are, be the first bytes of a message? */
bool http1_is_request(const uint8_t *data, size_t n);
bool http1_is_response(const uint8_t *data, size_t n);

/* `p` outlives it. NULL: no memory. */
struct http1 *http1_new(const struct net_privacy *p, exchange_done_fn *done, void *done_ctx);
void http1_free(struct http1 *h); /* takes NULL; what is unfinished is dropped, see http1_end() */

enum http1_next {
	HTTP1_GOES_ON,
	HTTP1_SWITCHED,	    /* after a 101 or CONNECT: what follows is another protocol's */
	HTTP1_UPGRADED_H2C, /* the 101 was for h2c: what follows is HTTP/2, its first stream
			       answers the request that was handed over */
};
/* That it switched is told once; later pieces are only counted. */
enum http1_next http1_piece(struct http1 *h, enum net_direction dir, const struct net_piece *piece);
/* After it: the offset of the other protocol's first byte, which may be in the same piece. */
uint64_t http1_switched_off(const struct http1 *h, enum net_direction dir);
/* A direction's orderly end: what is framed by it is complete. */
void http1_fin(struct http1 *h, enum net_direction dir, uint64_t time_ns);
/* The connection (EXCHANGE_CLOSED) or the recording (EXCHANGE_INCOMPLETE) ends: the rest is handed
 * over. */
void http1_end(struct http1 *h, uint64_t time_ns, uint32_t flag);
/* How many requests are under way, as far as they are kept. */
unsigned http1_n_open(const struct http1 *h);
/* An upper bound of its memory, for the bounds of all. */
size_t http1_bytes(const struct http1 *h);

#endif
