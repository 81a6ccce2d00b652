/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the network: what is one and what is none, and where its payload is. */
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/net_decode.h"

static struct event_hdr a_head(uint16_t type, size_t size)
{
	return (struct event_hdr){
		.time_ns = 1000, .tgid = 10, .tid = 11, .type = type, .size = (uint16_t)size
	};
}

static struct net_sock a_sock(void)
{
	struct net_sock s = { .cookie = 7,
			      .netns = 4026531840,
			      .family = AF_INET,
			      .protocol = IPPROTO_TCP,
			      .role = NET_ROLE_CLIENT };

	s.inet.local[0] = s.inet.peer[0] = 10;
	s.inet.local_port = 40000;
	s.inet.peer_port = 80;
	return s;
}

/* A NET_IO with runs of these lengths, each so many bytes behind the one before. */
static struct net_io_event *an_io(const struct net_run *runs, unsigned n_runs, uint32_t moved)
{
	static struct net_io_event ev;
	size_t n = n_runs * sizeof(*runs);

	memset(&ev, 0, sizeof(ev));
	if (n)
		memcpy(ev.data, runs, n);
	for (unsigned i = 0; i < n_runs; i++)
		n += runs[i].len;
	ck_assert_uint_le(n, sizeof(ev.data));
	ev.hdr = a_head(NET_IO, NET_IO_HEAD + n);
	ev.sock = a_sock();
	ev.len = moved;
	ev.fd = 3;
	ev.flags = NET_SENT;
	ev.protocol = NET_PROTOCOL_HTTP1;
	ev.n_runs = (uint8_t)n_runs;
	return &ev;
}

#define VALID(ev)   ck_assert(net_valid(&(ev)->hdr, (ev)->hdr.size))
#define INVALID(ev) ck_assert(!net_valid(&(ev)->hdr, (ev)->hdr.size))

START_TEST(bytes_that_were_moved_need_no_payload)
{
	struct net_io_event *ev = an_io(NULL, 0, 1 << 20);
	struct net_payload p;

	VALID(ev);
	net_io_payload(ev, &p);
	ck_assert_uint_eq(p.n_runs, 0);
	ck_assert_uint_eq(p.n_bytes, 0);
	ev->len = 0; /* an end */
	VALID(ev);
}
END_TEST

START_TEST(runs_and_their_bytes_are_found)
{
	struct net_io_event *ev =
		an_io((struct net_run[]){ { 0, 9 }, { 100, 4 }, { 104, 2 } }, 3, 106);
	struct net_payload p;

	ev->data[3 * sizeof(struct net_run)] = 'a';
	ev->data[3 * sizeof(struct net_run) + 14] = 'z';
	VALID(ev);
	net_io_payload(ev, &p);
	ck_assert_uint_eq(p.n_runs, 3);
	ck_assert_uint_eq(p.runs[1].at, 100);
	ck_assert_uint_eq(p.n_bytes, 15);
	ck_assert_uint_eq(p.bytes[0], 'a');
	ck_assert_uint_eq(p.bytes[14], 'z');
}
END_TEST

START_TEST(runs_are_in_order_and_within_what_was_moved)
{
	INVALID(an_io((struct net_run[]){ { 0, 9 }, { 8, 4 } }, 2, 106)); /* overlap */
	INVALID(an_io((struct net_run[]){ { 50, 9 }, { 0, 4 } }, 2, 106));
	INVALID(an_io((struct net_run[]){ { 0, 9 }, { 9, 0 } }, 2, 106)); /* empty */
	INVALID(an_io((struct net_run[]){ { 0, 9 } }, 1, 8));
	INVALID(an_io((struct net_run[]){ { 0xfffffff0, 32 } }, 1, 0xffffffff));
	VALID(an_io((struct net_run[]){ { 0xfffffff0, 15 } }, 1, 0xffffffff));
}
END_TEST

START_TEST(the_most_there_can_be_is_valid)
{
	struct net_run runs[NET_MAX_RUNS];

	for (uint32_t i = 0; i < NET_MAX_RUNS; i++)
		runs[i] = (struct net_run){ 1000 * i, NET_MAX_PAYLOAD / NET_MAX_RUNS };
	VALID(an_io(runs, NET_MAX_RUNS, 100000));
}
END_TEST

START_TEST(a_record_is_as_long_as_its_parts)
{
	struct net_io_event *ev = an_io((struct net_run[]){ { 0, 9 } }, 1, 100);

	ev->hdr.size++;
	INVALID(ev);
	ev->hdr.size -= 2;
	INVALID(ev);
	ev->hdr.size++;
	ck_assert(!net_valid(&ev->hdr, ev->hdr.size - 1u)); /* and as it says */
	ev->n_runs = 2;
	INVALID(ev);
	ev->n_runs = NET_MAX_RUNS + 1;
	INVALID(ev);
	ev->hdr.size = sizeof(ev->hdr);
	INVALID(ev);
}
END_TEST

START_TEST(what_nobody_has_defined_is_no_record)
{
	struct net_io_event *ev = an_io(NULL, 0, 100), good = *ev;

	ev->hdr.type = NET_EVENT_TYPES;
	INVALID(ev);
	*ev = good;
	ev->hdr.stream = 1;
	INVALID(ev);
	*ev = good;
	ev->flags = NET_FLAGS + 1;
	INVALID(ev);
	*ev = good;
	ev->protocol = N_NET_PROTOCOLS;
	INVALID(ev);
	*ev = good;
	ev->pad[4] = 1;
	INVALID(ev);
	*ev = good;
	ev->hdr.tgid = 0;
	INVALID(ev);
	*ev = good;
	ev->off = UINT64_MAX;
	INVALID(ev);
}
END_TEST

START_TEST(a_socket_is_one_of_those_that_are_followed)
{
	struct net_io_event *ev = an_io(NULL, 0, 100), good = *ev;

	ev->sock.cookie = 0;
	INVALID(ev);
	*ev = good;
	ev->sock.role = NET_ROLE_SERVER + 1;
	INVALID(ev);
	*ev = good;
	ev->sock.family = AF_NETLINK;
	INVALID(ev);
	*ev = good;
	ev->sock.protocol = IPPROTO_ICMP;
	INVALID(ev);
	*ev = good;
	ev->sock.inet.peer[4] = 1; /* longer than IPv4's */
	INVALID(ev);
	ev->sock.family = AF_INET6;
	VALID(ev);
	ev->sock.inet.mapped = 1;
	INVALID(ev);
	*ev = good;
	ev->sock.inet.mapped = 1;
	VALID(ev);
	ev->sock.inet.mapped = 2;
	INVALID(ev);
}
END_TEST

START_TEST(a_unix_socket_has_a_name_that_fits)
{
	struct net_bytes_event ev = { .first_ns = 1000 };

	ev.hdr = a_head(NET_BYTES, sizeof(ev));
	ev.sock.cookie = 3;
	ev.sock.family = AF_UNIX;
	ev.sock.protocol = SOCK_STREAM;
	ev.sock.unix_sock.path_len = NET_MAX_PATH_LEN;
	VALID(&ev);
	ev.sock.unix_sock.path_len++;
	INVALID(&ev);
	ev.sock.unix_sock.path_len = 0;
	ev.sock.unix_sock.is_abstract = 2;
	INVALID(&ev);
}
END_TEST

START_TEST(quic_is_of_udp)
{
	struct net_bytes_event ev = { .first_ns = 1000, .quic = { .version = 1, .to_len = 8 } };

	ev.hdr = a_head(NET_BYTES, sizeof(ev));
	ev.sock = a_sock();
	INVALID(&ev);
	ev.sock.protocol = IPPROTO_UDP;
	VALID(&ev);
	ev.quic.from_len = 21;
	INVALID(&ev);
	ev.quic.from_len = 20;
	ev.quic.version = 3;
	INVALID(&ev);
	ev.quic.version = 0;
	INVALID(&ev);
}
END_TEST

START_TEST(totals_began_before_they_were_told)
{
	struct net_bytes_event ev = { .first_ns = 1000 };

	ev.hdr = a_head(NET_BYTES, sizeof(ev));
	ev.sock = a_sock();
	VALID(&ev);
	ev.first_ns = 1001;
	INVALID(&ev);
	ev.first_ns = 0;
	ev.hdr.tgid = ev.hdr.tid = 0;
	INVALID(&ev);
	ev.hdr.type = NET_SOCK; /* whose, is not known of all that there are */
	VALID(&ev);
	ev.state = 13;
	INVALID(&ev);
}
END_TEST

START_TEST(states_belong_to_the_kind_that_tells_them)
{
	struct net_tcp_event ev = { .kind = NET_TCP_STATE, .old_state = 2, .new_state = 1 };

	ev.hdr = a_head(NET_TCP, sizeof(ev));
	ev.hdr.tgid = ev.hdr.tid = 0;
	ev.sock = a_sock();
	VALID(&ev);
	ev.new_state = 0;
	INVALID(&ev);
	ev.new_state = 13;
	INVALID(&ev);
	ev.new_state = 1;
	ev.by_owner = 2;
	INVALID(&ev);
	ev.by_owner = 0;
	ev.kind = NET_TCP_RETRANSMIT;
	INVALID(&ev);
	ev.old_state = ev.new_state = 0;
	VALID(&ev);
	ev.kind = N_NET_TCP_KINDS;
	INVALID(&ev);
	ev.kind = NET_TCP_DROP;
	ev.sock.protocol = IPPROTO_UDP;
	INVALID(&ev);
}
END_TEST

START_TEST(a_stack_is_whole)
{
	static struct net_stack_event ev;
	size_t size = NET_STACK_HEAD + USER_STACK_HEAD + 2 * sizeof(uint64_t);

	ev.hdr = a_head(NET_STACK, size);
	ev.cookie = 7;
	ev.sent = NET_SENT;
	ev.user.n_user = 2;
	VALID(&ev);
	ev.user.n_user = 3;
	INVALID(&ev);
	ev.user.n_user = 2;
	ev.sent = 2;
	INVALID(&ev);
	ev.sent = 0;
	ev.cookie = 0;
	INVALID(&ev);
	ev.cookie = 7;
	ev.hdr.size = NET_STACK_HEAD;
	INVALID(&ev);
}
END_TEST

START_TEST(a_lookup_has_the_name_that_it_says)
{
	struct net_lookup_event ev = { .enter_ns = 900, .name_len = 5, .name = "a.lan" };

	ev.hdr = a_head(NET_LOOKUP, NET_LOOKUP_HEAD + 5);
	VALID(&ev);
	ev.name_len = 6;
	INVALID(&ev);
	ev.name_len = 5;
	ev.enter_ns = 1001;
	INVALID(&ev);
}
END_TEST

START_TEST(clear_text_need_not_have_a_socket)
{
	static struct net_plain_event ev;
	struct net_payload p;

	ev.hdr = a_head(NET_PLAIN, NET_PLAIN_HEAD + sizeof(struct net_run) + 4);
	ev.len = 10;
	ev.n_runs = 1;
	ev.protocol = NET_PROTOCOL_HTTP1;
	((struct net_run *)ev.data)->len = 4;
	VALID(&ev);
	net_plain_payload(&ev, &p);
	ck_assert_uint_eq(p.n_bytes, 4);
	ev.sock = a_sock();
	VALID(&ev);
	ev.sock.family = 0;
	INVALID(&ev);
	ev.sock.cookie = 0;
	ev.link = NET_LINK_GUESS + 1;
	INVALID(&ev);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("net_decode");
	TCase *tc = tcase_create("net_decode");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, bytes_that_were_moved_need_no_payload);
	tcase_add_test(tc, runs_and_their_bytes_are_found);
	tcase_add_test(tc, runs_are_in_order_and_within_what_was_moved);
	tcase_add_test(tc, the_most_there_can_be_is_valid);
	tcase_add_test(tc, a_record_is_as_long_as_its_parts);
	tcase_add_test(tc, what_nobody_has_defined_is_no_record);
	tcase_add_test(tc, a_socket_is_one_of_those_that_are_followed);
	tcase_add_test(tc, a_unix_socket_has_a_name_that_fits);
	tcase_add_test(tc, quic_is_of_udp);
	tcase_add_test(tc, totals_began_before_they_were_told);
	tcase_add_test(tc, states_belong_to_the_kind_that_tells_them);
	tcase_add_test(tc, a_stack_is_whole);
	tcase_add_test(tc, a_lookup_has_the_name_that_it_says);
	tcase_add_test(tc, clear_text_need_not_have_a_socket);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
