/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages as a library has written them (dnspython), and queries with their answers. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "net/dns.h"

#define S_NS (1000ull * 1000 * 1000)

/* A www.Example.org, id 0x1234, with EDNS */
static const char query_a[] = "1234010000010000000000010377777707457861"
			      "6d706c65036f7267000001000100002904d0000000000000";
/* CNAME example.org, two addresses */
static const char answer_a[] =
	"1234818000010003000000010377777707457861"
	"6d706c65036f72670000010001c00c000500010000012c0002c010c010000100010000003c00045db8d822"
	"c010000100010000003c00045db8d82300002904d0000000000000";
static const char answer_any[] =
	"007785000001000800000000076578616d706c65036f72670000ff0001c00c001c000100000e100010260628"
	"00022000010248189325c81946c00c000f000100000e100009000a046d61696cc00cc00c0002000100000e10"
	"0006036e7331c00cc00c0021000100000e10000c0000000513c403736970c00cc00c0010000100000e100017"
	"166120736563726574206f66203232206c657474657273c00c0006000100000e100023c05a0a686f73746d61"
	"73746572c00c0000000100000002000000030000000400000005c00c0101000100000e100015000569737375"
	"6563612e6578616d706c652e6e6574c00c0041000100000e10000a00010000010003026832";
static const char answer_ptr[] =
	"008881000001000100000000023334033231360331383402393307696e2d61646472046172706100000c0001"
	"c00c000c00010000000a001103777777076578616d706c65036f726700";
static const char answer_nx[] =
	"009981030001000000010001026e6f076578616d706c65036f726700001c0001c00f00060001000003840027"
	"036e7331c00f0a686f73746d6173746572c00f00000001000000020000000300000004000000050000292000"
	"000000000000";
static const char answer_badvers[] = "00aa81000001000000000001076578616d706c65036f7267000001000100"
				     "00292000010000000000";

static struct net_privacy keep;

struct bytes {
	size_t n;
	uint8_t data[8192];
};

static void add_hex(struct bytes *b, const char *hex)
{
	for (; *hex; hex += 2) {
		unsigned byte;

		ck_assert_int_eq(sscanf(hex, "%2x", &byte), 1);
		ck_assert_uint_lt(b->n, sizeof(b->data));
		b->data[b->n++] = (uint8_t)byte;
	}
}

static struct bytes of_hex(const char *hex)
{
	struct bytes b = { 0 };

	add_hex(&b, hex);
	return b;
}

/* In a copy as long as it is, so that ASan sees what is read behind it. */
static int parse_cut(const struct bytes *b, size_t n, struct dns_message *ret)
{
	uint8_t *copy = malloc(n ? n : 1);
	int r;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, b->data, n);
	r = dns_parse(&keep, copy, n, b->n, ret);
	free(copy);
	return r;
}

static struct dns_message parse(const char *hex)
{
	struct bytes b = of_hex(hex);
	struct dns_message m;

	ck_assert_int_eq(parse_cut(&b, b.n, &m), 0);
	return m;
}

/* ---- messages ---- */

START_TEST(a_query_has_a_name_in_lower_case)
{
	struct dns_message m = parse(query_a);

	ck_assert_uint_eq(m.id, 0x1234);
	ck_assert(!m.is_response && !m.truncated && !m.cut && m.has_edns);
	ck_assert_uint_eq(m.n_questions, 1);
	ck_assert_uint_eq(m.qtype, 1);
	ck_assert_uint_eq(m.qclass, 1);
	ck_assert_str_eq(m.name, "www.example.org");
	ck_assert_str_eq(m.answers, "");
}
END_TEST

START_TEST(an_answer_has_names_and_addresses)
{
	static const uint8_t second[4] = { 93, 184, 216, 35 };
	struct dns_message m = parse(answer_a);

	ck_assert(m.is_response && m.recursion_available && !m.authoritative && !m.cut);
	ck_assert_str_eq(m.answers, "CNAME example.org, 93.184.216.34, 93.184.216.35");
	ck_assert_uint_eq(m.n_answers, 3);
	ck_assert_uint_eq(m.n_addresses, 2);
	ck_assert_uint_eq(m.addresses[1].len, 4);
	ck_assert_mem_eq(m.addresses[1].bytes, second, 4);
	ck_assert_uint_eq(m.min_ttl, 60);
	ck_assert_uint_eq(m.rcode, 0);
}
END_TEST

START_TEST(records_are_told_as_far_as_they_are_names_and_numbers)
{
	struct dns_message m = parse(answer_any);

	ck_assert_str_eq(m.answers, "2606:2800:220:1:248:1893:25c8:1946, MX 10 mail.example.org, "
				    "NS ns1.example.org, SRV 0 5 5060 sip.example.org, "
				    "TXT 23 bytes, SOA, CAA, HTTPS 1 .");
	ck_assert(m.authoritative && m.has_soa);
	ck_assert_uint_eq(m.n_addresses, 1);
	ck_assert_uint_eq(m.addresses[0].len, 16);
	m = parse(answer_ptr);
	ck_assert_str_eq(m.name, "34.216.184.93.in-addr.arpa");
	ck_assert_str_eq(m.answers, "PTR www.example.org");
}
END_TEST

START_TEST(what_has_failed_says_how)
{
	struct dns_message m = parse(answer_nx);
	char scratch[16];

	ck_assert_str_eq(dns_rcode_name(m.rcode, scratch), "NXDOMAIN");
	ck_assert(m.has_soa && m.has_edns);
	ck_assert_str_eq(m.answers, "");
	ck_assert_uint_eq(m.min_ttl, 0);
	m = parse(answer_badvers); /* its upper bits are EDNS's */
	ck_assert_str_eq(dns_rcode_name(m.rcode, scratch), "BADVERS");
	ck_assert(!m.has_soa);
}
END_TEST

START_TEST(what_was_not_copied_is_told)
{
	struct bytes b = of_hex(answer_a);
	struct dns_message m;

	for (size_t n = 0; n < b.n; n++) {
		int r = parse_cut(&b, n, &m);

		if (n < 33) { /* the end of the question */
			ck_assert_int_eq(r, -EBADMSG);
			continue;
		}
		ck_assert_int_eq(r, 0);
		ck_assert(m.cut);
		ck_assert_str_eq(m.name, "www.example.org");
		ck_assert_uint_eq(m.n_addresses, (n >= 63) + (n >= 79));
		/* All the answers are there before the end. */
		ck_assert_uint_eq(strstr(m.answers, "...") != NULL, n < 79);
		ck_assert_uint_eq(m.len, b.n);
	}
}
END_TEST

START_TEST(labels_are_escaped)
{
	struct dns_message m = parse("000100000001000000000000"
				     "04612e622e045c0041ff016000" /* a.b. \.A. ` */
				     "00010001");

	ck_assert_str_eq(m.name, "a\\.b\\..\\\\\\000a\\255.`");
	m = parse("00010000000100000000000000"
		  "00020001");
	ck_assert_str_eq(m.name, ".");
}
END_TEST

START_TEST(long_names_end_with_an_ellipsis)
{
	struct bytes b = of_hex("000100000001000000000000");
	struct dns_message m;

	for (int i = 0; i < 3; i++) {
		add_hex(&b, "3f");
		for (int k = 0; k < 63; k++)
			add_hex(&b, "01");
	}
	add_hex(&b, "0000010001");
	ck_assert_int_eq(parse_cut(&b, b.n, &m), 0);
	ck_assert_uint_eq(strlen(m.name), 63 * 4 + 3);
	ck_assert_str_eq(m.name + 63 * 4, "...");
}
END_TEST

START_TEST(names_that_lead_astray_are_refused)
{
	static const char *const bad[] = {
		/* to itself; forward; into the head; a kind of label that there is not */
		"000100000001000000000000c00c00010001",
		"000100000001000000000000c01200010001016100",
		"000100000001000000000000c00000010001",
		"000100000001000000000000410000010001",
		"0001000000010000000000008000010001",
		/* two that lead to each other: backwards, then forward again */
		"0001000000010000000000000161c00e00010001",
		/* beyond the end */
		"00010000000100000000000003616200010001",
		"0001000000010000000000000161c0",
	};
	struct dns_message m;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bytes b = of_hex(bad[i]);

		ck_assert_msg(parse_cut(&b, b.n, &m) == -EBADMSG, "%zu", i);
	}
	ck_assert_str_eq(parse("00010000000100000000000001610000010001").name, "a");
}
END_TEST

START_TEST(a_name_has_255_bytes_at_most)
{
	struct bytes b = of_hex("000100000001000000000000");
	struct dns_message m;

	for (int i = 0; i < 127; i++)
		add_hex(&b, "0161");
	add_hex(&b, "0000010001");
	ck_assert_int_eq(parse_cut(&b, b.n, &m), 0);
	ck_assert_uint_eq(strlen(m.name), 253);
	b.n -= 5;
	add_hex(&b, "01610000010001");
	ck_assert_int_eq(parse_cut(&b, b.n, &m), -EBADMSG);
}
END_TEST

START_TEST(none_or_several_questions)
{
	struct dns_message m = parse("abcd80010000000000000000");

	ck_assert_uint_eq(m.n_questions, 0);
	ck_assert_uint_eq(m.rcode, 1);
	ck_assert_str_eq(m.name, "");
	m = parse("abcd010000020000000000000161000001000101620000020001");
	ck_assert_uint_eq(m.n_questions, 2);
	ck_assert_str_eq(m.name, "a");
	ck_assert_uint_eq(m.qtype, 1);
}
END_TEST

START_TEST(more_answers_than_have_room_are_an_ellipsis)
{
	struct bytes b = of_hex("000180000001004000000000"
				"016100"
				"001c0001");
	struct dns_message m;

	for (int i = 0; i < 64; i++)
		add_hex(&b, "c00c001c00010000000a001020010db8000000000000000000000001");
	ck_assert_int_eq(parse_cut(&b, b.n, &m), 0);
	ck_assert_uint_eq(m.n_addresses, DNS_MAX_ADDRESSES);
	ck_assert_uint_eq(m.n_answers, 64);
	ck_assert_uint_lt(strlen(m.answers), DNS_ANSWER_LEN);
	ck_assert_str_eq(m.answers + strlen(m.answers) - 16, "2001:db8::1, ...");
}
END_TEST

START_TEST(names_are_hashed_where_that_is_wanted)
{
	struct dns_message plain, hashed, cname;

	plain = parse("abcd0100000100000000000007657861"
		      "6d706c65036f72670000010001");
	keep.hash_names = true;
	hashed = parse("abcd0100000100000000000007657861"
		       "6d706c65036f72670000010001");
	cname = parse(answer_a);
	keep.hash_names = false;
	ck_assert_str_eq(plain.name, "example.org");
	ck_assert_int_eq(hashed.name[0], '#');
	ck_assert_ptr_null(strstr(cname.answers, "example"));
	ck_assert_mem_eq(cname.answers + strlen("CNAME "), hashed.name, strlen(hashed.name));
}
END_TEST

START_TEST(numbers_without_a_name_are_numbers)
{
	char scratch[16];

	ck_assert_str_eq(dns_type_name(1, scratch), "A");
	ck_assert_str_eq(dns_type_name(28, scratch), "AAAA");
	ck_assert_str_eq(dns_type_name(65, scratch), "HTTPS");
	ck_assert_str_eq(dns_type_name(65280, scratch), "TYPE65280");
	ck_assert_str_eq(dns_rcode_name(2, scratch), "SERVFAIL");
	ck_assert_str_eq(dns_rcode_name(4095, scratch), "RCODE4095");
}
END_TEST

/* ---- queries and answers ---- */

#define MAX_TOLD 16

static struct dns *dns;
static struct dns_query told[MAX_TOLD];
static unsigned n_told;

static void on_query(void *ctx, const struct dns_query *q)
{
	ck_assert_ptr_eq(ctx, told);
	if (n_told < MAX_TOLD)
		told[n_told] = *q;
	n_told++;
}

static void set_up(void)
{
	n_told = 0;
	dns = dns_new(&keep, on_query, told);
	ck_assert_ptr_nonnull(dns);
}

static void tear_down(void)
{
	dns_free(dns);
	dns = NULL;
}

static void datagram_of(const struct bytes *b, uint64_t time_ns, uint64_t peer)
{
	const struct net_piece piece = { .len = b->n,
					 .n_data = b->n,
					 .data = b->data,
					 .time_ns = time_ns,
					 .tgid = 5,
					 .tid = (uint32_t)(time_ns / S_NS) };

	dns_datagram(dns, b->data[2] & 0x80 ? NET_RESPONSE : NET_REQUEST, &piece, peer);
}

static void datagram(const char *hex, uint64_t time_ns, uint64_t peer)
{
	struct bytes b = of_hex(hex);

	datagram_of(&b, time_ns, peer);
}

START_TEST(a_query_and_its_answer_are_one)
{
	datagram(query_a, 1 * S_NS, 53);
	ck_assert_uint_eq(n_told, 0);
	datagram(answer_a, 2 * S_NS, 53);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].has_question && told[0].has_answer && told[0].transport == DNS_UDP);
	ck_assert_uint_eq(told[0].begin_ns, 1 * S_NS);
	ck_assert_uint_eq(told[0].end_ns, 2 * S_NS);
	ck_assert_uint_eq(told[0].tgid, 5);
	ck_assert_uint_eq(told[0].tid, 1);
	ck_assert_uint_eq(told[0].n_sent, 1);
	ck_assert_uint_eq(told[0].request_bytes, of_hex(query_a).n);
	ck_assert_uint_eq(told[0].response_bytes, of_hex(answer_a).n);
	ck_assert_str_eq(told[0].question.name, "www.example.org");
	ck_assert_uint_eq(told[0].question.qtype, 1);
	ck_assert_str_eq(told[0].answer.answers, "CNAME example.org, 93.184.216.34, 93.184.216.35");
	dns_end(dns, 3 * S_NS);
	ck_assert_uint_eq(n_told, 1);
}
END_TEST

START_TEST(only_its_own_answer_ends_a_query)
{
	struct bytes other_type = of_hex(answer_a), other_id = of_hex(answer_a);
	struct bytes other_name = of_hex(answer_a);

	datagram(query_a, 1 * S_NS, 53);
	datagram(answer_a, 2 * S_NS, 54); /* another server's */
	other_type.data[30] = 28;
	datagram_of(&other_type, 2 * S_NS, 53);
	other_id.data[0] = 0x13;
	datagram_of(&other_id, 2 * S_NS, 53);
	other_name.data[14] = 'x';
	datagram_of(&other_name, 2 * S_NS, 53);
	ck_assert_uint_eq(n_told, 4);
	for (unsigned i = 0; i < 4; i++)
		ck_assert(!told[i].has_question && told[i].has_answer);
	ck_assert_uint_eq(told[0].begin_ns, 2 * S_NS);
	datagram(answer_a, 3 * S_NS, 53);
	ck_assert_uint_eq(n_told, 5);
	ck_assert(told[4].has_question && told[4].has_answer);
}
END_TEST

START_TEST(a_peer_that_is_not_known_may_be_any)
{
	datagram(query_a, 1 * S_NS, 0);
	datagram(query_a, 2 * S_NS, 54);
	datagram(answer_a, 3 * S_NS, 54);
	ck_assert_uint_eq(told[0].begin_ns, 1 * S_NS); /* the same query, repeated */
	ck_assert_uint_eq(told[0].n_sent, 2);
	datagram(query_a, 15 * S_NS, 0);
	datagram(answer_a, 16 * S_NS, 53);
	datagram(query_a, 17 * S_NS, 53);
	datagram(answer_a, 18 * S_NS, 0);
	ck_assert_uint_eq(n_told, 3);
	for (unsigned i = 0; i < 3; i++)
		ck_assert(told[i].has_question && told[i].has_answer);
}
END_TEST

START_TEST(a_repeated_query_is_one_with_all_its_answers)
{
	datagram(query_a, 1 * S_NS, 53);
	datagram(query_a, 6 * S_NS, 53);
	datagram(answer_a, 12 * S_NS, 53); /* of the second one: not too late */
	ck_assert_uint_eq(n_told, 1);
	ck_assert_uint_eq(told[0].n_sent, 2);
	ck_assert_uint_eq(told[0].request_bytes, 2 * of_hex(query_a).n);
	ck_assert_uint_eq(told[0].begin_ns, 1 * S_NS);
	datagram(answer_a, 13 * S_NS, 53); /* of the first one */
	ck_assert_uint_eq(n_told, 1);
	datagram(answer_a, 14 * S_NS, 53); /* nobody's */
	ck_assert_uint_eq(n_told, 2);
	ck_assert(!told[1].has_question);
	/* The same again is another one. */
	datagram(query_a, 15 * S_NS, 53);
	datagram(query_a, 15 * S_NS, 53);
	datagram(answer_a, 16 * S_NS, 53);
	datagram(query_a, 17 * S_NS, 53);
	datagram(answer_a, 18 * S_NS, 53);
	ck_assert_uint_eq(n_told, 4);
	ck_assert_uint_eq(told[2].n_sent, 2);
	ck_assert_uint_eq(told[3].n_sent, 1);
	ck_assert_uint_eq(told[3].begin_ns, 17 * S_NS);
}
END_TEST

START_TEST(an_answer_without_its_question_is_of_the_query_with_its_id)
{
	datagram(query_a, 1 * S_NS, 53);
	datagram("123480010000000000000000", 2 * S_NS, 53);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].has_question && told[0].has_answer);
	ck_assert_uint_eq(told[0].answer.rcode, 1);
	ck_assert_str_eq(told[0].question.name, "www.example.org");
}
END_TEST

START_TEST(what_is_not_answered_is_given_up)
{
	datagram(query_a, 1 * S_NS, 53);
	datagram(query_a, 2 * S_NS, 54);
	dns_expire(dns, 11 * S_NS - 1);
	ck_assert_uint_eq(n_told, 0);
	dns_expire(dns, 11 * S_NS + 5);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].has_question && !told[0].has_answer);
	ck_assert_uint_eq(told[0].end_ns, 11 * S_NS);
	dns_end(dns, 11 * S_NS + 6);
	ck_assert_uint_eq(n_told, 2);
	ck_assert_uint_eq(told[1].end_ns, 11 * S_NS + 6);
	datagram(answer_a, 12 * S_NS, 53);
	ck_assert(!told[2].has_question);
}
END_TEST

START_TEST(what_is_asked_elsewhere_was_waited_for_until_then)
{
	uint64_t asked;

	ck_assert_uint_eq(dns_asked(dns), 0);
	datagram(query_a, 1 * S_NS, 53);
	asked = dns_asked(dns);
	ck_assert_uint_ne(asked, 0);
	dns_asked_elsewhere(dns, asked + 1, 2 * S_NS);
	dns_asked_elsewhere(dns, asked, 3 * S_NS);
	dns_asked_elsewhere(dns, asked, 4 * S_NS);
	dns_end(dns, 5 * S_NS);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(!told[0].has_answer);
	ck_assert_uint_eq(told[0].end_ns, 3 * S_NS);
	/* An answer is one all the same. */
	datagram(query_a, 6 * S_NS, 53);
	ck_assert_uint_eq(dns_asked(dns), asked);
	dns_asked_elsewhere(dns, asked, 7 * S_NS);
	datagram(answer_a, 8 * S_NS, 53);
	ck_assert_uint_eq(n_told, 2);
	ck_assert(told[1].has_answer);
	ck_assert_uint_eq(told[1].end_ns, 8 * S_NS);
}
END_TEST

START_TEST(memory_is_bounded)
{
	struct bytes b = of_hex(query_a), a = of_hex(answer_a);
	size_t before = dns_bytes(dns);

	for (unsigned i = 0; i < 20000; i++) {
		b.data[0] = (uint8_t)(i >> 8);
		b.data[1] = (uint8_t)i;
		datagram_of(&b, S_NS, 53);
	}
	ck_assert_uint_eq(n_told, 0);
	ck_assert_uint_eq(dns_missed(dns), 20000 - 4096);
	ck_assert_uint_lt(dns_bytes(dns), 2 << 20);
	/* The youngest are there. */
	a.data[0] = 19999 >> 8;
	a.data[1] = 19999 & 0xff;
	datagram_of(&a, 2 * S_NS, 53);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].has_question);
	dns_end(dns, 3 * S_NS);
	ck_assert_uint_eq(n_told, 4096);
	ck_assert_uint_lt(dns_bytes(dns), before + 8192 * sizeof(void *));
}
END_TEST

START_TEST(what_is_no_message_is_nothing)
{
	datagram("1234", S_NS, 53);
	datagram("123401000001000000000000c00c00010001", S_NS, 53);
	dns_end(dns, 2 * S_NS);
	ck_assert_uint_eq(n_told, 0);
}
END_TEST

/* ---- TCP ---- */

static uint64_t offs[2];

static int piece_known(enum net_direction dir, const uint8_t *data, size_t len, size_t known,
		       uint64_t time_ns)
{
	uint8_t *copy = malloc(known ? known : 1);
	const struct net_piece piece = { .off = offs[dir],
					 .len = len,
					 .n_data = known,
					 .data = known ? copy : NULL,
					 .time_ns = time_ns,
					 .tgid = 5,
					 .tid = (uint32_t)(time_ns / S_NS) };
	int r;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, data, known);
	offs[dir] += len;
	r = dns_piece(dns, dir, &piece);
	free(copy);
	return r;
}

static void set_up_tcp(void)
{
	set_up();
	offs[0] = offs[1] = 0;
}

static void add_message(struct bytes *b, const char *hex)
{
	char prefix[5];

	snprintf(prefix, sizeof(prefix), "%04x", (unsigned)(strlen(hex) / 2) & 0xffff);
	add_hex(b, prefix);
	add_hex(b, hex);
}

/* In pieces of `chunk` bytes, all at the same time. */
static void say(enum net_direction dir, const struct bytes *b, size_t chunk, uint64_t time_ns)
{
	for (size_t at = 0; at < b->n; at += chunk) {
		size_t n = MIN(chunk, b->n - at);

		ck_assert_int_eq(piece_known(dir, b->data + at, n, n, time_ns), 0);
	}
}

START_TEST(messages_are_found_in_a_stream_however_it_is_cut)
{
	static const size_t chunks[] = { 1, 2, 3, 7, 14, 44, 45, 46, 47, 91, 92, 93, 1000 };
	struct bytes questions = { 0 }, answers = { 0 };

	add_message(&questions, query_a);
	add_message(&questions, "008801000001000000000000"
				"023334033231360331383402393307696e2d616464"
				"72046172706100000c0001");
	add_message(&answers, answer_ptr);
	add_message(&answers, answer_a);
	for (size_t i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
		tear_down();
		set_up_tcp();
		say(NET_REQUEST, &questions, chunks[i], 1 * S_NS);
		say(NET_RESPONSE, &answers, chunks[i], 2 * S_NS);
		ck_assert_uint_eq(n_told, 2);
		for (unsigned k = 0; k < 2; k++) {
			ck_assert(told[k].transport == DNS_TCP && told[k].has_question &&
				  told[k].has_answer);
			ck_assert_uint_eq(told[k].begin_ns, 1 * S_NS);
			ck_assert_uint_eq(told[k].end_ns, 2 * S_NS);
			ck_assert(!told[k].answer.cut);
		}
		ck_assert_str_eq(told[0].answer.answers, "PTR www.example.org");
		ck_assert_str_eq(told[1].answer.name, "www.example.org");
	}
}
END_TEST

START_TEST(a_message_begins_with_its_length)
{
	struct bytes b = { 0 };

	add_message(&b, query_a);
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data, 2, 2, 1 * S_NS), 0);
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data + 2, b.n - 2, b.n - 2, 2 * S_NS), 0);
	dns_end(dns, 3 * S_NS);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_uint_eq(told[0].begin_ns, 1 * S_NS);
	ck_assert_uint_eq(told[0].tid, 1);
}
END_TEST

START_TEST(of_large_messages_the_beginning_is_enough)
{
	struct bytes b = { 0 }, q = { 0 };
	char *hex = calloc(1, 2 * 3000 + 1);

	ck_assert_ptr_nonnull(hex);
	strcpy(hex, "123484000001006400000000"
		    "03777777076578616d706c65036f72670000010001");
	for (int i = 0; i < 100; i++)
		strcat(hex, "c00c000100010000000a00040a000001");
	add_message(&q, query_a);
	say(NET_REQUEST, &q, 1000, S_NS);
	add_message(&b, hex);
	free(hex);
	say(NET_RESPONSE, &b, 100, 2 * S_NS); /* 1232 bytes of it are kept */
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].answer.cut);
	ck_assert_uint_eq(told[0].answer.n_addresses, DNS_MAX_ADDRESSES);
	say(NET_REQUEST, &q, 1000, 2 * S_NS);
	say(NET_RESPONSE, &b, 10000, 3 * S_NS); /* and no more are looked at */
	ck_assert_uint_eq(n_told, 2);
	ck_assert(told[1].answer.cut);
	ck_assert_str_eq(told[1].answer.answers, told[0].answer.answers);
	/* Of that 400 bytes are known, of what follows all. */
	say(NET_REQUEST, &q, 1000, 3 * S_NS);
	ck_assert_int_eq(piece_known(NET_RESPONSE, b.data, b.n, 400, 4 * S_NS), 0);
	ck_assert_uint_eq(n_told, 3);
	ck_assert(told[2].answer.cut && told[2].has_question);
	b.n = 0;
	add_message(&b, answer_a);
	say(NET_REQUEST, &q, 1000, 5 * S_NS);
	say(NET_RESPONSE, &b, 1000, 6 * S_NS);
	ck_assert_uint_eq(n_told, 4);
	ck_assert(!told[3].answer.cut && told[3].has_question);
}
END_TEST

START_TEST(a_zone_is_one_answer)
{
	struct bytes b = { 0 };

	add_message(&b, "00fc01000001000000000000"
			"016100"
			"00fc0001");
	say(NET_REQUEST, &b, 1000, S_NS);
	b.n = 0;
	for (int i = 0; i < 20; i++)
		add_message(&b, "00fc84000001000000000000"
				"016100"
				"00fc0001");
	add_message(&b, "00fc84000000000000000000");
	say(NET_RESPONSE, &b, 1000, 2 * S_NS);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].has_question && told[0].has_answer);
}
END_TEST

START_TEST(what_is_missing_of_a_stream_is_passed_over)
{
	struct bytes b = { 0 };

	add_message(&b, query_a);
	say(NET_REQUEST, &b, 1000, S_NS);
	offs[NET_REQUEST] += 1000; /* nobody has told of these */
	b.data[3] = 0x35;
	say(NET_REQUEST, &b, 1000, 2 * S_NS); /* a piece that is one message */
	offs[NET_REQUEST] += 1000;
	b.data[3] = 0x36;
	say(NET_REQUEST, &b, 30, 3 * S_NS); /* not to be found */
	b.data[3] = 0x37;
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data, 2, 2, 4 * S_NS),
			 0); /* its length first */
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data + 2, b.n - 2, b.n - 2, 4 * S_NS), 0);
	dns_end(dns, 5 * S_NS);
	ck_assert_uint_eq(n_told, 3);
	ck_assert_uint_eq(told[0].question.id, 0x1234);
	ck_assert_uint_eq(told[1].question.id, 0x1235);
	ck_assert_uint_eq(told[2].question.id, 0x1237);
}
END_TEST

START_TEST(a_hole_within_a_message_costs_no_other)
{
	struct bytes b = { 0 };

	add_message(&b, query_a);
	add_message(&b, query_a);
	b.data[46 + 3] = 0x35;
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data, 20, 20, S_NS), 0);
	offs[NET_REQUEST] += 10;
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data + 30, b.n - 30, b.n - 30, S_NS), 0);
	dns_end(dns, 5 * S_NS);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_uint_eq(told[0].question.id, 0x1235);
}
END_TEST

START_TEST(a_stream_that_begins_otherwise_is_not_dns)
{
	struct bytes b = of_hex("474554202f20485454502f312e310d0a");

	add_hex(&b, "0000");
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data, b.n, b.n, S_NS), 0); /* 0x4745 bytes? */
	tear_down();
	set_up_tcp();
	b = of_hex("0005474554");
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data, b.n, b.n, S_NS), -EPROTO);
	tear_down();
	set_up_tcp();
	b.n = 0;
	add_message(&b, "123401000001000000000000c00c00010001");
	ck_assert_int_eq(piece_known(NET_REQUEST, b.data, b.n, b.n, S_NS), -EPROTO);
}
END_TEST

static void add_messages(Suite *s)
{
	TCase *t = tcase_create("messages");

	suite_add_tcase(s, t);
	tcase_add_test(t, a_query_has_a_name_in_lower_case);
	tcase_add_test(t, an_answer_has_names_and_addresses);
	tcase_add_test(t, records_are_told_as_far_as_they_are_names_and_numbers);
	tcase_add_test(t, what_has_failed_says_how);
	tcase_add_test(t, what_was_not_copied_is_told);
	tcase_add_test(t, labels_are_escaped);
	tcase_add_test(t, long_names_end_with_an_ellipsis);
	tcase_add_test(t, names_that_lead_astray_are_refused);
	tcase_add_test(t, a_name_has_255_bytes_at_most);
	tcase_add_test(t, none_or_several_questions);
	tcase_add_test(t, more_answers_than_have_room_are_an_ellipsis);
	tcase_add_test(t, names_are_hashed_where_that_is_wanted);
	tcase_add_test(t, numbers_without_a_name_are_numbers);
}

int main(void)
{
	Suite *s = suite_create("dns");
	TCase *queries = tcase_create("queries"), *tcp = tcase_create("tcp");
	SRunner *sr;
	int failed;

	add_messages(s);
	suite_add_tcase(s, queries);
	tcase_add_checked_fixture(queries, set_up, tear_down);
	tcase_add_test(queries, a_query_and_its_answer_are_one);
	tcase_add_test(queries, only_its_own_answer_ends_a_query);
	tcase_add_test(queries, a_peer_that_is_not_known_may_be_any);
	tcase_add_test(queries, a_repeated_query_is_one_with_all_its_answers);
	tcase_add_test(queries, an_answer_without_its_question_is_of_the_query_with_its_id);
	tcase_add_test(queries, what_is_not_answered_is_given_up);
	tcase_add_test(queries, what_is_asked_elsewhere_was_waited_for_until_then);
	tcase_add_test(queries, memory_is_bounded);
	tcase_add_test(queries, what_is_no_message_is_nothing);
	suite_add_tcase(s, tcp);
	tcase_add_checked_fixture(tcp, set_up_tcp, tear_down);
	tcase_add_test(tcp, messages_are_found_in_a_stream_however_it_is_cut);
	tcase_add_test(tcp, a_message_begins_with_its_length);
	tcase_add_test(tcp, of_large_messages_the_beginning_is_enough);
	tcase_add_test(tcp, a_zone_is_one_answer);
	tcase_add_test(tcp, what_is_missing_of_a_stream_is_passed_over);
	tcase_add_test(tcp, a_hole_within_a_message_costs_no_other);
	tcase_add_test(tcp, a_stream_that_begins_otherwise_is_not_dns);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
