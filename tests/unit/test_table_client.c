/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables from a real worker: this program executes itself as one. Files
 * are good and bad, and the worker is stopped, killed and made to lie.
 */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cfi_image.h"
#include "event_loop.h"
#include "symbolize/files_protocol.h"
#include "symbolize/files_worker.h"
#include "unwind/cfi.h"
#include "unwind/eh_frame.h"
#include "unwind/table_client.h"

#define MAX_IDS 64

static struct event_loop *loop;
static struct table_client *client;
static uint64_t now;

/* What was answered, in order. */
static struct answer {
	uint64_t id;
	enum table_result result;
	struct table_block *block;
} answers[MAX_IDS];
static size_t n_answers;

static void on_done(void *ctx, uint64_t id, enum table_result result, struct table_block *block)
{
	(void)ctx;
	ck_assert_uint_lt(n_answers, MAX_IDS);
	ck_assert(!block == (result != TABLE_OK));
	answers[n_answers++] = (struct answer){ id, result, block };
}

static void setup(void)
{
	now = boot_ns();
	n_answers = 0;
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(table_client_new(on_done, NULL, &client), 0);
	ck_assert_int_eq(table_client_start(client, loop), 0);
}

static void teardown(void)
{
	table_client_free(client);
	event_loop_free(loop);
	for (size_t i = 0; i < n_answers; i++)
		table_block_free(answers[i].block);
}

/* ---- waiting ---- */

static size_t wanted;

static int check_answers(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	return n_answers >= wanted ? -ECANCELED : 0;
}

static void wait_for_answers(size_t n)
{
	struct event_source *timer;

	wanted = n;
	ck_assert_int_eq(event_loop_add_timer(loop, NS_PER_MS, check_answers, NULL, &timer), 0);
	ck_assert_int_eq(event_loop_run(loop), -ECANCELED);
	event_source_free(timer);
}

static const struct answer *answer_of(uint64_t id)
{
	for (size_t i = 0; i < n_answers; i++)
		if (answers[i].id == id)
			return &answers[i];
	ck_abort_msg("no answer to %d", (int)id);
	return NULL;
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static int file_with(const void *bytes, size_t len)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
	return fd;
}

static void submit(uint64_t id, int fd)
{
	ck_assert_int_eq(table_client_submit(client, id, fd), 0);
}

/* The worker is ready, and stopped: it does nothing until continued. */
static pid_t stop_worker(void)
{
	pid_t pid;
	siginfo_t si;
	int fd = open_self();

	submit(999, fd);
	wait_for_answers(1);
	table_block_free(answers[0].block);
	n_answers = 0;
	close(fd);
	pid = table_client_pid(client);
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &si, WSTOPPED), 0);
	return pid;
}

/* ---- tables ---- */

START_TEST(a_table_is_that_of_the_file)
{
	int fd = open_self();
	void *own;
	size_t len;

	ck_assert_int_eq(eh_frame_table(fd, &own, &len), 0);
	submit(7, fd);
	wait_for_answers(1);
	ck_assert_uint_eq(answers[0].id, 7);
	ck_assert_int_eq(answers[0].result, TABLE_OK);
	ck_assert_uint_eq(answers[0].block->len, len);
	ck_assert_int_eq(memcmp(answers[0].block->bytes, own, len), 0);
	ck_assert_uint_gt(answers[0].block->table.head.n_rows, 100);
	free(own);
	close(fd);
}
END_TEST

START_TEST(what_is_no_program_has_no_table)
{
	int text = file_with("#!/bin/sh\n", 10), empty = file_with("", 0), good = open_self();

	submit(1, text);
	submit(2, empty);
	submit(3, -1);
	submit(4, good);
	wait_for_answers(4);
	ck_assert_int_eq(answer_of(1)->result, TABLE_BROKEN);
	ck_assert_int_eq(answer_of(2)->result, TABLE_BROKEN);
	ck_assert_int_eq(answer_of(3)->result, TABLE_BROKEN);
	ck_assert_int_eq(answer_of(4)->result, TABLE_OK);
	ck_assert_uint_eq(table_client_restarts(client), 0);
	close(text);
	close(empty);
	close(good);
}
END_TEST

START_TEST(tables_come_in_the_order_in_which_they_were_asked_for)
{
	pid_t pid = stop_worker();
	int fd = open_self();

	for (uint64_t id = 0; id < 8; id++)
		submit(id, fd); /* of which two are on their way */
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	wait_for_answers(8);
	for (size_t i = 0; i < 8; i++)
		ck_assert_uint_eq(answers[i].id, i);
	close(fd);
}
END_TEST

/* Three million functions, each with a row inside. */
static int open_monster(void)
{
	enum { N = 3000000 };
	const struct cfi_bytes initial = CFI_BYTES(0x0c, 7, 8, 0x90, 1);
	const struct cfi_bytes program = CFI_BYTES(0x41, 0x0e, 16);
	struct cfi_image image = { .machine = cfi_machine_native()->elf_machine,
				   .text_size = 16ull * N };
	size_t cie = put_cie(&image.eh_frame, 0, 0x78, 16, initial);
	int fd;

	for (uint64_t i = 0; i < N; i++)
		put_fde(&image.eh_frame, cie, CFI_TEXT + 16 * i, 16, program);
	cfi_image_finish(&image);
	fd = file_with(image.file.data, image.file.len);
	cfi_image_done(&image);
	return fd;
}

START_TEST(a_monster_costs_only_its_own_table)
{
	int monster = open_monster(), good = open_self();

	submit(1, monster);
	submit(2, good);
	wait_for_answers(2);
	ck_assert_int_eq(answer_of(2)->result, TABLE_OK);
	/* Made within the worker's memory; its time may be too short on a machine that is busy. */
	if (answer_of(1)->result != TABLE_KILLER) {
		ck_assert_int_eq(answer_of(1)->result, TABLE_OK);
		ck_assert_uint_ne(answer_of(1)->block->table.head.flags & UNWIND_TABLE_CUT, 0);
		ck_assert_uint_gt(answer_of(1)->block->table.head.n_rows, 1000000);
		ck_assert_uint_eq(table_client_restarts(client), 0);
	}
	close(monster);
	close(good);
}
END_TEST

/* ---- files that kill ---- */

START_TEST(a_file_that_kills_the_worker_is_the_only_one_to_lose)
{
	pid_t pid = stop_worker();
	int fd = open_self();

	for (uint64_t id = 0; id < 3; id++)
		submit(id, fd);
	/* As if the first one had made it crash. */
	ck_assert_int_eq(kill(pid, SIGABRT), 0);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	wait_for_answers(3);
	ck_assert_int_eq(answer_of(0)->result, TABLE_KILLER);
	ck_assert_int_eq(answer_of(1)->result, TABLE_OK);
	ck_assert_int_eq(answer_of(2)->result, TABLE_OK);
	ck_assert_uint_eq(table_client_restarts(client), 1);
	close(fd);
}
END_TEST

START_TEST(a_file_at_which_the_worker_hangs_is_given_up)
{
	int fd;

	stop_worker();
	fd = open_self();
	submit(1, fd);
	submit(2, fd);
	for (int i = 0; i < FILES_DEADLINE_S; i++)
		table_client_collect(client, now += NS_PER_SEC);
	ck_assert_uint_eq(n_answers, 0);
	for (int i = 0; i < 4; i++)
		table_client_collect(client, now += NS_PER_SEC);
	wait_for_answers(2);
	ck_assert_int_eq(answer_of(1)->result, TABLE_KILLER);
	ck_assert_int_eq(answer_of(2)->result, TABLE_OK);
	close(fd);
}
END_TEST

START_TEST(what_waits_at_the_end_is_said_to_be_undone)
{
	int fd;

	stop_worker();
	fd = open_self();
	for (uint64_t id = 0; id < 10; id++)
		submit(id, fd);
	table_client_free(client);
	client = NULL;
	ck_assert_uint_eq(n_answers, 10);
	for (uint64_t id = 0; id < 10; id++)
		ck_assert_int_eq(answer_of(id)->result, TABLE_NO_WORKER);
	close(fd);
}
END_TEST

/* ---- a worker that was taken over ---- */

/* Where the table of the request sent first is to be written. */
static int find_memfd(void)
{
	DIR *fds = opendir("/proc/self/fd");
	char path[300], target[64];
	struct dirent *d;
	int lowest = -1;

	ck_assert_ptr_nonnull(fds);
	while ((d = readdir(fds))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", d->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strstr(target, "unwind-table") && (lowest < 0 || atoi(d->d_name) < lowest))
			lowest = atoi(d->d_name);
	}
	closedir(fds);
	ck_assert_int_ge(lowest, 0);
	return lowest;
}

/* The end of the socket that is the worker's. Only root may take it: -1. */
static int take_socket(pid_t pid)
{
	int pidfd = pidfd_open(pid, 0), sock;

	ck_assert_int_ge(pidfd, 0);
	sock = pidfd_getfd(pidfd, FILES_WORKER_FD, 0);
	close(pidfd);
	if (sock < 0) {
		ck_assert_int_ne(geteuid(), 0);
		ck_assert_int_eq(errno, EPERM);
	}
	return sock;
}

START_TEST(what_is_no_table_is_not_believed)
{
	struct files_reply_head reply = {
		.file_id = 1, .seq = 1, .status = FILES_OK, .kind = FILES_TABLE
	};
	pid_t pid = stop_worker(); /* request 0 */
	int sock = take_socket(pid), fd = open_self(), out;
	void *shared = MAP_FAILED;

	if (sock < 0)
		return;
	submit(1, fd);
	submit(2, fd);
	out = find_memfd();
	switch (_i) {
	case 0: /* nothing was written */
		break;
	case 1: /* something else was */
		ck_assert_int_eq(write(out, "not a table at all", 18), 18);
		break;
	case 2: /* more than there can be */
		ck_assert_int_eq(ftruncate(out, 1l << 30), 0);
		break;
	case 3: /* it could still be changed */
		ck_assert_int_eq(ftruncate(out, 4096), 0);
		shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, out, 0);
		ck_assert(shared != MAP_FAILED);
		break;
	}
	ck_assert_int_eq(send(sock, &reply, sizeof(reply), 0), sizeof(reply));
	close(sock);
	wait_for_answers(2);
	ck_assert_int_eq(answer_of(1)->result, TABLE_KILLER);
	ck_assert_int_eq(answer_of(2)->result, TABLE_OK);
	ck_assert_uint_eq(table_client_restarts(client), 1);
	ck_assert_int_ne(table_client_pid(client), pid);
	if (shared != MAP_FAILED)
		munmap(shared, 4096);
	close(fd);
}
END_TEST

START_TEST(a_table_cannot_be_changed_afterwards)
{
	pid_t pid = stop_worker();
	int fd = open_self(), out;
	struct stat st;

	submit(1, fd);
	out = dup(find_memfd());
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	wait_for_answers(1);
	ck_assert_int_eq(answers[0].result, TABLE_OK);
	ck_assert_int_eq(fstat(out, &st), 0);
	ck_assert_int_lt(pwrite(out, "x", 1, 0), 0);
	ck_assert_int_eq(errno, EPERM);
	ck_assert_int_lt(ftruncate(out, 0), 0);
	ck_assert_int_lt(ftruncate(out, st.st_size + 1), 0);
	close(out);
	close(fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("table_client");
	TCase *tc = tcase_create("table_client");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_table_is_that_of_the_file);
	tcase_add_test(tc, what_is_no_program_has_no_table);
	tcase_add_test(tc, a_monster_costs_only_its_own_table);
	tcase_add_test(tc, tables_come_in_the_order_in_which_they_were_asked_for);
	tcase_add_test(tc, a_file_that_kills_the_worker_is_the_only_one_to_lose);
	tcase_add_test(tc, a_file_at_which_the_worker_hangs_is_given_up);
	tcase_add_test(tc, what_waits_at_the_end_is_said_to_be_undone);
	tcase_add_loop_test(tc, what_is_no_table_is_not_believed, 0, 4);
	tcase_add_test(tc, a_table_cannot_be_changed_afterwards);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
