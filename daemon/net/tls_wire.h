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
	uint64_t begin_ns, end_ns; /* ClientHello's first byte; Finished of both. 0: not seen */
	uint64_t server_hello_ns;
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
	bool lost;		/* parts were not seen */
	int alert_level, alert; /* -1: there was none that could be read */
	enum net_direction alert_from;
};

bool tls_wire_is_hello(const uint8_t *data, size_t n);

/* `handshake_done` is called once, when it is over or has failed. */
typedef void tls_handshake_fn(void *ctx, const struct tls_handshake *h);
struct tls_wire_sinks {
	tls_handshake_fn *handshake;
	exchange_done_fn *turn; /* EXCHANGE_TLS, after the handshake */
	void *ctx;
};
struct tls_wire *tls_wire_new(const struct net_privacy *p, const struct tls_wire_sinks *sinks);
void tls_wire_free(struct tls_wire *t);
/* <0: it is not TLS. */
int tls_wire_piece(struct tls_wire *t, enum net_direction dir, const struct net_piece *piece);
void tls_wire_fin(struct tls_wire *t, enum net_direction dir, uint64_t time_ns);
void tls_wire_end(struct tls_wire *t, uint64_t time_ns, uint32_t flag);
size_t tls_wire_bytes(const struct tls_wire *t);
const struct tls_handshake *tls_wire_handshake(const struct tls_wire *t);

/* "TLS 1.3"; NULL: not known. "TLS_AES_128_GCM_SHA256"; NULL likewise. "handshake_failure". */
const char *tls_version_name(uint16_t version);
const char *tls_cipher_name(uint16_t cipher);
const char *tls_alert_name(int alert);

#endif
