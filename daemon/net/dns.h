/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns.h - DNS messages (RFC 1035, 6891), and queries matched with their answers.
 */
#ifndef DNS_H
#define DNS_H

#include "net_exchange.h"
#include "net_privacy.h"

#define DNS_NAME_LEN	  256
#define DNS_ANSWER_LEN	  256
#define DNS_MAX_ADDRESSES 16
#define DNS_ERROR_LEN	  32

/* Instead of a type: whatever addresses there are (getaddrinfo()). */
#define DNS_ADDRESSES 0

struct dns_address {
	uint8_t len; /* 4 or 16 */
	uint8_t bytes[16];
};

struct dns_message {
	size_t len; /* of all of it, copied or not */
	uint16_t id;
	bool is_response, truncated, authoritative, recursion_available;
	uint8_t opcode;
	uint16_t rcode; /* with EDNS's upper bits */
	bool has_edns;
	uint16_t n_questions, n_answers;
	uint16_t qtype, qclass;
	/*
	 * Of the first question, dotted, in lower case, escaped as RFC 4343 2.1 has it; "." is
	 * the root, "" that there is none. What has no room ends with "...".
	 */
	char name[DNS_NAME_LEN];
	/* "93.184.216.34, CNAME www.example.org, TXT 36 bytes, ...": as many as have room and were
	 * copied. */
	char answers[DNS_ANSWER_LEN];
	struct dns_address addresses[DNS_MAX_ADDRESSES];
	unsigned n_addresses;
	uint32_t min_ttl; /* of the answers, s; 0: there are none */
	bool has_soa;	  /* of the zone that says no (RFC 2308) */
	bool cut;	  /* it was longer than what was copied: answers may be missing */
};

/*
 * `n_data` of `len` bytes are known. -EBADMSG: it is no DNS message, or its first question
 * cannot be read.
 */
int dns_parse(const struct net_privacy *p, const uint8_t *data, size_t n_data, size_t len,
	      struct dns_message *ret);

enum dns_transport { DNS_UDP, DNS_TCP, DNS_VARLINK /* resolve.h */ };

/* One query, when it was answered or given up. */
struct dns_query {
	uint64_t begin_ns, end_ns;
	uint32_t tgid,
		tid; /* of whom the first half was: the query of a client, of a server likewise */
	struct dns_message question, answer;
	bool has_question, has_answer;
	enum dns_transport transport;
	char error[DNS_ERROR_LEN]; /* what a resolver says in place of an answer; or "" */
	unsigned n_sent;	   /* of the same query: > 1: it was repeated */
	uint64_t request_bytes, response_bytes; /* of all times that it was sent; of the answer */
};

/* In the order in which they end. It is gone afterwards. */
typedef void dns_query_fn(void *ctx, const struct dns_query *q);

/*
 * The queries under way on one socket, by (id, name, type, peer's key). Which of the two a
 * message is it says itself: a socket may be a server's and a client's at once.
 */
struct dns;
/* `p` outlives it. NULL: no memory. */
struct dns *dns_new(const struct net_privacy *p, dns_query_fn *done, void *done_ctx);
void dns_free(struct dns *d); /* takes NULL; what is under way is dropped */
/* A datagram; `peer`: any hash of the other end, for sockets with several; 0: not known. */
void dns_datagram(struct dns *d, enum net_direction dir, const struct net_piece *piece,
		  uint64_t peer);
/* Bytes of a TCP connection: messages have their length before them. -EPROTO: it is not DNS. */
int dns_piece(struct dns *d, enum net_direction dir, const struct net_piece *piece);
/* What was asked last, as a number that is the same wherever it is asked; 0: nothing is under way.
 */
uint64_t dns_asked(const struct dns *d);
/* That is asked elsewhere now: if no answer comes, it was waited for until then. */
void dns_asked_elsewhere(struct dns *d, uint64_t asked, uint64_t time_ns);
/* Gives up what has not been answered for 10 s. */
void dns_expire(struct dns *d, uint64_t now_ns);
/* Gives up all: the socket is closed, or the recording is over. */
void dns_end(struct dns *d, uint64_t time_ns);
size_t dns_bytes(const struct dns *d); /* an upper bound of its memory */
/* Queries that nobody is told of: more were under way than are kept, or there was no memory. */
uint64_t dns_missed(const struct dns *d);

/* "A", "AAAA", "HTTPS", "TYPE1234", "A+AAAA" (DNS_ADDRESSES). "NOERROR", "NXDOMAIN", "RCODE17".
 * Into `scratch` or static. */
const char *dns_type_name(uint16_t type, char scratch[16]);
const char *dns_rcode_name(uint16_t rcode, char scratch[16]);

#endif
