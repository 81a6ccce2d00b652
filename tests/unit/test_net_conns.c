/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: what is said on them in other ways than one request of HTTP/1, and bounds. */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/net_encode.h"
#include "net/net_lanes.h"
#include "net_records.h"
#include "process/process_table_update.h"

#define GET "GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n"
#define OK  "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"

/* ---- lanes ---- */

START_TEST(a_lane_is_taken_until_its_slice_is_over)
{
	struct net_lanes l = { 0 };

	ck_assert_int_eq(net_lanes_take(&l, 10, 20), 0);
	ck_assert_int_eq(net_lanes_take(&l, 15, 30), 1);
	ck_assert_int_eq(net_lanes_take(&l, 20, 25), 0);
	ck_assert_int_eq(net_lanes_take(&l, 24, 26), 2);
	ck_assert_int_eq(net_lanes_take(&l, 30, 31), 0);
	net_lanes_done(&l);
}
END_TEST

START_TEST(there_may_be_many_lanes_but_not_any_number)
{
	struct net_lanes l = { 0 };

	for (int i = 0; i < NET_MAX_LANES; i++)
		ck_assert_int_eq(net_lanes_take(&l, 10, 20), i);
	ck_assert_int_lt(net_lanes_take(&l, 10, 20), 0);
	ck_assert_int_eq(net_lanes_take(&l, 20, 30), 0);
	net_lanes_done(&l);
}
END_TEST

/* ---- clear text of TLS ---- */

static struct net_sock tls_client(void)
{
	struct net_sock s = net_client();

	s.inet.peer_port = 443;
	return s;
}

static void ask_in_clear_text(struct net_sock sock, uint64_t time, uint64_t stream)
{
	net_io((struct net_io){
		.sock = sock, .time = time, .sent = true, .text = GET, .stream = stream });
	net_io((struct net_io){ .sock = sock, .time = time + MS, .text = OK, .stream = stream });
}

START_TEST(clear_text_belongs_to_its_connection)
{
	const struct net_read_slice *s;

	net_connect(tls_client());
	ask_in_clear_text(tls_client(), 3 * MS, 0x1000);
	net_finish(20 * MS);
	s = net_slice_named("GET /index.html");
	ck_assert_str_eq(s->track, "1000/Connections/example.org:443/requests");
	ck_assert_str_eq(net_arg_of(s, "tls"), "true");
	ck_assert_str_eq(net_arg_of(s, "link"), "nested");
	ck_assert_str_eq(net_arg_of(s, "connection"), "77");
	ck_assert_str_eq(net_arg_of(s, "url"), "https://example.org/index.html");
}
END_TEST

/* The library's calls are seen before those of its socket. */
START_TEST(a_stream_whose_connection_becomes_known_moves_there)
{
	struct net_sock nobody = { .role = NET_ROLE_CLIENT };

	net_connect(tls_client());
	net_io((struct net_io){
		.sock = nobody, .time = 3 * MS, .sent = true, .text = GET, .stream = 0x1000 });
	net_io((struct net_io){
		.sock = tls_client(), .time = 4 * MS, .text = OK, .stream = 0x1000 });
	net_finish(20 * MS);
	ck_assert_str_eq(net_arg_of(net_slice_named("GET /index.html"), "remote"), "10.0.0.2:443");
	net_slice_named("connection"); /* one */
}
END_TEST

START_TEST(a_stream_without_a_connection_is_shown_all_the_same)
{
	struct net_sock nobody = { .role = NET_ROLE_CLIENT };
	const struct net_read_slice *s;

	ask_in_clear_text(nobody, 3 * MS, 0x1000);
	net_finish(20 * MS);
	s = net_slice_named("GET /index.html");
	ck_assert_str_eq(s->track, "1000/Connections/example.org/requests");
	ck_assert_str_eq(net_arg_of(s, "remote"), "");
	ck_assert_ptr_null(net_find_nth("connection", 0));
}
END_TEST

START_TEST(a_handle_used_again_is_another_stream)
{
	struct net_sock second = tls_client();

	second.cookie++;
	second.inet.local_port++;
	net_connect(tls_client());
	net_connect(second);
	ask_in_clear_text(tls_client(), 3 * MS, 0x1000);
	ask_in_clear_text(second, 6 * MS, 0x1000);
	net_finish(20 * MS);
	ck_assert_str_eq(net_arg_of(net_find_nth("GET /index.html", 0), "connection"), "77");
	ck_assert_str_eq(net_arg_of(net_find_nth("GET /index.html", 1), "connection"), "78");
	ck_assert_str_eq(net_arg_of(net_find_nth("GET /index.html", 1), "index"), "0");
}
END_TEST

static void say_in_clear_text(uint32_t tgid, uint64_t stream)
{
	struct net_sock nobody = { .role = NET_ROLE_CLIENT };

	net_io((struct net_io){ .sock = nobody,
				.time = 3 * MS,
				.sent = true,
				.text = GET,
				.stream = stream,
				.tgid = tgid,
				.tid = tgid });
}

/* Another session's wishes are read as well. */
START_TEST(clear_text_that_another_session_has_asked_for_is_not_shown)
{
	net_begin_process(3000, "xyz", 0);
	net_begin_process(3001, "ayz", 0);
	say_in_clear_text(3000, 0x1000);
	say_in_clear_text(3001, 0x2000);
	say_in_clear_text(3002, 0x3000); /* nobody knows who that is */
	net_finish(20 * MS);
	ck_assert_str_eq(net_slice_named("GET /index.html")->track,
			 "3000/Connections/example.org/requests");
}
END_TEST

/* ---- other protocols behind the first ---- */

#define CONNECT	   "CONNECT example.org:80 HTTP/1.1\r\nHost: example.org:80\r\n\r\n"
#define CONNECT_OK "HTTP/1.1 200 Connection established\r\n\r\n"

START_TEST(what_goes_through_a_tunnel_is_looked_at)
{
	net_connect(net_client());
	net_io((struct net_io){
		.sock = net_client(), .time = 3 * MS, .sent = true, .text = CONNECT });
	net_io((struct net_io){ .sock = net_client(), .time = 4 * MS, .text = CONNECT_OK });
	net_io((struct net_io){ .sock = net_client(),
				.time = 5 * MS,
				.off = strlen(CONNECT),
				.sent = true,
				.text = GET });
	net_io((struct net_io){
		.sock = net_client(), .time = 6 * MS, .off = strlen(CONNECT_OK), .text = OK });
	net_close(net_client(), 8 * MS);
	net_finish(20 * MS);
	ck_assert_ptr_nonnull(net_find_nth("GET /index.html", 0));
	ck_assert_uint_eq(net_find_nth("GET /index.html", 0)->begin, 5 * MS);
}
END_TEST

/* ---- names ---- */

static uint16_t message_id = 1;

/* A example.org -> 10.0.0.2. */
static void send_message(struct net_sock sock, uint64_t time, bool sent, bool is_answer)
{
	static const char query[] = "\0\1\1\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1";
	static const char answer[] = "\0\1\x81\x80\0\1\0\1\0\0\0\0\7example\3org\0\0\1\0\1"
				     "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0\2";
	static struct net_io_event ev;
	struct net_run run = { .len = is_answer ? sizeof(answer) - 1 : sizeof(query) - 1 };

	memset(&ev, 0, sizeof(ev));
	ev.sock = sock;
	ev.hdr.type = NET_IO;
	ev.hdr.size = sizeof(ev);
	ev.hdr.time_ns = net.start_ns + time;
	ev.hdr.tgid = sock.role == NET_ROLE_SERVER ? SERVER_PID : CLIENT_PID;
	ev.hdr.tid = ev.hdr.tgid + 1;
	ev.len = run.len;
	ev.flags = (uint8_t)(NET_DATAGRAM | (sent ? NET_SENT : 0));
	ev.protocol = NET_PROTOCOL_DNS;
	ev.n_runs = 1;
	memcpy(ev.data, &run, sizeof(run));
	memcpy(ev.data + sizeof(run), is_answer ? answer : query, run.len);
	ev.data[sizeof(run)] = (uint8_t)(message_id >> 8);
	ev.data[sizeof(run) + 1] = (uint8_t)message_id;
	net_encode_record(&ev.hdr);
}

static struct net_sock asker(uint32_t netns)
{
	struct net_sock s = net_client();

	s.cookie = 90;
	s.netns = netns;
	s.protocol = IPPROTO_UDP;
	s.inet.peer_port = 53;
	return s;
}

static void resolve(uint64_t time, uint32_t netns)
{
	send_message(asker(netns), time, true, false);
	send_message(asker(netns), time + US, false, true);
}

START_TEST(a_query_is_a_slice)
{
	const struct net_read_slice *s;

	resolve(100 * US, net_client().netns);
	net_finish(20 * MS);
	s = net_slice_named("A example.org");
	ck_assert_str_eq(s->category, "dns");
	ck_assert_str_eq(s->track, "1000/Connections/DNS/requests");
	ck_assert_uint_eq(s->end - s->begin, US);
	ck_assert_str_eq(net_arg_of(s, "answers"), "10.0.0.2");
	ck_assert_str_eq(net_arg_of(s, "rcode"), "NOERROR");
	ck_assert_str_eq(net_arg_of(s, "server"), "10.0.0.2:53");
	/* The socket that has asked is no connection. */
	ck_assert_ptr_null(net_find_nth("connection", 0));
}
END_TEST

/* As only a kernel's fault, or somebody in its place, can say. */
START_TEST(a_datagram_on_a_socket_of_another_protocol_is_left_alone)
{
	static const uint8_t protocols[] = { NET_PROTOCOL_HTTP1, NET_PROTOCOL_HTTP2,
					     NET_PROTOCOL_TLS };

	for (size_t i = 0; i < sizeof(protocols); i++) {
		struct net_sock sock = net_client();

		sock.cookie += i;
		net_io((struct net_io){ .sock = sock,
					.time = MS,
					.sent = true,
					.protocol = protocols[i],
					.text = "GET / HTTP/1.1\r\n" });
		send_message(sock, 2 * MS, true, false);
		send_message(sock, 3 * MS, false, true);
	}
	net_finish(20 * MS);
	ck_assert_ptr_null(net_find_nth("A example.org", 0));
}
END_TEST

START_TEST(both_ends_of_a_query_have_one_flow)
{
	struct net_sock server = net_server(), nobody;

	server.protocol = IPPROTO_UDP;
	server.inet.local_port = 53;
	nobody = server;
	nobody.inet.peer_port = 0; /* whose it is that comes is not known */
	send_message(asker(1), 100 * US, true, false);
	send_message(nobody, 150 * US, false, false);
	send_message(server, 200 * US, true, true);
	send_message(asker(1), 250 * US, false, true);
	net_finish(20 * MS);
	ck_assert_ptr_nonnull(net_find_nth("A example.org", 1));
	ck_assert_uint_eq(net_find_nth("A example.org", 0)->n_flows, 1);
	ck_assert_uint_eq(net_count_flow(net_find_nth("A example.org", 0)->flows[0]), 2);
	/* The server's end says who has asked, and both how much it was. */
	for (size_t i = 0; i < 2; i++) {
		const struct net_read_slice *s = net_find_nth("A example.org", i);
		bool serves = strcmp(net_arg_of(s, "side"), "server") == 0;

		ck_assert_str_eq(net_arg_of(s, "remote"), serves ? "10.0.0.1:40000" : "");
		ck_assert_str_eq(net_arg_of(s, "request_bytes"), "29");
		ck_assert_str_eq(net_arg_of(s, "response_bytes"), "45");
	}
}
END_TEST

/* A resolver closes the socket that it has waited at, which nobody tells. */
START_TEST(who_asks_somebody_else_waits_no_longer)
{
	struct net_sock second = asker(1);
	const struct net_read_slice *s;

	second.cookie++;
	second.inet.peer[3] = 9;
	send_message(asker(1), 1 * MS, true, false);
	send_message(second, 6 * MS, true, false);
	send_message(second, 7 * MS, false, true);
	net_finish(20 * MS);
	s = net_slice_named("A example.org no answer");
	ck_assert_uint_eq(s->begin, 1 * MS);
	ck_assert_uint_eq(s->end, 6 * MS);
	ck_assert_str_eq(net_arg_of(s, "server"), "10.0.0.2:53");
	s = net_slice_named("A example.org");
	ck_assert_uint_eq(s->end, 7 * MS);
	ck_assert_str_eq(net_arg_of(s, "server"), "10.0.0.9:53");
}
END_TEST

/* One socket asks several: of each query it is known who was asked. */
START_TEST(a_socket_may_ask_several_servers)
{
	struct net_sock second = asker(1);

	second.inet.peer[3] = 9;
	send_message(asker(1), 1 * MS, true, false);
	send_message(asker(1), 2 * MS, false, true);
	send_message(second, 3 * MS, true, false);
	send_message(second, 4 * MS, false, true);
	net_finish(20 * MS);
	ck_assert_str_eq(net_arg_of(net_find_nth("A example.org", 0), "server"), "10.0.0.2:53");
	ck_assert_str_eq(net_arg_of(net_find_nth("A example.org", 1), "server"), "10.0.0.9:53");
}
END_TEST

START_TEST(a_query_that_ends_with_its_process_was_waited_for_until_then)
{
	net_begin_process(CLIENT_PID, "ends", 0);
	send_message(asker(1), 1 * MS, true, false);
	process_table_free_task(net.processes, CLIENT_PID, net.start_ns, net.start_ns + 5 * MS);
	net_finish(20 * MS);
	ck_assert_uint_eq(net_slice_named("A example.org no answer")->end, 5 * MS);
}
END_TEST

START_TEST(a_query_that_leaves_the_machine_has_no_flow)
{
	resolve(100 * US, 1);
	net_finish(20 * MS);
	ck_assert_uint_eq(net_slice_named("A example.org")->n_flows, 0);
}
END_TEST

START_TEST(a_query_names_the_connection_that_it_has_led_to)
{
	const struct net_read_slice *s;

	resolve(100 * US, net_client().netns);
	net_connect(net_client());
	net_io((struct net_io){ .sock = net_client(), .time = 3 * MS, .sent = true, .text = GET });
	net_io((struct net_io){ .sock = net_client(), .time = 5 * MS, .text = OK });
	net_finish(20 * MS);
	s = net_slice_named("GET /index.html");
	ck_assert_str_eq(net_phases_of(s), "DNS 100-101, connect 1000-2000, send 3000-3000, "
					   "wait 3000-5000, receive 5000-5000");
	ck_assert_uint_eq(s->begin, 100 * US);
}
END_TEST

START_TEST(a_name_of_another_network_is_none)
{
	resolve(100 * US, 1);
	net_connect(net_client());
	net_close(net_client(), 5 * MS);
	net_finish(20 * MS);
	ck_assert_str_eq(net_slice_named("connection")->track,
			 "1000/Connections/10.0.0.2:80/connections");
}
END_TEST

START_TEST(a_failed_connection_has_the_name_that_was_asked_for)
{
	resolve(100 * US, net_client().netns);
	net_state(net_client(), 1 * MS, TCP_CLOSE, TCP_SYN_SENT);
	net_state(net_client(), 2 * MS, TCP_SYN_SENT, TCP_CLOSE);
	net_finish(20 * MS);
	ck_assert_str_eq(net_slice_named("connect given up")->track,
			 "1000/Connections/example.org:80/connections");
}
END_TEST

/* ---- times of both ends ---- */

/* The sender's call returns when the other process has answered already. */
START_TEST(a_request_is_sent_before_it_is_received)
{
	const struct net_read_slice *sent, *received;

	net_connect(net_client());
	net_accept(net_server(), 2 * MS);
	net_io((struct net_io){ .sock = net_server(), .time = 3500 * US, .text = GET });
	net_io((struct net_io){
		.sock = net_client(), .time = 3600 * US, .sent = true, .text = GET });
	net_io((struct net_io){ .sock = net_client(), .time = 4900 * US, .text = OK });
	net_io((struct net_io){ .sock = net_server(), .time = 5 * MS, .sent = true, .text = OK });
	net_finish(20 * MS);
	sent = net_slice_named("request sent");
	received = net_slice_named("request received");
	ck_assert_uint_le(sent->begin, received->begin);
	sent = net_slice_named("response sent");
	received = net_slice_named("response received");
	ck_assert_uint_le(sent->begin, received->begin);
}
END_TEST

/* ---- bounds ---- */

static struct net_sock one_of_many(uint32_t i)
{
	struct net_sock s = net_client();

	s.cookie = 100000 + i;
	s.inet.local[2] = (uint8_t)(i >> 16);
	s.inet.local_port = (uint16_t)i;
	s.inet.pair = i + 1;
	return s;
}

/* Each with one request that waits for its answer, which is what takes the most. */
START_TEST(ten_thousand_connections_take_less_than_64_mib)
{
	for (uint32_t i = 0; i < 10000; i++) {
		net_connect(one_of_many(i));
		net_io((struct net_io){
			.sock = one_of_many(i), .time = 3 * MS, .sent = true, .text = GET });
	}
	ck_assert_uint_gt(net_encoder_bytes(net.encoder), 10000 * 500);
	ck_assert_uint_lt(net_encoder_bytes(net.encoder), 64u << 20);
}
END_TEST

/* More than are kept: the oldest are written, and it is said that there were too many. */
START_TEST(more_connections_than_are_kept_are_all_shown)
{
	for (uint32_t i = 0; i < 20000; i++)
		net_connect(one_of_many(i));
	ck_assert_uint_lt(net_encoder_bytes(net.encoder), 64u << 20);
	trace_writer_source(net.w.writer, WRITTEN_SOURCE, net.start_ns + 20 * MS);
	ck_assert_int_eq(net_encoder_flush(net.encoder, net.start_ns + 20 * MS, true), 0);
	written_read(&net.w);
	written_assert_account(&net.w, net.n_encoded);
	ck_assert_ptr_nonnull(written_track_named(&net.w, "Network bounds", WRITTEN_ANYWHERE));
}
END_TEST

static void ask(unsigned n)
{
	for (message_id = 0; message_id < n; message_id++)
		send_message(asker(net_client().netns), 100 * US + message_id, true, false);
	trace_writer_source(net.w.writer, WRITTEN_SOURCE, net.start_ns + 20 * MS);
	ck_assert_int_eq(net_encoder_flush(net.encoder, net.start_ns + 20 * MS, true), 0);
	written_read(&net.w);
	written_assert_account(&net.w, net.n_encoded);
}

START_TEST(as_many_queries_as_are_kept_are_shown)
{
	ask(4096);
	ck_assert_ptr_null(written_track_named(&net.w, "Network bounds", WRITTEN_ANYWHERE));
}
END_TEST

/* Those that make room have no slice, and it is said. */
START_TEST(more_queries_than_are_kept_are_told)
{
	ask(4097);
	ck_assert_ptr_nonnull(written_track_named(&net.w, "Network bounds", WRITTEN_ANYWHERE));
}
END_TEST

START_TEST(names_of_requests_are_bounded)
{
	uint64_t sent = 0, received = 0;

	net_connect(net_client());
	for (unsigned i = 0; i < 5000; i++) {
		char get[128];

		snprintf(get, sizeof(get), "GET /item/%u HTTP/1.1\r\nHost: example.org\r\n\r\n", i);
		net_io((struct net_io){ .sock = net_client(),
					.time = (3 + 2 * i) * MS,
					.off = sent,
					.sent = true,
					.text = get });
		net_io((struct net_io){ .sock = net_client(),
					.time = (4 + 2 * i) * MS,
					.off = received,
					.text = OK });
		sent += strlen(get);
		received += strlen(OK);
	}
	trace_writer_source(net.w.writer, WRITTEN_SOURCE, net.start_ns + 20000 * MS);
	ck_assert_int_eq(net_encoder_flush(net.encoder, net.start_ns + 20000 * MS, true), 0);
	written_read(&net.w);
	written_assert_good(&net.w);
	for (size_t i = 0, n = 0; i < net.w.n; i++) {
		const InternedData *in = net.w.packets[i]->interned_data;

		n += in ? in->n_event_names : 0;
		ck_assert_uint_lt(n, 4200);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("net_conns");
	TCase *lanes = tcase_create("lanes"), *tc = tcase_create("connections");
	SRunner *sr;
	int failed;

	tcase_add_test(lanes, a_lane_is_taken_until_its_slice_is_over);
	tcase_add_test(lanes, there_may_be_many_lanes_but_not_any_number);
	suite_add_tcase(s, lanes);

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, net_records_open, net_records_close);
	tcase_add_test(tc, clear_text_belongs_to_its_connection);
	tcase_add_test(tc, a_stream_whose_connection_becomes_known_moves_there);
	tcase_add_test(tc, a_stream_without_a_connection_is_shown_all_the_same);
	tcase_add_test(tc, clear_text_that_another_session_has_asked_for_is_not_shown);
	tcase_add_test(tc, a_handle_used_again_is_another_stream);
	tcase_add_test(tc, what_goes_through_a_tunnel_is_looked_at);
	tcase_add_test(tc, a_query_is_a_slice);
	tcase_add_test(tc, a_datagram_on_a_socket_of_another_protocol_is_left_alone);
	tcase_add_test(tc, both_ends_of_a_query_have_one_flow);
	tcase_add_test(tc, who_asks_somebody_else_waits_no_longer);
	tcase_add_test(tc, a_socket_may_ask_several_servers);
	tcase_add_test(tc, a_query_that_ends_with_its_process_was_waited_for_until_then);
	tcase_add_test(tc, a_query_that_leaves_the_machine_has_no_flow);
	tcase_add_test(tc, a_query_names_the_connection_that_it_has_led_to);
	tcase_add_test(tc, a_name_of_another_network_is_none);
	tcase_add_test(tc, a_failed_connection_has_the_name_that_was_asked_for);
	tcase_add_test(tc, a_request_is_sent_before_it_is_received);
	tcase_add_test(tc, ten_thousand_connections_take_less_than_64_mib);
	tcase_add_test(tc, more_connections_than_are_kept_are_all_shown);
	tcase_add_test(tc, as_many_queries_as_are_kept_are_shown);
	tcase_add_test(tc, more_queries_than_are_kept_are_told);
	tcase_add_test(tc, names_of_requests_are_bounded);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
