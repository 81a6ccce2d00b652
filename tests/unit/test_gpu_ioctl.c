/* SPDX-License-Identifier: Apache-2.0 */
/* Records of ioctls: which are valid, and what becomes of them in a trace. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "clock.h"
#include "gpu/gpu_ioctl.h"
#include "gpu/gpu_links.h"
#include "gpu_events.h"
#include "interp/interpreter.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"
#include "written_trace.h"

#define T0	   start_ns /* the session's */
#define MAX_NAMES  256
#define MAX_SLICES 200

static struct written w;
static struct trace_config config;
static struct symbolizer *symbolizer;
static struct process_table *processes;
static struct interpreter *interpreter;
static struct gpu_links *links;
static struct gpu_ioctls *ioctls;
static uint64_t n_encoded, start_ns;

static void set_up(void)
{
	struct encoder_env env = { .config = &config };

	written_open(&w);
	start_ns = env.start_ns = boot_ns();
	ck_assert_int_eq(symbolizer_new(&symbolizer), 0);
	ck_assert_int_eq(process_table_new(symbolizer, &processes), 0);
	ck_assert_int_eq(interpreter_new(symbolizer, processes, &interpreter), 0);
	ck_assert_int_eq(gpu_links_new(&links), 0);
	env.interpreter = interpreter;
	env.writer = w.writer;
	env.processes = processes;
	env.symbolizer = symbolizer;
	ck_assert_int_eq(gpu_ioctls_new(&env, links, &ioctls), 0);
	n_encoded = 0;
}

static void tear_down(void)
{
	gpu_ioctls_free(ioctls);
	gpu_ioctls_free(NULL);
	gpu_links_free(links);
	gpu_links_free(NULL);
	process_table_free(processes);
	symbolizer_free(symbolizer);
	interpreter_free(interpreter);
	written_done(&w);
}

/* DRM_IOCTL_GEM_CLOSE of the handle 7, which takes 5 us, `us` after the session's start. */
static struct gpu_ioctl_event an_ioctl(uint64_t us)
{
	struct gpu_ioctl_event ev;

	memset(&ev, 0, sizeof(ev));
	ev.enter_ns = T0 + us * 1000;
	ev.hdr.time_ns = ev.enter_ns + 5000;
	ev.hdr.tgid = 1000;
	ev.hdr.tid = 1001;
	ev.hdr.type = GPU_IOCTL;
	ev.hdr.size = GPU_IOCTL_SIZE(8, 0);
	ev.gpu_class = GPU_DRM;
	ev.rdev = 226u << 20 | 3;
	ev.request = _IOW('d', 0x09, char[8]);
	ev.nr = 0x09;
	ev.size = ev.n_in = 8;
	ev.data[0] = 7;
	ev.fd = 9;
	strcpy(ev.driver, "xe");
	return ev;
}

static bool is_valid(const struct gpu_ioctl_event *ev)
{
	return gpu_ioctl_valid(&ev->hdr, ev->hdr.size);
}

static void encode(const struct event_hdr *hdr)
{
	ck_assert(gpu_ioctl_valid(hdr, hdr->size));
	trace_writer_source(w.writer, WRITTEN_SOURCE, hdr->time_ns);
	ck_assert_int_eq(gpu_ioctls_encode(ioctls, hdr), 0);
	n_encoded += hdr->type != GPU_IOCTL_UNFINISHED;
}

static void encode_ioctl(uint64_t us, int64_t ret)
{
	struct gpu_ioctl_event ev = an_ioctl(us);

	ev.ret = ret;
	encode(&ev.hdr);
}

/* ---- what has been written ---- */

struct slice {
	uint64_t begin_ns, end_ns;
	char name[80], args[512];
	const TrackEvent *begin;
};

static struct slice slices[MAX_SLICES];
static size_t n_slices;
static char event_names[MAX_NAMES][80], arg_names[MAX_NAMES][80];

static void read_args(const TrackEvent *te, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < te->n_debug_annotations; i++) {
		const DebugAnnotation *a = te->debug_annotations[i];

		len += (size_t)snprintf(out + len, size - len, "%s%s=", i ? " " : "",
					arg_names[a->name_iid]);
		if (a->string_value)
			len += (size_t)snprintf(out + len, size - len, "%s", a->string_value);
		else if (a->has_bool_value)
			len += (size_t)snprintf(out + len, size - len, "%d", a->bool_value);
		else if (a->has_pointer_value)
			len += (size_t)snprintf(out + len, size - len, "0x%" PRIx64,
						a->pointer_value);
		else if (a->has_uint_value)
			len += (size_t)snprintf(out + len, size - len, "%" PRIu64, a->uint_value);
		else
			len += (size_t)snprintf(out + len, size - len, "%" PRId64, a->int_value);
		ck_assert_uint_lt(len, size);
	}
}

static void learn_names(const InternedData *in)
{
	for (size_t i = 0; i < in->n_event_names; i++) {
		ck_assert_uint_lt(in->event_names[i]->iid, MAX_NAMES);
		strcpy(event_names[in->event_names[i]->iid], in->event_names[i]->name);
	}
	for (size_t i = 0; i < in->n_debug_annotation_names; i++) {
		ck_assert_uint_lt(in->debug_annotation_names[i]->iid, MAX_NAMES);
		strcpy(arg_names[in->debug_annotation_names[i]->iid],
		       in->debug_annotation_names[i]->name);
	}
}

/* All that has been given, to the end, becomes `slices`; each event is accounted for. */
static void finish(void)
{
	const TracePacket *pkt;

	trace_writer_source(w.writer, WRITTEN_SOURCE, T0);
	ck_assert_int_eq(gpu_ioctls_flush(ioctls, T0, true), 0);
	ck_assert(!gpu_ioctls_pending(ioctls));
	written_read(&w);
	written_assert_account(&w, n_encoded);
	for (size_t i = 0; (pkt = written_packet(&w, SEQ_EVENTS, i)); i++) {
		if (pkt->interned_data)
			learn_names(pkt->interned_data);
		if (pkt->track_event->type == 2) {
			slices[n_slices++].end_ns = pkt->timestamp;
			continue;
		}
		ck_assert_uint_lt(n_slices, MAX_SLICES);
		slices[n_slices].begin = pkt->track_event;
		slices[n_slices].begin_ns = pkt->timestamp;
		strcpy(slices[n_slices].name, event_names[pkt->track_event->name_iid]);
		read_args(pkt->track_event, slices[n_slices].args, sizeof(slices[0].args));
	}
	written_assert_good(&w);
}

/* ---- what is a record? ---- */

START_TEST(records_have_the_size_of_what_is_in_them)
{
	struct gpu_ioctl_event ev = an_ioctl(0);

	ck_assert(is_valid(&ev));
	ck_assert(!gpu_ioctl_valid(&ev.hdr, ev.hdr.size - 8u));
	ck_assert(!gpu_ioctl_valid(&ev.hdr, ev.hdr.size + 8u));
	ck_assert(!gpu_ioctl_valid(&ev.hdr, sizeof(ev.hdr)));
	ev.n_in = 9;
	ck_assert(!is_valid(&ev));
	ev.hdr.size = GPU_IOCTL_SIZE(9, 0);
	ck_assert(is_valid(&ev));
	ev.n_out = 96;
	ck_assert(!is_valid(&ev));
	ev.hdr.size = GPU_IOCTL_SIZE(9, 96);
	ck_assert(is_valid(&ev));
	ev.n_out = 97;
	ev.hdr.size = GPU_IOCTL_SIZE(9, 97);
	ck_assert(!is_valid(&ev));
}
END_TEST

START_TEST(records_that_cannot_be_are_not_valid)
{
	struct gpu_ioctl_event good = an_ioctl(0), ev;

#define BAD(field, value)                                           \
	do {                                                        \
		ev = good;                                          \
		ev.field = (value);                                 \
		ck_assert_msg(!is_valid(&ev), #field " = " #value); \
	} while (0)
	BAD(hdr.type, 0);
	BAD(hdr.type, GPU_JOBS_FIRST);
	BAD(hdr.type, GPU_IOCTL_STACK); /* it would be longer */
	BAD(hdr.tgid, 0);
	BAD(hdr.tid, 0);
	BAD(enter_ns, ev.hdr.time_ns + 1);
	BAD(gpu_class, GPU_NONE);
	BAD(gpu_class, N_GPU_CLASSES);
	BAD(ioctl_class, N_GPU_IOCTL_CLASSES);
	BAD(flags, 0x80);
#undef BAD
	ev = good;
	memset(ev.driver, 'x', sizeof(ev.driver));
	ck_assert(!is_valid(&ev));
}
END_TEST

#define STACK_HEAD	(sizeof(struct gpu_ioctl_event) + USER_STACK_HEAD)
#define STACK_COPY_HEAD (sizeof(struct gpu_ioctl_event) + USER_STACK_COPY_HEAD)

static struct gpu_ioctl_stack_event with_stack(uint64_t us)
{
	static struct gpu_ioctl_stack_event ev;

	memset(&ev, 0, sizeof(ev));
	ev.ioctl = an_ioctl(us);
	ev.ioctl.hdr.type = GPU_IOCTL_STACK;
	ev.user.n_user = 2;
	ev.user.ips[0] = 0x7fff00000010;
	ev.user.ips[1] = 0x7fff00000021;
	ev.ioctl.hdr.size = STACK_HEAD + 2 * 8;
	return ev;
}

START_TEST(stacks_are_whole_or_not_valid)
{
	struct gpu_ioctl_stack_event ev = with_stack(0), good = ev;

	ck_assert(is_valid(&ev.ioctl));
	ev.user.n_user = 3;
	ck_assert(!is_valid(&ev.ioctl));
	ev.user.n_user = 0;
	ck_assert(!is_valid(&ev.ioctl));
	ev.user.n_user = UINT32_MAX;
	ck_assert(!is_valid(&ev.ioctl));
	ev = good;
	ev.user.end = UNWIND_ENDS;
	ck_assert(!is_valid(&ev.ioctl));
	ev = good;
	ev.user.has_copy = 1;
	ck_assert(!is_valid(&ev.ioctl));
	ev.ioctl.hdr.size = STACK_COPY_HEAD + 64;
	ev.user.copy.len = 64;
	ck_assert(is_valid(&ev.ioctl));
	ev.user.copy.len = 65;
	ck_assert(!is_valid(&ev.ioctl));
	ev = good;
	ev.user.python = 1;
	ck_assert(!is_valid(&ev.ioctl));
	ev.ioctl.hdr.size += 8;
	ck_assert(is_valid(&ev.ioctl));
	ck_assert(!gpu_ioctl_valid(&ev.ioctl.hdr, GPU_IOCTL_SIZE(8, 0)));
}
END_TEST

/* ---- slices ---- */

START_TEST(an_ioctl_is_a_slice_on_its_threads_track)
{
	encode_ioctl(10, 0);
	finish();
	ck_assert_uint_eq(n_slices, 1);
	ck_assert_str_eq(slices[0].name, "DRM_IOCTL_GEM_CLOSE");
	ck_assert_str_eq(slices[0].args, "driver=xe class=mem minor=3 fd=9 handle=7");
	ck_assert_uint_eq(slices[0].begin_ns, T0 + 10000);
	ck_assert_uint_eq(slices[0].end_ns, T0 + 15000);
	ck_assert_uint_eq(slices[0].begin->callstack_iid, 0);
}
END_TEST

START_TEST(without_a_name_from_the_kernel_the_subsystem_has_one)
{
	/* More devices than are remembered, and none that this machine has. */
	for (uint32_t i = 0; i < 100; i++) {
		struct gpu_ioctl_event ev = an_ioctl(10 * i);

		ev.driver[0] = '\0';
		ev.rdev = 226u << 20 | (900000 + i);
		encode(&ev.hdr);
	}
	finish();
	ck_assert_uint_eq(n_slices, 100);
	ck_assert_str_eq(slices[99].args, "driver=drm class=mem minor=900099 fd=9 handle=7");
}
END_TEST

START_TEST(what_began_before_the_session_begins_with_it)
{
	struct gpu_ioctl_event ev = an_ioctl(0);

	ev.enter_ns = T0 - NS_PER_SEC;
	encode(&ev.hdr);
	ev.hdr.time_ns = T0 - 1; /* and this one was over */
	encode(&ev.hdr);
	ev = an_ioctl(100);
	ev.flags = GPU_ENTERED_BEFORE;
	encode(&ev.hdr);
	finish();
	ck_assert_uint_eq(n_slices, 2);
	ck_assert_uint_eq(slices[0].begin_ns, T0);
	ck_assert_ptr_nonnull(strstr(slices[0].args, "entered_before=1"));
	ck_assert_ptr_nonnull(strstr(slices[1].args, "entered_before=1"));
}
END_TEST

START_TEST(what_has_not_returned_is_no_event)
{
	struct gpu_ioctl_event ev = an_ioctl(10);

	ev.hdr.type = GPU_IOCTL_UNFINISHED;
	encode(&ev.hdr);
	ck_assert_uint_eq(n_encoded, 0);
	finish();
	ck_assert_uint_eq(n_slices, 1);
	ck_assert_ptr_nonnull(strstr(slices[0].args, "unfinished=1"));
}
END_TEST

START_TEST(queries_that_were_counted_are_said_with_the_next_one)
{
	struct gpu_ioctl_event ev = an_ioctl(10);

	ev.n_skipped = 12;
	ev.ret = -2;
	encode(&ev.hdr);
	finish();
	ck_assert_ptr_nonnull(strstr(slices[0].args, "handle=7 error=ENOENT queries_before=12"));
}
END_TEST

/* ---- stacks ---- */

START_TEST(a_stack_belongs_to_its_slice)
{
	struct gpu_ioctl_stack_event ev = with_stack(10);

	encode(&ev.ioctl.hdr);
	finish();
	ck_assert_uint_eq(n_slices, 1);
	ck_assert_uint_ne(slices[0].begin->callstack_iid, 0);
	ck_assert_double_eq(slices[0].begin->callstack_weight, 5000);
	ck_assert_uint_eq(gpu_ioctls_stack_ends(ioctls)[UNWIND_COMPLETE], 1);
	ck_assert_str_eq(slices[0].args, "driver=xe class=mem minor=3 fd=9 handle=7");
}
END_TEST

/* ---- those that are repeated ---- */

START_TEST(a_storm_of_retries_is_one_slice)
{
	for (uint64_t i = 0; i < 1000; i++)
		encode_ioctl(10 + 10 * i, i % 2 ? -4 : -11);
	encode_ioctl(10010, 0);
	finish();
	ck_assert_uint_eq(n_slices, 1);
	ck_assert_uint_eq(slices[0].begin_ns, T0 + 10000);
	ck_assert_uint_eq(slices[0].end_ns, T0 + 10015000);
	ck_assert_str_eq(slices[0].args, "driver=xe class=mem minor=3 fd=9 handle=7 retries=1000");
}
END_TEST

START_TEST(one_that_never_gets_through_is_written_too)
{
	encode_ioctl(10, -11);
	encode_ioctl(20, -11);
	finish();
	ck_assert_uint_eq(n_slices, 1);
	ck_assert_ptr_nonnull(strstr(slices[0].args, "error=EAGAIN retries=1"));
}
END_TEST

START_TEST(another_ioctl_ends_a_storm)
{
	struct gpu_ioctl_event ev = an_ioctl(30);

	encode_ioctl(10, -11);
	encode_ioctl(20, -11);
	ev.fd = 10;
	encode(&ev.hdr);
	encode_ioctl(40, -11);
	finish();
	ck_assert_uint_eq(n_slices, 3);
	ck_assert_ptr_nonnull(strstr(slices[0].args, "retries=1"));
	ck_assert_ptr_nonnull(strstr(slices[1].args, "fd=10"));
	ck_assert_ptr_null(strstr(slices[2].args, "retries"));
}
END_TEST

START_TEST(what_is_repeated_much_later_is_another_one)
{
	encode_ioctl(10, -11);
	encode_ioctl(5000, -11);
	finish();
	ck_assert_uint_eq(n_slices, 2);
	ck_assert_ptr_null(strstr(slices[0].args, "retries"));
	ck_assert_ptr_null(strstr(slices[1].args, "retries"));
}
END_TEST

START_TEST(a_storm_that_is_over_does_not_wait_for_ever)
{
	encode_ioctl(10, -11);
	trace_writer_source(w.writer, WRITTEN_SOURCE, T0);
	ck_assert_int_eq(gpu_ioctls_flush(ioctls, T0 + 20000, false), 0);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS), 0);
	ck_assert_int_eq(gpu_ioctls_flush(ioctls, T0 + NS_PER_SEC, false), 0);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS), 2);
}
END_TEST

START_TEST(more_storms_than_there_is_room_for)
{
	for (uint32_t i = 0; i < 100; i++) {
		struct gpu_ioctl_event ev = an_ioctl(10 + i);

		ev.hdr.tid = 2000 + i;
		ev.ret = -512;
		encode(&ev.hdr);
		ev = an_ioctl(20 + i);
		ev.hdr.tid = 2000 + i;
		encode(&ev.hdr);
	}
	finish();
	ck_assert_uint_eq(n_slices, 100);
	for (uint32_t i = 0; i < 200; i++) {
		struct gpu_ioctl_event ev = an_ioctl(1000 + i);

		ev.hdr.tid = 3000 + i;
		ev.ret = -512;
		encode(&ev.hdr);
	}
	ck_assert_int_eq(gpu_ioctls_flush(ioctls, T0, true), 0);
	written_read(&w);
	ck_assert_uint_eq(written_count(&w, SEQ_EVENTS), 2 * (100 + 200));
}
END_TEST

/* ---- what it has set going ---- */

START_TEST(flows_of_its_jobs_begin_in_the_slice)
{
	struct gpu_ioctl_event ev = an_ioctl(10);

	gpu_links_add(links, ev.hdr.tid, ev.enter_ns, GPU_LINK_STARTS, 71);
	gpu_links_add(links, ev.hdr.tid, ev.enter_ns, GPU_LINK_STARTS, 72);
	gpu_links_add(links, ev.hdr.tid, ev.enter_ns, GPU_LINK_ENDS, 73);
	gpu_links_add(links, 555, ev.enter_ns, GPU_LINK_STARTS, 74); /* another thread's */
	encode(&ev.hdr);
	ev = an_ioctl(20);
	encode(&ev.hdr);
	finish();
	ck_assert_uint_eq(n_slices, 2);
	ck_assert_uint_eq(slices[0].begin->n_flow_ids, 2);
	ck_assert_uint_eq(slices[0].begin->flow_ids[1], 72);
	ck_assert_uint_eq(slices[0].begin->n_terminating_flow_ids, 1);
	ck_assert_uint_eq(slices[0].begin->terminating_flow_ids[0], 73);
	ck_assert_uint_eq(slices[1].begin->n_flow_ids, 0);
}
END_TEST

START_TEST(flows_go_to_the_call_that_they_are_of)
{
	struct gpu_link_set set;

	gpu_links_add(links, 1, 100, GPU_LINK_STARTS, 71);
	gpu_links_take(links, 1, 200, &set); /* the record of the first was lost */
	ck_assert_uint_eq(set.n_starts, 0);
	gpu_links_add(links, 1, 300, GPU_LINK_STARTS, 72);
	gpu_links_add(links, 1, 400, GPU_LINK_STARTS, 73);
	gpu_links_take(links, 1, 400, &set);
	ck_assert_uint_eq(set.n_starts, 1);
	ck_assert_uint_eq(set.starts[0], 73);
	gpu_links_take(links, 1, 400, &set);
	ck_assert_uint_eq(set.n_starts, 0);
	for (uint64_t i = 1; i <= 100; i++)
		gpu_links_add(links, 1, 500, GPU_LINK_ENDS, i);
	gpu_links_take(links, 1, 500, &set);
	ck_assert_uint_eq(set.n_ends, GPU_MAX_LINKS);
	/* More threads than there is room for: the oldest are left out. */
	for (uint32_t i = 1; i <= 1000; i++)
		gpu_links_add(links, i, 600, GPU_LINK_STARTS, i);
	gpu_links_take(links, 1, 600, &set);
	ck_assert_uint_eq(set.n_starts, 0);
	gpu_links_take(links, 1000, 600, &set);
	ck_assert_uint_eq(set.n_starts, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_ioctl");
	TCase *tc = tcase_create("ioctl");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, records_have_the_size_of_what_is_in_them);
	tcase_add_test(tc, records_that_cannot_be_are_not_valid);
	tcase_add_test(tc, stacks_are_whole_or_not_valid);
	tcase_add_test(tc, an_ioctl_is_a_slice_on_its_threads_track);
	tcase_add_test(tc, without_a_name_from_the_kernel_the_subsystem_has_one);
	tcase_add_test(tc, what_began_before_the_session_begins_with_it);
	tcase_add_test(tc, what_has_not_returned_is_no_event);
	tcase_add_test(tc, queries_that_were_counted_are_said_with_the_next_one);
	tcase_add_test(tc, a_stack_belongs_to_its_slice);
	tcase_add_test(tc, a_storm_of_retries_is_one_slice);
	tcase_add_test(tc, one_that_never_gets_through_is_written_too);
	tcase_add_test(tc, another_ioctl_ends_a_storm);
	tcase_add_test(tc, what_is_repeated_much_later_is_another_one);
	tcase_add_test(tc, a_storm_that_is_over_does_not_wait_for_ever);
	tcase_add_test(tc, more_storms_than_there_is_room_for);
	tcase_add_test(tc, flows_of_its_jobs_begin_in_the_slice);
	tcase_add_test(tc, flows_go_to_the_call_that_they_are_of);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
