/* SPDX-License-Identifier: Apache-2.0 */
/* The account of a source's events: it closes, whatever is lost, late or beside the session. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ledger.h"

#define N_CPUS 4

static struct ledger *ledger;

static void set_up(void)
{
	ck_assert_int_eq(ledger_new(N_CPUS, &ledger), 0);
}

static void tear_down(void)
{
	ledger_free(ledger);
	ledger_free(NULL);
}

static enum ledger_verdict take(unsigned cpu, uint64_t seq)
{
	return ledger_take(ledger, cpu, seq, 1000 + seq);
}

START_TEST(events_between_first_and_end_are_the_sessions)
{
	ledger_begin(ledger, 1, 10);
	ck_assert_int_eq(take(1, 9), LEDGER_NOT_OURS);
	ck_assert_int_eq(take(1, 10), LEDGER_IN_ORDER);
	ck_assert_int_eq(take(1, 11), LEDGER_IN_ORDER);
	ledger_end(ledger, 1, 13);
	ck_assert_int_eq(take(1, 12), LEDGER_IN_ORDER);
	ck_assert_int_eq(take(1, 13), LEDGER_NOT_OURS);
	ck_assert_int_eq(take(N_CPUS, 0), LEDGER_NOT_OURS); /* there is no such CPU */
	ledger_close(ledger, 5000);
	ck_assert_uint_eq(ledger_produced(ledger), 3);
	ck_assert_uint_eq(ledger_lost(ledger), 0);
}
END_TEST

START_TEST(what_was_handed_over_before_the_session_is_skipped)
{
	ledger_begin(ledger, 0, 10);
	ledger_skip(ledger, 0, 15);
	ledger_skip(ledger, 0, 12);
	ck_assert_int_eq(take(0, 14), LEDGER_NOT_OURS);
	ck_assert_int_eq(take(0, 15), LEDGER_IN_ORDER);
	ck_assert_uint_eq(ledger_produced(ledger), 1);
}
END_TEST

START_TEST(a_gap_is_a_loss_on_its_cpu)
{
	struct ledger_loss loss;

	ck_assert_int_eq(take(2, 0), LEDGER_IN_ORDER);
	ck_assert_int_eq(take(2, 5), LEDGER_AFTER_LOSS);
	ck_assert_int_eq(take(2, 6), LEDGER_IN_ORDER);
	ck_assert_int_eq(take(0, 0), LEDGER_IN_ORDER);
	ck_assert_uint_eq(ledger_lost(ledger), 4);
	ck_assert_uint_eq(ledger_lost_on(ledger, 2), 4);
	ck_assert_uint_eq(ledger_lost_on(ledger, 0), 0);
	ck_assert_uint_eq(ledger_produced(ledger), 8);
	ck_assert(!ledger_tell(ledger, &loss)); /* they might be late only */
	ck_assert(ledger_tell(ledger, &loss));
	ck_assert_uint_eq(loss.n, 4);
	ck_assert_int_eq(loss.cpu, 2);
	ck_assert_uint_eq(loss.time_ns, 1005);
	ck_assert(!ledger_tell(ledger, &loss));
}
END_TEST

START_TEST(a_gap_that_can_be_late_is_no_loss_yet)
{
	ck_assert_int_eq(take(0, LEDGER_MAX_LATE), LEDGER_AFTER_GAP);
	ck_assert_int_eq(take(1, LEDGER_MAX_LATE + 1), LEDGER_AFTER_LOSS);
}
END_TEST

START_TEST(what_comes_late_was_not_lost_and_is_not_told)
{
	struct ledger_loss loss;

	ck_assert_int_eq(take(0, 1), LEDGER_AFTER_GAP);
	ck_assert_int_eq(take(0, 0), LEDGER_LATE);
	ck_assert_int_eq(take(0, 3), LEDGER_AFTER_GAP);
	ck_assert(!ledger_tell(ledger, &loss));
	ck_assert_int_eq(take(0, 2), LEDGER_LATE);
	ck_assert(!ledger_tell(ledger, &loss));
	ck_assert(!ledger_tell(ledger, &loss));
	ck_assert_uint_eq(ledger_lost(ledger), 0);
	ck_assert_uint_eq(ledger_produced(ledger), 4);
}
END_TEST

START_TEST(a_loss_told_too_early_is_taken_off_the_next)
{
	struct ledger_loss loss;

	take(0, 2); /* 0 and 1 are missing */
	ck_assert(!ledger_tell(ledger, &loss));
	ck_assert(ledger_tell(ledger, &loss));
	ck_assert_uint_eq(loss.n, 2);
	ck_assert_int_eq(take(0, 1), LEDGER_LATE);
	take(0, 6); /* 3, 4, 5 */
	ck_assert(!ledger_tell(ledger, &loss));
	ck_assert(ledger_tell(ledger, &loss));
	ck_assert_uint_eq(loss.n, 2);
	ck_assert_uint_eq(ledger_lost(ledger), 4);
}
END_TEST

START_TEST(the_same_number_twice_counts_once)
{
	take(0, 0);
	take(0, 1);
	ck_assert_int_eq(take(0, 1), LEDGER_NOT_OURS);
	ck_assert_int_eq(take(0, 0), LEDGER_NOT_OURS);
	ck_assert_uint_eq(ledger_produced(ledger), 2);
	ck_assert_uint_eq(ledger_lost(ledger), 0);
}
END_TEST

START_TEST(what_never_came_before_the_end_was_lost)
{
	struct ledger_loss loss;

	take(0, 0);
	ledger_begin(ledger, 3, 100);
	ledger_end(ledger, 0, 4);
	ledger_end(ledger, 3, 102);
	ledger_close(ledger, 7777);
	ck_assert_uint_eq(ledger_produced(ledger), 6);
	ck_assert_uint_eq(ledger_lost(ledger), 5);
	ck_assert(ledger_tell(ledger, &loss));
	ck_assert_uint_eq(loss.n, 5);
	ck_assert_int_eq(loss.cpu, -1);
	ck_assert_uint_eq(loss.time_ns, 7777);
	ck_assert_int_eq(take(0, 2), LEDGER_NOT_OURS);
}
END_TEST

/* A source that does not count: its end is what has come. */
START_TEST(an_end_is_never_before_what_has_come)
{
	take(0, 0);
	take(0, 1);
	ledger_end(ledger, 0, 0);
	ledger_close(ledger, 1);
	ck_assert_uint_eq(ledger_produced(ledger), 2);
	ck_assert_uint_eq(ledger_lost(ledger), 0);
}
END_TEST

/* ---- any history ---- */

#define MAX_EVENTS 400

struct history {
	uint64_t first, end, n_lost; /* of the session's stretch */
	unsigned n;
	uint64_t order[MAX_EVENTS]; /* as the records lie in the ring */
};

/*
 * A CPU's events: some are lost, and some are interrupted between taking a
 * number and taking their place, up to three deep.
 */
static void make_history(struct history *h)
{
	unsigned n_produced = (unsigned)(random() % MAX_EVENTS);
	unsigned loss = (unsigned)(random() % 3 ? random() % 30 : 0); /* percent */

	memset(h, 0, sizeof(*h));
	h->first = (uint64_t)random() % (n_produced + 1);
	h->end = h->first + (uint64_t)random() % (n_produced - h->first + 1);
	for (uint64_t seq = 0; seq < n_produced;) {
		unsigned depth = random() % 10 ? 1 : 1 + (unsigned)random() % 4;

		if (depth > n_produced - seq)
			depth = 1;
		for (unsigned i = depth; i-- > 0;) {
			if ((unsigned)(random() % 100) >= loss)
				h->order[h->n++] = seq + i;
			else if (seq + i >= h->first && seq + i < h->end)
				h->n_lost++;
		}
		seq += depth;
	}
}

START_TEST(the_account_closes_after_any_history)
{
	struct history h[N_CPUS];
	uint64_t n_ours = 0, n_lost = 0, n_taken = 0, n_told = 0;
	unsigned at[N_CPUS] = { 0 }, left = 0;
	struct ledger_loss loss;
	bool ended = false;

	srandom((unsigned)_i);
	for (unsigned cpu = 0; cpu < N_CPUS; cpu++) {
		make_history(&h[cpu]);
		ledger_begin(ledger, cpu, h[cpu].first);
		n_ours += h[cpu].end - h[cpu].first;
		n_lost += h[cpu].n_lost;
		left += h[cpu].n;
	}
	while (left > 0) {
		unsigned cpu = (unsigned)random() % N_CPUS;
		bool past = at[cpu] < h[cpu].n && h[cpu].order[at[cpu]] >= h[cpu].end;

		/* The ends are known before any event behind them is handed over. */
		if (!ended && (past || random() % 1000 == 0)) {
			for (unsigned c = 0; c < N_CPUS; c++)
				ledger_end(ledger, c, h[c].end);
			ended = true;
		}
		if (at[cpu] < h[cpu].n) {
			n_taken += take(cpu, h[cpu].order[at[cpu]++]) != LEDGER_NOT_OURS;
			left--;
		}
		if (random() % 50 == 0 && ledger_tell(ledger, &loss))
			n_told += loss.n;
		ck_assert_uint_le(ledger_produced(ledger), n_ours);
	}
	for (unsigned cpu = 0; cpu < N_CPUS && !ended; cpu++)
		ledger_end(ledger, cpu, h[cpu].end);
	ledger_close(ledger, 1);
	if (ledger_tell(ledger, &loss))
		n_told += loss.n;
	ck_assert_uint_eq(ledger_produced(ledger), n_ours);
	ck_assert_uint_eq(ledger_lost(ledger), n_lost);
	ck_assert_uint_eq(n_taken + n_lost, n_ours);
	/* A loss that was told and came after all is told once too often at most. */
	ck_assert_uint_ge(n_told, n_lost);
	ck_assert_uint_le(n_told, n_lost + 3 * N_CPUS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ledger");
	TCase *tc = tcase_create("ledger");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, events_between_first_and_end_are_the_sessions);
	tcase_add_test(tc, what_was_handed_over_before_the_session_is_skipped);
	tcase_add_test(tc, a_gap_is_a_loss_on_its_cpu);
	tcase_add_test(tc, a_gap_that_can_be_late_is_no_loss_yet);
	tcase_add_test(tc, what_comes_late_was_not_lost_and_is_not_told);
	tcase_add_test(tc, a_loss_told_too_early_is_taken_off_the_next);
	tcase_add_test(tc, the_same_number_twice_counts_once);
	tcase_add_test(tc, what_never_came_before_the_end_was_lost);
	tcase_add_test(tc, an_end_is_never_before_what_has_come);
	tcase_add_loop_test(tc, the_account_closes_after_any_history, 0, 300);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
