/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as records of the network; the input is as for record_fuzz_run(). */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/net_decode.h"
#include "record_fuzz.h"

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The one of `room` bytes of runs and their payload that is valid, by what is there. */
static void fit_runs(uint8_t *data, size_t room, uint8_t *n_runs, uint32_t *len)
{
	struct net_run *runs = (void *)data;
	uint32_t at = 0;
	size_t n;

	*n_runs = (uint8_t)min(*n_runs % 4, room / (sizeof(*runs) + 1));
	if (!*n_runs)
		return; /* only valid without data */
	n = min(room - *n_runs * sizeof(*runs), NET_MAX_PAYLOAD);
	for (unsigned i = 0; i < *n_runs; i++) {
		uint32_t gap = runs[i].at % 300;

		runs[i].at = at + gap;
		runs[i].len = (uint32_t)(i + 1u < *n_runs ? n / *n_runs : n);
		n -= runs[i].len;
		at = runs[i].at + runs[i].len;
	}
	*len = at + *len % 300;
}

static void fit_sock(struct net_sock *s)
{
	static const uint16_t families[] = { 2, 10, 1, 2 };

	s->cookie = 1 + s->cookie % 4;
	s->family = families[s->family % 4];
	s->role %= 3;
	if (s->family == 1) {
		s->protocol %= 6;
		s->unix_sock.path_len %= NET_MAX_PATH_LEN + 1;
		s->unix_sock.is_abstract &= 1;
		return;
	}
	s->protocol = s->protocol % 4 ? 6 : 17;
	s->inet.mapped = s->family == 2 && s->inet.mapped & 1;
	if (s->family == 2) {
		memset(s->inet.local + 4, 0, 12);
		memset(s->inet.peer + 4, 0, 12);
		s->inet.scope_id = 0;
	}
}

static void fit_io(struct net_io_event *ev, size_t len)
{
	fit_sock(&ev->sock);
	fit_runs(ev->data, len - NET_IO_HEAD, &ev->n_runs, &ev->len);
	ev->off %= 100000;
	ev->flags &= NET_FLAGS;
	ev->protocol %= N_NET_PROTOCOLS;
	memset(ev->pad, 0, sizeof(ev->pad));
}

static void fit_plain(struct net_plain_event *ev, size_t len)
{
	fit_sock(&ev->sock);
	fit_runs(ev->data, len - NET_PLAIN_HEAD, &ev->n_runs, &ev->len);
	ev->off %= 100000;
	ev->flags &= NET_FLAGS;
	ev->protocol %= NET_PROTOCOL_HTTP2 + 1;
	ev->link %= NET_LINK_GUESS + 1;
}

static void fit_quic(struct net_bytes_event *ev)
{
	bool is_udp = ev->sock.family != AF_UNIX && ev->sock.protocol == IPPROTO_UDP;

	if (!is_udp)
		ev->quic = (struct net_quic){ 0 };
	ev->quic.version %= 3;
	ev->quic.to_len = ev->quic.version ? ev->quic.to_len % 21 : 0;
	ev->quic.from_len = ev->quic.version ? ev->quic.from_len % 21 : 0;
	ev->quic.pad = 0;
}

static void fit_tcp(struct net_tcp_event *ev)
{
	fit_sock(&ev->sock);
	if (ev->sock.family == 1)
		ev->sock.family = 10, ev->sock.inet.mapped = 0;
	ev->sock.protocol = 6;
	ev->kind = (uint8_t)(1 + ev->kind % (N_NET_TCP_KINDS - 1));
	ev->by_owner &= 1;
	ev->old_state = ev->kind == NET_TCP_STATE ? (uint8_t)(1 + ev->old_state % 12) : 0;
	ev->new_state = ev->kind == NET_TCP_STATE ? (uint8_t)(1 + ev->new_state % 12) : 0;
}

static void make_fit(struct event_hdr *hdr, size_t len)
{
	hdr->tgid = 1 + hdr->tgid % 3;
	hdr->tid = hdr->tgid + hdr->tid % 2;
	if (len == sizeof(struct net_tcp_event) && hdr->type % 2) {
		hdr->type = NET_TCP;
		fit_tcp((void *)hdr);
	} else if (len == sizeof(struct net_bytes_event) && hdr->type % 2) {
		struct net_bytes_event *ev = (void *)hdr;

		hdr->type = hdr->type % 4 == 1 ? NET_BYTES : NET_SOCK;
		fit_sock(&ev->sock);
		ev->state %= 13;
		fit_quic(ev);
		ev->first_ns = min(ev->first_ns, hdr->time_ns);
	} else if (hdr->type % 8 == 0) {
		hdr->type = NET_PLAIN;
		fit_plain((void *)hdr, len);
	} else {
		hdr->type = NET_IO;
		fit_io((void *)hdr, len);
	}
}

static struct record_fuzz fuzz = {
	.name = "net",
	.unfinished = NET_SOCK,
	.fit = make_fit,
	.fit_from = NET_IO_HEAD,
};

/* What the decoder says of payload stays within the record. */
static void look_at_payload(const uint8_t *data, size_t size)
{
	struct net_io_event *ev = malloc(size);
	struct net_payload p;
	size_t sum = 0;

	if (!ev)
		return;
	memcpy(ev, data, size);
	if (net_valid(&ev->hdr, size) && ev->hdr.type == NET_IO) {
		net_io_payload(ev, &p);
		for (unsigned i = 0; i < p.n_runs; i++)
			sum += p.runs[i].len;
		if (sum != p.n_bytes || p.bytes + p.n_bytes != (uint8_t *)ev + size)
			abort();
	}
	free(ev);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= sizeof(struct event_hdr))
		look_at_payload(data, size);
	return record_fuzz_run(&fuzz, data, size);
}
