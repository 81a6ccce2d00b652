/* SPDX-License-Identifier: Apache-2.0 */
/* Names as people read them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "symbolize/demangle.h"

static const struct {
	const char *mangled, *readable;
} names[] = {
	/* C, assembly, and what only looks mangled */
	{ "main", "main" },
	{ "_start", "_start" },
	{ "_Z", "_Z" },
	{ "_R", "_R" },
	{ "_Zzzz", "_Zzzz" },
	{ "_ZNSt6vectorIiSaIiEE9push_back", "_ZNSt6vectorIiSaIiEE9push_back" },
	/* C++ */
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
	  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "_Z3fooILi1EEvv", "void foo<1>()" },
	{ "_ZN3fooC1Ev", "foo::foo()" },
	{ "_ZNK3FooclEi", "Foo::operator()(int) const" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const" },
	{ "_ZTV3Foo", "vtable for Foo" },
	{ "_ZN3fooEv.cold", "foo() [clone .cold]" },
	{ "_ZN3fooEi.constprop.0", "foo(int) [clone .constprop.0]" },
	/* parts that the compiler has split off, and what the linker adds */
	{ "_ZN3fooEv.part.0.constprop.1", "foo() [clone .part.0] [clone .constprop.1]" },
	{ "main.cold", "main.cold" },
	{ "helper.constprop.0.isra.0", "helper.constprop.0.isra.0" },
	{ "helper.llvm.1234567890", "helper" },
	{ "_ZN3fooEv.llvm.1234567890", "foo()" },
	{ "helper.llvm.", "helper.llvm." },
	{ ".llvm.12", ".llvm.12" },
	/* D */
	{ "_Dmain", "D main" },
	{ "_D4main3fooFiZi", "main.foo(int)" },
	{ "_D3std5stdio7writelnFZv", "std.stdio.writeln()" },
	{ "_Data", "_Data" },
	{ "_D4main3fooFiZi.part.0.cold", "main.foo(int) [clone .part.0] [clone .cold]" },
	{ "_D4main3fooFiZi.llvm.12", "main.foo(int)" },
	{ "_D4main3fooFiZi.", "_D4main3fooFiZi." },
	{ "_D4main3fooFiZi.cold!", "_D4main3fooFiZi.cold!" },
	{ "_D4main3fooFQQQQQQQQQZi", "_D4main3fooFQQQQQQQQQZi" },
	/* Go needs nothing */
	{ "main.(*T).Method", "main.(*T).Method" },
	{ "main.(*T).Method-fm", "main.(*T).Method-fm" },
	/* Rust, legacy: the hash goes */
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
	{ "_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop"
	  "17h0123456789abcdefE",
	  "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop" },
	/* Rust, v0 */
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_RNvMsr_NtCs3ssYzQotkvD_3std4pathNtB5_7PathBuf3newCs15kBYyAo9fc_7mycrate",
	  "<std::path::PathBuf>::new" },
	/* the part that was split off is no other function, but it is elsewhere */
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.cold.1",
	  "core::fmt::Formatter::pad [clone .cold.1]" },
	{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.123.cold",
	  "core::fmt::Formatter::pad [clone .cold]" },
	{ "_RNvCs1234_7mycrate3foo.cold", "mycrate::foo [clone .cold]" },
	{ "_RNvCs1234_7mycrate3foo.llvm.1234", "mycrate::foo" },
	/* versions and stubs */
	{ "memcpy@@GLIBC_2.14", "memcpy" },
	{ "memcpy@GLIBC_2.2.5", "memcpy" },
	{ "malloc@plt", "malloc@plt" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi@plt",
	  "std::vector<int, std::allocator<int> >::push_back(int const&)@plt" },
	{ "_ZN3fooEv@@VERS_1", "foo()" },
	{ "@", "@" },
	{ "a@", "a" },
	{ "", "" },
	/* what is no UTF-8 */
	{ "caf\xe9", "caf\xef\xbf\xbd" },
};

START_TEST(each_language_reads_as_it_should)
{
	char got[DEMANGLE_MAX + 1];
	size_t len = demangle(got, names[_i].mangled);

	ck_assert_str_eq(got, names[_i].readable);
	ck_assert_uint_eq(len, strlen(got));
}
END_TEST

static char *repeat(const char *before, const char *s, size_t n, const char *after)
{
	char *text = malloc(strlen(before) + n * strlen(s) + strlen(after) + 1);
	char *p;

	ck_assert_ptr_nonnull(text);
	p = stpcpy(text, before);
	while (n-- > 0)
		p = stpcpy(p, s);
	strcpy(p, after);
	return text;
}

static void check_cut(char *name, const char *start, const char *end)
{
	char got[DEMANGLE_MAX + 1];
	size_t len = demangle(got, name);

	ck_assert_uint_eq(len, strlen(got));
	ck_assert_uint_le(len, DEMANGLE_MAX);
	ck_assert_uint_ge(len, DEMANGLE_MAX - 4); /* as much as there is room for */
	ck_assert(text_is_utf8(got, len));
	ck_assert_msg(strncmp(got, start, strlen(start)) == 0, "%.40s", got);
	ck_assert_msg(strcmp(got + len - strlen(end), end) == 0, "%s", got + len - 40);
	free(name);
}

START_TEST(what_is_too_long_ends_in_an_ellipsis)
{
	check_cut(repeat("", "y", 28 * 1024, ""), "yyy", "yy\xe2\x80\xa6");
	check_cut(repeat("", "y", 1025, ""), "yyy", "yy\xe2\x80\xa6");
	check_cut(repeat("", "y", 2000, "@plt"), "yyy", "yy\xe2\x80\xa6@plt");
	check_cut(repeat("", "y", 1024, "@plt"), "yyy", "yy\xe2\x80\xa6@plt");
	check_cut(repeat("_Z1f", "i", 600, ""), "f(int, int, ", "\xe2\x80\xa6");
	check_cut(repeat("_Z1f", "P", 5000, "i"), "_Z1fPP", "PP\xe2\x80\xa6");
	/* Cut at a character's border, whatever the bytes are. */
	check_cut(repeat("", "\xc3\xa9", 2000, ""), "\xc3\xa9", "\xc3\xa9\xe2\x80\xa6");
	check_cut(repeat("x", "\xc3\xa9", 2000, ""), "x\xc3\xa9", "\xc3\xa9\xe2\x80\xa6");
	check_cut(repeat("", "\xff", 1024, ""), "\xef\xbf\xbd", "\xef\xbf\xbd\xe2\x80\xa6");
}
END_TEST

START_TEST(what_just_fits_stays_whole)
{
	char *name = repeat("", "y", 1024, ""), got[DEMANGLE_MAX + 1];

	ck_assert_uint_eq(demangle(got, name), 1024);
	ck_assert_str_eq(got, name);
	free(name);
	name = repeat("", "y", 1020, "@plt");
	ck_assert_uint_eq(demangle(got, name), 1024);
	ck_assert_str_eq(got, name);
	free(name);
}
END_TEST

/* libiberty by itself refuses names of more than a kilobyte. */
START_TEST(a_long_template_is_readable_to_where_it_is_cut)
{
	check_cut(repeat("_Z1fI", "St6vectorIiSaIiEE", 200, "Evv"), "void f<std::vector<int, ",
		  "\xe2\x80\xa6");
}
END_TEST

/* S_ and the like stand for all that came before: the readable form grows much faster. */
START_TEST(a_name_that_explodes_is_cut)
{
	char name[256] = "_Z1fI", got[DEMANGLE_MAX + 1];
	size_t len;

	strcat(name, "St4pairIiiE");
	for (char c = '0'; c <= '9'; c++) /* each a pair of two of the last one: 2^11 int */
		sprintf(name + strlen(name), "S_IS%c_S%c_E", c, c);
	strcat(name, "Evv");
	len = demangle(got, name);
	ck_assert_uint_eq(len, strlen(got));
	ck_assert_uint_ge(len, DEMANGLE_MAX - 4);
	ck_assert_msg(strncmp(got, "void f<std::pair<int, int>, ", 28) == 0, "%s", got);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("demangle");
	TCase *tc = tcase_create("demangle");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, each_language_reads_as_it_should, 0,
			    sizeof(names) / sizeof(names[0]));
	tcase_add_test(tc, what_is_too_long_ends_in_an_ellipsis);
	tcase_add_test(tc, what_just_fits_stays_whole);
	tcase_add_test(tc, a_long_template_is_readable_to_where_it_is_cut);
	tcase_add_test(tc, a_name_that_explodes_is_cut);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
