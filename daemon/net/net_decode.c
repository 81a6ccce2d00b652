/* SPDX-License-Identifier: Apache-2.0 */
/* net_decode.c - are records of the network what they say they are? */
#include "net_decode.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "collect/stack_encode.h"

#define MAX_TCP_STATE 12 /* TCP_NEW_SYN_RECV of net/tcp_states.h */
#define MAX_SOCK_TYPE 10 /* SOCK_PACKET */

#define QUIC_MAX_ID_LEN 20

static bool is_zero(const uint8_t *p, size_t n)
{
	static const uint8_t zeros[16];

	return memcmp(p, zeros, n) == 0;
}

/* ---- sockets ---- */

static bool valid_inet(const struct net_sock *s)
{
	const struct net_inet *inet = &s->inet;

	if (s->protocol != IPPROTO_TCP && s->protocol != IPPROTO_UDP)
		return false;
	if (inet->mapped > 1)
		return false;
	if (s->family == AF_INET6)
		return !inet->mapped;
	return inet->scope_id == 0 && is_zero(inet->local + 4, 12) && is_zero(inet->peer + 4, 12);
}

static bool valid_unix(const struct net_sock *s)
{
	const struct net_unix *u = &s->unix_sock;

	return s->protocol <= MAX_SOCK_TYPE && u->path_len <= NET_MAX_PATH_LEN &&
	       u->is_abstract <= 1;
}

static bool valid_sock(const struct net_sock *s)
{
	if (!s->cookie || s->role > NET_ROLE_SERVER)
		return false;
	switch (s->family) {
	case AF_INET:
	case AF_INET6:
		return valid_inet(s);
	case AF_UNIX:
		return valid_unix(s);
	default:
		return false;
	}
}

/* ---- payload ---- */

/*
 * `data` holds `n_runs` of them and their bytes, and nothing else. They lie within the
 * `moved` bytes of the event, none is empty, and each begins where the one before has
 * ended or behind.
 */
static bool valid_runs(const uint8_t *data, size_t n_data, unsigned n_runs, uint32_t moved)
{
	const struct net_run *runs = (const void *)data;
	uint64_t end = 0, n_bytes = 0;

	if (n_runs > NET_MAX_RUNS || n_data < n_runs * sizeof(*runs))
		return false;
	for (unsigned i = 0; i < n_runs; i++) {
		if (runs[i].at < end || !runs[i].len)
			return false;
		end = (uint64_t)runs[i].at + runs[i].len;
		n_bytes += runs[i].len;
	}
	return end <= moved && n_bytes <= NET_MAX_PAYLOAD &&
	       n_data == n_runs * sizeof(*runs) + n_bytes;
}

static void payload_of(const uint8_t *data, unsigned n_runs, size_t n_data, struct net_payload *ret)
{
	size_t at = n_runs * sizeof(struct net_run);

	ret->runs = (const void *)data;
	ret->n_runs = n_runs;
	ret->bytes = data + at;
	ret->n_bytes = n_data - at;
}

void net_io_payload(const struct net_io_event *ev, struct net_payload *ret)
{
	payload_of(ev->data, ev->n_runs, ev->hdr.size - NET_IO_HEAD, ret);
}

void net_plain_payload(const struct net_plain_event *ev, struct net_payload *ret)
{
	payload_of(ev->data, ev->n_runs, ev->hdr.size - NET_PLAIN_HEAD, ret);
}

/* ---- records ---- */

static bool valid_io(const struct net_io_event *ev, size_t len)
{
	bool is_unix = ev->sock.family == AF_UNIX;

	return len >= NET_IO_HEAD && valid_sock(&ev->sock) && !(ev->flags & ~NET_FLAGS) &&
	       ev->protocol < N_NET_PROTOCOLS &&
	       is_unix == (ev->protocol == NET_PROTOCOL_RESOLVE) &&
	       is_zero(ev->pad, sizeof(ev->pad)) && ev->hdr.tgid && ev->hdr.tid &&
	       ev->off + ev->len >= ev->off &&
	       valid_runs(ev->data, len - NET_IO_HEAD, ev->n_runs, ev->len);
}

static bool valid_plain(const struct net_plain_event *ev, size_t len)
{
	return len >= NET_PLAIN_HEAD && (!ev->sock.cookie || valid_sock(&ev->sock)) &&
	       !(ev->flags & ~NET_FLAGS) && ev->protocol < N_NET_PROTOCOLS &&
	       ev->link <= NET_LINK_GUESS && ev->hdr.tgid && ev->hdr.tid &&
	       ev->off + ev->len >= ev->off &&
	       valid_runs(ev->data, len - NET_PLAIN_HEAD, ev->n_runs, ev->len);
}

static bool valid_stack(const struct net_stack_event *ev, size_t len)
{
	return len >= NET_STACK_HEAD + USER_STACK_HEAD && ev->cookie && ev->sent <= NET_SENT &&
	       !ev->pad && ev->hdr.tgid && ev->hdr.tid &&
	       user_stack_valid(&ev->user, len - NET_STACK_HEAD);
}

static bool valid_tcp(const struct net_tcp_event *ev, size_t len)
{
	if (len != sizeof(*ev) || !valid_sock(&ev->sock) || ev->sock.family == AF_UNIX ||
	    ev->sock.protocol != IPPROTO_TCP || ev->by_owner > 1)
		return false;
	if (ev->kind == NET_TCP_STATE)
		return ev->old_state > 0 && ev->old_state <= MAX_TCP_STATE && ev->new_state > 0 &&
		       ev->new_state <= MAX_TCP_STATE;
	return ev->kind > NET_TCP_STATE && ev->kind < N_NET_TCP_KINDS && !ev->old_state &&
	       !ev->new_state;
}

static bool valid_quic(const struct net_quic *q, const struct net_sock *s)
{
	if (!q->version)
		return !q->to_len && !q->from_len && !q->pad;
	return q->version <= 2 && q->to_len <= QUIC_MAX_ID_LEN && q->from_len <= QUIC_MAX_ID_LEN &&
	       !q->pad && s->family != AF_UNIX && s->protocol == IPPROTO_UDP;
}

static bool valid_bytes(const struct net_bytes_event *ev, size_t len)
{
	return len == sizeof(*ev) && valid_sock(&ev->sock) && ev->state <= MAX_TCP_STATE &&
	       valid_quic(&ev->quic, &ev->sock) && ev->first_ns <= ev->hdr.time_ns;
}

static bool valid_lookup(const struct net_lookup_event *ev, size_t len)
{
	return len >= NET_LOOKUP_HEAD && ev->name_len <= NET_NAME_LEN &&
	       len == NET_LOOKUP_HEAD + ev->name_len && ev->enter_ns <= ev->hdr.time_ns &&
	       ev->hdr.tgid && ev->hdr.tid;
}

bool net_valid(const struct event_hdr *hdr, size_t len)
{
	if (len < sizeof(*hdr) || hdr->size != len || hdr->stream != 0)
		return false;
	switch (hdr->type) {
	case NET_IO:
		return valid_io((const void *)hdr, len);
	case NET_STACK:
		return valid_stack((const void *)hdr, len);
	case NET_TCP:
		return valid_tcp((const void *)hdr, len);
	case NET_BYTES:
		return valid_bytes((const void *)hdr, len) && hdr->tgid && hdr->tid;
	case NET_SOCK:
		return valid_bytes((const void *)hdr, len);
	case NET_LOOKUP:
		return valid_lookup((const void *)hdr, len);
	case NET_PLAIN:
		return valid_plain((const void *)hdr, len);
	default:
		return false;
	}
}
