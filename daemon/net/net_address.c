/* SPDX-License-Identifier: Apache-2.0 */
/* net_address.c - the ends of a socket as text. */
#include "net_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "text.h"

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static char *put_decimal(char *at, unsigned value)
{
	char digits[10];
	int n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n > 0)
		*at++ = digits[--n];
	return at;
}

/* Written out, since this is done for each request. */
static char *put_ipv4(char *at, const uint8_t bytes[4])
{
	for (int i = 0; i < 4; i++) {
		if (i)
			*at++ = '.';
		at = put_decimal(at, bytes[i]);
	}
	return at;
}

void net_ip_text(const uint8_t *bytes, size_t len, char ret[NET_ADDRESS_LEN])
{
	if (len == 4)
		*put_ipv4(ret, bytes) = '\0';
	else if (!inet_ntop(AF_INET6, bytes, ret, NET_ADDRESS_LEN))
		ret[0] = '\0';
}

/* An end that is not bound, or not connected, is all zero. */
static bool inet_text(const struct net_sock *s, const uint8_t address[16], uint16_t port,
		      uint32_t scope_id, char ret[NET_ADDRESS_LEN])
{
	char ip[NET_ADDRESS_LEN], scope[16] = "";
	char *at;

	if (port == 0 && is_zero(address, s->family == AF_INET ? 4 : 16))
		return false;
	if (s->family == AF_INET) {
		at = put_ipv4(ret, address);
		*at++ = ':';
		*put_decimal(at, port) = '\0';
		return true;
	}
	net_ip_text(address, 16, ip);
	if (scope_id)
		snprintf(scope, sizeof(scope), "%%%u", scope_id);
	snprintf(ret, NET_ADDRESS_LEN, "[%.45s%s]:%u", ip, scope, port);
	return true;
}

static bool path_text(const struct net_unix *u, char ret[NET_ADDRESS_LEN])
{
	bool cut = u->path_len > NET_PATH_LEN;
	int n;

	if (u->path_len == 0)
		return false;
	n = snprintf(ret, NET_ADDRESS_LEN, "%s%s", u->is_abstract ? "@" : "", cut ? "…" : "");
	text_printable(ret + n, NET_ADDRESS_LEN - (size_t)n, u->path,
		       cut ? NET_PATH_LEN : u->path_len);
	return true;
}

bool net_local_text(const struct net_sock *s, char ret[NET_ADDRESS_LEN])
{
	if (s->family == AF_UNIX)
		return s->role == NET_ROLE_SERVER && path_text(&s->unix_sock, ret);
	return net_is_inet(s) && inet_text(s, s->inet.local, s->inet.local_port, 0, ret);
}

bool net_peer_text(const struct net_sock *s, char ret[NET_ADDRESS_LEN])
{
	if (s->family == AF_UNIX)
		return s->role != NET_ROLE_SERVER && path_text(&s->unix_sock, ret);
	return net_is_inet(s) &&
	       inet_text(s, s->inet.peer, s->inet.peer_port, s->inet.scope_id, ret);
}

const char *net_sock_kind(const struct net_sock *s)
{
	if (s->family == AF_UNIX)
		return "unix";
	return s->protocol == IPPROTO_UDP ? "udp" : "tcp";
}
