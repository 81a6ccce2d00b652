/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams with markers: what is taken, what of it is kept, and what is refused. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "markers/markers_json.h"
#include "markers/markers_payload.h"

static struct markers_event ev;

static int parse(const char *text)
{
	int r = markers_json_parse(text, strlen(text), &ev);

	if (r == 0) {
		ev.hdr = (struct event_hdr){ .type = MARKERS_MARK, .tgid = 1, .tid = 1 };
		ev.hdr.size = (uint16_t)(MARKERS_HEAD + ev.len);
		ck_assert(markers_valid(&ev.hdr, ev.hdr.size));
	}
	return r;
}

/* "key=value" of the pair `i`, as a trace has it. */
static const char *pair(unsigned i)
{
	static struct markers_slice slice;
	static char text[512];
	struct markers_keys *keys;
	const struct trace_arg *arg;

	ck_assert_int_eq(markers_keys_new(&keys), 0);
	markers_slice_init(&slice, keys, &ev);
	markers_slice_add(&slice, keys, &ev);
	ck_assert_uint_lt(i, slice.event.n_args);
	arg = &slice.args[i];
	if (arg->type == ARG_STRING)
		snprintf(text, sizeof(text), "%s=%s", arg->name, arg->s);
	else if (arg->type == ARG_DOUBLE)
		snprintf(text, sizeof(text), "%s=%g", arg->name, arg->d);
	else if (arg->type == ARG_UINT)
		snprintf(text, sizeof(text), "%s=%lluu", arg->name, (unsigned long long)arg->u);
	else
		snprintf(text, sizeof(text), "%s=%lld", arg->name, (long long)arg->i);
	markers_keys_free(keys);
	return text;
}

static const char *name(void)
{
	static char text[MARKERS_NAME];

	markers_name(&ev, text);
	return text;
}

START_TEST(a_name_is_enough)
{
	ck_assert_int_eq(parse(" { \"name\" : \"tick\" } \n"), 0);
	ck_assert_str_eq(name(), "tick");
	ck_assert_uint_eq(ev.phase, MARKERS_INSTANT);
	ck_assert_uint_eq(ev.n_args, 0);
}
END_TEST

START_TEST(members_come_in_any_order)
{
	ck_assert_int_eq(
		parse("{\"args\":{\"a\":1,\"b\":\"x\"},\"phase\":\"begin\",\"name\":\"n\"}"), 0);
	ck_assert_str_eq(name(), "n");
	ck_assert_uint_eq(ev.phase, MARKERS_BEGIN);
	ck_assert_str_eq(pair(0), "a=1");
	ck_assert_str_eq(pair(1), "b=x");
}
END_TEST

START_TEST(values_keep_their_types)
{
	ck_assert_int_eq(parse("{\"name\":\"n\",\"args\":{\"i\":-7,\"u\":18446744073709551615,"
			       "\"f\":-2.5e3,\"big\":1e30,\"t\":true,\"no\":false,\"z\":null,"
			       "\"long\":123456789012345678901}}"),
			 0);
	ck_assert_str_eq(pair(0), "i=-7");
	ck_assert_str_eq(pair(1), "u=18446744073709551615u");
	ck_assert_str_eq(pair(2), "f=-2500");
	ck_assert_str_eq(pair(3), "big=1e+30");
	ck_assert_str_eq(pair(4), "t=1");
	ck_assert_str_eq(pair(5), "no=0");
	ck_assert_str_eq(pair(6), "z=null");
	ck_assert_str_eq(pair(7), "long=1.23457e+20");
}
END_TEST

START_TEST(strings_have_escapes)
{
	ck_assert_int_eq(
		parse("{\"name\":\"a\\u00e4\\ud83d\\ude00\\n\\/\",\"args\":{\"k\\t\":\"\\\"\"}}"),
		0);
	ck_assert_str_eq(name(), "a\xc3\xa4\xf0\x9f\x98\x80\n/");
	ck_assert_str_eq(pair(0), "k\t=\"");
}
END_TEST

START_TEST(a_counter_has_a_value)
{
	double d;

	ck_assert_int_eq(parse("{\"name\":\"q\",\"phase\":\"counter\",\"value\":-3}"), 0);
	ck_assert_uint_eq(ev.phase, MARKERS_COUNTER);
	ck_assert_int_eq((int64_t)ev.value, -3);
	ck_assert_int_eq(
		parse("{\"name\":\"q\",\"phase\":\"counter\",\"args\":{\"s\":\"x\",\"v\":0.5}}"),
		0);
	ck_assert_uint_eq(ev.phase, MARKERS_COUNTER_F64);
	memcpy(&d, &ev.value, sizeof(d));
	ck_assert(d > 0.49 && d < 0.51);
	ck_assert_int_eq(
		parse("{\"name\":\"q\",\"phase\":\"counter\",\"value\":18446744073709551615}"), 0);
	memcpy(&d, &ev.value, sizeof(d));
	ck_assert(d > 1.8e19);
	ck_assert_int_eq(parse("{\"name\":\"q\",\"phase\":\"counter\"}"), -EINVAL);
	ck_assert_int_eq(parse("{\"name\":\"q\",\"phase\":\"counter\",\"value\":\"3\"}"), -EINVAL);
}
END_TEST

START_TEST(what_is_asynchronous_has_an_id)
{
	ck_assert_int_eq(parse("{\"name\":\"r\",\"phase\":\"async_begin\",\"id\":7}"), 0);
	ck_assert_uint_eq(ev.phase, MARKERS_ASYNC_BEGIN);
	ck_assert_uint_eq(ev.value, 7);
	ck_assert_int_eq(parse("{\"name\":\"r\",\"phase\":\"async_end\"}"), -EINVAL);
	ck_assert_int_eq(parse("{\"name\":\"r\",\"phase\":\"begin\",\"id\":7}"), -EINVAL);
	ck_assert_int_eq(parse("{\"name\":\"r\",\"phase\":\"async_end\",\"id\":1.5}"), -EINVAL);
}
END_TEST

START_TEST(an_end_needs_no_name)
{
	ck_assert_int_eq(parse("{\"phase\":\"end\"}"), 0);
	ck_assert_uint_eq(ev.phase, MARKERS_END);
	ck_assert_int_eq(parse("{\"phase\":\"begin\"}"), -EINVAL);
	ck_assert_int_eq(parse("{\"name\":\"\"}"), -EINVAL);
}
END_TEST

START_TEST(what_is_no_marker_is_refused)
{
	static const char *const texts[] = {
		"",
		"{",
		"{}",
		"[]",
		"null",
		"{\"name\"}",
		"{\"name\":}",
		"{\"name\":1}",
		"{\"name\":\"n\"",
		"{\"name\":\"n\",}",
		"{\"name\":\"n\"}x",
		"{\"name\":\"n\"}{}",
		"{\"name\":\"n\",\"name\":\"n\"}",
		"{\"name\":\"n\",\"other\":1}",
		"{\"name\":\"n\",\"phase\":\"middle\"}",
		"{\"name\":\"n\",\"phase\":\"\"}",
		"{\"name\":\"n\",\"phase\":null}",
		"{\"name\":\"n\",\"args\":[]}",
		"{\"name\":\"n\",\"args\":{\"a\":{}}}",
		"{\"name\":\"n\",\"args\":{\"a\":[1]}}",
		"{\"name\":\"n\",\"args\":{\"a\":01}}",
		"{\"name\":\"n\",\"args\":{\"a\":1.}}",
		"{\"name\":\"n\",\"args\":{\"a\":-}}",
		"{\"name\":\"n\",\"args\":{\"a\":1e999}}",
		"{\"name\":\"n\",\"args\":{\"a\":nan}}",
		"{\"name\":\"n\",\"args\":{\"a\":tru}}",
		"{\"name\":\"n\",\"args\":{\"a\":1,}}",
		"{\"name\":\"n\",\"value\":1}",
		"{\"name\":\"\\u0000\"}",
		"{\"name\":\"\\ud800\"}",
		"{\"name\":\"\\ud800\\u0041\"}",
		"{\"name\":\"\\x\"}",
		"{\"name\":\"a\nb\"}",
		"{\"name\":\"\xff\"}",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_msg(parse(texts[i]) == -EINVAL, "taken: %s", texts[i]);
	ck_assert_int_eq(markers_json_parse("{\"name\":\"n\0\"}", 13, &ev), -EINVAL);
}
END_TEST

START_TEST(what_is_too_long_is_cut_or_refused)
{
	char text[4096], longer[600];

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	snprintf(text, sizeof(text), "{\"name\":\"%s\"}", longer);
	ck_assert_int_eq(parse(text), -E2BIG);
	snprintf(text, sizeof(text), "{\"name\":\"n\",\"args\":{\"%s\":1}}", longer);
	ck_assert_int_eq(parse(text), -E2BIG);
	snprintf(text, sizeof(text), "{\"name\":\"n\",\"args\":{\"k\":\"%s\"}}", longer);
	ck_assert_int_eq(parse(text), 0);
	ck_assert_uint_eq(ev.flags, MARKERS_CUT);
	ck_assert_uint_eq(strlen(pair(0)), 2 + MARKERS_TEXT - 1);
}
END_TEST

START_TEST(pairs_beyond_the_room_are_left_out)
{
	char text[8192] = "{\"name\":\"n\",\"args\":{\"a\":0", more[400];

	for (int i = 0; i < 20; i++) {
		snprintf(more, sizeof(more), ",\"k%d\":\"%0250d\"", i, i);
		strcat(text, more);
	}
	strcat(text, "}}");
	ck_assert_int_eq(parse(text), 0);
	ck_assert_uint_eq(ev.flags, MARKERS_CUT);
	ck_assert_uint_ge(ev.n_args, 6);
	ck_assert_uint_le(ev.len, MARKERS_ROOM);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("markers_json");
	TCase *tc = tcase_create("markers_json");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, a_name_is_enough);
	tcase_add_test(tc, members_come_in_any_order);
	tcase_add_test(tc, values_keep_their_types);
	tcase_add_test(tc, strings_have_escapes);
	tcase_add_test(tc, a_counter_has_a_value);
	tcase_add_test(tc, what_is_asynchronous_has_an_id);
	tcase_add_test(tc, an_end_needs_no_name);
	tcase_add_test(tc, what_is_no_marker_is_refused);
	tcase_add_test(tc, what_is_too_long_is_cut_or_refused);
	tcase_add_test(tc, pairs_beyond_the_room_are_left_out);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
