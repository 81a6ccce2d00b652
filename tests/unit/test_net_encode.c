/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the network, and what a trace shows of them. */
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf_load.h"
#include "net/net_encode.h"
#include "net_records.h"

#define GET	  "GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n"
#define OK	  "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"
#define NOT_FOUND "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

#define CLIENT_REQUESTS "1000/Connections/example.org:80/requests"

/* One request of the client, from 3 ms to 5 ms. */
static void ask_and_answer(const char *answer)
{
	net_io((struct net_io){ .sock = net_client(), .time = 3 * MS, .sent = true, .text = GET });
	net_io((struct net_io){ .sock = net_client(), .time = 5 * MS, .text = answer });
}

START_TEST(a_request_is_a_slice_under_its_origin)
{
	const struct net_read_slice *s;

	net_connect(net_client());
	ask_and_answer(OK);
	net_close(net_client(), 8 * MS);
	net_finish(20 * MS);
	s = net_slice_named("GET /index.html");
	ck_assert_str_eq(s->category, "http");
	ck_assert_str_eq(s->track, CLIENT_REQUESTS);
	ck_assert_str_eq(net_phases_of(s), "connect 1000-2000, send 3000-3000, wait 3000-5000, "
					   "receive 5000-5000");
	ck_assert_str_eq(net_arg_of(s, "method"), "GET");
	ck_assert_str_eq(net_arg_of(s, "url"), "http://example.org/index.html");
	ck_assert_str_eq(net_arg_of(s, "host"), "example.org");
	ck_assert_str_eq(net_arg_of(s, "status"), "200");
	ck_assert_str_eq(net_arg_of(s, "side"), "client");
	ck_assert_str_eq(net_arg_of(s, "remote"), "10.0.0.2:80");
	ck_assert_str_eq(net_arg_of(s, "local"), "10.0.0.1:40000");
	ck_assert_str_eq(net_arg_of(s, "connection"), "77");
	ck_assert_str_eq(net_arg_of(s, "reused"), "");
	ck_assert_str_eq(net_arg_of(s, "proto"), "HTTP/1.1");
	ck_assert_str_eq(net_arg_of(s, "thread"), "1001");
}
END_TEST

START_TEST(a_failed_request_says_so_in_its_name)
{
	net_connect(net_client());
	ask_and_answer(NOT_FOUND);
	net_finish(20 * MS);
	ck_assert_str_eq(net_arg_of(net_slice_named("GET /index.html 404"), "status"), "404");
}
END_TEST

START_TEST(a_connection_is_a_slice_with_its_phases)
{
	const struct net_read_slice *s;

	net_connect(net_client());
	ask_and_answer(OK);
	net_close(net_client(), 8 * MS);
	net_finish(20 * MS);
	s = net_slice_named("connection");
	ck_assert_str_eq(s->category, "tcp");
	ck_assert_str_eq(s->track, "1000/Connections/example.org:80/connections");
	ck_assert_str_eq(net_phases_of(s),
			 "connect 1000-2000, established 2000-8000, closing 8000-9000");
	ck_assert_str_eq(net_arg_of(s, "bytes_sent"), "47");
	ck_assert_str_eq(net_arg_of(s, "name_from"), "host");
	ck_assert_str_eq(net_arg_of(s, "netns"), "4026531840");
	ck_assert_str_eq(net_arg_of(s, "unfinished"), "");
	ck_assert_str_eq(net_arg_of(s, "before"), "");
	ck_assert_uint_eq(s->correlation_id, net_client().cookie);
	/* A request has the colour of its name. */
	ck_assert_uint_eq(net_slice_named("GET /index.html")->correlation_id, 0);
}
END_TEST

/* It receives bytes of TLS. */
static void hear(struct net_sock sock, uint64_t time, uint64_t off, const void *bytes, uint32_t len)
{
	static struct net_io_event ev;
	struct net_run run = { .len = len };

	memset(&ev, 0, sizeof(ev));
	ev.sock = sock;
	ev.hdr.type = NET_IO;
	ev.hdr.size = sizeof(ev);
	ev.hdr.time_ns = net.start_ns + time;
	ev.hdr.tgid = sock.role == NET_ROLE_SERVER ? SERVER_PID : CLIENT_PID;
	ev.hdr.tid = ev.hdr.tgid + 1;
	ev.off = off;
	ev.len = len;
	ev.protocol = NET_PROTOCOL_TLS;
	ev.n_runs = 1;
	memcpy(ev.data, &run, sizeof(run));
	memcpy(ev.data + sizeof(run), bytes, len);
	net_encode_record(&ev.hdr);
}

/* What had come by the time of the reset is read after it; others use the lane by then. */
START_TEST(a_handshake_ends_no_later_than_its_connection)
{
	static const uint8_t hello[] = { 22, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3, [46] = 2, 0x13, 1, 1 };
	static const uint8_t alert[] = { 21, 3, 3, 0, 2, 2, 48 };
	struct net_sock next = net_server();
	const struct net_read_slice *s;

	net_accept(net_server(), 1 * MS);
	hear(net_server(), 2 * MS, 0, hello, sizeof(hello));
	net_close(net_server(), 4 * MS);
	next.cookie++;
	next.inet.peer_port++;
	net_accept(next, 6 * MS);
	net_close(next, 10 * MS);
	hear(net_server(), 8 * MS, sizeof(hello), alert, sizeof(alert));
	net_finish(20 * MS);
	s = net_find_nth("connection", 0);
	ck_assert_str_eq(net_arg_of(s, "tls_alert"), "unknown_ca");
	ck_assert_uint_eq(s->end, 5 * MS);
	ck_assert_str_eq(net_phases_of(s), "TLS 2000-5000");
}
END_TEST

START_TEST(a_connect_that_fails_says_why)
{
	struct net_tcp_event ev = net_tcp(net_client(), 2 * MS, NET_TCP_STATE);
	const struct net_read_slice *s;

	net_state(net_client(), 1 * MS, TCP_CLOSE, TCP_SYN_SENT);
	ev.old_state = TCP_SYN_SENT;
	ev.new_state = TCP_CLOSE;
	ev.error = ECONNREFUSED;
	net_encode_record(&ev.hdr);
	net_finish(20 * MS);
	s = net_slice_named("connect failed ECONNREFUSED");
	ck_assert_str_eq(s->category, "tcp");
	ck_assert_str_eq(s->track, "1000/Connections/10.0.0.2:80/connections");
	ck_assert_uint_eq(s->end - s->begin, 1 * MS);
	ck_assert_str_eq(net_arg_of(s, "error"), "ECONNREFUSED");
	ck_assert_ptr_null(net_find_nth("connection", 0));
}
END_TEST

START_TEST(both_ends_of_a_request_have_one_flow)
{
	const struct net_read_slice *sent, *received;

	net_connect(net_client());
	net_accept(net_server(), 2 * MS);
	net_io((struct net_io){ .sock = net_client(), .time = 3 * MS, .sent = true, .text = GET });
	net_io((struct net_io){ .sock = net_server(), .time = 3500 * US, .text = GET });
	net_io((struct net_io){ .sock = net_server(), .time = 4 * MS, .sent = true, .text = OK });
	net_io((struct net_io){ .sock = net_client(), .time = 5 * MS, .text = OK });
	net_finish(20 * MS);
	sent = net_slice_named("request sent");
	received = net_slice_named("request received");
	ck_assert(sent->is_instant);
	ck_assert_str_eq(sent->track, "1000/1001");
	ck_assert_str_eq(received->track, "2000/2001");
	ck_assert_uint_eq(sent->n_flows, 1);
	ck_assert_uint_eq(received->n_flows, 1);
	ck_assert_uint_eq(sent->flows[0], received->flows[0]);
	/* Four instants, and the request at each end. */
	ck_assert_uint_eq(net_count_flow(sent->flows[0]), 6);
	ck_assert_str_eq(net_slice_named("response sent")->track, "2000/2001");
	ck_assert_str_eq(net_slice_named("response received")->track, "1000/1001");
	ck_assert_str_eq(net_find_nth("GET /index.html", 0)->track,
			 "2000/Connections/serves :80/requests");
	ck_assert_str_eq(net_phases_of(net_find_nth("GET /index.html", 0)),
			 "receive 3500-3500, wait 3500-4000, send 4000-4000");
	ck_assert_str_eq(net_find_nth("GET /index.html", 1)->track, CLIENT_REQUESTS);
}
END_TEST

/* What they have in common is packed once; it must not stick to one that differs. */
START_TEST(of_many_requests_each_has_what_is_its_own)
{
	static const struct {
		const char *host, *type, *status;
		uint32_t thread;
	} talk[] = {
		{ "a", "text/html", "200", 1001 }, { "a", "text/html", "200", 1001 },
		{ "a", "text/html", "200", 1001 }, { "b", "text/html", "200", 1001 },
		{ "a", "text/css", "200", 1001 },  { "a", "text/html", "204", 1001 },
		{ "a", "text/html", "200", 1002 }, { "a", "text/html", "200", 1001 },
	};
	const size_t n = sizeof(talk) / sizeof(talk[0]);
	uint64_t asked = 0, answered = 0, time = 3 * MS;

	net_connect(net_client());
	for (size_t i = 0; i < n; i++) {
		char get[128], answer[128];

		snprintf(get, sizeof(get), "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", talk[i].host);
		snprintf(answer, sizeof(answer),
			 "HTTP/1.1 %s OK\r\nContent-Type: %s\r\nContent-Length: 0\r\n\r\n",
			 talk[i].status, talk[i].type);
		net_io((struct net_io){ .sock = net_client(),
					.time = time += MS,
					.off = asked,
					.sent = true,
					.text = get,
					.tgid = 1000,
					.tid = talk[i].thread });
		net_io((struct net_io){ .sock = net_client(),
					.time = time += MS,
					.off = answered,
					.text = answer });
		asked += strlen(get);
		answered += strlen(answer);
		if (i == 2) /* what is interned goes down with it */
			net_drop_block(time);
	}
	net_finish(time + MS);
	for (size_t i = 3; i < n; i++) {
		const struct net_read_slice *s = net_find_nth("GET /x", i - 3);
		char url[32], index[8], thread[8];

		snprintf(url, sizeof(url), "http://%s/x", talk[i].host);
		snprintf(index, sizeof(index), "%zu", i);
		snprintf(thread, sizeof(thread), "%u", talk[i].thread);
		ck_assert_ptr_nonnull(s);
		ck_assert_str_eq(net_arg_of(s, "method"), "GET");
		ck_assert_str_eq(net_arg_of(s, "url"), url);
		ck_assert_str_eq(net_arg_of(s, "host"), talk[i].host);
		ck_assert_str_eq(net_arg_of(s, "status"), talk[i].status);
		ck_assert_str_eq(net_arg_of(s, "content_type"), talk[i].type);
		ck_assert_str_eq(net_arg_of(s, "side"), "client");
		ck_assert_str_eq(net_arg_of(s, "proto"), "HTTP/1.1");
		ck_assert_str_eq(net_arg_of(s, "remote"), "10.0.0.2:80");
		ck_assert_str_eq(net_arg_of(s, "local"), "10.0.0.1:40000");
		ck_assert_str_eq(net_arg_of(s, "connection"), "77");
		ck_assert_str_eq(net_arg_of(s, "reused"), "true");
		ck_assert_str_eq(net_arg_of(s, "index"), index);
		ck_assert_str_eq(net_arg_of(s, "thread"), thread);
	}
}
END_TEST

START_TEST(a_second_request_is_of_a_reused_connection)
{
	const struct net_read_slice *s;

	net_connect(net_client());
	ask_and_answer(OK);
	net_io((struct net_io){ .sock = net_client(),
				.time = 6 * MS,
				.off = strlen(GET),
				.sent = true,
				.text = GET });
	net_io((struct net_io){
		.sock = net_client(), .time = 7 * MS, .off = strlen(OK), .text = OK });
	net_finish(20 * MS);
	s = net_find_nth("GET /index.html", 1);
	ck_assert_ptr_nonnull(s);
	ck_assert_str_eq(net_arg_of(s, "reused"), "true");
	ck_assert_str_eq(net_arg_of(s, "index"), "1");
	ck_assert_str_eq(net_phases_of(s), "send 6000-6000, wait 6000-7000, receive 7000-7000");
	/* One lane does for two that do not overlap. */
	ck_assert_uint_eq(s->uuid, net_find_nth("GET /index.html", 0)->uuid);
	ck_assert_str_eq(net_arg_of(s, "url"), "http://example.org/index.html");
	ck_assert_str_eq(net_arg_of(s, "content_type"), "text/html");
	ck_assert_str_eq(net_arg_of(s, "remote"), "10.0.0.2:80");
	ck_assert_str_eq(net_arg_of(s, "side"), "client");
}
END_TEST

START_TEST(what_overlaps_is_in_other_lanes)
{
	for (uint64_t i = 0; i < 40; i++) {
		struct net_sock s = net_client();

		s.cookie += i;
		s.inet.local_port = (uint16_t)(s.inet.local_port + i);
		net_connect(s);
		net_io((struct net_io){ .sock = s, .time = 3 * MS, .sent = true, .text = GET });
	}
	for (uint64_t i = 0; i < 40; i++) {
		struct net_sock s = net_client();

		s.cookie += 39 - i;
		net_io((struct net_io){ .sock = s, .time = (5 + i) * MS, .text = OK });
	}
	net_finish(60 * MS);
	ck_assert_ptr_nonnull(net_find_nth("GET /index.html", 39));
	ck_assert_str_eq(net_find_nth("GET /index.html", 39)->track, CLIENT_REQUESTS);
	ck_assert_uint_ne(net_find_nth("GET /index.html", 39)->uuid,
			  net_find_nth("GET /index.html", 0)->uuid);
}
END_TEST

START_TEST(what_is_not_over_says_so)
{
	const struct net_read_slice *s;

	net_connect(net_client());
	net_io((struct net_io){ .sock = net_client(), .time = 3 * MS, .sent = true, .text = GET });
	net_finish(20 * MS);
	s = net_slice_named("GET /index.html");
	ck_assert_str_eq(net_arg_of(s, "incomplete"), "true");
	s = net_slice_named("connection");
	ck_assert_str_eq(net_arg_of(s, "unfinished"), "true");
}
END_TEST

START_TEST(a_reset_connection_fails_its_request)
{
	struct net_tcp_event ev = net_tcp(net_client(), 4 * MS, NET_TCP_RESET_RECEIVED);
	const struct net_read_slice *s;

	net_connect(net_client());
	net_io((struct net_io){ .sock = net_client(), .time = 3 * MS, .sent = true, .text = GET });
	net_encode_record(&ev.hdr);
	net_state(net_client(), 4 * MS, TCP_ESTABLISHED, TCP_CLOSE);
	net_finish(20 * MS);
	s = net_slice_named("GET /index.html reset");
	ck_assert_str_eq(net_arg_of(s, "error"), "reset by peer");
	s = net_slice_named("reset received");
	ck_assert(s->is_instant);
	ck_assert_str_eq(s->track, "1000/Connections/example.org:80/connections");
	ck_assert_str_eq(net_arg_of(net_slice_named("connection"), "error"), "reset by peer");
}
END_TEST

START_TEST(a_connection_that_was_there_says_so)
{
	struct net_bytes_event ev = { .sock = net_client(), .state = TCP_ESTABLISHED };
	const struct net_read_slice *s;

	ev.hdr.time_ns = net.start_ns;
	ev.hdr.type = NET_SOCK;
	ev.hdr.tgid = CLIENT_PID;
	ev.tx_bytes = 5000;
	net_encode_record(&ev.hdr);
	net_io((struct net_io){
		.sock = net_client(), .time = 3 * MS, .off = 5000, .sent = true, .text = GET });
	net_io((struct net_io){ .sock = net_client(), .time = 5 * MS, .text = OK });
	net_finish(20 * MS);
	s = net_slice_named("connection");
	ck_assert_str_eq(net_arg_of(s, "before"), "true");
	ck_assert_str_eq(net_arg_of(s, "bytes_sent"), "47");
	ck_assert_uint_eq(s->begin, 0);
	ck_assert_str_eq(net_arg_of(net_slice_named("GET /index.html"), "reused"), "true");
}
END_TEST

START_TEST(an_idle_one_that_was_there_is_listed)
{
	struct net_bytes_event ev = { .sock = net_client(), .state = TCP_ESTABLISHED };

	ev.hdr.time_ns = net.start_ns;
	ev.hdr.type = NET_SOCK;
	ev.hdr.tgid = CLIENT_PID;
	net_encode_record(&ev.hdr);
	ev.hdr.time_ns = net.start_ns + 19 * MS;
	net_encode_record(&ev.hdr);
	net_finish(20 * MS);
	ck_assert_uint_eq(net_slice_named("connection")->end, 19 * MS);
}
END_TEST

START_TEST(retransmits_are_instants_and_counted)
{
	struct net_tcp_event ev = net_tcp(net_client(), 4 * MS, NET_TCP_RETRANSMIT);
	const struct net_read_slice *s;

	net_connect(net_client());
	ev.total_retrans = 3;
	net_encode_record(&ev.hdr);
	ev.total_retrans = 4;
	ev.hdr.time_ns += MS;
	net_encode_record(&ev.hdr);
	net_close(net_client(), 8 * MS);
	net_finish(20 * MS);
	s = net_find_nth("retransmit", 0);
	ck_assert_str_eq(net_arg_of(s, "segments"), "3");
	ck_assert_uint_eq(s->uuid, net_slice_named("connection")->uuid);
	ck_assert_ptr_nonnull(net_find_nth("retransmit", 1));
	ck_assert_str_eq(net_arg_of(net_slice_named("connection"), "retransmits"), "4");
}
END_TEST

/* As the running kernel calls them; it numbers them anew with each version. */
START_TEST(drops_and_resets_say_why)
{
	static struct bpf_kernel_enum drops = { .type = "skb_drop_reason" };
	struct net_tcp_event ev = net_tcp(net_client(), 4 * MS, NET_TCP_DROP);
	const char *name = bpf_enumerator(&drops, 3);

	net_connect(net_client());
	ev.reason = 3;
	net_encode_record(&ev.hdr);
	ev.reason = 1u << 30;
	net_encode_record(&ev.hdr);
	net_finish(20 * MS);
	if (name) {
		ck_assert(strncmp(name, "SKB_DROP_REASON_", 16) == 0);
		ck_assert_str_eq(net_arg_of(net_find_nth("drop", 0), "reason"), name + 16);
	} else {
		ck_assert_str_eq(net_arg_of(net_find_nth("drop", 0), "reason"), "3");
	}
	ck_assert_str_eq(net_arg_of(net_find_nth("drop", 1), "reason"), "1073741824");
}
END_TEST

START_TEST(a_unix_socket_is_a_connection_without_payload)
{
	struct net_bytes_event ev = { .tx_bytes = 100, .rx_bytes = 200 };
	const struct net_read_slice *s;

	ev.sock.cookie = COOKIE;
	ev.sock.family = AF_UNIX;
	ev.sock.protocol = SOCK_STREAM;
	ev.sock.role = NET_ROLE_CLIENT;
	ev.sock.unix_sock.path_len = 11;
	memcpy(ev.sock.unix_sock.path, "/run/x.sock", 11);
	ev.first_ns = net.start_ns + 1 * MS;
	net_begin_process(CLIENT_PID, "x", 0 - 1000 * MS);
	ev.hdr.time_ns = net.start_ns + 4 * MS;
	ev.hdr.type = NET_BYTES;
	ev.hdr.tgid = CLIENT_PID;
	net_encode_record(&ev.hdr);
	net_finish(20 * MS);
	s = net_slice_named("connection");
	ck_assert_str_eq(s->category, "unix");
	ck_assert_str_eq(s->track, "1000/Connections/unix /run/x.sock/connections");
	ck_assert_uint_eq(s->begin, 1 * MS);
	ck_assert_str_eq(net_arg_of(s, "bytes_sent"), "100");
	ck_assert_str_eq(net_arg_of(s, "bytes_received"), "200");
	ck_assert_str_eq(net_arg_of(s, "remote"), "/run/x.sock");
}
END_TEST

/* Of one that is too long its end is there. */
START_TEST(a_long_name_of_a_unix_socket_is_cut)
{
	struct net_bytes_event ev = { .tx_bytes = 100, .tx_messages = 1 };

	ev.sock.cookie = COOKIE;
	ev.sock.family = AF_UNIX;
	ev.sock.protocol = SOCK_STREAM;
	ev.sock.role = NET_ROLE_CLIENT;
	ev.sock.unix_sock.path_len = NET_PATH_LEN + 1;
	memset(ev.sock.unix_sock.path, 'x', NET_PATH_LEN);
	ev.first_ns = ev.hdr.time_ns = net.start_ns + 1 * MS;
	ev.hdr.type = NET_BYTES;
	ev.hdr.tgid = CLIENT_PID;
	net_encode_record(&ev.hdr);
	net_finish(20 * MS);
	ck_assert_str_eq(net_arg_of(net_slice_named("connection"), "remote"),
			 "\u2026xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}
END_TEST

/* What had not been told when the recording ended is told then. */
START_TEST(the_last_bytes_of_a_unix_socket_are_counted)
{
	struct net_bytes_event ev = { .tx_bytes = 100, .rx_bytes = 200 };

	ev.sock.cookie = COOKIE;
	ev.sock.family = AF_UNIX;
	ev.sock.protocol = SOCK_STREAM;
	ev.sock.role = NET_ROLE_CLIENT;
	ev.first_ns = net.start_ns;
	ev.hdr.time_ns = net.start_ns + 1 * MS;
	ev.hdr.type = NET_SOCK;
	ev.hdr.tgid = CLIENT_PID;
	net_encode_record(&ev.hdr);
	ev.tx_bytes = 150;
	ev.hdr.time_ns = net.start_ns + 20 * MS;
	net_encode_record(&ev.hdr);
	/* This one had moved nothing by the time it was listed. */
	ev.sock.cookie++;
	ev.first_ns = net.start_ns + 15 * MS;
	net_encode_record(&ev.hdr);
	net_finish(20 * MS);
	ck_assert_str_eq(net_arg_of(net_find_nth("connection", 0), "bytes_sent"), "50");
	ck_assert_str_eq(net_arg_of(net_find_nth("connection", 0), "bytes_received"), "0");
	ck_assert_str_eq(net_arg_of(net_find_nth("connection", 0), "before"), "true");
	ck_assert_str_eq(net_arg_of(net_find_nth("connection", 1), "bytes_sent"), "150");
	ck_assert_str_eq(net_arg_of(net_find_nth("connection", 1), "before"), "");
}
END_TEST

/* The last values of the counters, on the client's track. */
static int64_t counter(const char *name)
{
	const TrackDescriptor *d = written_track_named(&net.w, name, WRITTEN_ANYWHERE);
	int64_t value = -1;

	ck_assert_ptr_nonnull(d);
	for (size_t i = 0; i < net.w.n; i++) {
		const TrackEvent *te = net.w.packets[i]->track_event;

		if (te && te->type == 4 && te->track_uuid == d->uuid)
			value = te->counter_value;
	}
	return value;
}

START_TEST(bytes_of_a_process_are_counted)
{
	net_connect(net_client());
	ask_and_answer(OK);
	net_finish(20 * MS);
	ck_assert_int_eq(counter("net sent"), (int64_t)strlen(GET));
	ck_assert_int_eq(counter("net received"), (int64_t)strlen(OK));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("net_encode");
	TCase *tc = tcase_create("trace");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, net_records_open, net_records_close);
	tcase_add_test(tc, a_request_is_a_slice_under_its_origin);
	tcase_add_test(tc, a_failed_request_says_so_in_its_name);
	tcase_add_test(tc, a_connection_is_a_slice_with_its_phases);
	tcase_add_test(tc, a_handshake_ends_no_later_than_its_connection);
	tcase_add_test(tc, a_connect_that_fails_says_why);
	tcase_add_test(tc, both_ends_of_a_request_have_one_flow);
	tcase_add_test(tc, of_many_requests_each_has_what_is_its_own);
	tcase_add_test(tc, a_second_request_is_of_a_reused_connection);
	tcase_add_test(tc, what_overlaps_is_in_other_lanes);
	tcase_add_test(tc, what_is_not_over_says_so);
	tcase_add_test(tc, a_reset_connection_fails_its_request);
	tcase_add_test(tc, a_connection_that_was_there_says_so);
	tcase_add_test(tc, an_idle_one_that_was_there_is_listed);
	tcase_add_test(tc, retransmits_are_instants_and_counted);
	tcase_add_test(tc, drops_and_resets_say_why);
	tcase_add_test(tc, a_unix_socket_is_a_connection_without_payload);
	tcase_add_test(tc, a_long_name_of_a_unix_socket_is_cut);
	tcase_add_test(tc, the_last_bytes_of_a_unix_socket_are_counted);
	tcase_add_test(tc, bytes_of_a_process_are_counted);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
