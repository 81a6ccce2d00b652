/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_hello.h - the messages of a TLS handshake that are sent in clear text, byte by byte
 * as they come. What is needed of ClientHello and ServerHello is kept; everything else is
 * stepped over by its length, however long it is.
 */
#ifndef TLS_HELLO_H
#define TLS_HELLO_H

#include "tls_wire.h"

/* A host name has 255 bytes at most, and 5 before it. */
#define TLS_EXTENSION_LEN  264
#define TLS_SESSION_ID_LEN 32

enum tls_step {
	TLS_STEP_HEAD,
	TLS_STEP_FIXED,
	TLS_STEP_SESSION_ID,
	TLS_STEP_COMPRESSION,
	TLS_STEP_EXTENSIONS,
	TLS_STEP_EXTENSION_HEAD,
	TLS_STEP_EXTENSION_BODY,
	TLS_STEP_REST,
};

/* Of one direction of a connection. */
struct tls_messages {
	enum net_direction dir;
	const struct net_privacy *privacy;
	struct tls_handshake *handshake; /* names go there */

	/* Where we are: `skip` bytes to step over, then `want` that are kept, `have` are there. */
	enum tls_step step;
	uint8_t type;
	uint32_t left; /* of the message */
	uint32_t skip;
	uint16_t want, have;
	uint16_t extension, after; /* its type; its bytes behind those that are kept */
	uint8_t bytes[TLS_EXTENSION_LEN];

	bool is_broken; /* where messages begin is not known any more */
	bool is_lost;	/* parts of the hello were not seen */

	/* Of the last hello; the caller sets `hello` back. */
	bool hello;
	uint16_t version, cipher;
	bool is_retry, has_psk, has_early_data;
	uint8_t session_id_len, session_id[TLS_SESSION_ID_LEN];
	/* ServerHelloDone was there: it is not an abbreviated handshake. */
	bool hello_done;
};

/* Of both directions: two of them. NULL: no memory. */
struct tls_messages *tls_messages_new(const struct net_privacy *p, struct tls_handshake *h);
void tls_messages_free(struct tls_messages *both); /* wipes them; takes NULL */
/* Does a message that begins with that open its direction? */
bool tls_messages_is_hello(const struct tls_messages *m, uint8_t first);
/* A record begins, behind what was missing: if it is with a hello, all goes on from there. */
void tls_messages_restart(struct tls_messages *m, uint8_t first);
/* The next `n` bytes of messages; `data` NULL: they are not known. */
void tls_messages_feed(struct tls_messages *m, const uint8_t *data, size_t n);

#endif
