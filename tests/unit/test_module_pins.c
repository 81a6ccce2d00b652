/* SPDX-License-Identifier: Apache-2.0 */
/* Mapped files, reached through a directory like /proc, and those that must not be. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "process/module_pins.h"
#include "process/slow_open.h"
#include "symbolize/symbolizer.h"

#define START 0x7f0000000000ull
#define END   0x7f0000001000ull

static char root[64];
static struct symbolizer *sym;
static struct module_pins *pins;
static int proc_fd;
static uint64_t now;

static void set_up(void)
{
	strcpy(root, "/tmp/module_pins.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	proc_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(proc_fd, 0);
	ck_assert_int_eq(symbolizer_new(&sym), 0);
	ck_assert_int_eq(module_pins_new(sym, proc_fd, &pins), 0);
	now = boot_ns();
}

static void tear_down(void)
{
	char command[96];

	module_pins_free(pins);
	symbolizer_free(sym);
	close(proc_fd);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	ck_assert_int_eq(system(command), 0);
}

/* ---- the tree ---- */

static char *path_to(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Under the root; with the directories on the way there. */
static char *path_to(const char *fmt, ...)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];
	size_t len = (size_t)snprintf(path, sizeof(paths[0]), "%s/", root);
	va_list args;

	va_start(args, fmt);
	vsnprintf(path + len, sizeof(paths[0]) - len, fmt, args);
	va_end(args);
	for (char *slash = strchr(path + len, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(mkdir(path, 0755) == 0 || errno == EEXIST);
		*slash = '/';
	}
	return path;
}

static void put_file(const char *path, const char *content)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(content, f);
	fclose(f);
}

static void link_mapping(const char *target)
{
	const char *path = path_to("10/map_files/%llx-%llx", START, END);

	(void)unlink(path);
	ck_assert_int_eq(symlink(target, path), 0);
}

/* A mapping of the file at `path`, as the kernel would tell of it. */
static struct mapped_code code_of(const char *path, const char *name)
{
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	return (struct mapped_code){ .tgid = 10,
				     .start = START,
				     .end = END,
				     .dev_major = major(st.st_dev),
				     .dev_minor = minor(st.st_dev),
				     .inode = st.st_ino,
				     .time_ns = boot_ns(),
				     .name = name,
				     .name_len = strlen(name) };
}

/* The module's path; the reference is given back. */
static const char *pin(const struct mapped_code *code)
{
	struct module *module = module_pins_get(pins, code, now);

	ck_assert_ptr_nonnull(module);
	module_release(module);
	return module->path;
}

static uint64_t pin_id(const struct mapped_code *code)
{
	struct module *module = module_pins_get(pins, code, now);

	ck_assert_ptr_nonnull(module);
	module_release(module);
	return module->id;
}

/* ---- tests ---- */

START_TEST(a_mapped_file_is_reached_by_its_mapping)
{
	struct mapped_code code;

	put_file(path_to("files/prog"), "x");
	link_mapping(path_to("files/prog"));
	code = code_of(path_to("files/prog"), "/usr/bin/pro\012g (deleted)");
	ck_assert_str_eq(pin(&code), "/usr/bin/pro\012g");
	ck_assert_uint_eq(module_pins_missed(pins), 0);
}
END_TEST

START_TEST(a_file_of_another_inode_is_not_the_mapped_one)
{
	struct mapped_code code;

	put_file(path_to("files/prog"), "x");
	put_file(path_to("files/other"), "x");
	link_mapping(path_to("files/other"));
	code = code_of(path_to("files/prog"), "/usr/bin/prog");
	ck_assert_str_eq(pin(&code), "[prog]");
	ck_assert_uint_eq(module_pins_missed(pins), 1);
}
END_TEST

START_TEST(what_is_no_regular_file_is_not_opened)
{
	struct mapped_code code;

	/* Opening it would wait for a writer. */
	ck_assert_int_eq(mkfifo(path_to("files/fifo"), 0644), 0);
	link_mapping(path_to("files/fifo"));
	code = code_of(path_to("files/fifo"), "/dev/something");
	ck_assert_str_eq(pin(&code), "[something]");

	link_mapping(path_to("files"));
	code = code_of(path_to("files"), "/dev/directory");
	ck_assert_str_eq(pin(&code), "[directory]");
}
END_TEST

START_TEST(without_the_mapping_the_name_in_the_processes_root_helps)
{
	struct mapped_code code;

	put_file(path_to("10/root/usr/lib/lib.so"), "x");
	code = code_of(path_to("10/root/usr/lib/lib.so"), "/usr/lib/lib.so");
	ck_assert_str_eq(pin(&code), "/usr/lib/lib.so");
	ck_assert_uint_eq(module_pins_missed(pins), 0);
}
END_TEST

START_TEST(without_the_process_inits_root_helps)
{
	struct mapped_code code;

	put_file(path_to("%s/root/usr/bin/prog", _i ? "self" : "1"), "x");
	code = code_of(path_to("%s/root/usr/bin/prog", _i ? "self" : "1"), "/usr/bin/prog");
	ck_assert_str_eq(pin(&code), "/usr/bin/prog");
}
END_TEST

START_TEST(a_name_has_to_prove_the_inode)
{
	struct mapped_code code;

	put_file(path_to("10/root/usr/bin/prog"), "x");
	code = code_of(path_to("10/root/usr/bin/prog"), "/usr/bin/prog");
	code.inode++;
	ck_assert_str_eq(pin(&code), "[prog]");
	code.inode--;
	code.dev_minor++;
	ck_assert_str_eq(pin(&code), "[prog]");
}
END_TEST

/* Inode numbers are used again: this file was made after the one with its number was mapped. */
START_TEST(a_file_younger_than_the_mapping_is_not_the_mapped_one)
{
	struct mapped_code code;

	put_file(path_to("1/root/usr/bin/prog"), "x");
	code = code_of(path_to("1/root/usr/bin/prog"), "/usr/bin/prog");
	code.time_ns -= NS_PER_SEC;
	ck_assert_str_eq(pin(&code), "[prog]");
}
END_TEST

START_TEST(links_are_not_followed)
{
	struct mapped_code code;

	put_file(path_to("secret"), "x");
	ck_assert_int_eq(symlink("../../secret", path_to("10/root/up")), 0);
	ck_assert_int_eq(symlink(path_to("secret"), path_to("10/root/absolute")), 0);
	ck_assert_int_eq(symlink("/proc/self/exe", path_to("10/root/magic")), 0);
	code = code_of(path_to("secret"), "/up");
	ck_assert_str_eq(pin(&code), "[up]");
	code = code_of(path_to("secret"), "/absolute");
	ck_assert_str_eq(pin(&code), "[absolute]");
	code = code_of("/proc/self/exe", "/magic");
	ck_assert_str_eq(pin(&code), "[magic]");
}
END_TEST

START_TEST(a_file_is_trusted_for_a_second)
{
	struct mapped_code code;
	uint64_t id;

	put_file(path_to("files/prog"), "x");
	link_mapping(path_to("files/prog"));
	code = code_of(path_to("files/prog"), "/usr/bin/prog");
	id = pin_id(&code);
	put_file(path_to("files/prog"), "written anew in place");
	now += NS_PER_SEC / 2;
	ck_assert_uint_eq(pin_id(&code), id);
	now += NS_PER_SEC;
	ck_assert_uint_ne(pin_id(&code), id);
}
END_TEST

START_TEST(a_file_that_cannot_be_looked_at_again_stays_what_it_was)
{
	struct mapped_code code;
	uint64_t id;

	put_file(path_to("files/prog"), "x");
	link_mapping(path_to("files/prog"));
	code = code_of(path_to("files/prog"), "/usr/bin/prog");
	id = pin_id(&code);
	ck_assert_int_eq(unlink(path_to("files/prog")), 0);
	now += 10 * NS_PER_SEC;
	ck_assert_uint_eq(pin_id(&code), id);
	/* Until nobody has mapped it for long. */
	now += 1000 * NS_PER_SEC;
	module_pins_collect(pins, now);
	ck_assert_str_eq(pin(&code), "[prog]");
}
END_TEST

START_TEST(another_generation_of_an_inode_is_another_file)
{
	struct mapped_code code;

	put_file(path_to("files/prog"), "x");
	link_mapping(path_to("files/prog"));
	code = code_of(path_to("files/prog"), "/usr/bin/prog");
	code.generation = 1;
	ck_assert_str_eq(pin(&code), "/usr/bin/prog");
	ck_assert_int_eq(unlink(path_to("files/prog")), 0);
	code.generation = 0; /* maps does not tell */
	ck_assert_str_eq(pin(&code), "/usr/bin/prog");
	code.generation = 2;
	ck_assert_str_eq(pin(&code), "[prog]");
}
END_TEST

START_TEST(memory_without_a_file_has_a_name)
{
	static const struct {
		const char *name, *module;
		uint64_t inode;
	} table[] = {
		{ "//anon", "[anon:exec]", 0 },
		{ "", "[anon:exec]", 0 },
		{ "/dev/zero (deleted)", "[anon:exec]", 5 },
		{ "[vdso]", "[vdso]", 0 },
		{ "[uprobes]", "[uprobes]", 0 },
		{ "[vsyscall]", "[vsyscall]", 0 },
	};
	struct mapped_code code = { .tgid = 10,
				    .inode = table[_i].inode,
				    .name = table[_i].name,
				    .name_len = strlen(table[_i].name) };

	ck_assert_str_eq(pin(&code), table[_i].module);
	symbolizer_collect(sym, now + 1000 * NS_PER_SEC);
	ck_assert_str_eq(pin(&code), table[_i].module);
	ck_assert_uint_eq(module_pins_missed(pins), 0);
}
END_TEST

START_TEST(names_of_missed_files_do_not_pile_up)
{
	char name[5000];

	for (unsigned i = 0; i < 3000; i++) {
		struct mapped_code code = { .tgid = 10, .inode = 1 + i, .name = name };

		memset(name, 'x', sizeof(name));
		name[0] = '/';
		code.name_len = (size_t)snprintf(name, sizeof(name), "/bin/prog-%u", i);
		if (i == 0)
			code.name_len = sizeof(name); /* longer than a path can be */
		ck_assert_int_eq(pin(&code)[0], '[');
		if (i > 2000)
			ck_assert_str_eq(pin(&code), "[unknown]");
	}
}
END_TEST

START_TEST(a_file_system_that_answers_is_opened_in_a_thread)
{
	int path_fd, fd;
	char c = 0;

	put_file(path_to("files/prog"), "content");
	path_fd = open(path_to("files/prog"), O_PATH | O_CLOEXEC);
	fd = slow_open(path_fd, 10 * NS_PER_SEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(read(fd, &c, 1), 1);
	ck_assert_int_eq(c, 'c');
	close(fd);
	close(path_fd);
}
END_TEST

START_TEST(many_opens_one_after_the_other_leave_nothing_behind)
{
	int path_fd, before, after;

	put_file(path_to("files/prog"), "content");
	path_fd = open(path_to("files/prog"), O_PATH | O_CLOEXEC);
	before = dup(0);
	for (unsigned i = 0; i < 500; i++) {
		int fd = slow_open(path_fd, 10 * NS_PER_SEC);

		ck_assert_int_ge(fd, 0);
		close(fd);
	}
	close(path_fd);
	close(before);
	after = dup(0);
	ck_assert_int_le(after, before);
	close(after);
	ck_assert_int_eq(slow_open(-1, NS_PER_SEC), -EBADF);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("module_pins");
	TCase *t = tcase_create("files");
	SRunner *sr = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_mapped_file_is_reached_by_its_mapping);
	tcase_add_test(t, a_file_of_another_inode_is_not_the_mapped_one);
	tcase_add_test(t, what_is_no_regular_file_is_not_opened);
	tcase_add_test(t, without_the_mapping_the_name_in_the_processes_root_helps);
	tcase_add_loop_test(t, without_the_process_inits_root_helps, 0, 2);
	tcase_add_test(t, a_name_has_to_prove_the_inode);
	tcase_add_test(t, a_file_younger_than_the_mapping_is_not_the_mapped_one);
	tcase_add_test(t, links_are_not_followed);
	tcase_add_test(t, a_file_is_trusted_for_a_second);
	tcase_add_test(t, a_file_that_cannot_be_looked_at_again_stays_what_it_was);
	tcase_add_test(t, another_generation_of_an_inode_is_another_file);
	tcase_add_loop_test(t, memory_without_a_file_has_a_name, 0, 6);
	tcase_add_test(t, names_of_missed_files_do_not_pile_up);
	tcase_add_test(t, a_file_system_that_answers_is_opened_in_a_thread);
	tcase_add_test(t, many_opens_one_after_the_other_leave_nothing_behind);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
