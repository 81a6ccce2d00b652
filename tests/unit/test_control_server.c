/* SPDX-License-Identifier: Apache-2.0 */
/* The control socket: whatever a client does, the others and the daemon do not notice. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "control_frame.h"
#include "control_server.h"
#include "event_loop.h"

#define QUEUE	    (1u << 20)
#define MAX_CLIENTS 3

static struct event_loop *loop;
static struct control_server *server;
static struct event_source *idle;
static char dir[] = "/tmp/test_control.XXXXXX";
static struct sockaddr_un addr;
static int idle_pipe[2];

static unsigned n_requests, n_gone, n_idle;
static uint32_t ids[256];
static int request_result;
static struct control_client *last_client;
static bool foreign[256]; /* descriptors that were open before */

static int on_request(void *ctx, struct control_client *client, const Request *req)
{
	ck_assert_ptr_eq(ctx, &n_requests);
	ids[n_requests++ % 256] = req->id;
	last_client = client;
	if (req->status)
		ck_assert_int_eq(control_client_error(client, req->id, ENOENT, "nothing"), 0);
	return request_result;
}

static void on_gone(void *ctx, struct control_client *client)
{
	(void)ctx;
	(void)client;
	n_gone++;
}

static void set_up(void)
{
	struct control_server_env env = { .queue_bytes = QUEUE,
					  .max_clients = MAX_CLIENTS,
					  .group = (gid_t)-1,
					  .request = on_request,
					  .gone = on_gone,
					  .ctx = &n_requests };
	int fd;

	for (int i = 0; i < 256; i++)
		foreign[i] = fcntl(i, F_GETFD) >= 0;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	n_requests = n_gone = 0;
	request_result = 0;
	last_client = NULL;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	addr.sun_family = AF_UNIX;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/sock", dir);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(event_loop_new(&loop), 0);
	env.loop = loop;
	ck_assert_int_eq(control_server_new(&env, &server), 0);
	ck_assert_int_eq(control_server_listen(server, fd), 0);
	ck_assert_int_eq(pipe(idle_pipe), 0);
	ck_assert_int_eq(write(idle_pipe[1], "x", 1), 1);
}

static void tear_down(void)
{
	event_source_free(idle);
	idle = NULL;
	control_server_free(server);
	event_loop_free(loop);
	close(idle_pipe[0]);
	close(idle_pipe[1]);
	unlink(addr.sun_path);
	rmdir(dir);
}

/* ---- turning the loop ---- */

/* Always readable: when its turn has come twice, all that was ready has had one. */
static int on_idle(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	return ++n_idle < 2 ? 0 : -EINTR;
}

static void turn(void)
{
	n_idle = 0;
	ck_assert_int_eq(event_loop_add(loop, idle_pipe[0], 1, on_idle, NULL, &idle), 0);
	ck_assert_int_eq(event_loop_run(loop), -EINTR);
	event_source_free(idle);
	idle = NULL;
}

static void turns(unsigned n)
{
	while (n-- > 0)
		turn();
}

static int connect_client(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	turn();
	return fd;
}

static void send_all(int fd, const void *data, size_t len)
{
	ck_assert_int_eq(send(fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* A request as a frame. */
static size_t a_request(uint8_t *dst, uint32_t id, bool status)
{
	StatusRequest s = STATUS_REQUEST__INIT;
	Request req = REQUEST__INIT;
	size_t len;

	req.has_id = 1;
	req.id = id;
	req.status = status ? &s : NULL;
	len = request__pack(&req, dst + FRAME_HEAD);
	frame_head(dst, FRAME_REQUEST, (uint32_t)len);
	return FRAME_HEAD + len;
}

/* The next frame that waits at `fd`, or NULL; a closed connection is `*ret_eof`. */
static Reply *read_reply(int fd, bool *ret_eof)
{
	uint8_t head[FRAME_HEAD], *data;
	struct frame f;
	ssize_t n = recv(fd, head, sizeof(head), MSG_DONTWAIT);
	Reply *reply;
	size_t len;

	if (ret_eof)
		*ret_eof = n == 0 || (n < 0 && errno == ECONNRESET);
	if (n <= 0)
		return NULL;
	ck_assert_int_eq(n, FRAME_HEAD);
	len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
	data = malloc(FRAME_HEAD + len);
	memcpy(data, head, FRAME_HEAD);
	ck_assert_int_eq(recv(fd, data + FRAME_HEAD, len, MSG_WAITALL), (ssize_t)len);
	ck_assert_int_gt(frame_parse(data, FRAME_HEAD + len, FRAME_MAX_REPLY, &f), 0);
	ck_assert_int_eq(f.type, FRAME_REPLY);
	reply = reply__unpack(NULL, f.len, f.payload);
	ck_assert_ptr_nonnull(reply);
	free(data);
	return reply;
}

static void assert_error(int fd, int code)
{
	Reply *reply = read_reply(fd, NULL);

	ck_assert_ptr_nonnull(reply);
	ck_assert_ptr_nonnull(reply->error);
	ck_assert_uint_eq(reply->error->code, (uint32_t)code);
	ck_assert_uint_gt(strlen(reply->error->message), 0);
	reply__free_unpacked(reply, NULL);
}

static void assert_closed(int fd)
{
	bool eof;

	ck_assert_ptr_null(read_reply(fd, &eof));
	ck_assert(eof);
}

static void assert_open(int fd)
{
	uint8_t data[64];
	unsigned before = n_requests;

	send_all(fd, data, a_request(data, 1234, false));
	turn();
	ck_assert_uint_eq(n_requests, before + 1);
}

static unsigned n_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* ---- framing ---- */

START_TEST(a_request_may_be_cut_anywhere)
{
	uint8_t data[128];
	int fd = connect_client();
	size_t len = a_request(data, 7, true);

	len += a_request(data + len, 8, false);
	for (size_t cut = 1; cut < len; cut++) {
		unsigned before = n_requests;

		send_all(fd, data, cut);
		turn();
		send_all(fd, data + cut, len - cut);
		turn();
		ck_assert_uint_eq(n_requests, before + 2);
		ck_assert_uint_eq(ids[before % 256], 7);
		ck_assert_uint_eq(ids[(before + 1) % 256], 8);
		assert_error(fd, ENOENT);
	}
	close(fd);
	turn();
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_uint_eq(control_server_n_clients(server), 0);
}
END_TEST

START_TEST(a_request_may_come_byte_by_byte)
{
	uint8_t data[64];
	int fd = connect_client();
	size_t len = a_request(data, 7, false);

	for (size_t i = 0; i < len; i++) {
		ck_assert_uint_eq(n_requests, 0);
		send_all(fd, data + i, 1);
		turn();
	}
	ck_assert_uint_eq(n_requests, 1);
	close(fd);
}
END_TEST

START_TEST(the_largest_request_is_taken_and_no_larger_one)
{
	Request req = REQUEST__INIT;
	StartRequest start = START_REQUEST__INIT;
	char *text = malloc(FRAME_MAX_REQUEST);
	uint8_t *data = malloc(2 * FRAME_MAX_REQUEST), head[FRAME_HEAD];
	int fd = connect_client();
	size_t len;

	memset(text, 'x', FRAME_MAX_REQUEST);
	text[FRAME_MAX_REQUEST - 16] = '\0';
	start.command_line = text;
	req.start = &start;
	len = request__pack(&req, data + FRAME_HEAD);
	ck_assert_uint_le(len, FRAME_MAX_REQUEST);
	frame_head(data, FRAME_REQUEST, (uint32_t)len);
	send_all(fd, data, FRAME_HEAD + len);
	turns(40);
	ck_assert_uint_eq(n_requests, 1);
	frame_head(head, FRAME_REQUEST, FRAME_MAX_REQUEST + 1);
	send_all(fd, head, sizeof(head));
	turn();
	assert_error(fd, EMSGSIZE);
	assert_closed(fd);
	close(fd);
	free(text);
	free(data);
}
END_TEST

START_TEST(a_length_of_a_gibibyte_ends_the_client)
{
	uint8_t head[FRAME_HEAD];
	int fd = connect_client(), other = connect_client();

	frame_head(head, FRAME_REQUEST, 1u << 30);
	send_all(fd, head, sizeof(head));
	turn();
	assert_error(fd, EMSGSIZE);
	assert_closed(fd);
	ck_assert_uint_eq(n_gone, 1);
	assert_open(other);
	close(fd);
	close(other);
}
END_TEST

START_TEST(garbage_ends_the_client)
{
	int fd = connect_client(), other = connect_client();

	send_all(fd, "GET / HTTP/1.1\r\n\r\n", 18);
	turn();
	assert_error(fd, EBADMSG);
	assert_closed(fd);
	assert_open(other);
	close(fd);
	close(other);
}
END_TEST

START_TEST(three_errors_end_the_client_and_two_do_not)
{
	uint8_t wrong_type[FRAME_HEAD], bad[FRAME_HEAD + 2];
	int fd = connect_client();

	frame_head(wrong_type, FRAME_TRACE, 0);
	frame_head(bad, FRAME_REQUEST, 2);
	bad[FRAME_HEAD] = 0x12;	    /* field 2, of a length ... */
	bad[FRAME_HEAD + 1] = 0x7f; /* ... that is not there */
	send_all(fd, wrong_type, sizeof(wrong_type));
	turn();
	assert_error(fd, EBADMSG);
	send_all(fd, bad, sizeof(bad));
	turn();
	assert_error(fd, EBADMSG);
	assert_open(fd);
	send_all(fd, bad, sizeof(bad));
	turn();
	assert_error(fd, EBADMSG);
	assert_closed(fd);
	close(fd);
}
END_TEST

START_TEST(requests_that_fail_count_as_errors)
{
	int fd = connect_client();

	request_result = -ENOENT;
	assert_open(fd);
	assert_open(fd);
	assert_open(fd);
	assert_closed(fd);
	ck_assert_uint_eq(n_gone, 1);
	close(fd);
}
END_TEST

START_TEST(nothing_behind_the_last_error_is_looked_at)
{
	uint8_t data[128];
	size_t len = 0;
	int fd = connect_client();

	request_result = -ENOENT;
	for (uint32_t i = 0; i < 5; i++)
		len += a_request(data + len, i, false);
	send_all(fd, data, len);
	turn();
	ck_assert_uint_eq(n_requests, 3);
	close(fd);
}
END_TEST

START_TEST(descriptors_that_come_along_are_not_kept)
{
	char control[CMSG_SPACE(16 * sizeof(int))] = { 0 };
	uint8_t data[64];
	struct iovec iov = { data, a_request(data, 1, false) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int fd = connect_client();
	unsigned before = n_descriptors();

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(16 * sizeof(int));
	for (unsigned i = 0; i < 16; i++)
		memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd, sizeof(int));
	ck_assert_int_eq(sendmsg(fd, &msg, 0), (ssize_t)iov.iov_len);
	turn();
	ck_assert_uint_eq(n_requests, 1);
	ck_assert_uint_eq(n_descriptors(), before);
	close(fd);
}
END_TEST

/* ---- coming and going ---- */

START_TEST(a_client_that_dies_in_the_middle_of_a_request_leaves_nothing)
{
	uint8_t data[64];
	unsigned before = n_descriptors();
	int fd = connect_client();

	send_all(fd, data, a_request(data, 1, false) - 1);
	close(fd);
	turns(2);
	ck_assert_uint_eq(n_requests, 0);
	ck_assert_uint_eq(n_gone, 1);
	ck_assert_uint_eq(control_server_n_clients(server), 0);
	ck_assert_uint_eq(n_descriptors(), before);
}
END_TEST

START_TEST(too_many_clients_are_told_so)
{
	int fds[MAX_CLIENTS], one_more;

	for (unsigned i = 0; i < MAX_CLIENTS; i++)
		fds[i] = connect_client();
	one_more = connect_client();
	assert_error(one_more, EBUSY);
	assert_closed(one_more);
	ck_assert_uint_eq(control_server_n_clients(server), MAX_CLIENTS);
	for (unsigned i = 0; i < MAX_CLIENTS; i++)
		assert_open(fds[i]);
	close(fds[0]);
	close(one_more);
	turn();
	one_more = connect_client();
	assert_open(one_more);
	close(one_more);
	for (unsigned i = 1; i < MAX_CLIENTS; i++)
		close(fds[i]);
}
END_TEST

START_TEST(a_client_may_be_handed_over_connected)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(control_server_adopt(server, pair[0]), 0);
	assert_open(pair[1]);
	ck_assert_uint_eq(control_client_uid(last_client), geteuid());
	ck_assert_int_eq(control_client_pid(last_client), getpid());
	ck_assert_ptr_null(control_client_data(last_client));
	control_client_set_data(last_client, dir);
	ck_assert_ptr_eq(control_client_data(last_client), dir);
	close(pair[1]);
	turn();
	ck_assert_uint_eq(n_gone, 1);
}
END_TEST

/* An exec of ours must not inherit anything. */
START_TEST(no_descriptor_survives_an_exec)
{
	int fd = connect_client();

	for (int i = 0; i < 256; i++) {
		int flags = fcntl(i, F_GETFD);

		if (flags >= 0 && !foreign[i] && i != idle_pipe[0] && i != idle_pipe[1])
			ck_assert_msg(flags & FD_CLOEXEC, "descriptor %d", i);
	}
	close(fd);
}
END_TEST

/* ---- clients that do not read ---- */

static struct control_client *a_recording(int *ret_fd)
{
	*ret_fd = connect_client();
	assert_open(*ret_fd);
	return last_client;
}

/* Fills the queue with pieces of `len`; returns how many were taken. */
static unsigned fill(struct control_client *c, size_t len, bool essential)
{
	uint8_t *piece = calloc(1, len);
	unsigned n = 0;

	while (control_client_trace(c, piece, len, essential) == 0) {
		ck_assert_uint_lt(n, 10000);
		n++;
	}
	ck_assert_int_eq(control_client_trace(c, piece, len, essential), -EAGAIN);
	free(piece);
	return n;
}

static size_t read_all(int fd)
{
	char buf[65536];
	size_t sum = 0;
	ssize_t n;

	do {
		turn();
		while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
			sum += (size_t)n;
		if (n == 0)
			break;
		turn();
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		sum += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	return sum;
}

START_TEST(a_slow_reader_is_refused_bulk_first_and_essentials_later)
{
	int fd, other = connect_client();
	struct control_client *c = a_recording(&fd);
	unsigned n_bulk = fill(c, 64 << 10, false), n_essential;

	ck_assert_uint_ge(n_bulk * (64u << 10), QUEUE - (64u << 10));
	n_essential = fill(c, 64 << 10, true);
	ck_assert_uint_ge(n_essential, QUEUE / (64u << 10) - 1);
	assert_open(other); /* nobody else notices */
	ck_assert_uint_eq(read_all(fd),
			  (size_t)(n_bulk + n_essential) * ((64u << 10) + FRAME_HEAD));
	/* It has caught up. */
	ck_assert_int_eq(control_client_trace(c, "x", 1, false), 0);
	close(fd);
	close(other);
}
END_TEST

START_TEST(a_large_piece_goes_out_in_frames_of_a_reply)
{
	size_t len = FRAME_MAX_REPLY + 5;
	uint8_t *piece = calloc(1, len);
	int fd;
	struct control_client *c = a_recording(&fd);

	ck_assert_int_eq(control_client_trace(c, piece, len, false), -EAGAIN); /* QUEUE */
	ck_assert_int_eq(control_client_trace(c, piece, len, true), 0);
	ck_assert_uint_eq(read_all(fd), len + 2 * FRAME_HEAD);
	free(piece);
	close(fd);
}
END_TEST

START_TEST(who_asks_without_reading_is_dropped_before_memory_is_out)
{
	Reply reply = REPLY__INIT;
	ControlError error = CONTROL_ERROR__INIT;
	char *text = malloc(FRAME_MAX_REPLY);
	int fd;
	struct control_client *c = a_recording(&fd);
	unsigned n = 0;

	memset(text, 'x', FRAME_MAX_REPLY);
	text[FRAME_MAX_REPLY - 100] = '\0';
	error.message = text;
	reply.error = &error;
	while (control_client_reply(c, &reply) == 0) {
		n++;
		ck_assert_uint_lt(n, 100);
	}
	ck_assert_uint_ge(n, 2 * QUEUE / FRAME_MAX_REPLY);
	ck_assert_int_eq(control_client_reply(c, &reply), -EPIPE);
	ck_assert_int_eq(control_client_trace(c, "x", 1, true), -EPIPE);
	control_server_tick(server, boot_ns());
	ck_assert_uint_eq(n_gone, 1);
	close(fd);
	free(text);
}
END_TEST

START_TEST(who_has_read_nothing_for_30_s_is_dropped)
{
	int fd, other = connect_client();
	struct control_client *c = a_recording(&fd);
	uint64_t now;

	fill(c, 64 << 10, false);
	now = boot_ns();
	control_server_tick(server, now + 29 * NS_PER_SEC);
	ck_assert_uint_eq(n_gone, 0);
	control_server_tick(server, now + 31 * NS_PER_SEC);
	ck_assert_uint_eq(n_gone, 1);
	assert_open(other); /* silent, but owes nothing */
	close(fd);
	close(other);
}
END_TEST

START_TEST(a_reply_that_is_too_large_is_refused)
{
	Reply reply = REPLY__INIT;
	ControlError error = CONTROL_ERROR__INIT;
	char *text = malloc(FRAME_MAX_REPLY + 2);
	int fd;
	struct control_client *c = a_recording(&fd);

	memset(text, 'x', FRAME_MAX_REPLY + 1);
	text[FRAME_MAX_REPLY + 1] = '\0';
	error.message = text;
	reply.error = &error;
	ck_assert_int_eq(control_client_reply(c, &reply), -EMSGSIZE);
	assert_open(fd);
	free(text);
	close(fd);
}
END_TEST

START_TEST(a_drain_serves_those_who_read_although_one_does_not)
{
	int stuck, good;
	struct control_client *a = a_recording(&stuck), *b = a_recording(&good);
	char buf[4096];

	fill(a, 64 << 10, false);
	fill(b, 64 << 10, false);
	while (recv(good, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	/* Room for all that waits: only a turn for `b` is needed. */
	control_server_drain(server, 50);
	ck_assert_int_gt(recv(good, buf, sizeof(buf), MSG_DONTWAIT), 0);
	close(stuck);
	close(good);
}
END_TEST

START_TEST(writing_to_the_dead_is_an_error_of_theirs_alone)
{
	int fd, other = connect_client();
	struct control_client *c = a_recording(&fd);

	close(fd);
	ck_assert_int_eq(control_client_trace(c, "x", 1, true), 0); /* found out by this */
	ck_assert_int_eq(control_client_trace(c, "x", 1, true), -EPIPE);
	ck_assert_uint_eq(n_gone, 0); /* whoever writes still uses it */
	turn();
	ck_assert_uint_eq(n_gone, 1);
	assert_open(other);
	close(other);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("control_server");
	TCase *tc = tcase_create("control_server");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_request_may_be_cut_anywhere);
	tcase_add_test(tc, a_request_may_come_byte_by_byte);
	tcase_add_test(tc, the_largest_request_is_taken_and_no_larger_one);
	tcase_add_test(tc, a_length_of_a_gibibyte_ends_the_client);
	tcase_add_test(tc, garbage_ends_the_client);
	tcase_add_test(tc, three_errors_end_the_client_and_two_do_not);
	tcase_add_test(tc, requests_that_fail_count_as_errors);
	tcase_add_test(tc, nothing_behind_the_last_error_is_looked_at);
	tcase_add_test(tc, descriptors_that_come_along_are_not_kept);
	tcase_add_test(tc, a_client_that_dies_in_the_middle_of_a_request_leaves_nothing);
	tcase_add_test(tc, too_many_clients_are_told_so);
	tcase_add_test(tc, a_client_may_be_handed_over_connected);
	tcase_add_test(tc, no_descriptor_survives_an_exec);
	tcase_add_test(tc, a_slow_reader_is_refused_bulk_first_and_essentials_later);
	tcase_add_test(tc, a_large_piece_goes_out_in_frames_of_a_reply);
	tcase_add_test(tc, who_asks_without_reading_is_dropped_before_memory_is_out);
	tcase_add_test(tc, who_has_read_nothing_for_30_s_is_dropped);
	tcase_add_test(tc, a_reply_that_is_too_large_is_refused);
	tcase_add_test(tc, a_drain_serves_those_who_read_although_one_does_not);
	tcase_add_test(tc, writing_to_the_dead_is_an_error_of_theirs_alone);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
