/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole symbolizer with its real worker: this program executes itself as
 * one. Files are read, files are broken, and the worker is stopped and killed.
 */
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "event_loop.h"
#include "symbolize/files_protocol.h"
#include "symbolize/files_worker.h"
#include "symbolize/kallsyms.h"
#include "symbolize/modules.h"
#include "symbolize/symbolizer.h"

#define LIBC_SIZE_MIN (256 * 1024)

void cxx_function(int x) __asm__("_ZN5space8functionEi");
void rust_function(void) __asm__("_ZN7mycrate6module8function17h0123456789abcdefE");
void plain_function(void);
extern const char plain_variable[];
const char plain_variable[] = "its content";

__attribute__((noinline)) void cxx_function(int x)
{
	__asm__ volatile("" : : "r"(x));
}

__attribute__((noinline)) void rust_function(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline)) void plain_function(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

static struct event_loop *loop;
static struct symbolizer *sym;
static char dir[64];
static uint64_t now;

static void setup(void)
{
	strcpy(dir, "/tmp/symbolizer-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	now = boot_ns();
	ck_assert_int_eq(event_loop_new(&loop), 0);
	ck_assert_int_eq(symbolizer_new(&sym), 0);
}

static void teardown(void)
{
	char command[96];

	symbolizer_free(sym);
	event_loop_free(loop);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void start(void)
{
	ck_assert_int_eq(symbolizer_start(sym, loop), 0);
}

/* ---- waiting for conditions ---- */

typedef bool condition_fn(void *ctx);

struct wait {
	condition_fn *fn;
	void *ctx;
};

static int check_condition(void *ctx, uint32_t events)
{
	struct wait *w = ctx;

	(void)events;
	return w->fn(w->ctx) ? -ECANCELED : 0;
}

static void wait_until(condition_fn *fn, void *ctx)
{
	struct wait w = { fn, ctx };
	struct event_source *timer;

	ck_assert_int_eq(event_loop_add_timer(loop, NS_PER_MS, check_condition, &w, &timer), 0);
	ck_assert_int_eq(event_loop_run(loop), -ECANCELED);
	event_source_free(timer);
}

static bool is_ready(void *ctx)
{
	return ((struct location *)ctx)->ready;
}

static void wait_for(struct location *loc)
{
	wait_until(is_ready, loc);
}

struct locations {
	struct location **items;
	size_t n;
};

static bool are_ready(void *ctx)
{
	struct locations *l = ctx;

	while (l->n > 0 && l->items[l->n - 1]->ready)
		l->n--;
	return l->n == 0;
}

static void wait_for_all(struct location **items, size_t n)
{
	struct locations l = { items, n };

	wait_until(are_ready, &l);
}

static bool is_other_worker(void *ctx)
{
	pid_t pid = symbolizer_worker_pid(sym);

	return pid != 0 && pid != *(pid_t *)ctx;
}

static uint64_t n_restarts(void)
{
	struct symbolizer_stats st;

	symbolizer_stats(sym, &st);
	return st.n_worker_restarts;
}

static uint64_t n_failed(void)
{
	struct symbolizer_stats st;

	symbolizer_stats(sym, &st);
	return st.n_files_failed;
}

/* Stopped, it has taken nothing of what we ask from here on. */
static pid_t stop_worker(void)
{
	pid_t pid = symbolizer_worker_pid(sym);
	siginfo_t si;

	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOWAIT), 0);
	return pid;
}

/* ---- files ---- */

static const char *libc_path(void)
{
	Dl_info info;

	ck_assert_int_ne(dladdr((void *)(uintptr_t)gnu_get_libc_version, &info), 0);
	return info.dli_fname;
}

static struct module *module_of(const char *path, const char *shown)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct module *m;

	ck_assert_msg(fd >= 0, "%s: %m", path);
	ck_assert_int_eq(symbolizer_module(sym, fd, shown, &m), 0);
	return m;
}

static void write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, len), (ssize_t)len);
	close(fd);
}

static void *read_whole(const char *path, size_t *ret_len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	data = malloc((size_t)st.st_size);
	ck_assert_ptr_nonnull(data);
	ck_assert_int_eq(read(fd, data, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return data;
}

/* A file of its own with the content of libc, so its functions are known. */
static struct module *copy_of_libc(const char *name)
{
	char path[128];
	size_t len;
	void *data = read_whole(libc_path(), &len);

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	write_file(path, data, len);
	free(data);
	return module_of(path, path);
}

/* The offset in its file of code in this process. */
static uint64_t offset_of(uintptr_t pc)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t offset = UINT64_MAX;
	unsigned long long off;
	uintptr_t lo, hi;
	char line[512];

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %llx", &lo, &hi, &off) == 3 && pc >= lo && pc < hi)
			offset = pc - lo + off;
	fclose(maps);
	ck_assert_uint_ne(offset, UINT64_MAX);
	return offset;
}

static uint64_t version_offset(void)
{
	return offset_of((uintptr_t)gnu_get_libc_version);
}

static struct location *locate(struct module *m, uint64_t offset)
{
	struct location *loc = symbolizer_locate(sym, m, offset);

	ck_assert_ptr_nonnull(loc);
	symbolizer_ask(sym);
	return loc;
}

/* ---- names ---- */

START_TEST(a_function_of_this_program_has_its_name)
{
	struct module *m = module_of("/proc/self/exe", "/usr/bin/shown");
	uint64_t offset = offset_of((uintptr_t)plain_function);
	struct location *loc = locate(m, offset), *inside = locate(m, offset + 1);
	Dl_info info;

	start();
	wait_for(loc);
	wait_for(inside);
	ck_assert_str_eq(loc->function, "plain_function");
	ck_assert(loc->has_symbol);
	ck_assert_uint_eq(loc->kind, LOCATION_NATIVE);
	ck_assert_int_ne(dladdr((void *)(uintptr_t)plain_function, &info), 0);
	ck_assert_uint_eq(loc->rel_pc, (uintptr_t)plain_function - (uintptr_t)info.dli_fbase);
	ck_assert_ptr_eq(loc->module, m);
	ck_assert_str_eq(m->path, "/usr/bin/shown");
	ck_assert_uint_eq(m->build_id_len, 20);
	/* Another place in it is another location with the same name. */
	ck_assert_uint_ne(inside->id, loc->id);
	ck_assert_ptr_eq(inside->function, loc->function);
	ck_assert_ptr_eq(locate(m, offset), loc);
}
END_TEST

START_TEST(cxx_and_rust_names_are_readable)
{
	struct module *m = module_of("/proc/self/exe", "exe");
	struct location *cxx = locate(m, offset_of((uintptr_t)cxx_function));
	struct location *rust = locate(m, offset_of((uintptr_t)rust_function));

	start();
	wait_for(cxx);
	wait_for(rust);
	ck_assert_str_eq(cxx->function, "space::function(int)");
	ck_assert_str_eq(rust->function, "mycrate::module::function");
}
END_TEST

/* What was said about the variables of a file. */
struct objects {
	bool is_answered, is_readable;
	struct files_objects objects;
};

static void take_objects(void *ctx, const struct module *module,
			 const struct files_objects *objects)
{
	struct objects *o = ctx;

	ck_assert_ptr_nonnull(module);
	o->is_answered = true;
	o->is_readable = objects != NULL;
	if (objects)
		o->objects = *objects;
}

static bool is_answered(void *ctx)
{
	return ((struct objects *)ctx)->is_answered;
}

START_TEST(variables_of_a_file_are_told)
{
	static const char *const names[] = { "plain_variable", "no_such_variable" };
	struct objects program = { 0 }, text = { 0 }, pseudo = { 0 };
	char path[128];

	start();
	symbolizer_ask_objects(sym, module_of("/proc/self/exe", "exe"), names, 2, take_objects,
			       &program);
	snprintf(path, sizeof(path), "%s/text", dir);
	write_file(path, "no ELF", 6);
	symbolizer_ask_objects(sym, module_of(path, path), names, 1, take_objects, &text);
	symbolizer_ask_objects(sym, symbolizer_pseudo_module(sym, "[pseudo]"), names, 1,
			       take_objects, &pseudo);
	wait_until(is_answered, &program);
	wait_until(is_answered, &text);
	ck_assert(pseudo.is_answered && !pseudo.is_readable);
	ck_assert(!text.is_readable);
	ck_assert(program.is_readable);
	ck_assert_str_eq((const char *)program.objects.objects[0].bytes, plain_variable);
	ck_assert_uint_eq(program.objects.objects[1].vaddr, 0);
	ck_assert_uint_gt(program.objects.text_size, 0);
}
END_TEST

struct functions {
	bool is_answered, is_readable;
	size_t n;
	uint64_t offsets[4];
};

static void take_functions(void *ctx, const uint64_t *offsets, size_t n)
{
	struct functions *f = ctx;

	f->is_answered = true;
	f->is_readable = offsets != NULL;
	f->n = n;
	if (offsets)
		memcpy(f->offsets, offsets, n * sizeof(*offsets));
}

/* Waited for without the event loop; what is at an offset is the function's code. */
START_TEST(functions_of_a_file_are_found)
{
	static const char *const names[] = { "plain_function", "no_such_function", "plain_variable",
					     "main" };
	struct functions program = { 0 }, text = { 0 }, pseudo = { 0 };
	uint8_t code[16];
	char path[128];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	start();
	symbolizer_ask_functions(sym, module_of("/proc/self/exe", "exe"), names, 4, take_functions,
				 &program);
	snprintf(path, sizeof(path), "%s/text", dir);
	write_file(path, "no ELF", 6);
	symbolizer_ask_functions(sym, module_of(path, path), names, 1, take_functions, &text);
	symbolizer_ask_functions(sym, symbolizer_pseudo_module(sym, "[pseudo]"), names, 1,
				 take_functions, &pseudo);
	symbolizer_wait(sym, 60 * NS_PER_SEC);
	ck_assert(program.is_answered && text.is_answered);
	ck_assert(pseudo.is_answered && !pseudo.is_readable);
	ck_assert(!text.is_readable);
	ck_assert(program.is_readable);
	ck_assert_uint_eq(program.n, 4);
	ck_assert_int_eq(pread(fd, code, sizeof(code), (off_t)program.offsets[0]), sizeof(code));
	ck_assert_mem_eq(code, (const void *)(uintptr_t)plain_function, sizeof(code));
	ck_assert_uint_eq(program.offsets[1], 0);
	ck_assert_uint_eq(program.offsets[2], 0);
	ck_assert_uint_gt(program.offsets[3], 0);
	symbolizer_wait(sym, 60 * NS_PER_SEC); /* for nothing: at once */
	close(fd);
}
END_TEST

START_TEST(lines_of_interpreted_functions_are_ready_at_once)
{
	struct module *m = symbolizer_pseudo_module(sym, "[python]");
	struct location *a = symbolizer_locate_line(sym, m, 1, "f", "/x.py", 3);
	struct location *b = symbolizer_locate_line(sym, m, 1, "f", "/x.py", 4);
	struct location *c = symbolizer_locate_line(sym, m, 2, "g", "/x.py", 3);

	ck_assert(a->ready && b->ready && c->ready);
	ck_assert(a != b && a != c);
	ck_assert_ptr_eq(symbolizer_locate_line(sym, m, 1, "f", "/x.py", 3), a);
	ck_assert_uint_eq(a->kind, LOCATION_INTERPRETED);
	ck_assert_str_eq(c->function, "g");
	ck_assert_str_eq(b->file, "/x.py");
	ck_assert_uint_eq(b->line, 4);
}
END_TEST

START_TEST(the_vdso_has_names)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
	uintptr_t image = getauxval(AT_SYSINFO_EHDR), pc;
	struct location *loc;
	struct module *m;

	ck_assert_ptr_nonnull(vdso);
	pc = (uintptr_t)dlsym(vdso, "__vdso_clock_gettime");
	if (!pc)
		pc = (uintptr_t)dlsym(vdso, "__kernel_clock_gettime");
	ck_assert_uint_gt(pc, image);
	m = symbolizer_vdso(sym);
	ck_assert_ptr_nonnull(m);
	ck_assert_str_eq(m->path, "[vdso]");
	ck_assert_ptr_eq(symbolizer_vdso(sym), m);
	loc = locate(m, pc - image);
	start();
	wait_for(loc);
	ck_assert_ptr_nonnull(strstr(loc->function, "clock_gettime"));
	loc = locate(m, 1);
	wait_for(loc);
	ck_assert_str_eq(loc->function, "[vdso+0x1]");
}
END_TEST

START_TEST(thousands_of_locations_of_many_files_are_all_answered)
{
	enum { N_FILES = 8, N = 3000 };
	struct location **locs = calloc(N_FILES * N, sizeof(*locs));
	uint64_t offset = version_offset();
	struct symbolizer_stats st;
	char name[16];

	ck_assert_ptr_nonnull(locs);
	start();
	for (int f = 0; f < N_FILES; f++) {
		struct module *m;

		snprintf(name, sizeof(name), "lib%d", f);
		m = copy_of_libc(name);
		for (int i = 0; i < N; i++)
			locs[f * N + i] = locate(m, offset + 16 * (uint64_t)i);
	}
	wait_for_all(locs, N_FILES * N);
	for (int f = 0; f < N_FILES; f++) {
		ck_assert_str_eq(locs[f * N]->function, "gnu_get_libc_version");
		ck_assert_uint_eq(locs[f * N]->module->build_id_len, 20);
	}
	symbolizer_stats(sym, &st);
	ck_assert_uint_eq(st.n_files, N_FILES);
	ck_assert_uint_eq(st.n_locations, N_FILES * N);
	ck_assert_uint_eq(st.n_files_failed, 0);
	ck_assert_uint_eq(st.n_worker_restarts, 0);
	ck_assert_uint_eq(st.n_over_cap, 0);
	free(locs);
}
END_TEST

START_TEST(a_stripped_file_has_offsets_and_a_build_id)
{
	char path[128], command[256], expected[64];
	struct location *loc;
	struct module *m;

	snprintf(path, sizeof(path), "%s/stripped", dir);
	snprintf(command, sizeof(command), "strip -o %s /proc/%d/exe", path, (int)getpid());
	ck_assert_int_eq(system(command), 0);
	m = module_of(path, path);
	loc = locate(m, offset_of((uintptr_t)plain_function));
	start();
	wait_for(loc);
	snprintf(expected, sizeof(expected), "[stripped+0x%llx]", (unsigned long long)loc->rel_pc);
	ck_assert_str_eq(loc->function, expected);
	ck_assert(!loc->has_symbol);
	ck_assert_uint_eq(m->build_id_len, 20);
	ck_assert_uint_eq(n_failed(), 0);
}
END_TEST

/* ---- files that are none, or broken ---- */

static void check_broken(const char *name, const void *data, size_t len)
{
	char path[128], expected[64];
	uint64_t failed = n_failed();
	struct location *loc;
	struct module *m;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	write_file(path, data, len);
	m = module_of(path, path);
	loc = locate(m, 0x123);
	wait_for(loc);
	snprintf(expected, sizeof(expected), "[%s+0x123]", name);
	ck_assert_str_eq(loc->function, expected);
	ck_assert(!loc->has_symbol);
	ck_assert_uint_eq(loc->rel_pc, 0x123);
	ck_assert_uint_eq(m->build_id_len, 0);
	ck_assert_uint_eq(n_failed(), failed + 1);
	/* It is not read again, not even through another descriptor. */
	ck_assert_ptr_eq(module_of(path, path), m);
	ck_assert(locate(m, 0x124)->ready);
}

START_TEST(files_that_cannot_be_read_as_code_read_as_offsets)
{
	uint8_t random_bytes[4096];
	size_t len;
	uint8_t *data = read_whole(libc_path(), &len);

	start();
	srandom(1);
	for (size_t i = 0; i < sizeof(random_bytes); i++)
		random_bytes[i] = (uint8_t)random();
	check_broken("empty", "", 0);
	check_broken("random", random_bytes, sizeof(random_bytes));
	check_broken("script", "#!/bin/sh\n", 10);
	check_broken("head", data, 60);
	data[5] = 2; /* EI_DATA */
	check_broken("foreign", data, len);
	ck_assert_uint_eq(n_restarts(), 0);
	free(data);
}
END_TEST

START_TEST(a_file_cut_short_is_answered)
{
	char path[128];
	size_t len;
	void *data = read_whole(libc_path(), &len);
	struct module *m;
	struct location *loc;

	start();
	for (unsigned i = 1; i < 16; i++) {
		snprintf(path, sizeof(path), "%s/cut%u", dir, i);
		write_file(path, data, len * i / 16);
		m = module_of(path, path);
		loc = locate(m, version_offset());
		wait_for(loc);
		ck_assert_ptr_nonnull(loc->function);
	}
	ck_assert_uint_eq(n_restarts(), 0);
	free(data);
}
END_TEST

/* Another process rewrites the file all the time: what is mapped would be SIGBUS. */
START_TEST(a_file_truncated_while_it_is_read_does_not_hurt)
{
	char path[128];
	size_t len;
	void *data = read_whole(libc_path(), &len);
	pid_t pid, writer;

	snprintf(path, sizeof(path), "%s/changing", dir);
	write_file(path, data, len);
	start();
	pid = symbolizer_worker_pid(sym);
	writer = fork();
	ck_assert_int_ge(writer, 0);
	if (writer == 0) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);

		for (unsigned i = 0; fd >= 0; i++)
			if (ftruncate(fd, (off_t)(len / 7 * (i % 7))) < 0 ||
			    pwrite(fd, data, len, 0) < 0)
				break;
		_exit(1);
	}
	for (unsigned i = 0; i < 200; i++) {
		struct location *loc = locate(module_of(path, path), version_offset());

		wait_for(loc);
		ck_assert_ptr_nonnull(loc->function);
	}
	ck_assert_int_eq(kill(writer, SIGKILL), 0);
	ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
	ck_assert_int_eq(symbolizer_worker_pid(sym), pid);
	ck_assert_uint_eq(n_restarts(), 0);
	free(data);
}
END_TEST

START_TEST(what_is_no_regular_file_is_never_read)
{
	char path[128];
	struct location *loc;

	snprintf(path, sizeof(path), "%s/fifo", dir);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	loc = locate(module_of(path, "/some/fifo"), 0x1000);
	ck_assert(loc->ready); /* before there is anybody to answer */
	ck_assert_str_eq(loc->function, "/some/fifo");
	loc = locate(module_of("/dev/zero", "/dev/zero"), 0x1000);
	ck_assert(loc->ready);
	ck_assert_str_eq(loc->function, "/dev/zero");
	ck_assert_uint_eq(loc->rel_pc, 0);
}
END_TEST

START_TEST(a_pseudo_module_has_one_location)
{
	struct module *m = symbolizer_pseudo_module(sym, "[anon:exec]");
	struct location *loc;

	ck_assert_ptr_nonnull(m);
	loc = locate(m, 0x1234);
	ck_assert_ptr_eq(locate(m, 0x777), loc);
	ck_assert_ptr_eq(symbolizer_pseudo_module(sym, "[anon:exec]"), m);
	ck_assert(loc->ready);
	ck_assert(!loc->has_symbol);
	ck_assert_str_eq(loc->function, "[anon:exec]");
	ck_assert_uint_eq(loc->rel_pc, 0);
	ck_assert_uint_eq(loc->kind, LOCATION_JIT);
	loc = locate(symbolizer_pseudo_module(sym, "[unknown]"), 1);
	ck_assert_str_eq(loc->function, "[unknown]");
	ck_assert_uint_eq(loc->kind, LOCATION_NATIVE);
}
END_TEST

/* ---- the worker's death ---- */

START_TEST(requests_pending_when_the_worker_is_killed_are_answered)
{
	enum { N_FILES = 6, N = 200 };
	struct location *locs[N_FILES * N];
	uint64_t offset = version_offset();
	pid_t pid;
	char name[16];

	start();
	/* Let it be there before it is stopped. */
	wait_for(locate(copy_of_libc("first"), offset));
	pid = stop_worker();
	for (int f = 0; f < N_FILES; f++) {
		struct module *m;

		snprintf(name, sizeof(name), "lib%d", f);
		m = copy_of_libc(name);
		for (int i = 0; i < N; i++)
			locs[f * N + i] = locate(m, offset + (uint64_t)i);
	}
	ck_assert(!locs[0]->ready);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	wait_for_all(locs, N_FILES * N);
	/* Killed from outside, once: nobody is to blame, everything has its name. */
	for (int f = 0; f < N_FILES; f++)
		ck_assert_str_eq(locs[f * N]->function, "gnu_get_libc_version");
	ck_assert_uint_eq(n_failed(), 0);
	ck_assert_uint_eq(n_restarts(), 1);
	ck_assert_int_ne(symbolizer_worker_pid(sym), pid);
}
END_TEST

/* As if the file had made it crash: it dies with the first request unanswered. */
static void crash_on(struct location *victim)
{
	pid_t pid = symbolizer_worker_pid(sym);

	ck_assert(!victim->ready);
	ck_assert_int_eq(kill(pid, SIGABRT), 0);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	wait_for(victim);
}

START_TEST(a_file_that_kills_the_worker_is_not_tried_again)
{
	uint64_t offset = version_offset();
	struct module *bad, *good;
	struct location *bad_loc, *more, *good_loc;
	pid_t pid;

	start();
	wait_for(locate(copy_of_libc("first"), offset));
	bad = copy_of_libc("bad");
	good = copy_of_libc("good");
	stop_worker();
	bad_loc = locate(bad, offset);
	good_loc = locate(good, offset);
	more = locate(bad, offset + 1); /* already sent, too */
	crash_on(bad_loc);
	wait_for(good_loc);
	wait_for(more);
	ck_assert(!bad_loc->has_symbol);
	ck_assert_int_eq(strncmp(bad_loc->function, "[bad+0x", 7), 0);
	ck_assert(!more->has_symbol);
	ck_assert_str_eq(good_loc->function, "gnu_get_libc_version");
	ck_assert_uint_eq(n_failed(), 1);
	ck_assert_uint_eq(n_restarts(), 1);
	/* A new place in it is answered without the worker. */
	pid = symbolizer_worker_pid(sym);
	ck_assert(locate(bad, offset + 2)->ready);
	ck_assert_int_eq(symbolizer_worker_pid(sym), pid);
}
END_TEST

static void pass_seconds(unsigned n)
{
	while (n-- > 0)
		symbolizer_collect(sym, now += NS_PER_SEC);
}

START_TEST(a_worker_that_hangs_is_replaced)
{
	uint64_t offset = version_offset();
	struct location *bad_loc, *good_loc;
	pid_t pid;

	start();
	wait_for(locate(copy_of_libc("first"), offset));
	pid = stop_worker();
	bad_loc = locate(copy_of_libc("bad"), offset);
	good_loc = locate(copy_of_libc("good"), offset);
	pass_seconds(FILES_DEADLINE_S);
	ck_assert(!bad_loc->ready); /* it has its deadline, and some more */
	ck_assert_uint_eq(n_restarts(), 0);
	pass_seconds(4);
	wait_for(bad_loc);
	wait_for(good_loc);
	ck_assert_int_eq(strncmp(bad_loc->function, "[bad+0x", 7), 0);
	ck_assert_str_eq(good_loc->function, "gnu_get_libc_version");
	ck_assert_uint_eq(n_restarts(), 1);
	ck_assert_int_ne(symbolizer_worker_pid(sym), pid);
}
END_TEST

START_TEST(what_waits_behind_a_slow_file_is_answered_by_another_worker)
{
	enum { N = 12 }; /* more than are on their way at a time */
	uint64_t offset = version_offset();
	struct location *slow[2], *good[N];
	struct module *m;
	pid_t pid;
	char name[16];

	start();
	wait_for(locate(copy_of_libc("first"), offset));
	pid = stop_worker();
	m = copy_of_libc("slow");
	slow[0] = locate(m, offset);
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "lib%d", i);
		good[i] = locate(copy_of_libc(name), offset);
	}
	slow[1] = locate(m, offset + 1);
	wait_for_all(good, N);
	for (int i = 0; i < N; i++)
		ck_assert_str_eq(good[i]->function, "gnu_get_libc_version");
	ck_assert(!slow[0]->ready && !slow[1]->ready);
	ck_assert_int_gt(symbolizer_second_worker_pid(sym), 0);
	ck_assert_int_eq(symbolizer_worker_pid(sym), pid);

	/* Also what comes while it is slow. */
	good[0] = locate(copy_of_libc("later"), offset);
	wait_for(good[0]);
	ck_assert(!slow[0]->ready);

	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	wait_for_all(slow, 2);
	ck_assert_str_eq(slow[0]->function, "gnu_get_libc_version");
	ck_assert_str_eq(slow[1]->function, "gnu_get_libc_version");
	/* What it answers now for others is heard by nobody, and it goes on. */
	good[0] = locate(copy_of_libc("last"), offset);
	wait_for(good[0]);
	ck_assert_str_eq(good[0]->function, "gnu_get_libc_version");
	ck_assert_int_eq(symbolizer_worker_pid(sym), pid);
	ck_assert_uint_eq(n_restarts(), 0);
	ck_assert_uint_eq(n_failed(), 0);
}
END_TEST

static bool has_second_worker(void *ctx)
{
	(void)ctx;
	return symbolizer_second_worker_pid(sym) != 0;
}

START_TEST(a_slow_file_that_kills_its_worker_costs_only_itself)
{
	uint64_t offset = version_offset();
	struct location *slow, *good;
	pid_t pid;

	start();
	wait_for(locate(copy_of_libc("first"), offset));
	pid = stop_worker();
	slow = locate(copy_of_libc("slow"), offset);
	good = locate(copy_of_libc("good"), offset);
	wait_for(good);
	ck_assert_int_eq(kill(pid, SIGABRT), 0);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	wait_for(slow);
	ck_assert(!slow->has_symbol);
	ck_assert_str_eq(good->function, "gnu_get_libc_version");
	ck_assert_uint_eq(n_failed(), 1);
	ck_assert_uint_eq(n_restarts(), 1);
	good = locate(copy_of_libc("next"), offset);
	wait_for(good);
	ck_assert_str_eq(good->function, "gnu_get_libc_version");
}
END_TEST

START_TEST(the_second_worker_goes_when_it_is_not_needed)
{
	uint64_t offset = version_offset();
	struct location *slow;
	pid_t pid;

	start();
	wait_for(locate(copy_of_libc("first"), offset));
	for (int i = 0; i < 2; i++) {
		pid = stop_worker();
		slow = locate(copy_of_libc(i ? "other" : "slow"), offset);
		wait_until(has_second_worker, NULL);
		ck_assert_int_eq(kill(pid, SIGCONT), 0);
		wait_for(slow);
		if (i == 0)
			symbolizer_rest(sym);
		else
			symbolizer_collect(sym, now = boot_ns() + 60 * NS_PER_SEC);
		ck_assert_int_eq(symbolizer_second_worker_pid(sym), 0);
	}
	ck_assert_uint_eq(n_restarts(), 0);
}
END_TEST

/*
 * A file made to be slow: 200,000 names of 64 KiB at one address, which have to
 * be compared to find the best.
 */
static void write_slow_file(const char *path)
{
	enum { N = 1000 * 1000, NAME = 64 * 1024 }; /* half a minute on a fast machine */
	Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(eh),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4,
		.e_shoff = sizeof(eh),
	};
	Elf64_Shdr sh[4] = {
		[1] = { .sh_type = SHT_PROGBITS, .sh_addr = 0x1000, .sh_size = 0x1000 },
		[2] = { .sh_type = SHT_SYMTAB,
			.sh_link = 3,
			.sh_entsize = sizeof(Elf64_Sym),
			.sh_offset = sizeof(eh) + sizeof(sh),
			.sh_size = N * sizeof(Elf64_Sym) },
		[3] = { .sh_type = SHT_STRTAB,
			.sh_size = NAME,
			.sh_offset = sizeof(eh) + sizeof(sh) + N * sizeof(Elf64_Sym) },
	};
	size_t len = sh[3].sh_offset + NAME;
	uint8_t *bytes = calloc(1, len);
	Elf64_Sym *syms = calloc(N, sizeof(*syms));

	ck_assert(bytes && syms);
	for (size_t i = 0; i < N; i++)
		syms[i] = (Elf64_Sym){ .st_name = 1 + i % 16,
				       .st_shndx = 1,
				       .st_value = 0x1100,
				       .st_size = 16,
				       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };
	memcpy(bytes, &eh, sizeof(eh));
	memcpy(bytes + sizeof(eh), sh, sizeof(sh));
	memcpy(bytes + sh[2].sh_offset, syms, N * sizeof(*syms));
	memset(bytes + sh[3].sh_offset + 1, 'x', NAME - 2);
	write_file(path, bytes, len);
	free(syms);
	free(bytes);
}

/* It computes: far more than it takes to start. */
static bool is_at_work_or_done(void *ctx)
{
	struct location *loc = ctx;
	unsigned long long ticks = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)symbolizer_worker_pid(sym));
	f = fopen(path, "r");
	if (f) {
		if (fscanf(f, "%*d (%*[^)]) %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
			   &ticks) != 1)
			ticks = 0;
		fclose(f);
	}
	return loc->ready || ticks >= 30;
}

START_TEST(a_file_under_which_the_worker_is_killed_twice_is_given_up)
{
	struct location *loc;
	char path[128];
	pid_t pid;

	start();
	wait_for(locate(copy_of_libc("first"), version_offset()));
	pid = stop_worker();
	snprintf(path, sizeof(path), "%s/slow", dir);
	write_slow_file(path);
	loc = locate(module_of(path, path), 0x1100);
	ck_assert_int_eq(kill(pid, SIGKILL), 0); /* perhaps for lack of memory */
	wait_until(is_other_worker, &pid);
	ck_assert(!loc->ready);
	wait_until(is_at_work_or_done, loc);
	if (!loc->ready)
		ck_assert_int_eq(kill(symbolizer_worker_pid(sym), SIGKILL), 0);
	wait_for(loc);
	ck_assert_str_eq(loc->function, "[slow+0x1100]");
	ck_assert_uint_eq(n_failed(), 1);
	ck_assert_uint_eq(n_restarts(), 2);
}
END_TEST

START_TEST(a_file_that_takes_too_long_is_given_up)
{
	struct location *loc, *good;
	char path[128];

	start();
	snprintf(path, sizeof(path), "%s/slow", dir);
	write_slow_file(path);
	loc = locate(module_of(path, path), 0x1100);
	good = locate(copy_of_libc("good"), version_offset());
	wait_for(loc); /* nobody calls symbolizer_collect(): the worker ends by itself */
	wait_for(good);
	ck_assert_str_eq(loc->function, "[slow+0x1100]");
	ck_assert_str_eq(good->function, "gnu_get_libc_version");
	ck_assert_uint_eq(n_failed(), 1);
	ck_assert_uint_eq(n_restarts(), 1);
}
END_TEST

START_TEST(time_in_which_we_did_not_run_is_not_held_against_the_worker)
{
	struct location *loc;
	pid_t pid;

	start();
	wait_for(locate(copy_of_libc("first"), version_offset()));
	pid = stop_worker();
	loc = locate(copy_of_libc("good"), version_offset());
	pass_seconds(2);
	symbolizer_collect(sym, now += 3600 * NS_PER_SEC); /* suspended for an hour */
	symbolizer_collect(sym, now += 3600 * NS_PER_SEC);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	wait_for(loc);
	ck_assert_str_eq(loc->function, "gnu_get_libc_version");
	ck_assert_int_eq(symbolizer_worker_pid(sym), pid);
}
END_TEST

/* We do not look at its end, as if it hung in the kernel. */
START_TEST(a_worker_that_does_not_even_die_is_left_behind)
{
	struct location *loc, *good;
	pid_t pid;

	start();
	wait_for(locate(copy_of_libc("first"), version_offset()));
	pid = stop_worker();
	loc = locate(copy_of_libc("bad"), version_offset());
	good = locate(copy_of_libc("good"), version_offset());
	pass_seconds(FILES_DEADLINE_S + 8);
	ck_assert_int_ne(symbolizer_worker_pid(sym), pid);
	ck_assert(loc->ready);
	wait_for(good);
	ck_assert_str_eq(good->function, "gnu_get_libc_version");
	/* In the end it is collected all the same: no zombie stays. */
	while (waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0)
		pass_seconds(1);
	ck_assert_int_eq(errno, ECHILD);
}
END_TEST

START_TEST(a_series_of_killers_is_slowed_down)
{
	uint64_t offset = version_offset();
	unsigned n_without = 0;
	char name[16];

	start();
	wait_for(locate(copy_of_libc("first"), offset));
	for (int i = 0; i < 24; i++) {
		struct location *loc;
		pid_t none = 0;

		if (symbolizer_worker_pid(sym) == 0) {
			n_without++;
			pass_seconds(1);
		}
		wait_until(is_other_worker, &none);
		snprintf(name, sizeof(name), "ok%d", i);
		wait_for(locate(copy_of_libc(name), offset)); /* it runs */
		snprintf(name, sizeof(name), "bad%d", i);
		stop_worker();
		loc = locate(copy_of_libc(name), offset);
		crash_on(loc);
	}
	ck_assert_uint_gt(n_without, 0);
	ck_assert_uint_lt(n_without, 20);
	ck_assert_uint_eq(n_failed(), 24);
}
END_TEST

START_TEST(without_a_descriptor_the_worker_answers_from_memory)
{
	uint64_t offset = version_offset();
	struct module *m = copy_of_libc("lib");
	struct location *loc;
	char path[128];
	pid_t pid;

	start();
	loc = locate(m, offset);
	wait_for(loc);
	/* All its processes have ended: the file is closed after a while. */
	module_hold(m);
	module_release(m);
	pass_seconds(31);
	loc = locate(m, offset + 1);
	wait_for(loc);
	ck_assert_str_eq(loc->function, "gnu_get_libc_version");
	/* A new worker knows nothing of it. */
	pid = symbolizer_worker_pid(sym);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	wait_until(is_other_worker, &pid);
	loc = locate(m, offset + 2);
	wait_for(loc);
	ck_assert_int_eq(strncmp(loc->function, "[lib+0x", 7), 0);
	ck_assert_uint_eq(n_failed(), 0);
	/* Somebody maps the file again. */
	snprintf(path, sizeof(path), "%s/lib", dir);
	ck_assert_ptr_eq(module_of(path, path), m);
	loc = locate(m, offset + 3);
	wait_for(loc);
	ck_assert_str_eq(loc->function, "gnu_get_libc_version");
}
END_TEST

START_TEST(the_worker_ignores_what_is_meant_for_the_daemon)
{
	struct location *loc;
	pid_t pid;

	start();
	wait_for(locate(copy_of_libc("first"), version_offset()));
	pid = symbolizer_worker_pid(sym);
	ck_assert_int_eq(kill(pid, SIGINT), 0);
	ck_assert_int_eq(kill(pid, SIGTERM), 0);
	ck_assert_int_eq(kill(pid, SIGHUP), 0);
	loc = locate(copy_of_libc("lib"), version_offset());
	wait_for(loc);
	ck_assert(loc->has_symbol);
	ck_assert_int_eq(symbolizer_worker_pid(sym), pid);
}
END_TEST

/* ---- no worker to be had ---- */

START_TEST(without_a_worker_everything_reads_as_offsets_until_there_is_one)
{
	struct module *m = copy_of_libc("lib");
	struct symbolizer *with = sym;
	struct rlimit rl, none;
	struct location *loc;
	int lowest = dup(0);

	/* No descriptor left, so no socket, so no worker. */
	ck_assert_int_ge(lowest, 0);
	close(lowest);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	none = (struct rlimit){ (rlim_t)lowest, rl.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(symbolizer_new(&sym), 0);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	symbolizer_free(with);

	start();
	ck_assert_int_eq(symbolizer_worker_pid(sym), 0);
	m = copy_of_libc("lib");
	loc = locate(m, version_offset());
	ck_assert(loc->ready);
	ck_assert_int_eq(strncmp(loc->function, "[lib+0x", 7), 0);
	pass_seconds(1);
	symbolizer_collect(sym, now += 60 * NS_PER_SEC);
	ck_assert_int_gt(symbolizer_worker_pid(sym), 0);
	loc = locate(m, version_offset() + 1);
	wait_for(loc);
	ck_assert_str_eq(loc->function, "gnu_get_libc_version");
}
END_TEST

START_TEST(what_still_waits_at_the_end_is_let_go)
{
	stop_worker();
	for (uint64_t i = 0; i < 1000; i++)
		locate(copy_of_libc("lib"), version_offset() + i);
	start(); /* teardown() frees it all; the leak checker looks */
}
END_TEST

/* ---- a worker that was taken over ---- */

static size_t forge(uint8_t *msg, uint64_t file_id, uint32_t seq, uint32_t n)
{
	struct files_reply_head h = { .file_id = file_id, .seq = seq, .n = n, .status = FILES_OK };
	struct files_entry_head e = { .flags = FILES_HAS_VADDR };

	memcpy(msg, &h, sizeof(h));
	for (uint32_t i = 0; i < n; i++)
		memcpy(msg + sizeof(h) + i * sizeof(e), &e, sizeof(e));
	return sizeof(h) + n * sizeof(e);
}

START_TEST(a_worker_that_talks_nonsense_is_replaced)
{
	uint64_t offset = version_offset();
	struct module *bad, *good;
	struct location *bad_loc, *good_loc;
	uint8_t msg[1024] = { 0 };
	struct files_reply_head ready = { .status = FILES_READY };
	size_t len = 0;
	pid_t pid;
	int pidfd, sock;

	start();
	wait_for(locate(copy_of_libc("first"), offset));
	bad = copy_of_libc("bad");
	good = copy_of_libc("good");
	pid = stop_worker();
	pidfd = pidfd_open(pid, 0);
	ck_assert_int_ge(pidfd, 0);
	/* Its own end of the socket; only root may take it, the worker is not dumpable. */
	sock = pidfd_getfd(pidfd, FILES_WORKER_FD, 0);
	close(pidfd);
	if (sock < 0) {
		ck_assert_int_ne(geteuid(), 0);
		ck_assert_int_eq(errno, EPERM);
		return;
	}
	bad_loc = locate(bad, offset); /* request 1: 0 was for the first file */
	good_loc = locate(good, offset);
	switch (_i) {
	case 0: /* no reply at all */
		len = 100;
		break;
	case 1: /* a second greeting */
		memcpy(msg, &ready, sizeof(ready));
		len = sizeof(ready);
		break;
	case 2: /* about another file */
		len = forge(msg, good->id, 1, 1);
		break;
	case 3: /* to another request */
		len = forge(msg, bad->id, 2, 1);
		break;
	case 4: /* more than was asked */
		len = forge(msg, bad->id, 1, 2);
		break;
	}
	ck_assert_int_eq(send(sock, msg, len, 0), (ssize_t)len);
	close(sock);
	wait_for(bad_loc);
	wait_for(good_loc);
	ck_assert(!bad_loc->has_symbol);
	ck_assert_str_eq(good_loc->function, "gnu_get_libc_version");
	ck_assert_uint_eq(n_restarts(), 1);
	ck_assert_uint_eq(n_failed(), 1);
}
END_TEST

/* ---- privileges ---- */

static void status_field(pid_t pid, const char *field, char *value, size_t size)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	value[0] = '\0';
	while (fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		if (strcmp(line, field) != 0)
			continue;
		snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, "\t "));
		value[strcspn(value, "\n")] = '\0';
	}
	fclose(f);
}

/* What follows needs CAP_SETGID, CAP_SETUID, CAP_SETPCAP; in a container root may lack them. */
static bool may_change_user(void)
{
	char value[64];

	status_field(getpid(), "CapEff", value, sizeof(value));
	return geteuid() == 0 && (strtoull(value, NULL, 16) >> 6 & 7) == 7;
}

START_TEST(the_worker_has_no_privileges)
{
	static const struct {
		const char *field, *value;
	} expected[] = {
		{ "Name", "tracer-files" },
		{ "NoNewPrivs", "1" },
		{ "Seccomp", "2" },
		{ "CapInh", "0000000000000000" },
		{ "CapPrm", "0000000000000000" },
		{ "CapEff", "0000000000000000" },
		{ "CapAmb", "0000000000000000" },
	};
	char value[256], path[64];
	unsigned n_fds = 0;
	struct dirent *d;
	pid_t pid;
	DIR *fds;

	start();
	wait_for(locate(copy_of_libc("first"), version_offset())); /* so it is in its sandbox */
	pid = symbolizer_worker_pid(sym);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		status_field(pid, expected[i].field, value, sizeof(value));
		ck_assert_msg(strcmp(value, expected[i].value) == 0, "%s is %s", expected[i].field,
			      value);
	}
	if (!may_change_user())
		return;
	status_field(pid, "Uid", value, sizeof(value));
	ck_assert_str_eq(value, "65534\t65534\t65534\t65534");
	status_field(pid, "Gid", value, sizeof(value));
	ck_assert_str_eq(value, "65534\t65534\t65534\t65534");
	status_field(pid, "Groups", value, sizeof(value));
	ck_assert_str_eq(value, "");
	status_field(pid, "CapBnd", value, sizeof(value));
	ck_assert_str_eq(value, "0000000000000000");
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	ck_assert_ptr_nonnull(fds);
	while ((d = readdir(fds)))
		n_fds += d->d_name[0] != '.';
	closedir(fds);
	ck_assert_uint_eq(n_fds, 4); /* /dev/null three times, and its socket */
}
END_TEST

START_TEST(the_worker_ends_with_the_daemon)
{
	int pipefd[2], pidfd;
	struct pollfd p;
	pid_t daemon, worker;

	ck_assert_int_eq(pipe(pipefd), 0);
	daemon = fork();
	ck_assert_int_ge(daemon, 0);
	if (daemon == 0) {
		struct symbolizer *own;

		if (symbolizer_new(&own) < 0)
			_exit(1);
		worker = symbolizer_worker_pid(own);
		if (write(pipefd[1], &worker, sizeof(worker)) != sizeof(worker))
			_exit(1);
		pause();
		_exit(1);
	}
	ck_assert_int_eq(read(pipefd[0], &worker, sizeof(worker)), sizeof(worker));
	pidfd = pidfd_open(worker, 0);
	ck_assert_int_ge(pidfd, 0);
	ck_assert_int_eq(kill(daemon, SIGKILL), 0);
	ck_assert_int_eq(waitpid(daemon, NULL, 0), daemon);
	p = (struct pollfd){ .fd = pidfd, .events = POLLIN };
	ck_assert_int_eq(poll(&p, 1, -1), 1); /* the test's own timeout ends it otherwise */
	close(pidfd);
	close(pipefd[0]);
	close(pipefd[1]);
}
END_TEST

/* ---- the kernel ---- */

START_TEST(kernel_code_has_names_at_once_or_reads_kernel)
{
	struct symbolizer_stats st;
	struct kallsyms *k;
	struct kallsyms_symbol s;
	struct location *loc;
	uint64_t stext;

	ck_assert_int_eq(kallsyms_new("/proc/kallsyms", now, &k), 0);
	stext = kallsyms_stext(k);
	if (kallsyms_hidden(k)) {
		loc = symbolizer_locate_kernel(sym, 0xffffffff81000000ull, now);
		ck_assert_str_eq(loc->function, "[kernel]");
		ck_assert(!loc->has_symbol);
		symbolizer_stats(sym, &st);
		ck_assert(st.kernel_hidden);
		kallsyms_free(k);
		return;
	}
	ck_assert(kallsyms_find(k, stext + 0x10000, &s));
	loc = symbolizer_locate_kernel(sym, s.start, now);
	ck_assert_ptr_nonnull(loc);
	ck_assert(loc->ready && loc->has_symbol);
	ck_assert_str_eq(loc->function, s.name);
	ck_assert_str_eq(loc->module->path, "kernel");
	ck_assert_uint_eq(loc->module->build_id_len, 0);
	ck_assert_uint_eq(loc->rel_pc, s.start - stext);
	ck_assert_uint_eq(loc->kind, LOCATION_KERNEL);
	ck_assert_ptr_eq(symbolizer_locate_kernel(sym, stext + 0x10000, now), loc);
	symbolizer_stats(sym, &st);
	ck_assert(!st.kernel_hidden);
	kallsyms_free(k);
}
END_TEST

START_TEST(an_unknown_kernel_address_reads_kernel)
{
	struct location *loc = symbolizer_locate_kernel(sym, 0xffff000000001000ull, now);

	ck_assert_ptr_nonnull(loc);
	ck_assert(loc->ready && !loc->has_symbol);
	ck_assert_str_eq(loc->function, "[kernel]");
	ck_assert_uint_eq(loc->kind, LOCATION_KERNEL);
	ck_assert_ptr_eq(symbolizer_locate_kernel(sym, 0x1000, now), loc);
}
END_TEST

/* ---- caps ---- */

START_TEST(unused_locations_go_beyond_the_cap_and_held_ones_stay)
{
	enum { N = 300 * 1000 };
	struct symbolizer_stats st;
	struct location *held;
	struct module *m;
	char path[128];

	start();
	snprintf(path, sizeof(path), "%s/broken", dir);
	write_file(path, "no elf", 6);
	m = module_of(path, path);
	wait_for(locate(m, 0));
	held = locate(m, 1);
	location_hold(held);
	for (uint64_t i = 2; i < N; i++)
		locate(m, i);
	symbolizer_stats(sym, &st);
	ck_assert_uint_eq(st.n_locations, N);
	pass_seconds(1);
	symbolizer_stats(sym, &st);
	ck_assert_uint_lt(st.n_locations, N);
	ck_assert_uint_gt(st.n_locations, N / 2);
	ck_assert_ptr_eq(locate(m, 1), held);
	ck_assert_str_eq(held->function, "[broken+0x1]");
	location_release(held);
}
END_TEST

START_TEST(too_many_waiting_locations_go_without_a_name_and_are_counted)
{
	struct symbolizer_stats st;
	struct location *loc = NULL;
	struct module *m;

	start();
	m = copy_of_libc("lib");
	wait_for(locate(m, version_offset()));
	stop_worker();
	for (uint64_t i = 0; i < 200 * 1000 && !(loc && loc->ready); i++)
		loc = locate(m, LIBC_SIZE_MIN + i);
	ck_assert(loc->ready);
	ck_assert_int_eq(strncmp(loc->function, "[lib+0x", 7), 0);
	symbolizer_stats(sym, &st);
	ck_assert_uint_eq(st.n_over_cap, 1);
	ck_assert_int_eq(kill(symbolizer_worker_pid(sym), SIGCONT), 0);
	wait_for(locate(m, LIBC_SIZE_MIN)); /* the others have theirs */
}
END_TEST

/* ---- debug files ---- */

static void run_in_dir(const char *what)
{
	char command[1024];

	snprintf(command, sizeof(command), "cd %s && umask 022 && { %s\n} >log 2>&1", dir, what);
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* A library with a function that it exports and one that it does not. */
static void make_library(const char *gcc_options)
{
	static const char source[] = "int hidden(int x) { __asm__ volatile(\"nop\"); return x; }\n"
				     "int shown(int x) { return hidden(x) + 1; }\n";
	static const char exports[] = "{ global: shown; local: *; };\n";
	char path[128], command[256];

	snprintf(path, sizeof(path), "%s/lib.c", dir);
	write_file(path, source, strlen(source));
	snprintf(path, sizeof(path), "%s/map", dir);
	write_file(path, exports, strlen(exports));
	snprintf(command, sizeof(command),
		 "gcc -O1 -fno-inline -g -shared -fPIC %s -Wl,--version-script=map -o whole lib.c",
		 gcc_options);
	run_in_dir(command);
	run_in_dir("mkdir -p opt usr/lib/debug/opt && objcopy --only-keep-debug whole lib.debug");
	run_in_dir("strip -o opt/lib whole && objcopy --add-gnu-debuglink=lib.debug opt/lib");
}

static uint64_t address_in_library(const char *function)
{
	unsigned long long addr = 0;
	char command[256];
	FILE *nm;

	snprintf(command, sizeof(command), "nm %s/whole | grep ' [tT] %s$'", dir, function);
	nm = popen(command, "r");
	ck_assert_ptr_nonnull(nm);
	ck_assert_int_eq(fscanf(nm, "%llx", &addr), 1);
	pclose(nm);
	return addr; /* of a library's first segments it is the offset in the file, too */
}

/* The file that the program has mapped as "/opt/lib". */
static struct module *library(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/opt/lib", dir);
	return module_of(path, "/opt/lib");
}

static void check_function(const char *function, const char *shown)
{
	struct location *loc = locate(library(), address_in_library(function));

	wait_for(loc);
	ck_assert_msg(strncmp(loc->function, shown, strlen(shown)) == 0, "%s", loc->function);
	ck_assert_uint_eq(n_failed(), 0);
}

START_TEST(a_stripped_file_has_the_names_of_its_debug_file)
{
	make_library("");
	run_in_dir("id=$(readelf -n whole | sed -n 's/.*Build ID: //p') &&"
		   " mkdir -p usr/lib/debug/.build-id/$(echo $id | cut -c1-2) &&"
		   " mv lib.debug usr/lib/debug/.build-id/$(echo $id | sed 's|^..|&/|').debug");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	check_function("hidden", "hidden");
	check_function("shown", "shown");
}
END_TEST

START_TEST(of_the_files_that_a_link_names_the_one_that_fits_counts)
{
	make_library("-Wl,--build-id=none");
	run_in_dir("mkdir -p opt/.debug && cp whole opt/lib.debug && cp whole opt/.debug/lib.debug"
		   " && mv lib.debug usr/lib/debug/opt/");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	check_function("hidden", "hidden");
}
END_TEST

START_TEST(a_file_whose_debug_file_is_not_there_has_the_names_that_it_exports)
{
	make_library("");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	check_function("shown", "shown");
	check_function("hidden", "[lib+0x");
}
END_TEST

START_TEST(a_debug_file_that_hangs_the_worker_costs_only_its_names)
{
	char path[128];

	make_library("-Wl,--build-id=none");
	snprintf(path, sizeof(path), "%s/opt/lib.debug", dir);
	write_slow_file(path);
	run_in_dir("chmod 644 opt/lib.debug && strip -o opt/lib whole &&"
		   " objcopy --add-gnu-debuglink=opt/lib.debug opt/lib 2>/dev/null");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	check_function("shown", "shown");
	ck_assert_uint_eq(n_restarts(), 1);
}
END_TEST

/* ---- lines ---- */

#define MAX_LINES 64

/* "function:line;function:line", innermost first, by the address of the location. */
struct told {
	struct lines_query *query;
	size_t n;
	struct {
		uint64_t addr;
		char text[128];
	} places[MAX_LINES];
};

static void take_places(void *ctx, const struct source_place *places, size_t n)
{
	struct told *told = ctx;

	for (size_t i = 0; i < n && told->n < MAX_LINES; i++) {
		char *text = told->places[told->n].text;

		text[0] = '\0';
		for (size_t j = 0; j < places[i].n; j++) {
			const struct source_frame *f = &places[i].frames[j];
			size_t len = strlen(text);

			ck_assert(f->source_len == 0 || f->source_len > 5);
			if (f->source_len)
				ck_assert_int_eq(memcmp(f->source + f->source_len - 5, "lib.c", 5),
						 0);
			snprintf(text + len, 128 - len, "%s%.*s:%u", j ? ";" : "",
				 (int)f->function_len, f->function, f->line);
		}
		told->places[told->n++].addr = places[i].location->rel_pc;
	}
}

static bool is_told(void *ctx)
{
	return lines_query_done(((struct told *)ctx)->query);
}

/* Some places of "outer", named; it has "inner" in it. */
static size_t locate_outer(struct module *m, struct location **locs)
{
	uint64_t addr = address_in_library("outer");

	for (size_t i = 0; i < 16; i++)
		locs[i] = locate(m, addr + i);
	for (size_t i = 0; i < 16; i++)
		wait_for(locs[i]);
	return 16;
}

static void make_inlined(const char *gcc_options)
{
	static const char source[] =
		"volatile int sink;\n"
		"static inline __attribute__((always_inline)) int inner(int x)\n"
		"{\n"
		"	sink = x;\n"
		"	return sink;\n"
		"}\n"
		"int outer(int x)\n"
		"{\n"
		"	return inner(x) + 1;\n"
		"}\n";
	char path[128], command[256];

	snprintf(path, sizeof(path), "%s/lib.c", dir);
	write_file(path, source, strlen(source));
	snprintf(command, sizeof(command), "gcc -O2 -g -shared -fPIC %s -o whole lib.c",
		 gcc_options);
	run_in_dir(command);
	run_in_dir("mkdir -p opt usr/lib/debug/opt && cp whole opt/lib");
}

static void check_told(const struct told *told)
{
	bool inlined = false, own = false;

	ck_assert_uint_gt(told->n, 0);
	for (size_t i = 0; i < told->n; i++) {
		inlined = inlined || strcmp(told->places[i].text, "inner:4;outer:9") == 0;
		own = own || strncmp(told->places[i].text, "outer:", 6) == 0;
	}
	ck_assert_msg(inlined && own, "%s", told->places[0].text);
	ck_assert_uint_eq(lines_query_missed(told->query), 0);
}

static void ask_lines(struct location **locs, size_t n, struct told *told)
{
	ck_assert_int_eq(lines_query_new(sym, locs, n, take_places, told, &told->query), 0);
}

START_TEST(inlined_functions_and_lines_are_told_when_asked_for)
{
	struct location *locs[MAX_LINES];
	struct told told = { 0 };
	size_t n;

	make_inlined("");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	n = locate_outer(library(), locs);
	ck_assert(locs[0]->has_lines);
	ask_lines(locs, n, &told);
	wait_until(is_told, &told);
	ck_assert_uint_eq(told.n, n);
	check_told(&told);
	lines_query_free(told.query);
	/* Another time, the worker still has them. */
	told.n = 0;
	ask_lines(locs, n, &told);
	wait_until(is_told, &told);
	check_told(&told);
	lines_query_free(told.query);
}
END_TEST

START_TEST(what_dwarf_does_not_tell_is_not_read_from_symbol_tables_again)
{
	struct told told = { 0 };
	struct location *loc;

	make_inlined("");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	loc = locate(library(), address_in_library("_init")); /* of the C library, in assembler */
	wait_for(loc);
	ck_assert_str_eq(loc->function, "_init");
	ck_assert(loc->has_lines);
	ask_lines(&loc, 1, &told);
	wait_until(is_told, &told);
	ck_assert_uint_eq(told.n, 1);
	ck_assert_str_eq(told.places[0].text, "");
	ck_assert_uint_eq(lines_query_missed(told.query), 0);
	lines_query_free(told.query);
}
END_TEST

START_TEST(lines_of_a_stripped_file_are_those_of_its_debug_file)
{
	struct location *locs[MAX_LINES];
	struct told told = { 0 };
	size_t n;

	make_inlined("-Wl,--build-id=none");
	run_in_dir("objcopy --only-keep-debug whole lib.debug && strip -o opt/lib whole &&"
		   " objcopy --add-gnu-debuglink=lib.debug opt/lib &&"
		   " mv lib.debug usr/lib/debug/opt");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	n = locate_outer(library(), locs);
	ask_lines(locs, n, &told);
	wait_until(is_told, &told);
	check_told(&told);
	lines_query_free(told.query);
}
END_TEST

START_TEST(without_dwarf_there_is_nothing_to_ask)
{
	struct location *locs[MAX_LINES];
	struct told told = { 0 };
	size_t n;

	make_inlined("-s");
	run_in_dir("gcc -O2 -shared -fPIC -o whole lib.c");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	n = locate_outer(library(), locs);
	ck_assert(!locs[0]->has_lines);
	locs[0] = symbolizer_locate_kernel(sym, 1, now);
	ask_lines(locs, n, &told);
	ck_assert(lines_query_done(told.query));
	ck_assert_uint_eq(told.n, 0);
	ck_assert_uint_eq(lines_query_missed(told.query), 0);
	lines_query_free(told.query);
}
END_TEST

/* Its ".debug_info" is what it says, but nothing in it is. */
START_TEST(dwarf_that_makes_no_sense_is_missed_and_not_asked_for_again)
{
	struct location *locs[MAX_LINES];
	struct told told = { 0 };
	size_t n;

	make_inlined("");
	run_in_dir("head -c 5000 /dev/urandom >junk && objcopy --remove-section=.debug_abbrev"
		   " --update-section .debug_info=junk opt/lib");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	n = locate_outer(library(), locs);
	ck_assert_str_eq(locs[0]->function, "outer");
	ask_lines(locs, n, &told);
	wait_until(is_told, &told);
	/* There is the symbol table, or nothing could be looked up. */
	for (size_t i = 0; i < told.n; i++)
		ck_assert_str_eq(told.places[i].text, *told.places[i].text ? "outer:0" : "");
	ck_assert(told.n == n || lines_query_missed(told.query) == n);
	lines_query_free(told.query);
	ck_assert_uint_eq(n_failed(), 0);
}
END_TEST

START_TEST(a_query_may_be_given_up_at_any_time)
{
	struct location *locs[MAX_LINES];
	struct told told = { 0 };
	size_t n;

	make_inlined("");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	n = locate_outer(library(), locs);
	ask_lines(locs, n, &told);
	ck_assert_uint_eq(lines_query_missed(told.query), n);
	lines_query_free(told.query);
	/* The answer comes all the same, and somebody else's after it. */
	ask_lines(locs, n, &told);
	wait_until(is_told, &told);
	check_told(&told);
	ck_assert_uint_eq(told.n, n);
	lines_query_free(told.query);
	/* Nobody waits any more at the end. */
	ask_lines(locs, n, &told);
	lines_query_free(told.query);
}
END_TEST

START_TEST(a_file_that_kills_the_lines_worker_costs_only_its_own_lines)
{
	struct location *locs[MAX_LINES], *others[MAX_LINES];
	struct told told = { 0 };
	char path[128];
	siginfo_t si;
	size_t n;
	pid_t pid;

	make_inlined("");
	run_in_dir("cp whole opt/other");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	snprintf(path, sizeof(path), "%s/opt/other", dir);
	n = locate_outer(module_of(path, "/opt/other"), others);
	ck_assert_uint_eq(locate_outer(library(), locs), n);
	ask_lines(others, n, &told); /* a worker is there, and idle */
	wait_until(is_told, &told);
	check_told(&told);
	lines_query_free(told.query);

	pid = symbolizer_lines_worker_pid(sym);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_ne(pid, symbolizer_worker_pid(sym));
	ck_assert_int_eq(kill(pid, SIGSTOP), 0);
	ck_assert_int_eq(waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOWAIT), 0);
	told.n = 0;
	ask_lines(locs, n, &told);
	ck_assert_int_eq(kill(pid, SIGSEGV), 0); /* as if of this file */
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	wait_until(is_told, &told);
	ck_assert_uint_eq(told.n, 0);
	ck_assert_uint_eq(lines_query_missed(told.query), n);
	lines_query_free(told.query);

	/* Not asked for again; others are, and names have not suffered. */
	ask_lines(locs, n, &told);
	ck_assert(lines_query_done(told.query));
	ck_assert_uint_eq(lines_query_missed(told.query), n);
	lines_query_free(told.query);
	ask_lines(others, n, &told);
	wait_until(is_told, &told);
	check_told(&told);
	lines_query_free(told.query);
	ck_assert_uint_eq(n_failed(), 0);
	ck_assert_uint_eq(n_restarts(), 0);
}
END_TEST

START_TEST(the_worker_for_lines_goes_when_nobody_asks)
{
	struct location *locs[MAX_LINES];
	struct told told = { 0 };
	size_t n;

	make_inlined("");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	n = locate_outer(library(), locs);
	ck_assert_int_eq(symbolizer_lines_worker_pid(sym), 0);
	ask_lines(locs, n, &told);
	wait_until(is_told, &told);
	lines_query_free(told.query);
	ck_assert_int_gt(symbolizer_lines_worker_pid(sym), 0);
	symbolizer_collect(sym, boot_ns() + NS_PER_SEC);
	ck_assert_int_gt(symbolizer_lines_worker_pid(sym), 0);
	symbolizer_collect(sym, boot_ns() + 60 * NS_PER_SEC);
	ck_assert_int_eq(symbolizer_lines_worker_pid(sym), 0);
	/* At once when there will be no collect(), unless somebody waits. */
	ask_lines(locs, n, &told);
	symbolizer_rest(sym);
	ck_assert_int_gt(symbolizer_lines_worker_pid(sym), 0);
	wait_until(is_told, &told);
	lines_query_free(told.query);
	symbolizer_rest(sym);
	ck_assert_int_eq(symbolizer_lines_worker_pid(sym), 0);
}
END_TEST

START_TEST(the_file_of_a_program_that_is_gone_is_found_again_unless_it_has_changed)
{
	struct location *locs[MAX_LINES];
	struct told told = { 0 };
	char path[128];
	size_t n;

	make_inlined("");
	ck_assert_int_eq(symbolizer_set_root(sym, dir), 0);
	start();
	snprintf(path, sizeof(path), "%s/opt/lib", dir);
	n = locate_outer(module_of(path, path), locs);
	modules_close((struct code_module *)locs[0]->module);
	ask_lines(locs, n, &told);
	wait_until(is_told, &told);
	if (told.n > 0) /* else its file system is not on a disk, and not asked */
		check_told(&told);
	lines_query_free(told.query);

	told.n = 0;
	run_in_dir("cp whole opt/other && mv opt/other opt/lib");
	ask_lines(locs, n, &told);
	wait_until(is_told, &told);
	ck_assert_uint_eq(told.n, 0);
	ck_assert_uint_eq(lines_query_missed(told.query), n);
	lines_query_free(told.query);
}
END_TEST

static TCase *new_case(Suite *s, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	return tc;
}

int main(void)
{
	Suite *s = suite_create("symbolizer");
	TCase *tc = new_case(s, "names");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, a_function_of_this_program_has_its_name);
	tcase_add_test(tc, cxx_and_rust_names_are_readable);
	tcase_add_test(tc, variables_of_a_file_are_told);
	tcase_add_test(tc, functions_of_a_file_are_found);
	tcase_add_test(tc, lines_of_interpreted_functions_are_ready_at_once);
	tcase_add_test(tc, the_vdso_has_names);
	tcase_add_test(tc, thousands_of_locations_of_many_files_are_all_answered);
	tcase_add_test(tc, a_stripped_file_has_offsets_and_a_build_id);
	tcase_add_test(tc, kernel_code_has_names_at_once_or_reads_kernel);
	tcase_add_test(tc, an_unknown_kernel_address_reads_kernel);
	tcase_add_test(tc, a_pseudo_module_has_one_location);
	tc = new_case(s, "debug");
	tcase_add_test(tc, a_stripped_file_has_the_names_of_its_debug_file);
	tcase_add_test(tc, of_the_files_that_a_link_names_the_one_that_fits_counts);
	tcase_add_test(tc, a_file_whose_debug_file_is_not_there_has_the_names_that_it_exports);
	tcase_add_test(tc, a_debug_file_that_hangs_the_worker_costs_only_its_names);
	tc = new_case(s, "lines");
	tcase_add_test(tc, inlined_functions_and_lines_are_told_when_asked_for);
	tcase_add_test(tc, what_dwarf_does_not_tell_is_not_read_from_symbol_tables_again);
	tcase_add_test(tc, lines_of_a_stripped_file_are_those_of_its_debug_file);
	tcase_add_test(tc, without_dwarf_there_is_nothing_to_ask);
	tcase_add_test(tc, dwarf_that_makes_no_sense_is_missed_and_not_asked_for_again);
	tcase_add_test(tc, a_query_may_be_given_up_at_any_time);
	tcase_add_test(tc, a_file_that_kills_the_lines_worker_costs_only_its_own_lines);
	tcase_add_test(tc, the_worker_for_lines_goes_when_nobody_asks);
	tcase_add_test(tc, the_file_of_a_program_that_is_gone_is_found_again_unless_it_has_changed);
	tc = new_case(s, "files");
	tcase_add_test(tc, files_that_cannot_be_read_as_code_read_as_offsets);
	tcase_add_test(tc, a_file_cut_short_is_answered);
	tcase_add_test(tc, a_file_truncated_while_it_is_read_does_not_hurt);
	tcase_add_test(tc, what_is_no_regular_file_is_never_read);
	tc = new_case(s, "worker");
	tcase_add_test(tc, requests_pending_when_the_worker_is_killed_are_answered);
	tcase_add_test(tc, a_file_that_kills_the_worker_is_not_tried_again);
	tcase_add_test(tc, what_waits_behind_a_slow_file_is_answered_by_another_worker);
	tcase_add_test(tc, a_slow_file_that_kills_its_worker_costs_only_itself);
	tcase_add_test(tc, the_second_worker_goes_when_it_is_not_needed);
	tcase_add_test(tc, a_file_under_which_the_worker_is_killed_twice_is_given_up);
	tcase_add_test(tc, a_worker_that_hangs_is_replaced);
	tcase_add_test(tc, a_file_that_takes_too_long_is_given_up);
	tcase_add_test(tc, time_in_which_we_did_not_run_is_not_held_against_the_worker);
	tcase_add_test(tc, a_worker_that_does_not_even_die_is_left_behind);
	tcase_add_test(tc, a_series_of_killers_is_slowed_down);
	tcase_add_test(tc, without_a_descriptor_the_worker_answers_from_memory);
	tcase_add_test(tc, the_worker_ignores_what_is_meant_for_the_daemon);
	tcase_add_test(tc, without_a_worker_everything_reads_as_offsets_until_there_is_one);
	tcase_add_test(tc, what_still_waits_at_the_end_is_let_go);
	tcase_add_loop_test(tc, a_worker_that_talks_nonsense_is_replaced, 0, 5);
	tcase_add_test(tc, the_worker_has_no_privileges);
	tcase_add_test(tc, the_worker_ends_with_the_daemon);
	tc = new_case(s, "caps");
	tcase_add_test(tc, unused_locations_go_beyond_the_cap_and_held_ones_stay);
	tcase_add_test(tc, too_many_waiting_locations_go_without_a_name_and_are_counted);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
