/* SPDX-License-Identifier: Apache-2.0 */
/* Records of markers: which are valid, and what becomes of them in a trace. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "markers/markers_encode.h"
#include "markers/markers_json.h"
#include "markers/markers_stacks.h"
#include "process/process_table.h"
#include "written_trace.h"

/* The session's start; the head of the trace is a little older. */
static uint64_t t0;

#define US ((uint64_t)1000)

static struct written w;
static struct trace_config config;
static struct process_table *processes;
static void *encoder;
static uint64_t n_encoded, now_ns;

static void set_up(void)
{
	struct encoder_env env = { .config = &config };

	n_encoded = 0;
	written_open(&w);
	env.start_ns = now_ns = t0 = boot_ns();
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	trace_writer_source(w.writer, WRITTEN_SOURCE, t0);
	env.writer = w.writer;
	env.processes = processes;
	ck_assert_int_eq(markers_encoder_new(&env, &encoder), 0);
}

static void tear_down(void)
{
	markers_encoder_free(encoder);
	process_table_free(processes);
	written_done(&w);
}

/* What such a datagram would be, 10 us after the last one. */
static struct markers_event *made(uint32_t tid, const char *json)
{
	static struct markers_event ev;

	ck_assert_int_eq(markers_json_parse(json, strlen(json), &ev), 0);
	now_ns += 10 * US;
	ev.hdr = (struct event_hdr){
		.time_ns = now_ns,
		.type = MARKERS_MARK,
		.tgid = 1000,
		.tid = tid,
	};
	ev.hdr.size = (uint16_t)(MARKERS_HEAD + ev.len);
	return &ev;
}

static void encode(const struct markers_event *ev)
{
	ck_assert(markers_valid(&ev->hdr, ev->hdr.size));
	ck_assert_int_eq(markers_encode(encoder, &ev->hdr), 0);
	n_encoded++;
}

static void mark(uint32_t tid, const char *json)
{
	encode(made(tid, json));
}

static void stop(void)
{
	struct event_hdr hdr = { .type = MARKERS_STOP, .size = sizeof(hdr) };

	now_ns += 10 * US;
	hdr.time_ns = now_ns;
	ck_assert_int_eq(markers_encode(encoder, &hdr), 0);
	ck_assert_int_eq(markers_encoder_flush(encoder, now_ns, true), 0);
}

/* ---- reading back ---- */

static char names[3][64][64]; /* events, arguments, by iid */
static char text[8192];

static void learn(const InternedData *in)
{
	for (size_t i = 0; in && i < in->n_event_names; i++)
		strcpy(names[0][in->event_names[i]->iid], in->event_names[i]->name);
	for (size_t i = 0; in && i < in->n_debug_annotation_names; i++)
		strcpy(names[1][in->debug_annotation_names[i]->iid],
		       in->debug_annotation_names[i]->name);
}

static size_t add_arg(size_t len, const DebugAnnotation *a)
{
	char *out = text + len;
	size_t size = sizeof(text) - len;
	const char *name = names[1][a->name_iid];

	if (a->string_value)
		return (size_t)snprintf(out, size, " %s=%s", name, a->string_value);
	if (a->has_bool_value)
		return (size_t)snprintf(out, size, " %s=%s", name,
					a->bool_value ? "true" : "false");
	if (a->has_double_value)
		return (size_t)snprintf(out, size, " %s=%g", name, a->double_value);
	if (a->has_uint_value)
		return (size_t)snprintf(out, size, " %s=%" PRIu64, name, a->uint_value);
	return (size_t)snprintf(out, size, " %s=%" PRId64, name, a->int_value);
}

/* "TRACK TYPE@US NAME ARG=VALUE...; ..." of all events, in the order of the file. */
static const char *written(void)
{
	size_t len = 0;

	written_read(&w);
	written_assert_account(&w, n_encoded);
	text[0] = '\0';
	for (size_t i = 0; i < w.n; i++) {
		const TrackEvent *te = w.packets[i]->track_event;
		const TrackDescriptor *d;

		if (w.packets[i]->trusted_packet_sequence_id == SEQ_EVENTS)
			learn(w.packets[i]->interned_data);
		if (!te)
			continue;
		d = written_track(&w, te->track_uuid);
		ck_assert(d);
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "%s%s %c@%" PRIu64 " ", len ? "; " : "",
			d->thread ? (d->thread->tid == 1001 ? "main" : "other") : d->name,
			"?BEIC"[te->type], (w.packets[i]->timestamp - t0) / US);
		if (te->type == 4 && te->has_double_counter_value)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%g",
						te->double_counter_value);
		else if (te->type == 4)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%" PRId64,
						te->counter_value);
		else if (te->type != 2)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s",
						names[0][te->name_iid]);
		else
			text[--len] = '\0';
		for (size_t k = 0; k < te->n_debug_annotations; k++)
			len += add_arg(len, te->debug_annotations[k]);
		ck_assert_uint_lt(len, sizeof(text));
	}
	written_assert_good(&w);
	return text;
}

/* ---- slices ---- */

START_TEST(a_slice_has_the_payload_of_both_ends)
{
	mark(1001,
	     "{\"name\":\"a\",\"phase\":\"begin\",\"args\":{\"i\":-1,\"s\":\"x\",\"f\":0.5}}");
	mark(1001, "{\"name\":\"a\",\"phase\":\"end\",\"args\":{\"ok\":true}}");
	stop();
	ck_assert_str_eq(written(), "main B@10 a i=-1 s=x f=0.5 ok=true; main E@20");
}
END_TEST

START_TEST(slices_nest_and_threads_do_not_mix)
{
	mark(1001, "{\"name\":\"a\",\"phase\":\"begin\"}");
	mark(1002, "{\"name\":\"a\",\"phase\":\"begin\"}");
	mark(1001, "{\"name\":\"b\",\"phase\":\"begin\"}");
	mark(1002, "{\"name\":\"a\",\"phase\":\"end\"}");
	mark(1001, "{\"name\":\"i\"}");
	mark(1001, "{\"phase\":\"end\"}");
	mark(1001, "{\"name\":\"a\",\"phase\":\"end\"}");
	stop();
	ck_assert_str_eq(written(), "other B@20 a; other E@40; main I@50 i; main B@30 b; "
				    "main E@60; main B@10 a; main E@70");
}
END_TEST

START_TEST(an_end_without_a_begin_is_counted)
{
	mark(1001, "{\"name\":\"a\",\"phase\":\"end\"}");
	mark(1001, "{\"name\":\"b\",\"phase\":\"begin\"}");
	mark(1001, "{\"name\":\"a\",\"phase\":\"end\"}");
	mark(1001, "{\"name\":\"b\",\"phase\":\"end\"}");
	mark(1001, "{\"phase\":\"end\"}");
	stop();
	ck_assert_str_eq(written(),
			 "main B@20 b; main E@40; Markers I@60 ends without a begin count=3");
}
END_TEST

START_TEST(what_is_open_is_unfinished)
{
	mark(1001, "{\"name\":\"a\",\"phase\":\"begin\"}");
	mark(1001, "{\"name\":\"b\",\"phase\":\"begin\"}");
	mark(1001, "{\"name\":\"c\",\"phase\":\"begin\"}");
	mark(1001, "{\"name\":\"b\",\"phase\":\"end\"}");
	stop();
	/* The thread is not known any more: its last marker is the last that is known of it. */
	ck_assert_str_eq(written(), "main B@30 c unfinished=true; main E@40; main B@20 b; "
				    "main E@40; main B@10 a unfinished=true; main E@40");
}
END_TEST

START_TEST(what_is_too_deep_is_counted_and_the_rest_is_right)
{
	uint64_t n_told = 0;

	for (int i = 0; i < MARKERS_DEPTH + 10; i++)
		mark(1001, "{\"name\":\"a\",\"phase\":\"begin\"}");
	for (int i = 0; i < MARKERS_DEPTH + 10; i++)
		mark(1001, "{\"name\":\"a\",\"phase\":\"end\"}");
	stop();
	written_read(&w);
	written_assert_account(&w, n_encoded);
	written_assert_good(&w);
	for (size_t i = 0; i < w.n; i++)
		if (w.packets[i]->track_event && w.packets[i]->track_event->type == 3)
			n_told = w.packets[i]->track_event->debug_annotations[0]->uint_value;
	ck_assert_uint_eq(n_told, 20);
}
END_TEST

/* ---- processes ---- */

START_TEST(counters_are_of_the_process)
{
	mark(1001, "{\"name\":\"q\",\"phase\":\"counter\",\"value\":-3}");
	mark(1002, "{\"name\":\"q\",\"phase\":\"counter\",\"value\":0.5}");
	stop();
	ck_assert_str_eq(written(), "q C@10 -3; q C@20 0.5");
}
END_TEST

START_TEST(asynchronous_slices_overlap_and_end_anywhere)
{
	mark(1001, "{\"name\":\"r\",\"phase\":\"async_begin\",\"id\":1}");
	mark(1001, "{\"name\":\"r\",\"phase\":\"async_begin\",\"id\":2}");
	mark(1002, "{\"name\":\"r\",\"phase\":\"async_end\",\"id\":1,\"args\":{\"k\":1}}");
	mark(1002, "{\"name\":\"r\",\"phase\":\"async_end\",\"id\":3}");
	mark(1002, "{\"name\":\"r\",\"phase\":\"async_end\",\"id\":2}");
	mark(1002, "{\"name\":\"r\",\"phase\":\"async_begin\",\"id\":4}");
	stop();
	ck_assert_str_eq(written(), "r B@10 r k=1; r E@30; r B@20 r; r E@50; "
				    "r B@60 r unfinished=true; r E@70; "
				    "Markers I@70 ends without a begin count=1");
}
END_TEST

START_TEST(datagrams_have_a_track_of_their_own_and_keep_their_order)
{
	for (int i = 0; i < 3; i++) {
		struct markers_event *ev =
			made(1000, i % 2 ? "{\"phase\":\"end\"}"
					 : "{\"name\":\"d\",\"phase\":\"begin\"}");

		ev->flags |= MARKERS_SOCKET;
		ev->hdr.time_ns = t0 + 5 * US; /* all at once */
		encode(ev);
	}
	mark(1000, "{\"name\":\"t\",\"phase\":\"begin\"}");
	mark(1000, "{\"name\":\"t\",\"phase\":\"end\"}");
	stop();
	ck_assert_ptr_nonnull(strstr(written(), "markers B@5 d; markers E@5; other B@40 t; "));
}
END_TEST

START_TEST(refused_datagrams_are_counted)
{
	struct markers_event ev = { .hdr = { .time_ns = t0 + US,
					     .type = MARKERS_REFUSED,
					     .tgid = 1,
					     .tid = 1,
					     .size = MARKERS_HEAD } };

	encode(&ev);
	encode(&ev);
	stop();
	ck_assert_str_eq(written(), "Markers I@10 datagrams that are no markers count=2");
}
END_TEST

/* ---- records ---- */

START_TEST(records_that_cannot_be_are_not_valid)
{
	struct markers_event good = *made(1001, "{\"name\":\"abc\",\"args\":{\"k\":\"text\"}}"), ev;
	uint16_t size = good.hdr.size;
	struct markers_arg *arg = (void *)(ev.bytes + 8);

	ck_assert(markers_valid(&good.hdr, size));
	ck_assert(!markers_valid(&good.hdr, size - 1u));
	ck_assert(!markers_valid(&good.hdr, sizeof(struct event_hdr)));
#define BAD(change)                                                    \
	do {                                                           \
		ev = good;                                             \
		change;                                                \
		ck_assert_msg(!markers_valid(&ev.hdr, size), #change); \
	} while (0)
	BAD(ev.hdr.type = 0);
	BAD(ev.hdr.type = MARKERS_STOP);
	BAD(ev.hdr.tid = 0);
	BAD(ev.hdr.tgid = 0);
	BAD(ev.hdr.stream = 1);
	BAD(ev.hdr.cpu = 0xffff);
	BAD(ev.phase = N_MARKERS_PHASES);
	BAD(ev.flags = 0x80);
	BAD(ev.n_args = 2);
	BAD(ev.n_args = 0);
	BAD(ev.name_len = 100);
	BAD(ev.len = 8);
	BAD(ev.len = 0xffffffff);
	BAD(arg->key_len = 40);
	BAD(arg->key_len = MARKERS_KEY);
	BAD(arg->text_len = 0xffff);
	BAD(arg->pad = 1);
	BAD(arg->value = 1);
	BAD(arg->type = MARKERS_I64);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("markers_encode");
	TCase *tc = tcase_create("markers_encode");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_slice_has_the_payload_of_both_ends);
	tcase_add_test(tc, slices_nest_and_threads_do_not_mix);
	tcase_add_test(tc, an_end_without_a_begin_is_counted);
	tcase_add_test(tc, what_is_open_is_unfinished);
	tcase_add_test(tc, what_is_too_deep_is_counted_and_the_rest_is_right);
	tcase_add_test(tc, counters_are_of_the_process);
	tcase_add_test(tc, asynchronous_slices_overlap_and_end_anywhere);
	tcase_add_test(tc, datagrams_have_a_track_of_their_own_and_keep_their_order);
	tcase_add_test(tc, refused_datagrams_are_counted);
	tcase_add_test(tc, records_that_cannot_be_are_not_valid);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
