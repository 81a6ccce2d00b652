/* SPDX-License-Identifier: Apache-2.0 */
/* net_address.h - the ends of a socket as text. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net_events.h"

/* "[IPv6%scope]:port", or a UNIX socket's name, each of whose bytes may be escaped. */
#define NET_ADDRESS_LEN 192

static inline bool net_is_inet(const struct net_sock *s)
{
	return s->family == AF_INET || s->family == AF_INET6;
}

/* "10.0.0.1:80", "[fe80::1%3]:80", "/run/x.sock", "@abstract". False: there is none. */
bool net_local_text(const struct net_sock *s, char ret[NET_ADDRESS_LEN]);
bool net_peer_text(const struct net_sock *s, char ret[NET_ADDRESS_LEN]);

/* An address alone, of 4 or 16 bytes. */
void net_ip_text(const uint8_t *bytes, size_t len, char ret[NET_ADDRESS_LEN]);

/* "tcp", "udp", "unix". */
const char *net_sock_kind(const struct net_sock *s);

#endif
