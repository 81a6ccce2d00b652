/* SPDX-License-Identifier: Apache-2.0 */
/* tracerd.conf: what is taken, what is refused, and how that is said. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "event.h"

static struct config config;
static char err[256];

static void set_up(void)
{
	config_defaults(&config);
	err[0] = '\0';
}

static void tear_down(void)
{
}

static int parse(const char *text)
{
	return config_parse("conf", text, strlen(text), &config, err, sizeof(err));
}

START_TEST(defaults_are_within_their_own_bounds)
{
	char text[512];
	struct config before = config;

	snprintf(text, sizeof(text),
		 "ring_size = %llu\nclient_queue = %llu\nmax_sessions = %llu\nmax_clients = %llu\n"
		 "group = %s\n",
		 (unsigned long long)config.ring_bytes,
		 (unsigned long long)config.client_queue_bytes,
		 (unsigned long long)config.max_sessions, (unsigned long long)config.max_clients,
		 config.group);
	ck_assert_int_eq(parse(text), 0);
	ck_assert_mem_eq(&config, &before, sizeof(config));
	ck_assert_str_eq(config.group, "tracer");
}
END_TEST

START_TEST(every_key_is_read)
{
	ck_assert_int_eq(parse("# a comment\n; another\n\n[daemon]\n  ring_size=64K\n"
			       "\tclient_queue =1M \r\nmax_sessions= 3\nmax_clients = 1024\n"
			       "users = own\nuser_sessions = 5\nuser_starts = 60\nuser_queue = 3M\n"
			       "group = wheel"), /* without a last newline */
			 0);
	ck_assert_uint_eq(config.ring_bytes, 64 << 10);
	ck_assert_uint_eq(config.client_queue_bytes, 1 << 20);
	ck_assert_uint_eq(config.max_sessions, 3);
	ck_assert_uint_eq(config.max_clients, 1024);
	ck_assert_str_eq(config.group, "wheel");
	ck_assert_str_eq(config.users, "own");
	ck_assert_uint_eq(config.user_sessions, 5);
	ck_assert_uint_eq(config.user_starts, 60);
	ck_assert_uint_eq(config.user_queue_bytes, 3 << 20);
	ck_assert_int_eq(parse("users = all\n"), -EINVAL);
	ck_assert_str_eq(err, "conf:1: users = 'all' is neither own nor none");
	ck_assert_str_eq(config.users, "own");
	ck_assert_int_eq(parse("group =\n"), 0);
	ck_assert_str_eq(config.group, "");
	ck_assert_int_eq(parse(""), 0);
}
END_TEST

START_TEST(every_bound_holds)
{
	static const char *const good[] = {
		"ring_size=65536", "ring_size=1G",    "client_queue=1048576", "client_queue=1G",
		"max_sessions=1",  "max_sessions=63", "max_clients=1",	      "max_clients=1024",
	};
	static const char *const bad[] = {
		"ring_size=65535",
		"ring_size=1073741825",
		"ring_size=2G",
		"client_queue=1048575",
		"client_queue=1073741825",
		"max_sessions=0",
		"max_sessions=64",
		"max_clients=0",
		"max_clients=1025",
		"max_clients=1K",
		"max_clients=-1",
		"max_clients=",
		"ring_size=16MB",
		"ring_size=99999999999999999999",
	};
	struct config before;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(parse(good[i]) == 0, "%s: %s", good[i], err);
	before = config;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(parse(bad[i]) == -EINVAL, "%s", bad[i]);
	ck_assert_mem_eq(&config, &before, sizeof(config));
	ck_assert_int_eq(EVENT_MAX_STREAMS, 64);
}
END_TEST

START_TEST(the_flight_recorder_is_off_and_has_a_section_of_its_own)
{
	ck_assert(!config.flight.enabled);
	ck_assert_uint_eq(config.flight.size_bytes, 64 << 20);
	ck_assert_uint_eq(config.flight.freq_hz, 99);
	ck_assert_int_eq(parse("max_sessions = 2\n[flight]\nenabled = yes\nsize = 8M\n"
			       "sources = cpu, sched\nfreq = 499\nevent = cycles\n"
			       "[daemon]\nmax_clients = 5\n"),
			 0);
	ck_assert(config.flight.enabled);
	ck_assert_uint_eq(config.flight.size_bytes, 8 << 20);
	ck_assert_str_eq(config.flight.sources, "cpu, sched");
	ck_assert_uint_eq(config.flight.freq_hz, 499);
	ck_assert_str_eq(config.flight.event, "cycles");
	ck_assert_uint_eq(config.max_sessions, 2);
	ck_assert_uint_eq(config.max_clients, 5);
	ck_assert_int_eq(parse("[flight]\nenabled = no"), 0);
	ck_assert(!config.flight.enabled);
	ck_assert_int_eq(parse("[flight]\nenabled = on"), -EINVAL);
	ck_assert_str_eq(err, "conf:2: enabled = 'on' is neither yes nor no");
	ck_assert_int_eq(parse("[flight]\nsize = 1023K"), -EINVAL);
	ck_assert_int_eq(parse("[flight]\nsize = 5G"), -EINVAL);
	ck_assert_int_eq(parse("[flight]\nfreq = 0"), -EINVAL);
	ck_assert_int_eq(parse("[flight]\ngroup = x"), -EINVAL);
	ck_assert_str_eq(err, "conf:2: unknown key 'group' in [flight]: see tracerd(8)");
	ck_assert_int_eq(parse("size = 8M"), -EINVAL);
	ck_assert_int_eq(parse("[flight"), -EINVAL);
}
END_TEST

START_TEST(a_message_names_file_line_key_and_what_is_allowed)
{
	ck_assert_int_eq(parse("\n\nmax_sessions = 1000\n"), -EINVAL);
	ck_assert_str_eq(err, "conf:3: max_sessions = '1000' is not between 1 and 63");
	ck_assert_int_eq(parse("ring_sise = 1M"), -EINVAL);
	ck_assert_str_eq(err, "conf:1: unknown key 'ring_sise' in [daemon]: see tracerd(8)");
	ck_assert_int_eq(parse("[deamon]"), -EINVAL);
	ck_assert_str_eq(err, "conf:1: unknown section [deamon]: there are [daemon], [flight] and "
			      "[trigger NAME]");
	ck_assert_int_eq(parse("nonsense"), -EINVAL);
	ck_assert_str_eq(err, "conf:1: 'nonsense' is not of the form key = value");
	ck_assert_int_eq(
		parse("group = 0123456789012345678901234567890123456789012345678901234567890123"),
		-EINVAL);
	ck_assert_ptr_nonnull(strstr(err, "has more than 63 bytes"));
	ck_assert_int_eq(
		parse("group = 012345678901234567890123456789012345678901234567890123456789012"),
		0);
	ck_assert_uint_eq(strlen(config.group), 63);
}
END_TEST

START_TEST(triggers_have_sections)
{
	const struct trigger_config *t = config.triggers.list;

	ck_assert_int_eq(parse("[flight]\nenabled = yes\n[trigger slow-io]\n"
			       "on = slice:fsync>=100ms\non = psi:io>30%\nafter = 2s\n"
			       "last = 30s\nmin_interval = 5m\nkeep = 3\nmax_size = 64M\n"
			       "[trigger b]\non=sigusr2\n[daemon]\nmax_clients = 3\n"),
			 0);
	ck_assert_uint_eq(config.max_clients, 3);
	ck_assert_uint_eq(config.triggers.n, 2);
	ck_assert_str_eq(t->name, "slow-io");
	ck_assert_uint_eq(t->n_on, 2);
	ck_assert_str_eq(t->on[0], "slice:fsync>=100ms");
	ck_assert_str_eq(t->on[1], "psi:io>30%");
	ck_assert_uint_eq(t->after_ns, 2000000000ull);
	ck_assert_uint_eq(t->last_ns, 30000000000ull);
	ck_assert_uint_eq(t->min_interval_ns, 300000000000ull);
	ck_assert_uint_eq(t->keep, 3);
	ck_assert_uint_eq(t->size_bytes, 64 << 20);
	ck_assert_uint_eq(t[1].keep, 5);
	ck_assert_uint_eq(t[1].last_ns, 0);
	ck_assert_uint_eq(t[1].size_bytes, 1 << 30);
}
END_TEST

START_TEST(what_is_wrong_with_a_trigger_is_told)
{
	static const char *const bad[][2] = {
		{ "[trigger a]\non = sigusr2", "conf: [trigger a] needs the flight recorder" },
		{ "[flight]\nenabled = yes\n[trigger a]", "conf: [trigger a] waits for nothing" },
		{ "[flight]\nenabled = yes\nsources = cpu, networks\n[trigger a]\n"
		  "on = exit:x\non = http:status>=500",
		  "conf: [trigger a]: 'http:status>=500' needs source net: add it to sources" },
		{ "[trigger a/b]", "conf:1: [trigger a/b]: a name has 1 to 31 letters" },
		{ "[trigger ]", "conf:1: [trigger ]: a name has 1 to 31 letters" },
		{ "[trigger a]\n[trigger a]", "conf:2: [trigger a] is there twice" },
		{ "[trigger a]\non = slice:x", "conf:2: trigger 'slice:x': no limit" },
		{ "[trigger a]\nat = sigusr2", "conf:2: unknown key 'at' in [trigger a]" },
		{ "[trigger a]\nlast = 0s", "conf:2: last = '0s' is not one of: all, or 1s to" },
		{ "[trigger a]\nkeep = 0", "conf:2: keep = '0' is not one of: 1 to 1000" },
		{ "[trigger a]\nmax_size = 1K", "conf:2: max_size = '1K' is not one of: 1M to" },
		{ "[trigger a]\nmin_interval = 0s", "is not one of: 1s to 24h" },
		{ "[trigger a]\nafter = 25h", "is not one of: 0s to 24h" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		config_defaults(&config);
		ck_assert_msg(parse(bad[i][0]) == -EINVAL, "%s", bad[i][0]);
		ck_assert_msg(strstr(err, bad[i][1]) != NULL, "%s: %s", bad[i][0], err);
	}
}
END_TEST

START_TEST(there_are_not_too_many_triggers)
{
	char text[4096] = "[flight]\nenabled = yes\n";

	for (unsigned i = 0; i < TRIGGER_CONFIGS; i++)
		sprintf(text + strlen(text), "[trigger t%u]\non = sigusr2\n", i);
	ck_assert_int_eq(parse(text), 0);
	config_defaults(&config);
	strcat(text, "[trigger more]\n");
	ck_assert_int_eq(parse(text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err, "there are 16 already"));
	strcpy(text, "[trigger t]\n");
	for (unsigned i = 0; i < TRIGGER_CONFIG_ON + 1; i++)
		strcat(text, "on = sigusr2\n");
	config_defaults(&config);
	ck_assert_int_eq(parse(text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err, "conf:10: [trigger t] has 8 lines 'on' already"));
}
END_TEST

START_TEST(a_line_that_is_too_long_or_not_text_is_refused)
{
	static const char nul[] = "max_clients = 5\0000";
	char line[600];

	memset(line, ' ', sizeof(line));
	ck_assert_int_eq(config_parse("conf", line, 511, &config, err, sizeof(err)), 0);
	ck_assert_int_eq(config_parse("conf", line, 512, &config, err, sizeof(err)), -EINVAL);
	ck_assert_str_eq(err, "conf:1: line is too long");
	ck_assert_int_eq(config_parse("conf", nul, sizeof(nul) - 1, &config, err, sizeof(err)),
			 -EINVAL);
	ck_assert_uint_eq(config.max_clients, 32);
}
END_TEST

START_TEST(a_message_is_cut_to_its_room)
{
	char small[8];

	ck_assert_int_eq(config_parse("conf", "x", 1, &config, small, sizeof(small)), -EINVAL);
	ck_assert_str_eq(small, "conf:1:");
}
END_TEST

START_TEST(a_file_is_read_and_may_be_missing)
{
	char path[] = "/tmp/test_config.XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "max_clients = 7\n", 16), 16);
	ck_assert_int_eq(config_read(path, &config, err, sizeof(err)), 0);
	ck_assert_uint_eq(config.max_clients, 7);
	ck_assert_int_eq(ftruncate(fd, 64 * 1024 + 1), 0);
	ck_assert_int_eq(config_read(path, &config, err, sizeof(err)), -EFBIG);
	ck_assert_ptr_nonnull(strstr(err, path));
	close(fd);
	unlink(path);
	ck_assert_int_eq(config_read(path, &config, err, sizeof(err)), 0);
	ck_assert_int_eq(config_read("/tmp", &config, err, sizeof(err)), -EISDIR);
	ck_assert_ptr_nonnull(strstr(err, "/tmp"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("config");
	TCase *tc = tcase_create("config");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, defaults_are_within_their_own_bounds);
	tcase_add_test(tc, every_key_is_read);
	tcase_add_test(tc, every_bound_holds);
	tcase_add_test(tc, the_flight_recorder_is_off_and_has_a_section_of_its_own);
	tcase_add_test(tc, a_message_names_file_line_key_and_what_is_allowed);
	tcase_add_test(tc, triggers_have_sections);
	tcase_add_test(tc, what_is_wrong_with_a_trigger_is_told);
	tcase_add_test(tc, there_are_not_too_many_triggers);
	tcase_add_test(tc, a_line_that_is_too_long_or_not_text_is_refused);
	tcase_add_test(tc, a_message_is_cut_to_its_room);
	tcase_add_test(tc, a_file_is_read_and_may_be_missing);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
