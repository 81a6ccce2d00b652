/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `tracectl record`. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record_options.h"

static struct record_options o;
static char line[4096], *argv[256];

static void set_up(void)
{
	int fd = open("/dev/null", O_WRONLY);

	/* What is said about mistakes is not looked at here. */
	ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
	ck_assert_int_ge(dup2(fd, STDOUT_FILENO), 0);
	close(fd);
}

static void tear_down(void)
{
}

/* Words are separated by one space. */
static int split_words(const char *words)
{
	int argc = 0;

	snprintf(line, sizeof(line), "command %s", words);
	for (char *s = strtok(line, " "); s; s = strtok(NULL, " "))
		argv[argc++] = s;
	argv[argc] = NULL;
	return argc;
}

static int parse(const char *words)
{
	return record_options_parse(split_words(words), argv, &o);
}

static int parse_watch(const char *words)
{
	return watch_options_parse(split_words(words), argv, &o);
}

START_TEST(no_options_are_all_defaults)
{
	static const struct record_options none;

	ck_assert_int_eq(parse(""), 0);
	ck_assert_mem_eq(&o, &none, sizeof(o));
}
END_TEST

START_TEST(every_option_is_taken)
{
	char words[256];

	snprintf(words, sizeof(words),
		 "-d 10s -o out -f -q -a -s cpu,sched -F 99 -e cycles -p %d,%d -u 0 "
		 "--no net --comm a* --counters 250ms --offcpu-min 100us --alloc-bytes 64K "
		 "--period 7 -e page-faults "
		 "--gpu-api=launch,copy",
		 (int)getpid(), (int)getppid());
	ck_assert_int_eq(parse(words), 0);
	ck_assert(o.duration_ns == 10000000000ull);
	ck_assert_str_eq(o.output, "out");
	ck_assert(o.force && o.quiet && o.whole_machine);
	ck_assert_uint_eq(o.n_sources, 2);
	ck_assert_str_eq(o.sources[1], "sched");
	ck_assert_uint_eq(o.n_without, 1);
	ck_assert_str_eq(o.without[0], "net");
	ck_assert_uint_eq(o.freq_hz, 99);
	ck_assert_str_eq(o.event, "cycles");
	ck_assert_uint_eq(o.n_pids, 2);
	ck_assert_uint_eq(o.pids[1], (unsigned)getppid());
	ck_assert(o.has_uid && o.uid == 0);
	ck_assert_str_eq(o.comm, "a*");
	ck_assert_uint_eq(o.counters_interval_ms, 250);
	ck_assert(o.has_offcpu_min);
	ck_assert_uint_eq(o.alloc_bytes, 65536);
	ck_assert_str_eq(o.gpu_api, "launch,copy");
	ck_assert_uint_eq(o.offcpu_min_ns, 100000);
	ck_assert_uint_eq(o.period, 7);
	ck_assert_ptr_null(o.command);
	/* One event has one of them. */
	ck_assert_int_ne(parse("-F 99 --period 7"), 0);
}
END_TEST

START_TEST(what_is_empty_is_not_everything)
{
	ck_assert_int_ne(parse("--sources="), 0);
	ck_assert_int_ne(parse("--sources=,"), 0);
	ck_assert_int_ne(parse("--no="), 0);
	ck_assert_int_ne(parse("--pid="), 0);
	ck_assert_int_ne(parse("--comm="), 0);
	ck_assert_int_ne(parse("--comm sixteen-letters-"), 0);
	ck_assert_int_eq(parse("--comm fifteen-letters"), 0);
	ck_assert_int_eq(parse("--comm sixteen-letters*"), 0);
}
END_TEST

START_TEST(calls_of_gpu_apis_need_no_classes)
{
	ck_assert_int_eq(parse("--gpu-api -- cmd"), 0);
	ck_assert_str_eq(o.gpu_api, "default");
	ck_assert_str_eq(o.command[0], "cmd");
	ck_assert_int_eq(parse("--gpu-api cmd"), 0); /* no class: classes stand behind a '=' */
	ck_assert_str_eq(o.gpu_api, "default");
	ck_assert_str_eq(o.command[0], "cmd");
}
END_TEST

START_TEST(the_network_has_a_level_and_privacy)
{
	ck_assert_int_eq(parse("--net syscalls --query keys --names hash --tls-plaintext pid:1 "
			       "--tls-plaintext lib:/proc/self/exe --tls-plaintext comm:x*"),
			 0);
	ck_assert_str_eq(o.net, "syscalls");
	ck_assert_str_eq(o.query, "keys");
	ck_assert_str_eq(o.names, "hash");
	ck_assert_uint_eq(o.n_plaintext, 3);
	ck_assert_str_eq(o.plaintext[0], "pid:1");
	ck_assert_str_eq(o.plaintext[2], "comm:x*");
	ck_assert_int_ne(parse("--tls-plaintext pid:0"), 0);
	ck_assert_int_ne(parse("--tls-plaintext pid:2147483647"), 0);
	ck_assert_int_ne(parse("--tls-plaintext lib:/no/such.so"), 0);
}
END_TEST

START_TEST(the_first_event_is_the_main_one_and_eight_are_the_most)
{
	ck_assert_int_eq(parse("-e cycles -e page-faults@10 -e sched:sched_switch"), 0);
	ck_assert_str_eq(o.event, "cycles");
	ck_assert_uint_eq(o.n_more_events, 2);
	ck_assert_str_eq(o.more_events[1], "sched:sched_switch");
	ck_assert_int_eq(parse("-e a -e a -e a -e a -e a -e a -e a -e a"), 0);
	ck_assert_int_ne(parse("-e a -e a -e a -e a -e a -e a -e a -e a -e a"), 0);
}
END_TEST

START_TEST(options_end_at_the_command)
{
	ck_assert_int_eq(parse("-q -- sleep -d 5"), 0);
	ck_assert_str_eq(o.command[0], "sleep");
	ck_assert_str_eq(o.command[1], "-d");
	ck_assert_ptr_null(o.command[3]);
	ck_assert_uint_eq(o.duration_ns, 0);
	ck_assert_int_eq(parse("make -f x"), 0);
	ck_assert_str_eq(o.command[0], "make");
	ck_assert(!o.force);
}
END_TEST

START_TEST(lists_may_be_given_in_parts)
{
	char words[64];

	snprintf(words, sizeof(words), "-s cpu -s sched,proc -p %d -p %d", (int)getpid(),
		 (int)getpid());
	ck_assert_int_eq(parse(words), 0);
	ck_assert_uint_eq(o.n_sources, 3);
	ck_assert_uint_eq(o.n_pids, 2);
}
END_TEST

START_TEST(what_is_out_of_bounds_is_refused)
{
	static const char *const bad[] = {
		"-d 0",
		"-d 10x",
		"-d 31536000h",
		"-F 0",
		"-F 100001",
		"-F 99.5",
		"--period 0",
		"--period 9223372036854775808",
		"-p 0",
		"-p x",
		"-p 2147483648",
		"-p 2147483647",
		"--net all",
		"--net",
		"--query values",
		"--names none",
		"--tls-plaintext 7",
		"--tls-plaintext lib:libssl.so.3",
		"--tls-plaintext pid:1 --tls-plaintext pid:1 --tls-plaintext pid:1 "
		"--tls-plaintext pid:1 --tls-plaintext pid:1 --tls-plaintext pid:1 "
		"--tls-plaintext pid:1 --tls-plaintext pid:1 --tls-plaintext pid:1",
		"--counters 9ms",
		"--counters 2h",
		"--offcpu-min 2h",
		"--offcpu-min x",
		"--alloc-bytes 0",
		"--alloc-bytes 2048G",
		"-u no-such-user-here",
		"-u 4294967295",
		"--cgroup /tmp",
		"--cgroup /does/not/exist",
		"--nonsense",
		"-Z",
		"-d",
		"-qZ",
	};
	static const char *const good[] = {
		"-d 30h",
		"-F 100000",
		"--period 9223372036854775807",
		"--counters 10ms",
		"--counters 1h",
		"-u 4294967294",
		"-o -",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(parse(bad[i]) == -EINVAL, "%s", bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(parse(good[i]) == 0, "%s", good[i]);
}
END_TEST

START_TEST(lists_have_an_end)
{
	char words[1024] = "-p ";

	for (unsigned i = 1; i <= 64; i++)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), "%d,",
			 (int)getpid());
	ck_assert_int_eq(parse(words), 0);
	ck_assert_uint_eq(o.n_pids, 64);
	snprintf(words + strlen(words), sizeof(words) - strlen(words), "%d", (int)getpid());
	ck_assert_int_eq(parse(words), -EINVAL);
	strcpy(words, "-s ");
	for (unsigned i = 0; i < 32; i++)
		strcat(words, "a,");
	ck_assert_int_eq(parse(words), 0);
	strcat(words, "a");
	ck_assert_int_eq(parse(words), -EINVAL);
}
END_TEST

START_TEST(help_is_no_error)
{
	ck_assert_int_eq(parse("--help"), -ECANCELED);
	ck_assert_int_eq(parse("-h"), -ECANCELED);
}
END_TEST

START_TEST(watch_has_the_filters_and_a_choice)
{
	ck_assert_int_eq(
		parse_watch("-e GC* --events source:net --min 10ms --comm a* -s net -d 1s"), 0);
	ck_assert_uint_eq(o.n_events, 2);
	ck_assert_str_eq(o.events[0], "GC*");
	ck_assert_str_eq(o.events[1], "source:net");
	ck_assert_uint_eq(o.min_ns, 10000000);
	ck_assert_str_eq(o.comm, "a*");
	ck_assert_uint_eq(o.n_sources, 1);
	ck_assert_uint_eq(o.duration_ns, 1000000000);
	ck_assert_ptr_null(o.event);
}
END_TEST

/* A name is one of a probe that is there; with blanks it is a probe of one's own. */
START_TEST(watch_tells_names_of_probes_from_probes)
{
	ck_assert_int_eq(parse_watch("--probe gc --probe 7"), 0);
	ck_assert_uint_eq(o.n_chosen, 2);
	ck_assert_str_eq(o.chosen[1], "7");
	ck_assert_uint_eq(o.probes.n, 0);
}
END_TEST

START_TEST(watch_refuses_what_makes_a_trace)
{
	ck_assert_int_eq(parse_watch("-o file"), -EINVAL);
	ck_assert_int_eq(parse_watch("-F 99"), -EINVAL);
	ck_assert_int_eq(parse_watch("--min 0s"), -EINVAL);
	ck_assert_int_eq(parse_watch("--min soon"), -EINVAL);
	ck_assert_int_eq(parse_watch("--help"), -ECANCELED);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("record_options");
	TCase *tc = tcase_create("record_options");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, no_options_are_all_defaults);
	tcase_add_test(tc, every_option_is_taken);
	tcase_add_test(tc, what_is_empty_is_not_everything);
	tcase_add_test(tc, calls_of_gpu_apis_need_no_classes);
	tcase_add_test(tc, the_network_has_a_level_and_privacy);
	tcase_add_test(tc, the_first_event_is_the_main_one_and_eight_are_the_most);
	tcase_add_test(tc, options_end_at_the_command);
	tcase_add_test(tc, lists_may_be_given_in_parts);
	tcase_add_test(tc, what_is_out_of_bounds_is_refused);
	tcase_add_test(tc, lists_have_an_end);
	tcase_add_test(tc, help_is_no_error);
	tcase_add_test(tc, watch_has_the_filters_and_a_choice);
	tcase_add_test(tc, watch_tells_names_of_probes_from_probes);
	tcase_add_test(tc, watch_refuses_what_makes_a_trace);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
