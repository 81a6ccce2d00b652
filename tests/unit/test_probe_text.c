/* SPDX-License-Identifier: Apache-2.0 */
/* Probes as text: the grammar, files, sets, and back. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe_text.h"

static struct probe_list list;
static char err[512], dir[] = "/tmp/probe_text.XXXXXX";

static void set_up(void)
{
	err[0] = '\0';
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("TRACER_PROBES", dir, 1);
}

static void tear_down(void)
{
	char command[64];

	probe_list_done(&list);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void assert_parsed(const char *text, size_t n)
{
	int r = probe_text_parse(text, &list, err, sizeof(err));

	ck_assert_msg(r == 0, "%s", err);
	ck_assert_uint_eq(list.n, n);
}

static void assert_text(size_t i, const char *want)
{
	char *text = probe_text_of(list.defs[i]);

	ck_assert_str_eq(text, want);
	free(text);
}

static void assert_refused(const char *text, const char *reason)
{
	size_t n = list.n;

	err[0] = '\0';
	ck_assert_int_eq(probe_text_parse(text, &list, err, sizeof(err)), -EINVAL);
	ck_assert_msg(strstr(err, reason) != NULL, "'%s' without '%s'", err, reason);
	ck_assert_ptr_null(strchr(err, '\n'));
	ck_assert_uint_eq(list.n, n);
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "w");
	fputs(text, out);
	fclose(out);
}

START_TEST(all_parts_are_taken)
{
	const ProbeDef *def;

	assert_parsed(
		"gc at usdt:libpython3.11.so.1.0:python:gc__start\n"
		"   end usdt:libpython3.11.so.1.0:python:gc__done\targ  gen = arg0 : s32 "
		"arg n@end=arg0 if arg0 > 1 key tid counter heap=*(u64 *)arg0 stack rate 100/s",
		1);
	def = list.defs[0];
	ck_assert_str_eq(def->name, "gc");
	ck_assert_str_eq(def->at, "usdt:libpython3.11.so.1.0:python:gc__start");
	ck_assert_str_eq(def->end, "usdt:libpython3.11.so.1.0:python:gc__done");
	ck_assert_uint_eq(def->n_args, 2);
	ck_assert_str_eq(def->args[0], "gen = arg0 : s32");
	ck_assert_str_eq(def->args[1], "n@end=arg0");
	ck_assert_str_eq(def->condition, "arg0 > 1");
	ck_assert_str_eq(def->key, "tid");
	ck_assert_str_eq(def->counter, "heap=*(u64 *)arg0");
	ck_assert(def->stack && def->rate == 100);
	assert_text(0, "gc at usdt:libpython3.11.so.1.0:python:gc__start arg gen = arg0 : s32 arg "
		       "n@end=arg0 end usdt:libpython3.11.so.1.0:python:gc__done if arg0 > 1 key "
		       "tid counter heap=*(u64 *)arg0 stack rate 100");
}
END_TEST

START_TEST(what_was_told_can_be_read_again)
{
	static const char text[] =
		"a at uprobe:/bin/a b:f arg x=arg0 if x == \"if end\" stack rate 7";
	char *again;

	assert_parsed(text, 1);
	again = probe_text_of(list.defs[0]);
	ck_assert_str_eq(again, text);
	assert_parsed(again, 2);
	assert_text(1, text);
	free(again);
}
END_TEST

START_TEST(words_of_the_grammar_may_be_in_parentheses_and_strings)
{
	assert_parsed(
		"a at fentry:f if (key > (end)) && s == \" if \\\" stack \" && p[ rate ] stack", 1);
	ck_assert_str_eq(list.defs[0]->condition,
			 "(key > (end)) && s == \" if \\\" stack \" && p[ rate ]");
	ck_assert(list.defs[0]->stack && !list.defs[0]->has_rate);
}
END_TEST

START_TEST(a_file_has_several_and_comments)
{
	write_file("two.probe", "# Two of them: \"\n"
				"\n"
				"a at uprobe:libc.so.6:malloc # it's a comment\n"
				"  # another\n"
				"\tend uretprobe:libc.so.6:malloc\n"
				"\n"
				"  arg size=arg0\n"
				"# and\n"
				"b at tracepoint:sched:sched_switch");
	ck_assert_int_eq(probe_text_sets("two", &list, err, sizeof(err)), 0);
	ck_assert_uint_eq(list.n, 2);
	assert_text(0, "a at uprobe:libc.so.6:malloc arg size=arg0 end uretprobe:libc.so.6:malloc");
	assert_text(1, "b at tracepoint:sched:sched_switch");
	write_file("one.probe", "c at fentry:f");
	ck_assert_int_eq(probe_text_sets("one,two", &list, err, sizeof(err)), 0);
	ck_assert_uint_eq(list.n, 5);
}
END_TEST

START_TEST(mistakes_are_told_in_a_line)
{
	assert_refused("", "no probe");
	assert_refused("# nothing\n", "no probe");
	assert_refused("a", "behind its name");
	assert_refused("a uprobe:libc.so.6:f", "behind its name");
	assert_refused("a end fentry:f", "behind its name");
	assert_refused("a at", "nothing follows 'at'");
	assert_refused("a at fentry:f arg", "nothing follows 'arg'");
	assert_refused("a at fentry:f at fentry:g", "'at' comes twice");
	assert_refused("a at fentry:f if x if y", "'if' comes twice");
	assert_refused("a at fentry:f rate many", "hits per second");
	assert_refused("a at fentry:f rate 0", "hits per second");
	assert_refused("a at fentry:f stack deep", "behind 'stack'");
	assert_refused("good at fentry:f\nbad at\n", "probe 'bad'");
}
END_TEST

START_TEST(there_is_a_limit)
{
	char text[MAX_PROBES * 32] = "";

	for (int i = 0; i < MAX_PROBES; i++)
		sprintf(text + strlen(text), "p%d at fentry:f\n", i);
	assert_parsed(text, MAX_PROBES);
	assert_refused("more at fentry:f", "too many probes");
}
END_TEST

START_TEST(files_and_sets_that_are_not_there)
{
	ck_assert_int_eq(probe_text_file("/no/such", &list, err, sizeof(err)), -ENOENT);
	ck_assert_str_eq(err, "/no/such: No such file or directory");
	ck_assert_int_eq(probe_text_sets("none", &list, err, sizeof(err)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err, "no set of probes 'none'"));
	ck_assert_int_eq(probe_text_sets("../x", &list, err, sizeof(err)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err, "--probe-file"));
	write_file("bad.probe", "a at\n");
	ck_assert_int_eq(probe_text_sets("bad", &list, err, sizeof(err)), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err, "bad.probe: probe 'a': nothing follows 'at'"));
	ck_assert_uint_eq(list.n, 0);
}
END_TEST

START_TEST(rates_have_a_unit_or_none)
{
	uint32_t rate;

	ck_assert(probe_rate_parse("100", &rate) == 0 && rate == 100);
	ck_assert(probe_rate_parse("7/s", &rate) == 0 && rate == 7);
	ck_assert_int_eq(probe_rate_parse("", &rate), -EINVAL);
	ck_assert_int_eq(probe_rate_parse("/s", &rate), -EINVAL);
	ck_assert_int_eq(probe_rate_parse("7/m", &rate), -EINVAL);
	ck_assert_int_eq(probe_rate_parse("-1", &rate), -EINVAL);
	ck_assert_int_eq(probe_rate_parse("99999999999999999999", &rate), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe_text");
	TCase *tc = tcase_create("probe_text");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, all_parts_are_taken);
	tcase_add_test(tc, what_was_told_can_be_read_again);
	tcase_add_test(tc, words_of_the_grammar_may_be_in_parentheses_and_strings);
	tcase_add_test(tc, a_file_has_several_and_comments);
	tcase_add_test(tc, mistakes_are_told_in_a_line);
	tcase_add_test(tc, there_is_a_limit);
	tcase_add_test(tc, files_and_sets_that_are_not_there);
	tcase_add_test(tc, rates_have_a_unit_or_none);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
