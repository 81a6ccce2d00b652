/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers that are armed: who is told, when, how often, and what is remembered for the trace. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "io.h"
#include "process/process_table.h"
#include "trigger/trigger_psi.h"
#include "trigger/trigger_wait.h"

static struct event_loop *loop;
static struct process_table *processes;
static struct triggers *triggers;
static trace_tap_fn *tap; /* who listens */
static void *tap_ctx;
static char dir[64]; /* in place of /proc/pressure */
static char why[TRIGGER_WHY_LEN];
static char told[8192];
static struct trigger_wait *wait;

static void set_tap(void *ctx, trace_tap_fn *fn, void *fn_ctx)
{
	ck_assert_ptr_eq(ctx, &tap);
	tap = fn;
	tap_ctx = fn_ctx;
}

static void set_up(void)
{
	struct triggers_env env = { .psi_dir = dir, .tap = set_tap, .ctx = &tap };

	strcpy(dir, "/tmp/triggers.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	env.loop = loop;
	env.processes = processes;
	ck_assert_int_eq(triggers_new(&env, &triggers), 0);
	told[0] = '\0';
	wait = NULL;
}

static void tear_down(void)
{
	char path[128];

	trigger_wait_free(wait);
	ck_assert_ptr_null((void *)tap); /* nobody listens for nobody */
	triggers_free(triggers);
	process_table_free(processes);
	event_loop_free(loop);
	snprintf(path, sizeof(path), "%s/cpu", dir);
	unlink(path);
	rmdir(dir);
}

static struct trigger_spec spec_of(const char *text)
{
	struct trigger_spec spec;

	ck_assert_msg(trigger_spec_parse(text, &spec, why) == 0, "%s", why);
	return spec;
}

/* ---- what happens ---- */

static void slice(const char *name, uint64_t end_ns, uint64_t ns)
{
	const struct trace_tap_event ev = {
		.kind = TAP_SLICE, .time_ns = end_ns - ns, .end_ns = end_ns, .name = name, .tgid = 7
	};

	if (tap)
		tap(tap_ctx, &ev);
}

static int on_stop(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	event_loop_stop(loop);
	return 0;
}

/* Everything that is due by then is told. */
static void let_pass(uint64_t ns)
{
	struct event_source *timer;

	ck_assert_int_eq(event_loop_add_timer(loop, ns, on_stop, NULL, &timer), 0);
	ck_assert_int_eq(event_loop_run(loop), 0);
	event_source_free(timer);
}

/* Until there is so much in `told`. */
static void let_tell(const char *text)
{
	for (int i = 0; i < 3000 && strlen(told) < strlen(text); i++)
		let_pass(10 * NS_PER_MS);
	ck_assert_str_eq(told, text);
}

/* ---- who waits ---- */

static void tell(const char *what, const char *spec, const struct trigger_fired *fired)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%s %s: %s, %u missed\n", what, spec, fired->what,
		 (unsigned)fired->n_missed);
}

static void on_fired(void *ctx, struct trigger *t, const struct trigger_fired *fired)
{
	tell(ctx, trigger_spec(t)->text, fired);
}

static struct trigger *arm(const char *text, const char *who)
{
	struct trigger_spec spec = spec_of(text);
	struct trigger *t;

	ck_assert_msg(triggers_arm(triggers, &spec, who, on_fired, (void *)who, why, &t) == 0, "%s",
		      why);
	return t;
}

START_TEST(who_waits_is_told_once_an_interval)
{
	struct trigger *t = arm("slice:f*>10ms,min_interval=1s", "A");
	uint64_t now = boot_ns() + NS_PER_SEC;

	ck_assert_ptr_nonnull((void *)tap);
	slice("f", now, 5 * NS_PER_MS);
	slice("g", now, 20 * NS_PER_MS);
	slice("f1", now, 20 * NS_PER_MS);
	ck_assert_str_eq(told, ""); /* not in the middle of an event */
	let_tell("A slice:f*>10ms,min_interval=1s: 'f1' took 20.0 ms, 0 missed\n");
	told[0] = '\0';
	slice("f2", now + 1, 20 * NS_PER_MS);
	slice("f3", now + NS_PER_SEC - 1, 20 * NS_PER_MS);
	let_pass(50 * NS_PER_MS);
	ck_assert_str_eq(told, "");
	slice("f4", now + NS_PER_SEC, 20 * NS_PER_MS);
	let_tell("A slice:f*>10ms,min_interval=1s: 'f4' took 20.0 ms, 2 missed\n");
	ck_assert_uint_eq(trigger_count(t), 2);
	triggers_disarm(t);
	ck_assert_ptr_null((void *)tap);
}
END_TEST

START_TEST(what_was_before_does_not_count)
{
	uint64_t before = boot_ns();
	struct trigger *t = arm("slice:f>1ms", "A");

	slice("f", before - 1, 20 * NS_PER_MS);
	let_pass(50 * NS_PER_MS);
	ck_assert_str_eq(told, "");
	triggers_disarm(t);
}
END_TEST

static void tell_marks(void)
{
	struct flight_mark marks[TRIGGERS_MARKS];
	size_t n = triggers_marks(triggers, marks);

	told[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(told);

		ck_assert_uint_eq(marks[i].tgid, 7);
		snprintf(told + len, sizeof(told) - len, "%s by %s: %s\n", marks[i].name,
			 marks[i].by, marks[i].detail);
	}
}

START_TEST(what_has_fired_is_remembered)
{
	struct trigger *a = arm("slice:a>1ms,min_interval=0s", "A"), *b = arm("slice:*>1ms", "B");
	uint64_t now = boot_ns() + NS_PER_SEC;
	const char *first;

	slice("a", now, 20 * NS_PER_MS);
	let_tell("B slice:*>1ms: 'a' took 20.0 ms, 0 missed\n"
		 "A slice:a>1ms,min_interval=0s: 'a' took 20.0 ms, 0 missed\n");
	tell_marks();
	ck_assert_str_eq(told, "slice:*>1ms by B: 'a' took 20.0 ms\n"
			       "slice:a>1ms,min_interval=0s by A: 'a' took 20.0 ms\n");
	for (unsigned i = 0; i < TRIGGERS_MARKS; i++) {
		told[0] = '\0';
		slice("a", now, (100 + i) * NS_PER_MS);
		let_pass(NS_PER_MS);
	}
	/* Not more than there is room for. */
	first = "slice:a>1ms,min_interval=0s by A: 'a' took 100.0 ms\n";
	tell_marks();
	ck_assert_int_eq(strncmp(told, first, strlen(first)), 0);
	triggers_disarm(a);
	triggers_disarm(b);
}
END_TEST

static struct trigger *others[2];

static void disarm_all(void *ctx, struct trigger *t, const struct trigger_fired *fired)
{
	(void)t;
	tell(ctx, "x", fired);
	triggers_disarm(others[0]);
	triggers_disarm(others[1]);
}

START_TEST(who_is_told_may_disarm_all)
{
	struct trigger_spec spec = spec_of("slice:*>0us");

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(
			triggers_arm(triggers, &spec, "A", disarm_all, "A", why, &others[i]), 0);
	slice("f", boot_ns() + 1, NS_PER_MS);
	let_tell("A x: 'f' took 1.0 ms, 0 missed\n");
	let_pass(20 * NS_PER_MS);
	ck_assert_str_eq(told, "A x: 'f' took 1.0 ms, 0 missed\n");
}
END_TEST

START_TEST(there_are_not_too_many)
{
	struct trigger *list[TRIGGERS_MAX], *t;
	struct trigger_spec spec = spec_of("sigusr2");

	for (unsigned i = 0; i < TRIGGERS_MAX; i++)
		list[i] = arm("sigusr2", "A");
	ck_assert_int_eq(triggers_arm(triggers, &spec, "A", on_fired, NULL, why, &t), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(why, "128 triggers are waited for already"));
	triggers_disarm(list[0]);
	list[0] = arm("sigusr2", "A");
	for (unsigned i = 0; i < TRIGGERS_MAX; i++)
		triggers_disarm(list[i]);
}
END_TEST

START_TEST(a_signal_fires_who_waits_for_it)
{
	struct trigger *t;
	uint64_t now = boot_ns() + NS_PER_SEC;

	ck_assert_uint_eq(triggers_sigusr2(triggers, 1, now), 0);
	t = arm("sigusr2", "A");
	ck_assert_ptr_null((void *)tap); /* for that nobody listens */
	ck_assert_uint_eq(triggers_sigusr2(triggers, 1, now), 1);
	ck_assert_uint_eq(triggers_sigusr2(triggers, 1, now + 1), 1);
	let_tell("A sigusr2: tracerd got SIGUSR2, 0 missed\n");
	triggers_disarm(t);
}
END_TEST

/* ---- pressure ---- */

static void set_pressure(uint64_t us)
{
	char path[128], text[128];
	int fd;

	snprintf(path, sizeof(path), "%s/cpu", dir);
	snprintf(text, sizeof(text),
		 "some avg10=0.00 avg60=0.00 avg300=0.00 total=%llu\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
		 (unsigned long long)us);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

START_TEST(pressure_is_that_of_the_last_second)
{
	struct trigger_psi psi = { .dir = dir };
	uint64_t now = 1000 * NS_PER_SEC, step = TRIGGER_PSI_INTERVAL_NS;
	double percent = -1;

	ck_assert_int_eq(trigger_psi_poll(&psi, TRIGGER_CPU, now, &percent), -ENOTSUP);
	set_pressure(5000000);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(trigger_psi_poll(&psi, TRIGGER_CPU, now + i * step, &percent),
				 -EAGAIN);
	set_pressure(5400000);
	ck_assert_int_eq(trigger_psi_poll(&psi, TRIGGER_CPU, now + 4 * step, &percent), 0);
	ck_assert_double_eq_tol(percent, 40, 0.01);
	for (unsigned i = 5; i < 9; i++)
		ck_assert_int_eq(trigger_psi_poll(&psi, TRIGGER_CPU, now + i * step, &percent), 0);
	ck_assert_double_eq_tol(percent, 0, 0.01);
	trigger_psi_reset(&psi, TRIGGER_CPU);
	ck_assert_int_eq(trigger_psi_poll(&psi, TRIGGER_CPU, now + 9 * step, &percent), -EAGAIN);
}
END_TEST

START_TEST(pressure_fires)
{
	struct trigger_spec spec = spec_of("psi:cpu>30%"), io = spec_of("psi:io>30%");
	struct trigger *t;

	ck_assert_int_eq(triggers_arm(triggers, &io, "A", on_fired, "A", why, &t), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(why, "there is no pressure of io"));
	set_pressure(0);
	ck_assert_int_eq(triggers_arm(triggers, &spec, "A", on_fired, "A", why, &t), 0);
	/* As if there was more stalled time each time that it is read. */
	for (unsigned i = 0; i < 3000 && !told[0]; i++) {
		let_pass(10 * NS_PER_MS);
		set_pressure(1000000ull * i);
	}
	ck_assert_ptr_nonnull(strstr(told, "A psi:cpu>30%: some task was stalled for want of CPU"));
	triggers_disarm(t);
}
END_TEST

/* ---- who waits for several, and what follows ---- */

static void on_wait_fired(void *ctx, const struct trigger_spec *spec,
			  const struct trigger_fired *fired)
{
	(void)ctx;
	tell("fired", spec->text, fired);
}

static void on_due(void *ctx, const struct trigger_spec *spec, const struct trigger_fired *first)
{
	tell("due", spec->text, first);
	if (ctx) {
		trigger_wait_free(wait);
		wait = NULL;
	}
}

static int wait_for(const char *a, const char *b, uint64_t after_ns, bool once)
{
	struct trigger_wait_env env = {
		.loop = loop,
		.triggers = triggers,
		.by = "W",
		.after_ns = after_ns,
		.fired = on_wait_fired,
		.due = on_due,
		.ctx = once ? loop : NULL,
	};
	struct trigger_spec specs[2] = { spec_of(a), spec_of(b) };

	return trigger_wait_new(&env, specs, 2, why, &wait);
}

START_TEST(the_first_of_several_counts)
{
	uint64_t now = boot_ns() + NS_PER_SEC;

	ck_assert_int_eq(wait_for("slice:a>1ms", "slice:b>1ms", 0, true), 0);
	slice("b", now, 5 * NS_PER_MS);
	let_tell("fired slice:b>1ms: 'b' took 5.0 ms, 0 missed\n"
		 "due slice:b>1ms: 'b' took 5.0 ms, 0 missed\n");
	ck_assert_ptr_null(wait);
}
END_TEST

START_TEST(what_follows_is_waited_for)
{
	uint64_t now = boot_ns() + NS_PER_SEC;

	ck_assert_int_eq(wait_for("slice:a>1ms", "sigusr2", 100 * NS_PER_MS, false), 0);
	slice("a", now, 5 * NS_PER_MS);
	triggers_sigusr2(triggers, 1, now);
	let_tell("fired sigusr2: tracerd got SIGUSR2, 0 missed\n"
		 "fired slice:a>1ms: 'a' took 5.0 ms, 0 missed\n"
		 "due sigusr2: tracerd got SIGUSR2, 0 missed\n");
	ck_assert_uint_eq(trigger_wait_count(wait), 2);
	told[0] = '\0';
	/* And the next time. */
	slice("a", now + 2 * NS_PER_SEC, 5 * NS_PER_MS);
	let_tell("fired slice:a>1ms: 'a' took 5.0 ms, 0 missed\n"
		 "due slice:a>1ms: 'a' took 5.0 ms, 0 missed\n");
}
END_TEST

START_TEST(who_cannot_wait_for_one_waits_for_none)
{
	ck_assert_int_eq(wait_for("slice:a>1ms", "psi:cpu>1%", 0, true), -ENOTSUP);
	ck_assert_ptr_null(wait);
	ck_assert_ptr_null((void *)tap);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("triggers");
	TCase *tc = tcase_create("triggers");
	SRunner *sr;
	int n;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, who_waits_is_told_once_an_interval);
	tcase_add_test(tc, what_was_before_does_not_count);
	tcase_add_test(tc, what_has_fired_is_remembered);
	tcase_add_test(tc, who_is_told_may_disarm_all);
	tcase_add_test(tc, there_are_not_too_many);
	tcase_add_test(tc, a_signal_fires_who_waits_for_it);
	tcase_add_test(tc, pressure_is_that_of_the_last_second);
	tcase_add_test(tc, pressure_fires);
	tcase_add_test(tc, the_first_of_several_counts);
	tcase_add_test(tc, what_follows_is_waited_for);
	tcase_add_test(tc, who_cannot_wait_for_one_waits_for_none);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
