/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_conversations.h - what programs have said to each other, as it was on the wire.
 *
 * A line is what one side says before the other goes on: ">" the client, "<" the server,
 * then bytes in hexadecimal. "~N " stands for N bytes that mean nothing to who cannot
 * decrypt or verify them. All asked for www.example.org.
 */
#ifndef TLS_CONVERSATIONS_H
#define TLS_CONVERSATIONS_H

extern const char conversation_tls13[];
extern const char conversation_tls13_resumed[];
extern const char conversation_tls13_retry[];
extern const char conversation_tls13_early[];
extern const char conversation_tls13_client_auth[];
extern const char conversation_tls13_bad_server[];
extern const char conversation_tls13_gnutls[];
extern const char conversation_tls12[];
extern const char conversation_tls12_ticket[];
extern const char conversation_tls12_session[];
extern const char conversation_tls12_client_auth[];
extern const char conversation_tls12_no_cipher[];
extern const char conversation_tls12_old_server[];
extern const char conversation_tls12_gnutls[];
extern const char conversation_tls10[];

#endif
