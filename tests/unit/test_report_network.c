/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_report_network.c - `tracectl report --network` of a trace made by hand: output
 * against tests/golden/report/. With UPDATE=1 in the environment that is written anew.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "good_network.h"
#include "io.h"

#define GOLDEN "tests/golden/report/"

static struct good_trace t;
static struct good_network n;
static char out[1 << 20], err[4096], path[64];

static void setup(void)
{
	good_trace_init(&t);
	good_network_add(&t, &n);
}

static void teardown(void)
{
	good_trace_done(&t);
}

static void read_back(int fd, char *dst, size_t size)
{
	ssize_t len = pread(fd, dst, size - 1, 0);

	ck_assert_int_ge(len, 0);
	dst[len] = '\0';
	close(fd);
}

/* The trace as it is now, to be read at `path`. */
static void write_trace(void)
{
	int file = memfd_create("trace", MFD_CLOEXEC);
	struct buf bytes = { 0 };

	/* Not compressed: what zlib makes of it is not for ever. */
	good_trace_write(&t, &bytes, 0);
	ck_assert_int_eq(io_write_all(file, bytes.data, bytes.len), 0);
	buf_done(&bytes);
	ck_assert_int_ge(dup2(file, 99), 0);
	close(file);
	strcpy(path, "/proc/self/fd/99");
}

/* Of that trace; `options` is one string, with a space between them. */
static int report(const char *options)
{
	int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO), status, argc = 2;
	int new_out = memfd_create("out", MFD_CLOEXEC), new_err = memfd_create("err", MFD_CLOEXEC);
	char *argv[16] = { (char *)"report", (char *)"--network" }, copy[256];

	write_trace();
	strcpy(copy, options);
	for (char *s = copy, *arg; (arg = strsep(&s, " ")) != NULL;)
		if (arg[0])
			argv[argc++] = arg;
	argv[argc++] = path;
	fflush(NULL);
	ck_assert_int_ge(dup2(new_out, STDOUT_FILENO), 0);
	ck_assert_int_ge(dup2(new_err, STDERR_FILENO), 0);
	status = cmd_report(argc, argv);
	fflush(NULL);
	ck_assert_int_ge(dup2(saved_out, STDOUT_FILENO), 0);
	ck_assert_int_ge(dup2(saved_err, STDERR_FILENO), 0);
	close(saved_out);
	close(saved_err);
	read_back(new_out, out, sizeof(out));
	read_back(new_err, err, sizeof(err));
	return status;
}

static void assert_says(const char *where, const char *text)
{
	ck_assert_msg(strstr(where, text) != NULL, "\"%s\" is not in: %s", text, where);
}

static void assert_silent(const char *text)
{
	ck_assert_msg(strstr(out, text) == NULL, "\"%s\" is in: %s", text, out);
}

static size_t count(const char *text)
{
	size_t found = 0;

	for (const char *s = out; (s = strstr(s, text)) != NULL; s++)
		found++;
	return found;
}

/* ---- golden output ---- */

static const struct {
	const char *name, *options;
} golden[] = {
	{ "network", "" },
	{ "network-pid", "--pid 1" },
	{ "network-time", "--comm app --from 0.15 --top 2" },
	{ "network-json", "--json" },
};

START_TEST(output_is_what_it_was)
{
	char file[128];
	struct buf expected = { 0 };
	int fd;

	ck_assert_int_eq(report(golden[_i].options), 0);
	ck_assert_str_eq(err, "");
	snprintf(file, sizeof(file), GOLDEN "%s.txt", golden[_i].name);
	if (getenv("UPDATE")) {
		fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(io_write_all(fd, out, strlen(out)), 0);
		close(fd);
		return;
	}
	ck_assert_int_eq(io_read_all(file, 1 << 20, &expected), 0);
	ck_assert_int_eq(buf_append(&expected, "", 1), 0);
	ck_assert_str_eq(out, (const char *)expected.data);
	buf_done(&expected);
}
END_TEST

/* ---- what is meant ---- */

START_TEST(a_trace_without_a_network_has_status_1)
{
	good_trace_done(&t);
	good_trace_init(&t);
	ck_assert_int_eq(report(""), 1);
	assert_says(err, "has nothing of such a network");
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(why_there_is_none_is_said)
{
	n.attributes->trace_attributes->attribute[3]->string_value = (char *)"off: not asked for";
	ck_assert_int_eq(report("--pid 4711"), 1);
	assert_says(err, "source net was off: not asked for");
}
END_TEST

START_TEST(order_in_the_file_does_not_matter)
{
	char *before;

	ck_assert_int_eq(report("--json"), 0);
	before = strdup(out);
	/* What lies in it first, as it may come of slices that are written when they are over. */
	for (size_t i = 1; i < 4; i++) {
		good_trace_move(&t, good_net_end(&n, n.phases[i]), good_net_end(&n, n.phases[0]));
		good_trace_move(&t, n.phases[i], good_net_end(&n, n.phases[i]));
	}
	ck_assert_int_eq(report("--json"), 0);
	ck_assert_str_eq(out, before);
	free(before);
}
END_TEST

START_TEST(what_has_no_end_goes_on_to_the_end)
{
	TracePacket *pkt = good_net_slice(&n, n.request->track_event->track_uuid, "GET /endless",
					  "http", 300000, 300001);

	good_trace_remove(&t, good_net_end(&n, pkt));
	ck_assert_int_eq(report("--from 0.25"), 0);
	assert_says(out, "GET /endless");
	assert_says(out, "19.7 s+");
	assert_says(out, "->|");
}
END_TEST

START_TEST(a_connection_whose_talk_is_understood_is_no_row)
{
	ck_assert_int_eq(report(""), 0);
	assert_says(out, "TCP 127.0.0.1:6379");
	assert_silent("TCP example.org:80");
	assert_silent("TCP api.example.org");
	/* Of those that are in no row there are the sums. */
	assert_says(out, "app [100], unix /run/x.sock");
	assert_silent("without exchanges");
	good_net_arg(&n, n.last_unix, "bytes_sent")->uint_value = 0;
	ck_assert_int_eq(report(""), 0);
	assert_silent("unix /run/x.sock");
	assert_says(out, " 1 more without exchanges and bytes");
	ck_assert_int_eq(report("--json"), 0);
	assert_says(out, "unix /run/x.sock");
	ck_assert_int_eq(report(""), 0);
	assert_says(out, "app [100], example.org:80");
}
END_TEST

START_TEST(what_is_read_in_clear_text_is_told_once)
{
	TracePacket *pkt;

	pkt = good_net_slice(&n, n.request->track_event->track_uuid, "TLS exchange", "tls", 210000,
			     220000);
	good_net_put_number(&n, pkt, "connection", 7);
	ck_assert_int_eq(report("--pid 100"), 0);
	ck_assert_uint_eq(count("TLS exchange"), 1); /* the other connection's */
	assert_says(out, "7 exchanges");
	ck_assert_int_eq(report("--pid 100 --json"), 0);
	ck_assert_uint_eq(count("\"kind\":\"tls\""), 2);
}
END_TEST

/* One more of app's, behind the others. */
static TracePacket *add_request(const char *url, const char *arg, const char *value)
{
	uint64_t lane = n.request->track_event->track_uuid;
	TracePacket *pkt = good_net_slice(&n, lane, "GET /more", "http", 300000, 310000);

	good_net_put_text(&n, pkt, "method", "GET");
	good_net_put_text(&n, pkt, "url", url);
	good_net_put_number(&n, pkt, "status", 200);
	good_net_put_text(&n, pkt, arg, value);
	return pkt;
}

START_TEST(what_follows_a_request_is_called_by_what_it_is)
{
	add_request("http://a.example/ws", "proto", "WebSocket");
	add_request("b.example:443", "proto", "tunnel");
	ck_assert_int_eq(report("--from 0.25"), 0);
	assert_says(out, " WebSocket a.example/ws ");
	assert_says(out, " tunnel b.example:443 ");
	assert_silent("GET");
}
END_TEST

START_TEST(what_fails_behind_its_head_says_so)
{
	static const struct {
		const char *url, *error, *status;
	} cases[] = { { "/1", "connection closed", "/1 closed " },
		      { "/2", "reset by peer", "/2 reset " },
		      { "/3", "stream reset: 8", "/3 reset: 8 " } };
	char *at;

	for (size_t i = 0; i < 3; i++)
		add_request(cases[i].url, "error", cases[i].error);
	good_net_put_number(&n, add_request("/4", "proto", "HTTP/2"), "grpc_status", 5);
	/* Who is refused may break off what he asks. */
	good_net_arg(&n, add_request("/5", "error", "connection closed"), "status")->uint_value =
		413;
	ck_assert_int_eq(report("--from 0.25"), 0);
	while ((at = strstr(out, "  "))) /* columns may be as wide as they want */
		memmove(at, at + 1, strlen(at));
	for (size_t i = 0; i < 3; i++)
		assert_says(out, cases[i].status);
	assert_says(out, "/4 grpc 5 ");
	assert_says(out, "/5 413 ");
	assert_says(out, "5 exchanges, 5 failed");
}
END_TEST

START_TEST(bytes_of_datagrams_are_of_no_connection)
{
	TracePacket *pkt = good_net_slice(&n, n.lookup->track_event->track_uuid, "A b.example",
					  "dns", 300000, 310000);

	good_net_put_text(&n, pkt, "proto", "UDP");
	good_net_put_number(&n, pkt, "request_bytes", 1 << 20);
	good_net_put_number(&n, pkt, "response_bytes", 45);
	ck_assert_int_eq(report("--from 0.25"), 0);
	assert_says(out, "1 exchange; 1.05 MB sent, 45 B received");
	/* With connections there are theirs and these. */
	ck_assert_int_eq(report("--pid 100"), 0);
	assert_says(out, "8 exchanges, 3 failed, 1 not over; 1.05 MB sent");
}
END_TEST

START_TEST(many_requests_stay_readable)
{
	uint64_t lane = n.request->track_event->track_uuid;
	TracePacket *pkt;

	for (unsigned i = 0; i < 300; i++) {
		pkt = good_net_slice(&n, lane, "GET \u2026", "http", 300000 + i * 100,
				     300050 + i * 100);
		if (i % 100 == 0)
			good_net_put_number(&n, pkt, "status", 500);
	}
	ck_assert_int_eq(report("--from 0.25"), 0);
	ck_assert_uint_eq(count("GET \u2026"), 20);
	assert_says(out, "280 more, 2 of them failed: see --top, --from");
	ck_assert_int_eq(report("--from 0.25 --top 1000"), 0);
	ck_assert_uint_eq(count("GET \u2026"), 300);
	assert_silent(" more");
}
END_TEST

START_TEST(percentiles_are_of_what_is_over)
{
	ck_assert_int_eq(report("--json --pid 100"), 0);
	assert_says(out,
		    "\"origin\":\"example.org:80\",\"requests\":3,\"failed\":1,\"incomplete\":1,"
		    "\"connections\":1,\"retransmits\":1,\"sent\":240,\"received\":5360,"
		    "\"latency_50_ns\":2000000,\"latency_95_ns\":38000000");
}
END_TEST

START_TEST(what_would_harm_a_terminal_is_escaped)
{
	good_net_arg(&n, n.request, "url")->string_value = (char *)"http://x/\x1b[31m\xc2\x9b";
	good_net_arg(&n, n.request, "remote")->string_value = (char *)"\x1b]0;x\a";
	ck_assert_int_eq(report(""), 0);
	ck_assert_ptr_null(strchr(out, '\x1b'));
	ck_assert_ptr_null(strchr(out, '\a'));
	assert_says(out, "GET x/\\x1b[31m");
}
END_TEST

/* ---- in a terminal ---- */

/* What `report --network` prints into a terminal of so many columns, into `out`. */
static void report_in_terminal(const char *columns, const char *term)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n_read;
	pid_t pid;

	ck_assert_int_ge(master, 0);
	ck_assert_int_eq(grantpt(master), 0);
	ck_assert_int_eq(unlockpt(master), 0);
	write_trace();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		char *argv[] = { (char *)"report", (char *)"--network", path, NULL };
		int terminal = open(ptsname(master), O_RDWR | O_NOCTTY), status;

		setenv("COLUMNS", columns, 1);
		setenv("TERM", term, 1);
		unsetenv("NO_COLOR");
		dup2(terminal, STDOUT_FILENO);
		status = cmd_report(3, argv);
		fflush(stdout); /* as main() does */
		_exit(status);
	}
	ck_assert_int_gt(pid, 0);
	/* Until the other side is closed, which is an error here. */
	while ((n_read = read(master, out + len, sizeof(out) - 1 - len)) > 0)
		len += (size_t)n_read;
	out[len] = '\0';
	close(master);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* Columns of the line at `s`, without its colours. */
static size_t columns_of(const char *s)
{
	size_t columns = 0;

	for (; *s && *s != '\r' && *s != '\n'; s++) {
		if (*s == '\x1b')
			s = strchr(s, 'm');
		else
			columns += ((unsigned char)*s & 0xc0) != 0x80;
	}
	return columns;
}

START_TEST(a_waterfall_is_as_wide_as_the_terminal)
{
	static const char *const widths[] = { "80", "100", "132", "300" }, *const terms[] = {
		"dumb", "xterm"
	};
	size_t n_rows = 0;

	report_in_terminal(widths[_i / 2], terms[_i % 2]);
	ck_assert_int_eq(strchr(out, '\x1b') != NULL, _i % 2);
	for (const char *s = strchr(out, '\n'); s; s = strchr(s + 1, '\n')) {
		const char *line = s + 1, *end = strchr(line, '\r');

		if (!end || end[-1] != '|')
			continue;
		n_rows++;
		ck_assert_msg(columns_of(line) == (size_t)atoi(widths[_i / 2]), "%.*s",
			      (int)(end - line), line);
	}
	ck_assert_uint_ge(n_rows, 9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("report_network");
	TCase *tc = tcase_create("report_network");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, output_is_what_it_was, 0, sizeof(golden) / sizeof(golden[0]));
	tcase_add_test(tc, a_trace_without_a_network_has_status_1);
	tcase_add_test(tc, why_there_is_none_is_said);
	tcase_add_test(tc, order_in_the_file_does_not_matter);
	tcase_add_test(tc, what_has_no_end_goes_on_to_the_end);
	tcase_add_test(tc, a_connection_whose_talk_is_understood_is_no_row);
	tcase_add_test(tc, what_is_read_in_clear_text_is_told_once);
	tcase_add_test(tc, what_follows_a_request_is_called_by_what_it_is);
	tcase_add_test(tc, what_fails_behind_its_head_says_so);
	tcase_add_test(tc, bytes_of_datagrams_are_of_no_connection);
	tcase_add_test(tc, many_requests_stay_readable);
	tcase_add_test(tc, percentiles_are_of_what_is_over);
	tcase_add_test(tc, what_would_harm_a_terminal_is_escaped);
	tcase_add_loop_test(tc, a_waterfall_is_as_wide_as_the_terminal, 0, 8);
	suite_add_tcase(suite, tc);
	sr = srunner_create(suite);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
