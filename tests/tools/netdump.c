/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netdump.c - the records of bpf/net.bpf.c as they come, a line each.
 *
 *	netdump [-x] [-l LEVEL] [-o FILE] SECONDS
 *
 * Starts the source by itself, without a daemon, for so long or until SIGTERM; -x shows
 * payload, -o also writes the records as fuzz_net_record takes them, each with its length
 * before it. Prints a line of the kernel's counters at the end. Exit status 1 when a record
 * was not valid.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "bpf_load.h"
#include "clock.h"
#include "collector.h"
#include "cpus.h"
#include "log.h"
#include "net/net_decode.h"

extern const struct collector net_collector;

static volatile sig_atomic_t stopped;
static bool show_payload;
static FILE *raw;
static unsigned long n_invalid, n_records;

static void print_sock(const struct net_sock *s)
{
	char local[INET6_ADDRSTRLEN] = "", peer[INET6_ADDRSTRLEN] = "";

	printf(" sock=%llu role=%u proto=%u", (unsigned long long)s->cookie, s->role, s->protocol);
	if (s->family == AF_UNIX) {
		printf(" unix peer=%llu path=%.*s", (unsigned long long)s->unix_sock.peer_cookie,
		       MIN(s->unix_sock.path_len, NET_PATH_LEN), (const char *)s->unix_sock.path);
		return;
	}
	inet_ntop(s->family, s->inet.local, local, sizeof(local));
	inet_ntop(s->family, s->inet.peer, peer, sizeof(peer));
	printf(" %s:%u-%s:%u pair=%08x", local, s->inet.local_port, peer, s->inet.peer_port,
	       s->inet.pair);
}

static void print_io(const struct net_io_event *ev)
{
	static const char *const protocols[] = { "-", "http1", "http2", "tls", "dns" };
	struct net_payload p;

	net_io_payload(ev, &p);
	printf(" %s %s off=%llu len=%u fd=%d flags=%x", ev->flags & NET_SENT ? "sent" : "received",
	       protocols[ev->protocol], (unsigned long long)ev->off, ev->len, ev->fd, ev->flags);
	print_sock(&ev->sock);
	for (unsigned i = 0; i < p.n_runs; i++)
		printf(" [%u+%u]", p.runs[i].at, p.runs[i].len);
	if (!show_payload || !p.n_bytes)
		return;
	printf(" \"");
	for (size_t i = 0; i < p.n_bytes; i++)
		if (p.bytes[i] >= ' ' && p.bytes[i] < 127)
			putchar(p.bytes[i]);
		else
			printf("\\x%02x", p.bytes[i]);
	printf("\"");
}

static void print_tcp(const struct net_tcp_event *ev)
{
	printf(" kind=%u %u>%u by_owner=%u reason=%u error=%u srtt=%u cwnd=%u retrans=%u", ev->kind,
	       ev->old_state, ev->new_state, ev->by_owner, ev->reason, ev->error, ev->srtt_us,
	       ev->cwnd, ev->total_retrans);
	print_sock(&ev->sock);
}

static void print_bytes(const struct net_bytes_event *ev)
{
	printf(" tx=%llu/%llu rx=%llu/%llu state=%u", (unsigned long long)ev->tx_bytes,
	       (unsigned long long)ev->tx_messages, (unsigned long long)ev->rx_bytes,
	       (unsigned long long)ev->rx_messages, ev->state);
	print_sock(&ev->sock);
}

/* The event_sink_fn. */
static void on_record(void *ctx, const struct event_hdr *hdr, size_t len)
{
	static const char *const types[] = { "?",     "io",   "stack",	"tcp",
					     "bytes", "sock", "lookup", "plain" };

	(void)ctx;
	n_records++;
	if (raw && len <= UINT16_MAX) {
		uint8_t n[2] = { (uint8_t)len, (uint8_t)(len >> 8) };

		fwrite(n, 1, 2, raw);
		fwrite(hdr, 1, len, raw);
	}
	if (!net_valid(hdr, len)) {
		n_invalid++;
		printf("INVALID type=%u len=%zu\n", hdr->type, len);
		return;
	}
	printf("%s %u/%u", types[hdr->type], hdr->tgid, hdr->tid);
	switch (hdr->type) {
	case NET_IO:
		print_io((const void *)hdr);
		break;
	case NET_TCP:
		print_tcp((const void *)hdr);
		break;
	case NET_BYTES:
	case NET_SOCK:
		print_bytes((const void *)hdr);
		break;
	case NET_STACK: {
		const struct net_stack_event *ev = (const void *)hdr;

		printf(" sock=%llu off=%llu sent=%u frames=%u end=%u",
		       (unsigned long long)ev->cookie, (unsigned long long)ev->off, ev->sent,
		       ev->user.n_user, ev->user.end);
		break;
	}
	}
	putchar('\n');
}

static void print_counts(void *state)
{
	struct event_stream sum = { 0 }, one;

	for (unsigned cpu = 0; cpu < cpus_possible(); cpu++)
		if (net_collector.count(state, 0, cpu, &one) == 0) {
			sum.n_produced += one.n_produced;
			sum.n_lost += one.n_lost;
		}
	printf("counts produced=%llu lost=%llu seen=%lu invalid=%lu\n",
	       (unsigned long long)sum.n_produced, (unsigned long long)sum.n_lost, n_records,
	       n_invalid);
}

static void on_signal(int signal)
{
	(void)signal;
	stopped = 1;
}

static int run(double seconds, enum net_level level)
{
	struct collector_env env = { .ring_bytes = 16 << 20, .sink = on_record };
	struct trace_config config = { .net_level = level };
	char why[WHY_LEN] = "";
	uint64_t end_ns;
	void *state;
	int r;

	signal(SIGTERM, on_signal);
	bpf_load_init();
	r = net_collector.prepare(&env, why, &state);
	if (r == 0)
		r = net_collector.start(&env, why, &state);
	if (r == 0)
		r = net_collector.session_open(state, &config, 0, why);
	if (r < 0) {
		fprintf(stderr, "netdump: %s: %s\n", strerror(-r), why);
		return r;
	}
	(void)net_collector.existing(state, boot_ns(), on_record, NULL);
	fprintf(stderr, "netdump: started %s\n", why);
	end_ns = boot_ns() + (uint64_t)(seconds * 1e9);
	while (boot_ns() < end_ns && !stopped) {
		while (net_collector.drain(state, boot_ns(), 10000) == 10000)
			;
		usleep(5000);
	}
	net_collector.session_close(state, 0);
	puts("--- rest");
	(void)net_collector.unfinished(state, boot_ns(), on_record, NULL);
	while (net_collector.drain(state, boot_ns(), 10000) > 0)
		;
	print_counts(state);
	net_collector.stop(state);
	return 0;
}

int main(int argc, char **argv)
{
	enum net_level level = NET_WATERFALL;
	int opt;

	while ((opt = getopt(argc, argv, "xl:o:")) != -1)
		if (opt == 'x')
			show_payload = true;
		else if (opt == 'l')
			level = (enum net_level)atoi(optarg);
		else if (opt == 'o')
			raw = fopen(optarg, "w");
		else
			return 2;
	if (optind != argc - 1) {
		fprintf(stderr, "usage: netdump [-x] [-l LEVEL] [-o FILE] SECONDS\n");
		return 2;
	}
	return run(atof(argv[optind]), level) < 0 || n_invalid ? 1 : 0;
}
