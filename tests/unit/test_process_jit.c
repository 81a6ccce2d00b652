/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of generated code with the real worker, from files that this process
 * writes about itself: each test is a process of its own.
 */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "process/jit_files.h"
#include "process/module_pins.h"
#include "process/process_jit.h"
#include "process/process_table.h"
#include "symbolize/symbolizer.h"

static struct event_loop *loop;
static struct symbolizer *sym;
static struct module_pins *pins;
static struct jit_pool *pool;
static struct process_jit *jit;
static struct process self;
static struct jit_place place;
static struct location *anon;
static char path[64];

static void set_up(void)
{
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	(void)unlink(path);
	self = (struct process){ .tgid = (uint32_t)getpid(),
				 .uid = geteuid(),
				 .start_ns = boot_ns() };
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(symbolizer_new(&sym), 0);
	ck_assert_int_eq(symbolizer_start(sym, loop), 0);
	place.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(place.proc_fd, 0);
	ck_assert_int_eq(module_pins_new(sym, place.proc_fd, &pins), 0);
	place.pins = pins;
	place.p = &self;
	ck_assert_int_eq(jit_pool_new(sym, &pool), 0);
	jit = process_jit_new(pool);
	ck_assert_ptr_nonnull(jit);
	anon = symbolizer_locate(sym, symbolizer_pseudo_module(sym, "[anon:exec]"), 0);
	ck_assert_ptr_nonnull(anon);
}

static void tear_down(void)
{
	process_jit_free(jit);
	jit_pool_free(pool);
	module_pins_free(pins);
	close(place.proc_fd);
	symbolizer_free(sym);
	event_loop_free(loop);
	(void)unlink(path);
}

/* ---- short forms ---- */

__attribute__((format(printf, 1, 2))) static void say(const char *fmt, ...)
{
	FILE *f = fopen(path, "a");
	va_list args;

	ck_assert_ptr_nonnull(f);
	va_start(args, fmt);
	ck_assert_int_gt(vfprintf(f, fmt, args), 0);
	va_end(args);
	ck_assert_int_eq(fclose(f), 0);
}

static struct location *locate(uint64_t pc)
{
	return process_jit_locate(jit, &place, pc, boot_ns(), true, anon);
}

static int check_ready(void *ctx, uint32_t events)
{
	(void)events;
	jit_pool_collect(pool);
	symbolizer_collect(sym, boot_ns());
	return ((struct location *)ctx)->ready ? -ECANCELED : 0;
}

static void wait_for(struct location *loc)
{
	struct event_source *timer;

	if (loc->ready)
		return;
	ck_assert_int_eq(event_loop_add_timer(loop, NS_PER_MS, check_ready, loc, &timer), 0);
	ck_assert_int_eq(event_loop_run(loop), -ECANCELED);
	event_source_free(timer);
}

/* What the sample's owner sees in the end. */
static const char *name_at(uint64_t pc, uint64_t time_ns)
{
	static char text[256];
	struct location *loc = process_jit_locate(jit, &place, pc, time_ns, true, anon);

	if (!loc)
		return "-";
	location_hold(loc);
	wait_for(loc);
	if (loc->file)
		snprintf(text, sizeof(text), "%s %s:%u", loc->function, loc->file, loc->line);
	else
		snprintf(text, sizeof(text), "%s", loc->function);
	location_release(loc);
	return text;
}

static const char *name(uint64_t pc)
{
	return name_at(pc, boot_ns());
}

static struct jit_stats stats(void)
{
	struct jit_stats s;

	jit_pool_stats(pool, &s);
	return s;
}

/* ---- perf maps ---- */

START_TEST(a_function_has_the_name_that_the_map_tells)
{
	struct location *loc;

	say("7f0000001000 100 generated function\n");
	loc = locate(0x7f0000001010);
	ck_assert_ptr_nonnull(loc);
	ck_assert(!loc->ready); /* nothing is read here */
	location_hold(loc);
	wait_for(loc);
	ck_assert_str_eq(loc->function, "generated function");
	ck_assert_str_eq(loc->module->path, "[jit]");
	ck_assert_uint_eq(loc->rel_pc, 0x7f0000001000);
	ck_assert_uint_eq(loc->kind, LOCATION_JIT);
	ck_assert(loc->has_symbol);
	location_release(loc);
	ck_assert_uint_eq(stats().n_files, 1);
}
END_TEST

START_TEST(what_is_known_is_said_at_once)
{
	struct location *a, *b;
	uint64_t id;

	say("7f0000001000 100 f\n");
	a = locate(0x7f0000001010);
	location_hold(a);
	wait_for(a);
	id = a->id;
	b = locate(0x7f0000001020);
	ck_assert_ptr_nonnull(b);
	ck_assert(b->ready);
	ck_assert_uint_eq(b->id, id); /* one function, one location, whoever waited */
	location_release(a);
}
END_TEST

START_TEST(a_map_that_grows_is_read_on)
{
	say("7f0000001000 100 f\n");
	ck_assert_str_eq(name(0x7f0000001010), "f");
	say("7f0000002000 100 JS:*g /srv/a.js:7:1\n");
	ck_assert_str_eq(name(0x7f0000002010), "JS:*g /srv/a.js:7:1 /srv/a.js:7");
	ck_assert_str_eq(name(0x7f0000001010), "f");
}
END_TEST

START_TEST(code_put_in_the_place_of_other_code_has_its_own_name_from_then_on)
{
	uint64_t before_ns, after_ns;

	say("7f0000001000 100 first\n");
	ck_assert_str_eq(name(0x7f0000001010), "first");
	before_ns = boot_ns();
	ck_assert_str_eq(name_at(0x7f0000001010, before_ns), "first");
	say("7f0000001000 100 second\n");
	after_ns = boot_ns();
	ck_assert_str_eq(name_at(0x7f0000001010, after_ns), "second");
	ck_assert_str_eq(name_at(0x7f0000001010, before_ns), "first");
}
END_TEST

START_TEST(what_the_map_does_not_tell_stays_without_a_name)
{
	say("7f0000001000 100 f\n");
	ck_assert_str_eq(name(0x7f0000005000), "[anon:exec]");
	ck_assert_ptr_null(locate(0x7f0000005000)); /* nor is it waited for again */
}
END_TEST

START_TEST(without_a_file_nobody_waits)
{
	ck_assert_ptr_null(locate(0x7f0000001010));
	ck_assert_uint_eq(stats().n_files, 0);
}
END_TEST

START_TEST(a_map_that_comes_later_is_found)
{
	struct timespec pause = { .tv_nsec = 20 * (long)NS_PER_MS };

	ck_assert_ptr_null(locate(0x7f0000001010));
	say("7f0000001000 100 f\n");
	while (!locate(0x7f0000001010))
		nanosleep(&pause, NULL);
	ck_assert_str_eq(name(0x7f0000001010), "f");
}
END_TEST

START_TEST(another_file_in_the_maps_place_is_read)
{
	struct timespec pause = { .tv_nsec = 20 * (long)NS_PER_MS };

	say("7f0000001000 100 old\n");
	ck_assert_str_eq(name(0x7f0000001010), "old");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_str_eq(name(0x7f0000001010), "old"); /* deleted, but open */
	say("7f0000001000 100 new\n");
	while (strcmp(name(0x7f0000001010), "new") != 0)
		nanosleep(&pause, NULL);
}
END_TEST

START_TEST(a_version_stands_for_what_is_known)
{
	uint64_t t, v1, v2;

	say("7f0000001000 100 f\n");
	ck_assert_uint_eq(process_jit_version(jit, &place, boot_ns()), 0); /* not read yet */
	ck_assert_str_eq(name(0x7f0000001010), "f");
	t = boot_ns();
	v1 = process_jit_version(jit, &place, t);
	ck_assert_uint_ne(v1, 0);
	ck_assert_uint_eq(process_jit_version(jit, &place, boot_ns()), v1);
	say("7f0000001000 100 g\n");
	ck_assert_uint_eq(process_jit_version(jit, &place, boot_ns()), 0);
	ck_assert_str_eq(name(0x7f0000001010), "g");
	v2 = process_jit_version(jit, &place, boot_ns());
	ck_assert_uint_ne(v2, 0);
	ck_assert_uint_ne(v2, v1);
	/* Of a moment before the change it does not speak. */
	ck_assert_uint_eq(process_jit_version(jit, &place, t - NS_PER_SEC), 0);
}
END_TEST

/* ---- what is not to be read ---- */

static void expect_refused(void)
{
	ck_assert_ptr_null(locate(0x1010));
	ck_assert_uint_eq(stats().n_files, 0);
	ck_assert_uint_eq(stats().n_untrusted, 1);
}

START_TEST(a_link_is_not_followed)
{
	char target[80];

	say("1000 100 stolen\n");
	snprintf(target, sizeof(target), "%s.target", path);
	ck_assert_int_eq(rename(path, target), 0);
	ck_assert_int_eq(symlink(target, path), 0);
	expect_refused();
	ck_assert_int_eq(unlink(target), 0);
}
END_TEST

START_TEST(a_fifo_is_not_opened)
{
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect_refused();
}
END_TEST

START_TEST(a_file_of_somebody_else_is_not_read)
{
	say("1000 100 forged\n");
	self.uid += 1;
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(path, 65534, 65534), 0);
	}
	expect_refused();
}
END_TEST

START_TEST(a_second_name_of_a_file_of_roots_is_not_read)
{
	char other[80];

	if (geteuid() != 0)
		return;
	say("1000 100 shadow\n");
	snprintf(other, sizeof(other), "%s.other", path);
	ck_assert_int_eq(link(path, other), 0);
	self.uid = 1000;
	expect_refused();
	ck_assert_int_eq(unlink(other), 0);
}
END_TEST

START_TEST(a_map_from_before_the_process_is_anothers)
{
	const struct timespec old[2] = { { .tv_sec = 1000000 }, { .tv_sec = 1000000 } };

	say("1000 100 left behind\n");
	ck_assert_int_eq(utimensat(AT_FDCWD, path, old, 0), 0);
	ck_assert_ptr_null(locate(0x1010));
	ck_assert_uint_eq(stats().n_untrusted, 0);
}
END_TEST

START_TEST(a_huge_map_is_read_as_far_as_it_goes)
{
	say("1000 100 f\n");
	ck_assert_int_eq(truncate(path, 1ll << 40), 0);
	ck_assert_str_eq(name(0x1010), "f");
	while (stats().n_failed == 0) /* it goes on for a while */
		(void)name(0x2010);
	ck_assert_str_eq(name(0x1010), "f");
}
END_TEST

START_TEST(a_map_may_be_cut_off_and_replaced_all_the_time)
{
	for (unsigned i = 0; i < 200; i++) {
		(void)locate(0x1010);
		if (i % 4 == 0)
			ck_assert_int_eq(truncate(path, i % 8) == 0 || errno == ENOENT, 1);
		if (i % 4 == 1)
			(void)unlink(path);
		say("1000 100 f%u\n", i);
		if (i % 16 == 0)
			(void)name(0x1010);
	}
	say("9000 100 last\n");
	while (strcmp(name(0x9010), "last") != 0)
		;
}
END_TEST

/* ---- jitdump ---- */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif

static int new_dump(uint64_t flags)
{
	const uint32_t head[] = { 0x4a695444, 1, 40, MACHINE, 0, 1 };
	const uint64_t rest[] = { 0, flags };
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, head, sizeof(head)), sizeof(head));
	ck_assert_int_eq(write(fd, rest, sizeof(rest)), sizeof(rest));
	return fd;
}

static void tell(int fd, uint64_t monotonic_ns, uint64_t addr, const char *function)
{
	const uint32_t head[] = { 0, (uint32_t)(16 + 40 + strlen(function) + 1) };
	const uint32_t ids[] = { 1, 1 };
	const uint64_t load[] = { addr, addr, 0x100, 0 };

	ck_assert_int_eq(write(fd, head, sizeof(head)), sizeof(head));
	ck_assert_int_eq(write(fd, &monotonic_ns, 8), 8);
	ck_assert_int_eq(write(fd, ids, sizeof(ids)), sizeof(ids));
	ck_assert_int_eq(write(fd, load, sizeof(load)), sizeof(load));
	ck_assert_int_eq(write(fd, function, strlen(function) + 1), (ssize_t)strlen(function) + 1);
}

START_TEST(a_jitdump_file_tells_who_was_there_when)
{
	uint64_t now_ns = boot_ns(), mono_ns = clock_ns(CLOCK_MONOTONIC);
	int fd = new_dump(0);

	tell(fd, mono_ns - 3 * NS_PER_SEC, 0x1000, "first");
	tell(fd, mono_ns - 1 * NS_PER_SEC, 0x1000, "second");
	process_jit_add_dump(jit, &place, dup(fd));
	process_jit_add_dump(jit, &place, dup(fd)); /* known already */
	ck_assert_uint_eq(stats().n_files, 1);
	ck_assert_str_eq(name_at(0x1010, now_ns - 2 * NS_PER_SEC), "first");
	ck_assert_str_eq(name_at(0x1010, now_ns), "second");
	ck_assert_str_eq(name_at(0x1010, now_ns - 4 * NS_PER_SEC), "-");
	tell(fd, clock_ns(CLOCK_MONOTONIC), 0x1000, "third");
	ck_assert_str_eq(name(0x1010), "third");
	close(fd);
}
END_TEST

START_TEST(a_jitdump_file_with_other_times_is_refused)
{
	int fd = new_dump(1);

	tell(fd, 1, 0x1000, "f");
	process_jit_add_dump(jit, &place, fd);
	ck_assert_str_eq(name(0x1010), "[anon:exec]");
	ck_assert_uint_eq(stats().n_failed, 1);
}
END_TEST

START_TEST(only_so_many_jitdump_files_are_opened)
{
	for (unsigned i = 0; i < 6; i++) {
		int fd = new_dump(0);

		tell(fd, 1, 0x1000 * (i + 1), "f");
		process_jit_add_dump(jit, &place, fd);
	}
	ck_assert_uint_eq(stats().n_files, 4);
	ck_assert_uint_eq(stats().n_over_cap, 2);
	ck_assert_str_eq(name(0x4010), "f");
}
END_TEST

/* ---- when it goes wrong ---- */

START_TEST(who_waits_too_long_gets_what_is_known)
{
	struct location *loc;
	siginfo_t si;
	pid_t pid;

	say("1000 100 f\n");
	ck_assert_str_eq(name(0x1010), "f");
	pid = symbolizer_jit_worker_pid(sym);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOWAIT), 0);
	say("2000 100 g\n");
	loc = locate(0x2010);
	ck_assert_ptr_nonnull(loc);
	location_hold(loc);
	wait_for(loc);
	ck_assert_str_eq(loc->function, "[anon:exec]");
	location_release(loc);
	ck_assert_uint_eq(stats().n_late, 1);
}
END_TEST

START_TEST(another_worker_reads_the_file_from_its_beginning)
{
	pid_t pid;

	say("1000 100 f\n");
	ck_assert_str_eq(name(0x1010), "f");
	pid = symbolizer_jit_worker_pid(sym);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	say("2000 100 g\n");
	ck_assert_str_eq(name(0x2010), "g");
	ck_assert_str_eq(name(0x1010), "f");
	ck_assert_int_ne(symbolizer_jit_worker_pid(sym), pid);
}
END_TEST

START_TEST(with_the_process_goes_what_it_was_promised)
{
	struct location *loc;

	say("1000 100 f\n");
	loc = locate(0x1010);
	ck_assert_ptr_nonnull(loc);
	location_hold(loc);
	process_jit_free(jit);
	jit = NULL;
	ck_assert(loc->ready);
	ck_assert_str_eq(loc->function, "[anon:exec]");
	location_release(loc);
}
END_TEST

/* ---- names and numbers ---- */

START_TEST(a_jitdump_file_is_known_by_its_name)
{
	ck_assert(jit_files_is_dump("/home/me/.debug/jit/x/jit-12.dump"));
	ck_assert(jit_files_is_dump("/jit-1.dump"));
	ck_assert(!jit_files_is_dump("jit-1.dump"));
	ck_assert(!jit_files_is_dump("/jit-.dump"));
	ck_assert(!jit_files_is_dump("/jit-1.dump.old"));
	ck_assert(!jit_files_is_dump("/myjit-1.dump"));
	ck_assert(!jit_files_is_dump("/jit-1a.dump"));
}
END_TEST

START_TEST(a_time_namespace_moves_the_monotonic_clock)
{
	ck_assert_int_eq(jit_files_parse_timens("monotonic           0         0\n"
						"boottime            0         0\n"),
			 0);
	ck_assert_int_eq(jit_files_parse_timens("monotonic   3  500000000\n"), 3500000000);
	ck_assert_int_eq(jit_files_parse_timens("monotonic   -3  500000000\n"), -2500000000);
	ck_assert_int_eq(jit_files_parse_timens(""), 0);
	ck_assert_int_eq(jit_files_parse_timens("monotonic 99999999999999 0"), 0);
	ck_assert_int_eq(jit_files_timens(place.proc_fd, (uint32_t)getpid()), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("process_jit");
	TCase *tc = tcase_create("generated");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_function_has_the_name_that_the_map_tells);
	tcase_add_test(tc, what_is_known_is_said_at_once);
	tcase_add_test(tc, a_map_that_grows_is_read_on);
	tcase_add_test(tc, code_put_in_the_place_of_other_code_has_its_own_name_from_then_on);
	tcase_add_test(tc, what_the_map_does_not_tell_stays_without_a_name);
	tcase_add_test(tc, without_a_file_nobody_waits);
	tcase_add_test(tc, a_map_that_comes_later_is_found);
	tcase_add_test(tc, another_file_in_the_maps_place_is_read);
	tcase_add_test(tc, a_version_stands_for_what_is_known);
	tcase_add_test(tc, a_link_is_not_followed);
	tcase_add_test(tc, a_fifo_is_not_opened);
	tcase_add_test(tc, a_file_of_somebody_else_is_not_read);
	tcase_add_test(tc, a_second_name_of_a_file_of_roots_is_not_read);
	tcase_add_test(tc, a_map_from_before_the_process_is_anothers);
	tcase_add_test(tc, a_huge_map_is_read_as_far_as_it_goes);
	tcase_add_test(tc, a_map_may_be_cut_off_and_replaced_all_the_time);
	tcase_add_test(tc, a_jitdump_file_tells_who_was_there_when);
	tcase_add_test(tc, a_jitdump_file_with_other_times_is_refused);
	tcase_add_test(tc, only_so_many_jitdump_files_are_opened);
	tcase_add_test(tc, who_waits_too_long_gets_what_is_known);
	tcase_add_test(tc, another_worker_reads_the_file_from_its_beginning);
	tcase_add_test(tc, with_the_process_goes_what_it_was_promised);
	tcase_add_test(tc, a_jitdump_file_is_known_by_its_name);
	tcase_add_test(tc, a_time_namespace_moves_the_monotonic_clock);
	suite_add_tcase(s, tc);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int n_failed;

	srunner_run_all(sr, CK_ENV);
	n_failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n_failed != 0;
}
