/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_privacy.h - what of a request may be kept. The header fields that are looked at are
 * compiled in: Host, Content-Type, Content-Length, Transfer-Encoding, Connection, Upgrade,
 * Age, X-Cache, Expect, grpc-status, and the pseudo-headers of HTTP/2.
 */
#ifndef NET_PRIVACY_H
#define NET_PRIVACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum net_query {
	NET_QUERY_HIDE, /* "?…": that there was one; the default */
	NET_QUERY_KEEP, /* all of it */
	NET_QUERY_KEYS, /* "?a=…&b=…" */
	NET_QUERY_DROP, /* not even that */
};

struct net_privacy {
	enum net_query query;
	bool hash_names; /* of DNS and TLS, hosts and paths: "#0123456789abcdef", keyed per session
			  */
	uint64_t key[2];
};

enum net_header {
	NET_HEADER_OTHER, /* never stored */
	NET_HEADER_HOST,
	NET_HEADER_CONTENT_TYPE,
	NET_HEADER_CONTENT_LENGTH,
	NET_HEADER_TRANSFER_ENCODING,
	NET_HEADER_CONNECTION,
	NET_HEADER_UPGRADE,
	NET_HEADER_AGE,
	NET_HEADER_X_CACHE,
	NET_HEADER_EXPECT,
	NET_HEADER_GRPC_STATUS,
	N_NET_HEADERS
};

/* Case does not matter. `name` has `len` bytes, without the colon. */
enum net_header net_header_of(const uint8_t *name, size_t len);
/* Of a line of HTTP/1, with its value behind the colon, from `*ret_value` on. */
enum net_header net_header_at(const uint8_t *line, size_t n, size_t *ret_value);

/*
 * Copies the path and query of a request target of `len` bytes as far as they may be
 * kept: `ret` is NUL-terminated, at most `room` bytes with that, UTF-8 is not cut within
 * a character. Segments that look like secrets (JWTs, more than 32 hexadecimal digits)
 * become "…".
 */
void net_privacy_path(const struct net_privacy *p, const uint8_t *target, size_t len, char *ret,
		      size_t room);
/*
 * A host name, likewise; user:password@ is left out. As a number it is that of the name
 * in lower case, without DNS's last dot and without the port, which stays.
 */
void net_privacy_name(const struct net_privacy *p, const uint8_t *name, size_t len, char *ret,
		      size_t room);
/* Any other text, as it is but for NULs, and cut likewise. */
void net_privacy_text(const uint8_t *text, size_t len, char *ret, size_t room);

#endif
