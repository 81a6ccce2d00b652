/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_exchange.h - one request and its response, as a parser has understood them.
 *
 * A parser makes it, fills it as it learns, and hands it over when it is complete or will
 * never be. Only what is here is ever kept of a message: header fields that are not in
 * this struct, and bodies, are not stored anywhere. Texts are as they came but for what
 * net_privacy.h takes away; they may be anything but NUL, and cut at their room.
 */
#ifndef NET_EXCHANGE_H
#define NET_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net_stream.h"

#define EXCHANGE_METHOD_LEN 24
#define EXCHANGE_HOST_LEN   128
#define EXCHANGE_PATH_LEN   256
#define EXCHANGE_FIELD_LEN  64

enum exchange_protocol {
	EXCHANGE_HTTP1,
	EXCHANGE_HTTP2,
	EXCHANGE_WEBSOCKET, /* from the 101 on, until the connection ends */
	EXCHANGE_TUNNEL,    /* from the response to CONNECT on, likewise */
	EXCHANGE_TLS,	    /* a turn of encrypted data: lengths and times alone */
	N_EXCHANGE_PROTOCOLS
};

/* exchange.flags */
#define EXCHANGE_INCOMPLETE  0x001 /* it was not over when it was handed over */
#define EXCHANGE_JOINED_LATE 0x002 /* names are unknown: their tables began before us (HPACK) */
/* Parts of its heads were not seen: fields may be missing, its end is where the connection went on.
 */
#define EXCHANGE_LOST	     0x004
#define EXCHANGE_RESET	     0x008 /* the stream was reset (RST_STREAM): `error` */
#define EXCHANGE_CLOSED	     0x010 /* the connection ended before it did */
#define EXCHANGE_NO_REQUEST  0x020 /* only the response was seen */
#define EXCHANGE_KEEPS_ALIVE 0x040 /* the connection may carry more behind it */
#define EXCHANGE_PIPELINED   0x080 /* the one before it had not been answered when it was sent */
#define EXCHANGE_CONTINUED   0x100 /* 100 Continue came first */
#define EXCHANGE_GRPC	     0x200
/* Chunks' heads were not seen: a body's size has them in it, its end is where the connection went
 * on. */
#define EXCHANGE_FRAMES 0x400

/* Times are of the calls that moved the first and last byte; 0: not seen. CLOCK_BOOTTIME. */
struct exchange {
	uint64_t index; /* of HTTP/2: the stream's id; of others: counted on the connection,
			   from 0 */
	enum exchange_protocol protocol;
	uint32_t flags;

	uint64_t request_ns, request_end_ns;   /* first byte, last byte with the body */
	uint64_t response_ns, response_end_ns; /* likewise */
	/* Of whom the first byte of each was. */
	uint32_t request_tgid, request_tid, response_tgid, response_tid;
	/* Offsets of the first byte of each on their direction (HTTP/2: of the frame). */
	uint64_t request_off, response_off;

	char method[EXCHANGE_METHOD_LEN];
	char scheme[8]; /* HTTP/2's :scheme, or as the request's absolute URL has it; or "" */
	char host[EXCHANGE_HOST_LEN];
	char path[EXCHANGE_PATH_LEN]; /* without the query, but for what net_privacy.h leaves */
	char version[8];	      /* "1.1", "1.0", "2" */
	int status;		      /* 0: none was seen */
	char content_type[EXCHANGE_FIELD_LEN]; /* of the response, without parameters */
	char cache[EXCHANGE_FIELD_LEN];	       /* "not modified", X-Cache's, "age 17"; or "" */
	char upgrade[EXCHANGE_METHOD_LEN];     /* what a 101 has agreed to */
	int grpc_status;		       /* -1: none */
	uint32_t error;			       /* of HTTP/2's RST_STREAM */
	/* Of bodies, as they were transferred (chunks' frames not counted). */
	uint64_t request_body, response_body;
	/* As the head has it; -1: it has none. */
	int64_t response_length;
	/* All bytes of it on the wire, heads included. */
	uint64_t request_bytes, response_bytes;
};

/*
 * Takes a finished one, in the order in which responses end; `e` stays the parser's and
 * is gone (wiped) afterwards.
 */
typedef void exchange_done_fn(void *ctx, const struct exchange *e);

#endif
