/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: which vblank showed which commit, whether that was late, and whose fault it was. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gpu/gpu_frames.h"
#include "gpu/gpu_jobs.h"
#include "gpu/gpu_vblanks.h"

#define PERIOD	   (16 * NS_PER_MS)
#define FILE_1	   0xffff888800001000
#define FILE_2	   0xffff888800002000
#define MAX_FRAMES 256

static struct gpu_jobs *jobs;
static struct gpu_frames *frames;
static struct gpu_frame shown[MAX_FRAMES];
static size_t n_shown;
static uint32_t the_device;

static void on_frame(void *ctx, const struct gpu_frame *frame)
{
	(void)ctx;
	ck_assert_uint_lt(n_shown, MAX_FRAMES);
	shown[n_shown++] = *frame;
}

static void on_job(void *ctx, const struct gpu_job *job)
{
	(void)ctx;
	(void)job;
}

static void set_up(void)
{
	n_shown = 0;
	the_device = 1;
	ck_assert_int_eq(gpu_jobs_new(on_job, NULL, &jobs), 0);
	ck_assert_int_eq(gpu_frames_new(jobs, on_frame, NULL, &frames), 0);
}

static void tear_down(void)
{
	gpu_frames_free(frames);
	gpu_frames_free(NULL);
	gpu_jobs_free(jobs);
}

/* When vblank `seq` is, on a display that began at 1 s. */
static uint64_t at(uint64_t seq)
{
	return NS_PER_SEC + seq * PERIOD;
}

static struct gpu_commit a_commit(uint64_t file, uint64_t time_ns)
{
	return (struct gpu_commit){
		.time_ns = time_ns,
		.end_ns = time_ns + 50000,
		.file = file,
		.id = time_ns,
		.device = the_device,
		.tgid = 100,
		.tid = 100,
	};
}

static void commit(uint64_t file, uint64_t time_ns)
{
	struct gpu_commit c = a_commit(file, time_ns);

	gpu_frames_commit(frames, &c);
}

static void deliver(uint64_t file, uint32_t crtc, uint64_t seq)
{
	gpu_frames_delivered(frames, file, crtc, (uint32_t)seq, at(seq) + 20000);
	gpu_frames_vblank(frames, crtc, (uint32_t)seq, at(seq));
}

/* A frame committed 1 ms after a vblank, shown at another. */
static void frame(uint64_t after_seq, uint64_t shown_seq)
{
	commit(FILE_1, at(after_seq) + NS_PER_MS);
	for (uint64_t seq = after_seq + 1; seq < shown_seq; seq++)
		gpu_frames_vblank(frames, 0, (uint32_t)seq, at(seq));
	deliver(FILE_1, 0, shown_seq);
}

static const struct gpu_frame *last(void)
{
	ck_assert_uint_gt(n_shown, 0);
	return &shown[n_shown - 1];
}

START_TEST(a_row_of_frames_is_on_time)
{
	for (uint64_t seq = 10; seq < 20; seq++)
		frame(seq, seq + 1);
	ck_assert_uint_eq(n_shown, 10);
	for (size_t i = 0; i < n_shown; i++) {
		ck_assert_int_eq(shown[i].verdict, FRAME_ON_TIME);
		ck_assert_uint_eq(shown[i].seq, 11 + i);
		ck_assert_uint_eq(shown[i].present_ns, at(11 + i));
		ck_assert_uint_eq(shown[i].commit.time_ns, at(10 + i) + NS_PER_MS);
		ck_assert_uint_eq(shown[i].n_events, 1);
	}
	ck_assert_uint_eq(last()->period_ns, PERIOD);
	ck_assert_int_eq(last()->reason, REASON_NONE);
}
END_TEST

START_TEST(a_frame_that_waited_for_two_more_vblanks_is_late_by_two)
{
	frame(10, 11);
	frame(11, 12);
	frame(12, 15);
	ck_assert_int_eq(last()->verdict, FRAME_LATE);
	ck_assert_uint_eq(last()->late_by, 2);
	ck_assert_uint_eq(last()->target_ns, at(13));
	/* In time, no GPU work known: who owns the display took so long. */
	ck_assert_int_eq(last()->reason, REASON_COMPOSITOR);
	frame(15, 16);
	ck_assert_int_eq(last()->verdict, FRAME_ON_TIME);
}
END_TEST

START_TEST(a_commit_that_comes_too_late_is_the_applications_fault)
{
	for (uint64_t seq = 10; seq < 15; seq++)
		frame(seq, seq + 1);
	/* It slept over two vblanks, then was shown at once. */
	frame(17, 18);
	ck_assert_int_eq(last()->verdict, FRAME_LATE);
	ck_assert_uint_eq(last()->late_by, 2);
	ck_assert_int_eq(last()->reason, REASON_APPLICATION);
}
END_TEST

START_TEST(an_idle_client_misses_nothing)
{
	for (uint64_t seq = 10; seq < 15; seq++)
		frame(seq, seq + 1);
	frame(300, 301);
	ck_assert_int_eq(last()->verdict, FRAME_ON_TIME);
	/* But its first frame may be late after its commit. */
	frame(600, 602);
	ck_assert_int_eq(last()->verdict, FRAME_LATE);
	ck_assert_uint_eq(last()->late_by, 1);
}
END_TEST

START_TEST(every_second_vblank_may_be_the_pace)
{
	for (uint64_t seq = 10; seq < 30; seq += 2)
		frame(seq + 1, seq + 2);
	ck_assert_int_eq(last()->verdict, FRAME_ON_TIME);
	frame(32, 33); /* one more than the pace */
	ck_assert_int_eq(last()->verdict, FRAME_LATE);
	ck_assert_uint_eq(last()->late_by, 1);
}
END_TEST

START_TEST(without_vblanks_there_is_only_a_latency)
{
	for (uint64_t i = 0; i < 5; i++) {
		commit(FILE_1, at(i));
		ck_assert(gpu_frames_delivered(frames, FILE_1, 0, 0, at(i) + 3 * NS_PER_MS));
	}
	gpu_frames_flush(frames, at(100), false);
	ck_assert_uint_eq(n_shown, 5);
	for (size_t i = 0; i < n_shown; i++) {
		ck_assert_int_eq(shown[i].verdict, FRAME_LATENCY);
		ck_assert_uint_eq(shown[i].present_ns - shown[i].commit.time_ns, 3 * NS_PER_MS);
	}
}
END_TEST

START_TEST(who_does_not_want_to_wait_is_never_late)
{
	struct gpu_commit c = a_commit(FILE_1, at(12) + NS_PER_MS);

	frame(10, 11);
	frame(11, 12);
	c.is_async = true;
	gpu_frames_commit(frames, &c);
	deliver(FILE_1, 0, 16);
	ck_assert_int_eq(last()->verdict, FRAME_LATENCY);
	ck_assert_uint_eq(last()->late_by, 0);
}
END_TEST

START_TEST(a_busy_display_drops_the_frame)
{
	struct gpu_commit c = a_commit(FILE_1, at(12));

	c.failed = true;
	gpu_frames_commit(frames, &c);
	ck_assert_int_eq(last()->verdict, FRAME_DROPPED);
	ck_assert_int_eq(last()->reason, REASON_COMPOSITOR);
	ck_assert_uint_gt(last()->present_ns, c.time_ns);
	ck_assert_uint_eq(last()->n_events, 0);
}
END_TEST

START_TEST(a_commit_that_a_later_one_overtakes_is_dropped)
{
	commit(FILE_1, at(10));
	frame(12, 13);
	gpu_frames_flush(frames, at(14), false);
	ck_assert_uint_eq(n_shown, 1);
	ck_assert_uint_eq(last()->commit.time_ns, at(12) + NS_PER_MS);
	gpu_frames_flush(frames, at(12) + 3 * NS_PER_SEC, false);
	ck_assert_uint_eq(n_shown, 2);
	ck_assert_int_eq(last()->verdict, FRAME_DROPPED);
	ck_assert_uint_eq(last()->commit.time_ns, at(10));
}
END_TEST

START_TEST(it_may_be_shown_before_its_ioctl_returns)
{
	frame(10, 11);
	/* A blocking commit: told first, then the record of the ioctl comes. */
	ck_assert(!gpu_frames_delivered(frames, FILE_1, 0, 12, at(12) + 20000));
	commit(FILE_1, at(11) + NS_PER_MS);
	gpu_frames_vblank(frames, 0, 12, at(12));
	ck_assert_uint_eq(n_shown, 2);
	ck_assert_uint_eq(last()->seq, 12);
	ck_assert_uint_eq(last()->n_events, 0);
	/* What is told after that is not of a commit that had not been made yet. */
	ck_assert(!gpu_frames_delivered(frames, FILE_1, 0, 13, at(13)));
	commit(FILE_1, at(13) + 1);
	gpu_frames_flush(frames, at(13) + 200 * NS_PER_MS, false);
	ck_assert_uint_eq(n_shown, 2);
}
END_TEST

START_TEST(a_commit_may_come_between_a_vblank_and_its_interrupt)
{
	frame(10, 11);
	frame(11, 12);
	commit(FILE_1, at(13) + NS_PER_MS);
	gpu_frames_delivered(frames, FILE_1, 0, 13, at(13) + 3 * NS_PER_MS);
	gpu_frames_vblank(frames, 0, 13, at(13));
	ck_assert_uint_eq(last()->present_ns, at(13) + 3 * NS_PER_MS);
	ck_assert_int_eq(last()->verdict, FRAME_ON_TIME);
}
END_TEST

START_TEST(a_client_that_only_waits_for_vblanks_shows_nothing)
{
	commit(FILE_1, at(10) + NS_PER_MS);
	gpu_frames_queued(frames, FILE_1, 0, 11);
	/* Both at the same vblank: first one, then the other. */
	ck_assert(!gpu_frames_delivered(frames, FILE_1, 0, 11, at(11)));
	ck_assert(gpu_frames_delivered(frames, FILE_1, 0, 11, at(11)));
	gpu_frames_vblank(frames, 0, 11, at(11));
	ck_assert_uint_eq(n_shown, 1);
	ck_assert(!gpu_frames_delivered(frames, 0, 0, 12, at(12))); /* the kernel's own */
	ck_assert(!gpu_frames_delivered(frames, FILE_2, 0, 12, at(12)));
}
END_TEST

START_TEST(one_commit_is_shown_on_all_its_displays)
{
	commit(FILE_1, at(10) + NS_PER_MS);
	deliver(FILE_1, 0, 11);
	gpu_frames_delivered(frames, FILE_1, 1, 511, at(11) + 3 * NS_PER_MS);
	gpu_frames_vblank(frames, 1, 511, at(11) + 3 * NS_PER_MS);
	ck_assert_uint_eq(n_shown, 2);
	ck_assert_uint_eq(shown[0].crtc, 0);
	ck_assert_uint_eq(shown[1].crtc, 1);
	ck_assert_uint_eq(shown[1].commit.id, shown[0].commit.id);
	/* But not on the same one twice. */
	ck_assert(!gpu_frames_delivered(frames, FILE_1, 1, 512, at(12)));
}
END_TEST

START_TEST(two_cards_with_one_number_of_crtc_have_their_own_rows)
{
	/* 60 Hz and 75 Hz, both CRTC 0, counts close to each other. */
	const uint64_t other = 13333333;
	uint64_t t;

	for (uint64_t i = 0; i < 30; i++) {
		the_device = 1;
		frame(100 + i, 101 + i);
		the_device = 2;
		t = NS_PER_SEC + 5 * NS_PER_MS + (80 + i) * other;
		commit(FILE_2, t + NS_PER_MS);
		t += other;
		gpu_frames_delivered(frames, FILE_2, 0, (uint32_t)(2081 + i), t + 10000);
		gpu_frames_vblank(frames, 0, (uint32_t)(2081 + i), t);
	}
	ck_assert_uint_eq(n_shown, 60);
	for (size_t i = 0; i < n_shown; i++) {
		ck_assert_int_eq(shown[i].verdict, FRAME_ON_TIME);
		ck_assert_uint_eq(shown[i].commit.file,
				  shown[i].commit.device == 1 ? FILE_1 : FILE_2);
	}
	ck_assert_uint_eq(shown[58].period_ns, PERIOD);
	ck_assert_uint_eq(shown[59].period_ns, other);
}
END_TEST

/* ---- reasons ---- */

static void job(uint64_t seqno, uint32_t tgid, uint64_t queued, uint64_t done)
{
	struct gpu_submit s = {
		.key = { 1, seqno },
		.time_ns = queued,
		.device = 1,
		.ring = "gfx",
		.tgid = tgid,
		.tid = tgid,
		.at_once = true,
	};

	gpu_jobs_queue(jobs, &s);
	if (done)
		gpu_jobs_done(jobs, s.key, done);
}

START_TEST(a_job_that_is_not_done_in_time_is_the_gpus_fault)
{
	frame(10, 11);
	frame(11, 12);
	job(1, 100, at(12) + 500000, at(14) + NS_PER_MS);
	frame(12, 15);
	ck_assert_uint_eq(last()->late_by, 2);
	ck_assert_int_eq(last()->reason, REASON_GPU);
	ck_assert_uint_eq(last()->n_jobs, 1);
	ck_assert_uint_eq(last()->gpu_done_ns, at(14) + NS_PER_MS);
}
END_TEST

START_TEST(another_processs_job_is_not)
{
	frame(10, 11);
	frame(11, 12);
	job(1, 999, at(12) + 500000, at(14) + NS_PER_MS);
	frame(12, 15);
	ck_assert_int_eq(last()->reason, REASON_COMPOSITOR);
	ck_assert_uint_eq(last()->n_jobs, 0);
}
END_TEST

START_TEST(a_fence_that_the_kernel_waited_for_is_the_gpus_fault)
{
	frame(10, 11);
	frame(11, 12);
	gpu_frames_kernel_wait(frames, at(12) + 2 * NS_PER_MS, at(14));
	frame(12, 15);
	ck_assert_int_eq(last()->reason, REASON_GPU);
	/* One that was over in time is nobody's. */
	frame(15, 16);
	gpu_frames_kernel_wait(frames, at(16) + 2 * NS_PER_MS, at(16) + 3 * NS_PER_MS);
	frame(16, 19);
	ck_assert_int_eq(last()->reason, REASON_COMPOSITOR);
}
END_TEST

/* The compositor's job waits for the client's. */
static void composed(uint64_t n, uint64_t client_queued, uint64_t client_done, uint64_t queued,
		     uint64_t done)
{
	struct gpu_submit s = {
		.key = { 2, n },
		.time_ns = client_queued,
		.device = 1,
		.ring = "client",
		.tgid = 200,
		.tid = 200,
		.at_once = true,
	};
	struct gpu_key client = s.key, own = { 3, n };

	gpu_jobs_queue(jobs, &s);
	s.key = own;
	s.time_ns = queued;
	s.ring = "gfx";
	s.tgid = s.tid = 100;
	gpu_jobs_queue(jobs, &s);
	gpu_jobs_depend(jobs, own, client);
	gpu_jobs_done(jobs, client, client_done);
	gpu_jobs_done(jobs, own, done);
}

START_TEST(a_client_that_draws_too_late_is_the_application)
{
	frame(10, 11);
	frame(11, 12);
	composed(1, at(14) + NS_PER_MS, at(14) + 2 * NS_PER_MS, at(14) + 2 * NS_PER_MS,
		 at(14) + 3 * NS_PER_MS);
	commit(FILE_1, at(14) + 2 * NS_PER_MS);
	gpu_frames_vblank(frames, 0, 13, at(13));
	gpu_frames_vblank(frames, 0, 14, at(14));
	deliver(FILE_1, 0, 15);
	ck_assert_int_eq(last()->verdict, FRAME_LATE);
	ck_assert_int_eq(last()->reason, REASON_APPLICATION);
	ck_assert_uint_eq(last()->n_clients, 1);
	ck_assert_uint_eq(last()->clients[0].tgid, 200);
}
END_TEST

START_TEST(who_owns_the_display_and_comes_too_late_is_the_compositor)
{
	frame(10, 11);
	frame(11, 12);
	composed(1, at(12) + NS_PER_MS, at(12) + 2 * NS_PER_MS, at(14) + 2 * NS_PER_MS,
		 at(14) + 3 * NS_PER_MS);
	commit(FILE_1, at(14) + 2 * NS_PER_MS);
	gpu_frames_vblank(frames, 0, 13, at(13));
	gpu_frames_vblank(frames, 0, 14, at(14));
	deliver(FILE_1, 0, 15);
	ck_assert_int_eq(last()->verdict, FRAME_LATE);
	ck_assert_int_eq(last()->reason, REASON_COMPOSITOR);
}
END_TEST

START_TEST(a_clients_long_job_is_the_gpus_fault)
{
	frame(10, 11);
	frame(11, 12);
	composed(1, at(12) + NS_PER_MS, at(14), at(12) + 2 * NS_PER_MS, at(14) + NS_PER_MS);
	commit(FILE_1, at(12) + 3 * NS_PER_MS);
	gpu_frames_vblank(frames, 0, 13, at(13));
	gpu_frames_vblank(frames, 0, 14, at(14));
	deliver(FILE_1, 0, 15);
	ck_assert_int_eq(last()->reason, REASON_GPU);
}
END_TEST

START_TEST(many_commits_and_events_are_borne)
{
	for (uint64_t i = 1; i < 500; i++) {
		commit(FILE_1 + i, at(i));
		gpu_frames_queued(frames, FILE_2 + i, (uint32_t)i, (uint32_t)i);
		gpu_frames_delivered(frames, i, (uint32_t)(3 * i), (uint32_t)i, at(i));
		gpu_frames_kernel_wait(frames, at(i), at(i + 1));
		gpu_frames_vblank(frames, (uint32_t)(i * 7), (uint32_t)(i * 1000), at(i));
	}
	frame(600, 601);
	ck_assert_uint_eq(last()->seq, 601);
	gpu_frames_flush(frames, at(700), true);
}
END_TEST

/* ---- beats ---- */

START_TEST(a_beat_is_found_again_after_a_pause)
{
	struct gpu_vblanks v = { 0 };
	struct gpu_beat *b = gpu_vblanks_add(&v, 0, 100, at(100));

	for (uint32_t seq = 101; seq < 110; seq++)
		ck_assert_ptr_eq(gpu_vblanks_add(&v, 0, seq, at(seq)), b);
	ck_assert_uint_eq(b->period_ns, PERIOD);
	ck_assert_ptr_eq(gpu_vblanks_add(&v, 0, 4000, at(4000)), b);
	ck_assert_ptr_eq(gpu_vblanks_add(&v, 0, 3999, at(3999)), b); /* overtaken */
	ck_assert_uint_eq(b->seq, 4000);
	ck_assert_ptr_ne(gpu_vblanks_add(&v, 1, 4001, at(4001)), b);
	ck_assert_ptr_ne(gpu_vblanks_add(&v, 0, 4001, at(8000)), b);
}
END_TEST

START_TEST(counts_wrap)
{
	struct gpu_vblanks v = { 0 };
	struct gpu_beat *b = gpu_vblanks_add(&v, 0, UINT32_MAX - 1, at(1));

	ck_assert_ptr_eq(gpu_vblanks_add(&v, 0, UINT32_MAX, at(2)), b);
	ck_assert_ptr_eq(gpu_vblanks_add(&v, 0, 0, at(3)), b);
	ck_assert_ptr_eq(gpu_vblanks_add(&v, 0, 1, at(4)), b);
	ck_assert_uint_eq(b->period_ns, PERIOD);
}
END_TEST

START_TEST(whose_beat_it_is_is_learnt_when_it_is_clear)
{
	struct gpu_vblanks v = { 0 };

	gpu_vblanks_add(&v, 0, 100, at(100));
	gpu_vblanks_add(&v, 0, 100 + 7000, at(100) + 5 * NS_PER_MS);
	ck_assert_ptr_null(gpu_vblanks_of(&v, 1, 0));
	gpu_vblanks_learn(&v, 1, 0, 101, at(101));
	ck_assert_uint_eq(gpu_vblanks_of(&v, 1, 0)->seq, 100);
	ck_assert_ptr_null(gpu_vblanks_of(&v, 2, 0));
	gpu_vblanks_learn(&v, 2, 0, 7101, at(101) + 5 * NS_PER_MS);
	ck_assert_uint_eq(gpu_vblanks_of(&v, 2, 0)->seq, 7100);
}
END_TEST

START_TEST(two_beats_that_look_alike_are_nobodys_yet)
{
	struct gpu_vblanks v = { 0 };

	gpu_vblanks_add(&v, 0, 100, at(100));
	v.beats[1] = v.beats[0];
	gpu_vblanks_learn(&v, 1, 0, 101, at(101));
	ck_assert_ptr_null(gpu_vblanks_of(&v, 1, 0));
}
END_TEST

START_TEST(one_late_time_does_not_change_the_period)
{
	struct gpu_beat b = { 0 };

	for (int i = 0; i < 3; i++)
		gpu_beat_measure(&b, 0, PERIOD, 1);
	gpu_beat_measure(&b, 0, PERIOD + 9 * NS_PER_MS, 1);
	ck_assert_uint_eq(b.period_ns, PERIOD);
	gpu_beat_measure(&b, 10, 5, 1);
	gpu_beat_measure(&b, 0, 5, 1);
	gpu_beat_measure(&b, 0, PERIOD, 0);
	gpu_beat_measure(&b, 0, 1000 * NS_PER_SEC, 2);
	ck_assert_uint_eq(b.n_recent, 4);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_frames");
	TCase *tc = tcase_create("frames"), *beats = tcase_create("beats");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_row_of_frames_is_on_time);
	tcase_add_test(tc, a_frame_that_waited_for_two_more_vblanks_is_late_by_two);
	tcase_add_test(tc, a_commit_that_comes_too_late_is_the_applications_fault);
	tcase_add_test(tc, an_idle_client_misses_nothing);
	tcase_add_test(tc, every_second_vblank_may_be_the_pace);
	tcase_add_test(tc, without_vblanks_there_is_only_a_latency);
	tcase_add_test(tc, who_does_not_want_to_wait_is_never_late);
	tcase_add_test(tc, a_busy_display_drops_the_frame);
	tcase_add_test(tc, a_commit_that_a_later_one_overtakes_is_dropped);
	tcase_add_test(tc, it_may_be_shown_before_its_ioctl_returns);
	tcase_add_test(tc, a_commit_may_come_between_a_vblank_and_its_interrupt);
	tcase_add_test(tc, a_client_that_only_waits_for_vblanks_shows_nothing);
	tcase_add_test(tc, one_commit_is_shown_on_all_its_displays);
	tcase_add_test(tc, two_cards_with_one_number_of_crtc_have_their_own_rows);
	tcase_add_test(tc, a_job_that_is_not_done_in_time_is_the_gpus_fault);
	tcase_add_test(tc, another_processs_job_is_not);
	tcase_add_test(tc, a_fence_that_the_kernel_waited_for_is_the_gpus_fault);
	tcase_add_test(tc, a_client_that_draws_too_late_is_the_application);
	tcase_add_test(tc, who_owns_the_display_and_comes_too_late_is_the_compositor);
	tcase_add_test(tc, a_clients_long_job_is_the_gpus_fault);
	tcase_add_test(tc, many_commits_and_events_are_borne);
	suite_add_tcase(s, tc);
	tcase_add_test(beats, a_beat_is_found_again_after_a_pause);
	tcase_add_test(beats, counts_wrap);
	tcase_add_test(beats, whose_beat_it_is_is_learnt_when_it_is_clear);
	tcase_add_test(beats, two_beats_that_look_alike_are_nobodys_yet);
	tcase_add_test(beats, one_late_time_does_not_change_the_period);
	suite_add_tcase(s, beats);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
