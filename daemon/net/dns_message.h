/* SPDX-License-Identifier: Apache-2.0 */
/* dns_message.h - what the files of dns.h share. */
#ifndef DNS_MESSAGE_H
#define DNS_MESSAGE_H

#include "dns.h"

#define DNS_HEAD_LEN 12
/* As much as anybody needs of one: what fits into a datagram everywhere (DNS flag day 2020). */
#define DNS_KEPT 1232

enum dns_type {
	DNS_A = 1,
	DNS_NS = 2,
	DNS_CNAME = 5,
	DNS_SOA = 6,
	DNS_PTR = 12,
	DNS_MX = 15,
	DNS_TXT = 16,
	DNS_AAAA = 28,
	DNS_SRV = 33,
	DNS_DNAME = 39,
	DNS_OPT = 41,
	DNS_SVCB = 64,
	DNS_HTTPS = 65,
	DNS_IXFR = 251,
	DNS_AXFR = 252,
};

/* Where one message begins. */
struct dns_place {
	uint64_t time_ns;
	uint32_t tgid, tid;
};

/* Takes a message of a stream, `n_data` of `len` bytes of which are known. <0 if it is none. */
typedef int dns_message_fn(void *ctx, const uint8_t *data, size_t n_data, size_t len,
			   const struct dns_place *begin, uint64_t end_ns);

/* One direction of a TCP connection: messages behind two bytes that have their length. */
struct dns_stream {
	uint64_t next; /* offset of the byte that is to come */
	bool has_begun, in_step;
	uint8_t head[2], n_head;
	bool is_whole;	/* of the message: nothing has been missing so far */
	uint16_t len;	/* of the message */
	uint16_t left;	/* of it */
	uint16_t have;	/* bytes of it that are kept */
	uint8_t *bytes; /* DNS_KEPT; NULL: it lies in the piece, or none is under way */
	struct dns_place begin;
};

void dns_stream_done(struct dns_stream *s);
/* -EPROTO: what begins the stream is no message. */
int dns_stream_piece(struct dns_stream *s, const struct net_piece *piece, dns_message_fn *fn,
		     void *ctx);
size_t dns_stream_bytes(const struct dns_stream *s);

#endif
