/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and the lives of the processes that have them. */
#include <check.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "net_records.h"
#include "process/process_table_update.h"

#define GET "GET /index.html HTTP/1.1\r\nHost: example.org\r\n\r\n"
#define OK  "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"

static void list_sock(struct net_sock sock, uint64_t time, uint32_t tgid)
{
	struct net_bytes_event ev = { .sock = sock, .state = TCP_ESTABLISHED };

	ev.hdr.time_ns = net.start_ns + time;
	ev.hdr.type = NET_SOCK;
	ev.hdr.size = sizeof(ev);
	ev.hdr.tgid = ev.hdr.tid = tgid;
	net_encode_record(&ev.hdr);
}

/* It has the socket of the one that has forked it. */
START_TEST(an_inherited_connection_begins_with_its_process)
{
	const struct net_read_slice *s;

	list_sock(net_client(), 3 * MS, CLIENT_PID);
	net_begin_process(CLIENT_PID, "heir", 1 * MS);
	net_finish(20 * MS);
	s = net_slice_named("connection");
	ck_assert_uint_eq(s->begin, 3 * MS);
	ck_assert_str_eq(net_arg_of(s, "before"), "true");
}
END_TEST

START_TEST(so_does_that_of_one_that_is_forgotten_by_now)
{
	list_sock(net_client(), 3 * MS, CLIENT_PID);
	net_finish(20 * MS);
	ck_assert_uint_eq(net_slice_named("connection")->begin, 3 * MS);
}
END_TEST

/* Its number is another's by the time that it is written. */
START_TEST(a_connection_is_not_given_to_the_next_process_of_that_number)
{
	list_sock(net_client(), 3 * MS, CLIENT_PID);
	net_begin_process(CLIENT_PID, "heir", 5 * MS);
	net_close(net_client(), 8 * MS);
	net_finish(20 * MS);
	ck_assert_ptr_null(net_find_nth("connection", 0));
}
END_TEST

static void move_unix(uint64_t cookie, uint64_t time, uint32_t tgid)
{
	struct net_bytes_event ev = { .tx_bytes = 100, .tx_messages = 1 };

	ev.sock.cookie = cookie;
	ev.sock.family = AF_UNIX;
	ev.sock.protocol = SOCK_STREAM;
	ev.sock.role = NET_ROLE_CLIENT;
	ev.first_ns = ev.hdr.time_ns = net.start_ns + time;
	ev.hdr.type = NET_BYTES;
	ev.hdr.tgid = ev.hdr.tid = tgid;
	net_encode_record(&ev.hdr);
}

/* Nobody tells when one is closed. */
START_TEST(a_unix_socket_ends_with_its_process)
{
	const struct net_read_slice *s;

	net_begin_process(CLIENT_PID, "ends", 0);
	net_begin_process(SERVER_PID, "lives", 0);
	net_begin_process(1500, "before", 0);
	move_unix(1, 1 * MS, CLIENT_PID);
	move_unix(2, 2 * MS, SERVER_PID);
	move_unix(3, 3 * MS, 1500);
	process_table_free_task(net.processes, CLIENT_PID, net.start_ns, net.start_ns + 5 * MS);
	process_table_free_task(net.processes, 1500, net.start_ns, net.start_ns + 5 * MS);
	net_begin_process(1500, "heir", 6 * MS);
	net_finish(20 * MS);
	s = net_find_nth("connection", 0);
	ck_assert_str_eq(net_arg_of(s, "connection"), "1");
	ck_assert_uint_eq(s->end, 1 * MS + 1);
	ck_assert_str_eq(net_arg_of(s, "unfinished"), "");
	s = net_find_nth("connection", 1);
	ck_assert_str_eq(net_arg_of(s, "connection"), "2");
	ck_assert_uint_eq(s->end, 3 * MS); /* with all there is */
	ck_assert_str_eq(net_arg_of(s, "unfinished"), "true");
	ck_assert_ptr_null(net_find_nth("connection", 2)); /* nobody's that there is */
}
END_TEST

START_TEST(a_request_begins_within_its_process)
{
	const struct net_read_slice *s;

	net_state(net_client(), 1 * MS, TCP_CLOSE, TCP_SYN_SENT);
	net_state(net_client(), 2 * MS, TCP_SYN_SENT, TCP_ESTABLISHED);
	net_begin_process(1500, "heir", 2 * MS);
	net_io((struct net_io){ .sock = net_client(),
				.time = 3 * MS,
				.sent = true,
				.text = GET,
				.tgid = 1500,
				.tid = 1500 });
	net_io((struct net_io){
		.sock = net_client(), .time = 5 * MS, .text = OK, .tgid = 1500, .tid = 1500 });
	net_finish(20 * MS);
	s = net_slice_named("GET /index.html");
	ck_assert_str_eq(s->track, "1500/Connections/example.org:80/requests");
	ck_assert_str_eq(net_phases_of(s), "send 3000-3000, wait 3000-5000, receive 5000-5000");
}
END_TEST

/* Listing takes its time; what it has met was not there when the recording began. */
START_TEST(a_connection_that_begins_before_it_is_listed_is_new)
{
	const struct net_read_slice *s;

	list_sock(net_client(), 5 * MS, CLIENT_PID);
	net_connect(net_client());
	net_finish(20 * MS);
	s = net_slice_named("connection");
	ck_assert_uint_eq(s->begin, 1 * MS);
	ck_assert_str_eq(net_arg_of(s, "before"), "");
	ck_assert_str_eq(net_phases_of(s), "connect 1000-2000, established 2000-5000");
}
END_TEST

/* ---- sockets of which no end is told ---- */

static struct net_sock unix_sock(void)
{
	return (struct net_sock){
		.cookie = 500, .netns = 4026531840u, .family = AF_UNIX, .role = NET_ROLE_CLIENT
	};
}

static void send_by(struct net_sock sock, uint32_t tgid, uint64_t time)
{
	net_io((struct net_io){
		.sock = sock, .time = time, .sent = true, .text = "x", .tgid = tgid, .tid = tgid });
}

static void die(uint32_t tgid, uint64_t began, uint64_t time)
{
	process_table_free_task(net.processes, tgid, net.start_ns + began, net.start_ns + time);
}

START_TEST(what_a_dead_process_had_is_over_while_the_recording_goes_on)
{
	const struct net_read_slice *s;

	net_begin_process(1500, "short", 1 * MS);
	net_begin_process(1501, "heir", 2 * MS);
	send_by(unix_sock(), 1500, 3 * MS);
	send_by(unix_sock(), 1500, 5 * MS);
	die(1500, 1 * MS, 8 * MS);
	net_flush(3500 * MS);
	send_by(unix_sock(), 1501, 3600 * MS);
	net_finish(5000 * MS);
	s = net_find_nth("connection", 0);
	ck_assert_uint_eq(s->begin, 3 * MS);
	ck_assert_uint_eq(s->end, 5 * MS);
	ck_assert_int_eq(strncmp(s->track, "1500/", 5), 0);
	ck_assert_int_eq(strncmp(net_find_nth("connection", 1)->track, "1501/", 5), 0);
}
END_TEST

START_TEST(what_somebody_else_uses_goes_on)
{
	net_begin_process(1500, "short", 1 * MS);
	net_begin_process(1501, "heir", 2 * MS);
	send_by(unix_sock(), 1500, 3 * MS);
	die(1500, 1 * MS, 8 * MS);
	send_by(unix_sock(), 1501, 3400 * MS);
	net_flush(3500 * MS);
	send_by(unix_sock(), 1501, 3600 * MS);
	net_finish(4000 * MS);
	ck_assert_uint_eq(net_slice_named("connection")->end, 3600 * MS);
}
END_TEST

START_TEST(a_connection_of_tcp_outlives_its_process)
{
	net_begin_process(1500, "short", 1 * MS);
	send_by(net_client(), 1500, 3 * MS);
	die(1500, 1 * MS, 8 * MS);
	net_flush(3500 * MS);
	net_close(net_client(), 3600 * MS);
	net_finish(4000 * MS);
	ck_assert_uint_eq(net_slice_named("connection")->end, 3601 * MS);
}
END_TEST

/* The server's end is over first; what it knew of times holds for the client's as well. */
START_TEST(an_end_outlives_the_other_and_agrees_with_it)
{
	uint64_t sent = 0, received = 0;

	net_connect(net_client());
	net_accept(net_server(), 2 * MS);
	net_io((struct net_io){ .sock = net_server(), .time = 3 * MS, .text = GET });
	net_io((struct net_io){ .sock = net_client(), .time = 4 * MS, .sent = true, .text = GET });
	net_close(net_server(), 5 * MS);
	net_close(net_client(), 6 * MS);
	net_finish(20 * MS);
	for (size_t i = 0; i < net_n_slices; i++) {
		if (strcmp(net_slices[i].name, "request sent") == 0)
			sent = net_slices[i].begin;
		if (strcmp(net_slices[i].name, "request received") == 0)
			received = net_slices[i].begin;
	}
	ck_assert_uint_eq(sent, 3 * MS);
	ck_assert_uint_eq(received, 3 * MS);
}
END_TEST

/* ---- many streams at once ---- */

#define N_STREAMS    40
#define STREAM_ID(i) (uint8_t)(2 * (i) + 1)

/* Both ends of a call: who receives is told of it first, as when the sender is preempted. */
static void move(bool request, uint64_t off, const void *bytes, uint32_t len, uint64_t time)
{
	static struct net_io_event ev;
	struct net_run run = { .len = len };

	for (int receives = 1; receives >= 0; receives--) {
		bool by_client = request != receives;

		memset(&ev, 0, NET_IO_HEAD);
		ev.sock = by_client ? net_client() : net_server();
		ev.hdr.type = NET_IO;
		ev.hdr.size = (uint16_t)(NET_IO_HEAD + sizeof(run) + len);
		ev.hdr.time_ns = net.start_ns + time + (receives ? 0 : 50 * US);
		ev.hdr.tgid = ev.hdr.tid = by_client ? CLIENT_PID : SERVER_PID;
		ev.off = off;
		ev.len = len;
		ev.flags = receives ? 0 : NET_SENT;
		ev.protocol = NET_PROTOCOL_HTTP2;
		ev.n_runs = 1;
		memcpy(ev.data, &run, sizeof(run));
		memcpy(ev.data + sizeof(run), bytes, len);
		net_encode_record(&ev.hdr);
	}
}

static void open_streams(void)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	static const uint8_t settings[9] = { 0, 0, 0, 4 };
	/* END_STREAM and END_HEADERS; GET, http, "/", and ":authority: a" that is not kept. */
	uint8_t ask[] = { 0, 0, 6, 1, 5, 0, 0, 0, 0, 0x82, 0x86, 0x84, 0x01, 0x01, 'a' };
	uint8_t answer[] = { 0, 0, 1, 1, 5, 0, 0, 0, 0, 0x88 };
	uint64_t off = sizeof(preface) - 1;

	move(true, 0, preface, sizeof(preface) - 1, 1 * MS);
	move(true, off, settings, sizeof(settings), 1 * MS);
	off += sizeof(settings);
	for (int i = 0; i < N_STREAMS; i++) {
		ask[8] = STREAM_ID(i);
		move(true, off + (uint64_t)i * sizeof(ask), ask, sizeof(ask),
		     2 * MS + (uint64_t)i * 10 * US);
	}
	for (int i = 0; i < N_STREAMS; i++) {
		answer[8] = STREAM_ID(i);
		move(false, (uint64_t)i * sizeof(answer), answer, sizeof(answer),
		     5 * MS + (uint64_t)i * 10 * US);
	}
}

static uint64_t nth_begin(const char *name, int n)
{
	const struct net_read_slice *s = net_find_nth(name, (size_t)n);

	ck_assert_ptr_nonnull(s);
	return s->begin;
}

START_TEST(of_many_streams_at_once_both_ends_agree)
{
	open_streams();
	net_finish(20 * MS);
	for (int i = 0; i < N_STREAMS; i++) {
		uint64_t sent = nth_begin("request sent", i);

		ck_assert_uint_eq(sent, 2 * MS + (uint64_t)i * 10 * US);
		ck_assert_uint_eq(sent, nth_begin("request received", i));
		ck_assert_uint_eq(nth_begin("response sent", i), nth_begin("response received", i));
	}
}
END_TEST

START_TEST(quic_is_an_argument_of_its_connection)
{
	struct net_bytes_event ev = { .sock = net_client(), .tx_bytes = 1200, .tx_messages = 1 };

	ev.sock.protocol = IPPROTO_UDP;
	ev.sock.inet.pair = 0;
	ev.hdr.time_ns = ev.first_ns = net.start_ns + 3 * MS;
	ev.hdr.type = NET_BYTES;
	ev.hdr.tgid = ev.hdr.tid = CLIENT_PID;
	ev.quic = (struct net_quic){ .version = 2, .to_len = 8, .from_len = 5 };
	net_encode_record(&ev.hdr);
	net_finish(20 * MS);
	ck_assert_str_eq(net_arg_of(net_slice_named("connection"), "protocol"), "QUIC");
	ck_assert_str_eq(net_arg_of(net_slice_named("connection"), "quic_version"), "2");
	ck_assert_str_eq(net_arg_of(net_slice_named("connection"), "quic_destination_id_bytes"),
			 "8");
	ck_assert_str_eq(net_arg_of(net_slice_named("connection"), "quic_source_id_bytes"), "5");
}
END_TEST

/* Seen by who looks next, when the next request is sent: the answer has not lasted so long. */
START_TEST(a_body_that_nobody_saw_is_part_of_its_answer)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
	const struct net_read_slice *s;

	net_connect(net_client());
	net_io((struct net_io){ .sock = net_client(), .time = 3 * MS, .sent = true, .text = GET });
	net_io((struct net_io){ .sock = net_client(), .time = 5 * MS, .text = head });
	net_io((struct net_io){ .sock = net_client(),
				.time = 9 * MS,
				.off = strlen(head),
				.flags = NET_KERNEL | NET_UNSEEN,
				.len = 5 });
	net_io((struct net_io){ .sock = net_client(),
				.time = 9 * MS,
				.off = strlen(GET),
				.sent = true,
				.text = GET });
	net_finish(20 * MS);
	s = net_find_nth("GET /index.html", 0);
	ck_assert_str_eq(net_arg_of(s, "response_body"), "5");
	ck_assert_str_eq(net_arg_of(s, "incomplete"), "");
	ck_assert_uint_eq(s->end, 5 * MS + 1);
}
END_TEST

#define N_AHEAD 40

static void say(struct net_sock sock, uint64_t time, uint64_t i, const char *text, bool sent)
{
	net_io((struct net_io){ .sock = sock,
				.time = time + i * 10 * US,
				.off = i * strlen(text),
				.sent = sent,
				.text = text });
}

/* A call that sends returns when the other end has it; the first answer is late. */
START_TEST(what_is_sent_ahead_was_sent_before_it_was_received)
{
	net_connect(net_client());
	net_accept(net_server(), 2 * MS);
	for (uint64_t i = 0; i < N_AHEAD; i++) {
		say(net_server(), 3 * MS, i, GET, false);
		say(net_client(), 3 * MS + 5 * US, i, GET, true);
	}
	for (uint64_t i = 0; i < N_AHEAD; i++)
		say(net_server(), 5 * MS, i, OK, true);
	for (uint64_t i = 0; i < N_AHEAD; i++)
		say(net_client(), 8 * MS, i, OK, false);
	net_finish(20 * MS);
	for (size_t i = 0; i < N_AHEAD; i++) {
		const struct net_read_slice *sent = net_find_nth("request sent", i);

		ck_assert_ptr_nonnull(sent);
		ck_assert_uint_le(sent->begin, net_find_nth("request received", i)->begin);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("net_lives");
	TCase *tc = tcase_create("lives");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, net_records_open, net_records_close);
	tcase_add_test(tc, an_inherited_connection_begins_with_its_process);
	tcase_add_test(tc, so_does_that_of_one_that_is_forgotten_by_now);
	tcase_add_test(tc, a_connection_is_not_given_to_the_next_process_of_that_number);
	tcase_add_test(tc, a_unix_socket_ends_with_its_process);
	tcase_add_test(tc, a_request_begins_within_its_process);
	tcase_add_test(tc, what_a_dead_process_had_is_over_while_the_recording_goes_on);
	tcase_add_test(tc, what_somebody_else_uses_goes_on);
	tcase_add_test(tc, a_connection_of_tcp_outlives_its_process);
	tcase_add_test(tc, an_end_outlives_the_other_and_agrees_with_it);
	tcase_add_test(tc, a_connection_that_begins_before_it_is_listed_is_new);
	tcase_add_test(tc, quic_is_an_argument_of_its_connection);
	tcase_add_test(tc, a_body_that_nobody_saw_is_part_of_its_answer);
	tcase_add_test(tc, of_many_streams_at_once_both_ends_agree);
	tcase_add_test(tc, what_is_sent_ahead_was_sent_before_it_was_received);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
