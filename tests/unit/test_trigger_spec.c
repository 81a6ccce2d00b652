/* SPDX-License-Identifier: Apache-2.0 */
/* What a trigger waits for: what is taken, and what is said of what is not. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trigger/trigger_spec.h"

static struct trigger_spec spec;
static char why[TRIGGER_WHY_LEN];

static int parse(const char *text)
{
	why[0] = '\0';
	return trigger_spec_parse(text, &spec, why);
}

static void takes(const char *text, enum trigger_kind kind, const char *name, enum trigger_op op,
		  long double number)
{
	ck_assert_msg(parse(text) == 0, "%s: %s", text, why);
	ck_assert_str_eq(spec.text, text);
	ck_assert_msg(spec.kind == kind, "%s is a %d", text, spec.kind);
	ck_assert_str_eq(spec.name, name);
	ck_assert_int_eq(spec.op, op);
	ck_assert(spec.number == number);
	ck_assert_int_eq(spec.is_number, op != TRIGGER_ANY);
}

START_TEST(every_kind_is_taken)
{
	takes("slice:read>10ms", TRIGGER_SLICE, "read", TRIGGER_GT, 10e6L);
	takes("slice:f*>=1s", TRIGGER_SLICE, "f*", TRIGGER_GE, 1e9L);
	takes("slice:idle<5us", TRIGGER_SLICE, "idle", TRIGGER_LT, 5000);
	takes("late-frame", TRIGGER_LATE_FRAME, "", TRIGGER_ANY, 0);
	takes("late-frame>=2", TRIGGER_LATE_FRAME, "", TRIGGER_GE, 2);
	takes("http:status>=500", TRIGGER_HTTP_STATUS, "", TRIGGER_GE, 500);
	takes("http:status=404", TRIGGER_HTTP_STATUS, "", TRIGGER_EQ, 404);
	takes("http:latency>200ms", TRIGGER_HTTP_LATENCY, "", TRIGGER_GT, 200e6L);
	takes("exit:make", TRIGGER_EXIT, "make", TRIGGER_ANY, 0);
	takes("exit:make=2", TRIGGER_EXIT, "make", TRIGGER_EQ, 2);
	takes("exit:*!=0", TRIGGER_EXIT, "*", TRIGGER_NE, 0);
	takes("signal:nginx", TRIGGER_SIGNAL, "nginx", TRIGGER_ANY, 0);
	takes("signal:*=SIGSEGV", TRIGGER_SIGNAL, "*", TRIGGER_EQ, SIGSEGV);
	takes("signal:*!=TERM", TRIGGER_SIGNAL, "*", TRIGGER_NE, SIGTERM);
	takes("signal:x=6", TRIGGER_SIGNAL, "x", TRIGGER_EQ, SIGABRT);
	takes("psi:memory>30%", TRIGGER_PSI, "", TRIGGER_GT, 30);
	ck_assert_int_eq(spec.resource, TRIGGER_MEMORY);
	takes("psi:io>=99%", TRIGGER_PSI, "", TRIGGER_GE, 99);
	ck_assert_int_eq(spec.resource, TRIGGER_IO);
	takes("marker:job", TRIGGER_MARKER, "job", TRIGGER_ANY, 0);
	takes("sigusr2", TRIGGER_SIGUSR2, "", TRIGGER_ANY, 0);
}
END_TEST

START_TEST(arguments_are_numbers_or_texts)
{
	takes("probe:gc=pause>18446744073709551615", TRIGGER_PROBE, "gc", TRIGGER_GT,
	      18446744073709551615.0L);
	ck_assert_str_eq(spec.arg, "pause");
	takes("probe:gc=n=-9223372036854775807", TRIGGER_PROBE, "gc", TRIGGER_EQ,
	      -9223372036854775807.0L);
	takes("marker:f=x<=0.5", TRIGGER_MARKER, "f", TRIGGER_LE, 0.5L);
	takes("probe:a=b=0x10", TRIGGER_PROBE, "a", TRIGGER_EQ, 16);
	ck_assert_int_eq(parse("probe:open=path=/etc/*=x>1"), 0);
	ck_assert_str_eq(spec.arg, "path");
	ck_assert_str_eq(spec.value, "/etc/*=x>1");
	ck_assert(!spec.is_number);
	ck_assert_int_eq(spec.op, TRIGGER_EQ);
	ck_assert_int_eq(parse("marker:m=k!=inf"), 0);
	ck_assert(!spec.is_number);
	ck_assert_int_eq(spec.op, TRIGGER_NE);
}
END_TEST

START_TEST(names_may_have_any_characters)
{
	takes("slice:std::map<int, long>::find>10ms", TRIGGER_SLICE, "std::map<int, long>::find",
	      TRIGGER_GT, 10e6L);
	takes("slice:GET /a,B?b=c>1ms", TRIGGER_SLICE, "GET /a,B?b=c", TRIGGER_GT, 1e6L);
	takes("slice:a=>1ms", TRIGGER_SLICE, "a=", TRIGGER_GT, 1e6L);
	takes("exit:a=b=1", TRIGGER_EXIT, "a=b", TRIGGER_EQ, 1);
	takes("marker:a:b c", TRIGGER_MARKER, "a:b c", TRIGGER_ANY, 0);
}
END_TEST

START_TEST(options_follow_behind_commas)
{
	ck_assert_int_eq(parse("slice:x>1ms"), 0);
	ck_assert_uint_eq(spec.min_interval_ns, NS_PER_SEC);
	ck_assert_msg(parse("slice:x,y>1ms,category=sys*,pid=7,comm=a b,min_interval=0s") == 0,
		      "%s", why);
	ck_assert_str_eq(spec.name, "x,y");
	ck_assert_str_eq(spec.category, "sys*");
	ck_assert_uint_eq(spec.pid, 7);
	ck_assert_str_eq(spec.comm, "a b");
	ck_assert_uint_eq(spec.min_interval_ns, 0);
	ck_assert_str_eq(spec.text, "slice:x,y>1ms,category=sys*,pid=7,comm=a b,min_interval=0s");
	ck_assert_int_eq(parse("sigusr2,min_interval=24h"), 0);
	ck_assert_uint_eq(spec.min_interval_ns, 24 * 3600 * NS_PER_SEC);
}
END_TEST

START_TEST(what_is_wrong_is_named_with_what_is_allowed)
{
	static const char *const bad[][2] = {
		{ "", "there is no such kind: slice:NAME>10ms, late-frame[>=N]" },
		{ "slice", "there is no such kind" },
		{ "sclice:x>1ms",
		  "trigger 'sclice:x>1ms': there is no such kind: slice:NAME>10ms" },
		{ "slice:>10ms", "the name of the slice is missing or too long" },
		{ "slice:read", "no limit: slice:NAME>10ms, with a time in s, ms or us" },
		{ "slice:read>", "no time ''" },
		{ "slice:read>10", NULL }, /* seconds */
		{ "slice:read>10xs", "no time '10xs': slice:NAME>10ms" },
		{ "slice:read>25h", "no time '25h'" },
		{ "slice:read=10ms", "a time is compared with >, >=, < or <=" },
		{ "slice:read>10ms,categroy=x",
		  "unknown option 'categroy=x': category=GLOB, comm=GLOB, pid=N, min_interval=1s" },
		{ "late-frames", "unknown 's': late-frame, or late-frame>=N" },
		{ "late-frame>=0", "no such number '0'" },
		{ "late-frame>=x", "no such number 'x'" },
		{ "http:status", "nothing to compare with: http:status>=500" },
		{ "http:status>=99", "no such number '99'" },
		{ "http:status>=1000", "no such number '1000'" },
		{ "http:state>=500", "unknown 'state': http:status>=500" },
		{ "http:latency>fast", "no time 'fast'" },
		{ "exit:", "the program's name is missing or too long" },
		{ "exit:a=256", "no such number '256': exit:COMM=CODE" },
		{ "exit:a=-1", "no such number '-1'" },
		{ "signal:a=SIGFOO", "no signal 'SIGFOO': signal:COMM or signal:COMM=SIGNAL" },
		{ "signal:a=0", "no signal '0'" },
		{ "signal:a=65", "no signal '65'" },
		{ "signal:a>6", "a signal is compared with = or !=" },
		{ "psi:cpu", "no limit: psi:cpu>30%" },
		{ "psi:disk>3%", "unknown 'disk': psi:cpu>30%, psi:memory>30% or psi:io>30%" },
		{ "psi:cpu>30", "no percentage '30'" },
		{ "psi:cpu>100%", "no such number '100'" },
		{ "psi:cpu<30%", "pressure is compared with > or >=" },
		{ "probe:", "the name is missing or too long" },
		{ "probe:x=y", "nothing to compare the argument with 'y': NAME=ARG>N" },
		{ "probe:x=>3", "the argument's name is missing or too long" },
		{ "probe:x=y=", "the argument's value is missing or too long" },
		{ "probe:x=y>a", "no number 'a': a text is compared with = or !=" },
		{ "sigusr2:x", "unknown ':x': sigusr2 has nothing behind it" },
		{ "sigusr1", "there is no such kind" },
		{ "sigusr2,pid=0", "no pid '0'" },
		{ "sigusr2,comm=", "comm= is empty or too long" },
		{ "sigusr2,min_interval=x", "no time 'x': min_interval=1s, up to 24h" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int r = parse(bad[i][0]);

		if (!bad[i][1]) {
			ck_assert_msg(r == 0, "%s: %s", bad[i][0], why);
			continue;
		}
		ck_assert_msg(r == -EINVAL, "%s is taken", bad[i][0]);
		ck_assert_msg(strstr(why, bad[i][1]) != NULL, "%s: %s", bad[i][0], why);
	}
}
END_TEST

START_TEST(what_is_too_long_is_refused)
{
	char text[TRIGGER_SPEC_LEN + 8];

	memset(text, 'x', sizeof(text));
	memcpy(text, "marker:", 7);
	text[7 + TRIGGER_NAME_LEN - 1] = '\0';
	ck_assert_int_eq(parse(text), 0);
	text[7 + TRIGGER_NAME_LEN - 1] = 'x';
	text[7 + TRIGGER_NAME_LEN] = '\0';
	ck_assert_int_eq(parse(text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "it has 1 to 127 bytes"));
	text[7 + TRIGGER_NAME_LEN] = 'x';
	text[TRIGGER_SPEC_LEN] = '\0';
	ck_assert_int_eq(parse(text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "is longer than 255 bytes"));
}
END_TEST

START_TEST(signals_have_names_and_numbers)
{
	char text[TRIGGER_SIGNAL_LEN];

	ck_assert_int_eq(trigger_signal_number("SIGKILL"), SIGKILL);
	ck_assert_int_eq(trigger_signal_number("KILL"), SIGKILL);
	ck_assert_int_eq(trigger_signal_number("34"), 34);
	ck_assert_int_eq(trigger_signal_number(""), -EINVAL);
	ck_assert_int_eq(trigger_signal_number("SIG"), -EINVAL);
	trigger_signal_text(SIGBUS, text);
	ck_assert_str_eq(text, "SIGBUS");
	trigger_signal_text(40, text);
	ck_assert_str_eq(text, "signal 40");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trigger_spec");
	TCase *tc = tcase_create("trigger_spec");
	SRunner *sr;
	int n;

	tcase_add_test(tc, every_kind_is_taken);
	tcase_add_test(tc, arguments_are_numbers_or_texts);
	tcase_add_test(tc, names_may_have_any_characters);
	tcase_add_test(tc, options_follow_behind_commas);
	tcase_add_test(tc, what_is_wrong_is_named_with_what_is_allowed);
	tcase_add_test(tc, what_is_too_long_is_refused);
	tcase_add_test(tc, signals_have_names_and_numbers);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
