/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_wire.h - TLS as it is seen on the wire (RFC 8446, 5246, 6066, 7301): who is asked
 * for, what is agreed, how long it takes; and how much is said afterwards, in turns.
 */
#ifndef TLS_WIRE_H
#define TLS_WIRE_H

#include "net_exchange.h"
#include "net_privacy.h"

struct tls_wire;

#define TLS_ALPN_LEN 64

/* What is known of the handshake so far. */
struct tls_handshake {
	/*
	 * ClientHello's first byte; Finished of both, which in TLS 1.3 is the client's first
	 * encrypted flight. 0: not seen.
	 */
	uint64_t begin_ns, end_ns;
	uint64_t server_hello_ns; /* its last byte */
	uint64_t failed_ns;
	char sni[EXCHANGE_HOST_LEN];
	char alpn_offered[TLS_ALPN_LEN]; /* "h2,http/1.1" */
	char alpn[TLS_ALPN_LEN];	 /* selected; "" where it is encrypted (TLS 1.3) */
	uint16_t version;		 /* 0x0303, 0x0304; 0: none was agreed on */
	uint16_t cipher;
	bool has_cipher;
	bool resumed;		/* by session id or ticket (<= 1.2), or a pre-shared key (1.3) */
	bool early_data;	/* was offered */
	bool retried;		/* HelloRetryRequest */
	bool failed;		/* by `alert`, or the end of the connection */
	bool lost;		/* parts were not seen: what is missing may have been there */
	int alert_level, alert; /* -1: there was none that could be read */
	enum net_direction alert_from; /* of one that could be read, or a guess by its length */
};

/* Could these, at least 5 of them, be the first bytes of a ClientHello? SSL 2's is none. */
bool tls_wire_is_hello(const uint8_t *data, size_t n);

/*
 * Called once: it is over (end_ns, or `lost`), it has failed, or the recording ends before
 * either. Of a connection whose handshake nobody saw it is not called.
 */
typedef void tls_handshake_fn(void *ctx, const struct tls_handshake *h);

/*
 * A turn is what the client says and what the server says then: lengths on the wire, and
 * times. What the server says before the client's first word is none in TLS 1.3, where it
 * cannot be told from tickets.
 */
struct tls_wire_sinks {
	tls_handshake_fn *handshake;
	exchange_done_fn *turn; /* EXCHANGE_TLS, after the handshake */
	void *ctx;
};

/* `p` outlives it. NULL: no memory. */
struct tls_wire *tls_wire_new(const struct net_privacy *p, const struct tls_wire_sinks *sinks);
void tls_wire_free(struct tls_wire *t); /* takes NULL; what is unfinished is dropped */
/* -EPROTO: it is not TLS; a handshake that had begun has failed then. */
int tls_wire_piece(struct tls_wire *t, enum net_direction dir, const struct net_piece *piece);
/* As http1_fin(), http1_end(). */
void tls_wire_fin(struct tls_wire *t, enum net_direction dir, uint64_t time_ns);
void tls_wire_end(struct tls_wire *t, uint64_t time_ns, uint32_t flag);
size_t tls_wire_bytes(const struct tls_wire *t);
const struct tls_handshake *tls_wire_handshake(const struct tls_wire *t);

/* "TLS 1.3"; NULL: not known. "TLS_AES_128_GCM_SHA256"; NULL likewise. "handshake_failure". */
const char *tls_version_name(uint16_t version);
const char *tls_cipher_name(uint16_t cipher);
const char *tls_alert_name(int alert);

#endif
