/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2.h - HTTP/2 on one connection (RFC 9113), and gRPC in it.
 *
 * Of DATA frames the nine bytes of their head are enough, and of padded ones the tenth.
 * A connection whose beginning was not seen has tables (HPACK) that nobody can know: its
 * streams have times and lengths, but of names those alone that were said since. What
 * refers to earlier ones is left out (EXCHANGE_JOINED_LATE). The same holds of a direction
 * from where a part of it was lost.
 */
#ifndef HTTP2_H
#define HTTP2_H

#include "net_exchange.h"
#include "net_privacy.h"

struct http2;

/* The client's preface, or its beginning. */
bool http2_is_preface(const uint8_t *data, size_t n);

struct http2 *http2_new(const struct net_privacy *p, bool joined_late, exchange_done_fn *done,
			void *done_ctx);
void http2_free(struct http2 *h); /* takes NULL; what is unfinished is dropped, see http2_end() */
/*
 * After HTTP1_UPGRADED_H2C: what was asked for in HTTP/1 is answered on stream 1. Before
 * the first piece; what `request` says of a response does not count.
 */
void http2_upgraded(struct http2 *h, const struct exchange *request);
/* <0: it is not HTTP/2, or beyond repair: what was open has been handed over. */
int http2_piece(struct http2 *h, enum net_direction dir, const struct net_piece *piece);
/*
 * Of a connection joined late it may show that the client is the other side than it was
 * said to be. From then on, and before the first exchange with names is handed over,
 * what is given as NET_REQUEST is a response, and an exchange's request is what was
 * given as NET_RESPONSE.
 */
bool http2_is_reversed(const struct http2 *h);
void http2_fin(struct http2 *h, enum net_direction dir, uint64_t time_ns);
void http2_end(struct http2 *h, uint64_t time_ns, uint32_t flag); /* as http1_end() */
size_t http2_bytes(const struct http2 *h);

#endif
