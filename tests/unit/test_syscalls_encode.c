/* SPDX-License-Identifier: Apache-2.0 */
/* Records of system calls: which are valid, and what becomes of them in a trace. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "collect/syscalls_encode.h"
#include "process/process_table.h"
#include "process/process_table_update.h"
#include "syscalls_events.h"
#include "written_trace.h"

#define T0	   (100 * NS_PER_SEC) /* the session's start */
#define MAX_SLICES 64
#define MAX_NAMES  256

static struct written w;
static struct trace_config config;
static struct process_table *processes;
static void *encoder;
static uint64_t n_encoded;

static void set_up(void)
{
	struct encoder_env env = { .config = &config, .start_ns = T0 };

	n_encoded = 0;
	written_open(&w);
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	trace_writer_source(w.writer, WRITTEN_SOURCE, T0);
	env.writer = w.writer;
	env.processes = processes;
	ck_assert_int_eq(syscalls_encoder_new(&env, &encoder), 0);
}

static void tear_down(void)
{
	syscalls_encoder_free(encoder);
	process_table_free(processes);
	written_done(&w);
}

/* A connected TCP socket's sendto() of 100 bytes, 5 us long. */
static struct syscalls_event an_event(void)
{
	struct syscalls_event ev;

	memset(&ev, 0, sizeof(ev));
	ev.hdr.time_ns = T0 + 10000;
	ev.hdr.tgid = 1000;
	ev.hdr.tid = 1001;
	ev.hdr.type = SYSCALLS_CALL;
	ev.hdr.size = sizeof(ev);
	ev.call.enter_ns = T0 + 5000;
	ev.call.call = CALL_SENDTO;
	ev.call.fd = 7;
	ev.call.ret = 100;
	ev.call.flags = CALL_SOCKET_KNOWN;
	ev.call.family = ev.call.addr_family = AF_INET;
	ev.call.sock_type = SOCK_STREAM;
	ev.call.protocol = IPPROTO_TCP;
	inet_pton(AF_INET, "10.0.0.1", ev.call.inet.local);
	inet_pton(AF_INET, "10.0.0.2", ev.call.inet.peer);
	ev.call.inet.local_port = 40000;
	ev.call.inet.peer_port = 80;
	return ev;
}

static struct syscalls_event a_wait(uint8_t call, int fd, int64_t timeout_ns, int64_t ret)
{
	struct syscalls_event ev = an_event();

	memset(&ev.call, 0, sizeof(ev.call));
	ev.call.enter_ns = T0 + 5000;
	ev.call.call = call;
	ev.call.fd = fd;
	ev.call.ret = ret;
	ev.call.wait.n_fds = 3;
	ev.call.wait.timeout_ns = timeout_ns;
	return ev;
}

static bool is_valid(struct syscalls_event ev)
{
	return syscalls_valid(&ev.hdr, sizeof(ev));
}

/* ---- reading back ---- */

struct slice {
	char name[128], category[16], args[512]; /* "fd=7 proto=tcp bytes=100" */
	uint64_t begin_ns, end_ns, track;
};

static struct slice slices[MAX_SLICES];
static size_t n_slices, n_open;

struct names {
	char text[MAX_NAMES][128];
};

static struct names event_names, categories, arg_names;

static void learn(struct names *names, uint64_t iid, const char *name)
{
	ck_assert_uint_lt(iid, MAX_NAMES);
	snprintf(names->text[iid], sizeof(names->text[iid]), "%s", name);
}

static const char *known(const struct names *names, uint64_t iid)
{
	ck_assert_uint_lt(iid, MAX_NAMES);
	ck_assert_msg(names->text[iid][0], "name %" PRIu64 " was not interned", iid);
	return names->text[iid];
}

static void read_args(const TrackEvent *te, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	for (size_t i = 0; i < te->n_debug_annotations; i++) {
		const DebugAnnotation *a = te->debug_annotations[i];
		const char *name = known(&arg_names, a->name_iid);

		len += (size_t)snprintf(out + len, size - len, "%s%s=", i ? " " : "", name);
		if (a->string_value)
			len += (size_t)snprintf(out + len, size - len, "%s", a->string_value);
		else if (a->has_bool_value)
			len += (size_t)snprintf(out + len, size - len, "%s",
						a->bool_value ? "true" : "false");
		else if (a->has_pointer_value)
			len += (size_t)snprintf(out + len, size - len, "0x%" PRIx64,
						a->pointer_value);
		else
			len += (size_t)snprintf(out + len, size - len, "%" PRId64, a->int_value);
		ck_assert_uint_lt(len, size);
	}
}

static void read_event(const TracePacket *pkt)
{
	const TrackEvent *te = pkt->track_event;

	if (te->type == 2) { /* END of the innermost, of which there is only one */
		ck_assert_uint_eq(n_open, 1);
		ck_assert_uint_eq(te->track_uuid, slices[n_slices].track);
		ck_assert(!te->has_name_iid);
		slices[n_slices++].end_ns = pkt->timestamp;
		n_open = 0;
		return;
	}
	ck_assert_int_eq(te->type, 1);
	ck_assert_uint_lt(n_slices, MAX_SLICES);
	ck_assert_uint_eq(n_open++, 0);
	ck_assert_uint_eq(te->n_category_iids, 1);
	slices[n_slices].begin_ns = pkt->timestamp;
	slices[n_slices].track = te->track_uuid;
	strcpy(slices[n_slices].name, known(&event_names, te->name_iid));
	snprintf(slices[n_slices].category, sizeof(slices[n_slices].category), "%s",
		 known(&categories, te->category_iids[0]));
	read_args(te, slices[n_slices].args, sizeof(slices[n_slices].args));
}

static void read_packet(const TracePacket *pkt)
{
	const InternedData *in = pkt->interned_data;

	if (in && pkt->trusted_packet_sequence_id == SEQ_EVENTS) {
		for (size_t i = 0; i < in->n_event_names; i++)
			learn(&event_names, in->event_names[i]->iid, in->event_names[i]->name);
		for (size_t i = 0; i < in->n_event_categories; i++)
			learn(&categories, in->event_categories[i]->iid,
			      in->event_categories[i]->name);
		for (size_t i = 0; i < in->n_debug_annotation_names; i++)
			learn(&arg_names, in->debug_annotation_names[i]->iid,
			      in->debug_annotation_names[i]->name);
	}
	if (pkt->track_event)
		read_event(pkt);
}

/* Everything written so far becomes `slices`; each event is accounted for. */
static void finish(void)
{
	written_read(&w);
	written_assert_account(&w, n_encoded);
	for (size_t i = 0; i < w.n; i++)
		read_packet(w.packets[i]);
	ck_assert_uint_eq(n_open, 0);
}

static const TrackDescriptor *track_of(const struct slice *s)
{
	const TrackDescriptor *d = written_track(&w, s->track);

	ck_assert_msg(d, "the track was not described");
	return d;
}

static void encode(struct syscalls_event ev)
{
	ck_assert(is_valid(ev));
	ck_assert_int_eq(syscalls_encode(encoder, &ev.hdr), 0);
	n_encoded += ev.hdr.type == SYSCALLS_CALL;
}

/* What a single event becomes. */
static const struct slice *slice_of(struct syscalls_event ev)
{
	encode(ev);
	finish();
	ck_assert_uint_eq(n_slices, 1);
	return &slices[0];
}

/* ---- what is a record? ---- */

START_TEST(good_records_are_valid)
{
	ck_assert(is_valid(an_event()));
	ck_assert(is_valid(a_wait(CALL_POLL, -1, -1, 1)));
}
END_TEST

START_TEST(a_record_of_another_size_is_not_valid)
{
	struct syscalls_event ev[2] = { an_event(), an_event() };

	ck_assert(!syscalls_valid(&ev[0].hdr, sizeof(ev[0]) - 1));
	ck_assert(!syscalls_valid(&ev[0].hdr, sizeof(ev[0]) + 1));
	ck_assert(!syscalls_valid(&ev[0].hdr, sizeof(struct event_hdr)));
	ev[0].hdr.size = 1;
	ck_assert(!is_valid(ev[0]));
}
END_TEST

START_TEST(a_head_that_cannot_be_is_not_valid)
{
	struct syscalls_event ev = an_event();

	ev.hdr.type = 0;
	ck_assert(!is_valid(ev));
	ev.hdr.type = SYSCALLS_EVENT_TYPES;
	ck_assert(!is_valid(ev));
	ev = an_event();
	ev.hdr.stream = 1;
	ck_assert(!is_valid(ev));
	ev = an_event();
	ev.hdr.tid = 0;
	ck_assert(!is_valid(ev));
	ev = an_event();
	ev.hdr.tgid = 0;
	ck_assert(!is_valid(ev));
}
END_TEST

START_TEST(a_call_that_returns_before_it_is_made_is_not_valid)
{
	struct syscalls_event ev = an_event();

	ev.call.enter_ns = ev.hdr.time_ns;
	ck_assert(is_valid(ev));
	ev.call.enter_ns++;
	ck_assert(!is_valid(ev));
}
END_TEST

START_TEST(an_unknown_call_is_not_valid)
{
	static const uint8_t calls[] = { CALL_NONE, CALL_RESTART, N_CALLS, 255 };

	for (size_t i = 0; i < sizeof(calls); i++) {
		struct syscalls_event ev = an_event();

		ev.call.call = calls[i];
		ck_assert(!is_valid(ev));
	}
}
END_TEST

START_TEST(unknown_flags_and_families_are_not_valid)
{
	struct syscalls_event ev = an_event();

	ev.call.flags = CALL_FLAGS + 1;
	ck_assert(!is_valid(ev));
	ev = an_event();
	ev.call.addr_family = AF_NETLINK;
	ck_assert(!is_valid(ev));
	ev = an_event();
	ev.call.pad = 1;
	ck_assert(!is_valid(ev));
}
END_TEST

START_TEST(a_path_longer_than_the_kernels_is_not_valid)
{
	struct syscalls_event ev = an_event();

	ev.call.addr_family = AF_UNIX;
	ev.call.unix_addr.len = UNIX_PATH_LEN;
	ck_assert(is_valid(ev));
	ev.call.unix_addr.len++;
	ck_assert(!is_valid(ev));
}
END_TEST

START_TEST(a_record_of_two_kinds_is_not_valid)
{
	struct syscalls_event ev = a_wait(CALL_POLL, -1, -1, 1);

	ev.call.addr_family = AF_INET;
	ck_assert(!is_valid(ev));
}
END_TEST

/* ---- what becomes of it ---- */

START_TEST(a_call_is_a_slice_on_its_threads_track)
{
	const struct slice *s = slice_of(an_event());

	ck_assert_str_eq(s->name, "sendto");
	ck_assert_str_eq(s->category, "net");
	ck_assert_uint_eq(s->begin_ns, T0 + 5000);
	ck_assert_uint_eq(s->end_ns, T0 + 10000);
	ck_assert_str_eq(s->args, "fd=7 proto=tcp peer=10.0.0.2:80 bytes=100");
	ck_assert_int_eq(track_of(s)->thread->pid, 1000);
	ck_assert_int_eq(track_of(s)->thread->tid, 1001);
}
END_TEST

START_TEST(a_failed_call_has_its_errors_name)
{
	struct syscalls_event ev = an_event();

	ev.call.call = CALL_CONNECT;
	ev.call.ret = -ECONNREFUSED;
	ev.call.flags |= CALL_CLAIMED;
	ev.call.inet.local_port = 0;
	ck_assert_str_eq(slice_of(ev)->args, "fd=7 proto=tcp peer=10.0.0.2:80 address_claimed=true "
					     "error=ECONNREFUSED");
}
END_TEST

START_TEST(an_interrupted_call_says_so)
{
	struct syscalls_event ev = an_event();

	ev.call.ret = -512;
	ck_assert_str_eq(slice_of(ev)->args,
			 "fd=7 proto=tcp peer=10.0.0.2:80 error=ERESTARTSYS interrupted=true");
}
END_TEST

START_TEST(where_a_connection_begins_both_ends_are_shown)
{
	struct syscalls_event ev = an_event();

	ev.call.call = CALL_ACCEPT4;
	ev.call.ret = 12;
	ck_assert_str_eq(slice_of(ev)->args, "fd=7 proto=tcp peer=10.0.0.2:80 "
					     "local=10.0.0.1:40000 new_fd=12");
}
END_TEST

START_TEST(a_call_without_a_result_shows_none)
{
	struct syscalls_event ev = an_event();

	ev.call.call = CALL_CLOSE;
	ev.call.ret = 0;
	ck_assert_str_eq(slice_of(ev)->args, "fd=7 proto=tcp peer=10.0.0.2:80");
}
END_TEST

START_TEST(a_descriptor_that_is_none_is_shown_where_one_was_given)
{
	struct syscalls_event ev = an_event();

	memset(&ev.call.flags, 0, 1);
	ev.call.addr_family = 0;
	ev.call.fd = -1;
	ev.call.ret = -EBADF;
	ck_assert_str_eq(slice_of(ev)->args, "fd=-1 error=EBADF");
}
END_TEST

START_TEST(a_new_socket_is_its_result)
{
	struct syscalls_event ev = an_event();

	ev.call.call = CALL_SOCKET;
	ev.call.fd = -1;
	ev.call.addr_family = 0;
	ev.call.ret = 3;
	ck_assert_str_eq(slice_of(ev)->args, "proto=tcp new_fd=3");
}
END_TEST

START_TEST(messages_are_not_bytes)
{
	struct syscalls_event ev = an_event();

	ev.call.call = CALL_SENDMMSG;
	ev.call.ret = 2;
	ck_assert_str_eq(slice_of(ev)->args, "fd=7 proto=tcp peer=10.0.0.2:80 messages=2");
}
END_TEST

START_TEST(a_wait_shows_what_for_and_how_long)
{
	const struct slice *s = slice_of(a_wait(CALL_EPOLL_WAIT, 4, 20 * NS_PER_MS, 1));

	ck_assert_str_eq(s->name, "epoll_wait");
	ck_assert_str_eq(s->category, "syscall");
	ck_assert_str_eq(s->args, "fd=4 max_events=3 timeout_ns=20000000 ready=1");
}
END_TEST

START_TEST(a_wait_that_goes_on_says_so)
{
	struct syscalls_event ev = a_wait(CALL_POLL, -1, -1, 0);

	ev.call.flags = CALL_RESTARTED;
	ck_assert_str_eq(slice_of(ev)->args, "fds=3 restarted=true ready=0");
}
END_TEST

START_TEST(a_call_made_before_the_session_begins_with_it)
{
	struct syscalls_event ev = an_event();
	const struct slice *s;

	ev.call.enter_ns = T0 - NS_PER_SEC;
	s = slice_of(ev);
	ck_assert_uint_eq(s->begin_ns, T0);
	ck_assert_uint_eq(s->end_ns, T0 + 10000);
	ck_assert_str_eq(s->args, "fd=7 proto=tcp peer=10.0.0.2:80 bytes=100 entered_before=true");
}
END_TEST

START_TEST(a_call_that_was_over_before_the_session_is_left_out)
{
	struct syscalls_event ev = an_event();

	ev.call.enter_ns = T0 - 20;
	ev.hdr.time_ns = T0 - 10;
	encode(ev);
	finish(); /* it is in the ledger */
	ck_assert_uint_eq(n_slices, 0);
}
END_TEST

START_TEST(a_call_that_has_not_returned_is_no_event_of_the_ledger)
{
	struct syscalls_event ev = a_wait(CALL_EPOLL_WAIT, 4, -1, 0);
	const struct slice *s;

	ev.hdr.type = SYSCALLS_UNFINISHED;
	s = slice_of(ev);
	ck_assert_str_eq(s->args, "fd=4 max_events=3 unfinished=true");
	ck_assert_uint_eq(s->end_ns, ev.hdr.time_ns);
	ck_assert_uint_eq(n_encoded, 0);
}
END_TEST

START_TEST(calls_that_touch_do_not_overlap)
{
	struct syscalls_event a = an_event(), b = an_event();

	b.call.enter_ns = a.hdr.time_ns;
	b.hdr.time_ns = a.hdr.time_ns + 1;
	encode(a);
	encode(b);
	finish(); /* checks that one ends in the file before the next begins */
	ck_assert_uint_eq(n_slices, 2);
	ck_assert_uint_eq(slices[0].track, slices[1].track);
	ck_assert_uint_ge(slices[1].begin_ns, slices[0].end_ns);
}
END_TEST

START_TEST(a_tid_used_again_has_a_track_of_its_own)
{
	struct task_info task = { .tid = 1001, .tgid = 1000, .start_ns = T0 - NS_PER_SEC };
	struct syscalls_event ev = an_event();

	process_table_fork(processes, &task);
	encode(ev);
	process_table_free_task(processes, 1001, task.start_ns, T0 + NS_PER_SEC);
	task.tgid = 2000;
	task.start_ns = T0 + 2 * NS_PER_SEC;
	process_table_fork(processes, &task);
	ev.hdr.tgid = 2000;
	ev.call.enter_ns = task.start_ns + 1;
	ev.hdr.time_ns = task.start_ns + 2;
	encode(ev);
	finish();
	ck_assert_uint_eq(n_slices, 2);
	ck_assert_uint_ne(slices[0].track, slices[1].track);
	ck_assert_int_eq(track_of(&slices[0])->thread->pid, 1000);
	ck_assert_int_eq(track_of(&slices[1])->thread->pid, 2000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("syscalls_encode");
	TCase *valid = tcase_create("valid"), *tc = tcase_create("encode");
	SRunner *sr;
	int failed;

	tcase_add_test(valid, good_records_are_valid);
	tcase_add_test(valid, a_record_of_another_size_is_not_valid);
	tcase_add_test(valid, a_head_that_cannot_be_is_not_valid);
	tcase_add_test(valid, a_call_that_returns_before_it_is_made_is_not_valid);
	tcase_add_test(valid, an_unknown_call_is_not_valid);
	tcase_add_test(valid, unknown_flags_and_families_are_not_valid);
	tcase_add_test(valid, a_path_longer_than_the_kernels_is_not_valid);
	tcase_add_test(valid, a_record_of_two_kinds_is_not_valid);
	suite_add_tcase(s, valid);

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_call_is_a_slice_on_its_threads_track);
	tcase_add_test(tc, a_failed_call_has_its_errors_name);
	tcase_add_test(tc, an_interrupted_call_says_so);
	tcase_add_test(tc, where_a_connection_begins_both_ends_are_shown);
	tcase_add_test(tc, a_call_without_a_result_shows_none);
	tcase_add_test(tc, a_descriptor_that_is_none_is_shown_where_one_was_given);
	tcase_add_test(tc, a_new_socket_is_its_result);
	tcase_add_test(tc, messages_are_not_bytes);
	tcase_add_test(tc, a_wait_shows_what_for_and_how_long);
	tcase_add_test(tc, a_wait_that_goes_on_says_so);
	tcase_add_test(tc, a_call_made_before_the_session_begins_with_it);
	tcase_add_test(tc, a_call_that_was_over_before_the_session_is_left_out);
	tcase_add_test(tc, a_call_that_has_not_returned_is_no_event_of_the_ledger);
	tcase_add_test(tc, calls_that_touch_do_not_overlap);
	tcase_add_test(tc, a_tid_used_again_has_a_track_of_its_own);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
