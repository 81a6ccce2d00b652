/* SPDX-License-Identifier: Apache-2.0 */
/* Files of code exist once; their descriptors are few and go in time. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolize/modules.h"

static struct modules *ms;
static char dir[64], path[96];

static void setup(void)
{
	strcpy(dir, "/tmp/modules-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	strcat(strcpy(path, dir), "/file");
	ck_assert_int_eq(modules_new(&ms), 0);
}

static void teardown(void)
{
	modules_free(ms);
	unlink(path);
	rmdir(dir);
}

static int open_file(const char *content)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	return fd;
}

static int memory_file(void)
{
	int fd = memfd_create("module", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct code_module *by_file(int fd, const char *name)
{
	struct code_module *m;

	ck_assert_int_eq(modules_by_file(ms, fd, name, &m), 0);
	return m;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

START_TEST(the_same_file_is_the_same_module_under_any_path)
{
	int fd = open_file("x"), again = open(path, O_RDONLY | O_CLOEXEC);
	struct code_module *m = by_file(fd, "/one");

	ck_assert_ptr_eq(by_file(again, "/two"), m);
	ck_assert_str_eq(m->pub.path, "/one");
	ck_assert_int_eq(m->fd, fd);
	ck_assert(is_open(fd));
	ck_assert(!is_open(again));
	ck_assert_uint_eq(modules_n_files(ms), 1);
}
END_TEST

START_TEST(a_file_that_changed_is_another_module)
{
	struct code_module *m = by_file(open_file("x"), path);
	int fd = open_file("longer");
	struct code_module *n = by_file(fd, path);

	ck_assert_ptr_ne(m, n);
	ck_assert_uint_ne(m->pub.id, n->pub.id);
	/* And one that was replaced: another inode. */
	unlink(path);
	ck_assert_ptr_ne(by_file(open_file("longer"), path), n);
	ck_assert_uint_eq(modules_n_files(ms), 3);
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused_and_closed)
{
	struct code_module *m;
	int fd;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(modules_by_file(ms, fd, path, &m), -EINVAL);
	ck_assert(!is_open(fd));
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(modules_by_file(ms, fd, path, &m), -EINVAL);
	ck_assert(!is_open(fd));
	fd = open(dir, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(modules_by_file(ms, fd, path, &m), -EINVAL);
	ck_assert(!is_open(fd));
	ck_assert_int_eq(modules_by_file(ms, -1, path, &m), -EBADF);
}
END_TEST

START_TEST(a_name_is_one_module_of_its_type)
{
	struct code_module *m = modules_by_name(ms, MODULE_PSEUDO, "[jit]");

	ck_assert_ptr_eq(modules_by_name(ms, MODULE_PSEUDO, "[jit]"), m);
	ck_assert_ptr_ne(modules_by_name(ms, MODULE_KERNEL, "[jit]"), m);
	ck_assert_ptr_ne(modules_by_name(ms, MODULE_PSEUDO, "[jit"), m);
	ck_assert_str_eq(m->pub.path, "[jit]");
	ck_assert_uint_eq(modules_n_files(ms), 0);
}
END_TEST

START_TEST(a_module_goes_after_its_last_release)
{
	int fd = open_file("x");
	struct code_module *m = by_file(fd, path);

	modules_collect(ms, NS_PER_SEC);
	ck_assert(is_open(fd)); /* never held: stays */
	module_hold(&m->pub);
	module_hold(&m->pub);
	module_release(&m->pub);
	modules_collect(ms, 2 * NS_PER_SEC);
	ck_assert_uint_eq(modules_n_files(ms), 1);
	module_release(&m->pub);
	module_hold(&m->pub);
	modules_collect(ms, 3 * NS_PER_SEC);
	ck_assert_uint_eq(modules_n_files(ms), 1);
	module_release(&m->pub);
	modules_collect(ms, 4 * NS_PER_SEC);
	ck_assert_uint_eq(modules_n_files(ms), 0);
	ck_assert(!is_open(fd));
}
END_TEST

START_TEST(a_module_with_locations_stays_but_its_file_is_closed)
{
	int fd = open_file("x"), again;
	struct code_module *m = by_file(fd, path);

	m->n_locations = 1;
	module_hold(&m->pub);
	modules_collect(ms, NS_PER_SEC);
	module_release(&m->pub);
	modules_collect(ms, 30 * NS_PER_SEC);
	ck_assert(is_open(fd)); /* samples may still come */
	modules_collect(ms, 31 * NS_PER_SEC);
	ck_assert(!is_open(fd));
	ck_assert_int_eq(m->fd, -1);
	/* Somebody maps it again. */
	again = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_ptr_eq(by_file(again, path), m);
	ck_assert_int_eq(m->fd, again);
	m->n_locations = 0;
	modules_collect(ms, 32 * NS_PER_SEC);
	ck_assert_uint_eq(modules_n_files(ms), 0);
}
END_TEST

START_TEST(a_file_that_is_being_asked_about_stays_open)
{
	int fd = open_file("x");
	struct code_module *m = by_file(fd, path);

	module_hold(&m->pub);
	module_release(&m->pub);
	m->n_busy = 1;
	modules_collect(ms, 100 * NS_PER_SEC);
	ck_assert(is_open(fd));
	m->n_busy = 0;
}
END_TEST

START_TEST(a_failed_file_gets_no_descriptor_again)
{
	int fd = open_file("x"), again = open(path, O_RDONLY | O_CLOEXEC);
	struct code_module *m = by_file(fd, path);

	m->is_failed = true;
	modules_close(m);
	ck_assert_ptr_eq(by_file(again, path), m);
	ck_assert_int_eq(m->fd, -1);
	ck_assert(!is_open(again));
}
END_TEST

START_TEST(descriptors_stay_below_half_of_the_limit)
{
	struct rlimit rl;
	struct code_module *m[40];
	unsigned n_open = 0;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = 64;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	for (size_t i = 0; i < 40; i++)
		m[i] = by_file(memory_file(), "m");
	m[1]->n_busy = 1;
	modules_touch(m[0]);
	modules_collect(ms, NS_PER_SEC);
	for (size_t i = 0; i < 40; i++)
		n_open += m[i]->fd >= 0;
	ck_assert_uint_eq(n_open, 32);
	ck_assert_int_ge(m[0]->fd, 0); /* used last */
	ck_assert_int_ge(m[1]->fd, 0); /* in use */
	for (size_t i = 2; i < 10; i++)
		ck_assert_int_eq(m[i]->fd, -1);
	m[1]->n_busy = 0;
}
END_TEST

START_TEST(there_is_a_cap_on_modules_and_a_warning_before)
{
	char name[32];
	unsigned n = 0;
	bool crowded = false;

	while (snprintf(name, sizeof(name), "[pseudo %u]", n) > 0 &&
	       modules_by_name(ms, MODULE_PSEUDO, name)) {
		n++;
		ck_assert_uint_le(n, 1000000);
		if (n % 1024 == 0)
			crowded = modules_collect(ms, n);
	}
	ck_assert_uint_ge(n, 10000);
	ck_assert(crowded);
	ck_assert_ptr_nonnull(modules_by_name(ms, MODULE_PSEUDO, "[pseudo 0]"));
	ck_assert_ptr_nonnull(modules_by_name(ms, MODULE_KERNEL, "[ext4]"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("modules");
	TCase *tc = tcase_create("modules");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, the_same_file_is_the_same_module_under_any_path);
	tcase_add_test(tc, a_file_that_changed_is_another_module);
	tcase_add_test(tc, what_is_no_regular_file_is_refused_and_closed);
	tcase_add_test(tc, a_name_is_one_module_of_its_type);
	tcase_add_test(tc, a_module_goes_after_its_last_release);
	tcase_add_test(tc, a_module_with_locations_stays_but_its_file_is_closed);
	tcase_add_test(tc, a_file_that_is_being_asked_about_stays_open);
	tcase_add_test(tc, a_failed_file_gets_no_descriptor_again);
	tcase_add_test(tc, descriptors_stay_below_half_of_the_limit);
	tcase_add_test(tc, there_is_a_cap_on_modules_and_a_warning_before);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
