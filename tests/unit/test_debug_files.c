/* SPDX-License-Identifier: Apache-2.0 */
/* Where debug files are looked for, and where a name of a traced file does not lead. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolize/debug_files.h"
#include "symbolize/symbolizer.h"

static const uint8_t id[] = { 0xab, 1,	2,  3,	4,  5,	6,  7,	8,  9,
			      10,   11, 12, 13, 14, 15, 16, 17, 18, 19 };
#define ID_NAME "usr/lib/debug/.build-id/ab/0102030405060708090a0b0c0d0e0f10111213.debug"

static char root[64];
static struct debug_files *files;

__attribute__((format(printf, 1, 2))) static void shell(const char *format, ...)
{
	char command[1024];
	va_list ap;
	int n = snprintf(command, sizeof(command), "cd %s && ", root);

	va_start(ap, format);
	vsnprintf(command + n, sizeof(command) - (size_t)n, format, ap);
	va_end(ap);
	ck_assert_msg(system(command) == 0, "%s", command);
}

static void setup(void)
{
	umask(022);
	strcpy(root, "/tmp/debug-files-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	shell("mkdir -p usr/lib/debug/.build-id/ab usr/lib/debug/opt/app usr/lib/debug/.dwz "
	      "opt/app/.debug");
	ck_assert_int_eq(debug_files_new(root, &files), 0);
}

static void teardown(void)
{
	debug_files_free(files);
	shell("cd / && rm -rf %s", root);
}

static void put(const char *name)
{
	shell("echo %s >%s", name, name);
}

/* What the file says about itself, or "" when there is none. */
static const char *content(int fd)
{
	static char text[256];
	ssize_t n;

	if (fd < 0) {
		ck_assert_int_eq(fd, -ENOENT);
		return "";
	}
	n = read(fd, text, sizeof(text) - 1);
	ck_assert_int_gt(n, 0);
	text[n - 1] = '\0';
	close(fd);
	return text;
}

static const char *first(const char *path, const char *link)
{
	unsigned pos = 0;

	return content(debug_files_open(files, id, sizeof(id), path, link, &pos));
}

START_TEST(each_place_is_tried_once_and_in_order)
{
	static const char *const names[] = { ID_NAME, "opt/app/x.debug", "opt/app/.debug/x.debug",
					     "usr/lib/debug/opt/app/x.debug" };
	unsigned pos = 0;

	for (size_t i = 0; i < 4; i++)
		put(names[i]);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(content(debug_files_open(files, id, sizeof(id), "/opt/app/x",
							  "x.debug", &pos)),
				 names[i]);
	ck_assert_int_eq(debug_files_open(files, id, sizeof(id), "/opt/app/x", "x.debug", &pos),
			 -ENOENT);
}
END_TEST

START_TEST(a_file_without_a_build_id_is_found_by_its_link)
{
	unsigned pos = 0;

	put("opt/app/.debug/x.debug");
	ck_assert_str_eq(content(debug_files_open(files, NULL, 0, "/opt/app/x", "x.debug", &pos)),
			 "opt/app/.debug/x.debug");
	ck_assert_str_eq(first("[vdso]", "x.debug"), "");
	ck_assert_str_eq(first("/opt/app/x", ""), "");
}
END_TEST

START_TEST(links_of_a_distribution_are_followed_below_its_directory_only)
{
	put("usr/lib/debug/opt/app/x.debug");
	shell("ln -s ../../opt/app/x.debug " ID_NAME);
	ck_assert_str_eq(first("/opt/app/y", ""), "usr/lib/debug/opt/app/x.debug");
	put("opt/app/secret");
	shell("ln -sf ../../../../../opt/app/secret " ID_NAME);
	ck_assert_str_eq(first("/opt/app/y", ""), "");
	shell("ln -sf %s/opt/app/secret " ID_NAME, root);
	ck_assert_str_eq(first("/opt/app/y", ""), "");
}
END_TEST

START_TEST(no_link_beside_a_program_is_followed)
{
	put("opt/secret");
	shell("ln -s ../secret opt/app/x.debug");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "");
	shell("mkdir real && echo real >real/x.debug && ln -s real way");
	ck_assert_str_eq(first("/real/x", "x.debug"), "real");
	ck_assert_str_eq(first("/way/x", "x.debug"), "");
}
END_TEST

START_TEST(a_name_does_not_lead_elsewhere)
{
	put("opt/secret");
	ck_assert_str_eq(first("/opt/app/x", "../secret"), "");
	ck_assert_str_eq(first("/opt/app/x", "/opt/secret"), "");
	ck_assert_str_eq(first("/opt/app/x", ".."), "");
	ck_assert_str_eq(first("/opt/app/../x", "secret"), "");
	ck_assert_str_eq(first("opt/x", "secret"), "");
	/* The program itself is not its own debug file. */
	ck_assert_str_eq(first("/opt/secret", "secret"), "");
}
END_TEST

START_TEST(where_others_may_write_nothing_is_opened)
{
	put("opt/app/x.debug");
	shell("chmod 0777 opt/app");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "");
	shell("chmod 0775 opt/app");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "");
	shell("chmod 0755 opt/app && chmod 0666 opt/app/x.debug");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "");
	shell("chmod 0644 opt/app/x.debug");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "opt/app/x.debug");
	shell("chmod 0777 opt");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "");
}
END_TEST

START_TEST(what_belongs_to_another_user_is_not_opened)
{
	if (geteuid() != 0)
		return; /* cannot be set up */
	put("opt/app/x.debug");
	shell("chown 65534 opt/app/x.debug");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "");
	shell("chown 0 opt/app/x.debug && chown 65534 opt/app");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "");
}
END_TEST

START_TEST(what_is_no_file_is_not_opened)
{
	shell("mkfifo opt/app/x.debug && mkdir usr/lib/debug/opt/app/x.debug");
	ck_assert_str_eq(first("/opt/app/x", "x.debug"), "");
}
END_TEST

START_TEST(a_shared_file_is_found_by_its_id_or_path)
{
	static const uint8_t other[20] = { 0xcd };

	put("usr/lib/debug/.dwz/pkg.debug");
	put(ID_NAME);
	put("opt/secret");
	ck_assert_str_eq(content(debug_files_open_alt(files, id, sizeof(id), "")), ID_NAME);
	ck_assert_str_eq(content(debug_files_open_alt(files, other, sizeof(other),
						      "/usr/lib/debug/.dwz/pkg.debug")),
			 "usr/lib/debug/.dwz/pkg.debug");
	ck_assert_str_eq(
		content(debug_files_open_alt(files, other, sizeof(other), "../../.dwz/pkg.debug")),
		"usr/lib/debug/.dwz/pkg.debug");
	ck_assert_int_lt(debug_files_open_alt(files, other, sizeof(other), "/opt/secret"), 0);
	ck_assert_int_lt(debug_files_open_alt(files, other, sizeof(other),
					      "/usr/lib/debug/../../../opt/secret"),
			 0);
	ck_assert_int_lt(debug_files_open_alt(files, other, sizeof(other), "../x/../../opt/secret"),
			 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("debug_files");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_place_is_tried_once_and_in_order);
	tcase_add_test(tc, a_file_without_a_build_id_is_found_by_its_link);
	tcase_add_test(tc, links_of_a_distribution_are_followed_below_its_directory_only);
	tcase_add_test(tc, no_link_beside_a_program_is_followed);
	tcase_add_test(tc, a_name_does_not_lead_elsewhere);
	tcase_add_test(tc, where_others_may_write_nothing_is_opened);
	tcase_add_test(tc, what_belongs_to_another_user_is_not_opened);
	tcase_add_test(tc, what_is_no_file_is_not_opened);
	tcase_add_test(tc, a_shared_file_is_found_by_its_id_or_path);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
