/* SPDX-License-Identifier: Apache-2.0 */
/* What the author of a probe writes, and what is said to it when it is wrong. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/probe_def.h"

static char why[PROBE_WHY_LEN];

START_TEST(a_place_is_read_and_written)
{
	static const struct {
		const char *spec;
		enum probe_kind kind;
		const char *path, *group, *symbol;
		uint64_t offset;
		const char *text; /* NULL: as it was */
	} good[] = {
		{ "uprobe:libc.so.6:malloc", PROBE_UPROBE, "libc.so.6", "", "malloc", 0, NULL },
		{ "uprobe:/bin/a:f+16", PROBE_UPROBE, "/bin/a", "", "f", 16,
		  "uprobe:/bin/a:f+0x10" },
		{ "uprobe:/bin/a:f+0x10", PROBE_UPROBE, "/bin/a", "", "f", 16, NULL },
		{ "uretprobe:/bin/a:ns::C::f", PROBE_URETPROBE, "/bin/a", "", "ns::C::f", 0, NULL },
		{ "uprobe:/bin/a:C::operator+(int)", PROBE_UPROBE, "/bin/a", "",
		  "C::operator+(int)", 0, NULL },
		{ "uprobe:/bin/a:Py*Gc?_[ab]*", PROBE_UPROBE, "/bin/a", "", "Py*Gc?_[ab]*", 0,
		  NULL },
		{ "usdt:libpython3.11.so.1.0:python:gc__start", PROBE_USDT, "libpython3.11.so.1.0",
		  "python", "gc__start", 0, NULL },
		{ "tracepoint:sched:sched_switch", PROBE_TRACEPOINT, "", "sched", "sched_switch", 0,
		  NULL },
		{ "fentry:vfs_read", PROBE_FENTRY, "", "", "vfs_read", 0, NULL },
		{ "fexit:vfs_read", PROBE_FEXIT, "", "", "vfs_read", 0, NULL },
		{ "kprobe:vfs_read+4", PROBE_KPROBE, "", "", "vfs_read", 4, "kprobe:vfs_read+0x4" },
	};
	char text[PROBE_SPEC_LEN];
	struct probe_place p;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(probe_place_parse(good[i].spec, &p, why) == 0, "%s: %s", good[i].spec,
			      why);
		ck_assert_int_eq(p.kind, good[i].kind);
		ck_assert_str_eq(p.path, good[i].path);
		ck_assert_str_eq(p.group, good[i].group);
		ck_assert_str_eq(p.symbol, good[i].symbol);
		ck_assert_uint_eq(p.offset, good[i].offset);
		probe_place_text(&p, text, sizeof(text));
		ck_assert_str_eq(text, good[i].text ? good[i].text : good[i].spec);
	}
}
END_TEST

START_TEST(a_place_that_is_none_says_why)
{
	static const struct {
		const char *spec, *says;
	} bad[] = {
		{ "", "begins with uprobe:" },
		{ "malloc", "begins with uprobe:" },
		{ "uprob:libc.so.6:malloc", "near it: uprobe" },
		{ "uprobe", "uprobe:PATH:FUNCTION" },
		{ "uprobe::malloc", "uprobe:PATH:FUNCTION" },
		{ "uprobe:libc.so.6", "uprobe:PATH:FUNCTION" },
		{ "uprobe:libc.so.6:", "uprobe:PATH:FUNCTION" },
		{ "uprobe:libc.so.6:+4", "counts from a function" },
		{ "uprobe:libc.so.6:f+4x", "no offset" },
		{ "uprobe:libc.so.6:f+99999999999999999999", "no offset" },
		{ "uprobe:lib/libc.so.6:f", "begins with /" },
		{ "uprobe:libc.so.6:f\n", "control characters" },
		{ "uretprobe:libc.so.6:f+4", "inside a function" },
		{ "usdt:libc.so.6:x", "usdt:PATH:PROVIDER:NAME" },
		{ "tracepoint:sched", "tracepoint:SYSTEM:NAME" },
		{ "tracepoint:../sched:x/y", "letters, digits" },
		{ "fentry:vfs/read", "letters, digits" },
	};
	struct probe_place p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(probe_place_parse(bad[i].spec, &p, why) < 0, "%s", bad[i].spec);
		ck_assert_msg(strstr(why, bad[i].says), "%s: %s", bad[i].spec, why);
	}
}
END_TEST

START_TEST(an_argument_has_a_name_an_expression_and_a_type)
{
	static const struct {
		const char *text, *name, *expr;
		enum probe_type type;
		uint16_t size;
		bool at_end;
	} good[] = {
		{ "size=arg0", "size", "arg0", PROBE_TYPE_AUTO, 0, false },
		{ "size=arg0:u64", "size", "arg0", PROBE_TYPE_UNSIGNED, 8, false },
		{ "s = str(arg1) : str(32)", "s", "str(arg1)", PROBE_TYPE_TEXT, 32, false },
		{ "c=(ns::T *)arg0", "c", "(ns::T *)arg0", PROBE_TYPE_AUTO, 0, false },
		{ "c=((ns::T *)arg0)->x:x32", "c", "((ns::T *)arg0)->x", PROBE_TYPE_HEX, 4, false },
		{ "is=name == \"a:b\":bool", "is", "name == \"a:b\"", PROBE_TYPE_BOOL, 1, false },
		{ "is=arg0 == ':'", "is", "arg0 == ':'", PROBE_TYPE_AUTO, 0, false },
		{ "n@end=arg0:s32", "n", "arg0", PROBE_TYPE_SIGNED, 4, true },
	};
	struct probe_arg a;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_msg(probe_arg_parse(good[i].text, &a, why) == 0, "%s: %s", good[i].text,
			      why);
		ck_assert_str_eq(a.name, good[i].name);
		ck_assert_str_eq(a.expr, good[i].expr);
		ck_assert_int_eq(a.type, good[i].type);
		ck_assert_uint_eq(a.size, good[i].size);
		ck_assert(a.at_end == good[i].at_end);
	}
}
END_TEST

START_TEST(an_argument_that_is_none_says_why)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "arg0", "NAME=EXPRESSION" },	       { "a==b", "NAME=EXPRESSION" },
		{ "=arg0", "a name of letters" },      { "1a=arg0", "a name of letters" },
		{ "a b=arg0", "a name of letters" },   { "a=", "no expression" },
		{ "a=:u64", "no expression" },	       { "a=arg0:u65", "near it: u64" },
		{ "a=arg0:str(0)", "1 to 256 bytes" }, { "a=arg0:str(257)", "1 to 256 bytes" },
		{ "a=arg0:str(8", "1 to 256 bytes" },  { "a=arg0\t", "control characters" },
	};
	struct probe_arg a;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(probe_arg_parse(bad[i].text, &a, why) < 0, "%s", bad[i].text);
		ck_assert_msg(strstr(why, bad[i].says), "%s: %s", bad[i].text, why);
	}
}
END_TEST

/* "at=SPEC|end=SPEC|arg=ARG|if=EXPR|key=EXPR|counter=ARG" */
static int make(const char *text, struct probe_def *ret)
{
	char copy[1024], *save = NULL;
	int r = 0;

	*ret = (struct probe_def){ .name = "p" };
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *w = strtok_r(copy, "|", &save); w && r == 0; w = strtok_r(NULL, "|", &save)) {
		if (strncmp(w, "at=", 3) == 0)
			r = probe_place_parse(w + 3, &ret->at, why);
		else if (strncmp(w, "end=", 4) == 0)
			r = probe_place_parse(w + 4, &ret->end, why);
		else if (strncmp(w, "arg=", 4) == 0)
			r = probe_arg_parse(w + 4, &ret->args[ret->n_args++], why);
		else if (strncmp(w, "counter=", 8) == 0)
			r = probe_arg_parse(w + 8, &ret->counter, why);
		else
			snprintf(w[0] == 'i' ? ret->condition : ret->key, PROBE_EXPR_LEN, "%s",
				 strchr(w, '=') + 1);
		ret->has_end |= w[0] == 'e';
	}
	return r < 0 ? r : probe_def_check(ret, why);
}

START_TEST(what_mentions_retval_is_taken_at_the_end)
{
	struct probe_def def;

	ck_assert_msg(make("at=uprobe:libc.so.6:malloc|end=uretprobe:libc.so.6:malloc|"
			   "arg=size=arg0|arg=p=retval|counter=c=retval+1|if=arg0 > 3|key=arg0",
			   &def) == 0,
		      "%s", why);
	ck_assert(!def.args[0].at_end && def.args[1].at_end && def.counter.at_end);
	ck_assert_int_eq(make("at=uretprobe:libc.so.6:malloc|arg=p=retval|if=!retval", &def), 0);
	ck_assert(!def.args[0].at_end);
}
END_TEST

START_TEST(parts_that_do_not_fit_together_say_why)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "arg=a=arg0", "no place" },
		{ "at=uprobe:a:f|arg=a=retval", "mentions retval" },
		{ "at=usdt:a:f:g|end=usdt:a:f:h|arg=a=retval", "mentions retval" },
		{ "at=uretprobe:a:f|end=uprobe:a:f", "begins where a function returns" },
		{ "at=uprobe:a:f|arg=a@end=arg0", "it has none" },
		{ "at=uprobe:a:f|arg=a=1|arg=a=2", "two arguments" },
		{ "at=uprobe:a:f|end=uretprobe:a:f|if=retval", "not known when it begins" },
		{ "at=uprobe:a:f|end=uretprobe:a:f|key=retval", "known when it begins" },
		{ "at=uprobe:a:f|counter=c=arg0:str", "a number" },
		{ "at=uprobe:a:f|arg=a=arg0 +", "character 7" },
		{ "at=uprobe:a:f|if=arg0 = 1", "to compare write ==" },
	};
	struct probe_def def;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(make(bad[i].text, &def) < 0, "%s", bad[i].text);
		ck_assert_msg(strstr(why, bad[i].says), "%s: %s", bad[i].text, why);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe_def");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, a_place_is_read_and_written);
	tcase_add_test(tc, a_place_that_is_none_says_why);
	tcase_add_test(tc, an_argument_has_a_name_an_expression_and_a_type);
	tcase_add_test(tc, an_argument_that_is_none_says_why);
	tcase_add_test(tc, what_mentions_retval_is_taken_at_the_end);
	tcase_add_test(tc, parts_that_do_not_fit_together_say_why);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
