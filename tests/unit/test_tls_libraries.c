/* SPDX-License-Identifier: Apache-2.0 */
/* Tests for net/tls_libraries.c, net/tls_wishes.c: whose TLS is read, and where. */
#include <check.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/tls_libraries.h"
#include "net/tls_wishes.h"

/* As the BPF program does it. */
static bool glob_matches(const struct net_tls_glob *g, const char *s)
{
	uint64_t at = 1;

	for (; *s; s++)
		at = (at & g->moves[(uint8_t)*s]) << 1 | (at & g->stays);
	return at >> g->n & 1;
}

START_TEST(globs_are_what_fnmatch_says)
{
	static const char *const globs[] = {
		"curl",	 "cur?",	"*",	   "**",     "c*l",  "*url",
		"cu*",	 "c[a-z]r[!x]", "[]]",	   "\\*",    "\\[x", "*a*b*",
		"node*", "a?c*e",	"[!a-c]*", "x[]y]z", "",     "\xc3\xa9*",
	};
	static const char *const names[] = {
		"curl",	    "cur",    "curx", "node", "nodejs",
		"*",	    "]",      "[x",   "ab",   "xaxxb",
		"ba",	    "",	      "c",    "cl",   "a",
		"abcde",    "axcyye", "x]z",  "xyz",  "\xc3\xa9t\xc3\xa9",
		"tokio-rt",
	};
	struct net_tls_glob g;

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++) {
		ck_assert_int_eq(tls_glob_compile(globs[i], &g), 0);
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			ck_assert_msg(glob_matches(&g, names[k]) ==
					      (fnmatch(globs[i], names[k], 0) == 0),
				      "%s %s", globs[i], names[k]);
	}
}
END_TEST

START_TEST(what_is_no_glob_is_refused)
{
	struct net_tls_glob g;
	char glob[80];

	ck_assert_int_eq(tls_glob_compile("[a", &g), -EINVAL);
	ck_assert_int_eq(tls_glob_compile("x\\", &g), -EINVAL);
	memset(glob, '?', 64);
	glob[64] = '\0';
	ck_assert_int_eq(tls_glob_compile(glob, &g), -EINVAL);
	glob[63] = '\0';
	ck_assert_int_eq(tls_glob_compile(glob, &g), 0);
	ck_assert(!glob_matches(&g, "x"));
}
END_TEST

START_TEST(selectors_are_read)
{
	static const char *const bad[] = { "",	    "pid:",    "pid:0", "pid:x", "pid:99999999999",
					   "comm:", "comm:[x", "lib:x", "curl",	 "Pid:1" };
	struct tls_selector s;

	ck_assert_int_eq(tls_selector_parse("pid:1234", &s), 0);
	ck_assert(s.kind == TLS_BY_PID && s.pid == 1234);
	ck_assert_int_eq(tls_selector_parse("comm:ngin*", &s), 0);
	ck_assert(s.kind == TLS_BY_COMM && strcmp(s.text, "ngin*") == 0);
	ck_assert_int_eq(tls_selector_parse("lib:/usr/lib/libssl.so.3", &s), 0);
	ck_assert(s.kind == TLS_BY_LIB && strcmp(s.text, "/usr/lib/libssl.so.3") == 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(tls_selector_parse(bad[i], &s) == -EINVAL, "%s", bad[i]);
}
END_TEST

START_TEST(files_are_known_by_their_names)
{
	ck_assert_int_eq(tls_library_of("/usr/lib/x86_64-linux-gnu/libssl.so.3"), TLS_OPENSSL);
	ck_assert_int_eq(tls_library_of("/usr/lib/libssl.so.1.1 (deleted)"), TLS_OPENSSL);
	ck_assert_int_eq(tls_library_of("/x/psycopg.libs/libssl-81ffa89e.so.3"), TLS_OPENSSL);
	ck_assert_int_eq(tls_library_of("libgnutls.so.30.34.3"), TLS_GNUTLS);
	ck_assert_int_eq(tls_library_of("libnspr4.so"), TLS_NSPR);
	ck_assert_int_eq(tls_library_of("libc.so.6"), TLS_LIBC);
	ck_assert_int_eq(tls_library_of("/libssl.so/libm.so.6"), TLS_NONE);
	ck_assert_int_eq(tls_library_of("libssl3.so"), TLS_NONE); /* NSS's */
	ck_assert(tls_selector_is_lib("/a/libssl.so.3", "/a/libssl.so.3"));
	ck_assert(tls_selector_is_lib("/a/libssl.so.3", "/a/libssl.so.3 (deleted)"));
	ck_assert(!tls_selector_is_lib("/a/libssl.so.3", "/b/a/libssl.so.3"));
	ck_assert(!tls_selector_is_lib("/a/libssl.so", "/a/libssl.so.3"));
	ck_assert(!tls_selector_is_lib("/a/libssl.so.3", "/a/libssl.so"));
}
END_TEST

/* What is moved must be told apart by the cookies alone. */
START_TEST(functions_are_known_by_their_cookies)
{
	struct net_tls_function specs[NET_TLS_MAX_FUNCTIONS];
	const struct lib_function *f;
	size_t n, n_any, n_all = 0;

	tls_library_specs(specs);
	for (int library = 0; library < N_TLS_LIBRARIES; library++) {
		f = tls_library_functions((enum tls_library)library, true, &n);
		ck_assert_uint_gt(n, 0);
		for (size_t i = 0; i < n; i++) {
			unsigned k = f[i].cookie & (NET_TLS_MAX_FUNCTIONS - 1);

			ck_assert(f[i].cookie & NET_TLS_BY_NAME);
			ck_assert_int_eq(specs[k].kind == NET_TLS_LOOKUP, library == TLS_LIBC);
			ck_assert_int_ne(specs[k].kind, NET_TLS_NONE);
			ck_assert_int_eq(specs[k].kind == NET_TLS_READ,
					 strstr(f[i].name, "read") || strstr(f[i].name, "Read") ||
						 strstr(f[i].name, "recv") ||
						 strstr(f[i].name, "Recv"));
		}
		n_all += library == TLS_ANY || library == TLS_LIBC ? 0 : n;
	}
	f = tls_library_functions(TLS_ANY, false, &n_any);
	ck_assert_uint_eq(n_any, n_all);
	ck_assert(!(f[0].cookie & NET_TLS_BY_NAME));
}
END_TEST

START_TEST(wishes_come_and_go_with_sessions)
{
	struct tls_wishes w = { 0 };
	struct trace_config config = { .n_plaintext = 2 };
	struct net_tls_globs *globs = malloc(sizeof(*globs));

	strcpy(config.plaintext[0], "comm:cur*");
	strcpy(config.plaintext[1], "lib:/x/libssl.so.3");
	ck_assert_int_eq(tls_wishes_set(&w, 3, &config), 0);
	strcpy(config.plaintext[0], "comm:node");
	config.n_plaintext = 1;
	ck_assert_int_eq(tls_wishes_set(&w, 7, &config), 0);
	ck_assert_uint_eq(tls_wishes_count(&w), 2);
	ck_assert_str_eq(tls_wishes_at(&w, 1)->text, "/x/libssl.so.3");
	ck_assert_str_eq(tls_wishes_at(&w, 2)->text, "node");
	ck_assert_ptr_null(tls_wishes_at(&w, 3));
	ck_assert(tls_wishes_comm(&w, "curl") && tls_wishes_comm(&w, "node"));
	ck_assert(!tls_wishes_comm(&w, "nodejs"));
	ck_assert(tls_wishes_program(&w, "curl") && !tls_wishes_program(&w, "wget"));
	ck_assert(tls_wishes_lib(&w, "/x/libssl.so.3") && !tls_wishes_any(&w, TLS_BY_PID));
	ck_assert_int_eq(tls_wishes_globs(&w, globs), 0);
	ck_assert_uint_eq(globs->n, 2);
	ck_assert(glob_matches(&globs->globs[1], "node"));

	ck_assert(tls_wishes_clear(&w, 3) && !tls_wishes_clear(&w, 3));
	ck_assert(!tls_wishes_comm(&w, "curl") && tls_wishes_comm(&w, "node"));
	strcpy(config.plaintext[0], "nobody");
	ck_assert_int_eq(tls_wishes_set(&w, 3, &config), -EINVAL);
	ck_assert_uint_eq(tls_wishes_count(&w), 1);

	config.n_plaintext = TRACE_MAX_PLAINTEXT;
	for (unsigned i = 0; i < config.n_plaintext; i++)
		strcpy(config.plaintext[i], "comm:x");
	for (unsigned slot = 10; slot < 14; slot++)
		ck_assert_int_eq(tls_wishes_set(&w, slot, &config), 0);
	ck_assert_int_eq(tls_wishes_globs(&w, globs), -E2BIG);
	ck_assert_uint_eq(globs->n, NET_TLS_MAX_GLOBS);
	for (unsigned slot = 0; slot < EVENT_MAX_STREAMS; slot++)
		(void)tls_wishes_clear(&w, slot);
	free(globs);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tls_libraries");
	TCase *tc = tcase_create("tls_libraries");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, globs_are_what_fnmatch_says);
	tcase_add_test(tc, what_is_no_glob_is_refused);
	tcase_add_test(tc, selectors_are_read);
	tcase_add_test(tc, files_are_known_by_their_names);
	tcase_add_test(tc, functions_are_known_by_their_cookies);
	tcase_add_test(tc, wishes_come_and_go_with_sessions);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
