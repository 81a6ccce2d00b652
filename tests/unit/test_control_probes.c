/* SPDX-License-Identifier: Apache-2.0 */
/* Probes out of the texts that clients send, and the texts again. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector.h"
#include "control_probes.h"
#include "control_requests.h"
#include "trace_config.h"

static ProbeDef msg;
static char *args[PROBES_ARGS + 1];
static struct probe_def def;
static char why[PROBE_WHY_LEN];

static void set_up(void)
{
	msg = (ProbeDef)PROBE_DEF__INIT;
	msg.name = (char *)"malloc";
	msg.at = (char *)"uprobe:libc.so.6:malloc";
	msg.args = args;
	why[0] = '\0';
}

static void tear_down(void)
{
}

static void arg(const char *text)
{
	args[msg.n_args++] = (char *)text;
}

static void assert_refused(const char *reason)
{
	why[0] = '\0';
	ck_assert_int_eq(control_probe_def(&msg, &def, why), -EINVAL);
	ck_assert_msg(strstr(why, reason) != NULL, "'%s' without '%s'", why, reason);
}

START_TEST(all_parts_are_taken_and_told_again)
{
	struct control_probe_texts *t = calloc(1, sizeof(*t));
	struct probe_def again;

	msg.end = (char *)"uretprobe:libc.so.6:malloc";
	arg("size=arg0:u64");
	arg("block=retval:ptr");
	arg("text=str(arg1):str(16)");
	msg.condition = (char *)"arg0 > 64";
	msg.key = (char *)"tid";
	msg.counter = (char *)"bytes=arg0:s32";
	msg.stack = 1;
	msg.rate = 7;
	ck_assert_msg(control_probe_def(&msg, &def, why) == 0, "%s", why);
	ck_assert(def.has_end && def.with_stack && def.rate == 7 && def.n_args == 3);
	ck_assert(!def.args[0].at_end && def.args[1].at_end);
	control_probe_texts(&def, t);
	ck_assert_str_eq(t->msg.name, "malloc");
	ck_assert_str_eq(t->msg.at, msg.at);
	ck_assert_str_eq(t->msg.end, msg.end);
	ck_assert_uint_eq(t->msg.n_args, 3);
	ck_assert_str_eq(t->msg.args[0], "size=arg0:u64");
	ck_assert_str_eq(t->msg.args[1], "block@end=retval:ptr");
	ck_assert_str_eq(t->msg.args[2], "text=str(arg1):str(16)");
	ck_assert_str_eq(t->msg.condition, "arg0 > 64");
	ck_assert_str_eq(t->msg.key, "tid");
	ck_assert_str_eq(t->msg.counter, "bytes=arg0:s32");
	ck_assert(t->msg.stack && t->msg.rate == 7);
	/* Once more, of what was told: the same. */
	ck_assert_msg(control_probe_def(&t->msg, &again, why) == 0, "%s", why);
	ck_assert_mem_eq(&again, &def, sizeof(def));
	free(t);
}
END_TEST

START_TEST(what_is_left_out_is_not_there)
{
	struct control_probe_texts *t = calloc(1, sizeof(*t));

	ck_assert_int_eq(control_probe_def(&msg, &def, why), 0);
	ck_assert(!def.has_end && !def.with_stack && !def.rate && !def.n_args);
	control_probe_texts(&def, t);
	ck_assert(!t->msg.end && !t->msg.condition && !t->msg.key && !t->msg.counter);
	free(t);
}
END_TEST

START_TEST(names_are_words)
{
	static const char *const bad[] = { "", "12", "two words", "a\nb", "a\"b", "\xff" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		msg.name = (char *)bad[i];
		assert_refused("the name of a probe is one word, and no number");
	}
	msg.name = NULL;
	assert_refused("the name of a probe");
	msg.name = (char *)"a name of more than sixty-three bytes, which is more than a track has";
	assert_refused("at most 63 bytes");
	msg.name = (char *)"gc-2.x\xc3\xa4";
	ck_assert_int_eq(control_probe_def(&msg, &def, why), 0);
}
END_TEST

START_TEST(mistakes_say_whose_they_are)
{
	char text[PROBE_EXPR_LEN + 8];

	msg.at = NULL;
	assert_refused("probe malloc: it does not say where it is");
	msg.at = (char *)"libc.so.6:malloc";
	assert_refused("probe malloc: ");
	msg.at = (char *)"uprobe:libc.so.6:malloc";
	msg.end = (char *)"nothing";
	assert_refused("probe malloc: \"nothing\"");
	msg.end = NULL;
	arg("size");
	assert_refused("probe malloc: ");
	args[0] = (char *)"size=arg0 +";
	assert_refused("probe malloc: ");
	args[0] = (char *)"size=arg0";
	memset(text, '1', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	msg.condition = text;
	assert_refused("a condition has at most 255 bytes");
	msg.condition = NULL;
	for (int i = 0; i < PROBES_ARGS; i++)
		arg("n=arg1");
	assert_refused("probe malloc: ");
}
END_TEST

START_TEST(a_recording_brings_its_own)
{
	StartRequest req = START_REQUEST__INIT;
	ProbeDef *one[] = { &msg }, *many[PROBES_MAX_DEFS + 1];
	char *cpu[] = { (char *)"cpu" };
	struct trace_config config;
	char start_why[WHY_LEN];

	req.sources = cpu;
	req.n_sources = 1;
	req.probes = one;
	req.n_probes = 1;
	ck_assert_int_eq(control_requests_config(&req, &config, start_why, sizeof(start_why)), 0);
	ck_assert_uint_eq(config.n_probes, 1);
	ck_assert_str_eq(config.probes[0].at.symbol, "malloc");
	ck_assert(config.sources & 1u << collector_index(collector_by_name("probes")));
	free(config.probes);

	msg.at = (char *)"malloc";
	req.command_line = (char *)"tracectl";
	ck_assert_int_eq(control_requests_config(&req, &config, start_why, sizeof(start_why)),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(start_why, "probe malloc: "));
	ck_assert(!config.probes && !config.command_line);
	for (int i = 0; i <= PROBES_MAX_DEFS; i++)
		many[i] = &msg;
	req.probes = many;
	req.n_probes = PROBES_MAX_DEFS + 1;
	ck_assert_int_eq(control_requests_config(&req, &config, start_why, sizeof(start_why)),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(start_why, "at most 64 probes"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_probes");
	TCase *tc = tcase_create("control_probes");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, all_parts_are_taken_and_told_again);
	tcase_add_test(tc, what_is_left_out_is_not_there);
	tcase_add_test(tc, names_are_words);
	tcase_add_test(tc, mistakes_say_whose_they_are);
	tcase_add_test(tc, a_recording_brings_its_own);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
