/* SPDX-License-Identifier: Apache-2.0 */
/* What of a request may be kept. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/net_privacy.h"

static const struct net_privacy hide = { .query = NET_QUERY_HIDE };

static const char *path_of(const struct net_privacy *p, const char *target, size_t room)
{
	static char text[4096];

	memset(text, 'x', sizeof(text));
	net_privacy_path(p, (const uint8_t *)target, strlen(target), text, room);
	return text;
}

static const char *path(const char *target)
{
	return path_of(&hide, target, 256);
}

static const char *with_query(enum net_query query, const char *target)
{
	struct net_privacy p = { .query = query };

	return path_of(&p, target, 256);
}

static const char *name_of(const struct net_privacy *p, const char *name)
{
	static char text[2][128];
	static int i;

	i = !i;
	net_privacy_name(p, (const uint8_t *)name, strlen(name), text[i], sizeof(text[i]));
	return text[i];
}

START_TEST(the_query_is_as_it_is_asked_for)
{
	const char *target = "/a?token=SECRET&b&c=&d=1";

	ck_assert_str_eq(path("/a"), "/a");
	ck_assert_str_eq(path(target), "/a?…");
	ck_assert_str_eq(path("/a?"), "/a?…");
	ck_assert_str_eq(path("/a?b?c"), "/a?…");
	ck_assert_str_eq(with_query(NET_QUERY_KEEP, target), target);
	ck_assert_str_eq(with_query(NET_QUERY_KEYS, target), "/a?token=…&…&c=…&d=…");
	ck_assert_str_eq(with_query(NET_QUERY_DROP, target), "/a");
}
END_TEST

START_TEST(a_fragment_is_never_kept)
{
	ck_assert_str_eq(path("/a#SECRET"), "/a");
	ck_assert_str_eq(with_query(NET_QUERY_KEEP, "/a?b#SECRET?c"), "/a?b");
}
END_TEST

START_TEST(segments_that_look_like_secrets_are_left_out)
{
	ck_assert_str_eq(path("/v/0123456789abcdef0123456789ABCDEF0/x"), "/v/…/x");
	ck_assert_str_eq(path("/v/sha256:0123456789abcdef0123456789abcdef0123"), "/v/…");
	ck_assert_str_eq(path("/i;jsessionid=0123456789ABCDEF0123456789ABCDEF0"), "/…");
	ck_assert_str_eq(path("/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln/x"), "/…/x");
	ck_assert_str_eq(path("/t=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"), "/…");
	/* An md5 has 32, a UUID is no run of them. */
	ck_assert_str_eq(path("/0123456789abcdef0123456789abcdef"),
			 "/0123456789abcdef0123456789abcdef");
	ck_assert_str_eq(path("/550e8400-e29b-41d4-a716-446655440000"),
			 "/550e8400-e29b-41d4-a716-446655440000");
	ck_assert_str_eq(path("/eyJ/monkeyJ.txt"), "/eyJ/monkeyJ.txt");
	ck_assert_str_eq(with_query(NET_QUERY_KEYS, "/?0123456789abcdef0123456789abcdef0=1"),
			 "/?…");
}
END_TEST

START_TEST(no_character_is_cut)
{
	ck_assert_str_eq(path_of(&hide, "/abc", 5), "/abc");
	ck_assert_str_eq(path_of(&hide, "/abc", 4), "/ab");
	ck_assert_str_eq(path_of(&hide, "/abc", 1), "");
	ck_assert_str_eq(path_of(&hide, "/aé", 5), "/aé");
	ck_assert_str_eq(path_of(&hide, "/aé", 4), "/a");
	ck_assert_str_eq(path_of(&hide, "/€x", 4), "/");
	ck_assert_str_eq(path_of(&hide, "/€x", 5), "/€");
	ck_assert_str_eq(path_of(&hide, "/a?b", 5), "/a?");
	ck_assert_str_eq(path_of(&hide, "/a?b", 7), "/a?…");
	ck_assert_int_eq(path_of(&hide, "/a", 0)[0], 'x');
}
END_TEST

START_TEST(a_text_has_no_nul_inside)
{
	char text[8];

	net_privacy_text((const uint8_t *)"a\0b", 3, text, sizeof(text));
	ck_assert_str_eq(text, "a_b");
	net_privacy_text(NULL, 0, text, sizeof(text));
	ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(a_name_is_without_user_and_password)
{
	ck_assert_str_eq(name_of(&hide, "example.org"), "example.org");
	ck_assert_str_eq(name_of(&hide, "me:SECRET@example.org:80"), "example.org:80");
	ck_assert_str_eq(name_of(&hide, "me:SEC@RET@example.org"), "example.org");
	ck_assert_str_eq(name_of(&hide, "[::1]:8080"), "[::1]:8080");
	ck_assert_str_eq(name_of(&hide, ""), "");
}
END_TEST

START_TEST(names_are_numbers_when_asked_for)
{
	struct net_privacy p = { .hash_names = true, .key = { 1, 2 } }, other = p;
	const char *name = name_of(&p, "example.org");
	char first[128];

	ck_assert_uint_eq(strlen(name), 17);
	ck_assert_int_eq(name[0], '#');
	ck_assert_uint_eq(strspn(name + 1, "0123456789abcdef"), 16);
	strcpy(first, name);
	ck_assert_str_eq(name_of(&p, "Example.ORG."), first);
	ck_assert_str_eq(name_of(&p, "me@example.org"), first);
	ck_assert_str_ne(name_of(&p, "example.com"), first);
	other.key[1]++;
	ck_assert_str_ne(name_of(&other, "example.org"), first);
	name = name_of(&p, "example.org:443");
	ck_assert_int_eq(strncmp(name, first, 17), 0);
	ck_assert_str_eq(name + 17, ":443");
	ck_assert_str_ne(name_of(&p, "::1"), name_of(&p, "::2"));
}
END_TEST

START_TEST(a_path_as_a_number_tells_nothing_of_its_query)
{
	struct net_privacy p = { .hash_names = true, .query = NET_QUERY_KEEP, .key = { 1, 2 } };
	const char *text = path_of(&p, "/a?SECRET=SECRET", 256);
	char first[64];

	ck_assert_uint_eq(strspn(text + 1, "0123456789abcdef"), 16);
	ck_assert_str_eq(text + 17, "?…");
	strcpy(first, text);
	ck_assert_str_eq(path_of(&p, "/a?other", 256), first);
	ck_assert_str_ne(path_of(&p, "/b?other", 256), first);
}
END_TEST

/* The reference's vector: key 00..0f, input 00..0e; bytes that are letters would be folded. */
START_TEST(the_hash_is_siphash)
{
	struct net_privacy p = { .hash_names = true,
				 .key = { 0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull } };
	uint8_t in[15];
	char text[32];

	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)i;
	net_privacy_name(&p, in, sizeof(in), text, sizeof(text));
	ck_assert_str_eq(text, "#a129ca6149be45e5");
}
END_TEST

START_TEST(fields_are_known_in_any_case_and_no_others)
{
	static const char *const known[] = { "Host",	   "Content-Type", "CONTENT-LENGTH",
					     "age",	   "X-Cache",	   "Transfer-Encoding",
					     "Expect",	   "upgrade",	   "Connection",
					     "grpc-status" };
	static const char *const others[] = {
		"",   "Authorization", "Cookie",     "Set-Cookie",   "Hos",	"Hosts",
		"ag", "Aged",	       "X-Cache-Id", "Content-Typf", "\xc8ost", "Location"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		ck_assert_int_ne(net_header_of((const uint8_t *)known[i], strlen(known[i])),
				 NET_HEADER_OTHER);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_int_eq(net_header_of((const uint8_t *)others[i], strlen(others[i])),
				 NET_HEADER_OTHER);
	ck_assert_int_eq(net_header_of((const uint8_t *)"AGE", 3), NET_HEADER_AGE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("net_privacy");
	TCase *tc = tcase_create("net_privacy");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, the_query_is_as_it_is_asked_for);
	tcase_add_test(tc, a_fragment_is_never_kept);
	tcase_add_test(tc, segments_that_look_like_secrets_are_left_out);
	tcase_add_test(tc, no_character_is_cut);
	tcase_add_test(tc, a_text_has_no_nul_inside);
	tcase_add_test(tc, a_name_is_without_user_and_password);
	tcase_add_test(tc, names_are_numbers_when_asked_for);
	tcase_add_test(tc, a_path_as_a_number_tells_nothing_of_its_query);
	tcase_add_test(tc, the_hash_is_siphash);
	tcase_add_test(tc, fields_are_known_in_any_case_and_no_others);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
