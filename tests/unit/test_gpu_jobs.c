/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on rings: when the hardware worked on them, whatever order they are done in; waits for
 * fences. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu_fences.h"
#include "gpu/gpu_jobs.h"
#include "gpu_point_events.h"

#define MAX_DONE 64

static struct gpu_jobs *jobs;
static struct gpu_job done[MAX_DONE];
static char done_ring[MAX_DONE][GPU_RING_NAME];
static size_t n_done;

static void on_done(void *ctx, const struct gpu_job *job)
{
	(void)ctx;
	ck_assert_uint_lt(n_done, MAX_DONE);
	strcpy(done_ring[n_done], job->ring->name);
	done[n_done++] = *job;
}

static void set_up(void)
{
	n_done = 0;
	ck_assert_int_eq(gpu_jobs_new(on_done, NULL, &jobs), 0);
}

static void tear_down(void)
{
	gpu_jobs_free(jobs);
	gpu_jobs_free(NULL);
}

static struct gpu_key key(uint64_t seqno)
{
	return (struct gpu_key){ 7, seqno };
}

static const struct gpu_job *queue_on(uint64_t seqno, uint64_t time, uint32_t device,
				      const char *ring)
{
	struct gpu_submit s = {
		.key = key(seqno),
		.time_ns = time,
		.device = device,
		.ring = ring,
		.tgid = 100,
		.tid = 101,
		.comm = "game",
		.ioctl_ns = time - 1,
		.sched_id = seqno,
	};

	return gpu_jobs_queue(jobs, &s);
}

static void queue(uint64_t seqno, uint64_t time)
{
	ck_assert_ptr_nonnull(queue_on(seqno, time, 1, "gfx"));
}

static void run(uint64_t seqno, uint64_t time)
{
	ck_assert_ptr_nonnull(gpu_jobs_run(jobs, key(seqno), time, 0, "gfx"));
}

START_TEST(a_job_runs_from_when_it_is_handed_over)
{
	queue(1, 1000);
	run(1, 1500);
	ck_assert(gpu_jobs_done(jobs, key(1), 3000));
	ck_assert_uint_eq(n_done, 1);
	ck_assert_uint_eq(done[0].queued_ns, 1000);
	ck_assert_uint_eq(done[0].run_ns, 1500);
	ck_assert_uint_eq(done[0].start_ns, 1500);
	ck_assert_uint_eq(done[0].done_ns, 3000);
	ck_assert_uint_eq(done[0].tgid, 100);
	ck_assert_uint_eq(done[0].ring->device, 1);
	ck_assert_str_eq(done_ring[0], "gfx");
	ck_assert_uint_eq(done[0].n_events, 3);
	ck_assert_uint_ne(done[0].id, 0);
}
END_TEST

START_TEST(a_ring_works_on_one_after_the_other)
{
	queue(1, 1000);
	queue(2, 1100);
	run(1, 1200);
	run(2, 1300);
	gpu_jobs_done(jobs, key(1), 3000);
	gpu_jobs_done(jobs, key(2), 4000);
	ck_assert_uint_eq(done[0].start_ns, 1200);
	ck_assert_uint_eq(done[1].start_ns, 3000);
	ck_assert_uint_ne(done[0].id, done[1].id);
}
END_TEST

/* Whoever takes the oldest job of the ring for that which is done is off by one for ever. */
START_TEST(jobs_may_be_done_in_any_order)
{
	for (uint64_t i = 1; i <= 3; i++) {
		queue(i, 1000 * i);
		run(i, 1000 * i + 100);
	}
	gpu_jobs_done(jobs, key(3), 5000);
	gpu_jobs_done(jobs, key(1), 6000);
	gpu_jobs_done(jobs, key(2), 7000);
	ck_assert_uint_eq(done[0].key.seqno, 3);
	ck_assert_uint_eq(done[0].start_ns, 3100);
	/* That a later one was done first says nothing of it. */
	ck_assert_uint_eq(done[1].key.seqno, 1);
	ck_assert_uint_eq(done[1].start_ns, 1100);
	ck_assert_uint_eq(done[2].start_ns, 6000);
}
END_TEST

START_TEST(rings_of_one_name_on_two_gpus_are_two)
{
	struct gpu_key other = { 9, 1 };
	struct gpu_submit s = {
		.key = other, .time_ns = 1100, .device = 2, .ring = "gfx", .tgid = 200, .tid = 200
	};

	queue(1, 1000);
	run(1, 1050);
	ck_assert_ptr_nonnull(gpu_jobs_queue(jobs, &s));
	gpu_jobs_run(jobs, other, 1200, 0, "gfx");
	gpu_jobs_done(jobs, key(1), 3000);
	gpu_jobs_done(jobs, other, 4000);
	ck_assert_uint_eq(done[0].ring->device, 1);
	ck_assert_uint_eq(done[1].ring->device, 2);
	ck_assert_uint_eq(done[1].start_ns, 1200); /* not after the other's job */
	ck_assert_ptr_ne(done[0].ring, done[1].ring);
}
END_TEST

START_TEST(a_job_of_no_known_gpu_is_on_the_only_ring_of_that_name)
{
	queue(1, 1000);
	ck_assert_uint_eq(queue_on(2, 1000, 0, "gfx")->ring->device, 1);
	ck_assert_uint_eq(queue_on(3, 1000, 0, "sdma")->ring->device, 0);
	queue_on(4, 1000, 2, "gfx");
	ck_assert_uint_eq(queue_on(5, 1000, 0, "gfx")->ring->device, 0); /* which of two? */
}
END_TEST

START_TEST(a_job_queued_before_the_recording_is_known_from_then_on)
{
	ck_assert_ptr_nonnull(gpu_jobs_run(jobs, key(1), 1000, 1, "gfx"));
	ck_assert(gpu_jobs_done(jobs, key(1), 2000));
	ck_assert_uint_eq(done[0].tgid, 0);
	ck_assert_uint_eq(done[0].queued_ns, 0);
	ck_assert_uint_eq(done[0].start_ns, 1000);
	ck_assert_uint_eq(done[0].n_events, 2);
}
END_TEST

START_TEST(one_handed_over_before_the_recording_is_none)
{
	ck_assert(!gpu_jobs_done(jobs, key(1), 2000));
	ck_assert_uint_eq(n_done, 0);
}
END_TEST

START_TEST(one_given_up_before_it_ran_has_no_time_on_the_ring)
{
	queue(1, 1000);
	gpu_jobs_done(jobs, key(1), 9000);
	ck_assert_uint_eq(done[0].start_ns, 8999);
	ck_assert_uint_eq(done[0].run_ns, 0);
}
END_TEST

START_TEST(a_driver_without_a_scheduler_hands_over_at_once)
{
	struct gpu_submit s = {
		.key = key(1),
		.time_ns = 1000,
		.device = 1,
		.ring = "q",
		.tgid = 5,
		.tid = 5,
		.at_once = true,
	};

	gpu_jobs_queue(jobs, &s);
	s.key = key(2);
	s.time_ns = 1100;
	gpu_jobs_queue(jobs, &s);
	gpu_jobs_done(jobs, key(1), 2000);
	gpu_jobs_done(jobs, key(2), 3000);
	ck_assert_uint_eq(done[0].start_ns, 1000);
	ck_assert_uint_eq(done[1].start_ns, 2000);
	ck_assert_uint_eq(done[1].n_events, 2);
}
END_TEST

START_TEST(a_fence_used_anew_is_another_job)
{
	struct gpu_key address = { GPU_CONTEXT_POINTER, 0xffff888812345600 };
	struct gpu_submit s = {
		.key = address, .time_ns = 1000, .device = 1, .ring = "gfx", .tgid = 5, .tid = 5
	};

	gpu_jobs_queue(jobs, &s);
	gpu_jobs_run(jobs, address, 1100, 0, "gfx");
	gpu_jobs_done(jobs, address, 2000);
	s.time_ns = 3000;
	gpu_jobs_queue(jobs, &s);
	/* The end of this one is missed. */
	s.time_ns = 4000;
	gpu_jobs_queue(jobs, &s);
	gpu_jobs_done(jobs, address, 5000);
	ck_assert_uint_eq(n_done, 2);
	ck_assert_uint_ne(done[0].id, done[1].id);
	ck_assert_uint_eq(done[1].queued_ns, 4000);
	ck_assert_uint_eq(gpu_jobs_forgotten(jobs), 1);
	ck_assert_uint_eq(gpu_jobs_forgotten(jobs), 0);
}
END_TEST

START_TEST(a_job_given_to_the_hardware_again_begins_again)
{
	queue(1, 1000);
	run(1, 1100);
	queue(2, 1200);
	run(2, 1300);
	run(1, 5000); /* after a reset */
	gpu_jobs_done(jobs, key(2), 6000);
	gpu_jobs_done(jobs, key(1), 7000);
	ck_assert_uint_eq(done[1].start_ns, 6000);
}
END_TEST

START_TEST(the_jobs_that_it_waited_for_are_known)
{
	const struct gpu_job *first, *second;

	queue(1, 1000);
	queue_on(2, 1100, 1, "compute");
	first = gpu_jobs_find(jobs, key(1));
	ck_assert_ptr_nonnull(gpu_jobs_depend(jobs, key(2), key(1)));
	ck_assert_ptr_nonnull(gpu_jobs_depend(jobs, key(2), key(1)));  /* said twice */
	ck_assert_ptr_nonnull(gpu_jobs_depend(jobs, key(2), key(77))); /* of what is not known */
	second = gpu_jobs_find(jobs, key(2));
	ck_assert_uint_eq(second->n_deps, 1);
	ck_assert_uint_eq(second->deps[0].id, first->id);
	ck_assert_uint_eq(second->deps[0].tgid, 100);
	ck_assert_ptr_null(gpu_jobs_depend(jobs, key(78), key(1)));
}
END_TEST

START_TEST(before_6_17_a_job_that_waits_is_named_by_its_number)
{
	struct gpu_submit other = { .key = key(2),
				    .time_ns = 1100,
				    .device = 2,
				    .ring = "compute",
				    .tgid = 5,
				    .tid = 5,
				    .sched_id = 2 };

	queue(1, 1000);
	queue_on(2, 1100, 1, "compute");
	ck_assert_ptr_nonnull(gpu_jobs_depend_by_id(jobs, "compute", 2, key(1)));
	ck_assert_uint_eq(gpu_jobs_find(jobs, key(2))->n_deps, 1);
	ck_assert_ptr_null(gpu_jobs_depend_by_id(jobs, "gfx", 2, key(1)));
	/* The same number on another GPU: whose it is cannot be said. */
	other.key.context = 9;
	ck_assert_ptr_nonnull(gpu_jobs_queue(jobs, &other));
	ck_assert_ptr_null(gpu_jobs_depend_by_id(jobs, "compute", 2, key(1)));
}
END_TEST

START_TEST(a_fence_is_found_by_what_a_wait_knows_of_it)
{
	struct gpu_key big = { 0x500000007, 0x900000003 }, truncated = { 7, 3 };
	struct gpu_submit s = {
		.key = big, .time_ns = 1000, .device = 1, .ring = "gfx", .tgid = 5, .tid = 5
	};

	gpu_jobs_queue(jobs, &s);
	ck_assert_ptr_nonnull(gpu_jobs_find(jobs, truncated));
	ck_assert_uint_eq(gpu_jobs_find(jobs, truncated)->tgid, 5);
	/* The scheduler's other fence of the job. */
	truncated.context = 6;
	ck_assert_ptr_nonnull(gpu_jobs_find(jobs, truncated));
	truncated.context = 5;
	ck_assert_ptr_null(gpu_jobs_find(jobs, truncated));
	gpu_jobs_run(jobs, big, 1000, 0, "gfx");
	gpu_jobs_done(jobs, big, 2000);
	truncated.context = 7;
	ck_assert_uint_eq(gpu_jobs_find(jobs, truncated)->done_ns, 2000);
}
END_TEST

START_TEST(what_a_process_waited_for_is_its_last_job_in_the_time)
{
	queue(1, 1000);
	queue(2, 1100);
	run(1, 1200);
	run(2, 1300);
	gpu_jobs_done(jobs, key(1), 2000);
	gpu_jobs_done(jobs, key(2), 3000);
	ck_assert_uint_eq(gpu_jobs_last_done(jobs, 100, 1, 1500, 3500)->key.seqno, 2);
	ck_assert_uint_eq(gpu_jobs_last_done(jobs, 100, 0, 1500, 2500)->key.seqno, 1);
	ck_assert_ptr_null(gpu_jobs_last_done(jobs, 100, 2, 1500, 3500));
	ck_assert_ptr_null(gpu_jobs_last_done(jobs, 101, 1, 1500, 3500));
	ck_assert_ptr_null(gpu_jobs_last_done(jobs, 100, 1, 3001, 3500));
}
END_TEST

START_TEST(jobs_of_a_time_are_found_latest_first)
{
	const struct gpu_job *found[4];

	for (uint64_t i = 1; i <= 3; i++) {
		queue(i, 1000 * i);
		run(i, 1000 * i + 1);
	}
	gpu_jobs_done(jobs, key(1), 4000);
	ck_assert_uint_eq(gpu_jobs_queued(jobs, 100, 0, 2500, found, 4), 2);
	ck_assert_uint_eq(found[0]->key.seqno, 2);
	ck_assert_uint_eq(found[1]->key.seqno, 1);
	ck_assert_uint_eq(gpu_jobs_queued(jobs, 100, 0, 9000, found, 1), 1);
	ck_assert_uint_eq(gpu_jobs_queued(jobs, 999, 0, 9000, found, 4), 0);
	ck_assert_uint_eq(gpu_jobs_by_id(jobs, done[0].id)->key.seqno, 1);
	ck_assert_ptr_null(gpu_jobs_by_id(jobs, 1));
}
END_TEST

static void count(void *ctx, const struct gpu_job *job)
{
	(void)job;
	++*(size_t *)ctx;
}

START_TEST(what_is_not_heard_of_any_more_is_forgotten)
{
	size_t n = 0;

	queue(1, 1000);
	run(1, 1100);
	queue(2, 5000);
	ck_assert_uint_eq(gpu_jobs_forget(jobs, 2000), 2);
	gpu_jobs_each(jobs, count, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert(!gpu_jobs_done(jobs, key(1), 6000));
	run(2, 5100);
	ck_assert(gpu_jobs_done(jobs, key(2), 6000));
	ck_assert_uint_eq(done[0].start_ns, 5100);
}
END_TEST

START_TEST(more_jobs_than_can_be_are_not_kept)
{
	uint64_t n = 0;

	while (queue_on(n + 1, 1000, 1, "gfx") && n < 1000000)
		n++;
	ck_assert_uint_gt(n, 1000);
	ck_assert_uint_lt(n, 1000000);
	run(1, 1100);
	gpu_jobs_done(jobs, key(1), 1200);
	ck_assert_ptr_nonnull(queue_on(n + 1, 1300, 1, "gfx"));
}
END_TEST

START_TEST(as_many_rings_as_are_made_up_do_not_matter)
{
	char ring[16];

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(ring, sizeof(ring), "ring %u", i);
		queue_on(i + 1, 1000, 1, ring);
	}
	ck_assert_ptr_nonnull(gpu_jobs_find(jobs, key(1)));
	ck_assert_ptr_null(gpu_jobs_find(jobs, key(1000)));
}
END_TEST

/* ---- waits ---- */

START_TEST(a_wait_ends_for_the_fence_that_it_began_for)
{
	struct gpu_wait wait = { .key = key(1), .begin_ns = 10, .tgid = 1, .tid = 2 }, ret;
	struct gpu_fences *f;

	ck_assert_int_eq(gpu_fences_new(&f), 0);
	ck_assert_uint_eq(gpu_fences_begin(f, &wait), 0);
	ck_assert(!gpu_fences_end(f, 2, key(2), &ret));
	ck_assert(!gpu_fences_end(f, 1, key(1), &ret));
	ck_assert(gpu_fences_end(f, 2, key(1), &ret));
	ck_assert_uint_eq(ret.begin_ns, 10);
	ck_assert(!gpu_fences_end(f, 2, key(1), &ret));
	/* One whose end is missed gives way. */
	gpu_fences_begin(f, &wait);
	wait.key = key(5);
	ck_assert_uint_eq(gpu_fences_begin(f, &wait), 1);
	ck_assert(gpu_fences_rest(f, &ret));
	ck_assert_uint_eq(ret.key.seqno, 5);
	ck_assert(!gpu_fences_rest(f, &ret));
	gpu_fences_begin(f, &wait);
	gpu_fences_free(f);
	gpu_fences_free(NULL);
}
END_TEST

START_TEST(more_waits_than_can_be_are_not_kept)
{
	struct gpu_wait wait = { .key = key(1) }, ret;
	struct gpu_fences *f;
	unsigned n_forgotten = 0;

	ck_assert_int_eq(gpu_fences_new(&f), 0);
	for (wait.tid = 1; wait.tid <= 5000; wait.tid++)
		n_forgotten += gpu_fences_begin(f, &wait);
	ck_assert_uint_gt(n_forgotten, 0);
	ck_assert_uint_lt(n_forgotten, 5000);
	for (unsigned n = 5000 - n_forgotten; n; n--)
		ck_assert(gpu_fences_rest(f, &ret));
	ck_assert(!gpu_fences_rest(f, &ret));
	gpu_fences_free(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_jobs");
	TCase *tc = tcase_create("jobs"), *waits = tcase_create("waits");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_job_runs_from_when_it_is_handed_over);
	tcase_add_test(tc, a_ring_works_on_one_after_the_other);
	tcase_add_test(tc, jobs_may_be_done_in_any_order);
	tcase_add_test(tc, rings_of_one_name_on_two_gpus_are_two);
	tcase_add_test(tc, a_job_of_no_known_gpu_is_on_the_only_ring_of_that_name);
	tcase_add_test(tc, a_job_queued_before_the_recording_is_known_from_then_on);
	tcase_add_test(tc, one_handed_over_before_the_recording_is_none);
	tcase_add_test(tc, one_given_up_before_it_ran_has_no_time_on_the_ring);
	tcase_add_test(tc, a_driver_without_a_scheduler_hands_over_at_once);
	tcase_add_test(tc, a_fence_used_anew_is_another_job);
	tcase_add_test(tc, a_job_given_to_the_hardware_again_begins_again);
	tcase_add_test(tc, the_jobs_that_it_waited_for_are_known);
	tcase_add_test(tc, before_6_17_a_job_that_waits_is_named_by_its_number);
	tcase_add_test(tc, a_fence_is_found_by_what_a_wait_knows_of_it);
	tcase_add_test(tc, what_a_process_waited_for_is_its_last_job_in_the_time);
	tcase_add_test(tc, jobs_of_a_time_are_found_latest_first);
	tcase_add_test(tc, what_is_not_heard_of_any_more_is_forgotten);
	tcase_add_test(tc, more_jobs_than_can_be_are_not_kept);
	tcase_add_test(tc, as_many_rings_as_are_made_up_do_not_matter);
	suite_add_tcase(s, tc);
	tcase_add_test(waits, a_wait_ends_for_the_fence_that_it_began_for);
	tcase_add_test(waits, more_waits_than_can_be_are_not_kept);
	suite_add_tcase(s, waits);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
