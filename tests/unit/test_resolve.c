/* SPDX-License-Identifier: Apache-2.0 */
/* What systemd-resolved is asked over its own socket, and what it answers. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/resolve.h"

#define MAX_TOLD 16
#define ASK(name, more)                                       \
	"{\"method\":\"io.systemd.Resolve.ResolveHostname\"," \
	"\"parameters\":{\"name\":\"" name "\"" more "}}"
#define ANSWER                                                                          \
	"{\"parameters\":{\"addresses\":[{\"ifindex\":2,\"family\":2,\"address\":"      \
	"[10,0,0,1]},{\"family\":10,\"address\":[253,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}]," \
	"\"name\":\"www.example.org\",\"flags\":1}}"

static struct net_privacy privacy;
static struct resolve *resolve;
static struct dns_query told[MAX_TOLD];
static unsigned n_told;
static uint64_t now_ns, off[2];

static void on_query(void *ctx, const struct dns_query *q)
{
	ck_assert_ptr_eq(ctx, told);
	ck_assert_int_eq(q->transport, DNS_VARLINK);
	ck_assert_uint_lt(n_told, MAX_TOLD);
	told[n_told++] = *q;
}

static void set_up(void)
{
	privacy = (struct net_privacy){ 0 };
	n_told = 0;
	now_ns = off[0] = off[1] = 0;
	resolve = resolve_new(&privacy, on_query, told);
	ck_assert_ptr_nonnull(resolve);
}

static void tear_down(void)
{
	resolve_free(resolve);
}

static int piece(enum net_direction dir, const char *text, size_t n_data, size_t len)
{
	const struct net_piece p = { .off = off[dir],
				     .len = len,
				     .n_data = n_data,
				     .data = (const uint8_t *)text,
				     .time_ns = ++now_ns,
				     .tgid = 5,
				     .tid = 6 };

	off[dir] += len;
	return resolve_piece(resolve, dir, &p);
}

/* A whole message, with its NUL. */
static void say(enum net_direction dir, const char *text)
{
	ck_assert_int_eq(piece(dir, text, strlen(text) + 1, strlen(text) + 1), 0);
}

static void ask(const char *text)
{
	say(NET_REQUEST, text);
}

static void answer(const char *text)
{
	say(NET_RESPONSE, text);
}

START_TEST(a_question_and_its_answer_are_one)
{
	ask(ASK("WWW.example.org", ",\"flags\":0"));
	ck_assert_uint_eq(n_told, 0);
	answer(ANSWER);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].has_question && told[0].has_answer);
	ck_assert_uint_eq(told[0].begin_ns, 1);
	ck_assert_uint_eq(told[0].end_ns, 2);
	ck_assert_uint_eq(told[0].tgid, 5);
	ck_assert_uint_eq(told[0].tid, 6);
	ck_assert_uint_eq(told[0].n_sent, 1);
	ck_assert_str_eq(told[0].question.name, "www.example.org");
	ck_assert_uint_eq(told[0].question.qtype, DNS_ADDRESSES);
	ck_assert_str_eq(told[0].answer.answers, "10.0.0.1, fd00::1");
	ck_assert_uint_eq(told[0].answer.n_addresses, 2);
	ck_assert_uint_eq(told[0].answer.addresses[1].len, 16);
	ck_assert_str_eq(told[0].error, "");
}
END_TEST

static const struct {
	const char *call, *type, *name;
} kinds[] = {
	{ ASK("a.b", ",\"family\":2"), "A", "a.b" },
	{ ASK("a.b", ",\"family\":10"), "AAAA", "a.b" },
	{ ASK("a.b", ",\"family\":null"), "A+AAAA", "a.b" },
	{ "{\"parameters\":{\"address\":[1,2,3,4],\"family\":2},"
	  "\"method\":\"io.systemd.Resolve.ResolveAddress\"}",
	  "PTR", "4.3.2.1.in-addr.arpa" },
	{ "{\"method\":\"io.systemd.Resolve.ResolveAddress\",\"parameters\":"
	  "{\"address\":[253,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}}",
	  "PTR", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa" },
	{ "{\"method\":\"io.systemd.Resolve.ResolveService\",\"parameters\":"
	  "{\"name\":\"me\",\"type\":\"_ipp._tcp\",\"domain\":\"local\"}}",
	  "SRV", "me._ipp._tcp.local" },
	{ "{ \"method\" : \"io.systemd.Resolve.ResolveRecord\", \"parameters\" :"
	  " {\"name\":\"a.b\",\"class\":1,\"type\":15} }",
	  "MX", "a.b" },
};

START_TEST(kinds_of_questions)
{
	char scratch[16];

	ask(kinds[_i].call);
	resolve_end(resolve, 100);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_str_eq(dns_type_name(told[0].question.qtype, scratch), kinds[_i].type);
	ck_assert_str_eq(told[0].question.name, kinds[_i].name);
	ck_assert(!told[0].has_answer);
	ck_assert_uint_eq(told[0].end_ns, 100);
}
END_TEST

static const struct {
	const char *reply, *error;
	unsigned rcode;
} failures[] = {
	{ "{\"error\":\"io.systemd.Resolve.DNSError\",\"parameters\":{\"rcode\":3}}", "", 3 },
	{ "{\"parameters\":{\"rcode\":2},\"error\":\"io.systemd.Resolve.DNSError\"}", "", 2 },
	{ "{\"error\":\"io.systemd.Resolve.NoSuchResourceRecord\",\"parameters\":{}}", "", 0 },
	{ "{\"error\":\"io.systemd.Resolve.QueryTimedOut\"}", "QueryTimedOut", 0 },
	{ "{\"error\":\"odd\"}", "odd", 0 },
};

START_TEST(why_there_is_no_answer)
{
	ask(ASK("a.b", ""));
	answer(failures[_i].reply);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].has_answer);
	ck_assert_str_eq(told[0].error, failures[_i].error);
	ck_assert_uint_eq(told[0].answer.rcode, failures[_i].rcode);
	ck_assert_str_eq(told[0].answer.answers, "");
}
END_TEST

START_TEST(answers_come_in_the_order_of_their_questions)
{
	ask(ASK("one", ""));
	ask("{\"method\":\"io.systemd.Resolve.Unheard\",\"parameters\":{\"name\":\"two\"}}");
	ask("{\"method\":\"io.systemd.Resolve.Quiet\",\"oneway\":true}");
	ask(ASK("three", ""));
	answer("{\"parameters\":{},\"continues\":true}");
	answer("{\"parameters\":{}}");
	answer("{\"error\":\"org.varlink.service.MethodNotFound\"}");
	answer(ANSWER);
	ck_assert_uint_eq(n_told, 2);
	ck_assert_str_eq(told[0].question.name, "one");
	ck_assert_str_eq(told[0].answer.answers, "");
	ck_assert_str_eq(told[1].question.name, "three");
	ck_assert_uint_eq(told[1].answer.n_addresses, 2);
	resolve_end(resolve, 100);
	ck_assert_uint_eq(n_told, 2);
}
END_TEST

START_TEST(however_it_is_cut)
{
	static const char call[] = ASK("a.b", ",\"deep\":[[{\"x\":[]}],1,\"}]\"]");
	size_t cut = (size_t)_i + 1;

	for (size_t at = 0; at < sizeof(call); at += cut) {
		size_t n = sizeof(call) - at < cut ? sizeof(call) - at : cut;

		ck_assert_int_eq(piece(NET_REQUEST, call + at, n, n), 0);
	}
	for (size_t at = 0; at < sizeof(ANSWER); at += cut) {
		size_t n = sizeof(ANSWER) - at < cut ? sizeof(ANSWER) - at : cut;

		ck_assert_uint_eq(n_told, 0);
		ck_assert_int_eq(piece(NET_RESPONSE, ANSWER + at, n, n), 0);
	}
	ck_assert_uint_eq(n_told, 1);
	ck_assert_str_eq(told[0].question.name, "a.b");
	ck_assert_uint_eq(told[0].answer.n_addresses, 2);
}
END_TEST

START_TEST(of_a_long_answer_there_is_what_was_copied)
{
	char text[RESOLVE_KEPT + 1];
	int n = snprintf(text, sizeof(text), "%s",
			 "{\"parameters\":{\"addresses\":[{\"address\":[10,0,0,1]},");

	memset(text + n, ' ', sizeof(text) - (size_t)n);
	ask(ASK("a.b", ""));
	ck_assert_int_eq(piece(NET_RESPONSE, text, RESOLVE_KEPT, 3 * RESOLVE_KEPT), 0);
	ck_assert_uint_eq(n_told, 1);
	ck_assert(told[0].has_answer && told[0].answer.cut);
	ck_assert_str_eq(told[0].answer.answers, "10.0.0.1");
	ask(ASK("next", ""));
	answer(ANSWER);
	ck_assert_uint_eq(n_told, 2);
	ck_assert_str_eq(told[1].question.name, "next");
	ck_assert_uint_eq(told[1].answer.n_addresses, 2);
}
END_TEST

/* What follows a gap is nobody's until a message begins that is known to. */
START_TEST(a_gap_ends_what_is_under_way)
{
	ask(ASK("one", ""));
	ask(ASK("two", ""));
	off[NET_RESPONSE] += 100;
	answer("\"flags\":1}}");
	ck_assert_uint_eq(n_told, 2);
	ck_assert(!told[0].has_answer && !told[1].has_answer);
	ask(ASK("three", ""));
	answer(ANSWER);
	ck_assert_uint_eq(n_told, 3);
	ck_assert_str_eq(told[2].question.name, "three");
	ck_assert(told[2].has_answer);
}
END_TEST

START_TEST(an_answer_to_what_nobody_has_seen)
{
	answer(ANSWER);
	ck_assert_uint_eq(n_told, 0);
	ask(ASK("a.b", ""));
	answer(ANSWER);
	ck_assert_uint_eq(n_told, 1);
}
END_TEST

static const char *const nonsense[] = {
	"no", "[]", "{", "{\"method\"}", "{\"method\":1}", "{\"a\":}", "{\"a\":[}", "{\"\xff\":1}",
};

START_TEST(what_is_not_spoken_there)
{
	size_t n = strlen(nonsense[_i]) + 1;

	ck_assert_int_eq(piece(NET_REQUEST, nonsense[_i], n, n), -EPROTO);
	ck_assert_uint_eq(n_told, 0);
}
END_TEST

START_TEST(questions_are_bounded)
{
	for (int i = 0; i < 1000; i++)
		ask(ASK("a.b", ""));
	ck_assert_uint_gt(resolve_missed(resolve), 900);
	ck_assert_uint_lt(resolve_bytes(resolve), 1 << 20);
	resolve_free(resolve);
	resolve = NULL;
	ck_assert_uint_eq(n_told, 0);
}
END_TEST

START_TEST(names_can_be_hidden)
{
	privacy.hash_names = true;
	ask(ASK("secret.example.org", ""));
	answer("{\"parameters\":{\"names\":[{\"name\":\"secret.example.org\"}]}}");
	ck_assert_uint_eq(n_told, 1);
	ck_assert_int_eq(told[0].question.name[0], '#');
	ck_assert_ptr_null(strstr(told[0].answer.answers, "secret"));
}
END_TEST

#define N_OF(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void)
{
	Suite *suite = suite_create("resolve");
	TCase *tc = tcase_create("resolve");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_question_and_its_answer_are_one);
	tcase_add_loop_test(tc, kinds_of_questions, 0, N_OF(kinds));
	tcase_add_loop_test(tc, why_there_is_no_answer, 0, N_OF(failures));
	tcase_add_test(tc, answers_come_in_the_order_of_their_questions);
	tcase_add_loop_test(tc, however_it_is_cut, 0, 40);
	tcase_add_test(tc, of_a_long_answer_there_is_what_was_copied);
	tcase_add_test(tc, a_gap_ends_what_is_under_way);
	tcase_add_test(tc, an_answer_to_what_nobody_has_seen);
	tcase_add_loop_test(tc, what_is_not_spoken_there, 0, N_OF(nonsense));
	tcase_add_test(tc, questions_are_bounded);
	tcase_add_test(tc, names_can_be_hidden);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
