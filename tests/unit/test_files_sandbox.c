/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker can still do, and what ends it. Each in a process of its own. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolize/elf_symbols.h"
#include "symbolize/files_sandbox.h"

typedef int inside_fn(void);

static int memfd; /* descriptor 3 leads there too */

/* The wait status of a child that calls `fn` in the sandbox, with `fd` as descriptor 3. */
static int run_with(inside_fn *fn, int fd, enum files_worker_kind kind)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (fd < 0 || dup2(fd, 3) < 0 || files_sandbox_enter(3, kind) < 0)
			_exit(99);
		_exit(fn());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static int run(inside_fn *fn)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int status = run_with(fn, fd, FILES_WORKER_SYMBOLS);

	close(fd);
	return status;
}

static int run_tables(inside_fn *fn)
{
	return run_with(fn, memfd, FILES_WORKER_TABLES);
}

static int use_memory(void)
{
	size_t size = 64u << 20;
	char *p = malloc(size), *q;

	if (!p)
		return 1;
	memset(p, 1, size);
	q = realloc(p, 2 * size);
	if (!q)
		return 2;
	free(q);
	return 0;
}

static int read_symbols(void)
{
	struct elf_symbols *t;
	int r = elf_symbols_load(3, -1, &t);

	if (r < 0)
		return 1;
	r = elf_symbols_count(t) > 10 ? 0 : 2;
	elf_symbols_free(t);
	return r;
}

static int descriptors_are_few(void)
{
	for (int fd = 4; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return fd;
	return fcntl(3, F_GETFD) >= 0 ? 0 : 1;
}

static int take_too_much_memory(void)
{
	return mmap(NULL, 2ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
				       MAP_FAILED &&
			       errno == ENOMEM
		       ? 0
		       : 1;
}

static inside_fn *const allowed[] = { use_memory, read_symbols, descriptors_are_few };

START_TEST(what_the_worker_needs_works)
{
	int status = run(allowed[_i]);

	ck_assert_msg(WIFEXITED(status), "signal %d", WTERMSIG(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(memory_is_bounded)
{
	int status;

	if (files_sandbox_is_loose())
		return; /* a sanitizer reserves terabytes */
	status = run(take_too_much_memory);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

static int make_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static int execute(void)
{
	char *argv[] = { "true", NULL };

	return execve("/bin/true", argv, argv);
}

static int trace(void)
{
	return (int)syscall(SYS_ptrace, 0, 0, 0, 0);
}

static int open_file(void)
{
	return open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES ? 0 : 1;
}

static int write_to_file(void)
{
	return write(3, "x", 1) == 1;
}

static int map_file(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) == MAP_FAILED;
}

static int map_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

static int make_code(void)
{
	return mprotect((void *)((uintptr_t)make_code & ~4095ul), 4096, PROT_READ | PROT_EXEC);
}

static int fork_again(void)
{
	return fork() == 0;
}

static int kill_parent(void)
{
	return kill(getppid(), 0);
}

static int change_flags(void)
{
	return fcntl(3, F_SETFL, O_NONBLOCK);
}

/* The first three also under a sanitizer, which needs the others for itself. */
static inside_fn *const forbidden[] = { make_socket, execute,	  trace,     write_to_file,
					map_file,    map_code,	  make_code, fork_again,
					kill_parent, change_flags };

START_TEST(anything_else_ends_the_worker)
{
	int status;

	if (files_sandbox_is_loose() && _i >= 3)
		return;
	status = run(forbidden[_i]);
	ck_assert_msg(WIFSIGNALED(status), "exit status %d", WEXITSTATUS(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSYS);
}
END_TEST

/* libdw tries to, and goes on without. */
START_TEST(no_file_is_opened_by_its_name)
{
	int status;

	if (files_sandbox_is_loose())
		return;
	status = run(open_file);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	status = run_tables(open_file);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(WTERMSIG(status), SIGSYS);
}
END_TEST

/* ---- the one that makes tables ---- */

static int write_table(void)
{
	return pwrite(3, "x", 1, 0) == 1 ? 0 : 1;
}

static int write_too_much(void)
{
	return pwrite(3, "x", 1, 1l << 30) < 0;
}

static int grow_file(void)
{
	return ftruncate(3, 4096);
}

START_TEST(tables_are_written_and_their_files_bounded)
{
	struct stat st;
	int status;

	memfd = memfd_create("table", MFD_CLOEXEC);
	status = run_tables(write_table);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	ck_assert_int_eq(fstat(memfd, &st), 0);
	ck_assert_int_eq(st.st_size, 1);
	if (!files_sandbox_is_loose()) {
		status = run_tables(write_too_much);
		ck_assert(WIFSIGNALED(status));
		ck_assert_int_eq(WTERMSIG(status), SIGXFSZ);
		status = run_tables(grow_file);
		ck_assert(WIFSIGNALED(status));
		ck_assert_int_eq(WTERMSIG(status), SIGSYS);
		status = run(write_table);
		ck_assert(WIFSIGNALED(status));
		ck_assert_int_eq(WTERMSIG(status), SIGSYS);
	}
	close(memfd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("files_sandbox");
	TCase *tc = tcase_create("files_sandbox");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, what_the_worker_needs_works, 0,
			    sizeof(allowed) / sizeof(allowed[0]));
	tcase_add_test(tc, memory_is_bounded);
	tcase_add_loop_test(tc, anything_else_ends_the_worker, 0,
			    sizeof(forbidden) / sizeof(forbidden[0]));
	tcase_add_test(tc, no_file_is_opened_by_its_name);
	tcase_add_test(tc, tables_are_written_and_their_files_bounded);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
