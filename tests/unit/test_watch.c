/* SPDX-License-Identifier: Apache-2.0 */
/* Who watches: what is chosen, and what becomes of lines that nobody takes. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "collector.h"
#include "json_text.h"
#include "watch/watch.h"

static struct buf taken;
static bool is_stuck;
static struct watch *w;
static char why[256];

static int take(void *ctx, const void *data, size_t len, bool essential)
{
	(void)essential;
	ck_assert_ptr_eq(ctx, &taken);
	ck_assert_int_eq(((const char *)data)[len - 1], '\n');
	return is_stuck ? -EAGAIN : buf_append(&taken, data, len);
}

static void open_watch(const struct watch_selection *sel)
{
	ck_assert_int_eq(watch_new(sel, NULL, take, &taken, &w), 0);
}

static void set_up(void)
{
	is_stuck = false;
	w = NULL;
}

static void tear_down(void)
{
	watch_free(w);
	buf_done(&taken);
}

static struct trace_tap_event event(enum trace_tap_kind kind, const char *source, const char *name)
{
	return (struct trace_tap_event){
		.kind = kind,
		.source = (unsigned)collector_index(collector_by_name(source)),
		.time_ns = 5,
		.end_ns = 5,
		.name = name,
	};
}

static size_t n_lines(const char *with)
{
	const char *line = (const char *)taken.data, *end = line + taken.len;
	size_t n = 0;

	while (line < end) {
		const char *next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;

		ck_assert(json_text_is_line(line, (size_t)(next - line)));
		n += memmem(line, (size_t)(next - line), with, strlen(with)) != NULL;
		line = next;
	}
	return n;
}

/* ---- what is chosen ---- */

static void choose(struct watch_selection *sel, const char *spec)
{
	ck_assert_msg(watch_select_add(sel, spec, why, sizeof(why)) == 0, "%s", why);
}

START_TEST(without_a_choice_all_is_chosen)
{
	const struct watch_selection sel = { 0 };
	const struct trace_tap_event ev = event(TAP_INSTANT, "markers", "a");

	ck_assert(watch_selects(&sel, &ev));
	ck_assert_uint_eq(watch_select_sources(&sel), 0);
}
END_TEST

START_TEST(names_categories_and_sources_are_chosen)
{
	struct watch_selection sel = { 0 };
	struct trace_tap_event ev = event(TAP_INSTANT, "markers", "GC pause");

	choose(&sel, "GC *");
	choose(&sel, "category:ht*");
	choose(&sel, "source:net");
	choose(&sel, "name:category:x");
	ck_assert(watch_selects(&sel, &ev));
	ev.name = "gc";
	ck_assert(!watch_selects(&sel, &ev));
	ev.category = "http";
	ck_assert(watch_selects(&sel, &ev));
	ev = event(TAP_COUNTER, "net", "bytes");
	ck_assert(watch_selects(&sel, &ev));
	ev = event(TAP_INSTANT, "markers", "category:x");
	ck_assert(watch_selects(&sel, &ev));
	ck_assert_uint_eq(watch_select_sources(&sel), 0);
}
END_TEST

START_TEST(sources_alone_say_what_is_recorded)
{
	struct watch_selection sel = { 0 };

	choose(&sel, "source:net");
	choose(&sel, "source:markers");
	ck_assert_uint_eq(watch_select_sources(&sel),
			  1u << collector_index(collector_by_name("net")) |
				  1u << collector_index(collector_by_name("markers")));
}
END_TEST

START_TEST(short_slices_and_all_else_are_left_out)
{
	const struct watch_selection sel = { .min_ns = 10 };
	struct trace_tap_event ev = event(TAP_SLICE, "net", "a");

	ev.end_ns = ev.time_ns + 10;
	ck_assert(watch_selects(&sel, &ev));
	ev.end_ns--;
	ck_assert(!watch_selects(&sel, &ev));
	ev = event(TAP_INSTANT, "net", "a");
	ck_assert(!watch_selects(&sel, &ev));
}
END_TEST

START_TEST(a_choice_that_is_none_is_refused)
{
	static const char *const bad[] = { "", "source:", "category:", "name:", "source:nothing" };
	struct watch_selection sel = { 0 };
	char lengthy[400];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = '\0';
		ck_assert_int_eq(watch_select_add(&sel, bad[i], why, sizeof(why)), -EINVAL);
		ck_assert_uint_gt(strlen(why), 10);
	}
	memset(lengthy, 'x', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	ck_assert_int_eq(watch_select_add(&sel, lengthy, why, sizeof(why)), -EINVAL);
	for (int i = 0; i < WATCH_MAX_SPECS; i++)
		choose(&sel, "a");
	ck_assert_int_eq(watch_select_add(&sel, "a", why, sizeof(why)), -E2BIG);
}
END_TEST

/* ---- lines ---- */

START_TEST(lines_go_when_they_are_flushed)
{
	const struct watch_selection sel = { 0 };
	const struct trace_tap_event ev = event(TAP_INSTANT, "markers", "a");

	open_watch(&sel);
	watch_event(w, &ev);
	ck_assert_uint_eq(taken.len, 0);
	watch_flush(w, false);
	ck_assert_uint_eq(n_lines("\"name\":\"a\""), 1);
	watch_flush(w, true);
	ck_assert_uint_eq(n_lines(""), 1);
}
END_TEST

START_TEST(what_tracer_says_of_itself_is_no_line)
{
	const struct watch_selection sel = { 0 };
	struct trace_tap_event ev = event(TAP_COUNTER, "markers", "daemon CPU");

	open_watch(&sel);
	ev.source = MAX_COLLECTORS - 1;
	watch_event(w, &ev);
	watch_flush(w, true);
	ck_assert_uint_eq(taken.len, 0);
}
END_TEST

START_TEST(losses_of_sources_are_said_whatever_is_chosen)
{
	struct watch_selection sel = { 0 };
	struct trace_tap_event ev = event(TAP_LOSS, "markers", "net");

	choose(&sel, "nothing");
	open_watch(&sel);
	ev.source = MAX_COLLECTORS - 1;
	ev.category = "ring full";
	ev.value = 12;
	watch_event(w, &ev);
	watch_flush(w, true);
	ck_assert_uint_eq(n_lines("\"lost\":12,\"source\":\"net\",\"reason\":\"ring full\""), 1);
}
END_TEST

/* The number behind the one "lost" that there is. */
static uint64_t n_said(void)
{
	const char *at = memmem(taken.data, taken.len, "\"lost\":", 7);

	ck_assert_uint_eq(n_lines("\"lost\":"), 1);
	return strtoull(at + 7, NULL, 10);
}

START_TEST(who_takes_nothing_costs_little_and_is_told_how_much_is_missing)
{
	const struct watch_selection sel = { 0 };
	struct trace_tap_event ev = event(TAP_INSTANT, "markers", "a");
	struct watch_stats stats;
	uint64_t n = 100000, late;

	open_watch(&sel);
	is_stuck = true;
	for (uint64_t i = 0; i < n; i++) {
		watch_event(w, &ev);
		if (i % 1000 == 0)
			watch_flush(w, false);
	}
	is_stuck = false;
	watch_flush(w, false);
	ck_assert_uint_lt(taken.len, 512 * 1024);
	watch_stats(w, &stats);
	ck_assert_uint_gt(stats.n_lost, 0);
	ck_assert_uint_eq(stats.n_lines + stats.n_lost, n);
	ck_assert_uint_eq(n_lines("\"name\":\"a\""), stats.n_lines);
	ck_assert_uint_eq(n_said(), stats.n_lost);

	/* And it goes on behind it. */
	late = taken.len;
	watch_event(w, &ev);
	watch_flush(w, false);
	ck_assert_uint_gt(taken.len, late);
	ck_assert_uint_eq(n_said(), stats.n_lost);
}
END_TEST

/* Lines that come while it is not said yet what is missing are missing, too: order is kept. */
START_TEST(a_line_behind_a_gap_comes_after_its_mark)
{
	const struct watch_selection sel = { 0 };
	struct trace_tap_event ev = event(TAP_INSTANT, "markers", "before");
	const char *mark, *after;

	open_watch(&sel);
	is_stuck = true;
	for (int i = 0; i < 10000; i++)
		watch_event(w, &ev);
	is_stuck = false;
	ev.name = "after";
	watch_event(w, &ev);
	watch_flush(w, true);
	mark = memmem(taken.data, taken.len, "\"lost\":", 7);
	after = memmem(taken.data, taken.len, "\"after\"", 7);
	ck_assert_ptr_nonnull(mark);
	ck_assert_ptr_nonnull(after);
	ck_assert(mark < after);
	ck_assert_uint_eq(n_lines("before") + n_said(), 10000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("watch");
	TCase *tc = tcase_create("watch");
	SRunner *runner;
	int n_failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, without_a_choice_all_is_chosen);
	tcase_add_test(tc, names_categories_and_sources_are_chosen);
	tcase_add_test(tc, sources_alone_say_what_is_recorded);
	tcase_add_test(tc, short_slices_and_all_else_are_left_out);
	tcase_add_test(tc, a_choice_that_is_none_is_refused);
	tcase_add_test(tc, lines_go_when_they_are_flushed);
	tcase_add_test(tc, what_tracer_says_of_itself_is_no_line);
	tcase_add_test(tc, losses_of_sources_are_said_whatever_is_chosen);
	tcase_add_test(tc, who_takes_nothing_costs_little_and_is_told_how_much_is_missing);
	tcase_add_test(tc, a_line_behind_a_gap_comes_after_its_mark);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed > 0;
}
