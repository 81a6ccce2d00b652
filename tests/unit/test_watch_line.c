/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON as tracectl(1) describes them, whatever the names are. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "collector.h"
#include "json_text.h"
#include "watch/watch_line.h"

/* 2026-11-30 16:00:00 UTC when the machine has run for 100 s. */
#define WALL_NS ((1796054400ull - 100) * NS_PER_SEC)

static struct buf lines;
static struct watch_clock clock_at;
static unsigned markers;

static void set_up(void)
{
	clock_at = (struct watch_clock){ .wall_ns = WALL_NS };
	markers = (unsigned)collector_index(collector_by_name("markers"));
}

static void tear_down(void)
{
	buf_done(&lines);
}

static void assert_line(const char *want)
{
	ck_assert(json_text_is_line((const char *)lines.data, lines.len));
	ck_assert_int_eq(buf_append(&lines, "", 1), 0);
	ck_assert_str_eq((const char *)lines.data, want);
	lines.len = 0;
}

static void put(const struct trace_tap_event *ev)
{
	ck_assert_int_eq(watch_line_event(&lines, ev, NULL, &clock_at), 0);
}

START_TEST(a_slice_has_a_duration_and_arguments)
{
	const struct trace_arg args[] = {
		{ .name = "u", .type = ARG_UINT, .u = UINT64_MAX },
		{ .name = "i", .type = ARG_INT, .i = INT64_MIN },
		{ .name = "yes", .type = ARG_BOOL, .u = 7 },
		{ .name = "d", .type = ARG_DOUBLE, .d = 0.5 },
		{ .name = "nan", .type = ARG_DOUBLE, .d = (double)NAN },
		{ .name = "p", .type = ARG_POINTER, .u = 0x7f00 },
		{ .name = "s", .type = ARG_STRING, .s = "x" },
		{ .name = "s", .type = ARG_REPEATED, .s = "y" },
		{ .name = "s", .type = ARG_LITERAL, .s = "z" },
	};
	const struct trace_tap_event ev = { .kind = TAP_SLICE,
					    .source = markers,
					    .time_ns = 100 * NS_PER_SEC + 5,
					    .end_ns = 101 * NS_PER_SEC,
					    .name = "GC",
					    .category = "vm",
					    .tgid = 7,
					    .tid = 8,
					    .args = args,
					    .n_args = sizeof(args) / sizeof(args[0]) };

	put(&ev);
	assert_line("{\"type\":\"slice\",\"time\":100000000005,"
		    "\"wall\":\"2026-11-30T16:00:00.000000005Z\",\"duration\":999999995,"
		    "\"source\":\"markers\",\"name\":\"GC\",\"category\":\"vm\",\"pid\":7,"
		    "\"tid\":8,\"args\":{\"u\":18446744073709551615,\"i\":-9223372036854775808,"
		    "\"yes\":true,\"d\":0.5,\"nan\":null,\"p\":\"0x7f00\",\"s\":\"x\","
		    "\"s#2\":\"y\",\"s#3\":\"z\"}}\n");
}
END_TEST

START_TEST(an_instant_of_nobody_has_a_track)
{
	const struct trace_tap_event ev = { .kind = TAP_INSTANT,
					    .source = markers,
					    .time_ns = 3 * NS_PER_SEC,
					    .end_ns = 3 * NS_PER_SEC,
					    .name = "a",
					    .track = "lane" };

	put(&ev);
	assert_line("{\"type\":\"instant\",\"time\":3000000000,"
		    "\"wall\":\"2026-11-30T15:58:23.000000000Z\",\"source\":\"markers\","
		    "\"name\":\"a\",\"track\":\"lane\"}\n");
}
END_TEST

START_TEST(a_counter_has_a_value)
{
	const struct trace_tap_event ev = { .kind = TAP_COUNTER,
					    .source = markers,
					    .time_ns = 100 * NS_PER_SEC,
					    .end_ns = 100 * NS_PER_SEC,
					    .name = "heap",
					    .track = "heap",
					    .tgid = 7,
					    .value = 1 << 20 };

	put(&ev);
	assert_line("{\"type\":\"counter\",\"time\":100000000000,"
		    "\"wall\":\"2026-11-30T16:00:00.000000000Z\",\"source\":\"markers\","
		    "\"name\":\"heap\",\"pid\":7,\"value\":1048576}\n");
}
END_TEST

START_TEST(what_is_lost_has_a_number_and_a_reason)
{
	ck_assert_int_eq(watch_line_lost(&lines, 12, "net", "ring full", 0, &clock_at), 0);
	assert_line("{\"type\":\"lost\",\"time\":0,\"wall\":\"2026-11-30T15:58:20.000000000Z\","
		    "\"lost\":12,\"source\":\"net\",\"reason\":\"ring full\"}\n");
	ck_assert_int_eq(watch_line_lost(&lines, 1, NULL, "reader too slow", 0, &clock_at), 0);
	assert_line("{\"type\":\"lost\",\"time\":0,\"wall\":\"2026-11-30T15:58:20.000000000Z\","
		    "\"lost\":1,\"reason\":\"reader too slow\"}\n");
}
END_TEST

/* The text of a second is kept, and must not outlive it. */
START_TEST(each_second_has_its_own_text)
{
	struct trace_tap_event ev = { .kind = TAP_INSTANT, .source = markers, .name = "a" };

	for (uint64_t s = 0; s < 200000; s += 7919) {
		char want[64];
		time_t second = (time_t)(WALL_NS / NS_PER_SEC + s);
		struct tm tm;

		ev.time_ns = ev.end_ns = s * NS_PER_SEC + s;
		put(&ev);
		ck_assert_int_eq(buf_append(&lines, "", 1), 0);
		strftime(want, sizeof(want), "\"wall\":\"%Y-%m-%dT%H:%M:%S",
			 gmtime_r(&second, &tm));
		ck_assert_ptr_nonnull(strstr((const char *)lines.data, want));
		lines.len = 0;
	}
}
END_TEST

/* ---- names that somebody chose who means no good ---- */

static uint32_t random_bits(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

/* Bytes, and pieces that mean something to JSON, to UTF-8 or to a terminal. */
static void hostile(char *dst, size_t size)
{
	static const char *const pieces[] = {
		"\"",
		"\\",
		"\n",
		"\r",
		"\x1b[2J",
		"\x7f",
		"\xc2\x9b",
		"\xff",
		"\xc3",
		"\xe2\x82",
		"\xf0\x9f\x98",
		"\xed\xa0\x80",
		"\xc0\x80",
		"\xf4\x90",
		"}",
		"]",
		",",
		":",
		"\\u0000",
		"\xf0\x9f\x98\x80",
		"\xe2\x80\xae",
		"a",
		"{\"type\":\"slice\"}",
	};
	size_t len = 0, want = random_bits() % size;

	dst[0] = '\0';
	while (len < want) {
		const char *piece = pieces[random_bits() % (sizeof(pieces) / sizeof(pieces[0]))];

		if (random_bits() % 4 == 0)
			dst[len++] = (char)(1 + random_bits() % 255);
		else if (len + strlen(piece) < size)
			len += (size_t)snprintf(dst + len, size - len, "%s", piece);
		else
			break;
		dst[len] = '\0';
	}
}

START_TEST(whatever_the_names_are_each_line_is_json)
{
	char name[300], category[40], track[40], key[3][40], value[3][300];
	struct trace_arg args[6];
	struct trace_tap_event ev = {
		.name = name, .category = category, .track = track, .args = args, .n_args = 6
	};

	for (int round = 0; round < 20000; round++) {
		hostile(name, sizeof(name));
		hostile(category, sizeof(category));
		hostile(track, sizeof(track));
		for (int i = 0; i < 6; i++) {
			hostile(key[i % 3], sizeof(key[0]));
			hostile(value[i % 3], sizeof(value[0]));
			args[i] = (struct trace_arg){ .name = key[i % 3],
						      .type = ARG_STRING,
						      .s = value[i % 3] };
		}
		ev.kind = (enum trace_tap_kind)(random_bits() % TAP_LOSS);
		ev.time_ns = random_bits();
		ev.tgid = random_bits() % 3;
		put(&ev);
		ck_assert_msg(json_text_is_line((const char *)lines.data, lines.len), "%.*s",
			      (int)lines.len, (const char *)lines.data);
		lines.len = 0;
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("watch_line");
	TCase *tc = tcase_create("lines");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_slice_has_a_duration_and_arguments);
	tcase_add_test(tc, an_instant_of_nobody_has_a_track);
	tcase_add_test(tc, a_counter_has_a_value);
	tcase_add_test(tc, what_is_lost_has_a_number_and_a_reason);
	tcase_add_test(tc, each_second_has_its_own_text);
	tcase_add_test(tc, whatever_the_names_are_each_line_is_json);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed > 0;
}
