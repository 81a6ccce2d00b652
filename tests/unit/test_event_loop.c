/* SPDX-License-Identifier: Apache-2.0 */
/* One thread, one epoll set: who is called when, and who no more. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "event_loop.h"

#define N 3

static struct event_loop *loop;
static struct event_source *sources[N], *timer;
static int pipes[N][2];
static unsigned n_calls[N];

static void set_up(void)
{
	ck_assert_int_eq(event_loop_new(&loop), 0);
	for (unsigned i = 0; i < N; i++)
		ck_assert_int_eq(pipe(pipes[i]), 0);
}

static void tear_down(void)
{
	for (unsigned i = 0; i < N; i++) {
		event_source_free(sources[i]);
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
	event_source_free(timer);
	event_loop_free(loop);
}

static void wake(unsigned i)
{
	ck_assert_int_eq(write(pipes[i][1], "x", 1), 1);
}

static unsigned index_of(void *ctx)
{
	return (unsigned)((struct event_source **)ctx - sources);
}

static void add(unsigned i, event_fn *fn)
{
	ck_assert_int_eq(event_loop_add(loop, pipes[i][0], EPOLLIN, fn, &sources[i], &sources[i]),
			 0);
}

static int count_and_stop(void *ctx, uint32_t events)
{
	char c;

	ck_assert_uint_eq(events, EPOLLIN);
	ck_assert_int_eq(read(pipes[index_of(ctx)][0], &c, 1), 1);
	n_calls[index_of(ctx)]++;
	event_loop_stop(loop);
	return 0;
}

START_TEST(the_source_that_is_ready_is_called)
{
	add(0, count_and_stop);
	add(1, count_and_stop);
	wake(1);
	ck_assert_int_eq(event_loop_run(loop), 0);
	ck_assert_uint_eq(n_calls[0], 0);
	ck_assert_uint_eq(n_calls[1], 1);
}
END_TEST

static int fail_with(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	return -EXDEV;
}

START_TEST(a_failing_callback_ends_the_loop_with_its_error)
{
	add(0, fail_with);
	wake(0);
	ck_assert_int_eq(event_loop_run(loop), -EXDEV);
}
END_TEST

/* Frees every other source; whichever comes first, the others are in the batch already. */
static int free_the_others(void *ctx, uint32_t events)
{
	unsigned self = index_of(ctx);

	(void)events;
	n_calls[self]++;
	for (unsigned i = 0; i < N; i++) {
		if (i == self)
			continue;
		event_source_free(sources[i]);
		sources[i] = NULL;
	}
	event_loop_stop(loop);
	return 0;
}

START_TEST(a_source_removed_in_the_same_batch_is_not_called)
{
	for (unsigned i = 0; i < N; i++) {
		add(i, free_the_others);
		wake(i);
	}
	ck_assert_int_eq(event_loop_run(loop), 0);
	ck_assert_uint_eq(n_calls[0] + n_calls[1] + n_calls[2], 1);
}
END_TEST

static int free_itself(void *ctx, uint32_t events)
{
	unsigned self = index_of(ctx);

	(void)events;
	n_calls[self]++;
	event_source_free(sources[self]);
	event_source_free(sources[self]); /* twice is once */
	sources[self] = NULL;
	wake(1);
	return 0;
}

START_TEST(a_source_may_remove_itself)
{
	add(0, free_itself);
	add(1, count_and_stop);
	wake(0); /* stays readable, and would be called for ever */
	ck_assert_int_eq(event_loop_run(loop), 0);
	ck_assert_uint_eq(n_calls[0], 1);
	ck_assert_uint_eq(n_calls[1], 1);
}
END_TEST

static int replace_itself(void *ctx, uint32_t events)
{
	unsigned self = index_of(ctx);

	(void)events;
	n_calls[self]++;
	event_source_free(sources[self]);
	sources[self] = NULL;
	add(self, count_and_stop);
	return 0;
}

START_TEST(a_descriptor_may_be_watched_again_at_once)
{
	add(0, replace_itself);
	wake(0);
	ck_assert_int_eq(event_loop_run(loop), 0);
	ck_assert_uint_eq(n_calls[0], 2);
}
END_TEST

static int stop_on_write(void *ctx, uint32_t events)
{
	n_calls[index_of(ctx)]++;
	ck_assert_uint_eq(events, EPOLLOUT);
	event_loop_stop(loop);
	return 0;
}

START_TEST(what_is_watched_for_can_change)
{
	ck_assert_int_eq(
		event_loop_add(loop, pipes[0][1], 0, stop_on_write, &sources[0], &sources[0]), 0);
	ck_assert_int_eq(event_source_set(sources[0], EPOLLOUT), 0);
	ck_assert_int_eq(event_loop_run(loop), 0);
	ck_assert_uint_eq(n_calls[0], 1);
}
END_TEST

START_TEST(what_cannot_be_watched_is_an_error)
{
	struct event_source *src = NULL;

	ck_assert_int_eq(event_loop_add(loop, -1, EPOLLIN, fail_with, NULL, &src), -EBADF);
	ck_assert_ptr_null(src);
	add(0, fail_with);
	ck_assert_int_eq(event_loop_add(loop, pipes[0][0], EPOLLIN, fail_with, NULL, &src),
			 -EEXIST);
	ck_assert_ptr_null(src);
}
END_TEST

static int third_time(void *ctx, uint32_t events)
{
	unsigned *n = ctx;

	ck_assert_uint_eq(events, 0);
	if (++*n == 3)
		event_loop_stop(loop);
	return 0;
}

START_TEST(a_timer_comes_again_and_again)
{
	unsigned n = 0;

	ck_assert_int_eq(event_loop_add_timer(loop, 1000000, third_time, &n, &timer), 0);
	ck_assert_int_eq(event_loop_run(loop), 0);
	ck_assert_uint_eq(n, 3);
}
END_TEST

static int free_timer(void *ctx, uint32_t events)
{
	(void)events;
	event_source_free(timer);
	timer = NULL;
	event_source_free(sources[0]);
	sources[0] = NULL;
	return count_and_stop(ctx, EPOLLIN);
}

static int must_not_come(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	ck_abort_msg("called after it was freed");
	return 0;
}

/* Returns when a timer of 1 ns that was set before this has expired. */
static void wait_for_timers(void)
{
	struct itimerspec spec = { .it_value = { .tv_nsec = 1 } };
	struct pollfd p = { .fd = timerfd_create(CLOCK_MONOTONIC, 0), .events = POLLIN };

	ck_assert_int_eq(timerfd_settime(p.fd, 0, &spec, NULL), 0);
	ck_assert_int_eq(poll(&p, 1, -1), 1);
	close(p.fd);
}

/* Its descriptor is closed and may belong to somebody else when its turn would come. */
START_TEST(a_timer_freed_in_the_same_batch_is_not_read)
{
	add(1, free_timer);
	wake(1); /* the first that is ready is the first of the batch */
	ck_assert_int_eq(event_loop_add_timer(loop, 1, must_not_come, NULL, &timer), 0);
	wait_for_timers();
	add(0, must_not_come);
	wake(0);
	ck_assert_int_eq(event_loop_run(loop), 0);
	ck_assert_uint_eq(n_calls[1], 1);
}
END_TEST

START_TEST(a_timer_without_an_interval_is_refused)
{
	ck_assert_int_eq(event_loop_add_timer(loop, 0, must_not_come, NULL, &timer), -EINVAL);
	ck_assert_ptr_null(timer);
}
END_TEST

START_TEST(nothing_is_freed_at_null)
{
	event_source_free(NULL);
	event_loop_free(NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("event_loop");
	TCase *tc = tcase_create("event_loop");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, the_source_that_is_ready_is_called);
	tcase_add_test(tc, a_failing_callback_ends_the_loop_with_its_error);
	tcase_add_test(tc, a_source_removed_in_the_same_batch_is_not_called);
	tcase_add_test(tc, a_source_may_remove_itself);
	tcase_add_test(tc, a_descriptor_may_be_watched_again_at_once);
	tcase_add_test(tc, what_is_watched_for_can_change);
	tcase_add_test(tc, what_cannot_be_watched_is_an_error);
	tcase_add_test(tc, a_timer_comes_again_and_again);
	tcase_add_test(tc, a_timer_freed_in_the_same_batch_is_not_read);
	tcase_add_test(tc, a_timer_without_an_interval_is_refused);
	tcase_add_test(tc, nothing_is_freed_at_null);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
