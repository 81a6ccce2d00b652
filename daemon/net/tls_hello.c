/* SPDX-License-Identifier: Apache-2.0 */
/* tls_hello.c - ClientHello and ServerHello, and where the other messages end. */
#include "tls_hello.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#define CLIENT_HELLO	  1
#define SERVER_HELLO	  2
#define SERVER_HELLO_DONE 14

#define EXTENSION_SERVER_NAME	     0
#define EXTENSION_ALPN		     16
#define EXTENSION_PSK		     41
#define EXTENSION_EARLY_DATA	     42
#define EXTENSION_SUPPORTED_VERSIONS 43

#define HEAD_LEN 4
/* Version, random, length of the session's id. */
#define FIXED_LEN 35

/* A ServerHello with this as its random is a HelloRetryRequest (RFC 8446, 4.1.3). */
static const uint8_t retry_random[32] = {
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
	0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
	0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};

static uint16_t get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static void go_on(struct tls_messages *m, enum tls_step step, uint32_t skip, uint16_t want)
{
	m->step = step;
	m->skip = skip;
	m->want = want;
	m->have = 0;
}

struct tls_messages *tls_messages_new(const struct net_privacy *p, struct tls_handshake *h)
{
	struct tls_messages *both = calloc(2, sizeof(*both));

	for (int dir = 0; both && dir < 2; dir++) {
		both[dir].dir = dir;
		both[dir].privacy = p;
		both[dir].handshake = h;
		go_on(&both[dir], TLS_STEP_HEAD, 0, HEAD_LEN);
	}
	return both;
}

void tls_messages_free(struct tls_messages *both)
{
	if (both)
		explicit_bzero(both, 2 * sizeof(*both));
	free(both);
}

bool tls_messages_is_hello(const struct tls_messages *m, uint8_t first)
{
	return first == (m->dir == NET_REQUEST ? CLIENT_HELLO : SERVER_HELLO);
}

void tls_messages_restart(struct tls_messages *m, uint8_t first)
{
	if (!tls_messages_is_hello(m, first))
		return;
	m->is_broken = false;
	go_on(m, TLS_STEP_HEAD, 0, HEAD_LEN);
}

/* ---- extensions ---- */

/* Values nobody means (RFC 8701): both bytes are 0x?a and alike. */
static bool is_grease(const uint8_t *p, size_t n)
{
	return n == 2 && p[0] == p[1] && (p[0] & 0xf) == 0xa;
}

/* A protocol's name at `at` in `ret`; with a comma before it unless it is the first. */
static size_t put_protocol(char *ret, size_t at, const uint8_t *name, size_t n)
{
	if (at > 0)
		ret[at++] = ',';
	for (size_t i = 0; i < n; i++)
		ret[at++] = name[i] > ' ' && name[i] < 0x7f && name[i] != ',' ? (char)name[i] : '?';
	ret[at] = '\0';
	return at;
}

/* As many of the list as have room; "..." stands for the rest. */
static void read_alpn(const uint8_t *p, size_t n, char ret[TLS_ALPN_LEN])
{
	static const uint8_t more[] = { '.', '.', '.' };
	size_t at = 0;

	ret[0] = '\0';
	for (size_t i = 2, len; i < n; i += 1 + len) {
		len = p[i];
		if (len == 0 || len > n - i - 1)
			return;
		if (is_grease(p + i + 1, len))
			continue;
		/* With the comma, and with ",..." and the end behind it. */
		if (at + 1 + len + 5 > TLS_ALPN_LEN) {
			put_protocol(ret, at, more, sizeof(more));
			return;
		}
		at = put_protocol(ret, at, p + i + 1, len);
	}
}

static void read_server_name(const struct tls_messages *m, const uint8_t *p, size_t n)
{
	struct tls_handshake *h = m->handshake;

	for (size_t i = 2, len; i + 3 <= n; i += 3 + len) {
		len = get_u16(p + i + 1);
		if (len > n - i - 3)
			return;
		if (p[i] == 0 && len > 0) {
			net_privacy_name(m->privacy, p + i + 3, len, h->sni, sizeof(h->sni));
			return;
		}
	}
}

static void read_extension(struct tls_messages *m)
{
	struct tls_handshake *h = m->handshake;
	bool client = m->dir == NET_REQUEST;

	switch (m->extension) {
	case EXTENSION_SERVER_NAME:
		if (client)
			read_server_name(m, m->bytes, m->have);
		break;
	case EXTENSION_ALPN:
		read_alpn(m->bytes, m->have, client ? h->alpn_offered : h->alpn);
		break;
	case EXTENSION_PSK:
		m->has_psk = true;
		break;
	case EXTENSION_EARLY_DATA:
		m->has_early_data = true;
		break;
	case EXTENSION_SUPPORTED_VERSIONS:
		if (!client && m->have == 2)
			m->version = get_u16(m->bytes);
		break;
	default:
		break;
	}
}

static bool is_wanted(uint16_t extension)
{
	return extension == EXTENSION_SERVER_NAME || extension == EXTENSION_ALPN ||
	       extension == EXTENSION_PSK || extension == EXTENSION_EARLY_DATA ||
	       extension == EXTENSION_SUPPORTED_VERSIONS;
}

static void extension_head(struct tls_messages *m)
{
	uint16_t len = get_u16(m->bytes + 2), want = MIN(len, TLS_EXTENSION_LEN);

	m->extension = get_u16(m->bytes);
	m->after = (uint16_t)(len - want);
	m->have = 0;
	if (!is_wanted(m->extension)) {
		go_on(m, TLS_STEP_EXTENSION_HEAD, len, HEAD_LEN);
	} else if (want == 0) {
		read_extension(m);
		go_on(m, TLS_STEP_EXTENSION_HEAD, 0, HEAD_LEN);
	} else {
		go_on(m, TLS_STEP_EXTENSION_BODY, 0, want);
	}
}

/* ---- messages ---- */

/* The rest of this message cannot be understood. */
static void give_up(struct tls_messages *m)
{
	m->is_lost = true;
	go_on(m, TLS_STEP_REST, 0, 0);
}

static void message_head(struct tls_messages *m)
{
	m->type = m->bytes[0];
	m->left = (uint32_t)m->bytes[1] << 16 | get_u16(m->bytes + 2);
	if (!tls_messages_is_hello(m, m->type)) {
		go_on(m, TLS_STEP_REST, 0, 0);
		return;
	}
	m->is_lost = m->is_retry = m->has_psk = m->has_early_data = false;
	m->version = m->cipher = 0;
	m->session_id_len = 0;
	go_on(m, TLS_STEP_FIXED, 0, FIXED_LEN);
}

static void fixed(struct tls_messages *m)
{
	bool client = m->dir == NET_REQUEST;

	m->version = get_u16(m->bytes);
	m->is_retry = !client && memcmp(m->bytes + 2, retry_random, sizeof(retry_random)) == 0;
	m->session_id_len = m->bytes[FIXED_LEN - 1];
	if (m->session_id_len > TLS_SESSION_ID_LEN) {
		m->session_id_len = 0;
		give_up(m);
		return;
	}
	/* Behind it: the length of the list of ciphers; or the cipher, and the compression. */
	go_on(m, TLS_STEP_SESSION_ID, 0, (uint16_t)(m->session_id_len + (client ? 2 : 3)));
}

static void session_id(struct tls_messages *m)
{
	uint16_t number = get_u16(m->bytes + m->session_id_len);

	memcpy(m->session_id, m->bytes, m->session_id_len);
	if (m->dir == NET_REQUEST) {
		go_on(m, TLS_STEP_COMPRESSION, number, 1);
	} else {
		m->cipher = number;
		go_on(m, TLS_STEP_EXTENSIONS, 0, 2);
	}
}

static void next_step(struct tls_messages *m)
{
	switch (m->step) {
	case TLS_STEP_HEAD:
		message_head(m);
		break;
	case TLS_STEP_FIXED:
		fixed(m);
		break;
	case TLS_STEP_SESSION_ID:
		session_id(m);
		break;
	case TLS_STEP_COMPRESSION:
		go_on(m, TLS_STEP_EXTENSIONS, m->bytes[0], 2);
		break;
	case TLS_STEP_EXTENSIONS: /* the message's end is theirs as well */
		go_on(m, TLS_STEP_EXTENSION_HEAD, 0, HEAD_LEN);
		break;
	case TLS_STEP_EXTENSION_HEAD:
		extension_head(m);
		break;
	case TLS_STEP_EXTENSION_BODY:
		read_extension(m);
		go_on(m, TLS_STEP_EXTENSION_HEAD, m->after, HEAD_LEN);
		break;
	case TLS_STEP_REST:
		break;
	}
}

static void message_over(struct tls_messages *m)
{
	if (tls_messages_is_hello(m, m->type)) {
		m->hello = true;
		m->handshake->lost |= m->is_lost;
	}
	m->hello_done |= m->dir == NET_RESPONSE && m->type == SERVER_HELLO_DONE;
	go_on(m, TLS_STEP_HEAD, 0, HEAD_LEN);
}

/* Bytes that are wanted are not known. */
static void not_known(struct tls_messages *m)
{
	switch (m->step) {
	case TLS_STEP_HEAD:
		m->is_broken = true;
		m->handshake->lost = true;
		break;
	case TLS_STEP_EXTENSION_BODY: /* where the next one begins is known all the same */
		m->is_lost = true;
		go_on(m, TLS_STEP_EXTENSION_HEAD, (uint32_t)(m->want - m->have) + m->after,
		      HEAD_LEN);
		break;
	default:
		give_up(m);
		break;
	}
}

void tls_messages_feed(struct tls_messages *m, const uint8_t *data, size_t n)
{
	while (n > 0 && !m->is_broken) {
		bool within = m->step != TLS_STEP_HEAD;
		size_t k = within ? MIN(n, m->left) : n;

		if (m->skip > 0) {
			k = MIN(k, m->skip);
			m->skip -= (uint32_t)k;
		} else if (m->step != TLS_STEP_REST) {
			if (!data) {
				not_known(m);
				continue;
			}
			k = MIN(k, (size_t)(m->want - m->have));
			memcpy(m->bytes + m->have, data, k);
			m->have = (uint16_t)(m->have + k);
		}
		if (within)
			m->left -= (uint32_t)k;
		if (data)
			data += k;
		n -= k;
		if (m->step != TLS_STEP_REST && m->skip == 0 && m->have == m->want)
			next_step(m);
		if (m->step != TLS_STEP_HEAD && m->left == 0)
			message_over(m);
	}
}
