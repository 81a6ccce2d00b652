/* SPDX-License-Identifier: Apache-2.0 */
/* What triggers of tracerd.conf write: names, bounds, and what is left of what went wrong. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "event_loop.h"
#include "process/process_table.h"
#include "trigger/trigger_dir.h"
#include "trigger/trigger_files.h"

static struct event_loop *loop;
static struct process_table *processes;
static struct triggers *triggers;
static struct trigger_files *files;
static struct trigger_configs configs;
static char dir[64];
static trace_tap_fn *tap;
static void *tap_ctx;

/* The recorder's part. */
static struct flight_request request;
static char command_line[64];
static int snapshot_error;
static unsigned n_snapshots, n_cancelled;

static void set_tap(void *ctx, trace_tap_fn *fn, void *fn_ctx)
{
	(void)ctx;
	tap = fn;
	tap_ctx = fn_ctx;
}

static int snapshot(void *ctx, const struct flight_request *req, char why[WHY_LEN],
		    struct flight_snapshot **ret)
{
	ck_assert_ptr_eq(ctx, &request);
	if (snapshot_error) {
		snprintf(why, WHY_LEN, "nothing is recorded");
		return snapshot_error;
	}
	request = *req;
	snprintf(command_line, sizeof(command_line), "%s", req->command_line);
	n_snapshots++;
	*ret = (struct flight_snapshot *)&request;
	return 0;
}

static void cancel(void *ctx, struct flight_snapshot *s)
{
	(void)ctx;
	ck_assert_ptr_eq(s, &request);
	n_cancelled++;
}

static void set_up(void)
{
	struct triggers_env env = { .psi_dir = "/none", .tap = set_tap };

	strcpy(dir, "/tmp/trigger_files.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(process_table_new(NULL, &processes), 0);
	env.loop = loop;
	env.processes = processes;
	ck_assert_int_eq(triggers_new(&env, &triggers), 0);
	memset(&configs, 0, sizeof(configs));
	files = NULL;
	snapshot_error = 0;
	n_snapshots = n_cancelled = 0;
}

/* The names in the directory that begin so, in order, each with a blank. */
static const char *names(const char *prefix)
{
	static char list[4096];
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, alphasort);

	list[0] = '\0';
	for (int i = 0; i < n; i++) {
		size_t len = strlen(list);

		if (strncmp(entries[i]->d_name, prefix, strlen(prefix)) == 0 &&
		    strcmp(entries[i]->d_name, ".") != 0 && strcmp(entries[i]->d_name, "..") != 0)
			snprintf(list + len, sizeof(list) - len, "%s ", entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return list;
}

static void tear_down(void)
{
	char command[128];

	trigger_files_free(files);
	triggers_free(triggers);
	process_table_free(processes);
	event_loop_free(loop);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void key(const char *name, const char *value)
{
	char err[1024];

	ck_assert_msg(trigger_config_key(&configs, name, value, err, sizeof(err)) == 0, "%s", err);
}

static void section(const char *name, const char *on)
{
	char err[1024];

	ck_assert_msg(trigger_config_begin(&configs, name, err, sizeof(err)) == 0, "%s", err);
	key("on", on);
}

static void begin(void)
{
	struct trigger_files_env env = { .loop = loop,
					 .triggers = triggers,
					 .dir = dir,
					 .snapshot = snapshot,
					 .cancel = cancel,
					 .ctx = &request };

	ck_assert_int_eq(trigger_files_new(&env, &configs, &files), 0);
}

static int on_stop(void *ctx, uint32_t events)
{
	(void)ctx;
	(void)events;
	event_loop_stop(loop);
	return 0;
}

static void let_pass(void)
{
	struct event_source *timer;

	ck_assert_int_eq(event_loop_add_timer(loop, 20 * NS_PER_MS, on_stop, NULL, &timer), 0);
	ck_assert_int_eq(event_loop_run(loop), 0);
	event_source_free(timer);
}

static void fire(void)
{
	static uint64_t time_ns;

	time_ns = (time_ns ? time_ns : boot_ns()) + 3600 * NS_PER_SEC;
	ck_assert_uint_gt(triggers_sigusr2(triggers, 1, time_ns), 0);
	let_pass();
}

static void first_status(void *ctx, const struct trigger_files_status *status)
{
	struct trigger_files_status *ret = ctx;

	if (!ret->config)
		*ret = *status;
}

static struct trigger_files_status status_of(void)
{
	struct trigger_files_status status = { 0 };

	trigger_files_each(files, first_status, &status);
	return status;
}

START_TEST(a_trigger_writes_a_file)
{
	char path[256], data[16];
	struct stat st;
	int fd;

	section("slow", "sigusr2");
	key("last", "30s");
	begin();
	fire();
	ck_assert_uint_eq(n_snapshots, 1);
	ck_assert_uint_eq(request.last_ns, 30 * NS_PER_SEC);
	ck_assert_str_eq(command_line, "[trigger slow]");
	ck_assert_int_eq(request.sink(request.ctx, "abc", 3), 0);
	ck_assert_str_eq(names("slow"), ""); /* it is not whole yet */
	ck_assert_int_eq(strncmp(names(".slow"), ".slow-2", 7), 0);
	ck_assert_int_eq(request.sink(request.ctx, "def", 3), 0);
	request.done(request.ctx, 0, "", &(struct flight_info){ .bytes = 6 });
	ck_assert_str_eq(names(".slow"), "");
	ck_assert_uint_eq(strlen(names("slow-")), strlen("slow-20260131-235959.perfetto-trace "));
	ck_assert_uint_eq(status_of().n_files, 1);
	ck_assert_int_eq(strncmp(names("slow-"), status_of().last, strlen(status_of().last)), 0);
	snprintf(path, sizeof(path), "%s/%s", dir, status_of().last);
	fd = open(path, O_RDONLY);
	ck_assert_int_eq(read(fd, data, sizeof(data)), 6);
	ck_assert_mem_eq(data, "abcdef", 6);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0640);
	close(fd);
}
END_TEST

START_TEST(not_more_often_than_allowed)
{
	section("slow", "sigusr2");
	begin();
	fire();
	fire(); /* while the first is being written */
	ck_assert_uint_eq(n_snapshots, 1);
	request.done(request.ctx, 0, "", NULL);
	fire(); /* within a minute */
	ck_assert_uint_eq(n_snapshots, 1);
	ck_assert_uint_eq(status_of().n_fired, 3);
	ck_assert_uint_eq(status_of().n_too_soon, 2);
	ck_assert_uint_eq(status_of().n_files, 1);
}
END_TEST

START_TEST(what_fails_leaves_nothing)
{
	section("slow", "sigusr2");
	section("other", "sigusr2");
	begin();
	snapshot_error = -ENOENT;
	fire();
	ck_assert_str_eq(names(""), "");
	ck_assert_uint_eq(status_of().n_failed, 1);
	ck_assert_str_eq(status_of().why, "there is no snapshot: nothing is recorded");
	trigger_files_free(files);
	begin();
	snapshot_error = 0;
	fire(); /* the last one is that of the first section or the second: `request` has it */
	ck_assert_int_eq(request.sink(request.ctx, "abc", 3), 0);
	request.done(request.ctx, -EIO, "the child has died", NULL);
	ck_assert_uint_eq(n_snapshots, 2);
	trigger_files_free(files);
	files = NULL;
	ck_assert_uint_eq(n_cancelled, 1);
	ck_assert_str_eq(names(""), "");
}
END_TEST

START_TEST(a_file_is_not_larger_than_allowed)
{
	static char piece[1 << 19];

	section("slow", "sigusr2");
	key("max_size", "1M");
	begin();
	fire();
	ck_assert_int_eq(request.sink(request.ctx, piece, sizeof(piece)), 0);
	ck_assert_int_eq(request.sink(request.ctx, piece, sizeof(piece)), 0);
	ck_assert_int_eq(request.sink(request.ctx, piece, 1), -EFBIG);
	request.done(request.ctx, -EFBIG, "", NULL);
	ck_assert_str_eq(names(""), "");
	ck_assert_ptr_nonnull(strstr(status_of().why, "larger than max_size"));
}
END_TEST

START_TEST(what_cannot_be_waited_for_is_told)
{
	section("slow", "psi:cpu>1%");
	begin();
	ck_assert_ptr_nonnull(strstr(status_of().why, "there is no pressure of cpu"));
	trigger_files_free(files);
	strcat(dir, "/a/b");
	begin();
	ck_assert_ptr_nonnull(strstr(status_of().why, "No such file or directory"));
	dir[strlen(dir) - 4] = '\0';
}
END_TEST

/* ---- the directory ---- */

static void make(const char *name, size_t bytes)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

START_TEST(the_oldest_go)
{
	int fd = trigger_dir_open(dir);

	make("a-20260101-000000.perfetto-trace", 10);
	make("a-20260102-000000.perfetto-trace", 10);
	make("a-20260103-000000.perfetto-trace", 10);
	make("a-20260104-000000.perfetto-trace", 10);
	make("b-20260101-000000.perfetto-trace", 10);	/* another's */
	make("a-20260101-00000x.perfetto-trace", 10);	/* somebody's */
	make("a-b-20260101-000000.perfetto-trace", 10); /* a-b's */
	make("mine", 10);
	ck_assert_int_eq(trigger_dir_prune(fd, "a", 3, 1000), 0);
	ck_assert_str_eq(names("a-2"), "a-20260101-00000x.perfetto-trace "
				       "a-20260102-000000.perfetto-trace "
				       "a-20260103-000000.perfetto-trace "
				       "a-20260104-000000.perfetto-trace ");
	ck_assert_int_eq(trigger_dir_prune(fd, "a", 3, 29), 0);
	ck_assert_str_eq(names("a-2"), "a-20260101-00000x.perfetto-trace "
				       "a-20260103-000000.perfetto-trace "
				       "a-20260104-000000.perfetto-trace ");
	ck_assert_int_eq(trigger_dir_prune(fd, "a", 1, 1), 0);
	ck_assert_str_eq(names(""), "a-20260101-00000x.perfetto-trace "
				    "a-20260104-000000.perfetto-trace "
				    "a-b-20260101-000000.perfetto-trace "
				    "b-20260101-000000.perfetto-trace mine ");
	close(fd);
}
END_TEST

START_TEST(what_was_not_finished_goes)
{
	make(".a-20260101-000000.perfetto-trace", 10);
	make(".profile", 10);
	make("a-20260101-000000.perfetto-trace", 10);
	close(trigger_dir_open(dir));
	ck_assert_str_eq(names(""), ".profile a-20260101-000000.perfetto-trace ");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trigger_files");
	TCase *tc = tcase_create("trigger_files");
	SRunner *sr;
	int n;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_trigger_writes_a_file);
	tcase_add_test(tc, not_more_often_than_allowed);
	tcase_add_test(tc, what_fails_leaves_nothing);
	tcase_add_test(tc, a_file_is_not_larger_than_allowed);
	tcase_add_test(tc, what_cannot_be_waited_for_is_told);
	tcase_add_test(tc, the_oldest_go);
	tcase_add_test(tc, what_was_not_finished_goes);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	n = srunner_ntests_failed(sr);
	srunner_free(sr);
	return n ? EXIT_FAILURE : EXIT_SUCCESS;
}
