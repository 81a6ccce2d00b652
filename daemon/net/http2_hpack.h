/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http2_hpack.h - blocks of header fields (HPACK, RFC 7541), of one direction.
 *
 * Not libnghttp2's: its table keeps what must not be kept (cookies, credentials, queries)
 * as long as the connection lives, and cannot begin in the middle. Ours keeps of a field
 * what struct http2_head has room for, after net_privacy.h, and of all others their size.
 *
 * Where the table's beginning was not seen, it is known from its newest entry on
 * downwards: HPACK counts from there, so that an index means the same entry to us and to
 * the encoder, or one that we have not seen. Such a field is unknown; it is never
 * another's.
 */
#ifndef HTTP2_HPACK_H
#define HTTP2_HPACK_H

#include "net_exchange.h"
#include "net_privacy.h"

/*
 * Of a table: what browsers ask for. Who uses more of it is no longer followed. Whether
 * it is as much as the other side allows is the other side's to check.
 */
#define HTTP2_MAX_TABLE (1 << 16)

/* What a block says. Texts: "" where it does not. */
struct http2_head {
	char method[EXCHANGE_METHOD_LEN];
	char scheme[8];
	char authority[EXCHANGE_HOST_LEN], host[EXCHANGE_HOST_LEN];
	char path[EXCHANGE_PATH_LEN];
	char protocol[EXCHANGE_METHOD_LEN]; /* of an extended CONNECT */
	char content_type[EXCHANGE_FIELD_LEN];
	char x_cache[EXCHANGE_FIELD_LEN];
	char age[16];
	int status;	  /* 0: none */
	int grpc_status;  /* -1: none */
	int64_t length;	  /* content-length; -1: none */
	bool has_unknown; /* a field of it, which may be any of these */
};

struct http2_entry;

struct http2_hpack {
	const struct net_privacy *privacy;
	struct http2_entry *entries; /* a ring: the newest is at `newest` */
	uint32_t n_room, newest, n;
	uint32_t size, max_size; /* as RFC 7541 4.1 counts */
	size_t n_text;		 /* bytes that entries point to */
	bool is_partial;	 /* there may be older entries, which we do not know */
};

void http2_hpack_init(struct http2_hpack *t, const struct net_privacy *p, bool is_partial);
void http2_hpack_done(struct http2_hpack *t);
/* A block was not seen: nothing of the table is known any more. */
void http2_hpack_forget(struct http2_hpack *t);

/*
 * Fills `*ret` as far as it gets. -EBADMSG: it is no block, or its end is missing; the
 * table must be forgotten. -ENOMEM likewise.
 */
int http2_hpack_block(struct http2_hpack *t, const uint8_t *data, size_t n, struct http2_head *ret);
size_t http2_hpack_bytes(const struct http2_hpack *t); /* without the struct */

#endif
