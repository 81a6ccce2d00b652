/* SPDX-License-Identifier: Apache-2.0 */
/* Which of what is recorded fires a trigger, and what is said of it. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "trigger/trigger_match.h"

#define ARGS(...)                                  \
	(const struct trace_arg[]){ __VA_ARGS__ }, \
		sizeof((const struct trace_arg[]){ __VA_ARGS__ }) / sizeof(struct trace_arg)
#define UINT(n, v)                                  \
	{                                           \
		.name = n, .type = ARG_UINT, .u = v \
	}
#define TEXT(n, v)                                    \
	{                                             \
		.name = n, .type = ARG_STRING, .s = v \
	}
#define SOURCE 3

static struct trigger_spec spec;
static struct trace_tap_event ev;

static const char *comm_of(void *ctx, uint32_t tgid)
{
	(void)ctx;
	return tgid == 7 ? "seven" : "";
}

static void is(enum trace_tap_kind kind, const char *category, const char *name, uint64_t ns,
	       const struct trace_arg *args, size_t n_args)
{
	ev = (struct trace_tap_event){
		.kind = kind,
		.source = SOURCE,
		.time_ns = 1000,
		.end_ns = 1000 + ns,
		.name = name,
		.category = category,
		.tgid = 7,
		.tid = 8,
		.args = args,
		.n_args = n_args,
	};
}

static bool fires_from(const char *text, int source)
{
	char why[TRIGGER_WHY_LEN];

	ck_assert_msg(trigger_spec_parse(text, &spec, why) == 0, "%s", why);
	return trigger_match(&spec, source, &ev, comm_of, NULL);
}

static bool fires(const char *text)
{
	return fires_from(text, SOURCE);
}

static const char *said(void)
{
	static struct trigger_fired fired;

	trigger_describe(&spec, &ev, comm_of, NULL, &fired);
	ck_assert_uint_eq(fired.time_ns, ev.end_ns);
	ck_assert_uint_eq(fired.tgid, 7);
	ck_assert_str_eq(fired.comm, "seven");
	return fired.what;
}

START_TEST(slices_fire_by_name_and_length)
{
	is(TAP_SLICE, "syscall", "read", 10 * NS_PER_MS, NULL, 0);
	ck_assert(fires_from("slice:read>9ms", -1));
	ck_assert_str_eq(said(), "'read' took 10.0 ms");
	ck_assert(fires("slice:r*d>=10ms"));
	ck_assert(!fires("slice:read>10ms"));
	ck_assert(!fires("slice:write>1ms"));
	ck_assert(!fires("slice:rea>1ms"));
	ck_assert(fires("slice:*>1ms,category=sys*"));
	ck_assert(!fires("slice:*>1ms,category=net"));
	ck_assert(fires("slice:*>1ms,pid=7,comm=s*n"));
	ck_assert(!fires("slice:*>1ms,pid=8"));
	ck_assert(!fires("slice:*>1ms,comm=eight"));
	ev.kind = TAP_INSTANT;
	ck_assert(!fires("slice:*>=0ms"));
	is(TAP_SLICE, NULL, "read", 10 * NS_PER_MS,
	   ARGS({ .name = "unfinished", .type = ARG_BOOL, .u = 1 }));
	ck_assert(!fires("slice:read>9ms"));
	is(TAP_SLICE, NULL, "read", 10 * NS_PER_MS, NULL, 0);
	ck_assert(!fires("slice:*>1ms,category=*"));
}
END_TEST

START_TEST(late_frames_fire)
{
	is(TAP_SLICE, "frame", "frame late", 40 * NS_PER_MS,
	   ARGS(UINT("pid", 7), UINT("late_by_vblanks", 2)));
	ev.tgid = 0; /* on a card's track */
	ck_assert(fires("late-frame"));
	ck_assert(fires("late-frame>=2,comm=seven,pid=7"));
	ck_assert_str_eq(said(), "'frame late' took 40.0 ms, late_by_vblanks 2");
	ck_assert(!fires("late-frame>=3"));
	ev.name = "frame on time";
	ck_assert(!fires("late-frame"));
}
END_TEST

START_TEST(requests_fire)
{
	is(TAP_SLICE, "http", "GET / 500", 1500 * NS_PER_MS,
	   ARGS(TEXT("method", "GET"), UINT("status", 500)));
	ck_assert(fires("http:status>=500"));
	ck_assert_str_eq(said(), "'GET / 500' took 1.50 s, status 500");
	ck_assert(fires("http:status=500"));
	ck_assert(!fires("http:status>500"));
	ck_assert(fires("http:latency>1s"));
	ck_assert(!fires("http:latency>2s"));
	ck_assert(!fires_from("http:status>=500", SOURCE + 1));
	ev.category = "http.phase";
	ck_assert(!fires("http:latency>1s"));
	is(TAP_SLICE, "http", "GET /", 5, NULL, 0); /* without an answer */
	ck_assert(!fires("http:status>=100"));
}
END_TEST

START_TEST(ends_of_processes_fire)
{
	is(TAP_INSTANT, "process", "exit", 0, ARGS(TEXT("comm", "make"), UINT("code", 2)));
	ck_assert(fires("exit:make"));
	ck_assert(fires("exit:m*=2"));
	ck_assert_str_eq(said(), "make exited with 2");
	ck_assert(fires("exit:make!=0"));
	ck_assert(!fires("exit:make=0"));
	ck_assert(!fires("exit:cc"));
	ck_assert(!fires("signal:make"));
	is(TAP_INSTANT, "process", "exit", 0, ARGS(TEXT("comm", "make"), UINT("signal", SIGSEGV)));
	ck_assert(!fires("exit:make"));
	ck_assert(fires("signal:make"));
	ck_assert(fires("signal:*=SIGSEGV"));
	ck_assert_str_eq(said(), "make was killed by SIGSEGV");
	ck_assert(!fires("signal:*=SIGBUS"));
	ck_assert(fires("signal:*!=SIGKILL"));
	ev.name = "exec";
	ck_assert(!fires("signal:make"));
}
END_TEST

START_TEST(probes_and_markers_fire_by_their_arguments)
{
	is(TAP_INSTANT, "probe", "open", 0,
	   ARGS(TEXT("path", "/etc/passwd"), UINT("flags", UINT64_MAX),
		{ .name = "n", .type = ARG_INT, .i = -3 },
		{ .name = "f", .type = ARG_DOUBLE, .d = 0.5 },
		{ .name = "ok", .type = ARG_BOOL, .u = 1 },
		{ .name = "p", .type = ARG_POINTER, .u = 16 }));
	ck_assert(fires("probe:open"));
	ck_assert_str_eq(said(), "'open'");
	ck_assert(fires("marker:o*"));
	ck_assert(!fires("probe:close"));
	ck_assert(fires("probe:open=path=/etc/*"));
	ck_assert_str_eq(said(), "'open', path '/etc/passwd'");
	ck_assert(!fires("probe:open=path!=/etc/*"));
	ck_assert(fires("probe:open=path!=/usr/*"));
	ck_assert(!fires("probe:open=path>3"));
	ck_assert(fires("probe:open=flags=18446744073709551615"));
	ck_assert(!fires("probe:open=flags<18446744073709551615"));
	ck_assert(fires("probe:open=n=-3"));
	ck_assert_str_eq(said(), "'open', n -3");
	ck_assert(fires("probe:open=n<0"));
	ck_assert(fires("probe:open=f>=0.5"));
	ck_assert(fires("probe:open=ok=true"));
	ck_assert(fires("probe:open=ok=1"));
	ck_assert(!fires("probe:open=ok=false"));
	ck_assert(fires("probe:open=p=0x10"));
	ck_assert(!fires("probe:open=missing>=0"));
	ck_assert(!fires("probe:open=n=text"));
	ck_assert(!fires_from("probe:open", SOURCE + 1));
	ev.kind = TAP_SLICE;
	ck_assert(fires("probe:open=n=-3"));
	ev.kind = TAP_COUNTER;
	ck_assert(!fires("probe:open"));
}
END_TEST

START_TEST(what_is_no_event_does_not_fire)
{
	is(TAP_INSTANT, "process", "exit", 0, NULL, 0);
	ck_assert(!fires_from("sigusr2", -1));
	ck_assert(!fires_from("psi:cpu>0%", -1));
	ck_assert(!fires_from("exit:*", -1)); /* without what belongs to it */
	ck_assert_ptr_null(trigger_source(&(struct trigger_spec){ .kind = TRIGGER_SLICE }));
	ck_assert_str_eq(trigger_source(&(struct trigger_spec){ .kind = TRIGGER_HTTP_STATUS }),
			 "net");
}
END_TEST

START_TEST(names_that_are_no_text_are_made_text)
{
	char name[400];

	memset(name, 'x', sizeof(name));
	memcpy(name + 116, "\xc3\xa4\xc3\xa4", 4);
	name[1] = '\xff';
	name[399] = '\0';
	is(TAP_SLICE, NULL, name, 5, NULL, 0);
	ck_assert(fires("slice:*>=0s"));
	ck_assert_int_eq(strncmp(said(), "'x\xef\xbf\xbdxxx", 8), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trigger_match");
	TCase *tc = tcase_create("trigger_match");
	SRunner *sr;
	int n;

	tcase_add_test(tc, slices_fire_by_name_and_length);
	tcase_add_test(tc, late_frames_fire);
	tcase_add_test(tc, requests_fire);
	tcase_add_test(tc, ends_of_processes_fire);
	tcase_add_test(tc, probes_and_markers_fire_by_their_arguments);
	tcase_add_test(tc, what_is_no_event_does_not_fire);
	tcase_add_test(tc, names_that_are_no_text_are_made_text);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
