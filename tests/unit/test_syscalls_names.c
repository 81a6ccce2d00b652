/* SPDX-License-Identifier: Apache-2.0 */
/* Names of system calls, their errors, protocols and addresses. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "collect/syscalls_names.h"
#include "text.h"

static struct syscalls_call a_call(uint16_t family, uint16_t type, uint16_t protocol)
{
	struct syscalls_call call;

	memset(&call, 0, sizeof(call));
	call.call = CALL_SENDTO;
	call.flags = CALL_SOCKET_KNOWN;
	call.family = family;
	call.sock_type = type;
	call.protocol = protocol;
	return call;
}

static struct syscalls_call to_inet(int family, const char *ip, uint16_t port)
{
	struct syscalls_call call = a_call((uint16_t)family, SOCK_STREAM, IPPROTO_TCP);

	call.addr_family = (uint16_t)family;
	ck_assert_int_eq(inet_pton(family, ip, call.inet.peer), 1);
	call.inet.peer_port = port;
	return call;
}

/* `len` bytes as the name of the peer, cut as the BPF program cuts them. */
static struct syscalls_call to_unix(const char *name, size_t len)
{
	struct syscalls_call call = a_call(AF_UNIX, SOCK_STREAM, 0);
	size_t kept = len < CALL_PATH_LEN ? len : CALL_PATH_LEN;

	call.addr_family = AF_UNIX;
	call.unix_addr.len = (uint8_t)len;
	memcpy(call.unix_addr.path, name + len - kept, kept);
	return call;
}

static const char *peer_of(struct syscalls_call call)
{
	static char text[ADDRESS_TEXT_LEN];

	return call_peer(&call, text) ? text : NULL;
}

static const char *local_of(struct syscalls_call call)
{
	static char text[ADDRESS_TEXT_LEN];

	return call_local(&call, text) ? text : NULL;
}

START_TEST(every_call_but_the_restart_has_a_name)
{
	for (unsigned id = CALL_NONE + 1; id < CALL_RESTART; id++)
		ck_assert_msg(call_info(id) && call_info(id)->name[0], "call %u", id);
	ck_assert_ptr_null(call_info(CALL_NONE));
	ck_assert_ptr_null(call_info(CALL_RESTART));
	ck_assert_ptr_null(call_info(N_CALLS));
	ck_assert_ptr_null(call_info(255));
}
END_TEST

START_TEST(numbers_are_those_of_this_machine)
{
	uint8_t calls[SYSCALLS_MAX_NR];
	unsigned n = 0;

	memset(calls, 0xff, sizeof(calls));
	call_numbers(calls);
	ck_assert_uint_eq(calls[SYS_connect], CALL_CONNECT);
	ck_assert_uint_eq(calls[SYS_recvmmsg], CALL_RECVMMSG);
	ck_assert_uint_eq(calls[SYS_close], CALL_CLOSE);
	ck_assert_uint_eq(calls[SYS_ppoll], CALL_PPOLL);
	ck_assert_uint_eq(calls[SYS_restart_syscall], CALL_RESTART);
	ck_assert_uint_eq(calls[SYS_getpid], CALL_NONE);
	ck_assert_uint_eq(calls[SYS_openat], CALL_NONE);
	ck_assert_uint_eq(calls[SYS_pread64], CALL_NONE);
	ck_assert_uint_eq(calls[SYSCALLS_MAX_NR - 1], CALL_NONE);
	for (unsigned nr = 0; nr < SYSCALLS_MAX_NR; nr++) {
		ck_assert_uint_lt(calls[nr], N_CALLS);
		n += calls[nr] != CALL_NONE;
	}
	ck_assert_uint_ge(n, 26);
}
END_TEST

START_TEST(no_two_numbers_are_the_same_call)
{
	uint8_t calls[SYSCALLS_MAX_NR], seen[N_CALLS] = { 0 };

	call_numbers(calls);
	for (unsigned nr = 0; nr < SYSCALLS_MAX_NR; nr++)
		if (calls[nr])
			ck_assert_uint_eq(seen[calls[nr]]++, 0);
}
END_TEST

START_TEST(errors_have_the_names_of_errno_h)
{
	ck_assert_str_eq(call_error(-ECONNREFUSED), "ECONNREFUSED");
	ck_assert_str_eq(call_error(-EAGAIN), "EAGAIN");
	ck_assert_str_eq(call_error(-1), "EPERM");
	ck_assert_ptr_null(call_error(0));
	ck_assert_ptr_null(call_error(4096));
}
END_TEST

START_TEST(restarts_are_errors_with_the_kernels_names)
{
	ck_assert_str_eq(call_error(-512), "ERESTARTSYS");
	ck_assert_str_eq(call_error(-516), "ERESTART_RESTARTBLOCK");
	ck_assert(call_interrupted(-512));
	ck_assert(call_interrupted(-513));
	ck_assert(call_interrupted(-514));
	ck_assert(call_interrupted(-516));
	ck_assert(!call_interrupted(-515));
	ck_assert(!call_interrupted(-EINTR));
	ck_assert(!call_interrupted(512));
}
END_TEST

START_TEST(a_number_that_is_no_error_has_a_text_all_the_same)
{
	ck_assert_str_eq(call_error(-4095), "unknown error");
	ck_assert_ptr_null(call_error(-4096));
	ck_assert_ptr_null(call_error(INT64_MIN));
}
END_TEST

START_TEST(protocols_are_called_as_people_call_them)
{
	static const struct {
		uint16_t family, type, protocol;
		const char *text;
	} cases[] = {
		{ AF_INET, SOCK_STREAM, IPPROTO_TCP, "tcp" },
		{ AF_INET6, SOCK_STREAM, 0, "tcp" },
		{ AF_INET6, SOCK_DGRAM, IPPROTO_UDP, "udp" },
		{ AF_INET, SOCK_DGRAM, IPPROTO_ICMP, "icmp" },
		{ AF_INET, SOCK_RAW, IPPROTO_ICMP, "raw icmp" },
		{ AF_INET, SOCK_RAW, 89, "inet raw protocol 89" },
		{ AF_UNIX, SOCK_SEQPACKET, 0, "unix seqpacket" },
		{ AF_UNIX, SOCK_STREAM, 1, "unix stream" },
		{ AF_NETLINK, SOCK_RAW, 9, "netlink raw protocol 9" },
		{ AF_NETLINK, SOCK_DGRAM, 0, "netlink dgram" },
		{ 77, 99, 0, "family 77 type 99" },
		{ 65535, 65535, 65535, "family 65535 type 65535 protocol 65535" },
	};
	char scratch[PROTOCOL_TEXT_LEN];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct syscalls_call call =
			a_call(cases[i].family, cases[i].type, cases[i].protocol);

		ck_assert_str_eq(call_protocol(&call, scratch), cases[i].text);
	}
}
END_TEST

START_TEST(what_is_no_socket_has_no_protocol)
{
	struct syscalls_call call = a_call(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	char scratch[PROTOCOL_TEXT_LEN];

	call.flags = 0;
	ck_assert_ptr_null(call_protocol(&call, scratch));
}
END_TEST

START_TEST(internet_addresses_have_their_port)
{
	ck_assert_str_eq(peer_of(to_inet(AF_INET, "10.77.0.1", 8080)), "10.77.0.1:8080");
	ck_assert_str_eq(peer_of(to_inet(AF_INET6, "fd77::1", 443)), "[fd77::1]:443");
	ck_assert_str_eq(peer_of(to_inet(AF_INET6, "::1", 65535)), "[::1]:65535");
}
END_TEST

START_TEST(ipv4_within_ipv6_reads_as_ipv4)
{
	ck_assert_str_eq(peer_of(to_inet(AF_INET6, "::ffff:192.0.2.7", 80)), "192.0.2.7:80");
}
END_TEST

START_TEST(a_link_local_peer_has_its_interface)
{
	struct syscalls_call call = to_inet(AF_INET6, "fe80::1", 5353);

	call.inet.scope_id = 3;
	ck_assert_str_eq(peer_of(call), "[fe80::1%3]:5353");
}
END_TEST

START_TEST(the_longest_address_fits)
{
	struct syscalls_call call =
		to_inet(AF_INET6, "fe80:aaaa:bbbb:cccc:dddd:eeee:1111:2222", 65535);

	call.inet.scope_id = UINT32_MAX;
	ck_assert_str_eq(peer_of(call),
			 "[fe80:aaaa:bbbb:cccc:dddd:eeee:1111:2222%4294967295]:65535");
}
END_TEST

START_TEST(an_end_that_is_not_connected_has_no_address)
{
	struct syscalls_call call = a_call(AF_INET, SOCK_DGRAM, IPPROTO_UDP);

	ck_assert_ptr_null(peer_of(call)); /* not filled in at all */
	call.addr_family = AF_INET;
	ck_assert_ptr_null(peer_of(call));
	ck_assert_ptr_null(local_of(call));
	call.inet.local_port = 53; /* bound to any address */
	ck_assert_str_eq(local_of(call), "0.0.0.0:53");
}
END_TEST

START_TEST(what_is_left_of_a_closed_connection_is_no_peer)
{
	ck_assert_ptr_null(peer_of(to_inet(AF_INET, "10.0.0.1", 0)));
}
END_TEST

START_TEST(a_raw_socket_has_a_peer_without_a_port)
{
	struct syscalls_call call = to_inet(AF_INET, "10.0.0.1", 0);

	call.sock_type = SOCK_RAW;
	ck_assert_str_eq(peer_of(call), "10.0.0.1:0");
}
END_TEST

START_TEST(a_path_is_shown_as_it_is)
{
	ck_assert_str_eq(peer_of(to_unix("/run/user/1000/bus", 18)), "/run/user/1000/bus");
	ck_assert_ptr_null(local_of(to_unix("/run/user/1000/bus", 18)));
}
END_TEST

START_TEST(a_path_of_our_own_is_the_local_address)
{
	struct syscalls_call call = to_unix("/run/x", 6);

	call.flags |= CALL_PATH_LOCAL;
	ck_assert_str_eq(local_of(call), "/run/x");
	ck_assert_ptr_null(peer_of(call));
}
END_TEST

START_TEST(an_unnamed_socket_has_no_address)
{
	ck_assert_ptr_null(peer_of(to_unix("", 0)));
	ck_assert_ptr_null(local_of(to_unix("", 0)));
}
END_TEST

START_TEST(of_a_long_path_the_end_is_shown)
{
	char path[UNIX_PATH_LEN + 1];
	const char *text;

	memset(path, 'a', sizeof(path));
	memcpy(path + 100, "/x.sock", 8);
	text = peer_of(to_unix(path, 107));
	ck_assert_int_eq(strncmp(text, "…aaa", strlen("…aaa")), 0);
	ck_assert_uint_eq(strlen(text), strlen("…") + CALL_PATH_LEN);
	ck_assert_str_eq(text + strlen(text) - 7, "/x.sock");
}
END_TEST

START_TEST(an_abstract_name_starts_with_an_at_sign)
{
	struct syscalls_call call = to_unix("/tmp/.X11-unix/X0", 17);

	call.flags |= CALL_PATH_ABSTRACT;
	ck_assert_str_eq(peer_of(call), "@/tmp/.X11-unix/X0");
}
END_TEST

START_TEST(control_characters_and_nul_in_a_name_are_escaped)
{
	struct syscalls_call call = to_unix("a\0b\x1b[2J\n\xff", 9);

	call.flags |= CALL_PATH_ABSTRACT;
	ck_assert_str_eq(peer_of(call), "@a\\x00b\\x1b[2J\\x0a\xef\xbf\xbd");
}
END_TEST

START_TEST(any_name_gives_valid_utf8)
{
	uint8_t name[UNIX_PATH_LEN];

	srand(1);
	for (int i = 0; i < 20000; i++) {
		size_t len = 1 + (size_t)rand() % UNIX_PATH_LEN;
		struct syscalls_call call;
		const char *text;

		for (size_t k = 0; k < sizeof(name); k++)
			name[k] = (uint8_t)rand();
		call = to_unix((const char *)name, len);
		call.flags |= i % 2 ? CALL_PATH_ABSTRACT : 0;
		text = peer_of(call);
		ck_assert_ptr_nonnull(text);
		ck_assert(text_is_utf8(text, strlen(text)));
	}
}
END_TEST

START_TEST(the_most_escaped_name_fits)
{
	char name[UNIX_PATH_LEN];
	struct syscalls_call call;

	memset(name, 1, sizeof(name));
	call = to_unix(name, sizeof(name));
	call.flags |= CALL_PATH_ABSTRACT;
	ck_assert_uint_eq(strlen(peer_of(call)), 1 + strlen("…") + 4 * CALL_PATH_LEN);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("syscalls_names");
	TCase *tc = tcase_create("names");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, every_call_but_the_restart_has_a_name);
	tcase_add_test(tc, numbers_are_those_of_this_machine);
	tcase_add_test(tc, no_two_numbers_are_the_same_call);
	tcase_add_test(tc, errors_have_the_names_of_errno_h);
	tcase_add_test(tc, restarts_are_errors_with_the_kernels_names);
	tcase_add_test(tc, a_number_that_is_no_error_has_a_text_all_the_same);
	tcase_add_test(tc, protocols_are_called_as_people_call_them);
	tcase_add_test(tc, what_is_no_socket_has_no_protocol);
	tcase_add_test(tc, internet_addresses_have_their_port);
	tcase_add_test(tc, ipv4_within_ipv6_reads_as_ipv4);
	tcase_add_test(tc, a_link_local_peer_has_its_interface);
	tcase_add_test(tc, the_longest_address_fits);
	tcase_add_test(tc, an_end_that_is_not_connected_has_no_address);
	tcase_add_test(tc, what_is_left_of_a_closed_connection_is_no_peer);
	tcase_add_test(tc, a_raw_socket_has_a_peer_without_a_port);
	tcase_add_test(tc, a_path_is_shown_as_it_is);
	tcase_add_test(tc, a_path_of_our_own_is_the_local_address);
	tcase_add_test(tc, an_unnamed_socket_has_no_address);
	tcase_add_test(tc, of_a_long_path_the_end_is_shown);
	tcase_add_test(tc, an_abstract_name_starts_with_an_at_sign);
	tcase_add_test(tc, control_characters_and_nul_in_a_name_are_escaped);
	tcase_add_test(tc, any_name_gives_valid_utf8);
	tcase_add_test(tc, the_most_escaped_name_fits);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
